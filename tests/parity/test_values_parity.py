"""Numbers that a type does not hold, lists as indices, and numbers in text, beside PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")


def bytes_of(lib: Any) -> Any:
    return lib.tensor([250, 3, 7], dtype=lib.uint8)


def halves(lib: Any) -> Any:
    return lib.zeros(3, dtype=lib.float16)


def wholes(lib: Any) -> Any:
    return lib.zeros(3, dtype=lib.int64)


def mask(lib: Any) -> Any:
    return lib.tensor([True, False, True])


def assigned(lib: Any, t: Any, key: Any, value: Any) -> Any:
    t[lib.tensor(key) if isinstance(key, list) else key] = value
    return t


def cube(lib: Any) -> Any:
    return lib.arange(24.0).reshape(2, 3, 4)


CASES: dict[str, Callable[[Any], Any]] = {
    "where: a number too large": lambda lib: lib.where(mask(lib), bytes_of(lib), 300),
    "where: a number too small": lambda lib: lib.where(mask(lib), -300, bytes_of(lib)),
    "where: a negative number wraps": lambda lib: lib.where(mask(lib), bytes_of(lib), -5),
    "where: a half type becomes infinite": lambda lib: lib.where(mask(lib), halves(lib), 1e6),
    "where: float32 does not": lambda lib: lib.where(mask(lib), lib.zeros(3), 1e300),
    "where: another kind of number": lambda lib: lib.where(mask(lib), wholes(lib), 2.5),
    "an element: too large": lambda lib: assigned(lib, bytes_of(lib), 0, 300),
    "an element: a mask value in half precision": lambda lib: assigned(lib, halves(lib), 0, -1e9),
    "elements: too large": lambda lib: assigned(lib, bytes_of(lib), [0, 1], 300),
    "elements by a mask: too large": lambda lib: assigned(lib, bytes_of(lib), [True, False, True], 300),
    "elements: NaN": lambda lib: assigned(lib, wholes(lib), [0, 1], float("nan")),
    "elements: a complex number": lambda lib: assigned(lib, lib.zeros(3), [0, 1], 1 + 2j),
    "elements: NumPy's number": lambda lib: assigned(lib, bytes_of(lib), [0, 1], np.int64(300)),
    "elements: a fraction is dropped": lambda lib: assigned(lib, wholes(lib), [0, 1], 2.7),
    "elements: a negative number wraps": lambda lib: assigned(lib, bytes_of(lib), [0, 1], -1),
    "elements: a mask value in half precision": lambda lib: assigned(lib, halves(lib), [0, 1], -1e9),
    "a list of lists": lambda lib: cube(lib)[[[0, 1], [1, 2]]],
    "a list of tensors": lambda lib: cube(lib)[[lib.tensor([0, 1]), lib.tensor([1, 2])]],
    "a list of a slice and a number": lambda lib: cube(lib)[[slice(None), 1]],
    "a list with None": lambda lib: cube(lib)[[None, 0]],
    "a list of numbers": lambda lib: cube(lib)[[1, 0]],
    "a list of one list": lambda lib: cube(lib)[[[0, 1]]],
    "a tuple of tuples": lambda lib: cube(lib)[(0, 1), (1, 2)],
    "an array": lambda lib: cube(lib)[np.array([[0, 1], [1, 0]])],
    "assignment by a list of tensors": lambda lib: assigned(lib, cube(lib), (lib.tensor([0]), lib.tensor([1])), 5.0),
}


def outcome(case: Callable[[Any], Any], lib: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return case(lib).tolist()
        except (TypeError, ValueError, RuntimeError):
            return "refused"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_and_indices(case: Callable[[Any], Any]) -> None:
    assert outcome(case, opweave) == outcome(case, torch)


def test_values_of_lists_that_do_not_fit_are_refused() -> None:
    """Which PyTorch refuses whatever is in them."""
    t = opweave.tensor([250, 3, 7], dtype=opweave.uint8)
    for value in ([300, 1], np.array([300, 1]), [float("nan"), 1.0], [1j, 0]):
        with pytest.raises(TypeError, match="does not fit uint8"):
            t[opweave.tensor([0, 1])] = value
    t[0:2] = [1, 2]
    assert t.tolist() == [1, 2, 7]


def texts(lib: Any) -> list[Any]:
    number, whole = lib.tensor(2.5), lib.tensor(3)
    found = [f"{number} {whole} {lib.tensor(True)} {lib.tensor([1])}", f"{number:>8.3f}|{whole:04d}"]
    found += [f"{lib.tensor(1.5, requires_grad=True)}", f"{lib.tensor(1 + 2j)}"]
    try:
        found.append(f"{lib.ones(2):.2f}")
    except TypeError:
        found.append("refused")
    return found


def test_tensors_without_dimensions_are_numbers_in_text() -> None:
    assert texts(opweave) == texts(torch)
