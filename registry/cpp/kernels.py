"""Kernels of C++ as functions that a dispatch table holds.

A function of the runtime takes an op's arguments in the order of the schema. Behind them it may be told how it is
called: `WATCHED` where tensors are references and what it makes must come from here; `PLAIN` and a tensor, which has
the runtime make opweave's tensors of its results, where no argument is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.cpp import values
from opweave.registry.entry import compile_function, identifier, parameters
from opweave.registry.errors import RegistrationError
from opweave.registry.kernels import Kernel, KeysetKernel
from opweave.registry.keys import GRAD, DispatchKey, state
from opweave.registry.native_kernel import Argument, NativeKernel
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import Tensor
from opweave.registry.types import TENSOR, Type

PLAIN, WATCHED = 0, 1
_DEVICES = (DispatchKey.CPU, DispatchKey.CUDA)
_COMPOSITE = (
    DispatchKey.CompositeImplicitAutograd,
    DispatchKey.CompositeExplicitAutograd,
    DispatchKey.CompositeExplicitAutogradNonFunctional,
    DispatchKey.Undefined,
)
#: Types whose values, and lists of them, cross as they are.
_AS_THEY_ARE = frozenset(("Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "Generator", "Layout"))


def kernel(op: OpOverload, key: DispatchKey, function: Callable[..., Any]) -> Kernel:
    """What a call of an op runs at a key.

    Parameters
    ----------
    op : OpOverload
        The op.
    key : DispatchKey
        A device's for a kernel that works on memory; for a composite one that depends on the tensors.
    function : callable
        The function of the runtime.
    """
    if key in _DEVICES and not (op.is_view or op._schema.aliased_returns and not op.is_mutable):
        return _on_memory(op, function)
    watched = _watched(op, function)
    if key in _COMPOSITE and not op.is_view:
        on_memory = _on_memory(op, function)
        counted = key is not DispatchKey.CompositeImplicitAutograd  # else ops count what they write, and C++ is none
        made = _by_tensors(on_memory if counted or not op.is_mutable else _counting(op, on_memory), watched)
        return _with_native_form(op, made, function)
    return watched


def boxed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A boxed kernel: `call(keys, op, *args, **kwargs)`."""

    def call(keys: Any, op: OpOverload, *args: Any, **kwargs: Any) -> Any:
        ordered = [*args, *[kwargs[a.name] for a in op._schema.arguments[len(args) :]]]
        found = function(op.name, keys.bits, *map(values.outgoing, ordered))
        kinds = [r.type for r in op._schema.returns]
        if len(found) != len(kinds):
            raise _left(op, f"{len(found)} values on the stack, where the schema returns {len(kinds)}")
        result = values.results(kinds)(found[0] if len(kinds) == 1 else found)
        for kind, value in zip(kinds, (result,) if len(kinds) == 1 else result or (), strict=True):
            if value is not None and not kind.accepts(value):  # None stands for a tensor that is not defined
                raise _left(op, f"{type(value).__name__}, where the schema returns {kind}")
        return result

    return call


def _left(op: OpOverload, what: str) -> RegistrationError:
    """That a boxed kernel left something else than the schema returns, which no C++ type says."""
    return RegistrationError(
        f"{op}: a boxed kernel left {what}", got=f"schema: {op._schema}",
        hint="it takes its arguments off the stack (torch::jit::drop) and leaves the results there",
    )  # fmt: skip


def boxed_kernel(op: OpOverload, function: Callable[..., Any]) -> KeysetKernel:
    """A boxed kernel of one op."""
    call = boxed(function)
    return KeysetKernel(lambda keys, *args, **kwargs: call(keys, op, *args, **kwargs))


def kernel_with_keys(op: OpOverload, function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that takes the call's keys first, as those do that hand on to the next key: `call(keys, *args)`."""
    arguments = op._schema.arguments
    convert = values.results([r.type for r in op._schema.returns])

    def call(keys: Any, *args: Any, **kwargs: Any) -> Any:
        ordered = [*args, *[kwargs[a.name] for a in arguments[len(args) :]]]
        run = _returning_arguments(op, lambda *_: found) if op.is_mutable and op._schema.aliased_returns else None
        found = convert(function(keys.bits, *map(values.outgoing, ordered), WATCHED))
        return found if run is None else run(*ordered)

    return call


def _on_memory(op: OpOverload, function: Callable[..., Any]) -> Kernel:
    """A kernel that is given tensors as memory."""
    schema = op._schema
    convert = _result_of(op)
    writes_first = schema.is_mutable and op._schema.arguments[0].is_write
    simple = not writes_first and all(str(a.type.base) in _AS_THEY_ARE and not a.kwarg_only for a in schema.arguments)
    has_tensor = any(a.type == TENSOR for a in schema.arguments)
    if simple and has_tensor and convert is None:
        function.__dict__["unlinked"] = True  # see `registry.results`: what comes out is memory of its own
        return _with_native_form(op, function, function)  # nothing in between
    taken, given, names = parameters(schema)
    sent = []
    for argument in schema.arguments:
        name = identifier(argument.name)
        crosses = str(argument.type.base) in _AS_THEY_ARE
        sent.append(name if crosses else f"$plain({name})")
    if not has_tensor:
        sent += [str(PLAIN), "$anchor"]
        names["anchor"] = values.anchor()
    names |= {"plain": values.plain, "function": function, "convert": convert}
    call = f"$function({', '.join(sent)})"
    returned = _returned(op)
    if convert is None:
        body = [f"return {call}"]
    elif returned is not None:
        body = [call, f"return {returned}"]
    else:
        body = [f"return $convert({call})"]

    def compiled(*lines: str) -> Any:
        text = [f"def $call({taken}):", *[f"    {line}" for line in lines]]
        return compile_function(f"<opweave C++ kernel of {op.name}>", text, names)

    made = compiled(*body)
    made.unlinked = True
    if schema.aliased_returns and returned is None:
        return _with_native_form(op, _returning_arguments(op, made), function)
    if schema.arguments and list(op.mutated_args) == [schema.arguments[0].name] and schema.arguments[0].type == TENSOR:
        first = identifier(schema.arguments[0].name)
        direct = returned in (None, first) and all(str(a.type.base) in _AS_THEY_ARE for a in schema.arguments)

        def counting(otherwise: Kernel) -> Kernel:
            names.update(otherwise=otherwise, Tensor=Tensor, state=state, grad=GRAD)
            plain = f"if {first}.__class__ is $Tensor and ({first}._view_of is None or $state.exclude & $grad):"
            counted = [f"    {line}" for line in (body[0].removeprefix("return "), f"{first}._bump()")]
            last = f"    return {returned}" if returned else "    return None"
            found = compiled(plain, *counted, last, f"return $otherwise({given})")
            if not direct:
                return found
            found.changes_first = function, returned is not None  # what native code does in its place
            return found

        made.counting = counting  # see `registry.kernels.noting_mutation`
    return _with_native_form(op, made, function)


def _with_native_form(op: OpOverload, kernel: Kernel, function: Callable[..., Any]) -> Kernel:
    """A kernel that compiled graphs can call without Python."""
    arguments = tuple([Argument(position) for position in range(len(op._schema.arguments))])
    result = values.results([r.type for r in op._schema.returns])
    op.is_direct = True
    vars(kernel)["native"] = NativeKernel(kernel, function, arguments, result, for_cpp=True)
    return kernel


def _watched(op: OpOverload, function: Callable[..., Any]) -> Kernel:
    """A kernel that is given tensors as references."""
    convert = values.results([r.type for r in op._schema.returns])
    arguments = op._schema.arguments

    def call(*args: Any, **kwargs: Any) -> Any:
        ordered = [*args, *[kwargs[a.name] for a in arguments[len(args) :]]] if kwargs else args
        return convert(function(*map(values.outgoing, ordered), WATCHED))

    return _returning_arguments(op, call) if op.is_mutable and op._schema.aliased_returns else call


def _counting(op: OpOverload, run: Kernel) -> Kernel:
    """A kernel that writes to memory, which counts that up."""
    positions = [i for i, a in enumerate(op._schema.arguments) if a.is_write]

    def call(*args: Any, **kwargs: Any) -> Any:
        result = run(*args, **kwargs)
        ordered = [*args, *[kwargs[a.name] for a in op._schema.arguments[len(args) :]]]
        for t in tensors_in([ordered[i] for i in positions]):
            t._bump()
        return result

    return call


def _by_tensors(on_memory: Kernel, watched: Kernel) -> Kernel:
    """A kernel that is given references where a tensor is more than its memory, or somebody looks at calls."""
    beyond = values.BEYOND_MEMORY

    def call(*args: Any, **kwargs: Any) -> Any:
        bits = state.include
        for value in args:
            if value.__class__ is Tensor:
                bits |= value._keys
            elif isinstance(value, (Tensor, list, tuple)):
                bits |= _keys_of(value)
        for value in kwargs.values():
            bits |= _keys_of(value)
        return (watched if bits & beyond else on_memory)(*args, **kwargs)

    return call


def _keys_of(value: Any) -> int:
    bits = 0
    for t in tensors_in((value,)):
        bits |= t._keys
    return bits


def _result_of(op: OpOverload) -> Callable[..., Any] | None:
    """What makes an op's result of a function's; None where it is that already."""
    kinds = [r.type for r in op._schema.returns]
    if not kinds or (kinds == [TENSOR] and not op._schema.aliased_returns):
        return None
    return values.results(kinds)


def _returned(op: OpOverload) -> str | None:
    """Of an op whose only result is an argument that it writes, that argument."""
    aliased = op._schema.aliased_returns
    if len(op._schema.returns) == 1 and op.is_mutable and len(aliased.get(0, ())) == 1:
        return identifier(aliased[0][0])
    return None


def _returning_arguments(op: OpOverload, run: Kernel) -> Kernel:
    """Where a result is an argument that was written, the caller gets the argument."""
    arguments = op._schema.arguments
    positions = {a.name: i for i, a in enumerate(arguments)}
    written = set(op.mutated_args)
    places = {i: positions[names[0]] for i, names in op._schema.aliased_returns.items() if names[0] in written}
    single = len(op._schema.returns) == 1

    def call(*args: Any, **kwargs: Any) -> Any:
        result = run(*args, **kwargs)
        ordered = [*args, *[kwargs[a.name] for a in arguments[len(args) :]]]
        if single:
            return ordered[places[0]] if 0 in places else result
        return tuple([ordered[places[i]] if i in places else value for i, value in enumerate(result)])

    return call
