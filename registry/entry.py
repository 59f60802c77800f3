"""Bringing a call's arguments to an op: the generated entry function.

An op's entry has the schema's own Python signature, so the interpreter binds arguments and defaults. It takes the usual
types as they are, tested in line; anything else goes through `coerce`: the type converts it, or an error names the
argument.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave.registry.device import cpu, parse_device
from opweave.registry.errors import ArgumentError, OpweaveError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import DEVICE_KEYS, state
from opweave.registry.schema import Argument, FunctionSchema
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor
from opweave.registry.types import DEVICE, INTS, TENSOR, TESTED, ListType


def compile_function(label: str, lines: Sequence[str], names: Mapping[str, Any]) -> Callable[..., Any]:
    """The function `$call` that text defines, where `$name` is a name that no argument of a schema can have."""
    namespace = {_OWN + name: value for name, value in names.items()}
    exec(compile("\n".join(lines).replace("$", _OWN), label, "exec"), namespace)
    return namespace[f"{_OWN}call"]


_OWN = "_ow__"


def rebind(function: Callable[..., Any], name: str, value: Any) -> None:
    """Let `$name` in the text of a function that `compile_function` made mean something else from now on."""
    function.__globals__[_OWN + name] = value


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
        **TESTED, "op": op, "table": op._table, "state": state, "slow_keys": _slow_keys, "coerce": _coerce,
        "device_bits": _device_bits, "cpu_bit": DEVICE_KEYS[cpu.type].bit, "tuple": tuple,
        "AttributeError": AttributeError,
    }  # fmt: skip
    keys, checks, optional_keys = [], [], []
    no_gaps: set[str] = set()  # lists that must not have None in them
    device_argument = None
    arguments = op._schema.arguments
    for index, argument in enumerate(arguments):
        name = identifier(argument.name)
        kind = argument.type
        if kind == TENSOR:
            bits = f"{name}._keys"
            if keys and getattr(op.decl, "takes_numbers", False):
                # A number in a Tensor's place is common enough to be tested for before an exception tells.
                bits = f"({bits} if {name}.__class__ not in $FLOAT_OR_INT else 0)"
            keys.append(bits)
        elif kind.names_tensor:
            optional_keys.append((name, kind.is_list))
            if kind == ListType(TENSOR):
                no_gaps.add(name)
        elif kind.required == DEVICE:
            device_argument = name
        if not kind.is_tensor:
            names[f"arg_{index}"] = argument
            test = f"if {kind.test.format(name)}: {name} = $coerce($op, $arg_{index}, {name})"
            whole = kind.required
            if isinstance(whole, ListType) and whole.size is not None and whole.element in INTS:
                checks.append(f"    if {name}.__class__ is $int: {name} = [{name}] * {whole.size}")
                test = f"el{test}"
            checks.append(f"    {test}")
        if kind.is_list:  # the caller may change its list before a backward or a graph reads it
            checks.append(f"    elif {name}.__class__ is $list: {name} = {name}.copy()")
            if op.decl is None:  # a user's function gets lists
                checks.append(f"    if {name}.__class__ is $tuple: {name} = $list({name})")
    # Python allows None for a required Tensor where the schema gives it as the default.
    tensors = [a for a in arguments if a.type == TENSOR]
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
    ]
    operands = [identifier(a.name) for a in arguments if a.type.names_tensor]
    if getattr(op.decl, "is_composite", False) and operands:
        # Its body may take a number for a tensor, or fail somewhere inside.
        names["blame"] = _blame
        lines += [
            "    try:",
            f"        return $kernel({given})",
            "    except $AttributeError as error:",
            f"        $blame($op, error, {', '.join(operands)})",
            "        raise",
        ]
    else:
        lines += [f"    return $kernel({given})"]
    return compile_function(f"<opweave op {op.name}>", lines, names)


def own_name(name: str) -> str:
    """A name that no argument of a schema can have, as `$name` is in text for `compile_function`."""
    return _OWN + name


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
            raise _no_tensor(op, value)
    return bits


def _no_tensor(op: Any, value: Any) -> ArgumentError:
    return ArgumentError(
        f"{op}: expected a Tensor", got=f"{value!r} ({type(value).__name__})",
        hint="convert it with opweave.tensor(...) or opweave.from_numpy(...)" if value is not None
        else f"schema: {op._schema}",
    )  # fmt: skip


def _blame(op: Any, error: AttributeError, *operands: Any) -> None:
    """Raise an ArgumentError if the body of a composite op asked a number for what a tensor has.

    Raises
    ------
    ArgumentError
        If so.
    """
    odd = error.obj
    if not isinstance(odd, (int, float, complex, Symbolic)):
        return
    for operand in operands:
        if any(item is odd for item in (operand if isinstance(operand, (list, tuple)) else (operand,))):
            raise _no_tensor(op, odd) from None


def _takes_numbers(op: Any) -> bool:
    return bool(getattr(op.decl, "takes_numbers", False)) or op.has_composite_implicit


def _coerce(op: Any, argument: Argument, value: Any) -> Any:
    """Bring a value to the schema's type, or raise an ArgumentError that names the argument."""
    if value is None and _is_empty_by_default(op, argument):
        return list(argument.default)
    if op.namespace == "aten" and argument.type.refuses_bool(value):
        raise ArgumentError(
            f"{op}: argument {argument.name!r} must be {argument.type}, not bool", got=repr(value),
            hint=f"schema: {op._schema}",
        )  # fmt: skip
    try:
        return argument.type.convert(value)
    except (TypeError, ValueError, AttributeError) as error:
        let_through(error)
        if isinstance(error, OpweaveError):
            raise
        raise ArgumentError(
            f"{op}: argument {argument.name!r} must be {argument.type}", got=f"{value!r} ({type(value).__name__})",
            hint=f"schema: {op._schema}",
        ) from None  # fmt: skip


def _is_empty_by_default(op: Any, argument: Argument) -> bool:
    """Whether None stands for the empty list that an argument is by default, as Python calls PyTorch's functions."""
    return op.namespace == "aten" and isinstance(argument.default, (list, tuple)) and not argument.default


def fits(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], exact: bool = False) -> bool:
    """Whether the arguments bind to the schema and each has its type."""
    bound = _bound(op, args, kwargs)
    if bound is None:
        return False
    numbers = _takes_numbers(op)
    for argument in op._schema.arguments:
        if argument.name in bound:
            value, kind = bound[argument.name], argument.type
            if not kind.accepts(value, numbers) and (value is not None or not _is_empty_by_default(op, argument)):
                return False
            if exact and isinstance(value, Tensor) and not kind.names_tensor:
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


def is_default(argument: Argument, value: Any) -> bool:
    """Whether a value cannot be told from the argument's default."""
    if not argument.has_default or isinstance(value, Tensor):
        return False
    default = argument.default
    if value is default:
        return True
    if isinstance(default, (list, tuple)):
        return isinstance(value, (list, tuple)) and list(value) == list(default)
    # -0.0 == 0.0 and True == 1: only an indistinguishable value is the default.
    return type(value) is type(default) and repr(value) == repr(default)
