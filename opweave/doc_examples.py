"""Examples of docstrings: for each op one of its declaration's samples, with what it gives.

    python -m opweave.doc_examples           # writes `registry/ops/help/examples.json`
    python -m opweave.doc_examples --check   # says which are not as they would be written

Of the samples the smallest is taken that prints as it does everywhere. Numbers are written out and rounded, so that the
example can be typed; what is random, uninitialised, or determined but for a sign shows its sizes alone.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import opweave
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import OpweaveError
from opweave.registry.interrupts import let_through
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.op import OpOverload, registry
from opweave.registry.ops import surface
from opweave.registry.ops.help.documents import is_function
from opweave.registry.ops.help.example_calls import CALLS
from opweave.registry.ops.help.forms import is_out
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.tags import Tag
from opweave.registry.tensor import Tensor

PATH = Path(__file__).parent / "registry" / "ops" / "help" / "examples.json"
_NAMES = "x y z w u v".split()
_LONGEST, _WIDEST, _LINES = 16, 110, 10
#: Files whose results are determined but for signs or order, or to fewer digits than are shown.
_LOOSE = ("factorizations", "spectra", "approximations")
_NOISE = re.compile(r"\de-0[4-9]|e-[1-9]\d|e\+|nan|inf")


class _Unfit(Exception):
    """A sample that makes no good example."""


def make(*sizes: int, dtype: DType = opweave.float32, low: float = -2.0, high: float = 2.0) -> Tensor:
    """A tensor for a sample, of numbers that are short to write."""
    count = math.prod(sizes)
    steps = (np.arange(count) * 7 + 3) % max(count, 1) / max(count - 1, 1)
    values = low + (high - low) * (steps if count > 1 else np.full(count, 0.75))
    if dtype.kind == "b":
        array = (np.arange(count) % 3 != 1).reshape(sizes)
    elif dtype.kind in "iu":
        array = np.round(np.clip(values, 0 if dtype.kind == "u" else None, None)).reshape(sizes)
    else:
        array = np.clip(np.round(values, 1), low, high).reshape(sizes)
    return opweave.tensor(array.tolist(), dtype=dtype) if count else opweave.empty(sizes, dtype=dtype)


# ---- values as text --------------------------------------------------------------------------------------------------


def _number(value: Any) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            return f"float('{value}')"
        return repr(round(value, 4))
    return repr(value)


def _nested(value: Any) -> str:
    return f"[{', '.join(map(_nested, value))}]" if isinstance(value, list) else _number(value)


def written(t: Tensor) -> str:
    """A tensor as code."""
    if t.numel() == 0 or t.numel() > _LONGEST or t.is_complex():
        raise _Unfit
    plain = {"f": opweave.float32, "i": opweave.int64, "b": t.dtype}.get(t.dtype.kind)
    more = "" if t.dtype is plain else f", dtype={t.dtype!r}"
    return f"opweave.tensor({_nested(t.tolist())}{more})"


class _Writer:
    """The arguments of a call as code, tensors by names."""

    def __init__(self) -> None:
        self.setup: list[str] = []
        self.named: dict[int, str] = {}
        self.kept: list[Tensor] = []

    def text(self, value: Any) -> str:
        if isinstance(value, Tensor):
            if id(value) not in self.named:
                if len(self.named) == len(_NAMES):
                    raise _Unfit
                self.named[id(value)] = name = _NAMES[len(self.named)]
                self.kept.append(value)
                self.setup.append(f"{name} = {written(value)}")
            return self.named[id(value)]
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(self.text, value))}]"
        if value is None or isinstance(value, (bool, int, float, str)):
            return _number(value)
        if isinstance(value, DType):
            return repr(value)
        if isinstance(value, MemoryFormat):
            return f"opweave.{value.name}"
        if isinstance(value, Device):
            return repr(str(value))
        raise _Unfit


# ---- one op ----------------------------------------------------------------------------------------------------------


def _shows_sizes(op: OpOverload) -> bool:
    if Tag.nondeterministic_seeded in op.tags or getattr(op.decl, "is_uninitialised", False):
        return True
    code = getattr(getattr(op.decl, "body", None), "__code__", None)
    return code is not None and Path(code.co_filename).stem in _LOOSE


def _run(setup: Sequence[str], call: str) -> str:
    scope: dict[str, Any] = {"opweave": opweave}
    for line in setup:
        exec(line, scope)
    return repr(eval(call, scope))


def _call(function: str, arguments: Sequence[str]) -> str:
    return f"{function}({', '.join(arguments)})"


def _function(packet: OpOverloadPacket) -> str | None:
    for module in ("linalg", "special"):
        if packet.opname.startswith(f"{module}_"):
            return f"opweave.{module}.{packet.opname.removeprefix(f'{module}_')}"
    return f"opweave.{packet.opname}" if is_function(packet) else None


def _example(packet: OpOverloadPacket, op: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """An example of a call.

    Raises
    ------
    _Unfit
        If it is none that one would write.
    """
    writer = _Writer()
    trimmed, named = op.trim(tuple(args), kwargs)
    given = [writer.text(value) for value in trimmed]
    given += [f"{name}={writer.text(value)}" for name, value in named.items()]
    return _shown(packet, op, writer.setup, given, _shows_sizes(op))


def _shown(packet: OpOverloadPacket, op: OpOverload, setup: list[str], given: list[str], sizes: bool) -> Any:
    """The calls as a function and as a method, and what they give."""
    calls: list[str] = []
    function = _function(packet)
    if function is not None:
        calls.append(_call(function, given))
    if given and given[0] == "x" and hasattr(Tensor, packet.opname) and op._schema.arguments[0].name == "self":
        calls.append(_call(f"x.{packet.opname}", given[1:]))
    if op.is_mutable:  # a second call would find what the first has written
        calls = calls[-1:]
    kept: list[str] = []
    result = ""
    for call in calls:
        try:
            if sizes:
                one = len(op._schema.returns) == 1 and not op._schema.returns[0].type.is_list
                call = f"{call}.shape" if one else f"[t.shape for t in {call}]"
            found = _run(setup, call)
        except Exception as error:
            let_through(error)
            continue
        if not kept or found == result:
            result = found
            kept.append(call)
    lines = result.splitlines()
    if not kept or len(lines) > _LINES or max(map(len, [*setup, *lines])) > _WIDEST:
        raise _Unfit
    if _NOISE.search(result) and packet.opname not in CALLS:
        raise _Unfit
    return {"setup": setup, "calls": kept, "result": result}


#: Numbers that functions of each element are shown with; the first that all are defined for.
_ELEMENTS = ([-1.0, 0.5, 2.0], [0.25, 0.5, 1.0], [1.0, 2.0, 4.0], [0.2, 0.5, 0.9])
_OTHERS = [2.0, 3.0, 1.0]


def _of_elements(packet: OpOverloadPacket) -> Any:
    """An example of an op that computes each element from one of each tensor."""
    op = getattr(packet, packet.overloads()[0])
    tensors = [a for a in op._schema.arguments if a.type.is_tensor and not a.kwarg_only]
    needed = [a for a in op._schema.arguments if not a.has_default]
    each = getattr(op.decl, "elementwise", False) or packet.opname.startswith("special_")
    if not each or len(tensors) > 2 or needed != tensors or not tensors:
        raise _Unfit
    for values in _ELEMENTS:
        setup = [f"x = opweave.tensor({values})", f"y = opweave.tensor({_OTHERS})"][: len(tensors)]
        try:
            return _shown(packet, op, setup, ["x", "y"][: len(tensors)], False)
        except _Unfit:
            continue
    raise _Unfit


def _candidates(packet: OpOverloadPacket) -> Iterator[tuple[OpOverload, Any, Any]]:
    for name in packet.overloads():
        op = getattr(packet, name)
        samples = getattr(op.decl, "samples", None)
        if samples is None or is_out(op):
            continue
        try:
            for args, kwargs in samples(make):
                yield op, args, kwargs
        except OpweaveError as error:
            let_through(error)


def _weight(args: Sequence[Any], kwargs: dict[str, Any]) -> float:
    """How far a sample is from what one would write."""
    tensors = [t for value in (*args, *kwargs.values())
               for t in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(t, Tensor)]  # fmt: skip
    count = sum(t.numel() for t in tensors)
    shapes = sum(abs(t.ndim - 1.5) for t in tensors)
    return abs(count - 6) + shapes + 2 * len(kwargs) + 0.5 * len(args) + 20 * any(t.numel() < 2 for t in tensors)


def _of_packet(packet: OpOverloadPacket) -> Any:
    op = getattr(packet, packet.overloads()[0])
    if packet.opname in CALLS:
        setup, arguments, sizes = CALLS[packet.opname]
        try:
            return _shown(packet, op, setup, _split(arguments), sizes or _shows_sizes(op))
        except _Unfit:
            return None
    try:
        return _of_elements(packet)
    except _Unfit:
        pass
    for suffix in ("_", "_copy"):
        stem = registry.packets.get(f"aten::{packet.opname.removesuffix(suffix)}")
        if packet.opname.endswith(suffix) and stem is not None:
            return _like(packet, stem, suffix)
    found = sorted(_candidates(packet), key=lambda item: _weight(item[1], item[2]))
    for op, args, kwargs in found:
        try:
            return _example(packet, op, args, kwargs)
        except _Unfit:
            continue
    return None


def _split(arguments: str) -> list[str]:
    """Arguments of a call, as text."""
    call = ast.parse(f"f({arguments})", mode="eval").body
    assert isinstance(call, ast.Call)
    return [*map(ast.unparse, call.args), *(f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords)]


def _like(packet: OpOverloadPacket, stem: OpOverloadPacket, suffix: str) -> Any:
    """An example of a variant from that of the op that it is a variant of."""
    base = _of_packet(stem)
    if base is None:
        return None
    calls: list[str] = []
    result = ""
    for call in base["calls"]:
        text = re.sub(rf"\b{stem.opname}\(", f"{packet.opname}(", call, count=1)
        try:
            found = _run(base["setup"], text)
        except Exception as error:
            let_through(error)
            continue
        if calls and found != result:
            continue
        result = found
        calls.append(text)
    if getattr(packet, packet.overloads()[0]).is_mutable:  # a second call would find what the first has written
        calls = calls[-1:]
    return {"setup": base["setup"], "calls": calls, "result": result} if calls else None


def packets() -> list[OpOverloadPacket]:
    """The ops that are functions of the package or of its modules, or methods."""
    found: dict[str, OpOverloadPacket] = {}
    surface.functions()
    for packet in registry.packets.values():
        name = packet.opname
        if packet.namespace == "aten" and not name.startswith(("_", "fft_")):
            if is_function(packet) or hasattr(Tensor, name):
                found[name] = packet
    return [found[name] for name in sorted(found)]


def examples() -> dict[str, Any]:
    """The examples by the names of the ops."""
    found = {packet.opname: _of_packet(packet) for packet in packets()}
    return {name: value for name, value in found.items() if value is not None}


def main(argv: Sequence[str] | None = None) -> int:
    """Write the examples, or say which are stale."""
    parser = argparse.ArgumentParser(prog="python -m opweave.doc_examples", description="Write examples of docstrings.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where they are stale")
    options = parser.parse_args(argv)
    made = examples()
    without = [packet.opname for packet in packets() if packet.opname not in made]
    if without:
        print(f"without an example: {', '.join(without)}")
    rows = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in made.items()]
    text = "{\n" + ",\n".join(rows) + "\n}\n"
    stale = not PATH.exists() or PATH.read_text() != text
    if stale and not options.check:
        PATH.write_text(text)
    print(f"{len(made)} examples{', stale' if stale and options.check else ''}")
    return int(options.check and stale)


if __name__ == "__main__":
    sys.exit(main())
