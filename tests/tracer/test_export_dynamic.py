"""Exported programs with dynamic sizes: what they promise, what each call checks, and their files."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave.export import Dim, ExportedProgram, export, load, save
from opweave.library import custom_op, triton_op, wrap_triton
from opweave.registry.errors import (
    ArgumentError,
    ConstraintError,
    ExportError,
    ShapeError,
    UnsupportedError,
)
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.export import archive


def tensor(*sizes: int, seed: int = 0) -> Tensor:
    return from_numpy(np.random.default_rng(seed).standard_normal(sizes, dtype=np.float32))


@custom_op("export_dynamic::pairs", mutates_args=())
def pairs(x: Tensor, repeat: int) -> Tensor:
    return from_numpy(np.tile(x.numpy(), (repeat, 1)))


@pairs.register_fake
def _(x: Tensor, repeat: int) -> Tensor:
    return x.new_empty((x.shape[0] * repeat, x.shape[1]))


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton_op("export_dynamic::copied", mutates_args=())
def copied(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    wrap_triton(copy_kernel)[(triton.cdiv(x.numel(), 16),)](x, out, x.numel(), BLOCK=16)
    return out


def again(program: ExportedProgram) -> ExportedProgram:
    """Through a file, which says the same when it is written again."""
    file, second = io.BytesIO(), io.BytesIO()
    save(program, file)
    found = load(io.BytesIO(file.getvalue()))
    save(found, second)
    assert str(found) == str(program) and found.range_constraints == program.range_constraints
    assert second.getvalue() == file.getvalue()
    return found


@pytest.fixture(params=[False, True], ids=["exported", "loaded"])
def through(request: Any) -> Callable[[ExportedProgram], ExportedProgram]:
    return again if request.param else lambda program: program


Through = Callable[[ExportedProgram], ExportedProgram]


def model(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    h = pairs(x @ y, 2)
    return h.reshape(-1) * x.shape[0], opweave.softmax(h, 1).sum(0) / (x.shape[0] // 2)


def test_one_program_for_many_sizes(through: Through) -> None:
    program = export(model, (tensor(4, 6), tensor(6, 3)), dynamic_shapes={"x": {0: Dim("batch", min=2, max=64)}})
    program = through(program)
    assert program.range_constraints == {"s0": (2, 64)}
    assert 'x: "f32[s0, 6]"' in program.print_readable(False)
    assert "ops.export_dynamic.pairs.default(mm, 2)" in str(program)
    for n in (2, 3, 17, 64):
        x, y = tensor(n, 6, seed=n), tensor(6, 3)
        for found, expected in zip(program.module(compile=False)(x, y), model(x, y), strict=True):
            np.testing.assert_array_equal(found.numpy(), expected.numpy())
    for n in (1, 65):
        with pytest.raises(ShapeError, match=rf"dim 0 of x is {n}, outside of \[2, 64\]"):
            program.module()(tensor(n, 6), tensor(6, 3))
    with pytest.raises(ShapeError, match="dim 1 is 6, not 5"):
        program.module()(tensor(4, 5), tensor(6, 3))
    with pytest.raises(ShapeError, match="2 dimensions, not 3"):
        program.module()(tensor(4, 6, 1), tensor(6, 3))


BATCH = Dim("batch")


@pytest.mark.parametrize(
    ("spec", "args"),
    [
        ({"x": {0: BATCH}, "y": {0: BATCH}}, (tensor(4, 3), tensor(4, 3))),
        (({0: Dim.AUTO}, (Dim.AUTO, None)), (tensor(4, 3), tensor(4, 3))),
        ([{0: BATCH}, [Dim.AUTO, Dim.STATIC]], (tensor(4, 3), tensor(4, 3))),
    ],
)  # fmt: skip
def test_equal_sizes(spec: Any, args: Any, through: Through) -> None:
    program = through(export(lambda x, y: x + y, args, dynamic_shapes=spec))
    assert list(program.range_constraints.values()) == [(0, None)]
    np.testing.assert_array_equal(program.module()(tensor(7, 3), tensor(7, 3)).numpy(), tensor(7, 3).numpy() * 2)
    with pytest.raises(ShapeError) as error:
        program.module()(tensor(7, 3), tensor(5, 3))
    assert (
        "dim 0 of x" in str(error.value)
        and "dim 0 of y" in str(error.value)
        and "test_export_dynamic.py" in str(error.value.at)
    )


def test_derived_sizes(through: Through) -> None:
    def f(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        return opweave.cat([x, x]) + y + z[1:].sum()

    args = (tensor(4, 3), tensor(8, 3), tensor(5, 3))
    spec = {"x": {0: BATCH}, "y": {0: 2 * BATCH}, "z": {0: BATCH + 1}}
    program = through(export(f, args, dynamic_shapes=spec))
    assert 'y: "f32[2*s0, 3]"' in str(program) and 'z: "f32[s0 + 1, 3]"' in str(program)
    args = (tensor(5, 3), tensor(10, 3), tensor(6, 3))
    np.testing.assert_array_equal(program.module(compile=False)(*args).numpy(), f(*args).numpy())
    with pytest.raises(ShapeError, match=r"dim 0 of y is 9, and must be 2\*batch = 10, with batch = 5 \(dim 0 of x\)"):
        program.module()(tensor(5, 3), tensor(9, 3), tensor(6, 3))


def test_derived_sizes_without_their_root(through: Through) -> None:
    spec = {"x": {0: 2 * BATCH}, "y": {0: 3 * BATCH + 1}}
    program = through(export(lambda x, y: x.view(-1, 2).sum() + y.sum(), (tensor(4), tensor(7)), dynamic_shapes=spec))
    assert program.module()(opweave.ones(6), opweave.ones(10)).item() == 16
    with pytest.raises(ShapeError, match="dim 0 of x is 5"):
        program.module()(opweave.ones(5), opweave.ones(10))
    with pytest.raises(ShapeError, match="dim 0 of y is 13"):
        program.module()(opweave.ones(6), opweave.ones(13))


def test_divisibility_is_checked_with_the_line_that_needs_it(through: Through) -> None:
    def f(x: Tensor) -> Tensor:
        return x.view(-1, 8).sum(1) if x.shape[0] % 8 == 0 else x

    program = through(export(f, (tensor(16),), dynamic_shapes={"x": {0: Dim("n", max=64)}}))
    np.testing.assert_array_equal(program.module(compile=False)(tensor(24)).numpy(), f(tensor(24)).numpy())
    with pytest.raises(ShapeError, match=r"dim 0 of x is 25, but the exported code needs n % 8 == 0") as error:
        program.module()(tensor(25))
    at: Any = error.value.at
    assert at.line == f.__code__.co_firstlineno + 1
    tied = export(f, (tensor(16),), dynamic_shapes={"x": {0: 8 * BATCH}})
    assert "view" in str(tied)


def test_an_auto_size_is_narrowed_or_fixed(through: Through) -> None:
    program = through(export(lambda x: x * 2 if x.shape[0] < 9 else x, (tensor(4),), dynamic_shapes=[{0: Dim.AUTO}]))
    assert program.range_constraints == {"s0": (0, 8)}
    with pytest.raises(ShapeError, match=r"outside of \[0, 8\]") as error:
        program.module()(tensor(9))
    assert "in <lambda>" in str(error.value.at)
    program = through(export(lambda x, y: x + y, (tensor(4), tensor(4)), dynamic_shapes=({0: Dim.AUTO}, None)))
    assert program.range_constraints == {} and 'x: "f32[4]"' in str(program)
    with pytest.raises(ShapeError):
        program.module()(tensor(5), tensor(4))
    assert export(lambda x: x, (tensor(1),), dynamic_shapes=[{0: Dim.AUTO}]).range_constraints == {}


@pytest.mark.parametrize(
    ("f", "dim", "what", "hint"),
    [
        (lambda x: x * 2 if x.shape[0] < 9 else x, Dim("n"), "needs n <= 8", r"Dim\('n', min=0, max=8\)"),
        (lambda x: x * 2 if x.shape[0] > 3 else x, Dim("n", min=2, max=64), "needs n >= 4",
         r"Dim\('n', min=4, max=64\)"),
        (lambda x: x * 2 if x.shape[0] > 3 else x, Dim("n"), "needs n >= 4", r"Dim\('n', min=4\)"),
        (lambda x: x + opweave.ones(4), Dim("n"), "needs n == 4", "Dim.STATIC"),
        (lambda x: x + opweave.ones(4), Dim.DYNAMIC, "needs s0 == 4", "Dim.STATIC"),
        (lambda x: x * int(x.shape[0]), Dim("n", max=4), "needs n == 4", "Dim.STATIC"),
        (lambda x: x * int(x.shape[0]), Dim.DYNAMIC, "needs s0 == 4", "Dim.STATIC"),
    ],
)  # fmt: skip
def test_what_code_cannot_keep(f: Any, dim: Any, what: str, hint: str) -> None:
    with pytest.raises(ConstraintError, match=what) as error:
        export(f, (tensor(4),), dynamic_shapes={"x": {0: dim}})
    assert "dim 0 of x" in str(error.value) and "in <lambda>" in str(error.value.at)
    assert error.value.hint is not None
    with pytest.raises(AssertionError, match=hint):
        raise AssertionError(error.value.hint)


def test_two_dims_that_must_be_equal() -> None:
    spec = {"x": {0: Dim("n")}, "y": {0: Dim("m")}}
    with pytest.raises(ConstraintError, match="asked to be independent, but the code needs m == n"):
        export(lambda x, y: x + y, (tensor(4), tensor(4)), dynamic_shapes=spec)
    independent = export(lambda x, y: x.sum() + y.sum(), (tensor(4), tensor(4)), dynamic_shapes=spec)
    assert independent.module()(opweave.ones(3), opweave.ones(5)).item() == 8


def test_examples_that_do_not_fit() -> None:
    x = tensor(4, 6)
    for spec, error in (
        ({"x": {0: Dim("n", min=5)}}, ConstraintError), ({"x": {0: Dim("n", max=3)}}, ConstraintError),
        ({"x": [BATCH, BATCH]}, ConstraintError), ({"x": [Dim("n", max=9), Dim("n", max=8)]}, ArgumentError),
        ({"x": {0: 3 * BATCH}}, ConstraintError), ({"x": {0: 2 * BATCH, 1: 2 * BATCH}}, ConstraintError),
        ({"x": {0: 2 * BATCH, 1: 2 * BATCH + 4}}, ConstraintError),
    ):  # fmt: skip
        with pytest.raises(error):
            export(lambda x: x, (x,), dynamic_shapes=spec)
    for dim in (BATCH, Dim.DYNAMIC):
        with pytest.raises(ConstraintError, match="sizes 0 and 1"):
            export(lambda x: x, (tensor(1),), dynamic_shapes={"x": {0: dim}})
    batch: Any = BATCH
    for wrong in (lambda: batch * 0, lambda: batch + 1.5, lambda: batch - "a", lambda: Dim("n", min=-1)):
        with pytest.raises(ArgumentError):
            wrong()
    assert repr(2 * BATCH - 1) == "2*batch - 1"


def test_sizes_zero_and_one(through: Through) -> None:
    program = through(export(lambda x: x * 2 + x.sum(0), (tensor(4, 3),), dynamic_shapes=[{0: BATCH}]))
    for n in (0, 1):
        np.testing.assert_array_equal(
            program.module()(tensor(n, 3)).numpy(), (tensor(n, 3) * 2 + tensor(n, 3).sum(0)).numpy()
        )
    squeezed = through(export(lambda x: x.squeeze(0).sum(0) * x.squeeze(0).shape[0], (tensor(4, 3),),
                              dynamic_shapes=[{0: BATCH}]))  # fmt: skip
    with pytest.raises(ShapeError, match="something else for a size of 0 or 1"):
        squeezed.module()(tensor(1, 3))


def test_strides_follow_from_sizes(through: Through) -> None:
    program = through(export(lambda x: x.t().reshape(-1), (tensor(16, 6).t(),), dynamic_shapes={"x": {1: BATCH}}))
    x = tensor(5, 6).t()
    np.testing.assert_array_equal(program.module()(x).numpy(), x.t().numpy().reshape(-1))
    with pytest.raises(ShapeError, match="stride in dim"):
        program.module()(tensor(6, 5))
    inner = through(export(lambda x: x * x.shape[1], (tensor(3, 4),), dynamic_shapes={"x": {1: BATCH}}))
    np.testing.assert_array_equal(inner.module()(tensor(3, 7)).numpy(), tensor(3, 7).numpy() * 7)


def test_nested_arguments_numbers_and_lifted_tensors(through: Through) -> None:
    w = tensor(6, 3)

    def f(data: Any, n: int) -> Tensor:
        return data["a"][0] @ w * n

    spec = {"data": {"a": [{0: BATCH}]}, "n": None}
    program = through(export(f, ({"a": [tensor(4, 6)]}, 5), dynamic_shapes=spec))
    x = tensor(9, 6)
    np.testing.assert_array_equal(program.module()({"a": [x]}, 5).numpy(), f({"a": [x]}, 5).numpy())
    with pytest.raises(ArgumentError, match="part of the graph"):
        program.module()({"a": [x]}, 6)


def test_floats_of_sizes(through: Through) -> None:
    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        n = x.shape[0]
        return opweave.zeros(n) + n * 2.0, x * (n / 3)

    program = through(export(f, (tensor(5, 1),), dynamic_shapes=({0: Dim("n", min=3)},)))
    for found, want in zip(program.module()(tensor(8, 1)), f(tensor(8, 1)), strict=True):
        np.testing.assert_array_equal(found.numpy(), want.numpy())


def test_a_float_that_a_file_does_not_hold() -> None:
    program = export(lambda x: x * (x.shape[0] * 0.3), (tensor(5, 1),), dynamic_shapes=({0: Dim("n", min=3)},))
    with pytest.raises(UnsupportedError, match="an expression that a file does not hold") as caught:
        save(program, io.BytesIO())
    assert "* 0.3" in str(caught.value) and "no floats but a quotient" in str(caught.value)


def test_sizes_that_depend_on_data(through: Through) -> None:
    def f(x: Tensor) -> Tensor:
        places = x.nonzero()
        opweave.check(places.shape[0] > 2, "too few")
        return places * places.shape[0]

    program = through(export(f, (tensor(4, 3),), dynamic_shapes=[{0: BATCH}]))
    np.testing.assert_array_equal(program.module()(tensor(6, 3)).numpy(), f(tensor(6, 3)).numpy())
    with pytest.raises(ShapeError, match="too few"):
        program.module()(opweave.zeros(5, 3))


def test_an_argument_that_is_no_tensor() -> None:
    with pytest.raises(ArgumentError):
        export(lambda x, n: x * n, (tensor(4), 3), dynamic_shapes={"x": None, "n": {0: BATCH}})
    with pytest.raises(UnsupportedError):
        export(lambda *x: x[0], (tensor(4), tensor(4)), dynamic_shapes={"x": {0: BATCH}})


def test_decompositions_keep_the_sizes() -> None:
    program = export(lambda x: x * x.shape[0], (tensor(4),), dynamic_shapes=[{0: Dim("n", max=9)}]).run_decompositions()
    assert program.range_constraints == {"s0": (0, 9)}
    with pytest.raises(ShapeError, match="outside"):
        program.module()(tensor(10))


# ---- forged files ----------------------------------------------------------------------------------------------------


def forged(change: Callable[[Any], Any]) -> bytes:
    def f(x: Tensor) -> Tensor:
        return x.view(-1, 8) * (x.shape[0] // 2) if x.shape[0] % 8 == 0 else x

    file = io.BytesIO()
    save(export(f, (tensor(16),), dynamic_shapes={"x": {0: Dim("n", max=64)}}), file)
    manifest, entries = archive.read(io.BytesIO(file.getvalue()))
    program = json.loads(entries["program.json"])
    change(program)
    target = io.BytesIO()
    archive.write(target, {**entries, "program.json": json.dumps(program).encode()}, {"ops": manifest["ops"]})
    return target.getvalue()


def nest(levels: int) -> Any:
    tree: Any = "s0"
    for _ in range(levels):
        tree = ["neg", tree]
    return tree


def product(levels: int) -> Any:
    return ["mul", *([["add", "s0", 1]] * levels)]


@pytest.mark.parametrize(
    "tree",
    [
        "s1", "", "__import__('os')", [], ["s0"], ["add"], ["add", "s0"], ["eval", "s0"], ["add", "s0", None], 1.5, {},
        ["floordiv", "s0", 0], ["mod", "s0", ["sub", "s0", "s0"]], ["pow", "s0", 10**9], ["pow", 10, ["neg", "s0"]],
        ["pow", ["add", "s0", 1], 8, 2], ["add", "s0", True], ["and", "s0", "s0"], ["eq", "s0", 4], ["not", "s0"],
        ["add", "s0", 2**70], ["truediv", "s0", 3], ["add", *["s0"] * 100], nest(30), nest(300), product(10),
        ["mul", *[product(3)] * 6], ["sub", "s0", 1000], {"number": "int", "value": "s0"}, ["floor", 1.5],
        ["min", *[["add", "s0", n] for n in range(30)]],
    ],
    ids=lambda tree: str(tree)[:30],
)  # fmt: skip
def test_forged_sizes(tree: Any) -> None:
    def change(program: Any) -> None:
        program["graph"]["inputs"][0]["val"]["sizes"][0] = tree

    with pytest.raises(ExportError):
        load(io.BytesIO(forged(change)))


def put(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(program: Any) -> None:
        for key in path[:-1]:
            program = program[key]
        program[path[-1]] = to

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("guards", to=[{"replaces": None, "value": "s0", "site": ["a", 1, "b"]}]),
        put("guards", to=[{"replaces": None, "value": ["eq", "s0", 4], "site": None}]),
        put("guards", to=[{"replaces": "s0", "value": ["add", "s0", 1], "site": ["a", 1, "b"]}]),
        put("guards", to=[{"replaces": "s0", "value": 4, "site": ["a", 1, "b"]}] * 2),
        put("guards", to=[{"replaces": "s7", "value": 4, "site": ["a", 1, "b"]}]),
        put("guards", to={}), put("range_constraints", to={}), put("range_constraints", "s0", "hint", to=65),
        put("range_constraints", "s0", "hint", to=None), put("range_constraints", "s0", "high", to=-1),
        put("range_constraints", "s0", "low", to="0"), put("range_constraints", "s0", "site", to=["a"]),
        put("range_constraints", "s0", "places", to=[]), put("range_constraints", "s0", "label", to="a\nb"),
        put("range_constraints", "x.y", to={}), put("range_constraints", "s0", "least", to=1),
    ],
)  # fmt: skip
def test_forged_constraints(change: Callable[[Any], Any]) -> None:
    with pytest.raises(ExportError):
        load(io.BytesIO(forged(change)))


@pytest.mark.parametrize(
    ("key", "value"),
    [("target", "system"), ("target", "__import__"), ("target", 3), ("args", []), ("args", ["a", "b"]),
     ("args", [{"node": "x"}, 2]), ("kwargs", {"a": 1}), ("val", {"number": "tensor", "value": "s0"}),
     ("val", {"number": "bool", "value": "s0"})],
)  # fmt: skip
def test_forged_functions_of_numbers(key: str, value: Any) -> None:
    def change(program: Any) -> None:
        (node,) = [node for node in program["graph"]["nodes"] if node["kind"] == "number"]
        node[key] = value

    with pytest.raises(ExportError):
        load(io.BytesIO(forged(change)))


def test_a_forged_file_that_is_not_changed() -> None:
    program = load(io.BytesIO(forged(lambda program: None)))
    np.testing.assert_array_equal(program.module()(tensor(24)).numpy(), tensor(24).numpy().reshape(-1, 8) * 12)


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        if isinstance(item, (dict, list)):
            found += _places(item)
    return found


def test_random_forgeries_are_refused_or_harmless() -> None:
    rng = random.Random(0)
    values = ["s0", "s1", 0, -1, 2, None, [], {}, True, ["add", "s0", 1], ["mod", "s0", 8], ["eq", "s0", 8], 1.5]
    refused = 0
    for _ in range(150):

        def change(program: Any) -> None:
            chosen = [p for p in _places(program["graph"]) if not isinstance(p[0][p[1]], dict)]
            chosen += _places(program["range_constraints"]) + _places(program["guards"])
            place, key = rng.choice(chosen)
            place[key] = rng.choice(values)

        try:
            program = load(io.BytesIO(forged(change)))
        except ExportError:
            refused += 1
            continue
        assert "s0" in str(program)
    assert refused > 75
