"""Make the pictures of `docs/gallery.md` anew: `python docs/gallery/make.py [NAME ...]`. Needs Chromium.

Each is a report in which the clicks were made that the page tells.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

import opweave
from opweave import Tensor

FOLDER = Path(__file__).resolve().parent
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_BROWSER = next(filter(None, map(shutil.which, _NAMES)), None)
_DRIVER = """<script>
(async () => {
  while (!document.body.dataset.ready) await new Promise(done => setTimeout(done, 10));
  const all = (where, text) => [...document.querySelectorAll(where)].filter(one => one.textContent.includes(text));
  const click = (where, text) => all(where, text)[0].dispatchEvent(new MouseEvent("click", {bubbles: true}));
  %s
})();
</script></body>"""


def pick(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
    cut = opweave.sort(scores, -1, descending=True)[0][..., 8:9]
    kept = opweave.where(scores > cut, scores, 0.0)
    return (kept / kept.sum(-1, keepdim=True)) @ v


def balanced(x: Tensor) -> Tensor:
    rows = x.softmax(-1)
    columns = rows / rows.sum(0, keepdim=True)
    return columns / columns.sum(-1, keepdim=True)


def scaled(x: Tensor, factor: float) -> Tensor:
    return (x * factor).tanh()


def distances(a: Tensor, b: Tensor) -> Tensor:
    apart = a[:, None] - b[None]
    return opweave.cumsum((apart * apart).sum(-1), 1)


@triton.jit
def column_kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    column = tl.program_id(0)
    total = 0.0
    for start in range(0, rows, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + i * columns + column, mask=i < rows, other=0.0), 0)
    tl.store(out_ptr + column, total)


@opweave.library.triton_op("gallery::column_sums", mutates_args=())
def column_sums(x: Tensor) -> Tensor:
    out = x.new_empty(x.shape[1])
    column_kernel[(x.shape[1],)](x, out, x.shape[0], x.shape[1], BLOCK=64)
    return out


def centred(x: Tensor) -> Tensor:
    return x - column_sums(x) / x.shape[0]


def _recompiled() -> Any:
    compiled = opweave.compile(scaled)
    x = opweave.randn(64, 64)
    for factor in (0.5, 0.25):
        compiled(x, factor)
    return opweave.report(compiled)(x, 0.125)


#: For each picture the report, its tab, and the clicks.
PICTURES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "slow_line": (
        lambda: opweave.report(pick)(*opweave.randn(3, 4, 256, 32)), "Source",
        'click("tr.go", "opweave.sort"); click("aside .card", "sort");',
    ),
    "apart": (
        lambda: opweave.report(balanced)(opweave.randn(512, 384)), "Source",
        'click("tr.go", "rows = x.softmax");',
    ),
    "recompiled": (_recompiled, "Guards", ""),
    "memory": (lambda: opweave.report(distances)(opweave.randn(200, 64), opweave.randn(300, 64)), "Memory", ""),
    "roof": (lambda: opweave.report(centred)(opweave.randn(4000, 500)), "Kernels", ""),
}  # fmt: skip


def picture(name: str) -> Path:
    """Make one, and tell where it is."""
    make, tab, clicks = PICTURES[name]
    opweave.manual_seed(0)
    path = FOLDER / f"{name}.png"
    with tempfile.TemporaryDirectory() as folder:
        page = make().save(Path(folder) / "page.html", compress=False)
        text = page.read_text().replace(str(FOLDER), "project")
        page.write_text(text.replace("</body>", _DRIVER % clicks))
        command = [str(_BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--window-size=1360,520", "--virtual-time-budget=10000", f"--screenshot={path}"]  # fmt: skip
        subprocess.run([*command, f"{page.as_uri()}#{tab}"], check=True, capture_output=True, timeout=120)
    return path


def main() -> int:
    """Make those that are named, or all."""
    if _BROWSER is None:
        print(f"needs a browser: {', '.join(_NAMES)}")
        return 1
    for name in sys.argv[1:] or PICTURES:
        path = picture(name)
        print(path, path.stat().st_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
