"""Attention: products with a softmax between them become one op, which a kernel computes without keeping the weights.

    bmm(softmax(bmm(q, k.T) * scale + mask), v)   becomes   attention(q, k, v, mask, ...)

as `scaled_dot_product_attention` and those who write it out trace it, and in a joint graph its backward with it:

    bmm(g, v.T), softmax_backward, bmm(., k), bmm(q.T, .), bmm(w.T, g)   becomes   attention_backward(g, ...)

It is done where nothing else reads the weights, and where the kernel is no slower (`_pays`). Operands are taken where
they lie, and of heads that are repeated, the one that was. Elements that are hidden are not multiplied: where a value
is not finite, its weight of 0 does not make NaN of it if no query nearby sees it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import field
from typing import Any, TypeGuard

from opweave.fake.symbolic import statically_known_true
from opweave.passes import canonicalize, cse
from opweave.passes.triangles import VIEWS, causal
from opweave.registry.dataclass import dataclass
from opweave.registry.op import ops
from opweave.tracer.declared import declared
from opweave.tracer.emission import Emitter, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.loops.size import hint, sizes

aten = ops.aten
_COMPUTED = ("float32", "float64")
_HALF = ("float16", "bfloat16")
#: The fewest queries and keys; with a backward, the fewest scores of a head, causal or not, and those of wide heads.
_FEWEST, _CAUSAL, _ALL, _ALL_WIDE, _NARROW = 64, 1 << 14, 1 << 16, 1 << 22, 64
#: Heads, and parts of their keys, that the backward works on at a time.
_PROGRAMS = 16


def run(graph: Graph) -> Graph:
    """Find attention in a graph on the CPU."""
    found = [node for node in graph if node.target is aten._softmax.default]
    if not found or sum(node.target is aten.bmm.default for node in graph) < 2:
        return graph
    graph = cse.run(canonicalize.run(graph))
    emit = Emitter(graph)
    for node in list(graph):
        if node.target is aten._softmax.default and declared(node) is not None:
            for through_scale in (True, False):
                match = _Match(graph, node, through_scale)
                if match.find():
                    match.replace(emit)
                    break
    return graph


@dataclass
class _Step:
    """What is done to the scores: `"where"`, `"add"`, `"mul"` or `"div"`, with a mask, a term or a factor."""

    kind: str
    operand: Any
    inverted: bool = False
    fill: float = -math.inf


@dataclass
class _Back:
    """The backward: what becomes of the gradient of the result, and the calls whose results are gradients."""

    grad: Node
    first: Node
    query: Node | None = None
    key: Node | None = None
    value: Node | None = None


@dataclass
class _Match:
    """Attention around a softmax.

    Attributes
    ----------
    through_scale : bool
        Whether what the query is multiplied by goes into the op.
    """

    graph: Graph
    softmax: Node
    through_scale: bool
    inner: set[Node] = field(default_factory=set[Node])
    steps: list[_Step] = field(default_factory=list[_Step])
    hidden: Node | None = None
    back: _Back | None = None

    def find(self) -> bool:
        """Whether it is attention, of which nothing else is read."""
        value = value_of(self.softmax)
        dim, half_to_float = self.softmax.args[1:3]
        if value._device.type != "cpu" or value._dtype.name not in _COMPUTED or half_to_float:
            return False
        if dim % value.ndim != value.ndim - 1 or not self._scored() or not self._weighted() or not self._returned():
            return False
        if any(user not in self.inner for node in self.inner - self._results() for user in node.users):
            return False
        return self._operands() and self._pays()

    def _results(self) -> set[Node]:
        """The calls whose results are read."""
        back = self.back
        found = [self.second, *(() if back is None else (back.query, back.key, back.value))]
        return {node for node in found if node is not None}

    # ---- forward ---------------------------------------------------------------------------------------------------

    def _scored(self) -> bool:
        """From the softmax back to the first product."""
        self.inner.add(self.softmax)
        node = self.softmax.args[0]
        guarded = _guarded(node)
        if guarded is not None:
            self.hidden, most, scores = guarded
            self.inner |= {node, self.hidden, most}
            node = scores
        self.scores = node
        while node.target is not aten.bmm.default:
            if (
                declared(node) is None
                or not _same_sizes(node, self.softmax)
                or value_of(node)._dtype.name not in _COMPUTED
            ):
                return False
            self.inner.add(node)
            if node.target in VIEWS:
                node = node.args[0]
                while node.target in VIEWS and declared(node) is not None:
                    self.inner.add(node)
                    node = node.args[0]
                break
            step = _step_of(node)
            if step is None:
                return False
            self.steps.append(step[0])
            node = step[1]
        self.first = node
        self.inner.add(node)
        return node.target is aten.bmm.default and declared(node) is not None

    def _weighted(self) -> bool:
        """From the softmax on to the second product."""
        node = self.softmax
        if self.hidden is not None:
            masked = [
                u for u in node.users if u.target is aten.where.self and u.args[0] is self.hidden and u.args[2] is node
            ]
            if len(masked) != 1 or masked[0].args[1] != 0:
                return False
            (node,) = masked
            self.inner.add(node)
        views = [user for user in node.users if user.target in VIEWS]
        if value_of(node).ndim != 3:
            if len(views) != 1 or value_of(views[0]).ndim != 3:
                return False
            (node,) = views
            self.inner.add(node)
        self.weights = node
        seconds = [u for u in node.users if u.target is aten.bmm.default and u.args[0] is node]
        if len(seconds) != 1 or seconds[0].args[1] is node or declared(seconds[0]) is None:
            return False
        (self.second,) = seconds
        self.inner.add(self.second)
        return True

    # ---- backward --------------------------------------------------------------------------------------------------

    def _returned(self) -> bool:
        """The backward, if there is one: nothing, or all that reads the weights otherwise."""
        turned = [u for u in self.weights.users if _is_transposed(u, self.weights)]
        values = [u for t in turned for u in t.users if u.target is aten.bmm.default and u.args[0] is t]
        backs = [u for u in self.softmax.users if u.target is aten._softmax_backward_data.default]
        if not turned and not backs:
            return True
        if len(values) > 1 or len(backs) > 1 or any(set(t.users) - {*values} for t in turned):
            return False
        grad = values[0].args[1] if values else None
        self.inner |= {*turned, *values}
        first = values[0] if values else None
        query = key = None
        if backs:
            node = backs[0].args[0]
            if backs[0].args[1] is not self.softmax:
                return False
            self.inner.add(backs[0])
            if self.hidden is not None:
                if node.target is not aten.where.self or node.args[0] is not self.hidden or node.args[1] != 0:
                    return False
                self.inner.add(node)
                node = node.args[2]
            if node.target in VIEWS:
                self.inner.add(node)
                node = node.args[0]
            if node.target is not aten.bmm.default or not _is_transposed(node.args[1], self.second.args[1]):
                return False
            self.inner.add(node)
            if grad is not None and node.args[0] is not grad:
                return False
            grad = node.args[0]
            first = node if first is None else min(first, node, key=self._order().__getitem__)
            found = self._products(backs[0])
            if found is None:
                return False
            query, key = found
        assert grad is not None and first is not None
        self.back = _Back(grad, first, query, key, values[0] if values else None)
        return True

    def _order(self) -> dict[Node, int]:
        return {node: i for i, node in enumerate(self.graph)}

    def _products(self, node: Node) -> tuple[Node | None, Node | None] | None:
        """From the gradient of the weights' logits to the products that make those of query and key."""

        def following(wanted: Callable[[Node], bool]) -> bool:
            nonlocal node
            users = list(node.users)
            if len(users) != 1 or not wanted(users[0]):
                return False
            (node,) = users
            self.inner.add(node)
            return True

        hidden = self.hidden
        if hidden is not None and not following(
            lambda u: u.target is aten.where.self and u.args[0] is hidden and u.args[1] == 0 and u.args[2] is node
        ):
            return None
        for step in self.steps:
            if step.kind != "add" and not following(lambda u, step=step: _undoes(u, node, step)):
                return None
        if value_of(node).ndim != 3 and not following(
            lambda u: u.target in VIEWS and value_of(u)._sizes == value_of(self.first)._sizes
        ):
            return None
        queries = [u for u in node.users if u.target is aten.bmm.default and u.args[0] is node]
        keys = [u for u in node.users if u.target is aten.bmm.default and u.args[1] is node]
        if len(queries) > 1 or len(keys) > 1 or set(node.users) != {*queries, *keys}:
            return None
        left, right = self.first.args
        if any(not _is_transposed(u.args[1], right) for u in queries):
            return None
        if any(not _is_transposed(u.args[0], left) for u in keys):
            return None
        self.inner |= {*queries, *keys}
        return (queries[0] if queries else None), (keys[0] if keys else None)

    # ---- operands --------------------------------------------------------------------------------------------------

    def _operands(self) -> bool:
        """Where the operands come from; whether they fit."""
        left, right = self.first.args
        value = self.second.args[1]
        parts = [_source(left), _source(right), _source(value)]
        batch = value_of(parts[0])._sizes[:-2]
        self.joined = any(value_of(p).ndim != 4 or value_of(p)._sizes[:-2] != batch for p in parts)
        query, key, value = (left, right, value) if self.joined else parts
        self.scale, self.query_factor, self.unscaled = 1.0, 1.0, None
        for step in self.steps:
            if step.kind in ("mul", "div"):
                self.scale = self.scale * step.operand if step.kind == "mul" else self.scale / step.operand
        if self.through_scale and query.target is aten.mul.Tensor and _is_factor(query.args[1]):
            if self.back is not None and self.back.query is not None:
                self.unscaled = _scaled_alone(self.back.query, query.args[1])
                if self.unscaled is None:
                    return False
            self.query_factor = query.args[1]
            query = query.args[0]
        turned = _turned(key)
        key, self.key_turned = turned or key, turned is None
        bare = [x for x in map(_widened_from, (query, key, value)) if x is not None]
        if len(bare) == 3 and len({value_of(x)._dtype.name for x in bare}) == 1:
            query, key, value = bare
        if not self.joined:
            key, value = (key if self.key_turned else _once(key)), _once(value)
        self.query, self.key, self.value = query, key, value
        types = {value_of(x)._dtype.name for x in (query, key, value)}
        return len(types) == 1 and types <= {*_COMPUTED, *_HALF} and self._terms()

    def _terms(self) -> bool:
        """Masks and what is added."""
        self.mask: _Step | None = None
        self.bias: Node | None = None
        self.is_causal, self.bias_factor = False, 1.0
        outer, sizes_of_scores = 1.0, value_of(self.scores)._sizes
        for step in self.steps:
            if step.kind in ("mul", "div"):
                outer = outer * step.operand if step.kind == "mul" else outer / step.operand
            elif step.kind == "add":
                if self.bias is not None or (self.mask is not None and self.mask.fill == math.inf):
                    return False
                self.bias, self.bias_factor = step.operand, outer
            elif step.fill == -math.inf and causal(step.operand) is (not step.inverted):
                self.is_causal = True
            else:
                if self.mask is not None or (self.bias is not None or self.is_causal) and step.fill != -math.inf:
                    return False
                self.mask = _Step("where", step.operand, step.inverted, step.fill * outer)
        terms = [] if self.mask is None else [self.mask.operand]
        terms += [] if self.bias is None else [self.bias]
        ndim = len(sizes_of_scores)
        for term in terms:
            given = value_of(term)
            if given.ndim > ndim or given.ndim > 4 or not given.ndim or not given._device.is_host:
                return False
            if given.ndim > 2 and ndim != (3 if self.joined else 4):
                return False
            if not statically_known_true(given._sizes[-1] == sizes_of_scores[-1]):
                return False
        return self.bias is None or value_of(self.bias)._dtype is value_of(self.scores)._dtype

    def _pays(self) -> bool:
        """Whether a kernel is no slower than products and what stands between them."""
        n, width, depth = (value_of(self.first)._sizes[2], value_of(self.first.args[0])._sizes[2],
                           value_of(self.second)._sizes[2])  # fmt: skip
        batch, m, _ = value_of(self.first)._sizes
        if any(type(size) is not int or size < 1 for size in (width, depth)):
            return False
        if any(not statically_known_true(size > 0) for size in (batch, m, n)):
            return False
        rows, columns = (hint(size) for size in sizes((m, n)))
        is_dense = not self.is_causal and (self.mask is None or self.hidden is not None)
        return pays(
            rows, columns, max(width, depth), causal=self.is_causal, dense=is_dense, backward=self.back is not None
        )

    # ---- replacement -----------------------------------------------------------------------------------------------

    def replace(self, emit: Emitter) -> None:
        """Put the op in the place of what was found."""
        with self.graph.inserting_before(self.second):
            operands = self._emitted(emit)
            made = emit.call(ops.opweave.attention.default, *operands, like=self.second)
            out, rows = _items(emit, made, 2, self.second)
            result = emit.call(aten.view.default, out, list(value_of(self.second)._sizes), like=self.second)
        self.second.replace_all_uses_with(result)
        if self.back is not None:
            self._replace_back(emit, self.back, operands, out, rows)
        for node in reversed(list(self.graph)):
            if node in self.inner and not node.users:
                self.graph.erase_node(node)

    def _emitted(self, emit: Emitter) -> list[Any]:
        like = self.second

        def four(node: Node) -> Node:
            """With four dimensions, the last ones those that it has."""
            for _ in range(4 - value_of(node).ndim):
                node = emit.call(aten.unsqueeze.default, node, 0, like=like)
            return node

        key = emit.call(aten.transpose.int, self.key, -2, -1, like=like) if self.key_turned else self.key
        bias = self.bias
        if bias is not None and self.bias_factor != 1.0:
            bias = emit.call(aten.mul.Tensor, bias, self.bias_factor, like=like)
        mask = self.mask
        return [
            four(self.query), four(key), four(self.value), None if bias is None else four(bias),
            None if mask is None else four(mask.operand), self.scale * self.query_factor, self.is_causal,
            mask is not None and mask.inverted, -math.inf if mask is None else mask.fill, self.hidden is not None,
        ]  # fmt: skip

    def _replace_back(self, emit: Emitter, back: _Back, operands: list[Any], out: Node, rows: Node) -> None:
        like = back.first
        with self.graph.inserting_before(back.first):
            source = _source(back.grad)
            wanted = value_of(out)._sizes
            if value_of(source)._sizes != wanted:
                source = emit.call(aten.view.default, back.grad, list(wanted), like=like)
            terms = emit.call(aten.mul.Tensor, source, out, like=like)
            delta = emit.call(aten.sum.dim_IntList, terms, [-1], like=like)
            batch, heads = value_of(operands[0])._sizes[:2]
            keys = value_of(operands[1])._sizes[2]
            parts = 1
            if type(batch) is int and type(heads) is int:
                parts = max(1, min(-(-_PROGRAMS // (batch * heads)), hint(*sizes((keys,))) // 128))
            made = emit.call(ops.opweave.attention_backward.default, source, delta, rows, *operands, parts, like=like)
            query, key, value = _items(emit, made, 3, like)
            if back.query is not None:
                if parts > 1:
                    query = emit.call(aten.sum.dim_IntList, query, [0], like=like)
                else:
                    query = emit.call(aten.select.int, query, 0, 0, like=like)
                target = back.query if self.unscaled is None else self.unscaled
                self._give(emit, target, query)
            if back.key is not None:
                self._give(emit, back.key, key)
            if back.value is not None:
                self._give(emit, back.value, value)

    def _give(self, emit: Emitter, target: Node, gradient: Node) -> None:
        """Use a gradient in the place of a call."""
        wanted = value_of(target)
        if value_of(gradient)._sizes != wanted._sizes:
            gradient = emit.call(aten.view.default, gradient, list(wanted._sizes), like=target)
        target.replace_all_uses_with(gradient)
        self.inner.add(target)


def pays(m: int, n: int, width: int, *, causal: bool, dense: bool, backward: bool) -> bool:
    """Whether the kernel is no slower, by what was measured (`benchmarks/attention.py`)."""
    if m < _FEWEST or n < _FEWEST:
        return False
    if not backward:
        return True
    # The backward makes one product more than there are apart, unless half of them are left out.
    if causal:
        return m * n >= _CAUSAL
    return dense and m * n >= (_ALL if width <= _NARROW else _ALL_WIDE)


# ---- what nodes are ------------------------------------------------------------------------------------------------


def _same_sizes(one: Node, other: Node) -> bool:
    return value_of(one)._sizes == value_of(other)._sizes


def _items(emit: Emitter, node: Node, count: int, like: Node) -> list[Node]:
    return [emit.call(operator.getitem, node, i, like=like, val=value_of(node)[i]) for i in range(count)]


def _is_number(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float)


def _is_factor(value: Any) -> bool:
    """A number that keeps the order of scores, and what is infinite."""
    return _is_number(value) and 0 < value < math.inf


def _guarded(node: Node) -> tuple[Node, Node, Node] | None:
    """Of scores whose hidden rows are 0: which rows are, each row's largest score, and the scores."""
    if node.target is not aten.where.self or node.args[1] != 0 or not isinstance(node.args[2], Node):
        return None
    hidden, scores = node.args[0], node.args[2]
    if hidden.target not in (aten.eq.Tensor, aten.eq.Scalar) or hidden.args[1] != -math.inf:
        return None
    most = hidden.args[0]
    if most.target is not aten.amax.default or most.args[0] is not scores or most.args[2] is not True:
        return None
    last = value_of(scores).ndim - 1
    return (hidden, most, scores) if [d % (last + 1) for d in most.args[1]] == [last] else None


def _step_of(node: Node) -> tuple[_Step, Node] | None:
    """What a call does to scores, and to which."""
    given: list[Any] = [*node.args, None]
    a, b, *rest = given
    target = node.target
    if target is aten.mul.Tensor and _is_factor(b):
        return _Step("mul", b), a
    if target is aten.div.Tensor and _is_factor(b) and not node.kwargs:
        return _Step("div", b), a
    if target is aten.masked_fill.Scalar and _is_number(rest[0]):
        return _Step("where", b, True, float(rest[0])), a
    if target is aten.where.self and isinstance(a, Node):
        if isinstance(b, Node) and _is_number(rest[0]):
            return _Step("where", a, False, float(rest[0])), b
        if _is_number(b) and isinstance(rest[0], Node):
            return _Step("where", a, True, float(b)), rest[0]
    if target is aten.add.Tensor and isinstance(a, Node) and isinstance(b, Node) and not node.kwargs and rest == [None]:
        for scores, term in ((a, b), (b, a)):
            if _same_sizes(scores, node) and _leads_to_product(scores):
                return _Step("add", term), scores
    return None


def _leads_to_product(node: Node) -> bool:
    """Whether scores may come from a product, so that what is added to them is a term."""
    for _ in range(8):
        if node.target is aten.bmm.default:
            return True
        if node.target in VIEWS:
            node = node.args[0]
            continue
        step = _step_of(node) if node.op == "call_function" else None
        if step is None:
            return False
        node = step[1]
    return False


def _undoes(node: Node, of: Node, step: _Step) -> bool:
    """Whether a call is the derivative of a step, given that of its result."""
    args = node.args
    if step.kind in ("mul", "div"):
        target = aten.mul.Tensor if step.kind == "mul" else aten.div.Tensor
        return node.target is target and args[0] is of and args[1] == step.operand and not node.kwargs
    if node.target is aten.masked_fill.Scalar:
        return step.inverted and args[0] is of and args[1] is step.operand and args[2] == 0
    if node.target is not aten.where.self or args[0] is not step.operand:
        return False
    zero, kept = (args[1], args[2]) if step.inverted else (args[2], args[1])
    return kept is of and _is_number(zero) and zero == 0


def _is_transposed(one: Any, other: Any) -> bool:
    """Whether one matrix of each batch is the other, with rows for columns."""

    def is_turn(a: Any, b: Any) -> bool:
        return isinstance(a, Node) and _turned(a) is b

    return is_turn(one, other) or is_turn(other, one)


def _turned(node: Node) -> Node | None:
    """What a node is with its last two dimensions exchanged."""
    if node.target is not aten.transpose.int or declared(node) is None:
        return None
    ndim = value_of(node).ndim
    return node.args[0] if {d % ndim for d in node.args[1:]} == {ndim - 2, ndim - 1} else None


def _source(node: Node) -> Node:
    """The batched matrices that a product's operand shows as one batch, or a copy of them."""
    if node.target not in VIEWS or declared(node) is None:
        return node
    source = node.args[0]
    own, other = value_of(node)._sizes, value_of(source)._sizes
    if tuple(other[-2:]) != tuple(own[-2:]) or len(other) != 4:
        return node
    copied = source
    if copied.target is aten.clone.default and declared(copied) is not None:
        copied = copied.args[0]
    return copied


def _once(node: Node) -> Node:
    """Heads before they were repeated."""
    if node.target not in VIEWS or declared(node) is None:
        return node
    wide = node.args[0]
    if wide.target is aten.clone.default:
        wide = wide.args[0]
    if wide.target is not aten.expand.default:
        return node
    lone = wide.args[0]
    sizes, own = value_of(wide)._sizes, value_of(lone)._sizes
    if len(sizes) != 5 or len(own) != 5 or type(own[2]) is not int or own[2] != 1 or own[:2] != sizes[:2]:
        return node
    if own[3:] != sizes[3:] or tuple(value_of(node)._sizes[2:]) != tuple(sizes[3:]):
        return node
    if any(type(size) is not int for size in (*sizes[:3], *value_of(node)._sizes[:2])):
        return node
    if value_of(node)._sizes[0] != sizes[0] or lone.target is not aten.unsqueeze.default:
        return node
    return lone.args[0]


def _widened_from(node: Node) -> Node | None:
    """What was cast from a half type."""
    if node.target is not aten._to_copy.default or set(node.kwargs) != {"dtype"} or declared(node) is None:
        return None
    source = node.args[0]
    return source if value_of(source)._dtype.name in _HALF and value_of(node)._dtype.name == "float32" else None


def _scaled_alone(product_: Node, factor: float) -> Node | None:
    """The node that multiplies a product by a factor, if nothing else reads the product."""
    node = product_
    users = list(node.users)
    if len(users) == 1 and users[0].target in VIEWS:
        node, users = users[0], list(users[0].users)
    if (
        len(users) == 1
        and users[0].target is aten.mul.Tensor
        and users[0].args[0] is node
        and users[0].args[1] == factor
    ):
        return users[0]
    return None
