"""A user's backward that writes what it has saved, or decides on data: as the function itself does it."""

import numpy as np
import pytest
import triton
from triton import language as tl

import opweave
from opweave.library import wrap_triton
from opweave.registry.errors import AutogradError, UnsupportedError


class Square(opweave.autograd.Function):
    """Its gradient takes the place of the argument."""

    @staticmethod
    def forward(ctx, x, b):
        ctx.save_for_backward(x, b)
        return x * x + b

    @staticmethod
    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        x.detach().mul_(2 * g)
        return x, None


class Counted(opweave.autograd.Function):
    """What it writes depends on no gradient."""

    @staticmethod
    def forward(ctx, x, b):
        ctx.save_for_backward(x, b)
        return x * 2 + b

    @staticmethod
    def backward(ctx, g):
        _, b = ctx.saved_tensors
        b.detach().add_(1)
        return g * 2 * b, None


class Transposed(opweave.autograd.Function):
    """The gradient is a view of what is written."""

    @staticmethod
    def forward(ctx, x, b):
        ctx.save_for_backward(x, b)
        return (x * 2).t() * b.t()

    @staticmethod
    def backward(ctx, g):
        x, b = ctx.saved_tensors
        y = x.detach().t()
        y.copy_(g * 2 * b.t())
        b.detach().sub_(1)
        return y.t(), None


@triton.jit
def square_backward_kernel(g_ptr, x_ptr, n, BLOCK: "tl.constexpr"):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, at < n)
    tl.store(x_ptr + at, 2 * x * tl.load(g_ptr + at, at < n), at < n)


class Launched(opweave.autograd.Function):
    """As Liger's kernels do it: they write over what was saved, of which a view is the gradient."""

    @staticmethod
    def forward(ctx, x, b):
        ctx.save_for_backward(x.view(-1), b)
        ctx.sizes = x.shape
        return x * x + b

    @staticmethod
    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        wrap_triton(square_backward_kernel)[(1,)](g.contiguous().view(-1), x, x.numel(), 16)
        return x.view(ctx.sizes), None


def outcome(f):
    x = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3)).requires_grad_()
    b = opweave.ones(2, 3)
    result = f(x, b)
    (result * (opweave.arange(result.numel()).reshape(result.shape) + 1.0)).sum().backward()
    return result.tolist(), x.grad.tolist(), x.tolist(), b.tolist()


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("function", [Square, Counted, Transposed, Launched], ids=lambda c: c.__name__)
def test_writes(function, fullgraph):
    def f(x, b):
        return function.apply(x, b)

    expected = outcome(f)
    compiled = opweave.compile(f, fullgraph=fullgraph)
    for _ in range(3):  # the first call may run in parts
        assert outcome(compiled) == expected


def test_written_on_both_ways():
    class Both(opweave.autograd.Function):
        @staticmethod
        def forward(ctx, x, b):
            b.add_(1)
            ctx.save_for_backward(x, b)
            return x * b

        @staticmethod
        def backward(ctx, g):
            _, b = ctx.saved_tensors
            b.detach().mul_(2)
            return g * b, None

    def f(x, b):
        return Both.apply(x, b)

    with pytest.raises(UnsupportedError, match="writes on the way back what the function has written as well"):
        outcome(opweave.compile(f, fullgraph=True))


class Unless(opweave.autograd.Function):
    """As losses do it that have computed their gradient already: it is scaled where the one that comes is not 1."""

    @staticmethod
    def forward(ctx, x, b):
        ctx.save_for_backward(2 * x)
        return (x * x + b).sum()

    @staticmethod
    def backward(ctx, g):
        (known,) = ctx.saved_tensors
        return known if opweave.equal(g, opweave.tensor(1.0)) else known * g, None


def test_a_decision_on_the_way_back():
    def f(x, b):
        return Unless.apply(x, b) * 1.0

    expected = outcome(f)
    compiled = opweave.compile(f)
    for _ in range(3):
        assert outcome(compiled) == expected
    with pytest.raises(AutogradError, match="the backward of this compiled function cannot be traced"):
        outcome(opweave.compile(f, fullgraph=True))
