"""How pointwise ops run eagerly.

There is one way that takes any call, `evaluate`: the body on whole arrays, or on pieces of them that stay in the cache.
Before it, two ways remember for the layouts of a call what it leads to, a *plan*, so that little Python runs:

`quick`
    Operands of one type and row-major layout, by a short key. Small tensors are worth nothing more than the body on
    whole arrays (`_Small`), large ones get a `_Large`, for each of the numbers that they are combined with
    (`_ByNumbers`).
`large`
    Large operands of any layouts and types, by a key of all of them: a `_Large`.

`GENERAL` stands where a layout is for the general way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.ops.kinds.base import IGNORED, Decl, differs, handler, reset_errors, set_errors, store
from opweave.registry.ops.kinds.operand_values import operand_values, rounds_tensors
from opweave.registry.ops.kinds.replayed_numbers import replay_numbers
from opweave.registry.ops.kinds.ufunc_plan import PIECE, UfuncPlan, trace
from opweave.registry.promote import can_cast
from opweave.registry.scalar import ArrayScalars, converted, is_many, is_turned
from opweave.registry.schema import Argument
from opweave.registry.spec import TensorSpec, contiguous_strides, is_contiguous, overlaps_itself, row_major, span
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, allocate_bytes, allocate_like, wrap_array

# A pointwise body is evaluated in pieces of this many elements so that its temporaries stay in the cache.
_CHUNK = 1 << 15
# Layouts that an op remembers.
_MOST_PLANS = 256
# Types of attributes and numbers that a remembered call may have.
_SETTINGS = frozenset({int, float, bool, str, type(None), DType})
# Integers below this are the same number as floats.
_EXACT = 1 << 53
_NUMPY = handler(np)


class _Small(NamedTuple):
    """A call with small tensors: the body on whole arrays.

    Attributes
    ----------
    result : DType
        Of the result.
    numpy : numpy.dtype
        The same to NumPy.
    is_checked : bool
        Whether the body was seen to give a fresh array of that type and the operands' shape.
    """

    result: DType
    numpy: Any
    is_checked: bool


class _Large(NamedTuple):
    """A call with large tensors: ufuncs that write the result piece by piece, or one that takes arrays as they are.

    Attributes
    ----------
    spec : TensorSpec
        Of the result.
    nbytes : int
        That its strides span.
    byte_strides : tuple of int
        The strides in bytes.
    ufuncs : UfuncPlan
        What writes it.
    places : tuple of int
        Where the tensors are among the arguments.
    order : tuple of int or None
        The dimensions in the order of memory, which is one for all tensors; None where there is one call to make,
        which takes arrays as they are.
    block : tuple of int or None
        Where tensors lie in different ways and the result is row-major: the dimension that is cut into blocks, whose
        operands are laid out like the result, and elements of a block along it.
    """

    spec: TensorSpec
    nbytes: int
    byte_strides: tuple[int, ...]
    ufuncs: UfuncPlan
    places: tuple[int, ...]
    order: tuple[int, ...] | None
    block: tuple[int, int] | None = None

    def run(self, arrays: Sequence[Any], out: Tensor | None) -> Tensor:
        """Compute into `out` or a new tensor."""
        if out is None:
            sizes, strides, dtype, device = self.spec
            out = allocate_bytes(sizes, strides, dtype, device, self.nbytes)
            out._cached = np.ndarray(sizes, dtype.numpy, out._storage.bytes(), 0, self.byte_strides)
        target = out._array
        token = set_errors(IGNORED)
        try:
            if self.block is not None:
                self._run_blocks(arrays, target)
            elif self.order is None:
                self.ufuncs.call([_as_result(array, target) for array in arrays], target)
            else:
                flat = [array.transpose(self.order).reshape(-1) for array in arrays]
                self.ufuncs.run(flat, target.transpose(self.order).reshape(-1))
        finally:
            reset_errors(token)
        return out

    def _run_blocks(self, arrays: Sequence[Any], target: Any) -> None:
        assert self.block is not None
        if not self.ufuncs.steps and is_turned(target, arrays[self.ufuncs.result.number]):
            return
        arrays = [_as_result(array, target) for array in arrays]
        fused = self.ufuncs.fused
        if fused is not None and fused.run_broadcast(arrays, target):
            return
        dim, size = self.block
        sizes = self.spec.sizes
        whole = [np.broadcast_to(array, sizes) for array in arrays]
        # What is the same in all blocks is laid out once.
        same = [a[(0,) * dim].reshape(-1) if size >= sizes[dim] and not any(a.strides[:dim]) else None for a in whole]

        def blocks() -> Iterator[tuple[list[Any], Any]]:
            for start in range(0, sizes[dim], size):  # a smaller one comes last
                for outer in np.ndindex(sizes[:dim]):
                    at = (*outer, slice(start, start + size))
                    flat = [a[at].reshape(-1) if one is None else one for a, one in zip(whole, same, strict=True)]
                    yield flat, target[at].reshape(-1)

        first = min(size, sizes[dim]) * math.prod(sizes[dim + 1 :])
        self.ufuncs.run_pieces(blocks(), first, not any(np.may_share_memory(a, target) for a in arrays))


def _as_result(array: Any, target: Any) -> Any:
    """An array, copied if it lies in another order than a large result, since loops would go through it in leaps."""
    if array.shape != target.shape or array.strides == target.strides or not is_many(target):
        return array
    copy = np.empty_like(target, array.dtype)
    return copy if is_turned(copy, array) else array


class _ByNumbers(dict[str, "_Large | tuple[()]"]):
    """Calls with large tensors and numbers, by the text of the numbers."""


Plan = _Small | _Large | _ByNumbers | tuple[()]
#: No plan: such calls go the general way.
GENERAL: tuple[()] = ()


class PointwiseEager(Decl):
    """The eager kernel of a pointwise op; `PointwiseDecl` adds what follows from its types."""

    #: The body, and what runs where all attributes are their defaults.
    body: Callable[..., Any]
    plain_body: Callable[..., Any]
    #: Attributes that are numbers of the compute type, with their defaults.
    numbers: dict[str, Any]

    def forget(self) -> None:
        """Start without plans."""
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self._large: dict[tuple[Any, ...], _Large | tuple[()]] = {}
        self._ufunc_plans: dict[tuple[Any, ...], UfuncPlan | None] = {}

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The schema's arguments."""
        return self.op._schema.arguments

    @cached_property
    def is_operand(self) -> tuple[bool, ...]:
        """True for the arguments that are elements of the computation, False for attributes of it."""
        return tuple(a.type.is_tensor for a in self.arguments)

    def operands(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Split arguments into operands (tensors, numbers or None, in the body's order) and attributes."""
        if all(self.is_operand) and len(args) == len(self.arguments):
            return list(args), {}
        values, attributes = [], {}
        for argument, is_operand, value in zip(self.arguments, self.is_operand, self.bind(args, kwargs), strict=True):
            if is_operand:
                values.append(value)
            else:
                attributes[argument.name] = value
        return values, attributes

    def types(self, *operands: Any, **attributes: Any) -> tuple[DType, DType]:
        """(compute type, result type) for operands given as tensors, dtypes or numbers; None is skipped."""
        raise NotImplementedError

    def spec(self, operands: Sequence[Any], attributes: dict[str, Any]) -> TensorSpec:
        """What the result looks like."""
        raise NotImplementedError

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        """Evaluate on the operands' array module."""
        result = self.quick(args, kwargs)
        if result is None:
            result = self.large(args, kwargs)
        if result is not None:
            return result
        operands, attributes = self.operands(args, kwargs)
        return self.fill(operands, attributes, self.spec(operands, attributes), None)

    # ---- operands of one layout --------------------------------------------------------------------------------------

    @cached_property
    def _plain_attributes(self) -> dict[str, Any] | None:
        """Defaults of the keyword attributes; None where there are positional ones."""
        if any(not operand and not a.kwarg_only for a, operand in zip(self.arguments, self.is_operand, strict=True)):
            return None
        return {a.name: a.default for a in self.arguments if a.kwarg_only}

    def quick(self, args: tuple[Any, ...], kwargs: dict[str, Any], inplace: bool = False) -> Tensor | None:
        """The common case without the general machinery: row-major CPU operands of one shape and type.

        None means that another way has to be taken.
        """
        lead = args[0]
        attributes = self._plain_attributes
        if attributes is None or type(lead) is not Tensor or lead._device is not cpu:
            return None
        for name, value in kwargs.items():
            if value is not attributes[name]:
                return None
        sizes, strides, dtype = lead._sizes, lead._strides, lead._dtype
        values: list[Any] = []
        numbers = 0
        for operand in args:
            if type(operand) is Tensor:
                if operand is not lead:
                    if operand._sizes != sizes or operand._strides != strides or operand._dtype is not dtype:
                        return None
                    if operand._device is not cpu:
                        return None
                array = operand._cached
                values.append(operand._array if array is None else array)
            elif dtype.kind == "f" and (type(operand) is float or type(operand) is int and -_EXACT < operand < _EXACT):
                numbers += 1
                values.append(float(operand))
            elif type(operand) is int and dtype.kind in "iu" and 0 <= operand < 128:
                numbers += 1
                values.append(operand)
            else:
                return None
        key = (dtype, sizes, strides, numbers)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._planned(key, values[0].size, args, kwargs)
        if type(plan) is not _Small:
            return self._run_large(plan, values, args, kwargs, inplace)
        result, _, is_checked = plan
        token = set_errors(IGNORED)
        try:
            # Numbers that are the defaults (or equal them: 1.0) are elements as they are.
            body = self.plain_body if kwargs == self.numbers else self.body
            array = body(_NUMPY, *values, **kwargs)
        finally:
            reset_errors(token)
        if not is_checked:
            array = self._checked(key, plan, values, array)
            if array is None:
                return None
        if inplace:
            if result is not dtype:
                return None
            lead._array[...] = array
            return lead
        return wrap_array(array, sizes, strides, result, cpu)

    def _planned(self, key: tuple[Any, ...], count: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        dtype, sizes, strides, numbers = key
        compute, result = self.types(*args, **kwargs)
        plan: Plan = GENERAL
        if compute is dtype and strides == row_major(sizes):
            if count < 2 * _CHUNK:
                plan = _Small(result, result.numpy, False)
            elif numbers:
                plan = _ByNumbers()
            else:
                plan = self._large_plan(args, kwargs, False) or GENERAL
        if len(self._plans) > _MOST_PLANS:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def _checked(self, key: tuple[Any, ...], plan: _Small, values: list[Any], array: Any) -> Any:
        """What the body gave as a fresh array; None where it is another than was planned.

        A body does not look at elements, so what it gives once it gives for this layout always.
        """
        _, sizes, _, numbers = key
        if type(array) is not np.ndarray:
            array = np.asarray(array)
        copied = False
        for value in values:
            if array is value:
                array, copied = array.copy(), True
                break
        if array.dtype != plan.numpy or array.base is not None or array.shape != sizes:
            return None
        if sizes and not numbers and not copied:
            self._plans[key] = plan._replace(is_checked=True)
        return array

    def _run_large(
        self, plan: Plan, values: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], inplace: bool
    ) -> Tensor | None:
        if type(plan) is _ByNumbers:
            # For each of the numbers that it was called with, where 0.0 and -0.0 are equal.
            written = repr([value for value in values if type(value) is not np.ndarray])
            values = [value for value in values if type(value) is np.ndarray]
            found = plan.get(written)
            if found is None:
                if len(plan) > _MOST_PLANS:
                    plan.clear()
                found = plan[written] = self._large_plan(args, kwargs, False) or GENERAL
            plan = found
        if type(plan) is not _Large:
            return None
        if not inplace:
            return plan.run(values, None)
        lead = args[0]
        if plan.spec.dtype is not lead._dtype or plan.spec.strides != lead._strides:
            return None
        return plan.run(values, lead) if len(args) == 1 or not _overwritten(args, lead) else None

    # ---- large operands ----------------------------------------------------------------------------------------------

    def large(self, args: tuple[Any, ...], kwargs: dict[str, Any], inplace: bool = False) -> Tensor | None:
        """Large CPU operands by ufuncs, without finding out again what types, layouts and numbers lead to.

        Such tensors fill the caches, so each line of Python that runs between two of them is slow: what `evaluate`
        does took half as long as adding a million numbers. None means that the general way has to be taken.
        """
        key: list[Any] = [inplace, dtypes.get_default_dtype()]
        count = 0
        for value in args:
            kind = type(value)
            if kind is Tensor:
                if value._device is not cpu:
                    return None
                sizes = value._sizes
                count = max(count, math.prod(sizes))
                key += (sizes, value._strides, value._dtype)
            elif kind in _SETTINGS:
                key += (kind, repr(value))  # 0.0 and -0.0 are equal, and so are 1 and 1.0
            else:
                return None
        if count < 2 * _CHUNK:
            return None
        for name, value in kwargs.items():
            if type(value) not in _SETTINGS:
                return None
            key += (name, type(value), repr(value))
        known = tuple(key)
        plan = self._large.get(known)
        if plan is None:
            plan = self._large_plan(args, kwargs, inplace) or GENERAL
            if len(self._large) > _MOST_PLANS:
                self._large.clear()
            self._large[known] = plan
        if not isinstance(plan, _Large):
            return None
        if inplace and _overwritten(args, args[0]):
            return None
        return plan.run([args[place]._array for place in plan.places], args[0] if inplace else None)

    def _large_plan(self, args: tuple[Any, ...], kwargs: dict[str, Any], inplace: bool) -> _Large | None:
        """What a call by ufuncs is; None where only `evaluate` can do it."""
        if type(self).fill is not PointwiseEager.fill:
            return None
        operands, attributes = self.operands(args, kwargs)
        places = tuple([i for i, value in enumerate(args) if type(value) is Tensor])
        tensors = [value for value in operands if isinstance(value, Tensor)]
        if len(places) != len(tensors) or any(args[i] is not t for i, t in zip(places, tensors, strict=True)):
            return None
        spec = self.spec(operands, attributes)
        compute, result = self.types(*operands, **attributes)
        if inplace:
            target = args[0]
            if spec.sizes != target._sizes or not can_cast(spec.dtype, target._dtype):
                return None  # an error, for others to raise
            if overlaps_itself(target._sizes, target._strides):
                return None
            spec, result = TensorSpec(spec.sizes, target._strides, target._dtype, cpu), target._dtype
        if not spec.numel or spec.device is not cpu:
            return None
        if rounds_tensors(self, operands, compute):
            return None
        values = operand_values(self, np, operands, compute, cpu)
        # A number of another type than Python's is a constant too; a tensor without dimensions is not.
        values = [v[()] if _is_scalar_array(v) and not isinstance(o, Tensor) else v
                  for v, o in zip(values, operands, strict=True)]  # fmt: skip
        with np.errstate(all="ignore"):
            ufuncs = self._ufuncs_for(_NUMPY, values, attributes, compute, result)
        if ufuncs is None:
            return None
        order = block = None
        if not ufuncs.is_one_call or any(t._dtype is not compute for t in tensors):
            if _one_layout(spec, operands, None):
                order = tuple(sorted(range(len(spec.sizes)), key=lambda d: -spec.strides[d]))
            else:
                block = _block_of(spec)
                if block is None:
                    return None
        item = result.itemsize
        byte_strides = tuple([stride * item for stride in spec.strides])
        return _Large(spec, span(spec.sizes, spec.strides) * item, byte_strides, ufuncs, places, order, block)

    # ---- any operands ------------------------------------------------------------------------------------------------

    def fill(self, operands: Sequence[Any], attributes: dict[str, Any], spec: TensorSpec, out: Tensor | None) -> Tensor:
        """Run the body on whole arrays, into `out` where given (which may be one of the operands)."""
        xp = spec.device.xp
        compute, result = self.types(*operands, **attributes)
        if out is not None:
            result = out._dtype
        k = handler(xp)
        values = operand_values(self, xp, operands, compute, spec.device)
        count = math.prod(spec.sizes)
        with np.errstate(all="ignore"):
            if xp is np and count >= 2 * _CHUNK and _one_layout(spec, operands, out):
                target = out if out is not None else allocate_like(spec)
                self._fill_chunks(k, values, attributes, compute, target)
                return target
            values = [converted(xp.asarray(v), compute.numpy) if differs(v, compute) else v for v in values]
            array = xp.asarray(self.body(k, *values, **attributes))
        if out is None and _is_fresh(array, values) and array.shape == spec.sizes and array.flags.c_contiguous:
            if spec.strides == contiguous_strides(spec.sizes) and array.dtype == result.numpy:
                return Tensor._from_array(array, spec.device)
        target = out if out is not None else allocate_like(spec)
        with np.errstate(all="ignore"):
            store(k, target._array, array, result)
        return target

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        operands, attributes = self.operands(args, kwargs)
        compute, found = self.types(*operands, **attributes)
        tensors = [t for t in operands if isinstance(t, Tensor)]
        if type(self).fill is not PointwiseEager.fill or compute.numpy is None:
            raise NotTaped(str(self.op))
        if rounds_tensors(self, operands, compute):
            raise NotTaped("a tensor that is rounded like a number")
        if replay_numbers(self, tape, operands, attributes, (compute, found), result):
            return
        # Of the tensors only the type counts.
        sample = np.ones(1, compute.numpy)
        values = [sample if isinstance(o, Tensor) else v
                  for o, v in zip(operands, operand_values(self, np, operands, compute, cpu), strict=True)]  # fmt: skip
        values = [v[()] if _is_scalar_array(v) else v for v in values]
        with np.errstate(all="ignore"):
            ufuncs = self._ufuncs_for(_NUMPY, values, attributes, compute, found)
        if ufuncs is None:
            if not result.numel():  # what is computed of the sample might be refused
                raise NotTaped(str(self.op))
            with np.errstate(all="ignore"):
                value = self.body(_NUMPY, *values, **attributes)
                if np.ndim(value):
                    raise NotTaped(str(self.op))
                constant = np.asarray(_NUMPY.cast(value, found))
            tape.map("copied", [constant], tape.made(result))  # it depends on no element
            return
        taken = [tape.converted(tape.value(t), compute.numpy) for t in tensors]
        ufuncs.write(tape, taken, tape.made(result))

    def _ufuncs_for(
        self, k: ArrayScalars, values: list[Any], attributes: dict[str, Any], compute: DType, result: DType
    ) -> UfuncPlan | None:
        """The body as ufuncs that give the result's type; None where NumPy converts operands in another way."""
        for v in values:
            if (
                isinstance(v, np.ndarray)
                and differs(v, compute)
                and (compute.kind != "f" or not _is_converted(v.dtype))
            ):
                return None
        if compute.numpy is None or result.numpy is None:
            return None
        described = tuple([compute.numpy if isinstance(v, np.ndarray) and v.ndim else v for v in values])
        if any(isinstance(v, np.ndarray) for v in described):
            return None
        # A number and its type: 1, 1.0 and True are equal, 0.0 and -0.0 too.
        settings = [*described, *attributes.items(), result]
        key = tuple([v if isinstance(v, np.dtype) else (type(v), repr(v)) for v in settings])
        if key not in self._ufunc_plans:
            if len(self._ufunc_plans) > _MOST_PLANS:
                self._ufunc_plans.clear()

            def body(*operands: Any) -> Any:
                value = self.body(k, *operands, **attributes)
                return k.cast(value, result) if differs(value, result) else value

            self._ufunc_plans[key] = trace(body, described)
        found = self._ufunc_plans[key]
        return found if found is not None and found.dtype == result.numpy else None

    def _fill_chunks(
        self, k: ArrayScalars, values: list[Any], attributes: dict[str, Any], compute: DType, target: Tensor
    ) -> None:
        # The operands share one dense layout, so memory order serves as the iteration order for all of them.
        flat = [_memory_order(v) if isinstance(v, np.ndarray) and v.ndim else v for v in values]
        out = _memory_order(target._array)
        ufuncs = self._ufuncs_for(k, flat, attributes, compute, target._dtype)
        if ufuncs is not None:
            ufuncs.run([v for v in flat if isinstance(v, np.ndarray) and v.ndim], out)
            return
        for start in range(0, out.size, _CHUNK):
            pieces = []
            for v in flat:
                piece = v[start : start + _CHUNK] if isinstance(v, np.ndarray) and v.ndim else v
                pieces.append(converted(piece, compute.numpy) if differs(piece, compute) else piece)
            found = self.body(k, *pieces, **attributes)
            if np.ndim(found) == 0:  # which depends on no element
                store(k, out, found, target._dtype)
                return
            store(k, out[start : start + _CHUNK], found, target._dtype)


def _block_of(spec: TensorSpec) -> tuple[int, int] | None:
    """How a row-major result is cut into blocks that stay in the cache, as (dimension, elements along it)."""
    if not spec.sizes or spec.strides != contiguous_strides(spec.sizes):
        return None
    inner = 1
    for dim in range(len(spec.sizes) - 1, 0, -1):
        if inner * spec.sizes[dim] > PIECE:
            return dim, max(1, PIECE // inner)
        inner *= spec.sizes[dim]
    return 0, max(1, PIECE // inner)


def _is_converted(dtype: np.dtype[Any]) -> bool:
    """Whether elements of a type become numbers of a floating type as they are."""
    return dtype.kind in "fiub" or dtype == dtypes.bfloat16.numpy


def _is_scalar_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.ndim


def _one_layout(spec: TensorSpec, operands: Sequence[Any], out: Tensor | None) -> bool:
    """Whether all tensors with dimensions have the result's sizes and strides, and these are dense."""
    if out is not None and out._strides != spec.strides:
        return False
    for t in operands:
        if isinstance(t, Tensor) and t._sizes:
            if t._sizes != spec.sizes or t._strides != spec.strides:
                return False
            # A partly overlapping operand would be overwritten before it is read.
            if out is not None and t is not out and _share(t, out):
                return False
    order = tuple(sorted(spec.strides, reverse=True))
    return order == spec.strides and is_contiguous(spec.sizes, spec.strides) or _is_permuted_contiguous(spec)


def _overwritten(args: Sequence[Any], target: Tensor) -> bool:
    """Whether writing to `target` may change elements of other operands that are read later."""
    for t in args:
        if t is not target and type(t) is Tensor and _share(t, target):
            return True
    return False


def _share(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors on the CPU may share memory without being the same elements in one layout.

    Two storages may look into one array that a user brought.
    """
    if a._strides == b._strides and a._sizes == b._sizes and a._dtype is b._dtype:
        if a._storage is b._storage and a._offset == b._offset:
            return False
    return bool(np.may_share_memory(a._array, b._array))


def _is_permuted_contiguous(spec: TensorSpec) -> bool:
    order = sorted(range(len(spec.sizes)), key=lambda d: -spec.strides[d])
    return is_contiguous([spec.sizes[d] for d in order], [spec.strides[d] for d in order])


def _memory_order(array: Any) -> Any:
    order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    return array.transpose(order).reshape(-1)


def _is_fresh(array: Any, values: Sequence[Any]) -> bool:
    return array.base is None and all(array is not v for v in values)
