"""Counting the operations of products and convolutions: `FlopCounterMode`.

A multiplication and an addition are two operations; all else is not counted. Numbers are those of PyTorch's counter:
`n m k` multiplications of a product of matrices, one for each weight and place of a convolution.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Self

from opweave.registry.errors import ArgumentError
from opweave.registry.keys import DispatchMode
from opweave.registry.op import OpOverload, OpOverloadPacket, ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor
from opweave.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

_ = _surface  # declares the ops
aten = ops.aten
Sizes = Sequence[int]
#: Counts from what an op is called with, where tensors are replaced by their sizes, and from `out_shape`.
Formula = Callable[..., int]


def _product(a: Sizes, b: Sizes) -> int:
    return 2 * math.prod(a) * b[-1]


def _mm(a_shape: Sizes, b_shape: Sizes, *args: Any, **kwargs: Any) -> int:
    return _product(a_shape, b_shape)


def _added(self_shape: Sizes, a_shape: Sizes, b_shape: Sizes, *args: Any, **kwargs: Any) -> int:
    return _product(a_shape, b_shape)


def _correlated(x_shape: Sizes, w_shape: Sizes, out_shape: Sizes, transposed: bool = False) -> int:
    places = math.prod((x_shape if transposed else out_shape)[2:])
    return 2 * places * x_shape[0] * math.prod(w_shape)


def _convolution(
    x_shape: Sizes, w_shape: Sizes, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    *args: Any, out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    return _correlated(x_shape, w_shape, out_shape, transposed)


def _turned(shape: Sizes) -> list[int]:
    return [shape[1], shape[0], *shape[2:]]


def _convolution_backward(
    grad_shape: Sizes, x_shape: Sizes, w_shape: Sizes, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, output_mask: Sequence[bool], out_shape: Any = None,
) -> int:  # fmt: skip
    count = 0
    if output_mask[0]:
        count += _correlated(grad_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        pair = (grad_shape, x_shape) if transposed else (x_shape, grad_shape)
        count += _correlated(_turned(pair[0]), _turned(pair[1]), _turned(out_shape[1]))
    return count


def _attention(query: Sizes, key: Sizes, value: Sizes, *args: Any, **kwargs: Any) -> int:
    *batch, queries, width = query
    return 2 * math.prod(batch) * queries * key[-2] * (width + value[-1])


#: By op; `register_flop_formula` adds to it.
flop_registry: dict[Any, Formula] = {
    aten.mm: _mm, aten.bmm: _mm, aten.addmm: _added, aten.baddbmm: _added, aten.convolution: _convolution,
    aten.convolution_backward: _convolution_backward, ops.opweave.attention: _attention,
}  # fmt: skip


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Say how to count an op's operations.

    Parameters
    ----------
    targets : op, or list of op
        Packets such as `opweave.ops.mylib.op`.
    get_raw : bool
        Whether the formula gets tensors, and the results as `out_val`, rather than sizes and `out_shape`.

    Raises
    ------
    ArgumentError
        If a target is no op, or has a formula.

    Examples
    --------
    >>> from opweave.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula
    >>> @register_flop_formula(opweave.ops.aten.outer)
    ... def outer(a_shape, b_shape, out_shape=None):
    ...     return a_shape[0] * b_shape[0]
    >>> del flop_registry[opweave.ops.aten.outer]
    """

    def register(formula: Formula) -> Formula:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ArgumentError(
                    "register_flop_formula: expected an op", got=f"{target!r}", hint="opweave.ops.aten.mm, for one"
                )
            if target in flop_registry:
                raise ArgumentError(
                    "register_flop_formula: the op has a formula", got=f"{target}", hint="custom_mapping="
                )
            flop_registry[target] = formula
        if get_raw:
            formula._get_raw = True  # type: ignore[attr-defined]  # PyTorch's name for it
        return formula

    return register


def _shape(value: Any) -> Any:
    if isinstance(value, Tensor):
        return tuple(value.shape)
    return type(value)(map(_shape, value)) if type(value) in (list, tuple) else value


class FlopCounterMode:
    """A block in which operations of products and convolutions are counted, by op and by module.

    Parameters
    ----------
    mods : Module or list of Module, optional
        For PyTorch's callers: modules are found by themselves.
    depth : int
        How many levels of modules the table shows.
    display : bool
        Whether the table is printed at the end.
    custom_mapping : dict of op to callable, optional
        Formulas besides those registered, or in place of them; see `register_flop_formula`.

    Examples
    --------
    >>> from opweave.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = opweave.ones(2, 3) @ opweave.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Formula] | None = None
    ) -> None:
        self.flop_counts: defaultdict[str, defaultdict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.flop_registry = {**flop_registry, **(custom_mapping or {})}
        self.mod_tracker = ModuleTracker()
        self.mode: _Counting | None = None

    def get_total_flops(self) -> int:
        """How many operations there were."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """How many of each op, by the name of the module: `"Global"` has all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Modules down to a depth, their ops, and what part of all operations is theirs."""
        most, total = self.depth if depth is None else depth, self.get_total_flops()
        rows = [("Module", "FLOP", "% Total")]
        names = [name for name in sorted(self.flop_counts) if name != "Global" and name.count(".") < most]
        whole = any(sum(self.flop_counts[name].values()) >= total for name in names)
        for name in names if whole else ["Global", *names]:
            indent = " " * (name.count(".") + (not whole and name != "Global"))
            counts = self.flop_counts[name]
            rows.append((f"{indent}{name}", *_figures(sum(counts.values()), total)))
            rows += [(f"{indent} - {op}", *_figures(count, total)) for op, count in counts.items()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        assert self.mode is not None
        self.mode.__exit__(*error)
        self.mode = None
        self.mod_tracker.__exit__(*error)
        if self.display:
            print(self.get_table())

    def _count(self, packet: Any, out: Any, args: Any, kwargs: Any) -> None:
        formula = self.flop_registry.get(packet)
        if formula is None:
            return
        if getattr(formula, "_get_raw", False):
            count = formula(*args, **kwargs, out_val=out)
        else:
            count = formula(*_shape(args), **{key: _shape(v) for key, v in kwargs.items()}, out_shape=_shape(out))
        for name in self.mod_tracker.parents:
            self.flop_counts[name][packet] += count


class _Counting(DispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.counter._count(func.packet, out, args, kwargs or {})
        return out


def _figures(count: int, total: int) -> tuple[str, str]:
    power = min(max(0, (len(str(total)) - 2) // 3), 4)
    number = f"{count}" if not power else f"{count / 1000**power:.3f}{' KMBT'[power]}"
    return number, f"{count / total:.2%}" if total else "0%"
