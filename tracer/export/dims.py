"""`Dim`: how an argument's sizes are described to `export`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeGuard

from opweave.registry.containers import is_sequence
from opweave.registry.errors import ArgumentError, ShapeError, UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.tensor import Tensor, describe


class _Hint:
    """`Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


class Dim:
    """A size that a program takes more than one value of.

    `2 * batch + 1` describes a size that follows from another one.

    Parameters
    ----------
    name : str
        An identifier; sizes of the same name are equal.
    min, max : int, optional
        The least and the greatest value, inclusive; by default any.

    Raises
    ------
    ArgumentError
        If the name is no identifier or the range is empty.

    Examples
    --------
    >>> batch = Dim("batch", min=2, max=64)
    >>> program = export(f, (x, y), dynamic_shapes={"x": {0: batch}, "y": {0: 2 * batch}})  # doctest: +SKIP
    """

    AUTO: ClassVar[_Hint] = _Hint("AUTO")
    DYNAMIC: ClassVar[_Hint] = _Hint("DYNAMIC")
    STATIC: ClassVar[_Hint] = _Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        given: Any = name
        if not isinstance(given, str) or not name.isidentifier():
            raise ArgumentError("Dim: the name must be an identifier", got=repr(name), hint="Dim('batch')")
        if any(end is not None and (type(end) is not int or end < 0) for end in (min, max)):
            raise ArgumentError(f"Dim {name}: a range has sizes as its ends", got=f"min={min!r}, max={max!r}")
        if min is not None and max is not None and min > max:
            raise ArgumentError(f"Dim {name}: the range is empty", got=f"min={min}, max={max}")
        self.name = self.__name__ = name
        self.min = min
        self.max = max

    def __repr__(self) -> str:
        limits = [f"{k}={v}" for k, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"Dim({', '.join([repr(self.name), *limits])})"

    def __mul__(self, factor: int) -> DerivedDim:
        return DerivedDim(self, 1, 0) * factor

    def __add__(self, offset: int) -> DerivedDim:
        return DerivedDim(self, 1, 0) + offset

    def __sub__(self, offset: int) -> DerivedDim:
        return DerivedDim(self, 1, 0) - offset

    __rmul__, __radd__ = __mul__, __add__


class DerivedDim:
    """`factor * root + offset`: a size that follows from a `Dim`; made by arithmetic.

    Raises
    ------
    ArgumentError
        For a factor that is not positive, or anything but an int.
    """

    def __init__(self, root: Dim, factor: int, offset: int):
        self.root = root
        self.factor = factor
        self.offset = offset

    def __mul__(self, factor: int) -> DerivedDim:
        if type(factor) is not int or factor < 1:
            raise ArgumentError(f"{self!r}: a factor must be a positive int", got=repr(factor))
        return DerivedDim(self.root, self.factor * factor, self.offset * factor)

    def __add__(self, offset: int) -> DerivedDim:
        if type(offset) is not int:
            raise ArgumentError(f"{self!r}: what is added must be an int", got=repr(offset))
        return DerivedDim(self.root, self.factor, self.offset + offset)

    def __sub__(self, offset: int) -> DerivedDim:
        return self + -offset if type(offset) is int else self + offset

    __rmul__, __radd__ = __mul__, __add__

    def __repr__(self) -> str:
        text = self.root.name if self.factor == 1 else f"{self.factor}*{self.root.name}"
        return text if not self.offset else f"{text} {'+' if self.offset > 0 else '-'} {abs(self.offset)}"


#: What is dynamic: for an argument's path, by dimension, a `Dim`, a `DerivedDim`, `Dim.AUTO` or `Dim.DYNAMIC`.
Wanted = dict[str, dict[int, Any]]


def wanted_sizes(
    dynamic_shapes: Any, args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str], fn: Callable[..., Any]
) -> Wanted:
    """What a description of sizes makes dynamic, checked against the arguments.

    Parameters
    ----------
    dynamic_shapes : None, dict or sequence
        For each argument, by name or in the order of the function's parameters, a description nested like the argument:
        None, or for a tensor a dict from dimension to size, or a sequence with one entry a dimension. An entry is None,
        `Dim.STATIC` or the size where it is fixed, a `Dim` or what is computed from one, `Dim.DYNAMIC` or `Dim.AUTO`.
    args, kwargs : tuple, dict
        The arguments.
    names : list of str
        Names of the positional arguments.
    fn : callable
        What they are arguments of.

    Returns
    -------
    dict of str to dict
        By path of the argument (`x[0]['a']`) and dimension, without those that are fixed.

    Raises
    ------
    ShapeError
        If a size is another than the argument has.
    ArgumentError
        If it is nested otherwise than the arguments.
    UnsupportedError
        If arguments cannot be told apart by their names.
    """
    found: Wanted = {}
    if dynamic_shapes is None:
        return found
    if len(set(names)) < len(names):
        raise UnsupportedError(
            "export: dynamic_shapes for *args", got=", ".join(names), hint="give the function a parameter for each"
        )
    given = {**dict(zip(names, args, strict=True)), **kwargs}
    order, rest = _order(fn, list(given), args, kwargs)
    described: dict[str, Any]
    if _is_mapping(dynamic_shapes):
        described = dict(dynamic_shapes)
        if rest is not None and rest not in given and isinstance(described.get(rest), Mapping):
            described |= described.pop(rest)
    elif _is_listed(dynamic_shapes) and len(dynamic_shapes) == len(order):
        described = dict(zip(order, dynamic_shapes, strict=True))
        if rest in described:
            described |= described.pop(rest) or {}
    else:
        raise ArgumentError(
            "export: dynamic_shapes must have an entry for each argument",
            got=repr(dynamic_shapes),
            hint="{'x': None}, with the names " + ", ".join(order),
        )
    unknown = [name for name in described if name not in given]
    if unknown:
        raise ArgumentError(
            "export: dynamic_shapes names no argument",
            got=", ".join(map(repr, unknown)),
            hint="arguments: " + ", ".join(given),
        )
    pairs = [(name, described.get(name), value) for name, value in given.items()]
    for name, spec, value in pairs:
        _collect(name, spec, value, found)
    return found


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_listed(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence)


def _order(
    fn: Callable[..., Any], names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[str], str | None]:
    """The parameters that are given, in the order of the signature, and which of them is the `**` one."""
    try:
        signature = inspect.signature(fn)
        bound = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError) as error:  # none to be had, or the call itself will say what does not fit
        let_through(error)
        return names, None
    order: list[str] = []
    rest = None
    for name in bound:
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            order += names[len(order) : len(args)]
            continue
        order.append(name)
        if kind is inspect.Parameter.VAR_KEYWORD:
            rest = name
    return order, rest


def _collect(path: str, spec: Any, value: Any, found: Wanted) -> None:
    if spec is None:
        return
    if isinstance(value, Tensor):
        sizes = _of_tensor(path, spec, value)
        if sizes:
            found[path] = sizes
    elif _is_mapping(value) and _is_mapping(spec) and set(spec) <= set(value):
        for key, inner in spec.items():
            _collect(f"{path}[{key!r}]", inner, value[key], found)
    elif is_sequence(value) and is_sequence(spec) and len(spec) == len(value):
        for index, inner in enumerate(spec):
            _collect(f"{path}[{index}]", inner, value[index], found)
    else:
        raise ArgumentError(
            f"export: dynamic_shapes is nested otherwise than the argument {path}", got=f"{spec!r} for {value!r}"
        )


def _of_tensor(path: str, spec: Any, value: Tensor) -> dict[int, Any]:
    entries: dict[Any, Any]
    if _is_mapping(spec):
        entries = dict(spec)
    elif is_sequence(spec) and len(spec) == value.dim():
        entries = dict(enumerate(spec))
    else:
        raise ArgumentError(
            f"export: dynamic_shapes describes {path} wrongly",
            got=f"{spec!r} for {describe(value)}",
            hint="None, {dim: size} or one entry a dimension",
        )
    found: dict[int, Any] = {}
    for dim, entry in entries.items():
        if type(dim) is not int or not 0 <= dim < value.dim():
            raise ArgumentError(
                f"export: {path} has no dim {dim!r}",
                got=describe(value),
                hint=f"{{0: Dim('n')}} is the first of {value.ndim}",
            )
        if isinstance(entry, (Dim, DerivedDim)) or entry is Dim.DYNAMIC or entry is Dim.AUTO:
            found[dim] = entry
        elif type(entry) is int and entry != value._sizes[dim]:
            raise ShapeError(
                f"export: dynamic_shapes says that dim {dim} of {path} is {entry}",
                got=describe(value),
                hint="pass an argument of that size",
            )
        elif entry is not None and entry is not Dim.STATIC and type(entry) is not int:
            raise ArgumentError(
                f"export: no size of dim {dim} of {path}",
                got=repr(entry),
                hint="None, an int, Dim('batch'), Dim.AUTO, Dim.DYNAMIC or Dim.STATIC",
            )
    return found
