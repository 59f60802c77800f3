"""Launches as Triton's users write them, `kernel[grid](...)`, eager, traced, compiled and exported."""

from __future__ import annotations

import collections
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import opweave
from opweave import Tensor
from opweave.library import wrap_triton
from opweave.registry.errors import ArgumentError, AutogradError, UnsupportedError
from opweave.registry.launch_form import taken_apart
from opweave.registry.triton_op import forms

Function = Callable[[Tensor, Tensor], Any]


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def weighted(parts, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(parts[0] + i, mask=i < n) + tl.load(parts[1] + i, mask=i < n) * parts[2], mask=i < n)


@triton.jit
def both(outs, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(outs[0] + i, v + 1, mask=i < n)
    tl.store(outs[1][0] + i, v * outs[1][1], mask=i < n)


@triton.jit
def doubled(x, out, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    out.store([row, 0], x.load([row, 0]) * 2)


def by_block(meta: dict[str, Any]) -> tuple[int]:
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


CONFIGS = [triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128})]
tuned = triton.autotune(CONFIGS, key=["n"])(add)
chosen = triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})(add)
seven = triton.autotune([triton.Config({"BLOCK": 64}, pre_hook=lambda args: args["out"].fill_(7.0))], key=["n"])(
    triton.jit(add.fn)
)
twice = triton.autotune([triton.Config({}, num_stages=1), triton.Config({}, num_stages=2)], key=["n"])(
    triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})], key=["n"])(add)
)


def prune(configs: list[Any], named: dict[str, Any], **others: Any) -> list[Any]:
    assert named["n"] > 0
    return configs[:1]


pruned = triton.autotune(CONFIGS, key=["n"], prune_configs_by={"early_config_prune": prune})(add)
Parts = collections.namedtuple("Parts", "first second factor")  # noqa: PYI024  # as users write it


def launching(launch: Callable[[Tensor, Tensor, Tensor], Any]) -> Function:
    def function(x: Tensor, y: Tensor) -> Tensor:
        out = opweave.empty_like(x)
        launch(x, y, out)
        return out * 2

    return function


def two_outputs(x: Tensor, y: Tensor) -> Any:
    a, b = opweave.empty_like(x), opweave.empty_like(x)
    both[(4,)]((a, (b, 3)), x + y, x.numel(), BLOCK=64)
    return a, a * b


def through_descriptors(x: Tensor, y: Tensor) -> Tensor:
    given, out = (x + y).view(-1, 16), opweave.empty(x.numel()).view(-1, 16)
    describe = TensorDescriptor.from_tensor
    doubled[(given.shape[0] // 4,)](describe(given, [4, 16]), describe(out, [4, 16]), ROWS=4)
    return out + 1


def onto_itself(x: Tensor, y: Tensor) -> Any:
    z = x * 1
    add[(4,)](z, y, z, x.numel(), BLOCK=64)
    return z, z * 2


def onto_an_argument(x: Tensor, y: Tensor) -> Tensor:
    add[(4,)](x, y, x, x.numel(), BLOCK=64)
    return x * 2


def onto_views(x: Tensor, y: Tensor) -> Any:
    out = opweave.zeros(2, 256)
    add[(4,)](x, y, out[1], x.numel(), BLOCK=64)
    add[(1,)](out[1], y, out.view(-1)[5:], 7, BLOCK=8)
    return out, out.sum(1)


FORMS: dict[str, Function] = {
    "plain": launching(lambda x, y, out: add[(4,)](x, y, out, x.numel(), BLOCK=64)),
    "grid of sizes": launching(lambda x, y, out: add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), 64)),
    "grid of meta": launching(lambda x, y, out: add[by_block](x, y, out, n=x.numel(), BLOCK=64)),
    "run": launching(lambda x, y, out: add.run(x, y, out, x.numel(), BLOCK=64, grid=(4,), warmup=False)),
    "wrapped": launching(lambda x, y, out: wrap_triton(add)[(4,)](x, y, out, x.numel(), BLOCK=64)),
    "wrapped run": launching(lambda x, y, out: wrap_triton(add).run(x, y, out, x.numel(), BLOCK=64, grid=(4,))),
    "autotuned": launching(lambda x, y, out: tuned[by_block](x, y, out, x.numel())),
    "autotuned, wrapped": launching(lambda x, y, out: wrap_triton(tuned)[by_block](x, y, out, x.numel())),
    "autotuned, with warps": launching(lambda x, y, out: tuned[by_block](x, y, out, x.numel(), num_warps=8)),
    "autotuned twice": launching(lambda x, y, out: twice[by_block](x, y, out, x.numel())),
    "pruned": launching(lambda x, y, out: pruned[by_block](x, y, out, x.numel())),
    "autotuned twice, with warps": launching(lambda x, y, out: twice[by_block](x, y, out, x.numel(), num_warps=2)),
    "heuristics, with warps": launching(lambda x, y, out: chosen[(1,)](x, y, out, x.numel(), num_warps=2)),
    "heuristics": launching(lambda x, y, out: chosen[(1,)](x, y, out, x.numel())),
    "warps": launching(lambda x, y, out: add[(4,)](x, y, out, x.numel(), BLOCK=64, num_warps=2, num_stages=1)),
    "tuple": launching(lambda x, y, out: weighted[(4,)]((x, y, 3), out, x.numel(), BLOCK=64)),
    "tuple with a float": launching(lambda x, y, out: weighted[(4,)]((x, y, 0.5), out, x.numel(), BLOCK=64)),
    "tuple with a size": launching(lambda x, y, out: weighted[(4,)]((x, y, y.shape[0]), out, x.numel(), BLOCK=64)),
    "tuple with a 1": launching(lambda x, y, out: weighted[(4,)]((x, y, 1), out, x.numel(), BLOCK=64)),
    "list": launching(lambda x, y, out: weighted[(4,)]([x, y, 3], out, x.numel(), BLOCK=64)),
    "named tuple": launching(lambda x, y, out: weighted[(4,)](Parts(x, y, 3), out, x.numel(), BLOCK=64)),
    "outputs in tuples": two_outputs, "descriptors": through_descriptors, "onto itself": onto_itself,
    "onto an argument": onto_an_argument, "onto views": onto_views,
}  # fmt: skip


def given() -> tuple[Tensor, Tensor]:
    draw = np.random.default_rng(0)
    x, y = (draw.standard_normal(256).astype(np.float32) for _ in range(2))
    return opweave.from_numpy(x), opweave.from_numpy(y)


def by_numpy(name: str) -> list[np.ndarray]:
    x, y = (t.numpy() for t in given())
    factor = {"tuple": 3, "tuple with a float": 0.5, "tuple with a size": 256, "list": 3, "named tuple": 3}.get(name, 1)
    match name:
        case "outputs in tuples":
            return [x + y + 1, (x + y + 1) * ((x + y) * 3)]
        case "descriptors":
            return [((x + y) * 2 + 1).reshape(16, 16)]
        case "onto itself":
            return [x + y, (x + y) * 2]
        case "onto views":
            out = np.zeros((2, 256), np.float32)
            out[1] = x + y
            out.reshape(-1)[5:12] = out[1][:7] + y[:7]
            return [out, out.sum(1)]
    return [(x + y * np.float32(factor)) * 2]


def saved(function: Function, path: Path) -> Function:
    opweave.export.save(opweave.export.export(function, given()), path)
    return opweave.export.load(path).module()


WAYS: dict[str, Callable[[Function, Path], Function]] = {
    "eager": lambda f, path: f,
    "fake": lambda f, path: opweave.make_fx(f, tracing_mode="fake")(*given()),
    "real": lambda f, path: opweave.make_fx(f)(*given()),
    "symbolic": lambda f, path: opweave.make_fx(f, tracing_mode="symbolic")(*given()),
    "compiled": lambda f, path: opweave.compile(f, fullgraph=True),
    "compiled for all sizes": lambda f, path: opweave.compile(f, dynamic=True, fullgraph=True),
    "saved": saved,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_launches_give_the_same_in_all_ways(name: str, tmp_path: Path) -> None:
    for way, make in WAYS.items():
        x, y = given()
        found = make(FORMS[name], tmp_path / "program.zip")(x, y)
        results = [t.numpy() for t in (found if isinstance(found, (tuple, list)) else [found])]
        for got, expected in zip(results, by_numpy(name), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6, err_msg=way)
        written = name == "onto an argument"
        np.testing.assert_allclose(x.numpy(), given()[0].numpy() + (y.numpy() if written else 0), rtol=1e-6)


def test_a_pruning_function_gets_by_position_what_was_given_so() -> None:
    x, y = given()
    expected = (["x", "y", "out"], ["n"])

    def function(x: Tensor, y: Tensor) -> Tensor:
        out = opweave.empty_like(x)
        fresh = triton.autotune(CONFIGS, key=["n"], prune_configs_by={"early_config_prune": prune_by_name})(add)
        fresh[by_block](x, y, out, n=x.numel())
        return out

    def prune_by_name(configs: list[Any], named: dict[str, Any], **others: Any) -> list[Any]:
        seen.append((list(named), [name for name in others if name not in ("grid", "warmup")]))
        return configs[:1]

    for make in (WAYS["eager"], WAYS["compiled"]):
        seen: list[Any] = []
        make(function, Path())(x, y)
        assert seen == [expected]


def test_a_hook_runs_before_each_launch() -> None:
    x, y = given()

    def function(x: Tensor, y: Tensor) -> Tensor:
        out = opweave.zeros(300)
        seven[by_block](x, y, out, x.numel())
        return out

    for make in (WAYS["eager"], WAYS["real"], WAYS["compiled"]):
        got = make(function, Path())(x, y).numpy()
        np.testing.assert_allclose(got[:256], x.numpy() + y.numpy(), rtol=1e-6)
        assert (got[256:] == 7).all()  # the hook's
    with pytest.raises(UnsupportedError, match="pre_hook"):
        saved(function, Path("never"))


def test_options_beside_a_kernel_count_also_if_it_is_autotuned() -> None:
    x, y = given()
    out = opweave.empty_like(x)
    seen: list[int] = []

    @triton.jit
    def kernel(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) * 3, mask=i < n)

    kernel.add_pre_run_hook(lambda *args, num_warps=None, **kwargs: seen.append(num_warps))
    own = triton.autotune([triton.Config({"BLOCK": 64}, num_warps=2)], key=["n"])(kernel)
    ruled = triton.heuristics({"BLOCK": lambda args: 64})(kernel)
    outside = triton.heuristics({"n": lambda args: 256})(own)
    inside = triton.autotune([triton.Config({}, num_warps=2)], key=["n"])(ruled)
    for k in (own, ruled, outside, inside):
        size = () if k is outside else (x.numel(),)
        function = launching(lambda x, y, out, k=k, size=size: k[(4,)](x, y, out, *size, num_warps=1))
        opweave.compile(function, fullgraph=True)(x, y)
        k[(4,)](x, y, out, *size, num_warps=8)
        k[(4,)](x, y, out, *size)
        np.testing.assert_allclose(out.numpy(), x.numpy() * 3)
        assert seen == [1, 8, None if k is ruled else 2]
        seen.clear()


def test_a_trace_shows_the_parts_of_an_argument() -> None:
    graph = opweave.make_fx(two_outputs)(*given()).graph
    (launch,) = [node for node in graph.nodes if "triton_kernel_wrapper" in str(node.target)]
    assert list(launch.kwargs["kwargs"]) == ["outs.0", "outs.1.0", "outs.1.1", "x", "n", "BLOCK"]
    through = opweave.make_fx(through_descriptors)(*given()).graph
    (launch,) = [node for node in through.nodes if "triton_kernel_wrapper" in str(node.target)]
    parts = ["base", "shape.0", "shape.1", "strides.0", "strides.1"]
    assert list(launch.kwargs["kwargs"]) == [*(f"{a}.{part}" for a in ("x", "out") for part in parts), "ROWS"]
    assert [launch.kwargs["kwargs"][f"x.{part}"] for part in parts[1:]] == [16, 16, 16, 1]


def test_equal_forms_are_one() -> None:
    before = len(forms)
    for _ in range(3):
        opweave.make_fx(two_outputs)(*given())
        opweave.make_fx(FORMS["plain"])(*given())
    assert len(forms) <= before + 1


def test_arguments_come_back_as_they_were() -> None:
    x, y = given()
    bound = {"a": x, "b": (x, [y, 2], "word", tl.float32), "c": Parts(y, None, 1.5), "d": tl.float16, "e": (1, 2)}
    operands, form = taken_apart(bound, 2)
    assert list(operands) == ["a", "b.0", "b.1.0", "b.1.1", "b.2", "c.0", "c.1", "c.2"]
    args, named = form.call(["a", "b", "c", "d", "e"], operands)
    assert args[0] is x and args[1] == bound["b"] and named == {name: bound[name] for name in "cde"}
    assert type(named["c"]) is Parts


def test_a_mode_sees_launches() -> None:
    seen: list[str] = []

    class Noting(opweave.DispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x, y = given()
    out = opweave.empty_like(x)
    with Noting():
        tuned[by_block](x, y, out, x.numel())
    assert seen == ["triton_kernel_wrapper_mutation"]
    np.testing.assert_allclose(out.numpy(), x.numpy() + y.numpy())


def test_launches_on_other_libraries_tensors_are_not_seen() -> None:
    """A mode is about opweave's tensors; NumPy arrays in a trace run at once, as they do in plain code."""

    class Noting(opweave.DispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise AssertionError(func)

    class Foreign:
        """What Triton takes for a tensor."""

        def __init__(self, array: np.ndarray) -> None:
            self.array, self.dtype, self.device = array, array.dtype.name, "cpu"

        def data_ptr(self) -> int:
            return self.array.ctypes.data

    x, y, out = (Foreign(np.full(64, value, np.float32)) for value in (1, 2, 0))
    with Noting():
        add[(1,)](x, y, out, 64, BLOCK=64)
    assert (out.array == 3).all()


def test_gradients_do_not_go_through_a_launch() -> None:
    """As in PyTorch: what a kernel writes has no history; what is around it has one."""
    x, _ = given()

    def function(x: Tensor) -> Tensor:
        out = opweave.empty_like(x)
        add[(4,)](x, x, out, x.numel(), BLOCK=64)
        return out * x

    for f in (function, opweave.compile(function)):
        leaf = x.clone().requires_grad_()
        f(leaf).sum().backward()
        np.testing.assert_allclose(leaf.grad.numpy(), 2 * x.numpy(), rtol=1e-6)


def test_writing_what_a_backward_pass_needs_is_noticed() -> None:
    x, y = given()
    for launch in (add, tuned, wrap_triton(add)):
        options = {} if launch is tuned else {"BLOCK": 64}
        for _ in range(3):  # found by Triton, then by opweave
            leaf = x.clone().requires_grad_()
            loss = leaf.exp()
            launch[(4,)](x, y, loss, x.numel(), **options)
            with pytest.raises(AutogradError, match="modified by an in-place operation"):
                loss.sum().backward()
        for _ in range(3):  # what is only read, or what nobody keeps, stays as it is
            leaf, out = x.clone().requires_grad_(), opweave.empty_like(x)
            loss = leaf.exp()
            launch[(4,)](loss, y, out, x.numel(), **options)
            loss.sum().backward()
            np.testing.assert_allclose(leaf.grad.numpy(), np.exp(x.numpy()), rtol=1e-6)
    parts = opweave.zeros(2, 256)
    leaf = x.clone().requires_grad_()
    loss = leaf * parts[1]  # kept; what is written is another view on the same memory
    both[(4,)]((opweave.empty_like(x), (parts[0], 3)), x, x.numel(), BLOCK=64)
    with pytest.raises(AutogradError, match="modified by an in-place operation"):
        loss.sum().backward()


def test_sizes_may_be_any() -> None:
    function = FORMS["grid of sizes"]
    compiled = opweave.compile(function)
    x, y = given()
    compiled(opweave.mark_dynamic(x, 0), opweave.mark_dynamic(y, 0))
    for n in (2, 63, 64, 65, 1000):
        z = opweave.randn(n)
        np.testing.assert_allclose(compiled(z, z).numpy(), z.numpy() * 4, rtol=1e-6)
    assert len(compiled.entries) == 1


def test_a_missing_argument_is_named() -> None:
    x, y = given()
    with pytest.raises(ArgumentError, match=r"add: missing arguments: n") as error:
        opweave.compile(launching(lambda x, y, out: add[(4,)](x, y, out, BLOCK=64)))(x, y)
    assert Path(__file__).name in str(error.value)


def test_explain_names_the_kernel_and_what_it_writes() -> None:
    alone = opweave.compile(two_outputs, options={"fuse_launches": False})
    alone(*given())
    report = str(opweave.explain(alone)(*given()))
    (line,) = [line for line in report.splitlines() if "launch of both" in line]
    assert line.strip().startswith("extern")
    assert "a user's kernel, which writes outs.0, outs.1.0; test_plain_launches.py:" in line
    lines = [line.strip() for line in str(opweave.explain(two_outputs)(*given())).splitlines() if "launch of" in line]
    assert [line.split()[:4] for line in lines] == [["lifted", "launch", "of", "both"]]
    assert "a pointwise op of add; test_plain_launches.py:" in lines[0]


def test_accesses_print_as_a_table() -> None:
    x, y = given()
    (found,) = opweave.kernel_accesses(add, x, y, opweave.empty_like(x), 300, BLOCK=64)
    first = add.starting_line_number
    assert str(found).replace(__file__, "FILE") == (
        f"x    f32[64]  load   [pid0*64 + r0]:i32  where pid0*64 + r0 < n  FILE:{first + 3}\n"
        f"y    f32[64]  load   [pid0*64 + r0]:i32  where pid0*64 + r0 < n  FILE:{first + 3}\n"
        f"out  f32[64]  store  [pid0*64 + r0]:i32  where pid0*64 + r0 < n  FILE:{first + 3}"
    )
    assert len(opweave.kernel_accesses(tuned, x, y, x, 300)) == len(CONFIGS)
    assert str(opweave.kernel_accesses(wrap_triton(add), x, y, x, 300, BLOCK=64)[0]) == str(found)
    with pytest.raises(ArgumentError, match=r"expected a kernel made by @triton\.jit"):
        opweave.kernel_accesses(3, x)
