"""Convolutions as matrix products of the windows that they see, for artifacts: those that native code has not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opweave.codegen.convolution import convolution_of
from opweave.registry.op import OpOverload, ops
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph

aten = ops.aten


def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """`aten.convolution` in simpler ops; see there."""
    n = x.dim() - 2
    stride, padding, dilation, output_padding = (
        [*values] * (n if len(values) == 1 else 1) for values in (stride, padding, dilation, output_padding)
    )
    before, after = padding, padding
    if transposed:
        x = _spread(x, stride)
        weight = _turned(weight, groups)
        before = [d * (k - 1) - p for d, k, p in zip(dilation, weight.shape[2:], padding, strict=True)]
        after = [p + more for p, more in zip(before, output_padding, strict=True)]
        stride = [1] * n
    pads = [p for pair in zip(reversed(before), reversed(after), strict=True) for p in pair]
    if any(pads):
        x = aten.constant_pad_nd.default(x, pads, 0)
    batch = x.shape[0]
    filters, depth, *kernel = weight.shape
    for dim, (k, s, d) in enumerate(zip(kernel, stride, dilation, strict=True), 2):
        x = aten.unfold.default(x, dim, d * (k - 1) + 1, s)
        x = aten.slice.Tensor(x, x.dim() - 1, 0, None, d) if d > 1 else x
    places = x.shape[2 : 2 + n]
    # The places of windows behind what is in each.
    order = [0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n)]
    windows = aten.permute.default(x, order)
    inner, outer, each = depth * math.prod(kernel), math.prod(places), filters // groups
    columns = aten.reshape.default(windows, [batch * groups, inner, outer])
    rows = aten.reshape.default(weight, [1, groups, each, inner])
    rows = aten.reshape.default(aten.expand.default(rows, [batch, groups, each, inner]), [batch * groups, each, inner])
    result: Any = aten.reshape.default(aten.bmm.default(rows, columns), [batch, filters, *places])
    return result if bias is None else result + aten.reshape.default(bias, [filters, *[1] * n])


def _spread(x: Tensor, stride: Sequence[int]) -> Tensor:
    """Zeros between neighbours: as many as the stride is longer than one."""
    for dim, step in enumerate(stride, 2):
        if step == 1:
            continue
        size = x.shape[dim]
        apart = aten.constant_pad_nd.default(
            aten.unsqueeze.default(x, dim + 1), _pads(x.dim() + 1, dim + 1, step - 1), 0
        )
        sizes = [*x.shape[:dim], size * step, *x.shape[dim + 1 :]]
        x = aten.slice.Tensor(aten.reshape.default(apart, sizes), dim, 0, (size - 1) * step + 1)
    return x


def _pads(dims: int, dim: int, after: int) -> list[int]:
    return [*[0, 0] * (dims - dim - 1), 0, after]


def _turned(weight: Tensor, groups: int) -> Tensor:
    """The filters of the convolution that does what a transposed one does."""
    channels, each, *kernel = weight.shape
    grouped = aten.reshape.default(weight, [groups, channels // groups, each, *kernel])
    turned = aten.reshape.default(
        aten.transpose.int(grouped, 1, 2), [groups * each, channels // groups, *kernel]
    )  # fmt: skip
    return aten.flip.default(turned, [*range(2, 2 + len(kernel))])


def table(graph: Graph) -> dict[OpOverload, Callable[..., Tensor]]:
    """What a graph's convolutions are to become: none of them changes where native code has all."""
    found = (n for n in graph.nodes if n.op == "call_function" and n.target is aten.convolution.default)
    return {aten.convolution.default: convolution} if any(convolution_of(n) is None for n in found) else {}
