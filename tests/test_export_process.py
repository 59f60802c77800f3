"""A program that leaves its process: saved here, read, edited and run where its author's module is not."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from opweave.registry.errors import ExportError
from tests.helpers import fork_server

_OPS = """
import numpy as np
import opweave
import triton
import triton.language as tl
from opweave.library import custom_op, triton_op, wrap_triton

@custom_op("away::np_sin", mutates_args=())
def np_sin(x: opweave.Tensor, times: int) -> opweave.Tensor:
    return opweave.from_numpy(np.sin(x.numpy()) * times)

@np_sin.register_fake
def _(x, times):
    return opweave.empty_like(x)

@custom_op("away::tell", mutates_args=())
def tell(x: opweave.Tensor, *, word: str = "a") -> opweave.Tensor:
    return x.clone()

@tell.register_fake
def _(x, *, word="a"):
    return opweave.empty_like(x)

@triton.jit
def softplus_kernel(x, out, n, beta, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n) * beta
    tl.store(out + i, tl.log(1 + tl.exp(v)) / beta, i < n)

bias = opweave.from_numpy(np.arange(6, dtype=np.float32))

@triton_op("away::softplus", mutates_args=())
def softplus(x: opweave.Tensor, beta: float = 1.0) -> opweave.Tensor:
    out = opweave.empty_like(x)
    n = x.numel()
    wrap_triton(softplus_kernel)[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n, beta, BLOCK=64)
    return out + bias
"""

_SAVE = """
from away_ops import *
from opweave.export import export, save

weight = opweave.from_numpy(np.random.default_rng(1).standard_normal((6, 6)).astype(np.float32))

def both(x, *, names):
    h = np_sin(softplus(x @ weight, 2.0), 3)
    return {"out": tell(h, word="b") * 2, "names": names}

def known(x):
    return (softplus(x) @ weight).relu()

x = opweave.from_numpy(np.load("x.npy"))
save(export(both, (x,), {"names": "n"}), "both.opweave")
save(export(known, (x,)), "known.opweave")
np.save("both.npy", both(x, names="n")["out"].numpy())
np.save("both_added.npy", (tell(np_sin(softplus(x @ weight, 2.0), 3), word="b") + 2).numpy())
np.save("known.npy", known(x).numpy())
"""


def run(folder: Path, text: str) -> str:
    """Run a script in a new process; gives what it prints."""
    done = fork_server.python(["-c", text], cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two saved programs and what the functions gave."""
    path = tmp_path_factory.mktemp("exported")
    (path / "away_ops.py").write_text(_OPS)
    np.save(path / "x.npy", np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32))
    run(path, _SAVE)
    (path / "away_ops.py").rename(path / "kept_away.txt")
    return path


def test_a_triton_op_runs_without_its_module(folder: Path) -> None:
    printed = run(folder, """
import sys
import numpy as np, opweave
from opweave.export import load
program = load("known.opweave")
assert "llvmlite" not in sys.modules
x = opweave.from_numpy(np.load("x.npy"))
np.testing.assert_array_equal(program.module()(x).numpy(), np.load("known.npy"))
simpler = program.run_decompositions()
np.testing.assert_array_equal(simpler.module()(x).numpy(), np.load("known.npy"))
print([str(node.target) for node in program.graph if node.op == "call_function"])
print([str(node.target) for node in simpler.graph if node.op == "call_function"])
print([name for name in opweave.registry.op.registry.operators if name.startswith("away")])
""")  # fmt: skip
    assert printed.splitlines() == [
        "['away.softplus.default', 'aten.mm.default', 'aten.relu.default']",
        "['aten.empty_like.default', 'triton_kernel_wrapper_mutation', 'aten.add.Tensor', 'aten.mm.default', "
        "'aten.relu.default']",
        "[]",
    ]


@pytest.fixture(scope="module")
def edited(folder: Path) -> str:
    """What is printed where the ops are missing; one of the programs is edited there, and saved."""
    return run(folder, """
import numpy as np, opweave
from opweave.export import load, save
from opweave.registry.errors import ExportError
program = load("both.opweave")
assert "ops.away.np_sin.default(softplus, 3)" in str(program)
assert program.graph.named("np_sin").meta["val"].shape == (50, 6)
x = opweave.from_numpy(np.load("x.npy"))
for run in (program.module(), program.run_decompositions().module(), lambda x, names: program.graph_module(x, x, x)):
    try:
        run(x, names="n")
    except ExportError as error:
        print(error)
(mul,) = program.graph.find_nodes(target=opweave.ops.aten.mul.Tensor)
with program.graph.inserting_before(mul):
    added = program.graph.call_function(opweave.ops.aten.add.Tensor, mul.args)
mul.replace_all_uses_with(added)
program.graph.erase_node(mul)
save(program, "edited.opweave")
""")  # fmt: skip


def test_missing_ops_are_listed_and_the_program_can_be_edited(edited: str) -> None:
    message = edited.split("  at:")[0]
    assert "2 ops" in message
    assert "away::np_sin(Tensor x, SymInt times) -> Tensor" in message
    assert 'away::tell(Tensor x, *, str word="a") -> Tensor' in message
    assert "softplus" not in edited and edited.count("2 ops") == 3


@pytest.mark.usefixtures("edited")
def test_it_runs_once_they_are_registered(folder: Path) -> None:
    run(folder, """
import numpy as np, opweave
from opweave.export import load
from opweave.library import custom_op
programs = [(load("both.opweave"), "both.npy"), (load("edited.opweave"), "both_added.npy")]

@custom_op("away::np_sin", mutates_args=())
def np_sin(x: opweave.Tensor, times: int) -> opweave.Tensor:
    return opweave.from_numpy(np.sin(x.numpy()) * times)

@custom_op("away::tell", mutates_args=())
def tell(x: opweave.Tensor, *, word: str = "a", loud: bool = False) -> opweave.Tensor:
    assert word == "b" and not loud
    return x.clone()

x = opweave.from_numpy(np.load("x.npy"))
programs += [(load("both.opweave"), "both.npy"), (programs[0][0].run_decompositions(), "both.npy")]
for program, expected in programs:
    got = program.module()(x, names="n")
    assert got["names"] == "n"
    np.testing.assert_array_equal(got["out"].numpy(), np.load(expected))
""")  # fmt: skip


def test_other_schemas_are_refused(folder: Path) -> None:
    printed = run(folder, """
import numpy as np, opweave
from opweave.export import load
from opweave.library import custom_op
from opweave.registry.errors import ExportError
early = load("both.opweave")

@custom_op("away::np_sin", mutates_args=())
def np_sin(x: opweave.Tensor, times: float) -> opweave.Tensor:
    return x

@custom_op("away::tell", mutates_args=())
def tell(x: opweave.Tensor, *, word: str = "other") -> opweave.Tensor:
    return x

x = opweave.from_numpy(np.load("x.npy"))
for act in (lambda: load("both.opweave"), lambda: early.module()(x, names="n")):
    try:
        act()
    except ExportError as error:
        print(error)
""")  # fmt: skip
    for text in (
        "exported:   away::np_sin(Tensor x, SymInt times) -> Tensor",
        "registered: away::np_sin(Tensor x, float times) -> Tensor",
        'exported:   away::tell(Tensor x, *, str word="a") -> Tensor',
        'registered: away::tell(Tensor x, *, str word="other") -> Tensor',
    ):
        assert printed.count(text) == 2, printed


def test_a_triton_op_that_is_registered_is_called(folder: Path) -> None:
    run(folder, """
import numpy as np, opweave
from opweave.export import load
from opweave.library import triton_op
program = load("known.opweave")
called = []

@triton_op("away::softplus", mutates_args=())
def softplus(x: opweave.Tensor, beta: float = 1.0, more: int = 0) -> opweave.Tensor:
    called.append(beta)
    return x * 0

x = opweave.from_numpy(np.load("x.npy"))
assert not program.module(compile=False)(x).numpy().any() and called == [1.0]
""")  # fmt: skip


def test_a_triton_op_with_other_arguments_is_refused(folder: Path) -> None:
    printed = run(folder, """
import numpy as np, opweave
from opweave.export import load
from opweave.registry.errors import OpweaveError
x = opweave.from_numpy(np.load("x.npy"))
program = load("known.opweave")
node = program.graph.named("softplus")
node.args = (*node.args, 2.0)
try:
    program.module()(x)
except OpweaveError as error:
    print(type(error).__name__, error)
program = load("known.opweave")
node = program.graph.named("softplus")
with program.graph.inserting_before(node):
    node.replace_input_with(node.args[0], program.graph.call_function(opweave.ops.aten.t.default, (node.args[0],)))
try:
    program.module()(x)
except OpweaveError as error:
    print(type(error).__name__, error)
""")  # fmt: skip
    assert "GraphError softplus: away.softplus.default is called with other arguments" in printed
    assert "ShapeError away.softplus.default: exported for x whose dim 0 is 50, not 6" in printed


def test_a_triton_op_from_a_file_is_an_op_for_all_stages(folder: Path) -> None:
    """Compiled as any; not differentiated in silence, as nothing is known of its derivative."""
    printed = run(folder, """
import numpy as np, opweave
from opweave.export import load
from opweave.registry.errors import OpweaveError
x = opweave.from_numpy(np.load("x.npy"))
for program in (load("known.opweave"), load("known.opweave").run_decompositions()):
    compiled = opweave.compile(program.module())
    np.testing.assert_allclose(compiled(x).numpy(), np.load("known.npy"), rtol=1e-6)
program = load("known.opweave")
traced = opweave.make_fx(program.module(), tracing_mode="fake")(x)
np.testing.assert_array_equal(traced(x).numpy(), np.load("known.npy"))
x.requires_grad_()
result = program.module()(x)
np.testing.assert_array_equal(result.detach().numpy(), np.load("known.npy"))
try:
    result.sum().backward()
except OpweaveError as error:
    print(type(error).__name__, error)
""")  # fmt: skip
    assert "AutogradError" in printed and "away.softplus" in printed


def test_the_error_is_an_error_of_the_field() -> None:
    assert issubclass(ExportError, RuntimeError) and issubclass(ExportError, ValueError)
