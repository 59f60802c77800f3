"""Functions that launch one kernel after the other, as one native call.

A generated module has such functions as Python, over addresses and sizes:

    @native
    def steps_0(x: float32, relu: float32, arena: int):
        exp = arena
        fused_exp_0(1, 1, 1, x, exp)
        fused_relu_1(1, 1, 1, exp, relu)

They have no branches, so running one once with words in place of numbers records all that it ever does: a table of
instructions, which `execute.ll` runs. Tensors are given as they are, and stand for their addresses. What cannot be
recorded (a kernel that is logged, or not compiled yet) runs as Python.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import time
import types
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any, NoReturn, Protocol

from opweave.codegen import blas, convolution, narrow_products, native
from opweave.codegen.native import foreign, layout, objects, pool
from opweave.codegen.native.arguments import HALVES, Parameter, half_bits
from opweave.codegen.native.launch import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INTEGER,
    MAX_GRID,
    OBJECT,
    POINTER,
    TENSOR,
    Launcher,
    NativeParameter,
    c_function,
    launcher_of,
    profiling,
)
from opweave.codegen.segments import Memory, call_op, convolution_at, move_bytes, product, scratch, table, tensor_at
from opweave.registry import replay
from opweave.registry.containers import is_tuple
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device, cpu
from opweave.registry.dtypes import DType
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor

_OPERATIONS = (
    "COPY", "ADD", "SUB", "MUL", "FLOORDIV", "MOD", "MIN", "MAX", "PLACE", "SINGLE", "FITS", "LAUNCH", "PRODUCT",
    "MOVE", "ASSERTED", "EXPECT", "LEAST", "MOST", "SKIP", "CALL", "LOAD", "CONVOLVE",
)  # fmt: skip
(
    COPY, ADD, SUB, MUL, FLOORDIV, MOD, MIN, MAX, PLACE, SINGLE, FITS, LAUNCH, PRODUCT, MOVE, ASSERTED, EXPECT, LEAST,
    MOST, SKIP, CALL, LOAD, CONVOLVE,
) = range(len(_OPERATIONS))  # fmt: skip
#: Words of a frame that is on the stack.
_STACK_WORDS = 1 << 13
_LOW, _HIGH = -(2**63), 2**63 - 1
_WORD = NativeParameter(INTEGER, _LOW, _HIGH)
#: What multiplies, once a product was recorded; few programs need it, and it takes long to compile.
_product = ctypes.c_void_p(None)
objects.keep_forever(_product)


def source() -> str:
    """The LLVM IR of what runs the tables."""
    numbers: dict[str, object] = {"CLOCK": time.CLOCK_MONOTONIC, "STACK_WORDS": _STACK_WORDS, **operations()}
    return native.source("clock", "kernel", "steps", "execute", numbers=numbers)


def operations() -> dict[str, object]:
    """The numbers of the instructions of `steps.ll`."""
    return {name: number for number, name in enumerate(_OPERATIONS)}


CODE = objects.Code(source, "segments", objects.PROMOTED)


@functools.cache
def _runner() -> int:
    """Address of what runs the tables."""
    imports = {
        "opweave_run": pool.run_address(),
        "opweave_poll": pool.poll_address(),
        "opweave_profiling": ctypes.addressof(profiling),
        "opweave_product_at": ctypes.addressof(_product),
    }
    code = CODE.load(("opweave_execute",), imports)
    return code.address("opweave_execute")


class _Program(ctypes.Structure):
    """`%Program` of `execute.ll`."""

    _fields_ = [
        ("words", ctypes.c_int64),
        ("inputs", ctypes.c_int64),
        ("own", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("template", ctypes.c_void_p),
        ("table", ctypes.c_void_p),
        ("failed", ctypes.c_int64),
        ("cell", ctypes.c_int64 * 4),
        ("steady", ctypes.c_int64),
        ("epoch", ctypes.c_int64),
    ]


def _foreign(symbol: str) -> int:
    """An address in the code for calls of libraries."""
    return foreign.code(_runner(), _Program.epoch.offset).address(symbol)


def segment(function: types.FunctionType) -> Callable[..., None]:
    """The native form of a function, or one that runs it as it is.

    Parameters
    ----------
    function : function
        Over parameters that are annotated: a dtype for a tensor, which it sees as the address of its first element;
        `int` or `float` for a number.
    """
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]
    if not all(kind in (int, float, object) or isinstance(kind, DType) for kind in kinds):
        raise TypeError(f"{function.__name__}: its parameters are annotated by dtypes, int, float, object, not {kinds}")
    plain = _Plain(function, [kind is object for kind in kinds])
    try:
        recorder = Recorder(kinds)
        recorder.record(function)
    except NotRecorded:
        return plain
    parameters = [_parameter(kind) for kind in kinds]
    if any(p.kind == TENSOR for p in parameters) and layout.tensors() is None:
        return plain
    program = _Program()
    template = struct.pack(f"{len(recorder.template)}q", *recorder.template)
    instructions = [*recorder.computing, *recorder.running]
    table = b"".join(struct.pack("4i", *instruction) for instruction in instructions)
    memory = (ctypes.create_string_buffer(template), ctypes.create_string_buffer(table))
    program.words, program.own = recorder.end, len(recorder.template)
    program.inputs, program.count = len(kinds), len(instructions)
    program.template, program.table = map(ctypes.addressof, memory)
    calls = recorder.calls
    program.steady = all(isinstance(kind, DType) for kind in kinds) and not calls
    program.epoch = replay.epoch.value
    plain.program = program
    plain.launches = [launch for launch in recorder.launches if isinstance(launch, Launcher)]
    plain.calls = calls
    keep = (program, memory, recorder.launches, calls)
    where, runner = ctypes.addressof(program), _foreign("opweave_execute_foreign") if calls else _runner()
    made, description = c_function(function.__name__, where, parameters, plain, keep, runner=runner, has_grid=False)
    if calls:
        description.cost = 1.0  # brief, so that the interpreter's lock is held until the runner has looked at its state
    return made


def _parameter(kind: Any) -> NativeParameter:
    if kind is object:
        return NativeParameter(OBJECT, 0, 0)
    if isinstance(kind, DType):
        return NativeParameter(TENSOR, kind.itemsize, 0)
    return NativeParameter(FLOAT64, 0, 0) if kind is float else NativeParameter(INTEGER, _LOW, _HIGH)


class _Plain:
    """A function as Python, which also says what a native call found.

    Attributes
    ----------
    program : _Program or None
        Of the native form.
    launches : list of Launcher
        The kernels that it launches, in order.
    calls : list of foreign.Call
        The functions of libraries that it calls.
    """

    def __init__(self, function: Callable[..., None], objects: Sequence[bool] = ()) -> None:
        self.function = function
        self.program: _Program | None = None
        self.launches: list[Launcher] = []
        self.calls: list[foreign.Call] = []
        self._objects = objects

    def __call__(self, *args: Any) -> None:
        if not args and self.program is not None:
            number, x, y, z = map(int, self.program.cell)
            self.launches[int(self.program.failed)].fail(number, x, y, z)
        if self.program is not None and self.calls:
            epoch = replay.epoch.value
            if all(call.holds() for call in self.calls):
                self.program.epoch = epoch  # something else was registered
        pairs = zip_longest(args, self._objects)
        self.function(*[arg.data_ptr() if isinstance(arg, Tensor) and not whole else arg for arg, whole in pairs])


@dataclass(frozen=True)
class Symbol:
    """An address that is known once everything is linked."""

    name: str


class Kernel(Protocol):
    """What is launched: a `Launcher`, or a kernel of an artifact."""

    @property
    def params(self) -> Sequence[Parameter]:
        """Its parameters."""
        ...

    @property
    def native_params(self) -> Sequence[NativeParameter]:
        """The same as native code has them, and the cell of what it asserts."""
        ...

    @property
    def assertions(self) -> Sequence[str]:
        """Its device assertions."""
        ...

    @property
    def word(self) -> int | Symbol:
        """The address of its description (`%Kernel` of `kernel.ll`)."""
        ...

    @property
    def is_plain(self) -> bool:
        """Whether a launch is all that is to be done."""
        ...


class NotRecorded(Exception):
    """What a table has no instruction for."""


def _refused(*args: Any) -> NoReturn:
    raise NotRecorded


class Word:
    """A number in the frame, and what is to be added to it; stands for an int or a float of the function."""

    __slots__ = ("is_float", "place", "recorder", "shift")

    def __init__(self, recorder: Recorder, place: int, shift: int = 0, *, is_float: bool = False) -> None:
        self.recorder, self.place, self.shift, self.is_float = recorder, place, shift, is_float

    def __add__(self, other: Any) -> Word:
        if type(other) is int and not self.is_float:
            return Word(self.recorder, self.place, self.shift + other)
        return self.recorder.compute(ADD, self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Word:
        return self + -other if type(other) is int else self.recorder.compute(SUB, self, other)

    def __rsub__(self, other: Any) -> Word:
        return self.recorder.compute(SUB, other, self)

    def __mul__(self, other: Any) -> Word:
        return self.recorder.compute(MUL, self, other)

    __rmul__ = __mul__

    def __pow__(self, other: Any) -> Any:
        if type(other) is not int or not 0 < other <= 8:
            raise NotRecorded
        return functools.reduce(Word.__mul__, [self] * other)

    def __neg__(self) -> Word:
        return self.recorder.compute(SUB, 0, self)

    def __floordiv__(self, other: Any) -> Word:
        return self.recorder.compute(FLOORDIV, self, other)

    def __rfloordiv__(self, other: Any) -> Word:
        return self.recorder.compute(FLOORDIV, other, self)

    def __mod__(self, other: Any) -> Word:
        return self.recorder.compute(MOD, self, other)

    def __rmod__(self, other: Any) -> Word:
        return self.recorder.compute(MOD, other, self)

    __bool__ = __index__ = __int__ = __float__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refused  # type: ignore[assignment]  # nothing is decided by a value that a later call changes
    __truediv__ = __rtruediv__ = __rpow__ = __divmod__ = __round__ = __abs__ = _refused
    __hash__ = None  # type: ignore[assignment]


class Recorder:
    """What a function does, as instructions over a frame.

    Parameters
    ----------
    kinds : sequence
        `float`, or what stands for whole numbers, for each input.
    linked : bool
        Whether the runtime's code is linked with the table, so that it is known by its symbols.

    Attributes
    ----------
    template : list of int or Symbol
        The words of the frame behind the inputs, at the start.
    computing, running : list of (int, int, int, int)
        Instructions that compute numbers, and those that launch: they run later, when all numbers have been found fit.
    launches : list of Launcher
        What is launched, in order.
    calls : list of foreign.Call
        Functions of libraries that are called.
    """

    def __init__(self, kinds: Sequence[Any], *, linked: bool = False) -> None:
        self.linked = linked
        #: The types of the convolutions that are made.
        self.convolved: set[DType] = set()
        #: The types of what is multiplied as narrow numbers.
        self.multiplied: set[DType] = set()
        self.inputs = [Word(self, i, is_float=kind is float) for i, kind in enumerate(kinds)]
        self.template: list[int | Symbol] = []
        self.computing: list[tuple[int, int, int, int]] = []
        self.running: list[tuple[int, int, int, int]] = []
        self.launches: list[Kernel] = []
        self.calls: list[foreign.Call] = []
        self._constants: dict[int | Symbol, int] = {}
        #: Instructions about memory behind the template, and where in it.
        self._scratch: list[tuple[int, int]] = []
        self._scratch_words = 0

    @property
    def end(self) -> int:
        """Words of the frame."""
        return self._beyond() + self._scratch_words

    def _beyond(self) -> int:
        """Where memory begins behind the template: at the start of a line of the cache."""
        return -(-(len(self.inputs) + len(self.template)) // 8) * 8

    def record(self, function: types.FunctionType) -> None:
        """Run the function once, with its globals exchanged for what records."""
        known = {name: self._stand_in(name, function.__globals__) for name in function.__code__.co_names}
        types.FunctionType(function.__code__, {"__builtins__": {}, **known})(*self.inputs)
        for number, at in self._scratch:
            what, place, _, _ = self.computing[number]
            self.computing[number] = (what, place, self._beyond() + at, 0)

    def _stand_in(self, name: str, names: dict[str, Any]) -> Any:
        value = names.get(name)
        if value is None and name in ("min", "max"):
            return self.minimum if name == "min" else self.maximum
        for function, record in (
            (product, self.product), (convolution_at, self.convolve), (narrow_products.run, self.multiply),
            (move_bytes, self.move), (scratch, self.scratch), (table, self.table), (call_op, self.call_op),
        ):  # fmt: skip
            if value is function:
                return record
        if value is None and name == "float":
            return float
        launcher = launcher_of(value)
        if launcher is not None:
            return functools.partial(self.launch, launcher)
        if value is tensor_at or isinstance(value, (DType, Device, MemoryFormat, OpOverload)):
            return value
        if is_tuple(value) and all(isinstance(item, int) for item in value):
            return value
        raise NotRecorded

    # ---- the frame -------------------------------------------------------------------------------------------------

    def fresh(self, count: int = 1) -> int:
        """Places for so many words, in a row."""
        place = len(self.inputs) + len(self.template)
        self.template += [0] * count
        return place

    def constant(self, value: int | Symbol) -> int:
        """The place of a number, or of an address."""
        found = self._constants.get(value)
        if found is None:
            found = self._constants[value] = self.fresh()
            self.set(found, value)
        return found

    def set(self, place: int, value: int | Symbol) -> None:
        """Have a number at a place from the start."""
        if isinstance(value, Symbol):
            self.template[place - len(self.inputs)] = value
            return
        if not _LOW <= value < 2**64:
            raise NotRecorded
        self.template[place - len(self.inputs)] = value if value <= _HIGH else value - 2**64

    def place(self, value: Any) -> int:
        """Where a number is."""
        if isinstance(value, Word):
            if not value.shift:
                return value.place
            place = self.fresh()
            self.computing.append((ADD, place, value.place, self.constant(value.shift)))
            return place
        if type(value) is int or isinstance(value, Symbol):
            return self.constant(value)
        raise NotRecorded

    def compute(self, what: int, a: Any, b: Any) -> Word:
        """A number that follows from two others."""
        if any(isinstance(x, Word) and x.is_float for x in (a, b)):
            raise NotRecorded
        left, right = self.place(a), self.place(b)
        place = self.fresh()
        self.computing.append((what, place, left, right))
        return Word(self, place)

    def put_place(self, place: int, of: int) -> None:
        """Have the address of a place at another."""
        self.computing.append((PLACE, place, of, 0))

    def minimum(self, first: Any, *others: Any) -> Any:
        """The least of some numbers."""
        return functools.reduce(functools.partial(self.compute, MIN), others, first)

    def maximum(self, first: Any, *others: Any) -> Any:
        """The largest of some numbers."""
        return functools.reduce(functools.partial(self.compute, MAX), others, first)

    def _address(self, of: int) -> int:
        """A place that has the address of another."""
        place = self.fresh()
        self.put_place(place, of)
        return place

    def put(self, place: int, value: Any, parameter: NativeParameter, kind: str = "") -> None:
        """Have an argument at a place, as native code takes it."""
        wanted = parameter.kind
        if isinstance(value, Word):
            self._put_word(place, value, parameter, kind)
        elif kind in HALVES and isinstance(value, (int, float)):
            self.set(place, half_bits(value, kind))
        elif wanted == FLOAT32 and isinstance(value, (int, float)):
            self.set(place, ctypes.c_uint32.from_buffer(ctypes.c_float(value)).value)
        elif wanted == FLOAT64 and isinstance(value, (int, float)):
            self.set(place, ctypes.c_int64.from_buffer(ctypes.c_double(value)).value)
        elif wanted == BOOL and isinstance(value, int):
            self.set(place, int(value != 0))
        elif wanted == POINTER and isinstance(value, int) and 0 <= value:
            self.set(place, value)
        elif isinstance(value, Symbol):
            self.set(place, value)
        elif wanted == INTEGER and isinstance(value, int) and parameter.lowest <= value <= parameter.highest:
            self.set(place, int(value))
        else:
            raise NotRecorded

    def _put_word(self, place: int, value: Word, parameter: NativeParameter, kind: str) -> None:
        wanted = parameter.kind
        if value.is_float:
            if wanted not in (FLOAT32, FLOAT64):
                raise NotRecorded
            self.computing.append((SINGLE if wanted == FLOAT32 else COPY, place, value.place, 0))
            return
        if wanted not in (POINTER, INTEGER) or kind in HALVES:
            raise NotRecorded
        if value.shift:
            self.computing.append((ADD, place, value.place, self.constant(value.shift)))
        else:
            self.computing.append((COPY, place, value.place, 0))
        if wanted == INTEGER and (parameter.lowest, parameter.highest) != (_LOW, _HIGH):
            low, high = self.constant(parameter.lowest), self.constant(parameter.highest)
            self.computing.append((FITS, place, low, high))

    def scratch(self, nbytes: int) -> Word:
        """The address of memory in the frame."""
        place = self.fresh()
        self._scratch.append((len(self.computing), self._scratch_words))
        self.computing.append((PLACE, place, 0, 0))
        self._scratch_words += -(-nbytes // 64) * 8
        return Word(self, place)

    def table(self, *words: Any) -> Word:
        """The address of words in a row."""
        place = self.fresh(len(words))
        for i, word in enumerate(words):
            self.put(place + i, word, _WORD)
        return Word(self, self._address(place))

    # ---- what runs -------------------------------------------------------------------------------------------------

    def launch(self, launcher: Kernel, *args: Any) -> None:
        """A launch of a kernel."""
        grid, packed, cell = self._packed(launcher, args)
        kernel = self.constant(launcher.word)
        self.running.append((LAUNCH, grid, kernel, packed))
        if cell is not None:
            self.running.append((ASSERTED, cell, 0, len(self.launches) - 1))

    def _packed(self, launcher: Kernel, args: Sequence[Any]) -> tuple[int, int, int | None]:
        """Places of a launch's grid, arguments and cell of failed assertions."""
        params = launcher.native_params
        checked = bool(launcher.assertions)
        if len(args) != 3 + len(launcher.params):
            raise NotRecorded
        grid, packed = self.fresh(3), self.fresh(len(params))
        for i, size in enumerate(args[:3]):
            self.put(grid + i, size, NativeParameter(INTEGER, 0, MAX_GRID))
        for i, (value, param) in enumerate(zip(args[3:], launcher.params, strict=True)):
            self.put(packed + i, value, params[i], param.type)
        self.launches.append(launcher)
        if not checked:
            return grid, packed, None
        cell = self.fresh(4)
        self.put_place(packed + len(params) - 1, cell)
        return grid, packed, cell

    def product(
        self,
        dtype: DType,
        out: Any,
        a: Any,
        b: Any,
        elements: int = 0,
        each: int = 0,
        kernel: Any = None,
        grid: Sequence[Any] = (),
        arguments: Iterable[Any] = (),
        packed: tuple[Any, bool] = (0, False),
    ) -> None:
        """A matrix product, with a kernel that follows it or none."""
        _product.value = blas.native_product(dtype, out[1], a[1][-1], isinstance(packed[0], Word))
        if _product.value is None:
            raise NotRecorded
        launcher: Kernel | None = kernel.args[0] if kernel is not None else None
        words = [*blas.words_of(dtype, out, a, b), *[0] * 7, *packed]
        place = self.fresh(len(words))
        if launcher is not None and launcher.is_plain:
            first, given, _ = self._packed(launcher, (*grid, *arguments))
            then = [Word(self, first + i) for i in range(3)]
            words[-9:-2] = [elements, each, launcher.word, Word(self, self._address(given)), *then]
        for i, word in enumerate(words):
            self.put(place + i, word, NativeParameter(INTEGER, _LOW, _HIGH))
        self.running.append((PRODUCT, 0, place, 0))
        if launcher is not None and not launcher.is_plain:
            self.launch(launcher, *grid, *arguments)

    def convolve(self, form: str, dtype: DType, *operands: Any) -> None:
        """A convolution or an adjoint of one."""
        out, a, b, bias, groups, *steps = operands
        plan = None if self.linked else convolution.plan_of(form, dtype, out, a, b, bias, groups, steps)
        if plan is not None:
            return self._told(plan, dtype, plan.words(a[0], b[0], out[0], 0 if bias is None else bias[0]))
        self.convolved.add(dtype)
        for words in convolution.words_of(form, dtype, out, a, b, bias, groups, steps):
            self._told(convolution, dtype, words)

    def multiply(self, dtype: DType, *operands: Any) -> None:
        """A product of narrow numbers."""
        self.multiplied.add(dtype)
        self._told(narrow_products, dtype, narrow_products.words_of(*operands))

    def _told(self, provider: Any, dtype: DType, words: Sequence[Any]) -> None:
        """A function of the runtime that is told what to do in words."""
        function = self.constant(Symbol(provider.symbol(dtype)) if self.linked else provider.address(dtype))
        place = self.fresh(len(words))
        for i, word in enumerate(words):
            self.put(place + i, word, NativeParameter(INTEGER, _LOW, _HIGH))
        self.running.append((CONVOLVE, 0, place, function))

    def move(self, to: Any, of: Any, nbytes: Any) -> None:
        """Bytes that are copied."""
        self.running.append((MOVE, self.place(to), self.place(of), self.place(nbytes)))

    def call_op(self, op: OpOverload, args: Sequence[Any], results: Sequence[Memory]) -> None:
        """A call of an op whose kernel is a function of a library."""
        call = foreign.Call.of(op)
        if call is None:
            raise NotRecorded
        self.calls.append(call)
        where = [call.put(self, args, results), call.put_results(self, results)]
        place = self.fresh(3)
        for i, at in enumerate(where):
            self.put_place(place + i, at)
        self.running.append((CALL, place, self.constant(_foreign("opweave_call_foreign")), 0))

    def put_tensor(self, place: int, address: Any, sizes: Sequence[Any], strides: Sequence[Any], dtype: DType) -> None:
        """Have a `DLTensor` of the CPU at a place, with its sizes and strides elsewhere in the frame."""
        dims = self.fresh(2 * len(sizes) + 1)
        for i, number in enumerate((*sizes, *strides)):
            self.put(dims + i, number, _WORD)
        self.put(place, address, _WORD)
        self.set(place + 1, cpu.memory.dlpack)
        self.set(place + 2, len(sizes) | dtype.dlpack << 32)
        self.put_place(place + 3, dims)
        self.put_place(place + 4, dims + len(sizes))
