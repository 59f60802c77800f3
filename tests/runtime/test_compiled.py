"""`opweave.compile`: results, structures, mutation, recompilation, errors, threads."""

from __future__ import annotations

import collections
import dataclasses
import gc
import inspect
import logging
import threading
import traceback
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import opweave
from opweave.registry.errors import ArgumentError, DataDependentError, ShapeError, UnsupportedError
from opweave.registry.keys import state
from opweave.runtime.compiled import RecompileLimitWarning


def tensor(*sizes: int, seed: int = 0) -> opweave.Tensor:
    return opweave.from_numpy(np.random.default_rng(seed).normal(size=sizes).astype(np.float32))


def same(a: opweave.Tensor, b: Any) -> None:
    np.testing.assert_allclose(a.numpy(), b.numpy() if isinstance(b, opweave.Tensor) else b, rtol=1e-6, atol=1e-6)


@pytest.fixture(params=["opweave", "eager"], autouse=True)
def backend(request, monkeypatch):
    """Every test with the compiler and, to tell whose fault a failure is, without kernels."""
    compile_ = opweave.compile
    monkeypatch.setattr(opweave, "compile", lambda fn=None, **kw: compile_(fn, **{"backend": request.param, **kw}))
    return request.param


@pytest.fixture
def recompiles(caplog):
    logger = logging.getLogger("opweave")
    propagate, logger.propagate = logger.propagate, True
    with caplog.at_level(logging.DEBUG, "opweave.recompiles"):
        yield lambda: [r.getMessage() for r in caplog.records if r.name == "opweave.recompiles"]
    logger.propagate = propagate


# ---- how it is applied -----------------------------------------------------------------------------------------------


def test_bare_decorator_and_with_options():
    @opweave.compile
    def f(x):
        """Doc."""
        return x + 1

    @opweave.compile(fullgraph=True, dynamic=False)
    def g(x):
        return x + 1

    x = tensor(8)
    same(f(x), x + 1)
    same(g(x), x + 1)
    assert f.__name__ == "f" and f.__doc__ == "Doc." and f.__wrapped__(x).shape == (8,)
    assert len(f.entries) == 1 and "add" in str(f.last_graph)


def test_methods_callables_and_partials():
    class Model:
        def __init__(self):
            self.w = tensor(4)

        def __call__(self, x):
            return self.forward(x)

        @opweave.compile
        def forward(self, x):
            return x * self.w

    model, x = Model(), tensor(2, 4)
    same(model.forward(x), x * model.w)
    model.w = tensor(4, seed=1)
    same(model.forward(x), x * model.w)
    assert len(Model.forward.entries) == 1
    same(opweave.compile(model)(x), x * model.w)
    same(opweave.compile(model.forward)(x), x * model.w)


def test_binding_errors_are_pythons_own():
    f = opweave.compile(lambda x, y=2: x * y)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        f()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        f(tensor(2), z=1)
    same(f(tensor(2), y=3), tensor(2) * 3)
    same(f(tensor(2)), tensor(2) * 2)


def test_options_that_do_nothing_are_refused():
    for options, text in (
        ({"mode": "max-autotune"}, "max-autotune"),
        ({"options": {"triton.cudagraphs": True}}, "triton.cudagraphs"),
        ({"backend": "tvm"}, "tvm"),
    ):
        with pytest.raises(UnsupportedError, match=text):
            opweave.compile(lambda x: x, **options)


def test_custom_backend_gets_the_graph():
    seen = []

    def backend(module, inputs):
        seen.append((module.code, [i.shape for i in inputs]))
        return module.forward

    f = opweave.compile(lambda x: x + 1, backend=backend)
    same(f(tensor(3)), tensor(3) + 1)
    assert "add" in seen[0][0] and seen[0][1] == [(3,)]


# ---- arguments and results -------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Batch:
    x: Any
    scale: float = 2.0


def test_nested_arguments_and_results():
    @opweave.compile
    def f(batch, weights, *rest, flag=True, **named):
        y = batch.x * weights["w"][0] * batch.scale
        for r in rest:
            y = y + r
        if flag:
            y = y + named["bias"]
        return {
            "pair": Pair(y, [y + 1, (y, None)]),
            "batch": Batch(y * 2, batch.scale),
            "ordered": collections.OrderedDict(n=1, s="text", d=opweave.float32, f=2.5),
        }

    x, w, r, b = (tensor(3, seed=i) for i in range(4))
    out = f(Batch(x), {"w": [w]}, r, bias=b)
    y = x * w * 2.0 + r + b
    assert type(out["pair"]) is Pair and type(out["batch"]) is Batch and out["batch"].scale == 2.0
    same(out["pair"].a, y)
    assert out["pair"].b[1][0] is out["pair"].a and out["pair"].b[1][1] is None
    same(out["batch"].x, y * 2)
    assert out["ordered"] == collections.OrderedDict(n=1, s="text", d=opweave.float32, f=2.5)
    assert f(Batch(x), {"w": [w]}, r, bias=b)["batch"] is not out["batch"]
    same(f(Batch(x), {"w": [w]}, flag=False)["pair"].a, x * w * 2.0)


def test_results_that_are_inputs_or_views_of_them():
    @opweave.compile
    def f(x, y):
        return x, x.t(), y + 1, y

    x, y = tensor(2, 3), tensor(3)
    out = f(x, y)
    assert out[0] is x and out[1]._storage is x._storage and out[1].shape == (3, 2) and out[3] is y
    x.numpy()[0, 1] = 7
    assert out[1].numpy()[1, 0] == 7


def test_duplicate_results_are_one_tensor():
    @opweave.compile
    def f(x):
        y = x + 1
        return y, y, x + 1

    a, b, c = f(tensor(3))
    assert a is b and a is not c and a._storage is not c._storage


def test_functions_without_tensors():
    f = opweave.compile(lambda n, s: (n + 1, s * 2))
    assert f(1, "a") == (2, "aa") and f(2, "a") == (3, "aa")
    assert opweave.compile(lambda: None)() is None


def test_result_that_cannot_be_kept():
    f = opweave.compile(lambda x: (x, iter([x])), fullgraph=True)
    with pytest.raises(UnsupportedError) as caught:
        f(tensor(2))
    assert "returns a builtins.list_iterator as result[1]" in str(caught.value)


def test_scalars_zero_sizes_and_strides():
    f = opweave.compile(lambda x: (x * 2).sum() + x.t()[0].sum())
    for x in (tensor(1, 1), tensor(4, 5), tensor(5, 4).t(), tensor(0, 3)[:, :1] if False else tensor(2, 8)[:, ::2]):
        same(f(x), (x * 2).sum() + x.t()[0].sum())


# ---- mutation --------------------------------------------------------------------------------------------------------


def test_mutated_inputs_are_written_and_counted():
    @opweave.compile
    def f(x, y):
        x.add_(1)
        y.t().mul_(2)
        return x + y, x

    x, y = tensor(2, 2), tensor(2, 2, seed=1)
    a, b = x.numpy().copy(), y.numpy().copy()
    versions = x._version, y._version
    out = f(x, y)
    same(x, a + 1)
    same(y, b * 2)
    same(out[0], a + 1 + b * 2)
    assert out[1] is x and x._version > versions[0] and y._version > versions[1]
    f(x, y)
    same(x, a + 2)


def test_mutated_closure_tensor():
    counter = tensor(3)
    before = counter.numpy().copy()

    @opweave.compile
    def f(x):
        counter.add_(1)
        return x * counter

    x = tensor(3, seed=1)
    same(f(x), x.numpy() * (before + 1))
    same(f(x), x.numpy() * (before + 2))
    same(counter, before + 2)


def test_the_same_tensor_twice():
    @opweave.compile
    def f(x, y):
        x.add_(1)
        return x + y

    x, y = tensor(3), tensor(3, seed=1)
    a = x.numpy().copy()
    same(f(x, x), 2 * (a + 1))
    same(f(x, y), a + 2 + y.numpy())
    same(f(y, y), 2 * y.numpy())


def test_overlapping_arguments_see_writes():
    def f(x, y):
        x.add_(1)
        return x + y

    compiled = opweave.compile(f, dynamic=False)
    for one, other in ((slice(1, 4), slice(0, 3)), (slice(0, 2), slice(2, 4)), (slice(1, 3), slice(0, 2))):
        x, expected = tensor(4), tensor(4)
        same(compiled(x[one], x[other]), f(expected[one], expected[other]))
        same(x, expected)


def test_overlapping_arguments_of_open_sizes_are_refused():
    @opweave.compile(dynamic=True, fullgraph=True)
    def f(x, y):
        x.add_(1)
        return x + y

    x = tensor(4)
    with pytest.raises(UnsupportedError) as caught:
        f(x[1:], x[:3])
    assert "f writes x, which shares memory with y" in str(caught.value) and "test_compiled.py" in str(caught.value)
    same(f(x[:2], x[2:]), x[:2] + x[2:])


def test_reading_needs_no_distinct_arguments(recompiles):
    f = opweave.compile(lambda x, y: x + y)
    x = tensor(4)
    same(f(x[:3], x[1:]), x[:3] + x[1:])
    same(f(x[1:], x[1:]), x[1:] + x[1:])


def test_identity_in_the_users_code():
    f = opweave.compile(lambda x, y: x + 1 if x is y else x - 1)
    x, y = tensor(2), tensor(2, seed=1)
    same(f(x, y), x - 1)
    same(f(x, x), x + 1)
    same(f(y, x), y - 1)


# ---- recompilation ---------------------------------------------------------------------------------------------------

GLOBAL_SCALE = 2.0


def test_recompiles_say_why(recompiles, monkeypatch):
    def f(x, n=1):
        return x * n * GLOBAL_SCALE

    line = inspect.getsourcelines(f)[1]
    g = opweave.compile(f)
    g(tensor(3))
    g(tensor(3))
    g(tensor(5))
    g(tensor(5), n=2)
    monkeypatch.setitem(globals(), "GLOBAL_SCALE", 3.0)
    same(g(tensor(5), n=2), tensor(5) * 6.0)
    messages = recompiles()
    assert messages[0] == f"recompile f: x.size(0) 3 → 5 (test_compiled.py:{line})"
    assert f"recompile f: n 1 → 2 (test_compiled.py:{line})" in messages
    assert any(m == f"recompile f: GLOBAL_SCALE 2.0 → 3.0 (test_compiled.py:{line + 1})" for m in messages)
    assert len(g.entries) == 4
    monkeypatch.undo()
    same(g(tensor(3)), tensor(3) * 2)
    assert len(g.entries) == 4


def test_limit_warns_once_and_names_what_changed():
    f = opweave.compile(lambda x, n: x * n, dynamic=False, options={"recompile_limit": 3})
    with pytest.warns(RecompileLimitWarning, match=r"3 compiled versions.*what kept changing: n \(3 times\)"):  # noqa: PT031
        for n in range(4):
            same(f(tensor(2), n), tensor(2) * n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(f(tensor(2), 9), tensor(2) * 9)
        same(f(tensor(2), 1), tensor(2) * 1)
    assert len(f.entries) == 3
    f.reset()
    same(f(tensor(2), 9), tensor(2) * 9)
    assert len(f.entries) == 1


def test_op_registered_anew(recompiles):
    @opweave.library.custom_op("test_compiled::twice", mutates_args=())
    def twice(x: opweave.Tensor) -> opweave.Tensor:
        return opweave.from_numpy(x.numpy() * 2)

    twice.register_fake(lambda x: opweave.empty_like(x))
    f = opweave.compile(lambda x: twice(x) + 1)
    x = tensor(3)
    same(f(x), x * 2 + 1)
    twice.register_fake(lambda x: opweave.empty_like(x, dtype=opweave.float32))
    same(f(x), x * 2 + 1)
    assert any("test_compiled.twice.default was registered anew" in m for m in recompiles())
    assert len(f.entries) == 1

    @opweave.library.custom_op("test_compiled::unrelated", mutates_args=())
    def unrelated(x: opweave.Tensor) -> opweave.Tensor:
        return x.clone()

    same(f(x), x * 2 + 1)
    assert len(f.entries) == 1


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_branch_on_data_names_the_line_and_leaves_the_state_clean():
    def f(x):
        y = x + 1
        if y.sum() > 0:
            return y
        return x

    line = inspect.getsourcelines(f)[1] + 2
    with pytest.raises(DataDependentError) as caught:
        opweave.compile(f, fullgraph=True)(tensor(2))
    assert f"test_compiled.py:{line} in f" in str(caught.value) and "opweave.where" in str(caught.value)
    assert any(frame.name == "f" and frame.lineno == line for frame in traceback.extract_tb(caught.tb))
    assert not state.modes and not state.include
    same(tensor(2) + 1, tensor(2).numpy() + 1)


def test_errors_of_ops_are_those_of_eager():
    f = opweave.compile(lambda x, y: x + y)
    with pytest.raises(ShapeError):
        f(tensor(2), tensor(3))
    same(f(tensor(2), tensor(2)), tensor(2) * 2)


def test_users_own_exceptions_pass_through():
    class Mine(Exception):
        pass

    @opweave.compile
    def f(x, n):
        if n:
            raise Mine(n)
        return x + 1

    with pytest.raises(Mine):
        f(tensor(2), 3)
    same(f(tensor(2), 0), tensor(2) + 1)


def test_side_effects_are_refused_and_undone():
    class Model:
        def __init__(self):
            self.steps, self.seen = 0, []

        def count(self, x):
            self.steps += 1
            return x + 1

        def keep(self, x):
            y = x + 1
            self.seen.append(y)
            return y

        def cache(self, x):
            self.last = x + 1
            return self.last

    model = Model()
    for method, text in (
        (model.count, "steps: 0 → 1"),
        (model.keep, "0 entries → 1"),
        (model.cache, "2 entries → 3"),
    ):
        with pytest.raises(UnsupportedError) as caught:
            opweave.compile(method, fullgraph=True)(tensor(2))
        assert "changes self" in str(caught.value) and text in str(caught.value)
        assert "test_compiled.py:" in str(caught.value)
    assert vars(model) == {"steps": 0, "seen": []}


def test_nonlocal_and_global_writes_are_refused():
    total = 0

    def f(x):
        nonlocal total
        total = total + 1
        return x

    with pytest.raises(UnsupportedError, match="nonlocal"):
        opweave.compile(f, fullgraph=True)(tensor(2))
    assert total == 0


def test_argument_containers_are_not_changed():
    def f(d, x):
        d["new"] = x + 1
        return d["new"]

    d: dict[str, Any] = {}
    with pytest.raises(UnsupportedError, match="changes"):
        opweave.compile(f, fullgraph=True)(d, tensor(2))
    assert d == {}


def test_local_state_is_fine():
    @opweave.compile
    def f(x):
        parts, named = [], {}
        for i in range(3):
            parts.append(x + i)
            named[i] = parts[-1]
        return sum(parts[1:], parts[0]) + named[2]

    same(f(tensor(2)), tensor(2) * 4 + 5)


# ---- tracing through, threads ----------------------------------------------------------------------------------------


def test_compiled_functions_call_each_other():
    inner = opweave.compile(lambda x: x * 2)

    @opweave.compile
    def outer(x):
        return inner(x) + inner(x + 1)

    x = tensor(3)
    same(outer(x), x * 4 + 2)
    assert len(inner.entries) == 0
    same(inner(x), x * 2)


def test_recursion():
    @opweave.compile
    def f(x, n):
        return x if n == 0 else f(x + 1, n - 1)

    same(f(tensor(2), 3), tensor(2) + 3)


def test_traced_by_make_fx_and_under_fake_mode():
    f = opweave.compile(lambda x: (x * 2).relu())
    f(tensor(3))
    text = opweave.make_fx(f)(tensor(3)).code
    assert "aten.mul" in text and "aten.relu" in text
    with opweave.FakeTensorMode() as mode:
        assert f(mode.from_tensor(tensor(3))).shape == (3,)


def test_threads_compile_once_and_agree():
    started = threading.Barrier(4)
    traced = []

    @opweave.compile
    def f(x):
        return helper(x) + 1

    def helper(x):
        traced.append(1) if False else None
        return x * 2

    def work(i):
        started.wait()
        x = tensor(3, seed=i % 2)
        for _ in range(20):
            same(f(x), x.numpy() * 2 + 1)
            same(f(x.view(3, 1)), x.numpy().reshape(3, 1) * 2 + 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(f.entries) == 2


def test_arguments_are_not_kept_alive():
    f = opweave.compile(lambda d, x: d["w"] * x)
    x, w = tensor(4), tensor(4, seed=1)
    died = [weakref.ref(x), weakref.ref(w)]
    f({"w": w}, x)
    f({"w": w}, x.view(4, 1))
    del x, w
    gc.collect()
    assert [ref() for ref in died] == [None, None]


def test_stages_are_printable():
    f = opweave.compile(lambda x: x * 1 + 1)
    f(tensor(3))
    assert "captured" in f.stages() and "aten.add" in f.stages()["captured"]


class TestDefaultsAssignedAnew:
    def test_defaults(self):
        def f(x, n=2, m=3):
            return x * n + m

        compiled, x = opweave.compile(f), opweave.ones(2)
        assert compiled(x).tolist() == [5.0, 5.0]
        f.__defaults__ = (4, 1)
        assert compiled(x).tolist() == [5.0, 5.0]
        f.__defaults__ = (4, 3)
        assert compiled(x).tolist() == [7.0, 7.0]

    def test_keyword_defaults(self):
        def f(x, *, n=2):
            return x * n

        compiled, x = opweave.compile(f), opweave.ones(2)
        assert compiled(x).tolist() == [2.0, 2.0]
        f.__kwdefaults__["n"] = 5
        assert compiled(x).tolist() == [5.0, 5.0]
        f.__kwdefaults__ = {"n": 6}
        assert compiled(x).tolist() == [6.0, 6.0]
        f.__kwdefaults__ = None
        with pytest.raises(ArgumentError, match="missing 1 required keyword-only argument: 'n'"):
            compiled(x)

    def test_a_tensor_as_default(self):
        def f(x, w=opweave.full((2,), 2.0)):
            return x * w

        compiled, x = opweave.compile(f), opweave.ones(2)
        assert compiled(x).tolist() == [2.0, 2.0]
        f.__defaults__ = (opweave.full((2,), 3.0),)
        assert compiled(x).tolist() == [3.0, 3.0]

    def test_first_defaults(self):
        def f(x, n):
            return x * n

        compiled, x = opweave.compile(f), opweave.ones(2)
        assert compiled(x, 2).tolist() == [2.0, 2.0]
        f.__defaults__ = (3,)
        assert compiled(x).tolist() == [3.0, 3.0]

    def test_of_a_method(self):
        class Module:
            def forward(self, x, n=2):
                return x * n

        compiled, x = opweave.compile(Module().forward), opweave.ones(2)
        assert compiled(x).tolist() == [2.0, 2.0]
        Module.forward.__defaults__ = (3,)
        assert compiled(x).tolist() == [3.0, 3.0]


def test_views_of_a_write_that_changes_nothing():
    def f(x):
        y = x[..., 1:]
        y.sub_(0)
        return y.select(0, -2)

    x = opweave.arange(12.0).reshape(3, 4)
    assert opweave.compile(f)(x.t()).tolist() == f(x.t()).tolist() == [6.0, 10.0]


def test_a_result_is_not_stored_where_an_input_is_overwritten_later():
    def f(x):
        y = x * 1
        x.sub_(3)
        y[1:] = y[:-1].clone()
        return y

    x, expected = opweave.arange(4.0), opweave.arange(4.0)
    assert opweave.compile(f)(x).tolist() == f(expected).tolist() == [0.0, 0.0, 1.0, 2.0]
    assert x.tolist() == expected.tolist()
