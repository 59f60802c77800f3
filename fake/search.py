"""Decisions on numbers that depend on data, inside of ops: settled by trying both answers.

A rule is plain code: `if size != other: raise ShapeError(...)`. Where the size depends on data, the condition has no
answer while tracing. What it means shows when the rule is run with either one:

    one answer ends in an error           a precondition: the other one is demanded, and verified when the trace runs
    both give results that look alike     a choice of layout: the answer for sizes of 2 and more is as good as any
    both give results, and they differ    the trace would have to know: `DataDependentError`

A question on a single size and 0 or 1 has an answer to begin with, that for larger sizes; it is demanded where the
other one ends in an error or in other sizes. Rules and the bodies of composite ops are tried on fake tensors, in
branches of the `ShapeEnv` that leave no mark; then they run once more, with the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opweave.fake.symbolic import SymBool, SymNumber
from opweave.registry.autograd.mode import no_grad
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import DataDependentError, OpweaveError, ShapeError
from opweave.registry.kernels import settle_composite
from opweave.registry.keys import state
from opweave.registry.nested import leaves
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.symbolic import is_open
from opweave.registry.tensor import Tensor

if TYPE_CHECKING:
    from opweave.fake.shape_env import ShapeEnv

#: How many runs of one rule are tried to find one without an error.
_MOST_RUNS = 64

#: How many decisions of one run may have no likely answer: a loop that counts up to a size on data has no end.
_MOST_OPEN = 16


class Undecided(BaseException):
    """Leaves a rule that needs a decision on data, which is to be searched for."""


@dataclass(slots=True)
class Decision:
    """An answer that a run was given.

    Attributes
    ----------
    expr : sympy relation
        What was asked.
    answer : bool
        What was answered.
    likely : bool or None
        The answer for sizes of 2 and more, where that tells.
    """

    expr: Any
    answer: bool
    likely: bool | None


class Trial:
    """One run of a rule, in a branch of the `ShapeEnv`.

    Parameters
    ----------
    env : ShapeEnv
        Whose decisions it answers.
    answers : list of bool
        To its first decisions; the rest get the likely answer.
    """

    def __init__(self, env: ShapeEnv, answers: list[bool]):
        self.env = env
        self.answers = answers
        self.made: list[Decision] = []
        self.result: Any = None
        self.error: OpweaveError | None = None

    def answer(self, expr: Any, likely: bool | None) -> bool:
        """The answer to a decision; taken for true in the rest of the run, unless it only counts as likely."""
        for made in self.made:
            if made.expr == expr:
                return made.answer
            if made.expr == self.env.negated(expr):
                return not made.answer
        place = len(self.made)
        found = self.answers[place] if place < len(self.answers) else likely
        if found is None:
            if sum(made.likely is None for made in self.made) >= _MOST_OPEN:
                raise self.env.undecidable(expr)
            # Equal sizes fit together; of other questions either answer may be the right one.
            found = not self.env.is_inequality(expr)
        self.made.append(Decision(expr, found, likely))
        if found is not likely:
            self.env.assume_in_branch(expr if found else self.env.negated(expr))
        return found

    @property
    def given(self) -> list[bool]:
        """All answers."""
        return [made.answer for made in self.made]


class Replay:
    """The run that counts: what was found to be demanded is known by now, what remains is answered as it was tried."""

    def __init__(self, made: list[Decision]):
        self.made = {decision.expr: decision.answer for decision in made}

    def answer(self, expr: Any, likely: bool | None) -> bool | None:
        """What the trial answered; None for what it did not ask."""
        return self.made.get(expr, likely)


def settled(env: ShapeEnv, what: str, trial_run: Callable[[], Any], run: Callable[[], Any]) -> Any:
    """What a rule gives, its decisions on data settled.

    Parameters
    ----------
    env : ShapeEnv
        Whose numbers it decides on.
    what : str
        The op, for messages.
    trial_run : callable
        Runs the rule without effects.
    run : callable
        Runs it for good.

    Raises
    ------
    DataDependentError
        If the answers lead to results that differ.
    OpweaveError
        What the rule raises for all answers.
    """
    made, late = _demanded(env, what, trial_run)
    with env.answering(Replay(made)):
        result = run()
    for expr, text in late:
        env.check(SymBool(env, expr), text)
    return result


def _demanded(env: ShapeEnv, what: str, trial_run: Callable[[], Any]) -> tuple[list[Decision], list[tuple[Any, str]]]:
    """Demand what a rule needs, and give its decisions and the demands on numbers that the rule itself makes."""
    while True:
        search = _Search(env, trial_run)
        found = search.first([], likely_only=True) or search.first([], likely_only=False)
        if found is None:
            assert search.error is not None
            raise search.error
        demands = [demand for place in range(len(found.made)) if (demand := _demand(env, what, search, found, place))]
        now = [demand for demand in demands if env.declares(demand[0])]
        for expr, text in now:
            env.check(SymBool(env, expr), text)
        if not now:
            return found.made, demands
        # Who knows more may write sizes in another way, and ask other things.


def _demand(env: ShapeEnv, what: str, search: _Search, found: Trial, place: int) -> tuple[Any, str] | None:
    """What must hold since a decision was answered so, and a text; None if either answer gives the same."""
    decision = found.made[place]
    alike = search.compared([*found.given[:place], not decision.answer], found.result)
    if alike:
        return None
    if alike is None and search.unknown is None:
        assert search.error is not None
        text = f"{search.error.what} (where {env.text(decision.expr)} depends on data)"
    elif decision.likely is None:
        raise search.unknown if alike is None and search.unknown else env.undecidable(decision.expr)
    else:
        text = f"{what}: a size that depends on data is 0 or 1, but was taken for larger"
    return decision.expr if decision.answer else env.negated(decision.expr), text


class _Search:
    def __init__(self, env: ShapeEnv, run: Callable[[], Any]):
        self.env = env
        self.run = run
        #: What the first failing run of the last search raised.
        self.error: OpweaveError | None = None
        #: The first error of its runs that were given up, which says nothing of the answers.
        self.unknown: DataDependentError | None = None

    def first(
        self, answers: list[bool], *, likely_only: bool, look: Callable[[Trial], None] | None = None
    ) -> Trial | None:
        """The first run without an error whose first decisions have these answers; None if there is none.

        Later decisions are turned around: those without a likely answer, the last one first; or all of them, the first
        one first (sizes are compared with each other before they are with 1).
        """
        waiting, runs = [answers], 0
        self.unknown = None
        while waiting and runs < _MOST_RUNS:
            trial = self._tried(waiting.pop(), look)
            if trial.error is None:
                return trial
            if not runs:
                self.error = trial.error
            if isinstance(trial.error, DataDependentError):
                self.unknown = self.unknown or trial.error
            runs += 1
            places = range(len(trial.answers), len(trial.made))
            for place in places if likely_only else reversed(places):
                if trial.made[place].likely is None or not likely_only:
                    waiting.append([*trial.given[:place], not trial.made[place].answer])
        return None

    def compared(self, answers: list[bool], result: Any) -> bool | None:
        """Whether a run with these answers gives what looks like a result; None if there is no run without error."""
        found: list[bool] = []
        trial = self.first(
            answers, likely_only=True, look=lambda trial: found.append(_alike(self.env, trial.result, result))
        )
        return None if trial is None else found[-1]

    def _tried(self, answers: list[bool], look: Callable[[Trial], None] | None) -> Trial:
        trial = Trial(self.env, answers)
        with self.env.branch(), self.env.answering(trial):
            try:
                trial.result = self.run()
            except OpweaveError as error:
                trial.error = error
            except (ArithmeticError, TypeError) as error:  # a remainder by a size of 0, in a branch where it is one
                trial.error = ShapeError(f"{error}")
            else:
                if look is not None:
                    look(trial)
        return trial


def _alike(env: ShapeEnv, one: Any, other: Any) -> bool:
    """Whether two results look the same, as far as is known in this branch."""
    if isinstance(one, (list, tuple)):
        same = isinstance(other, (list, tuple)) and len(one) == len(other)
        return same and all(_alike(env, a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, Tensor):
        if not isinstance(other, Tensor) or one._dtype is not other._dtype or len(one._sizes) != len(other._sizes):
            return False
        if not all(env.equal(a, b) for a, b in zip(one._sizes, other._sizes, strict=True)):
            return False
        if any(env.equal(size, 0) for size in one._sizes) or one._storage is not other._storage:
            # In memory of its own any layout is right; what runs keeps to one.
            return True
        steps = zip(one._sizes, one._strides, other._strides, strict=True)
        return all(env.equal(size, 1) or env.equal(a, b) for size, a, b in steps) and env.equal(
            one._offset, other._offset
        )
    if isinstance(one, SymNumber) or isinstance(other, SymNumber):
        return env.equal(one, other)
    return type(one) is type(other) and one == other


def _with_open_sizes(values: Any) -> Tensor | None:
    """A fake tensor among arguments whose trace has numbers that depend on data, if any argument is made of them."""
    tensors = [t for t in tensors_in(values) if getattr(t, "fake_mode", None) is not None]
    if not tensors or not any(map(_is_open, leaves([*values, *tensors]))):
        return None
    return tensors[0]


def _is_open(value: Any) -> bool:
    if isinstance(value, Tensor):
        return any(is_open(size) for size in value._sizes if type(size) is not int)
    return is_open(value)


def _composite(op: OpOverload, kernel: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The body of a composite op, which is tried on fake tensors alone before the trace records it."""
    given: Any = _with_open_sizes([*args, *kwargs.values()])
    if given is None:
        return kernel(*args, **kwargs)
    mode: Any = given.fake_mode
    env = mode.shape_env
    if env is None or env.trial is not None or op.is_mutable:
        return kernel(*args, **kwargs)

    def trial_run() -> Any:
        modes, real = state.modes, mode.allow_non_fake_inputs
        state.modes, mode.allow_non_fake_inputs = [mode], True
        try:
            with no_grad():
                return kernel(*args, **kwargs)
        finally:
            state.modes, mode.allow_non_fake_inputs = modes, real

    return settled(env, op.opname, trial_run, lambda: kernel(*args, **kwargs))


settle_composite.supply(_composite)
