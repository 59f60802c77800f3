"""What `eager.py --table` calls: ops that programs use most, and whole training steps, the same for both libraries.

An op is a function of the library and a dict of tensors of one dtype and size: `x`, `y` (positive), `row`, `mask`,
`i` (numbers of rows), `square` (a small matrix), `image`, `heads`. Ops that a library has not for a dtype are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

Op = Callable[[Any, Any], Any]

#: Ops that have a gradient, then those that have none or are not for all types.
SMOOTH: dict[str, Op] = {
    "add": lambda lib, t: t.x + t.y,
    "sub": lambda lib, t: t.x - t.y,
    "mul": lambda lib, t: t.x * t.y,
    "div": lambda lib, t: t.x / t.y,
    "add number": lambda lib, t: t.x + 2,
    "mul number": lambda lib, t: t.x * 2,
    "rsub": lambda lib, t: 1 - t.x,
    "add row": lambda lib, t: t.x + t.row,
    "neg": lambda lib, t: -t.x,
    "abs": lambda lib, t: t.x.abs(),
    "square": lambda lib, t: t.x**2,
    "cube": lambda lib, t: t.x**3,
    "pow": lambda lib, t: t.y**t.x,
    "maximum": lambda lib, t: lib.maximum(t.x, t.y),
    "clamp": lambda lib, t: t.x.clamp(-1, 1),
    "sum": lambda lib, t: t.x.sum(),
    "sum rows": lambda lib, t: t.x.sum(1),
    "sum columns": lambda lib, t: t.x.sum(0),
    "prod rows": lambda lib, t: t.x.prod(1),
    "amax rows": lambda lib, t: t.x.amax(1),
    "max rows": lambda lib, t: t.x.max(1),
    "cumsum": lambda lib, t: t.x.cumsum(1),
    "where": lambda lib, t: lib.where(t.mask, t.x, t.y),
    "masked_fill": lambda lib, t: t.x.masked_fill(t.mask, 0),
    "addcmul": lambda lib, t: lib.addcmul(t.x, t.x, t.y),
    "cat": lambda lib, t: lib.cat([t.x, t.y]),
    "stack": lambda lib, t: lib.stack([t.x, t.y]),
    "split": lambda lib, t: t.x.split(16, 1),
    "x[1:, 2:]": lambda lib, t: t.x[1:, 2:],
    "x[i]": lambda lib, t: t.x[t.i],
    "x[mask]": lambda lib, t: t.x[t.mask],
    "gather": lambda lib, t: t.x.gather(0, t.places),
    "index_select": lambda lib, t: t.x.index_select(0, t.i),
    "transpose": lambda lib, t: t.x.transpose(0, 1),
    "t().contiguous": lambda lib, t: t.x.t().contiguous(),
    "reshape": lambda lib, t: t.x.reshape(-1),
    "expand": lambda lib, t: t.row.expand(t.x.shape),
    "flip": lambda lib, t: t.x.flip(0),
    "roll": lambda lib, t: t.x.roll(1, 0),
    "tril": lambda lib, t: t.x.tril(),
    "sort rows": lambda lib, t: t.x.sort(1),
    "topk": lambda lib, t: t.x.topk(4, 1),
    "clone": lambda lib, t: t.x.clone(),
    "embedding": lambda lib, t: lib.nn.functional.embedding(t.i, t.x),
    "matmul": lambda lib, t: t.x @ t.square,
}
FLOATING: dict[str, Op] = {
    "exp": lambda lib, t: t.x.exp(),
    "log": lambda lib, t: t.y.log(),
    "sqrt": lambda lib, t: t.y.sqrt(),
    "rsqrt": lambda lib, t: t.y.rsqrt(),
    "reciprocal": lambda lib, t: t.y.reciprocal(),
    "sin": lambda lib, t: t.x.sin(),
    "tanh": lambda lib, t: t.x.tanh(),
    "sigmoid": lambda lib, t: t.x.sigmoid(),
    "relu": lambda lib, t: lib.relu(t.x),
    "gelu": lambda lib, t: lib.nn.functional.gelu(t.x),
    "gelu tanh": lambda lib, t: lib.nn.functional.gelu(t.x, approximate="tanh"),
    "silu": lambda lib, t: lib.nn.functional.silu(t.x),
    "leaky_relu": lambda lib, t: lib.nn.functional.leaky_relu(t.x, 0.1),
    "softplus": lambda lib, t: lib.nn.functional.softplus(t.x),
    "dropout": lambda lib, t: lib.nn.functional.dropout(t.x, 0.1),
    "mean": lambda lib, t: t.x.mean(),
    "mean rows": lambda lib, t: t.x.mean(1),
    "var rows": lambda lib, t: t.x.var(1),
    "std": lambda lib, t: t.x.std(),
    "norm": lambda lib, t: lib.linalg.vector_norm(t.x),
    "logsumexp": lambda lib, t: t.x.logsumexp(1),
    "softmax": lambda lib, t: t.x.softmax(1),
    "log_softmax": lambda lib, t: t.x.log_softmax(1),
    "layer_norm": lambda lib, t: lib.nn.functional.layer_norm(t.x, (t.x.shape[1],), t.row, t.row),
    "rms_norm": lambda lib, t: lib.nn.functional.rms_norm(t.x, (t.x.shape[1],), t.row),
    "group_norm": lambda lib, t: lib.nn.functional.group_norm(t.image, 2),
    "batch_norm": lambda lib, t: lib.nn.functional.batch_norm(t.image, None, None, training=True),
    "cross_entropy": lambda lib, t: lib.nn.functional.cross_entropy(t.x, t.classes),
    "nll_loss": lambda lib, t: lib.nn.functional.nll_loss(t.x, t.classes),
    "mse_loss": lambda lib, t: lib.nn.functional.mse_loss(t.x, t.y),
    "bce logits": lambda lib, t: lib.nn.functional.binary_cross_entropy_with_logits(t.x, t.y),
    "linear": lambda lib, t: lib.nn.functional.linear(t.x, t.square, t.square[0]),
    "attention": lambda lib, t: lib.nn.functional.scaled_dot_product_attention(t.heads, t.heads, t.heads),
    "causal attention": lambda lib, t: lib.nn.functional.scaled_dot_product_attention(
        t.heads, t.heads, t.heads, is_causal=True
    ),
    "conv2d": lambda lib, t: lib.nn.functional.conv2d(t.image, t.filter, padding=1),
    "max_pool2d": lambda lib, t: lib.nn.functional.max_pool2d(t.image, 2),
    "avg_pool2d": lambda lib, t: lib.nn.functional.avg_pool2d(t.image, 2),
    "interpolate": lambda lib, t: lib.nn.functional.interpolate(t.image, scale_factor=2),
    "pad": lambda lib, t: lib.nn.functional.pad(t.image, (1, 1)),
}
OTHER: dict[str, Op] = {
    "eq": lambda lib, t: t.x == t.y,
    "lt": lambda lib, t: t.x < t.y,
    "gt number": lambda lib, t: t.x > 0,
    "isnan": lambda lib, t: t.x.isnan(),
    "argmax rows": lambda lib, t: t.x.argmax(1),
    "argsort": lambda lib, t: t.x.argsort(1),
    "any": lambda lib, t: t.x.any(),
    "all rows": lambda lib, t: t.x.all(1),
    "logical_not": lambda lib, t: t.x.logical_not(),
    "floor_divide": lambda lib, t: t.x // 3,
    "remainder": lambda lib, t: t.x % 3,
    "sign": lambda lib, t: t.x.sign(),
    "floor": lambda lib, t: t.y.floor(),
    "and": lambda lib, t: t.x & t.y,
    "invert": lambda lib, t: ~t.x,
    "shift": lambda lib, t: t.x << 1,
    "to f32": lambda lib, t: t.x.to(lib.float32),
    "to f64": lambda lib, t: t.x.to(lib.float64),
    "to bf16": lambda lib, t: t.x.to(lib.bfloat16),
    "to f16": lambda lib, t: t.x.to(lib.float16),
    "to i64": lambda lib, t: t.x.to(lib.int64),
    "to bool": lambda lib, t: t.x.to(lib.bool),
    "mixed add": lambda lib, t: t.x + t.single,
    "add_": lambda lib, t: t.out.add_(t.x),
    "mul_ number": lambda lib, t: t.out.mul_(1),
    "zero_": lambda lib, t: t.out.zero_(),
    "copy_": lambda lib, t: t.out.copy_(t.x),
    "x[1:] = y": lambda lib, t: t.out[1:].copy_(t.x[1:]),
    "index_add_": lambda lib, t: t.out.index_add_(0, t.i, t.x),
    "zeros_like": lambda lib, t: lib.zeros_like(t.x),
    "ones": lambda lib, t: lib.ones(t.x.shape, dtype=t.x.dtype),
    "arange": lambda lib, t: lib.arange(t.x.numel(), dtype=t.x.dtype),
    "one_hot": lambda lib, t: lib.nn.functional.one_hot(t.i, t.x.shape[1]),
    "nonzero": lambda lib, t: t.x.nonzero(),
    "bincount": lambda lib, t: t.i.bincount(),
}  # fmt: skip
SIZES = {"small": (32, 64), "large": (1024, 1024)}
DTYPES = ("float32", "bfloat16", "int64", "bool")


def tensors(lib: Any, size: str, dtype: str, requires_grad: bool) -> Any:
    """What the ops are called with."""
    rows, columns = SIZES[size]
    draw = np.random.default_rng(0)
    kind = getattr(lib, dtype)

    def made(values: Any) -> Any:
        found = lib.from_numpy(np.ascontiguousarray(values)).to(kind)
        return found.requires_grad_() if requires_grad else found

    def drawn(*sizes: int) -> Any:
        if dtype in ("int64", "bool"):
            return draw.integers(0 if dtype == "bool" else -9, 2 if dtype == "bool" else 10, sizes)
        return draw.standard_normal(sizes).astype(np.float32)

    x = drawn(rows, columns)
    numbers = lib.from_numpy(draw.integers(0, rows, rows))
    images = (2, 4, 16, 16) if size == "small" else (16, 16, 64, 64)
    heads = (2, 2, 16, 16) if size == "small" else (4, 8, 256, 64)
    found = SimpleNamespace(
        x=made(x), y=made(np.abs(drawn(rows, columns)) + (1 if dtype == "int64" else 0)), row=made(drawn(columns)),
        mask=lib.from_numpy(draw.random((rows, columns)) < 0.5), i=numbers,
        places=lib.from_numpy(draw.integers(0, rows, (rows, columns))),
        classes=lib.from_numpy(draw.integers(0, columns, rows)), square=made(drawn(columns, columns)),
        out=lib.from_numpy(x.copy()).to(kind), single=lib.from_numpy(drawn(rows, columns)),
    )  # fmt: skip
    if dtype in ("float32", "bfloat16"):
        found.image, found.heads = made(drawn(*images)), made(drawn(*heads))
        found.filter = made(drawn(images[1], images[1], 3, 3))
    return found


def ops_of(dtype: str, requires_grad: bool) -> dict[str, Op]:
    """The ops that are tried with a dtype."""
    floating = dtype in ("float32", "bfloat16")
    return SMOOTH | (FLOATING if floating else {}) | ({} if requires_grad else OTHER)


# ---- whole steps -----------------------------------------------------------------------------------------------------


def _mlp(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def _conv_net(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 7 * 7, 10),
    )  # fmt: skip


def _gpt(lib: Any) -> Any:
    nn, F = lib.nn, lib.nn.functional
    width, heads, length, words = 64, 4, 32, 128

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, count, _ = x.shape
            q, k, v = [
                part.view(batch, count, heads, width // heads).transpose(1, 2)
                for part in self.qkv(self.norm1(x)).split(width, dim=2)
            ]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.mix(y.transpose(1, 2).contiguous().view(batch, count, width))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(2)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens) + self.places(lib.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x)).flatten(0, 1)

    return Model()


def _lstm(lib: Any) -> Any:
    nn = lib.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    return Model()


#: A model, the sizes of its input (or numbers of words), and of how many classes its result is.
MODELS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], int]] = {
    "MLP": (_mlp, (32, 64), 10),
    "conv net": (_conv_net, (8, 1, 28, 28), 10),
    "GPT": (_gpt, (4, 32), 128),
    "LSTM": (_lstm, (8, 16, 32), 10),
}
OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "SGD": lambda lib, p: lib.optim.SGD(p, lr=1e-3, momentum=0.9),
    "Adam": lambda lib, p: lib.optim.Adam(p, lr=1e-3),
    "AdamW": lambda lib, p: lib.optim.AdamW(p, lr=1e-3),
}


def steps(lib: Any) -> dict[str, Callable[[], Any]]:
    """Training steps of each model with each optimizer, and forward under autocast."""
    found: dict[str, Callable[[], Any]] = {}
    draw = np.random.default_rng(0)
    for name, (make, sizes, classes) in MODELS.items():
        if name == "GPT":
            given = lib.from_numpy(draw.integers(0, classes, sizes))
            labels = lib.from_numpy(draw.integers(0, classes, int(np.prod(sizes))))
        else:
            given = lib.from_numpy(draw.standard_normal(sizes).astype(np.float32))
            labels = lib.from_numpy(draw.integers(0, classes, sizes[0]))
        for which, optimizer in OPTIMIZERS.items():
            model = make(lib)
            opt = optimizer(lib, list(model.parameters()))

            def step(model: Any = model, opt: Any = opt, given: Any = given, labels: Any = labels) -> None:
                opt.zero_grad()
                lib.nn.functional.cross_entropy(model(given), labels).backward()
                opt.step()

            found[f"{name}, {which}"] = step
            if which == "AdamW":
                found[f"{name}, {which} alone"] = opt.step

        model = make(lib)

        def forward(model: Any = model, given: Any = given) -> None:
            with lib.no_grad(), lib.autocast("cpu", dtype=lib.bfloat16):
                model(given)

        found[f"{name}, forward in bfloat16"] = forward
    return found
