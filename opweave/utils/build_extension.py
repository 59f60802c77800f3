"""`BuildExtension`: setuptools' command that builds op libraries in C++."""

from __future__ import annotations

from typing import Any

from setuptools.command.build_ext import build_ext

from opweave.utils import compiling

_CXX = ("-std=c++17",)


class BuildExtension(build_ext):
    """Builds extensions made by `CppExtension` and `CUDAExtension`; nvcc compiles `.cu` files.

    Examples
    --------
    >>> setup(ext_modules=[CppExtension("pkg._C", ["ops.cpp"])], cmdclass={"build_ext": BuildExtension})
    """

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """The class, whatever the options are (`use_ninja` and the like change nothing here)."""
        del options
        return cls

    def build_extensions(self) -> None:
        """Build all; called by setuptools."""
        self.compiler.src_extensions += [".cu"]
        for extension in self.extensions:
            self._add_flags(extension)
        compile_one = self.compiler._compile

        def with_nvcc(obj: str, src: str, ext: str, cc_args: list[str], extra: Any, options: list[str]) -> None:
            flags = extra if isinstance(extra, dict) else {"cxx": list(extra), "nvcc": []}
            if ext == ".cu":
                command = [compiling.cuda_compiler(), *cc_args, "-std=c++17", "-Xcompiler", "-fPIC", *flags["nvcc"]]
                self.compiler.spawn([*command, src, "-o", obj, *options])
            else:
                compile_one(obj, src, ext, cc_args, flags["cxx"], options)

        self.compiler._compile = with_nvcc
        super().build_extensions()

    @staticmethod
    def _add_flags(extension: Any) -> None:
        given = extension.extra_compile_args
        name = f"-DTORCH_EXTENSION_NAME={extension.name.rpartition('.')[2]}"
        flags = given if isinstance(given, dict) else {"cxx": list(given), "nvcc": []}
        extension.extra_compile_args = {
            "cxx": [*_CXX, name, *flags.get("cxx", ())],
            "nvcc": [name, *flags.get("nvcc", ())],
        }
        extension.libraries = [*extension.libraries, "tvm_ffi"]
