"""`gradcheck` and `gradgradcheck`: gradients against finite differences.

A Jacobian here is a NumPy matrix with a row for each element of the input and a column for each element of the
output. With complex inputs an entry is the derivative along the real axis plus `i` times that along the imaginary
axis, which is what backward gives for a real output; a complex output is checked as two real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.autograd.engine import grad
from opweave.registry.autograd.function import Function
from opweave.registry.errors import ArgumentError, OpweaveError, UnsupportedError, warn_user
from opweave.registry.interrupts import let_through
from opweave.registry.keys import GRAD
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

Arrays = np.ndarray[Any, Any]
Outputs = tuple[Tensor, ...]


class GradcheckError(OpweaveError, RuntimeError):
    """A gradient that is wrong, or a backward that breaks its rules.

    Examples
    --------
    >>> issubclass(opweave.autograd.GradcheckError, RuntimeError)
    True
    """


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of a function with central differences.

    Parameters
    ----------
    func : callable
        Takes `inputs` and gives a tensor or a tuple of them.
    inputs : Tensor or sequence
        Arguments; those that require grad are checked, and should be float64 or complex128.
    eps : float
        Step of the differences.
    atol, rtol : float
        How far both may be apart.
    raise_exception : bool
        Raise on the first failure; otherwise give False.
    nondet_tol : float
        How far two runs of one backward may be apart.
    check_undefined_grad : bool
        Whether backward has to cope with outputs that have no gradient.
    check_grad_dtypes : bool
        Whether gradients must have the dtype of their input.
    check_batched_grad : bool
        Whether a batch of backward passes at once has to agree with one after the other.
    check_forward_ad, check_batched_forward_ad : bool
        There is no forward mode; only False is taken.
    check_backward_ad : bool
        False checks nothing.
    fast_mode : bool
        Compare along one random direction in place of every element.
    masked : bool, optional
        Has a meaning for sparse tensors only.

    Returns
    -------
    bool
        True, or False on failure with `raise_exception=False`.

    Raises
    ------
    GradcheckError
        If the check fails; shows both Jacobians.

    Examples
    --------
    >>> x = opweave.rand(3, dtype=opweave.float64, requires_grad=True)
    >>> opweave.autograd.gradcheck(opweave.sin, (x,))
    True
    """
    if check_forward_ad or check_batched_forward_grad:
        raise UnsupportedError("gradcheck: there is no forward mode to check", hint="leave check_forward_ad out")
    if not check_backward_ad:
        return True
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    check = _Check(func, given, eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        check.run(check_undefined_grad, check_batched_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare second derivatives with central differences of the first.

    Parameters
    ----------
    func, inputs
        As for `gradcheck`, as are all parameters that are not listed.
    grad_outputs : Tensor or sequence, optional
        Gradients of the outputs, checked too; random by default.
    gen_non_contig_grad_outputs : bool
        Make the random ones with gaps in memory.
    check_fwd_over_rev : bool
        There is no forward mode; only False is taken.
    check_rev_over_rev : bool
        False checks nothing.

    Returns
    -------
    bool
        True, or False on failure with `raise_exception=False`.

    Raises
    ------
    GradcheckError
        If the check fails.

    Examples
    --------
    >>> x = opweave.rand(3, dtype=opweave.float64, requires_grad=True)
    >>> opweave.autograd.gradgradcheck(opweave.sin, (x,))
    True
    """
    if check_fwd_over_rev:
        raise UnsupportedError("gradgradcheck: there is no forward mode to check", hint="leave check_fwd_over_rev out")
    if not check_rev_over_rev:
        return True
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        outputs = _differentiable(func(*given))
        vectors = tuple([_random_gradient(rng, output, gen_non_contig_grad_outputs) for output in outputs])
    else:
        vectors = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    count = len(vectors)

    def gradients(*arguments: Any) -> Outputs:
        arguments, along = arguments[: len(arguments) - count], arguments[len(arguments) - count :]
        results = _differentiable(func(*arguments))
        wanted = [t for t in arguments if isinstance(t, Tensor) and t._keys & GRAD]
        found = grad(results, wanted, along, create_graph=True, allow_unused=True)
        return tuple([t for t in found if t is not None])

    return gradcheck(
        gradients,
        (*given, *vectors),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_gradient(rng: np.random.Generator, output: Tensor, gaps: bool) -> Tensor:
    dtype = output._dtype if output._dtype.kind in "fc" else dtypes.float64
    sizes = [*output._sizes, 2] if gaps else list(output._sizes)
    values = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if dtype.is_complex else 0)
    made = _tensor(values, output, dtype)
    if gaps:
        made = ops.aten.select.int(made, -1, 0)
    made._keys |= GRAD
    return made


def _tensor(values: Any, like: Tensor, dtype: Any = None) -> Tensor:
    """A tensor of these values on the device of another."""
    dtype = dtype or like._dtype
    array = np.array(values, dtype=dtype.numpy)
    return Tensor._from_array(like._device.xp.asarray(array), like._device)


def _values(t: Tensor) -> Arrays:
    """The elements as a flat array in float64 or complex128."""
    array = t.detach().numpy(force=True)
    return np.array(array, dtype=np.complex128 if array.dtype.kind == "c" else np.float64).reshape(-1)


def _listed(found: Any) -> Outputs:
    if isinstance(found, Tensor):
        return (found,)
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _differentiable(found: Any) -> Outputs:
    return tuple([t for t in _listed(found) if isinstance(t, Tensor) and t._keys & GRAD])


class _Undefined(Function):
    """The identity whose gradient is undefined."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return ops.aten.alias.default(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> None:
        return None


class _Part:
    """A real-valued part of a function: its real outputs, or the real or imaginary parts of its complex ones."""

    def __init__(self, check: _Check, name: str):
        self.check = check
        self.name = name

    def pick(self, found: Any) -> list[tuple[int, Tensor]]:
        """(number, real tensor) of the outputs that belong to the part."""
        numbered = enumerate(_differentiable(found))
        if not self.name:
            return [(i, t) for i, t in numbered if not t._dtype.is_complex]
        op = ops.aten.real if self.name == "real" else ops.aten.imag
        return [(i, op.default(t)) for i, t in numbered if t._dtype.is_complex]

    @property
    def note(self) -> str:
        """What a message says about the part."""
        return f", considering the {self.name} part of complex outputs only" if self.name else ""


class _Check:
    """One `gradcheck`."""

    def __init__(
        self,
        func: Callable[..., Any],
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        check_dtypes: bool,
        fast: bool,
    ):
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.check_dtypes, self.fast = check_dtypes, fast
        #: (number among the arguments, tensor) of the inputs to check.
        self.targets = [(i, t) for i, t in enumerate(inputs) if isinstance(t, Tensor) and t._keys & GRAD]

    # ---- steps -----------------------------------------------------------------------------------------------------

    def run(self, undefined: bool, batched: bool) -> None:
        """Check everything that was asked for."""
        self.check_inputs()
        outputs = _differentiable(self.func(*self.inputs))
        if not outputs:
            self.check_constant()
            return
        names = {"real", "imag"} if any(t._dtype.is_complex for t in outputs) else set()
        if any(not t._dtype.is_complex for t in outputs):
            names.add("")
        for name in sorted(names):
            part = _Part(self, name)
            (self.compare_fast if self.fast else self.compare_slow)(part)
        if batched:
            for i, output in enumerate(outputs):
                self.check_batched(i, output)
        self.check_linear()
        if undefined:
            self.check_undefined()

    def check_inputs(self) -> None:
        """The inputs are such that differences mean something."""
        if not self.targets:
            raise ArgumentError(
                "gradcheck: at least one input tensor must require grad",
                got=describe(list(self.inputs)),
                hint="call .requires_grad_() on it",
            )
        for i, t in self.targets:
            if t._dtype not in (dtypes.float64, dtypes.complex128):
                warn_user(
                    f"gradcheck: input {i} is {t._dtype.name}; differences need float64 or complex128, and the check "
                    "will probably fail"
                )
            if any(stride == 0 and size > 1 for size, stride in zip(t._sizes, t._strides, strict=True)):
                raise ArgumentError(
                    f"gradcheck: elements of input {i} share memory, so that one cannot be changed alone",
                    got=f"{describe(t)} with strides {list(t._strides)}",
                    hint="call .contiguous() on it",
                )

    def check_constant(self) -> None:
        """A function without differentiable outputs does not change with its inputs."""
        for i, t in self.targets:
            for index, unit in _directions(t):
                for o, column in enumerate(self.differences(lambda found: _floating(found), t, index, unit)):
                    if not np.allclose(column, 0, rtol=self.rtol, atol=self.atol):
                        raise GradcheckError(
                            f"gradcheck: output {o} does not require grad, but changes with input {i}",
                            got=f"numerical derivatives {column}",
                            hint="the derivative is taken for zero: is part of the function not recorded?",
                        )

    def compare_slow(self, part: _Part) -> None:
        """Every element of every Jacobian."""
        picked = part.pick(self.func(*self.inputs))
        numerical = self.numerical(part)
        for position, (o, output) in enumerate(picked):
            analytical = self.analytical(o, output)
            self.check_reentrant(o, analytical, self.analytical(o, output))
            for (i, _), mine, theirs in zip(self.targets, analytical, numerical, strict=True):
                expected = theirs[position]
                if not _close(mine, expected, self.rtol, self.atol):
                    raise GradcheckError(
                        f"gradcheck: Jacobian mismatch for output {o} with respect to input {i}{part.note}",
                        got=f"numerical:\n{expected}\nanalytical:\n{mine}",
                        hint=_hint(mine, expected),
                    )

    def compare_fast(self, part: _Part) -> None:
        """Each Jacobian between two random vectors."""
        picked = part.pick(self.func(*self.inputs))
        rng = np.random.default_rng(0)
        along = [_random(rng, t) for _, t in picked]
        for (i, t), step in [(target, _random(rng, target[1])) for target in self.targets]:
            moved = self.differences(lambda found: [x for _, x in part.pick(found)], t, None, step)
            for (o, output), vector, change in zip(picked, along, moved, strict=True):
                gradient = [self.gradients(o, output, vector) for _ in range(2)]
                self.check_reentrant(o, *[[g.reshape(-1, 1) for g in found] for found in gradient])
                mine = float(np.real(np.vdot(gradient[0][self.position(i)], step)))
                expected = float(np.dot(vector, change))
                # An element may be off by atol, and all of them add up.
                atol = self.atol * float(np.abs(vector).sum() * np.abs(step).sum())
                if not _close(np.array(mine), np.array(expected), self.rtol, atol):
                    raise GradcheckError(
                        f"gradcheck: Jacobian mismatch for output {o} with respect to input {i}, along a random "
                        f"direction{part.note}",
                        got=f"numerical: {expected}, analytical: {mine}" + self.slow_report(part, o, i),
                        hint="fast_mode=False shows which elements are wrong",
                    )

    def slow_report(self, part: _Part, o: int, i: int) -> str:
        """Both Jacobians, where they are small enough to read."""
        picked = part.pick(self.func(*self.inputs))
        position, output = next((k, t) for k, (number, t) in enumerate(picked) if number == o)
        if output.numel() * self.inputs[i].numel() > 10_000:
            return ""
        analytical = self.analytical(o, output)[self.position(i)]
        return f"\nnumerical:\n{self.numerical(part)[self.position(i)][position]}\nanalytical:\n{analytical}"

    def position(self, i: int) -> int:
        """The place of an argument among the inputs that are checked."""
        return next(place for place, (number, _) in enumerate(self.targets) if number == i)

    # ---- rules that a backward keeps -------------------------------------------------------------------------------

    def check_reentrant(self, o: int, first: Sequence[Arrays], second: Sequence[Arrays]) -> None:
        """Two runs of a backward agree."""
        for (i, _), a, b in zip(self.targets, first, second, strict=True):
            worst = float(np.max(np.abs(a - b), initial=0.0))
            if worst > self.nondet_tol:
                raise GradcheckError(
                    f"gradcheck: backward of output {o} is not deterministic: two runs with the same gradient differ",
                    got=f"by up to {worst} for input {i}, allowed: {self.nondet_tol}",
                    hint="pass nondet_tol where the order of a sum is left open",
                )

    def check_linear(self) -> None:
        """The gradient of nothing is nothing."""
        outputs = _differentiable(self.func(*self.inputs))
        zeros = [ops.aten.zeros_like.default(t.detach()) for t in outputs]
        for (i, t), found in self.raw(outputs, zeros):
            if found is None:
                continue
            if found._sizes != t._sizes or found._device is not t._device:
                raise GradcheckError(
                    f"gradcheck: the gradient of input {i} has another shape or device",
                    got=f"{describe(found)} for {describe(t)}",
                )
            if not np.all(_values(found) == 0):
                raise GradcheckError(
                    f"gradcheck: backward is not multiplied by the gradient of the output: zeros give input {i} a "
                    "gradient",
                    got=describe(found),
                )

    def check_undefined(self) -> None:
        """Outputs without a gradient count as having a zero one."""
        count = len(_differentiable(self.func(*self.inputs)))
        sets: list[set[int]] = [set(range(count))]
        if count > 1:
            sets += [{i} for i in range(count)]
        for missing in sets:
            outputs = _differentiable(self.func(*self.inputs))
            results = [_Undefined.apply(t) if i in missing else t for i, t in enumerate(outputs)]
            zeros = [ops.aten.zeros_like.default(t.detach()) for t in results]
            try:
                found = self.raw(results, zeros)
            except (OpweaveError, TypeError, AttributeError, ValueError) as error:
                let_through(error)
                raise GradcheckError(
                    "gradcheck: backward cannot cope with an undefined gradient",
                    got=f"outputs without one: {sorted(missing)}; {type(error).__name__}: {error}",
                    hint="take None for an output's gradient, or leave ctx.set_materialize_grads at True",
                ) from error
            for (i, _), value in found:
                if value is not None and not np.all(_values(value) == 0):
                    raise GradcheckError(
                        f"gradcheck: an undefined gradient of an output gives input {i} a gradient that is not zero",
                        got=f"outputs without one: {sorted(missing)}; {describe(value)}",
                        hint="an undefined gradient counts as zero",
                    )

    def check_batched(self, o: int, output: Tensor) -> None:
        """Many backward passes at once agree with one after the other."""
        rng = np.random.default_rng(0)
        count = 5
        values = rng.standard_normal((count, *output._sizes))
        vectors = _tensor(values + 1j * values[::-1] if output._dtype.is_complex else values, output)
        single = [self.raw([output], [ops.aten.select.int(vectors, 0, k)]) for k in range(count)]
        together = grad(
            output, [t for _, t in self.targets], vectors, retain_graph=True, allow_unused=True, is_grads_batched=True
        )
        for position, ((i, _), found) in enumerate(zip(self.targets, together, strict=True)):
            for k in range(count):
                alone = single[k][position][1]
                if alone is None and found is None:
                    continue
                mine = None if found is None else _values(ops.aten.select.int(found, 0, k))
                expected = np.zeros_like(mine) if alone is None else _values(alone)
                if not _close(np.zeros_like(expected) if mine is None else mine, expected, self.rtol, self.atol):
                    raise GradcheckError(
                        f"gradcheck: a batch of backward passes of output {o} gives input {i} another gradient",
                        got=f"alone: {expected}\nin a batch: {mine}",
                    )

    # ---- Jacobians -------------------------------------------------------------------------------------------------

    def raw(
        self, outputs: Sequence[Tensor], vectors: Sequence[Tensor]
    ) -> list[tuple[tuple[int, Tensor], Tensor | None]]:
        """The gradient of each input."""
        wanted = [t for _, t in self.targets]
        found = grad(outputs, wanted, vectors, retain_graph=True, allow_unused=True)
        return list(zip(self.targets, found, strict=True))

    def gradients(self, o: int, output: Tensor, vector: Arrays) -> list[Arrays]:
        """The gradient of each input as flat values, zeros where there is none."""
        found = []
        for (i, t), gradient in self.raw([output], [_tensor(vector.reshape(output._sizes), output)]):
            if gradient is None:
                found.append(np.zeros(t.numel(), t._dtype.numpy))
                continue
            if gradient._sizes != t._sizes:
                raise GradcheckError(
                    f"gradcheck: the gradient of input {i} from output {o} has another shape",
                    got=f"{describe(gradient)} for {describe(t)}",
                )
            if self.check_dtypes and gradient._dtype is not t._dtype:
                raise GradcheckError(
                    f"gradcheck: the gradient of input {i} from output {o} has another dtype",
                    got=f"{describe(gradient)} for {describe(t)}",
                )
            found.append(_values(gradient))
        return found

    def analytical(self, o: int, output: Tensor) -> list[Arrays]:
        """The Jacobian of one output with respect to each input."""
        columns = []
        for k in range(output.numel()):
            unit = np.zeros(output.numel())
            unit[k] = 1
            columns.append(self.gradients(o, output, unit))
        return [
            np.stack([column[place] for column in columns], 1) if columns else np.zeros((t.numel(), 0))
            for place, (_, t) in enumerate(self.targets)
        ]

    def numerical(self, part: _Part) -> list[list[Arrays]]:
        """For each input, the Jacobian of each output."""
        sizes = [t.numel() for _, t in part.pick(self.func(*self.inputs))]
        found = []
        for _, t in self.targets:
            kind = np.complex128 if t._dtype.is_complex else np.float64
            jacobians = [np.zeros((t.numel(), size), kind) for size in sizes]
            for index, unit in _directions(t):
                columns = self.differences(lambda found: [x for _, x in part.pick(found)], t, index, unit)
                for jacobian, column in zip(jacobians, columns, strict=True):
                    jacobian[index] += column * unit
            found.append(jacobians)
        return found

    def differences(
        self, pick: Callable[[Any], Sequence[Tensor]], t: Tensor, index: int | None, step: Any
    ) -> list[Arrays]:
        """The central difference of the outputs along a step of one element, or of all of them (index None)."""
        array = t._array
        place: Any = ... if index is None else np.unravel_index(index, t._sizes)
        before = array[place].copy()
        if index is None:
            step = t._device.xp.asarray(np.asarray(step).reshape(t._sizes))
        sides = []
        try:
            for sign in (1, -1):
                array[place] = before + sign * self.eps * step
                sides.append([_values(x) for x in pick(self.func(*self.inputs))])
        finally:
            array[place] = before
        if [x.shape for x in sides[0]] != [x.shape for x in sides[1]]:
            raise GradcheckError(
                "gradcheck: the outputs change their number or shape with a small step",
                got=f"{[x.shape for x in sides[0]]} and {[x.shape for x in sides[1]]} elements",
            )
        return [(up - down) / (2 * self.eps) for up, down in zip(*sides, strict=True)]


def _floating(found: Any) -> list[Tensor]:
    """The outputs that could have had a gradient."""
    return [t for t in _listed(found) if isinstance(t, Tensor) and t._dtype.kind in "fc"]


def _directions(t: Tensor) -> Iterator[tuple[int, complex]]:
    """Every element with a unit step along each axis of its number plane."""
    for index in range(t.numel()):
        yield index, 1.0
        if t._dtype.is_complex:
            yield index, 1j


def _random(rng: np.random.Generator, t: Tensor) -> Arrays:
    """A random vector of length one."""
    values = rng.standard_normal(t.numel())
    if t._dtype.is_complex:
        values = values + 1j * rng.standard_normal(t.numel())
    return values / max(float(np.linalg.norm(values)), 1e-300)


def _close(mine: Arrays, expected: Arrays, rtol: float, atol: float) -> bool:
    return mine.shape == expected.shape and np.allclose(mine, expected, rtol=rtol, atol=atol)


def _hint(mine: Arrays, expected: Arrays) -> str | None:
    """What the pattern of the differences tells."""
    if mine.shape == expected.shape and not mine.any():
        return "backward gives zeros: is the input used outside of what is recorded?"
    if mine.shape == expected.shape and mine.size and np.allclose(mine.conj(), expected, rtol=1e-3, atol=1e-5):
        return "they are conjugates of each other: backward of a complex function multiplies with the conjugate"
    return None
