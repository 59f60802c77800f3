"""C++ libraries of the tests: compiled when a test asks for one, and kept for the next run.

With sanitizers, and without their search for leaks, since Python keeps much to its end:

    export OPWEAVE_TEST_SANITIZE=address,undefined ASAN_OPTIONS=detect_leaks=0
    LD_PRELOAD="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libubsan.so)" pytest tests/cpp
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import opweave
from opweave.library import register_autograd, register_ffi, register_vmap
from opweave.registry.op import registry
from opweave.utils import compiling, cpp_extension

SOURCES = Path(__file__).parent / "sources"
#: A library that knows nothing of opweave.
OTHERS = Path(__file__).parent / "others" / "kernels.cpp"
HAS_COMPILER = any(shutil.which(name) for name in ("c++", "g++", "clang++"))
SANITIZERS = os.environ.get("OPWEAVE_TEST_SANITIZE", "")
if SANITIZERS:
    # By the compiler's name, so that all that is built is built so: in processes, by setuptools, by CMake.
    os.environ["CXX"] = f"{os.environ.get('CXX', 'c++')} -fsanitize={SANITIZERS} -fno-sanitize-recover=undefined -g"


@pytest.fixture(scope="session")
def build(pytestconfig):
    """`build(source, *flags)`: the path of a library made of a file of `sources`."""
    pytest.importorskip("tvm_ffi", reason="op libraries in C++ need apache-tvm-ffi")
    if not HAS_COMPILER:
        pytest.skip("there is no C++ compiler")
    root = Path(pytestconfig.rootpath) / ".pytest_cache" / f"cpp{SANITIZERS}"

    def compile_one(source, *flags):
        name = "".join([Path(source).stem, *flags]).replace("-D", "_").replace("=", "")
        return cpp_extension.load(
            "".join(c if c.isalnum() else "_" for c in name), [SOURCES / source], build_directory=root / name,
            extra_cflags=["-O0", "-Wall", "-Wextra", "-Wno-unused-parameter", *flags], is_standalone=True,
        )  # fmt: skip

    return compile_one


@pytest.fixture(scope="session")
def ops(build):
    """`ops(name)`: the namespace that a source's library defines, loaded."""
    together = (SOURCES / "all.cpp").read_text()

    def loaded(source, namespace):
        before = set(registry.fallbacks)
        opweave.ops.load_library(build("all.cpp" if f'"{source}"' in together else source))
        for key in set(registry.fallbacks) - before:
            loaded.fallbacks[key] = registry.fallbacks[key]
            registry.set_fallback(key, None)
        return getattr(opweave.ops, namespace)

    loaded.fallbacks = {}
    return loaded


@pytest.fixture
def fallbacks(ops):
    """Those of the libraries, for one test: while there is one, no call is replayed and no version is kept."""
    for key, fallback in ops.fallbacks.items():
        registry.set_fallback(key, fallback)
    yield
    for key in ops.fallbacks:
        registry.set_fallback(key, None)


@pytest.fixture(scope="session")
def library():
    """The library of `others/kernels.cpp`, built once for all processes."""
    tvm_ffi = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")
    if not HAS_COMPILER:
        pytest.skip("there is no C++ compiler")
    home = Path(tvm_ffi.__file__).parent
    key = hashlib.sha256(OTHERS.read_bytes() + f"{tvm_ffi.__version__} {SANITIZERS}".encode()).hexdigest()[:16]
    built = Path(tempfile.gettempdir()) / f"opweave-test-{os.getuid()}-{key}.so"
    if not built.exists():
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "kernels.so"
            options = ["-O1", "-std=c++17", "-shared", "-fPIC", f"-I{home}/include", f"-L{home}/lib", "-ltvm_ffi"]
            subprocess.run([*compiling.compiler(), str(OTHERS), *options, "-o", str(made)], check=True)
            part = built.with_suffix(f".{os.getpid()}")
            shutil.copy(made, part)
            part.rename(built)
    return built


@pytest.fixture(scope="session")
def norm(library):
    """Ops of functions that write their results, differentiable as any op."""
    made = register_ffi(library, {
        "ffi_norm::rms(Tensor x, Tensor w, float eps=1e-6) -> Tensor out":
            ("rms(out, x, w, eps)", lambda x, w, eps: opweave.empty_like(x)),
        "ffi_norm::rms_backward(Tensor grad, Tensor x, Tensor w, float eps) -> (Tensor dx, Tensor dw)":
            ("rms_backward(dx, dw, grad, x, w, eps)",
             lambda grad, x, w, eps: (opweave.empty_like(x), opweave.empty_like(w))),
        "ffi_norm::scale_(Tensor(a!) x, float by) -> ()": "scale",
        "ffi_norm::scaled_(Tensor(a!) x, *, float by=2.0) -> Tensor(a!)": "scale",
        "ffi_norm::scaled(Tensor x, float by) -> Tensor out": ("scale(out, by)", lambda x, by: x.clone()),
    })  # fmt: skip

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.eps = inputs[2]

    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return *opweave.ops.ffi_norm.rms_backward(grad.contiguous(), x, w, ctx.eps), None

    register_autograd("ffi_norm::rms", backward, setup_context=keep)
    register_autograd("ffi_norm::scaled", lambda ctx, grad: (grad * ctx.by, None),
                      setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]))  # fmt: skip

    @register_vmap("ffi_norm::rms")
    def _(info, in_dims, x, w, eps):
        assert in_dims[1] is None
        return opweave.ops.ffi_norm.rms(x.movedim(in_dims[0], 0).contiguous(), w, eps), 0

    return made
