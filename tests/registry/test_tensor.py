"""Tensors over storages: layout, sharing, versions, exchange with NumPy."""

import copy
import pickle

import numpy as np
import pytest

import opweave
from opweave.registry import dtypes
from opweave.registry.device import Device, cpu, meta, parse_device
from opweave.registry.dtypes import DTYPES, as_dtype, promote_types
from opweave.registry.errors import (
    AutogradError,
    DataDependentError,
    DeviceError,
    DTypeError,
    OutOfRangeError,
    ShapeError,
    UnsupportedError,
)
from opweave.registry.spec import contiguous_strides, is_contiguous, is_dense, overlaps_itself, span
from opweave.registry.strided import Size, wrap_dim
from opweave.registry.tensor import Tensor, allocate, as_view, from_numpy


def test_from_numpy_shares_memory_and_layout():
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    t = from_numpy(a.T[::2])
    assert t.shape == (3, 4) and t.stride() == (2, 6) and t.dtype is dtypes.float32 and not t.is_contiguous()
    assert np.shares_memory(t.numpy(), a) and t.data_ptr() == a.ctypes.data
    a[0, 2] = -1
    assert t.numpy()[1, 0] == -1


@pytest.mark.parametrize("name", [n for n in DTYPES if n != "bfloat16"])
def test_every_dtype_goes_through_numpy(name):
    dtype = DTYPES[name]
    t = from_numpy(np.ones(3, dtype.numpy))
    assert t.dtype is dtype and t.element_size() == dtype.numpy.itemsize and t.nbytes == 3 * dtype.itemsize
    assert as_dtype(dtype.numpy) is dtype and str(dtype) == f"opweave.{name}"


def test_bfloat16_is_ml_dtypes():
    t = from_numpy(np.array([1.5, -2.0], dtypes.bfloat16.numpy))
    assert t.dtype is dtypes.bfloat16 and t.tolist() == [1.5, -2.0] and t.itemsize == 2


def test_dtypes_are_immortal_singletons_with_unique_hashes():
    assert len({hash(d) for d in DTYPES.values()}) == len(DTYPES)
    for d in DTYPES.values():
        assert pickle.loads(pickle.dumps(d)) is d and copy.deepcopy(d) is d


def test_from_numpy_refuses_what_it_cannot_share():
    with pytest.raises(ShapeError, match="non-negative"):
        from_numpy(np.arange(4.0)[::-1])
    with pytest.raises(DTypeError, match="no opweave dtype"):
        from_numpy(np.array(["a"]))
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(DTypeError, match="read-only"):
        from_numpy(frozen)
    with pytest.raises(DTypeError, match=r"expected a numpy\.ndarray"):
        from_numpy([1, 2])


def test_views_share_storage_and_versions():
    base = from_numpy(np.arange(12, dtype=np.int64).reshape(3, 4))
    view = as_view(base, (2, 2), (4, 1), 5)
    again = as_view(view, (2,), (4,), 6)
    assert view.numpy().tolist() == [[5, 6], [9, 10]] and again.numpy().tolist() == [6, 10]
    assert view._base is base and again._base is base and base._base is None
    view._bump()
    assert base._version == again._version == 1
    assert view.data_ptr() == base.data_ptr() + 5 * 8


def test_view_of_a_strided_array_reaches_the_same_memory():
    a = np.arange(24, dtype=np.int32).reshape(4, 6)[1:, ::2]
    t = from_numpy(a)
    view = as_view(t, (3,), (6,), 2)
    assert view.numpy().tolist() == a[:, 1].tolist()
    view.numpy()[0] = 99
    assert a[0, 1] == 99


def test_item_bool_and_index():
    one = from_numpy(np.array([3.5], np.float32))
    assert one.item() == 3.5 and float(one) == 3.5 and bool(one) and int(one) == 3
    assert type(from_numpy(np.array(2, np.int8)).item()) is int
    assert [10, 20, 30][from_numpy(np.array(1))] == 20
    with pytest.raises(ShapeError, match="one-element"):
        from_numpy(np.zeros(2)).item()
    with pytest.raises(ShapeError, match="ambiguous"):
        bool(from_numpy(np.zeros(2)))
    with pytest.raises(DTypeError, match="integer"):
        [1, 2][one]


def test_dlpack_and_array_protocols():
    t = from_numpy(np.arange(6, dtype=np.float64).reshape(2, 3))
    assert np.shares_memory(np.from_dlpack(t), t.numpy())
    assert np.asarray(t) is t.numpy() and np.array(t, dtype=np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(t, copy=True), t.numpy())


def test_repr_pickle_and_deepcopy():
    t = from_numpy(np.array([[1.0, 2.5]], np.float32))
    assert repr(t) == "tensor([[1.0000, 2.5000]])"
    assert repr(from_numpy(np.zeros(2, np.int8))) == "tensor([0, 0], dtype=opweave.int8)"
    for other in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t)):
        assert other.tolist() == t.tolist() and not np.shares_memory(other.numpy(), t.numpy())


def test_meta_tensors_have_no_data():
    t = allocate((1, 1), (1, 1), dtypes.float32, meta)
    assert t.shape == (1, 1) and t.is_meta
    with pytest.raises(DeviceError, match="numpy: the data is on meta"):
        t.numpy()
    with pytest.raises((DataDependentError, DeviceError)):
        t.item()


def test_devices_are_interned():
    assert Device("cpu") is cpu and Device("cuda:1") is Device("cuda", 1) and str(Device("cuda:1")) == "cuda:1"
    assert parse_device(None) is cpu and pickle.loads(pickle.dumps(Device("cuda:1"))) is Device("cuda:1")
    for bad in ("gpu", "cpu:1", "cuda:x"):
        with pytest.raises(DeviceError):
            Device(bad)


def test_allocate_makes_the_strides_it_is_asked_for():
    t = allocate((2, 3), (1, 2), dtypes.int16, cpu)
    t.numpy()[...] = [[1, 2, 3], [4, 5, 6]]
    assert as_view(t, (6,), (1,), 0).numpy().tolist() == [1, 4, 2, 5, 3, 6]
    assert allocate((0, 3), (3, 1), dtypes.int16, cpu).numpy().shape == (0, 3)


def test_layout_arithmetic():
    assert contiguous_strides((2, 0, 3)) == (3, 3, 1) and contiguous_strides(()) == ()
    assert is_contiguous((2, 1, 3), (3, 77, 1)) and not is_contiguous((2, 3), (1, 2))
    assert is_dense((2, 3), (1, 2)) and not is_dense((2, 3), (4, 1)) and is_dense((0, 3), (9, 9))
    assert span((2, 3), (10, 2)) == 15 and span((0,), (1,)) == 0
    assert overlaps_itself((3, 4), (0, 1)) and not overlaps_itself((3, 4), (4, 1))
    assert overlaps_itself((3, 4), (2, 1))


def test_size_and_dims():
    assert Size((2, 3)).numel() == 6 and repr(Size((2, 3))) == "opweave.Size([2, 3])"
    assert wrap_dim(-1, 3, "f") == 2 and wrap_dim(-1, 0, "f") == 0
    with pytest.raises(OutOfRangeError, match="f: dimension out of range"):
        wrap_dim(3, 3, "f")
    with pytest.raises(DTypeError):
        len(from_numpy(np.array(1.0)))


def test_promotion_is_symmetric_and_holds_both():
    for a in dtypes.COMPUTED:
        for b in dtypes.COMPUTED:
            c = promote_types(a, b)
            assert c is promote_types(b, a) and promote_types(a, c) is c
    assert promote_types(dtypes.uint8, dtypes.int8) is dtypes.int16
    assert promote_types(dtypes.float16, dtypes.bfloat16) is dtypes.float32
    assert promote_types(dtypes.float64, dtypes.complex64) is dtypes.complex128


def test_tensor_constructor_copies():
    a = np.ones(2, np.float32)
    t = Tensor(a)
    a[0] = 5
    assert t.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("name", "arguments"), [("set_", ())])
def test_other_memory_is_refused(name, arguments):
    for call in (lambda x: getattr(x, name)(*arguments), opweave.compile(lambda x: getattr(x, name)(*arguments))):
        with pytest.raises(UnsupportedError, match=f"{name}: a tensor keeps its memory and its sizes"):
            call(opweave.ones(2))


def test_deep_copies_of_views_are_views_of_one_copy():
    x = opweave.arange(6.0)
    whole, part, turned, same = copy.deepcopy([x, x[1:4], x.view(2, 3).t(), x])
    part[0] = 50
    assert whole.tolist() == [0, 50, 2, 3, 4, 5] and turned.tolist() == [[0, 3], [50, 4], [2, 5]] and same is whole
    assert turned.stride() == (1, 3) and x[1].item() == 1


def test_copies_share_memory_and_keep_what_was_set():
    x = opweave.arange(3.0)
    x.label = ["cat"]
    same = copy.copy(x)
    same[0] = 7
    assert same is not x and x.tolist() == [7, 1, 2] and same.label is x.label
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.label == ["cat"] and other.label is not x.label


def test_a_deep_copy_of_a_parameter_has_no_gradient():
    weight = opweave.nn.Parameter(opweave.ones(2, 3).t())
    weight.grad = opweave.ones(3, 2)
    again = copy.deepcopy(weight)
    assert again.grad is None and isinstance(again, opweave.nn.Parameter) and again.stride() == (1, 3)
    leaf = opweave.ones(2, requires_grad=True)
    leaf.grad = opweave.ones(2)
    assert copy.deepcopy(leaf).grad.tolist() == [1, 1] and isinstance(copy.copy(weight), opweave.nn.Parameter)
    assert copy.deepcopy(opweave.empty(3, device="meta")).shape == (3,)


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.bits is not None], ids=str)
def test_types_that_numpy_lacks_go_by_dlpack(dtype):
    x = opweave.tensor([1.0, 0.5]).to(dtype)
    again = opweave.utils.dlpack.from_dlpack(opweave.utils.dlpack.to_dlpack(x))
    assert again.dtype is dtype and again.data_ptr() == x.data_ptr() and again.float().tolist() == x.float().tolist()


def test_from_dlpack_copies_where_it_is_asked_to():
    x = opweave.ones(2)
    assert opweave.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert opweave.from_dlpack(x, device="cpu", copy=False).data_ptr() == x.data_ptr()
    with pytest.raises(DeviceError, match="only a copy"):
        opweave.from_dlpack(x, device="meta", copy=False)
    fixed = np.ones(2)
    fixed.flags.writeable = False
    assert opweave.from_dlpack(fixed, copy=True).tolist() == [1, 1]
    with pytest.raises(DTypeError, match="read-only"):
        opweave.from_dlpack(fixed)
    with pytest.raises(AutogradError, match="lose track"):
        opweave.ones(2, requires_grad=True).__dlpack__()
