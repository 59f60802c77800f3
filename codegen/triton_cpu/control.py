"""Structured and unstructured control flow.

Values that cross a join live in memory: scalars in variables that SROA promotes, tensors in buffers. A loop-carried
pointer or index tensor that moves by the same amount everywhere needs neither: it is its initial value plus a running
scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opweave.codegen.instructions.emit import LLVM_TYPE, SIZE, Buffer, storage
from opweave.codegen.instructions.operands import FALSE, I1, I64, PTR, VOID, Operand, Register, Typed
from opweave.codegen.triton_cpu.access import step
from opweave.codegen.triton_cpu.analysis import uniform_step
from opweave.codegen.triton_cpu.context import Context, Induction, pointee_size
from opweave.codegen.triton_cpu.dot_loop import Turns
from opweave.codegen.triton_cpu.lanes import ZERO, Lanes
from opweave.codegen.triton_cpu.loops import fill
from opweave.codegen.triton_cpu.materialize import before_branch, before_region
from opweave.codegen.triton_cpu.operations import MADE, REARRANGES, VIEWS, root
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.triton.ttir import Block, Op, Region, Value

RETURNS = ("tt.return", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return")
"""What ends a function's body, or the region of an operation that is run on scalars."""


class _Carried:
    """Where a value that crosses a join lives."""

    def __init__(self, cx: Context, v: Value) -> None:
        self.cx, self.elem = cx, v.type.elem
        self.buffer = cx.em.buffer(v.type.dims, v.type.elem) if v.type.is_tensor else None
        self.slot = None if self.buffer else cx.em.slot(LLVM_TYPE[v.type.elem])

    def bind(self, v: Value) -> None:
        """From here on `v` is what was last assigned."""
        if self.buffer is not None:
            self.cx.buffers[v] = self.buffer
        else:
            self.cx.scalars[v] = self.load()

    def load(self) -> Lanes:
        """What was last assigned to a scalar."""
        return Lanes("uniform", self.cx.em.inst(f"load {LLVM_TYPE[self.elem]}, ptr {self.slot}"), self.elem)


def assign(cx: Context, targets: Sequence[_Carried], sources: Sequence[Value]) -> None:
    """Parallel assignment: every source is read before any target that it depends on is overwritten."""
    scalars = [(t, cx.scalars[v].value) for t, v in zip(targets, sources, strict=True) if t.buffer is None]
    groups: dict[tuple[int, ...], list[tuple[Buffer, Value]]] = {}
    for t, v in zip(targets, sources, strict=True):
        if t.buffer is not None and cx.buffers.get(v) != t.buffer:
            groups.setdefault(v.type.dims, []).append((t.buffer, v))
    copies: list[tuple[Buffer, Buffer]] = []
    for shape, group in groups.items():
        foreign = [v for s, g in groups.items() if s != shape for _, v in g]
        values = [v for _, v in group]
        buffers = [b for b, _ in group]
        if not all(_safe_in_place(cx, b, values, foreign) for b in buffers):
            temporaries = [cx.em.buffer(b.shape, b.elem) for b in buffers]
            copies += list(zip(temporaries, buffers, strict=True))
            buffers = temporaries
        fill(cx, values, buffers)
    for source, target in copies:
        copy(cx, source, target)
    for t, value in scalars:
        cx.em.line(f"store {LLVM_TYPE[t.elem]} {value}, ptr {t.slot}")


def copy(cx: Context, source: Buffer, target: Buffer) -> None:
    size = SIZE[storage(source.elem)]
    for d in source.shape:
        size *= d
    args: list[Typed] = [(PTR, target.pointer), (PTR, source.pointer), (I64, size), (I1, FALSE)]
    cx.em.call(VOID, "llvm.memcpy.p0.p0.i64", args)


def _safe_in_place(cx: Context, target: Buffer, values: Sequence[Value], foreign: Sequence[Value]) -> bool:
    """Whether a nest over `values` may write `target` as it goes: what it reads there, it reads at the same index."""
    todo = [(v, True) for v in values] + [(v, False) for v in foreign]
    seen: set[tuple[Value, bool]] = set()
    while todo:
        v, same = todo.pop()
        if (v, same) in seen or not v.type.is_tensor:
            continue
        seen.add((v, same))
        buffer = cx.buffers.get(v)
        if buffer is not None:
            if buffer.pointer == target.pointer and not (same and buffer == target):
                return False
        elif v in cx.inductions:
            todo.append((cx.inductions[v].initial, same))
        elif v.op is not None and v.op.name not in MADE:
            keeps = same and v.op.name not in VIEWS and v.op.name not in REARRANGES
            todo += [(o, keeps) for o in v.op.operands]
    return True


# -- loops


@root("scf.for")
def scf_for(cx: Context, op: Op) -> None:
    em, body = cx.em, op.regions[0][0]
    lo, hi, by = (cx.scalars[v].value for v in op.operands[:3])
    iv, args, inits, yields = body.args[0], body.args[1:], op.operands[3:], body.yielded
    before_region(cx, op, repeats=True)
    steps = [uniform_step(a, y) if a.type.is_tensor else None for a, y in zip(args, yields, strict=True)]
    moved = [k for k, s in enumerate(steps) if s is not None]
    kept = [k for k in range(len(args)) if k not in moved]
    for k in moved:
        cx.inductions[args[k]] = cx.inductions[op.results[k]] = Induction(inits[k], em.slot(I64, 0))
    carried = [_Carried(cx, args[k]) for k in kept]
    assign(cx, carried, [inits[k] for k in kept])
    turns = Turns(cx, op)
    elem, known = iv.type.elem, dict(cx.buffers)

    def iteration(i: Operand) -> None:
        with cx.scope():
            step(cx, op)
            cx.scalars[iv] = Lanes("uniform", i, elem)
            for k, c in zip(kept, carried, strict=True):
                c.bind(args[k])
            cx.emit_block(body)
            advances = [_advance(cx, args[k], steps[k]) for k in moved]
            assign(cx, carried, [yields[k] for k in kept])
            for slot, value in advances:
                em.line(f"store i64 {value}, ptr {slot}")
            turns.next()

    # Counted in 64 bits, so that the step past the end cannot wrap around and begin again.
    wide: list[Operand] = [em.resize(x, elem, "i64") for x in (lo, hi, by)]
    if op.word == "unsigned":
        if SIZE[elem] == 8:
            raise unsupported(op, "a range of unsigned 64-bit integers")
        wide = [em.inst(f"zext {LLVM_TYPE[elem]} {x} to i64") for x in (lo, hi, by)]
    em.loop(wide[0], wide[1], wide[2], lambda i: iteration(em.resize(i, "i64", elem)))
    turns.end()
    cx.buffers = known  # what the body materialised is not there when it never ran
    for k, c in zip(kept, carried, strict=True):
        c.bind(op.results[k])


def _advance(cx: Context, arg: Value, step: Value | None) -> tuple[Register, Register]:
    """(slot, new offset) of a moving pointer or index tensor."""
    assert step is not None
    em, slot = cx.em, cx.inductions[arg].slot
    by = cx.evaluate(step, (ZERO,) * len(step.type.dims))
    amount = em.resize(by.value, by.elem, "i64")
    if arg.type.elem == "ptr":
        amount = em.mul(amount, pointee_size(arg.type))
    return slot, em.inst(f"add i64 {em.inst(f'load i64, ptr {slot}')}, {amount}")


@root("scf.while")
def scf_while(cx: Context, op: Op) -> None:
    em = cx.em
    before, after = op.regions[0][0], op.regions[1][0]
    before_region(cx, op, repeats=True)
    carried = [_Carried(cx, a) for a in before.args]
    results = [_Carried(cx, a) for a in after.args]
    assign(cx, carried, op.operands)
    known = dict(cx.buffers)
    head, body, end = em.fresh("while"), em.fresh("do"), em.fresh("done")
    em.branch(head)
    em.label(head)
    with cx.scope():
        step(cx, op)
        for a, c in zip(before.args, carried, strict=True):
            c.bind(a)
        cx.emit_block(before)
        condition, *forwarded = before.terminator.operands
        assign(cx, results, forwarded)
        em.branch_if(cx.scalars[condition].value, body, end)
    em.label(body)
    with cx.scope():
        for a, c in zip(after.args, results, strict=True):
            c.bind(a)
        cx.emit_block(after)
        assign(cx, carried, after.yielded)
    em.branch(head)
    em.label(end)
    cx.buffers = known
    for r, c in zip(op.results, results, strict=True):
        c.bind(r)


# -- branches


@root("scf.if")
def scf_if(cx: Context, op: Op) -> None:
    before_region(cx, op, repeats=False)
    results = [_Carried(cx, r) for r in op.results]
    known = dict(cx.buffers)

    def branch(region: Region) -> Callable[[], None]:
        def emit() -> None:
            with cx.scope():
                cx.emit_block(region[0])
                if results:
                    assign(cx, results, region[0].yielded)
            # What a branch materialised is not there when the other one ran.
            cx.buffers = dict(known)

        return emit

    condition = cx.scalars[op.operands[0]].value
    cx.em.when(condition, branch(op.regions[0]), branch(op.regions[1]) if len(op.regions) > 1 else None)
    for r, c in zip(op.results, results, strict=True):
        c.bind(r)


@root("opweave.call")
def call(cx: Context, op: Op) -> None:
    """An inlined function body; its returns jump to the end."""
    before_region(cx, op, repeats=False)
    results = [_Carried(cx, r) for r in op.results]
    known, end = dict(cx.buffers), cx.em.fresh("returned")
    with cx.scope():
        emit_blocks(cx, op.regions[0], end, results)
    cx.em.label(end)
    cx.buffers = known
    for r, c in zip(op.results, results, strict=True):
        c.bind(r)


def scalar_region(cx: Context, region: Region, args: Sequence[Lanes]) -> list[Lanes]:
    """Emit a region of scalar operations, such as a combine function, and give what it returns."""
    returned = next(block.terminator for block in region if block.terminator.name in RETURNS)
    results = [_Carried(cx, v) for v in returned.operands]
    end = cx.em.fresh("combined")
    for arg, x in zip(region[0].args, args, strict=True):
        cx.scalars[arg] = x
    with cx.scope():
        emit_blocks(cx, region, end, results)
    cx.em.label(end)
    return [c.load() for c in results]


def emit_blocks(cx: Context, region: Region, exit_label: str, results: Sequence[_Carried]) -> None:
    """Emit blocks in order; a return assigns `results` and leaves for `exit_label`."""
    em = cx.em
    labels = {b.label: em.fresh("block") for b in region}
    joins = {b.label: [_Carried(cx, a) for a in b.args] for b in region[1:]}
    for block in region:
        if block is region[0]:  # the entry dominates the others: what it evaluates serves them too
            cx.emit_block(block)
            _leave(cx, block, labels, joins, exit_label, results)
            continue
        em.label(labels[block.label])
        known = dict(cx.buffers)
        with cx.scope():
            for a, c in zip(block.args, joins[block.label], strict=True):
                c.bind(a)
            cx.emit_block(block)
            _leave(cx, block, labels, joins, exit_label, results)
        own = {v: b for v, b in cx.buffers.items() if (v.op.block if v.op is not None else v.block) is block}
        cx.buffers = known | own


def _leave(
    cx: Context, block: Block, labels: dict[str, str], joins: dict[str, list[_Carried]], exit_label: str,
    results: Sequence[_Carried],
) -> None:  # fmt: skip
    em, op = cx.em, block.terminator
    if op.name in RETURNS:
        assign(cx, results, op.operands)
        em.branch(exit_label)
        return
    if op.name not in ("cf.br", "cf.cond_br"):
        raise unsupported(op)
    before_branch(cx, block)
    step(cx, op)
    if op.name == "cf.br":
        ((label, args),) = op.successors
        assign(cx, joins[label], args)
        em.branch(labels[label])
        return
    edges = [em.fresh("edge") for _ in op.successors]
    em.branch_if(cx.scalars[op.operands[0]].value, *edges)
    for edge, (label, args) in zip(edges, op.successors, strict=True):
        em.label(edge)
        with cx.scope():
            assign(cx, joins[label], args)
        em.branch(labels[label])


@root("scf.yield", "scf.condition", "cf.br", "cf.cond_br", "gpu.barrier", "ttg.barrier", "llvm.intr.assume", *RETURNS)
def _nothing(cx: Context, op: Op) -> None:
    """Terminators are read by the operation they end; a program runs on one thread, so barriers are done.

    What a kernel assumes is a hint, which nothing here needs.
    """
