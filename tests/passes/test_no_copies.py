"""Programs that mutate without any need for a copy: the generated code has none."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "runtime"))

import mutation_ops as m

import opweave
from opweave.pipeline import lower

#: What a copy looks like in generated code.
COPIES = re.compile(
    r"\b(aten_clone|aten_copy_|write_view_|auto_functionalized_|triton_kernel_wrapper_functional_)\(|# (clone)\b"
)
PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[function.__name__] = function
    return function


def tensors() -> list[opweave.Tensor]:
    draw = np.random.default_rng(0)
    return [opweave.from_numpy(draw.integers(-5, 6, (4, 4)).astype(np.float32)) for _ in range(2)]


def check(function: Callable[..., Any]) -> tuple[str, list[str]]:
    """The wrapper's source and the copies that were kept, after a comparison with eager."""
    compiled = opweave.compile(function, dynamic=False)
    got, want = tensors(), tensors()
    got.append(compiled(*got))
    want.append(function(*want))
    for one, other in zip(flat(got), flat(want), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    graph = lower(compiled.last_graph.clone())
    return compiled.stages()["code"], graph.graph.get("copies", [])


def flat(value: Any) -> list[opweave.Tensor]:
    if isinstance(value, opweave.Tensor):
        return [value]
    return [t for item in value or () for t in flat(item)]


# ---- ops and kernels that write buffers of the program's own ---------------------------------------------------------


@program
def op_writes_a_result(x, y):
    out = x * 2
    m.accumulate(out, y)
    return out


@program
def op_writes_twice(x, y):
    out = x * 2
    m.accumulate(out, y)
    m.accumulate(out, x)
    return out


@program
def kernel_writes_zeros(x, y):
    out = opweave.zeros(4, 4)
    m.launch(x, out)
    return out


@program
def kernel_writes_twice(x, y):
    out = opweave.zeros(4, 4)
    m.launch(x, out)
    m.launch(y, out)
    return out + 1


@program
def kernel_and_op_take_turns(x, y):
    out = x + y
    m.launch(x, out)
    m.accumulate(out, y)
    m.launch(y, out)
    return out.sum()


@program
def triton_op_writes_a_result(x, y):
    out = x - y
    m.doubled_into(out, x)
    return out


@program
def triton_op_that_makes_its_result(x, y):
    return m.doubled(x) + m.doubled(y)


@program
def op_with_a_result(x, y):
    out = x * y
    made = m.bump(out, 3)
    return made + out


@program
def op_writes_two_buffers(x, y):
    a, b = x + 1, y + 2
    m.swap(a, b)
    return a, b


@program
def op_writes_a_list(x, y):
    a, b = x + 1, y + 2
    m.shift_all([a, b], 1)
    return a - b


@program
def op_of_unknown_effect(x, y):
    a, b = x + 1, y + 2
    m.anything(a, b)
    return a + b


@program
def op_with_an_optional_buffer(x, y):
    out = x * 2
    made = m.maybe(y, out)
    m.maybe(x, None)
    return made + out


@program
def old_contents_are_read_before(x, y):
    out = x * 2
    total = out.sum()
    m.accumulate(out, y)
    return out, total


@program
def a_view_is_read_before(x, y):
    out = x * 2
    total = out[1:].sum()
    m.accumulate(out, y)
    return out, total


# ---- through views ---------------------------------------------------------------------------------------------------


@program
def op_writes_a_slice(x, y):
    out = x * 2
    m.accumulate(out[1:], y[1:])
    return out


@program
def op_writes_a_column(x, y):
    out = x * 2
    m.bump(out[:, 1], 5)
    return out


@program
def op_writes_a_diagonal(x, y):
    out = x * 2
    m.accumulate(out.diagonal(), y[0])
    return out


@program
def op_writes_a_transposed(x, y):
    out = x * 2
    m.accumulate(out.t(), y)
    return out


@program
def op_writes_two_halves(x, y):
    out = x * 2
    low, high = out.chunk(2)
    m.swap(low, high)
    return out


@program
def op_writes_a_view_of_a_view(x, y):
    out = x * 2
    m.bump(out.view(2, 8)[1].view(2, 4)[0], 5)
    return out + 1


@program
def kernel_writes_a_reshaped(x, y):
    out = x * 2
    m.launch(y, out.view(16))
    return out.view(2, 8)


@program
def kernel_writes_a_row(x, y):
    out = x * 2
    m.launch(y[0], out[2])
    m.launch(y[1], out[3])
    return out


# ---- inputs ----------------------------------------------------------------------------------------------------------


@program
def op_writes_an_input(x, y):
    m.accumulate(x, y)
    return x + y


@program
def op_writes_a_slice_of_an_input(x, y):
    m.accumulate(x[:2], y[2:])
    return x.sum()


@program
def op_writes_a_list_of_inputs(x, y):
    m.shift_all([x, y], 4)


@program
def op_swaps_inputs(x, y):
    m.swap(x, y)
    return x * 2


@program
def kernel_writes_an_input_twice(x, y):
    m.launch(y, x)
    m.launch(y, x)


@program
def kernel_writes_a_row_of_an_input(x, y):
    m.launch(y[0], x[1])
    return y * 2


@program
def op_writes_a_transposed_input(x, y):
    m.accumulate(x.t(), y)
    return x.view(16)


# ---- in-place ops of a tensor library --------------------------------------------------------------------------------


@program
def in_place_on_an_intermediate(x, y):
    out = x * 2
    out.add_(y).mul_(3).relu_()
    return out


@program
def in_place_through_a_reshape(x, y):
    out = x * 2
    out.view(16).add_(1)
    out.t().mul_(y)
    return out


@program
def in_place_on_an_input(x, y):
    x.mul_(2).add_(y)
    return y + 1


@program
def fill_and_accumulate(x, y):
    out = opweave.empty(4, 4)
    out.zero_()
    out.add_(x).sub_(y)
    return out


def test_there_are_30_programs():
    assert len(PROGRAMS) >= 30


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_copy_is_made(name):
    code, kept = check(PROGRAMS[name])
    assert kept == []
    assert COPIES.findall(code) == [], code


# ---- copies that have to be made say why -----------------------------------------------------------------------------


def test_a_part_is_stored_without_copying_the_whole():
    def f(x, y):
        out = x * 2
        out[1:3] = y[1:3] + 1
        return out

    code, kept = check(f)
    assert kept == [] and [found.group() for found in COPIES.finditer(code)] == ["aten_copy_("]


@pytest.mark.parametrize(
    ("why", "function"),
    [
        ("its old contents are read later by", lambda x, y: (z := x * 2, m.accumulate(o := z.clone(), y), o, z + o)[3]),
        ("", lambda x, y: (z := x * 2, k := z * 1, m.accumulate(z, k), z + k)[3]),
    ],
)
def test_two_buffers_stay_two(why, function):
    _, kept = check(function)
    assert all(why in text for text in kept)


def test_old_contents_that_are_returned_are_kept():
    def f(x, y):
        z = x * 2
        old = z.clone()
        m.accumulate(z, y)
        return old, z

    code, kept = check(f)
    assert len(COPIES.findall(code)) == 1, (code, kept)


def test_an_input_that_keeps_its_contents_is_copied_and_says_so():
    def f(x, y):
        z = x.clone()
        m.accumulate(z, y)
        return z

    code, _ = check(f)
    assert len(COPIES.findall(code)) == 1
