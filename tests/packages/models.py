"""Models of transformers and timm, as they are, with opweave for `torch`: beside PyTorch's, from the same weights.

python tests/packages/models.py reference FILE [PART]    # PyTorch and the packages; results, gradients
python tests/packages/models.py check FILE [PART]        # opweave and the packages, eager and compiled

PART is a part of the models' names: those are tried that have it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

#: Of the greatest element of a result or gradient.
TOLERANCE = 2e-4
#: Gradients through many layers of normalization in training mode amplify the rounding of sums.
DEEP = 2e-3


def models(part: str = "") -> Iterator[tuple[str, Any, dict[str, np.ndarray], float]]:
    """Small models, each with inputs and a tolerance; nothing is dropped out."""
    for name, make, inputs, tolerance in (*_of_transformers(), *_of_timm()):
        if part in name:
            yield name, make(), inputs, tolerance


def _of_transformers() -> Iterator[tuple[str, Any, dict[str, np.ndarray], float]]:
    import transformers as hf

    text = np.random.default_rng(0).integers(0, 96, (2, 16))
    words = {"input_ids": text, "labels": text}
    image = np.random.default_rng(1).standard_normal((2, 3, 32, 32)).astype(np.float32)
    pictures = {"pixel_values": image, "labels": np.array([1, 2])}
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    kept = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    for attention in ("eager", "sdpa"):
        about: dict[str, Any] = {"vocab_size": 96, "attn_implementation": attention}
        ends = {"bos_token_id": 0, "eos_token_id": 1, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
        gpt = hf.GPT2Config(n_positions=32, n_embd=32, n_layer=2, n_head=4, **ends, **about)
        llama = hf.LlamaConfig(num_key_value_heads=2, **size, **about)
        bert = hf.BertConfig(**size, **kept, **about)
        vit = hf.ViTConfig(image_size=32, patch_size=8, num_labels=5, attn_implementation=attention, **size, **kept)
        yield f"gpt2-{attention}", lambda c=gpt: hf.GPT2LMHeadModel(c), words, TOLERANCE
        yield f"llama-{attention}", lambda c=llama: hf.LlamaForCausalLM(c), words, TOLERANCE
        yield f"bert-{attention}", lambda c=bert: hf.BertForMaskedLM(c), words, TOLERANCE
        yield f"vit-{attention}", lambda c=vit: hf.ViTForImageClassification(c), pictures, TOLERANCE
    yield from _more_of_transformers(hf, text, image, size)
    resnet = hf.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], num_labels=5)
    yield "resnet", lambda: hf.ResNetForImageClassification(resnet), pictures, TOLERANCE


def _more_of_transformers(
    hf: Any, text: np.ndarray, image: np.ndarray, size: dict[str, int]
) -> Iterator[tuple[str, Any, dict[str, np.ndarray], float]]:
    """Encoders beside decoders, two kinds of input, convolutions over time; attention as the package chooses it."""
    words = {"input_ids": text, "labels": text}
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    t5 = hf.T5Config(
        vocab_size=96, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0,
        decoder_start_token_id=2, pad_token_id=2, eos_token_id=1,
    )  # fmt: skip
    qwen = hf.Qwen2Config(vocab_size=96, num_key_value_heads=2, **size, **ends)
    mistral = hf.MistralConfig(vocab_size=96, num_key_value_heads=2, sliding_window=8, **size, **ends)
    distil = hf.DistilBertConfig(
        vocab_size=96, dim=32, n_layers=2, n_heads=4, hidden_dim=64, dropout=0.0, attention_dropout=0.0
    )
    about = {"attention_dropout": 0.0, **size}
    clip = hf.CLIPConfig(
        text_config={"vocab_size": 96, "max_position_embeddings": 32, **ends, **about},
        vision_config={"image_size": 32, "patch_size": 8, **about}, projection_dim=16,
    )  # fmt: skip
    whisper = hf.WhisperConfig(
        vocab_size=96, num_mel_bins=8, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=16,
        max_target_positions=32, dropout=0.0, attention_dropout=0.0, decoder_start_token_id=2, **ends,
    )  # fmt: skip
    sound = np.random.default_rng(4).standard_normal((2, 8, 32)).astype(np.float32)
    heard = {"input_features": sound, "labels": text}
    said = {"decoder_input_ids": text}
    yield "t5", lambda: hf.T5ForConditionalGeneration(t5), words | said, TOLERANCE
    yield "whisper", lambda: hf.WhisperForConditionalGeneration(whisper), heard | said, TOLERANCE
    yield "qwen2", lambda: hf.Qwen2ForCausalLM(qwen), words, TOLERANCE
    yield "mistral", lambda: hf.MistralForCausalLM(mistral), words, TOLERANCE
    yield "distilbert", lambda: hf.DistilBertForMaskedLM(distil), words, TOLERANCE
    yield "clip", lambda: hf.CLIPModel(clip), {"input_ids": text, "pixel_values": image}, TOLERANCE


def _of_timm() -> Iterator[tuple[str, Any, dict[str, np.ndarray], float]]:
    def create(name: str, about: dict[str, int]) -> Any:
        import timm

        return timm.create_model(name, num_classes=5, **about)

    image = np.random.default_rng(3).standard_normal((4, 3, 64, 64)).astype(np.float32)
    settings: dict[str, dict[str, int]] = {
        "resnet18": {}, "vit_tiny_patch16_224": {"img_size": 64}, "mobilenetv3_small_050": {}, "convnext_atto": {},
        "efficientnet_b0": {}, "regnety_002": {}, "densenet121": {}, "mixer_s32_224": {"img_size": 64},
        "swin_s3_tiny_224": {"img_size": 64, "window_size": 2},
    }  # fmt: skip
    for name, about in settings.items():
        yield f"timm-{name}", lambda n=name, a=about: create(n, a), {"x": image}, DEEP


def fill(torch: Any, model: Any) -> None:
    """Give a model weights that only its names and sizes decide."""
    rng = np.random.default_rng(2)
    with torch.no_grad():
        for _, t in sorted(model.named_parameters()):
            fan = max(t[0].numel(), 1) if t.dim() > 1 else 0
            value = rng.standard_normal(tuple(t.shape)) / np.sqrt(fan) if fan else rng.uniform(0.5, 1.0, tuple(t.shape))
            t.copy_(torch.from_numpy(np.asarray(value, np.float32)))


def outcome(torch: Any, model: Any, inputs: dict[str, np.ndarray], call: Any = None) -> dict[str, np.ndarray]:
    """Loss, logits and gradients of a training step, and what the model's buffers are after it."""
    model.train()
    model.zero_grad()
    out = (call or model)(**{name: torch.from_numpy(array) for name, array in inputs.items()})
    logits = logits_of(out)
    loss = out.loss if hasattr(out, "loss") and out.loss is not None else logits.square().mean()
    loss.backward()
    found = {"loss": loss, "logits": logits}
    found |= {f"gradient of {name}": p.grad for name, p in model.named_parameters() if p.grad is not None}
    return {name: t.detach().numpy().copy() for name, t in found.items()}


def inference(torch: Any, model: Any, inputs: dict[str, np.ndarray], call: Any = None) -> dict[str, np.ndarray]:
    """Logits without gradients; no labels."""
    model.eval()
    given = {name: torch.from_numpy(array) for name, array in inputs.items() if name != "labels"}
    with torch.no_grad():
        out = (call or model)(**given)
    return {"inference": logits_of(out).numpy().copy()}


def logits_of(out: Any) -> Any:
    """What a model gives: a tensor, or a tuple with names, in which it may have two of them."""
    return next(
        (found for name in ("logits", "logits_per_image") if (found := getattr(out, name, None)) is not None), out
    )


def start(torch: Any, model: Any) -> None:
    """The model as it is before a step: weights, and fresh statistics."""
    fill(torch, model)
    for name, t in model.named_buffers():
        if "running_" in name:
            t.fill_(1.0 if name.endswith("var") else 0.0)


def write_references(path: str, part: str) -> None:
    """What PyTorch makes of the models."""
    import torch

    # The index's torchvision is built for CUDA: its library, which defines these, does not load for CPUs.
    library = torch.library.Library("torchvision", "FRAGMENT")
    for op in ("nms", "qnms"):
        library.define(f"{op}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    found = dict[str, np.ndarray]()
    for name, model, inputs, _ in models(part):
        for step in (inference, outcome):
            start(torch, model)
            found |= {f"{name}/{key}": array for key, array in step(torch, model, inputs).items()}
    np.savez(path, **found)  # pyright: ignore[reportArgumentType]  # of its names none is an option


def check(path: str, part: str) -> bool:
    """Whether opweave makes the same of them: eager, and compiled."""
    import opweave
    import opweave.compat

    opweave.compat.install(force=True)
    import torch

    known = np.load(path)
    good = True
    for name, model, inputs, tolerance in models(part):
        wanted = {key.removeprefix(f"{name}/"): known[key] for key in known.files if key.startswith(f"{name}/")}
        compiled, whole = opweave.compile(model), opweave.compile(model, fullgraph=True)
        tries = [(name, None, 1), (f"{name} compiled", compiled, 3), (f"{name} as one graph", whole, 2)]
        for text, call, times in tries:
            found = dict[str, np.ndarray]()
            began = time.perf_counter()
            for step in (inference, outcome):
                for _ in range(times):  # the first call of a compiled function may run in parts
                    start(torch, model)
                    found |= step(torch, model, inputs, call)
            took = time.perf_counter() - began
            worst, where = 0.0, ""
            # What is nothing but rounding, as the gradient of a bias before a normalization, is compared with the rest.
            least = 1e-3 * max(np.abs(array).max() for key, array in wanted.items() if key.startswith("gradient"))
            for key, array in wanted.items():
                error = (
                    float(np.abs(found[key] - array).max() / max(np.abs(array).max(), least)) if key in found else 1e9
                )
                if not error <= worst:
                    worst, where = error, key
            parts = "" if call is None else f"; {how(call)}"
            same = found.keys() == wanted.keys() and worst <= tolerance and "parts" not in parts
            good &= same
            print(
                f"{'ok' if same else 'FAILED':6} {text}: {len(wanted)} results and gradients, off by {worst:.1e} "
                f"({where}); {took:.1f} s{parts}",
                flush=True,
            )
    return good


def how(module: Any) -> str:
    """What a compiled module consists of."""
    function = module.__dict__["function"]
    if function.parts is not None:
        return f"in parts, {function.parts.segments} segments: {function.parts.reason}"
    return f"{len(function.entries)} graphs"


if __name__ == "__main__":
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    if sys.argv[1] == "reference":
        write_references(sys.argv[2], part)
    else:
        sys.exit(not check(sys.argv[2], part))
