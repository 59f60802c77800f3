"""Optimizers for matrices: `Adafactor`, which keeps rows and columns of a second moment, and `Muon`."""

from __future__ import annotations

import math
from typing import Any

from opweave.optim.optimizer import Optimizer, Params, add_scaled_, check, count, number, zeros
from opweave.registry.errors import DomainError, UnsupportedError
from opweave.registry.numeric_limits import finfo
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


class Adafactor(Optimizer):
    """Steps by gradients over the root of a second moment, of whose matrices a row and a column is kept.

    After Shazeer & Stern (2018), with PyTorch's `lr` and `eps`: `lr` bounds the relative size of a step and is the
    factor of the decay, and the first `eps` bounds the second moment and not each square.

    Parameters
    ----------
    params : iterable
        Parameters or groups.
    lr : float or Tensor
        Greatest size of a step, beside that of the parameter.
    beta2_decay : float
        Exponent of the count of steps: its power is the weight of new squares.
    eps : tuple of float
        Least root of the second moment (None: that of the dtype), and least size of a parameter.
    d : float
        Updates whose root mean square is greater are scaled down to it.
    weight_decay : float
        Factor, with `lr`, by which parameters decay.
    foreach : bool, optional
        For the signature's sake.
    maximize : bool
        Climb.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2, 2))
    >>> optimizer = opweave.optim.Adafactor([w])
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([[0.9900, 0.9900],
            [0.9900, 0.9900]])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check(learning_rate=lr)
        for wrong, text, value in (
            (beta2_decay > 0.0, "beta2_decay must be at most 0", beta2_decay),
            (eps[0] is not None and not eps[0] >= 0.0, "eps[0] must be at least 0", eps[0]),
            (not eps[1] >= 0.0, "eps[1] must be at least 0", eps[1]),
            (not d >= 1.0, "d, the threshold of clipping, must be at least 1", d),
            (not weight_decay >= 0.0, "weight_decay must be at least 0", weight_decay),
        ):
            if wrong:
                raise DomainError(f"Adafactor: {text}", got=repr(value), hint="leave it out for the usual value")
        super().__init__(
            params,
            {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
             "foreach": foreach, "maximize": maximize},
        )  # fmt: skip

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The second moment: of matrices, means over rows and over columns."""
        _refuse_complex(self, parameter)
        kept["step"] = count(parameter)
        if parameter.dim() > 1:
            sizes = tuple(parameter.shape)
            given: Any = parameter.detach()
            kept["row_var"] = given.new_zeros((*sizes[:-1], 1))
            kept["col_var"] = given.new_zeros((*sizes[:-2], 1, sizes[-1]))
        else:
            kept["variance"] = zeros(parameter)

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        lr, (least_root, least_size), d = number(group["lr"]), group["eps"], group["d"]
        least_root = finfo(parameter.dtype).eps if least_root is None else least_root
        kept["step"].add_(1)
        step = number(kept["step"])
        weight = step ** group["beta2_decay"]
        rate = _least(lr, step**-0.5) * _greatest(least_size, number(parameter.norm(2)) / parameter.numel() ** 0.5)
        if group["weight_decay"] != 0:
            parameter.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            rows, columns = kept["row_var"], kept["col_var"]
            for mean, dim in ((rows, -1), (columns, -2)):
                mean.lerp_(grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim)), weight)
            moment = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least_root))
        else:
            moment = kept["variance"].lerp_(grad * grad, weight).clone()
        step_of = moment.clamp_(min=least_root * least_root).rsqrt_().mul_(grad)
        size = number(step_of.norm(2)) / (step_of.numel() ** 0.5 * d)
        add_scaled_(parameter, step_of, -rate / _greatest(1.0, size))


class Muon(Optimizer):
    """Steps by a matrix near to the orthogonal one that is nearest to the momentum (Jordan 2024); for matrices alone.

    Parameters
    ----------
    params : iterable
        Parameters with two dimensions, or groups of them.
    lr : float or Tensor
        Learning rate.
    weight_decay : float
        Factor, with `lr`, by which parameters decay.
    momentum : float
        Factor of the running mean of gradients.
    nesterov : bool
        Look a step ahead.
    ns_coefficients : tuple of float
        Of the polynomial of fifth degree that is iterated.
    eps : float
        Least norm that is divided by.
    ns_steps : int
        Iterations.
    adjust_lr_fn : str, optional
        How the rate follows from the sizes: `"original"`, or `"match_rms_adamw"`.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2, 2))
    >>> optimizer = opweave.optim.Muon([w], lr=0.1)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> list(optimizer.state[w])
    ['momentum_buffer']
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check(learning_rate=lr, momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise DomainError(
                "Muon: adjust_lr_fn is None, 'original' or 'match_rms_adamw'", got=repr(adjust_lr_fn),
                hint="adjust_lr_fn='match_rms_adamw'",
            )  # fmt: skip
        if ns_steps >= 100 or len(ns_coefficients) != 3:
            raise DomainError(
                "Muon takes fewer than 100 iterations and 3 coefficients",
                got=f"ns_steps={ns_steps}, {len(ns_coefficients)} coefficients", hint="ns_steps=5",
            )  # fmt: skip
        super().__init__(
            params,
            {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
             "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn},
        )  # fmt: skip
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() != 2:
                    raise DomainError(
                        "Muon: a parameter must be a matrix", got=describe(parameter), hint="AdamW takes the others"
                    )

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The running mean."""
        _refuse_complex(self, parameter)
        kept["momentum_buffer"] = zeros(parameter)

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        lr, momentum = number(group["lr"]), group["momentum"]
        mean = kept["momentum_buffer"].lerp_(grad, 1 - momentum)
        ahead = grad.lerp(mean, momentum) if group["nesterov"] else mean
        direction = _orthogonal(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
        parameter.mul_(1 - lr * group["weight_decay"])
        add_scaled_(parameter, direction, -lr * _ratio(group["adjust_lr_fn"], *parameter.shape))


def _orthogonal(matrix: Any, factors: tuple[float, float, float], steps: int, eps: float) -> Any:
    """Newton's and Schulz's iteration, in bfloat16: all singular values come near to 1, none exactly."""
    a, b, c = factors
    stands = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if stands else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = x.addmm(gram.addmm(gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if stands else x


def _ratio(how: str | None, rows: int, columns: int) -> float:
    if how == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _refuse_complex(optimizer: Optimizer, parameter: Tensor) -> None:
    if parameter._dtype.kind == "c":
        raise UnsupportedError(
            f"{type(optimizer).__name__} does not support complex parameters", got=describe(parameter),
            hint="give it opweave.view_as_real(parameter), whose numbers are real",
        )  # fmt: skip


def _least(a: Any, b: Any) -> Any:
    return _ordered(a, b, min, aten.minimum.default)


def _greatest(a: Any, b: Any) -> Any:
    return _ordered(a, b, max, aten.maximum.default)


def _ordered(a: Any, b: Any, of_numbers: Any, of_tensors: Any) -> Any:
    """The lesser or the greater of two numbers, either of which may be a tensor."""
    given = next((each for each in (a, b) if isinstance(each, Tensor)), None)
    if given is None:
        return of_numbers(a, b)
    a, b = (x if isinstance(x, Tensor) else aten.full_like.default(given, x) for x in (a, b))
    return of_tensors(a, b)


class SparseAdam(Optimizer):
    """Adam for gradients that are sparse tensors, of which there are none: `Adam` takes any gradient there is.

    Raises
    ------
    UnsupportedError
        Always.

    Examples
    --------
    >>> try:
    ...     opweave.optim.SparseAdam([opweave.nn.Parameter(opweave.ones(2))])
    ... except Exception as error:
    ...     print(error.what)
    SparseAdam: there are no sparse tensors, and so no sparse gradients
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        raise UnsupportedError(
            "SparseAdam: there are no sparse tensors, and so no sparse gradients",
            hint="opweave.optim.Adam takes the gradients of nn.Embedding",
        )
