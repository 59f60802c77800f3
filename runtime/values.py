"""What there is to guard about a value: its type and all that code can see of it.

`ValueGuards.visit` walks one value (an argument, a global variable, a closure cell): numbers and texts by exact value,
containers by order and content, tensors by their layout, objects by the attributes that the code names. There is no
type whose values are compared by a looser `==`: a value is read out whole (`runtime.exact`), taken apart, or refused.
"""

from __future__ import annotations

import abc
import collections
import contextvars
import datetime
import enum
import functools
import inspect
import logging
import operator
import os
import re
import threading
import types
import weakref
from typing import Any

import numpy as np

from opweave.codegen.native.alike import Laid
from opweave.registry.autograd.graph import grad_fn_of
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import Site, UnsupportedError
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.keys import GRAD
from opweave.registry.loading import load_heavy
from opweave.registry.op import Namespace, OpOverload, Ops
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.replay import Function
from opweave.registry.tensor import Tensor
from opweave.runtime.classes import SPECIAL, ClassFacts
from opweave.runtime.exact import PARTS, READERS, reader_of
from opweave.runtime.modules import ModuleGuards, is_module, is_optimizer
from opweave.runtime.objects import unrecorded
from opweave.runtime.purity import is_library
from opweave.runtime.sources import MISSING, PYTREES, Source, TensorInput, brief, is_named_tuple, is_registered

#: What never changes: being the same object says everything.
_FIXED = (
    DType, Device, HigherOrderOperator, Namespace, Ops, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    type(vars(collections.namedtuple("_", "field"))["field"]), types.CodeType, np.ufunc, re.Pattern, object,
    inspect.Signature, inspect.Parameter, type(vars(abc.ABC)["_abc_impl"]))  # fmt: skip
_MAPPINGS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter, types.MappingProxyType)
_MUTABLE = frozenset(kind for kind in READERS if kind.__name__ in ("bytearray", "array", "memoryview"))
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_CACHED = type(functools.lru_cache(None)(len))
_GETTERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)
_PLAIN = (int, str, bytes)
#: Classes of the standard library that are written in Python and keep what they have in attributes.
_IN_PYTHON = frozenset("collections types argparse string typing fractions functools dataclasses einops".split())
#: Closed-over arrays up to this size are compared by content at each call; larger ones must be tensors.
_ARRAY_BYTES = 1024
#: What a tensor tells that neither its layout nor its place in autograd decides.
_OF_MEMORY = frozenset(
    {"data_ptr", "_version", "untyped_storage", "_storage", "_base", "_is_view", "output_nr", "retains_grad"}
)
_OFFSETS = frozenset({"storage_offset", "_offset"})
_TENSOR_NAMES = frozenset(dir(Tensor))


class ValueGuards(ModuleGuards):
    """Guards of values of every sort."""

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
        elif id(value) in self.ignored:
            return
        elif id(value) in self.seen:
            first = self.seen[id(value)][1]
            if first.bound and first is not source:
                text = f"{source.text} is {first.text}"
                self.require(f"{self.get(source)} is {first.var}", source, lambda now: f"{text} True → False")
        elif isinstance(value, Tensor):
            self._tensor(source, value)
        elif isinstance(value, (type, types.FunctionType, types.ModuleType, OpOverloadPacket, Function)):
            self.same(source, value)
            self.look_into(source, value)
        elif kind in _FIXED or isinstance(value, _FIXED[:5]):
            self.same(source, value)
        elif isinstance(value, types.BuiltinFunctionType):
            self.same(source, value)
            self.builtin(source, value)
        elif isinstance(value, types.MethodWrapperType):
            self.same(source, value)
            self._parts(source, value, ("__self__",))
        elif isinstance(value, OpOverload):
            self.same(source, value)
            self.op_rules(value, source.site)
        elif kind in PARTS or (kind not in _MUTABLE and self._is_read(kind)):
            self._read_out(source, value)
        else:
            self.seen[id(value)] = (value, source)
            self._structure(source, value)
            if self.scope.takes_ids and source.load != source.var:  # `*args` are a new tuple at each call
                self.same(source, value)
            if source.bound:
                self.objects.append(source)

    # ---- tensors ---------------------------------------------------------------------------------------------------

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
        if kind is Tensor and len(tests) == 5 and "(" not in source.load:
            self.guards[-1].laid = Laid(tensor._sizes, tensor._strides, tensor._dtype, tensor._keys)
            self.guards[-1].fetched = fetched
        self.tensors.append(TensorInput(source, tensor))
        self._layouts[id(self.tensors[-1])] = (self.guards[-1], tests, layout, fixed)
        self._tensor_class(kind, source.site)
        self._tensor_state(source, tensor)

    def _tensor_class(self, kind: type, site: Site) -> None:
        """The methods of tensors may be replaced as those of any class."""
        if not is_library(kind.__module__):
            self.user_class(kind, site)
        elif kind not in self._classes:
            name = self.constant(kind)
            source = self._classes[kind] = Source(name, kind.__name__, site, name, bound=True)
            facts = ClassFacts(kind, self.scope.names | SPECIAL, lambda attribute: False, closed=self.scope.reflects)
            self.facts(source, facts)
            for name, _, attribute in facts.found:
                if isinstance(attribute, types.FunctionType):
                    self.walk(attribute, self.scope.attributes.get(name, site))

    def _tensor_state(self, source: Source, tensor: Tensor) -> None:
        """What the code reads of a tensor besides its layout: where it starts, its gradient, a user's attributes."""
        names, text = frozenset(self.scope.loose), source.text
        for name in sorted(names & _OF_MEMORY):
            raise unrecorded(f"{name} of a tensor", self.scope.attributes[name], f"{text}.{name}")
        if names & _OFFSETS:
            self._offset(source, tensor)
        if self.asks_gradients or self.scope.reads("grad") or self.scope.reads("backward"):
            self.gradients.add(id(tensor))
            gradient = None if tensor._autograd is None else tensor._autograd.grad
            self.visit(self.source(f"{source.var}.grad", f"{text}.grad", source.site), gradient)
        if self.scope.reflects:
            names |= {name for name in self.scope.strings if name.isidentifier()}
            self.same_names(source, tensor.__dict__)
        names -= _TENSOR_NAMES | vars(type(tensor)).keys()
        if names or self.scope.reflects:
            own = tensor.__dict__
            names = names.union(own if self.scope.reflects else ())
            if own or names & self.scope.lacking:
                self._attributes(source, own, names, self.scope.lacking, lazily=True)

    def _offset(self, source: Source, tensor: Tensor) -> None:
        offset, text = tensor._offset, source.text
        self.require(
            f"{source.var}._offset == {offset}",
            source,
            lambda now: f"{text}.storage_offset() {offset} → {now._offset}",
        )

    # ---- values that are read out whole ----------------------------------------------------------------------------

    @staticmethod
    def _is_read(kind: type) -> bool:
        """Whether a reader tells all of such a value: it is of that class, or of a library's."""
        if kind in READERS:
            return True
        return (
            issubclass(kind, (np.generic, np.dtype))
            and kind.__module__.startswith("numpy")
            or (kind.__module__.partition(".")[0] == "pathlib" and reader_of(kind) is not None)
        )

    def _read_out(self, source: Source, value: Any) -> None:
        kind: Any = type(value)
        self.exact_type(source, value)
        self.asks_by_method(kind, source)
        found = reader_of(kind)
        if found is not None:
            self._payload(source, value, found[0])
        self._parts(source, value, PARTS.get(kind, ()))
        if found is not None and found[0].__module__ == "decimal":
            self.decimals(source)
        elif issubclass(kind, np.generic):
            self._numpy_text(source)

    def _payload(self, source: Source, value: Any, base: type) -> None:
        text = source.text
        read, old = READERS[base], READERS[base](value)
        name = self.constant(read)
        frozen = repr(old) if type(old) in _PLAIN else self.constant(old)
        self.require(f"{name}({source.var}) == {frozen}", source, lambda now: f"{text} {brief(value)} → {brief(now)}")

    def _parts(self, source: Source, value: Any, names: tuple[str, ...]) -> None:
        for name in names:
            part = getattr(value, name)
            text = source.text if name.startswith("__") else f"{source.text}.{name}"
            self.visit(self.source(f"{source.var}.{name}", text, source.site), part)

    # ---- containers ------------------------------------------------------------------------------------------------

    def _structure(self, source: Source, value: Any) -> None:
        kind: Any = type(value)
        text, site = source.text, source.site
        if kind in (list, tuple, collections.deque) or is_named_tuple(kind):
            self.exact_type(source, value)
            self._items(source, value, kind)
            if is_named_tuple(kind) and not is_library(kind.__module__):
                self.user_class(kind, site)
        elif kind in _MAPPINGS:
            self.exact_type(source, value)
            self._mapping(source, value, kind)
        elif kind in (set, frozenset):
            self.exact_type(source, value)
            self._set(source, value, kind)
        elif kind is functools.partial:
            self.exact_type(source, value)
            for part in ("func", "args", "keywords"):
                self.visit(self.source(f"{source.var}.{part}", f"{text}.{part}", site), getattr(value, part))
        elif kind is types.MethodType:
            self.exact_type(source, value)
            self._parts(source, value, ("__func__", "__self__"))
        elif kind in _MUTABLE:
            self.exact_type(source, value)
            self._payload(source, value, kind)
        elif kind is np.ndarray:
            self._array(source, value)
        elif is_module(kind) or is_optimizer(kind):
            (self.module if is_module(kind) else self.optimizer)(source, value)
        elif isinstance(value, enum.Enum):
            self.same(source, value)
            self.instance(source, value)
        elif hasattr(kind, "__opweave_wrapper__"):
            self.same(source, value)
            self.visit(self.source(f"{source.var}.__wrapped__", text, site), value.__wrapped__)
        elif is_registered(kind) and not issubclass(kind, (dict, list, tuple, collections.deque)):
            self._registered(source, value)
        elif kind.__module__.partition(".")[0] == "opweave":
            self._own(source, value)
        elif kind.__module__.partition(".")[0] == "triton":
            self.same(source, value)
        elif not is_library(kind.__module__):
            self._object(source, value)
        else:
            self._library_object(source, value)

    def _items(self, source: Source, value: Any, base: Any, *, named: bool = True) -> None:
        """A sequence element by element; `base` is the class whose methods show what is stored."""
        text, kind, var = source.text, type(value), source.var
        old = base.__len__(value)
        plain = kind is base or is_named_tuple(kind)
        length = f"len({var})" if plain else f"{self.constant(base.__len__)}({var})"
        self.require(
            f"{length} == {old}",
            source,
            lambda now: f"len({text}) {old} → {len(now) if hasattr(now, '__len__') else now}",
        )
        names = getattr(kind, "_fields", None) if named else None
        for i in range(old):
            part = f"{text}.{names[i]}" if names else f"{text}[{i}]"
            load = f"{var}[{i}]" if plain else f"{self.constant(base.__getitem__)}({var}, {i})"
            self.visit(self.source(load, part, source.site), base.__getitem__(value, i) if not plain else value[i])
        if base is collections.deque:
            limit = value.maxlen
            self.require(f"{var}.maxlen == {limit}", source, lambda now: f"{text}.maxlen {limit} → {now.maxlen}")

    def _mapping(self, source: Source, value: Any, base: Any) -> None:
        text, var, plain = source.text, source.var, type(value) is base
        iterate = f"[*{var}]" if plain else f"[*{self.constant(base.__iter__)}({var})]"
        keys = [*value] if plain else [*base.__iter__(value)]
        self._refuse_tensors(source, keys, "a dict with tensors as keys", "names or numbers as keys")
        if all(type(key) is str for key in keys):
            types_of = f" and {{*map(type, {var})}} == {self.constant({str})}" if keys and plain else ""
            self.require(
                f"{iterate} == {self.constant(keys)}{types_of}",
                source,
                lambda now: f"keys of {text} {brief(keys)} → {brief(list(now))}",
            )
        else:
            self._listed(source, iterate, keys, f"keys of {text}")
        if isinstance(value, collections.defaultdict):
            self.visit(
                self.source(f"{var}.default_factory", f"{text}.default_factory", source.site), value.default_factory
            )
        get = f"{var}[%s]" if plain else f"{self.constant(base.__getitem__)}({var}, %s)"
        for key in keys:
            literal = repr(key) if type(key) in _PLAIN else self.constant(key)
            item = value[key] if plain else base.__getitem__(value, key)
            self.visit(self.source(get % literal, f"{text}[{key!r}]", source.site), item)

    def _set(self, source: Source, value: Any, base: Any) -> None:
        """Its elements in the order that a loop sees them."""
        text, var = source.text, source.var
        self._refuse_tensors(source, value, "a set of tensors", "a list or tuple of them")
        iterate = f"[*{var}]" if type(value) is base else f"[*{self.constant(base.__iter__)}({var})]"
        self._listed(source, iterate, [*base.__iter__(value)], text, value)

    def _listed(self, source: Source, iterate: str, items: list[Any], text: str, whole: Any = None) -> None:
        """What iterating gives, exactly."""
        shown = items if whole is None else whole
        if all(type(item) in _PLAIN or type(item) is bool for item in items):
            every = self.source(iterate, text, source.site)
            kinds = [type(item) for item in items]
            test = (
                f"{self.get(every)} == {self.constant(items)} and [*map(type, {every.var})] == {self.constant(kinds)}"
            )
            kind = type(shown)
            self.require(test, source, lambda now: f"{text} {brief(shown)} → {brief(_like(kind, now))}")
            return
        every = self.source(iterate, text, source.site)
        self.require(
            f"len({self.get(every)}) == {len(items)}", every, lambda now: f"len({text}) {len(items)} → {len(now)}"
        )
        for i, item in enumerate(items):
            self.visit(self.source(f"{every.var}[{i}]", text, source.site), item)

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
        read = self.constant(_array_state)
        frozen = self.constant(_array_state(value))
        self._numpy_text(source)
        self.require(f"{read}({source.var}) == {frozen}", source, lambda now: f"content of {text} changed")

    def _numpy_text(self, source: Source) -> None:
        if self.scope.formats:
            self.world(source, _print_options, "NumPy's print options")

    def _registered(self, source: Source, value: Any) -> None:
        """A class that its author registered with optree as a pytree node."""
        self.exact_type(source, value)
        optree = load_heavy("optree")
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
        if not is_library(type(value).__module__):
            self.instance(source, value)

    # ---- objects ---------------------------------------------------------------------------------------------------

    def _own(self, source: Source, value: Any) -> None:
        """Objects of opweave: op definitions and the like; what a user registered for an op is part of the trace."""
        if isinstance(value, tuple):
            self.exact_type(source, value)
            self._items(source, value, tuple)
            return
        self.same(source, value)
        if hasattr(type(value), "_present_version"):  # a `GraphModule`
            test = f"{source.var}._present_version() == {value._present_version()}"
            self.require(test, source, lambda now: f"graph of {source.text} changed")
            self._parts(source, value, ("graph", "constants"))
        op = getattr(value, "_opoverload", None) or getattr(value, "op", None)
        if isinstance(op, OpOverload):
            self.op_rules(op, source.site)

    def _object(self, source: Source, value: Any) -> None:
        """An instance of a user's class: its type, what a builtin base stores, and attributes."""
        self.exact_type(source, value)
        self._base_state(source, value)
        self.instance(source, value)

    def _base_state(self, source: Source, value: Any) -> None:
        """What an instance keeps in a base that is written in C."""
        kind: Any = type(value)
        found = reader_of(kind)
        if isinstance(value, collections.OrderedDict):
            self._mapping(source, value, collections.OrderedDict)
        elif isinstance(value, dict):
            self._mapping(source, value, dict)
        elif isinstance(value, (set, frozenset)):
            self._set(source, value, set if isinstance(value, set) else frozenset)
        elif isinstance(value, (list, tuple, collections.deque)):
            base = next(b for b in (list, tuple, collections.deque) if isinstance(value, b))
            self._items(source, value, base)
        elif isinstance(value, np.ndarray):
            self._array(source, value)
        elif found is not None:
            self._payload(source, value, found[0])
            self._parts(source, value, PARTS.get(found[0], ()))
        elif isinstance(value, BaseException):
            self._parts(source, value, ("args",))
        elif isinstance(value, (functools.partial, staticmethod, classmethod, property)):
            names = ("func", "args", "keywords") if isinstance(value, functools.partial) else ("fget", "__func__")
            self._parts(source, value, tuple(name for name in names if hasattr(value, name)))
        elif _solid_base(kind) not in (object, type, threading.local, types.SimpleNamespace, datetime.tzinfo):
            raise self._unknown(source, value)

    def _library_object(self, source: Source, value: Any) -> None:
        kind: Any = type(value)
        text, var, site = source.text, source.var, source.site
        if isinstance(value, logging.Logger):
            self._logger(source, value)
        elif kind is type(os.environ):
            self.environment(source)
        elif kind in _LOCKS:
            self.same(source, value)
            if "locked" in self.scope.attributes:
                raise unrecorded(f"{text}.locked", self.scope.attributes["locked"])
        elif isinstance(value, weakref.ReferenceType):
            self.same(source, value)
            self.visit(self.source(f"{var}()", f"{text}()", site), value())
        elif kind is contextvars.ContextVar:
            self.same(source, value)
            self.visit(self.source(f"{self.constant(_current)}({var})", f"{text}.get()", site), _current(value))
        elif kind is threading.local:
            self.exact_type(source, value)
            self.instance(source, value)
        elif kind is _CACHED:
            self._cached(source, value)
        elif kind in _GETTERS:
            self._getter(source, value)
        elif kind is functools.singledispatchmethod:
            self.same(source, value)
            self._parts(source, value, ("dispatcher", "func"))
        elif kind is functools.partialmethod:
            self.same(source, value)
            self._parts(source, value, ("func", "args", "keywords"))
        elif kind is types.SimpleNamespace or (kind.__module__.partition(".")[0] in _IN_PYTHON and _is_in_python(kind)):
            self.exact_type(source, value)
            if kind is not types.SimpleNamespace:
                self._base_state(source, value)
            self.instance(source, value, whole=True)
        elif isinstance(value, (staticmethod, classmethod, property, functools.cached_property, BaseException)):
            self.same(source, value)
            for part in ("__func__", "fget", "func"):
                self.walk(getattr(value, part, None), site)
        else:
            raise self._unknown(source, value)

    def _unknown(self, source: Source, value: Any) -> UnsupportedError:
        kind = type(value)
        return UnsupportedError(
            f"compile: {source.text} cannot be guarded: nothing tells when a {kind.__module__}.{kind.__name__} changes",
            got=brief(value),
            at=source.site,
            hint="pass what the function needs of it as an argument, or compute it outside the compiled function",
        )

    def _logger(self, source: Source, value: logging.Logger) -> None:
        """Whether it logs: levels up to the first that is set, and what is switched off."""
        self.same(source, value)
        each: Any = value
        tests = [f"{self.constant(value.manager)}.disable == {value.manager.disable}"]
        while each is not None:
            name = self.constant(each)
            tests.append(f"{name}.level == {each.level} and {name}.disabled is {each.disabled}")
            tests.append(f"{name}.parent is {self.constant(each.parent)}")
            each = None if each.level else each.parent
        text = source.text
        self.require(" and ".join(tests), source, lambda now: f"level of {text} changed")

    def _cached(self, source: Source, value: Any) -> None:
        """A cache gives what it has: it is the same as long as nothing was computed anew, in the trace or after it."""
        self.same(source, value)
        self.visit(self.source(f"{source.var}.__wrapped__", source.text, source.site), value.__wrapped__)
        text = source.text
        misses = [value.cache_info().misses]

        def settle() -> None:
            misses[0] = value.cache_info().misses

        self.late.append(settle)
        self.require(
            f"{source.var}.cache_info()[1] == {self.constant(misses)}[0]",
            source,
            lambda now: f"cache of {text} changed",
        )

    def _getter(self, source: Source, value: Any) -> None:
        """`operator.attrgetter` and its like: they read what their names say."""
        self.exact_type(source, value)
        arguments = value.__reduce__()[1]
        if not isinstance(value, operator.itemgetter):
            words = [word for name in arguments if isinstance(name, str) for word in name.split(".")]
            self.scope.mention(words, source.site)
        self.visit(self.source(f"{source.var}.__reduce__()[1]", source.text, source.site), arguments)


def _solid_base(kind: type) -> type:
    """The first class of an MRO that is written in C."""
    return next(base for base in kind.__mro__ if not _is_in_python(base))


def _is_in_python(kind: type) -> bool:
    """Whether a class statement made a class."""
    if not kind.__flags__ & 1 << 9:  # no type of the heap
        return False
    return (
        any(name in vars(kind) for name in ("__dict__", "__weakref__", "__slots__"))
        or (
            isinstance(vars(kind).get("__module__"), str)
            and any(isinstance(v, types.FunctionType) for v in vars(kind).values())
        )
        or (kind.__base__ is not None and kind.__base__ is not object and _is_in_python(kind.__base__))
    )


def _array_state(value: Any) -> tuple[Any, ...]:
    return value.shape, value.strides, value.flags.num, repr(value.dtype), value.tobytes()


def _current(variable: contextvars.ContextVar[Any]) -> Any:
    try:
        return variable.get()
    except LookupError:
        return MISSING


def _print_options() -> str:
    return repr(np.get_printoptions())


def _children(value: Any) -> list[Any]:
    return load_heavy("optree").tree_flatten_one_level(value, namespace=PYTREES)[0]


def _like(kind: type, now: Any) -> Any:
    """What is there now, as the sort of container that was there."""
    try:
        return kind(now)
    except TypeError:
        return now
