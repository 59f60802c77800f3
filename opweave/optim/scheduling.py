"""What schedules of learning rates have in common, and those that are made of others, or of what comes out."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from opweave.optim.optimizer import Optimizer
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import ArgumentError, DomainError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

aten = ops.aten


def set_rate(group: dict[str, Any], name: str, value: Any) -> None:
    """Give a group another rate; one that is a tensor is written."""
    if isinstance(group[name], Tensor):
        with no_grad():
            aten.fill_.Scalar(group[name], float(value))
    else:
        group[name] = value


def _number(value: Any) -> float:
    return float(value.item()) if isinstance(value, Tensor) else value


class LRScheduler:
    """Base of schedules: a subclass says the next rates in `get_lr`.

    Parameters
    ----------
    optimizer : Optimizer
        Whose groups get the rates; `"initial_lr"` of a group is the one it began with.
    last_epoch : int
        The epoch that was the last one; -1 to begin.

    Attributes
    ----------
    base_lrs : list of float
        The rates that it began with.
    last_epoch : int
        How many steps were made.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> class Halves(opweave.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [rate / 2**self.last_epoch for rate in self.base_lrs]
    >>> scheduler = Halves(optimizer)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        given: object = optimizer
        if not isinstance(given, Optimizer):
            raise ArgumentError(
                f"{type(optimizer).__name__} is not an Optimizer", got=repr(optimizer),
                hint=f"{type(self).__name__}(optimizer, ...)",
            )  # fmt: skip
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _number(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an optimizer")
        self.base_lrs = [_number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._begin()

    def _begin(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    @property
    def _rates(self) -> list[float]:
        """The rates there are now."""
        return [_number(group["lr"]) for group in self.optimizer.param_groups]

    def get_lr(self) -> list[float]:
        """The rates of epoch `last_epoch`, from those of the one before."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr")

    def get_last_lr(self) -> list[float]:
        """The rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to a given one, and set its rates."""
        self._step_count += 1
        self._update(epoch)

    def _update(self, epoch: int | None = None) -> None:
        if epoch is None:
            self.last_epoch += 1
            values = self.get_lr()
        else:
            self.last_epoch = epoch
            values = self._closed() or self.get_lr()
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_rate(group, "lr", value)
        self._last_lr = self._rates

    def _closed(self) -> list[float] | None:
        """The rates of epoch `last_epoch` without those of the one before, where there is such a formula."""
        return None

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, and functions."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update(state_dict)


def each_group(name: str, groups: list[Any], value: Any) -> list[float]:
    """A number for each group, from one for all."""
    if not isinstance(value, (list, tuple)):
        return [value] * len(groups)
    if len(value) != len(groups):
        raise DomainError(
            f"{name} must have the same length as optimizer.param_groups, {len(groups)}, got {len(value)}",
            got=f"{name}={value!r}",
            hint="one number for all groups, or a list with one for each",
        )
    return list(value)


class SequentialLR(LRScheduler):
    """Schedules one after the other.

    Parameters
    ----------
    optimizer : Optimizer
        Whose rates are set.
    schedulers : list of LRScheduler
        Over this optimizer.
    milestones : list of int
        The epochs at which the next one begins.
    last_epoch : int
        As of `LRScheduler`.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> warm = opweave.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=1)
    >>> then = opweave.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = opweave.optim.lr_scheduler.SequentialLR(optimizer, [warm, then], milestones=[1])
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        _same_optimizer("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise DomainError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}",
                got=f"milestones={milestones}",
                hint="milestones are the steps at which the next scheduler begins",
            )
        self.optimizer = optimizer
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            set_rate(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            _take_back(scheduler)
        first = schedulers[bisect_right(milestones, 0)]
        first._begin()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]  # there is no epoch to go to
        """Go to the next epoch."""
        self.last_epoch += 1
        at = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[at]
        if at > 0 and self._milestones[at - 1] == self.last_epoch:
            scheduler._update(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """Those of all schedules in it."""
        held = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        return {**held, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, kept in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(kept)


def _take_back(scheduler: Any) -> None:
    """Undo the step that making a schedule made."""
    for each in getattr(scheduler, "_schedulers", ()):
        _take_back(each)
    if not hasattr(scheduler, "_schedulers"):
        scheduler.last_epoch -= 1


def _same_optimizer(name: str, optimizer: Any, schedulers: list[Any]) -> None:
    if not schedulers:
        raise DomainError(
            f"{name} expects at least one scheduler, but got no scheduler.",
            got="[]",
            hint="a list of schedulers of one optimizer",
        )
    for i, scheduler in enumerate(schedulers):
        if isinstance(scheduler, ReduceLROnPlateau):
            raise DomainError(
                f"{name} does not support `ReduceLROnPlateau`, whose step takes a number; got one at {i}",
                got=type(scheduler).__name__,
                hint="call its step(loss) by itself",
            )
        if scheduler.optimizer is not optimizer:
            raise DomainError(
                f"{name} expects all schedulers to belong to the same optimizer; number {i} does not",
                got=f"{type(scheduler.optimizer).__name__} and {type(optimizer).__name__}",
                hint="make all of them of the optimizer that is given",
            )


class ChainedScheduler(LRScheduler):
    """Schedules one on the other: each changes the rates that the one before set.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> falling = opweave.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = opweave.optim.lr_scheduler.ChainedScheduler([falling])
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25]
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        given = list(schedulers)
        if not given:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = given[0].optimizer if optimizer is None else optimizer
        _same_optimizer("ChainedScheduler", self.optimizer, given)
        self._schedulers = given
        self._last_lr = self._rates

    def step(self) -> None:  # type: ignore[override]  # there is no epoch to go to
        """Go to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict


class ReduceLROnPlateau(LRScheduler):
    """Rates that fall when a number, such as the loss of a validation, gets no better.

    Parameters
    ----------
    optimizer : Optimizer
        Whose rates are set.
    mode : str
        `"min"` or `"max"`: which is better.
    factor : float
        By which rates fall.
    patience : int
        Epochs that may pass without getting better.
    threshold, threshold_mode : float, str
        By how much it has to get better: `"rel"` of the best, or `"abs"`.
    cooldown : int
        Epochs after a fall that do not count.
    min_lr : float or list of float
        The least rate, of all groups or of each.
    eps : float
        Falls that are smaller are not made.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (1.0, 1.0, 1.0):
    ...     scheduler.step(loss)
    >>> optimizer.param_groups[0]["lr"]
    0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = optimizer
        self.mode, self.factor, self.patience, self.cooldown, self.eps = mode, factor, patience, cooldown, eps
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.min_lrs = each_group("min_lr", optimizer.param_groups, min_lr)
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = self.last_epoch = 0
        self._last_lr = self._rates

    def is_better(self, a: float, best: float) -> bool:
        """Whether a number is better than the best, by enough."""
        by = abs(best) * self.threshold if self.threshold_mode == "rel" and math.isfinite(best) else self.threshold
        return a < best - by if self.mode == "min" else a > best + by

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]  # it takes the number
        """Look at a number, and let rates fall if it is time."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                before = _number(group["lr"])
                after = max(before * self.factor, least)
                if before - after > self.eps:
                    set_rate(group, "lr", after)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates
