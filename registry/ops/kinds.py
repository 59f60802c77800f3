"""How ops are declared: a kind supplies everything that follows from what an op *is*.

    @pointwise("aten::silu(Tensor self) -> Tensor", promote=INT_TO_FLOAT)
    def silu(k, x):
        return x / (1 + k.exp(-x))

gives the op with its eager kernel (NumPy and CuPy), its rule for tensors without data, its in-place and `out=`
variants, and what codegen needs to fuse it. The kinds:

==========  ==================================================  =========================================
pointwise   one scalar expression for every element             `body(k, *values, **attrs)`
reduction   a combine over axes, a map before, a finish after   `combine`, `map`, `finalize`
view        new sizes and strides over the same memory          `rule(sizes, strides, offset, *args)`
generator   every element a function of its index               `body(k, index, *args)`, `spec`
composite   written with other ops                              `body(*args)`
extern      a call into a library                               `body(*args)`, `spec`
inplace     writes into its first argument                      `functional`
==========  ==================================================  =========================================

`decl.meta(make, args, kwargs)` computes an op's results without data: `make(spec)` creates a tensor, so the same rule
serves meta tensors and fake tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import cpu, meta as _META
from opweave.registry.dtypes import DType, promote_types
from opweave.registry.errors import ArgumentError, DTypeError, OpweaveError, ShapeError, Site
from opweave.registry.keys import DispatchKey
from opweave.registry.op import OpOverload, registry
from opweave.registry.promote import broadcast_shapes, can_cast, common_device, pointwise_strides, result_type
from opweave.registry.scalar import ArrayScalars
from opweave.registry.schema import Argument
from opweave.registry.spec import TensorSpec, contiguous, contiguous_strides, is_contiguous, overlaps_itself, row_major
from opweave.registry.tensor import Tensor, allocate, allocate_like, as_view, describe, wrap_array, wrap_dim

Maker = Callable[[TensorSpec], Tensor]

# How the types of a pointwise op's operands become its compute and result types.
DEFAULT = "default"  # the promoted type
INT_TO_FLOAT = "int_to_float"  # integers and bools become the default floating type
COMPARE = "compare"  # computed in the promoted type, the result is bool
NO_BOOL = "no_bool"  # as DEFAULT, bools refused

#: PyTorch's numbers of the memory formats that mean something here.
CONTIGUOUS_FORMAT, PRESERVE_FORMAT = 0, 1

# A pointwise body is evaluated in pieces of this many elements so that its temporaries stay in the cache.
_CHUNK = 1 << 15

_handlers: dict[Any, ArrayScalars] = {}


def handler(xp: Any) -> ArrayScalars:
    """The eager handler of an array module."""
    found = _handlers.get(xp)
    if found is None:
        found = _handlers[xp] = ArrayScalars(xp)
    return found


class Decl:
    """A declaration; see the module's table for the kinds.

    Attributes
    ----------
    op : OpOverload
        The op it declares.
    kind : str
        One of the table's names.
    samples : callable or None
        `samples(make) -> iterable of (args, kwargs)`: inputs that the generated tests run, `make(*sizes, dtype=...,
        low=..., high=...)` makes a tensor.
    sample_dtypes : tuple of DType or None
        Types that the tests cross the samples with; None for the kind's own choice.
    """

    kind: ClassVar[str]
    takes_numbers: ClassVar[bool] = False

    def __init__(
        self, schema: str | Callable[[], str], body: Callable[..., Any], tags: Sequence[str] = (), name: str = ""
    ):
        self.body = body
        code = getattr(body, "__code__", None)
        site = Site(code.co_filename, code.co_firstlineno, code.co_name) if code else Site("<opweave>", 0, "")
        name = name or str(schema).partition("(")[0]
        self.op: OpOverload = registry.declare(name, schema, tags=tags, site=site)
        self.op.decl = self
        self.samples: Callable[..., Iterable[Any]] | None = None
        self.sample_dtypes: tuple[DType, ...] | None = None
        self.op.fake = self.fake
        self.__name__ = self.op.opname
        self.__doc__ = body.__doc__

    def _run_by(self, kernel: Callable[..., Any], key: DispatchKey = DispatchKey.CompositeExplicitAutograd) -> None:
        self.op.register(key, kernel, site=self.op.site)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.op(*args, **kwargs)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Results without data for arguments in the schema's order (defaults may be left out)."""
        raise NotImplementedError

    def fake(self, *args: Any, **kwargs: Any) -> Any:
        """The rule for meta tensors."""
        return self.meta(allocate_like, args, kwargs)

    def with_samples(self, samples: Callable[..., Iterable[Any]]) -> Callable[..., Iterable[Any]]:
        """Decorator: the inputs that the generated tests run."""
        self.samples = samples
        return samples

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """All argument values in the schema's order, defaults filled in."""
        positional, keyword = self.op._schema.bind(args, kwargs)
        return [*positional, *keyword.values()]

    def __repr__(self) -> str:
        return f"<{self.kind} {self.op}>"


# ---- pointwise -----------------------------------------------------------------------------------------------------


class PointwiseDecl(Decl):
    """One scalar expression for every element of the broadcast operands."""

    kind = "pointwise"
    takes_numbers = True

    def __init__(self, schema: str, body: Callable[..., Any], promote: Any, tags: Sequence[str]):
        super().__init__(schema, body, tags)
        self.promote = promote
        self._plans: dict[tuple[DType, int], tuple[DType, DType]] = {}
        self._run_by(self.eager)

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The schema's arguments."""
        return self.op._schema.arguments

    @cached_property
    def is_operand(self) -> tuple[bool, ...]:
        """True for the arguments that are elements of the computation, False for attributes of it."""
        return tuple(str(a.type) in ("Tensor", "Tensor?") for a in self.arguments)

    def operands(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Split arguments into operands (tensors, numbers or None, in the body's order) and attributes."""
        if all(self.is_operand) and len(args) == len(self.arguments):
            return list(args), {}
        values, attributes = [], {}
        for argument, is_operand, value in zip(
            self.arguments, self.is_operand, self.bind(args, kwargs), strict=True
        ):
            if is_operand:
                values.append(value)
            else:
                attributes[argument.name] = value
        return values, attributes

    def types(self, *operands: Any, **attributes: Any) -> tuple[DType, DType]:
        """(compute type, result type) for operands given as tensors, dtypes or numbers; None is skipped.

        Raises
        ------
        DTypeError
            If the op does not take the promoted type.
        """
        present = [operand for operand in operands if operand is not None]
        if callable(self.promote):
            return self.promote(*present, **attributes)
        common = result_type(*present)
        if self.promote == INT_TO_FLOAT and common.kind in "biu":
            common = dtypes.get_default_dtype()
        elif self.promote == NO_BOOL and common.kind == "b":
            raise DTypeError(f"{self.op.opname}: not defined for bool", got=", ".join(map(describe, present)))
        if self.promote == COMPARE:
            return common.compute, dtypes.bool_
        return common.compute, common

    def spec(self, operands: Sequence[Any], attributes: dict[str, Any]) -> TensorSpec:
        """What the result looks like."""
        tensors = [t for t in operands if isinstance(t, Tensor)]
        if len(tensors) == 1:
            sizes, device = tensors[0]._sizes, tensors[0]._device
        else:
            sizes = broadcast_shapes(self.op.opname, *[t._sizes for t in tensors])
            device = common_device(self.op.opname, tensors)
        result = self.types(*operands, **attributes)[1]
        if attributes.get("memory_format") == CONTIGUOUS_FORMAT:
            return TensorSpec(sizes, contiguous_strides(sizes), result, device)
        return TensorSpec(sizes, pointwise_strides(sizes, tensors), result, device)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        return make(self.spec(*self.operands(args, kwargs)))

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        """Evaluate on the operands' array module."""
        result = self.quick(args, kwargs)
        if result is not None:
            return result
        operands, attributes = self.operands(args, kwargs)
        return self.evaluate(operands, attributes, self.spec(operands, attributes), None)

    @cached_property
    def _plain_attributes(self) -> dict[str, Any] | None:
        """Defaults of the keyword attributes; None where there are positional ones."""
        if any(not operand and not a.kwarg_only for a, operand in zip(self.arguments, self.is_operand, strict=True)):
            return None
        return {a.name: a.default for a in self.arguments if a.kwarg_only}

    def quick(self, args: tuple[Any, ...], kwargs: dict[str, Any], inplace: bool = False) -> Tensor | None:
        """The common case without the general machinery: small row-major CPU operands of one shape and type.

        What the types lead to is remembered by dtype. None means that the general way has to be taken.
        """
        lead = args[0]
        attributes = self._plain_attributes
        if attributes is None or type(lead) is not Tensor or lead._device is not cpu:
            return None
        for name, value in kwargs.items():
            if value is not attributes[name]:
                return None
        sizes, strides, dtype = lead._sizes, lead._strides, lead._dtype
        values: list[Any] = []
        numbers = 0
        for operand in args:
            if type(operand) is Tensor:
                if operand._sizes != sizes or operand._strides != strides or operand._dtype is not dtype:
                    return None
                if operand._device is not cpu:
                    return None
                values.append(operand._array)
            elif type(operand) is float and dtype.kind == "f":
                numbers += 1
                values.append(operand)
            else:
                return None
        plan = self._plans.get((dtype, numbers))
        if plan is None:
            plan = self._plans[dtype, numbers] = self.types(*args, **kwargs)
        compute, result = plan
        if compute is not dtype or values[0].size >= 2 * _CHUNK or strides != row_major(sizes):
            return None
        with np.errstate(all="ignore"):
            array = self.body(handler(np), *values, **kwargs)
        if type(array) is not np.ndarray:
            array = np.asarray(array)
        if array.dtype != result.numpy or array.base is not None or array.shape != sizes:
            return None
        if inplace:
            if result is not dtype:
                return None
            lead._array[...] = array
            return lead
        for value in values:
            if array is value:
                return None
        return wrap_array(array, sizes, strides, result, cpu)

    def evaluate(
        self, operands: Sequence[Any], attributes: dict[str, Any], spec: TensorSpec, out: Tensor | None
    ) -> Tensor:
        """Run the body on whole arrays, into `out` where given (which may be one of the operands)."""
        xp = spec.device.xp
        compute, result = self.types(*operands, **attributes)
        if out is not None:
            result = out._dtype
        k = handler(xp)
        values = [_operand_value(xp, operand, compute, spec.device) for operand in operands]
        count = math.prod(spec.sizes)
        with np.errstate(all="ignore"):
            if xp is np and count >= 2 * _CHUNK and _one_layout(spec, operands, out):
                target = out if out is not None else allocate_like(spec)
                self._evaluate_chunks(k, values, attributes, compute, target)
                return target
            values = [xp.asarray(v).astype(compute.numpy) if _differs(v, compute) else v for v in values]
            array = xp.asarray(self.body(k, *values, **attributes))
        if out is None and _is_fresh(array, values) and array.shape == spec.sizes and array.flags.c_contiguous:
            if spec.strides == contiguous_strides(spec.sizes) and array.dtype == result.numpy:
                return Tensor._from_array(array, spec.device)
        target = out if out is not None else allocate_like(spec)
        with np.errstate(all="ignore"):
            _store(k, target._array, array, result)
        return target

    def _evaluate_chunks(
        self, k: ArrayScalars, values: list[Any], attributes: dict[str, Any], compute: DType, target: Tensor
    ) -> None:
        # The operands share one dense layout, so memory order serves as the iteration order for all of them.
        flat = [_memory_order(v) if isinstance(v, np.ndarray) and v.ndim else v for v in values]
        out = _memory_order(target._array)
        for start in range(0, out.size, _CHUNK):
            pieces = []
            for v in flat:
                piece = v[start : start + _CHUNK] if isinstance(v, np.ndarray) and v.ndim else v
                pieces.append(piece.astype(compute.numpy) if _differs(piece, compute) else piece)
            _store(k, out[start : start + _CHUNK], self.body(k, *pieces, **attributes), target._dtype)


def _operand_value(xp: Any, operand: Any, compute: DType, device: Any) -> Any:
    """An operand as the body sees it, before conversion of arrays to the compute type."""
    if isinstance(operand, Tensor):
        return operand._array if operand._device is device else xp.asarray(operand._array)
    if operand is None:
        return None
    if compute.kind == "f" and isinstance(operand, float) or compute.kind == "f" and type(operand) is int:
        return float(operand) if abs(operand) < 2**1000 else xp.asarray(operand, compute.numpy)
    if compute.kind in "iu" and isinstance(operand, int):
        # Out-of-range numbers wrap, as in PyTorch; NumPy would raise.
        bits = compute.itemsize * 8
        wrapped = operand & ((1 << bits) - 1)
        if compute.kind == "i" and wrapped >> (bits - 1):
            wrapped -= 1 << bits
        return xp.asarray(wrapped, compute.numpy)
    return xp.asarray(operand).astype(compute.numpy)


def _differs(value: Any, compute: DType) -> bool:
    return hasattr(value, "dtype") and value.dtype != compute.numpy


def _one_layout(spec: TensorSpec, operands: Sequence[Any], out: Tensor | None) -> bool:
    """Whether all tensors with dimensions have the result's sizes and strides, and these are dense."""
    if out is not None and out._strides != spec.strides:
        return False
    for t in operands:
        if isinstance(t, Tensor) and t._sizes:
            if t._sizes != spec.sizes or t._strides != spec.strides:
                return False
            # A partly overlapping operand would be overwritten before it is read.
            if out is not None and t is not out and t._storage is out._storage and t._offset != out._offset:
                return False
    order = tuple(sorted(spec.strides, reverse=True))
    return order == spec.strides and is_contiguous(spec.sizes, spec.strides) or _is_permuted_contiguous(spec)


def _is_permuted_contiguous(spec: TensorSpec) -> bool:
    order = sorted(range(len(spec.sizes)), key=lambda d: -spec.strides[d])
    return is_contiguous([spec.sizes[d] for d in order], [spec.strides[d] for d in order])


def _memory_order(array: Any) -> Any:
    order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    return array.transpose(order).reshape(-1)


def _is_fresh(array: Any, values: Sequence[Any]) -> bool:
    return array.base is None and all(array is not v for v in values)


def _store(k: ArrayScalars, target: Any, array: Any, dtype: DType) -> None:
    if hasattr(array, "dtype") and array.dtype == target.dtype:
        target[...] = array
    else:
        target[...] = k.cast(array, dtype)


def pointwise(
    schema: str, *, promote: Any = DEFAULT, inplace: bool | str = True, out: bool = True, tags: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], PointwiseDecl]:
    """Declare a pointwise op; the decorated body is `body(k, *operands, **attributes)`.

    Parameters
    ----------
    schema : str
        Its `Tensor` arguments are the operands in the body's order, all others attributes.
    promote : str or callable
        `DEFAULT`, `INT_TO_FLOAT`, `COMPARE`, `NO_BOOL`, or a function like `PointwiseDecl.types`.
    inplace : bool or str
        Whether to declare the `op_` variant too; a string is its overload name, where that is another.
    out : bool
        Whether to declare the `out=` variant too.
    """

    def declare(body: Callable[..., Any]) -> PointwiseDecl:
        decl = PointwiseDecl(schema, body, promote, tags)
        if inplace:
            _declare_inplace(decl.op, inplace if isinstance(inplace, str) else decl.op.overload)
        if out:
            _declare_out(decl.op)
        return decl

    return declare


# ---- in-place and out= ---------------------------------------------------------------------------------------------


def _arguments_text(op: OpOverload, first: str | None = None, extra: str | None = None) -> str:
    arguments = op._schema.arguments
    positional = [str(a) for a in arguments if not a.kwarg_only]
    named = [str(a) for a in arguments if a.kwarg_only]
    if first is not None:
        positional[0] = first
    if extra is not None:
        named.append(extra)
    return ", ".join([*positional, *(["*", *named] if named else [])])


def _declare_inplace(op: OpOverload, overload: str) -> InplaceDecl:
    name = f"{op.namespace}::{op.opname}_" + ("" if overload == "default" else f".{overload}")

    def schema() -> str:
        return f"{name}({_arguments_text(op, first=f'Tensor(a!) {op._schema.arguments[0].name}')}) -> Tensor(a!)"

    return InplaceDecl(schema, op, name)


def _declare_out(op: OpOverload) -> OutDecl:
    name = f"{op.namespace}::{op.opname}." + ("out" if op.overload in ("default", "Tensor") else f"{op.overload}_out")

    def schema() -> str:
        return f"{name}({_arguments_text(op, extra='Tensor(a!) out')}) -> Tensor(a!)"

    return OutDecl(schema, op, name)


class WritingDecl(Decl):
    """An op that computes another op's result into memory it is given."""

    functional: OpOverload

    def __init__(self, schema: str | Callable[[], str], functional: OpOverload, name: str = ""):
        super().__init__(schema, self.run, name=name)
        self.functional = functional
        self._run_by(self.run)

    @property
    def takes_numbers(self) -> bool:  # type: ignore[override]  # follows the functional form
        return bool(self.functional.decl.takes_numbers) if hasattr(self, "functional") else False

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The eager kernel."""
        raise NotImplementedError

    def _check(self, target: Tensor, sizes: tuple[int, ...], dtype: DType) -> None:
        name = self.op.opname
        if sizes != target._sizes:
            raise ShapeError(
                f"{name}: the result's shape {list(sizes)} does not fit the tensor written to", got=describe(target),
                hint="opweave never resizes a tensor; pass one of the right shape",
            )  # fmt: skip
        if not can_cast(dtype, target._dtype):
            raise DTypeError(
                f"{name}: result type {dtype.name} cannot be written to {target._dtype.name}", got=describe(target),
                hint="use the functional form, or convert the tensor first",
            )  # fmt: skip
        if overlaps_itself(target._sizes, target._strides):
            raise ShapeError(
                f"{name}: several elements of the tensor written to share memory",
                got=f"{describe(target)} with strides {target._strides}", hint="call .clone() before mutating",
            )  # fmt: skip

    def _write(self, target: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        decl = self.functional.decl
        if isinstance(decl, PointwiseDecl):
            operands, attributes = decl.operands(args, kwargs)
            spec = decl.spec(operands, attributes)
            self._check(target, spec.sizes, spec.dtype)
            decl.evaluate(operands, attributes, TensorSpec(spec.sizes, target._strides, spec.dtype, target._device), target)
            return target
        result = self.functional(*args, **kwargs)
        self._check(target, result._sizes, result._dtype)
        with np.errstate(all="ignore"):
            _store(handler(target._device.xp), target._array, result._array, target._dtype)
        return target

    def _result_spec(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TensorSpec:
        """Spec of the functional result, through its own rule."""
        found: list[TensorSpec] = []

        def note(spec: TensorSpec) -> Tensor:
            found.append(spec)
            return allocate(spec.sizes, spec.strides, spec.dtype, _META)

        self.functional.decl.meta(note, args, kwargs)
        return found[-1]


class InplaceDecl(WritingDecl):
    """`op_`: writes the result of `functional` into the first argument and returns it."""

    kind = "inplace"

    def __init__(self, schema: str | Callable[[], str], functional: OpOverload, name: str = ""):
        super().__init__(schema, functional, name)
        self.samples = self._samples

    def _samples(self, make: Callable[..., Tensor]) -> Iterable[Any]:
        """The functional op's, as far as their result fits the first argument."""
        samples = self.functional.decl.samples
        for args, kwargs in samples(make) if samples else ():
            if args and isinstance(args[0], Tensor):
                try:
                    self.meta(allocate_like, args, kwargs)
                except OpweaveError:
                    continue
                yield args, kwargs

    def run(self, *args: Any, **kwargs: Any) -> Tensor:
        decl = self.functional.decl
        if isinstance(decl, PointwiseDecl) and decl.quick(args, kwargs, inplace=True) is not None:
            return args[0]
        return self._write(args[0], args, kwargs)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        spec = self._result_spec(args, kwargs)
        self._check(args[0], spec.sizes, spec.dtype)
        return args[0]


class OutDecl(WritingDecl):
    """`op.out`: writes the result of `functional` into the keyword argument `out` and returns it."""

    kind = "out"

    def run(self, *args: Any, out: Tensor, **kwargs: Any) -> Tensor:
        return self._write(out, args, kwargs)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        kwargs = dict(kwargs)
        out = kwargs.pop("out")
        spec = self._result_spec(args, kwargs)
        self._check(out, spec.sizes, spec.dtype)
        return out


# ---- reduction -----------------------------------------------------------------------------------------------------

#: The combines, with what an empty axis gives (None: an error).
COMBINES: dict[str, Any] = {
    "sum": 0, "prod": 1, "max": None, "min": None, "any": False, "all": True, "argmax": None, "argmin": None,
}  # fmt: skip


def normalize_axes(dim: Any, ndim: int, op: str) -> tuple[int, ...]:
    """Axes as sorted non-negative numbers; None or an empty list means all.

    Raises
    ------
    OutOfRangeError, ShapeError
        For a dimension that is not there, or is named twice.
    """
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(ndim))
    axes = [wrap_dim(d, ndim, op) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{op}: a dimension appears twice", got=f"dim={list(dim)}")
    return () if not ndim else tuple(sorted(axes))


def reduced_sizes(sizes: Sequence[int], axes: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    """Sizes after reducing over the axes."""
    if keepdim:
        return tuple(1 if d in axes else size for d, size in enumerate(sizes))
    return tuple(size for d, size in enumerate(sizes) if d not in axes)


class ReductionDecl(Decl):
    """`finalize(combine over axes of map(x))`.

    The schema has `self`, `dim` (missing or None: all), `keepdim` (missing: False) and attributes.

    Attributes
    ----------
    combine : str
        A key of `COMBINES`.
    map, finalize : callable or None
        `map(k, x)` before, `finalize(k, accumulated, count)` after, on values of the compute type.
    """

    kind = "reduction"
    #: Whether an empty list of dimensions means all of them.
    empty_is_all = True

    def __init__(
        self, schema: str, body: Callable[..., Any], combine: str, types: Callable[..., tuple[DType, DType]],
        map: Callable[..., Any] | None, finalize: Callable[..., Any] | None,
    ):  # fmt: skip
        super().__init__(schema, body)
        self.combine = combine
        self.types = types
        self.map = map
        self.finalize = finalize
        self._run_by(self.eager)

    def params(
        self, args: Sequence[Any], kwargs: dict[str, Any], ndim: int
    ) -> tuple[Any, tuple[int, ...], bool, dict[str, Any]]:
        """(input, axes, keepdim, attributes) of a call; the input may be anything, it is not looked at."""
        names = [a.name for a in self.op._schema.arguments]
        bound = dict(zip(names, self.bind(args, kwargs), strict=True))
        source = bound.pop("self")
        dim = bound.pop("dim", None)
        nothing = isinstance(dim, (list, tuple)) and not dim and not self.empty_is_all
        axes = () if nothing else normalize_axes(dim, ndim, self.op.opname)
        return source, axes, bool(bound.pop("keepdim", False)), bound

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        source = args[0] if args else kwargs["self"]
        source, axes, keepdim, attributes = self.params(args, kwargs, source.ndim)
        self._check_nonempty(source, axes)
        result = self.types(source._dtype, **attributes)[1]
        return make(contiguous(reduced_sizes(source._sizes, axes, keepdim), result, source._device))

    def _check_nonempty(self, source: Tensor, axes: tuple[int, ...]) -> None:
        if COMBINES[self.combine] is None and any(source._sizes[d] == 0 for d in axes):
            raise ShapeError(
                f"{self.op.opname}: cannot reduce over an empty dimension, it has no identity", got=describe(source)
            )

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        """Evaluate on the input's array module."""
        source, axes, keepdim, attributes = self.params(args, kwargs, args[0].ndim)
        self._check_nonempty(source, axes)
        compute, result = self.types(source._dtype, **attributes)
        xp = source._device.xp
        k = handler(xp)
        array = source._array
        count = math.prod(source._sizes[d] for d in axes)
        with np.errstate(all="ignore"):
            if _differs(array, compute):
                array = k.cast(array, compute)
            if self.map is not None:
                array = self.map(k, array)
            reduced = _combine(xp, self.combine, array, axes)
            if self.finalize is not None:
                reduced = self.finalize(k, reduced, count)
            sizes = reduced_sizes(source._sizes, axes, keepdim)
            reduced = xp.asarray(reduced).reshape(sizes)
            if reduced.dtype != result.numpy:
                reduced = k.cast(reduced, result)
        return Tensor._from_array(xp.ascontiguousarray(reduced).reshape(sizes), source._device)


def _combine(xp: Any, combine: str, array: Any, axes: tuple[int, ...]) -> Any:
    if combine in ("argmax", "argmin"):
        lead = array.transpose([*(d for d in range(array.ndim) if d not in axes), *axes])
        lead = lead.reshape(*lead.shape[: array.ndim - len(axes)], -1)
        return getattr(xp, combine)(lead, axis=-1)
    if not axes:
        return array.copy()
    if combine in ("any", "all"):
        return getattr(xp, combine)(array, axis=axes)
    if combine == "sum":
        return _sum(xp, array, axes)
    reduce = {"prod": xp.prod, "max": xp.max, "min": xp.min}[combine]
    if combine == "prod":
        return reduce(array, axis=axes, dtype=array.dtype)
    return reduce(array, axis=axes)


def _sum(xp: Any, array: Any, axes: tuple[int, ...]) -> Any:
    """Sum in the array's type; long outer axes in two levels, since NumPy adds those one by one and error would grow."""
    if array.dtype.kind == "f":
        for axis in axes:
            size = array.shape[axis]
            if axis != array.ndim - 1 and size >= 256:
                whole = size // 64 * 64
                split = array[(slice(None),) * axis + (slice(0, whole),)]
                split = split.reshape(*array.shape[:axis], whole // 64, 64, *array.shape[axis + 1 :])
                partial = split.sum(axis=axis + 1)
                rest = array[(slice(None),) * axis + (slice(whole, None),)]
                array = xp.concatenate([partial, rest.sum(axis=axis, keepdims=True)], axis=axis)
    return xp.sum(array, axis=axes, dtype=array.dtype)


def reduction(
    schema: str, *, combine: str, types: Callable[..., tuple[DType, DType]], map: Callable[..., Any] | None = None,
    finalize: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], ReductionDecl]:  # fmt: skip
    """Declare a reduction; the decorated function carries its docstring.

    Parameters
    ----------
    combine : str
        A key of `COMBINES`.
    types : callable
        `types(dtype, **attributes) -> (compute type, result type)`.
    map, finalize : callable, optional
        See `ReductionDecl`.
    """

    def declare(body: Callable[..., Any]) -> ReductionDecl:
        return ReductionDecl(schema, body, combine, types, map, finalize)

    return declare


# ---- view ----------------------------------------------------------------------------------------------------------


class ViewDecl(Decl):
    """New sizes, strides and offset over the same memory.

    Attributes
    ----------
    rule : callable
        `rule(sizes, strides, offset, *args) -> (sizes, strides, offset)`, linear in the strides and offset, so that it
        also runs on symbols. `args` are the schema's arguments after the first, with defaults.
    reshape : bool
        Whether the op only regroups dimensions in row-major order (its rule looks at stride values).
    """

    kind = "view"

    def __init__(self, schema: str, rule: Callable[..., Any], reshape: bool):
        super().__init__(schema, rule)
        self.rule = rule
        self.reshape = reshape
        self._run_by(self.eager)

    def eager(self, self_: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Make the view."""
        sizes, strides, offset = self.rule(self_._sizes, self_._strides, self_._offset, *args, **kwargs)
        return as_view(self_, tuple(sizes), tuple(strides), offset)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        values = self.bind(args, kwargs)
        return self.eager(values[0], *values[1:])


def view(schema: str, *, reshape: bool = False) -> Callable[[Callable[..., Any]], ViewDecl]:
    """Declare a view op; the decorated function is its rule on sizes, strides and offset."""

    def declare(rule: Callable[..., Any]) -> ViewDecl:
        return ViewDecl(schema, rule, reshape)

    return declare


# ---- generator -----------------------------------------------------------------------------------------------------


class GeneratorDecl(Decl):
    """A new tensor whose elements are functions of their index.

    Attributes
    ----------
    body : callable
        `body(k, index, *args) -> value`: `index` has an int64 value for each dimension, `args` are the schema's.
    spec : callable
        `spec(*args) -> TensorSpec`.
    """

    kind = "generator"

    def __init__(self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec]):
        super().__init__(schema, body)
        self.spec = spec
        self._run_by(self.eager)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        return make(self.spec(*self.bind(args, kwargs)))

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        """Fill a new tensor."""
        values = self.bind(args, kwargs)
        result = allocate_like(self.spec(*values))
        if result.is_meta:
            return result
        xp = result._device.xp
        k = handler(xp)
        with np.errstate(all="ignore"):
            value = self.body(k, _Index(xp, result._sizes), *values)
            _store(k, result._array, xp.asarray(value), result._dtype)
        return result


class _Index(Sequence[Any]):
    """Index values of each dimension, made when a body asks for them."""

    def __init__(self, xp: Any, sizes: tuple[int, ...]):
        self.xp = xp
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, dim: Any) -> Any:
        shape = [1] * len(self.sizes)
        shape[dim] = self.sizes[dim]
        return self.xp.arange(self.sizes[dim], dtype=np.int64).reshape(shape)


def generator(schema: str, *, spec: Callable[..., TensorSpec]) -> Callable[[Callable[..., Any]], GeneratorDecl]:
    """Declare an op that fills a new tensor; the decorated body is `body(k, index, *args)`."""

    def declare(body: Callable[..., Any]) -> GeneratorDecl:
        return GeneratorDecl(schema, body, spec)

    return declare


# ---- composite -----------------------------------------------------------------------------------------------------


class CompositeDecl(Decl):
    """An op written with other ops; its body is its decomposition.

    Attributes
    ----------
    explicit : bool
        Whether modes see it as one node (to be decomposed by a pass); otherwise it is gone before any mode looks.
    """

    kind = "composite"

    def __init__(self, schema: str, body: Callable[..., Any], explicit: bool, kernel: Callable[..., Any] | None):
        super().__init__(schema, body)
        self.explicit = explicit
        key = DispatchKey.CompositeExplicitAutograd if explicit else DispatchKey.CompositeImplicitAutograd
        self._run_by(kernel or body, key)

    @property
    def implicit(self) -> bool:
        """Whether the op is decomposed before any mode sees it."""
        return not self.explicit

    @property
    def takes_numbers(self) -> bool:  # type: ignore[override]  # the ops of the body decide
        return True

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.body(*args, **kwargs)


def composite(
    schema: str, *, explicit: bool = False, kernel: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], CompositeDecl]:
    """Declare an op by its decomposition.

    Parameters
    ----------
    explicit : bool
        Keep it as one node in traces.
    kernel : callable, optional
        A faster eager kernel of an explicit op.
    """

    def declare(body: Callable[..., Any]) -> CompositeDecl:
        return CompositeDecl(schema, body, explicit, kernel)

    return declare


# ---- extern --------------------------------------------------------------------------------------------------------


class ExternDecl(Decl):
    """A call into a library: `body(*args) -> Tensor`, and `spec(*args) -> TensorSpec` (a tuple of them for several)."""

    kind = "extern"

    def __init__(self, schema: str, body: Callable[..., Any], spec: Callable[..., Any], tags: Sequence[str]):
        super().__init__(schema, body, tags)
        self.spec = spec
        self._run_by(body)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        spec = self.spec(*self.bind(args, kwargs))
        return make(spec) if isinstance(spec, TensorSpec) else tuple(make(s) for s in spec)


def extern(
    schema: str, *, spec: Callable[..., Any], tags: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], ExternDecl]:
    """Declare an op that calls a library; the decorated function is its kernel."""

    def declare(body: Callable[..., Any]) -> ExternDecl:
        return ExternDecl(schema, body, spec, tags)

    return declare


def promoted(*values: Any) -> DType:
    """Promoted type of several dtypes."""
    result: DType = values[0]
    for value in values[1:]:
        result = promote_types(result, value)
    return result


def require(condition: bool, error: type[ArgumentError], what: str, *values: Any, hint: str | None = None) -> None:
    """Raise a typed error that describes the values unless the condition holds."""
    if not condition:
        raise error(what, got=", ".join(map(describe, values)) or None, hint=hint)


