"""Kernels made at random, and what NumPy says they compute.

    python tests/triton_cpu/random_kernels.py --count 5000 --seed 0

A kernel is a list of statements over blocks of several types and shapes: loads, arithmetic, casts, selects, reductions,
views, loops, and stores between them. Every statement is run in NumPy while it is written, for all programs of the grid
at once, so that a kernel comes with the contents that all its arrays must have. All of it is exact: products and sums
are kept apart, and what a type leaves undefined (division by zero, casts out of range) is masked in the source.
"""

from __future__ import annotations

import argparse
import ctypes
import linecache
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from native import ttir

from opweave.codegen.native import llvm, objects
from opweave.codegen.triton_cpu.analysis import TargetFeatures
from opweave.codegen.triton_cpu.lower import lower

BF16 = np.dtype(ml_dtypes.bfloat16)
TYPES: dict[str, tuple[str, Any]] = {
    "i8": ("int8", np.int8), "i16": ("int16", np.int16), "i32": ("int32", np.int32), "i64": ("int64", np.int64),
    "u8": ("uint8", np.uint8), "u16": ("uint16", np.uint16), "u32": ("uint32", np.uint32), "u64": ("uint64", np.uint64),
    "fp16": ("float16", np.float16), "bf16": ("bfloat16", BF16), "fp32": ("float32", np.float32),
    "fp64": ("float64", np.float64), "i1": ("int1", np.bool_),
}  # fmt: skip
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("fp16", "bf16", "fp32", "fp64")
PROGRAMS = 3


@dataclass
class Block:
    """A value of the kernel: its name, its type, and its contents, the program first."""

    text: str
    kind: str
    value: np.ndarray[Any, Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape[1:]


@dataclass
class Array:
    """Memory: `rows` rows a program of `columns` elements."""

    name: str
    kind: str
    data: np.ndarray[Any, Any]
    """What it held at first."""
    now: np.ndarray[Any, Any]
    """What it holds after the statements so far."""


@dataclass
class Program:
    """A kernel being written."""

    rng: np.random.Generator
    rows: int
    block: int
    columns: int
    trips: int
    lines: list[str] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    names: int = 0
    indent: str = "    "

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def emit(self, expression: str, kind: str, value: Any, *, keep: bool = True) -> Block:
        name = f"v{self.names}"
        self.names += 1
        self.lines.append(f"{self.indent}{name} = {expression}")
        block = Block(name, kind, np.asarray(value).astype(TYPES[kind][1], copy=False))
        if keep:
            self.blocks.append(block)
        return block

    def some(self, kinds: Any = None, shape: Any = None, rank: int | None = None) -> Block:
        """A block there is, or a new one where none fits."""
        fitting = [
            b for b in self.blocks
            if (kinds is None or b.kind in kinds) and (shape is None or b.shape == shape)
            and (rank is None or len(b.shape) == rank)
        ]  # fmt: skip
        if fitting and self.rng.random() < 0.9:
            recent = fitting[-6:]
            return self.pick(recent if self.rng.random() < 0.7 else fitting)
        source = self.pick(self.blocks)
        if shape is not None and source.shape != shape:
            source = shaped(self, shape)
        elif rank is not None and len(source.shape) != rank:
            source = constant(self, (self.rows, self.block)[:rank])
        return source if kinds is None or source.kind in kinds else cast(self, source, self.pick(kinds))


def draw(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Any:
    dtype = TYPES[kind][1]
    if kind == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in INTEGERS:
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        return x >> rng.integers(0, info.bits, shape).astype(dtype)
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-6, 7, shape))
    x = np.where(rng.random(shape) < 0.05, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), x)
    return x.astype(dtype)


# --- statements


def shaped(p: Program, shape: tuple[int, ...]) -> Block:
    """Something of a shape: loaded, broadcast or constant."""
    if shape == (p.rows, p.block) and p.rng.random() < 0.7:
        return load(p)
    fitting = [
        b for b in p.blocks
        if len(b.shape) == len(shape) and all(d in (1, e) for d, e in zip(b.shape, shape, strict=True))
    ]  # fmt: skip
    if not fitting or p.rng.random() < 0.3:
        return constant(p, shape)
    b = p.pick(fitting)
    text = f"tl.broadcast_to({b.text}, ({', '.join(map(str, shape))},))"
    return p.emit(text, b.kind, np.broadcast_to(b.value, (PROGRAMS, *shape)))


def constant(p: Program, shape: tuple[int, ...]) -> Block:
    kind = p.pick(("i32", "fp32", "i64", "u8", "fp16"))
    number = int(p.rng.integers(-4, 9)) if kind != "u8" else int(p.rng.integers(0, 9))
    text = f"tl.full(({', '.join(map(str, shape))},), {number}, tl.{TYPES[kind][0]})"
    return p.emit(text, kind, np.full((PROGRAMS, *shape), number))


def full(p: Program) -> Block:
    return constant(p, (p.rows, p.block))


def index(p: Program) -> Block:
    """Positions, of the block or of the whole."""
    size = p.pick((p.rows, p.block))
    start = int(p.rng.integers(-5, 5))
    if p.rng.random() < 0.5:
        return p.emit(f"tl.arange(0, {size}) + {start}", "i32", np.tile(np.arange(size) + start, (PROGRAMS, 1)))
    value = np.arange(PROGRAMS)[:, None] * size + np.arange(size) + start
    return p.emit(f"pid * {size} + tl.arange(0, {size}) + {start}", "i32", value)


def load(p: Program) -> Block:
    a = p.pick(p.arrays)
    whole = a.now.reshape(PROGRAMS, p.rows, p.columns)
    live = np.arange(p.block) < p.columns
    other = p.pick((None, 0, 1))
    fill = np.zeros((), a.now.dtype) if other is None else np.asarray(other).astype(a.now.dtype)
    order = np.arange(p.block)
    columns = "c"
    if p.rng.random() < 0.25:
        order, columns = (p.columns - 1 - order), f"({p.columns} - 1 - c)"
    picked = whole[:, :, np.clip(order, 0, p.columns - 1)]
    value = np.where(live, picked, fill)
    mask = "live" if p.rng.random() < 0.7 else f"(c < {p.columns})[None, :] & (r >= 0)[:, None]"
    rest = "" if other is None else f", {other}" if a.kind != "i1" else f", {bool(other)}"
    return p.emit(f"tl.load({a.name} + row * {p.columns} + {columns}[None, :], {mask}{rest})", a.kind, value)


def store(p: Program) -> None:
    """Over an array of the kernel's, which later loads must see and earlier ones must not."""
    a = p.pick(p.arrays)
    b = p.some(shape=(p.rows, p.block))
    if b.kind != a.kind:
        b = cast(p, b, a.kind)
    p.lines.append(f"{p.indent}tl.store({a.name} + row * {p.columns} + c[None, :], {b.text}, live)")
    a.now.reshape(PROGRAMS, p.rows, p.columns)[:] = b.value[:, :, : p.columns]


def cast(p: Program, b: Block, kind: str) -> Block:
    if b.kind == kind:
        return b
    target = f"tl.{TYPES[kind][0]}"
    value: Any
    if b.kind in FLOATS and kind in INTEGERS:
        low, high = (-100, 100) if kind[0] == "i" else (0, 200)
        inside = (b.value.astype("f8") > low) & (b.value.astype("f8") < high)
        text = f"tl.where(({b.text} > {low}) & ({b.text} < {high}), {b.text}, 0.0).to({target})"
        return p.emit(text, kind, np.where(inside, b.value.astype("f8"), 0).astype(TYPES[kind][1]))
    if kind == "i1":
        value = b.value.astype("f8") != 0 if b.kind in FLOATS else b.value != 0
    elif b.kind in INTEGERS and kind in ("fp16", "bf16"):
        value = b.value.astype("f4").astype(TYPES[kind][1])
    elif b.kind in ("fp16", "bf16") and kind in ("fp16", "bf16"):
        value = b.value.astype("f4").astype(TYPES[kind][1])
    elif b.kind == "fp64" and kind == "bf16":
        return cast(p, cast(p, b, "fp32"), "bf16")
    else:
        value = b.value.astype(TYPES[kind][1])
    return p.emit(f"{b.text}.to({target})", kind, value)


def anycast(p: Program) -> Block:
    return cast(p, p.some(), p.pick(tuple(TYPES)))


def partner(p: Program, b: Block) -> Block:
    """A block of the same type that broadcasts with `b`."""
    shapes = [b.shape]
    if len(b.shape) == 2:
        shapes += [(1, b.shape[1]), (b.shape[0], 1)]
    fitting = [x for x in p.blocks if x.kind == b.kind and x.shape in shapes and (x is not b or p.rng.random() < 0.1)]
    if fitting and p.rng.random() < 0.85:
        return p.pick(fitting)
    return cast(p, p.some(shape=b.shape), b.kind)


def truncated_division(a: Any, b: Any) -> tuple[Any, Any]:
    if a.dtype.kind == "u":
        return a // b, a % b
    quotient = a // b
    rest = a - quotient * b
    bump = (rest != 0) & ((a < 0) != (b < 0))
    quotient = quotient + bump.astype(a.dtype)
    return quotient, a - quotient * b


def binary(p: Program) -> Block:
    a = p.some()
    b = partner(p, a)
    if p.rng.random() < 0.3:
        a, b = b, a
    x, y = a.value, b.value
    t, u = a.text, b.text
    if a.kind == "i1":
        op = p.pick(("&", "|", "^"))
        function = {"&": np.logical_and, "|": np.logical_or, "^": np.logical_xor}[op]
        return p.emit(f"{t} {op} {u}", "i1", function(x, y))
    if a.kind in INTEGERS:
        choice = p.pick(("+", "-", "*", "&", "|", "^", "min", "max", "//", "%"))
        if choice in ("//", "%"):
            unsafe = y == 0
            if x.dtype.kind == "i":
                unsafe = unsafe | (y == -1)
            safe = np.where(unsafe, np.ones((), y.dtype), y)
            quotient, rest = truncated_division(*np.broadcast_arrays(x, safe))
            test = f"({u} == 0)" + (f" | ({u} == -1)" if x.dtype.kind == "i" else "")
            one = f"tl.full({_shape(b)}, 1, tl.{TYPES[a.kind][0]})"
            guarded = p.emit(f"tl.where({test}, {one}, {u})", a.kind, safe)
            return p.emit(f"{t} {choice} {guarded.text}", a.kind, quotient if choice == "//" else rest)
        if choice in ("min", "max"):
            return p.emit(f"tl.{choice}imum({t}, {u})", a.kind, getattr(np, choice + "imum")(x, y))
        function = {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or,
                    "^": np.bitwise_xor}[choice]  # fmt: skip
        return p.emit(f"{t} {choice} {u}", a.kind, function(x, y))
    choice = p.pick(("+", "-", "*", "/", "min", "max", "nanmin", "nanmax"))
    if choice == "/":
        wide = "fp64" if a.kind == "fp64" else "fp32"  # halves are divided in f32
        dtype = TYPES[wide][1]
        return p.emit(f"{t} / {u}", wide, x.astype(dtype) / y.astype(dtype))
    wide = "fp32" if a.kind == "bf16" else a.kind  # which bfloat16 is compared in
    if choice in ("min", "max"):
        return p.emit(f"tl.{choice}imum({t}, {u})", wide, getattr(np, "f" + choice)(x, y))
    if choice.startswith("nan"):
        text = f"tl.{choice[3:]}imum({t}, {u}, propagate_nan=tl.PropagateNan.ALL)"
        return p.emit(text, wide, getattr(np, choice[3:] + "imum")(x, y))
    return p.emit(f"{t} {choice} {u}", a.kind, {"+": np.add, "-": np.subtract, "*": np.multiply}[choice](x, y))


def _shape(b: Block) -> str:
    return "(" + "".join(f"{d}, " for d in b.shape) + ")"


def unary(p: Program) -> Block:
    a = p.some()
    x, t = a.value, a.text
    if a.kind == "i1":
        return p.emit(f"~{t}", "i1", ~x)
    if a.kind in INTEGERS:
        bits = x.dtype.itemsize * 8
        shift = int(p.rng.integers(0, bits))
        choice = p.pick(("~", "-", "<<", ">>", "abs"))
        if choice in ("<<", ">>"):
            n = x.dtype.type(shift)
            return p.emit(f"{t} {choice} {shift}", a.kind, x << n if choice == "<<" else x >> n)
        if choice == "abs":
            return p.emit(f"tl.abs({t})", a.kind, np.abs(x))
        if choice == "-" and x.dtype.kind == "i":
            return p.emit(f"-{t}", a.kind, -x)
        return p.emit(f"~{t}", a.kind, ~x)
    choice = p.pick(("abs", "neg", "floor", "sqrt"))
    if choice == "abs":
        return p.emit(f"tl.abs({t})", a.kind, np.abs(x))
    if choice == "neg":
        return p.emit(f"-{t}", a.kind, x.dtype.type(0) - x)
    if a.kind in ("fp16", "bf16"):
        a = cast(p, a, "fp32")
        x, t = a.value, a.text
    if choice == "floor":
        return p.emit(f"tl.floor({t})", a.kind, np.floor(x))
    return p.emit(f"tl.sqrt(tl.abs({t}))", a.kind, np.sqrt(np.abs(x)))


def compare(p: Program) -> Block:
    a = p.some([k for k in TYPES if k != "i1"])
    b = partner(p, a)
    op = p.pick(("<", "<=", ">", ">=", "==", "!="))
    function = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
                "!=": np.not_equal}[op]  # fmt: skip
    return p.emit(f"{a.text} {op} {b.text}", "i1", function(a.value, b.value))


def select(p: Program) -> Block:
    a = p.some()
    b = partner(p, a)
    shape = np.broadcast_shapes(a.shape, b.shape)
    condition = p.some(("i1",), shape=shape)
    return p.emit(f"tl.where({condition.text}, {a.text}, {b.text})", a.kind,
                  np.where(condition.value, a.value, b.value))  # fmt: skip


def reduce(p: Program) -> Block:
    a = p.some(("i32", "i64", "u32", "u64", "fp32", "fp64"))
    axis = int(p.rng.integers(len(a.shape)))
    keep = len(a.shape) == 1 or p.rng.random() < 0.5
    name = p.pick(("max", "min", "sum", "xor_sum")) if a.kind in INTEGERS else p.pick(("max", "min"))
    x, where = a.value, axis + 1
    if name in ("max", "min"):
        function = getattr(np, ("f" if a.kind in FLOATS else "") + name + ("imum" if a.kind in INTEGERS else ""))
        value = function.reduce(x, axis=where, keepdims=keep)
    else:
        value = (np.add if name == "sum" else np.bitwise_xor).reduce(x, axis=where, keepdims=keep, dtype=x.dtype)
    return p.emit(f"tl.{name}({a.text}, {axis}{', keep_dims=True' if keep else ''})", a.kind, value)


def running(p: Program) -> Block:
    a = p.some(("i32", "i64", "u32", "u64"))
    axis = int(p.rng.integers(len(a.shape)))
    reverse = bool(p.rng.random() < 0.3)
    x = np.flip(a.value, axis + 1) if reverse else a.value
    value = np.cumsum(x, axis + 1, dtype=x.dtype)
    value = np.flip(value, axis + 1) if reverse else value
    return p.emit(f"tl.cumsum({a.text}, {axis}, reverse={reverse})", a.kind, value)


def expand(p: Program) -> Block:
    a = p.some(rank=1)
    if p.rng.random() < 0.5:
        return p.emit(f"{a.text}[None, :]", a.kind, a.value[:, None, :])
    return p.emit(f"{a.text}[:, None]", a.kind, a.value[:, :, None])


def transpose(p: Program) -> Block:
    a = p.some(rank=2)
    return p.emit(f"tl.trans({a.text})", a.kind, a.value.transpose(0, 2, 1))


def reshape(p: Program) -> Block:
    a = p.some()
    size = int(np.prod(a.shape))
    rows = 1 << int(p.rng.integers(0, size.bit_length()))
    shape = p.pick(((size,), (rows, size // rows)))
    return p.emit(f"tl.reshape({a.text}, ({', '.join(map(str, shape))},))", a.kind, a.value.reshape(PROGRAMS, *shape))


def broadcast(p: Program) -> Block:
    a = p.some(rank=2)
    shape = tuple(b if d == 1 else d for d, b in zip(a.shape, (p.rows, p.block), strict=True))
    return p.emit(f"tl.broadcast_to({a.text}, ({shape[0]}, {shape[1]}))", a.kind,
                  np.broadcast_to(a.value, (PROGRAMS, *shape)))  # fmt: skip


def gather(p: Program) -> Block:
    a = p.some([k for k in TYPES if k != "i1"])
    i = p.some(("i32", "u8", "i64"), shape=a.shape)
    axis = int(p.rng.integers(len(a.shape)))
    extent = a.shape[axis]
    if extent > 128:
        return i
    place = p.emit(f"({i.text} & {extent - 1}).to(tl.int32)", "i32", i.value & i.value.dtype.type(extent - 1))
    value = np.take_along_axis(a.value, place.value, axis + 1)
    return p.emit(f"tl.gather({a.text}, {place.text}, {axis})", a.kind, value)


def interleave(p: Program) -> Block:
    a = p.some()
    b = cast(p, p.some(shape=a.shape), a.kind)
    if np.prod(a.shape) > 512:
        return a
    both = np.stack([a.value, b.value], -1)
    joined = p.emit(f"tl.join({a.text}, {b.text})", a.kind, both, keep=False)
    if p.rng.random() < 0.5:
        flat = int(np.prod(both.shape[1:]))
        return p.emit(f"tl.reshape({joined.text}, ({flat},))", a.kind, both.reshape(PROGRAMS, flat))
    first, second = f"v{p.names}", f"v{p.names + 1}"
    p.names += 2
    p.lines.append(f"{p.indent}{first}, {second} = tl.split({joined.text})")
    p.blocks += [Block(first, a.kind, a.value), Block(second, a.kind, b.value)]
    return p.blocks[-1]


def loop(p: Program) -> Block:
    """A carried block, stepped a number of times that only the launch knows."""
    start = p.some(("i32", "i64", "u32", "fp32", "fp64"))
    step = cast(p, p.some(shape=start.shape), start.kind)
    carried = p.emit(start.text, start.kind, start.value, keep=False)
    op = p.pick(("+", "-", "max", "swap"))
    name = carried.text
    line = {"+": f"{name} = {name} + {step.text}", "-": f"{name} = {step.text} - {name}",
            "max": f"{name} = tl.maximum({name}, {step.text})",
            "swap": f"{name} = tl.where({name} == {step.text}, {start.text}, {step.text})"}[op]  # fmt: skip
    p.lines += [f"{p.indent}for _ in range(trips):", f"{p.indent}    {line}"]
    value = start.value
    for _ in range(p.trips):
        if op == "+":
            value = value + step.value
        elif op == "-":
            value = step.value - value
        elif op == "max":
            value = np.fmax(value, step.value) if start.kind in FLOATS else np.maximum(value, step.value)
        else:
            value = np.where(value == step.value, start.value, step.value)
    p.blocks.append(Block(name, start.kind, value))
    return p.blocks[-1]


def sweep(p: Program) -> Block:
    """A loop over an array that it reads, changes and carries a running value of."""
    numbers = [x for x in p.arrays if x.kind != "i1"]
    if not numbers:
        return load(p)
    a = p.pick(numbers)
    carried = cast(p, p.some(shape=(p.rows, p.block)), a.kind)
    total = p.emit(carried.text, a.kind, carried.value, keep=False)
    old, at = f"v{p.names}", f"{a.name} + row * {p.columns} + c[None, :]"
    p.names += 1
    join = "+" if a.kind in FLOATS else p.pick(("+", "^"))
    p.lines += [
        f"{p.indent}for _ in range(trips):",
        f"{p.indent}    {old} = tl.load({at}, live, 0)",
        f"{p.indent}    tl.store({at}, {total.text}, live)",
        f"{p.indent}    {total.text} = {total.text} {join} {old}",
    ]
    value, memory = carried.value, a.now.reshape(PROGRAMS, p.rows, p.columns)
    for _ in range(p.trips):
        was = np.zeros_like(value)
        was[:, :, : p.columns] = memory
        memory[:] = value[:, :, : p.columns]
        value = value + was if join == "+" else value ^ was
    p.blocks.append(Block(total.text, a.kind, value))
    return p.blocks[-1]


def flip(p: Program) -> Block:
    a = p.some([k for k in TYPES if k != "i1"])
    axis = int(p.rng.integers(len(a.shape)))
    if np.prod(a.shape) > 512 or a.shape[axis] == 1:
        return a
    return p.emit(f"tl.flip({a.text}, {axis})", a.kind, np.flip(a.value, axis + 1))


def branch(p: Program) -> Block:
    """A choice that each program makes for itself."""
    a = p.some(("i32", "i64", "fp32", "fp16"))
    b = cast(p, p.some(shape=a.shape), a.kind)
    result = p.emit(a.text, a.kind, a.value, keep=False)
    p.lines += [f"{p.indent}if pid % 2 == 0:", f"{p.indent}    {result.text} = {b.text} + {a.text}"]
    even = (np.arange(PROGRAMS) % 2 == 0).reshape((PROGRAMS,) + (1,) * len(a.shape))
    p.blocks.append(Block(result.text, a.kind, np.where(even, b.value + a.value, a.value)))
    return p.blocks[-1]


STATEMENTS: tuple[tuple[Callable[[Program], Any], float], ...] = (
    (binary, 6), (unary, 3), (compare, 2), (select, 3), (anycast, 3), (load, 2), (store, 1.5), (index, 1),
    (full, 0.5), (reduce, 2), (running, 0.7), (expand, 1.5), (transpose, 1), (reshape, 1), (broadcast, 1),
    (gather, 0.7), (interleave, 0.7), (loop, 1), (sweep, 0.7), (branch, 0.7), (flip, 0.3),
)  # fmt: skip


@dataclass
class Kernel:
    """A finished kernel: its source, its arrays before and after, and the loops' number of trips."""

    source: str
    arrays: list[Array]
    trips: int
    seed: int


def generate(seed: int) -> Kernel:
    """The kernel of a seed."""
    rng = np.random.default_rng(seed)
    block = 1 << int(rng.integers(2, 7))
    p = Program(rng, 1 << int(rng.integers(0, 4)), block, int(rng.integers(1, block + 1)), int(rng.integers(0, 4)))
    for k in range(3):
        kind = p.pick(tuple(TYPES))
        data = draw(rng, kind, (PROGRAMS * p.rows, p.columns))
        p.arrays.append(Array(f"a{k}", kind, data, data.copy()))
    p.lines += [
        "    pid = tl.program_id(0)", f"    r = tl.arange(0, {p.rows})", f"    c = tl.arange(0, {p.block})",
        f"    row = (pid * {p.rows} + r)[:, None]", f"    live = (c < {p.columns})[None, :]",
    ]  # fmt: skip
    weights = np.array([w for _, w in STATEMENTS])
    with np.errstate(all="ignore"):
        for first in (load, load, load, index, index, expand):
            first(p)
        for _ in range(int(rng.integers(8, 28))):
            STATEMENTS[int(rng.choice(len(weights), p=weights / weights.sum()))][0](p)
            p.blocks = [b for b in p.blocks if np.prod(b.shape) <= 2048]
        for k in range(3):
            b = p.pick(p.blocks[-8:])
            _output(p, k, b)
    names = ", ".join([a.name for a in p.arrays])
    source = "\n".join([f"def kernel({names}, trips):", *p.lines, ""])
    return Kernel(source, p.arrays, p.trips, seed)


def _output(p: Program, k: int, b: Block) -> None:
    """An array of its own for a block."""
    size = int(np.prod(b.shape))
    flat = np.zeros((PROGRAMS * size,), TYPES[b.kind][1])
    p.arrays.append(Array(f"o{k}", b.kind, flat, b.value.reshape(-1).copy()))
    if len(b.shape) == 1:
        p.lines.append(f"    tl.store(o{k} + pid * {size} + tl.arange(0, {size}), {b.text})")
    else:
        m, n = b.shape
        at = f"tl.arange(0, {m})[:, None] * {n} + tl.arange(0, {n})[None, :]"
        p.lines.append(f"    tl.store(o{k} + pid * {size} + {at}, {b.text})")


def run(kernel: Kernel) -> None:
    """Compile a kernel, run it, and compare all its arrays.

    Raises
    ------
    AssertionError
        If an array is not as NumPy says.
    """
    name = f"<random kernel {kernel.seed}>"
    linecache.cache[name] = (len(kernel.source), None, kernel.source.splitlines(True), name)
    scope: dict[str, Any] = {"tl": tl, "__name__": __name__}
    exec(compile(kernel.source, name, "exec"), scope)
    signature = {a.name: f"*{a.kind}" for a in kernel.arrays} | {"trips": "i32"}
    text = ttir(triton.jit(scope["kernel"]), signature, {})
    host = llvm.host()
    lowered = lower(text, features=TargetFeatures.of(host))
    assert not lowered.assertions
    code = objects.load(llvm.compile_object(lowered.llvm_ir), [lowered.name])
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, *[ctypes.c_int32] * 3)
    arrays = [a.data.copy() for a in kernel.arrays]
    packed = struct.pack(f"<{len(arrays) + 1}q", *[a.ctypes.data for a in arrays], kernel.trips)
    entry(code.address(lowered.name))(packed, 0, PROGRAMS, PROGRAMS, 1, 1)
    for a, got in zip(kernel.arrays, arrays, strict=True):
        want = a.now.reshape(got.shape)
        if a.kind in FLOATS:
            got, want = got.astype("f8"), want.astype("f8")
        np.testing.assert_array_equal(got, want, err_msg=a.name)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run kernels made at random and compare them with NumPy.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print each kernel")
    options = parser.parse_args()
    failed = []
    for seed in range(options.seed, options.seed + options.count):
        kernel = generate(seed)
        if options.show:
            print(kernel.source)
        try:
            run(kernel)
        except Exception as error:
            failed.append(seed)
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:600]}", file=sys.stderr)
            if options.show:
                traceback.print_exc()
    print(f"{options.count} kernels, {len(failed)} failed: {failed[:50]}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
