"""From exported programs to artifacts that need no Python: `opweave.export.compile`.

run_decompositions     convolutions become products
lift                   the program's tensors become constants, results memory of the caller
lower                  the passes of the compiler                      (opweave.pipeline)
host_program           what happens at a call                          (codegen.wrapper)
record, compile_module a table of it, and code                         (codegen.artifact)
"""

from __future__ import annotations

import hashlib
import io
import operator
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import optree

from opweave.codegen import blas
from opweave.codegen.artifact import convolution, copies, description, entries, linking, module, products
from opweave.codegen.artifact.entries import Entry
from opweave.codegen.artifact.kernels import Compiled, compiled
from opweave.codegen.artifact.tensors import Dynamic, Weights
from opweave.codegen.host.steps import Product
from opweave.codegen.kernel import KernelSource
from opweave.codegen.native import llvm
from opweave.codegen.native.llvm import Host
from opweave.codegen.native.sealed import seal
from opweave.codegen.wrapper import host_program
from opweave.passes.functionalize import written_inputs
from opweave.pipeline import lower
from opweave.registry.dataclass import dataclass
from opweave.registry.device import cpu
from opweave.registry.errors import ArgumentError, DeviceError, UnsupportedError
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.aliasing import is_view
from opweave.tracer.declared import declared, is_layout
from opweave.tracer.emission import Emitter
from opweave.tracer.export.archive import replace_file
from opweave.tracer.export.program import ExportedProgram
from opweave.tracer.export.serialize import load, save
from opweave.tracer.export.signature import ConstantArgument
from opweave.tracer.export.sizes import demands
from opweave.tracer.graph import Graph, Node

_NAME = re.compile(r"[A-Za-z_]\w*")
_SUFFIXES = (".so", ".o")


@dataclass(frozen=True)
class Compilation:
    """What `compile` wrote.

    Attributes
    ----------
    files : tuple of Path
        All files.
    target : str
        What for.
    nbytes : int
        Of the object file, without weights beside it.
    libraries : tuple of str
        What it needs besides libc and libm.
    operators : tuple of str
        Custom operators that it calls.
    symbols : tuple of str
        What libc, libm and those libraries must define.
    """

    files: tuple[Path, ...]
    target: str
    nbytes: int
    libraries: tuple[str, ...]
    operators: tuple[str, ...]
    symbols: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(str(path) for path in self.files)
        lines = [f"compiled for {self.target}, {self.nbytes / 1024:.0f} KiB: {names}"]
        if self.libraries:
            lines.append(f"  needs the libraries {', '.join(self.libraries)}")
        if self.operators:
            lines.append(f"  needs C functions for {', '.join(self.operators)}: their declarations are in the header")
        return "\n".join(lines)


def compile(
    program: ExportedProgram | Mapping[str, ExportedProgram],
    path: str | Path,
    *,
    target: str = "host",
    name: str | None = None,
    weights: str = "inside",
    products: str = "triton",
) -> Compilation:
    """Compile exported programs to native code that runs without Python.

    Parameters
    ----------
    program : ExportedProgram or mapping of str to ExportedProgram
        One, or several entry points by name; they share tensors.
    path : str or Path
        Where to: `model.so` is linked, and `opweave.load_compiled` loads it; `model.o` is to be linked by the user. A C
        header is written beside it, and so is a description in JSON.
    target : {"host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}
        The processor.
    name : str, optional
        What the C functions begin with; by default the file's name.
    weights : {"inside", "beside"}
        Whether the program's tensors are part of the file, or a file of their own that is mapped: `model.weights`.
    products : {"triton", "blas"}
        Who multiplies matrices: kernels of the artifact, which then needs nothing but libc and libm; or CBLAS
        (`cblas_sgemm`, `cblas_dgemm`), which it is to be linked with. Half types and int8 are multiplied by code of the
        artifact either way.

    Returns
    -------
    Compilation
        What was written.

    Raises
    ------
    UnsupportedError
        If the program does what cannot run without Python, or if there is no linker.

    Examples
    --------
    >>> program = opweave.export.export(lambda x: x.sin() + 1, (opweave.ones(3),))
    >>> opweave.export.compile(program, "f.so")  # doctest: +SKIP
    """
    programs, path = _programs(program), Path(path)
    for what, value, known in (("weights", weights, ("inside", "beside")), ("products", products, ("triton", "blas"))):
        if value not in known:
            raise ArgumentError(f"compile: unknown {what}", got=repr(value), hint=" or ".join(map(repr, known)))
    if path.suffix not in _SUFFIXES:
        raise ArgumentError("compile: the file must end with .so or .o", got=str(path))
    name = name or path.name.removesuffix(path.suffix)
    if not _NAME.fullmatch(name) or not name.isascii():
        raise ArgumentError("compile: the name is none of C's", got=repr(name), hint="compile(..., name='model')")
    machine = llvm.machine(target)
    made = _Maker(name, machine, products == "blas").make(programs)
    brought, inside = made.weights.data, weights == "inside"
    operators = tuple(dict.fromkeys(op for entry in made.entries for op in entry.operators))
    libraries = ("cblas",) if made.calls_blas else ()
    about = {"bytes": len(brought), "inside": inside, "sha256": hashlib.sha256(brought).hexdigest()}
    text = description.describe(
        name, made.entries, [_structure(p) for p in programs.values()], machine, target, operators, about, libraries
    )
    image, wanted = module.compile_module(
        module.Artifact(
            name,
            tuple(made.entries),
            tuple(made.kernels.values()),
            tuple(made.messages),
            operators,
            brought,
            inside,
            text,
            machine,
            made.calls_blas,
        )
    )
    if path.suffix == ".so":
        image = seal(linking.shared_object(image, name, machine, []))
    files = {path: image, path.with_suffix(".json"): text.encode()}
    files[path.with_suffix(".h")] = description.header(name, target, made.entries, operators, inside).encode()
    if brought and not inside:
        files[path.with_suffix(".weights")] = module.weights_head(brought) + brought
    for file, data in files.items():
        replace_file(file, data)
    return Compilation(tuple(files), target, len(image), libraries, operators, wanted)


def _programs(program: Any) -> dict[str, ExportedProgram]:
    programs: dict[str, Any] = dict(program) if isinstance(program, Mapping) else {"forward": program}
    for entry, one in programs.items():
        if not isinstance(one, ExportedProgram):
            raise ArgumentError(
                "compile: expected an exported program", got=describe(one), hint="opweave.export.export(f, (x,))"
            )
        if not isinstance(entry, str) or not _NAME.fullmatch(entry) or not entry.isascii():
            raise ArgumentError("compile: the name of an entry is none of C's", got=repr(entry))
        if one.limits is not None:
            raise UnsupportedError("compile: a stranger's program cannot be compiled", got=repr(one))
    if not programs:
        raise ArgumentError("compile: there is no program", got=repr(program))
    return programs


def _structure(program: ExportedProgram) -> dict[str, Any]:
    """How arguments and results are nested: numbers are those of tensors; None where JSON cannot say it."""
    leaves: list[Any] = []
    tensors = 0
    for spec in program.graph_signature.input_specs:
        if spec.target is None and isinstance(spec.arg, ConstantArgument):
            leaves.append({"constant": spec.arg.value})
        elif spec.target is None:
            leaves.append(tensors)
            tensors += 1
    results = list(range(program.out_spec.num_leaves))
    return {
        "arguments": _nested(optree.tree_unflatten(program.in_spec, leaves)),
        "returns": _nested(optree.tree_unflatten(program.out_spec, results)),
    }


def _nested(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is dict and set(value) == {"constant"}:
        return {"constant": value["constant"]} if type(value["constant"]) in _PLAIN else {"constant": None}
    if type(value) in (tuple, list):
        return {type(value).__name__: [*map(_nested, value)]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: _nested(item) for key, item in value.items()}}
    return {"other": type(value).__name__}


_PLAIN = (bool, int, float, str, type(None))


class _Maker:
    """Entries that share kernels and weights."""

    def __init__(self, name: str, machine: Host, by_blas: bool) -> None:
        self.name, self.machine, self.blas = name, machine, by_blas
        self.weights = Weights()
        self.messages: list[str] = []
        self.kernels: dict[Any, Compiled] = {}
        self.entries: list[Entry] = []
        self.calls_blas = False

    def make(self, programs: Mapping[str, ExportedProgram]) -> _Maker:
        for name, program in programs.items():
            self.entries.append(self._entry(name, program))
        return self

    def _kernel(self, kernel: KernelSource, apart: bool) -> Compiled:
        """A kernel's code, under a name of its own."""
        constants = tuple(sorted(kernel.constexprs.items()))
        key = (kernel.source, *kernel.signature.items(), constants, kernel.aligned, kernel.options, apart)
        found = self.kernels.get(key)
        if found is None:
            made = compiled(kernel, self.machine, apart=apart)
            own = f"{self.name}.{len(self.kernels)}.{made.name}"
            text = re.sub(rf"@{re.escape(made.name)}(?=[(\s])", f"@{own}", made.lowered.llvm_ir)
            found = self.kernels[key] = replace(made, name=own, lowered=replace(made.lowered, name=own, llvm_ir=text))
        return found

    def _entry(self, name: str, program: ExportedProgram) -> Entry:
        brought = program.tensors
        program = _own(program)
        program = program.run_decompositions(convolution.table(program.graph))
        env = program.shape_env
        if env is not None:
            env.frozen = False  # what the passes decide is checked at each call: `demands`, below
            env.raise_lows(1)
        graph = _flat(program, name)
        graph = lower(graph)
        written = written_inputs(graph)
        multiplies = blas.multiplies if self.blas else products.multiplies
        host = host_program(graph, name, cpu, grouped=False, segmented=False, multiplies=multiplies)
        if not self.blas:
            host = products.run(host)
        host = copies.run(host)
        self.calls_blas |= self.blas and any(isinstance(step, Product) and step.factors is None for step in host.steps)
        inputs = [spec for spec in program.graph_signature.input_specs if spec.target is None]
        kept = [s for s in inputs if not isinstance(s.arg, ConstantArgument)]
        return entries.record(
            name,
            host,
            [spec.path for spec in kept],
            written,
            _dynamic(env),
            brought,
            self.weights,
            self.messages,
            self._kernel,
        )


def _own(program: ExportedProgram) -> ExportedProgram:
    """A copy, with kernels as text: what the passes decide on sizes is not the original's."""
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def _dynamic(env: Any) -> Dynamic:
    if env is None:
        return Dynamic()
    ranges = {str(symbol): (info.low, info.high) for symbol, info in env.symbols.items()}
    names = {str(symbol): env.name_of(symbol) for symbol in env.symbols}
    return Dynamic(ranges, names, [(env, guard.expr, guard.site) for guard in demands(env)])


def _flat(program: ExportedProgram, name: str) -> Graph:
    """The graph with its tensors as constants, and with results that are memory of their own."""
    graph = program.graph.clone()
    tensors, written = program.tensors, set(program.graph_signature.buffers)
    if written:
        raise UnsupportedError(
            f"compile: {name} writes tensors of its own, which an artifact shares between calls",
            got=", ".join(sorted(written)), hint="give them as arguments",
        )  # fmt: skip
    for node, spec in zip(graph.placeholders(), program.graph_signature.input_specs, strict=True):
        value = node.meta.get("val")
        if isinstance(value, Tensor) and not value._device.is_host:
            raise DeviceError(f"compile: {name}: {spec.path} is on {value._device}", hint="export it on the CPU")
        if spec.target is None and not isinstance(spec.arg, ConstantArgument):
            if not isinstance(value, Tensor):
                raise UnsupportedError(f"compile: {name}: {spec.path} is no tensor", got=describe(value))
            continue
        if spec.target is not None:
            with graph.inserting_before(next(n for n in graph.nodes if n.op != "placeholder")):
                constant = graph.get_attr(spec.target)
            constant.meta.update(node.meta)
            constant.meta["val"] = tensors[spec.target] if constant.meta.get("val") is None else constant.meta["val"]
            node.replace_all_uses_with(constant)
        graph.erase_node(node)
    _place_views(graph)
    _return_copies(graph, name)
    graph.lint()
    return graph


def _place_views(graph: Graph) -> None:
    """Have views know where in memory they begin, which files do not say."""
    emit = Emitter(graph)
    for node in graph:
        if node.target is operator.getitem and is_view(node.args[0]):
            node.meta["val"] = node.args[0].meta["val"][node.args[1]]
        elif is_view(node) or is_layout(node):
            node.meta["val"] = emit.evaluate(node.target, node.args, node.kwargs)


def _return_copies(graph: Graph, name: str) -> None:
    """Have each result be memory of its own, of elements that lie side by side."""
    output = graph.output_node()
    seen: set[Node] = set()
    results: list[Any] = []
    for value in graph.outputs:
        if not isinstance(value, Node) or not isinstance(value.meta.get("val"), Tensor):
            raise UnsupportedError(f"compile: {name} returns something that is no tensor", got=str(value))
        if value in seen or not _is_fresh(value):
            with graph.inserting_before(output):
                copy = graph.call_function(ops.aten.clone.default, (value,), {"memory_format": contiguous_format})
            copy.meta["val"] = ops.aten.clone.default(value.meta["val"], memory_format=contiguous_format)
            copy.meta["site"] = value.meta.get("site")
            value = copy
        seen.add(value)
        results.append(value)
    output.args = (tuple(results),)


def _is_fresh(node: Node) -> bool:
    """Whether a node makes new memory, of elements that lie side by side."""
    target, decl = node.target, declared(node)
    if decl is None or decl.is_layout or not isinstance(target, OpOverload) or not node.meta["val"].is_contiguous():
        return False
    return not any(value.alias for value in (*target._schema.arguments, *target._schema.returns))
