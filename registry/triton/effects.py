"""Which pointer arguments a Triton kernel writes, read from its TTIR.

The kernel is lowered to TTIR exactly as Triton would for the same arguments (no driver and no GPU take part), and a
walk over the MLIR module collects how addresses flow:

    tt.store(p, v)               p is written
    q = tt.addptr(p, i)          q comes from p
    scf.for iter_args(a = p)     a comes from p and from whatever the body yields
    tt.call @f(p)                p is written if f writes its first parameter

An argument is written if an address that is written comes from it. The analysis does not know about order or
conditions, so it may name too many arguments, never too few: an op it has not heard of counts as a write to everything
it is given, and an address made from an integer or read from memory may point into any argument.
"""

from __future__ import annotations

import itertools
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from opweave.registry import forking, interrupts
from opweave.registry.errors import ArgumentError, CompileError
from opweave.registry.loading import load_triton, parsing
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor

# The first operand is the destination.
_WRITES = frozenset({
    "tt.store", "tt.atomic_rmw", "tt.atomic_cas",
    "tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_scatter",
})  # fmt: skip
# Results are values read from memory: they come from no address.
_READS = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather", "tt.atomic_rmw", "tt.atomic_cas"})
# Only the first operand is an address, the others are offsets and sizes.
_BASED = frozenset({"tt.addptr", "tt.advance", "tt.make_tensor_ptr", "tt.make_tensor_descriptor"})
# Results come from all operands and nothing is written.
_PURE = frozenset({
    "tt.splat", "tt.unsplat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.bitcast", "tt.ptr_to_int", "tt.trans",
    "tt.join", "tt.split", "tt.cat", "tt.gather", "tt.return", "tt.func", "tt.assert", "tt.print", "tt.reduce",
    "tt.reduce.return", "tt.scan", "tt.scan.return", "tt.dot", "tt.dot_scaled", "tt.make_range", "tt.get_program_id",
    "tt.get_num_programs", "tt.fp_to_fp", "tt.clampf", "tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui",
    "tt.histogram", "tt.int_to_ptr", "builtin.module", "gpu.barrier",
})  # fmt: skip
_PURE_DIALECTS = ("arith.", "math.", "scf.", "cf.", "ub.")

_cache: weakref.WeakKeyDictionary[Any, dict[Any, frozenset[str]]] = weakref.WeakKeyDictionary()
_lock = forking.short_lock()


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
        written |= also_written | _written_by(jit, values)
        wide = {name: _ANY_INT64 if _may_be_wide(value) else value for name, value in values.items()}
        if any(wide[name] is not value for name, value in values.items()):
            try:
                written |= _written_by(jit, wide)
            except CompileError:
                # It has no launch on sizes that large.
                continue
    return frozenset(written)


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
    return isinstance(value, Symbolic) and value.kind == "int" and _any_like(value) is _ANY_INT32


def _any_like(value: Any) -> Any:
    """A number of the type that a symbolic one has in a kernel, of which nothing else is assumed.

    An int is taken as 32 bits wide, unless the example is larger.
    """
    if value.kind == "bool":
        return fixed_number(value)
    if value.kind == "float":
        return 0.5
    hint = getattr(value, "hint", None)
    return _ANY_INT32 if hint is None or -(1 << 31) <= hint < 1 << 31 else _ANY_INT64


def _written_by(jit: Any, values: dict[str, Any]) -> frozenset[str]:
    """Names written by one JIT function, from the cache where arguments of the same types were asked about before."""
    constexprs = constexpr_names(jit)
    try:
        with _lock:
            known = _cache.setdefault(jit, {})
        key = (jit.cache_key, *[(name, _type_key(value, name in constexprs)) for name, value in values.items()])
        found = known.get(key)
        if found is None:
            with interrupts.deferred():
                found = known[key] = _read(jit, values)
    except Exception as error:  # Triton raises whatever its frontend stumbles over
        interrupts.let_through(error)
        raise CompileError(
            f"Triton kernel {jit.__name__}: cannot be lowered for these arguments",
            got=f"{type(error).__name__}: {error}",
            hint="launch it outside opweave.compile to see Triton's own report",
        ) from error  # fmt: skip
    return found


def _type_key(value: Any, constexpr: bool) -> Any:
    """What the TTIR may depend on: the type of a tensor, for integers what Triton specialises on, else the value."""
    if isinstance(value, Tensor):
        return value._dtype
    if isinstance(value, Symbolic):
        return _type_key(_any_like(value), constexpr)
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
        return _any_like(value)
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
        What for. Any target gives the same TTIR as far as writes go, so the default is one that needs no device.

    Returns
    -------
    source : ASTSource
    backend : BaseBackend
    options : object
    target : GPUTarget
    """
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend
    from triton.runtime.jit import create_function_from_signature

    target = target or GPUTarget("cuda", 90, 32)
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


def _read(jit: Any, values: dict[str, Any]) -> frozenset[str]:
    """Lower a kernel to TTIR and name the parameters that are written."""
    from triton._C.libtriton import ir

    source, backend, options, target = source_of(jit, values)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with parsing:
        module = source.make_ir(
            target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
        )
    pointers = [(name, flag) for name, kind in source.signature.items() for flag in _parameters(kind)]
    written, exact = _Flow(module).written_parameters(module.get_entry_func_name())
    return frozenset(name for i, (name, flag) in enumerate(pointers) if flag and (i in written or not exact))


def _parameters(kind: Any) -> list[bool]:
    """For each TTIR parameter that a Python parameter of this signature type becomes: whether it is an address."""
    if isinstance(kind, tuple):
        return [flag for element in kind for flag in _parameters(element)]
    if kind.startswith("tensordesc"):
        # The descriptor, then a size and a stride for each dimension of its block.
        return [True] + [False] * 2 * (kind.partition("[")[2].partition("]")[0].count(",") + 1)
    return [] if kind == "constexpr" else [kind.startswith("*")]


class _Flow:
    """How addresses flow through a module, as edges from a value to those it may come from."""

    def __init__(self, module: Any):
        self.sources: dict[int, list[int]] = defaultdict(list)
        self.roots: dict[str, set[int]] = defaultdict(set)
        self.calls: dict[str, list[tuple[str, list[int]]]] = defaultdict(list)
        self.parameters: dict[str, list[int]] = {}
        #: Addresses that may point anywhere.
        self.wild: set[int] = set()
        self._blocks: dict[int, dict[int, list[int]]] = {}
        self._parents: dict[int, _Operation] = {}
        operations: list[_Operation] = []

        def visit(op: Any) -> None:
            operations.append(_Operation(op, self._blocks))

        module.walk(visit)
        for op in operations:
            for region in op.regions:
                self._parents[region] = op
        for op in operations:
            if op.name == "tt.func":
                self.parameters[op.symbol] = self._entry(op.regions[0])
        for op in operations:
            self._add(op)

    def written_parameters(self, entry: str) -> tuple[set[int], bool]:
        """Indices of an entry function's written pointer parameters, and whether that is all."""
        written: dict[str, set[int]] = {name: set() for name in self.parameters}
        wild: set[str] = set()
        # A function's effects depend on those of the functions it calls, which may call each other.
        for _ in itertools.count():
            before = {name: len(found) for name, found in written.items()}, len(wild)
            for name, parameters in self.parameters.items():
                reached = self._reach(name, written)
                written[name] = {i for i, parameter in enumerate(parameters) if parameter in reached}
                if reached & self.wild or any(callee in wild for callee, _ in self.calls[name]):
                    wild.add(name)
            if before == ({name: len(found) for name, found in written.items()}, len(wild)):
                break
        return written[entry], entry not in wild

    def _reach(self, function: str, written: dict[str, set[int]]) -> set[int]:
        todo = list(self.roots[function])
        for callee, operands in self.calls[function]:
            # A callee without a body in this module may write to all it is given.
            todo += [operands[i] for i in written.get(callee, range(len(operands)))]
        reached: set[int] = set()
        while todo:
            value = todo.pop()
            if value not in reached:
                reached.add(value)
                todo += self.sources.get(value, ())
        return reached

    def _entry(self, region: int) -> list[int]:
        """Arguments of a region's first block."""
        return next(iter(self._blocks.get(region, {0: []}).values()))

    def _function(self, op: _Operation) -> str:
        while op.name != "tt.func":
            parent = self._parents.get(op.inside)
            if parent is None:
                return ""
            op = parent
        return op.symbol

    def _flow(self, targets: Iterable[int], sources: Iterable[int]) -> None:
        for target, source in zip(targets, sources, strict=False):
            self.sources[target].append(source)

    def _flow_all(self, targets: Iterable[int], sources: Sequence[int]) -> None:
        for target in targets:
            self.sources[target].extend(sources)

    def _add(self, op: _Operation) -> None:
        name = op.name
        if name == "tt.call":
            self.calls[self._function(op)].append((op.callee, op.operands))
            self._flow_all(op.results, op.operands)
        elif name.startswith("scf."):
            self._add_structured(op)
        elif name.startswith("cf."):
            # Which operand goes to which successor is not exposed: any may reach any block of the region.
            for arguments in self._blocks[op.inside].values():
                self._flow_all(arguments, op.operands)
        else:
            self._add_plain(op)

    def _add_structured(self, op: _Operation) -> None:
        parent = self._parents.get(op.inside)
        if op.name == "scf.for":
            initial = op.operands[3:]  # after lower bound, upper bound and step
            self._flow(op.results, initial)
            self._flow(self._entry(op.regions[0])[1:], initial)
        elif op.name == "scf.while":
            self._flow(self._entry(op.regions[0]), op.operands)
        elif op.name == "scf.condition" and parent is not None:
            self._flow(parent.results, op.operands[1:])
            self._flow(self._entry(parent.regions[1]), op.operands[1:])
        elif op.name == "scf.yield" and parent is not None:
            if parent.name == "scf.while":
                self._flow(self._entry(parent.regions[0]), op.operands)
            elif parent.name == "scf.for":
                self._flow(parent.results, op.operands)
                self._flow(self._entry(op.inside)[1:], op.operands)
            else:
                self._flow(parent.results, op.operands)
        elif op.name not in ("scf.if", "scf.condition", "scf.yield"):
            self._flow_all(op.results, op.operands)
            for region in op.regions:
                self._flow_all(self._entry(region), op.operands)

    def _add_plain(self, op: _Operation) -> None:
        roots = self.roots[self._function(op)]
        if op.name in _WRITES:
            roots.add(op.operands[0])
        elif not (op.name in _PURE or op.name in _READS or op.name in _BASED or op.name.startswith(_PURE_DIALECTS)):
            roots.update(op.operands)
        if op.name == "tt.int_to_ptr" or (op.name in _READS and op.gives_pointer):
            self.wild.update(op.results)
        if op.name in _READS:
            return
        self._flow_all(op.results, op.operands[:1] if op.name in _BASED else op.operands)


class _Operation:
    """What the analysis needs of an MLIR operation, with values, blocks and regions as their ids."""

    __slots__ = ("name", "operands", "results", "regions", "inside", "callee", "symbol", "gives_pointer")

    def __init__(self, op: Any, blocks: dict[int, dict[int, list[int]]]):
        self.name: str = op.get_name()
        self.operands: list[int] = [op.get_operand(i).id() for i in range(op.get_num_operands())]
        self.results: list[int] = [op.get_result(i).id() for i in range(op.get_num_results())]
        self.regions: list[int] = [op.get_region(i).id() for i in range(op.get_num_regions())]
        self.callee: str = (op.get_flat_symbol_ref_attr("callee") or "").lstrip("@") if self.name == "tt.call" else ""
        self.symbol: str = op.get_str_attr("sym_name") or "" if self.name == "tt.func" else ""
        self.gives_pointer = (
            self.name in _READS and bool(self.results) and "!tt.ptr" in str(op.get_result(0).get_type())
        )
        block = op.get_block()
        region = block.get_parent() if block is not None else None
        self.inside: int = region.id() if region is not None else 0
        if block is not None and region is not None and block.id() not in blocks.setdefault(self.inside, {}):
            arguments = [block.get_argument(i).id() for i in range(block.get_num_arguments())]
            blocks[self.inside][block.id()] = arguments
