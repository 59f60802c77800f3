"""Programs of strangers: kernels that reach outside, ops that were not allowed, steps and memory without end."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import mutated_files
import numpy as np
import pytest
import triton
import triton.language as tl
from mutated_files import entries_of, sealed

import opweave
from opweave.codegen.triton_cpu.verify import TTIRError, verify
from opweave.export import ExportedProgram, export, load, save
from opweave.library import custom_op, triton_op, wrap_triton
from opweave.registry.errors import ArgumentError, ExportError, OpweaveError, SanitizerError, UnsupportedError
from opweave.registry.tensor import Tensor, from_numpy


@triton.jit
def plus_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton_op("untrusted::plus", mutates_args=())
def plus(x: Tensor, y: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    wrap_triton(plus_kernel)[(triton.cdiv(x.numel(), 16),)](x, y, out, x.numel(), BLOCK=16)
    return out


@triton.jit
def picked_kernel(x, places, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(places + i), 0))


@triton_op("untrusted::picked", mutates_args=())
def picked(x: Tensor, places: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    wrap_triton(picked_kernel)[(1,)](x, places, out, BLOCK=16)
    return out


@triton.jit
def collatz_kernel(x, out):
    value, steps = tl.load(x), 0
    while value > 1:
        value = tl.where(value % 2 == 0, value // 2, 3 * value + 1)
        steps += 1
    tl.store(out, steps)


@triton_op("untrusted::collatz", mutates_args=())
def collatz(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    wrap_triton(collatz_kernel)[(1,)](x, out)
    return out


calls: list[str] = []


@custom_op("untrusted::note", mutates_args=())
def note(x: Tensor, word: str) -> Tensor:
    calls.append(word)
    return x.clone()


@note.register_fake
def _(x: Tensor, word: str) -> Tensor:
    return opweave.empty_like(x)


X = from_numpy(np.arange(37, dtype=np.float32))


def saved(program: ExportedProgram) -> bytes:
    file = io.BytesIO()
    save(program, file)
    return file.getvalue()


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """A program with a triton_op's body, and one with the launch in its place."""
    program = export(lambda x: plus(x, x * 2) + 1, (X,))
    return {"body": saved(program), "launch": saved(program.run_decompositions())}


def changed(data: bytes, change: Callable[[str], str]) -> bytes:
    """The file with its kernel's text changed."""
    entries = entries_of(data)
    text = entries["kernels/0.ttir"].decode()
    assert change(text) != text
    entries["kernels/0.ttir"] = change(text).encode()
    return sealed(entries)


def edited(data: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    entries = entries_of(data)
    program = json.loads(entries["program.json"])
    change(program)
    entries["program.json"] = json.dumps(program).encode()
    return sealed(entries)


def run(data: bytes, *args: Any, **options: Any) -> Any:
    return load(io.BytesIO(data), untrusted=True, **options).module()(*(args or (X,)))


def replaced(old: str, new: str, count: int = -1) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, count)


def test_what_is_right_runs(files: dict[str, bytes]) -> None:
    for data in files.values():
        program = load(io.BytesIO(data), untrusted=True)
        np.testing.assert_array_equal(program.module()(X).numpy(), X.numpy() * 3 + 1)
        np.testing.assert_array_equal(program.run_decompositions().module()(X).numpy(), X.numpy() * 3 + 1)
        np.testing.assert_array_equal(program.graph_module(X)[0].numpy(), X.numpy() * 3 + 1)


@pytest.mark.parametrize("form", ["body", "launch"])
@pytest.mark.parametrize(
    ("old", "new"),
    [("cmpi slt", "cmpi sge"), ("cmpi slt", "cmpi sle"), (", %10", ""), ("constant 16 : i32", "constant -16 : i32"),
     ("constant 16 : i32", "constant -1000000 : i32")],
)  # fmt: skip
def test_kernels_that_reach_outside(files: dict[str, bytes], form: str, old: str, new: str) -> None:
    if old == ", %10":  # the mask of the store
        data = changed(files[form], lambda text: re.sub(r"(tt\.store %\w+, %\w+), %\w+ ", r"\1 ", text))
    else:
        data = changed(files[form], replaced(old, new))
    with pytest.raises(SanitizerError) as error:
        run(data)
    assert error.value.category == "outside" and error.value.kernel == "plus_kernel"
    assert re.search(r"plus_kernel\.ttir:\d+", str(error.value.at))
    # A trusted file's kernels are checked, too, where everything is.
    trusted = load(io.BytesIO(data))
    with opweave.sanitize(), pytest.raises(SanitizerError):
        load(io.BytesIO(data)).module()(X) if form == "launch" else trusted.run_decompositions().module()(X)


def test_a_result_with_holes(files: dict[str, bytes]) -> None:
    with pytest.raises(SanitizerError, match="nobody has written"):
        run(changed(files["launch"], replaced("constant 16 : i32", "constant 17 : i32")))
    returned = saved(export(lambda x: plus(x, x), (X,)))
    assert run(returned).tolist() == (X * 2).tolist()
    with pytest.raises(SanitizerError, match="returns memory that nobody has written"):
        run(changed(returned, replaced("constant 16 : i32", "constant 17 : i32")))


def test_memory_around_a_view(files: dict[str, bytes]) -> None:
    """What a tensor is a view of is not the program's."""
    whole = from_numpy(np.arange(60, dtype=np.float32))
    data = changed(files["launch"], replaced("cmpi slt", "cmpi sle"))
    with pytest.raises(SanitizerError, match="outside the memory of argument 'x'"):
        run(data, whole[10:47])
    np.testing.assert_array_equal(run(files["launch"], whole[10:47]).numpy(), whole.numpy()[10:47] * 3 + 1)


def test_addresses_that_a_kernel_makes_up(files: dict[str, bytes]) -> None:
    secret = from_numpy(np.arange(64, dtype=np.float32))

    def forged(text: str) -> str:
        evil = (
            f"%evil = arith.constant {secret.data_ptr()} : i64\n    %base = tt.int_to_ptr %evil : i64 -> !tt.ptr<f32>"
        )
        return text.replace("tt.splat %arg0", "tt.splat %base").replace("%1 = ", f"{evil}\n    %1 = ", 1)

    data = changed(files["launch"], forged)
    with pytest.raises(SanitizerError, match="an address that is no argument's"):
        run(data)
    with opweave.sanitize():  # one's own kernels may
        load(io.BytesIO(data)).module()(X)


def test_what_a_kernel_writes_is_what_the_file_says(files: dict[str, bytes]) -> None:
    data = edited(files["launch"], lambda p: p["kernels"][0].update(writes=[]))
    with pytest.raises(OpweaveError):
        run(data)
    swapped = changed(files["launch"], lambda text: re.sub(r"splat %arg2", "splat %arg1", text))
    with pytest.raises(SanitizerError) as error:
        run(swapped)
    assert error.value.category == "read-only"


def test_a_gather_from_outside() -> None:
    places = np.arange(16, dtype=np.int64)
    program = export(picked, (X[:16], from_numpy(places)))
    np.testing.assert_array_equal(run(saved(program), X[:16], from_numpy(places)).numpy(), X.numpy()[:16])
    for far in (16, -1, 2**40):
        places[3] = far
        with pytest.raises(SanitizerError, match="from outside a block") as error:
            run(saved(program), X[:16], from_numpy(places))
        assert error.value.index == (3,)


# ---- without end -----------------------------------------------------------------------------------------------------


def test_a_kernel_that_does_not_end() -> None:
    data = saved(export(collatz, (from_numpy(np.array([7])),)))
    assert run(data, from_numpy(np.array([7]))).item() == 16
    endless = changed(data, replaced("cmpi sgt", "cmpi sge"))
    with pytest.raises(SanitizerError, match="more than 100000 steps") as error:
        run(endless, from_numpy(np.array([7])), steps=100_000)
    assert error.value.category == "endless"


def test_programs_without_end(files: dict[str, bytes]) -> None:
    def huge(program: dict[str, Any]) -> None:
        node = next(n for n in program["graph"]["nodes"] if n["kind"] == "launch")
        node["grid"] = [2**31 - 1, 2**31 - 1, 1]

    with pytest.raises(OpweaveError):
        run(edited(files["launch"], huge), steps=1000)


def test_a_graph_that_does_not_end() -> None:
    def looped(x: Tensor) -> Tensor:
        return opweave.while_loop(lambda y: y.sum() < 100, lambda y: (y + 1,), (x,))[0]

    data = saved(export(looped, (opweave.zeros(2),)))
    assert run(data, opweave.zeros(2)).tolist() == [50, 50]
    with pytest.raises(ExportError, match="for more than 100 nodes"):
        run(data, opweave.full((2,), float("-inf")), steps=100_000)


def test_results_without_end() -> None:
    data = saved(export(lambda x: opweave.zeros(4, 4) + x.expand(4, 4), (opweave.ones(1),)))

    def huge(program: dict[str, Any]) -> None:
        for node in program["graph"]["nodes"]:
            node["args"] = json.loads(json.dumps(node["args"]).replace("4", str(2**24)))

    assert run(data, opweave.ones(1)).sum().item() == 16
    with pytest.raises(ExportError, match="too much memory"):
        run(edited(data, huge), opweave.ones(1))
    with pytest.raises(ExportError, match="too much memory"):
        run(data, opweave.ones(1), nbytes=63)


def test_numbers_without_end() -> None:
    program = export(
        lambda x: x.reshape(-1) * x.shape[0], (opweave.ones(3, 2),), dynamic_shapes={"x": {0: opweave.export.Dim("n")}}
    )
    data = saved(program)

    def grown(program: dict[str, Any]) -> None:
        nodes = program["graph"]["nodes"]
        first = next(n for n in nodes if n["val"] != [] and isinstance(n["val"], dict) and "number" in n["val"])
        at = nodes.index(first) + 1
        last = first["name"]
        for k in range(12):
            nodes.insert(at + k, {"name": f"grown_{k}", "kind": "number", "target": "pow", "val": first["val"],
                                  "args": [{"node": last}, 8], "kwargs": {}})  # fmt: skip
            last = f"grown_{k}"

    with pytest.raises(ExportError, match="beyond 64 bits"):
        run(edited(data, grown), opweave.ones(3, 2))


# ---- what it may call ------------------------------------------------------------------------------------------------


def test_ops_must_be_allowed() -> None:
    data = saved(export(lambda x: note(x, "a") + 1, (X,)))
    calls.clear()
    with pytest.raises(ExportError, match="untrusted::note") as error:
        run(data)
    assert "allow=['untrusted::note']" in str(error.value) and calls == []
    assert run(data, allow=["untrusted::note"]).tolist() == (X + 1).tolist() and calls == ["a"]
    calls.clear()


def test_a_triton_op_runs_as_the_file_has_it(files: dict[str, bytes]) -> None:
    data = changed(files["body"], replaced("arith.addf", "arith.subf"))
    np.testing.assert_array_equal(run(data).numpy(), 1 - X.numpy())
    np.testing.assert_array_equal(run(data, allow=["untrusted::plus"]).numpy(), X.numpy() * 3 + 1)


@pytest.mark.parametrize("options", [{"allow": "aten::sin"}, {"allow": [3]}, {"steps": 0}, {"nbytes": "1"}])
def test_limits_that_are_none(files: dict[str, bytes], options: Any) -> None:
    with pytest.raises(ArgumentError):
        load(io.BytesIO(files["body"]), untrusted=True, **options)


def test_it_is_not_traced(files: dict[str, bytes]) -> None:
    module = load(io.BytesIO(files["launch"]), untrusted=True).module()
    with pytest.raises(UnsupportedError, match="cannot be traced"):
        opweave.make_fx(module)(X)
    with pytest.raises(UnsupportedError, match="cannot be traced"):
        opweave.compile(module, fullgraph=True)(X)


# ---- TTIR ------------------------------------------------------------------------------------------------------------

KERNEL = """
module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.000000e+00 : f32
    %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %b = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %a = tt.addptr %b, %i : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %s = tt.splat %n : i32 -> tensor<16xi32>
    %m = arith.cmpi slt, %i, %s : tensor<16xi32>
    %x = tt.load %a, %m : tensor<16x!tt.ptr<f32>>
    %t = "tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%l: f32, %r: f32):
      %q = arith.addf %l, %r : f32
      tt.reduce.return %q : f32
    }) : (tensor<16xf32>) -> f32
    %f = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32)  : i32 {
      %g = arith.addf %acc, %t : f32
      scf.yield %g : f32
    }
    %h = arith.cmpi sgt, %n, %c1 : i32
    scf.if %h {
      tt.store %p, %f : !tt.ptr<f32>
    }
    tt.return
  }
}
"""

BAD = {
    "an operation that nobody knows": ("arith.addf %l", "arith.evil %l"),
    "inline assembly": ('"tt.reduce"', '"tt.elementwise_inline_asm"'),
    "types that do not fit": ("arith.addf %acc, %t", "arith.addf %acc, %n"),
    "a mask of another size": ("tt.load %a, %m", "tt.load %a, %h"),
    "a value of a loop behind it": ("tt.store %p, %f", "tt.store %p, %g"),
    "a value before it is there": ("arith.cmpi slt, %i, %s", "arith.cmpi slt, %i, %u"),
    "a huge block": ("{end = 16 : i32, start = 0 : i32} : tensor<16xi32>",
                     "{end = 8388608 : i32, start = 0 : i32} : tensor<8388608xi32>"),
    "a block of no power of two": ("tensor<16xi32>\n    %b", "tensor<17xi32>\n    %b"),
    "a range of another length": ("end = 16 : i32", "end = 32 : i32"),
    "a negative size": ("tensor<16xi32>\n    %b", "tensor<-16xi32>\n    %b"),
    "an axis that is not there": ("axis = 0", "axis = 1"),
    "no terminator": ("    tt.return\n", ""),
    "two terminators": ("    tt.return\n", "    tt.return\n    tt.return\n"),
    "a loop that yields another type": ("scf.yield %g : f32", "scf.yield %n : i32"),
    "a loop that yields nothing": ("      scf.yield %g : f32\n", ""),
    "a combination that reads memory": ("%q = arith.addf %l, %r : f32", "%q = tt.load %p : !tt.ptr<f32>"),
    "a predicate that is code": ("cmpi slt,", "cmpi slt;call,"),
    "a predicate that is none": ("cmpi slt,", "cmpi lt,"),
    "a branch to nowhere": ("    tt.return\n", "    cf.br ^bb7\n"),
    "a function that calls itself": ("%h = arith", "tt.call @k(%p, %n) : (!tt.ptr<f32>, i32) -> ()\n    %h = arith"),
    "a function that is not there": ("%h = arith", "tt.call @f(%p) : (!tt.ptr<f32>) -> ()\n    %h = arith"),
    "a type of its own": ("tensor<16xi32>\n    %b", "tensor<16x!llvm.ptr>\n    %b"),
    "an argument that is a block": ("%n: i32)", "%n: tensor<16xi32>)"),
    "a result": ("attributes {noinline = false} {", "-> f32 {"),
    "another kernel": ("@k(", "@other("),
    "a comment": ("    tt.return\n", "    tt.return // }\n"),
    "a second module": ("module {", "module {\n}\nmodule {"),
    "a store without a value": ("tt.store %p, %f : !tt.ptr<f32>", "tt.store %p : !tt.ptr<f32>"),
    "an attribute": ("tt.load %a, %m :", 'tt.load %a, %m {evil = "x", a = @f} :'),
    "a constant of other numbers": ("arith.constant 1 : i32", "arith.constant dense<[1, 2]> : tensor<4xi32>"),
    "a control character": ("%h = arith", "\x07%h = arith"),
    "no end": ("  }\n}\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_text_that_is_no_kernel(what: str) -> None:
    verify(KERNEL, "k")
    old, new = BAD[what]
    assert old in KERNEL
    with pytest.raises(TTIRError):
        verify(KERNEL.replace(old, new), "k")


def test_text_that_grows_when_it_is_written_out() -> None:
    functions = "".join(
        f"  tt.func private @f{k}() {{\n"
        + (f"    tt.call @f{k + 1}() : () -> ()\n" * 8 if k < 9 else "")
        + "    tt.return\n  }\n"
        for k in range(10)
    )
    text = KERNEL.replace("    %h = arith", "    tt.call @f0() : () -> ()\n    %h = arith").replace(
        "module {\n", "module {\n" + functions
    )
    with pytest.raises(TTIRError, match="more than 100000 operations"):
        verify(text, "k")
    deep = KERNEL.replace("    scf.if %h {", "    scf.if %h {\n" * 60).replace(
        "    }\n    tt.return", "    }\n" * 60 + "    tt.return"
    )
    with pytest.raises(TTIRError, match="deep"):
        verify(deep, "k")


def test_a_kernel_that_is_too_long(files: dict[str, bytes]) -> None:
    more = "".join(f"    %more_{k} = arith.addi %arg3, %arg3 : i32\n" for k in range(3000))
    data = changed(files["launch"], replaced("    tt.return\n", f"{more}    tt.return\n"))
    with pytest.raises(ExportError, match="too long to be compiled"):
        run(data)


def test_what_a_launch_on_copies_writes(files: dict[str, bytes]) -> None:
    functional = saved(opweave.export.export(lambda x: plus(x, x), (X,)).run_decompositions())

    def uncopied(program: dict[str, Any]) -> None:
        for node in program["graph"]["nodes"]:
            if node["kind"] == "launch":
                node["clones"] = []

    with pytest.raises(ExportError, match="all that the kernel writes"):
        load(io.BytesIO(edited(functional, uncopied)))


# ---- mutations -------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_ops_left() -> Iterator[None]:
    yield
    assert not [name for name in opweave.registry.op.registry.operators if name.startswith("mutated::")]


def test_mutated_files(no_ops_left: None) -> None:
    """A few; `mutated_files.py --count 1500` runs many."""
    report = mutated_files.check(36, seed=1)
    assert report.bad == []
    assert sum(report.verdicts.values()) == 36 and report.outside
