"""What all tests share: how hypothesis runs, which tests run, and the devices there are."""

from __future__ import annotations

import difflib
import gc
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

# What the compiler makes is checked between its steps, in subprocesses too; read when it is imported.
os.environ.setdefault("OPWEAVE_VERIFY", "1")
# A library that is asked where it is faster would change bits from run to run; tests of it ask by themselves.
os.environ.setdefault("OPWEAVE_ONEDNN", "0")

import pytest
from hypothesis import HealthCheck, settings

from opweave import passes
from opweave.codegen.native import calls, pool
from opweave.registry.custom_op import definitions
from opweave.registry.device import is_cuda_available
from opweave.registry.library import _forever
from opweave.registry.op import OpOverload, registry
from opweave.tracer import spec

# The declared samples of ops, and what stands for instructions, are for the tests of every stage.
sys.path += [str(Path(__file__).parent / "registry" / "ops"), str(Path(__file__).parent / "helpers")]

# Calls are replayed in all tests, and not once there were many.
calls.install(True)
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
    parser.addoption(
        "--turn",
        type=_part,
        metavar="I/N",
        help="of those that try every op or make up their inputs, only the I-th part",
    )
    parser.addoption("--op", metavar="NAME", help="only the tests of one op, as silu")
    parser.addoption("--pass", dest="pass_name", metavar="NAME", help="only the tests of one pass, as fuse")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse names that nothing has, and name what is near."""
    known = {
        "op": {name.partition("::")[2].partition(".")[0] for name in registry.operators},
        "pass": {path.stem for path in Path(passes.__path__[0]).glob("[!_]*.py")},
    }
    for what, given in (("op", config.getoption("--op")), ("pass", config.getoption("--pass"))):
        if given is not None and given not in known[what]:
            near = difflib.get_close_matches(given, known[what], 5)
            raise pytest.UsageError(f"there is no {what} {given!r}{'; near: ' * bool(near)}{', '.join(near)}")


def _of_op(item: pytest.Item, name: str) -> bool:
    """Whether the name of the test, or of its case, has the op's name in it."""
    return re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", item.name) is not None


def _of_pass(item: pytest.Item, name: str) -> bool:
    """Whether the test's file imports the pass, or something of it."""
    module = f"{passes.__name__}.{name}"
    of_file = vars(getattr(item, "module", passes)).values()
    return any(getattr(value, "__module__", None) == module or value is sys.modules.get(module) for value in of_file)


def _chosen(config: pytest.Config) -> Callable[[pytest.Item], bool]:
    part, turn, op, pass_name = (config.getoption(name) for name in ("--part", "--turn", "--op", "--pass"))

    def chosen(item: pytest.Item) -> bool:
        number = zlib.crc32(item.nodeid.encode())
        takes_turns = item.get_closest_marker("property") or item.get_closest_marker("every_op")
        return (
            (part is None or number % part[1] == part[0])
            and (turn is None or not takes_turns or number % turn[1] == turn[0])
            and (op is None or _of_op(item, op))
            and (pass_name is None or _of_pass(item, pass_name))
        )

    return chosen


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks that follow from what a test is."""
    function, module = getattr(item, "obj", None), getattr(item, "module", None)
    if getattr(function, "is_hypothesis_test", False):
        item.add_marker("property")
    if any(isinstance(value, OpOverload) for value in getattr(getattr(item, "callspec", None), "params", {}).values()):
        item.add_marker("every_op")
    if any(hasattr(module, name) for name in ("subprocess", "multiprocessing", "fork_server")):
        item.add_marker("process")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not asked for."""
    chosen = _chosen(config)
    left_out = [item for item in items if not chosen(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if chosen(item)]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Of one op or pass, say what ran."""
    for what in ("op", "pass"):
        if (name := config.getoption(f"--{what}")) is not None:
            reports = [r for key in ("passed", "failed", "skipped") for r in terminalreporter.stats.get(key, ())]
            files = Counter(report.nodeid.partition("::")[0] for report in reports)
            terminalreporter.section(f"the {what} {name}: {files.total()} tests in {len(files)} files")
            for file, count in files.most_common():
                terminalreporter.line(f"{count:5} {file}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing is garbage yet of the much that is made while tests are collected."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Take what was collected, most of the heap, out of each later garbage collection; make full ones rarer."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 100)  # of the garbage of tests, most is found young


@pytest.fixture(scope="session", autouse=True)
def fresh_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kernels are compiled anew, into a folder that goes with the run, so that no test passes by an old result.

    The workers of a run share it: what one has compiled, another need not.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    variables = {"TRITON_CACHE_DIR": str(folder / "triton"), "OPWEAVE_CACHE_DIR": str(folder / "opweave")}
    saved = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    yield folder
    for name, value in saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture(scope="module", autouse=True)
def unsearched() -> Iterator[None]:
    """What the tests of a file leave, modules above all, is taken out of later garbage collections, too."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def environment_stays() -> Iterator[None]:
    """A test leaves the environment as it was: processes that later tests start would begin with other variables."""
    before = dict(os.environ)
    yield
    now = dict(os.environ)
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    not_ours = ("PYTEST_CURRENT_TEST", "TORCHINDUCTOR_CACHE_DIR")  # PyTorch keeps where its first compilation went
    assert not [name for name in changed if name not in not_ours], "variables that a test left changed"


@pytest.fixture
def one_thread() -> Iterator[None]:
    """A test whose native code runs on one thread."""
    before = pool.get_num_threads()
    pool.set_num_threads(1)
    yield
    pool.set_num_threads(before)


@pytest.fixture
def forget() -> Iterator[None]:
    """What a test registers is gone after it."""
    known, libraries, names = set(registry.operators), len(_forever), set(definitions)
    gc.freeze()  # what is there already takes longest to look through, from here on
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
