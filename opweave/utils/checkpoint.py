"""`checkpoint`, in the form that `torch.utils.checkpoint` has: it calls the function at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from opweave.registry.autograd.checkpoint import checkpoint as _kept
from opweave.registry.errors import UnsupportedError

R = TypeVar("R")

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., R],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    context_fn: Any = None,
    debug: bool = False,
    **kwargs: Any,
) -> R:
    """Call a function that keeps only its inputs for backward, and is called again there; see `opweave.checkpoint`.

    Parameters
    ----------
    function : callable
        Gives the same when called twice.
    *args, **kwargs
        Its arguments.
    use_reentrant, preserve_rng_state, determinism_check, debug
        For the signature's sake: random numbers are the same again, and what is saved is compared.
    context_fn : callable, optional
        Not there.

    Raises
    ------
    UnsupportedError
        With a `context_fn`.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> y = opweave.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad.shape
    opweave.Size([2])
    """
    if context_fn is not None:
        raise UnsupportedError("checkpoint: there are no contexts of both runs", got="context_fn", hint="leave it out")
    return _kept(function)(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **options: Any) -> Any:
    """A chain of functions in segments, of which all but the last keep only their inputs.

    Parameters
    ----------
    functions : Sequential, or list of callables
        One after the other.
    segments : int
        In how many parts.
    input : Tensor
        Of the first.

    Examples
    --------
    >>> net = opweave.nn.Sequential(opweave.nn.Linear(3, 3), opweave.nn.ReLU(), opweave.nn.Linear(3, 2))
    >>> x = opweave.ones(1, 3, requires_grad=True)
    >>> opweave.utils.checkpoint.checkpoint_sequential(net, 2, x, use_reentrant=False).shape
    opweave.Size([1, 2])
    """
    chain = list(functions)
    size = max(len(chain) // segments, 1)

    def part(begin: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in chain[begin:end]:
                value = function(value)
            return value

        return run

    begin = 0
    for _ in range(segments - 1):
        input = checkpoint(part(begin, begin + size), input, **options)
        begin += size
    return part(begin, len(chain))(input)


def __dir__() -> list[str]:
    return sorted(__all__)
