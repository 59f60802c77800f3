"""`custom_op`: a Python function as an opaque operator.

No stage looks inside such an op: it is one node in every graph, it runs its own kernel, and what the compiler knows
about it is its schema and its fake rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from opweave.registry.errors import ArgumentError, RegistrationError, user_frame
from opweave.registry.interrupts import deferred
from opweave.registry.keys import DEVICE_KEYS, DispatchKey
from opweave.registry.op import OpOverload, lock, registry
from opweave.registry.registering import (
    DeviceTypes,
    add_autocast,
    add_backward,
    add_batch_rule,
    add_dispatch_rule,
    add_fake,
    add_kernel,
    require_signature,
)
from opweave.registry.schema import infer_schema, parse_schema
from opweave.registry.structured import Structure
from opweave.registry.tags import Tag, TagLike, parse_tags

#: Definitions by the name of the op.
definitions: dict[str, CustomOpDef[..., Any]] = {}

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class CustomOpDef(Generic[P, R]):
    """A custom operator: call it, and register more about it.

    Made by `opweave.library.custom_op` and `triton_op`.

    Examples
    --------
    >>> half = opweave.library.custom_op("docs::half", lambda x: x / 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> _ = half.register_fake(lambda x: opweave.empty_like(x))
    >>> half(opweave.ones(2))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, op: OpOverload, fn: Callable[..., Any], structure: Structure | None = None):
        self._opoverload = op
        self._structure = structure
        self._namespace = op.namespace
        self._name = op.name.partition("::")[2]
        self._qualname = op.name
        self._init_fn = fn
        #: The function that the op was made of, as a kernel.
        self._default = next(iter(op.kernels.values()), None)
        self.__name__ = getattr(fn, "__name__", op.opname)
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        op = self._opoverload
        if self._structure is not None:
            flat, keyword = self._structure.encode(args, kwargs)
            return self._structure.build_result(op(*flat, **keyword))
        try:
            return op._entry(*args, **kwargs)
        except TypeError as error:
            explained = op.explained(error, args, kwargs)
            if explained is error:
                raise
            raise explained from None

    def _flat(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """A user's function as one of the op's own arguments."""
        return fn if self._structure is None or not callable(fn) else self._structure.flattened(fn)

    def register_fake(self, fn: F, /) -> F:
        """Register how the op acts on tensors without data; decorator.

        Parameters
        ----------
        fn : callable
            Takes the op's arguments and returns tensors of the right sizes, strides, dtype and device (`empty_like`,
            `x.new_empty(...)`); it must not look at data.
        """
        add_fake(self._opoverload, self._flat(fn))
        return fn

    @overload
    def register_kernel(self, device_types: DeviceTypes, fn: F, /) -> F: ...
    @overload
    def register_kernel(self, device_types: DeviceTypes, fn: None = None, /) -> Callable[[F], F]: ...
    def register_kernel(self, device_types: DeviceTypes, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register an implementation for one or several device types, or for all with None; decorator.

        Parameters
        ----------
        device_types : None, str or sequence of str
            `"cpu"`, `"cuda"`.
        """

        def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
            add_kernel(self._opoverload, device_types, self._flat(kernel), user_frame())
            return kernel

        return register if fn is None else register(fn)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Register how the op is differentiated.

        Parameters
        ----------
        backward : callable
            `backward(ctx, *grads)`: a gradient for each positional argument, None for those that have none.
        setup_context : callable, optional
            `setup_context(ctx, inputs, output)`, or `(ctx, inputs, keyword_only_inputs, output)` where the op has
            keyword-only arguments: keeps on `ctx` what `backward` needs.

        Where the function's annotations are structures, both see the op's own, flat arguments and results.
        """
        add_backward(self._opoverload, backward, setup_context, user_frame())

    @overload
    def register_vmap(self, func: F, /) -> F: ...
    @overload
    def register_vmap(self, func: None = None, /) -> Callable[[F], F]: ...
    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Register how the op acts on a batch; decorator.

        Parameters
        ----------
        func : callable
            `func(info, in_dims, *args, **kwargs) -> (output, out_dims)`; `info` has `batch_size` and `randomness`.
            `in_dims` has an entry for each of `args`: the op's positional arguments, those left at their defaults too,
            as far as the function takes them.
        """
        site = user_frame()

        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            add_batch_rule(self._opoverload, rule, site)
            return rule

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Register to which dtype floating inputs are cast in an autocast block of a device type."""
        add_autocast(self._opoverload, device_type, cast_inputs, user_frame())

    @overload
    def register_torch_dispatch(self, torch_dispatch_class: type, fn: F, /) -> F: ...
    @overload
    def register_torch_dispatch(self, torch_dispatch_class: type, fn: None = None, /) -> Callable[[F], F]: ...
    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register what a tensor subclass or a dispatch mode does with the op, in place of an earlier rule; decorator.

        Parameters
        ----------
        torch_dispatch_class : type
            The subclass or mode.
        fn : callable
            `fn(cls_or_mode, func, types, args, kwargs)`.
        """
        site = user_frame()

        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            add_dispatch_rule(self._opoverload, torch_dispatch_class, rule, site, replace=True)
            return rule

        return register if fn is None else register(fn)

    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> KernelSwitch:
        """Switch the kernel of a device type off or on; at once, and back at the end if used in `with`.

        Without it calls go to the function that the op was made of. A kernel registered while its device type is off
        stays off.

        Parameters
        ----------
        device_type : str
            `"cpu"`, `"cuda"`.
        enabled : bool
            Whether the kernel is used.
        """
        key = DEVICE_KEYS.get(device_type) if isinstance(device_type, str) else None
        if key is None:
            raise ArgumentError(
                f"{self._qualname}: unknown device type {device_type!r}", hint=f"one of {', '.join(DEVICE_KEYS)}"
            )
        return KernelSwitch(self._opoverload, key, enabled, self._default)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


class KernelSwitch:
    """What `set_kernel_enabled` returns: the change is made; leaving a `with` block takes it back."""

    def __init__(self, op: OpOverload, key: DispatchKey, enabled: bool, default: Any):
        self.op = op
        with lock:
            self.before = op.disabled
            others = {other: kernel for other, kernel in op.disabled.items() if other is not key}
            op.disabled = others if enabled else {**others, key: default}
            op.changed()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        with lock:
            self.op.disabled = self.before
            self.op.changed()


@overload
def custom_op(
    name: str, fn: Callable[P, R], /, *, mutates_args: str | Iterable[str], device_types: DeviceTypes = None,
    schema: str | None = None, tags: TagLike = (),
) -> CustomOpDef[P, R]: ...  # fmt: skip
@overload
def custom_op(
    name: str, fn: None = None, /, *, mutates_args: str | Iterable[str], device_types: DeviceTypes = None,
    schema: str | None = None, tags: TagLike = (),
) -> Callable[[Callable[P, R]], CustomOpDef[P, R]]: ...  # fmt: skip
def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None, schema: str | None = None, tags: TagLike = (),
) -> Any:  # fmt: skip
    """Wrap a function as an operator that tracing and compilation never look into.

    Parameters
    ----------
    name : str
        `"namespace::name"`, or `"namespace::name.overload"`: a call of `ops.namespace.name` picks the overload that
        its arguments fit.
    fn : callable, optional
        The implementation, with type hints. Without it a decorator is returned.
    mutates_args : iterable of str or "unknown"
        Names of the arguments the function writes; `"unknown"` means any of them. Compiled code moves, merges and
        drops calls around a write that is not declared; eager and compiled calls refuse those that they notice
        (`registry.undeclared`).
    device_types : None, str or sequence of str
        Device types that `fn` is for; all by default.
    schema : str, optional
        Arguments and returns, such as `"(Tensor x, int y) -> Tensor"`; inferred from the type hints by default.
    tags : Tag, str or sequence of them
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

    def declare(body: Callable[..., Any]) -> CustomOpDef[..., Any]:
        def complete(op: OpOverload, implementation: Callable[..., Any]) -> None:
            add_kernel(op, device_types, implementation, op.site)
            if not op._schema.returns:
                op.register_fake_rule(lambda *args, **kwargs: None)

        return define_custom_op(name, body, complete, mutates_args=mutates_args, schema=schema, tags=tags)

    return declare if fn is None else declare(fn)


def define_custom_op(
    name: str, fn: Callable[..., Any], complete: Callable[[OpOverload, Callable[..., Any]], None], *, mutates_args: Any,
    schema: str | None, tags: TagLike,
) -> CustomOpDef[..., Any]:  # fmt: skip
    """Define the op of a function; an earlier custom op of the name is replaced.

    `complete` registers its kernels. If that fails, the registry is as it was before.
    """
    site = user_frame()
    namespace, separator, rest = name.partition("::") if isinstance(name, str) else ("", "", "")
    opname, dot, overload = rest.partition(".")
    legal = overload.isidentifier() and overload != "default" and not overload.startswith("__") if dot else True
    if not separator or not namespace.isidentifier() or not opname.isidentifier() or not legal:
        raise ArgumentError(
            f"custom_op: malformed name {name!r}", got=f"{name!r} ({type(name).__name__})", at=site,
            hint="a name looks like 'mylib::my_op' or 'mylib::my_op.overload'",
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
    structure = Structure.of(fn) if schema is None else None
    implementation = fn
    if structure is not None:
        implementation = structure.flattened(fn)
        if not isinstance(mutates_args, str):
            mutates_args = structure.flat_names(list(mutates_args or ()))
    text = infer_schema(implementation, mutates_args=mutates_args, op_name=name) if schema is None else name + schema
    parsed = parse_schema(text, allow_typevars=False)
    if mutates_args != "unknown" and set(mutates_args or ()) != set(parsed.mutated_args):
        raise RegistrationError(
            f"{name}: mutates_args and the schema disagree", at=site,
            got=f"mutates_args={mutates_args}, schema writes {sorted(parsed.mutated_args)}",
            hint="mark written tensors as Tensor(a!) in the schema",
        )  # fmt: skip
    if schema is not None:
        require_signature(parsed, fn, "the implementation")
    with lock, deferred():
        existing = definitions.get(name)
        packet = registry.packets.get(f"{namespace}::{opname}")
        builtin = [o for o in (packet.overloads() if packet is not None else ()) if getattr(packet, o).decl is not None]
        if builtin and (not overload or overload in builtin):
            raise RegistrationError(
                f"{name}: already defined, as a built-in op", got=f"overloads {', '.join(builtin)}", at=site,
                hint="give it a namespace of your own: 'mylib::...'",
            )  # fmt: skip
        op = OpOverload(parsed.full_name, parsed, (Tag.pt2_compliant_tag, *parse_tags(name, tags)), site)
        complete(op, implementation)  # may refuse; nothing has changed yet
        op = registry.add(op, replace=existing is not None)
        definition: CustomOpDef[..., Any] = CustomOpDef(op, fn, structure)
        if existing is None:
            definitions[name] = definition
        else:
            # Wherever the earlier definition was imported to, it now means this one.
            existing.__dict__ = definition.__dict__
            definition = existing
    return definition
