# ruff: noqa: E501
"""The TTIR parser: what it reads, and that its objects print back what they were read from."""

from __future__ import annotations

import pytest

from opweave.codegen.triton_cpu.refusal import UnsupportedTritonOp, unsupported
from opweave.registry.triton.ttir import (
    Function,
    Op,
    TTIRSyntaxError,
    Type,
    parse,
    parse_type,
    walk,
)

KERNEL = """
#loc = loc("model.py":10:0)
#loc7 = loc("model.py":14:8)
#loc9 = loc("x"(#loc7))
module {
  tt.func public @k(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg1: !tt.ptr<!tt.ptr<i8>>, %n: i32) attributes {noinline = false} {
    %c-1_i32 = arith.constant -1 : i32
    %true = arith.constant true
    %cst = arith.constant dense<0xFF800000> : tensor<8xf32>
    %cst_0 = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    %0 = arith.cmpi slt, %n, %c-1_i32 : i32
    cf.cond_br %0, ^bb1, ^bb2(%cst, %n : tensor<8xf32>, i32)
  ^bb1:  // pred: ^bb0
    tt.return
  ^bb2(%1: tensor<8xf32>, %2: i32):  // pred: ^bb0
    %3 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %4 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %5 = tt.load %4 : tensor<8x!tt.ptr<f32>> loc(#loc9)
    %6:2 = "tt.reduce"(%5, %3) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: i32, %c: f32, %d: i32):
      tt.reduce.return %a, %b : f32, i32
    }) : (tensor<8xf32>, tensor<8xi32>) -> (f32, i32)
    %7:2 = scf.for %i = %2 to %n step %c-1_i32 iter_args(%p = %6#0, %q = %5) -> (f32, tensor<8xf32>)  : i32 {
      %8 = scf.if %0 -> (f32) {
        scf.yield %p : f32
      } else {
        %9 = tt.load %arg0 : !tt.ptr<f32>
        scf.yield %9 : f32
      }
      scf.yield %8, %q : f32, tensor<8xf32>
    }
    %lhs, %rhs = tt.split %cst_0 : tensor<2x2xi64> -> tensor<2xi64>
    %10 = tt.trans %cst_0 {order = array<i32: 1, 0>} : tensor<2x2xi64> -> tensor<2x2xi64>
    %11 = tt.extern_elementwise %5 {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"} : (tensor<8xf32>) -> tensor<8xf32>
    tt.return
  }
  tt.func private @"helper.fp32"(%arg0: f32) -> (f32, i1) {
    %true = arith.constant true
    tt.return %arg0, %true : f32, i1
  }
}
"""


def describe(op: Op) -> str:
    """An operation with its types, in one line."""
    results = ", ".join(map(repr, op.results))
    operands = ", ".join(v.name for v in op.operands)
    return f"{results} = {op.name} {operands}".removeprefix(" = ").rstrip()


@pytest.fixture
def kernel() -> Function:
    return parse(KERNEL).entry()


def test_structure(kernel: Function) -> None:
    assert [describe(op) for op in walk(kernel.body)] == [
        "%c-1_i32: i32 = arith.constant",
        "%true: i1 = arith.constant",
        "%cst: tensor<8xf32> = arith.constant",
        "%cst_0: tensor<2x2xi64> = arith.constant",
        "%0: i1 = arith.cmpi %n, %c-1_i32",
        "cf.cond_br %0",
        "tt.return",
        "%3: tensor<8xi32> = tt.make_range",
        "%4: tensor<8x!tt.ptr<f32>> = tt.splat %arg0",
        "%5: tensor<8xf32> = tt.load %4",
        "%6#0: f32, %6#1: i32 = tt.reduce %5, %3",
        "tt.reduce.return %a, %b",
        "%7#0: f32, %7#1: tensor<8xf32> = scf.for %2, %n, %c-1_i32, %6#0, %5",
        "%8: f32 = scf.if %0",
        "scf.yield %p",
        "%9: f32 = tt.load %arg0",
        "scf.yield %9",
        "scf.yield %8, %q",
        "%lhs: tensor<2xi64>, %rhs: tensor<2xi64> = tt.split %cst_0",
        "%10: tensor<2x2xi64> = tt.trans %cst_0",
        "%11: tensor<8xf32> = tt.extern_elementwise %5",
        "tt.return",
    ]


def test_functions_and_arguments(kernel: Function) -> None:
    module = parse(KERNEL)
    assert list(module.functions) == ["k", "helper.fp32"]
    assert [str(a.type) for a in kernel.args] == ["!tt.ptr<f32>", "!tt.ptr<!tt.ptr<i8>>", "i32"]
    assert kernel.divisibility == [16, 1, 1]
    assert not module.functions["helper.fp32"].public


def test_blocks_and_branches(kernel: Function) -> None:
    assert [(b.label, [repr(a) for a in b.args]) for b in kernel.body[1:]] == [
        ("bb1", []),
        ("bb2", ["%1: tensor<8xf32>", "%2: i32"]),
    ]
    branch = kernel.body[0].terminator
    assert [(label, [v.name for v in args]) for label, args in branch.successors] == [
        ("bb1", []),
        ("bb2", ["%cst", "%n"]),
    ]


def test_attributes_and_uses(kernel: Function) -> None:
    ops = {op.name: op for op in walk(kernel.body)}
    assert ops["tt.make_range"].int_attr("end") == 8
    assert ops["tt.trans"].array_attr("order") == (1, 0)
    assert ops["tt.extern_elementwise"].attr("symbol") == "__nv_tanhf"
    assert ops["tt.make_range"].attr("missing") is None
    load = next(op for op in walk(kernel.body) if op.name == "tt.load")
    assert load.loc == "model.py:14"
    assert [u.name for u in load.result.users] == ["tt.reduce", "scf.for", "tt.extern_elementwise"]
    dense = next(op for op in walk(kernel.body) if op.results and op.result.name == "%cst_0")
    assert dense.attrs == "[[1, 2], [3, 4]]"


@pytest.mark.parametrize("text", ["f32", "tensor<4x8xbf16>", "tensor<1x!tt.ptr<f16>>", "!tt.ptr<i1>"])
def test_types_print_as_read(text: str) -> None:
    assert str(parse_type(text)) == text
    assert parse_type("tensor<4x8xf32>") == Type("f32", (4, 8)) and parse_type("tensor<4x8xf32>").numel == 32


def test_unsupported_operation_says_what_and_where(kernel: Function) -> None:
    load = next(op for op in walk(kernel.body) if op.name == "tt.load")
    error = unsupported(load, "because")
    assert isinstance(error, UnsupportedTritonOp)
    assert (error.op, error.loc) == ("tt.load", "model.py:14")
    assert "tt.load: because" in str(error) and "model.py:14" in str(error)


@pytest.mark.parametrize("line", ["%0 = arith.addi %missing, %missing : i32", "%0 = arith.addi %arg0, %arg0 : i32"])
def test_broken_text_is_refused(line: str) -> None:
    with pytest.raises(TTIRSyntaxError):
        parse(f"module {{\n  tt.func public @k(%arg0: i32) {{\n    {line}\n")
