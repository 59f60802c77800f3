"""`HigherOrderOperator`: an op whose operands include kernels or graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.kernels import Kernel
from opweave.registry.keys import PYTHON_BIT, state
from opweave.registry.op import lock, registry
from opweave.registry.python_dispatch import python_dispatch, tensors_in


class HigherOrderOperator:
    """An op whose operands include kernels or graphs. Modes see it like any op.

    Parameters
    ----------
    name : str
        Name under `ops.`.
    kernel : callable
        What runs when no mode is active.
    is_mutable : bool
        Whether it writes to its operands.
    is_pure : bool
        Whether it computes its results and does nothing else.
    writes_copies : bool
        Whether it runs a mutation on copies of its operands.

    Examples
    --------
    >>> traced = opweave.make_fx(lambda x: opweave.cond(x.sum() > 0, opweave.sin, opweave.cos, (x,)))(opweave.ones(2))
    >>> [node.name for node in traced.graph.nodes if isinstance(node.target, opweave.HigherOrderOperator)]
    ['cond']
    """

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        *,
        is_mutable: bool = False,
        is_pure: bool = False,
        writes_copies: bool = False,
    ):
        self.name = name
        self.__name__ = name
        self.kernel = kernel
        self.is_mutable = is_mutable
        self.is_pure = is_pure
        self.writes_copies = writes_copies
        #: How a particular mode class runs it, as `rule(mode, *args, **kwargs)`.
        self.mode_rules: dict[type, Kernel] = {}
        with lock:
            registry.higher_order[name] = self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if state.modes or any(t._keys & PYTHON_BIT for t in tensors_in([*args, *kwargs.values()])):
            return python_dispatch(self, args, kwargs)
        return self.kernel(*args, **kwargs)

    def py_impl(self, mode: type) -> Callable[[Kernel], Kernel]:
        """Register how a mode class (or tensor subclass) runs this op."""

        def register(rule: Kernel) -> Kernel:
            with lock:
                self.mode_rules[mode] = rule
            return rule

        return register

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<HigherOrderOperator {self.name}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_higher_order, (self.name,))

    def __deepcopy__(self, memo: object) -> HigherOrderOperator:
        return self


def _higher_order(name: str) -> HigherOrderOperator:
    return registry.higher_order[name]
