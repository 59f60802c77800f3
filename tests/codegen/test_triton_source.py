"""The generated text itself: what a person would have written, with the user's lines, the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from compiling import bind, cubin, tensor, traced

from opweave.codegen.backends import BACKENDS
from opweave.codegen.wrapper import generate
from opweave.registry.op import ops
from opweave.tracer.graph import Graph

aten = ops.aten


def source(fn, *tensors, device="cpu"):
    """Kernels as text, without the imports and with the lines of this file left out."""
    kernels = generate(traced(fn, *tensors)).kernels
    texts = [kernel.source[kernel.source.index("@triton.jit") :] for kernel in kernels]
    return "\n".join(without_lines(text) for text in texts)


def without_lines(text):
    kept = []
    for line in text.splitlines():
        code, mark, comment = line.partition("  # ")
        kept.append(f"{code.rstrip()}  # {comment.split()[0]}" if mark else line)
    return "\n".join(kept) + "\n"


def test_pointwise_chain():
    def f(x, y):
        return aten.mul.Tensor(aten.relu.default(aten.add.Tensor(x, 1.5)), y)

    assert (
        source(f, tensor(1000, 100), tensor(1000, 100))
        == """\
@triton.jit
def fused_add_relu_mul_0(x_1, y_1, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < 100000
    t0 = tl.load(x_1 + i, live)
    t1 = t0 + 1.5  # add
    t2 = tl.where(t1 < 0.0, 0.0, t1)  # relu
    t3 = tl.load(y_1 + i, live)
    tl.store(out + i, t2 * t3, live)  # mul
"""
    )


def test_softmax():
    assert (
        source(lambda x: aten.softmax.int(x, -1), tensor(64, 3000))
        == """\
@triton.jit
def fused_softmax_0(x_1, out, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    live = c < 3000
    t0 = tl.load(x_1 + row * 3000 + c, live)
    t1 = tl.reduce(tl.where(live, t0, float("-inf")), 0, nan_max)  # softmax
    t2 = tl.exp(t0 - t1)  # softmax
    t3 = tl.sum(tl.where(live, t2, 0.0), 0)  # softmax
    tl.store(out + row * 3000 + c, t2 / t3, live)  # softmax
"""
    )


def test_layer_norm():
    def f(x, w, b):
        return aten.layer_norm.default(x, [4096], w, b, 1e-5)

    assert (
        source(f, tensor(64, 4096), tensor(4096), tensor(4096))
        == """\
@triton.jit
def fused_layer_norm_0(x_1, w_1, b_1, out, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    t0 = tl.load(x_1 + row * 4096 + c)
    t1 = tl.sum(t0, 0)  # layer_norm
    t2 = t0 - t1 / 4096.0  # layer_norm
    t3 = tl.sum(t2 * t2, 0)  # layer_norm
    t4 = tl.load(w_1 + c)
    t5 = tl.load(b_1 + c)
    tl.store(out + row * 4096 + c, t2 * tl.rsqrt(t3 / 4096.0 + 1e-05) * t4 + t5)  # layer_norm
"""
    )


def test_column_sum_is_split_over_programs():
    assert (
        source(lambda x: aten.sum.dim_IntList(x, [0]), tensor(4096, 1024))
        == """\
@triton.jit
def fused_sum_parts_0(x_1, part0, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)[None, :]
    acc = tl.full([1, COLS], 0.0, tl.float32)
    for start in range(0, 256, ROWS):
        r = (start + tl.arange(0, ROWS))[:, None]
        t0 = tl.load(x_1 + row * 262144 + r * 1024 + c)
        acc += tl.sum(t0, 0, keep_dims=True)  # sum
    tl.store(part0 + row * 1024 + c, acc)  # sum

@triton.jit
def fused_sum_1(part0, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    c = tl.arange(0, COLS)[None, :]
    acc = tl.full([1, COLS], 0.0, tl.float32)
    for start in range(0, 16, ROWS):
        r = (start + tl.arange(0, ROWS))[:, None]
        t0 = tl.load(part0 + r * 1024 + c)
        acc += tl.sum(t0, 0, keep_dims=True)  # sum
    tl.store(out + c, acc)  # sum
"""
    )


def test_comments_name_the_users_line():
    def f(x):
        return aten.exp.default(x)

    text = generate(traced(f, tensor(64))).kernels[0].source
    line = f.__code__.co_firstlineno + 1
    assert f"# exp        test_triton_source.py:{line}" in text


def test_names_of_the_user_are_kept_apart_from_those_of_the_kernel():
    def f(r, c, live, t0, tl, out):
        total = aten.add.Tensor(aten.add.Tensor(aten.add.Tensor(aten.add.Tensor(r, c), live), t0), tl)
        return aten.mul.Tensor(total, out)

    tensors = [tensor(64, 100, seed=n) for n in range(6)]
    graph = traced(f, *tensors)
    for node in graph.nodes:
        if isinstance(node.target, Graph):
            for placeholder in node.target.placeholders():
                node.target.rename(placeholder, placeholder.name.removesuffix("_1"))
    found = bind(generate(graph))(*tensors)
    found = found[0] if isinstance(found, tuple) else found
    np.testing.assert_allclose(found.numpy(), f(*tensors).numpy(), rtol=1e-5, atol=1e-5)


CASES = {
    "chain": (lambda x, w, r: aten.mul.Tensor(aten.gelu.default(aten.add.Tensor(x, w)), r),
              (64, 1000), (1000,), (64, 1000)),
    "softmax": (lambda x, w, r: aten.softmax.int(aten.add.Tensor(aten.gelu.default(aten.mul.Tensor(x, w)), r), -1),
                (64, 1000), (1000,), (64, 1000)),
    "layer_norm": (lambda x, w, b: aten.layer_norm.default(x, [1000], w, b, 1e-5), (64, 1000), (1000,), (1000,)),
    "columns": (lambda x: aten.sum.dim_IntList(x, [0]), (4096, 1024)),
    "all": (lambda x: aten.sum.default(aten.tanh.default(x)), (1 << 20,)),
    "long": (lambda x: aten.softmax.int(x, -1), (64, 100000)),
    "argmax": (lambda x: aten.argmax.default(x, 1), (64, 1000)),
    "argmax_all": (lambda x: aten.argmax.default(x), (1 << 20,)),
    "transpose": (lambda x, y: aten.add.Tensor(aten.permute.default(x, [1, 0]), y), (256, 512), (512, 256)),
    "dropout": (lambda x: aten.dropout.default(x, 0.25, True) * aten.randn_like.default(x), (300, 70)),
    "libdevice": (lambda x: aten.log1p.default(aten.expm1.default(aten.erf.default(aten.atan.default(x)))), (1000,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("numbers", ["cpu", "cuda"])
def test_compiles_for_cuda_without_a_gpu(name, numbers, monkeypatch):
    fn, *sizes = CASES[name]
    monkeypatch.setattr(BACKENDS["cpu"], "schedule", BACKENDS[numbers].schedule)
    kernels = generate(traced(fn, *[tensor(*s, seed=n) for n, s in enumerate(sizes)])).kernels
    assert kernels
    for kernel in kernels:
        assert cubin(kernel)[:4] == b"\x7fELF"
