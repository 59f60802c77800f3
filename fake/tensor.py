"""`FakeTensor`: sizes, strides, dtype and device without data."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn

from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import DataDependentError, FakeTensorError, ShapeError, UnsupportedError
from opweave.registry.keys import PYTHON_BIT, TENSOR_BITS, no_modes
from opweave.registry.op import ops
from opweave.registry.spec import contiguous_strides
from opweave.registry.storage import Storage
from opweave.registry.symbolic import demand, is_open
from opweave.registry.tensor import Tensor, describe, take_place

if TYPE_CHECKING:
    from opweave.fake.mode import FakeTensorMode

_KEY_BITS = {name: bits | PYTHON_BIT for name, bits in TENSOR_BITS.items()}

_BRANCH = "compute both sides and choose: opweave.where(condition, a, b); or make the whole branch a custom_op"
_NUMBER = "keep it a 0-d tensor, or pass the number to the function as an argument"
_PLAIN = "keep it a 0-d tensor; or write x.item(), which stays symbolic: a size, an operand or a result"
_TEXT = "repr(x) describes the traced tensor, for a message; its values are there once the compiled function returned"
_KERNEL = "launch a Triton kernel as opweave.library.wrap_triton(kernel)[grid](...), which tracing records"
_OPAQUE = "make the code that needs the data an op of its own: @opweave.library.custom_op(...)"


class FakeTensor(Tensor):
    """A tensor without data; ops on it compute what the results look like.

    Made by a `FakeTensorMode`. It has the device of what it stands for. Views share a storage, as real ones do.

    Attributes
    ----------
    fake_mode : FakeTensorMode
        The mode it belongs to.

    Examples
    --------
    >>> with opweave.FakeTensorMode():
    ...     x = opweave.empty(2, 3)
    >>> type(x).__name__, x.shape
    ('FakeTensor', opweave.Size([2, 3]))
    """

    # What stands for the tensor in a graph that is being recorded, and the value it has there in "real" mode: set and
    # read by the tracer, which would need a dict with weak keys for it otherwise.
    __slots__ = ("fake_mode", "_tracer", "_node", "_real", "_constant", "_relaid")

    fake_mode: FakeTensorMode
    _tracer: Any
    _node: Any
    _real: Tensor | None
    #: Its value and the version of its memory, where the traced code made it of numbers: `opweave.tensor(3) + 1`.
    _constant: tuple[Tensor, int] | None
    #: How often its sizes were changed in place.
    _relaid: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise FakeTensorError("FakeTensor: cannot be made directly", hint="FakeTensorMode().from_tensor(t)")

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Handle an op on fake tensors outside their mode."""
        mode = _mode_among((*args, *(kwargs or {}).values()))
        return NotImplemented if mode is None else mode.dispatch(func, args, kwargs or {})

    def _make_view(self, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> FakeTensor:
        return make_fake(self.fake_mode, self._storage, sizes, strides, offset, self._dtype, self._device)

    def _show_as(self, view: Tensor) -> None:
        assert isinstance(view, FakeTensor)
        if self._tracer is not None and view._tracer is not self._tracer:
            raise UnsupportedError(
                "the sizes of a tensor cannot be changed in place by a function that closes over it",
                got=describe(self),
                hint="use the functional form, as in x = x.t()",
            )
        self._relaid += 1
        if (view._sizes, view._strides, view._offset) == (self._sizes, self._strides, self._offset):
            return
        if self._node is not None:  # what was recorded stays as it was, also by those that wrote to it since
            before = self._alias()
            for node in self._node.graph:
                value = node.meta.get("val")
                if value is self:
                    node.meta["val"] = before
                elif type(value) is tuple and any(part is self for part in value):
                    node.meta["val"] = tuple([before if part is self else part for part in value])
        times = self._relaid
        take_place(self, view)
        self._relaid = times

    # ---- there is no data --------------------------------------------------------------------------------------------

    @property
    def _array(self) -> Any:
        self._refuse("data", _OPAQUE)

    @property
    def constant(self) -> Tensor | None:
        """Its value, where that is the same each time the traced code runs."""
        known = self._constant
        return known[0] if known is not None and known[1] == self._storage.version else None

    def item(self) -> Any:
        """A symbolic number; a plain one where it is the same each time the traced code runs."""
        known = self.constant
        if known is not None:
            with no_modes():
                return known.item()
        if self._real is not None or self._dtype.kind not in "biuf":
            self._refuse("item", _NUMBER)
        demand(self.numel() == 1, "item: only one-element tensors have a Python value", ShapeError,
               got=f"sizes {list(self._sizes)}", hint=".tolist()")  # fmt: skip
        return ops.aten._local_scalar_dense.default(self)

    def tolist(self) -> Any:
        """Nested lists of symbolic numbers, for a tensor whose sizes are known."""
        known = self.constant
        if known is not None:
            with no_modes():
                return known.tolist()
        if self._real is not None or self._dtype.kind not in "biuf" or any(map(is_open, self._sizes)):
            self._refuse("tolist", _OPAQUE)
        if not self._sizes:
            return self.item()
        return [ops.aten.select.int(self, 0, i).tolist() for i in range(operator.index(self._sizes[0]))]

    def numpy(self, *, force: bool = False) -> Any:
        self._refuse("numpy", _OPAQUE)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._refuse("conversion to a NumPy array", _OPAQUE)

    def __dlpack__(self, **kwargs: Any) -> Any:
        self._refuse("__dlpack__", _OPAQUE)

    def data_ptr(self) -> int:
        self._refuse("data_ptr", _KERNEL)

    def __bool__(self) -> bool:
        return bool(self._known("bool", _BRANCH))

    def __int__(self) -> int:
        return int(self._known("int", _PLAIN))

    def __float__(self) -> float:
        return float(self._known("float", _PLAIN))

    def __complex__(self) -> complex:
        return complex(self._known("complex", _NUMBER))

    def __index__(self) -> int:
        return self._known("use as an index or a size", _PLAIN).__index__()

    def _known(self, what: str, hint: str) -> Any:
        """The constant that it is, for what must be a plain number of Python's."""
        if self.constant is None:
            self._refuse(what, hint)
        return self.item()

    def _refuse(self, what: str, hint: str) -> NoReturn:
        error = DataDependentError(
            f"{what}: this tensor's values are not known while tracing", got=describe(self), hint=hint
        )
        if self._tracer is not None:
            self._tracer.refused = self._tracer.refused or error
        raise error

    # ---- copies and text ---------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> FakeTensor:
        strides = contiguous_strides(self._sizes)
        storage = Storage(self._device, self.nbytes, None, None)
        copy = make_fake(self.fake_mode, storage, self._sizes, strides, 0, self._dtype, self._device)
        memo[id(self)] = copy
        return copy

    def __reduce__(self) -> Any:
        raise FakeTensorError("a fake tensor cannot be pickled: it has no data", got=describe(self))

    def __repr__(self) -> str:
        place = "" if self._device.is_host else f", device='{self._device}'"
        return f"FakeTensor(..., size={self._sizes}, dtype={self._dtype!r}{place})"

    def __str__(self) -> str:
        if self._tracer is not None and self._tracer.compiling:
            self._refuse("text", _TEXT)
        return repr(self)

    def __format__(self, spec: str) -> str:
        return str(self)


def make_fake(
    mode: FakeTensorMode,
    storage: Storage,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    dtype: DType,
    device: Device,
) -> FakeTensor:
    """A fake tensor over a storage without memory."""
    t = FakeTensor.__new__(FakeTensor)
    t._storage = storage
    t._sizes = sizes
    t._strides = strides
    t._offset = offset
    t._dtype = dtype
    t._device = device
    t._keys = _KEY_BITS[device.type]
    t._cached = None
    t._view_of = None
    t._autograd = None
    t.fake_mode = mode
    t._tracer = None
    t._node = None
    t._real = None
    t._constant = None
    t._relaid = 0
    return t


def _mode_among(values: Any) -> FakeTensorMode | None:
    for value in values:
        if isinstance(value, FakeTensor):
            return value.fake_mode
        if isinstance(value, (list, tuple, dict)):
            found = _mode_among(value.values() if isinstance(value, dict) else value)
            if found is not None:
                return found
    return None
