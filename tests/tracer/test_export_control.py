"""Exported programs with control flow, and with Triton kernels on dynamic sizes; their files, whole and forged."""

from __future__ import annotations

import copy
import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave.export import Dim, ExportedProgram, export, load, save
from opweave.library import triton_op, wrap_triton
from opweave.registry.errors import ConstraintError, ExportError, OpweaveError, OutOfRangeError, ShapeError
from opweave.registry.op import ops, registry
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.export import archive
from opweave.tracer.export.linking import calls
from opweave.tracer.printing import operand_graphs


def tensor(*sizes: int, seed: int = 0) -> Tensor:
    return from_numpy(np.random.default_rng(seed).standard_normal(sizes, dtype=np.float32))


W = tensor(6, 6, seed=9)
BIAS = tensor(6, seed=8)


@triton.jit
def scaled(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * factor, i < n)


def launched(x: Tensor, kernel: Any = scaled, factor: float = 2.0, **options: Any) -> Tensor:
    out = opweave.empty_like(x)
    n = x.numel()
    wrap_triton(kernel)[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n, factor, **options)
    return out


@triton_op("export_control::doubled", mutates_args=())
def doubled(x: Tensor) -> Tensor:
    return launched(x, BLOCK=16) + BIAS


@triton_op("export_control::times", mutates_args=())
def times(x: Tensor, n: int) -> Tensor:
    return launched(x, factor=3.0, BLOCK=32) * n


def text(program: ExportedProgram) -> str:
    """Without what only counts in a process: numbers of kernels, grids of configurations that were not chosen."""
    return re.sub(r"kernel_idx=\d+|grid=\[[^]]*\]|kwargs=.*", "", str(program))


def again(program: ExportedProgram) -> ExportedProgram:
    """Through a file, which says the same when it is written again."""
    file, second = io.BytesIO(), io.BytesIO()
    save(program, file)
    found = load(io.BytesIO(file.getvalue()))
    save(found, second)
    assert text(found) == text(program) and found.range_constraints == program.range_constraints
    assert second.getvalue() == file.getvalue()
    return found


def forms(program: ExportedProgram) -> list[ExportedProgram]:
    """The program, decomposed, and both through files, where the registered triton_ops are not called."""
    simple = program.run_decompositions()
    names = [op for node in calls(simple.graph) if (op := node.target).namespace == "export_control"]
    assert names == []
    return [program, simple, again(program), again(simple), again(program).run_decompositions()]


def check(function: Any, program: ExportedProgram, *inputs: tuple[Any, ...]) -> None:
    for form in forms(program):
        for args in inputs:
            got, want = form.module(compile=False)(*args), function(*args)
            for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, want)), strict=True):
                np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The triton_ops of this file are not registered, so that bodies run."""
    for op in list(registry.operators):
        if op.startswith("export_control::"):
            monkeypatch.delitem(registry.loaded, op)
    monkeypatch.setattr(registry, "version", registry.version + 1)


ROWS = {0: Dim("rows", max=1000)}


class TestLaunches:
    def test_a_triton_op_for_many_sizes(self) -> None:
        function = lambda x: doubled(x @ W).relu()  # noqa: E731
        program = export(function, (tensor(8, 6),), dynamic_shapes=[ROWS])
        assert [str(n.target) for n in program.graph if n.op == "call_function"][1] == "export_control.doubled.default"
        assert program.range_constraints == {"s0": (0, 1000)}
        check(function, program, *[(tensor(n, 6, seed=n),) for n in (2, 3, 8, 64, 333, 1, 0)])

    def test_the_body_runs_where_the_op_is_not(self, request: pytest.FixtureRequest) -> None:
        def function(x: Tensor) -> Tensor:
            return times(doubled(opweave.cat([x, x, W])), x.shape[0])

        program = again(export(function, (tensor(8, 6),), dynamic_shapes=[ROWS]))
        inputs = [tensor(n, 6, seed=n) for n in (2, 3, 40, 1, 0)]
        expected = [function(x).numpy() for x in inputs]
        request.getfixturevalue("away")
        for x, want in zip(inputs, expected, strict=True):
            np.testing.assert_array_equal(program.module()(x).numpy(), want)

    def test_the_grid_is_an_expression(self) -> None:
        program = export(lambda x: doubled(x), (tensor(8, 6),), dynamic_shapes=[ROWS]).run_decompositions()
        for form in (program, again(program)):
            (launch,) = form.graph.find_nodes(target=ops.triton_kernel_wrapper_mutation)
            ((size, *_),) = launch.kwargs["grid"]
            assert str(size.meta["val"]) == "(6*s0 + 15) // 16"
            assert str(launch.kwargs["kwargs"]["n"].meta["val"]) == "6*s0"

    def test_an_example_that_is_a_multiple_of_16(self) -> None:
        function = lambda x: launched(x, BLOCK=16)  # noqa: E731
        program = export(function, (tensor(64),), dynamic_shapes=[{0: Dim("n")}])
        check(function, program, *[(tensor(n, seed=n),) for n in (64, 5, 33, 1)])

    def test_an_autotuned_kernel(self) -> None:
        configs = [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64})]
        tuned = triton.autotune(configs, key=["n"])(scaled)
        function = lambda x: launched(x, tuned)  # noqa: E731
        program = export(function, (tensor(64),), dynamic_shapes=[{0: Dim("n")}])
        check(function, program, *[(tensor(n, seed=n),) for n in (64, 5, 150)])

    def test_what_a_heuristic_decides_is_checked_at_calls(self) -> None:
        @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
        @triton.jit
        def kernel(x, out, n, factor, BLOCK: tl.constexpr, EVEN: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            if EVEN:
                tl.store(out + i, tl.load(x + i) * factor)
            else:
                tl.store(out + i, tl.load(x + i, i < n) * factor, i < n)

        function = lambda x: launched(x, kernel, BLOCK=16)  # noqa: E731
        program = export(function, (tensor(64),), dynamic_shapes=[{0: Dim.AUTO}])
        check(function, program, *[(tensor(n, seed=n),) for n in (64, 16, 160)])
        for form in forms(program):
            with pytest.raises(ShapeError, match="16"):
                form.module()(tensor(50))

    def test_a_size_as_a_constant_of_the_kernel(self) -> None:
        def function(x: Tensor) -> Tensor:
            return launched(x, BLOCK=x.shape[0])

        with pytest.raises(ConstraintError, match="n == 16"):
            export(function, (tensor(16),), dynamic_shapes=[{0: Dim("n")}])

    def test_a_size_beyond_what_the_kernel_takes(self) -> None:
        """A number of 32 bits in the text of the kernel: nothing is cut off."""

        def function(x: Tensor) -> Tensor:
            out = opweave.empty_like(x)
            wrap_triton(scaled)[(1,)](x, out, x.shape[0] * 2**28, 2.0, BLOCK=16)
            return out

        program = export(function, (tensor(7),), dynamic_shapes=[{0: Dim("n")}])
        np.testing.assert_array_equal(again(program).module()(tensor(3)).numpy(), tensor(3).numpy() * 2)
        with pytest.raises(OutOfRangeError):
            again(program).module()(tensor(8))


def branches(x: Tensor, flag: Tensor) -> tuple[Tensor, ...]:
    h = x @ W
    (found,) = opweave.cond(
        flag, lambda t: (doubled(t) * t.shape[0],), lambda t: (opweave.relu(t) - t.sum() + BIAS,), (h,)
    )
    return found, h


def loop(x: Tensor) -> tuple[Tensor, ...]:
    _, s = opweave.while_loop(
        lambda i, s: (i < 4) & (s.sum() < 1e6), lambda i, s: (i + 1, s * 2 + doubled(s)), (opweave.tensor(0), x)
    )
    return (s,)


def scanned(x: Tensor) -> tuple[Tensor, ...]:
    return opweave.scan(lambda carry, row: (carry + row * BIAS, carry.sin()), opweave.zeros(6), x)


def mapped(x: Tensor) -> tuple[Tensor, ...]:
    return opweave.map(lambda row, w: (row @ w + BIAS, row.sum()), x, W)


def combined(x: Tensor) -> Tensor:
    return opweave.associative_scan(lambda a, b: a + b * 0.5, x, 1)


def nested(x: Tensor, flag: Tensor) -> Tensor:
    def inner(row: Tensor) -> Tensor:
        return opweave.cond(row.sum() > 0, lambda r: r.sin() * 2, lambda r: r - BIAS, (row,))

    return opweave.cond(flag, lambda t: opweave.map(inner, t), lambda t: doubled(t), (x,))


TRUE, FALSE = opweave.tensor(True), opweave.tensor(False)


class TestControlFlow:
    def test_cond(self) -> None:
        program = export(branches, (tensor(8, 6), TRUE), dynamic_shapes=[ROWS, None])
        check(branches, program, *[(tensor(n, 6, seed=n), f) for n in (2, 3, 50) for f in (TRUE, FALSE)])
        (node,) = program.graph.find_nodes(target=ops.cond)
        assert [g.name for g in operand_graphs(node)] == ["true_graph_0", "false_graph_0"]
        assert program.graph_signature.mutated == ()

    @pytest.mark.parametrize("function", [loop, scanned, mapped, combined])
    def test_loops(self, function: Any) -> None:
        program = export(function, (tensor(8, 6),), dynamic_shapes=[ROWS])
        check(function, program, *[(tensor(n, 6, seed=n),) for n in (5, 3, 50)])

    @pytest.mark.parametrize("dynamic", [True, False])
    def test_in_each_other(self, dynamic: bool) -> None:
        program = export(nested, (tensor(8, 6), TRUE), dynamic_shapes=[ROWS, None] if dynamic else None)
        sizes = (2, 3, 50) if dynamic else (8,)
        check(nested, program, *[(tensor(n, 6, seed=n), f) for n in sizes for f in (TRUE, FALSE)])

    def test_a_write_to_the_result_is_none_to_the_operand(self) -> None:
        def function(x: Tensor, flag: Tensor) -> Tensor:
            return opweave.cond(flag, lambda t: t + 1, lambda t: t * 2, (x,)).add_(3)

        program = export(function, (tensor(4), TRUE))
        assert program.graph_signature.mutated == () == again(program).graph_signature.mutated

    def test_a_branch_can_be_edited(self) -> None:
        program = again(export(lambda x, p: opweave.cond(p, lambda t: t + 1, lambda t: t * 2, (x,)), (tensor(4), TRUE)))
        module = program.module()
        np.testing.assert_array_equal(module(tensor(4), TRUE).numpy(), tensor(4).numpy() + 1)
        (node,) = program.graph.find_nodes(target=ops.cond)
        (add,) = operand_graphs(node)[0].find_nodes(target=ops.aten.add.Tensor)
        with add.graph.inserting_before(add):
            add.replace_all_uses_with(add.graph.call_function(ops.aten.mul.Tensor, (add.args[0], 5)))
        add.graph.erase_node(add)
        for found in (program, again_edited(program)):
            np.testing.assert_array_equal(found.module()(tensor(4), TRUE).numpy(), tensor(4).numpy() * 5)

    def test_traced_again(self) -> None:
        program = again(export(branches, (tensor(8, 6), TRUE), dynamic_shapes=[ROWS, None]))
        x = tensor(5, 6)
        traced = opweave.make_fx(program.module(), tracing_mode="fake")(x, TRUE)
        np.testing.assert_array_equal(traced(x, FALSE)[0].numpy(), branches(x, FALSE)[0].numpy())


def again_edited(program: ExportedProgram) -> ExportedProgram:
    for node in program.graph.find_nodes(target=ops.cond):
        for graph in operand_graphs(node):
            for inner in graph.nodes:
                if inner.op == "call_function":
                    inner.meta.setdefault("val", graph.placeholders()[0].meta["val"])
    return again(program)


# ---- forged files ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole() -> bytes:
    def function(x: Tensor, flag: Tensor) -> tuple[Tensor, ...]:
        y = opweave.cond(flag, lambda t: doubled(t), lambda t: t * t.shape[0], (x,))
        carry, rows = opweave.scan(lambda c, r: (c + r, c * 2), opweave.zeros(6), y)
        (z,) = opweave.while_loop(lambda s: s.sum() < 10, lambda s: (s + 1,), (carry,))
        return nested(rows, flag), opweave.map(lambda r: r * z, y)

    file = io.BytesIO()
    save(export(function, (tensor(8, 6), TRUE), dynamic_shapes=[ROWS, None]), file)
    return file.getvalue()


def edited(data: bytes, change: Callable[[Any], Any], *, version: int = archive.VERSION) -> bytes:
    manifest, entries = archive.read(io.BytesIO(data))
    program = json.loads(entries["program.json"])
    change(program)
    file = io.BytesIO()
    archive.write(
        file, {**entries, "program.json": json.dumps(program).encode()}, {"ops": manifest["ops"], "version": version}
    )
    return file.getvalue()


def nodes(program: Any) -> dict[str, Any]:
    return {node["name"]: node for node in program["graph"]["nodes"]}


def test_a_file_that_is_whole(whole: bytes) -> None:
    program = load(io.BytesIO(edited(whole, lambda p: None)))
    second = io.BytesIO()
    save(program, second)
    assert second.getvalue() == whole


def places(value: Any) -> list[tuple[Any, Any]]:
    """All (container, key) of nested JSON."""
    found: list[tuple[Any, Any]] = []
    keys: Any = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        found += places(value[key])
    return found


STRANGE: list[Any] = [
    None, True, 0, -1, 2**31, 2**63, 1.5, "", "x", "cond", "map_impl", "__class__", "s0", ["add", "s0", 1], [], {},
    [[]], {"node": "x"}, {"node": "cond"}, {"graph": {}}, {"tuple": []}, {"tuple": [{"node": "x"}]},
    {"graph": {"name": "x", "inputs": [], "nodes": [], "outputs": []}}, {"dict": [[[], 1]]}, {"float": "nan"},
    "while_loop", "scan", "control",
]  # fmt: skip


def test_five_hundred_forgeries(whole: bytes) -> None:
    """Values that are replaced, dropped or exchanged, under hashes that are right: an error, or a whole program."""
    rng = random.Random(1)
    loaded = 0
    for _ in range(500):

        def change(program: Any) -> None:
            found = places(program["graph"]) if rng.randrange(4) else places(program)
            container, key = rng.choice(found)
            match rng.randrange(4):
                case 0 | 1:
                    container[key] = copy.deepcopy(rng.choice(STRANGE))
                case 2:
                    del container[key]
                case _:
                    other, place = rng.choice(found)
                    container[key] = copy.deepcopy(other[place])

        data = edited(whole, change)
        try:
            program = load(io.BytesIO(data))
            file = io.BytesIO()
            save(program, file)
            second = load(io.BytesIO(file.getvalue()))
        except OpweaveError:
            continue
        loaded += 1
        assert str(second) == str(program)
    assert 0 < loaded < 250


def cond_of(program: Any) -> Any:
    return nodes(program)["cond"]


def branch(program: Any, number: int = 1) -> Any:
    return cond_of(program)["args"][number]["graph"]


def deeper(program: Any) -> None:
    for _ in range(40):
        outer = copy.deepcopy(cond_of(program))
        inner = branch(program)
        outer["args"][0] = {"node": inner["inputs"][0]["name"]}
        outer["args"][3] = {"tuple": [{"node": one["name"]} for one in inner["inputs"]]}
        inner["nodes"] = [outer]


def bodies_in_bodies(program: Any) -> None:
    (op,) = [node for node in branch(program)["nodes"] if "body" in node]
    op["body"]["graph"]["nodes"].insert(0, {**copy.deepcopy(op), "name": "deep"})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda p: cond_of(p).update(target="exec"), "an op of control flow"),
        (lambda p: cond_of(p).update(target="scan"), "graphs where|operands"),
        (lambda p: cond_of(p).update(kwargs={}), "kwargs"),
        (lambda p: cond_of(p)["args"].pop(), "4 operands"),
        (lambda p: cond_of(p)["args"].reverse(), "graphs where|predicate"),
        (lambda p: cond_of(p)["args"].__setitem__(0, True), "a predicate that is a tensor"),
        (lambda p: cond_of(p)["args"].__setitem__(3, {"node": "x"}), "tuple of tensors"),
        (lambda p: cond_of(p)["args"].__setitem__(3, {"tuple": []}), "inputs are like the operands"),
        (lambda p: cond_of(p)["args"].__setitem__(1, {"graph": 3}), "object"),
        (lambda p: cond_of(p).update(val=[]), "results like those"),
        (lambda p: cond_of(p).update(val={"constant": 1}), "results that are a tuple"),
        (lambda p: branch(p).update(name="import os"), "identifier"),
        (lambda p: branch(p).update(more=1), "more"),
        (lambda p: branch(p).update(inputs=[]), "earlier node"),
        (lambda p: branch(p).update(outputs={"tuple": []}), "results like those"),
        (lambda p: branch(p).update(outputs={"tuple": [1]}), "return a tuple of tensors"),
        (lambda p: branch(p).update(outputs=[1]), "tuple of outputs"),
        (lambda p: branch(p)["inputs"][0]["val"].update(dtype="int8"), "inputs are like the operands"),
        (lambda p: branch(p, 2)["nodes"][0].update(args=[{"node": "flag"}, 0]), "earlier node"),
        (lambda p: branch(p, 2)["nodes"].reverse(), "earlier node"),
        (lambda p: branch(p, 2)["nodes"][0].update(target="os::system"), "manifest"),
        (lambda p: branch(p, 2)["nodes"][0].update(name="def"), "not used yet"),
        (lambda p: p["graph"].update(name="f"), "name"),
        (deeper, "in each other"),
        (bodies_in_bodies, "no body inside a body"),
        (lambda p: nodes(p)["while_loop"]["args"].__setitem__(2, {"tuple": []}), "like the operands"),
        (lambda p: nodes(p)["scan"].update(val=nodes(p)["scan"]["val"][:1]), "results like those"),
        (lambda p: nodes(p)["scan"]["args"].__setitem__(1, {"tuple": []}), "like the operands"),
    ],
)  # fmt: skip
def test_hostile_graphs(whole: bytes, change: Callable[[Any], Any], match: str) -> None:
    with pytest.raises(ExportError, match=match):
        load(io.BytesIO(edited(whole, change)))


def test_a_branch_that_writes_is_told(whole: bytes) -> None:
    """What a program writes is said in its signature; a file cannot hide it in a branch."""

    def change(program: Any) -> None:
        mul = next(node for node in branch(program, 2)["nodes"] if node.get("target") == "aten::mul.Tensor")
        mul["target"] = "aten::mul_.Tensor"

    manifest, entries = archive.read(io.BytesIO(edited(whole, change)))
    manifest["ops"]["aten::mul_.Tensor"] = str(ops.aten.mul_.Tensor._schema)
    file = io.BytesIO()
    archive.write(file, entries, {"ops": manifest["ops"]})
    with pytest.raises(ExportError, match="what the graph writes"):
        load(io.BytesIO(file.getvalue()))


def test_files_of_the_first_version() -> None:
    """They have no control flow, and fixed grids: the same content under an older number."""
    file = io.BytesIO()
    program = export(lambda x: launched(x, BLOCK=16), (tensor(40),))
    save(program, file)
    data = edited(file.getvalue(), lambda p: None, version=1)
    assert json.loads(archive_text(data, "manifest.json"))["version"] == 1
    np.testing.assert_array_equal(load(io.BytesIO(data)).module()(tensor(40)).numpy(), tensor(40).numpy() * 2)


def archive_text(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return file.read(name)
