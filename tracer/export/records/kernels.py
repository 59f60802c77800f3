"""Triton kernels: TTIR in an entry of its own, and what the text does not tell."""

from __future__ import annotations

import re
from typing import Any

from opweave.tracer.export.encoding import Reader, decode_operand, encode_operand
from opweave.tracer.export.kernels import TextKernel, add, check
from opweave.tracer.export.records.places import Entries

_PARAMETER_TYPE = re.compile(
    r"\*?k?(fp8e(5|4nv|4b8|5b16)|fp16|bf16|fp32|fp64|i1|i8|i16|i32|i64|u1|u8|u16|u32|u64)|constexpr", re.ASCII
)


class KernelRecords:
    """Writes kernels, equal ones once.

    Attributes
    ----------
    records : list
        By number.
    """

    def __init__(self, entries: Entries):
        self.records: list[Any] = []
        self._numbers: dict[str, int] = {}
        self._entries = entries

    def number(self, kernel: TextKernel) -> int:
        """The number of a kernel, which is written the first time."""
        number = self._numbers.setdefault(kernel.digest, len(self.records))
        if number == len(self.records):
            entry = self._entries.add(f"kernels/{number}.ttir", kernel.ttir.encode())
            fixed = {name: encode_operand(value, kernel.name) for name, value in kernel.fixed.items()}
            self.records.append(
                {
                    "entry": entry,
                    "name": kernel.name,
                    "parameters": [list(pair) for pair in kernel.parameters],
                    "fixed": fixed,
                    "writes": sorted(kernel.writes),
                }
            )
        return number


def decode_kernel(source: Reader, entries: Entries) -> int:
    """Read a kernel; gives its index among `registry.triton_op.kernels`."""
    source.keys("entry", "name", "parameters", "fixed", "writes")
    try:
        text = entries.take(source["entry"], ".ttir").decode()
    except UnicodeDecodeError as error:
        return source["entry"].fail(f"text ({error})")
    parameters: list[tuple[str, str]] = []
    for item in source["parameters"].items():
        pair = item.items()
        if len(pair) != 2 or not _PARAMETER_TYPE.fullmatch(pair[1].text(20)):
            item.fail("a name and a Triton type")
        parameters.append((pair[0].identifier(), pair[1].value))
    names = {name for name, _ in parameters}
    fixed = {name: decode_operand(item, {}) for name, item in source["fixed"].members()}
    writes = frozenset(item.identifier() for item in source["writes"].items())
    if len(names) != len(parameters) or not (names >= writes and names >= fixed.keys()):
        source.fail("parameters with names of their own")
    kernel = TextKernel(source["name"].text(1000), text, tuple(parameters), fixed, writes)
    check(kernel)
    return add(kernel)
