"""Medians, quantiles, running extremes, areas, covariances, counts and distinct elements against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import agree

import opweave as ow


def drawn(*sizes: int, seed: int = 0) -> ow.Tensor:
    return ow.from_numpy(np.asarray(np.random.default_rng([seed, *sizes]).standard_normal(sizes)))


def holes() -> ow.Tensor:
    values = np.random.default_rng(4).standard_normal((3, 5))
    values[0, 2] = values[1, 1] = values[1, 4] = np.nan
    return ow.from_numpy(values)


#: `t` is the package, `x` and `y` f64[3, 4], `v` f64[5], `c` f64[2, 3, 4], `h` f64[3, 5] with NaN, `s` f64[],
#: `n` i64[8] with equal numbers, `g` i64[4, 3] too, `q` f64[3] from 0 to 1.
EXPRESSIONS = """
t.nansum(h); h.nansum(1); h.nansum([0, 1], keepdim=True); n.nansum(); h.nanmean(); t.nanmean(h, 0); h.nanmean(1, True)
n.nanmean(); t.median(v); x.median(); x.median(1); x.median(0, keepdim=True); h.median(); h.median(1); n.median()
s.median(); s.median(0); t.nanmedian(h); h.nanmedian(1); h.nanmedian(0, True); c.median(-1); n.double().median()
x.median(2); v.quantile(0.3); x.quantile(q); x.quantile(q, 1); x.quantile(q, 0, keepdim=True)
x.quantile(0.5, -1, True); h.quantile(0.4, 1); h.nanquantile(0.4, 1); h.nanquantile(q); t.nanquantile(h, q, dim=0)
x.quantile(q, keepdim=True).reshape(3); s.quantile(q); c.quantile(q, 1); x.quantile(q, 1, interpolation="lower")
x.quantile(q, 1, interpolation="higher"); v.quantile(1.5); x.quantile(q.float())
x.quantile(q, 1, interpolation="nearest"); x.quantile(q, 1, interpolation="midpoint")
x.quantile(q, 1, interpolation="no"); g.mode(0)[0]; g.mode(1, keepdim=True)[0]; n.mode()[0]; x.mode(1); s.mode()
x.cummax(1); t.cummax(c, 0); h.cummax(1); h.cummin(0); g.cummax(1); n.cummin(0); s.cummax(0); x.cummin(-1)
x.cummax(2); x.logcumsumexp(1); t.logcumsumexp(c * 300, 1); v.logcumsumexp(0); s.logcumsumexp(0); n.logcumsumexp(0)
v.diff(); x.diff(); c.diff(2, 1); x.diff(dim=0, prepend=y[:1]); x.diff(append=y[:, :2]); x.diff(5); (n > 1).diff()
v.diff(0); n.diff(); s.diff(); x.diff(prepend=v); t.trapezoid(v); t.trapezoid(x, dx=0.5, dim=0); t.trapezoid(x, y)
x.diff(0, 0, y[:1], y)
t.trapezoid(x, v[:4]); t.trapz(x); t.trapz(x, y, dim=0); t.trapezoid(x, v); t.cumulative_trapezoid(x)
t.cumulative_trapezoid(x, dx=2, dim=0); t.cumulative_trapezoid(x, v[:4]); t.trapezoid(n); t.trapezoid(c, y[:, :4])
t.cumulative_trapezoid(c, v[:3], dim=1); t.cov(x); x.cov(correction=0); v.cov(); s.cov(); x.cov(fweights=n[:4])
x.cov(aweights=q.new_ones(4) * 0.3); x.cov(fweights=n[:4], aweights=t.linspace(0.1, 1, 4, dtype=t.float64))
x.corrcoef(); v.corrcoef(); x.cov(fweights=n[:3]); t.dist(x, y); x.dist(y, 1); x.dist(y, float("inf"))
x.dist(v[:4], 3); t.norm(x); x.norm(); x.norm(1); x.norm(dim=1); x.norm(3, [0, 1], keepdim=True)
x.norm(p="fro", dim=0); t.norm(x, 2, dtype=t.float32); x.norm(float("inf"), 1); x.norm(0); t.bucketize(x, q.sort()[0])
t.bucketize(x, q.sort()[0], right=True, out_int32=True); t.bucketize(0.5, q.sort()[0]); t.searchsorted(v.sort()[0], x)
t.searchsorted(x.sort()[0], y, right=True); t.searchsorted(x.sort()[0], y, side="right")
t.searchsorted(v, x, sorter=v.argsort()); t.searchsorted(v.sort()[0], 0.1); t.searchsorted(n.sort()[0], n)
t.searchsorted(v, n); t.searchsorted(n.sort()[0], n, right=True); t.searchsorted(v.sort()[0], h); t.searchsorted(x, v)
t.searchsorted(v, x, side="left", right=True); t.histc(v.detach(), 4); x.detach().histc(5, -1, 1)
x.detach().float().histc(3, 0, 0); t.histc(v.detach(), 0); n.histc(); t.histc(v.detach() * 0 + 2, 3); t.bincount(n)
n.bincount(minlength=9); n[:5].bincount(v.detach()); n[:5].bincount(v.detach().float()); n.bincount(n)
t.bincount(n - 4); t.bincount(v); t.bincount(n[:0]); n[:0].bincount(minlength=3); t.unique(n)
n.unique(return_inverse=True); n.unique(return_counts=True); g.unique(return_inverse=True, return_counts=True)
t.unique(g, dim=0); g.unique(dim=1, return_inverse=True, return_counts=True)[1:]; g.unique(dim=1).reshape(-1)
t.unique(h.detach()); t.unique(g[:0]); t.unique_consecutive(n)
n.unique_consecutive(return_inverse=True, return_counts=True); g.unique_consecutive(dim=0)
g.unique_consecutive(return_inverse=True, dim=1)[1]; g.unique_consecutive(dim=1).reshape(-1)
t.unique_consecutive(n[:0], return_counts=True); g.unique_consecutive()
"""
TENSORS = {
    "x": drawn(3, 4), "y": drawn(3, 4, seed=1), "v": drawn(5), "c": drawn(2, 3, 4), "h": holes(), "s": drawn(),
    "n": ow.tensor([2, 2, 1, 3, 3, 3, 0, 2]), "g": ow.tensor([[1, 1, 0], [1, 1, 0], [2, 1, 0], [1, 1, 0]]),
    "q": ow.tensor([0.0, 0.37, 0.8], dtype=ow.float64),
}  # fmt: skip


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.replace("\n", ";").split(";") if e.strip()])
def test_expression(expression: str) -> None:
    def call(m: Any, *tensors: Any) -> Any:
        return eval(expression, {"t": m, **dict(zip(TENSORS, tensors, strict=True))})

    agree(call, *TENSORS.values(), difference="functional", constants=[8])
