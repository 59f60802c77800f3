"""What `TorchFunctionMode` and subclasses are asked about, beside PyTorch: which function, and its arguments."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import opweave
from opweave.nn import functional as F

ATTRIBUTES = """x.shape
x.T
x.mT
x.grad
x.dtype
x.device
x.ndim
x.requires_grad
x.is_leaf
x.grad_fn
x.data
x.real
x.is_cuda
x.layout
x.itemsize
x.nbytes
x.shape[0]
x.grad = None
x.requires_grad = True
x.size()
x.size(0)
x.dim()
x.numel()
x.stride()
x.tolist()
x.detach()
x.is_contiguous()
x.is_floating_point()
x.data_ptr()
x.float()
x.to(lib.float64)
x.clone()
y.numpy()
y.requires_grad_()""".splitlines()
FUNCTIONS = """F.linear(x, w, b)
F.linear(x, weight=w)
F.relu(x)
F.relu(x, inplace=False)
F.gelu(x)
F.dropout(x, 0.5)
F.layer_norm(x, (3,))
F.conv2d(c, f)
F.conv2d(c, f, padding=1)
F.max_pool2d(c, 2)
F.avg_pool2d(c, 2)
F.adaptive_avg_pool2d(c, 1)
F.interpolate(c, scale_factor=2)
F.pad(c, (1, 1))
F.cross_entropy(x, i)
F.nll_loss(x, i)
F.mse_loss(x, x)
F.kl_div(x, x)
F.binary_cross_entropy_with_logits(x, x)
F.embedding(i, w)
F.scaled_dot_product_attention(c, c, c)
F.sigmoid(x)
F.tanh(x)
F.silu(x)
F.batch_norm(x, None, None, training=True)
F.group_norm(c, 2)
F.rms_norm(x, (3,))
F.normalize(x)
F.one_hot(i, 3)
F.leaky_relu(x, 0.1)
F.softplus(x)
F.unfold(c, 2)
F.cosine_similarity(x, x)
F.elu(x)
F.glu(c)
F.mish(x)
F.hardswish(x)
F.prelu(x, b)
F.pixel_shuffle(c.reshape(1, 8, 2, 2), 2)""".splitlines()


def given(lib: Any) -> dict[str, Any]:
    return {
        "lib": lib, "F": lib.nn.functional, "x": lib.ones(2, 3, requires_grad=True), "y": lib.ones(2, 3),
        "w": lib.ones(3, 3), "b": lib.ones(3), "c": lib.ones(1, 2, 4, 4), "f": lib.ones(1, 2, 3, 3),
        "i": lib.tensor([0, 1]),
    }  # fmt: skip


def form(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    return func.__name__, len(args), sorted(kwargs)


def asked_in_mode(lib: Any, text: str, *, twice: bool = False) -> list[Any]:
    log: list[Any] = []

    class Log(lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(form(func, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    names = given(lib)
    with Log():
        if twice:
            with Log():
                exec(text, names)
        else:
            exec(text, names)
    return log


@pytest.mark.parametrize("text", [*ATTRIBUTES, *FUNCTIONS])
def test_modes_are_asked_about_what_pytorchs_are(text):
    assert asked_in_mode(opweave, text) == asked_in_mode(torch, text)


@pytest.mark.parametrize("text", [each for each in FUNCTIONS if "reshape" not in each])
def test_modes_inside_of_modes_are_asked_about_functions(text):
    assert asked_in_mode(opweave, text, twice=True) == asked_in_mode(torch, text, twice=True)


def asked_of_subclass(lib: Any, text: str) -> list[Any]:
    log: list[Any] = []

    class Logged(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(form(func, args, kwargs or {}))
            return super().__torch_function__(func, types, args, kwargs or {})

    names = {name: v.as_subclass(Logged) if isinstance(v, lib.Tensor) else v for name, v in given(lib).items()}
    log.clear()
    exec(text, names)
    return log


@pytest.mark.parametrize("text", FUNCTIONS)
def test_subclasses_are_asked_about_functions_as_pytorchs_are(text):
    assert asked_of_subclass(opweave, text) == asked_of_subclass(torch, text)


def test_the_function_is_the_one_that_is_called():
    functions = [F.linear, F.relu, F.layer_norm, opweave.Tensor.shape.__get__, opweave.Tensor.T.__get__]
    seen: list[Any] = []

    class Seen(opweave.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x, held = opweave.ones(2, 3), dict.fromkeys(functions, True)
    with Seen():
        F.linear(x, opweave.ones(3, 3))
        F.relu(x)
        F.layer_norm(x, (3,))
        _ = x.shape, x.T
    assert [func for func in seen if func.__name__ != "ones"] == functions
    assert all(func in held for func in functions)
    assert opweave.overrides.resolve_name(F.relu) == "opweave.nn.functional.relu"


def test_what_a_mode_answers_is_the_result():
    class Answers(opweave.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "answered" if func in (F.relu, opweave.Tensor.shape.__get__) else func(*args, **(kwargs or {}))

    x = opweave.ones(2)
    with Answers():
        assert F.relu(x) == x.shape == "answered"
    assert F.relu(x).tolist() == [1.0, 1.0]
    assert x.shape == (2,)


def test_nothing_is_left_of_a_mode():
    signature, code = inspect.signature(F.max_pool1d), F.max_pool1d.__code__
    with opweave.overrides.BaseTorchFunctionMode():
        assert inspect.signature(F.max_pool1d) == signature
        assert "__getattribute__" in vars(opweave.Tensor)
    assert "__getattribute__" not in vars(opweave.Tensor)
    assert "__setattr__" not in vars(opweave.Tensor)
    assert inspect.signature(F.max_pool1d) == signature
    x = opweave.ones(1, 4)
    assert F.max_pool1d(x, 2).tolist() == [[1.0, 1.0]]
    assert code.co_filename == F.max_pool1d.__code__.co_filename


def test_other_threads_are_not_asked():
    seen: list[Any] = []

    class Seen(opweave.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x, found = opweave.ones(2, 3), []
    with Seen():
        thread = threading.Thread(target=lambda: found.extend((x.shape, F.relu(x).tolist(), x.dim())))
        thread.start()
        thread.join()
    assert seen == []
    assert found == [(2, 3), [[1.0] * 3] * 2, 2]


def test_compiled_functions_are_what_they_are_in_a_mode():
    @opweave.compile
    def function(x: Any) -> Any:
        return F.relu(x) * x.shape[0]

    x = opweave.ones(2, 3)
    assert function(x).tolist() == [[2.0] * 3] * 2
    with opweave.overrides.BaseTorchFunctionMode():
        assert function(x).tolist() == [[2.0] * 3] * 2
    assert function(x).tolist() == [[2.0] * 3] * 2
    assert len(function.entries) == 1
