"""The inputs that an op is tried with: copies of the given ones, and variants in other memory layouts and of size 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.autograd.surface import requires_grad_
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import ArgumentError, OpCheckError
from opweave.registry.keys import BATCHED_BIT, GRAD, PYTHON_BIT
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.spec import contiguous_strides, span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, allocate, describe, make
from opweave.testing import assert_close

Values = dict[str, Any]

#: Largest number of variants with a size of 0: one for each distinct size in the arguments.
_MAX_EMPTY = 4


@dataclass
class Sample:
    """Arguments of one call, never passed on themselves: `fresh()` makes copies.

    Attributes
    ----------
    name : str
        How the arguments differ from the given ones, for messages.
    values : dict
        Arguments by name, defaults filled in.
    kind : str
        `"given"`, `"layout"` or `"empty"`.
    thorough : bool
        Whether to try variants of it as well.
    """

    op: OpOverload
    name: str
    values: Values
    kind: str = "given"
    thorough: bool = False
    shown: str = field(init=False)

    def __post_init__(self) -> None:
        self.shown = ", ".join(f"{name}={describe(value)}" for name, value in self.values.items())

    def fresh(self, *, grad: bool = False) -> Values:
        """Copies of the arguments: the same values, gaps, strides and shared storages; `requires_grad` if `grad`."""
        return copied(self.values, grad=grad)

    def tensors(self) -> list[Tensor]:
        """The tensors among the arguments."""
        return list(tensors_in(self.values))

    def error(self, what: str, *, got: str | None = None, hint: str | None = None) -> OpCheckError:
        """What to raise: names the op and these arguments."""
        where = f"called with {self.shown}" + (f" ({self.name})" if self.name else "")
        site = self.op.site if self.op.decl is None else None
        return OpCheckError(f"{self.op.name}: {what}", got=f"{got}; {where}" if got else where, at=site, hint=hint)


def call(op: OpOverload, values: Values, *, trimmed: bool = False) -> Any:
    """Call an op with its arguments by name.

    Parameters
    ----------
    trimmed : bool
        Leave out the arguments that equal their defaults.
    """
    arguments = op._schema.arguments
    args = tuple([values[a.name] for a in arguments if not a.kwarg_only])
    kwargs = {a.name: values[a.name] for a in arguments if a.kwarg_only}
    if trimmed:
        args, kwargs = op.trim(args, kwargs)
    return op(*args, **kwargs)


def bound(op: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Values:
    """Arguments by name, defaults filled in.

    Raises
    ------
    ArgumentError
        If they do not fit the schema, or are tensors without data.
    """
    positional, keyword = op._schema.bind(args, kwargs)
    values = dict(zip([a.name for a in op._schema.arguments], [*positional, *keyword.values()], strict=True))
    for t in tensors_in(values):
        if t._keys & (PYTHON_BIT | BATCHED_BIT) or t._storage.owner is None:
            raise ArgumentError(
                f"opcheck: {op.name} can be tried with plain tensors only",
                got=f"{type(t).__name__} {describe(t)}",
                hint="pass tensors with data on cpu or cuda",
            )
    return values


def copied(values: Any, *, grad: bool = False) -> Any:
    """The same nested values with every tensor's storage copied once, so that what shared memory still does."""
    storages: dict[int, Storage] = {}
    tensors: dict[int, Tensor] = {}

    def one(t: Tensor) -> Tensor:
        made = tensors.get(id(t))
        if made is None:
            storage = storages.get(id(t._storage))
            if storage is None:
                storage = storages[id(t._storage)] = copied_storage(t._storage)
            made = tensors[id(t)] = make(storage, t._sizes, t._strides, t._offset, t._dtype, t._device)
            if grad and t._keys & GRAD:
                requires_grad_(made)
        return made

    return mapped(values, one)


def mapped(values: Any, fn: Callable[[Tensor], Any]) -> Any:
    """Nested lists, tuples and dicts with a function applied to their tensors."""
    if isinstance(values, Tensor):
        return fn(values)
    if isinstance(values, dict):
        return {key: mapped(value, fn) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        items = [mapped(value, fn) for value in values]
        return tuple(items) if isinstance(values, tuple) else items
    return values


def raw(storage: Storage) -> Any:
    """All bytes of a storage, shared with it."""
    return storage.array((storage.nbytes,), (1,), 0, dtypes.uint8)


def copied_storage(storage: Storage) -> Storage:
    """A storage with the same bytes."""
    return Storage(storage.device, storage.nbytes, raw(storage).copy(), None)


def from_array(array: Any, like: Tensor, dtype: Any = None) -> Tensor:
    """A contiguous tensor of NumPy values on a tensor's device."""
    dtype = dtype or like._dtype
    array = np.asarray(array)
    t = allocate(array.shape, contiguous_strides(array.shape), dtype, like._device)
    t._array[...] = like._device.xp.asarray(array.astype(dtype.numpy)) if like.is_cuda else array.astype(dtype.numpy)
    return t


def numpy_of(t: Tensor) -> np.ndarray[Any, Any]:
    """A copy of the elements in main memory."""
    return np.array(t.detach().numpy(force=True))


#: How much opcheck tries.
LEVELS = ("default", "thorough")

# ---- variants ------------------------------------------------------------------------------------------------------


def variants(op: OpOverload, given: Sample) -> Iterator[Sample]:
    """The given arguments in other memory layouts, and with sizes of 0, where they are to be tried."""
    if not given.thorough:
        return
    tensors = given.tensors()
    distinct = {id(t): t for t in tensors}
    separate = len({id(t._storage) for t in distinct.values()}) == len(distinct)
    fixed = {"needs_exact_strides", "needs_contiguous_strides", "needs_fixed_stride_order"} & set(op.tags)
    if separate and not fixed:
        for name, layout in (("with gaps between elements", gapped), ("with transposed strides", transposed)):
            laid_out = {key: layout(t) for key, t in distinct.items()}
            if any(laid_out[key] is not t for key, t in distinct.items()):
                yield _replaced(given, laid_out, f"every tensor {name}")
                if len(distinct) > 1:
                    # An op that insists on one layout of one argument may take any of another.
                    for position, (key, t) in enumerate(distinct.items()):
                        if laid_out[key] is not t:
                            yield _replaced(given, {key: laid_out[key]}, f"tensor {position} {name}")
    if separate:
        yield from _empty(given, distinct)


def _replaced(given: Sample, tensors: dict[int, Tensor], name: str, kind: str = "layout") -> Sample:
    values = mapped(given.values, lambda t: tensors.get(id(t), t))
    return Sample(given.op, name, values, kind)


def _empty(given: Sample, distinct: dict[int, Tensor]) -> Iterator[Sample]:
    """A size of 0 in the place of each size, in all tensors at once: dimensions of one size belong together.

    Sizes that are also given as a number are left alone, and so are those that would leave indices into nothing: a
    kernel may trust both and read memory that is not there.
    """
    numbers = set(_numbers(given.values))
    sizes = sorted({size for t in distinct.values() for size in t._sizes if size > 1} - numbers)
    for size in sizes[:_MAX_EMPTY]:
        emptied = {key: _emptied(t, size) for key, t in distinct.items()}
        unchanged = [t for key, t in distinct.items() if emptied[key] is t]
        if any(t._dtype.kind in "iu" and t.numel() for t in unchanged):
            continue
        yield _replaced(given, emptied, f"every size {size} replaced with 0", "empty")


def _numbers(values: Any) -> Iterator[int]:
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, int) and not isinstance(value, bool):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _numbers(value)


def _emptied(t: Tensor, size: int) -> Tensor:
    if size not in t._sizes:
        return t
    sizes = tuple([0 if s == size else s for s in t._sizes])
    return _keeping_grad(t, allocate(sizes, contiguous_strides(sizes), t._dtype, t._device))


def _keeping_grad(t: Tensor, made: Tensor) -> Tensor:
    return requires_grad_(made) if t._keys & GRAD else made


def gapped(t: Tensor) -> Tensor:
    """The same values at an offset and every second place, with other values between them; a 0-d tensor moves."""
    if not t.numel():
        return t
    sizes = t._sizes
    strides = tuple([2 * stride for stride in contiguous_strides(sizes)])
    whole = allocate((span(sizes, strides) + 2,), (1,), t._dtype, t._device)
    made = make(whole._storage, sizes, strides, 1, t._dtype, t._device)
    # Between the elements stand plausible wrong ones: integers may be indices, and stay in range.
    flat = numpy_of(t).reshape(-1)[::-1]
    if t._dtype.kind in "fc":
        flat = -flat - 1
    filler = np.resize(flat, whole._sizes).astype(t._dtype.numpy)
    whole._array[...] = t._device.xp.asarray(filler) if t.is_cuda else filler
    made._array[...] = t._array
    return _keeping_grad(t, made)


def transposed(t: Tensor) -> Tensor:
    """The same values in column-major order; the tensor itself where that is the same."""
    if t.ndim < 2 or not t.numel():
        return t
    strides = tuple(reversed(contiguous_strides(tuple(reversed(t._sizes)))))
    if strides == t._strides:
        strides = contiguous_strides(t._sizes)
    if strides == t._strides or sum(size > 1 for size in t._sizes) < 2:
        return t
    made = allocate(t._sizes, strides, t._dtype, t._device)
    made._array[...] = t._array
    return _keeping_grad(t, made)


# ---- what must not change ------------------------------------------------------------------------------------------


class Snapshot:
    """A tensor's bytes, layout and version at one time."""

    def __init__(self, t: Tensor, label: str):
        self.tensor, self.label = t, label
        self.storage = t._storage
        self.bytes = np.array(to_host(t, raw(t._storage)))
        self.spec, self.offset, self.version, self.keys = t.spec, t._offset, t._version, t._keys

    def change(self, written: bool) -> tuple[str, str] | None:
        """(what changed, before and after), None if nothing did that may not.

        Parameters
        ----------
        written : bool
            Whether the elements may change, though nothing else.
        """
        t = self.tensor
        if t._storage is not self.storage or t._storage.nbytes != len(self.bytes):
            return "got another storage", f"{len(self.bytes)} bytes before, {t._storage.nbytes} after"
        if t.spec != self.spec or t._offset != self.offset:
            return "got other sizes or strides", f"{self.spec[:2]} before, {t.spec[:2]} after"
        if t._keys & GRAD != self.keys & GRAD:
            return "had requires_grad changed", f"{bool(self.keys & GRAD)} before, {bool(t._keys & GRAD)} after"
        changed = np.array(to_host(t, raw(t._storage))) != self.bytes
        if written:
            changed &= ~_element_bytes(t, len(self.bytes), t._offset * t.element_size())
            if changed.any():
                return "was written between its elements", f"byte {int(np.argmax(changed))} of its storage differs"
        elif changed.any():
            at = (int(np.argmax(changed)) // t.element_size()) * t.element_size()
            size = t.element_size()
            after = np.array(to_host(t, raw(t._storage)))[at : at + size].view(t._dtype.numpy)
            return "was written", f"{self.bytes[at : at + size].view(t._dtype.numpy)[0]} before, {after[0]} after"
        elif t._version != self.version:
            return "was written, if with the same values", f"version {self.version} before, {t._version} after"
        return None


def to_host(t: Tensor, array: Any) -> Any:
    """An array of a tensor's device in main memory."""
    return t._device.xp.asnumpy(array) if t.is_cuda else array


def _element_bytes(t: Tensor, count: int, start: int) -> np.ndarray[Any, Any]:
    """Which of `count` bytes belong to a tensor's elements, whose first one starts at byte `start`."""
    mask = np.zeros(count, np.bool_)
    if t.numel():
        item = t.element_size()
        starts = np.full((1,), start)
        for size, stride in zip(t._sizes, t._strides, strict=True):
            starts = np.add.outer(starts, np.arange(size) * stride * item)
        mask[np.add.outer(starts.reshape(-1), np.arange(item)).reshape(-1)] = True
    return mask


def labelled(values: Values) -> Iterator[tuple[str, str, Tensor]]:
    """(argument, label, tensor) for every tensor among the arguments."""
    for name, value in values.items():
        found = list(tensors_in([value]))
        for i, t in enumerate(found):
            yield name, name if isinstance(value, Tensor) else f"{name}[{i}]", t


def extent(t: Tensor) -> tuple[int, int]:
    """First and last address of a tensor's elements; empty for one without."""
    start = t.data_ptr() if t.numel() else 0
    return start, start + span(t._sizes, t._strides) * t.element_size()


def overlap(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors may share memory."""
    if a._storage.owner is None or b._storage.owner is None or not a.numel() or not b.numel():
        return a._storage is b._storage and bool(a.numel() and b.numel())
    (low, high), (start, stop) = extent(a), extent(b)
    if a._device is not b._device or low >= stop or start >= high:
        return False
    # Interleaved tensors overlap in extent only.
    first, count = min(low, start), max(high, stop) - min(low, start)
    return bool((_element_bytes(a, count, low - first) & _element_bytes(b, count, start - first)).any())


# ---- comparing -----------------------------------------------------------------------------------------------------


class Tolerance:
    """How far apart equal results may be; by default as `testing.assert_close` has it for the dtype."""

    def __init__(self, atol: float | None, rtol: float | None):
        if (atol is None) != (rtol is None):
            raise ArgumentError("opcheck: give both atol and rtol, or neither", got=f"atol={atol}, rtol={rtol}")
        self.atol, self.rtol = atol, rtol

    def difference(self, mine: Any, expected: Any, *, exact: bool = False) -> str | None:
        """How two results differ, None if they agree; NaN equals NaN."""
        if isinstance(expected, (list, tuple)) and isinstance(mine, (list, tuple)):
            if len(mine) != len(expected):
                return f"{len(mine)} and {len(expected)} values"
            for i, (a, b) in enumerate(zip(mine, expected, strict=True)):
                found = self.difference(a, b, exact=exact)
                if found is not None:
                    return f"output {i}: {found}"
            return None
        if isinstance(expected, Tensor) and isinstance(mine, Tensor):
            rtol, atol = (0.0, 0.0) if exact else (self.rtol, self.atol)
            try:
                assert_close(mine.detach(), expected.detach(), rtol=rtol, atol=atol, equal_nan=True)
            except AssertionError as error:
                return str(error).replace("\n ", ";")
            return None
        if type(mine) is not type(expected):
            return f"{describe(mine)} and {describe(expected)}"
        same = mine == expected or (mine != mine and expected != expected)
        if not same and not exact and isinstance(expected, float):
            same = bool(np.isclose(mine, expected, self.rtol or 1e-7, self.atol or 1e-7))
        return None if same else f"{mine!r} and {expected!r}"
