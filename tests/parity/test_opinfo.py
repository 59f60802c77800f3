"""PyTorch's samples of its operators (OpInfo), by opweave's public names: a few of each entry, in each way to call it.

`python tests/parity/opinfo.py` tries all samples.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import comparisons
import differences
import opinfo
import pytest
import torch

#: Types and numbers of samples that are tried, by way.
TRIED = {
    "function": (("float32", 3), ("int64", 1), ("bool", 1)),
    "method": (("float32", 1), ("int64", 1)),
    "inplace": (("float32", 2),),
    "out": (("float32", 2),),
    "gradient": (("float64", 2),),
    "compiled": (("float32", 1),),
}
#: Of so many entries one is compiled, another one with each name.
COMPILED = 40


def is_left_out(label: str, way: str) -> bool:
    """Whether the table says why an entry is not tried in a way."""
    return label in differences.OPINFO or f"{label} {way}" in differences.OPINFO


def tried(entry: Any) -> Iterator[tuple[str, str, int]]:
    """(way, type, number of samples) of an entry."""
    label = opinfo.label(entry)
    for way, types in TRIED.items():
        is_picked = way != "compiled" or zlib.crc32(label.encode()) % COMPILED == 0
        if is_picked and not is_left_out(label, way):
            taken = [(dtype, count) for dtype, count in types if opinfo.applies(entry, way, opinfo.DTYPES[dtype])]
            if not taken and way in ("function", "inplace", "out"):
                others = ("complex64", "int64")
                taken = [(dtype, 1) for dtype in others if opinfo.applies(entry, way, opinfo.DTYPES[dtype])][:1]
            for dtype, number in taken:
                yield way, dtype, number


@pytest.mark.every_op
@pytest.mark.parametrize("entry", opinfo.op_db, ids=opinfo.label)
def test_samples(entry: Any) -> None:
    failures = []
    for way, dtype, count in tried(entry):
        right, total, errors = opinfo.measure(entry, way, opinfo.DTYPES[dtype], count)
        for _ in range(right):
            comparisons.note_test()
        failures += [f"{way}, {dtype}: {text}" for text in errors] if right < total else []
    assert not failures, "\n".join(failures)


def test_what_has_no_gradient_says_so() -> None:
    wrong = []
    for entry in opinfo.op_db:
        if opinfo.label(entry) in ("histogram", "histogramdd"):
            continue  # no difference: counts do not move with elements, and do with weights
        if entry.supports_autograd or torch.float32 not in entry.dtypes or is_left_out(opinfo.label(entry), "function"):
            continue  # no difference: its gradient is compared above
        sample = next(iter(entry.sample_inputs("cpu", torch.float32)))
        given = (sample.input, *sample.args)
        for tensor in opinfo.leaves(given):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                tensor.requires_grad_()
        try:
            theirs = opinfo.leaves(entry.op(*given, **sample.kwargs))
        except RuntimeError:
            continue  # no difference: it writes to a leaf
        ours = opinfo.leaves(opinfo.function_of(entry)(*opinfo.to_opweave(given), **opinfo.to_opweave(sample.kwargs)))
        pairs = [
            (t.requires_grad, o.requires_grad) for t, o in zip(theirs, ours, strict=True) if isinstance(t, torch.Tensor)
        ]
        wrong += [(opinfo.label(entry), t, o) for t, o in pairs if t != o]
    assert not wrong, wrong


def test_nearly_all_entries_are_tried() -> None:
    labels = [opinfo.label(entry) for entry in opinfo.op_db]
    named = {name.partition(" ")[0] for name in differences.OPINFO}
    assert named <= set(labels), "entries that there are not"
    assert len(labels) - len(named & set(labels)) >= 680
