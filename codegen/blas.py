"""Matrix products of compiled code on the CPU: slabs of rows or columns, each a call into NumPy's BLAS, on the pool.

BLAS has threads of its own. After a product they wait for the next one by spinning, for milliseconds, on the cores that
the kernels behind it want: beside them a kernel runs little faster than on one thread. So BLAS is asked for one thread
only, and the pool that runs the kernels runs the slabs. Which slabs there are depends on the sizes alone, so results do
not depend on the number of threads.

What BLAS has no routine for, products that are too small for several threads, and a BLAS that is not OpenBLAS take
the ops' own kernels.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.loading import load_triton
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.matmul import bmm_spec, for_blas, mm_spec
from opweave.registry.tensor import Tensor, allocate_like

#: Multiplications from which OpenBLAS, too, uses several threads.
MANY = 1 << 18
#: Rows or columns of a slab, of a long and of a short side. Each slab packs the other operand again, which costs 3% of
#: a long slab's time and 10% of a short one's.
LONG, SHORT = 256, 128
#: Multiplications a nanosecond of one core, about: tells the pool that helpers are worth waking.
_RATE = 40.0

_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112
_FIELDS = ("gemm", "a", "b", "c", "m", "n", "k", "ta", "tb", "lda", "ldb", "ldc", "a_batch", "b_batch", "c_batch",
           "rows", "columns", "row_slabs", "column_slabs", "a_row", "b_column")  # fmt: skip


def mm(a: Tensor, b: Tensor) -> Tensor:
    """`aten::mm`."""
    return _product(a, b, mm_spec, ops.aten.mm.default)


def bmm(a: Tensor, b: Tensor) -> Tensor:
    """`aten::bmm`."""
    return _product(a, b, bmm_spec, ops.aten.bmm.default)


def stand_in(target: OpOverload) -> Callable[..., Tensor] | None:
    """What compiled code calls in an op's place, None for the op itself."""
    return mm if target is ops.aten.mm.default else bmm if target is ops.aten.bmm.default else None


def _product(a: Tensor, b: Tensor, spec: Callable[..., Any], otherwise: OpOverload) -> Tensor:
    *batch, m, k = a._sizes
    n = b._sizes[-1]
    count = batch[0] if batch else 1
    library = _library() if a._dtype in _GEMM and m * n * k * count >= MANY and a._device.type == "cpu" else None
    if library is None or b._dtype is not a._dtype:
        return otherwise(a, b)
    out = allocate_like(spec(a, b))
    left, right, found = for_blas(np, a._array), for_blas(np, b._array), out._array
    if any(stride % left.itemsize for x in (left, right, found) for stride in x.strides):
        return otherwise(a, b)
    by_rows = m >= n or m >= 2 * SHORT
    rows, columns = (_slab(m), n) if by_rows else (m, _slab(n))
    row_slabs, column_slabs = -(-m // rows), -(-n // columns)
    (ta, lda, a_row, _), (tb, ldb, _, b_column), (_, ldc, _, _) = map(_layout, (left, right, found))
    steps = [x.strides[0] // x.itemsize if batch else 0 for x in (left, right, found)]
    args = struct.pack(
        f"{len(_FIELDS)}q", library.gemm[a._dtype.name], left.ctypes.data, right.ctypes.data, found.ctypes.data,
        m, n, k, ta, tb, lda, ldb, ldc, *steps, rows, columns, row_slabs, column_slabs, a_row, b_column,
    )  # fmt: skip
    packed = ctypes.create_string_buffer(args, len(args))
    programs = count * row_slabs * column_slabs
    cost = ctypes.c_double(rows * columns * k / _RATE)
    with library.one_thread():
        library.run(library.slabs[a._dtype.name], ctypes.addressof(packed), programs, 1, 1, 1, ctypes.byref(cost))
    return out


def _slab(size: int) -> int:
    return LONG if size >= 4 * LONG else min(SHORT, size)


def _layout(x: Any) -> tuple[int, int, int, int]:
    """(whether BLAS reads it transposed, its leading dimension, and the steps between rows and between columns)."""
    item = x.itemsize
    rows, columns = (stride // item for stride in x.strides[-2:])
    if columns == 1 and rows >= x.shape[-1]:
        return _PLAIN, rows, rows, 1
    return _TRANSPOSED, columns, 1, columns


# ---- the library ---------------------------------------------------------------------------------------------------

#: BLAS's letter for a type, and LLVM's name of it.
_GEMM = {dtypes.float32: ("s", "float"), dtypes.float64: ("d", "double")}


@dataclass
class _Blas:
    """OpenBLAS as NumPy loaded it.

    Attributes
    ----------
    gemm : dict of str to int
        Address of the routine of each dtype.
    slabs : dict of str to int
        Address of the function that runs slabs of it.
    run : callable
        The pool's.
    get_threads, set_threads : callable
        OpenBLAS's own, for the whole process.
    """

    gemm: dict[str, int]
    slabs: dict[str, int]
    run: Callable[..., None]
    get_threads: Callable[[], int]
    set_threads: Callable[[int], Any]

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._threads = 1

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """BLAS with one thread; several Python threads may be in here, the last one to leave undoes it."""
        with self._lock:
            if not self._users:
                self._threads = self.get_threads()
                if self._threads > 1:
                    self.set_threads(1)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users and self._threads > 1:
                    self.set_threads(self._threads)


@functools.cache
def _library() -> _Blas | None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return None
    paths = {line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines() if "openblas" in line}
    numpy_root = str(Path(np.__file__).parents[1])
    # SciPy brings one of its own.
    for path in sorted(paths, key=lambda p: (not p.startswith(numpy_root), "scipy.libs" in p, p)):
        found = _open(path)
        if found is not None:
            return found
    return None


def _open(path: str) -> _Blas | None:
    try:
        # It is loaded already; this opens no other file.
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None
    for prefix in ("scipy_", ""):
        for suffix, word in (("64_", "i64"), ("", "i32")):
            try:
                get = library[f"{prefix}openblas_get_num_threads{suffix}"]
                set_threads = library[f"{prefix}openblas_set_num_threads{suffix}"]
                routines = {t.name: library[f"{prefix}cblas_{s}gemm{suffix}"] for t, (s, _) in _GEMM.items()}
            except AttributeError:
                continue
            get.restype, set_threads.argtypes, set_threads.restype = ctypes.c_int, [ctypes.c_int], None
            addresses = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in routines.items()}
            slabs, run = _native(word)
            return _Blas(addresses, slabs, run, get, set_threads)
    return None


def _native(word: str) -> tuple[dict[str, int], Callable[..., None]]:
    """Functions `void slabs(ptr args, i64 start, i64 end, ...)` for slabs `start` to `end - 1`, and the pool."""
    load_triton()  # the backend is a plug-in of Triton's, and loads it
    from opweave.codegen.triton_cpu import jit, pool

    names = {t.name: f"opweave_gemm_{t.name}" for t in _GEMM}
    source = "\n".join(_source(names[t.name], real, word) for t, (_, real) in _GEMM.items())
    text = f"{source}\ndeclare i64 @llvm.smin.i64(i64, i64)\n"
    code = jit.load(jit.compile_object(text, name="matrix products", level=0), names.values())
    jit.keep_forever(code)
    return {t: code.address(name) for t, name in names.items()}, pool.native().run


def _source(name: str, real: str, word: str) -> str:
    loads = []
    for i, field in enumerate(_FIELDS):
        kind = "ptr" if field in ("gemm", "a", "b", "c") else "i64"
        loads += [
            f"  %{field}.at = getelementptr i64, ptr %args, i64 {i}",
            f"  %{field} = load {kind}, ptr %{field}.at",
        ]

    def narrowed(value: str) -> str:
        return f"{word} %{value}" if word == "i64" else f"{word} %{value}.w"

    sizes = ("height", "width", "k", "lda", "ldb", "ldc")
    casts = [] if word == "i64" else [f"  %{v}.w = trunc i64 %{v} to {word}" for v in sizes]
    height, width, k, lda, ldb, ldc = map(narrowed, sizes)
    # C's enumerations are ints, whatever BLAS's integers are.
    call = (
        f"  call void %gemm(i32 {_ROW_MAJOR}, i32 %ta.w, i32 %tb.w, {height}, {width}, {k}, {real} 1.0,"
        f" ptr %a.p, {lda}, ptr %b.p, {ldb}, {real} 0.0, ptr %c.p, {ldc})"
    )
    lines = [
        f"define void @{name}(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz) {{",
        "entry:", *loads,
        "  %ta.w = trunc i64 %ta to i32",
        "  %tb.w = trunc i64 %tb to i32",
        "  %slabs = mul i64 %row_slabs, %column_slabs",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ %start, %entry ], [ %next, %body ]",
        "  %more = icmp slt i64 %i, %end",
        "  br i1 %more, label %body, label %done",
        "body:",
        "  %batch = sdiv i64 %i, %slabs",
        "  %slab = srem i64 %i, %slabs",
        "  %row.n = sdiv i64 %slab, %column_slabs",
        "  %column.n = srem i64 %slab, %column_slabs",
        "  %row = mul i64 %row.n, %rows",
        "  %column = mul i64 %column.n, %columns",
        "  %below = sub i64 %m, %row",
        "  %right = sub i64 %n, %column",
        "  %height = call i64 @llvm.smin.i64(i64 %below, i64 %rows)",
        "  %width = call i64 @llvm.smin.i64(i64 %right, i64 %columns)",
        *_offset(real, "a", "a_row", "row"), *_offset(real, "b", "b_column", "column"),
        "  %c.row = mul i64 %row, %ldc",
        "  %c.slab = add i64 %c.row, %column",
        "  %c.batch = mul i64 %batch, %c_batch",
        "  %c.o = add i64 %c.batch, %c.slab",
        f"  %c.p = getelementptr {real}, ptr %c, i64 %c.o",
        *casts, call,
        "  %next = add i64 %i, 1",
        "  br label %loop",
        "done:",
        "  ret void",
        "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _offset(real: str, operand: str, step: str, at: str) -> list[str]:
    return [
        f"  %{operand}.slab = mul i64 %{at}, %{step}",
        f"  %{operand}.b = mul i64 %batch, %{operand}_batch",
        f"  %{operand}.o = add i64 %{operand}.b, %{operand}.slab",
        f"  %{operand}.p = getelementptr {real}, ptr %{operand}, i64 %{operand}.o",
    ]
