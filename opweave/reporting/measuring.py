"""How long each step of a compiled graph takes, and what it moves: the same steps, run one by one.

The compiled code runs what needs no Python in native calls. Here the host program is printed without these, with a look
at the clock behind each step, so that each has a time of its own; the kernels and libraries are the same. What launches
take in the compiled code itself comes from `codegen.native.profile`.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from opweave.codegen.generated import Generated
from opweave.codegen.host.python import Printer
from opweave.codegen.host.steps import Program
from opweave.codegen.native.profile import profile
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.registry.dtypes import DTYPES
from opweave.registry.random_state import get_rng_state, set_rng_state
from opweave.registry.tensor import Tensor, allocate, make
from opweave.reporting.machine import synchronize
from opweave.runtime.code import run
from opweave.runtime.context import call_below_autograd

#: Seconds that the steps of a program are run again for, and how often at most.
LONGEST, ROUNDS = 0.4, 30


@dataclass
class Seen:
    """A tensor as a step met it."""

    sizes: tuple[int, ...]
    nbytes: int
    storage: int
    whole: int


@dataclass
class Measured:
    """What steps took and moved.

    Attributes
    ----------
    whole : float
        Seconds of a call of the compiled code, the best of some.
    stepwise : float
        Of all steps one by one.
    seconds : list of float
        Of each step.
    timeline : list of (float, float)
        Start and length of each step in one of the calls.
    tensors : list of dict
        By step the tensors that were there, by name.
    kernels : dict
        By name of a kernel launches and seconds of a call of the compiled code.
    """

    whole: float
    stepwise: float
    seconds: list[float]
    timeline: list[tuple[float, float]]
    tensors: list[dict[str, Seen]] = field(default_factory=list[dict[str, Seen]])
    kernels: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])


class Copies:
    """Copies of what a graph is called with, with the same layouts, of the same memory where tensors share it."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = [*values]
        self._kept: dict[int, Tensor] = {}
        for value in self.values:
            if isinstance(value, Tensor) and id(value._storage) not in self._kept:
                self._kept[id(value._storage)] = _bytes_of(value)

    def fresh(self) -> list[Any]:
        """The values as they were, for a call that may write them."""
        copied = {key: _bytes_of(kept) for key, kept in self._kept.items()}
        return [_over(copied[id(v._storage)], v) if isinstance(v, Tensor) else v for v in self.values]


def _bytes_of(value: Tensor) -> Tensor:
    storage, kind = value._storage, DTYPES["uint8"]
    copy = allocate((storage.nbytes,), (1,), kind, value._device)
    if storage.nbytes:
        copy._array[...] = storage.array((storage.nbytes,), (1,), 0, kind)
    return copy


def _over(memory: Tensor, like: Tensor) -> Tensor:
    return make(memory._storage, like._sizes, like._strides, like._offset, like._dtype, like._device)


def _made(
    program: Program, device: Device, constants: Mapping[str, Tensor], statement: str, names: Mapping[str, Any]
) -> Callable[..., Any]:
    """The function of a program with a statement behind each step, in which `step` is the number of that."""
    printer = Printer(lambda number: statement.format(step=number))
    source = printer.module(program)
    attributes = list(dict.fromkeys(printer.attributes))
    generated = Generated(source, program.name, [*program.kernels], {**printer.names, **names}, attributes)
    return run(generated, Path("<opweave report>"), device, constants).call


def _look(names: Mapping[str, Any]) -> dict[str, Seen]:
    found: dict[str, Seen] = {}
    for name, value in names.items():
        if isinstance(value, Tensor):
            # What is read along a stride of 0 is read once.
            count = math.prod(size for size, step in zip(value._sizes, value._strides, strict=True) if step)
            count = 0 if 0 in value._sizes else count
            storage = value._storage
            found[name] = Seen(tuple(value._sizes), count * value._dtype.itemsize, id(storage), storage.nbytes)
    return found


def measure(
    program: Program,
    compiled: Callable[..., Any],
    inputs: Copies,
    device: Device,
    constants: Mapping[str, Tensor],
    *,
    writes: bool,
) -> tuple[Measured, Any]:
    """Run a graph's steps some times.

    Parameters
    ----------
    program : Program
        Without segments.
    compiled : callable
        The compiled graph.
    inputs : Copies
        What it is called with.
    device : Device
        Where it runs.
    constants : mapping of str to Tensor
        Those of the graph.
    writes : bool
        Whether it writes its inputs.

    Returns
    -------
    measured : Measured
    results : Any
        What the compiled code returned.
    """
    given = inputs.fresh()

    def arguments() -> list[Any]:
        return inputs.fresh() if writes else given

    random = get_rng_state()
    try:
        seen: list[dict[str, Seen]] = []
        look = {"_ow_look": lambda names: seen.append(_look(names))}
        watched = _made(program, device, constants, "_ow_look(locals())", look)
        call_below_autograd(watched, *arguments())
        marks: list[float] = []
        clock = time.perf_counter if device.is_host else lambda: (synchronize(device), time.perf_counter())[1]
        timed = _made(
            program, device, constants, "_ow_mark(_ow_clock())", {"_ow_mark": marks.append, "_ow_clock": clock}
        )
        runs: list[list[float]] = []
        begun = time.perf_counter()
        while len(runs) < 2 or (len(runs) < ROUNDS and time.perf_counter() - begun < LONGEST):
            now = arguments()
            marks.clear()
            call_below_autograd(timed, *now)
            runs.append([mark - marks[0] for mark in marks])
        whole = _seconds(compiled, arguments, device)
        results = None
        with profile() as launches:
            rounds = 3
            for _ in range(rounds):
                results = call_below_autograd(compiled, *arguments())
    finally:
        set_rng_state(random)
    count = len(program.steps) - 1
    seconds = [statistics.median(run[i + 1] - run[i] for run in runs) for i in range(count)] + [0.0]
    quickest = min(runs, key=lambda run: run[-1])
    timeline = [(quickest[i], quickest[i + 1] - quickest[i]) for i in range(count)] + [(quickest[-1], 0.0)]
    kernels = {k.name: (k.launches / rounds, k.seconds / rounds) for k in launches.kernels}
    return Measured(whole, sum(seconds), seconds, timeline, seen[1:], kernels), results


def _seconds(compiled: Callable[..., Any], arguments: Callable[[], list[Any]], device: Device) -> float:
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < 3 or (len(times) < ROUNDS and time.perf_counter() - begun < LONGEST):
        now = arguments()
        synchronize(device)
        start = time.perf_counter()
        call_below_autograd(compiled, *now)
        synchronize(device)
        times.append(time.perf_counter() - start)
    return min(times)
