"""`opweave.compile`: checks what a user asks for. The compiler (`opweave.pipeline`) loads when it has to work."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar, overload

from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.registry.loading import load_heavy
from opweave.runtime.compiled import CompiledFunction
from opweave.runtime.modules import is_module
from opweave.runtime.request import Program

if TYPE_CHECKING:
    from opweave.nn.modules.module import Module
    from opweave.passes.partition import Partition
    from opweave.runtime.entry import Entry
    from opweave.tracer.graph import Graph
    from opweave.tracer.graph_module import GraphModule

    ModuleT = TypeVar("ModuleT", bound=Module)
    #: A name, or what makes a function of a traced graph.
    Backend = str | Callable[[GraphModule, list[Any]], Callable[..., Any]]

P = ParamSpec("P")
R = TypeVar("R")


class Options(TypedDict, total=False):
    """What `compile` takes as `options`."""

    recompile_limit: int
    fuse_launches: bool
    memory_budget: float


@overload
def compile(
    fn: ModuleT,
    /,
    *,
    fullgraph: bool | None = None,
    dynamic: bool | None = None,
    backend: Backend = "opweave",
    mode: str | None = None,
    options: Options | dict[str, Any] | None = None,
) -> ModuleT: ...
@overload
def compile(
    fn: Callable[P, R],
    /,
    *,
    fullgraph: bool | None = None,
    dynamic: bool | None = None,
    backend: Backend = "opweave",
    mode: str | None = None,
    options: Options | dict[str, Any] | None = None,
) -> CompiledFunction[P, R]: ...
@overload
def compile(
    fn: None = None,
    /,
    *,
    fullgraph: bool | None = None,
    dynamic: bool | None = None,
    backend: Backend = "opweave",
    mode: str | None = None,
    options: Options | dict[str, Any] | None = None,
) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...
def compile(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    fullgraph: bool | None = None,
    dynamic: bool | None = None,
    backend: Backend = "opweave",
    mode: str | None = None,
    options: Options | dict[str, Any] | None = None,
) -> Any:
    """Compile a function: trace it when called, fuse its ops into kernels, and run those from then on.

    Parameters
    ----------
    fn : callable, optional
        A function, method, module or callable object on tensors. Arguments and results may be nested in tuples, lists,
        dicts, dataclasses and registered pytree nodes; Python values count as constants. Without it a decorator is
        returned.
    fullgraph : bool, optional
        What to do with a function that is no single graph: it prints, branches on data, asks for a number, changes
        Python state, or reads what cannot be guarded. True: raise, naming the line. None and False: run it in parts.
        Its Python runs at each call; the ops between two such lines are compiled together (`runtime.parts`), and
        `explain` lists the lines.
    dynamic : bool, optional
        Whether one version serves many sizes of the arguments. True: all sizes are left open from the start. None: a
        size is fixed until a call brings another one, from then on it is open. False: a version for each size. See
        `mark_dynamic` and `mark_static`. Sizes 0 and 1 are fixed in any case.
    backend : str or callable
        ``"opweave"``; ``"eager"`` runs the graph op by op; or a function ``(GraphModule, example_inputs) -> callable``.
    mode : str, optional
        Only ``"default"``.
    options : dict, optional
        ``recompile_limit`` (8): compiled versions of the function before further ones run uncompiled, with a warning.
        ``fuse_launches`` (True): launches of users' Triton kernels take in the pointwise kernels next to them.
        ``memory_budget`` (1.0): of the bytes that are saved for the backward by default, the part that may be; what is
        not saved is computed again.

    Returns
    -------
    CompiledFunction
        Called like `fn`. Of an `nn.Module` a module that shares its parameters, buffers and mode.

    Raises
    ------
    UnsupportedError
        For an option that does nothing here; when called, with `fullgraph`, for what no graph can hold.

    Notes
    -----
    Where calls are recorded and an input requires grad, the results do too, and `backward` goes through the compiled
    function (`runtime.gradients`); its first derivative only. A version belongs to the grad mode, inference mode,
    autocast settings and default dtype that it was compiled in.

    Examples
    --------
    >>> @opweave.compile
    ... def f(x, bias):
    ...     return (x + bias).relu()
    """
    if dynamic is not None and type(dynamic) is not bool:
        raise ArgumentError("compile: dynamic must be True, False or None", got=repr(dynamic))
    if fullgraph is not None and type(fullgraph) is not bool:
        raise ArgumentError("compile: fullgraph must be True, False or None", got=repr(fullgraph))
    if mode not in (None, "default"):
        raise UnsupportedError(f"compile: mode={mode!r} is not available", got=f"mode={mode!r}", hint="leave it out")
    if options is not None and not isinstance(options, dict):
        raise ArgumentError("compile: options must be a dict", got=repr(options), hint="{'recompile_limit': 8}")
    settings: dict[str, Any] = dict(options or {})
    limit, budget = settings.pop("recompile_limit", 8), settings.pop("memory_budget", 1.0)
    fuse_launches = settings.pop("fuse_launches", True)
    if settings:
        raise UnsupportedError(
            f"compile: unknown options {', '.join(map(repr, settings))}",
            got=f"options={options!r}",
            hint="known: 'fuse_launches', 'memory_budget', 'recompile_limit'",
        )
    if type(fuse_launches) is not bool:
        raise ArgumentError("compile: fuse_launches must be True or False", got=repr(fuse_launches))
    if type(limit) is not int or limit < 0:
        raise ArgumentError(
            "compile: recompile_limit must be a number of versions", got=repr(limit), hint="{'recompile_limit': 8}"
        )
    if not isinstance(budget, (int, float)) or isinstance(budget, bool) or not 0 <= budget <= 1:
        raise ArgumentError(
            "compile: memory_budget must be a number from 0 to 1", got=repr(budget), hint="{'memory_budget': 0.5}"
        )
    build, own = _backend(backend)
    if own and not fuse_launches:
        build = functools.partial(build, fuse_launches=False)
    halves = functools.partial(_split, whole=own, budget=float(budget))
    # What is saved within a budget may be chosen in another way by another process.
    known = f"fuse_launches={fuse_launches}" if own and budget == 1 else None

    def compiled(function: Any) -> CompiledFunction[..., Any]:
        return CompiledFunction(
            function, build, split=halves, limit=limit, dynamic=dynamic, fullgraph=bool(fullgraph), settings=known,
            told=_reported if own and os.environ.get("OPWEAVE_REPORT") else None,
        )  # fmt: skip

    def wrap(function: Any) -> Any:
        if not callable(function):
            raise UnsupportedError(
                "compile: expected a function",
                got=f"{function!r} ({type(function).__name__})",
                hint="opweave.compile(f), or @opweave.compile above its definition",
            )
        if is_module(type(function)):
            return load_heavy("opweave.nn.compiled").CompiledModule(function, compiled)
        return compiled(function)

    return wrap if fn is None else wrap(fn)


def _compiled(module: GraphModule, name: str, **settings: Any) -> Program:
    return load_heavy("opweave.pipeline").compile_graph(module, name, **settings)


def _eagerly(module: GraphModule, name: str) -> Program:
    return load_heavy("opweave.pipeline").run_eagerly(module, name)


def _handed_on(backend: Callable[..., Any], module: GraphModule, name: str) -> Program:
    return load_heavy("opweave.pipeline").hand_on(backend, module)


def _reported(
    compiled: CompiledFunction[..., Any],
    entry: Entry,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    ran: bool = False,
) -> Any:
    return load_heavy("opweave.reporting.folder").call_and_report(compiled, entry, args, kwargs, ran=ran)


def _split(joint: Graph, results: int, *, whole: bool, budget: float) -> Partition:
    pipeline = load_heavy("opweave.pipeline")
    names = pipeline.JOINT_PASSES if whole else ("functionalize", "dce")
    return pipeline.split(joint, results, names, budget=budget, bundled=whole)


_BACKENDS: dict[str, Callable[..., Program]] = {"opweave": _compiled, "inductor": _compiled, "eager": _eagerly}


def _backend(backend: Any) -> tuple[Callable[..., Program], bool]:
    """What makes a program of a graph, and whether that is the compiler."""
    if isinstance(backend, str) or not callable(backend):
        if not isinstance(backend, str) or backend not in _BACKENDS:
            raise UnsupportedError(
                f"compile: no backend named {backend!r}",
                got=f"backend={backend!r}",
                hint=f"one of {', '.join(map(repr, _BACKENDS))}, or a function",
            )
        return _BACKENDS[backend], _BACKENDS[backend] is _compiled
    return functools.partial(_handed_on, backend), False
