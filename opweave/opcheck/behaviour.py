"""What an op's kernel and its fake rule do, against its schema and against each other."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

from opweave.fake.mode import FakeTensorMode
from opweave.fake.tensor import FakeTensor
from opweave.opcheck.inputs import (
    Sample,
    Snapshot,
    Tolerance,
    Values,
    call,
    copied,
    from_array,
    labelled,
    mapped,
    numpy_of,
    overlap,
    variants,
)
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import (
    ArgumentError,
    DataDependentError,
    FakeTensorError,
    RegistrationError,
    UnsupportedError,
    user_frame,
)
from opweave.registry.interrupts import let_through
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.schema import ListType, OptionalType, Type
from opweave.registry.symbolic import Symbolic, is_open
from opweave.registry.tensor import Tensor, describe

_UNSIZED = frozenset({"dynamic_output_shape", "data_dependent_output"})


class Refused(Exception):
    """The op does not take a variant of the arguments, which is its right."""


def leaves_values_open(op: OpOverload) -> bool:
    """Whether results may be any values: they are random, or memory that nothing was written to."""
    return op.is_random or (op.decl is not None and ("empty" in op.opname or op.opname in ("new_empty", "resize_")))


def run(sample: Sample, values: Values) -> Any:
    """The op's result; an error on the given arguments, or one of the registry's own, is the op's fault.

    Raises
    ------
    Refused
        If the op raises on a variant.
    """
    op = sample.op
    try:
        with no_grad():
            return call(op, values)
    except Exception as error:
        let_through(error)
        own = isinstance(error, (RegistrationError, FakeTensorError)) or (
            isinstance(error, ArgumentError) and error.what.startswith(f"{op.name}: the implementation")
        )
        if sample.kind == "given" or own:
            raise sample.error(
                "calling it raised an error", got=_brief(error), hint="the arguments must be such that the op runs"
            ) from error
        raise Refused from error


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {getattr(error, 'what', error)}"


# ---- the schema ----------------------------------------------------------------------------------------------------


def check_schema(given: Sample, tolerance: Tolerance) -> None:
    """The kernel does what the schema says: no other writes, no other aliases, results of its types, repeatable."""
    _check_defaults(given)
    reference = _check_call(given, None, tolerance)
    _check_repeated(given, reference, tolerance)
    each_variant(given, lambda sample: _check_call(sample, reference if sample.kind == "layout" else None, tolerance))


def each_variant(given: Sample, check: Callable[[Sample], object]) -> None:
    """Check every variant that the op takes; one tensor in another layout only where all of them were refused."""
    refused = False
    for sample in variants(given.op, given):
        if sample.kind == "layout" and sample.name.startswith("tensor") and not refused:
            continue
        try:
            check(sample)
        except Refused:
            refused = refused or sample.name.startswith("every")


def _check_call(sample: Sample, reference: tuple[Any, Values] | None, tolerance: Tolerance) -> tuple[Any, Values]:
    """Check one call; returns its results and the arguments after it."""
    op = sample.op
    values = sample.fresh()
    before = [(name, Snapshot(t, label)) for name, label, t in labelled(values)]
    result = run(sample, values)
    written = set(op.mutated_args)
    shared = {id(t._storage) for name, _, t in labelled(values) if name in written}
    for name, snapshot in before:
        if name not in written and id(snapshot.storage) in shared:
            continue  # another argument that is written shares its memory
        change = snapshot.change(name in written)
        if change is not None:
            raise sample.error(
                f"argument {snapshot.label} {change[0]}, the schema does not say so",
                got=change[1],
                hint=f"name it in mutates_args, or work on a copy: {name}.clone()",
            )
    returned = _check_types(sample, result)
    _check_aliases(sample, values, returned)
    if reference is not None and not leaves_values_open(op) and not (op.decl is not None and op.is_view):
        expected, after = reference
        difference = tolerance.difference(result, expected)
        if difference is None:
            for name in op.mutated_args:
                difference = difference or tolerance.difference(values[name], after[name])
        if difference is not None:
            raise sample.error(
                "gives other values for the same inputs in another memory layout",
                got=difference,
                hint="respect strides: x.numpy() has them, a pointer has not; or call x.contiguous() first",
            )
    return result, values


def _check_types(sample: Sample, result: Any) -> list[Any]:
    """The results in a list, one for each return of the schema."""
    op = sample.op
    returns = op._schema.returns
    if op._schema.is_varret:
        return list(result) if isinstance(result, (tuple, list)) else [result]
    if not returns:
        returned: list[Any] = [] if result is None else [result]
    elif len(returns) == 1:
        returned = [result]
    else:
        returned = list(result) if isinstance(result, (tuple, list)) else [result]
    fits = len(returned) == len(returns) and all(
        fits_type(value, r.type) for value, r in zip(returned, returns, strict=True)
    )
    if not fits:
        raise sample.error(
            f"returns what the schema does not say: {', '.join(str(r.type) for r in returns) or 'nothing'}",
            got=", ".join(_kind(value) for value in returned) or "None",
            hint=f"schema: {op._schema}",
        )
    return returned


def _kind(value: Any) -> str:
    return describe(value) if isinstance(value, Tensor) else type(value).__name__


def fits_type(value: Any, kind: Type) -> bool:
    """Whether a result is of a schema type."""
    if isinstance(kind, OptionalType):
        return value is None or fits_type(value, kind.element)
    if isinstance(kind, ListType):
        return isinstance(value, (list, tuple)) and all(fits_type(item, kind.element) for item in value)
    if isinstance(value, Symbolic):
        return str(kind) in {"int": ("int", "SymInt"), "float": ("float",), "bool": ("bool",)}[value.kind] + ("Scalar",)
    known = {"Tensor": Tensor, "int": int, "SymInt": int, "float": float, "bool": bool, "str": str}
    name = str(kind)
    if name in ("int", "SymInt") and isinstance(value, bool):
        return False
    if name in ("Scalar", "number"):
        return isinstance(value, (int, float, complex))
    return name not in known or isinstance(value, known[name])


def _check_aliases(sample: Sample, values: Values, returned: list[Any]) -> None:
    op = sample.op
    allowed = op._schema.aliased_returns
    outputs = [(i, t) for i, value in enumerate(returned) for t in tensors_in([value])]
    for i, output in outputs:
        declared = allowed.get(i, ())
        for name, label, t in labelled(values):
            if name not in declared and op.decl is None and (output is t or overlap(output, t)):
                raise sample.error(
                    f"output {i} shares memory with argument {label}, the schema says it is new",
                    got=f"{describe(output)} and {describe(t)}",
                    hint="return a copy, or declare the view: Tensor(a)",
                )
        sources = [t for name, _, t in labelled(values) if name in declared]
        alias = op._schema.returns[i].alias if i < len(op._schema.returns) else None
        if sources and op.decl is None and alias is not None and not alias.is_wildcard and output.numel():
            if not any(overlap(output, t) for t in sources):
                raise sample.error(
                    f"output {i} is declared to share memory with {', '.join(declared)}, and does not",
                    got=describe(output),
                    hint="return a view of the argument, or declare a new Tensor",
                )
    if op.decl is not None:
        return
    for position, (i, a) in enumerate(outputs):
        for j, b in outputs[position + 1 :]:
            if not (allowed.get(i) or allowed.get(j)) and overlap(a, b):
                raise sample.error(
                    f"outputs {i} and {j} share memory, the schema says each is new",
                    got=f"{describe(a)} and {describe(b)}",
                    hint="return a copy of one: .clone()",
                )


def _check_repeated(given: Sample, reference: tuple[Any, Values], tolerance: Tolerance) -> None:
    """Calls with equal arguments give equal results, and leave those of earlier calls alone."""
    op = given.op
    expected, after = reference
    kept = copied(list(tensors_in([expected])))
    exact = "nondeterministic_bitwise" not in op.tags
    # Other values in between: what is remembered from one call must not show in the next.
    for attempt in ("equal", "other", "equal"):
        sample = given if attempt == "equal" else _moved(given)
        values = sample.fresh()
        try:
            result = run(sample, values)
        except Refused:
            continue
        if op.decl is None and not op.is_view and not op.is_mutable:
            for a in tensors_in([result]):
                if any(overlap(a, b) for b in tensors_in([expected])):
                    raise given.error(
                        "the results of two calls share memory",
                        got=describe(a),
                        hint="return a copy of what is kept between calls: .clone()",
                    )
        now = list(tensors_in([expected]))
        if not op.is_view and (changed := tolerance.difference(now, kept, exact=True)) is not None:
            raise given.error("a later call changed the results of an earlier one", got=changed)
        if attempt == "other" or leaves_values_open(op):
            continue
        difference = tolerance.difference(result, expected, exact=exact)
        for name in op.mutated_args:
            difference = difference or tolerance.difference(values[name], after[name], exact=exact)
        if difference is not None:
            raise given.error(
                "two calls with equal arguments give different results",
                got=difference,
                hint="keep no state between calls; a random op has tags=Tag.nondeterministic_seeded",
            )
    with_defaults = given.fresh()
    if leaves_values_open(op) or not op._defaults:
        return
    with no_grad():
        result = call(op, with_defaults, trimmed=True)
    difference = tolerance.difference(result, expected, exact=exact)
    if difference is not None:
        raise given.error("leaving out arguments that equal their defaults changes the result", got=difference)


def _moved(given: Sample) -> Sample:
    """The arguments with their floating values halved."""
    memo: dict[int, Tensor] = {}

    def half(t: Tensor) -> Tensor:
        if t._dtype.kind not in "fc":
            return t
        if id(t) not in memo:
            memo[id(t)] = from_array(numpy_of(t) * 0.5, t)
        return memo[id(t)]

    return Sample(given.op, "values halved", mapped(given.values, half), "moved")


def _check_defaults(given: Sample) -> None:
    """Defaults of kernels are those of the schema, which is what calls use."""
    for key, kernel in given.op.kernels.items():
        _check_parameters(given, kernel, f"the kernel for {key.name}")


def _check_parameters(given: Sample, fn: Callable[..., Any], what: str) -> None:
    op = given.op
    if op.decl is not None:
        return
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError) as error:
        let_through(error)
        return
    positional = [a for a in op._schema.arguments if not a.kwarg_only]
    places = {a.name: i for i, a in enumerate(positional)}
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for i, p in enumerate(plain[: len(positional)]):
        if places.get(p.name, i) != i:
            raise given.error(
                f"{what} takes its parameters in another order than the schema",
                got=f"{p.name} in place {i}, in place {places[p.name]} of the schema",
                hint=f"schema: {op._schema}",
            )
    by_name = {a.name: a for a in op._schema.arguments}
    pairs = [(p, by_name.get(p.name) or argument) for p, argument in zip(plain, positional, strict=False)]
    pairs += [(p, by_name[p.name]) for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in by_name]
    for p, argument in pairs:
        if p.default is p.empty or not argument.has_default:
            continue
        mine, theirs = p.default, argument.default
        if isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
            mine, theirs = list(mine), list(theirs)
        if isinstance(mine, Tensor) or repr(mine) == repr(theirs) or (mine == theirs and mine is not True):
            continue
        raise given.error(
            f"{what} has another default for {p.name} than the schema",
            got=f"{mine!r} and {theirs!r}",
            hint="calls use the schema's",
        )


# ---- fake rules ----------------------------------------------------------------------------------------------------


def check_fake(given: Sample, tolerance: Tolerance) -> None:
    """The fake rule gives what the kernel gives, but for the data."""
    op = given.op
    if op.fake is not None:
        _check_parameters(given, op.fake, "the fake rule")
    _check_fake_call(given, tolerance)
    each_variant(given, lambda sample: _check_fake_call(sample, tolerance))


def _check_fake_call(sample: Sample, tolerance: Tolerance) -> None:
    op = sample.op
    values = sample.fresh()
    result = run(sample, values)
    real = _check_types(sample, result)
    for trimmed in (False, True) if op._defaults else (False,):
        mode = FakeTensorMode()
        given = mapped(sample.fresh(), mode.from_tensor)
        before = [(name, label, t, t.spec, t._offset, t._version) for name, label, t in labelled(given)]
        try:
            with mode, no_grad():
                found = call(op, given, trimmed=trimmed)
        except Exception as error:
            let_through(error)
            if _UNSIZED & set(op.tags) and isinstance(error, (UnsupportedError, DataDependentError)):
                return
            hint = getattr(error, "hint", None)
            if isinstance(error, DataDependentError):
                hint = "a fake rule has sizes and dtypes to go by, no data"
            raise sample.error("the fake rule failed", got=_brief(error), hint=hint) from error
        for name, label, t, spec, offset, version in before:
            if t.spec != spec or t._offset != offset or (name not in op.mutated_args and t._version != version):
                raise sample.error(
                    f"the fake rule changes argument {label}",
                    got=describe(t),
                    hint="make results with opweave.empty_like(x), x.new_empty(...) and the like",
                )
        fake = _check_types(sample, found)
        _find_sizes(sample, mode, fake, real)
        _check_same(sample, tolerance, real, fake, values, given)


def _find_sizes(sample: Sample, mode: FakeTensorMode, fake: list[Any], real: list[Any]) -> None:
    """Take numbers that depend on data to be what the kernel gave; what contradicts that is found by comparing."""
    env = mode.shape_env
    if env is None:
        return
    pairs = zip(tensors_in(fake), tensors_in(real), strict=False)
    for mine, theirs in [pair for a, b in pairs for pair in zip(a._sizes, b._sizes, strict=False)]:
        equal = cast(Any, mine) == theirs
        if is_open(equal):
            env.assume(env.canonical(equal.expr), user_frame())
        elif not equal and isinstance(mine, Symbolic):
            raise sample.error(
                "the fake rule gives a size another range than the kernel's", got=f"{mine!r} and {theirs}"
            )
    for assertion in env.assertions:
        if env.known(assertion.expr) is False:
            raise sample.error(
                "a check of the fake rule does not hold for what the kernel gives", got=assertion.message
            )


def _check_same(
    sample: Sample, tolerance: Tolerance, real: list[Any], fake: list[Any], values: Values, given: Values
) -> None:
    op = sample.op
    allowed = op._schema.aliased_returns
    for i, (mine, theirs) in enumerate(zip(fake, real, strict=True)):
        left, right = ([item] if not isinstance(item, (list, tuple)) else list(item) for item in (mine, theirs))
        if len(left) != len(right):
            raise sample.error(f"output {i}: the fake rule gives a list of {len(left)}, the kernel one of {len(right)}")
        for a, b in zip(left, right, strict=True):
            if isinstance(a, Tensor) != isinstance(b, Tensor):
                raise sample.error(f"output {i}: the fake rule gives {_kind(a)}, the kernel {_kind(b)}")
            if is_open(a) and isinstance(b, {"int": int, "float": float, "bool": bool}[a.kind]):
                continue
            if not isinstance(a, Tensor):
                difference = None if leaves_values_open(op) else tolerance.difference(a, b)
                if difference is not None:
                    raise sample.error(
                        f"output {i}: the fake rule and the kernel give different values",
                        got=difference,
                        hint="a result that is a number is part of compiled code: it may depend on sizes, not on data",
                    )
                continue
            _check_layout(sample, i, a, b)
            if not isinstance(a, FakeTensor):
                raise sample.error(f"output {i}: the fake rule returns a tensor with data", got=describe(a))
            for (name, label, x), (_, _, y) in zip(labelled(given), labelled(values), strict=True):
                if name not in allowed.get(i, ()) and a._storage is x._storage and op.decl is None:
                    raise sample.error(
                        f"output {i}: the fake rule returns argument {label} or a view of it",
                        got=describe(a),
                        hint="return opweave.empty_like(x)",
                    )
                if (
                    a._storage is x._storage
                    and b._storage is y._storage
                    and a._offset - x._offset != (b._offset - y._offset)
                ):
                    raise sample.error(
                        f"output {i}: the fake rule's view of {label} starts elsewhere",
                        got=f"offset {a._offset - x._offset} fake, {b._offset - y._offset} real",
                    )
            sources = [(x, y) for (name, _, x), (_, _, y) in zip(labelled(given), labelled(values), strict=True)
                       if name in allowed.get(i, ())]  # fmt: skip
            if any(y._storage is b._storage for _, y in sources) and not any(
                x._storage is a._storage for x, _ in sources
            ):
                raise sample.error(
                    f"output {i}: the fake rule makes a new tensor, the kernel returns a view",
                    got=describe(a),
                    hint="return a view of the same argument",
                )


def _plain(number: Any) -> Any:
    """A number, with what was found out put in; one that is still open says nothing."""
    if not isinstance(number, Symbolic):
        return number
    found = number.env.plain(number.env.simplify(number.expr))  # type: ignore[attr-defined]  # SymNumber's
    return found if isinstance(found, int) else None


def _check_layout(sample: Sample, i: int, fake: Tensor, real: Tensor) -> None:
    sizes, strides = (tuple(map(_plain, numbers)) for numbers in (fake._sizes, fake._strides))
    if len(sizes) == len(real._sizes):
        sizes = tuple([theirs if mine is None else mine for mine, theirs in zip(sizes, real._sizes, strict=True)])
    parts = [("sizes", sizes, real._sizes), ("dtype", fake._dtype, real._dtype),
             ("device", fake._device, real._device)]  # fmt: skip
    if "flexible_layout" not in sample.op.tags and real.numel():
        # Strides of dimensions of size 1 mean nothing.
        kept = [d for d, size in enumerate(real._sizes) if size > 1]
        if sizes == real._sizes and any(strides[d] not in (real._strides[d], None) for d in kept):
            parts.append(("strides", strides, real._strides))
    for what, mine, theirs in parts:
        if mine != theirs and not (what == "device" and mine is theirs):
            hint = {
                "strides": "empty_like keeps its argument's strides; x.new_empty(x.shape) has row-major ones",
                "dtype": "empty_like(x, dtype=...)",
            }.get(what, "the fake rule must give what the kernel gives")
            raise sample.error(
                f"output {i}: the fake rule gives other {what} than the kernel",
                got=f"{mine} fake, {theirs} real",
                hint=hint,
            )


def explained(given: Sample, what: str, error: Exception) -> Exception:
    """An error of the check for one that the op raised."""
    got = f"{type(error).__name__}: {getattr(error, 'what', error)}"
    return given.error(what, got=got, hint=getattr(error, "hint", None))
