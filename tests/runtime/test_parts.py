"""Functions that run in parts: results, gradients, mutation, random numbers and side effects are those of eager."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))

import break_functions
import part_programs

import opweave
from opweave.registry.errors import DataDependentError, FakeTensorError, OutOfRangeError, ShapeError, UnsupportedError
from opweave.registry.keys import state
from opweave.registry.tensor import Tensor
from opweave.runtime import parts


@pytest.fixture(autouse=True)
def in_parts_whatever_the_size(monkeypatch):
    monkeypatch.setattr(parts, "SMALL", 0)


def arrays(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().numpy().copy()
    return [arrays(item) for item in value] if isinstance(value, (list, tuple)) else value


def observed(function: Any, seed: int) -> dict[str, Any]:
    """All that a call of one of the functions does."""
    draw = np.random.default_rng(seed)
    x = opweave.tensor(draw.standard_normal((6, 4)))
    w = opweave.tensor(draw.standard_normal((6, 4))).requires_grad_()
    notes: list[Any] = []
    written = io.StringIO()
    opweave.manual_seed(seed)
    with contextlib.redirect_stdout(written):
        results = function(x, w, notes)
    results = results if isinstance(results, tuple) else (results,)
    loss: Any = sum((t * t).sum() for t in results)
    if loss.requires_grad:
        loss.backward()
    return {
        "results": arrays(results), "strides": [t.stride() for t in results], "x": arrays(x), "notes": arrays(notes),
        "grad": arrays(w.grad), "printed": written.getvalue(), "next": float(opweave.rand(1)),
        "versions": (x._version, w._version), "global": break_functions._total, "state": dict(break_functions._counter),
        "buffers": arrays([*break_functions._module.buffers()]),
        "requires_grad": [t.requires_grad for t in results],
    }  # fmt: skip


def same(expected: Any, got: Any, what: str) -> None:
    if isinstance(expected, dict):
        for name, value in expected.items():
            same(value, got[name], f"{what}: {name}")
    elif isinstance(expected, np.ndarray):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12, err_msg=what)
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, rel=1e-10, abs=1e-12), what
    elif isinstance(expected, list):
        assert len(expected) == len(got), what
        for a, b in zip(expected, got, strict=True):
            same(a, b, what)
    else:
        assert expected == got, what


@pytest.mark.parametrize(
    ("function", "times"), break_functions.CASES, ids=[f.__name__ for f, _ in break_functions.CASES]
)
def test_thirty_functions(function, times):
    module, counter = break_functions._module, break_functions._counter
    state = copy.deepcopy(module.state_dict())
    compiled = opweave.compile(function)
    expected, got = [], []
    for call, seen in ((function, expected), (compiled, got)):
        module.load_state_dict(copy.deepcopy(state))
        p: Any
        for p in module.parameters():
            p.grad = None
        counter["calls"] = 0
        for seed in range(4):
            seen.append(observed(call, seed))
    for seed in range(4):
        same(expected[seed], got[seed], f"call {seed}")
    found = compiled.parts
    assert found is not None
    assert not compiled.entries
    assert found.calls == 4
    assert sum(each.times for each in found.breaks.values()) == 4 * times
    assert all(Path(site.file).name == "break_functions.py" for site, _ in found.breaks)
    with pytest.raises((DataDependentError, UnsupportedError)):
        observed(opweave.compile(function, fullgraph=True), 1)
    assert counter["calls"] in (0, 4)


def test_there_are_thirty():
    assert len(break_functions.CASES) == 30


@pytest.mark.parametrize("block", range(3))
def test_random_programs(block):
    kinds = []
    for seed in range(block * 12, block * 12 + 12):
        outcome, text = part_programs.failure(seed)
        assert not text, text
        kinds.append(outcome.kind)
    assert kinds.count("parts") > 5


# ---- what is decided about it ----------------------------------------------------------------------------------------


def test_what_has_run_in_the_trace_is_not_run_twice():
    seen, text = [], io.StringIO()

    def f(x):
        seen.append(x.shape)
        y = x * 2
        print("here", file=text)
        seen.append(float(y.sum()))
        return y

    compiled = opweave.compile(f)
    for _ in range(3):
        compiled(opweave.ones(2))
    assert seen == [(2,), 4.0] * 3
    assert text.getvalue() == "here\n" * 3


def test_results_are_plain_tensors_and_nothing_is_kept():
    def f(x):
        y = x * 2
        float(y.sum())
        return y, y.t(), y[0]

    compiled = opweave.compile(f)
    for _ in range(2):
        compiled(opweave.ones(2, 3))
    x = opweave.ones(2, 3)
    y, t, row = compiled(x)
    assert type(y) is Tensor
    assert type(y._storage).__name__ == "Storage"
    assert y._storage is t._storage is row._storage
    assert t._base is y
    assert row._base is y
    y.add_(1)
    assert row.tolist() == [3, 3, 3]
    gone = weakref.ref(x), weakref.ref(y._storage)
    del x, y, t, row
    gc.collect()
    assert gone[0]() is None
    assert gone[1]() is None


def test_segments_are_found_again_and_numbers_left_open():
    def f(x):
        y = x * 2 + 1
        return (y * float(y.sum())).relu() + 1

    compiled = opweave.compile(f)
    for i in range(12):
        x = opweave.ones(4) * i
        np.testing.assert_allclose(compiled(x).numpy(), f(x).numpy(), rtol=1e-6)
    assert compiled.parts.segments == 2
    assert compiled.parts.compiled == 2  # the second with a number for `float(...)`
    x = opweave.ones(5)
    np.testing.assert_allclose(compiled(x).numpy(), f(x).numpy())
    assert compiled.parts.segments == 4


def test_a_version_that_is_there_is_still_used():
    def f(x, verbose=False):
        y = x * 2
        if verbose:
            float(y.sum())
        return y + 1

    compiled = opweave.compile(f)
    compiled(opweave.ones(3))
    assert len(compiled.entries) == 1
    compiled(opweave.ones(3), verbose=True)
    compiled(opweave.ones(3))
    assert len(compiled.entries) == 1
    assert compiled.parts.calls == 1
    compiled.reset()
    assert compiled.parts is None


def test_errors_come_as_they_come_without_compilation():
    def f(x, y):
        float(x.sum())
        return x + y

    compiled = opweave.compile(f)
    compiled(opweave.ones(2), opweave.ones(2))
    with pytest.raises(ShapeError) as caught:
        compiled(opweave.ones(2), opweave.ones(3))
    assert "test_parts.py" in str(caught.value.at)
    assert compiled(opweave.ones(2), opweave.ones(2)).tolist() == [2, 2]

    def g(x):
        x.add_(1)
        float(x.sum())
        x.mul_(3)
        raise KeyError("mine")

    x = opweave.ones(2)
    for value in (6.0, 21.0, 66.0):
        with pytest.raises(KeyError, match="mine"):
            opweave.compile(g)(x)
        assert x.tolist() == [value, value]


def test_an_index_out_of_range_is_told():
    def f(x, i):
        y = x * 2
        if y.sum() > 1e9:
            y = y + 1
        return y[i]

    compiled = opweave.compile(f)
    for _ in range(3):
        assert compiled(opweave.ones(3), opweave.tensor([0, 2])).tolist() == [2, 2]
    with pytest.raises((OutOfRangeError, IndexError)):
        compiled(opweave.ones(3), opweave.tensor([0, 3])).tolist()
    assert compiled(opweave.ones(3), opweave.tensor([0, 2])).tolist() == [2, 2]


def test_an_error_of_the_function_leaves_it_to_be_traced():
    @opweave.compile
    def f(x, n):
        if n:
            raise ValueError(n)
        return x + 1

    with pytest.raises(ValueError, match="3"):
        f(opweave.ones(2), 3)
    assert f.parts is None
    f(opweave.ones(2), 0)
    assert len(f.entries) == 1


def test_ops_without_rules_are_refused_still():
    @opweave.library.custom_op("test_parts::bare", mutates_args=())
    def bare(x: Tensor) -> Tensor:
        return x * 1

    with pytest.raises(FakeTensorError, match="no rule for tensors without data"):
        opweave.compile(lambda x: bare(x))(opweave.ones(2))


def test_generators_are_not_set_in_a_trace():
    def f(x):
        opweave.manual_seed(3)
        return x + opweave.rand(2)

    with pytest.raises(UnsupportedError, match="manual_seed inside a compiled function"):
        opweave.compile(f, fullgraph=True)(opweave.ones(2))
    compiled = opweave.compile(f)
    found = [compiled(opweave.ones(2)).tolist() for _ in range(3)]
    assert found == [f(opweave.ones(2)).tolist()] * 3


def test_explain_lists_the_breaks():
    def f(x):
        y = x * 2
        print("sum", y.sum())
        return y + float(y.mean())

    with contextlib.redirect_stdout(io.StringIO()):
        explained = opweave.explain(opweave.compile(f))
        for _ in range(2):
            explained(opweave.ones(3))
        found = explained(opweave.ones(3))
    first = f.__code__.co_firstlineno
    assert [(each.site.line - first, each.what, each.times) for each in found.breaks] == [
        (2, "text", 3),
        (3, "item", 3),
    ]
    assert found.segments == found.programs == 3
    assert "print inside a compiled function" in found.reason
    assert f"break at test_parts.py:{first + 2}: text (3x" in str(found)


def test_threads():
    def f(x):
        y = x * 2
        for _ in range(3):
            y = y + float(y.mean())
        return y

    compiled, wrong = opweave.compile(f), []

    def run(k):
        for i in range(20):
            x = opweave.ones(3) * (i + k)
            if compiled(x).tolist() != f(x).tolist():
                wrong.append((k, i))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_another_thread_that_reads_what_waits():
    def f(x):
        y = x * 2
        found = []
        thread = threading.Thread(target=lambda: found.append(y.tolist()))
        thread.start()
        thread.join()
        float(y.sum())
        return y, found[0]

    compiled = opweave.compile(f)
    for _ in range(3):
        y, found = compiled(opweave.ones(2))
        assert y.tolist() == found == [2, 2]


def test_small_tensors_run_as_plain_python(monkeypatch):
    monkeypatch.undo()
    modes = []

    def f(x):
        modes.append(len(state.modes))
        return x * 2 if x.sum() > 0 else x - 1

    compiled = opweave.compile(f)
    small, large = opweave.ones(8), opweave.ones(1 << 17)
    for x in (small, small, large, large, small):
        modes.clear()
        assert compiled(x).tolist() == f(x).tolist()
    assert list(compiled.parts.small.values()) == [True, False]
    modes.clear()
    compiled(small)
    compiled(large)
    assert modes == [0, 1]


def test_what_is_made_at_the_first_call_is_no_break_afterwards():
    model = opweave.nn.Linear(3, 2)
    optimizer = opweave.optim.Adam(model.parameters())
    kept = {}

    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def cached(x):
        if "scale" not in kept:
            kept["scale"] = opweave.full((3,), 2.0)
        return x * kept["scale"]

    compiled = opweave.compile(step)
    losses = [compiled(opweave.ones(4, 3)).item() for _ in range(4)]
    assert compiled.parts is None and compiled.entries
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    compiled = opweave.compile(cached)
    for _ in range(3):
        assert compiled(opweave.ones(3)).tolist() == [2.0] * 3
    assert compiled.parts is None and len(compiled.entries) == 1


class Recurrent(opweave.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = opweave.nn.Embedding(11, 6)
        self.layer = opweave.nn.LSTM(6, 6, batch_first=True)
        self.drop = opweave.nn.Dropout(0.25)
        self.out = opweave.nn.Linear(6, 11)

    def forward(self, x):
        return self.out(self.drop(self.layer(self.table(x))[0]))


class Normed(opweave.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = opweave.nn.Embedding(11, 6)
        self.norm = opweave.nn.LayerNorm(6)
        self.up, self.down = opweave.nn.Linear(6, 9), opweave.nn.Linear(9, 11)

    def forward(self, x):
        y = self.norm(self.table(x))
        return self.down(opweave.nn.functional.gelu(self.up(y)).exp().softmax(-1).tanh() + self.up(y).cumsum(-1))


@pytest.mark.parametrize("kind", [Recurrent, Normed])
def test_steps_whose_backward_runs_inside(kind):
    """Autograd gives saved results back as other tensors on memory that waits."""
    found = []
    for is_compiled in (False, True):
        opweave.manual_seed(1)
        model = kind()
        optimizer = opweave.optim.AdamW(model.parameters(), 0.05)
        losses = []

        def step(x, model=model, optimizer=optimizer, losses=losses):
            optimizer.zero_grad()
            loss = opweave.nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
            if loss > 0:
                (loss / 2).backward()
            losses.append(loss.item())
            opweave.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        run: Any = opweave.compile(step) if is_compiled else step
        x = opweave.arange(24).view(3, 8) * 7 % 11
        for seed in range(4):
            opweave.manual_seed(seed)
            run(x)
        assert not is_compiled or run.parts is not None
        found.append([losses, *(arrays(p) for p in model.parameters()), *(arrays(p.grad) for p in model.parameters())])
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    for got, expected in zip(found[1][1:], found[0][1:], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=2e-5)


def test_assigned_data_reaches_what_the_caller_has():
    class Scaled(opweave.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = opweave.nn.Parameter(opweave.ones(2))

        def forward(self, x):
            self.weight.data = self.weight.data * 2
            x.data = x.data + 1
            return x * self.weight

    module, x = Scaled(), opweave.ones(2)
    compiled = opweave.compile(module)
    assert [compiled(x).tolist() for _ in range(3)] == [[4, 4], [12, 12], [32, 32]]
    assert module.weight.tolist() == [8, 8] and x.tolist() == [4, 4]


def test_kept_gradients_of_results():
    def f(x):
        y = x * 2
        y.retain_grad()
        return (y * y).sum(), y

    x = opweave.ones(2, requires_grad=True)
    total, y = opweave.compile(f)(x)
    total.backward()
    assert y.grad.tolist() == [4, 4] and x.grad.tolist() == [8, 8]


def test_hooks_run_as_often_as_gradients_pass():
    runs = [0]

    def hook(grad):
        runs[0] += 1
        return grad * runs[0]

    def f(x):
        y = x * 2
        y.register_hook(hook)
        return (y * y).sum()

    x = opweave.ones(2, requires_grad=True)
    compiled = opweave.compile(f)
    for _ in range(3):
        compiled(x).backward()
    assert runs == [3] and x.grad.tolist() == [48, 48]


def test_hooks_of_modules_run_as_often_as_gradients_pass():
    seen = []
    module = opweave.nn.Linear(2, 2)
    module.register_full_backward_hook(lambda module, grads, results: seen.append(results[0].sum().item()))
    compiled, x = opweave.compile(module), opweave.ones(1, 2)
    for _ in range(3):
        compiled(x).sum().backward()
    assert seen == [2.0, 2.0, 2.0]
