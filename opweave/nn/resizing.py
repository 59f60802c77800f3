"""Lines, images and volumes at another size: `interpolate` of `torch.nn.functional`, over the ops.

There are ops for the nearest pixel, for a mean of four pixels and for the filters, all of images. A line is an image of
height 1, and a volume is resized in two steps, in its last two dimensions and then in its first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.errors import DispatchError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten
#: By number of spatial dimensions, the mode that mixes neighbours.
_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
_MODES = ("nearest", "nearest-exact", "area", *_LINEAR.values(), "bicubic")


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """A line, image or volume at another size.

    Parameters
    ----------
    input : Tensor
        (batch, channels, ...) with 1, 2 or 3 spatial dimensions.
    size : int or sequence of int, optional
        The sizes of the result; this or `scale_factor`.
    scale_factor : float or sequence of float, optional
        What the sizes are multiplied by.
    mode : str
        `"nearest"`, `"nearest-exact"`, `"area"` (means), or `"linear"`, `"bilinear"` and `"trilinear"` by the number of
        dimensions, or `"bicubic"` for images.
    align_corners : bool, optional
        Whether the corners of the linear modes are centres of pixels of both.
    recompute_scale_factor : bool, optional
        Take the factor from the sizes that it gives.
    antialias : bool
        Have a pixel of a smaller image take all that it covers; for `"bilinear"` and `"bicubic"`.

    Raises
    ------
    ShapeError
        If arguments do not go together.
    DispatchError
        If there is no such mode, or it is for another number of dimensions.

    Examples
    --------
    >>> opweave.nn.functional.interpolate(opweave.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    spatial = input.ndim - 2
    if mode not in _MODES or not 1 <= spatial <= 3:
        raise DispatchError(
            "interpolate: expected a known mode, and 3, 4 or 5 dimensions",
            got=f"{describe(input)}, mode={mode!r}",
            hint=f"modes are {', '.join(_MODES)}",
        )
    if antialias and (spatial != 2 or mode not in ("bilinear", "bicubic")):
        raise ShapeError(
            "interpolate: antialias is for images, by 'bilinear' or 'bicubic'", got=f"{describe(input)}, mode={mode!r}"
        )
    linear = mode in _LINEAR.values() or mode == "bicubic"
    if not linear and align_corners is not None:
        raise ShapeError("interpolate: align_corners is for linear modes", got=f"mode={mode!r}")
    if (size is None) == (scale_factor is None):
        raise ShapeError(
            "interpolate: give either size or scale_factor", got=f"size={size}, scale_factor={scale_factor}"
        )
    if recompute_scale_factor and scale_factor is None:
        raise ShapeError("interpolate: recompute_scale_factor needs a scale_factor", got=f"size={size}")
    sizes: Any = None if size is None else _each(size, spatial)
    factors: Any = None if scale_factor is None else [float(f) for f in _each(scale_factor, spatial)]
    if len(sizes or factors) != spatial:
        raise ShapeError("interpolate: needs a number for each spatial dimension", got=f"{sizes or factors}")
    if factors is not None and (recompute_scale_factor or mode == "area"):
        sizes = [math.floor(n * f) for n, f in zip(input._sizes[2:], factors, strict=True)]
        factors = None
    if linear and mode != _LINEAR[spatial] and (mode != "bicubic" or spatial != 2):
        raise DispatchError(f"interpolate: mode {mode!r} is for another number of dimensions", got=describe(input))
    if mode == "area":
        pools = aten.adaptive_avg_pool1d, aten.adaptive_avg_pool2d, aten.adaptive_avg_pool3d
        return pools[spatial - 1].default(input, sizes)
    if antialias or mode == "bicubic":
        if antialias:
            op = aten._upsample_bilinear2d_aa if mode == "bilinear" else aten._upsample_bicubic2d_aa
        else:
            op = aten.upsample_bicubic2d
        return op.vec(input, sizes, bool(align_corners), factors)
    if mode == "nearest-exact":
        return _nearest_centres(input, sizes, factors)
    return _resized(input, sizes, factors, bool(align_corners) if linear else None)


def _each(value: Any, count: int) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


def _image(x: Tensor, sizes: Any, factors: Any, corners: bool | None) -> Tensor:
    if corners is None:
        return aten.upsample_nearest2d.vec(x, sizes, factors)
    return aten.upsample_bilinear2d.vec(x, sizes, corners, factors)


def _resized(x: Tensor, sizes: Any, factors: Any, corners: bool | None) -> Tensor:
    count = x.ndim - 2
    if count == 2:
        return _image(x, sizes, factors, corners)
    if corners is not None and x._dtype.kind != "f":
        raise DTypeError(f"interpolate: mode {_LINEAR[count]!r} is for floating types", got=describe(x))
    if count == 1:
        tall = None if sizes is None else [1, *sizes], None if factors is None else [1.0, *factors]
        return aten.squeeze.dim(_image(aten.unsqueeze.default(x, 2), *tall, corners), 2)
    batch, channels, depth, height, width = x._sizes
    flat = aten.reshape.default(x, [batch, channels * depth, height, width])
    flat = _image(flat, sizes and sizes[1:], factors and factors[1:], corners)
    wide = flat._sizes[2] * flat._sizes[3]
    lines = aten.reshape.default(flat, [batch, channels, depth, wide])
    # The factor 1 leaves the second dimension as it is.
    lines = _image(lines, sizes and [sizes[0], wide], factors and [factors[0], 1.0], corners)
    return aten.reshape.default(lines, [batch, channels, lines._sizes[2], *flat._sizes[2:]])


def _nearest_centres(x: Tensor, sizes: Any, factors: Any) -> Tensor:
    """The pixel in which the centre of the new one lies, dimension by dimension."""
    for d in range(x.ndim - 2):
        old = x._sizes[d + 2]
        new, step = (sizes[d], old / sizes[d]) if factors is None else (math.floor(old * factors[d]), 1 / factors[d])
        centre = aten.add.Scalar(aten.arange.default(new, dtype=dtypes.float32, device=x._device), 0.5)
        place = aten._to_copy.default(aten.mul.Tensor(centre, step), dtype=dtypes.int64)
        x = aten.index_select.default(x, d + 2, aten.clamp.default(place, 0, old - 1))
    return x
