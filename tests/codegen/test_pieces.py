"""Tensors side by side, computed in the kernels that use them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry.tensor import Tensor, from_numpy

DRAW = np.random.default_rng(0)


def real(*sizes: int, dtype: str = "float32") -> Tensor:
    return from_numpy(DRAW.standard_normal(sizes).astype(dtype))


def whole(*sizes: int, dtype: str = "int64") -> Tensor:
    return from_numpy(DRAW.integers(-5, 5, sizes).astype(dtype))


cat = opweave.cat
x, y, z = real(6, 5, 4), real(6, 7, 4), real(6, 1, 4)

CASES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "used": (lambda x, y, z: cat([x, y, z], 1) * 2, (x, y, z)),
    "of computed ones": (lambda x, y, z: cat([x * 2, y + 1, -z], 1), (x, y, z)),
    "in the first dimension": (lambda x, y: cat([x + 1, y * y], 0), (real(3, 40), real(5, 40))),
    "in the last one": (lambda x, y: cat([x + 1, y * y], -1), (real(9, 3), real(9, 300))),
    "vectors": (lambda x, y: cat([x + 1, y * y]), (real(1000), real(7))),
    "reduced along it": (lambda x, y, z: cat([x, y * 2, z], 1).sum(1), (x, y, z)),
    "reduced across it": (lambda x, y, z: cat([x, y * 2, z], 1).amax(2), (x, y, z)),
    "all of it": (lambda x, y: (cat([x, -y], 1) * 3).amin(), (x, y)),
    "where it is least": (lambda x, y: (cat([x, y], 1) + 0.5).argmin(1), (x, y)),
    "nested": (lambda x, y, z: cat([cat([x, z], 1) + 1, cat([z, y], 1) * 2], 1).exp(), (x, y, z)),
    "along two dimensions": (
        lambda a, b: cat([cat([a, b], 1) + 1, cat([b, a], 1)], 0) * 2,
        (real(4, 3), real(4, 5)),
    ),
    "twice the same": (lambda x: cat([x, x], 1) * cat([x, x * 2], 1), (x,)),
    "transposed ones": (lambda a, b: cat([a.t(), b], 1) * 2, (real(300, 40), real(40, 200))),
    "regrouped ones": (lambda a, b: cat([a.reshape(6, 8), b], 0).reshape(4, 24) + 1, (real(2, 3, 8), real(6, 8))),
    "regrouped after": (lambda x, y: (cat([x, y], 1) + 1).reshape(6 * 12, 4).transpose(0, 1) * 2, (x, y)),
    "stretched ones": (lambda a, b: cat([a.expand(5, 6), b * 2], 0) + 1, (real(1, 6), real(3, 6))),
    "stretched by an op": (lambda a, b: cat([a + b, b], 1) * 2, (real(4, 1), real(4, 6))),
    "a number stretched": (lambda a, b: cat([(a * 2).expand(7), b]) * 2, (real(1), real(5))),
    "constants": (lambda a: cat([opweave.zeros(2, 4), a * 2, opweave.ones(3, 4)], 0) + 1, (real(5, 4),)),
    "zeros around it": (lambda a: cat([opweave.zeros(2, 4), a, opweave.zeros(3, 4)], 0) + 1, (real(5, 4),)),
    "zeros around it, greatest": (
        lambda a: cat([opweave.zeros(2, 4), a, opweave.zeros(3, 4)], 0).amax(0),
        (-1 - real(5, 4).abs(),),
    ),
    "zeros around it, product": (lambda a: cat([a, opweave.zeros(1)]).prod() + a.prod(), (real(5),)),
    "only zeros": (lambda a: a + cat([opweave.zeros(2, 4), opweave.zeros(3, 4)], 0), (real(5, 4),)),
    "counted": (lambda a: cat([opweave.arange(5).float(), a]) * 2, (real(4),)),
    "several types": (lambda a, b: cat([a, b], 0) * 2, (whole(5, 3), real(4, 3))),
    "narrow types": (lambda a, b: cat([a * 2, b], 0) + 1, (real(5, 3, dtype="float16"), real(4, 3, dtype="float16"))),
    "truths": (lambda a, b: ~cat([a > 0, b > 0]), (real(50), real(60))),
    "integers": (lambda a, b: cat([a, b * 2], 1) // 3, (whole(5, 3), whole(5, 4))),
    "stacked": (lambda a, b: opweave.stack([a + 1, b], 1) * 2, (real(5, 3), real(5, 3))),
    "empty ones": (lambda a, b: cat([a, b * 2], 1) + 1, (real(5, 0), real(5, 4))),
    "expensive ones": (lambda a, b: cat([a.exp(), b.sin()], 1) + 1, (real(5, 40), real(5, 4))),
    "gathered ones": (lambda a, i, b: cat([a[i] + 1, b * 2], 0) + 1, (real(9, 4), whole(6), real(5, 4))),
    "of sums": (lambda a, b: cat([a.sum(1), b.mean(1)]) * 2, (real(5, 40), real(7, 9))),
    "a row of sums": (lambda a, b: cat([a, b.sum(0, keepdim=True)], 0).exp(), (real(5, 40), real(7, 40))),
    "with NaN beside it": (lambda a, b: cat([a / a, b], 0) * 2, (opweave.zeros(3, 4), real(3, 4))),
    "of overwritten ones": (lambda a, b: (cat([a, b]), a.mul_(2), cat([a, b]) + 1), (real(5), real(4))),
    "into one of them": (lambda a: a.copy_(cat([a[3:] + 0, a[:3] * 1])), (real(6),)),
    "written to the same places": (lambda a: a.copy_(cat([a[:3] * 2, a[3:] * 3])), (real(6),)),
    "shifted": (lambda a: cat([a[1:], a[:1]]) - a, (real(700),)),
}


def results_of(value: Any) -> list[Tensor]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_compiled_equals_eager(name: str, dynamic: bool) -> None:
    fn, arguments = CASES[name]
    given = [[t.clone() for t in arguments] for _ in range(2)]
    wanted, found = fn(*given[0]), opweave.compile(fn, dynamic=dynamic)(*given[1])
    tolerance = 1e-3 if any(t.dtype is opweave.float16 for t in arguments) else 1e-6
    pairs = [*zip(results_of(wanted), results_of(found), strict=True), *zip(given[0], given[1], strict=True)]
    for want, have in pairs:
        assert (have.dtype, have.shape, have.stride()) == (want.dtype, want.shape, want.stride())
        np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=tolerance, atol=tolerance)


def kernels_and_calls(fn: Callable[..., Any], *arguments: Tensor) -> list[str]:
    fusion = opweave.explain(fn)(*arguments).versions[-1].fusion
    return [line.split()[0] for line in fusion.splitlines() if line.startswith(("kernel", "extern"))]


def test_what_is_computed_is_one_kernel() -> None:
    assert kernels_and_calls(lambda x, y: cat([x * 2, y], 1) + 1, x, y) == ["kernel"]
    assert kernels_and_calls(lambda x, y: cat([x, y], 1).sum(), x, y) == ["kernel"]


def test_copies_alone_are_a_call() -> None:
    assert kernels_and_calls(lambda x, y: cat([x, y], 1), x, y) == ["extern"]


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_gradient_of_a_split_has_no_copies(dynamic: bool) -> None:
    def f(x: Tensor) -> Tensor:
        a, b, c = x.split(8, 1)
        return (a * b * c).sum()

    x = real(30, 24)
    grad = opweave.func.grad(f)
    np.testing.assert_allclose(opweave.compile(grad, dynamic=dynamic)(x).numpy(), grad(x).numpy(), rtol=1e-6, atol=1e-6)
    # The gradients, which one kernel stores side by side: nothing is copied, and nobody asks for the sum.
    assert kernels_and_calls(grad, x) == ["kernel", "extern"]
    assert "clone" not in opweave.explain(grad)(x).versions[-1].code


def test_the_code_reads_each_piece_where_it_lies() -> None:
    report = opweave.explain(lambda a, b: cat([a, b], 1) * 2)(real(4, 8), real(4, 24))
    code = report.versions[-1].code
    body = [line.split("  #")[0].strip() for line in code.splitlines() if "tl.load" in line or "tl.store" in line]
    assert body == [
        "t1 = tl.load(a + r * 8 + c, t0, 0.0)",
        "t2 = tl.load(b + r * 24 + c - 8, (c >= 8), 0.0)",
        "tl.store(out + r * 32 + c, t3 * 2.0)",
    ]


def test_random_programs() -> None:
    """Cats, pads, slices, views and sums at random."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        recipe = draw.integers(0, 1 << 20, (7, 4)).tolist()

        def program(x: Tensor, y: Tensor, recipe: list[list[int]] = recipe) -> Tensor:
            pool = [x, y]
            for which, along, what, more in recipe:
                t, dim, kind = pool[which % len(pool)], along % 2, what % 6
                if kind == 0:
                    others = [p for p in pool if p.shape[1 - dim] == t.shape[1 - dim]]
                    other = others[more % len(others)]
                    t = cat([t, other * 2, t], dim) if t.numel() < 500 else t + 1
                elif kind == 1 and t.shape[dim] > 2:
                    t = t.narrow(dim, 1, t.shape[dim] - 2)
                elif kind == 2:
                    t = t.transpose(0, 1)
                elif kind == 3:
                    t = opweave.nn.functional.pad(t, [1, 2, 0, 1])
                elif kind == 4:
                    t = t.amax(dim, keepdim=True)
                else:
                    t = t * t - 1
                pool.append(t)
            return pool[-1] + 1

        arguments = [from_numpy(DRAW.standard_normal((5, 4)).astype(np.float32)) for _ in range(2)]
        want, found = program(*arguments), opweave.compile(program)(*arguments)
        np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-5, atol=1e-5, err_msg=f"seed {seed}")


def test_all_orders_of_pieces_and_dimensions() -> None:
    parts = [real(3, 4), real(3, 4) * 2]
    for dim, swapped, by_rows in itertools.product((0, 1), (False, True), (False, True)):

        def f(a: Tensor, b: Tensor, dim: int = dim, swapped: bool = swapped, by_rows: bool = by_rows) -> Tensor:
            both = cat([b, a + 1] if swapped else [a + 1, b], dim)
            return both.sum(1) if by_rows else both.sum(0)

        np.testing.assert_allclose(opweave.compile(f)(*parts).numpy(), f(*parts).numpy(), rtol=1e-6, atol=1e-6)
