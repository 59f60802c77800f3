"""Attention whose scores a function changes, under the names of `torch.nn.attention.flex_attention`.

    relative = flex_attention(q, k, v, score_mod=lambda score, b, h, q_idx, kv_idx: score + (q_idx - kv_idx))

The functions are of one score and its indices, 0-d tensors, and `vmap` runs them for all. So the whole matrix of scores
is there at once, as in PyTorch without a compiler. A compiled function traces through, and fuses what changes and masks
scores; the two products are calls beside that, and no block is left out for being masked.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from opweave.nn.attention.block_masks import (
    DEFAULT_BLOCK_SIZE,
    LARGE_BLOCK_SIZE,
    BlockMask,
    MaskMod,
    blocks_of,
    noop_mask,
    ordered,
    pair,
    sliced_mask_mod,
)
from opweave.registry.dtypes import bool_, float32, float64
from opweave.registry.errors import ArgumentError, DeviceError, DomainError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.transform import vmap

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

aten = ops.aten
#: (score, batch, head, query index, key index) -> score, of one element.
ScoreMod = Callable[[Any, Any, Any, Any, Any], Any]
_DEFAULT_SPARSE_BLOCK_SIZE = DEFAULT_BLOCK_SIZE


class AuxRequest(NamedTuple):
    """What `flex_attention` gives besides the result.

    Parameters
    ----------
    lse : bool
        The logarithm of the sum of the exponentials of each row of scores.
    max_scores : bool
        The largest score of each row.

    Examples
    --------
    >>> q = opweave.ones(1, 1, 2, 4)
    >>> flex = opweave.nn.attention.flex_attention
    >>> _, aux = flex.flex_attention(q, q, q, return_aux=flex.AuxRequest(max_scores=True))
    >>> aux.max_scores
    tensor([[[2., 2.]]])
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What `AuxRequest` asked for; None for the rest.

    Examples
    --------
    >>> opweave.nn.attention.flex_attention.AuxOutput()
    AuxOutput(lse=None, max_scores=None)
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(dict[str, Any]):
    """Settings of PyTorch's kernels. Any are taken, and none has an effect: there is one way to compute.

    Examples
    --------
    >>> options = opweave.nn.attention.flex_attention.FlexKernelOptions(BLOCK_M=64)
    >>> q = opweave.ones(1, 1, 2, 4)
    >>> opweave.nn.attention.flex_attention.flex_attention(q, q, q, kernel_options=options).shape
    opweave.Size([1, 1, 2, 4])
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(options)


# ---- functions of elements -----------------------------------------------------------------------------------------


def _for_all(function: Callable[..., Any], prefix: tuple[int | None, ...]) -> Callable[..., Any]:
    """A function of one element and its indices, for those of all batches, heads, queries and keys."""
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        function = vmap(function, in_dims=(*prefix, *dims))
    return function


def _indices(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    return [aten.arange.default(size, device=device) for size in sizes]


def _takes_score(function: Any) -> bool:
    """Whether a function is a `score_mod`, by how many arguments it must have."""
    parameters = inspect.signature(function).parameters.values()
    count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    if count not in (4, 5):
        raise _Refused(
            "create_mask: expected a function of 4 indices, or of a score and 4 indices", got=f"{count} parameters",
            hint="def mask_mod(b, h, q_idx, kv_idx): return q_idx >= kv_idx",
        )  # fmt: skip
    return count == 5


class _Refused(ArgumentError, AssertionError, RuntimeError):
    """An argument that does not fit, where PyTorch has an assertion, or an error of another class."""


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """A `mask_mod` of what all of several let count.

    Examples
    --------
    >>> flex = opweave.nn.attention.flex_attention
    >>> near = flex.and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: q - kv < 2)
    >>> flex.create_mask(near, 1, 1, 3, 3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=opweave.int32)
    """
    _check_callable("and_masks", mask_mods)

    def and_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b.new_ones((), dtype=bool_)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """A `mask_mod` of what any of several lets count.

    Examples
    --------
    >>> flex = opweave.nn.attention.flex_attention
    >>> prefix = flex.or_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: kv < 2)
    >>> flex.create_mask(prefix, 1, 1, 3, 3)[0, 0].int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=opweave.int32)
    """
    _check_callable("or_masks", mask_mods)

    def or_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b.new_zeros((), dtype=bool_)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def _check_callable(what: str, mask_mods: tuple[Any, ...]) -> None:
    if not all(callable(mask) for mask in mask_mods):
        raise _Refused(f"{what}: all inputs should be callable mask_mods", got=repr(mask_mods))


def create_mask(
    mod_fn: ScoreMod | MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """A mask of elements, from the function that decides on each.

    Parameters
    ----------
    mod_fn : callable
        A `mask_mod`, or a `score_mod`, whose scores count where it does not give minus infinity for 0.
    B, H : int or None
        How many batches and heads; None for 1, which stands for all.
    Q_LEN, KV_LEN : int
        How many queries and keys.
    device : Device or str, optional
        Where the mask is; the CPU by default.

    Returns
    -------
    Tensor
        bool, (B, H, Q_LEN, KV_LEN).

    Examples
    --------
    >>> opweave.nn.attention.flex_attention.create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    sizes = 1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN
    indices = _indices(sizes, "cpu" if device is None else device)
    if not _takes_score(mod_fn):
        return _for_all(mod_fn, ())(*indices)
    scores = aten.zeros.default(list(sizes), device=indices[0]._device)
    return aten.logical_not.default(aten.isneginf.default(_for_all(mod_fn, (0,))(scores, *indices)))


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE, _compile: bool = False, separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False, dq_kv_order: bool = True,
) -> BlockMask:  # fmt: skip
    """A mask of blocks, from the function that decides on each element.

    Parameters
    ----------
    mask_mod : callable
        ``mask_mod(b, h, q_idx, kv_idx)`` says of one element whether its score counts; the indices are 0-d tensors.
    B, H : int or None
        How many batches and heads; None for 1, which stands for all.
    Q_LEN, KV_LEN : int
        How many queries and keys.
    device : Device or str, optional
        Where the mask is; the CPU by default.
    BLOCK_SIZE : int or tuple of int
        Rows and columns of a block.
    separate_full_blocks : bool
        Whether blocks of which all elements count are listed apart.
    _compile, compute_dq_write_order, dq_kv_order
        For the signature's sake: `compute_dq_write_order` is refused.

    Raises
    ------
    ArgumentError, DTypeError
        If the function takes something else, or gives no truth values.
    UnsupportedError
        For `compute_dq_write_order`.

    Examples
    --------
    >>> flex = opweave.nn.attention.flex_attention
    >>> causal = flex.create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
    >>> causal.sparsity()
    25.0
    """
    if compute_dq_write_order:
        raise UnsupportedError(
            "create_block_mask: no kernel writes gradients in an order", got="compute_dq_write_order=True"
        )
    if _takes_score(mask_mod):
        raise _Refused(
            "create_block_mask requires a mask_mod function", got=f"{mask_mod}, of 5 parameters",
            hint="def mask_mod(b, h, q_idx, kv_idx): return q_idx >= kv_idx",
        )  # fmt: skip
    size = pair(BLOCK_SIZE)
    partial, full = blocks_of(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), size, separate_full_blocks)
    lists = [*ordered(partial), *((None, None) if full is None else ordered(full))]
    return BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))  # type: ignore[arg-type]


# ---- attention -----------------------------------------------------------------------------------------------------


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    given = [query, key, value]
    if any(t.ndim != 4 for t in given):
        raise UnsupportedError(
            "flex_attention: query, key, and value must be 4D tensors", got=describe(given),
            hint="(batch, heads, length, width)",
        )  # fmt: skip
    if any(t._dtype.kind != "f" for t in given):
        raise DTypeError("flex_attention: expected floating types", got=describe(given))
    if any(t._device is not query._device for t in given):
        raise DeviceError("flex_attention: query, key and value are on one device", got=describe(given))
    if query._sizes[-1] != key._sizes[-1] or key._sizes[-2] != value._sizes[-2]:
        raise ShapeError(
            "flex_attention: query and key have the same embedding dimension, key and value the same length",
            got=describe(given),
        )
    heads, others = query._sizes[1], key._sizes[1]
    if value._sizes[1] != others:
        raise ShapeError("flex_attention: key and value have the same number of heads", got=describe(given))
    if heads != others and not enable_gqa:
        raise ShapeError(
            "flex_attention: query and key/value have the same number of heads", got=describe(given),
            hint="enable_gqa=True lets several heads of the query share one",
        )  # fmt: skip
    if others == 0 or heads % others:
        raise ShapeError(
            "flex_attention: the number of query heads is a multiple of that of key and value", got=describe(given)
        )
    batch, kept = query._sizes[0], key._sizes[0]
    if value._sizes[0] != kept or (batch != kept and kept != 1):
        raise ShapeError("flex_attention: query and key/value have the same batch size", got=describe(given))
    if batch != kept and (block_mask is None or block_mask.kv_num_blocks._sizes[0] != batch):
        raise ShapeError(
            "flex_attention: one key for a batch of queries needs a block_mask of that batch size", got=describe(given)
        )
    if block_mask is not None:
        _check_mask(query, key, block_mask)


def _check_mask(query: Tensor, key: Tensor, block_mask: BlockMask) -> None:
    if block_mask.mask_mod is sliced_mask_mod:
        block_mask.mask_mod(None, None, None, None)
    if block_mask.kv_num_blocks._device is not query._device:
        raise DeviceError(
            "flex_attention: the block_mask is on the device of the query",
            got=f"{describe(query)} and a mask on {block_mask.kv_num_blocks._device}", hint="block_mask.to(q.device)",
        )  # fmt: skip
    if block_mask.BLOCK_SIZE == (LARGE_BLOCK_SIZE, LARGE_BLOCK_SIZE):
        return
    lengths, wanted = (query._sizes[-2], key._sizes[-2]), tuple(block_mask.shape[-2:])
    if lengths != wanted:
        larger = lengths[0] <= wanted[0] and lengths[1] <= wanted[1]
        raise ShapeError(
            f"flex_attention: block_mask was created for block_mask.shape={block_mask.shape}",
            got=f"q_len={lengths[0]} and kv_len={lengths[1]}",
            hint="create_block_mask for these lengths"
            + (", or block_mask._adjust(q_len, kv_len), which takes the upper left corner" if larger else ""),
        )


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: ScoreMod | None = None, block_mask: BlockMask | None = None,
    scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None, *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Attention whose scores a function changes, and of which a mask leaves some out.

    Scores are computed in float32, of float64 in float64. Rows in which none counts are 0.

    Parameters
    ----------
    query : Tensor
        (batch, heads, queries, width).
    key : Tensor
        (batch, heads, keys, width); a batch of 1 is for all.
    value : Tensor
        (batch, heads, keys, any width).
    score_mod : callable, optional
        ``score_mod(score, b, h, q_idx, kv_idx)`` gives what a score is replaced with; the arguments are 0-d tensors. It
        may read tensors from around it, which get gradients.
    block_mask : BlockMask, optional
        Which scores count: elements for which its `mask_mod` says so, of the blocks that it lists.
    scale : float, optional
        Of the scores, before `score_mod`; 1 over the root of the width by default.
    enable_gqa : bool
        Whether several heads of the query may share one of key and value.
    return_lse : bool
        Give the logarithm of the sum of the exponentials of each row, too.
    kernel_options : dict, optional
        For the signature's sake.
    return_aux : AuxRequest, optional
        What is given besides, as an `AuxOutput`.

    Returns
    -------
    Tensor or tuple
        (batch, heads, queries, width of value), with what was asked for.

    Raises
    ------
    DeviceError, DomainError, DTypeError, ShapeError, UnsupportedError
        If arguments do not go together.

    Examples
    --------
    >>> flex_attention = opweave.nn.attention.flex_attention.flex_attention
    >>> q = opweave.zeros(1, 1, 2, 4)
    >>> v = opweave.tensor([[[[1.0], [2.0]]]])
    >>> flex_attention(q, q, v, score_mod=lambda score, b, h, q_idx, kv_idx: score - 1000 * (kv_idx > q_idx))
    tensor([[[[1.0000],
              [1.5000]]]])
    """
    if return_lse and return_aux is not None:
        raise DomainError(
            "flex_attention: give one of return_lse and return_aux", got="both", hint="return_aux=AuxRequest(lse=True)"
        )
    _check(query, key, value, block_mask, enable_gqa)
    scores = _scores(query, key, score_mod, block_mask, scale)
    attended = aten._safe_softmax.default(scores, -1)
    share = query._sizes[1] // value._sizes[1]
    value = _shared(aten._to_copy.default(value, dtype=query._dtype), share)
    result = aten.matmul.default(aten._to_copy.default(attended, dtype=query._dtype), value)
    if not return_lse and return_aux is None:
        return result
    lse = aten.logsumexp.default(scores, [-1]) if return_aux is None or return_aux.lse else None
    if return_aux is None:
        return result, lse
    return result, AuxOutput(lse, aten.amax.default(scores, [-1]) if return_aux.max_scores else None)


def _shared(t: Tensor, share: int) -> Tensor:
    """Each head as many times as heads of the query share it."""
    return t if share == 1 else aten.repeat_interleave.self_int(t, share, 1)


def _scores(
    query: Tensor, key: Tensor, score_mod: ScoreMod | None, block_mask: BlockMask | None, scale: float | None
) -> Tensor:
    working = float64 if query._dtype is float64 else float32
    keys = _shared(aten._to_copy.default(key, dtype=working), query._sizes[1] // key._sizes[1])
    factor = 1 / math.sqrt(query._sizes[-1]) if scale is None else scale
    product = aten.matmul.default(aten._to_copy.default(query, dtype=working), aten.mT.default(keys))
    scores = aten.mul.Scalar(product, factor)
    indices = _indices(scores._sizes, scores._device)
    if score_mod is not None:
        scores = aten._to_copy.default(_for_all(score_mod, (0,))(scores, *indices), dtype=working)
    if block_mask is None or (block_mask.BLOCK_SIZE[0] == LARGE_BLOCK_SIZE and block_mask.mask_mod is noop_mask):
        return scores
    decided = aten.expand.default(_for_all(block_mask.mask_mod, ())(*indices), list(scores._sizes))
    counts = decided if block_mask.BLOCK_SIZE[0] == LARGE_BLOCK_SIZE else block_mask.elements(decided)
    return aten.where.ScalarOther(counts, scores, -math.inf)


def __dir__() -> list[str]:
    return sorted(__all__)
