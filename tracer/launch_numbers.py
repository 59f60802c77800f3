"""Sizes of a trace as what the analysis of kernels compares with the arguments of a launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opweave.registry.containers import is_sequence
from opweave.registry.symbolic import Symbolic
from opweave.registry.triton.polynomial import Known, Polynomial
from opweave.tracer.loops.size import Size, size_of


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


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """A kernel's arguments, what tuples hold one by one, by the names that its TTIR parameters have: `pair[0]`."""
    found: dict[str, Any] = {}
    waiting = [*values.items()][::-1]
    while waiting:
        name, value = waiting.pop()
        if is_sequence(value):
            waiting += [(f"{name}[{k}]", item) for k, item in enumerate(value)][::-1]
        else:
            found[name] = value
    return found


def operand_of(parameter: str) -> str:
    """What the operand of a launch is called that a TTIR parameter is given: `pair.0`."""
    return parameter.replace("[", ".").replace("]", "")


def numbers_of(values: Mapping[str, Any]) -> dict[str, Polynomial]:
    """The integers among a kernel's arguments, by parameter."""
    found: dict[str, Polynomial] = {}
    for name, value in flat(values).items():
        if type(value) in (int, bool):
            found[name] = Polynomial.of(int(value))
        elif isinstance(value, Symbolic) and value.kind == "int":
            found[name] = as_polynomial(size_of(value, -(1 << 62)))
    return found
