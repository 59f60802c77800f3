"""Pointwise ops: one scalar expression for every element."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.autograd.formula import NOT_DIFFERENTIABLE
from opweave.registry.batched import BatchedTensor, Level, make_batched
from opweave.registry.batching import bound, call, channels_last, is_at, ranked, refuse_write
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.memory_format import CHANNELS_LAST, MemoryFormat, format_strides, preserve_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds.base import COMPARE, INT_TO_FLOAT, Maker
from opweave.registry.ops.kinds.loops import Call, Operand, Point
from opweave.registry.ops.kinds.operand_values import narrower_type, rounded
from opweave.registry.ops.kinds.pointwise_eager import PointwiseEager
from opweave.registry.promote import (
    as_element,
    broadcast_shapes,
    common_device,
    copied_strides,
    not_computed,
    pointwise_strides,
    result_type,
)
from opweave.registry.spec import TensorSpec
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, describe
from opweave.registry.types import SCALAR

_NUMBERS = frozenset({bool, int, float, complex})


#: The types that the tests run pointwise ops with, if they say nothing else.
SAMPLE_DTYPES = (
    dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16, dtypes.int64, dtypes.int32, dtypes.int8,
    dtypes.uint8, dtypes.bool_, dtypes.complex64,
)  # fmt: skip


#: What element types are called, by the letter of their sort.
_SORTS = {"b": "bool", "u": "unsigned ints", "i": "ints", "f": "floats", "c": "complex numbers"}


def _kinds(letters: str) -> str:
    return ", ".join(_SORTS[letter] for letter in letters)


class PointwiseDecl(PointwiseEager):
    """One scalar expression for every element of the broadcast operands."""

    kind = "pointwise"
    tag = "pointwise"
    takes_numbers = True
    allocates = True
    checks_devices = True  # a 0-d tensor of the CPU may go with tensors of another device
    keeps_uniform = True
    cost = 1
    elementwise = True
    #: Whether it is defined for types that are not computed with (`DType.is_stored`).
    takes_stored = False

    def __init__(self, schema: str, body: Callable[..., Any], promote: Any, kinds: str = "buifc"):
        super().__init__(schema, body)
        self.promote = promote
        self.sample_dtypes = SAMPLE_DTYPES
        if promote == COMPARE:
            self.op.derivative = NOT_DIFFERENTIABLE
        #: Kinds of compute type that the op is defined for (see `DType.kind`).
        self.kinds = kinds
        #: Attributes that are numbers of the compute type, with their defaults.
        self.numbers: dict[str, Any] = {}
        #: What runs where all attributes are their defaults.
        self.plain_body = body
        if "Scalar" in schema:  # schemas are parsed when they are needed
            self.numbers = {a.name: a.default for a in self.arguments if a.type.required == SCALAR}
            self.body = self._with_numbers(body)
        self.forget()
        self._run_by(self.eager)

    def _with_numbers(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """The body, with the numbers among its attributes as elements of the compute type."""
        defaults, name = self.numbers, self.op.opname

        def converted(k: Any, *operands: Any, **attributes: Any) -> Any:
            for key, value in attributes.items():
                if value is not None and key in defaults and value is not defaults[key]:
                    like = next(x for x in operands if x is not None and type(x) not in _NUMBERS)
                    attributes[key] = as_element(name, value, k.dtype(like))
            return body(k, *operands, **attributes)

        functools.update_wrapper(converted, body)
        return converted

    def types(self, *operands: Any, **attributes: Any) -> tuple[DType, DType]:
        """(compute type, result type) for operands given as tensors, dtypes or numbers; None is skipped.

        Raises
        ------
        DTypeError
            If the op does not take the promoted type.
        """
        present = [operand for operand in operands if operand is not None]
        if not isinstance(self.promote, str):
            compute, result = self.promote(*present, **attributes)
        else:
            common = result_type(*present)
            if common.is_stored and not self.takes_stored:
                raise not_computed(common)
            if self.promote == INT_TO_FLOAT and common.kind in "biu":
                common = dtypes.get_default_dtype()
            compute, result = common.compute, dtypes.bool_ if self.promote == COMPARE else common
        if compute.kind not in self.kinds:
            raise DTypeError(
                f"{self.op.opname}: not defined for {compute.name}", got=", ".join(map(describe, present)),
                hint=f"it takes {_kinds(self.kinds)}; .to(dtype) converts",
            )  # fmt: skip
        for name, default in self.numbers.items():
            value = attributes.get(name)
            if value is not None and value is not default:
                as_element(self.op.opname, value, compute)
        return compute, result

    def spec(self, operands: Sequence[Any], attributes: dict[str, Any]) -> TensorSpec:
        """What the result looks like."""
        tensors = [t for t in operands if isinstance(t, Tensor)]
        if not tensors:
            raise ArgumentError(
                f"{self.op.opname}: needs a tensor", got=", ".join(map(describe, operands)),
                hint="convert a number with opweave.tensor(...)",
            )  # fmt: skip
        if len(tensors) == 1:
            sizes, device = tensors[0]._sizes, tensors[0]._device
        else:
            sizes = broadcast_shapes(self.op.opname, *[t._sizes for t in tensors])
            device = common_device(self.op.opname, tensors)
        result = self.types(*operands, **attributes)[1]
        if "memory_format" in attributes:
            return TensorSpec(sizes, self._copied_strides(tensors[0], attributes["memory_format"]), result, device)
        numbers = sum(operand is not None for operand in operands) > len(tensors)
        return TensorSpec(sizes, pointwise_strides(sizes, tensors, numbers), result, device)

    def _copied_strides(self, source: Tensor, memory_format: MemoryFormat | None) -> tuple[int, ...]:
        """Strides of a copy: those of a format, or of the tensor itself where it has no gaps."""
        if memory_format is not None and memory_format != preserve_format:
            return format_strides(self.op.opname, source._sizes, memory_format)
        return copied_strides(source)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        return make(self.spec(*self.operands(args, kwargs)))

    def evaluate(self, call: Call, point: Point) -> Any:
        k, sizes = point.k, call.result.sizes
        operands: list[Any] = []
        attributes: dict[str, Any] = {}
        for argument, is_operand, value in zip(self.arguments, self.is_operand, call.arguments(), strict=True):
            if is_operand:
                operands.append(value)
            else:
                attributes[argument.name] = value
        compute, result = self.types(*[o.value if isinstance(o, Operand) else o for o in operands], **attributes)
        common = narrower_type(self, [o.value if isinstance(o, Operand) else o for o in operands], compute)
        terms: list[Any] = []
        for place, operand in enumerate(operands):
            narrow = common if place in self.rounds_numbers else None
            if isinstance(operand, Operand):
                index = call.indices.broadcast(point.demand.index, operand.sizes, sizes)
                value = point.value(operand, point.demand.at(index))
                if narrow is not None and not operand.sizes:
                    value = k.cast(value, narrow)
                terms.append(k.cast(value, compute))
            elif operand is None:
                terms.append(None)
            else:
                number = point.number(operand if narrow is None else rounded(operand, narrow), compute)
                if narrow is not None and isinstance(operand, Symbolic):
                    number = k.cast(k.cast(number, narrow), compute)
                terms.append(number)
        return k.cast(self.body(k, *terms, **attributes), result)

    def batch(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Examples first, and as many dimensions in each operand."""
        return self.batch_by(self.op, level, args, kwargs)

    def batch_by(self, op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`batch` for the op itself, or the one that writes its result into the first operand."""
        values = bound(op, args, kwargs)
        names = [a.name for a, is_operand in zip(self.arguments, self.is_operand, strict=True) if is_operand]
        logical = {name: values[name] for name in names}
        tensors = [t for t in logical.values() if isinstance(t, Tensor)]
        rank = max(t.ndim for t in tensors)
        inplace = op is not self.op
        target = logical[names[0]]
        if inplace:
            refuse_write(op, target, level)
            if rank > target.ndim:
                raise ShapeError(
                    f"{op.opname}: the result does not fit the tensor written to", got=describe(tensors),
                    hint="pass one of the right shape; in place no tensor is resized",
                )  # fmt: skip
        values.update({name: ranked(t, level, rank) for name, t in logical.items()})
        if len({t._dtype for t in tensors}) > 1 and any(not t._sizes and is_at(t, level) for t in tensors):
            self._keep_types(op, logical, values)
        if values.get("memory_format") in CHANNELS_LAST:
            return channels_last(op, level, values, names[0], target)
        result = call(op, values)
        return target if inplace else make_batched(result, 0, level)

    def _keep_types(self, op: OpOverload, logical: dict[str, Any], values: dict[str, Any]) -> None:
        """A 0-d example promotes less than the batch of them, which has a dimension: cast to what it would become."""
        attributes = {name: value for name, value in values.items() if name not in logical}
        wanted = self.types(*logical.values(), **attributes)
        if self.types(*[values[name] for name in logical], **attributes) == wanted:
            return
        present = [
            v for v in logical.values() if v is not None and not (isinstance(v, Tensor) and v._dtype.kind == "b")
        ]
        common = result_type(*present) if present else wanted[0]
        for name, t in logical.items():
            if isinstance(t, BatchedTensor) and not t._sizes and t._dtype.kind != "b":
                values[name] = ops.aten._to_copy.default(values[name], dtype=common)
        if self.types(*[values[name] for name in logical], **attributes) != wanted:
            raise DTypeError(
                f"vmap: {op} on 0-d examples of other types than the other operands",
                got=describe(list(logical.values())), hint="convert them to one dtype first",
            )  # fmt: skip
