"""Functionalize: the same computation without mutation.

Each tensor is a chain of views on a *base*. A mutation gives its base a new value; whoever reads a view of it later
reads the view made again on that value. In-place ops become their functional form, mutating custom ops
`auto_functionalized`, Triton launches `triton_kernel_wrapper_functional`; either is `mutate_views` where it gets memory
that it writes in two ways, and so must see its own writes. A write through a view that keeps every
element (reshapes, permutations) is undone by the inverse views; any other becomes `write_view`, a copy of the base with
the view's elements replaced. At the end inputs that were mutated are written back with `copy_`, the only mutation left.
Through a view as another type bits are written, never values: such views are undone one by one.
What cannot be shown to be right raises, with the user's line.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from opweave.passes.functional_ops import auto_functionalized, called, copy_laid_out, mutate_views, write_view
from opweave.passes.partition import WAY_BACK
from opweave.registry.containers import is_dict, is_sequence
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import OpweaveError, UnsupportedError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds.view import ViewDecl
from opweave.registry.overlap import overlap, within
from opweave.registry.spec import overlaps_itself
from opweave.registry.tensor import Tensor, describe
from opweave.registry.triton_op import launch_effects, triton_kernel_wrapper_functional, triton_kernel_wrapper_mutation
from opweave.tracer.aliasing import is_view
from opweave.tracer.declared import declared, is_overridden
from opweave.tracer.effects import mutates
from opweave.tracer.emission import Emitter, map_nodes, nodes_in, value_of
from opweave.tracer.graph import Graph, Node

aten = ops.aten


def run(graph: Graph) -> Graph:
    """Remove all mutation but the final write-back of inputs.

    Raises
    ------
    UnsupportedError
        For a mutation whose effect on other tensors is not known.
    """
    # What is left of mutation after the first time stays.
    if "functional" not in graph.graph and any(mutates(node) for node in graph):
        _Functionalization(graph).run()
    graph.graph["functional"] = True
    return graph


def written_inputs(graph: Graph) -> tuple[int, ...]:
    """Positions of the placeholders that a graph writes, as found when it was functionalized."""
    written = graph.graph.get("written", ())
    return tuple(i for i, node in enumerate(graph.placeholders()) if node.name in written)


@dataclass(frozen=True, slots=True)
class _Step:
    """One view of a chain: `target(*args, **kwargs)` with the parent in place of `parent`."""

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    parent: Node
    node: Node


@dataclass(eq=False, slots=True)
class _Base:
    """Memory: the node that holds its present value, how often it was mutated, and by which node last."""

    origin: Node
    current: Node
    version: int = 0
    writer: Node | None = None


@dataclass(eq=False, slots=True)
class _Alias:
    """A tensor: a chain of views on a base, and the node that holds it as of some version of the base."""

    base: _Base
    chain: tuple[_Step, ...]
    node: Node
    version: int


class _Functionalization:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.emit = Emitter(graph)
        self.aliases: dict[Node, _Alias] = {}
        self.bases: list[_Base] = []
        self.erased: list[Node] = []
        #: Values as traced; those of rewired views get the offsets that they then have.
        self.traced = {node: node.meta.get("val") for node in graph}

    def run(self) -> None:
        graph = self.graph
        for node in list(graph):
            if node not in graph:
                continue  # took a result of a mutation, whose readers now have that of the call in its place
            if node.op == "output":
                with graph.inserting_before(node):
                    self._finish(node)
                continue
            if node.op != "call_function":
                self._fresh(node)
                continue
            with graph.inserting_before(node):
                if mutates(node):
                    self._mutation(node)
                    self.erased.append(node)
                    continue
                view = self._view_parent(node)
                self._rewire(node, view)
            if view is None:
                self._fresh(node)
        for node in reversed(self.erased):
            graph.erase_node(node)

    # ---- aliases

    def _fresh(self, node: Node) -> None:
        base = _Base(node, node)
        self.bases.append(base)
        self.aliases[node] = _Alias(base, (), node, 0)

    def _view_parent(self, node: Node) -> Node | None:
        """Record a node that is a view; the node it is a view of."""
        if node.target is operator.getitem:
            parent = node.args[0]
            known = self.aliases.get(parent)
            if known is None or not known.chain:
                return None
        elif is_view(node):
            names = {name for aliased in node.target._schema.aliased_returns.values() for name in aliased}
            bound = _arguments(node)
            parents = [n for name in names for n in nodes_in(bound[name])]
            if len(parents) != 1:
                raise self._refuse(node, "its result may share memory with several arguments", *parents)
            parent = parents[0]
        else:
            return None
        known = self.aliases[parent]
        step = _Step(node.target, node.args, node.kwargs, parent, node)
        self.aliases[node] = _Alias(known.base, (*known.chain, step), node, known.base.version)
        return parent

    def _rewire(self, node: Node, view: Node | None) -> None:
        args, kwargs = map_nodes(node.args, self.resolve), map_nodes(node.kwargs, self.resolve)
        if args == node.args and kwargs == node.kwargs and not self._moved(view):
            return
        node.args, node.kwargs = args, kwargs
        if view is not None:
            alias = self.aliases[node]
            node.args, node.kwargs = self._placed(alias.base, alias.chain[-1], args, kwargs)
            node.meta["val"] = self.emit.evaluate(node.target, node.args, node.kwargs)

    def _moved(self, view: Node | None) -> bool:
        """Whether the tensor that a view is made of lies elsewhere in its memory than when it was traced."""
        return view is not None and value_of(view) is not self._traced(view)

    def _traced(self, node: Node) -> Any:
        return self.traced.get(node, value_of(node))

    def _placed(
        self, base: _Base, step: _Step, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a view of the base's present value, in whose memory the base may start elsewhere."""
        if step.target is not aten.as_strided.default:
            return args, kwargs
        view, origin = self._traced(step.node), self._traced(base.origin)
        if view._dtype.itemsize != origin._dtype.itemsize:
            if base.version:
                raise self._refuse(
                    step.node, "it tells places in a tensor that is mutated as another type", base.origin
                )
            return args, kwargs
        if base.version and not within(view, origin):
            raise self._refuse(step.node, "it reaches past a tensor that is mutated", base.origin)
        offset = value_of(base.current)._offset + view._offset - origin._offset
        return (args[0], list(view._sizes), list(view._strides), offset), {}

    def resolve(self, node: Node) -> Node:
        """The node that holds this tensor's present value."""
        alias = self.aliases[node]
        base = alias.base
        if alias.version != base.version:
            alias.node, alias.version = self._seen(base, alias.chain), base.version
        return alias.node

    def _again(self, step: _Step, parent: Node) -> Node:
        args = map_nodes(step.args, lambda n: parent if n is step.parent else self.resolve(n))
        kwargs = map_nodes(step.kwargs, lambda n: parent if n is step.parent else self.resolve(n))
        if self.aliases[step.node].chain:
            args, kwargs = self._placed(self.aliases[step.node].base, step, args, kwargs)
        return self.emit.call(step.target, *args, like=step.node, **kwargs)

    # ---- mutations

    def _mutation(self, node: Node) -> None:
        if node.target is triton_kernel_wrapper_mutation:
            self._launch(node)
            return
        if not isinstance(node.target, OpOverload):
            raise self._refuse(node, "it is a mutating higher-order op")
        op: OpOverload = node.target
        bound = _arguments(node)
        written = {name: bound[name] for name in op.mutated_args if bound[name] is not None}
        for tensor in nodes_in(list(written.values())):
            self._check_writable(node, tensor)
        decl = declared(node)
        found = None if decl is None else decl.as_functional(node.args, node.kwargs)
        if found is not None and not is_overridden(found[0], node):
            functional, args, kwargs = found
            (target,) = nodes_in(list(written.values()))
            args = map_nodes(args, self.resolve)
            value = self.emit.call(functional, *args, like=node, **map_nodes(kwargs, self.resolve))
            self._set(target, value, node)
            self.aliases[node] = self.aliases[target]
            return
        self._opaque(node, op, bound, written)

    def _opaque(self, node: Node, op: OpOverload, bound: dict[str, Any], written: dict[str, Any]) -> None:
        tensors = list(nodes_in(list(written.values())))
        views = None if self._are_distinct(list(nodes_in(list(bound.values()))), tensors) else tensors
        arguments: dict[str, Any] = map_nodes(bound, self.resolve) if views is None else {}
        returns = op._schema.returns
        old = value_of(node)
        results = [] if not returns else list(old) if len(returns) > 1 else [old]
        if views is not None:
            call = self._on_views(node, op.name, bound, views, results)
        else:
            clones = [
                map_nodes(bound[name], lambda n: self.emit.evaluate(aten.clone.default, (n,), {}))
                for name in op.mutated_args
            ]
            call = self.emit.insert(auto_functionalized, (op.name,), arguments, node, (*results, *clones))
        parts = [self._item(call, i, node) for i in range(len(results))]
        for i, part in enumerate(parts):
            self._fresh(part)
            for name in op._schema.aliased_returns.get(i, ()):
                if isinstance(bound[name], Node) and name in written:
                    self.aliases[part] = self.aliases[bound[name]]
        for i, name in enumerate(op.mutated_args if views is None else (), len(results)):
            if isinstance(bound[name], Node):
                self._set(bound[name], self._item(call, i, node), node)
            elif bound[name] is not None:
                items = self._item(call, i, node)
                for j, tensor in enumerate(bound[name]):
                    self._set(tensor, self._item(items, j, node), node)
        if len(returns) > 1:
            self._redirect_items(node, parts)
        elif parts:
            self.aliases[node] = self.aliases[parts[0]]

    def _on_views(self, node: Node, name: str, bound: dict[str, Any], written: list[Node], results: list[Any]) -> Node:
        """The call on copies of whole bases, so that views of one base share its copy; sets the bases."""
        bases = list(dict.fromkeys(self.aliases[t].base for t in written))
        views: list[list[Any]] = []
        paths: dict[Node, list[list[Any]]] = {}

        def placed(value: Any, path: list[Any]) -> Any:
            if isinstance(value, Node):
                return place(value, path)
            if is_sequence(value):
                return [placed(item, [*path, i]) for i, item in enumerate(value)]
            return {k: placed(item, [*path, k]) for k, item in value.items()} if is_dict(value) else value

        def place(tensor: Node, path: list[Any]) -> Node | None:
            base = self.aliases[tensor].base
            if base not in bases:
                return self.resolve(tensor)
            if tensor not in paths:
                view, origin = self._traced(tensor), self._traced(base.origin)
                if view._dtype is not origin._dtype or not within(view, origin):
                    raise self._refuse(node, "it writes memory that it also gets as another type", tensor, base.origin)
                paths[tensor] = []
                offset = view._offset - origin._offset
                views.append([bases.index(base), list(view._sizes), list(view._strides), offset, paths[tensor]])
            paths[tensor].append(path)
            return None

        arguments = placed(bound, [])
        values = [value_of(base.current) for base in bases]
        with self.emit.mode:
            clones = [copy_laid_out(value, called, value) for value in values]
        current = [base.current for base in bases]
        call = self.emit.insert(mutate_views, (name, current, views, arguments), {}, node, (*results, *clones))
        for i, base in enumerate(bases, len(results)):
            self._renew(base, self._item(call, i, node), node)
        return call

    def _redirect_items(self, node: Node, parts: list[Node]) -> None:
        for user in list(node.users):
            if user.target is not operator.getitem:
                raise self._refuse(node, "its tuple of results is used as a whole")
            user.replace_input_with(node, parts[0])
            for reader in list(user.users):
                reader.replace_input_with(user, parts[user.args[1]])
            self.graph.erase_node(user)

    def _launch(self, node: Node) -> None:
        bound = dict(node.kwargs)
        tensors: dict[str, Node] = {k: v for k, v in bound["kwargs"].items() if isinstance(v, Node)}
        values = map_nodes(bound["kwargs"], value_of)
        names = sorted(launch_effects(bound["kernel_idx"], bound["constant_args_idx"], values))
        for name in names:
            self._check_writable(node, tensors[name])
        written = [tensors[name] for name in names]
        clones = {name: self.emit.evaluate(aten.clone.default, (tensors[name],), {}) for name in names}
        # A kernel is told the strides, so a copy must have them.
        same = all(clones[name]._strides == value_of(tensors[name])._strides for name in names)
        if not same or not self._are_distinct(list(tensors.values()), written):
            self._on_views(node, str(node.target), bound, written, [])
            return
        bound["kwargs"] = map_nodes(bound["kwargs"], self.resolve)
        call = self.emit.call(triton_kernel_wrapper_functional, like=node, val=clones, **bound, tensors_to_clone=names)
        for name in names:
            self._set(tensors[name], self._item(call, name, node), node)

    def _item(self, node: Node, key: Any, like: Node) -> Node:
        return self.emit.call(operator.getitem, node, key, like=like, val=value_of(node)[key])

    def _set(self, tensor: Node, value: Node, like: Node) -> None:
        """Give a tensor, and with it its base, a new value."""
        alias = self.aliases[tensor]
        old, new = value_of(tensor), value_of(value)
        if new._dtype is not old._dtype:
            value = self.emit.call(aten._to_copy.default, value, like=like, dtype=old._dtype)
        base = alias.base
        if alias.chain:
            value_for_base = self._through(alias, value, like)
        else:
            value_for_base = self._laid_out(base, value, like)
        self._renew(base, value_for_base, like)
        if value_of(value)._strides == old._strides:
            alias.node, alias.version = (value if alias.chain else value_for_base), base.version

    def _renew(self, base: _Base, value: Node, writer: Node) -> None:
        """Give a base a new value, of which `writer` is the cause."""
        before = base.writer
        if before is not None and (WAY_BACK in before.meta) != (WAY_BACK in writer.meta) and _outlives(base):
            raise self._refuse(
                writer, "it writes on the way back what the function has written as well", base.origin,
                hint="write to a clone on one of the ways",
            )  # fmt: skip
        base.current, base.writer = value, writer
        base.version += 1

    def _laid_out(self, base: _Base, value: Node, like: Node) -> Node:
        """The value with the strides of the memory it stands for, on which later views rely."""
        old, new = value_of(base.origin), value_of(value)
        if new._strides == old._strides:
            return value
        return self._write(base, value, old, like)

    def _through(self, alias: _Alias, value: Node, like: Node) -> Node:
        """The base after its view got a value.

        Views of another type are undone one by one, since only there the bits are what stays; of the other ones that
        have no inverse, the last is written in its place in the base, or in the last view of another type before it.
        """
        base, chain = alias.base, alias.chain
        current = value
        kept, place = value, len(chain)  # what to write where an inverse is missing, and of how many steps it is a view
        at = len(chain)
        while at:
            made = self._undone(chain[at - 1], current, like)
            if made is None:
                typed = next((i for i in range(at, 0, -1) if _retypes(chain[i - 1])), 0)
                if not typed:
                    return self._write(base, kept, self._traced(chain[place - 1].node), like)
                whole = self._seen(base, chain[:typed])
                view, origin = self._traced(chain[place - 1].node), self._traced(chain[typed - 1].node)
                current = self._put(whole, kept, view, origin, like)
                at, made = typed, self._undone(chain[typed - 1], current, like)
                if made is None:
                    raise self._refuse(like, "it writes a view of another type", chain[typed - 1].node)
            if _retypes(chain[at - 1]):
                kept, place = made, at - 1
            current, at = made, at - 1
        return self._laid_out(base, current, like)

    def _undone(self, step: _Step, value: Node, like: Node) -> Node | None:
        """What a view was made of, from a value for the view; None where there is no inverse."""
        inverse = _inverse(step)
        if inverse is None:
            return None
        try:
            return self.emit.call(inverse[0], value, *inverse[1], like=like)
        except OpweaveError:  # this layout cannot be regrouped without a copy
            return None

    def _seen(self, base: _Base, chain: Sequence[_Step]) -> Node:
        """The base's present value through views."""
        current = base.current
        for step in chain:
            current = self._again(step, current)
        return current

    def _write(self, base: _Base, value: Node, view: Tensor, like: Node) -> Node:
        return self._put(base.current, value, view, value_of(base.origin), like)

    def _put(self, whole: Node, value: Node, view: Tensor, origin: Tensor, like: Node) -> Node:
        """A copy of the whole, laid out as `origin`, in which a view holds the value."""
        place = list(view._sizes), list(view._strides), view._offset - origin._offset, list(origin._strides)
        return self.emit.call(write_view, whole, value, *place, like=like)

    # ---- what is refused

    def _check_writable(self, node: Node, tensor: Node) -> None:
        value = value_of(tensor)
        if overlaps_itself(value._sizes, value._strides):
            raise self._refuse(
                node, "it writes a tensor whose elements overlap", tensor, hint="call .clone() before mutating"
            )
        alias = self.aliases[tensor]
        for step in alias.chain:
            if step.target is aten.as_strided.default:
                view, origin = self._traced(step.node), self._traced(alias.base.origin)
                if view._dtype.itemsize != origin._dtype.itemsize:
                    raise self._refuse(node, "it writes a view by places in a tensor of another type", tensor)
                if not within(view, origin):
                    raise self._refuse(node, "it writes a view that reaches past the tensor it was made of", tensor)

    def _are_distinct(self, tensors: list[Node], written: list[Node]) -> bool:
        """Whether no memory that is written comes as two tensors, of which one would show the writes to the other."""
        return not any(
            one is not other
            and self.aliases[one].base is self.aliases[other].base
            and overlap(self._traced(one), self._traced(other))
            for one in written
            for other in tensors
        )

    def _refuse(self, node: Node, why: str, *tensors: Node, hint: str | None = None) -> UnsupportedError:
        got = ", ".join(f"{t.name}: {describe(value_of(t))}" for t in tensors) or None
        return UnsupportedError(f"functionalize: {node.target}: {why}", got=got, at=node.meta.get("site"), hint=hint)

    # ---- the end

    def _finish(self, output: Node) -> None:
        """Write mutated inputs back; then make the results, which may be views of them."""
        inputs = [b for b in self.bases if b.version and _outlives(b)]
        self.graph.graph["written"] = tuple(b.origin.name for b in inputs)
        sources: list[Node] = []
        for base in inputs:
            source = base.current
            # Old contents of another input must be read before that one is overwritten.
            if self._looks_into(source, {b.origin for b in inputs}):
                source = self.emit.call(aten.clone.default, source, like=base.origin)
            sources.append(source)
        for base, source in zip(inputs, sources, strict=True):
            like = base.writer or base.origin
            self.emit.call(aten.copy_.default, base.origin, source, like=like, val=value_of(base.origin))
            base.current = base.origin
            base.version += 1
        for node in nodes_in(output.args):
            alias = self.aliases[node]
            if alias.chain and alias.base.version:
                alias.version = -1  # made again from its base, so that the two results share memory as they should
        output.args = map_nodes(output.args, self.resolve)

    def _looks_into(self, node: Node, origins: set[Node]) -> bool:
        while node not in origins:
            if not is_view(node) or not node.all_input_nodes:
                return False
            node = node.all_input_nodes[0]
        return True


def _outlives(base: _Base) -> bool:
    """Whether what is written shows after the graph has run."""
    return base.origin.op in ("placeholder", "get_attr")


def _arguments(node: Node) -> dict[str, Any]:
    """A call's arguments by the names of the op's schema."""
    schema = node.target._schema
    positional, keyword = schema.bind(node.args, node.kwargs)
    names = [a.name for a in schema.arguments if not a.kwarg_only]
    return {**dict(zip(names, positional, strict=False)), **keyword}


def _retypes(step: _Step) -> bool:
    """Whether a view shows its memory as another type."""
    parent, value = value_of(step.parent), value_of(step.node)
    return isinstance(value, Tensor) and isinstance(parent, Tensor) and value._dtype is not parent._dtype


def _inverse(step: _Step) -> tuple[Any, tuple[Any, ...]] | None:
    """The view that undoes a view of all elements, with its arguments; None where there is none."""
    decl = declared(step.node)
    rule = decl.inverse if isinstance(decl, ViewDecl) else None
    return None if rule is None else rule(value_of(step.parent), *step.args[1:])
