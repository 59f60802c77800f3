"""The ops of PyTorch's `custom_op_db`, registered with opweave as they stand there, pass `opcheck` as they do there.

The file is read where PyTorch is installed and run with `opweave` in the place of `torch`; the samples are made here.
"""

import pathlib
import types
import typing

import numpy as np
import pytest
import torch
from test_registration import forget  # noqa: F401  # a fixture

import opweave
from opweave.registry.errors import OpCheckError

#: Of what is compared by the checks themselves.
TOLERANCES = dict.fromkeys(("atol", "rtol"), 1e-3)
SUCCESS = dict.fromkeys(
    ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"), "SUCCESS"
)


@pytest.fixture
def db():
    """The module, up to the table for PyTorch's own tests."""
    import torch.testing._internal.custom_op_db as theirs

    source = pathlib.Path(theirs.__file__).read_text()
    source = source[source.index("def to_numpy") : source.index("custom_op_db = [")]
    module = types.ModuleType("opweave_custom_op_db")
    names = {name: getattr(typing, name) for name in typing.__all__}
    module.__dict__.update(names, torch=opweave, np=np, Tensor=opweave.Tensor, Number=int | float | bool)
    exec(source.replace("torch._custom_op.impl.get_ctx", "torch.library.get_ctx"), module.__dict__)
    return module


rng = np.random.default_rng(0)


def random(*sizes, low=0.9, high=2.0, requires_grad=True):
    made = opweave.tensor((rng.random(sizes) * (high - low) + low).tolist(), dtype=opweave.float32)
    return made.requires_grad_(requires_grad)


def taken():
    x = random(3, 5)
    order = np.argsort(x.detach().numpy(), axis=1)
    return x, opweave.from_numpy(order), opweave.from_numpy(np.argsort(order, axis=1)), 1


def gaps():
    return random(10, requires_grad=False) * opweave.tensor([1.0, 0, 1, 1, 0, 1, 1, 0, 1, 1])


def boxes():
    corner, size = rng.random((64, 2)) * 28, rng.random((64, 2)) * 4
    both = np.concatenate([corner, corner + size], axis=1).astype(np.float32)
    return opweave.from_numpy(both), random(64, low=0, high=1, requires_grad=False), 0.3


SAMPLES = {
    "numpy_cube": [lambda: ((random(2),), {}), lambda: ((random(),), {})],
    "numpy_mul": [lambda: ((random(4, 10), random(4, 10)), {}), lambda: ((random(4, 10), random(10)), {})],
    "numpy_mul_scalar": [lambda: ((random(4, 10),), {"scalar": 3.14})],
    "numpy_sort": [lambda: ((random(3, 5), 1), {}), lambda: ((random(3, 5), -1), {})],
    "numpy_take": [lambda: (taken(), {})],
    "numpy_nonzero": [lambda: ((gaps(),), {})],
    "numpy_view_copy": [lambda: ((random(2, 3, 4), [2, 12]), {})],
    "numpy_cat": [lambda: (([random(2, 3, 4), random(4, 3, 4), random(5, 3, 4)], 0), {})],
    "numpy_split_copy": [lambda: ((random(2, 9), [1, 3, 6], 1), {})],
    "numpy_split_copy_with_int": [lambda: ((random(2, 9), [1, 3, 6], 1), {})],
    "numpy_nms": [lambda: (boxes(), {})],
}


@pytest.mark.parametrize(("name", "at"), [(name, at) for name, found in SAMPLES.items() for at in range(len(found))])
def test_its_ops_pass_opcheck_at_default_settings(db, name, at):
    args, kwargs = SAMPLES[name][at]()
    op = getattr(db, name)
    found = opweave.library.opcheck(op, args, kwargs, raise_exception=False)
    assert found == SUCCESS
    assert opweave.library.opcheck(getattr(opweave.ops._torch_testing, name).default, args, kwargs) == SUCCESS


def test_gradients_of_lists_are_pytorchs(db):
    import torch.testing._internal.custom_op_db as theirs

    def gradients(T, module):
        xs = [T.tensor(np.arange(n * 2.0).reshape(n, 2).tolist(), requires_grad=True) for n in (2, 3)]
        joined = module.numpy_cat(xs, 0)
        parts, count = module.numpy_split_copy_with_int(joined * joined, [1, 4], 0)
        sum((part * part).sum() * (i + 1) for i, part in enumerate(parts)).backward()
        return [x.grad.tolist() for x in xs], count

    assert gradients(opweave, db) == gradients(torch, theirs)


def wrong(T):
    """An op whose kernel writes to its argument, and one without a rule for tensors without data."""
    writes = T.library.custom_op(
        "parity_opcheck::writes", lambda x: x.add_(1).clone(), mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    writes.register_fake(lambda x: T.empty_like(x))
    no_rule = T.library.custom_op(
        "parity_opcheck::none", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    return writes, no_rule


def test_without_raising_the_errors_themselves_are_given():
    for T in (torch, opweave):
        for op, failing in zip(wrong(T), ("test_schema", "test_faketensor"), strict=True):
            found = T.library.opcheck(op, (T.ones(3),), raise_exception=False)
            assert set(found) == set(SUCCESS) and isinstance(found[failing], Exception)
            assert all(result == "SUCCESS" or isinstance(result, Exception) for result in found.values())
            kind = OpCheckError if T is opweave else Exception
            with pytest.raises(kind):
                T.library.opcheck(op, (T.ones(3),))
            only = T.library.opcheck(op, (T.ones(3),), test_utils="test_autograd_registration", **TOLERANCES)
            assert only == {"test_autograd_registration": "SUCCESS"}


def test_layouts_are_tried_where_one_asks():
    op = opweave.library.custom_op(
        "parity_opcheck::memory", lambda x: opweave.from_numpy(np.array(x._storage.array((4,), (1,), 0, x.dtype))),
        mutates_args=(), schema="(Tensor x) -> Tensor",
    )  # fmt: skip
    op.register_fake(lambda x: opweave.empty_like(x))
    assert opweave.library.opcheck(op, (opweave.arange(4.0),)) == SUCCESS
    with pytest.raises(OpCheckError, match="in another memory layout"):
        opweave.library.opcheck(op, (opweave.arange(4.0),), level="thorough")
    with pytest.raises(TypeError, match="no such level"):
        opweave.library.opcheck(op, (opweave.arange(4.0),), level="all")
