"""The table of the core opset: what the documentation shows is what the ops do."""

from __future__ import annotations

from pathlib import Path

import pytest

from opweave.opset import CAPABILITIES, CORE, PAGE, row, table

PAGE_FILE = Path(__file__).parents[1] / "docs" / "opset.md"


@pytest.mark.filterwarnings("ignore:vmap")
def test_the_page_is_what_the_ops_do():
    assert PAGE_FILE.read_text() == PAGE.format(table=table(CORE, markdown=True))


def test_a_row_tells_what_is_not_there():
    assert row("add.Tensor") == ["yes", "yes", "yes", "yes", "yes", "kernel", "in-place, out="]
    assert row("no_such_op") == ["missing"] * len(CAPABILITIES)
    assert row("resize_")[:3] == ["yes", "yes", "refused"]
    assert row("nonzero")[3:6] == ["-", "-", "call"]
