"""Scatters against PyTorch: values, reductions with repeated places, types, derivatives, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import maker, replace_tensors
from oracle import close, compare, to_torch

import opweave as ow
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy

TYPES = ("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64", "bool_", "complex64")
REDUCES = ("sum", "prod", "mean", "amax", "amin", "other")


def places(*sizes: int, below: int, seed: int = 0) -> Tensor:
    return from_numpy(np.array(np.random.default_rng([seed, *sizes]).integers(0, below, sizes)))


def both(name: str, overload: str, *args: Any, difference: str | None = None, **kwargs: Any) -> str:
    """Compare one call with PyTorch's; ``"refused"`` where both refuse it."""
    note = (name, overload, args, kwargs)
    theirs_args = replace_tensors(args, to_torch)
    mine = getattr(getattr(ops.aten, name), overload)
    try:
        theirs = getattr(getattr(torch.ops.aten, name), overload)(*theirs_args, **kwargs)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        kind = IndexError if isinstance(error, IndexError) else OpweaveError
        with pytest.raises(kind):
            mine(*args, **kwargs)
        return "refused"
    compare(mine(*args, **kwargs), theirs, note, difference)
    return "same"


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("reduce", REDUCES)
def test_scatter_reduce(reduce: str, dtype: str) -> None:
    make = maker(getattr(dtypes, dtype))
    seen = set()
    # PyTorch rounds a half type at each step, this once.
    difference = "scatter, half types" if dtype in ("float16", "bfloat16") else "scatter"
    for include_self in (True, False):
        for x in (make(4, 5, 3), ow.permute(make(5, 3, 4), (2, 0, 1))):
            for dim, sizes in ((0, (6, 2, 3)), (1, (4, 9, 1)), (-1, (2, 2, 2)), (2, (0, 1, 1))):
                index = places(*sizes, below=3)
                args = (x, dim, index, make(6, 9, 4), reduce)
                found = both("scatter_reduce", "two", *args, include_self=include_self, difference=difference)
                if index.numel():
                    seen.add(found)
    assert len(seen) == 1


def test_places_that_are_refused() -> None:
    make = maker(dtypes.float32)
    x, src = make(3, 4), make(2, 4)
    index = places(2, 4, below=3)
    wrong: list[tuple[Any, ...]] = [
        (x, 2, index, src), (x, 0, index + 1, src), (x, 0, index - 3, src), (x, 0, index, make(1, 4)),
        (x, 0, index, src.double()), (x, 1, places(4, 4, below=3), make(4, 4)), (x, 0, index[0], src),
        (x, 0, index.to(ow.float32), src), (x, 0, places(2, 5, below=3), make(2, 5)),
    ]  # fmt: skip
    for args in wrong:
        for reduce in ("sum", "amax"):
            assert both("scatter_reduce", "two", *args, reduce) == "refused"
        assert both("scatter", "src", *args) == "refused"
        if args[3] is src:
            assert both("scatter", "value", *args[:3], 1.5) == "refused"


@pytest.mark.parametrize("dtype", TYPES)
def test_scatter_value(dtype: str) -> None:
    make = maker(getattr(dtypes, dtype))
    seen = set()
    for value in (0, 1, -1, 2.5, True, 300, 1e6, float("inf"), 1j, 2 + 0j):
        if value in (float("inf"), 1j) and getattr(dtypes, dtype).kind in "iub":
            continue  # no difference: PyTorch's choice is not the same on all machines
        for dim, sizes in ((0, (6, 2, 3)), (1, (4, 9, 1)), (-1, (2, 2, 2))):
            seen.add(both("scatter", "value", make(4, 5, 3), dim, places(*sizes, below=3), value))
    assert "same" in seen


@pytest.mark.parametrize("dtype", TYPES)
def test_masked_scatter(dtype: str) -> None:
    make = maker(getattr(dtypes, dtype))
    seen = set()
    for sizes, mask, source in itertools.product(
        [(4, 6), (6,), (), (0, 6)], [(4, 6), (6,), (1,), (3, 4, 6), (2,)], [(72,), (5, 20), (1,), (0,)]
    ):
        chosen = maker(dtypes.bool_)(*mask)
        seen.add(both("masked_scatter", "default", make(*sizes), chosen, make(*source)))
    seen.add(both("masked_scatter", "default", make(3), maker(dtypes.int64)(3), make(3)))
    seen.add(both("masked_scatter", "default", make(3), maker(dtypes.bool_)(3), maker(dtypes.int16)(3)))
    assert seen == {"same", "refused"}


def test_in_place() -> None:
    make = maker(dtypes.float32)
    index = places(2, 5, below=3)
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("scatter_", (0, index, make(2, 5))), ("scatter_", (0, index, 2.5)), ("scatter_add_", (0, index, make(2, 5))),
        ("scatter_reduce_", (0, index, make(2, 5), "amax")), ("masked_scatter_", (maker(dtypes.bool_)(3, 5), make(15))),
    ]  # fmt: skip
    for name, args in calls:
        for x in (make(3, 5), make(5, 3).t()):
            if name == "scatter_" and isinstance(args[2], Tensor):
                args = (0, places(1, 5, below=3), make(1, 5))  # of several values PyTorch may keep any
            other = to_torch(x)
            assert getattr(x, name)(*args) is x
            getattr(other, name)(*replace_tensors(args, to_torch))
            compare(x, other, (name, args))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool_"])
def test_parts(dtype: str) -> None:
    make, other = maker(getattr(dtypes, dtype)), maker(dtypes.float64)
    seen = set()
    for x in (make(4, 6), make(6, 4).t()):
        for start, end, step in itertools.product((None, 0, 2, -3, 9), (None, 0, 3, -1, 9), (1, 2, 5, 0)):
            for dim in (0, -1, 2):
                size = x._sizes[dim] if dim < 2 else 4
                count = len(range(*slice(start, end, step or 1).indices(size)))
                sizes = (count, 6) if dim == 0 else (4, count)
                seen.add(both("slice_scatter", "default", x, make(*sizes), dim, start, end, step))
                seen.add(both("slice_scatter", "default", x, other(*sizes), dim, start, end, step))
        seen.add(both("slice_scatter", "default", x, make(1, 6), 0))
        for dim, index in itertools.product((0, 1, -1, 2, -3), (0, 3, -4, 5, -7)):
            seen.add(both("select_scatter", "default", x, make(6), dim, index))
            seen.add(both("select_scatter", "default", x, other(4), dim, index))
            seen.add(both("select_scatter", "default", x, make(1), dim, index))
    seen.add(both("select_scatter", "default", make(), make(), 0, 0))
    assert seen == {"same", "refused"}


def test_embedding_dense_backward() -> None:
    for dtype, sizes in itertools.product(("float32", "float16", "bfloat16", "float64"), ((4, 6), (7,), (), (0,))):
        make = maker(getattr(dtypes, dtype))
        for padding, scaled, kind in itertools.product((-1, 0, 3), (False, True), (ow.int64, ow.int32)):
            index = places(*sizes, below=4).to(kind)
            args = make(*sizes, 5), index, 6, padding, scaled
            both(
                "embedding_dense_backward",
                "default",
                *args,
                difference="embedding, half types" if "16" in dtype else "scatter",
            )


def numbers(*sizes: int, low: int = -2, high: int = 3, seed: int = 0) -> Tensor:
    """Whole numbers, zeros among them, of which many are equal."""
    return from_numpy(np.random.default_rng([seed, *sizes]).integers(low, high, sizes).astype(np.float64))


def derivatives(module: Any, fn: Callable[..., Any], args: tuple[Any, ...], orders: int) -> list[Any]:
    leaves = [a for a in args if a.requires_grad]
    result = fn(*args)
    found = []
    for order in range(orders):
        weights = module.from_numpy(np.random.default_rng(order).standard_normal(tuple(result.shape)))
        grads = module.autograd.grad(result, leaves, weights, create_graph=order + 1 < orders, allow_unused=True)
        found += [module.zeros(tuple(leaf.shape)) if g is None else g for g, leaf in zip(grads, leaves, strict=True)]
        result = sum((g**2).sum() for g in grads if g is not None and g.requires_grad)
        if not hasattr(result, "shape"):
            break
    return found


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCES[:5])
def test_gradients_of_reductions(reduce: str, include_self: bool, compiled: bool) -> None:
    low = 1 if reduce == "prod" and left_out("scatter, second derivative of a product with zeros") else -2
    index = places(6, 3, below=4)
    args = numbers(4, 3, low=low), numbers(6, 3, low=low, seed=1)

    def fn(module: Any) -> Callable[..., Any]:
        where = index if module is ow else to_torch(index)
        return lambda x, src: x.scatter_reduce(0, where, src, reduce, include_self=include_self) ** 2

    ours = ow.compile(fn(ow)) if compiled else fn(ow)
    orders = 1 if compiled or reduce in ("amax", "amin") else 2
    mine = derivatives(ow, ours, tuple(a.requires_grad_() for a in args), orders)
    theirs = derivatives(torch, fn(torch), tuple(to_torch(a.detach()).requires_grad_() for a in args), orders)
    for a, b in zip(mine, theirs, strict=True):
        close(a.detach().numpy(), b.detach().numpy(), "indices, gradients")


def test_gradient_of_a_product_with_zeros() -> None:
    index = from_numpy(np.array([0, 0, 0, 1, 1, 2, 3, 3]))
    src = from_numpy(np.array([2.0, 0.0, 3.0, 4.0, 5.0, 0.0, 6.0, 7.0])).requires_grad_()
    x = from_numpy(np.array([3.0, 0.0, 2.0, -1.0, 8.0])).requires_grad_()
    for include_self in (True, False):

        def fn(x: Any, src: Any, where: Any = index, include_self: bool = include_self) -> Any:
            return x.scatter_reduce(0, where, src, "prod", include_self=include_self)

        mine = ow.autograd.grad(fn(x, src).sum(), [x, src])
        others = [to_torch(t.detach()).requires_grad_() for t in (x, src)]
        theirs = torch.autograd.grad(fn(*others, to_torch(index)).sum(), others)
        for a, b in zip(mine, theirs, strict=True):
            compare(a, b, include_self)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_gradients_of_copies(compiled: bool) -> None:
    index, mask = places(2, 5, below=3), maker(dtypes.bool_)(3, 5)
    x, part, row, source = numbers(3, 5), numbers(3, 2, seed=1), numbers(5, seed=2), numbers(4, 5, seed=3)

    def functions(module: Any) -> list[tuple[Callable[..., Any], Tensor]]:
        there, chosen = (index, mask) if module is ow else (to_torch(index), to_torch(mask))
        return [
            (lambda x, s: module.slice_scatter(x, s, 1, 1, 5, 2) ** 2, part),
            (lambda x, s: module.select_scatter(x, s, 0, -1) ** 2, row),
            (lambda x, s: module.masked_scatter(x, chosen, s) ** 2, source),
            (lambda x, s: module.scatter(x, 0, there, 2.0) ** 2 * s.sum(), row),
        ]

    for (ours, s), (theirs, _) in zip(functions(ow), functions(torch), strict=True):
        args = [t.detach().requires_grad_() for t in (x, s)]
        others = [to_torch(t.detach()).requires_grad_() for t in args]
        orders = 1 if compiled else 2
        mine = derivatives(ow, ow.compile(ours) if compiled else ours, tuple(args), orders)
        expected = derivatives(torch, theirs, tuple(others), orders)
        for a, b in zip(mine, expected, strict=True):
            close(a.detach().numpy(), b.detach().numpy(), "indices, gradients")
