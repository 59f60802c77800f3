"""Whether tensors are laid out as those were that code was compiled for, and which of them are one: asked natively."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from opweave.codegen.native import functions, launch, layout
from opweave.registry.dtypes import DType

#: Objects of which may be asked whether two are one: each has two places on the stack.
MOST = 1 << 10


class Laid(NamedTuple):
    """A tensor of the class `Tensor`.

    Attributes
    ----------
    sizes, strides : tuple of int
    dtype : DType
    keys : int
        Its dispatch keys, which tell its kind of device and whether it requires grad.
    """

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    keys: int


class _Owner(NamedTuple):
    """What the function keeps alive; native code reads the first."""

    native: int
    memory: object
    laid: tuple[Laid, ...]


def alike(laid: Sequence[Laid]) -> Callable[..., bool] | None:
    """A function that tells whether as many objects are tensors like these.

    Parameters
    ----------
    laid : sequence of Laid
        What they are to be, in order.

    Returns
    -------
    callable or None
        `fits(*tensors) -> bool`; None where native code does not know how tensors lie in memory.
    """
    if layout.tensors() is None:
        return None
    return _function(len(laid), 0, tuple(laid))


def distinct(count: int) -> Callable[..., bool] | None:
    """A function that tells whether so many objects are all different ones; None where there are too many."""
    if count > MOST or layout.tensors() is None:
        return None
    return _function(count, (1 << (2 * count - 1).bit_length()) - 1, ())


def _function(count: int, last: int, laid: tuple[Laid, ...]) -> Callable[..., bool]:
    words = [count, len(laid), last, *(id(part) for one in laid for part in one)]
    memory = (ctypes.c_int64 * len(words))(*words)
    return functions.function(_definition(), _Owner(ctypes.addressof(memory), memory, laid), "alike")


@functools.cache
def _definition() -> functions.MethodDef:
    entry = launch.entry_code().address("opweave_alike")
    return functions.definition("alike", entry, functions.FASTCALL, "alike(*tensors) -> bool")
