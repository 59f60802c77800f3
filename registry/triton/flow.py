"""Which parameters the values of a kernel may point into.

An address is followed through everything that hands it on, integers made of it included:

    q = tt.addptr(p, i)          q comes from p
    scf.for iter_args(a = p)     a comes from p and from whatever the body yields
    i = tt.ptr_to_int(p)         i comes from p

Order and conditions do not count, so a value may be said to come from too many parameters, never from too few. An
address made from an integer or read from memory may point `ANYWHERE`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from opweave.registry.triton.ttir import Block, Function, Op, Region, Value, walk

Origin = Value | None
ANYWHERE: Origin = None
"""Stands among the parameters of an address that may point into any, and to memory beside them."""

READS = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather"})
WRITES = frozenset({"tt.store", "tt.descriptor_store", "tt.descriptor_scatter"})
ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce"})
ACCESSES = READS | WRITES | ATOMICS
"""Operations whose first operand is the address that they go to."""

_BASED = frozenset({"tt.addptr", "tt.advance", "tt.make_tensor_ptr", "tt.make_tensor_descriptor"})
_PURE = frozenset({
    "tt.splat", "tt.unsplat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.bitcast", "tt.ptr_to_int", "tt.trans",
    "tt.join", "tt.split", "tt.cat", "tt.gather", "tt.return", "tt.assert", "tt.print", "tt.reduce", "tt.reduce.return",
    "tt.scan", "tt.scan.return", "tt.map_elementwise", "tt.map_elementwise.return", "tt.dot", "tt.dot_scaled",
    "tt.make_range", "tt.get_program_id", "tt.get_num_programs", "tt.fp_to_fp", "tt.clampf", "tt.precise_sqrt",
    "tt.precise_divf", "tt.mulhiui", "tt.histogram", "tt.int_to_ptr", "gpu.barrier", "ttg.barrier", "opweave.call",
})  # fmt: skip
_PURE_DIALECTS = ("arith.", "math.", "scf.", "cf.", "ub.")
_TERMINATORS = ("scf.yield", "scf.condition", "tt.return", "tt.reduce.return", "tt.scan.return")


def is_known(op: Op) -> bool:
    """Whether all that an operation does with addresses is known; any other may write to what it is given."""
    if op.name == "tt.elementwise_inline_asm":
        return "[" not in op.message  # around what PTX reads and writes in memory
    return op.name in ACCESSES or op.name in _PURE or op.name in _BASED or op.name.startswith(_PURE_DIALECTS)


def is_address(value: Value) -> bool:
    """Whether a value is a pointer, a block of them or a descriptor."""
    return value.type.elem == "ptr" or value.type.elem.startswith("!tt.tensordesc")


class Flow:
    """Where the values of a function come from; its calls must be inlined.

    Parameters
    ----------
    function : Function
        The kernel.
    """

    def __init__(self, function: Function) -> None:
        self._beside: dict[Block, dict[str, Block]] = {}
        _name_blocks(function.body, self._beside)
        self._targets: dict[Value, list[Value]] = defaultdict(list)
        self._origins: dict[Value, frozenset[Origin]] = {}
        loose: list[Value] = []
        for op in walk(function.body):
            for target, sources in self.edges(op):
                for source in sources:
                    self._targets[source].append(target)
            loose += self._from_nowhere(op)
        todo = [(v, frozenset({v})) for v in function.args if is_address(v)] + [(v, frozenset({None})) for v in loose]
        while todo:
            value, more = todo.pop()
            before = self._origins.get(value, frozenset())
            if more <= before:
                continue
            self._origins[value] = before | more
            todo += [(target, self._origins[value]) for target in self._targets[value]]

    def origins(self, value: Value) -> frozenset[Origin]:
        """The parameters that a value may point into or be computed from the address of, and perhaps `ANYWHERE`."""
        return self._origins.get(value, frozenset())

    def only(self, value: Value) -> Value | None:
        """The one parameter that a value certainly points into, if there is one."""
        origins = self.origins(value)
        return next(iter(origins)) if len(origins) == 1 else None

    def successor(self, op: Op, label: str) -> Block:
        """The block that a branch names."""
        return self._beside[op.block][label]

    def beside(self, block: Block) -> list[Block]:
        """The blocks of a block's region."""
        return [*self._beside[block].values()]

    def turns_back(self, op: Op) -> bool:
        """Whether a branch may lead to where it stands."""
        seen: set[Block] = set()
        todo = [op]
        while todo:
            branch = todo.pop()
            for label, _ in branch.successors:
                block = self.successor(branch, label)
                if block not in seen:
                    seen.add(block)
                    todo += block.ops[-1:]
        return op.block in seen

    def edges(self, op: Op) -> Iterator[tuple[Value, list[Value]]]:
        """Each value that an operation defines or hands on, and those that it is made of."""
        if op.name == "scf.for":
            body = op.regions[0][0]
            for k, result in enumerate(op.results):
                sources = [op.operands[k + 3], body.yielded[k]]
                yield body.args[k + 1], sources
                yield result, sources
            yield body.args[0], op.operands[:3]
        elif op.name == "scf.if":
            for k, result in enumerate(op.results):
                yield result, [region[-1].yielded[k] for region in op.regions]
        elif op.name == "scf.while":
            before, after = op.regions[0][0], op.regions[1][0]
            handed = before.terminator.operands[1:]
            for k, arg in enumerate(before.args):
                yield arg, [op.operands[k], after.yielded[k]]
            for result, arg, value in zip(op.results, after.args, handed, strict=True):
                yield result, [value]
                yield arg, [value]
        elif op.name == "opweave.call":
            for k, result in enumerate(op.results):
                yield result, [end.operands[k] for end in returns(op)]
        elif op.successors:
            for label, values in op.successors:
                yield from zip(self.successor(op, label).args, ([v] for v in values), strict=True)
        elif op.name in ACCESSES:
            for result in op.results:  # where a mask leaves lanes out, a load gives what it was told to
                yield result, op.operands[2:] if op.name == "tt.load" else []
        else:
            inside = [v for region in op.regions for inner in walk(region) for v in _handed_on(inner)]
            for region in op.regions:
                for arg in region[0].args:
                    yield arg, op.operands
            for result in op.results:
                yield result, [*op.operands, *inside]

    def _from_nowhere(self, op: Op) -> list[Value]:
        """The addresses among an operation's results that may point anywhere."""
        if op.name == "tt.int_to_ptr" or op.name in ACCESSES or not is_known(op):
            return [result for result in op.results if is_address(result)]
        return []


def returns(call: Op) -> list[Op]:
    """The `tt.return` operations of an inlined call."""
    return [block.ops[-1] for block in call.regions[0] if block.ops and block.ops[-1].name == "tt.return"]


def _handed_on(op: Op) -> list[Value]:
    return op.operands if op.name in _TERMINATORS or op.name.endswith(".return") else []


def _name_blocks(region: Region, beside: dict[Block, dict[str, Block]]) -> None:
    labels = {block.label: block for block in region}
    for block in region:
        beside[block] = labels
        for op in block.ops:
            for inner in op.regions:
                _name_blocks(inner, beside)
