"""Where there is no Triton, as on macOS and Windows: what works, and what says that it cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import opweave

PROGRAM = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "triton":
            raise ModuleNotFoundError("No module named 'triton'", name=name)

sys.meta_path.insert(0, Blocked())
import opweave
from opweave import nn
from opweave.registry.errors import MissingTritonError

x = opweave.randn(4, 3, requires_grad=True)
(x * x).softmax(-1).sum().backward()
data = x.detach()
assert opweave.vmap(lambda row: row * 2)(data).shape == (4, 3)
assert opweave.func.grad(lambda row: (row * row).sum())(data).tolist() == (2 * data).tolist()
assert len(opweave.make_fx(lambda a: a.softmax(-1), tracing_mode="symbolic")(data).graph) > 2
op = opweave.library.custom_op("nt::f", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
op.register_fake(lambda x: opweave.empty_like(x))
assert set(opweave.library.opcheck(op, (data,)).values()) == {"SUCCESS"}
layer = nn.Linear(3, 2)
layer(data).sum().backward()
opweave.optim.Adam(layer.parameters()).step()
assert opweave.compile(lambda a: a * 2 + 1, backend="eager")(data).tolist() == (data * 2 + 1).tolist()

def tries(*needs):
    for number, need in enumerate(needs):
        try:
            need()
        except MissingTritonError as error:
            assert error.got and "pip install triton" in error.hint and isinstance(error, ImportError)
        else:
            raise AssertionError(number)

tries(
    lambda: opweave.compile(lambda a: (a * 2 + 1).softmax(-1))(data),
    lambda: opweave.explain(lambda a: a * 2 + 1)(data),
    lambda: opweave.sanitize(),
    lambda: opweave.library.wrap_triton(3),
)
print("fine")
"""


def test_parts_work_and_the_rest_says_so(tmp_path: Path) -> None:
    env = {"OPWEAVE_CACHE": "0", "PYTHONPATH": str(Path(opweave.__path__[0]).parent), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
