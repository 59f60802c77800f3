"""Lazy evaluation of tensor values at an index: the heart of the lowering.

A loop nest visits a tensor's elements with one `Index` per dimension. One dimension is the *vector dimension*: there
an index stands for `width` neighbouring lanes. `Context.evaluate(value, index)` emits the code of those lanes and
returns `Lanes`, which is uniform (the same in every lane), affine (base + (origin + lane) * stride: what pointers
mostly are, so that a load becomes a plain vector load) or a vector.

The base of an affine value leaves out the loop's position, which `Context.origins` holds by index key. So all address
arithmetic is emitted once, before the vector loop, and serves each of its masked and unmasked copies.

The rules for single operations live in other modules and register themselves in one table (`operations`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from opweave.codegen.instructions.emit import LLVM_TYPE, SIZE, Buffer, Emitter, literal, splat, storage, suffix, vector
from opweave.codegen.instructions.operands import (
    FALSE,
    I32,
    NULL,
    POISON,
    TRUE,
    Constant,
    LLVMType,
    Operand,
    Register,
    Typed,
)
from opweave.codegen.triton_cpu.analysis import Reach, TargetFeatures
from opweave.codegen.triton_cpu.debug_info import DebugInfo
from opweave.codegen.triton_cpu.lanes import Indices, Key, Lanes, key_of
from opweave.codegen.triton_cpu.operations import MADE, operation
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.codegen.triton_cpu.views import operand_indices
from opweave.registry.dataclass import dataclass
from opweave.registry.interrupts import contextmanager
from opweave.registry.triton.ttir import Block, Op, Type, Value

_MAX_COST = 1000


@dataclass(frozen=True)
class Induction:
    """A loop-carried tensor that is `initial` plus a running scalar held in the i64 variable `slot`."""

    initial: Value
    slot: Register


class Waiting(Protocol):
    """A dot whose product waits (`dot_loop`)."""

    def take(self) -> None:
        """Emit it where it stands."""


def pointee_size(pointer: Type) -> int:
    """Bytes from one element to the next behind a pointer."""
    pointee = pointer.pointee or "i8"
    return 8 if pointee.startswith("!") else SIZE.get(storage(pointee), 1)


class Context:
    """State of the lowering of one function."""

    def __init__(
        self, features: TargetFeatures, reach: Reach, hints: dict[Value, int], arguments: Iterable[Value] = ()
    ) -> None:
        self.features, self.reach, self.hints = features, reach, hints
        self.arguments = {v: k for k, v in enumerate(arguments)}
        """Arguments that point to memory of their own, and their positions."""
        self.apart: dict[tuple[int, int], bool] = {}
        """Pairs of arguments of which that has been made use of; whether they may be one address."""
        self.tables: set[Value] = set()
        """Arguments that point to addresses of memory of their own (`KernelSource.apart`)."""
        self.em = Emitter()
        self.debug: DebugInfo | None = None
        self.width = 1
        self.positioned = False
        """Whether a vector loop's body is being emitted, where its position is known."""
        self.scalars: dict[Value, Lanes] = {}
        self.buffers: dict[Value, Buffer] = {}
        self.inductions: dict[Value, Induction] = {}
        self.assumed: dict[Key, bool] = {}
        self.origins: dict[str, Operand] = {}
        self.unknown: set[str] = set()
        """Keys of positions that are not known yet: nothing that depends on them can be evaluated."""
        self.pending_loads: list[Op] = []
        self.root: Op | None = None
        """The operation that is being emitted, of those that evaluate values."""
        self.touched: dict[Value, bool] = {}
        """Pointers of the accesses in the loops so far, and whether they are written."""
        self.asked: set[object] = set()
        """Memory that was asked for ahead (`prefetch`)."""
        self.emit_block: Callable[[Block], None] = lambda block: None
        """Emits the operations of a nested block; set by the driver of the lowering."""
        self.write_positions: list[int] = []
        self.writes: list[Op] = []
        """All operations that write to memory."""
        self.waiting: dict[Op, Waiting] = {}
        """Dots whose products wait for those of further turns of their loop."""
        self.program_id: tuple[Operand, Operand, Operand] = (0, 0, 0)
        self.dummy: Operand | None = None
        self.needs_print = False
        self.ahead: Operand | None = None
        """How many bytes behind those that a vector load reads are read soon; None where it is not said."""
        #: Whether some stores go past the caches.
        self.streams = False
        self.assertions: list[str] = []
        """Of each `tt.assert` where it stands and what it says, with a NUL between."""
        self.assertion_slot: Operand = NULL
        """Where the address of the launch's cell for assertions is."""
        self.program_end = ""
        """The label at the end of a program."""
        self.sites: dict[tuple[Any, ...], int] = {}
        """Accesses of a sanitized kernel, numbered."""
        self.parameters: dict[Value, int] = {}
        """The kernel's arguments, and their positions."""
        self.program: Operand = 0
        """The program's linear number."""
        self.done: set[Op] = set()
        self.plans: list[object] = []
        """How loops were laid out and what is kept in buffers, as text on demand."""
        self._memo: list[dict[object, object]] = [{}]
        self._keys = 0
        self._tables: dict[Value, Buffer] = {}

    # -- scopes

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is evaluated inside does not dominate what follows: forget it at the end."""
        self._memo.append({})
        try:
            yield
        finally:
            self._memo.pop()

    @contextmanager
    def lanes(self, width: int) -> Iterator[None]:
        saved, self.width = self.width, width
        try:
            yield
        finally:
            self.width = saved

    def fresh_key(self, prefix: str) -> str:
        self._keys += 1
        return f"{prefix}{self._keys}"

    def recall(self, key: object) -> object | None:
        for frame in reversed(self._memo):
            if key in frame:
                return frame[key]
        return None

    def remember(self, key: object, what: object) -> None:
        self._memo[-1][key] = what

    # -- lanes as operands

    def vector(self, elem: str) -> LLVMType:
        return vector(elem, self.width)

    def type_of(self, x: Lanes) -> LLVMType:
        return LLVM_TYPE[x.elem] if x.uniform else self.vector(x.elem)

    def constant(self, value: Operand, elem: str) -> Operand:
        """A literal in every lane."""
        return splat(value, elem, self.width)

    def goes_past(self, store: Op) -> bool:
        """Whether a kernel says that a store is to go past the caches, and the machine can."""
        return self.features.streams and store.attr("cacheModifier") == "cs"

    def position(self, x: Lanes) -> Operand:
        """The scalar of lane 0 of a uniform or affine value."""
        if x.kind != "affine":
            return x.value
        em = self.em
        step = em.mul(self.origins[x.origin], x.stride)
        if x.elem == "ptr":
            return em.offset(x.value, step)
        base, step = x.value, em.resize(step, "i64", x.elem)
        if step == 0:
            return base
        return step if base == 0 else em.inst(f"add {LLVM_TYPE[x.elem]} {base}, {step}")

    def operand(self, x: Lanes) -> Operand:
        """x as a vector of `width` lanes."""
        if self.width == 1:
            return self.position(x)
        if x.kind == "vector":
            return x.value
        if x.kind == "uniform":
            return self._splat(x)
        key = ("vector", x, self.width, self.origins[x.origin])
        known = self.recall(key)
        if known is None:
            known = self._spread(x)
            self.remember(key, known)
        assert isinstance(known, (Register, Constant, int))
        return known

    def _splat(self, x: Lanes) -> Operand:
        if not isinstance(x.value, Register):
            return splat(x.value, x.elem, self.width)
        key = ("splat", x.value, self.width)
        known = self.recall(key)
        if known is None:
            t = self.vector(x.elem)
            one = self.em.inst(f"insertelement {t} poison, {LLVM_TYPE[x.elem]} {x.value}, i64 0")
            known = self.em.inst(f"shufflevector {t} {one}, {t} poison, <{self.width} x i32> zeroinitializer")
            self.remember(key, known)
        assert isinstance(known, (Register, Constant, int))
        return known

    def _spread(self, x: Lanes) -> Register:
        """base + <0, 1, ...> * stride."""
        em, elem = self.em, "i64" if x.elem == "ptr" else x.elem
        t, base = self.vector(elem), self.position(x)
        if isinstance(x.stride, int):
            steps = "<" + ", ".join(f"{LLVM_TYPE[elem]} {k * x.stride}" for k in range(self.width)) + ">"
        else:
            iota = "<" + ", ".join(f"{LLVM_TYPE[elem]} {k}" for k in range(self.width)) + ">"
            stride = self._splat(Lanes("uniform", em.resize(x.stride, "i64", elem), elem))
            steps = em.inst(f"mul {t} {stride}, {iota}")
        if x.elem == "ptr":
            return em.inst(f"getelementptr i8, ptr {base}, {t} {steps}")
        return em.inst(f"add {t} {self._splat(Lanes('uniform', base, elem))}, {steps}")

    def like(self, args: list[Lanes], value: Operand, elem: str) -> Lanes:
        """The result of an operation that is uniform where all operands are."""
        return Lanes("uniform" if all(a.uniform for a in args) else "vector", value, elem)

    def operands(self, args: list[Lanes]) -> tuple[int, list[Operand]]:
        """(width, operands): scalars where all are uniform, vectors otherwise."""
        if all(a.uniform for a in args):
            return 1, [a.value for a in args]
        return self.width, [self.operand(a) for a in args]

    # -- evaluation

    def evaluate(self, v: Value, idx: Indices = ()) -> Lanes:
        """Emit the lanes of `v` at an index (or find them among what is already emitted)."""
        if not v.type.is_tensor:
            return self.scalars[v]
        key = key_of(v, idx)
        if key in self.assumed:
            return Lanes("uniform", TRUE if self.assumed[key] else FALSE, "i1")
        known = self.recall(key)
        if known is None:
            known = self.affine(v, idx) or self._compute(v, idx)
            self.remember(key, known)
        assert isinstance(known, Lanes)
        return known

    def _compute(self, v: Value, idx: Indices) -> Lanes:
        if self.debug is None or v.op is None:
            return self._computed(v, idx)
        with self.debug.at(self.em, v.op):
            return self._computed(v, idx)

    def _computed(self, v: Value, idx: Indices) -> Lanes:
        if v in self.buffers:
            return self.load_buffer(self.buffers[v], idx)
        if v in self.inductions:
            return self._induced(v, self.evaluate(self.inductions[v].initial, idx))
        op = v.op
        if op is None or op.name in MADE:
            raise RuntimeError(f"{v} is used before it is materialised")
        entry = operation(op)
        if entry.view is not None:
            return self.evaluate(op.operands[0], entry.view(op, idx))
        if entry.lazy is not None:
            return entry.lazy(self, v, idx)
        return self.element(op, [self.evaluate(o, i) for o, i in self.inputs(op, idx)])

    def element(self, op: Op, args: list[Lanes]) -> Lanes:
        """Apply an elementwise operation to evaluated operands."""
        rule = operation(op).element
        if rule is None:
            raise unsupported(op)
        return rule(self, op, args)

    def inputs(self, op: Op, idx: Indices) -> list[tuple[Value, Indices]]:
        return list(zip(op.operands, operand_indices(op, idx), strict=True))

    # -- affine values

    def affine(self, v: Value, idx: Indices) -> Lanes | None:
        """`v` as a uniform or affine value, if its structure says so; the loop's position is not needed."""
        if not v.type.is_tensor:
            return self.scalars[v]
        if self.unknown and any(i.key in self.unknown for i in idx):
            return None
        if not any(i.lane for i in idx):
            return self._without_lanes(v, idx)
        if v.type.elem == "i1":
            return None  # a mask's parts may be assumed later; what is remembered before that would win
        early = self.recall(("affine", key_of(v, idx), False))
        key = ("affine", key_of(v, idx), self.positioned)
        known = early if isinstance(early, Lanes) else self.recall(key)
        if known is None:
            known = self._affine(v, idx)
            self.remember(key, known if known is not None else False)
        return known if isinstance(known, Lanes) else None

    def _without_lanes(self, v: Value, idx: Indices) -> Lanes:
        known = self.recall(key_of(v, idx)) if key_of(v, idx) not in self.assumed else None
        if isinstance(known, Lanes):
            return known
        if key_of(v, idx) in self.assumed:
            return self.evaluate(v, idx)
        known = self._compute(v, idx)
        self.remember(key_of(v, idx), known)
        return known

    def _affine(self, v: Value, idx: Indices) -> Lanes | None:
        if v in self.buffers:
            return None
        if v in self.inductions:
            initial = self.affine(self.inductions[v].initial, idx)
            return self._induced(v, initial) if initial is not None else None
        op = v.op
        if op is None:
            return None
        if op.name == "tt.make_range":
            i = idx[0]
            return Lanes("affine", int(op.attr("start") or 0), "i32", i.lane, i.key)
        text = splat_literal(v)
        if text is not None:
            return Lanes("uniform", text, v.type.elem)
        entry = operation(op)
        if entry.view is not None:
            return self.affine(op.operands[0], entry.view(op, idx))
        if entry.affine is None:
            return None
        parts: list[Lanes] = []
        for o, i in self.inputs(op, idx):
            part = self.affine(o, i)
            if part is None or part.kind == "vector":
                return None
            parts.append(part)
        return entry.affine(self, op, parts)

    def _induced(self, v: Value, initial: Lanes) -> Lanes:
        """A loop-carried pointer or integer tensor: its initial value moved by the running offset."""
        em = self.em
        moved = em.inst(f"load i64, ptr {self.inductions[v].slot}")
        if v.type.elem == "ptr":
            if initial.kind == "vector":
                value = em.inst(f"getelementptr i8, {self.vector('ptr')} {initial.value}, i64 {moved}")
                return Lanes("vector", value, "ptr")
            return Lanes(initial.kind, em.offset(initial.value, moved), "ptr", initial.stride, initial.origin)
        step = Lanes("uniform", em.resize(moved, "i64", v.type.elem), v.type.elem)
        if initial.kind == "vector":
            return Lanes(
                "vector", em.inst(f"add {self.vector(v.type.elem)} {initial.value}, {self.operand(step)}"), v.type.elem
            )
        value = em.inst(f"add {LLVM_TYPE[v.type.elem]} {initial.value}, {step.value}")
        return Lanes(initial.kind, value, v.type.elem, initial.stride, initial.origin)

    # -- costs

    def tree(self, values: list[Value]) -> dict[Value, None]:
        """All lazy tensor values that evaluating `values` evaluates."""
        seen: dict[Value, None] = {}
        todo = list(values)
        while todo:
            v = todo.pop()
            if v in seen or not v.type.is_tensor or v in self.buffers:
                continue
            if v in self.inductions:
                todo.append(self.inductions[v].initial)
            elif v.op is not None and v.op.name not in MADE:
                seen[v] = None
                todo.extend(v.op.operands)
        return seen

    def cost(self, v: Value) -> int:
        """Roughly how many instructions a lane of v takes."""
        return min(_MAX_COST, sum(operation(x.op).cost for x in self.tree([v]) if x.op is not None))

    # -- buffers

    def table(self, v: Value) -> Buffer:
        """The elements of a dense constant, in read-only memory."""
        known = self._tables.get(v)
        if known is None:
            assert v.op is not None
            elem = v.type.elem
            name = self.em.constant_array(dense_literals(v.op.attrs, elem, v.type.numel), elem)
            known = self._tables[v] = Buffer(name, v.type.dims, elem)
        return known

    def address(self, buffer: Buffer, idx: Indices) -> tuple[Operand, int]:
        """(address of lane 0, elements from lane to lane)."""
        em, lane, scale = self.em, 0, 1
        position: Operand = 0
        for k in reversed(buffer.order or range(len(buffer.shape))):
            d, i = buffer.shape[k], idx[k]
            if d != 1:
                position = em.add(position, em.mul(i.value, scale))
                lane += i.lane * scale
            scale *= d
        return em.offset(buffer.pointer, position, buffer.elem), lane

    def load_buffer(self, buffer: Buffer, idx: Indices) -> Lanes:
        em, elem = self.em, buffer.elem
        mem = storage(elem)
        pointer, lane = self.address(buffer, idx)
        if lane == 0:
            x = em.inst(f"load {LLVM_TYPE[mem]}, ptr {pointer}")
            return Lanes("uniform", em.inst(f"trunc i8 {x} to i1") if elem == "i1" else x, elem)
        t = self.vector(mem)
        if lane == 1 or self.width == 1:
            x = em.inst(f"load {t}, ptr {pointer}, align {SIZE[elem]}")
        else:
            pointers = self._spread(Lanes("affine", pointer, "ptr", lane * SIZE[mem], self.zero_origin()))
            x = self.gather(mem, pointers, self.constant(TRUE, "i1"), POISON)
        return Lanes("vector", em.inst(f"trunc {t} {x} to {self.vector('i1')}") if elem == "i1" else x, elem)

    def zero_origin(self) -> str:
        self.origins["zero"] = 0
        return "zero"

    def gather(self, elem: str, pointers: Operand, mask: Operand, other: Operand) -> Register:
        t, w = self.vector(elem), self.width
        args: list[Typed] = [
            (self.vector("ptr"), pointers),
            (I32, SIZE[elem]),
            (self.vector("i1"), mask),
            (t, other),
        ]
        return self.em.call(t, f"llvm.masked.gather.{suffix(elem, w)}.v{w}p0", args)

    def store_buffer(self, buffer: Buffer, x: Lanes, idx: Indices) -> None:
        em, elem = self.em, storage(buffer.elem)
        pointer, lane = self.address(buffer, idx)
        if lane == 0:
            value = em.inst(f"zext i1 {x.value} to i8") if x.elem == "i1" else x.value
            em.line(f"store {LLVM_TYPE[elem]} {value}, ptr {pointer}")
            return
        value, t = self.operand(x), self.vector(elem)
        if x.elem == "i1":
            value = em.inst(f"zext {self.vector('i1')} {value} to {t}")
        if lane == 1 or self.width == 1:
            em.line(f"store {t} {value}, ptr {pointer}, align {SIZE[elem]}")
            return
        for k in range(self.width):
            one = em.inst(f"extractelement {t} {value}, i64 {k}")
            em.line(f"store {LLVM_TYPE[elem]} {one}, ptr {em.offset(pointer, k * lane, elem)}")


def splat_literal(v: Value) -> Operand | None:
    """The literal that all elements of a constant are; None where `v` is no constant, or has several."""
    text = v.op.splat if v.op is not None else None
    return literal(text, v.type.elem) if text is not None else None


def dense_literals(text: str, elem: str, count: int) -> list[Operand]:
    """Literals of `[[1, 2], [3, 4]]` or of a hexadecimal blob, in row-major order."""
    if text.startswith('"0x'):
        data = bytes.fromhex(text.strip('"')[2:])
        size = SIZE[elem]
        words = [int.from_bytes(data[k : k + size], "little") for k in range(0, len(data), size)]
        values = [literal(f"0x{w:X}", elem) for w in words]
        return values * (count if len(values) == 1 else 1)
    values = [literal(x.strip(), elem) for x in text.replace("[", "").replace("]", "").split(",")]
    return [int(x == TRUE) for x in values] if elem == "i1" else values
