"""What a kernel does in a launch, in each of its configurations.

A kernel that is not tuned has one. Each has its own numbers and its own grid, so what can be proven of one need not
hold of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from opweave.fake.symbolic import SymNumber, statically_known_true
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import OpweaveError
from opweave.registry.interrupts import let_through
from opweave.registry.launch_form import LaunchForm, flattened, is_descriptor
from opweave.registry.triton import effects
from opweave.registry.triton.access import Access, KernelAccesses, Parameter
from opweave.registry.triton.coverage import covers, covers_open, is_apart, layouts
from opweave.registry.triton.known import in_launch
from opweave.registry.triton.polynomial import Counter, Known, Leaf, Loop, Program, Programs
from opweave.registry.triton.ttir import walk
from opweave.registry.triton_op import CompiledText, forms, kernels, labels_of, tuner_of
from opweave.tracer.emission import is_told
from opweave.tracer.graph import Node
from opweave.tracer.launch_numbers import as_polynomial, numbers_of, operand_of
from opweave.tracer.loops.size import Size, hint, number_of, size_of


@dataclass(frozen=True)
class Variant:
    """A configuration of a kernel in a launch.

    Attributes
    ----------
    number : int
        Which of the kernel's configurations.
    label : str
        What to call it; empty of a kernel that is not tuned.
    grid : sequence
        Programs along each axis, as the launch has them.
    accesses : KernelAccesses
        What it does in this launch.
    """

    number: int
    label: str
    grid: Sequence[Any]
    accesses: KernelAccesses

    @property
    def programs(self) -> list[int | None]:
        """The grid, as far as it is fixed."""
        return [_fixed(size) for size in self.grid]

    def parameter(self, name: str) -> Parameter | None:
        """What it does with an operand."""
        return next((p for p in self.accesses.parameters if operand_of(p.name) == name), None)

    def accesses_of(self, name: str) -> tuple[Access, ...]:
        parameter = self.parameter(name)
        return parameter.accesses if parameter is not None else ()

    def only_stores(self, name: str) -> bool:
        parameter = self.parameter(name)
        return parameter is not None and not parameter.escapes and len(parameter.stores) == len(parameter.accesses)

    def is_apart(self, name: str, layout: tuple[list[Size], list[Size]]) -> bool:
        """Whether it can read a dense operand in one place and write it in another."""
        parameter = self.parameter(name)
        if parameter is None or parameter.escapes:
            return False
        numbers = [n for n in (*layout[0], *layout[1], *self.programs) if isinstance(n, int)]
        count = len(layout[0])
        if not parameter.loads or parameter.atomics or len(numbers) < 2 * count + len(self.grid):
            return False
        found = (numbers[:count], numbers[count : 2 * count], numbers[2 * count :])
        return is_apart(parameter.loads, parameter.stores, *found)

    def covers(self, name: str, extents: Sequence[Size], strides: Sequence[Size]) -> bool:
        """Whether its stores to an operand reach every element of a dense tensor."""
        accesses = [access for access in self.accesses_of(name) if access.kind == "store"]
        fixed = [n for n in (*extents, *strides, *self.programs) if isinstance(n, int)]
        if len(fixed) == 2 * len(extents) + len(self.grid):
            count = len(extents)
            return covers(accesses, fixed[:count], fixed[count : 2 * count], fixed[2 * count :])

        def reached(along: Sequence[Size], steps: Sequence[Size]) -> bool:
            def reaches(leaf: Leaf, length: int, dim: int) -> bool:
                return isinstance(leaf, Program) and statically_known_true(
                    _value(self.grid[leaf.axis]) * length >= number_of(along[dim])
                )

            shape, strides = ([as_polynomial(n) for n in found] for found in (along, steps))
            return any(covers_open(access, shape, strides, reaches) for access in accesses)

        return any(reached(*layout) for layout in layouts(extents, strides))

    def lanes(self, name: str, kind: str) -> int | None:
        """How many lanes of an operand it accesses, masked ones counted; None if that is not known."""
        total = 0
        for access in self.accesses_of(name):
            if access.kind != kind:
                continue
            lanes = prod(access.shape) * prod(hint(size_of(_value(size), 0)) for size in self.grid)
            for loop in access.loops:
                turns = _turns(loop)
                if turns is None:
                    return None
                lanes *= turns
            total += lanes
        return total


def variants_of(node: Node) -> list[Variant] | str:
    """What the kernel of a launch does, in each of its configurations, or why nothing can be put into it."""
    kernel = kernels[node.kwargs["kernel_idx"]]
    form: LaunchForm = forms[node.kwargs["constant_args_idx"]]
    if not form.fused:
        return "wrap_triton(..., fused=False) says so"
    grids = node.kwargs["grid"]
    operands = {k: _value(v) for k, v in node.kwargs["kwargs"].items()}
    open_ends = [*operands.values(), *(_value(size) for grid in grids for size in grid)]
    if any(isinstance(v, SymNumber) and not is_told(v) for v in open_ends):
        return "one of its numbers depends on data"
    if isinstance(kernel, CompiledText):
        return _in_launch([("", effects.accesses_of_text(kernel), operands)], grids)
    arguments = form.arguments(operands)
    if any(is_descriptor(leaf) for value in arguments.values() for leaf in flattened(value)[1]):
        return "the launch has a descriptor among its arguments"
    try:
        tuner = tuner_of(kernel)
        if tuner is not None and (tuner.user_defined_pre_hook or tuner.user_defined_post_hook):
            return "a hook may write its arguments"
        labels = labels_of(kernel)
        found: list[tuple[str, KernelAccesses, dict[str, Any]]] = []
        for label, (jit, values, also) in zip(labels, effects.configurations(kernel, arguments), strict=True):
            if jit is None or also is None:
                return "a hook may write its arguments" if jit is not None else "the kernel is not Triton's"
            if jit.pre_run_hooks:
                return "a hook runs before each launch"
            found.append((label if len(labels) > 1 else "", effects.accesses_of(jit, values), values))
        return _in_launch(found, grids)
    except OpweaveError as error:
        return str(error).splitlines()[0]


def _in_launch(
    found: Sequence[tuple[str, KernelAccesses, dict[str, Any]]], grids: Sequence[Sequence[Any]]
) -> list[Variant] | str:
    """What configurations do in a launch: their labels, what they do in any, and their arguments."""
    variants: list[Variant] = []
    for number, ((label, accesses, values), grid) in enumerate(zip(found, grids, strict=True)):
        if accesses.function is None or any(op.name.endswith(".call") for op in walk(accesses.function.body)):
            return "the kernel calls a function that is not inlined"
        known = in_launch(accesses, numbers_of(values), [_fixed(size) for size in grid])
        variants.append(Variant(number, label, grid, known))
    return variants


def _fixed(size: Any) -> int | None:
    return size if type(size) is int else None


def _value(number: Any) -> Any:
    return number.meta["val"] if isinstance(number, Node) else number


def _turns(loop: Loop) -> int | None:
    """How often a loop's body runs in the first program, in the example; None if that is not known."""

    def value(leaf: Leaf) -> int:
        if isinstance(leaf, Known):
            return leaf.key.hint
        if isinstance(leaf, Programs):
            return 1
        if isinstance(leaf, (Program, Counter)):
            return 0
        raise LookupError

    try:
        lower, upper, step = (p.evaluate(value) for p in (loop.lower, loop.upper, loop.step) if p is not None)
    except (LookupError, ValueError) as error:
        let_through(error)
        return None
    return max(0, -((lower - upper) // step)) if step > 0 else None
