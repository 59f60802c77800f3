"""A region with a launch of a user's kernel as one kernel: what stands around the launch is put into it.

The kernel is lowered to TTIR for the arguments of the launch, and each load of a tensor that the region computes, each
store of one that it reads, becomes a call of a function (`codegen.block_functions`, `codegen.splice`). Triton's own
passes do the rest.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from opweave.codegen.block_functions import After, Before, BlockFunction, Frame, Unfit
from opweave.codegen.kernel import KernelSource
from opweave.codegen.launch_text import launch_text, options_for
from opweave.codegen.modules import load_module
from opweave.codegen.splice import (
    Code,
    Functions,
    kernel_parameters,
    with_functions,
    with_parameters,
    without_places,
    without_unused,
)
from opweave.registry import interrupts
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError
from opweave.registry.loading import load_triton, parsing
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor
from opweave.registry.triton import effects
from opweave.registry.triton.access import Access, KernelAccesses, Parameter as AccessedParameter, analyse
from opweave.registry.triton.known import in_launch
from opweave.registry.triton.modules import first_ir, read, run_passes
from opweave.registry.triton.polynomial import Known, Polynomial
from opweave.registry.triton.ttir import Parameter, Type, Value
from opweave.registry.triton_op import CompiledText, forms, kernels, name_of, tuner_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.launch_numbers import as_polynomial, flat, numbers_of, operand_of
from opweave.tracer.launches import TUNED, Launch, Part, separated, take_apart
from opweave.tracer.loops.size import INT32_OFFSETS, Variable

_TRITON = {"f16": "tl.float16", "bf16": "tl.bfloat16", "f32": "tl.float32", "f64": "tl.float64", "i1": "tl.int1",
           "i8": "tl.int8", "i16": "tl.int16", "i32": "tl.int32", "i64": "tl.int64"}  # fmt: skip
_WIDE_SUM = re.compile(r"arith\.(?:addi|subi|muli) [^:]*: (?:tensor<[\dx]*)?i64")


@dataclass(frozen=True)
class Argument:
    """What a parameter of the kernel is given.

    Attributes
    ----------
    role : {"operand", "result", "scratch", "number", "nothing"}
        An operand of the launch by name, or a node of the region; a result by its place; memory that only the kernel
        needs, by the operand's name; a number; or an address that nobody follows.
    what : object
    """

    role: Literal["operand", "result", "scratch", "number", "nothing"]
    what: Any = None


@dataclass
class Fused:
    """A kernel, and what to launch it with."""

    kernel: KernelSource
    arguments: list[Argument]


@dataclass
class Sides:
    """The parts around a launch as functions to be.

    Attributes
    ----------
    before : dict of str to (Before, Part)
        By operand that is loaded.
    after : dict of str to list of (After, Part)
        By operand that is stored to.
    """

    before: dict[str, tuple[Before, Part]] = field(default_factory=dict[str, tuple[Before, Part]])
    after: dict[str, list[tuple[After, Part]]] = field(default_factory=dict[str, list[tuple[After, Part]]])


def sides(launch: Launch, *, wide: bool = False) -> Sides:
    """What stands around a launch, as functions of one block.

    Raises
    ------
    Unfit
        If a part is none.
    """
    found = Sides()
    for name, part in launch.before.items():
        found.before[name] = Before.of(part.graph, wide=wide), part
    for name, parts in launch.after.items():
        try:
            found.after[name] = [_after(part, wide) for part in parts]
        except (Unfit, CompileError) as error:
            interrupts.let_through(error)
            found.after[name] = [_after(one, wide) for part in parts for one in separated(part)]
    return found


def _after(part: Part, wide: bool) -> tuple[After, Part]:
    number = next(i for i, operand in enumerate(part.operands) if operand.op != "placeholder")
    return After.of(part.graph, number, wide=wide), part


def objection(region: Graph, *, wide: bool = False) -> str:
    """Why a region with a launch cannot be one kernel; empty where it can."""
    launch = take_apart(region)
    assert launch is not None
    try:
        sides(launch, wide=wide)
    except (Unfit, CompileError) as error:
        interrupts.let_through(error)
        return str(error).splitlines()[0]
    return ""


def digest(node: Node) -> str:
    """What tells a launch's kernel from others whose launches print alike."""
    kernel, form = kernels[node.kwargs["kernel_idx"]], forms[node.kwargs["constant_args_idx"]]
    if isinstance(kernel, CompiledText):
        text: Any = kernel.digest
    else:
        found = effects.configurations(kernel, form.arguments(_shown(node)))
        text = [
            (jit and jit.cache_key, [(name, _told(value)) for name, value in flat(values).items()])
            for jit, values, _ in found
        ]
        tuner = tuner_of(kernel)
        text += [(tuner.keys, node.meta.get(TUNED))] if tuner is not None else []
    return hashlib.sha256(repr((text, form.key)).encode()).hexdigest()


def digest_of(device: Device, compiled: Sequence[tuple[str, KernelSource]]) -> str:
    """What tells a tuned launch from others, whatever file it stands in: its configurations and their kernels."""
    text = [(label, without_places(kernel.source), kernel.options) for label, kernel in compiled]
    return hashlib.sha256(repr((device.type, text)).encode()).hexdigest()[:40]


def _told(value: Any) -> str:
    """What tells an argument from others: of a function of Triton's its text, of a number that is open its width."""
    if isinstance(value, Symbolic) and value.kind == "int":
        return f"{value!r} {effects.any_like(value)}"
    return getattr(value, "cache_key", None) or repr(value)


def _shown(node: Node) -> dict[str, Any]:
    """Operands as values."""
    return {k: v.meta["val"] if isinstance(v, Node) else v for k, v in node.kwargs["kwargs"].items()}


def fused_kernel(
    region: Graph, name: str, device: Device, aligned: frozenset[str], own: frozenset[int], *, wide: bool = False,
    configuration: int = 0,
) -> Fused:  # fmt: skip
    """The kernel of a region with a launch.

    Parameters
    ----------
    region : Graph
        The region.
    name : str
        What to call the kernel in generated code.
    device : Device
        Where it runs.
    aligned : frozenset of str
        Inputs of the region whose addresses are multiples of 16 bytes.
    own : frozenset of int
        Results of which that is known too.
    wide : bool
        Whether offsets may not fit in 32 bits.
    configuration : int
        Which of the configurations of a tuned kernel.

    Raises
    ------
    CompileError
        If Triton does not take the text.
    """
    launch = take_apart(region)
    assert launch is not None
    load_triton()
    try:
        with interrupts.deferred():
            return _Fusion(launch, sides(launch, wide=wide), name, device, aligned, own, wide, configuration).run()
    except Exception as error:  # Triton raises whatever its frontend stumbles over
        interrupts.let_through(error)
        user = name_of(kernels[launch.node.kwargs["kernel_idx"]])
        raise CompileError(
            f"{user}: cannot be one kernel with what stands around its launch",
            got=f"{type(error).__name__}: {error}",
            at=launch.node.meta.get("site"),
            hint="compile(..., options={'fuse_launches': False}) launches it by itself",
        ) from error


class _Fusion:
    def __init__(
        self, launch: Launch, sides: Sides, name: str, device: Device, aligned: frozenset[str], own: frozenset[int],
        wide: bool, configuration: int,
    ) -> None:  # fmt: skip
        self.launch, self.sides, self.name, self.device = launch, sides, name, device
        self.configuration = configuration
        self.aligned, self.own, self.wide = aligned, own, wide
        self.serial = itertools.count()
        #: What names begin with that the kernel has not.
        self.mark = "put_"
        self.variables: dict[Variable, str] = {}
        self.variable_types: dict[Variable, str] = {}
        self.pointers: dict[str, tuple[str, Argument]] = {}
        self.functions: dict[tuple[Any, ...], tuple[BlockFunction, Functions]] = {}
        self.widest = 32

    def run(self) -> Fused:
        node = self.launch.node
        kernel, form = kernels[node.kwargs["kernel_idx"]], forms[node.kwargs["constant_args_idx"]]
        operands = _shown(node)
        if isinstance(kernel, CompiledText):
            found: Any = kernel
            values = operands
        else:
            found, values, _ = list(effects.configurations(kernel, form.arguments(operands)))[self.configuration]
        self.given = given = launch_text(found, values, self.device)
        text, names, options, context = given.text, given.names, given.options, given.context
        self.widest = 64 if _WIDE_SUM.search(text) else 32
        text, arguments = self._arguments(text, names, flat(values))
        text = str(self._simplified(read(text, context)))
        while f"%{self.mark}" in text:
            self.mark += "_"
        # What Triton printed anew has other names, but the same order.
        parameters = kernel_parameters(text)
        accesses = analyse(text, names)
        grid = node.kwargs["grid"][self.configuration]
        accesses = in_launch(accesses, numbers_of(values), [_count(size) for size in grid])
        edits = self._edits(accesses, parameters, names)
        lines = text.splitlines()
        text = "\n".join([*(line for k, old in enumerate(lines) for line in edits.get(k, [old])), ""])
        more, more_arguments = self._further()
        text = with_parameters(text, [*kernel_parameters(text), *more])
        text = with_functions(text, [functions for _, functions in self.functions.values()])
        final, kept = without_unused(str(self._simplified(read(text, context))))
        arguments = [*arguments, *more_arguments]
        final = _aligned(final, [self._is_aligned(arguments[k]) for k in kept])
        types = [_triton_type(p.type) for p in kernel_parameters(final)]
        signature = tuple((f"p{i}", kind) for i, kind in enumerate(types))
        source = KernelSource(
            self.name, final, (), {}, (None, 1, 1), signature, language="ttir",
            options=tuple(sorted(options_for(options, self.device).items())), helpers=self._helpers(),
        )  # fmt: skip
        return Fused(source, [arguments[k] for k in kept])

    # ---- the user's kernel

    def _arguments(self, text: str, names: Sequence[str], values: Mapping[str, Any]) -> tuple[str, list[Argument]]:
        """The text with nothing said of its pointers, and what its parameters are given."""
        kept: list[Parameter] = []
        arguments: list[Argument] = []
        for parameter, name in zip(kernel_parameters(text), names, strict=True):
            if isinstance(values.get(name), Tensor):
                kept.append(Parameter(parameter.name, parameter.type, "", parameter.location))
                arguments.append(self._operand(operand_of(name)))
            else:
                kept.append(parameter)
                arguments.append(Argument("number", values.get(name)))
        return with_parameters(text, kept), arguments

    def _operand(self, name: str) -> Argument:
        launch = self.launch
        if name in launch.kept:
            return Argument("result", launch.kept[name])
        if name in launch.stored:
            return Argument("scratch", name)
        if name in launch.before or name in launch.after:
            return Argument("nothing")
        return Argument("operand", launch.operands[name])

    def _is_aligned(self, argument: Argument) -> bool:
        if argument.role == "result":
            return argument.what in self.own
        return argument.role == "scratch" or (argument.role == "operand" and argument.what.name in self.aligned)

    def _simplified(self, module: Any) -> Any:
        """With functions and constants put where they are used."""
        names = ("common.inliner", "common.canonicalizer", "ttir.reorder_broadcast", "common.cse", "ttir.triton_licm",
                 "common.symbol_dce")  # fmt: skip
        return run_passes(module, names, "fused launch")

    # ---- numbers

    def _number(self, variable: Variable, kind: str = "") -> str:
        """The parameter that holds a number."""
        name = self.variables.get(variable)
        if name is None:
            name = self.variables[variable] = f"%{self.mark}n{len(self.variables)}"
            self.variable_types[variable] = kind or ("i64" if self.wide else "i32")
        return name

    # ---- edits

    def _edits(
        self, accesses: KernelAccesses, parameters: Sequence[Parameter], names: Sequence[str]
    ) -> dict[int, list[str]]:
        edits: dict[int, list[str]] = {}
        for name, (before, part) in self.sides.before.items():
            known = _parameter(accesses, name)
            for access in known.loads:
                edits[access.op.number] = self._load(access, parameters[known.index], name, before, part)
        for name in self.launch.apart - self.sides.before.keys():
            known = _parameter(accesses, name)
            for access in known.loads:
                edits[access.op.number] = self._load_elsewhere(access, parameters[known.index], name)
        for name, found in self.sides.after.items():
            known = _parameter(accesses, name)
            for access in known.stores:
                lines: list[str] = []
                for k, (after, part) in enumerate(found):
                    function = f"after_{_word(name)}" + (f"_{k}" if len(found) > 1 else "")
                    lines += self._store(access, parameters[known.index], name, function, after, part)
                kept = [access.op.line + _location(access)] if name in self.launch.stored else []
                edits[access.op.number] = [*lines, *kept]
        return edits

    def _code(self, elem: str, access: Access) -> Code:
        def known(leaf: Known) -> Value:
            name = self._number(leaf.key)
            return Value(name, Type(self.variable_types[leaf.key]))

        shape = access.op.operands[0].type.shape
        return Code(elem, shape, _location(access), lambda: f"%{self.mark}{next(self.serial)}", known, self.widest)

    def _load_elsewhere(self, access: Access, base: Parameter, name: str) -> list[str]:
        """A load of what the kernel writes in place, from where it is before."""
        op, node = access.op, self.launch.operands[name]
        assert isinstance(node, Node)
        value = node.meta["val"]
        code = self._code("i64" if self.wide or value.numel() >= INT32_OFFSETS else "i32", access)
        whole = [as_polynomial(value.numel())], [Polynomial.of(1)]
        pointer = op.operands[0]
        parameter = Value(base.name, Type("ptr", None, pointer.type.pointee))
        (place,) = code.index(access, pointer, parameter, *whole, value._dtype.itemsize)
        source = code.block(Value(self._pointer(Argument("operand", node), pointer.type.pointee or ""), parameter.type))
        there = code.add(f"tt.addptr {source.name}, {place.name} : {pointer.type}, {place.type}", pointer.type)
        old = re.escape(pointer.name) + r"(?![\w#])"
        return [*code.lines, re.sub(f"(= tt.load ){old}", rf"\1{there.name}", op.line) + code.location]

    def _pointer(self, argument: Argument, elem: str) -> str:
        """The parameter for an operand or a result."""
        what = argument.what
        key = f"{argument.role} {what.name if isinstance(what, Node) else what}"
        self.pointers.setdefault(key, (f"!tt.ptr<{elem}>", argument))
        return f"%{self.mark}p{list(self.pointers).index(key)}"

    def _index(self, access: Access, base: Parameter, frame: Frame, code: Code, dtype: DType) -> list[Value]:
        pointer = access.op.operands[0]
        parameter = Value(base.name, Type("ptr", None, base.type.removeprefix("!tt.ptr<").removesuffix(">")))
        sizes, strides = ([as_polynomial(size) for size in found] for found in (frame.sizes, frame.strides))
        return code.index(access, pointer, parameter, sizes, strides, dtype.itemsize)

    def _load(self, access: Access, base: Parameter, name: str, before: Before, part: Part) -> list[str]:
        op = access.op
        dtype = before.nest.outputs[0].dtype
        code = self._code("i64" if before.wide else "i32", access)
        index = self._index(access, base, before.frame, code, dtype)
        rest = op.operands[1:]
        function = before.function(f"before_{_word(name)}", masked=len(rest) > 0, padded=len(rest) > 1)
        made = self._made(function, [*index, *rest], {len(index) + 1: dtype} if len(rest) > 1 else {})
        values = [*index, *rest, *self._values(function, part)]
        code.lines.append(_call(made, values, op.result, code.location))
        return code.lines

    def _store(
        self, access: Access, base: Parameter, name: str, function_name: str, after: After, part: Part
    ) -> list[str]:
        op = access.op
        dtype = self.launch.node.meta["val"][name]._dtype
        code = self._code("i64" if after.wide else "i32", access)
        index = self._index(access, base, after.frame, code, dtype)
        value, rest = op.operands[1], op.operands[2:]
        function = after.function(function_name, masked=bool(rest))
        made = self._made(function, [value, *index, *rest], {0: dtype})
        values = [value, *index, *rest, *self._values(function, part)]
        code.lines.append(_call(made, values, None, code.location))
        return code.lines

    def _values(self, function: BlockFunction, part: Part) -> list[Value]:
        """What a function's buffers and numbers are in the kernel."""
        found: list[Value] = []
        nodes = dict(zip((p.name for p in part.graph.placeholders()), part.operands, strict=True))
        results = iter(part.results)
        for buffer in function.buffers:
            elem = buffer.dtype.triton
            kind = {"i1": "i1", "u8": "i8"}.get(str(elem), str(elem).replace("fp", "f").replace("bff", "bf"))
            node = nodes.get(buffer.name)
            argument = Argument("operand", node) if node is not None else Argument("result", next(results))
            found.append(Value(self._pointer(argument, kind), Type("ptr", None, kind)))
        for variable, kind in function.numbers:
            name = self._number(variable, kind.replace("fp", "f"))
            found.append(Value(name, Type(self.variable_types[variable])))
        return found

    def _further(self) -> tuple[list[Parameter], list[Argument]]:
        """The parameters that the functions ask for."""
        parameters = [Parameter(f"%{self.mark}p{i}", kind) for i, (kind, _) in enumerate(self.pointers.values())]
        arguments = [argument for _, argument in self.pointers.values()]
        for variable, name in self.variables.items():
            parameters.append(Parameter(name, self.variable_types[variable]))
            arguments.append(Argument("number", variable.number))
        return parameters, arguments

    # ---- functions

    def _made(self, function: BlockFunction, values: Sequence[Value], dtypes: Mapping[int, DType]) -> Functions:
        """A function as TTIR, for blocks of these types; `dtypes` of those whose sign matters."""
        types = tuple(str(v.type) for v in values)
        key = (function.source, types)
        found = self.functions.get(key)
        if found is None:
            blocks: list[str] = []
            for i, v in enumerate(values):
                dtype = dtypes.get(i)
                kind = "tl.uint8" if dtype is not None and dtype.name == "uint8" else _TRITON[v.type.elem]
                zero = "0.0" if "float" in kind else "0"
                blocks.append(f"tl.full({list(v.type.dims)}, {zero}, {kind})")
            names = [f"p{i}" for i in range(len(function.buffers) + len(function.numbers))]
            call = f"{function.name}({', '.join([*blocks, *names])})"
            source = f"{function.source}\n\n@triton.jit\ndef kernel({', '.join(names)}):\n    {call}\n"
            signature = [f"*{b.dtype.triton}" for b in function.buffers] + [kind for _, kind in function.numbers]
            file = f"<opweave {function.name} {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
            text = self._lowered(source, file, dict(zip(names, signature, strict=True)))
            found = self.functions[key] = function, Functions.of(text, f"s{len(self.functions)}_", file, function.sites)
        return found[1]

    def _lowered(self, source: str, file: str, signature: Mapping[str, str]) -> str:
        from triton.compiler import ASTSource

        context, backend, target = self.given.context, self.given.backend, self.given.target
        function = load_module(Path(file), source, {}).kernel
        options = backend.parse_options(options_for({}, self.device))
        with effects.compiling(target), parsing:
            made: Any = ASTSource(function, dict(signature), {}, {})
            return str(first_ir(made, backend, target, options, context))

    def _helpers(self) -> str:
        """The functions as one text."""
        sources = [function.source.partition("@triton.jit") for function, _ in self.functions.values()]
        imports = dict.fromkeys(line for head, _, _ in sources for line in head.splitlines() if line)
        return "\n\n\n".join(["\n".join(imports), *(mark + body.rstrip("\n") for _, mark, body in sources)]) + "\n"


def _call(function: Functions, values: Sequence[Value], result: Value | None, location: str) -> str:
    names, types = ", ".join(v.name for v in values), ", ".join(str(v.type) for v in values)
    head = f"{result.name} = " if result is not None else ""
    made = str(result.type) if result is not None else "()"
    return f"{head}tt.call @{function.name}({names}) : ({types}) -> {made}{location}"


def _parameter(accesses: KernelAccesses, operand: str) -> AccessedParameter:
    """What the kernel does with an operand, all of which must be known."""
    found = next(p for p in accesses.parameters if operand_of(p.name) == operand)
    if found.escapes:
        raise Unfit(f"{operand}: {found.escapes[0].reason}")
    return found


def _word(operand: str) -> str:
    """An operand's name in a name."""
    return re.sub(r"\W", "_", operand)


def _location(access: Access) -> str:
    return access.op.location


def _count(size: Any) -> int | None:
    return size if type(size) is int else None


def _triton_type(text: str) -> str:
    if text.startswith("!tt.ptr<"):
        return "*" + _triton_type(text.removeprefix("!tt.ptr<").removesuffix(">"))
    return re.sub(r"^(b?)f(\d+)$", lambda m: f"{'bf' if m.group(1) else 'fp'}{m.group(2)}", text)


def _aligned(text: str, known: Sequence[bool]) -> str:
    note = "{tt.divisibility = 16 : i32}"
    parameters = [
        Parameter(p.name, p.type, note if yes and p.type.startswith("!tt.ptr") else p.attributes, p.location)
        for p, yes in zip(kernel_parameters(text), known, strict=True)
    ]
    return with_parameters(text, parameters)
