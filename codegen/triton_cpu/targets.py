"""Lowering for a target with no launch in view: what the analysis of kernels needs of the driver."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from triton.backends import backends
from triton.backends.compiler import GPUTarget

from opweave.codegen.triton_cpu.driver import activate, use


def compiling(target: GPUTarget) -> AbstractContextManager[None]:
    """A context in which kernels that ask for their target are told this one.

    Triton's active driver stays, unless Triton did not find the backend: in a checkout that is not installed.
    """
    found: Any = backends
    if target.backend == "cpu" and not any(b.compiler.supports_target(target) for b in found.values()):
        activate()
    return use(target)
