"""Programs that write in place what an op gave, or what its in-place form is called on; and the same without writing.

They are written once for both packages: `lib` is `opweave` or `torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from op_samples import Call, as_list, maker

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.op import OpOverload, registry
from opweave.registry.tensor import Tensor

#: How many samples of each op and dtype are run, of all those that are declared.
FEW, MANY = 1, 4


def part_of(y: Any) -> Any:
    """A view of a part; of the whole where there is no part."""
    return y.narrow(0, 0, (y.shape[0] + 1) // 2) if y.dim() and y.shape[0] else y.unsqueeze(0)


def with_part(lib: Any, y: Any, new: Any) -> Any:
    """What writing `new` to `part_of(y)` makes of it."""
    if not y.dim() or not y.shape[0]:
        return new.squeeze(0)
    half = (y.shape[0] + 1) // 2
    return lib.cat([new, y.narrow(0, half, y.shape[0] - half)], 0)


def mask_of(lib: Any, y: Any) -> Any:
    """True in that part."""
    mask = lib.zeros(tuple(y.shape), dtype=lib.bool)
    part_of(mask).fill_(True)
    return mask


def _assign(target: Any, value: Any) -> None:
    target[...] = value


def _turned(y: Any) -> Any:
    y.transpose_(0, -1) if y.dim() else y.unsqueeze_(0)
    return y


class Form(NamedTuple):
    """A write to `y`, by numbers or by `w`, and the same as a value: `write(lib, y, w)`, `value(lib, y, w)`."""

    write: Callable[[Any, Any, Any], Any]
    value: Callable[[Any, Any, Any], Any]


#: In-place ops on a result.
FORMS: dict[str, Form] = {
    "mul_ by a number": Form(lambda lib, y, w: y.mul_(2.0), lambda lib, y, w: y * 2.0),
    "mul_ by a tensor": Form(lambda lib, y, w: y.mul_(w), lambda lib, y, w: y * w),
    "comparison": Form(lambda lib, y, w: y.ne_(0.3), lambda lib, y, w: (y != 0.3).to(y.dtype) + y * 0),
    "zero_ of a part": Form(
        lambda lib, y, w: part_of(y).zero_(), lambda lib, y, w: with_part(lib, y, lib.zeros_like(part_of(y)))
    ),
    "copy_": Form(lambda lib, y, w: y.copy_(w), lambda lib, y, w: w + y * 0),
    "mul_ of a view": Form(lambda lib, y, w: y.unsqueeze(0).mul_(w), lambda lib, y, w: y * w),
    "mul_ of a part": Form(
        lambda lib, y, w: part_of(y).mul_(part_of(w)),
        lambda lib, y, w: with_part(lib, y, part_of(y) * part_of(w)),
    ),
    "fill_ with a tensor": Form(
        lambda lib, y, w: y.fill_(w.sum()), lambda lib, y, w: w.sum().expand(tuple(y.shape)) + y * 0
    ),
    "masked_fill_": Form(
        lambda lib, y, w: y.masked_fill_(mask_of(lib, y), w.sum()),
        lambda lib, y, w: y.masked_fill(mask_of(lib, y), w.sum()),
    ),
    "assignment": Form(
        lambda lib, y, w: _assign(part_of(y), part_of(w)), lambda lib, y, w: with_part(lib, y, part_of(w) * 1)
    ),
    "transpose_, then mul_": Form(
        lambda lib, y, w: _turned(y).mul_(2.0),
        lambda lib, y, w: (y.transpose(0, -1) if y.dim() else y.unsqueeze(0)) * 2.0,
    ),
}

#: What an in-place form of an op is called on.
TARGETS = ("leaf", "non-leaf", "view", "two views", "plain", "view of plain")


def target_of(lib: Any, x: Any, kind: str) -> tuple[Any, list[Any]]:
    """What is written, and what is looked at afterwards."""
    if kind == "leaf":
        return x, [x]
    if kind == "plain":
        z = x.detach() * 1
        return z, [z]
    if kind == "view of plain":
        base = lib.stack([x.detach(), x.detach()])
        return (view := base.select(0, 0)), [view, base]
    y = x * 1
    if kind == "non-leaf":
        return y, [y]
    if kind == "view":
        base = lib.stack([y, y * 2])
        return (view := base.select(0, 0)), [view, base]
    base = y.unsqueeze(0)
    return (view := base.squeeze(0)), [view, base, y.unsqueeze(-1), y]


def weights(t: Any, seed: int, lib: Any) -> Any:
    """Numbers in the shape of a tensor, the same in both packages."""
    rng = np.random.default_rng(seed)
    values: Any = rng.uniform(0.5, 1.5, tuple(t.shape))
    if t.is_complex():
        values = values + 1j * rng.uniform(0.5, 1.5, tuple(t.shape))
    return lib.from_numpy(np.array(values)).to(t.dtype)


def visit(value: Any, function: Callable[[Any], Any]) -> Any:
    """The value with each tensor of either package in it replaced."""
    if hasattr(value, "requires_grad"):
        return function(value)
    if isinstance(value, dict):
        return {key: visit(entry, function) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(visit(entry, function) for entry in value)
    return value


def gradients(lib: Any, outputs: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
    """Gradients of a weighted sum, as arrays."""
    outputs = [t for t in outputs if t.requires_grad]
    if not outputs:
        return [np.zeros(tuple(t.shape)) for t in leaves]
    found = lib.autograd.grad(
        outputs, leaves, [weights(t, 3, lib) for t in outputs], allow_unused=True, materialize_grads=True
    )
    return [t.detach().resolve_conj().numpy() if hasattr(t, "resolve_conj") else t.detach().numpy() for t in found]


class Outcome(NamedTuple):
    """Which of the tensors require grad (and how often the written one was), and the gradients."""

    facts: tuple[Any, ...]
    gradients: list[Any]


def write_to_result(
    lib: Any, op: Callable[..., Any], call: Call, leaves: list[Any], form: str, position: int, *, from_leaves: bool,
    functional: bool = False,
) -> Outcome:  # fmt: skip
    """Call an op, write to one of its results, and differentiate all of them and what the op was given."""
    given: list[Any] = []

    def enter(t: Any) -> Any:
        if t.requires_grad and not from_leaves:
            given.append(t * 1)
            return given[-1]
        return t

    args, kwargs = visit(call[0], enter), visit(call[1], enter)
    results = as_list(op(*args, **kwargs))
    y = results[position]
    w = weights(y, 11, lib).requires_grad_()
    if functional:
        results[position] = FORMS[form].value(lib, y, w)
    else:
        FORMS[form].write(lib, y, w)
    tensors = [t for t in results if hasattr(t, "requires_grad")]
    facts = tuple(bool(t.requires_grad) for t in tensors)
    return Outcome(facts, gradients(lib, [*tensors, *given], [*leaves, w]))


def write_in_form(lib: Any, op: Callable[..., Any], call: Call, leaves: list[Any], kind: str) -> Outcome:
    """Call the in-place form of an op on a target of some kind, and differentiate what looks into its memory."""
    target, seen = target_of(lib, call[0][0], kind)
    result = op(target, *call[0][1:], **call[1])
    assert result is target
    facts = (*(bool(t.requires_grad) for t in seen), target._version)
    return Outcome(facts, gradients(lib, seen, leaves))


def functional_in_form(lib: Any, op: Callable[..., Any], call: Call, leaves: list[Any], kind: str) -> list[Any]:
    """The gradients of `write_in_form` by the functional form of the op, without any view."""
    x = call[0][0]
    base = x.detach() if "plain" in kind else x
    y = op(base * 1, *call[0][1:], **call[1]).to(x.dtype)
    if kind in ("view", "view of plain"):
        other = base * 2 if kind == "view" else base * 1
        seen = [y, lib.stack([y, other])]
    elif kind == "two views":
        seen = [y, y.unsqueeze(0), y.unsqueeze(-1), y]
    else:
        seen = [y]
    return gradients(lib, seen, leaves)


# ---- which ops, which samples --------------------------------------------------------------------------------------

#: Values of these are undetermined, or random.
_UNKNOWN = {"empty_like"}


def is_random(op: OpOverload) -> bool:
    """Whether an op draws numbers."""
    functional = getattr(op.decl, "functional", None)
    return any("nondeterministic_seeded" in map(str, one.tags) for one in (op, functional) if one is not None)


def functional_ops() -> list[OpOverload]:
    """The ops with samples that write nothing."""
    return [
        op for op in registry.operators.values()
        if op.decl and op.decl.samples and not op.is_mutable and not is_random(op) and op.opname not in _UNKNOWN
    ]  # fmt: skip


def functional_of(op: OpOverload) -> OpOverload | None:
    """The op that an in-place op computes."""
    found = getattr(op.decl, "functional", None)
    if found is not None:
        return found
    # `pow.Scalar` is the other way round.
    turned = ("aten::pow_.Scalar", "aten::float_power_.Scalar")
    overload = ".Tensor_Scalar" if op.name in turned else f".{op.overload}".removesuffix(".default")
    return registry.operators.get(f"{op.namespace}::{op.opname.removesuffix('_')}{overload}")


def _samples(op: OpOverload) -> Any:
    if op.decl.samples:
        return op.decl.samples
    found = SAMPLES.get(f"{op.opname}.{op.overload}") or SAMPLES.get(op.opname)
    functional = functional_of(op)
    if found is None and functional is not None and functional.decl is not None:
        found = functional.decl.samples
    return found or (SAMPLES.get(op.overload) if op.is_mutable else None)


def inplace_ops() -> list[OpOverload]:
    """The ops that write their first argument, with samples of their own or of their functional form."""
    return [
        op for op in registry.operators.values()
        if op.decl and op.decl.kind not in ("out", "outs") and op.mutated_args == (op._schema.arguments[0].name,)
        and not op._schema.arguments[0].type.is_list and _samples(op) is not None
    ]  # fmt: skip


def out_ops() -> list[OpOverload]:
    """The `out=` forms of ops with samples."""
    return [
        op for op in registry.operators.values()
        if op.decl and op.decl.kind in ("out", "outs") and op.decl.functional.decl.samples
    ]  # fmt: skip


def sample_calls(op: OpOverload, many: bool) -> Iterator[tuple[DType, int, Call]]:
    """Sample calls in float64, and complex128 where that is all that an op takes or many are wanted."""
    functional = functional_of(op)
    taken = op.decl.sample_dtypes or (functional.decl.sample_dtypes if functional and functional.decl else None)
    kinds = {d.kind for d in taken} if taken else {"f"}
    found = [d for d in (dtypes.float64, dtypes.complex128) if d.kind in kinds]
    for dtype in found if many else found[:1]:
        count = 0
        for n, call in enumerate(_samples(op)(maker(dtype, 1))):
            if count == (MANY if many else FEW):
                break
            if any(isinstance(t, Tensor) and t._dtype.kind in "fc" for t in as_list(call[0])):
                count += 1
                yield dtype, n, call


def _numbers(make: Any, *values: int) -> Tensor:
    found = make(len(values), dtype=dtypes.int64)
    found._array[...] = values
    return found


def _mask(make: Any) -> Tensor:
    return make(3, 4, dtype=dtypes.bool_)


#: Of in-place ops that have none: by name, or by overload where these are alike.
SAMPLES: dict[str, Callable[[Any], list[Call]]] = {
    "put_": lambda make: [((make(3, 4), _numbers(make, 1, 5, 7), make(3)), {}),
                          ((make(3, 4), _numbers(make, 1, 1, 7), make(3), True), {})],
    "index_add_": lambda make: [((make(3, 4), 0, _numbers(make, 2, 0, 2), make(3, 4)), {}),
                                ((make(3, 4), 1, _numbers(make, 1), make(3, 1)), {"alpha": 2.5})],
    "index_copy_": lambda make: [((make(3, 4), 0, _numbers(make, 2, 0), make(2, 4)), {})],
    "index_fill_.int_Scalar": lambda make: [((make(3, 4), 0, _numbers(make, 2, 0, 2), 2.5), {})],
    "index_fill_.int_Tensor": lambda make: [((make(3, 4), 0, _numbers(make, 2, 0, 2), make()), {})],
    "index_reduce_": lambda make: [((make(3, 4), 0, _numbers(make, 2, 0), make(2, 4), "mean"), {})],
    "dropout_": lambda make: [((make(3, 4), 0.5, False), {})],
    "alpha_dropout_": lambda make: [((make(3, 4), 0.5, False), {})],
    "feature_dropout_": lambda make: [((make(3, 4), 0.5, False), {})],
    "feature_alpha_dropout_": lambda make: [((make(3, 4), 0.5, False), {})],
    "renorm_": lambda make: [((make(3, 4), 2, 0, 1.0), {})],
    "ldexp_": lambda make: [((make(3, 4), make(4)), {})],
    "addr_": lambda make: [((make(3, 4), make(3), make(4)), {})],
    "addbmm_": lambda make: [((make(3, 4), make(2, 3, 5), make(2, 5, 4)), {})],
    "tril_": lambda make: [((make(3, 4),), {}), ((make(3, 3), 1), {})],
    "triu_": lambda make: [((make(3, 4),), {}), ((make(3, 3), -1), {})],
    "clamp_min_.default": lambda make: [((make(3, 4), 0.5), {})],
    "clamp_max_.default": lambda make: [((make(3, 4), 0.5), {})],
    "clamp_min_.Tensor": lambda make: [((make(3, 4), make(4)), {})],
    "clamp_max_.Tensor": lambda make: [((make(3, 4), make(4)), {})],
    "masked_fill_.Tensor": lambda make: [((make(3, 4), _mask(make), make()), {})],
    "lerp_.Scalar": lambda make: [((make(3, 4), make(4), 0.3), {})],
    "div_.Scalar_mode": lambda make: [((make(3, 4), 0.7), {"rounding_mode": "floor"})],
    "xlogy_.Scalar_Other": lambda make: [((make(3, 4), 2.5), {})],
    "Scalar": lambda make: [((make(3, 4), 2.5), {}), ((make(3, 4), 2), {})],
}  # fmt: skip
