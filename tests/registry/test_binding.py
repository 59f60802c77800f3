"""Forms of calls that PyTorch's argument parser takes, in eager code, traces, compiled code, batches and gradients."""

from __future__ import annotations

import io

import numpy as np
import pytest

import opweave
from opweave import Tensor, vmap
from opweave.registry.errors import ArgumentError, AutogradError, LinAlgError


def table() -> Tensor:
    return opweave.arange(6.0).reshape(2, 3)


FORMS = {
    "input": lambda x: opweave.softmax(input=x, dim=1),
    "axis": lambda x: opweave.sum(x, axis=1, keepdims=True),
    "axis of a method": lambda x: x.mean(axis=0),
    "x2": lambda x: opweave.add(x, x2=x),
    "written out": lambda x: x.permute(1, 0).reshape(3, 2).unsqueeze(0).unsqueeze(0).squeeze(0, 1),
    "keyword": lambda x: x.view(size=(3, 2)),
    "another name": lambda x: x.multiply(x).arctan(),
    "of a family": lambda x: opweave.norm(x=x, axis=1),
}
WITH_NUMPY = {
    "input": lambda a: np.exp(a) / np.exp(a).sum(1, keepdims=True),
    "axis": lambda a: a.sum(axis=1, keepdims=True),
    "axis of a method": lambda a: a.mean(axis=0),
    "x2": lambda a: a + a,
    "written out": lambda a: a.T.reshape(3, 2),
    "keyword": lambda a: a.reshape(3, 2),
    "another name": lambda a: np.arctan(a * a),
    "of a family": lambda a: np.sqrt((a * a).sum(axis=1)),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_the_same_everywhere(name):
    form, x = FORMS[name], table()
    wanted = WITH_NUMPY[name](x.numpy().astype(np.float64))
    for _ in range(3):  # what is replayed is the same
        np.testing.assert_allclose(form(x).numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(opweave.make_fx(form)(x)(x).numpy(), wanted, rtol=1e-6)
    batched = vmap(form)(opweave.stack([x, x + 1]))
    np.testing.assert_allclose(batched[0].numpy(), wanted, rtol=1e-6)
    leaf = x.requires_grad_()
    form(leaf).sum().backward()
    assert leaf.grad is not None and leaf.grad.shape == x.shape


def test_forms_in_a_compiled_function():
    def function(x):
        first, second = x.split(1)
        return [FORMS[name](x) for name in FORMS], first + second, opweave.where(x > 2, x, 0.0)

    x = table()
    found, pair, chosen = opweave.compile(function, fullgraph=True)(x)
    for name, one in zip(FORMS, found, strict=True):
        np.testing.assert_allclose(one.numpy(), WITH_NUMPY[name](x.numpy().astype(np.float64)), rtol=1e-6)
    np.testing.assert_array_equal(pair.numpy(), x.numpy()[:1] + x.numpy()[1:])
    np.testing.assert_array_equal(chosen.numpy(), np.where(x.numpy() > 2, x.numpy(), 0))


def test_lists_are_tuples_and_places_come_apart():
    x = table()
    for found in (x.split(1), x.chunk(2), x.unbind(), opweave.tensor_split(x, opweave.tensor([1]))):
        assert type(found) is tuple
    assert [t.tolist() for t in opweave.where(x > 3)] == [list(a) for a in np.where(x.numpy() > 3)]
    assert [t.tolist() for t in x.nonzero(as_tuple=True)] == [list(a) for a in np.nonzero(x.numpy())]
    assert [t.shape for t in x.hsplit(3)] == [(2, 1)] * 3  # sections, not places


def test_changes_of_a_tensors_sizes_are_made_once():
    for _ in range(700):  # more calls than it takes to be replayed
        x = opweave.ones(1, 1, 1)
        x.squeeze_(0)
        assert x.shape == (1, 1)


def test_a_name_that_means_nothing_is_refused():
    with pytest.raises(ArgumentError):
        opweave.exp(table(), axis=1)
    with pytest.raises(ArgumentError):
        opweave.sum(table(), dim=1, axis=1)


def test_out_of_functions_without_an_op_of_that_name():
    x = table()
    out = opweave.empty(0, dtype=opweave.complex64)
    assert opweave.fft.fft(x, axis=1, out=out) is out
    np.testing.assert_allclose(out.numpy(), np.fft.fft(x.numpy(), axis=1), rtol=1e-5)
    with pytest.raises(AutogradError, match="do not differentiate"):
        opweave.fft.fft(x.requires_grad_(), out=out)


def test_what_is_saved_is_loaded():
    state = {
        "weights": [table(), opweave.ones(3, dtype=opweave.bfloat16).requires_grad_()],
        "step": 3, 7: (1.5, None, "text", 2j), "dtype": opweave.float16, "empty": opweave.zeros(0, 2),
    }  # fmt: skip
    file = io.BytesIO()
    opweave.save(state, file)
    found = opweave.load(io.BytesIO(file.getvalue()))
    assert list(found) == list(state) and found[7] == state[7] and found["dtype"] is opweave.float16
    np.testing.assert_array_equal(found["weights"][0].numpy(), state["weights"][0].numpy())
    assert found["weights"][1].requires_grad and found["weights"][1].dtype is opweave.bfloat16
    assert found["empty"].shape == (0, 2)
    with pytest.raises(ArgumentError, match="can be saved"):
        opweave.save({"object": lambda: 1}, io.BytesIO())
    for damaged in (b"", b"PK", file.getvalue()[:-30], file.getvalue().replace(b"opweave.save", b"opweave.else")):
        with pytest.raises(ArgumentError, match=r"no file of opweave\.save"):
            opweave.load(io.BytesIO(damaged))


def test_random_numbers_go_on_from_a_state():
    state = opweave.get_rng_state()
    first = opweave.randn(4)
    opweave.set_rng_state(state)
    np.testing.assert_array_equal(opweave.randn(4).numpy(), first.numpy())
    with pytest.raises(ArgumentError, match="no state"):
        opweave.set_rng_state(opweave.zeros(4, dtype=opweave.uint8))


def test_data_is_shared_where_it_can_be():
    array = np.arange(3.0)
    assert opweave.asarray(array).data_ptr() == array.__array_interface__["data"][0]
    assert opweave.asarray(array, copy=True).data_ptr() != array.__array_interface__["data"][0]
    with pytest.raises(ArgumentError, match="copied"):
        opweave.asarray(array, dtype=opweave.float32, copy=False)
    memory = bytearray(8)
    opweave.frombuffer(memory, dtype=opweave.int16, count=2, offset=2)[0] = 258
    assert memory[2:4] == b"\x02\x01"


def test_a_singular_matrix_is_named():
    matrices = opweave.stack([opweave.eye(2), opweave.zeros(2, 2)])
    with pytest.raises(LinAlgError, match=r"Batch element 1.*singular"):
        opweave.linalg.inv(matrices)
    with pytest.raises(LinAlgError, match="leading minor of order 2"):
        opweave.linalg.cholesky(opweave.tensor([[1.0, 2.0], [2.0, 1.0]]))
    found, info = opweave.linalg.inv_ex(matrices)
    assert info.tolist() == [0, 1] and found[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_large_matrix_is_factored_by_panels():
    A = opweave.randn(2, 90, 70, dtype=opweave.float64)
    P, L, U = opweave.linalg.lu(A)
    np.testing.assert_allclose((P @ L @ U).numpy(), A.numpy(), atol=1e-12)
    assert abs(L.numpy()).max() <= 1


@pytest.mark.parametrize(
    "call",
    [
        lambda x: opweave.softmax(-1, 0), lambda x: opweave.stack([2, x]), lambda x: opweave.isclose(1, x),
        lambda x: opweave.ldexp(x, 2.5), lambda x: x @ 1, lambda x: 1 @ x, lambda x: opweave.matmul(x, 3),
    ],
    ids=["softmax", "stack", "isclose", "ldexp", "matmul", "rmatmul", "function"],
)  # fmt: skip
def test_a_number_in_the_place_of_a_tensor_is_named(call):
    with pytest.raises(ArgumentError, match="expected a Tensor"):
        call(table())


def test_errors_inside_of_composite_ops_stay_as_they_are():
    class Odd:
        @property
        def _dtype(self):
            raise AttributeError("of its own")

    library = opweave.library.Library("binding_test", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: Odd()._dtype, "CompositeImplicitAutograd")
    with pytest.raises(AttributeError, match="of its own"):
        opweave.ops.binding_test.f(table())
