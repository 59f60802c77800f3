"""Make the kernels that a program launches, in the order of their launches; two that print the same are one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from opweave.codegen.attention import print_attention
from opweave.codegen.host.operands import Address, Attends, GroupLoops, Local, Loops, Number, Spliced, number_in
from opweave.codegen.host.steps import (
    Call,
    Choice,
    Group,
    Launch,
    Product,
    Program,
    Step,
    Tuned,
)
from opweave.codegen.host.subprograms import with_programs
from opweave.codegen.kernel import KernelSource
from opweave.codegen.loops.lowering import label_of
from opweave.codegen.triton_source import kernel_name, print_group, print_kernel
from opweave.registry.device import Device
from opweave.registry.errors import CompileError
from opweave.registry.loading import load_heavy
from opweave.registry.op import OpOverload
from opweave.registry.triton_op import kernels as known_kernels, name_of
from opweave.tracer.graph import Node
from opweave.tracer.launches import is_empty, launch_of


def run(program: Program, device: Device) -> Program:
    """The program with `KernelSource`s for all that is launched.

    Raises
    ------
    CompileError
        If Triton does not take a user's kernel with what was put into it.
    """
    made: list[KernelSource] = []
    found = _Maker(made, device).program(program)
    return replace(found, kernels=tuple(made))


class _Maker:
    def __init__(self, kernels: list[KernelSource], device: Device, *, later: bool = False) -> None:
        self.kernels, self.device, self.later = kernels, device, later
        self.printed: dict[object, KernelSource] = {}

    def program(self, program: Program) -> Program:
        return replace(program, steps=tuple([self.step(step) for step in program.steps]))

    def step(self, step: Step) -> Step:
        if isinstance(step, Launch):
            return self.launch(step)
        if isinstance(step, Group):
            return self.group(step)
        if isinstance(step, Product) and step.epilogue is not None:
            return replace(step, epilogue=replace(step.epilogue, launch=self.launch(step.epilogue.launch)))
        if isinstance(step, Tuned):
            return self.tuned(step)
        return with_programs(step, self.program) if isinstance(step, Call) else step

    def launch(self, step: Launch) -> Launch:
        if isinstance(step.kernel, Loops):
            loops = step.kernel
            write = partial(print_kernel, loops.nest, loops.schedule, aligned=loops.aligned)
            return replace(step, kernel=self.shared(write))
        if isinstance(step.kernel, Attends):
            return replace(step, kernel=self.shared(partial(print_attention, step.kernel.attention)))
        return self.spliced(step, step.kernel) if isinstance(step.kernel, Spliced) else step

    def group(self, step: Group) -> Group:
        if not isinstance(step.kernel, GroupLoops):
            return step
        loops = step.kernel
        return replace(step, kernel=self.shared(partial(print_group, loops.nest, loops.schedule, shared=loops.shared)))

    def shared(self, write: Callable[..., KernelSource]) -> KernelSource:
        """The kernel that is printed so, with its names, unless there is one."""
        blank = write(number=0, anonymous=True)
        key = (
            blank.source, tuple(dtype for _, dtype in blank.parameters), *blank.constexprs.values(), blank.grid,
            blank.numbers, blank.aligned,
        )  # fmt: skip
        found = self.printed.get(key)
        if found is None:
            found = self.printed[key] = replace(write(number=len(self.kernels)), later=self.later)
            self.kernels.append(found)
        return found

    # ---- launches of users' kernels --------------------------------------------------------------------------------

    def spliced(self, step: Launch, spliced: Spliced) -> Launch:
        region, launch = spliced.region, launch_of(spliced.region)
        assert launch is not None
        ops = [n for n in region.nodes if isinstance(n.target, OpOverload) and not is_empty(n)]
        names = dict.fromkeys(label_of(n) for n in ops if not n.target.decl.is_layout)
        label = kernel_name([name_of(known_kernels[launch.kwargs["kernel_idx"]]), *names], len(self.kernels))
        fused = load_heavy("opweave.codegen.launches").fused_kernel(
            region,
            label,
            self.device,
            spliced.aligned,
            spliced.own,
            wide=spliced.wide,
            configuration=spliced.configuration,
        )
        same = (fused.kernel.source, fused.kernel.options, self.later)
        kernel = next((k for k in self.kernels if (k.source, k.options, k.later) == same), None)
        if kernel is None:
            kernel = replace(fused.kernel, later=self.later)
            self.kernels.append(kernel)
        return replace(step, kernel=kernel, arguments=tuple(_argument(a, spliced) for a in fused.arguments))

    def tuned(self, step: Tuned) -> Tuned:
        """The configurations whose kernels can be made."""
        choices: list[Choice] = []
        compiled: list[tuple[str, KernelSource]] = []
        reason: CompileError | None = None
        for choice in step.choices:
            try:
                program = _Maker(self.kernels, self.device, later=True).program(choice.program)
            except CompileError as error:
                reason = error
                continue
            choices.append(replace(choice, program=program))
            kernels = [s.kernel for s in program.steps if isinstance(s, Launch)]
            compiled += [(choice.label, k) for k in kernels if isinstance(k, KernelSource)]
        if reason is not None and not choices:
            raise reason
        unfused = _Maker(self.kernels, self.device, later=True).program(step.unfused)
        digest = load_heavy("opweave.codegen.launches").digest_of(self.device, compiled)
        return replace(step, choices=tuple(choices), unfused=unfused, digest=digest)


def _argument(argument: Any, spliced: Spliced) -> Address | Number:
    """What a parameter of a user's kernel is given."""
    what = argument.what
    if argument.role == "nothing":
        return 0
    if argument.role == "number":
        return spliced.operands[what] if isinstance(what, Node) else number_in(what, spliced.symbols)
    if argument.role == "operand":
        return Address(spliced.operands[what])
    place: Local = spliced.results[what] if argument.role == "result" else spliced.scratch[what]
    return Address(place)
