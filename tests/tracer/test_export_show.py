"""A program with a custom_op, a triton_op, a `cond` and a dynamic batch leaves its process and runs in another one."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import fork_server

_OPS = """
import numpy as np
import opweave
import triton
import triton.language as tl
from opweave.library import custom_op, triton_op, wrap_triton

@custom_op("show::normed", mutates_args=())
def normed(x: opweave.Tensor, scale: float) -> opweave.Tensor:
    a = x.numpy()
    return opweave.from_numpy((a / (1 + np.abs(a).max(1, keepdims=True)) * scale).astype(np.float32))

@normed.register_fake
def _(x, scale):
    return opweave.empty_like(x)

@triton.jit
def gelu_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(out + i, v / (1 + tl.exp(-1.702 * v)), i < n)

@triton_op("show::gelu", mutates_args=())
def gelu(x: opweave.Tensor) -> opweave.Tensor:
    out = opweave.empty_like(x)
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    wrap_triton(gelu_kernel)[grid](x, out, n, BLOCK=32)
    return out
"""

_SAVE = """
from show_ops import *
from opweave.export import Dim, export, save

weight = opweave.from_numpy(np.random.default_rng(1).standard_normal((6, 6)).astype(np.float32))

def plain(x):
    return gelu(x @ weight) * x.shape[0]

def branching(x):
    h = gelu(x @ weight)
    return opweave.cond(h.sum() > 0, lambda t: gelu(t) + weight[0], lambda t: t * t.shape[0], (h,))

def whole(x):
    h = gelu(x @ weight)
    return opweave.cond(h.sum() > 0, lambda t: normed(t, 2.0) + weight[0], lambda t: gelu(t) * t.shape[0], (h,))

example = opweave.from_numpy(np.load("x8.npy"))
for function in (plain, branching, whole):
    program = export(function, (example,), dynamic_shapes={"x": {0: Dim("batch", min=2, max=512)}})
    save(program, function.__name__ + ".opweave")
    for name in NAMES:
        np.save(f"{function.__name__}_{name}.npy", function(opweave.from_numpy(np.load(name + ".npy"))).numpy())
"""

_BATCHES = (2, 3, 8, 31, 200)
_NAMES = [f"{sign}{batch}" for batch in _BATCHES for sign in "xy"]

_CHECK = f"""
import sys
import numpy as np, opweave
from opweave.export import load, save
from opweave.registry.errors import ExportError, ShapeError
def check(program, wanted):
    module = program.module()
    for name in {_NAMES}:
        got = module(opweave.from_numpy(np.load(name + ".npy")))
        np.testing.assert_array_equal(got.numpy(), np.load(f"{{wanted}}_{{name}}.npy"))
"""


def run(folder: Path, text: str) -> str:
    """Run a script in a new process; gives what it prints."""
    done = fork_server.python(["-c", text], cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with saved programs and what the functions gave for several batches; without the ops' module."""
    path = tmp_path_factory.mktemp("shown")
    (path / "show_ops.py").write_text(_OPS)
    rng = np.random.default_rng(0)
    for batch in _BATCHES:
        x = rng.standard_normal((batch, 6)).astype(np.float32)
        # One for each branch: what comes out of gelu is large, or small and negative.
        np.save(path / f"x{batch}.npy", x * 4)
        np.save(path / f"y{batch}.npy", x * np.float32(1e-3) - np.float32(0.05))
    run(path, f"NAMES = {_NAMES}\n" + _SAVE)
    (path / "show_ops.py").rename(path / "kept_away.txt")
    return path


def test_the_triton_op_runs_without_registering(folder: Path) -> None:
    """At every batch, in a branch too, as one node and as the launch of its body."""
    printed = run(folder, _CHECK + """
for name in ("plain", "branching"):
    program = load(name + ".opweave")
    assert "llvmlite" not in sys.modules or name != "plain"
    check(program, name)
    simple = program.run_decompositions()
    check(simple, name)
    save(simple, "again.opweave")
    check(load("again.opweave"), name)
    print([str(node.target) for node in simple.graph if node.op == "call_function"])
assert not [name for name in opweave.registry.op.registry.operators if name.startswith("show")]
for batch in (1, 513):
    try:
        program.module()(opweave.zeros(batch, 6))
    except ShapeError as error:
        print(error.what)
""")  # fmt: skip
    first, second, *refusals = printed.splitlines()
    assert "triton_kernel_wrapper_mutation" in first and "show" not in first + second
    assert refusals == [
        f"branching: dim 0 of x is {batch}, outside of [2, 512]" for batch in (1, 513)
    ]  # fmt: skip


def test_it_can_be_looked_at_and_lists_what_is_missing(folder: Path) -> None:
    printed = run(folder, _CHECK + """
program = load("whole.opweave")
print(program)
print(program.range_constraints)
x = opweave.from_numpy(np.load("x8.npy"))
for act in (program.module(), program.run_decompositions().module()):
    try:
        act(x)
    except ExportError as error:
        print("MISSING", error)
save(program, "copy.opweave")
assert open("copy.opweave", "rb").read() == open("whole.opweave", "rb").read()
""")  # fmt: skip
    for line in (
        'gelu: "f32[s0, 6]" = ops.show.gelu.default(mm)',
        'def true_graph_0(gelu: "f32[s0, 6]", ',
        'normed: "f32[s0, 6]" = ops.show.normed.default(gelu, 2.0)',
        'gelu_1: "f32[s0, 6]" = ops.show.gelu.default(gelu)',
        "ops.cond(gt, true_graph_0, false_graph_0, (gelu, ",
        "{'s0': (2, 512)}",
        "show::normed(Tensor x, float scale) -> Tensor",
    ):
        assert line in printed, printed
    assert printed.count("MISSING") == printed.count("calls 1 op that nothing is registered for") == 2
    assert "show::gelu" not in printed


def test_all_of_it_runs_once_the_custom_op_is_registered(folder: Path) -> None:
    run(folder, _CHECK + """
early = load("whole.opweave")
from opweave.library import custom_op

@custom_op("show::normed", mutates_args=())
def normed(x: opweave.Tensor, scale: float) -> opweave.Tensor:
    a = x.numpy()
    return opweave.from_numpy((a / (1 + np.abs(a).max(1, keepdims=True)) * scale).astype(np.float32))

for program in (early, load("whole.opweave"), early.run_decompositions()):
    check(program, "whole")
""")  # fmt: skip


def test_both_branches_are_taken(folder: Path) -> None:
    """The test's own premise: the inputs of each batch go both ways."""
    for batch in _BATCHES:
        sums = []
        for sign in "xy":
            weight = np.random.default_rng(1).standard_normal((6, 6)).astype(np.float32)
            v = np.load(folder / f"{sign}{batch}.npy") @ weight
            sums.append(float((v / (1 + np.exp(-1.702 * v))).sum() > 0))
        assert sums == [1.0, 0.0]
