"""Numbers that users have: nested lists, NumPy's arrays, arrays of other libraries; and what is said of all else."""

from __future__ import annotations

import functools
from array import array as packed
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import DType, get_default_dtype, promote_types
from opweave.registry.errors import ArgumentError, DTypeError, IntegerRangeError, OpweaveError, ShapeError
from opweave.registry.exchange import from_dlpack
from opweave.registry.interrupts import let_through
from opweave.registry.promote import check_integer, number_dtype
from opweave.registry.scalar import narrowed
from opweave.registry.tensor import Tensor


def as_array(data: Any, wanted: DType | None) -> np.ndarray[Any, Any]:
    """The elements of data, copied, in a type that is wanted or that all of them promote to.

    Raises
    ------
    DTypeError, ShapeError
        If they are no numbers, or ragged.
    IntegerRangeError
        If an integer is too large for its type.
    """
    data = _plain(data)
    typed = hasattr(data, "dtype")
    try:
        array = np.array(data, order="K")
    except ValueError as error:
        let_through(error)
        raise ShapeError(
            "tensor: the nested sequences are ragged", got=_lengths(data), hint="pad them to one length"
        ) from None
    if array.dtype == object or array.dtype.kind in "OUS" or array.dtype.name.startswith("void"):
        raise _no_numbers(data)
    if wanted is None:
        wanted = _data_type(data) if array.size else dtypes.from_numpy(array.dtype) if typed else get_default_dtype()
    if array.dtype.kind == "c" and not wanted.is_complex:
        raise DTypeError(
            f"tensor: complex data cannot become {wanted.name}", got=f"{dtypes.from_numpy(array.dtype).name} values",
            hint="take .real first",
        )  # fmt: skip
    if wanted is dtypes.uint64 and array.dtype.kind == "f":  # NumPy's for integers of which only some need 64 bits
        exact = np.array(data, object)
        if all(isinstance(item, int) for item in exact.flat):
            return np.array([check_integer(n) or n % 2**64 for n in exact.flat], np.uint64).reshape(exact.shape)
    if not typed and array.size and wanted.numpy.kind in "iu":
        _check_range(array, wanted)
    with np.errstate(all="ignore"):
        return narrowed(np, array, wanted) if wanted.is_stored else array.astype(wanted.numpy, copy=False)


def _check_range(array: np.ndarray[Any, Any], wanted: DType) -> None:
    """Refuse numbers that a type of integers does not hold, as Python's are; of arrays, conversion is asked for."""
    if array.dtype.kind not in "iuf":
        return
    limits = np.iinfo(wanted.numpy)
    least, most = array.min().item(), array.max().item()
    lowest = limits.min
    if array.dtype.kind != "f":
        lowest = limits.min or -limits.max  # below zero an unsigned type wraps around, as in PyTorch
    if not (lowest <= least and most <= limits.max):  # NaN is neither
        raise IntegerRangeError(
            f"tensor: {least if lowest <= most <= limits.max else most} is out of the range of {wanted.name}",
            got=f"values from {least} to {most}", hint=f"{wanted.name} holds {limits.min} to {limits.max}",
        )  # fmt: skip


def _lengths(data: Any) -> str:
    """Where nested sequences differ, as far as that is told soon."""
    lengths = [len(item) if isinstance(item, (list, tuple)) else None for item in data]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is None:
        return f"{len(data)} sequences, ragged further inside"
    first, other = ("a number" if n is None else f"{n} elements" for n in (lengths[0], lengths[odd]))
    return f"{first} at [0], {other} at [{odd}]"


def _plain(data: Any) -> Any:
    """Nested lists of Python's numbers and NumPy's arrays; arrays of other libraries are taken over."""
    if type(data) in _PLAIN_NUMBERS:
        return data
    if isinstance(data, (list, tuple)) or (isinstance(data, _SEQUENCES) and not isinstance(data, _TEXTS)):
        return [_plain(item) for item in data]
    if isinstance(data, Tensor):
        return data.numpy(force=True)
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.isnative else data.astype(data.dtype.newbyteorder("="))
    if hasattr(data, "__dlpack__"):
        return shared(data).numpy(force=True)
    if hasattr(data, "__array_interface__"):  # an image of Pillow
        return np.asarray(data)
    return data


def shared(data: Any) -> Tensor:
    """A tensor on the memory of another library's."""
    try:
        return from_dlpack(data)
    except (RuntimeError, BufferError, ValueError) as error:
        let_through(error)
        if isinstance(error, OpweaveError):
            raise
        name = f"{type(data).__module__}.{type(data).__qualname__}"
        raise ArgumentError(
            f"tensor: a {name} does not hand out its memory", got=str(error).partition("\n")[0],
            hint="pass a plain, dense array: of PyTorch t.detach().contiguous()",
        ) from None  # fmt: skip


def _no_numbers(data: Any) -> OpweaveError:
    """What is wrong with data that NumPy makes no numeric array of."""
    path, leaf = _first_odd(data, "")
    got = f"{type(leaf).__name__}{f' at {path}' if path else ''}"
    if isinstance(leaf, int):
        return IntegerRangeError(
            "tensor: an integer that no element type can hold", got=got, hint="int64 holds -2**63 to 2**63 - 1"
        )
    hint = "give a number, nested lists of numbers, or a numeric NumPy array"
    if isinstance(leaf, np.ndarray):
        got = f"an array of {leaf.dtype}{f' at {path}' if path else ''}"
        hint = "array.astype(float) first, if its elements are numbers"
    elif isinstance(leaf, (set, frozenset, Iterator)):
        hint = "list(...) of it has an order and a length"
    elif isinstance(leaf, dict):
        hint = "a tensor for each value: {name: opweave.tensor(value) for name, value in data.items()}"
    elif isinstance(leaf, (str, bytes)):
        hint = "tensors hold numbers only: convert text with float(...), or number it"
    return DTypeError("tensor: cannot infer an element type", got=got, hint=hint)


def _first_odd(data: Any, path: str) -> tuple[str, Any]:
    """The first element that is no number, and the indices that lead to it."""
    if isinstance(data, (list, tuple)):
        for i, item in enumerate(data):
            found = _first_odd(item, f"{path}[{i}]")
            if found[1] is not None or found[0]:
                return found
        return "", data if not path else None
    if type(data) in _PLAIN_NUMBERS and not (type(data) is int and not -(2**63) <= data < 2**64):
        return "", None
    return path, data


def _data_type(data: Any) -> DType:
    """The type that all values promote to; a Python float counts as the default type, a NumPy value as its own."""
    if isinstance(data, Tensor):
        return data._dtype
    if hasattr(data, "dtype"):
        return dtypes.from_numpy(data.dtype)
    if not isinstance(data, (list, tuple)):
        return number_dtype(data)
    # Long lists of Python numbers have few types: each is looked at once.
    kinds = {type(item): item for item in data if type(item) in _PLAIN_NUMBERS}
    found = [number_dtype(item) for item in kinds.values()]
    found += [_data_type(item) for item in data if type(item) not in _PLAIN_NUMBERS]
    return functools.reduce(promote_types, found) if found else dtypes.bool_


_SEQUENCES = (Sequence, packed)
_TEXTS = (str, bytes, bytearray, memoryview)
_PLAIN_NUMBERS = frozenset((bool, int, float, complex))
