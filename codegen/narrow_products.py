"""Products of bfloat16, float16 and 8-bit whole numbers on the CPU, by native code (`codegen/native/narrow_products/`).

Half types are summed in float32 and rounded once, after what is added to them; 8-bit numbers are summed in int32.
Operands may lie anywhere: they are packed where they are read. AMX and AVX512-BF16 take numbers below the smallest
normal one, 2^-126, as zero, and round sums to such numbers likewise. Results do not depend on the number of threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.loading import load_heavy
from opweave.registry.op import OpOverload, ops
from opweave.registry.tensor import Tensor, allocate

if TYPE_CHECKING:
    from opweave.tracer.graph import Node

#: What is multiplied natively, LLVM's name of it, and the type of the result.
STORED = {
    dtypes.float16: ("half", dtypes.float16),
    dtypes.bfloat16: ("bfloat", dtypes.bfloat16),
    dtypes.int8: ("i8", dtypes.int32),
}
#: How many numbers describe a product (`codegen.native.narrow_products.FIELDS`).
_WORDS = 28
#: The most dimensions, two of a batch and two of matrices.
_DIMS = 4

#: 1 as float32.
_ONE = 0x3F800000
#: The address of a matrix or of a batch of them in two dimensions at most, its sizes and its strides; or what stands
#: for them.
Operand = tuple[Any, Sequence[Any], Sequence[Any]]


def takes(a: DType, out: DType) -> bool:
    """Whether native code multiplies these types to that one."""
    return a in STORED and STORED[a][1] is out


def multiply(out: Tensor, a: Tensor, b: Tensor, term: Tensor | None = None, alpha: float = 1, beta: float = 1) -> None:
    """Write `alpha * a @ b + beta * term`, of matrices or of batches of them in two dimensions at most.

    Parameters
    ----------
    out : Tensor
        Of the type that the products have, or int8, to which whole numbers wrap around; elements of a row lie side by
        side.
    a, b : Tensor
        Of one type, one of `STORED`, and of equal batch sizes.
    term : Tensor, optional
        Of the type of `a` and of fewer dimensions than `out`, or sizes of 1, where it is repeated. Not for whole
        numbers.
    alpha, beta : float
        Factors.
    """
    given = None if term is None else _operand(term)
    if out._dtype is dtypes.int8:
        whole = allocate(out._sizes, out._strides, dtypes.int32, out._device)
        run(a._dtype, _operand(whole), _operand(a), _operand(b))
        out._array[...] = whole._array.astype(np.int8)
        return
    run(a._dtype, _operand(out), _operand(a), _operand(b), given, alpha, beta)


def _operand(x: Tensor) -> Operand:
    return x.data_ptr(), x._sizes, x._strides


def run(
    dtype: DType, out: Operand, a: Operand, b: Operand, term: Operand | None = None, alpha: float = 1, beta: float = 1
) -> None:
    """`multiply` of what is at addresses."""
    _native(STORED[dtype][0]).call(*words_of(out, a, b, term, alpha, beta))


def words_of(out: Operand, a: Operand, b: Operand, term: Operand | None, alpha: float, beta: float) -> tuple[Any, ...]:
    """A product as native code is told of it: the words of `narrow_products.FIELDS`. `b` may be a vector."""
    if term is None and len(out[1]) == 2 == len(b[1]) and not (type(out[1][1]) is int and out[1][1] == 1):
        # Most are such, and small ones take no longer than this.
        (to, sizes, (down, _)), (left, (m, k), lefts), (right, _, rights) = out, a, b
        return (
            m, k, sizes[1], 1, 1, left, 0, 0, *lefts, right, 0, 0, *rights, to, 0, 0, down, 0, 0, 0, 0, 0,
            _ONE if alpha == 1 else _bits(alpha), _ONE, 0, 0,
        )  # fmt: skip
    if len(b[1]) == 1:
        b, out = _column(b), _column(out)
        term = None if term is None else _column(term)
    (to, sizes, strides), (left, left_sizes, left_strides), (right, right_sizes, right_strides) = out, a, b
    if len(sizes) == 2 and all(type(n) is int and n == 1 for n in (sizes[1], strides[0])):
        # A column is a row, of which a panel has many numbers.
        left, left_sizes, left_strides, right, right_strides = (
            right, right_sizes[::-1], right_strides[::-1], left, left_strides[::-1]
        )  # fmt: skip
        sizes, strides = sizes[::-1], (1, 1)
        term = None if term is None else _turned(term)
    outer, inner = (1, 1, *sizes[:-2])[-2:]
    added = (0, 0, 0, 0, 0) if term is None else (term[0], *_repeated(term, len(sizes)))
    return (
        left_sizes[-2], left_sizes[-1], sizes[-1], outer, inner, left, *_steps(left_strides), right,
        *_steps(right_strides), to, *_steps(strides)[:3], *added, _bits(alpha), _bits(beta), 0, 0,
    )  # fmt: skip


def _column(x: Operand) -> Operand:
    """A vector, or a number, as a matrix of one column."""
    address, sizes, strides = x
    return address, (*sizes, 1), (*strides, 1)


def _turned(x: Operand) -> Operand:
    """A matrix that is added to a column, as it is added to a row."""
    address, sizes, strides = x
    return address, ((1,) * (2 - len(sizes)) + tuple(sizes))[::-1], ((0,) * (2 - len(sizes)) + tuple(strides))[::-1]


def _steps(strides: Sequence[Any]) -> tuple[Any, ...]:
    """Elements from one matrix (outer, inner), row and column to the next."""
    return (0, 0, *strides)[-4:]


def _repeated(term: Operand, ndim: int) -> tuple[Any, ...]:
    """The same of what has fewer dimensions, or sizes of 1."""
    _, sizes, strides = term
    steps = [0 if type(size) is int and size == 1 else stride for size, stride in zip(sizes, strides, strict=True)]
    return (*[0] * (4 - len(steps)), *steps)[-4:]


@functools.lru_cache(64)
def _bits(value: float) -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def symbol(dtype: DType) -> str:
    """The name of `address`."""
    return f"opweave_multiply_{STORED[dtype][0]}"


def address(dtype: DType) -> int:
    """Of `i32 multiply(ptr words)` for operands of a type."""
    return _native(STORED[dtype][0]).address


def float_address() -> int:
    """Of the same for float32, which `blas` has some products made by."""
    return _native("float").address


def float_code() -> Any:
    """The native code of that."""
    return _code("float")


class _Native(NamedTuple):
    call: Callable[..., None]
    address: int
    loop: int


@functools.cache
def _native(stored: str) -> _Native:
    launch, pool = (load_heavy(f"opweave.codegen.native.{name}") for name in ("launch", "pool"))
    name = f"opweave_multiply_{stored}"
    loaded = _code(stored).load((name, f"{name}_run", f"{name}_loop"), {"opweave_run": pool.run_address()})
    call = launch.words_function("products", _WORDS, loaded.address(f"{name}_run"), loaded)
    return _Native(call, loaded.address(name), loaded.address(f"{name}_loop"))


def loop_of(dtype: DType) -> tuple[int, int]:
    """The address of a product as a loop (see `registry.tape`), and what it is given besides."""
    return _native(STORED[dtype][0]).loop, 0


def source(dtype: DType, machine: Any) -> str:
    """The LLVM IR of `address` for a machine (`llvm.Host`)."""
    narrow = load_heavy("opweave.codegen.native.narrow_products")
    return narrow.source(narrow.Kind.of(STORED[dtype][0], machine))


def code(dtype: DType) -> Any:
    """The native code of a type (`objects.Code`)."""
    return _code(STORED[dtype][0])


@functools.cache
def _code(stored: str) -> Any:
    def text() -> str:
        return load_heavy("opweave.codegen.native.narrow_products").source_for_host(stored)

    name = f"products of {stored}"
    objects = load_heavy("opweave.codegen.native.objects")
    return objects.Code(text, name, objects.PROMOTED, name)


# ---- nodes ---------------------------------------------------------------------------------------------------------


@functools.cache
def _products() -> tuple[OpOverload, ...]:  # not before they are asked for: their files may not have been run
    return ops.aten.mm.default, ops.aten.bmm.default, ops.opweave.batched_mm.default, ops.aten._int_mm.default


@functools.cache
def _sums() -> tuple[OpOverload, ...]:
    return ops.aten.addmm.default, ops.aten.baddbmm.default


class Product(NamedTuple):
    """What a call of a graph computes: `alpha * a @ b + beta * term`."""

    a: Any
    b: Any
    term: Any = None
    alpha: float = 1
    beta: float = 1


def product_of(node: Node) -> Product | None:
    """What a call computes, if it is a product that native code makes."""
    if node.target in _products():
        found = Product(*node.args[:2])  # a third says how the result lies
    elif node.target in _sums():
        term, a, b = node.args
        alpha, beta = (node.kwargs.get(name, 1) for name in ("alpha", "beta"))
        if not all(type(factor) in (int, float) for factor in (alpha, beta)):
            return None
        # NaN in the term does not count at 0.
        found = Product(a, b, None if beta == 0 else term, alpha, beta)
    else:
        return None
    value: Any = node.meta["val"]
    fits = value._device.type == "cpu" and len(value._sizes) <= _DIMS
    return found if fits and takes(found.a.meta["val"]._dtype, value._dtype) else None
