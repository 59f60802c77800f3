"""Schedules that let the learning rate rise and fall again, and the momentum with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opweave.optim.optimizer import Optimizer
from opweave.optim.scheduling import LRScheduler, each_group, set_rate
from opweave.registry.errors import DomainError


def _cosine(start: float, end: float, part: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _straight(start: float, end: float, part: float) -> float:
    return (end - start) * part + start


#: How `OneCycleLR` goes from one rate to another.
_ANNEALING = dict(cos=_cosine, linear=_straight)  # noqa: C408  # as names


class _Cycling(LRScheduler):
    """Schedules that let the momentum fall while rates rise."""

    def _cycle(self, optimizer: Optimizer, cycles: bool, least: Any, most: Any, last_epoch: int) -> None:
        """Whether the momentum follows, and its bounds, of all groups or of each."""
        self.cycle_momentum = cycles
        self.use_beta1 = "betas" in optimizer.defaults
        if not cycles:
            return
        if not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise DomainError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
                got=type(optimizer).__name__,
                hint="cycle_momentum=False",
            )
        groups = optimizer.param_groups
        self.base_momentums = each_group("base_momentum", groups, least)
        self.max_momentums = each_group("max_momentum", groups, most)
        if last_epoch == -1:
            for group, low, high in zip(groups, self.base_momentums, self.max_momentums, strict=True):
                group["base_momentum"], group["max_momentum"] = low, high
                self._set_momentum(group, high)

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_Cycling):
    """Rates that go from `base_lr` to `max_lr` and back along straight lines, again and again (Smith 2017).

    Parameters
    ----------
    optimizer : Optimizer
        Whose rates are set.
    base_lr, max_lr : float or list of float
        The bounds, of all groups or of each.
    step_size_up, step_size_down : int, optional
        Steps of the rising and of the falling half; both are equal where the latter is None.
    mode : str
        How the height of cycles changes: ``"triangular"``, not at all; ``"triangular2"``, it halves with each;
        ``"exp_range"``, by `gamma` with each step.
    gamma : float
        Of ``"exp_range"``.
    scale_fn : callable, optional
        The height's factor by the number of the cycle, or of the step; `mode` then decides nothing.
    scale_mode : str
        ``"cycle"`` or ``"iterations"``: what `scale_fn` takes.
    cycle_momentum : bool
        Whether the momentum falls while rates rise, and the other way round.
    base_momentum, max_momentum : float or list of float
        Its bounds.
    last_epoch : int
        As of `LRScheduler`.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> cyclic = opweave.optim.lr_scheduler.CyclicLR
    >>> scheduler = cyclic(optimizer, base_lr=0.1, max_lr=1.0, step_size_up=2, cycle_momentum=False)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.1, 0.55, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise DomainError(
                f"CyclicLR: unknown mode {mode!r}, and no scale_fn",
                got=f"mode={mode!r}",
                hint="'triangular', 'triangular2' or 'exp_range'",
            )
        groups = optimizer.param_groups
        lowest = each_group("base_lr", groups, base_lr)
        self.max_lrs = each_group("max_lr", groups, max_lr)
        if last_epoch == -1:
            for group, low in zip(groups, lowest, strict=True):
                set_rate(group, "lr", low)
        rise = float(step_size_up)
        self.total_size = rise + (rise if step_size_down is None else float(step_size_down))
        self.step_ratio = rise / self.total_size
        self.mode, self.gamma, self._custom = mode, gamma, scale_fn
        self.scale_mode = "iterations" if scale_fn is None and mode == "exp_range" else scale_mode
        self._cycle(optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x: float) -> float:
        """The factor of the height at a cycle, or a step."""
        if self._custom is not None:
            return self._custom(x)
        if self.mode == "triangular2":
            return 1 / (2.0 ** (x - 1))
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[float]:
        """Of this step; sets the momentum too."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        part = 1.0 + self.last_epoch / self.total_size - cycle
        height = part / self.step_ratio if part <= self.step_ratio else (part - 1) / (self.step_ratio - 1)
        factor = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = self.base_momentums, self.max_momentums
            for group, low, high in zip(self.optimizer.param_groups, *bounds, strict=True):
                self._set_momentum(group, high - (high - low) * height * factor)
        return [low + (high - low) * height * factor for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions; of `scale_fn` what an object keeps."""
        held = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_custom")}
        function = self._custom
        return {**held, "_custom": None if hasattr(function, "__code__") else dict(getattr(function, "__dict__", {}))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_custom"})
        if state_dict["_custom"] and self._custom is not None:
            self._custom.__dict__.update(state_dict["_custom"])


class OneCycleLR(_Cycling):
    """Rates that rise to `max_lr` and fall far below where they began, in one cycle of all steps (Smith & Topin 2018).

    Parameters
    ----------
    optimizer : Optimizer
        Whose rates are set.
    max_lr : float or list of float
        The highest rate, of all groups or of each.
    total_steps : int, optional
        Of the cycle; `epochs * steps_per_epoch` where None.
    epochs, steps_per_epoch : int, optional
        Of training.
    pct_start : float
        The part of the cycle in which rates rise.
    anneal_strategy : str
        `"cos"` or `"linear"`.
    cycle_momentum : bool
        Whether the momentum falls while rates rise, and the other way round.
    base_momentum, max_momentum : float or list of float
        Its bounds.
    div_factor, final_div_factor : float
        `max_lr / div_factor` is the first rate, and that over `final_div_factor` the last.
    three_phase : bool
        Fall to the first rate as long as rates rose, then to the last.
    last_epoch : int
        As of `LRScheduler`.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> scheduler = opweave.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=4, cycle_momentum=False)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.04, 0.8117, 0.2831]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise DomainError(
                    "You must define either total_steps OR (epochs AND steps_per_epoch)",
                    got=f"total_steps={total_steps}, epochs={epochs}, steps_per_epoch={steps_per_epoch}",
                    hint="total_steps=epochs * len(loader)",
                )
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0:
            raise DomainError(
                f"Expected positive integer total_steps, but got {total_steps}",
                got=f"total_steps={total_steps}",
                hint="total_steps=epochs * len(loader)",
            )
        if not 0 <= pct_start <= 1:
            raise DomainError(
                f"Expected float between 0 and 1 pct_start, but got {pct_start}",
                got=f"pct_start={pct_start}",
                hint="the part of the steps in which the rate rises: 0.3",
            )
        if anneal_strategy not in _ANNEALING:
            raise DomainError(
                f"OneCycleLR: unknown anneal_strategy {anneal_strategy!r}",
                got=f"anneal_strategy={anneal_strategy!r}",
                hint=f"one of {', '.join(map(repr, _ANNEALING))}",
            )
        self.total_steps = total_steps
        self._anneal = anneal_strategy
        rise = float(pct_start * total_steps)
        #: For each phase its last step, and where rate and momentum begin and end.
        self._phases = [(rise - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            self._phases += [
                (2 * rise - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self._phases.append((total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        groups = optimizer.param_groups
        if last_epoch == -1:
            for group, highest in zip(groups, each_group("max_lr", groups, max_lr), strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self._cycle(optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Of this step; sets the momentum too."""
        step = self.last_epoch
        if step > self.total_steps:
            raise DomainError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}",
                got=f"step {step}",
                hint="total_steps counts the calls of scheduler.step(): epochs * len(loader)",
            )
        begin, at = 0.0, 0
        for at, (end, *_) in enumerate(self._phases):
            if step <= end or at == len(self._phases) - 1:
                break
            begin = end
        end, first_lr, last_lr, first_momentum, last_momentum = self._phases[at]
        part = (step - begin) / (end - begin)
        between = _ANNEALING[self._anneal]
        found = []
        for group in self.optimizer.param_groups:
            found.append(between(group[first_lr], group[last_lr], part))
            if self.cycle_momentum:
                self._set_momentum(group, between(group[first_momentum], group[last_momentum], part))
        return found
