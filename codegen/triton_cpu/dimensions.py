"""Neighbouring dimensions that a loop nest can walk through as one.

Sorting and `flip` reshape a block to many dimensions of two elements. A nest with a loop for each of them takes long to
compile and runs slowly; nearly all of them can go together, since what the nest reads and writes lies in row-major
buffers, where an index of the last dimension may run on into those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from opweave.codegen.instructions.operands import Register
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.lanes import ZERO, Index, Indices, Key, key_of
from opweave.codegen.triton_cpu.operations import ROOTS, operation
from opweave.registry.triton.ttir import Value

_PLAIN = frozenset({"tt.load", "arith.andi"})
"""Lazy operations whose operands stand at the same positions as their result."""


def merged(cx: Context, shape: tuple[int, ...], values: Iterable[Value], axis: int | None = None) -> tuple[int, ...]:
    """The shape with neighbouring dimensions made one, where nothing that is evaluated tells them apart.

    Parameters
    ----------
    cx : Context
    shape : tuple of int
        What the nest goes over; row-major buffers of this shape may be written in it.
    values : iterable of Value
        Everything that is evaluated at the nest's index.
    axis : int, optional
        A dimension to keep by itself.

    Returns
    -------
    tuple of int
        Of the same length: dimensions that go together are 1 but for the last of them, which holds their product.
    """
    wide = [d for d in range(len(shape)) if shape[d] > 1]
    pairs = {(a, b) for a, b in pairwise(wide) if axis not in (a, b)}
    if not pairs:
        return shape
    survey = _Survey(cx, pairs)
    idx = tuple(Index(Register("%unknown"), 0, f"dim{d}") if d in wide else ZERO for d in range(len(shape)))
    for v in values:
        survey.visit(v, idx)
    result = list(shape)
    for a, b in pairwise(wide):
        if (a, b) in survey.pairs:
            result[b] *= result[a]
            result[a] = 1
    return tuple(result)


class _Survey:
    """Goes through what evaluating values reads; `pairs` are the neighbours that have not been told apart so far."""

    def __init__(self, cx: Context, pairs: set[tuple[int, int]]) -> None:
        self.cx, self.pairs = cx, pairs
        self._seen: set[Key] = set()

    def visit(self, v: Value, idx: Indices) -> None:
        cx, op = self.cx, v.op
        if not self.pairs or not v.type.is_tensor or key_of(v, idx) in self._seen:
            return
        self._seen.add(key_of(v, idx))
        if v in cx.buffers:
            self._read(v.type.dims, idx)
        elif v in cx.inductions:
            self.visit(cx.inductions[v].initial, idx)
        elif op is None or op.name == "tt.make_range":
            self._read(v.type.dims, idx)
        elif op.name == "arith.constant":
            if op.splat is None:
                self._read(v.type.dims, idx)
        elif op.name == "tt.split":
            self.visit(op.operands[0], (*idx, Index(v.index, 0, f"split{v.index}")))
        elif op.name == "tt.join":
            self._read(v.type.dims[-1:], idx[-1:])
            for o in op.operands:
                self.visit(o, idx[:-1])
        elif op.name == "opweave.exchange":
            axis = op.int_attr("axis")
            self._read((2,), (idx[axis],))
            self.visit(op.operands[0], idx)
        elif (op.name in ROOTS or operation(op).lazy is not None) and op.name not in _PLAIN:
            self.pairs.clear()
        else:
            for o, i in cx.inputs(op, idx):
                self.visit(o, i)

    def _read(self, dims: Sequence[int], idx: Indices) -> None:
        """Row-major memory is read at `idx`: two dimensions may stay together if they are neighbours there too."""
        places = [i.key for d, i in zip(dims, idx, strict=True) if d > 1]
        neighbours = set(pairwise(places))
        self.pairs -= {
            (a, b)
            for a, b in self.pairs
            if (f"dim{a}" in places or f"dim{b}" in places) and (f"dim{a}", f"dim{b}") not in neighbours
        }
