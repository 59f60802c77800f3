"""Functions of tvm-ffi libraries as ops (`register_ffi`), and ops as tvm-ffi functions (`to_ffi`).

A library needs to know nothing of opweave: its functions take tensors by DLPack (`registry.exchange`), numbers, texts
and lists of these. What says how a function is called is one line, a schema and the function's name; from it comes a
kernel, written out with the schema's own arguments, and the op is one like any other.
"""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.registry.entry import compile_function, identifier, own_name, parameters
from opweave.registry.errors import (
    ArgumentError,
    OpweaveError,
    RegistrationError,
    SchemaError,
    Site,
    UnsupportedError,
    from_text,
    user_frame,
)
from opweave.registry.exchange import device_of, dtype_of, from_dlpack
from opweave.registry.interrupts import deferred, let_through
from opweave.registry.keys import DispatchKey
from opweave.registry.library import Library, OpLike, find_op, keep
from opweave.registry.loading import load_heavy
from opweave.registry.native_kernel import Argument as NativeArgument, NativeKernel, Result
from opweave.registry.op import OpOverload, lock
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.registering import add_fake, add_kernel, require_signature
from opweave.registry.schema import FunctionSchema, parse_schema
from opweave.registry.signature import Argument
from opweave.registry.tags import TagLike
from opweave.registry.tensor import Tensor, describe
from opweave.registry.types import TENSOR, BaseType, ListType, OptionalType, TupleType, Type

#: Types whose values tvm-ffi has, too.
_KNOWN = frozenset(
    ("Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "ScalarType", "Device", "Layout", "MemoryFormat")
)
_CALL = r"(?s)\s*([A-Za-z_][\w.]*)\s*(\(.*\))?\s*"
Rule = Callable[..., Any]
#: How an op is called: the function's name, or a call of it; with a rule, what it returns without data.
Target = str | tuple[str, Rule]


@functools.cache
def _ffi() -> Any:
    """`tvm_ffi`, which knows opweave's errors: they cross it by type, with their parts."""
    try:
        module = load_heavy("tvm_ffi")
    except ImportError as error:
        let_through(error)
        raise UnsupportedError(
            "functions of tvm-ffi libraries need apache-tvm-ffi", got=str(error), hint="pip install opweave[ffi]"
        ) from None
    for kind in _errors(OpweaveError):
        module.register_error(kind.__name__, kind)
        module.register_error(kind.__name__, _made_from_text(kind))
    return module


def _made_from_text(kind: type[OpweaveError]) -> type:
    """What makes an error of its text, and is a class, as tvm-ffi wants it."""
    return type(kind.__name__, (), {"__new__": lambda _, text: from_text(kind, text)})


def _errors(kind: type[OpweaveError]) -> Iterator[type[OpweaveError]]:
    yield kind
    for derived in kind.__subclasses__():
        if derived.__module__ == OpweaveError.__module__:
            yield from _errors(derived)


# ---- values that come from tvm-ffi ---------------------------------------------------------------------------------


def _value(value: Any) -> Any:
    """What a function returned, or was called with, as opweave has it."""
    kind = value.__class__
    if kind is Tensor or value is None or kind in (int, float, bool, str):
        return value
    convert = _converters().get(kind)
    return value if convert is None else convert(value)


@functools.cache
def _converters() -> dict[type, Callable[[Any], Any]]:
    module = _ffi()

    def listed(values: Any) -> list[Any]:
        return [_value(item) for item in values]

    return {
        module.Tensor: from_dlpack, module.Array: listed, module.List: listed, list: listed, tuple: listed,
        module.Map: lambda items: {_value(k): _value(v) for k, v in items.items()}, module.core.String: str,
        module.dtype: lambda found: dtype_of(found.type_code, found.bits, found.lanes),
        module.Device: lambda found: device_of(found.dlpack_device_type(), found.index), module.Shape: tuple,
    }  # fmt: skip


# ---- a line of a registration --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """What is registered of one function.

    Attributes
    ----------
    schema : FunctionSchema
        Of the op.
    symbol : str
        The function's name.
    function : callable
        The function.
    call : tuple of str
        Its arguments, as text: expressions of the op's arguments and of destinations.
    destinations : tuple of str
        The returns that it writes, all of them or none.
    rule : callable or None
        What it returns without data.
    """

    schema: FunctionSchema
    symbol: str
    function: Callable[..., Any]
    call: tuple[str, ...]
    destinations: tuple[str, ...]
    rule: Rule | None

    @property
    def given_back(self) -> tuple[str, ...] | None:
        """The arguments that the op returns, if it returns nothing else."""
        aliased = self.schema.aliased_returns
        if len(aliased) != len(self.schema.returns):
            return None
        return tuple(names[0] for names in aliased.values())


def _line(text: Any, target: Any, source: _Source, site: Site) -> _Line:
    if not isinstance(text, str):
        raise ArgumentError("register_ffi: a schema must be text", got=repr(text), at=site)
    schema = parse_schema(text, allow_typevars=False)
    if "::" not in schema.name:
        raise SchemaError(f"register_ffi: {schema.full_name!r} has no namespace", at=site, hint="'mylib::my_op(...)'")
    call, rule = target if isinstance(target, tuple) and len(target) == 2 else (target, None)
    match = re.fullmatch(_CALL, call) if isinstance(call, str) else None
    if match is None:
        raise ArgumentError(
            f"register_ffi: {schema.full_name}: expected the function's name, or a call of it", got=repr(target),
            at=site, hint="'symbol', 'symbol(out, x, 1e-6)', or one of them with a rule: ('symbol', rule)",
        )  # fmt: skip
    symbol, arguments = match[1], match[2]
    _check_types(schema, site)
    if rule is not None:
        if not callable(rule):
            raise ArgumentError(
                f"register_ffi: {schema.full_name}: the rule must be a function", got=repr(rule), at=site
            )
        require_signature(schema, rule, "the rule")
    names = tuple(identifier(a.name) for a in schema.arguments)
    given, destinations = (names, ()) if arguments is None else _arguments(schema, match.string, arguments, site)
    return _Line(schema, symbol, source.find(symbol, schema, site), given, destinations, rule)


def _check_types(schema: FunctionSchema, site: Site) -> None:
    """Refuse what a function of tvm-ffi cannot be given or give."""
    if schema.is_vararg or schema.is_varret:
        raise SchemaError(f"register_ffi: {schema.full_name}: '...' is no argument of a function", at=site)
    for value in (*schema.arguments, *schema.returns):
        unknown = _unknown(value.type)
        if unknown is not None:
            raise SchemaError(
                f"register_ffi: {schema.full_name}: tvm-ffi has no values of type {unknown}", got=str(value), at=site,
                hint="it has " + ", ".join(sorted(_KNOWN)) + ", and lists of these",
            )  # fmt: skip
    for index, names in schema.aliased_returns.items():
        whose = [a for a in schema.arguments if a.name in names]
        if len(whose) != 1 or not _written(whose[0]) or whose[0].type != schema.returns[index].type:
            raise SchemaError(
                f"register_ffi: {schema.full_name}: a return may be an argument that the function writes, but no view",
                got=str(schema), at=site, hint="'(Tensor(a!) x) -> Tensor(a!)', or no annotation for a fresh result",
            )  # fmt: skip
    if 0 < len(schema.aliased_returns) < len(schema.returns):
        raise SchemaError(
            f"register_ffi: {schema.full_name}: some returns are arguments, and some are fresh", got=str(schema),
            at=site, hint="return the fresh ones only: what is written, the caller has",
        )  # fmt: skip


def _unknown(kind: Type) -> Type | None:
    """The part of a type that tvm-ffi does not have."""
    if isinstance(kind, (OptionalType, ListType)):
        return _unknown(kind.element)
    if isinstance(kind, TupleType):
        return next((found for part in kind.elements if (found := _unknown(part)) is not None), None)
    return None if isinstance(kind, BaseType) and kind.name in _KNOWN else kind


def _written(argument: Argument) -> bool:
    alias = argument.alias
    return alias is not None and (alias.is_write or (alias.contained is not None and alias.contained.is_write))


class _Renamed(ast.NodeTransformer):
    """Puts the kernel's own names for the op's arguments and returns, and notes which there are."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.found: set[str] = set()
        self.unknown: list[str] = []

    def visit_Name(self, node: ast.Name) -> ast.Name:
        name = self.names.get(node.id)
        if name is None:
            self.unknown.append(node.id)
            return node
        self.found.add(node.id)
        return ast.Name(name, node.ctx)


def _arguments(
    schema: FunctionSchema, call: str, arguments: str, site: Site
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The arguments of a call as text, and which returns are among them."""

    def refuse(what: str, hint: str) -> SchemaError:
        return SchemaError(f"register_ffi: {schema.full_name}: {what}", got=call, at=site, hint=hint)

    try:
        node = ast.parse(f"f{arguments}", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        let_through(error)
        raise refuse(f"this is no call: {error}", "'symbol(out, x, 1e-6)'") from None
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if (
        not isinstance(node, ast.Call)
        or not is_call
        or node.keywords
        or any(isinstance(part, ast.Starred) for part in node.args)
    ):
        raise refuse("the arguments of a function are given by position", "'symbol(out, x, 1e-6)'")
    returns = {r.name: own_name(r.name) for r in schema.returns if r.name}
    renamed = _Renamed(returns | {a.name: identifier(a.name) for a in schema.arguments})
    given = tuple([ast.unparse(renamed.visit(part)) for part in node.args])
    if renamed.unknown:
        raise refuse(f"{renamed.unknown[0]!r} is no argument and no return", f"schema: {schema}")
    destinations = tuple([name for name in returns if name in renamed.found])
    if destinations and (schema.aliased_returns or len(destinations) != len(schema.returns)):
        raise refuse("a function writes all of the returns, or gives all of them back", f"schema: {schema}")
    if destinations and any(r.type != TENSOR for r in schema.returns):
        raise refuse("a function can only write tensors", f"schema: {schema}")
    unused = [a.name for a in schema.arguments if _written(a) and a.name not in renamed.found]
    if unused:
        raise refuse(f"{', '.join(unused)}: written by the schema, but not given to the function", f"schema: {schema}")
    return given, destinations


# ---- where functions come from -------------------------------------------------------------------------------------


class _Source:
    """Where functions are looked up: a library, an object that has them, or what is registered with tvm-ffi."""

    def __init__(self, source: Any, site: Site) -> None:
        module = _ffi()
        self.name = "tvm-ffi's global functions"
        self.source = source
        self.registered = functools.partial(module.get_global_func, allow_missing=True)
        if source is None:
            return
        if isinstance(source, (str, os.PathLike)):
            self.name = path = os.path.abspath(os.fspath(source))
            if not os.path.isfile(path):
                raise RegistrationError(f"register_ffi: there is no library {path}", got=repr(source), at=site)
            try:
                self.source = module.load_module(path)
            except Exception as error:
                let_through(error)
                raise RegistrationError(
                    f"register_ffi: {path} is no library that can be loaded", got=str(error), at=site,
                    hint="a shared object for this machine, its name with the ending .so",
                ) from error  # fmt: skip
        else:
            self.name = getattr(source, "__name__", None) or repr(source)

    def find(self, symbol: str, schema: FunctionSchema, site: Site) -> Callable[..., Any]:
        found = None if self.source is None else _attribute(self.source, symbol)
        if found is None:  # libraries register functions by name when they are loaded, too
            found = self.registered(symbol)
        if not callable(found):
            raise RegistrationError(
                f"register_ffi: {schema.full_name}: there is no function {symbol!r} in {self.name}",
                got="nothing of that name" if found is None else repr(found), at=site,
                hint="the name that it is exported by: TVM_FFI_DLL_EXPORT_TYPED_FUNC(name, function)",
            )  # fmt: skip
        return found


def _attribute(source: Any, symbol: str) -> Any:
    """What an object, or what is in it (`a.b`), has under a name."""
    found = source
    for part in symbol.split("."):
        found = getattr(found, part, None)
    return found


# ---- kernels -------------------------------------------------------------------------------------------------------


def _kernel(op: OpOverload, line: _Line) -> Callable[..., Any]:
    """The op's kernel: makes the destinations, calls the function, and gives back what the schema says."""
    taken, given, names = parameters(op._schema)
    lines = [f"def $call({taken}):"]
    arguments = op._schema.arguments
    targets = ", ".join(own_name(r.name) for r in op._schema.returns)
    if line.destinations:
        lines += ["    $rule = $op.fake", f"    $made = None if $rule is None else $rule({given})"]
        values = ", ".join(["$made", *(identifier(a.name) for a in arguments)])
        fresh = f"{targets}{',' * (len(line.destinations) == 1)} = $fresh({values})"
        tensors = [a for a in arguments if a.type.has_tensor]
        if len(line.destinations) == 1 and all(a.type == TENSOR for a in tensors):
            # What nearly every rule makes, tested in line.
            tests = "".join([f" or $made._storage is {identifier(a.name)}._storage" for a in tensors])
            lines += [f"    {targets} = $made"]
            lines += [f"    if $made.__class__ is not $Tensor or $made._view_of is not None{tests}: {fresh}"]
        else:
            lines += [f"    {fresh}"]
    lines += [
        "    try:",
        f"        $result = $function({', '.join(line.call)})",
        "    except $TypeError as $error:",
        "        raise $explained($error) from None",
    ]
    if line.destinations or not op._schema.returns:
        lines += ["    if $result is not None: $refuse($result)"]
    back = line.given_back
    if line.destinations:
        lines += [f"    return {targets}"]
    elif back is not None:
        lines += [f"    return {', '.join(map(identifier, back))}"]
    else:
        lines += ["    return $result if $result.__class__ is $Tensor else $value($result)"]
    names |= {
        "op": op, "fresh": functools.partial(_fresh, op), "function": line.function, "TypeError": TypeError,
        "value": _value, "explained": functools.partial(_explained, op, line.symbol), "Tensor": Tensor,
        "refuse": functools.partial(_refuse_result, op, line.symbol),
    }  # fmt: skip
    kernel = compile_function(f"<opweave kernel of {op.name}>", lines, names)
    if line.destinations:
        kernel.unlinked = True  # type: ignore[attr-defined]  # see `registry.results`
    return kernel


def _note_native_form(op: OpOverload, line: _Line) -> None:
    """Let compiled graphs call the function without Python, where it is given arguments, results and constants."""
    if not hasattr(line.function, "__chandle__"):
        return
    places = {identifier(a.name): NativeArgument(i) for i, a in enumerate(op._schema.arguments)}
    made = {own_name(name): Result(i) for i, name in enumerate(line.destinations)}
    known: dict[str, Any] = places | made
    try:
        call = tuple([known[text] if text in known else ast.literal_eval(text) for text in line.call])
    except ValueError as error:  # something that an argument has
        let_through(error)
        return
    kernel = op.kernels[DispatchKey.CompositeExplicitAutograd]

    def result(value: Any) -> Any:
        if value is not None and (line.destinations or not op._schema.returns):
            _refuse_result(op, line.symbol, value)
        return _value(value)

    explain = functools.partial(_explained, op, line.symbol)
    kernel.native = NativeKernel(kernel, line.function, call, result, explain)


def _fresh(op: OpOverload, made: Any, /, *values: Any) -> tuple[Tensor, ...]:
    """What a function is to write, as the op's rule for tensors without data made it."""
    if op.fake is None:
        raise RegistrationError(
            f"{op.name}: nothing says which sizes its results have", got=f"schema: {op._schema}",
            hint=f"opweave.library.register_fake({op.name!r}, lambda ...: opweave.empty_like(...))",
        )  # fmt: skip
    found = (made,) if len(op._schema.returns) == 1 else made
    fits = isinstance(found, (list, tuple)) and len(found) == len(op._schema.returns)
    if not fits or not all(isinstance(t, Tensor) for t in found):
        raise ArgumentError(
            f"{op.name}: its rule for tensors without data must return {len(op._schema.returns)} tensors",
            got=describe(made), hint=f"schema: {op._schema}",
        )  # fmt: skip
    storages = {id(t._storage) for t in tensors_in(values)}
    for t in found:
        if id(t._storage) in storages:
            raise RegistrationError(
                f"{op.name}: its rule for tensors without data returns memory that is in use", got=describe(made),
                hint="opweave.empty_like(x), x.new_empty(sizes): the function writes there",
            )  # fmt: skip
        storages.add(id(t._storage))
        t._view_of = None
    return tuple(found)


def _explained(op: OpOverload, symbol: str, error: TypeError) -> TypeError:
    """An error that tvm-ffi's own test of a function's arguments raised, with the schema that they were given by."""
    if isinstance(error, OpweaveError) or not str(error).startswith("Mismatched "):
        return error
    return ArgumentError(
        f"{op.name}: the function {symbol} takes other arguments than its schema says", got=str(error),
        hint=f"schema: {op._schema}",
    )  # fmt: skip


def _refuse_result(op: OpOverload, symbol: str, result: Any) -> None:
    raise ArgumentError(
        f"{op.name}: the function {symbol} returned something, though its schema says that it only writes",
        got=repr(result), hint=f"schema: {op._schema}",
    )  # fmt: skip


# ---- registering ---------------------------------------------------------------------------------------------------


def register_ffi(
    source: Any, functions: Mapping[str, Target], *, lib: Library | None = None, tags: TagLike = ()
) -> dict[str, OpOverload]:
    """Make ops of the functions of a tvm-ffi library, which needs to know nothing of opweave.

    Parameters
    ----------
    source : path, tvm_ffi.Module, object or None
        A shared object; or what has the functions as attributes, as a loaded module or a package; or None for those
        that are registered with tvm-ffi by name. A library stays loaded as long as the process lives.
    functions : mapping of str to str or (str, callable)
        For each op its schema, with namespace, and the function. That is a name, for a function that takes the op's
        arguments in their order and returns what the op returns; or a call, `"symbol(out, x, x.size(0), 1e-6)"`, with
        arguments and returns by name, what they have, and constants: a return that stands there is made before, for
        the function to write. With a function beside it, `(symbol, rule)`, that is the op's rule for tensors without
        data (`register_fake`), and makes what is written: `empty_like(x)`, or `x.clone()` for a function that works
        in place.
    lib : Library, optional
        Owns the ops, of its namespace; without one they are there for good.
    tags : Tag, str or sequence of them
        Properties of the ops.

    Returns
    -------
    dict of str to OpOverload
        The ops by their names. `register_fake`, `register_autograd` and `register_vmap` say more of them.

    Raises
    ------
    SchemaError
        If a schema does not parse, or has what tvm-ffi has not.
    RegistrationError
        If there is no such library or function, or an op of the name is there; nothing is registered then.
    UnsupportedError
        If apache-tvm-ffi is not installed.

    Examples
    --------
    >>> register_ffi("libnorm.so", {  # doctest: +SKIP
    ...     "norm::scale_(Tensor(a!) x, float by) -> ()": "scale",
    ...     "norm::rms(Tensor x, Tensor w) -> Tensor out": ("rms(out, x, w, 1e-6)", lambda x, w: empty_like(x)),
    ... })
    """
    site = user_frame()
    if not isinstance(functions, Mapping):
        raise ArgumentError(
            "register_ffi: expected a mapping of schemas to functions", got=describe(functions), at=site,
            hint="{'mylib::add(Tensor a, Tensor b) -> Tensor': 'add'}",
        )  # fmt: skip
    if lib is not None and not isinstance(lib, Library):
        raise ArgumentError("register_ffi: lib must be a Library", got=repr(lib), at=site)
    found = _Source(source, site)
    lines = [_line(text, target, found, site) for text, target in functions.items()]
    made: dict[str, OpOverload] = {}
    owners: dict[str, Library] = {}
    start = len(lib._undo) if lib is not None else 0
    with lock, deferred():
        try:
            for line in lines:
                space = line.schema.name.partition("::")[0]
                owner = lib or owners.get(space) or owners.setdefault(space, Library(space, "FRAGMENT"))
                op = _register(owner, line, tags, site)
                made[op.name] = op
        except BaseException:
            for owner in owners.values():
                owner._destroy()
            while lib is not None and len(lib._undo) > start:
                lib._undo.pop()()
            raise
        for owner in owners.values():
            keep(owner)
    return made


def _register(owner: Library, line: _Line, tags: TagLike, site: Site) -> OpOverload:
    op = owner._define(str(line.schema), "", tags)
    rule, back = line.rule, line.given_back
    kernel = _kernel(op, line)
    if back is None and not line.destinations:
        owner._undo.append(add_kernel(op, None, kernel, site))
    else:  # what it returns is known
        owner._undo.append(op.register(DispatchKey.CompositeExplicitAutograd, kernel, site=site).undo)
    _note_native_form(op, line)
    if rule is None and back is not None:
        rule = _giving_back(op, back)
    if rule is not None:
        owner._undo.append(add_fake(op, rule))
    return op


def _giving_back(op: OpOverload, names: tuple[str, ...]) -> Rule:
    """The rule of an op that returns its arguments, or nothing."""
    order = [a.name for a in op._schema.arguments]
    positions = [order.index(name) for name in names]

    def rule(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        found = tuple([values[i] for i in positions])
        return found[0] if len(found) == 1 else found or None

    return rule


# ---- ops as functions ----------------------------------------------------------------------------------------------


def to_ffi(op: OpLike, *, name: str | None = None) -> Any:
    """An op as a function that any tvm-ffi host calls, in C++, Rust or Python.

    Parameters
    ----------
    op : str, OpOverload, OpOverloadPacket or CustomOpDef
        The op; of a packet each call picks the overload that its arguments fit.
    name : str, optional
        Registers it with tvm-ffi under this name, for hosts to find: `Function::GetGlobalRequired(name)` in C++.

    Returns
    -------
    tvm_ffi.Function
        Takes the op's arguments in the order of its schema, those that are keyword-only too; what has a default may be
        left out at the end. Tensors come and go without a copy. What raises in the op is raised in the host.

    Raises
    ------
    RegistrationError
        If there is no such op, or the name is taken.
    UnsupportedError
        If apache-tvm-ffi is not installed, or cannot take tensors here.

    Examples
    --------
    >>> add = to_ffi("aten::add.Tensor", name="opweave.add")  # doctest: +SKIP
    >>> add(x, y, 2)  # doctest: +SKIP
    """
    module = _ffi()
    target = op if isinstance(op, OpOverloadPacket) else find_op(op)
    if getattr(Tensor, "__dlpack_c_exchange_api__", None) is None:
        raise UnsupportedError("to_ffi: native code cannot know how tensors are laid out in this Python")
    named = [] if isinstance(target, OpOverloadPacket) else [a.name for a in target._schema.arguments if a.kwarg_only]
    positional = None if isinstance(target, OpOverloadPacket) else len(target._schema.arguments) - len(named)

    def call(*args: Any) -> Any:
        values = [_value(value) for value in args]
        result = target(*values[:positional], **dict(zip(named, values[positional:], strict=False)))
        return tuple(result) if isinstance(result, list) else result

    if positional is not None:
        most = positional + len(named)

        def call_overload(*args: Any) -> Any:
            if len(args) > most:
                raise ArgumentError(f"{target}: takes {most} arguments, {len(args)} were given", at="a tvm-ffi host")
            return call(*args)

    else:
        call_overload = call
    function = module.convert_func(call_overload, tensor_cls=Tensor)
    if name is not None:
        if not isinstance(name, str) or not name:
            raise ArgumentError("to_ffi: the name must be text", got=repr(name), hint="'opweave.add'")
        if module.get_global_func(name, allow_missing=True) is not None:
            raise RegistrationError(f"to_ffi: there is a function {name!r} in tvm-ffi's global functions")
        module.register_global_func(name, function)
    return function
