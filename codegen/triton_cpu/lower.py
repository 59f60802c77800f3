"""TTIR -> LLVM IR text: the script of the lowering.

    parse -> inline calls -> find exchanges -> number and analyse -> emit operations in order

Operations that have a `@root` rule are emitted where they stand; scalar operations too; tensor operations otherwise
stay lazy and are evaluated by the roots that need them. The kernel runs programs `start` to `end - 1` of the linear
grid, x fastest, so that one call from a thread pool covers many programs.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from opweave.codegen.instructions.emit import LLVM_TYPE, Buffer
from opweave.codegen.instructions.operands import Operand, Register
from opweave.codegen.kernel import APART
from opweave.codegen.native.launch import HEAP
from opweave.codegen.triton_cpu import (
    access,
    affine,
    control,
    dot,
    dot_scaled,
    effects,
    elementwise,
    libdevice,
    mapping,
    math,
    memory,
    reduce,
    shuffle,
    tiles,
    undefined,
)
from opweave.codegen.triton_cpu.analysis import Lowered, Reach, TargetFeatures, number, pointer_base
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.control import emit_blocks
from opweave.codegen.triton_cpu.debug_info import DebugInfo
from opweave.codegen.triton_cpu.exchange import find_exchanges
from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.codegen.triton_cpu.loops import materialize, nest, transposed_loads, write_all
from opweave.codegen.triton_cpu.materialize import before_write, overlap, side_buffers, side_outputs
from opweave.codegen.triton_cpu.operations import ROOTS, WRITES, lazy, operation, root
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.loading import load_heavy
from opweave.registry.triton.inline import inline_calls
from opweave.registry.triton.ttir import Block, Function, Op, Value, parse

_log = logging.getLogger("opweave.lowering")
_RULES = (
    access, affine, control, dot, dot_scaled, effects, elementwise, libdevice, mapping, math, memory, reduce, shuffle,
    tiles, undefined,
)  # fmt: skip
"""What registers the rules of operations when it is imported."""
_PTX = ("inline_asm", "ptx_arithmetic", "ptx_conversions")
"""The same of an operation that few kernels have."""


def lower(
    ttir_text: str,
    *,
    name: str | None = None,
    features: TargetFeatures,
    distinct: bool = True,
    debug_info: bool = False,
) -> Lowered:
    """Lower a Triton kernel to LLVM IR.

    Parameters
    ----------
    ttir_text : str
        The module as `str_nodebug()` or `str(module)` prints it.
    name : str, optional
        The kernel's function; by default the only public one.
    features : TargetFeatures
        The machine to emit for.
    distinct : bool
        Whether to take it that the kernel's pointers lead to different memory, where one is read and one written.
    debug_info : bool
        Whether to tell debuggers the source line of every instruction; the text must have locations then.

    Returns
    -------
    Lowered
        The LLVM module and what its caller must know.

    Raises
    ------
    UnsupportedTritonOp
        If the kernel uses an operation that cannot be lowered.
    """
    module = parse(ttir_text)
    function = module.entry(name)
    for call in inline_calls(function, module):
        raise unsupported(call, "recursive or unknown function")
    find_exchanges(function)
    if features.sanitize:
        undefined.follow(function)
    ops = number(function)
    if any(op.name == "tt.elementwise_inline_asm" for op in ops):
        for rules in _PTX:
            load_heavy(f"opweave.codegen.triton_cpu.{rules}")
    hints = {a: d for a, d in zip(function.args, function.divisibility, strict=True) if a.type.elem != "ptr"}
    distinct = distinct and not features.sanitize
    cx = Context(features, Reach(ops), hints, function.args if distinct else ())
    if distinct:
        cx.tables = {a for a, known in zip(function.args, function.attributes, strict=True) if APART in known}
    cx.parameters = {a: k for k, a in enumerate(function.args)}
    cx.emit_block = lambda block: _emit_block(cx, block)
    cx.writes = [op for op in ops if op.name in WRITES]
    cx.write_positions = [op.pos for op in cx.writes]
    if debug_info:
        cx.debug = DebugInfo(function)
        cx.em.place = cx.debug.whole
    _emit_function(cx, function)
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("%s", "\n".join([function.name, *map(str, cx.plans)]))
    bases = {pointer_base(op.operands[0]) for op in ops if op.name in WRITES and op.operands}
    return Lowered(
        _print(cx, function.name, len(function.args)),
        function.name,
        tuple(a.type.elem for a in function.args),
        tuple(cx.assertions),
        cx.needs_print,
        tuple(k for k, a in enumerate(function.args) if a in bases),
        tuple(sorted((*pair, level) for pair, level in cx.apart.items())),
        tuple(cx.sites),
    )


def _emit_function(cx: Context, function: Function) -> None:
    """The loop over programs around the kernel's body."""
    em = cx.em
    for k, a in enumerate(function.args):
        slot = em.offset(Register("%args"), k, "i64")
        t = LLVM_TYPE.get(a.type.elem)
        if t is None:
            raise NotImplementedError(f"kernel argument {a.name} of type {a.type}: this type is not supported")
        value = em.inst(f"load i8, ptr {slot}") if a.type.elem == "i1" else em.inst(f"load {t}, ptr {slot}")
        cx.scalars[a] = Lanes(
            "uniform", em.inst(f"trunc i8 {value} to i1") if a.type.elem == "i1" else value, a.type.elem
        )

    cx.assertion_slot = em.offset(Register("%args"), len(function.args), "i64")

    stopped = em.fresh("stopped")

    def program(i: Operand) -> None:
        cx.program = i
        access.step(cx, None, stopped)
        linear = em.inst(f"trunc i64 {i} to i32")
        rest = em.inst(f"udiv i32 {linear}, %gx")
        x = em.inst(f"urem i32 {linear}, %gx")
        cx.program_id = (x, em.inst(f"urem i32 {rest}, %gy"), em.inst(f"udiv i32 {rest}, %gy"))
        end = cx.program_end = em.fresh("program_end")
        with cx.scope():
            emit_blocks(cx, function.body, end, [])
        em.label(end)

    em.loop(Register("%start"), Register("%end"), 1, program)
    if cx.features.sanitize:
        em.branch(stopped)
        em.label(stopped)


def _emit_block(cx: Context, block: Block) -> None:
    """Emit the operations of a block; lazy ones wait for their roots."""
    for op in block.ops:
        if op not in cx.done:
            _emit_op(cx, op)


def _emit_op(cx: Context, op: Op) -> None:
    if cx.debug is None:
        _emit_op_here(cx, op)
    else:
        with cx.debug.at(cx.em, op):
            _emit_op_here(cx, op)


def _emit_op_here(cx: Context, op: Op) -> None:
    for v in op.results:
        if v.type.elem not in LLVM_TYPE:
            raise unsupported(op, f"values of type {v.type.elem} are not supported")
    entry = operation(op)
    if entry.root is not None:
        outer, cx.root = cx.root, op
        entry.root(cx, op)
        cx.root = outer
    elif not op.results:
        raise unsupported(op)
    elif not op.result.type.is_tensor:
        for v in op.results:
            cx.scalars[v] = _scalar(cx, v)
    elif op.name == "tt.load":
        cx.pending_loads.append(op)
        if cx.features.sanitize:  # all of it, also what a mask behind it would leave out
            materialize(cx, [op.result])
    elif not entry.is_lowered:
        raise unsupported(op)


def _scalar(cx: Context, v: Value) -> Lanes:
    op = v.op
    assert op is not None
    entry = operation(op)
    if entry.lazy is not None:
        return entry.lazy(cx, v, ())
    if entry.view is not None:
        return cx.evaluate(op.operands[0], entry.view(op, ()))
    return cx.element(op, [cx.scalars[o] for o in op.operands])


@root("tt.get_program_id")
def _program_id(cx: Context, op: Op) -> None:
    cx.scalars[op.result] = Lanes("uniform", cx.program_id["xyz".index(op.word)], "i32")


@root("tt.get_num_programs")
def _num_programs(cx: Context, op: Op) -> None:
    cx.scalars[op.result] = Lanes("uniform", Register(f"%g{op.word}"), "i32")


@root("tt.reshape")
def _reshape(cx: Context, op: Op) -> None:
    """A reshape that moves elements between dimensions is its source's row-major buffer under another shape."""
    source, result = op.operands[0], op.result
    if [d for d in source.type.dims if d > 1] != [d for d in result.type.dims if d > 1]:
        materialize(cx, [source])
        buffer = cx.buffers[source]
        cx.buffers[result] = Buffer(buffer.pointer, result.type.dims, buffer.elem)


@root("tt.store", writes=True)
def _store(cx: Context, op: Op) -> None:
    """One nest for a run of stores of the same shape, so that what they share is computed once."""
    pointer = op.operands[0]
    if not pointer.type.is_tensor:
        before_write(cx, [op], [])
        store = memory.prepare_store(cx, op, ())
        if store is not None:
            memory.emit_store(cx, store)
        return
    group = _store_group(cx, op)
    values = [s.operands[1] for s in group]
    before_write(cx, group, [o for s in group for o in s.operands])
    shape = pointer.type.dims
    loads = transposed_loads(cx, group, shape) if len(shape) > 1 else []
    if len(loads) == 1 and loads[0] not in cx.buffers and not side_outputs(cx, group, values, shape):
        crossing = tiles.crossing(cx, loads[0], loads[0].type.elem)
        if crossing and tiles.store_across(cx, group, loads[0], crossing[0], lambda: _store_all(cx, group, loads)):
            cx.done.update(group)
            return
    _store_all(cx, group, loads)
    cx.done.update(group)


def _store_all(cx: Context, group: Sequence[Op], loads: Sequence[Value]) -> None:
    """The stores in a nest of loops; `loads` run across them."""
    shape, values = group[0].operands[0].type.dims, [s.operands[1] for s in group]
    crossed = _across(cx, loads)
    side = side_outputs(cx, group, values, shape)
    kept = side_buffers(cx, side)

    def body(idx: Indices) -> None:
        stores = [memory.prepare_store(cx, s, idx) for s in group]
        write_all(cx, side, kept, idx)
        for store in stores:
            if store is not None:
                memory.emit_store(cx, store)

    nest(cx, shape, [*values, *side], group, body, merge=True, nothing_else=not side)
    for v in crossed:  # no later root needs it, else it would have been kept before
        del cx.buffers[v]
    cx.buffers.update(zip(side, kept, strict=True))


def _across(cx: Context, loads: Sequence[Value]) -> list[Value]:
    """Keep loads that run across their stores, and say which of them lie in the stores' direction."""
    crossed: list[Value] = []
    for v in loads:
        found = tiles.crossing(cx, v, v.type.elem) if v not in cx.buffers else None
        if found is not None:
            tiles.materialize_across(cx, v, found[0])
            crossed.append(v)
    materialize(cx, loads)
    return crossed


def _store_group(cx: Context, first: Op) -> list[Op]:
    """`first` and the stores of its shape that follow with nothing but pure operations between.

    Those that may write one place twice stay apart: the later one must win.
    """
    group, block = [first], first.block
    for op in block.ops[block.ops.index(first) + 1 :]:
        if op.name == "tt.store":
            if op.operands[0].type.dims != first.operands[0].type.dims:
                break
            if any(overlap(cx, op.operands[0], other.operands[0]) for other in group):
                break
            group.append(op)
        elif op.name in ROOTS or op.name == "tt.load" or op.regions:
            break
        else:
            _emit_op(cx, op)
            cx.done.add(op)
    return group


@lazy("tt.make_range", cost=0)
def _make_range(cx: Context, v: Value, idx: Indices) -> Lanes:
    """Only reached without lanes: in the vector dimension a range is affine."""
    assert v.op is not None
    i = cx.em.resize(idx[0].value, "i64", "i32")
    start = int(v.op.attr("start") or 0)
    return Lanes("uniform", i if start == 0 else cx.em.inst(f"add i32 {i}, {start}"), "i32")


def _print(cx: Context, name: str, arguments: int) -> str:
    """The module's text. Buffers beyond the stack's share come from one heap block per call."""
    em = cx.em
    entry, end = [*em.entry, "  br label %begin"], "  ret void"
    declarations = dict(em.declarations)
    if cx.streams:
        # What went past the caches is there for other threads before anything that they are told afterwards.
        declarations["sfence"] = "declare void @llvm.x86.sse.sfence()"
        end = f"  call void @llvm.x86.sse.sfence()\n{end}"
    if em.heap_bytes:
        declarations |= {"aligned_alloc": "declare ptr @aligned_alloc(i64, i64)", "free": "declare void @free(ptr)"}
        cx.assertions.append(f"{HEAP}\0{em.heap_bytes}")
        entry = [
            f"  %heap = call ptr @aligned_alloc(i64 64, i64 {em.heap_bytes})", *em.entry,
            "  %heap.none = icmp eq ptr %heap, null", "  br i1 %heap.none, label %heap.failed, label %begin",
            "heap.failed:",
            f"  %heap.slot = getelementptr i64, ptr %args, i64 {arguments}", "  %heap.cell = load ptr, ptr %heap.slot",
            f"  %heap.pair = cmpxchg ptr %heap.cell, i64 0, i64 {len(cx.assertions)} seq_cst seq_cst", "  ret void",
        ]  # fmt: skip
        end = f"  call void @free(ptr %heap)\n{end}"
    header = f"define void @{name}(ptr noalias readonly %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz) #0"
    debug = cx.debug
    header += f"{debug.subprogram if debug else ''} {{"
    lines: Sequence[str] = [
        *em.globals, *declarations.values(), header, "entry:", *entry, "begin:", *em.lines, end,
        "}", "attributes #0 = { nounwind }", *(debug.metadata() if debug else ()), "",
    ]  # fmt: skip
    return "\n".join(lines)
