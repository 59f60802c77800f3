"""Bringing a call's arguments to an op: the generated entry function, and values to schema types.

An op's entry has the schema's own Python signature, so the interpreter binds arguments and defaults. It takes the usual
types as they are, tested in line; anything else goes through `coerce`, which converts or raises an error that names the
argument.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave.registry.device import Device, cpu, parse_device
from opweave.registry.dtypes import DType, as_dtype
from opweave.registry.errors import ArgumentError, OpweaveError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import DEVICE_KEYS, state
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.schema import Argument, FunctionSchema
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor


def compile_function(label: str, lines: Sequence[str], names: Mapping[str, Any]) -> Callable[..., Any]:
    """The function `$call` that text defines, where `$name` is a name that no argument of a schema can have."""
    namespace = {_OWN + name: value for name, value in names.items()}
    exec(compile("\n".join(lines).replace("$", _OWN), label, "exec"), namespace)
    return namespace[f"{_OWN}call"]


_OWN = "_ow__"


def parameters(schema: FunctionSchema) -> tuple[str, str, dict[str, Any]]:
    """The schema's signature as text, the arguments of a call that hands all of them on, and what the text names."""
    taken: list[str] = []
    named: list[str] = []
    given: list[str] = []
    defaults: dict[str, Any] = {}
    for index, argument in enumerate(schema.arguments):
        name = identifier(argument.name)
        default = ""
        if argument.has_default:
            defaults[f"default_{index}"] = argument.default
            default = f"=$default_{index}"
        (named if argument.kwarg_only else taken).append(name + default)
        given.append(f"{name}={name}" if argument.kwarg_only else name)
    _require_defaults_last(taken)
    return ", ".join([*taken, *(["*", *named] if named else [])]), ", ".join(given), defaults


def build_entry(op: Any) -> Callable[..., Any]:
    """Compile a function with the schema's own signature that collects keys and calls the kernel."""
    taken, given, names = parameters(op._schema)
    names |= {
        "op": op, "table": op._table, "state": state, "slow_keys": _slow_keys, "coerce": _coerce,
        "device_bits": _device_bits, "DType": DType, "list": list, "tuple": tuple, "int": int, "float": float,
        "bool": bool, "str": str,
        "FLOAT_OR_INT": (float, int), "LISTS": (list, tuple), "ONLY_INT": {int}, "map": map, "type": type,
        "cpu_bit": DEVICE_KEYS[cpu.type].bit, "MemoryFormat": MemoryFormat, "AttributeError": AttributeError,
    }  # fmt: skip
    keys, checks, optional_keys = [], [], []
    no_gaps: set[str] = set()  # lists that must not have None in them
    device_argument = None
    arguments = op._schema.arguments
    for index, argument in enumerate(arguments):
        name = identifier(argument.name)
        kind = str(argument.type)
        if kind == "Tensor":
            bits = f"{name}._keys"
            if keys and getattr(op.decl, "takes_numbers", False):
                # A number in a Tensor's place is common enough to be tested for before an exception tells.
                bits = f"({bits} if {name}.__class__ not in $FLOAT_OR_INT else 0)"
            keys.append(bits)
        elif "Tensor" in kind:
            optional_keys.append((name, kind.rstrip("?").endswith("]")))
            if kind == "Tensor[]":
                no_gaps.add(name)
        elif kind.startswith("Device"):
            device_argument = name
        if copies := _SIZED.fullmatch(kind):  # one number for all of a list's
            given_once = f"$coerce($op, $arg_{index}, {kind!r}, {name})"
            names[f"arg_{index}"] = argument
            checks.append(f"    if {name}.__class__ is $int: {name} = [{name}] * {copies[1]}")
            checks.append(f"    elif {_FAST_CHECKS['int[]?'].format(name)}: {name} = {given_once}")
        elif kind not in ("Tensor", "Tensor?"):
            test = _FAST_CHECKS.get(kind, "{0} is not None").format(name)
            names[f"arg_{index}"] = argument
            checks.append(f"    if {test}: {name} = $coerce($op, $arg_{index}, {kind!r}, {name})")
        if kind.rstrip("?").endswith("]"):  # the caller may change its list before a backward or a graph reads it
            checks.append(f"    elif {name}.__class__ is $list: {name} = {name}.copy()")
            if op.decl is None:  # a user's function gets lists
                checks.append(f"    if {name}.__class__ is $tuple: {name} = $list({name})")
    # Python allows None for a required Tensor where the schema gives it as the default.
    tensors = [a for a in arguments if str(a.type) == "Tensor"]
    required = ", ".join(identifier(a.name) for a in tensors if not (a.has_default and a.default is None))
    optional_keys += [(identifier(a.name), False) for a in tensors if a.has_default and a.default is None]
    lines = [f"def $call({taken}):"]
    if keys:
        lines += ["    try:", f"        $keys = {' | '.join(keys)}", "    except $AttributeError:"]
        lines += [f"        $keys = $slow_keys($op, ({required}{',' * bool(required)}), required=True)"]
    else:
        lines += ["    $keys = 0"]
    for name, is_list in optional_keys:
        keys_of = f"$slow_keys($op, {name}{', required=True' * (is_list and name in no_gaps)})"
        if not is_list:
            keys_of = f"$slow_keys($op, ({name},))"
        lines += [f"    if {name} is not None:", f"        $keys |= {keys_of}"]
    lines += checks
    if device_argument:
        bits = f"$cpu_bit if {device_argument} is None else $device_bits({device_argument})"
        lines += [f"    if not $keys: $keys = {bits}"]
    lines += [
        "    $keys = ($keys | $state.include) & ~$state.exclude",
        "    $kernel = $table.get($keys)",
        "    if $kernel is None: $kernel = $op._lookup($keys)",
        f"    return $kernel({given})",
    ]
    return compile_function(f"<opweave op {op.name}>", lines, names)


_NOT_INTS = "{0}.__class__ not in $LISTS or not $ONLY_INT.issuperset($map($type, {0}))"
_SIZED = re.compile(r"(?:int|SymInt)\[(\d+)\]\?")

# What a value of a schema type looks like when nothing needs to be done about it; anything else goes to `_coerce`.
_FAST_CHECKS = {
    "int": "{0}.__class__ is not $int",
    "SymInt": "{0}.__class__ is not $int",
    "float": "{0}.__class__ is not $float",
    "bool": "{0}.__class__ is not $bool",
    "str": "{0}.__class__ is not $str",
    "Scalar": "{0}.__class__ not in $FLOAT_OR_INT",
    "int?": "{0} is not None and {0}.__class__ is not $int",
    "Tensor[]": "{0}.__class__ is not $list",
    "int[]": _NOT_INTS,
    "SymInt[]": _NOT_INTS,
    "int[]?": "{0} is not None and (" + _NOT_INTS + ")",
    "SymInt[]?": "{0} is not None and (" + _NOT_INTS + ")",
    "SymInt?": "{0} is not None and {0}.__class__ is not $int",
    "MemoryFormat": "{0}.__class__ is not $MemoryFormat",
    "MemoryFormat?": "{0} is not None and {0}.__class__ is not $MemoryFormat",
    "ScalarType?": "{0} is not None and {0}.__class__ is not $DType",
    "float?": "{0} is not None and {0}.__class__ is not $float",
    "bool?": "{0} is not None and {0}.__class__ is not $bool",
    "Scalar?": "{0} is not None and {0}.__class__ not in $FLOAT_OR_INT",
}


def identifier(name: str) -> str:
    """A schema name as a Python parameter."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _require_defaults_last(positional: list[str]) -> None:
    """Python wants defaults last; a schema may put a required argument after one: give those the error as default."""
    seen = False
    for i, parameter in enumerate(positional):
        if "=" in parameter:
            seen = True
        elif seen:
            positional[i] = f"{parameter}=None"


_NUMBERS = (int, float, complex, Symbolic)


def _device_bits(device: Any) -> int:
    return DEVICE_KEYS[parse_device(device).type].bit


def _slow_keys(op: Any, values: Sequence[Any], required: bool = False) -> int:
    """Key bits of Tensor and Tensor? arguments, or of the elements of a list; numbers only where the op takes them."""
    bits = 0
    for value in values if isinstance(values, (list, tuple)) else ():  # else the check of the argument complains
        if isinstance(value, Tensor):
            bits |= value._keys
        elif (value is None and not required) or (
            isinstance(value, (int, float, complex, Symbolic)) and _takes_numbers(op)
        ):
            continue
        else:
            raise ArgumentError(
                f"{op}: expected a Tensor", got=f"{value!r} ({type(value).__name__})",
                hint="convert it with opweave.tensor(...) or opweave.from_numpy(...)" if value is not None
                else f"schema: {op._schema}",
            )  # fmt: skip
    return bits


def _takes_numbers(op: Any) -> bool:
    return bool(getattr(op.decl, "takes_numbers", False)) or op.has_composite_implicit


def _coerce(op: Any, argument: Argument, kind: str, value: Any) -> Any:
    """Bring a value to the schema's type (`kind`), or raise an ArgumentError that names the argument."""
    if value is None and kind.endswith("?"):
        return None
    if op.namespace == "aten" and _is_bool_for_int(kind, value):
        raise ArgumentError(
            f"{op}: argument {argument.name!r} must be {argument.type}, not bool", got=repr(value),
            hint=f"schema: {op._schema}",
        )  # fmt: skip
    try:
        return convert(kind.removesuffix("?"), value)
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, OpweaveError):
            raise
        raise ArgumentError(
            f"{op}: argument {argument.name!r} must be {argument.type}", got=f"{value!r} ({type(value).__name__})",
            hint=f"schema: {op._schema}",
        ) from None  # fmt: skip


def _is_bool_for_int(kind: str, value: Any) -> bool:
    """Whether a truth value, or a list with one, stands where the schema has whole numbers."""
    if not kind.startswith(("int", "SymInt")):
        return False
    if type(value) is bool:
        return True
    return isinstance(value, (list, tuple)) and any(type(item) is bool for item in value)


def convert(kind: str, value: Any) -> Any:
    """The value as an instance of a schema type (without its `?`); TypeError if it is none."""
    if kind.endswith("]"):
        return _convert_list(kind, value)
    if kind in ("int", "SymInt"):
        if isinstance(value, Symbolic):
            # What is no size has to be a number that does not vary.
            return value if kind == "SymInt" and value.kind == "int" else int(value)  # type: ignore[call-overload]
        if isinstance(value, bool):
            return int(value)
        if not isinstance(value, Tensor):
            return value.__index__()
        if value._dtype.kind not in "biu":
            raise TypeError
        return int(value)
    if kind == "float":
        if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
            raise TypeError
        return float(value)
    if kind == "bool":
        if isinstance(value, Tensor) or type(value).__name__ in ("bool", "bool_", "bool"):
            return bool(value)
        raise TypeError
    if kind == "complex":
        if isinstance(value, (str, bytes)):
            raise TypeError
        return value if isinstance(value, Symbolic) else complex(value)
    if kind == "Scalar":
        if type(value) in (bool, complex) or isinstance(value, Symbolic):
            return value
        if isinstance(value, Tensor) or hasattr(value, "item"):
            return value.item()
        if isinstance(value, (int, float)):
            return value
        raise TypeError
    if kind == "str":
        if isinstance(value, str):
            return value
        raise TypeError
    if kind == "ScalarType":
        return as_dtype(value)
    if kind == "MemoryFormat":
        return MemoryFormat(value)
    if kind == "Device":
        return value if type(value) is Device else parse_device(value)
    return value


def _convert_list(kind: str, value: Any) -> Any:
    element, _, count = kind[:-1].rpartition("[")
    if "Tensor" in element:
        if not isinstance(value, (list, tuple)):
            raise TypeError
        if "Tensor?" not in element:
            for item in value:
                if item is None:
                    raise TypeError
        return value
    if not isinstance(value, (list, tuple)):
        if not count:
            raise TypeError
        # `int[2]` takes one number for all.
        return [convert(element.removesuffix("?"), value)] * int(count)
    if element in ("int", "SymInt"):
        for item in value:
            if type(item) is not int:
                return [convert(element, item) for item in value]
        return value if type(value) in (list, tuple) else list(value)
    return [convert(element.removesuffix("?"), item) for item in value]


def fits(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], exact: bool = False) -> bool:
    """Whether the arguments bind to the schema and each has its type."""
    bound = _bound(op, args, kwargs)
    if bound is None:
        return False
    for argument in op._schema.arguments:
        if argument.name in bound:
            value, kind = bound[argument.name], str(argument.type)
            if not _has_type(op, kind, value) or (exact and isinstance(value, Tensor) and "Tensor" not in kind):
                return False
    return True


def binds(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether there are as many arguments as the schema takes, by names that it has."""
    return _bound(op, args, kwargs) is not None


def _bound(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    arguments = op._schema.arguments
    positional = [a for a in arguments if not a.kwarg_only]
    if len(args) > len(positional):
        return None
    bound = {a.name: value for a, value in zip(positional, args, strict=False)}
    names = {a.name: a for a in arguments}
    for key, value in kwargs.items():
        if key not in names or key in bound:
            return None
        bound[key] = value
    if any(a.name not in bound and not a.has_default for a in arguments):
        return None
    return bound


def _has_type(op: Any, kind: str, value: Any) -> bool:
    if kind.endswith("?"):
        if value is None:
            return True
        kind = kind[:-1]
    if kind == "Tensor":
        return isinstance(value, Tensor) or (
            (type(value) in (int, float, bool, complex) or isinstance(value, Symbolic)) and _takes_numbers(op)
        )
    if _is_bool_for_int(kind, value):
        return False
    if kind in ("int", "SymInt") and (isinstance(value, float) or isinstance(value, Tensor)):
        return False
    if kind in ("float", "Scalar", "bool") and isinstance(value, Tensor):
        return kind != "bool" and not value._sizes
    if kind.startswith("Tensor") and kind.endswith("]"):
        optional = kind.startswith("Tensor?")
        return isinstance(value, (list, tuple)) and all(
            isinstance(v, Tensor) or (optional and v is None) for v in value
        )
    try:
        convert(kind, value)
    except (TypeError, ValueError, AttributeError) as error:
        let_through(error)
        return False
    return True
