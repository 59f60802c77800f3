"""`dataclass`, as the standard library has it, of classes whose methods are made when they are first used.

The standard library writes and compiles up to eight functions for each class at once, half a millisecond a class; a
process that compiles one function loads two hundred classes and uses the methods of few. Here only `__init__` is
written and compiled, at its first call; the others are closures, made when they are asked for. What there is beyond
that is the standard library's: fields, `replace`, pattern matching, slots.

    from opweave.registry.dataclass import dataclass

    @dataclass(frozen=True)
    class Point:
        x: int
        y: int = 0
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
import reprlib
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field
from typing import TYPE_CHECKING, Any

from opweave.registry import forking

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        """`dataclasses.dataclass`, put off; there is no `InitVar`."""
        if cls is None:
            return lambda cls: _put_off(cls, options)
        return _put_off(cls, options)


_lock = forking.short_lock()
_OF_FIELDS = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
_ORDER = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}
#: What the standard library reads of a class to know its fields.
_READ = ("__module__", "__qualname__", "__doc__", "__match_args__")


class _Pending:
    """Stands for an attribute of a class that is not made yet."""

    __slots__ = ("cls", "name", "options")

    def __init__(self, cls: type, name: str, options: dict[str, Any]) -> None:
        self.cls, self.name, self.options = cls, name, options

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        found = self.made()
        bind = getattr(type(found), "__get__", None)
        return found if bind is None else bind(found, instance, owner)

    def made(self) -> Any:
        """The attribute, which takes this one's place."""
        cls, name = self.cls, self.name
        with _lock:
            if cls.__dict__[name] is self:
                if name in _OF_FIELDS:
                    _find_fields(cls, self.options)
                else:
                    setattr(cls, name, _method(cls, name, self.options))
            return cls.__dict__[name]


def _put_off(cls: type, options: dict[str, Any]) -> type:
    is_frozen, compares = options.get("frozen", False), options.get("eq", True)
    if options.get("slots"):  # another class takes its place
        alike = {name: options[name] for name in ("frozen", "slots", "weakref_slot", "match_args") if name in options}
        cls = dataclasses.dataclass(init=False, repr=False, eq=False, **alike)(cls)
    own = cls.__dict__
    names = [*_OF_FIELDS] if "__dataclass_fields__" not in own else []
    if not options.get("match_args", True) and names:
        names.remove("__match_args__")
    names += ["__init__"] if options.get("init", True) else ()
    names += ["__repr__"] if options.get("repr", True) else ()
    names += ["__eq__"] if compares else ()
    names += _ORDER if options.get("order") else ()
    names += ("__setattr__", "__delattr__") if is_frozen else ()
    has_hash = own.get("__hash__") is not None
    for name in names:
        if name not in own:
            setattr(cls, name, _Pending(cls, name, options))
    if compares and not has_hash:
        cls.__hash__ = _Pending(cls, "__hash__", options) if is_frozen else None  # type: ignore[assignment]
    return cls


# ---- fields ----------------------------------------------------------------------------------------------------------


#: What of an annotation's text may say that it is of no field, or of none like most.
_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")


def _find_fields(cls: type, options: dict[str, Any]) -> None:
    """Find the fields as the standard library does, which looks at each annotation for what it may mean."""
    fields: dict[str, Any] = {}
    for base in cls.__mro__[-1:0:-1]:
        fields |= getattr(base, "__dataclass_fields__", {})
    annotations, plain = cls.__annotations__, _plain()
    given = {name: cls.__dict__.get(name, MISSING) for name in annotations}
    if (
        options.get("kw_only")
        or any(type(text) is not str or any(word in text for word in _SPECIAL) for text in annotations.values())
        or any(value.__class__.__hash__ is None for value in given.values())  # which it refuses
    ):
        _let_find(cls, options, fields)
        return
    for name, default in given.items():
        default = MISSING if isinstance(default, types.MemberDescriptorType) else default
        field: Any = default if isinstance(default, Field) else dataclasses.field(default=default)
        field.name, field.type, field._field_type = name, annotations[name], plain["kind"]
        field.kw_only = field.kw_only is True
        fields[name] = field
        if field is default:
            delattr(cls, name) if field.default is MISSING else setattr(cls, name, field.default)
    made = {**plain["own"], "__dataclass_params__": copy.copy(plain["params"])}
    made["__dataclass_params__"].frozen = options.get("frozen", False)
    if options.get("match_args", True):
        made["__match_args__"] = tuple(f.name for f in fields.values() if f.init and not f.kw_only)
    _give(cls, {**made, "__dataclass_fields__": fields})


@functools.cache
def _plain() -> dict[str, Any]:
    """What the standard library makes of a class with one field: the field's kind, parameters, and the rest."""
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(
        type("Plain", (), {"__annotations__": {"x": "int"}, "__doc__": ""})
    )
    own = {name: value for name, value in vars(made).items() if name == "__replace__"}
    return {"kind": dataclasses.fields(made)[0]._field_type, "params": made.__dataclass_params__, "own": own}


def _give(cls: type, made: dict[str, Any]) -> None:
    for name, value in made.items():
        if name not in cls.__dict__ or type(cls.__dict__[name]) is _Pending:
            setattr(cls, name, value)


def _let_find(cls: type, options: dict[str, Any], inherited: dict[str, Any]) -> None:
    """Let the standard library find the fields, of a class like this one that has no methods to be made."""
    annotations = cls.__annotations__
    own = {name: value for name, value in cls.__dict__.items() if name in annotations or name in _READ}
    own = {name: value for name, value in own.items() if type(value) is not _Pending}
    own |= {"__annotations__": annotations, "__doc__": own.get("__doc__") or cls.__name__}
    base = type(cls.__name__, (), {"__dataclass_fields__": inherited, "__dataclass_params__": _UNFROZEN})
    find = dataclasses.dataclass(init=False, repr=False, eq=False, match_args=options.get("match_args", True))
    alike: Any = find(type(cls.__name__, (base,), own))
    alike.__dataclass_params__.frozen = options.get("frozen", False)
    for name in annotations:
        if isinstance(cls.__dict__.get(name), Field):
            default = alike.__dict__.get(name, MISSING)
            delattr(cls, name) if default is MISSING else setattr(cls, name, default)
    names = ("__dataclass_params__", "__match_args__", "__replace__", "__dataclass_fields__")
    _give(cls, {name: alike.__dict__[name] for name in names if name in alike.__dict__})


#: All that is asked of a base's parameters.
_UNFROZEN = types.SimpleNamespace(frozen=False)


# ---- methods ---------------------------------------------------------------------------------------------------------


def _method(cls: type, name: str, options: dict[str, Any]) -> Callable[..., Any]:
    """A method of a class."""
    fields: Sequence[Field[Any]] = dataclasses.fields(cls)
    if name == "__init__":
        made = _init(cls, fields, options)
    elif name == "__repr__":
        made = _repr([f.name for f in fields if f.repr])
    elif name == "__hash__":
        made = _hash([f.name for f in fields if (f.compare if f.hash is None else f.hash)])
    elif name == "__eq__" or name in _ORDER:
        made = _comparison(operator.eq if name == "__eq__" else _ORDER[name], [f.name for f in fields if f.compare])
    else:
        made = _frozen(cls, name, frozenset(f.name for f in fields))
    made.__name__, made.__qualname__, made.__module__ = name, f"{cls.__qualname__}.{name}", cls.__module__
    return made


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


#: Of a parameter without an argument, whose value is made.
_FACTORY = _Factory()


def _init(cls: type, fields: Sequence[Field[Any]], options: dict[str, Any]) -> Callable[..., Any]:
    names: dict[str, Any] = {"__name__": cls.__module__, "FACTORY": _FACTORY, "write": object.__setattr__}
    positional, keyword, body = [], [], []
    for i, f in enumerate(fields):
        value = f.name
        if f.default_factory is not MISSING:
            names[f"make{i}"] = f.default_factory
            value = f"make{i}() if {f.name} is FACTORY else {f.name}" if f.init else f"make{i}()"
        has_default = f.default is not MISSING
        if has_default:
            names[f"default{i}"] = f.default
        if f.init:
            default = f"=default{i}" if has_default else "=FACTORY" if f.default_factory is not MISSING else ""
            (keyword if f.kw_only else positional).append(f.name + default)
        elif has_default and options.get("slots"):
            value = f"default{i}"
        elif has_default or f.default_factory is MISSING:
            continue
        body.append(f"write(self, {f.name!r}, {value})" if options.get("frozen") else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *keyword] if keyword else [])])
    text = f"def __init__({parameters}):\n  " + "\n  ".join(body or ["pass"])
    exec(compile(text, f"<opweave class {cls.__qualname__}>", "exec"), names)
    made = names["__init__"]
    made.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return made


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values of some fields."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    if not names:
        return lambda self: ()
    (name,) = names
    return lambda self: (getattr(self, name),)


def _repr(names: list[str]) -> Callable[[Any], str]:
    def made(self: Any) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({values})"

    return reprlib.recursive_repr()(made)


def _hash(names: list[str]) -> Callable[[Any], int]:
    get = _getter(names)

    def made(self: Any) -> int:
        return hash(get(self))

    return made


def _comparison(compare: Callable[[Any, Any], bool], names: list[str]) -> Callable[[Any, Any], bool]:
    get = _getter(names)

    def made(self: Any, other: Any) -> bool:
        return compare(get(self), get(other)) if other.__class__ is self.__class__ else NotImplemented

    return made


def _frozen(cls: type, name: str, fields: frozenset[str]) -> Callable[..., None]:
    """What refuses that an object is changed."""
    verb = "assign to" if name == "__setattr__" else "delete"

    def made(self: Any, attribute: str, *value: Any) -> None:
        if type(self) is cls or attribute in fields:
            raise dataclasses.FrozenInstanceError(f"cannot {verb} field {attribute!r}")
        getattr(super(cls, self), name)(attribute, *value)

    return made
