"""Triton kernels launched wrongly, through `wrap_triton`: eagerly, compiled and traced."""

import numpy as np
import pytest
import triton
import triton.language as tl
from mistakes import fresh_op, refused

import opweave
from opweave.library import wrap_triton
from opweave.registry.errors import (
    ArgumentError,
    CompileError,
    DTypeError,
    OpweaveError,
    OutOfRangeError,
    Site,
    UnsupportedError,
)

X = opweave.from_numpy(np.arange(1000, dtype=np.float32))
COMPLEX = opweave.from_numpy(np.zeros(1000, np.complex64))


@triton.jit
def double(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def plain_block(x, y, n, B):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def assembly(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.inline_asm_elementwise("vote.sync $0, $1;", "=r,r", [tl.load(x + i)], tl.float32, True, 1)
    tl.store(y + i, v)


@triton.jit
def unknown_name(x, y, n, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), missing(x))  # noqa: F821


@triton.jit
def numpy_inside(x, y, n, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), np.sin(tl.load(x + tl.arange(0, B))))


@triton.jit
def sizes_differ(x, y, n, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), tl.load(x + tl.arange(0, B * 2)))


def eager(kernel, grid, x, y, *args, **kwargs):
    wrap_triton(kernel)[grid](x, y, *args, **kwargs)
    return y


def compiled(kernel, grid, x, y, *args, **kwargs):
    if not isinstance(x, opweave.Tensor):
        return opweave.compile(lambda y: eager(kernel, grid, x, y, *args, **kwargs))(y)
    return opweave.compile(lambda x, y: eager(kernel, grid, x, y, *args, **kwargs))(x, y)


def traced(kernel, grid, x, y, *args, **kwargs):
    return opweave.make_fx(lambda y: eager(kernel, grid, x, y, *args, **kwargs), tracing_mode="fake")(y)


BOTH = pytest.mark.parametrize("how", [eager, compiled])
ALL = pytest.mark.parametrize("how", [eager, compiled, traced])


def out():
    return opweave.empty(1000)


@BOTH
@pytest.mark.parametrize("grid", [(8,), 8, (8, 1, 1), lambda meta: (triton.cdiv(1000, meta["B"]),), (np.int64(8),)])
def test_good_ones_work(how, grid):
    assert how(double, grid, X, out(), 1000, B=128).tolist() == (X * 2).tolist()
    assert how(double, grid, X, out(), np.int64(1000), B=128).tolist() == (X * 2).tolist()


def test_numpy_arrays_are_pointers_and_numpy_numbers_are_numbers():
    y = np.empty(1000, np.float32)
    wrap_triton(double)[(8,)](X.numpy(), y=y, n=np.int64(1000), B=128)
    assert y.tolist() == (X * 2).tolist()
    x = X.numpy()
    with refused(UnsupportedError, "x is a NumPy array", __file__):
        opweave.compile(lambda y: eager(double, (8,), x, y, 1000, B=128), fullgraph=True)(out())
    assert compiled(double, (8,), x, out(), 1000, B=128).tolist() == (X * 2).tolist()


@ALL
@pytest.mark.parametrize(
    ("grid", "kind"),
    [
        ((-1,), OutOfRangeError),
        ((2**40,), OutOfRangeError),
        ((1, 1, 1, 1), ArgumentError),
        ((), ArgumentError),
        (None, ArgumentError),
        ("a", ArgumentError),
        ((2.5,), ArgumentError),
        ((opweave.tensor(3),), ArgumentError),
        (lambda meta: None, ArgumentError),
        (lambda meta: (meta["nope"],), ArgumentError),
    ],
)
def test_grids(how, grid, kind):
    with refused(kind, "double", __file__):
        how(double, grid, X, out(), 1000, B=128)


@BOTH
def test_a_grid_with_a_zero_runs_nothing(how):
    y = opweave.ones(1000)
    assert how(double, (0,), X, y, 1000, B=128).sum().item() == 1000


@ALL
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((), {"B": 128}), ((1000, 128, 5), {}), ((1000,), {"B": 128, "n": 3}), ((1000,), {"B": 128, "z": 3})],
)
def test_arguments_that_do_not_bind(how, args, kwargs):
    with pytest.raises(OpweaveError) as caught:
        how(double, (8,), X, out(), *args, **kwargs)
    check(caught.value, ArgumentError, CompileError)


@ALL
@pytest.mark.parametrize("value", [100, 0, -4, 2**30, "a", None, opweave.tensor(128)])
def test_block_sizes_that_cannot_be(how, value):
    with pytest.raises(OpweaveError) as caught:
        how(double, (8,), X, out(), 1000, B=value)
    check(caught.value, ArgumentError, CompileError)


@ALL
@pytest.mark.parametrize("kernel", [plain_block, unknown_name, numpy_inside, sizes_differ])
def test_kernels_that_do_not_compile(how, kernel):
    with pytest.raises(OpweaveError) as caught:
        how(kernel, (8,), X, out(), 1000, B=128)
    check(caught.value, CompileError)
    assert kernel.__name__ in caught.value.what


@ALL
@pytest.mark.parametrize("value", [None, "abc", object(), [1, 2]])
def test_values_for_pointers(how, value):
    with pytest.raises(OpweaveError) as caught:
        how(double, (8,), value, out(), 1000, B=128)
    check(caught.value, ArgumentError, CompileError, UnsupportedError)


@ALL
@pytest.mark.parametrize("value", [X, 2**70, "n", None])
def test_values_for_numbers(how, value):
    with pytest.raises(OpweaveError) as caught:
        how(double, (8,), X, out(), value, B=128)
    check(caught.value, ArgumentError, CompileError)


def check(error, *kinds):
    assert type(error) in kinds, error
    assert error.got and error.hint and isinstance(error.at, Site) and error.at.file == __file__, error


@ALL
def test_element_types_that_triton_has_not(how):
    with refused(DTypeError, "Triton has no element type complex64", __file__):
        how(double, (8,), COMPLEX, out(), 1000, B=128)


@pytest.mark.parametrize("how", [eager, compiled])
def test_operations_that_the_cpu_has_not(how):
    with pytest.raises(UnsupportedError) as caught:
        how(assembly, (1,), X, out(), 1000, B=128)
    assert "tt.elementwise_inline_asm" in str(caught.value) and caught.value.hint


def test_what_is_no_kernel_and_what_has_no_grid():
    with refused(ArgumentError, "expected a kernel", __file__, got="int"):
        wrap_triton(3)
    with refused(ArgumentError, "needs a grid", __file__):
        wrap_triton(double)(X, out())


@pytest.mark.parametrize("kernel", [double, wrap_triton(double)], ids=["plain", "wrapped"])
def test_a_launch_in_a_fake_rule_computes_nothing(kernel):
    def fake(x):
        y = opweave.empty_like(x)
        kernel[(8,)](x, y, 1000, B=128)
        return y

    op = fresh_op(lambda x: x.clone(), fake)
    assert opweave.compile(lambda x: op(x) + 1)(X).tolist() == (X + 1).tolist()


def test_a_grid_of_four_sizes_without_wrap_triton():
    with refused(ArgumentError, "double: a grid has one to three sizes", __file__, got="(1, 1, 1, 5)"):
        double[(1, 1, 1, 5)](X, out(), 1000, B=128)
