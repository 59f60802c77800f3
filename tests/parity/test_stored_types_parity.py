"""float8 types and wide unsigned integers beside PyTorch's: conversions, promotion, what is refused."""

import itertools

import numpy as np
import pytest
import torch

import opweave

NAMES = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
UNSIGNED = ("uint16", "uint32", "uint64")
OTHERS = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
RNG = np.random.default_rng(0)
#: Every half, and numbers near what they round to.
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
FLOATS = np.concatenate([HALVES.astype(np.float32), np.float32(2.0) ** RNG.uniform(-140, 127, 2000).astype(np.float32)])


def both(name):
    return getattr(opweave, name, None) or opweave.registry.dtypes.DTYPES[name], getattr(torch, name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_every_number_converts_alike(name, source):
    (ours, theirs), (wide, their_wide) = both(name), both(source)
    x, y = opweave.tensor(FLOATS).to(wide), torch.tensor(FLOATS).to(their_wide)
    found, wanted = x.to(ours).view(opweave.uint8).numpy(), y.to(theirs).view(torch.uint8).numpy()
    nans = np.isnan(FLOATS)
    np.testing.assert_array_equal(found[~nans], wanted[~nans])
    back, their_back = x.to(ours).to(wide), y.to(theirs).to(their_wide)
    np.testing.assert_array_equal(back.double().numpy(), their_back.double().numpy())


@pytest.mark.parametrize("name", [*NAMES, *UNSIGNED])
def test_integers_convert_alike(name):
    numbers = [-300, -1, 0, 1, 7, 255, 256, 70000, 2**40 + 3]
    (ours, theirs) = both(name)
    for kind in ("int64", "int32", "uint8", "bool"):
        (wide, their_wide) = both(kind)
        found = opweave.tensor(numbers).to(wide).to(ours).double().tolist()
        wanted = torch.tensor(numbers).to(their_wide).to(theirs).double().tolist()
        np.testing.assert_array_equal(found, wanted)


def test_promotion_is_alike():
    for a, b in itertools.product((*NAMES, *UNSIGNED), (*NAMES, *UNSIGNED, *OTHERS)):
        (x, their_x), (y, their_y) = both(a), both(b)
        try:
            wanted = str(torch.promote_types(their_x, their_y)).removeprefix("torch.")
        except RuntimeError:
            with pytest.raises(TypeError, match="promotion"):
                opweave.promote_types(x, y)
        else:
            assert opweave.promote_types(x, y).name == wanted


REFUSED = {
    "add": lambda t, x: x + x, "mul": lambda t, x: x * 2.0, "neg": lambda t, x: -x, "lt": lambda t, x: x < x,
    "sum": lambda t, x: x.sum(), "amax": lambda t, x: x.amax(), "exp": lambda t, x: x.exp(),
    "cumsum": lambda t, x: x.cumsum(0), "clamp": lambda t, x: x.clamp(0, 1), "mean": lambda t, x: x.mean(),
    "allclose": lambda t, x: t.allclose(x, x), "and": lambda t, x: x & x,
}  # fmt: skip
GIVEN = {
    "eq": lambda t, x: x == x, "ne": lambda t, x: x != x, "isnan": lambda t, x: x.isnan(), "any": lambda t, x: x.any(),
    "where": lambda t, x: t.where(x == x, x, x), "cat": lambda t, x: t.cat([x, x]), "index": lambda t, x: x[[1, 0]],
    "fill": lambda t, x: x.fill_(2), "full": lambda t, x: t.full((2,), 2, dtype=x.dtype),
    "roll": lambda t, x: x.roll(1), "repeat": lambda t, x: x.repeat(2), "copy": lambda t, x: t.zeros(4).copy_(x),
    "tolist": lambda t, x: t.tensor(x.tolist()), "item": lambda t, x: t.tensor(x[2].item()),
    "finfo": lambda t, x: t.tensor([t.finfo(x.dtype).max, t.finfo(x.dtype).tiny]),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_is_refused_and_given_is_alike(name):
    (ours, theirs) = both(name)
    x, y = opweave.tensor([0.5, 1, 2, 4]).to(ours), torch.tensor([0.5, 1, 2, 4]).to(theirs)
    for label, use in REFUSED.items():
        with pytest.raises((NotImplementedError, RuntimeError)):
            use(torch, y)
        refused = None
        try:
            use(opweave, x)
        except TypeError as error:
            refused = error
        assert refused is not None, label
    for label, use in GIVEN.items():
        found, wanted = use(opweave, x), use(torch, y)
        assert found.dtype.name == str(wanted.dtype).removeprefix("torch."), label
        np.testing.assert_array_equal(found.double().numpy(), wanted.double().numpy(), err_msg=label)


def test_arrays_of_pytorch_are_shared():
    for name in NAMES:
        y = torch.tensor([0.5, 1, 2, 4]).to(getattr(torch, name))
        x = opweave.from_dlpack(y)
        assert x.dtype.name == name and x.data_ptr() == y.data_ptr()
