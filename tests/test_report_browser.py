"""The page of a report, in a browser: what is drawn, what clicks lead to, and that nothing of the user's is run."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import opweave

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"needs a browser: {', '.join(NAMES)}")

#: Runs steps once the page is there, and writes what they saw, or how they failed, into the title.
DRIVER = """<script>
(async () => {
  while (!document.body.dataset.ready) await new Promise(done => setTimeout(done, 10));
  const all = (where, text) => [...document.querySelectorAll(where)].filter(one => one.textContent.includes(text));
  const click = (where, text) => all(where, text)[0].dispatchEvent(new MouseEvent("click", {bubbles: true}));
  const seen = {ready: document.body.dataset.ready};
  try { %s } catch (error) { seen.error = String(error); }
  document.title = JSON.stringify(seen);
})();
</script></body>"""


def layer(x: Any, w: Any) -> Any:
    """</script><img src=x onerror="document.body.dataset.owned='yes'"><!-- <script>."""
    return (x @ w).relu()


def f(x: Any, w: Any) -> Any:
    for _ in range(70):
        x = layer(x, w)
    first = opweave.sort(x, -1)[0]
    return (first * x).sum(0)


@pytest.fixture(scope="module")
def found() -> Any:
    return opweave.report(f)(opweave.rand(16, 16), opweave.rand(16, 16))


def _drive(
    found: Any, folder: Path, steps: str, tab: str = "", *switches: str, compress: bool = True
) -> dict[str, Any]:
    path = found.save(folder / "page.html", compress=compress)
    path.write_text(path.read_text().replace("</body>", DRIVER % steps))
    command = [
        str(BROWSER), *switches, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000",
        "--dump-dom", "--enable-logging=stderr",
    ]  # fmt: skip
    shown = subprocess.run(
        [*command, f"{path.as_uri()}#{tab}"], capture_output=True, text=True, timeout=120, check=True
    )
    assert not re.findall(r".*CONSOLE.*", shown.stderr)
    title = re.search(r"<title>(.*?)</title>", shown.stdout, re.S)
    assert title is not None
    seen = json.loads(html.unescape(title[1]))
    assert "error" not in seen and seen["ready"] == "yes", seen
    assert "data-owned" not in shown.stdout and "<img" not in shown.stdout.partition("<script")[0]
    return seen


def test_a_slow_line_leads_to_its_reason(found: Any, tmp_path: Path):
    steps = """
      seen.bars = all(".src td.t span", "%").length;
      click("tr.go", "opweave.sort(x, -1)");
      seen.reasons = all("aside .why", "").map(one => one.textContent);
      click("aside .card", "sort");
      seen.step = document.querySelector("aside").textContent;
      click("aside a", "in the graph");
      seen.node = document.querySelector("aside h2").textContent;
      seen.marked = document.querySelectorAll("svg g.on").length;"""
    seen = _drive(found, tmp_path, steps)
    assert seen["bars"] >= 3
    assert any("library call" in reason for reason in seen["reasons"])
    assert "Why it is a step of its own" in seen["step"] and "aten" not in seen["node"]
    assert seen["node"] == "sort" and seen["marked"] == 1


def test_large_graphs_are_drawn_in_groups_that_open(found: Any, tmp_path: Path):
    nodes = len(found.facts.versions[0].programs[0].stages[0].nodes)
    assert nodes > 140
    steps = """
      const boxes = () => document.querySelectorAll("svg .box").length;
      seen.before = boxes();
      click("button", "collapse all");
      seen.closed = boxes();
      click("svg .g", "(x @ w).relu()");
      seen.open = boxes();
      seen.stages = document.querySelectorAll(".stages button small").length;
      click(".stages button", "fuse");
      seen.changes = document.querySelector("summary").textContent;
      seen.kernels = document.querySelectorAll("svg .k").length;"""
    seen = _drive(found, tmp_path, steps, "Graph")
    assert seen["closed"] < 15 < seen["open"] <= nodes
    assert seen["stages"] == len(found.facts.versions[0].programs[0].stages)
    assert "what fuse changed" in seen["changes"]


def test_guards_say_what_a_version_was_compiled_for(tmp_path: Path):
    compiled = opweave.compile(lambda x, n: x * n + 1)
    compiled(opweave.rand(4), 2.0)
    again = opweave.report(compiled, measure=False)(opweave.rand(4), 3.0)
    seen = _drive(again, tmp_path, 'seen.why = all("main .why", "").map(one => one.textContent);', "Guards")
    assert len(seen["why"]) == 1 and "n 2.0 → 3.0" in seen["why"][0]


def test_all_tabs_show_what_there_is(found: Any, tmp_path: Path):
    steps = """
      for (const tab of ["Kernels", "Timeline", "Memory", "Guards", "Code"]) {
        click("nav button", tab);
        seen[tab] = document.querySelector("main").textContent;
      }
      click("nav button", "Kernels");
      click("tr.go", "fused_");
      click("button", "assembly");
      seen.assembly = document.querySelector("main pre").textContent;
      click("nav button", "Timeline");
      seen.bars = document.querySelectorAll("svg .step").length;"""
    seen = _drive(found, tmp_path, steps, compress=False)
    program = found.facts.versions[0].programs[0]
    assert "GB/s" in seen["Kernels"] and "of the roof" in seen["Kernels"]
    assert "step by step" in seen["Timeline"] and "At most" in seen["Memory"]
    assert "sizes [16, 16]" in seen["Guards"] and "def f(" in seen["Code"]
    assert seen["assembly"] in {kernel.texts["asm"] for kernel in program.kernels}
    assert seen["bars"] == sum(step.kind in ("kernel", "product", "call") for step in program.steps)


def test_keys_do_what_clicks_do(found: Any, tmp_path: Path):
    steps = """
      const press = (one, key) => one.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      const reached = [...document.querySelectorAll("tr.go, .card, aside a")];
      seen.reached = reached.length > 5 && reached.every(one => one.tabIndex === 0);
      press(all("tr.go", "opweave.sort(x, -1)")[0], "Enter");
      press(all("aside .card", "sort")[0], " ");
      seen.step = document.querySelector("aside").textContent;
      all("nav button", "Graph")[0].focus();
      document.activeElement.click();
      seen.focus = document.activeElement.textContent;
      const svg = document.querySelector("svg"), before = svg.getAttribute("viewBox");
      press(svg, "ArrowDown");
      seen.moved = svg.getAttribute("viewBox") !== before;
      click("button", "collapse all");
      press(all("svg .g", "")[0], "Enter");
      seen.opened = document.querySelectorAll("svg .box").length;"""
    seen = _drive(found, tmp_path, steps)
    assert seen["reached"] and "Why it is a step of its own" in seen["step"]
    assert seen["focus"] == "Graph" and seen["moved"] and seen["opened"] > 5


def test_texts_of_a_kernel_are_in_view_once_they_are_asked_for(found: Any, tmp_path: Path):
    steps = """
      click(".chip", "fused_");
      click("aside a", "Triton, TTIR");
      const place = document.getElementById("texts").getBoundingClientRect();
      seen.inside = place.top >= 0 && place.top < window.innerHeight;"""
    assert _drive(found, tmp_path, steps, "Kernels", "--window-size=1200,300")["inside"]


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_as_light_as_the_reader_wants_it(found: Any, tmp_path: Path, dark: bool):
    steps = """
      const bright = text => text.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + +part, 0) / 3;
      const style = getComputedStyle(document.body);
      seen.paper = bright(style.backgroundColor); seen.ink = bright(style.color);
      click("nav button", "Graph");
      seen.box = bright(getComputedStyle(document.querySelector("svg .box rect")).fill);"""
    seen = _drive(found, tmp_path, steps, "", f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    assert (seen["paper"] < seen["ink"]) is dark and (seen["box"] < 128) is dark


def test_a_narrow_window_has_all_tabs_and_the_reason_in_view(found: Any, tmp_path: Path):
    steps = """
      seen.width = document.documentElement.scrollWidth - window.innerWidth;
      click("tr.go", "opweave.sort(x, -1)");
      const place = document.querySelector("aside").getBoundingClientRect();
      seen.inside = place.top < window.innerHeight;"""
    seen = _drive(found, tmp_path, steps, "", "--window-size=500,800")
    assert seen["width"] <= 0 and seen["inside"]
