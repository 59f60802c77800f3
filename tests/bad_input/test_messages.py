"""Mistakes that users make and what they are told, as expected text: `messages.txt`.

Each entry is an expression, as one types it, and the error below it. `EXPECTTEST_ACCEPT=1` writes the file anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave import Tensor, library
from opweave.registry.errors import OpweaveError, Site

FILE = Path(__file__).with_name("messages.txt")
ENTRY = re.compile(r"^>>> (.*)\n((?:(?!>>>|====|\n).*\n)*)", re.M)
ENTRIES = [(match[1], match[2].rstrip(), FILE.read_text().count("\n", 0, match.start()) + 1)
           for match in ENTRY.finditer(FILE.read_text())]  # fmt: skip


@triton.jit
def double(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def op(body: Any = lambda x: x.clone(), fake: Any = None, schema: str = "(Tensor x) -> Tensor") -> Any:
    """A custom op, always of the same name."""
    made = library.custom_op("demo::f", body, mutates_args=(), schema=schema)
    if fake is not None:
        made.register_fake(fake)
    return made


def differentiable(backward: Any) -> Any:
    made = op()
    made.register_autograd(backward)
    return made


def batchable(rule: Any) -> Any:
    made = op()
    made.register_vmap(rule)
    return made


def add_one(x: Tensor) -> Tensor:
    return x.add_(1).clone()


class Twice(opweave.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g, g


class Uninitialized(opweave.nn.Module):
    def __init__(self):
        self.layer = opweave.nn.Linear(3, 2)


class Misnamed(opweave.nn.Module):
    def foward(self, x):
        return x


def used_twice() -> None:
    parameters = opweave.nn.Linear(3, 2).parameters()
    opweave.optim.SGD(parameters, lr=0.1)
    opweave.optim.SGD(parameters, lr=0.1)


def leaf() -> Tensor:
    return opweave.ones(3, requires_grad=True)


def backward_twice() -> None:
    loss = (leaf() * leaf()).sum()
    loss.backward()
    loss.backward()


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)

    def file(name: str, data: bytes = b"hello world, this is text") -> str:
        Path(name).write_bytes(data)
        return name

    opweave.manual_seed(0)
    x = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    return {**globals(), "x": x, "out": opweave.empty(6), "scores": opweave.ones(4, 5), "file": file, "np": np,
            "F": opweave.nn.functional, "nn": opweave.nn, "library": opweave.library,
            "optim": opweave.optim, "data": opweave.utils.data, "v": leaf()}  # fmt: skip


def told(expression: str, line: int, names: dict[str, Any]) -> str:
    """The error of an expression that stands at a line of the file, after a look at its parts."""
    code = compile("\n" * (line - 1) + expression, str(FILE), "eval")
    with pytest.raises(OpweaveError) as caught:
        eval(code, names)
    error = caught.value
    assert error.got, f"no `got`:\n{error}"
    assert error.hint, f"no `hint`:\n{error}"
    assert isinstance(error.at, Site) and error.at.line > 0
    text = f"{type(error).__name__}: {error}".replace(f"messages.txt:{line} in <module>", "<this line>")
    text = text.replace(f"messages.txt:{line} in <lambda>", "<this line>, in the function")
    return re.sub(r"test_messages.py:\d+", "test_messages.py:N", text)


@pytest.mark.parametrize(("expression", "expected", "line"), ENTRIES, ids=[entry[0] for entry in ENTRIES])
def test_message(expression: str, expected: str, line: int, names: dict[str, Any]) -> None:
    found = told(expression, line, names)
    if os.environ.get("EXPECTTEST_ACCEPT"):
        text = FILE.read_text()
        FILE.write_text(
            text.replace(f">>> {expression}\n{expected}", f">>> {expression}\n{found}" + "\n" * (not expected), 1)
        )
    else:
        assert found == expected


def test_there_are_a_hundred() -> None:
    assert len({expression for expression, _, _ in ENTRIES}) >= 100


def test_a_name_that_is_close_is_named() -> None:
    for holder, name, close in ((opweave, "sotfmax", "softmax"), (opweave.ops.aten, "sotfmax", "softmax")):
        with pytest.raises(AttributeError) as caught:
            getattr(holder, name)
        assert str(caught.value).endswith(f". Did you mean: {close!r}?")
        assert caught.value.name == name and not hasattr(holder, "nothing_like_it_at_all")
    with pytest.raises(AttributeError) as caught:
        _ = opweave.profiler
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_sequence_of_modules_says_which_one_it_was(compiled: bool) -> None:
    nn = opweave.nn
    net: Any = nn.Sequential(nn.Linear(3, 8), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    with pytest.raises(OpweaveError) as caught:
        (opweave.compile(net) if compiled else net)(opweave.ones(2, 3))
    assert caught.value.__notes__ == [
        "  in:   Sequential[1], Linear(in_features=4, out_features=2, bias=True)",
        "  in:   Sequential[1], Sequential()",
    ]
