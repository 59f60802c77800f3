"""`out=` variants write what the functional op gives into the tensor they are given, and return that."""

from __future__ import annotations

import numpy as np
import pytest
from op_samples import as_list, maker

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError, ShapeError
from opweave.registry.op import OpOverload, registry
from opweave.registry.ops.kinds import OutDecl
from opweave.registry.tensor import Tensor, allocate


def variants() -> list[OpOverload]:
    found = [op for op in registry.operators.values() if isinstance(op.decl, OutDecl)]
    return [op for op in found if op.decl.functional.decl.samples is not None]


def poisoned(like: Tensor) -> Tensor:
    """Memory for a result, in other strides, that holds something else."""
    sizes = tuple(reversed(like._sizes))
    strides = [1]
    for size in sizes[:0:-1]:
        strides.insert(0, strides[0] * max(size, 1))
    made = allocate(sizes, tuple(strides) if sizes else (), like._dtype, like._device)
    made._array[...] = 1
    return opweave.permute(made, list(range(len(sizes)))[::-1])


@pytest.mark.parametrize("op", variants(), ids=str)
def test_out_is_written_and_returned(op):
    functional, count = op.decl.functional, 0
    for dtype in op.decl.functional.decl.sample_dtypes or (dtypes.float32, dtypes.int64):
        for args, kwargs in functional.decl.samples(maker(dtype)):
            try:
                (wanted,) = as_list(functional(*args, **kwargs))
            except OpweaveError:
                continue
            out = poisoned(wanted)
            version = out._version
            found = op(*args, **kwargs, out=out)
            assert found is out and out._version > version
            wide = np.complex128 if wanted._dtype.kind == "c" else np.float64
            np.testing.assert_array_equal(out.numpy().astype(wide), wanted.numpy().astype(wide))
            count += 1
    assert count


@pytest.mark.parametrize("op", variants(), ids=str)
def test_another_shape_is_refused(op):
    for args, kwargs in op.decl.functional.decl.samples(maker(dtypes.float64)):
        try:
            (wanted,) = as_list(op.decl.functional(*args, **kwargs))
        except OpweaveError:
            continue
        out = opweave.ones(*wanted.shape, 2, dtype=wanted.dtype)
        with pytest.raises(ShapeError, match="does not fit the tensor written to"):
            op(*args, **kwargs, out=out)
        assert bool((out.to(opweave.int64) == 1).all())
        return


@pytest.mark.parametrize("fn", [
    lambda x, out: opweave.sum(x, 0, out=out) * 2,
    lambda x, out: opweave.mm(x.t(), x[:, :1], out=out.unsqueeze(1)).sum(),
    lambda x, out: opweave.amax(x, 0, out=out),
    lambda x, out: opweave.cat([x[0, :2], x[1, 2:]], out=out),
    lambda x, out: opweave.index_select(x, 0, opweave.tensor([1]), out=out.unsqueeze(0)),
])  # fmt: skip
def test_compiled(fn):
    x, outs = opweave.arange(12.0).reshape(3, 4), [opweave.zeros(4), opweave.zeros(4)]
    results = [call(x, out) for call, out in zip((fn, opweave.compile(fn)), outs, strict=True)]
    np.testing.assert_allclose(results[1].numpy(), results[0].numpy())
    np.testing.assert_allclose(outs[1].numpy(), outs[0].numpy())
    assert outs[0].abs().sum().item() > 0
