"""Products of 8-bit whole numbers, summed in 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import check_example, front, is_at, wrap
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import extern
from opweave.registry.ops.matmul import narrow, replay_product
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import common_device
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe


def _spec(self: Tensor, mat2: Tensor) -> TensorSpec:
    if self._dtype is not dtypes.int8 or mat2._dtype is not dtypes.int8:
        raise DTypeError("_int_mm: operands must be int8", got=describe((self, mat2)))
    if self.ndim != 2 or mat2.ndim != 2:
        raise ShapeError("_int_mm: expected 2-d and 2-d tensors", got=describe((self, mat2)))
    if self._sizes[1] != mat2._sizes[0]:
        raise ShapeError(
            f"_int_mm: cannot multiply {list(self._sizes)} by {list(mat2._sizes)}", got=describe((self, mat2)),
            hint="the inner sizes must be equal; .mT swaps the last two dimensions",
        )  # fmt: skip
    common_device("_int_mm", (self, mat2))
    return contiguous((self._sizes[0], mat2._sizes[1]), dtypes.int32, self._device)


@extern("aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", spec=_spec, out=True)
def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices of int8, as int32; sums beyond its range wrap around."""
    out = allocate_like(_spec(self, mat2))
    if narrow.call is not None and self._device.is_host:
        narrow.call(out, self, mat2, None, 1, 1)
        return out
    xp: Any = self._device.xp
    with np.errstate(all="ignore"):
        xp.matmul(self._array.astype(np.int32), mat2._array.astype(np.int32), out=out._array)
    return out


_int_mm.replaying(replay_product)


@_int_mm.batching
def _batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    a, b = args
    aten = ops.aten
    if is_at(a, level) and is_at(b, level):
        wide = [aten._to_copy.default(front(t, level), dtype=dtypes.int32) for t in args]
        return wrap(aten.bmm.default(*wide), level)
    if is_at(a, level):
        whole = front(a, level)
        size, rows, inner = whole._sizes
        product = aten._int_mm.default(aten.reshape.default(whole, [size * rows, inner]), b)
        return wrap(aten.view.default(product, [size, rows, b._sizes[1]]), level)
    # One product with the columns of all examples side by side.
    whole = aten.movedim.int(front(b, level), 0, 1)
    inner, size, columns = whole._sizes
    product = aten._int_mm.default(a, aten.reshape.default(whole, [inner, size * columns]))
    return wrap(aten.view.default(product, [a._sizes[0], size, columns]), level, 1)


@_int_mm.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 5), make(5, 3)), {}
    yield (make(33, 65), make(65, 17)), {}
    yield (make(4, 0), make(0, 3)), {}
    yield (make(0, 5), make(5, 3)), {}


_int_mm.sample_dtypes = (dtypes.int8,)
