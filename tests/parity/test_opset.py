"""The core opset is PyTorch's: the same ops, with the same schemas."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the opset is that of PyTorch, which is not installed")

from opweave.opset import CORE
from opweave.registry.op import registry


def theirs(name: str):
    opname, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, opname), overload or "default")


def test_the_list_is_what_pytorch_tags_as_core():
    names = {name[6:] for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")}
    assert {name for name in names if torch.Tag.core in theirs(name).tags} == set(CORE)
    assert len(CORE) == len(set(CORE))


@pytest.mark.parametrize("name", CORE)
def test_schema(name):
    assert str(registry.find(f"aten::{name}")._schema) == str(theirs(name)._schema)
