"""AMX's tiles in memory: what multiplies them is tested where no processor has them.

`with emulated_tiles():` code that is made then calls functions instead of AMX's instructions; it must be run by one
thread, since all share the tiles. Their sums are rounded after each product; instructions round as often, in another
order, and take small numbers for zero.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

from opweave.codegen.native import amx
from opweave.codegen.native.emitting import Function, Int, Number

_BYTES = amx.COUNT * amx.ROWS * amx.ROW_BYTES
_DATA = f"""\
@emulated.configuration = internal global [64 x i8] zeroinitializer
@emulated.tiles = internal global [{_BYTES} x i8] zeroinitializer, align 64"""


def _put(f: Function, to: str, count: Number, of: str | None = None) -> None:
    """Bytes of another place, or zeros."""
    with f.loop(0, count, rolled=False) as i:
        byte = "0" if of is None else f.op(f"load i8, ptr {f.at(of, i, 'i8')}")
        f.line(f"store i8 {byte}, ptr {f.at(to, i, 'i8')}")


def _tile(f: Function, number: Int) -> str:
    return f.at("@emulated.tiles", number * (amx.ROWS * amx.ROW_BYTES), "i8")


def _said(f: Function, number: Int) -> tuple[Int, Int]:
    """Rows of a tile, and bytes of each."""
    long = f.op(f"load i16, ptr {f.at('@emulated.configuration', number * 2 + 16, 'i8')}")
    rows = f.op(f"load i8, ptr {f.at('@emulated.configuration', number + 48, 'i8')}")
    return Int(f, f.op(f"zext i8 {rows} to i64")), Int(f, f.op(f"zext i16 {long} to i64"))


def _configure() -> str:
    f = Function("internal void", "emulated.configure", ["ptr told"])
    _put(f, "@emulated.configuration", amx.ROW_BYTES, "%told")
    _put(f, "@emulated.tiles", _BYTES)
    return f.end()


def _release() -> str:
    f = Function("internal void", "emulated.release", [])
    _put(f, "@emulated.configuration", amx.ROW_BYTES)
    return f.end()


def _zero() -> str:
    f = Function("internal void", "emulated.zero", ["i64 tile"])
    _put(f, _tile(f, f.param("tile")), amx.ROWS * amx.ROW_BYTES)
    return f.end()


def _moved(store: bool) -> str:
    f = Function("internal void", f"emulated.{'store' if store else 'load'}", ["i64 tile", "ptr place", "i64 step"])
    tile = f.param("tile")
    own, (rows, long) = _tile(f, tile), _said(f, tile)
    if not store:
        _put(f, own, amx.ROWS * amx.ROW_BYTES)
    with f.loop(0, rows, rolled=False) as row:
        here, there = f.at(own, row * amx.ROW_BYTES, "i8"), f.at("%place", row * f.param("step"), "i8")
        to, of = (there, here) if store else (here, there)
        _put(f, to, long, of)
    return f.end()


def _dot(stored: str) -> str:
    f = Function("internal void", f"emulated.dot.{stored}", [f"i64 {name}" for name in ("sums", "left", "right")])
    sums, left, right = (f.param(name) for name in ("sums", "left", "right"))
    (rows, columns), (_, depth) = _said(f, sums), _said(f, left)
    total, a_tile, b_tile = (_tile(f, number) for number in (sums, left, right))
    kind, each, real = ("i16", 2, "float") if stored == "bfloat" else ("i8", 4, "i32")

    def number(place: str) -> str:
        bits = f.op(f"load {kind}, ptr {place}")
        if stored == "i8":
            return f.op(f"sext i8 {bits} to i32")
        word = f.op(f"zext i16 {bits} to i32")
        return f.op(f"bitcast i32 {f.op(f'shl i32 {word}, 16')} to float")

    long, wide = depth // 4, columns // 4
    with (
        f.loop(0, rows, rolled=False) as m, f.loop(0, long, rolled=False) as k, f.loop(0, wide, rolled=False) as n,
    ):  # fmt: skip
        place = f.at(total, m * 16 + n, "i32")
        for part in range(each):
            a = number(f.at(a_tile, (m * 16 + k) * each + part, kind))
            b = number(f.at(b_tile, (k * 16 + n) * each + part, kind))
            old = f.op(f"load {real}, ptr {place}")
            multiply, add = ("fmul", "fadd") if stored == "bfloat" else ("mul", "add")
            new = f.op(f"{add} {real} {old}, {f.op(f'{multiply} {real} {a}, {b}')}")
            f.line(f"store {real} {new}, ptr {place}")
    return f.end()


def _definitions() -> str:
    functions = _configure(), _release(), _zero(), _moved(False), _moved(True), _dot("bfloat"), _dot("i8")
    return "\n\n".join((amx.description(amx.CONFIGURATION, [(amx.ROWS, 16)] * amx.COUNT), _DATA, *functions))


@contextlib.contextmanager
def emulated_tiles() -> Iterator[None]:
    """Make code with tiles that are in memory."""
    instead = {
        "DECLARATIONS": _definitions(),
        "configure": lambda name=amx.CONFIGURATION: f"call void @emulated.configure(ptr {name})",
        "release": lambda: "call void @emulated.release()",
        "zero": lambda tile: f"call void @emulated.zero(i64 {tile})",
        "load": lambda tile, place, step: f"call void @emulated.load(i64 {tile}, ptr {place}, i64 {step})",
        "store": lambda tile, place, step: f"call void @emulated.store(i64 {tile}, ptr {place}, i64 {step})",
        "dot": lambda stored, *tiles: (
            f"call void @emulated.dot.{stored}(i64 {tiles[0]}, i64 {tiles[1]}, i64 {tiles[2]})"
        ),
    }
    with mock.patch.multiple(amx, **instead):
        yield
