"""Random programs over tensors: pointwise ops, views, and mutation through views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from opweave.registry.tensor import Tensor

Step = tuple[str, int, int, int]
_PURE = ("add", "mul", "sub", "neg", "relu", "times1", "plus0", "reciprocal0", "same_again")
_VIEWS = ("t", "flat", "row", "col", "view2", "unsqueeze")
_WRITES = ("add_", "mul_", "copy_", "neg_", "fill_")


@st.composite
def programs(draw: st.DrawFn, *, mutate: bool, size: int = 12) -> list[Step]:
    """A list of steps ``(op, operand, operand, number)``; operands count through the tensors made so far."""
    names = _PURE + _VIEWS + ((*_WRITES, *_WRITES, "clone") if mutate else ("clone",))
    number = st.integers(0, 50)
    return draw(st.lists(st.tuples(st.sampled_from(names), number, number, number), min_size=1, max_size=size))


def build(steps: list[Step]) -> Callable[..., Any]:
    """The program as a function of tensors; returns a selection of what it computed."""

    def program(*inputs: Tensor) -> list[Tensor]:
        pool: list[Tensor] = list(inputs)
        for name, i, j, n in steps:
            made = run(name, pool[i % len(pool)], pool[j % len(pool)], n)
            if made is not None:
                pool.append(made)
        return pool[-4:]

    return program


def run(name: str, a: Tensor, b: Tensor, n: int) -> Tensor | None:
    """One step; None where it does not apply to these tensors."""
    fits = a.shape == b.shape
    other: Any = b if fits else float(n % 5) - 2.0
    match name:
        case "add":
            return a + other
        case "mul":
            return a * other
        case "sub":
            return a - other
        case "neg":
            return -a
        case "relu":
            return a.relu()
        case "times1":
            return a * 1
        case "plus0":
            return a + 0 if n % 2 else a - 0
        case "same_again":
            return (a + other) * (a + other)
        case "clone":
            return a.clone()
        case "t":
            return a.t() if a.ndim == 2 else None
        case "flat":
            return a.view(-1) if a.is_contiguous() else None
        case "view2":
            return a.view(2, -1) if a.is_contiguous() and a.numel() % 2 == 0 else None
        case "row":
            return a[n % a.shape[0]] if a.ndim >= 1 else None
        case "col":
            return a[:, n % a.shape[1]] if a.ndim == 2 else None
        case "unsqueeze":
            return a.unsqueeze(0) if a.ndim < 3 else None
        case "add_":
            a.add_(other)
        case "mul_":
            a.mul_(other)
        case "neg_":
            a.neg_()
        case "fill_":
            a.fill_(float(n))
        case "copy_" if fits and a._storage is not b._storage:
            a.copy_(b)
    return None
