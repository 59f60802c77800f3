"""What functions of the package tell of a tensor without an op, ops that only compare sizes, and a few rearrangements
that PyTorch has by names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, check_example, raised, wrap
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import composite, extern, normalize_axes, reduced_sizes
from opweave.registry.promote import can_cast as _can_cast
from opweave.registry.scalar import converted
from opweave.registry.spec import TensorSpec, contiguous, contiguous_strides
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten


# ---- facts ---------------------------------------------------------------------------------------------------------


def is_floating_point(input: Tensor) -> bool:
    """Whether elements are real floating numbers.

    Examples
    --------
    >>> opweave.is_floating_point(opweave.tensor([1.0]))
    True
    """
    return input._dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether elements are complex numbers.

    Examples
    --------
    >>> opweave.is_complex(opweave.tensor([1j]))
    True
    """
    return input._dtype.is_complex


def is_signed(input: Tensor) -> bool:
    """Whether elements may be negative.

    Examples
    --------
    >>> opweave.is_signed(opweave.tensor([1], dtype=opweave.uint8))
    False
    """
    return input._dtype.is_signed


def is_conj(input: Tensor) -> bool:
    """Whether the elements in memory are the conjugates: never, here.

    Examples
    --------
    >>> opweave.is_conj(opweave.tensor([1j]).conj())
    False
    """
    return False


def is_neg(input: Tensor) -> bool:
    """Whether the elements in memory have the other sign: never, here.

    Examples
    --------
    >>> opweave.is_neg(opweave.tensor([1.0]))
    False
    """
    return False


def is_nonzero(input: Tensor) -> bool:
    """Whether the single element is other than 0.

    Raises
    ------
    ShapeError
        If there is not exactly one.

    Examples
    --------
    >>> opweave.is_nonzero(opweave.tensor([2.0]))
    True
    """
    if input.numel() != 1:
        raise ShapeError("is_nonzero: Boolean value of Tensor with other than one value is ambiguous",
                         got=describe(input))  # fmt: skip
    return bool(input.item())


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same sizes.

    Examples
    --------
    >>> opweave.is_same_size(opweave.zeros(2, 3), opweave.zeros(3, 2))
    False
    """
    return input._sizes == other._sizes


def can_cast(from_: DType, to: DType) -> bool:
    """Whether a result of a type may be written to a tensor of another one.

    Parameters
    ----------
    from_, to : DType
        Complex numbers do not become real, floating ones no integers, and nothing else becomes bool.

    Examples
    --------
    >>> opweave.can_cast(opweave.float32, opweave.int64)
    False
    """
    return _can_cast(from_, to)


#: Functions of the package, and methods.
METHODS: dict[str, Callable[..., Any]] = {
    "is_signed": is_signed, "is_conj": is_conj, "is_neg": is_neg, "is_nonzero": is_nonzero,
    "is_same_size": is_same_size,
}  # fmt: skip


def chain_matmul_function(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the order of the fewest multiplications, as `linalg.multi_dot`.

    Examples
    --------
    >>> opweave.chain_matmul(opweave.eye(2), opweave.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    given = list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else list(matrices)
    return aten.chain_matmul.default(given) if out is None else aten.chain_matmul.out(given, out=out)


#: Functions of the package alone; the methods are `Tensor`'s own.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "is_floating_point": is_floating_point, "is_complex": is_complex, "can_cast": can_cast,
    "chain_matmul": chain_matmul_function,
}  # fmt: skip


# ---- rearrangements ------------------------------------------------------------------------------------------------


@composite("aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number to the elements whose indices are all equal; with `wrap`, begin again below a tall matrix."""
    if self.ndim < 2:
        raise ShapeError("fill_diagonal_: expected at least 2 dimensions", got=describe(self))
    if self.ndim > 2 and len(set(self._sizes)) > 1:
        raise ShapeError("fill_diagonal_: all dimensions of input must be of equal length", got=describe(self))
    step = sum(self._strides)
    height, width = self._sizes[0], self._sizes[-1]
    count = min(self._sizes)
    aten.fill_.Scalar(aten.as_strided.default(self, [count], [step], self._offset), fill_value)
    if wrap and self.ndim == 2 and height > width + 1:
        for start in range(width + 1, height, width + 1):
            rest = min(height - start, width)
            offset = self._offset + start * self._strides[0]
            aten.fill_.Scalar(aten.as_strided.default(self, [rest], [step], offset), fill_value)
    return self


@composite(
    "aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None,"
    " Device? device=None, bool? pin_memory=None) -> Tensor"
)
def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: Any = None,
) -> Tensor:  # fmt: skip
    """An uninitialised tensor whose dimensions lie in memory in an order, the outermost first."""
    if sorted(physical_layout) != list(range(len(size))):
        raise ShapeError(
            "empty_permuted: physical_layout must name each dimension once", got=f"{list(physical_layout)}"
        )
    inner = contiguous_strides(tuple(size[d] for d in physical_layout))
    strides = [0] * len(size)
    for d, stride in zip(physical_layout, inner, strict=True):
        strides[d] = stride
    return aten.empty_strided.default(list(size), strides, dtype=dtype, layout=layout, device=device)


@composite(
    "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)"
    " -> Tensor",
    outs="out",
)
def as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy with `src` where `as_strided` would look."""
    if list(src._sizes) != list(size):
        raise ShapeError(f"as_strided_scatter: expected src to have the sizes {list(size)}", got=describe(src))
    places = aten.reshape.default(aten.arange.default(self.numel(), device=self._device), list(self._sizes))
    taken = aten.as_strided.default(places, list(size), list(stride), storage_offset or 0)
    flat = aten.reshape.default(self, [-1])
    found = aten.index_put.default(flat, [aten.reshape.default(taken, [-1])], aten.reshape.default(src, [-1]))
    return aten.reshape.default(found, list(self._sizes))


def _static_spec(self: Tensor, size: int, fill_value: int = -1) -> TensorSpec:
    if size < 0:
        raise ShapeError("nonzero_static: 'size' must be a non-negative integer", got=f"size={size}")
    return contiguous((size, self.ndim), dtypes.int64, self._device)


@extern("aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", spec=_static_spec, outs="out")
def nonzero_static(self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` indices of elements other than 0, a row for each, and rows of a number where there are fewer."""
    out = allocate_like(_static_spec(self, size))
    out._array[...] = fill_value
    found = aten.nonzero.default(self)._array[:size]
    out._array[: found.shape[0]] = found
    return out


nonzero_static.backward()


@composite("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
def _safe_softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The softmax, and zeros where all elements are -inf."""
    masked = aten.all.dim(aten.eq.Scalar(self, float("-inf")), dim, True)
    out = aten.softmax.int(aten.where.ScalarSelf(masked, 0.0, self), dim, dtype)
    return aten.where.ScalarSelf(masked, 0.0, out)


@composite(
    "aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
    tags="pointwise",
    outs="out",
)
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    return aten.mul.Tensor(aten.mul.Scalar(grad_output, scale), mask)


@composite("aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor")
def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: Sequence[Any], fill: Any) -> Tensor:
    """Elements at indices, and a number where a mask is false."""
    bounded = [None if i is None else aten.clamp.default(i, -size, size - 1)
               for i, size in zip(indices, self._sizes, strict=False)]  # fmt: skip
    if not self.numel():
        return aten.new_full.default(self, list(mask._sizes), fill)
    return aten.masked_fill.Scalar(aten.index.Tensor(self, bounded), aten.logical_not.default(mask), fill)


@composite(
    "aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor"
)
def _unsafe_masked_index_put_accumulate(self: Tensor, mask: Tensor, indices: Sequence[Any], values: Tensor) -> Tensor:
    """Values added at indices where a mask is true."""
    if not self.numel():
        return aten.clone.default(self)
    bounded = [None if i is None else aten.clamp.default(i, -size, size - 1)
               for i, size in zip(indices, self._sizes, strict=False)]  # fmt: skip
    kept = aten.masked_fill.Scalar(values, aten.logical_not.default(mask), 0)
    return aten.index_put.default(self, bounded, kept, True)


@composite("aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", outs="out")
def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor in chunks of one size, zeros behind the last, side by side; a new dimension tells chunks apart."""
    if not tensors:
        raise ShapeError("_chunk_cat: expected a non-empty list of tensors", got="[]")
    if num_chunks < 1:
        raise ArgumentError("_chunk_cat: num_chunks must be positive", got=f"{num_chunks}")
    rows = []
    dim = wrap_dim(dim, tensors[0].ndim, "_chunk_cat")
    for t in tensors:
        size = t._sizes[dim]
        missing = -size % num_chunks
        padded = aten.constant_pad_nd.default(t, [*[0, 0] * (t.ndim - 1 - dim), 0, missing]) if missing else t
        rows.append(aten.reshape.default(padded, [*t._sizes[:dim], num_chunks, -1]))
    return aten.cat.default(rows, dim + 1)


@composite("aten::chain_matmul(Tensor[] matrices) -> Tensor", outs="out")
def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices in the order of the fewest multiplications."""
    return aten.linalg_multi_dot.default(matrices) if len(matrices) > 1 else matrices[0]


@composite("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", outs="out")
def frobenius_norm(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over dimensions."""
    return aten.linalg_vector_norm.default(self if self._dtype.kind != "c" else aten.abs.default(self), 2, dim, keepdim)


@composite("aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", outs="out")
def nuclear_norm(self: Tensor, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of a matrix."""
    return aten.linalg_matrix_norm.str_ord(self, "nuc", [0, 1], keepdim)


# ---- hashes --------------------------------------------------------------------------------------------------------


def _hash_spec(self: Tensor, dim: Any = None, keepdim: bool = False, mode: int = 0) -> TensorSpec:
    if mode != 0:
        raise ArgumentError("hash_tensor: the only mode is 0, the exclusive or of all bits", got=f"mode={mode}")
    if self._dtype.kind not in "fiub" or self._dtype not in dtypes.COMPUTED:
        raise DTypeError(f"hash_tensor: not defined for {self._dtype.name}", got=describe(self), hint="convert first")
    axes = normalize_axes(dim, self.ndim, "hash_tensor")
    named = isinstance(dim, int) or bool(dim)
    if any(not self._sizes[d] for d in axes):
        kind = OutOfRangeError if named else ShapeError
        raise kind("hash_tensor: a dimension without elements has no hash", got=f"{describe(self)}, dim={dim}")
    return contiguous(reduced_sizes(self._sizes, axes, keepdim), dtypes.uint64, self._device)


@extern(
    "aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
    spec=_hash_spec,
    outs="out",
)
def hash_tensor(self: Tensor, dim: Any = None, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or of the 64 bits of elements, as float64 or int64, along dimensions."""
    out = allocate_like(_hash_spec(self, dim, keepdim, mode))
    xp, axes = self._device.xp, normalize_axes(dim, self.ndim, "hash_tensor")
    if self._dtype.kind == "f":
        bits = converted(self._array, self._dtype.compute.numpy).astype(np.float64).view(np.uint64)
    else:
        bits = self._array.astype(np.uint64)  # negative numbers are wrapped, as by C
    out._array[...] = xp.bitwise_xor.reduce(bits, axis=axes, keepdims=keepdim) if axes else bits
    return out


@hash_tensor.batching
def _hash_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    self = values["self"]
    axes = normalize_axes(values["dim"], self.ndim, "hash_tensor") or (0,)
    keepdim = values["keepdim"] and self.ndim > 0
    values.update(self=raised(self, level), dim=[d + 1 for d in axes], keepdim=keepdim)
    return wrap(call(op, values), level)


hash_tensor.backward()
hash_tensor.with_samples(lambda make: [((make(2, 3),), {}), ((make(2, 3, 2), [0, -1]), {"keepdim": True}),
                                       ((make(),), {}), ((make(0, 3), 1), {})])  # fmt: skip


fill_diagonal_.with_samples(lambda make: [((make(3, 3), 2.0), {})])


for _decl in (
    frobenius_norm,
    nuclear_norm,
):
    _decl.autocast = {"cuda": "fp32"}
for _decl in (chain_matmul,):
    _decl.autocast = {"cuda": "lower_precision_fp"}
