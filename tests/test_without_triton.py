"""Where there is no Triton, as on macOS and Windows: what works, and what says that it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opweave

ROOT = Path(opweave.__path__[0]).parent
TESTS = Path(__file__).parent
PROGRAM = """
import numpy as np

import opweave
from opweave import Tensor, nn
from opweave.registry.errors import MissingTritonError

x = opweave.randn(4, 3, requires_grad=True)
(x * x).softmax(-1).sum().backward()
data = x.detach()
assert opweave.vmap(lambda row: row * 2)(data).shape == (4, 3)
assert opweave.func.grad(lambda row: (row * row).sum())(data).tolist() == (2 * data).tolist()
with opweave.autocast("cpu", dtype=opweave.bfloat16):
    assert (data @ data.T).dtype is opweave.bfloat16
assert len(opweave.make_fx(lambda a: a.softmax(-1), tracing_mode="symbolic")(data).graph) > 2

# Products, convolutions, erf and halves, which native code has on Linux.
half = opweave.randn(300, 300).bfloat16()
wide = half.float()
np.testing.assert_allclose((half @ half).float().numpy(), wide.numpy() @ wide.numpy(), rtol=1e-2, atol=0.2)
image = opweave.randn(2, 3, 8, 8)
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(), nn.Linear(144, 2))
optimizer = opweave.optim.Adam(net.parameters())
before = nn.functional.cross_entropy(net(image), opweave.tensor([0, 1]))
before.backward()
optimizer.step()
assert nn.functional.cross_entropy(net(image), opweave.tensor([0, 1])) < before


@opweave.library.custom_op("nt::cumsum", mutates_args=())
def cumsum(x: Tensor) -> Tensor:
    return opweave.from_numpy(np.cumsum(x.numpy(), -1))


cumsum.register_fake(lambda x: opweave.empty_like(x))
cumsum.register_autograd(
    lambda ctx, grad: cumsum(grad.flip(-1)).flip(-1), setup_context=lambda ctx, inputs, output: None
)
cumsum.register_vmap(lambda info, in_dims, x: (cumsum(x.movedim(in_dims[0], 0)), 0))
assert set(opweave.library.opcheck(cumsum, (data.clone().requires_grad_(),)).values()) == {"SUCCESS"}
assert set(opweave.library.opcheck(cumsum, (data,), level="thorough").values()) == {"SUCCESS"}

eager = opweave.compile(lambda a: (cumsum(a) * 2 + 1).sum(), backend="eager")
leaf = data.clone().requires_grad_()
eager(leaf).backward()
assert leaf.grad.tolist() == [[6, 4, 2]] * 4
found = opweave.explain(lambda a: (a * 2 + 1).sin())(data)
assert found.versions[0].kernel_count == 1 and "fused: mul, add, sin" in str(found)
assert "kernels" in str(opweave.explain(eager)(data))
with opweave.profile() as profile:
    data.sin()
assert profile.kernels == []

program = opweave.export.export(net.eval(), (image,))
opweave.export.save(program, "net.opweave")
again = opweave.export.load("net.opweave").module(compile=False)
np.testing.assert_allclose(again(image).detach().numpy(), net(image).detach().numpy(), rtol=1e-5, atol=1e-6)
opweave.save(net.state_dict(), "net.pt")
net.load_state_dict(opweave.load("net.pt"))


@opweave.library.triton_op("nt::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    opweave.library.wrap_triton(None)[(1,)](x, out)
    return out


def tries(*needs):
    for number, need in enumerate(needs):
        try:
            need()
        except MissingTritonError as error:
            assert error.got and "backend='eager'" in error.hint and isinstance(error, ImportError)
            assert "program.py" in str(error), str(error)
        else:
            raise AssertionError(number)


tries(
    lambda: opweave.compile(lambda a: (a * 2 + 1).softmax(-1))(data),
    lambda: opweave.compile(net)(image),
    lambda: opweave.report(lambda a: a * 2 + 1)(data),
    lambda: opweave.export.load("net.opweave").module()(image),
    lambda: opweave.export.compile(program, "net.so"),
    lambda: opweave.sanitize(),
    lambda: opweave.library.wrap_triton(3),
    lambda: twice(data),
)
print("fine")
"""


def _run(system: str, tmp_path: Path, *args: str, tests: bool = False) -> subprocess.CompletedProcess[str]:
    env = {"OPWEAVE_CACHE": "0", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [sys.executable, str(TESTS / "helpers" / "elsewhere.py"), system, *args]
    folder = ROOT if tests else tmp_path
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_parts_work_and_the_rest_says_so(system: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = _run(system, tmp_path, "program.py")
    assert done.stdout == "fine\n", done.stderr


@pytest.mark.parametrize("system", ["linux", "win32"])
def test_a_part_of_the_tests(system: str, tmp_path: Path) -> None:
    files = ("registry/test_op.py", "registry/test_autocast.py", "registry/test_custom_op.py", "fake/test_fake.py",
             "tracer/test_make_fx.py", "tracer/test_graph.py")  # fmt: skip
    named = [str(TESTS / name) for name in files]
    done = _run(
        system,
        tmp_path,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={tmp_path / 'base'}",
        *named,
        tests=True,
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import opweave\ndef f(x):\n    return x.sin() + 1\nif __name__ == '__main__':\n"
        "    print(opweave.compile(f, backend='eager')(opweave.zeros(2)).tolist())\n"
    )
    done = _run("linux", tmp_path, "-m", "opweave", "run", "script.py")
    assert done.stdout == "[1.0, 1.0]\n", done.stderr
    done = _run("linux", tmp_path, "-m", "opweave", "report", "script.py")
    assert "Traceback" not in done.stderr, done.stderr
    assert _run("linux", tmp_path, "-m", "opweave", "cache").returncode == 0


def test_pytest_says_that_it_cannot_check_kernels(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    done = _run("linux", tmp_path, "-m", "pytest", "--opweave-sanitize", "test_it.py")
    assert done.returncode == 4 and "--opweave-sanitize: Triton is not installed" in done.stderr + done.stdout
    assert "INTERNALERROR" not in done.stderr + done.stdout
