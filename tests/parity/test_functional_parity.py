"""The functions of `opweave.nn.functional` against PyTorch's: results, gradients, and what both refuse."""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import maker
from oracle import agree, are_close, close, compare, to_torch

import opweave as ow
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError, ShapeError, UnsupportedError
from opweave.registry.tensor import Tensor, from_numpy

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch's, about old arguments and sizes that are broadcast
DTYPES = ["float32", "float64"]
REDUCTIONS = ["mean", "sum", "none"]


def drawn(dtype: Any, *sizes: int, low: float = -3.0, high: float = 3.0, seed: int = 0) -> Tensor:
    return maker(getattr(dtypes, dtype), seed)(*sizes, low=low, high=high)


def classes(*sizes: int, below: int = 5) -> Tensor:
    return from_numpy(np.array(np.random.default_rng([7, *sizes]).integers(0, below, sizes)))


def signs(dtype: str, *sizes: int) -> Tensor:
    return from_numpy(np.array(np.random.default_rng([3, *sizes]).choice([-1.0, 1.0], sizes))).to(getattr(ow, dtype))


# ---- losses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_classes(name: str, reduction: str) -> None:
    for dtype, shape, ignored, weighted in itertools.product(
        DTYPES, [(5,), (4, 5), (2, 5, 3), (2, 5, 3, 4), (2, 5, 2, 3, 2), (0, 5)], (-100, 2), (False, True)
    ):
        x = drawn(dtype, *shape)
        target = classes(*((shape[0],) if len(shape) > 1 else ()), *shape[2:])
        weight = drawn(dtype, 5, low=0.5, high=2.0).numpy() if weighted else None

        def call(m: Any, x: Any, t: Any) -> Any:
            w = None if weight is None else m.from_numpy(weight.copy())  # noqa: B023
            options = {"weight": w, "ignore_index": ignored, "reduction": reduction}  # noqa: B023
            results = [getattr(m.nn.functional, name)(x, t, **options)]
            if name == "cross_entropy":
                results.append(m.nn.functional.cross_entropy(x, t, label_smoothing=0.3, **options))
            return results

        assert agree(call, x, target, difference="functional", note=(dtype, shape, ignored, weighted))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_probabilities_of_classes(reduction: str) -> None:
    for dtype, shape, smoothing, weighted in itertools.product(
        DTYPES, [(5,), (4, 5), (2, 5, 3), (0, 5)], (0.0, 0.25, 1.0), (False, True)
    ):
        x, t = drawn(dtype, *shape), drawn(dtype, *shape, low=0.0, high=1.0, seed=1)
        weight = drawn(dtype, 5, low=0.5, high=2.0).numpy() if weighted else None

        def call(m: Any, x: Any, t: Any) -> Any:
            w = None if weight is None else m.from_numpy(weight.copy())  # noqa: B023
            return m.nn.functional.cross_entropy(x, t, w, reduction=reduction, label_smoothing=smoothing)  # noqa: B023

        assert agree(call, x, t, difference="functional", note=(dtype, shape, smoothing, weighted))


PAIRS: dict[str, list[dict[str, Any]]] = {
    "mse_loss": [{}], "l1_loss": [{}], "smooth_l1_loss": [{}, {"beta": 0.5}, {"beta": 0.0}, {"beta": 3}],
    "huber_loss": [{}, {"delta": 0.5}, {"delta": 2}], "kl_div": [{}, {"log_target": True}],
    "poisson_nll_loss": [{}, {"log_input": False}, {"full": True}, {"full": True, "log_input": False, "eps": 1e-3}],
    "soft_margin_loss": [{}], "multilabel_soft_margin_loss": [{}], "binary_cross_entropy": [{}],
    "binary_cross_entropy_with_logits": [{}],
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_losses_of_pairs(name: str) -> None:
    probability = name == "binary_cross_entropy"
    for dtype, options, reduction, shape in itertools.product(
        DTYPES, PAIRS[name], [*REDUCTIONS, *(["batchmean"] if name == "kl_div" else [])], [(3, 4), (4,), (2, 3, 4)]
    ):
        x = drawn(dtype, *shape, low=0.05 if probability or "log_input" in options else -3.0, high=0.95)
        t = drawn(dtype, *shape, low=0.05, high=0.95 if "binary" in name else 2.5, seed=1)

        def call(m: Any, x: Any, t: Any) -> Any:
            return getattr(m.nn.functional, name)(x, t, reduction=reduction, **options)  # noqa: B023

        no_gradient = name == "soft_margin_loss" and left_out("soft_margin_loss, gradient of the target")
        constants = [1] if no_gradient else []
        assert agree(call, x, t, difference="functional", note=(dtype, options, reduction, shape), constants=constants)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy",
                                  "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss"])  # fmt: skip
def test_weighted_losses(name: str) -> None:
    for reduction in REDUCTIONS:
        x, t = drawn("float64", 3, 4, low=0.1, high=0.9), drawn("float64", 3, 4, low=0.1, high=0.9, seed=1)
        w = drawn("float64", 3, 4, low=0.5, high=2.0).numpy()
        given = [w, w[0]] if "binary" in name or "multi" in name else [w]
        for weight in given:
            assert agree(
                lambda m, x, t: getattr(m.nn.functional, name)(
                    x, t, weight=m.from_numpy(weight.copy()), reduction=reduction  # noqa: B023
                ),
                x, t, difference="functional", note=(reduction, weight.shape),
            )  # fmt: skip
    if name == "binary_cross_entropy_with_logits":
        assert agree(
            lambda m, x, t, p: m.nn.functional.binary_cross_entropy_with_logits(x, t, pos_weight=p),
            x, t, drawn("float64", 4, low=0.5, high=2.0), difference="functional", constants=[2],
        )  # fmt: skip


def test_extreme_probabilities() -> None:
    x = from_numpy(np.array([0.0, 0.0, 1.0, 1.0, 0.5, 1e-30, 1 - 1e-16]))
    t = from_numpy(np.array([0.0, 1.0, 0.0, 1.0, 0.5, 1.0, 0.25])).numpy()
    assert agree(
        lambda m, x: m.nn.functional.binary_cross_entropy(x, m.from_numpy(t.copy()), reduction="none"), x,
        difference="functional, slopes at the ends",
    )  # fmt: skip
    logits = from_numpy(np.array([-1e3, 1e3, -800.0, 0.0, 40.0, -40.0, 1.0]))
    assert agree(
        lambda m, x: m.nn.functional.binary_cross_entropy_with_logits(x, m.from_numpy(t.copy()), reduction="none"),
        logits, difference="functional",
    )  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_other_losses(reduction: str) -> None:
    for dtype in DTYPES:
        a, b, c = (drawn(dtype, 5, 4, seed=i) for i in range(3))
        sign, number = signs(dtype, 5).numpy(), signs(dtype, 5, 4).numpy()
        calls: list[tuple[Any, tuple[Tensor, ...]]] = [
            (lambda f, s, n, a, b, c: f.hinge_embedding_loss(a, n, 0.5, reduction=reduction), (a, b, c)),
            (lambda f, s, n, a, b, c: f.margin_ranking_loss(a, b, n, 0.5, reduction=reduction), (a, b, c)),
            (lambda f, s, n, a, b, c: f.cosine_embedding_loss(a, b, s, -0.25, reduction=reduction), (a, b, c)),
            (lambda f, s, n, a, b, c: f.triplet_margin_loss(a, b, c, reduction=reduction), (a, b, c)),
            (lambda f, s, n, a, b, c: f.triplet_margin_loss(a, b, c, 2.0, 1.0, swap=True, reduction=reduction),
             (a, b, c)),
            (lambda f, s, n, a, b, c: f.gaussian_nll_loss(a, b, c.abs() + 0.1, reduction=reduction), (a, b, c)),
            (lambda f, s, n, a, b, c: f.gaussian_nll_loss(a, b, 0.5, True, reduction=reduction), (a, b, c)),
            (lambda f, s, n, a, b, c: f.gaussian_nll_loss(a, b, c[:, 0].abs(), eps=1.0, reduction=reduction),
             (a, b, c)),
            (lambda f, s, n, a, b, c: f.gaussian_nll_loss(a, b, c[:, :1].abs(), reduction=reduction), (a, b, c)),
        ]  # fmt: skip
        for number_of, (call, tensors) in enumerate(calls):
            assert agree(
                lambda m, *t: call(m.nn.functional, m.from_numpy(sign.copy()), m.from_numpy(number.copy()), *t),  # noqa: B023
                *tensors, difference="functional", note=(dtype, number_of),
            )  # fmt: skip


@pytest.mark.parametrize(("size_average", "reduce"), itertools.product((None, True, False), repeat=2))
def test_the_older_form_of_reductions(size_average: bool | None, reduce: bool | None) -> None:
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "kl_div", "soft_margin_loss"):
        assert agree(
            lambda m, a, b: getattr(m.nn.functional, name)(a, b, size_average, reduce),  # noqa: B023
            drawn("float64", 3, 4), drawn("float64", 3, 4, low=0.5), difference="functional", constants=[1],
        )  # fmt: skip


WRONG: list[tuple[str, Any, tuple[tuple[int, ...], ...]]] = [
    ("nll", lambda f, x: f.nll_loss(x, x.long()), ((3, 4),)),
    ("nll of no class", lambda f, x: f.nll_loss(x, (x[:, 0] * 0 + 4).long()), ((3, 4),)),
    ("nll of half a shape", lambda f, x: f.nll_loss(x, x[:2, 0].long()), ((3, 4),)),
    ("smoothing", lambda f, x: f.cross_entropy(x, x, label_smoothing=1.5), ((3, 4),)),
    ("reduction", lambda f, x: f.mse_loss(x, x, reduction="all"), ((3,),)),
    ("mse", lambda f, x, y: f.mse_loss(x, y), ((3,), (4,))),
    ("beta", lambda f, x: f.smooth_l1_loss(x, x, beta=-1.0), ((3,),)),
    ("delta", lambda f, x: f.huber_loss(x, x, delta=0.0), ((3,),)),
    ("bce", lambda f, x, y: f.binary_cross_entropy(x, y), ((3, 4), (4,))),
    ("logits", lambda f, x, y: f.binary_cross_entropy_with_logits(x, y), ((3, 4), (4,))),
    ("ranking", lambda f, x, y: f.margin_ranking_loss(x, x, y), ((3, 4), (4,))),
    ("margin", lambda f, x: f.triplet_margin_loss(x, x, x, margin=0), ((3, 4),)),
    ("one_hot", lambda f, x: f.one_hot(x), ((3,),)),
    ("one_hot of less", lambda f, x: f.one_hot((x * 0 - 1).long(), 3), ((3,),)),
    ("one_hot of more", lambda f, x: f.one_hot((x * 0 + 5).long(), 3), ((3,),)),
    ("glu", lambda f, x: f.glu(x), ((3, 5),)),
    ("prelu", lambda f, x, w: f.prelu(x, w), ((3, 5), (4,))),
    ("softshrink", lambda f, x: f.softshrink(x, -1.0), ((3,),)),
    ("dropout", lambda f, x: f.dropout(x, 1.5), ((3,),)),
    ("shuffle", lambda f, x: f.pixel_shuffle(x, 2), ((3, 2, 2),)),
    ("unshuffle", lambda f, x: f.pixel_unshuffle(x, 2), ((3, 3, 2),)),
    ("channels", lambda f, x: f.channel_shuffle(x, 2), ((1, 3, 2),)),
    ("bilinear", lambda f, x, w: f.bilinear(x, x, w), ((3, 4), (2, 4, 5))),
    ("pool", lambda f, x: f.max_pool1d(x, 2), ((3,),)),
    ("attention", lambda f, x: f.scaled_dot_product_attention(x, x, x, x[0] @ x[0].mT, is_causal=True), ((1, 3, 4),)),
    ("heads", lambda f, q, k: f.scaled_dot_product_attention(q, k, k, enable_gqa=True), ((1, 3, 4, 2), (1, 2, 4, 2))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "sizes"), WRONG, ids=lambda v: v if isinstance(v, str) else "")
def test_both_refuse(name: str, call: Any, sizes: Any) -> None:
    assert not agree(lambda m, *t: call(m.nn.functional, *t), *[drawn("float32", *s) for s in sizes], note=name)


# ---- layers --------------------------------------------------------------------------------------------------------

CALLS: list[tuple[str, Any, tuple[tuple[int, ...], ...]]] = [
    ("tanhshrink", lambda f, x: f.tanhshrink(x), ((3, 4),)), ("softsign", lambda f, x: f.softsign(x), ((3, 4),)),
    ("softmin", lambda f, x: f.softmin(x, 1), ((3, 4),)), ("hardshrink", lambda f, x: f.hardshrink(x, 1.0), ((3, 4),)),
    ("softshrink", lambda f, x: f.softshrink(x, 0.75), ((3, 4),)), ("glu", lambda f, x: f.glu(x, 0), ((4, 3),)),
    ("prelu", lambda f, x, w: f.prelu(x, w), ((2, 3, 4), (3,))), ("prelu 1", lambda f, x, w: f.prelu(x, w),
     ((2, 3), (1,))),
    ("rrelu", lambda f, x: f.rrelu(x), ((3, 4),)), ("selu", lambda f, x: f.selu(x * 1, inplace=True), ((3,),)),
    ("celu", lambda f, x: f.celu(x * 1, 2.0, inplace=True), ((3,),)),
    ("normalize", lambda f, x: f.normalize(x), ((3, 4),)), ("normalize p", lambda f, x: f.normalize(x, 3.0, 0),
     ((3, 4),)),
    ("normalize eps", lambda f, x: f.normalize(x, 1.0, -1, 100.0), ((3, 4),)),
    ("cosine", lambda f, a, b: f.cosine_similarity(a, b), ((3, 4), (3, 4))),
    ("cosine dim", lambda f, a, b: f.cosine_similarity(a, b, dim=-1, eps=10.0), ((2, 3, 4), (3, 4))),
    ("cosine 0", lambda f, a, b: f.cosine_similarity(a * 0, b, dim=0), ((4,), (4,))),
    ("cosine overflow", lambda f, a, b: f.cosine_similarity(a * 1e30, b, dim=-1), ((3, 4), (3, 4))),
    ("mse of a mask", lambda f, a, b: f.mse_loss(a, b > 0), ((3, 4), (3, 4))),
    ("pairwise", lambda f, a, b: f.pairwise_distance(a, b, keepdim=True), ((3, 4), (3, 4))),
    ("pairwise 1", lambda f, a, b: f.pairwise_distance(a, b, 1.0), ((3, 4), (4,))),
    ("pdist", lambda f, a: f.pdist(a), ((4, 3),)), ("linear", lambda f, *t: f.linear(*t), ((2, 3, 4), (5, 4), (5,))),
    ("bilinear", lambda f, a, b, w, c: f.bilinear(a, b, w, c), ((2, 3, 4), (2, 3, 5), (6, 4, 5), (6,))),
    ("bilinear vectors", lambda f, a, b, w: f.bilinear(a, b, w), ((4,), (5,), (6, 4, 5))),
    ("instance_norm", lambda f, x: f.instance_norm(x), ((2, 3, 4),)),
    ("instance_norm affine", lambda f, x, w, b: f.instance_norm(x, weight=w, bias=b, eps=1e-3),
     ((2, 3, 4, 5), (3,), (3,))),
    ("local_response_norm", lambda f, x: f.local_response_norm(x, 3, 0.5, 0.6, 2.0), ((2, 5, 4),)),
    ("local_response_norm 2", lambda f, x: f.local_response_norm(x, 2), ((2, 5, 3, 4),)),
    ("max_pool1d", lambda f, x: f.max_pool1d(x, 2), ((2, 3, 7),)),
    ("max_pool1d all", lambda f, x: f.max_pool1d(x, 3, 2, 1, 2, True, return_indices=True), ((3, 9),)),
    ("lp_pool1d", lambda f, x: f.lp_pool1d(x, 2, 3), ((2, 3, 7),)),
    ("lp_pool2d", lambda f, x: f.lp_pool2d(x, 2, (2, 3), 2), ((2, 3, 7, 8),)),
    ("lp_pool3d", lambda f, x: f.lp_pool3d(x, 2, 2), ((1, 2, 4, 4, 5),)),
    ("unfold", lambda f, x: f.unfold(x, (2, 3), 1, 1, (2, 1)), ((2, 3, 5, 6),)),
    ("fold", lambda f, x: f.fold(x, (4, 5), 2, padding=1), ((2, 12, 30),)),
    ("pixel_shuffle", lambda f, x: f.pixel_shuffle(x, 3), ((2, 9, 2, 3),)),
    ("pixel_unshuffle", lambda f, x: f.pixel_unshuffle(x, 3), ((2, 1, 6, 3),)),
    ("channel_shuffle", lambda f, x: f.channel_shuffle(x, 2), ((2, 6, 3),)),
    ("embedding", lambda f, w: f.embedding(w[:, 0].argsort(), w, -2), ((5, 3),)),
    ("embedding by count", lambda f, w: f.embedding(w[:, 0].argsort() // 2, w, scale_grad_by_freq=True), ((5, 3),)),
    ("bags", lambda f, w: f.embedding_bag(w[:4, 0].argsort().reshape(2, 2), w), ((5, 3),)),
    ("weighted bags",
     lambda f, w, s: f.embedding_bag(w[:4, 0].argsort().reshape(2, 2), w, mode="sum", per_sample_weights=s),
     ((5, 3), (2, 2))),
    ("bags at offsets", lambda f, w: f.embedding_bag(w[:, 0].argsort(), w, w[:2, 0].argsort().sort()[0], mode="max"),
     ((5, 3),)),
    ("gqa", lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
     ((2, 6, 4, 3), (2, 2, 5, 3), (2, 2, 5, 3))),
    ("gqa mask", lambda f, q, k, b: f.scaled_dot_product_attention(q, k, k, b, scale=0.3, enable_gqa=True),
     ((4, 4, 3), (1, 5, 3), (4, 5))),
    ("dropped of none", lambda f, x: f.dropout2d(x, 0.0),
     ((2, 3, 2, 2),)), ("all dropped", lambda f, x: f.dropout1d(x, 1.0), ((2, 3, 4),)),
    ("not training", lambda f, x: f.dropout3d(x, 0.5, training=False), ((2, 3, 2, 2),)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "call", "sizes"), CALLS, ids=lambda v: v if isinstance(v, str) else "")
def test_function(name: str, call: Any, sizes: Any, dtype: str) -> None:
    tensors = [drawn(dtype, *s, seed=i) for i, s in enumerate(sizes)]
    assert agree(lambda m, *t: call(m.nn.functional, *t), *tensors, difference="functional", note=name)


def test_one_hot() -> None:
    for sizes, count in itertools.product([(4,), (2, 3), ()], (-1, 5, 9)):
        assert agree(lambda m, x: m.nn.functional.one_hot(x, count), classes(*sizes))  # noqa: B023
    assert agree(lambda m: m.nn.functional.one_hot(m.zeros(0, 2, dtype=m.int64), 3))
    assert not agree(lambda m: m.nn.functional.one_hot(m.zeros(0, dtype=m.int64)))
    run = ow.compile(lambda x: ow.nn.functional.one_hot(x, 5) * 2)
    assert run(classes(4)).tolist() == (ow.nn.functional.one_hot(classes(4), 5) * 2).tolist()
    with pytest.raises(OpweaveError):
        run(classes(4) + 5)


def test_running_statistics_of_instances() -> None:
    def call(m: Any, x: Any) -> Any:
        mean, var = m.zeros(3, dtype=m.float64), m.ones(3, dtype=m.float64)
        y = m.nn.functional.instance_norm(x, mean, var, momentum=0.3)
        return y, mean, var, m.nn.functional.instance_norm(x, mean * 1, var * 1, use_input_stats=False)

    assert agree(call, drawn("float64", 2, 3, 4, 2), difference="functional")


RESIZED: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    *(((2, 3, 7), {"size": n, "mode": mode}) for n in (3, 7, 12)
      for mode in ("nearest", "nearest-exact", "area", "linear")),
    *(((2, 3, 5, 4), {"size": n, "mode": mode}) for n in (3, (7, 9))
      for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic")),
    *(((1, 2, 3, 4, 5), {"size": n, "mode": mode}) for n in (4, (5, 2, 7))
      for mode in ("nearest", "nearest-exact", "area", "trilinear")),
    *(((2, 3, 7), {"scale_factor": n, "mode": mode}) for n in (0.6, 2, 1.7)
      for mode in ("nearest", "nearest-exact", "area", "linear")),
    *(((1, 2, 3, 4, 5), {"scale_factor": n, "mode": mode}) for n in (2.0, (1.5, 2, 0.7))
      for mode in ("nearest", "trilinear", "area")),
    ((2, 3, 7), {"size": 11, "mode": "linear", "align_corners": True}),
    ((1, 2, 3, 4, 5), {"size": (5, 6, 2), "mode": "trilinear", "align_corners": True}),
    ((2, 3, 7), {"scale_factor": 1.3, "mode": "linear", "recompute_scale_factor": True}),
    ((2, 3, 5, 4), {"scale_factor": (1.4, 0.6), "mode": "bicubic"}),
    ((2, 3, 5, 4), {"size": (8, 3), "mode": "bicubic", "align_corners": True}),
    ((1, 2, 3, 4, 5), {"scale_factor": 1.3, "mode": "trilinear", "recompute_scale_factor": True}),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "options"), RESIZED, ids=str)
def test_interpolate(sizes: tuple[int, ...], options: dict[str, Any]) -> None:
    for dtype in DTYPES:
        x = drawn(dtype, *sizes)
        assert agree(lambda m, x: m.nn.functional.interpolate(x, **options), x, difference="functional, resized")


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ((2, 3, 7), {"size": 3, "mode": "bilinear"}), ((2, 3, 7, 4), {"size": 3, "mode": "linear"}),
        ((2, 3, 7), {"size": (3, 4)}), ((2, 3, 7), {"size": 3, "mode": "area", "align_corners": True}),
        ((3, 7), {"size": 3}), ((2, 3, 7), {"size": 3, "mode": "none"}), ((2, 3, 7), {"size": 3, "mode": "bicubic"}),
        ((2, 3, 7, 4), {"size": 3, "antialias": True}), ((2, 3, 7), {"size": 3, "mode": "linear", "antialias": True}),
        ((2, 3, 5, 4, 6), {"size": 3, "mode": "bicubic"}), ((2, 0, 5, 4), {"size": 3, "mode": "bicubic"}),
    ],
    ids=str,
)  # fmt: skip
def test_sizes_that_both_refuse(sizes: tuple[int, ...], options: dict[str, Any]) -> None:
    assert not agree(lambda m, x: m.nn.functional.interpolate(x, **options), drawn("float32", *sizes))


def test_what_is_not_there() -> None:
    f, x = ow.nn.functional, drawn("float32", 5, 3)
    calls = (f.embedding, classes(3)), (f.embedding_bag, classes(2, 3))
    for call, rows in calls:
        with pytest.raises(UnsupportedError):
            call(rows, x.clone().requires_grad_(), sparse=True)
        assert ow.equal(call(rows, x, sparse=True), call(rows, x))  # without gradients it makes no difference


def test_channels_of_three_dimensions() -> None:
    """(N, C, L), as in PyTorch: whole lines are dropped."""
    found = ow.nn.functional.dropout2d(ow.ones(20, 30, 4), 0.25)
    assert ow.equal(found, found[:, :, :1].expand(20, 30, 4))
    assert 0 < (found[:, :, 0] == 0).sum().item() < 600
    with pytest.raises(ShapeError):
        ow.nn.functional.dropout2d(ow.ones(2, 3))


def test_windows_of_truth_values() -> None:
    x = ow.arange(24).reshape(1, 2, 3, 4) % 3 == 0
    windows = [m.nn.functional.unfold(t, 2, padding=1) for m, t in ((ow, x), (torch, to_torch(x)))]
    compare(*windows, "unfold")
    folded = [m.nn.functional.fold(t, (3, 4), 2, padding=1) for m, t in zip((ow, torch), windows, strict=True)]
    compare(*folded, "fold")


@pytest.mark.parametrize("order", [1.0, 2.0, 3.5, float("inf")])
def test_rows_that_are_too_long_are_shortened(order: float) -> None:
    x, rows = drawn("float64", 6, 3), classes(4, 2)

    def read(m: Any, x: Any, rows: Any, bags: bool) -> Any:
        weight = x.detach().clone().requires_grad_()
        f = m.nn.functional.embedding_bag if bags else m.nn.functional.embedding
        found = f(rows, weight, max_norm=0.7, norm_type=order)
        (grad,) = m.autograd.grad([(found * found).sum()], [weight])
        return [found.detach(), weight.detach(), grad]

    for bags in (False, True):
        assert agree(lambda m, x, r: read(m, x, r, bags), x, rows, order=0, difference="functional")  # noqa: B023
    for dim, dtype in ((0, "float64"), (1, "float32"), (-1, "float16")):
        y = drawn(dtype, 3, 4, 2)
        assert agree(lambda m, y: m.renorm(y, order, dim, 0.8), y, difference="functional")  # noqa: B023
        assert agree(lambda m, y: y.detach().clone().renorm_(order, dim, 0.8), y, order=0)  # noqa: B023


def test_dropout_that_keeps_mean_and_variance() -> None:
    f, p = ow.nn.functional, 0.3
    least = -1.6732632423543772 * 1.0507009873554805
    a = ((least**2 * p + 1) * (1 - p)) ** -0.5
    x = ow.from_numpy(np.random.default_rng(0).standard_normal((200, 50, 6))).requires_grad_()
    for name in ("alpha_dropout", "feature_alpha_dropout"):
        y = getattr(f, name)(x, p, True)
        found, values = y.detach().numpy(), x.detach().numpy()
        dropped = are_close(found, a * least * (1 - p), "alpha_dropout")
        np.testing.assert_array_equal(are_close(found, a * values - a * least * p, "alpha_dropout"), ~dropped)
        assert abs(dropped.mean() - p) < 0.02 and abs(found.mean()) < 0.05 and abs(found.var() - 1) < 0.1
        if name.startswith("feature"):
            assert (dropped.all(2) | ~dropped.any(2)).all()
        (grad,) = ow.autograd.grad([y.sum()], [x])
        np.testing.assert_array_equal(are_close(grad.numpy(), a, "alpha_dropout"), ~dropped)
        assert (grad.numpy()[dropped] == 0).all()
        assert getattr(f, name)(x) is x and getattr(f, name)(x, 0.0, True) is x
        assert not getattr(f, name)(x, 1.0, True).detach().numpy().any()
        z = x.detach().clone()
        assert getattr(f, name)(z, p, True, inplace=True) is z and not (z.numpy() == values).all()
        with pytest.raises(ValueError, match="probability"):
            getattr(f, name)(x, 1.5, True)
    y = ow.feature_dropout(ow.ones(300, 5, 4), 0.25, True).numpy()
    assert (((y == 0).all(2)) | (y == y.max()).all(2)).all() and abs((y == 0).mean() - 0.25) < 0.05
    assert y.max() == np.float32(1 / 0.75)


def test_channels_are_dropped_whole() -> None:
    x = drawn("float64", 40, 30, 2, 3, low=1.0)
    y = ow.nn.functional.dropout2d(x, 0.25).numpy().reshape(1200, 6)
    dropped = (y == 0).all(1)
    assert 0.15 < dropped.mean() < 0.35
    close(y[~dropped], x.numpy().reshape(1200, 6)[~dropped] / 0.75, "dropout")
    lines = ow.nn.functional.dropout1d(drawn("float64", 300, 5, low=1.0), 0.5).numpy()
    assert (((lines == 0).all(1)) | ((lines != 0).all(1))).all()
    r = ow.nn.functional.rrelu(-x, 0.1, 0.2, training=True).numpy() / -x.numpy()
    assert 0.1 <= r.min() and r.max() < 0.2 and abs(r.mean() - 0.15) < 0.01


SAME_ARGUMENTS = sorted(set(PAIRS) | {"nll_loss", "cross_entropy", "embedding", "embedding_bag", "dropout", "selu",
                                      "interpolate", "gaussian_nll_loss", "triplet_margin_loss", "instance_norm",
                                      "local_response_norm", "fold", "unfold", "lp_pool2d", "glu"})  # fmt: skip


@pytest.mark.parametrize("name", SAME_ARGUMENTS)
def test_arguments_are_those_of_pytorch(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(m.nn.functional, name)).parameters for m in (ow, torch))
    assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs.values()]


def test_lines_in_time_and_shuffled_channels() -> None:
    rng = np.random.default_rng(5)
    x, w, b = (from_numpy(rng.standard_normal(sizes)) for sizes in ((7, 2, 3), (3, 3, 4), (4,)))
    images = from_numpy(rng.standard_normal((2, 4, 3, 2)))
    for pad in (0, 2):
        call = functools.partial(lambda pad, lib, *args: lib.nn.functional.conv_tbc(*args, pad), pad)
        agree(call, x, w, b, difference="convolution, one example")
    agree(lambda lib, t: lib.nn.functional.native_channel_shuffle(t, 2), images, order=0, difference="functional")
    for lib in (ow, torch):
        module = lib.func.replace_all_batch_norm_modules_(lib.nn.Sequential(lib.nn.BatchNorm2d(2), lib.nn.Linear(2, 2)))
        assert list(module.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
        assert not module[0].track_running_stats
