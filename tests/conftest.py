"""What all tests share: how hypothesis runs, and the devices there are."""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

# What the compiler makes is checked between its steps, in subprocesses too; read when it is imported.
os.environ.setdefault("OPWEAVE_VERIFY", "1")

import pytest
from hypothesis import HealthCheck, settings

from opweave.registry.custom_op import definitions
from opweave.registry.device import is_cuda_available
from opweave.registry.library import _forever
from opweave.registry.op import registry
from opweave.tracer import spec

# The declared samples of ops are for the tests of every stage.
sys.path.append(str(Path(__file__).parent / "registry" / "ops"))

# Each step of the compiler is checked against the level that it leads to.
spec.verifying = True

# Time says nothing on a shared machine; in CI the same examples every time.
settings.register_profile(
    "default",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=60,
)
settings.load_profile("default")


def _part(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not 1 <= int(index) <= int(count):
        raise ValueError(text)
    return int(index) - 1, int(count)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", type=_part, metavar="I/N", help="of the tests, spread over N parts, only the I-th part")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not in the part asked for, which depends on the names of tests alone."""
    chosen = config.getoption("--part")
    if chosen is not None:
        index, count = chosen
        in_part = [zlib.crc32(item.nodeid.encode()) % count == index for item in items]
        config.hook.pytest_deselected(items=[item for item, kept in zip(items, in_part, strict=True) if not kept])
        items[:] = [item for item, kept in zip(items, in_part, strict=True) if kept]


@pytest.fixture(scope="session", autouse=True)
def fresh_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kernels are compiled anew, into a folder that goes with the run, so that no test passes by an old result."""
    folder = tmp_path_factory.mktemp("cache")
    variables = {"TRITON_CACHE_DIR": str(folder / "triton"), "OPWEAVE_CACHE_DIR": str(folder / "opweave")}
    saved = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    yield folder
    for name, value in saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture
def forget() -> Iterator[None]:
    """What a test registers is gone after it."""
    known, libraries, names = set(registry.operators), len(_forever), set(definitions)
    yield
    del _forever[libraries:]
    gc.collect()
    for name in set(definitions) - names:
        del definitions[name]
    for name in set(registry.operators) - known:
        registry.remove(registry.operators[name])
    gc.collect()


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def device(request: pytest.FixtureRequest) -> str:
    """Every device with memory, in turn."""
    if request.param == "cuda" and not is_cuda_available():
        pytest.skip("no CUDA GPU here, or no CuPy")
    return request.param
