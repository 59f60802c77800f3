"""Linear maps."""

from __future__ import annotations

import math
from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules.lazy import SizedByInput
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import DomainError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


def empty(*sizes: int, device: Any = None, dtype: Any = None) -> Parameter:
    """A parameter whose elements are still to be written."""
    return Parameter(aten.empty.memory_format(list(sizes), device=device, dtype=dtype))


class Identity(Module):
    """What it is given; takes and ignores any arguments.

    Examples
    --------
    >>> opweave.nn.Identity()(opweave.tensor([1.0]))
    tensor([1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """x · weightᵀ + bias.

    Parameters
    ----------
    in_features, out_features : int
        Sizes of the last dimension before and after.
    bias : bool
        Whether something is added.

    Attributes
    ----------
    weight : Parameter
        (out_features, in_features), uniform within ±1 / sqrt(in_features) at first.
    bias : Parameter or None
        (out_features,), likewise.

    Examples
    --------
    >>> opweave.nn.Linear(2, 3)(opweave.ones(1, 2)).shape
    opweave.Size([1, 3])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = empty(out_features, in_features, device=device, dtype=dtype)
        self.register_parameter("bias", empty(out_features, device=device, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class LazyLinear(SizedByInput, Linear):
    """A `Linear` whose `in_features` are those of what it is first called with.

    Parameters
    ----------
    out_features : int
        Size of the last dimension after.
    bias : bool
        Whether something is added.

    Examples
    --------
    >>> linear = opweave.nn.LazyLinear(3)
    >>> linear(opweave.ones(1, 2)).shape
    opweave.Size([1, 3])
    >>> linear
    Linear(in_features=2, out_features=3, bias=True)
    """

    cls_to_become = Linear
    _counted = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._give_parameters(bias, device, dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the size of the last dimension."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                weight, bias = self._lazy()
                weight.materialize((self.out_features, self.in_features))
                if bias is not None:
                    bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # sizes are a state dict's
            if input.shape[-1] != self.weight.shape[-1]:
                raise ShapeError(
                    f"LazyLinear: the weight that was loaded is for {self.weight.shape[-1]} features",
                    got=describe([input, self.weight]),
                )
            self.in_features = input.shape[-1]


class NonDynamicallyQuantizableLinear(Linear):
    """The `Linear` of the output of attention, under the name that checkpoints' tools look for."""


class Bilinear(Module):
    """x1ᵀ W x2 + b for each output.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
        Sizes of the last dimensions.
    bias : bool
        Whether something is added.

    Examples
    --------
    >>> opweave.nn.Bilinear(2, 3, 4)(opweave.ones(1, 2), opweave.ones(1, 3)).shape
    opweave.Size([1, 4])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in1_features <= 0:
            raise DomainError(
                f"in1_features must be > 0, but got {in1_features}",
                got=f"in1_features={in1_features}",
                hint="nn.Bilinear(in1_features, in2_features, out_features)",
            )
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = empty(out_features, in1_features, in2_features, device=device, dtype=dtype)
        self.register_parameter("bias", empty(out_features, device=device, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.weight._sizes[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """(..., in1_features) and (..., in2_features) to (..., out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
