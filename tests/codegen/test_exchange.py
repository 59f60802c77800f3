"""`Tensor.__dlpack_c_exchange_api__`, called as a C library calls it."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import opweave
from opweave.registry import exchange
from opweave.registry.dtypes import DTYPES
from opweave.registry.errors import (
    ArgumentError,
    AutogradError,
    DataDependentError,
    DeviceError,
    DTypeError,
    OpweaveError,
    ShapeError,
    UnsupportedError,
)
from opweave.registry.tensor import Tensor

CAPSULE = getattr(Tensor, "__dlpack_c_exchange_api__", None)
pytestmark = pytest.mark.skipif(CAPSULE is None, reason="native code cannot know the layout of objects here")


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_uint64), ("device", ctypes.c_int32), ("number", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Managed(ctypes.Structure):
    pass


MANAGED = ctypes.POINTER(Managed)
DELETER = ctypes.PYFUNCTYPE(None, MANAGED)
Managed._fields_ = [
    ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ("flags", ctypes.c_uint64), ("tensor", DLTensor),
]  # fmt: skip

_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
WORDS = (ctypes.c_uint64 * 7).from_address(_pointer(CAPSULE, b"dlpack_exchange_api")) if CAPSULE else [0] * 7
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
# The allocator and the deleter are called without the GIL, as tvm-ffi does.
allocate = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(MANAGED), ctypes.c_void_p, SET_ERROR
)(WORDS[2])
_from = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(MANAGED))(WORDS[3])
_to = ctypes.PYFUNCTYPE(ctypes.c_int, MANAGED, ctypes.POINTER(ctypes.py_object))(WORDS[4])
_show = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))(WORDS[5])
_stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))(WORDS[6])


def exported(t):
    m = MANAGED()
    assert _from(t, ctypes.byref(m)) == 0
    return m


def delete(m):
    ctypes.CFUNCTYPE(None, MANAGED)(m.contents.deleter)(m)


def imported(m):
    out = ctypes.py_object()
    assert _to(m, ctypes.byref(out)) == 0
    result = out.value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(result))  # the reference that the caller owns
    return result


#: Tensors must find what deletes them whenever they go.
_kept = []


class Foreign:
    """A library's tensor, which counts how often it is deleted."""

    def __init__(self, array, **fields):
        _kept.append(self)
        self.deleted = 0
        self.array = array
        self.shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        self.strides = (ctypes.c_int64 * max(array.ndim, 1))(*[s // array.itemsize for s in array.strides])
        code = {"f": 2, "i": 0, "u": 1, "b": 6, "c": 5}[array.dtype.kind]
        self.managed = m = Managed(major=1, minor=3)
        m.tensor = DLTensor(
            data=array.ctypes.data, device=1, ndim=array.ndim, code=code, bits=8 * array.itemsize, lanes=1,
            shape=self.shape, strides=self.strides,
        )  # fmt: skip
        self.deleter = DELETER(lambda _: setattr(self, "deleted", self.deleted + 1))
        m.deleter = ctypes.cast(self.deleter, ctypes.c_void_p).value
        for name, value in fields.items():
            setattr(m if name in ("major", "flags", "deleter") else m.tensor, name, value)


LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.t(),
    "offset": lambda x: x[1:, 1:],
    "steps": lambda x: x[::2, ::3],
    "expanded": lambda x: x[:1].expand(5, 6),
    "number": lambda x: x[1, 2],
    "empty": lambda x: x[:0],
    "empty in the middle": lambda x: x[:, 2:2].unsqueeze(0),
    "deep": lambda x: x.reshape(1, 2, 1, 2, 1, 3, 1, 2, 1, 1, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_there_and_back(dtype, layout):
    x = LAYOUTS[layout](opweave.arange(24).reshape(4, 6).to(dtype))
    m = exported(x)
    shown = m.contents.tensor
    assert (m.contents.major, m.contents.minor, m.contents.flags) == (1, 3, 0)
    assert tuple(shown.shape[: shown.ndim]) == x.shape
    assert tuple(shown.strides[: shown.ndim]) == x.stride()
    assert (shown.device, shown.number, shown.byte_offset, shown.lanes) == (1, 0, 0, 1)
    assert shown.bits == 8 * dtype.itemsize
    if x.numel():
        assert shown.data == x.data_ptr()
    y = imported(m)
    assert type(y) is Tensor and y.dtype is dtype and y.shape == x.shape and y.stride() == x.stride()
    assert y.device == x.device and not y.requires_grad and not y._is_view() and y._version == 0
    assert y.tolist() == x.tolist()
    if x.numel() and layout != "expanded":
        y.fill_(1)
        assert (x.to(opweave.float32) == 1).all()


def test_codes_are_those_of_dlpack():
    codes = {
        "bool": 6,
        "uint8": 1,
        "bfloat16": 4,
        "complex64": 5,
        "complex128": 5,
        "float8_e4m3fn": 10,
        "float8_e4m3fnuz": 11,
        "float8_e5m2": 12,
        "float8_e5m2fnuz": 13,
        "float8_e8m0fnu": 14,
    }
    for name, dtype in DTYPES.items():
        wanted = codes.get(name, 2 if name.startswith("float") else 1 if name.startswith("uint") else 0)
        assert dtype.dlpack.to_bytes(4, "little") == bytes([wanted, 8 * dtype.itemsize, 1, 0])
        if not (name == "bfloat16" or name.startswith("float8")):  # NumPy's DLPack has none of these
            ours, theirs = exported(opweave.zeros(2, dtype=dtype)), np.zeros(2, dtype.numpy).__dlpack__()
            numpy_s = ctypes.cast(_pointer(theirs, b"dltensor"), ctypes.POINTER(DLTensor)).contents
            assert ours.contents.tensor.code == numpy_s.code and ours.contents.tensor.bits == numpy_s.bits
            delete(ours)


def test_memory_lives_as_long_as_what_is_lent():
    x = opweave.ones(100)
    gone = weakref.ref(x._storage)
    m = exported(x)
    del x
    gc.collect()
    assert gone() is not None
    kept = (ctypes.c_float * 100).from_address(m.contents.tensor.data)
    assert list(kept) == [1.0] * 100
    delete(m)
    assert gone() is None


def test_memory_of_others_is_given_back_with_the_last_tensor_on_it():
    lent = Foreign(np.arange(6.0))
    t = imported(lent.managed)
    view, array = t[2:], t.numpy()
    del t
    assert not lent.deleted
    array[3] = 7
    assert view.tolist() == [2, 7, 4, 5]
    del view
    assert not lent.deleted
    del array
    assert lent.deleted == 1
    assert lent.array[3] == 7


def test_a_library_that_gives_nothing_back():
    lent = Foreign(np.arange(3.0), deleter=None)
    t = imported(lent.managed)
    assert t.tolist() == [0, 1, 2]
    del t


def test_strides_may_be_left_out():
    lent = Foreign(np.arange(6.0).reshape(2, 3), strides=None)
    t = imported(lent.managed)
    assert t.stride() == (3, 1) and t.tolist() == [[0, 1, 2], [3, 4, 5]]
    del t
    assert lent.deleted == 1


def test_byte_offset():
    lent = Foreign(np.arange(6.0), byte_offset=16, shape=(ctypes.c_int64 * 1)(4))
    t = imported(lent.managed)
    assert t.tolist() == [2, 3, 4, 5]
    assert opweave.compile(lambda x: x * 2 + 1)(t).tolist() == [5, 7, 9, 11]


SHORT = ctypes.c_int64 * 1


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"major": 2}, UnsupportedError, "version 2"),
        ({"code": 8}, DTypeError, "code 8, 64 bits, 1 lanes"),
        ({"lanes": 4}, DTypeError, "4 lanes"),
        ({"device": 7}, DeviceError, "device 7:0"),
        ({"strides": SHORT(-1)}, ShapeError, "strides (-1,)"),
        ({"shape": SHORT(-3)}, ShapeError, "sizes (-3,)"),
        ({"shape": SHORT(1 << 62)}, ShapeError, "no memory"),
        ({"ndim": -1}, ShapeError, "-1 dimensions"),
        ({"data": 0}, ShapeError, "at address 0"),
        ({"flags": 1}, DTypeError, "read-only"),
    ],
)
def test_what_is_no_tensor_here_is_refused_and_stays_the_callers(fields, error, text):
    lent = Foreign(np.arange(6.0), **fields)
    with pytest.raises(error) as caught:
        imported(lent.managed)
    assert text in str(caught.value)
    caught = None
    gc.collect()
    assert not lent.deleted


def test_read_only_memory_is_marked():
    array = np.arange(3.0)
    array.flags.writeable = False
    for t in (Tensor._from_array(array), Tensor._from_array(array)[1:]):
        m = exported(t)
        assert m.contents.flags == 1
        delete(m)


def test_tensors_that_require_grad_are_taken_by_kernels_only():
    x = opweave.ones(3, requires_grad=True)
    for t in (x, x * 2):
        with pytest.raises(AutogradError, match="requires grad"):
            exported(t)
    with opweave.no_grad():  # as for `numpy`
        delete(exported(x))
    delete(exported(x.detach()))
    seen = []

    @opweave.library.custom_op("exchange_test::look", mutates_args=())
    def look(a: Tensor) -> Tensor:
        m = exported(a)
        seen.append(m.contents.tensor.data)
        delete(m)
        return a.clone()

    look.register_autograd(lambda ctx, grad: grad)
    look(x).sum().backward()
    assert seen == [x.data_ptr()] and x.grad.tolist() == [1, 1, 1]


class Wrapper(Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Plain(Tensor):
    pass


def odd_tensors():
    with opweave.FakeTensorMode() as mode:
        yield "fake", mode.from_tensor(opweave.ones(3)), DataDependentError
    yield "meta", opweave.ones(3, device="meta"), DataDependentError
    yield "wrapper", Tensor._make_wrapper_subclass(Wrapper, (3,)), DataDependentError
    yield "subclass that dispatches", Tensor._make_subclass(Wrapper, opweave.ones(3)), UnsupportedError
    yield "unmade", Tensor.__new__(Tensor), AttributeError
    yield "no tensor", object(), ArgumentError
    yield "an array", np.ones(3), ArgumentError


@pytest.mark.parametrize(("what", "value", "error"), [pytest.param(*row, id=row[0]) for row in odd_tensors()])
def test_tensors_without_data_of_their_own_are_refused(what, value, error):
    for call in (exported, lambda v: _show(v, ctypes.byref(DLTensor()))):
        with pytest.raises(error) as caught:
            call(value)
        assert error is AttributeError or "\n  got:" in str(caught.value) or "\n  at:" in str(caught.value)


def test_tensors_of_a_trace_are_refused():
    def f(x):
        delete(exported(x))
        return x + 1

    for mode in ("fake", "symbolic"):
        with pytest.raises(OpweaveError):
            opweave.make_fx(f, tracing_mode=mode)(opweave.ones(3))
    with pytest.raises(DataDependentError):
        opweave.vmap(f)(opweave.ones(3, 2))


def test_plain_subclasses_are_tensors():
    t = Tensor._make_subclass(Plain, opweave.ones(3))
    m = exported(t)
    assert m.contents.tensor.data == t.data_ptr()
    delete(m)


def test_sizes_and_strides_of_what_is_shown_lie_still():
    x = opweave.arange(6.0).reshape(2, 3)
    one, two = DLTensor(), DLTensor()
    assert _show(x, ctypes.byref(one)) == 0 and _show(x, ctypes.byref(two)) == 0
    assert ctypes.addressof(one.shape.contents) == ctypes.addressof(two.shape.contents)
    assert (one.shape[:2], one.strides[:2], one.data) == ([2, 3], [3, 1], x.data_ptr())
    many = [opweave.zeros(i, 2) for i in range(1, 200)]
    shown = [DLTensor() for _ in many]
    for t, d in zip(many, shown, strict=True):
        _show(t, ctypes.byref(d))
    assert [d.shape[0] for d in shown] == list(range(1, 200))
    x.t_()
    assert _show(x, ctypes.byref(one)) == 0
    assert (one.shape[:2], one.strides[:2]) == ([3, 2], [1, 3])
    y = x.squeeze_()[0]
    assert _show(y, ctypes.byref(one)) == 0
    assert one.shape[: one.ndim] == [2]


def prototype(dtype, *sizes, **fields):
    shape = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
    code, bits, lanes, _ = dtype.dlpack.to_bytes(4, "little")
    d = DLTensor(device=1, ndim=len(sizes), code=code, bits=bits, lanes=lanes, shape=shape)
    for name, value in fields.items():
        setattr(d, name, value)
    return d


def test_memory_for_others():
    for dtype in DTYPES.values():
        for sizes in ((), (0,), (3, 4), (2, 0, 5)):
            m = MANAGED()
            assert allocate(prototype(dtype, *sizes), ctypes.byref(m), None, SET_ERROR()) == 0
            d = m.contents.tensor
            assert tuple(d.shape[: d.ndim]) == sizes and d.data % 64 == 0
            assert tuple(d.strides[: d.ndim]) == opweave.empty(sizes).stride()
            t = imported(m)
            assert t.zero_().tolist() == opweave.zeros(sizes, dtype=dtype).tolist()


@pytest.mark.parametrize(
    ("fields", "kind", "text"),
    [
        ({"bits": 7}, b"DTypeError", b"7 bits"),
        ({"device": 9}, b"DeviceError", b"device 9:0"),
        ({"ndim": -2}, b"ShapeError", b"negative"),
        ({"shape": SHORT(-2)}, b"ShapeError", b"negative"),
        ({"shape": SHORT(1 << 55)}, b"OutOfMemoryError", b"cannot allocate"),
        ({"shape": SHORT((1 << 63) - 1)}, b"OutOfMemoryError", b"cannot allocate"),
    ],
)
def test_no_memory_for_others(fields, kind, text):
    said = []
    report = SET_ERROR(lambda context, kind, message: said.append((context, kind, message)))
    m = MANAGED()
    assert allocate(prototype(opweave.float32, 3, **fields), ctypes.byref(m), 17, report) == -1
    ((context, told, message),) = said
    assert (context, told) == (17, kind) and text in message and not m


def test_the_cpu_has_no_stream():
    out = ctypes.c_void_p(1)
    assert _stream(1, 0, ctypes.byref(out)) == 0 and out.value is None


def test_threads():
    errors = []

    def work():
        try:
            for i in range(300):
                x = opweave.full((i % 5 + 1,), float(i))
                y = imported(exported(x))
                m = MANAGED()
                allocate(prototype(opweave.float32, 3), ctypes.byref(m), None, SET_ERROR())
                delete(m)
                d = DLTensor()
                _show(y, ctypes.byref(d))
                assert y.tolist() == x.tolist() and d.data == x.data_ptr()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_nothing_grows():
    x = opweave.ones(4, 5)[:, 1:]
    lent = Foreign(np.arange(6.0), data=0)

    def once():
        d = DLTensor()
        _show(x, ctypes.byref(d))
        imported(exported(x))
        m = MANAGED()
        allocate(prototype(opweave.float32, 3), ctypes.byref(m), None, SET_ERROR())
        delete(m)
        with pytest.raises(ShapeError):
            imported(lent.managed)
        with pytest.raises(ArgumentError):
            exported(None)

    for _ in range(50):
        once()
    gc.collect()
    before = sys.getallocatedblocks()
    references = sys.getrefcount(None)
    for _ in range(500):
        once()
    gc.collect()
    assert sys.getallocatedblocks() - before < 100
    assert sys.getrefcount(None) - references < 100


def test_it_costs_nothing_until_it_is_asked_for():
    code = """
import sys, opweave
assert not any("exchange" in name and "native" in name for name in sys.modules), "loaded"
assert type(vars(opweave.Tensor)["__dlpack_c_exchange_api__"]).__name__ == "_Table"
class Mine(opweave.Tensor): pass
made = Mine.__dlpack_c_exchange_api__
assert type(made).__name__ == "PyCapsule" and made is opweave.Tensor.__dlpack_c_exchange_api__
assert "llvmlite" not in sys.modules, "compiled though the cache has it"
assert "tvm_ffi" not in sys.modules
"""
    # The first process may have to compile it.
    subprocess.run([sys.executable, "-c", "import opweave; opweave.Tensor.__dlpack_c_exchange_api__"], check=True)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_where_objects_are_laid_out_otherwise_there_is_no_table(monkeypatch):
    descriptor = exchange._Table()
    monkeypatch.setattr(exchange.make_table, "call", lambda: None)
    with pytest.raises(AttributeError):
        descriptor.__get__(None, Tensor)
