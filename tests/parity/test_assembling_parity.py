"""What puts tensors together, takes them apart and picks from them, as a user writes it, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import agree

import opweave as ow


def drawn(*sizes: int, seed: int = 0) -> ow.Tensor:
    return ow.from_numpy(np.asarray(np.random.default_rng([seed, *sizes]).standard_normal(sizes)))


#: `t` is the package, `x` and `y` f64[3, 4], `v` and `w` f64[5], `c` f64[2, 3, 4], `s` f64[], `n` i64[3] and `m` b8[3].
EXPRESSIONS = """
t.atleast_1d(s); t.atleast_2d(v); t.atleast_3d(v); t.atleast_3d(x); t.atleast_3d(s); t.atleast_1d(s, v)
t.atleast_2d([s, v, c]); t.atleast_3d(s, v, x); x.hsplit(2); v.hsplit([1, 3]); t.vsplit(x, 3); x.vsplit([1])
c.dsplit(2); t.dsplit(c, [1, 2]); x.hsplit(3); v.vsplit(2); t.column_stack([v, w])
t.column_stack((v, w.reshape(5, 1))); t.row_stack([v, w]); t.column_stack([s, s]); t.block_diag(x, v, s)
t.block_diag(x); t.block_diag(x, n.reshape(1, 3)); t.block_diag(c); t.meshgrid(v, n, indexing="ij")
t.meshgrid(v, w, s, indexing="ij"); t.meshgrid(v, w, s, indexing="xy"); t.meshgrid([v, w], indexing="xy")
t.cartesian_prod(v, w); t.cartesian_prod(v); t.cartesian_prod(n, n, n); t.meshgrid(x, indexing="ij")
t.combinations(v); t.combinations(v, 3); t.combinations(v, 2, with_replacement=True); t.combinations(n, 1)
t.combinations(v, 6); t.combinations(v, 0); t.combinations(x); t.fliplr(x); x.flipud(); v.flipud(); v.fliplr()
t.rot90(x); x.rot90(-1); c.rot90(2, [1, 2]); x.rot90(4); c.rot90(3, [0, -1]); t.diag(v); v.diag(1); v.diag(-2)
x.diag(); x.diag(1); x.diag(-1); c.diag(); t.diag_embed(x); x.diag_embed(1, 0, 2); c.diag_embed(-1, 1, -1)
t.diagflat(x); s.diagflat(2); x.diagonal_scatter(v[:3]); x.diagonal_scatter(v[:2], -1)
c.diagonal_scatter(x[:, :2], 0, 0, 1); c.diagonal_scatter(x.t()[:, :2].t().t(), 0, 0, 1); t.trace(x)
n.reshape(3, 1).trace(); v.trace(); t.tril_indices(3, 4); t.triu_indices(4, 3, -1)
t.tril_indices(2, 2, 1, dtype=t.int32); t.take(x, n); x.take(n.reshape(3, 1)); x.take(n * 0 - 1); x.take(n + 100)
x.put(n, v[:3]); x.put(n, v[:3], True); x.put(n * 0 + 2, v[:3], accumulate=True); x.put(n, v)
x.clone().put_(n, v[:3]); c.index_add(1, n, c); c.index_add(1, n, c, alpha=2); x.index_add(0, n, x)
x.index_add(0, n * 0, x); x.index_add(-1, n, y[:, :3]); x.clone().index_add_(0, n, x, alpha=0.5)
s.index_add(0, n[:1] * 0, s); v.index_copy(0, n[1], s); v.index_add(0, n[1], s); x.index_add(0, n, y.float())
x.index_copy(0, n, y); c.index_copy(1, n, c * 2); x.clone().index_copy_(1, n, y[:, :3]); x.index_copy(0, n, y[:2])
x.index_copy(0, n - 5, x); x.index_fill(0, n - 5, 2.0); x.index_fill(0, n, 2.5); x.index_fill(1, n, s)
x.clone().index_fill_(1, n, -1.0); x.index_fill(0, n - 3, 2.0); n.index_fill(0, n, 3); x.index_reduce(0, n, y, "prod")
x.index_reduce(0, n, y, "mean"); x.index_reduce(0, n * 0, y, "amax")
x.index_reduce(0, n * 0, y, "amin", include_self=False)
x.detach().clone().index_reduce_(0, n * 0, y.detach(), "prod"); x.index_reduce(0, n, y, "sum"); t.isin(n, n[:2])
t.isin(n, n[:2], invert=True); t.isin(n, 1); t.isin(x, v); t.isin(n, 1, invert=True); t.isin(x, n)
t.argwhere(m).reshape(-1); x.argwhere().contiguous(); t.kron(x, y); t.kron(v, x); t.kron(s, v); t.kron(n, n)
t.kron(c, x); t.tensordot(x, y, dims=([0, 1], [0, 1])); t.tensordot(x, y.t(), 1); t.tensordot(x, y, 0)
t.tensordot(c, x, ([1, 2], [0, 1])); t.tensordot(c, x, 2); t.tensordot(x, y, dims=([0], [1]))
t.tensordot(c, x, ([-1], [-1])); t.tensordot(x[:, :1], y, ([1], [1])); t.inner(x, y); t.inner(v, w); t.inner(c, x)
t.inner(s, v); t.inner(x, v); t.vdot(v, w); t.ger(v, w); v.ger(n.double()); t.cross(x[:, :3], y[:, :3], dim=1)
t.cross(x, y, dim=0); t.cross(x, y); t.cross(c, c + 1); t.cross(v, w); t.cross(x[:1].t(), y.t()); t.vander(v.detach())
t.vander(v.detach(), 3); t.vander(n, increasing=True); t.vander(x); t.addr(x, v[:3], w[:4])
x.addr(v[:3], w[:4], beta=0.5, alpha=2); x.addr(v[:3], w[:4], beta=0); x.clone().addr_(v[:3], w[:4])
y[0].addbmm(c, c.mT); t.addbmm(s, c, c.mT, beta=2, alpha=0.5); t.addbmm(s, c, c.mT, beta=0)
t.broadcast_tensors(x, v[:4], s); t.broadcast_shapes((3, 1), (4,), 1) == (3, 4)
[u + 0 for u in t.unravel_index(n * 5, (3, 6))]; [u + 0 for u in t.unravel_index(n, 5)]
"""
TENSORS = {
    "x": drawn(3, 4), "y": drawn(3, 4, seed=1), "v": drawn(5), "w": drawn(5, seed=2), "c": drawn(2, 3, 4), "s": drawn(),
    "n": ow.tensor([2, 0, 1]), "m": ow.tensor([True, False, True]),
}  # fmt: skip


@pytest.mark.parametrize(
    "expression", [e.strip() for line in EXPRESSIONS.split("\n") for e in line.split(";") if e.strip()]
)
def test_expression(expression: str) -> None:
    def call(m: Any, *tensors: Any) -> Any:
        return eval(expression, {"t": m, **dict(zip(TENSORS, tensors, strict=True))})

    agree(call, *TENSORS.values(), difference="functional")
