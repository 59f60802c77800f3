"""Memory formats: what takes one, and what ops give for images that lie with their channels innermost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import maker
from oracle import agree, check, compare, to_torch

import opweave as ow
from opweave.registry import dtypes
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor

FORMATS = (None, "contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


def last(t: Tensor) -> Tensor:
    """The same numbers with the channels innermost, where there are channels."""
    return t.to(memory_format={4: ow.channels_last, 5: ow.channels_last_3d}.get(t.ndim))


def last_of_images(t: Tensor) -> Tensor:
    """`last`, of images alone."""
    return last(t) if t.ndim == 4 else t


def tensors() -> list[Tensor]:
    make = maker(dtypes.float32)
    images = [make(*sizes) for sizes in ((2, 3, 4, 5), (0, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 1), (1, 1, 1, 1))]
    permuted = [make(5, 4, 3, 2).permute(3, 2, 1, 0), make(2, 3, 4, 10)[..., ::2], make(2, 1, 4, 5).expand(2, 3, 4, 5)]
    return [make(2, 3, 4), make(2, 3, 4, 5, 6), *images, *permuted, *map(last, images), last(make(2, 3, 4, 5, 6))]


WAYS: dict[str, Callable[..., Any]] = {
    "clone": lambda m, x, **f: x.clone(**f),
    "contiguous": lambda m, x, **f: x.contiguous(**f),
    "is_contiguous": lambda m, x, **f: x.is_contiguous(**f),
    "to": lambda m, x, **f: x.to(m.float32, **f),
    "to another type": lambda m, x, **f: x.to(m.float64, **f),
    "to, copied": lambda m, x, **f: x.to(copy=True, **f),
    "double": lambda m, x, **f: x.double(**f),
    "zeros_like": lambda m, x, **f: m.zeros_like(x, **f),
    "full_like": lambda m, x, **f: m.full_like(x, 2, **f),
    "empty": lambda m, x, **f: m.empty(x.shape, **f).zero_(),
}


@pytest.mark.parametrize("way", WAYS)
def test_formats(way: str) -> None:
    taken = set()
    for x, name in itertools.product(tensors(), FORMATS):
        call = WAYS[way]
        taken.add(
            agree(
                lambda m, x, name=name: call(m, x, **({} if name is None else {"memory_format": getattr(m, name)})),
                x, order=0, note=(way, x._sizes, x._strides, name),
            )
        )  # fmt: skip
    assert True in taken


def test_a_tensor_that_lies_so_is_not_copied() -> None:
    for x in tensors():
        found = {x.ndim == 4: ow.channels_last, x.ndim == 5: ow.channels_last_3d}.get(True)
        theirs = to_torch(x)
        if found is not None:
            there = getattr(torch, found.name)
            assert (x.contiguous(memory_format=found) is x) == (theirs.contiguous(memory_format=there) is theirs)
            assert (x.to(memory_format=found) is x) == (theirs.to(memory_format=there) is theirs)


#: Ops on images, and others that see their strides.
OPS = """
_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool2d_backward
adaptive_max_pool3d avg_pool2d avg_pool2d_backward avg_pool3d max_pool2d_with_indices max_pool2d_with_indices_backward
max_pool3d_with_indices max_pool3d_with_indices_backward convolution convolution_backward conv2d conv_transpose2d
native_group_norm native_layer_norm _native_batch_norm_legit _native_batch_norm_legit_no_training pixel_shuffle
pixel_unshuffle channel_shuffle upsample_nearest2d upsample_nearest3d
upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa
grid_sampler_2d constant_pad_nd reflection_pad2d reflection_pad2d_backward replication_pad3d cat flip gelu where
""".split()


def overloads() -> list[OpOverload]:
    packets = [getattr(ow.ops.aten, name) for name in OPS if hasattr(ow.ops.aten, name)]
    found = [getattr(packet, name) for packet in packets for name in packet.overloads()]
    return [op for op in found if op.decl is not None and op.decl.samples is not None and not op.is_mutable]


@pytest.mark.parametrize("op", overloads(), ids=str)
def test_channels_last(op: OpOverload) -> None:
    """Values and strides of the samples' results."""
    convolves = "conv" in op.opname
    assert check(op, every_type=False, layout=last_of_images if convolves else last)
    assert not convolves or left_out("convolution of volumes with channels last, strides")


NETWORKS: dict[str, Callable[..., Any]] = {
    "convolutions": lambda m, x, w: m.nn.functional.conv2d(m.relu(m.nn.functional.conv2d(x, w, padding=1)), w),
    "pools": lambda m, x, w: m.nn.functional.max_pool2d(m.nn.functional.avg_pool2d(x * w[:1, :, :1, :1], 2), 2),
    "norms": lambda m, x, w: m.nn.functional.group_norm(m.nn.functional.pixel_shuffle(m.cat([x] * 4, 1), 2), 2) * 2,
    "batches": lambda m, x, w: m.nn.functional.instance_norm(
        m.nn.functional.batch_norm(m.nn.functional.conv2d(x, w), w[0, :, 0, 0].detach(), w[1, :, 0, 0].detach() ** 2)
    ),
    "a batch": lambda m, x, w: m.nn.functional.batch_norm(m.nn.functional.conv2d(x, w), None, None, training=True),
    "resized": lambda m, x, w: m.nn.functional.interpolate(
        x + w[0, :, :1, :1], scale_factor=2, mode="bilinear"
    ).to(memory_format=m.contiguous_format),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str) -> None:
    make = maker(dtypes.float64)
    for x, w in ((last(make(2, 4, 8, 8)), make(4, 4, 3, 3)), (make(2, 4, 8, 8), last(make(4, 4, 3, 3)))):
        assert agree(NETWORKS[name], x, w, difference="convolution")
        compiled = ow.compile(lambda x, w: NETWORKS[name](ow, x, w))
        compare(compiled(x, w), NETWORKS[name](torch, to_torch(x), to_torch(w)), name, "convolution")
        compiled = ow.compile(lambda x, w: NETWORKS[name](ow, x, w), dynamic=True)
        compare(compiled(x, w), NETWORKS[name](torch, to_torch(x), to_torch(w)), name, "convolution")
