"""Every op runs on symbolic sizes, and gives at the example what it gives there on plain ones."""

from __future__ import annotations

from typing import Any

import pytest
from op_samples import DEFAULT_DTYPES, as_list, maker, replace_tensors

from opweave.fake.mode import FakeTensorMode
from opweave.fake.shape_env import ShapeEnv
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, registry
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor

OPS = [
    op for op in registry.operators.values()
    if op.decl and op.decl.samples and (op.decl.functional or op).decl.samples
]  # fmt: skip


def plain(value: Any) -> Any:
    return value.hint if isinstance(value, Symbolic) else value  # type: ignore[attr-defined]  # symbolic numbers have one


def layout(t: Tensor) -> list[Any]:
    numbers = [*t._sizes, *t._strides, t._offset] if t.numel() else [*t._sizes]
    return [plain(number) for number in numbers]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_symbolic_sizes(op: OpOverload) -> None:
    count = 0
    for dtype in op.decl.sample_dtypes or DEFAULT_DTYPES:
        if count:
            break  # sizes do not depend on the type
        for (args, kwargs), (fake_args, fake_kwargs) in zip(
            op.decl.samples(maker(dtype)), op.decl.samples(maker(dtype)), strict=True
        ):
            try:
                expected = as_list(op(*args, **kwargs))
            except OpweaveError:
                continue  # not for this type
            mode = FakeTensorMode(shape_env=ShapeEnv())
            fakes = replace_tensors((fake_args, fake_kwargs), lambda t, mode=mode: mode.symbolic(t, "x"))
            with mode:
                found = as_list(op(*fakes[0], **fakes[1]))
            assert len(found) == len(expected)
            for mine, other in zip(found, expected, strict=True):
                if other is not None:
                    assert layout(mine) == layout(other), (op, args, kwargs)
                    assert mine._dtype is other._dtype
            count += 1
    assert count
