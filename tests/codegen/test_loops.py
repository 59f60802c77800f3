"""Loop nests as text, after each step, and what the rules of nests and schedules refuse."""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiling import regions, small_target, tensor, traced
from expecttest import assert_expected_inline

from opweave.codegen.loops import axes, spec
from opweave.codegen.loops.nest import LoopNest, Store
from opweave.codegen.loops.schedule import Lane, Schedule
from opweave.codegen.loops.spec import LoopError, verify, verify_schedule
from opweave.codegen.loops.steps import lower, plan
from opweave.codegen.loops.values import Buffer, Reduce, Value, Values, topological
from opweave.pipeline import lower as run_passes
from opweave.registry.dtypes import bool_, float32, float64, int32, int64
from opweave.registry.op import ops
from opweave.tracer.graph import Graph
from opweave.tracer.loops.index import Axis, Index
from opweave.tracer.make_fx import make_fx

aten = ops.aten


def short(text: object) -> str:
    """Without the places in the user's code."""
    return "\n".join(line.partition("  # ")[0].rstrip() for line in str(text).splitlines())


def nest_of(fn: Callable[..., Any], *sizes: tuple[int, ...] | np.ndarray[Any, Any]) -> LoopNest:
    tensors = [tensor(*s) if isinstance(s, tuple) else tensor(*s.shape, dtype=s.dtype) for s in sizes]
    (region,) = regions(traced(fn, *tensors))
    return lower(region)


INDICES = np.zeros(7, np.int64)


def test_the_tests_check_every_step():
    assert spec.checks


# ---- texts -----------------------------------------------------------------------------------------------------------


def test_text_of_a_pointwise_nest():
    def f(a, b):
        return aten.mul.Tensor(aten.relu.default(aten.add.Tensor(a, 1.5)), b)

    nest = nest_of(f, (1000, 100), (1000, 100))
    assert_expected_inline(
        short(nest),
        """\
add, relu, mul
  read a_1: f32[1000, 100]
  read b_1: f32[1000, 100]
  write out: f32[1000, 100]
  for i0 < 100000:
    t0: f32 = load a_1[i0]
    t1: f32 = add(t0, 1.5)
    t2: b8 = lt(t1, 0.0)
    t3: f32 = where(t2, 0.0, t1)
    t4: f32 = load b_1[i0]
    t5: f32 = mul(t3, t4)
    out[i0] = t5""",
    )
    line = f.__code__.co_firstlineno + 1
    assert f"    t5: f32 = mul(t3, t4){' ' * 49}# mul  test_loops.py:{line}\n" in str(nest)


def test_text_of_a_broadcast():
    assert_expected_inline(
        short(nest_of(lambda a, b: aten.add.Tensor(aten.permute.default(a, [1, 0]), b), (30, 20), (30,))),
        """\
add
  read a_1: f32[30, 20]
  read b_1: f32[30]
  write out: f32[20, 30] strides [1, 20]
  for i1 < 30, i0 < 20:
    t0: f32 = load a_1[i1 * 20 + i0]
    t1: f32 = load b_1[i1]
    t2: f32 = add(t0, t1)
    out[i1 * 20 + i0] = t2""",
    )


def test_text_of_a_reduction():
    assert_expected_inline(
        short(nest_of(lambda a: aten.softmax.int(a, -1), (64, 3000))),
        """\
softmax
  read a_1: f32[64, 3000]
  write out: f32[64, 3000]
  for i0 < 64, reduce i1 < 3000:
    t0: f32 = load a_1[i0 * 3000 + i1]
    t1: f32 = max(t0)
    t2: f32 = sub(t0, t1)
    t3: f32 = exp(t2)
    t4: f32 = sum(t3)
    t5: f32 = truediv(t3, t4)
    out[i0 * 3000 + i1] = t5""",
    )


def test_text_of_a_position():
    assert_expected_inline(
        short(nest_of(lambda a: aten.argmax.default(a, 1), (64, 30))),
        """\
argmax
  read a_1: f32[64, 30]
  write out: i64[64]
  for i0 < 64, reduce r0 < 30:
    t0: f32 = load a_1[i0 * 30 + r0]
    t1: i32 = argmax(t0, (r0))
    t2: i64 = cast(t1)
    out[i0] = t2""",
    )


def test_text_of_a_gather():
    assert_expected_inline(
        short(nest_of(lambda a, i: aten.index_select.default(a, 0, i), (64, 30), INDICES)),
        """\
index_select
  read a_1: f32[64, 30]
  read i_1: i64[7]
  write out: f32[7, 30]
  for i0 < 7, i1 < 30:
    t0: i64 = load i_1[i0]
    t1: b8 = ge(t0, 0)
    t2: b8 = lt(t0, 64)
    t3: b8 = and_(t1, t2)
    t4: i64 = where(t3, t0, 0)
    t5: i32 = cast(t4)
    t6: i32 = mul(t5, 30)
    t7: f32 = gather a_1[i1 + t6] if t3
    out[i0 * 30 + i1] = t7""",
    )


def test_text_of_a_scatter():
    assert_expected_inline(
        short(nest_of(lambda a, i, v: aten.index_add.default(a, 0, i, v), (64, 30), INDICES, (7, 30))),
        """\
scatter_add
  read i_1: i64[7]
  read a_1: f32[64, 30]
  read v_1: f32[7, 30]
  write out: f32[64, 30]
  for i1 < 30, in order i0 < 7:
    t0: f32 = load v_1[i0 * 30 + i1]
    t1: i64 = load i_1[i0]
    t2: b8 = ge(t1, 0)
    t3: b8 = lt(t1, 64)
    t4: b8 = and_(t2, t3)
    t5: i64 = where(t4, t1, 0)
    t6: i32 = cast(t5)
    t7: i32 = mul(t6, 30)
    out[i1 + t7] += t0 if t4""",
    )


def test_text_of_a_running_total():
    assert_expected_inline(
        short(nest_of(lambda a: aten.flip.default(aten.cumsum.default(aten.flip.default(a, [1]), 1), [1]), (64, 30))),
        """\
flip, cumsum
  read a_1: f32[64, 30]
  write out: f32[64, 30]
  for i0 < 64, scan i1 < 30:
    t0: f32 = load a_1[i0 * 30 + i1]
    t1: f64 = cast(t0)
    t2: f64 = running sum(t1) backwards
    t3: f64 = add(t2, 0.0)
    t4: f32 = cast(t3)
    out[i0 * 30 + i1] = t4""",
    )


def test_text_of_tensors_side_by_side():
    assert_expected_inline(
        short(nest_of(lambda a, b: aten.relu.default(aten.cat.default([a, b], 1)), (64, 30), (64, 10))),
        """\
cat, relu
  read a_1: f32[64, 30]
  read b_1: f32[64, 10]
  write out: f32[64, 40]
  for i0 < 64, i1 < 40:
    t0: b8 = lt((i1), 30)
    t1: f32 = load a_1[i0 * 30 + i1] if t0
    t2: b8 = ge((i1), 30)
    t3: f32 = load b_1[i0 * 10 + i1 - 30] if t2
    t4: f32 = where(t0, t1, t3)
    t5: b8 = lt(t4, 0.0)
    t6: f32 = where(t5, 0.0, t4)
    out[i0 * 40 + i1] = t6""",
    )


def test_text_of_a_requirement():
    def f(a, b):
        return aten.fmod.Tensor(a, b)

    assert_expected_inline(
        short(nest_of(f, INDICES, INDICES)),
        """\
fmod
  read a_1: i64[7]
  read b_1: i64[7]
  write out: i64[7]
  for i0 < 7:
    t0: i64 = load b_1[i0]
    t1: b8 = eq(t0, 0)
    t2: i64 = load a_1[i0]
    t3: b8 = ne(t0, 0)
    t4: i64 = where(t3, t0, 1)
    t5: i64 = t4 require t3: integer division by zero
    t6: i64 = tmod(t2, t5)
    t7: i64 = where(t1, 0, t6)
    out[i0] = t7""",
    )


def test_text_of_sizes_that_are_not_fixed():
    def f(a, b):
        return aten.mean.dim(aten.add.Tensor(a, b), [1])

    graph = run_passes(make_fx(f, tracing_mode="symbolic")(tensor(5, 8), tensor(8)).graph)
    (region,) = [node.target for node in graph.nodes if isinstance(node.target, Graph)]
    assert_expected_inline(
        short(lower(region)),
        """\
add, mean
  read a_1: f32[s0, s1]
  read b_1: f32[s1]
  write out: f32[s0]
  for i0 < s0, reduce r0 < s1:
    t0: f32 = load a_1[i0 * s1 + r0]
    t1: f32 = load b_1[r0]
    t2: f32 = add(t0, t1)
    t3: f32 = sum(t2)
    t4: f32 = cast(s1)
    t5: f32 = truediv(t3, t4)
    out[i0] = t5""",
    )


def test_text_of_two_kernels():
    nest = nest_of(lambda a: aten.sum.dim_IntList(a, [0]), (64, 96))
    kernels = plan(nest, small_target(programs=64, split_at=16, column_rows=2))
    text = "\n".join(f"{short(stage)}\n  {schedule}" for stage, schedule in kernels)
    assert_expected_inline(
        text,
        """\
sum, parts
  read a_1: f32[64, 96]
  write part0: f32[32, 96]
  for part < 32, i0 < 96, reduce r0 < 2:
    t0: f32 = load a_1[part * 192 + r0 * 96 + i0]
    t1: f32 = sum(t0)
    part0[part * 96 + i0] = t1
  tile ROWS 2 of r0 (whole) x COLS 128 of i0 (whole); 32 programs; a program has one part < 32
sum
  read part0: f32[32, 96]
  write out: f32[96]
  for i0 < 96, reduce part < 32:
    t0: f32 = load part0[part * 96 + i0]
    t1: f32 = sum(t0)
    out[i0] = t1
  tile ROWS 16 of part (loop) x COLS 128 of i0 (whole); 1 programs""",
    )


def test_text_of_a_result_that_fills_the_caches():
    """What is added to in place, or read, is in them already."""

    def f(a, b):
        return aten.add.Tensor(a, b), aten.sum.dim_IntList(a, [-1])

    target = dataclasses.replace(small_target(), past=4 * 64 * 96)
    text = "\n".join(str(schedule) for _, schedule in plan(nest_of(f, (64, 96), (64, 96)), target))
    assert text == "tile ROWS 16 of i0 (grid) x COLS 128 of r0 (whole); 4 programs; out0 past the caches"
    assert "past" not in "\n".join(str(s) for _, s in plan(nest_of(f, (64, 95), (64, 95)), target))


# ---- steps -----------------------------------------------------------------------------------------------------------


def copy_of(kept: list[Axis], offset: Index) -> LoopNest:
    """`out[offset] = x[offset]`, of as many elements as there are points."""
    count = 1
    for axis in kept:
        count *= axis.size
    x, out = Buffer("x", float32, (count,), (1,)), Buffer("out", float32, (count,), (1,))
    store = Store(out, offset, Values().load(x, offset), "copy", None)
    return LoopNest(("copy",), tuple(kept), (), (x,), (out,), (store,))


def test_axes_side_by_side_are_merged():
    i, j = Axis("i", 4), Axis("j", 6)
    merged = axes.merge(copy_of([i, j], Index.of(i) * 6 + Index.of(j)))
    assert_expected_inline(
        str(merged),
        """\
copy
  read x: f32[24]
  write out: f32[24]
  for i < 24:
    t0: f32 = load x[i]
    out[i] = t0                                                           # copy""",
    )
    apart = copy_of([i, j], Index.of(j) * 4 + Index.of(i))
    assert [axis.name for axis in axes.merge(apart).kept] == ["j"]


def test_an_axis_of_which_a_part_is_needed_is_split():
    i = Axis("i", 24)
    turned = (Index.of(i) % 6) * 4 + Index.of(i) // 6
    assert_expected_inline(
        str(axes.split(copy_of([i], turned))),
        """\
copy
  read x: f32[24]
  write out: f32[24]
  for io < 4, ii < 6:
    t0: f32 = load x[ii * 4 + io]
    out[ii * 4 + io] = t0                                                 # copy""",
    )


def test_loops_run_in_the_order_of_memory():
    i, j = Axis("i", 4), Axis("j", 6)
    nest = axes.order(copy_of([i, j], Index.of(j) * 4 + Index.of(i)))
    assert [axis.name for axis in nest.kept] == ["j", "i"]


def test_reduced_axes_are_joined():
    i, j = Axis("i", 4), Axis("j", 6)
    values, x, out = Values(), Buffer("x", float32, (6, 5, 4), (20, 4, 1)), Buffer("out", float32, (), ())
    total = values.reduce("sum", [values.load(x, Index.of(j) * 20 + Index.of(i))], float32, [i, j])
    nest = LoopNest(("sum",), (), (i, j), (x,), (out,), (Store(out, Index(), total, "sum", None),))
    assert_expected_inline(
        str(axes.join_reduced(nest)),
        """\
sum
  read x: f32[6, 5, 4]
  write out: f32[]
  reduce r < 24:
    t0: f32 = load x[(r % 6) * 20 + (r // 6)]
    t1: f32 = sum(t0)
    out[0] = t1                                                           # sum""",
    )


def test_the_log_has_every_step_that_changed_the_nest(caplog):
    with caplog.at_level(logging.DEBUG, "opweave.loops"):
        nest = nest_of(lambda a: aten.permute.default(aten.exp.default(a), [1, 0]), (30, 20))
        plan(nest, small_target())
    messages = [record.getMessage() for record in caplog.records if record.name == "opweave.loops"]
    assert_expected_inline(
        "\n".join(map(short, messages)),
        """\
record: exp
  read a_1: f32[30, 20]
  write out: f32[30, 20]
  for i0 < 30, i1 < 20:
    t0: f32 = load a_1[i0 * 20 + i1]
    t1: f32 = exp(t0)
    out[i0 * 20 + i1] = t1
merge: exp
  read a_1: f32[30, 20]
  write out: f32[30, 20]
  for i0 < 600:
    t0: f32 = load a_1[i0]
    t1: f32 = exp(t0)
    out[i0] = t1
plan: tile BLOCK 1024 of i0 (whole); 1 programs""",
    )


# ---- values ----------------------------------------------------------------------------------------------------------


def test_equal_values_are_one_object():
    values, axis, x = Values(), Axis("i", 4), Buffer("x", float32, (4,), (1,))
    a = values.load(x, Index.of(axis))
    assert a is values.load(x, Index.of(axis))
    assert a is not values.load(x, Index.of(axis) + 1)
    assert values.prim("add", [a, a], float32) is values.prim("add", [a, a], float32)
    zeros = [
        values.const(number, dtype) for number, dtype in ((0.0, float32), (-0.0, float32), (0, float64), (0, int32))
    ]
    assert len({id(zero) for zero in zeros}) == 4
    assert values.const(float("nan"), float32) is values.const(float("nan"), float32)
    assert values.const(True, int32) is values.const(1, int32)


def test_a_reduction_is_what_it_is_over():
    values, i, j, x = Values(), Axis("i", 4), Axis("j", 6), Buffer("x", float32, (4, 6), (6, 1))
    a = values.load(x, Index.of(i) * 6 + Index.of(j))
    rows, columns = values.reduce("sum", [a], float32, [j]), values.reduce("sum", [a], float32, [i])
    assert (rows.axes, columns.axes) == ({i}, {j}) and rows.depth == columns.depth == 1
    assert rows is values.reduce("sum", [a], float32, [j])
    assert values.reduce("max", [rows], float32, [i]).depth == 2
    # Of a number that is the same everywhere there is a reduction too, and it is one deeper.
    assert values.reduce("sum", [values.const(1.0, float32)], float32, [j]).depth == 1


# ---- rules -----------------------------------------------------------------------------------------------------------

ROWS, COLUMNS = Axis("i", 4), Axis("j", 6)
X = Buffer("x", float32, (4, 6), (6, 1))
OUT = Buffer("out", float32, (4, 6), (6, 1))
HERE = Index.of(ROWS) * 6 + Index.of(COLUMNS)


def made(value: Callable[[Values, Value], Value], **changes: Any) -> LoopNest:
    """A nest that stores what is made of the elements of `x`."""
    values = Values()
    stored = value(values, values.load(X, HERE))
    nest = LoopNest(("op",), (ROWS, COLUMNS), (), (X,), (OUT,), (Store(OUT, HERE, stored, "op", None),))
    return dataclasses.replace(nest, **changes)


def fault(nest: LoopNest) -> str:
    with pytest.raises(LoopError) as caught:
        verify(nest)
    assert caught.value.got is not None
    return caught.value.what


FAULTY = {
    "t1: f32 = add(t0, 1): its types do not fit: f32, i32": made(
        lambda v, x: v.prim("add", [x, v.const(1, int32)], float32)
    ),
    "t1: f32 = lt(t0, 0.0): its types do not fit: f32, f32": made(
        lambda v, x: v.prim("lt", [x, v.const(0, float32)], float32)
    ),
    "t1: f32 = frobnicate(t0): it is no primitive": made(lambda v, x: v.prim("frobnicate", [x], float32)),
    "t1: f32 = where(t0, t0, t0): its types do not fit: f32, f32, f32": made(
        lambda v, x: v.prim("where", [x, x, x], float32)
    ),
    "t0: f32 = load x[i * 6 + j + 1]: it reaches 1 to 24, and x is at 0 to 23": made(lambda v, x: v.load(X, HERE + 1)),
    "t0: f32 = load x[(j // 4) * 20 + (j % 4) * 6]: it reaches 0 to 26, and x is at 0 to 23": made(
        lambda v, x: v.load(X, Index.of(COLUMNS) // 4 * 20 + Index.of(COLUMNS) % 4 * 6)
    ),
    "t0: f32 = load out[i * 6 + j]: out is not read by this nest": made(lambda v, x: v.load(OUT, HERE)),
    "t1: f32 = sum(t0): it is over other axes than the nest's": made(
        lambda v, x: v.reduce("sum", [x], float32, [ROWS])
    ),
    "t1: f32 = running sum(t0): it runs along other axes than the nest's": made(
        lambda v, x: v.scan("sum", False, x, float32, [ROWS])
    ),
    "t1: f32 = best(t0): it is not of an argmax or argmin": made(
        lambda v, x: dataclasses.replace(v.best(v.prim("exp", [x], float32)), args=(x,))
    ),
    "t1: f32 = t0 require t0: x: its types do not fit": made(lambda v, x: v.require(x, x, "x")),
    "t1: f32 = load x[i * 6 + j] if t0: its guard is no truth value": made(lambda v, x: v.load(X, HERE, x)),
    "t1: f32 = gather x[0 + t0] if t0: its place is no integer, or whether it is inside no truth value": made(
        lambda v, x: v.gather(X, Index(), x, x, "")
    ),
    "store to out: i64 is stored as f32": made(lambda v, x: v.position(HERE)),
    "t1: f32 = load x[i * 6 + j]: there is an equal value": made(
        lambda v, x: v.prim("add", [x, Values().load(X, HERE)], float32)
    ),
    "loops of op: an axis runs twice": made(lambda v, x: x, kept=(ROWS, COLUMNS, ROWS)),
    "loops of op: two parameters are one buffer": made(lambda v, x: x, inputs=(X, OUT)),
    "t0: f32 = load x[i * 6 + j]: it varies along an axis that is none of the nest's": made(
        lambda v, x: x, kept=(ROWS,)
    ),
}


@pytest.mark.parametrize("message", FAULTY)
def test_what_breaks_a_rule_is_named(message):
    assert fault(FAULTY[message]) == message


def test_stores_are_checked():
    values = Values()
    x = values.load(X, HERE)

    def stored(**changes):
        store = dataclasses.replace(Store(OUT, HERE, x, "op", None), **changes)
        return LoopNest(("op",), (ROWS, COLUMNS), (), (X,), (OUT,), (store,))

    verify(stored())
    assert fault(stored(offset=HERE + 1)) == "store to out: it reaches 1 to 24, and out is at 0 to 23"
    assert fault(stored(offset=Index.of(ROWS))) == "store to out: it stores several values to one place"
    assert fault(stored(buffer=X)) == "store to x: it is not written by this nest"
    assert fault(stored(accumulate=True)) == "store to out: only a scatter adds to what is there"
    assert "knows its place" in fault(stored(inside=values.const(True, bool_)))


def test_a_number_that_its_type_does_not_hold_is_refused():
    values = Values()
    far = Index.of(ROWS) * (1 << 30)
    narrow = values.prim("cast", [values.position(far, int32)], float32)
    store = Store(OUT, HERE, narrow, "op", None)
    nest = LoopNest(("op",), (ROWS, COLUMNS), (), (X,), (OUT,), (store,))
    assert fault(nest) == "(i * 1073741824): its type does not hold 0 to 3221225472"
    wide = values.prim("cast", [values.position(far, int64)], float32)
    verify(dataclasses.replace(nest, stores=(dataclasses.replace(store, value=wide),)))


def test_schedules_are_checked():
    nest = made(lambda v, x: x)
    rows, columns = Lane(ROWS, 4, "whole", "r", "ROWS"), Lane(COLUMNS, 4, "grid", "c", "COLS")
    good = Schedule((rows, columns), (), (), None, False)
    verify_schedule(nest, good)
    faults = {
        "it does not run along each axis once": dataclasses.replace(good, lanes=(rows,)),
        "a block of 3 is no power of two": dataclasses.replace(
            good, lanes=(rows, dataclasses.replace(columns, block=3))
        ),
        "a block of 4 does not cover j<6": dataclasses.replace(
            good, lanes=(rows, dataclasses.replace(columns, role="whole"))
        ),
        "what it reduces along are other axes than the nest's": dataclasses.replace(good, reduced_lane=rows),
        "it loops along j<6, which is not reduced": dataclasses.replace(
            good, lanes=(rows, dataclasses.replace(columns, role="loop"))
        ),
        "it writes x past the caches, which it reads or does not write": dataclasses.replace(
            good, past=(dataclasses.replace(nest.stores[0], buffer=X),)
        ),
    }
    for message, schedule in faults.items():
        with pytest.raises(LoopError) as caught:
            verify_schedule(nest, schedule)
        assert caught.value.what == f"schedule of op: {message}"


def test_a_step_that_breaks_a_rule_is_found(monkeypatch):
    def forgets(nest: LoopNest) -> LoopNest:
        return dataclasses.replace(nest, kept=nest.kept[1:])

    monkeypatch.setattr("opweave.codegen.loops.steps.STEPS", (axes.merge, forgets))
    with pytest.raises(LoopError, match="none of the nest's"):
        nest_of(lambda a: aten.exp.default(a), (30, 20))
    monkeypatch.setattr(spec, "checks", False)
    nest_of(lambda a: aten.exp.default(a), (30, 20))


@pytest.mark.parametrize("dims", [d for n in (1, 2) for d in itertools.combinations(range(3), n)])
def test_steps_keep_what_is_reduced(dims):
    nest = nest_of(lambda a: aten.sum.dim_IntList(a, list(dims)), (12, 10, 18))
    for stage, schedule in plan(nest, small_target(whole_row=16, programs=64, split_at=16)):
        verify(stage)
        verify_schedule(stage, schedule)
        (reduce,) = [v for v in topological([s.value for s in stage.stores]) if isinstance(v, Reduce)]
        assert reduce.over == set(stage.reduced)
