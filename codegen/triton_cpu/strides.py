"""Which values are uniform or affine at an index: read of TTIR alone, where nothing is emitted yet."""

from __future__ import annotations

from opweave.codegen.instructions.emit import Emitter
from opweave.codegen.instructions.operands import Register
from opweave.codegen.triton_cpu.context import Context, splat_literal
from opweave.codegen.triton_cpu.lanes import Indices, Key, Lanes, key_of
from opweave.codegen.triton_cpu.operations import VIEWS, operation
from opweave.registry.triton.ttir import Value

UNKNOWN = Register("%unknown")
"""Stands for a number that only the kernel will know."""


class _Numbers(Emitter):
    """Arithmetic on what is known; everything else is `UNKNOWN`, and no instruction is written."""

    def inst(self, text: str) -> Register:
        return UNKNOWN


class Strides:
    """Values as `Context.affine` will give them, with `UNKNOWN` for what instructions compute.

    The rules of single operations are the same; they take this for their context.
    """

    em = _Numbers()
    positioned = False

    def __init__(self, cx: Context) -> None:
        self.cx, self.hints, self.width = cx, cx.hints, cx.width
        self._found: dict[Key, Lanes | None] = {}

    def of(self, v: Value, idx: Indices) -> Lanes | None:
        """`v` as a uniform or affine value, None where it is neither."""
        cx = self.cx
        if not v.type.is_tensor:
            return cx.scalars[v]
        if cx.unknown and any(i.key in cx.unknown for i in idx):
            return None
        if not any(i.lane for i in idx):
            return self._uniform(v, idx)
        if v.type.elem == "i1":
            return None
        key = key_of(v, idx)
        if key not in self._found:
            self._found[key] = self._affine(v, idx)
        return self._found[key]

    def _uniform(self, v: Value, idx: Indices) -> Lanes:
        """A value at one place: only a literal is known."""
        while v not in self.cx.buffers and v.op is not None and v.op.name in VIEWS:
            view = operation(v.op).view
            assert view is not None
            v, idx = v.op.operands[0], view(v.op, idx)
            if not v.type.is_tensor:
                return self.cx.scalars[v]
        text = None if v in self.cx.buffers else splat_literal(v)
        return Lanes("uniform", UNKNOWN if text is None else text, v.type.elem)

    def _affine(self, v: Value, idx: Indices) -> Lanes | None:
        cx, op = self.cx, v.op
        if v in cx.buffers:
            return None
        if v in cx.inductions:
            x = self.of(cx.inductions[v].initial, idx)
            return None if x is None else Lanes(x.kind, UNKNOWN, v.type.elem, x.stride, x.origin)
        if op is None:
            return None
        if op.name == "tt.make_range":
            return Lanes("affine", int(op.attr("start") or 0), "i32", idx[0].lane, idx[0].key)
        text = splat_literal(v)
        if text is not None:
            return Lanes("uniform", text, v.type.elem)
        entry = operation(op)
        if entry.view is not None:
            return self.of(op.operands[0], entry.view(op, idx))
        if entry.affine is None:
            return None
        parts: list[Lanes] = []
        for o, i in cx.inputs(op, idx):
            part = self.of(o, i)
            if part is None:
                return None
            parts.append(part)
        return entry.affine(self, op, parts)
