"""`Library`, and definitions and kernels by name (`define`, `impl`).

A `Library` owns what is registered through it: when it is collected, all of it is taken back. Functions given no `lib`
register for good. `registry.op_rules` has what else an op can be told.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opweave.registry.custom_op import CustomOpDef
from opweave.registry.dispatching import kernel_at
from opweave.registry.errors import ArgumentError, DispatchError, OpweaveError, RegistrationError, Site, user_frame
from opweave.registry.kernels import KeysetKernel, fallthrough_kernel
from opweave.registry.keys import DEVICE_KEYS, DispatchKey, DispatchKeySet
from opweave.registry.op import OpOverload, Registration, lock, registry
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.registering import Undo, add_fake, require_callable
from opweave.registry.schema import parse_schema
from opweave.registry.tags import TagLike, parse_tags

OpLike = str | OpOverload | OpOverloadPacket | CustomOpDef[..., Any]


def find_op(op: OpLike) -> OpOverload:
    """The overload that a name, packet or definition means.

    Raises
    ------
    RegistrationError
        If nothing of that name is registered, or a packet has several overloads.
    """
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        overloads = op.overloads()
        if len(overloads) != 1:
            raise RegistrationError(f"{op}: name one of the overloads", got=", ".join(overloads))
        return getattr(op, overloads[0])
    if not isinstance(op, (str, OpOverload)):
        raise ArgumentError("expected an op or its name", got=repr(op), hint="'mylib::my_op'")
    return registry.find(op)


def decorator(register: Callable[[Callable[..., Any]], Any], func: Callable[..., Any] | None) -> Any:
    """Register at once, or return what registers the function that it decorates (and gives it back)."""
    if func is not None:
        register(func)
        return func

    def decorate(decorated: Callable[..., Any]) -> Callable[..., Any]:
        register(decorated)
        return decorated

    return decorate


# ---- libraries -----------------------------------------------------------------------------------------------------

#: Namespaces whose ops are all there.
_BUILT_IN = ("aten", "prim")
_definers: dict[str, tuple[weakref.ref[Library], Site]] = {}


def _take_back(undo: list[Undo]) -> None:
    while undo:
        undo.pop()()


class Library:
    """Registrations that live as long as this object.

    Parameters
    ----------
    ns : str
        The namespace; `"_"` for fallbacks that hold for all ops.
    kind : str
        `"DEF"` to define the ops of a namespace (one such library at a time), `"FRAGMENT"` to define more of them,
        `"IMPL"` to add kernels to ops that exist.
    dispatch_key : str
        Key for `impl` and `fallback` where they name none.

    Raises
    ------
    RegistrationError
        If another library defines the namespace; names its place.

    Examples
    --------
    >>> lib = Library("docs_library", "DEF")
    >>> lib.define("halved(Tensor self) -> Tensor")
    'halved'
    >>> lib.impl("halved", lambda self: self * 0.5, "CPU")
    >>> opweave.ops.docs_library.halved(opweave.ones(2))
    tensor([0.5000, 0.5000])
    """

    #: Where its registrations stand, if that is not where its methods are called from (in C++).
    _site: Site | None

    def __init__(self, ns: str, kind: str, dispatch_key: str = "", *, _site: Site | None = None):
        self._site = _site
        site = _site or user_frame(1)
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ArgumentError(f"Library: unknown kind {kind!r}", hint="'DEF', 'FRAGMENT' or 'IMPL'")
        if not isinstance(ns, str) or not (ns == "_" or all(part.isidentifier() for part in ns.split("."))):
            raise ArgumentError(f"Library: malformed namespace {ns!r}", hint="a name such as 'mylib'")
        if ns == "_" and kind != "IMPL":
            raise ArgumentError("Library: the namespace '_' holds no ops", got=f"kind={kind!r}", hint="kind='IMPL'")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = _key(dispatch_key, site).name if dispatch_key else ""
        self._undo: list[Undo] = []
        self._defined: set[str] = set()
        if kind == "DEF":
            if ns in _BUILT_IN:
                raise RegistrationError(f"Library: {ns!r} is built in", at=site, hint="kind='FRAGMENT' adds to it")
            with lock:
                other = _definers.get(ns)
                if other is not None and other[0]() is not None and not registry.redefining:
                    raise RegistrationError(
                        f"Library: the namespace {ns!r} has a library that defines it", got=f"made at {other[1]}",
                        at=site, hint="kind='FRAGMENT' adds more ops to a namespace",
                    )  # fmt: skip
                _definers[ns] = (weakref.ref(self), site)
        self._finalizer = weakref.finalize(self, _take_back, self._undo)
        self._finalizer.atexit = False

    def define(self, schema: str, alias_analysis: str = "", *, tags: TagLike = ()) -> str:
        """Define an op of this namespace.

        Parameters
        ----------
        schema : str
            `"name(Tensor self) -> Tensor"`, with an overload as `"name.overload(...)"`.
        alias_analysis : str
            `"CONSERVATIVE"` is accepted; the schema says what is aliased either way.
        tags : Tag, str or sequence of them
            Properties of the op.

        Returns
        -------
        str
            The op's name.

        Raises
        ------
        SchemaError
            If the schema does not parse.
        RegistrationError
            If the op exists, or the library is of the kind `"IMPL"`.
        """
        return self._define(schema, alias_analysis, tags).opname

    def _define(self, schema: str, alias_analysis: str, tags: TagLike, *, allow_typevars: bool = False) -> OpOverload:
        site = self._site or user_frame(1)
        if self.kind == "IMPL":
            raise RegistrationError(
                "Library.define: a library of the kind 'IMPL' defines no ops", at=site,
                hint=f"Library({self.ns!r}, 'FRAGMENT')",
            )  # fmt: skip
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise ArgumentError(f"Library.define: unknown alias_analysis {alias_analysis!r}", at=site)
        if not isinstance(schema, str):
            raise ArgumentError("Library.define: the schema must be text", got=repr(schema), at=site)
        name = schema.partition("(")[0].strip()
        space, _, rest = name.rpartition("::")
        if space and space != self.ns:
            raise RegistrationError(
                f"Library.define: {name!r} belongs to another namespace than {self.ns!r}", at=site, hint=f"{rest}(...)"
            )
        parsed = parse_schema(schema if space else f"{self.ns}::{schema}", allow_typevars)
        op = registry.define(parsed, tags=parse_tags(parsed.full_name, tags), site=site)
        self._undo.append(lambda: registry.remove(op))
        self._defined.add(op.name)
        return op

    def impl(
        self, op_name: str | OpOverload, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:  # fmt: skip
        """Register a kernel of an op; of one that is not defined yet, it waits for that.

        Parameters
        ----------
        op_name : str or OpOverload
            `"name"` or `"name.overload"`.
        fn : callable
            The kernel, or `fallthrough_kernel` for calls to go on to the next key.
        dispatch_key : str
            `"CPU"`, `"CUDA"`, `"Autograd"`, `"CompositeImplicitAutograd"` ...; the library's by default, and without
            any `"CompositeImplicitAutograd"`.
        with_keyset : bool
            Give the kernel the call's `DispatchKeySet` first, for `op.redispatch(keyset & ..., *args)`.
        allow_override : bool
            Take the place of an earlier kernel of the key.

        Raises
        ------
        RegistrationError
            If the key has a kernel (names both places), the function cannot take the op's arguments, or there is no
            such op where it has to be there: in a built-in namespace, or for a rule of tensors without data (`"Meta"`).
        """
        site = self._site or user_frame(1)
        if not callable(fn):
            raise ArgumentError("Library.impl: the kernel must be a function", got=repr(fn), at=site)
        if self.ns == "_":
            raise RegistrationError("Library.impl: the namespace '_' has no ops", at=site, hint="use fallback")
        key = _key(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd", site)
        register = functools.partial(
            add_kernel, fn=fn, key=key, site=site, with_keyset=with_keyset, override=allow_override
        )
        # What works without data is compared with what else does: the op has to be there, as in PyTorch.
        op = self._find(op_name, site) if key is DispatchKey.Meta else op_name
        self._implement(op, register, key, site, override=allow_override)

    def _implement(
        self, name: str | OpOverload, register: Callable[[OpOverload], Undo], key: DispatchKey, site: Site,
        *, override: bool = False,
    ) -> None:  # fmt: skip
        """Register a kernel of an op, which may still have to be defined."""
        if isinstance(name, OpOverload) or self.ns in _BUILT_IN:
            self._undo.append(register(self._find(name, site)))
            return
        full = self._full_name(name, site)
        self._undo.append(
            registry.implementations.implement(full, key, site, register, override=override or registry.redefining)
        )

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Register what a key runs for every op that has no kernel for it.

        Parameters
        ----------
        fn : callable
            `fn(op, *args, **kwargs)`, or `fallthrough_kernel`.
        dispatch_key : str
            The key; the library's by default.
        with_keyset : bool
            Give the function the call's `DispatchKeySet` first.

        Raises
        ------
        RegistrationError
            If the library's namespace is not `"_"`, or the key has a fallback.
        """
        site = self._site or user_frame(1)
        if self.ns != "_":
            raise RegistrationError(
                "Library.fallback: only the namespace '_' has fallbacks", got=f"namespace {self.ns!r}", at=site,
                hint="Library('_', 'IMPL')",
            )  # fmt: skip
        if not callable(fn):
            raise ArgumentError("Library.fallback: expected a function", got=repr(fn), at=site)
        if not dispatch_key and not self.dispatch_key:
            raise ArgumentError("Library.fallback: name a dispatch key", at=site, hint="lib.fallback(fn, 'Autograd')")
        key = _key(dispatch_key or self.dispatch_key, site)
        known = registry.fallbacks.get(key)
        if known is not None:
            raise RegistrationError(f"{key.name}: already has a fallback", got=f"first at {known.site}", at=site)
        made = Registration(None, key, KeysetKernel(fn) if with_keyset else fn, site)  # type: ignore[arg-type]
        registry.set_fallback(key, made)
        self._undo.append(lambda: registry.set_fallback(key, None))

    def _find(self, name: str | OpOverload, site: Site) -> OpOverload:
        if isinstance(name, OpOverload):
            if name.namespace != self.ns:
                raise RegistrationError(
                    f"Library.impl: {name.name} belongs to another namespace than {self.ns!r}", at=site
                )
            return name
        return registry.find(self._full_name(name, site))

    def _full_name(self, name: str, site: Site) -> str:
        if not isinstance(name, str):
            raise ArgumentError("Library.impl: expected an op or its name", got=repr(name), at=site)
        space, _, rest = name.rpartition("::")
        if space and space != self.ns:
            raise RegistrationError(f"Library.impl: {name!r} belongs to another namespace than {self.ns!r}", at=site)
        return f"{self.ns}::{rest.removesuffix('.default')}"

    def _destroy(self) -> None:
        """Take back everything now, and let another library define the namespace."""
        _take_back(self._undo)
        with lock:
            definer = _definers.get(self.ns)
            if definer is not None and definer[0]() is self:
                del _definers[self.ns]

    def __repr__(self) -> str:
        key = f", dispatch_key={self.dispatch_key!r}" if self.dispatch_key else ""
        return f"Library(kind={self.kind!r}, ns={self.ns!r}{key})"


def add_kernel(
    op: OpOverload, *, fn: Callable[..., Any], key: DispatchKey, site: Site, with_keyset: bool, override: bool
) -> Undo:
    """Register a kernel on an op."""
    if fn is not fallthrough_kernel and not with_keyset:
        require_callable(op, fn, "kernel")
    if key is DispatchKey.Meta and DispatchKey.CompositeImplicitAutograd in op.kernels:
        raise RegistrationError(
            f"{op.name}: is written with other ops, which have rules for tensors without data", at=site,
            got="a Meta kernel, which would hide them",
        )  # fmt: skip
    if key is DispatchKey.Meta and fn is not fallthrough_kernel and not with_keyset:
        if op.fake is not None and not override and not registry.redefining:
            raise RegistrationError(
                f"{op.name}: already has a rule for tensors without data", at=site,
                hint="allow_override=True replaces it",
            )  # fmt: skip
        return add_fake(op, fn)
    return op.register(key, KeysetKernel(fn) if with_keyset else fn, site=site, override=override).undo


def _key(name: Any, site: Site) -> DispatchKey:
    if isinstance(name, DispatchKey):
        return name
    try:
        return DispatchKey[name]
    except (KeyError, TypeError):
        raise ArgumentError(
            f"there is no dispatch key {name!r}", at=site, hint=f"one of {', '.join(key.name for key in DispatchKey)}"
        ) from None


#: Libraries of the functions that are given none; they live as long as the process.
_forever: list[Library] = []


def keep(library: Library) -> None:
    """Let a library live as long as the process."""
    _forever.append(library)


@contextlib.contextmanager
def allow_redefinition() -> Iterator[None]:
    """Inside the block a definition or kernel takes the place of an earlier one, wherever that is in use.

    For notebooks and reloaded modules. Compiled functions that used the earlier one compile again.

    Examples
    --------
    >>> custom_op, schema = opweave.library.custom_op, "(Tensor x) -> Tensor"
    >>> with opweave.library.allow_redefinition():
    ...     eighth = custom_op("docs::eighth", lambda x: x / 8, mutates_args=(), schema=schema)
    ...     eighth = custom_op("docs::eighth", lambda x: x / 8, mutates_args=(), schema=schema)
    >>> eighth(opweave.full((2,), 8.0))
    tensor([1., 1.])
    """
    with lock:
        before = registry.redefining
        registry.redefining = True
        try:
            yield
        finally:
            registry.redefining = before


# ---- define and impl -----------------------------------------------------------------------------------------------


def define(
    qualname: str | Library, schema: str, alias_analysis: str = "", *, lib: Library | None = None, tags: TagLike = ()
) -> Any:
    """Define an op: `define("mylib::sin", "(Tensor x) -> Tensor")`.

    Parameters
    ----------
    qualname : str or Library
        The name with its namespace; or a library, and `schema` then begins with the name. In that form it returns a
        decorator for the op's default implementation.
    schema : str
        Arguments and returns.
    lib : Library, optional
        Owns the definition; without one it holds for good.
    tags : Tag, str or sequence of them
        Properties of the op.

    Raises
    ------
    SchemaError
        If the schema does not parse.
    RegistrationError
        If the op exists; names both places.

    Examples
    --------
    >>> opweave.library.define("docs::third", "(Tensor x) -> Tensor")
    >>> print(opweave.ops.docs.third.default._schema)
    docs::third(Tensor x) -> Tensor
    """
    site = user_frame(1)
    if isinstance(qualname, Library):
        library = qualname
        op = library._define(schema, alias_analysis, tags)

        def wrap(fn: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(op, fn)
            return fn

        return wrap
    if not isinstance(qualname, str):
        raise ArgumentError("define: expected a name or a Library", got=repr(qualname), at=site)
    space, separator, rest = qualname.partition("::")
    if not separator or not space or not rest:
        raise ArgumentError(
            f"define: malformed name {qualname!r}", got=f"{qualname!r} ({type(qualname).__name__})", at=site,
            hint="a name looks like 'mylib::my_op'",
        )  # fmt: skip
    if not isinstance(schema, str) or not schema.lstrip().startswith("("):
        raise ArgumentError(
            f"define: the schema of {qualname} must be arguments and returns, without the name", got=repr(schema),
            at=site, hint="'(Tensor x) -> Tensor'",
        )  # fmt: skip
    owner = _owner(lib, space, "define", site)
    owner.define(f"{rest}{schema.lstrip()}" if owner.ns == space else f"{qualname}{schema}", alias_analysis, tags=tags)
    if lib is None:
        _forever.append(owner)
    return None


def impl(
    qualname: str | Library, types: str | Sequence[str] = "", func: Any = None, *, lib: Library | None = None
) -> Any:
    """Register a kernel: `impl("mylib::sin", "cpu", fn)`, or as a decorator without `fn`.

    Parameters
    ----------
    qualname : str or Library
        The op's name. With a library the call is `impl(lib, "name", "CPU")`, a decorator.
    types : str or sequence of str
        Device types (`"cpu"`, `"cuda"`), dispatch keys, or `"default"` for all devices.
    func : callable, optional
        The kernel.
    lib : Library, optional
        Owns the registration; without one it holds for good.

    Returns
    -------
    callable or None
        A decorator that gives back the function it is given.

    Examples
    --------
    >>> opweave.library.define("docs::fourth", "(Tensor x) -> Tensor")
    >>> _ = opweave.library.impl("docs::fourth", "cpu", lambda x: x / 4)
    >>> opweave.ops.docs.fourth(opweave.ones(2))
    tensor([0.2500, 0.2500])
    """
    site = user_frame(1)
    if isinstance(qualname, Library):
        library, name, key = qualname, types, func or ""
        if not isinstance(name, (str, OpOverload)):
            raise ArgumentError("impl: expected the op's name", got=repr(name), at=site, hint="impl(lib, 'sin', 'CPU')")

        def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(name, kernel, key)
            return kernel

        return register
    if isinstance(types, str):
        types = (types,)
    keys = [_kernel_key(kind, site) for kind in types]
    if not keys:
        raise ArgumentError("impl: name a device type", at=site, hint="'cpu', 'cuda' or 'default'")
    space = qualname.partition("::")[0] if isinstance(qualname, str) else qualname.namespace

    owner = _owner(lib, space, "impl", site)

    def register_all(kernel: Callable[..., Any]) -> None:
        made = len(owner._undo)
        try:
            for key in keys:
                owner.impl(qualname, kernel, key)
        except OpweaveError:
            while len(owner._undo) > made:
                owner._undo.pop()()
            raise
        if lib is None:
            _forever.append(owner)

    return decorator(register_all, func) if func is None else register_all(func)


def _owner(lib: Any, space: str, what: str, site: Site) -> Library:
    """The library that is given, or one for what is registered without."""
    if lib is None:
        return Library(space, "FRAGMENT")
    if not isinstance(lib, Library):
        raise ArgumentError(
            f"{what}: lib must be a Library", got=f"{lib!r} ({type(lib).__name__})", at=site,
            hint=f"lib = Library({space!r}, 'FRAGMENT')",
        )  # fmt: skip
    return lib


def _kernel_key(kind: Any, site: Site) -> str:
    if kind == "default":
        return DispatchKey.CompositeExplicitAutograd.name
    if isinstance(kind, str) and kind in DEVICE_KEYS:
        return DEVICE_KEYS[kind].name
    if isinstance(kind, str) and kind in DispatchKey.__members__:
        return kind
    raise ArgumentError(
        f"impl: unknown device type {kind!r}", at=site, hint=f"one of {', '.join(DEVICE_KEYS)}, 'default', or a key"
    )


def get_kernel(op: OpLike, dispatch_key: str | DispatchKey) -> KernelFunction:
    """The kernel that a call runs at a key, for a kernel of one's own to hand on to.

    Raises
    ------
    DispatchError
        If the op has none there.

    Examples
    --------
    >>> kernel = opweave.library.get_kernel("aten::sin", "CPU")
    >>> kernel.call_boxed(opweave.DispatchKeySet(opweave.DispatchKey.CPU), opweave.zeros(2))
    tensor([0., 0.])
    """
    target = find_op(op)
    key = _key(dispatch_key, user_frame(1))
    bits = key.bit if not key.is_alias else 0
    found = target.kernels.get(key) if key.is_alias else kernel_at(target, key, bits)
    if found is None:
        raise DispatchError(
            f"{target}: no kernel at {key.name}",
            got="kernels: " + (", ".join(k.name for k in target.kernels) or "none"),
        )
    return KernelFunction(target, key, found)


class KernelFunction:
    """A kernel as it stands now; later registrations do not change it."""

    def __init__(self, op: OpOverload, key: DispatchKey, kernel: Any):
        self.op, self.key, self._kernel = op, key, kernel

    def call_boxed(self, keyset: DispatchKeySet, /, *args: Any, **kwargs: Any) -> Any:
        """Run it for a key set, with the op's arguments."""
        positional, keyword = self.op._schema.bind(args, kwargs)
        kernel = self._kernel.at(keyset.bits) if isinstance(self._kernel, KeysetKernel) else self._kernel
        return kernel(*positional, **keyword)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call_boxed(DispatchKeySet(self.key.bit if not self.key.is_alias else 0), *args, **kwargs)

    def __repr__(self) -> str:
        return f"<kernel of {self.op} at {self.key.name}>"


# ---- what else an op can be told -----------------------------------------------------------------------------------
