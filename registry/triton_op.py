"""Triton kernels as operands: `wrap_triton`, `triton_op`, and the higher-order ops of a kernel launch.

A launch, `kernel[grid](...)` or `wrap_triton(kernel)[grid](...)`, runs at once where nothing watches. Under a mode it
becomes a call of `triton_kernel_wrapper_mutation`, an op whose operands are a kernel (by index in `kernels`), a
resolved grid and the kernel's arguments by name, so that a trace shows the launch and a pass can see which buffers it
writes. What is no operand is a `LaunchForm` (by index in `forms`): constants, and how arguments that hold several
tensors or numbers (a tuple, a `TensorDescriptor`) are put together from operands such as `pair.0` or `desc.base`.

Plain launches come here by `registry/plain_launches.py`.
"""

from __future__ import annotations

import copy
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from opweave.registry import forking, interrupts
from opweave.registry.custom_op import CustomOpDef, P, R, define_custom_op
from opweave.registry.errors import (
    ArgumentError,
    CompileError,
    DTypeError,
    OpweaveError,
    OutOfRangeError,
    UnsupportedError,
)
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.hooks import Hook
from opweave.registry.keys import PYTHON_BIT, DispatchKey, state
from opweave.registry.launch_form import LaunchForm, taken_apart
from opweave.registry.loading import load_triton
from opweave.registry.op import OpOverload, ops
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, describe, from_numpy
from opweave.registry.triton.effects import configurations, constexpr_names, fixed_number, written_pointers

#: Three numbers; in a trace they may be symbolic.
Grid = tuple[Any, Any, Any]


class SideTable:
    """Kernels and the forms of launches, which a graph refers to by index."""

    def __init__(self) -> None:
        self._lock = forking.lock()
        self._items: list[Any] = []
        self._indices: dict[Any, int] = {}

    def add(self, item: Any, key: Any = None) -> int:
        """Index of the item; the same object, or one with an equal key, keeps its index."""
        key = id(item) if key is None else key
        with self._lock:
            index = self._indices.get(key)
            if index is None:
                index = self._indices[key] = len(self._items)
                self._items.append(item)
            return index

    def __getitem__(self, index: int) -> Any:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)


#: JITFunction, Autotuner or Heuristics objects that were launched under a mode.
kernels = SideTable()
#: `LaunchForm` objects; entry 0 has neither constants nor structured arguments.
forms = SideTable()
forms.add(LaunchForm(), LaunchForm().key)
#: Called once, before the first launch; the package supplies what chooses Triton's driver, which is a layer above.
prepare: Hook[[], None] = Hook()


def jit_function(kernel: Any) -> Any:
    """The `JITFunction` inside autotuners and heuristics.

    Raises
    ------
    ArgumentError
        If it is no Triton kernel.
    """
    load_triton()
    import triton

    inner = kernel
    while isinstance(inner, (triton.runtime.Autotuner, triton.runtime.autotuner.Heuristics)):
        inner = inner.fn
    if not isinstance(inner, triton.runtime.JITFunction):
        interpreted = type(inner).__name__ == "InterpretedFunction"
        raise ArgumentError(
            "wrap_triton: expected a kernel made by @triton.jit", got=type(kernel).__name__,
            hint="unset TRITON_INTERPRET: opweave runs kernels natively on the CPU" if interpreted
            else "@triton.jit\n      def kernel(x, n, BLOCK: tl.constexpr): ...",
        )  # fmt: skip
    return inner


def _configs(kernel: Any) -> list[dict[str, Any]]:
    """What each configuration of an autotuned kernel sets, in the order of `configurations`; else one empty one."""
    if not hasattr(kernel, "fn"):
        return [{}]
    inside = _configs(kernel.fn) if not is_jit(kernel) else [{}]
    own = [config.all_kwargs() for config in getattr(kernel, "configs", [])] or [{}]
    return [{**outer, **inner} for outer in own for inner in inside]


def tuner_of(kernel: Any) -> Any | None:
    """The autotuner of a kernel, which may stand behind heuristics; None of a kernel without.

    Raises
    ------
    UnsupportedError
        If the kernel has several.
    """
    found: list[Any] = []
    while not is_jit(kernel):
        kernel, found = kernel.fn, [*found, kernel] if hasattr(kernel, "configs") else found
    if len(found) > 1:
        raise UnsupportedError("the kernel is tuned by several autotuners")
    return found[0] if found else None


def labels_of(kernel: Any) -> list[str]:
    """What to call each configuration of a kernel: what it sets that not all of them set alike."""
    configs = _configs(kernel)
    names = dict.fromkeys(name for config in configs for name in config)
    varied = [name for name in names if any(config.get(name) != configs[0].get(name) for config in configs)]
    shown = [", ".join(f"{name}={config[name]!r}" for name in varied if name in config) for config in configs]
    alike = Counter(shown)
    return [text if text and alike[text] == 1 else f"configuration {i} {text}".rstrip() for i, text in enumerate(shown)]


def is_jit(kernel: Any) -> bool:
    return not hasattr(kernel, "configs") and not hasattr(kernel, "values")


def is_tuned(kernel: Any) -> bool:
    """Whether a kernel is autotuned, on the outside or inside of heuristics."""
    return hasattr(kernel, "configs") or (not is_jit(kernel) and is_tuned(kernel.fn))


def _is_pruned(kernel: Any) -> bool:
    """Whether a function of the user's chooses among configurations; it sees what was given by position."""
    own = getattr(kernel, "early_config_prune", None) or getattr(kernel, "perf_model", None)
    return bool(own) or (not is_jit(kernel) and _is_pruned(kernel.fn))


#: Options of a configuration that a launch may also be given.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def with_options(kernel: Any, options: dict[str, Any]) -> Any:
    """An autotuned kernel whose configurations all have these options instead of their own; others as they are.

    Parameters
    ----------
    kernel : JITFunction, Autotuner or Heuristics
        Its results of tuning and those of the kernel that is returned are kept apart.
    options : dict of str to object
        Of those that a `triton.Config` has, such as `num_warps`.
    """
    if not is_tuned(kernel):
        return kernel
    made: dict[Any, Any] = kernel.__dict__.setdefault("_opweave_with_options", {})
    key = tuple(sorted(options.items()))
    with _options_lock:
        if key not in made:
            own = copy.copy(kernel)
            own.__dict__.pop("_opweave_with_options", None)
            own.fn = with_options(kernel.fn, options)
            if hasattr(kernel, "configs"):
                own.cache = {}
                own.configs = [_with(config, options) for config in kernel.configs]
            made[key] = own
        return made[key]


def _with(config: Any, options: dict[str, Any]) -> Any:
    own = copy.copy(config)
    for name, value in options.items():
        setattr(own, name, value)
    return own


_options_lock = forking.lock()


class CompiledText:
    """A kernel that exists as text only; `kernel[grid](**arguments)` runs it. A launch may name one."""

    name: str
    #: TTIR, and what tells it from others.
    ttir: str
    digest: str
    #: Name and Triton type of each parameter, `constexpr` of those whose value is part of the text.
    parameters: tuple[tuple[str, str], ...]
    #: Names of the tensor arguments that it writes.
    writes: frozenset[str]

    def check_fixed(self, arguments: Mapping[str, Any]) -> None:
        """Refuse other values for the parameters whose value is part of the text."""
        raise NotImplementedError


class TritonKernelWrapper:
    """What `wrap_triton` returns: index it with a grid, call it with the kernel's arguments."""

    def __init__(self, kernel: Any, fused: bool = True):
        self.kernel = kernel
        self.fused = fused
        self.jit = jit_function(kernel)
        self.__name__ = self.jit.__name__

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *args, **kwargs: self.launch(grid, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise ArgumentError(
            f"wrap_triton: {self.__name__} needs a grid",
            got=f"{self.__name__}(...)",
            hint=f"wrap_triton({self.__name__})[grid](...)",
        )

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """What `kernel.run` does."""
        if warmup:
            return self.kernel.run(*args, grid=grid, warmup=True, **kwargs)
        return self.launch(grid, args, kwargs)

    def launch(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Launch, or record the launch where a mode is active."""
        now, arrays = not state.modes, False
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tensor):
                now = now and not value._keys & PYTHON_BIT
            elif isinstance(value, _NUMPY):
                arrays = True
        if arrays:
            args = tuple([_from_numpy(a) for a in args])
            kwargs = {name: _from_numpy(a) for name, a in kwargs.items()}
        if now:
            name, sizes = self.__name__, grid
            checked = _grid_sizes(name, grid) if not callable(grid) else lambda meta: _grid_sizes(name, sizes(meta))
            run(self.kernel, checked, args, kwargs)
            return
        self.record(grid, args, kwargs)

    def record(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call the op of a launch.

        Raises
        ------
        ArgumentError
            If the arguments are not those of the kernel.
        """
        options = {name: kwargs[name] for name in OPTIONS if name in kwargs and name not in self.jit.arg_names}
        kernel = with_options(self.kernel, options) if options else self.kernel
        if kernel is not self.kernel:
            kwargs = {name: value for name, value in kwargs.items() if name not in options}
        args = tuple(map(without_lists, args))
        kwargs = {name: without_lists(value) for name, value in kwargs.items()}
        names = self.jit.arg_names
        signature = f"def {self.__name__}({', '.join(names)})"
        if len(args) > len(names):
            raise ArgumentError(
                f"{self.__name__}: takes {len(names)} arguments", got=f"{len(args)} arguments", hint=signature
            )
        bound = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in bound:
                raise ArgumentError(f"{self.__name__}: argument {name!r} given twice", got=brief(value), hint=signature)
            bound[name] = value
        runtime = set(names) - constexpr_names(self.jit)
        bound = {k: _as_argument(_plain(v), k in runtime) for k, v in bound.items()}
        grids = _resolve_grids(kernel, self.jit, grid, bound)
        operands, form = taken_apart(bound, len(args) if _is_pruned(kernel) else 0, self.fused)
        triton_kernel_wrapper_mutation(
            kernel_idx=kernels.add(kernel), constant_args_idx=forms.add(form, form.key), grid=grids, kwargs=operands
        )


_NUMPY = (np.ndarray, np.generic)


def _from_numpy(value: Any) -> Any:
    """An array as a tensor on its memory, a NumPy number as Python's."""
    if isinstance(value, np.ndarray):
        return from_numpy(value)
    return value.item() if isinstance(value, np.generic) else value


def without_lists(value: Any) -> Any:
    """Tuples for lists, which Triton takes as arguments of kernels."""
    if type(value) in (list, tuple):
        return tuple(map(without_lists, value))
    return value


def brief(value: Any) -> str:
    """A short text of an argument."""
    text = describe(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _plain(value: Any) -> Any:
    """A `tl.constexpr` as the value it holds."""
    return value.value if type(value).__name__ == "constexpr" else value


def _as_argument(value: Any, runtime: bool) -> Any:
    """A number that a trace does not fix stays so only where the compiled kernel takes it as an argument."""
    if isinstance(value, Symbolic):
        return value if runtime and value.kind != "bool" else fixed_number(value)
    if isinstance(value, (list, tuple)):
        items = [_as_argument(item, runtime) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _resolve_grids(kernel: Any, jit: Any, grid: Any, bound: dict[str, Any]) -> list[Grid]:
    """The launch grid for every configuration, three numbers each, which may be symbolic."""
    defaults = {p.name: p.default for p in jit.params if p.has_default}
    grids: list[Grid] = []
    for _, values, _ in configurations(kernel, bound):
        meta = {**defaults, **values}
        missing = [name for name in jit.arg_names if name not in meta]
        if missing:
            raise ArgumentError(
                f"{jit.__name__}: missing arguments: {', '.join(missing)}", got=f"arguments: {', '.join(bound)}",
                hint=f"def {jit.__name__}({', '.join(jit.arg_names)})",
            )  # fmt: skip
        try:
            value: Any = grid(meta) if callable(grid) else grid
        except KeyError as error:
            raise ArgumentError(
                f"{jit.__name__}: the grid function asks for {error}, which is no argument of this launch",
                got=f"arguments: {', '.join(meta)}", hint=f"def {jit.__name__}({', '.join(jit.arg_names)})",
            ) from None  # fmt: skip
        grids.append(_three(_grid_sizes(jit.__name__, value)))
    return grids


def _three(sizes: Sequence[Any]) -> Grid:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _grid_sizes(kernel: str, value: Any) -> tuple[Any, ...]:
    """A grid as one to three integers; a symbolic one is looked at when the launch runs."""
    given = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if len(given) == 1 and type(given[0]) is int and 0 <= given[0] <= _MAX_GRID:
        return given
    if not 1 <= len(given) <= 3:
        raise ArgumentError(
            f"{kernel}: a grid has one to three sizes", got=brief(value), hint=f"{kernel}[(triton.cdiv(n, BLOCK),)]"
        )
    for size in given:
        if isinstance(size, Symbolic) and size.kind == "int":
            continue
        if isinstance(size, Tensor) or not hasattr(size, "__index__"):
            raise ArgumentError(
                f"{kernel}: grid sizes must be integers", got=brief(value),
                hint="the number of programs has to be known in Python: compute it from x.shape, with //",
            )  # fmt: skip
    sizes = tuple(size if isinstance(size, Symbolic) else operator.index(size) for size in given)
    if not all(isinstance(size, Symbolic) or 0 <= size <= _MAX_GRID for size in sizes):
        raise OutOfRangeError(
            f"{kernel}: a grid size is out of range", got=brief(value), hint=f"each is from 0 to {_MAX_GRID}"
        )
    return sizes


_MAX_GRID = 2**31 - 1


def run(kernel: Any, grid: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Launch a kernel now, on the device of its tensors.

    Raises
    ------
    DTypeError
        For a tensor whose element type Triton has not.
    ArgumentError
        If the arguments do not bind to the kernel's parameters.
    CompileError
        If Triton cannot compile the kernel for them.
    """
    if prepare.call is not None:
        prepare.call()
        prepare.call = None
    try:
        kernel[grid](*args, **kwargs)
    except OpweaveError:
        raise
    except Exception as error:
        interrupts.let_through(error)
        raise explain(kernel, args, kwargs, error) from error


def checked_grid(kernel: Any, grid: Any) -> tuple[Any, ...]:
    """The sizes of a kernel's grid; refused where they cannot be one."""
    return _grid_sizes(name_of(kernel), grid)


def explain(kernel: Any, args: Sequence[Any], kwargs: dict[str, Any], error: Exception) -> OpweaveError:
    """What went wrong in a launch, in terms of the arguments."""
    jit = jit_function(kernel)
    for value in (*args, *kwargs.values()):
        if isinstance(value, Tensor) and value._dtype.triton is None:
            return DTypeError(
                f"{jit.__name__}: Triton has no element type {value._dtype.name}",
                got=describe(value),
                hint="pass the real and imaginary parts as two tensors" if value.is_complex() else None,
            )
    bound = {**dict(zip(jit.arg_names, args, strict=False)), **kwargs}
    for name, value in bound.items():
        if isinstance(value, _NUMPY):
            return ArgumentError(
                f"{jit.__name__}: argument {name!r} is a NumPy array or number, which Triton does not take",
                got=f"{type(value).__name__}, {value.dtype}{list(value.shape)}",
                hint="pass opweave.from_numpy(array), which shares its memory; int(n) for a number",
            )  # fmt: skip
        if isinstance(value, str) and name not in constexpr_names(jit):
            return ArgumentError(
                f"{jit.__name__}: argument {name!r} is text, which only a tl.constexpr parameter takes",
                got=brief(value), hint=f"declare it in the kernel: {name}: tl.constexpr",
            )  # fmt: skip
    given = ", ".join([*map(brief, args), *(f"{name}={brief(value)}" for name, value in kwargs.items())])
    signature = f"def {jit.__name__}({', '.join(jit.arg_names)})"
    message = str(error).strip()
    if isinstance(error, TypeError) and "dynamic_func() " in message:
        return ArgumentError(f"{jit.__name__}: {message.partition('() ')[2]}", got=f"({given})", hint=signature)
    if isinstance(error, (TypeError, KeyError, OverflowError)):
        return ArgumentError(
            f"{jit.__name__}: Triton does not take these arguments: {message}", got=f"({given})", hint=signature
        )
    return CompileError(
        f"{jit.__name__}: Triton cannot compile it for these arguments: {message or type(error).__name__}",
        got=f"({given})", hint="sizes of blocks must be tl.constexpr parameters and powers of two",
    )  # fmt: skip


def call_of(
    kernel_idx: int, constant_args_idx: int, grid: list[Grid], kwargs: dict[str, Any]
) -> tuple[Any, list[Any], dict[str, Any]]:
    """The grid and the arguments, by position and by name, that Triton is given for a launch.

    Parameters
    ----------
    kernel_idx, constant_args_idx, grid, kwargs
        As of `triton_kernel_wrapper_mutation`.
    """
    kernel, form = kernels[kernel_idx], forms[constant_args_idx]
    # They may have been computed from sizes just now.
    grid = [_three(_grid_sizes(name_of(kernel), g)) for g in grid]
    args, named = form.call(getattr(kernel, "arg_names", ()), kwargs)
    return grid[0] if len(grid) == 1 else _grid_by_config(kernel, grid), args, named


def _launch(*, kernel_idx: int, constant_args_idx: int, grid: list[Grid], kwargs: dict[str, Any]) -> None:
    sizes, args, named = call_of(kernel_idx, constant_args_idx, grid, kwargs)
    run(kernels[kernel_idx], sizes, args, named)
    for name in launch_effects(kernel_idx, constant_args_idx, kwargs):
        kwargs[name]._bump()


def name_of(kernel: Any) -> str:
    """What messages call a kernel, autotuned or not."""
    return kernel.name if isinstance(kernel, CompiledText) else jit_function(kernel).__name__


def _grid_by_config(kernel: Any, grids: list[Grid]) -> Callable[[dict[str, Any]], Grid]:
    # A launch tells the kernel's parameters, and not options such as num_warps.
    names = set(jit_function(kernel).arg_names)
    configs = [{k: v for k, v in config.items() if k in names} for config in _configs(kernel)]

    def choose(meta: dict[str, Any]) -> Grid:
        for config, sizes in zip(configs, grids, strict=True):
            if all(meta.get(k) == v for k, v in config.items()):
                return sizes
        raise UnsupportedError(
            f"{jit_function(kernel).__name__}: the autotuner chose a configuration that was not there when traced"
        )

    return choose


def launch_effects(kernel_idx: int, constant_args_idx: int, kwargs: dict[str, Any]) -> frozenset[str]:
    """Names of the tensor operands that a launch writes, found from the kernel's TTIR."""
    kernel, form = kernels[kernel_idx], forms[constant_args_idx]
    if isinstance(kernel, CompiledText):
        return kernel.writes
    written = written_pointers(kernel, (), form.arguments(kwargs))
    operands = [operand for name in written for operand in form.operands_of(name)]
    return frozenset(name for name in operands if isinstance(kwargs.get(name), Tensor))


def _launch_functional(
    *,
    kernel_idx: int,
    constant_args_idx: int,
    grid: list[Grid],
    kwargs: dict[str, Any],
    tensors_to_clone: Sequence[str],
) -> dict[str, Tensor]:
    # One tensor given twice stays one tensor, whether the kernel writes it under both names or one.
    copies = {id(kwargs[name]): ops.aten.clone.default(kwargs[name]) for name in tensors_to_clone}
    fresh = {name: copies.get(id(value), value) for name, value in kwargs.items()}
    triton_kernel_wrapper_mutation(kernel_idx=kernel_idx, constant_args_idx=constant_args_idx, grid=grid, kwargs=fresh)
    return {name: fresh[name] for name in tensors_to_clone}


#: `(kernel_idx, constant_args_idx, grid, kwargs) -> None`: a launch; writes what `launch_effects` names.
triton_kernel_wrapper_mutation = HigherOrderOperator("triton_kernel_wrapper_mutation", _launch, is_mutable=True)

#: The same launch on copies: `tensors_to_clone` names what is written; returns the copies by name.
triton_kernel_wrapper_functional = HigherOrderOperator(
    "triton_kernel_wrapper_functional", _launch_functional, is_pure=True, writes_copies=True
)


def wrap_triton(triton_kernel: Any, /, *, fused: bool = True) -> TritonKernelWrapper:
    """Make a Triton kernel traceable.

    Parameters
    ----------
    triton_kernel : JITFunction, Autotuner or Heuristics
        A kernel made by `@triton.jit`, optionally autotuned.
    fused : bool
        Whether compiled launches may become one kernel with the pointwise ops around them.

    Returns
    -------
    TritonKernelWrapper
        Launch it as `wrap_triton(kernel)[grid](*args)`; tensors and NumPy arrays may be given for pointers.

    Examples
    --------
    >>> opweave.library.wrap_triton(add_one)[(4,)](x, out, x.numel(), BLOCK=256)  # doctest: +SKIP
    """
    if isinstance(triton_kernel, TritonKernelWrapper):
        return triton_kernel if triton_kernel.fused is fused else TritonKernelWrapper(triton_kernel.kernel, fused)
    return TritonKernelWrapper(triton_kernel, fused)


@overload
def triton_op(
    name: str, fn: Callable[P, R], /, *, mutates_args: str | Iterable[str], schema: str | None = None,
    tags: Sequence[str] = (),
) -> CustomOpDef[P, R]: ...  # fmt: skip
@overload
def triton_op(
    name: str, fn: None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None,
    tags: Sequence[str] = (),
) -> Callable[[Callable[P, R]], CustomOpDef[P, R]]: ...  # fmt: skip
def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, schema: str | None = None,
    tags: Sequence[str] = (),
) -> Any:  # fmt: skip
    """Declare an op whose body consists of Triton kernels and known ops; tracing goes through it.

    Parameters
    ----------
    name : str
        `"namespace::name"`.
    fn : callable, optional
        The body, with type hints; launch kernels in it through `wrap_triton`. Without it a decorator is returned.
    mutates_args : iterable of str or "unknown"
        Arguments that the body writes.
    schema : str, optional
        Arguments and returns, such as `"(Tensor x) -> Tensor"`; inferred from the type hints by default.

    Returns
    -------
    CustomOpDef
        The op, callable.

    Examples
    --------
    >>> @opweave.library.triton_op("docs::add_one", mutates_args=())  # doctest: +SKIP
    ... def plus_one(x: opweave.Tensor) -> opweave.Tensor:
    ...     add_one[(triton.cdiv(x.numel(), 256),)](x, out := opweave.empty_like(x), x.numel(), BLOCK=256)
    ...     return out
    """

    def declare(body: Callable[..., Any]) -> CustomOpDef[..., Any]:
        def complete(op: OpOverload, implementation: Callable[..., Any]) -> None:
            op.body = implementation
            op.register(DispatchKey.CompositeExplicitAutograd, implementation, override=True)
            op.register_fake_rule(implementation)

        return define_custom_op(name, body, complete, mutates_args=mutates_args, schema=schema, tags=tags)

    return declare if fn is None else declare(fn)
