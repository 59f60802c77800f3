"""What a traced call is given and gives, and who makes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from opweave.fake.tensor import FakeTensor
from opweave.registry.containers import is_dict, is_list, is_sequence
from opweave.registry.keys import DispatchMode
from opweave.registry.nested import map_leaves
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor


def map_plain(value: Any, transform: Callable[[Any], Any]) -> Any:
    if is_sequence(value):
        if value.__class__ not in (list, tuple):
            return value
        mapped = [map_plain(item, transform) for item in value]
        return mapped if is_list(value) else tuple(mapped)
    if is_dict(value):
        return {key: map_plain(item, transform) for key, item in value.items()}
    return transform(value)


def apart_from(value: Any, given: list[Tensor]) -> Any:
    """A result with an alias, which is a node of its own, in place of what is an argument (`x.contiguous()`)."""

    def apart(part: Any) -> Any:
        if not isinstance(part, FakeTensor) or not any(part is t for t in given):
            return part
        alias = ops.aten.alias.default(part)
        alias._real = part._real
        return alias

    return map_leaves(value, apart)


_REGISTRY = os.path.dirname(os.path.abspath(sys.modules[DispatchMode.__module__].__file__ or ""))
_AUTOGRAD = os.path.join(_REGISTRY, "autograd")


def in_autograd() -> bool:
    """Whether it is the autograd engine, or a function that it runs, that calls."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if os.path.abspath(frame.f_code.co_filename).startswith(_AUTOGRAD + os.sep):
            return True
        frame = frame.f_back
    return False
