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
from types import BuiltinFunctionType
from typing import Any, NamedTuple

from opweave.codegen import native
from opweave.codegen.native import objects, pool
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
from opweave.codegen.native.objects import LoadedCode
from opweave.registry.errors import (
    ArgumentError,
    DeviceAssertionError,
    DeviceError,
    OutOfMemoryError,
    OutOfRangeError,
)
from opweave.registry.interrupts import let_through
from opweave.registry.references import References

_log = logging.getLogger("opweave.launches")

HOLD_NS = 20e3
"""Expected time of a launch up to which the interpreter lock is kept."""

#: Stands for the place of the assertion that there is memory for a kernel's blocks; its message, the bytes.
HEAP = "heap"

_MAX_GRID = 2**31 - 1
_POINTER, _INTEGER, _BOOL, _FLOAT32, _FLOAT64 = range(5)


_C_API = (
    "PyTuple_GetItem", "PyLong_AsVoidPtr", "PyLong_AsLongLong", "PyLong_AsUnsignedLongLong", "PyFloat_AsDouble",
    "PyErr_Occurred", "PyErr_Clear", "PyObject_Vectorcall", "PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef",
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
    ]


class _NativeParameter(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int64), ("lowest", ctypes.c_int64), ("highest", ctypes.c_int64)]


class _MethodDef(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = [
        ("ml_name", ctypes.c_char_p),
        ("ml_meth", ctypes.c_void_p),
        ("ml_flags", ctypes.c_int),
        ("ml_doc", ctypes.c_char_p),
    ]


_METH_FASTCALL = 0x80
#: Whether launches are counted and timed; native code reads it, and it is never freed.
profiling = ctypes.c_int32(0)
objects.keep_forever(profiling)
_FLOATS = {"fp32": _FLOAT32, "fp64": _FLOAT64}
#: The launchers there are; those that were made while `profiling` was on live as long.
launchers: References[Launcher] = References()
profiled: list[Launcher] = []


def source() -> str:
    """The LLVM IR of a launch."""
    return native.source("clock", "launch", numbers={"CLOCK": time.CLOCK_MONOTONIC, "HOLD_NS": f"{HOLD_NS:e}"})


@functools.cache
def _method() -> _MethodDef:
    """The C function's definition, shared by all launchers; its code is never freed."""
    imports = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _C_API}
    imports |= {
        "opweave_run": pool.run_address(),
        "_Py_NoneStruct": id(None),
        "opweave_profiling": ctypes.addressof(profiling),
    }
    code = objects.kept(source(), ("opweave_launch",), name="launcher", level=1, imports=imports)
    entry = code.address("opweave_launch")
    definition = _MethodDef(b"launch", entry, _METH_FASTCALL, b"launch(gx, gy, gz, *arguments)")
    objects.keep_forever(definition)
    return definition


@functools.cache
def _new_c_function() -> Callable[[int, object, object], Any]:
    """`PyCFunction_NewEx(definition, self, module)`."""
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))


class _Owner(NamedTuple):
    """What a launch function keeps alive; native code reads the first."""

    native: int
    memory: object
    convert: Callable[..., None]
    code: LoadedCode


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
        native_params = [_NativeParameter(_INTEGER, 0, _MAX_GRID)] * 3 + [_native(p) for p in self.params]
        if self.assertions:
            native_params.append(_NativeParameter(_POINTER, 0, 0))  # the launch's cell
        memory = (ctypes.c_char * (ctypes.sizeof(_Native) + ctypes.sizeof(_NativeParameter) * len(native_params)))()
        convert = self._convert
        description = _Native.from_buffer(memory)
        description.code = address
        description.fallback = id(convert)  # borrowed: `owner` holds the reference
        description.arguments = len(native_params)
        table = (_NativeParameter * len(native_params)).from_buffer(memory, ctypes.sizeof(_Native))
        table[:] = native_params
        owner = _Owner(ctypes.addressof(memory), memory, convert, code)
        function = _new_c_function()(ctypes.addressof(_method()), owner, name)
        self._native: Callable[..., None] = function
        #: `launches`, `programs` and `spent` (ns): what the native side counted while `profiling` was on.
        self.counts = description
        launchers.add(self)
        if profiling.value:
            profiled.append(self)
        run = self._watched if self.assertions else function
        self._run: Callable[..., None] = run
        self.launch: Callable[..., None] = self._with_halves if self._halves() else run

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
        number: int = cell[0]
        if number:
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
                got=f"in program ({cell[1]}, {cell[2]}, {cell[3]})",
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


def native_code(launch: object) -> int | None:
    """Address of the code `void kernel(ptr slots, i64 start, i64 end, i32 gx, i32 gy, i32 gz)` of a kernel.

    Each argument has a slot of 8 bytes.

    Parameters
    ----------
    launch : object
        What may be a function of `direct_launcher`.

    Returns
    -------
    int or None
        None while launches are watched, and for kernels whose launches need Python.
    """
    if not isinstance(launch, BuiltinFunctionType) or profiling.value:
        return None
    owner = launch.__self__
    if not isinstance(owner, _Owner):
        return None
    return _Native.from_address(owner.native).code


def timed(name: str, run: Callable[..., None]) -> Callable[..., None]:
    """`run`, which also logs the grid and the microseconds of each launch (channel `launches`)."""

    def launch(*arguments: Any) -> None:
        start = time.perf_counter_ns()
        run(*arguments)
        _log.debug("%s grid %s: %.1f µs", name, arguments[:3], (time.perf_counter_ns() - start) / 1e3)

    return launch


def _native(parameter: Parameter) -> _NativeParameter:
    kind = parameter.type
    if parameter.is_pointer or kind == "u64":
        return _NativeParameter(_POINTER, 0, 0)
    if kind == "i1":
        return _NativeParameter(_BOOL, 0, 0)
    if kind in _FLOATS:
        return _NativeParameter(_FLOATS[kind], 0, 0)
    if kind in HALVES:
        return _NativeParameter(_INTEGER, 0, 0xFFFF)
    return _NativeParameter(_INTEGER, *integer_range(kind))


def _grid_size(kernel: str, axis: str, size: Any) -> int:
    try:
        value = size.__index__()
    except AttributeError as error:
        let_through(error)
        raise ArgumentError(f"{kernel}: grid size {axis} must be an integer", got=repr(size), at=caller()) from None
    if not 0 <= value <= _MAX_GRID:
        raise OutOfRangeError(f"{kernel}: grid size {axis} must be from 0 to {_MAX_GRID}", got=str(value), at=caller())
    return value
