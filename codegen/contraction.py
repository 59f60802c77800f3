"""A product and a sum become one operation, by a rule that looks at nothing but the kernel.

    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %c : f32       ->       %s = math.fma %a, %b, %c : f32

LLVM would do it wherever it is allowed to, and chooses by what else stands around: of `a * c - b * s` it joins one
product or the other, and the last digit of a kernel's result would hang on what is put into the kernel. So it is
allowed nothing, and what becomes one operation is said here: of the f32 and f64 sums and differences of a block each
takes the product of its left side, else that of its right side, if it stands in the same block and nothing else uses
it. Narrower types round after every operation.
"""

from __future__ import annotations

import re

from opweave.registry.triton.ttir import Op, Parser, Value, walk

_SUMS = ("arith.addf", "arith.subf")
_LIKELY = re.compile(r"arith\.mulf .*f(?:32|64)")


def contracted(text: str) -> str:
    """TTIR with products and sums as one operation.

    Parameters
    ----------
    text : str
        A module as Triton prints it, after its own passes.
    """
    if _LIKELY.search(text) is None or not any(name in text for name in _SUMS):
        return text
    edits: dict[int, list[str]] = {}
    mark = "negated"
    while f"%{mark}" in text:
        mark += "_"
    for function in Parser(text).parse().functions.values():
        for op in walk(function.body):
            if op.name not in _SUMS or op.result.type.elem not in ("f32", "f64"):
                continue
            left, right = op.operands
            if left is right:
                continue
            product = next((v for v in (left, right) if _is_own(v, op)), None)
            if product is None or product.op is None:
                continue
            edits[product.op.number] = []
            edits[op.number] = _joined(op, product.op, right if product is left else left, product is left, mark)
    if not edits:
        return text
    lines: list[str] = []
    for k, old in enumerate(text.splitlines()):
        indent = old[: len(old) - len(old.lstrip())]
        lines += [indent + new for new in edits[k]] if k in edits else [old]
    return "\n".join(lines) + "\n"


def _is_own(value: Value, op: Op) -> bool:
    """Whether a value is a product that is there for a sum alone."""
    made = value.op
    return made is not None and made.name == "arith.mulf" and made.block is op.block and len(value.users) == 1


def _joined(op: Op, product: Op, other: Value, is_left: bool, mark: str) -> list[str]:
    a, b = product.operands
    lines: list[str] = []
    first, last = a.name, other.name
    if op.name == "arith.subf":
        negated = f"%{mark}{op.result.name[1:]}"
        lines.append(f"{negated} = arith.negf {last if is_left else first} : {op.result.type}{op.location}")
        first, last = (first, negated) if is_left else (negated, last)
    return [*lines, f"{op.result.name} = math.fma {first}, {b.name}, {last} : {op.result.type}{op.location}"]
