"""What the evaluation of a tensor value works with: lanes of values, and positions in them."""

from __future__ import annotations

from typing import Literal

from opweave.codegen.instructions.operands import FALSE, TRUE, Operand
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Value


@dataclass(frozen=True, slots=True)
class Lanes:
    """An evaluated value: `value` is the scalar, the vector, or the base of base + (origin + lane) * stride.

    The stride counts elements, or bytes for pointers; a register is of type i64. `origin` is the key of the
    index that moves an affine value.
    """

    kind: Literal["uniform", "affine", "vector"]
    value: Operand
    elem: str
    stride: Operand = 0
    origin: str = ""

    @property
    def uniform(self) -> bool:
        return self.kind == "uniform"

    @property
    def is_true(self) -> bool:
        """Whether it is known to be true in every lane."""
        return self.value == TRUE

    @property
    def is_false(self) -> bool:
        """Whether it is known to be false in every lane."""
        return self.value == FALSE


@dataclass(frozen=True, slots=True)
class Index:
    """Position along one dimension.

    `value` is an i64 (of lane 0), `lane` the step from lane to lane (0 outside the vector dimension) and `key` a name
    that is equal for equal positions, for remembering what was evaluated there.
    """

    value: Operand
    lane: int
    key: str


ZERO = Index(0, 0, "0")
Indices = tuple[Index, ...]
Key = tuple[Value, tuple[str, ...]]


def key_of(v: Value, idx: Indices) -> Key:
    return v, tuple(i.key for i in idx)


def replaced(idx: Indices, dim: int, index: Index) -> Indices:
    return idx[:dim] + (index,) + idx[dim + 1 :]
