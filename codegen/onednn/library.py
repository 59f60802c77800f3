"""oneDNN's C interface, version 3, as far as plans of convolutions need it (`opweave[onednn]`).

The library is a wheel's `libdnnl.so.3`, in the environment's `lib`. It has threads of its own (OpenMP's), which are not
used: each primitive is made for one thread, and run by one.
"""

from __future__ import annotations

import ctypes
import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from opweave.codegen.onednn import where
from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.interrupts import contextmanager, let_through

_log = logging.getLogger("opweave.launches")
#: The major version whose interface this is.
MAJOR = 3

#: `dnnl_data_type_t`.
TYPES = {dtypes.bfloat16: 2, dtypes.float32: 3}
#: `dnnl_format_tag_any`: the library says how data should lie.
_ANY = 1
_CPU, _IN_ORDER, _USER, _SUCCESS = 1, 1, 1, 0
_IMPLEMENTATION = 8  # `dnnl_query_impl_info_str`
FORWARD, DIRECT = 96, 1
#: `dnnl_query_t` of memory descriptors.
SRC_MD, DIFF_SRC_MD, WEIGHTS_MD, DIFF_WEIGHTS_MD, DST_MD, DIFF_DST_MD = range(129, 135)
_SCRATCHPAD_MD = 136
#: `DNNL_ARG_`.
SRC, DST, WEIGHTS, BIAS, SCRATCHPAD = 1, 17, 33, 41, 80
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS, MULTIPLE = 129, 145, 161, 1024
_MOST_DIMS = 12
_Dims = ctypes.c_int64 * _MOST_DIMS

#: A handle of the library's: a descriptor, a primitive and so on.
Handle = int


class NotOffered(Exception):
    """The library has no such thing, or none that is worth having."""


@functools.cache
def library() -> Library | None:
    """The library; None where there is none that can be used, which is said once if there is a file."""
    path = where()
    if path is None:
        return None
    try:
        return Library(path)
    except (OSError, AttributeError, NotOffered) as error:
        let_through(error)
        _log.warning("%s cannot be used (%s); convolutions are made without it", path, error)
        return None


class _Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]


class Library:
    """The functions; whatever it makes is kept as long as the process.

    Parameters
    ----------
    path : Path
        Of the shared object.

    Attributes
    ----------
    version : str
        Of the library.
    engine, stream : int
        Its engine of this processor, and a stream, which keep nothing of what is run.

    Raises
    ------
    OSError
        If it cannot be loaded, as where there is no libgomp.
    NotOffered
        If it is of another version, or has no engine for this processor.
    """

    def __init__(self, path: Path) -> None:
        self._c = ctypes.CDLL(str(path))
        # Only of itself is it known which OpenMP it was linked with.
        self._threads = self._c.omp_get_max_threads
        self._set_threads = self._c.omp_set_num_threads
        self._c.dnnl_version.restype = ctypes.POINTER(_Version)
        found = self._c.dnnl_version()[0]
        if found.major != MAJOR:
            raise NotOffered(f"version {found.major}, not {MAJOR}")
        self.version = f"{found.major}.{found.minor}.{found.patch}"
        self._c.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self._c.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        self.engine = self._made("dnnl_engine_create", _CPU, ctypes.c_size_t(0))
        self.stream = self._made("dnnl_stream_create", _pointer(self.engine), _IN_ORDER)
        attributes = self._made("dnnl_primitive_attr_create")
        self._check("dnnl_primitive_attr_set_scratchpad_mode", _pointer(attributes), _USER)
        self._attributes = attributes

    def addresses(self) -> dict[str, int]:
        """Of what native code calls."""
        names = (
            "dnnl_memory_create", "dnnl_memory_destroy", "dnnl_primitive_execute", "omp_get_max_threads",
            "omp_set_num_threads",
        )  # fmt: skip
        return {name: ctypes.cast(getattr(self._c, name), ctypes.c_void_p).value or 0 for name in names}

    def alone(self) -> AbstractContextManager[None]:
        """Have primitives made for one thread."""
        return _alone(self._threads, self._set_threads)

    # ---- descriptors

    def strided(self, dtype: DType, sizes: Sequence[int], strides: Sequence[int]) -> Handle:
        """A descriptor of memory as a tensor has it."""
        dims = len(sizes)
        return self._made("dnnl_memory_desc_create_with_strides", dims, _dims(sizes), TYPES[dtype], _dims(strides))

    def free(self, dtype: DType, sizes: Sequence[int]) -> Handle:
        """A descriptor of memory that lies as a primitive wants it."""
        return self._made("dnnl_memory_desc_create_with_tag", len(sizes), _dims(sizes), TYPES[dtype], _ANY)

    def part(self, of: Handle, sizes: Sequence[int], offsets: Sequence[int]) -> Handle:
        """A descriptor of a part of memory, which is given as the whole."""
        return self._made("dnnl_memory_desc_create_submemory", _pointer(of), _dims(sizes), _dims(offsets))

    def size(self, of: Handle) -> int:
        """Bytes of what a descriptor describes."""
        return self._c.dnnl_memory_desc_get_size(_pointer(of))

    def alike(self, a: Handle, b: Handle) -> bool:
        """Whether two descriptors say the same."""
        return bool(self._c.dnnl_memory_desc_equal(_pointer(a), _pointer(b)))

    def asked(self, described: Handle, what: int) -> Handle:
        """A descriptor that a primitive's has."""
        return self._c.dnnl_primitive_desc_query_md(_pointer(described), what, 0) or 0

    def is_slow(self, described: Handle) -> bool:
        """Whether a primitive is the library's reference, or goes by columns: nobody's fastest."""
        name = ctypes.c_char_p()
        self._check("dnnl_primitive_desc_query", _pointer(described), _IMPLEMENTATION, 0, ctypes.byref(name))
        return (name.value or b"").startswith((b"ref", b"gemm"))

    def scratchpad(self, described: Handle) -> Handle:
        """The descriptor of memory that a primitive needs."""
        return self.asked(described, _SCRATCHPAD_MD)

    # ---- primitives

    def forward(
        self, src: Handle, weights: Handle, bias: Handle, dst: Handle, steps: Sequence[Sequence[int]]
    ) -> Handle:
        """The description of a convolution; `bias` may be 0; `steps` are stride, padding and dilation."""
        name = "dnnl_convolution_forward_primitive_desc_create"
        operands = map(_pointer, (src, weights, bias, dst))
        return self._described(name, FORWARD, DIRECT, *operands, *_steps(steps))

    def backward_data(
        self, src: Handle, weights: Handle, dst: Handle, steps: Sequence[Sequence[int]], hint: Handle
    ) -> Handle:
        """The description of the adjoint in the input; `hint` is that of the convolution."""
        name = "dnnl_convolution_backward_data_primitive_desc_create"
        return self._described(name, DIRECT, *map(_pointer, (src, weights, dst)), *_steps(steps), _pointer(hint))

    def backward_weights(
        self, src: Handle, weights: Handle, dst: Handle, steps: Sequence[Sequence[int]], hint: Handle
    ) -> Handle:
        """The description of the adjoint in the weight."""
        name = "dnnl_convolution_backward_weights_primitive_desc_create"
        operands = map(_pointer, (src, weights, 0, dst))
        return self._described(name, DIRECT, *operands, *_steps(steps), _pointer(hint))

    def reorder(self, of: Handle, to: Handle) -> Handle:
        """The description of a copy that lies otherwise, or is of another type."""
        engine = _pointer(self.engine)
        return self._made(
            "dnnl_reorder_primitive_desc_create", _pointer(of), engine, _pointer(to), engine, _pointer(self._attributes)
        )

    def sum(self, of: Handle, to: Handle, count: int) -> Handle:
        """The description of the sum of so many that lie alike, in their order."""
        scales = (ctypes.c_float * count)(*[1.0] * count)
        given = (ctypes.c_void_p * count)(*[of] * count)
        return self._described("dnnl_sum_primitive_desc_create", _pointer(to), count, scales, given)

    def primitive(self, described: Handle) -> Handle:
        """What can be run."""
        return self._made("dnnl_primitive_create", _pointer(described))

    def _described(self, name: str, *args: Any) -> Handle:
        return self._made(name, _pointer(self.engine), *args, _pointer(self._attributes))

    def _made(self, name: str, *args: Any) -> Handle:
        made = ctypes.c_void_p()
        self._check(name, ctypes.byref(made), *args)
        return made.value or 0

    def _check(self, name: str, *args: Any) -> None:
        status = getattr(self._c, name)(*args)
        if status != _SUCCESS:
            raise NotOffered(f"{name} gives {status}")


@contextmanager
def _alone(get: Callable[[], int], put: Callable[[int], None]) -> Iterator[None]:
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)


def _pointer(handle: Handle) -> ctypes.c_void_p:
    return ctypes.c_void_p(handle or None)


def _dims(numbers: Sequence[int]) -> Any:
    return _Dims(*numbers)


def _steps(steps: Sequence[Sequence[int]]) -> list[Any]:
    """Strides, dilations and both paddings, as the library counts them."""
    stride, padding, dilation = steps
    return [_dims(stride), _dims([d - 1 for d in dilation]), _dims(padding), _dims(padding)]
