"""Run the shared suite of kernels through Triton's interpreter, in a process of its own; prints JSON: case -> problem.

    TRITON_INTERPRET=1 python tests/parity/interpreter_suite.py [words of the names of the cases]

Which cases the interpreter cannot run, and why, stands with each case.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import torch
from triton import knobs
from triton.runtime import interpreter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "triton_cpu"))
import suite

_PATIENCE = 20
"""Seconds for a case: what the interpreter does not understand may loop for ever."""
_patch_tensor = interpreter._patch_lang_tensor


def _patch_for_new_numpy(tensor: Any, scope: Any) -> None:
    """Triton 3.6 asks `int()` of arrays of one element, which NumPy 2.4 no longer allows: ask the element."""
    _patch_tensor(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


def _all_ones(self: Any, type: Any) -> Any:
    """NumPy 2 no longer takes -1 for an unsigned integer."""
    target = interpreter._get_np_dtype(type)
    ones = np.ones(1, bool) if target.kind == "b" else np.full(1, -1, np.int64).astype(target)
    return interpreter.TensorHandle(ones, type.scalar)


def to_torch(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """A tensor over the memory of an array."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def adapt() -> None:
    """Make Triton 3.6's interpreter work with NumPy 2.4."""
    interpreter._patch_lang_tensor = _patch_for_new_numpy
    interpreter.InterpreterBuilder.get_all_ones_value = _all_ones


def _give_up(*_: Any) -> None:
    raise TimeoutError(f"not done after {_PATIENCE} seconds")


def main(words: list[str]) -> None:
    assert knobs.runtime.interpret, "set TRITON_INTERPRET=1"
    adapt()
    signal.signal(signal.SIGALRM, _give_up)
    for module in pkgutil.iter_modules(suite.__path__):
        importlib.import_module(f"suite.{module.name}")
    problems: dict[str, str] = {}
    for name, case in suite.CASES.items():
        if case.interpreter or not all(w in name for w in words):
            continue
        signal.alarm(_PATIENCE)
        try:
            with np.errstate(all="ignore"):
                suite.run(case, to_torch)
            problems[name] = ""
        except Exception:
            problems[name] = traceback.format_exc(limit=-3)
        finally:
            signal.alarm(0)
    print(json.dumps(problems))


if __name__ == "__main__":
    main(sys.argv[1:])
