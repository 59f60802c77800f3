"""`opweave.load_compiled`: what `opweave.export.compile` made, as functions on tensors.

Neither LLVM nor Triton is loaded: an artifact is a shared object with functions of C's (`codegen/native/model.ll`).
Before any of it runs, the file is read: whether it is whole, what it is for, and what it says of itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opweave.codegen.native.sealed import opened
from opweave.registry.autograd.mode import is_grad_enabled
from opweave.registry.device import cpu
from opweave.registry.dtypes import DTYPES
from opweave.registry.errors import (
    ArgumentError,
    DTypeError,
    ExportError,
    OpweaveError,
    ShapeError,
    UnsupportedError,
)
from opweave.registry.interrupts import let_through
from opweave.registry.keys import GRAD, PYTHON_BIT, state
from opweave.registry.tensor import Tensor, allocate, describe, from_numpy

#: Of artifacts that this release loads.
VERSION = 1
_START = b'{"format": "opweave artifact"'
_MACHINES = {"x86_64": 62, "aarch64": 183, "AMD64": 62, "arm64": 183}
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


#: Stands for the address of a tensor with no elements.
_NOWHERE = 64


class _Tensor(ctypes.Structure):
    """DLPack's `DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Operator(ctypes.Structure):
    """`opweave_operator` of the header."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p)]


def load_compiled(
    path: str | Path,
    *,
    weights: str | Path | None = None,
    libraries: Iterable[str | Path] = (),
    operators: Mapping[str, Any] | None = None,
) -> CompiledModel:
    """Load an artifact.

    Its kernels use as many threads as the process may run on, or `OPWEAVE_NUM_THREADS`.

    Parameters
    ----------
    path : str or Path
        A shared object from `opweave.export.compile`.
    weights : str or Path, optional
        The file of its weights, where they are not part of it; by default the one beside it.
    libraries : iterable of str or Path
        Shared objects that define custom operators, or a BLAS; they stay loaded, and other libraries see them.
    operators : mapping of str to int or ctypes function, optional
        Custom operators by name, where no library defines them.

    Returns
    -------
    CompiledModel
        Called as the exported function was.

    Raises
    ------
    ExportError
        If the file is damaged, no artifact, or one for another processor; nothing of it has run then.

    Examples
    --------
    >>> program = opweave.export.export(f, (x,))  # doctest: +SKIP
    >>> opweave.export.compile(program, "f.so")  # doctest: +SKIP
    >>> opweave.load_compiled("f.so")(x)  # doctest: +SKIP
    """
    return CompiledModel(Path(path), weights, tuple(libraries), dict(operators or {}))


class CompiledModel:
    """An artifact in this process; made by `load_compiled`.

    It may be called from several threads at once, and pickled: another process loads the same files.

    Attributes
    ----------
    description : dict
        What it says of itself.
    entries : dict of str to CompiledEntry
        Its programs.
    """

    def __init__(
        self, path: Path, weights: str | Path | None, libraries: Sequence[str | Path], operators: dict[str, Any]
    ):
        self._how = (path.absolute(), weights, libraries, operators)
        self.path = path
        self.description = _read(path)
        name: str = self.description["name"]
        theirs = [_open(Path(library), ctypes.RTLD_GLOBAL) for library in libraries]
        self._library = _open(path, ctypes.RTLD_LOCAL)
        functions = {f: getattr(self._library, f"{name}_{f}") for f in _FUNCTIONS}
        for function, (result, arguments) in _FUNCTIONS.items():
            functions[function].restype, functions[function].argtypes = result, arguments
        self._functions: dict[str, Any] = functions
        found = dict(operators)
        for operator in self.description["operators"]:
            functions_ = (getattr(library, operator["symbol"], None) for library in theirs)
            found.setdefault(operator["name"], next((f for f in functions_ if f is not None), None))
        threads = os.environ.get("OPWEAVE_NUM_THREADS", "")
        if threads.strip().isdigit():
            functions["set_threads"](int(threads))
        self._model = self._create(weights, {name: f for name, f in found.items() if f is not None})
        self.entries = {e["name"]: CompiledEntry(self, i, e) for i, e in enumerate(self.description["entries"])}

    def _create(self, weights: str | Path | None, operators: dict[str, Any]) -> ctypes.c_void_p:
        model = ctypes.c_void_p()
        given = (_Operator * len(operators))(
            *[_Operator(name.encode(), ctypes.cast(f, ctypes.c_void_p)) for name, f in operators.items()]
        )
        about = self.description["weights"]
        file = None
        if not about["inside"] and about["bytes"]:
            file = str(weights if weights is not None else self.path.with_suffix(".weights")).encode()
        code = self._functions["create"](file, given, len(operators), ctypes.byref(model))
        if code:
            hint = None
            if self.description["operators"]:
                hint = "load_compiled(..., libraries=['ops.so']) with " + ", ".join(
                    operator["symbol"] for operator in self.description["operators"]
                )
            raise ExportError(
                f"{self.path}: {self.error(code)}", got=None if file is None else file.decode(), hint=hint
            )
        return model

    def error(self, code: int) -> str:
        """The text of an error's code."""
        return self._functions["error"](code).decode()

    def set_num_threads(self, count: int) -> None:
        """Set how many threads its kernels may use."""
        given: Any = count
        if type(given) is not int or given < 1:
            raise ArgumentError("set_num_threads: expected a positive integer", got=repr(count))
        self._functions["set_threads"](count)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, where there is one."""
        if len(self.entries) != 1:
            raise ArgumentError(
                f"{self.path}: which of its programs?", got=", ".join(self.entries), hint="model.entries['name'](...)"
            )
        return next(iter(self.entries.values()))(*args, **kwargs)

    def __reduce__(self) -> Any:
        path, weights, libraries, operators = self._how
        if operators:
            raise UnsupportedError(
                "a compiled model with functions of this process cannot be pickled", got=", ".join(operators),
                hint="put them into a library: load_compiled(path, libraries=[...])",
            )  # fmt: skip
        return _again, (path, weights, libraries)

    def __del__(self) -> None:
        functions, model = self.__dict__.get("_functions"), self.__dict__.get("_model")
        if functions is not None and model:
            functions["destroy"](model)

    def __repr__(self) -> str:
        return f"<CompiledModel {self.description['name']} for {self.description['target']}: {', '.join(self.entries)}>"


def _again(path: Path, weights: str | Path | None, libraries: Sequence[str | Path]) -> CompiledModel:
    return load_compiled(path, weights=weights, libraries=libraries)


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "error": (ctypes.c_char_p, [ctypes.c_int32]),
    "set_threads": (None, [ctypes.c_int64]),
    "create": (ctypes.c_int32, [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]),
    "destroy": (None, [ctypes.c_void_p]),
    "result_sizes": (
        ctypes.c_int32, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    ),
    "run": (
        ctypes.c_int32,
        [ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64],
    ),
}  # fmt: skip


class _Room(threading.local):
    """What a thread tells an entry of its tensors."""

    def __init__(self, inputs: Sequence[Any], results: Sequence[Any]):
        self.inputs, self.input_dims = _structs(inputs)
        self.results, self.result_dims = _structs(results)
        # Each element of an array is a new object whenever it is read.
        self.each_input, self.each_result = list(self.inputs), list(self.results)
        #: The sizes and strides that stand in `input_dims` and `result_dims`: most calls bring the same.
        self.input_layouts: list[Any] = [None] * len(inputs)
        self.result_layouts: list[Any] = [None] * len(results)
        self.sizes = (ctypes.c_int64 * max(sum(len(t["sizes"]) for t in results), 1))()


def _structs(tensors: Sequence[Any]) -> tuple[Any, list[Any]]:
    structs: Any = (_Tensor * len(tensors))()
    dims: list[Any] = []
    for one, about in zip(structs, tensors, strict=True):
        dtype, rank = DTYPES[about["dtype"]], len(about["sizes"])
        numbers: Any = (ctypes.c_int64 * max(2 * rank, 1))()
        dims.append(numbers)
        one.device[0], one.ndim, one.bits, one.lanes = 1, rank, 8 * dtype.itemsize, 1
        one.code = 4 if dtype.name == "bfloat16" else _KINDS[dtype.kind]
        one.shape = ctypes.addressof(numbers)
        one.strides = one.shape + 8 * rank
    return structs, dims


class CompiledEntry:
    """A program of an artifact, as a function.

    Raises
    ------
    ArgumentError, DTypeError, ShapeError
        For arguments of another structure, element type, size or stride than the program was compiled for.
    """

    def __init__(self, model: CompiledModel, number: int, about: Mapping[str, Any]):
        self._model, self._number = model, number
        self.name: str = about["name"]
        self._inputs, self._results = about["inputs"], about["results"]
        self._arguments, self._returns = about["arguments"], about["returns"]
        self._dtypes = [DTYPES[t["dtype"]] for t in self._inputs]
        self._written = [i for i, t in enumerate(self._inputs) if t["written"]]
        #: Of results whose layout is fixed.
        self._layouts = [
            (tuple(t["sizes"]), tuple(t["strides"]))
            if all(type(n) is int for n in (*t["sizes"], *t["strides"])) else None
            for t in self._results
        ]  # fmt: skip
        self._ranks = [len(t["sizes"]) for t in self._results]
        self._made = [DTYPES[t["dtype"]] for t in self._results]
        self._room = _Room(self._inputs, self._results)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments as the exported function took them."""
        tensors: list[Tensor] = []
        if not _flatten(self._arguments, (args, kwargs), tensors):
            raise ArgumentError(
                f"{self.name}: arguments of another structure than it was compiled for", got=_shown((args, kwargs)),
                hint=f"expected {', '.join(t['name'] for t in self._inputs)}, nested as {json.dumps(self._arguments)}",
            )  # fmt: skip
        return _nested(self._returns, self.run(tensors))

    def run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Run on the tensors alone, in order; gives the results in order."""
        room, model = self._room, self._model
        if len(tensors) != len(self._dtypes):
            raise ArgumentError(f"{self.name}: expected {len(self._dtypes)} tensors", got=str(len(tensors)))
        watched, recorded = bool(state.modes), is_grad_enabled()
        layouts = room.input_layouts
        for i, (tensor, dtype) in enumerate(zip(tensors, self._dtypes, strict=True)):
            keys = tensor._keys
            if tensor._dtype is not dtype or tensor._device is not cpu or keys & PYTHON_BIT or watched:
                self._refuse(i, tensor)
            if recorded and keys & GRAD and tensor.requires_grad:
                raise UnsupportedError(
                    f"{self.name}: a compiled artifact has no gradients", got=describe(tensor),
                    hint="with opweave.no_grad(): ..., or x.detach()",
                )  # fmt: skip
            one = room.each_input[i]
            layout = tensor._sizes, tensor._strides
            if layout != layouts[i]:
                self._lay_out(room, i, tensor)
            one.data = tensor.data_ptr() or _NOWHERE
        functions, count = model._functions, len(tensors)
        results: list[Tensor] = []
        if None in self._layouts:
            code = functions["result_sizes"](model._model, self._number, room.inputs, count, room.sizes)
            if code:
                raise self._error(code, tensors)
        at = 0
        for i, (layout, dtype) in enumerate(zip(self._layouts, self._made, strict=True)):
            rank = self._ranks[i]
            if layout is None:
                sizes = tuple(room.sizes[at : at + rank])
                layout = sizes, _strides(sizes)
            at += rank
            made = allocate(*layout, dtype, cpu)
            if layout != room.result_layouts[i]:
                room.result_layouts[i] = None
                room.result_dims[i][: 2 * rank] = (*layout[0], *layout[1])
                room.result_layouts[i] = layout
            room.each_result[i].data = made.data_ptr() or _NOWHERE
            results.append(made)
        code = functions["run"](model._model, self._number, room.inputs, count, room.results, len(results))
        for i in self._written:
            tensors[i]._bump()
        if code:
            raise self._error(code, tensors)
        return results

    def _lay_out(self, room: _Room, number: int, tensor: Tensor) -> None:
        """Write down a tensor's sizes and strides, where they are not those of the last call."""
        sizes, strides = tensor._sizes, tensor._strides
        wanted = len(self._inputs[number]["sizes"])
        if len(sizes) != wanted:
            raise ShapeError(
                f"{self.name}: {self._inputs[number]['name']} must have {wanted} dimensions", got=describe(tensor)
            )
        room.input_layouts[number] = None  # until all of it is there
        room.input_dims[number][: 2 * wanted] = (*sizes, *strides)
        room.input_layouts[number] = sizes, strides

    def _refuse(self, number: int, tensor: Tensor) -> None:
        name = f"{self.name}: {self._inputs[number]['name']}"
        dtype = self._dtypes[number]
        if tensor._keys & PYTHON_BIT or state.modes:
            raise UnsupportedError(
                f"{self.name}: a compiled artifact cannot be traced", got=describe(tensor),
                hint="make it a custom operator: opweave.library.custom_op",
            )  # fmt: skip
        if tensor._dtype is not dtype:
            raise DTypeError(f"{name} must be {dtype.name}", got=describe(tensor), hint=f"x.to({dtype!r})")
        raise ArgumentError(f"{name} must be on the CPU", got=describe(tensor))

    def _error(self, code: int, tensors: Sequence[Tensor]) -> OpweaveError:
        got = ", ".join(map(describe, tensors))
        text = self._model.error(code)
        return (ShapeError if "must be" in text or "sizes" in text else ExportError)(text, got=got)

    def __repr__(self) -> str:
        return f"<CompiledEntry {self.name}({', '.join(t['name'] for t in self._inputs)})>"


def _strides(sizes: Sequence[int]) -> tuple[int, ...]:
    found, step = [0] * len(sizes), 1
    for i in reversed(range(len(sizes))):
        found[i] = step
        step *= max(sizes[i], 1)
    return tuple(found)


# ---- structure -----------------------------------------------------------------------------------------------------


def _flatten(wanted: Any, value: Any, tensors: list[Tensor]) -> bool:
    """Collect the tensors of arguments; False if they are nested in another way."""
    if type(wanted) is int:
        if isinstance(value, np.ndarray):
            value = from_numpy(value)
        if not isinstance(value, Tensor):
            return False
        tensors.append(value)
        return True
    if wanted is None:
        return value is None
    kind, inner = next(iter(wanted.items()))
    if kind == "constant":
        return type(value) is type(inner) and repr(value) == repr(inner)
    if kind in ("tuple", "list"):
        if type(value) is not (tuple if kind == "tuple" else list) or len(value) != len(inner):
            return False
        return all(_flatten(w, v, tensors) for w, v in zip(inner, value, strict=True))
    if kind == "dict":
        same = type(value) is dict and value.keys() == inner.keys()
        return same and all(_flatten(w, value[key], tensors) for key, w in inner.items())
    return False


def _nested(wanted: Any, results: Sequence[Tensor]) -> Any:
    if type(wanted) is int:
        return results[wanted]
    if wanted is None:
        return None
    kind, inner = next(iter(wanted.items()))
    if kind in ("tuple", "list"):
        items = [_nested(item, results) for item in inner]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {key: _nested(item, results) for key, item in inner.items()}
    return [*results]  # of a class that JSON cannot name


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return describe(value)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_shown, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k}: {_shown(v)}' for k, v in value.items())}}}"
    return type(value).__name__


# ---- the file ------------------------------------------------------------------------------------------------------


def _open(path: Path, mode: int) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path.absolute() if path.exists() else path), mode)
    except OSError as error:
        let_through(error)
        raise ExportError(f"{path}: cannot be loaded", got=str(error)) from None


def _read(path: Path) -> dict[str, Any]:
    """What an artifact says of itself, once the file was found whole and made for such a machine."""
    try:
        data = path.read_bytes()
    except OSError as error:
        let_through(error)
        raise ExportError(f"{path}: cannot be read", got=str(error)) from None
    _check_file(path, data)
    begin = data.find(_START)
    end = data.find(b"\0", begin)
    if begin < 0 or end < 0:
        raise ExportError(f"{path}: no artifact of opweave.export.compile", got=f"{len(data)} bytes")
    try:
        about = json.loads(data[begin:end])
        version, triple = about["version"], about["triple"]
    except (ValueError, KeyError) as error:
        let_through(error)
        raise ExportError(f"{path}: its description is damaged", got=repr(error)) from None
    if version != VERSION:
        raise ExportError(
            f"{path}: an artifact of version {version}", got=f"this release loads {VERSION}", hint="compile it again"
        )
    if not triple.startswith(("arm64", "aarch64") if platform.machine() in ("arm64", "aarch64") else "x86_64"):
        raise _foreign(path, triple)
    return about


def _foreign(path: Path, what: str) -> ExportError:
    return ExportError(
        f"{path}: an artifact for another processor", got=f"{what}, and this is {platform.machine()}",
        hint=f"opweave.export.compile(..., target='{_OWN_TARGET.get(platform.machine(), 'host')}')",
    )  # fmt: skip


_OWN_TARGET = {"x86_64": "x86-64-v2", "aarch64": "aarch64", "arm64": "aarch64"}


def _check_file(path: Path, data: bytes) -> None:
    """Whether a file is a whole shared object for this machine; the system's loader takes that for granted."""
    if data[:6] != b"\x7fELF\x02\x01":
        what = "an object file of another kind" if data[:4] == b"\x7fELF" else "no shared object"
        raise ExportError(f"{path}: {what}", got=repr(data[:8]), hint="opweave.export.compile(program, 'model.so')")
    try:
        kind, machine = struct.unpack_from("<HH", data, 16)
        segments, sections = struct.unpack_from("<QQ", data, 32)
        each, count, section, section_count = struct.unpack_from("<HHHH", data, 54)
        ends = [sections + section * section_count, segments + each * count]
        for i in range(count):
            offset, _, _, size = struct.unpack_from("<QQQQ", data, segments + each * i + 8)
            ends.append(offset + size)
    except struct.error:
        raise _damaged(path, data) from None
    if kind != 3:
        raise ExportError(
            f"{path}: no shared object", got="an object file that is not linked",
            hint="opweave.export.compile(program, 'model.so'), or link it: cc -shared -o model.so model.o",
        )  # fmt: skip
    if machine != _MACHINES.get(platform.machine(), machine):
        raise _foreign(path, next((name for name, number in _MACHINES.items() if number == machine), str(machine)))
    if max(ends) > len(data):
        raise _damaged(path, data)
    # One that somebody linked by other means has no checksum.
    if b"opweave\x01" in data[-24:] and opened(data) is None:
        raise _damaged(path, data)


def _damaged(path: Path, data: bytes) -> ExportError:
    return ExportError(f"{path}: the file is damaged or not complete", got=f"{len(data)} bytes")
