"""What code in a C++ library asks of opweave, by the names of `opweave/include/opweave/host.h`.

`install` enters the functions in the runtime's table. Ops are called through the dispatcher, on the thread that calls,
with that thread's keys, grad mode and modes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from opweave.registry import autocast, dtypes, random_generator
from opweave.registry.autograd.function import Function
from opweave.registry.cpp import values
from opweave.registry.device import cpu
from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.registry.exchange import facts
from opweave.registry.ffi import _ffi as tvm_ffi
from opweave.registry.hooks import Hook
from opweave.registry.keys import BATCHED_BIT, GRAD, DispatchKeySet, state
from opweave.registry.op import OpOverload, registry
from opweave.registry.tensor import Tensor, describe

#: Gives the address of what runs programs on the pool of threads, for `at::parallel_for`.
pool_address: Hook[[], int] = Hook()
_REQUIRES_GRAD, _IS_LEAF = 1, 2
_SEED = 2**64 - 1


@functools.cache
def runtime() -> Any:
    """The package of apache-tvm-ffi, with opweave's errors and the functions for C++ entered in it.

    Raises
    ------
    UnsupportedError
        If it is not installed.
    """
    ffi = tvm_ffi()
    for name, function in _FUNCTIONS.items():
        ffi.register_global_func(f"opweave.{name}", ffi.convert_func(function, tensor_cls=Tensor), override=True)
    for builtin in (NotImplementedError, OverflowError, ZeroDivisionError, StopIteration, KeyboardInterrupt, OSError):
        ffi.error.register_error(builtin.__name__, builtin)
    return ffi


# ---- tensors


def _described(reference: Any) -> tuple[Any, ...]:
    t = values.tensor(reference)
    sizes = tuple([int(n) for n in t._sizes])
    flags = _REQUIRES_GRAD * bool(t.requires_grad) | _IS_LEAF * bool(t.is_leaf)
    return t._dtype.dlpack, str(t._device), sizes, tuple([int(n) for n in t._strides]), int(t._offset), flags, t._keys


def _data(reference: Any) -> int:
    t = values.tensor(reference)
    if t._keys & BATCHED_BIT:
        raise UnsupportedError(
            "data_ptr: the tensor stands for one example of a vmap, which has no memory of its own",
            hint="register a kernel for a device and a vmap rule (opweave.library.register_vmap)",
        )
    exclude = state.exclude
    state.exclude |= GRAD  # C++ reads what autograd keeps account of, as it does in PyTorch
    try:
        return facts(t)[0]
    finally:
        state.exclude = exclude


def _set_requires_grad(reference: Any, flag: bool) -> Any:
    return values.Reference(values.tensor(reference).requires_grad_(flag))


# ---- calls


def _find_op(name: str) -> Any:
    return _function_of(registry.find(str(name)))


def _function_of(op: OpOverload) -> Callable[..., Any]:
    """An op as a function of all its arguments in order."""
    convert = _arguments_of(op)
    positional = sum(not a.kwarg_only for a in op._schema.arguments)
    named = [a.name for a in op._schema.arguments if a.kwarg_only]
    ffi = runtime()

    count = len(op._schema.arguments)

    def call(*args: Any) -> Any:
        taken = convert(args[:count])
        result = op(*taken[:positional], **dict(zip(named, taken[positional:], strict=False)))
        return values.outgoing(result) if len(args) > count else values.given(result)

    return ffi.convert_func(call, tensor_cls=Tensor)


def _arguments_of(op: OpOverload) -> Callable[[tuple[Any, ...]], list[Any]]:
    converts = [values.incoming(a.type) for a in op._schema.arguments]

    def convert(args: tuple[Any, ...]) -> list[Any]:
        if len(args) != len(converts):
            raise ArgumentError(
                f"{op}: called from C++ with {len(args)} arguments", got=f"{len(args)} arguments",
                hint=f"schema: {op._schema}",
            )  # fmt: skip
        return [
            value if make is None or value is None else make(value) for make, value in zip(converts, args, strict=True)
        ]

    return convert


def _redispatch(name: str, keys: int, references: bool, *args: Any) -> list[Any]:
    op = registry.find(str(name))
    taken = _arguments_of(op)(args)
    positional = sum(not a.kwarg_only for a in op._schema.arguments)
    named = dict(zip([a.name for a in op._schema.arguments if a.kwarg_only], taken[positional:], strict=True))
    if keys < 0:
        result = op(*taken[:positional], **named)
    else:
        exclude = state.exclude
        state.exclude |= GRAD & ~keys  # without that bit nothing is to be recorded
        try:
            result = op.redispatch(DispatchKeySet(keys), *taken[:positional], **named)
        finally:
            state.exclude = exclude
    count = len(op._schema.returns)
    send = values.outgoing if references else values.given
    return [send(r) for r in ([] if not count else [result] if count == 1 else result)]


def _schema(name: str) -> tuple[Any, ...]:
    op = registry.find(str(name))
    schema = op._schema
    arguments = tuple([(a.name, str(a.type), a.kwarg_only, a.is_write) for a in schema.arguments])
    returns = tuple([(r.name, str(r.type), False, bool(r.alias and r.alias.is_write)) for r in schema.returns])
    return schema.name, schema.overload_name, str(schema), arguments, returns


# ---- the thread's state


def _guard(include: int, exclude: int, clear: int) -> tuple[int, int]:
    before = state.include, state.exclude
    if clear < 0:
        state.include, state.exclude = include, exclude
    else:
        state.include |= include
        state.exclude = (state.exclude | exclude) & ~clear
    return before


def _is_enabled(what: str) -> bool:
    if str(what) == "grad":
        return not state.exclude & GRAD
    raise ArgumentError(f"is_enabled: unknown {what!r}")


def _pool() -> int:
    return 0 if pool_address.call is None else pool_address.call()


# ---- autograd


class _CppFunction(Function):
    """A `torch::autograd::Function` of C++: its forward and its backward are functions of the runtime."""

    @staticmethod
    def forward(ctx: Any, forward: Any, backward: Any, *args: Any) -> Any:
        outputs, saved, dirty, fixed, materialize = map(_tensors, forward(_flags(ctx.needs_input_grad[2:])))
        ctx.save_for_backward(*saved)
        ctx.mark_dirty(*dirty)
        ctx.mark_non_differentiable(*fixed)
        ctx.set_materialize_grads(bool(materialize))
        ctx.run_backward = backward
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        needed = _flags(ctx.needs_input_grad[2:])
        saved = tuple([values.outgoing(t) for t in ctx.saved_tensors])
        found = list(_tensors(ctx.run_backward(needed, saved, tuple([values.outgoing(g) for g in grads]))))
        count = len(ctx.needs_input_grad) - 2
        found = found[:count] + [None] * (count - len(found))
        return (None, None, *found)


def _flags(needs: Any) -> tuple[int, ...]:
    return tuple([int(flag) for flag in needs])


def _tensors(items: Any) -> Any:
    if isinstance(items, (bool, int)):
        return items
    return [values.tensor(item) for item in items]


def _apply(forward: Any, backward: Any, name: str, *args: Any) -> list[Any]:
    kind = type(str(name), (_CppFunction,), {})
    outputs = kind.apply(forward, backward, *[values.tensor(a) for a in args])
    return [values.Reference(t) if isinstance(t, Tensor) and t.requires_grad else values.given(t) for t in outputs]


# ---- values that only Python has


def _complex(*parts: Any) -> Any:
    if len(parts) == 2:
        return complex(*parts)
    if not isinstance(parts[0], complex):
        raise TypeError(f"expected a number but got {describe(parts[0])}")
    return parts[0].real, parts[0].imag


def _kind(value: Any) -> int:
    return 1 if isinstance(value, (values.Reference, Tensor)) else 2 if isinstance(value, complex) else 0


def _generator(generator: Any, what: str, seed: int) -> Any:
    """What C++ does with a generator; seeds cross as 64 bits, with a sign."""
    if str(what) == "create":
        return random_generator.Generator().manual_seed(seed & _SEED)
    found = random_generator.default_generator(cpu) if generator is None else generator
    if str(what) == "set_current_seed":
        found.manual_seed(seed & _SEED)
        return None
    number = found.seed() if str(what) == "seed" else found.initial_seed()
    return (number & _SEED) - (number & 2**63) * 2


def _cached_cast(reference: Any, dtype: int, kind: str) -> Any:
    return values.Reference(autocast.cached_cast(values.tensor(reference), str(kind), dtypes.BY_DLPACK[dtype]))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "describe": _described, "data": _data, "set_requires_grad": _set_requires_grad, "find_op": _find_op,
    "redispatch": _redispatch, "schema": _schema, "guard": _guard, "is_enabled": _is_enabled, "pool": _pool,
    "apply": _apply, "complex": _complex, "kind": _kind, "generator": _generator, "cached_cast": _cached_cast,
}  # fmt: skip
