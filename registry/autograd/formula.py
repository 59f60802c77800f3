"""What an op's declaration says of its gradient.

A formula is a function of the gradient and of whatever it names among its parameters; only that is saved:

    mul.backward(self=lambda grad, other: grad * other, other=lambda grad, self: grad * self)
    exp.backward(self=lambda grad, result: grad * result)

==================  ================================================================================
parameter           what it gets
==================  ================================================================================
`grad`, `grads`     gradient of the first output; of all outputs (None for one that has none)
`needs`             which tensor arguments need a gradient (flat, lists written out)
`result`            the first output; `result1`, `result2` ... the others, `results` all
`<argument>`        the argument's value
`<argument>_spec`   sizes, strides, dtype and device of a tensor argument, without keeping its data
==================  ================================================================================

What a formula gives is summed over broadcast dimensions and cast to the argument's type afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any


class Formula:
    """One function of a derivative.

    Parameters
    ----------
    fn : callable
        See the module's table for its parameters.
    """

    def __init__(self, fn: Callable[..., Any]):
        self.fn = fn

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The function's parameters."""
        code = self.fn.__code__
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class Derivative:
    """The formulas of an op.

    Attributes
    ----------
    by_argument : dict of str to Formula
        Gradient of each tensor argument; one that is missing gets none.
    joint : Formula or None
        Gives the gradients of all tensor arguments together, as a tuple in the schema's order.
    differentiable : tuple of int or None
        Outputs that take part; all with a floating dtype by default.
    """

    __slots__ = ("by_argument", "joint", "differentiable")

    def __init__(
        self,
        by_argument: dict[str, Formula],
        joint: Formula | None = None,
        differentiable: tuple[int, ...] | None = None,
    ):
        self.by_argument = by_argument
        self.joint = joint
        self.differentiable = differentiable


#: The derivative of an op whose results do not depend on its inputs in a differentiable way.
NOT_DIFFERENTIABLE = Derivative({}, None, ())
