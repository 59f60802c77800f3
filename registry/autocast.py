"""Autocast: which dtype each op runs in inside an `opweave.autocast` block, and the kernels that cast.

A block puts the Autocast key of its device type into the thread's included keys, and takes it out again. A call then
finds the kernel made here, above autograd, so that casts are recorded and gradients come back in the dtype of the
uncast tensor. Outside a block no key is set and no call sees any of this.

What an op does is said where it is declared (`CastPolicy` in `registry.ops.kinds.traits`). Everything else runs in the
dtype of its arguments. A user's op is cast as `register_autocast` said.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from opweave.registry.autograd.graph import grad_fn_of
from opweave.registry.dispatching import resolvers
from opweave.registry.dtypes import DType, bfloat16, float16, float32, float64
from opweave.registry.errors import DTypeError, UnsupportedError
from opweave.registry.interrupts import surely
from opweave.registry.kernels import Kernel
from opweave.registry.keys import (
    AUTOCAST_KEYS,
    AUTOCAST_MASK,
    BACKEND_MASK,
    BACKENDS,
    BATCHED_BIT,
    GRAD,
    PYTHON_BIT,
    DispatchKey,
    state,
)
from opweave.registry.op import OpOverload, ops, registry
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tape import refuse_cast
from opweave.registry.tensor import Tensor, describe

#: The dtype of the lower-precision ops where a block names none.
DEFAULT_DTYPES = {"cpu": bfloat16, "cuda": float16}

# ---- the thread's settings -----------------------------------------------------------------------------------------


class AutocastState(threading.local):
    """A thread's open blocks, and the casts that they keep.

    The dtypes are in `keys.state`, among what calls, and so compiled code, depend on.

    Attributes
    ----------
    cache_enabled : bool
        Whether casts of parameters are kept.
    blocks : list
        What each open block found, to be put back.
    casts : dict
        Casts of leaves, by the leaf's id: (weak reference to the leaf, its version, the cast).
    """

    def __init__(self) -> None:
        self.cache_enabled = True
        self.blocks: list[tuple[Any, ...]] = []
        self.casts: dict[tuple[int, DType], tuple[weakref.ref[Tensor], int, Tensor]] = {}


thread = AutocastState()


def dtype_of(kind: str) -> DType:
    """What the lower-precision ops of a device type run in, in this thread."""
    return state.__dict__.get("autocast_dtypes", DEFAULT_DTYPES)[kind]


def set_dtype(kind: str, dtype: DType) -> None:
    """Set what the lower-precision ops of a device type run in, in this thread."""
    # A new dict each time: who noted the settings keeps what they were.
    state.__dict__["autocast_dtypes"] = {**state.__dict__.get("autocast_dtypes", DEFAULT_DTYPES), kind: dtype}


def is_on(kind: str) -> bool:
    """Whether calls on tensors of a device type are cast now."""
    return bool(state.include & ~state.exclude & AUTOCAST_KEYS[kind].bit)


def switch(kind: str, on: bool) -> None:
    """Turn autocast of a device type on or off in this thread."""
    bit = AUTOCAST_KEYS[kind].bit
    if on:
        set_dtype(kind, dtype_of(kind))  # where autocast is on, the settings are there
        state.include |= bit
        state.exclude &= ~bit  # also where a kernel runs below autocast
    else:
        state.include &= ~bit


def enter(kind: str, on: bool, dtype: DType, cache_enabled: bool) -> None:
    """Open a block."""
    bit = AUTOCAST_KEYS[kind].bit
    found = state.__dict__.get("autocast_dtypes")
    dtypes = {**(found or DEFAULT_DTYPES), kind: dtype}
    before = kind, bit, state.include & bit, state.exclude & bit, found, thread.cache_enabled
    # From here on no calls, after which the handler of a signal may run.
    thread.blocks += [before]
    if on:
        state.include |= bit
        state.exclude &= ~bit  # also where a kernel runs below autocast
    else:
        state.include &= ~bit
    state.__dict__["autocast_dtypes"] = dtypes
    thread.cache_enabled = cache_enabled


@surely
def leave() -> None:
    """Close the innermost block; after the outermost, kept casts are let go."""
    try:
        _entered = True
    finally:
        kind, bit, include, exclude, dtypes, thread.cache_enabled = thread.blocks[-1]
        # Only this key: what the block changed of other keys outlives it, as it would without the block.
        state.include = state.include & ~bit | include
        state.exclude = state.exclude & ~bit | exclude
        now = state.__dict__
        if dtypes is not None:
            now["autocast_dtypes"] = {**now["autocast_dtypes"], kind: dtypes[kind]}
        elif "autocast_dtypes" in now:
            del now["autocast_dtypes"]
        del thread.blocks[-1]
        if not thread.blocks:
            thread.casts.clear()


# ---- casting -------------------------------------------------------------------------------------------------------


def eligible(t: Tensor, kind: str) -> bool:
    """Whether autocast of a device type may cast a tensor: floating ones on it, but never float64."""
    return t._device.type == kind and t._dtype.is_floating_point and t._dtype is not float64


def cast(value: Any, kind: str, dtype: DType) -> Any:
    """A value with the eligible tensors in it cast; looks into lists, tuples and dicts."""
    if isinstance(value, Tensor):
        if value._dtype is dtype or not eligible(value, kind):
            return value
        return ops.aten._to_copy.default(value, dtype=dtype)
    if type(value) in (list, tuple):
        return type(value)([cast(item, kind, dtype) for item in value])
    if type(value) is dict:
        return {key: cast(item, kind, dtype) for key, item in value.items()}
    return value


def cached_cast(value: Any, kind: str, dtype: DType) -> Any:
    """`cast`, where a parameter that many calls use is cast once in a block."""
    if not isinstance(value, Tensor):
        return [cached_cast(item, kind, dtype) for item in value] if isinstance(value, (list, tuple)) else value
    if value._dtype is not float32 or dtype is not dtype_of(kind) or not _cacheable(value) or not eligible(value, kind):
        return cast(value, kind, dtype)
    if dtype is float32:
        return value
    found = thread.casts.get((id(value), dtype))
    # An id is used again once its tensor is gone, and a parameter may be updated inside the block.
    if found is not None and found[0]() is value and found[1] == value._storage.version:
        return found[2]
    made = ops.aten._to_copy.default(value, dtype=dtype)
    thread.casts[id(value), dtype] = weakref.ref(value), value._storage.version, made
    return made


def _cacheable(t: Tensor) -> bool:
    """Whether a cast may be kept: of a leaf, recorded (else the leaf would get no gradient), and in no trace."""
    return (
        bool(t._keys & GRAD)
        and not t._keys & (PYTHON_BIT | BATCHED_BIT)
        and not state.exclude & GRAD
        and not state.modes
        and thread.cache_enabled
        and bool(thread.blocks)
        and t._view_of is None
        and grad_fn_of(t) is None
    )


def _widest(op: OpOverload, kind: str, tensors: Iterator[Tensor]) -> DType:
    """float32 if any tensor has it, else the block's dtype."""
    lower = widest = dtype_of(kind)
    for t in tensors:
        if not eligible(t, kind):
            continue
        if t._dtype is float32 or widest is float32:
            widest = float32
        elif t._dtype is not lower:
            raise DTypeError(
                f"{op}: autocast to {lower.name} does not mix with {t._dtype.name}", got=describe(t),
                hint=f"convert it first: .to({lower.name}), or .float()",
            )  # fmt: skip
    return widest


# ---- kernels -------------------------------------------------------------------------------------------------------


def _below(op: OpOverload, bit: int, prepare: Callable[[tuple[Any, ...], dict[str, Any]], Any]) -> Kernel:
    """A kernel that calls the op on what `prepare` makes of its arguments, with autocast of the device off."""

    def casting(*args: Any, **kwargs: Any) -> Any:
        if prepare is not _keeping:
            refuse_cast()
        before = state.exclude
        state.exclude = before | bit
        try:
            args, kwargs = prepare(args, kwargs)
            return op(*args, **kwargs)
        finally:
            state.exclude = before

    return casting


def _casting_to(choose: Callable[[tuple[Any, ...]], DType], kind: str) -> Callable[..., Any]:
    def prepare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        dtype = choose(args)
        return (
            [cached_cast(value, kind, dtype) for value in args],
            {name: cached_cast(value, kind, dtype) for name, value in kwargs.items()},
        )

    return prepare


def _promoting(op: OpOverload, kind: str) -> Callable[..., Any]:
    arguments = [a for a in op._schema.arguments if not a.kwarg_only]
    # An optional tensor follows the others and has no say, as in PyTorch.
    takes_part = [str(a.type) == "Tensor" or str(a.type).startswith("Tensor[") for a in arguments]

    def tensors(args: tuple[Any, ...]) -> Iterator[Tensor]:
        for value, counted in zip(args, takes_part, strict=False):
            if counted:
                yield from tensors_in([value])

    return _casting_to(lambda args: _widest(op, kind, tensors(args)), kind)


def _setting_result(op: OpOverload, kind: str) -> Callable[..., Any]:
    position, argument = next((i, a) for i, a in enumerate(op._schema.arguments) if str(a.type) == "ScalarType?")

    def prepare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not (isinstance(args[0], Tensor) and eligible(args[0], kind)):
            return args, kwargs
        if not argument.kwarg_only and len(args) > position:
            dtype = float32 if args[position] is None else args[position]
            return (*args[:position], dtype, *args[position + 1 :]), kwargs
        dtype = kwargs.get(argument.name)
        return args, {**kwargs, argument.name: float32 if dtype is None else dtype}

    return prepare


def _banned(op: OpOverload) -> Kernel:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            f"{op}: its gradient overflows in float16, so it is not run inside autocast",
            hint="use binary_cross_entropy_with_logits on the values before the sigmoid, or switch autocast off: "
            "with opweave.autocast('cuda', enabled=False)",
        )  # fmt: skip

    return refuse


def _keeping(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args, kwargs


def _resolver(kind: str) -> Callable[[OpOverload, int], Kernel | None]:
    """What the Autocast key of a device type does with an op."""
    bit = AUTOCAST_KEYS[kind].bit

    def resolve(op: OpOverload, bits: int) -> Kernel | None:
        rule = op.autocast_rules.get(kind)
        if rule is not None:
            return _below(op, bit, lambda args, kwargs: (cast(args, kind, rule), cast(kwargs, kind, rule)))
        policy = op.decl and op.decl.autocast.get(kind)
        if policy == "lower_precision_fp":
            return _below(op, bit, _casting_to(lambda _: dtype_of(kind), kind))
        if policy == "fp32":
            return _below(op, bit, _casting_to(lambda _: float32, kind))
        if policy == "fp32_set_opt_dtype":
            return _below(op, bit, _setting_result(op, kind))
        if policy == "promote":
            return _below(op, bit, _promoting(op, kind))
        if policy == "banned":
            return _banned(op)
        if policy == "keep" or _runs_ops(op, bits):
            return op.fallback_at(AUTOCAST_KEYS[kind]) or _below(op, bit, _keeping)
        return None

    return resolve


def _runs_ops(op: OpOverload, bits: int) -> bool:
    """Whether a built-in op that is one op to autograd and to modes is computed by others, which must not be cast."""
    explicit = (DispatchKey.CompositeExplicitAutograd, DispatchKey.CompositeExplicitAutogradNonFunctional)
    if op.decl is None or not any(key in op.kernels for key in explicit):
        return False
    return not any(key in op.kernels and bits & BACKEND_MASK & key.bit for key in BACKENDS)


for _kind, _key in AUTOCAST_KEYS.items():
    resolvers[_key] = _resolver(_kind)
# What was looked up with the keys set before they did anything.
for _op in list(registry.loaded.values()):
    for _bits in [bits for bits in _op._table if bits & AUTOCAST_MASK]:
        _op._table.pop(_bits, None)
