"""Which sizes of a compiled function's arguments are left open: what users mark, and what has been seen to change.

    compile(f)                  a size is fixed until a call brings another one; from then on it is open
    compile(f, dynamic=True)    all sizes of arguments, and arguments that are ints, are open from the start
    compile(f, dynamic=False)   a version for each size
    mark_dynamic(t, dim)        this one is open in any case, or compiling is an error
    mark_static(t, dim)         this one is fixed

A size of 0 or 1 is always fixed: it broadcasts, so the code for it is another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from opweave.registry.errors import ArgumentError, OutOfRangeError
from opweave.registry.loading import load_heavy
from opweave.registry.tensor import Tensor, describe
from opweave.runtime.sources import TensorInput

if TYPE_CHECKING:
    from opweave.fake.shape_env import ShapeEnv

_MARKS = "_opweave_dynamic"
Options = Callable[[int], dict[str, Any] | None]


def mark_dynamic(tensor: Tensor, dim: int | Iterable[int], *, min: int | None = None, max: int | None = None) -> Tensor:
    """Ask that compiled code works for any size of a dimension.

    Parameters
    ----------
    tensor : Tensor
        An argument of a compiled function; the mark belongs to this object.
    dim : int or ints
        The dimensions.
    min, max : int, optional
        The range of sizes; from 2 without an end by default, since sizes 0 and 1 need code of their own.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    OutOfRangeError
        If there is no such dimension.
    ArgumentError
        If the range is empty or no range of ints.

    Notes
    -----
    Compiling raises `ConstraintError` where the code would fix the size, or the range is left.

    Examples
    --------
    >>> opweave.mark_dynamic(opweave.ones(4, 3), 0)
    tensor([[1., 1., 1.],
            [1., 1., 1.],
            [1., 1., 1.],
            [1., 1., 1.]])
    """
    low = 2 if min is None else min
    if type(low) is not int or low < 0 or not (max is None or (type(max) is int and max >= low)):
        raise ArgumentError(
            "mark_dynamic: the range of a size must be ints from 0 up",
            got=f"min={min!r}, max={max!r}",
            hint="mark_dynamic(t, 0, min=2, max=64)",
        )
    for d in _dims("mark_dynamic", tensor, dim):
        tensor.__dict__.setdefault(_MARKS, {})[d] = {"low": low, "high": max}
    return tensor


def mark_static(tensor: Tensor, dim: int | Iterable[int] | None = None) -> Tensor:
    """Ask that compiled code is made for the very size of a dimension; of all dimensions without `dim`.

    Raises
    ------
    OutOfRangeError
        If there is no such dimension.

    Examples
    --------
    >>> opweave.mark_static(opweave.ones(4, 3), 1)
    tensor([[1., 1., 1.],
            [1., 1., 1.],
            [1., 1., 1.],
            [1., 1., 1.]])
    """
    for d in _dims("mark_static", tensor, range(_checked("mark_static", tensor).ndim) if dim is None else dim):
        tensor.__dict__.setdefault(_MARKS, {})[d] = None
    return tensor


def _checked(op: str, tensor: Any) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"{op}: expected a tensor", got=f"{tensor!r} ({type(tensor).__name__})")
    return tensor


def _dims(op: str, tensor: Any, dim: Any) -> list[int]:
    ndim = _checked(op, tensor).ndim
    given = [dim] if isinstance(dim, int) else list(dim)
    for d in given:
        if type(d) is not int or not -ndim <= d < ndim:
            raise OutOfRangeError(f"{op}: no dimension {d!r}", got=describe(tensor))
    return [d % ndim for d in given]


class Openness:
    """What is known of one compiled function's sizes.

    Parameters
    ----------
    dynamic : bool or None
        As given to `compile`.
    """

    def __init__(self, dynamic: bool | None) -> None:
        self.dynamic = dynamic
        self._seen: dict[str, tuple[int, ...]] = {}
        self._changed: dict[str, set[int]] = {}
        self._ints: dict[str, int] = {}
        self._changed_ints: set[str] = set()
        self._duck_shape = True

    def forget(self) -> None:
        """Start anew."""
        self._seen.clear()
        self._changed.clear()
        self._ints.clear()
        self._changed_ints.clear()
        self._duck_shape = True

    def note(self, tensors: Iterable[TensorInput]) -> None:
        """Compare the sizes of a call that fits no version with those seen before."""
        open_before = sum(map(len, self._changed.values()))
        known = bool(self._seen)
        moved = False
        for t in tensors:
            text, sizes = t.source.text, t.tensor._sizes
            before = self._seen.get(text)
            if before is not None and len(before) == len(sizes):
                changed = {d for d, (a, b) in enumerate(zip(before, sizes, strict=True)) if a != b}
                moved |= bool(changed)
                self._changed.setdefault(text, set()).update(changed)
            self._seen[text] = sizes
        if known and moved and (self.dynamic or open_before == sum(map(len, self._changed.values()))):
            # All that changed was open before: sizes that were equal by chance are not equal any more.
            self._duck_shape = False

    def note_ints(self, ints: Mapping[str, int]) -> None:
        """The same for int arguments."""
        for name, value in ints.items():
            if self._ints.setdefault(name, value) != value:
                self._changed_ints.add(name)

    def leaves_open(self, name: str, value: int) -> bool:
        """Whether an int argument is left open."""
        return value > 1 and bool(self.dynamic or (self.dynamic is None and name in self._changed_ints))

    def options(self, t: TensorInput) -> Options | None:
        """For each dimension of a tensor the keywords of `ShapeEnv.new_size`, or None; None if all are fixed."""
        marks = t.tensor.__dict__.get(_MARKS, {})
        changed = self._changed.get(t.source.text, set()) if self.dynamic is None else set()
        found: dict[int, dict[str, Any]] = {}
        for d, size in enumerate(t.tensor._sizes):
            if d in marks:
                if marks[d] is not None:
                    found[d] = marks[d]
            elif (self.dynamic or d in changed) and size > 1:
                found[d] = {}
        return found.get if found else None

    def env(self) -> ShapeEnv:
        """A new one for a trace."""
        return load_heavy("opweave.fake.shape_env").ShapeEnv(duck_shape=self._duck_shape)
