"""Prints the Python that runs a fused graph: it allocates results, launches kernels, calls what is opaque.

    def call(x, w, r):
        cumsum = demo_cumsum(x)                                             # model.py:12
        conform(cumsum, (4096, 1024), (1024, 1), float32, cpu, "demo.cumsum")
        out = allocate((4096, 1024), (1024, 1), float32, cpu)
        fused_mul_gelu_add_softmax_0(4096, 1, 1, cumsum.data_ptr(), w.data_ptr(), r.data_ptr(), out.data_ptr())
        del cumsum
        return (out,)

Sizes and strides are constants where they are fixed, else expressions of the symbols that are read from the inputs at
the start, or from a result as soon as it is there:

    s0 = x._sizes[0]
    out = allocate((s0, 1024), (1024, 1), float32, cpu)
    fused_relu_0((1024*s0 + 8191) // 8192, 1, 1, x.data_ptr(), out.data_ptr(), s0)

Every name that is not a parameter is injected (`Generated.names`), and a buffer is
dropped at its last use, so that the caching allocator hands it out again.
"""

from __future__ import annotations

import keyword
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from opweave.codegen import blas, epilogues
from opweave.codegen.backends import backend_of
from opweave.codegen.checks import cell_of, passed
from opweave.codegen.groups import LEAST, Member, addresses, in_blocks, is_flat, shared, tables
from opweave.codegen.kernel import KernelSource
from opweave.codegen.loops.lowering import label_of
from opweave.codegen.loops.nest import LoopNest
from opweave.codegen.loops.schedule import Schedule
from opweave.codegen.loops.steps import lower, plan
from opweave.codegen.loops.values import Buffer
from opweave.codegen.triton_printer import numbers_of
from opweave.codegen.triton_source import kernel_name, print_group, print_kernel
from opweave.codegen.tuning import tuned
from opweave.fake.symbolic import SymFloat, SymNumber
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError
from opweave.registry.loading import load_heavy
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.op import HigherOrderOperator, OpOverload
from opweave.registry.tensor import Tensor, allocate, as_alias, as_view, describe
from opweave.registry.triton_op import forms, kernels, name_of, triton_kernel_wrapper_mutation, tuner_of
from opweave.tracer.declared import declared
from opweave.tracer.graph import Graph, Node
from opweave.tracer.iteration import is_only_scattered_to, scatter_of
from opweave.tracer.launches import UNFUSED, Launch, is_empty, launch_of, take_apart
from opweave.tracer.printing import operand_graphs
from opweave.tracer.size import Size, number_of, sizes as sizes_from

_COMMENT_COLUMN = 100


@dataclass
class Generated:
    """A compiled graph as text.

    Attributes
    ----------
    source : str
        A Python module that defines `name`.
    name : str
        The function to call, with the graph's inputs; returns what the graph returns.
    kernels : list of KernelSource
        What it launches; each under its own name, as `launch(gx, gy, gz, *addresses)`.
    names : dict
        Objects that the source finds as globals.
    attributes : list of str
        Constants of the graph module that it finds as globals.
    """

    source: str
    name: str
    kernels: list[KernelSource]
    names: dict[str, Any] = field(default_factory=dict)
    attributes: list[str] = field(default_factory=list)


def generate(graph: Graph, *, name: str = "call", device: str | Device = "cpu") -> Generated:
    """The wrapper and the kernels of a graph.

    Parameters
    ----------
    graph : Graph
        From the fusion pass: calls, and regions whose target is a `Graph`.
    name : str
        Of the generated function.
    device : str or Device
        Where the kernels run.

    Raises
    ------
    CompileError
        If a region cannot be lowered.
    """
    return _Wrapper(graph, name, Device(device), bool(graph.graph.get("wide"))).run()


def conform(
    value: Tensor, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device, op: str
) -> Tensor:
    """What an opaque op returned, in the layout that compiled code expects; copied if the strides are others.

    Kernels address memory by what the fake rule said, so this stands between a wrong rule and a read out of bounds.

    Raises
    ------
    CompileError
        If sizes, dtype or device are not what the op's fake rule said.
    """
    if not isinstance(value, Tensor):
        raise CompileError(
            f"{op}: returned something else than its fake rule promised",
            got=f"{type(value).__name__}, the fake rule said a tensor",
            hint="correct the function given to register_fake",
        )
    elsewhere = value._device is not device and not _same_place(value._device, device)
    if value._sizes != sizes or value._dtype is not dtype or elsewhere:
        raise CompileError(
            f"{op}: returned something else than its fake rule promised",
            got=f"{describe(value)}, the fake rule said {dtype.short}{list(sizes)} on {device}",
            hint="correct the function given to register_fake",
        )
    if value._strides != strides and any(
        have != want for size, have, want in zip(sizes, value._strides, strides, strict=True) if size > 1
    ):
        copy = allocate(sizes, strides, dtype, value._device)
        copy._array[...] = value._array
        return copy
    return value


def straightened(value: Tensor) -> Tensor:
    """A tensor whose address is a multiple of 16 bytes: the one given, or a copy."""
    if value.data_ptr() % 16 == 0:
        return value
    copy = allocate(value._sizes, value._strides, value._dtype, value._device)
    copy._array[...] = value._array
    return copy


def size_in(value: Any, dim: int, low: int, high: int | None, op: str) -> int:
    """A size that an opaque op chose.

    Raises
    ------
    CompileError
        If there is no such size, or it is not in the range that the op's fake rule gave.
    """
    size = value._sizes[dim] if isinstance(value, Tensor) and dim < len(value._sizes) else None
    if size is None or size < low or (high is not None and size > high):
        raise CompileError(
            f"{op}: returned something else than its fake rule promised",
            got=describe(value) if isinstance(value, Tensor) else type(value).__name__,
            hint=f"the fake rule said that size {dim} is in [{low}, {'inf' if high is None else high}]",
        )
    return size


def _same_place(a: Device, b: Device) -> bool:
    """`cuda` is `cuda:0`."""
    return a.type == b.type and (a.index or 0) == (b.index or 0)


def conform_all(values: Any, count: int, op: str) -> Any:
    """The results of an opaque op, checked to be as many as its fake rule said.

    Raises
    ------
    CompileError
        If they are not.
    """
    if not isinstance(values, (tuple, list)) or len(values) != count:
        got = f"{len(values)} tensors" if isinstance(values, (tuple, list)) else type(values).__name__
        raise CompileError(
            f"{op}: returned another number of tensors than its fake rule promised",
            got=f"{got}, the fake rule said {count}",
            hint="correct the function given to register_fake",
        )
    return values


class _Wrapper:
    def __init__(self, graph: Graph, name: str, device: Device, wide: bool):
        self.graph = graph
        self.wide = wide
        #: Names of the symbols that are read already.
        self.symbols: dict[str, str] = {}
        self.needed = _symbols(graph)
        self.device = device
        self.name = name
        #: Whether control flow calls it.
        self.is_function = False
        #: Parameters behind the graph's inputs.
        self.further: list[str] = []
        #: What stands at the top of the module, which the outermost function's wrapper prints.
        self.tops: list[str] = []
        self.outermost = True
        self.lines: list[str] = []
        self.kernels: list[KernelSource] = []
        self.names: dict[str, Any] = {}
        self.objects: dict[int, str] = {}
        self.attributes: list[str] = []
        self.functions: list[str] = []
        self.taken = set(_names(graph)) | set(keyword.kwlist) | {name, "float"}
        self.plans: dict[object, list[KernelSource]] = {}
        self.nests: dict[Node, tuple[LoopNest, list[tuple[LoopNest, Schedule]]]] = {}
        #: Members of groups that are launched once all of them are prepared.
        self.members: dict[Node, Member] = {}
        self.waiting: list[Member] = []
        #: Products that wait for the kernel that follows them slab by slab.
        self.epilogues: dict[Node, epilogues.Epilogue] = {}
        self.followed: set[Node] = set()
        self.dead: list[str] = []
        self.cell = ""

    def run(self) -> Generated:
        last = self._last_uses()
        parameters = []
        order = list(self.graph.nodes)
        # Inputs first: what any of them tells is there for all the rest.
        order.sort(key=lambda node: node.op != "placeholder")
        ends = self._find_groups(order)
        self._find_epilogues(order, last)
        for node in order:
            if node.op == "placeholder":
                parameters.append(node.name)
                self._bind(node)
                if self.is_function and node.users:
                    check = self._inject("conform", conform)
                    self._line(f"{node.name} = {check}({node.name}, {self._layout(node.meta['val'])}, {self.name!r})")
            elif node.op == "get_attr":
                self.attributes.append(str(node.target))
                if node.name != node.target:
                    self._line(f"{node.name} = {node.target}")
            elif node.op == "output":
                self._line(f"return {self._text(node.args[0])}")
            else:
                self._call(node)
                self._bind(node)
                self.dead += [d.name for d in last.get(node, ())]
                if node in ends:
                    self._launch_group()
                dead, self.dead = ([], self.dead) if self.waiting else (self.dead, [])
                if dead:
                    self._line(f"del {', '.join(dead)}")
        head = f"def {self.name}({', '.join([*parameters, *self.further])}):"
        tops = self.tops if self.outermost else []
        source = "\n".join([*tops, *self.functions, head, *self.lines, ""])
        return Generated(source, self.name, self.kernels, self.names, list(dict.fromkeys(self.attributes)))

    def _last_uses(self) -> dict[Node, list[Node]]:
        """For each step, the values that nothing after it needs."""
        result: dict[Node, list[Node]] = {}
        order = {node: i for i, node in enumerate(self.graph.nodes)}
        for node in self.graph.nodes:
            if node.op != "call_function" or isinstance(node.target, Graph):
                continue
            users = list(node.users)
            if users and not any(user.op == "output" for user in users):
                result.setdefault(max(users, key=order.__getitem__), []).append(node)
            elif not users and not _of_region(node):
                result.setdefault(node, []).append(node)
        return result

    # ---- text ------------------------------------------------------------------------------------------------------

    def _line(self, text: str, node: Node | None = None) -> None:
        text = "    " + text
        site = node.meta.get("site") if node is not None else None
        self.lines.append(f"{text:<{_COMMENT_COLUMN}}  # {site.short}" if site is not None else text)

    def _inject(self, wanted: str, value: Any) -> str:
        known = self.objects.get(id(value))
        if known is not None:
            return known
        name = re.sub(r"\W", "_", wanted)
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.names[name] = value
        self.objects[id(value)] = name
        return name

    def _text(self, value: Any) -> str:
        if isinstance(value, Node):
            return value.name
        if isinstance(value, Graph):
            return self._function(value)
        if isinstance(value, SymNumber):
            return self._number(value)
        if isinstance(value, MemoryFormat):
            return self._inject(value.name, value)
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else f'float("{value}")'
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return f"({', '.join(map(self._text, value))}{',' * (len(value) == 1)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._text, value))}]"
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{key!r}: {self._text(item)}" for key, item in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self._text(value.start)}, {self._text(value.stop)}, {self._text(value.step)})"
        if isinstance(value, DType):
            return self._inject(value.name if value.name != "bool" else "bool_", value)
        if isinstance(value, Device):
            return self._inject(str(value), value)
        return self._inject(f"constant_{type(value).__name__}", value)

    # ---- sizes that are not fixed ----------------------------------------------------------------------------------

    def _bind(self, node: Node) -> None:
        """Read the symbols that a node's value tells first."""
        value = node.meta.get("val")
        if isinstance(value, SymNumber):
            self._symbol(value, node.name)
        elif isinstance(value, Tensor):
            for what in ("_sizes", "_strides"):
                for d, number in enumerate(getattr(value, what)):
                    self._symbol(number, f"{node.name}.{what}[{d}]")
            self._symbol(value._offset, f"{node.name}._offset")

    def _symbol(self, number: Any, text: str) -> None:
        if isinstance(number, SymNumber) and number.expr.is_Symbol:
            symbol = number.expr.name
            if symbol in self.needed and symbol not in self.symbols:
                name = self.symbols[symbol] = self._fresh(symbol)
                self._line(f"{name} = {text}")

    def _promised(self, value: Tensor, name: str, label: str) -> None:
        """Read the sizes that an opaque op chose, and hold them to the range that its fake rule gave."""
        for d, size in enumerate(value._sizes):
            if isinstance(size, SymNumber) and size.expr.is_Symbol:
                check, info = self._inject("size_in", size_in), size.env.symbols[size.expr]
                self._symbol(size, f"{check}({name}, {d}, {info.low}, {info.high}, {label!r})")

    def _number(self, value: Any) -> str:
        """A number as Python, in names of the wrapper."""
        if not isinstance(value, SymNumber):
            return str(value)
        env = value.env
        expr = env.simplify(value.expr)
        for symbol in expr.free_symbols:
            if symbol.name not in self.symbols:
                # The trace found out that it equals others; the one that can be read may be the one that gave way.
                equal = next((s for s, e in env.replacements.items() if e == symbol and s.name in self.symbols), None)
                if equal is None:
                    raise CompileError(
                        f"the size {value} is not a size of any tensor in the graph",
                        got=env.symbols[symbol].site.short,
                        hint="return a tensor of that size from the op that made it",
                    )  # fmt: skip
                self.symbols[symbol.name] = self.symbols[equal.name]
        text = env.python(expr, lambda symbol: self.symbols[symbol.name])
        # An expression of integers computes an int, also where it is a float: `n * 2.0`.
        return f"({text}) / 1" if isinstance(value, SymFloat) and expr.is_integer else text

    def _size(self, size: Size) -> str:
        return str(size) if isinstance(size, int) else self._number(number_of(size))

    def _tuple(self, sizes: Iterable[Any]) -> str:
        parts = [self._number(size) if isinstance(size, SymNumber) else self._size(size) for size in sizes]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"

    # ---- steps -----------------------------------------------------------------------------------------------------

    def _call(self, node: Node) -> None:
        target = node.target
        if isinstance(target, Graph):
            self._region(node, target)
        elif target is operator.getitem:
            if not _of_region(node):
                self._line(f"{node.name} = {self._text(node.args[0])}[{self._text(node.args[1])}]", node)
        elif _is_plain_view(node) and self._is_placed(node):
            self._view(node)
        elif self._is_product(node):
            self._product(node)
        else:
            self._opaque(node)

    def _opaque(self, node: Node) -> None:
        target: Any = node.target
        is_op = isinstance(target, (OpOverload, HigherOrderOperator))
        label = str(target).removesuffix(".default") if is_op else str(target.__name__)
        function = self._inject(label, target)
        arguments = [self._text(arg) for arg in node.args]
        arguments += [f"{key}={self._text(value)}" for key, value in node.kwargs.items()]
        self._line(f"{node.name} = {function}({', '.join(arguments)})", node)
        # The layout of a built-in's result is known; what others return is checked where compiled code relies on it.
        opaque = isinstance(target, OpOverload) and declared(node) is None
        if (opaque or operand_graphs(node)) and node.users:
            self._conform(node, label)

    def _product(self, node: Node) -> None:
        value = node.meta["val"]
        self._allocate(node.name, sizes_from(value._sizes), sizes_from(value._strides), value._dtype)
        if node not in self.followed:
            function = self._inject("multiply", blas.multiply)
            self._line(f"{function}({node.name}, {self._text(node.args[0])}, {self._text(node.args[1])})", node)

    def _is_product(self, node: Node) -> bool:
        return self.device.type == "cpu" and declared(node) is not None and blas.multiplies(node)

    def _function(self, graph: Graph) -> str:
        """Print a graph that is an operand as a function of its own, which shares kernels and names with this one.

        It may be called with other layouts than it was traced with, once a loop has gone round.
        """
        inner = self._inner(graph, self._fresh(graph.name or "function"))
        inner.is_function = True
        source = inner.run().source
        if self.symbols:
            # Inside the one that is being printed, whose symbols it may use.
            self.lines += [f"    {line}" for line in source.splitlines()]
        else:
            self.functions += [source, ""]
        return inner.name

    def _inner(self, graph: Graph, name: str) -> _Wrapper:
        """What prints another function of the same module."""
        inner = _Wrapper(graph, name, self.device, self.wide)
        inner.outermost = False
        inner.kernels, inner.names, inner.objects, inner.tops = self.kernels, self.names, self.objects, self.tops
        inner.attributes, inner.taken, inner.plans = self.attributes, self.taken, self.plans
        inner.symbols = dict(self.symbols)
        return inner

    def _conform(self, node: Node, label: str) -> None:
        check = self._inject("conform", conform)
        value = node.meta.get("val")
        if isinstance(value, Tensor):
            self._promised(value, node.name, label)
            self._line(f"{node.name} = {check}({node.name}, {self._layout(value)}, {label!r})")
        elif isinstance(value, (tuple, list)) and all(isinstance(v, Tensor) for v in value):
            count = self._inject("conform_all", conform_all)
            self._line(f"{node.name} = {count}({node.name}, {len(value)}, {label!r})")
            for i, v in enumerate(value):
                self._promised(v, f"{node.name}[{i}]", label)
            items = [f"{check}({node.name}[{i}], {self._layout(v)}, {label!r})" for i, v in enumerate(value)]
            self._line(f"{node.name} = ({', '.join(items)}{',' * (len(items) == 1)})")

    def _layout(self, value: Tensor) -> str:
        layout = f"{self._tuple(value._sizes)}, {self._tuple(value._strides)}"
        return f"{layout}, {self._text(value._dtype)}, {self._text(value._device)}"

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
        tracked = declared(node).is_tracked
        view = self._inject("as_view", as_view) if tracked else self._inject("as_alias", as_alias)
        shift = value._offset - of._offset
        same = type(shift) is int and not shift
        offset = f"{base.name}._offset" + ("" if same else f" + {self._number(shift)}")
        layout = f"{self._tuple(value._sizes)}, {self._tuple(value._strides)}"
        self._line(f"{node.name} = {view}({base.name}, {layout}, {offset})", node)

    def _allocate(self, name: str, sizes: tuple[Size, ...], strides: tuple[Size, ...], dtype: DType) -> None:
        make = self._inject("allocate", allocate)
        layout = f"{self._tuple(sizes)}, {self._tuple(strides)}"
        self._line(f"{name} = {make}({layout}, {self._text(dtype)}, {self._text(self.device)})")

    def _copied(self, name: str, base: Node, buffer: Buffer, alone: bool) -> None:
        """A buffer that holds what `base` does: its own where it is `alone`, read by nothing else."""
        value = base.meta["val"]
        same = (sizes_from(value._sizes), sizes_from(value._strides)) == (buffer.sizes, buffer.strides)
        made: Any = base.args[0] if _of_region(base) else None
        owned = made is not None and base.args[1] not in dict(made.kwargs.get("into", ()))
        if alone and same and owned and len(base.users) == 1:
            self._line(f"{name} = {base.name}")
            return
        self._allocate(name, buffer.sizes, buffer.strides, buffer.dtype)
        self._line(f"{name}._array[...] = {base.name}._array")

    def _launch_region(self, node: Node, region: Graph) -> None:
        """A user's launch and what was put into its kernel."""
        launch = take_apart(region)
        assert launch is not None
        if launch.tuning is None:
            self._spliced(node, region, launch)
        else:
            self._tuned(node, region, launch)
        self._count_writes(node)

    def _spliced(
        self, node: Node, region: Graph, launch: Launch, configuration: int = 0, *, later: bool = False
    ) -> tuple[KernelSource, list[str]]:
        """One kernel for a region: that, and the names of the results that are allocated."""
        into = {number: target.name for number, target in node.kwargs.get("into", ())}
        items = {user.args[1]: user for user in node.users if user.target is operator.getitem}
        outer = dict(zip(region.placeholders(), node.args, strict=True))
        results: dict[int, str] = {}
        scratch: dict[str, str] = {}
        for i, result in enumerate(region.output_node().args[0]):
            results[i] = into[i] if i in into else items[i].name if i in items else self._fresh(f"{node.name}_{i}")
            if i not in into:
                self._allocate_like(results[i], result.meta["val"])
        written = launch.node.meta["val"]
        for name in launch.stored:
            if name not in launch.kept:
                scratch[name] = self._fresh(re.sub(r"\W", "_", f"{node.name}_{name}"))
                self._allocate_like(scratch[name], written[name])
        aligned = frozenset(p.name for p, arg in outer.items() if _of_region(arg))
        ops = [n for n in region.nodes if isinstance(n.target, OpOverload) and not is_empty(n)]
        names = [label_of(n) for n in ops if not n.target.decl.is_layout]
        label = kernel_name(
            [name_of(kernels[launch.node.kwargs["kernel_idx"]]), *dict.fromkeys(names)], len(self.kernels)
        )
        places = {p: arg.name for p, arg in outer.items()}
        if self.device.type != "cpu":
            # A GPU copies from memory to memory of its own by blocks of 16 bytes.
            straight = self._inject("straight", straightened)
            for p, arg in outer.items():
                if p.name not in aligned and isinstance(arg.meta.get("val"), Tensor):
                    places[p] = self._fresh(f"{arg.name}_")
                    self._line(f"{places[p]} = {straight}({arg.name})")
            aligned = frozenset(p.name for p in outer)
        own = frozenset(results.keys() - into.keys())
        make = load_heavy("opweave.codegen.launches").fused_kernel
        fused = make(region, label, self.device, aligned, own, wide=self.wide, configuration=configuration)
        same = (fused.kernel.source, fused.kernel.options, later)
        kernel = next((k for k in self.kernels if (k.source, k.options, k.later) == same), None)
        if kernel is None:
            kernel = replace(fused.kernel, later=later)
            self.kernels.append(kernel)
        arguments = [self._argument(a, places, results, scratch) for a in fused.arguments]
        grid = [self._text(outer.get(size, size)) for size in launch.node.kwargs["grid"][configuration]]
        self._line(f"{kernel.name}({', '.join([*grid, *arguments])})", node)
        made = {i: name for i, name in results.items() if i not in into}
        unread = [name for i, name in made.items() if i not in items]
        if (scratch or unread) and not later:
            self._line(f"del {', '.join([*scratch.values(), *unread])}")
        return kernel, [*made.values()]

    def _tuned(self, node: Node, region: Graph, launch: Launch) -> None:
        """A kernel for each configuration, a function that does the same unfused, and a call of the best."""
        into = {number: target.name for number, target in node.kwargs.get("into", ())}
        given = list(dict.fromkeys([*(arg.name for arg in node.args), *into.values()]))
        symbols = list(dict.fromkeys(self.symbols.values()))
        name = self._fresh("launch")
        kernel_idx, form_idx = launch.node.kwargs["kernel_idx"], launch.node.kwargs["constant_args_idx"]
        assert launch.tuning is not None
        fused: dict[int, str] = {}
        compiled: list[tuple[str, KernelSource]] = []
        made: list[str] = []
        reason: CompileError | None = None
        for number in launch.tuning.numbers:
            lines, self.lines = self.lines, []
            try:
                kernel, made = self._spliced(node, region, launch, number, later=True)
                self._line(f"return ({', '.join(made)}{',' * (len(made) == 1)})")
            except CompileError as error:
                reason = error
                continue
            finally:
                body, self.lines = self.lines, lines
            fused[number] = self._fresh(f"{name}_{number}")
            compiled.append((launch.tuning.labels[number], kernel))
            self.tops += [f"def {fused[number]}({', '.join([*given, *symbols])}):", *body, "", ""]
        if reason is not None and not fused:
            raise reason
        unfused = self._unfused(region.graph[UNFUSED], f"{name}_unfused", symbols)
        digest = load_heavy("opweave.codegen.launches").digest_of(self.device, compiled)
        choices = "{" + ", ".join(f"{number}: {function}" for number, function in fused.items()) + "}"
        written = tuple(given.index(target) for target in into.values())
        make = self._inject("tuned", tuned)
        self.tops += [f"{name} = {make}({kernel_idx}, {form_idx}, {digest!r}, {choices}, {unfused}, {written})", "", ""]
        form, outer = forms[form_idx], dict(zip(region.placeholders(), node.args, strict=True))
        tuner: Any = tuner_of(kernels[kernel_idx])
        operands: list[Any] = [launch.operands.get(o) for key in tuner.keys for o in form.operands_of(key)]
        numbers = [self._text(outer.get(value, value)) for value in operands if _is_number(value)]
        key = f"({', '.join(numbers)}{',' * (len(numbers) == 1)})"
        items = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
        free = iter(made)
        names = {i: next(free) for i in range(len(region.output_node().args[0])) if i not in into}
        call = f"{name}({', '.join([key, *given, *symbols])})"
        results = f"({', '.join(names.values())}{',' * (len(names) == 1)})"
        self._line(f"{results} = {call}" if names else call, node)
        unread = [result for i, result in names.items() if i not in items]
        if unread:
            self._line(f"del {', '.join(unread)}")

    def _unfused(self, graph: Graph, name: str, symbols: list[str]) -> str:
        """Print a graph as a function that is given symbols too, and the function to launch with."""
        self.taken |= set(_names(graph))
        inner = self._inner(graph, self._fresh(name))
        launch = self._fresh("launch_with")
        inner.further = [*symbols, f"{launch}={self._inject('launch', triton_kernel_wrapper_mutation)}"]
        inner.objects = {**self.objects, id(triton_kernel_wrapper_mutation): launch}
        inner.plans, first = {}, len(self.kernels)
        self.tops += [inner.run().source, ""]
        self.kernels[first:] = [replace(kernel, later=True) for kernel in self.kernels[first:]]
        return inner.name

    def _argument(
        self, argument: Any, places: Mapping[Node, str], results: Mapping[int, str], scratch: Mapping[str, str]
    ) -> str:
        """What a parameter of a fused launch is given."""
        what = argument.what
        if argument.kind == "nothing":
            return "0"
        if argument.kind == "number":
            return places[what] if isinstance(what, Node) and what in places else self._text(what)
        name = results[what] if argument.kind == "result" else scratch[what] if argument.kind == "scratch" else None
        return f"{name or places[what]}.data_ptr()"

    def _allocate_like(self, name: str, value: Tensor) -> None:
        self._allocate(name, sizes_from(value._sizes), sizes_from(value._strides), value._dtype)

    def _region(self, node: Node, region: Graph) -> None:
        if launch_of(region) is not None:
            self._launch_region(node, region)
            return
        nest, stages = self._planned(node, region)
        variables = {buffer: arg.name for buffer, arg in zip(nest.inputs, node.args, strict=True)}
        operands = dict(zip(region.placeholders(), node.args, strict=True))
        # What is allocated here is aligned; where inputs and results of opaque ops lie is not known.
        into = {number: target.name for number, target in node.kwargs.get("into", ())}
        aligned = {b for b, arg in zip(nest.inputs, node.args, strict=True) if _of_region(arg)}
        aligned |= {buffer for i, buffer in enumerate(nest.outputs) if i not in into}
        items = {user.args[1]: user for user in node.users if user.target is operator.getitem}
        scratch = []
        for i, buffer in enumerate(nest.outputs):
            if i in into:
                variables[buffer] = into[i]
                base = operands[_source_of(region)] if nest.scatters else None
                if base is not None and base.name != into[i]:
                    self._line(f"{into[i]}._array[...] = {base.name}._array")
                continue
            # A result that nobody reads still needs a place.
            variables[buffer] = items[i].name if i in items else self._fresh(f"{node.name}_{i}")
            scratch += [] if i in items else [variables[buffer]]
            if nest.scatters:
                source = _source_of(region)
                base = operands[source]
                self._copied(variables[buffer], base, buffer, is_only_scattered_to(source))
                continue
            self._allocate(variables[buffer], buffer.sizes, buffer.strides, buffer.dtype)
        member = self.members.get(node)
        if member is not None:
            member.variables = variables
            self.waiting.append(member)
            self.dead += scratch
            return
        for stage, _ in stages[:-1]:
            for buffer in stage.outputs:
                aligned.add(buffer)
                variables[buffer] = self._fresh(f"{node.name}_{buffer.name}")
                scratch.append(variables[buffer])
        for kernel, (stage, schedule) in zip(self._kernels(stages, frozenset(aligned)), stages, strict=True):
            if stage is not stages[-1][0]:
                for buffer in stage.outputs:
                    self._allocate(variables[buffer], buffer.sizes, buffer.strides, buffer.dtype)
            arguments = [f"{variables[b]}.data_ptr()" for b in (*stage.inputs, *stage.outputs)]
            checks = stage.checks()
            cell = self._cell() if checks else ""
            if checks:
                arguments.append(f"{cell}.data_ptr()")
            arguments += [self._number(variable.number) for variable in numbers_of(stage, schedule)]
            grid = [self._size(schedule.programs), *map(str, kernel.grid[1:])]
            self._launch(node, kernel, [*grid, *arguments])
            if checks:
                said = [(c.message, c.site and (c.site.file, c.site.line, c.site.function)) for c in checks]
                self._line(f"{self._inject('passed', passed)}({cell}, {said!r})")
        self._count_writes(node)
        if scratch:
            self._line(f"del {', '.join(scratch)}")

    def _launch(self, node: Node, kernel: KernelSource, arguments: list[str]) -> None:
        epilogue = self.epilogues.get(node)
        if epilogue is None:
            self._line(f"{kernel.name}({', '.join(arguments)})", node)
            return
        product = epilogue.product
        operands = [product.name, self._text(product.args[0]), self._text(product.args[1])]
        stretch = [str(epilogue.elements), str(epilogue.programs)]
        function = self._inject("multiply_then", blas.multiply_then)
        self._line(f"{function}({', '.join([*operands, *stretch, kernel.name, *arguments])})", node)

    def _cell(self) -> str:
        """Where kernels report failed checks."""
        if not self.cell:
            self.cell = self._fresh("cell")
            self._line(f"{self.cell} = {self._inject('cell_of', cell_of)}({self._text(self.device)})")
        return self.cell

    def _count_writes(self, kernel: Node) -> None:
        """Let autograd know that inputs were written."""
        for _, target in kernel.kwargs.get("into", ()):
            self._line(f"{target.name}._bump()")

    def _planned(self, node: Node, region: Graph) -> tuple[LoopNest, list[tuple[LoopNest, Schedule]]]:
        """What a region computes, and its kernels."""
        if node not in self.nests:
            nest = lower(region, wide=self.wide)
            self.nests[node] = nest, plan(nest, backend_of(self.device).schedule)
        return self.nests[node]

    def _find_epilogues(self, order: list[Node], last: dict[Node, list[Node]]) -> None:
        """Note which products wait for a kernel, and keep them and their operands until then."""
        found = epilogues.find(order, self._is_product, _is_plain_view, lambda node: self._planned(node, node.target))
        position = {node: i for i, node in enumerate(order)}
        for region, epilogue in found.items():
            if region in self.members:
                continue
            product = epilogue.product
            self.epilogues[region] = epilogue
            self.followed.add(product)
            for step in order[position[product] : position[region]]:
                late = [node for node in last.get(step, ()) if node is product or node in product.all_input_nodes]
                if late:
                    last[step] = [node for node in last[step] if node not in late]
                    last.setdefault(region, []).extend(late)

    # ---- groups ----------------------------------------------------------------------------------------------------

    def _find_groups(self, order: list[Node]) -> set[Node]:
        """Note which kernels run in groups; the last member of each run of groups."""
        ends: set[Node] = set()
        run: list[Member] = []
        written: set[Node] = set()
        read: set[Node] = set()
        for node in [*order, None]:
            if node is not None and _of_region(node):
                continue
            reads, writes = _touches(node) if node is not None and isinstance(node.target, Graph) else (set(), set())
            if not writes or reads & written or writes & (written | read):
                # A step of another kind, or one that has to wait for those before.
                ends |= self._close(run)
                run, written, read = [], set(), set()
            member = self._member(node) if node is not None and writes else None
            if member is not None:
                run.append(member)
            read |= reads
            written |= writes
        return ends

    def _close(self, run: list[Member]) -> set[Node]:
        forms: dict[str, list[Member]] = {}
        for member in run:
            forms.setdefault(member.text, []).append(member)
        chosen = {m.node: m for members in forms.values() if len(members) >= LEAST for m in members}
        self.members.update(chosen)
        return {[node for node in (m.node for m in run) if node in chosen][-1]} if chosen else set()

    def _member(self, node: Node) -> Member | None:
        if launch_of(node.target) is not None:
            return None
        nest, stages = self._planned(node, node.target)
        schedule = stages[0][1]
        if len(stages) != 1 or not is_flat(nest, schedule):
            return None
        member = Member(node, nest, schedule, "")
        member.text = print_group(nest, in_blocks(member, 1), 0, (), anonymous=True).source
        return member

    def _launch_group(self) -> None:
        """Launch what was prepared, a kernel for each form."""
        forms: dict[str, list[Member]] = {}
        for member in self.waiting:
            forms.setdefault(member.text, []).append(member)
        self.waiting = []
        for members in forms.values():
            block = max(member.schedule.lanes[0].block for member in members)
            common = shared(members)
            schedule = in_blocks(members[0], block)
            key = (print_group(members[0].nest, schedule, 0, common, anonymous=True).source, block)
            found = self.plans.get(key)
            if found is None:
                found = self.plans[key] = [print_group(members[0].nest, schedule, len(self.kernels), common)]
                self.kernels += found
            (kernel,) = found
            table = self._fresh("tables")
            sizes = self._tuple(member.size for member in members)
            make, device = self._inject("tables_of", tables), self._text(self.device)
            self.functions += [f"{table} = {make}({sizes}, {block}, {device})", ""]
            count = len(members[0].buffers)
            rows = [[m.variables[m.buffers[i]] for m in members] for i in range(count) if i not in common]
            pointers = ", ".join(f"{name}.data_ptr()" for row in rows for name in row)
            address = self._fresh("places")
            self._line(f"{address} = {self._inject('addresses_of', addresses)}({device}, {pointers})")
            arguments = [f"{address}.data_ptr()", *(f"{table}[{i}].data_ptr()" for i in range(3))]
            arguments += [f"{members[0].variables[members[0].buffers[i]]}.data_ptr()" for i in common]
            programs = sum(-(-member.size // block) for member in members)
            self._line(f"{kernel.name}({programs}, 1, 1, {', '.join(arguments)}, {len(members)})", members[-1].node)
            for member in members:
                self._count_writes(member.node)
            self.dead.append(address)

    def _fresh(self, wanted: str) -> str:
        while wanted in self.taken:
            wanted += "_"
        self.taken.add(wanted)
        return wanted

    def _kernels(self, stages: list[tuple[LoopNest, Schedule]], aligned: frozenset[Buffer]) -> list[KernelSource]:
        """Kernels of a nest's stages; two regions that print the same share them."""
        blank = [print_kernel(stage, schedule, 0, anonymous=True, aligned=aligned) for stage, schedule in stages]
        key = tuple(
            (k.source, tuple(d for _, d in k.parameters), *k.constexprs.values(), k.grid, k.numbers, k.aligned)
            for k in blank
        )
        found = self.plans.get(key)
        if found is None:
            first = len(self.kernels)
            found = [print_kernel(s, schedule, first + i, aligned=aligned) for i, (s, schedule) in enumerate(stages)]
            self.kernels += found
            self.plans[key] = found
        return found


def _is_number(value: Any) -> bool:
    """Whether an operand of a launch is a number, known now or not."""
    value = value.meta["val"] if isinstance(value, Node) else value
    return isinstance(value, (bool, int, float, SymNumber))


def _source_of(region: Graph) -> Node:
    """What the result of a region that ends in a scatter is a copy of."""
    (result,) = region.output_node().args[0]
    scatter = scatter_of(result)
    assert scatter is not None
    return scatter.places.source


def _touches(node: Node) -> tuple[set[Node], set[Node]]:
    """What a kernel reads, with the kernels that made it, and what it writes, itself included."""
    reads = {operand for operand in node.args if isinstance(operand, Node)}
    reads |= {operand.args[0] for operand in reads if _of_region(operand)}  # type: ignore[misc]  # a kernel's call
    return reads, {node, *(target for _, target in node.kwargs.get("into", ()))}


def _names(graph: Graph) -> Iterator[str]:
    """Names of all nodes, also of those in functions."""
    for node in graph.nodes:
        yield node.name
        for inner in operand_graphs(node):
            yield from _names(inner)


def _symbols(graph: Graph) -> frozenset[str]:
    """Names of all symbols that the graph's values are made of, with what they turned out to equal."""
    found: set[Any] = set()

    def note(value: Any) -> None:
        if isinstance(value, SymNumber):
            expr = value.env.simplify(value.expr)
            found.update(expr.free_symbols)
            found.update(value.expr.free_symbols)
        elif isinstance(value, Tensor):
            for number in (*value._sizes, *value._strides, value._offset):
                if type(number) is not int:
                    note(number)
        elif isinstance(value, (tuple, list)):
            for item in value:
                note(item)
        elif isinstance(value, Mapping):
            note(list(value.values()))

    for node in graph.nodes:
        note(node.meta.get("val"))
        note((node.args, node.kwargs))
    return frozenset(symbol.name for symbol in found)


def _is_plain_view(node: Node) -> bool:
    """Whether a node only shows its operand's memory with other sizes and strides, at a distance known now."""
    target: Any = node.target
    decl = declared(node)
    if decl is None or not decl.is_layout:
        return False
    base = node.all_input_nodes[0].meta.get("val")
    same_type = isinstance(base, Tensor) and base._dtype is node.meta["val"]._dtype
    # The offset of `as_strided` counts from the start of the memory; passes that mean a place in the operand say so.
    return same_type and (target.opname != "as_strided" or bool(node.meta.get("relative")))


def _of_region(node: Node) -> bool:
    return node.target is operator.getitem and isinstance(node.args[0], Node) and isinstance(node.args[0].target, Graph)
