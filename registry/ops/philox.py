"""Random numbers as functions of a seed, the number of a draw, and a place: what `rand` and its like are made of.

`philox_key` takes the next draw of a generator: it alone has an effect. The others are pointwise, so that they are part
of the kernels that use what is drawn; an element's place is its position in the memory of what is drawn. `fill` is the
same in eager calls, by native code where there is some, which gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import Device, cpu, parse_device
from opweave.registry.dtypes import DType
from opweave.registry.hooks import Hook
from opweave.registry.op import ops
from opweave.registry.ops.kinds import extern, handler, pointwise
from opweave.registry.ops.kinds.base import store
from opweave.registry.random_generator import Generator, generator_of
from opweave.registry.scalar import convert_into
from opweave.registry.spec import TensorSpec, contiguous, is_contiguous
from opweave.registry.tensor import Tensor, allocate_like, from_numpy

aten = ops.aten
SEEDED = "nondeterministic_seeded"
Distribution = Literal["uniforms", "normals", "bits"]

#: Bits of a half type's significand: a float32 below 1 may round to 1, a multiple of 2**-bits does not.
_BITS = {"float16": 11, "bfloat16": 8}
_TURN = 2 * math.pi
#: Seed and number, the bits of a uniform number, what it is multiplied by, and what is added then.
_How = tuple[int, int, int, float, float]


def _key_spec(generator: Any = None, device: Any = None) -> TensorSpec:
    return contiguous((2,), dtypes.int64, parse_device(device))


@extern("opweave::philox_key(*, Generator? generator=None, Device? device=None) -> Tensor", spec=_key_spec, tags=SEEDED)
def philox_key(*, generator: Any = None, device: Any = None) -> Tensor:
    """The seed of a generator, and the number of its next draw."""
    where = parse_device(device)
    key = np.array(generator_of(where, generator).next(), np.uint64).view(np.int64)
    return from_numpy(key) if where.is_host else Tensor._from_array(where.memory.from_host(key), where)


def _types(*operands: Any, dtype: DType | None = None) -> tuple[DType, DType]:
    del operands
    return dtypes.int64, dtype or dtypes.float32


def _high_bits(k: Any, word: Any, bits: int) -> Any:
    """The highest bits of a word, as a float32."""
    return k.cast(k.cast(word >> k.const(32 - bits, dtypes.uint32), dtypes.int32), dtypes.float32)


def _most_bits(k: Any, high: Any, low: Any) -> Any:
    """The highest 53 bits of two words, as a float64."""
    wide = k.cast(high, dtypes.int64) << k.const(21, dtypes.int64)
    return k.cast(wide | k.cast(low >> k.const(11, dtypes.uint32), dtypes.int64), dtypes.float64)


_OPERANDS = "Tensor seed, Tensor number, Tensor place"


@pointwise(
    f"opweave::philox_uniform({_OPERANDS}, *, ScalarType? dtype=None) -> Tensor", promote=_types, kinds="i",
    inplace=False, is_expensive=True,
)  # fmt: skip
def philox_uniform(k: Any, seed: Any, number: Any, place: Any, *, dtype: DType | None = None) -> Any:
    """Numbers in [0, 1), all multiples of the smallest step that the type has below 1."""
    words = k.philox(seed, number, place)
    if dtype is dtypes.float64:
        return _most_bits(k, words[0], words[1]) * k.const(2.0**-53, dtypes.float64)
    bits = _BITS.get(dtype.name, 24) if dtype is not None else 24
    return _high_bits(k, words[0], bits) * k.const(2.0**-bits, dtypes.float32)


@pointwise(
    f"opweave::philox_normal({_OPERANDS}, *, ScalarType? dtype=None) -> Tensor", promote=_types, kinds="i",
    inplace=False, is_expensive=True,
)  # fmt: skip
def philox_normal(k: Any, seed: Any, number: Any, place: Any, *, dtype: DType | None = None) -> Any:
    """Numbers of mean 0 and variance 1, by the transform of Box and Muller (1958)."""
    words = k.philox(seed, number, place)
    if dtype is dtypes.float64:
        kind, above = dtype, (_most_bits(k, words[0], words[1]) + k.const(1.0, dtype)) * k.const(2.0**-53, dtype)
        turn = _most_bits(k, words[2], words[3]) * k.const(_TURN * 2.0**-53, dtype)
    else:
        kind = dtypes.float32
        above = (k.cast(words[0], kind) + k.const(1.0, kind)) * k.const(2.0**-32, kind)
        turn = _high_bits(k, words[1], 24) * k.const(_TURN * 2.0**-24, kind)
    return k.sqrt(k.log(above) * k.const(-2.0, kind)) * k.cos(turn)


@pointwise(f"opweave::philox_bits({_OPERANDS}) -> Tensor", promote=lambda *_: (dtypes.int64, dtypes.int64), kinds="i",
           inplace=False, is_expensive=True)  # fmt: skip
def philox_bits(k: Any, seed: Any, number: Any, place: Any) -> Any:
    """Any integers of 64 bits."""
    words = k.philox(seed, number, place)
    return k.cast(words[0], dtypes.int64) << k.const(32, dtypes.int64) | k.cast(words[1], dtypes.int64)


#: By distribution.
_DRAWN: dict[Distribution, Any] = {"uniforms": philox_uniform, "normals": philox_normal, "bits": philox_bits}


# ---- in compiled graphs --------------------------------------------------------------------------------------------


def drawn(spec: TensorSpec, distribution: Distribution, generator: Any = None) -> Tensor:
    """A draw of these sizes and strides, written with ops that kernels compute."""
    if spec.dtype.is_complex:
        sizes, strides = (*spec.sizes, 2), (*(2 * stride for stride in spec.strides), 1)
        parts = drawn(TensorSpec(sizes, strides, spec.dtype.to_real(), spec.device), distribution, generator)
        if distribution == "normals":
            parts = aten.mul.Tensor(parts, math.sqrt(0.5))
        return aten.view_as_complex.default(parts)
    key = philox_key.op(generator=generator, device=spec.device)
    place = _places(spec)
    named: dict[str, Any] = {} if distribution == "bits" else {"dtype": spec.dtype}
    return _DRAWN[distribution].op(aten.select.int(key, 0, 0), aten.select.int(key, 0, 1), place, **named)


def _places(spec: TensorSpec) -> Tensor:
    """Where each element lies in the memory of a tensor."""
    dims = range(len(spec.sizes))
    order = list(dims)
    if not is_contiguous(spec.sizes, spec.strides):
        order.sort(key=lambda d: (-spec.strides[d], spec.sizes[d] == 1))
    sizes = [spec.sizes[d] for d in order]
    flat = aten.arange.default(_product(sizes), dtype=dtypes.int64, device=spec.device)
    found = aten.view.default(flat, sizes)
    return found if order == list(dims) else aten.permute.default(found, [order.index(d) for d in dims])


def _product(sizes: Sequence[Any]) -> Any:
    total: Any = 1
    for size in sizes:
        total = total * size
    return total


# ---- in eager calls ------------------------------------------------------------------------------------------------

#: Fills memory: the distribution, the type, which is one that is computed with, the address and how many elements,
#: then seed and number, how many bits a uniform float32 has, what a number is multiplied by, and what is added then.
#: False where it cannot. `opweave` supplies it.
native: Hook[[str, Any, int, int, int, int, int, float, float], bool] = Hook()


def fill(
    spec: TensorSpec, distribution: Distribution, generator: Generator | None = None, scale: float = 1.0,
    shift: float = 0.0,
) -> Tensor:  # fmt: skip
    """A new tensor of drawn numbers, each multiplied by `scale` and then moved by `shift`."""
    result = allocate_like(spec)
    fill_dense(result, distribution, generator, scale, shift)
    return result


def fill_dense(
    result: Tensor, distribution: Distribution, generator: Generator | None, scale: float, shift: float
) -> None:
    """Write what `fill` gives into a dense tensor."""
    device, kind, count = result._device, result._dtype, result.numel()
    if device.type == "meta":
        return
    seed, number = generator_of(device, generator).next()
    if not count:
        return
    if kind.is_complex:
        count, kind = 2 * count, kind.to_real()
        scale = scale * (math.sqrt(0.5) if distribution == "normals" else 1.0)
    how = (seed, number, _BITS.get(kind.name, 24), scale, shift)
    if device is cpu and native.call is not None:
        if kind.compute is kind:
            if native.call(distribution, kind.numpy, result.data_ptr(), count, *how):
                return
        else:
            wide = np.empty(count, kind.compute.numpy)
            if native.call(distribution, wide.dtype, wide.ctypes.data, count, *how):
                convert_into(_flat(result), wide)
                return
    target = _flat(result)
    _fill_by_arrays(device, target.view(kind.numpy) if result._dtype.is_complex else target, kind, distribution, how)


def _flat(result: Tensor) -> Any:
    """The elements of a dense tensor as they lie in memory."""
    array = result._array
    if array.flags.c_contiguous:
        return array.reshape(-1)
    order = sorted(range(array.ndim), key=lambda d: (-array.strides[d], array.shape[d] == 1))
    return array.transpose(order).reshape(-1)


def _fill_by_arrays(device: Device, target: Any, kind: DType, distribution: Distribution, how: _How) -> None:
    seed, number, _, scale, shift = how
    xp = device.xp
    k = handler(xp)
    body: Any = _DRAWN[distribution].body
    key = np.array([seed, number], np.uint64)
    named: dict[str, Any] = {} if distribution == "bits" else {"dtype": kind}
    for start in range(0, target.size, _PIECE):
        part = target[start : start + _PIECE]
        found = body(k, key[0], key[1], xp.arange(start, start + part.size, dtype=np.int64), **named)
        if distribution != "bits":
            found = found * found.dtype.type(scale) + found.dtype.type(shift)
        store(k, part, found, kind)


_PIECE = 1 << 15
