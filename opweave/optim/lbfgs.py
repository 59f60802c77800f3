"""L-BFGS: steps by an approximation of the inverse of second derivatives, from the last few gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.optim.line_search import Point, strong_wolfe
from opweave.optim.optimizer import Optimizer, Params, as_real, check, number
from opweave.registry.autograd.mode import enable_grad, no_grad
from opweave.registry.errors import DomainError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

aten = ops.aten


class LBFGS(Optimizer):
    """L-BFGS (Nocedal 1980), with one step length for all steps or a line search for each.

    Parameters
    ----------
    params : iterable
        Parameters, all in one group.
    lr : float or Tensor
        Length of a step, or the first that a line search tries.
    max_iter, max_eval : int
        Iterations and evaluations of a step; 1.25 `max_iter` evaluations by default.
    tolerance_grad, tolerance_change : float
        Gradients and changes that end a step.
    history_size : int
        How many gradients are remembered.
    line_search_fn : str, optional
        `"strong_wolfe"` searches along each direction (`line_search`).

    Raises
    ------
    ValueError
        For another line search, or several groups.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.tensor([3.0]))
    >>> optimizer = opweave.optim.LBFGS([w])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> round(w.item(), 3)
    1.0
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise DomainError(
                "LBFGS: only 'strong_wolfe' is supported",
                got=repr(line_search_fn),
                hint="line_search_fn='strong_wolfe'",
            )
        check(learning_rate=lr)
        super().__init__(
            params,
            {"lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
             "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
             "line_search_fn": line_search_fn},
        )  # fmt: skip
        if len(self.param_groups) != 1:
            raise DomainError(
                "LBFGS doesn't support per-parameter options (parameter groups)",
                got=f"{len(self.param_groups)} groups",
                hint="pass all parameters in one list",
            )

    def _parameters(self) -> list[Tensor]:
        return [as_real(p) for p in self.param_groups[0]["params"]]

    def _gradient(self) -> Tensor:
        """All gradients as one vector."""
        parts = []
        for p in self.param_groups[0]["params"]:
            grad = aten.zeros_like.default(p.detach()) if p.grad is None else p.grad
            parts.append(aten.reshape.default(as_real(grad), [-1]))
        return aten.cat.default(parts)

    def _move(self, length: float, direction: Tensor) -> None:
        begin = 0
        for p in self._parameters():
            part = aten.slice.Tensor(direction, 0, begin, begin + p.numel())
            aten.add_.Tensor(p, aten.view.default(part, list(p._sizes)), alpha=length)
            begin += p.numel()

    def _search(
        self, evaluate: Callable[[], Any], start: Point, length: float, direction: Tensor, limit: int
    ) -> tuple[Point, int]:
        """Go along a direction as far as a line search says; what is there, and how many points were tried."""
        own = self._parameters()
        before = [aten.clone.default(p) for p in own]

        def at(length: float) -> Point:
            self._move(length, direction)
            loss = float(evaluate())
            grad = self._gradient()
            for p, value in zip(own, before, strict=True):
                aten.copy_.default(p, value)
            return Point(length, loss, grad, float(aten.dot.default(grad, direction)))

        tolerance = self.param_groups[0]["tolerance_change"]
        found, tried = strong_wolfe(at, start, length, limit, _largest(direction), tolerance)
        self._move(found.length, direction)
        return found, tried

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of up to `max_iter` iterations; the closure computes the loss and its gradients."""
        if closure is None:
            raise TypeError("LBFGS.step: needs a closure, which computes the loss and its gradients")

        def evaluate() -> Any:
            with enable_grad():
                return closure()

        with no_grad():
            return self._iterate(evaluate)

    def _iterate(self, evaluate: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, kept = number(group["lr"]), self.state[group["params"][0]]
        kept.setdefault("func_evals", 0)
        kept.setdefault("n_iter", 0)
        first = evaluate()
        loss, evaluations = float(first), 1
        kept["func_evals"] += 1
        grad = self._gradient()
        if _largest(grad) <= group["tolerance_grad"]:
            return first
        direction, length = kept.get("d"), kept.get("t")
        changes, steps, weights = kept.get("old_dirs", []), kept.get("old_stps", []), kept.get("ro", [])
        scale, before = kept.get("H_diag", 1.0), kept.get("prev_flat_grad")
        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            kept["n_iter"] += 1
            if direction is None or before is None:
                direction = aten.neg.default(grad)
                changes, steps, weights, scale = [], [], [], 1.0
            else:
                change, made = aten.sub.Tensor(grad, before), aten.mul.Tensor(direction, length)
                curvature = float(aten.dot.default(change, made))
                if curvature > 1e-10:
                    if len(changes) == group["history_size"]:
                        for remembered in (changes, steps, weights):
                            del remembered[0]
                    changes.append(change)
                    steps.append(made)
                    weights.append(1.0 / curvature)
                    scale = curvature / float(aten.dot.default(change, change))
                direction = _two_loops(grad, changes, steps, weights, scale)
            before = aten.clone.default(grad)
            last = loss
            length = min(1.0, 1.0 / float(aten.sum.default(aten.abs.default(grad)))) * lr if kept["n_iter"] == 1 else lr
            slope = float(aten.dot.default(grad, direction))
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                start = Point(0.0, loss, grad, slope)
                found, tried = self._search(evaluate, start, length, direction, group["max_eval"] - evaluations)
                loss, grad, length = found.loss, found.gradient, found.length
                evaluations += tried
                kept["func_evals"] += tried
            else:
                self._move(length, direction)
            if group["line_search_fn"] is None and iterations != group["max_iter"]:
                loss = float(evaluate())
                grad = self._gradient()
                evaluations += 1
                kept["func_evals"] += 1
            if iterations == group["max_iter"] or evaluations >= group["max_eval"]:
                break
            if _largest(grad) <= group["tolerance_grad"]:
                break
            if _largest(aten.mul.Tensor(direction, length)) <= group["tolerance_change"]:
                break
            if abs(loss - last) < group["tolerance_change"]:
                break
        kept.update(
            d=direction, t=length, old_dirs=changes, old_stps=steps, ro=weights, H_diag=scale, prev_flat_grad=before,
            prev_loss=loss,
        )  # fmt: skip
        return first


def _largest(t: Tensor) -> float:
    return float(aten.max.default(aten.abs.default(t)))


def _two_loops(grad: Tensor, changes: list[Tensor], steps: list[Tensor], weights: list[float], scale: float) -> Tensor:
    """Minus the approximate inverse of second derivatives times the gradient (Nocedal 1980)."""
    q = aten.neg.default(grad)
    factors = []
    for change, made, weight in zip(reversed(changes), reversed(steps), reversed(weights), strict=True):
        factor = float(aten.dot.default(made, q)) * weight
        factors.append(factor)
        q = aten.sub.Tensor(q, change, alpha=factor)
    found = aten.mul.Tensor(q, scale)
    for change, made, weight, factor in zip(changes, steps, weights, reversed(factors), strict=True):
        found = aten.add.Tensor(found, made, alpha=factor - float(aten.dot.default(change, found)) * weight)
    return found
