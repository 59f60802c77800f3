"""Compiling Triton kernels for a device that need not be there.

    kernel = compile_kernel(add, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 1024}, target="cpu")
    cubin = compile_kernel(add, ..., target="sm_90").asm["cubin"]

Results come from Triton's disk cache where it has them intact. Nothing here asks for the current device, so this works
on a machine without a GPU, and in a process that launches kernels meanwhile.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import triton.compiler
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel
from triton.compiler.errors import CompilationError
from triton.runtime.jit import JITFunction

from opweave.codegen.triton_cpu.compiler import CPUBackend
from opweave.codegen.triton_cpu.driver import activate, use
from opweave.codegen.triton_cpu.host import host_target
from opweave.codegen.triton_cpu.refusal import UnsupportedTritonOp
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import ArgumentError, CompileError, OpweaveError, Site, UnsupportedError
from opweave.registry.interrupts import deferred, let_through
from opweave.registry.loading import parsing
from opweave.registry.triton.modules import first_ir, in_file, read, shared_context

#: Which says little of its types.
_triton: Any = triton.compiler
_SM = re.compile(r"sm_?(\d+)[af]?")
_DIVISIBILITY = "tt.divisibility"


def compile_kernel(
    fn: Any,
    signature: Mapping[str, Any] | None = None,
    constexprs: Mapping[Any, Any] | None = None,
    attrs: Mapping[Any, Any] | None = None,
    *,
    target: str | GPUTarget = "cpu",
    options: Mapping[str, Any] | None = None,
) -> CompiledKernel:
    """Compile a kernel.

    Parameters
    ----------
    fn : JITFunction or ASTSource
        The `@triton.jit` function; or a source that says everything, when the next three are left out.
    signature : mapping of str to str
        Triton type of each run-time parameter (`*fp32`, `i32`, `fp32`). Parameters that are left out must be in
        `constexprs`.
    constexprs : mapping, optional
        Value of each constant parameter, by name (or by Triton's position path).
    attrs : mapping, optional
        What is known of parameters, by name or position: a number they are divisible by (16), or Triton's form
        `[["tt.divisibility", 16]]`.
    target : str or GPUTarget
        `"cpu"`, `"sm_90"`, or any of Triton's targets.
    options : mapping, optional
        Backend options (`num_warps`, `num_stages`, ...).

    Returns
    -------
    triton.compiler.CompiledKernel
        `asm` holds every stage: `asm["obj"]` for the CPU, `asm["cubin"]` for CUDA.

    Raises
    ------
    CompileError
        If the kernel does not compile; it names the kernel and its source line.
    UnsupportedError
        If the kernel needs something that the CPU backend does not have.
    """
    compile_target = parse_target(target)
    activate()
    with parsing, deferred(), use(compile_target):
        source = fn if isinstance(fn, ASTSource) else function_source(fn, signature, constexprs, attrs)
        try:
            return _triton.compile(source, target=compile_target, options=dict(options or {}))
        except UnsupportedTritonOp as error:
            raise _explained(error, source, compile_target) from error
        except OpweaveError:
            raise
        except Exception as error:
            let_through(error)
            raise _explained(error, source, compile_target) from error


def compile_text(text: str, options: Mapping[str, Any] | None = None, *, target: str | GPUTarget) -> CompiledKernel:
    """Compile TTIR, as Triton's passes for the target have left it.

    Parameters
    ----------
    text : str
        A module with one public function.
    options : mapping, optional
        Backend options.
    target : str or GPUTarget
        As for `compile_kernel`.

    Raises
    ------
    CompileError
        If it does not compile.
    """
    compile_target = parse_target(target)
    activate()
    with parsing, deferred(), use(compile_target), in_file(text) as path:
        try:
            return _triton.compile(path, target=compile_target, options=dict(options or {}))
        except OpweaveError:
            raise
        except Exception as error:
            let_through(error)
            raise _not_compiled(error) from error


@dataclass(frozen=True)
class LoweredKernel:
    """A kernel for the CPU, up to what LLVM makes of it.

    Attributes
    ----------
    name : str
        Its symbol.
    signature : mapping
        Parameter name (or position) to Triton type.
    metadata : SimpleNamespace
        What `CompiledKernel.metadata` says of it.
    finish : callable
        Makes its object code; any thread may do that.
    """

    name: str
    signature: Mapping[Any, Any]
    metadata: SimpleNamespace
    finish: Callable[[], bytes]


def lower_kernel(source: ASTSource | str, options: Mapping[str, Any] | None = None) -> LoweredKernel:
    """What `compile_kernel` and `compile_text` do for the CPU, but for the last stage, and without Triton's cache.

    Parameters
    ----------
    source : ASTSource or str
        Of a function, from `function_source`; or TTIR as Triton's passes have left it.
    options : mapping, optional
        Backend options.

    Raises
    ------
    CompileError, UnsupportedError
        As there.
    """
    activate()
    target = host_target()
    with parsing, deferred(), use(target):
        try:
            backend: Any = _triton.compiler.make_backend(target)
            parsed = backend.parse_options(dict(options or {}))
            stages: dict[str, Callable[[Any, Any], Any]] = {}
            backend.add_stages(stages, parsed)
            metadata: dict[str, Any] = {"target": target, **vars(parsed)}
            signature: Any
            if isinstance(source, str):
                module: Any = read(source, shared_context(backend))
                types: Sequence[Any] = module.get_function_signature(module.get_function(module.get_entry_func_name()))
                signature = dict(enumerate(types))
            else:
                module = stages["ttir"](_as_module(source, backend, parsed), metadata)
                signature = cast("Any", source).signature
            text = stages["llir"](module, metadata)
        except OpweaveError as error:
            if isinstance(error, UnsupportedTritonOp) and not isinstance(source, str):
                raise _explained(error, source, target) from error
            raise
        except Exception as error:
            let_through(error)
            if isinstance(source, str):
                raise _not_compiled(error) from error
            raise _explained(error, source, target) from error
    return LoweredKernel(
        metadata["name"], signature, SimpleNamespace(**metadata), functools.partial(stages["obj"], text, metadata)
    )


def _as_module(source: ASTSource, backend: Any, parsed: Any) -> Any:
    """A kernel as Triton's frontend leaves it."""
    return first_ir(source, backend, backend.target, parsed, shared_context(backend))


def _not_compiled(error: Exception) -> CompileError:
    return CompileError("TTIR cannot be compiled", got=f"{type(error).__name__}: {error}")


def parse_target(target: object) -> GPUTarget:
    """A target from its short form: `cpu` or `sm_90`.

    Raises
    ------
    ArgumentError
        If there is no such target.
    """
    if isinstance(target, GPUTarget):
        return target
    if target == "cpu":
        return host_target()
    match = _SM.fullmatch(target) if isinstance(target, str) else None
    if match is None:
        raise ArgumentError("compile_kernel: unknown target", got=repr(target), hint="'cpu', 'sm_90', or a GPUTarget")
    return GPUTarget("cuda", int(match[1]), 32)


def function_source(fn: Any, signature: Any, constexprs: Any = None, attrs: Any = None) -> ASTSource:
    """What Triton compiles of a function; see `compile_kernel`."""
    if not isinstance(fn, JITFunction):
        raise ArgumentError(
            "compile_kernel: expected a @triton.jit function",
            got=f"{fn!r} ({type(fn).__name__})",
            hint="of an autotuned kernel, pass `.fn` and one configuration's values",
        )
    return _source_of(fn, constexprs or {}, signature or {}, attrs or {})


def as_ttir(source: ASTSource, options: Mapping[str, Any]) -> str:
    """A kernel after Triton's own passes, for a CPU; the same for all of them.

    Raises
    ------
    CompileError
        If the kernel does not compile; it names the kernel and its source line.
    """
    activate()
    target = host_target()
    with parsing, deferred(), use(target):
        try:
            backend: Any = _triton.compiler.make_backend(target)
            parsed = backend.parse_options(dict(options))
            return CPUBackend.make_ttir(_as_module(source, backend, parsed)).str_nodebug()
        except Exception as error:
            let_through(error)
            raise _explained(error, source, target) from error


def _source_of(
    fn: Any, constexprs: Mapping[Any, Any], signature: Mapping[str, Any], attrs: Mapping[Any, Any]
) -> ASTSource:
    constants = {_path(fn, key): value for key, value in constexprs.items()}
    given = dict(signature)
    unknown = [name for name in given if name not in fn.arg_names]
    if unknown:
        raise ArgumentError(
            f"{fn.__name__}: no such parameters", got=", ".join(unknown), hint="it has " + ", ".join(fn.arg_names)
        )
    types: dict[str, Any] = {}
    for position, name in enumerate(fn.arg_names):
        if (position,) in constants:
            types[name] = "constexpr"
        elif name in given:
            types[name] = given[name]
        elif fn.params[position].has_default:
            types[name] = "constexpr"
            constants[(position,)] = fn.params[position].default
        else:
            raise ArgumentError(
                f"{fn.__name__}: nothing is said about parameter {name!r}",
                hint="give its type in `signature` or its value in `constexprs`",
            )
    known = {_path(fn, key): _attributes(value) for key, value in attrs.items()}
    return ASTSource(fn, types, constants, known)


def _path(fn: Any, key: Any) -> tuple[int, ...]:
    """Triton names a parameter by its position, and an element of a tuple by the positions that lead there."""
    if isinstance(key, str):
        if key not in fn.arg_names:
            raise ArgumentError(f"{fn.__name__}: no such parameter", got=key, hint="it has " + ", ".join(fn.arg_names))
        return (fn.arg_names.index(key),)
    return (key,) if isinstance(key, int) else tuple(key)


def _attributes(value: Any) -> list[list[Any]]:
    return [[_DIVISIBILITY, value]] if isinstance(value, int) else [list(pair) for pair in value]


def _explained(error: Exception, source: ASTSource, target: GPUTarget) -> OpweaveError:
    """The error as opweave reports it: which kernel, for which target, and at which line of whose source."""
    fn: Any = source.fn
    name: str = fn.__name__
    what = f"{name}: cannot be compiled for {target.backend}:{target.arch}"
    if isinstance(error, UnsupportedTritonOp):
        return UnsupportedError(what, got=str(error), at=_site(fn, None))
    line = _line(error)
    innermost: BaseException = error
    while innermost.__cause__ is not None:
        innermost = innermost.__cause__
    got = f"{type(innermost).__name__}: {innermost}"
    located = [cause for cause in _causes(error) if isinstance(cause, CompilationError) and _line(cause) is not None]
    if located:
        deepest = located[-1]
        statement = (deepest.src or "").splitlines()[(_line(deepest) or 1) - 1 :][:1]
        message = deepest.error_message or str(innermost)
        got = f"{message}, at `{statement[0].strip()}`" if statement else message
    return CompileError(what, got=got, at=_site(fn, line))


def _causes(error: BaseException | None) -> Iterable[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _line(error: BaseException) -> int | None:
    """The line a compilation error stands at, counted from the `def`; None for other errors."""
    return getattr(getattr(error, "node", None), "lineno", None) if isinstance(error, CompilationError) else None


def _site(fn: Any, line: int | None) -> Site:
    """The place of a line of the kernel, counted from its `def`; of the `def` itself where no line is known."""
    function: Callable[..., Any] = fn.fn
    decorators = next((i for i, text in enumerate(fn.raw_src) if text.lstrip().startswith("def ")), 0)
    first = fn.starting_line_number + decorators
    return Site(function.__code__.co_filename, first + (line or 1) - 1, function.__name__)
