"""Products: leave to BLAS what only BLAS can do.

What is added to a product (`addmm`, the bias of a convolution) becomes an op of its own, which a kernel can do with all
that follows. A convolution whose windows are single elements is a batched product. Of an operand whose rows are all one
row, as the gradient of a mean, one row of the product is made, and repeated; columns likewise.

A sum of products, as the gradient of a weight that each step of a recurrent network uses, is one product of operands
side by side, where it costs less to lay these there than to add the results up (`passes.summed_products`). A large
product of which rows are read one after the other is made in parts (`passes.parted_products`).

Batched products read and write where their neighbours lie, instead of copies.

`bmm` takes one batch dimension. Where the program has several, as attention with its batch and heads, they are joined
by a copy before the product and taken apart behind it; the copies only move elements that BLAS can find by itself,
since it takes rows, or columns, at any distance. So

    bmm(view(clone(x)), view(clone(y)))   becomes   batched_mm(x, y)

if x and y are views of tensors that are in memory anyway (what a kernel computes it can as well store in that order),
and a result of which only a permuted copy is needed is written in that order in the first place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opweave.passes import parted_products, summed_products
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import ops
from opweave.registry.spec import is_contiguous
from opweave.registry.tensor import Tensor
from opweave.tracer.aliasing import escaping, is_view
from opweave.tracer.declared import declared, kind_of
from opweave.tracer.emission import Emitter, relocate, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.rewrite import Rule, rewrite

aten = ops.aten
#: Products to which something is added.
_SUMS = {aten.addmm.default: aten.mm.default, aten.baddbmm.default: aten.bmm.default}
_RESHAPES = (aten.view.default, aten._unsafe_view.default)


def run(graph: Graph) -> Graph:
    """Rewrite the products of a graph on the CPU."""
    rewrite(graph, lambda node: (RULES[node.target],) if node.target in RULES and _is_for_rules(node) else ())
    summed_products.run(graph, _is_matrix_product)
    parted_products.run(graph, _is_matrix_product)
    kept = escaping(graph)

    def batched(node: Node, emit: Emitter) -> Node | None:
        return _batched(node, emit, kept)

    return rewrite(
        graph,
        lambda node: (batched,) if node.target is aten.bmm.default and node not in kept and _is_for_blas(node) else (),
    )


def _is_matrix_product(node: Node) -> bool:
    return node.target is aten.mm.default and _is_for_rules(node)


def _is_for_rules(node: Node) -> bool:
    return declared(node) is not None and _is_exact(value_of(node))


def _apart(node: Node, emit: Emitter) -> Node:
    """A product and what is added to it, in the order in which `addmm` computes."""
    term, left, right = node.args
    scales = {"alpha": 1, "beta": 1, **node.kwargs}
    total = emit.call(_SUMS[node.target], left, right, like=node)
    if scales["alpha"] != 1:
        total = emit.call(aten.mul.Tensor, total, scales["alpha"], like=node)
    if scales["beta"] == 0:
        # NaN in the term does not count then.
        return total
    if scales["beta"] != 1:
        term = emit.call(aten.mul.Tensor, term, scales["beta"], like=node)
    return emit.call(aten.add.Tensor, total, term, like=node)


def _convolution(node: Node, emit: Emitter) -> Node | None:
    x, weight, bias, stride, padding, _, transposed, _, groups = node.args
    if not transposed and groups == 1 and _is_by_element(value_of(node), x, weight, stride, padding):
        total = _by_element(node, emit)
    elif bias is not None:
        total = emit.call(node.target, x, weight, None, *node.args[3:], like=node)
    else:
        return None
    if bias is not None:
        for _ in value_of(node)._sizes[2:]:
            bias = emit.call(aten.unsqueeze.default, bias, -1, like=node)
        total = emit.call(aten.add.Tensor, total, bias, like=node)
    return total


def _once(node: Node, emit: Emitter) -> Node | None:
    """One row, or one column, of a product in which all are equal."""
    left, right = node.args[:2]
    rows, columns = (_is_repeated(value_of(x), dim) for x, dim in ((left, -2), (right, -1)))
    if len(node.args) > 2 or not (rows or columns):
        return None
    if rows:
        left = emit.call(aten.slice.Tensor, left, -2, 0, 1, like=node)
    if columns:
        right = emit.call(aten.slice.Tensor, right, -1, 0, 1, like=node)
    made = emit.call(node.target, left, right, like=node)
    shown = emit.call(aten.expand.default, made, list(value_of(node)._sizes), like=node)
    return emit.call(aten.clone.default, shown, like=node, memory_format=contiguous_format)


def _is_repeated(value: Tensor, dim: int) -> bool:
    size, stride = value._sizes[dim], value._strides[dim]
    return type(size) is int and size > 1 and type(stride) is int and stride == 0


#: What becomes of a product, by its op.
RULES: dict[Any, Rule] = {
    **dict.fromkeys(_SUMS, _apart), **dict.fromkeys(_SUMS.values(), _once), aten.convolution.default: _convolution,
}  # fmt: skip


def _is_by_element(result: Tensor, x: Node, weight: Node, stride: Sequence[int], padding: Sequence[int]) -> bool:
    """Whether each element of a result comes from the elements at one place, which lie in order."""
    values = value_of(x), value_of(weight)
    return (
        set(stride) == {1}
        and set(padding) == {0}
        and all(size == 1 for size in values[1]._sizes[2:])
        and all(type(size) is int and size > 0 for value in values for size in value._sizes)
        and all(is_contiguous(value._sizes, value._strides) for value in (*values, result))
    )


def _by_element(node: Node, emit: Emitter) -> Node:
    """(n, c, ...) and (o, c, 1, ...) to (n, o, ...): a product for each image."""
    x, weight = node.args[:2]
    n, c, *places = value_of(x)._sizes
    o = value_of(weight)._sizes[0]
    filters = emit.call(aten.expand.default, emit.call(aten.view.default, weight, [1, o, c], like=node), [n, o, c],
                        like=node)  # fmt: skip
    columns = emit.call(aten.view.default, x, [n, c, math.prod(places)], like=node)
    found = emit.call(aten.bmm.default, filters, columns, like=node)
    return emit.call(aten.view.default, found, [n, o, *places], like=node)


def _is_exact(value: Tensor) -> bool:
    """Whether a product is computed in its own type, by BLAS on the CPU."""
    return value._device.is_host and value._dtype.name in ("float32", "float64")


def _is_in_place(value: Tensor) -> bool:
    """Whether a product reads operands and writes its result wherever they lie, on the CPU."""
    return _is_exact(value) or (value._device.is_host and value._dtype.name in ("float16", "bfloat16"))


def _is_for_blas(node: Node) -> bool:
    if declared(node) is None:
        return False
    sizes = [size for operand in node.args for size in value_of(operand)._sizes]
    return _is_in_place(value_of(node)) and all(type(size) is int and size > 0 for size in sizes)


def _batched(node: Node, emit: Emitter, kept: set[Node]) -> Node | None:
    left, right = (_Operand.of(operand) for operand in node.args)
    batch = next((o.batch for o in (left, right) if o.copied), None)
    order, copies = _order_of_copy(node, kept)
    if batch is None and order is not None:
        batch = value_of(copies[0])._sizes[:-2]
    if batch is None or (order is not None and value_of(copies[0])._sizes[:-2] != batch):
        order, copies = None, []
    if batch is None or len(batch) != 2:
        return None
    operands = [operand.with_batch(batch, emit, node) for operand in (left, right)]
    product = emit.call(ops.opweave.batched_mm.default, *operands, order or [0, 1, 2, 3], like=node)
    if order is None:
        return emit.call(aten.view.default, product, list(value_of(node)._sizes), like=node)
    shown, permuted, copy = copies
    relocate(emit, shown, product)
    relocate(emit, copy, permuted)
    return None


class _Operand:
    """An operand of a product, and the tensor of more dimensions that it was copied from."""

    def __init__(self, node: Node, source: Node, transposed: bool, copied: bool):
        self.node = node
        self.source = source
        self.transposed = transposed
        self.copied = copied
        self.batch: Sequence[int] = value_of(source)._sizes[:-2]

    @staticmethod
    def of(node: Node) -> _Operand:
        matrix, transposed = node, False
        if matrix.target is aten.transpose.int and {d % 3 for d in matrix.args[1:]} == {1, 2}:
            matrix, transposed = matrix.all_input_nodes[0], True
        source = matrix
        if source.target in _RESHAPES:
            source = source.all_input_nodes[0]
        if source is not matrix and _joins_batches(value_of(source), value_of(matrix)):
            if not _is_copy(source):
                return _Operand(node, source, transposed, False)
            original = source.all_input_nodes[0]
            if _reads_memory(original) and _suits_blas(value_of(original)):
                return _Operand(node, original, transposed, True)
        return _Operand(node, node, False, False)

    def with_batch(self, batch: Sequence[int], emit: Emitter, like: Node) -> Node:
        """The operand with these batch dimensions."""
        if self.source is not self.node and list(self.batch) == list(batch):
            return emit.call(aten.transpose.int, self.source, -2, -1, like=like) if self.transposed else self.source
        return emit.call(aten.view.default, self.node, [*batch, *value_of(self.node)._sizes[1:]], like=like)


def _joins_batches(source: Tensor, matrix: Tensor) -> bool:
    sizes = source._sizes
    return (
        len(sizes) > 3
        and all(type(size) is int for size in sizes)
        and tuple(sizes[-2:]) == tuple(matrix._sizes[1:])
        and math.prod(sizes[:-2]) == matrix._sizes[0]
    )


def _is_copy(node: Node) -> bool:
    """Whether a node does nothing but lay its operand's elements out in order."""
    if node.target is not aten.clone.default or declared(node) is None:
        return False
    value, operand = value_of(node), value_of(node.all_input_nodes[0])
    return is_contiguous(value._sizes, value._strides) and not is_contiguous(operand._sizes, operand._strides)


def _reads_memory(node: Node) -> bool:
    """Whether a node is a view of something that no kernel computes."""
    while is_view(node) or node.target in _RESHAPES:
        node = node.all_input_nodes[0]
    kind = kind_of(node)
    return node.op == "placeholder" or (kind is not None and kind.is_library_call)


def _suits_blas(value: Any) -> bool:
    """Whether rows, or columns, lie in one piece each."""
    rows, columns = value._strides[-2:]
    return all(type(stride) is int for stride in value._strides) and (
        (columns == 1 and rows >= value._sizes[-1]) or (rows == 1 and columns >= value._sizes[-2])
    )


def _order_of_copy(node: Node, kept: set[Node]) -> tuple[list[int] | None, list[Node]]:
    """In which order a result's dimensions are wanted in memory, and the view, permutation and copy that say so."""
    chain: list[Node] = []
    steps: tuple[Callable[[Node], bool], ...] = (
        lambda n: n.target in _RESHAPES and _joins_batches(value_of(n), value_of(node)),
        lambda n: n.target in (aten.transpose.int, aten.permute.default),
        _is_copy,
    )
    for matches in steps:
        users = list((chain[-1] if chain else node).users)
        if len(users) != 1 or not matches(users[0]) or users[0] in kept:
            return None, []
        chain.append(users[0])
    ndim = len(value_of(chain[0])._sizes)
    dims = list(range(ndim))
    if chain[1].target is aten.transpose.int:
        a, b = (d % ndim for d in chain[1].args[1:])
        dims[a], dims[b] = b, a
    else:
        dims = [d % ndim for d in chain[1].args[1]]
    return (dims, chain) if dims[-1] == ndim - 1 else (None, [])
