"""Every op with declared samples gives under `vmap` what it gives for each example alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from op_samples import DEFAULT_DTYPES, as_list, maker

import opweave
from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, registry
from opweave.registry.tensor import Tensor

SIZE = 3
#: The number of elements in a result depends on data.
DATA_DEPENDENT = {"aten::nonzero", "aten::masked_select"}
DATA_DEPENDENT |= {"aten::repeat_interleave.Tensor", "aten::repeat_interleave.self_Tensor"}
#: Run for one example after the other, which says so in a warning.
WITHOUT_RULE = {"aten::_embedding_bag", "aten::_ctc_loss"}
MODES = ("front", "back", "second", "first only", "all but first")
WANTED = (dtypes.float32, dtypes.int64, dtypes.int8, dtypes.bool_, dtypes.complex64)


#: What these give depends on strides, which stacking changes; `test_views.py` has them.
LAYOUT = {
    "aten::as_strided",
    "aten::as_strided_",
    "aten::view",
    "aten::_unsafe_view",
    "aten::view_as",
    "aten::view.dtype",
    "aten::resize_",
    "aten::resize_as_",
}


def _is_random(op: OpOverload) -> bool:
    return "nondeterministic_seeded" in (op.decl.functional or op).tags


TESTED = [
    op
    for op in registry.operators.values()
    if op.decl
    and op.decl.samples
    and op.name not in DATA_DEPENDENT | LAYOUT | WITHOUT_RULE
    and op.decl.kind != "generator"
    and any("Tensor" in str(a.type) for a in op._schema.arguments)
    and not _is_random(op)
]


def leaves(value: Any) -> list[Tensor]:
    """The tensors among arguments, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in leaves(item)] if isinstance(value, (list, tuple)) else []


def filled(value: Any, tensors: Iterator[Tensor]) -> Any:
    """The arguments with other tensors."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {key: filled(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(filled(item, tensors) for item in value)
    return value


def fresh(t: Tensor) -> Tensor:
    return Tensor._from_array(np.array(t.numpy()))


def dims_of(mode: str, tensors: list[Tensor]) -> list[int | None]:
    """Where each tensor's examples are counted."""
    if mode == "front":
        return [0] * len(tensors)
    if mode == "back":
        return [t.ndim for t in tensors]
    if mode == "second":
        return [min(1, t.ndim) for t in tensors]
    alternate: list[int | None] = [0 if (i == 0) == (mode == "first only") else None for i in range(len(tensors))]
    return alternate


def examples(op: OpOverload, dtype: DType) -> Iterator[list[Any]]:
    """Each sample as a list of `SIZE` calls that differ in values."""
    each = [list(op.decl.samples(maker(dtype, seed))) for seed in range(SIZE)]
    for calls in zip(*each, strict=True):
        yield [(args, kwargs) for args, kwargs in calls]


def run_alone(op: OpOverload, call: Any) -> list[Tensor]:
    args, kwargs = filled(call, iter([fresh(t) for t in leaves(call)]))
    return [t for t in as_list(op(*args, **kwargs)) if t is not None]


def check(op: OpOverload, dtype: DType, mode: str) -> int:
    """Compare all samples; how many there were."""
    count = 0
    for calls in examples(op, dtype):
        tensors = [leaves(call) for call in calls]
        if not tensors[0]:
            continue
        dims = dims_of(mode, tensors[0])
        if all(dim is None for dim in dims) or (op.is_mutable and dims[0] is None):
            continue
        shared = [t if dim is None else None for t, dim in zip(tensors[0], dims, strict=True)]
        calls = [
            filled(call, iter([t if s is None else s for t, s in zip(own, shared, strict=True)]))
            for call, own in zip(calls, tensors, strict=True)
        ]
        try:
            expected = [run_alone(op, call) for call in calls]
        except OpweaveError:
            continue  # not for this type
        batches = [
            fresh(t) if dim is None else Tensor._from_array(np.stack([own[i].numpy() for own in tensors], dim))
            for i, (t, dim) in enumerate(zip(tensors[0], dims, strict=True))
        ]

        def one(*given: Tensor, call: Any = calls[0]) -> Any:
            args, kwargs = filled(call, iter(given))
            return tuple(t for t in as_list(op(*args, **kwargs)) if t is not None)

        found = opweave.vmap(one, in_dims=tuple(dims))(*batches)
        assert len(found) == len(expected[0]), (op, calls[0])
        for i, t in enumerate(found):
            wanted = np.stack([results[i].numpy() for results in expected])
            note = f"{op} {mode} {calls[0]}"
            assert t.dtype is expected[0][i].dtype, note
            assert tuple(t.shape) == wanted.shape, note
            if dtype.kind in "fc":
                np.testing.assert_allclose(t.numpy(), wanted, rtol=1e-5, atol=1e-5, err_msg=note)
            else:
                np.testing.assert_array_equal(t.numpy(), wanted, err_msg=note)
        count += 1
    return count


@pytest.mark.parametrize("op", TESTED, ids=str)
def test_a_batch_gives_what_each_example_gives(op: OpOverload) -> None:
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no op is run for one example after the other
        for dtype in op.decl.sample_dtypes or DEFAULT_DTYPES:
            if dtype in WANTED:
                for mode in MODES:
                    # It needs pairs that lie next to each other, which examples counted last keep apart.
                    if mode not in ("back", "second") or op.opname != "view_as_complex":
                        count += check(op, dtype, mode)
    assert count


def test_an_op_without_a_rule_warns_at_the_user_s_line() -> None:
    @opweave.library.custom_op("vmap_every::no_rule", mutates_args=())
    def no_rule(x: opweave.Tensor) -> opweave.Tensor:
        return x.clone()

    with pytest.warns(UserWarning, match="no batching rule") as caught:
        opweave.vmap(no_rule)(opweave.ones(2, 3))
    assert caught[0].filename == __file__
