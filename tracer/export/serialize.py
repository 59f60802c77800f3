"""`save` and `load`: an exported program as a file.

The file is a zip whose entries are stored uncompressed (`archive`):

    manifest.json     format "opweave.export", version 2; `entries`: SHA-256 and length of every other entry;
                      `ops`: the schema of every op that the program calls
    program.json      the program
    data/0.npy        memory of tensors: one-dimensional, one entry for each storage, which tensors may share
    kernels/0.ttir    Triton kernels as TTIR

`program.json` has

    name, default_dtype, in_spec, out_spec
    inputs     for each input of the graph: kind, node, target (name of a lifted tensor), path (for messages)
    mutated    the inputs that the graph writes
    graph      inputs (name, val), nodes, outputs; a node has
               name, kind, args, kwargs, val (sizes, strides, dtype, device), site (file, line, function) and
                 kind "op":       target, the op's qualified name; body, a graph and the text of the call it stands for,
                                  for a triton_op
                 kind "launch":   kernel (its number), grid, kwargs (arguments by name), and clones for a launch on
                                  copies of these arguments
                 kind "control":  target, one of `control.OPERATORS`; args has graphs as `{"graph": ...}`, each with
                                  a name besides what a graph has
                 kind "getitem":  picks one of several results
                 kind "number":   target, one of `records.graphs.FUNCTIONS`; computes with sizes
                 kind "tensor":   target, a tensor of the program
    tensors    name -> storage (its number), dtype, sizes, strides, offset, requires_grad, state
    storages   entry, device
    kernels    entry, name, parameters (name and Triton type), fixed (values that are part of the text), writes
    range_constraints  for each symbolic size, by name: hint (its example), low, high, label, kind and least (what was
               asked for), places (where it stands), site, low_site and high_site (who narrowed the range)
    guards     what sizes must fulfil: replaces (a symbol, or null), value (an expression), site

A size and a stride are integers or expressions (`expressions`). The val of a symbolic number has number (its kind) and
value. A launch grid is three integers, or nodes of kind "number" that compute them: their val is the expression.
Operands are JSON values as they are, `{"node": name}` for results of earlier nodes, and objects with one key for what
JSON has not: `tuple`, `dict`, `slice`, `dtype`, `device`, `complex`, `float` (inf and nan), `ellipsis`.

Loading executes nothing: no pickle, no Python source, no kernel, no fake rule. What is read is checked entry by entry,
and whatever is wrong raises `ExportError`; kernels are checked against the rules of their operations. Running a loaded
program calls the ops that it names and compiles its kernels to native code, which reads and writes where it likes:
treat a program from elsewhere like a shared library, or load it with `untrusted=True` (`untrusted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.registry.errors import ArgumentError, ExportError, OpweaveError
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.export import archive
from opweave.tracer.export.archive import refuse
from opweave.tracer.export.encoding import Numbers, Reader, decode_tree, encode_tree
from opweave.tracer.export.program import ExportedProgram, make_signature
from opweave.tracer.export.records.graphs import GraphReader, GraphWriter
from opweave.tracer.export.records.kernels import KernelRecords, decode_kernel
from opweave.tracer.export.records.ops import OpRecords, decode_ops
from opweave.tracer.export.records.places import Entries, one_line
from opweave.tracer.export.records.sizes import SymbolicNumbers, decode_guards, decode_symbols, encode_constraints
from opweave.tracer.export.records.tensors import TensorRecords, decode_tensors
from opweave.tracer.export.signature import ConstantArgument, InputKind, InputSpec, TensorArgument
from opweave.tracer.export.untrusted import NBYTES, STEPS, Limits
from opweave.tracer.graph import Graph

_PROGRAM = "program.json"


def save(program: ExportedProgram, path_or_file: Any) -> None:
    """Write a program to a file.

    Parameters
    ----------
    program : ExportedProgram
        What to write; it must be one that could be loaded again.
    path_or_file : str, path or binary file
        A file that is there already is replaced, at once.

    Raises
    ------
    UnsupportedError
        If the program holds what a file cannot: an argument that is no tensor or constant, a kernel whose arguments
        are descriptors or tuples, a call of a Python function.
    GraphError
        If the graph breaks its rules.

    Examples
    --------
    >>> program = opweave.export.export(lambda x: x + 1, (opweave.ones(3),))
    >>> opweave.export.save(program, "f.opweave")  # doctest: +SKIP
    """
    given: Any = program
    if not isinstance(given, ExportedProgram):
        raise ArgumentError(
            "save: expected an ExportedProgram", got=describe(program), hint="save(export(f, (x,)), 'f.opweave')"
        )
    program.validate()
    _write(program, path_or_file)


def load(
    path_or_file: Any, *, untrusted: bool = False, allow: Sequence[str] = (), steps: int = STEPS, nbytes: int = NBYTES
) -> ExportedProgram:
    """Read a program that `save` wrote.

    Parameters
    ----------
    path_or_file : str, path or binary file
        Where from.
    untrusted : bool
        Whether it is a stranger's. It then runs with every access of its kernels checked, calls opweave's own ops and
        those allowed, and stops at limits; it cannot be traced or compiled.
    allow : sequence of str
        Qualified names of further ops (`mine::twice`) that a stranger's program may call, with arguments of its choice.
        A triton_op that is not among them runs as the file has it.
    steps : int
        Most steps that a launch of a stranger's kernel takes: programs, turns of loops and accesses. A node of its
        graph counts as a thousand.
    nbytes : int
        Most bytes that an op's results take in a stranger's program, as far as sizes tell.

    Returns
    -------
    ExportedProgram
        It can be looked at, changed and saved even if ops that it calls are not registered here; it runs once they are.

    Raises
    ------
    ExportError
        If the file is damaged or no exported program, or if an op that it calls is registered with another schema
        (further arguments with defaults are no difference).
    DeviceError
        If it has tensors of a device that is not there.

    Examples
    --------
    >>> program = opweave.export.load("f.opweave")  # doctest: +SKIP
    >>> program.module()(opweave.ones(3))  # doctest: +SKIP
    """
    limits = Limits.made(allow, steps, nbytes) if untrusted else None
    manifest, entries = archive.read(path_or_file)
    try:
        return _read(manifest, Entries(entries), limits)
    except RecursionError:
        refuse("it is nested too deep")


def _write(program: ExportedProgram, target: Any) -> None:
    entries = Entries({})
    env = program.shape_env
    ops, kernels, tensors = OpRecords(), KernelRecords(entries), TensorRecords(entries)
    graphs = GraphWriter(Numbers() if env is None else SymbolicNumbers(env, {}), ops, kernels)
    record = {
        "name": program.name,
        "default_dtype": program.default_dtype.name,
        "in_spec": encode_tree(program.in_spec, "the arguments"),
        "out_spec": encode_tree(program.out_spec, "the results"),
        "inputs": [_write_input(spec) for spec in program.graph_signature.input_specs],
        "graph": graphs.graph(program.graph),
        "mutated": list(make_signature(program.graph, ()).mutated),
        "tensors": tensors.write(program),
        "storages": tensors.storages,
        "kernels": kernels.records,
        **encode_constraints(env),
    }
    content = {_PROGRAM: archive.to_json(record), **entries.content}
    archive.write(target, content, {"ops": dict(sorted(ops.schemas.items()))})


def _write_input(spec: InputSpec) -> Any:
    return {"kind": spec.kind.name, "node": spec.arg.name, "target": spec.target, "path": spec.path}


def _read(manifest: dict[str, Any], entries: Entries, limits: Limits | None) -> ExportedProgram:
    Reader(manifest, archive.MANIFEST).keys("format", "version", "entries", "ops")
    ops = decode_ops(Reader(manifest["ops"], f"{archive.MANIFEST}: ops"), limits)
    if _PROGRAM not in entries.content:
        refuse("the program is not there", _PROGRAM)
    data = archive.from_json(entries.content[_PROGRAM], _PROGRAM)
    source = Reader(data, _PROGRAM).keys(
        "name",
        "default_dtype",
        "in_spec",
        "out_spec",
        "inputs",
        "graph",
        "mutated",
        "tensors",
        "storages",
        "kernels",
        "range_constraints",
        "guards",
    )
    numbers, env, ranges = Numbers(), None, source["range_constraints"]
    if ranges.members():
        numbers = decode_symbols(ranges)
        env = numbers.env
    kernels = [decode_kernel(item, entries) for item in source["kernels"].items()]
    state, constants = decode_tensors(source["tensors"], source["storages"], entries)
    unused = sorted(entries.content.keys() - entries.used - {_PROGRAM})
    if unused:
        refuse("it has entries that nothing refers to", ", ".join(unused))
    graph = GraphReader(FakeTensorMode(shape_env=env), numbers, ops, kernels).graph(source["graph"])
    decode_guards(source["guards"], numbers)
    in_spec, out_spec = decode_tree(source["in_spec"]), decode_tree(source["out_spec"])
    specs = _read_inputs(source["inputs"], graph, in_spec.num_leaves, {**state, **constants})
    program = ExportedProgram(
        graph,
        make_signature(graph, specs),
        in_spec,
        out_spec,
        state_dict=state,
        constants=constants,
        name=source["name"].identifier(),
        default_dtype=source["default_dtype"].dtype(),
        shape_env=env,
        limits=limits,
    )
    try:
        program.validate()
    except OpweaveError as error:
        raise ExportError(f"load: the graph is damaged: {error.what}", got=error.got) from error
    if [item.text() for item in source["mutated"].items()] != list(program.graph_signature.mutated):
        source["mutated"].fail(f"what the graph writes: {list(program.graph_signature.mutated)}")
    return program


def _read_inputs(source: Reader, graph: Graph, leaves: int, tensors: dict[str, Tensor]) -> list[InputSpec]:
    specs: list[InputSpec] = []
    for item in source.items():
        item.keys("kind", "node", "target", "path")
        kind = InputKind.__members__.get(item["kind"].text()) or item["kind"].fail("a kind of input")
        node = graph.named(item["node"].text())
        if node is None or node.op != "placeholder":
            return item["node"].fail("an input of the graph")
        value = node.meta["val"]
        if kind is InputKind.USER_INPUT:
            target = None
            if item["target"].value is not None:
                item["target"].fail("null")
        else:
            target = item["target"].text()
            if not isinstance(value, Tensor) or target not in tensors or tensors[target].spec != value.spec:
                item["target"].fail("a tensor like the input")
        made = TensorArgument(node.name) if isinstance(value, Tensor) else ConstantArgument(node.name, value)
        specs.append(InputSpec(kind, made, target, one_line(item["path"])))
    if sum(spec.target is None for spec in specs) != leaves:
        source.fail(f"{leaves} user inputs")
    if sorted(specs, key=lambda spec: spec.target is None) != specs:
        source.fail("lifted tensors before user inputs")
    return specs
