"""tl.dot in a loop that only adds up: the operands of some turns lie side by side, and are multiplied at once.

    for k in range(0, K, BK):                        as many turns as fill CHUNK bytes of a row of A:
        acc = tl.dot(a(k), b(k), acc)         ->         pack a(k), b(k)
                                                     acc += A B, which stays in registers

The sums are the same, added up in the same order: an accumulator is only written to memory less often.

A left operand that lies in memory as the microkernel reads rows, all there, is not packed. What is packed stays for the
programs that follow in the same call: where all that an operand is made from (`_sources`) is as it was, and the
kernel does not write to the memory that it is loaded from, the turns that are there are not packed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opweave.codegen.instructions.emit import LLVM_FLOATS, LLVM_TYPE, SIZE, Buffer
from opweave.codegen.instructions.operands import I64, PTR, TRUE, LLVMType, Operand, Register
from opweave.codegen.triton_cpu import narrow_dot, packing
from opweave.codegen.triton_cpu.analysis import uniform_step
from opweave.codegen.triton_cpu.context import Context, splat_literal
from opweave.codegen.triton_cpu.lanes import ZERO, Index, Indices, Lanes
from opweave.codegen.triton_cpu.loops import everywhere
from opweave.codegen.triton_cpu.materialize import overlap
from opweave.codegen.triton_cpu.microkernel import Shape, product
from opweave.codegen.triton_cpu.operations import MADE, VIEWS, WRITES
from opweave.codegen.triton_cpu.plan import bounded_everywhere
from opweave.codegen.triton_cpu.strides import UNKNOWN, Strides
from opweave.registry.triton.ttir import Op, Value, walk

#: Bytes of a row that are multiplied at once.
CHUNK = 2048
#: Bytes of an operand that are kept for the programs that follow: half of a second cache.
SHARED = 1 << 20
#: Bytes between the rows of a packed left operand, beside their own: rows are not to meet in one place of the caches.
_APART = 64


def is_only_carried(op: Op) -> bool:
    """Whether a dot's accumulator is carried by the loop around it, and nothing else reads it or the result."""
    c, users = op.operands[2], op.result.users
    if c.op is not None or c.users != [op] or op.operands.count(c) != 1 or c.block is not op.block:
        return False
    if len(users) != 1 or users[0].name != "scf.yield" or users[0].block is not op.block:
        return False
    return users[0].operands.count(op.result) == 1 and users[0].operands.index(op.result) == c.index - 1


class Turns:
    """The turns of a loop, and the dots in it that wait."""

    def __init__(self, cx: Context, loop: Op) -> None:
        self.cx, self.loop = cx, loop
        body = loop.regions[0][0]
        self.writes = any(op.name in WRITES for op in walk(loop.regions[0]))
        self.dots: list[_Waiting] = []
        found = [op for op in body.ops if op.name == "tt.dot" and _may_wait(cx, op, body.args[1:])]
        if not found:
            return
        self.turn = cx.em.slot(I64, 0)
        self.operands: dict[tuple[Value, object], _Packed] = {}
        for op in found:
            waiting = cx.waiting[op] = _Waiting(cx, self, op)
            self.dots.append(waiting)

    def now(self) -> Register:
        """The number of the turn."""
        return self.cx.em.inst(f"load i64, ptr {self.turn}")

    def packed(self, v: Value, kind: object, size: int, turns: int) -> _Packed:
        """Where an operand is packed, `size` bytes for `turns` turns."""
        if (v, kind) not in self.operands:
            self.operands[v, kind] = _Packed(self.cx, self, v, size, turns)
        return self.operands[v, kind]

    def next(self) -> None:
        """At the end of a turn: multiply what there is enough of."""
        if not self.dots:
            return
        em = self.cx.em
        after = em.add(self.now(), 1)
        em.line(f"store i64 {after}, ptr {self.turn}")
        for dot in self.dots:
            full = em.inst(f"icmp eq i64 {em.inst(f'and i64 {after}, {dot.turns - 1}')}, 0")
            em.when(full, dot.multiply)

    def end(self) -> None:
        """After the loop: multiply what is left."""
        for dot in self.dots:
            some = self.cx.em.inst(f"icmp sgt i64 {self.now()}, {dot.begun()}")
            self.cx.em.when(some, dot.multiply)


def _may_wait(cx: Context, op: Op, carried: Sequence[Value]) -> bool:
    a, b, c = op.operands[:3]
    if cx.features.sanitize or len(a.type.dims) != 2 or c not in carried or not is_only_carried(op):
        return False
    if any(_is_outside(v, op) or _is_made(v) for v in (a, b)):
        return False
    elem = op.result.type.elem
    return elem in ("f32", "f64", "i32") and (a.type.elem in LLVM_FLOATS | {"bf16"}) == (elem != "i32")


def _along(keys: Sequence[str]) -> list[Indices]:
    """Positions with lanes in one dimension, for each."""
    return [tuple(Index(UNKNOWN, int(k == d), key) for k, key in enumerate(keys)) for d in range(len(keys))]


def _is_made(v: Value) -> bool:
    """Whether an operand is made from other results of its turn, such as another product: those are in the caches."""
    todo, seen = [v], set[Value]()
    while todo:
        x = todo.pop()
        if x in seen or not x.type.is_tensor or x.op is None or v.op is None or x.op.block is not v.op.block:
            continue
        seen.add(x)
        if x.op.name in MADE:
            return True
        todo += x.op.operands
    return False


def _gates(cx: Context, mask: Value) -> list[Operand] | None:
    """The scalars that a mask is made of beside comparisons, which `everywhere` sees to; None if of anything else."""
    if not mask.type.is_tensor:
        return [cx.scalars[mask].value]
    if mask in cx.buffers or mask.op is None:
        return None
    if mask.op.name == "arith.constant":
        return [] if splat_literal(mask) == TRUE else None
    if mask.op.name != "arith.andi" and mask.op.name not in VIEWS:
        return [] if mask.op.name == "arith.cmpi" else None
    parts = [_gates(cx, o) for o in mask.op.operands]
    return None if None in parts else [gate for part in parts if part for gate in part]


def _is_outside(v: Value, op: Op) -> bool:
    """Whether a dot's operand is the same in all turns."""
    block = v.op.block if v.op is not None else v.block
    return block is not op.block


class _Waiting:
    """A dot whose product waits until there are several turns of it."""

    def __init__(self, cx: Context, loop: Turns, op: Op) -> None:
        self.cx, self.loop, self.op = cx, loop, op
        self.a, self.b, self.c = op.operands[:3]
        self.narrow = narrow_dot.instruction(cx, op)
        (m, k), n = self.a.type.dims, self.b.type.dims[1]
        self.elem = op.result.type.elem
        self.unit = self.elem if self.narrow is None else "i32"
        self.k = k if self.narrow is None else k // self.narrow.size
        """Units of a row, numbers or groups of them, in a turn."""
        size = SIZE[self.unit]
        self.turns = max(1, CHUNK // (self.k * size))
        self.depth = self.k * self.turns
        self.width = packing.panel_width(cx, self.unit, n)
        self.shape = Shape(self.elem, m, n, self.k, depth=self.depth, narrow=self.narrow, open=True)
        self.pitch = self.depth * size + (_APART if m > 1 else 0)
        self.left = loop.packed(self.a, ("rows", self.unit, self.narrow), m * self.pitch, self.turns)
        self.right = loop.packed(self.b, ("panels", self.unit, self.narrow), self.depth * n * size, self.turns)
        self.first = cx.em.slot(I64, 0)
        self.rows, self.row_bytes = cx.em.slot(PTR), cx.em.slot(I64)
        """Where the rows of the turns that wait begin, and the bytes between two of them."""

    def begun(self) -> Register:
        """The first turn that waits."""
        return self.cx.em.inst(f"load i64, ptr {self.first}")

    def take(self) -> None:
        """In a turn: have the operands in memory, and let the product wait."""
        cx, em = self.cx, self.cx.em
        self.out = cx.buffers[self.c]
        turn = self.loop.now()
        self.right.fill(turn, lambda place: self._pack_right(self._at(turn, place, self.width)))
        place, pitch = self._take_left(turn)
        # Rows go on from turn to turn in memory, or what waits has to be multiplied before.
        first, size = self.begun(), self.k * SIZE[self.unit]
        rows, row_bytes = em.inst(f"load ptr, ptr {self.rows}"), em.inst(f"load i64, ptr {self.row_bytes}")
        expected = em.offset(rows, em.mul(em.sub(turn, first), size))
        same = em.inst(f"icmp eq ptr {expected}, {place}"), em.inst(f"icmp eq i64 {row_bytes}, {pitch}")
        apart = em.inst(f"xor i1 {em.inst(f'and i1 {same[0]}, {same[1]}')}, true")
        some = em.inst(f"icmp sgt i64 {turn}, {first}")
        em.when(em.inst(f"and i1 {apart}, {some}"), self.multiply)

        def begin() -> None:
            em.line(f"store ptr {place}, ptr {self.rows}")
            em.line(f"store i64 {pitch}, ptr {self.row_bytes}")

        em.when(em.inst(f"icmp eq i64 {self.begun()}, {turn}"), begin)
        cx.buffers[self.op.result] = self.out

    def _at(self, turn: Operand, chunk: Operand, width: int) -> Operand:
        """Where a turn stands in its chunk; `width` units side by side in a row."""
        em = self.cx.em
        within = em.inst(f"and i64 {turn}, {self.turns - 1}")
        return em.offset(chunk, em.mul(within, self.k * width), self.unit)

    def _take_left(self, turn: Operand) -> tuple[Operand, Operand]:
        em = self.cx.em

        def pack() -> None:
            self.left.fill(turn, lambda place: self._pack_left(self._at(turn, place, 1)))

        packed = self._at(turn, self.left.chunk(turn), 1)
        direct = self._in_memory()
        if direct is None:
            pack()
            return packed, self.pitch
        there, place, pitch = direct
        if there == TRUE:
            return place, pitch
        em.when(there, lambda: None, pack)
        return (
            em.inst(f"select i1 {there}, ptr {place}, ptr {packed}"),
            em.inst(f"select i1 {there}, i64 {pitch}, i64 {self.pitch}"),
        )

    def _in_memory(self) -> tuple[Operand, Operand, Operand] | None:
        """(whether the left operand is all there, its address, the bytes between rows).

        None where it is not one load in the microkernel's type, of rows that are contiguous and equally far apart.
        """
        cx, em, a, load = self.cx, self.cx.em, self.a, self.a.op
        if self.loop.writes or load is None or load.name != "tt.load" or load.flag("isVolatile"):
            return None
        if self.narrow is None and a.type.elem != self.elem:
            return None
        gates = _gates(cx, load.operands[1]) if len(load.operands) > 1 else []
        if gates is None:
            return None
        pointer, dims, keys = load.operands[0], a.type.dims, [cx.fresh_key("k") for _ in a.type.dims]
        rows, columns = (Strides(cx).of(pointer, at) for at in _along(keys))
        if rows is None or columns is None or columns.kind != "affine" or columns.stride != SIZE[a.type.elem]:
            return None
        if not bounded_everywhere(cx, [a], [], dims, keys):
            return None
        with cx.scope():
            conditions, _ = everywhere(cx, [a], [], dims, keys)
            place, following = (cx.evaluate(pointer, (at, ZERO)).value for at in (ZERO, Index(1, 0, cx.fresh_key("k"))))
        there: Operand = TRUE
        for x in (*conditions, *gates):
            there = x if there == TRUE else em.inst(f"and i1 {there}, {x}")
        ends = [em.inst(f"ptrtoint ptr {x} to i64") for x in (place, following)]
        return there, place, em.inst(f"sub i64 {ends[1]}, {ends[0]}")

    def _pack_left(self, place: Operand) -> None:
        elem = self.unit if self.narrow is None else self.a.type.elem
        target = Buffer(place, (self.a.type.dims[0], self.pitch // SIZE[elem]), elem)
        if self.narrow is None:
            packing.pack_rows(self.cx, self.op, self.a, target)
        else:
            narrow_dot.pack_rows(self.cx, self.narrow, self.a, target)

    def _pack_right(self, place: Operand) -> None:
        target = Buffer(place, (self.depth * self.b.type.dims[1],), self.unit)
        if self.narrow is None:
            packing.pack_panels(self.cx, self.op, self.b, target, self.depth)
        else:
            narrow_dot.pack_panels(self.cx, self.narrow, self.b, target, self.depth)

    def multiply(self) -> None:
        """Add the product of what waits."""
        em = self.cx.em
        first, rows = self.begun(), em.inst(f"load ptr, ptr {self.rows}")
        turn = self.loop.now()
        length = em.mul(em.sub(turn, first), self.k)
        row_bytes = em.inst(f"load i64, ptr {self.row_bytes}")
        panels = self._at(first, self.right.chunk(first), self.width)
        product(self.cx, self.shape, rows, panels, self.out.pointer, (length, row_bytes))
        em.line(f"store i64 {turn}, ptr {self.first}")


class _Packed:
    """Memory for an operand's turns, and how many of them are there from an earlier program."""

    def __init__(self, cx: Context, loop: Turns, v: Value, size: int, turns: int) -> None:
        self.cx, self.turns, self.size = cx, turns, size
        sources = None if loop.writes else _sources(cx, loop.loop, v)
        self.chunks = 1 if sources is None else max(1, SHARED // size)
        self.memory = cx.em.buffer((self.chunks * size,), "i8").pointer
        self.there = None if sources is None else _kept(cx, [cx.scalars[v] for v in sources])

    def chunk(self, turn: Operand) -> Operand:
        """Where the chunk of a turn begins; those beyond the last one take its place."""
        if self.chunks == 1:
            return self.memory
        em = self.cx.em
        number = em.inst(f"lshr i64 {turn}, {self.turns.bit_length() - 1}")
        return em.offset(self.memory, em.mul(em.minimum(number, self.chunks - 1), self.size))

    def fill(self, turn: Operand, pack: Callable[[Operand], None]) -> None:
        """Pack a turn, unless it is there."""
        cx, em = self.cx, self.cx.em

        def emit() -> None:
            known = dict(cx.buffers)
            with cx.scope():
                pack(self.chunk(turn))
            cx.buffers = known
            if self.there is not None:
                within = em.inst(f"icmp slt i64 {turn}, {self.chunks * self.turns}")
                there = em.inst(f"select i1 {within}, i64 {em.add(turn, 1)}, i64 {(self.chunks - 1) * self.turns}")
                em.line(f"store i64 {there}, ptr {self.there}")

        if self.there is None:
            emit()
        else:
            missing = em.inst(f"icmp sge i64 {turn}, {em.inst(f'load i64, ptr {self.there}')}")
            em.when(missing, emit)


def _kept(cx: Context, sources: Sequence[Lanes]) -> Register:
    """A variable for how many turns of an operand are there: none as soon as a source is another than before."""
    em = cx.em
    there = em.slot(I64)
    em.entry.append(f"  store i64 0, ptr {there}")
    same: Operand = TRUE
    for x in sources:
        bits = f"i{8 * SIZE[x.elem]}" if x.elem != "i1" else "i1"
        value = x.value
        if x.elem == "ptr":
            value = em.inst(f"ptrtoint ptr {value} to i64")
        elif x.elem in LLVM_FLOATS:
            value = em.inst(f"bitcast {LLVM_TYPE[x.elem]} {value} to {bits}")
        before = em.slot(LLVMType(bits))
        em.entry.append(f"  store {bits} 0, ptr {before}")
        equal = em.inst(f"icmp eq {bits} {em.inst(f'load {bits}, ptr {before}')}, {value}")
        em.line(f"store {bits} {value}, ptr {before}")
        same = equal if same == TRUE else em.inst(f"and i1 {same}, {equal}")
    if same != TRUE:
        kept = em.inst(f"select i1 {same}, i64 {em.inst(f'load i64, ptr {there}')}, i64 0")
        em.line(f"store i64 {kept}, ptr {there}")
    return there


def _sources(cx: Context, loop: Op, v: Value) -> list[Value] | None:
    """The scalars that all turns of an operand follow from, beside the kernel's arguments; None where that is unknown.

    They are known before the loop.
    """
    body, found, seen = loop.regions[0][0], dict[Value, None](), set[Value]()
    todo = [v]
    while todo:
        v = todo.pop()
        if v in seen or v in cx.parameters:
            continue
        seen.add(v)
        op = v.op
        if op is None:
            if v.block is not body:
                if v.type.is_tensor:
                    return None
                found[v] = None
            elif v.index == 0:
                todo += [loop.operands[0], loop.operands[2]]
            else:
                step = uniform_step(v, body.yielded[v.index - 1])
                if step is None or not v.type.is_tensor:
                    return None
                todo += [loop.operands[v.index + 2], step]
        elif op.name == "arith.constant":
            continue
        elif not v.type.is_tensor and v in cx.scalars:
            found[v] = None
        elif op.name in MADE or op.regions or op.name == "tt.load" and not _is_unwritten(cx, op):
            return None
        else:
            todo += op.operands
    return list(found)


def _is_unwritten(cx: Context, load: Op) -> bool:
    """Whether a load finds the same in all programs."""
    pointer = load.operands[0]
    if load.flag("isVolatile"):
        return False
    return not any(
        "ptr" not in (op.operands[0].type.elem if op.operands else "")
        or overlap(cx, pointer, op.operands[0], same_index=False)
        for op in cx.writes
    )
