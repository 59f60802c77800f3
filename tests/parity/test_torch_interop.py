"""opweave and PyTorch in one process: shared tensors, `torch.compile` by opweave, ops in `torch.library`."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from oracle import close

import opweave
from opweave import compat
from opweave.library import custom_op, to_torch
from opweave.registry.errors import AutogradError, UnsupportedError

DTYPES = "float32 float64 float16 bfloat16 bool int8 int16 int32 int64 uint8 complex64 complex128".split()


def agree(ours, theirs):
    """Fail unless tensors, or tuples of them, agree."""
    if isinstance(theirs, tuple):
        for a, b in zip(ours, theirs, strict=True):
            agree(a, b)
        return
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    close(ours.detach().numpy(), theirs.detach().numpy(), "beside PyTorch")


# ---- tensors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_share_memory_both_ways(dtype):
    for shape in ((3, 4), (0, 4), (), (1,), (2, 1, 3)):
        t = torch.randint(0, 2, shape).to(getattr(torch, dtype))
        x = compat.from_torch(t)
        back = compat.to_torch(x)
        assert (x.dtype.name, tuple(x.shape), tuple(x.stride())) == (dtype, tuple(t.shape), t.stride())
        assert (back.dtype, back.shape, back.stride()) == (t.dtype, t.shape, t.stride())
        assert torch.equal(back, t)
        if t.numel():
            assert x.data_ptr() == back.data_ptr() == t.data_ptr()
            x.zero_()
            assert not t.any()


def test_strides_offsets_and_lifetimes():
    whole = torch.arange(12.0).view(3, 4)
    part = compat.from_torch(whole.t()[1:, ::2])
    assert part.tolist() == whole.t()[1:, ::2].tolist()
    part.add_(100)
    assert whole[0].tolist() == [0, 101, 102, 103]
    expected = whole.t()[1:, ::2].tolist()
    del whole
    gc.collect()
    assert part.tolist() == expected
    x = opweave.arange(6.0).view(2, 3).t()[1:]
    t = compat.to_torch(x)
    t.mul_(2)
    assert x.tolist() == t.tolist() == [[2, 8], [4, 10]]
    del x
    gc.collect()
    assert t.tolist() == [[2, 8], [4, 10]]
    assert compat.to_torch(opweave.ones(3)[:1].expand(4)).stride() == (0,)


def test_what_cannot_be_shared_says_so():
    with pytest.raises(AutogradError, match="requires grad"):
        compat.from_torch(torch.ones(2, requires_grad=True))
    with pytest.raises(AutogradError, match="requires grad"):
        compat.to_torch(opweave.ones(2, requires_grad=True))
    for odd in (torch.ones(2).to_sparse(), torch.ones(2, dtype=torch.complex64).conj(), torch.ones(2, device="meta")):
        with pytest.raises(UnsupportedError, match="no plain memory"):
            compat.from_torch(odd)
    with opweave.FakeTensorMode() as mode, pytest.raises(UnsupportedError, match="no plain memory"):
        compat.to_torch(mode.from_tensor(opweave.ones(2)))
    with pytest.raises(TypeError, match=r"expected a torch\.Tensor"):
        compat.from_torch(opweave.ones(2))


def test_a_trace_and_a_function_in_parts_know_that_memory_is_shared():
    def f(x):
        y = x * 2
        t = compat.to_torch(y)
        z = y + 1
        t.zero_()
        return z, y * 1

    x = opweave.ones(3)
    compiled = opweave.compile(f)
    for _ in range(3):
        assert [t.tolist() for t in compiled(x)] == [[3] * 3, [0] * 3]


def test_pytorch_is_imported_by_use_only():
    text = "import opweave.compat, opweave.library as o, sys; o.to_torch; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", text], check=True)


# ---- torch.compile ---------------------------------------------------------------------------------------------------


def trained(model: Any, call: Any, inputs: Any, target: Any) -> Any:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(call(inputs), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().clone() for p in model.parameters()], [b.clone() for b in model.buffers()]


MODELS = {
    "mlp": (lambda n: [n.Linear(6, 8), n.GELU(), n.LayerNorm(8), n.Linear(8, 3)], (4, 6)),
    "convolutions": (
        lambda n: [n.Conv2d(2, 4, 3, padding=1), n.BatchNorm2d(4), n.ReLU(), n.MaxPool2d(2), n.Flatten(),
                   n.Linear(16, 3)],
        (4, 2, 4, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_models_train_as_in_pytorch(name):
    make, sizes = MODELS[name]
    torch.manual_seed(0)
    plain = torch.nn.Sequential(*make(torch.nn))
    other = torch.nn.Sequential(*make(torch.nn))
    other.load_state_dict(plain.state_dict())
    inputs, target = torch.randn(sizes), torch.tensor([0, 1, 2, 1])
    expected = trained(plain, plain, inputs, target)
    got = trained(other, torch.compile(other, backend=compat.backend), inputs, target)
    close(got[0], expected[0], "beside PyTorch")
    for a, b in zip([*expected[1], *expected[2]], [*got[1], *got[2]], strict=True):
        agree(b, a)


def test_sizes_mutation_views_and_random_numbers():
    def f(x, index):
        x.add_(1)
        y = x[index].softmax(-1)
        return y.sum(0) * x.shape[0], x.t(), y[:1]

    compiled = torch.compile(f, backend=compat.backend, dynamic=True)
    for n in (4, 6, 5):
        x, index = torch.randn(n, 3), torch.tensor([0, 2, 1])
        other = x.clone()
        expected, got = f(x, index), compiled(other, index)
        agree(got, expected)
        agree(other, x)
    drawn = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5), backend=compat.backend)
    found = []
    for _ in range(2):
        torch.manual_seed(3)
        before = opweave.get_rng_state().tolist()
        found.append(drawn(torch.ones(1000)))
        assert opweave.get_rng_state().tolist() == before
    assert torch.equal(*found)
    assert 400 < (found[0] == 2).sum() < 600


def test_an_op_that_is_not_here_is_named():
    @torch.library.custom_op("interop_tests::theirs", mutates_args=())
    def theirs(x: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportInvalidTypeForm]
        return x.clone()

    theirs.register_fake(lambda x: torch.empty_like(x))
    compiled = torch.compile(lambda x: theirs(x) + 1, backend=compat.backend)
    with pytest.raises(Exception, match="opweave has no interop_tests::theirs"):
        compiled(torch.ones(2))


# ---- torch.library ---------------------------------------------------------------------------------------------------


@custom_op("interop_tests::scaled", mutates_args=())
def scaled(x: opweave.Tensor, w: opweave.Tensor, k: float = 2.0) -> opweave.Tensor:
    return opweave.from_numpy(x.numpy() * w.numpy() * k)


@scaled.register_fake
def _(x, w, k=2.0):
    return opweave.empty_like(x)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.k = inputs[2]


def _back(ctx: Any, grad: Any) -> Any:
    x, w = ctx.saved_tensors
    return grad * w * ctx.k, grad * x * ctx.k, None


scaled.register_autograd(_back, setup_context=_keep)


@scaled.register_vmap
def _(info, in_dims, x, w, k=2.0):
    x = x if in_dims[0] is None else x.movedim(in_dims[0], 0)
    w = w if in_dims[1] is None else w.movedim(in_dims[1], 0)
    return x * w * k, 0


@custom_op("interop_tests::bump", mutates_args=("x",))
def bump(x: opweave.Tensor, ys: list[opweave.Tensor]) -> opweave.Tensor:
    x.add_(1)
    return x.sum() + ys[0].sum()


@bump.register_fake
def _(x, ys):
    return opweave.empty((), dtype=x.dtype)


@custom_op("interop_tests::halves", mutates_args=())
def halves(xs: list[opweave.Tensor], n: int, *, flag: bool = False) -> tuple[opweave.Tensor, opweave.Tensor]:
    return xs[0] * n, xs[1].sum() * 1


@halves.register_fake
def _(xs, n, *, flag=False):
    return opweave.empty_like(xs[0]), opweave.empty((), dtype=xs[1].dtype)


def _keep_sizes(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    ctx.n, ctx.sizes = inputs[1], inputs[0][1].shape


halves.register_autograd(lambda ctx, a, b: ([a * ctx.n, b.expand(ctx.sizes) * 1], None), setup_context=_keep_sizes)


@custom_op("interop_tests::places", mutates_args=())
def places(x: opweave.Tensor) -> opweave.Tensor:
    return x.nonzero().reshape(-1)


@places.register_fake
def _(x):
    return x.new_empty(opweave.library.get_ctx().new_dynamic_size(), dtype=opweave.int64)


def leaf(*sizes: int) -> Any:
    return torch.randn(sizes, requires_grad=True)


@pytest.mark.parametrize(
    ("op", "args", "kwargs"),
    [
        (scaled, lambda: (leaf(3, 4), leaf(3, 4)), {}),
        (scaled, lambda: (torch.randn(5, 2).t(), torch.randn(5, 2).t(), 1.5), {}),
        (bump, lambda: (torch.zeros(3), [torch.ones(2)]), {}),
        (halves, lambda: ([leaf(3), leaf(2, 2)], 3), {"flag": True}),
        (places, lambda: (torch.tensor([0, 1.0, 2]),), {}),
    ],
)  # fmt: skip
def test_pytorch_s_own_check_passes(op, args, kwargs):
    assert set(torch.library.opcheck(to_torch(op), args(), kwargs).values()) == {"SUCCESS"}


def test_values_gradients_and_batches():
    op = to_torch(scaled)
    assert op is to_torch(scaled)
    x, w = leaf(3, 4), leaf(3, 4)
    op(x, w, 3.0).sum().backward()
    assert torch.equal(x.grad, w.detach() * 3)
    assert torch.equal(w.grad, x.detach() * 3)
    x, w = (torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(op, (x, w))
    rows = torch.randn(5, 3)
    expected = rows * torch.ones(3) * 2
    assert torch.equal(torch.vmap(op, in_dims=(0, None))(rows, torch.ones(3)), expected)
    first, second = torch.vmap(lambda a, b: to_torch(halves)([a, b], 2))(rows, rows)
    assert torch.equal(first, rows * 2)
    agree(second, rows.sum(1))


def test_writes_are_counted_and_compiled():
    z = torch.zeros(3)
    before = z._version
    assert to_torch(bump)(z, [torch.ones(2)]).item() == 5
    assert z.tolist() == [1, 1, 1]
    assert z._version == before + 1
    to_torch(scaled)
    f = torch.compile(lambda a, b: torch.ops.interop_tests.scaled(a, b).relu().sum(), backend="aot_eager")
    x, w = leaf(4), leaf(4)
    f(x, w).backward()
    agree(x.grad, w.detach() * 2 * (x.detach() * w.detach() > 0))


def test_ops_that_cannot_be_pytorch_s():
    with pytest.raises(UnsupportedError, match="no op of a user's library"):
        to_torch(opweave.ops.aten.mul.Tensor)
    with pytest.raises(TypeError, match="expected an op"):
        to_torch(3)
