"""Systems whose matrix is given by its Cholesky factor, and least squares of deficient rank, beside PyTorch's."""

import numpy as np
import pytest
import torch
from oracle import close

import opweave

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("sizes", [((3, 3), (3, 2)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 2))], ids=str)
@pytest.mark.parametrize("kind", ["triangle", "whole"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_both_triangles_of_a_factor(upper, sizes, kind, dtype):
    factor = RNG.normal(size=sizes[0]) + 3 * np.eye(3)
    right, weights = RNG.normal(size=sizes[1]), RNG.normal(size=(2, 3, 2))
    if dtype == "complex128":
        factor = factor + 1j * RNG.normal(size=sizes[0]) * (1 - np.eye(3))  # whose diagonal is real
        right = right + 1j * RNG.normal(size=sizes[1])
    if kind == "triangle":
        factor = np.triu(factor) if upper else np.tril(factor)
    found = []
    for m in (opweave, torch):
        L, B = m.tensor(factor, requires_grad=True), m.tensor(right, requires_grad=True)
        x = m.cholesky_solve(B, L, upper)
        (m.real(x) if dtype == "complex128" else x).mul(m.tensor(weights)).sum().backward()
        inverse = m.tensor(factor, requires_grad=True)
        y = m.cholesky_inverse(inverse, upper)
        (m.real(y) if dtype == "complex128" else y).mul(m.arange(9.0).reshape(3, 3)).sum().backward()
        found.append([t.detach().numpy() for t in (x, L.grad, B.grad, y, inverse.grad)])
    for mine, theirs in zip(*found, strict=True):
        close(mine, theirs, "distributions", sizes)


def test_a_compiled_solution_has_the_gradients_of_an_eager_one():
    def solved(B, L):
        return (opweave.cholesky_solve(B, L) * 2).sum()

    found = []
    for function in (solved, opweave.compile(solved)):
        L = opweave.tensor(np.tril(RNG.normal(size=(3, 3))) + 3 * np.eye(3) if not found else found[0][0])
        L.requires_grad_()
        function(opweave.ones(3, 2, dtype=opweave.float64), L).backward()
        found.append((L.detach().numpy(), L.grad.numpy()))
    close(found[1][1], found[0][1], "distributions", "compiled")


@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_least_squares_have_residuals_where_the_rank_is_full(driver, rank, batch):
    a = RNG.normal(size=(*batch, 5, rank)) @ RNG.normal(size=(*batch, rank, 3))
    b = RNG.normal(size=(*batch, 5, 2))
    mine = opweave.linalg.lstsq(opweave.tensor(a), opweave.tensor(b), driver=driver)
    theirs = torch.linalg.lstsq(torch.tensor(a), torch.tensor(b), driver=driver)
    for p, q in zip(mine, theirs, strict=True):
        assert p.shape == tuple(q.shape)
        close(p.numpy(), q.numpy(), "distributions", driver)
