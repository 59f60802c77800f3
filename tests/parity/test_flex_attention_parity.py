"""`nn.attention.flex_attention` beside PyTorch's: results, gradients, masks of blocks, and what is refused."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import torch.nn.attention.flex_attention as theirs
from oracle import close

import opweave
from opweave.nn.attention import flex_attention as ours

RNG = np.random.default_rng(0)
B, H, Q, KV, E = 2, 4, 9, 7, 3
QUERY, KEY, VALUE = (RNG.standard_normal(sizes) for sizes in ((B, H, Q, E), (B, 2, KV, E), (B, 2, KV, 5)))
TABLE, LENGTHS = RNG.standard_normal((H, Q + KV)), np.array([5, 3])
DOCUMENTS = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2])


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


#: score_mod, from the library and a table of biases.
SCORES: dict[str, Any] = {
    "none": lambda lib, table: None,
    "distance": lambda lib, table: lambda score, b, h, q, kv: score + (q - kv),
    "slopes": lambda lib, table: lambda score, b, h, q, kv: score + lib.exp2(-((h + 1) * 8.0 / H)) * (kv - q),
    "soft cap": lambda lib, table: lambda score, b, h, q, kv: 2 * lib.tanh(score / 2),
    "table": lambda lib, table: lambda score, b, h, q, kv: score + table[h, q - kv + KV],
    "row of a table": lambda lib, table: lambda score, b, h, q, kv: score * table[h].sum() + b,
    "where": lambda lib, table: lambda score, b, h, q, kv: lib.where(q >= kv, score, -math.inf),
}
#: mask_mod, from the library.
MASKS: dict[str, Any] = {
    "causal": lambda lib: lambda b, h, q, kv: q >= kv,
    "window": lambda lib: lambda b, h, q, kv: (q - kv).abs() < 3,
    "lengths": lambda lib: _by_length(lib),
    "documents": lambda lib: _by_document(lib),
    "of heads": lambda lib: lambda b, h, q, kv: (kv <= q) | (h == 1),
    "nothing": lambda lib: lambda b, h, q, kv: (kv < 0) | (q > 4),
}


def _by_length(lib: Any) -> Any:
    lengths = lib.from_numpy(LENGTHS)
    return lambda b, h, q, kv: kv < lengths[b]


def _by_document(lib: Any) -> Any:
    documents = lib.from_numpy(DOCUMENTS)
    return lambda b, h, q, kv: documents[q] == documents[kv]


def run(lib: Any, flex: Any, score: str, mask: str | None, gradients: bool) -> list[Any]:
    q, k, v, table = (lib.from_numpy(a.copy()).requires_grad_(gradients) for a in (QUERY, KEY, VALUE, TABLE))
    block_mask = None
    if mask is not None:
        block_mask = flex.create_block_mask(MASKS[mask](lib), B, H, Q, KV, device="cpu", BLOCK_SIZE=(4, 2))
    out, lse = flex.flex_attention(
        q, k, v, SCORES[score](lib, table), block_mask, scale=0.7, enable_gqa=True, return_lse=True
    )
    found = [out, lse]
    if gradients:
        weights = lib.linspace(-1, 2, out.numel(), dtype=lib.float64).view(out.shape)
        ((out * weights).sum() + lib.where(lib.isinf(lse), 0.0, lse).sum()).backward()
        found += [t.grad for t in (q, k, v, table) if t.grad is not None]
    return [t.detach().numpy() for t in found]


def written_out(score: str, mask: str | None) -> list[Any]:
    """The same in PyTorch with every step written, since its own has no gradients on the CPU."""
    q, k, v, table = (torch.from_numpy(a.copy()).requires_grad_() for a in (QUERY, KEY, VALUE, TABLE))
    scores = q @ k.repeat_interleave(2, 1).mT * 0.7
    b, h, m, n = (
        torch.arange(size).view([-1 if i == d else 1 for i in range(4)]) for d, size in enumerate((B, H, Q, KV))
    )
    function = SCORES[score](torch, table)
    if score == "row of a table":
        scores = scores * table.sum(1).view(1, H, 1, 1) + b
    elif function is not None:
        scores = function(scores, b, h, m, n)
    if mask is not None:
        scores = torch.where(MASKS[mask](torch)(b, h, m, n), scores, -math.inf)
    attended = torch.ops.aten._safe_softmax(scores, -1)
    out, lse = attended @ v.repeat_interleave(2, 1), scores.logsumexp(-1)
    weights = torch.linspace(-1, 2, out.numel(), dtype=torch.float64).view(out.shape)
    ((out * weights).sum() + torch.where(lse.isinf(), 0.0, lse).sum()).backward()
    found = [out, lse, *[t.grad for t in (q, k, v, table) if t.grad is not None]]
    return [t.detach().numpy() for t in found]


PAIRS = [*[(score, None) for score in SCORES], *[("none", mask) for mask in MASKS], ("table", "causal")]


@pytest.mark.parametrize(("score", "mask"), PAIRS, ids=str)
def test_results_and_gradients(score: str, mask: str | None) -> None:
    found = run(opweave, ours, score, mask, True)
    for mine, other in zip(found, run(torch, theirs, score, mask, False), strict=False):
        close(mine, other, "nn, gradients of attention", (score, mask))
    expected = written_out(score, mask)
    if mask == "nothing":  # no difference: the gradient of a row that is masked whole is 0, and NaN where written out
        found, expected = found[:2], expected[:2]
    assert len(found) == len(expected)
    for mine, other in zip(found, expected, strict=True):
        close(mine, other, "nn, gradients of attention", (score, mask))


def test_rows_without_scores() -> None:
    found = run(opweave, ours, "none", "nothing", True)
    assert not found[0][:, :, :5].any()
    assert (found[1][:, :, :5] == -math.inf).all()
    assert all(np.isfinite(t).all() for t in found[2:])


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("apart", [True, False])
def test_masks_of_blocks(mask: str, apart: bool) -> None:
    made = [
        flex.create_block_mask(MASKS[mask](lib), B, H, Q, KV, "cpu", BLOCK_SIZE=(4, 2), separate_full_blocks=apart)
        for lib, flex in ((opweave, ours), (torch, theirs))
    ]
    for change in (lambda m: m, lambda m: m[1, 2:], lambda m: m[:, -1, 1:2]):
        one, other = map(change, made)
        for name in one._TENSORS:
            a, b = getattr(one, name), getattr(other, name)
            assert (a is None) == (b is None), name
            if a is not None and "num_blocks" in name:
                assert a.tolist() == b.tolist(), name
        assert one.shape == tuple(other.shape) and one.BLOCK_SIZE == other.BLOCK_SIZE
        assert one.to_dense().tolist() == other.to_dense().tolist()
        assert one.sparsity() == other.sparsity() and one.numel() == other.numel()
    assert made[0].kv_indices.tolist() == made[1].kv_indices.tolist()
    # The upper left corner has the blocks there; of PyTorch's it has others where some are not listed first.
    assert made[0]._adjust(5, 3).to_dense().tolist() == made[0].to_dense()[..., :2, :2].tolist()
    masks = [flex.create_mask(MASKS[mask](lib), B, H, Q, KV, "cpu") for lib, flex in ((opweave, ours), (torch, theirs))]
    assert masks[0].tolist() == masks[1].tolist()


def test_masks_together_and_of_scores() -> None:
    results = []
    for lib, flex in ((opweave, ours), (torch, theirs)):
        causal, window = MASKS["causal"](lib), MASKS["window"](lib)
        both = flex.create_mask(flex.and_masks(causal, window, flex.noop_mask), 1, None, Q, KV, "cpu")
        either = flex.create_mask(flex.or_masks(causal, window), None, 1, Q, KV, "cpu")
        of_scores = flex.create_mask(SCORES["where"](lib, None), 1, 1, Q, KV, "cpu")
        results.append([t.tolist() for t in (both, either, of_scores)])
    assert results[0] == results[1]


def test_blocks_that_are_not_listed_do_not_count() -> None:
    """Also where the function would let their elements count."""
    q, k, v = (opweave.from_numpy(a) for a in (QUERY[:, :2, :8], KEY, VALUE))
    count = opweave.ones(1, 1, 2, dtype=opweave.int32)
    columns = opweave.tensor([[[[1, 0], [0, 1]]]], dtype=opweave.int32)
    mask = ours.BlockMask.from_kv_blocks(count, columns, BLOCK_SIZE=4, seq_lengths=(8, KV))
    found = ours.flex_attention(q, k, v, block_mask=mask)
    for rows, keys in ((slice(0, 4), slice(4, 7)), (slice(4, 8), slice(0, 4))):
        part = opweave.nn.functional.scaled_dot_product_attention(q[:, :, rows], k[:, :, keys], v[:, :, keys])
        close(found[:, :, rows].numpy(), part.numpy(), "nn, gradients of attention")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_types_and_what_is_given_besides(dtype: str) -> None:
    results = []
    for lib, flex in ((opweave, ours), (torch, theirs)):
        q, k, v = (lib.from_numpy(a).to(getattr(lib, dtype)) for a in (QUERY[:, :2], KEY[:1], VALUE[:1]))
        mask = flex.create_block_mask(MASKS["causal"](lib), B, None, Q, KV, "cpu", BLOCK_SIZE=4)
        out, aux = flex.flex_attention(q, k, v, block_mask=mask, return_aux=flex.AuxRequest(lse=True))
        assert out.dtype == getattr(lib, dtype) and aux.lse.dtype == lib.float32 and aux.max_scores is None
        results.append([t.float().numpy() for t in (out, aux.lse)])
    difference = "nn, gradients of bfloat16" if dtype == "bfloat16" else "nn, gradients of float32"
    for mine, other in zip(*results, strict=True):
        close(mine, other, difference)


def test_largest_scores() -> None:
    """Which PyTorch does not give on the CPU."""
    q, k, v = (opweave.from_numpy(a) for a in (QUERY[:, :2], KEY, VALUE))
    _, aux = ours.flex_attention(q, k, v, scale=2.0, return_aux=ours.AuxRequest(max_scores=True))
    assert aux.lse is None
    assert opweave.allclose(aux.max_scores, 2 * (q @ k.mT).amax(-1))


def test_pictures() -> None:
    mask = ours.create_block_mask(MASKS["causal"](opweave), 1, 1, Q, KV, BLOCK_SIZE=(4, 2))
    other = theirs.create_block_mask(MASKS["causal"](torch), 1, 1, Q, KV, "cpu", BLOCK_SIZE=(4, 2))
    assert mask.to_string().split("\n")[1:-1] == other.to_string().split("\n")[1:-1]
    assert "sparsity=" in repr(mask) and "████" in str(mask)
    assert len(mask.as_tuple()) == 13


def test_compiled() -> None:
    q, k, v, table = (opweave.from_numpy(a).float() for a in (QUERY, KEY, VALUE, TABLE))
    mask = ours.create_block_mask(MASKS["causal"](opweave), None, None, Q, KV, BLOCK_SIZE=4)

    def attend(q: Any, k: Any, v: Any, table: Any) -> Any:
        return ours.flex_attention(q, k, v, SCORES["table"](opweave, table), mask, enable_gqa=True)

    outcomes = []
    for function in (attend, opweave.compile(attend, fullgraph=True)):
        leaves = [t.clone().requires_grad_() for t in (q, k, v, table)]
        out = function(*leaves)
        out.square().sum().backward()
        outcomes.append([out.detach().numpy(), *[t.grad.numpy() for t in leaves]])
    for a, b in zip(*outcomes, strict=True):
        close(a, b, "nn, gradients of float32")


REFUSED: dict[str, Any] = {
    "three dimensions": lambda lib, flex, q, m: flex.flex_attention(q[0], q[0], q[0]),
    "other widths": lambda lib, flex, q, m: flex.flex_attention(q, q[..., :2], q),
    "other heads": lambda lib, flex, q, m: flex.flex_attention(q, q[:, :2], q[:, :2]),
    "heads that do not divide": lambda lib, flex, q, m: flex.flex_attention(q, q[:, :3], q[:, :3], enable_gqa=True),
    "other batches": lambda lib, flex, q, m: flex.flex_attention(q, q[:1], q[:1]),
    "longer": lambda lib, flex, q, m: flex.flex_attention(lib.cat([q, q], 2), q, q, block_mask=m),
    "shorter": lambda lib, flex, q, m: flex.flex_attention(q[:, :, :4], q, q, block_mask=m),
    "a part of a mask": lambda lib, flex, q, m: flex.flex_attention(q, q, q, block_mask=m[:1]),
    "both requests": lambda lib, flex, q, m: flex.flex_attention(
        q, q, q, return_lse=True, return_aux=flex.AuxRequest()
    ),
    "no function": lambda lib, flex, q, m: flex.and_masks(1, 2),
    "three arguments": lambda lib, flex, q, m: flex.create_mask(lambda b, h, q: q, 1, 1, 2, 2, "cpu"),
    "a score in a mask": lambda lib, flex, q, m: flex.create_block_mask(
        lambda s, b, h, q, kv: s, 1, 1, 2, 2, device="cpu"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    errors = []
    for lib, flex in ((torch, theirs), (opweave, ours)):
        q = lib.from_numpy(QUERY)
        mask = flex.create_block_mask(MASKS["causal"](lib), None, None, Q, Q, "cpu", BLOCK_SIZE=4)
        with pytest.raises(errors[0] if errors else Exception) as info:
            REFUSED[name](lib, flex, q, mask)
        errors.append(info.type)


def test_the_module_is_there_without_an_import_of_it() -> None:
    program = (
        "import opweave; q = opweave.ones(1, 1, 2, 4); opweave.nn.attention.flex_attention.flex_attention(q, q, q)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
