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


def _strings(tree: ast.AST) -> list[str]:
    return [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


@cache
def _kinds() -> set[str]:
    todo, found = [Kind], set[str]()
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        if "kind" in vars(cls):
            found.add(vars(cls)["kind"])
    return found


class Module:
    """A module of the package: its path from the root, its text, and its tree, node by node."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.tree = ast.parse(text)
        self.nodes = list(ast.walk(self.tree))


def comparisons_of_kinds(module: Module) -> Iterator[str]:
    """Where something is decided by the name of an op's kind, which a method of the kind would answer."""
    if module.path.startswith("registry/ops/kinds/"):
        return
    for node in module.nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asks = any(isinstance(s, ast.Attribute) and s.attr == "kind" for s in sides)
            if asks and _kinds() & {s for side in sides for s in _strings(side)}:
                yield f"{module.path}:{node.lineno}"


@cache
def _bases() -> set[str]:
    bases = {name.removeprefix("aten::") for name in registry.operators if name.startswith("aten::")}
    return bases | {name.partition(".")[0] for name in bases}


def names_of_ops(module: Module) -> Iterator[str]:
    """Strings that name registered ops, alone or as most of a text's words: facts that belong on the declarations."""
    if module.path.startswith(("registry/ops/", PUBLISHED, *SURFACE, *TRITON)):
        return
    bases, words = _bases(), {*VOCABULARY, *_kinds(), *COMMON}
    offered = {id(n) for s in module.tree.body if isinstance(s, ast.Assign) and "__all__" in ast.unparse(s.targets[0])
               for n in ast.walk(s)}  # fmt: skip
    for node in module.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in offered:
            continue
        if node.value.removeprefix("aten::") in bases and node.value not in words:
            yield f"{module.path}:{node.lineno} {node.value}"
        named = [word for word in node.value.split() if word in bases]
        if len(named) > 3 and len(named) > 0.5 * len(node.value.split()):
            yield from (f"{module.path}:{node.lineno} {name}" for name in named)


def own_imports_in_functions(module: Module) -> Iterator[str]:
    functions = [n for n in module.nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    own = {n for n in module.nodes if isinstance(n, ast.Import | ast.ImportFrom) and n.col_offset and _is_own(n)}
    if own:
        inner = (node for function in functions for node in ast.walk(function) if node in own)
        yield from (f"{module.path}:{node.lineno}" for node in dict.fromkeys(inner))


def _is_own(node: ast.Import | ast.ImportFrom) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
    return any(name.split(".")[0] == "opweave" for name in names)


def long_files(module: Module) -> Iterator[str]:
    if (lines := module.text.count("\n")) > LONGEST:
        yield f"{module.path} {lines}"


#: Each count, and how many there may be. Two names are of a function of `opweave.linalg`, for its messages.
CEILINGS = {comparisons_of_kinds: 0, names_of_ops: 2, own_imports_in_functions: 0, long_files: 0}


@cache
def places() -> dict[str, list[str]]:
    """What each counts, in one go: all trees together would be most of the heap, for all tests that come after."""
    found: dict[str, list[str]] = {count.__name__: [] for count in CEILINGS}
    for path, text in sources():
        module = Module(path, text)
        for count in CEILINGS:
            found[count.__name__] += count(module)
    return found


@pytest.mark.parametrize("count", CEILINGS, ids=lambda count: count.__name__)
def test_there_are_no_more_of_them(count: Callable[[Module], Iterator[str]]) -> None:
    found = places()[count.__name__]
    assert len(found) <= CEILINGS[count], "\n".join(found)


if __name__ == "__main__":
    for name, found in places().items():
        print(f"{name}: {len(found)}", *found, sep="\n    ")
