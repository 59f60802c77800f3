"""Each example of PyTorch's page "Torch Library API", compiled and run."""

import numpy as np
import pytest

import opweave
from opweave import FakeTensorMode
from opweave.registry.errors import OpweaveError
from opweave.registry.keys import DispatchKey, include_keys


@pytest.fixture(scope="module")
def myops(ops):
    return ops("reference.cpp", "myops")


@pytest.fixture
def xy():
    return opweave.randn(3, 4), opweave.randn(3, 4)


@pytest.mark.parametrize("name", ["add", "add_later", "add_fn", "from_pointer", "from_fn"])
def test_functions_become_ops(myops, xy, name):
    x, y = xy
    np.testing.assert_allclose(getattr(myops, name)(x, y).numpy(), x.numpy() + y.numpy(), rtol=1e-6)
    np.testing.assert_allclose(getattr(myops, name)(x.t(), y.t()).numpy(), (x.numpy() + y.numpy()).T, rtol=1e-6)


@pytest.mark.parametrize(
    "name",
    ["def3", "def4", "def5", "def6", "tagged", "tagged_fn", "from_lambda", "from_made_lambda", "by_key", "by_device"],
)  # fmt: skip
def test_each_way_to_define_and_implement(myops, xy, name):
    x = xy[0]
    result = getattr(myops, name)(x)
    assert np.array_equal(result.numpy(), x.numpy()) and result.data_ptr() != x.data_ptr()


def test_schemas_are_given_or_inferred(myops):
    assert str(myops.add.default._schema) == "myops::add(Tensor _0, Tensor _1) -> Tensor"
    assert str(myops.add_fn.default._schema) == "myops::add_fn(Tensor self, Tensor other) -> Tensor"
    assert myops.overloaded.int(1) == 3 and myops.overloaded.float(1.0) == 2.0
    assert myops.overloaded.overloads() == ["float", "int"]
    assert [tag.name for tag in myops.tagged.default.tags] == ["pt2_compliant_tag", "pointwise"]
    assert [tag.name for tag in myops.tagged_fn.default.tags] == ["pointwise"]
    for any_type in (myops.any_of, myops.any_too):
        assert [any_type(value) for value in (3, 2.5, "text")] == [3, 2.5, "text"]


def test_the_module_with_the_rules_by_the_older_name(myops):
    with FakeTensorMode(), pytest.raises(OpweaveError, match="pip install myops"):
        myops.elsewhere(opweave.ones(2))


def test_a_second_namespace_of_one_file(myops, xy):
    assert np.array_equal(opweave.ops.torchvision.roi_align(xy[0], 2.0).numpy(), 2 * xy[0].numpy())


def test_boxed_kernels_and_functors_with_state(myops, xy):
    x, before = xy[0], myops.functor_calls()
    np.testing.assert_allclose(myops.twice(x).numpy(), 2 * x.numpy())
    np.testing.assert_allclose(myops.from_functor(x).numpy(), 3 * x.numpy())
    np.testing.assert_allclose(myops.scaled(x).numpy(), 2.5 * x.numpy())
    assert myops.functor_calls() == before + 1


def test_a_boxed_fallback_hands_on_to_the_next_key(myops, fallbacks, xy):
    x, y = xy
    before = myops.boxed_calls()
    with include_keys(DispatchKey.BackendSelect):
        result = myops.add_later(x, y)
        assert myops.boxed_calls() > before  # by the fallback's own call, too: it holds for all ops
    np.testing.assert_allclose(result.numpy(), x.numpy() + y.numpy(), rtol=1e-6)


def test_kernels_of_other_devices_wait_for_their_tensors(myops):
    assert DispatchKey.CUDA in myops.add_later.default.kernels
    site = myops.add_later.default.kernel_sites[DispatchKey.CPU]
    assert site.short.startswith("reference.cpp:") and site.function == "C++"
