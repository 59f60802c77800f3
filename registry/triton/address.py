"""Numbers and addresses of a kernel, as they are read: polynomials, and what they are relative to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from opweave.registry.dataclass import dataclass
from opweave.registry.triton.polynomial import Polynomial
from opweave.registry.triton.ttir import Type, Value, parse_type

WIDE = 64
"""Bits of an address."""


@dataclass(frozen=True)
class Number:
    """An integer, or a block of them.

    Attributes
    ----------
    polynomial : Polynomial
        What it is, if no sum or product on the way left its type.
    bits : int
        Width of the narrowest type that one of those sums and products may leave; 64 where none may be narrower.
    """

    polynomial: Polynomial
    bits: int = WIDE

    def __str__(self) -> str:
        return f"{self.polynomial}" + (f" :i{self.bits}" if self.bits < WIDE else "")


@dataclass(frozen=True)
class Box:
    """What a block pointer or a descriptor knows of its buffer.

    Attributes
    ----------
    shape, strides : tuple of Number
        The buffer's, outermost dimension first.
    offsets : tuple of Number
        Where the block begins; of a descriptor 0, since each access says.
    block : tuple of int
        The block's shape.
    """

    shape: tuple[Number, ...]
    strides: tuple[Number, ...]
    offsets: tuple[Number, ...]
    block: tuple[int, ...]


@dataclass(frozen=True)
class Address:
    """An address, or a block of them: a parameter and a distance from it.

    Attributes
    ----------
    base : Value
        The kernel's parameter.
    offset : Number
        Distance in elements.
    elem : str
        Type of the elements.
    box : Box or None
        Of a block pointer or a descriptor.
    """

    base: Value
    offset: Number
    elem: str
    box: Box | None = None


def is_integer(v: Value) -> bool:
    return re.fullmatch(r"i\d+|index", v.type.elem) is not None


def width_of(v: Value) -> int:
    return WIDE if v.type.elem == "index" else int(v.type.elem[1:])


def block_of(v: Value) -> Type:
    """The block that a descriptor or a block pointer moves."""
    if v.type.elem == "ptr":
        return parse_type(v.type.pointee or "")
    inner = v.type.elem.partition("<")[2].rpartition(">")[0]
    return parse_type(inner if inner.startswith("tensor<") else f"tensor<{inner}>")


def parts_of(value: Number | Address) -> tuple[Number, ...]:
    """The numbers in a value that may change while it is handed on."""
    if isinstance(value, Number):
        return (value,)
    return (value.offset, *(value.box.offsets if value.box is not None else ()))


def with_parts(value: Number | Address, parts: Sequence[Number]) -> Number | Address:
    if isinstance(value, Number):
        return parts[0]
    box = replace(value.box, offsets=tuple(parts[1:])) if value.box is not None else None
    return replace(value, offset=parts[0], box=box)


def same_but_for_parts(a: Number | Address, b: Number | Address) -> bool:
    if len(parts_of(a)) != len(parts_of(b)):
        return False
    return isinstance(a, Number) or with_parts(a, parts_of(b)) == b


def moved(value: Number | Address, by: Sequence[Number]) -> Number | Address:
    parts = [Number(p.polynomial + d.polynomial, min(p.bits, d.bits)) for p, d in zip(parts_of(value), by, strict=True)]
    return with_parts(value, parts)


def nbytes(elem: str) -> int | None:
    """Size of an element; None where it is not a number."""
    if elem.startswith("f8"):
        return 1
    bits = re.fullmatch(r"(?:b?f|i)(\d+)", elem)
    return max(1, int(bits.group(1)) // 8) if bits else None
