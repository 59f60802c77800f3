"""`OPWEAVE_REPORT=folder`: each function that is compiled has its report there, made anew with each version."""

from __future__ import annotations

import os
import re
import threading
import warnings
from typing import Any

from opweave.registry import forking
from opweave.registry.folders import absolute
from opweave.registry.interrupts import let_through
from opweave.reporting.gather import Call, Gathering
from opweave.reporting.observing import Report, observed_call
from opweave.runtime.compiled import CompiledFunction
from opweave.runtime.entry import Entry

_busy = threading.local()
_lock = forking.lock()
#: The names of files, by function.
_names: dict[str, int] = {}


def call_and_report(
    compiled: CompiledFunction[..., Any],
    entry: Entry,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    ran: bool = False,
) -> Any:
    """Make the call that a version was compiled for, and write what there is to say of it.

    A call that ran in Python already, to show what it runs, is not made again: its report has no times. A report that
    fails says so in a warning; the call's result is the same.
    """
    folder = absolute(os.environ.get("OPWEAVE_REPORT", ""))
    if folder is None or getattr(_busy, "now", False):  # what measuring itself compiles
        return None if ran else entry.alone(compiled._name, compiled._parameters)(*args, **kwargs)
    if ran:
        call, result = Call(entry, None), None
    else:
        call, result = observed_call(compiled, entry, args, kwargs, measure=True)
    _busy.now = True
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / _name(compiled)
        others = {id(other): "another call" for other in compiled.entries if other is not entry}
        facts = Gathering(compiled, others, call, True).run()
        if ran:
            facts.notes.append(
                "not measured: the call that it was compiled for ran in Python, which shows what it runs"
            )
        Report(facts, None).save(path)
    except Exception as error:
        let_through(error)
        warnings.warn(f"OPWEAVE_REPORT: no report of {compiled._name}: {error}", RuntimeWarning, stacklevel=2)
    finally:
        _busy.now = False
    return result


def _name(compiled: CompiledFunction[..., Any]) -> str:
    """A file name that no other function of this process has."""
    found: Any = vars(compiled).get("_report_name")
    if found is None:
        base = re.sub(r"[^\w.-]", "_", getattr(compiled, "__qualname__", compiled._name)).strip("._") or "function"
        with _lock:
            number = _names[base] = _names.get(base, 0) + 1
        found = f"{base}.html" if number == 1 else f"{base}-{number}.html"
        vars(compiled)["_report_name"] = found
    return found
