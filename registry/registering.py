"""Checked registrations on one op: kernels, fake rules, backward, batching, dispatch rules.

Each function refuses what cannot work before it changes anything, and returns what undoes the change. Both ways to
register share them: the methods of a `CustomOpDef` and the functions of `registry.library` and `registry.op_rules`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from opweave.registry.autograd.registered import RegisteredBackward
from opweave.registry.dtypes import DType
from opweave.registry.entry import compile_function, identifier, parameters, rebind
from opweave.registry.errors import ArgumentError, RegistrationError, Site, user_frame
from opweave.registry.failing import note_op
from opweave.registry.interrupts import let_through
from opweave.registry.kernels import Kernel
from opweave.registry.keys import AUTOCAST_KEYS, DEVICE_KEYS, DispatchKey, DispatchMode
from opweave.registry.memory import Foreign, Lease
from opweave.registry.op import OpOverload, lock
from opweave.registry.overlap import overlap
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.results import unlink
from opweave.registry.schema import FunctionSchema
from opweave.registry.spec import contiguous_strides, span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, describe
from opweave.registry.types import DEVICE, TENSOR
from opweave.registry.undeclared import Watched, refuse_write, unwritten

DeviceTypes = str | Sequence[str] | None
Undo = Callable[[], None]


def _change(op: OpOverload, attribute: str, value: Any) -> Undo:
    with lock:
        before = getattr(op, attribute)
        setattr(op, attribute, value)
        op.changed()

    def undo() -> None:
        with lock:
            if getattr(op, attribute) is value:
                setattr(op, attribute, before)
                op.changed()

    return undo


def add_fake(op: OpOverload, rule: Callable[..., Any]) -> Undo:
    """Set how an op acts on tensors without data."""
    require_callable(op, rule, "fake rule")
    return _change(op, "fake", rule)


def add_backward(
    op: OpOverload, backward: Callable[..., Any], setup_context: Callable[..., Any] | None, site: Site
) -> Undo:
    """Set how an op is differentiated.

    Raises
    ------
    RegistrationError
        If the op writes to or returns its arguments, or has tensors that are keyword-only.
    """
    schema = op._schema
    if not callable(backward) or (setup_context is not None and not callable(setup_context)):
        raise ArgumentError(
            f"{op.name}: backward and setup_context must be functions",
            got=f"{backward!r}, setup_context={setup_context!r}", at=site,
            hint="register_autograd(op, backward, setup_context=setup_context)",
        )  # fmt: skip
    if schema.is_mutable or schema.aliased_returns:
        raise RegistrationError(
            f"{op.name}: only a functional op can have a backward", got=f"schema: {schema}", at=site,
            hint="make an op that returns new tensors, register its backward, and write the in-place one with it",
        )  # fmt: skip
    named = [a.name for a in schema.arguments if a.kwarg_only and a.type.has_tensor]
    if named:
        raise RegistrationError(
            f"{op.name}: keyword-only tensors cannot have gradients", got=", ".join(named), at=site,
            hint="make them positional: backward returns gradients by position",
        )  # fmt: skip
    if setup_context is not None:
        expected = ("ctx", "inputs", "keyword_only_inputs", "output")
        if not any(a.kwarg_only for a in schema.arguments):
            expected = ("ctx", "inputs", "output")
        try:
            parameters = list(inspect.signature(setup_context).parameters.values())
        except (TypeError, ValueError) as error:
            let_through(error)
            parameters = None
        names = {p.name for p in parameters or ()}
        catches_all = any(p.kind is p.VAR_KEYWORD for p in parameters or ())
        required = {p.name for p in parameters or () if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
        fitting = (catches_all or set(expected) <= names) and required <= set(expected)
        if parameters is not None and not fitting:
            raise RegistrationError(
                f"{op.name}: setup_context must take ({', '.join(expected)})",
                got=f"def {getattr(setup_context, '__name__', 'setup_context')}{inspect.signature(setup_context)}",
                at=_function_site(setup_context), hint=f"def setup_context({', '.join(expected)}):",
            )  # fmt: skip
    return _change(op, "derivative", RegisteredBackward(backward, setup_context))


def add_batch_rule(op: OpOverload, rule: Callable[..., Any], site: Site) -> Undo:
    """Set how an op acts on a batch: `rule(info, in_dims, *args, **kwargs) -> (output, out_dims)`."""
    if not callable(rule):
        raise ArgumentError(
            f"{op.name}: the vmap rule must be a function",
            got=repr(rule),
            at=site,
            hint="def rule(info, in_dims, *args): return result, 0",
        )
    if op._schema.is_mutable or op._schema.aliased_returns:
        raise RegistrationError(
            f"{op.name}: only a functional op can have a vmap rule", got=f"schema: {op._schema}", at=site,
            hint="make an op that returns new tensors",
        )  # fmt: skip
    named = [a.name for a in op._schema.arguments if a.kwarg_only and a.type.has_tensor]
    if named:
        raise RegistrationError(
            f"{op.name}: keyword-only tensors cannot be batched by a rule", got=", ".join(named), at=site
        )
    return _change(op, "batch_rule", rule)


def add_autocast(op: OpOverload, device_type: str, dtype: Any, site: Site) -> Undo:
    """Set to which dtype floating inputs are cast inside an autocast block of a device type.

    Raises
    ------
    ArgumentError
        If there is no autocast for the device type, or the dtype is not a floating one.
    """
    if device_type not in AUTOCAST_KEYS:
        raise ArgumentError(
            f"{op.name}: there is no autocast for device type {device_type!r}", at=site,
            hint=f"one of {', '.join(AUTOCAST_KEYS)}",
        )  # fmt: skip
    if not isinstance(dtype, DType) or not dtype.is_floating_point:
        raise ArgumentError(
            f"{op.name}: cast_inputs must be a floating dtype", got=repr(dtype), at=site, hint="opweave.bfloat16"
        )
    before = op.autocast_rules.get(device_type)
    with lock:
        op.autocast_rules = {**op.autocast_rules, device_type: dtype}
        op.changed()

    def undo() -> None:
        with lock:
            rest = {kind: rule for kind, rule in op.autocast_rules.items() if kind != device_type}
            op.autocast_rules = rest if before is None else {**rest, device_type: before}
            op.changed()

    return undo


def add_dispatch_rule(
    op: OpOverload, kind: type, rule: Callable[..., Any], site: Site, *, replace: bool = False
) -> Undo:
    """Set what a tensor subclass or a mode does with an op.

    Raises
    ------
    ArgumentError
        If the class is neither.
    RegistrationError
        If it has a rule for the op already, which may not be replaced.
    """
    if not isinstance(kind, type) or not (
        issubclass(kind, DispatchMode) or (issubclass(kind, Tensor) and hasattr(kind, "__torch_dispatch__"))
    ):
        raise ArgumentError(
            f"{op.name}: expected a tensor subclass with __torch_dispatch__ or a dispatch mode", got=repr(kind),
            at=site, hint="class MyMode(opweave.DispatchMode): ...",
        )  # fmt: skip
    if not callable(rule):
        raise ArgumentError(f"{op.name}: the dispatch rule must be a function", got=repr(rule), at=site)
    before = op.dispatch_rules.get(kind)
    if before is not None and not replace:
        raise RegistrationError(
            f"{op.name}: {kind.__name__} already has a rule", at=site,
            got=f"first from {_function_site(before)}",
            hint="a rule of an op defined by a Library is taken back when its library is collected",
        )  # fmt: skip
    with lock:
        op.dispatch_rules = {**op.dispatch_rules, kind: rule}
        op.changed()

    def undo() -> None:
        with lock:
            if op.dispatch_rules.get(kind) is not rule:
                return  # replaced since
            rest = {k: r for k, r in op.dispatch_rules.items() if k is not kind}
            op.dispatch_rules = rest if before is None else {**rest, kind: before}
            op.changed()

    return undo


def require_callable(op: OpOverload, fn: Any, what: str) -> None:
    """Refuse what cannot be called with the op's arguments, at once rather than in the middle of a trace."""
    if not callable(fn):
        raise ArgumentError(
            f"{op.name}: the {what} must be a function", got=f"{fn!r} ({type(fn).__name__})",
            hint=f"schema: {op._schema}",
        )  # fmt: skip
    require_signature(op._schema, fn, f"the {what}")


def require_signature(schema: FunctionSchema, fn: Callable[..., Any], what: str) -> None:
    """Refuse a function that the op's arguments do not bind to."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError) as error:  # a builtin without one
        let_through(error)
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


def add_kernel(op: OpOverload, device_types: DeviceTypes, fn: Callable[..., Any], site: Site) -> Undo:
    """Register a checked kernel for device types, for all of them with None."""
    require_callable(op, fn, "kernel")
    # A built-in op may return its argument or a view of it without saying so in its schema.
    kernel = fn if op.decl is not None else _checked(op, fn)
    if device_types is None:
        return op.register(DispatchKey.CompositeExplicitAutograd, kernel, site=site, override=True).undo
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
    if not any(a.type.has_tensor for a in arguments) and not any(a.type.base == DEVICE for a in arguments):
        raise RegistrationError(
            f"{op.name}: a kernel for one device needs a tensor or a device argument to choose by", at=site,
            hint="add an argument `device: opweave.device`, or drop device_types",
        )  # fmt: skip
    made = [op.register(DEVICE_KEYS[name], kernel, site=site, override=True) for name in names]

    def undo() -> None:
        for registration in made:
            registration.undo()

    return undo


def _checked(op: OpOverload, fn: Callable[..., Any]) -> Kernel:
    """The user's function with its results checked against the schema: number, type, and no alias of an input."""
    schema = op._schema
    check_aliases = not schema.aliased_returns
    if [r.type for r in schema.returns] == [TENSOR] and check_aliases:
        return _checked_tensor(op, fn)
    conform = op._conform
    watched = unwritten(schema)

    def directly(body: Kernel) -> None:
        nonlocal call
        call = body

    call: Kernel = Watched(schema, fn, directly) if watched else fn

    def kernel(*args: Any, **kwargs: Any) -> Any:
        before = [(name, _versions([args[i] if i < len(args) else kwargs.get(name)])) for i, name in watched]
        try:
            result = call(*args, **kwargs)
        except Exception as error:
            let_through(error)
            note_op(op, error, args, kwargs)
            raise
        for name, versions in before:
            if versions and _moved(versions):
                refuse_write(schema, name, versions[0][0])
        try:
            found = conform(result)
        except (TypeError, AttributeError) as error:
            let_through(error)
            _refuse_result(op, fn, result)
        if check_aliases:
            _refuse_aliases(op, found if isinstance(found, (list, tuple)) else (found,), args, kwargs)
        return found

    kernel.__wrapped__ = fn  # type: ignore[attr-defined]  # `inspect.signature` then shows the user's parameters
    return kernel


def _checked_tensor(op: OpOverload, fn: Callable[..., Any]) -> Kernel:
    """`_checked` for the usual op, which makes one new tensor.

    Written out with the schema's own arguments, so that the interpreter hands them on as they are, and with the test
    that no memory is shared in line.
    """

    def check(result: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(result, Tensor):
            _refuse_result(op, fn, result)
        _refuse_aliases(op, (result,), args, kwargs)
        unlink(result, args)
        return result

    schema = op._schema
    arguments = schema.arguments
    taken, given, names = parameters(schema)
    after = ", " * bool(given) + given
    watched = unwritten(schema)
    reads: list[str] = []
    tests: list[str] = []
    for position, name in watched:
        argument, name = arguments[position], identifier(name)
        version, before = f"{name}._storage.version", f"$before{position}"
        test = f"if ({version}) != {before}"
        if argument.type.is_list:
            version, test = f"$versions([{name}])", f"if $moved({before})"
        elif argument.type.is_optional or (argument.has_default and argument.default is None):
            version = f"{name} is not None and {version}"
            test = f"if ({version}) != {before}"
        reads.append(f"    {before} = {version}")
        tests.append(f"    {test}: $wrote({argument.name!r}, {name})")
    lines = [
        f"def $call({taken}):",
        *reads,
        "    try:",
        f"        $result = $fn({given})",
        "    except $Exception as $error:",
        f"        $failed($error{after})",
        "        raise",
        *tests,
    ]
    if not any(a.type.has_tensor and a.type.is_list for a in arguments):
        fresh = ["($owner.__class__ is $Lease or $owns($owner))"]
        for argument in arguments:
            if argument.type.has_tensor:
                name = identifier(argument.name)
                absent = f"{name} is None or " if argument.type.is_optional else ""
                is_lease = "$other.owner.__class__ is $owner.__class__ is $Lease or $apart($other, $storage)"
                fresh.append(f"({absent}(($other := {name}._storage) is not $storage and ({is_lease})))")
        lines += [
            "    if $result.__class__ is $Tensor:",
            "        $storage = $result._storage",
            "        $owner = $storage.owner",
            f"        if {' and '.join(fresh)}:",
            "            if $result._view_of is not None:",
            "                $result._view_of = None",
            "            return $result",
        ]
    lines += [f"    return $check($result{after})"]

    def failed(error: Exception, *args: Any, **kwargs: Any) -> None:
        note_op(op, error, args, kwargs)

    def wrote(name: str, value: Any) -> None:
        refuse_write(schema, name, next(iter(tensors_in([value]))))

    first = Watched(schema, fn, lambda body: rebind(kernel, "fn", body)) if watched else fn
    names |= {"fn": first, "failed": failed, "wrote": wrote, "versions": _versions, "moved": _moved}
    names |= {"Exception": Exception, "check": check, "owns": _owns, "apart": _apart, "Tensor": Tensor, "Lease": Lease}
    kernel = compile_function(f"<opweave kernel of {op.name}>", lines, names)
    kernel.__wrapped__ = fn  # type: ignore[attr-defined]
    kernel.unlinked = True  # type: ignore[attr-defined]  # see `registry.results`
    return kernel


def _versions(given: Any) -> list[tuple[Tensor, int]]:
    """The tensors in a list, and what their version counters stand at."""
    return [(t, t._storage.version) for t in tensors_in(given)]


def _moved(versions: list[tuple[Tensor, int]]) -> bool:
    """Whether one of them was written to since."""
    return any(t._storage.version != version for t, version in versions)


def _owns(owner: Any) -> bool:
    """Whether an array has memory of its own."""
    return type(owner) is Foreign or (owner is not None and owner.base is None)


def _apart(storage: Storage, other: Storage) -> bool:
    """Whether two storages are known to lie apart: on memory of their own, or by their addresses."""
    if type(storage.owner) is Foreign or type(other.owner) is Foreign:
        start, start_other = storage.ptr, other.ptr
        return start + storage.nbytes <= start_other or start_other + other.nbytes <= start
    owner = storage.owner
    return owner is not other.owner and (type(owner) is Lease or _owns(owner))


def _refuse_result(op: OpOverload, fn: Callable[..., Any], result: Any) -> NoReturn:
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


def _share(one: Tensor, other: Tensor) -> bool:
    """Whether tensors in one range of memory share elements; interleaved ones do not."""
    if one._storage is other._storage:
        return overlap(one, other)
    return all(t._strides == contiguous_strides(t._sizes) for t in (one, other))


def _refuse_aliases(op: OpOverload, outputs: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise if an output shares memory with an input or another output: stages trust the schema, which says not."""
    given = None
    before: list[tuple[Tensor, int, int]] = []
    for output in tensors_in(outputs):
        if output._storage.owner is None:
            continue
        low, high = _range(output)
        if low == high:
            continue
        for other, start, stop in before:
            if low < stop and start < high and output._device is other._device and _share(output, other):
                raise RegistrationError(
                    f"{op.name}: two outputs share memory", got=f"{describe(other)} and {describe(output)}",
                    hint="return a copy of one (.clone(), np.array(a)): the compiler trusts that outputs are fresh",
                )  # fmt: skip
        before.append((output, low, high))
        if given is None:
            inputs = tensors_in([*args, *kwargs.values()])
            given = [(t, _range(t)) for t in inputs if t._storage.owner is not None]
        for t, (start, stop) in given:
            if low < stop and start < high and output._device is t._device:
                raise RegistrationError(
                    f"{op.name}: an output shares memory with an input", got=f"{describe(output)} and {describe(t)}",
                    hint="return a copy (.clone(), np.array(a)): the compiler trusts that outputs are fresh",
                )  # fmt: skip
