"""Triton kernels as a launch would compile them: what they do with their pointers, and which of those they write.

A kernel is lowered to TTIR exactly as Triton would for the same arguments, for the kind of device that they are on (no
driver and no GPU take part), and `opweave.registry.triton.access` says what it does with each pointer. Before that only
Triton's inliner and canonicalizer run, which drop branches that a constant rules out and functions that are called: the
kernel's loops stay as they were written, and block pointers and descriptors too, whatever a backend makes of them.

An argument is written if an address that is written comes from it. Order and conditions do not count, so too many
arguments may be named, never too few: an op that is not known counts as a write to everything it is given, and an
address made from an integer or read from memory may point into any argument.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from opweave.registry import forking, interrupts
from opweave.registry.errors import ArgumentError, CompileError, UnsupportedError
from opweave.registry.hooks import Hook
from opweave.registry.loading import load_heavy, load_triton, parsing
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor
from opweave.registry.triton import modules

if TYPE_CHECKING:
    from opweave.registry.triton.access import KernelAccesses

_Found = TypeVar("_Found")

#: What a JIT function may write, and what it surely does.
_Writes = tuple[frozenset[str], frozenset[str]]
_cache: weakref.WeakKeyDictionary[Any, dict[Any, KernelAccesses]] = weakref.WeakKeyDictionary()
_texts: dict[str, KernelAccesses] = {}
_lock = forking.short_lock()

#: The context in which the driver, a layer above, compiles for a target; the package supplies it. The driver makes the
#: backend for the CPU known, and tells kernels that ask which target it is.
compiling_for: Hook[[Any], AbstractContextManager[Any]] = Hook()


def compiling(target: Any) -> AbstractContextManager[Any]:
    """A context in which Triton compiles for a target."""
    return nullcontext() if compiling_for.call is None else compiling_for.call(target)


class _Pointer:
    """Stands for a tensor while argument types are found: an aligned address, never followed."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: Any):
        self.dtype = dtype

    def data_ptr(self) -> int:
        return 0


def written_pointers(kernel: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> frozenset[str]:
    """Names of the pointer (or tensor descriptor) arguments that a launch may write.

    Parameters
    ----------
    kernel : JITFunction, Autotuner or Heuristics
        A Triton kernel. Of an `Autotuner` all configurations count.
    args, kwargs : sequence, mapping
        The launch's arguments by position and by name. Tensors may be fake: only their dtypes are used. Of symbolic
        numbers only the type is, too.

    Returns
    -------
    frozenset of str
        Parameter names. All pointer parameters where nothing can be known: an interpreted kernel, a configuration with
        a `pre_hook` of the user's own.

    Raises
    ------
    CompileError
        If Triton cannot lower the kernel for these arguments.
    """
    bound = dict(zip(_parameter_names(kernel), args, strict=False)) | dict(kwargs or {})
    written: set[str] = set()
    for jit, values, also_written in configurations(kernel, bound):
        if also_written is None or jit is None:
            return frozenset(name for name, value in bound.items() if _holds_pointer(value))
        written |= also_written | _written_by(jit, values)[0]
        wide = {name: _ANY_INT64 if _may_be_wide(value) else value for name, value in values.items()}
        if any(wide[name] is not value for name, value in values.items()):
            try:
                written |= _written_by(jit, wide)[0]
            except CompileError:
                # It has no launch on sizes that large.
                continue
    return frozenset(written)


def accesses(
    kernel: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> tuple[KernelAccesses, ...]:
    """What a launch does with each of its pointer arguments, once for each configuration of the kernel.

    Parameters
    ----------
    kernel : JITFunction, Autotuner or Heuristics
        A Triton kernel.
    args, kwargs : sequence, mapping
        The launch's arguments by position and by name, as for `written_pointers`. A symbolic integer counts as one of
        32 bits, unless its example is larger.

    Returns
    -------
    tuple of KernelAccesses
        One for each configuration of an `Autotuner`, in their order; else one. What tuning or a `pre_hook` may write
        besides counts as escaped.

    Raises
    ------
    CompileError
        If Triton cannot lower the kernel for these arguments.
    UnsupportedError
        If it is no kernel that Triton compiles, but one that it interprets.
    """
    bound = dict(zip(_parameter_names(kernel), args, strict=False)) | dict(kwargs or {})
    found = []
    for jit, values, also_written in configurations(kernel, bound):
        if jit is None:
            raise UnsupportedError("accesses: the kernel is not compiled by Triton", got=type(kernel).__name__)
        known = accesses_of(jit, values)
        if also_written is None:
            known = known.with_escape("a pre_hook may write it")
        elif also_written:
            known = known.with_escape("zeroed while the kernel is tuned", sorted(also_written))
        found.append(known)
    return tuple(found)


def _parameter_names(kernel: Any) -> list[str]:
    while not hasattr(kernel, "arg_names"):
        kernel = kernel.fn
    return list(kernel.arg_names)


def _holds_pointer(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_pointer, value))
    return hasattr(value, "data_ptr") or hasattr(value, "block_shape")


def configurations(kernel: Any, values: dict[str, Any]) -> Iterator[tuple[Any | None, dict[str, Any], set[str] | None]]:
    """Each (JIT function, its arguments, names written besides) of a chain of decorators; None means not known."""
    load_triton()
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    if isinstance(kernel, JITFunction):
        yield kernel, values, set()
    elif isinstance(kernel, Heuristics):
        for name, rule in kernel.values.items():
            try:
                # What a heuristic says of a symbolic size chooses the text of the kernel: it becomes a guard.
                values = {**values, name: fixed_number(rule(values))}
            except KeyError as error:
                raise ArgumentError(
                    f"the heuristic for {name} asks for {error}, which is no argument of this launch",
                    got=f"arguments: {', '.join(values)}",
                ) from None
        yield from configurations(kernel.fn, values)
    elif isinstance(kernel, Autotuner):
        # Tuning itself zeroes these.
        zeroed = set(getattr(kernel, "reset_to_zero", None) or ()) & values.keys()
        for config in kernel.configs:
            hooked = config.pre_hook is not None or getattr(kernel, "user_defined_pre_hook", False)
            for jit, chosen, also in configurations(kernel.fn, {**values, **config.all_kwargs()}):
                yield jit, chosen, None if hooked or also is None else zeroed | also
    else:
        yield None, values, None


def fixed_number(value: Any) -> Any:
    """A symbolic number as its value in the example, which becomes a guard of the trace; others as they are."""
    if isinstance(value, Symbolic):
        number: Any = value
        return bool(number) if value.kind == "bool" else float(number) if value.kind == "float" else int(number)
    return value


def constexpr_names(jit: Any) -> set[str]:
    """Names of the parameters whose value is part of the compiled kernel."""
    return {parameter.name for parameter in jit.params if parameter.is_constexpr}


# Ints that Triton assumes nothing of: neither 1 nor multiples of 16.
_ANY_INT32, _ANY_INT64 = 3, (1 << 33) + 3


def _may_be_wide(value: Any) -> bool:
    return isinstance(value, Symbolic) and value.kind == "int" and any_like(value) is _ANY_INT32


def any_like(value: Any) -> Any:
    """A number of the type that a symbolic one has in a kernel, of which nothing else is assumed.

    An int is taken as 32 bits wide, unless the example is larger.
    """
    if value.kind == "bool":
        return fixed_number(value)
    if value.kind == "float":
        return 0.5
    hint = getattr(value, "hint", None)
    return _ANY_INT32 if hint is None or -(1 << 31) <= hint < 1 << 31 else _ANY_INT64


def surely_written(jit: Any, values: dict[str, Any]) -> frozenset[str]:
    """Names of the arguments of one JIT function that it stores to, and not those that it might reach in other ways.

    None where the kernel cannot be lowered for these arguments.
    """
    try:
        return _written_by(jit, values)[1]
    except CompileError:
        return frozenset()


def _written_by(jit: Any, values: dict[str, Any]) -> _Writes:
    """Names written by one JIT function."""
    found = accesses_of(jit, values)
    sure = frozenset(p.argument for p in found.parameters if any(a.kind != "load" for a in p.accesses))
    return found.written, sure


def accesses_of(jit: Any, values: dict[str, Any]) -> KernelAccesses:
    """What one JIT function does with its pointers, from the cache where arguments of the same types were asked about.

    Raises
    ------
    CompileError
        If Triton cannot lower the kernel for these arguments.
    """

    def read(jit: Any, values: dict[str, Any]) -> KernelAccesses:
        constexprs = constexpr_names(jit)
        with _lock:
            known = _cache.setdefault(jit, {})
        types = [(name, _type_key(value, name in constexprs)) for name, value in values.items()]
        key = (jit.cache_key, device_kind(values), *types)
        found = known.get(key)
        if found is None:
            found = known[key] = _read(jit, values)
        return found

    return _explained(jit, values, read)


def accesses_of_text(kernel: Any) -> KernelAccesses:
    """The same of a kernel that exists as text only."""
    found = _texts.get(kernel.digest)
    if found is None:
        names = [name for name, kind in kernel.parameters if kind != "constexpr"]
        access: Any = load_heavy("opweave.registry.triton.access")
        found = _texts[kernel.digest] = access.analyse(kernel.ttir, names, kernel.name)
    return found


def _explained(jit: Any, values: dict[str, Any], read: Callable[[Any, dict[str, Any]], _Found]) -> _Found:
    """What is read of a kernel; what Triton says against it becomes an error that names the kernel."""
    try:
        return read(jit, values)
    except Exception as error:  # Triton raises whatever its frontend stumbles over
        interrupts.let_through(error)
        raise CompileError(
            f"Triton kernel {jit.__name__}: cannot be lowered for these arguments",
            got=f"{type(error).__name__}: {error}",
            hint="launch it outside opweave.compile to see Triton's own report",
        ) from error  # fmt: skip


def _type_key(value: Any, constexpr: bool) -> Any:
    """What the TTIR may depend on: the type of a tensor, for integers what Triton specialises on, else the value."""
    if isinstance(value, Tensor):
        return value._dtype
    if isinstance(value, Symbolic):
        return _type_key(any_like(value), constexpr)
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "item"):
        return _type_key(value.item(), constexpr)
    if kind is int and not constexpr:
        # 1 becomes a constant, multiples of 16 an attribute; width and sign follow from the range.
        return kind, value == 1, value % 16 == 0, value >= 1 << 31 or value < -(1 << 31), value >= 1 << 63
    if kind is float and not constexpr:
        return kind
    if isinstance(value, (list, tuple)):
        return kind, *[_type_key(item, constexpr) for item in value]
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        rest = tuple(value.block_shape), getattr(value, "padding", None)
        return kind, _type_key(value.base, constexpr), *map(len, (value.shape, value.strides)), *rest
    try:
        hash(value)
    except TypeError:
        return kind, repr(value)
    # 1, 1.0 and True are equal and hash alike.
    return kind, value


def _stand_in(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _Pointer(value._dtype)
    if isinstance(value, Symbolic):
        return any_like(value)
    if isinstance(value, (list, tuple)):
        items = [_stand_in(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    # Triton's argument parser takes no NumPy scalars.
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def source_of(jit: Any, values: dict[str, Any], target: Any = None) -> tuple[Any, Any, Any, Any]:
    """What `JITFunction.run` would compile for these arguments, by the same steps.

    Parameters
    ----------
    jit : JITFunction
        The kernel.
    values : dict of str to Any
        Its arguments and options. Tensors may be fake, numbers symbolic: of these only the type counts.
    target : GPUTarget, optional
        What for; by default the kind of device that the arguments are on, see `target_of`.

    Returns
    -------
    source : ASTSource
    backend : BaseBackend
    options : object
    target : GPUTarget
    """
    from triton import knobs
    from triton.compiler import ASTSource, make_backend
    from triton.runtime.jit import create_function_from_signature

    target = target or target_of(values)
    values = {name: _stand_in(value) for name, value in values.items()}
    backend = make_backend(target)
    options: dict[str, Any] = {
        "debug": False, "instrumentation_mode": getattr(knobs.compilation, "instrumentation_mode", ""),
    }  # fmt: skip
    compilation: Any = knobs.compilation  # some options exist in some versions only
    if hasattr(compilation, "fpsan_homomorphic_casts"):
        options["fpsan_homomorphic_casts"] = compilation.fpsan_homomorphic_casts
    options |= values
    binder = create_function_from_signature(jit.signature, jit.params, backend)
    bound, specialization, parsed = binder(**options)
    parsed, signature, constants, attributes = jit._pack_args(backend, options, bound, specialization, parsed)
    return ASTSource(jit, signature, constants, attributes), backend, parsed, target


def device_kind(values: Mapping[str, Any]) -> str:
    """The kind of device that a launch's first tensor is on; `cpu` where it has none."""
    for value in values.values():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            tensor = getattr(item, "base", item) if hasattr(item, "block_shape") else item
            if isinstance(tensor, Tensor):
                return tensor.device.type
    return "cpu"


def target_of(values: Mapping[str, Any]) -> Any:
    """The `GPUTarget` that a launch with these arguments is compiled for, as far as TTIR depends on it.

    That is the kind of device: of CPUs there is no difference, and GPUs count as the oldest that has all that Triton's
    frontend asks for, so that none need be there.
    """
    from triton.backends.compiler import GPUTarget

    return GPUTarget("cpu", "", 1) if device_kind(values) == "cpu" else GPUTarget("cuda", 90, 32)


def _read(jit: Any, values: dict[str, Any]) -> KernelAccesses:
    """Lower a kernel to TTIR and say what it does with its pointers."""
    with interrupts.deferred():
        text, names = lowered(jit, values)
        access: Any = load_heavy("opweave.registry.triton.access")  # which not every program needs
        return access.analyse(text, names)


def lowered(jit: Any, values: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The TTIR of a kernel, with locations, as far as no backend has changed it; what to call its parameters."""
    with compiling(target_of(values)):
        source, backend, options, target = source_of(jit, values)
        with parsing:
            context = modules.shared_context(backend)
            module = modules.first_ir(source, backend, target, options, context)
            module.context = context
            text = str(modules.run_passes(module, modules.CLEANED, "accesses"))
            del module
    names = tuple(path for name, kind in source.signature.items() for path in _paths(name, kind))
    return text, names


def _paths(name: str, kind: Any) -> Iterator[str]:
    """What to call each TTIR parameter that a Python parameter of this signature type becomes."""
    if isinstance(kind, tuple):
        for k, element in enumerate(kind):
            yield from _paths(f"{name}[{k}]", element)
    elif kind.startswith("tensordesc"):
        rank = kind.partition("[")[2].partition("]")[0].count(",") + 1
        yield name
        yield from (f"{name}.shape[{d}]" for d in range(rank))
        yield from (f"{name}.strides[{d}]" for d in range(rank))
    elif kind != "constexpr":
        yield name
