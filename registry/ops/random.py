"""Random ops. They are reproducible from a seed, but their numbers are not PyTorch's.

What is uniform or normal, or made of it, follows from `philox`: eager calls fill memory with it (`fill`), compiled
graphs compute it in the kernels that use it (`drawn`). Other distributions are drawn by NumPy on the CPU and by CuPy on
CUDA, by a generator that each draw has for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import parse_device
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.creation import layout_like
from opweave.registry.ops.gradients import zeros
from opweave.registry.ops.kinds import ExternDecl, InplaceDecl, composite, extern
from opweave.registry.ops.philox import SEEDED, Distribution, drawn, fill, fill_dense
from opweave.registry.promote import broadcast_shapes
from opweave.registry.random_generator import Generator, generator_of
from opweave.registry.spec import TensorSpec, contiguous, is_dense
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def filled(spec: TensorSpec, values: Callable[[Any, Any], Any], generator: Generator | None = None) -> Tensor:
    """A new tensor with `values(source, wide type)` converted to its type; half types are drawn in float32."""
    result = allocate_like(spec)
    if spec.device.type != "meta":
        source = generator_of(spec.device, generator).next_source()
        result._array[...] = values(source, spec.dtype.compute.numpy)
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


def _drawable(op: str, dtype: DType | None) -> DType:
    return dtype if dtype is not None and dtype.is_complex else check_floating(op, dtype)


def _declare(name: str, distribution: Distribution) -> None:
    """`name(size)` and `name_like(self)`, each with a generator too."""

    def new(size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
        return contiguous(_checked(name, size), _drawable(name, dtype), parse_device(device))

    def like(self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> TensorSpec:
        return layout_like(f"{name}_like", self, _drawable(f"{name}_like", dtype or self._dtype), device, memory_format)

    for op, operand, spec, rest in (
        (name, "SymInt[] size", new, ""),
        (f"{name}_like", "Tensor self", like, ", MemoryFormat? memory_format=None"),
    ):

        @extern(f"aten::{op}({operand}, *, {_OPTIONS}{rest}) -> Tensor", spec=spec, tags=SEEDED, outs="out")
        def made(operand: Any, *, spec: Any = spec, **options: Any) -> Tensor:
            return fill(spec(operand, **options), distribution)

        @made.in_kernels
        def made_in_kernels(operand: Any, *options: Any, spec: Any = spec) -> Tensor:
            return drawn(spec(operand, *options), distribution)

        def generated(operand: Any, generator: Any, *options: Any, spec: Any = spec) -> TensorSpec:
            return spec(operand, *options)

        @extern(
            f"aten::{op}.generator({operand}, *, Generator? generator, {_OPTIONS}{rest}) -> Tensor",
            spec=generated,
            tags=SEEDED,
            outs="generator_out",
        )
        def made_by(operand: Any, *, generator: Any, spec: Any = spec, **options: Any) -> Tensor:
            return fill(spec(operand, **options), distribution, generator)

        @made_by.in_kernels
        def made_by_in_kernels(operand: Any, generator: Any, *options: Any, spec: Any = spec) -> Tensor:
            return drawn(spec(operand, *options), distribution, generator)

        made.backward()
        made_by.backward()


_declare("rand", "uniforms")
_declare("randn", "normals")


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


def within(bits: Tensor, low: int, high: int, dtype: DType) -> Tensor:
    """Integers of 64 bits brought into a range, which they leave as likely everywhere but for 1 in 2**64 over it."""
    count = high - low
    if count < 1 << 63:
        bits = aten.remainder.Scalar(aten.bitwise_and.Scalar(bits, (1 << 63) - 1), count)
    elif count < 1 << 64:
        # Both without their signs: numbers from `count` on are less than twice as large.
        turned = aten.bitwise_xor.Scalar(bits, -(1 << 63))
        is_below = aten.lt.Scalar(turned, count - (1 << 63))
        bits = aten.where.self(is_below, bits, aten.sub.Scalar(bits, count - (1 << 64)))
    return aten._to_copy.default(aten.add.Scalar(bits, low), dtype=dtype)


def integers(spec: TensorSpec, low: int, high: int, generator: Generator | None = None) -> Tensor:
    """A new tensor of integers from `low` to `high - 1`."""
    bits = fill(spec._replace(dtype=dtypes.int64), "bits", generator)
    return within(bits, low, high, spec.dtype)


def integers_in_kernels(spec: TensorSpec, low: int, high: int, generator: Any = None) -> Tensor:
    """The same, written with ops that kernels compute."""
    return within(drawn(spec._replace(dtype=dtypes.int64), "bits", generator), low, high, spec.dtype)


def _draws_integers(op: ExternDecl, spec_of: Callable[..., TensorSpec]) -> None:
    """Let kernels draw what an op gives that has arguments `low` and `high`."""

    @op.in_kernels
    def integers_of(*values: Any) -> Tensor:
        named = dict(zip([a.name for a in op.op._schema.arguments], values, strict=True))
        generator = named.pop("generator", None)
        return integers_in_kernels(spec_of(**named), named["low"], named["high"], generator)


@extern(
    f"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, {_LONG}) -> Tensor",
    spec=_randint_spec,
    tags=SEEDED,
    outs="low_out",
)
def randint(low: int, high: int, size: Any, **options: Any) -> Tensor:
    return integers(_randint_spec(low, high, size, **options), low, high)


@extern(
    f"aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, {_LONG}) -> Tensor",
    spec=lambda low, high, size, generator, *options: _randint_spec(low, high, size, *options),
    tags=SEEDED,
    outs="low_generator_out",
)
def randint_generator(low: int, high: int, size: Any, *, generator: Any, **options: Any) -> Tensor:
    return integers(_randint_spec(low, high, size, **options), low, high, generator)


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
    return integers(_randint_like_spec(self, low, high, **options), low, high)


randint_like_low.backward()
_draws_integers(randint, _randint_spec)
_draws_integers(randint_generator, _randint_spec)
_draws_integers(randint_like_low, _randint_like_spec)


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


def _bernoulli_spec(self: Tensor, p: float, generator: Any = None) -> TensorSpec:
    if not 0 <= p <= 1:
        raise ArgumentError("bernoulli: p is a probability", got=f"p={p}")
    return like(self)


@extern("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", spec=_bernoulli_spec,
        tags=SEEDED)  # fmt: skip
def bernoulli(self: Tensor, p: float, *, generator: Any) -> Tensor:
    _bernoulli_spec(self, p)
    return happens(fill(chances(self), "uniforms", generator), p, self._dtype)


def chances(self: Tensor) -> TensorSpec:
    """What to draw to compare with probabilities: small ones need all digits."""
    return like(self)._replace(dtype=dtypes.float64)


def happens(uniform: Tensor, p: Any, dtype: DType) -> Tensor:
    """1 where a number below 1 is below a probability, else 0."""
    found = aten.lt.Tensor(uniform, p) if isinstance(p, Tensor) else aten.lt.Scalar(uniform, p)
    return aten._to_copy.default(found, dtype=dtype)


@bernoulli.in_kernels
def bernoulli_in_kernels(self: Tensor, p: float, generator: Any) -> Tensor:
    _bernoulli_spec(self, p)
    return happens(drawn(chances(self), "uniforms", generator), p, self._dtype)


@extern("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", spec=like, tags=SEEDED, outs="out")
def bernoulli_each(self: Tensor, *, generator: Any) -> Tensor:
    """1 with the probability that the element is, else 0."""
    check_floating("bernoulli", self._dtype)
    found = like(self)
    if found.device.type != "meta":
        probability = self._array
        if not bool(((probability >= 0) & (probability <= 1)).all()):
            raise ArgumentError("bernoulli: the elements are probabilities", hint="each has to lie in [0, 1]")
    return happens(fill(chances(self), "uniforms", generator), self, self._dtype)


bernoulli_each.writes_any_type = True


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
    return fill(spec, "normals", generator, std, mean)


def _moved(numbers: Tensor, scale: Any, shift: Any) -> Tensor:
    """Drawn numbers as `fill` moves them: both parts of complex ones alike, as in PyTorch."""
    if numbers._dtype.is_complex:
        shift = complex(shift, shift)
    scaled = numbers if type(scale) is float and scale == 1 else aten.mul.Tensor(numbers, scale)
    return scaled if type(shift) is float and shift == 0 else aten.add.Tensor(scaled, shift)


@normal.in_kernels
def normal_in_kernels(mean: float, std: float, size: Any, generator: Any, *options: Any) -> Tensor:
    return _moved(drawn(_normal_spec(mean, std, size, generator, *options), "normals", generator), std, mean)


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


def _normal_like_spec(self: Tensor, mean: float, std: float, generator: Any = None) -> TensorSpec:
    _drawable("normal", self._dtype)
    if std < 0:
        raise ArgumentError("normal: std must not be negative", got=f"std={std}", hint="abs(std)")
    return like(self)


@extern("aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
        spec=_normal_like_spec, tags=SEEDED)  # fmt: skip
def normal_functional(self: Tensor, mean: float, std: float, *, generator: Any) -> Tensor:
    return fill(_normal_like_spec(self, mean, std), "normals", generator, std, mean)


@normal_functional.in_kernels
def normal_functional_in_kernels(self: Tensor, mean: float, std: float, generator: Any) -> Tensor:
    return _moved(drawn(_normal_like_spec(self, mean, std), "normals", generator), std, mean)


def _uniform_spec(self: Tensor, low: float, high: float, generator: Any = None) -> TensorSpec:
    _drawable("uniform", self._dtype)
    if high < low:
        raise ArgumentError("uniform: needs from <= to", got=f"from={low}, to={high}")
    return like(self)


@extern("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor",
        spec=_uniform_spec, tags=SEEDED, outs="out")  # fmt: skip
def uniform(self: Tensor, low: float, high: float, *, generator: Any) -> Tensor:
    return fill(_uniform_spec(self, low, high), "uniforms", generator, high - low, low)


@uniform.in_kernels
def uniform_in_kernels(self: Tensor, low: float, high: float, generator: Any) -> Tensor:
    return _moved(drawn(_uniform_spec(self, low, high), "uniforms", generator), high - low, low)


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
_normal_ = InplaceDecl(f"aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, {WRITES}", normal_functional.op)
_uniform_ = InplaceDecl(f"aten::uniform_(Tensor(a!) self, float from=0, float to=1, *, {WRITES}", uniform.op)


def _filling(
    functional: ExternDecl, distribution: Distribution, scale_and_shift: Callable[[float, float], tuple[float, float]]
) -> Callable[..., bool]:
    """Draw into the tensor itself, where its elements lie side by side."""

    def fill_self(self: Tensor, first: float, second: float, generator: Any) -> bool:
        if not is_dense(self._sizes, self._strides):
            return False
        functional.spec(self, first, second)
        fill_dense(self, distribution, generator, *scale_and_shift(first, second))
        return True

    return fill_self


_normal_.touching = _filling(normal_functional, "normals", lambda mean, std: (std, mean))
_uniform_.touching = _filling(uniform, "uniforms", lambda low, high: (high - low, low))
