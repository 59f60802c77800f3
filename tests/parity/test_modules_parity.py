"""Modules beside PyTorch's: constructors, texts, states, results and gradients, hooks, utilities."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import close

import opweave
from opweave import nn
from opweave.registry.errors import ArgumentError

draw = np.random.default_rng(0)


def normal(*sizes: int) -> np.ndarray:
    return draw.normal(size=sizes)


LINE, IMAGE, VOLUME = normal(2, 4, 9), normal(2, 4, 9, 8), normal(2, 4, 5, 6, 5)
ACTIVATIONS = (
    "ReLU SiLU Mish Hardswish Hardsigmoid SELU Hardtanh ReLU6 ELU CELU LeakyReLU GELU Sigmoid Tanh LogSigmoid Softsign "
    "Tanhshrink Softplus Hardshrink Softshrink"
)
#: Class -> arguments of the constructor and of the call.
CASES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "Identity": ((), (LINE,)),
    "Linear": ((9, 3), (LINE,)),
    "Bilinear": ((9, 9, 3), (LINE, LINE)),
    "Conv1d": ((4, 6, 3, 2, 1, 2, 2), (LINE,)),
    "Conv2d": ((4, 6, (3, 2), 1, "same", 1, 1, False, "circular"), (IMAGE,)),
    "Conv3d": ((4, 2, 3), (VOLUME,)),
    "ConvTranspose1d": ((4, 6, 3, 2), (LINE,)),
    "ConvTranspose2d": ((4, 6, 3, 2, 1, 1, 2), (IMAGE,)),
    "ConvTranspose3d": ((4, 2, 2), (VOLUME,)),
    "BatchNorm1d": ((4,), (LINE,)),
    "BatchNorm2d": ((4, 1e-3, None), (IMAGE,)),
    "BatchNorm3d": ((4, 1e-5, 0.2, False, False), (VOLUME,)),
    "InstanceNorm1d": ((4, 1e-5, 0.1, True, True), (LINE,)),
    "InstanceNorm2d": ((4,), (IMAGE,)),
    "InstanceNorm3d": ((4,), (VOLUME,)),
    "LayerNorm": (((4, 9),), (LINE,)),
    "RMSNorm": ((9,), (LINE,)),
    "GroupNorm": ((2, 4), (IMAGE,)),
    "LocalResponseNorm": ((2,), (IMAGE,)),
    "Embedding": ((7, 3, -1), (draw.integers(0, 7, (2, 5)),)),
    "EmbeddingBag": ((7, 3), (draw.integers(0, 7, (2, 5)),)),
    "MultiheadAttention": ((9, 3), (LINE, LINE, LINE)),
    "RNN": ((9, 5, 2, "relu"), (LINE,)),
    "LSTM": ((9, 5, 2, True, True, 0.0, True, 3), (LINE,)),
    "GRU": ((9, 5, 1, False), (LINE,)),
    "RNNCell": ((9, 5), (LINE[0],)),
    "LSTMCell": ((9, 5), (LINE[0],)),
    "GRUCell": ((9, 5, False), (LINE[0],)),
    "TransformerEncoderLayer": ((9, 3, 8, 0.0, "gelu", 1e-5, False, True), (LINE,)),
    "TransformerDecoderLayer": ((9, 3, 8, 0.0), (LINE, LINE)),
    "Transformer": ((9, 3, 1, 1, 8, 0.0), (LINE, LINE)),
    "MaxPool1d": ((3, 2), (LINE,)),
    "MaxPool2d": ((3, 2, 1), (IMAGE,)),
    "MaxPool3d": ((2,), (VOLUME,)),
    "AvgPool1d": ((3, 2, 1, True), (LINE,)),
    "AvgPool2d": (((3, 2), 2, 1, False, False), (IMAGE,)),
    "AvgPool3d": ((2,), (VOLUME,)),
    "LPPool1d": ((2, 3), (LINE,)),
    "LPPool2d": ((2, 3, 2), (IMAGE,)),
    "LPPool3d": ((3, 2), (np.abs(VOLUME),)),
    "AdaptiveAvgPool1d": ((4,), (LINE,)),
    "AdaptiveAvgPool2d": (((3, None),), (IMAGE,)),
    "AdaptiveAvgPool3d": ((2,), (VOLUME,)),
    "AdaptiveMaxPool1d": ((4,), (LINE,)),
    "AdaptiveMaxPool2d": ((3,), (IMAGE,)),
    "AdaptiveMaxPool3d": ((2,), (VOLUME,)),
    "ConstantPad1d": (((1, 2), 0.5), (LINE,)),
    "ConstantPad2d": ((1, 0.5), (IMAGE,)),
    "ConstantPad3d": ((1, 0.5), (VOLUME,)),
    "ZeroPad1d": ((1,), (LINE,)),
    "ZeroPad2d": (((1, 0, 2, 1),), (IMAGE,)),
    "ZeroPad3d": ((1,), (VOLUME,)),
    "ReflectionPad1d": ((2,), (LINE,)),
    "ReflectionPad2d": ((2,), (IMAGE,)),
    "ReflectionPad3d": ((1,), (VOLUME,)),
    "ReplicationPad1d": ((2,), (LINE,)),
    "ReplicationPad2d": ((2,), (IMAGE,)),
    "ReplicationPad3d": ((1,), (VOLUME,)),
    "CircularPad1d": ((2,), (LINE,)),
    "CircularPad2d": ((2,), (IMAGE,)),
    "CircularPad3d": ((1,), (VOLUME,)),
    "Flatten": ((), (IMAGE,)),
    "Unflatten": ((1, (2, 2)), (IMAGE,)),
    "Upsample": ((None, 2, "bilinear", False), (IMAGE,)),
    "UpsamplingNearest2d": ((5,), (IMAGE,)),
    "UpsamplingBilinear2d": ((None, 2.0), (IMAGE,)),
    "PixelShuffle": ((2,), (IMAGE,)),
    "PixelUnshuffle": ((2,), (IMAGE[..., :8, :],)),
    "ChannelShuffle": ((2,), (IMAGE,)),
    "Unfold": ((3, 1, 1, 2), (IMAGE,)),
    "Fold": (((4, 5), 2), (normal(2, 8, 12),)),
    "PairwiseDistance": ((), (LINE[0], LINE[1])),
    "CosineSimilarity": ((), (LINE[0], LINE[1])),
    "Threshold": ((0.1, 2.0), (LINE,)),
    "PReLU": ((4,), (LINE,)),
    "Softmax": ((1,), (LINE,)),
    "Softmin": ((1,), (LINE,)),
    "LogSoftmax": ((-1,), (LINE,)),
    "Softmax2d": ((), (IMAGE,)),
    "GLU": ((1,), (LINE,)),
    "L1Loss": ((), (LINE, LINE + 1)),
    "MSELoss": ((None, None, "sum"), (LINE, LINE + 1)),
    "SmoothL1Loss": ((), (LINE, LINE + 0.3)),
    "HuberLoss": (("mean", 0.5), (LINE, LINE + 1)),
    "CrossEntropyLoss": ((None, None, 1, None, "mean", 0.1), (LINE, draw.integers(0, 4, (2, 9)))),
    "LinearCrossEntropyLoss": ((9, 4), (LINE[0], draw.integers(0, 4, (4,)))),
    "NLLLoss": ((), (LINE, draw.integers(0, 4, (2, 9)))),
    "BCELoss": ((), (draw.random((3, 4)), draw.random((3, 4)))),
    "BCEWithLogitsLoss": ((), (LINE, draw.random(LINE.shape))),
    "KLDivLoss": ((None, None, "batchmean"), (LINE, draw.random(LINE.shape))),
    "PoissonNLLLoss": ((), (LINE, draw.random(LINE.shape))),
    "GaussianNLLLoss": ((), (LINE, LINE + 1, draw.random(LINE.shape) + 0.1)),
    "HingeEmbeddingLoss": ((), (LINE, np.sign(normal(*LINE.shape)))),
    "SoftMarginLoss": ((), (LINE, np.sign(normal(*LINE.shape)))),
    "MultiLabelMarginLoss": ((), (LINE[0], np.tile([3, 0, -1, 1, 1, 1, 1, 1, 1], (4, 1)))),
    "MultiLabelSoftMarginLoss": ((), (LINE[0], draw.integers(0, 2, (4, 9)).astype(float))),
    "MultiMarginLoss": ((), (LINE[0], draw.integers(0, 9, 4))),
    "CosineEmbeddingLoss": ((), (LINE[0], LINE[1], np.array([1.0, -1, 1, -1]))),
    "MarginRankingLoss": ((0.1,), (LINE[0], LINE[1], np.sign(normal(4, 9)))),
    "TripletMarginLoss": ((), (LINE[0], LINE[1], LINE[0] + 1)),
    "TripletMarginWithDistanceLoss": ((), (LINE[0], LINE[1], LINE[0] + 1)),
    **dict.fromkeys(ACTIVATIONS.split(), ((), (LINE,))),
}
#: What their first call makes of them is a class above (`tests/runtime/test_lazy_modules.py`).
LAZY = {name for name in dir(torch.nn) if name.startswith("Lazy")}
#: Compared by their signatures only: what they draw, or are, is told by other tests.
DRAWN = {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU",
         "FractionalMaxPool2d", "FractionalMaxPool3d", *LAZY}  # fmt: skip
APART = {
    "AdaptiveLogSoftmaxWithLoss",
    "Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Parameter", "Buffer",
    "CTCLoss", "LinearCrossEntropyOptions", "UninitializedParameter", "UninitializedBuffer",
    "TransformerEncoder", "TransformerDecoder", "RNNBase", "RNNCellBase", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
}  # fmt: skip


def both(array: np.ndarray) -> tuple[Any, Any]:
    given = opweave.from_numpy(array.copy()), torch.from_numpy(array.copy())
    return tuple(t.requires_grad_() for t in given) if array.dtype.kind == "f" else given


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [] if result is None else [result]


def test_every_class_is_compared():
    assert set(CASES) | DRAWN | APART == {name for name in dir(nn) if isinstance(getattr(nn, name), type)}


@pytest.mark.parametrize("name", [*CASES, *sorted(DRAWN)])
def test_a_class_has_the_parameters_of_pytorchs(name):
    ours, theirs = getattr(nn, name), getattr(torch.nn, name)
    wanted = [*inspect.signature(theirs.__init__).parameters.values()]
    found = [*inspect.signature(ours.__init__).parameters.values()]
    if all(p.kind is not p.VAR_POSITIONAL for p in wanted):
        assert [p.name for p in found] == [p.name for p in wanted if p.name not in ("min_value", "max_value")]
        defaults = zip(found, (p for p in wanted if p.name not in ("min_value", "max_value")), strict=True)
        for p, other in defaults:
            assert p.default == other.default or callable(p.default), p.name
    names = [[*inspect.signature(kind.forward).parameters] for kind in (ours, theirs)]
    assert names[0] == names[1]


@pytest.mark.parametrize("name", CASES)
def test_a_class_does_what_pytorchs_does(name):
    arguments, inputs = CASES[name]
    ours, theirs = getattr(nn, name)(*arguments).double(), getattr(torch.nn, name)(*arguments).double()
    assert repr(ours) == repr(theirs)
    state = theirs.state_dict()
    assert [(k, tuple(v.shape)) for k, v in ours.state_dict().items()] == [
        (k, tuple(v.shape)) for k, v in state.items()
    ]
    ours.load_state_dict({k: opweave.from_numpy(v.numpy().copy()) for k, v in state.items()})
    for mode in (True, False):
        ours.train(mode)
        theirs.train(mode)
        pairs = [both(array) for array in inputs]
        if name.endswith("Loss"):  # of which some refuse a target that requires grad
            pairs = [pairs[0], *((a.detach(), b.detach()) for a, b in pairs[1:])]
        results = ours(*(a for a, _ in pairs)), theirs(*(b for _, b in pairs))
        mine, other = leaves(results[0]), leaves(results[1])
        for one, two in zip(mine, other, strict=True):
            close(one.detach().numpy(), two.detach().numpy(), "nn, gradients of attention")
        ways = [(a, b) for a, b in zip(mine, other, strict=True) if b.requires_grad]
        if not ways:
            continue  # no difference: nothing of it can be differentiated
        sum((a * a).sum() for a, _ in ways).backward()
        sum((b * b).sum() for _, b in ways).backward()
        graded = [*pairs, *zip(ours.parameters(), theirs.parameters(), strict=True)]
        for one, two in graded:
            if two.grad is not None:
                close(one.grad.numpy(), two.grad.numpy(), "nn, gradients through norms")
            else:
                assert one.grad is None
        for one, two in zip(ours.buffers(), theirs.buffers(), strict=True):
            close(one.numpy(), two.numpy(), "nn, gradients")


def test_packed_sequences():
    lengths, rows = [2, 5, 3], normal(3, 5, 4)
    for kind in ("LSTM", "GRU", "RNN"):
        theirs = getattr(torch.nn, kind)(4, 3, 2, bidirectional=True, batch_first=True).double()
        ours = getattr(nn, kind)(4, 3, 2, bidirectional=True, batch_first=True).double()
        ours.load_state_dict({k: opweave.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()})
        found = []
        for lib, model, t in zip((nn, torch.nn), (ours, theirs), both(rows), strict=True):
            rnn = lib.utils.rnn
            packed = rnn.pack_padded_sequence(t, lengths, batch_first=True, enforce_sorted=False)
            out, state = model(packed)
            padded, counts = rnn.pad_packed_sequence(out, batch_first=True, padding_value=-1.0, total_length=6)
            (padded * padded).sum().backward()
            found.append([*leaves(padded), *leaves(state), counts, t.grad, packed.batch_sizes])
        for one, other in zip(*found, strict=True):
            close(one.detach().numpy(), other.detach().numpy(), "nn, gradients")


@pytest.mark.parametrize("masks", ["none", "bool", "added", "causal", "padding"])
@pytest.mark.parametrize("need_weights", [True, False])
def test_masks_of_attention(masks, need_weights):
    options = {"add_bias_kv": masks == "added", "add_zero_attn": masks == "padding", "kdim": 5, "vdim": 3}
    theirs, ours = torch.nn.MultiheadAttention(8, 2, **options), nn.MultiheadAttention(8, 2, **options)
    ours.load_state_dict({k: opweave.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    ours, theirs = ours.double(), theirs.double()
    arrays = normal(4, 2, 8), normal(6, 2, 5), normal(6, 2, 3)
    seen = np.triu(np.ones((4, 6), bool), 3)
    found = []
    for lib, model in ((opweave, ours), (torch, theirs)):
        extra: dict[str, Any] = {}
        if masks in ("bool", "padding"):
            extra["attn_mask"] = lib.from_numpy(seen)
        if masks == "padding":
            extra["key_padding_mask"] = lib.from_numpy(np.arange(6) >= np.array([[4], [6]]))
        if masks == "added":
            extra["attn_mask"] = lib.from_numpy(np.tile(np.linspace(-1, 1, 24).reshape(1, 4, 6), (4, 1, 1)))
        if masks == "causal":
            extra |= {"attn_mask": lib.from_numpy(np.triu(np.full((4, 6), -np.inf), 1)), "is_causal": True}
        given = [lib.from_numpy(a.copy()) for a in arrays]
        found.append(leaves(model(*given, need_weights=need_weights, average_attn_weights=masks != "bool", **extra)))
    for one, other in zip(*found, strict=True):
        close(one.detach().numpy(), other.detach().numpy(), "nn, gradients")


def test_hooks_are_called_as_pytorchs_are():
    def calls(lib: Any) -> list[Any]:
        made: list[Any] = []
        m = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU())
        with lib.no_grad():
            m[0].weight.copy_(lib.tensor([[1.0, 2.0], [3.0, -4.0]]))
            m[0].bias.zero_()
        x = lib.tensor([[1.0, 2.0]], requires_grad=True)
        m.register_forward_pre_hook(lambda mod, args: made.append("pre") or (args[0] * 2,))
        m.register_forward_pre_hook(lambda mod, a, k: made.append("pre kwargs"), with_kwargs=True, prepend=True)
        m.register_forward_hook(lambda mod, args, out: made.append(out.tolist()) or out * 3)
        m[0].register_full_backward_pre_hook(lambda mod, grad: made.append(("back pre", grad[0].tolist())))
        m[0].register_full_backward_hook(
            lambda mod, gi, go: made.append(("back", gi[0].tolist(), go[0].tolist())) or (gi[0] * 10,)
        )
        m[1].register_full_backward_hook(lambda mod, gi, go: made.append(("relu", gi[0].tolist())))
        handle = m[1].register_forward_hook(lambda mod, args, out: made.append("gone"))
        handle.remove()
        m(x).sum().backward()
        made += [x.grad.tolist(), m[0].weight.grad.tolist()]
        fails = lib.nn.Identity()
        fails.forward = lambda x: 1 / 0
        fails.register_forward_hook(lambda mod, args, out: made.append(("always", out)), always_call=True)
        with pytest.raises(ZeroDivisionError):
            fails(x)
        return made

    assert calls(opweave) == calls(torch)


def test_states_are_loaded_as_pytorchs_are():
    def told(lib: Any) -> list[Any]:
        m = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3))
        m.register_buffer("passing", lib.ones(2), persistent=False)
        found: list[Any] = [list(m.state_dict()), [n for n, _ in m.named_buffers()]]
        state = m.state_dict()
        found.append(str(m.load_state_dict(state)))
        found.append(tuple(m.load_state_dict({"0.weight": lib.zeros(3, 2), "more": lib.ones(1)}, strict=False)))
        found.append(m[0].weight.tolist())
        for wrong in ({**state, "0.bias": lib.ones(4)}, {**state, "2.x": lib.ones(1)}, {}):
            with pytest.raises(RuntimeError) as caught:
                m.load_state_dict(wrong)
            text = str(caught.value)
            found.append([key for key in (*state, "2.x", "size mismatch", "Missing", "Unexpected") if key in text])
        made = []
        m[0].register_load_state_dict_pre_hook(lambda mod, sd, prefix, *rest: made.append(prefix))
        m.register_load_state_dict_post_hook(lambda mod, keys: made.append(tuple(keys)))
        m.register_state_dict_post_hook(lambda mod, sd, prefix, about: sd.update(extra=lib.ones(1)))
        m.load_state_dict(state, assign=True)
        found += [made, list(m.state_dict()), m[0].weight.data_ptr() == state["0.weight"].data_ptr()]
        found.append(isinstance(m[0].weight, lib.nn.Parameter))
        return found

    assert told(opweave) == told(torch)


def test_modules_and_parameters_are_kept_as_in_pytorch():
    def told(lib: Any) -> list[Any]:
        class Net(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.shared = lib.nn.Linear(2, 2)
                self.again = self.shared
                self.layers = lib.nn.ModuleList([lib.nn.ReLU(), lib.nn.Linear(2, 1)])
                self.by_name = lib.nn.ModuleDict({"a": lib.nn.Tanh()})
                self.p = lib.nn.ParameterList([lib.ones(1), lib.zeros(2)])
                self.buffer = lib.nn.Buffer(lib.ones(1), persistent=False)
                self.none = None

        m = Net()
        found: list[Any] = [
            [n for n, _ in m.named_parameters()], [n for n, _ in m.named_parameters(remove_duplicate=False)],
            [n for n, _ in m.named_modules()], [n for n, _ in m.named_children()], [n for n, _ in m.named_buffers()],
            list(m.state_dict()), m.get_parameter("layers.1.bias").shape == (1,), len(list(m.p.parameters())),
        ]  # fmt: skip
        m.layers.insert(1, lib.nn.Sigmoid())
        m.layers += [lib.nn.Identity()]
        del m.layers[0]
        found.append(repr(m.layers))
        m.none = lib.nn.Linear(1, 1)
        m.again = None
        found += [[n for n, _ in m.named_modules()], isinstance(m.buffer, lib.nn.Buffer)]
        for name, value in (("shared", 3), ("buffer", "x")):
            with pytest.raises(TypeError):
                setattr(m, name, value)
        with pytest.raises(AttributeError):
            _ = m.missing
        with pytest.raises(KeyError):
            m.register_parameter("a.b", None)
        m.eval()
        found += [m.training, m.layers[0].training, m.requires_grad_(False).shared.weight.requires_grad]
        copied = copy.deepcopy(m)
        found += [isinstance(copied.shared.weight, lib.nn.Parameter), copied.shared.weight is m.shared.weight]
        m.double()
        found += [m.shared.weight.dtype == lib.float64, copied.shared.weight.dtype == lib.float64]
        return found

    assert told(opweave) == told(torch)


def test_initial_values_have_pytorchs_distributions():
    """By bounds and moments of many numbers."""
    opweave.manual_seed(0)
    torch.manual_seed(0)
    for name, arguments in {
        "uniform_": (-1, 3), "normal_": (1, 2), "trunc_normal_": (0, 1, -1, 0.5), "xavier_uniform_": (2,),
        "xavier_normal_": (), "kaiming_uniform_": (1,), "kaiming_normal_": (0, "fan_out", "relu"), "orthogonal_": (3,),
        "eye_": (), "constant_": (2.5,), "sparse_": (0.3,),
    }.items():  # fmt: skip
        found = []
        for lib in (opweave, torch):
            t = lib.empty(200, 150)
            assert getattr(lib.nn.init, name)(t, *arguments) is t
            values = t.numpy()
            places = np.quantile(values, [0.01, 0.1, 0.5, 0.9, 0.99])
            found.append([values.mean(), values.std(), *places, (values == 0).mean()])
        spread = max(found[1][1], 0.1)
        close(np.divide(found[0], spread), np.divide(found[1], spread), "nn, initial values", name)
        if name == "orthogonal_":
            t = getattr(opweave.nn.init, name)(opweave.empty(20, 50))
            close((t @ t.T).numpy(), np.eye(20), "nn, orthogonal initial values")
    gains = [lib.nn.init.calculate_gain("leaky_relu", 0.2) for lib in (opweave, torch)]
    assert gains[0] == gains[1]
    ours = nn.init.dirac_(opweave.empty(4, 2, 3, 3), 2).numpy()
    assert (ours == torch.nn.init.dirac_(torch.empty(4, 2, 3, 3), 2).numpy()).all()
    a, b = nn.Linear(400, 300), torch.nn.Linear(400, 300)
    assert abs(a.weight.std().item() - b.weight.std().item()) < 1e-3
    assert a.bias.abs().max().item() <= 0.05


def test_gradients_are_clipped_and_parameters_are_vectors():
    arrays = normal(3, 4), normal(5)
    for kind, value in ((2.0, 1.5), (float("inf"), 0.1), (1.0, 100.0)):
        found = []
        for lib in (opweave, torch):
            ps = [lib.nn.Parameter(lib.zeros(*a.shape, dtype=lib.float64)) for a in arrays]
            for p, a in zip(ps, arrays, strict=True):
                p.grad = lib.from_numpy(a.copy())
            norm = lib.nn.utils.clip_grad_norm_(ps, value, kind)
            lib.nn.utils.clip_grad_value_(ps[:1], 0.2)
            vector = lib.nn.utils.parameters_to_vector(ps)
            lib.nn.utils.vector_to_parameters(vector + 1, ps)
            found.append([norm, *(p.grad for p in ps), *(p.detach() for p in ps)])
        for one, other in zip(*found, strict=True):
            close(one.numpy(), other.numpy(), "nn, gradients")


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_parametrizations(name):
    theirs, ours = torch.nn.Linear(5, 3).double(), nn.Linear(5, 3).double()
    ours.load_state_dict({k: opweave.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    for lib, m in ((opweave, ours), (torch, theirs)):
        getattr(lib.nn.utils.parametrizations, name)(m)
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict({k: opweave.from_numpy(v.numpy().copy()) for k, v in state.items()})
    x = normal(4, 5)
    for _ in range(2):
        results = [m(lib.from_numpy(x.copy())).square().sum() for lib, m in ((opweave, ours), (torch, theirs))]
        for r in results:
            r.backward()
        close(results[0].item(), results[1].item(), "nn, gradients")
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(one.grad.numpy(), other.grad.numpy(), "nn, gradients")
    close(ours.weight.detach().numpy(), theirs.weight.detach().numpy(), "nn, gradients")
    nn.utils.parametrize.remove_parametrizations(ours, "weight")
    torch.nn.utils.parametrize.remove_parametrizations(theirs, "weight")
    close(ours.weight.detach().numpy(), theirs.weight.detach().numpy(), "nn, gradients")
    assert type(ours) is nn.Linear and isinstance(ours.weight, nn.Parameter)
    assert sorted(ours.state_dict()) == sorted(theirs.state_dict())


def test_functional_calls_and_stacked_states():
    theirs = [torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).eval() for _ in range(2)]
    ours = [nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval() for _ in range(2)]
    for a, b in zip(ours, theirs, strict=True):
        a.load_state_dict({k: opweave.from_numpy(v.numpy().copy()) for k, v in b.state_dict().items()})
    x = normal(4, 3).astype(np.float32)
    found = []
    for lib, models in ((opweave, ours), (torch, theirs)):
        func, t = lib.func, lib.from_numpy(x.copy())
        params, buffers = func.stack_module_state(models)

        def call(p, b, t, func=func, models=models):
            return func.functional_call(models[0], (p, b), (t,))

        def loss(p, b, t, call=call):
            return call(p, b, t).square().sum()

        grads = func.vmap(func.grad(loss), (0, 0, None))(params, buffers, t)
        found.append([func.vmap(call, (0, 0, None))(params, buffers, t), *grads.values(), *params.values()])
        with pytest.raises(ValueError):
            func.functional_call(models[0], ({"0.weight": t}, {"0.weight": t}), (t,))
        with pytest.raises(RuntimeError):
            func.functional_call(models[0], {"0.weight": t}, (t,), strict=True)
    for one, other in zip(*found, strict=True):
        close(one.detach().numpy(), other.detach().numpy(), "pointwise, gradients of float32")
    with pytest.raises(AttributeError, match=r"0\.weights"):
        opweave.func.functional_call(ours[0], {"0.weights": opweave.ones(2, 3)}, (opweave.ones(1, 3),))
    with pytest.raises(ArgumentError):
        opweave.func.functional_call(ours[0], {"0.weight": 3}, (opweave.ones(1, 3),))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("cutoffs", [[3], [2, 5], [1, 4, 11]], ids=str)
def test_an_adaptive_softmax(cutoffs: list[int], bias: bool) -> None:
    draw = np.random.default_rng(0)
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 12, cutoffs, 2.0, bias).double()
    ours = opweave.nn.AdaptiveLogSoftmaxWithLoss(16, 12, cutoffs, 2.0, bias).double()
    ours.load_state_dict({name: opweave.from_numpy(t.numpy().copy()) for name, t in theirs.state_dict().items()})
    x, target = draw.standard_normal((20, 16)) * 3, draw.integers(0, 12, 20)
    mine, other = opweave.from_numpy(x).requires_grad_(), torch.from_numpy(x).requires_grad_()
    found, wanted = ours(mine, opweave.from_numpy(target)), theirs(other, torch.from_numpy(target))
    found.loss.backward()
    wanted.loss.backward()
    pairs = [
        (found.output, wanted.output), (found.loss, wanted.loss), (mine.grad, other.grad),
        (ours.log_prob(mine), theirs.log_prob(other)), (ours(mine[0], mine.new([2])[0].long()).output,
                                                        theirs(other[0], torch.tensor(2)).output),
        *zip((p.grad for p in ours.parameters()), (p.grad for p in theirs.parameters()), strict=True),
    ]  # fmt: skip
    for have, want in pairs:
        close(have.detach().numpy(), want.detach().numpy(), "nn, gradients")
    assert ours.predict(mine).tolist() == theirs.predict(other).tolist()
    assert [*dict(ours.named_parameters())] == [*dict(theirs.named_parameters())]
    empty = ours(opweave.ones(0, 16, dtype=opweave.float64), opweave.ones(0, dtype=opweave.int64))
    assert empty.output.shape == (0,) and empty.loss.isnan()
    with pytest.raises(IndexError, match=r"target values should be in the range \[0, 11\]"):
        ours(mine, opweave.full((20,), 12))
    with pytest.raises(ValueError, match="expected an input"):
        ours(mine, opweave.zeros(3, dtype=opweave.int64))
    for wrong in ([], [0, 3], [3, 2], [2, 2], [12], [1.5]):
        with pytest.raises(ValueError, match="AdaptiveLogSoftmaxWithLoss"):
            opweave.nn.AdaptiveLogSoftmaxWithLoss(16, 12, wrong)  # pyright: ignore[reportArgumentType]
