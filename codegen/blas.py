"""Matrix products of compiled code on the CPU: slabs of rows or columns, each a call into NumPy's BLAS, on the pool.

BLAS has threads of its own. After a product they wait for the next one by spinning, for milliseconds, on the cores that
the kernels behind it want: beside them a kernel runs little faster than on one thread. So BLAS is asked for one thread
only, and the pool that runs the kernels runs the slabs. Which slabs there are depends on the sizes alone, so results do
not depend on the number of threads.

A kernel that reads the product can follow slab by slab (`multiply_then`), on the thread and from the cache that have
the slab.

A product of float32 is made by `narrow_products` where the machine has registers of 512 bits, since BLAS would pack an
operand again for each slab: if it has few rows or its result stays in the cache, unless a kernel follows slabs and few
terms are summed; and if no kernel follows, rows of the left operand lie in one piece, and the result is not very large.
Where BLAS uses half of a register (OpenBLAS does for processors that it knows for AVX2 alone), all are, and a kernel
that follows goes over the result when it is whole. So are batches of matrices that no kernel follows, unless these are
small.

A slab of a few rows, or of one column, is multiplied without BLAS (`native/vector_products.py`), which would copy the
matrix to pack it.

What only some sizes need is compiled when the first product of such sizes is asked for, and found by address then.

Where NumPy's BLAS is not OpenBLAS, NumPy multiplies.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opweave.codegen import narrow_products, native
from opweave.codegen.native import vector_products
from opweave.codegen.native.objects import UNTUNED
from opweave.registry import dtypes, forking
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.interrupts import let_through
from opweave.registry.loading import HAS_NATIVE, load_heavy
from opweave.registry.op import ops
from opweave.registry.tape import MOST_PRODUCTS
from opweave.registry.tensor import Tensor

if TYPE_CHECKING:
    from opweave.tracer.graph import Node

#: BLAS's letter for a type, and LLVM's name of it.
_GEMM = {dtypes.float32: ("s", "float"), dtypes.float64: ("d", "double")}
_TYPES = {dtype: number for number, dtype in enumerate(_GEMM)}
#: LLVM's names of the types that are multiplied.
REALS = tuple(real for _, real in _GEMM.values())
#: Rows or columns of a slab, of a long and of a short side. Each slab packs the other operand again, which costs 3% of
#: a long slab's time and 10% of a short one's.
LONG, SHORT = 256, 128
#: So many products are enough to share out; each is then one slab.
MATRICES = 8
#: Multiplications up to which BLAS takes longer to prepare a product than to make it.
SMALL = 1 << 15
#: Elements of a result up to which a product of float32 is made by native code of one's own, which packs an operand
#: once for all slabs; and those that a kernel finds in the cache.
OWN, CACHED = 1 << 22, 1 << 19
#: Terms of a sum from which on a kernel costs little that goes over the whole result when it is there.
DEEP = 256
#: Columns, and multiplications, from which on it is.
_BROAD, _MANY = 16, MOST_PRODUCTS + 1
#: The same of multiplications where the right operand is packed already.
PACKED = SMALL + 1
#: Columns of a block of a small product, in registers together; a narrower one where there are fewer.
_WIDTHS = {"float": (8, 1), "double": (4, 1)}
#: Multiplications a nanosecond of one core, about: tells the pool that helpers are worth waking.
_RATE = 40.0

_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112
#: What the slabs are told, and the value that it has in `product.ll`.
_FIELDS = {
    "gemm": "gemm", "a": "l.0", "b": "r.0", "c": "c", "m": "m", "n": "n", "k": "k", "ta": "l.1", "tb": "r.1",
    "lda": "l.2", "ldb": "r.2", "ldc": "c.row", "a_outer": "l.5", "b_outer": "r.5", "c_outer": "c.outer",
    "a_inner": "l.6", "b_inner": "r.6", "c_inner": "c.inner", "inner": "inner", "rows": "rows", "columns": "columns",
    "row_slabs": "row.slabs", "column_slabs": "column.slabs", "a_row": "l.3", "b_column": "r.4", "then": "follower",
    "packed": "packed", "each": "with.slab", "programs": "count", "grid_x": "gx", "grid_y": "gy", "grid_z": "gz",
}  # fmt: skip
_POINTERS = ("gemm", "a", "b", "c", "then", "packed")
_NO_EPILOGUE = (0,) * 7


def multiplies(node: Node) -> bool:
    """Whether `multiply` can stand in for a call."""
    return is_product(node) and node.meta["val"]._dtype in _GEMM


def is_product(node: Node) -> bool:
    """Whether a call multiplies matrices, or batches of them in two dimensions at most."""
    value = node.meta["val"]
    return (
        node.target in (ops.aten.mm.default, ops.aten.bmm.default, ops.opweave.batched_mm.default)
        and value._device.type == "cpu"
        and len(value._sizes) <= 4
    )


def sizes_of(node: Node) -> tuple[Sequence[Any], Any]:
    """Of the result of such a call, and how many terms it sums."""
    return node.meta["val"]._sizes, node.args[0].meta["val"]._sizes[-1]


def multiply(out: Tensor, a: Tensor, b: Tensor) -> None:
    """Write the products of two batches of matrices to a third, which has unit stride along its rows.

    Parameters
    ----------
    out, a, b : Tensor
        float32 or float64, of equal batch sizes (two dimensions at most). What BLAS cannot read in place is copied.
    """
    if _library() is None:
        with np.errstate(all="ignore"):
            np.matmul(a._array, b._array, out=out._array)
        return
    run(out._dtype, _operand(out), _operand(a), _operand(b))


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
    if _library() is None:
        multiply(out, a, b)
        launch(*arguments)
        return
    grid, rest = arguments[:3], arguments[3:]
    run(out._dtype, _operand(out), _operand(a), _operand(b), elements, each, launch, grid, rest)


#: The address of a matrix or a batch of them, their sizes and their strides.
Operand = tuple[Any, Sequence[Any], Sequence[Any]]


def _operand(x: Tensor) -> Operand:
    return x.data_ptr(), x._sizes, x._strides


def run(
    dtype: DType,
    out: Operand,
    a: Operand,
    b: Operand,
    elements: int = 0,
    each: int = 0,
    launch: Callable[..., None] | None = None,
    grid: Sequence[int] = (),
    arguments: Sequence[Any] = (),
    packed: tuple[int, bool] = (0, False),
) -> None:
    """`multiply_then` of what is at addresses, by NumPy's BLAS, which must be OpenBLAS (`packed`: `host.packing`)."""
    library = _library()
    assert library is not None
    library.have_for(dtype, out[1], a[1][-1], PACKED if packed[0] else _MANY)
    words = words_of(dtype, out, a, b)
    kernel = None if launch is None else library.launcher_of(launch)
    if kernel is not None and kernel.is_plain and all(isinstance(value, int) for value in arguments):
        given = (ctypes.c_int64 * len(arguments))(*arguments)
        counts = ctypes.addressof(kernel.counts)
        library.multiply(*words, elements, each, counts, ctypes.addressof(given), *grid, *packed)
        return
    library.multiply(*words, *_NO_EPILOGUE, *packed)
    if launch is not None:
        launch(*grid, *arguments)


def words_of(dtype: DType, out: Operand, a: Operand, b: Operand) -> tuple[Any, ...]:
    """A product as native code is told of it: the words of `product.ll`, up to what follows it."""
    (to, sizes, strides), (left, left_sizes, left_strides), (right, _, right_strides) = out, a, b
    outer, inner = (1, 1, *sizes[:-2])[-2:]
    return (
        _TYPES[dtype], left_sizes[-2], left_sizes[-1], sizes[-1], outer, inner, left, *_steps(left_strides), right,
        *_steps(right_strides), to, *_steps(strides)[:3],
    )  # fmt: skip


def _steps(strides: Sequence[Any]) -> tuple[Any, ...]:
    """Elements from one matrix (outer, inner), row and column to the next."""
    return (0, 0, *strides)[-4:]


def native_product(dtype: DType, out: Sequence[Any], k: Any, packed: bool = False) -> int | None:
    """Address of `i32 opweave_product(ptr words)`; None where NumPy's BLAS is not OpenBLAS.

    Parameters
    ----------
    dtype, out, k
        A type and the sizes of a result that it will make, and how many terms are summed; not all may be fixed.
    """
    library = _library()
    if library is None:
        return None
    library.have_for(dtype, out, k, PACKED if packed else _MANY)
    return library.address


def loop_of(dtype: DType) -> tuple[int, int] | None:
    """The address of a product as a loop (see `registry.tape`), and what it is given besides; None if there is none."""
    library = _library() if dtype in _TYPES else None
    if library is None:
        return None
    library.have_for(dtype, ("m", "n"), "k")
    return library.loop, _TYPES[dtype]


def is_own(dtype: DType, out: Sequence[Any], k: Any, many: int = _MANY) -> bool:
    """Whether native code of one's own may make a product, of `many`, as `product.ll` decides; see `native_product`."""
    m, n = out[-2:]
    if dtype is not dtypes.float32:
        return False
    if not all(isinstance(size, int) for size in (*out, k)):
        return True
    each, matrices = m * n * k, math.prod(out[:-2])
    enough = each * matrices >= many and (matrices == 1 or each > SMALL)
    return m > 1 and n >= _BROAD and enough and (m <= LONG or m * n <= OWN or is_narrow())


def has_vectors(out: Sequence[Any]) -> bool:
    """Whether a slab of a product may have few rows or one column."""
    m, n = out[-2:]
    if not (isinstance(m, int) and isinstance(n, int)):
        return True
    # A long slab is some short ones.
    return m <= vector_products.ROWS or n == 1 or 0 < m % SHORT <= vector_products.ROWS or n % SHORT == 1


#: Where `product.ll` finds the addresses of such code, once a product was asked for that it makes.
_own_at = ctypes.c_void_p(None)
_vectors_at = {dtype: ctypes.c_void_p(None) for dtype in _GEMM}


def code_for(dtype: DType, out: Sequence[Any], k: Any) -> list[Any]:
    """The native code (`objects.Code`) that a product needs besides `code`; arguments as of `native_product`."""
    if dtype not in _GEMM:
        return []
    own = [narrow_products.float_code()] if is_own(dtype, out, k) else []
    return own + ([_vector_code(dtype)] if has_vectors(out) else [])


def is_narrow() -> bool:
    """Whether BLAS's kernels are not those for registers of 512 bits."""
    found = _found()
    return found is not None and found.is_narrow


def is_native() -> bool:
    """Whether there is one, whose code need not be there yet."""
    return _found() is not None


def code() -> Any:
    """The native code of products (`objects.Code`), where there is one."""
    found = _found()
    assert found is not None
    objects = load_heavy("opweave.codegen.native.objects")
    text = functools.partial(_source_for_host, found.word, found.is_narrow)
    about = f"matrix products, numbers of {found.word}{', BLAS for 256 bits' if found.is_narrow else ''}"
    return objects.Code(text, "matrix products", objects.PROMOTED, about)


def _source_for_host(word: str, is_narrow: bool) -> str:
    return source(word, _is_wide(), is_narrow)


def _is_wide() -> bool:
    return load_heavy("opweave.codegen.native.llvm").host().vector_bits == 512


@functools.cache
def _vector_code(dtype: DType) -> Any:
    real = _GEMM[dtype][1]
    name = f"products of vectors of {real}"
    objects = load_heavy("opweave.codegen.native.objects")
    return objects.Code(lambda: vector_products.module(real, 512 if _is_wide() else 256), name, objects.PROMOTED, name)


# ---- the library ---------------------------------------------------------------------------------------------------


@dataclass
class _Blas:
    """OpenBLAS as NumPy loaded it.

    Attributes
    ----------
    multiply : callable
        Takes the words of `product.ll`.
    address : int
        Of `i32 opweave_product(ptr words)`.
    loop : int
        Of the same as a loop of a replayed call.
    enter, leave : callable
        Ask OpenBLAS for one thread, and give it back those that it had: several threads may, the last one does.
    get_threads : callable
        How many threads OpenBLAS has.
    launcher_of : callable
        What stands behind a function that launches a kernel, or None.
    wide : bool
        Whether registers have 512 bits.
    """

    multiply: Callable[..., None]
    address: int
    loop: int
    enter: Callable[[], None]
    leave: Callable[[], None]
    get_threads: Callable[[], int]
    launcher_of: Callable[[object], Any]
    wide: bool

    def have_for(self, dtype: DType, out: Sequence[Any], k: Any, many: int = _MANY) -> None:
        """Have the native code that a product of such sizes needs on this machine."""
        if _own_at.value is None and self.wide and is_own(dtype, out, k, many):
            _own_at.value = narrow_products.float_address()
        vectors = _vectors_at[dtype]
        if vectors.value is None and has_vectors(out):
            symbol = vector_products.symbol(_GEMM[dtype][1])
            vectors.value = _vector_code(dtype).load((symbol,), {}).address(symbol)


class _Found(NamedTuple):
    """OpenBLAS: the type of its integers, what gives its threads, and addresses by their names in `product.ll`.

    `is_narrow`: its kernels are not those for registers of 512 bits, which it has for processors that it knows.
    """

    word: str
    get_threads: Callable[[], int]
    symbols: dict[str, int]
    is_narrow: bool


#: What OpenBLAS calls the kernels that use registers of 512 bits.
_WIDE_KERNELS = frozenset({b"SkylakeX", b"Cooperlake", b"Sapphirerapids"})


@functools.cache
def _library() -> _Blas | None:
    found = _found()
    return None if found is None else _native(found)


@functools.cache
def _found() -> _Found | None:
    maps = Path("/proc/self/maps")
    if not HAS_NATIVE or not maps.exists():
        return None
    paths = {line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines() if "openblas" in line}
    numpy_root = str(Path(np.__file__).parents[1])
    # SciPy brings one of its own.
    for path in sorted(paths, key=lambda p: (not p.startswith(numpy_root), "scipy.libs" in p, p)):
        found = _open(path)
        if found is not None:
            return found
    return None


def _open(path: str) -> _Found | None:
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
                routines = {s: library[f"{prefix}cblas_{s}gemm{suffix}"] for s, _ in _GEMM.values()}
            except AttributeError as error:
                let_through(error)
                continue
            symbols = {"openblas_get_threads": get, "openblas_set_threads": set_threads}
            symbols |= {f"blas_{letter}gemm": routine for letter, routine in routines.items()}
            get.restype = ctypes.c_int
            addresses = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in symbols.items()}
            core = getattr(library, f"{prefix}openblas_get_corename{suffix}", None)
            if core is not None:
                core.restype = ctypes.c_char_p
            return _Found(word, get, addresses, core is not None and core() not in _WIDE_KERNELS)
    return None


def _native(found: _Found) -> _Blas:
    launch, pool = (load_heavy(f"opweave.codegen.native.{name}") for name in ("launch", "pool"))
    exports = (
        "opweave_product",
        "opweave_product_run",
        "opweave_product_loop",
        "opweave_product_wide",
        *(f"opweave_blas_{name}" for name in _CONTROLS),
    )
    own = {"opweave_run": pool.run_address(), "opweave_profiling": ctypes.addressof(launch.profiling)}
    own["opweave_multiply_float_at"] = ctypes.addressof(_own_at)
    for dtype, at in _vectors_at.items():
        own[f"{vector_products.symbol(_GEMM[dtype][1])}_at"] = ctypes.addressof(at)
    loaded = code().load(exports, {**found.symbols, **own})
    enter, leave, renew = (ctypes.PYFUNCTYPE(None)(loaded.address(f"opweave_blas_{name}")) for name in _CONTROLS)
    forking.after_fork_in_child(renew)
    run = loaded.address("opweave_product_run")
    multiply = launch.words_function("product", _WORDS, run, loaded)
    addresses = loaded.address("opweave_product"), loaded.address("opweave_product_loop")
    wide = bool(ctypes.c_int8.from_address(loaded.address("opweave_product_wide")).value)
    return _Blas(multiply, *addresses, enter, leave, found.get_threads, launch.launcher_of, wide)


_CONTROLS = ("enter", "leave", "renew")
#: How many numbers describe a product.
_WORDS = 29


def source(word: str = "i64", wide: bool = False, narrow_blas: bool = False) -> str:
    """The LLVM IR of products.

    Parameters
    ----------
    word : str
        The type of BLAS's integers.
    wide : bool
        Whether registers have 512 bits.
    narrow_blas : bool
        Whether BLAS uses them by halves: then products of float32 are made without it.
    """
    stores: list[str] = []
    for i, (field, value) in enumerate(_FIELDS.items()):
        name, _, part = value.partition(".")
        if name in ("l", "r") and part.isdigit():
            stores.append(f"  %{value} = extractvalue %Placed %{name}, {part}")
        stores += [
            f"  %at.{i} = getelementptr i64, ptr %slabs, i64 {i}",
            f"  store {'ptr' if field in _POINTERS else 'i64'} %{value}, ptr %at.{i}",
        ]
    numbers: dict[str, object] = {
        "CLOCK": time.CLOCK_MONOTONIC, "FOUR_LONG": 4 * LONG, "TWO_SHORT": 2 * SHORT, "SHORT": SHORT, "LONG": LONG,
        "MATRICES": MATRICES, "MANY": _MANY - 1, "BROAD": _BROAD, "SMALL": SMALL, "CACHED": CACHED, "DEEP": DEEP,
        "RATE": f"{_RATE:e}", "PLAIN": _PLAIN, "TRANSPOSED": _TRANSPOSED, "OWN": OWN,
        "WIDE": int(wide) * (2 if narrow_blas else 1),
        "STORES": "\n".join(stores),
    }  # fmt: skip
    slabs = [_source(f"opweave_gemm_{t.name}", real, word) for t, (_, real) in _GEMM.items()]
    small = [_small(real) + vector_products.late(real) for real in REALS]
    # Unrolled, blocks are no faster, and take long to compile.
    rolled = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}\n'
    return "\n".join([native.source("clock", "kernel", "product", numbers=numbers), *small, *slabs, rolled])


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
        f"define internal void @{name}(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz) {UNTUNED} {{",
        "entry:", *loads,
        "  %ta.w = trunc i64 %ta to i32",
        "  %tb.w = trunc i64 %tb to i32",
        *[f"  %{g}.w = trunc i64 %{g} to i32" for g in ("grid_x", "grid_y", "grid_z")],
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
        "  %area = mul i64 %height, %width",
        "  %volume = mul i64 %area, %k",
        f"  %few = icmp sle i64 %volume, {SMALL}",
        f"  %beside = icmp eq i64 %tb, {_PLAIN}",
        "  %small = and i1 %few, %beside",
        f"  %upright = icmp eq i64 %ta, {_PLAIN}",
        "  %a.down = select i1 %upright, i64 %lda, i64 1",
        "  %a.along = select i1 %upright, i64 1, i64 %lda",
        "  %b.down = select i1 %beside, i64 %ldb, i64 1",
        "  %b.along = select i1 %beside, i64 1, i64 %ldb",
        "  %one.row = icmp eq i64 %height, 1",
        "  %one.column = icmp eq i64 %width, 1",
        f"  %flat = icmp sle i64 %height, {vector_products.ROWS}",
        "  %unlike.blocks = xor i1 %small, true",
        "  %flat.large = and i1 %flat, %unlike.blocks",
        "  %narrow = or i1 %one.row, %one.column",
        "  %vectors = or i1 %narrow, %flat.large",
        "  br i1 %vectors, label %vector, label %matrix",
        "vector:",
        f'  %made = call i1 @"vector.{real}"(i64 %height, i64 %width, i64 %k, ptr %a.p, i64 %a.down, i64 %a.along,'
        " ptr %b.p, i64 %b.down, i64 %b.along, ptr %c.p, i64 %ldc)",
        "  br i1 %made, label %multiplied, label %matrix",
        "matrix:",
        "  br i1 %small, label %blocks, label %large",
        "blocks:",
        f'  call void @"small.{real}"(i64 %height, i64 %width, i64 %k, ptr %a.p, i64 %a.down, i64 %a.along,'
        " ptr %b.p, i64 %ldb, ptr %c.p, i64 %ldc)",
        "  br label %multiplied",
        "large:",
        *casts, call,
        "  br label %multiplied",
        "multiplied:",
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


def _small(real: str) -> str:
    """The LLVM IR of small products: the widest block that there are columns for."""
    size = {"float": 4, "double": 8}[real]
    blocks = [
        native.source("small_product", numbers={"REAL": real, "WIDTH": width, "BYTES": size}) for width in _WIDTHS[real]
    ]
    arguments = "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, ptr %c, i64 %c.row"
    lines = [f'define internal void @"small.{real}"({arguments}) {{', "entry:", "  br label %width.0"]
    for i, width in enumerate(_WIDTHS[real]):
        lines += [
            f"width.{i}:",
            f"  %wide.{i} = icmp sge i64 %n, {width}",
            f"  br i1 %wide.{i}, label %as.wide.{i}, label %width.{i + 1}",
            f"as.wide.{i}:",
            f'  call void @"blocks.{real}.{width}"({arguments})',
            "  ret void",
        ]
    return "\n".join([*blocks, *lines, f"width.{len(_WIDTHS[real])}:", "  ret void", "}"])


def _offset(real: str, operand: str) -> list[str]:
    """The address of a slab of a matrix in a batch."""
    return [
        f"  %{operand}.far = mul i64 %outer.n, %{operand}_outer",
        f"  %{operand}.near = mul i64 %inner.n, %{operand}_inner",
        f"  %{operand}.matrix = add i64 %{operand}.far, %{operand}.near",
        f"  %{operand}.o = add i64 %{operand}.matrix, %{operand}.slab",
        f"  %{operand}.p = getelementptr {real}, ptr %{operand}, i64 %{operand}.o",
    ]
