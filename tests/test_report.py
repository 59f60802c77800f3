"""What a report says, beside the graph, the call and the machine that it is about."""

from __future__ import annotations

import base64
import html.parser
import itertools
import json
import re
import subprocess
import sys
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.reporting import folder, page as pages
from opweave.reporting.machine import between
from opweave.reporting.summary import peak

M, K, N = 96, 64, 512


def layer(x: Any, w: Any) -> Any:
    """Hostile: </script><img src=x onerror="document.title='owned'"><!-- <script>."""
    return (x @ w).relu()


def f(x: Any, w: Any) -> Any:
    h = layer(x, w)
    first = opweave.sort(h, -1)[0]
    return (first * h).sum(0)


@pytest.fixture(scope="module")
def found() -> Any:
    return opweave.report(f)(opweave.rand(M, K), opweave.rand(K, N))


def _line(text: str) -> int:
    """The number of the line of this file that has a text."""
    return 1 + next(i for i, line in enumerate(Path(__file__).read_text().splitlines()) if text in line)


def _steps(found: Any) -> list[Any]:
    return found.facts.versions[-1].programs[0].steps


def _line_row(found: Any, text: str) -> Any:
    facts = found.facts
    (row,) = [r for r in facts.versions[-1].programs[0].lines if facts.sites[r.site][1] == _line(text)]
    return row


def test_bytes_and_flops_are_those_of_the_operands(found: Any):
    (product,) = [step for step in _steps(found) if step.kind == "product"]
    assert product.flops == 2 * M * K * N
    (sort,) = [step for step in _steps(found) if step.label == "sort"]
    assert sort.read == 4 * M * N and sort.written == (4 + 8) * M * N
    assert all(step.seconds is not None and step.seconds >= 0 for step in _steps(found))


def test_lines_lead_to_steps_and_reasons(found: Any):
    sort = _line_row(found, "first = opweave.sort")
    assert [_steps(found)[i].label for i in sort.steps] == ["sort"]
    assert any("library call" in reason for reason in sort.reasons) and sort.seconds > 0
    inner, caller = _line_row(found, "return (x @ w).relu()"), _line_row(found, "h = layer(x, w)")
    assert "mm" in inner.ops and "relu" in inner.ops
    # The caller has the time of what it calls, and none of its own.
    assert caller.seconds == 0 and caller.total == pytest.approx(inner.total)
    spent = sum(row.seconds for row in found.facts.versions[0].programs[0].lines)
    working = sum(s.seconds for s in _steps(found) if s.kind in ("kernel", "product", "call"))
    assert spent == pytest.approx(working)


def test_stages_are_the_graphs_of_the_passes(found: Any):
    stages = found.facts.versions[0].programs[0].stages
    captured = opweave.explain(f)(opweave.rand(M, K), opweave.rand(K, N)).graphs[0]
    assert [row.text for row in stages[0].nodes] == [captured.format_node(node) for node in captured.nodes]
    for before, after in itertools.pairwise(stages):
        old, new = {row.name for row in before.nodes}, {row.name for row in after.nodes}
        assert set(after.added) == new - old and set(after.removed) == old - new == set(after.gone)
    assert any(row.inner for row in stages[-1].nodes)


def test_kernels_have_all_their_texts(found: Any):
    for kernel in found.facts.versions[0].programs[0].kernels:
        assert not kernel.problem
        assert f"def {kernel.name}" in kernel.texts["triton"] and "tt.func" in kernel.texts["ttir"]
        assert "define" in kernel.texts["llir"] and kernel.name in kernel.texts["asm"]
        assert kernel.launches == 1 and kernel.seconds > 0


def test_memory_is_counted_while_it_is_needed(found: Any):
    buffers = {row.name: row for row in found.facts.versions[0].programs[0].buffers}
    assert buffers["x"].kind == "input" and buffers["x"].nbytes == 4 * M * K
    assert buffers["mm"].nbytes == 4 * M * N and buffers["sum_1"].kind == "result"
    for step in _steps(found):
        for name in {*step.reads, *step.writes} & {*buffers}:
            assert buffers[name].first <= step.index <= buffers[name].last
    freed = {name: step.index for step in _steps(found) if step.text.startswith("free")
             for name in step.text.removeprefix("free ").split(", ")}  # fmt: skip
    assert all(buffers[name].last < freed[name] for name in freed.keys() & buffers.keys())
    assert 4 * M * N <= peak([*buffers.values()]) <= sum(row.nbytes for row in buffers.values())


def test_the_trace_has_each_step_once_and_in_order(found: Any, tmp_path: Path):
    events = json.loads(found.trace(tmp_path / "t.json").read_text())["traceEvents"]
    steps = [e for e in events if e["ph"] == "X" and e["cat"] != "pass"]
    assert [e["name"] for e in steps] == [s.label for s in _steps(found) if s.kind in ("kernel", "product", "call")]
    for before, after in itertools.pairwise(steps):
        assert before["ts"] + before["dur"] <= after["ts"] + 1e-2
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} >= {"kernels", "calls of ops"}


def test_the_result_is_the_functions(found: Any):
    x, w = opweave.rand(M, K), opweave.rand(K, N)
    result = opweave.report(f)(x, w).result.numpy()
    h = np.maximum(x.numpy().astype(np.float64) @ w.numpy(), 0)
    np.testing.assert_allclose(result, (np.sort(h, -1) * h).sum(0), rtol=2e-4)


# ---- the page --------------------------------------------------------------------------------------------------------


class _Parsed(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.texts: dict[str, str] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        key = attributes.get("id") or tag
        self.texts[key] = self.texts.get(key, "") + data


@pytest.mark.parametrize("compress", [True, False])
def test_the_page_is_one_file_whose_texts_are_no_markup(found: Any, compress: bool):
    text = pages.page(found.facts, compress=compress)
    parsed = _Parsed(text)
    names = [tag for tag, _ in parsed.tags]
    assert names.count("script") == 2 and not {"img", "link", "iframe", "object"} & set(names)
    for _, attributes in parsed.tags:
        assert not {"src", "href", "onerror", "onload"} & attributes.keys()
    outside = re.sub(r'<script[^>]*id="data".*?</script>', "", text, flags=re.S)
    assert set(re.findall(r"https?://[\w./]+", outside)) <= {"http://www.w3.org/2000/svg"}
    data = parsed.texts["data"]
    facts = json.loads(zlib.decompress(base64.b64decode(data)) if compress else data)
    assert facts == json.loads(json.dumps(pages.as_json(found.facts)))
    assert "onerror" in json.dumps(facts["files"])  # the user's text is there, as text
    assert found.text in parsed.texts["plain"]


def test_texts_that_json_has_no_form_for(found: Any):
    assert pages._plain({"a": "\ud800", "b": [float("inf"), 1.5]}) == {"a": "?", "b": [None, 1.5]}


@triton.jit
def backwards_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + n - 1 - i, tl.load(x + i, i < n), i < n)


@opweave.library.triton_op("test_report::backwards", mutates_args=())
def backwards(x: opweave.Tensor) -> opweave.Tensor:
    out = opweave.empty_like(x)
    n = x.numel()
    opweave.library.wrap_triton(backwards_kernel)[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    return out


def test_kernels_of_the_users_own_have_texts_and_reasons():
    def g(x: Any) -> Any:
        return backwards(x)

    found = opweave.report(g)(opweave.arange(100.0))
    assert found.result.tolist() == [float(99 - i) for i in range(100)]
    (kernel,) = found.facts.versions[0].programs[0].kernels
    assert kernel.name == "backwards_kernel" and kernel.launches == 1
    assert "tl.store(out + n - 1 - i" in kernel.texts["triton"] and {"ttir", "llir", "asm"} < kernel.texts.keys()
    (launch,) = [step for step in _steps(found) if step.kernel == kernel.name]
    assert launch.kind == "kernel" and "a user's kernel" in launch.reason


# ---- calls of all kinds ----------------------------------------------------------------------------------------------


def test_measuring_leaves_no_trace():
    def g(x: Any, y: Any) -> Any:
        x.add_(1)
        y[0] = 5.0
        return opweave.rand(3) + x.sum()

    opweave.manual_seed(7)
    x, y = opweave.ones(3), opweave.zeros(3)
    result = opweave.report(g)(x, y).result
    after = opweave.rand(2)
    opweave.manual_seed(7)
    x2, y2 = opweave.ones(3), opweave.zeros(3)
    wanted = g(x2, y2)
    assert result.tolist() == wanted.tolist() and x.tolist() == x2.tolist() and y.tolist() == y2.tolist()
    assert after.tolist() == opweave.rand(2).tolist()


def test_gradients_have_a_program_of_their_own_and_flow():
    def loss(x: Any, w: Any) -> Any:
        return (x @ w).tanh().sum()

    x, w = opweave.rand(8, 4), opweave.rand(4, 3).requires_grad_()
    found = opweave.report(loss)(x, w)
    forward, backward = found.facts.versions[0].programs
    assert (forward.name, backward.name) == ("forward", "backward") and not backward.problem
    assert backward.seconds is not None and any(step.kind == "product" for step in backward.steps)
    found.result.backward()
    wanted = x.numpy().T @ (1 - np.tanh(x.numpy() @ w.detach().numpy()) ** 2)
    np.testing.assert_allclose(w.grad.numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_versions_say_what_they_were_made_for():
    def g(x: Any, n: int) -> Any:
        return x * n

    compiled = opweave.compile(g, dynamic=False)
    compiled(opweave.ones(4), 2)
    found = opweave.report(compiled)(opweave.ones(4), 3)
    first, second = found.facts.versions
    assert "2 → 3" in (first.misfit or "") and second.misfit is None and second.reasons == [first.misfit]
    assert first.stub and not second.stub and found.facts.recompiled
    words = {(guard.what, guard.words) for guard in second.guards}
    assert ("n", "is 3") in words
    assert any(what == "x" and "sizes [4]" in said and "requires no grad" in said for what, said in words)
    assert "compiled since" in found.text


def test_what_runs_in_parts_says_so():
    import time

    def g(x: Any) -> Any:
        return x * time.time()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = opweave.report(opweave.compile(g, fullgraph=False))(opweave.ones(2))
    assert not found.facts.versions and "runs in parts" in found.text and found.result[0].item() > 1
    pages.page(found.facts)


def test_nothing_is_reported_where_nothing_is_compiled(tmp_path: Path):
    with pytest.raises(UnsupportedError, match="nothing is compiled"):
        opweave.vmap(lambda x: opweave.report(f)(x, x).result)(opweave.ones(2, 4, 4))
    with opweave.sanitize():
        found = opweave.report(f)(opweave.ones(4, 4), opweave.ones(4, 4))
    assert not found.facts.versions and "in the sanitizer nothing is compiled" in found.text
    assert found.result.tolist() == [64] * 4
    found.save(tmp_path / "page.html")


def test_other_backends_are_refused():
    with pytest.raises(ArgumentError, match="only what opweave compiles"):
        opweave.report(opweave.compile(f, backend="eager"))


def test_rates_between_measured_sizes():
    points = [(10, 2.0), (1000, 8.0)]
    assert between(points, 10) == 2 and between(points, 5) == 2 and between(points, 5000) == 8
    assert between(points, 100) == pytest.approx(4)  # half the way, on both scales


# ---- elsewhere -------------------------------------------------------------------------------------------------------


def test_a_folder_gets_a_page_for_each_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPWEAVE_REPORT", str(tmp_path / "pages"))

    def twice(x: Any) -> Any:
        return x * 2

    compiled = opweave.compile(twice)
    assert compiled(opweave.ones(3)).tolist() == [2, 2, 2]
    (path,) = (tmp_path / "pages").iterdir()
    assert "twice" in path.name and '"data"' in path.read_text()
    before = path.stat().st_mtime_ns
    compiled(opweave.ones(3))
    assert path.stat().st_mtime_ns == before  # nothing was compiled
    monkeypatch.setattr(folder, "Gathering", None)
    with pytest.warns(RuntimeWarning, match="no report of twice"):
        assert compiled(opweave.ones(3, dtype=opweave.float64)).tolist() == [2, 2, 2]


class Settings:
    timed = False
    scale = 2.0


settings = Settings()


def clock() -> float:
    return time.time()


def watched(x: Any) -> Any:
    if settings.timed:
        x = x + clock()
    return x * settings.scale


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_function_whose_first_call_runs_in_python_has_a_page(
    fullgraph: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPWEAVE_REPORT", str(tmp_path / "pages"))
    told = []

    def call(compiled: Any, entry: Any, *args: Any, **kwargs: Any) -> Any:
        told.append(kwargs)
        return folder.call_and_report(compiled, entry, *args, **kwargs)

    monkeypatch.setattr("opweave.compiling._reported", call)
    compiled = opweave.compile(watched, fullgraph=fullgraph)
    if not fullgraph:
        assert compiled(opweave.ones(3)).tolist() == [2, 2, 2]
    for _ in range(4):
        assert compiled(opweave.ones(3)).tolist() == [2, 2, 2]
        (path,) = (tmp_path / "pages").iterdir()
        assert path.name.startswith("watched")
    assert len(compiled.entries) == 1
    assert told == ([{"ran": True}, {}] if fullgraph else [{}])


def test_a_bare_sequential_is_told_by_the_line_that_calls_it():
    net = opweave.nn.Sequential(opweave.nn.Linear(4, 8), opweave.nn.ReLU(), opweave.nn.Linear(8, 2))
    facts = opweave.report(net, measure=False)(opweave.rand(3, 4)).facts
    assert facts.name == "Sequential" and [row.path for row in facts.files] == [__file__]
    lines = facts.versions[0].programs[0].lines
    assert {facts.sites[row.site][:2] for row in lines} == {(__file__, _line("opweave.report(net, measure=False)"))}
    assert str(opweave.explain(net)(opweave.rand(3, 4))).startswith("Sequential: ")


def test_nothing_of_it_loads_with_opweave():
    code = "import opweave, sys; print([m for m in sys.modules if 'report' in m or 'drawing' in m or 'layout' in m])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [name for name in eval(out) if name.startswith("opweave.report") or "drawing" in name] == []


def test_explanations_and_profiles_show_in_notebooks():
    assert "depends on" in opweave.explain(f)(opweave.rand(4, 4), opweave.rand(4, 4))._repr_html_()
    with opweave.profile() as launches:
        opweave.compile(lambda x: x + 1)(opweave.ones(4))
    table = launches._repr_html_()
    assert table.count("<tr>") == 1 + len(launches.kernels) == 2 and launches.kernels[0].name in table
