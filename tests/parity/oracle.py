"""Runs a sample call in PyTorch and compares: values, dtype, sizes, strides, and what was written in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import comparisons
import differences
import numpy as np
import torch
from differences import EVERYWHERE, Difference
from op_samples import DEFAULT_DTYPES, Call, as_list, calls, maker, replace_tensors

import opweave
from opweave.registry.dtypes import COMPUTED, DType
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload
from opweave.registry.spec import span
from opweave.registry.tensor import Tensor

#: Relative tolerances by dtype; two ulp for half types, rounding of a long sum for the others.
TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 2e-6,
    "float64": 1e-12,
    "complex64": 5e-6,
    "complex128": 1e-12,
}


#: What PyTorch raises on arguments that it does not take.
REFUSALS = (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError)


def to_torch(t: Tensor) -> torch.Tensor:
    """A copy with the same sizes and strides."""
    flat = t._storage.array((span(t._sizes, t._strides),), (1,), t._offset, t._dtype).copy()
    kind = getattr(torch, t._dtype.name)
    found = torch.from_numpy(flat.view(np.int16)).view(kind) if t._dtype.name == "bfloat16" else torch.from_numpy(flat)
    return found.as_strided(t._sizes, t._strides)


def _argument(value: Any) -> Any:
    if isinstance(value, DType):
        return getattr(torch, value.name)
    if isinstance(value, dict):
        return {key: _argument(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_argument(entry) for entry in value)
    return value


def values_of(t: Any) -> Any:
    """Elements in float64 (complex128, or as they are for integers)."""
    if isinstance(t, torch.Tensor):
        t = t.detach().cpu().resolve_conj()
        t = t.clone() if t._is_zerotensor() else t  # zeros without memory
        return values_of_array(t.float().numpy() if t.dtype == torch.bfloat16 else t.numpy())
    return values_of_array(t.numpy())


def values_of_array(array: Any) -> Any:
    if array.dtype.kind in "biu":
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def compare(ours: Tensor, theirs: torch.Tensor, note: Any, difference: str | None = None) -> None:
    """Fail unless dtype, sizes, strides (where there is more than one element to tell) and values agree.

    Parameters
    ----------
    ours, theirs : Tensor
    note : object
        What a failure shows.
    difference : str, optional
        The entry of `differences.TESTS` that says what may differ.
    """
    comparisons.note_test()
    _hold(ours, theirs, note, differences.of_test(difference) if difference else Difference(""))


def close(ours: Any, theirs: Any, difference: str, note: Any = "") -> None:
    """Fail unless two arrays agree within the tolerance of an entry of `differences.TESTS`."""
    comparisons.note_test()
    hold_close(ours, theirs, differences.of_test(difference), note)


def are_close(ours: Any, theirs: Any, difference: str) -> Any:
    """Of which elements of two arrays the difference is within the tolerance of an entry of `differences.TESTS`."""
    allowed = differences.of_test(difference)
    assert allowed.rtol is not None
    return np.isclose(ours, theirs, allowed.rtol, allowed.atol)


def hold_close(ours: Any, theirs: Any, allowed: Difference, note: Any = "") -> None:
    """Fail unless two arrays agree within the tolerance of an entry of the tables."""
    assert allowed.rtol is not None
    np.testing.assert_allclose(ours, theirs, allowed.rtol, allowed.atol, err_msg=str(note))


def _hold(ours: Tensor | None, theirs: torch.Tensor | None, note: Any, allowed: Difference) -> None:
    if ours is None or theirs is None:
        assert ours is theirs is None, note
        return
    assert ours._dtype.name == str(theirs.dtype).removeprefix("torch."), (note, ours._dtype, theirs.dtype)
    assert ours._sizes == tuple(theirs.shape), (note, ours._sizes, tuple(theirs.shape))
    if allowed.strides and ours.numel():
        assert ours._strides == theirs.stride(), (note, ours._strides, theirs.stride())
    mine, other = values_of(ours), values_of(theirs)
    if ours._dtype.kind in "biu":
        np.testing.assert_array_equal(mine, other, err_msg=str(note))
        return
    relative = TOLERANCE[ours._dtype.name] * allowed.scale
    finite = np.abs(other[np.isfinite(other)])
    absolute = relative * min(1.0, float(finite.max())) if finite.size else 0.0
    np.testing.assert_allclose(mine, other, rtol=relative, atol=absolute, equal_nan=True, err_msg=str(note))


def _outcome(target: Any, args: Any, kwargs: Any) -> Any:
    """PyTorch's result, or what it raises."""
    try:
        return target(*args, **kwargs)
    except REFUSALS as error:
        return error


def _error_of(op: Callable[..., Any], args: Any, kwargs: Any) -> OpweaveError | None:
    try:
        op(*args, **kwargs)
    except OpweaveError as error:
        return error
    return None


def _catches(theirs: Exception, ours: OpweaveError) -> bool:
    """Whether `except` for PyTorch's class of error, or one that it derives from, catches ours."""
    kinds = [kind for kind in type(theirs).__mro__ if kind not in (Exception, BaseException, object)]
    return isinstance(ours, tuple(kinds)) or type(ours).__name__ == EVERYWHERE["arguments that do not fit"].error


def check(
    op: OpOverload, *, difference: str | None = None, every_type: bool = True,
    layout: Callable[[Tensor], Tensor] | None = None,
) -> int:  # fmt: skip
    """Compare all sample calls of an op; the number that PyTorch takes.

    Parameters
    ----------
    op : OpOverload
    difference : str, optional
        The entry of `differences.TESTS` that says what may differ, instead of the entry of the op.
    every_type : bool
        Whether the samples are called in all dtypes, or in those alone that the op declares.
    layout : callable, optional
        What is done to the tensors of a sample first.
    """
    target = getattr(getattr(torch.ops.aten, op.opname), op.overload)
    allowed = differences.of_test(difference) if difference else differences.of_op(op.opname, op.overload)
    name, count = str(op), 0
    refused: set[str] = set()
    for dtype, (args, kwargs) in _all_calls(op) if every_type else calls(op):
        if dtype.name in allowed.uncompared:
            continue
        if layout is not None:
            args, kwargs = replace_tensors((args, kwargs), layout)
        theirs_args, theirs_kwargs = _argument(replace_tensors((args, kwargs), to_torch))
        note = (name, dtype, args, kwargs)
        theirs = _outcome(target, theirs_args, theirs_kwargs)
        if isinstance(theirs, REFUSALS):
            error = _error_of(op, args, kwargs)
            if error is not None:
                assert _catches(theirs, error), (note, repr(theirs), error)
                comparisons.note("refusal", name)
            continue
        try:
            ours = op(*args, **kwargs)
        except OpweaveError as error:
            if dtype.name in allowed.refused:
                refused.add(dtype.name)
                continue
            raise AssertionError(f"{note}: PyTorch takes this") from error
        results, expected = as_list(ours), as_list(theirs)
        assert len(results) == len(expected), note
        for mine, other in zip(results, expected, strict=True):
            _hold(mine, other, note, allowed)
        if op.is_mutable:
            _hold(args[0], theirs_args[0], note, Difference(""))
        comparisons.note("sample", name)
        count += 1
    assert count, f"PyTorch took no sample of {op}"
    if every_type and not op.is_mutable:  # the entry of an in-place op is that of the op
        assert refused == set(allowed.refused), f"{op}: the table has refusals that are none"
    return count


def _all_calls(op: OpOverload) -> Iterator[tuple[DType, Call]]:
    """The samples in every dtype; of those that an op does not declare, as far as samples can be made."""
    assert op.decl is not None
    declared = op.decl.sample_dtypes or DEFAULT_DTYPES
    for dtype in COMPUTED:
        try:
            found = list(op.decl.samples(maker(dtype)))
        except OpweaveError:
            if dtype in declared:
                raise
            continue
        for args, kwargs in found:
            yield dtype, (args, kwargs)


def _moved(value: Any) -> Any:
    return _argument(replace_tensors(value, to_torch))


def agree(
    call: Callable[..., Any], *tensors: Tensor, difference: str | None = None, order: int = 1, note: Any = "",
    constants: Sequence[int] = (),
) -> bool:  # fmt: skip
    """Compare `call(module, *tensors)` in both libraries, with gradients; or that both refuse.

    Parameters
    ----------
    call : callable
        What is compared; its first argument is the package.
    tensors : Tensor
        Those of floating types are differentiated.
    difference : str, optional
        The entry of `differences.TESTS` that says what may differ in results; gradients take its tolerance, at least
        that of `"agree, gradients"`.
    order : int
        How often to differentiate.
    note : object
        What a failure shows.
    constants : sequence of int
        Tensors that are not differentiated.

    Returns
    -------
    bool
        Whether there was a result.
    """
    expected = _outcome(call, (torch, *_moved(tensors)), {})
    if isinstance(expected, REFUSALS):
        error = _error_of(call, (opweave, *tensors), {})
        assert error is not None, (note, f"PyTorch refuses this: {expected!r}")
        assert _catches(expected, error), (note, repr(expected), error)
        comparisons.note_test()
        return False
    leaves = [
        t.detach().requires_grad_() if order and t._dtype.kind in "fc" and i not in constants else t
        for i, t in enumerate(tensors)
    ]
    ours = _flat(call(opweave, *leaves))
    twins = [to_torch(t.detach()).requires_grad_(t.requires_grad) for t in leaves]
    theirs = _flat(call(torch, *twins))
    assert len(ours) == len(theirs), note
    for mine, other in zip(ours, theirs, strict=True):
        if isinstance(other, torch.Tensor):
            assert mine.requires_grad == other.requires_grad, note
            compare(mine.detach(), other.detach(), note, difference)
        else:
            assert mine == other and type(mine) is type(other), (note, mine, other)
    allowed = differences.of_test("agree, gradients")
    if difference:
        own = differences.of_test(difference)
        allowed = replace(allowed, scale=max(allowed.scale, own.scale))
    mine, other = (_gradients(m, r, x, order) for m, r, x in ((opweave, ours, leaves), (torch, theirs, twins)))
    assert len(mine) == len(other), note
    for a, b in zip(mine, other, strict=True):
        comparisons.note_test()
        _hold(a, b, (note, "gradient"), allowed)
    return True


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _gradients(module: Any, results: list[Any], tensors: list[Any], order: int) -> list[Any]:
    """Gradients of a weighted sum of the results, then of the squares of those."""
    leaves = [t for t in tensors if t.requires_grad]
    outputs = [t for t in results if hasattr(t, "requires_grad") and t.requires_grad]
    found: list[Any] = []
    for step in range(order if leaves else 0):
        if not outputs:
            break
        weights = [_weights(module, t) for t in outputs]
        outputs = module.autograd.grad(
            outputs, leaves, weights, create_graph=step + 1 < order, allow_unused=True, materialize_grads=True
        )
        found += [t.detach() for t in outputs]
        outputs = [t * t for t in outputs if t.requires_grad]
    return found


def _weights(module: Any, t: Any) -> Any:
    values: Any = np.random.default_rng(7).uniform(0.5, 1.5, tuple(t.shape))
    if "complex" in str(t.dtype):
        values = values * (1 - 0.5j)
    return module.from_numpy(np.array(values)).to(t.dtype)
