"""Where an op's gradient is registered, whether it is right, and whether all of it can be traced and compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.compiling import compile
from opweave.opcheck.batches import check_batched
from opweave.opcheck.behaviour import explained, leaves_values_open, run
from opweave.opcheck.inputs import (
    Sample,
    Snapshot,
    Tolerance,
    Values,
    call,
    from_array,
    labelled,
    mapped,
    numpy_of,
    variants,
)
from opweave.registry import custom_op, dtypes
from opweave.registry.autograd.engine import grad
from opweave.registry.autograd.function_node import FunctionNode
from opweave.registry.autograd.graph import ErrorNode, grad_fn_of, nodes_from
from opweave.registry.autograd.mode import no_grad
from opweave.registry.autograd.surface import requires_grad_
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import ABOVE_VIEWS, ALIASES, GRAD, DispatchKey
from opweave.registry.loading import can_compile
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.make_fx import make_fx


def _compiled(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function as it is compiled here: where kernels cannot be, its graph is run op by op."""
    return compile(fn, backend="opweave" if can_compile() else "eager")


Arrays = list[np.ndarray[Any, Any]]

#: (step, relative tolerance): differences are taken with the first step at which they do not depend on it.
_STEPS = {8: ((1e-5, 1e-5), (1e-3, 1e-3), (2e-2, 2e-2)), 4: ((1e-2, 5e-3), (5e-2, 2e-2)), 2: ()}


# ---- where it is registered ----------------------------------------------------------------------------------------


def check_registration(given: Sample) -> None:
    """What is differentiable is so at an Autograd key, not by what a kernel below it records.

    An op without a formula is fine: differentiating it is an error.
    """
    op = given.op
    if not any(t._keys & GRAD for t in given.tensors()):
        return
    autograd = {DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd, *ALIASES[DispatchKey.Autograd]}
    if op.decl is not None or op.derivative_source()[1] is not None or autograd & set(op.kernels):
        return
    values = given.fresh(grad=True)
    bits = 0
    for t in tensors_in(values):
        bits |= t._keys
    inputs = {id(t) for t in tensors_in(values)}
    try:
        result = _call_with(op._lookup(bits & ~ABOVE_VIEWS), given, values)
    except Exception as error:
        let_through(error)
        return  # a kernel need not work while calls are recorded: none are below Autograd
    outputs = [t for t in tensors_in([result]) if t._keys & GRAD and id(t) not in inputs]
    if op.name in custom_op.definitions:
        # Its kernel may use differentiable ops; nothing is recorded, and differentiating it is an error.
        roots = [node for t in outputs if (node := grad_fn_of(t)) is not None]
        if not any(isinstance(node, FunctionNode) for node in nodes_from(roots)):
            return
    if outputs:
        raise given.error(
            "its kernel records how it is differentiated, below Autograd, where calls do not record",
            got=f"an output requires grad: {describe(outputs[0])}",
            hint="use register_autograd(op, backward, setup_context=...), or register the kernel for "
            "CompositeImplicitAutograd if it consists of differentiable ops",
        )


def _call_with(kernel: Callable[..., Any], sample: Sample, values: Values) -> Any:
    arguments = sample.op._schema.arguments
    args = [values[a.name] for a in arguments if not a.kwarg_only]
    return kernel(*args, **{a.name: values[a.name] for a in arguments if a.kwarg_only})


# ---- compiled code -------------------------------------------------------------------------------------------------


def check_compiled(given: Sample, tolerance: Tolerance) -> None:
    """Compiled code gives what a call gives; gradients are right, traced ones too; a vmap rule agrees with a loop."""
    _check_compiled_call(given, tolerance)
    if any(t._keys & GRAD for t in given.tensors()) and not given.op.is_mutable:
        _check_gradients(given, tolerance)
    if given.thorough and given.op.batch_rule is not None and not given.op.is_random:
        check_batched(given, tolerance)


def _lifted(sample: Sample, values: Values) -> tuple[list[Tensor], Callable[..., Any]]:
    """The tensors among the arguments, each once, and the call as a function of them."""
    tensors: dict[int, Tensor] = {id(t): t for t in tensors_in(values)}
    places = {key: i for i, key in enumerate(tensors)}

    def fn(*given: Tensor) -> Any:
        return call(sample.op, mapped(values, lambda t: given[places[id(t)]]))

    return list(tensors.values()), fn


def _check_compiled_call(given: Sample, tolerance: Tolerance) -> None:
    op = given.op
    values = given.fresh()
    expected = run(given, values)
    compiled_values = given.fresh()
    tensors, fn = _lifted(given, compiled_values)
    with no_grad():
        compiled = _compiled(fn)
        try:
            result = compiled(*tensors)
        except UnsupportedError:
            if {"dynamic_output_shape", "data_dependent_output"} & set(op.tags):
                return
            raise
        except Exception as error:
            let_through(error)
            raise explained(given, "it cannot be compiled", error) from error
    if leaves_values_open(op):
        return
    difference = tolerance.difference(result, expected)
    if difference is None:
        for (_, label, a), (_, _, b) in zip(labelled(compiled_values), labelled(values), strict=True):
            found = tolerance.difference(a, b)
            difference = difference or (None if found is None else f"argument {label} afterwards: {found}")
    if difference is not None:
        raise given.error("compiled code gives other results than a call", got=difference)


# ---- gradients -----------------------------------------------------------------------------------------------------


@dataclass
class Pass:
    """A call and what differentiating it takes.

    Attributes
    ----------
    inputs : list of Tensor
        Those that require grad, each once.
    outputs : list of Tensor
        Those that depend on them.
    """

    values: Values
    inputs: list[Tensor]
    outputs: list[Tensor]


def _forward(sample: Sample, values: Values) -> Pass:
    inputs = list({id(t): t for t in tensors_in(values) if t._keys & GRAD}.values())
    result = call(sample.op, values)
    return Pass(values, inputs, [t for t in tensors_in([result]) if t._keys & GRAD])


def _has_no_formula(outputs: Sequence[Tensor]) -> bool:
    roots = [node for t in outputs if (node := grad_fn_of(t)) is not None]
    return any(isinstance(node, ErrorNode) for node in nodes_from(roots))


def _weights(outputs: Sequence[Tensor]) -> list[Tensor]:
    """Fixed random gradients of the outputs."""
    rng = np.random.default_rng(7)
    return [_random(rng, t) for t in outputs]


def _random(rng: np.random.Generator, t: Tensor) -> Tensor:
    values = rng.uniform(0.5, 1.5, t._sizes) * rng.choice([-1.0, 1.0], t._sizes)
    if t._dtype.is_complex:
        values = values + 1j * rng.uniform(-1, 1, t._sizes)
    return from_array(values, t)


def _gradients(made: Pass, weights: Sequence[Tensor], inputs: Sequence[Tensor] | None = None, **options: Any) -> Any:
    return grad(made.outputs, made.inputs if inputs is None else inputs, list(weights), allow_unused=True, **options)


def _check_gradients(given: Sample, tolerance: Tolerance) -> None:
    op = given.op
    values = given.fresh(grad=True)
    made = _forward(given, values)
    if not made.outputs or _has_no_formula(made.outputs):
        return
    weights = _weights(made.outputs)
    watched = [Snapshot(t, label) for _, label, t in labelled(values)]
    watched += [Snapshot(t, f"output {i}") for i, t in enumerate(made.outputs)]
    watched += [Snapshot(t, f"the gradient of output {i}") for i, t in enumerate(weights)]
    reference = _backward(given, made, weights, retain_graph=True)
    for snapshot in watched:
        change = snapshot.change(False)
        if change is not None:
            raise given.error(
                f"backward: {snapshot.label} {change[0]}",
                got=change[1],
                hint="compute new tensors in backward: others may hold the ones it is given",
            )
    again = _backward(given, made, weights, retain_graph=True)
    _expect(given, tolerance, again, reference, "two backward passes over one call give different gradients")
    if given.thorough:
        _check_parts(given, tolerance, made, weights, reference)
    if not op.is_random:
        _check_layouts(given, tolerance, weights, reference)
        _Differences(given).check()
    _check_traced(given, tolerance, weights, reference)


def _backward(sample: Sample, made: Pass, weights: Sequence[Tensor], **options: Any) -> Any:
    try:
        return _gradients(made, weights, **options)
    except Exception as error:
        let_through(error)
        raise explained(sample, "backward raised an error", error) from error


def _expect(sample: Sample, tolerance: Tolerance, mine: Any, expected: Any, what: str, hint: str | None = None) -> None:
    for i, (a, b) in enumerate(zip(mine, expected, strict=True)):
        if a is None and b is None:
            continue
        if a is None or b is None:
            # No gradient and a gradient of zeros are the same.
            if not any(numpy_of(t).any() for t in (a, b) if t is not None):
                continue
            difference = "no gradient" if a is None else "a gradient in place of none"
        else:
            difference = tolerance.difference(a, b)
        if difference is not None:
            raise sample.error(what, got=f"input {i} that requires grad: {difference}", hint=hint)


def _check_parts(
    given: Sample, tolerance: Tolerance, made: Pass, weights: list[Tensor], reference: Sequence[Tensor | None]
) -> None:
    """The gradient of one input alone, and of one output alone; and one without memory of its own."""
    if len(made.inputs) > 1:
        for i, t in enumerate(made.inputs):
            alone = given.fresh(grad=True)
            leaves = list({id(x): x for x in tensors_in(alone) if x._keys & GRAD}.values())
            for j, leaf in enumerate(leaves):
                if j != i:
                    requires_grad_(leaf, False)
            part = _forward(given, alone)
            if not part.outputs or len(part.outputs) != len(weights) or t._dtype is not leaves[i]._dtype:
                continue
            if not given.op.is_random:
                found = _backward(given, part, weights)
                _expect(
                    given,
                    tolerance,
                    found,
                    [reference[i]],
                    f"the gradient of input {i} is another when only that one requires grad",
                    "look at ctx.needs_input_grad only to leave gradients out",
                )
    if len(made.outputs) > 1:
        total: list[Any] = [None] * len(made.inputs)
        for output, weight in zip(made.outputs, weights, strict=True):
            part = Pass(made.values, made.inputs, [output])
            found = _backward(given, part, [weight], retain_graph=True)
            total = [b if a is None else a if b is None else a + b for a, b in zip(total, found, strict=True)]
        _expect(
            given,
            Tolerance(1e-4, 1e-4),
            total,
            reference,
            "the gradients of each output alone do not add up to the gradient of all",
            "an output that is not used has a gradient of zeros (None after set_materialize_grads(False))",
        )
    ones = [from_array(np.ones(t._sizes), t) for t in made.outputs]
    spread = [from_array(np.ones(()), t).expand(list(t._sizes)) for t in made.outputs]
    _expect(
        given,
        tolerance,
        _backward(given, made, spread, retain_graph=True),
        _backward(given, made, ones, retain_graph=True),
        "backward gives other gradients for an expanded gradient, such as that of .sum()",
        "respect strides in backward, or call grad.contiguous()",
    )


def _check_layouts(
    given: Sample, tolerance: Tolerance, weights: list[Tensor], reference: Sequence[Tensor | None]
) -> None:
    for sample in variants(given.op, given):
        if sample.kind != "layout" or not sample.name.startswith("every"):
            continue
        values = sample.fresh(grad=True)
        try:
            made = _forward(sample, values)
            found = _gradients(made, weights)
        except Exception as error:
            let_through(error)
            continue  # it may insist on a layout
        _expect(
            sample,
            tolerance,
            found,
            reference,
            "gradients are others for the same inputs in another memory layout",
            "respect strides in backward, or call x.contiguous() first",
        )


def _check_traced(given: Sample, tolerance: Tolerance, weights: list[Tensor], reference: Any) -> None:
    """The backward works on tensors without data, gives gradients of the same look, and its graph the same values."""
    values = given.fresh(grad=True)
    tensors, fn = _lifted(given, values)
    wanted = [i for i, t in enumerate(tensors) if t._keys & GRAD]
    count = len(tensors)

    def gradients(*leaves: Tensor) -> list[Any]:
        inputs = [t.detach() for t in leaves[:count]]
        for i in wanted:
            requires_grad_(inputs[i])
        outputs = [t for t in tensors_in([fn(*inputs)]) if t._keys & GRAD]
        return list(grad(outputs, [inputs[i] for i in wanted], list(leaves[count:]), allow_unused=True))

    plain = [t.detach() for t in tensors]
    try:
        module = make_fx(gradients, tracing_mode="fake")(*plain, *weights)
    except Exception as error:
        let_through(error)
        raise explained(given, "backward cannot be traced without data", error) from error
    if given.op.is_random:
        return
    _expect(given, tolerance, module(*plain, *weights), reference, "the traced backward gives other gradients")
    for node, expected in zip(_outputs_of(module), reference, strict=True):
        meta = getattr(node, "meta", {}).get("val")
        if isinstance(meta, Tensor) and expected is not None:
            look = (meta._sizes, meta._dtype), (expected._sizes, expected._dtype)
            if look[0] != look[1]:
                raise given.error("a gradient without data looks unlike the real one", got=f"{look[0]} and {look[1]}")
    compiled_leaves = list(tensors)
    try:
        result = _compiled(fn)(*compiled_leaves)
    except UnsupportedError:
        return
    except Exception as error:
        let_through(error)
        raise explained(given, "it cannot be compiled with inputs that require grad", error) from error
    outputs = [t for t in tensors_in([result]) if t._keys & GRAD]
    if len(outputs) != len(weights):
        return
    made = Pass(values, [compiled_leaves[i] for i in wanted], outputs)
    _expect(given, tolerance, _backward(given, made, weights), reference, "compiled code gives other gradients")


def _outputs_of(module: Any) -> list[Any]:
    output = next(node for node in module.graph.nodes if node.op == "output")
    found = output.args[0]
    return list(found) if isinstance(found, (tuple, list)) else [found]


# ---- differences ---------------------------------------------------------------------------------------------------


class _Differences:
    """First and second derivatives along random directions, against central differences, in double precision."""

    def __init__(self, given: Sample):
        self.given = given
        self.rng = np.random.default_rng(11)
        self.sample = Sample(given.op, "in double precision", _widened(given.values), "wide")
        made = self._made()
        if made is None or any(t._dtype not in (dtypes.float64, dtypes.complex128) for t in made.outputs):
            self.sample = given
            made = _forward(given, given.fresh(grad=True))
        self.weights = [numpy_of(w) for w in _weights(made.outputs)]
        real = [t._dtype for t in (*made.outputs, *made.inputs)]
        self.width = min([dtype.itemsize // (2 if dtype.is_complex else 1) for dtype in real])
        self.points = [numpy_of(t) for t in made.inputs]

    def _made(self) -> Pass | None:
        """The call in double precision; None if the op does not take it."""
        try:
            made = _forward(self.sample, self.sample.fresh(grad=True))
        except Exception as error:
            let_through(error)
            return None
        return made if made.outputs else None

    # -- evaluating

    def at(self, points: Arrays) -> Values:
        """The arguments with those that require grad replaced."""
        values = self.sample.fresh(grad=True)
        leaves = {id(t): t for t in tensors_in(values) if t._keys & GRAD}.values()
        moved = {id(t): requires_grad_(from_array(p, t)) for t, p in zip(leaves, points, strict=True)}
        return mapped(values, lambda t: moved.get(id(t), t))

    def value(self, points: Arrays) -> float:
        """The weighted sum of the outputs."""
        with np.errstate(all="ignore"):
            made = _forward(self.sample, self.at(points))
            return float(sum(np.vdot(w, numpy_of(t)).real for w, t in zip(self.weights, made.outputs, strict=True)))

    def first(self, points: Arrays) -> Arrays:
        """The gradients of that sum."""
        made = _forward(self.sample, self.at(points))
        found = _gradients(made, [from_array(w, t) for w, t in zip(self.weights, made.outputs, strict=True)])
        return [np.zeros_like(p) if g is None else numpy_of(g) for g, p in zip(found, points, strict=True)]

    # -- checking

    def check(self) -> None:
        """Raise where a derivative is wrong at the given point, and near it: at a kink any of several is right."""
        near = [p + 0.013 * self.rng.uniform(0.5, 1, p.shape) * np.maximum(np.abs(p), 0.5) for p in self.points]
        for compare in (self._first_order, self._second_order):
            found = compare(self.points)
            if found is not None and compare([p.astype(q.dtype) for p, q in zip(near, self.points, strict=True)]):
                raise self.sample.error(found[0], got=found[1], hint=found[2])

    def _first_order(self, points: Arrays) -> tuple[str, str, str] | None:
        try:
            analytic = self.first(points)
        except Exception as error:
            let_through(error)
            return None  # reported elsewhere, or outside of what the op takes
        for i, gradient in enumerate(analytic):
            found = self._along(i, points, gradient, self.value)
            if found is not None:
                return (
                    f"the gradient of input {i} that requires grad is wrong",
                    f"along a random direction {found[0]:.6g}, by differences {found[1]:.6g}",
                    _guess(*found),
                )
        return None

    def _along(
        self, i: int, points: Arrays, gradient: np.ndarray[Any, Any], value: Callable[[Arrays], float]
    ) -> tuple[float, float] | None:
        """(analytic, by differences) along a direction of one input, None if they agree or cannot be told apart."""
        if not gradient.size:
            return None
        direction = self.rng.uniform(0.5, 1.5, gradient.shape) * self.rng.choice([-1.0, 1.0], gradient.shape)
        if np.iscomplexobj(gradient):
            direction = direction + 1j * self.rng.uniform(-1, 1, gradient.shape)
        mine = float(np.vdot(gradient, direction).real)
        size = float(np.abs(gradient * direction).sum())
        scale = max(1.0, float(np.abs(points[i]).max()))

        def shifted(step: float) -> float:
            moved = list(points)
            moved[i] = (points[i] + step * direction).astype(points[i].dtype)
            return value(moved)

        if not np.isfinite(mine):
            return None
        try:
            for step, rtol in _STEPS.get(self.width, ()):
                h = step * scale
                wide = (shifted(h) - shifted(-h)) / (2 * h)
                narrow = (shifted(h / 2) - shifted(-h / 2)) / h
                if not np.isfinite(wide + narrow):
                    return None
                if abs(wide - narrow) > rtol * (abs(wide) + abs(narrow)) + rtol * 1e-2 * size + 1e-9:
                    continue  # noise, or too large a step
                if abs(narrow - mine) <= 5 * rtol * (abs(narrow) + size) + rtol * 1e-2:
                    return None
                if narrow == 0 and wide == 0 and shifted(scale) != shifted(0.0):
                    return None  # piecewise constant: any gradient is a choice
                return mine, narrow
        except Exception as error:
            let_through(error)
            return None
        return None

    def _second_order(self, points: Arrays) -> tuple[str, str, str] | None:
        if self.width < 8:
            return None
        values = self.at(points)
        made = _forward(self.sample, values)
        weights = [requires_grad_(from_array(w, t)) for w, t in zip(self.weights, made.outputs, strict=True)]
        rng = np.random.default_rng(13)
        vectors = [_random(rng, t) for t in made.inputs]
        try:
            found = _gradients(made, weights, create_graph=True)
            live = [(g, v) for g, v in zip(found, vectors, strict=True) if g is not None and g._keys & GRAD]
            wanted = [*made.inputs, *weights]
            second: Sequence[Any] = [None] * len(wanted)
            if live:
                second = grad([g for g, _ in live], wanted, [v for _, v in live], allow_unused=True)
        except Exception as error:
            let_through(error)
            return None  # it says that there is none
        count = len(points)
        kept = [numpy_of(v) for v in vectors]

        def value(moved: Arrays) -> float:
            before = self.weights
            self.weights = moved[count:]
            try:
                return float(sum(np.vdot(v, g).real for v, g in zip(kept, self.first(moved[:count]), strict=True)))
            finally:
                self.weights = before

        everything = [*points, *self.weights]
        for i, (g, p) in enumerate(zip(second, everything, strict=True)):
            gradient = np.zeros_like(p) if g is None else numpy_of(g)
            wrong = self._along(i, everything, gradient, value)
            if wrong is not None:
                what = f"input {i} that requires grad" if i < count else f"the gradient of output {i - count}"
                return (
                    f"the second derivative is wrong, with respect to {what}",
                    f"along a random direction {wrong[0]:.6g}, by differences of backward {wrong[1]:.6g}",
                    "write backward with differentiable ops on ctx.saved_tensors and grad, without detach(), numpy() "
                    "or values kept as attributes; or decorate it with once_differentiable",
                )
        return None


def _widened(values: Values) -> Values:
    """Floating tensors in double precision, contiguous."""
    memo: dict[int, Tensor] = {}

    def wide(t: Tensor) -> Tensor:
        if t._dtype.kind not in "fc":
            return t
        if id(t) not in memo:
            dtype = dtypes.complex128 if t._dtype.is_complex else dtypes.float64
            made = from_array(numpy_of(t).astype(dtype.numpy), t, dtype)
            memo[id(t)] = requires_grad_(made) if t._keys & GRAD else made
        return memo[id(t)]

    return mapped(values, wide)


def _guess(mine: float, right: float) -> str:
    ratio = mine / right if right else float("inf")
    if mine == 0:
        return "is a term missing, or a gradient returned as None in the place of this argument?"
    if np.isclose(ratio, -1, 1e-3):
        return "a sign is wrong: backward gives the negative"
    if not 1e-9 < abs(ratio) < 1e9:  # nor infinite, nor none at all
        return "backward(ctx, *grads) returns a gradient for each argument, in their order"
    if np.isclose(ratio, round(ratio), 1e-3) and 1 < abs(round(ratio)) < 100:
        return f"a factor is wrong: backward gives {round(ratio)} times the derivative"
    if np.isclose(1 / ratio, round(1 / ratio), 1e-3) and 1 < abs(round(1 / ratio)) < 100:
        return f"a factor is wrong: backward gives 1/{round(1 / ratio)} of the derivative"
    return "backward(ctx, *grads) returns a gradient for each argument, in their order"
