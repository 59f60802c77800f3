"""Which convolutions oneDNN makes: those that it makes faster, by measuring once; see the package."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from opweave.codegen import winners
from opweave.codegen.native import pool
from opweave.codegen.onednn import is_forced, library as c
from opweave.codegen.onednn.plans import Layout, Plan, Problem, plan
from opweave.registry import forking
from opweave.registry.dtypes import DType

__all__ = ["Ours", "Plan", "Problem", "plan_of"]

#: Makes a convolution of what is at addresses: of both operands, the result and the bias.
Ours = Callable[[Problem, int, int, int, int], None]

_log = logging.getLogger("opweave.launches")
#: Multiplications from which on it is worth asking.
_LEAST = 1 << 16
#: The most problems of a process, whose plans are kept; the part of our time that the library must be below.
_MOST, _BETTER = 1024, 0.95
#: Turns of measuring at most, and milliseconds of one after which there are no more; seconds that a process measures.
_TURNS, _ENOUGH, _PATIENCE = 5, 20.0, 5.0
#: Multiplications that tell enough: of larger problems some images are measured.
_LARGE = 1 << 29
_LINE = 64
_OURS, _LIBRARY = "native", "oneDNN"
_lock = forking.lock()
_plans: dict[Problem, Plan | None] = {}
_spent = 0.0


def plan_of(problem: Problem, multiplications: int, ours: Ours) -> Plan | None:
    """How the library makes a convolution; None where opweave's own code is to.

    Parameters
    ----------
    problem : Problem
        The convolution.
    multiplications : int
        Of it.
    ours : callable
        Makes it without the library.
    """
    if problem.dtype not in c.TYPES or (multiplications < _LEAST and not is_forced()):
        return None
    found = c.library()
    if found is None:
        return None
    with _lock:
        if problem not in _plans:
            made = _chosen(found, problem, multiplications, ours) if len(_plans) < _MOST else None
            _plans[problem] = made
        return _plans[problem]


# ---- which


def _chosen(library: c.Library, problem: Problem, multiplications: int, ours: Ours) -> Plan | None:
    global _spent
    contest = winners.Contest(
        f"convolution {problem.form}", _key(problem), (_OURS, _LIBRARY), f"oneDNN {library.version}"
    )
    known = None if is_forced() else contest.find()
    if known is not None and known.name == _OURS:
        return None
    if known is None and not is_forced() and _spent > _PATIENCE:
        return None
    try:
        made = plan(library, problem)
        if known is not None or is_forced():
            return made
        started = time.monotonic()
        sample = _sample(problem, multiplications)
        tried = made if sample == problem else plan(library, sample)
    except c.NotOffered:
        return None
    times = _times(sample, {_OURS: functools.partial(ours, sample), _LIBRARY: tried.run})
    _spent += time.monotonic() - started
    better = times[_LIBRARY] < _BETTER * times[_OURS]
    winner = _LIBRARY if better else _OURS
    _log.debug("%s: %s", contest.name, times)
    contest.keep(winners.Winner(winner, times=times))
    return made if better else None


def _sample(problem: Problem, multiplications: int) -> Problem:
    """The same with as many images as it takes to tell."""
    images = max(problem.a[0][0] * _LARGE // max(multiplications, _LARGE), 1)
    parts = ("a", "b") if problem.form == "weight" else ("out", "a")
    layouts = {part: getattr(problem, part) for part in parts}
    return problem._replace(**{part: ((images, *sizes[1:]), strides) for part, (sizes, strides) in layouts.items()})


def _key(problem: Problem) -> tuple[object, ...]:
    form, dtype, *layouts, bias, groups, steps = problem
    return (form, dtype.name, *layouts, bias, groups, *steps)


def _times(problem: Problem, candidates: dict[str, Callable[[int, int, int, int], None]]) -> dict[str, float]:
    """Milliseconds of a thread by candidate, the least of several in turns, of operands that are made for it."""
    kept = [_memory(problem.dtype, layout) for layout in (problem.a, problem.b, problem.out)]
    bias = _memory(problem.dtype, ((problem.out[0][1],), (1,))) if problem.bias else None
    given = [_aligned(memory) for memory in kept] + [0 if bias is None else _aligned(bias)]
    times = dict.fromkeys(candidates, float("inf"))
    with pool.alone():
        for make in candidates.values():
            make(*given)
        for _ in range(_TURNS):
            for name, make in candidates.items():
                start = time.thread_time_ns()
                make(*given)
                times[name] = min(times[name], (time.thread_time_ns() - start) / 1e6)
            if max(times.values()) > _ENOUGH:
                break
    return times


def _memory(dtype: DType, layout: Layout) -> NDArray[np.uint8]:
    sizes, strides = layout
    extent = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    memory = np.empty(extent * dtype.itemsize + _LINE, np.uint8)
    # A pattern of bits that is a number of usual size in each type.
    memory[...] = 0x3E
    return memory


def _aligned(memory: np.ndarray) -> int:
    return -(-memory.ctypes.data // _LINE) * _LINE
