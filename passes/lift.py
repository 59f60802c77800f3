"""Turn launches of users' kernels that are pointwise into calls of pointwise ops.

    launch = triton_kernel_wrapper_functional(curve_kernel, x_ptr=x, out_ptr=empty, n=4096)
    y = launch['out_ptr']                                                                        y = curve_kernel(x)
    z = softmax(y)                                                                          ->   z = softmax(y)

A kernel that stores to each element of a tensor an expression of the same element of those that it loads is a pointwise
op, however its programs share the work. As a node it joins reductions, other kernels and other launches, and the kernel
around it chooses the blocks: an operand that stands beside it in rows need not be found by division.

What has to be known of the kernel, as it would be compiled for the launch:

* it does nothing but store expressions of what it loads (`registry.triton.expression`);
* its stores reach all of each tensor that is read afterwards, each by one operation;
* tensors that it both loads and stores could as well be two (`coverage.is_apart`);
* loaded and stored tensors have one layout, or are both row-major, with the same number of elements;
* there is a rule for every operation (`tracer.loops.element_maps`).

A launch that nothing fusible stands next to stays as it is, and so does one that writes a part of a tensor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opweave.passes.absorb import dense
from opweave.passes.functional_ops import write_view
from opweave.passes.regions import Decision
from opweave.passes.variants import Variant, variants_of
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import OpweaveError
from opweave.registry.op import ops
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor
from opweave.registry.triton.access import Access, analyse
from opweave.registry.triton.effects import configurations
from opweave.registry.triton.expression import Expression, NotAMap, check_silent, stored
from opweave.registry.triton.known import in_launch
from opweave.registry.triton_op import CompiledText, forms, kernels, name_of, triton_kernel_wrapper_functional
from opweave.tracer.emission import Emitter
from opweave.tracer.graph import Graph, Node
from opweave.tracer.launch_numbers import flat, numbers_of, operand_of
from opweave.tracer.launches import ELEMENTS
from opweave.tracer.loops.iteration import classify
from opweave.tracer.loops.maps import MapDecl
from opweave.tracer.loops.size import Size, product, sizes

#: The text of a kernel for the arguments of a launch, and what its parameters are called.
Reader = Callable[[Any, Mapping[str, Any], Device], tuple[str, Sequence[str]]]
#: Why an expression cannot be computed in a generated kernel; empty where it can.
Objection = Callable[[Expression, Mapping[str, DType], Mapping[str, Any]], str]


def lift(graph: Graph, read: Reader, objection: Objection) -> Graph:
    """Replace launches by calls of pointwise ops where that is what they are.

    Parameters
    ----------
    graph : Graph
        Without mutations; changed.
    read, objection : callable
        Codegen's.

    Returns
    -------
    Graph
        The same. `graph["lifted"]` lists what was replaced, and what was not though something fusible is next to it.
    """
    launches = [node for node in graph.nodes if node.target is triton_kernel_wrapper_functional]
    if not launches or not graph.graph.get("fuse_launches", True):
        return graph
    emit, decisions = Emitter(graph), list[Decision]()
    for node in launches:
        if not _has_neighbours(node) or _writes_views(node):
            continue
        name, site = name_of(kernels[node.kwargs["kernel_idx"]]), node.meta.get("site")
        try:
            operands = _replaced(emit, node, _Lifting(node, read, objection).run())
        except NotAMap as error:
            decisions.append(Decision(f"launch of {name}", "launch", f"not pointwise: {error}", site))
            continue
        text = f"a pointwise op of {', '.join(dict.fromkeys(operand.name for operand in operands))}"
        decisions.append(Decision(f"launch of {name}", "lifted", text, site))
    graph.graph["lifted"] = decisions
    return graph


run = lift


def _replaced(emit: Emitter, node: Node, lifted: list[tuple[Node, MapDecl, list[Node]]]) -> list[Node]:
    """Put ops in the place of a launch's results; their operands.

    Raises
    ------
    NotAMap
        If one of them could be part of no kernel.
    """
    graph, made = emit.graph, list[Node]()
    for item, decl, operands in lifted:
        with graph.inserting_before(node):
            placed = [_placed(emit, operand, item, node) for operand in operands]
            made.append(emit.call(decl.op, *placed, like=node, val=item.meta["val"]))
    reason = next((reason for kind, reason in map(classify, made) if kind is None), "")
    if reason:
        for op in made:
            graph.erase_node(op)
        raise NotAMap(reason)
    for (item, _, _), op in zip(lifted, made, strict=True):
        item.replace_all_uses_with(op)
    for item in list(node.users):
        graph.erase_node(item)
    graph.erase_node(node)
    return [operand for _, _, operands in lifted for operand in operands]


def _has_neighbours(node: Node) -> bool:
    """Whether something that can be part of a kernel computes what a launch is given, or is computed from it."""
    items = [user for user in node.users if user.target is operator.getitem]
    return any(map(_made_by_kernel, node.all_input_nodes)) or any(map(_read_by_kernel, items))


def _writes_views(node: Node) -> bool:
    """Whether what a launch writes is part of another tensor: the kernel itself can write there."""
    return any(user.target is write_view for item in node.users for user in item.users)


def _made_by_kernel(node: Node) -> bool:
    while _is_view(node):
        node = node.all_input_nodes[0]
    if node.target is operator.getitem:
        return node.all_input_nodes[0].target is triton_kernel_wrapper_functional
    return classify(node)[0] is not None


def _is_view(node: Node) -> bool:
    kind = classify(node)[0]
    return kind is not None and kind.is_layout


def _read_by_kernel(node: Node) -> bool:
    for user in node.users:
        kind = classify(user)[0]
        if user.target is triton_kernel_wrapper_functional or (kind is not None and not kind.is_layout):
            return True
        if kind is not None and _read_by_kernel(user):
            return True
    return False


def _placed(emit: Emitter, operand: Node, item: Node, launch: Node) -> Node:
    """An operand with the sizes of what it is computed to, element for element."""
    value, wanted = operand.meta["val"], item.meta["val"]
    if list(value._sizes) == list(wanted._sizes):
        return operand
    if numel_is_one(value):  # for all elements
        deeper = len(value._sizes) > len(wanted._sizes)
        return emit.call(ops.aten.view.default, operand, [], like=launch) if deeper else operand
    return emit.call(ops.aten.view.default, operand, list(wanted._sizes), like=launch)


class _Lifting:
    """One launch.

    Raises
    ------
    NotAMap
        By `run`, if it is not pointwise.
    """

    def __init__(self, node: Node, read: Reader, objection: Objection) -> None:
        self.node, self.read, self.objection = node, read, objection
        self.operands: Mapping[str, Any] = node.kwargs["kwargs"]
        self.written: Sequence[str] = node.kwargs["tensors_to_clone"]

    def run(self) -> list[tuple[Node, MapDecl, list[Node]]]:
        """Of each result that is used its declaration, and the operands.

        All configurations of a tuned kernel compute the same, so one that is pointwise is enough.
        """
        variants = variants_of(self.node)
        if isinstance(variants, str):
            raise NotAMap(variants)
        refused: NotAMap | None = None
        for variant in variants:
            try:
                return self._of(variant)
            except NotAMap as error:
                refused = refused or error
        assert refused is not None
        raise refused

    def _of(self, variant: Variant) -> list[tuple[Node, MapDecl, list[Node]]]:
        node = self.node
        check_silent(variant.accesses)
        # The cheap questions first: what is asked below needs the kernel as it would be compiled.
        written = [p for p in variant.accesses.parameters if p.is_written]
        if any(p.escapes or p.atomics or len(p.stores) != 1 for p in written):
            raise NotAMap("it stores by several operations")
        kernel: Any = kernels[node.kwargs["kernel_idx"]]
        values = {k: v.meta["val"] if isinstance(v, Node) else v for k, v in self.operands.items()}
        if not isinstance(kernel, CompiledText):
            form = forms[node.kwargs["constant_args_idx"]]
            kernel, values, also = list(configurations(kernel, form.arguments(values)))[variant.number]
            if also:
                raise NotAMap(f"tuning it writes {', '.join(sorted(also))}")
        first = node.meta["val"][self.written[0]]
        try:
            text, names = self.read(kernel, values, first._device)
        except OpweaveError as error:
            raise NotAMap(str(error).splitlines()[0]) from error
        programs = variant.programs
        self.variant = replace(variant, accesses=in_launch(analyse(text, list(names)), numbers_of(values), programs))
        self.numbers = {
            name: value.item() if hasattr(value, "item") else value
            for name, value in flat(values).items()
            if not isinstance(value, Tensor)
        }
        self.names = list(names)
        return [self._result(item) for item in node.users if item.target is operator.getitem and item.users]

    def _result(self, item: Node) -> tuple[Node, MapDecl, list[Node]]:
        variant, name = self.variant, str(item.args[1])
        value = item.meta["val"]
        stores = [a for a in variant.accesses_of(name) if a.kind == "store"]
        if len(stores) != 1:
            raise NotAMap(f"{name}: it is stored to by several operations")
        layout = dense(value)
        self._typed(name, value, stores[0])
        if layout is None or not variant.covers(name, *layout):
            raise NotAMap(f"{name}: its stores may not reach all of it")
        expression = stored(variant.accesses, self.names, stores[0])
        if not expression.loads:
            raise NotAMap(f"{name}: it is computed from no tensor")
        operands = [self._operand(pointer, value, pointer in expression.single) for pointer in expression.loads]
        for pointer in expression.loads:
            self._may_be_two(pointer)
        types = {p: o.meta["val"]._dtype for p, o in zip(expression.loads, operands, strict=True)}
        numbers = {n: self.numbers[n] for n in expression.numbers}
        if any(isinstance(number, Symbolic) and number.kind == "bool" for number in numbers.values()):
            raise NotAMap("a truth value that is not fixed is computed with")
        reason = self.objection(expression, types, numbers)
        if reason:
            raise NotAMap(reason)
        kernel = name_of(kernels[self.node.kwargs["kernel_idx"]])
        return item, MapDecl(kernel, expression, numbers, self.node.meta.get("site")), operands

    def _typed(self, name: str, value: Tensor, access: Access) -> None:
        if access.elem != ELEMENTS.get(value._dtype.name):
            raise NotAMap(f"{name}: the kernel takes its {value._dtype.name} as something else")

    def _operand(self, pointer: str, result: Tensor, single: bool) -> Node:
        """What a pointer points to, if its elements lie as those of the result do."""
        name = operand_of(pointer)
        operand = self.operands.get(name)
        names = [other for other, value in self.operands.items() if value is operand]
        if not isinstance(operand, Node) or len(names) > 1 and not set(names).isdisjoint(self.written):
            raise NotAMap(f"{name}: it has another name in the launch, and is written")
        value = operand.meta["val"]
        for access in self.variant.accesses_of(name):
            self._typed(name, value, access)
        if single:
            if not numel_is_one(value):
                raise NotAMap(f"{name}: one element of it is loaded")
            return operand
        ours, theirs = sizes(value._sizes), sizes(result._sizes)
        if ours == theirs and _strides(value) == _strides(result):
            return operand
        if product(ours) == product(theirs) and _is_row_major(value) and _is_row_major(result):
            if all(isinstance(n, int) for n in (*ours, *theirs)):
                return operand
        raise NotAMap(f"{name}: it has another layout than what is stored")

    def _may_be_two(self, pointer: str) -> None:
        """Refuse a tensor that is loaded from after something was stored to it."""
        name = operand_of(pointer)
        if name not in self.written:
            return
        layout = dense(self.operands[name].meta["val"])
        if layout is None or not self.variant.is_apart(name, layout):
            raise NotAMap(f"{name}: it may be loaded after it was stored to")


def numel_is_one(value: Tensor) -> bool:
    """Whether a tensor surely has one element."""
    return product(sizes(value._sizes)) == 1


def _strides(value: Tensor) -> list[Size]:
    """The strides of the dimensions that are longer than 1."""
    found = zip(sizes(value._sizes), sizes(value._strides), strict=True)
    return [stride for size, stride in found if size != 1]


def _is_row_major(value: Tensor) -> bool:
    need: Size = 1
    for size, stride in zip(reversed(sizes(value._sizes)), reversed(sizes(value._strides)), strict=True):
        if size != 1 and stride != need:
            return False
        need = need * size
    return True
