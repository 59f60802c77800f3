"""Runs op bodies to record scalar values: the handler of the scalar vocabulary that codegen uses.

A body such as `x / (1 + k.exp(-x))` is called with a `Recorder` and `Term`s; what comes out is a graph of `Value`s in
which everything is typed, and what the vocabulary can express by simpler functions has been (`sigmoid`, `isnan`,
`remainder`, ...). What remains for a printer is the list `PRIMITIVES`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opweave.codegen.element_maps import evaluate
from opweave.codegen.values import Buffer, Value, Values
from opweave.fake.symbolic import SymNumber
from opweave.registry import dtypes
from opweave.registry.dtypes import DType, promote_types
from opweave.registry.errors import UnsupportedError
from opweave.registry.ops.kinds.gather import Place, Places
from opweave.registry.ops.kinds.scan import wide_type
from opweave.registry.scalar import DIVISION_BY_ZERO, UNARY_FLOAT, Scalars
from opweave.registry.triton.expression import Expression, NotAMap
from opweave.tracer.graph import Node
from opweave.tracer.index import ZERO, Index, linearize, row_major
from opweave.tracer.iteration import (
    Demand,
    Guard,
    IterationSpace,
    broadcast_index,
    index_at,
    moved_index,
    piece_demand,
    pieces_of,
    places_of,
    runs_backwards,
    scatter_of,
    sizes_of,
    view_index,
)
from opweave.tracer.maps import MapDecl
from opweave.tracer.size import INT32_OFFSETS, Poly, hint, product, scalar_of

#: Functions a printer must know, besides load, index, const, reduce, and those of `element_maps`.
PRIMITIVES = (
    "add", "sub", "mul", "truediv", "neg", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "xor", "invert", "lshift",
    "rshift", "abs", "maximum", "minimum", "where", "cast", "tdiv", "tmod", "signbit", "fmod", "pow", "atan2",
    *(name for name in UNARY_FLOAT if name != "sigmoid"),
)  # fmt: skip

_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_IDENTITY_ON_INTEGERS = frozenset(("floor", "ceil", "trunc", "round"))


class Term:
    """A value with the operators that bodies use."""

    __slots__ = ("k", "number", "value")
    __hash__ = None  # type: ignore[assignment]  # `==` makes a value

    def __init__(self, k: Recorder, value: Value, number: float | None = None):
        self.k = k
        self.value = value
        self.number = number

    def __add__(self, other: Any) -> Term:
        return self.k.binary("add", self, other)

    def __radd__(self, other: Any) -> Term:
        return self.k.binary("add", other, self)

    def __sub__(self, other: Any) -> Term:
        return self.k.binary("sub", self, other)

    def __rsub__(self, other: Any) -> Term:
        return self.k.binary("sub", other, self)

    def __mul__(self, other: Any) -> Term:
        return self.k.binary("mul", self, other)

    def __rmul__(self, other: Any) -> Term:
        return self.k.binary("mul", other, self)

    def __truediv__(self, other: Any) -> Term:
        return self.k.binary("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Term:
        return self.k.binary("truediv", other, self)

    def __pow__(self, other: Any) -> Term:
        return self.k.pow(self, other)

    def __neg__(self) -> Term:
        return self.k.neg(self)

    def __and__(self, other: Any) -> Term:
        return self.k.binary("and_", self, other)

    def __rand__(self, other: Any) -> Term:
        return self.k.binary("and_", other, self)

    def __or__(self, other: Any) -> Term:
        return self.k.binary("or_", self, other)

    def __ror__(self, other: Any) -> Term:
        return self.k.binary("or_", other, self)

    def __xor__(self, other: Any) -> Term:
        return self.k.binary("xor", self, other)

    def __rxor__(self, other: Any) -> Term:
        return self.k.binary("xor", other, self)

    def __invert__(self) -> Term:
        return self.k.op("invert", self)

    def __lshift__(self, other: Any) -> Term:
        return self.k.shift("lshift", self, other)

    def __rlshift__(self, other: Any) -> Term:
        return self.k.shift("lshift", other, self)

    def __rshift__(self, other: Any) -> Term:
        return self.k.shift("rshift", self, other)

    def __rrshift__(self, other: Any) -> Term:
        return self.k.shift("rshift", other, self)

    def __eq__(self, other: Any) -> Term:  # type: ignore[override]  # a value, not a truth
        return self.k.binary("eq", self, other)

    def __ne__(self, other: Any) -> Term:  # type: ignore[override]
        return self.k.binary("ne", self, other)

    def __lt__(self, other: Any) -> Term:
        return self.k.binary("lt", self, other)

    def __le__(self, other: Any) -> Term:
        return self.k.binary("le", self, other)

    def __gt__(self, other: Any) -> Term:
        return self.k.binary("gt", self, other)

    def __ge__(self, other: Any) -> Term:
        return self.k.binary("ge", self, other)

    def __bool__(self) -> bool:
        raise UnsupportedError("an op's body branched on a value", hint="write it with k.where")


class Recorder(Scalars):
    """Builds values; see the module."""

    def __init__(self, values: Values):
        self.values = values
        #: Where what is computed means something; None stands for everywhere.
        self.inside: Value | None = None
        #: Whether kernels report what eager code raises.
        self.checks = True

    # ---- typing ----------------------------------------------------------------------------------------------------

    def term(self, x: Any, like: DType | None = None) -> Term:
        """A term as it is, a Python number as a constant of type `like` (its own type if None)."""
        if isinstance(x, Term):
            return x
        if isinstance(x, (Poly, SymNumber)):
            return self._size(x, like)
        if like is None or (like.kind in "biu" and isinstance(x, float)) or (like.kind == "b" and type(x) is int):
            like = dtypes.bool_ if isinstance(x, bool) else dtypes.int64 if isinstance(x, int) else dtypes.float64
        return Term(self, self.values.const(x, like))

    def _size(self, x: Poly | SymNumber, like: DType | None) -> Term:
        """A number that is known when the kernel is launched."""
        floating = isinstance(x, SymNumber) and x.kind == "float"
        poly = x if isinstance(x, Poly) else scalar_of(x)
        found = Term(self, self.values.size(poly, dtypes.float64 if floating else dtypes.int64))
        if like is None or like.kind == "b" or (like.kind in "iu" and floating):
            return found
        return self.cast(found, like)

    def pair(self, a: Any, b: Any) -> tuple[Term, Term]:
        """Two operands in one type."""
        ta = a if isinstance(a, Term) else self.term(a, self.dtype(b) if isinstance(b, Term) else None)
        tb = b if isinstance(b, Term) else self.term(b, self.dtype(ta))
        if ta.value.dtype is not tb.value.dtype:
            common = promote_types(ta.value.dtype, tb.value.dtype)
            ta, tb = self.cast(ta, common), self.cast(tb, common)
        return ta, tb

    def op(self, name: str, *args: Term, dtype: DType | None = None, detail: object = None) -> Term:
        """A primitive; its type is that of its first operand unless given."""
        return Term(self, self.values.make(name, tuple(a.value for a in args), dtype or args[0].value.dtype, detail))

    def binary(self, name: str, a: Any, b: Any) -> Term:
        """An operator on two operands."""
        ta, tb = self.pair(a, b)
        if ta.value.dtype.kind == "b":
            # Arithmetic on truth values is logical.
            name = {"add": "or_", "mul": "and_", "sub": "xor"}.get(name, name)
        if name == "truediv" and ta.value.dtype.kind in "biu":
            ta, tb = self.cast(ta, dtypes.float64), self.cast(tb, dtypes.float64)
        if name in _COMPARISONS:
            if ta.value.op == "const" and tb.value.op != "const":
                ta, tb, name = tb, ta, _SWAPPED[name]
            if name == "ne" and tb.value.op == "const" and not tb.value.detail and ta.value.op == "cast":
                # `cast(truth) != 0` is the truth itself.
                inner = ta.value.args[0]
                if inner.dtype.kind == "b":
                    return Term(self, inner)
            return self.op(name, ta, tb, dtype=dtypes.bool_)
        return self.op(name, ta, tb)

    def dtype(self, x: Any) -> DType:
        return x.value.dtype if isinstance(x, Term) else self.term(x).value.dtype

    def number(self, x: Any) -> float | None:
        return x.number if isinstance(x, Term) else super().number(x)

    def operand(self, value: Any, dtype: DType) -> Term:
        """A Python number in a tensor's place, which remembers what it is."""
        if type(value) is float and dtype.kind in "iu":
            return self.cast(self.const(value, dtypes.float64), dtype)  # it may be no whole number
        found = self.const(value, dtype)
        found.number = float(value) if type(value) in (int, float) and dtype.kind == "f" else None
        return found

    def const(self, value: Any, dtype: DType) -> Term:
        if isinstance(value, (Poly, SymNumber)):
            return self.cast(self._size(value, dtype), dtype)
        return Term(self, self.values.const(value, dtype))

    def cast(self, x: Any, dtype: DType) -> Term:
        t = self.term(x, dtype)
        have = t.value.dtype
        if have is dtype:
            return t
        if t.value.op == "const" and (dtype.kind == "f" or have.kind in "biu"):
            detail: Any = t.value.detail
            if have.kind == "f" and have.itemsize < 8:
                with np.errstate(all="ignore"):
                    detail = float(np.asarray(detail).astype(have.numpy))  # the number that the type holds
            return Term(self, self.values.const(detail, dtype))
        if dtype.kind == "b":
            return self.binary("ne", t, 0)
        if have.kind == "f" and dtype.kind in "iu":
            # NaN and what is too large become the least integer, as in eager; Triton's conversion saturates.
            t = self.cast(t, have.compute)
            beyond = 2.0 ** (63 if dtype.itemsize == 8 else 31)
            t = self.where(t < beyond, t, -beyond)
        return self.op("cast", t, dtype=dtype)

    def where(self, condition: Any, a: Any, b: Any) -> Term:
        c = self.cast(self.term(condition), dtypes.bool_)
        ta, tb = self.pair(a, b)
        return self.op("where", c, ta, tb, dtype=ta.value.dtype)

    # ---- functions of one value ------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name not in UNARY_FLOAT:
            return super().__getattr__(name)

        def apply(x: Any) -> Term:
            t = self.term(x, dtypes.float32)
            if t.value.dtype.kind in "biu":
                if name in _IDENTITY_ON_INTEGERS:
                    return t
                t = self.cast(t, dtypes.get_default_dtype())
            return self.op(name, t)

        setattr(self, name, apply)
        return apply

    def sigmoid(self, x: Any) -> Term:
        return 1.0 / (1.0 + self.exp(-self.term(x)))

    def neg(self, x: Any) -> Term:
        t = self.term(x)
        # Triton's unary minus is `0 - x`, which loses the sign of a zero.
        return self.binary("mul", t, -1.0) if t.value.dtype.kind == "f" else self.op("neg", t)

    def abs(self, x: Any) -> Term:
        t = self.term(x)
        return t if t.value.dtype.kind in "bu" else self.op("abs", t)

    def reciprocal(self, x: Any) -> Term:
        return 1.0 / self.term(x)

    def sign(self, x: Any) -> Term:
        t = self.term(x)
        kind = t.value.dtype.kind
        if kind == "b":
            return t
        zero = self.where(t == t, self.const(0, t.value.dtype), t) if kind == "f" else self.const(0, t.value.dtype)
        negative = self.where(t < 0, self.const(-1, t.value.dtype), zero) if kind != "u" else zero
        return self.where(t > 0, self.const(1, t.value.dtype), negative)

    def _floating(self, x: Any, otherwise: bool) -> tuple[Term, Term | None]:
        t = self.term(x)
        return t, None if t.value.dtype.kind == "f" else self.const(otherwise, dtypes.bool_)

    def isnan(self, x: Any) -> Term:
        t, known = self._floating(x, False)
        return known if known is not None else t != t

    def isinf(self, x: Any) -> Term:
        t, known = self._floating(x, False)
        return known if known is not None else self.abs(t) == math.inf

    def isfinite(self, x: Any) -> Term:
        t, known = self._floating(x, True)
        return known if known is not None else self.abs(t) < math.inf

    def signbit(self, x: Any) -> Term:
        t = self.term(x)
        if t.value.dtype.kind == "f":
            return self.op("signbit", t, dtype=dtypes.bool_)
        return t < 0 if t.value.dtype.kind == "i" else self.const(False, dtypes.bool_)

    def logical_not(self, x: Any) -> Term:
        t = self.term(x)
        return self.op("invert", t) if t.value.dtype.kind == "b" else t == 0

    # ---- functions of two values -----------------------------------------------------------------------------------

    def maximum(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        return ta | tb if ta.value.dtype.kind == "b" else self.op("maximum", ta, tb)

    def minimum(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        return ta & tb if ta.value.dtype.kind == "b" else self.op("minimum", ta, tb)

    def require(self, x: Term, holds: Term, message: str) -> Term:
        """`x`, and a report where it means something but `holds` is false."""
        if not self.checks:
            return x
        if self.inside is not None:
            holds = holds | self.op("invert", Term(self, self.inside))
        return Term(self, self.values.require(x.value, holds.value, message))

    def _divisor(self, b: Term) -> Term:
        """A divisor that is not zero; that it was is reported."""
        one = self.const(1, b.value.dtype)
        if b.value.op == "const":
            return b if b.value.detail else self.require(one, self.const(False, dtypes.bool_), DIVISION_BY_ZERO)
        nonzero = b != 0
        return self.require(self.where(nonzero, b, one), nonzero, DIVISION_BY_ZERO)

    def trunc_divide(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        own = ta.value.dtype
        if own.kind == "f":
            quotient = self.cast(ta, own.compute) / self.cast(tb, own.compute)
            return self.cast(self.trunc(self.cast(self.cast(quotient, own), own.compute)), own)
        return self._by_zero(tb, self.op("tdiv", ta, self._divisor(tb)))

    def _by_zero(self, b: Term, result: Term) -> Term:
        """What an integer division gives, or 0 where it was by zero."""
        return result if b.value.op == "const" and b.value.detail else self.where(b == 0, 0, result)

    def fmod(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        if ta.value.dtype.kind == "f":
            return self.op("fmod", ta, tb)
        return self._by_zero(tb, self.op("tmod", ta, self._divisor(tb)))

    def remainder(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        rest = self.fmod(ta, tb)
        if ta.value.dtype.kind in "bu":
            return rest
        return self.where((rest != 0) & ((rest < 0) != (tb < 0)), rest + tb, rest)

    def floor_divide(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        if ta.value.dtype.kind == "f":
            return self._float_floor_divide(ta, tb)
        quotient = self.trunc_divide(ta, tb)
        if ta.value.dtype.kind == "u":
            return quotient
        rest = ta - quotient * tb
        down = (rest != 0) & ((rest < 0) != (tb < 0))
        if not (tb.value.op == "const" and tb.value.detail):
            down = down & (tb != 0)
        return self.where(down, quotient - 1, quotient)

    def _float_floor_divide(self, a: Term, b: Term) -> Term:
        # Through the exact remainder: floor(a / b) is off by one where the quotient rounds up to an integer.
        rest = self.op("fmod", a, b)
        quotient = (a - rest) / b
        quotient = self.where((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient)
        floored = self.floor(quotient)
        floored = self.where(quotient - floored > 0.5, floored + 1, floored)
        floored = self.where(quotient == 0, (a / b) * 0.0, floored)  # a zero has the sign of a / b
        return self.where(b == 0, a / b, floored)

    def atan2(self, a: Any, b: Any) -> Term:
        return self.op("atan2", *self.pair(a, b))

    def shift(self, name: str, a: Any, b: Any) -> Term:
        """A shift; by the width or more it gives what an endless shift would."""
        ta, tb = self.pair(a, b)
        width = ta.value.dtype.itemsize * 8
        if tb.value.op == "const" and isinstance(tb.value.detail, int) and 0 <= tb.value.detail < width:
            return self.op(name, ta, tb)
        inside = (tb >= 0) & (tb < width)
        shifted = self.op(name, ta, self.where(inside, tb, 0))
        keeps_sign = name == "rshift" and ta.value.dtype.kind == "i"
        beyond: Any = self.where(ta < 0, self.const(-1, ta.value.dtype), 0) if keeps_sign else 0
        return self.where(inside, shifted, beyond)

    def pow(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        exponent = tb.value.detail if tb.value.op == "const" else None
        if ta.value.dtype.kind == "f":
            if exponent in (0.0, 1.0, 2.0, 3.0, -1.0, 0.5):
                return self._simple_power(ta, float(exponent))  # type: ignore[arg-type]
            return self.op("pow", ta, tb)
        if isinstance(exponent, int) and exponent >= 0:
            return self._power_by_squaring(ta, exponent)
        return self._integer_power(ta, tb)

    def _simple_power(self, a: Term, exponent: float) -> Term:
        if exponent == 0.5:
            return self.where(a == -math.inf, math.inf, self.sqrt(a + 0.0))
        if exponent == -1.0:
            return 1.0 / a
        return {0.0: lambda: self.where(a == a, 1.0, self.const(1, a.value.dtype)), 1.0: lambda: a,
                2.0: lambda: a * a, 3.0: lambda: a * a * a}[exponent]()  # fmt: skip

    def _power_by_squaring(self, a: Term, exponent: int) -> Term:
        result: Term | None = None
        while exponent:
            if exponent & 1:
                result = a if result is None else result * a
            a = a * a
            exponent >>= 1
        return self.const(1, a.value.dtype) if result is None else result

    def _integer_power(self, a: Term, b: Term) -> Term:
        dtype = a.value.dtype
        one = self.const(1, dtype)
        result, base = one, a
        for bit in range(dtype.itemsize * 8 - (dtype.kind == "i")):
            result = self.where((b & (1 << bit)) != 0, result * base, result)
            base = base * base
        if dtype.kind == "i":
            odd = self.where((b & 1) != 0, self.const(-1, dtype), one)
            inverse = self.where(a == 1, one, self.where(a == -1, odd, self.const(0, dtype)))
            result = self.where(b < 0, inverse, result)
        return result


# ---- nodes ---------------------------------------------------------------------------------------------------------


@dataclass
class Lowering:
    """Evaluates the nodes of a region at indices.

    Attributes
    ----------
    space : IterationSpace
        Where each node is needed.
    values : Values
        Makes the results.
    buffers : dict of Node to Buffer
        What the region's placeholders stand for.
    wide : bool
        Whether sizes that are not fixed may not fit in 32 bits.
    """

    space: IterationSpace
    values: Values
    buffers: dict[Node, Buffer]
    wide: bool = False
    memo: dict[tuple[Node, tuple[Index, ...], tuple[Guard, ...]], Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.k = Recorder(self.values)
        self.guards: tuple[Guard, ...] = ()

    def evaluate(self, node: Node, index: tuple[Index, ...], guards: tuple[Guard, ...] = ()) -> Value:
        """The value of a node at an index; its operands have been evaluated where it needs them.

        Where a guard does not hold it means nothing, and nothing is read for it.
        """
        key = (node, index, guards)
        found = self.memo.get(key)
        if found is None:
            outer, self.guards = self.guards, guards
            if node.op == "placeholder":
                buffer = self.buffers[node]
                found = self.values.load(buffer, linearize(index, buffer.strides), self._inside(guards))
            else:
                self._turn_to(node)
                found = getattr(self, f"_{node.target.decl.kind}")(node, index).value  # type: ignore[union-attr]
            self.guards = outer
            self.memo[key] = found
        return found

    def _inside(self, guards: Sequence[Guard]) -> Value | None:
        """Whether all guards hold; None if they always do."""
        found: Term | None = None
        for guard in guards:
            for term in self._bounds(guard):
                found = term if found is None else found & term
        return None if found is None else found.value

    def _bounds(self, guard: Guard) -> list[Term]:
        low, high = guard.position.bounds()
        narrow = dtypes.int64 if self.wide or hint(high) >= INT32_OFFSETS else dtypes.int32
        position = Term(self.k, self.values.index(guard.position, narrow))
        found = [] if low == guard.start else [position >= guard.start]
        return found if high + 1 == guard.stop else [*found, position < guard.stop]

    def _operand(self, node: Node, user: Node, index: tuple[Index, ...]) -> Term:
        value = self.evaluate(node, index, self.guards)
        self._turn_to(user)
        return Term(self.k, value)

    def _turn_to(self, node: Node) -> None:
        """What is recorded from here on belongs to a node."""
        self.values.label, self.values.site = label_of(node), node.meta.get("site")
        self.k.inside = self._inside(self.guards) if self.guards else None

    def _pointwise(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl = node.target.decl  # type: ignore[union-attr]
        self.k.checks = node.meta["val"]._device.type == "cpu"  # as in eager code: on a GPU one would have to wait
        operands, attributes = decl.operands(node.args, node.kwargs)
        fakes = [o.meta["val"] if isinstance(o, Node) else o for o in operands]
        compute, result = decl.types(*fakes, **attributes)
        terms: list[Any] = []
        for operand in operands:
            if isinstance(operand, Node):
                at = broadcast_index(index, sizes_of(operand), sizes_of(node))
                terms.append(self.k.cast(self._operand(operand, node, at), compute))
            else:
                terms.append(None if operand is None else self.k.operand(operand, compute))
        return self.k.cast(decl.body(self.k, *terms, **attributes), result)

    def _map(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl: MapDecl = node.target.decl  # type: ignore[union-attr]
        loaded = {}
        for name, operand in zip(decl.expression.loads, node.args, strict=True):
            at = broadcast_index(index, sizes_of(operand), sizes_of(node))
            loaded[name] = self._operand(operand, node, at)
        return self.k.cast(evaluate(self.k, decl.expression, loaded, decl.numbers), node.meta["val"]._dtype)

    def _view(self, node: Node, index: tuple[Index, ...]) -> Term:
        return self._operand(node.all_input_nodes[0], node, view_index(node, index))

    def _reduction(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl = node.target.decl  # type: ignore[union-attr]
        source = node.all_input_nodes[0]
        sizes = sizes_of(source)
        _, dims, _, attributes = decl.params(node.args, node.kwargs, len(sizes))
        compute, result = decl.types(source.meta["val"]._dtype, **attributes)
        full = self.space.inputs_of_reductions[node]
        t = self.k.cast(self._operand(source, node, full), compute)
        if decl.map is not None:
            t = self.k.term(decl.map(self.k, t), compute)
        count = product(sizes[d] for d in dims)
        combine = decl.combine
        if combine in ("any", "all") or (combine in ("max", "min") and t.value.dtype.kind == "b"):
            # Truth values are reduced as numbers: a maximum or minimum of 0 and 1.
            t = self.k.cast(self.k.cast(t, dtypes.bool_), dtypes.int32)
            combine = {"any": "max", "all": "min"}.get(combine, combine)
        if combine in ("argmax", "argmin"):
            strides = row_major([sizes[d] for d in dims])
            narrow = dtypes.int32 if hint(count) < 1 << 31 and not self.wide else dtypes.int64
            position = self.values.index(linearize([full[d] for d in dims], strides), narrow)
            if t.value.dtype.itemsize < 4 or t.value.dtype.kind == "b":
                t = self.k.cast(t, dtypes.int32)
            args = (t.value, position)
            t = Term(self.k, self.values.reduce(combine, args, narrow, self.space.reduced) if count != 1 else position)
        elif count != 1:
            t = Term(self.k, self.values.reduce(combine, (t.value,), t.value.dtype, self.space.reduced))
            if decl.combine == "any" and not isinstance(count, int):
                t = t > 0  # over no elements it is the least int
        done = decl.finalize(self.k, t, count) if decl.finalize is not None else t
        return self.k.cast(done, result)

    def _scan(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl = node.target.decl  # type: ignore[union-attr]
        source, dim = decl.params(node.args, node.kwargs, len(index))
        result = node.meta["val"]._dtype
        wide = wide_type(result)
        t = self.k.cast(self._operand(source, node, index), wide)
        (axis,) = self.space.reduced
        combine = f"{decl.combine} backwards" if runs_backwards(axis, index[dim]) else decl.combine
        return self.k.cast(Term(self.k, self.values.scan(combine, t.value, wide, [axis])), result)

    def _move(self, node: Node, index: tuple[Index, ...]) -> Term:
        return self._operand(node.all_input_nodes[0], node, moved_index(node, index))

    def _gather(self, node: Node, index: tuple[Index, ...]) -> Term:
        places = places_of(node)
        assert places is not None
        buffer = self.buffers[places.source]
        return Term(self.k, self.values.gather(buffer, *self._place(node, places, index, buffer)))

    def scatter(
        self, node: Node, index: tuple[Index, ...], buffer: Buffer
    ) -> tuple[Value, tuple[Index, Value, Value, str]]:
        """What a scatter writes of its values' element at an index, and where in the buffer of its result."""
        scatter = scatter_of(node)
        assert scatter is not None
        sizes = sizes_of(scatter.values)
        lead = len(index) - len(sizes)
        at = tuple([ZERO if size == 1 else part for size, part in zip(sizes, index[lead:], strict=True)])
        value = self.k.cast(self._operand(scatter.values, node, at), buffer.dtype).value
        return value, self._place(node, scatter.places, index, buffer)

    def _place(
        self, node: Node, places: Places, index: tuple[Index, ...], buffer: Buffer
    ) -> tuple[Index, Value, Value, str]:
        """An element's place in a buffer: a fixed part, what to add, whether it is inside, what to say if not."""
        steps = zip(buffer.sizes, buffer.strides, strict=True)
        wide = self.wide or sum((hint(size) - 1) * hint(stride) for size, stride in steps) >= INT32_OFFSETS
        offsets = dtypes.int64 if wide else dtypes.int32
        fixed, strides, numbers = [], [], []
        more, inside = self.k.const(0, offsets), self.k.const(True, dtypes.bool_)
        for d, (size, stride, part) in enumerate(zip(buffer.sizes, buffer.strides, places.at, strict=True)):
            if not isinstance(part, Place):
                fixed.append(index[part])
                strides.append(stride)
                continue
            t = self._operand(part.index, node, index_at(part, index))
            if t.value.dtype.itemsize < offsets.itemsize:
                t = self.k.cast(t, offsets)
            if places.wraps:
                t = self.k.where(t < 0, t + size, t)
            here = (t >= 0) & (t < size)
            inside = here if inside.value.op == "const" else inside & here
            place = self.k.cast(self.k.where(here, t, 0), offsets) * stride
            more = place if more.value.op == "const" else more + place
            numbers.append(f"dimension {d}" + (f" with size {size}" if isinstance(size, int) else ""))
        message = f"an index is out of range for {', '.join(numbers)}"
        return linearize(fixed, strides), more.value, inside.value, message

    def _pieces(self, node: Node, index: tuple[Index, ...]) -> Term:
        dtype, here = node.meta["val"]._dtype, Demand(index, False, self.guards)
        found: list[tuple[Term, Value | None, Guard]] = []
        for part, dim, start, stop in pieces_of(node):
            demand = piece_demand(here, dim, start, stop)
            value = self.evaluate(part, demand.index, demand.guards)
            inside = self._inside(demand.guards)
            self._turn_to(node)
            found.append((self.k.cast(Term(self.k, value), dtype), inside, demand.guards[-1]))
        filled = [(t, inside) for t, inside, _ in found if not (t.value.op == "const" and _is_zero(t.value.detail))]
        if not filled:
            return found[0][0]
        if len(filled) == 1 and filled[0][0].value.op == "load" and filled[0][0].value.args == (filled[0][1],):
            return filled[0][0]  # a load is 0 outside its piece
        result = found[-1][0]
        for t, _, guard in reversed(found[:-1]):
            before = self._bounds(Guard(guard.position, guard.position.bounds()[0], guard.stop))
            result = self.k.where(before[0], t, result) if before else t
        return result

    def _generator(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl = node.target.decl  # type: ignore[union-attr]
        values = [v.meta["val"] if isinstance(v, Node) else v for v in decl.bind(node.args, node.kwargs)]
        positions = tuple(Term(self.k, self.values.index(part)) for part in index)
        return self.k.cast(decl.body(self.k, positions, *values), node.meta["val"]._dtype)


def _is_zero(constant: object) -> bool:
    """Whether a constant is what a load gives where it does not happen."""
    return repr(constant) in ("0", "0.0", "False")


def label_of(node: Node) -> str:
    """The op a node comes from, as the user wrote it where that is known (passes note a decomposed op as origin)."""
    return str(node.meta.get("origin") or node.target.opname)  # type: ignore[union-attr]


def map_objection(expression: Expression, loaded: Mapping[str, DType], numbers: Mapping[str, Any]) -> str:
    """Why what a user's kernel computes cannot be computed in a generated one; empty where it can.

    Parameters
    ----------
    expression : Expression
        What it stores.
    loaded : mapping of str to DType
        Types of what it loads, by pointer.
    numbers : mapping of str to number
        Arguments that it takes as numbers.
    """
    k = Recorder(Values())
    terms = {name: Term(k, k.values.make("argument", (), dtype, name)) for name, dtype in loaded.items()}
    try:
        evaluate(k, expression, terms, numbers)
    except NotAMap as error:
        return str(error)
    return ""
