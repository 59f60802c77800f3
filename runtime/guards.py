"""Guards: what a compiled function depends on, and how that is told to a user.

`GuardSet.visit` walks one value (an argument, a global variable, a closure cell) and writes down a Python expression
for each fact the trace may have used: types, sizes and strides, numbers by value, functions and modules by identity,
containers by shape and content, objects by those attributes that the code names. The expressions become one predicate
(`runtime.entry`); each also knows its variable in the user's words and the line that reads it, so that a recompile can
be explained: ``x.size(0) 3 → 5 (model.py:12)``.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import logging
import math
import pathlib
import re
import threading
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from opweave.fake.shape_env import ShapeEnv
from opweave.registry.autograd.graph import grad_fn_of
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import Site, UnsupportedError
from opweave.registry.keys import GRAD
from opweave.registry.op import HigherOrderOperator, Namespace, OpOverload, OpOverloadPacket, Ops
from opweave.registry.tensor import Tensor
from opweave.runtime.reads import impure, is_library
from opweave.runtime.sources import (
    MISSING,
    PYTREES,
    NumberInput,
    Scope,
    Source,
    TensorInput,
    brief,
    code_site,
    disjoint,
    is_named_tuple,
    is_registered,
)

_PLAIN = (int, str, bytes)
_BY_EQUALITY = (
    decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
    pathlib.PurePath, range, slice, np.dtype, np.generic,
)  # fmt: skip
_BY_IDENTITY = (
    DType, Device, OpOverload, HigherOrderOperator, Namespace, Ops, types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    type(vars(collections.namedtuple("_", "field"))["field"]),
    types.MethodWrapperType, types.GenericAlias, types.UnionType, np.ufunc, re.Pattern, logging.Logger, enum.Enum,
    type(threading.Lock()), type(threading.RLock()), type(functools.lru_cache(None)(len)),
)  # fmt: skip
#: Closed-over arrays up to this size are compared by content at each call; larger ones must be tensors.
_ARRAY_BYTES = 1024


@dataclass(slots=True)
class Guard:
    """One fact: `test` is true as long as it holds; `explain` words how the present value differs."""

    test: str
    source: Source
    explain: Callable[[Any], str]

    def __str__(self) -> str:
        return f"{self.source.text}: {self.test}  ({self.source.site.short})"


class GuardSet:
    """Guards of one compiled entry.

    Parameters
    ----------
    scope : Scope
        What the code names, which decides how deep objects are looked into.
    prefix : str
        Start of all names that the guards' expressions use, distinct for each entry.

    Attributes
    ----------
    guards : list of Guard
        In the order they are to be tested.
    constants : dict
        Names used by the expressions -> values.
    tensors : list of TensorInput
        Every tensor met.
    """

    def __init__(self, scope: Scope, prefix: str) -> None:
        self.scope = scope
        self.prefix = prefix
        self.guards: list[Guard] = []
        self.constants: dict[str, Any] = {}
        self.tensors: list[TensorInput] = []
        self.seen: dict[int, tuple[Any, Source]] = {}
        #: Of each int the guard on its value.
        self.ints: dict[str, Guard] = {}
        self._constant_names: dict[int, str] = {}
        #: How the layout of a tensor is tested: the guard, its parts, where in them, and what is fixed.
        self._layouts: dict[int, tuple[Guard, list[str], int, tuple[set[int], set[int]]]] = {}
        self._count = 0

    # ---- building blocks -------------------------------------------------------------------------------------------

    def constant(self, value: Any) -> str:
        """A name for a value in the predicate's globals."""
        name = self._constant_names.get(id(value))
        if name is None:
            name = self._constant_names[id(value)] = f"{self.prefix}c{len(self.constants)}"
            self.constants[name] = value
        return name

    def source(self, load: str, text: str, site: Site) -> Source:
        """A source that is fetched where it is first tested."""
        self._count += 1
        return Source(load, text, site, f"{self.prefix}v{self._count}")

    def argument(self, name: str, site: Site) -> Source:
        """A parameter of the function: the variable is there already."""
        return Source(name, name, site, name, bound=True)

    def get(self, source: Source) -> str:
        """Expression of a source's value: fetched and assigned the first time, the variable afterwards."""
        if source.bound:
            return source.var
        source.bound = True
        return f"({source.var} := {source.load})"

    def require(self, test: str, source: Source, explain: Callable[[Any], str]) -> None:
        """Add a guard."""
        self.guards.append(Guard(test, source, explain))

    def same(self, source: Source, value: Any) -> None:
        """Require the very object."""
        literal = repr(value) if value is None or value is True or value is False else self.constant(value)
        text = source.text
        self.require(f"{self.get(source)} is {literal}", source, lambda now: f"{text} {brief(value)} → {brief(now)}")

    def exact_type(self, source: Source, value: Any) -> None:
        """Require the very type."""
        old = type(value)
        text = source.text
        name = old.__name__ if old in (int, float, str, list, tuple, dict) else self.constant(old)
        self.require(
            f"type({self.get(source)}) is {name}",
            source,
            lambda now: f"type({text}) {old.__name__} → {'nothing' if now is MISSING else type(now).__name__}",
        )

    def equal(self, source: Source, value: Any) -> None:
        """Require the type and the value; `nan` equals itself, `-0.0` differs from `0.0`."""
        text = source.text
        self.exact_type(source, value)
        var = source.var
        if isinstance(value, float) and (value != value or value == 0.0 or math.isinf(value)):
            # repr tells all of these apart.
            test = f"repr({var}) == {repr(value)!r}"
        elif isinstance(value, complex):
            test = f"repr({var}) == {repr(value)!r}"
        elif type(value) in (int, float, str, bytes):
            test = f"{var} == {value!r}"
        else:
            test = f"{var} == {self.constant(value)}"
        self.require(test, source, lambda now: f"{text} {brief(value)} → {brief(now)}")
        if type(value) is int:
            self.ints[text] = self.guards[-1]

    # ---- values ----------------------------------------------------------------------------------------------------

    def visit(self, source: Source, value: Any) -> None:
        """Guard a value and everything in it that the code may read.

        Raises
        ------
        UnsupportedError
            For a value whose state cannot be compared; names the variable and the user's line.
        """
        kind: Any = type(value)
        if value is None or value is True or value is False or value is Ellipsis or value is NotImplemented:
            self.same(source, value)
        elif kind in _PLAIN or kind is float or kind is complex:
            self.equal(source, value)
        elif id(value) in self.seen:
            first = self.seen[id(value)][1]
            if first.bound and first is not source:
                text = f"{source.text} is {first.text}"
                self.require(f"{self.get(source)} is {first.var}", source, lambda now: f"{text} True → False")
        elif isinstance(value, Tensor):
            self._tensor(source, value)
        elif isinstance(value, enum.Enum) or kind in _IDENTITY_TYPES or isinstance(value, _BY_IDENTITY):
            self._identical(source, value)
        elif isinstance(value, (type, types.FunctionType, types.ModuleType, OpOverloadPacket)):
            self.same(source, value)
            self.look_into(source, value)
        elif isinstance(value, _BY_EQUALITY):
            self.equal(source, value)
        else:
            self.seen[id(value)] = (value, source)
            self._structure(source, value)

    def _identical(self, source: Source, value: Any) -> None:
        self.same(source, value)
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            if owner is not None and not isinstance(owner, (types.ModuleType, type)):
                self.visit(self.source(f"{source.var}.__self__", f"{source.text}.__self__", source.site), owner)
            elif impure(value.__module__ or "", value.__name__):
                raise _impure(f"{value.__module__}.{value.__name__}", source.site)
        elif isinstance(value, OpOverload) and value.body is not None:
            self._walk(value.body, source.site)

    def look_into(self, source: Source, value: Any) -> None:
        """Find the code behind a function, class or op, which then is part of what is traced."""
        if id(value) in self.seen:
            return
        self.seen[id(value)] = (value, source)
        if isinstance(value, types.FunctionType):
            self._function(source, value)
        elif isinstance(value, type):
            if not is_library(value.__module__):
                self._class(source, value, _CONSTRUCTORS | _IMPLICIT)
        elif isinstance(value, OpOverloadPacket):
            for name in value.overloads():
                body = getattr(value, name).body
                if body is not None:
                    self._walk(body, source.site)

    def _walk(self, function: Any, site: Site) -> None:
        function = getattr(function, "__func__", function)
        if isinstance(function, types.FunctionType) and not is_library(function.__module__):
            self.scope.add(function)

    def _function(self, source: Source, function: types.FunctionType) -> None:
        if is_library(function.__module__):
            if impure(function.__module__, function.__name__):
                raise _impure(f"{function.__module__}.{function.__name__}", source.site)
            return
        self.scope.add(function)
        site = code_site(function.__code__)
        # Reloading in a notebook gives a function new code in place.
        self.same(self.source(f"{source.var}.__code__", f"the code of {source.text}", site), function.__code__)
        if function.__defaults__:
            self.visit(
                self.source(f"{source.var}.__defaults__", f"{source.text}.__defaults__", site), function.__defaults__
            )
        if function.__kwdefaults__:
            self.visit(
                self.source(f"{source.var}.__kwdefaults__", f"{source.text}.__kwdefaults__", site),
                function.__kwdefaults__,
            )
        wrapped = getattr(function, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType):
            self._walk(wrapped, site)

    def _tensor(self, source: Source, tensor: Tensor) -> None:
        self.seen[id(tensor)] = (tensor, source)
        kind, text = type(tensor), source.text
        fetched = self.get(source)
        var = source.var
        tests = [f"type({fetched}) is {self.constant(kind)}"]
        layout = len(tests)
        tests += [f"{var}._sizes == {tensor._sizes!r}", f"{var}._strides == {tensor._strides!r}"]
        tests.append(f"{var}._dtype is {self.constant(tensor._dtype)}")
        if tensor._device.type == "cuda":
            tests.append(f"{var}._device is {self.constant(tensor._device)}")
        # The keys say whether it requires grad; they differ for each kind of device.
        tests.append(f"{var}._keys == {tensor._keys}")
        leaf = tensor._keys & GRAD and (self.scope.reads("is_leaf") or self.scope.reads("grad_fn"))
        if leaf:
            tests.append(f"{var}.is_leaf is {grad_fn_of(tensor) is None}")
        sizes, strides, dtype, device = tensor._sizes, tensor._strides, tensor._dtype, tensor._device
        keys, dense = tensor._keys, tensor.is_contiguous()
        #: Dimensions whose size, and whose stride, is the same in all calls.
        fixed = (set(range(len(sizes))), set(range(len(sizes))))

        def explain(now: Any) -> str:
            if type(now) is not kind:
                return f"type({text}) {kind.__name__} → {'nothing' if now is MISSING else type(now).__name__}"
            if len(now._sizes) != len(sizes):
                return f"{text}.dim() {len(sizes)} → {len(now._sizes)}"
            changes = [f"{text}.size({i}) {sizes[i]} → {now._sizes[i]}" for i in fixed[0] if sizes[i] != now._sizes[i]]
            if not changes and (any(strides[i] != now._strides[i] for i in fixed[1]) or now.is_contiguous() != dense):
                changes.append(f"{text}.stride() {strides} → {now._strides}")
            if now._dtype is not dtype:
                changes.append(f"{text}.dtype {dtype.name} → {now._dtype.name}")
            if now._device is not device:
                changes.append(f"{text}.device {device} → {now._device}")
            elif (now._keys ^ keys) & GRAD:
                changes.append(f"{text}.requires_grad {bool(keys & GRAD)} → {bool(now._keys & GRAD)}")
            elif now._keys != keys:
                changes.append(f"{text} dispatches otherwise")
            return ", ".join(changes) or f"{text}.is_leaf changed"

        self.require(" and ".join(tests), source, explain)
        self.tensors.append(TensorInput(source, tensor))
        self._layouts[id(self.tensors[-1])] = (self.guards[-1], tests, layout, fixed)
        if self.scope.reads("grad"):
            gradient = None if tensor._autograd is None else tensor._autograd.grad
            self.visit(self.source(f"{var}.grad", f"{text}.grad", source.site), gradient)

    def _structure(self, source: Source, value: Any) -> None:
        kind: Any = type(value)
        text, site = source.text, source.site
        if kind in (list, tuple) or is_named_tuple(kind) or kind is collections.deque:
            self.exact_type(source, value)
            self._length(source, value)
            names = getattr(kind, "_fields", None)
            for i, item in enumerate(value):
                part = f"{text}.{names[i]}" if names else f"{text}[{i}]"
                self.visit(self.source(f"{source.var}[{i}]", part, site), item)
        elif kind in (
            dict,
            collections.OrderedDict,
            collections.defaultdict,
            collections.Counter,
            types.MappingProxyType,
        ):
            self._mapping(source, value)
        elif kind in (set, frozenset):
            self.exact_type(source, value)
            self._refuse_tensors(source, value, "a set of tensors", "a list or tuple of them")
            frozen = self.constant(kind(value))
            self.require(f"{source.var} == {frozen}", source, lambda now: f"{text} {brief(value)} → {brief(now)}")
        elif kind is functools.partial:
            self.exact_type(source, value)
            for part in ("func", "args", "keywords"):
                self.visit(self.source(f"{source.var}.{part}", f"{text}.{part}", site), getattr(value, part))
        elif kind is types.MethodType:
            self.exact_type(source, value)
            for part in ("__func__", "__self__"):
                self.visit(self.source(f"{source.var}.{part}", text, site), getattr(value, part))
        elif isinstance(value, np.ndarray):
            self._array(source, value)
        elif hasattr(kind, "__opweave_wrapper__"):
            self.same(source, value)
            self.visit(self.source(f"{source.var}.__wrapped__", text, site), value.__wrapped__)
        elif is_registered(kind):
            self._registered(source, value)
        elif kind.__module__.partition(".")[0] == "opweave":
            self._own(source, value)
        elif kind.__module__.partition(".")[0] == "triton":
            self.same(source, value)
        elif not is_library(kind.__module__) or kind is types.SimpleNamespace:
            self._object(source, value)
        else:
            raise UnsupportedError(
                f"compile: {text} cannot be guarded: nothing tells when a {kind.__module__}.{kind.__name__} changes",
                got=brief(value),
                at=site,
                hint="pass what the function needs of it as an argument, or compute it outside the compiled function",
            )

    def _length(self, source: Source, value: Any) -> None:
        text, old = source.text, len(value)
        self.require(
            f"len({source.var}) == {old}",
            source,
            lambda now: f"len({text}) {old} → {len(now) if hasattr(now, '__len__') else now}",
        )

    def _mapping(self, source: Source, value: Any) -> None:
        text = source.text
        self.exact_type(source, value)
        keys = list(value)
        self._refuse_tensors(source, keys, "a dict with tensors as keys", "names or numbers as keys")
        self.require(
            f"[*{source.var}] == {self.constant(keys)}",
            source,
            lambda now: f"keys of {text} {brief(keys)} → {brief(list(now))}",
        )
        if isinstance(value, collections.defaultdict):
            self.visit(
                self.source(f"{source.var}.default_factory", f"{text}.default_factory", source.site),
                value.default_factory,
            )
        for key in keys:
            literal = repr(key) if type(key) in _PLAIN else self.constant(key)
            self.visit(self.source(f"{source.var}[{literal}]", f"{text}[{key!r}]", source.site), value[key])

    def _refuse_tensors(self, source: Source, items: Any, what: str, instead: str) -> None:
        """While tracing other tensors stand for these, so looking one up would not find it."""
        found = next((item for item in items if isinstance(item, Tensor)), None)
        if found is not None:
            raise UnsupportedError(
                f"compile: {source.text} is {what}",
                got=brief(found),
                at=source.site,
                hint=f"pass {instead}",
            )

    def _array(self, source: Source, value: np.ndarray[Any, Any]) -> None:
        text = source.text
        if value.nbytes > _ARRAY_BYTES or value.dtype.hasobject:
            raise UnsupportedError(
                f"compile: {text} is a NumPy array, whose content would be frozen into the compiled code",
                got=f"{value.dtype}{list(value.shape)}",
                at=source.site,
                hint=f"make it a tensor, which is read at each call: {text} = opweave.from_numpy({text})",
            )
        self.exact_type(source, value)
        frozen = (value.shape, value.dtype, value.tobytes())
        state = f"({source.var}.shape, {source.var}.dtype, {source.var}.tobytes())"
        self.require(f"{state} == {self.constant(frozen)}", source, lambda now: f"content of {text} changed")

    def _registered(self, source: Source, value: Any) -> None:
        """A class that its author registered with optree as a pytree node."""
        self.exact_type(source, value)
        children, _, entries, _ = optree.tree_flatten_one_level(value, namespace=PYTREES)
        spec = optree.tree_structure(value, namespace=PYTREES)
        text = source.text
        structure, spec_name = self.constant(optree.tree_structure), self.constant(spec)
        self.require(
            f"{structure}({source.var}, namespace={PYTREES!r}) == {spec_name}",
            source,
            lambda now: f"structure of {text} changed",
        )
        one_level = self.constant(_children)
        for i, child in enumerate(children):
            self.visit(self.source(f"{one_level}({source.var})[{i}]", f"{text}.{entries[i]}", source.site), child)

    def _own(self, source: Source, value: Any) -> None:
        """Objects of opweave: op definitions and the like; a triton_op's body is part of the trace."""
        self.same(source, value)
        op = getattr(value, "_opoverload", None) or getattr(value, "op", None)
        if isinstance(op, OpOverload) and op.body is not None:
            self._walk(op.body, source.site)

    def _object(self, source: Source, value: Any) -> None:
        """An instance of a user's class: its type, and every attribute that the code names."""
        self.exact_type(source, value)
        kind: Any = type(value)
        state = getattr(value, "__dict__", {})
        fields = {f.name for f in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
        slots = [s for c in kind.__mro__ for s in _slots(c)]
        for name in [*state, *slots]:
            if (self.scope.reads(name) or name in fields or self._may_reflect(name)) and hasattr(value, name):
                load = f"{source.var}.{name}" if name.isidentifier() else f"{source.var}.__dict__[{name!r}]"
                site = self.scope.attributes.get(name, source.site)
                self.visit(self.source(load, f"{source.text}.{name}", site), getattr(value, name))
        kind_source = Source(f"type({source.var})", kind.__name__, source.site, f"type({source.var})", bound=True)
        if id(kind) not in self.seen:
            self.seen[id(kind)] = (kind, kind_source)
            self._class(kind_source, kind, _IMPLICIT)

    def _may_reflect(self, name: str) -> bool:
        return self.scope.reflects and name in self.scope.strings

    def _class(self, source: Source, kind: type, implicit: frozenset[str]) -> None:
        """What a class gives its instances: methods, properties and constants, as far as the code names them."""
        for base in kind.__mro__:
            if is_library(base.__module__):
                continue
            for name, attribute in vars(base).items():
                if not (name in self.scope.attributes or name in implicit or _hooks(base, name)):
                    continue
                owner = self.constant(base)
                text = f"{base.__name__}.{name}"
                where = self.source(f"{owner}.__dict__[{name!r}]", text, self.scope.attributes.get(name, source.site))
                self._class_attribute(where, attribute)

    def _class_attribute(self, source: Source, attribute: Any) -> None:
        if isinstance(attribute, (staticmethod, classmethod)):
            self.same(source, attribute)
            self._walk(attribute.__func__, source.site)
        elif isinstance(attribute, (property, functools.cached_property)):
            self.same(source, attribute)
            self._walk(getattr(attribute, "fget", None) or getattr(attribute, "func", None), source.site)
        elif isinstance(attribute, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            return
        else:
            self.visit(source, attribute)

    def release(self) -> None:
        """Let go of the values that were compiled for: they may be large, and the guards' texts do without them."""
        self.seen.clear()
        self._layouts.clear()
        self.ints.clear()
        for t in self.tensors:
            t.tensor = t.options = None

    # ---- sizes that are left open ----------------------------------------------------------------------------------

    def open(self, env: ShapeEnv, numbers: Iterable[NumberInput]) -> None:
        """Test sizes, strides and ints as far as the trace depends on them, once it is finished.

        Each symbol is read where it first stands alone, `s0 := x._sizes[0]`; a layout is compared as a whole.
        """
        names: dict[Any, str] = {}
        for number in numbers:
            guard, symbol = self.ints[number.source.text], number.value.expr
            if symbol in names:
                guard.test = f"{number.source.var} == {names[symbol]}"
            else:
                names[symbol] = number.source.var
                guard.test = "True"
        for t in self.tensors:
            if t.sizes:
                self._open(t, names)
        found_guards = env.guards()
        texts = {env.guard_text(found) for found in found_guards}
        for symbol, name in names.items():
            info = env.symbols[symbol]
            if f"{symbol} >= {info.low}" not in texts:  # that sizes are not 0 or 1 goes without saying there
                source = Source("", _size_text(info.sources[0]), info.site, name, bound=True)
                self.require(
                    f"{name} >= {info.low}",
                    source,
                    lambda now, info=info: f"{_size_text(info.sources[0])} {info.hint} → {now}",
                )
        for found in found_guards:
            if any(symbol not in names for symbol in found.expr.free_symbols):
                continue  # of a tensor that the graph does not have
            words = env.guard_text(found, lambda symbol: _size_text(env.symbols[symbol].sources[0]))
            first = min(names[symbol] for symbol in found.expr.free_symbols)
            source = Source("", words, found.site, first, bound=True)
            self.require(
                env.guard_text(found, names.__getitem__), source, lambda now, words=words: f"{words} is not so any more"
            )

    def _open(self, t: TensorInput, names: dict[Any, str]) -> None:
        guard, tests, at, fixed = self._layouts[id(t)]
        var = t.source.var
        for which, numbers in enumerate((t.sizes, t.strides)):
            attribute = ("_sizes", "_strides")[which]
            parts: list[str] = []
            known = len(names)
            read = functools.partial(self._read, names, f"{var}.{attribute}", numbers)
            for d, number in enumerate(numbers):
                if type(number) is int:
                    parts.append(str(number))
                else:
                    fixed[which].discard(d)
                    parts.append(number.env.python(number.expr, read))
            fresh = len(names) > known
            test = f"{var}.{attribute} == ({', '.join(parts)}{',' * (len(parts) == 1)})"
            tests[at + which] = f"len({var}.{attribute}) == {len(parts)} and {test}" if fresh else test
        guard.test = " and ".join(tests)

    def _read(self, names: dict[Any, str], owner: str, numbers: tuple[Any, ...], symbol: Any) -> str:
        """A symbol in a test: read from a layout where it stands alone in it, the first time."""
        if symbol in names:
            return names[symbol]
        at = next(d for d, number in enumerate(numbers) if type(number) is not int and number.expr == symbol)
        name = names[symbol] = f"{self.prefix}{symbol.name}"
        return f"({name} := {owner}[{at}])"

    # ---- relations between tensors ---------------------------------------------------------------------------------

    def distinct(self) -> None:
        """Require that tensors that were different objects stay so."""
        variables = [t.source for t in self.tensors]
        if len(variables) > 4:
            ids = ", ".join(f"id({v.var})" for v in variables)
            names = ", ".join(v.text for v in variables)
            self.require(
                f"len({{{ids}}}) == {len(variables)}", variables[0], lambda now: f"two of {names} became one object"
            )
            return
        for i, one in enumerate(variables):
            for other in variables[i + 1 :]:
                text = f"{other.text} is {one.text}"
                self.require(f"{other.var} is not {one.var}", other, lambda now, text=text: f"{text} False → True")

    def offsets(self) -> None:
        """Require that tensors start where they did in their memory, from whose start `as_strided` counts."""
        for t in self.tensors:
            offset, text = t.tensor._offset, t.source.text
            if t.options is None and type(offset) is int:
                self.require(
                    f"{t.source.var}._offset == {offset}",
                    t.source,
                    lambda now, offset=offset, text=text: f"{text}.storage_offset() {offset} → {now._offset}",
                )

    def disjoint(self, written: list[TensorInput], tensors: list[TensorInput]) -> None:
        """Require that no tensor's memory overlaps that of a tensor which the function writes."""
        others = [t for t in tensors if all(t is not w for w in written)]
        if not written or len(written) + len(others) < 2:
            return
        call = f"{self.constant(disjoint)}(({_tuple(written)}), ({_tuple(others)}))"
        names = ", ".join(w.source.text for w in written)
        self.require(call, written[0].source, lambda now: f"memory of {names} overlaps another tensor's")


_IDENTITY_TYPES = frozenset({type(len), type(str.join), type(Ellipsis), object})


_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
#: Methods that syntax calls without naming them.
_IMPLICIT = frozenset(
    f"__{name}__"
    for name in (
        "call getitem setitem contains len iter next bool eq ne lt le gt ge enter exit getattr getattribute missing "
        "add radd iadd sub rsub isub mul rmul imul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul "
        "rmatmul neg pos abs invert and rand or ror xor rxor lshift rshift int float index complex torch_function"
    ).split()
)


def _hooks(base: type, name: str) -> bool:
    """Classes derived from opweave's (an autograd Function) are called back through methods that no user code names."""
    derived = any((c.__module__ or "").startswith("opweave") and c is not Tensor for c in base.__mro__)
    return derived and isinstance(vars(base)[name], (types.FunctionType, staticmethod, classmethod))


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    return [slots] if isinstance(slots, str) else [s for s in slots if s not in ("__dict__", "__weakref__")]


def _children(value: Any) -> list[Any]:
    return optree.tree_flatten_one_level(value, namespace=PYTREES)[0]


def _size_text(source: str) -> str:
    """`x.size(0)` of `x.shape[0]`, the form in which changed sizes are told."""
    return re.sub(r"\.shape\[(\d+)\]$", r".size(\1)", source)


def _tuple(inputs: list[TensorInput]) -> str:
    return "".join(f"{t.source.var}, " for t in inputs)


def _impure(name: str, site: Site) -> UnsupportedError:
    return UnsupportedError(
        f"compile: {name} gives another value at each call, but a compiled function would keep the first one",
        at=site,
        hint="call it outside and pass the result as an argument",
    )
