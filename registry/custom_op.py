"""`custom_op`: a Python function as an opaque operator.

No stage looks inside such an op: it is one node in every graph, it runs its own kernel, and what the compiler knows
about it is its schema and its fake rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opweave.registry.errors import ArgumentError, RegistrationError, Site, user_frame
from opweave.registry.keys import DEVICE_KEYS, DispatchKey
from opweave.registry.op import Kernel, OpOverload, lock, registry, tensors_in
from opweave.registry.schema import FunctionSchema, infer_schema, parse_schema
from opweave.registry.spec import span
from opweave.registry.tensor import Tensor, describe

DeviceTypes = str | Sequence[str] | None

#: Definitions by qualified name.
definitions: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """A custom operator: call it, and register more about it.

    Made by `opweave.library.custom_op` and `triton_op`.
    """

    def __init__(self, op: OpOverload, fn: Callable[..., Any]):
        self._opoverload = op
        self._namespace = op.namespace
        self._name = op.opname
        self._qualname = f"{op.namespace}::{op.opname}"
        self._init_fn = fn
        self.__name__ = getattr(fn, "__name__", op.opname)
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register how the op acts on tensors without data; decorator.

        Parameters
        ----------
        fn : callable
            Takes the op's arguments and returns tensors of the right sizes, strides, dtype and device (`empty_like`,
            `x.new_empty(...)`); it must not look at data.
        """
        require_callable(self._opoverload, fn, "fake rule")
        self._opoverload.register_fake_rule(fn)
        return fn

    def register_kernel(self, device_types: DeviceTypes, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register an implementation for one or several device types, or for all with None; decorator.

        Parameters
        ----------
        device_types : None, str or sequence of str
            `"cpu"`, `"cuda"`.
        """

        def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
            add_kernel(self._opoverload, device_types, kernel, user_frame())
            return kernel

        return register if fn is None else register(fn)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None, schema: str | None = None, tags: Sequence[str] = (),
) -> Any:  # fmt: skip
    """Wrap a function as an operator that tracing and compilation never look into.

    Parameters
    ----------
    name : str
        `"namespace::name"`.
    fn : callable, optional
        The implementation, with type hints. Without it a decorator is returned.
    mutates_args : iterable of str or "unknown"
        Names of the arguments the function writes; `"unknown"` means any of them. This is trusted: compiled code may
        move, merge or drop calls around a write that is not declared.
    device_types : None, str or sequence of str
        Device types that `fn` is for; all by default.
    schema : str, optional
        Arguments and returns, such as `"(Tensor x, int y) -> Tensor"`; inferred from the type hints by default.
    tags : sequence of str
        Properties of the op.

    Returns
    -------
    CustomOpDef
        The op, callable.

    Raises
    ------
    SchemaError
        If the schema does not parse, or a type hint has no schema type.
    RegistrationError
        If a built-in op has the name. A custom op of the same name is replaced.

    Examples
    --------
    >>> @opweave.library.custom_op("demo::sin", mutates_args=())
    ... def sin(x: Tensor) -> Tensor:
    ...     return opweave.from_numpy(np.sin(x.numpy()))
    """

    def declare(body: Callable[..., Any]) -> CustomOpDef:
        def complete(op: OpOverload) -> None:
            add_kernel(op, device_types, body, op.site)
            if not op._schema.returns:
                op.register_fake_rule(lambda *args, **kwargs: None)

        return define_custom_op(name, body, complete, mutates_args=mutates_args, schema=schema, tags=tags)

    return declare if fn is None else declare(fn)


def define_custom_op(
    name: str, fn: Callable[..., Any], complete: Callable[[OpOverload], None], *, mutates_args: Any,
    schema: str | None, tags: Sequence[str],
) -> CustomOpDef:  # fmt: skip
    """Define the op of a function; an earlier custom op of the name is replaced.

    `complete` registers its kernels. If that fails, the registry is as it was before.
    """
    site = user_frame()
    namespace, separator, opname = name.partition("::") if isinstance(name, str) else ("", "", "")
    if not separator or not namespace.isidentifier() or not opname.isidentifier():
        raise ArgumentError(
            f"custom_op: malformed name {name!r}", got=f"{name!r} ({type(name).__name__})", at=site,
            hint="a name looks like 'mylib::my_op', without an overload",
        )  # fmt: skip
    if not callable(fn):
        raise ArgumentError(
            f"{name}: the implementation must be a function", got=f"{fn!r} ({type(fn).__name__})", at=site,
            hint="decorate one with @opweave.library.custom_op(...)",
        )  # fmt: skip
    if schema is not None and not isinstance(schema, str):
        raise ArgumentError(
            f"{name}: the schema must be text", got=f"{schema!r} ({type(schema).__name__})", at=site,
            hint="schema='(Tensor x, int n) -> Tensor', or leave it out",
        )  # fmt: skip
    text = infer_schema(fn, mutates_args=mutates_args, op_name=name) if schema is None else name + schema
    parsed = parse_schema(text)
    if mutates_args != "unknown" and set(mutates_args or ()) != set(parsed.mutated_args):
        raise RegistrationError(
            f"{name}: mutates_args and the schema disagree", at=site,
            got=f"mutates_args={mutates_args}, schema writes {sorted(parsed.mutated_args)}",
            hint="mark written tensors as Tensor(a!) in the schema",
        )  # fmt: skip
    if schema is not None:
        _require_signature(parsed, fn, "the implementation")
    with lock:
        existing = definitions.get(name)
        packet = registry.packets.get(name)
        if packet is not None and any(getattr(packet, overload).decl is not None for overload in packet.overloads()):
            raise RegistrationError(
                f"{name}: already defined, as a built-in op", got=f"overloads {', '.join(packet.overloads())}", at=site,
                hint="give it a namespace of your own: 'mylib::...'",
            )  # fmt: skip
        if existing is not None:
            registry.remove(existing._opoverload)
        op = None
        try:
            op = registry.define(parsed, tags=tags, site=site)
            if existing is not None:
                op.version = existing._opoverload.version + 1
            complete(op)
        except BaseException:
            if op is not None:
                registry.remove(op)
            if existing is not None:
                registry.restore(existing._opoverload)
            raise
        definition = definitions[name] = CustomOpDef(op, fn)
    return definition


def require_callable(op: OpOverload, fn: Any, what: str) -> None:
    """Refuse what cannot be called with the op's arguments, at once rather than in the middle of a trace."""
    if not callable(fn):
        raise ArgumentError(
            f"{op.name}: the {what} must be a function", got=f"{fn!r} ({type(fn).__name__})",
            hint=f"schema: {op._schema}",
        )  # fmt: skip
    _require_signature(op._schema, fn, f"the {what}")


def _require_signature(schema: FunctionSchema, fn: Callable[..., Any], what: str) -> None:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # a builtin without one
        return
    positional = [a.name for a in schema.arguments if not a.kwarg_only]
    named = {a.name: None for a in schema.arguments if a.kwarg_only}
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        name = getattr(fn, "__name__", type(fn).__name__)
        raise RegistrationError(
            f"{schema.full_name}: {what} cannot be called with the op's arguments: {error}",
            got=f"def {name}{signature}", at=_function_site(fn), hint=f"schema: {schema}",
        ) from None  # fmt: skip


def add_kernel(op: OpOverload, device_types: DeviceTypes, fn: Callable[..., Any], site: Site) -> None:
    """Register a checked kernel for device types."""
    if op.decl is not None:
        raise RegistrationError(
            f"{op.name}: is a built-in op, which compiled code computes without calling a kernel",
            got="a kernel that only eager calls would use", at=site,
            hint="define an op of your own with @opweave.library.custom_op, and call that",
        )  # fmt: skip
    require_callable(op, fn, "kernel")
    kernel = _checked(op, fn)
    if device_types is None:
        op.register(DispatchKey.CompositeExplicitAutograd, kernel, site=site, override=True)
        return
    names = [device_types] if isinstance(device_types, str) or not isinstance(device_types, Iterable) else device_types
    names = list(names)
    for device_type in names:
        key = DEVICE_KEYS.get(device_type) if isinstance(device_type, str) else None
        if key is None:
            raise ArgumentError(
                f"{op.name}: unknown device type {device_type!r}", got=f"device_types={device_types!r}", at=site,
                hint=f"one of {', '.join(DEVICE_KEYS)}",
            )  # fmt: skip
    arguments = op._schema.arguments
    if not any(a.type.has_tensor for a in arguments) and not any(str(a.type).startswith("Device") for a in arguments):
        raise RegistrationError(
            f"{op.name}: a kernel for one device needs a tensor or a device argument to choose by", at=site,
            hint="add an argument `device: opweave.device`, or drop device_types",
        )  # fmt: skip
    for device_type in names:
        op.register(DEVICE_KEYS[device_type], kernel, site=site, override=True)


def _checked(op: OpOverload, fn: Callable[..., Any]) -> Kernel:
    """The user's function with its results checked against the schema: number, type, and no alias of an input."""
    returns = op._schema.returns
    kinds = [str(r.type) for r in returns]
    plain = len(kinds) == 1 and kinds[0] == "Tensor"

    def kernel(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        if plain:
            if type(result) is not Tensor and not isinstance(result, Tensor):
                _refuse_result(op, fn, result)
            outputs: Sequence[Any] = (result,)
        elif not kinds:
            if result is not None:
                _refuse_result(op, fn, result)
            return None
        elif len(kinds) == 1:
            outputs = result if isinstance(result, (list, tuple)) else (result,)
        else:
            if not isinstance(result, (list, tuple)) or len(result) != len(kinds):
                _refuse_result(op, fn, result)
            for kind, value in zip(kinds, result, strict=True):
                if kind == "Tensor" and not isinstance(value, Tensor):
                    _refuse_result(op, fn, result)
            outputs = result
        if not op.mutated_args or outputs:
            _refuse_aliases(op, outputs, [*args, *kwargs.values()])
        return result

    return kernel


def _refuse_result(op: OpOverload, fn: Callable[..., Any], result: Any) -> None:
    got = describe(result) if isinstance(result, Tensor) else f"{type(result).__name__}"
    if isinstance(result, (list, tuple)):
        got = f"{type(result).__name__} of {', '.join(type(item).__name__ for item in result)}"
    raise ArgumentError(
        f"{op.name}: the implementation must return {', '.join(str(r.type) for r in op._schema.returns) or 'None'}",
        got=got, at=_function_site(fn), hint=f"schema: {op._schema}",
    )  # fmt: skip


def _function_site(fn: Any) -> Site:
    code = getattr(fn, "__code__", None)
    return user_frame() if code is None else Site(code.co_filename, code.co_firstlineno, code.co_name)


def _range(t: Tensor) -> tuple[int, int]:
    start = t.data_ptr()
    return start, start + span(t._sizes, t._strides) * t._dtype.itemsize


def _refuse_aliases(op: OpOverload, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
    """Raise if an output shares memory with an input: every stage relies on the schema, which says it does not."""
    given = None
    for output in tensors_in(outputs):
        if output._storage.owner is None:
            continue
        low, high = _range(output)
        if low == high:
            continue
        if given is None:
            given = [(t, _range(t)) for t in tensors_in(inputs) if t._storage.owner is not None]
        for t, (start, stop) in given:
            if low < stop and start < high and output._device is t._device:
                raise RegistrationError(
                    f"{op.name}: an output shares memory with an input", got=f"{describe(output)} and {describe(t)}",
                    hint="return a copy (.clone(), np.array(a)): the compiler trusts that outputs are fresh",
                )  # fmt: skip
