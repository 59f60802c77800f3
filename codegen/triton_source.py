"""Prints a scheduled loop nest as a Triton kernel that a person could have written.

Names come from the graph, so the same region always gives the same text (compilation is cached by it).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from opweave.codegen.kernel import KernelSource
from opweave.codegen.loops.nest import LoopNest
from opweave.codegen.loops.schedule import Schedule, power_of_two
from opweave.codegen.loops.values import Buffer
from opweave.codegen.triton_printer import Printer, numbers_of
from opweave.codegen.triton_scalars import TYPE
from opweave.registry.dtypes import int32, int64


def kernel_name(names: Sequence[str], number: int) -> str:
    """`fused_mul_gelu_add_softmax_0`, with the middle left out where it would be long."""
    words = [re.sub(r"\W", "_", name).strip("_") for name in names]
    text = "_".join(words)
    if len(text) > 60:
        text = "_".join([*words[:3], f"{len(words) - 4}_more", words[-1]]) if len(words) > 5 else text[:60]
    return f"fused_{text}_{number}"


def print_kernel(
    nest: LoopNest,
    schedule: Schedule,
    number: int,
    *,
    anonymous: bool = False,
    aligned: frozenset[Buffer] = frozenset(),
) -> KernelSource:
    """The kernel of a nest.

    Parameters
    ----------
    nest, schedule : LoopNest, Schedule
        What to compute and how.
    number : int
        Makes the name unique in its graph.
    anonymous : bool
        Number the parameters and leave out the comments, so that equal text means equal kernels.
    aligned : frozenset of Buffer
        Buffers whose addresses are multiples of 16 bytes.
    """
    printer = Printer(nest, schedule, anonymous)
    name = kernel_name(nest.names, number)
    body = printer.body()
    constexprs = {lane.constant: lane.block for lane in schedule.lanes}
    numbers = tuple((printer.numbers[v], printer.number_type(v)) for v in numbers_of(nest, schedule))
    constants = [f"{c}: tl.constexpr" for c in constexprs]
    parameters = [
        *printer.parameters.values(),
        *([printer.cell] if nest.checks() else []),
        *(text for text, _ in numbers),
        *constants,
    ]
    imports = ["import triton", "import triton.language as tl"]
    if printer.libdevice:
        imports.append("from triton.language.extra import libdevice")
    if printer.combines:
        imports += ["", f"from opweave.codegen.combine import {', '.join(sorted(printer.combines))}"]
    head = f"def {name}({', '.join(parameters)}):"
    if len(head) > 118:
        head = f"def {name}(\n    {', '.join(parameters)},\n):"
    source = "\n".join([*imports, "", "", "@triton.jit", head, *body, ""])
    tile = 1
    for lane in schedule.lanes:
        tile *= lane.block
    warps = max(1, min(16, power_of_two(tile // 512 or 1)))
    buffers = [*nest.inputs, *nest.outputs]
    pointers = tuple((printer.parameters[b], b.dtype) for b in buffers)
    if nest.checks():
        pointers += ((printer.cell, int32),)
    known = tuple(printer.parameters[b] for b in buffers if b in aligned)
    programs = schedule.programs if isinstance(schedule.programs, int) else None
    return KernelSource(name, source, pointers, constexprs, (programs, 1, 1), numbers, warps, known)


def print_group(
    nest: LoopNest, schedule: Schedule, number: int, shared: Sequence[int], *, anonymous: bool = False
) -> KernelSource:
    """The kernel of a group (see `codegen.groups`), for any of its members.

    Parameters
    ----------
    nest, schedule : LoopNest, Schedule
        What one member computes, along one axis.
    number : int
        Makes the name unique in its graph.
    shared : sequence of int
        Positions among inputs and outputs of the buffers that all members have in common.
    anonymous : bool
        As of `print_kernel`.
    """
    printer = _GroupPrinter(nest, schedule, anonymous, shared)
    name = kernel_name([*nest.names, "group"], number)
    body = printer.body()
    pointers = [("addresses", int64), ("owners", int32), ("starts", int32), ("sizes", int32)]
    buffers = [*nest.inputs, *nest.outputs]
    pointers += [(printer.parameters[buffers[i]], buffers[i].dtype) for i in shared]
    imports = ["import triton", "import triton.language as tl"]
    if printer.libdevice:
        imports.append("from triton.language.extra import libdevice")
    (lane,) = schedule.lanes
    head = f"def {name}({', '.join(text for text, _ in pointers)}, count, {lane.constant}: tl.constexpr):"
    source = "\n".join([*imports, "", "", "@triton.jit", head, *body, ""])
    warps = max(1, min(16, power_of_two(lane.block // 512 or 1)))
    constexprs = {lane.constant: lane.block}
    return KernelSource(
        name, source, tuple(pointers), constexprs, (None, 1, 1), (("count", "i32"),), warps, apart=("addresses",)
    )


class _GroupPrinter(Printer):
    """Prints a kernel that looks up what it works on."""

    def __init__(self, nest: LoopNest, schedule: Schedule, anonymous: bool, shared: Sequence[int]):
        super().__init__(nest, schedule, anonymous)
        self.taken |= {"addresses", "owners", "starts", "sizes", "count", "member", "program"}
        self.shared = frozenset(shared)

    def programs(self) -> None:
        self.line("program = tl.program_id(0)")
        self.line("member = tl.load(owners + program)")
        row = 0
        for position, (buffer, name) in enumerate(self.parameters.items()):
            if position in self.shared:
                continue
            place = "member" if not row else f"(count * {row} + member)" if row > 1 else "(count + member)"
            kind = TYPE[buffer.dtype.name]
            self.line(f"{name} = tl.load(addresses + {place}).to(tl.pointer_type({kind}))")
            row += 1
        (lane,) = self.schedule.lanes
        name = self.axis_names[lane.axis] = self.fresh(lane.name)
        live = self.live[lane] = self.fresh("live")
        self.line(f"{name} = tl.load(starts + program) + tl.arange(0, {lane.constant})")
        self.line(f"{live} = {name} < tl.load(sizes + member)")
