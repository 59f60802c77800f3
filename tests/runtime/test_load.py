"""Generated code on disk: a second process finds it, and what is damaged or different is made anew."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import opweave
from opweave.runtime import load
from tests.helpers import fork_server

PROGRAM = """
import numpy as np, opweave
from opweave.codegen import cache
# An editor may save a source file between two of these processes.
cache.source_hash = lambda: "the same"
made = []
fetch = cache.fetch
def watching(key, make):
    artifact = fetch(key, make)
    made.append(artifact.hit)
    return artifact
cache.fetch = watching
@opweave.library.custom_op("test_load::twice", mutates_args=())
def twice(x: opweave.Tensor) -> opweave.Tensor:
    return opweave.from_numpy(x.numpy() * 2)
twice.register_fake(lambda x: opweave.empty_like(x))
@opweave.compile
def f(x):
    return twice(x + NUMBER).t() * 3
x = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
np.testing.assert_allclose(f(x).numpy(), (x.numpy() + NUMBER).T * 6)
print(made)
"""


def run(root: Path, number: float = 1.0, **environment: str) -> str:
    variables = {**os.environ, "OPWEAVE_CACHE_DIR": str(root), **environment}
    # A script in a file: the same lines in both processes.
    script = root.parent / "program.py"
    script.write_text(PROGRAM.replace("NUMBER", str(number)))
    return fork_server.python([script], env=variables, check=True).stdout


def test_second_process_starts_warm(tmp_path):
    root = tmp_path / "cache"
    assert run(root) == "[False]\n"
    assert run(root) == "[True]\n"
    assert run(root, 2.0) == "[False]\n"
    assert run(root, OPWEAVE_CACHE="0") == "[False]\n"


@pytest.mark.parametrize("name", ["wrapper.py", "program.json"])
def test_damage_is_mended(tmp_path, name):
    root = tmp_path / "cache"
    run(root)
    (path,) = root.rglob(name)
    path.write_text(path.read_text()[:-3])
    assert run(root) == "[False]\n"
    assert run(root) == "[True]\n"


def test_layouts_are_part_of_the_key():
    a = opweave.from_numpy(np.zeros((2, 3), np.float32))
    b = opweave.from_numpy(np.zeros((3, 2), np.float32)).t()
    graphs = [opweave.make_fx(lambda x: x + 1, tracing_mode="fake")(x).graph for x in (a, a, b)]
    one, two, other = ["\n".join(load.fingerprint(graph)) for graph in graphs]
    assert one == two != other


def test_files_round_trip():
    f = opweave.compile(lambda x: opweave.softmax(x + 1, -1))
    f(opweave.from_numpy(np.zeros((4, 8), np.float32)))
    text = f.stages()["code"]
    assert "@triton.jit" in text and "def compiled(" in text
