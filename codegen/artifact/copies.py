"""Copies between layouts as Triton kernels, for artifacts: what NumPy does in a process of Python's.

    copy x to y                    launch moved_0 [2, 1, 1]: x -> y
    call aten.copy_(y, x)     ->   launch moved_1 [2, 1, 1]: x -> y

Elements are moved as integers of their size. Copies of what lies in memory in one way are left as they are: they are
moves of bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opweave.codegen.host.operands import Address, Local, Number, TensorType, number_in
from opweave.codegen.host.segments import lie_alike, nbytes_of
from opweave.codegen.host.steps import Call, Copy, Free, Launch, Move, Program, Step, View
from opweave.codegen.kernel import KernelSource
from opweave.registry.dtypes import DType, int8, int16, int32, int64
from opweave.registry.op import ops

#: By the bytes of an element what it is moved as.
_MOVED_AS: dict[int, DType] = {1: int8, 2: int16, 4: int32, 8: int64}
_BLOCK = 1024


def run(program: Program) -> Program:
    """The program with launches in the place of its copies from one layout to another."""
    maker = _Maker(program)
    steps = tuple(maker.step(step) for step in program.steps)
    return replace(program, steps=steps, kernels=(*program.kernels, *maker.kernels.values()))


class _Maker:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.symbols = dict(program.symbols)
        self.kernels: dict[str, KernelSource] = {}
        self.base = {s.result: s.base for s in program.steps if isinstance(s, View)}
        self.base |= {s.result: s.of for s in program.steps if isinstance(s, Move)}
        self.used = {local for s in program.steps if not isinstance(s, Free) for local in s.uses}

    def step(self, step: Step) -> Step:
        """The launch for a step that copies; any other as it is."""
        if isinstance(step, Copy):
            alike = nbytes_of(step.to) is not None and lie_alike(step.to, step.of)
            return step if alike else self._launch(step, step.to, step.of)
        if isinstance(step, Call) and getattr(step.target, "function", None) is ops.aten.copy_.default:
            given = [a for a in step.args if isinstance(a, Local) and isinstance(a.type, TensorType)]
            if len(given) == 2 and not step.kwargs and step.result not in self.used:
                return self._launch(step, *given)
        return step

    def _root(self, local: Local) -> Local:
        while local in self.base:
            local = self.base[local]
        return local

    def _launch(self, step: Step, to: Local, of: Local) -> Step:
        one, other = to.tensor, of.tensor
        moved = _MOVED_AS.get(one.dtype.itemsize)
        behind = len(one.sizes) - len(other.sizes)
        if one.dtype is not other.dtype or moved is None or behind < 0 or self._root(to) is self._root(of):
            return step
        from_strides: list[Any] = [0] * behind
        for size, wanted, stride in zip(other.sizes, one.sizes[behind:], other.strides, strict=True):
            # An element that stands for many; sizes are equal otherwise.
            from_strides.append(0 if type(size) is int and size == 1 and wanted != 1 else stride)
        count = math.prod(one.sizes)
        if type(count) is int and not count:
            return Free(step.origin, ())
        numbers: dict[str, Any] = {"count": count}
        for i, values in enumerate(zip(one.sizes, one.strides, from_strides, strict=True)):
            numbers |= {f"{name}_{i}": value for name, value in zip(("size", "to", "of"), values, strict=True)}
        open_ = {name: value for name, value in numbers.items() if type(value) is not int}
        body = _text({n: n if n in open_ else str(v) for n, v in numbers.items()}, list(open_), len(one.sizes))
        programs = (count + _BLOCK - 1) // _BLOCK
        key = f"{moved}{body}"
        kernel = self.kernels.get(key)
        if kernel is None:
            name = self.program.names.fresh(f"moved_{len(self.kernels)}")
            kernel = self.kernels[key] = KernelSource(
                name, _HEAD + body.replace("NAME", name), (("a", moved), ("b", moved)), {},
                (programs if type(programs) is int else None, 1, 1), tuple((number, "i64") for number in open_),
            )  # fmt: skip
        arguments = (Address(of), Address(to), *map(self._number, open_.values()))
        return Launch(step.origin, kernel, (self._number(programs), 1, 1), (of,), (to,), arguments)

    def _number(self, value: Any) -> Number:
        return number_in(value, self.symbols)


_HEAD = """\
import triton
import triton.language as tl


"""


def _text(n: dict[str, str], open_: Sequence[str], rank: int) -> str:
    """The kernel: a program moves a stretch of the elements, in row-major order of their places in the result."""
    lines = [
        "@triton.jit",
        f"def NAME({', '.join(['a', 'b', *open_])}):",
        f"    i = tl.program_id(0).to(tl.int64) * {_BLOCK} + tl.arange(0, {_BLOCK})",
        f"    live = i < {n['count']}",
        "    from_, to = i * 0, i * 0",
    ]
    for d in reversed(range(rank)):
        lines += [
            f"    at = i % {n[f'size_{d}']}",
            f"    i = i // {n[f'size_{d}']}",
            f"    from_ += at * {n[f'of_{d}']}",
            f"    to += at * {n[f'to_{d}']}",
        ]
    return "\n".join([*lines, "    tl.store(b + to, tl.load(a + from_, live), live)", ""])
