"""Nothing that parity tests let pass stands outside the table that the page on parity is made from."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

PARITY = Path(__file__).parent / "parity"
sys.path.insert(0, str(PARITY))

import differences

TABLES = {"differences.py", "oracle.py"}
FILES = sorted(p for p in PARITY.glob("*.py") if p.name.startswith("test_"))
#: Ways to compare with a tolerance; `oracle` has those that take it from the table.
LOOSE = {"assert_allclose", "assert_almost_equal", "isclose", "approx", "assert_close"}


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def tolerances(tree: ast.AST) -> list[int]:
    """Lines that compare with a tolerance of their own."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            own = any(word.arg in ("rtol", "atol") and _is_number(word.value) for word in node.keywords)
            if own or _name(node.func) in LOOSE:
                found.append(node.lineno)
    return found


def _is_number(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Constant) for part in ast.walk(node)) and not any(
        isinstance(part, ast.Attribute) for part in ast.walk(node)
    )


def passed_over(tree: ast.Module, text: str) -> list[int]:
    """Lines that pass over a case, neither by leave of the table nor with a word that it is no difference."""
    lines, found = text.splitlines(), []
    blocks: list[tuple[ast.AST, list[ast.stmt]]] = []
    for node in ast.walk(tree):
        for part in ("body", "orelse", "finalbody"):
            block = getattr(node, part, None)
            if isinstance(block, list):
                blocks.append((node, block))
    for owner, block in blocks:
        for statement in block:
            is_skip = isinstance(statement, ast.Expr) and _name(getattr(statement.value, "func", statement.value)) in (
                "skip", "xfail",
            )  # fmt: skip
            if not is_skip and not isinstance(statement, ast.Continue):
                continue
            asked = [owner.test] if isinstance(owner, ast.If) else []
            if isinstance(owner, (ast.If, ast.ExceptHandler)):
                asked += [part for part in block if isinstance(part, ast.Assert)]
            around = " ".join(ast.unparse(part) for part in asked)
            if "left_out(" not in around and "# no difference: " not in lines[statement.lineno - 1]:
                found.append(statement.lineno)
    return found


def marks(tree: ast.AST) -> list[int]:
    """Lines of marks that switch tests off."""
    return [
        node.lineno for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("skip", "skipif", "xfail") and _name(node.value) == "mark"
    ]  # fmt: skip


def strings(tree: ast.AST) -> list[str]:
    """The strings of a module as patterns; what is put into one may be anything."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in node.values]
            found.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            found.append(re.escape(node.value))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_tolerances_are_in_the_table(path):
    tree = ast.parse(path.read_text())
    assert not tolerances(tree), "take it from differences.TESTS: oracle.close(ours, theirs, 'name')"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_what_is_passed_over_is_in_the_table(path):
    text = path.read_text()
    tree = ast.parse(text)
    assert not passed_over(tree, text), "ask differences.left_out('name'), or say on the line: # no difference: why"
    assert not marks(tree)


def test_the_rules_find_what_they_are_for():
    text = (
        "for x in y:\n    if x:\n        continue\n    if left_out('a') and x:\n        continue\n"
        "    try:\n        f()\n    except E:\n        continue  # no difference: both refuse\n"
        "    np.testing.assert_allclose(x, y)\n    same(x, rtol=1e-3)\n    same(x, rtol=allowed.rtol)\n"
        "    pytest.skip('never')\n"
    )
    tree = ast.parse(text)
    assert tolerances(tree) == [10, 11]
    assert sorted(passed_over(tree, text)) == [3, 13]


def test_each_entry_is_used():
    known = [p for path in (*FILES, PARITY / "oracle.py") for p in strings(ast.parse(path.read_text()))]
    # A pattern of nothing but what is put in would be every name.
    known = [p for p in known if p.replace(".+", "").strip()]
    used = re.compile("|".join(f"(?:{p})" for p in known), re.DOTALL)
    names = [*differences.TESTS, *differences.INPUTS]
    assert [name for name in names if not used.fullmatch(name)] == []


def test_each_entry_has_a_reason():
    for table in (differences.OPS, differences.EVERYWHERE, differences.TESTS, differences.INPUTS,
                  differences.NOT_DIFFERENTIATED, differences.WRITTEN, differences.REGISTRATION):  # fmt: skip
        for name, difference in table.items():
            assert difference.reason, name
    with pytest.raises(KeyError):
        differences.left_out("what no table has")
