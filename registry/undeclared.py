"""Writes of a user's kernel that its op's schema does not declare: noticed when they happen.

The compiler trusts a schema: around a write that is not declared it moves, merges and drops calls, and results are
wrong without a word. Two looks at each kernel of a `custom_op`:

* On every call, the version counters of the tensors that it must not write: these count what ops write.
* On its first calls, their contents before and after, which also shows what NumPy, C or a Triton kernel writes. Of a
  large tensor a part is compared.

The first costs 30 to 40 ns for a tensor, the second some microseconds a call, three times in the life of a kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from opweave.registry.errors import RegistrationError
from opweave.registry.kernels import Kernel
from opweave.registry.schema import FunctionSchema
from opweave.registry.tensor import Tensor, describe

#: Calls whose arguments are compared.
CALLS = 3
#: Bytes of a tensor that are compared, about.
_COMPARED = 1 << 20


def unwritten(schema: FunctionSchema) -> list[tuple[int, str]]:
    """Position and name of each argument that holds tensors, none of which the op writes."""
    written = schema.mutated_args
    arguments = enumerate(schema.arguments)
    return [(i, a.name) for i, a in arguments if a.type.has_tensor and a.name not in written]


class _Told(threading.local):
    elsewhere = False


_told = _Told()


@contextmanager
def told_elsewhere() -> Iterator[None]:
    """Within it, such writes are not refused in this thread: `opcheck` looks for them by itself, and tells more."""
    before, _told.elsewhere = _told.elsewhere, True
    try:
        yield
    finally:
        _told.elsewhere = before


def refuse_write(schema: FunctionSchema, name: str, tensor: Tensor) -> None:
    """Raise for an argument that was written to."""
    if _told.elsewhere:
        return
    written = (*schema.mutated_args, name)
    raise RegistrationError(
        f"{schema.full_name}: writes to its argument {name!r}, which the op does not declare", got=describe(tensor),
        hint=f"write to a copy ({name}.clone()), or declare it: mutates_args={written!r}",
    )  # fmt: skip


class Watched:
    """A kernel whose first calls are compared with what they were given.

    Parameters
    ----------
    schema : FunctionSchema
        Of its op.
    fn : callable
        The kernel.
    over : callable
        Called with `fn` after the last of these calls: from then on it can be called directly.
    """

    def __init__(self, schema: FunctionSchema, fn: Kernel, over: Callable[[Kernel], None]):
        self.schema = schema
        self.fn = fn
        self.over = over
        self.calls = 0
        self.watched = unwritten(schema)
        self.__wrapped__ = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls >= CALLS:
            self.over(self.fn)
        before = [
            (name, t, _some_of(t).copy()) for position, name in self.watched
            for t in _on_host(args[position] if position < len(args) else kwargs.get(name))
        ]  # fmt: skip
        result = self.fn(*args, **kwargs)
        for name, t, content in before:
            if content.tobytes() != _some_of(t).tobytes() and not self._shares(t, args, kwargs):
                refuse_write(self.schema, name, t)
        return result

    def _shares(self, t: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a tensor lies in memory that the op may write, as another of its arguments."""
        for position, argument in enumerate(self.schema.arguments):
            if argument.name in self.schema.mutated_args:
                value = args[position] if position < len(args) else kwargs.get(argument.name)
                if any(np.may_share_memory(t._array, other._array) for other in _on_host(value)):
                    return True
        return False


def _on_host(value: Any) -> Sequence[Tensor]:
    given = value if isinstance(value, (list, tuple)) else (value,)
    return [t for t in given if isinstance(t, Tensor) and t._device.is_host and t._storage.owner is not None]


def _some_of(t: Tensor) -> np.ndarray[Any, Any]:
    """The tensor's elements, of a large one every so many along its longest dimension."""
    array = t._array
    if array.nbytes <= _COMPARED:
        return array
    longest = max(range(array.ndim), key=array.shape.__getitem__)
    step = -(-array.nbytes // _COMPARED)
    return array[(*[slice(None)] * longest, slice(None, None, step))]
