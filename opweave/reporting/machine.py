"""What this machine can do, measured with the compiler's own code: the roof that kernels are compared with.

Bandwidth is that of a compiled `x + 1`, which reads as many bytes as it writes, for tensors that fit the caches and for
some that do not: a kernel is compared with it at its own size. So launches and threads are in it, and a share of 100 %
means as fast as a kernel that does nothing but move these bytes. Flops are those of a product of square matrices.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from opweave.codegen.native import pool
from opweave.compiling import compile
from opweave.registry.device import Device
from opweave.registry.dtypes import DTYPES
from opweave.registry.interrupts import let_through
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, allocate
from opweave.reporting.model import MachineRow
from opweave.runtime.context import below_autograd

#: Elements, float32, of what is moved.
_SIZES = (1 << 14, 1 << 17, 1 << 20, 1 << 22, 1 << 24)
_MATRIX = 768
_ROUNDS, _LONGEST = 20, 0.3


def synchronize(device: Device) -> None:
    """Wait until a device has done what it was told."""
    if not device.is_host:
        device.xp.cuda.get_current_stream().synchronize()


def best(call: Callable[[], Any], device: Device) -> float:
    """Seconds of a call, the best of some."""
    call()
    found, begun = math.inf, time.perf_counter()
    for _ in range(_ROUNDS):
        synchronize(device)
        start = time.perf_counter()
        call()
        synchronize(device)
        found = min(found, time.perf_counter() - start)
        if time.perf_counter() - begun > _LONGEST:
            break
    return max(found, 1e-9)


@functools.cache
def measured(device: Device) -> MachineRow:
    """What a device does, measured once a process, in about a second."""

    def more(x: Tensor) -> Tensor:
        return ops.aten.add.Tensor(x, 1)

    bandwidth: list[tuple[int, float]] = []
    flops: dict[str, float] = {}
    with below_autograd():
        for size in _SIZES:
            x = ops.aten.fill_.Scalar(allocate((size,), (1,), DTYPES["float32"], device), 1.0)
            bandwidth.append((8 * size, 8 * size / best(_compiled(more, x), device)))
        for name in ("float32", "float64"):
            layout = (_MATRIX, _MATRIX), (_MATRIX, 1), DTYPES[name], device
            a = ops.aten.fill_.Scalar(allocate(*layout), 1.0)
            flops[name] = 2 * _MATRIX**3 / best(_compiled(ops.aten.mm.default, a, a.t()), device)
    return MachineRow(_name(device), pool.get_num_threads() if device.is_host else 0, bandwidth, flops)


def _compiled(function: Callable[..., Any], *inputs: Tensor) -> Callable[[], Any]:
    """The compiled code of a function, without the tests that come before it."""
    made = compile(function, dynamic=False)
    made(*inputs)
    return functools.partial(made.entries[0].program.run, *inputs)


def bandwidth_at(machine: MachineRow, nbytes: int) -> float:
    """Bytes a second of a kernel that moves so many."""
    return between(machine.bandwidth, nbytes)


def between(points: Sequence[tuple[int, float]], at: float) -> float:
    """The value at a place between measured ones, on logarithmic scales; beyond them that of the last."""
    if at <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if at <= x1:
            part = math.log(at / x0) / math.log(x1 / x0)
            return math.exp(math.log(y0) + part * (math.log(y1) - math.log(y0)))
    return points[-1][1]


def _name(device: Device) -> str:
    if not device.is_host:
        return str(device)
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError as error:
        let_through(error)
        lines = []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{model or platform.processor() or platform.machine()}, {os.cpu_count()} cores"
