"""View ops: layouts without data, sharing, version counters, symbolic rules, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from op_samples import as_list, calls, check_meta, maker, ops_with_samples

from opweave.registry import dtypes
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import complexes, diagonals, reshape, slicing, view
from opweave.registry.ops.kinds import ViewDecl
from opweave.registry.tensor import Tensor, from_numpy

aten = ops.aten
ALL = [op for op in ops_with_samples(view, reshape, slicing, diagonals, complexes) if not op.is_mutable]
make = maker(dtypes.float32)


@pytest.mark.parametrize("op", ALL, ids=str)
def test_layout_without_data(op: OpOverload) -> None:
    assert check_meta(op)


@pytest.mark.parametrize("op", [op for op in ALL if isinstance(op.decl, ViewDecl)], ids=str)
def test_views_share_memory_and_version(op: OpOverload) -> None:
    for _, (args, kwargs) in calls(op):
        x = args[0]
        result = op(*args, **kwargs)
        assert result._storage is x._storage
        base = x if x._base is None else x._base
        assert result._base is (base if op.decl.is_tracked else None)  # for autograd some are no views
        before = x._version
        result._bump()
        assert x._version == before + 1


@pytest.mark.parametrize("op", [op for op in ALL if op.decl.kind == "view" and not op.decl.reshape], ids=str)
def test_rules_are_linear_in_strides(op: OpOverload) -> None:
    if op is aten.as_strided.default:
        pytest.skip("its strides are arguments")
    for dtype, (args, kwargs) in calls(op):
        if dtype is not dtypes.float32:
            continue
        x = args[0]
        symbols = sympy.symbols(f"s:{x.ndim}", integer=True) if x.ndim else ()
        start = sympy.Symbol("start", integer=True)
        sizes, strides, offset = op.decl.rule(x._sizes, symbols, start, *args[1:], **kwargs)
        values = {start: x._offset, **dict(zip(symbols, x._strides, strict=True))}
        expected = op(*args, **kwargs)
        assert tuple(sizes) == expected._sizes
        assert tuple(int(sympy.sympify(s).subs(values)) for s in strides) == expected._strides
        assert int(sympy.sympify(offset).subs(values)) == expected._offset
        for value in (*strides, offset):
            assert sympy.Poly(value, *symbols, start).total_degree() <= 1 if symbols else True


def test_in_place_through_a_view_reaches_the_base() -> None:
    x = make(3, 4)
    expected = x.numpy().copy()
    row = aten.select.int(aten.t.default(x), 0, 1)
    aten.fill_.Scalar(row, 7)
    expected[:, 1] = 7
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x._version == row._version == 1


def test_writing_to_an_expanded_tensor_is_refused() -> None:
    with pytest.raises(ShapeError, match="share memory"):
        aten.fill_.Scalar(aten.expand.default(make(1, 3), [2, 3]), 1)


def test_reshape_copies_only_where_it_must() -> None:
    x = make(4, 6)
    assert aten.reshape.default(x, [2, 12])._storage is x._storage
    turned = aten.t.default(x)
    copied = aten.reshape.default(turned, [24])
    assert copied._storage is not x._storage
    np.testing.assert_array_equal(copied.numpy(), x.numpy().T.reshape(-1))
    assert aten.contiguous.default(x) is x
    assert aten.contiguous.default(turned)._strides == (4, 1)


def test_parts_of_complex_numbers_are_views() -> None:
    z = from_numpy(np.array([1 + 2j, 3 - 4j], np.complex64))
    aten.fill_.Scalar(aten.imag.default(z), 5)
    np.testing.assert_array_equal(z.numpy(), np.array([1 + 5j, 3 + 5j], np.complex64))
    x = make(2)
    assert aten.real.default(x) is x
    np.testing.assert_array_equal(aten.mH.default(aten.unsqueeze.default(z, 0)).numpy(), z.numpy().conj().reshape(2, 1))


def test_bytes_as_another_type() -> None:
    x = make(2, 4)
    bits = aten.view.dtype(x, dtypes.int32)
    np.testing.assert_array_equal(bits.numpy(), x.numpy().view(np.int32))
    aten.zero_.default(bits)
    assert not x.numpy().any()
    assert x._version == 1
    row = aten.select.int(x, 0, 1)
    assert aten.view.dtype(row, dtypes.int16).data_ptr() == row.data_ptr()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: aten.view.default(x, [5, 5]), ShapeError, "does not fit 12 elements"),
        (lambda x: aten.view.default(x, [-1, -1]), ShapeError, "at most one size"),
        (lambda x: aten.view.default(x, [5, -1]), ShapeError, "does not fit"),
        (lambda x: aten.view.default(aten.t.default(x), [12]), ShapeError, "need a copy"),
        (lambda x: aten.view.default(make(0, 3), [-1, 0]), ShapeError, "ambiguous"),
        (lambda x: aten.permute.default(x, [0, 0]), ShapeError, "each dimension once"),
        (lambda x: aten.permute.default(x, [0]), ShapeError, "each dimension once"),
        (lambda x: aten.transpose.int(x, 0, 2), OutOfRangeError, "dimension out of range"),
        (lambda x: aten.t.default(make(2, 2, 2)), ShapeError, "at most 2"),
        (lambda x: aten.mT.default(make(2)), ShapeError, "matrix"),
        (lambda x: aten.expand.default(x, [4]), ShapeError, "fewer dimensions"),
        (lambda x: aten.expand.default(x, [3, 5]), ShapeError, "dim 1 has size 4"),
        (lambda x: aten.expand.default(x, [-1, 3, 4]), ShapeError, "leading"),
        (lambda x: aten.squeeze.dims(x, [0, -2]), ShapeError, "twice"),
        (lambda x: aten.unsqueeze.default(x, 3), OutOfRangeError, "dimension out of range"),
        (lambda x: aten.select.int(x, 0, 3), OutOfRangeError, "index 3 is out of range"),
        (lambda x: aten.select.int(make(), 0, 0), OutOfRangeError, "0-d"),
        (lambda x: aten.slice.Tensor(x, 0, 0, 2, -1), ShapeError, "positive"),
        (lambda x: aten.narrow.default(x, 0, 2, 2), OutOfRangeError, "exceeds"),
        (lambda x: aten.diagonal.default(x, 0, 1, -1), ShapeError, "same dimension"),
        (lambda x: aten.split_with_sizes.default(x, [1, 1]), ShapeError, "add up"),
        (lambda x: aten.split.Tensor(x, 0), ShapeError, "cannot cover"),
        (lambda x: aten.chunk.default(x, 0), ShapeError, "positive"),
        (lambda x: aten.flatten.using_ints(x, 1, 0), ShapeError, "after"),
        (lambda x: aten.unflatten.int(x, 0, [2, 2]), ShapeError, "does not fit"),
        (lambda x: aten.movedim.intlist(x, [0, 0], [0, 1]), ShapeError, "each once"),
        (lambda x: aten.as_strided.default(x, [4, 4], [4, 1]), OutOfRangeError, "reach 64 bytes into 48"),
        (lambda x: aten.as_strided.default(x, [2], [1, 1]), ShapeError, "differ in length"),
        (lambda x: aten.as_strided.default(x, [2], [-1]), ShapeError, "negative"),
        (lambda x: aten.view.dtype(aten.t.default(x), dtypes.int64), ShapeError, "stride 1"),
        (lambda x: aten.view.dtype(make(3), dtypes.int64), ShapeError, "divisible"),
        (lambda x: aten.imag.default(x), DTypeError, "imaginary"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(make(3, 4))


def test_results_of_splits_are_views() -> None:
    x = make(5, 4)
    for pieces in (aten.split.Tensor(x, 2), aten.chunk.default(x, 3), aten.unbind.int(x, 1)):
        assert all(isinstance(p, Tensor) and p._base is x for p in as_list(pieces))
