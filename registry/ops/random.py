"""Random ops. Numbers come from NumPy's Philox generator on the CPU and CuPy's on CUDA.

They are reproducible from a seed, but are not PyTorch's numbers. Each thread has its own default generator, so that
threads neither wait for nor disturb each other; `manual_seed` seeds the calling thread's.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import Device, cpu, parse_device
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import state
from opweave.registry.op import ops
from opweave.registry.ops.creation import layout_like
from opweave.registry.ops.gradients import zeros
from opweave.registry.ops.kinds import InplaceDecl, composite, extern
from opweave.registry.promote import broadcast_shapes
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

SEEDED = "nondeterministic_seeded"
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


class Generator:
    """A source of random numbers.

    Parameters
    ----------
    device : Device or str
        Where its numbers are made.

    Examples
    --------
    >>> generator = opweave.Generator().manual_seed(0)
    >>> opweave.randint(10, (3,), generator=generator).shape
    opweave.Size([3])
    """

    def __init__(self, device: Any = "cpu"):
        self.device = parse_device(device)
        self._seed = 0
        #: How often numbers were drawn.
        self.draws = 0
        self.seed()

    def manual_seed(self, seed: int) -> Generator:
        """Start over from a seed; the same seed gives the same numbers.

        Examples
        --------
        >>> _ = opweave.manual_seed(0)
        """
        self._seed = int(seed)
        self._source: Any = self.device.memory.random(self._seed & (2**128 - 1))
        return self

    def seed(self) -> int:
        """Start over from a seed of the system's randomness, and return it."""
        self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1)))
        return self._seed

    def initial_seed(self) -> int:
        """The seed it started from."""
        return self._seed

    def state(self) -> Any:
        """What its next numbers depend on, for `set_state`; None where the device does not tell."""
        return self._source.bit_generator.state if self.device.is_host else None

    def set_state(self, state: Any) -> None:
        """Continue from an earlier `state`."""
        if state is not None:
            self._source.bit_generator.state = state


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


def thread_generators() -> list[Generator]:
    """The calling thread's generators, of the devices that it has used."""
    return list(_thread.__dict__.setdefault("generators", {}).values())


def manual_seed(seed: int) -> Generator:
    """Seed the calling thread's generators of all devices.

    Returns
    -------
    Generator
        The CPU's.

    Examples
    --------
    >>> _ = opweave.manual_seed(3)
    >>> first = opweave.rand(2)
    >>> _ = opweave.manual_seed(3)
    >>> opweave.equal(first, opweave.rand(2))
    True
    """
    for mode in state.modes:
        mode.generator_accessed("manual_seed")
    try:
        _thread.seed = int(seed)
    except (TypeError, ValueError) as error:
        let_through(error)
        raise ArgumentError(
            "manual_seed: the seed must be an integer", got=f"{seed!r} ({type(seed).__name__})", hint="manual_seed(0)"
        ) from None
    for generator in _thread.__dict__.setdefault("generators", {}).values():
        generator.manual_seed(seed)
    return default_generator(cpu)


def _source(device: Device, generator: Generator | None) -> Any:
    if generator is not None and generator.device is not device:
        raise DeviceError(
            f"random: a generator of {generator.device} cannot fill a tensor on {device}", hint="Generator(device)"
        )
    used = generator or default_generator(device)
    used.draws += 1
    return used._source


def filled(spec: TensorSpec, values: Callable[[Any, Any], Any], generator: Generator | None = None) -> Tensor:
    """A new tensor with `values(source, wide type)` converted to its type; half types are drawn in float32."""
    result = allocate_like(spec)
    if spec.device.type != "meta":
        drawn = values(_source(spec.device, generator), spec.dtype.compute.numpy)
        result._array[...] = drawn
    return result


def check_floating(op: str, dtype: DType | None) -> DType:
    dtype = dtype or get_default_dtype()
    if not dtype.is_floating_point:
        raise DTypeError(f"{op}: only floating types", got=repr(dtype))
    return dtype


def _checked(op: str, size: Sequence[int]) -> tuple[int, ...]:
    if any(extent < 0 for extent in size):
        raise ShapeError(
            f"{op}: sizes must not be negative", got=f"size={list(size)}", hint="zero makes an empty tensor"
        )
    return tuple(size)


#: Bits of a half type's significand: a float32 below 1 may round to 1, a multiple of 2**-bits does not.
_BITS = {"float16": 11, "bfloat16": 8}


def _drawable(op: str, dtype: DType | None) -> DType:
    return dtype if dtype is not None and dtype.is_complex else check_floating(op, dtype)


def _parts(draw: Callable[[Any, TensorSpec], Any], source: Any, spec: TensorSpec) -> Any:
    """Complex numbers whose parts are drawn alike."""
    parts = spec._replace(dtype=spec.dtype.to_real())
    found = spec.device.xp.empty(spec.sizes, spec.dtype.numpy)
    found.real = draw(source, parts)
    found.imag = draw(source, parts)
    return found


def _uniform(source: Any, spec: TensorSpec) -> Any:
    """Numbers in [0, 1), after rounding to the type too."""
    if spec.dtype.is_complex:
        return _parts(_uniform, source, spec)
    bits = _BITS.get(spec.dtype.name)
    if bits is not None:
        return source.integers(0, 1 << bits, spec.sizes) * 2.0**-bits
    return source.random(spec.sizes, dtype=spec.dtype.numpy)


def normals(source: Any, spec: TensorSpec) -> Any:
    """Numbers of mean 0 and variance 1, which is shared by the parts of complex ones."""
    if spec.dtype.is_complex:
        return _parts(normals, source, spec) * spec.dtype.numpy.type(math.sqrt(0.5))
    return source.standard_normal(spec.sizes, dtype=spec.dtype.compute.numpy)


def _declare(name: str, draw: Callable[[Any, TensorSpec], Any]) -> None:
    """`name(size)` and `name_like(self)`, each with a generator too."""

    def fill(spec: TensorSpec, generator: Generator | None = None) -> Tensor:
        return filled(spec, lambda source, _: draw(source, spec), generator)

    def new(size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
        return contiguous(_checked(name, size), _drawable(name, dtype), parse_device(device))

    def like(self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> TensorSpec:
        return layout_like(f"{name}_like", self, _drawable(f"{name}_like", dtype or self._dtype), device, memory_format)

    for op, operand, spec, rest in (
        (name, "SymInt[] size", new, ""),
        (f"{name}_like", "Tensor self", like, ", MemoryFormat? memory_format=None"),
    ):

        @extern(f"aten::{op}({operand}, *, {_OPTIONS}{rest}) -> Tensor", spec=spec, tags=SEEDED, outs="out")
        def drawn(operand: Any, *, spec: Any = spec, **options: Any) -> Tensor:
            return fill(spec(operand, **options))

        def generated(operand: Any, generator: Any, *options: Any, spec: Any = spec) -> TensorSpec:
            return spec(operand, *options)

        @extern(
            f"aten::{op}.generator({operand}, *, Generator? generator, {_OPTIONS}{rest}) -> Tensor",
            spec=generated,
            tags=SEEDED,
            outs="generator_out",
        )
        def drawn_by(operand: Any, *, generator: Any, spec: Any = spec, **options: Any) -> Tensor:
            return fill(spec(operand, **options), generator)

        drawn.backward()
        drawn_by.backward()


_declare("rand", _uniform)
_declare("randn", normals)


# ---- integers ------------------------------------------------------------------------------------------------------

_LONG = "ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def check_range(op: str, low: int, high: int, dtype: DType) -> None:
    if high <= low:
        raise ArgumentError(
            f"{op}: needs low < high",
            got=f"low={low}, high={high}",
            hint="randint(low, high, size) draws from low to high - 1",
        )
    if dtype.kind in "bui":
        bits = 1 if dtype.kind == "b" else dtype.itemsize * 8 - (dtype.kind == "i")
        if low < (-(1 << bits) if dtype.kind == "i" else 0) or high > 1 << bits:
            raise ArgumentError(f"{op}: the range does not fit {dtype.name}", got=f"low={low}, high={high}")


def _randint_spec(low: int, high: int, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    found = contiguous(_checked("randint", size), dtype or dtypes.int64, parse_device(device))
    check_range("randint", low, high, found.dtype)
    return found


def _integers(spec: TensorSpec, low: int, high: int, generator: Generator | None = None) -> Tensor:
    return filled(spec, lambda source, _: source.integers(low, high, spec.sizes, dtype=np.int64), generator)


@extern(
    f"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, {_LONG}) -> Tensor",
    spec=_randint_spec,
    tags=SEEDED,
    outs="low_out",
)
def randint(low: int, high: int, size: Any, **options: Any) -> Tensor:
    return _integers(_randint_spec(low, high, size, **options), low, high)


@extern(
    f"aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, {_LONG}) -> Tensor",
    spec=lambda low, high, size, generator, *options: _randint_spec(low, high, size, *options),
    tags=SEEDED,
    outs="low_generator_out",
)
def randint_generator(low: int, high: int, size: Any, *, generator: Any, **options: Any) -> Tensor:
    return _integers(_randint_spec(low, high, size, **options), low, high, generator)


@composite(f"aten::randint(SymInt high, SymInt[] size, *, {_LONG}) -> Tensor", tags=SEEDED, outs="out")
def randint_high(high: int, size: Any, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
    return ops.aten.randint.low(0, high, size, dtype=dtype, device=device)


@composite(
    f"aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, {_LONG}) -> Tensor",
    tags=SEEDED,
    outs="generator_out",
)
def randint_high_generator(
    high: int, size: Any, *, generator: Any, dtype: Any = None, device: Any = None, **_: Any
) -> Tensor:
    return ops.aten.randint.low_generator(0, high, size, generator=generator, dtype=dtype, device=device)


def _randint_like_spec(
    self: Tensor, low: int, high: int, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> TensorSpec:
    found = layout_like("randint_like", self, dtype, device, memory_format)
    check_range("randint_like", low, high, found.dtype)
    return found


@extern(
    f"aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, {_OPTIONS}, "
    "MemoryFormat? memory_format=None) -> Tensor",
    spec=_randint_like_spec,
    tags=SEEDED,
    outs="low_dtype_out",
)
def randint_like_low(self: Tensor, low: int, high: int, **options: Any) -> Tensor:
    return _integers(_randint_like_spec(self, low, high, **options), low, high)


randint_like_low.backward()


@composite(
    f"aten::randint_like(Tensor self, SymInt high, *, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
    tags=SEEDED,
    outs="out",
)
def randint_like(self: Tensor, high: int, **options: Any) -> Tensor:
    return ops.aten.randint_like.low_dtype(self, 0, high, **options)


def _randperm_spec(n: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    return contiguous(_checked("randperm", (n,)), dtype or dtypes.int64, parse_device(device))


@extern(f"aten::randperm(SymInt n, *, {_LONG}) -> Tensor", spec=_randperm_spec, tags=SEEDED, outs="out")
def randperm(n: int, **options: Any) -> Tensor:
    return filled(_randperm_spec(n, **options), lambda source, _: source.permutation(n))


@extern(
    f"aten::randperm.generator(SymInt n, *, Generator? generator, {_LONG}) -> Tensor",
    spec=lambda n, generator, *options: _randperm_spec(n, *options),
    tags=SEEDED,
    outs="generator_out",
)
def randperm_generator(n: int, *, generator: Any, **options: Any) -> Tensor:
    return filled(_randperm_spec(n, **options), lambda source, _: source.permutation(n), generator)


# ---- distributions over existing tensors ---------------------------------------------------------------------------


def like(self: Tensor, *_: Any) -> TensorSpec:
    return layout_like("a sample", self, None, None, None)


@extern("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", spec=like, tags=SEEDED)
def bernoulli(self: Tensor, p: float, *, generator: Any) -> Tensor:
    if not 0 <= p <= 1:
        raise ArgumentError("bernoulli: p is a probability", got=f"p={p}")
    return filled(like(self), lambda s, _: s.random(self._sizes) < p, generator)


@extern("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", spec=like, tags=SEEDED, outs="out")
def bernoulli_each(self: Tensor, *, generator: Any) -> Tensor:
    """1 with the probability that the element is, else 0."""
    check_floating("bernoulli", self._dtype)
    found = like(self)
    if found.device.type != "meta":
        probability = self._array
        if not bool(((probability >= 0) & (probability <= 1)).all()):
            raise ArgumentError("bernoulli: the elements are probabilities", hint="each has to lie in [0, 1]")
    return filled(found, lambda s, _: s.random(self._sizes) < self._array, generator)


def _normal_spec(
    mean: float, std: float, size: Any, generator: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    if std < 0:
        raise ArgumentError("normal: std must not be negative", got=f"std={std}", hint="abs(std)")
    return contiguous(_checked("normal", size), _drawable("normal", dtype), parse_device(device))


@extern(
    "aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, "
    f"{_OPTIONS}) -> Tensor",
    spec=_normal_spec,
    tags=SEEDED,
    outs="float_float_out",
)
def normal(mean: float, std: float, size: Any, *, generator: Any, **options: Any) -> Tensor:
    spec = _normal_spec(mean, std, size, generator, **options)
    return filled(spec, lambda source, _: normals(source, spec) * std + mean, generator)


def _normal_of(mean: Any, std: Any, generator: Any) -> Tensor:
    """Numbers of normal distributions, one for each of the means and deviations, of which one is a tensor at least."""
    operands = [t for t in (mean, std) if isinstance(t, Tensor)]
    if isinstance(std, Tensor):
        if std._dtype.kind == "c":
            raise DTypeError("normal: std must be real", got=describe(std))
    elif std < 0:
        raise ArgumentError("normal: std must not be negative", got=f"std={std}", hint="abs(std)")
    shape = list(broadcast_shapes("normal", *[t._sizes for t in operands]))
    like = operands[0]
    drawn = ops.aten.normal_functional.default(ops.aten.new_empty.default(like, shape), 0.0, 1.0, generator=generator)
    return ops.aten.add(ops.aten.mul(drawn, std), mean)


for _overload, _arguments in (
    ("Tensor_float", "Tensor mean, float std=1"),
    ("float_Tensor", "float mean, Tensor std"),
    ("Tensor_Tensor", "Tensor mean, Tensor std"),
):

    @composite(
        f"aten::normal.{_overload}({_arguments}, *, Generator? generator=None) -> Tensor", explicit=True, tags=SEEDED,
        outs=f"{_overload}_out",
    )  # fmt: skip
    def _normal_by(mean: Any, std: Any = 1.0, *, generator: Any = None) -> Tensor:
        return _normal_of(mean, std, generator)

    # A constant to autograd, as in PyTorch: what is drawn does not follow from where it is drawn.
    _formulas: dict[str, Any] = {name: zeros for name in ("mean", "std") if f"Tensor {name}" in _arguments}
    _normal_by.backward(**_formulas)


@extern("aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
        spec=like, tags=SEEDED)  # fmt: skip
def normal_functional(self: Tensor, mean: float, std: float, *, generator: Any) -> Tensor:
    _drawable("normal", self._dtype)
    if std < 0:
        raise ArgumentError("normal: std must not be negative", got=f"std={std}", hint="abs(std)")
    found = like(self)
    return filled(found, lambda source, _: normals(source, found) * std + mean, generator)


@extern("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor", spec=like,
        tags=SEEDED, outs="out")  # fmt: skip
def uniform(self: Tensor, low: float, high: float, *, generator: Any) -> Tensor:
    _drawable("uniform", self._dtype)
    if high < low:
        raise ArgumentError("uniform: needs from <= to", got=f"from={low}, to={high}")
    found = like(self)
    if self._dtype.is_complex:
        return filled(found, lambda s, _: _uniform(s, found) * (high - low) + complex(low, low), generator)
    return filled(found, lambda s, t: s.random(self._sizes, dtype=t) * (high - low) + low, generator)


def _multinomial_spec(
    self: Tensor, num_samples: int, replacement: bool = False, generator: Any = None
) -> TensorSpec:  # fmt: skip
    check_floating("multinomial", self._dtype)
    if self.ndim not in (1, 2):
        raise ShapeError("multinomial: expected a vector or a matrix of weights", got=f"{self.ndim} dimensions")
    if num_samples < 1:
        raise ShapeError("multinomial: the number of samples must be 1 or more", got=f"num_samples={num_samples}")
    if not replacement and num_samples > self._sizes[-1]:
        raise ShapeError(
            "multinomial: more samples than weights", got=f"num_samples={num_samples} of {self._sizes[-1]}",
            hint="pass replacement=True",
        )  # fmt: skip
    return contiguous((*self._sizes[:-1], num_samples), dtypes.int64, self._device)


@extern(
    "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None)"
    " -> Tensor",
    spec=_multinomial_spec,
    tags=SEEDED,
    outs="out",
)
def multinomial(self: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Places drawn with the probabilities that the weights of a row are in proportion to."""
    spec = _multinomial_spec(self, num_samples, replacement)
    xp = self._device.xp
    weights = self._array.astype(np.float64)
    usable = bool((xp.isfinite(weights) & (weights >= 0)).all()) and bool((weights.sum(axis=-1) > 0).all())
    if not usable:
        raise ShapeError("multinomial: weights are finite and not negative, and one of each row is positive")
    if not replacement and bool(((weights > 0).sum(axis=-1) < num_samples).any()):
        raise ShapeError("multinomial: a row has fewer positive weights than samples", hint="pass replacement=True")

    def draw(source: Any, _: Any) -> Any:
        if replacement:
            ends = xp.cumsum(weights, axis=-1)
            at = source.random((*spec.sizes[:-1], num_samples)) * ends[..., -1:]
            at = xp.minimum(at, xp.nextafter(ends[..., -1:], 0.0))  # a product may be rounded up to the end
            return (ends[..., None, :] <= at[..., :, None]).sum(axis=-1)
        # Waiting times with the weights as rates come in the order of drawing without replacement.
        waits = -xp.log1p(-source.random(weights.shape))
        with np.errstate(divide="ignore", invalid="ignore"):
            waits = xp.where(weights > 0, waits / weights, np.inf)
        return xp.argsort(waits, axis=-1)[..., :num_samples]

    return filled(spec, draw, generator)


for _decl in (bernoulli, bernoulli_each, normal_functional, uniform):
    _decl.backward(self=zeros)
multinomial.backward()

WRITES = "Generator? generator=None) -> Tensor(a!)"
InplaceDecl(f"aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, {WRITES}", bernoulli.op)
InplaceDecl(f"aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, {WRITES}", normal_functional.op)
InplaceDecl(f"aten::uniform_(Tensor(a!) self, float from=0, float to=1, *, {WRITES}", uniform.op)
