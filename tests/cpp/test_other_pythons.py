"""An extension that was built with this Python loads in others, and its wheel says so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
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
SOURCE = textwrap.dedent("""
    #include <Python.h>
    #include <opweave/library.h>
    PyMODINIT_FUNC PyInit__C() {
      static PyModuleDef about = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
      return PyModule_Create(&about);
    }
    using opweave::Tensor;
    OPWEAVE_LIBRARY(many_pythons, m) {
      m.def("first(Tensor x) -> float", [](const Tensor& x) { return double(*x.data_ptr<float>()); });
      m.def("refuse() -> ()", [] { throw std::out_of_range("from C++"); });
    }
""")
CODE = textwrap.dedent("""
    import sys, opweave, many_pythons
    o = opweave.ops.many_pythons
    print(*sys.version_info[:2], o.first(opweave.tensor([2.5])), o.first.default(opweave.tensor([1.5])))
    try:
        o.refuse()
    except IndexError as error:
        print(error)
""")


def wheel(folder: Path, more: str = ', extra_compile_args=["-O0"]') -> Path:
    """Build a wheel of a package with one C++ file."""
    package = folder / "many_pythons"
    package.mkdir(parents=True)
    (package / "ops.cpp").write_text(SOURCE)
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
    return wheel(tmp_path_factory.mktemp("built"))


def test_the_wheel_says_for_which_pythons_it_is(built: Path, tmp_path: Path) -> None:
    here = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert built.name.startswith("many_pythons-1-cp311-abi3-")
    older = wheel(tmp_path / "older", more=', extra_compile_args=["-O0", "-DPy_LIMITED_API=0x030a0000"]')
    assert older.name.startswith("many_pythons-1-cp310-abi3-")
    bound = wheel(tmp_path / "bound", more=', extra_compile_args=["-O0"], py_limited_api=False')
    assert bound.name.startswith(f"many_pythons-1-{here}-{here}-")


@pytest.mark.parametrize("minor", [12, 13])
def test_another_python_loads_it(built: Path, tmp_path: Path, minor: int) -> None:
    python = find_python(minor)
    if python is None:
        pytest.skip(f"there is no Python 3.{minor} (on the path, or of pyenv)")
    packages = installed(python, minor)
    site = only_opweave(tmp_path)
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(built), str(site)], check=True)
    for path in packages.iterdir():
        (site / path.name).symlink_to(path)
    paths = [site]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(
        [python, "-c", CODE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [f"3 {minor} 2.5 1.5", "from C++"], done.stderr


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
