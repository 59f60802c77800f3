"""Which functions of libraries a compiled function may call without anything being guarded but that they are the same.

A library's function is taken as it is, not followed: that holds where its result follows from its arguments. One that
asks the process or the world (a clock, a file, a locale, a registry of its own) gives what no guard sees. Modules that
are not known to be pure count as asking.
"""

from __future__ import annotations

import sys

_STDLIB = frozenset(sys.stdlib_module_names) | {"builtins", "__future__"}
#: Packages whose functions are taken as they are: their code does not read the user's state behind our back.
_LIBRARIES = frozenset(
    {
        "opweave", "numpy", "triton", "cupy", "optree", "ml_dtypes", "llvmlite", "networkx", "sympy", "mpmath", "scipy",
        "torch", "tvm_ffi", "einops",
        "typing_extensions", "pytest", "_pytest", "pluggy", "hypothesis", "_distutils_hack", "setuptools",
        "pkg_resources", "coverage", "debugpy", "pydevd",
    }
)  # fmt: skip

#: Of those, the ones that call nothing of the user's back.
THIRD_PARTY = _LIBRARIES - {"opweave", "numpy", "pytest", "_pytest", "pluggy", "hypothesis"}


def is_library(module: str | None) -> bool:
    """Whether a module's functions are guarded by identity alone, without looking at what their code reads."""
    if module is not None and not isinstance(module, str):  # of a metaclass written in C, as `ctypes` has
        return True
    top = (module or "").partition(".")[0]
    return top in _LIBRARIES or (top in _STDLIB and top != "__main__")


#: What these give differs from call to call, so a compiled function would freeze the first answer.
_IMPURE_MODULES = frozenset({"random", "secrets", "time", "numpy.random"})
_IMPURE_NAMES = {
    "datetime": frozenset({"now", "today", "utcnow"}),
    "os": frozenset({"urandom", "getpid"}),
    "uuid": frozenset({"uuid1", "uuid4"}),
    "builtins": frozenset({"input", "open"}),
}


def impure(module: str, attribute: str | None) -> bool:
    """Whether reading `module.attribute` gives something that changes between calls without any guard seeing it."""
    if module in _IMPURE_MODULES:
        return attribute is not None
    return attribute in _IMPURE_NAMES.get(module, ())


#: Modules of the standard library whose functions give what follows from their arguments. `decimal` has a context,
#: which is guarded; `logging` and `warnings` come here for what their functions do, which `runtime.output` watches.
_PURE = frozenset(
    """__future__ abc array ast base64 binascii bisect builtins calendar cmath codecs collections colorsys contextlib
    contextvars copy copyreg dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq hmac
    html itertools json keyword logging math numbers operator pathlib pprint re reprlib sre_compile sre_parse statistics
    string stringprep struct textwrap token tokenize types typing unicodedata urllib uuid warnings weakref zlib
    _abc _bisect _codecs _collections _collections_abc _contextvars _datetime _decimal _functools _heapq _json _operator
    _pydatetime _pydecimal _sre _statistics _struct _thread _typing _weakref _weakrefset _hashlib _md5 _sha1 _sha2
    _sha256 _sha512 _warnings _io""".split()
)
#: Of modules that ask the world, the names that do not.
_PURE_NAMES = {
    "os": "fspath fsencode fsdecode sep linesep extsep pathsep curdir pardir name devnull path PathLike",
    "posixpath": "join split splitext splitdrive basename dirname normpath normcase isabs commonprefix commonpath sep "
    "splitroot",
    "sys": "intern getsizeof maxsize byteorder version version_info flags argv platform float_info int_info hash_info "
    "implementation hexversion maxunicode path executable prefix base_prefix warnoptions",
    "inspect": "isfunction isclass ismethod isbuiltin ismodule isroutine isgenerator isgeneratorfunction isabstract "
    "iscoroutinefunction Signature Parameter cleandoc unwrap getmro signature get_annotations",
    "threading": "Lock RLock local Condition Event Semaphore BoundedSemaphore Barrier Thread",
    "_thread": "lock RLock _local allocate_lock",
    "argparse": "Namespace",
}
#: Of modules and classes that are pure otherwise, the names that ask the world or give away a namespace.
_ASKING = {
    "builtins": "globals eval exec compile __import__ breakpoint",
    "_io": "open open_code FileIO",
    "contextvars": "copy_context",
    "_contextvars": "copy_context",
    "datetime": "now today utcnow",
    "pathlib": "cwd home exists is_file is_dir is_symlink is_mount is_socket is_fifo stat lstat iterdir glob rglob "
    "walk "
    "read_text read_bytes open resolve absolute expanduser owner group samefile readlink touch mkdir unlink write_text "
    "write_bytes",
    "logging": "getLevelName getLevelNamesMapping getLogRecordFactory getLoggerClass getHandlerByName",
    "types": "",
    "weakref": "getweakrefcount getweakrefs finalize",
    "_weakref": "getweakrefcount getweakrefs",
    "sys": "modules",
    "numpy": "geterr geterrcall seterr seterrcall getbufsize setbufsize get_printoptions set_printoptions printoptions "
    "array2string array_repr array_str fromfile load loadtxt genfromtxt memmap show_config",
    "opweave": "get_printoptions cuda_is_available initial_seed seed get_num_threads",
}
_PURE_SETS = {module: frozenset(names.split()) for module, names in _PURE_NAMES.items()}
_ASKING_SETS = {module: frozenset(names.split()) for module, names in _ASKING.items()}


def asks(module: str | None, name: str | None) -> bool:
    """Whether a library's function, or a method of a class of its, may give what does not follow from its arguments.

    Parameters
    ----------
    module, name : str or None
        Where the function says it comes from.
    """
    module = module or ""
    top = module.partition(".")[0]
    if name in _ASKING_SETS.get(module, _ASKING_SETS.get(top, frozenset())):
        return True
    if top not in _STDLIB:
        return top not in _LIBRARIES
    pure = _PURE_SETS.get(module)
    if pure is not None:
        return name not in pure
    return top not in _PURE


#: Modules whose functions call nothing back but what they are given, and special methods.
_QUIET = frozenset(
    """builtins math cmath operator _operator itertools collections typing types abc enum fractions array numbers
    opweave numpy triton""".split()
)


def may_call_back(module: str | None) -> bool:
    """Whether a library's function may run code of the user's that it was not given, as copying and pickling do."""
    return (module or "").partition(".")[0] not in _QUIET


def asking_names(module: str | None) -> frozenset[str]:
    """Names of a module's, or of the methods of its classes, that ask the world."""
    module = module or ""
    return _ASKING_SETS.get(module, _ASKING_SETS.get(module.partition(".")[0], frozenset()))
