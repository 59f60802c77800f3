"""C++ libraries of the tests: compiled when a test asks for one, and kept for the next run.

With sanitizers, and without their search for leaks, since Python keeps much to its end:

    export OPWEAVE_TEST_SANITIZE=address,undefined ASAN_OPTIONS=detect_leaks=0
    LD_PRELOAD="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libubsan.so)" pytest tests/cpp
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import opweave
from opweave.utils import cpp_extension

SOURCES = Path(__file__).parent / "sources"
HAS_COMPILER = any(shutil.which(name) for name in ("c++", "g++", "clang++"))


@pytest.fixture(scope="session")
def build(pytestconfig):
    """`build(source, *flags)`: the path of a library made of a file of `sources`."""
    pytest.importorskip("tvm_ffi", reason="op libraries in C++ need apache-tvm-ffi")
    if not HAS_COMPILER:
        pytest.skip("there is no C++ compiler")
    sanitizers = os.environ.get("OPWEAVE_TEST_SANITIZE")
    extra = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=undefined", "-g"] if sanitizers else []
    root = Path(pytestconfig.rootpath) / ".pytest_cache" / f"cpp{sanitizers or ''}"

    def compile_one(source, *flags):
        name = "".join([Path(source).stem, *flags]).replace("-D", "_").replace("=", "")
        return cpp_extension.load(
            "".join(c if c.isalnum() else "_" for c in name), [SOURCES / source], build_directory=root / name,
            extra_cflags=["-O0", "-Wall", "-Wextra", "-Wno-unused-parameter", *flags, *extra], is_standalone=True,
        )  # fmt: skip

    return compile_one


@pytest.fixture(scope="session")
def ops(build):
    """`ops(name)`: the namespace that a source's library defines, loaded."""

    def loaded(source, namespace):
        opweave.ops.load_library(build(source))
        return getattr(opweave.ops, namespace)

    return loaded
