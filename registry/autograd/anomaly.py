"""Looking for NaN in a backward pass, and naming the user's line whose call it comes from.

While anomalies are looked for, a bit that is no key is included in every call's set, so that native code replays none
and compiled functions run op by op. Each node then notes where the user's code made it; a node that another's backward
made, for a derivative of higher order, has the place of that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opweave.registry.batched import BatchedTensor
from opweave.registry.errors import AutogradError, Site, user_frame
from opweave.registry.interrupts import let_through, surely
from opweave.registry.keys import ANOMALY, CHECK_NAN, set_mode, state
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

if TYPE_CHECKING:
    from opweave.registry.autograd.graph import Grads, Node

#: Where a node keeps its place, in `Node.metadata`.
SITE = "forward_site"


def note_site(node: Node) -> None:
    """Keep with a new node where the user's code called for it."""
    site: Site | None = state.__dict__.get("anomaly_site")
    node.metadata[SITE] = user_frame() if site is None else site


def apply(node: Node, grads: Grads, *asked: Any) -> Sequence[Tensor | None]:
    """`node.apply` of the gradients and what is asked for; its error, or NaN, is told with the forward call's line.

    Raises
    ------
    AutogradError
        If a gradient is NaN, where that is looked for.
    """
    site: Site | None = node.__dict__.get("_metadata", {}).get(SITE)
    outer = state.__dict__.get("anomaly_site")
    state.__dict__["anomaly_site"] = outer if site is None else site
    try:
        found = node.apply(grads, *asked)
    except Exception as error:
        let_through(error)
        if site is not None:
            error.add_note(f"  forward call: {site}")
        raise
    finally:
        state.__dict__["anomaly_site"] = outer
    if state.include & CHECK_NAN:
        for i, grad in enumerate(found):
            if grad is not None and _has_nan(grad):
                raise AutogradError(
                    f"Function '{node.name()}' returned nan values in its {i}th output",
                    got=f"{describe(grad)}, the gradient of input {i} of the forward call",
                    at=site,
                    hint="`at` is the call whose backward this is; the operands that it had there tell why"
                    if site is not None
                    else "the forward ran before anomalies were looked for: put it inside detect_anomaly() as well",
                )
    return found


def _has_nan(grad: Tensor) -> bool:
    while isinstance(grad, BatchedTensor):
        grad = grad.value
    if grad._dtype.kind not in "fc":
        return False
    return bool(ops.aten.any.default(ops.aten.isnan.default(grad)).item())


def is_anomaly_enabled() -> bool:
    """Whether this thread looks for anomalies in backward passes.

    Examples
    --------
    >>> with opweave.autograd.detect_anomaly():
    ...     print(opweave.is_anomaly_enabled())
    True
    """
    return bool(state.include & ANOMALY)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether a NaN that a backward makes is an error where anomalies are looked for.

    Examples
    --------
    >>> with opweave.autograd.detect_anomaly(check_nan=False):
    ...     print(opweave.is_anomaly_check_nan_enabled())
    False
    """
    return bool(state.include & CHECK_NAN)


def _change(mode: bool, check_nan: bool) -> None:
    state.include = state.include & ~(ANOMALY | CHECK_NAN) | (ANOMALY if mode else 0) | (CHECK_NAN if check_nan else 0)


class detect_anomaly(set_mode):
    """Make a NaN in a backward pass an error that names the line of the forward call, inside the block.

    The forward has to run inside the block, too. Calls are slower there: none is replayed by native code, and compiled
    functions run op by op, so that every line is told apart.

    Parameters
    ----------
    check_nan : bool
        Whether NaN is looked for. Without, errors that a backward raises say where the forward call was.

    Raises
    ------
    AutogradError
        From `backward` and `grad`, if a node gives a NaN.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 4.0], requires_grad=True)
    >>> with opweave.autograd.detect_anomaly():
    ...     try:
    ...         x.sqrt().sum().backward()
    ...     except RuntimeError as error:
    ...         print(error.what)
    Function 'SqrtBackward0' returned nan values in its 0th output
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan

    def change(self) -> None:
        _change(True, self.check_nan)


class set_detect_anomaly:
    """Look for anomalies in backward passes of this thread from now on, or no more; as a context, until it ends.

    Parameters
    ----------
    mode : bool
        Whether to look for them; see `detect_anomaly`.
    check_nan : bool
        Whether NaN is looked for.

    Examples
    --------
    >>> with opweave.autograd.set_detect_anomaly(True):
    ...     print(opweave.is_anomaly_enabled())
    True
    >>> opweave.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = state.include & (ANOMALY | CHECK_NAN)
        _change(mode, check_nan)

    def __enter__(self) -> None:
        pass

    @surely
    def __exit__(self, *_: Any) -> None:
        try:
            _entered = True
        finally:
            state.include = state.include & ~(ANOMALY | CHECK_NAN) | self.before
