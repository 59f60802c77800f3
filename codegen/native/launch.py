"""Launching compiled kernels on the CPU: from a Python call to packed arguments in native code.

`direct_launcher(kernel)` gives what opweave's generated wrappers call:

    launch = direct_launcher(kernel)
    launch(gx, gy, gz, x_pointer, y_pointer, n)

It is a C function made at run time, as a C extension would have it, so a call costs a fraction of a microsecond. Its
native side reads a description of the parameters (`_Native`), converts each argument with the C API, and runs the
programs through the pool. It keeps the interpreter lock if the kernel is known to take only microseconds: giving it up
under contention costs more than that. Whatever the native side does not understand (a tensor where an address is
expected, None, a number out of range) it hands to Python, which converts it or explains what is wrong.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from opweave.codegen import native
from opweave.codegen.native import functions, layout, objects, pool
from opweave.codegen.native.arguments import (
    HALVES,
    Parameter,
    agree,
    caller,
    checked,
    convert,
    half_bits,
    integer_range,
    parameters,
)
from opweave.codegen.native.objects import PROMOTED, LoadedCode
from opweave.registry.errors import (
    ArgumentError,
    DeviceAssertionError,
    DeviceError,
    OutOfMemoryError,
    OutOfRangeError,
)
from opweave.registry.interrupts import let_through
from opweave.registry.references import References
from opweave.registry.tensor import Tensor

_log = logging.getLogger("opweave.launches")

HOLD_NS = 20e3
"""Expected time of a launch up to which the interpreter lock is kept."""

#: Stands for the place of the assertion that there is memory for a kernel's blocks; its message, the bytes.
HEAP = "heap"

MAX_GRID = 2**31 - 1
POINTER, INTEGER, BOOL, FLOAT32, FLOAT64, TENSOR, OBJECT = range(7)


_C_API = (
    "PyTuple_GetItem", "PyLong_AsVoidPtr", "PyLong_AsLongLong", "PyLong_AsUnsignedLongLong", "PyFloat_AsDouble",
    "PyErr_Occurred", "PyErr_Clear", "PyErr_NoMemory", "PyObject_Vectorcall", "PyEval_SaveThread",
    "PyEval_RestoreThread", "PyType_IsSubtype", "PyObject_RichCompareBool", "Py_IncRef",
    "Py_DecRef",
)  # fmt: skip


class _Native(ctypes.Structure):
    """The native side's `%Kernel`; `%Parameter`s follow it."""

    _fields_ = [
        ("code", ctypes.c_void_p),
        ("fallback", ctypes.c_void_p),
        ("arguments", ctypes.c_int64),
        ("cost", ctypes.c_double),
        ("launches", ctypes.c_int64),
        ("programs", ctypes.c_int64),
        ("spent", ctypes.c_int64),
        ("runner", ctypes.c_void_p),
        ("has_grid", ctypes.c_int64),
    ]


class NativeParameter(ctypes.Structure):
    """The native side's `%Parameter`: what is taken, and from where to where; of a tensor the bytes of an element."""

    _fields_ = [("kind", ctypes.c_int64), ("lowest", ctypes.c_int64), ("highest", ctypes.c_int64)]


#: Whether launches are counted and timed; native code reads it, and it is never freed.
profiling = ctypes.c_int32(0)
objects.keep_forever(profiling)
_FLOATS = {"fp32": FLOAT32, "fp64": FLOAT64}
#: The launchers there are; those that were made while `profiling` was on live as long.
launchers: References[Launcher] = References()
profiled: list[Launcher] = []


def source() -> str:
    """The LLVM IR of a launch."""
    # Where the layout of tensors is not known, none is given as it is.
    at = layout.tensors() or layout.NOWHERE
    numbers = {
        "CLOCK": time.CLOCK_MONOTONIC,
        "HOLD_NS": f"{HOLD_NS:e}",
        "TYPE": at.type,
        "STORAGE": at.storage,
        "OFFSET": at.offset,
        "POINTER": at.pointer,
        "SIZES": at.sizes,
        "STRIDES": at.strides,
        "DTYPE": at.dtype,
        "KEYS": at.keys,
    }
    return native.source("clock", "kernel", "launch", "alike", numbers=numbers)


CODE = objects.Code(source, "launcher", PROMOTED)


@functools.cache
def entry_code() -> objects.LoadedCode:
    """The code of what a call of compiled code begins with: launches, and the comparison of tensors' layouts."""
    imports = functions.c_api(_C_API) | {
        "opweave_run": pool.run_address(),
        "_Py_NoneStruct": id(None),
        "opweave_tensor": id(Tensor),
        "opweave_data_ptr": id(Tensor.data_ptr),
        "opweave_profiling": ctypes.addressof(profiling),
        "_Py_TrueStruct": id(True),
        "_Py_FalseStruct": id(False),
    }
    return CODE.load(("opweave_launch", "opweave_alike"), imports)


@functools.cache
def _definition() -> functions.MethodDef:
    """The C function's definition, shared by all launchers."""
    entry = entry_code().address("opweave_launch")
    return functions.definition("launch", entry, functions.FASTCALL, "launch(gx, gy, gz, *arguments)")


class _Owner(NamedTuple):
    """What a C function keeps alive; native code reads the first."""

    native: int
    memory: object
    otherwise: Callable[..., Any]
    code: object


def c_function(
    name: str,
    code: int,
    parameters: Sequence[NativeParameter],
    otherwise: Callable[..., Any],
    keep: object,
    *,
    runner: int,
    has_grid: bool,
) -> tuple[Callable[..., None], _Native]:
    """A C function that converts what it is called with and runs something.

    Parameters
    ----------
    name : str
        Its name.
    code : int
        What the runner is given: the address of a kernel's code, or of what else it runs.
    parameters : sequence of NativeParameter
        Of the function, in order.
    otherwise : callable
        Is called with the same arguments where the native side cannot go on; with none if it is to say what was wrong.
    keep : object
        Lives as long as the function.
    runner : int
        Address of `i32 run(ptr code, ptr packed, i64 n, i32 gx, i32 gy, i32 gz, ptr cost)`.
    has_grid : bool
        Whether the first three parameters are a grid, and not arguments of the code.

    Returns
    -------
    callable, _Native
        The function, and its description as native code has it, which lives as long.
    """
    memory = (ctypes.c_char * (ctypes.sizeof(_Native) + ctypes.sizeof(NativeParameter) * len(parameters)))()
    description = _Native.from_buffer(memory)
    description.code = code
    description.fallback = id(otherwise)  # borrowed: `owner` holds the reference
    description.arguments = len(parameters)
    description.runner = runner
    description.has_grid = has_grid
    table = (NativeParameter * len(parameters)).from_buffer(memory, ctypes.sizeof(_Native))
    table[:] = parameters
    owner = _Owner(ctypes.addressof(memory), memory, otherwise, keep)
    return functions.function(_definition(), owner, name), description


def words_function(name: str, words: int, runner: int, keep: object) -> Callable[..., None]:
    """A C function of so many whole numbers, which are packed for what runs them."""

    def otherwise(*args: Any) -> None:
        raise ArgumentError(f"{name}: expected {words} whole numbers", got=repr(args), at=caller())

    numbers = [NativeParameter(INTEGER, -(2**63), 2**63 - 1)] * words
    return c_function(name, 0, numbers, otherwise, keep, runner=runner, has_grid=False)[0]


class Launcher:
    """What stands behind a launch function: the kernel's code, and conversions that the native side leaves to Python.

    Parameters
    ----------
    name : str
        The kernel's name, for messages.
    params : sequence of Parameter
        Its run-time parameters, in order.
    code : LoadedCode
        Its code, kept alive by the launch function.
    address : int
        Address of its entry point.
    assertions : sequence of str
        Its device assertions, as in `analysis.Lowered`.

    Attributes
    ----------
    launch : callable
        `launch(gx, gy, gz, *arguments)`; pointers as integers (or as objects with `data_ptr()`, slower).
    counts : _Native
        Its description as native code has it.
    """

    def __init__(
        self,
        name: str,
        params: Iterable[Parameter],
        code: LoadedCode,
        address: int,
        assertions: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.params = tuple(params)
        self.assertions = tuple(assertions)
        own = native_parameters(self.params, self.assertions)
        native_params = [NativeParameter(INTEGER, 0, MAX_GRID)] * 3 + own
        function, description = c_function(
            name, address, native_params, self._convert, code, runner=pool.run_address(), has_grid=True
        )
        self._native: Callable[..., None] = function
        #: `launches`, `programs` and `spent` (ns): what the native side counted while `profiling` was on.
        self.counts = description
        self.native_params = own
        launchers.add(self)
        if profiling.value:
            profiled.append(self)
        run = self._watched if self.assertions else function
        self._run: Callable[..., None] = run
        self.launch: Callable[..., None] = self._with_halves if self._halves() else run

    @property
    def word(self) -> int:
        """The address of its description."""
        return ctypes.addressof(self.counts)

    @property
    def is_plain(self) -> bool:
        """Whether its launches need no Python beside the native side."""
        return self.launch is self._native

    def _halves(self) -> list[int]:
        return [i for i, p in enumerate(self.params) if p.type in HALVES]

    def _with_halves(self, *args: Any) -> None:
        """Half-precision scalars travel as their bits."""
        values = list(args)
        for position in self._halves():
            if position + 3 < len(values):
                parameter = self.params[position]
                what = f"{self.name}: argument {parameter.name!r}"
                bits = checked(
                    what, lambda v, kind=parameter.type: half_bits(v, kind), values[position + 3], "a number"
                )
                values[position + 3] = bits
        self._run(*values)

    def _watched(self, *args: Any) -> None:
        """Launch a kernel that has device assertions, and raise what they found."""
        cell = (ctypes.c_int64 * 4)()
        self._native(*args, ctypes.addressof(cell))
        if cell[0]:
            self.fail(*cell)

    def fail(self, number: int, x: int, y: int, z: int) -> NoReturn:
        """Raise what an assertion found, of which a launch's cell tells the number and the program."""
        place, _, message = self.assertions[number - 1].partition("\0")
        if place == HEAP:
            raise OutOfMemoryError(
                f"{self.name}: no memory for the blocks of a program",
                got=f"{int(message):,} bytes a thread",
                at=caller(),
                hint="smaller blocks",
            )
        raise DeviceAssertionError(
            f"{self.name}: device assertion failed: {message}",
            got=f"in program ({x}, {y}, {z})",
            at=place or caller(),
        )

    def _convert(self, *args: Any) -> None:
        """Launch with arguments that the native side refused: turn them into what it takes, or say what is wrong."""
        cell: tuple[Any, ...] = ()
        if self.assertions:
            args, cell = args[:-1], args[-1:]
        if len(args) != len(self.params) + 3:
            wanted = ", ".join(["gx", "gy", "gz", *(p.name for p in self.params)])
            raise ArgumentError(
                f"{self.name}: expected {len(self.params) + 3} arguments, got {len(args)}",
                got=f"({wanted}) expected",
                at=caller(),
            )
        grid = [_grid_size(self.name, axis, size) for axis, size in zip("xyz", args[:3], strict=True)]
        if grid[0] * grid[1] * grid[2] > 2**62:
            raise OutOfRangeError(f"{self.name}: the grid has too many programs", got=str(tuple(grid)), at=caller())
        values = [convert(self.name, p, v) for p, v in zip(self.params, args[3:], strict=True)]
        self._native(*grid, *values, *cell)

    def __repr__(self) -> str:
        return f"<Launcher {self.name}({', '.join(f'{p.name}: {p.type}' for p in self.params)})>"


def direct_launcher(kernel: Any) -> Callable[..., None]:
    """A fast launch function for a kernel compiled for the CPU.

    Parameters
    ----------
    kernel : triton.compiler.CompiledKernel
        From `opweave.codegen.aot.compile_kernel(..., target="cpu")` or `triton.compile`.

    Returns
    -------
    callable
        `launch(gx, gy, gz, *arguments)`, positional only. The arguments are the kernel's run-time parameters in order
        (constants left out): addresses as integers, and numbers. Objects with `data_ptr()` work too, at the price of
        a Python call each. It runs the kernel to its end and returns None. A grid with a zero runs nothing.

    Raises
    ------
    DeviceError
        If the kernel was compiled for another device.
    """
    if kernel.metadata.target.backend != "cpu":
        raise DeviceError(
            f"{kernel.name}: compiled for {kernel.metadata.target.backend}, not for the CPU",
            hint="compile it with target='cpu'",
        )
    params = parameters(kernel.src.signature)
    agree(kernel.name, params, kernel.metadata)
    return launch_function(kernel.name, kernel.asm["obj"], params, tuple(getattr(kernel.metadata, "assertions", ())))


def launch_function(
    name: str, obj: bytes, params: Iterable[Parameter], assertions: Sequence[str]
) -> Callable[..., None]:
    """The same of object code.

    Parameters
    ----------
    name : str
        The kernel's name, which is its symbol's.
    obj : bytes
        From `llvm.compile_object`.
    params : iterable of Parameter
        Its run-time parameters, in order.
    assertions : sequence of str
        Its device assertions.
    """
    code = objects.load(obj, (name,))
    run = Launcher(name, params, code, code.address(name), assertions).launch
    # Native code that asked about the log at each launch would not be the fastest way to launch any more.
    return timed(name, run) if _log.isEnabledFor(logging.DEBUG) else run


def launcher_of(launch: object) -> Launcher | None:
    """What stands behind a function of `direct_launcher`; None for others, and while launches are logged."""
    owner = getattr(launch, "__self__", None)
    if isinstance(owner, _Owner):
        owner = getattr(owner.otherwise, "__self__", None)
    return owner if isinstance(owner, Launcher) else None


def timed(name: str, run: Callable[..., None]) -> Callable[..., None]:
    """`run`, which also logs the grid and the microseconds of each launch (channel `launches`)."""

    def launch(*arguments: Any) -> None:
        start = time.perf_counter_ns()
        run(*arguments)
        _log.debug("%s grid %s: %.1f µs", name, arguments[:3], (time.perf_counter_ns() - start) / 1e3)

    return launch


def native_parameters(params: Iterable[Parameter], assertions: Sequence[str]) -> list[NativeParameter]:
    """How native code is given the arguments of a kernel; the last is the cell of one with device assertions."""
    return [*map(_native, params), *[NativeParameter(POINTER, 0, 0)] * bool(assertions)]


def _native(parameter: Parameter) -> NativeParameter:
    kind = parameter.type
    if parameter.is_pointer or kind == "u64":
        return NativeParameter(POINTER, 0, 0)
    if kind == "i1":
        return NativeParameter(BOOL, 0, 0)
    if kind in _FLOATS:
        return NativeParameter(_FLOATS[kind], 0, 0)
    if kind in HALVES:
        return NativeParameter(INTEGER, 0, 0xFFFF)
    return NativeParameter(INTEGER, *integer_range(kind))


def _grid_size(kernel: str, axis: str, size: Any) -> int:
    try:
        value = size.__index__()
    except AttributeError as error:
        let_through(error)
        raise ArgumentError(
            f"{kernel}: grid size {axis} must be an integer",
            got=repr(size),
            at=caller(),
            hint="n // BLOCK, or triton.cdiv(n, BLOCK)",
        ) from None
    if not 0 <= value <= MAX_GRID:
        raise OutOfRangeError(f"{kernel}: grid size {axis} must be from 0 to {MAX_GRID}", got=str(value), at=caller())
    return value
