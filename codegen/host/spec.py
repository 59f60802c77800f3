"""The rules of host programs, checked at the end, and between passes where `OPWEAVE_VERIFY=1` asks for it.

Every name is defined once and before it is used, and not used once it is freed; what is read of memory that the
program allocates was written before; operands have the types that a step takes; the last step, and no other, returns.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NoReturn

from opweave.codegen.host import steps as host
from opweave.codegen.host.operands import Address, Layout, Local, NumberType, TensorType
from opweave.codegen.host.segments import Segment
from opweave.codegen.host.steps import Program, Step, locals_in
from opweave.codegen.host.subprograms import programs_in
from opweave.codegen.host.text import describe
from opweave.codegen.kernel import KernelSource
from opweave.registry.errors import HostError

#: Whether programs are checked between passes, too; the end is always.
verifying = os.environ.get("OPWEAVE_VERIFY", "0") not in ("", "0")


def verify(program: Program, *, freed: bool = False, made: bool = False) -> None:
    """Check a program and the functions in it.

    Parameters
    ----------
    program : Program
        What to check.
    freed : bool
        Whether all that it makes must be freed or returned.
    made : bool
        Whether all kernels must be made.

    Raises
    ------
    HostError
        If it breaks a rule; names the step.
    """
    _Check(program, freed, made).run()


class _Check:
    def __init__(self, program: Program, freed: bool, made: bool) -> None:
        self.program, self.freed, self.made = program, freed, made
        self.known = {*program.inputs, *program.defaults, *program.captured}
        #: Names of the program's own, and those of them that are gone.
        self.own: set[Local] = set()
        self.gone: set[Local] = set()
        #: What a name shows the memory of, and memory with nothing in it.
        self.base: dict[Local, Local] = {}
        self.empty: set[Local] = set()
        self.step: Step | None = None

    def run(self) -> None:
        steps = self.program.steps
        for step in steps:
            self.step = step
            self._step(step)
            for inner in programs_in(step):
                chosen = isinstance(step, host.Tuned) and inner is not step.unfused
                _Check(inner, self.freed and not chosen, self.made).run()
        self._require(bool(steps) and isinstance(steps[-1], host.Return), "the program does not return")
        if self.freed:
            left = [local.name for local in self.own - self.gone - {*steps[-1].uses}]
            self._require(not left, f"neither freed nor returned: {', '.join(sorted(left))}")

    def _require(self, holds: bool, message: str) -> None:
        if not holds:
            self._fail(message)

    def _fail(self, message: str) -> NoReturn:
        step = self.step
        got = f"{describe(step)}, of {step.origin.name}" if step is not None else None
        raise HostError(f"{self.program.name}: {message}", got=got, at=step.origin.site if step else None)

    def _step(self, step: Step) -> None:
        self._require(not isinstance(step, host.Return) or step is self.program.steps[-1], "returns before its end")
        for local in step.uses:
            if local in self.gone:
                self._fail(f"{local} is used after it was freed")
            if local not in self.known and local not in step.defines:
                self._fail(f"{local} is used before it is defined")
        self._types(step)
        if isinstance(step, host.Free):
            for local in step.locals:
                if local not in self.own:
                    self._fail(f"{local} is not the program's to free")
                self.gone.add(local)
        product = step if isinstance(step, host.Product) else None
        for local in step.reads_before(self._root) if isinstance(step, Segment) else _read(step):
            root = self._root(local)
            # What follows a product reads what that made, under any name.
            made = product is not None and root is self._root(product.out) and local not in product.operands
            if root in self.empty and not made:
                self._fail(f"{local} is read before it is written")
        for local in step.writes:
            self.empty.discard(self._root(local))
        for local in step.defines:
            if local in self.known:
                self._fail(f"{local} is defined twice")
            self.known.add(local)
            if not isinstance(step, (host.Read, host.Constant, host.Cell)):
                self.own.add(local)
        if isinstance(step, host.Alloc):
            self.empty.add(step.result)
        elif isinstance(step, (host.View, host.Move, host.Align)):
            self.base[step.result] = step.base if isinstance(step, host.View) else step.of

    def _root(self, local: Local) -> Local:
        while local in self.base:
            local = self.base[local]
        return local

    # ---- types -----------------------------------------------------------------------------------------------------

    def _types(self, step: Step) -> None:
        if isinstance(step, host.Launch):
            self._launch(step)
        elif isinstance(step, host.Group):
            self._tensors((*step.rows, step.shared, step.outputs))
            self._kernel(step.kernel)
        elif isinstance(step, host.Product):
            self._tensors((step.out, step.operands))
            if step.epilogue is not None:
                self._launch(step.epilogue.launch)
        elif isinstance(step, host.Convolve):
            self._tensors((step.out, step.operands))
        elif isinstance(step, host.Alloc):
            self._tensors(step.result)
            self._layout(step.layout)
            self._require(step.result.tensor.dtype is step.layout.dtype, "the layout has another dtype")
        elif isinstance(step, host.View):
            self._tensors((step.result, step.base))
            self._numbers((step.sizes, step.strides, step.shift))
        elif isinstance(step, (host.Copy, host.Move, host.Align, host.Bump)):
            self._tensors([*step.uses])
        elif isinstance(step, host.NativeCall):
            self._tensors((step.results, step.changed))
        elif isinstance(step, Segment):
            self._segment(step)
        elif isinstance(step, host.Conform):
            for layout in _layouts(step):
                self._layout(layout)

    def _launch(self, launch: host.Launch) -> None:
        self._numbers(launch.grid)
        self._numbers([a for a in launch.arguments if not isinstance(a, Address)])
        self._tensors(launch.outputs)
        self._kernel(launch.kernel)
        self._require(len(launch.grid) == 3, "a grid has three dimensions")
        if isinstance(launch.kernel, host.Loops):
            nest = launch.kernel.nest
            given = (len(launch.inputs), len(launch.outputs))
            self._require(given == (len(nest.inputs), len(nest.outputs)), "the kernel takes other tensors")

    def _segment(self, segment: Segment) -> None:
        given = {*segment.inputs, *segment.numbers}
        self._numbers((segment.numbers, segment.nbytes))
        for step in segment.work:
            self._types(step)
            for local in step.uses:
                if segment.root(local) not in given and segment.root(local) is not segment.memory:
                    self._fail(f"{segment.name} uses {local}, which it is not given")

    def _kernel(self, kernel: Any) -> None:
        self._require(not self.made or isinstance(kernel, KernelSource), "the kernel is not made")

    def _layout(self, layout: Layout) -> None:
        self._numbers((layout.sizes, layout.strides))
        self._require(len(layout.sizes) == len(layout.strides), "as many strides as sizes are needed")

    def _tensors(self, operands: Any) -> None:
        for local in locals_in(operands):
            if type(local.type) is not TensorType:
                self._fail(f"{local} is no tensor")

    def _numbers(self, operands: Any) -> None:
        for local in locals_in(operands):
            if type(local.type) is not NumberType:
                self._fail(f"{local} is no number")


def _layouts(step: host.Conform) -> Iterable[Layout]:
    """The layouts that a step asks for."""
    return (step.layouts,) if isinstance(step.layouts, Layout) else step.layouts


def _read(step: Step) -> Iterable[Local]:
    """Tensors whose memory a step reads."""
    if isinstance(step, host.Product):
        return (*step.operands, *(() if step.epilogue is None else step.epilogue.launch.inputs))
    if isinstance(step, host.Launch):
        return [local for local in step.inputs if isinstance(local.type, TensorType)]
    if isinstance(step, host.NativeCall):
        return step.tensors
    if isinstance(step, host.Convolve):
        return step.operands
    if isinstance(step, host.Group):
        return [local for local in locals_in((*step.rows, step.shared)) if local not in step.outputs]
    if isinstance(step, (host.Copy, host.Move, host.Align)):
        return (step.of,)
    return step.uses if isinstance(step, (host.Call, host.Return)) else ()
