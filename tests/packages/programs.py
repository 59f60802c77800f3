"""Programs of packages written for PyTorch, as they are, with opweave for `torch`: beside PyTorch's results.

python tests/packages/programs.py reference FILE [PART]    # PyTorch and the packages
python tests/packages/programs.py check FILE [PART]        # opweave and the packages

PART is a part of the programs' names, or several with commas between: those are tried that have one. A program takes
the module and gives tensors by name; weights follow from names and sizes, so that both have the same.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from models import fill

#: Of the greatest element of a result.
TOLERANCE = 3e-4
Found = dict[str, Any]


def draw(torch: Any, *sizes: int, seed: int = 0) -> Any:
    """Standard normal numbers, the same for both."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(sizes).astype(np.float32))


def whole(torch: Any, below: int, *sizes: int, seed: int = 0) -> Any:
    """Whole numbers, the same for both."""
    return torch.from_numpy(np.random.default_rng(seed).integers(0, below, sizes))


def gradients(name: str, module: Any) -> Found:
    """Of a module's parameters, after a backward pass."""
    return {f"{name} {key}": p.grad for key, p in module.named_parameters() if p.grad is not None}


def filled(torch: Any, module: Any) -> Any:
    """A module with weights that only its names and sizes decide."""
    fill(torch, module)
    return module


def differential_equations(torch: Any) -> Found:
    import torchdiffeq

    w, y0, found = draw(torch, 2, 2, seed=1).requires_grad_(), draw(torch, 3, 2, seed=2).requires_grad_(), Found()
    times = torch.linspace(0, 1, 5)
    for method in ("dopri5", "rk4", "bosh3", "adaptive_heun", "implicit_adams"):
        path = torchdiffeq.odeint(
            lambda s, y: torch.tanh(y @ w) - y * s, y0, times, method=method, rtol=1e-5, atol=1e-6
        )
        found |= {method: path, f"{method} gradients": torch.autograd.grad(path.pow(2).sum(), [w, y0])[0]}
    return found


def gaussian_processes(torch: Any) -> Found:
    import gpytorch

    x = draw(torch, 20, 2, seed=1)
    y = torch.sin(x[:, 0]) + 0.1 * x[:, 1]

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.covariance = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(ard_num_dims=2))

        def forward(self, at: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(at), self.covariance(at))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(likelihood)
    step, losses = torch.optim.Adam(model.parameters(), lr=0.1), list[Any]()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(10):
        step.zero_grad()
        loss = -marginal(model(x), y)
        loss.backward()
        step.step()
        losses.append(loss.detach())
    model.eval(), likelihood.eval()
    with torch.no_grad():
        told = likelihood(model(draw(torch, 5, 2, seed=9)))
    return {"losses": torch.stack(losses), "mean": told.mean, "variance": told.variance}


def flows(torch: Any) -> Found:
    import nflows.distributions
    import nflows.flows
    import nflows.transforms
    import zuko

    splines = nflows.transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
        features=4, hidden_features=16, num_bins=5, tails="linear", tail_bound=3.0
    )
    own = nflows.flows.Flow(splines, nflows.distributions.StandardNormal([4]))
    loss = -filled(torch, own).log_prob(draw(torch, 10, 4, seed=3))
    loss.mean().backward()
    found = {"nflows": loss, **gradients("nflows", own)}
    for name in ("NSF", "MAF", "NICE", "CNF"):
        flow = filled(torch, getattr(zuko.flows, name)(3, 2, **({} if name == "CNF" else {"transforms": 2}))).double()
        loss = -flow(draw(torch, 7, 2, seed=2).double()).log_prob(draw(torch, 7, 3, seed=3).double())
        loss.mean().backward()
        found |= {name: loss, **gradients(name, flow)}
    return found


def images(torch: Any) -> Found:
    import kornia

    x = draw(torch, 2, 3, 16, 20, seed=1).abs()
    f, g, c = kornia.filters, kornia.geometry, kornia.color
    found = {
        "gaussian": f.gaussian_blur2d(x, (5, 5), (1.5, 1.5)), "sobel": f.sobel(x), "median": f.median_blur(x, (3, 3)),
        "canny": f.canny(x)[0], "bilateral": f.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)),
        "rotate": g.rotate(x, torch.tensor([30.0, -20.0])), "resize": g.resize(x, (8, 9)), "pyrdown": g.pyrdown(x),
        "warp": g.warp_affine(x, torch.eye(3)[None, :2].repeat(2, 1, 1) + 0.05 * draw(torch, 2, 2, 3), (12, 10)),
        "elastic": g.elastic_transform2d(x, draw(torch, 2, 2, 16, 20, seed=8)),
    }  # fmt: skip
    return found | {name: getattr(c, f"rgb_to_{name}")(x / x.max()) for name in ("hsv", "lab", "luv", "yuv", "hls")}


def metrics(torch: Any) -> Found:
    import torchmetrics

    guessed = torch.softmax(draw(torch, 50, 4, seed=1), -1)
    labels, found = whole(torch, 4, 50, seed=2), Found()
    for name in ("Accuracy", "F1Score", "AUROC", "ConfusionMatrix", "CohenKappa", "CalibrationError", "JaccardIndex"):
        metric = getattr(torchmetrics, name)(task="multiclass", num_classes=4)
        metric.update(guessed[:20], labels[:20])
        metric.update(guessed[20:], labels[20:])
        found[name] = metric.compute()
    for name in ("MeanSquaredError", "R2Score", "PearsonCorrCoef", "SpearmanCorrCoef", "KendallRankCorrCoef"):
        found[name] = getattr(torchmetrics, name)()(draw(torch, 30, seed=3), draw(torch, 30, seed=4))
    return found


def graphs(torch: Any) -> Found:
    import torch_geometric.nn as layers

    x, found = draw(torch, 6, 8, seed=1), Found()
    edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 0, 3, 2, 5, 4, 2, 0]])
    made = {
        "gcn": layers.GCNConv(8, 4), "gat": layers.GATConv(8, 4, heads=2), "sage": layers.SAGEConv(8, 4),
        "gin": layers.GINConv(torch.nn.Linear(8, 4)), "transformer": layers.TransformerConv(8, 4, heads=2),
        "cheb": layers.ChebConv(8, 4, K=3), "edge": layers.EdgeConv(torch.nn.Linear(16, 4)),
        "gated": layers.GatedGraphConv(8, 2), "residual": layers.ResGatedGraphConv(8, 4),
    }  # fmt: skip
    for name, layer in made.items():
        found[name] = filled(torch, layer)(x, edges)
        found[name].pow(2).mean().backward()
        found |= gradients(name, layer)
    return found


def diffusion(torch: Any) -> Found:
    import diffusers

    net = diffusers.UNet2DConditionModel(
        sample_size=16, block_out_channels=(16, 32), layers_per_block=1, attention_head_dim=8, norm_num_groups=8,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=24,
    )  # fmt: skip
    noise = filled(torch, net.eval())(
        draw(torch, 2, 4, 16, 16, seed=1), torch.tensor([3, 11]), draw(torch, 2, 5, 24, seed=2)
    )
    noise.sample.pow(2).mean().backward()
    found = {"unet": noise.sample, **gradients("unet", net)}
    for name in ("DDIM", "EulerDiscrete", "DPMSolverMultistep", "PNDM", "HeunDiscrete", "UniPCMultistep"):
        scheduler = getattr(diffusers, f"{name}Scheduler")()
        scheduler.set_timesteps(8)
        x = draw(torch, 1, 3, 4, 4, seed=1)
        for i, at in enumerate(scheduler.timesteps):
            scaled = scheduler.scale_model_input(x, at)
            x = scheduler.step(0.1 * draw(torch, 1, 3, 4, 4, seed=10 + i) + 0.05 * scaled, at, x).prev_sample
        found[name] = x
    return found


def sparse_maxima(torch: Any) -> Found:
    import entmax

    x, found = draw(torch, 4, 9, seed=1).requires_grad_(), Found()
    for name in ("sparsemax", "entmax15", "entmax_bisect", "normmax_bisect"):
        result = getattr(entmax, name)(x, dim=-1)
        found |= {name: result, f"{name} gradient": torch.autograd.grad((result * draw(torch, 4, 9)).sum(), x)[0]}
    return found


def probabilistic_programs(torch: Any) -> Found:
    import pyro
    import pyro.distributions as dist
    import pyro.infer

    seen = draw(torch, 20, seed=1) + 1
    pyro.clear_param_store()

    def model() -> None:
        place = pyro.sample("place", dist.Normal(0.0, 1.0))
        scale = pyro.sample("scale", dist.Gamma(2.0, 2.0))
        with pyro.plate("all", 20):
            pyro.sample("seen", dist.Normal(place, scale), obs=seen)

    def guide() -> None:
        pyro.sample("place", dist.Delta(pyro.param("at", torch.tensor(0.1))))
        size = pyro.param("size", torch.tensor(0.5), constraint=dist.constraints.positive)
        pyro.sample("scale", dist.Delta(size))

    fit = pyro.infer.SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), pyro.infer.Trace_ELBO())
    losses = torch.tensor([fit.step() for _ in range(20)])
    chain = pyro.infer.MCMC(
        pyro.infer.HMC(model, step_size=0.1, num_steps=3), num_samples=3, warmup_steps=2, disable_progbar=True
    )
    chain.run()
    drawn = {name: torch.tensor(value.shape) for name, value in chain.get_samples().items()}
    return {"losses": losses, "at": pyro.param("at"), "size": pyro.param("size"), **drawn}


def explanations(torch: Any) -> Found:
    from captum import attr

    nn = torch.nn
    model = filled(torch, nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)))
    x = draw(torch, 2, 1, 8, 8, seed=2).requires_grad_()
    ways: dict[str, tuple[Any, dict[str, Any]]] = {
        "integrated": (attr.IntegratedGradients(model), {"n_steps": 20}), "saliency": (attr.Saliency(model), {}),
        "lift": (attr.DeepLift(model), {}), "map": (attr.LayerGradCam(model, model[0]), {}),
        "covered": (attr.Occlusion(model), {"sliding_window_shapes": (1, 4, 4), "strides": (1, 2, 2)}),
        "conducted": (attr.LayerConductance(model, model[1]), {"n_steps": 5}),
        "guided": (attr.GuidedBackprop(model), {}),
    }  # fmt: skip
    return {name: way.attribute(x, target=1, **options) for name, (way, options) in ways.items()}


# ---- trainers --------------------------------------------------------------------------------------------------------


def _task(torch: Any) -> tuple[Any, Any, Callable[[], Any]]:
    """A small network with weights that are the same for both, its data, and what loads it."""
    inputs = draw(torch, 64, 6, seed=11)
    labels = (inputs.sum(1) > 0).long()
    data = torch.utils.data.TensorDataset(inputs, labels)
    model = filled(torch, torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)))
    return model, (inputs, labels), lambda: torch.utils.data.DataLoader(data, batch_size=16)


def _weights(model: Any) -> Found:
    return {key: p.detach() for key, p in model.named_parameters()}


def ignite_trainer(torch: Any) -> Found:
    import ignite.engine
    import ignite.handlers
    import ignite.metrics

    model, _, load = _task(torch)
    step, loss = torch.optim.Adam(model.parameters(), lr=0.05), torch.nn.CrossEntropyLoss()
    trainer = ignite.engine.create_supervised_trainer(model, step, loss)
    metrics = {"loss": ignite.metrics.Loss(loss), "matrix": ignite.metrics.ConfusionMatrix(2)}
    judge = ignite.engine.create_supervised_evaluator(model, metrics=metrics)
    ignite.metrics.RunningAverage(output_transform=lambda x: x).attach(trainer, "average")
    rates = ignite.handlers.PiecewiseLinear(step, "lr", [(0, 0.01), (8, 0.05), (16, 0.001)])
    trainer.add_event_handler(ignite.engine.Events.ITERATION_STARTED, rates)
    with tempfile.TemporaryDirectory() as folder:
        keep = ignite.handlers.ModelCheckpoint(folder, "kept", n_saved=1)
        trainer.add_event_handler(ignite.engine.Events.EPOCH_COMPLETED, keep, {"model": model, "optimizer": step})
        trainer.run(load(), max_epochs=3)
        again = torch.load(keep.last_checkpoint)["model"]
    judge.run(load())
    numbers = torch.tensor([judge.state.metrics["loss"], trainer.state.metrics["average"]])
    saved = {f"saved {key}": value for key, value in again.items()}
    return {"numbers": numbers, "matrix": judge.state.metrics["matrix"], **_weights(model), **saved}


def accelerate_trainer(torch: Any) -> Found:
    import accelerate

    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    model, _, load = _task(torch)
    step = torch.optim.AdamW(model.parameters(), lr=0.05)
    model, step, loader, rates = accelerator.prepare(model, step, load(), torch.optim.lr_scheduler.LinearLR(step))
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(3):
            for inputs, labels in loader:
                with accelerator.accumulate(model):
                    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
                    accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    step.step()
                    rates.step()
                    step.zero_grad()
                    losses.append(loss.detach())
            if epoch == 1:
                accelerator.save_state(folder)
        trained = _weights(accelerator.unwrap_model(model))
        trained = {key: value.clone() for key, value in trained.items()}
        accelerator.load_state(folder)
    back = {f"loaded {key}": value for key, value in _weights(accelerator.unwrap_model(model)).items()}
    return {"losses": torch.stack(losses), **trained, **back}


def skorch_trainer(torch: Any) -> Found:
    import skorch
    import skorch.callbacks

    model, (inputs, labels), _ = _task(torch)

    class Probabilities(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores = model

        def forward(self, x: Any) -> Any:
            return torch.softmax(self.scores(x), -1)

    net = skorch.NeuralNetClassifier(
        Probabilities, max_epochs=4, lr=0.1, train_split=None, iterator_train__shuffle=False, verbose=0,
        optimizer=torch.optim.SGD, optimizer__momentum=0.9,
        callbacks=[skorch.callbacks.GradientNormClipping(1.0),
                   skorch.callbacks.LRScheduler(policy="StepLR", step_size=2)],
    )  # fmt: skip
    net.fit(inputs.numpy(), labels.numpy())
    losses = torch.tensor([float(epoch["train_loss"]) for epoch in net.history])
    return {"losses": losses, "told": torch.from_numpy(net.predict_proba(inputs.numpy())), **_weights(net.module_)}


def lightning_trainer(torch: Any) -> Found:
    import lightning

    network, _, load = _task(torch)
    losses: list[Any] = []

    class Task(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def training_step(self, batch: Any, index: int) -> Any:
            loss = torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1])
            self.log("loss", loss)
            losses.append(loss.detach())
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("judged", torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1]))

        def configure_optimizers(self) -> Any:
            step = torch.optim.Adam(self.parameters(), lr=0.05)
            return [step], [torch.optim.lr_scheduler.StepLR(step, 1, 0.5)]

    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False, default_root_dir=folder,
            gradient_clip_val=1.0, enable_checkpointing=True,
        )  # fmt: skip
        task = Task()
        trainer.fit(task, load(), load())
        (judged,) = trainer.validate(task, load(), verbose=False)
        kept = torch.load(trainer.checkpoint_callback.best_model_path, weights_only=False)["state_dict"]
    saved = {f"saved {key}": value for key, value in kept.items()}
    return {"losses": torch.stack(losses), "judged": torch.tensor(judged["judged"]), **_weights(network), **saved}


def _language_model(torch: Any) -> tuple[Any, Any]:
    """A small GPT-2 without dropout, and what it learns: sequences of 12 of 40 words."""
    import transformers

    sizes = {"vocab_size": 40, "n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 2}
    config = transformers.GPT2Config(**sizes, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    model = filled(torch, transformers.GPT2LMHeadModel(config))
    model.tie_weights()
    return model, whole(torch, 40, 24, 12, seed=3)


def transformers_trainer(torch: Any) -> Found:
    import transformers

    model, words = _language_model(torch)
    data = [{"input_ids": row, "labels": row} for row in words]
    with tempfile.TemporaryDirectory() as folder:
        options = transformers.TrainingArguments(
            folder, num_train_epochs=2, per_device_train_batch_size=4, learning_rate=1e-2, logging_steps=1,
            report_to=[], use_cpu=True, save_strategy="epoch", eval_strategy="epoch", disable_tqdm=True,
            lr_scheduler_type="cosine", gradient_accumulation_steps=2,
        )  # fmt: skip
        trainer = transformers.Trainer(model, options, train_dataset=data, eval_dataset=data)
        # The order of the data is drawn: as it stands, it is the same for both.
        trainer._get_train_sampler = lambda *_: torch.utils.data.SequentialSampler(data)
        trainer.train()
        judged, told = trainer.evaluate()["eval_loss"], trainer.predict(data).predictions
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    # The gradient of a bias of keys is 0 but for rounding, which Adam makes steps of.
    weights = {key: value for key, value in _weights(model).items() if not key.endswith("c_attn.bias")}
    return {"losses": torch.tensor([*losses, judged]), "scores": torch.from_numpy(told), **weights}


def low_rank_adapters(torch: Any) -> Found:
    import peft

    model, words = _language_model(torch)
    options = peft.LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True, lora_dropout=0.0)
    adapted = filled(torch, peft.get_peft_model(model, options))
    step, losses = torch.optim.AdamW([p for p in adapted.parameters() if p.requires_grad], lr=1e-2), list[Any]()
    for _ in range(4):
        step.zero_grad()
        loss = adapted(input_ids=words[:8], labels=words[:8]).loss
        loss.backward()
        step.step()
        losses.append(loss.detach())
    with tempfile.TemporaryDirectory() as folder:
        adapted.save_pretrained(folder)
        again = peft.PeftModel.from_pretrained(_language_model(torch)[0], folder)
    scores = [m(input_ids=words[:2]).logits.detach() for m in (adapted, again, adapted.merge_and_unload())]
    generated = model.eval().generate(words[:2, :4], max_new_tokens=8, do_sample=False, num_beams=2, pad_token_id=0)
    return {"losses": torch.stack(losses), "scores": torch.stack(scores), "generated": generated}


def keras_models(torch: Any) -> Found:
    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    layers, numbers = keras.layers, np.random.default_rng(7)
    rows, images = numbers.normal(size=(32, 8)), numbers.normal(size=(16, 12, 12, 3))
    labels, words = (rows.sum(1) > 0).astype(np.int32), numbers.integers(0, 20, (16, 10))
    sequence = keras.Input((7, 8))
    seen = layers.LayerNormalization()(layers.MultiHeadAttention(2, 4)(sequence, sequence) + sequence)
    models = {
        "layers": (
            [keras.Input((8,)), layers.Dense(16, activation="gelu"), layers.BatchNormalization(), layers.Dense(2)],
            rows, labels, "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        ),
        "images": (
            [keras.Input((12, 12, 3)), layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
             layers.DepthwiseConv2D(3), layers.MaxPooling2D(), layers.Conv2DTranspose(4, 2, strides=2),
             layers.GroupNormalization(2), layers.GlobalAveragePooling2D(), layers.Dense(2)],
            images, np.eye(2)[labels[:16]], keras.optimizers.SGD(0.05, momentum=0.9), "mse",
        ),
        "words": (
            [keras.Input((10,)), layers.Embedding(20, 8), layers.Bidirectional(layers.LSTM(6, return_sequences=True)),
             layers.GRU(5), layers.Dense(1)],
            words, numbers.normal(size=(16, 1)), "rmsprop", "mae",
        ),
        "attention": (
            keras.Model(sequence, layers.Dense(3, activation="softmax")(layers.GlobalAveragePooling1D()(seen))),
            numbers.normal(size=(16, 7, 8)), numbers.integers(0, 3, 16), "adamw", "sparse_categorical_crossentropy",
        ),
    }  # fmt: skip
    found = Found()
    for name, (made, inputs, wanted, step, loss) in models.items():
        model = keras.Sequential(made) if isinstance(made, list) else made
        weights = np.random.default_rng(5)
        model.set_weights([np.abs(weights.normal(size=w.shape)) * 0.1 for w in model.get_weights()])
        model.compile(step, loss)
        history = model.fit(inputs, wanted, epochs=2, batch_size=8, shuffle=False, verbose=0)
        told = torch.from_numpy(model.predict(inputs, verbose=0))
        found |= {f"{name} losses": torch.tensor(history.history["loss"]), f"{name} told": told}
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.keras")
        again = keras.models.load_model(f"{folder}/model.keras")
        return {**found, "loaded": torch.from_numpy(again.predict(inputs, verbose=0))}


#: Of timm's, those that draw numbers of their own, or round to bfloat16 inside.
OWN_DRAWS = ("adahessian*", "kron*", "*muon*", "fused*", "bnb*")


def optimizers(torch: Any) -> Found:
    """Six steps of each of timm's optimizers, one tensor at a time and by ops on lists."""
    import timm.optim

    found = Found()
    x, labels = draw(torch, 16, 6, seed=5).double(), whole(torch, 5, 16, seed=6)
    for name in timm.optim.list_optimizers(exclude_filters=list(OWN_DRAWS)):
        for foreach in (False, True):
            model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 5))
            filled(torch, model).double()
            try:
                step = timm.optim.create_optimizer_v2(model, opt=name, lr=0.01, weight_decay=0.05, foreach=foreach)
            except TypeError:  # it has no such choice
                continue
            for _ in range(6):
                step.zero_grad()
                torch.nn.functional.cross_entropy(model(x), labels).backward()
                step.step()
            found |= {f"{name}, {foreach}, {key}": p.detach() for key, p in model.named_parameters()}
    return found


PROGRAMS: dict[str, Callable[[Any], Found]] = {
    f.__name__: f
    for f in (
        differential_equations, gaussian_processes, flows, images, metrics, graphs, diffusion, sparse_maxima,
        probabilistic_programs, explanations,
        optimizers, ignite_trainer, accelerate_trainer, skorch_trainer, lightning_trainer, transformers_trainer,
        low_rank_adapters, keras_models,
    )
}  # fmt: skip


def results(torch: Any, part: str) -> dict[str, dict[str, np.ndarray]]:
    """What the programs give, as arrays."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, program in PROGRAMS.items():
        if any(p in name for p in part.split(",")):
            torch.manual_seed(0)
            random.seed(0)
            found[name] = {key: np.array(value.detach().numpy()) for key, value in program(torch).items()}
    return found


def write_references(path: str, part: str) -> None:
    """What PyTorch makes of the programs."""
    import torch

    # The index's torchvision is built for CUDA: its library does not load for CPUs, nor are there its ops.
    registered = torch.library.register_fake
    torch.library.register_fake = lambda op, *args, **about: (
        (lambda fn: fn) if str(op).startswith("torchvision") else registered(op, *args, **about)
    )
    flat = {f"{name}/{key}": value for name, all_of in results(torch, part).items() for key, value in all_of.items()}
    np.savez(path, **flat)  # pyright: ignore[reportArgumentType]  # of its names none is an option


def check(path: str, part: str) -> bool:
    """Whether opweave makes the same of them."""
    import opweave.compat

    opweave.compat.install(force=True)
    import torch

    known, good = np.load(path), True
    for name, found in results(torch, part).items():
        wanted = {key.removeprefix(f"{name}/"): known[key] for key in known.files if key.startswith(f"{name}/")}
        wrong = [key for key in {*wanted, *found} if not _agree(found.get(key), wanted.get(key))]
        print(f"{name}: {len(wanted) - len(wrong)} of {len(wanted)} right {' '.join(wrong)}")
        good &= not wrong
    return good


def _agree(found: np.ndarray | None, wanted: np.ndarray | None) -> bool:
    if found is None or wanted is None or (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return False
    scale = np.abs(wanted).max(initial=0) if wanted.dtype.kind == "f" else 0
    return np.allclose(found, wanted, rtol=0, atol=TOLERANCE * scale + 1e-6 * (scale > 0), equal_nan=True)


if __name__ == "__main__":
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    if sys.argv[1] == "reference":
        write_references(sys.argv[2], part)
    else:
        sys.exit(0 if check(sys.argv[2], part) else 1)
