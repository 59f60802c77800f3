"""`GradScaler`: losses scaled up, so that gradients of half types do not vanish, and gradients scaled back."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from opweave.registry.autograd.mode import no_grad
from opweave.registry.dataclass import dataclass
from opweave.registry.device import is_cuda_available
from opweave.registry.dtypes import float16, float32
from opweave.registry.errors import ArgumentError, AutogradError, DTypeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


@dataclass
class _Seen:
    """What is known of an optimizer since the last `update`."""

    unscaled: bool = False
    stepped: bool = False
    #: Whether a gradient was infinite or NaN; None before the gradients were looked at.
    overflown: bool | None = None


class GradScaler:
    """Scale losses, and skip steps whose gradients are not finite.

    Parameters
    ----------
    device : str
        The device type that gradients are on; without that device the scaler is off.
    init_scale : float
        The first scale.
    growth_factor, backoff_factor : float
        What the scale is multiplied with after `growth_interval` steps with finite gradients, and after one without.
    growth_interval : int
        How many steps in a row that takes.
    enabled : bool
        Without it `scale` gives what it is given, and `step` is the optimizer's.

    Raises
    ------
    ArgumentError
        If a factor lets the scale go the wrong way.

    Examples
    --------
    >>> scaler = opweave.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(opweave.tensor(2.0))
    tensor(16.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not is_cuda_available():
            warnings.warn("GradScaler: CUDA is not available; the scaler stays off", stacklevel=2)
            self._enabled = False
        if self._enabled and not (growth_factor > 1.0 and 0.0 < backoff_factor < 1.0):
            raise ArgumentError(
                "GradScaler: the scale must grow by more than 1 and back off by less than 1",
                got=f"growth_factor={growth_factor}, backoff_factor={backoff_factor}",
            )
        self._scale = float(init_scale)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._seen: dict[int, _Seen] = {}

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale; in float32 where a half type has no dimensions.

        Raises
        ------
        ArgumentError
            If there is something else among them.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            by = aten.full.default([], self._scale, dtype=float32, device=outputs._device)
            return aten.mul.Tensor(outputs, by)
        if isinstance(outputs, Iterable):
            scaled = [self.scale(output) for output in outputs]
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled  # type: ignore[call-arg]
        raise ArgumentError(
            "GradScaler.scale: expected a tensor, or an iterable of tensors",
            got=f"{outputs!r} ({type(outputs).__name__})",
        )

    @no_grad()
    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, as clipping needs them; `step` does so too.

        Raises
        ------
        AutogradError
            If they were already, since the last `update`.
        DTypeError
            If a gradient is float16, which may have lost what the scale was for.
        """
        if not self._enabled:
            return
        seen = self._seen.setdefault(id(optimizer), _Seen())
        if seen.unscaled or seen.stepped:
            done = "step" if seen.stepped else "unscale_"
            raise AutogradError(
                f"GradScaler.unscale_: {done}() was called with this optimizer since the last update()",
                hint="call unscale_ once, before step, and update after it",
            )
        found = False
        inverse = 1.0 / self._scale
        for group in optimizer.param_groups:
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if grad._dtype is float16:
                    raise DTypeError("GradScaler: float16 gradients cannot be unscaled", got=describe(grad))
                found = found or not aten.all.default(aten.isfinite.default(grad)).item()
                aten.mul_.Tensor(grad, inverse)
        seen.unscaled, seen.overflown = True, found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(*args, **kwargs)` with gradients scaled back; nothing where one is infinite or NaN.

        Raises
        ------
        AutogradError
            If it was called since the last `update`.
        ArgumentError
            If a closure is given.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise ArgumentError("GradScaler.step: a closure cannot be used with a scaler", got="closure=...")
        seen = self._seen.setdefault(id(optimizer), _Seen())
        if seen.stepped:
            raise AutogradError("GradScaler.step: step() was called since the last update()", hint="call update()")
        if not seen.unscaled:
            self.unscale_(optimizer)
        result = None if seen.overflown else optimizer.step(*args, **kwargs)
        seen.stepped = True
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adjust the scale by what the steps since the last `update` found, or set it.

        Raises
        ------
        AutogradError
            If there were none.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            looked = [seen.overflown for seen in self._seen.values() if seen.overflown is not None]
            if not looked:
                raise AutogradError("GradScaler.update: no gradients were looked at", hint="call step() before")
            if any(looked):
                self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    grown = self._scale * self._growth_factor
                    self._scale = grown if grown <= 3.4028234663852886e38 else self._scale
                    self._growth_tracker = 0
        self._seen.clear()

    def get_scale(self) -> float:
        """The scale; 1.0 where the scaler is off."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale is multiplied with when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied with when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied with after gradients that are not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied with after gradients that are not finite."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps in a row with finite gradients the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps in a row with finite gradients the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether the scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it changes; empty where the scaler is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave.

        Raises
        ------
        ArgumentError
            If it is empty, from a scaler that was off.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise ArgumentError(
                "GradScaler.load_state_dict: the state is empty", got="{}", hint="it is from a scaler that was off"
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]
