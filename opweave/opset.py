"""What each op of the core ATen opset can do here: `python -m opweave.opset` tries it and prints the table.

Every cell is what a call of the op's declared sample gave just then, compared with eager where there is something to
compare. `--markdown` prints the page of the documentation, names of ops as further arguments restrict it.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from opweave.compiling import compile
from opweave.explaining import explain
from opweave.fake.mode import FakeTensorMode
from opweave.fake.shape_env import ShapeEnv
from opweave.registry import dtypes
from opweave.registry.autograd import engine
from opweave.registry.core_opset import CORE
from opweave.registry.dtypes import DType
from opweave.registry.errors import OpweaveError, UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.nested import map_leaves
from opweave.registry.op import OpOverload, ops, registry
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tags import Tag
from opweave.registry.tensor import Tensor
from opweave.registry.vmap.transform import vmap
from opweave.tracer.make_fx import make_fx

Call = tuple[tuple[Any, ...], dict[str, Any]]
YES, NONE = "yes", "-"


def maker(dtype: DType, seed: int) -> Callable[..., Tensor]:
    """What samples make their tensors with: random numbers, alike for alike seeds."""
    draw = np.random.default_rng(seed)

    def make(*sizes: int, dtype: DType = dtype, low: float | None = None, high: float | None = None) -> Tensor:
        if dtype.kind in "biu":
            bounds = (
                (0, 1) if dtype.kind == "b" else (-5 if low is None else int(low), 5 if high is None else int(high))
            )
            values: Any = draw.integers(*bounds, sizes, endpoint=True)
        else:
            values = draw.uniform(-3.0 if low is None else low, 3.0 if high is None else high, sizes)
            if dtype.kind == "c":
                values = values + 1j * draw.uniform(-1, 1, sizes)
        return Tensor._from_array(np.array(values, dtype.numpy).reshape(sizes))

    return make


#: Values for the arguments of an op without samples, by the schema's type.
_BY_TYPE: dict[str, Any] = {
    "Scalar": 2, "int": 0, "SymInt": 0, "float": 0.5, "bool": True, "str?": None, "int[]": [1], "SymInt[]": [2, 3],
    "int[1]?": [1],
}  # fmt: skip
#: Tensors of ops that do not take any, or only some sizes.
_TENSORS = {
    ops.aten._local_scalar_dense: [()],
    ops.aten._native_batch_norm_legit: [(4, 3, 5), (3,), (3,), (3,), (3,)],
}


def sample(op: OpOverload, seed: int = 0) -> Call | None:
    """The first sample that eager takes; None if there is none."""
    samples = None if op.decl is None or op.decl.writes_out else op.decl.samples
    for dtype in (dtypes.float32, dtypes.int64, dtypes.bool_, dtypes.complex64):
        make = maker(dtype, seed)
        try:
            for args, kwargs in samples(make) if samples is not None else [_by_schema(op, make)]:
                op(*_copied(args), **kwargs)
                return args, kwargs
        except UnsupportedError:
            raise
        except (OpweaveError, TypeError, KeyError):
            continue
    return None


def _by_schema(op: OpOverload, make: Callable[..., Tensor]) -> Call:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    sizes = iter(_TENSORS.get(op.packet, []))
    for argument in op._schema.arguments:
        kind = str(argument.type)
        if argument.has_default:
            continue
        value = make(*next(sizes, (2, 3))) if kind.startswith("Tensor") else _BY_TYPE[kind]
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return tuple(args), kwargs


def _map(value: Any, change: Callable[[Tensor], Any]) -> Any:
    return map_leaves(value, lambda leaf: change(leaf) if isinstance(leaf, Tensor) else leaf)


def _tensors(value: Any) -> list[Tensor]:
    return list(tensors_in(value))


def _copied(value: Any) -> Any:
    return _map(value, lambda t: ops.aten.clone.default(t))


def _agree(found: Any, wanted: Any) -> None:
    ours, theirs = _tensors([found]), _tensors([wanted])
    if len(ours) != len(theirs):
        raise AssertionError(f"{len(ours)} results instead of {len(theirs)}")
    for one, other in zip(ours, theirs, strict=True):
        if one._sizes != other._sizes or one._dtype is not other._dtype:
            raise AssertionError("another shape or type")
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-5, equal_nan=True)


# ---- capabilities --------------------------------------------------------------------------------------------------


def _is_random(op: OpOverload) -> bool:
    return op.is_random or op in (ops.aten.empty.memory_format, ops.aten.empty_strided.default)


def _is_dynamic(op: OpOverload) -> bool:
    """Whether sizes of the results depend on data: such an op has no batch of results of one shape."""
    places = op.decl is not None and op.decl.takes_places  # as `index`, which is so with a mask alone
    return Tag.dynamic_output_shape in op.tags and not places


def _eager(op: OpOverload, call: Call) -> str:
    op(*_copied(call[0]), **call[1])
    return YES


def _fake(op: OpOverload, call: Call) -> str:
    wanted = op(*_copied(call[0]), **call[1])
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        static = functools.partial(mode.from_tensor, static_shapes=True)
        found = op(*_map(call[0], static), **{k: _map(v, static) for k, v in call[1].items()})
    if _is_dynamic(op):
        return YES if [t.ndim for t in _tensors([found])] == [t.ndim for t in _tensors([wanted])] else "another rank"
    for one, other in zip(_tensors([found]), _tensors([wanted]), strict=True):
        if (one._sizes, one._strides, one._dtype) != (other._sizes, other._strides, other._dtype):
            raise AssertionError("another layout")
    return YES


def _with_tensors(op: OpOverload, call: Call) -> tuple[Callable[..., Any], list[Tensor]]:
    """The call as a function of its tensors."""

    def run(*tensors: Tensor) -> Any:
        given = iter(tensors)
        return op(*_map(call[0], lambda t: next(given)), **call[1])

    return run, _tensors(call[0])


def _symbolic(op: OpOverload, call: Call) -> str:
    run, tensors = _with_tensors(op, call)
    if not tensors:
        return NONE
    wanted = run(*_copied(tensors))
    if any(isinstance(value, Tensor) for value in [wanted, *_tensors([wanted])]):
        traced = make_fx(run, tracing_mode="symbolic")(*_copied(tensors))
        if not _is_random(op):
            _agree(traced(*_copied(tensors)), wanted)
    return YES


def _compiled(op: OpOverload, call: Call) -> str:
    run, tensors = _with_tensors(op, call)
    wanted = run(*_copied(tensors))
    if not _tensors([wanted]):
        return NONE
    found = compile(run)(*_copied(tensors))
    if not _is_random(op):
        _agree(found, wanted)
    report = explain(run)(*_copied(tensors)).versions[-1].fusion.splitlines()
    extern = any(line.startswith("extern") and "aten.copy_" not in line for line in report)
    return "call" if extern else "kernel" if any(line.startswith("kernel") for line in report) else "view"


def _vmap(op: OpOverload, call: Call) -> str:
    run, tensors = _with_tensors(op, call)
    if (
        not tensors
        or _is_dynamic(op)
        or (op.decl is not None and op.decl.writes_out)
        or not _tensors([run(*_copied(tensors))])
    ):
        return NONE
    many = [_tensors(found[0]) for seed in range(3) if (found := sample(op, seed)) is not None]
    stacked = [ops.aten.stack.default(list(each)) for each in zip(*many, strict=True)]
    found = vmap(run, randomness="different" if _is_random(op) else "error")(*_copied(stacked))
    if _is_random(op):
        return YES
    each = [_tensors([run(*_copied(one))]) for one in many]
    for batch, singles in zip(_tensors([found]), zip(*each, strict=True), strict=True):
        _agree(batch, ops.aten.stack.default(list(singles)))
    return YES


def _backward(op: OpOverload, call: Call) -> str:
    if op.decl is not None and op.decl.writes_out:
        return NONE
    run, tensors = _with_tensors(op, call)
    leaves = [t.detach() for t in _copied(tensors)]
    written = [argument.name in op.mutated_args for argument in op._schema.arguments if argument.type.has_tensor]
    wanted = [t for t, w in zip(leaves, [*written, *leaves], strict=False) if t._dtype.kind in "fc" and w is not True]
    for t in wanted:
        t.requires_grad_()
    outputs = [t for t in _tensors([run(*leaves)]) if t.requires_grad]
    if not wanted or not outputs:
        return NONE
    engine.grad(outputs, wanted, [ops.aten.ones_like.default(t.detach()) for t in outputs], allow_unused=True)
    return YES


def _variants(op: OpOverload, call: Call) -> str:
    names = registry.packets
    found = []
    if f"aten::{op.opname}_" in names:
        found.append("in-place")
    overloads = [getattr(op.packet, overload) for overload in op.packet.overloads()]
    if any(a.kwarg_only and a.is_write for overload in overloads for a in overload._schema.arguments):
        found.append("out=")
    return ", ".join(found) or NONE


CAPABILITIES: dict[str, Callable[[OpOverload, Call], str]] = {
    "eager": _eager, "fake": _fake, "symbolic": _symbolic, "backward": _backward, "vmap": _vmap, "compiled": _compiled,
    "variants": _variants,
}  # fmt: skip


def row(name: str) -> list[str]:
    """What an op can do, in the order of `CAPABILITIES`: `"yes"` or more, `"-"` for what has no meaning, or why not."""
    op = registry.operators.get(f"aten::{name}")
    if op is None:
        return ["missing"] * len(CAPABILITIES)
    try:
        call = sample(op)
    except UnsupportedError:
        return ["refused"] * len(CAPABILITIES)
    if call is None:
        return ["no sample"] * len(CAPABILITIES)
    found = []
    for check in CAPABILITIES.values():
        try:
            found.append(check(op, call))
        except UnsupportedError:
            found.append("refused")
        except Exception as error:  # the table is to say which
            let_through(error)
            found.append(type(error).__name__)
    return found


def table(names: Iterable[str], markdown: bool = False) -> str:
    """The table as text."""
    rows = [["op", *CAPABILITIES], *([name, *row(name)] for name in names)]
    if markdown:
        lines = ["| " + " | ".join(cells) + " |" for cells in rows]
        return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)).rstrip() for cells in rows)


PAGE = """# Core ATen

What each op of the core ATen opset can do, as `python -m opweave.opset --markdown` found by doing it: run eagerly,
on tensors without data, traced with symbolic sizes, differentiated, batched, compiled with the same numbers as
eager. *Compiled* says what runs: a generated `kernel`, a library `call`, or nothing but a new `view`. `-` stands
where there is nothing to do, in PyTorch neither: no gradient of integers, no batch of results whose sizes depend on
data, no gradient or batching of `out=`. `resize_` of an argument is refused by a trace, as is all that changes an
argument's sizes in place; compiled functions take it.

{table}
"""


def main() -> int:
    """Print the table; 1 if an op of it is missing or fails."""
    parser = argparse.ArgumentParser(prog="python -m opweave.opset", description=__doc__)
    parser.add_argument("names", nargs="*", help="ops, such as add.Tensor; all of core by default")
    parser.add_argument("--markdown", action="store_true", help="as a page of the documentation")
    options = parser.parse_args()
    text = table(options.names or CORE, options.markdown)
    sys.stdout.write(PAGE.format(table=text) if options.markdown else text + "\n")
    return int(any(word in text for word in ("missing", "no sample", "Error")))


if __name__ == "__main__":
    raise SystemExit(main())
