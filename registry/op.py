"""Operators and how a call finds its kernel.

An `OpOverload` has one schema and a dict of kernels by dispatch key. Calling it runs an *entry*, a function generated
from the schema once: Python itself binds arguments and defaults, the entry ORs the tensors' key bits, adds what the
thread's state includes, and looks the kernel up in a table that is filled when a key set is first seen and dropped
when a registration changes. Nothing else happens on a call.

    ops.aten.add.Tensor(x, y)
      └ entry(self, other, *, alpha=1)   keys = x | y | thread
          └ table[keys]                  CPU kernel, composite body, autograd, batching, modes and tensor subclasses

`registry.dispatching` finds a table entry.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from opweave.registry import errors, families, forking, replay
from opweave.registry.conforming import conforming
from opweave.registry.described import Document, Signed
from opweave.registry.dispatching import ALIAS_OF, EXPLICIT, IMPLICIT, resolve
from opweave.registry.entry import build_entry, is_default
from opweave.registry.errors import ArgumentError, MissingNameError, OpweaveError, RegistrationError, Site, user_frame
from opweave.registry.hooks import Hook
from opweave.registry.interrupts import deferred
from opweave.registry.kernels import Kernel, KeysetKernel, fallthrough_kernel
from opweave.registry.keys import BACKENDS, DEVICE_KEYS, DispatchKey, DispatchKeySet
from opweave.registry.operators import Operators
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.results import may_be_linked
from opweave.registry.schema import Argument, FunctionSchema, parse_schema
from opweave.registry.tags import Tag, declared, tags_of
from opweave.registry.tensor import describe
from opweave.registry.waiting import Implementations

if TYPE_CHECKING:
    from opweave.registry.higher_order import HigherOrderOperator

#: A schema, its text, or a function that makes the text when it is first needed.
SchemaSource = FunctionSchema | str | Callable[[], str]

#: Loads a shared library of ops; `registry.cpp.library` has the function.
load_library: Hook[[str | os.PathLike[str]], None] = Hook()
#: Registers what extension modules of C++ hold that were imported since it was last asked; whether there were any.
load_imported: Hook[[], bool] = Hook()

#: Guards every change to the registry; calls take no lock.
lock = forking.short_lock()


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


class OpOverload(replay.Replayable):
    __doc__: Any = Document(
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

    Examples
    --------
    >>> op = opweave.ops.aten.add.Tensor
    >>> op(opweave.ones(2), 1).tolist(), op.name
    ([2.0, 2.0], 'aten::add.Tensor')
    """
    )
    __signature__ = Signed()

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
        #: Backends whose kernel is switched off, and what runs for it where no kernel is for all of them.
        self.disabled: dict[DispatchKey, Any] = {}
        #: Rule on batched tensors, as `register_vmap` takes it.
        self.batch_rule: Kernel | None = None
        #: What tensor subclasses and modes do with it, by class (`register_torch_dispatch`).
        self.dispatch_rules: dict[type, Kernel] = {}
        self.kernel_sites: dict[DispatchKey, Site] = {}
        self.version = 0
        #: The Python module that holds what C++ lacks, as its library says, and a hint for users.
        self.python_module: tuple[str, str] | None = None
        #: Whether a kernel is a C++ function, which native code may call (`replay.direct`).
        self.is_direct = False
        #: A triton_op's body, which tracing goes through; None for every other op.
        self.body: Kernel | None = None
        self._table: dict[int, Kernel] = {}
        self.__name__ = self.opname
        self.__qualname__ = f"{self.namespace}.{self.opname}.{self.overload}"

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
    def is_random(self) -> bool:
        """Whether it draws from the generator, so that each call gives something else."""
        return Tag.nondeterministic_seeded in self.tags

    @cached_property
    def mutated_args(self) -> tuple[str, ...]:
        """Names of the arguments that the op writes to."""
        return self._schema.mutated_args

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if replay.calls >= 0:
            replay.count()
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
        for key in (DEVICE_KEYS.get(device_type), *EXPLICIT, IMPLICIT):
            registered = self.registrations.get(key) if key is not None else None
            if registered:
                return registered[-1].site is not self.site
        return False

    @property
    def packet(self) -> OpOverloadPacket:
        """The overloads of the same name."""
        return registry.packets[f"{self.namespace}::{self.opname}"]

    overloadpacket = _overloadpacket = packet  # PyTorch's names

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
        if key not in self.kernels and families.is_declaring():
            return self._registered(key, kernel, site)
        with lock, deferred():
            if key in self.kernels and not override and not registry.redefining:
                raise RegistrationError(
                    f"{self}: {key.name} already has a kernel", got=f"first from {self.kernel_sites[key]}", at=site,
                    hint="allow_override=True replaces it",
                )  # fmt: skip
            made = self._registered(key, kernel, site)
            self.changed()
        return made

    def _registered(self, key: DispatchKey, kernel: Any, site: Site) -> Registration:
        made = Registration(self, key, kernel, site)
        self.registrations.setdefault(key, []).append(made)
        self.kernels = {**self.kernels, key: kernel}
        self.kernel_sites[key] = site
        return made

    def register_fake_rule(self, rule: Kernel) -> None:
        """Set the rule that runs on fake and meta tensors."""
        with lock:
            self.fake = rule
            self.changed()

    def changed(self) -> None:
        """Drop what was computed from earlier registrations."""
        if families.is_declaring():
            return
        with lock:
            self.version += 1
            self._forget_kernels()
            registry.version += 1
            replay.forget()
            if self.decl is not None:
                registry.builtin_version += 1

    def _forget_kernels(self) -> None:
        """Let the next call with each set of keys look for its kernel."""
        self._table.clear()
        if self.is_direct:
            replay.unlearn(self)

    def become(self, other: OpOverload) -> None:
        """Be another op of the same name from now on, wherever this one was imported to."""
        if self.is_direct:
            replay.unlearn(self)
        self.__dict__ = other.__dict__

    # ---- dispatch --------------------------------------------------------------------------------------------------

    def _lookup(self, bits: int) -> Kernel:
        kernel = self._table.get(bits)
        if kernel is None:
            with lock:
                kernel = self._table[bits] = resolve(self, bits)
                if replay.adopt is not None and self.decl is not None:
                    replay.adopt(self)
                if self.is_direct and self.decl is None and replay.direct is not None:
                    replay.direct(self, bits)
        return kernel

    def fallback_at(self, key: DispatchKey) -> Any:
        """What the fallback registered for a key does with this op; None if there is none."""
        found = registry.fallbacks.get(key) or registry.fallbacks.get(ALIAS_OF.get(key, key))
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


class Namespace:
    """`ops.aten`: the packets of one namespace."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, opname: str) -> OpOverloadPacket:
        if opname.startswith("__") or opname == "_name":
            raise AttributeError(opname)  # asked of a half-made copy
        packet = registry.packets.get(f"{self._name}::{opname}") or registry.alias(f"{self._name}::{opname}")
        if packet is None and load_imported.call is not None and load_imported.call():
            packet = registry.packets.get(f"{self._name}::{opname}")
        if packet is None and self._name in families.NAMESPACES and families.load_unindexed():
            packet = registry.packets.get(f"{self._name}::{opname}")
        if packet is None:
            name = f"{self._name}::{opname}"
            waiting = registry.implementations.waiting.get(name)
            more = f"; a kernel for it waits for its definition, from {waiting[0].site}" if waiting else ""
            raise MissingNameError(f"no op {name} is registered{more}", opname, lambda: [] if more else dir(self))
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

    def load_library(self, path: str | os.PathLike[str]) -> None:
        """Load a shared library of ops in C++; see `registry.cpp.library.load_library`."""
        assert load_library.call is not None, "opweave supplies it"
        load_library.call(path)

    def __repr__(self) -> str:
        return "<opweave.ops>"

    def __deepcopy__(self, memo: object) -> Ops:
        return self

    def __reduce__(self) -> str:
        return "ops"


class Registry:
    """All ops by name."""

    def __init__(self) -> None:
        #: The ops that are there so far, those of files that were run (`registry.families`).
        self.loaded: dict[str, OpOverload] = {}
        self.packets: dict[str, OpOverloadPacket] = {}
        #: All ops by name, to look one up; to look through all runs all files.
        self.operators = Operators(self.loaded, self.packets)
        self.higher_order: dict[str, HigherOrderOperator] = {}
        #: Other names of packets: `aten::multiply` is `aten::mul`.
        self.aliases: dict[str, str] = {}
        #: What a key runs for every op that has nothing of its own for it (`Library("_", "IMPL").fallback`).
        self.fallbacks: dict[DispatchKey, Any] = {}
        #: Kernels by the names of their ops, those that are not defined yet, too.
        self.implementations = Implementations(lock, self.operators)
        #: Whether a definition may take the place of an earlier one (`allow_redefinition`).
        self.redefining = False
        #: Counts every change, so that what is compiled can tell whether anything happened at all.
        self.version = 0
        #: Counts the changes to built-in ops: compiled code may hold any of them in parts that no graph names.
        self.builtin_version = 0
        #: What that was when opweave had been imported.
        self.shipped_version = 0

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
        if families.is_declaring() and (op.name not in self.loaded or self.loaded[op.name].packet.is_waiting):
            self._add(op)  # anew where its file was not run to the end, for want of memory or of stack
            return op
        with lock, deferred():
            existing = self.operators.get(op.name)
            if existing is None:
                self._add(op)
                self.version += 1
                replay.forget()
                try:
                    self.implementations.defined(op)
                except OpweaveError:
                    self.remove(op)
                    raise
                return op
            if not (replace or self.redefining):
                raise RegistrationError(
                    f"{op.name}: already defined", got=f"first at {existing.site}", at=op.site,
                    hint="give it another name or another overload name; in a notebook, define it inside "
                    "`with opweave.library.allow_redefinition():`",
                )  # fmt: skip
            op.version = existing.version + 1
            existing.become(op)
            existing.packet.add(existing)
            self.version += 1
            replay.forget()
        return existing

    def _add(self, op: OpOverload) -> None:
        self.loaded[op.name] = op
        key = op.name.partition(".")[0]
        packet = self.packets.get(key)
        if packet is None:
            packet = self.packets[key] = OpOverloadPacket(op.namespace, op.opname)
        packet.add(op)

    def remove(self, op: OpOverload) -> None:
        """Forget an op; compiled code that used it is stale."""
        with lock:
            if self.operators.get(op.name) is op:
                del self.loaded[op.name]
                packet = op.packet
                packet.remove(op)
                if not packet.overloads():
                    del self.packets[f"{op.namespace}::{op.opname}"]
                    getattr(ops, op.namespace).__dict__.pop(op.opname, None)
                self.implementations.removed(op)
            op.changed()

    def alias(self, name: str) -> OpOverloadPacket | None:
        """The packet that has another name, `aten::multiply`; None where nothing has."""
        return self.packets.get(self.aliases.get(name, ""))

    def set_fallback(self, key: DispatchKey, fallback: Any) -> None:
        """Set (or with None remove) what a key runs for every op; takes effect everywhere."""
        with lock:
            changed = dict(self.fallbacks)
            if fallback is None:
                changed.pop(key, None)
            else:
                changed[key] = fallback
            self.fallbacks = changed
            for op in list(self.loaded.values()):
                op._forget_kernels()
            self.version += 1
            replay.forget()

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
            base, _, overload = name.partition(".")
            packet = self.alias(base)
            found = None if packet is None else self.operators.get(f"{self.aliases[base]}.{overload}".rstrip("."))
        if found is None and load_imported.call is not None and load_imported.call():
            return self.find(name)
        if found is None:
            close = errors.close_names(name, self.operators, 3)
            raise RegistrationError(
                f"no op {name!r} is registered", got=repr(name),
                hint=f"close: {', '.join(close)}" if close else "names look like 'mylib::my_op'",
            )  # fmt: skip
        return found


def _namespace(name: str) -> Namespace:
    return getattr(ops, name)


def _find(name: str) -> OpOverload:
    return registry.find(name)


registry = Registry()
ops: Any = Ops()
