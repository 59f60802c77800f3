"""Images and volumes at the places of a grid (`registry.ops.grid_sampling`), in native code: forwards and backwards.

Forwards a vector holds neighbouring places: where they are, their weights and which are inside is computed once for all
channels. Backwards goes place by place, in their order, since several may add to one element. The arithmetic is that of
the ops' bodies, step by step.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.codegen.native import llvm, objects, pool
from opweave.codegen.native.emitting import Function, Int
from opweave.registry.interrupts import let_through
from opweave.registry.ops.grid_sampling import BICUBIC, BORDER, NEAREST, REFLECTION

_REALS = {"f4": ("float", "i32", 4), "f8": ("double", "i64", 8)}
#: Addresses and numbers that a program is given.
_WORDS = ("image", "grid", "out", "grad", "of.image", "of.grid", "channels", "points", "part", "parts", "whole")
#: Places of a program.
_CHUNK = 1 << 11


class Form(NamedTuple):
    """What code is for: how many dimensions an image has, of which type, and how it is sampled."""

    dims: int
    letters: str
    mode: int
    padding: int
    align_corners: bool


class _Tap(NamedTuple):
    """Along one dimension: which element, its share, how fast that changes with the place."""

    at: str
    weight: str
    slope: str


class _Corner(NamedTuple):
    """An element around a place: whether it is inside, how far it is from the first element, its weight."""

    inside: str
    at: str
    weight: str
    taps: Sequence[_Tap]


#: The weights of the elements around a place and their derivatives (Keys 1981, with a = -0.75): of those that are less
#: than 1 away, and of others.
_NEAR = (1.25, -2.25, 0.0, 1.0), (3.75, -4.5, 0.0)
_FAR = (-0.75, 3.75, -6.0, 3.0), (-2.25, 7.5, -6.0)


class _Writer:
    def __init__(self, form: Form, lanes: int, name: str) -> None:
        self.form, self.lanes = form, lanes
        self.scalar, self.word, self.bytes = _REALS[form.letters]
        self.real = self.scalar if lanes == 1 else f"<{lanes} x {self.scalar}>"
        self.ints = self.word if lanes == 1 else f"<{lanes} x {self.word}>"
        self.mask = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.f = Function("void", name, ["ptr args", "i64 start", "i64 end", "i32 x", "i32 y", "i32 z"])
        self.declared: set[str] = set()
        words = (*_WORDS, *[f"size.{d}" for d in range(form.dims)])
        self.given = {name: self.f.load("%args", place) for place, name in enumerate(words)}
        self.sizes = [self.given[f"size.{d}"] for d in range(form.dims)]

    # -- arithmetic

    def all(self, value: str, kind: str = "") -> str:
        """A number in all lanes."""
        if self.lanes == 1:
            return value
        f, kind = self.f, kind or self.scalar
        one = f.op(f"insertelement <{self.lanes} x {kind}> poison, {kind} {value}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return f.op(f"shufflevector <{self.lanes} x {kind}> {one}, <{self.lanes} x {kind}> poison, {zeros}")

    def const(self, value: float) -> str:
        """A number that float32 has exactly."""
        bits = int(np.float64(value).view(np.uint64))
        return self.all(f"0x{bits:016X}")

    def real_of(self, number: Int) -> str:
        return self.f.op(f"sitofp i64 {number} to {self.scalar}")

    def op(self, verb: str, a: str, b: str) -> str:
        return self.f.op(f"{verb} {self.real} {a}, {b}")

    def compare(self, order: str, a: str, b: str) -> str:
        return self.f.op(f"fcmp {order} {self.real} {a}, {b}")

    def select(self, mask: str, a: str, b: str, kind: str = "") -> str:
        kind = kind or self.real
        return self.f.op(f"select {self.mask} {mask}, {kind} {a}, {kind} {b}")

    def both(self, a: str, b: str) -> str:
        return self.f.op(f"and {self.mask} {a}, {b}")

    def unary(self, name: str, x: str) -> str:
        suffix = f"f{8 * self.bytes}"
        symbol = f"llvm.{name}.{suffix if self.lanes == 1 else f'v{self.lanes}{suffix}'}"
        self.declared.add(f"declare {self.real} @{symbol}({self.real})")
        return self.f.op(f"call {self.real} @{symbol}({self.real} {x})")

    # -- memory

    def taken(self, base: str, at: str, mask: str) -> str:
        """Elements that lie some way from an address, where a mask says so; 0 elsewhere."""
        f = self.f
        if self.lanes == 1:
            place = f.op(f"getelementptr {self.scalar}, ptr {base}, {self.word} {at}")
            return self.select(mask, f.op(f"load {self.real}, ptr {place}, align {self.bytes}"), "0.0")
        pointers = f"<{self.lanes} x ptr>"
        symbol = f"llvm.masked.gather.v{self.lanes}f{8 * self.bytes}.v{self.lanes}p0"
        self.declared.add(f"declare {self.real} @{symbol}({pointers}, i32, {self.mask}, {self.real})")
        places = f.op(f"getelementptr {self.scalar}, ptr {base}, {self.ints} {at}")
        return f.op(
            f"call {self.real} @{symbol}({pointers} {places}, i32 {self.bytes}, {self.mask} {mask},"
            f" {self.real} zeroinitializer)"
        )

    def stored(self, base: str, value: str, mask: str) -> None:
        f = self.f
        symbol = f"llvm.masked.store.v{self.lanes}f{8 * self.bytes}.p0"
        self.declared.add(f"declare void @{symbol}({self.real}, ptr, i32, {self.mask})")
        f.line(f"call void @{symbol}({self.real} {value}, ptr {base}, i32 {self.bytes}, {self.mask} {mask})")

    # -- places

    def places(self, grid: str, mask: str) -> tuple[list[str], list[str]]:
        """Where the places of a grid are along each dimension of the image, and how fast that changes."""
        found: list[str] = []
        slopes: list[str] = []
        lanes = ", ".join(f"{self.word} {self.form.dims * n}" for n in range(self.lanes))
        for d, size in enumerate(self.sizes):
            column = self.form.dims - 1 - d
            at = self.taken(self.f.at(grid, column, self.scalar), "0" if self.lanes == 1 else f"<{lanes}>", mask)
            place, slope = self.place(at, self.real_of(size))
            found.append(place)
            slopes.append(slope)
        return found, slopes

    def place(self, at: str, size: str) -> tuple[str, str]:
        """As the bodies' `_unnormalized`, `_reflected` and `_limited`."""
        f, one, half = self.f, self.const(1.0), self.const(0.5)
        last = f.op(f"fsub {self.scalar} {size}, 1.0")
        more = self.op("fadd", at, one)
        if self.form.align_corners:
            slope = self.all(f.op(f"fmul {self.scalar} {last}, 0.5"))
            at = self.op("fmul", more, slope)
        else:
            slope = self.all(f.op(f"fmul {self.scalar} {size}, 0.5"))
            at = self.op("fmul", self.op("fsub", self.op("fmul", more, self.all(size)), one), half)
        # Of a cubic each element around is brought in, and not the place.
        return (at, slope) if self.form.mode == BICUBIC else self.brought_in(at, slope, size)

    def brought_in(self, at: str, slope: str, size: str) -> tuple[str, str]:
        """A place as the padding has it."""
        f, zero = self.f, self.const(0.0)
        last = f.op(f"fsub {self.scalar} {size}, 1.0")
        if self.form.padding == REFLECTION:
            twice = self.all(f.op(f"fmul {self.scalar} {last if self.form.align_corners else size}, 2.0"))
            low = self.const(0.0 if self.form.align_corners else -0.5)
            moved = self.op("fsub", at, low)
            far = self.unary("fabs", moved)
            turns = self.unary("trunc", self.op("fdiv", far, twice))
            over = self.op("fsub", far, self.op("fmul", turns, twice))
            back = self.op("fadd", f.op(f"fneg {self.real} {over}"), twice)
            inside = self.compare("olt", over, back)
            # A line of one element, whose places are all that one: `twice` is 0.
            is_line = self.compare("oeq", twice, zero)
            least = self.op("fadd", self.select(inside, over, back), low)
            mirrored = f.op(f"xor {self.mask} {inside}, {self.compare('olt', moved, zero)}")
            turned = f.op(f"fneg {self.real} {slope}")
            slope = self.select(is_line, zero, self.select(mirrored, slope, turned))
            at = self.select(is_line, self.op("fmul", at, zero), least)
        if self.form.padding in (BORDER, REFLECTION):
            end = self.all(last)
            above, below = self.compare("ogt", at, zero), self.compare("olt", at, end)
            low = self.select(above, at, zero)
            at = self.select(self.compare("olt", low, end), low, end)
            slope = self.select(self.both(above, below), slope, zero)
        return at, slope

    def taps(self, at: str, size: Int) -> list[_Tap]:
        """The elements along one dimension that have a share in a place."""
        if self.form.mode == NEAREST:
            return [_Tap(self.unary("roundeven", at), self.const(1.0), self.const(0.0))]
        one, minus = self.const(1.0), self.const(-1.0)
        before = self.unary("floor", at)
        if self.form.mode != BICUBIC:
            behind = self.op("fadd", before, one)
            return [_Tap(before, self.op("fsub", behind, at), minus), _Tap(behind, self.op("fsub", at, before), one)]
        found: list[_Tap] = []
        share = self.op("fsub", at, before)
        rest = self.op("fsub", one, share)
        shares = [
            (self.op("fadd", share, one), _FAR),
            (share, _NEAR),
            (rest, _NEAR),
            (self.op("fadd", rest, one), _FAR),
        ]
        for number, (x, (cubic, change)) in enumerate(shares):
            place = self.op("fadd", before, self.const(number - 1.0))
            place, _ = self.brought_in(place, one, self.real_of(size))
            slope = self.polynomial(change, x)
            if number > 1:
                slope = self.f.op(f"fneg {self.real} {slope}")
            # A place mirrored at an edge may lie on it.
            found.append(_Tap(self.unary("floor", place), self.polynomial(cubic, x), slope))
        return found

    def polynomial(self, coefficients: Sequence[float], x: str) -> str:
        """By Horner's rule, the highest power first."""
        total = self.const(coefficients[0])
        for value in coefficients[1:]:
            total = self.op("fmul", total, x)
            total = self.op("fadd", total, self.const(value)) if value else total
        return total

    def corners(self, places: Sequence[str]) -> list[_Corner]:
        """The elements of which a mean is taken."""
        taps = [self.taps(at, size) for at, size in zip(places, self.sizes, strict=True)]
        return [self.corner(chosen) for chosen in itertools.product(*taps)]

    def corner(self, taps: Sequence[_Tap]) -> _Corner:
        inside, at = self.element([tap.at for tap in taps])
        weight = functools.reduce(lambda a, b: self.op("fmul", a, b), [tap.weight for tap in taps])
        return _Corner(inside, at, weight, taps)

    def element(self, places: Sequence[str]) -> tuple[str, str]:
        """Whether whole places are inside, and where the element is; the first one where they are not."""
        f, zero = self.f, self.const(0.0)
        inside = ""
        for at, size in zip(places, self.sizes, strict=True):
            within = self.both(self.compare("oge", at, zero), self.compare("olt", at, self.all(self.real_of(size))))
            inside = within if not inside else self.both(inside, within)
        flat = ""
        for at, size in zip(places, self.sizes, strict=True):
            number = f.op(f"fptosi {self.real} {self.select(inside, at, zero)} to {self.ints}")
            if not flat:
                flat = number
                continue
            many = f"{size}" if self.word == "i64" else f.op(f"trunc i64 {size} to i32")
            flat = f.op(f"mul {self.ints} {flat}, {self.all(many, self.word)}")
            flat = f.op(f"add {self.ints} {flat}, {number}")
        return inside, flat

    # -- programs

    def begun(self, program: Int) -> tuple[Int, Int, Int]:
        """(number of the image, first place, place behind the last)."""
        n, part = program // self.given["parts"], program % self.given["parts"]
        first = part * self.given["part"]
        return n, first, (first + self.given["part"]).least(self.given["points"])

    def start(self, name: str, elements: Int) -> str:
        return self.f.at(self.f.pointer(self.given[name]), elements, self.scalar)

    def forward(self) -> str:
        f, w = self.f, self.given
        with f.loop(f.param("start"), f.param("end")) as program:
            n, first, last = self.begun(program)
            with f.loop(first, last, self.lanes) as p:
                left = f.op(f"trunc i64 {last - p} to i32") if self.lanes > 1 else ""
                mask = "true"
                if self.lanes > 1:
                    numbers = ", ".join(f"i32 {lane}" for lane in range(self.lanes))
                    kind = f"<{self.lanes} x i32>"
                    mask = f.op(f"icmp slt {kind} <{numbers}>, {self.all(left, 'i32')}")
                grid = self.start("grid", (n * w["points"] + p) * self.form.dims)
                places, _ = self.places(grid, mask)
                corners = self.corners(places)
                with f.loop(0, w["channels"]) as c:
                    plane = n * w["channels"] + c
                    image = self.start("image", plane * w["whole"])
                    total = ""
                    for corner in corners:
                        part = self.taken(image, corner.at, self.both(corner.inside, mask))
                        if self.form.mode != NEAREST:
                            part = self.op("fmul", part, corner.weight)
                        total = part if not total else self.op("fadd", total, part)
                    self.stored(self.start("out", plane * w["points"] + p), total, mask)
        return self.end()

    def backward(self) -> str:
        f, w = self.f, self.given
        with f.loop(f.param("start"), f.param("end")) as n, f.loop(0, w["points"]) as p:
            grid = self.start("grid", (n * w["points"] + p) * self.form.dims)
            places, slopes = self.places(grid, "true")
            corners = self.corners(places)
            sums = [f.room(self.scalar) for _ in corners]
            for slot in sums:
                f.line(f"store {self.scalar} 0.0, ptr {slot}")
            with f.loop(0, w["channels"]) as c:
                plane = n * w["channels"] + c
                grad = f.op(f"load {self.scalar}, ptr {self.start('grad', plane * w['points'] + p)}")
                image, to = self.start("image", plane * w["whole"]), self.start("of.image", plane * w["whole"])
                for corner, slot in zip(corners, sums, strict=True):
                    if self.form.mode != NEAREST:
                        value = self.op("fmul", self.taken(image, corner.at, corner.inside), grad)
                        before = f.op(f"load {self.scalar}, ptr {slot}")
                        f.line(f"store {self.scalar} {self.op('fadd', before, value)}, ptr {slot}")
                    place = f.op(f"getelementptr {self.scalar}, ptr {to}, {self.word} {corner.at}")
                    part = self.select(corner.inside, self.op("fmul", grad, corner.weight), "0.0")
                    own = f.op(f"load {self.scalar}, ptr {place}")
                    f.line(f"store {self.scalar} {self.op('fadd', own, part)}, ptr {place}")
            if self.form.mode != NEAREST:
                totals = [f.op(f"load {self.scalar}, ptr {slot}") for slot in sums]
                of_grid = self.start("of.grid", (n * w["points"] + p) * self.form.dims)
                for d, slope in enumerate(slopes):
                    change = ""
                    for corner, total in zip(corners, totals, strict=True):
                        shares = [tap.slope if d == other else tap.weight for other, tap in enumerate(corner.taps)]
                        part = functools.reduce(lambda a, b: self.op("fmul", a, b), [total, *shares])
                        change = part if not change else self.op("fadd", change, part)
                    place = f.at(of_grid, self.form.dims - 1 - d, self.scalar)
                    f.line(f"store {self.scalar} {self.op('fmul', change, slope)}, ptr {place}")
        return self.end()

    def end(self) -> str:
        rolled = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}'
        declared = ["declare i64 @llvm.smin.i64(i64, i64)", *sorted(self.declared)]
        return "\n".join([*declared, self.f.end(), rolled])


_FORWARD, _BACKWARD = "opweave.sampled", "opweave.sampled.backward"


def source(form: Form, *, backwards: bool) -> str:
    """The LLVM IR of the function of a form."""
    if backwards:
        return _Writer(form, 1, _BACKWARD).backward()
    return _Writer(form, llvm.host().vector_bits // 8 // _REALS[form.letters][2], _FORWARD).forward()


class _Loaded:
    def __init__(self, form: Form, backwards: bool) -> None:
        name = f"{'gradient of ' if backwards else ''}grid sample of {form}"
        code = objects.Code(lambda: source(form, backwards=backwards), name, objects.CLEANED)
        pool.native()
        symbol = _BACKWARD if backwards else _FORWARD
        self.address = code.load([symbol]).address(symbol)
        self.cost = ctypes.c_double()


@functools.cache
def _loaded(form: Form, backwards: bool) -> _Loaded | None:
    try:
        return _Loaded(form, backwards)
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy goes on
        let_through(error)
        return None


def run(
    image: Any,
    grid: Any,
    mode: int,
    padding: int,
    align_corners: bool,
    out: Any,
    grad: Any,
    of_image: Any,
    of_grid: Any,
) -> bool:
    """`registry.ops.grid_sampling.native`."""
    form = Form(image.ndim - 2, image.dtype.str[1:], mode, padding, align_corners)
    backwards = out is None
    loaded = _loaded(form, backwards)
    if loaded is None:
        return False
    batch, channels, *sizes = image.shape
    points, whole = math.prod(grid.shape[1:-1]), math.prod(sizes)
    chunk = min(points, _CHUNK)
    chunks = -(-points // chunk)
    arrays = (image, grid, out, grad, of_image, of_grid)
    words = [0 if a is None else a.__array_interface__["data"][0] for a in arrays]
    words += [channels, points, chunk, chunks, whole, *sizes]
    args = (ctypes.c_int64 * len(words))(*words)
    programs = batch if backwards else batch * chunks
    pool.native().run(loaded.address, ctypes.addressof(args), programs, 0, 0, 0, ctypes.byref(loaded.cost))
    return True
