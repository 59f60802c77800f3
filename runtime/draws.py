"""Numbers that Python's `random` and `numpy.random` draw in a compiled function: anew at each call, in their order.

In a trace such a function gives a number that depends on data: what it flows into is recorded, a decision on it is one
on data. Behind it stands an input of the graph, a tensor, which each call makes of what the function itself draws then,
once the guards hold. So the state of the generator moves as it does uncompiled, and a trace leaves it alone.

A name that leads to a drawing function has something else behind it while a trace runs, for the thread that traces.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opweave.fake.symbolic import SymInt, SymNumber
from opweave.registry import forking
from opweave.registry.errors import DataDependentError, UnsupportedError, user_frame
from opweave.registry.interrupts import contextmanager
from opweave.registry.keys import state
from opweave.registry.tensor import Tensor
from opweave.runtime.guards import GuardSet
from opweave.runtime.sources import TensorInput, brief

#: Functions that draw, of the modules by name: those of the class that a generator of one's own has, too.
_NAMES = {
    "random": "random uniform triangular randint randrange getrandbits choice choices sample shuffle gauss "
    "normalvariate lognormvariate expovariate vonmisesvariate gammavariate betavariate paretovariate weibullvariate",
    "numpy.random": "rand randn randint random random_sample uniform normal standard_normal beta binomial chisquare "
    "exponential f gamma geometric gumbel hypergeometric laplace logistic lognormal logseries negative_binomial "
    "noncentral_chisquare noncentral_f pareto poisson power rayleigh standard_cauchy standard_exponential "
    "standard_gamma standard_t triangular vonmises wald weibull zipf",
}
_GENERATORS = {"random": "Random", "numpy.random": "RandomState"}
#: Ints that tensors hold, and what is added to one on the way.
_MOST = 2**62
#: Held while names lead elsewhere, so that one trace at a time has them do so.
_installing = forking.lock()


class _Current(threading.local):
    draws: Draws | None = None


_current = _Current()


class StandIn:
    """Stands for a drawing function while a thread traces; to others it is that function.

    Attributes
    ----------
    function : callable
        The function.
    module, name : str
        Where it is.
    """

    def __init__(self, function: Callable[..., Any], module: str, name: str) -> None:
        self.function, self.module, self.name = function, module, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _current.draws is None:
            return self.function(*args, **kwargs)
        return _current.draws.draw(self, args, kwargs)


@functools.cache
def _functions(module: str) -> dict[int, StandIn]:
    """The drawing functions of a module by identity; the stand-ins keep them alive."""
    space = vars(importlib.import_module(module))
    generator = space[_GENERATORS[module]]
    names = [name for name in _NAMES[module].split() if name in space and hasattr(generator, name)]
    return {id(space[name]): StandIn(space[name], module, name) for name in names}


def drawing(value: Any) -> StandIn | None:
    """What stands for a value in a trace, where that is a function that draws numbers.

    Parameters
    ----------
    value : object
        What a name leads to now.
    """
    if isinstance(value, StandIn):  # of another thread's trace, which is over soon
        return value
    for module in _NAMES:
        if module in sys.modules and (found := _functions(module).get(id(value))) is not None:
            return found
    return None


def settled() -> Any:
    """A block in which names lead to what they lead to while nothing is traced."""
    return _installing


class Draws:
    """What one trace of a function draws.

    Parameters
    ----------
    guards : GuardSet
        Of the function: `guards.draws` has the names that lead to drawing functions.

    Attributes
    ----------
    inputs : list of TensorInput
        Stand for what is drawn, in order.
    """

    def __init__(self, guards: GuardSet) -> None:
        self.guards = guards
        self.inputs: list[TensorInput] = []
        #: The mode that traces the function itself, while it runs.
        self._mode: Any = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Have the names lead to stand-ins for this thread."""
        if not self.guards.draws:
            yield
            return
        with _installing:
            before, _current.draws = _current.draws, self
            try:
                for space, name, stand_in in self.guards.draws:
                    space[name] = stand_in
                yield
            finally:
                for space, name, stand_in in self.guards.draws:
                    if space.get(name) is stand_in:
                        space[name] = stand_in.function
                _current.draws = before

    @contextlib.contextmanager
    def called(self) -> Iterator[None]:
        """The block in which the function itself runs, which each call does from its start to its end."""
        self._mode = state.modes[-1]
        try:
            yield
        finally:
            self._mode = None

    def draw(self, stand_in: StandIn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What stands for a number, or for a list of them."""
        what = f"{stand_in.module}.{stand_in.name}"
        site = user_frame()
        if not state.modes or state.modes[-1] is not self._mode:
            raise DataDependentError(
                f"compile: {what} is called in a part of the function that calls do not run once, in their order",
                got="a branch, the body of a loop, or a way back",
                at=site,
                hint="draw before, and pass the number on",
            )
        given = [_plain(value, what) for value in args]
        named = {name: _plain(value, what) for name, value in kwargs.items()}
        draw = _Draw(stand_in, tuple(given), named)
        example = draw.example()
        draw.dtype = _dtype_of(example, given, what)
        many = isinstance(example, list)
        tensor = draw.tensor(example)
        text = f"{what}()"
        source = self.guards.source(f"{self.guards.constant(draw)}()", text, site)
        self.inputs.append(TensorInput(source, tensor))
        numbers = [tensor[i].item() for i in range(tensor._sizes[0])]
        if not many:
            return numbers[0]
        if stand_in.name == "shuffle":
            args[0][:] = numbers
            return None
        return numbers


class _Draw:
    """One call of a drawing function, made again by each call of what was compiled."""

    dtype: Any = None

    def __init__(self, stand_in: StandIn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.stand_in, self.args, self.kwargs = stand_in, args, kwargs

    def example(self) -> Any:
        """What it may give, of a generator of its own."""
        module = importlib.import_module(self.stand_in.module)
        generator = getattr(module, _GENERATORS[self.stand_in.module])(0)
        return self._of(getattr(generator, self.stand_in.name))

    def _of(self, function: Callable[..., Any]) -> Any:
        if self.stand_in.name != "shuffle":
            return function(*self.args, **self.kwargs)
        items = list(self.args[0])
        function(items)
        return items

    def __call__(self) -> Tensor:
        return self.tensor(self._of(self.stand_in.function))

    def tensor(self, drawn: Any) -> Tensor:
        """What was drawn as an input of the graph."""
        return Tensor._from_array(np.array(drawn if isinstance(drawn, list) else [drawn], self.dtype))


def _plain(value: Any, what: str) -> Any:
    """An argument as it is at each call that the guards let through."""
    if isinstance(value, SymNumber):  # a size, say: it is fixed now; what was drawn before raises
        return int(value) if isinstance(value, SymInt) else float(value)  # type: ignore[arg-type]
    if isinstance(value, (list, tuple)):
        return [_plain(each, what) for each in value]
    if type(value) in (int, float, bool, type(None), range):
        return value
    raise UnsupportedError(
        f"compile: {what} is given what is no number",
        got=brief(value),
        at=user_frame(),
        hint="draw an index outside of the compiled function, and pass what it leads to",
    )


def _dtype_of(example: Any, given: list[Any], what: str) -> Any:
    """Of a tensor that holds what is drawn."""
    kinds = {type(each) for each in (example if isinstance(example, list) else [example])}
    if kinds == {float}:
        return np.float64
    bounds = [each for value in given for each in (value if isinstance(value, (list, range)) else [value])]
    small = all(abs(each) < _MOST for each in bounds if type(each) is int)
    if what == "random.getrandbits":
        small = given[0] < 63
    if kinds <= {int} and small:
        return np.int64
    raise UnsupportedError(
        f"compile: {what} gives what no graph can take as an input",
        got=brief(example),
        at=user_frame(),
        hint="pass it as an argument; a number, or a list of ints or of floats, is drawn anew at each call",
    )
