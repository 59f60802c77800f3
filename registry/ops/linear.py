"""Products of tensors of any number of dimensions: `matmul`, `linear`, `outer`, as the products of `matmul.py`."""

from __future__ import annotations

import math

from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.matmul import TYPES, described
from opweave.registry.ops.reshape import viewed_strides
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import broadcast_shapes
from opweave.registry.spec import is_contiguous
from opweave.registry.tensor import Tensor, describe


@composite("aten::matmul(Tensor self, Tensor other) -> Tensor", autocast="lower_precision_fp", outs="out")
def matmul(self: Tensor, other: Tensor) -> Tensor:
    """Matrix product: 1-d operands are row and column vectors, leading dimensions are batches that broadcast."""
    a, b = self.ndim, other.ndim
    if not a or not b:
        raise ShapeError("matmul: both operands need at least one dimension", got=described((self, other)))
    aten = ops.aten
    if a <= 2 and b <= 2:
        if a == 1 and b == 1:
            return aten.dot.default(self, other)
        if b == 1:
            return aten.mv.default(self, other)
        if a == 1:
            return aten.squeeze.dim(aten.mm.default(aten.unsqueeze.default(self, 0), other), 0)
        return aten.mm.default(self, other)
    if b <= 2 and (b == 1 or is_foldable(self)):
        return _folded(self, other)
    left = aten.unsqueeze.default(self, 0) if a == 1 else self
    return _batched(left, other, drop_row=a == 1)


def is_foldable(self: Tensor) -> bool:
    """Whether the leading dimensions can be joined to one without a copy."""
    rows = math.prod(self._sizes[:-1])
    return viewed_strides(self._sizes, self._strides, (rows, self._sizes[-1])) is not None


def _folded(self: Tensor, other: Tensor) -> Tensor:
    """A batch times one matrix or vector: the batch joins the rows, so that it is one product."""
    aten = ops.aten
    inner = other._sizes[0]
    if self._sizes[-1] != inner:
        raise ShapeError(
            f"matmul: cannot multiply {list(self._sizes)} by {list(other._sizes)}",
            got=described((self, other)),
            hint=f"the last size of the first is that of the second's rows, {inner}; nn.Flatten() and .mT change sizes",
        )
    flat = aten.reshape.default(self, [math.prod(self._sizes[:-1]), inner])
    product = aten.mm.default(flat, other) if other.ndim == 2 else aten.mv.default(flat, other)
    return aten._unsafe_view.default(product, [*self._sizes[:-1], *other._sizes[1:]])


def _batched(self: Tensor, other: Tensor, drop_row: bool = False) -> Tensor:
    aten = ops.aten
    rows, inner = self._sizes[-2:]
    columns = other._sizes[-1]
    batch = broadcast_shapes("matmul", self._sizes[:-2], other._sizes[:-2])
    if inner != other._sizes[-2]:
        raise ShapeError(
            f"matmul: cannot multiply {list(self._sizes)} by {list(other._sizes)}", got=described((self, other))
        )
    count = math.prod(batch)
    left = aten.reshape.default(aten.expand.default(self, [*batch, rows, inner]), [count, rows, inner])
    right = aten.reshape.default(aten.expand.default(other, [*batch, inner, columns]), [count, inner, columns])
    product = aten.bmm.default(left, right)
    return aten._unsafe_view.default(product, [*batch, *(() if drop_row else (rows,)), columns])


@composite(
    "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", autocast="lower_precision_fp", outs="out"
)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`."""
    aten = ops.aten
    if weight.ndim not in (1, 2):
        raise ShapeError("linear: the weight must be a matrix (out, in) or a vector (in)", got=describe(weight))
    transposed = aten.t.default(weight)
    if bias is None:
        return aten.matmul.default(input, transposed)
    if weight.ndim == 2 and bias.ndim == 1:
        if input.ndim == 2:
            return aten.addmm.default(bias, input, transposed)
        if input.ndim and is_contiguous(input._sizes, input._strides) and input._sizes[-1] == weight._sizes[1]:
            flat = aten.view.default(input, [math.prod(input._sizes[:-1]), input._sizes[-1]])
            product = aten.addmm.default(bias, flat, transposed)
            return aten.view.default(product, [*input._sizes[:-1], weight._sizes[0]])
    return aten.add.Tensor(aten.matmul.default(input, transposed), bias)


@composite("aten::outer(Tensor self, Tensor vec2) -> Tensor", outs="out")
def outer(self: Tensor, vec2: Tensor) -> Tensor:
    if self.ndim != 1 or vec2.ndim != 1:
        raise ShapeError("outer: expected two vectors", got=described((self, vec2)))
    return ops.aten.mul.Tensor(ops.aten.unsqueeze.default(self, 1), vec2)


# ---- samples -------------------------------------------------------------------------------------------------------


def _flipped(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, -2, -1)


@matmul.with_samples
def _(make: Make) -> Samples:
    for a in ((5,), (4, 5), (2, 4, 5), (3, 1, 4, 5)):
        for b in ((5,), (5, 3), (2, 5, 3), (2, 1, 5, 3)):
            if not (len(a) == 4 and len(b) == 4):
                yield (make(*a), make(*b)), {}
    yield (make(3, 1, 4, 5), make(2, 5, 3)), {}
    yield (_flipped(make(2, 5, 4)), _flipped(make(3, 5))), {}
    yield (make(0, 4, 5), make(5, 3)), {}


@linear.with_samples
def _(make: Make) -> Samples:
    for sizes in ((5,), (4, 5), (2, 4, 5)):
        yield (make(*sizes), make(3, 5)), {}
        yield (make(*sizes), make(3, 5), make(3)), {}
    yield (_flipped(make(2, 5, 4)), make(3, 5), make(3)), {}
    yield (make(4, 5), make(5)), {}


@outer.with_samples
def _(make: Make) -> Samples:
    yield (make(3), make(4)), {}


for _decl in (matmul, linear, outer):
    _decl.sample_dtypes = TYPES
