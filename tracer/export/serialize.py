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
                 kind "number":   target, one of `FUNCTIONS`; computes with sizes
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

import math
import operator
import re
from collections.abc import Sequence
from operator import getitem as _getitem
from typing import Any, NoReturn

import numpy as np

from opweave.fake.mode import FakeTensorMode
from opweave.fake.shape_env import Guard, SymbolInfo
from opweave.fake.symbolic import SymBool, SymInt
from opweave.registry.device import Device
from opweave.registry.dtypes import DType, uint8
from opweave.registry.errors import ArgumentError, ExportError, OpweaveError, Site, UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.op import OpOverload
from opweave.registry.schema import parse_schema
from opweave.registry.spec import span
from opweave.registry.storage import Storage
from opweave.registry.symbolic import Symbolic, is_int
from opweave.registry.tensor import Tensor, allocate, describe, make
from opweave.registry.triton_op import (
    kernels,
    triton_kernel_wrapper_functional,
    triton_kernel_wrapper_mutation,
)
from opweave.tracer.export import archive, control, kernels as text_kernels
from opweave.tracer.export.archive import refuse
from opweave.tracer.export.encoding import (
    Numbers,
    Reader,
    decode_operand,
    decode_spec,
    decode_tree,
    decode_value,
    encode_operand,
    encode_tree,
    encode_value,
)
from opweave.tracer.export.expressions import KINDS, decode_expression, encode_expression
from opweave.tracer.export.kernels import TextKernel
from opweave.tracer.export.linking import BODY, accepts, check_schemas, detached, registered
from opweave.tracer.export.program import ExportedProgram, make_signature
from opweave.tracer.export.signature import ConstantArgument, InputKind, InputSpec, TensorArgument
from opweave.tracer.export.sizes import Asked, ExportEnv, end_site
from opweave.tracer.export.untrusted import NBYTES, STEPS, Limits
from opweave.tracer.graph import Graph, Node

_PROGRAM = "program.json"
_OP_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)
_PARAMETER_TYPE = re.compile(r"\*?k?(fp16|bf16|fp32|fp64|i1|i8|i16|i32|i64|u1|u8|u16|u32|u64)|constexpr", re.ASCII)
_SYMBOL = re.compile(r"[su](0|[1-9]\d{0,5})", re.ASCII)
_MOST_SYMBOLS = 1000
_LARGEST = 2**63 - 1
_MOST_PROGRAMS = 2**31 - 1
# How deep graphs may be nested.
_MOST_LEVELS = 16
# Parts of a storage keep their alignment to the widest element.
_ALIGNMENT = 16
#: What nodes may call that compute with sizes.
FUNCTIONS: dict[str, Any] = {
    **{name: getattr(operator, name) for name in (
        "add", "sub", "mul", "floordiv", "mod", "truediv", "pow", "neg", "eq", "ne", "lt", "le", "gt", "ge",
    )},
    "and": operator.and_, "or": operator.or_, "not": operator.not_, "min": min, "max": max, "floor": math.floor,
}  # fmt: skip
_LAUNCHES = {True: triton_kernel_wrapper_functional, False: triton_kernel_wrapper_mutation}


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
    """
    if not isinstance(program, ExportedProgram):
        raise ArgumentError(
            "save: expected an ExportedProgram", got=describe(program), hint="save(export(f, (x,)), 'f.opweave')"
        )
    program.validate()
    _Writer(program).write(path_or_file)


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
    """
    limits = Limits.made(allow, steps, nbytes) if untrusted else None
    manifest, entries = archive.read(path_or_file)
    try:
        return _Loader(manifest, entries, limits).program()
    except RecursionError:
        refuse("it is nested too deep")


# ---- writing ---------------------------------------------------------------------------------------------------------


class _Writer:
    def __init__(self, program: ExportedProgram):
        self.program = program
        self.entries: dict[str, bytes] = {}
        self.ops: dict[str, str] = {}
        self.kernels: list[Any] = []
        self.kernel_numbers: dict[str, int] = {}
        self.storages: list[Any] = []
        self.numbers = Numbers() if program.shape_env is None else _Numbers(program.shape_env, {})

    def write(self, target: Any) -> None:
        program = self.program
        record = {
            "name": program.name,
            "default_dtype": program.default_dtype.name,
            "in_spec": encode_tree(program.in_spec, "the arguments"),
            "out_spec": encode_tree(program.out_spec, "the results"),
            "inputs": [self.input(spec) for spec in program.graph_signature.input_specs],
            "graph": self.graph(program.graph),
            "mutated": list(make_signature(program.graph, ()).mutated),
            "tensors": self.tensors(),
            "storages": self.storages,
            "kernels": self.kernels,
            **self.constraints(),
        }
        entries = {_PROGRAM: archive.to_json(record), **self.entries}
        archive.write(target, entries, {"ops": dict(sorted(self.ops.items()))})

    def input(self, spec: InputSpec) -> Any:
        return {"kind": spec.kind.name, "node": spec.arg.name, "target": spec.target, "path": spec.path}

    # -- graphs

    def graph(self, graph: Graph) -> Any:
        nodes = [node for node in graph.nodes if node.op not in ("placeholder", "output")]
        return {
            "inputs": [{"name": n.name, "val": self.value(n), **self.site(n)} for n in graph.placeholders()],
            "nodes": [self.node(node) for node in nodes],
            "outputs": encode_operand(graph.outputs, "the result"),
        }

    def value(self, node: Node) -> Any:
        return encode_value(node.meta.get("val"), node.name, self.numbers)

    def site(self, node: Node) -> dict[str, Any]:
        site = node.meta.get("site")
        return {} if site is None else {"site": _site_record(site)}

    # -- symbolic sizes

    def constraints(self) -> dict[str, Any]:
        env = self.program.shape_env
        if env is None:
            return {"range_constraints": {}, "guards": []}
        found: dict[str, Any] = {}
        for symbol, info in env.symbols.items():
            if not symbol.is_integer:
                continue  # no size is made of it
            asked = env.asked.get(symbol)
            found[info.name] = {
                "hint": info.hint, "low": info.low, "high": info.high, "places": list(info.sources),
                "label": asked.label if asked else "", "kind": asked.kind if asked else "",
                "least": bool(asked and asked.least), "site": _site_record(info.site),
                "low_site": _site_record(end_site(env, info, 1)), "high_site": _site_record(end_site(env, info, 2)),
            }  # fmt: skip
        guards: list[Any] = []
        for symbol, guard in env.equations.items():
            value = encode_expression(env, env.replacements[symbol], "a guard")
            guards.append({"replaces": env.symbols[symbol].name, "value": value, "site": _site_record(guard.site)})
        for expr, guard in env.facts.items():
            if any(env.symbols[s].hint is None for s in expr.free_symbols):
                continue  # the graph checks it
            value = encode_expression(env, expr, "a guard")
            guards.append({"replaces": None, "value": value, "site": _site_record(guard.site)})
        return {"range_constraints": found, "guards": guards}

    def node(self, node: Node) -> Any:
        made: dict[str, Any] = {"name": node.name}
        target = node.target
        if node.op == "get_attr":
            made |= {"kind": "tensor", "target": target}
        elif target in _LAUNCHES.values():
            made |= self.launch(node)
        elif isinstance(target, OpOverload):
            made |= {"kind": "op", "target": target.name, **self.operands(node)}
            self.note_op(target)
            if BODY in node.meta:
                body: Graph = node.meta[BODY]
                made["body"] = {"call": body.graph.get("call", ""), "graph": self.graph(body)}
        elif control.is_control_flow(target):
            args = [self.inner_graph(a) if isinstance(a, Graph) else encode_operand(a, node.name) for a in node.args]
            control.check_call(node, lambda expected: _refuse_call(node, expected))
            made |= {"kind": "control", "target": target.name, "args": args}
        elif target is _getitem:
            made |= {"kind": "getitem", **self.operands(node)}
        elif node.op == "call_function" and _name_of_function(target) is not None:
            made |= {"kind": "number", "target": _name_of_function(target), **self.operands(node)}
        else:
            raise UnsupportedError(
                f"save: {node.name} calls {target!r}, which a file cannot name", at=node.meta.get("site"),
                hint="a program that is saved calls ops: make it one with opweave.library.custom_op",
            )  # fmt: skip
        return {**made, "val": self.value(node), **self.site(node)}

    def operands(self, node: Node) -> dict[str, Any]:
        kwargs = {name: encode_operand(value, node.name) for name, value in node.kwargs.items()}
        return {"args": [encode_operand(value, node.name) for value in node.args], "kwargs": kwargs}

    def inner_graph(self, graph: Graph) -> Any:
        return {"graph": {"name": graph.name, **self.graph(graph)}}

    def note_op(self, op: OpOverload) -> None:
        schema = str(op._schema)
        if self.ops.setdefault(op.name, schema) != schema:
            raise ExportError(
                f"save: the program calls {op.name} with two schemas", got=f"{self.ops[op.name]}\n    {schema}"
            )

    # -- kernels

    def launch(self, node: Node) -> dict[str, Any]:
        operands = node.kwargs
        arguments = operands["kwargs"]
        values = {k: v.meta.get("val") if isinstance(v, Node) else v for k, v in arguments.items()}
        kernel, choice, bindings = text_kernels.as_text(operands["kernel_idx"], operands["constant_args_idx"], values)
        grid = operands["grid"][choice if len(operands["grid"]) > 1 else 0]
        known = {name for name, _ in kernel.parameters}
        spread = {name: value if operand is None else arguments[operand] for name, (operand, value) in bindings.items()}
        arguments = {**arguments, **spread}
        made = {
            "kind": "launch",
            "kernel": self.kernel(kernel),
            "grid": [encode_operand(size, node.name) for size in grid],
            "kwargs": {k: encode_operand(v, node.name) for k, v in arguments.items() if k in known},
        }
        if node.target is triton_kernel_wrapper_functional:
            saved = {operand: name for name, (operand, _) in reversed(bindings.items()) if operand is not None}
            made["clones"] = [saved.get(name, name) for name in operands["tensors_to_clone"]]
        return made

    def kernel(self, kernel: TextKernel) -> int:
        number = self.kernel_numbers.setdefault(kernel.digest, len(self.kernels))
        if number == len(self.kernels):
            entry = f"kernels/{number}.ttir"
            self.entries[entry] = kernel.ttir.encode()
            fixed = {name: encode_operand(value, kernel.name) for name, value in kernel.fixed.items()}
            self.kernels.append({
                "entry": entry, "name": kernel.name, "parameters": [list(pair) for pair in kernel.parameters],
                "fixed": fixed, "writes": sorted(kernel.writes),
            })  # fmt: skip
        return number

    # -- tensors

    def tensors(self) -> Any:
        program = self.program
        named = program.tensors
        groups: dict[int, list[Tensor]] = {}
        for name, tensor in named.items():
            if type(tensor) is not Tensor or tensor._storage.owner is None:
                raise UnsupportedError(
                    f"save: {name} is no plain tensor with data", got=describe(tensor),
                    hint="pass it to the program as an argument",
                )  # fmt: skip
            groups.setdefault(id(tensor._storage), []).append(tensor)
        placed = {storage: self.storage(group) for storage, group in groups.items()}
        found = {}
        for name, tensor in named.items():
            number, start = placed[id(tensor._storage)]
            found[name] = {
                "storage": number, "dtype": tensor._dtype.name, "sizes": list(tensor._sizes),
                "strides": list(tensor._strides), "device": str(tensor._device),
                "offset": tensor._offset - start // tensor._dtype.itemsize if tensor.numel() else 0,
                "requires_grad": bool(tensor.requires_grad and tensor.is_leaf), "state": name in program.state_dict,
            }  # fmt: skip
        return found

    def storage(self, tensors: list[Tensor]) -> tuple[int, int]:
        """Write what the tensors of one storage show of it; gives its number and the first byte that was kept."""
        ranges = [_bytes_of(t) for t in tensors if t.numel()] or [(0, 0)]
        start = min(first for first, _ in ranges) // _ALIGNMENT * _ALIGNMENT
        end = max(last for _, last in ranges)
        storage, device = tensors[0]._storage, tensors[0]._device
        raw = storage.array((end - start,), (1,), start, uint8)
        content = np.ascontiguousarray(device.memory.to_host(raw))
        number = len(self.storages)
        entry = f"data/{number}.npy"
        self.entries[entry] = archive.to_npy(content.view(_file_type(tensors, end - start)))
        self.storages.append({"entry": entry, "device": str(device)})
        return number, start


def _refuse_call(node: Node, expected: str) -> NoReturn:
    raise UnsupportedError(
        f"save: {node.name} is no call of {node.target.name} that a file can hold", got=f"expected {expected}",
        at=node.meta.get("site"),
    )  # fmt: skip


def _name_of_function(target: Any) -> str | None:
    return next((name for name, function in FUNCTIONS.items() if function is target), None)


def _site_record(site: Site | None) -> Any:
    # Where the author's files are is nobody's business.
    return None if site is None else [site.short.rpartition(":")[0], site.line, site.function]


class _Numbers(Numbers):
    """Symbolic numbers of a program's environment."""

    def __init__(self, env: ExportEnv, symbols: dict[str, Any]):
        self.env = env
        self.symbols = symbols

    def encode(self, value: Any, what: str) -> Any:
        if value.env is not self.env:
            return super().encode(value, what)
        if not all(symbol.is_integer for symbol in value.expr.free_symbols):
            return None  # a float that depends on data, or a condition on one: what computes it is in the graph
        tree = encode_expression(self.env, value.expr, what)
        # A float that is whole for all sizes, `n * 2.0`, is read as an int otherwise.
        return ["truediv", tree, 1] if value.kind == "float" and value.expr.is_integer else tree

    def decode(self, source: Reader) -> Any:
        kind = "int"
        if isinstance(source.value, dict):
            kind = source["number"].text(10)
            unknown = self.unknown(source, lambda: self.env)
            if unknown is not None:
                return unknown
            source = source["value"]
        found = decode_expression(source, self.env, self.symbols)
        plain = {"int": int, "float": float, "bool": bool}.get(kind)
        if plain is None or not isinstance(found, (plain, KINDS[kind])) or (kind == "int" and type(found) is bool):
            source.fail(f"an expression of the kind {kind[:10]}")
        return found


def _bytes_of(tensor: Tensor) -> tuple[int, int]:
    first = tensor._offset * tensor._dtype.itemsize
    return first, first + span(tensor._sizes, tensor._strides) * tensor._dtype.itemsize


def _file_type(tensors: list[Tensor], nbytes: int) -> Any:
    """How a storage is shown to whoever opens the file with NumPy: as elements, where all tensors have the same."""
    found: set[DType] = {t._dtype for t in tensors}
    dtype = found.pop()
    if found or nbytes % dtype.itemsize:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if dtype.name == "bfloat16" else dtype.numpy


# ---- reading ---------------------------------------------------------------------------------------------------------


class _Loader:
    def __init__(self, manifest: dict[str, Any], entries: dict[str, bytes], limits: Limits | None):
        self.limits = limits
        Reader(manifest, archive.MANIFEST).keys("format", "version", "entries", "ops")
        self.entries = entries
        self.used = {_PROGRAM}
        self.mode = FakeTensorMode()
        self.env: ExportEnv | None = None
        self.numbers = Numbers()
        self.ops = self.read_ops(Reader(manifest["ops"], f"{archive.MANIFEST}: ops"))
        self.kernels: list[int] = []
        self.tensors: dict[str, Tensor] = {}

    def entry(self, source: Reader, kind: str) -> bytes:
        name = source.text()
        if not name.endswith(kind) or name not in self.entries or name in self.used:
            source.fail(f"the name of a {kind} entry, once")
        self.used.add(name)
        return self.entries[name]

    def program(self) -> ExportedProgram:
        if _PROGRAM not in self.entries:
            refuse("the program is not there", _PROGRAM)
        data = archive.from_json(self.entries[_PROGRAM], _PROGRAM)
        source = Reader(data, _PROGRAM).keys(
            "name", "default_dtype", "in_spec", "out_spec", "inputs", "graph", "mutated", "tensors", "storages",
            "kernels", "range_constraints", "guards",
        )  # fmt: skip
        if source["range_constraints"].members():
            self.symbols(source["range_constraints"])
        self.kernels = [self.kernel(item) for item in source["kernels"].items()]
        state, constants = self.read_tensors(source["tensors"], source["storages"])
        if self.used != self.entries.keys():
            refuse("it has entries that nothing refers to", ", ".join(sorted(self.entries.keys() - self.used)))
        graph = self.graph(source["graph"])
        self.guards(source["guards"])
        in_spec, out_spec = decode_tree(source["in_spec"]), decode_tree(source["out_spec"])
        specs = self.inputs(source["inputs"], graph, in_spec.num_leaves, {**state, **constants})
        program = ExportedProgram(
            graph, make_signature(graph, specs), in_spec, out_spec, state_dict=state, constants=constants,
            name=source["name"].identifier(), default_dtype=source["default_dtype"].dtype(),
            shape_env=self.env, limits=self.limits,
        )  # fmt: skip
        try:
            program.validate()
        except OpweaveError as error:
            raise ExportError(f"load: the graph is damaged: {error.what}", got=error.got) from error
        if [item.text() for item in source["mutated"].items()] != list(program.graph_signature.mutated):
            source["mutated"].fail(f"what the graph writes: {list(program.graph_signature.mutated)}")
        return program

    # -- symbolic sizes

    def symbols(self, source: Reader) -> None:
        env = self.env = ExportEnv({}, ())
        self.mode = FakeTensorMode(shape_env=env)
        found: dict[str, Any] = {}
        members = source.members()
        if len(members) > _MOST_SYMBOLS:
            source.fail(f"at most {_MOST_SYMBOLS} symbols")
        for name, item in members:
            if not _SYMBOL.fullmatch(name):
                source.fail("names of symbols")
            item.keys("hint", "low", "high", "label", "kind", "least", "places", "site", "low_site", "high_site")
            low = item["low"].integer(-_LARGEST - 1 if name.startswith("u") else 0)
            high = None if item["high"].value is None else item["high"].integer(low)
            hint = None if item["hint"].value is None else item["hint"].integer(low, _LARGEST if high is None else high)
            places = [_one_line(place) for place in item["places"].items()]
            if (hint is None) != name.startswith("u") or (hint is not None and not places):
                item.fail("an example of a size that does not depend on data, and where it stands")
            info = SymbolInfo(name, hint, low, high, places, _site(item["site"]))
            symbol = env._declare(info)
            env.asked[symbol] = Asked(_one_line(item["label"]), _one_line(item["kind"]), item["least"].flag())
            found[name] = env.wrap(symbol)
            for key, relation, end in (("low_site", "ge", low), ("high_site", "le", high)):
                if item[key].value is not None and end is not None:
                    expr = env._x.canonical(env._x.RELATIONS[relation](symbol, env._x.number(end)))
                    info.bounded.append(Guard(expr, _site(item[key])))
        env.frozen = True
        self.numbers = _Numbers(env, found)

    def guards(self, source: Reader) -> None:
        env = self.env
        if env is None or not isinstance(self.numbers, _Numbers):
            return None if not source.items() else source.fail("no guards: sizes are fixed")
        equations: list[tuple[Any, Any, Guard]] = []
        for item in source.items():
            item.keys("replaces", "value", "site")
            found = decode_expression(item["value"], env, self.numbers.symbols)
            site = _site(item["site"])
            if item["replaces"].value is None:
                if not isinstance(found, SymBool):
                    item["value"].fail("a relation that sizes may fulfil or not")
                env.facts[found.expr] = Guard(found.expr, site)
                continue
            replaced = self.numbers.symbols.get(item["replaces"].text())
            if replaced is None or not isinstance(found, (int, SymInt)) or type(found) is bool:
                item.fail("a symbol and its value")
            equal = found.expr if isinstance(found, SymInt) else env._x.number(found)
            equations.append((replaced.expr, equal, Guard(env._x.RELATIONS["eq"](replaced.expr, equal), site)))
        symbols = {symbol for symbol, _, _ in equations}
        if len(symbols) != len(equations) or any(equal.free_symbols & symbols for _, equal, _ in equations):
            source.fail("symbols that are replaced once, by others")
        for symbol, equal, guard in equations:
            env.equations[symbol], env.replacements[symbol] = guard, equal

    # -- ops

    def read_ops(self, source: Reader) -> dict[str, OpOverload]:
        found: dict[str, OpOverload] = {}
        exported: list[OpOverload] = []
        for name, item in source.members():
            if not _OP_NAME.fullmatch(name):
                source.fail("names of ops")
            schema = item.text(100_000)
            try:
                op = detached(schema)
                parse_schema(str(op._schema))
            except (ValueError, RecursionError, TypeError, OverflowError) as error:
                let_through(error)
                raise ExportError(f"load: {item.place}: no schema", got=f"{schema[:80]!r}: {error}") from None
            if op.name != name:
                item.fail(f"the schema of {name}")
            here = registered(op) if self.limits is None else self.limits.find(op)
            found[name] = here if here is not None and accepts(here._schema, op._schema) else op
            exported.append(op)
        check_schemas(exported)
        return found

    # -- kernels

    def kernel(self, source: Reader) -> int:
        source.keys("entry", "name", "parameters", "fixed", "writes")
        try:
            text = self.entry(source["entry"], ".ttir").decode()
        except UnicodeDecodeError as error:
            return source["entry"].fail(f"text ({error})")
        parameters: list[tuple[str, str]] = []
        for item in source["parameters"].items():
            pair = item.items()
            if len(pair) != 2 or not _PARAMETER_TYPE.fullmatch(pair[1].text(20)):
                item.fail("a name and a Triton type")
            parameters.append((pair[0].identifier(), pair[1].value))
        names = {name for name, _ in parameters}
        fixed = {name: decode_operand(item, {}) for name, item in source["fixed"].members()}
        writes = frozenset(item.identifier() for item in source["writes"].items())
        if len(names) != len(parameters) or not (names >= writes and names >= fixed.keys()):
            source.fail("parameters with names of their own")
        kernel = TextKernel(source["name"].text(1000), text, tuple(parameters), fixed, writes)
        text_kernels.check(kernel)
        return text_kernels.add(kernel)

    # -- tensors

    def read_tensors(self, tensors: Reader, storages: Reader) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        content = [self.storage(item) for item in storages.items()]
        kinds: tuple[dict[str, Tensor], dict[str, Tensor]] = ({}, {})
        for name, item in tensors.members():
            if not name.isprintable():
                tensors.fail("printable names")
            item.keys("storage", "dtype", "sizes", "strides", "offset", "device", "requires_grad", "state")
            spec = decode_spec(item)
            storage, raw = content[item["storage"].integer(0, len(content) - 1)]
            offset = item["offset"].integer()
            if spec.numel and (offset + span(spec.sizes, spec.strides)) * spec.dtype.itemsize > storage.nbytes:
                item.fail("a tensor that is inside its storage")
            if spec.device is not storage.device:
                item["device"].fail(str(storage.device))
            if spec.dtype.kind == "b" and raw.size and raw.max() > 1:
                item.fail("bytes that are 0 or 1")
            made = make(storage, spec.sizes, spec.strides, offset, spec.dtype, spec.device)
            if item["requires_grad"].flag():
                if not (spec.dtype.is_floating_point or spec.dtype.is_complex):
                    item["requires_grad"].fail("false for integers")
                made.requires_grad_()
            kinds[0 if item["state"].flag() else 1][name] = made
        return kinds

    def storage(self, source: Reader) -> tuple[Storage, Any]:
        source.keys("entry", "device")
        raw = archive.from_npy(self.entry(source["entry"], ".npy"), source["entry"].value)
        device: Device = source["device"].device()
        if device.type == "meta":
            source["device"].fail("a device with memory")
        bytes_tensor = allocate((raw.size,), (1,), uint8, device)
        if raw.size:
            bytes_tensor._array[...] = device.memory.from_host(raw, device.index)
        return bytes_tensor._storage, raw

    # -- graphs

    def inputs(self, source: Reader, graph: Graph, leaves: int, tensors: dict[str, Tensor]) -> list[InputSpec]:
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
            specs.append(InputSpec(kind, made, target, _one_line(item["path"])))
        if sum(spec.target is None for spec in specs) != leaves:
            source.fail(f"{leaves} user inputs")
        if sorted(specs, key=lambda spec: spec.target is None) != specs:
            source.fail("lifted tensors before user inputs")
        return specs

    def graph(self, source: Reader, depth: int = 0, *, in_body: bool = False) -> Graph:
        """A graph, which stands in `depth` others."""
        source.keys("inputs", "nodes", "outputs", optional=("name",) if depth else ())
        if depth > _MOST_LEVELS:
            source.fail(f"at most {_MOST_LEVELS} graphs in each other")
        graph = Graph()
        if source.has("name"):
            graph.name = source["name"].identifier()
        nodes: dict[str, Node] = {}
        for item in source["inputs"].items():
            item.keys("name", "val", optional=("site",))
            self.add(graph, nodes, item, "placeholder", item["name"].value)
        for item in source["nodes"].items():
            self.node(graph, nodes, item, depth, in_body)
        outputs = decode_operand(source["outputs"], nodes)
        if not isinstance(outputs, tuple) or not (depth or all(map(_is_leaf, outputs))):
            source["outputs"].fail("a tuple of outputs")
        graph.output(outputs)
        return graph

    def node(self, graph: Graph, nodes: dict[str, Node], item: Reader, depth: int, in_body: bool) -> None:
        kind = item["kind"].value if isinstance(item.value, dict) and item.has("kind") else item.fail("a node")
        always = ("name", "kind", "val")
        if kind == "tensor":
            item.keys(*always, "target", optional=("site",))
            self.add(graph, nodes, item, "get_attr", item["target"].text())
        elif kind == "op":
            item.keys(*always, "target", "args", "kwargs", optional=("site", "body"))
            target = self.ops.get(item["target"].text())
            if target is None:
                return item["target"].fail("an op whose schema is in the manifest")
            node = self.add(graph, nodes, item, "call_function", target, *self.operands(item, nodes))
            self.check_call(item, target, node)
            if item.has("body"):
                if in_body:
                    item["body"].fail("no body inside a body")
                self.body(item["body"].keys("call", "graph"), node, depth)
        elif kind == "control":
            item.keys(*always, "target", "args", optional=("site",))
            target = control.OPERATORS.get(item["target"].text()) or item["target"].fail("an op of control flow")
            operands = tuple(self.graph_or_operand(value, nodes, depth, in_body) for value in item["args"].items())
            node = self.add(graph, nodes, item, "call_function", target, operands)
            control.check_call(node, item.fail)
        elif kind == "getitem":
            item.keys(*always, "args", "kwargs", optional=("site",))
            args, kwargs = self.operands(item, nodes)
            if kwargs or len(args) != 2 or not isinstance(args[0], Node) or type(args[1]) not in (int, str):
                item.fail("a node and an index")
            self.add(graph, nodes, item, "call_function", _getitem, args, kwargs)
        elif kind == "number":
            item.keys(*always, "target", "args", "kwargs", optional=("site",))
            function = FUNCTIONS.get(item["target"].text()) or item["target"].fail("a function of numbers")
            args, kwargs = self.operands(item, nodes)
            count = 1 if function in (operator.neg, operator.not_, math.floor) else 2
            if kwargs or len(args) != count or not all(map(_is_number, args)):
                item["args"].fail("numbers")
            if function is operator.pow and (type(args[1]) is not int or not 0 <= args[1] <= 8):
                item["args"].fail("a small power")
            self.add(graph, nodes, item, "call_function", function, args, kwargs)
        elif kind == "launch":
            item.keys(*always, "kernel", "grid", "kwargs", optional=("site", "clones"))
            functional = item.has("clones")
            operands = self.launch(item, nodes)
            self.add(graph, nodes, item, "call_function", _LAUNCHES[functional], (), operands)
        else:
            item["kind"].fail("a kind of node")

    def add(
        self, graph: Graph, nodes: dict[str, Node], item: Reader, op: str, target: Any,
        args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None,
    ) -> Node:  # fmt: skip
        name = item["name"].identifier()
        node = graph.create_node(op, target, args, kwargs, name)
        if node.name != name:
            item["name"].fail("a name that is not used yet, nor one of Python's")
        node.meta["val"] = decode_value(item["val"], self.mode, self.numbers)
        if item.has("site"):
            node.meta["site"] = _site(item["site"])
        nodes[name] = node
        return node

    def graph_or_operand(self, source: Reader, nodes: dict[str, Node], depth: int, in_body: bool) -> Any:
        if not isinstance(source.value, dict) or "graph" not in source.value:
            return decode_operand(source, nodes)
        return self.linted(self.graph(source.keys("graph")["graph"], depth + 1, in_body=in_body), source)

    def linted(self, graph: Graph, source: Reader) -> Graph:
        try:
            graph.lint()
        except OpweaveError as error:
            source.fail(f"a graph that keeps its rules ({error.what})")
        return graph

    def operands(self, item: Reader, nodes: dict[str, Node]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args = tuple(decode_operand(value, nodes) for value in item["args"].items())
        return args, {_keyword(item, key): decode_operand(value, nodes) for key, value in item["kwargs"].members()}

    def check_call(self, item: Reader, op: OpOverload, node: Node) -> None:
        try:
            op._schema.bind(node.args, node.kwargs)
        except OpweaveError as error:
            item.fail(f"a call that fits {op._schema} ({error.what})")

    def body(self, source: Reader, node: Node, depth: int) -> None:
        body = self.graph(source["graph"], depth + 1, in_body=True)
        inputs = [inner.meta["val"] for inner in body.placeholders()]
        # Whether what the call is given looks like them is checked when it runs.
        if len(inputs) != len(node.all_input_nodes) or not all(isinstance(t, (Tensor, Symbolic)) for t in inputs):
            source.fail("inputs for the call's tensors")
        if not isinstance(body.outputs, tuple) or len(body.outputs) != 1:
            source.fail("one result")
        self.linted(body, source)
        body.graph["call"] = source["call"].text(1_000_000)
        node.meta[BODY] = body

    def launch(self, item: Reader, nodes: dict[str, Node]) -> dict[str, Any]:
        number = item["kernel"].integer(0, len(self.kernels) - 1)
        grid = tuple(_grid_size(size, nodes) for size in item["grid"].items())
        if len(grid) != 3:
            item["grid"].fail("three sizes")
        index = self.kernels[number]
        kernel: TextKernel = kernels[index]
        arguments = {key: decode_operand(value, nodes) for key, value in item["kwargs"].members()}
        for name, kind in kernel.parameters:
            given = arguments.get(name)
            if kind == "constexpr":
                right = not isinstance(given, Node)
            elif kind.startswith("*"):
                right = isinstance(given, Node) and isinstance(given.meta["val"], Tensor)
            else:
                right = _is_number(given)
            if not right:
                item["kwargs"].fail(f"a {kind} for {name}")
        if not {name for name, _ in kernel.parameters} >= arguments.keys():
            item["kwargs"].fail("the kernel's parameters")
        made = {"kernel_idx": index, "constant_args_idx": 0, "grid": [grid], "kwargs": arguments}
        if item.has("clones"):
            clones = [clone.text() for clone in item["clones"].items()]
            if not set(clones) <= {name for name, kind in kernel.parameters if kind.startswith("*")}:
                item["clones"].fail("names of tensors")
            if not kernel.writes <= set(clones):
                item["clones"].fail("all that the kernel writes")
            made["tensors_to_clone"] = clones
        return made


def _grid_size(source: Reader, nodes: dict[str, Node]) -> Any:
    if not isinstance(source.value, dict):
        return source.integer(0, _MOST_PROGRAMS)
    found = decode_operand(source, nodes)
    if not isinstance(found, Node) or not is_int(found.meta["val"]) or type(found.meta["val"]) is bool:
        source.fail("a node that computes an integer")
    return found


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, (list, tuple, dict))


def _is_number(value: Any) -> bool:
    """Whether an operand is a number or a node that computes one."""
    if isinstance(value, Node):
        value = value.meta["val"]
    return isinstance(value, (bool, int, float, Symbolic))


def _site(source: Reader) -> Site:
    parts = source.items()
    if len(parts) != 3:
        source.fail("file, line and function")
    return Site(_one_line(parts[0]), parts[1].integer(), _one_line(parts[2]))


def _keyword(item: Reader, key: str) -> str:
    return Reader(key, item.place).identifier()


def _one_line(source: Reader) -> str:
    """Text that stands in a comment of printed code."""
    if not source.text(1000).isprintable():
        source.fail("printable text")
    return source.value
