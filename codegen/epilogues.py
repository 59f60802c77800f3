"""Epilogues: kernels that run on each slab of a matrix product as soon as BLAS has written it, which the cache holds.

    mm = allocate((2048, 1024), (1024, 1), float32, cpu)
    gelu = allocate((2048, 1024), (1024, 1), float32, cpu)
    multiply_then(mm, x, w, 8192, 1, fused_gelu_0, 256, 1, 1, mm.data_ptr(), gelu.data_ptr())

A program of a kernel reads a stretch of its operand. Where the stretches follow each other as the programs do, the
programs of a slab are those whose stretches lie in it: here each 8192 elements of `mm` are 1 program's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opweave.codegen.loops.nest import LoopNest
from opweave.codegen.loops.schedule import Lane, Schedule
from opweave.codegen.loops.values import Buffer, Gather, Read
from opweave.registry.spec import is_contiguous
from opweave.tracer.declared import declared
from opweave.tracer.graph import Graph, Node
from opweave.tracer.index import Index
from opweave.tracer.launches import launch_of
from opweave.tracer.size import product

Plan = list[tuple[LoopNest, Schedule]]


@dataclass(frozen=True)
class Epilogue:
    """A product and the kernel that follows it slab by slab.

    Attributes
    ----------
    product, region : Node
        The calls.
    elements, programs : int
        So many programs in a row read so many elements in a row, and no others; 0 where there is one program.
    """

    product: Node
    region: Node
    elements: int
    programs: int


def find(
    order: Sequence[Node], is_product: Callable[[Node], bool], is_view: Callable[[Node], bool],
    planned: Callable[[Node], tuple[LoopNest, Plan]],
) -> dict[Node, Epilogue]:  # fmt: skip
    """Pair products with kernels.

    A product moves down to its kernel, so nothing between them may write memory.

    Parameters
    ----------
    order : sequence of Node
        The steps of a graph.
    is_product, is_view : callable
        Whether a step is a product that can be followed, or a view that no code runs for.
    planned : callable
        What a region computes, and its kernels.

    Returns
    -------
    dict of Node to Epilogue
        By region.
    """
    found: dict[Node, Epilogue] = {}
    for i, node in enumerate(order):
        if is_product(node) and is_contiguous(node.meta["val"]._sizes, node.meta["val"]._strides):
            region, shown = _first_reader(node, order[i + 1 :], is_product, is_view)
            if region is not None and launch_of(region.target) is None:
                nest, stages = planned(region)
                covered = _covered(region, nest, stages, shown)
                if covered is not None:
                    found[region] = Epilogue(node, region, *covered)
    return found


def _first_reader(
    node: Node, after: Sequence[Node], is_product: Callable[[Node], bool], is_view: Callable[[Node], bool]
) -> tuple[Node | None, set[Node]]:
    """The region that reads a product first, and the views by which it may."""
    shown = {node}
    for step in after:
        if step.op != "call_function":
            if step.op == "output":
                break
            continue
        reads = not shown.isdisjoint(step.all_input_nodes)
        if isinstance(step.target, Graph):
            written = [target for _, target in step.kwargs.get("into", ())]  # type: ignore[union-attr, misc]
            if reads and shown.issuperset(written):
                return step, shown
            if reads or written:
                break
        elif is_view(step):
            if reads:
                shown.add(step)
        elif reads or not (is_product(step) or _is_result(step)):
            break
    return None, shown


def _is_result(step: Node) -> bool:
    """Whether a step only names a result of a region."""
    return declared(step) is None and len(step.args) == 2 and isinstance(getattr(step.args[0], "target", None), Graph)


def _covered(region: Node, nest: LoopNest, stages: Plan, shown: set[Node]) -> tuple[int, int] | None:
    """So many elements of the product are read by so many programs, None where they do not follow each other."""
    if len(stages) != 1 or nest.scatters:
        return None
    nest, schedule = stages[0]
    digits = schedule.digits
    if not digits:
        return 0, 1
    _, outermost = digits[0]
    axis, height = (outermost.axis, outermost.block) if isinstance(outermost, Lane) else (outermost, 1)
    each = product(size for size, _ in digits[1:])
    buffers = _buffers(region, nest, shown)
    if buffers is None or not isinstance(each, int):
        return None
    offsets = [store.offset for store in nest.stores if store.buffer in buffers]
    for value in nest.values():
        if isinstance(value, Read) and value.buffer in buffers:
            if isinstance(value, Gather):
                return None
            offsets.append(value.offset)
    steps = {offset.stride(axis) for offset in offsets}
    if len(steps) != 1:
        return None
    (step,) = steps
    if not isinstance(step, int) or step < 1:
        return None
    for offset in offsets:
        rest = Index({atom: factor for atom, factor in offset.terms.items() if atom is not axis}, offset.const)
        if not rest.below(step):
            return None
    return height * step, each


def _buffers(region: Node, nest: LoopNest, shown: set[Node]) -> set[Buffer] | None:
    """A region's parameters that are the product, None if one is only a part of it."""
    into = dict(region.kwargs.get("into", ()))  # type: ignore[arg-type, call-overload]
    pairs = [*zip(nest.inputs, region.args, strict=True), *((nest.outputs[i], target) for i, target in into.items())]
    found = set()
    for buffer, operand in pairs:
        if operand in shown:
            value = operand.meta["val"]  # type: ignore[union-attr]
            if value._offset != 0 or not is_contiguous(value._sizes, value._strides):
                return None
            found.add(buffer)
    return found
