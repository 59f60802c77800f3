"""The dict that keeps a graph's nodes in program order, against a list."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, strategies as st

from opweave.tracer.order import Cell, OrderedNodes

actions = st.sampled_from(["add", "insert", "move", "move_last", "remove"])
steps = st.lists(st.tuples(actions, st.integers(0, 30)), max_size=60)


@given(steps)
def test_same_as_a_list(actions: list[tuple[str, int]]) -> None:
    order, model, serial = OrderedNodes(), [], 0
    for action, position in actions:
        key = model[position % len(model)] if model else None
        if action == "add" or key is None:
            order[serial] = Cell()
            model.append(serial)
            serial += 1
        elif action == "insert":
            order.cursor = order.cell(key)
            order[serial] = Cell()
            order.cursor = order.end
            model.insert(model.index(key), serial)
            serial += 1
        elif action == "remove":
            del order[key]
            model.remove(key)
        else:
            other = model[0]
            moved = model.pop(model.index(key))
            order.move(key, order.end if action == "move_last" else order.cell(other))
            model.insert(len(model) if action == "move_last" or moved == other and not model else 0, moved)
        assert list(order) == model
    assert list(reversed(order)) == model[::-1]
    assert list(order.keys()) == model
    assert [key for key, _ in order.items()] == model
    numbers = [order.number(key) for key in model]
    assert numbers == sorted(set(numbers))


def test_numbers_never_run_out() -> None:
    order = OrderedNodes()
    order["first"] = Cell()
    order["last"] = Cell()
    for i in range(500):
        order.cursor = order.cell("last")
        order[i] = Cell()
    numbers = [order.number(key) for key in order]
    assert numbers == sorted(set(numbers))
    assert list(order) == ["first", *range(500), "last"]


def test_changes_while_iterating() -> None:
    order: Any = OrderedNodes()
    for i in range(6):
        order[i] = Cell()
    seen = []
    for key in order:
        seen.append(key)
        if key == 1:
            del order[1], order[2]
        if key == 3:
            order.cursor = order.cell(4)
            order["new"] = Cell()
    assert seen == [0, 1, 3, "new", 4, 5]


def test_cells_copy_as_plain_dicts() -> None:
    order: Any = OrderedNodes()
    order["a"] = Cell(op="x")
    assert type(copy.deepcopy(order["a"])) is dict
    assert copy.copy(order["a"]) == {"op": "x"}
    order.clear()
    assert list(order) == []
