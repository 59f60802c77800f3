"""Gradients of programs that write in place, beside PyTorch's: every op, its in-place and its `out=` forms.

`inplace_programs` has the programs: an op, then a write to its result; the in-place form of an op on a tensor, on a
view of one, on one of several views. Where PyTorch computes a gradient, it is ours; where it refuses, we refuse, or
`differences.WRITTEN` says why not, and then the gradient is that of the same program without the write. With
``OPWEAVE_FULL_MATRIX=1`` on more samples, also of complex numbers, and on leaves; each entry of `differences.WRITTEN`
is met then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import comparisons
import differences
from differences import written
from inplace_programs import (
    FORMS,
    TARGETS,
    Outcome,
    functional_in_form,
    functional_of,
    functional_ops,
    inplace_ops,
    is_random,
    out_ops,
    sample_calls,
    visit,
    write_in_form,
    write_to_result,
)
from op_samples import Call, as_list
from oracle import REFUSALS, _argument, hold_close, to_torch

import opweave as ow
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor

FULL = bool(os.environ.get("OPWEAVE_FULL_MATRIX"))
ALLOWED = differences.of_test("written, gradients")
#: The entries of `differences.WRITTEN` that were met.
met: set[str] = set()


def _twin(op: OpOverload) -> Any:
    packet = getattr(torch.ops.aten, op.opname, None) if op.name.startswith("aten::") else None
    return getattr(packet, op.overload) if packet is not None and op.overload in packet.overloads() else None


def _pair(call: Call) -> tuple[Call, list[Any], Call, list[Any]]:
    """The call with leaves for its floating tensors, and the same for PyTorch."""
    leaves: list[Tensor] = []
    twins: list[Any] = []

    def leaf(t: Tensor) -> Tensor:
        made = t.clone().detach()
        if t._dtype.kind in "fc":
            leaves.append(made.requires_grad_())
        return made

    def twin(t: Tensor) -> Any:
        made = to_torch(t.detach()).requires_grad_(t.requires_grad)
        twins.extend([made] if t.requires_grad else [])
        return made

    mine = visit(call[0], leaf), visit(call[1], leaf)
    return mine, leaves, _argument((visit(mine[0], twin), visit(mine[1], twin))), twins


def _try(run: Callable[[], Outcome], refusals: tuple[type[Exception], ...]) -> Outcome | Exception:
    try:
        return run()
    except refusals as error:
        return error


def _hold(
    op: OpOverload, ours: Outcome | Exception, theirs: Outcome | Exception, instead: Callable[[], list[Any] | None],
    note: str, random: bool = False,
) -> None:  # fmt: skip
    """Compare two outcomes; `instead` gives the gradients of the program without a write."""
    entry = written(op.opname)
    if isinstance(ours, Exception) and isinstance(theirs, Exception):
        comparisons.note("written", str(op))
        return
    if isinstance(ours, Exception):
        assert entry is not None and entry.error == type(ours).__name__, f"{note}: PyTorch takes this: {ours!r}"
        met.add(op.opname)
        return
    if isinstance(theirs, Exception):
        assert entry is not None and entry.error == "nothing", f"{note}: PyTorch refuses this: {theirs!r}"
        met.add(op.opname)
        expected = instead()
        for mine, other in zip(ours.gradients, expected if expected is not None else (), strict=expected is not None):
            hold_close(mine, other, ALLOWED, note)
        comparisons.note("written", str(op))
        return
    if entry is not None and entry.left_out:
        met.add(op.opname)
        return
    assert ours.facts == theirs.facts, note
    if entry is not None and entry.rtol is not None:
        met.add(op.opname)
    for mine, other in zip(ours.gradients, theirs.gradients, strict=True):
        assert mine.shape == other.shape, note
        if not random:
            hold_close(mine, other, differences.of_written(op.opname, ALLOWED), note)
    comparisons.note("written", str(op))


def _is_narrow(call: Call) -> bool:
    tensors: list[Tensor] = []
    visit([*call[0], *call[1].values()], lambda t: tensors.append(t) or t)
    return any(t._dtype.kind in "fc" and t._dtype.itemsize < 8 for t in tensors)


# PyTorch has no derivatives of some ops on lists, and refuses to have their results written.
@pytest.mark.parametrize(
    "op", [op for op in functional_ops() if _twin(op) is not None and "_foreach_" not in op.opname], ids=str
)
def test_written_results(op: OpOverload) -> None:
    """An op, then a write to its result."""
    target = _twin(op)
    for dtype, n, call in sample_calls(op, FULL):
        try:
            results = as_list(op(*call[0], **call[1]))
        except OpweaveError:
            continue  # no difference: what is refused is tested on its own
        narrow = _is_narrow(call) or any(isinstance(t, Tensor) and t._dtype.name == "float32" for t in results)
        if narrow and differences.left_out("gradients of samples with a narrow tensor"):
            continue
        positions = [i for i, t in enumerate(results) if isinstance(t, Tensor) and t._dtype.kind in "fc"]
        for form in FORMS:
            if (
                form.startswith("transpose_")
                and op.opname in ("view_as_real", "view_as_complex", "real", "imag", "stft")
                and differences.left_out("written, views of complex numbers transposed in place")
            ):
                continue
            for position in positions:
                for from_leaves in (False, True) if FULL else (False,):
                    given = {"position": position, "from_leaves": from_leaves}
                    mine, leaves, theirs, twins = _pair(call)
                    if not leaves:
                        continue  # no difference: there is nothing to differentiate
                    note = f"{op} {dtype} sample {n}, {form} of result {position}, leaves {from_leaves}"
                    expected = _try(lambda: write_to_result(torch, target, theirs, twins, form, **given), REFUSALS)  # noqa: B023
                    found = _try(lambda: write_to_result(ow, op, mine, leaves, form, **given), (OpweaveError,))  # noqa: B023

                    def instead() -> list[Any] | None:
                        if op._schema.aliased_returns:
                            return None  # a write to a view is one to the argument too
                        mine, leaves, _, _ = _pair(call)  # noqa: B023
                        return write_to_result(ow, op, mine, leaves, form, **given, functional=True).gradients  # noqa: B023

                    _hold(op, found, expected, instead, note)


@pytest.mark.parametrize("op", [op for op in inplace_ops() if _twin(op) is not None], ids=str)
def test_inplace_forms(op: OpOverload) -> None:
    """The in-place form of an op, on a tensor and through views."""
    target, functional = _twin(op), functional_of(op)
    for dtype, n, call in sample_calls(op, FULL):
        first = call[0][0]
        if _is_narrow(call) and differences.left_out("gradients of samples with a narrow tensor"):
            continue
        if first._dtype.kind not in "fc":
            continue  # no difference: it has no gradient
        for kind in TARGETS:
            if (
                kind == "view of plain"
                and op.name in ("aten::scatter_.reduce", "aten::floor_divide_.Tensor", "aten::heaviside_")
                and differences.left_out("written, views of constants by ops without derivative")
            ):
                continue
            mine, leaves, theirs, twins = _pair(call)
            note = f"{op} {dtype} sample {n}, on {kind}"
            expected = _try(lambda: write_in_form(torch, target, theirs, twins, kind), REFUSALS)  # noqa: B023
            found = _try(lambda: write_in_form(ow, op, mine, leaves, kind), (OpweaveError,))  # noqa: B023

            def instead() -> list[Any] | None:
                if functional is None or kind == "leaf":  # noqa: B023
                    return None
                mine, leaves, _, _ = _pair(call)  # noqa: B023
                return functional_in_form(ow, functional, mine, leaves, kind)  # noqa: B023

            _hold(op, found, expected, instead, note, is_random(op))


@pytest.mark.parametrize("op", out_ops(), ids=str)
def test_out_forms(op: OpOverload) -> None:
    """An `out=` form takes nothing that requires grad, neither as an argument nor to write to."""
    functional = op.decl.functional
    names = list(op.mutated_args)
    for _, _, call in sample_calls(functional, False):
        mine, leaves, _, _ = _pair(call)
        try:
            results = [t for t in as_list(functional(*call[0], **call[1])) if isinstance(t, Tensor)]
        except OpweaveError:
            continue  # no difference: what is refused is tested on its own
        if not leaves or len(results) != len(names):
            continue  # no difference: there is nothing to differentiate
        with pytest.raises(OpweaveError):
            op(*mine[0], **mine[1], **dict(zip(names, results, strict=True)))
        if all(t._dtype.kind in "fc" for t in results):
            with pytest.raises(OpweaveError):
                op(*call[0], **call[1], **{name: t.requires_grad_() for name, t in zip(names, results, strict=True)})
        comparisons.note("written", str(op))


def test_out_forms_as_in_pytorch() -> None:
    for lib in (torch, ow):
        x = lib.ones(3, requires_grad=True)
        with pytest.raises(RuntimeError):
            lib.ops.aten.mul.out(x, x, out=lib.zeros(3))
        with pytest.raises(RuntimeError):
            lib.ops.aten.mul.out(lib.ones(3), lib.ones(3), out=lib.zeros(3, requires_grad=True))
        with lib.no_grad():
            assert lib.ops.aten.mul.out(x, x, out=lib.zeros(3)).tolist() == [1.0, 1.0, 1.0]


def test_each_entry_is_met() -> None:
    if not FULL or "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("only all samples, in one process, meet all entries")  # no difference: it is about the table
    assert set(differences.WRITTEN) - met == set()
