"""`BuildExtension`: setuptools' command that builds op libraries in C++."""

from __future__ import annotations

import re
import sysconfig
from typing import Any

from setuptools.command.build_ext import build_ext

from opweave.utils import compiling

__all__ = ["BuildExtension"]

_CXX = ("-std=c++17",)
#: The oldest Python that opweave has.
_LIMITED = "-DPy_LIMITED_API=0x030b0000"
_LIMITED_API = re.compile(r"-DPy_LIMITED_API=0x03([0-9a-fA-F]{2})0000")


class BuildExtension(build_ext):
    """Builds extensions made by `CppExtension` and `CUDAExtension`; nvcc compiles `.cu` files.

    Extensions for the limited API, as those are by default, are compiled with `Py_LIMITED_API`, of Python 3.11 where
    their flags name no other. A wheel with none but such ones is tagged `cp311-abi3`, or by the newest version that
    they name: it is for that Python and all later ones. With `py_limited_api=False` it is for the one that builds it.

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
        self._tag_wheel()
        compile_one = self.compiler._compile

        def with_nvcc(obj: str, src: str, ext: str, cc_args: list[str], extra: Any, options: list[str]) -> None:
            flags = extra if isinstance(extra, dict) else {"cxx": list(extra), "nvcc": []}
            if ext == ".cu":
                command = [compiling.cuda_compiler(), *cc_args, *compiling.CUDA_FLAGS, "-Xcompiler", "-fPIC"]
                command += flags["nvcc"]
                self.compiler.spawn([*command, src, "-o", obj, *options])
            else:
                compile_one(obj, src, ext, cc_args, flags["cxx"], options)

        self.compiler._compile = with_nvcc
        super().build_extensions()

    def _tag_wheel(self) -> None:
        """Have a wheel that is being built say for which Pythons its extensions are."""
        wheel: Any = self.distribution.get_command_obj("bdist_wheel", create=False)
        if wheel is None or wheel.py_limited_api or sysconfig.get_config_var("Py_GIL_DISABLED"):
            return
        if all(extension.py_limited_api for extension in self.extensions):
            flags = [flag for extension in self.extensions for flag in extension.extra_compile_args["cxx"]]
            found = [match for match in map(_LIMITED_API.fullmatch, flags) if match is not None]
            wheel.py_limited_api = f"cp3{max(int(match[1], 16) for match in found)}"

    @staticmethod
    def _add_flags(extension: Any) -> None:
        given = extension.extra_compile_args
        name = f"-DTORCH_EXTENSION_NAME={extension.name.rpartition('.')[2]}"
        space = f"-DOPWEAVE_EXTENSION_NAMESPACE={extension.name.replace('.', '_')}"
        flags = {"cxx": [], "nvcc": []} | (given if isinstance(given, dict) else {"cxx": list(given)})
        limited = [_LIMITED] if extension.py_limited_api and not any(map(_LIMITED_API.fullmatch, flags["cxx"])) else []
        extension.extra_compile_args = {
            "cxx": [*_CXX, name, space, *limited, *flags["cxx"]],
            "nvcc": [name, space, *limited, *flags["nvcc"]],
        }
        extension.libraries = [*extension.libraries, "tvm_ffi"]


def __dir__() -> list[str]:
    return sorted(__all__)
