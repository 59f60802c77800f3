"""Schedules of learning rates, under the names of `torch.optim.lr_scheduler`.

A schedule is made over an optimizer, whose rates it sets at once; `scheduler.step()` after each epoch (or step, as its
unit is) sets the next ones. A rate that is a tensor is written in place, so that a compiled step reads it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from opweave.optim.cycling import CyclicLR as CyclicLR, OneCycleLR as OneCycleLR
from opweave.optim.optimizer import Optimizer
from opweave.optim.scheduling import (
    ChainedScheduler as ChainedScheduler,
    LRScheduler as LRScheduler,
    ReduceLROnPlateau as ReduceLROnPlateau,
    SequentialLR as SequentialLR,
    set_rate,
)
from opweave.registry.errors import DomainError

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip


class LambdaLR(LRScheduler):
    """The first rates times functions of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Whose rates are set.
    lr_lambda : callable, or list of them
        From an epoch to a factor, for all groups or for each.
    last_epoch : int
        As of `LRScheduler`.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.9**epoch)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.9, 0.81]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = (
            list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        )
        if len(self.lr_lambdas) != count:
            raise DomainError(
                f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}",
                got=f"{len(self.lr_lambdas)} functions",
                hint="one function for all groups, or a list with one for each",
            )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of the functions what objects among them keep."""
        held = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        kept = [None if hasattr(f, "__code__") else dict(getattr(f, "__dict__", {})) for f in self.lr_lambdas]
        return {**held, "lr_lambdas": kept}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if kept is not None:
                function.__dict__.update(kept)


class MultiplicativeLR(LambdaLR):
    """The rates of the epoch before, times functions of the epoch; parameters as of `LambdaLR`.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25]
    """

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        if self.last_epoch <= 0:
            return self._rates
        return [lr * f(self.last_epoch) for lr, f in zip(self._rates, self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """Rates that fall by a factor every `step_size` epochs.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 1.0, 0.1]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        stays = self.last_epoch == 0 or self.last_epoch % self.step_size != 0
        return self._rates if stays else [lr * self.gamma for lr in self._rates]

    def _closed(self) -> list[float]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Rates that fall by a factor at given epochs.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 2], gamma=0.1)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.1, 0.01]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        times = self.milestones.get(self.last_epoch, 0)
        return [lr * self.gamma**times for lr in self._rates] if times else self._rates

    def _closed(self) -> list[float]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Rates that are smaller by a factor until epoch `total_iters`.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.5, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise DomainError(
                "Constant multiplicative factor expected to be between 0 and 1.",
                got=f"factor={factor}",
                hint="factor=1/3, for one",
            )
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates]
        if self.last_epoch != self.total_iters:
            return self._rates
        return [lr * (1.0 / self.factor) for lr in self._rates]

    def _closed(self) -> list[float]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Rates times a factor that goes from one to another in `total_iters` epochs, in a straight line.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.75, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise DomainError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.",
                got=f"start_factor={start_factor}",
                hint="start_factor=1/3, for one",
            )
        if not 0 <= end_factor <= 1:
            raise DomainError(
                "Ending multiplicative factor expected to be between 0 and 1.",
                got=f"end_factor={end_factor}",
                hint="end_factor=1.0, for one",
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return [lr * (1.0 + rise / before) for lr in self._rates]

    def _closed(self) -> list[float]:
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * part) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Rates that fall by a factor each epoch.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        stays = self._is_initial or self.last_epoch == 0
        return self._rates if stays else [lr * self.gamma for lr in self._rates]

    def _closed(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Rates that fall to 0 in `total_iters` epochs, as a power of what is left of them.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.75, 0.5]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        if self._is_initial or self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self._rates
        now = 1.0 - self.last_epoch / self.total_iters
        factor = (now / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power
        return [lr * factor for lr in self._rates]

    def _closed(self) -> list[float]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Rates that fall to `eta_min` in `T_max` epochs as half a cosine, and rise again (Loshchilov & Hutter 2017).

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.8536, 0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        epoch, half, least = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial or epoch == 0:
            return self._rates
        if self._step_count == 1 and epoch > 0:
            return self._closed()
        if (epoch - 1 - half) % (2 * half) == 0:
            rise = (1 - math.cos(math.pi / half)) / 2
            return [lr + (base - least) * rise for base, lr in zip(self.base_lrs, self._rates, strict=True)]
        ratio = (1 + math.cos(math.pi * epoch / half)) / (1 + math.cos(math.pi * (epoch - 1) / half))
        return [ratio * (lr - least) + least for lr in self._rates]

    def _closed(self) -> list[float]:
        part = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Rates that fall as half a cosine again and again, each time `T_mult` as long (Loshchilov & Hutter 2017).

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise DomainError(
                f"Expected positive integer T_0, but got {T_0}",
                got=f"T_0={T_0!r}",
                hint="the number of steps to the first restart",
            )
        if T_mult < 1 or not isinstance(T_mult, int):
            raise DomainError(
                f"Expected integer T_mult >= 1, but got {T_mult}",
                got=f"T_mult={T_mult!r}",
                hint="1 keeps all periods as long",
            )
        self.T_0 = self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this epoch."""
        part = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]  # parts of epochs too
        """Go to the next epoch, or to a given one, which may be a fraction."""
        self._step_count += 1
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise DomainError(
                    f"Expected non-negative epoch, but got {epoch}",
                    got=f"epoch={epoch}",
                    hint="leave it out: scheduler.step()",
                )
            self.T_i, self.T_cur = self.T_0, epoch
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        for group, value in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            set_rate(group, "lr", value)
        self._last_lr = self._rates


_LRScheduler = LRScheduler


def __dir__() -> list[str]:
    return sorted(__all__)
