"""Products of one right operand have it packed once: the first packs it to memory, where the others find it.

    product mm = x @ w            alloc packed: f32[8192] strides [1] cpu
    product mm_1 = y @ w    ->    product mm = x @ w packed at packed
    ...                           product mm_1 = y @ w packed at packed
                                  ...

So a weight that each step of a recurrent network uses is read in the order in which registers need it, and threads
share rows of a product, not columns: what follows finds a row in the cache of the thread that made it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from opweave.codegen import blas
from opweave.codegen.host.operands import Layout, Local, TensorType
from opweave.codegen.host.steps import Alloc, Move, Names, Product, Step, View

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
        In their order.
    names : Names
        Those of the program; new ones are added.
    """
    keys = _keys(steps)
    counts = Counter(keys.values())
    memory: dict[_Key, Local] = {}
    found: list[Step] = []
    for step in steps:
        key = keys.get(step)
        if isinstance(step, Product) and key is not None and counts[key] >= LEAST:
            if key not in memory:
                made = _made(step, names)
                memory[key] = made.result
                found.append(made)
            step = replace(step, packed=memory[key])
        found.append(step)
    return found


#: A right operand, and how often its memory was written before.
_Key = tuple[Local, int]


def _keys(steps: Sequence[Step]) -> dict[Step, _Key]:
    """What products multiply by."""
    base: dict[Local, Local] = {}
    writes: Counter[Local] = Counter()
    keys: dict[Step, _Key] = {}

    def root(local: Local) -> Local:
        while local in base:
            local = base[local]
        return local

    for step in steps:
        if isinstance(step, (View, Move)):
            base[step.result] = step.base if isinstance(step, View) else step.of
        elif isinstance(step, Product) and _fits(step):
            keys[step] = step.b, writes[root(step.b)]
        writes.update({root(local) for local in step.writes})
    return keys


def _fits(step: Product) -> bool:
    """Whether native code may make a product of an operand that is packed already."""
    out, b = step.out.tensor, step.b.tensor
    if step.factors is not None or len(out.sizes) != 2 or not all(type(n) is int for n in (*out.sizes, *b.sizes)):
        return False
    k, n = b.sizes
    fits = blas.is_own(out.dtype, out.sizes, k, blas.PACKED) and out.sizes[0] <= blas.LONG
    return fits and _SMALL <= k * n * b.dtype.itemsize <= _LARGE


def _made(step: Product, names: Names) -> Alloc:
    kind = step.b.tensor
    k, n = kind.sizes
    count = -(-n // _COLUMNS) * _COLUMNS * k
    local = Local(names.fresh(f"{step.b}_packed"), TensorType((count,), (1,), 0, kind.dtype, kind.device))
    return Alloc(step.origin, local, Layout((count,), (1,), kind.dtype, kind.device))
