"""Which kernel `scaled_dot_product_attention` takes, under the names of `torch.nn.attention`.

There is one, so a choice changes nothing; what is told is kept and can be read, and no choice at all is an error.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from opweave.registry.errors import ArgumentError
from opweave.registry.interrupts import contextmanager
from opweave.registry.loading import load_heavy

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """Kernels of PyTorch's."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_ALL = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.OVERRIDEABLE,
)
_state = threading.local()


def current_backends() -> list[SDPBackend]:
    """What `sdpa_kernel` allows here, in the order of preference."""
    return list(getattr(_state, "backends", _ALL))


@contextmanager
def sdpa_kernel(backends: Iterable[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Allow some kernels for attention while the block runs.

    Parameters
    ----------
    backends : SDPBackend or iterable of SDPBackend
        One at least; repeated ones count once.
    set_priority : bool
        Whether their order is that of preference.

    Raises
    ------
    ArgumentError
        If there is none, or something else among them.

    Examples
    --------
    >>> q = opweave.ones(1, 1, 2, 4)
    >>> with opweave.nn.attention.sdpa_kernel(opweave.nn.attention.SDPBackend.MATH):
    ...     opweave.nn.functional.scaled_dot_product_attention(q, q, q)[0, 0, 0]
    tensor([1., 1., 1., 1.])
    """
    given = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not given or not all(isinstance(backend, SDPBackend) for backend in given):
        raise ArgumentError("sdpa_kernel: expected one SDPBackend or several", got=repr(backends))
    chosen = list(dict.fromkeys(given))
    before = current_backends()
    _state.backends = chosen if set_priority else [backend for backend in _ALL if backend in chosen]
    try:
        yield
    finally:
        _state.backends = before


def __getattr__(name: str) -> Any:
    if name == "flex_attention":  # the module, which few need
        return load_heavy("opweave.nn.attention.flex_attention")
    raise AttributeError(f"module 'opweave.nn.attention' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "flex_attention"])
