"""What the ops compute, in plain operations: `formula(t, ...)`, with PyTorch for `t`."""

from __future__ import annotations

from typing import Any


def silu(t: Any, x: Any) -> Any:
    return x * t.sigmoid(x)


def rms(t: Any, x: Any, weight: Any, eps: float = 1e-6) -> Any:
    return x * t.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def layer(t: Any, x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    return centred * t.rsqrt(centred.pow(2).mean(-1, keepdim=True) + eps) * weight + bias


def cross_entropy(t: Any, logits: Any, target: Any) -> Any:
    return (t.logsumexp(logits, -1) - logits.gather(-1, target[:, None])[:, 0]).mean()


def rotated(t: Any, x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    return x * cos + t.cat([-x[..., half:], x[..., :half]], -1) * sin


def gates(k: Any, g: Any) -> Any:
    """Log-decay of a step as it multiplies the rows of a state."""
    return g.exp()[..., None] if g.ndim == k.ndim else g.exp()[..., None, None]


def recurrent(t: Any, q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, scale: float | None = None) -> Any:
    """Linear attention step by step: [B, T, H, D] each, decay `g`, the delta rule with `beta`."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    state, found = t.zeros_like(k[:, 0, :, :, None] * v[:, 0, :, None, :]), []
    for i in range(q.shape[1]):
        if g is not None:
            state = state * gates(k, g)[:, i]
        value = v[:, i]
        if beta is not None:
            value = (value - (state * k[:, i, :, :, None]).sum(-2)) * beta[:, i, :, None]
        state = state + k[:, i, :, :, None] * value[:, :, None, :]
        found.append((state * (q[:, i] * scale)[..., None]).sum(-2))
    return t.stack(found, 1)


def attention(t: Any, q: Any, k: Any, v: Any) -> Any:
    scores = t.einsum("bthd,bshd->bhts", q, k) * q.shape[-1] ** -0.5
    rows = t.arange(q.shape[1])
    scores = scores.masked_fill(rows[None, :] > rows[:, None], -float("inf"))
    return t.einsum("bhts,bshd->bthd", scores.softmax(-1), v)


def first(op: Any, _: Any, **inputs: Any) -> Any:
    return op(**inputs)[0]


def slopes(t: Any, heads: int) -> Any:
    return t.log(1 - 2.0 ** (-5 - t.arange(heads, dtype=t.float64)))


def retention(t: Any, q: Any, k: Any, v: Any) -> Any:
    return recurrent(t, q, k, v, slopes(t, q.shape[2]).to(q.dtype).expand(q.shape[:3]))


def based(t: Any, q: Any, k: Any, v: Any) -> Any:
    scores = t.einsum("bthd,bshd->bhts", q * q.shape[-1] ** -0.5, k)
    scores = (1 + scores + 0.5 * scores**2).tril()
    return t.einsum("bhts,bshd->bthd", scores / (scores.sum(-1, keepdim=True) + 1e-6), v)


def jsd(t: Any, x: Any, y: Any) -> Any:
    p, q = x.exp(), y.exp()
    m = ((p + q) / 2).log()
    return (0.5 * q * (y - m) + 0.5 * p * (x - m)).sum() / x.shape[0]


def sparsemax(t: Any, x: Any) -> Any:
    z = x.sort(-1, descending=True).values
    total = z.cumsum(-1) - 1
    count = t.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    size = (z * count > total).sum(-1, keepdim=True)
    return (x - total.gather(-1, size - 1) / size).clamp(min=0)


def causal_conv(t: Any, x: Any, weight: Any) -> Any:
    width = weight.shape[1]
    padded = t.cat([t.zeros_like(x[:, : width - 1]), x], 1)
    found = sum(padded[:, i : i + x.shape[1]] * weight[:, i] for i in range(width))
    return silu(t, found)


def shift(t: Any, x: Any) -> Any:
    return t.cat([t.zeros_like(x[:, :1]), x[:, :-1]], 1) - x


def hgrn(t: Any, x: Any, g: Any) -> Any:
    state, found = t.zeros_like(x[:, 0]), []
    for i in range(x.shape[1]):
        state = g[:, i].exp() * state + x[:, i]
        found.append(state)
    return t.stack(found, 1)


def rwkv6(t: Any, r: Any, k: Any, v: Any, w: Any, u: Any) -> Any:
    state, found = t.zeros_like(k[:, 0, :, :, None] * v[:, 0, :, None, :]), []
    for i in range(r.shape[1]):
        added = k[:, i, :, :, None] * v[:, i, :, None, :]
        found.append(((state + u[None, :, :, None] * added) * (r[:, i] * r.shape[-1] ** -0.5)[..., None]).sum(-2))
        state = state * w[:, i].exp()[..., None] + added
    return t.stack(found, 1)


def jsd_of(t: Any, x: Any, y: Any) -> Any:
    """The divergence of distributions, of which the logits are given."""
    return jsd(t, x.log_softmax(-1), y.log_softmax(-1))


def layer_gated(t: Any, x: Any, g: Any, weight: Any, bias: Any) -> Any:
    return layer(t, x, weight, bias) * silu(t, g)


def depth_attention(t: Any, v: Any, query: Any, weight: Any, eps: float = 1e-6) -> Any:
    scores = (rms(t, v, weight, eps) * query).sum(-1)
    return (scores.softmax(0)[..., None] * v).sum(0)


def lightning(t: Any, q: Any, k: Any, v: Any) -> Any:
    heads = q.shape[2]
    decay = -(8 / heads * (1 - 1 / 4)) * t.arange(heads, dtype=q.dtype)
    return recurrent(t, q, k, v, decay.expand(q.shape[:3]))


def forgetting(t: Any, q: Any, k: Any, v: Any, g: Any) -> Any:
    """Attention whose scores lose what the gates between two steps add up to."""
    total = g.cumsum(1).transpose(1, 2)
    scores = t.einsum("bthd,bshd->bhts", q, k) * q.shape[-1] ** -0.5 + total[..., :, None] - total[..., None, :]
    rows = t.arange(q.shape[1])
    scores = scores.masked_fill(rows[None, :] > rows[:, None], -float("inf"))
    return t.einsum("bhts,bshd->bthd", scores.softmax(-1), v)


def lightnet(t: Any, q: Any, k: Any, v: Any) -> Any:
    total = k.logcumsumexp(1)
    before = t.cat([t.zeros_like(total[:, :1]), total[:, :-1]], 1)
    return recurrent(t, q, (k - total).exp(), v, before - total)


def rwkv7(t: Any, r: Any, w: Any, k: Any, v: Any, a: Any, b: Any) -> Any:
    state, found = t.zeros_like(k[:, 0, :, :, None] * v[:, 0, :, None, :]), []
    for i in range(r.shape[1]):
        seen = (state * a[:, i, :, :, None]).sum(-2)
        state = state * w[:, i].exp()[..., None] + b[:, i, :, :, None] * seen[:, :, None, :]
        state = state + k[:, i, :, :, None] * v[:, i, :, None, :]
        found.append((state * r[:, i, :, :, None]).sum(-2))
    return t.stack(found, 1)


def weight_normed(t: Any, v: Any, g: Any) -> Any:
    return v * (g / v.square().sum(1, keepdim=True).sqrt())


def gradient_of(function: Any) -> Any:
    """The formula of a backward op from the one of the forward: of the gradient that comes, and the argument."""

    def backward(t: Any, **inputs: Any) -> Any:
        g, x = inputs.values()
        x = x.detach().requires_grad_()
        return t.autograd.grad(function(t, x), x, g)[0]

    return backward
