"""Matrix products of compiled code on the CPU: slabs of rows or columns, each a call into NumPy's BLAS, on the pool.

BLAS has threads of its own. After a product they wait for the next one by spinning, for milliseconds, on the cores that
the kernels behind it want: beside them a kernel runs little faster than on one thread. So BLAS is asked for one thread
only, and the pool that runs the kernels runs the slabs. Which slabs there are depends on the sizes alone, so results do
not depend on the number of threads.

A kernel that reads the product can follow slab by slab (`multiply_then`), on the thread and from the cache that have
the slab.

Where NumPy's BLAS is not OpenBLAS, NumPy multiplies.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import dtypes, forking
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Node

#: Multiplications from which OpenBLAS would use several threads.
MANY = 1 << 18
#: Rows or columns of a slab, of a long and of a short side. Each slab packs the other operand again, which costs 3% of
#: a long slab's time and 10% of a short one's.
LONG, SHORT = 256, 128
#: So many products are enough to share out; each is then one slab.
MATRICES = 8
#: Multiplications a nanosecond of one core, about: tells the pool that helpers are worth waking.
_RATE = 40.0

_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112
_FIELDS = ("gemm", "a", "b", "c", "m", "n", "k", "ta", "tb", "lda", "ldb", "ldc", "a_outer", "b_outer", "c_outer",
           "a_inner", "b_inner", "c_inner", "inner", "rows", "columns", "row_slabs", "column_slabs", "a_row",
           "b_column", "then", "packed", "each", "programs", "grid_x", "grid_y", "grid_z")  # fmt: skip
_POINTERS = ("gemm", "a", "b", "c", "then", "packed")
_pack = struct.Struct(f"{len(_FIELDS)}q").pack
_NO_EPILOGUE = (0,) * 7


def multiplies(node: Node) -> bool:
    """Whether `multiply` can stand in for a call."""
    value = node.meta["val"]
    return (
        node.target in (ops.aten.mm.default, ops.aten.bmm.default, ops.opweave.batched_mm.default)
        and value._device.type == "cpu"
        and value._dtype in _GEMM
        and len(value._sizes) <= 4
    )


def multiply(out: Tensor, a: Tensor, b: Tensor) -> None:
    """Write the products of two batches of matrices to a third, which has unit stride along its rows.

    Parameters
    ----------
    out, a, b : Tensor
        float32 or float64, of equal batch sizes (two dimensions at most). What BLAS cannot read in place is copied.
    """
    library = _library()
    if library is None:
        with np.errstate(all="ignore"):
            np.matmul(a._array, b._array, out=out._array)
        return
    job = _job(out, a, b)
    if job.programs:
        _run(library, job, _NO_EPILOGUE)


def multiply_then(
    out: Tensor, a: Tensor, b: Tensor, elements: int, each: int, launch: Callable[..., None], *arguments: int
) -> None:
    """`multiply`, then launch a kernel; or each of its programs as soon as what it reads of the product is there.

    Parameters
    ----------
    out, a, b : Tensor
        As for `multiply`; `out` is contiguous.
    elements, each : int
        `each` programs in a row read `elements` of `out` in a row, and no others; 0 where there is one program.
    launch : callable
        Launches the kernel.
    *arguments : int
        For `launch`: the grid, addresses and whole numbers.
    """
    library = _library()
    kernel = library.native(launch) if library is not None else None
    job = _job(out, a, b) if kernel is not None and all(type(value) is int for value in arguments) else None
    if (
        library is None
        or kernel is None
        or job is None
        or not job.slab
        or (job.programs > 1 and (not elements or job.slab % elements))
    ):
        multiply(out, a, b)
        launch(*arguments)
        return
    gx, gy, gz = arguments[:3]
    count = gx * gy * gz
    packed = (ctypes.c_int64 * (len(arguments) - 3))(*arguments[3:])
    with_slab = job.slab // elements * each if job.programs > 1 else count
    _run(library, job, (kernel, ctypes.addressof(packed), with_slab, count, gx, gy, gz))


class _Job(NamedTuple):
    """A product as the native side is told of it.

    Attributes
    ----------
    args : tuple of int
        The first of `_FIELDS`, behind `gemm`.
    programs : int
        Slabs.
    work : int
        Multiplications of a slab.
    slab : int
        Elements of the result in a slab, 0 where they do not lie in a row.
    dtype : str
        Its name.
    memory : object
        What must live meanwhile.
    """

    args: tuple[int, ...]
    programs: int
    work: int
    slab: int
    dtype: str
    memory: object


def _job(out: Tensor, a: Tensor, b: Tensor) -> _Job:
    sizes, dtype = a._sizes, a._dtype
    m, k, n = sizes[-2], sizes[-1], out._sizes[-1]
    if not (m and n):
        return _Job((), 0, 0, 0, dtype.name, None)
    left, right = _placed(a, dtype.itemsize), _placed(b, dtype.itemsize)
    steps = out._strides
    batches = inner = 1
    outer_steps = inner_steps = (0, 0, 0)
    if len(sizes) > 2:
        batches = inner = sizes[-3]
        inner_steps = left.batch[-1], right.batch[-1], steps[-3]
        if len(sizes) > 3:
            batches *= sizes[-4]
            outer_steps = left.batch[-2], right.batch[-2], steps[-4]
    if batches >= MATRICES and m <= LONG:
        rows, columns = m, n
    else:
        by_rows = m >= n or m >= 2 * SHORT
        rows, columns = (_slab(m), n) if by_rows else (m, _slab(n))
    row_slabs, column_slabs = -(-m // rows), -(-n // columns)
    args = (
        left.address, right.address, out.data_ptr(), m, n, k, left.order, right.order, left.leading, right.leading,
        steps[-2], *outer_steps, *inner_steps, inner or 1, rows, columns, row_slabs, column_slabs, left.row,
        right.column,
    )  # fmt: skip
    in_a_row = column_slabs == 1 and (batches == 1 or m % rows == 0)
    return _Job(
        args, batches * row_slabs * column_slabs, rows * columns * k, rows * n * in_a_row, dtype.name, (left, right)
    )


def _run(library: _Blas, job: _Job, then: tuple[int, ...]) -> None:
    args = _pack(library.gemm[job.dtype], *job.args, *then)
    cost = ctypes.c_double(job.work / _RATE)
    if job.work < MANY:
        library.run(library.slabs[job.dtype], args, job.programs, 1, 1, 1, ctypes.byref(cost))
        return
    library.enter()
    try:
        library.run(library.slabs[job.dtype], args, job.programs, 1, 1, 1, ctypes.byref(cost))
    finally:
        library.leave()


class _Placed(NamedTuple):
    """An operand as BLAS is told of it.

    Attributes
    ----------
    address : int
        Of its first element.
    order : int
        Whether BLAS reads it transposed.
    leading, row, column : int
        Its leading dimension, and the steps between rows and columns.
    batch : tuple of int
        Steps between matrices.
    memory : object
        What must live meanwhile.
    """

    address: int
    order: int
    leading: int
    row: int
    column: int
    batch: tuple[int, ...]
    memory: object


def _placed(x: Tensor, itemsize: int) -> _Placed:
    strides, sizes = x._strides, x._sizes
    rows, columns = strides[-2], strides[-1]
    if columns == 1 and rows >= sizes[-1]:
        return _Placed(x.data_ptr(), _PLAIN, rows or 1, rows, 1, strides[:-2], x)
    if rows == 1 and columns >= sizes[-2]:
        return _Placed(x.data_ptr(), _TRANSPOSED, columns or 1, 1, columns, strides[:-2], x)
    copy = np.ascontiguousarray(x._array)
    rows = max(sizes[-1], 1)
    batch = tuple([stride // itemsize for stride in copy.strides[:-2]])
    return _Placed(copy.ctypes.data, _PLAIN, rows, rows, 1, batch, copy)


def _slab(size: int) -> int:
    return LONG if size >= 4 * LONG else min(SHORT, size)


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
    native : callable
        Address of the code behind a function that launches a kernel, or None.
    get_threads, set_threads : callable
        OpenBLAS's own, for the whole process.
    """

    gemm: dict[str, int]
    slabs: dict[str, int]
    run: Callable[..., None]
    native: Callable[[object], int | None]
    get_threads: Callable[[], int]
    set_threads: Callable[[int], Any]

    def __post_init__(self) -> None:
        self._lock = forking.lock()
        self._users = 0
        self._threads = 1
        forking.after_fork_in_child(self.renew)

    def enter(self) -> None:
        """Ask BLAS for one thread; several Python threads may, and the last one to `leave` undoes it."""
        with self._lock:
            if not self._users:
                self._threads = self.get_threads()
                if self._threads > 1:
                    self.set_threads(1)
            self._users += 1

    def leave(self) -> None:
        """Give BLAS its threads back."""
        with self._lock:
            self._users = max(self._users - 1, 0)
            if not self._users and self._threads > 1:
                self.set_threads(self._threads)

    def renew(self) -> None:
        """In a forked child: threads that were using it are not here."""
        if self._users:
            self._users = 0
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
    except OSError as error:
        let_through(error)
        return None
    for prefix in ("scipy_", ""):
        for suffix, word in (("64_", "i64"), ("", "i32")):
            try:
                get = library[f"{prefix}openblas_get_num_threads{suffix}"]
                set_threads = library[f"{prefix}openblas_set_num_threads{suffix}"]
                routines = {t.name: library[f"{prefix}cblas_{s}gemm{suffix}"] for t, (s, _) in _GEMM.items()}
            except AttributeError as error:
                let_through(error)
                continue
            get.restype, set_threads.argtypes, set_threads.restype = ctypes.c_int, [ctypes.c_int], None
            addresses = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in routines.items()}
            return _Blas(addresses, *_native(word), get, set_threads)
    return None


def _native(word: str) -> tuple[dict[str, int], Callable[..., None], Callable[[object], int | None]]:
    """Functions `void slabs(ptr args, i64 start, i64 end, ...)` for slabs `start` to `end - 1`, and the pool."""
    objects, launch, pool = (load_heavy(f"opweave.codegen.native.{name}") for name in ("objects", "launch", "pool"))
    names = {t.name: f"opweave_gemm_{t.name}" for t in _GEMM}
    source = "\n".join(_source(names[t.name], real, word) for t, (_, real) in _GEMM.items())
    text = f"{source}\ndeclare i64 @llvm.smin.i64(i64, i64)\n"
    code = objects.kept(text, names.values(), name="matrix products", level=0)
    return {t: code.address(name) for t, name in names.items()}, pool.native().run, launch.native_code


def _source(name: str, real: str, word: str) -> str:
    loads: list[str] = []
    for i, field in enumerate(_FIELDS):
        kind = "ptr" if field in _POINTERS else "i64"
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
        *[f"  %{g}.w = trunc i64 %{g} to i32" for g in _FIELDS[-3:]],
        "  %alone = icmp eq ptr %then, null",
        "  %slabs = mul i64 %row_slabs, %column_slabs",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ %start, %entry ], [ %next, %continue ]",
        "  %more = icmp slt i64 %i, %end",
        "  br i1 %more, label %body, label %done",
        "body:",
        "  %batch = sdiv i64 %i, %slabs",
        "  %outer.n = sdiv i64 %batch, %inner",
        "  %inner.n = srem i64 %batch, %inner",
        "  %slab = srem i64 %i, %slabs",
        "  %row.n = sdiv i64 %slab, %column_slabs",
        "  %column.n = srem i64 %slab, %column_slabs",
        "  %row = mul i64 %row.n, %rows",
        "  %column = mul i64 %column.n, %columns",
        "  %below = sub i64 %m, %row",
        "  %right = sub i64 %n, %column",
        "  %height = call i64 @llvm.smin.i64(i64 %below, i64 %rows)",
        "  %width = call i64 @llvm.smin.i64(i64 %right, i64 %columns)",
        "  %a.slab = mul i64 %row, %a_row",
        "  %b.slab = mul i64 %column, %b_column",
        *_offset(real, "a"), *_offset(real, "b"),
        "  %c.row = mul i64 %row, %ldc",
        "  %c.slab = add i64 %c.row, %column",
        *_offset(real, "c"),
        *casts, call,
        "  br i1 %alone, label %continue, label %follow",
        "follow:",
        "  %first = mul i64 %i, %each",
        "  %full = add i64 %first, %each",
        "  %last = call i64 @llvm.smin.i64(i64 %full, i64 %programs)",
        "  call void %then(ptr %packed, i64 %first, i64 %last, i32 %grid_x.w, i32 %grid_y.w, i32 %grid_z.w)",
        "  br label %continue",
        "continue:",
        "  %next = add i64 %i, 1",
        "  br label %loop",
        "done:",
        "  ret void",
        "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _offset(real: str, operand: str) -> list[str]:
    """The address of a slab of a matrix in a batch."""
    return [
        f"  %{operand}.far = mul i64 %outer.n, %{operand}_outer",
        f"  %{operand}.near = mul i64 %inner.n, %{operand}_inner",
        f"  %{operand}.matrix = add i64 %{operand}.far, %{operand}.near",
        f"  %{operand}.o = add i64 %{operand}.matrix, %{operand}.slab",
        f"  %{operand}.p = getelementptr {real}, ptr %{operand}, i64 %{operand}.o",
    ]
