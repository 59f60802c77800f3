"""Models of transformers, as they are, with opweave for `torch`: results and gradients beside PyTorch's, same weights.

python tests/packages/models.py reference FILE     # PyTorch and transformers; weights, results, gradients
python tests/packages/models.py check FILE         # opweave and transformers
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

#: Of the greatest element of a result or gradient.
TOLERANCE = 2e-5


def models() -> Iterator[tuple[str, Any, dict[str, np.ndarray]]]:
    """Small models, each with inputs; nothing is dropped out."""
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
        yield f"gpt2-{attention}", hf.GPT2LMHeadModel(gpt), words
        yield f"llama-{attention}", hf.LlamaForCausalLM(hf.LlamaConfig(num_key_value_heads=2, **size, **about)), words
        yield f"bert-{attention}", hf.BertForMaskedLM(hf.BertConfig(**size, **kept, **about)), words
        vit = hf.ViTConfig(image_size=32, patch_size=8, num_labels=5, attn_implementation=attention, **size, **kept)
        yield f"vit-{attention}", hf.ViTForImageClassification(vit), pictures
    resnet = hf.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], num_labels=5)
    yield "resnet", hf.ResNetForImageClassification(resnet), pictures


def outcome(torch: Any, model: Any, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Loss, logits and gradients of a training step."""
    model.train()
    out = model(**{name: torch.from_numpy(array) for name, array in inputs.items()})
    out.loss.backward()
    found = {"loss": out.loss, "logits": out.logits}
    found |= {f"gradient of {name}": p.grad for name, p in model.named_parameters() if p.grad is not None}
    return {name: t.detach().numpy() for name, t in found.items()}


def write_references(path: str) -> None:
    """Weights, and what PyTorch makes of them."""
    import torch

    torch.manual_seed(0)
    found = dict[str, np.ndarray]()
    for name, model, inputs in models():
        found |= {f"{name}/weight/{key}": t.detach().numpy().copy() for key, t in model.state_dict().items()}
        found |= {f"{name}/found/{key}": array for key, array in outcome(torch, model, inputs).items()}
    np.savez(path, **found)


def check(path: str) -> bool:
    """Whether opweave makes the same of them."""
    import opweave.compat

    opweave.compat.install()
    import torch

    known = np.load(path)
    good = True
    for name, model, inputs in models():
        weights, wanted = (
            {key.partition(part)[2]: known[key] for key in known.files if key.startswith(name + part)}
            for part in ("/weight/", "/found/")
        )
        model.load_state_dict({key: torch.tensor(array) for key, array in weights.items()})
        found = outcome(torch, model, inputs)
        worst, where = 0.0, ""
        for key, array in wanted.items():
            error = float(np.abs(found[key] - array).max() / max(np.abs(array).max(), 1e-4))
            if not error <= worst:
                worst, where = error, key
        same = found.keys() == wanted.keys() and worst <= TOLERANCE
        good &= same
        print(
            f"{'ok' if same else 'FAILED':6} {name}: {len(wanted)} results and gradients, off by {worst:.1e} ({where})"
        )
    return good


if __name__ == "__main__":
    if sys.argv[1] == "reference":
        write_references(sys.argv[2])
    else:
        sys.exit(not check(sys.argv[2]))
