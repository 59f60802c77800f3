"""Custom ops whose parameters or results are typed structures.

A schema knows tensors, numbers, texts and flat lists. A function annotated with more is flattened by its annotations,
so that the op itself has an ordinary schema and every stage (autograd, vmap, tracing, export) sees an ordinary op:

==================================  ======================================================
annotation of parameter `p`         arguments of the op
==================================  ======================================================
dataclass, NamedTuple, TypedDict    `p_<field>` for each field, flattened in turn
Enum                                `str p`, the member's name
dict[str, T]                        `str[] p_keys`, `T[] p_values`
list[list[T]]                       `int[] p_lengths`, `T[] p_values`
==================================  ======================================================

Results may be dataclasses, NamedTuples, TypedDicts and Enums-free tuples of them; a plain dict has no keys that a trace
could know. `CustomOpDef` takes and gives the structures; `ops.ns.name` takes the flat arguments.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opweave.registry.annotations import type_of_annotation
from opweave.registry.errors import ArgumentError, SchemaError
from opweave.registry.interrupts import let_through

Leaf = tuple[str, Any]


class Codec:
    """How a value of one annotation becomes flat values, and back."""

    def leaves(self, name: str) -> list[Leaf]:
        """(name, annotation) of the flat values."""
        raise NotImplementedError

    def encode(self, value: Any, what: str) -> list[Any]:
        """The flat values.

        Raises
        ------
        ArgumentError
            If the value is not of the annotated type.
        """
        raise NotImplementedError

    def decode(self, values: Iterator[Any]) -> Any:
        """The value, from as many flat values as it has."""
        raise NotImplementedError


class Plain(Codec):
    """A value that a schema has a type for."""

    def __init__(self, annotation: Any):
        self.annotation = annotation

    def leaves(self, name: str) -> list[Leaf]:
        return [(name, self.annotation)]

    def encode(self, value: Any, what: str) -> list[Any]:
        return [value]

    def decode(self, values: Iterator[Any]) -> Any:
        return next(values)


class Record(Codec):
    """A dataclass, NamedTuple or TypedDict, or a tuple of results: fields in order."""

    def __init__(self, kind: Any, fields: dict[str, Codec]):
        self.kind = kind
        self.fields = fields

    def leaves(self, name: str) -> list[Leaf]:
        return [
            leaf for field, codec in self.fields.items() for leaf in codec.leaves(f"{name}_{field}" if name else field)
        ]

    def encode(self, value: Any, what: str) -> list[Any]:
        kind = self.kind
        if typing.is_typeddict(kind):
            if not isinstance(value, dict) or set(value) != set(self.fields):
                raise ArgumentError(f"{what} must be a dict with the keys {', '.join(self.fields)}", got=_brief(value))
            part: Callable[[str], Any] = value.__getitem__
        elif kind is tuple:
            if not isinstance(value, (tuple, list)) or len(value) != len(self.fields):
                raise ArgumentError(f"{what} must be a tuple of {len(self.fields)}", got=_brief(value))
            part = dict(zip(self.fields, value, strict=True)).__getitem__
        else:
            if not isinstance(value, kind):
                raise ArgumentError(f"{what} must be a {kind.__name__}", got=_brief(value))
            part = functools.partial(getattr, value)

        return [flat for field, codec in self.fields.items() for flat in codec.encode(part(field), f"{what}.{field}")]

    def decode(self, values: Iterator[Any]) -> Any:
        found = {field: codec.decode(values) for field, codec in self.fields.items()}
        return tuple(found.values()) if self.kind is tuple else self.kind(**found)


class Member(Codec):
    """An Enum, by the member's name."""

    def __init__(self, kind: type[enum.Enum]):
        self.kind = kind

    def leaves(self, name: str) -> list[Leaf]:
        return [(name, str)]

    def encode(self, value: Any, what: str) -> list[Any]:
        if not isinstance(value, self.kind):
            raise ArgumentError(
                f"{what} must be a {self.kind.__name__}", got=_brief(value),
                hint=", ".join(f"{self.kind.__name__}.{member.name}" for member in self.kind),
            )  # fmt: skip
        return [value.name]

    def decode(self, values: Iterator[Any]) -> Any:
        return self.kind[next(values)]


class Mapping(Codec):
    """A dict with text keys: the keys and the values."""

    def __init__(self, element: Any):
        self.element = element

    def leaves(self, name: str) -> list[Leaf]:
        return [(f"{name}_keys", list[str]), (f"{name}_values", list[self.element])]

    def encode(self, value: Any, what: str) -> list[Any]:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise ArgumentError(f"{what} must be a dict with text keys", got=_brief(value))
        return [list(value), list(value.values())]

    def decode(self, values: Iterator[Any]) -> Any:
        keys = next(values)
        return dict(zip(keys, next(values), strict=True))


class Rows(Codec):
    """A list of lists: their lengths and all elements in a row."""

    def __init__(self, element: Any):
        self.element = element

    def leaves(self, name: str) -> list[Leaf]:
        return [(f"{name}_lengths", list[int]), (f"{name}_values", list[self.element])]

    def encode(self, value: Any, what: str) -> list[Any]:
        if not isinstance(value, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in value):
            raise ArgumentError(f"{what} must be a list of lists", got=_brief(value))
        return [[len(row) for row in value], [item for row in value for item in row]]

    def decode(self, values: Iterator[Any]) -> Any:
        lengths = next(values)
        items = iter(next(values))
        return [[next(items) for _ in range(length)] for length in lengths]


def _brief(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) < 80 else text[:77] + '...'} ({type(value).__name__})"


def _codec(annotation: Any, what: str, result: bool = False) -> Codec | None:
    """The codec of an annotation; None where neither a schema nor this module has anything for it."""
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return None if result else Member(annotation)
    fields: dict[str, Any] | None = None
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        hints = typing.get_type_hints(annotation)
        fields = {field.name: hints[field.name] for field in dataclasses.fields(annotation) if field.init}
    elif typing.is_typeddict(annotation) or (
        isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields")
    ):
        fields = typing.get_type_hints(annotation)
    if fields is not None:
        found = {name: _codec(hint, f"{what}.{name}", result) for name, hint in fields.items()}
        missing = [name for name, codec in found.items() if codec is None]
        if missing:
            raise SchemaError(
                f"{what}: field {missing[0]!r} of {getattr(annotation, '__name__', annotation)} has no schema type",
                got=str(fields[missing[0]]), hint="tensors, numbers, texts, lists of them, and structures of these",
            )  # fmt: skip
        return Record(annotation, {name: codec for name, codec in found.items() if codec is not None})
    origin, parameters = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is dict and not result:
        if len(parameters) != 2 or parameters[0] is not str or type_of_annotation(list[parameters[1]]) is None:
            raise SchemaError(f"{what}: a dict must be dict[str, T] with a T that a list can hold", got=str(annotation))
        return Mapping(parameters[1])
    if origin is dict:
        raise SchemaError(
            f"{what}: a dict result has keys that a trace cannot know", got=str(annotation),
            hint="annotate a TypedDict, a NamedTuple or a dataclass",
        )  # fmt: skip
    if origin in (list, Sequence) and typing.get_origin(parameters[0]) in (list, Sequence) and not result:
        (inner,) = typing.get_args(parameters[0])
        return None if type_of_annotation(list[inner]) is None else Rows(inner)
    return None if type_of_annotation(annotation) is None else Plain(annotation)


class Structure:
    """How a function's structured parameters and results become flat ones.

    Attributes
    ----------
    parameters : dict of str to Codec
        By the function's parameter names.
    result : Codec or None
        None where the results are flat already.
    """

    def __init__(self, signature: inspect.Signature, parameters: dict[str, Codec], result: Codec | None, returns: Any):
        self.signature = signature
        self.parameters = parameters
        self.result = result
        self.returns = returns

    @staticmethod
    def of(fn: Callable[..., Any]) -> Structure | None:
        """The structure of an annotated function; None if a schema can describe it as it is."""
        try:
            signature = inspect.signature(fn)
            hints = typing.get_type_hints(fn)
        except Exception as error:  # annotations are the user's expressions; `infer_schema` says what is wrong
            let_through(error)
            return None
        name = getattr(fn, "__name__", "function")
        parameters: dict[str, Codec] = {}
        for parameter in signature.parameters.values():
            codec = _codec(hints.get(parameter.name), f"{name}: parameter {parameter.name!r}")
            if codec is None or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                return None
            parameters[parameter.name] = codec
        returns = hints.get("return")
        result: Codec | None = None
        if typing.get_origin(returns) is tuple and typing.get_args(returns)[-1:] != (...,):
            parts = [_codec(item, f"{name}: the return", True) for item in typing.get_args(returns)]
            if all(part is not None for part in parts) and any(not isinstance(part, Plain) for part in parts):
                result = Record(tuple, {str(i): part for i, part in enumerate(parts) if part is not None})
        elif returns is not None and returns is not type(None):
            codec = _codec(returns, f"{name}: the return", True)
            result = None if codec is None or isinstance(codec, Plain) else codec
        if result is None and all(isinstance(codec, Plain) for codec in parameters.values()):
            return None
        return Structure(signature, parameters, result, returns)

    def flat_signature(self) -> inspect.Signature:
        """The signature of the op's own function."""
        made = []
        for name, parameter in self.signature.parameters.items():
            codec = self.parameters[name]
            leaves = codec.leaves(name)
            defaults = [parameter.empty] * len(leaves)
            if parameter.default is not parameter.empty:
                defaults = codec.encode(parameter.default, f"the default of {name!r}")
            made += [
                inspect.Parameter(leaf, parameter.kind, annotation=annotation, default=default)
                for (leaf, annotation), default in zip(leaves, defaults, strict=True)
            ]
        returns = self.returns
        if self.result is not None:
            kinds = tuple(annotation for _, annotation in self.result.leaves(""))
            returns = kinds[0] if len(kinds) == 1 else tuple[kinds]  # type: ignore[valid-type]
        return inspect.Signature(made, return_annotation=returns)

    def flat_names(self, names: Sequence[str]) -> list[str]:
        """The op's arguments for some of the function's parameters (`p`), or of their parts (`p_field`)."""
        found: list[str] = []
        for name in names:
            codec = self.parameters.get(name)
            if codec is None:
                found.append(name)
                continue
            leaves = codec.leaves(name)
            tensors = [
                leaf for leaf, annotation in leaves if (kind := type_of_annotation(annotation)) and kind.has_tensor
            ]
            found += [name] if isinstance(codec, Plain) else tensors
        return found

    def encode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """A call's flat arguments.

        Raises
        ------
        ArgumentError
            If the arguments do not bind, or one has another type than its annotation.
        """
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(str(error), got=f"def {self.signature}") from None
        bound.apply_defaults()
        positional: list[Any] = []
        keyword: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            codec = self.parameters[name]
            flat = codec.encode(value, f"argument {name!r}")
            if self.signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY:
                keyword.update(zip([leaf for leaf, _ in codec.leaves(name)], flat, strict=True))
            else:
                positional += flat
        return positional, keyword

    def decode(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The function's arguments from the op's."""
        values = iter(args)
        positional: list[Any] = []
        keyword: dict[str, Any] = {}
        for name, parameter in self.signature.parameters.items():
            codec = self.parameters[name]
            if parameter.kind is parameter.KEYWORD_ONLY:
                keyword[name] = codec.decode(iter([kwargs[leaf] for leaf, _ in codec.leaves(name)]))
            else:
                positional.append(codec.decode(values))
        return positional, keyword

    def flatten_result(self, value: Any, what: str) -> Any:
        """The op's result from the function's."""
        if self.result is None:
            return value
        flat = self.result.encode(value, f"{what}: the result")
        return flat[0] if len(flat) == 1 else tuple(flat)

    def build_result(self, value: Any) -> Any:
        """The function's result from the op's."""
        if self.result is None:
            return value
        single = len(self.result.leaves("")) == 1
        return self.result.decode(iter([value] if single else value))

    def flattened(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the structured arguments as one of the flat ones; results too."""

        def flat(*args: Any, **kwargs: Any) -> Any:
            positional, keyword = self.decode(args, kwargs)
            return self.flatten_result(fn(*positional, **keyword), getattr(fn, "__name__", "the function"))

        flat.__name__ = getattr(fn, "__name__", "flat")
        flat.__signature__ = self.flat_signature()  # type: ignore[attr-defined]
        flat.__code__ = flat.__code__.replace(co_name=flat.__name__)
        return flat
