"""Products of one right operand have it packed once: the first packs it to memory, where the others find it.

    product mm = x @ w            alloc packed: f32[8192] strides [1] cpu
    product mm_1 = y @ w    ->    product mm = x @ w packed at packed
    ...                           product mm_1 = y @ w packed at packed
                                  ...

So a weight that each step of a recurrent network uses is read in the order in which registers need it, and threads
share rows of a product, not columns: what follows finds a row in the cache of the thread that made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.codegen import blas
from opweave.codegen.host.operands import Layout, Local, TensorType
from opweave.codegen.host.steps import Alloc, Names, Product, Step

#: Products that an operand is packed for, at least.
LEAST = 4
#: Bytes of an operand that is packed, at least and at most.
_SMALL, _LARGE = 1 << 14, 1 << 24
#: Of a panel of the packed operand (`native.narrow_products`), at most.
_COLUMNS = 64


def run(steps: Sequence[Step], names: Names) -> Sequence[Step]:
    """Give the products among the steps of a native call memory for their right operands.

    Parameters
    ----------
    steps : sequence of Step
        In their order. What a product multiplies is not written before the last that does so.
    names : Names
        Those of the program; new ones are added.
    """
    users: dict[Local, int] = {}
    for step in steps:
        if isinstance(step, Product) and _fits(step):
            users[step.b] = users.get(step.b, 0) + 1
    shared = {local for local, count in users.items() if count >= LEAST}
    if not shared:
        return steps
    memory: dict[Local, Local] = {}
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Product) and step.b in shared and _fits(step):
            if step.b not in memory:
                made = _made(step, names)
                memory[step.b] = made.result
                found.append(made)
            step = replace(step, packed=memory[step.b])
        found.append(step)
    return found


def _fits(step: Product) -> bool:
    """Whether native code may make a product of an operand that is packed already."""
    out, b = step.out.tensor, step.b.tensor
    if step.factors is not None or len(out.sizes) != 2 or not all(type(n) is int for n in (*out.sizes, *b.sizes)):
        return False
    k, n = b.sizes
    fits = blas.is_own(out.dtype, out.sizes, k) and out.sizes[0] <= blas.LONG
    return fits and _SMALL <= k * n * b.dtype.itemsize <= _LARGE


def _made(step: Product, names: Names) -> Alloc:
    kind = step.b.tensor
    k, n = kind.sizes
    count = -(-n // _COLUMNS) * _COLUMNS * k
    local = Local(names.fresh(f"{step.b}_packed"), TensorType((count,), (1,), 0, kind.dtype, kind.device))
    return Alloc(step.origin, local, Layout((count,), (1,), kind.dtype, kind.device))
