"""An artifact as LLVM modules: the tables of its entries as constants, the functions of its own, what they need."""

from __future__ import annotations

import hashlib
import struct
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.codegen import blas, convolution, narrow_products, native
from opweave.codegen.artifact.entries import FIRST_MESSAGE, Entry
from opweave.codegen.artifact.kernels import Compiled
from opweave.codegen.artifact.tensors import Described
from opweave.codegen.native import amx, llvm, objects, pool, segments, vector_products
from opweave.codegen.native.llvm import Host
from opweave.codegen.native.segments import Symbol
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType

#: What stands at the start of a file of weights, before their digest.
MAGIC = b"opweave weights\0"
#: Bytes before the weights in such a file.
HEAD = 64
#: An address that vectors can be stored to.
_RESULT_ALIGNMENT = 16
_STACK_WORDS = 1 << 12

#: Codes of errors that do not come from a check of the program.
CODES = {
    "MEMORY": (3, "there is no memory"),
    "NULL": (10, "a pointer that must be given is null"),
    "NO_ENTRY": (11, "there is no entry of that number"),
    "INPUTS": (12, "another number of inputs than the entry has"),
    "RESULTS": (13, "another number of results than the entry has"),
    "CPU": (14, "the artifact is for another processor: this one lacks instructions that it uses"),
    "NO_WEIGHTS": (15, "the file of weights cannot be opened"),
    "WRONG_WEIGHTS": (16, "the file of weights is not the one that was made with the artifact"),
}
_OTHERS = {0: "", 1: "the call was interrupted", 2: "a size, or a number that follows from sizes, is too large"}
#: Of the first custom operator that is missing.
FIRST_OPERATOR = 20
_UNKNOWN = "no such error"

#: Bits of `cpuid` by LLVM's names of features: the leaf, the register, the bit.
_BITS = {
    **{name: ("LEAF1_C", bit) for name, bit in (
        ("sse3", 0), ("pclmul", 1), ("ssse3", 9), ("fma", 12), ("cx16", 13), ("sse4.1", 19), ("sse4.2", 20),
        ("movbe", 22), ("popcnt", 23), ("aes", 25), ("avx", 28), ("f16c", 29), ("rdrnd", 30),
    )},
    "sse": ("LEAF1_D", 25), "sse2": ("LEAF1_D", 26),
    **{name: ("LEAF7_B", bit) for name, bit in (
        ("bmi", 3), ("avx2", 5), ("bmi2", 8), ("avx512f", 16), ("avx512dq", 17), ("rdseed", 18), ("adx", 19),
        ("avx512ifma", 21), ("avx512cd", 28), ("sha", 29), ("avx512bw", 30), ("avx512vl", 31),
    )},
    **{name: ("LEAF7_C", bit) for name, bit in (
        ("avx512vbmi", 1), ("avx512vbmi2", 6), ("gfni", 8), ("vaes", 9), ("vpclmulqdq", 10), ("avx512vnni", 11),
        ("avx512bitalg", 12), ("avx512vpopcntdq", 14),
    )},
    **{name: ("LEAF7_D", bit) for name, bit in ((amx.BF16, 22), (amx.TILES, 24), (amx.INT8, 25))},
    "avx512bf16": ("LEAF7_1_A", 5),
    **{name: ("EXTENDED_C", bit) for name, bit in (("sahf", 0), ("lzcnt", 5), ("sse4a", 6), ("fma4", 16))},
}  # fmt: skip
_OSXSAVE = 27


@dataclass(frozen=True)
class Artifact:
    """What there is to be put into one object file.

    Attributes
    ----------
    name : str
        What its functions begin with.
    entries : tuple of Entry
        Its programs.
    kernels : tuple of Compiled
        What they launch.
    messages : tuple of str
        What its checks say.
    operators : tuple of str
        Custom operators that it calls.
    weights : bytes
        Tensors that it brings along.
    inside : bool
        Whether they are part of the object file.
    description : str
        What it says of itself.
    machine : Host
        What it is for.
    blas : bool
        Whether products call CBLAS.
    """

    name: str
    entries: tuple[Entry, ...]
    kernels: tuple[Compiled, ...]
    messages: tuple[str, ...]
    operators: tuple[str, ...]
    weights: bytes
    inside: bool
    description: str
    machine: Host
    blas: bool


#: What others see of an artifact, behind its name.
FUNCTIONS = ("description", "error", "set_threads", "create", "destroy", "result_sizes", "run")


def symbol_of(operator: str) -> str:
    """The C name of a custom operator."""
    return "opweave_op_" + "".join(c if c.isalnum() else "_" for c in operator)


def weights_head(weights: bytes) -> bytes:
    """What a file of weights begins with."""
    return (MAGIC + hashlib.sha256(weights).digest()).ljust(HEAD, b"\0")


def compile_module(artifact: Artifact) -> tuple[bytes, tuple[str, ...]]:
    """The object file, and what others must define.

    Raises
    ------
    CompileError
        If LLVM rejects a text.
    """
    processor = artifact.machine.triple.partition("-")[0]
    vectors = blas.REALS if artifact.blas else ()
    modules = [
        ("the thread pool", pool.source(processor), pool.CODE.level),
        ("the artifact", source(artifact), objects.CLEANED),
        ("what stands for Python", native.source("standalone", numbers={}), objects.PROMOTED),
        ("matrix products", _products(artifact.blas), objects.PROMOTED),
        *[(f"products of vectors of {r}", vector_products.module(r, 256), objects.PROMOTED) for r in vectors],
        *[
            (f"{what} of {t}", provider.source(t, artifact.machine), objects.PROMOTED)
            for what, provider, t in _provided(artifact)
        ],
        *[(kernel.name, kernel.lowered.llvm_ir, objects.CLEANED) for kernel in artifact.kernels],
    ]
    exported = [f"{artifact.name}_{function}" for function in FUNCTIONS]
    return llvm.join_objects(modules, exported, of=artifact.machine)


def _provided(artifact: Artifact) -> list[tuple[str, Any, DType]]:
    """What code of the runtime it calls, of which types."""
    recorders = [entry.recorder for entry in artifact.entries]
    found = {("convolutions", convolution, t) for recorder in recorders for t in recorder.convolved}
    found |= {("products", narrow_products, t) for recorder in recorders for t in recorder.multiplied}
    return sorted(found, key=lambda each: (each[0], each[2].name))


def _products(by_blas: bool) -> str:
    if not by_blas:
        return "define i32 @opweave_product(ptr %words) {\n  ret i32 2\n}"
    source = blas.source("i32").replace(
        "@opweave_multiply_float_at = external global ptr", "@opweave_multiply_float_at = internal global ptr null"
    )
    for symbol in map(vector_products.symbol, blas.REALS):
        source = source.replace(f"@{symbol}_at = external global ptr", f"@{symbol}_at = internal global ptr @{symbol}")
        source += f"declare i1 @{symbol}({vector_products.PARAMETERS})\n"
    for letter in "sd":
        source = source.replace(f"@blas_{letter}gemm = external global i8", f"declare void @cblas_{letter}gemm()")
        source = source.replace(f"@blas_{letter}gemm", f"@cblas_{letter}gemm")
    for what, kind in (("get", "i32 @openblas_get_threads()"), ("set", "void @openblas_set_threads(i32)")):
        source = source.replace(f"declare {kind}", _THREADS[what])
    return source


#: A BLAS need not be OpenBLAS.
_THREADS = {
    "get": """\
declare extern_weak i32 @openblas_get_num_threads()
define internal i32 @openblas_get_threads() {
  %none = icmp eq ptr @openblas_get_num_threads, null
  br i1 %none, label %one, label %ask
one:
  ret i32 1
ask:
  %n = call i32 @openblas_get_num_threads()
  ret i32 %n
}""",
    "set": """\
declare extern_weak void @openblas_set_num_threads(i32)
define internal void @openblas_set_threads(i32 %n) {
  %none = icmp eq ptr @openblas_set_num_threads, null
  br i1 %none, label %out, label %set
set:
  call void @openblas_set_num_threads(i32 %n)
  br label %out
out:
  ret void
}""",
}


def source(artifact: Artifact) -> str:
    """The LLVM IR of an artifact's own functions, and of all that they read."""
    processor = artifact.machine.triple.partition("-")[0]
    operators, baseline = artifact.operators, _BASELINE.get(processor, "generic")
    numbers: dict[str, object] = {
        "CLOCK": time.CLOCK_MONOTONIC,
        "NAME": artifact.name,
        "STACK_WORDS": _STACK_WORDS,
        "ENTRIES": len(artifact.entries),
        "OPERATORS": len(operators),
        "FIRST_OPERATOR": FIRST_OPERATOR,
        "WEIGHTS": len(artifact.weights),
        "FILE_BYTES": HEAD + len(artifact.weights),
        "ATTRIBUTES": f'attributes #0 = {{ "target-cpu"="{baseline}" "target-features"="" }}',
        **{name: code for name, (code, _) in CODES.items()},
        **_wanted_bits(artifact.machine),
        **segments.operations(),
    }
    data = _Data()
    messages = list(artifact.messages)
    entries = ", ".join(_entry(data, entry, messages) for entry in artifact.entries)
    texts = [_UNKNOWN] * FIRST_MESSAGE
    for code, text in (*_OTHERS.items(), *CODES.values()):
        texts[code] = text
    for i, operator in enumerate(operators):
        texts[FIRST_OPERATOR + i] = (
            f"the operator {operator} is missing: give it to {artifact.name}_create, or link {symbol_of(operator)}"
        )
    texts += messages
    numbers["CODES"] = len(texts)
    data.line(f"@entries = internal constant [{len(artifact.entries)} x %Entry] [{entries}]")
    data.line(f"@texts = internal constant [{len(texts)} x ptr] [{', '.join(f'ptr {data.string(t)}' for t in texts)}]")
    data.line(f"@unknown.text = internal alias i8, ptr {data.string(_UNKNOWN)}")
    data.line(f"@description = internal alias i8, ptr {data.string(artifact.description)}")
    names = ", ".join(f"ptr {data.string(name)}" for name in operators)
    linked = ", ".join(f"ptr @{symbol_of(name)}" for name in operators)
    data.line(f"@operators = internal constant [{len(operators)} x ptr] [{names}]")
    data.line(f"@linked = internal constant [{len(operators)} x ptr] [{linked}]")
    for name in operators:
        data.line(f"declare extern_weak i32 @{symbol_of(name)}(ptr, ptr, ptr)")
    head = weights_head(artifact.weights)
    data.line(f'@weights.head = internal constant [{HEAD} x i8] c"{_escaped(head)}", align 8')
    if artifact.inside and artifact.weights:
        kind = f"[{len(artifact.weights)} x i8]"
        data.line(f'@weights.data = internal constant {kind} c"{_escaped(artifact.weights)}", align 64')
        data.line("@weights = internal constant ptr @weights.data")
    else:
        data.line("@weights = internal constant ptr null")
    for _, provider, dtype in _provided(artifact):
        data.line(f"declare i32 @{provider.symbol(dtype)}(ptr)")
    for kernel in artifact.kernels:
        data.line(
            f"@{kernel.word.name} = internal global %Kernel {{ ptr @{kernel.name}, ptr null, i64 0, double 0.0, "
            "[3 x i64] zeroinitializer, ptr null, i64 0, [0 x %Parameter] zeroinitializer }"
        )
        data.line(f"declare void @{kernel.name}(ptr, i64, i64, i32, i32, i32)")
    text = native.source("clock", "kernel", "steps", "lacking", "model", numbers=numbers, of=processor)
    return "\n".join([text, *data.lines])


_BASELINE = {"x86_64": "x86-64"}


def _wanted_bits(machine: Host) -> dict[str, object]:
    """What `cpuid` must say for a machine's code to run."""
    found: dict[str, int] = dict.fromkeys(
        ("LEAF1_C", "LEAF1_D", "LEAF7_B", "LEAF7_C", "LEAF7_D", "LEAF7_1_A", "EXTENDED_C", "XCR", "TILES"), 0
    )
    for feature in machine.features:
        if feature in _BITS:
            register, bit = _BITS[feature]
            found[register] |= 1 << bit
    if "avx" in machine.features:
        found["LEAF1_C"] |= 1 << _OSXSAVE
        found["XCR"] = 0xE6 if "avx512f" in machine.features else 0x6
    if amx.TILES in machine.features:
        found["XCR"] |= 0x60000
        found["TILES"] = 1
    return {name: struct.unpack("i", struct.pack("I", value))[0] for name, value in found.items()}


class _Data:
    """Constants, a line each."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._strings: dict[str, str] = {}

    def line(self, text: str) -> None:
        self.lines.append(text)

    def string(self, text: str) -> str:
        """The name of a text that ends with a zero."""
        name = self._strings.get(text)
        if name is None:
            name = self._strings[text] = f"@text.{len(self._strings)}"
            data = text.encode() + b"\0"
            self.line(f'{name} = internal constant [{len(data)} x i8] c"{_escaped(data)}"')
        return name

    def words(self, name: str, values: Sequence[int | Symbol]) -> str:
        """The name of an array of words."""
        parts = [f"i64 {v}" if isinstance(v, int) else f"i64 ptrtoint (ptr @{v.name} to i64)" for v in values]
        self.line(f"@{name} = internal constant [{len(values)} x i64] [{', '.join(parts)}], align 8")
        return f"@{name}"


def _entry(data: _Data, entry: Entry, messages: list[str]) -> str:
    recorder, table = entry.recorder, entry.table
    template = data.words(f"template.{entry.name}", recorder.template)
    rows = ", ".join(f"%Instruction {{ {', '.join(f'i32 {n}' for n in row)} }}" for row in table)
    data.line(f"@table.{entry.name} = internal constant [{len(table)} x %Instruction] [{rows}]")
    inputs = _described(data, entry, "inputs", entry.inputs, messages)
    results = _described(data, entry, "results", entry.results, messages)
    words = (
        f"i64 {recorder.end}", f"i64 {len(recorder.inputs)}", f"i64 {len(recorder.template)}", f"ptr {template}",
        f"ptr @table.{entry.name}", f"i64 {len(entry.first)}", f"i64 {len(table)}", f"i64 {entry.memory}",
        f"i64 {len(entry.inputs)}", f"ptr {inputs}", f"i64 {len(entry.results)}", f"ptr {results}",
    )  # fmt: skip
    return f"%Entry {{ {', '.join(words)} }}"


def _described(data: _Data, entry: Entry, what: str, tensors: Sequence[Described], messages: list[str]) -> str:
    name = f"{what}.{entry.name}"
    rows: list[str] = []
    for i, tensor in enumerate(tensors):
        is_result = what == "results"
        dims = data.words(f"{name}.{i}", tensor.dims)
        multiple = max(_RESULT_ALIGNMENT, tensor.dtype.itemsize) if is_result else tensor.dtype.itemsize
        kind = f"{tensor.dtype.name}[{', '.join(map(str, tensor.sizes))}]"
        said = [
            "its data is null", f"its elements must be {tensor.dtype.name}",
            f"it must have {len(tensor.sizes)} dimensions, and say its sizes", "it must be on the CPU",
            f"its address must be a multiple of {multiple}",
            f"it must be {kind} with strides [{', '.join(map(str, tensor.strides))}]",
            "it lies in memory of another tensor",
        ]  # fmt: skip
        word = len(tensor.sizes) | tensor.dtype.dlpack << 32
        first = FIRST_MESSAGE + len(messages)
        messages += [f"{entry.name}: {tensor.name}: {text}" for text in said]
        rows.append(
            f"%Described {{ i64 {word}, i64 {tensor.place}, ptr {dims}, i64 {multiple}, i64 {first}, "
            f"i64 {tensor.dtype.itemsize} }}"
        )
    data.line(f"@{name} = internal constant [{len(rows)} x %Described] [{', '.join(rows)}]")
    return f"@{name}"


_HEX = np.array([f"\\{byte:02X}".encode() for byte in range(256)], dtype="S3")


def _escaped(data: bytes) -> str:
    """Bytes as LLVM writes them."""
    return _HEX[np.frombuffer(data, np.uint8)].tobytes().decode()
