"""An extension that setuptools builds with this Python loads in others, and its wheel says so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import opweave

pytest.importorskip("tvm_ffi", reason="op libraries in C++ need apache-tvm-ffi")
pytest.importorskip("setuptools", minversion="70.1", reason="wheels need a setuptools that makes them by itself")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"),
]
#: What `import opweave` and a C++ op need.
NEEDED = ("numpy", "llvmlite", "ml_dtypes", "optree", "typing_extensions", "apache-tvm-ffi")
SETUP = textwrap.dedent("""
    from setuptools import setup
    from opweave.utils.cpp_extension import BuildExtension, CppExtension
    setup(name="many_pythons", version="1", packages=["many_pythons"],
          ext_modules=[CppExtension("many_pythons._C", ["many_pythons/ops.cpp"]@MORE@)],
          cmdclass={"build_ext": BuildExtension})
""")
SOURCE = (
    (Path(__file__).parent / "sources" / "tutorial" / "muladd.cpp").read_text().replace("extension_cpp", "many_pythons")
)
#: A module without ops, of which the wheel's name is all that is looked at.
EMPTY = "#include <Python.h>\nPyMODINIT_FUNC PyInit__C() { return nullptr; }\n"
CODE = textwrap.dedent("""
    import sys, opweave, many_pythons
    o, x = opweave.ops.many_pythons, opweave.ones(2)
    print(*sys.version_info[:2], o.mymuladd(x, x, 2.0).tolist(), o.mymul.default._schema)
    try:
        o.mymul(x, opweave.ones(3))
    except RuntimeError as error:
        print(str(error).partition(" to be")[0])
""")


def wheel(folder: Path, source: str, more: str) -> Path:
    """Build a wheel of a package with one C++ file."""
    package = folder / "many_pythons"
    package.mkdir(parents=True)
    (package / "ops.cpp").write_text(source)
    (package / "__init__.py").write_text("from . import _C\n")
    (folder / "setup.py").write_text(SETUP.replace("@MORE@", more))
    environment = os.environ | {"PYTHONPATH": str(only_opweave(folder))}
    command = [sys.executable, "setup.py", "-q", "bdist_wheel"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = (folder / "dist").glob("*.whl")
    return made


def only_opweave(folder: Path) -> Path:
    """A folder for `PYTHONPATH` with this opweave and nothing else of this Python's."""
    path = folder / "path"
    path.mkdir(exist_ok=True)
    if not (path / "opweave").exists():
        (path / "opweave").symlink_to(Path(opweave.__file__).parent)
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as `CppExtension` gives it."""
    return wheel(tmp_path_factory.mktemp("built"), SOURCE, ', extra_compile_args={"cxx": ["-O0"]}')


def test_the_wheel_says_for_which_pythons_it_is(built: Path, tmp_path: Path) -> None:
    here = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert built.name.startswith("many_pythons-1-cp311-abi3-")
    assert "many_pythons/_C.abi3.so" in zipfile.ZipFile(built).namelist()
    older = wheel(tmp_path / "older", EMPTY, ', extra_compile_args=["-O0", "-DPy_LIMITED_API=0x030a0000"]')
    assert older.name.startswith("many_pythons-1-cp310-abi3-")
    bound = wheel(tmp_path / "bound", EMPTY, ', extra_compile_args=["-O0"], py_limited_api=False')
    assert bound.name.startswith(f"many_pythons-1-{here}-{here}-")


@pytest.mark.parametrize("minor", sorted({sys.version_info[1], 12, 13}))
def test_pythons_load_it(built: Path, tmp_path: Path, minor: int) -> None:
    site, own = only_opweave(tmp_path), minor == sys.version_info[1]
    python = sys.executable if own else find_python(minor)
    if python is None:
        pytest.skip(f"there is no Python 3.{minor} (on the path, or of pyenv)")
    for path in () if own else installed(python, minor).iterdir():
        (site / path.name).symlink_to(path)
    zipfile.ZipFile(built).extractall(site)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(site)}
    done = subprocess.run(
        [python, "-c", CODE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    shown = f"3 {minor} [3.0, 3.0] many_pythons::mymul(Tensor a, Tensor b) -> Tensor"
    assert done.stdout.splitlines() == [shown, "Expected a.sizes() == b.sizes()"], done.stderr


def find_python(minor: int) -> str | None:
    """An interpreter of a version."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*map(str, sorted(home.glob(f"3.{minor}.*/bin/python"))), shutil.which(f"python3.{minor}")]
    return next((path for path in found if path), None)


def installed(python: str, minor: int) -> Path:
    """A folder with wheels for another Python, kept for the next run."""
    wanted = [f"{name}=={version(name)}" for name in NEEDED]
    name = re.sub(r"[^\w.]+", "-", "-".join(wanted))
    folder = Path(tempfile.gettempdir()) / f"opweave-test-{os.getuid()}-3.{minor}-{name}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=tempfile.gettempdir()) as made:
            command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-compile"]
            command += ["--only-binary", ":all:", "--target", made, *wanted]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"pip installs nothing for Python 3.{minor} here: {done.stderr.strip()[-200:]}")
            shutil.copytree(made, folder, symlinks=True)
    return folder
