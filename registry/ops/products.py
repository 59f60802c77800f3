"""Sums of products: `einsum`, `tensordot`, `kron` and others, as permutations, views and batched matrix products.

`einsum` takes its operands two at a time, from the left or in the order of `path`: what only one has and nothing later
needs is summed first, what both have and something later needs is the batch, what both have and nothing needs is
summed by the product.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import before_write, composite, declare_copied_back
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import as_element, broadcast_shapes, result_type
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


# ---- einsum --------------------------------------------------------------------------------------------------------


#: Dimensions of the ellipsis, counted from the last, stand before all letters.
Label = int | str


def _labels(text: str, equation: str) -> list[str]:
    """Letters, and "..." as one."""
    parts, rest = [], text.replace(" ", "")
    while rest:
        step = 3 if rest.startswith("...") else 1
        if step == 1 and not (rest[0].isascii() and rest[0].isalpha()):
            raise ShapeError("einsum: subscripts are letters and one '...'", got=repr(equation))
        parts.append(rest[:step])
        rest = rest[step:]
    if parts.count("...") > 1:
        raise ShapeError("einsum: '...' stands twice in one operand", got=repr(equation))
    return parts


def _of_operand(parts: list[str], x: Tensor, equation: str) -> list[Label]:
    """A label for each dimension."""
    free = x.ndim - len(parts) + ("..." in parts)
    if free < 0 or (free and "..." not in parts):
        raise ShapeError("einsum: an operand has another number of dimensions", got=f"{describe(x)} in {equation!r}")
    found: list[Label] = []
    for part in parts:
        found += [d - free for d in range(free)] if part == "..." else [part]
    return found


def _parsed(equation: str, tensors: Sequence[Tensor]) -> tuple[list[list[Label]], list[Label]]:
    """The labels of the operands and of the result."""
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(tensors):
        raise ShapeError(
            "einsum: as many operands as subscripts",
            got=f"{len(tensors)} operands for {equation!r}",
            hint="subscripts of operands are separated by commas: 'ij,jk->ik'",
        )
    operands = [_of_operand(_labels(t, equation), x, equation) for t, x in zip(texts, tensors, strict=True)]
    spread = sorted({label for labels in operands for label in labels if isinstance(label, int)})
    counts = Counter(label for labels in operands for label in labels)
    if not arrow:
        return operands, [*spread, *sorted(str(n) for n, c in counts.items() if isinstance(n, str) and c == 1)]
    output: list[Label] = []
    for part in _labels(right, equation):
        if part != "..." and part not in counts:
            raise ShapeError(
                f"einsum: the result has {part!r}, which no operand has", got=repr(equation),
                hint="each letter behind -> stands before it, too",
            )  # fmt: skip
        output += spread if part == "..." else [part]
    if len(set(output)) < len(output):
        raise ShapeError("einsum: a subscript stands twice in the result", got=repr(equation))
    return operands, output


def _without_repeats(x: Tensor, labels: list[Label]) -> tuple[Tensor, list[Label]]:
    """The diagonal, where a subscript stands twice."""
    while len(set(labels)) < len(labels):
        first, second = next((i, j) for i in range(len(labels)) for j in range(i) if labels[i] == labels[j])
        if x._sizes[first] != x._sizes[second]:
            raise ShapeError(f"einsum: {labels[first]!r} stands for two sizes", got=describe(x))
        kept = labels[first]
        x = aten.diagonal.default(x, 0, second, first)
        labels = [n for d, n in enumerate(labels) if d not in (first, second)] + [kept]
    return x, labels


def _aligned(x: Tensor, labels: list[Label], order: list[Label]) -> Tensor:
    """The tensor with its dimensions in this order, of size 1 where it has none."""
    x = aten.permute.default(x, [labels.index(n) for n in order if n in labels])
    for place, label in enumerate(order):
        if label not in labels:
            x = aten.unsqueeze.default(x, place)
    return x


def _product(a: Tensor, b: Tensor, batch: int, first: int, shared: int) -> Tensor:
    """(batch..., first..., shared...) by (batch..., shared..., second...), all sizes of the batch alike."""
    sizes = list(a._sizes[:batch])
    rows, columns = list(a._sizes[batch : batch + first]), list(b._sizes[batch + shared :])
    inner = list(a._sizes[batch + first :])
    count, m, k, n = (_count(part) for part in (sizes, rows, inner, columns))
    left, right = aten.reshape.default(a, [count, m, k]), aten.reshape.default(b, [count, k, n])
    return aten.reshape.default(aten.bmm.default(left, right), [*sizes, *rows, *columns])


def _count(sizes: Sequence[Any]) -> Any:
    total: Any = 1
    for size in sizes:
        total = total * size
    return total


def _sizes_of(labels: list[Label], x: Tensor) -> dict[Label, Any]:
    return dict(zip(labels, x._sizes, strict=True))


def _contracted(
    a: Tensor, a_labels: list[Label], b: Tensor, b_labels: list[Label], kept: set[Label]
) -> tuple[Tensor, list[Label]]:
    """The product of two operands, summed over what nothing else needs."""
    a, a_labels = _summed(a, a_labels, kept | set(b_labels))
    b, b_labels = _summed(b, b_labels, kept | set(a_labels))
    # A size of 1 is spread over the other's: it needs no product.
    mine, other = _sizes_of(a_labels, a), _sizes_of(b_labels, b)
    for label in [n for n in a_labels if n in b_labels]:
        if mine[label] == other[label]:
            continue
        if mine[label] == 1:
            a, a_labels = aten.squeeze.dim(a, a_labels.index(label)), [n for n in a_labels if n != label]
        elif other[label] == 1:
            b, b_labels = aten.squeeze.dim(b, b_labels.index(label)), [n for n in b_labels if n != label]
        else:
            raise ShapeError(f"einsum: {label!r} stands for {mine[label]} and {other[label]}", got=describe([a, b]))
    a, a_labels = _summed(a, a_labels, kept | set(b_labels))
    b, b_labels = _summed(b, b_labels, kept | set(a_labels))
    batch = [n for n in a_labels if n in b_labels and n in kept]
    shared = [n for n in a_labels if n in b_labels and n not in kept]
    first, second = ([n for n in one if n not in both] for one, both in ((a_labels, b_labels), (b_labels, a_labels)))
    order = [*batch, *first, *second]
    if not shared:
        return aten.mul.Tensor(_aligned(a, a_labels, order), _aligned(b, b_labels, order)), order
    left = _aligned(a, a_labels, [*batch, *first, *shared])
    right = _aligned(b, b_labels, [*batch, *shared, *second])
    return _product(left, right, len(batch), len(first), len(shared)), order


def _summed(x: Tensor, labels: list[Label], kept: set[Label]) -> tuple[Tensor, list[Label]]:
    gone = [d for d, n in enumerate(labels) if n not in kept]
    if not gone:
        return x, labels
    # Of the tensor's own type, as a product would be.
    return aten.sum.dim_IntList(x, gone, False, dtype=x._dtype), [n for n in labels if n in kept]


@composite(
    "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    autocast={"cuda": "lower_precision_fp"},
)
def einsum(equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None) -> Tensor:
    """The sum of products that the subscripts describe: "ij,jk->ik" is a matrix product."""
    if not tensors:
        raise ShapeError("einsum: needs an operand", got=repr(equation))
    labels, output = _parsed(equation, tensors)
    if path is not None and len(path) != 2 * (len(tensors) - 1):
        raise ShapeError("einsum: the path has two numbers for each product", got=f"path={list(path)}")
    queue = [_without_repeats(x, one) for x, one in zip(tensors, labels, strict=True)]
    _check_sizes(queue, equation)
    steps = [0, 1] * (len(tensors) - 1) if path is None else list(path)
    for i, j in zip(steps[::2], steps[1::2], strict=True):
        if i == j or not (0 <= i < len(queue) and 0 <= j < len(queue)):
            raise ShapeError("einsum: the path names an operand that is not there", got=f"path={steps}")
        (a, a_labels), (b, b_labels) = queue[i], queue[j]
        rest = [pair for place, pair in enumerate(queue) if place not in (i, j)]
        needed = {*output, *(n for _, others in rest for n in others)}
        found = _contracted(a, a_labels, b, b_labels, needed)
        queue = [found, *rest] if path is None else [*rest, found]
    x, own = queue[0]
    gone = [d for d, n in enumerate(own) if n not in output]
    if gone:  # whole numbers become int64, as in any sum
        x, own = aten.sum.dim_IntList(x, gone), [n for n in own if n in output]
    # What only operands of size 1 had is a size of 1 again.
    return _aligned(x, own, output)


def _check_sizes(queue: Sequence[tuple[Tensor, list[Label]]], equation: str) -> None:
    known: dict[Label, Any] = {}
    for x, labels in queue:
        for label, size in zip(labels, x._sizes, strict=True):
            if known.get(label, 1) == 1:
                known[label] = size
            elif size not in (1, known[label]):
                raise ShapeError(
                    f"einsum: {label!r} stands for {known[label]} and {size}",
                    got=f"{describe(x)} in {equation!r}",
                    hint="a letter is one size in all operands",
                )


def _from_sublists(operands: Sequence[Any]) -> tuple[str, list[Tensor]]:
    """`(x, [0, 1], y, [1, 2], [0, 2])` as an equation and tensors."""

    def text(items: Any) -> str:
        letters = []
        for item in items:
            if item is Ellipsis:
                letters.append("...")
            elif isinstance(item, int) and 0 <= item < 52:
                letters.append(chr(item + (65 if item < 26 else 71)))
            else:
                raise ShapeError("einsum: subscripts are numbers from 0 to 51 and ...", got=repr(items))
        return "".join(letters)

    pairs = len(operands) // 2
    left = ",".join(text(operands[2 * i + 1]) for i in range(pairs))
    arrow = "->" + text(operands[-1]) if len(operands) % 2 else ""
    return left + arrow, [operands[2 * i] for i in range(pairs)]


def einsum_function(*args: Any) -> Tensor:
    """The sum of products that subscripts describe.

    Parameters
    ----------
    *args
        `"ij,jk->ik", x, y`: the subscripts, then tensors (or one list of them); without `->` the result has what stands
        once, in the order of the alphabet, after the dimensions of `...`. Or tensors and lists of numbers in turn:
        `x, [0, 1], y, [1, 2], [0, 2]`.

    Raises
    ------
    ShapeError
        If subscripts and sizes do not fit.

    Examples
    --------
    >>> opweave.einsum("i,i->", opweave.tensor([1.0, 2.0]), opweave.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if not args:
        raise ArgumentError("einsum: expected subscripts and tensors")
    if isinstance(args[0], Tensor):
        equation, tensors = _from_sublists(args)
    else:
        equation, rest = args[0], args[1:]
        tensors = list(rest[0]) if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else list(rest)
    return aten.einsum.default(equation, tensors)


@einsum.with_samples
def _(make: Make) -> Samples:
    yield ("ij,jk->ik", [make(3, 4), make(4, 5)]), {}
    yield ("bij,bjk", [make(2, 3, 4), make(2, 4, 5)]), {}
    yield ("...ij,...j->...i", [make(2, 3, 4), make(4)]), {}
    yield ("ii->i", [make(4, 4)]), {}
    yield ("ij->", [make(3, 4)]), {}
    yield ("i,j,k->kji", [make(2), make(3), make(4)]), {}


einsum.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.complex64)


# ---- of two tensors ------------------------------------------------------------------------------------------------


@composite("aten::kron(Tensor self, Tensor other) -> Tensor", outs="out")
def kron(self: Tensor, other: Tensor) -> Tensor:
    """A block for each element of the first: its product with the second."""
    count = max(self.ndim, other.ndim)
    a, b = ([1] * (count - t.ndim) + list(t._sizes) for t in (self, other))
    left = aten.reshape.default(self, [n for size in a for n in (size, 1)])
    right = aten.reshape.default(other, [n for size in b for n in (1, size)])
    return aten.reshape.default(aten.mul.Tensor(left, right), [m * n for m, n in zip(a, b, strict=True)])


@composite(
    "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    autocast={"cuda": "promote"},
    outs="out",
)
def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    """The sum of products over pairs of dimensions; the other dimensions of the first, then of the second."""
    if len(dims_self) != len(dims_other):
        raise ShapeError("tensordot: expected pairs of dimensions", got=f"{list(dims_self)}, {list(dims_other)}")
    first = [wrap_dim(d, self.ndim, "tensordot") for d in dims_self]
    second = [wrap_dim(d, other.ndim, "tensordot") for d in dims_other]
    x, y = self, other
    for i, j in zip(first, second, strict=True):
        if self._sizes[i] == other._sizes[j]:
            continue
        # A dimension of 1 goes with all elements of the other.
        if other._sizes[j] == 1:
            x = aten.sum.dim_IntList(x, [i], True, dtype=x._dtype)
        elif self._sizes[i] == 1:
            y = aten.sum.dim_IntList(y, [j], True, dtype=y._dtype)
        else:
            raise ShapeError("tensordot: the sizes of a pair differ", got=describe([self, other]))
    own = [d for d in range(x.ndim) if d not in first]
    rest = [d for d in range(y.ndim) if d not in second]
    common = math.prod(x._sizes[d] for d in first)
    rows, columns = [x._sizes[d] for d in own], [y._sizes[d] for d in rest]
    x, y = aten.permute.default(x, [*own, *first]), aten.permute.default(y, [*second, *rest])
    if all(n == 1 for n in (*rows, *columns)):  # which autocasting leaves as it is
        dot = aten.dot.default(aten.reshape.default(x, [common]), aten.reshape.default(y, [common]))
        return aten.reshape.default(dot, [*rows, *columns])
    left = aten.reshape.default(x, [math.prod(rows), common])
    right = aten.reshape.default(y, [common, math.prod(columns)])
    return aten.reshape.default(aten.mm.default(left, right), [*rows, *columns])


@composite("aten::inner(Tensor self, Tensor other) -> Tensor", outs="out")
def inner(self: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dimensions."""
    if not self.ndim or not other.ndim:
        return aten.mul.Tensor(self, other)
    if self._sizes[-1] != other._sizes[-1]:
        raise ShapeError("inner: the last sizes differ", got=describe([self, other]))
    return tensordot.body(self, other, [-1], [-1])


@composite("aten::vdot(Tensor self, Tensor other) -> Tensor", autocast={"cuda": "promote"}, outs="out")
def vdot(self: Tensor, other: Tensor) -> Tensor:
    """The sum of products of two vectors, the first conjugated."""
    return aten.dot.default(aten.conj_physical.default(self) if self._dtype.kind == "c" else self, other)


@composite("aten::ger(Tensor self, Tensor vec2) -> Tensor", outs="out")
def ger(self: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors' elements."""
    return aten.outer.default(self, vec2)


@composite("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", autocast={"cuda": "promote"}, outs="out")
def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The product of vectors in space, in the first dimension of 3 elements if none is named."""
    if self.ndim != other.ndim:
        raise ShapeError("cross: expected tensors with as many dimensions", got=describe([self, other]))
    sizes = broadcast_shapes("cross", self._sizes, other._sizes)
    found = next((d for d, n in enumerate(sizes) if n == 3), None) if dim is None else wrap_dim(dim, self.ndim, "cross")
    if found is None or self._sizes[found] != 3 or other._sizes[found] != 3:
        raise ShapeError("cross: expected 3 elements in the dimension", got=f"dim={dim} of {describe([self, other])}")
    a, b = (aten.expand.default(t, list(sizes)) for t in (self, other))

    def turned(t: Tensor, by: int) -> Tensor:
        return aten.roll.default(t, [-by], [found])

    return aten.sub.Tensor(
        aten.mul.Tensor(turned(a, 1), turned(b, 2)), aten.mul.Tensor(turned(a, 2), turned(b, 1))
    )  # fmt: skip


@composite("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of each element, a row for each, the highest first."""
    count = x._sizes[0] if N is None and x.ndim == 1 else N
    if x.ndim != 1 or count is None or count < 0:
        raise ShapeError("vander: expected a vector, and N from 0 up", got=f"{describe(x)}, N={N}")
    dtype = dtypes.int64 if x._dtype.kind in "biu" else x._dtype
    wide = aten.expand.default(aten.unsqueeze.default(aten._to_copy.default(x, dtype=dtype), 1), [x._sizes[0], count])
    ones = aten.ones_like.default(aten.slice.Tensor(wide, 1, 0, 1))
    powers = aten.cumprod.default(aten.cat.default([ones, aten.slice.Tensor(wide, 1, 1)], 1), 1)
    return powers if increasing else aten.flip.default(powers, [1])


def _combined(op: str, self: Any, product: Any, beta: Any, alpha: Any) -> Tensor:
    dtype = result_type(self, product)
    beta, alpha = as_element(op, beta, dtype), as_element(op, alpha, dtype)
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return aten.expand.default(scaled, list(broadcast_shapes("add", self._sizes, scaled._sizes)))
    return (self if beta == 1 else self * beta) + scaled


@composite(
    "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    autocast={"cuda": "lower_precision_fp"},
    outs="out",
)
def addr(self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta x + alpha v wᵀ; where beta is 0, x does not count."""
    return _combined("addr", self, aten.outer.default(vec1, vec2), beta, alpha)


@composite(
    "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    autocast="lower_precision_fp",
    outs="out",
)
def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta x + alpha Σ a b over a batch; where beta is 0, x does not count."""
    return _combined("addbmm", self, aten.sum.dim_IntList(aten.bmm.default(batch1, batch2), [0]), beta, alpha)


declare_copied_back(
    "aten::addr_(Tensor(a!) self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)", addr
)


@composite(
    "aten::addbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)"
)
def addbmm_(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    found = addbmm.body(before_write(self, batch1, batch2), batch1, batch2, beta=beta, alpha=alpha)
    if found._sizes != self._sizes:  # as PyTorch does, here alone
        aten.resize_.default(self, list(found._sizes))
    return aten.copy_.default(self, found)


# ---- functions of the package --------------------------------------------------------------------------------------


def tensordot_function(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sum of products over the last dimensions of one and the first of the other, or over pairs of them.

    Parameters
    ----------
    a, b : Tensor
    dims : int or (list of int, list of int)
        How many, or which of each.
    out : Tensor, optional
        Where to write the result.

    Examples
    --------
    >>> opweave.tensordot(opweave.tensor([1.0, 2.0]), opweave.tensor([3.0, 4.0]), dims=1)
    tensor(11.)
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (list, tuple)):
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    elif not 0 <= dims <= min(a.ndim, b.ndim):
        raise ShapeError("tensordot: more dimensions than there are", got=f"dims={dims}, {describe([a, b])}")
    else:
        first, second = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    if out is not None:
        return aten.tensordot.out(a, b, first, second, out=out)
    return aten.tensordot.default(a, b, first, second)


#: What has another signature than the op.
FUNCTIONS = {"einsum": einsum_function, "tensordot": tensordot_function}
