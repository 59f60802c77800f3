"""Libraries that contradict the registry leave it as it was, and the error names the C++ file and line."""

import shutil
import subprocess
from pathlib import Path

import pytest

import opweave
from opweave.registry.errors import CompileError, LibraryError, RegistrationError, SchemaError
from opweave.registry.op import registry
from opweave.utils import cpp_extension


def state():
    kernels = {name: dict(op.kernels) for name, op in registry.operators.items()}
    return kernels, dict(registry.fallbacks), sorted(registry.packets), dict(registry.implementations.waiting)


def line_of(text):
    lines = (Path(__file__).parent / "sources" / "bad.cpp").read_text().splitlines()
    return next(i + 1 for i, line in enumerate(lines) if text in line)


#: Which of the libraries, the class of the error, what it says, and the C++ line that it names.
CASES = [
    ("2", RegistrationError, "float as one of its arguments, where the schema has int", 'm.def("f(Tensor x, int k)'),
    ("3", RegistrationError, "defines no ops", 'm.def("f(Tensor x) -> Tensor")'),
    ("4", RegistrationError, "float as one of its returns, where the schema has Tensor", 'm.impl("f", [](const'),
    ("5", RegistrationError, "no op 'aten::there_is_none'", "if (is('5'))"),
    ("6", RegistrationError, "no registration today", "OPWEAVE_LIBRARY(cppbad_throws"),
    ("9", RegistrationError, "it has to work for ops of all types", "m.fallback(same)"),
    ("v", RegistrationError, "no op 'cppbad_half::nothing'", 'm.def("nothing(Tensor x)'),
    ("w", RegistrationError, "another schema", 'm.def("g(Tensor x, int k)'),
    ("x", RegistrationError, "no kernel for CUDA", 'm.impl("g", same, opweave::_Reg'),
    ("s", SchemaError, "", 'm.def("h(Tensor x -> Tensor")'),
]


@pytest.mark.parametrize(("case", "kind", "text", "line"), CASES, ids=[case[0] for case in CASES])
def test_what_fails_half_way_leaves_nothing(build, tmp_path, monkeypatch, case, kind, text, line):
    library = shutil.copy(build("bad.cpp"), tmp_path / "bad.so")
    monkeypatch.setenv("OPWEAVE_TEST_BAD", case)
    before = state()
    for _ in range(2):  # it can be tried again
        with pytest.raises(kind) as caught:
            opweave.ops.load_library(library)
        assert text in str(caught.value) and f"bad.cpp:{line_of(line)} in C++" in str(caught.value)
        assert state() == before
        del caught
    for name in ("cppbad_type", "cppbad_half", "cppbad_throws"):
        assert dir(getattr(opweave.ops, name)) == []


def test_a_second_library_of_a_namespace(build, tmp_path):
    library = build("bad.cpp", "-DBAD=1")
    opweave.ops.load_library(library)
    opweave.ops.load_library(library)  # the same file again is no error, and registers nothing
    copy = shutil.copy(library, tmp_path / "another.so")
    before = state()
    with pytest.raises(RegistrationError, match="has a library that defines it") as caught:
        opweave.ops.load_library(copy)
    assert str(caught.value).count("bad.cpp:") == 2 and state() == before
    x = opweave.ones(2)
    assert opweave.ops.cppbad_twice.f(x).tolist() == [1, 1]


def test_libraries_without_registrations(build, tmp_path):
    with pytest.raises(LibraryError, match="registers no ops"):
        opweave.ops.load_library(build("bad.cpp", "-DBAD=7"))
    plain = tmp_path / "plain.so"
    (tmp_path / "plain.c").write_text("int f(void) { return 1; }")
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "plain.c"), "-o", str(plain)], check=True)
    with pytest.raises(LibraryError, match="without TORCH_LIBRARY"):
        opweave.ops.load_library(plain)


def test_another_version_is_refused_with_its_number(build):
    with pytest.raises(LibraryError, match="version 77; this opweave has version 1"):
        opweave.ops.load_library(build("bad.cpp", "-DBAD=8"))
    assert dir(opweave.ops.cppbad_version) == []


def test_files_that_are_no_libraries(tmp_path):
    with pytest.raises(LibraryError, match="there is no file") as caught:
        opweave.ops.load_library(tmp_path / "missing.so")
    assert isinstance(caught.value, OSError)
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(LibraryError, match="cannot be loaded"):
        opweave.ops.load_library(tmp_path / "text.so")
    with pytest.raises(LibraryError):
        opweave.ops.load_library(tmp_path)
    with pytest.raises(TypeError):
        opweave.ops.load_library(3)


def test_the_version_is_one_number():
    from opweave.registry.cpp import headers, library

    text = (headers.include_folder() / "opweave" / "abi.h").read_text()
    assert f"#define OPWEAVE_ABI_VERSION {library.ABI_VERSION}\n" in text


def test_sources_that_do_not_compile(tmp_path):
    source = tmp_path / "wrong.cpp"
    source.write_text("int f( { return 1; }\n")
    with pytest.raises(CompileError, match=r"wrong\.cpp:1") as caught:
        cpp_extension.load("wrong", [source], build_directory=tmp_path / "build")
    assert "test_bad_libraries.py" in str(caught.value)
    with pytest.raises(TypeError, match="sources that are not there"):
        cpp_extension.load("wrong", [tmp_path / "none.cpp"])
    with pytest.raises(TypeError, match="must be an identifier"):
        cpp_extension.load("not a name", [source])
