"""Prints a host program as Python, a statement or two a step.

    def call(x, w, r):
        cumsum = demo_cumsum(x)                                             # model.py:12
        cumsum = conform(cumsum, (4096, 1024), (1024, 1), float32, cpu, "demo.cumsum")
        out = allocate((4096, 1024), (1024, 1), float32, cpu)
        fused_mul_gelu_add_softmax_0(4096, 1, 1, cumsum.data_ptr(), w.data_ptr(), r.data_ptr(), out.data_ptr())
        del cumsum
        return (out,)

Every name that is not a parameter is injected. What is to be done, in which order and under which names stands in the
steps; here is how it is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from opweave.codegen import blas, narrow_products
from opweave.codegen.checks import cell_of, passed
from opweave.codegen.conform import conform, conform_all, size_in, straightened
from opweave.codegen.convolution import convolve
from opweave.codegen.groups import addresses, tables
from opweave.codegen.host import steps as host
from opweave.codegen.host.operands import (
    Address,
    Expression,
    Layout,
    Local,
    NumberType,
    OpaqueType,
    Target,
    TensorType,
)
from opweave.codegen.host.segments import Segment
from opweave.codegen.host.steps import Program, Step
from opweave.codegen.kernel import KernelSource
from opweave.codegen.segments import (
    allocator,
    bumper,
    call_op,
    convolution_at,
    move_bytes,
    native,
    product,
    scratch,
    table,
    tensor_at,
)
from opweave.codegen.tuning import tuned
from opweave.registry import memory
from opweave.registry.containers import is_dict, is_list, is_slice, is_tuple
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import Site
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.tensor import allocate, as_alias, as_view

_COMMENT_COLUMN = 100
#: Tensors from which on one native call bumps them.
_MANY = 5


class Printer:
    """The text of a program and of all functions in it.

    Parameters
    ----------
    after : callable, optional
        Gives by the number of a step of the outermost program a statement to put behind it; by -1 one for the start.

    Attributes
    ----------
    names : dict
        Objects that the text finds as globals.
    attributes : list of str
        Constants of the graph that it finds as globals.
    """

    def __init__(self, after: Callable[[int], str] | None = None) -> None:
        self.names: dict[str, Any] = {}
        self.attributes: list[str] = []
        self._objects: dict[int, str] = {}
        #: What makes tensors, by their layout.
        self._makers: dict[str, str] = {}
        #: What stands at the top of the module.
        self._tops: list[str] = []
        self._after = after
        self._outermost: Program | None = None

    def module(self, program: Program) -> str:
        """The program as a module."""
        self._outermost = program
        source = self._function(program)
        makers = [f"{name} = {text}" for text, name in self._makers.items()]
        return "\n".join([*makers, *["", ""][: 2 * bool(makers)], *self._tops, source])

    def _function(self, program: Program) -> str:
        return _Function(self, program).text()

    def inject(self, wanted: str, value: Any, program: Program) -> str:
        """The name of an object."""
        known = self._objects.get(id(value))
        if known is not None:
            return known
        name = self._objects[id(value)] = program.names.fresh(re.sub(r"\W", "_", wanted))
        self.names[name] = value
        return name

    def maker(self, layout: str, allocator: str, wanted: str, program: Program) -> str:
        """The name of what makes tensors of a layout."""
        text = f"{allocator}({layout})"
        name = self._makers.get(text)
        if name is None:
            name = self._makers[text] = program.names.fresh(wanted)
        return name

    def top(self, *lines: str) -> None:
        """Put lines at the top of the module."""
        self._tops += lines


class _Function:
    """One function."""

    def __init__(self, printer: Printer, program: Program) -> None:
        self.printer, self.program = printer, program
        self.lines: list[str] = []
        #: What stands in front of it.
        self.before: list[str] = []

    def text(self) -> str:
        program, printer = self.program, self.printer
        after = printer._after if program is printer._outermost else None
        if after is not None:
            self._line(after(-1))
        for number, step in enumerate(program.steps):
            _PRINTERS[type(step)](self, step)
            if after is not None and not isinstance(step, host.Return):
                self._line(after(number))
        defaults = [f"{p}={self._inject(target.label, target.function)}" for p, target in program.defaults.items()]
        head = f"def {program.name}({', '.join([*map(str, program.inputs), *defaults])}):"
        return "\n".join([*self.before, head, *self.lines, ""])

    def _line(self, text: str, site: Site | None = None) -> None:
        text = "    " + text
        self.lines.append(f"{text:<{_COMMENT_COLUMN}}  # {site.short}" if site is not None else text)

    def _inject(self, wanted: str, value: Any) -> str:
        return self.printer.inject(wanted, value, self.program)

    # ---- operands --------------------------------------------------------------------------------------------------

    def _text(self, value: Any) -> str:
        if isinstance(value, (Local, Expression)):
            return str(value)
        if isinstance(value, Address):
            return f"{value.of}.data_ptr()"
        if isinstance(value, Program):
            return self._nested(value)
        if isinstance(value, MemoryFormat):
            return self._inject(value.name, value)
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else f'float("{value}")'
        if is_tuple(value) and not hasattr(value, "_fields"):
            return self._tuple(value)
        if is_list(value):
            return f"[{self._listed(value)}]"
        if is_dict(value):
            return "{" + ", ".join(f"{key!r}: {self._text(item)}" for key, item in value.items()) + "}"
        if is_slice(value):
            return f"slice({self._listed((value.start, value.stop, value.step))})"
        if isinstance(value, DType):
            return self._inject(value.name if value.name != "bool" else "bool_", value)
        if isinstance(value, Device):
            return self._inject(str(value), value)
        if isinstance(value, Layout):
            return self._listed((value.sizes, value.strides, value.dtype, value.device))
        if isinstance(value, KernelSource):
            return value.name
        return self._inject(f"constant_{type(value).__name__}", value)

    def _listed(self, values: Iterable[Any]) -> str:
        return ", ".join(map(self._text, values))

    def _tuple(self, values: Iterable[Any]) -> str:
        parts = [*map(self._text, values)]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"

    def _call(self, function: Callable[..., Any], *args: Any, name: str = "") -> str:
        return f"{self._inject(name or function.__name__, function)}({self._listed(args)})"

    def _nested(self, program: Program) -> str:
        """A function that is handed on: inside this one where it sees what is known here, else before it."""
        source = self.printer._function(program)
        if program.captured:
            self.lines += [f"    {line}" for line in source.splitlines()]
        else:
            self.before += [source, ""]
        return program.name

    # ---- steps -----------------------------------------------------------------------------------------------------

    def constant(self, step: host.Constant) -> None:
        self.printer.attributes.append(step.attribute)
        if step.result.name != step.attribute:
            self._line(f"{step.result} = {step.attribute}")

    def read(self, step: host.Read) -> None:
        of = str(step.of) if step.item is None else f"{step.of}[{step.item}]"
        if step.promise is not None:
            promise = step.promise
            check = self._inject("size_in", size_in)
            text = f"{check}({of}, {step.dim}, {promise.low}, {promise.high}, {promise.label!r})"
        elif step.what == "number":
            text = of
        else:
            text = f"{of}.{_FIELDS[step.what]}" + ("" if step.what == "offset" else f"[{step.dim}]")
        self._line(f"{step.result} = {text}")

    def alloc(self, step: host.Alloc) -> None:
        layout = self._text(step.layout)
        if all(type(n) is int for n in (*step.layout.sizes, *step.layout.strides)):
            make = self.printer.maker(layout, self._inject("allocator", allocator), f"new_{step.result}", self.program)
            self._line(f"{step.result} = {make}()")
        else:
            self._line(f"{step.result} = {self._inject('allocate', allocate)}({layout})")

    def view(self, step: host.View) -> None:
        function = self._inject("as_view", as_view) if step.tracked else self._inject("as_alias", as_alias)
        same = type(step.shift) is int and not step.shift
        offset = f"{step.base}._offset" + ("" if same else f" + {self._text(step.shift)}")
        layout = self._listed((step.base, step.sizes, step.strides))
        self._line(f"{step.result} = {function}({layout}, {offset})", step.origin.site)

    def copy(self, step: host.Copy) -> None:
        self._line(f"{step.to}._array[...] = {step.of}._array")

    def move(self, step: host.Move) -> None:
        self._line(f"{step.result} = {step.of}")

    def align(self, step: host.Align) -> None:
        self._line(f"{step.result} = {self._call(straightened, step.of, name='straight')}")

    def cell(self, step: host.Cell) -> None:
        self._line(f"{step.result} = {self._call(cell_of, step.device)}")

    def launch(self, step: host.Launch) -> None:
        self._line(f"{self._text(step.kernel)}({self._listed((*step.grid, *step.arguments))})", step.origin.site)

    def group(self, step: host.Group) -> None:
        self.tables(step)
        members = (Address(local) for row in step.rows for local in row)
        self._line(f"{step.result} = {self._call(addresses, step.device, *members, name='addresses_of')}")
        self._line(self.grouped(step, map(Address, step.shared)), step.origin.site)

    def tables(self, step: host.Group) -> None:
        """What follows from the sizes of a group, once."""
        made = self._call(tables, step.sizes, step.block, step.device, name="tables_of")
        self.printer.top(f"{step.tables} = {made}", "", "")

    def grouped(self, step: host.Group, shared: Iterable[Local | Address]) -> str:
        """The text of a group's launch."""
        given = [step.result, *shared, len(step.sizes)]
        placed = [self._text(given[0]), *(f"{step.tables}[{i}]" for i in range(3)), self._listed(given[1:])]
        return f"{self._text(step.kernel)}({step.programs}, 1, 1, {', '.join(placed)})"

    def product(self, step: host.Product) -> None:
        operands = (step.out, step.a, step.b)
        if step.factors is not None:
            self._line(self._call(narrow_products.multiply, *operands, step.term, *step.factors), step.origin.site)
            return
        if step.epilogue is None:
            self._line(self._call(blas.multiply, *operands), step.origin.site)
            return
        then, launch = step.epilogue, step.epilogue.launch
        parts = (*operands, then.elements, then.programs, launch.kernel, *launch.grid, *launch.arguments)
        self._line(self._call(blas.multiply_then, *parts), step.origin.site)

    def convolve(self, step: host.Convolve) -> None:
        parts = step.form, step.out, step.a, step.b, step.bias, step.groups, *step.steps
        self._line(self._call(convolve, *parts), step.origin.site)

    def call(self, step: host.Call) -> None:
        target = step.target
        function = self._inject(target.label, target.function) if isinstance(target, Target) else str(target)
        arguments = [self._text(arg) for arg in step.args]
        arguments += [f"{key}={self._text(value)}" for key, value in step.kwargs.items()]
        self._line(f"{step.result} = {function}({', '.join(arguments)})", step.origin.site)

    def native_call(self, step: host.NativeCall) -> None:
        """Outside of a segment, where no number that it needs is known as one."""

        def memory(local: Local) -> str:
            layout = f"{local}._sizes, {local}._strides, {local}._dtype, {local}"
            return f"{self._inject('tensor_at', tensor_at)}({local}.data_ptr(), {layout})"

        self._line(self.op_call(step, memory), step.origin.site)

    def op_call(self, step: host.NativeCall, memory: Callable[[Local], str]) -> str:
        """The text of a native call; `memory` gives that of a tensor."""
        target = self._inject(step.target.label, step.target.function)
        tensors = {*step.tensors}
        args = [memory(value) if value in tensors else self._text(value) for value in step.args]
        parts = [f"({', '.join(texts)}{',' * (len(texts) == 1)})" for texts in (args, [*map(memory, step.results)])]
        return f"{self._inject('call_op', call_op)}({target}, {', '.join(parts)})"

    def item(self, step: host.Item) -> None:
        self._line(f"{step.result} = {step.of}[{self._text(step.key)}]", step.origin.site)

    def count(self, step: host.Count) -> None:
        self._line(f"{step.of} = {self._call(conform_all, step.of, step.number, step.label)}")

    def conform(self, step: host.Conform) -> None:
        if isinstance(step.layouts, Layout):
            self._line(f"{step.of} = {self._call(conform, step.of, step.layouts, step.label)}")
            return
        check = self._inject("conform", conform)
        items = [f"{check}({step.of}[{i}], {self._text(v)}, {step.label!r})" for i, v in enumerate(step.layouts)]
        self._line(f"{step.of} = ({', '.join(items)}{',' * (len(items) == 1)})")

    def check(self, step: host.Check) -> None:
        said = [(message, site and (site.file, site.line, site.function)) for message, site in step.checks]
        self._line(f"{self._inject('passed', passed)}({step.cell}, {said!r})")

    def bump(self, step: host.Bump) -> None:
        if len(step.locals) < _MANY:
            for local in step.locals:
                self._line(f"{local}._bump()")
            return
        bump = self.printer.maker("", self._inject("bumper", bumper), "bump", self.program)
        self._line(f"{bump}({self._listed(step.locals)})")

    def tuned(self, step: host.Tuned) -> None:
        for choice in step.choices:
            self.printer.top(self.printer._function(choice.program), "")
        self.printer.top(self.printer._function(step.unfused), "")
        choices = "{" + ", ".join(f"{choice.number}: {choice.program.name}" for choice in step.choices) + "}"
        what = f"{step.kernel_idx}, {step.form_idx}, {step.digest!r}, {choices}, {step.unfused.name}, {step.written}"
        self.printer.top(f"{step.name} = {self._inject('tuned', tuned)}({what})", "", "")
        call = f"{step.name}({self._listed((step.key, *step.operands))})"
        results = f"{self._text(step.results)} = " if step.results else ""
        self._line(f"{results}{call}", step.origin.site)

    def segment(self, step: Segment) -> None:
        self.printer.top(f"@{self._inject('native', native)}", *_Segment(self, step).lines(), "", "")
        given = [f"{local}.data_ptr()" if isinstance(local.type, OpaqueType) else str(local) for local in step.inputs]
        block = None if step.on_stack else step.memory
        if block is not None:
            self._line(f"{block} = {self._call(memory.allocate, step.nbytes, name='block')}")
            given.append(f"{block}.ptr")
        self._line(f"{step.name}({', '.join([*given, *map(str, (*step.numbers, *step.owners))])})")
        if block is not None:
            self._line(f"del {block}")

    def free(self, step: host.Free) -> None:
        self._line(f"del {', '.join(map(str, step.locals))}")

    def return_(self, step: host.Return) -> None:
        self._line(f"return {self._text(step.value)}")


class _Segment:
    """The function of a segment: the same steps, over addresses."""

    def __init__(self, outer: _Function, step: Segment) -> None:
        self.outer, self.step = outer, step
        self.found: list[str] = []
        #: Where an operand is packed by now.
        self.packed: set[Local] = set()

    def lines(self) -> list[str]:
        """The text; behind its head stands where everything is."""
        step = self.step
        given = [f"{local}: {self._annotation(local)}" for local in step.inputs]
        if step.memory is not None and not step.on_stack:
            given.append(f"{step.memory}: int")
        given += [f"{local}: {self._annotation(local)}" for local in step.numbers]
        given += [f"{owner}: object" for owner in step.owners.values()]
        self.found = [f"def {step.name}({', '.join(given)}):"]
        if step.memory is not None and step.on_stack:
            self._line(f"{step.memory} = {self.outer._call(scratch, step.nbytes)}")
        for local, place in step.places.items():
            same = type(place.shift) is int and not place.shift
            self._line(f"{local} = {place.of}" + ("" if same else f" + {self.outer._text(place.shift)}"))
        for inner in step.work:
            if isinstance(inner, host.Launch):
                self._line(f"{self.outer._text(inner.kernel)}({self._listed((*inner.grid, *inner.arguments))})", inner)
            elif isinstance(inner, host.Product):
                self.product(inner)
            elif isinstance(inner, host.NativeCall):
                self._line(self.outer.op_call(inner, self._memory), inner)
            elif isinstance(inner, host.Convolve):
                self.convolve(inner)
            elif isinstance(inner, host.Group):
                self.group(inner)
            else:
                assert isinstance(inner, host.Copy)
                parts = f"{inner.to}, {inner.of}, {self.outer._text(step.copied[inner.to])}"
                self._line(f"{self.outer._inject('move_bytes', move_bytes)}({parts})", inner)
        return self.found

    def product(self, step: host.Product) -> None:
        """A product, with the kernel that follows it."""
        if step.factors is not None:
            parts = [self.outer._text(step.a.tensor.dtype), *map(self._matrix, (step.out, step.a, step.b))]
            parts += ["None" if step.term is None else self._matrix(step.term), *map(repr, step.factors)]
            self._line(f"{self.outer._inject('narrow_product', narrow_products.run)}({', '.join(parts)})", step)
            return
        dtype = self.outer._text(step.out.tensor.dtype)
        parts = [dtype, *map(self._matrix, (step.out, step.a, step.b))]
        if step.epilogue is not None:
            then, launch = step.epilogue, step.epilogue.launch
            parts += map(str, (then.elements, then.programs, self.outer._text(launch.kernel)))
            parts += [self._tuple(launch.grid), self._tuple(launch.arguments)]
        if step.packed is not None:
            parts.append(f"packed=({step.packed}, {step.packed in self.packed})")
            self.packed.add(step.packed)
        self._line(f"{self.outer._inject('product', product)}({', '.join(parts)})", step)

    def group(self, step: host.Group) -> None:
        """A launch over the members of a group."""
        self.outer.tables(step)
        members = self._listed(local for row in step.rows for local in row)
        self._line(f"{step.result} = {self.outer._inject('table', table)}({members})")
        self._line(self.outer.grouped(step, step.shared), step)

    def convolve(self, step: host.Convolve) -> None:
        """A convolution or an adjoint."""
        operands = [*map(self._matrix, (step.out, step.a, step.b))]
        operands.append("None" if step.bias is None else self._matrix(step.bias))
        text = self.outer._text
        parts = [repr(step.form), text(step.out.tensor.dtype), *operands, str(step.groups), *map(text, step.steps)]
        self._line(f"{self.outer._inject('convolution_at', convolution_at)}({', '.join(parts)})", step)

    def _annotation(self, local: Local) -> str:
        if isinstance(local.type, TensorType):
            return self.outer._text(local.type.dtype)
        return local.type.kind if isinstance(local.type, NumberType) else "int"

    def _memory(self, local: Local) -> str:
        """A tensor that an op is called with."""
        layout, place = self.step.layouts[local], self.step.places.get(local)
        owner = self.step.owners.get(local if place is None else place.of)
        parts = [str(local), self._tuple(layout.sizes), self._tuple(layout.strides), self.outer._text(layout.dtype)]
        parts += [] if owner is None else [str(owner)]
        return f"{self.outer._inject('tensor_at', tensor_at)}({', '.join(parts)})"

    def _matrix(self, local: Local) -> str:
        layout = self.step.layouts[local]
        return f"({local}, {self._tuple(layout.sizes)}, {self._tuple(layout.strides)})"

    def _tuple(self, values: Iterable[Any]) -> str:
        parts = self._listed(values)
        return f"({parts},)" if parts and ", " not in parts else f"({parts})"

    def _listed(self, values: Iterable[Any]) -> str:
        return ", ".join(str(v.of) if isinstance(v, Address) else self.outer._text(v) for v in values)

    def _line(self, text: str, step: Step | None = None) -> None:
        text, site = "    " + text, None if step is None else step.origin.site
        self.found.append(f"{text:<{_COMMENT_COLUMN}}  # {site.short}" if site is not None else text)


_FIELDS = {"size": "_sizes", "stride": "_strides", "offset": "_offset"}
_PRINTERS: dict[type[Step], Callable[[_Function, Any], None]] = {
    host.Constant: _Function.constant, host.Read: _Function.read, host.Alloc: _Function.alloc,
    host.View: _Function.view, host.Copy: _Function.copy, host.Move: _Function.move, host.Align: _Function.align,
    host.Cell: _Function.cell, host.Launch: _Function.launch, host.Group: _Function.group,
    host.Product: _Function.product, host.Convolve: _Function.convolve, host.Call: _Function.call,
    host.Item: _Function.item, host.NativeCall: _Function.native_call,
    host.Count: _Function.count, host.Conform: _Function.conform, host.Check: _Function.check,
    host.Bump: _Function.bump, host.Tuned: _Function.tuned, Segment: _Function.segment,
    host.Free: _Function.free, host.Return: _Function.return_,
}  # fmt: skip
