"""What a trace of a function may depend on, as text: the same in every process in which the trace would be the same.

Guards name what a function reads, and hold for as long as that is what it was when it was traced. In this process that
is told by identity (`x is c3`); here each such object is described by its content instead: a function by its code, a
library's function by its name, a class by what its names give, a user's op by its schema and rules. An object that no
text describes for certain makes the whole untellable, and the function is then traced in every process.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import operator
import os
import sys
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from opweave.registry.autograd.graph import grad_fn_of
from opweave.registry.binding import Awaited
from opweave.registry.custom_op import CustomOpDef
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.keys import GRAD, set_mode
from opweave.registry.native_kernel import native_kernel
from opweave.registry.op import Namespace, OpOverload, Ops, registry
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.patches import replaced
from opweave.registry.replay import Function
from opweave.runtime.classes import ClassFacts, OwnFacts, Registered
from opweave.runtime.context import Context
from opweave.runtime.exact import scalar_token
from opweave.runtime.modules import is_module, is_optimizer
from opweave.runtime.purity import is_library
from opweave.runtime.request import Request
from opweave.runtime.values import ValueGuards

#: Beginnings of environment variables that may change what is compiled, and those that do not.
_CHANGING = ("OPWEAVE_", "TRITON_", "MLIR_", "LLVM_", "DISABLE_", "USE_IR_LOC")
_HARMLESS = frozenset(
    {"OPWEAVE_CACHE", "OPWEAVE_CACHE_DIR", "OPWEAVE_LOGS", "OPWEAVE_NUM_THREADS", "OPWEAVE_VERIFY", "OPWEAVE_LD",
     "OPWEAVE_CPU_CACHE_BYTES", "TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_DEFAULT_BACKEND",
     "TRITON_BACKENDS_IN_TREE"}
)  # fmt: skip
#: Libraries whose versions `codegen.cache` has in each key.
_PINNED = frozenset({"opweave", "numpy", "triton", "llvmlite"}) | frozenset(sys.stdlib_module_names) | {"builtins"}
#: `Py_TPFLAGS_HEAPTYPE`: classes that were made while Python runs.
_OF_THE_HEAP = 1 << 9
_IN_C = (
    types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip


#: What else than functions classes of modules have.
_DATA = (type, property, types.GetSetDescriptorType, types.MemberDescriptorType)


class Untellable(Exception):
    """No text stands for a value."""


def facts(request: Request, guards: ValueGuards) -> Iterator[str]:
    """Lines that tell a call from any other whose trace might be another.

    Parameters
    ----------
    request : Request
        The call.
    guards : ValueGuards
        What it may read, before it is traced.

    Raises
    ------
    Untellable
        If it reads something that no text stands for.
    """
    if guards.late or guards.ignored:
        raise Untellable("what moves while the function is traced")
    if registry.builtin_version != registry.shipped_version or registry.fallbacks:
        raise Untellable("built-in ops were changed")
    parameters = request.parameters
    yield f"{request.name}({parameters.declared}) {parameters.passed} {request.settings}"
    yield f"{Context.now()} {sys.flags.optimize}"
    for name in sorted(os.environ):
        if name.startswith(_CHANGING) and name not in _HARMLESS:
            yield f"{name}={os.environ[name]}"
    yield from (guard.test.replace(request.prefix, "\0") for guard in guards.guards)
    describe = _Describe(request, guards)
    yield describe(describe.target)
    for name, value in guards.constants.items():
        yield f"{name.removeprefix(request.prefix)} {describe(value)}"
    for function in (*guards.scope.functions, *guards.scope.rules):
        yield describe(function)
    yield from _tensors(guards)


def _tensors(guards: ValueGuards) -> Iterator[str]:
    """How tensors lie in memory and in autograd's record: guards tell of it only what a trace turned out to use."""
    storages: dict[int, int] = {}
    for t in guards.tensors:
        tensor = t.tensor
        number = storages.setdefault(id(tensor._storage), len(storages))
        leaf = not tensor._keys & GRAD or grad_fn_of(tensor) is None
        yield f"{number} {tensor._offset} {tensor._view_of is None} {leaf} {tensor._device} {tensor._dtype.name}"


def _is_looked_into(kind: type) -> bool:
    return not is_library(kind.__module__) or kind is functools.partial or is_module(kind)


def _has_its_own(owner: Any, module: str) -> bool:
    """Whether the functions of a library's class or module, and their code, are those that it was written with."""
    package = module.partition(".")[0]
    folder = os.path.dirname(getattr(sys.modules.get(package), "__file__", None) or "") + os.sep
    own = isinstance(owner, type) and is_module(owner)
    for value in vars(owner).values():
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if type(value) is types.FunctionType:
            file = value.__code__.co_filename
            if (value.__module__ or "").partition(".")[0] != package or not file.startswith((folder, "<")):
                return False
            if own and value.__qualname__ != f"{owner.__qualname__}.{value.__name__}":  # that of another class
                return False
        elif own and not isinstance(value, _DATA) and (callable(value) or hasattr(type(value), "__get__")):
            return False
    return True


class _Describe:
    """Values as text.

    Parameters
    ----------
    request : Request
        Whose function is described.
    guards : ValueGuards
        Its guards.
    """

    def __init__(self, request: Request, guards: ValueGuards) -> None:
        function = request.function
        given = [function]
        while isinstance(function, types.MethodType):
            given += [function.__self__]
            function = function.__func__
        #: What is called.
        self.target = function
        #: Modules and objects of the user's that the guards begin at and look into: they tell their content.
        self.roots = {id(each) for each in given if _is_looked_into(type(each))}
        self.spaces = {id(f.__globals__): f.__globals__ for f in guards.scope.functions}
        self.classes = {id(facts.known): facts for facts in guards.class_facts}
        self.codes: dict[types.CodeType, str] = {}
        #: Of classes of a library's modules, and `nn.functional`: whether they are as they came.
        self.own: dict[Any, bool] = {}
        self._depth = 0

    def __call__(self, value: Any) -> str:
        self._depth += 1
        try:
            if self._depth > 20:
                raise Untellable("nested deep")
            return self._text(value)
        finally:
            self._depth -= 1

    def _text(self, value: Any) -> str:
        kind: Any = type(value)
        if isinstance(value, enum.Enum):
            return self._member(value)
        token = scalar_token(value)
        if token is not None and kind.__module__ in ("builtins", "numpy", "numpy.dtypes", "decimal", "fractions"):
            return f"{kind.__name__} {token[1]!r}"
        if id(value) in self.classes:
            return "version"
        if kind in (tuple, list):
            return f"{kind.__name__}[{', '.join(map(self, value))}]"
        if kind in (set, frozenset):
            return f"{kind.__name__}{{{', '.join(sorted(map(self, value)))}}}"
        if kind is dict:
            return self._namespace(value)
        if isinstance(value, type):
            return self._class(value)
        if kind is types.CodeType:
            return f"code {self._code(value)}"
        if kind is types.FunctionType:
            return self._function(value)
        if kind is types.ModuleType:
            return f"module {value.__name__} {_pinned(value.__name__) if is_library(value.__name__) else ''}"
        if kind is types.BuiltinFunctionType:
            return self._builtin(value)
        if kind is types.MethodType and isinstance(value.__self__, ClassFacts):
            facts = value.__self__
            return self(facts.kind) if isinstance(facts, OwnFacts) else self._class_facts(facts)
        if isinstance(value, types.ModuleType) and is_library(kind.__module__):  # one that stands for another
            return f"module {value.__name__} of {self(kind)}"
        if kind is types.CellType:
            return "cell"  # what it holds has guards of its own
        if kind is memoryview:
            return "tag"  # of a class: the memory of its version
        if isinstance(value, _IN_C):
            return f"{kind.__name__} {self(value.__objclass__)}.{value.__name__}"
        if isinstance(value, np.ufunc):
            return f"ufunc {_found('numpy', value.__name__, value)}"
        if isinstance(value, (DType, Device)):
            return f"{kind.__name__} {value}"
        if isinstance(value, (OpOverload, OpOverloadPacket, Namespace, Ops, HigherOrderOperator)):
            return self._op(value)
        if isinstance(value, Awaited):
            return f"awaited {value.__module__}.{value.__name__}"
        if isinstance(value, Function):
            return f"replayed {self(value.__wrapped__)}"
        if isinstance(value, CustomOpDef):
            return f"{kind.__name__} {self._op(value._opoverload)}"
        if f"{kind.__module__}.{kind.__qualname__}" == "triton.runtime.jit.JITFunction":
            return self._kernel(value)
        if isinstance(value, (staticmethod, classmethod)):
            return f"{kind.__name__} {self(value.__func__)}"
        if isinstance(value, Registered):
            return f"registered {'; '.join(sorted(self._registered(*each) for each in value.classes))}"
        if kind is types.MethodType:
            return f"method {self(value.__func__)} of {self(value.__self__)}"
        if kind is property:
            return f"property {', '.join(map(self, (value.fget, value.fset, value.fdel)))}"
        if isinstance(value, set_mode) and is_library(kind.__module__):
            held = [f"{name} {self(item)}" for name, item in sorted(vars(value).items()) if name != "_saved"]
            return f"mode {self(kind)} {', '.join(held)}"
        if kind in (operator.attrgetter, operator.itemgetter, operator.methodcaller):
            made, arguments, *_ = value.__reduce__()
            return f"{kind.__name__} {self((made, arguments))}"
        if id(value) in self.roots:
            return "root"
        raise Untellable(f"{kind.__module__}.{kind.__qualname__}")

    def _member(self, value: enum.Enum) -> str:
        kind: Any = type(value)
        if kind.__members__.get(value.name) is not value:
            raise Untellable(f"{value!r}")
        return f"member {self(kind)}.{value.name} {self(value.value)}"

    def _namespace(self, value: dict[str, Any]) -> str:
        """Global variables, each of which has a guard of its own."""
        name = value.get("__name__")
        if id(value) in self.spaces or vars(sys.modules.get(str(name), types)) is value:
            return f"namespace {name}"
        raise Untellable("a dict")

    def _class(self, kind: type) -> str:
        if kind.__module__ == "builtins" and not kind.__flags__ & _OF_THE_HEAP:  # NoneType has no name there
            return f"class {kind.__qualname__}"
        if is_library(kind.__module__):
            if (is_module(kind) or is_optimizer(kind)) and not self._is_as_it_came(kind):
                raise Untellable(f"a {kind.__qualname__} whose methods were replaced")
            try:
                return f"class {_found(kind.__module__, kind.__qualname__, kind)}"
            except Untellable:
                if not is_module(kind):
                    raise
            # One that was made for a module, as parametrizations are.
            return f"class {kind.__module__}.{kind.__qualname__} of {', '.join(map(self, kind.__bases__))}"
        # What its names give is told by its facts.
        return f"class {kind.__module__}.{kind.__qualname__} {self(type(kind))}"

    def _registered(self, kind: type, classes: Iterable[Any]) -> str:
        known: list[Any] = [each() if isinstance(each, weakref.ref) else each for each in classes]
        known = [each for each in known if each is not None]
        if not all(is_library(each.__module__) for each in known):
            raise Untellable(f"which classes of one name {kind.__qualname__} has")
        names = sorted(f"{each.__module__}.{each.__qualname__}" for each in known)
        return f"{self(kind)}: {', '.join(names)}"

    def _is_as_it_came(self, kind: type) -> bool:
        """Whether nobody replaced methods of a library's module, or functions that it calls.

        Of a library nothing else is told than its version.
        """
        for base in kind.__mro__:
            if base not in self.own:
                self.own[base] = _has_its_own(base, base.__module__)
        functional = sys.modules.get("opweave.nn.functional")
        if functional is not None and functional not in self.own:
            self.own[functional] = _has_its_own(functional, functional.__name__)
        return not replaced() and all(self.own.get(owner, True) for owner in (*kind.__mro__, functional))

    def _class_facts(self, facts: ClassFacts) -> str:
        """What names give in a class and its bases."""
        bases = ", ".join(map(self, facts.mro))
        lines = [f"{name} of {self(base)}: {self._attribute(facts, name, value)}" for name, base, value in facts.found]
        return f"[{bases}] {facts.closed_names} {'; '.join(lines)}"

    def _attribute(self, facts: ClassFacts, name: str, value: Any) -> str:
        if facts.is_guarded(value):
            return "guarded"
        if name in ("__dict__", "__weakref__", "__doc__", "__annotations__", "__module__"):
            return "as ever"
        return self(value)

    def _function(self, function: types.FunctionType) -> str:
        name = f"{function.__module__}.{function.__qualname__}"
        inside = ""
        if is_library(function.__module__):
            try:
                return f"function {_found(function.__module__, function.__qualname__, function)}"
            except Untellable:
                _pinned(function.__module__)
            # What a function of the user's closes over has guards; of a library's, nothing else tells it.
            cells = [cell.cell_contents for cell in function.__closure__ or ()]
            inside = ", ".join(map(self, (*cells, function.__defaults__, *(function.__kwdefaults__ or {}).items())))
        return f"function {name} {self._code(function.__code__)} {inside}"

    def _builtin(self, value: types.BuiltinFunctionType) -> str:
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            return f"builtin {_found(value.__module__ or 'builtins', value.__qualname__, value)}"
        if isinstance(owner, type):
            return f"builtin {self(owner)}.{value.__name__}"
        raise Untellable(f"{value!r}")

    def _op(self, value: Any) -> str:
        if isinstance(value, OpOverload):
            if registry.operators.get(value.name) is not value:
                raise Untellable(f"{value}")
            return f"op {value.name} {op_facts(value)}"
        if isinstance(value, OpOverloadPacket):
            if registry.packets.get(f"{value.namespace}::{value.opname}") is not value:
                raise Untellable(f"{value}")
            # Of built-in ops there is nothing to tell, and most wait for their file to be run.
            users = [] if value.is_waiting else [op for op in value._overloads.values() if op.decl is None]
            return f"ops {value} {', '.join(map(self, users))}"
        if isinstance(value, HigherOrderOperator):
            raise Untellable(f"{value}")
        return f"{type(value).__name__} {value}"

    def _kernel(self, value: Any) -> str:
        """A user's Triton kernel, whose key has its source, and that of what it calls."""
        if value.pre_run_hooks:
            raise Untellable(f"hooks of {value.__name__}")
        said = value.do_not_specialize, value.do_not_specialize_on_alignment, value.debug, value.noinline
        return f"kernel {value.__module__}.{value.__name__} {value.cache_key} {said} {self._code(value.fn.__code__)}"

    def _code(self, code: types.CodeType) -> str:
        """A digest of what code does, and of where it stands, which errors tell."""
        known = self.codes.get(code)
        if known is None:
            digest = hashlib.sha256()
            for part in (
                code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
                code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
                code.co_exceptiontable, code.co_filename, code.co_firstlineno, code.co_linetable,
            ):  # fmt: skip
                text = repr(part)
                digest.update(f"{len(text)} {text}\n".encode())
            for constant in code.co_consts:
                text = f"code {self._code(constant)}" if isinstance(constant, types.CodeType) else self(constant)
                digest.update(f"{len(text)} {text}\n".encode(errors="backslashreplace"))
            known = self.codes[code] = digest.hexdigest()
        return known


def op_facts(op: OpOverload) -> str:
    """What a trace depends on of a user's op besides the code of its rules; nothing for a built-in one."""
    if op.decl is not None:
        return ""
    keys = sorted(key.name for key in (*op.kernels, *op.disabled))
    casts = sorted(f"{device} {dtype}" for device, dtype in op.autocast_rules.items())
    classes = sorted(kind.__qualname__ for kind in op.dispatch_rules)
    has = op.fake is not None, op.batch_rule is not None, op.body is not None, type(op.derivative).__qualname__
    return f"{op._schema} {op.declared_tags} {keys} {casts} {classes} {has} {native_kernel(op) is not None}"


def _pinned(module: str) -> str:
    """The version of a library, where the key of what is kept does not have it already."""
    top = module.partition(".")[0]
    if top in _PINNED:
        return ""
    version = getattr(sys.modules.get(top), "__version__", None)
    if not isinstance(version, str):
        raise Untellable(f"the version of {top}")
    return version


def _found(module: str, name: str, value: Any) -> str:
    """The name of a library's object, by which it is found there."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value:
        raise Untellable(f"{module}.{name}")
    return f"{module}.{name} {_pinned(module)}"


def digest(lines: Iterable[str]) -> str:
    """One text for many."""
    found = hashlib.sha256()
    for line in lines:
        found.update(f"{len(line)}\n{line}\n".encode(errors="backslashreplace"))
    return found.hexdigest()
