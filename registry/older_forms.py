"""Forms of calls with factors before what they multiply, which PyTorch calls deprecated and still takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.errors import warn_user
from opweave.registry.tensor import Tensor

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_NUMBERS = (int, float, complex)


def scaled(name: str, count: int) -> Callable[[tuple[Any, ...]], Arguments | None]:
    """`x.add_(2, y)`: a factor before the operands, of which there are so many."""

    def form(args: tuple[Any, ...]) -> Arguments | None:
        if len(args) != count + 2 or not isinstance(args[1], _NUMBERS):
            return None
        operands = (args[0], *args[2:])
        return (operands, {name: args[1]}) if all(isinstance(t, Tensor) for t in operands) else None

    return form


def product(args: tuple[Any, ...]) -> Arguments | None:
    """`torch.addmm(beta, x, alpha, a, b)`, and as a method `x.addmm(beta, alpha, a, b)`; both without `alpha`, too."""
    kinds = "".join("t" if isinstance(a, Tensor) else "n" if isinstance(a, _NUMBERS) else "?" for a in args)
    if kinds not in ("tntt", "tnntt", "nttt", "ntntt"):
        return None
    factors = [a for a in args if not isinstance(a, Tensor)]
    return tuple(a for a in args if isinstance(a, Tensor)), dict(zip(("beta", "alpha"), factors, strict=False))


#: By the names of ops, which `registry.ops.surface` knows.
FORMS: dict[str, Callable[[tuple[Any, ...]], Arguments | None]] = {}


def rewritten(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """The arguments of a call, written as they are today."""
    found = FORMS[name](args)
    if found is None or not found[1].keys().isdisjoint(kwargs):
        return args, kwargs
    factors = ", ".join(f"{key}={value}" for key, value in found[1].items())
    warn_user(f"this form of {name} is deprecated: give {factors} by name, after the tensors")
    return found[0], {**kwargs, **found[1]}
