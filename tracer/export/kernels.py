"""Triton kernels as text: what a launch becomes when a program is saved, and what runs it elsewhere.

A `TextKernel` stands where a `@triton.jit` function does (`registry.triton_op.kernels`). It holds TTIR, the names and
types of the parameters, and which of them are written. Lowering to TTIR and compiling it is the work of layers above,
which supply `lower` and `compile_text`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Any

from opweave.registry import forking
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import ArgumentError, DeviceError, DTypeError, ExportError
from opweave.registry.hooks import Hook
from opweave.registry.launch_form import LaunchForm
from opweave.registry.tensor import Tensor, describe
from opweave.registry.triton_op import CompiledText, forms, kernels, launch_effects


@dataclass(frozen=True)
class TextKernel(CompiledText):
    """A Triton kernel, compiled for one set of argument types.

    Attributes
    ----------
    name : str
        The kernel's function in `ttir`.
    ttir : str
        The module, after Triton's target-independent passes.
    parameters : tuple of (str, str)
        Name and Triton type (`*fp32`, `i32`, `constexpr`) of each of the author's parameters, in order.
    fixed : dict of str to Any
        Values of the parameters that are `constexpr`: they are part of the text.
    writes : frozenset of str
        Parameters whose tensors are written.
    digest : str
        SHA-256 of all that.
    """

    name: str
    ttir: str
    parameters: tuple[tuple[str, str], ...]
    fixed: Mapping[str, Any]
    writes: frozenset[str]
    digest: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        record = [self.name, self.ttir, self.parameters, sorted(self.fixed.items()), sorted(self.writes)]
        digest = hashlib.sha256(json.dumps(record, default=repr).encode()).hexdigest()
        object.__setattr__(self, "digest", digest)

    @property
    def __name__(self) -> str:  # what messages call a kernel
        return self.name

    @property
    def arg_names(self) -> list[str]:
        """Names of the parameters."""
        return [name for name, _ in self.parameters]

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def run(**arguments: Any) -> None:
            self.launch(grid, arguments)

        return run

    def launch(self, grid: Any, arguments: Mapping[str, Any]) -> None:
        """Run the kernel.

        Raises
        ------
        ArgumentError
            If a parameter is missing, or has another value than the one that is part of the text.
        DTypeError
            If a tensor has another element type.
        DeviceError
            If a tensor is not on the CPU.
        CompileError
            If the text cannot be compiled.
        """
        values: list[Any] = []
        self.check_fixed(arguments)
        for name, kind in self.parameters:
            if kind == "constexpr":
                continue
            if name not in arguments:
                raise ArgumentError(f"{self.name}: no argument {name!r}", got=", ".join(arguments))
            value = arguments[name]
            if kind.startswith("*"):
                self._check_tensor(name, kind, value)
            elif isinstance(value, Tensor):
                raise ArgumentError(f"{self.name}: argument {name!r} must be a number", got=describe(value))
            values.append(value)
        sizes = (*grid, 1, 1)[:3]
        if all(sizes):
            _launcher_of(self)(*sizes, *values)

    def check_fixed(self, arguments: Mapping[str, Any]) -> None:
        for name, kind in self.parameters:
            if kind == "constexpr":
                self._check_fixed(name, arguments)

    def _check_fixed(self, name: str, arguments: Mapping[str, Any]) -> None:
        expected = self.fixed.get(name)
        given = arguments.get(name, expected)
        if isinstance(given, Tensor) or type(given) is not type(expected) or repr(given) != repr(expected):
            raise ArgumentError(
                f"{self.name}: exported with {name}={expected!r}, which is part of the kernel",
                got=describe(given),
                hint="export the program again for another value",
            )

    def _check_tensor(self, name: str, kind: str, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{self.name}: argument {name!r} must be a tensor", got=describe(value))
        if not value._device.is_host:
            raise DeviceError(
                f"{self.name}: argument {name!r} is on {value._device}; an exported kernel runs on the CPU",
                got=describe(value),
                hint="import the module that defines the triton_op, and it runs there",
            )
        element = kind.removeprefix("*").removeprefix("k")  # `k` marks what is only read
        if value._dtype.triton != ("i1" if element == "u1" else element):
            raise DTypeError(f"{self.name}: argument {name!r} must be a tensor of {element}", got=describe(value))


@dataclass(frozen=True)
class Lowering:
    """A kernel that was lowered for a launch.

    Attributes
    ----------
    choice : int
        Which of the kernel's configurations it is.
    name : str
        The kernel's function.
    text : str
        The module.
    parameters : tuple of (str, str)
        Each parameter's name and Triton type, `constexpr` for those whose value is part of the text.
    fixed : dict of str to object
        Those values.
    bindings : dict of str to (str or None, object)
        What the parameters that tuples and descriptors were spread to are given: an operand of the launch, or None and
        a value.
    """

    choice: int
    name: str
    text: str
    parameters: tuple[tuple[str, str], ...]
    fixed: dict[str, Any]
    bindings: dict[str, tuple[str | None, Any]]


# The layer that has a compiler supplies these.

#: `(kernel, form, operands) -> Lowering`.
lower: Hook[[Any, LaunchForm, Mapping[str, Any]], Lowering] = Hook()
#: Gives `launch(gx, gy, gz, *arguments)` for the parameters that are not `constexpr`.
compile_text: Hook[[TextKernel], Callable[..., None]] = Hook()
#: `(name, TTIR, parameters that are not constexpr)`: raises where the text is no such kernel.
verify: Hook[[str, str, list[tuple[str, str]]], None] = Hook()
#: Whether kernels are sanitized, which compiles them apart.
sanitized: Hook[[], bool] = Hook()
#: A context in which kernels reach their tensors and nothing else, given the most steps of a launch.
strictly: Hook[[int], AbstractContextManager[None]] = Hook()
#: `(name, results)`: raises where nobody wrote what a program returns.
check_results: Hook[[str, Any], None] = Hook()

_lock = forking.lock()
_launchers: dict[tuple[str, bool], Callable[..., None]] = {}
_known: dict[str, TextKernel] = {}


def _launcher_of(kernel: TextKernel) -> Callable[..., None]:
    key = (kernel.digest, sanitized.call is not None and sanitized.call())
    with _lock:
        found = _launchers.get(key)
        if found is None:
            if compile_text.call is None:
                raise ExportError(f"{kernel.name}: nothing here compiles kernels", hint="import opweave.export")
            found = _launchers[key] = compile_text.call(kernel)
    return found


def check(kernel: TextKernel) -> None:
    """Check that a kernel's text is a kernel with its parameters.

    Raises
    ------
    ExportError
        If it is not.
    """
    if verify.call is None:
        raise ExportError(f"{kernel.name}: nothing here reads kernels", hint="import opweave.export")
    verify.call(kernel.name, kernel.ttir, [(name, kind) for name, kind in kernel.parameters if kind != "constexpr"])


def add(kernel: TextKernel) -> int:
    """The index of a kernel among `registry.triton_op.kernels`; equal kernels share one."""
    with _lock:
        return kernels.add(_known.setdefault(kernel.digest, kernel))


def as_text(
    kernel_idx: int, constant_args_idx: int, operands: Mapping[str, Any]
) -> tuple[TextKernel, int, dict[str, tuple[str | None, Any]]]:
    """The kernel of a launch as text, which of an autotuned kernel's configurations it is, and `Lowering.bindings`.

    Parameters
    ----------
    kernel_idx, constant_args_idx : int
        As in the launch.
    operands : mapping
        Its operands; tensors may be fake.

    Raises
    ------
    UnsupportedError
        If it runs Python before each launch.
    CompileError
        If it cannot be lowered.
    """
    kernel = kernels[kernel_idx]
    if isinstance(kernel, TextKernel):
        return kernel, 0, {}
    if lower.call is None:
        raise ExportError("save: nothing here lowers kernels", hint="import opweave.export")
    made = lower.call(kernel, forms[constant_args_idx], operands)
    writes = launch_effects(kernel_idx, constant_args_idx, dict(operands))
    saved = {operand: name for name, (operand, _) in reversed(made.bindings.items()) if operand is not None}
    writes = frozenset(saved.get(name, name) for name in writes)
    simple = {k: value for k, value in made.fixed.items() if isinstance(value, (bool, int, float, str, type(None)))}
    return TextKernel(made.name, made.text, made.parameters, simple, writes), made.choice, made.bindings
