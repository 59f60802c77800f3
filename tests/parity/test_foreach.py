"""Ops on lists of tensors (`_foreach_add` and the like) on PyTorch's own samples."""

from __future__ import annotations

import itertools
from typing import Any

import comparisons
import numpy as np
import opinfo
import pytest
import torch
from oracle import close
from torch.testing._internal import common_methods_invocations as samples

import opweave
from opweave.registry.errors import ShapeError

DATABASE = [
    entry
    for database in (
        samples.foreach_unary_op_db, samples.foreach_binary_op_db, samples.foreach_pointwise_op_db,
        samples.foreach_reduce_op_db, samples.foreach_other_op_db,
    )
    for entry in database
]  # fmt: skip
TYPES = (torch.float64, torch.int64, torch.complex128)
#: What PyTorch refuses and is no wrong number: complex weights of real tensors, sizes written to complex memory.
MORE = ("_foreach_lerp", "_foreach_abs_")


def ways(entry: Any) -> list[tuple[str, Any]]:
    found = [(entry.name, entry.method_variant), (f"{entry.name}_", entry.inplace_variant)]
    return [(name, function) for name, function in found if function is not None and hasattr(torch, name)]


@pytest.mark.parametrize("entry", DATABASE, ids=lambda entry: entry.name)
def test_samples(entry: Any) -> None:
    for name, function in ways(entry):
        ours, tried = getattr(opweave, name), 0
        for dtype in TYPES:
            if dtype not in entry.supported_dtypes("cpu"):
                continue  # no difference: PyTorch has none of it
            given = entry.sample_inputs("cpu", dtype, noncontiguous=False, allow_higher_dtype_scalars=True)
            for sample in itertools.islice(given, 12):
                mine = [opinfo.to_opweave(t) for t in sample.input]
                args, kwargs = opinfo.to_opweave(list(sample.args)), opinfo.to_opweave(dict(sample.kwargs))
                try:
                    wanted = function([t.clone() for t in sample.input], *sample.args, **sample.kwargs)
                except (RuntimeError, IndexError):
                    if name not in MORE:
                        with pytest.raises((RuntimeError, IndexError)):
                            ours(mine, *args, **kwargs)
                    continue  # no difference: both refuse
                found = ours(mine, *args, **kwargs)
                assert type(found) is type(wanted)
                assert len(found) == len(wanted)
                assert (found is mine) is name.endswith("_")
                for one, other in zip(found, wanted, strict=True):
                    assert one.dtype.name == str(other.dtype).removeprefix("torch.")
                    assert one.shape == other.shape
                    comparisons.note_test()
                    close(one.numpy(), other.numpy(), "optim", name)
                    tried += 1
        assert tried


def averaged(lib: Any, kept: list[Any], new: list[Any], counts: list[Any]) -> list[Any]:
    """A step of an optimizer as packages write them, on many parameters at once."""
    lib._foreach_add_(counts, 1)
    lib._foreach_mul_(kept, 0.9)
    lib._foreach_addcmul_(kept, new, new, 0.1)
    under = lib._foreach_sqrt(kept)
    lib._foreach_add_(under, 1e-8)
    steps = lib._foreach_div(new, under)
    lib._foreach_mul_(steps, [0.5, 0.25, 2.0])
    lib._foreach_lerp_(kept, steps, 0.25)
    norm = lib.stack(list(lib._foreach_norm(steps))).norm()
    return [*steps, norm]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_of_an_optimizer(compiled: bool) -> None:
    draw = np.random.default_rng(0)
    values = [draw.normal(size=size) for size in ((3, 4), (5,), ())]
    found = []
    for lib in (opweave, torch):
        kept, new = ([lib.tensor(v * scale) ** 2 + 0.1 for v in values] for scale in (1.0, 2.0))
        counts = [lib.tensor(0.0) for _ in values]
        step = opweave.compile(averaged, fullgraph=True) if compiled and lib is opweave else averaged
        results = [step(lib, kept, new, counts) for _ in range(3)]
        found.append([*results[-1], *kept, *counts])
    for mine, other in zip(*found, strict=True):
        close(mine.numpy(), other.numpy(), "models")


def test_gradients() -> None:
    found = []
    for lib in (opweave, torch):
        x = [lib.arange(1, n + 1, dtype=lib.float64).requires_grad_() for n in (2, 3)]
        made = lib._foreach_addcdiv(lib._foreach_mul(x, [2.0, 3.0]), lib._foreach_sin(x), x, 0.5)
        loss = lib.stack(list(lib._foreach_norm(made))).sum()
        found.append(lib.autograd.grad(loss, x))
    for mine, other in zip(*found, strict=True):
        close(mine.numpy(), other.numpy(), "models")


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib._foreach_add([], 1), lambda lib, x: lib._foreach_add(x, [1.0]),
        lambda lib, x: lib._foreach_add(x, x[:1]), lambda lib, x: lib._foreach_add(x, lib.ones(2)),
        lambda lib, x: lib._foreach_addcmul(x, x, x, lib.ones(3)), lambda lib, x: lib._foreach_norm([]),
        lambda lib, x: lib._foreach_lerp(x, x, [1.0]), lambda lib, x: lib._foreach_copy_(x, x[:1]),
    ],
    ids=["empty", "numbers", "tensors", "a vector", "elements", "norms of none", "weights", "copies"],
)  # fmt: skip
def test_lists_must_fit(call: Any) -> None:
    with pytest.raises(RuntimeError):
        call(torch, [torch.ones(2), torch.ones(3)])
    tensors = [opweave.ones(2), opweave.ones(3)]
    with pytest.raises(ShapeError):
        call(opweave, tensors)
    assert [t.tolist() for t in tensors] == [[1.0] * 2, [1.0] * 3]
