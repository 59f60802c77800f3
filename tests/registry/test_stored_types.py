"""Element types that values are kept in: float8 types, and unsigned integers of more than 8 bits."""

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave.registry.errors import DTypeError

FLOAT8 = [opweave.float8_e4m3fn, opweave.float8_e5m2, opweave.float8_e4m3fnuz, opweave.float8_e5m2fnuz]
UNSIGNED = [opweave.uint16, opweave.uint32, opweave.uint64]
STORED = [*FLOAT8, *UNSIGNED]
VALUES = np.array(
    [0, -0.0, 1e-9, 0.3, -1.7, 2.0**-17, 240, 247.9, 248, 448, 463.9, 465, 61439, 61440, -1e9, np.inf, -np.inf, np.nan],
    np.float32,
)


def expected(dtype):
    """By ml_dtypes, where it saturates as PyTorch does."""
    bound = 448 if dtype is opweave.float8_e4m3fn else np.inf
    return np.clip(VALUES, -bound, bound).astype(dtype.numpy).astype(np.float32)


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_conversions_in_eager_and_compiled(dtype):
    x = opweave.tensor(VALUES)
    np.testing.assert_array_equal(x.to(dtype).float().numpy(), expected(dtype))
    compiled = opweave.compile(lambda x: ((x * 1).to(dtype), (x * 1).to(dtype).to(opweave.float16) * 2))
    stored, half = compiled(x)
    np.testing.assert_array_equal(stored.float().numpy(), expected(dtype))
    np.testing.assert_array_equal(half.numpy(), (x.to(dtype).half() * 2).numpy())


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_files_and_exchange(dtype, tmp_path):
    x = opweave.tensor([[0, 1, 2], [3, 4, 0]], dtype=dtype)
    opweave.save({"x": x}, tmp_path / "x.ow")
    opweave.safetensors.save_file({"x": x}, tmp_path / "x.safetensors")
    program = opweave.export.export(lambda y: x.float() + y, (opweave.ones(2, 3),))
    opweave.export.save(program, tmp_path / "x.pt2")
    for found in (
        opweave.load(tmp_path / "x.ow")["x"],
        opweave.safetensors.load_file(tmp_path / "x.safetensors")["x"],
        opweave.from_numpy(x.numpy()),
    ):
        assert found.dtype is dtype and opweave.equal(found, x)
    ran = opweave.export.load(tmp_path / "x.pt2").module()(opweave.ones(2, 3))
    np.testing.assert_array_equal(ran.numpy(), x.numpy().astype(np.float32) + 1)


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_no_arithmetic(dtype):
    x = opweave.ones(3, dtype=dtype)
    for use in (lambda: x + x, lambda: x * 2.0, lambda: x.sum(), lambda: x < x, lambda: x.exp(), lambda: x.cumsum(0)):
        with pytest.raises(DTypeError, match=r"kept in|promotion"):
            use()
    with pytest.raises(DTypeError, match="promotion"):
        x + opweave.ones(3)
    assert bool((x == x).all()) and not x.isnan().any() and opweave.where(x == x, x, x).dtype is dtype
    assert opweave.cat([x, x[:1]]).dtype is dtype and opweave.finfo(dtype).max == float(
        ml_dtypes.finfo(dtype.numpy).max
    )


@pytest.mark.parametrize("dtype", UNSIGNED, ids=str)
def test_unsigned_integers(dtype):
    bits = 8 * dtype.itemsize
    x = opweave.tensor([0, 2 ** (bits - 1), 2**bits - 1], dtype=dtype)
    assert x.tolist() == [0, 2 ** (bits - 1), 2**bits - 1] and opweave.iinfo(dtype).max == 2**bits - 1
    large = opweave.tensor([-1.5, 2.0 ** (bits - 1)], dtype=opweave.float64)
    assert large.to(dtype).tolist() == [2**bits - 1, 2 ** (bits - 1)]
    assert (x.double() + 1).tolist() == [1, 2.0 ** (bits - 1) + 1, 2.0**bits - 1 + 1]
    assert (x + opweave.ones(3)).dtype is opweave.float32
    with pytest.raises(DTypeError, match="promotion"):
        x + opweave.ones(3, dtype=opweave.int64)


@triton.jit
def double_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, (tl.load(x + i).to(tl.float32) * 2).to(out.dtype.element_ty))


@opweave.library.triton_op("stored::double", mutates_args=())
def double(x: opweave.Tensor) -> opweave.Tensor:
    out = opweave.empty_like(x)
    double_kernel[(1,)](x, out, 16)
    return out


def test_kernels_have_pointers_to_them(tmp_path):
    for dtype in (opweave.float8_e4m3fn, opweave.float8_e5m2fnuz, opweave.uint16):
        x = opweave.arange(16, dtype=opweave.float32).to(dtype)
        np.testing.assert_array_equal(double(x).float().numpy(), 2 * x.float().numpy())
    program = opweave.export.export(lambda x: double(x.to(opweave.float8_e5m2)).float(), (opweave.ones(16),))
    opweave.export.save(program, tmp_path / "p.ow")
    ran = opweave.export.load(tmp_path / "p.ow").module()(opweave.full((16,), 3.0))
    assert ran.tolist() == [6.0] * 16
