"""Steps of a segment that call functions of libraries, by the C ABI of apache-tvm-ffi: their code is `foreign.ll`.

What a step is given lies in the segment's frame: the function, its arguments as the ABI has them, with tensors as
`DLTensor`s, and where its results go. What is unusual, as a result that lies otherwise than was said, goes to Python
(`Call.answer`), and so does what a function raises.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, Protocol

from opweave.codegen import native
from opweave.codegen.native import functions, objects
from opweave.codegen.native.launch import FLOAT64, INTEGER, NativeParameter
from opweave.codegen.segments import Memory, put
from opweave.registry import dtypes, replay
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.exchange import VERSION
from opweave.registry.keys import state
from opweave.registry.loading import load_heavy
from opweave.registry.native_kernel import Argument, NativeKernel, Result, native_kernel
from opweave.registry.op import OpOverload

#: What a kernel is given as its schema says, of Python's values, and those with several in them.
_SEQUENCES: Any = (list, tuple)
_CONVERTED: Any = (bool, int, float, str, *_SEQUENCES)
_C_API = (
    "PyGILState_Ensure", "PyGILState_Release", "PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_Vectorcall",
    "PyLong_FromVoidPtr", "PyErr_NoMemory", "PyErr_Clear", "PyDict_GetItem", "PyObject_GetAttr", "PyThreadState_Get",
    "PyThreadState_GetID", "Py_IncRef", "Py_DecRef",
)  # fmt: skip
_LIBRARY = ("TVMFFIFunctionCall", "TVMFFITensorFromDLPackVersioned", "TVMFFIObjectDecRef")
_SYMBOLS = ("opweave_call_foreign", "opweave_execute_foreign", "opweave_answer")
#: Types of values (`TVMFFITypeIndex`).
_INT, _BOOL, _FLOAT, _TENSOR, _TEXT = 1, 2, 3, 7, 8
#: Words of a tensor: `%Memory` of `foreign.ll`.
_WORDS = 8
_WORD = NativeParameter(INTEGER, -(2**63), 2**63 - 1)
_REAL = NativeParameter(FLOAT64, 0, 0)


def source(epoch: int) -> str:
    """The LLVM IR of such steps; `epoch` is where a segment's description has its number."""
    numbers = {"MAJOR": VERSION[0], "MINOR": VERSION[1], "EPOCH": epoch}
    return native.source("thread", "foreign", numbers=numbers)


@functools.cache
def code(execute: int, epoch: int) -> objects.LoadedCode:
    """The code of such steps (`opweave_call_foreign`) and of what runs segments with some (`opweave_execute_foreign`).

    Parameters
    ----------
    execute : int
        Address of what runs any segment.
    epoch : int
        Where the description of a segment has the number of the registry's state.
    """
    library = ctypes.CDLL(load_heavy("tvm_ffi.libinfo").find_libtvm_ffi())
    names = {"name.dict": "__dict__", "name.include": "include"}
    given: dict[str, Any] = {"opweave_zero": 0, "opweave_state": state, "opweave_default": dtypes._default}
    objects.keep_forever((names, given))
    imports = functions.c_api(_C_API) | {symbol: id(value) for symbol, value in (*names.items(), *given.items())}
    imports |= {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in _LIBRARY}
    imports |= {"opweave_epoch": ctypes.addressof(replay.epoch), "opweave_execute": execute}
    found = objects.Code(lambda: source(epoch), "foreign", objects.PROMOTED).load(_SYMBOLS, imports)
    make = load_heavy("tvm_ffi").Function.__from_extern_c__
    _answer.append(make(found.address("opweave_answer"), keep_alive_object=found))
    return found


#: Gives the value at an address, or raises what the function that was called before left.
_answer: list[Any] = []


class Frame(Protocol):
    """Where words are put: a `Recorder` of `codegen.native.segments`."""

    def fresh(self, count: int = 1) -> int:
        """Places for so many words."""
        ...

    def set(self, place: int, value: int) -> None:
        """Have a number at a place."""
        ...

    def put(self, place: int, value: Any, parameter: NativeParameter) -> None:
        """Have an argument at a place."""
        ...

    def put_place(self, place: int, of: int) -> None:
        """Have the address of a place at another."""
        ...

    def put_tensor(self, place: int, address: Any, sizes: Sequence[Any], strides: Sequence[Any], dtype: DType) -> None:
        """Have a `DLTensor` at a place."""
        ...

    def minimum(self, first: Any, *others: Any) -> Any:
        """The least of some numbers."""
        ...


class Call:
    """A call of an op's kernel.

    Parameters
    ----------
    op : OpOverload
        The op.
    kernel : NativeKernel
        What it runs on plain tensors.
    """

    def __init__(self, op: OpOverload, kernel: NativeKernel) -> None:
        self.op, self.kernel = op, kernel
        #: What native code refers to.
        self._kept: list[Any] = [kernel.function, self.answer]
        self._answer = self._kept[1]

    @staticmethod
    def of(op: OpOverload) -> Call | None:
        """A call of an op; None where its kernel has no native form."""
        kernel = native_kernel(op)
        return None if kernel is None else Call(op, kernel)

    def holds(self) -> bool:
        """Whether that is still the op's kernel."""
        return native_kernel(self.op) is self.kernel

    def answer(self, returned: int, made: int) -> None:
        """Put what the function returned where it is wanted, or raise what it left.

        Parameters
        ----------
        returned : int
            Address of the value; 0 where the function failed.
        made : int
            Address of what is wanted (`%Made`).
        """
        explain = self.kernel.explain
        try:
            value = _answer[0](returned)
        except TypeError as error:
            if explain is None:
                raise
            raise explain(error) from None
        found = self.kernel.result(value)
        words = (ctypes.c_int64 * 1).from_address(made)
        wanted = [_memory_at(made + 8 + 8 * _WORDS * i) for i in range(max(words[0], 0))]
        put(self.op, found, wanted)

    # ---- the frame -------------------------------------------------------------------------------------------------

    def put(self, recorder: Frame, args: Sequence[Any], results: Sequence[Memory]) -> int:
        """Have the call in a frame; where."""
        parts = self.kernel.call
        place = recorder.fresh(3 + 2 * len(parts))
        recorder.set(place, self.kernel.function.__chandle__())
        recorder.set(place + 1, len(parts))
        recorder.set(place + 2, id(self._answer))
        for i, part in enumerate(parts):
            at = place + 3 + 2 * i
            if isinstance(part, Argument):
                argument = self.op._schema.arguments[part.position]
                value = args[part.position]
                self._put(recorder, at, value if isinstance(value, Memory) else self._converted(argument.type, value))
            else:
                self._put(recorder, at, results[part.position] if isinstance(part, Result) else part)
        return place

    def put_results(self, recorder: Frame, results: Sequence[Memory]) -> int:
        """Have what is to become of the results in a frame; where."""
        returned: Sequence[Memory] = () if self.kernel.writes_results else results
        place = recorder.fresh(1 + _WORDS * len(returned))
        ignored = bool(self.op._schema.returns) and not results  # arguments that it writes
        recorder.set(place, -1 if ignored else len(returned))
        for i, result in enumerate(returned):
            _put_memory(recorder, place + 1 + _WORDS * i, result)
        return place

    def _converted(self, kind: Any, value: Any) -> Any:
        """A constant as the op's kernel would be given it."""
        if not isinstance(value, _CONVERTED) or str(kind.base) == "Scalar":
            return value
        return kind.convert(value)

    def _put(self, recorder: Frame, at: int, value: Any) -> None:
        """Have a value as the ABI has it."""
        if isinstance(value, Memory):
            place = recorder.fresh(_WORDS)
            _put_memory(recorder, place, value)
            recorder.set(at, _TENSOR)
            recorder.put_place(at + 1, place)
        elif isinstance(value, (str, Device)):
            text = ctypes.c_char_p(str(value).encode())
            self._kept.append(text)
            recorder.set(at, _TEXT)
            recorder.set(at + 1, ctypes.cast(text, ctypes.c_void_p).value or 0)
        elif isinstance(value, _SEQUENCES):
            items = load_heavy("tvm_ffi").convert(list(value))
            self._kept.append(items)
            handle = items.__chandle__()
            recorder.set(at, ctypes.c_int32.from_address(handle + 8).value)
            recorder.set(at + 1, handle)
        elif value is not None:
            number = value.dlpack if isinstance(value, DType) else value
            is_real = isinstance(number, float) or getattr(number, "is_float", False)
            recorder.set(at, _FLOAT if is_real else _BOOL if isinstance(number, bool) else _INT)
            recorder.put(at + 1, number, _REAL if is_real else _WORD)


def _put_memory(recorder: Frame, place: int, value: Memory) -> None:
    """Have a tensor in a frame: a `DLTensor`, its bytes, the tensor whose memory it is."""
    recorder.put_tensor(place, value.address, value.sizes, value.strides, value.dtype)
    recorder.put(place + 6, _nbytes(recorder, value), _WORD)
    if value.owner is not None:
        recorder.put(place + 7, value.owner, _WORD)


def _nbytes(recorder: Frame, value: Memory) -> Any:
    """From a tensor's first element to behind its last; 0 where it has none."""
    count: Any = 1
    last: Any = 0
    for size, stride in zip(value.sizes, value.strides, strict=True):
        count, last = count * size, last + (size - 1) * stride
    if type(count) is int:
        some: Any = min(count, 1)
    else:
        some = recorder.minimum(count, 1)
    return (last + 1) * some * value.dtype.itemsize


def _memory_at(place: int) -> Memory:
    words = (ctypes.c_int64 * _WORDS).from_address(place)
    dims = words[2] & 0xFFFFFFFF
    sizes, strides = ((ctypes.c_int64 * dims).from_address(words[i]) for i in (3, 4))
    return Memory(words[0], tuple(sizes), tuple(strides), dtypes.BY_DLPACK[words[2] >> 32])
