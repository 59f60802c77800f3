"""The functions of `opweave.fft` against those of `torch.fft`: results, layouts, gradients, and what both refuse."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import maker
from oracle import agree

import opweave as ow
from opweave.registry import dtypes
from opweave.registry.tensor import Tensor

LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
PLANES = ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"]
SPACES = ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"]
NORMS = [None, "backward", "ortho", "forward"]


def given(name: str, *sizes: int, wide: bool = True) -> Tensor:
    """What the function takes: complex numbers where it inverts or goes to real ones."""
    real = name.lstrip("i").startswith("r") and not name.startswith("i") or name.startswith("ih")
    kind = ("float64" if wide else "float32") if real else ("complex128" if wide else "complex64")
    return maker(getattr(dtypes, kind))(*sizes)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", LINES)
def test_one_dimension(name: str, norm: str | None) -> None:
    whole = given(name, 4, 6, 5)
    taken = 0
    for x in (whole, whole.permute(2, 0, 1), given(name, 7), given(name, 3, 4, wide=False)):
        for n, dim in itertools.product((None, 1, 3, 4, 5, 9), (-1, 0, 1)):
            taken += agree(
                lambda m, x: getattr(m.fft, name)(x, n, dim, norm),
                x,
                difference="fft",
                note=(x._sizes, n, dim),  # noqa: B023
            )
    assert taken > 50


@pytest.mark.parametrize("name", PLANES)
def test_two_dimensions(name: str) -> None:
    whole = given(name, 3, 4, 6)
    for x, s, dim, norm in itertools.product(
        (whole, whole.permute(1, 2, 0)), (None, (4, 4), (3, 7), (-1, 5)), ((-2, -1), (0, 2), (2, 0)), (None, "ortho")
    ):
        assert agree(
            lambda m, x: getattr(m.fft, name)(x, s, dim, norm),
            x,
            difference="fft",
            note=(x._strides, s, dim),  # noqa: B023
        )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", SPACES)
def test_several_dimensions(name: str, norm: str | None) -> None:
    x = given(name, 3, 4, 5)
    calls: list[tuple[Any, Any]] = [
        (None, None), ((4,), None), ((2, 4), None), ((2, 3, 4), None), (None, (1,)), (None, (2, 0)), ((5, 2), (0, 2)),
        ((-1, 6), (1, 0)), ((4,), 1), (3, None), ((3, -1), (2, 1)), (None, ()), ((), None),
    ]  # fmt: skip
    taken = 0
    for s, dim in calls:
        taken += agree(lambda m, x: getattr(m.fft, name)(x, s, dim, norm), x, difference="fft", note=(s, dim))  # noqa: B023
    assert taken >= 9


@pytest.mark.parametrize("dtype", ["bool_", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("name", LINES + SPACES + PLANES)
def test_types(name: str, dtype: str) -> None:
    x = maker(getattr(dtypes, dtype))(4, 5)
    agree(lambda m, x: getattr(m.fft, name)(x), x, difference="fft", note=dtype)


@pytest.mark.parametrize("name", LINES + SPACES + PLANES)
def test_refused(name: str) -> None:
    x, line = given(name, 4, 5), name in LINES
    wrong: list[Any] = [{"norm": "none"}, {"dim": 2}, {"dim": -3}]
    wrong += [{"n": 0}, {"n": -2}] if line else [
        {"s": (0, 2)}, {"s": (-2, 2)}, {"s": (2, 2, 2)}, {"s": (2,), "dim": (0, 1)}, {"dim": (0, 0)}, {"dim": (0, -2)},
    ]  # fmt: skip
    for options in wrong:
        assert not agree(lambda m, x: getattr(m.fft, name)(x, **options), x, note=options)  # noqa: B023
    agree(lambda m, x: getattr(m.fft, name)(x), given(name), note="0-d", difference="fft")
    agree(lambda m, x: getattr(m.fft, name)(x), given(name, 3, 1), note="one point", difference="fft")
    assert not agree(lambda m, x: getattr(m.fft, name)(x), given(name, 3, 0), note="no points")


@pytest.mark.parametrize("name", ["fft", "rfft", "irfftn", "ifft2"])
def test_second_gradients(name: str) -> None:
    assert agree(lambda m, x: getattr(m.fft, name)(x * x), given(name, 3, 4), difference="fft", order=2)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name: str) -> None:
    for n, d in itertools.product((1, 2, 5, 8), (1.0, 0.25, 3)):
        assert agree(lambda m: getattr(m.fft, name)(n, d))  # noqa: B023
        assert agree(lambda m: getattr(m.fft, name)(n, d=d, dtype=m.float64))  # noqa: B023
    assert agree(lambda m: getattr(m.fft, name)(4, requires_grad=True))


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name: str) -> None:
    for dtype, sizes in itertools.product((dtypes.float64, dtypes.int64, dtypes.complex64), ((5,), (4, 3), (2, 3, 4))):
        x = maker(dtype)(*sizes)
        for dim in (None, 0, -1, (0,), (0, len(sizes) - 1), ()):
            agree(lambda m, x: getattr(m.fft, name)(x, dim), x, note=(sizes, dim))  # noqa: B023


def test_traced_and_compiled() -> None:
    def run(module: Any, x: Any) -> Any:
        return module.fft.irfft(module.fft.rfft(x * 2, norm="ortho"), n=6, norm="ortho") + 1

    x = maker(dtypes.float64)(3, 6)
    found = ow.compile(lambda x: run(ow, x))(x)
    assert ow.allclose(found, run(ow, x)) and ow.allclose(found, x * 2 + 1)
