"""Convolutions by oneDNN: values beside opweave's own, which is asked, and what happens where there is no library."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.codegen import convolution, onednn
from opweave.codegen.native import llvm, pool
from opweave.codegen.onednn import choice, library, plans
from opweave.registry.tensor import Tensor

FORMS = ("forward", "input", "weight")
# Images, channels, filters, sizes, kernel, stride, padding, dilation, groups.
SHAPES = {
    "stem": (1, 3, 64, (32, 32), 7, 2, 3, 1, 1),
    "images": (4, 64, 64, (14, 14), 3, 1, 1, 1, 1),
    "more images than parts": (33, 20, 40, (7, 7), 3, 1, 1, 1, 1),
    "rest of a stride": (5, 32, 128, (16, 15), 3, 2, 0, 1, 1),
    "dilated": (1, 128, 96, (9, 9), 3, 1, 2, 2, 1),
    "depthwise": (3, 64, 64, (8, 8), 3, 1, 1, 1, 64),
    "groups": (5, 32, 64, (11, 11), 5, 2, 0, 1, 4),
    "one image of groups": (1, 32, 64, (11, 11), 3, 1, 1, 1, 4),
    "single": (2, 16, 24, (10, 10), 1, 1, 0, 1, 1),
    "odd channels": (2, 17, 70, (6, 5), 3, 1, 1, 1, 1),
    "sequence": (3, 24, 40, (50,), 5, 1, 2, 1, 1),
    "volume": (2, 16, 24, (5, 6, 7), 3, 1, 1, 1, 1),
}


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[library.Library]:
    """The library, switched on."""
    monkeypatch.setenv("OPWEAVE_ONEDNN", "1")
    library.library.cache_clear()
    made = library.library()
    if made is None:
        pytest.skip("the extra `onednn` is for Linux on x86-64")
    yield made
    library.library.cache_clear()
    choice._plans.clear()


def bits(t: Tensor) -> bytes:
    return t.contiguous().view(opweave.uint8).numpy().tobytes()


class Case:
    """Operands of a convolution, and of its adjoints."""

    def __init__(self, name: str, dtype: opweave.dtype, lasting: bool, draw: np.random.Generator) -> None:
        n, c, o, sizes, k, s, p, d, groups = SHAPES[name]
        self.groups, dims = groups, len(sizes)
        after = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size in sizes]
        self.steps = tuple((step,) * dims for step in (s, p, d))

        def tensor(first: int, *others: int) -> Tensor:
            sizes = (first, *others[1:], *others[:1]) if lasting else (first, *others)
            made = opweave.from_numpy(draw.standard_normal(sizes, dtype=np.float32)).to(dtype)
            return made.movedim(-1, 1) if lasting and others else made

        self.x, self.w, self.y = tensor(n, c, *sizes), tensor(o, c // groups, *[k] * dims), tensor(n, o, *after)
        self.bias = tensor(o)

    def operands(self, form: str) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """What the result lies like, both operands, and the bias."""
        return {
            "forward": (self.y, self.x, self.w, self.bias),
            "input": (self.x, self.y, self.w, None),
            "weight": (self.w, self.y, self.x, None),
        }[form]

    def problem(self, form: str) -> plans.Problem:
        out, a, b, bias = self.operands(form)
        lying = [(tuple(t._sizes), tuple(t._strides)) for t in (out, a, b)]
        return plans.Problem(form, out._dtype, lying[0], lying[1], lying[2], bias is not None, self.groups, self.steps)

    def ours(self, form: str) -> Tensor:
        like, a, b, bias = self.operands(form)
        out = opweave.full_like(like, 7)
        given: list[convolution.Operand] = [(t.data_ptr(), t._sizes, t._strides) for t in (out, a, b)]
        added = None if bias is None else (bias.data_ptr(), bias._sizes, bias._strides)
        convolution._make(form, out._dtype, given[0], given[1], given[2], added, self.groups, self.steps)
        return out

    def theirs(self, form: str, plan: plans.Plan) -> Tensor:
        like, a, b, bias = self.operands(form)
        out = opweave.full_like(like, 7)
        plan.run(a.data_ptr(), b.data_ptr(), out.data_ptr(), 0 if bias is None else bias.data_ptr())
        return out


@pytest.mark.parametrize("lasting", [False, True], ids=["planes", "channels last"])
@pytest.mark.parametrize("dtype", [opweave.float32, opweave.bfloat16], ids=str)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SHAPES)
def test_values(found: library.Library, name: str, form: str, dtype: opweave.dtype, lasting: bool):
    case = Case(name, dtype, lasting, np.random.default_rng(7))
    assert not lasting or case.x._strides[1] == 1
    if dtype is opweave.bfloat16 and "avx512bw" not in llvm.host().features:
        with pytest.raises(library.NotOffered):
            plans.plan(found, case.problem(form))
        pytest.skip("oneDNN has no convolutions of bfloat16 for this processor")
    plan = plans.plan(found, case.problem(form))
    pool.set_num_threads(2)
    got, ours = case.theirs(form, plan), case.ours(form)
    # Sums of as many terms in another order; of bfloat16, rounded once more.
    terms = max(case.x.numel() // case.x._sizes[1], case.w.numel())
    bound = 2**-8 if dtype is opweave.bfloat16 else 2**-24 * terms**0.5
    np.testing.assert_allclose(
        got.float().numpy(), ours.float().numpy(), rtol=2 * bound, atol=2 * bound * float(ours.float().abs().max())
    )
    pool.set_num_threads(1)
    assert bits(case.theirs(form, plan)) == bits(got)


def test_threads_that_run_one_plan(found: library.Library):
    case = Case("images", opweave.float32, False, np.random.default_rng(1))
    plan = plans.plan(found, case.problem("weight"))
    right = bits(case.theirs("weight", plan))
    results: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: results.extend(bits(case.theirs("weight", plan)) for _ in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [right] * 80


@pytest.mark.parametrize(
    ("form", "change", "why"),
    [
        ("forward", {"a": ((2, 16, 10, 10), (0, 100, 10, 1))}, "expanded"),
        (
            "forward",
            {"a": ((0, 16, 10, 10), (1600, 100, 10, 1)), "out": ((0, 24, 10, 10), (2400, 100, 10, 1))},
            "empty",
        ),
        ("input", {"bias": True}, "bias"),
    ],
    ids=["expanded", "empty", "transposed with a bias"],
)
def test_what_is_left_to_our_own(found: library.Library, form: str, change: dict[str, Any], why: str):
    problem = Case("single", opweave.float32, False, np.random.default_rng(1)).problem(form)._replace(**change)
    with pytest.raises(library.NotOffered, match=why):
        plans.plan(found, problem)
    assert choice.plan_of(problem, 1 << 20, lambda *_: pytest.fail("measured")) is None


def test_large_batches_and_many_sizes(found: library.Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path))
    tried: list[int] = []

    def ours(problem: plans.Problem, *_: int) -> None:
        tried.append(problem.b[0][0] if problem.form == "weight" else problem.a[0][0])
        slow()

    for form in FORMS:
        problem = Case("images", opweave.float32, False, np.random.default_rng(1)).problem(form)
        # As if its four images had so many multiplications.
        assert choice.plan_of(problem, choice._LARGE * 2, ours) is not None
        assert set(tried) == {2}
        tried.clear()
    monkeypatch.setattr(choice, "_spent", 2 * choice._PATIENCE)
    for name, dtype in (("stem", opweave.float32), ("images", opweave.bfloat16)):
        problem = Case(name, dtype, False, np.random.default_rng(1)).problem("forward")
        assert choice.plan_of(problem, 1 << 20, ours) is None
    assert not tried
    choice._plans.clear()  # what is known is known
    problem = Case("images", opweave.float32, False, np.random.default_rng(1)).problem("forward")
    assert choice.plan_of(problem, choice._LARGE * 2, ours) is not None


def slow(*_: object) -> None:
    sum(range(300_000))


def test_the_faster_one_is_kept(found: library.Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("OPWEAVE_TUNING", str(tmp_path / "tuning.json"))
    case = Case("single", opweave.float32, False, np.random.default_rng(1))
    lost, won = case.problem("forward"), case.problem("weight")
    assert choice.plan_of(lost, 1 << 20, lambda *_: None) is None
    assert choice.plan_of(won, 1 << 20, slow) is not None
    told = json.loads((tmp_path / "tuning.json").read_text())
    assert {name.split()[1]: entry["winner"] for name, entry in told.items()} == {
        "forward": "native", "weight": "oneDNN",
    }  # fmt: skip
    assert all(set(entry["milliseconds"]) == {"native", "oneDNN"} for entry in told.values())
    # As in another process: nothing is measured again, with the file and without.
    for _ in range(2):
        choice._plans.clear()
        assert choice.plan_of(lost, 1 << 20, slow) is None
        assert choice.plan_of(won, 1 << 20, lambda *_: pytest.fail("measured")) is not None
        monkeypatch.delenv("OPWEAVE_TUNING", raising=False)
    # Small ones are not asked about.
    choice._plans.clear()
    assert choice.plan_of(won, 1000, slow) is None
    monkeypatch.setenv("OPWEAVE_ONEDNN", "always")
    assert choice.plan_of(won, 1000, slow) is not None


PROGRAM = """
import numpy as np, opweave
from opweave import nn
from opweave.codegen import convolution
from opweave.codegen.onednn import choice

opweave.manual_seed(0)
model = nn.Sequential(nn.Conv2d(8, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 32, 3, 2, bias=False), nn.ReLU(),
                      nn.ConvTranspose2d(32, 16, 4, 2, bias=False))
x = opweave.randn(4, 8, 17, 16, requires_grad=True)
for call in (model, opweave.compile(model)):
    for t in (x, *model.parameters()):
        t.grad = None
    y = call(x)
    (y * y).sum().backward()
    found = [y.detach(), x.grad, *(p.grad for p in model.parameters())]
    print(*(repr(float(t.double().pow(2).sum())) for t in found), *(repr(float(t.flatten()[7])) for t in found))
plans = choice._plans.values() if convolution._has_library() else ()
print(sum(plan is not None for plan in plans))
"""


def run(setting: str) -> tuple[list[list[float]], int]:
    environment = {**os.environ, "OPWEAVE_ONEDNN": setting}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    *lines, count = ran.stdout.splitlines()
    return [[float(number) for number in line.split()] for line in lines], int(count)


def test_eager_and_compiled_code(found: library.Library):
    without, none = run("0")
    forced, some = run("always")
    assert none == 0 and some >= 9  # three layers, forward and both adjoints
    assert all(len(line) == 12 for line in (*without, *forced))
    for line in forced:
        np.testing.assert_allclose(line, without[0], rtol=1e-5)
    assert forced[0] != without[0]


def test_where_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    monkeypatch.setenv("OPWEAVE_ONEDNN", "1")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "base"))
    monkeypatch.setattr("site.getuserbase", lambda: str(tmp_path / "user"))
    library.library.cache_clear()
    try:
        assert onednn.where() is None
        assert library.library() is None
        assert not caplog.records
        (tmp_path / "lib").mkdir()
        (tmp_path / "lib" / "libdnnl.so.3").write_text("no library")
        library.library.cache_clear()
        with caplog.at_level(logging.WARNING, "opweave.launches"):
            assert library.library() is None
            assert library.library() is None
        (record,) = caplog.records
        assert "libdnnl.so.3 cannot be used" in record.getMessage()
        problem = Case("single", opweave.float32, False, np.random.default_rng(1)).problem("forward")
        assert choice.plan_of(problem, 1 << 20, slow) is None
    finally:
        library.library.cache_clear()
