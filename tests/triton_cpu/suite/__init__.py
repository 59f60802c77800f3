"""A suite of Triton kernels, each with its arguments and a reference in NumPy, that every way to run them shares.

The native backend, Triton's interpreter, the sanitizer and a GPU run the same cases and are held to the same numbers.
A module of this package declares its kernels and, right behind each, `case(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], Sequence[Any]]
"""Arguments of a launch: NumPy arrays (written in place where the kernel writes) and scalars."""
Reference = Callable[..., Any]
"""Gets copies of the arguments as they were before, and gives the arrays expected in `outputs`, in their order."""


@dataclass(frozen=True)
class Case:
    """One kernel, its arguments, and what it must leave in them.

    Attributes
    ----------
    name : str
        Unique name, words separated by spaces.
    kernel : JITFunction
        The kernel, launched as `kernel[grid](*arguments, **constants)`.
    make : callable
        Draws the arguments. Small (a few thousand elements), for the interpreter is slow.
    reference : callable
        The expected contents of the outputs, computed in float64 (integers exactly).
    outputs : tuple of int
        Places of the arguments that the kernel writes; all other arrays must stay as they were.
    grid : tuple of int
    constants : dict
    rtol, atol : float
        Zero means bit for bit. A tolerance is what the arithmetic explains, with the reason beside it.
    interpreter : str
        Empty, or why Triton's interpreter cannot run this kernel or gives another answer.
    missing : str
        Empty, or why the installed Triton cannot compile this kernel.
    """

    name: str
    kernel: Any
    make: Make
    reference: Reference
    outputs: tuple[int, ...]
    grid: tuple[int, ...] = (1,)
    constants: dict[str, Any] = field(default_factory=dict)
    rtol: float = 0.0
    atol: float = 0.0
    interpreter: str = ""
    missing: str = ""


CASES: dict[str, Case] = {}


def case(name: str, kernel: Any, make: Make, reference: Reference, outputs: int | tuple[int, ...], **rest: Any) -> Case:
    """Declare a case; `rest` are further fields of `Case`."""
    assert name not in CASES, f"two cases are called {name!r}"
    places = (outputs,) if isinstance(outputs, int) else outputs
    CASES[name] = Case(name, kernel, make, reference, places, **rest)
    return CASES[name]


def run(case: Case, wrap: Callable[[np.ndarray[Any, Any]], Any], seed: int = 0) -> None:
    """Launch `case` on arrays that `wrap` turns into what the launcher takes (sharing memory), and compare everything.

    Raises
    ------
    AssertionError
        If an output is not as expected, or another argument has changed.
    """
    arguments = list(case.make(np.random.default_rng(seed)))
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    case.kernel[case.grid](*(wrap(a) if isinstance(a, np.ndarray) else a for a in arguments), **case.constants)
    expected = case.reference(*(a.copy() if isinstance(a, np.ndarray) else a for a in before))
    wanted = dict(zip(case.outputs, expected if isinstance(expected, tuple) else (expected,), strict=True))
    for place, (got, was) in enumerate(zip(arguments, before, strict=True)):
        if isinstance(got, np.ndarray):
            compare(got, wanted.get(place, was), case, place)


def compare(got: np.ndarray[Any, Any], want: Any, case: Case, place: int) -> None:
    """Compare an argument with what it must hold; where bit for bit is asked, signs of zero too."""
    what = f"{case.name}: argument {place}"
    with np.errstate(all="ignore"):
        exact = np.asarray(want)
        rounded = np.broadcast_to(exact.astype(got.dtype) if exact.dtype != got.dtype else exact, got.shape)
    if case.rtol == case.atol == 0 or got.dtype.kind in "iub":
        np.testing.assert_array_equal(got.astype(np.float64), rounded.astype(np.float64), err_msg=what)
        if got.dtype.kind not in "iub":
            numbers = ~np.isnan(rounded.astype(np.float64))
            same = np.signbit(got.astype(np.float64)) == np.signbit(rounded.astype(np.float64))
            assert same[numbers].all(), f"{what}: the sign of a zero differs"
        else:
            np.testing.assert_array_equal(got, rounded, err_msg=what)
        return
    np.testing.assert_allclose(
        got.astype(np.float64), np.broadcast_to(exact, got.shape).astype(np.float64), case.rtol, case.atol, err_msg=what
    )
