"""Loading op libraries: what a shared library registers becomes definitions and kernels, all of it or none."""

from __future__ import annotations

import ctypes
import functools
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from opweave.registry import forking
from opweave.registry.cpp import host, kernels
from opweave.registry.errors import LibraryError, OpweaveError, RegistrationError, Site, user_frame
from opweave.registry.interrupts import deferred, let_through
from opweave.registry.kernels import fallthrough_kernel
from opweave.registry.keys import DispatchKey
from opweave.registry.library import Library, Undo, add_kernel
from opweave.registry.loading import load_heavy
from opweave.registry.op import OpOverload
from opweave.registry.schema import FunctionSchema, ListType, OptionalType, Type, parse_schema

#: What libraries and this package agree on; `OPWEAVE_ABI_VERSION` in `opweave/include/opweave/abi.h`.
ABI_VERSION = 1
_SYMBOL = "opweave_library"
_BOXED, _FALLTHROUGH, _TAKES_KEYS = 1, 2, 4
#: `AliasAnalysisKind` of C++.
_PURE_FUNCTION = 3
#: Beside it, that the schema's types may be names in lower case, which stand for any.
_TYPEVARS = 16

#: Keys of PyTorch's that no tensor here has: what is registered at one is never called, and so left out.
ABSENT_KEYS = frozenset(
    f"{prefix}{backend}"
    for prefix in ("", "Autograd", "Autocast", "Sparse", "Quantized", "NestedTensor", "AutogradNestedTensor")
    for backend in ("HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse1")
) | {
    "SparseCPU", "SparseCUDA", "SparseMeta", "SparseCsrCPU", "SparseCsrCUDA", "QuantizedCPU", "QuantizedCUDA",
    "NestedTensorCPU", "NestedTensorCUDA", "MkldnnCPU", "Vulkan", "Metal", "FPGA", "Named", "Conjugate", "Negative",
    "ZeroTensor", "Tracer", "FuncTorchDynamicLayerBackMode", "FuncTorchDynamicLayerFrontMode", "FuncTorchGradWrapper",
    "PythonTLSSnapshot", "PythonDispatcher", "CustomRNGKeyId", "AutocastXPU", "Batched", "VmapMode",
}  # fmt: skip

_lock = forking.lock()


class Loaded(NamedTuple):
    """A library that was loaded: what it registered lives as long as the process."""

    path: str
    module: Any
    owners: list[Library]


_loaded: dict[str, Loaded] = {}
#: Modules of libraries that failed: their code may still be referred to.
_kept: list[Any] = []


class Record(NamedTuple):
    """What one call of `m.def`, `m.impl`, `m.fallback` or `m.set_python_module` left, or the begin of a block."""

    what: str
    namespace: str
    name: str
    key: str
    function: Any
    text: str
    flags: int
    debug: str
    file: str
    line: int
    tags: list[str]

    @property
    def site(self) -> Site:
        """The place in C++."""
        return Site(self.file, self.line, "C++")


def load_library(path: str | os.PathLike[str]) -> None:
    """Load a shared library and register the ops and kernels in it; what was loaded before is left as it is.

    Parameters
    ----------
    path : str or path
        The file. A library that registers something was compiled with `torch/library.h` or `opweave/library.h`.

    Raises
    ------
    LibraryError
        If the file is no shared library, registers nothing, or was built for another version of the interface.
    RegistrationError, SchemaError
        If what it registers contradicts itself or the registry; the C++ file and line are named, and nothing of the
        library stays registered.
    """
    site = user_frame(1)
    full = os.path.realpath(os.fspath(path))
    with _lock:
        if full in _loaded:
            return
        if not os.path.isfile(full):
            raise LibraryError(f"load_library: there is no file {os.fspath(path)!r}", at=site)
        ffi = host.runtime()
        try:
            module = ffi.load_module(full)
        except Exception as error:
            let_through(error)
            raise LibraryError(
                f"load_library: {os.path.basename(full)} cannot be loaded", got=str(error).strip(), at=site,
                hint="is it a shared library for this machine, and are the libraries that it needs found?",
            ) from None  # fmt: skip
        _kept.append(module)
        _require_one_runtime(full, site)
        _loaded[full] = Loaded(full, module, register(read_records(module, full, site), site))


def _require_one_runtime(path: str, site: Site) -> None:
    """Refuse a library that is linked to another copy of the runtime than this process uses: objects would not fit."""
    ours = ctypes.CDLL(load_heavy("tvm_ffi.libinfo").find_libtvm_ffi())
    theirs = ctypes.CDLL(path)
    name = "TVMFFIFunctionCall"
    places = [ctypes.cast(getattr(each, name), ctypes.c_void_p).value for each in (ours, theirs) if hasattr(each, name)]
    if len({*places}) > 1:
        raise LibraryError(
            f"load_library: {os.path.basename(path)} has brought another copy of libtvm_ffi along", at=site,
            got="it was imported before tvm_ffi, and finds the copy that it was linked to",
            hint="import tvm_ffi before it; or install it beside apache-tvm-ffi, where it looks first",
        )  # fmt: skip


def read_records(module: Any, path: str, site: Site) -> list[Record]:
    """What a loaded library registers.

    Raises
    ------
    LibraryError
        If that is nothing, or the library was built for another version of the interface.
    """
    name = os.path.basename(path)
    try:
        function = module.get_function(_SYMBOL)
    except AttributeError as error:
        let_through(error)
        function = None
    if function is None:
        raise LibraryError(
            f"load_library: {name} registers no ops", got="a library without TORCH_LIBRARY or OPWEAVE_LIBRARY", at=site,
            hint="functions of a tvm-ffi library become ops with opweave.library.register_ffi",
        )  # fmt: skip
    version, records = function(ABI_VERSION)
    if version != ABI_VERSION:
        raise LibraryError(
            f"load_library: {name} was built for another version of opweave's interface",
            got=f"version {version}; this opweave has version {ABI_VERSION}", at=site,
            hint="build it again with the headers of this opweave (opweave.utils.cpp_extension.include_paths())",
        )  # fmt: skip
    if not records:
        raise LibraryError(
            f"load_library: {name} registers no ops", got="no TORCH_LIBRARY, nor another macro like it", at=site
        )
    return [_record(r) for r in records]


def _record(fields: Any) -> Record:
    what, namespace, name, key, function, text, flags, debug, file, line, tags = fields
    return Record(
        str(what), str(namespace), str(name), str(key), function, str(text), int(flags), str(debug), str(file),
        int(line), [str(tag) for tag in tags],
    )  # fmt: skip


def register(records: Iterable[Record], site: Site) -> list[Library]:
    """Carry out what a library wants registered; all of it, or nothing and an error.

    Parameters
    ----------
    records : iterable of Record
        In the library's order; blocks that define ops come first here, whatever file they are in.
    site : Site
        Where it was loaded.
    """
    owners: list[Library] = []
    blocks = sorted(_blocks(records), key=lambda block: block[0].name == "IMPL")
    with deferred():
        try:
            for block in blocks:
                _register_block(block, owners)
        except BaseException:
            for owner in reversed(owners):
                owner._destroy()
            raise
    return owners


def _blocks(records: Iterable[Record]) -> Iterator[list[Record]]:
    block: list[Record] = []
    for record in records:
        if record.what == "block":
            if block:
                yield block
            block = []
        block.append(record)
    if block:
        yield block


def _register_block(block: list[Record], owners: list[Library]) -> None:
    head = block[0]
    key = "" if head.key in ABSENT_KEYS else head.key
    library = Library(head.namespace, head.name, key, _site=head.site)
    owners.append(library)
    module: tuple[str, str] | None = None
    for record in block[1:]:
        library._site = record.site
        try:
            if record.what == "python_module":
                module = record.name, record.text
            elif record.what == "def":
                _define(library, record).python_module = module
            elif record.what == "impl":
                _implement(library, record)
            elif record.what == "verify":
                _verify(library, record)
            else:
                _fall_back(library, record)
        except OpweaveError as error:
            error.at = record.site
            raise


def _define(library: Library, record: Record) -> OpOverload:
    op = library._define(record.name, "", record.tags, allow_typevars=bool(record.flags & _TYPEVARS))
    if record.flags & ~_TYPEVARS == _PURE_FUNCTION and (op.is_mutable or op._schema.aliased_returns):
        raise RegistrationError(
            f"{op.name}: said to be a pure function, and its schema says that it shares memory", got=str(op._schema)
        )
    return op


def _implement(library: Library, record: Record) -> None:
    key = None if record.key in ABSENT_KEYS else DispatchKey[record.key]
    register = functools.partial(_register, record, key)
    library._implement(record.name, register, key or DispatchKey.Undefined, record.site)


def _verify(library: Library, record: Record) -> None:
    """Refuse a library that counts on an op, or on a kernel of one, that is not there."""
    name, bracket, _ = record.name.partition("(")
    op = library._find(name, record.site)
    if record.key and record.key not in ABSENT_KEYS and DispatchKey[record.key] not in op.kernels:
        raise RegistrationError(f"{op.name}: it has no kernel for {record.key}, which was to be verified")
    if bracket and parse_schema(f"{op.namespace}::{record.name.split('::')[-1]}") != op._schema:
        raise RegistrationError(
            f"{op.name}: it has another schema than the one to be verified", got=record.name, hint=f"schema: {op._schema}"
        )


def _register(record: Record, key: DispatchKey | None, op: OpOverload) -> Undo:
    """Register a kernel on its op; one for a key that no tensor has is only compared with the schema."""
    try:
        if record.text:
            _require_agreement(op, record)
        if key is None:
            return _nothing
        add = functools.partial(add_kernel, op, key=key, site=record.site, override=False)
        if record.flags & _FALLTHROUGH:
            return add(fn=fallthrough_kernel, with_keyset=False)
        if record.flags & _BOXED:
            return add(fn=kernels.boxed_kernel(op, record.function).fn, with_keyset=True)
        if record.flags & _TAKES_KEYS:
            return add(fn=kernels.kernel_with_keys(op, record.function), with_keyset=True)
        return add(fn=kernels.kernel(op, key, record.function), with_keyset=False)
    except OpweaveError as error:
        error.at = record.site
        raise


def _nothing() -> None:
    """What takes back nothing."""


def _fall_back(library: Library, record: Record) -> None:
    if record.key in ABSENT_KEYS:
        return
    if record.flags & _FALLTHROUGH:
        library.fallback(fallthrough_kernel, record.key)
    else:
        library.fallback(kernels.boxed(record.function), record.key, with_keyset=True)


def _require_agreement(op: OpOverload, record: Record) -> None:
    """Refuse a kernel whose C++ type is not what the schema has."""
    inferred = parse_schema(f"{op.namespace}::{op.opname}{record.text}")
    for side in ("arguments", "returns"):
        wanted, got = _kinds(op._schema, side), _kinds(inferred, side)
        if len(wanted) != len(got):
            which = f"{len(got)} {side}, where the schema has {len(wanted)}"
        else:
            which = next((f"{g} as one of its {side}, where the schema has {w}"
                          for w, g in zip(wanted, got, strict=True) if not _fits(w, g)), "")  # fmt: skip
        if which:
            raise RegistrationError(
                f"{op.name}: the C++ function has {which}", got=f"inferred from C++: {_shown(record.text)}",
                hint=f"schema: {op._schema}",
            )  # fmt: skip


def _kinds(schema: FunctionSchema, side: str) -> list[str]:
    return [_spelt(part.type) for part in getattr(schema, side)]


def _spelt(kind: Type) -> str:
    """A type without what C++ does not tell: the length of a list, whether a size may be symbolic."""
    if isinstance(kind, OptionalType):
        return f"{_spelt(kind.element)}?"
    if isinstance(kind, ListType):
        return f"{_spelt(kind.element)}[]"
    return re.sub(r"\bSymInt\b", "int", re.sub(r"\bSymBool\b", "bool", str(kind)))


def _fits(wanted: str, got: str) -> bool:
    return wanted == got or "Any" in (wanted, got)


def _shown(text: str) -> str:
    return re.sub(r" _\d+", "", text)
