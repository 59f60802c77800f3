"""What the lowering knows about a kernel before it emits anything, and about the machine it emits for.

It says which roots will evaluate a lazy value (`operations`). From that and what the value costs `materialize` decides
which values are written to a buffer instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import Any

from opweave.codegen.native.llvm import Host
from opweave.codegen.triton_cpu.lanes import Index
from opweave.codegen.triton_cpu.operations import ROOTS, VIEWS, operation
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Block, Function, Op, Value, walk


@dataclass(frozen=True)
class TargetFeatures:
    """The machine a kernel is lowered for.

    Attributes
    ----------
    vector_bits : int
        Width of a vector register: 128, 256 (AVX2) or 512.
    fma : bool
        Whether a fused multiply-add is a single fast instruction.
    interleave : int
        Registers processed together by one step of a vector loop, which hides the latency of its operations.
    sanitize : bool
        Whether to work element by element, and ask `opweave_check` about each access (see `sanitizer`).
    streams : bool
        Whether stores with the cache modifier `.cs` go to memory past the caches.
    bf16_dots, int8_dots : bool
        Whether registers of 512 bits multiply bfloat16 in pairs and 8-bit numbers in fours (AVX512-BF16, AVX512-VNNI).
    bf16_tiles, int8_tiles : bool
        Whether tiles of them are multiplied (AMX).
    """

    vector_bits: int = 256
    fma: bool = True
    interleave: int = 4
    sanitize: bool = False
    streams: bool = False
    bf16_dots: bool = False
    int8_dots: bool = False
    bf16_tiles: bool = False
    int8_tiles: bool = False

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self.vector_bits == 512 else 16

    @classmethod
    def of(cls, host: Host, sanitize: bool = False) -> TargetFeatures:
        """Those of a machine."""
        return cls(
            vector_bits=host.vector_bits, fma=host.fma, sanitize=sanitize, streams=host.streams,
            bf16_dots="avx512bf16" in host.features, int8_dots="avx512vnni" in host.features,
            bf16_tiles=host.has_tiles("bfloat"), int8_tiles=host.has_tiles("i8"),
        )  # fmt: skip


@dataclass(frozen=True)
class Lowered:
    """LLVM IR of one kernel, `void NAME(ptr args, i64 start, i64 end, i32 gx, i32 gy, i32 gz)`.

    Attributes
    ----------
    llvm_ir : str
        The module's text, without target triple and data layout.
    name : str
        Symbol of the kernel.
    params : tuple of str
        Element type of each parameter ("ptr", "i32", "f32", ...), one 8-byte slot of `args` each.
    assertions : tuple of str
        Of each device assertion its place (`file:line`, where known) and its message, with a NUL between. A kernel
        that has any takes one more slot of `args`: the address of four i64 that hold 0. A failed assertion leaves its
        number there, counted from 1, and the position of its program in the grid.
        Memory for blocks that the stack does not hold counts as an assertion at `HEAP`, its message the bytes.
    needs_print : bool
        Whether the kernel may write to standard output.
    written : tuple of int
        Positions of the parameters that are known to be written to.
    apart : tuple of (int, int, bool)
        Pairs of parameters that must not lead to the same memory, and whether they may be the same address: then all
        accesses through both are equally far from it. `lower(..., distinct=False)` has none, at the price of a detour
        through buffers.
    sites : tuple of Site
        The accesses of a sanitized kernel, as `sanitizer` has them.
    """

    llvm_ir: str
    name: str
    params: tuple[str, ...]
    assertions: tuple[str, ...] = ()
    needs_print: bool = False
    written: tuple[int, ...] = ()
    apart: tuple[tuple[int, int, bool], ...] = ()
    sites: tuple[Any, ...] = ()


CHECK = "opweave_check"
"""Symbol of a sanitized kernel's check:
`i1 opweave_check(i64 address, i64 size, i64 kind, i64 argument, i64 site, i64 index, i64 program, i64 value)`.

`kind` is an index into `KINDS`, `argument` the position of the parameter that the address is made from, `ONE_OF_THEM`
or `UNKNOWN`, `value` the bits that are written. With the kind `told`, `value` says what the kernel found by itself.
"""
STEP = "opweave_step"
"""Symbol of what it calls at each program and each turn of a loop: `i1 opweave_step(i64 site, i64 program)`."""
KINDS = ("read", "write", "atomic", "volatile", "told")
UNKNOWN, ONE_OF_THEM = -1, -2
UNDEFINED = "opweave.undefined"
"""An operation that reports the elements of which nothing is known (`undefined`)."""


EXPENSIVE = 12
"""From this cost on, a value that two roots need is computed once and kept."""


def number(function: Function) -> list[Op]:
    """All operations in program order; `pos` is renumbered (inlining moves operations)."""
    ops = list(walk(function.body))
    for pos, op in enumerate(ops):
        op.pos = pos
    return ops


class Reach:
    """Which roots evaluate each lazy value."""

    def __init__(self, ops: Iterable[Op]) -> None:
        self._roots: dict[Value, dict[Op, None]] = {}
        for op in reversed(list(ops)):
            for v in op.results:
                roots: dict[Op, None] = {}
                for user in v.users:
                    if user.name in ROOTS:
                        roots[user] = None
                    if user.name not in ROOTS or operation(user).lingers:
                        for r in user.results:
                            roots.update(self._roots.get(r, {}))
                self._roots[v] = roots

    def roots(self, v: Value) -> Iterable[Op]:
        return self._roots.get(v, {})


def enclosing(op: Op, block: Block) -> Op | None:
    """The operation of `block` that is `op` or contains it."""
    while op.block is not block:
        if op.block.parent is None:
            return None
        op = op.block.parent
    return op


def pointer_base(v: Value) -> Value:
    """The scalar pointer that a pointer expression starts from, as far as the chain can be followed."""
    while True:
        op = v.op
        if op is None:
            parent = v.block.parent if v.block else None
            if parent is None or parent.name != "scf.for" or v.index == 0:
                return v
            v = parent.operands[v.index + 2]
        elif op.name == "tt.addptr" or op.name in VIEWS or op.name == "tt.bitcast":
            v = op.operands[0]
        elif op.name == "scf.for":
            v = op.operands[v.index + 3]
        else:
            return v


def pointer_bases(v: Value) -> set[Value]:
    """All scalar pointers that a pointer expression may start from, as far as the chains can be followed."""
    found: set[Value] = set()
    seen: set[Value] = set()
    waiting = [v]
    while waiting:
        v = waiting.pop()
        if v in seen:
            continue
        seen.add(v)
        op = v.op
        if op is None:
            loop = v.block.parent if v.block else None
            if loop is None or loop.name != "scf.for" or v.index == 0:
                found.add(v)
            else:
                waiting += [loop.operands[v.index + 2], loop.regions[0][-1].yielded[v.index - 1]]
        elif op.name == "tt.addptr" or op.name in VIEWS or op.name == "tt.bitcast":
            waiting.append(op.operands[0])
        elif op.name == "arith.select":
            waiting += op.operands[1:]
        elif op.name == "scf.for":
            waiting += [op.operands[v.index + 3], op.regions[0][-1].yielded[v.index]]
        elif op.name == "scf.if":
            waiting += [region[-1].yielded[v.index] for region in op.regions]
        else:
            found.add(v)
    return found


def uniform_step(carried: Value, yielded: Value) -> Value | None:
    """Where `yielded` is `carried + s` with the same s in every element, the tensor operand s; else None."""
    op = yielded.op
    if op is None or op.name not in ("tt.addptr", "arith.addi"):
        return None
    a, b = op.operands
    if op.name == "arith.addi" and b is carried:
        a, b = b, a
    if a is not carried or b is carried:
        return None
    source = b
    while source.op is not None and source.op.name == "tt.broadcast":
        source = source.op.operands[0]
    op = source.op
    return b if op is not None and (op.name == "tt.splat" or op.splat is not None) else None


def divisor(v: Value, hints: dict[Value, int], depth: int = 12) -> int:
    """A number that divides the first of each row of the integers v, where a row is along the one dimension that
    ranges run along (`range_dims`); make_range counts as its start.

    `hints` holds the divisibility of the kernel's arguments.
    """
    if v in hints:
        return hints[v]
    op = v.op
    if op is None or depth == 0:
        return 1
    if op.name == "arith.constant":
        return 1 if op.integer is None else abs(op.integer) or 1 << 30
    if op.name == "tt.make_range":
        return op.int_attr("start") or 1 << 30
    if op.name in VIEWS or op.name in ("arith.extsi", "arith.extui", "arith.index_cast"):
        return divisor(op.operands[0], hints, depth - 1)
    if op.name in ("arith.addi", "arith.subi", "arith.muli"):
        x, y = (divisor(o, hints, depth - 1) for o in op.operands)
        return min(x * y, 1 << 30) if op.name == "arith.muli" else gcd(x, y)
    return 1


def range_dims(v: Value, depth: int = 12) -> set[int] | None:
    """Along which dimensions of v ranges run that it is made of; None where that cannot be told."""
    found: set[int] = set()
    todo = [(v, tuple(Index(0, 1, str(d)) for d in range(len(v.type.dims))), depth)]
    while todo:
        v, idx, depth = todo.pop()
        op = v.op
        if op is None or depth == 0:
            if v.type.is_tensor:
                return None
            continue
        if op.name == "tt.make_range":
            found.update(int(i.key) for i in idx if i.lane)
            continue
        through = operation(op).view
        for operand in op.operands:
            inner = through(op, idx) if through is not None else idx
            todo.append((operand, inner if operand.type.is_tensor else (), depth - 1))
    return found


def nonnegative(v: Value, depth: int = 12) -> bool:
    """Whether an integer is known not to be negative (overflow apart)."""
    op = v.op
    if depth == 0:
        return False
    if op is None:
        parent = v.block.parent if v.block else None
        return (
            parent is not None
            and parent.name == "scf.for"
            and v.index == 0
            and nonnegative(parent.operands[0], depth - 1)
        )
    if op.name == "arith.constant":
        return op.integer is not None and op.integer >= 0
    if op.name in ("tt.make_range", "tt.get_program_id", "tt.get_num_programs", "arith.extui"):
        return True
    if op.name in VIEWS or op.name in (
        "arith.extsi",
        "arith.index_cast",
        "arith.addi",
        "arith.muli",
        "arith.divsi",
        "arith.remsi",
    ):
        return all(nonnegative(o, depth - 1) for o in op.operands)
    return False
