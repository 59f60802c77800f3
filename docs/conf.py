"""How Sphinx makes the site: `make docs`, or `sphinx-build -W docs build/site`. It needs no network.

The pages are Markdown, which GitHub shows too, read by myst-parser; the reference is written from the docstrings of
what `import opweave` gives, as they stand. The notebooks are run, and fail where a cell gives something else than what
is stored with it.
"""

from __future__ import annotations

import importlib
import inspect
import os
import runpy
from pathlib import Path

os.environ.setdefault("OPWEAVE_CACHE", "0")

project = "opweave"
author = "the opweave authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {
    "description": "A compiler stack for Python array programs",
    "fixed_sidebar": True,
    "show_powered_by": False,
}
html_show_sourcelink = False
html_copy_source = False

MODULES = (
    "opweave", "opweave.library", "opweave.autograd", "opweave.func", "opweave.export", "opweave.nn.functional",
    "opweave.optim", "opweave.utils.data", "opweave.linalg", "opweave.fft", "opweave.safetensors", "opweave.testing",
)  # fmt: skip


def _entry(name: str, value: object) -> str:
    try:
        shown = f"{name}{inspect.signature(value)}" if callable(value) else name
    except (TypeError, ValueError):
        shown = name
    text = inspect.getdoc(value) if callable(value) or inspect.ismodule(value) else None
    fence = "`" * 6
    return f"## {name.rpartition('.')[2]}\n\n{fence}text\n{shown}\n\n{text or type(value).__name__}\n{fence}\n"


def write_reference(folder: Path) -> None:
    """A page for each public module, and one that lists them."""
    folder.mkdir(exist_ok=True)
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        names = [n for n in getattr(module, "__all__", dir(module)) if not n.startswith("_")]
        entries = [
            _entry(f"{module_name}.{name}", getattr(module, name)) for name in sorted(set(names))
            if not inspect.ismodule(getattr(module, name))
        ]  # fmt: skip
        (folder / f"{module_name}.md").write_text("\n".join([f"# {module_name}\n", *entries]))
    pages = "\n".join(MODULES)
    (folder / "index.md").write_text(f"# Reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{pages}\n```\n")


def write_notebooks(folder: Path) -> None:
    """A page for each notebook, with what its cells give now."""
    notebooks = runpy.run_path(str(folder / "run.py"))
    for path in sorted(folder.glob("*.ipynb")):
        notebook = notebooks["read"](path)
        found = notebooks["run"](notebook)
        wrong = notebooks["differences"](notebook, found)
        if wrong:
            raise SystemExit("\n".join([f"{path.name}: python docs/notebooks/run.py --write", *wrong]))
        path.with_suffix(".md").write_text(notebooks["page"](notebook, found, path.name))


write_notebooks(Path(__file__).parent / "notebooks")
write_reference(Path(__file__).parent / "reference")
