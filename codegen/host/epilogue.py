"""Let a kernel run on each slab of a matrix product as soon as BLAS has written it, while the cache holds it.

    product mm = x @ w                     product mm = x @ w, 8192 elements 1 program
    alloc gelu: f32[2048, 1024]       ->       launch fused_gelu: mm -> gelu
    launch fused_gelu: mm -> gelu

A program of a kernel reads a stretch of its operand. Where the stretches follow each other as the programs do, the
programs of a slab are those whose stretches lie in it: here each 8192 elements of `mm` are 1 program's. The product
moves down to its kernel, so nothing between them may write memory that was there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opweave.codegen.host.operands import Local, Loops
from opweave.codegen.host.steps import (
    Align,
    Alloc,
    Bump,
    Cell,
    Check,
    Constant,
    Convolve,
    Copy,
    Epilogue,
    Group,
    Launch,
    Move,
    Product,
    Program,
    Read,
    Step,
    Tuned,
    View,
)
from opweave.codegen.loops.schedule import Lane
from opweave.codegen.loops.values import Buffer, Gather, Read as ReadValue
from opweave.fake.symbolic import statically_known_true
from opweave.tracer.loops.index import Index
from opweave.tracer.loops.size import product as product_of


def run(program: Program) -> Program:
    """Pair products with kernels; of two products that a kernel reads, the later."""
    steps = list(program.steps)
    for i in reversed(range(len(steps))):
        product = steps[i]
        if not isinstance(product, Product) or product.epilogue is not None or not _in_a_row(product.out):
            continue
        if product.factors is not None:
            continue
        place, shown = _first_reader(product, steps[i + 1 :])
        if place is None:
            continue
        launch = steps[i + 1 + place]
        assert isinstance(launch, Launch)
        covered = _covered(launch, shown)
        if covered is not None:
            steps[i + 1 + place] = replace(product, origin=launch.origin, epilogue=Epilogue(*covered, launch))
            del steps[i]
    return replace(program, steps=tuple(steps))


def _in_a_row(local: Local) -> bool:
    """Whether elements lie side by side, whatever the sizes are that are not fixed."""
    expected: Any = 1
    for size, stride in zip(reversed(local.tensor.sizes), reversed(local.tensor.strides), strict=True):
        if not (statically_known_true(stride == expected) or statically_known_true(size == 1)):
            return False
        expected = expected * size
    return True


def _first_reader(product: Product, after: Sequence[Step]) -> tuple[int | None, set[Local]]:
    """The launch that reads a product first, and the names under which it may."""
    shown = {product.out}
    fresh: set[Local] = set()
    for place, step in enumerate(after):
        if isinstance(step, (Read, Bump, Cell, Check, Constant)):
            continue
        reads = not shown.isdisjoint(step.uses)
        if isinstance(step, View):
            shown |= {step.result} if reads else set()
            # What a kernel writes of another's memory are places of their own in it (`codegen.host.joining`).
            fresh |= set() if reads else {step.result}
        elif isinstance(step, (Alloc, Move, Align)):
            if reads:
                break
            fresh.update(step.defines)
        elif isinstance(step, (Launch, Group, Tuned, Copy, Product, Convolve)):
            written = {*step.writes} - {*step.defines} - fresh
            if isinstance(step, Launch) and reads and written <= shown:
                return place, shown
            if reads or written:
                break
        else:
            break
    return None, shown


def _covered(launch: Launch, shown: set[Local]) -> tuple[int, int] | None:
    """So many elements of the product are read by so many programs, None where they do not follow each other."""
    loops = launch.kernel
    if not isinstance(loops, Loops) or not loops.whole or loops.nest.scatters:
        return None
    nest, schedule = loops.nest, loops.schedule
    digits = schedule.digits
    if not digits:
        return 0, 1
    _, outermost = digits[0]
    axis, height = (outermost.axis, outermost.block) if isinstance(outermost, Lane) else (outermost, 1)
    each = product_of(size for size, _ in digits[1:])
    buffers = _buffers(launch, loops, shown)
    if buffers is None or not isinstance(each, int):
        return None
    offsets = [store.offset for store in nest.stores if store.buffer in buffers]
    for value in nest.values():
        if isinstance(value, ReadValue) and value.buffer in buffers:
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


def _buffers(launch: Launch, loops: Loops, shown: set[Local]) -> set[Buffer] | None:
    """A kernel's parameters that are the product, None if one is only a part of it."""
    pairs = zip((*loops.nest.inputs, *loops.nest.outputs), (*launch.inputs, *launch.outputs), strict=True)
    found: set[Buffer] = set()
    for buffer, local in pairs:
        if local in shown:
            if local.tensor.offset != 0 or not _in_a_row(local):
                return None
            found.add(buffer)
    return found
