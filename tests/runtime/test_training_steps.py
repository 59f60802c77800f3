"""Functions that call `backward` and set gradients: whole training steps, compiled."""

import pytest

import opweave
from opweave import nn, optim
from opweave.nn import functional as F
from opweave.registry.errors import UnsupportedError
from opweave.testing import assert_close

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
    "adamw": lambda p: optim.AdamW(p, 0.01),
}


def model_of(seed):
    opweave.manual_seed(seed)
    return nn.Sequential(nn.Linear(7, 8), nn.GELU(), nn.BatchNorm1d(8), nn.Linear(8, 3))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_whole_step_is_one_graph(name):
    made = []
    for is_compiled in (False, True):
        model = model_of(1)
        optimizer = OPTIMIZERS[name](model.parameters())
        optimizer.init_state()

        def step(x, y, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return loss.detach()

        run = opweave.compile(step, fullgraph=True) if is_compiled else step
        losses = [run(opweave.arange(35.0).view(5, 7).sin() + i, opweave.tensor([0, 1, 2, 1, 0])) for i in range(4)]
        made.append([*losses, *(p.detach() for p in model.parameters()), *(p.grad for p in model.parameters())])
        made[-1] += list(model.buffers())
        if is_compiled:
            # Without gradients at first; with the last step's from then on.
            assert len(run.entries) == 2
    for eager, compiled in zip(*made, strict=True):
        assert_close(compiled, eager, rtol=1e-4, atol=1e-5)


def test_gradients_are_added_up_where_they_are():
    p = opweave.ones(3).requires_grad_()
    run = opweave.compile(lambda x: (x * p).sum().backward(), fullgraph=True)
    run(opweave.ones(3))
    first = p.grad
    assert first.tolist() == [1.0] * 3 and not first.requires_grad
    run(opweave.ones(3) * 2)
    assert p.grad is first and first.tolist() == [3.0] * 3
    p.grad = opweave.full((3,), 5.0)
    run(opweave.ones(3))
    assert first.tolist() == [3.0] * 3 and p.grad.tolist() == [6.0] * 3
    p.grad = None
    run(opweave.ones(3))
    assert p.grad.tolist() == [1.0] * 3


def test_gradients_that_library_code_reads_are_inputs():
    p = opweave.ones(4).requires_grad_()
    run = opweave.compile(lambda: nn.utils.clip_grad_norm_([p], 1.0), fullgraph=True)
    for value in (1.0, 2.0, 3.0):
        p.grad = opweave.full((4,), value)
        assert abs(run().item() - 2 * value) < 1e-5
        assert_close(p.grad, opweave.full((4,), 0.5))
    p.grad = None
    assert run().item() == 0


def test_gradients_are_assigned():
    p, other = opweave.ones(3).requires_grad_(), opweave.full((3,), 7.0)

    def assigned(x):
        p.grad = x * 2
        return p.grad

    def shared(x):
        p.grad = other
        return x + 1

    def dropped(x):
        del p.grad
        return x + 1

    x = opweave.arange(3.0)
    result = opweave.compile(assigned)(x)
    assert p.grad is result and result.tolist() == [0.0, 2.0, 4.0]
    opweave.compile(shared)(x)
    assert p.grad is other
    opweave.compile(dropped)(x)
    assert p.grad is None


def test_an_argument_gets_its_gradient():
    def f(x, retain):
        y = (x * x).sum()
        y.backward(retain_graph=retain)
        return y.detach(), x.grad * 2

    x = opweave.arange(3.0).requires_grad_()
    value, twice = opweave.compile(f, fullgraph=True)(x, False)
    assert value.item() == 5 and x.grad.tolist() == [0.0, 2.0, 4.0] and twice.tolist() == [0.0, 4.0, 8.0]
    value, twice = opweave.compile(f, fullgraph=True)(x, False)
    assert x.grad.tolist() == [0.0, 4.0, 8.0] and twice.tolist() == [0.0, 8.0, 16.0]


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_of_gradients_are_refused(register):
    p, seen = opweave.ones(3).requires_grad_(), []
    getattr(p, register)(lambda g: seen.append(g) if register != "register_hook" else g * 10)

    def step(x):
        (p * x).sum().backward()
        return x + 1

    with pytest.raises(UnsupportedError, match="has hooks"):
        opweave.compile(step, fullgraph=True)(opweave.ones(3))
    assert p.grad is None
    # A compiled function whose result is differentiated outside calls them.
    opweave.compile(lambda x: (p * x).sum(), fullgraph=True)(opweave.ones(3)).backward()
    assert p.grad.tolist() == [10.0 if register == "register_hook" else 1.0] * 3


def test_a_loss_that_is_returned_has_no_second_backward():
    p = opweave.ones(3).requires_grad_()

    def step(x):
        p.grad = None
        loss = (p.exp() * x).sum()
        loss.backward()
        return loss

    loss = opweave.compile(step)(opweave.ones(3))
    assert_close(p.grad, opweave.ones(3).exp())
    with pytest.raises(RuntimeError, match=r"second time|cannot be traced|freed"):
        loss.backward()


def test_traces_that_are_no_compiled_functions_assign_none():
    p = opweave.ones(3).requires_grad_()
    optimizer = optim.SGD([p], 0.1)
    p.grad = opweave.ones(3)

    def f(x):
        optimizer.zero_grad()
        return x + 1

    with pytest.raises(UnsupportedError, match="assigns the gradient"):
        opweave.make_fx(f)(opweave.ones(3))
    assert p.grad.tolist() == [1.0] * 3


@pytest.mark.parametrize(("width", "length"), [(32, 16), (64, 6)])
def test_products_in_the_memory_of_results(width, length):
    """What follows a product reads a view of it, and the product lies where a result of the segment will be."""
    opweave.manual_seed(0)
    read, walk = nn.Conv1d(8, width, 3, padding=1), nn.GRU(width, width, batch_first=True)
    head, x = nn.Linear(width, 10), opweave.randn(4, 8, length)
    weights = [*read.parameters(), *walk.parameters(), *head.parameters()]

    def loss(x):
        return head(walk(read(x).transpose(1, 2))[0]).square().mean()

    expected = opweave.autograd.grad(loss(x), weights)
    compiled = opweave.compile(loss)
    for _ in range(2):
        for found, exact in zip(opweave.autograd.grad(compiled(x), weights), expected, strict=True):
            assert_close(found, exact, rtol=1e-4, atol=1e-6)
