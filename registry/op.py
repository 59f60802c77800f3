"""Operators and how a call finds its kernel.

An `OpOverload` has one schema and a dict of kernels by dispatch key. Calling it runs an *entry*, a function generated
from the schema once: Python itself binds arguments and defaults, the entry ORs the tensors' key bits, adds what the
thread's state includes, and looks the kernel up in a table that is filled when a key set is first seen and dropped
when a registration changes. Nothing else happens on a call.

    ops.aten.add.Tensor(x, y)
      └ entry(self, other, *, alpha=1)   keys = x | y | thread
          └ table[keys]                  CPU kernel, composite body, autograd, batching, modes and tensor subclasses

A table entry is found by going through the keys of the set from the highest down (`_resolve`): a registered kernel,
else what the key does with any op (`resolvers`), else on to the next key.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from opweave.registry import forking
from opweave.registry.conforming import conforming
from opweave.registry.entry import binds, build_entry, fits
from opweave.registry.errors import ArgumentError, AutogradError, DispatchError, RegistrationError, Site, user_frame
from opweave.registry.interrupts import deferred
from opweave.registry.keys import (
    ABOVE_VIEWS,
    ALIASES,
    BACKEND_MASK,
    BACKEND_OF,
    BACKENDS,
    DEVICE_KEYS,
    GRAD,
    INFERENCE,
    PYTHON_BIT,
    WATCHED,
    DispatchKey,
    DispatchKeySet,
    state,
)
from opweave.registry.results import may_be_linked, unlinked
from opweave.registry.schema import Argument, FunctionSchema, parse_schema
from opweave.registry.tags import Tag, declared, tags_of
from opweave.registry.tensor import Tensor, describe

Kernel = Callable[..., Any]
#: A schema, its text, or a function that makes the text when it is first needed.
SchemaSource = FunctionSchema | str | Callable[[], str]

#: Guards every change to the registry; calls take no lock.
lock = forking.short_lock()

#: What a key does with an op that has no kernel for it: `resolver(op, bits)` makes the kernel, or gives None to go on
#: to the next key. Autograd, batching, autocast enter themselves here.
resolvers: dict[DispatchKey, Callable[[OpOverload, int], Kernel | None]] = {}

_VIEW_BIT = DispatchKey.ADInplaceOrView.bit
_NON_FUNCTIONAL = DispatchKey.CompositeExplicitAutogradNonFunctional
_EXPLICIT = (_NON_FUNCTIONAL, DispatchKey.CompositeExplicitAutograd)
_IMPLICIT = DispatchKey.CompositeImplicitAutograd
_ALIAS_OF = {
    member: alias for alias in (DispatchKey.Autograd, DispatchKey.Autocast) for member in ALIASES[alias]
}  # fmt: skip


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """Registered for a key, it makes calls go on to the next key. It is never called itself."""
    raise NotImplementedError("fallthrough_kernel() marks a key to be skipped; it is not there to be called")


class KeysetKernel:
    """A kernel that takes the call's `DispatchKeySet` as its first argument."""

    __slots__ = ("fn",)

    def __init__(self, fn: Kernel):
        self.fn = fn

    def at(self, bits: int) -> Kernel:
        """The kernel for one key set."""
        fn, keys = self.fn, DispatchKeySet(bits)
        return lambda *args, **kwargs: fn(keys, *args, **kwargs)


class Registration:
    """One kernel registered on an op; `undo()` brings back what was there before."""

    __slots__ = ("op", "key", "kernel", "site")

    def __init__(self, op: OpOverload, key: DispatchKey, kernel: Any, site: Site):
        self.op, self.key, self.kernel, self.site = op, key, kernel, site

    def undo(self) -> None:
        """Take the kernel back; a no-op the second time."""
        with lock:
            stack = self.op.registrations.get(self.key, [])
            if self not in stack:
                return
            stack.remove(self)
            kernels = {key: kernel for key, kernel in self.op.kernels.items() if key is not self.key or stack}
            if stack:
                kernels[self.key] = stack[-1].kernel
                self.op.kernel_sites[self.key] = stack[-1].site
            self.op.kernels = kernels
            self.op.changed()


class OpOverload:
    """One operator with one schema, such as `aten.add.Tensor`.

    Attributes
    ----------
    namespace, opname, overload : str
        The parts of the name; the overload is `"default"` where the schema names none.
    name : str
        `"aten::add.Tensor"`.
    kernels : dict of DispatchKey to callable
        What was registered.
    fake : callable or None
        The rule that runs on tensors without data.
    decl : object or None
        The declaration (`registry.ops.kinds`) of a built-in op, None for a user's.
    tags : list of Tag
        Properties such as `Tag.pt2_compliant_tag`, `Tag.nondeterministic_seeded`.
    declared_tags : tuple of str
        Those that it was defined with, without what follows from its declaration.
    version : int
        Counts registrations on this op; compiled code that used an older one is stale.
    site : Site
        Where it was defined.
    schema_source : FunctionSchema, str or callable
        What the schema is made from when it is first needed.
    """

    def __init__(self, name: str, schema: SchemaSource, tags: Sequence[str] = (), site: Site | None = None):
        qualified, _, overload = name.partition(".")
        self.namespace, _, self.opname = qualified.partition("::")
        self.overload = overload or "default"
        self.name = name
        self.schema_source = schema
        self.declared_tags = tuple(tags)
        self.site = site or user_frame(1)
        self.decl: Any = None
        self.fake: Kernel | None = None
        self.kernels: dict[DispatchKey, Any] = {}
        #: Every kernel of a key that is still registered, the one in use last.
        self.registrations: dict[DispatchKey, list[Registration]] = {}
        #: How its results are differentiated (`registry.autograd.formula`), None where nothing is known.
        self.derivative: Any = None
        #: To what dtype autocast casts floating inputs, by device type (`register_autocast`).
        self.autocast_rules: dict[str, Any] = {}
        #: Backends whose kernel is switched off.
        self.disabled: frozenset[DispatchKey] = frozenset()
        #: Rule on batched tensors, as `register_vmap` takes it.
        self.batch_rule: Kernel | None = None
        #: What tensor subclasses and modes do with it, by class (`register_torch_dispatch`).
        self.dispatch_rules: dict[type, Kernel] = {}
        self.kernel_sites: dict[DispatchKey, Site] = {}
        self.version = 0
        #: A triton_op's body, which tracing goes through; None for every other op.
        self.body: Kernel | None = None
        self._table: dict[int, Kernel] = {}
        self.__name__ = self.opname
        self.__qualname__ = str(self)

    # Importing declares hundreds of ops and a program calls few, so what follows from the schema waits until asked for.

    @cached_property
    def _schema(self) -> FunctionSchema:
        source = self.schema_source
        if isinstance(source, FunctionSchema):
            return source
        return parse_schema(source if isinstance(source, str) else source())

    @cached_property
    def _entry(self) -> Kernel:
        return build_entry(self)

    @cached_property
    def _defaults(self) -> dict[str, Argument]:
        return {argument.name: argument for argument in self._schema.arguments if argument.has_default}

    @cached_property
    def _conform(self) -> Callable[[Any], Any]:
        return conforming(self._schema)

    @cached_property
    def tags(self) -> list[Tag]:
        """Properties, under PyTorch's names."""
        return declared(self) if self.decl is None else tags_of(self)

    @cached_property
    def is_mutable(self) -> bool:
        """Whether the op writes to any of its arguments."""
        return self._schema.is_mutable

    @cached_property
    def mutated_args(self) -> tuple[str, ...]:
        """Names of the arguments that the op writes to."""
        return self._schema.mutated_args

    @property
    def __doc__(self) -> str:  # type: ignore[override]  # help(op) shows the schema
        return str(self._schema)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._entry(*args, **kwargs)
        except TypeError as error:
            explained = self.explained(error, args, kwargs)
            if explained is error:
                raise
            raise explained from None

    def explained(self, error: TypeError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
        """The binding error of the generated entry as an ArgumentError; any other TypeError as it is."""
        frame = error.__traceback__
        # Binding fails in the caller itself, before any frame of the entry exists.
        if isinstance(error, ArgumentError) or frame is None or frame.tb_next is not None:
            return error
        message = str(error).partition(") ")[2] or str(error).partition("() ")[2] or str(error)
        given = ", ".join([*map(describe, args), *(f"{key}={describe(value)}" for key, value in kwargs.items())])
        return ArgumentError(f"{self}: {message}", got=f"({given})", hint=f"schema: {self._schema}")

    def redispatch(self, keys: DispatchKeySet, /, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel that an explicit key set selects."""
        return self._lookup(keys.bits)(*args, **kwargs)

    # ---- what it is ------------------------------------------------------------------------------------------------

    @property
    def is_view(self) -> bool:
        """Whether a result may alias an argument that is not written (`Tensor(a)`)."""
        return bool(self._schema.aliased_returns) and not self.is_mutable

    @cached_property
    def is_random(self) -> bool:
        """Whether it draws from the generator, so that each call gives something else."""
        return Tag.nondeterministic_seeded in self.tags

    @cached_property
    def _makes_tensors(self) -> bool:
        """Whether what its kernels return may have to be made tensors of their own (see `registry.results`)."""
        schema = self._schema
        return may_be_linked(self) and not schema.is_mutable and not schema.aliased_returns

    @property
    def is_triton_op(self) -> bool:
        """Whether tracing goes through the body of this op."""
        return self.body is not None

    @property
    def has_composite_implicit(self) -> bool:
        """Whether the op is decomposed before any mode sees it."""
        return DispatchKey.CompositeImplicitAutograd in self.kernels and not any(
            key in self.kernels for key in (*BACKENDS, DispatchKey.CompositeExplicitAutograd)
        )

    def is_overridden(self, device_type: str) -> bool:
        """Whether a built-in op runs something else on a device than it was declared with.

        A kernel or a fake rule registered since then: the compiler must call the op, not compute it by its declaration.
        """
        if self.decl is None:
            return False
        if self.fake != self.decl.fake:
            return True
        for key in (DEVICE_KEYS.get(device_type), *_EXPLICIT, _IMPLICIT):
            registered = self.registrations.get(key) if key is not None else None
            if registered:
                return registered[-1].site is not self.site
        return False

    @property
    def packet(self) -> OpOverloadPacket:
        """The overloads of the same name."""
        return registry.packets[f"{self.namespace}::{self.opname}"]

    def __str__(self) -> str:
        return f"{self.namespace}.{self.opname}.{self.overload}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self.opname}', overload='{self.overload}')>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_find, (self.name,))

    def __deepcopy__(self, memo: object) -> OpOverload:
        return self

    # ---- registration ----------------------------------------------------------------------------------------------

    def register(
        self, key: DispatchKey, kernel: Any, *, site: Site | None = None, override: bool = False
    ) -> Registration:
        """Set the kernel of a key.

        Parameters
        ----------
        key : DispatchKey
            A key or an alias.
        kernel : callable or KeysetKernel
            `fallthrough_kernel` makes calls pass the key by.
        override : bool
            Whether it may take the place of an earlier one.

        Raises
        ------
        RegistrationError
            If the key has a kernel and `override` is false.
        """
        site = site or user_frame(1)
        with lock, deferred():
            if key in self.kernels and not override and not registry.redefining:
                raise RegistrationError(
                    f"{self}: {key.name} already has a kernel", got=f"first from {self.kernel_sites[key]}", at=site,
                    hint="allow_override=True replaces it",
                )  # fmt: skip
            made = Registration(self, key, kernel, site)
            self.registrations.setdefault(key, []).append(made)
            self.kernels = {**self.kernels, key: kernel}
            self.kernel_sites[key] = site
            self.changed()
        return made

    def register_fake_rule(self, rule: Kernel) -> None:
        """Set the rule that runs on fake and meta tensors."""
        with lock:
            self.fake = rule
            self.changed()

    def changed(self) -> None:
        """Drop what was computed from earlier registrations."""
        with lock:
            self.version += 1
            self._table.clear()
            registry.version += 1
            if self.decl is not None:
                registry.builtin_version += 1

    # ---- dispatch --------------------------------------------------------------------------------------------------

    def _lookup(self, bits: int) -> Kernel:
        kernel = self._table.get(bits)
        if kernel is None:
            with lock:
                kernel = self._table[bits] = self._resolve(bits)
        return kernel

    def _resolve(self, bits: int) -> Kernel:
        if bits & WATCHED:
            found = self._lookup(bits & ~WATCHED)
            return found if watch is None else watch(self, found)
        if bits & INFERENCE:
            return _marking_inference(self._lookup(bits & ~INFERENCE))
        for key in _highest_first(bits):
            kernel = self._kernel_at(key, bits)
            if kernel is not None:
                found = kernel.at(bits) if isinstance(kernel, KeysetKernel) else kernel
                # Whether a trace, which is the work of a mode, misses this.
                hidden = self.decl is None and bits & PYTHON_BIT and key is not DispatchKey.Python
                if key is DispatchKey.Python and self.is_mutable:
                    found = _refusing_hidden_views(self, found)
                elif key < DispatchKey.Functionalize and self._makes_tensors and not hasattr(found, "unlinked"):
                    found = unlinked(found)
                if bits & PYTHON_BIT and self.decl is not None and kernel is self.kernels.get(_IMPLICIT):
                    return _settling(self, found)
                return _noting_use(self, found) if hidden else found
        key = DispatchKeySet(bits & BACKEND_MASK).highest()
        raise DispatchError(
            f"{self}: no kernel for {'meta tensors' if key is DispatchKey.Meta else key.name}",
            got="kernels: " + (", ".join(k.name for k in self.kernels) or "none"),
            hint="register one with opweave.library.register_"
            + ("fake" if key is DispatchKey.Meta else f"kernel({self.name!r}, {key.name.lower()!r})"),
        )

    def _kernel_at(self, key: DispatchKey, bits: int) -> Any:
        """What a key runs; None to go on to the next one."""
        kernels = self.kernels
        kernel = None if key in self.disabled else kernels.get(key)
        if kernel is fallthrough_kernel:
            return None
        if key is DispatchKey.Undefined or key in BACKENDS:
            if kernel is None and key is DispatchKey.Meta:
                kernel = self.fake
            for alias in (*_EXPLICIT, _IMPLICIT) if kernel is None else ():
                kernel = kernel or kernels.get(alias)
            if kernel is None and key is DispatchKey.Undefined:
                kernel = kernels.get(DispatchKey.CPU)
            kernel = kernel or self.fallback_at(key)
            return None if kernel is None else _noting_mutation(self, kernel, bits) if self.is_mutable else kernel
        if kernel is None and key in BACKEND_OF and not bits & BACKEND_OF[key].bit:
            return None
        if kernel is None and key in ALIASES[_IMPLICIT] and _IMPLICIT in kernels and not self._has_backend(bits):
            kernel = kernels[_IMPLICIT]
        if kernel is None and key in _ALIAS_OF:
            kernel = kernels.get(_ALIAS_OF[key])
            if kernel is fallthrough_kernel:
                return None
        if kernel is None and key in resolvers:
            kernel = resolvers[key](self, bits)
        return kernel or self.fallback_at(key)

    def _has_backend(self, bits: int) -> bool:
        """Whether a kernel for the devices in a key set stands in for the composite body.

        One for non-functional use does not, as in PyTorch.
        """
        present = self.kernels
        if DispatchKey.CompositeExplicitAutograd in present:
            return True
        return any(key in present and bits & key.bit and key not in self.disabled for key in BACKENDS)

    def fallback_at(self, key: DispatchKey) -> Any:
        """What the fallback registered for a key does with this op; None if there is none."""
        found = registry.fallbacks.get(key) or registry.fallbacks.get(_ALIAS_OF.get(key, key))
        if found is None or found.kernel is fallthrough_kernel:
            return None
        if isinstance(found.kernel, KeysetKernel):
            fn = found.kernel.fn
            return KeysetKernel(lambda keys, *args, **kwargs: fn(keys, self, *args, **kwargs))
        return lambda *args, **kwargs: found.kernel(self, *args, **kwargs)

    def derivative_source(self) -> tuple[Any, Any]:
        """(declaration, derivative): an in-place variant's derivative is that of its functional form."""
        return self.decl, self.derivative if self.decl is None else self.decl.derivative

    def trim(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Leave out arguments that equal their defaults, as a person would write the call."""
        arguments = self._schema.arguments
        count = len(args)
        while count and is_default(arguments[count - 1], args[count - 1]):
            count -= 1
        defaults = self._defaults
        kept = {k: v for k, v in kwargs.items() if k not in defaults or not is_default(defaults[k], v)}
        return args[:count], kept


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


def _highest_first(bits: int) -> Iterator[DispatchKey]:
    yield from DispatchKeySet(bits)
    if not bits & BACKEND_MASK:
        yield DispatchKey.Undefined


def _dispatch_in_python(op: OpOverload, bits: int) -> Kernel:
    return lambda *args, **kwargs: python_dispatch(op, *op.trim(args, kwargs))


resolvers[DispatchKey.Python] = _dispatch_in_python


#: Wraps an op's kernel in what looks at its calls, for those that are `WATCHED`.
watch: Callable[[OpOverload, Kernel], Kernel] | None = None


def _marking_inference(kernel: Kernel) -> Kernel:
    """Wrap a kernel so that what it makes can never be part of a gradient."""

    def marking(*args: Any, **kwargs: Any) -> Any:
        result = kernel(*args, **kwargs)
        given = {id(t) for t in tensors_in([*args, *kwargs.values()])}
        for t in tensors_in([result]):
            if id(t) not in given:
                t._keys &= ~ABOVE_VIEWS
        return result

    return marking


def _noting_use(op: OpOverload, kernel: Kernel) -> Kernel:
    def noting(*args: Any, **kwargs: Any) -> Any:
        if state.used is not None:
            state.used[op] = op.version
        return kernel(*args, **kwargs)

    return noting


#: Runs the body of a composite op in a trace whose sizes depend on data: ``(op, body, args, kwargs)``; `fake.search`'s.
settle_composite: Callable[[OpOverload, Kernel, tuple[Any, ...], dict[str, Any]], Any] | None = None


def _settling(op: OpOverload, kernel: Kernel) -> Kernel:
    def settling(*args: Any, **kwargs: Any) -> Any:
        if settle_composite is None:
            return kernel(*args, **kwargs)
        return settle_composite(op, kernel, args, kwargs)

    return settling


def _noting_mutation(op: OpOverload, kernel: Any, bits: int) -> Kernel:
    """Wrap a kernel so that the versions of what it writes are counted up."""
    if isinstance(kernel, KeysetKernel):
        kernel = kernel.at(bits)
    positions, keywords = _written(op)
    counts_itself = kernel is op.kernels.get(_IMPLICIT)  # by the ops that it calls
    if not bits & _VIEW_BIT:
        kernel = _refusing_inference(op, kernel)
    checked = _refusing_hidden_views(op, kernel)
    if counts_itself:
        return checked

    def mutating_first(*args: Any, **kwargs: Any) -> Any:
        # What nearly every op in place does, in one function instead of three.
        if args and type(args[0]) is Tensor and (args[0]._view_of is None or state.exclude & GRAD):
            result = kernel(*args, **kwargs)
            args[0]._bump()
            return result
        return mutating(*args, **kwargs)

    def mutating(*args: Any, **kwargs: Any) -> Any:
        result = checked(*args, **kwargs)
        for value in [*(args[i] for i in positions if i < len(args)), *(kwargs.get(name) for name in keywords)]:
            if isinstance(value, Tensor):
                value._bump()
            elif isinstance(value, (list, tuple)):
                for item in value:
                    if isinstance(item, Tensor):
                        item._bump()
        return result

    return mutating_first if positions == [0] and not keywords else mutating


def _written(op: OpOverload) -> tuple[list[int], list[str]]:
    """Positions and keywords of the arguments that an op writes."""
    names = set(op.mutated_args)
    arguments = op._schema.arguments
    positions = [i for i, a in enumerate(arguments) if not a.kwarg_only and a.name in names]
    return positions, [a.name for a in arguments if a.kwarg_only and a.name in names]


def _refusing_hidden_views(op: OpOverload, kernel: Kernel) -> Kernel:
    positions, _ = _written(op)

    def refusing(*args: Any, **kwargs: Any) -> Any:
        if not state.exclude & GRAD:
            for i in positions:
                if i < len(args) and getattr(args[i], "_view_of", None) is not None:
                    _refuse_hidden_view(op, args[i])
        return kernel(*args, **kwargs)

    return refusing


def _refusing_inference(op: OpOverload, kernel: Kernel) -> Kernel:
    positions, _ = _written(op)

    def refusing(*args: Any, **kwargs: Any) -> Any:
        if not state.exclude & _VIEW_BIT:
            for i in positions:
                if i < len(args) and isinstance(args[i], Tensor) and not args[i]._keys & _VIEW_BIT:
                    raise AutogradError(
                        f"{op}: a tensor of inference mode cannot be written outside of it", got=describe(args[i]),
                        hint="clone() it, or write under opweave.inference_mode()",
                    )  # fmt: skip
        return kernel(*args, **kwargs)

    return refusing


def _refuse_hidden_view(op: OpOverload, t: Tensor) -> None:
    """A write through a view that autograd does not know of would change what it does know."""
    base = t._view_of
    if base is not None and base._keys & GRAD and not t._keys & GRAD:
        raise AutogradError(
            f"{op}: a view made without recording, of a tensor that requires grad, cannot be written in place",
            got=describe(t), hint="make the view outside no_grad, or write under no_grad",
        )  # fmt: skip


def tensors_in(args: Any) -> Iterator[Tensor]:
    """The tensors among arguments, looking into lists, tuples and dicts."""
    for value in args.values() if isinstance(args, dict) else args:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple, dict)):
            yield from tensors_in(value)


def _rule_for(op: Any, kind: type) -> Kernel | None:
    """The rule of `register_torch_dispatch` for a class, if there is one."""
    rules = getattr(op, "dispatch_rules", None)
    return rules.get(kind) if rules else None


def python_dispatch(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hand a call to the innermost active mode, else to the tensor subclass that asks for it."""
    subclasses: dict[type, None] = {}
    for t in tensors_in([*args, *kwargs.values()]):
        if t._keys & PYTHON_BIT:
            subclasses[type(t)] = None
    types = tuple(subclasses)
    modes = state.modes
    if modes:
        outer = modes[:-1]
        saved_include = state.include
        state.modes = outer
        if not outer:
            state.include = saved_include & ~PYTHON_BIT
        try:
            rule = _rule_for(op, type(modes[-1]))
            if rule is not None:
                return rule(modes[-1], op, types, args, kwargs)
            return modes[-1].__torch_dispatch__(op, types, args, kwargs)
        finally:
            state.modes = modes
            state.include = saved_include
    for kind in types:
        rule = _rule_for(op, kind)
        if rule is not None:
            return rule(kind, op, types, args, kwargs)
        result = kind.__torch_dispatch__(op, types, args, kwargs)  # type: ignore[attr-defined]  # Python key implies it
        if result is not NotImplemented:
            return result
    raise DispatchError(f"{op}: no __torch_dispatch__ handled the call", got=", ".join(t.__name__ for t in types))


# ---- names ---------------------------------------------------------------------------------------------------------


class OpOverloadPacket:
    """All overloads of a name; calling it picks the first whose schema fits the arguments."""

    def __init__(self, namespace: str, opname: str):
        self.namespace = namespace
        self.opname = opname
        self._overloads: dict[str, OpOverload] = {}
        self._choice: dict[Any, OpOverload] = {}
        self.__name__ = opname
        self.__qualname__ = f"{namespace}.{opname}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.pick(args, kwargs)(*args, **kwargs)

    def pick(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        """The overload for these arguments; the choice is remembered by their types.

        Raises
        ------
        ArgumentError
            If none fits; lists the schemas.
        """
        if len(self._overloads) == 1:
            return next(iter(self._overloads.values()))
        signature = (
            tuple([_kind_of(a) if isinstance(a, (list, tuple)) else type(a) for a in args]),
            tuple([(k, _kind_of(v)) for k, v in kwargs.items()]) if kwargs else (),
        )
        found = self._choice.get(signature)
        if found is None:
            # A 0-d tensor passes for a number, but only where no overload takes it as a tensor.
            found = next((op for exact in (True, False) for op in self._overloads.values()
                          if fits(op, args, kwargs, exact)), None)  # fmt: skip
            if found is None:
                named = [op for op in self._overloads.values() if binds(op, args, kwargs)]
                if len(named) == 1:
                    return named[0]  # which says what is wrong with the values
                given = [*map(describe, args), *(f"{key}={describe(value)}" for key, value in kwargs.items())]
                raise ArgumentError(
                    f"{self}: no overload takes these arguments", got=f"({', '.join(given)})",
                    hint="one of:\n    " + "\n    ".join(str(op._schema) for op in self._overloads.values()),
                )  # fmt: skip
            self._choice[signature] = found
        return found

    def overloads(self) -> list[str]:
        """Names of the overloads."""
        return list(self._overloads)

    def add(self, op: OpOverload) -> None:
        """Make an overload known (or replace the one of the same name)."""
        self._overloads[op.overload] = op
        self._choice.clear()

    def remove(self, op: OpOverload) -> None:
        """Forget an overload."""
        self._overloads.pop(op.overload, None)
        self._choice.clear()

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__") or name in ("_overloads", "namespace"):
            raise AttributeError(name)  # asked of a half-made copy
        try:
            return self.__dict__["_overloads"][name]
        except KeyError:
            raise AttributeError(
                f"{self.namespace}.{self.opname} has no overload {name!r}; it has {', '.join(self._overloads)}"
            ) from None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a class attribute a packet is a method."""
        return self if instance is None else _BoundPacket(self, instance)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_packet, (self.namespace, self.opname))

    def __deepcopy__(self, memo: object) -> OpOverloadPacket:
        return self


class _BoundPacket:
    __slots__ = ("packet", "instance")

    def __init__(self, packet: OpOverloadPacket, instance: Any):
        self.packet = packet
        self.instance = instance

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.packet.pick((self.instance, *args), kwargs)(self.instance, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<bound op {self.packet} of {describe(self.instance)}>"


def _kind_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return (list, *{_kind_of(item) for item in value})
    return Tensor if isinstance(value, Tensor) else type(value)


class Namespace:
    """`ops.aten`: the packets of one namespace."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, opname: str) -> OpOverloadPacket:
        if opname.startswith("__") or opname == "_name":
            raise AttributeError(opname)  # asked of a half-made copy
        packet = registry.packets.get(f"{self._name}::{opname}")
        if packet is None:
            raise AttributeError(f"no op {self._name}::{opname} is registered")
        self.__dict__[opname] = packet
        return packet

    def __dir__(self) -> list[str]:
        return sorted(packet.opname for packet in registry.packets.values() if packet.namespace == self._name)

    def __repr__(self) -> str:
        return f"<ops.{self._name}>"

    def __deepcopy__(self, memo: object) -> Namespace:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return (_namespace, (self._name,))


class Ops:
    """`ops`: every registered op, as `ops.namespace.name.overload`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found: Any = registry.higher_order.get(name) or Namespace(name)
        self.__dict__[name] = found
        return found

    def __repr__(self) -> str:
        return "<opweave.ops>"

    def __deepcopy__(self, memo: object) -> Ops:
        return self

    def __reduce__(self) -> str:
        return "ops"


class Registry:
    """All ops by name."""

    def __init__(self) -> None:
        self.operators: dict[str, OpOverload] = {}
        self.packets: dict[str, OpOverloadPacket] = {}
        self.higher_order: dict[str, HigherOrderOperator] = {}
        #: What a key runs for every op that has nothing of its own for it (`Library("_", "IMPL").fallback`).
        self.fallbacks: dict[DispatchKey, Any] = {}
        #: Whether a definition may take the place of an earlier one (`allow_redefinition`).
        self.redefining = False
        #: Counts every change, so that what is compiled can tell whether anything happened at all.
        self.version = 0
        #: Counts the changes to built-in ops: compiled code may hold any of them in parts that no graph names.
        self.builtin_version = 0

    def define(
        self, schema: str | FunctionSchema, *, tags: Sequence[str] = (), site: Site | None = None, replace: bool = False
    ) -> OpOverload:
        """Add an op without kernels.

        Raises
        ------
        SchemaError
            If the schema does not parse or has no namespace.
        RegistrationError
            If an op of that name exists and `replace` is false; names both places.
        """
        site = site or user_frame(1)
        parsed = parse_schema(schema) if isinstance(schema, str) else schema
        return self.declare(parsed.full_name, parsed, tags=tags, site=site, replace=replace)

    def declare(
        self, name: str, schema: SchemaSource, *, tags: Sequence[str] = (), site: Site, replace: bool = False
    ) -> OpOverload:
        """`define` under a name that is known already; a schema given as text is parsed when it is first needed."""
        return self.add(OpOverload(name, schema, tags, site), replace=replace)

    def add(self, op: OpOverload, *, replace: bool = False) -> OpOverload:
        """Make an op known. One that it replaces becomes it: every reference to the earlier one sees the new op.

        Raises
        ------
        RegistrationError
            If an op of that name exists and `replace` is false; names both places.
        """
        with lock, deferred():
            existing = self.operators.get(op.name)
            if existing is None:
                self.operators[op.name] = op
                key = f"{op.namespace}::{op.opname}"
                self.packets.setdefault(key, OpOverloadPacket(op.namespace, op.opname)).add(op)
                self.version += 1
                return op
            if not (replace or self.redefining):
                raise RegistrationError(
                    f"{op.name}: already defined", got=f"first at {existing.site}", at=op.site,
                    hint="give it another name or another overload name; in a notebook, define it inside "
                    "`with opweave.library.allow_redefinition():`",
                )  # fmt: skip
            op.version = existing.version + 1
            existing.__dict__ = op.__dict__
            existing.packet.add(existing)
            self.version += 1
        return existing

    def remove(self, op: OpOverload) -> None:
        """Forget an op; compiled code that used it is stale."""
        with lock:
            if self.operators.get(op.name) is op:
                del self.operators[op.name]
                packet = op.packet
                packet.remove(op)
                if not packet.overloads():
                    del self.packets[f"{op.namespace}::{op.opname}"]
                    getattr(ops, op.namespace).__dict__.pop(op.opname, None)
            op.changed()

    def set_fallback(self, key: DispatchKey, fallback: Any) -> None:
        """Set (or with None remove) what a key runs for every op; takes effect everywhere."""
        with lock:
            changed = dict(self.fallbacks)
            if fallback is None:
                changed.pop(key, None)
            else:
                changed[key] = fallback
            self.fallbacks = changed
            for op in list(self.operators.values()):
                op._table.clear()
            self.version += 1

    def find(self, name: str | OpOverload) -> OpOverload:
        """The op of a qualified name (`"aten::add.Tensor"`, `"mylib::f"`, `"mylib::f.default"`).

        Raises
        ------
        RegistrationError
            If there is none.
        """
        if isinstance(name, OpOverload):
            return name
        found = self.operators.get(name) or self.operators.get(name.removesuffix(".default"))
        if found is None:
            close = difflib.get_close_matches(name, self.operators, 3)
            raise RegistrationError(
                f"no op {name!r} is registered", got=repr(name),
                hint=f"close: {', '.join(close)}" if close else "names look like 'mylib::my_op'",
            )  # fmt: skip
        return found


class HigherOrderOperator:
    """An op whose operands include kernels or graphs. Modes see it like any op.

    Parameters
    ----------
    name : str
        Name under `ops.`.
    kernel : callable
        What runs when no mode is active.
    is_mutable : bool
        Whether it writes to its operands.
    is_pure : bool
        Whether it computes its results and does nothing else.
    writes_copies : bool
        Whether it runs a mutation on copies of its operands.
    """

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        *,
        is_mutable: bool = False,
        is_pure: bool = False,
        writes_copies: bool = False,
    ):
        self.name = name
        self.__name__ = name
        self.kernel = kernel
        self.is_mutable = is_mutable
        self.is_pure = is_pure
        self.writes_copies = writes_copies
        #: How a particular mode class runs it, as `rule(mode, *args, **kwargs)`.
        self.mode_rules: dict[type, Kernel] = {}
        with lock:
            registry.higher_order[name] = self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if state.modes or any(t._keys & PYTHON_BIT for t in tensors_in([*args, *kwargs.values()])):
            return python_dispatch(self, args, kwargs)
        return self.kernel(*args, **kwargs)

    def py_impl(self, mode: type) -> Callable[[Kernel], Kernel]:
        """Register how a mode class (or tensor subclass) runs this op."""

        def register(rule: Kernel) -> Kernel:
            with lock:
                self.mode_rules[mode] = rule
            return rule

        return register

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<HigherOrderOperator {self.name}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_higher_order, (self.name,))

    def __deepcopy__(self, memo: object) -> HigherOrderOperator:
        return self


def _namespace(name: str) -> Namespace:
    return getattr(ops, name)


def _packet(namespace: str, opname: str) -> OpOverloadPacket:
    return getattr(_namespace(namespace), opname)


def _higher_order(name: str) -> HigherOrderOperator:
    return registry.higher_order[name]


def _find(name: str) -> OpOverload:
    return registry.find(name)


registry = Registry()
ops: Any = Ops()
