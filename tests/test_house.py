"""Counts that keep the house in order: facts stand once, and imports and files stay as the architecture has them.

`python tests/test_house.py` prints every place that is counted.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import opweave  # noqa: F401  (declares the ops)
from opweave.registry.op import registry
from opweave.registry.ops.kinds.base import Kind
from opweave.registry.scalar import VOCABULARY

ROOT = Path(__file__).parents[1]
STAGES = ("registry", "fake", "tracer", "passes", "codegen", "runtime")
LONGEST = 600
#: Words that ops have in common with expressions of sizes and of kernels, and with Python.
COMMON = frozenset(
    "add sub mul div min max eq ne lt le gt ge any all sum prod argmax argmin clamp threshold "
    "index slice complex random stack real imag inner full pad alias t put_ conj view_copy".split()
)
#: The core set of ops, as PyTorch publishes it.
PUBLISHED = "registry/core_opset.py"
#: Where words are options and names of functions, as PyTorch has them.
SURFACE = ("opweave/masked.py", "opweave/nn/", "opweave/opcheck/", "opweave/signal/")
#: Where strings of Triton's own operations and functions stand.
TRITON = ("codegen/triton_cpu/", "codegen/instructions/", "registry/triton/")


def sources() -> Iterator[tuple[str, str]]:
    """(path from the root, text) of each module of the package."""
    own = [p for stage in STAGES for p in (ROOT / stage).rglob("*.py")]
    own += [p for p in (ROOT / "opweave").rglob("*.py") if p.relative_to(ROOT / "opweave").parts[0] not in STAGES]
    for path in sorted(own):
        yield str(path.relative_to(ROOT)), path.read_text()


@cache
def modules() -> list[tuple[str, ast.Module]]:
    return [(path, ast.parse(text)) for path, text in sources()]


def _strings(tree: ast.AST) -> list[str]:
    return [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _kinds() -> set[str]:
    todo, found = [Kind], set[str]()
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        if "kind" in vars(cls):
            found.add(vars(cls)["kind"])
    return found


def comparisons_of_kinds() -> Iterator[str]:
    """Where something is decided by the name of an op's kind, which a method of the kind would answer."""
    kinds = _kinds()
    for path, tree in modules():
        if path.startswith("registry/ops/kinds/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                asks = any(isinstance(s, ast.Attribute) and s.attr == "kind" for s in sides)
                if asks and kinds & {s for side in sides for s in _strings(side)}:
                    yield f"{path}:{node.lineno}"


def names_of_ops() -> Iterator[str]:
    """Strings that name registered ops, alone or as most of a text's words: facts that belong on the declarations."""
    bases = {name.removeprefix("aten::") for name in registry.operators if name.startswith("aten::")}
    bases |= {name.partition(".")[0] for name in bases}
    words = {*VOCABULARY, *_kinds(), *COMMON}
    for path, tree in modules():
        if path.startswith(("registry/ops/", PUBLISHED, *SURFACE, *TRITON)):
            continue
        offered = {id(n) for s in tree.body if isinstance(s, ast.Assign) and "__all__" in ast.unparse(s.targets[0])
                   for n in ast.walk(s)}  # fmt: skip
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in offered:
                continue
            if node.value.removeprefix("aten::") in bases and node.value not in words:
                yield f"{path}:{node.lineno} {node.value}"
            named = [word for word in node.value.split() if word in bases]
            if len(named) > 3 and len(named) > 0.5 * len(node.value.split()):
                yield from (f"{path}:{node.lineno} {name}" for name in named)


def own_imports_in_functions() -> Iterator[str]:
    for path, tree in modules():
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
        for node in dict.fromkeys(inner for function in functions for inner in ast.walk(function)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if any(name.split(".")[0] == "opweave" for name in names):
                yield f"{path}:{node.lineno}"


def long_files() -> Iterator[str]:
    for path, text in sources():
        if (lines := text.count("\n")) > LONGEST:
            yield f"{path} {lines}"


#: Each count, and how many there may be. Two names are of a function of `opweave.linalg`, for its messages.
CEILINGS = {comparisons_of_kinds: 0, names_of_ops: 2, own_imports_in_functions: 0, long_files: 0}


@pytest.mark.parametrize("count", CEILINGS, ids=lambda count: count.__name__)
def test_there_are_no_more_of_them(count: Callable[[], Iterator[str]]) -> None:
    places = list(count())
    assert len(places) <= CEILINGS[count], "\n".join(places)


if __name__ == "__main__":
    for count in CEILINGS:
        places = list(count())
        print(f"{count.__name__}: {len(places)}", *places, sep="\n    ")
