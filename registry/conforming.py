"""What a function of a user's returned, in the structure and of the types that the op's schema has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry.schema import BaseType, FunctionSchema, ListType, OptionalType, Type
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor

Conform = Callable[[Any], Any]


def conforming(schema: FunctionSchema) -> Conform:
    """A function that takes a result and gives it as a caller sees it: a tuple of several, a list for a list.

    It raises TypeError if the result is none that the schema allows.
    """
    parts = [_conforming(returned.type) for returned in schema.returns]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _nothing

    def several(result: Any) -> tuple[Any, ...]:
        if not isinstance(result, (list, tuple)) or len(result) != len(parts):
            raise TypeError
        return tuple([part(value) for part, value in zip(parts, result, strict=True)])

    return several


def _nothing(result: Any) -> None:
    if result is not None:
        raise TypeError


def _conforming(kind: Type) -> Conform:
    if isinstance(kind, OptionalType):
        inner = _conforming(kind.element)
        return lambda value: None if value is None else inner(value)
    if isinstance(kind, ListType):
        element = _conforming(kind.element)

        def listed(value: Any) -> list[Any]:
            if not isinstance(value, (list, tuple)):
                raise TypeError
            return [element(item) for item in value]

        return listed
    return _BY_NAME.get(kind.name, _as_it_is) if isinstance(kind, BaseType) else _as_it_is


def _tensor(value: Any) -> Any:
    if not isinstance(value, Tensor):
        raise TypeError
    return value


def _int(value: Any) -> Any:
    if isinstance(value, Tensor):
        raise TypeError
    return value if isinstance(value, Symbolic) else value.__index__()


def _float(value: Any) -> Any:
    if isinstance(value, Symbolic):
        return value
    if not isinstance(value, (int, float, np.floating, np.integer)):
        raise TypeError
    return float(value)


def _bool(value: Any) -> Any:
    if isinstance(value, Symbolic):
        return value
    if not isinstance(value, (int, np.bool_)):
        raise TypeError
    return bool(value)


def _complex(value: Any) -> Any:
    if not isinstance(value, (int, float, complex, np.number)):
        raise TypeError
    return complex(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, (np.number, np.bool_)):
        return value.item()
    if not isinstance(value, (int, float, complex, Symbolic)):
        raise TypeError
    return value


def _str(value: Any) -> Any:
    if not isinstance(value, str):
        raise TypeError
    return value


def _as_it_is(value: Any) -> Any:
    return value


_BY_NAME: dict[str, Conform] = {
    "Tensor": _tensor, "int": _int, "SymInt": _int, "float": _float, "SymFloat": _float, "bool": _bool,
    "SymBool": _bool, "complex": _complex, "Scalar": _scalar, "str": _str,
}  # fmt: skip
