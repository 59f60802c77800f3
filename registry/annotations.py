"""From a Python function's annotations to a schema: `infer_schema`, and the table of what stands for what."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NoReturn

from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import SchemaError, Site
from opweave.registry.interrupts import let_through
from opweave.registry.signature import MISSING, Alias, Argument
from opweave.registry.tensor import Tensor
from opweave.registry.types import TENSOR, BaseType, ListType, OptionalType, Type, base_type

_annotations: dict[Any, str] = {
    int: "SymInt", float: "float", bool: "bool", complex: "complex", str: "str", DType: "ScalarType", Device: "Device",
    Tensor: "Tensor",
}  # fmt: skip
_NUMBER_TYPES = frozenset((int, float, bool, complex))


def register_annotation(python_type: Any, schema_type: str) -> None:
    """Let `infer_schema` read an annotation.

    Parameters
    ----------
    python_type : type
        The class that functions are annotated with.
    schema_type : str
        Name of the schema type it stands for.
    """
    _annotations[python_type] = schema_type


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """Write the schema of a function with type annotations.

    Parameters
    ----------
    prototype_function : callable
        The function. Its parameters are annotated with `Tensor`, `int`, `float`, `bool`, `str`, `complex`, a dtype or
        device, a union of number types (a `Scalar`), sequences of these, and options of all of them; its return with
        `Tensor`, a sequence of them, a number type, a tuple of these, or None.
    mutates_args : iterable of str or "unknown"
        Names of the parameters that the function writes to; `"unknown"` stands for every tensor.
    op_name : str, optional
        Name to put in front.

    Returns
    -------
    str
        The schema. Returns are taken not to share memory with arguments nor with each other.

    Raises
    ------
    SchemaError
        If an annotation is missing or has no schema type; names the parameter and the function's place.

    Examples
    --------
    >>> def foo(x: float, times: int = 2) -> float: ...
    >>> infer_schema(foo, mutates_args=(), op_name="foo")
    'foo(float x, SymInt times=2) -> float'
    """
    return _Inference(prototype_function, mutates_args).schema(op_name)


class _Inference:
    """`infer_schema` for one function."""

    def __init__(self, function: Callable[..., Any], mutates_args: str | Iterable[str]):
        self.inner = inspect.unwrap(function)
        self.signature = inspect.signature(function)
        self.name = getattr(function, "__name__", type(function).__name__)
        code = getattr(self.inner, "__code__", None)
        self.site = None if code is None else Site(code.co_filename, code.co_firstlineno, self.name)
        if isinstance(mutates_args, str) and mutates_args != "unknown":
            self.fail(
                "mutates_args must be a sequence of argument names or the string 'unknown'",
                got=f"mutates_args={mutates_args!r}", hint=f"mutates_args=({mutates_args!r},)",
            )  # fmt: skip
        if not isinstance(mutates_args, Iterable):
            self.fail(
                "mutates_args must be a sequence of argument names or the string 'unknown'",
                got=f"mutates_args={mutates_args!r}", hint="mutates_args=() for an op that writes none",
            )  # fmt: skip
        self.mutates: frozenset[str] | None = None if isinstance(mutates_args, str) else frozenset(mutates_args)

    def fail(self, what: str, *, got: str | None = None, hint: str | None = None) -> NoReturn:
        raise SchemaError(
            f"infer_schema({self.name}): {what}", got=got or f"def {self.name}{self.signature}", at=self.site, hint=hint
        )

    def schema(self, op_name: str | None) -> str:
        parameters = self.signature.parameters
        unknown = sorted((self.mutates or frozenset()) - parameters.keys(), key=repr)
        if unknown:
            self.fail(
                f"{', '.join(map(repr, unknown))} in mutates_args but not in the signature",
                hint="name the parameters that are written to, or say 'unknown'",
            )
        texts: list[str] = []
        for index, parameter in enumerate(parameters.values()):
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in texts:
                texts.append("*")
            texts.append(str(self.argument(index, parameter)))
        return f"{op_name or ''}({', '.join(texts)}) -> {self.returns()}"

    def argument(self, index: int, parameter: inspect.Parameter) -> Argument:
        name = parameter.name
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            self.fail(
                f"parameter {name!r} is {parameter.kind.description}",
                hint="a schema has no positional-only parameters, *args or **kwargs; take a list instead",
            )
        if parameter.annotation is parameter.empty:
            self.fail(f"parameter {name!r} must have a type annotation", hint=f"{name}: Tensor, for one")
        kind = self.annotation(parameter.annotation, f"parameter {name!r}")
        alias = None
        if name in self.mutates if self.mutates is not None else kind.base == TENSOR:
            if kind.base != TENSOR:
                self.fail(f"parameter {name!r} of type {kind} is in mutates_args", hint="only tensors can be mutated")
            alias = Alias((f"a{index}",), (f"a{index}",), is_write=True)
            if kind.is_list:
                alias = Alias(is_write=True, contained=alias)
        default = MISSING
        if parameter.default is not parameter.empty:
            default = self.default(parameter.default, kind, name)
        return Argument(name, kind, default, alias=alias)

    def default(self, value: Any, kind: Type, name: str) -> Any:
        if isinstance(value, list):
            value = tuple(value)
        if isinstance(value, Device):
            value = str(value)
        if not kind.fits_default(value):
            self.fail(
                f"parameter {name!r} of type {kind} cannot have this default", got=f"{value!r} ({type(value).__name__})"
            )
        return value

    def returns(self) -> str:
        annotation = self.signature.return_annotation
        if annotation is inspect.Signature.empty:
            self.fail("no return type annotation was provided", hint="-> Tensor, or -> None where it returns nothing")
        annotation = self.evaluated(annotation, "the return")
        if annotation is None or annotation is type(None):
            return "()"
        if typing.get_origin(annotation) is not tuple:
            return str(self.return_type(annotation))
        kinds = [str(self.return_type(item)) for item in typing.get_args(annotation)]
        # A tuple of one is told from a lone return by a second pair of parentheses.
        return f"(({kinds[0]}))" if len(kinds) == 1 else f"({', '.join(kinds)})"

    def return_type(self, annotation: Any) -> Type:
        kind = self.annotation(annotation, "the return")
        tensors = kind == ListType(TENSOR)
        if not tensors and not (isinstance(kind, BaseType) and kind.name in _RETURNED):
            self.fail(f"the return has unsupported type {_annotation_text(annotation)}", hint=_RETURN_HINT)
        return kind

    def annotation(self, annotation: Any, where: str) -> Type:
        evaluated = self.evaluated(annotation, where)
        kind = type_of_annotation(evaluated)
        if kind is None:
            hint = _RETURN_HINT if where == "the return" else _PARAMETER_HINT
            if typing.get_origin(evaluated) is tuple or evaluated is tuple:
                items = [item for item in typing.get_args(evaluated) if item is not ...]
                hint = "a schema has no tuples; say list"
                if len(set(items)) == 1 and type_of_annotation(items[0]) is not None:
                    hint += f"[{_annotation_text(items[0])}]"
            self.fail(f"{where} has unsupported type {_annotation_text(annotation)}", hint=hint)
        return kind

    @cached_property
    def scope(self) -> dict[str, Any]:
        """What names in string annotations mean: the function's globals, then what is commonly imported."""
        known = {getattr(kind, "__name__", ""): kind for kind in _annotations}
        known |= {"Optional": typing.Optional, "List": list, "Sequence": Sequence, "Union": typing.Union}
        return known | {"dtype": DType, "device": Device} | getattr(self.inner, "__globals__", {})

    def evaluated(self, annotation: Any, where: str) -> Any:
        """The annotation with strings in it evaluated where the function was written."""
        holder = types.SimpleNamespace(__annotations__={"value": annotation})
        try:
            return typing.get_type_hints(holder, self.scope, self.scope, include_extras=True)["value"]
        except Exception as error:  # the annotation is the user's expression and can raise anything
            let_through(error)
            self.fail(
                f"{where} has an annotation that cannot be evaluated: {type(error).__name__}: {error}",
                hint="string annotations, which `from __future__ import annotations` makes of all, see the module's "
                "names only, not those of an enclosing function",
            )


_RETURNED = ("Tensor", "SymInt", "float", "bool", "Scalar", "complex")
_PARAMETER_HINT = (
    "Tensor, int, float, bool, str, complex, int | float | bool, dtype, device; list[T], T | None of these"
)
_RETURN_HINT = "Tensor, list[Tensor], int, float, bool, complex, int | float | bool, tuple[...] of these, or None"


def type_of_annotation(annotation: Any) -> Type | None:
    """The schema type of an evaluated annotation, None where there is none."""
    origin, parameters = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_of_annotation(parameters[0])
    if origin is typing.Union or origin is types.UnionType:
        rest = [parameter for parameter in parameters if parameter is not type(None)]
        if len(rest) > 1:
            element = base_type("Scalar") if _NUMBER_TYPES.issuperset(rest) else None
        else:
            element = type_of_annotation(rest[0])
        return OptionalType(element) if element is not None and len(rest) < len(parameters) else element
    if origin in (list, collections.abc.Sequence) and len(parameters) == 1:
        element = type_of_annotation(parameters[0])
        return None if element is None or element.is_list else ListType(element)
    name = _annotations.get(annotation) if isinstance(annotation, collections.abc.Hashable) else None
    return None if name is None else base_type(name)


def _annotation_text(annotation: Any) -> str:
    return (
        annotation.__qualname__ if isinstance(annotation, type) and not typing.get_args(annotation) else str(annotation)
    )
