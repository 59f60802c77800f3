"""The declared samples of ops as concrete calls, shared by the tests of ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.op import OpOverload, registry
from opweave.registry.tensor import Tensor, allocate

Call = tuple[tuple[Any, ...], dict[str, Any]]
DEFAULT_DTYPES = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.int64, dtypes.bool_)


def maker(dtype: DType, seed: int = 0) -> Callable[..., Tensor]:
    """A `make(*sizes, dtype=..., low=..., high=...)` of random contiguous tensors, alike for alike calls."""
    generator = np.random.default_rng(seed)

    def make(*sizes: int, dtype: DType = dtype, low: float | None = None, high: float | None = None) -> Tensor:
        if dtype.kind == "b":
            values: Any = generator.integers(0, 2, sizes)
        elif dtype.kind in "iu":
            least = -5 if dtype.kind == "i" else 0
            bounds = (least if low is None else int(low), 5 if high is None else int(high))
            values = generator.integers(*bounds, sizes, endpoint=True)
        else:
            bounds = (-3.0 if low is None else low, 3.0 if high is None else high)
            values = generator.uniform(*bounds, sizes)
            if dtype.kind == "c":
                values = values + 1j * generator.uniform(*bounds, sizes)
        return Tensor._from_array(np.array(values, dtype.numpy).reshape(sizes))

    return make


def ops_with_samples(*modules: Any) -> list[OpOverload]:
    """Ops declared in modules of `registry.ops` that have samples."""
    files = {module.__file__ for module in modules}

    def declared_in(op: OpOverload) -> bool:
        # An in-place op is declared by its functional form.
        return (op.decl.functional or op).site.file in files

    return [op for op in registry.operators.values() if op.decl and op.decl.samples and declared_in(op)]


def calls(op: OpOverload) -> Iterator[tuple[DType, Call]]:
    """All sample calls of an op, with fresh tensors, by dtype."""
    for dtype in op.decl.sample_dtypes or DEFAULT_DTYPES:
        for args, kwargs in op.decl.samples(maker(dtype)):
            yield dtype, (args, kwargs)


def replace_tensors(value: Any, function: Callable[[Tensor], Any]) -> Any:
    """The value with each tensor in it replaced; a tensor that stands twice is replaced by one object."""
    known: dict[int, Any] = {}

    def visit(item: Any) -> Any:
        if isinstance(item, Tensor):
            if id(item) not in known:
                known[id(item)] = function(item)
            return known[id(item)]
        if isinstance(item, dict):
            return {key: visit(entry) for key, entry in item.items()}
        if isinstance(item, (list, tuple)):
            return type(item)(visit(entry) for entry in item)
        return item

    return visit(value)


def as_meta(t: Tensor) -> Tensor:
    """A tensor of the same spec without data."""
    return allocate(t._sizes, t._strides, t._dtype, Device("meta"))


def as_list(result: Any) -> list[Tensor]:
    """Results as a list."""
    return list(result) if isinstance(result, (list, tuple)) else [result]


def layouts(result: Any) -> list[tuple[Any, ...]]:
    """Sizes, strides and dtype of each result."""
    return [(t._sizes, t._strides, t._dtype) for t in as_list(result)]


def check_meta(op: OpOverload) -> int:
    """Without data an op's results have the layout that eager gives them; the number of calls compared."""
    count = 0
    for _, (args, kwargs) in calls(op):
        meta_args, meta_kwargs = replace_tensors((args, kwargs), as_meta)
        expected = layouts(op(*args, **kwargs))
        assert layouts(op(*meta_args, **meta_kwargs)) == expected, (op, args, kwargs)
        assert layouts(op.decl.fake(*meta_args, **meta_kwargs)) == expected, (op, args, kwargs)
        count += 1
    assert count
    return count
