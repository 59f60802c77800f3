"""Whether an op computes on batched tensors what it computes example by example."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from opweave.opcheck.behaviour import explained
from opweave.opcheck.inputs import (
    Sample,
    Tolerance,
    Values,
    call,
    from_array,
    mapped,
    numpy_of,
)
from opweave.registry.autograd.mode import no_grad
from opweave.registry.interrupts import let_through
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import Tensor, describe

_EXAMPLES = 3


def check_batched(given: Sample, tolerance: Tolerance) -> None:
    """The vmap rule gives what a loop over the examples gives, whatever is batched, and in which dimension."""
    tensors = list({id(t): t for t in given.tensors()}.values())
    examples = [_examples(t, i) for i, t in enumerate(tensors)]
    places = {id(t): i for i, t in enumerate(tensors)}
    choices: list[dict[int, int]] = [dict.fromkeys(range(len(tensors)), 0)]
    choices.append({i: t.ndim for i, t in enumerate(tensors)})
    if len(tensors) > 1:
        choices += [{i: 0} for i in range(len(tensors))]
    for chosen in choices:
        _check_batch(given, tolerance, examples, places, chosen)


def _examples(t: Tensor, i: int) -> list[np.ndarray[Any, Any]]:
    """An argument, and others that an op which takes it takes too."""
    base = numpy_of(t)
    if t._dtype.kind in "fc":
        return [(base * (1 - (0.2 + 0.03 * i) * k)).astype(base.dtype) for k in range(_EXAMPLES)]
    flat = base.reshape(-1)
    return [np.roll(flat, k).reshape(base.shape) for k in range(_EXAMPLES)]


def _check_batch(
    given: Sample, tolerance: Tolerance, examples: list[list[Any]], places: dict[int, int], chosen: dict[int, int]
) -> None:
    op = given.op
    expected: list[list[Tensor]] = []
    for k in range(_EXAMPLES):
        values = mapped(
            given.values, lambda t, k=k: from_array(examples[places[id(t)]][k if places[id(t)] in chosen else 0], t)
        )
        try:
            with no_grad():
                expected.append(list(tensors_in([call(op, values)])))
        except Exception as error:
            let_through(error)
            return  # the op does not take these examples
    batched = mapped(
        given.values,
        lambda t: from_array(
            np.stack(examples[places[id(t)]], chosen[places[id(t)]])
            if places[id(t)] in chosen
            else examples[places[id(t)]][0],
            t,
        ),
    )
    dims = mapped(given.values, lambda t: chosen.get(places[id(t)]))
    shown = f"batched at {', '.join(f'{name}={dim}' for name, dim in dims.items() if _any_dim(dim))}"
    sample = Sample(op, shown, given.values, "batch")
    try:
        found, found_dims = _batched_call(sample, batched, dims)
    except Exception as error:
        let_through(error)
        raise explained(sample, "the vmap rule failed", error) from error
    outputs = list(tensors_in([found]))
    out_dims = _flat_dims(found, found_dims)
    if len(outputs) != len(expected[0]) or len(out_dims) != len(outputs):
        raise sample.error(
            "the vmap rule gives another number of outputs or dimensions than the op",
            got=f"{len(outputs)} outputs, {len(out_dims)} dimensions, for {len(expected[0])}",
            hint="return (output, out_dims), or ((out, ...), (dim, ...))",
        )
    for i, (t, dim) in enumerate(zip(outputs, out_dims, strict=True)):
        if dim is not None and (not -t.ndim <= dim < t.ndim or t._sizes[dim] != _EXAMPLES):
            raise sample.error(
                f"the vmap rule's output {i} has no batch of {_EXAMPLES} in dimension {dim}", got=describe(t)
            )
        array = numpy_of(t)
        for k in range(_EXAMPLES):
            mine = from_array(array if dim is None else np.take(array, k, dim), t)
            difference = tolerance.difference(mine, expected[k][i])
            if difference is not None:
                raise sample.error(
                    f"the vmap rule gives another output {i} than a loop over the examples",
                    got=f"example {k}: {difference}",
                    hint="in_dims says where each argument has its examples, if any",
                )


def _any_dim(dim: Any) -> bool:
    return any(_any_dim(d) for d in dim) if isinstance(dim, (list, tuple)) else isinstance(dim, int)


def _batched_call(sample: Sample, values: Values, dims: dict[str, Any]) -> tuple[Any, Any]:
    op = sample.op
    arguments = op._schema.arguments
    args = [values[a.name] for a in arguments if not a.kwarg_only]
    in_dims = tuple([dims[a.name] if a.type.has_tensor else None for a in arguments if not a.kwarg_only])
    kwargs = {a.name: values[a.name] for a in arguments if a.kwarg_only}
    info = SimpleNamespace(batch_size=_EXAMPLES, randomness="error")
    assert op.batch_rule is not None
    with no_grad():
        found = op.batch_rule(info, in_dims, *args, **kwargs)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"the rule must return (output, out_dims), not {type(found).__name__}")
    return found[0], found[1]


def _flat_dims(found: Any, dims: Any) -> list[Any]:
    """The dimension of each tensor among the outputs."""
    if isinstance(found, Tensor):
        return [dims[0] if isinstance(dims, (tuple, list)) and len(dims) == 1 else dims]
    if not isinstance(found, (tuple, list)):
        return []
    spread = list(dims) if isinstance(dims, (tuple, list)) else [dims] * len(found)
    return [d for item, dim in zip(found, spread, strict=False) for d in _flat_dims(item, dim)]
