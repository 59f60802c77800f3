"""Generated code as files, and from files to functions: what a process does that finds it made.

What codegen makes is written as files (``wrapper.py``, a module for each kernel, and ``program.json`` for the rest),
from which a later process can start. What runs is the text that the cache gave out, never a file that is read again.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

from opweave.codegen.backends import backend_of
from opweave.codegen.generated import Generated
from opweave.codegen.kernel import KernelSource
from opweave.codegen.modules import load_module
from opweave.registry import forking
from opweave.registry.device import Device
from opweave.registry.dtypes import DTYPES, DType
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.interrupts import checkpoint, deferred
from opweave.registry.loading import load_triton
from opweave.registry.op import OpOverload, registry
from opweave.registry.tensor import Tensor
from opweave.runtime import progress
from opweave.runtime.logging import channel, lazily

_kernels_log = channel("kernels")
#: Where the functions come from that compute sizes which are not fixed.
_ARITHMETIC = ("_operator", "math", "builtins")


@dataclasses.dataclass(slots=True)
class Loaded:
    """Generated code that can run.

    Attributes
    ----------
    call : callable
        The graph's inputs in, its outputs out.
    source : str
        Text of the wrapper and all kernels.
    path : Path
        Where the files are.
    key : str or None
        Under which another process finds the code; None where it names what only this one has.
    """

    call: Callable[..., Any]
    source: str
    path: Path
    key: str | None = None


def run(generated: Generated, path: Path, device: Device, constants: Mapping[str, Tensor]) -> Loaded:
    """What generated code does.

    Parameters
    ----------
    generated : Generated
    path : Path
        The folder of its files, for tracebacks and debuggers.
    device : Device
        Where it runs.
    constants : mapping of str to Tensor
        The constants of its graph.
    """
    names: dict[str, Any] = {**generated.names, **{n: constants[n] for n in generated.attributes}}
    # LLVM makes the code of one kernel while the next is lowered.
    begun = [(kernel, begin(kernel, path, device)) for kernel in generated.kernels if not kernel.later]
    names.update({kernel.name: finish() for kernel, finish in begun})
    for kernel in generated.kernels:
        if kernel.later:
            names[kernel.name] = _Later(functools.partial(begin, kernel, path, device))
    module = load_module(path / "wrapper.py", generated.source, names)
    source = "\n\n".join(dict.fromkeys([generated.source, *(kernel.text for kernel in generated.kernels)]))
    return Loaded(getattr(module, generated.name), source, path)


def begin(kernel: KernelSource, folder: Path, device: Device) -> Callable[[], Callable[..., None]]:
    """Begin to compile a kernel, unless it was kept; what this gives ends it.

    It gives the function that launches the kernel as `launch(gx, gy, gz, *addresses)`.
    """
    backend = backend_of(device)
    _kernels_log.debug("%s", lazily(lambda: f"{kernel.name}: grid {kernel.grid}, {folder / kernel.file_name}"))
    found = backend.find(kernel)
    if found is not None:
        return lambda: found
    progress.now(f"kernel {kernel.name}")
    load_triton()  # and LLVM with what follows: at the first compilation, not with opweave
    begun = backend.compile(kernel, folder, device)
    checkpoint()
    return begun


class _Later:
    """A launcher that is made when it is called first."""

    def __init__(self, begin: Callable[[], Callable[[], Callable[..., None]]]) -> None:
        self._begin, self._launch = begin, None
        self._lock = forking.lock()

    def __call__(self, *args: Any) -> None:
        if self._launch is None:
            with self._lock, deferred():
                self._launch = self._launch or self._begin()()
        self._launch(*args)


# ---- as files --------------------------------------------------------------------------------------------------------


def pack(generated: Generated) -> dict[str, str]:
    """Generated code as files."""
    fields = [field.name for field in dataclasses.fields(KernelSource) if field.name != "source"]
    kernels = [
        {"file": kernel.file_name, **{name: _encode(getattr(kernel, name)) for name in fields}}
        for kernel in generated.kernels
    ]
    about = {
        "name": generated.name,
        "kernels": kernels,
        "names": {name: _token(value) for name, value in generated.names.items()},
        "attributes": generated.attributes,
    }
    sources = {kernel.file_name: kernel.source for kernel in generated.kernels}
    return {"wrapper.py": generated.source, "program.json": json.dumps(about, indent=1), **sources}


def unpack(files: Mapping[str, str]) -> Generated:
    """Generated code from its files; a name that no text stands for is None."""
    about = json.loads(files["program.json"])
    kernels = [
        KernelSource(
            source=files[kernel["file"]], **{name: _decode(value) for name, value in kernel.items() if name != "file"}
        )
        for kernel in about["kernels"]
    ]
    names = {name: _object(token) for name, token in about["names"].items()}
    return Generated(files["wrapper.py"], about["name"], kernels, names, about["attributes"])


def _encode(value: Any) -> Any:
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, (tuple, list)):
        return [_encode(item) for item in value]
    if isinstance(value, Mapping):
        return {"mapping": [[name, _encode(item)] for name, item in value.items()]}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if isinstance(value, dict):
        return DTYPES[value["dtype"]] if "dtype" in value else {name: _decode(item) for name, item in value["mapping"]}
    return value


def _token(value: Any) -> list[str] | None:
    """Text that stands for an injected object."""
    if isinstance(value, OpOverload):
        return ["op", value.name]
    if isinstance(value, HigherOrderOperator):
        return ["higher_order", value.name]
    if isinstance(value, DType):
        return ["dtype", value.name]
    if isinstance(value, Device):
        return ["device", str(value)]
    if isinstance(value, BuiltinFunctionType) and value.__module__ in _ARITHMETIC:
        return ["function", value.__module__, value.__name__]
    if isinstance(value, FunctionType) and value.__module__.startswith("opweave.") and "." not in value.__qualname__:
        return ["function", value.__module__, value.__name__]
    return None


def _object(token: list[str] | None) -> Any:
    match token:
        case ["op", name]:
            return registry.find(name)
        case ["higher_order", name]:
            return registry.higher_order[name]
        case ["dtype", name]:
            return DTYPES[name]
        case ["device", text]:
            return Device(text)
        case ["function", module, name] if module in _ARITHMETIC or module.startswith("opweave."):
            return getattr(importlib.import_module(module), name)
        case None:
            return None
    raise ValueError(f"{token} stands for nothing")
