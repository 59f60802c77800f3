"""Segments, histograms of points and hashes, beside PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import ops_with_samples
from oracle import agree, check, compare, to_torch

import opweave as ow
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.op import OpOverload
from opweave.registry.ops import histograms, segments

REDUCTIONS = ("sum", "mean", "max", "min", "prod")
#: By the sizes of the data: how they are cut.
CUTS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((7,), {"lengths": [3, 0, 2, 2]}),
    ((7, 2), {"offsets": [0, 3, 3, 7]}),
    ((7,), {"offsets": [1, 2, 4]}),
    ((2, 7), {"lengths": [[3, 4], [0, 7]], "axis": 1}),
    ((2, 7, 3), {"offsets": [[0, 4, 7], [0, 0, 5]], "axis": -2}),
    ((7, 0), {"lengths": [3, 4]}),
    ((0, 3), {"lengths": [0, 0]}),
    ((5,), {"lengths": [1, 2], "unsafe": True}),
]


@pytest.mark.parametrize("op", ops_with_samples(segments, histograms), ids=str)
def test_samples(op: OpOverload) -> None:
    assert check(op)


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize(("sizes", "cut"), CUTS, ids=str)
def test_segments(sizes: tuple[int, ...], cut: dict[str, Any], reduce: str) -> None:
    """Numbers that are equal, zeros and NaN among them, with and without an initial one."""
    rng = np.random.default_rng(3)
    for initial, special in itertools.product((None, 0, 2, -1.5), (0, 1, 3)):
        values = rng.integers(-2, 3, sizes).astype(np.float64)
        if values.size:
            values.flat[:special] = np.nan
        places = [name for name in ("lengths", "offsets") if name in cut]
        tensors = [ow.tensor(cut[name]) for name in places]
        rest = {name: value for name, value in cut.items() if name not in places}

        def call(module: Any, x: Any, *at: Any) -> Any:
            named = dict(zip(places, at, strict=True))  # noqa: B023
            return module.segment_reduce(x, reduce, initial=initial, **named, **rest)  # noqa: B023

        assert agree(call, ow.from_numpy(values), *tensors, note=(initial, special))


def test_of_equal_extrema_each_has_its_share_whatever_the_sign() -> None:
    """PyTorch gives each all of a gradient that is negative."""
    x = ow.tensor([2.0, 2.0, 1.0], requires_grad=True)
    found = ow.segment_reduce(x, "max", lengths=ow.tensor([3]))
    (grad,) = ow.autograd.grad(found, x, ow.tensor([-1.0]))
    assert grad.tolist() == [-0.5, -0.5, 0.0]


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_segments_differentiated_batched_and_compiled(reduce: str) -> None:
    rng, lengths = np.random.default_rng(0), ow.tensor([2, 0, 3])

    def call(x: ow.Tensor) -> ow.Tensor:
        return ow.segment_reduce(x, reduce, lengths=lengths, initial=0.5)

    x = ow.from_numpy(rng.permutation(10).reshape(5, 2) * 0.3 + 0.7).requires_grad_()
    assert ow.autograd.gradcheck(call, (x,))
    assert ow.autograd.gradgradcheck(call, (x,))
    compiled = ow.compile(call, fullgraph=True)(x)
    assert ow.allclose(compiled, call(x))
    assert ow.allclose(*[ow.autograd.grad(y.sum(), x)[0] for y in (compiled, call(x))])
    many = ow.from_numpy(rng.standard_normal((3, 5, 2)))
    assert ow.allclose(ow.vmap(call)(many), ow.stack([call(one) for one in many]))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"lengths": [1, 1]}, ArgumentError), ({"lengths": [6, -1]}, ArgumentError), ({}, ArgumentError),
        ({"indices": [0, 1]}, UnsupportedError), ({"lengths": [[5]]}, ShapeError),
        ({"lengths": [2, 3], "reduce": "median"}, ArgumentError), ({"lengths": [2, 3], "axis": 1}, IndexError),
    ],
    ids=str,
)  # fmt: skip
def test_segments_that_both_refuse(options: dict[str, Any], error: type[Exception]) -> None:
    options = dict(options)
    reduce = options.pop("reduce", "sum")
    for module, kind in ((torch, (RuntimeError, IndexError)), (ow, error)):
        given = {name: module.tensor(v) if isinstance(v, list) else v for name, v in options.items()}
        with pytest.raises(kind):
            module.segment_reduce(module.ones(5), reduce, **given)


def test_types_of_segments() -> None:
    lengths = ow.tensor([1, 2])
    with pytest.raises(DTypeError):
        ow.segment_reduce(ow.ones(3, dtype=ow.int64), "sum", lengths=lengths)
    with pytest.raises(DTypeError):
        ow.segment_reduce(ow.ones(3), "sum", lengths=lengths.to(ow.int16))
    found = ow.segment_reduce(ow.ones(3, dtype=ow.float16), "mean", lengths=lengths.to(ow.int32))
    assert found.dtype is ow.float16
    assert found.tolist() == [1.0, 1.0]


# ---- histograms ----------------------------------------------------------------------------------------------------


def _histogram(call: Any, *tensors: ow.Tensor, note: Any = "") -> None:
    ours, theirs = call(ow, *tensors), call(torch, *map(to_torch, tensors))
    assert ours._fields == ("hist", "bin_edges")
    compare(ours.hist, theirs.hist, note, "beside PyTorch")
    assert type(ours.bin_edges) is tuple
    for mine, other in zip(ours.bin_edges, theirs.bin_edges, strict=True):
        compare(mine, other, note, "beside PyTorch")


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [(20, 2), (3, 5, 3), (6, 1), (0, 2), (4, 1, 2)], ids=str)
def test_histograms_of_points(sizes: tuple[int, ...], weighted: bool, density: bool) -> None:
    rng = np.random.default_rng(5)
    x = ow.from_numpy(rng.standard_normal(sizes))
    weight = [ow.from_numpy(rng.random(sizes[:-1]))] if weighted else []
    bins = [3, 4, 2][: sizes[-1]]
    ranges = [bound for d in range(sizes[-1]) for bound in (-1.0 - d, 1.5)]

    def call(how: Any, **options: Any) -> Any:
        def histogram(m: Any, x: Any, *rest: Any) -> Any:
            given = how(m) if callable(how) else how
            weights = {"weight": rest[0]} if rest else {}
            return m.histogramdd(x, given, density=density, **weights, **options)

        return histogram

    if not density or sizes[0]:
        _histogram(call(bins), x, *weight)
        _histogram(call(3), x, *weight)
    _histogram(call(bins, range=ranges), x, *weight)
    _histogram(call(lambda m: [m.linspace(-1, 1, n, dtype=m.float64) for n in (3, 2, 4)[: sizes[-1]]]), x, *weight)


def test_ends_of_bins() -> None:
    """The last edge belongs to the last bin; a NaN is in none."""
    x = ow.tensor([[0.0], [0.5], [1.0], [1.5], [float("nan")]])
    _histogram(lambda m, x: m.histogramdd(x, [2], range=[0.0, 1.0]), x)
    _histogram(lambda m, x: m.histogramdd(x[:3] * 0 + 2, [2]), x)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.histogramdd(m.ones(2), [2]), lambda m: m.histogramdd(m.ones(2, 2), [2]),
        lambda m: m.histogramdd(m.ones(2, 1), [0]), lambda m: m.histogramdd(m.ones(2, 1), [2], range=[2.0, 1.0]),
        lambda m: m.histogramdd(m.ones(2, 1), [2], range=[1.0]),
        lambda m: m.histogramdd(m.ones(2, 1, dtype=m.int64), [2]),
        lambda m: m.histogramdd(m.tensor([[float("inf")]]), [2]),
        lambda m: m.histogramdd(m.ones(2, 1), [m.ones(1)]),
        lambda m: m.histogramdd(m.ones(2, 1), [m.ones(2, dtype=m.float64)]),
        lambda m: m.histogramdd(m.ones(2, 1), [2], weight=m.ones(3)),
        lambda m: m.histogram(m.ones(2), 2, range=(2.0, 1.0)), lambda m: m.histogram(m.tensor([float("nan")]), 2),
    ],
    ids=range(12),
)  # fmt: skip
def test_histograms_that_both_refuse(call: Any) -> None:
    assert not agree(lambda m: call(m))


# ---- hashes --------------------------------------------------------------------------------------------------------

TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool")


@pytest.mark.parametrize("name", TYPES)
def test_hashes(name: str) -> None:
    values = ow.from_numpy(np.random.default_rng(1).standard_normal((3, 4, 2)) * 4).to(getattr(ow, name))
    for x in (values, values.transpose(0, 2), values[:, ::2], values[0, 0, 0]):
        dims = ((), 0, -1, (0, 2), [0, 1, 2]) if x.ndim else ((), 0)
        for dim, keepdim in itertools.product(dims, (False, True)):
            ours, theirs = (m.hash_tensor(t, dim, keepdim=keepdim) for m, t in ((ow, x), (torch, to_torch(x))))
            compare(ours, theirs, (dim, keepdim))
    assert values.hash_tensor(1).shape == (3, 2)


@pytest.mark.filterwarnings("error:vmap")
def test_hashes_batched() -> None:
    x = ow.randn(3, 4, 2)
    for dim, keepdim in itertools.product(((), 0, -1, (0, 1)), (False, True)):
        found = ow.vmap(lambda t: t.hash_tensor(dim, keepdim=keepdim), in_dims=1)(x)  # noqa: B023
        compare(found, to_torch(ow.stack([x[:, i].hash_tensor(dim, keepdim=keepdim) for i in range(4)])), dim)
    for keepdim in (False, True):
        found = ow.vmap(lambda t: t.hash_tensor(keepdim=keepdim))(x[0, :, 0])  # noqa: B023
        assert found.tolist() == [t.hash_tensor().item() for t in x[0, :, 0]]


def test_hashes_of_special_values() -> None:
    for values in ([float("nan"), -0.0], [float("inf"), 1e-40], [-1.5]):
        compare(ow.hash_tensor(ow.tensor(values)), torch.hash_tensor(torch.tensor(values)), values)
    assert ow.hash_tensor(ow.empty(2, 0), 0).shape == (0,)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.hash_tensor(m.empty(0)), lambda m: m.hash_tensor(m.empty(2, 0), 1),
        lambda m: m.hash_tensor(m.ones(2), mode=1), lambda m: m.hash_tensor(m.ones(2), (0, 0)),
        lambda m: m.hash_tensor(m.ones(2, dtype=m.complex64)),
    ],
    ids=range(5),
)  # fmt: skip
def test_hashes_that_both_refuse(call: Any) -> None:
    assert not agree(lambda m: call(m))
