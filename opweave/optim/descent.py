"""Gradient descent, with momentum or with steps by the size of past gradients."""

from __future__ import annotations

from typing import Any

from opweave.optim.optimizer import (
    Optimizer,
    Params,
    add_ratio_,
    add_scaled_,
    as_real,
    check,
    count,
    decayed,
    hints,
    number,
    squares_,
    unsaved,
    zeros,
)
from opweave.registry.errors import DomainError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

aten = ops.aten


class SGD(Optimizer):
    """Gradient descent (Sutskever et al. 2013 for the momentum).

    Parameters
    ----------
    params : iterable
        Parameters or groups.
    lr : float or Tensor
        Learning rate.
    momentum, dampening : float
        Part of the last velocity that is kept, and of the gradient that is not added to it.
    weight_decay : float
        Factor of the parameters in the gradient.
    nesterov : bool
        Whether the gradient is added once more.
    maximize : bool
        Climb.
    differentiable : bool
        Whether steps are recorded: parameters may be computed from others, and gradients go through the steps.
    foreach, fused
        For the signature's sake.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check(learning_rate=lr, momentum_value=momentum, weight_decay_value=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise DomainError(
                "Nesterov momentum requires a momentum and zero dampening",
                got=f"momentum={momentum}, dampening={dampening}",
                hint="SGD(params, lr, momentum=0.9, nesterov=True)",
            )
        more = hints(foreach, fused, differentiable)
        super().__init__(
            params,
            {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
             "nesterov": nesterov, "maximize": maximize, **more},
        )  # fmt: skip

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The velocity, where there is a momentum; zeros where the first one would be the gradient anyway."""
        if group["momentum"] != 0:
            kept["momentum_buffer"] = zeros(parameter) if group["dampening"] == 0 else None

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        lr, momentum = number(group["lr"]), group["momentum"]
        grad = decayed(parameter, grad, group["weight_decay"])
        if momentum != 0:
            velocity = kept.get("momentum_buffer")
            if velocity is None:
                velocity = kept["momentum_buffer"] = grad.clone()
            else:
                velocity.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(velocity, alpha=momentum) if group["nesterov"] else velocity
        add_scaled_(parameter, grad, -lr)


class Adagrad(Optimizer):
    """Steps over the root of the sum of squares of all gradients (Duchi et al. 2011).

    Parameters
    ----------
    params : iterable
        Parameters or groups.
    lr : float or Tensor
        Learning rate.
    lr_decay : float
        How it falls with the number of steps.
    weight_decay : float
        Factor of the parameters in the gradient.
    initial_accumulator_value : float
        What the sums start from.
    eps : float
        Added to the root.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check(
            learning_rate=lr, lr_decay_value=lr_decay, weight_decay_value=weight_decay, epsilon_value=eps,
            initial_accumulator_value_value=initial_accumulator_value,
        )  # fmt: skip
        more = hints(foreach, fused, differentiable)
        super().__init__(
            params,
            {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
             "initial_accumulator_value": initial_accumulator_value, "maximize": maximize, **more},
        )  # fmt: skip
        self.init_state()

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The sums, which are there from the start."""
        kept["step"] = count(parameter)
        first = group["initial_accumulator_value"]
        kept["sum"] = aten.full_like.default(
            parameter.detach(), complex(first, first) if parameter._dtype.kind == "c" else first
        )

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        kept["step"].add_(1)
        grad = decayed(parameter, grad, group["weight_decay"])
        rate = number(group["lr"]) / (1 + (number(kept["step"]) - 1) * group["lr_decay"])
        kept["sum"].addcmul_(grad, grad, value=1)
        add_ratio_(parameter, grad, unsaved(kept["sum"].sqrt()).add_(group["eps"]), -rate)


class RMSprop(Optimizer):
    """Steps over the root of a running mean of squares of gradients (Tieleman & Hinton 2012).

    Parameters
    ----------
    params : iterable
        Parameters or groups.
    lr : float or Tensor
        Learning rate.
    alpha : float
        Factor of the running mean.
    eps : float
        Added to the root.
    weight_decay : float
        Factor of the parameters in the gradient.
    momentum : float
        Part of the last step that is made again.
    centered : bool
        Divide by the root of the variance instead.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.RMSprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(
            learning_rate=lr, epsilon_value=eps, momentum_value=momentum, weight_decay_value=weight_decay,
            alpha_value=alpha,
        )  # fmt: skip
        more = hints(foreach, None, differentiable)
        del more["fused"]
        super().__init__(
            params,
            {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
             "weight_decay": weight_decay, "capturable": capturable, "maximize": maximize, **more},
        )  # fmt: skip

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The running means."""
        kept["step"] = count(parameter)
        kept["square_avg"] = zeros(parameter)
        if group["momentum"] > 0:
            kept["momentum_buffer"] = zeros(parameter)
        if group["centered"]:
            kept["grad_avg"] = zeros(parameter)

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        alpha, lr = group["alpha"], number(group["lr"], group["capturable"])
        kept["step"].add_(1)
        grad = decayed(parameter, grad, group["weight_decay"])
        square = kept["square_avg"]
        squares_(square, grad, alpha)
        if group["centered"]:
            mean = kept["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            under = square.addcmul(mean, mean, value=-1).sqrt_()
        else:
            under = square.sqrt()
        under = unsaved(under).add_(group["eps"])
        if group["momentum"] > 0:
            velocity = kept["momentum_buffer"]
            velocity.mul_(group["momentum"]).addcdiv_(grad, under)
            add_scaled_(parameter, velocity, -lr)
        else:
            add_ratio_(parameter, grad, under, -lr)


class Adadelta(Optimizer):
    """Steps whose size follows that of past steps (Zeiler 2012).

    Parameters
    ----------
    params : iterable
        Parameters or groups.
    lr : float or Tensor
        Factor of the steps.
    rho : float
        Factor of the running means.
    eps : float
        Added under the roots.
    weight_decay : float
        Factor of the parameters in the gradient.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.Adadelta([w], lr=1.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise DomainError(f"Invalid rho value: {rho}", got=f"rho={rho}", hint="it is in [0, 1]")
        more = hints(foreach, None, differentiable)
        del more["fused"]
        super().__init__(
            params,
            {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
             "capturable": capturable, **more},
        )  # fmt: skip

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The running means."""
        kept.update(step=count(parameter), square_avg=zeros(parameter), acc_delta=zeros(parameter))

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        rho, eps = group["rho"], group["eps"]
        kept["step"].add_(1)
        grad = decayed(parameter, grad, group["weight_decay"])
        squares_(kept["square_avg"], grad, rho)
        std = kept["square_avg"].add(eps).sqrt_()
        delta = kept["acc_delta"].add(eps).sqrt_()
        delta = unsaved(delta).div_(std).mul_(grad)
        squares_(kept["acc_delta"], delta, rho)
        add_scaled_(parameter, delta, -number(group["lr"], group["capturable"]))


class Rprop(Optimizer):
    """Steps of each element by the sign of its gradient, larger while that stays (Riedmiller & Braun 1993).

    Parameters
    ----------
    params : iterable
        Parameters or groups.
    lr : float or Tensor
        Size of the first steps.
    etas : tuple of float
        Factors of a step where the sign changed, and where it did not.
    step_sizes : tuple of float
        The least and the largest step.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(learning_rate=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise DomainError(
                f"Invalid eta values: {etas[0]}, {etas[1]}",
                got=f"etas={etas}",
                hint="(0.5, 1.2): the first is between 0 and 1, the second above 1",
            )
        more = hints(foreach, None, differentiable)
        del more["fused"]
        super().__init__(
            params,
            {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize, "capturable": capturable, **more},
        )

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The last gradient, and the size of the next steps."""
        lr = number(group["lr"])
        first = complex(lr, lr) if parameter._dtype.kind == "c" else lr
        kept.update(step=count(parameter), prev=zeros(parameter))
        kept["step_size"] = aten.full_like.default(parameter.detach(), first)

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        (shrink, grow), (least, largest) = group["etas"], group["step_sizes"]
        kept["step"].add_(1)
        before, size = as_real(kept["prev"]), as_real(kept["step_size"])
        grad, parameter = as_real(grad), as_real(parameter)
        agreement = grad * before
        factor = aten.where.ScalarOther(agreement > 0, aten.full_like.default(size, grow), 1.0)
        factor = aten.where.ScalarSelf(agreement < 0, shrink, factor)
        size.mul_(factor).clamp_(least, largest)
        # Where the sign changed, no step is made, and the next one counts as the first.
        grad = aten.where.ScalarSelf(agreement < 0, 0.0, grad)
        parameter.addcmul_(grad.sign(), size, value=-1)
        before.copy_(grad)


class ASGD(Optimizer):
    """Gradient descent that averages the parameters from some step on (Polyak & Juditsky 1992).

    Parameters
    ----------
    params : iterable
        Parameters or groups.
    lr : float or Tensor
        Learning rate.
    lambd : float
        How fast parameters and steps decay.
    alpha : float
        Power of the decay of steps.
    t0 : float
        The step from which on is averaged; the mean is `state[p]["ax"]`.
    weight_decay : float
        Factor of the parameters in the gradient.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check(learning_rate=lr, weight_decay_value=weight_decay)
        more = hints(foreach, None, differentiable)
        del more["fused"]
        super().__init__(
            params,
            {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize,
             "capturable": capturable, **more},
        )  # fmt: skip

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The mean, the size of the next step, and the weight of the next parameters in the mean."""
        kept.update(step=count(parameter), eta=count(parameter), mu=count(parameter), ax=zeros(parameter))
        kept["eta"].add_(group["lr"])
        kept["mu"].add_(1)

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        lambd, capturable = group["lambd"], group["capturable"]
        kept["step"].add_(1)
        grad = decayed(parameter, grad, group["weight_decay"])
        eta, weight = number(kept["eta"], capturable), number(kept["mu"], capturable)
        parameter.mul_(1 - lambd * eta)
        add_scaled_(parameter, grad, -eta)
        kept["ax"].add_((parameter - kept["ax"]) * weight)
        step, lr = number(kept["step"], capturable), number(group["lr"], capturable)
        kept["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        late = step - group["t0"]
        kept["mu"].fill_(1 / (late.clamp(min=1) if isinstance(late, Tensor) else max(1, late)))
