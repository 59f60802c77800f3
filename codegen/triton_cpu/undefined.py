"""Follows lanes that nothing is known of: those that a mask leaves out of a `tl.load` without `other`.

In a sanitized kernel each value that may hold such lanes gets a companion, a block of booleans that says which of its
elements they came into. Companions are computed by operations of the same IR, written beside those of the kernel, so
loops, branches and reductions carry them as they carry everything else. Where the kernel stores an element, makes an
address of it or branches on it, an `opweave.undefined` asks its companion.

What a mask hides again stays unreported: `tl.where(m, x, 0)`, `m & (x > 0)`, a store under a mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opweave.codegen.triton_cpu.access import report
from opweave.codegen.triton_cpu.analysis import UNDEFINED
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import binary
from opweave.codegen.triton_cpu.exchange import EXCHANGE
from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.codegen.triton_cpu.loops import outer_loops
from opweave.codegen.triton_cpu.operations import VIEWS, root
from opweave.registry.triton.ttir import Block, Function, Op, Region, Type, Value, walk

_MOVES = VIEWS | {"tt.join", "tt.split", "tt.cat", EXCHANGE}
_ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas"})
_RETURNS = ("tt.return", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return")


def follow(function: Function) -> None:
    """Write companions into a function, and the questions about them; its calls must be inlined."""
    sources = _may_be_undefined(function)
    if sources:
        _Companions(sources, blocks_beside(function)).region(function.body)


def blocks_beside(function: Function) -> dict[Block, dict[str, Block]]:
    """For each block, those of its region by label."""
    found: dict[Block, dict[str, Block]] = {}
    for region in _regions(function.body):
        labels = {block.label: block for block in region}
        found.update((block, labels) for block in region)
    return found


# ---- which values may hold such lanes --------------------------------------------------------------------------------


def _may_be_undefined(function: Function) -> dict[Value, Op]:
    """The values that may hold lanes that a mask left out, and a load that they may come from."""
    found: dict[Value, Op] = {}
    ops = list(walk(function.body))
    beside = blocks_beside(function)
    for op in ops:
        if op.name == "tt.load" and len(op.operands) == 2 and not _is_true(op.operands[1]):
            found[op.result] = op
    changed = bool(found)
    while changed:
        changed = False
        for op in ops:
            for target, origins in _flows(op, beside):
                if target not in found:
                    origin = next((found[v] for v in origins if v in found), None)
                    if origin is not None:
                        found[target], changed = origin, True
    return found


def _is_true(mask: Value) -> bool:
    return mask.op is not None and mask.op.splat == "true"


def _flows(op: Op, beside: dict[Block, dict[str, Block]]) -> Iterator[tuple[Value, list[Value]]]:
    """Each value that an operation defines or hands on, and those that it is made of."""
    if op.name == "scf.for":
        body = op.regions[0][0]
        for k, result in enumerate(op.results):
            origins = [op.operands[k + 3], body.yielded[k]]
            yield body.args[k + 1], origins
            yield result, origins
    elif op.name == "scf.if":
        for k, result in enumerate(op.results):
            yield result, [region[0].yielded[k] for region in op.regions]
    elif op.name == "scf.while":
        before, after = op.regions[0][0], op.regions[1][0]
        for k, arg in enumerate(before.args):
            yield arg, [op.operands[k], after.yielded[k]]
        for k, result in enumerate(op.results):
            yield result, [before.terminator.operands[k + 1]]
            yield after.args[k], [before.terminator.operands[k + 1]]
    elif op.name == "opweave.call":
        for k, result in enumerate(op.results):
            yield result, [end.operands[k] for end in _ends(op)]
    elif op.successors:
        for label, values in op.successors:
            for arg, value in zip(beside[op.block][label].args, values, strict=True):
                yield arg, [value]
    elif op.name not in _ATOMICS:
        for result in op.results:
            yield result, op.operands


def _ends(call: Op) -> list[Op]:
    return [block.ops[-1] for block in call.regions[0] if block.ops and block.ops[-1].name == "tt.return"]


def _regions(region: Region) -> Iterator[Region]:
    yield region
    for op in walk(region):
        yield from op.regions


# ---- companions ------------------------------------------------------------------------------------------------------


class _Companions:
    """Writes companions beside the values of a function."""

    def __init__(self, sources: dict[Value, Op], beside: dict[Block, dict[str, Block]]) -> None:
        self.sources, self.beside = sources, beside
        self.of: dict[Value, Value] = {}
        self.block = Block("")
        self.place = 0
        self.loc: str | None = None

    def region(self, region: Region) -> None:
        for block in region:
            for arg in list(block.args):
                if arg in self.sources and arg not in self.of:
                    self.of[arg] = self.argument(block, arg)
        for block in region:
            for op in list(block.ops):
                self.block, self.place, self.loc = block, block.ops.index(op), op.loc
                self.questions(op)
                self.operation(op)

    # -- writing

    def make(self, name: str, operands: Sequence[Value], type_: Type, attrs: str = "", regions: Sequence[Region] = ()
             ) -> Op:  # fmt: skip
        """Write an operation at the present place."""
        op = Op(name, list(operands), [], attrs, f"{name} (sanitizer)", self.block, 0, list(regions), loc=self.loc)
        op.results = [Value("%companion", type_, op, 0)]
        self.insert(op)
        return op

    def insert(self, op: Op) -> None:
        self.block.ops.insert(self.place, op)
        self.place += 1
        for operand in dict.fromkeys(op.operands):
            operand.users.append(op)

    def value(self, name: str, operands: Sequence[Value], type_: Type, attrs: str = "") -> Value:
        return self.make(name, operands, type_, attrs).result

    def constant(self, shape: tuple[int, ...] | None, text: str) -> Value:
        return self.value("arith.constant", (), Type("i1", shape), text)

    def known(self, v: Value) -> Value | None:
        """The companion of a value; None where it is all defined."""
        return self.of.get(v)

    def always(self, v: Value) -> Value:
        """The companion of a value, of all false where it has none."""
        found = self.known(v)
        return found if found is not None else self.constant(v.type.shape, "false")

    def either(self, values: Sequence[Value | None]) -> Value | None:
        found: Value | None = None
        for v in values:
            if v is not None:
                found = v if found is None else self.value("arith.ori", (found, v), found.type)
        return found

    def both(self, a: Value, b: Value) -> Value:
        return self.value("arith.andi", (a, b), a.type)

    def negated(self, a: Value) -> Value:
        return self.value("arith.xori", (a, self.constant(a.type.shape, "true")), a.type)

    def like(self, v: Value, shape: tuple[int, ...] | None) -> Value:
        """A companion of a single element, for a block."""
        return v if v.type.shape == shape else self.value("tt.splat", (v,), Type("i1", shape))

    def along(self, v: Value, axis: int, name: str = "tt.reduce", attrs: str = "") -> Value:
        """Whether any element along an axis is; with `tt.scan`, any so far."""
        block = Block("bb0")
        args = [Value(f"%companion{k}", Type("i1"), None, k, block) for k in range(2)]
        block.args = args
        joined = Op("arith.ori", list(args), [], "", "arith.ori (sanitizer)", block, 0)
        joined.results = [Value("%companion", Type("i1"), joined, 0)]
        end = Op(f"{name}.return", [joined.result], [], "", f"{name}.return (sanitizer)", block, 0)
        for arg in args:
            arg.users.append(joined)
        joined.result.users.append(end)
        block.ops = [joined, end]
        dims = v.type.dims
        shape = dims if name == "tt.scan" else (dims[:axis] + dims[axis + 1 :] or None)
        made = self.make(name, (v,), Type("i1", shape), attrs or f"<{{axis = {axis} : i32}}>", [[block]])
        block.parent = made
        return made.result

    def argument(self, block: Block, arg: Value) -> Value:
        made = Value(f"{arg.name}.companion", Type("i1", arg.type.shape), None, len(block.args), block)
        block.args.append(made)
        return made

    def hand_on(self, op: Op, values: list[Value], added: Sequence[Value]) -> None:
        """Have an operation take further operands."""
        for v in added:
            values.append(v)
            if op not in v.users:
                v.users.append(op)

    def result(self, op: Op, of: Value) -> None:
        made = Value(f"{of.name}.companion", Type("i1", of.type.shape), op, len(op.results))
        op.results.append(made)
        self.of[of] = made

    # -- what is asked

    def questions(self, op: Op) -> None:
        """Ask about what an operation stores, reads from and decides by."""
        if op.name in ("tt.store", *_ATOMICS):
            mask = op.operands[-1] if len(op.operands) > 2 and op.name != "tt.atomic_cas" else None
            values = op.operands[1:] if mask is None else op.operands[1:-1]
            self.ask(op, op.operands[0], "address", mask)
            if mask is not None:
                self.ask(op, mask, "mask", None)
            self.place = self.block.ops.index(op) + 1  # whether it reaches outside comes first
            for v in values:
                self.ask(op, v, "stored" if op.name == "tt.store" else "added", mask)
        elif op.name == "tt.load":
            self.ask(op, op.operands[0], "address", op.operands[1] if len(op.operands) > 1 else None)
        elif op.name in ("scf.if", "scf.condition", "cf.cond_br"):
            self.ask(op, op.operands[0], "branch", None)
        elif op.name == "scf.for":
            for bound in op.operands[:3]:
                self.ask(op, bound, "branch", None)

    def ask(self, op: Op, v: Value, how: str, mask: Value | None) -> None:
        companion = self.known(v)
        if companion is not None:
            operands = [companion] if mask is None else [companion, mask]
            source = self.sources[v].loc or ""
            self.insert(Op(UNDEFINED, operands, [], f"{how}\0{source}", op.line, self.block, 0, loc=op.loc))

    # -- operations

    def operation(self, op: Op) -> None:
        self.place = self.block.ops.index(op) + 1
        if op.name in _CONTROL:
            _CONTROL[op.name](self, op)
        elif op.successors:
            self.branch(op)
        elif op.name not in _RETURNS and any(r in self.sources for r in op.results):
            self.computed(op)

    def computed(self, op: Op) -> None:
        shape = op.results[0].type.shape
        known = [self.known(v) for v in op.operands]
        name = op.name
        if name == "tt.split":
            made = Op(name, [self.always(op.operands[0])], [], op.attrs, op.line, self.block, 0, loc=op.loc)
            made.results = [Value("%companion", Type("i1", shape), made, k) for k in range(2)]
            self.insert(made)
            self.of.update(zip(op.results, made.results, strict=True))
            return
        if name == "tt.load":
            found = self.loaded(op, known)
        elif name in _MOVES:
            found = self.value(name, [self.always(v) for v in op.operands], Type("i1", shape), op.attrs)
        elif name == "arith.select":
            found = self.selected(op, known)
        elif name in ("arith.andi", "arith.ori") and op.result.type.elem == "i1":
            found = self.decided(op, known)
        elif name in ("tt.reduce", "tt.scan"):
            joined = self.either(known)
            assert joined is not None
            found = self.along(joined, op.int_attr("axis"), name, op.attrs if name == "tt.scan" else "")
        elif name == "tt.dot":
            found = self.product(op, known)
        elif name == "tt.gather":
            picked = None
            if known[0] is not None:
                picked = self.value(name, (known[0], op.operands[1]), Type("i1", shape), op.attrs)
            found = self.either([picked, known[1]])
        elif all(v.type.shape == shape for v in op.operands) and name != "tt.histogram":
            found = self.either(known)
        else:
            found = self.anywhere(op, known)
        if found is not None:
            for result in op.results:
                self.of[result] = self.like(found, result.type.shape)

    def loaded(self, op: Op, known: list[Value | None]) -> Value | None:
        if len(op.operands) == 1:
            return known[0]
        mask = op.operands[1]
        if len(op.operands) == 2:
            left_out: Value | None = self.negated(mask)
        else:
            left_out = None if known[2] is None else self.both(known[2], self.negated(mask))
        return self.either([left_out, known[1]])

    def selected(self, op: Op, known: list[Value | None]) -> Value | None:
        condition, a, b = op.operands
        chosen = None
        if known[1] is not None or known[2] is not None:
            chosen = self.value("arith.select", (condition, self.always(a), self.always(b)), Type("i1", a.type.shape))
        unsure = known[0]
        if unsure is not None:
            unsure = self.like(unsure, a.type.shape)
        return self.either([chosen, unsure])

    def decided(self, op: Op, known: list[Value | None]) -> Value | None:
        """`false and x` is false whatever x is, and `true or x` true."""
        (a, b), (ua, ub) = op.operands, known

        def open_(v: Value, u: Value | None) -> Value:
            """Whether an operand leaves the other one the say, or may."""
            free = v if op.name == "arith.andi" else self.negated(v)
            return free if u is None else self.value("arith.ori", (free, u), free.type)

        left = None if ua is None else self.both(ua, open_(b, ub))
        right = None if ub is None else self.both(ub, open_(a, ua))
        return self.either([left, right])

    def product(self, op: Op, known: list[Value | None]) -> Value | None:
        dims = op.result.type.dims
        parts: list[Value | None] = [known[2]]
        for companion, axis in ((known[0], len(dims) - 1), (known[1], len(dims) - 2)):
            if companion is not None:
                reduced = self.along(companion, axis)
                kept = dims[:axis] + (1,) + dims[axis + 1 :]
                spread = self.value("tt.expand_dims", (reduced,), Type("i1", kept), f"{{axis = {axis} : i32}}")
                parts.append(self.value("tt.broadcast", (spread,), Type("i1", dims)))
        return self.either(parts)

    def anywhere(self, op: Op, known: list[Value | None]) -> Value | None:
        """Whether any element of any operand is."""
        parts: list[Value | None] = []
        for v, companion in zip(op.operands, known, strict=True):
            if companion is None:
                continue
            if op.name == "tt.histogram" and v is op.operands[0] and len(op.operands) > 1:
                companion = self.both(companion, op.operands[1])
            while companion.type.is_tensor:
                companion = self.along(companion, 0)
            parts.append(companion)
        return self.either(parts)

    # -- control flow

    def within(self, region: Region) -> None:
        block, place, loc = self.block, self.place, self.loc
        self.region(region)
        self.block, self.place, self.loc = block, place, loc

    def before(self, op: Op) -> None:
        self.place = self.block.ops.index(op)

    def loop(self, op: Op) -> None:
        body = op.regions[0][0]
        chosen = [k for k, r in enumerate(op.results) if r in self.sources]
        self.before(op)
        self.hand_on(op, op.operands, [self.always(op.operands[k + 3]) for k in chosen])
        results = [op.results[k] for k in chosen]
        yielded = [body.yielded[k] for k in chosen]
        for k in chosen:
            self.of[body.args[k + 1]] = self.argument(body, body.args[k + 1])
        self.within(op.regions[0])
        self.at_end(body, yielded)
        for result in results:
            self.result(op, result)

    def at_end(self, block: Block, values: Sequence[Value]) -> None:
        """Have a block's end hand on companions, too."""
        saved = self.block, self.place
        end = block.ops[-1]
        self.block, self.place = block, len(block.ops) - 1
        self.hand_on(end, end.operands, [self.always(v) for v in values])
        self.block, self.place = saved

    def choice(self, op: Op) -> None:
        chosen = [k for k, r in enumerate(op.results) if r in self.sources]
        results = [op.results[k] for k in chosen]
        for region in op.regions:
            self.within(region)
            if chosen:
                self.at_end(region[0], [region[0].yielded[k] for k in chosen])
        for result in results:
            self.result(op, result)

    def turns(self, op: Op) -> None:
        before, after = op.regions[0][0], op.regions[1][0]
        carried = [k for k, a in enumerate(before.args) if a in self.sources]
        handed = [k for k, r in enumerate(op.results) if r in self.sources]
        self.before(op)
        self.hand_on(op, op.operands, [self.always(op.operands[k]) for k in carried])
        results = [op.results[k] for k in handed]
        for block, places in ((before, carried), (after, handed)):
            for k in places:
                self.of[block.args[k]] = self.argument(block, block.args[k])
        for region in op.regions:
            self.within(region)
        self.at_end(before, [before.terminator.operands[k + 1] for k in handed])
        if carried:
            self.at_end(after, [after.yielded[k] for k in carried])
        for result in results:
            self.result(op, result)

    def call(self, op: Op) -> None:
        chosen = [k for k, r in enumerate(op.results) if r in self.sources]
        results = [op.results[k] for k in chosen]
        self.within(op.regions[0])
        for block in op.regions[0]:
            if block.ops and block.ops[-1].name == "tt.return":
                self.at_end(block, [block.ops[-1].operands[k] for k in chosen])
        for result in results:
            self.result(op, result)

    def branch(self, op: Op) -> None:
        self.before(op)
        for label, values in op.successors:
            args = self.beside[op.block][label].args
            added = [self.always(v) for v, a in zip(list(values), args, strict=False) if a in self.sources]
            self.hand_on(op, values, added)


_CONTROL = {
    "scf.for": _Companions.loop, "scf.if": _Companions.choice, "scf.while": _Companions.turns,
    "opweave.call": _Companions.call,
}  # fmt: skip


@root(UNDEFINED)
def _undefined(cx: Context, op: Op) -> None:
    """Say where an element that is used is nobody's."""
    how, _, source = op.attrs.partition("\0")

    def element(idx: Indices) -> None:
        found = [cx.evaluate(v, idx if v.type.is_tensor else ()) for v in op.operands]
        parts = [Lanes("uniform", cx.position(x), "i1") for x in found]
        asked = parts[0] if len(parts) == 1 else binary(cx, "and", parts)
        report(cx, op, "undefined", asked, idx, how, source)

    dims = op.operands[0].type.dims
    with cx.lanes(1):
        outer_loops(cx, dims, range(len(dims)), element)
