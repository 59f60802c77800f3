"""Building: `load_inline`, CMake, and a program without Python; `test_other_pythons` has setuptools."""

import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

import opweave
from opweave.registry.errors import UnsupportedError
from opweave.testing import assert_close
from opweave.utils import cmake_prefix_path, compiling, cpp_extension

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
)
pytest.importorskip("tvm_ffi", reason="op libraries in C++ need apache-tvm-ffi")
SOURCES = Path(__file__).parent / "sources"
TUTORIAL = SOURCES / "tutorial" / "muladd.cpp"


def test_load_inline_makes_ops_of_functions(tmp_path):
    source = "at::Tensor twice(const at::Tensor& x) { return x + x; }\nint64_t three() { return 3; }"
    for _ in range(2):
        made = cpp_extension.load_inline(
            "inline_ext", source, functions=["twice", "three"], extra_cflags=["-O0"], build_directory=tmp_path
        )
        x = opweave.randn(3)
        assert_close(made.twice(x), x * 2)
        assert made.three() == 3
    assert len(list(tmp_path.glob("*.so"))) == 1


def test_only_what_changed_is_compiled(tmp_path, monkeypatch):
    header = tmp_path / "n.h"
    header.write_text("constexpr int N = 1;\n")
    source = tmp_path / "n.cpp"
    source.write_text('#include "n.h"\nint n() { return N; }\n')
    commands = []
    monkeypatch.setattr(compiling, "_run", lambda c, *rest, run=compiling._run: (commands.append(c), run(c, *rest)))

    def build():
        commands.clear()
        return cpp_extension.load("n", source, build_directory=tmp_path / "b", is_standalone=True), len(commands)

    first, count = build()
    assert count == 2 and build() == (first, 0)
    header.write_text("constexpr int N = 2;\n")
    second, count = build()
    assert count == 2 and second != first and os.path.exists(first)


def test_a_program_without_python(tmp_path):
    flags = [f"-I{p}" for p in cpp_extension.include_paths()] + [f"-L{p}" for p in cpp_extension.library_paths()]
    program = tmp_path / "host"
    subprocess.run(
        [*compiling.compiler(), "-std=c++17", "-O0", *flags, str(SOURCES / "host_program.cpp"), "-o", str(program),
         "-ltvm_ffi", "-ldl", f"-Wl,-rpath,{cpp_extension.library_paths()[0]}", "-rdynamic",
         f"-L{sysconfig.get_config_var('LIBDIR')}"],
        check=True,
    )  # fmt: skip
    plain = tmp_path / "plain.cpp"
    text = TUTORIAL.read_text()
    plain.write_text("#include <torch/all.h>\n" + text[text.index("namespace extension_cpp") :])  # without its module
    path = cpp_extension.load("plain", plain, extra_cflags=["-O0"], build_directory=tmp_path / "b", is_standalone=True)
    shown = subprocess.run([str(program), path], capture_output=True, text=True, check=True, env={}).stdout.splitlines()
    assert shown[:3] == ["extension_cpp::mymuladd(Tensor a, Tensor b, float c) -> Tensor", "9.5 3", "6"]
    assert shown[3].startswith("RuntimeError: Expected a.sizes() == b.sizes() to be true")
    assert shown[4].startswith("RegistrationError: no op extension_cpp::nothing")
    assert shown[5].startswith("UnsupportedError: this needs opweave in the process")


@pytest.mark.slow
@pytest.mark.process
def test_cmake_finds_the_headers(tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("there is no cmake")
    (tmp_path / "ops.cpp").write_text(
        '#include <opweave/library.h>\nOPWEAVE_LIBRARY(cmake_ops, m) { m.def("one", [] { return int64_t(1); }); }\n'
    )
    (tmp_path / "CMakeLists.txt").write_text(
        textwrap.dedent("""
        cmake_minimum_required(VERSION 3.18)
        project(ops CXX)
        find_package(opweave REQUIRED)
        add_library(ops SHARED ops.cpp)
        target_link_libraries(ops PRIVATE opweave::opweave)
    """)
    )
    configure = ["cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={cmake_prefix_path}",
                 f"-DOPWEAVE_PYTHON={sys.executable}"]  # fmt: skip
    subprocess.run(configure, cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "b"], cwd=tmp_path, check=True, capture_output=True)
    opweave.ops.load_library(tmp_path / "b" / "libops.so")
    assert opweave.ops.cmake_ops.one() == 1


@pytest.mark.slow
def test_cuda_sources_compile_where_nvcc_is(tmp_path):
    try:
        nvcc = compiling.cuda_compiler()
    except UnsupportedError as error:
        pytest.skip(str(error))
    flags = [f"-I{p}" for p in cpp_extension.include_paths("cuda")]
    command = [
        nvcc,
        *compiling.CUDA_FLAGS,
        "-c",
        "-Xcompiler",
        "-fPIC",
        *flags,
        str(SOURCES / "cuda.cu"),
        "-o",
        "cuda.o",
    ]
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # nvcc bears no sanitizer
    subprocess.run(command, cwd=tmp_path, env=plain, check=True, capture_output=True)
    assert (tmp_path / "cuda.o").stat().st_size


def test_what_cuda_sources_need_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    (tmp_path / "a.cu").write_text("")
    with pytest.raises(UnsupportedError, match="CUDA sources need nvcc"):
        cpp_extension.load("a", tmp_path / "a.cu", build_directory=tmp_path / "b")
