"""Adam and its kin: steps by running means of gradients and of their squares."""

from __future__ import annotations

from typing import Any

from opweave.optim.optimizer import (
    Optimizer,
    Params,
    add_ratio_,
    add_scaled_,
    check,
    check_betas,
    count,
    decayed,
    hints,
    keep,
    number,
    root,
    squares_,
    unsaved,
    zeros,
)
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

aten = ops.aten


class Adam(Optimizer):
    """Steps by the running mean of gradients over the root of that of squares (Kingma & Ba 2015).

    Parameters
    ----------
    params : iterable
        Parameters or groups.
    lr : float or Tensor
        Learning rate; a tensor where `step` is compiled and it changes.
    betas : tuple of float
        Factors of the running means.
    eps : float
        Added to the root.
    weight_decay : float
        Factor of the parameters in the gradient.
    amsgrad : bool
        Divide by the largest mean of squares so far (Reddi et al. 2018).
    maximize : bool
        Climb.
    capturable : bool
        Keep the count of steps in its tensor.
    decoupled_weight_decay : bool
        Let the parameters decay by themselves, as `AdamW` does.
    differentiable : bool
        Whether steps are recorded: parameters may be computed from others, and gradients go through the steps.
    foreach, fused
        For the signature's sake.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        check_betas(betas)
        more = hints(foreach, fused, differentiable)
        super().__init__(
            params,
            {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
             "maximize": maximize, "capturable": capturable, **more,
             "decoupled_weight_decay": decoupled_weight_decay},
        )  # fmt: skip

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The running means."""
        kept.update(step=count(parameter), exp_avg=zeros(parameter), exp_avg_sq=zeros(parameter))
        if group["amsgrad"]:
            kept["max_exp_avg_sq"] = zeros(parameter)

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        (first, second), decay = group["betas"], group["weight_decay"]
        lr = number(group["lr"], group["capturable"])
        mean, square = kept["exp_avg"], kept["exp_avg_sq"]
        kept["step"].add_(1)
        if decay != 0:
            if group["decoupled_weight_decay"]:
                parameter.mul_(1 - lr * decay)
            else:
                grad = decayed(parameter, grad, decay)
        mean.lerp_(grad, 1 - first)
        squares_(square, grad, second)
        step = number(kept["step"], group["capturable"])
        if group["amsgrad"]:
            square = keep(kept, "max_exp_avg_sq", kept["max_exp_avg_sq"].maximum(square))
        under = (square.sqrt() / root(1 - second**step)).add_(group["eps"])
        add_ratio_(parameter, mean, under, -(lr / (1 - first**step)))


class AdamW(Adam):
    """Adam whose weights decay by themselves (Loshchilov & Hutter 2019); parameters as of `Adam`.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.AdamW([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip


class Adamax(Optimizer):
    """Adam by the largest gradient of late rather than by squares (Kingma & Ba 2015); parameters as of `Adam`.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        check_betas(betas)
        more = hints(foreach, None, differentiable)
        del more["fused"]
        super().__init__(
            params,
            {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
             "capturable": capturable, **more},
        )  # fmt: skip

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The running mean and the largest gradient."""
        kept.update(step=count(parameter), exp_avg=zeros(parameter), exp_inf=zeros(parameter))

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        first, second = group["betas"]
        kept["step"].add_(1)
        grad = decayed(parameter, grad, group["weight_decay"])
        kept["exp_avg"].lerp_(grad, 1 - first)
        fallen = kept["exp_inf"].mul_(second)
        largest = keep(kept, "exp_inf", fallen.maximum(grad.abs().add_(group["eps"])))
        step = number(kept["step"], group["capturable"])
        rate = number(group["lr"], group["capturable"]) / (1 - first**step)
        add_ratio_(parameter, kept["exp_avg"], largest, -rate)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016); parameters as of `Adam`, and `momentum_decay`.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay, momentum_decay_value=momentum_decay)
        check_betas(betas)
        more = hints(foreach, None, differentiable)
        del more["fused"]
        super().__init__(
            params,
            {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
             "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "capturable": capturable, **more},
        )  # fmt: skip

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The running means, and the product of momenta."""
        kept["step"] = count(parameter)
        kept["mu_product"] = aten.ones.default([], device=parameter._device)
        kept.update(exp_avg=zeros(parameter), exp_avg_sq=zeros(parameter))

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        (first, second), decay, capturable = group["betas"], group["weight_decay"], group["capturable"]
        lr = number(group["lr"], capturable)
        kept["step"].add_(1)
        step = number(kept["step"], capturable)
        if decay != 0:
            if group["decoupled_weight_decay"]:
                parameter.mul_(1 - lr * decay)
            else:
                grad = decayed(parameter, grad, decay)
        falls = group["momentum_decay"]
        now = first * (1.0 - 0.5 * (0.96 ** (step * falls)))
        after = first * (1.0 - 0.5 * (0.96 ** ((step + 1) * falls)))
        kept["mu_product"].mul_(now)
        kept["exp_avg"].lerp_(grad, 1 - first)
        squares_(kept["exp_avg_sq"], grad, second)
        under = unsaved((kept["exp_avg_sq"] / (1 - second**step)).sqrt_()).add_(group["eps"])
        product = number(kept["mu_product"], capturable)
        add_ratio_(parameter, grad, under, -lr * (1.0 - now) / (1.0 - product))
        add_ratio_(parameter, kept["exp_avg"], under, (-lr * after) / (1.0 - product * after))


class RAdam(Optimizer):
    """Adam that waits until the variance of its steps is known (Liu et al. 2020); parameters as of `Adam`.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> optimizer = opweave.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        check_betas(betas)
        more = hints(foreach, None, differentiable)
        del more["fused"]
        super().__init__(
            params,
            {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
             "capturable": capturable, **more, "decoupled_weight_decay": decoupled_weight_decay},
        )  # fmt: skip

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """The running means."""
        kept.update(step=count(parameter), exp_avg=zeros(parameter), exp_avg_sq=zeros(parameter))

    def update(self, parameter: Any, grad: Any, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """One step."""
        (first, second), decay, capturable = group["betas"], group["weight_decay"], group["capturable"]
        lr = number(group["lr"], capturable)
        kept["step"].add_(1)
        step = number(kept["step"], capturable)
        if decay != 0:
            if group["decoupled_weight_decay"]:
                parameter.mul_(1 - lr * decay)
            else:
                grad = decayed(parameter, grad, decay)
        kept["exp_avg"].lerp_(grad, 1 - first)
        squares_(kept["exp_avg_sq"], grad, second)
        mean = kept["exp_avg"] / (1 - first**step) * lr
        most = 2 / (1 - second) - 1
        length = most - 2 * step * (second**step) / (1 - second**step)
        rooted = root(1 - second**step)

        def rectified() -> Any:
            under = unsaved(kept["exp_avg_sq"].sqrt()).add_(group["eps"])
            ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            return mean / (under / rooted) * root(ratio)

        if isinstance(length, Tensor):
            found = aten.where.self(length > 5.0, rectified(), mean)
        else:
            found = rectified() if length > 5.0 else mean
        add_scaled_(parameter, found, -1.0)
