"""What PyTorch's public modules hold, by name: `opweave/compat/pytorch.txt` is made of it.

python tests/parity/names_of_pytorch.py > opweave/compat/pytorch.txt
"""

from __future__ import annotations

import importlib
import io
import pkgutil
import sys
import textwrap
import types
import typing
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import torch

#: Modules of tests and examples, the insides of compilers and exporters, which no package takes names from, and what
#: packages take for a sign that processes can talk to each other.
_LEFT_OUT = (
    "torch.testing", "torch.contrib", "torch.utils.benchmark", "torch.utils.tensorboard",
    "torch.onnx.symbolic_opset", "torch.fx.experimental.migrate_gradual_types", "torch.fx.experimental.unification",
    "torch.utils.hipify", "torch.jit.frontend", "torch.package.analyze", "torch.ao.quantization.backend_config",
    "torch.ao.quantization.quantizer", "torch.ao.ns.fx", "torch.distributed.elastic", "torch.distributed.launcher",
    "torch.distributed.rpc", "torch.distributed.benchmarks", "torch.distributed.pipelining.",
    "torch.utils.data.datapipes.utils.decoder", "torch.fx.passes.tests", "torch.utils.model_dump",
    "torch.utils.viz",
)  # fmt: skip
#: Where a thing is looked for first: elsewhere its name is another one for what is there.
HOMES = (
    "torch", "torch.nn", "torch.nn.functional", "torch.nn.utils", "torch.nn.utils.rnn", "torch.nn.utils.parametrize",
    "torch.optim", "torch.optim.lr_scheduler", "torch.autograd", "torch.autograd.forward_ad", "torch.utils.data",
    "torch.utils.checkpoint", "torch.distributions", "torch.distributions.constraints", "torch.linalg", "torch.func",
    "torch.fx", "torch.export", "torch.library", "torch.amp", "torch.serialization", "torch.cuda", "torch.jit",
)  # fmt: skip
_DEPTH = 4  # torch.nn.modules.conv


def _is_public(name: str) -> bool:
    parts = name.split(".")
    return len(parts) <= _DEPTH and not any(part.startswith("_") for part in parts) and not name.startswith(_LEFT_OUT)


def modules() -> Iterator[str]:
    """Names of the public modules."""
    yield "torch"
    for info in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        if _is_public(info.name):
            try:
                importlib.import_module(info.name)
            except ImportError:
                continue  # it wants a package that is not there
            yield info.name


def contents(name: str) -> Iterator[tuple[str, Any]]:
    """Names that a module says are its own, its constants, and what is defined in it or elsewhere in PyTorch."""
    module = sys.modules[name]
    shown = set(getattr(module, "__all__", ()))
    for key, value in vars(module).items():
        if key.startswith("__") or isinstance(value, types.ModuleType):
            continue
        home = getattr(value, "__module__", None)
        is_theirs = isinstance(home, str) and home.partition(".")[0] == "torch" and not key.startswith("_")
        is_constant = key.isupper() or (typing.get_origin(value) is not None and not key.startswith("_"))
        if key in shown or home == name or is_theirs or is_constant:
            yield key, value


def _lines(name: str, words: list[str]) -> list[str]:
    return textwrap.wrap(f"{name}: {' '.join(words)}".rstrip(), 120, subsequent_indent=" ")


def page() -> str:
    """The file: of each module, and of ATen, its names, and behind `@` those of things that are at home in another."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        names = list(modules())
        homes: dict[int, tuple[str, str]] = {}
        for home in HOMES:
            for key, value in contents(home):
                if callable(value) and not key.startswith("_"):
                    homes.setdefault(id(value), (home, key))
        lines: list[str] = []
        for name in sorted(names):
            groups: dict[str, list[str]] = {"": []}
            for key, value in contents(name):
                home, there = homes.get(id(value), (name, key))
                same = home == name or key != there
                groups.setdefault("" if same else home, []).append(key)
            own = groups.pop("")
            words = [*sorted(own), *(w for home in sorted(groups) for w in (f"@{home}", *sorted(groups[home])))]
            lines += _lines(name, words)
        every = torch._C._dispatch_get_all_op_names()
        ops = {op.removeprefix("aten::").partition(".")[0] for op in every if op.startswith("aten::")}
        lines += _lines("torch.ops.aten", sorted(ops))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
