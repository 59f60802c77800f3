"""The text of a host program, for people and tests.

def call(x: f32[8, 8], y: f32[8, 8]):
    alloc exp: f32[8, 8] strides [8, 1] cpu
    launch fused_exp_0 [1, 1, 1]: x -> exp; &x, &exp                          # model.py:3
    alloc mm: f32[8, 8] strides [8, 1] cpu
    alloc relu: f32[8, 8] strides [8, 1] cpu
    product mm = exp @ y, 0 elements 1 program                                # model.py:3
        launch fused_relu_1 [1, 1, 1]: mm -> relu; &mm, &relu
    free mm, exp
    return (relu,)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opweave.codegen.host import steps as host
from opweave.codegen.host.operands import Address, Expression, Layout, Local
from opweave.codegen.host.segments import Segment
from opweave.codegen.host.steps import Program, Step
from opweave.codegen.host.subprograms import programs_in
from opweave.codegen.kernel import KernelSource
from opweave.registry.containers import is_dict, is_list, is_slice, is_tuple

_COMMENT_COLUMN = 80


def text(program: Program) -> str:
    """A program and the functions in it; the same program always gives the same text."""
    return "\n".join(_function(program))


def describe(step: Step) -> str:
    """A step in a line."""
    return _DESCRIBE[type(step)](step)


def _function(program: Program) -> list[str]:
    parameters = [f"{local}: {local.type}" for local in program.inputs]
    parameters += [f"{local} = {target}" for local, target in program.defaults.items()]
    sees = f" sees {_names(program.captured)}" if program.captured else ""
    lines = [f"def {program.name}({', '.join(parameters)}){sees}:"]
    for step in program.steps:
        for inner in programs_in(step):
            lines += [f"    {line}" for line in _function(inner)]
        line, site = f"    {describe(step)}", step.origin.site
        lines.append(f"{line:<{_COMMENT_COLUMN}}  # {site.short}" if site is not None else line)
        lines += [f"        {inner}" for inner in _inside(step)]
    return lines


def _inside(step: Step) -> list[str]:
    """Lines of what a step consists of."""
    if isinstance(step, host.Product) and step.epilogue is not None:
        return [describe(step.epilogue.launch)]
    if not isinstance(step, Segment):
        return []
    lines = [f"{local} at {_operand(place.of)} + {_operand(place.shift)}" for local, place in step.places.items()]
    for inner in step.work:
        lines += [describe(inner), *(f"    {line}" for line in _inside(inner))]
    return lines


def _segment(step: Segment) -> str:
    kind = "on the stack" if step.on_stack else "of memory"
    block = "" if step.memory is None else f", {step.memory} is {_operand(step.nbytes)} bytes {kind}"
    return f"segment {step.name}: {_names((*step.inputs, *step.numbers))}{block}"


def _names(values: Iterable[Any]) -> str:
    return ", ".join(map(_operand, values))


def _operand(value: Any) -> str:
    if isinstance(value, Program):
        return value.name
    if is_tuple(value) and not hasattr(value, "_fields"):
        return f"({_names(value)}{',' * (len(value) == 1)})"
    if is_list(value):
        return f"[{_names(value)}]"
    if is_dict(value):
        return "{" + ", ".join(f"{key}: {_operand(item)}" for key, item in value.items()) + "}"
    if is_slice(value):
        return f"{_operand(value.start)}:{_operand(value.stop)}:{_operand(value.step)}"
    return str(value) if isinstance(value, (Local, Expression, Address)) else repr(value)


def _kernel(kernel: Any) -> str:
    return kernel.name if isinstance(kernel, KernelSource) else f"<{kernel}>"


def _read(step: host.Read) -> str:
    of = str(step.of) if step.item is None else f"{step.of}[{step.item}]"
    dim = f" {step.dim}" if step.what in ("size", "stride") else ""
    text = f"read {step.result} = {step.what}{dim} of {of}"
    if step.promise is None:
        return text
    high = "inf" if step.promise.high is None else step.promise.high
    return f"{text}, in [{step.promise.low}, {high}] by {step.promise.label}"


def _view(step: host.View) -> str:
    kind = "view" if step.tracked else "alias"
    layout = f"{step.result.tensor.dtype.short}{_operand([*step.sizes])} strides {_operand([*step.strides])}"
    return f"{kind} {step.result}: {layout} of {step.base} + {_operand(step.shift)}"


def _launch(step: host.Launch) -> str:
    given = f"; {_names(step.arguments)}" if step.arguments else ""
    grid = _operand([*step.grid])
    return f"launch {_kernel(step.kernel)} {grid}: {_names(step.inputs)} -> {_names(step.outputs)}{given}"


def _group(step: host.Group) -> str:
    rows = "; ".join(_names(row) for row in step.rows if not {*row} <= {*step.outputs})
    shared = f"; all {_names(step.shared)}" if step.shared else ""
    work = f"sizes {list(step.sizes)} by {step.block}"
    return f"group {_kernel(step.kernel)} {work}: {rows}{shared} -> {_names(step.outputs)}"


def _product(step: host.Product) -> str:
    text = f"product {step.out} = {step.a} @ {step.b}"
    if step.factors is not None:
        alpha, beta = ("" if factor == 1 else f"{factor} * " for factor in step.factors)
        text = f"product {step.out} = {alpha}{step.a} @ {step.b}"
        return text if step.term is None else f"{text} + {beta}{step.term}"
    text += "" if step.packed is None else f" packed at {step.packed}"
    if step.epilogue is None:
        return text
    programs = f"{step.epilogue.programs} program" + "s" * (step.epilogue.programs != 1)
    return f"{text}, {step.epilogue.elements} elements {programs}"


def _convolve(step: host.Convolve) -> str:
    given = ", ".join(map(str, step.operands))
    steps = " ".join(
        f"{name} {_operand([*n])}" for name, n in zip(("stride", "padding", "dilation"), step.steps, strict=True)
    )
    return f"convolution {step.out} = {step.form}({given}), {step.groups} groups {steps}"


def _call(step: host.Call) -> str:
    given = [*map(_operand, step.args), *(f"{key}={_operand(value)}" for key, value in step.kwargs.items())]
    return f"call {step.result} = {step.target}({', '.join(given)})"


def _native_call(step: host.NativeCall) -> str:
    results = f" -> {_names(step.results)}" if step.results else ""
    return f"native call {step.label}: {_names(step.args)}{results}"


def _conform(step: host.Conform) -> str:
    layouts = (step.layouts,) if isinstance(step.layouts, Layout) else step.layouts
    return f"conform {step.of}: {'; '.join(map(str, layouts))} by {step.label}"


def _check(step: host.Check) -> str:
    said = "; ".join(f"{message} ({site.short})" if site else message for message, site in step.checks)
    return f"check {step.cell}: {said}"


def _tuned(step: host.Tuned) -> str:
    choices = ", ".join(f"{choice.program.name} ({choice.label})" for choice in step.choices)
    given = f"({_names(step.operands)}) key {_operand(step.key)}"
    return f"tuned ({_names(step.results)}) = {step.name}{given}: {choices}, {step.unfused.name}"


_DESCRIBE: dict[type[Step], Callable[[Any], str]] = {
    host.Constant: lambda step: f"constant {step.result}: {step.result.type} = {step.attribute}",
    host.Read: _read,
    host.Alloc: lambda step: f"alloc {step.result}: {step.layout}",
    host.View: _view,
    host.Copy: lambda step: f"copy {step.of} to {step.to}",
    host.Move: lambda step: f"move {step.of} as {step.result}",
    host.Align: lambda step: f"align {step.of} as {step.result}",
    host.Cell: lambda step: f"cell {step.result} on {step.device}",
    host.Launch: _launch,
    host.Group: _group,
    host.Product: _product,
    host.Convolve: _convolve,
    Segment: _segment,
    host.Call: _call,
    host.NativeCall: _native_call,
    host.Item: lambda step: f"item {step.result} = {step.of}[{_operand(step.key)}]",
    host.Count: lambda step: f"count {step.of}: {step.number} by {step.label}",
    host.Conform: _conform,
    host.Check: _check,
    host.Bump: lambda step: f"bump {_names(step.locals)}",
    host.Tuned: _tuned,
    host.Free: lambda step: f"free {_names(step.locals)}",
    host.Return: lambda step: f"return {_operand(step.value)}",
}
