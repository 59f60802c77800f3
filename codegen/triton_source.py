"""Prints a scheduled loop nest as a Triton kernel that a person could have written.

One statement an op, with the op's name and the user's line behind it; names come from the graph, so the same region
always gives the same text (compilation is cached by it).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from opweave.codegen import schedule as scheduling
from opweave.codegen.kernel import KernelSource
from opweave.codegen.loopnest import LoopNest, Store
from opweave.codegen.schedule import Lane, Schedule
from opweave.codegen.triton_scalars import (
    ATOM,
    OPERATORS,
    TYPE,
    TYPED,
    constant,
    needs_libdevice,
    render,
    typed_constant,
)
from opweave.codegen.values import Buffer, Value, load_parts, topological
from opweave.registry.dtypes import DType, float32, int32, int64
from opweave.registry.errors import Site
from opweave.tracer.index import Axis, Index
from opweave.tracer.size import Poly, Size, Variable, render as render_size, variables_in

_COMMENT_COLUMN = 80
_LONGEST = 96
_SMALLEST_FLOAT32 = 1.1754943508222875e-38

_COMBINE = {"max": "nan_max", "min": "nan_min", "prod": "product", "argmax": "first_max", "argmin": "first_min"}


def identity(combine: str, dtype: DType) -> object:
    """What changes nothing when combined."""
    if combine == "sum":
        return 0.0 if dtype.kind == "f" else 0
    if combine == "prod":
        return 1.0 if dtype.kind == "f" else 1
    lowest = combine in ("max", "argmax")
    if dtype.kind == "f":
        return float("-inf") if lowest else float("inf")
    bits = dtype.itemsize * 8
    if dtype.kind == "u":
        return 0 if lowest else (1 << bits) - 1
    return -(1 << (bits - 1)) if lowest else (1 << (bits - 1)) - 1


def kernel_name(names: Sequence[str], number: int) -> str:
    """`fused_mul_gelu_add_softmax_0`, with the middle left out where it would be long."""
    words = [re.sub(r"\W", "_", name).strip("_") for name in names]
    text = "_".join(words)
    if len(text) > 60:
        text = "_".join([*words[:3], f"{len(words) - 4}_more", words[-1]]) if len(words) > 5 else text[:60]
    return f"fused_{text}_{number}"


def print_kernel(
    nest: LoopNest,
    schedule: Schedule,
    number: int,
    *,
    anonymous: bool = False,
    aligned: frozenset[Buffer] = frozenset(),
) -> KernelSource:
    """The kernel of a nest.

    Parameters
    ----------
    nest, schedule : LoopNest, Schedule
        What to compute and how.
    number : int
        Makes the name unique in its graph.
    anonymous : bool
        Number the parameters and leave out the comments, so that equal text means equal kernels.
    aligned : frozenset of Buffer
        Buffers whose addresses are multiples of 16 bytes.
    """
    printer = _Printer(nest, schedule, anonymous)
    name = kernel_name(nest.names, number)
    body = printer.body()
    constexprs = {lane.constant: lane.block for lane in schedule.lanes}
    numbers = tuple((printer.numbers[v], printer.number_type(v)) for v in numbers_of(nest, schedule))
    constants = [f"{c}: tl.constexpr" for c in constexprs]
    parameters = [
        *printer.parameters.values(),
        *([printer.cell] if nest.checks() else []),
        *(text for text, _ in numbers),
        *constants,
    ]
    imports = ["import triton", "import triton.language as tl"]
    if printer.libdevice:
        imports.append("from triton.language.extra import libdevice")
    if printer.combines:
        imports += ["", f"from opweave.codegen.combine import {', '.join(sorted(printer.combines))}"]
    head = f"def {name}({', '.join(parameters)}):"
    if len(head) > 118:
        head = f"def {name}(\n    {', '.join(parameters)},\n):"
    source = "\n".join([*imports, "", "", "@triton.jit", head, *body, ""])
    tile = 1
    for lane in schedule.lanes:
        tile *= lane.block
    warps = max(1, min(16, scheduling.power_of_two(tile // 512 or 1)))
    buffers = [*nest.inputs, *nest.outputs]
    pointers = tuple((printer.parameters[b], b.dtype) for b in buffers)
    if nest.checks():
        pointers += ((printer.cell, int32),)
    known = tuple(printer.parameters[b] for b in buffers if b in aligned)
    programs = schedule.programs if isinstance(schedule.programs, int) else None
    return KernelSource(name, source, pointers, constexprs, (programs, 1, 1), numbers, warps, known)


def print_group(
    nest: LoopNest, schedule: Schedule, number: int, shared: Sequence[int], *, anonymous: bool = False
) -> KernelSource:
    """The kernel of a group (see `codegen.groups`), for any of its members.

    Parameters
    ----------
    nest, schedule : LoopNest, Schedule
        What one member computes, along one axis.
    number : int
        Makes the name unique in its graph.
    shared : sequence of int
        Positions among inputs and outputs of the buffers that all members have in common.
    anonymous : bool
        As of `print_kernel`.
    """
    printer = _GroupPrinter(nest, schedule, anonymous, shared)
    name = kernel_name([*nest.names, "group"], number)
    body = printer.body()
    pointers = [("addresses", int64), ("owners", int32), ("starts", int32), ("sizes", int32)]
    buffers = [*nest.inputs, *nest.outputs]
    pointers += [(printer.parameters[buffers[i]], buffers[i].dtype) for i in shared]
    imports = ["import triton", "import triton.language as tl"]
    if printer.libdevice:
        imports.append("from triton.language.extra import libdevice")
    (lane,) = schedule.lanes
    head = f"def {name}({', '.join(text for text, _ in pointers)}, count, {lane.constant}: tl.constexpr):"
    source = "\n".join([*imports, "", "", "@triton.jit", head, *body, ""])
    warps = max(1, min(16, scheduling.power_of_two(lane.block // 512 or 1)))
    constexprs = {lane.constant: lane.block}
    return KernelSource(name, source, tuple(pointers), constexprs, (None, 1, 1), (("count", "i32"),), warps)


def numbers_of(nest: LoopNest, schedule: Schedule) -> Sequence[Variable]:
    """The numbers that a kernel takes besides addresses, in order."""
    plain = [value.detail for value in nest.values() if value.op == "size" and isinstance(value.detail, Poly)]
    return variables_in([*_counts(nest, schedule), *plain])


def _counts(nest: LoopNest, schedule: Schedule) -> list[Size]:
    """What indices, loops and masks depend on."""
    inside = [size for size, _ in schedule.digits[1:]]  # how many the outermost digit counts is the grid's affair
    inside += [lane.axis.size for lane in schedule.lanes if lane.partial or lane.role == "loop"]
    inside += [axis.size for axis in schedule.loops]
    for index in nest.indices():
        inside.extend(index.sizes())
    return inside


class _Printer:
    def __init__(self, nest: LoopNest, schedule: Schedule, anonymous: bool):
        self.nest = nest
        self.schedule = schedule
        self.lines: list[str] = []
        self.indent = "    "
        self.taken = {"tl", "triton", "libdevice", "float", "range", *_COMBINE.values()}
        self.taken |= {lane.constant for lane in schedule.lanes}
        buffers = [*nest.inputs, *nest.outputs]
        self.anonymous = anonymous
        self.parameters = {b: self.fresh(f"p{i}" if anonymous else b.name) for i, b in enumerate(buffers)}
        self.numbers = {
            v: self.fresh(f"n{i}" if anonymous or not v.text.isidentifier() else v.text)
            for i, v in enumerate(numbers_of(nest, schedule))
        }
        self.cell = self.fresh("cell")
        #: The number of each check, from 1, and those that are printed.
        self.checks = {check.inside: i for i, check in enumerate(nest.checks(), 1)}
        self.checked: set[Value] = set()
        self.counts = frozenset(variables_in(_counts(nest, schedule)))
        self.axis_names: dict[Axis, str] = {}
        self.live: dict[Lane, str] = {}
        self.names: dict[Value, tuple[str, int]] = {}
        self.best: dict[Value, str] = {}
        self.counter = 0
        self.libdevice = False
        self.combines: set[str] = set()
        self.wide = scheduling.needs_int64(nest)
        self.order = nest.values()
        self.uses: dict[Value, list[Value | Store]] = {}
        for value in self.order:
            for arg in value.args:
                self.uses.setdefault(arg, []).append(value)
        for store in nest.stores:
            for operand in store.operands:
                self.uses.setdefault(operand, []).append(store)

    # ---- names and lines -------------------------------------------------------------------------------------------

    def fresh(self, wanted: str) -> str:
        name = re.sub(r"\W", "_", wanted)
        while name in self.taken or keyword.iskeyword(name):
            name += "_"
        self.taken.add(name)
        return name

    def temporary(self) -> str:
        while True:
            name = f"t{self.counter}"
            self.counter += 1
            if name not in self.taken:
                return name

    def line(self, text: str, label: str = "", site: Site | None = None) -> None:
        text = self.indent + text
        if (label or site is not None) and not self.anonymous:
            place = site.short if site is not None else ""
            text = f"{text:<{_COMMENT_COLUMN}}  # {label:<10} {place}".rstrip()
        self.lines.append(text)

    def index(self, index: Index) -> str:
        return index.render(self.axis_names.__getitem__, self.numbers.__getitem__)

    def size(self, size: Size) -> str:
        """A size as an operand of `%` or `//`."""
        text = render_size(size, self.numbers.__getitem__)
        return f"({text})" if " " in text and not text.startswith("(") else text

    def number_type(self, variable: Variable) -> str:
        """Type of a number's parameter: what counts elements fits where offsets fit."""
        if not variable.is_integer:
            return "fp64"
        return "i32" if variable in self.counts and not self.wide else "i64"

    # ---- program and lanes -----------------------------------------------------------------------------------------

    def body(self) -> list[str]:
        self._programs()
        for lane in self.schedule.lanes:
            if lane.role == "whole":
                self._lane_vector(lane, "")
        if self.schedule.looped:
            self._looped()
        else:
            self._emit(self.order)
            for store in self.nest.stores:
                self._store(store)
        return self.lines

    def _programs(self) -> None:
        schedule = self.schedule
        digits = schedule.digits
        pid = "tl.program_id(0)" + (".to(tl.int64)" if self.wide else "")
        single = len(digits) == 1
        if len(digits) > 1:
            name = self.fresh("pid")
            self.line(f"{name} = {pid}")
            pid = name
        step: Size = 1
        rows = len(schedule.scalars)
        texts: list[tuple[Axis | Lane, str]] = []
        for i in range(len(digits) - 1, -1, -1):
            size, what = digits[i]
            text = pid if step == 1 else f"{pid} // {self.size(step)}"
            if i and size != 1:
                text = f"{text} % {self.size(size)}" if step == 1 else f"({text}) % {self.size(size)}"
            texts.append((what, "0" if size == 1 and not single else text))
            step = step * size
        for what, text in reversed(texts):
            if isinstance(what, Axis):
                number = schedule.scalars.index(what)
                self.axis_names[what] = self.fresh("row" if rows == 1 else f"i{number}")
                self.line(f"{self.axis_names[what]} = {text}")
            else:
                self._lane_vector(what, f"({text}) * " if " " in text else f"{text} * ")

    def _lane_vector(self, lane: Lane, start: str) -> None:
        name = self.axis_names.get(lane.axis) or self.fresh(lane.name)
        self.axis_names[lane.axis] = name
        vector = f"tl.arange(0, {lane.constant})"
        if self.wide:
            vector += ".to(tl.int64)"
        if start.endswith("* "):
            vector = f"{start}{lane.constant} + {vector}"
        elif start:
            vector = f"{start} + {vector}"
        if len(self.schedule.lanes) == 2:
            where = "[:, None]" if lane is self.schedule.lanes[0] else "[None, :]"
            vector = f"({vector}){where}" if " + " in vector else f"{vector}{where}"
        self.line(f"{name} = {vector}")
        if lane.partial:
            several = sum(other.partial for other in self.schedule.lanes) > 1
            live = self.live.get(lane) or self.fresh(f"live_{lane.name}" if several else "live")
            self.live[lane] = live
            self.line(f"{live} = {name} < {render_size(lane.axis.size, self.numbers.__getitem__)}")

    def mask(self, axes: frozenset[Axis]) -> str:
        return " & ".join(self.live[lane] for lane in self.schedule.lanes if lane in self.live and lane.axis in axes)

    # ---- statements ------------------------------------------------------------------------------------------------

    def _emit(self, values: Sequence[Value]) -> None:
        for value in values:
            if value not in self.names:
                self._value(value)

    def _value(self, value: Value) -> None:
        if value.op == "const":
            text = constant(value.detail, value.dtype)
            self.names[value] = (text, 8 if text.startswith("-") else ATOM)
        elif value.op == "index":
            assert isinstance(value.detail, Index)
            text = self.index(value.detail)
            if value.dtype is not int32 or self.wide:
                self.names[value] = (f"{f'({text})' if ' ' in text else text}.to({TYPE[value.dtype.name]})", ATOM)
            else:
                self.names[value] = (text, 0 if " " in text else ATOM)
        elif value.op == "size":
            assert isinstance(value.detail, Poly)
            text = value.detail.render(self.numbers.__getitem__)
            text = f"({text})" if " " in text else text
            self.names[value] = (f"tl.cast({text}, {TYPE[value.dtype.name]})", ATOM)
        elif value.op == "load":
            self._bind(value, self._load(value))
        elif value.op == "gather":
            self._check(value.args[1], value)
            self._bind(value, self._load(value), True)
        elif value.op == "require":
            self._check(value.args[1], value)
            kept = value.args[0]
            self.names[value] = (
                (typed_constant(kept.detail, kept.dtype), ATOM) if kept.op == "const" else self.names[kept]
            )
        elif value.op == "best":
            self.names[value] = (self.best[value.args[0]], ATOM)
        elif value.op == "reduce":
            self._reduce(value)
        elif value.op == "scan":
            self._bind(value, self._scan_call(value), True)
        else:
            self._compute(value)

    def _bind(self, value: Value, text: str, label: bool = False) -> None:
        name = self.temporary()
        self.names[value] = (name, ATOM)
        if label:
            self.line(f"{name} = {text}", value.label, value.site)
        else:
            self.line(f"{name} = {text}")

    def _load(self, value: Value) -> str:
        buffer, offset = load_parts(value)
        pointer = self.parameters[buffer]
        if offset.terms or offset.const:
            pointer = f"{pointer} + {self.index(offset)}"
        if value.op == "gather":
            pointer = f"{pointer} + {_grouped(self.names[value.args[0]])}"
        mask = self.mask(value.axes)
        if value.op == "load" and value.args:
            axes = offset.axes()
            if any(lane.axis in value.axes and lane.axis not in axes for lane in self.schedule.lanes):
                pointer = f"tl.broadcast_to({pointer}, {self._tile(value)})"
            inside = _grouped(self.names[value.args[0]])
            mask = f"{inside} & {mask}" if mask else inside
        if not mask:
            return f"tl.load({pointer})"
        other = self._other(value)
        return f"tl.load({pointer}, {mask}{', ' + other if other else ''})"

    def _check(self, inside: Value, user: Value | Store) -> None:
        """Report where a value is false."""
        if inside in self.checked or (inside.op == "const" and inside.detail):
            return
        self.checked.add(inside)
        number, text = self.checks[inside], _grouped(self.names[inside])
        never = inside.op == "const"
        axes = user.axes if never else inside.axes
        mask = self.mask(axes)
        failed = (mask if never else f"~{text} & {mask}") if mask else "True" if never else f"~{text}"
        # Two-dimensional tiles stay so when they are reduced.
        reduced = len(self.schedule.lanes) == 2 and inside.depth > 0
        if failed != "True" and (reduced or any(lane.axis in axes for lane in self.schedule.lanes)):
            failed = f"tl.max(({failed}).to(tl.int32), axis=None) != 0"
        self.line(f"tl.store({self.cell}, {number}, {failed})", user.label, user.site)

    def _other(self, value: Value) -> str:
        """Padding that lets a reduction take the load as it is; what lies outside a piece is 0."""
        if value.op == "load" and value.args:
            return constant(0, value.dtype)
        wanted = {self._padding(user) for user in self.uses[value]}
        found = wanted.pop() if len(wanted) == 1 else None
        return found or ""

    def _padding(self, user: Value | Store) -> str | None:
        if isinstance(user, Store) or user.op != "reduce" or len(user.args) != 1:
            return None
        return constant(identity(str(user.detail), user.args[0].dtype), user.args[0].dtype)

    def _operands(self, value: Value) -> list[tuple[str, int]]:
        inferred = value.op in OPERATORS or value.op == "where"
        arithmetic = value.args[1:] if value.op == "where" else value.args
        all_constant = all(arg.op == "const" for arg in arithmetic)
        result = []
        for arg in value.args:
            typed = all_constant or value.op in TYPED or (not inferred and not _is_plain(arg))
            if arg.op == "const" and typed:
                result.append((typed_constant(arg.detail, arg.dtype), ATOM))
            else:
                result.append(self.names[arg])
        return result

    def _compute(self, value: Value) -> None:
        self.libdevice |= needs_libdevice(value.op)
        text, level = render(value, self._operands(value))
        uses = self.uses.get(value, [])
        if len(uses) == 1 and len(text) < _LONGEST and not (self.schedule.looped and self._crosses(value, uses[0])):
            user = uses[0]
            if (user.label, user.site) == (value.label, value.site) and not (
                isinstance(user, Value) and user.op == "reduce" and self._masked(user)
            ):
                self.names[value] = (text, level)
                return
        self._bind(value, text, True)

    def _crosses(self, value: Value, user: Value | Store) -> bool:
        """Whether a value computed before a loop is used inside it."""
        axes = user.axes
        return isinstance(user, Store) or axes != value.axes or user.op == "reduce"

    def _masked(self, value: Value) -> bool:
        lane = self.schedule.reduced_lane
        return lane is not None and lane in self.live

    def _store(self, store: Store) -> None:
        pointer = self.parameters[store.buffer]
        if store.offset.terms or store.offset.const:
            pointer = f"{pointer} + {self.index(store.offset)}"
        value = self.names[store.value][0]
        mask = self.mask(store.axes)
        if store.more is not None and store.inside is not None:
            self._check(store.inside, store)
            pointer = f"{pointer} + {_grouped(self.names[store.more])}"
            inside = _grouped(self.names[store.inside])
            mask = f"{inside} & {mask}" if mask else inside
        if store.accumulate:
            value = f"tl.load({pointer}, {mask}) + {_grouped(self.names[store.value])}"
        self.line(f"tl.store({pointer}, {value}{', ' + mask if mask else ''})", store.label, store.site)

    # ---- reductions ------------------------------------------------------------------------------------------------

    @property
    def _axis(self) -> int:
        return self.schedule.lanes.index(self.schedule.reduced_lane) if self.schedule.reduced_lane is not None else 0

    def _tile(self, value: Value) -> str:
        """Tile shape of a value."""
        parts = [lane.constant if lane.axis in value.axes else "1" for lane in self.schedule.lanes]
        return f"[{', '.join(parts)}]"

    def _shape(self, value: Value, with_reduced: bool) -> str:
        """Tile shape of a value, with or without the reduced lane."""
        parts = []
        for lane in self.schedule.lanes:
            if lane is self.schedule.reduced_lane:
                parts.append(lane.constant if with_reduced else "1")
            else:
                parts.append(lane.constant if lane.axis in value.axes else "1")
        if len(parts) == 1 and not with_reduced:
            return "()"
        return f"[{', '.join(parts)}]"

    def _reduce_call(self, value: Value, operands: Sequence[str]) -> str:
        keep = ", keep_dims=True" if len(self.schedule.lanes) == 2 else ""
        if value.detail == "sum":
            return f"tl.sum({operands[0]}, {self._axis}{keep})"
        function = _COMBINE[str(value.detail)]
        self.combines.add(function)
        inputs = operands[0] if len(operands) == 1 else f"({', '.join(operands)})"
        return f"tl.reduce({inputs}, {self._axis}, {function}{keep})"

    def _scan_call(self, value: Value) -> str:
        (arg,), lane = value.args, self.schedule.reduced_lane
        function, _, backwards = str(value.detail).partition(" ")
        text = self.names[arg][0] if arg.op != "const" else typed_constant(arg.detail, arg.dtype)
        if lane is not None and lane.axis not in arg.axes:
            text = f"tl.broadcast_to({text}, {self._shape(arg, True)})"
        if not backwards:
            # What lies outside the row comes last, and changes nothing before it.
            return f"tl.{function}({text}, {self._axis})"
        if lane is not None and lane in self.live:
            pad = constant(identity({"cumsum": "sum", "cumprod": "prod"}[function], arg.dtype), arg.dtype)
            text = f"tl.where({self.live[lane]}, {text}, {pad})"
        return f"tl.{function}({text}, {self._axis}, reverse=True)"

    def _padded(self, value: Value) -> list[str]:
        """Operands of a reduction with the lanes outside it made harmless, and spread along the reduced lane."""
        lane = self.schedule.reduced_lane
        result = []
        for i, arg in enumerate(value.args):
            text = self.names[arg][0] if arg.op != "const" else typed_constant(arg.detail, arg.dtype)
            spread = lane is None or lane.axis not in arg.axes
            if len(value.args) == 2:
                # Value and position are reduced together, so they need one shape.
                whole = self._shape(value, True)
                spread = spread or self._shape(arg, True) != whole
                if i == 0 and lane is not None and lane in self.live:
                    pad = constant(identity(str(value.detail), arg.dtype), arg.dtype)
                    text = f"tl.where({self.live[lane]}, {text}, {pad})"
                if spread:
                    text = f"tl.broadcast_to({text}, {whole})"
            elif lane is not None and lane in self.live:
                pad = constant(identity(str(value.detail), arg.dtype), arg.dtype)
                already = arg.op in ("load", "gather") and self._other(arg) == pad and not spread
                if not already:
                    text = f"tl.where({self.live[lane]}, {text}, {pad})"
            elif spread:
                text = f"tl.broadcast_to({text}, {self._shape(arg, True)})"
            result.append(text)
        return result

    def _reduce(self, value: Value) -> None:
        text = self._reduce_call(value, self._padded(value))
        if len(value.args) == 1:
            self._bind(value, text, True)
            return
        best, at = self.temporary(), self.temporary()
        self.best[value] = best
        self.names[value] = (at, ATOM)
        self.line(f"{best}, {at} = {text}", value.label, value.site)

    def _looped(self) -> None:
        reduced = frozenset(self.nest.reduced)
        reductions = [value for value in self.order if value.op == "reduce"]
        stores = list(self.nest.stores)
        for depth in range(max((value.depth for value in self.order), default=0) + 1):
            self._emit([v for v in self.order if not v.axes & reduced and v.depth <= depth and v.op != "reduce"])
            here = [value for value in reductions if value.depth == depth + 1]
            # A scatter stores each time, also where all that it computes is the same.
            each = [store for store in stores if store.axes & reduced or store.more is not None]
            full = [store for store in each if store.value.depth <= depth]
            stores = [store for store in stores if store not in full]
            if here or full:
                self._loop(here, full, reduced)
        last = [v for v in self.order if not v.axes & reduced and v.op != "reduce"]
        self._emit(last)
        for store in stores:
            self._store(store)

    def _loop(self, reductions: Sequence[Value], stores: Sequence[Store], reduced: frozenset[Axis]) -> None:
        lane = self.schedule.reduced_lane
        accumulators = [self._accumulator(value) for value in reductions]
        outer_indent, outer_names = self.indent, dict(self.names)
        for axis in self.schedule.loops:
            name = self.axis_names.get(axis) or self.fresh("k")
            self.axis_names[axis] = name
            self.line(f"for {name} in range({self.size(axis.size)}):")
            self.indent += "    "
        if lane is not None and lane.role == "loop":
            start = self.fresh("start") if "start" not in self.taken else "start"
            self.line(f"for {start} in range(0, {self.size(lane.axis.size)}, {lane.constant}):")
            self.indent += "    "
            self._lane_vector(lane, start)
        roots = [arg for value in reductions for arg in value.args]
        roots += [operand for store in stores for operand in store.operands]
        self._emit([value for value in topological(roots) if value.axes & reduced])
        for value, names in zip(reductions, accumulators, strict=True):
            self._accumulate(value, names)
        for store in stores:
            self._store(store)
        self.indent, self.names = outer_indent, outer_names
        for value, names in zip(reductions, accumulators, strict=True):
            self._finish(value, names)

    def _accumulator(self, value: Value) -> list[str]:
        names = [self.fresh("acc")] if len(value.args) == 1 else [self.fresh("best"), self.fresh("at")]
        shape = self._shape_of_accumulator(value)
        for name, arg in zip(names, value.args, strict=True):
            start = identity(str(value.detail), arg.dtype) if arg is value.args[0] else identity("min", arg.dtype)
            self.line(f"{name} = tl.full({shape}, {constant(start, arg.dtype)}, {TYPE[arg.dtype.name]})")
        return names

    def _shape_of_accumulator(self, value: Value) -> str:
        return self._shape(value, self.schedule.lane_accumulators)

    def _accumulate(self, value: Value, names: Sequence[str]) -> None:
        operands = self._padded(value)
        if len(names) == 2:
            self.combines.add(_COMBINE[str(value.detail)])
            if not self.schedule.lane_accumulators:
                best, at = self.temporary(), self.temporary()
                self.line(f"{best}, {at} = {self._reduce_call(value, operands)}")
                operands = [best, at]
            call = f"{_COMBINE[str(value.detail)]}({names[0]}, {names[1]}, {operands[0]}, {operands[1]})"
            self.line(f"{names[0]}, {names[1]} = {call}", value.label, value.site)
            return
        chunk = operands[0] if self.schedule.lane_accumulators else self._reduce_call(value, operands)
        name = names[0]
        if value.detail == "sum":
            self.line(f"{name} += {chunk}", value.label, value.site)
        elif value.detail == "prod":
            self.line(f"{name} *= {chunk}", value.label, value.site)
        else:
            self.combines.add(_COMBINE[str(value.detail)])
            self.line(f"{name} = {_COMBINE[str(value.detail)]}({name}, {chunk})", value.label, value.site)

    def _finish(self, value: Value, names: Sequence[str]) -> None:
        if self.schedule.lane_accumulators:
            text = self._reduce_call(value, names)
            if len(names) == 1:
                self._bind(value, text)
                return
            best, at = self.temporary(), self.temporary()
            self.line(f"{best}, {at} = {text}")
            names = [best, at]
        self.names[value] = (names[-1], ATOM)
        if len(names) == 2:
            self.best[value] = names[0]


class _GroupPrinter(_Printer):
    """Prints a kernel that looks up what it works on."""

    def __init__(self, nest: LoopNest, schedule: Schedule, anonymous: bool, shared: Sequence[int]):
        super().__init__(nest, schedule, anonymous)
        self.taken |= {"addresses", "owners", "starts", "sizes", "count", "member", "program"}
        self.shared = frozenset(shared)

    def _programs(self) -> None:
        self.line("program = tl.program_id(0)")
        self.line("member = tl.load(owners + program)")
        row = 0
        for position, (buffer, name) in enumerate(self.parameters.items()):
            if position in self.shared:
                continue
            place = "member" if not row else f"(count * {row} + member)" if row > 1 else "(count + member)"
            kind = TYPE[buffer.dtype.name]
            self.line(f"{name} = tl.load(addresses + {place}).to(tl.pointer_type({kind}))")
            row += 1
        (lane,) = self.schedule.lanes
        name = self.axis_names[lane.axis] = self.fresh(lane.name)
        live = self.live[lane] = self.fresh("live")
        self.line(f"{name} = tl.load(starts + program) + tl.arange(0, {lane.constant})")
        self.line(f"{live} = {name} < tl.load(sizes + member)")


def _grouped(operand: tuple[str, int]) -> str:
    text, level = operand
    return text if level >= ATOM else f"({text})"


def _is_plain(value: Value) -> bool:
    """Whether Triton gives a bare constant this very type."""
    detail = value.detail
    if value.dtype is float32 and isinstance(detail, float):
        return detail == 0 or detail != detail or abs(detail) >= _SMALLEST_FLOAT32
    return value.dtype is int32
