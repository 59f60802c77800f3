"""Building op libraries in C++: the names of `torch.utils.cpp_extension`.

A library is compiled with a C++ compiler alone, against opweave's headers and the C ABI of apache-tvm-ffi. It uses
nothing of Python's ABI, so one binary serves all versions of Python.
"""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opweave.registry.errors import ArgumentError, user_frame
from opweave.registry.loading import load_heavy
from opweave.registry.op import ops
from opweave.utils import compiling

__all__ = ["CUDAExtension", "CppExtension", "include_paths", "library_paths", "load", "load_inline"]

_CFLAGS = ("-std=c++17", "-O2")
_CUDA_CFLAGS = (*compiling.CUDA_FLAGS, "-O2")


def include_paths(device_type: str = "cpu") -> list[str]:
    """Folders of the headers that a C++ op library includes.

    Parameters
    ----------
    device_type : str
        `"cpu"` or `"cuda"`; nvcc knows the folder of its own headers.

    Returns
    -------
    list of str
        Opweave's headers, those of apache-tvm-ffi's C ABI, and Python's (which some sources include to be a module).

    Examples
    --------
    >>> len(opweave.utils.cpp_extension.include_paths()) > 0
    True
    """
    del device_type
    package = Path(sys.modules["opweave"].__path__[0])
    return [str(package / "include"), str(_runtime() / "include"), sysconfig.get_paths()["include"]]


def library_paths(device_type: str = "cpu") -> list[str]:
    """Folders of the libraries that a C++ op library is linked with.

    Examples
    --------
    >>> isinstance(opweave.utils.cpp_extension.library_paths(), list)
    True
    """
    del device_type
    return [str(_runtime() / "lib")]


def _runtime() -> Path:
    return Path(str(load_heavy("tvm_ffi").__file__)).parent


def _link_flags() -> list[str]:
    # The runtime is found where Python packages lie side by side, or was loaded before by its own package.
    return ["-ltvm_ffi", f"-Wl,-rpath,{_runtime() / 'lib'}", "-Wl,-rpath,$ORIGIN/../tvm_ffi/lib"]


def load(
    name: str,
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    *,
    is_python_module: bool = True,
    is_standalone: bool = False,
) -> Any:
    """Compile a library of ops, if something changed since it last was, and load it.

    Parameters
    ----------
    name : str
        Of the library; an identifier.
    sources : path or sequence of paths
        C++ files, and CUDA files (`.cu`) where nvcc is there.
    extra_cflags, extra_cuda_cflags, extra_ldflags : sequence of str, optional
        Flags for the compiler, for nvcc, for linking.
    extra_include_paths : sequence of str, optional
        Folders of headers.
    build_directory : path, optional
        Where to build; by default a folder of the user's cache (`OPWEAVE_EXTENSIONS_DIR`).
    verbose : bool
        Print the commands.
    is_python_module : bool
        Return the ops of the namespace `name`, if the library defines any; the path of the library otherwise.
    is_standalone : bool
        Only compile, and return the path.

    Returns
    -------
    object or str
        `opweave.ops.<name>`, or the path of the library.

    Raises
    ------
    CompileError
        If the compiler refuses.
    UnsupportedError
        If there is no compiler.
    LibraryError, RegistrationError, SchemaError
        As `opweave.ops.load_library`.

    Examples
    --------
    >>> opweave.utils.cpp_extension.load("extension_cpp", ["muladd.cpp"])  # doctest: +SKIP
    >>> opweave.ops.extension_cpp.mymuladd(a, b, 1.0)  # doctest: +SKIP
    """
    if not name.isidentifier():
        raise ArgumentError("cpp_extension.load: the name must be an identifier", got=repr(name))
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    files = [Path(path).resolve() for path in paths]
    missing = [str(path) for path in files if not path.is_file()]
    if missing or not files:
        raise ArgumentError("cpp_extension.load: sources that are not there", got=", ".join(missing) or "none at all")
    job = compiling.Job(
        name, files, [*_CFLAGS, f"-DTORCH_EXTENSION_NAME={name}", *(extra_cflags or ())],
        [*_CUDA_CFLAGS, f"-DTORCH_EXTENSION_NAME={name}", *(extra_cuda_cflags or ())],
        [*_link_flags(), *(extra_ldflags or ())], [*(extra_include_paths or ()), *include_paths()], library_paths(),
        user_frame(1), verbose,
    )  # fmt: skip
    folder = compiling.root() / name if build_directory is None else Path(build_directory)
    library = compiling.build(job, folder)
    if is_standalone:
        return str(library)
    ops.load_library(library)
    space = getattr(ops, name)
    return space if is_python_module and dir(space) else str(library)


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    *,
    is_python_module: bool = True,
    no_implicit_headers: bool = False,
) -> Any:
    """`load`, with sources given as text.

    Parameters
    ----------
    name : str
        Of the library.
    cpp_sources, cuda_sources : str or sequence of str
        The text of the sources.
    functions : str or sequence of str, optional
        Names of C++ functions that become ops of the namespace `name`, with schemas that follow from their types.
    no_implicit_headers : bool
        Do not put `#include <torch/extension.h>` in front.

    Other parameters are as of `load`.

    Examples
    --------
    >>> ops = opweave.utils.cpp_extension.load_inline("mine", cpp_sources=source)  # doctest: +SKIP
    """
    texts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    cuda = [cuda_sources] if isinstance(cuda_sources, str) else list(cuda_sources or ())
    named = [functions] if isinstance(functions, str) else list(functions or ())
    head = "" if no_implicit_headers else "#include <torch/extension.h>\n"
    body = "\n".join(texts)
    if named:
        lines = "".join(f'  m.def("{function}", &{function});\n' for function in named)
        body += f"\nTORCH_LIBRARY_FRAGMENT({name}, m) {{\n{lines}}}\n"
    folder = compiling.root() / name if build_directory is None else Path(build_directory)
    folder.mkdir(parents=True, exist_ok=True)
    files = [_written(folder / "main.cpp", head + body)]
    if cuda:
        files.append(_written(folder / "cuda.cu", head + "\n".join(cuda)))
    return load(
        name, files, extra_cflags, extra_cuda_cflags, extra_ldflags, extra_include_paths, folder, verbose,
        is_python_module=is_python_module,
    )  # fmt: skip


def _written(path: Path, text: str) -> Path:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def _fill(module: Any, namespace: str) -> None:
    """Give a module that is written with `PYBIND11_MODULE` its functions; called when it is imported."""
    ops.load_library(module.__file__)
    space = getattr(ops, namespace)
    for name in dir(space):
        setattr(module, name, getattr(space, name))


def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """A `setuptools.Extension` of C++ ops, for `setup(ext_modules=[...], cmdclass={"build_ext": BuildExtension})`.

    Parameters
    ----------
    name : str
        Of the module, as `"package._C"`.
    sources : sequence of str
        Files.
    **kwargs
        As of `setuptools.Extension`; `extra_compile_args` may be a dict with `"cxx"` and `"nvcc"`.

    Examples
    --------
    >>> opweave.utils.cpp_extension.CppExtension("mine", ["mine.cpp"]).name
    'mine'
    """
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", ()), *include_paths()]
    kwargs["library_dirs"] = [*kwargs.get("library_dirs", ()), *library_paths()]
    kwargs["language"] = "c++"
    kwargs.setdefault("py_limited_api", True)  # nothing of Python's ABI is used
    # Where the runtime is installed beside the package, wherever that is; else where it is here.
    beside = f"-Wl,-rpath,$ORIGIN/{'../' * name.count('.')}tvm_ffi/lib"
    kwargs["extra_link_args"] = [*kwargs.get("extra_link_args", ()), beside, *_link_flags()]
    return load_heavy("setuptools").Extension(name, list(sources), *args, **kwargs)


def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """A `CppExtension` with CUDA sources, which nvcc compiles.

    Examples
    --------
    >>> opweave.utils.cpp_extension.CUDAExtension("mine", ["mine.cpp", "mine.cu"])  # doctest: +SKIP
    """
    return CppExtension(name, sources, *args, **kwargs)


def __getattr__(name: str) -> Any:
    if name != "BuildExtension":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = importlib.import_module(
        "opweave.utils.build_extension"
    ).BuildExtension  # loads setuptools
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
