"""Random ops. Numbers come from NumPy's Philox generator on the CPU and CuPy's on CUDA.

They are reproducible from a seed, but are not PyTorch's numbers. Each thread has its own default generator, so that
threads neither wait for nor disturb each other; `manual_seed` seeds the calling thread's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import Device, parse_device
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import InplaceDecl, composite, extern
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like

_SEEDED = ("nondeterministic_seeded",)
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


class Generator:
    """A source of random numbers.

    Parameters
    ----------
    device : Device or str
        Where its numbers are made.
    """

    def __init__(self, device: Any = "cpu"):
        self.device = parse_device(device)
        self._seed = 0
        self.seed()

    def manual_seed(self, seed: int) -> Generator:
        """Start over from a seed; the same seed gives the same numbers."""
        self._seed = int(seed)
        if self.device.type == "cpu":
            self._source: Any = np.random.Generator(np.random.Philox(self._seed & (2**128 - 1)))
        else:
            self._source = self.device.xp.random.default_rng(self._seed & (2**64 - 1))
        return self

    def seed(self) -> int:
        """Start over from a seed of the system's randomness, and return it."""
        self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1)))
        return self._seed

    def initial_seed(self) -> int:
        """The seed it started from."""
        return self._seed


_thread = threading.local()


def default_generator(device: Device) -> Generator:
    """The calling thread's generator of a device."""
    generators = _thread.__dict__.setdefault("generators", {})
    found = generators.get(device)
    if found is None:
        found = generators[device] = Generator(device)
        seed = getattr(_thread, "seed", None)
        if seed is not None:
            found.manual_seed(seed)
    return found


def manual_seed(seed: int) -> Generator:
    """Seed the calling thread's generators of all devices.

    Returns
    -------
    Generator
        The CPU's.
    """
    _thread.seed = int(seed)
    for generator in _thread.__dict__.setdefault("generators", {}).values():
        generator.manual_seed(seed)
    return default_generator(Device("cpu"))


def _source(device: Device, generator: Generator | None) -> Any:
    return (generator or default_generator(device))._source


def _filled(spec: TensorSpec, values: Callable[[Any, Any], Any], generator: Generator | None = None) -> Tensor:
    """A new tensor with `values(source, wide type)` converted to its type; half types are drawn in float32."""
    result = allocate_like(spec)
    if spec.device.type != "meta":
        drawn = values(_source(spec.device, generator), spec.dtype.compute.numpy)
        result._array[...] = drawn
    return result


def _floating(op: str, dtype: DType | None) -> DType:
    dtype = dtype or get_default_dtype()
    if not dtype.is_floating_point:
        raise DTypeError(f"{op}: only floating types", got=repr(dtype))
    return dtype


def _declare(name: str, draw: Callable[[Any, Any, Any], Any]) -> None:
    """`name(size)` and `name_like(self)`."""

    def spec(size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
        return contiguous(tuple(size), _floating(name, dtype), parse_device(device))

    @extern(f"aten::{name}(SymInt[] size, *, {_OPTIONS}) -> Tensor", spec=spec, tags=_SEEDED)
    def _(size: Sequence[int], *, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
        if any(extent < 0 for extent in size):
            raise ShapeError(f"{name}: sizes must not be negative", got=f"size={list(size)}")
        return _filled(spec(size, dtype, layout, device, pin_memory), lambda s, t: draw(s, tuple(size), t))

    def like_spec(
        self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
    ) -> TensorSpec:
        target = self._device if device is None else parse_device(device)
        return contiguous(self._sizes, _floating(f"{name}_like", dtype or self._dtype), target)

    @extern(
        f"aten::{name}_like(Tensor self, *, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor", spec=like_spec,
        tags=_SEEDED,
    )  # fmt: skip
    def _(self: Tensor, *, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
        found = like_spec(self, dtype, layout, device, pin_memory, memory_format)
        return _filled(found, lambda s, t: draw(s, self._sizes, t))


_declare("rand", lambda source, size, dtype: source.random(size, dtype=dtype))
_declare("randn", lambda source, size, dtype: source.standard_normal(size, dtype=dtype))


def _randint_spec(low: int, high: int, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    if high <= low:
        raise ArgumentError("randint: needs low < high", got=f"low={low}, high={high}")
    return contiguous(tuple(size), dtype or dtypes.int64, parse_device(device))


@extern("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None) -> Tensor", spec=_randint_spec, tags=_SEEDED)  # fmt: skip
def randint(low: int, high: int, size: Any, *, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    spec = _randint_spec(low, high, size, dtype, layout, device, pin_memory)
    return _filled(spec, lambda s, _: s.integers(low, high, tuple(size), dtype=np.int64))


@composite("aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, "
           "Device? device=None, bool? pin_memory=None) -> Tensor")  # fmt: skip
def randint_high(
    high: int, size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Tensor:
    return ops.aten.randint.low(0, high, size, dtype=dtype, device=device)


def _randperm_spec(n: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    return contiguous((n,), dtype or dtypes.int64, parse_device(device))


@extern("aten::randperm(SymInt n, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor", spec=_randperm_spec, tags=_SEEDED)  # fmt: skip
def randperm(n: int, *, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    return _filled(_randperm_spec(n, dtype, layout, device, pin_memory), lambda s, _: s.permutation(n))


def _same(self: Tensor, *_: Any) -> TensorSpec:
    return contiguous(self._sizes, self._dtype, self._device)


@extern("aten::bernoulli.p(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor", spec=_same, tags=_SEEDED)
def bernoulli(self: Tensor, p: float, *, generator: Any) -> Tensor:
    if not 0 <= p <= 1:
        raise ArgumentError("bernoulli: p is a probability", got=f"p={p}")
    return _filled(_same(self), lambda s, _: s.random(self._sizes) < p, generator)


@extern("aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
        spec=_same, tags=_SEEDED)  # fmt: skip
def normal_functional(self: Tensor, mean: float, std: float, *, generator: Any) -> Tensor:
    _floating("normal", self._dtype)
    if std < 0:
        raise ArgumentError("normal: std must not be negative", got=f"std={std}")
    return _filled(_same(self), lambda s, t: s.standard_normal(self._sizes, dtype=t) * std + mean, generator)


@extern("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor", spec=_same,
        tags=_SEEDED)  # fmt: skip
def uniform(self: Tensor, low: float, high: float, *, generator: Any) -> Tensor:
    _floating("uniform", self._dtype)
    if high < low:
        raise ArgumentError("uniform: needs from <= to", got=f"from={low}, to={high}")
    return _filled(_same(self), lambda s, t: s.random(self._sizes, dtype=t) * (high - low) + low, generator)


_GENERATOR = "Generator? generator=None) -> Tensor(a!)"
InplaceDecl(f"aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, {_GENERATOR}", bernoulli.op)
InplaceDecl(f"aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, {_GENERATOR}", normal_functional.op)
InplaceDecl(f"aten::uniform_(Tensor(a!) self, float from=0, float to=1, *, {_GENERATOR}", uniform.op)
