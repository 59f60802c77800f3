"""Prints the body of a Triton kernel: programs, lanes, statements and loops of a scheduled nest.

One statement an op, with the op's name and the user's line behind it.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Sequence

from opweave.codegen.loops.nest import LoopNest, Store, needs_int64
from opweave.codegen.loops.schedule import Lane, Schedule
from opweave.codegen.loops.values import (
    Best,
    Buffer,
    Combine,
    Const,
    Extern,
    Gather,
    Load,
    Number,
    Position,
    Prim,
    Read,
    Reduce,
    Require,
    Scan,
    Value,
    topological,
)
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
from opweave.registry.dtypes import DType, float32, int32
from opweave.registry.errors import Site
from opweave.tracer.loops.index import Axis, Index
from opweave.tracer.loops.size import Size, Variable, render as render_size, variables_in

_COMMENT_COLUMN = 80
_LONGEST = 96
_SMALLEST_FLOAT32 = 1.1754943508222875e-38

_COMBINE = {"max": "nan_max", "min": "nan_min", "prod": "product", "argmax": "first_max", "argmin": "first_min"}


def numbers_of(nest: LoopNest, schedule: Schedule) -> Sequence[Variable]:
    """The numbers that a kernel takes besides addresses, in order."""
    plain = [value.size for value in nest.values() if isinstance(value, Number)]
    return variables_in([*_counts(nest, schedule), *plain])


def _counts(nest: LoopNest, schedule: Schedule) -> list[Size]:
    """What indices, loops and masks depend on."""
    inside = [size for size, _ in schedule.digits[1:]]  # how many the outermost digit counts is the grid's affair
    inside += [lane.axis.size for lane in schedule.lanes if lane.partial or lane.role == "loop"]
    inside += [axis.size for axis in schedule.loops]
    for index in nest.indices():
        inside.extend(index.sizes())
    return inside


class Printer:
    """Writes a kernel's lines; what it needs from outside them is noted on the way."""

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
        #: The names of four words, by what they are drawn by.
        self.words: dict[tuple[Value, ...], list[str]] = {}
        self.best: dict[Value, str] = {}
        self.counter = 0
        self.libdevice = False
        self.combines: set[str] = set()
        self.wide = needs_int64(nest)
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
        self.programs()
        for lane in self.schedule.lanes:
            if lane.role == "whole":
                self._lane_vector(lane, "")
        if self.schedule.looped:
            self._looped()
        else:
            self.emit(self.order)
            for store in self.nest.stores:
                self.store(store)
        return self.lines

    def programs(self) -> None:
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

    def emit(self, values: Sequence[Value]) -> None:
        for value in values:
            if value not in self.names:
                self._value(value)

    def _value(self, value: Value) -> None:
        match value:
            case Const():
                text = constant(value.value, value.dtype)
                self.names[value] = (text, 8 if text.startswith("-") else ATOM)
            case Position():
                text = self.index(value.index)
                if value.dtype is not int32 or self.wide:
                    self.names[value] = (f"{f'({text})' if ' ' in text else text}.to({TYPE[value.dtype.name]})", ATOM)
                else:
                    self.names[value] = (text, 0 if " " in text else ATOM)
            case Number():
                text = value.size.render(self.numbers.__getitem__)
                text = f"({text})" if " " in text else text
                self.names[value] = (f"tl.cast({text}, {TYPE[value.dtype.name]})", ATOM)
            case Load():
                self._bind(value, self._load(value))
            case Gather():
                self._check(value.inside, value)
                self._bind(value, self._gather(value), True)
            case Require():
                self._check(value.holds, value)
                kept = value.kept
                self.names[value] = (self._typed(kept), ATOM) if isinstance(kept, Const) else self.names[kept]
            case Best():
                self.names[value] = (self.best[value.reduction], ATOM)
            case Reduce():
                self._reduce(value)
            case Scan():
                self._bind(value, self._scan_call(value), True)
            case Prim() | Extern():
                self._compute(value)
            case _:
                raise TypeError(f"no sort of value: {type(value).__name__}")

    def _bind(self, value: Value, text: str, label: bool = False) -> None:
        name = self.temporary()
        self.names[value] = (name, ATOM)
        if label:
            self.line(f"{name} = {text}", value.label, value.site)
        else:
            self.line(f"{name} = {text}")

    def _pointer(self, buffer: Buffer, offset: Index) -> str:
        pointer = self.parameters[buffer]
        return f"{pointer} + {self.index(offset)}" if offset.terms or offset.const else pointer

    def _load(self, value: Load) -> str:
        pointer, mask = self._pointer(value.buffer, value.offset), self.mask(value.axes)
        if value.inside is not None:
            axes = value.offset.axes()
            if any(lane.axis in value.axes and lane.axis not in axes for lane in self.schedule.lanes):
                pointer = f"tl.broadcast_to({pointer}, {self._tile(value)})"
            inside = _grouped(self.names[value.inside])
            mask = f"{inside} & {mask}" if mask else inside
        return self._loaded(value, pointer, mask)

    def _gather(self, value: Gather) -> str:
        pointer = f"{self._pointer(value.buffer, value.offset)} + {_grouped(self.names[value.more])}"
        return self._loaded(value, pointer, self.mask(value.axes))

    def _loaded(self, value: Read, pointer: str, mask: str) -> str:
        if not mask:
            return f"tl.load({pointer})"
        other = self._other(value)
        return f"tl.load({pointer}, {mask}{', ' + other if other else ''})"

    def _check(self, inside: Value, user: Value | Store) -> None:
        """Report where a value is false."""
        if inside in self.checked or (isinstance(inside, Const) and inside.value):
            return
        self.checked.add(inside)
        number, text = self.checks[inside], _grouped(self.names[inside])
        never = isinstance(inside, Const)
        axes = user.axes if never else inside.axes
        mask = self.mask(axes)
        failed = (mask if never else f"~{text} & {mask}") if mask else "True" if never else f"~{text}"
        # Two-dimensional tiles stay so when they are reduced.
        reduced = len(self.schedule.lanes) == 2 and inside.depth > 0
        if failed != "True" and (reduced or any(lane.axis in axes for lane in self.schedule.lanes)):
            failed = f"tl.max(({failed}).to(tl.int32), axis=None) != 0"
        self.line(f"tl.store({self.cell}, {number}, {failed})", user.label, user.site)

    def _other(self, value: Read) -> str:
        """Padding that lets a reduction take the load as it is; what lies outside a piece is 0."""
        if isinstance(value, Load) and value.inside is not None:
            return constant(0, value.dtype)
        wanted = {self._padding(user) for user in self.uses[value]}
        found = wanted.pop() if len(wanted) == 1 else None
        return found or ""

    def _padding(self, user: Value | Store) -> str | None:
        if not isinstance(user, Reduce) or len(user.args) != 1:
            return None
        return _identity(user.combine, user.args[0].dtype)

    def _operands(self, value: Prim | Extern) -> list[tuple[str, int]]:
        chooses = isinstance(value, Prim) and value.name == "where"
        inferred = chooses or (isinstance(value, Prim) and value.name in OPERATORS)
        all_constant = all(isinstance(arg, Const) for arg in value.args[chooses:])
        all_typed = all_constant or isinstance(value, Extern) or value.name in TYPED
        result: list[tuple[str, int]] = []
        for arg in value.args:
            if isinstance(arg, Const) and (all_typed or (not inferred and not _is_plain(arg))):
                result.append((typed_constant(arg.value, arg.dtype), ATOM))
            else:
                result.append(self.names[arg])
        return result

    def _compute(self, value: Prim | Extern) -> None:
        if value.name == "philox":
            self.names[value] = (self._word(value), ATOM)
            return
        self.libdevice |= needs_libdevice(value)
        text, level = render(value, self._operands(value))
        uses = self.uses.get(value, [])
        if len(uses) == 1 and len(text) < _LONGEST and not (self.schedule.looped and self._crosses(value, uses[0])):
            user = uses[0]
            if (user.label, user.site) == (value.label, value.site) and not (isinstance(user, Reduce) and self._masked):
                self.names[value] = (text, level)
                return
        self._bind(value, text, True)

    def _word(self, value: Value) -> str:
        """One of four words, which one call of Triton's makes."""
        seed, number, place, word = value.args
        assert isinstance(word, Const)
        found = self.words.get(drawn := (seed, number, place))
        if found is None:
            found = self.words[drawn] = [self.temporary() for _ in range(4)]
            halves: list[str] = []
            for part in (place, number):
                if isinstance(part, Position) and not self.wide:
                    text = self.index(part.index)
                    halves += [f"{f'({text})' if ' ' in text else text}.to(tl.uint32)", "0"]
                    continue
                whole = self._typed(part) if isinstance(part, Const) else _grouped(self.names[part])
                halves += [f"{whole}.to(tl.uint32)", f"({whole} >> 32).to(tl.uint32)"]
            text = f"tl.philox({self._typed(seed)}, {', '.join(halves)})"
            self.line(f"{', '.join(found)} = {text}", value.label, value.site)
        return found[int(word.value)]

    def _crosses(self, value: Value, user: Value | Store) -> bool:
        """Whether a value computed before a loop is used inside it."""
        axes = user.axes
        return isinstance(user, Store) or axes != value.axes or isinstance(user, Reduce)

    @property
    def _masked(self) -> bool:
        """Whether some lanes of a reduction may lie outside."""
        lane = self.schedule.reduced_lane
        return lane is not None and lane in self.live

    def store(self, store: Store) -> None:
        pointer = self._pointer(store.buffer, store.offset)
        value = self.names[store.value][0]
        mask = self.mask(store.axes)
        if store.more is not None and store.inside is not None:
            self._check(store.inside, store)
            pointer = f"{pointer} + {_grouped(self.names[store.more])}"
            inside = _grouped(self.names[store.inside])
            mask = f"{inside} & {mask}" if mask else inside
        if store.accumulate:
            value = f"tl.load({pointer}, {mask}) + {_grouped(self.names[store.value])}"
        rest = f", {mask}" if mask else ""
        if store in self.schedule.past:
            rest += ', cache_modifier=".cs"'
        self.line(f"tl.store({pointer}, {value}{rest})", store.label, store.site)

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
        parts: list[str] = []
        for lane in self.schedule.lanes:
            if lane is self.schedule.reduced_lane:
                parts.append(lane.constant if with_reduced else "1")
            else:
                parts.append(lane.constant if lane.axis in value.axes else "1")
        if len(parts) == 1 and not with_reduced:
            return "()"
        return f"[{', '.join(parts)}]"

    def _reduce_call(self, value: Reduce, operands: Sequence[str]) -> str:
        keep = ", keep_dims=True" if len(self.schedule.lanes) == 2 else ""
        if value.combine == "sum":
            return f"tl.sum({operands[0]}, {self._axis}{keep})"
        function = self._combine(value)
        inputs = operands[0] if len(operands) == 1 else f"({', '.join(operands)})"
        return f"tl.reduce({inputs}, {self._axis}, {function}{keep})"

    def _combine(self, value: Reduce) -> str:
        """The function that combines two."""
        self.combines.add(_COMBINE[value.combine])
        return _COMBINE[value.combine]

    def _scan_call(self, value: Scan) -> str:
        (arg,), lane = value.args, self.schedule.reduced_lane
        text = self._typed(arg)
        if lane is not None and lane.axis not in arg.axes:
            text = f"tl.broadcast_to({text}, {self._shape(arg, True)})"
        if not value.backwards:
            # What lies outside the row comes last, and changes nothing before it.
            return f"tl.cum{value.combine}({text}, {self._axis})"
        text = self._harmless(text, value.combine, arg.dtype)
        return f"tl.cum{value.combine}({text}, {self._axis}, reverse=True)"

    def _typed(self, value: Value) -> str:
        """A value's text, a constant's with its type."""
        return typed_constant(value.value, value.dtype) if isinstance(value, Const) else self.names[value][0]

    def _harmless(self, text: str, combine: Combine, dtype: DType) -> str:
        """A text with the lanes outside the row made harmless."""
        lane = self.schedule.reduced_lane
        if lane is None or lane not in self.live:
            return text
        return f"tl.where({self.live[lane]}, {text}, {_identity(combine, dtype)})"

    def _padded(self, value: Reduce) -> list[str]:
        """Operands of a reduction with the lanes outside it made harmless, and spread along the reduced lane."""
        lane = self.schedule.reduced_lane
        result: list[str] = []
        for i, arg in enumerate(value.args):
            text = self._typed(arg)
            spread = lane is None or lane.axis not in arg.axes
            if len(value.args) == 2:
                # Value and position are reduced together, so they need one shape.
                whole = self._shape(value, True)
                if i == 0:
                    text = self._harmless(text, value.combine, arg.dtype)
                if spread or self._shape(arg, True) != whole:
                    text = f"tl.broadcast_to({text}, {whole})"
            elif self._masked:
                pad = _identity(value.combine, arg.dtype)
                if spread or not isinstance(arg, Read) or self._other(arg) != pad:
                    text = self._harmless(text, value.combine, arg.dtype)
            elif spread:
                text = f"tl.broadcast_to({text}, {self._shape(arg, True)})"
            result.append(text)
        return result

    def _reduce(self, value: Reduce) -> None:
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
        reductions = [value for value in self.order if isinstance(value, Reduce)]
        outside = [value for value in self.order if not value.axes & reduced and not isinstance(value, Reduce)]
        stores = list(self.nest.stores)
        for depth in range(max((value.depth for value in self.order), default=0) + 1):
            self.emit([value for value in outside if value.depth <= depth])
            here = [value for value in reductions if value.depth == depth + 1]
            # A scatter stores each time, also where all that it computes is the same.
            each = [store for store in stores if store.axes & reduced or store.more is not None]
            full = [store for store in each if store.value.depth <= depth]
            stores = [store for store in stores if store not in full]
            if here or full:
                self._loop(here, full, reduced)
        self.emit(outside)
        for store in stores:
            self.store(store)

    def _loop(self, reductions: Sequence[Reduce], stores: Sequence[Store], reduced: frozenset[Axis]) -> None:
        lane = self.schedule.reduced_lane
        accumulators = [self._accumulator(value) for value in reductions]
        outer_indent, outer_names, outer_words = self.indent, dict(self.names), dict(self.words)
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
        self.emit([value for value in topological(roots) if value.axes & reduced])
        for value, names in zip(reductions, accumulators, strict=True):
            self._accumulate(value, names)
        for store in stores:
            self.store(store)
        self.indent, self.names, self.words = outer_indent, outer_names, outer_words
        for value, names in zip(reductions, accumulators, strict=True):
            self._finish(value, names)

    def _accumulator(self, value: Reduce) -> list[str]:
        names = [self.fresh("acc")] if len(value.args) == 1 else [self.fresh("best"), self.fresh("at")]
        shape = self._shape(value, self.schedule.lane_accumulators)
        starts: Sequence[Combine] = (value.combine, "min")  # the least position is to win
        for name, combine, arg in zip(names, starts, value.args, strict=False):
            self.line(f"{name} = tl.full({shape}, {_identity(combine, arg.dtype)}, {TYPE[arg.dtype.name]})")
        return names

    def _accumulate(self, value: Reduce, names: Sequence[str]) -> None:
        operands = self._padded(value)
        if len(names) == 2:
            if not self.schedule.lane_accumulators:
                best, at = self.temporary(), self.temporary()
                self.line(f"{best}, {at} = {self._reduce_call(value, operands)}")
                operands = [best, at]
            call = f"{self._combine(value)}({names[0]}, {names[1]}, {operands[0]}, {operands[1]})"
            self.line(f"{names[0]}, {names[1]} = {call}", value.label, value.site)
            return
        chunk = operands[0] if self.schedule.lane_accumulators else self._reduce_call(value, operands)
        (name,) = names
        match value.combine:
            case "sum":
                text = f"{name} += {chunk}"
            case "prod":
                text = f"{name} *= {chunk}"
            case _:
                text = f"{name} = {self._combine(value)}({name}, {chunk})"
        self.line(text, value.label, value.site)

    def _finish(self, value: Reduce, names: Sequence[str]) -> None:
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


def _grouped(operand: tuple[str, int]) -> str:
    text, level = operand
    return text if level >= ATOM else f"({text})"


def _is_plain(constant: Const) -> bool:
    """Whether Triton gives a bare constant this very type."""
    number = constant.value
    if constant.dtype is float32 and isinstance(number, float):
        return number == 0.0 or number != number or abs(number) >= _SMALLEST_FLOAT32
    return constant.dtype is int32


def _identity(combine: Combine, dtype: DType) -> str:
    """What changes nothing when combined, as text."""
    number: float = int(combine == "prod")
    if combine not in ("sum", "prod"):
        bits, lowest = dtype.itemsize * 8, combine in ("max", "argmax")
        if dtype.kind == "f":
            number = -math.inf if lowest else math.inf
        elif dtype.kind == "u":
            number = 0 if lowest else (1 << bits) - 1
        else:
            number = -(1 << (bits - 1)) if lowest else (1 << (bits - 1)) - 1
    return constant(float(number) if dtype.kind == "f" else number, dtype)
