"""A graph as a host program, node by node: each does what it says, where it stands.

Nothing is joined, reused or freed here; a kernel that is launched is not printed yet. What has to be known before a
node can be said at all is found here: which symbols are bound by then, and from what.
"""

from __future__ import annotations

import keyword
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from opweave.codegen import attention, blas, convolution, narrow_products
from opweave.codegen.backends import backend_of
from opweave.codegen.host.joining import Joins, Piece, is_aligned
from opweave.codegen.host.operands import (
    Address,
    Attends,
    Layout,
    Local,
    Loops,
    Number,
    OpaqueType,
    Spliced,
    Target,
    TensorType,
    number_in,
    type_of,
)
from opweave.codegen.host.steps import (
    Align,
    Alloc,
    Bump,
    Call,
    Cell,
    Check,
    Choice,
    Conform,
    Constant,
    Convolve,
    Copy,
    Count,
    Item,
    Launch,
    Names,
    Origin,
    Product,
    Program,
    Promise,
    Read,
    Return,
    Step,
    Tuned,
    View,
)
from opweave.codegen.host.symbols import names_in, symbols_in
from opweave.codegen.loops.bases import rebase
from opweave.codegen.loops.steps import lower, plan
from opweave.codegen.loops.values import Buffer
from opweave.codegen.triton_printer import numbers_of
from opweave.fake.symbolic import SymNumber
from opweave.registry.containers import is_sequence
from opweave.registry.device import Device
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.op import OpOverload, ops
from opweave.registry.spec import span
from opweave.registry.tensor import Tensor
from opweave.registry.triton_op import forms, kernels, triton_kernel_wrapper_mutation, tuner_of
from opweave.tracer.declared import declared
from opweave.tracer.graph import Graph, Node
from opweave.tracer.launches import UNFUSED, Launch as LaunchRegion, take_apart
from opweave.tracer.loops.iteration import scatter_source
from opweave.tracer.loops.size import Size, number_of, sizes as sizes_from
from opweave.tracer.operands import map_operands
from opweave.tracer.printing import operand_graphs


def build(graph: Graph, name: str, device: Device, multiplies: Callable[[Node], bool] = blas.multiplies) -> Program:
    """The steps of a graph.

    Parameters
    ----------
    graph : Graph
        From the fusion pass: calls, and regions whose target is a `Graph`.
    name : str
        Of the function.
    device : Device
        Where kernels run.
    multiplies : callable
        Whether a call is a `Product`.

    Raises
    ------
    CompileError
        If a region cannot be lowered, or a number follows from no size.
    """
    names = Names({*names_in(graph), *keyword.kwlist, name, "float"})
    return _Builder(graph, name, device, bool(graph.graph.get("wide")), names, multiplies).run()


class _Builder:
    def __init__(
        self, graph: Graph, name: str, device: Device, wide: bool, names: Names, multiplies: Callable[[Node], bool]
    ) -> None:
        self.multiplies = multiplies
        self.graph, self.name, self.device, self.wide, self.names = graph, name, device, wide, names
        #: What holds each symbol that is bound.
        self.symbols: dict[str, Local] = {}
        self.needed = symbols_in(graph)
        self.locals: dict[Node, Local] = {}
        self.steps: list[Step] = []
        self.cell: Local | None = None
        self.origin = Origin(name)
        self.joins = Joins(graph, self._is_product)
        #: What launches users' kernels in place of the op, where it is a parameter.
        self.launcher: Local | None = None

    def run(self, *, conform: bool = False, further: Mapping[Local, Target | None] | None = None) -> Program:
        """The program; with inputs that have to conform, and further parameters, some with defaults."""
        captured = tuple(dict.fromkeys(self.symbols.values()))
        inputs: list[Local] = []
        # Inputs first: what any of them tells is there for all the rest.
        for node in sorted(self.graph.nodes, key=lambda node: node.op != "placeholder"):
            self.origin = Origin(node.name, node.meta.get("site"))
            if node.op == "placeholder":
                inputs.append(self._local(node))
                self._bind(node)
                if conform and node.users:
                    self._add(Conform(self.origin, self._local(node), self._layout(node.meta["val"]), self.name))
            elif node.op == "get_attr":
                self._add(Constant(self.origin, self._local(node), str(node.target)))
            elif node.op == "output":
                self._add(Return(self.origin, self._operands(node.args[0])))
            else:
                self._node(node)
                self._bind(node)
        more = dict(further or {})
        given = [local for local, default in more.items() if default is None]
        defaults = {local: default for local, default in more.items() if default is not None}
        seen = () if further is not None else captured
        given_all, steps = (*inputs, *given), tuple(self.steps)
        return Program(self.name, given_all, steps, self.names, defaults, seen, symbols=dict(self.symbols))

    def _add(self, step: Step) -> None:
        self.steps.append(step)

    # ---- operands --------------------------------------------------------------------------------------------------

    def _local(self, node: Node) -> Local:
        found = self.locals.get(node)
        if found is None:
            found = self.locals[node] = Local(node.name, type_of(node.meta.get("val")))
        return found

    def _operands(self, value: Any) -> Any:
        """Operands of a node as a step has them."""

        def operand(leaf: Any) -> Any:
            if isinstance(leaf, Node):
                return self._local(leaf)
            if isinstance(leaf, SymNumber):
                return self._number(leaf)
            return self._function(leaf) if isinstance(leaf, Graph) else leaf

        return map_operands(value, operand)

    def _function(self, graph: Graph) -> Program:
        """A graph that is an operand, as a function of its own.

        It may be called with other layouts than it was traced with, once a loop has gone round.
        """
        return self._inner(graph, self.names.fresh(graph.name or "function")).run(conform=True)

    def _inner(self, graph: Graph, name: str) -> _Builder:
        inner = _Builder(graph, name, self.device, self.wide, self.names, self.multiplies)
        inner.symbols = dict(self.symbols)
        return inner

    # ---- sizes that are not fixed ----------------------------------------------------------------------------------

    def _bind(self, node: Node) -> None:
        """Read the symbols that a node's value tells first."""
        value, local = node.meta.get("val"), self._local(node)
        if isinstance(value, SymNumber):
            self._symbol(value, local, "number")
        elif isinstance(value, Tensor):
            for what, numbers in (("size", value._sizes), ("stride", value._strides)):
                for dim, number in enumerate(numbers):
                    self._symbol(number, local, what, dim)
            self._symbol(value._offset, local, "offset")

    def _symbol(
        self, number: Any, of: Local, what: str, dim: int = 0, item: int | None = None, label: str = ""
    ) -> None:
        if isinstance(number, SymNumber) and number.expr.is_Symbol:
            symbol = number.expr.name
            if symbol in self.needed and symbol not in self.symbols:
                result = self.symbols[symbol] = Local(self.names.fresh(symbol), type_of(number))
                info = number.env.symbols[number.expr]
                promise = Promise(info.low, info.high, label) if label else None
                self._add(Read(self.origin, result, of, what, dim, item, promise))

    def _promised(self, value: Tensor, of: Local, item: int | None, label: str) -> None:
        """Read the sizes that an opaque op chose, and hold them to the range that its fake rule gave."""
        for dim, size in enumerate(value._sizes):
            self._symbol(size, of, "size", dim, item, label)

    def _number(self, value: Any) -> Number:
        """A number of the trace as one of the program."""
        return number_in(value, self.symbols)

    def _numbers(self, values: Iterable[Any]) -> tuple[Number, ...]:
        return tuple([self._number(value) for value in values])

    def _sizes(self, sizes: Iterable[Size]) -> tuple[Number, ...]:
        return self._numbers(map(number_of, sizes))

    def _layout(self, value: Tensor) -> Layout:
        return Layout(self._numbers(value._sizes), self._numbers(value._strides), value._dtype, value._device)

    # ---- nodes -----------------------------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        target = node.target
        if isinstance(target, Graph):
            self._region(node, target)
        elif target is operator.getitem:
            if not is_result(node) and not attention.is_result(node):
                key = self._operands(node.args[1])
                self._add(Item(self.origin, self._local(node), self._operands(node.args[0]), key))
        elif _is_plain_view(node) and self._is_placed(node):
            self._view(node)
        elif self._is_product(node):
            a, b = node.args[:2]  # a third says how the result lies
            self._add(Product(self.origin, self._made(node), self._operands(a), self._operands(b)))
        elif self.device.type == "cpu" and declared(node) is not None and self._is_native(node):
            pass
        else:
            self._call(node)

    def _is_product(self, node: Node) -> bool:
        return self.device.type == "cpu" and declared(node) is not None and self.multiplies(node)

    def _convolve(self, node: Node) -> bool:
        """Have native code make a convolution, if it is one."""
        found = convolution.convolution_of(node)
        if found is None:
            return False
        value, local = node.meta["val"], self._local(node)
        self._allocate(local, sizes_from(value._sizes), sizes_from(value._strides))
        a, b, bias = (self._operands(x) for x in (found.a, found.b, found.bias))
        steps = found.stride, found.padding, found.dilation
        self._add(Convolve(self.origin, local, found.form, a, b, bias, found.groups, steps))
        return True

    def _is_native(self, node: Node) -> bool:
        """Have native code, or a kernel of its own, make a call, where there is one."""
        return self._convolve(node) or self._narrow(node) or self._attend(node) or self._side_by_side(node)

    def _narrow(self, node: Node) -> bool:
        """Have native code multiply narrow numbers, if that is what a call does."""
        found = narrow_products.product_of(node)
        if found is None:
            return False
        value, local = node.meta["val"], self._local(node)
        self._allocate(local, sizes_from(value._sizes), sizes_from(value._strides))
        a, b, term = (self._operands(x) for x in (found.a, found.b, found.term))
        self._add(Product(self.origin, local, a, b, term=term, factors=(found.alpha, found.beta)))
        return True

    def _attend(self, node: Node) -> bool:
        """Launch a kernel that makes attention, if it is that."""
        found = attention.attention_of(node)
        if found is None:
            return False
        items = self._items(node)
        results: list[Local] = []
        for name, place in found.results.items():
            value = node.meta["val"][place]
            local = items.get(place) or Local(self.names.fresh(f"{node.name}_{name}"), type_of(value))
            self._allocate(local, sizes_from(value._sizes), sizes_from(value._strides))
            results.append(local)
        inputs = tuple(map(self._local, found.operands.values()))
        arguments: list[Address | Number] = [Address(local) for local in (*inputs, *results)]
        arguments += self._numbers(attention.numbers_of(found))
        grid = self._numbers(attention.programs(found))
        self._add(Launch(self.origin, Attends(found), grid, inputs, tuple(results), tuple(arguments)))
        return True

    def _side_by_side(self, node: Node) -> bool:
        """Put tensors side by side one by one, if a call does that."""
        if node not in self.joins.pieces:
            return False
        self._made(node)
        for piece in self.joins.pieces[node]:
            if piece.node in self.joins.placed and self.joins.placed[piece.node].whole is node:
                continue
            of, place = self._local(piece.node), self._place(piece, self.names.fresh(f"{node.name}_part"))
            if piece.is_moved:
                self._add(Copy(self.origin, place, of))
                continue
            ((nest, schedule),) = plan(lower(piece.copy(), wide=self.wide), backend_of(self.device).schedule)
            (programs,) = self._sizes([schedule.programs])
            aligned = (*(nest.inputs if is_result(piece.node) else ()), *(nest.outputs if piece.is_aligned else ()))
            arguments = Address(of), Address(place), *self._numbers(v.number for v in numbers_of(nest, schedule))
            kernel = Loops(nest, schedule, frozenset(aligned), True)
            self._add(Launch(self.origin, kernel, (programs, 1, 1), (of,), (place,), arguments))
        return True

    def _place(self, piece: Piece, name: str) -> Local:
        """Where a piece lies in what it is a part of."""
        value = piece.node.meta["val"]
        kind = TensorType(value._sizes, piece.strides, piece.shift, value._dtype, self.device)
        place, whole = Local(name, kind), self._local(piece.whole)
        self._add(View(self.origin, place, whole, kind.sizes, kind.strides, piece.shift, False))
        return place

    def _from(self, base: Local, shift: int) -> Local:
        """A tensor's memory from one of its elements on."""
        kind = base.tensor
        count = span(kind.sizes, kind.strides) - shift
        view = Local(self.names.fresh(f"{base.name}_from"), replace(kind, sizes=(count,), strides=(1,), offset=shift))
        self._add(View(self.origin, view, base, self._numbers([count]), (1,), shift, False))
        return view

    def _made(self, node: Node) -> Local:
        """Memory for a result, new or a part of what it becomes a part of."""
        found = self.locals.get(node)
        if found is not None:
            return found
        piece = self.joins.placed.get(node)
        if piece is not None:
            self._made(piece.whole)
            found = self.locals[node] = self._place(piece, node.name)
            return found
        value = node.meta["val"]
        self._allocate(self._local(node), sizes_from(value._sizes), sizes_from(value._strides))
        return self._local(node)

    def _call(self, node: Node) -> None:
        target: Any = node.target
        is_op = isinstance(target, (OpOverload, HigherOrderOperator))
        label = str(target).removesuffix(".default") if is_op else str(target.__name__)
        is_launch = target is triton_kernel_wrapper_mutation and self.launcher is not None
        function = self.launcher if is_launch else None
        args, kwargs = self._operands(node.args), self._operands(node.kwargs)
        self._add(Call(self.origin, self._local(node), function or Target(label, target), args, kwargs))
        # The layout of a built-in's result is known; what others return is checked where compiled code relies on it.
        opaque = isinstance(target, OpOverload) and declared(node) is None
        if (opaque or operand_graphs(node)) and node.users:
            self._conform(node, label)

    def _conform(self, node: Node, label: str) -> None:
        value, local = node.meta.get("val"), self._local(node)
        if isinstance(value, Tensor):
            self._promised(value, local, None, label)
            self._add(Conform(self.origin, local, self._layout(value), label))
        elif is_sequence(value) and all(isinstance(v, Tensor) for v in value):
            self._add(Count(self.origin, local, len(value), label))
            for i, v in enumerate(value):
                self._promised(v, local, i, label)
            self._add(Conform(self.origin, local, tuple(self._layout(v) for v in value), label))

    def _is_placed(self, node: Node) -> bool:
        """Whether it is known by now where a view starts and how long it is; else the op is called, which tells."""
        value, of = node.meta["val"], node.all_input_nodes[0].meta["val"]
        numbers = [n for n in (*value._sizes, *value._strides, value._offset - of._offset) if isinstance(n, SymNumber)]
        return all(self._tells(symbol, n) for n in numbers for symbol in n.env.simplify(n.expr).free_symbols)

    def _tells(self, symbol: Any, number: SymNumber) -> bool:
        if symbol.name in self.symbols:
            return True
        return any(s.name in self.symbols for s, e in number.env.replacements.items() if e == symbol)

    def _view(self, node: Node) -> None:
        base = node.all_input_nodes[0]
        value, of = node.meta["val"], base.meta["val"]
        sizes, strides = self._numbers(value._sizes), self._numbers(value._strides)
        shift, tracked = self._number(value._offset - of._offset), declared(node).is_tracked
        self._add(View(self.origin, self._local(node), self._local(base), sizes, strides, shift, tracked))

    def _allocate(self, result: Local, sizes: Iterable[Size], strides: Iterable[Size]) -> None:
        layout = Layout(self._sizes(sizes), self._sizes(strides), result.tensor.dtype, self.device)
        self._add(Alloc(self.origin, result, layout))

    # ---- kernels ---------------------------------------------------------------------------------------------------

    def _into(self, node: Node) -> dict[int, Local]:
        """The results of a region that are written to what is there before."""
        return {number: self._local(target) for number, target in node.kwargs.get("into", ())}

    def _items(self, node: Node) -> dict[Any, Local]:
        """The results of a region that are read."""
        read = [user for user in node.users if user.target is operator.getitem and user not in self.joins.placed]
        return {user.args[1]: self._local(user) for user in read}

    def _memory(self, wanted: str, buffer: Buffer) -> Local:
        """A new name for what a kernel keeps in a buffer."""
        sizes, strides = ([number_of(n) for n in numbers] for numbers in (buffer.sizes, buffer.strides))
        kind = TensorType(tuple(sizes), tuple(strides), 0, buffer.dtype, self.device)
        return Local(self.names.fresh(wanted), kind)

    def _region(self, node: Node, region: Graph) -> None:
        launch = take_apart(region)
        into = self._into(node)
        if launch is None:
            self._loops(node, region, into)
        elif launch.tuning is None:
            self._spliced(node, region, launch)
        else:
            self._tuned(node, region, launch)
        if into:
            self._add(Bump(self.origin, tuple(into.values())))

    def _loops(self, node: Node, region: Graph, into: Mapping[int, Local]) -> None:
        nest = lower(self.joins.region(node, region), wide=self.wide)
        # Where a kernel writes to an input, that it reads it too must be seen.
        shifts: Mapping[Buffer, int] = {}
        if self.device.type == "cpu" and not into:
            nest, shifts = rebase(nest)
        places = {b: self._operands(arg) for b, arg in zip(nest.inputs, node.args, strict=True)}
        again = frozenset(nest.outputs[i] for i, local in into.items() if local in places.values())
        stages = plan(nest, backend_of(self.device).schedule, again)
        # What is allocated here is aligned; where inputs and results of opaque ops lie is not known.
        aligned = {b for b, arg in zip(nest.inputs, node.args, strict=True) if is_result(arg)}
        aligned |= {buffer for i, buffer in enumerate(nest.outputs) if i not in into}
        for buffer, shift in shifts.items():
            places[buffer] = self._from(places[buffer], shift)
            aligned -= set() if is_aligned(shift, buffer.dtype) else {buffer}
        placed = {user.args[1]: user for user in node.users if user in self.joins.placed}
        items = self._items(node)
        base = dict(zip(region.placeholders(), node.args, strict=True))[_source_of(region)] if nest.scatters else None
        for i, buffer in enumerate(nest.outputs):
            # A result that nobody reads still needs a place.
            if i in placed:
                places[buffer] = self._made(placed[i])
                continue
            place = into.get(i) or items.get(i) or self._memory(f"{node.name}_{i}", buffer)
            places[buffer] = place
            if i not in into:
                self._allocate(place, buffer.sizes, buffer.strides)
            if base is not None and self._operands(base) is not place:
                self._add(Copy(self.origin, place, self._operands(base)))
        for stage, _ in stages[:-1]:
            for buffer in stage.outputs:
                aligned.add(buffer)
                places[buffer] = self._memory(f"{node.name}_{buffer.name}", buffer)
        for stage, schedule in stages:
            if stage is not stages[-1][0]:
                for buffer in stage.outputs:
                    self._allocate(places[buffer], buffer.sizes, buffer.strides)
            inputs, outputs = (tuple(places[b] for b in buffers) for buffers in (stage.inputs, stage.outputs))
            arguments: list[Address | Number] = [Address(local) for local in (*inputs, *outputs)]
            checks = stage.checks()
            cell = self._cell() if checks else None
            if cell is not None:
                arguments.append(Address(cell))
            arguments += self._numbers(variable.number for variable in numbers_of(stage, schedule))
            (programs,) = self._sizes([schedule.programs])
            kernel = Loops(stage, schedule, frozenset(aligned), len(stages) == 1)
            self._add(Launch(self.origin, kernel, (programs, 1, 1), inputs, outputs, tuple(arguments)))
            if cell is not None:
                self._add(Check(self.origin, cell, tuple((check.message, check.site) for check in checks)))

    def _cell(self) -> Local:
        """Where kernels report failed checks."""
        if self.cell is None:
            self.cell = Local(self.names.fresh("cell"), OpaqueType("cell"))
            self._add(Cell(self.origin, self.cell, self.device))
        return self.cell

    # ---- launches of users' kernels --------------------------------------------------------------------------------

    def _spliced(
        self, node: Node, region: Graph, launch: LaunchRegion, configuration: int = 0
    ) -> tuple[dict[int, Local], dict[str, Local]]:
        """One kernel for a region: the results that are allocated, and memory that only the kernel needs."""
        into, items = self._into(node), self._items(node)
        outer = dict(zip(region.placeholders(), node.args, strict=True))
        results: dict[int, Local] = {}
        scratch: dict[str, Local] = {}
        for i, result in enumerate(region.output_node().args[0]):
            value = result.meta["val"]
            unread = None if i in into or i in items else Local(self.names.fresh(f"{node.name}_{i}"), type_of(value))
            results[i] = unread or into.get(i) or items[i]
            if i not in into:
                self._allocate(results[i], sizes_from(value._sizes), sizes_from(value._strides))
        written = launch.node.meta["val"]
        for name in launch.stored:
            if name not in launch.kept:
                value = written[name]
                wanted = re.sub(r"\W", "_", f"{node.name}_{name}")
                scratch[name] = Local(self.names.fresh(wanted), type_of(value))
                self._allocate(scratch[name], sizes_from(value._sizes), sizes_from(value._strides))
        aligned = frozenset(p.name for p, arg in outer.items() if is_result(arg))
        places: dict[Node, Local] = {p: self._local(arg) for p, arg in outer.items()}
        if self.device.type != "cpu":
            # A GPU copies from memory to memory of its own by blocks of 16 bytes.
            for p, arg in outer.items():
                if p.name not in aligned and isinstance(arg.meta.get("val"), Tensor):
                    places[p] = Local(self.names.fresh(f"{arg.name}_"), type_of(arg.meta["val"]))
                    self._add(Align(self.origin, places[p], self._local(arg)))
            aligned = frozenset(p.name for p in outer)
        own = frozenset(results.keys() - into.keys())
        grid = tuple(self._operands(outer.get(size, size)) for size in launch.node.kwargs["grid"][configuration])
        kernel = Spliced(region, configuration, aligned, own, self.wide, places, results, scratch, dict(self.symbols))
        inputs, outputs = tuple(places.values()), (*results.values(), *scratch.values())
        self._add(Launch(self.origin, kernel, grid, inputs, outputs, ()))
        return {i: local for i, local in results.items() if i not in into}, scratch

    def _tuned(self, node: Node, region: Graph, launch: LaunchRegion) -> None:
        """A kernel for each configuration, the same unfused, and a call of the best."""
        into = self._into(node)
        given = list(dict.fromkeys([*map(self._local, node.args), *into.values()]))
        symbols = list(dict.fromkeys(self.symbols.values()))
        name = self.names.fresh("launch")
        kernel_idx, form_idx = launch.node.kwargs["kernel_idx"], launch.node.kwargs["constant_args_idx"]
        assert launch.tuning is not None
        choices: list[Choice] = []
        made: dict[int, Local] = {}
        for number in launch.tuning.numbers:
            outer_steps, self.steps = self.steps, []
            made, _ = self._spliced(node, region, launch, number)
            self._add(Return(self.origin, tuple(made.values())))
            body, self.steps = self.steps, outer_steps
            program = Program(self.names.fresh(f"{name}_{number}"), (*given, *symbols), tuple(body), self.names)
            choices.append(Choice(number, launch.tuning.labels[number], program))
        unfused = self._unfused(region.graph[UNFUSED], f"{name}_unfused", symbols)
        outer = dict(zip(region.placeholders(), node.args, strict=True))
        tuner: Any = tuner_of(kernels[kernel_idx])
        tuned_by: list[Any] = [launch.operands.get(o) for key in tuner.keys for o in forms[form_idx].operands_of(key)]
        key = tuple(self._operands(outer.get(value, value)) for value in tuned_by if _is_number(value))
        written = tuple(given.index(target) for target in into.values())
        results, operands = tuple(made.values()), (*given, *symbols)
        step = Tuned(self.origin, results, name, kernel_idx, form_idx, tuple(choices), unfused, written, key, operands)
        self._add(step)

    def _unfused(self, graph: Graph, name: str, symbols: list[Local]) -> Program:
        """A graph as a function that is given symbols too, and what to launch with."""
        self.names.taken |= set(names_in(graph))
        inner = self._inner(graph, self.names.fresh(name))
        inner.launcher = Local(self.names.fresh("launch_with"), OpaqueType("function"))
        launch = Target("launch", triton_kernel_wrapper_mutation)
        return inner.run(further={**dict.fromkeys(symbols), inner.launcher: launch})


def is_result(node: Any) -> bool:
    """Whether a node names a result of a region."""
    return node.target is operator.getitem and isinstance(node.args[0], Node) and isinstance(node.args[0].target, Graph)


def _is_number(value: Any) -> bool:
    """Whether an operand of a launch is a number, known now or not."""
    value = value.meta["val"] if isinstance(value, Node) else value
    return isinstance(value, (bool, int, float, SymNumber))


def _source_of(region: Graph) -> Node:
    """What the result of a region that ends in a scatter is a copy of."""
    (result,) = region.output_node().args[0]
    return scatter_source(result)


def _is_plain_view(node: Node) -> bool:
    """Whether a node only shows its operand's memory with other sizes and strides, at a distance known now."""
    target: Any = node.target
    decl = declared(node)
    if decl is None or not decl.is_layout:
        return False
    base = node.all_input_nodes[0].meta.get("val")
    same_type = isinstance(base, Tensor) and base._dtype is node.meta["val"]._dtype
    # The offset of `as_strided` counts from the start of the memory; passes that mean a place in the operand say so.
    return same_type and (target is not ops.aten.as_strided.default or bool(node.meta.get("relative")))
