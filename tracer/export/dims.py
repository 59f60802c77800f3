"""`Dim`: how an argument's sizes are described to `export`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from opweave.registry.errors import ArgumentError, ShapeError, UnsupportedError
from opweave.registry.tensor import Tensor, describe


class _Hint:
    """`Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


class Dim:
    """A size that a program takes more than one value of.

    Parameters
    ----------
    name : str
        An identifier; sizes of the same name are equal.
    min, max : int, optional
        The least and the greatest value, inclusive.

    Raises
    ------
    ArgumentError
        If the name is no identifier or the range is empty.
    """

    AUTO: ClassVar[_Hint] = _Hint("AUTO")
    DYNAMIC: ClassVar[_Hint] = _Hint("DYNAMIC")
    STATIC: ClassVar[_Hint] = _Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        if not isinstance(name, str) or not name.isidentifier():
            raise ArgumentError("Dim: the name must be an identifier", got=repr(name), hint="Dim('batch')")
        if min is not None and max is not None and min > max:
            raise ArgumentError(f"Dim {name}: the range is empty", got=f"min={min}, max={max}")
        self.name = self.__name__ = name
        self.min = min
        self.max = max

    def __repr__(self) -> str:
        limits = [f"{k}={v}" for k, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"Dim({', '.join([repr(self.name), *limits])})"


def check_dynamic_shapes(dynamic_shapes: Any, args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str]) -> None:
    """Check a description of sizes against the arguments.

    Parameters
    ----------
    dynamic_shapes : None, dict or sequence
        For each argument, by name or by position, a description nested like the argument: None, or for a tensor a dict
        from dimension to size, or a sequence with one entry a dimension. An entry is None, `Dim.STATIC` or the size.
    args, kwargs : tuple, dict
        The arguments.
    names : list of str
        Names of the positional arguments.

    Raises
    ------
    UnsupportedError
        If a dimension is to be dynamic.
    ShapeError
        If a size is another than the argument has.
    ArgumentError
        If it is nested otherwise than the arguments.
    """
    if dynamic_shapes is None:
        return
    given = {**dict(zip(names, args, strict=True)), **kwargs}
    if isinstance(dynamic_shapes, Mapping):
        unknown = [name for name in dynamic_shapes if name not in given]
        if unknown:
            raise ArgumentError(
                "export: dynamic_shapes names no argument", got=", ".join(map(repr, unknown)),
                hint="arguments: " + ", ".join(given),
            )  # fmt: skip
        pairs = [(name, dynamic_shapes.get(name), value) for name, value in given.items()]
    elif isinstance(dynamic_shapes, Sequence) and len(dynamic_shapes) == len(given):
        pairs = list(zip(given, dynamic_shapes, given.values(), strict=True))
    else:
        raise ArgumentError(
            "export: dynamic_shapes must have an entry for each argument", got=repr(dynamic_shapes),
            hint="{'x': None}, with the names " + ", ".join(given),
        )  # fmt: skip
    for name, spec, value in pairs:
        _check(name, spec, value)


def _check(path: str, spec: Any, value: Any) -> None:
    if spec is None:
        return
    if isinstance(value, Tensor):
        _check_tensor(path, spec, value)
    elif isinstance(value, Mapping) and isinstance(spec, Mapping) and set(spec) <= set(value):
        for key, inner in spec.items():
            _check(f"{path}[{key!r}]", inner, value[key])
    elif isinstance(value, (list, tuple)) and isinstance(spec, (list, tuple)) and len(spec) == len(value):
        for index, inner in enumerate(spec):
            _check(f"{path}[{index}]", inner, value[index])
    else:
        raise ArgumentError(
            f"export: dynamic_shapes is nested otherwise than the argument {path}", got=f"{spec!r} for {value!r}"
        )


def _check_tensor(path: str, spec: Any, value: Tensor) -> None:
    if isinstance(spec, Mapping):
        entries = dict(spec)
    elif isinstance(spec, (list, tuple)) and len(spec) == value.dim():
        entries = dict(enumerate(spec))
    else:
        raise ArgumentError(
            f"export: dynamic_shapes describes {path} wrongly", got=f"{spec!r} for {describe(value)}",
            hint="None, {dim: size} or one entry a dimension",
        )  # fmt: skip
    for dim, entry in entries.items():
        if type(dim) is not int or not 0 <= dim < value.dim():
            raise ArgumentError(f"export: {path} has no dim {dim!r}", got=describe(value))
        if isinstance(entry, Dim) or entry is Dim.DYNAMIC or entry is Dim.AUTO:
            raise UnsupportedError(
                f"export: dim {dim} of {path} cannot be dynamic: sizes are fixed when a program is exported",
                got=repr(entry), hint="leave dynamic_shapes out and export once for each size",
            )  # fmt: skip
        if type(entry) is int and entry != value._sizes[dim]:
            raise ShapeError(
                f"export: dynamic_shapes says that dim {dim} of {path} is {entry}", got=describe(value),
                hint="pass an argument of that size",
            )  # fmt: skip
        if entry is not None and entry is not Dim.STATIC and type(entry) is not int:
            raise ArgumentError(
                f"export: no size of dim {dim} of {path}", got=repr(entry), hint="None, Dim.STATIC or an int"
            )
