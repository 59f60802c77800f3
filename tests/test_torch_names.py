"""`import opweave as torch`: the uses of `torch.library` that its documentation shows, on the CPU."""

import numpy as np
import pytest
import triton
from triton import language as tl

import opweave as torch
from opweave import Tensor, make_fx
from opweave.library import custom_op, infer_schema, triton_op, wrap_triton

pytestmark = pytest.mark.usefixtures("forget")  # names that other tests define too


@triton.jit
def add_kernel(in_ptr0, in_ptr1, out_ptr, n_elements, BLOCK_SIZE: "tl.constexpr"):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(in_ptr0 + offsets, mask=mask)
    y = tl.load(in_ptr1 + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def launch_add(x, y):
    output = torch.empty_like(x)
    n_elements = output.numel()

    def grid(meta):
        return (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)

    wrap_triton(add_kernel)[grid](x, y, output, n_elements, 16)
    return output


def test_custom_op_for_all_devices():
    @custom_op("mylib::numpy_sin", mutates_args=())
    def numpy_sin(x: Tensor) -> Tensor:
        x_np = x.cpu().numpy()
        y_np = np.sin(x_np)
        return torch.from_numpy(y_np).to(device=x.device)

    x = torch.randn(3)
    assert torch.allclose(numpy_sin(x), x.sin())


def test_custom_op_for_one_device():
    @custom_op("mylib::numpy_sin_cpu", mutates_args=(), device_types="cpu")
    def numpy_sin_cpu(x: Tensor) -> Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

    x = torch.randn(3)
    assert torch.allclose(numpy_sin_cpu(x), x.sin())


def test_custom_op_that_mutates():
    @custom_op("mylib::numpy_sin_inplace", mutates_args={"x"}, device_types="cpu")
    def numpy_sin_inplace(x: Tensor) -> None:
        x_np = x.numpy()
        np.sin(x_np, out=x_np)

    x = torch.randn(3)
    expected = x.sin()
    numpy_sin_inplace(x)
    assert torch.allclose(x, expected)


def test_custom_op_factory():
    @torch.library.custom_op("mylib::bar", mutates_args={}, device_types="cpu")
    def bar(device: torch.device) -> Tensor:
        return torch.ones(3)

    assert bar("cpu").tolist() == [1, 1, 1]


def test_triton_op_compiled():
    @triton_op("mylib::add", mutates_args={})
    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return launch_add(x, y)

    @torch.compile
    def f(x, y):
        return add(x, y)

    x, y = torch.randn(3), torch.randn(3)
    assert torch.allclose(f(x, y), x + y)
    assert torch.allclose(add(x, y), x + y)


def test_wrap_triton_in_a_trace():
    x, y = torch.randn(3), torch.randn(3)
    gm = make_fx(launch_add)(x, y)
    assert "ops.aten.empty_like.default(x_1)" in gm.code
    assert "triton_kernel_wrapper_mutation(" in gm.code
    assert "'in_ptr0': x_1" in gm.code and "'n_elements': 3" in gm.code and "'BLOCK_SIZE': 16" in gm.code
    assert torch.allclose(gm(x, y), x + y)


def test_register_kernel():
    @custom_op("mylib::numpy_sin_kernel", mutates_args=(), device_types="cpu")
    def numpy_sin(x: Tensor) -> Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

    @torch.library.register_kernel("mylib::numpy_sin_kernel", "cuda")
    def _(x):
        return torch.from_numpy(np.sin(x.cpu().numpy())).to(device=x.device)

    x = torch.randn(3)
    assert torch.allclose(numpy_sin(x), x.sin())


def test_register_fake():
    @torch.library.custom_op("mylib::custom_linear", mutates_args=())
    def custom_linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        raise NotImplementedError("Implementation goes here")

    @torch.library.register_fake("mylib::custom_linear")
    def _(x, weight, bias):
        assert x.dim() == 2
        assert weight.dim() == 2
        assert bias.dim() == 1
        assert x.shape[1] == weight.shape[1]
        assert weight.shape[0] == bias.shape[0]
        assert x.device == weight.device
        return (x @ weight.t()) + bias

    with torch.FakeTensorMode():
        x, w, b = torch.randn(2, 3), torch.randn(3, 3), torch.randn(3)
        y = torch.ops.mylib.custom_linear(x, w, b)

    assert y.shape == (2, 3)
    with torch.FakeTensorMode(), pytest.raises(AssertionError):
        torch.ops.mylib.custom_linear(torch.randn(2, 3), torch.randn(3, 4), torch.randn(3))


def test_infer_schema():
    def foo_impl(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    assert infer_schema(foo_impl, op_name="foo", mutates_args={}) == "foo(Tensor x) -> Tensor"
    assert infer_schema(foo_impl, mutates_args={}) == "(Tensor x) -> Tensor"
