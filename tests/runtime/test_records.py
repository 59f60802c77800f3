"""Versions kept on disk: what another process finds is what it would have made, and it loads nothing to make it."""

from __future__ import annotations

import functools
import gc
import json
import os
import sys
import types
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))

import edits

import opweave
from opweave.codegen import cache
from opweave.registry.op import registry
from opweave.runtime import records
from opweave.runtime.containers import tensors_of
from tests.helpers import fork_server

MODEL = """
import sys
import numpy as np, opweave
class Model:
    def __init__(self):
        draw = np.random.default_rng(0)
        self.layers = [leaf(draw.standard_normal((8, 16))), leaf(draw.standard_normal((16, 4)))]
        self.scale = 0.5
    def __call__(self, x):
        first, second = self.layers
        return ((x @ first).relu() @ second) * self.scale
def leaf(values):
    return opweave.from_numpy(values.astype(np.float32)).requires_grad_()
model = Model()
@opweave.compile
def loss(x, y):
    return opweave.nn.functional.cross_entropy(model(x), y), model(x).sum()
x = opweave.from_numpy(np.random.default_rng(1).standard_normal((6, 8)).astype(np.float32))
y = opweave.from_numpy(np.arange(6) % 4)
def grads():
    return [t.grad.numpy().tolist() for t in model.layers]
"""
CALL = """
value, _ = loss(x, y)
value.backward()
import json
names = "networkx", "sympy", "triton", "llvmlite", "optree", "opweave.pipeline", "opweave.tracer.graph"
heavy = [name for name in names if name in sys.modules]
print(json.dumps([value.item(), grads(), heavy]))
"""


def run(text: str, folder: Path, name: str = "program.py", **environment: str) -> str:
    """What a script prints in a process of its own."""
    variables = {**os.environ, "OPWEAVE_CACHE_DIR": str(folder / "cache"), "OPWEAVE_VERIFY": "0", **environment}
    script = folder / name
    script.write_text(text)
    done = fork_server.python([script], env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A folder in which a process has left the model's version, and what that printed."""
    folder = tmp_path_factory.mktemp("records")
    return folder, json.loads(run(MODEL + CALL, folder))


def test_a_second_process_loads_no_compiler(warm):
    folder, (value, grads, heavy) = warm
    assert "networkx" in heavy and "opweave.pipeline" in heavy
    again = json.loads(run(MODEL + CALL, folder))
    assert again == [value, grads, []]


LAYERS = """
import sys, json
import numpy as np, opweave
from opweave import nn
class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm = nn.Embedding(11, 8, padding_idx=0), nn.LSTM(8, 8, num_layers=2, bidirectional=True)
        self.attend, self.norm = nn.MultiheadAttention(16, 2, batch_first=True), nn.LayerNorm(16)
        self.rest = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Dropout(0.0), nn.Linear(32, 16))
        self.gain, self.cap = 2, None
    def forward(self, x):
        y, _ = self.lstm(self.embed(x))
        y = y + self.attend(y, y, y, need_weights=False)[0]
        y = y + self.rest(self.norm(y)) * self.gain
        return y if self.cap is None else y.clamp(max=self.cap)
class Image(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Sequential(nn.Conv2d(n, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True)) for n in (1, 4)
        )
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)
    def forward(self, x):
        for part in self.parts:
            x = self.up(self.pool(part(x)))
        return x
opweave.manual_seed(0)
text, image = Text(), Image()
found = []
for model, x in ((text, opweave.arange(12).view(3, 4) % 11), (image, opweave.arange(32.0).view(2, 1, 4, 4))):
    whole = opweave.compile(model)
    whole(x).square().mean().backward()
    of_method = opweave.compile(model.forward)(x)
    model.eval()
    found += [of_method.tolist(), whole(x).tolist()]
    found += [p.grad.tolist() for p in model.parameters()] + [b.tolist() for b in model.buffers()]
names = "networkx", "sympy", "triton", "llvmlite", "optree", "opweave.pipeline", "opweave.tracer.graph"
print(json.dumps([found, [name for name in names if name in sys.modules]]))
"""


def test_a_second_process_loads_no_compiler_for_modules(tmp_path):
    found, heavy = json.loads(run(LAYERS, tmp_path))
    assert "networkx" in heavy and "opweave.pipeline" in heavy
    assert json.loads(run(LAYERS, tmp_path)) == [found, []]
    # What a layer is made with is part of it.
    edited = LAYERS.replace("self.gain, self.cap = 2, None", "self.gain, self.cap = 2, 0.125")
    capped, heavy = json.loads(run(edited, tmp_path))
    assert "opweave.pipeline" in heavy
    for of_text in range(2):
        np.testing.assert_allclose(capped[of_text], np.minimum(found[of_text], 0.125), rtol=1e-5, atol=1e-6)


PATCHES = {
    "a method": "ow.nn.LeakyReLU.forward = lambda self, input: input * 7",
    "its code": "ow.nn.LeakyReLU.forward.__code__ = (lambda self, input: input * 7).__code__",
    "a method, by an object": (
        "import functools\now.nn.LeakyReLU.forward = functools.partialmethod(lambda self, k, input: input * k, 7)"
    ),
    "a hook of all": (
        "ow.nn.modules.module.register_module_forward_hook("
        "lambda m, a, out: a[0] * 7 if 'Leaky' in type(m).__name__ else None)"
    ),
    "a function that it calls": "ow.nn.functional.leaky_relu = lambda input, *rest: input * 7",
    "a method that all have": (
        "call = ow.nn.Module.__call__\n"
        "ow.nn.Module.__call__ = lambda self, *a: a[0] * 7 if 'Leaky' in type(self).__name__ else call(self, *a)"
    ),
}


@pytest.mark.parametrize("patch", PATCHES)
@pytest.mark.parametrize("of_library", [False, True])
def test_libraries_that_were_changed_are_traced(patch, of_library, tmp_path):
    """Modules of a library are told by its version, which says nothing of what another has put into them."""
    inner = "ow.nn.LeakyReLU(0.5)"
    made = (
        f"f = ow.compile(ow.nn.Sequential({inner}).forward)" if of_library
        else f"m = {inner}\n@ow.compile\ndef f(x): return m(x)"
    )  # fmt: skip
    text = "import opweave as ow, sys\nPATCH\n" + made + "\nprint(f(ow.tensor([-2.0, 3.0])).tolist())\n"
    text += "print('opweave.tracer.graph' in sys.modules)"
    plain, patched = text.replace("PATCH", ""), text.replace("PATCH", PATCHES[patch])
    assert run(plain, tmp_path).split("\n")[:2] == ["[-1.0, 3.0]", "True"]
    assert run(plain, tmp_path).split("\n")[:2] == ["[-1.0, 3.0]", "False"]
    for _ in range(2):
        assert run(patched, tmp_path).split("\n")[:2] == ["[-14.0, 21.0]", "True"]
    assert run(plain, tmp_path).split("\n")[:2] == ["[-1.0, 3.0]", "False"]


def test_what_was_found_knows_its_graph(warm):
    folder, _ = warm
    ask = "\nprint(loss.last_graph)\nprint(*loss.stages())\nprint(loss.entries[0].partition)\n"
    found = run(MODEL + "loss(x, y)\nassert 'networkx' not in sys.modules" + ask, folder)
    traced = run(MODEL + "loss(x, y)\nassert 'networkx' in sys.modules" + ask, folder, OPWEAVE_LOGS="graph")
    assert found == traced
    assert "aten.relu" in found and "code" in found


def test_explain_tells_the_same(warm):
    folder, _ = warm
    text = MODEL + "print(opweave.explain(loss)(x, y))"
    found = run(text, folder)
    assert "aten.relu" in found
    assert found == run(text, folder, OPWEAVE_CACHE="0")


def test_gradients_of_a_part(warm):
    """The way back of a part of the results was not kept: the function is traced again for it."""
    folder, _ = warm
    part = MODEL + "_, total = loss(x, y)\n(total * 2).backward()\nprint(grads(), 'networkx' in sys.modules)\n"
    first, second = run(part, folder), run(part, folder)
    assert first.endswith("True\n") and second.endswith("False\n")
    eager = run(MODEL.replace("@opweave.compile\n", "") + part.removeprefix(MODEL), folder)
    np.testing.assert_allclose(values_of(first), values_of(eager), rtol=1e-6)
    assert values_of(first) == values_of(second)


def values_of(printed: str) -> list[float]:
    return [v for t in json.loads(printed.rpartition(" ")[0]) for row in t for v in row]


def test_gradients_of_a_part_after_an_edit(warm):
    """The function would now be traced to something else, but this call was of what it was."""
    folder, _ = warm
    folder = folder / "edited"
    folder.mkdir()
    run(MODEL + CALL, folder)
    part = "_, total = loss(x, y)\nmodel.scale = 3.0\n(total * 2).backward()\nprint(grads(), is_found)\n"
    found = run(MODEL + part.replace("is_found", "'networkx' in sys.modules"), folder)
    eager = run(MODEL.replace("@opweave.compile\n", "") + part.replace("is_found", "1"), folder)
    np.testing.assert_allclose(values_of(found), values_of(eager), rtol=1e-6)
    lost = "loss(x, y)\nmodel.scale = 3.0\ntry:\n    loss.last_graph\nexcept RuntimeError as error:\n    print(error)"
    assert "has changed since it was called" in run(MODEL + lost, folder)


OPERATORS = """
import sys
import numpy as np, opweave
STRENGTH = 3.0
@opweave.library.custom_op("records_test::twice", mutates_args=())
def twice(x: opweave.Tensor) -> opweave.Tensor:
    return opweave.from_numpy(x.numpy() * 2)
@twice.register_fake
def _(x):
    return opweave.empty_like(x)
def setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
def backward(ctx, grad):
    x, = ctx.saved_tensors
    return grad * STRENGTH + x * 0.25
twice.register_autograd(backward, setup_context=setup)
lib = opweave.library.Library("records_test", "FRAGMENT")
lib.define("shifted(Tensor x, float by) -> Tensor")
def shifted(x, by):
    return x + by
lib.impl("shifted", shifted, "CompositeImplicitAutograd")
@opweave.compile
def f(x):
    return (opweave.ops.records_test.shifted(twice(x).sin(), 0.5) * 2).sum()
x = opweave.from_numpy(np.arange(5, dtype=np.float32)).requires_grad_()
y = f(x)
y.backward()
print([y.item(), x.grad.numpy().tolist()])
print('networkx' in sys.modules)
"""
CHANGES = (
    ("STRENGTH = 3.0", "STRENGTH = 4.0"),
    ("grad * STRENGTH", "grad * 5 * STRENGTH"),
    ("return x + by", "return x - by"),
    ("x.numpy() * 2", "x.numpy() * 4"),
    ("ctx.save_for_backward(inputs[0])", "ctx.save_for_backward(inputs[0] * 2)"),
    ("+ x * 0.25", "+ x"),
    ('"shifted(Tensor x, float by) -> Tensor"', '"shifted(Tensor x, *, float by) -> Tensor"'),
)


def test_users_operators(tmp_path):
    """What their rules are, which no name in the function leads to, is part of what the function reads."""
    eager = OPERATORS.replace("@opweave.compile\n", "")
    expected = numbers_of(run(eager, tmp_path))
    outputs = [run(OPERATORS, tmp_path) for _ in range(3)]
    assert [output.splitlines()[1] for output in outputs] == ["True", "False", "False"]
    for output in outputs:
        np.testing.assert_allclose(numbers_of(output), expected, rtol=1e-6)
    for old, new in CHANGES:
        text = OPERATORS.replace(old, new)
        if new.startswith('"shifted'):
            text = text.replace("sin(), 0.5)", "sin(), by=0.5)").replace("(x, by):", "(x, *, by):")
        wanted = numbers_of(run(text.replace("@opweave.compile\n", ""), tmp_path))
        assert not np.allclose(wanted, expected) or "shifted" in new
        for _ in range(2):
            np.testing.assert_allclose(numbers_of(run(text, tmp_path)), wanted, rtol=1e-6, err_msg=new)
    assert run(OPERATORS, tmp_path) == outputs[1]


WAITING = """
import sys
import numpy as np, opweave
from opweave.registry import families
names = opweave
@opweave.compile
def f(x):
    lowest = x.min(1)
    kinds = names.softmax(x, 1) - opweave.logsumexp(x, 1, keepdim=True)
    return kinds * x.max(1).values[:, None] + lowest.indices[:, None] * opweave.einsum("ij,kj->ik", x, x).sum()
x = opweave.from_numpy(np.arange(12, dtype=np.float32).reshape(3, 4) / 8)
if len(sys.argv) > 1:
    opweave.ops.aten.linalg_inv.default, opweave.ops.aten.softmax.int, x.max(1).values, opweave.einsum("ij->ji", x)
print(f(x).tolist())
print([name for name in ("networkx", "triton") if name in sys.modules])
files = "softmax", "reduction", "products", "linear_systems"
print([name for name in files if families.is_run(name)])
"""


def test_ops_of_a_version_that_is_found_wait_for_their_files(tmp_path):
    """And it makes no difference to what is found, whether they do."""
    first, second = run(WAITING, tmp_path).splitlines(), run(WAITING, tmp_path).splitlines()
    assert first[1:] == ["['networkx', 'triton']", "['softmax', 'reduction', 'products']"]
    # The file of `min` says what its results are called.
    assert second == [first[0], "[]", "['reduction']"]
    asked = run(WAITING.replace("len(sys.argv) > 1", "True"), tmp_path).splitlines()
    assert asked[:2] == second[:2] and "linear_systems" in asked[2]


def numbers_of(printed: str) -> list[float]:
    value, grads = json.loads(printed.splitlines()[0])
    return [value, *grads]


KERNEL = """
import sys
import numpy as np, opweave, triton
import triton.language as tl
SLOPE = tl.constexpr(2.0)
@triton.jit
def curve(x):
    return x * SLOPE + 1.0
@triton.jit
def rows(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = curve(tl.load(x_ptr + row + i, i < n, other=0.0))
    tl.store(out_ptr + row + i, x - tl.sum(x, 0), i < n)
@opweave.compile
def f(x):
    out = opweave.empty_like(x)
    rows[(3,)](x * 2, out, 5, BLOCK=8)
    return out + 1
x = opweave.from_numpy(np.arange(15, dtype=np.float32).reshape(3, 5))
print(f(x).numpy().tolist())
print('networkx' in sys.modules)
"""


def test_users_kernels(tmp_path):
    outputs = [run(KERNEL, tmp_path).splitlines() for _ in range(2)]
    assert outputs[0][0] == outputs[1][0]
    assert [output[1] for output in outputs] == ["True", "False"]
    for old, new in (("constexpr(2.0)", "constexpr(3.0)"), ("SLOPE + 1.0", "SLOPE"), ("x - tl.sum", "x + tl.sum")):
        text = KERNEL.replace(old, new)
        wanted = run(text.replace("@opweave.compile\n", ""), tmp_path).splitlines()[0]
        assert wanted != outputs[0][0]
        assert [run(text, tmp_path).splitlines()[0] for _ in range(2)] == [wanted] * 2, new


# ---- in one process: a function compiled twice is found the second time --------------------------------------------


@pytest.fixture(autouse=True)
def unverified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "verifying", False)
    # Other tests of this process have changed built-in ops, and changed them back.
    monkeypatch.setattr(registry, "shipped_version", registry.builtin_version)


def function(text: str, **names: Any) -> Any:
    """A new function `f`, as another process would have it."""
    module = types.ModuleType("records_module")
    module.__dict__.update(names, ow=opweave)
    exec(compile(text, "<records>", "exec"), module.__dict__)
    module.__dict__["f"].module = module
    return module.__dict__["f"]


def is_found(compiled: Any) -> bool:
    return not isinstance(compiled.entries[0].traced, tuple)


def compiled_twice(text: str, *args: Any, **options: Any) -> tuple[Any, Any, bool]:
    """The results of a function compiled twice, and whether the second was found."""
    first = opweave.compile(function(text), **options)(*args)
    second = opweave.compile(function(text), **options)
    result = second(*args)
    return first, result, is_found(second)


X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


@pytest.mark.parametrize(
    "text",
    [
        "def f(x): return x.sin() * 2 + 1",
        "def f(x): return {'a': x.exp(), 'b': [x, (x + 1, None, 'text @ \\0')]}",
        "def f(x): return x.t(), x[1:], x",
        "def f(x): return x.as_strided((2, 2), (1, 4), 1).exp()",
        "def f(x):\n    y = x * 2\n    y[0] = 7\n    return y.sum(0)",
        "def f(x):\n    with ow.no_grad():\n        return x.softmax(-1)",
        "def f(x): return ow.rand_like(x).shape, x.mean()",
        "import collections\ndef f(x): return collections.OrderedDict(a=x + 1, b=x.size())",
        "import math\ndef f(x): return x * math.pi if x.shape[0] > 2 else x",
        "def g(x, n=3): return x * n\ndef f(x): return g(x) - g(x, n=2)",
        "class C:\n    k = 4\n    def m(self, x): return x + self.k\nc = C()\ndef f(x): return c.m(x)",
    ],
)
def test_found_gives_the_same(text):
    first, second, found = compiled_twice(text, opweave.from_numpy(X.copy()))
    assert found
    assert plain(first) == plain(second)


def plain(value: Any) -> Any:
    if isinstance(value, opweave.Tensor):
        return value.tolist(), value.stride(), value.storage_offset()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return type(value)(map(plain, value)) if isinstance(value, (list, tuple)) else value


def layers() -> list[tuple[Any, tuple[Any, ...]]]:
    """Modules of each sort, in one process and in the next."""
    nn, F = opweave.nn, opweave.nn.functional
    x, sequence, image = opweave.ones(4, 8), opweave.ones(4, 5, 8), opweave.ones(2, 4, 6, 6)

    class Chosen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act, self.soft, self.names = F.relu, functools.partial(F.softmax, dim=-1), ["a", "b"]
            self.parts, self.kind, self.device = nn.ModuleDict({"a": nn.Linear(8, 8)}), opweave.float32, x.device

        def forward(self, x: Any, mask: Any = None) -> Any:
            y = self.soft(self.act(self.parts[self.names[0]](x.to(self.kind)))).to(self.device)
            return y if mask is None else y * mask

    class Silent(Chosen):
        @opweave.no_grad()
        def forward(self, x: Any) -> Any:
            return super().forward(x)

    layer = nn.TransformerEncoderLayer(8, 2, 16)
    return [
        (Chosen(), (x,)), (Silent(), (x,)), (nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Dropout(0.5)), (x,)),
        (nn.Conv2d(4, 3, 3, padding="same"), (image,)), (nn.BatchNorm2d(4), (image,)), (nn.GroupNorm(2, 4), (image,)),
        (nn.MaxPool2d(2), (image,)), (nn.Upsample(scale_factor=2), (image,)), (nn.LSTMCell(8, 4), (x,)),
        (nn.GRU(8, 4, bidirectional=True), (sequence,)), (nn.Embedding(9, 3), (opweave.arange(6),)),
        (nn.TransformerEncoder(layer, 2), (sequence,)),
        (nn.CrossEntropyLoss(label_smoothing=0.1), (x, opweave.arange(4))),
        (nn.utils.parametrizations.weight_norm(nn.Linear(8, 8)), (x,)),
        (nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8)), (x,)),
    ]  # fmt: skip


def test_modules_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path))
    for part in range(2):
        opweave.manual_seed(0)
        for module, inputs in layers():
            module.eval()
            compiled = opweave.compile(module.forward)
            found, expected = compiled(*inputs), module(*inputs)
            assert is_found(compiled) == bool(part), type(module)
            for one, other in zip(tensors_of(found), tensors_of(expected), strict=True):
                np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_written_arguments():
    text = "def f(x, y):\n    x.add_(y)\n    return x * 2"
    opweave.compile(function(text))(opweave.ones(4), opweave.ones(4))
    f = opweave.compile(function(text))
    x = opweave.ones(4)
    assert f(x, opweave.ones(4)).tolist() == [4.0] * 4 and x.tolist() == [2.0] * 4 and is_found(f)
    # What shares memory is another case, which is guarded in a version that was found as in any other.
    whole = opweave.arange(6.0)
    assert f(whole[:4], whole[2:]).tolist() == [4.0, 8.0, 12.0, 16.0]
    assert whole.tolist() == [2.0, 4.0, 6.0, 8.0, 4.0, 5.0]
    assert len(f.entries) == 2


def test_open_sizes_and_numbers_are_traced():
    text = "def f(x, n): return x * n"
    f = opweave.compile(function(text), dynamic=True)
    f(opweave.ones(4), 3)
    g = opweave.compile(function(text), dynamic=True)
    assert g(opweave.ones(5), 7).tolist() == [7.0] * 5 and not is_found(g)
    # A size that changes is left open from then on, also where the first version was found.
    opweave.compile(function(text))(opweave.ones(4), 3)
    h = opweave.compile(function(text))
    assert h(opweave.ones(4), 3).tolist() == [3.0] * 4 and is_found(h)
    assert h(opweave.ones(6), 3).tolist() == [3.0] * 6 and h(opweave.ones(9), 3).tolist() == [3.0] * 9
    assert len(h.entries) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"fuse_launches": False},
        {"memory_budget": 0.5},
    ],
)
def test_options_are_part_of_it(change):
    text = "def f(x): return x.cos() + 3"
    x = opweave.from_numpy(X)
    opweave.compile(function(text))(x)
    f = opweave.compile(function(text), options=change)
    np.testing.assert_allclose(f(x).numpy(), np.cos(X) + 3, rtol=1e-6)
    assert not is_found(f)


def test_the_state_of_the_thread_is_part_of_it():
    text = "def f(x): return x @ x.t()"
    x = opweave.from_numpy(X).requires_grad_()
    assert opweave.compile(function(text))(x).requires_grad
    with opweave.no_grad():
        f = opweave.compile(function(text))
        assert not f(x).requires_grad and not is_found(f)
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        f = opweave.compile(function(text))
        assert f(x).dtype is opweave.bfloat16 and not is_found(f)
    f = opweave.compile(function(text))
    assert f(x).requires_grad and f(x).dtype is opweave.float32 and is_found(f)


def test_what_no_text_tells_is_traced():
    for text, names in (
        ("def f(x): return thing(x)", {"thing": opweave.compile(lambda x: x + 1)}),
        ("def f(x): return x + c", {"c": type("Odd", (float,), {})(2)}),
        ("def f(x): return x + ow.tensor([1.0, 2.0, 3.0, 4.0])", {}),
    ):
        x = opweave.from_numpy(X)
        results = []
        for _ in range(2):
            f = opweave.compile(function(text, **names))
            results.append(plain(f(x)))
        assert results[0] == results[1]


def test_programs_of_one_signature_are_not_confused():
    """What is called is a library's object, whose content no guard reads."""
    x = opweave.from_numpy(X)
    for n in (2.0, 3.0, 2.0):

        def f(x: Any, n: float = n) -> Any:
            return x * n + 1

        found = [
            opweave.export.export(f, (x,)).module(),
            opweave.compile(opweave.make_fx(f)(x)),
            opweave.compile(functools.partial(scaled, n)),
            opweave.compile(opweave.compile(f)),
            opweave.compile(Scaling(n)),
            opweave.compile(Scaling(n).apply),
        ]
        for compiled in found:
            np.testing.assert_array_equal(compiled(x).numpy(), X * n + 1)


def scaled(n: float, x: Any) -> Any:
    return x * n + 1


class Scaling:
    def __init__(self, n: float) -> None:
        self.n = n

    def apply(self, x: Any) -> Any:
        return x * self.n + 1

    __call__ = apply


def test_a_function_of_changed_ops_is_traced():
    text = "def f(x): return x.sigmoid() + 0.25"
    opweave.compile(function(text))(opweave.from_numpy(X))
    version = registry.builtin_version
    try:
        registry.builtin_version += 1  # as any registration for a built-in op does
        f = opweave.compile(function(text))
        f(opweave.from_numpy(X))
        assert not is_found(f)
    finally:
        registry.builtin_version = version


def test_a_version_that_was_found_holds_no_arguments():
    text = "def f(x, more): return (x.sin() * more['y']).sum()"

    def arguments() -> tuple[Any, Any]:
        return opweave.ones(4).requires_grad_(), {"y": opweave.ones(4)}

    opweave.compile(function(text))(*arguments()).backward()
    f = opweave.compile(function(text))
    x, more = arguments()
    dead = [weakref.ref(x), weakref.ref(more["y"])]
    f(x, more).backward()
    assert is_found(f)
    del x, more
    gc.collect()
    assert [ref() for ref in dead] == [None, None]
    assert "sin" in str(f.last_graph)


@pytest.mark.parametrize("sort", ["view", "leaf", "not a leaf", "offset"])
def test_stand_ins_lead_to_the_same_graph(sort):
    text = "def f(x): return (x * 2).cumsum(0).tanh()"

    def argument() -> Any:
        whole = opweave.arange(12.0)
        if sort == "view":
            return whole.view(3, 4).t()
        if sort == "offset":
            return whole[3:].requires_grad_()
        whole.requires_grad_()
        return whole if sort == "leaf" else whole * 1

    f = opweave.compile(function(text))
    f(argument())
    g = opweave.compile(function(text))
    g(argument())
    assert is_found(g)
    assert str(g.last_graph) == str(f.last_graph)


def test_derivatives_beside_the_kept_ones():
    """A batch of gradients runs the way back op by op, from a graph that is traced again."""
    text = "def f(x): return x.sin() * x"
    x = opweave.arange(3.0).requires_grad_()
    opweave.compile(function(text))(x).sum().backward()
    f = opweave.compile(function(text))
    y = f(x)
    assert is_found(f)
    batch = opweave.vmap(lambda v: opweave.autograd.grad(y, x, v, retain_graph=True)[0])(opweave.eye(3))
    expected = np.diag(np.cos(np.arange(3.0)) * np.arange(3.0) + np.sin(np.arange(3.0)))
    np.testing.assert_allclose(batch.numpy(), expected, rtol=1e-6, atol=1e-7)


# ---- what is on disk may be anything -------------------------------------------------------------------------------


def damaged(record: dict[str, Any]) -> list[Any]:
    """Records that no version is made from."""
    values = (None, -1, 999, "", "x y", [999], [[]], [None], {}, ["no::op"], "_ow_o[", 0.5, True)
    without = [{k: v for k, v in record.items() if k != name} for name in record]
    other = [{**record, name: value} for name in record for value in values if value != record[name]]
    fitting = (("offsets", True), ("backward", {}), ("backward", None))
    return [*without, *(each for each in other if all(each[name] != value for name, value in fitting)), None, [], 5]


def test_damaged_records_are_made_anew(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path))
    text = "def f(x): return x.exp() - 1"
    x = opweave.from_numpy(X)
    expected = plain(opweave.compile(function(text))(x))
    key, record = _only_record(tmp_path)
    for content in damaged(record):
        cache.keep(key, {"version.json": json.dumps(content)})
        f = opweave.compile(function(text))
        assert plain(f(x)) == expected, content
        assert not is_found(f), content
    cache.keep(key, {"version.json": "{"})
    assert plain(opweave.compile(function(text))(x)) == expected
    cache.keep(key, {"other.json": "{}"})
    assert plain(opweave.compile(function(text))(x)) == expected
    f = opweave.compile(function(text))
    assert plain(f(x)) == expected and is_found(f)  # whole again


def test_a_program_that_is_gone(tmp_path, monkeypatch):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path))
    text = "def f(x): return x.exp() - 2"
    x = opweave.from_numpy(X)
    expected = plain(opweave.compile(function(text))(x))
    _, record = _only_record(tmp_path)
    for file in (tmp_path / record["program"]).iterdir():
        file.unlink()
    f = opweave.compile(function(text))
    assert plain(f(x)) == expected and not is_found(f)


def _only_record(folder: Path) -> tuple[str, dict[str, Any]]:
    [found] = folder.glob("*/version.json")
    return found.parent.name, json.loads(found.read_text())


# ---- edits ---------------------------------------------------------------------------------------------------------


@pytest.mark.property
def test_edits_before_a_process_starts():
    """What reads state of every sort (`edits`), edited after it was kept: never what it was before."""
    outcomes = [(case, edits.attempt_anew(case, opweave, opweave.compile)) for case in edits.sample(150, 3)]
    stale = [f"{case.kind}, {case.place}: {outcome.why}" for case, outcome in outcomes if outcome.kind == "stale"]
    assert not stale
    assert sum(outcome.kind == "found" for _, outcome in outcomes) > 100
