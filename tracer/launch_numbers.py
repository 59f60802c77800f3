"""Sizes of a trace as what the analysis of kernels compares with the arguments of a launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opweave.registry.symbolic import Symbolic
from opweave.registry.triton.polynomial import Known, Polynomial
from opweave.tracer.size import Size, size_of


def as_polynomial(size: Size) -> Polynomial:
    """A size as what is compared with a kernel's arguments."""
    if isinstance(size, int):
        return Polynomial.of(size)
    total = Polynomial()
    for monomial, c in size.terms.items():
        term = Polynomial.of(c)
        for variable in monomial:
            term = term * Polynomial.of(Known(variable.text, variable, variable.low, variable.high))
        total = total + term
    return total


def numbers_of(values: Mapping[str, Any]) -> dict[str, Polynomial]:
    """The integers among a kernel's arguments."""
    found = {name: Polynomial.of(int(value)) for name, value in values.items() if type(value) in (int, bool)}
    for name, value in values.items():
        if isinstance(value, Symbolic) and value.kind == "int":
            found[name] = as_polynomial(size_of(value, -(1 << 62)))
    return found
