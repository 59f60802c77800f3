"""What `nn.utils` and `nn.attention` have, beside PyTorch's: values, gradients, names in state dicts, errors."""

import importlib

import numpy as np
import pytest
import torch
from oracle import close

import opweave
import opweave.compat.names
from opweave import nn

RNG = np.random.default_rng(0)


def numbers(*sizes):
    return RNG.standard_normal(sizes).astype(np.float32)


def pair(make):
    """A module here and there, with the same numbers."""
    ours, theirs = make(nn), make(torch.nn)
    fill = {name: numbers(*t.shape) for name, t in theirs.state_dict().items() if t.is_floating_point()}
    fill = {name: np.abs(a) + 0.5 if name.endswith("running_var") else a for name, a in fill.items()}
    ours.load_state_dict({name: opweave.tensor(a) for name, a in fill.items()}, strict=False)
    theirs.load_state_dict({name: torch.tensor(a) for name, a in fill.items()}, strict=False)
    return ours, theirs


def same(a, b, what=""):
    close(a.detach().numpy(), b.detach().numpy(), "nn.utils, gradients" if what == "gradients" else "nn.utils", what)


def same_state(ours, theirs):
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, t in theirs.state_dict().items():
        same(ours.state_dict()[name], t, name)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda n: (n.Conv2d(3, 4, 2), n.BatchNorm2d(4)), (2, 3, 5, 5)),
        (lambda n: (n.Conv1d(3, 4, 2, bias=False), n.BatchNorm1d(4, affine=False)), (2, 3, 5)),
        (lambda n: (n.ConvTranspose2d(3, 4, 2), n.BatchNorm2d(4)), (2, 3, 5, 5)),
        (lambda n: (n.Linear(3, 4), n.BatchNorm1d(4)), (5, 3)),
    ],
    ids=["conv2d", "plain conv1d", "transposed", "linear"],
)
def test_fused_normalization(make, shape):
    (a, bn), (b, their_bn) = (
        tuple(modules) for modules in zip(*(pair(lambda n, i=i: make(n)[i]) for i in (0, 1)), strict=True)
    )
    for module in (a, bn, b, their_bn):
        module.eval()
    name = "fuse_linear_bn_eval" if len(shape) == 2 else "fuse_conv_bn_eval"
    turned = {"transpose": True} if "Transpose" in type(a).__name__ else {}
    ours = getattr(nn.utils, name)(a, bn, **turned)
    theirs = getattr(torch.nn.utils, name)(b, their_bn, **turned)
    same_state(ours, theirs)
    assert [p.requires_grad for p in ours.parameters()] == [p.requires_grad for p in theirs.parameters()]
    x = numbers(*shape)
    same(ours(opweave.tensor(x)), their_bn(b(torch.tensor(x))), "fused")
    a.train()
    with pytest.raises((TypeError, AssertionError)):
        getattr(nn.utils, name)(a, bn)


@pytest.mark.parametrize("dim", [0, 1, None, -1])
@pytest.mark.parametrize("kind", ["Linear", "Conv1d"])
def test_weight_norm_by_a_hook(kind, dim):
    arguments = (3, 4) if kind == "Linear" else (3, 4, 2)
    a, b = pair(lambda n: getattr(n, kind)(*arguments))
    nn.utils.weight_norm(a, dim=dim)
    torch.nn.utils.weight_norm(b, dim=dim)
    same_state(a, b)
    assert [name for name, _ in a.named_parameters()] == [name for name, _ in b.named_parameters()]
    x = numbers(5, 3) if kind == "Linear" else numbers(2, 3, 6)
    found, wanted = a(opweave.tensor(x)), b(torch.tensor(x))
    same(found, wanted)
    found.square().sum().backward()
    wanted.square().sum().backward()
    for p, q in zip(a.parameters(), b.parameters(), strict=True):
        same(p.grad, q.grad, "gradients")
    with pytest.raises(RuntimeError, match="two weight_norm hooks"):
        nn.utils.weight_norm(a)
    nn.utils.remove_weight_norm(a)
    torch.nn.utils.remove_weight_norm(b)
    assert sorted(a.state_dict()) == sorted(b.state_dict())
    same(a(opweave.tensor(x)), b(torch.tensor(x)))
    with pytest.raises(ValueError, match="not found"):
        nn.utils.remove_weight_norm(a)


@pytest.mark.parametrize("kind", ["Linear", "Conv2d", "ConvTranspose2d"])
def test_spectral_norm_by_a_hook(kind):
    a, b = pair(lambda n: getattr(n, kind)(*((3, 4) if kind == "Linear" else (3, 4, 2))))
    nn.utils.spectral_norm(a, n_power_iterations=2)
    torch.nn.utils.spectral_norm(b, n_power_iterations=2)
    assert sorted(a.state_dict()) == sorted(b.state_dict())
    a.load_state_dict({name: opweave.tensor(t.numpy()) for name, t in b.state_dict().items()})
    x = numbers(5, 3) if kind == "Linear" else numbers(2, 3, 5, 5)
    for _ in range(3):
        a.zero_grad(), b.zero_grad()
        found, wanted = a(opweave.tensor(x)), b(torch.tensor(x))
        same(found, wanted)
        found.square().sum().backward()
        wanted.square().sum().backward()
        same(a.weight_orig.grad, b.weight_orig.grad, "gradients")
        same(a.weight_u, b.weight_u, "vectors")
    a.eval(), b.eval()
    same(a(opweave.tensor(x)), b(torch.tensor(x)))
    nn.utils.remove_spectral_norm(a)
    torch.nn.utils.remove_spectral_norm(b)
    assert sorted(a.state_dict()) == sorted(b.state_dict())
    same(a.weight, b.weight)


def test_weights_by_hooks_in_a_compiled_module():
    for make in (nn.utils.weight_norm, nn.utils.spectral_norm):
        module, other = make(nn.Linear(3, 4)), make(nn.Linear(3, 4))
        other.load_state_dict(module.state_dict())
        x = opweave.tensor(numbers(5, 3))
        compiled = opweave.compile(other)
        for _ in range(3):
            module.zero_grad(), other.zero_grad()
            a, b = module(x), compiled(x)
            a.square().sum().backward()
            b.square().sum().backward()
            close(b.detach().numpy(), a.detach().numpy(), "beside PyTorch")
            for p, q in zip(module.parameters(), other.parameters(), strict=True):
                close(q.grad.numpy(), p.grad.numpy(), "beside PyTorch")


def test_parametrizations_are_handed_on():
    a, b = pair(lambda n: n.Linear(3, 4))
    nn.utils.parametrizations.weight_norm(a)
    torch.nn.utils.parametrizations.weight_norm(b)
    ours, theirs = nn.Linear(3, 4), torch.nn.Linear(3, 4)
    assert nn.utils.parametrize.transfer_parametrizations_and_params(a, ours) is ours
    torch.nn.utils.parametrize.transfer_parametrizations_and_params(b, theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    same(ours.weight, theirs.weight)
    assert ours.parametrizations.weight.original0 is a.parametrizations.weight.original0
    for module in (ours, nn.Linear(2, 2)):
        assert nn.utils.parametrize.type_before_parametrizations(module) is nn.Linear
    assert nn.utils.parametrize.transfer_parametrizations_and_params(nn.Linear(3, 4), ours) is ours


def test_gradients_clipped_by_a_known_norm():
    for total in (3.0, 0.1):
        ours = [opweave.tensor(a, requires_grad=True) for a in (numbers(3), numbers(2, 2))]
        theirs = [torch.tensor(t.detach().numpy(), requires_grad=True) for t in ours]
        for tensors in (ours, theirs):
            sum((t * t).sum() for t in tensors).backward()
        nn.utils.clip_grads_with_norm_(ours, 1.5, opweave.tensor(total))
        torch.nn.utils.clip_grads_with_norm_(theirs, 1.5, torch.tensor(total))
        for a, b in zip(ours, theirs, strict=True):
            same(a.grad, b.grad)


def test_sequences_and_permutations():
    parts = [numbers(3, 2), numbers(5, 2), numbers(1, 2)]
    ours = nn.utils.rnn.pack_sequence([opweave.tensor(a) for a in parts], enforce_sorted=False)
    for found, wanted in zip(nn.utils.rnn.unpack_sequence(ours), parts, strict=True):
        assert found.tolist() == wanted.tolist()
    order = [3, 0, 2, 1]
    wanted = torch.nn.utils.rnn.invert_permutation(torch.tensor(order))
    assert nn.utils.rnn.invert_permutation(opweave.tensor(order)).tolist() == wanted.tolist()
    assert nn.utils.rnn.invert_permutation(None) is None


def test_layouts_and_what_is_not_filled():
    a, b = pair(lambda n: n.Sequential(n.Conv2d(3, 4, 2), n.Conv3d(3, 4, 2)))
    nn.utils.convert_conv2d_weight_memory_format(a, opweave.channels_last)
    torch.nn.utils.convert_conv2d_weight_memory_format(b, torch.channels_last)
    nn.utils.convert_conv3d_weight_memory_format(a, opweave.channels_last_3d)
    torch.nn.utils.convert_conv3d_weight_memory_format(b, torch.channels_last_3d)
    same_state(a, b)
    assert [p.stride() for p in a.parameters()] == [p.stride() for p in b.parameters()]
    made = nn.utils.skip_init(nn.Linear, 3, out_features=4)
    assert made.weight.shape == (4, 3) and made.weight.requires_grad and made.weight.device.type == "cpu"
    for bad in (int, nn.ReLU):
        with pytest.raises((RuntimeError, TypeError)):
            nn.utils.skip_init(bad)


def test_kernels_of_attention():
    from opweave.nn.attention import SDPBackend, current_backends, sdpa_kernel

    theirs = torch.nn.attention.SDPBackend
    assert {b.name: int(b) for b in SDPBackend} == {name: int(b) for name, b in theirs.__members__.items()}
    everything = current_backends()
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
        assert current_backends() == [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            assert current_backends() == [SDPBackend.EFFICIENT_ATTENTION]
        assert current_backends() == [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert current_backends() == [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    assert current_backends() == everything
    for bad in ([], "MATH", None):
        with pytest.raises(TypeError), sdpa_kernel(bad):
            pass

    @sdpa_kernel(SDPBackend.MATH)
    def attend(q):
        return nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)

    x = numbers(1, 2, 5, 4)
    wanted = torch.nn.functional.scaled_dot_product_attention(*[torch.tensor(x)] * 3, is_causal=True)
    same(attend(opweave.tensor(x)), wanted)
    same(opweave.compile(attend)(opweave.tensor(x)), wanted)


@pytest.mark.parametrize("case", ["plain", "masks", "separate", "biases", "static", "no batch", "no weights"])
def test_attention_of_several_heads(case):
    width, heads, length, batch = 6, 2, 4, 3
    sizes = (length, width) if case == "no batch" else (length, batch, width)
    named = {name: numbers(*sizes) for name in ("query", "key", "value")}
    named |= {"in_proj_weight": numbers(3 * width, width), "in_proj_bias": numbers(3 * width)}
    named |= {"out_proj_weight": numbers(width, width), "out_proj_bias": numbers(width)}
    plain = {
        "embed_dim_to_check": width, "num_heads": heads, "bias_k": None, "bias_v": None,
        "add_zero_attn": case == "biases", "dropout_p": 0.0,
    }  # fmt: skip
    if case == "masks":
        named |= {"attn_mask": np.triu(np.ones((length, length), bool), 1), "key_padding_mask": np.eye(3, 4, 1) > 0}
        plain["average_attn_weights"] = False
    elif case == "separate":
        named |= {f"{name}_proj_weight": numbers(width, width) for name in "qkv"}
        named.pop("in_proj_weight")
        plain |= {"use_separate_proj_weight": True, "in_proj_weight": None}
    elif case == "biases":
        named |= {"bias_k": numbers(1, 1, width), "bias_v": numbers(1, 1, width)}
    elif case == "static":
        named |= {name: numbers(batch * heads, 5, width // heads) for name in ("static_k", "static_v")}
    elif case == "no weights":
        plain["need_weights"] = False
        named["attn_mask"] = numbers(batch * heads, length, length)
    # In float32 sums that cancel have few digits.
    named = {k: a.astype(np.float64) if a.dtype.kind == "f" else a for k, a in named.items()}
    ours = {k: opweave.tensor(a, requires_grad=a.dtype.kind == "f") for k, a in named.items()}
    theirs = {k: torch.tensor(a, requires_grad=a.dtype.kind == "f") for k, a in named.items()}
    found = nn.functional.multi_head_attention_forward(**{**plain, **ours})
    wanted = torch.nn.functional.multi_head_attention_forward(**{**plain, **theirs})
    assert (found[1] is None) == (wanted[1] is None)
    results = list(zip(found, wanted, strict=True))[: 1 if wanted[1] is None else 2]
    for a, b in results:
        assert a.shape == tuple(b.shape)
        same(a, b, case)
    sum(a.square().sum() for a, _ in results).backward()
    sum(b.square().sum() for _, b in results).backward()
    for name, t in theirs.items():
        if t.grad is not None and t.requires_grad:
            close(ours[name].grad.numpy(), t.grad.numpy(), "nn.utils, gradients", name)
    with pytest.raises((ValueError, RuntimeError, AssertionError)):
        nn.functional.multi_head_attention_forward(**{**plain, **ours, "embed_dim_to_check": width + 1})


@pytest.mark.parametrize("n", [1, 2, 3])
def test_maxima_and_their_places(n):
    x = numbers(2, 3, *[6] * n)
    for name, arguments in (
        (f"max_pool{n}d_with_indices", (3, 2, 1)), (f"adaptive_max_pool{n}d_with_indices", (4,)),
    ):  # fmt: skip
        found = getattr(nn.functional, name)(opweave.tensor(x), *arguments)
        wanted = getattr(torch.nn.functional, name)(torch.tensor(x), *arguments)
        assert found[1].dtype is opweave.int64
        for a, b in zip(found, wanted, strict=True):
            assert a.tolist() == b.tolist()


def test_modules_of_distributions_where_pytorch_has_them():
    names = opweave.compat.names.PLACES
    for name, place in names.items():
        if name.startswith("torch.distributions."):
            theirs, ours = importlib.import_module(name), importlib.import_module(place)
            own = {k for k in getattr(theirs, "__all__", ()) if k[0].isupper() and k != "ExponentialFamily"}
            lost = {k for k in own if not hasattr(ours, k)}
            assert not lost - {"ExpRelaxedCategorical", "VonMises"}, (name, lost)


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 3)], ids=str)
@pytest.mark.parametrize("way", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("based", [True, False])
def test_orthogonal_weights(way, sizes, based):
    a, b = pair(lambda n: n.Linear(*sizes))
    for library, module in ((nn, a.double()), (torch.nn, b.double())):
        library.utils.parametrizations.orthogonal(module, orthogonal_map=way, use_trivialization=based)
        if way != "householder" and not based:
            with pytest.raises(NotImplementedError):
                module.weight = module.weight
    assert list(a.state_dict()) == list(b.state_dict())
    if sizes[0] == sizes[1] or not based:  # else a part of the base is drawn
        same_state(a, b)
    original = torch.tensor(numbers(*b.weight.shape)).double()
    if way == "householder":
        original.diagonal().copy_(torch.ones(min(sizes)))
    with torch.no_grad():
        b.parametrizations.weight.original.copy_(original)
    a.load_state_dict({name: opweave.tensor(t.numpy()) for name, t in b.state_dict().items()})
    same(a.weight, b.weight)
    shown = a.weight if a.weight.shape[0] >= a.weight.shape[1] else a.weight.T
    same(shown.T @ shown, torch.eye(min(sizes), dtype=torch.float64))
    (a.weight**3).sum().backward()
    (b.weight**3).sum().backward()
    same(a.parametrizations.weight.original.grad, b.parametrizations.weight.original.grad, "gradients")


def test_orthogonal_weights_that_are_refused():
    for library in (nn, torch.nn):
        orthogonal = library.utils.parametrizations.orthogonal
        for module, options in (
            (library.Linear(3, 3), {"name": "nothing"}), (library.Linear(3, 3), {"name": "bias"}),
            (library.Linear(3, 3), {"orthogonal_map": "gram"}),
        ):  # fmt: skip
            with pytest.raises(ValueError):  # noqa: PT011
                orthogonal(module, **options)
