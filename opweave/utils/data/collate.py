"""Batches from lists of examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opweave.registry.dtypes import float64, int64
from opweave.registry.errors import ArgumentError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, from_numpy

_ = _surface  # declares the ops
aten = ops.aten


def default_convert(data: Any) -> Any:
    """NumPy arrays in nested containers as tensors; anything else as it is.

    Examples
    --------
    >>> opweave.utils.data.default_convert([1.0, "a"])
    [1.0, 'a']
    """
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        return data if array.dtype.kind in "SUO" else from_numpy(array if array.flags.writeable else array.copy())
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple):
        parts = [default_convert(each) for each in data]
        return type(data)(*parts) if hasattr(data, "_fields") else tuple(parts)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes, Tensor)):
        return [default_convert(each) for each in data]
    return data


def default_collate(batch: list[Any]) -> Any:
    """One batch of a list of examples: tensors stacked, numbers as tensors, containers part by part, texts in lists.

    Raises
    ------
    ArgumentError
        If examples are of no such sort.
    RuntimeError
        If containers differ in length.

    Examples
    --------
    >>> opweave.utils.data.default_collate([{"x": 1.0}, {"x": 2.0}])
    {'x': tensor([1., 2.], dtype=opweave.float64)}
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return aten.stack.default(batch)
    if isinstance(first, (np.ndarray, np.generic)):
        if np.asarray(first).dtype.kind in "SUO":
            raise ArgumentError("default_collate: arrays of objects or texts", got=f"{np.asarray(first).dtype}")
        return from_numpy(np.stack([np.asarray(each) for each in batch]))
    if isinstance(first, bool):
        return from_numpy(np.array(batch))
    if isinstance(first, float):
        return from_numpy(np.array(batch, float64.numpy))
    if isinstance(first, int):
        return from_numpy(np.array(batch, int64.numpy))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(list(each)) for each in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise ArgumentError(
        "default_collate: batches are made of tensors, arrays, numbers, texts, dicts and lists",
        got=type(first).__name__,
        hint="pass a collate_fn",
    )
