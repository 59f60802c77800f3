"""Averages of weights over training: of all of them alike (SWA), or with weights that decay (EMA); as in PyTorch.

averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
for x, y in loader:
    ...
    optimizer.step()
    averaged.update_parameters(model)
update_bn(loader, averaged)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

from opweave.nn.modules.batchnorm import _BatchNorm
from opweave.nn.modules.module import Module
from opweave.optim.optimizer import Optimizer
from opweave.optim.scheduling import LRScheduler
from opweave.registry.autograd.mode import no_grad
from opweave.registry.dtypes import int64
from opweave.registry.errors import DTypeError
from opweave.registry.op import ops

aten = ops.aten
Average = Callable[[Any, Any, Any], Any]
Averages = Callable[[list[Any], list[Any], Any], None]

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """What moves averages a part of the way to the weights, in place.

    Parameters
    ----------
    decay : float
        What is left of the average, in [0, 1].

    Returns
    -------
    callable
        `(averages, weights, number of models so far)`, with lists of tensors.

    Examples
    --------
    >>> average = opweave.zeros(2)
    >>> opweave.optim.swa_utils.get_ema_multi_avg_fn(0.75)([average], [opweave.ones(2)], 1)
    >>> average
    tensor([0.2500, 0.2500])
    """
    _check_decay(decay)

    @no_grad()
    def update(averages: list[Any], weights: list[Any], count: Any) -> None:
        for average, weight in zip(averages, weights, strict=True):
            if average._dtype.kind in "fc":
                average.lerp_(weight, 1 - decay)
            else:
                average.copy_(average * decay + weight * (1 - decay))

    return update


def get_swa_multi_avg_fn() -> Averages:
    """What takes one more model into averages in which all have the same weight, in place.

    Returns
    -------
    callable
        `(averages, weights, number of models so far)`, with lists of tensors.

    Examples
    --------
    >>> average = opweave.zeros(2)
    >>> opweave.optim.swa_utils.get_swa_multi_avg_fn()([average], [opweave.ones(2)], 3)
    >>> average
    tensor([0.2500, 0.2500])
    """

    @no_grad()
    def update(averages: list[Any], weights: list[Any], count: Any) -> None:
        for average, weight in zip(averages, weights, strict=True):
            if average._dtype.kind in "fc":
                average.lerp_(weight, 1 / (float(count) + 1))
            else:
                raise DTypeError(
                    "a mean of whole numbers is not written into whole numbers",
                    got=average._dtype.name, hint="pass avg_fn, which says how they are rounded",
                )  # fmt: skip

    return update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The same as `get_ema_multi_avg_fn` for one tensor, as a new one.

    Parameters
    ----------
    decay : float
        What is left of the average, in [0, 1].

    Examples
    --------
    >>> opweave.optim.swa_utils.get_ema_avg_fn(0.75)(opweave.zeros(2), opweave.ones(2), 1)
    tensor([0.2500, 0.2500])
    """
    _check_decay(decay)

    @no_grad()
    def update(average: Any, weight: Any, count: Any) -> Any:
        return decay * average + (1 - decay) * weight

    return update


def get_swa_avg_fn() -> Average:
    """The same as `get_swa_multi_avg_fn` for one tensor, as a new one.

    Examples
    --------
    >>> opweave.optim.swa_utils.get_swa_avg_fn()(opweave.zeros(2), opweave.ones(2), 3)
    tensor([0.2500, 0.2500])
    """

    @no_grad()
    def update(average: Any, weight: Any, count: Any) -> Any:
        return average + (weight - average) / (count + 1)

    return update


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"decay must lie in [0, 1], got {decay}")


class AveragedModel(Module):
    """A copy of a model whose weights are averages of those that the model had.

    Parameters
    ----------
    model : Module
        What is copied.
    device : Device or str, optional
        Where the copy lies.
    avg_fn : callable, optional
        `(average, weight, number of models so far) -> average`; else all models count alike.
    multi_avg_fn : callable, optional
        The same in place, for lists of tensors.
    use_buffers : bool
        Whether buffers are averaged, too; else they are those of the model.

    Attributes
    ----------
    module : Module
        The copy.
    n_averaged : Tensor
        How many models it is the average of.

    Examples
    --------
    >>> model = opweave.nn.Linear(2, 1)
    >>> averaged = opweave.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged
    tensor(1)
    """

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", aten.zeros.default([], dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the weights that a model has now into the averages; the first ones are taken over."""
        averages, weights = list(self.module.parameters()), list(model.parameters())
        buffers = list(zip(self.module.buffers(), model.buffers(), strict=True))
        if self.use_buffers:
            averages += [average for average, _ in buffers]
            weights += [weight for _, weight in buffers]
        pairs: list[tuple[Any, Any]] = [
            (average.detach(), weight.detach().to(average.device))
            for average, weight in zip(averages, weights, strict=True)
        ]
        if bool(self.n_averaged == 0):
            for average, weight in pairs:
                average.copy_(weight)
        else:
            self._average(pairs)
        if not self.use_buffers:
            for mine, given in buffers:
                mine.detach().copy_(given.detach().to(mine.device))
        self.n_averaged.add_(1)

    def _average(self, pairs: list[tuple[Any, Any]]) -> None:
        if self.multi_avg_fn is None:
            average_of = self.avg_fn or get_swa_avg_fn()
            for average, weight in pairs:
                average.copy_(average_of(average, weight, self.n_averaged.to(average.device)))
            return
        groups: dict[Any, list[tuple[Any, Any]]] = {}
        for pair in pairs:
            groups.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
        for (device, _), group in groups.items():
            averages, weights = [average for average, _ in group], [weight for _, weight in group]
            self.multi_avg_fn(averages, weights, self.n_averaged.to(device))


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the statistics of batch normalization anew, in one pass over data: those of averaged weights are others.

    Parameters
    ----------
    loader : iterable
        Gives tensors, or lists or tuples whose first element is what the model takes.
    model : Module
        Whose `BatchNorm` modules are changed.
    device : Device or str, optional
        Where the data is moved to.

    Examples
    --------
    >>> model = opweave.nn.BatchNorm1d(1)
    >>> opweave.optim.swa_utils.update_bn([opweave.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    found = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not found:
        return
    was_training = model.training
    model.train()
    for module in found:
        module.reset_running_stats()
        module.momentum = None
    for batch in loader:
        given = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(given if device is None else given.to(device))
    for module, momentum in found.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Go to a rate in some epochs, along a cosine or a line, and stay there.

    Parameters
    ----------
    optimizer : Optimizer
        Whose groups get the rates.
    swa_lr : float or list of float
        The last rate, or one for each group.
    anneal_epochs : int
        How many epochs it takes.
    anneal_strategy : str
        `"cos"` or `"linear"`.
    last_epoch : int
        The epoch that was the last one; -1 to begin.

    Examples
    --------
    >>> optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(1))], lr=1.0)
    >>> schedule = opweave.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        groups = optimizer.param_groups
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(groups)
        if len(rates) != len(groups):
            raise ValueError(
                f"swa_lr must have the same length as optimizer.param_groups: swa_lr has {len(rates)}, "
                f"optimizer.param_groups has {len(groups)}"
            )
        for rate, group in zip(rates, groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in _PARTS:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        given: object = anneal_epochs
        if not isinstance(given, int) or given < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        self._anneal_strategy = anneal_strategy
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The next rates, from the present ones: other schedules may have set these."""
        epochs, step = self.anneal_epochs, self._step_count - 1
        if epochs == 0:
            step = max(1, step)
        part = _PARTS[self._anneal_strategy]
        before, now = (part(max(0.0, min(1.0, at / max(1, epochs)))) for at in (step - 1, step))
        rates = []
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            last = group["swa_lr"]
            first = last if before == 1 else (rate - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates


def _along_a_cosine(t: float) -> float:
    return (1 - math.cos(math.pi * t)) / 2


#: How far the rate has come after a part of the epochs.
_PARTS = dict(cos=_along_a_cosine, linear=float)  # noqa: C408  # as names


def __dir__() -> list[str]:
    return sorted(__all__)
