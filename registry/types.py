"""The types of a schema: how they print, and what a value of one is.

    Tensor   int[2]?   Tensor?[]   (int, t[])   Dict(str, Tensor)

A type answers for its values: `convert` brings an argument to it, `accepts` says whether one can be, `test` is what the
entry of an op asks in line, `fits_default` is what a parser knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device, parse_device
from opweave.registry.dtypes import DType, as_dtype
from opweave.registry.interrupts import let_through
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Type:
    """A type of the schema language; equal types compare equal and hash alike."""

    @property
    def base(self) -> Type:
        """The type without the lists and options around it: `Tensor` for `Tensor?[]`."""
        return self

    @property
    def required(self) -> Type:
        """The type without the option around it."""
        return self

    @property
    def has_tensor(self) -> bool:
        """Whether a value of this type can hold a tensor."""
        return False

    @property
    def is_optional(self) -> bool:
        """Whether None is a value."""
        return False

    @property
    def is_list(self) -> bool:
        """Whether a value is a list, or may be where it is optional."""
        return isinstance(self.required, ListType)

    @property
    def is_tensor(self) -> bool:
        """Whether a value is a tensor, or may be where it is optional."""
        return self.required == TENSOR

    @property
    def names_tensor(self) -> bool:
        """Whether it says that there are tensors, as a type that may be anything does not."""
        return self.base == TENSOR

    # ---- values

    @property
    def test(self) -> str:
        """When something is to be done about an argument `{0}`, as text; what `$name` stands for is in `TESTED`."""
        return "{0} is not None"

    def convert(self, value: Any) -> Any:
        """The value as one of this type.

        Raises
        ------
        TypeError, ValueError or AttributeError
            If it is none, and stands for none.
        """
        return value

    def accepts(self, value: Any, numbers: bool = False) -> bool:
        """Whether an argument is a value of this type, or stands for one; with `numbers` also one for a tensor."""
        if self.refuses_bool(value):
            return False
        try:
            self.convert(value)
        except (TypeError, ValueError, AttributeError) as error:
            let_through(error)
            return False
        return True

    def refuses_bool(self, value: Any) -> bool:
        """Whether a truth value, or a list with one, stands where the schema has whole numbers."""
        if self.base not in INTS:
            return False
        return type(value) is bool or (isinstance(value, (list, tuple)) and any(type(item) is bool for item in value))

    def fits_default(self, value: Any) -> bool:
        """Whether a default is possible, as far as PyTorch's own parser can tell."""
        return value is None and self.required in (TENSOR, base_type("Generator"))


@dataclass(frozen=True, slots=True)
class BaseType(Type):
    """A type with a name and nothing inside: `Tensor`, `int`, `ScalarType`."""

    name: str

    @property
    def has_tensor(self) -> bool:
        return self.name in ("Tensor", "Any")

    @property
    def test(self) -> str:
        return _TESTS.get(self.name, "{0} is not None")

    def convert(self, value: Any) -> Any:
        converter = _CONVERTERS.get(self.name)
        return value if converter is None else converter(value)

    def accepts(self, value: Any, numbers: bool = False) -> bool:
        if isinstance(value, Tensor) and self.name in ("int", "SymInt", "bool"):
            return False
        if self.name == "Tensor":
            number = type(value) in (int, float, bool, complex) or isinstance(value, Symbolic)
            return isinstance(value, Tensor) or (numbers and number)
        if isinstance(value, Tensor) and self.name in ("float", "Scalar"):
            return not value._sizes
        if isinstance(value, float) and self in INTS:
            return False
        return Type.accepts(self, value)

    def fits_default(self, value: Any) -> bool:
        if value is None:
            return Type.fits_default(self, value)
        if isinstance(value, bool):
            return self.name in ("bool", "Scalar")
        if isinstance(value, str):
            return self.name in ("str", "Device")
        if isinstance(value, DType):
            return self.name == "ScalarType"
        return isinstance(value, (int, float, complex)) and self.name in (
            _NUMBERS if isinstance(value, int) else _NUMBERS - _INTEGERS
        )

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class VarType(Type):
    """A type variable, bound by the first argument that uses it: `t` in `t[] self -> t`."""

    name: str

    @property
    def has_tensor(self) -> bool:
        return True

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class _MadeOfOne(Type):
    """A type made of another one."""

    element: Type

    @property
    def base(self) -> Type:
        return self.element.base

    @property
    def has_tensor(self) -> bool:
        return self.element.has_tensor


@dataclass(frozen=True, slots=True)
class OptionalType(_MadeOfOne):
    """`T?`."""

    @property
    def required(self) -> Type:
        return self.element

    @property
    def is_optional(self) -> bool:
        return True

    @property
    def test(self) -> str:
        test = self.element.test
        return test if test == "{0} is not None" else f"{{0}} is not None and ({test})"

    def convert(self, value: Any) -> Any:
        return None if value is None else self.element.convert(value)

    def accepts(self, value: Any, numbers: bool = False) -> bool:
        return value is None or self.element.accepts(value, numbers)

    def fits_default(self, value: Any) -> bool:
        return value is None or self.element.fits_default(value)

    def __str__(self) -> str:
        return f"{self.element}?"


@dataclass(frozen=True, slots=True)
class ListType(_MadeOfOne):
    """`T[]`, or `T[n]`: a list that a single element may stand for, meaning n copies of it."""

    size: int | None = None

    @property
    def test(self) -> str:
        if self.element in INTS:
            return "{0}.__class__ not in $LISTS or not $ONLY_INT.issuperset($map($type, {0}))"
        if self.element == base_type("bool"):
            return "{0}.__class__ not in $LISTS or not $ONLY_BOOL.issuperset($map($type, {0}))"
        return "{0}.__class__ is not $list" if self.element == TENSOR and self.size is None else "{0} is not None"

    def convert(self, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            if self.size is None or self.names_tensor:
                raise TypeError
            # `int[2]` takes one number for all.
            return [self.element.convert(value)] * self.size
        if self.names_tensor:
            if not self.element.is_optional and any(item is None for item in value):
                raise TypeError
            return value
        return [self.element.convert(item) for item in value]

    def accepts(self, value: Any, numbers: bool = False) -> bool:
        if not self.names_tensor:
            return Type.accepts(self, value)
        return isinstance(value, (list, tuple)) and all(
            isinstance(item, Tensor) or (item is None and self.element.is_optional) for item in value
        )

    def fits_default(self, value: Any) -> bool:
        if isinstance(value, tuple):
            return all(map(self.element.fits_default, value))
        return self.size is not None and value is not None and self.element.fits_default(value)

    def __str__(self) -> str:
        return f"{self.element}[{'' if self.size is None else self.size}]"


@dataclass(frozen=True, slots=True)
class TupleType(Type):
    """`(A, B)`."""

    elements: tuple[Type, ...]

    @property
    def has_tensor(self) -> bool:
        return any(element.has_tensor for element in self.elements)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


@dataclass(frozen=True, slots=True)
class GenericType(Type):
    """A named type with parameters: `Dict(str, Tensor)`, `Union(int, float)`, `Future(t)`."""

    name: str
    parameters: tuple[Type, ...]

    @property
    def has_tensor(self) -> bool:
        return any(parameter.has_tensor for parameter in self.parameters)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})"


BASE_NAMES = frozenset((
    "Tensor", "int", "SymInt", "float", "SymFloat", "bool", "SymBool", "complex", "Scalar", "str", "None", "NoneType",
    "ScalarType", "Device", "DeviceIndex", "Layout", "MemoryFormat", "Generator", "Dimname", "Storage", "Stream",
    "QScheme", "Quantizer", "ConstQuantizerPtr", "Capsule", "PyObject", "Any", "AnyClassType", "AnyEnumType",
))  # fmt: skip
#: Types that schemas of PyTorch print but no text of a user's may name.
UNWRITTEN_NAMES = frozenset(("SymFloat", "PyObject", "Dimname"))
# Printed under another name than written.
_SYNONYMS = {"None": "NoneType", "ConstQuantizerPtr": "int", "DeviceIndex": "int"}

TENSOR = BaseType("Tensor")
DEVICE = BaseType("Device")
SCALAR = BaseType("Scalar")


@cache
def base_type(name: str) -> BaseType:
    return BaseType(_SYNONYMS.get(name, name))


#: Types whose values are whole numbers.
INTS = frozenset((base_type("int"), base_type("SymInt")))
_INTEGERS = frozenset(("int", "SymInt", "ScalarType", "Layout", "MemoryFormat", "DeviceIndex"))
_NUMBERS = _INTEGERS | {"float", "SymFloat", "complex", "Scalar"}

# ---- arguments of a call ---------------------------------------------------------------------------------------------

#: What the texts of `Type.test` name.
TESTED: Mapping[str, Any] = {
    "DType": DType, "MemoryFormat": MemoryFormat, "list": list, "int": int, "float": float, "bool": bool, "str": str,
    "FLOAT_OR_INT": (float, int), "LISTS": (list, tuple), "ONLY_INT": {int}, "ONLY_BOOL": {bool}, "map": map,
    "type": type,
}  # fmt: skip
_TESTS = {
    "int": "{0}.__class__ is not $int",
    "SymInt": "{0}.__class__ is not $int",
    "float": "{0}.__class__ is not $float",
    "bool": "{0}.__class__ is not $bool",
    "str": "{0}.__class__ is not $str",
    "Scalar": "{0}.__class__ not in $FLOAT_OR_INT",
    "MemoryFormat": "{0}.__class__ is not $MemoryFormat",
    "ScalarType": "{0}.__class__ is not $DType",
}


def _size(value: Any) -> Any:
    return value if isinstance(value, Symbolic) and value.kind == "int" else _int(value)


def _int(value: Any) -> int:
    if isinstance(value, (bool, Symbolic)):  # what is no size has to be a number that does not vary
        return int(value)  # type: ignore[call-overload]
    if not isinstance(value, Tensor):
        return value.__index__()
    if value._dtype.kind not in "biu":
        raise TypeError
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError
    if hasattr(value, "__torch_function__") and not isinstance(value, Tensor):  # a tensor of another library
        raise TypeError
    return float(value)


def _bool(value: Any) -> bool:
    if isinstance(value, Tensor) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError


def _complex(value: Any) -> Any:
    if isinstance(value, (str, bytes)):
        raise TypeError
    return value if isinstance(value, Symbolic) else complex(value)


def _scalar(value: Any) -> Any:
    if type(value) in (bool, complex) or isinstance(value, Symbolic):
        return value
    if isinstance(value, Tensor):
        return value.item()
    if hasattr(value, "item") and not hasattr(value, "__torch_function__"):  # no tensor of another library
        return value.item()
    if isinstance(value, (int, float)):
        return value
    raise TypeError


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError


def _device(value: Any) -> Device:
    return value if type(value) is Device else parse_device(value)


_CONVERTERS: Mapping[str, Callable[[Any], Any]] = {
    "int": _int, "SymInt": _size, "float": _float, "bool": _bool, "complex": _complex, "Scalar": _scalar, "str": _str,
    "ScalarType": as_dtype, "MemoryFormat": MemoryFormat, "Device": _device,
}  # fmt: skip
