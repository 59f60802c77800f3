"""Autocast against PyTorch: the op lists, the dtype that each op gives, and values."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import numpy as np
from differences import left_out
from op_samples import as_list, calls, maker, replace_tensors
from oracle import REFUSALS, _argument, check, close, compare, to_torch
from torch._subclasses.fake_tensor import FakeTensorMode as TorchFakeMode

import opweave as ow
from opweave.registry.device import Device
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, registry
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor

#: Ops that PyTorch does not list but makes of ops that it lists (or the other way round here), with the same effect.
MADE_OF_OTHERS = {
    "cpu": set(),
    "cuda": {f"aten::{n}" for n in ("square", "log_sigmoid", "upsample_nearest2d.vec", "upsample_bilinear2d.vec")},
}
#: Values differ from call to call.
RANDOM = (
    "rand",
    "normal",
    "uniform",
    "bernoulli",
    "dropout",
    "empty",
    "exponential",
    "multinomial",
    "standard_gamma_grad",
)  # which PyTorch has without data, neither


def comparable(op: OpOverload) -> bool:
    known = op.namespace == "aten" and hasattr(torch.ops.aten, op.opname)
    is_random = any(part in op.name for part in RANDOM) or "nondeterministic_seeded" in map(str, op.tags)
    return bool(op.decl and op.decl.samples) and known and not is_random


def ops_with_samples(kind: str, listed: bool) -> list[OpOverload]:
    return [op for op in registry.operators.values() if comparable(op) and (kind in op.decl.autocast) == listed]


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_ops_are_cast_that_pytorch_casts(kind: str) -> None:
    key = f"Autocast{kind.upper()}"
    # Without those that another test of this process has made.
    names = [n for n in torch._C._dispatch_get_all_op_names() if not n.startswith("parity_")]
    theirs = {n for n in names if torch._C._dispatch_has_kernel_for_dispatch_key(n, key)}
    mine = {
        op.name
        for op in registry.operators.values()
        if op.decl is not None and op.decl.autocast.get(kind, "keep") != "keep"
    }
    assert mine - MADE_OF_OTHERS[kind] == theirs & registry.operators.keys()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("op", ops_with_samples("cpu", True), ids=str)
def test_listed_op_on_cpu(op: OpOverload, dtype: str) -> None:
    with torch.autocast("cpu", getattr(torch, dtype)), ow.autocast("cpu", getattr(ow, dtype)):
        solves = op.opname.startswith("linalg_")
        assert check(op, difference="autocast, linear algebra" if solves else "autocast", every_type=False)


def layouts_without_data(op: OpOverload, kind: str) -> Iterator[tuple[Any, Any, Any]]:
    """Result dtypes of the sample calls on fake tensors of a device type, ours and PyTorch's."""
    target = getattr(getattr(torch.ops.aten, op.opname), op.overload)
    theirs_mode, ours_mode = TorchFakeMode(), ow.FakeTensorMode()

    def theirs_of(t: Tensor) -> Any:
        with theirs_mode:
            return torch.empty_strided(t._sizes, t._strides, dtype=getattr(torch, t._dtype.name), device=kind)

    def ours_of(t: Tensor) -> Tensor:
        return ours_mode.make(TensorSpec(t._sizes, t._strides, t._dtype, Device(kind, 0)))  # needs no driver

    seen: Counter[str] = Counter()
    for dtype, (args, kwargs) in calls(op):
        seen[dtype.name] += 1
        # Autocast leaves other dtypes alone, and PyTorch logs what its rules refuse; layouts do not matter.
        if dtype not in (ow.float32, ow.bfloat16) or seen[dtype.name] > 4:
            continue  # no difference: nothing is cast, or it was tried often enough
        theirs_args, theirs_kwargs = _argument(replace_tensors((args, kwargs), theirs_of))
        ours_args, ours_kwargs = replace_tensors((args, kwargs), ours_of)
        note = (str(op), dtype, args, kwargs)
        try:
            theirs = target(*theirs_args, **theirs_kwargs)
        except REFUSALS:
            continue  # no difference: the tests of the op itself compare what is refused
        try:
            ours = op(*ours_args, **ours_kwargs)
        except OpweaveError:
            assert left_out("autocast without data, what kernels refuse")
            continue
        yield (
            note,
            [t._dtype.name for t in as_list(ours)],
            [str(t.dtype).removeprefix("torch.") for t in as_list(theirs)],
        )


@pytest.fixture
def cuda_autocast() -> Iterator[None]:
    """Autocast for CUDA in both, with no GPU there."""
    before = torch.is_autocast_enabled("cuda")
    torch.set_autocast_enabled("cuda", True)
    ow.set_autocast_enabled("cuda", True)
    yield
    ow.set_autocast_enabled("cuda", False)
    torch.set_autocast_enabled("cuda", before)


@pytest.mark.usefixtures("cuda_autocast")
@pytest.mark.parametrize("listed", [True, False])
def test_dtypes_on_cuda(listed: bool) -> None:
    count, changed = 0, set()
    for op in ops_with_samples("cuda", listed):
        if op.opname.endswith("_backward") and left_out("autocast without data, backward ops"):
            continue
        if op.opname.endswith("_cell") and left_out("autocast without data, cells of recurrent networks"):
            continue
        if op.opname.startswith("_histogramdd") and left_out("autocast without data, _histogramdd_from_bin_tensors"):
            continue
        for note, ours, theirs in layouts_without_data(op, "cuda"):
            if op.opname == "native_group_norm" and "float32" in ours[1:] and note[1].name == "bfloat16":
                assert left_out("autocast without data, native_group_norm of bfloat16 and float32")
                continue
            assert ours == theirs, note
            count += 1
            if "float32" in ours and note[1].name == "float32":
                changed.add(op)
    assert count > 100
    assert changed


def test_ops_in_no_list_on_cpu() -> None:
    """Ops that others compute are no exception: what computes them is not cast."""
    failed = []
    for op in ops_with_samples("cpu", False):
        if op.opname == "_cdist_forward" and left_out("autocast, _cdist_forward"):
            continue
        if op.opname == "bilinear" and left_out("autocast, bilinear"):
            continue
        if op.opname == "linalg_pinv" and left_out("autocast, linalg_pinv"):
            continue
        try:
            with torch.autocast("cpu"), ow.autocast("cpu"):
                check(op, difference="autocast, ops in no list", every_type=False)
        except AssertionError as error:
            try:
                check(op, difference="autocast, ops in no list", every_type=False)
            except AssertionError:
                continue  # no difference: the tests of the op itself say what is wrong
            failed.append((op, error))
    assert not failed


FLOATING = ["float16", "bfloat16", "float32", "float64", "int64"]


def both(function: Callable[[Any, list[Any]], Any], dtypes: tuple[str, ...], autocast: str = "bfloat16") -> None:
    """Run a function of (namespace, tensors) in both inside autocast; they agree, or both refuse."""
    make = maker(ow.float32)
    mine = [make(3, 3).to(getattr(ow, name)) for name in dtypes]
    theirs = [to_torch(t) for t in mine]
    with torch.autocast("cpu", getattr(torch, autocast)), ow.autocast("cpu", getattr(ow, autocast)):
        try:
            expected = function(torch, theirs)
        except RuntimeError:
            with pytest.raises(OpweaveError):
                function(ow, mine)
            return
        compare(function(ow, mine), expected, dtypes, "autocast")


@pytest.mark.parametrize("autocast", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "function",
    [
        lambda module, ts: module.mm(*ts),
        lambda module, ts: module.cat(ts),
        lambda module, ts: module.stack(ts),
        lambda module, ts: module.nn.functional.linear(*ts),
        lambda module, ts: module.nn.functional.mse_loss(*ts),
        lambda module, ts: module.matmul(*ts).add(ts[0]),
        lambda module, ts: ts[0].prod() + ts[1].prod(0),
    ],
    ids=["mm", "cat", "stack", "linear", "mse_loss", "matmul and add", "prod"],
)
def test_mixed_dtypes(function: Callable[..., Any], autocast: str) -> None:
    for dtypes in itertools.product(FLOATING, repeat=2):
        both(function, dtypes, autocast)


def test_promotion_of_three() -> None:
    for dtypes in itertools.product(FLOATING, repeat=3):
        both(lambda module, ts: module.cat(ts), dtypes)


def test_writes_in_place_are_not_cast() -> None:
    for dtypes in itertools.product(["bfloat16", "float32"], repeat=3):
        both(lambda module, ts: ts[0].add_(ts[1]).mul_(ts[2]), dtypes)


def test_gradients_have_the_dtype_of_their_tensors() -> None:
    rng = np.random.default_rng(0)
    x, w, b = (rng.normal(size=size).astype(np.float32) for size in ((4, 3), (5, 3), (5,)))
    grad = rng.normal(size=(4, 5)).astype(np.float32)
    found = {}
    for module in (torch, ow):
        leaves = [module.from_numpy(a.copy()).requires_grad_() for a in (x, w, b)]
        with module.autocast("cpu"):
            hidden = module.nn.functional.linear(*leaves)
            result = module.mm(hidden.t(), leaves[0])
            assert hidden.dtype is module.bfloat16
        hidden.backward(module.from_numpy(grad).to(module.bfloat16), retain_graph=True)
        result.backward(result.detach())
        found[module] = [leaf.grad for leaf in leaves]
    for mine, theirs in zip(found[ow], found[torch], strict=True):
        assert mine.dtype is ow.float32
        close(mine.numpy(), theirs.numpy(), "autocast, gradients")


def test_states_that_blocks_leave_behind() -> None:
    def states(module: Any) -> list[Any]:
        seen: list[Any] = []

        def note() -> None:
            name = str(module.get_autocast_dtype("cpu")).rpartition(".")[2]
            seen.append((module.is_autocast_enabled("cpu"), name, module.is_autocast_cache_enabled()))

        note()
        with module.autocast("cpu", module.float16, cache_enabled=False):
            note()
            with module.autocast("cpu", enabled=False):
                note()
                with module.autocast("cpu", module.bfloat16, cache_enabled=True):
                    note()
                note()
            note()
            module.set_autocast_enabled("cpu", False)
            module.set_autocast_dtype("cpu", module.bfloat16)
            note()
        note()
        with pytest.warns(UserWarning, match="only supports|it is bfloat16 or float16"):
            unsupported = module.autocast("cpu", module.float32)
        with unsupported:
            note()
            with pytest.warns(UserWarning, match="only supports|it is bfloat16 or float16"):
                inherited = module.autocast("cpu")
            with inherited:
                note()
        note()
        return seen

    assert states(ow) == states(torch)
