"""Calls of ops whose kernel is a function of a library become native steps, which a segment can hold.

    call add = ns.add(x, y)                       alloc add: f32[8, 8] strides [8, 1] cpu
    conform add: f32[8, 8] ... by ns.add    ->    native call ns.add: x, y -> add

What such a kernel returns is memory of its own, which is copied to where the program wants it. Where that is much, the
call stays one of Python, which takes the memory as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from opweave.codegen.host.operands import Expression, Layout, Local, NumberType, Target, TensorType
from opweave.codegen.host.segments import dense_nbytes_of
from opweave.codegen.host.steps import (
    Alloc,
    Bump,
    Call,
    Conform,
    Count,
    Free,
    Item,
    NativeCall,
    Program,
    Read,
    Step,
)
from opweave.fake.mode import FakeTensorMode
from opweave.fake.symbolic import SymNumber
from opweave.registry.containers import is_list, is_tuple
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import DispatchMode
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.native_kernel import NativeKernel, native_kernel
from opweave.registry.op import OpOverload
from opweave.registry.schema import FunctionSchema
from opweave.registry.spec import TensorSpec
from opweave.registry.types import TENSOR

#: Which numbers that are not fixed a type takes as they are.
_TAKEN = {"int": ("int",), "SymInt": ("int",), "float": ("float",), "Scalar": ("int", "float")}
#: Bytes of results that are copied rather than taken over.
MOST_COPIED = 1 << 18


def run(program: Program, device: Device) -> Program:
    """Put a `NativeCall` in the place of each `Call` that can be one."""
    if device.type != "cpu" or not any(_kernel_of(step) for step in program.steps):
        return program
    steps = [*program.steps]
    for call in program.steps:
        found = _native(call, steps, program)
        if found is not None:
            steps = found
    return replace(program, steps=tuple(steps))


def _kernel_of(step: Step) -> NativeKernel | None:
    target = step.target if isinstance(step, Call) else None
    op = target.function if isinstance(target, Target) else None
    return native_kernel(op) if isinstance(op, OpOverload) else None


def _native(call: Step, steps: Sequence[Step], program: Program) -> list[Step] | None:
    """The steps with a call made native; None where it cannot be."""
    kernel = _kernel_of(call)
    if kernel is None or not isinstance(call, Call) or not isinstance(call.target, Target):
        return None
    op: Any = call.target.function
    schema: FunctionSchema = op._schema
    args = _arguments(call, schema, for_cpp=kernel.for_cpp)
    results = _results(call, steps, schema, program)
    if args is None or results is None:
        return None
    if kernel.writes_results and not _makes_empty_memory(op, args):
        return None
    copied = 0 if kernel.writes_results else sum(_at_least(local) for local in results)
    changed = tuple([v for a, v in zip(schema.arguments, args, strict=True) if a.is_write and isinstance(v, Local)])
    if copied > MOST_COPIED or not all(map(_lies_dense, results)) or not all(map(_is_on_cpu, (*results, *changed))):
        return None
    label = str(call.target.label)
    made = [Alloc(call.origin, local, _layout(call, steps, local, i)) for i, local in enumerate(results)]
    native = NativeCall(call.origin, call.target, args, results, changed, label)
    return list(_replaced(call, [*made, native, *([Bump(call.origin, changed)] if changed else [])], steps, results))


def _replaced(call: Call, native: list[Step], steps: Sequence[Step], results: tuple[Local, ...]) -> Iterator[Step]:
    """The steps with a call, and what was done with its results, replaced."""
    used = {local for step in steps if not isinstance(step, (Alloc, Free)) for local in step.uses}
    idle = tuple(local for local in results if local not in used and local is not call.result)
    for step in steps:
        if step is call:
            yield from native
            if idle:
                yield Free(call.origin, idle)
        elif isinstance(step, Free) and call.result in step.locals and call.result not in results:
            left = tuple(local for local in step.locals if local is not call.result)
            if left:
                yield replace(step, locals=left)
        elif not (isinstance(step, (Conform, Count, Item)) and step.of is call.result):
            yield step


# ---- arguments -------------------------------------------------------------------------------------------------------


def _arguments(call: Call, schema: FunctionSchema, *, for_cpp: bool) -> tuple[Any, ...] | None:
    """All arguments in the order of the schema; None where one cannot be handed over."""
    given = iter(call.args)
    found: list[Any] = []
    for argument in schema.arguments:
        if argument.name in call.kwargs:
            value = call.kwargs[argument.name]
        else:
            value = argument.default if argument.kwarg_only else next(given, argument.default)
        if not _crosses(value, str(argument.type.base), for_cpp):
            return None
        found.append(value)
    return tuple(found)


def _crosses(value: Any, kind: str, for_cpp: bool) -> bool:
    if isinstance(value, Local):
        if isinstance(value.type, TensorType):
            return _is_on_cpu(value)
        return isinstance(value.type, NumberType) and value.type.kind in _TAKEN.get(kind, ())
    if isinstance(value, Expression):
        return value.number.kind == "int" and "int" in _TAKEN.get(kind, ())
    if isinstance(value, (DType, Device)):
        return for_cpp
    return _is_constant(value)


def _is_constant(value: Any) -> bool:
    if is_list(value) or is_tuple(value):
        return all(isinstance(item, (bool, int, float)) and not isinstance(item, SymNumber) for item in value)
    return value is None or isinstance(value, (bool, int, float, str, MemoryFormat))


def _is_on_cpu(local: Local) -> bool:
    return local.tensor.device.type == "cpu"


class _Calls(DispatchMode):
    """Notes whether the ops that are called only make memory."""

    def __init__(self) -> None:
        super().__init__()
        self.only_make_memory = True

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.only_make_memory &= bool(getattr(func.decl, "is_uninitialised", False))
        return func(*args, **(kwargs or {}))


def _makes_empty_memory(op: OpOverload, args: Sequence[Any]) -> bool:
    """Whether an op's rule for tensors without data does nothing but make memory: then any memory will do."""
    mode, calls = FakeTensorMode(), _Calls()

    def given(value: Any) -> Any:
        if isinstance(value, Local):
            kind = value.type
            if not isinstance(kind, TensorType):
                raise UnsupportedError("a number that is not fixed")
            return mode.make(TensorSpec(kind.sizes, kind.strides, kind.dtype, kind.device))
        return value.number if isinstance(value, Expression) else value

    arguments = op._schema.arguments
    try:
        values = [given(value) for value in args]
        positional = [value for a, value in zip(arguments, values, strict=True) if not a.kwarg_only]
        named = {a.name: value for a, value in zip(arguments, values, strict=True) if a.kwarg_only}
        with mode, calls:
            assert op.fake is not None
            op.fake(*positional, **named)
    except Exception as error:  # Python will say what is wrong when the op is called
        let_through(error)
        return False
    return calls.only_make_memory


# ---- results ---------------------------------------------------------------------------------------------------------


def _results(call: Call, steps: Sequence[Step], schema: FunctionSchema, program: Program) -> tuple[Local, ...] | None:
    """What a call makes, a name for each; None where it is not known enough of."""
    of = call.result
    users = [step for step in steps if of in step.uses and not isinstance(step, (Free, Conform, Count))]
    if any(isinstance(step, Read) and step.promise is not None for step in users):
        return None
    if not schema.returns or schema.aliased_returns:
        # What it returns are arguments: the graph uses those.
        checked = [step for step in steps if isinstance(step, (Conform, Count)) and step.of is of]
        return None if users or checked else ()
    if any(r.type != TENSOR for r in schema.returns):
        return None
    if isinstance(of.type, TensorType):
        return (of,) if any(isinstance(step, Conform) and step.of is of for step in steps) else None
    layouts = next((s.layouts for s in steps if isinstance(s, Conform) and s.of is of), None)
    if not isinstance(layouts, tuple) or any(not isinstance(step, Item) or type(step.key) is not int for step in users):
        return None
    named = {step.key % len(layouts): step.result for step in users if isinstance(step, Item)}
    if len(named) < len(users):  # one result under two names
        return None
    return tuple([named.get(i) or _unread(f"{of}_{i}", layout, program) for i, layout in enumerate(layouts)])


def _unread(name: str, layout: Layout, program: Program) -> Local:
    sizes, strides = (
        tuple([n.number if isinstance(n, Expression) else n for n in numbers])
        for numbers in (layout.sizes, layout.strides)
    )
    return Local(program.names.fresh(name), TensorType(sizes, strides, 0, layout.dtype, layout.device))


def _layout(call: Call, steps: Sequence[Step], local: Local, index: int) -> Layout:
    layouts = next(s.layouts for s in steps if isinstance(s, Conform) and s.of is call.result)
    return layouts if isinstance(layouts, Layout) else layouts[index]


def _lies_dense(local: Local) -> bool:
    return dense_nbytes_of(local) is not None


def _at_least(local: Local) -> int:
    """Bytes of a result; of one whose size is not fixed, those of the example."""
    nbytes: Any = dense_nbytes_of(local)
    found = nbytes.hint if isinstance(nbytes, SymNumber) else nbytes
    return MOST_COPIED + 1 if found is None else int(found)
