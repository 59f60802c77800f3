"""`x[...]` and `x[...] = value`.

Integers, slices, None and Ellipsis become `select`, `slice` and `unsqueeze`, so that basic indexing gives views and
traces. Index tensors then go to `aten::index.Tensor` or `aten::index_put_` in one call. As in PyTorch (and unlike
NumPy) an integer is taken before the index tensors, so it never counts as one of them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from opweave.registry.device import Device, meta
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, OutOfRangeError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import BATCHED_BIT, state
from opweave.registry.op import ops
from opweave.registry.ops.creation import holds_symbols, of_symbols
from opweave.registry.ops.indexing import MASK_TYPES, has_data, index_tensor
from opweave.registry.ops.slicing import slice_
from opweave.registry.promote import as_element_or_infinity
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, describe

# Types of a slice's parts.
_PLAIN = frozenset({int, type(None)})
_NUMBERS = (bool, int, float, complex)


def _is_sequence_index(index: Any) -> bool:
    return isinstance(index, (list, tuple, range, np.ndarray))


def _index_of(value: Any, device: Device) -> Tensor:
    """A list or array as an index tensor."""
    if state.modes and holds_symbols(value):
        return of_symbols(value, None, device)
    array = np.asarray(value)
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise ArgumentError("index: expected integers or bools", got=repr(value))
    array = array if array.dtype.kind == "b" else array.astype(np.int64)
    if device is meta or device.is_host:
        return Tensor._from_array(np.array(array))
    return Tensor._from_array(device.memory.from_host(array, device.index), device)


def _is_written_as_list(key: Any) -> bool:
    """Whether a list is taken as a tuple of indices, as by early NumPy: one with anything but numbers in it."""
    if not isinstance(key, list) or len(key) >= 32:
        return False
    return any(
        item is None or item is Ellipsis or isinstance(item, (Tensor, slice, list, tuple, range, np.ndarray))
        for item in key
    )


def _covered(item: Any) -> int:
    """How many dimensions an index takes up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and item._dtype in MASK_TYPES:
        return item.ndim
    return 1


def _resolve(self: Tensor, key: Any) -> tuple[Tensor, list[Tensor | None]]:
    """(the view that basic indexing gives, index tensors by its dimensions)."""
    if _is_written_as_list(key):
        warnings.warn(
            "index: a list with lists or tensors in it counts as a tuple, x[tuple(indices)]; NumPy takes it as an "
            "array, x[opweave.tensor(indices)]",
            stacklevel=3,
        )
        key = tuple(key)
    items = list(key) if isinstance(key, tuple) else [key]
    items = [_index_of(item, self._device) if _is_sequence_index(item) else item for item in items]
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise OutOfRangeError("index: an index can only have one ellipsis ('...')", got=_written(key))
    count = sum(map(_covered, items))
    if count > self.ndim:
        raise OutOfRangeError(
            f"index: too many indices for a {self.ndim}-d tensor",
            got=f"x[{_written(key)}] with x: {describe(self)}",
            hint="give at most one index for each dimension",
        )
    if ellipses:
        at = ellipses[0]
        items[at : at + 1] = [slice(None)] * (self.ndim - count)
    aten, view, dim = ops.aten, self, 0
    indices: list[Tensor | None] = []

    def take(place: Tensor) -> None:
        used = sum(1 if index is None or index._dtype not in MASK_TYPES else index.ndim for index in indices)
        indices.extend([None] * (dim - used))
        indices.append(place)

    for item in items:
        if isinstance(item, slice):
            start, stop, step = (_whole(part) for part in (item.start, item.stop, item.step))
            if not (start is None and stop is None and step in (None, 1)):
                view = aten.slice.Tensor(view, dim, start, stop, 1 if step is None else step)
            dim += 1
        elif item is None:
            view = aten.unsqueeze.default(view, dim)
            dim += 1
        elif isinstance(item, (bool, np.bool_)):
            # A new dimension of size 1 for True, 0 for False.
            view = aten.unsqueeze.default(view, dim)
            take(_index_of([0] if item else [], self._device))
            dim += 1
        elif isinstance(item, Tensor) and (item._sizes or _stays_tensor(item)):
            take(item)
            dim += item.ndim if item._dtype in MASK_TYPES else 1
        elif isinstance(item, Tensor) and item._dtype in MASK_TYPES:
            # As with a truth value, whatever it is: one element of a mask for the new dimension.
            view = aten.unsqueeze.default(view, dim)
            take(aten.unsqueeze.default(item, 0))
            dim += 1
        else:
            view = aten.select.int(view, dim, _number(item, key))
    return view, indices


def _stays_tensor(item: Tensor) -> bool:
    """A 0-d index under a mode must not be read: its value would be frozen into the trace. Of a batch it is many."""
    return item._dtype not in MASK_TYPES and bool(state.modes or not has_data(item) or item._keys & BATCHED_BIT)


def _number(item: Any, key: Any) -> int:
    if isinstance(item, Symbolic):
        return item  # type: ignore[return-value]  # a symbolic int
    try:
        return item.__index__()
    except (AttributeError, TypeError) as error:
        let_through(error)
        raise ArgumentError(
            "index: only integers, slices, None, Ellipsis, and integer or bool tensors, lists and arrays",
            got=f"x[{_written(key)}]",
            hint="convert it to one of these first",
        ) from None


def _whole(part: Any) -> int | None:
    return None if part is None else _number(part, part)


def _written(key: Any) -> str:
    return ", ".join(map(describe, key)) if isinstance(key, tuple) else describe(key)


def getitem(self: Tensor, key: Any) -> Tensor:
    """`self[key]`: a view where only integers, slices, None and Ellipsis are used, else a copy.

    Raises
    ------
    OutOfRangeError
        For an index outside its dimension, or too many of them.
    """
    if type(key) is int:
        if not self._sizes:
            raise OutOfRangeError("index: a 0-d tensor cannot be indexed", got=f"x[{key}]", hint="use x.item()")
        return ops.aten.select.int(self, 0, key)
    if self._sizes:  # two common forms, without looking for others
        if type(key) is slice and {type(key.start), type(key.stop), type(key.step)} <= _PLAIN:
            if key.start is not None or key.stop is not None or key.step not in (None, 1):
                step = 1 if key.step is None else key.step
                return slice_.op._entry(self, 0, key.start, key.stop, step)
        elif type(key) is Tensor and key._sizes and key._dtype not in MASK_TYPES:
            return index_tensor.op._entry(self, [key])
    view, indices = _resolve(self, key)
    if indices:
        return ops.aten.index.Tensor(view, indices)
    return ops.aten.alias.default(self) if view is self else view


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """`self[key] = value`: the value is broadcast and converted to the tensor's type."""
    view, indices = _resolve(self, key)
    if not indices and isinstance(value, _NUMBERS):
        ops.aten.fill_.Scalar(view, as_element_or_infinity("index", value, self._dtype))
        return
    source = value if isinstance(value, Tensor) else _value_of(value, self)
    if not indices:
        ops.aten.copy_.default(view, source if len(source._sizes) <= len(view._sizes) else _trimmed(source))
        return
    if source._dtype is not self._dtype or (source._device is not self._device and source._sizes):
        source = ops.aten._to_copy.default(source, dtype=self._dtype, device=self._device)
    ops.aten.index_put_.default(view, indices, _trimmed(source))


def _value_of(value: Any, like: Tensor) -> Tensor:
    """A number, list or array as a tensor of the other's type, which has to hold it."""
    dtype = like._dtype
    array = np.asarray(as_element_or_infinity("index", value, dtype) if isinstance(value, _NUMBERS) else value)
    if array.dtype.kind not in "biufcV":
        raise ArgumentError(
            "index: cannot assign this value", got=f"{value!r} ({type(value).__name__})",
            hint="assign a number, a tensor or an array",
        )  # fmt: skip
    _check_held(array, dtype)
    with np.errstate(all="ignore"):
        array = np.array(array.astype(dtype.numpy))
    device = like._device
    if device is meta or device.is_host:
        return Tensor._from_array(array)
    return Tensor._from_array(device.memory.from_host(array, device.index), device)


def _check_held(array: np.ndarray, dtype: DType) -> None:
    """Refuse numbers of a list or array that would wrap, and complex ones without a place for a second part."""
    kind = array.dtype.kind
    lost = kind == "c" and not dtype.is_complex
    if not lost and dtype.kind in "iu" and kind in "iuf" and array.size:
        limits = np.iinfo(dtype.numpy)
        least = -int(limits.max) if dtype.kind == "u" and kind != "f" else int(limits.min)
        lost = not least <= array.min() <= array.max() <= int(limits.max)  # NaN is in no range
    if lost:
        raise DTypeError(
            f"index: a value does not fit {dtype.name}", got=f"an array of {array.dtype}: {array.ravel()[:6].tolist()}",
            hint="convert the values first",
        )  # fmt: skip


def _trimmed(value: Tensor) -> Tensor:
    """Without leading dimensions of size 1, which assignment ignores (there may be more than the target has)."""
    sizes = value._sizes
    ones = next((d for d, size in enumerate(sizes) if size != 1), len(sizes))
    return ops.aten.view.default(value, list(sizes[ones:])) if ones else value
