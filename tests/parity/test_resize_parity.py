"""`resize_`, `resize_as_` and `addbmm_`, which give a tensor other sizes, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import compare, to_torch

import opweave as ow
from opweave.registry.errors import AutogradError, ShapeError, UnsupportedError


def told(t: Any) -> list[Any]:
    return [tuple(t.shape), t.stride(), t.storage_offset(), t.tolist()]


#: What is resized, how, and how many elements of what comes out are known.
CHANGES: list[tuple[Any, Any]] = [
    (lambda x: x, lambda x: x.resize_(2, 2)), (lambda x: x, lambda x: x.resize_((6,))),
    (lambda x: x, lambda x: x.resize_(0, 3)), (lambda x: x, lambda x: x.resize_(())),
    (lambda x: x[1:], lambda x: x.resize_(2)), (lambda x: x[1:3], lambda x: x.resize_(5)),
    (lambda x: x[::2], lambda x: x.resize_(2)), (lambda x: x.view(2, 3).t(), lambda x: x.resize_(3, 2)),
    (lambda x: x.view(2, 3).t(), lambda x: x.resize_(2, 2)), (lambda x: x, lambda x: x.resize_as_(x[:4].view(2, 2))),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_other_sizes_in_the_same_memory(number: int) -> None:
    start, change = CHANGES[number]
    found = []
    for m in (ow, torch):
        base = m.arange(6.0)
        x = start(base)
        before = x._version
        assert change(x) is x
        found.append([told(x), told(base)])
        assert x._version >= before
        if x.numel():
            x.fill_(7)
            found.append(told(base))
    assert found[: len(found) // 2] == found[len(found) // 2 :]


@pytest.mark.parametrize("dynamic", [None, False, True])
@pytest.mark.parametrize("sizes", [(2, 3), (3, 3), (4,)], ids=str)
def test_compiled(sizes: tuple[int, ...], dynamic: bool | None) -> None:
    def f(x: Any) -> Any:
        y = x.resize_(2, 2) + 1
        return y, x.resize_as_(y[0]) * 2

    compiled = ow.compile(f, dynamic=dynamic, fullgraph=True)
    found = []
    for m in (ow, torch):
        x = m.arange(float(np.prod(sizes))).reshape(sizes).clone()
        results = (compiled if m is ow else f)(x)
        found.append([told(t) for t in (*results, x)])
    assert found[0] == found[1]


def test_memory_formats() -> None:
    for name in ("channels_last", "contiguous_format"):
        ours, theirs = (m.arange(24.0).resize_((1, 2, 3, 4), memory_format=getattr(m, name)) for m in (ow, torch))
        compare(ours, theirs, name)
    ours, theirs = (
        m.arange(24.0).resize_as_(
            m.ones(1, 2, 3, 4).contiguous(memory_format=m.channels_last), memory_format=m.preserve_format
        )
        for m in (ow, torch)
    )
    compare(ours, theirs, "preserve")
    with pytest.raises(ShapeError):
        ow.ones(2).resize_(2, memory_format=ow.preserve_format)


def test_more_memory() -> None:
    for m in (ow, torch):
        x = m.arange(6.0)
        x.resize_(4, 5)
        assert tuple(x.shape) == (4, 5)
        assert x.flatten()[:6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert x.untyped_storage().nbytes() == 80
        assert tuple(m.empty(0).resize_(2, 3).shape) == (2, 3)
        for _ in range(5):  # so that calls are replayed, too
            y = m.ones(1).clone().resize_(3)
            assert y[0].item() == 1.0
            assert tuple(y.fill_(2).shape) == (3,)


def test_memory_that_others_have_a_part_in_stays() -> None:
    x, array = ow.arange(6.0), np.ones(3)
    view, other = x[1:], ow.from_numpy(array)
    seen = ow.ones(1).clone()
    shown = seen.numpy()
    for t in (x, view, other, seen):
        sizes = t.shape
        with pytest.raises(UnsupportedError, match="keeps its memory"):
            t.resize_(20)
        assert t.shape == sizes
    assert shown.tolist() == [1.0]
    with pytest.raises(UnsupportedError, match="keeps its memory"):
        ow.compile(lambda x: x.resize_(20))(ow.ones(3))


def test_what_both_refuse() -> None:
    for m, error in ((ow, AutogradError), (torch, RuntimeError)):
        with pytest.raises(error):
            m.ones(3, requires_grad=True).resize_(2)
    for m in (ow, torch):
        with pytest.raises(RuntimeError):
            m.ones(3).resize_(-1)


def test_what_was_saved_is_not_read_at_other_sizes() -> None:
    for sizes in (2, 9):
        for m in (ow, torch):
            w, x = m.ones(3, requires_grad=True), m.arange(3.0)
            loss = (w * x).sum()
            x.resize_(sizes)
            if sizes == 2 or m is ow:  # PyTorch looks at the version, which resizing leaves, and then at the sizes
                with pytest.raises(RuntimeError):
                    loss.backward()


def test_a_product_in_place_gives_a_tensor_its_sizes() -> None:
    a, b = ow.randn(2, 3, 4, dtype=ow.float64), ow.randn(2, 4, 5, dtype=ow.float64)
    for sizes in ((1,), (), (5,), (1, 5), (3, 5)):
        ours, theirs = (
            m.ones(sizes, dtype=m.float64).addbmm_(*given, beta=0.5, alpha=2)
            for m, given in ((ow, (a, b)), (torch, (to_torch(a), to_torch(b))))
        )
        compare(ours, theirs, sizes, "beside PyTorch")
    kept = ow.ones(1, dtype=ow.float64)
    view = kept.view(1)
    with pytest.raises(UnsupportedError, match="keeps its memory"):
        kept.addbmm_(a, b)
    assert view.tolist() == [1.0]
