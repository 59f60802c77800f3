"""Reductions in a loop whose results only go into a value that the loop carries, as in `acc += tl.sum(tile, 0)`.

The carried value is brought up to date where the reduction has its result in registers. Else a second pass over both
would follow each tile, of as many loads as the tile has for few rows.
"""

from __future__ import annotations

from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.lanes import ZERO, Indices, Lanes, key_of
from opweave.codegen.triton_cpu.operations import VIEWS, operation
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Block, Op, Value

_MOST = 16
"""Operations between a reduction and the value that is carried on."""


@dataclass(frozen=True)
class Total:
    """What a loop carries, and what it is after one more reduction.

    Attributes
    ----------
    carried : Value
        As the loop's body finds it, in a buffer.
    following : Value
        As the body hands it on.
    reduced : Value
        The reduction's result.
    """

    carried: Value
    following: Value
    reduced: Value

    @property
    def repeats(self) -> bool:
        """Whether the carried value is only combined with the result as elements are with each other."""
        op, reduction = self.following.op, self.reduced.op
        assert op is not None and reduction is not None
        return op.name == reduction.regions[0][0].ops[0].name and self.carried in op.operands

    def so_far(self, cx: Context, at: Indices) -> Lanes:
        """What is carried, where the reduction's result is at an index."""
        return cx.load_buffer(cx.buffers[self.carried], self._place(at))

    def update(self, cx: Context, lanes: Lanes, at: Indices) -> None:
        """Write what is handed on into the buffer, where the reduction's result at an index is known."""
        with cx.scope():
            cx.remember(key_of(self.reduced, at), lanes)
            self.write(cx, cx.evaluate(self.following, self._place(at)), at)

    def write(self, cx: Context, following: Lanes, at: Indices) -> None:
        """Write what is handed on into the buffer."""
        cx.store_buffer(cx.buffers[self.carried], following, self._place(at))

    def _place(self, at: Indices) -> Indices:
        left = iter([i for d, i in zip(self.reduced.type.dims, at, strict=True) if d > 1])
        return tuple(next(left) if d > 1 else ZERO for d in self.following.type.dims)


def find_total(cx: Context, op: Op) -> Total | None:
    """The carried value that the result of a reduction goes into, where nothing else needs either."""
    if len(op.results) != 1 or not op.result.type.is_tensor or cx.features.sanitize:
        return None
    block, result = op.block, op.result
    if block.parent is None or block.parent.name != "scf.for" or len(block.parent.regions[0]) > 1:
        return None
    wide = [d for d in result.type.dims if d > 1]
    for carried, following in zip(block.args[1:], block.yielded, strict=True):
        same = [d for d in following.type.dims if d > 1] == wide
        if same and carried in cx.buffers and _only_there(block, carried, following, result):
            return Total(carried, following, result)
    return None


def _only_there(block: Block, carried: Value, following: Value, result: Value) -> bool:
    """Whether `following` is computed place by place from two values that nothing else reads, and from constants."""
    inside: set[Op] = set()
    leaves: set[Value] = set()
    todo = [following]
    while todo:
        v = todo.pop()
        if v in (carried, result):
            leaves.add(v)
            continue
        op = v.op
        if op is None or op.block is not block and op.splat is None:
            return False
        if op.splat is not None or op in inside:
            continue
        if len(inside) == _MOST or not _keeps_place(op):
            return False
        inside.add(op)
        todo += op.operands
    users = {user for op in inside for v in op.results if v is not following for user in v.users}
    users |= {user for v in leaves for user in v.users}
    return leaves == {carried, result} and users <= inside and following.users == [block.terminator]


def _keeps_place(op: Op) -> bool:
    """Whether an element of an operation's result is made of the operands' in the same place, but for sizes of 1."""
    if op.name in VIEWS:
        dims = [[d for d in v.type.dims if d > 1] for v in (op.operands[0], op.result)]
        return op.name in ("tt.expand_dims", "tt.reshape") and dims[0] == dims[1]
    entry = operation(op)
    return entry.element is not None and entry.root is None and entry.lazy is None and len(op.results) == 1
