"""PyTorch's own samples of `autograd.Function`: values, derivatives both ways, batches, beside PyTorch's."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import opinfo
import pytest
import torch
from oracle import close
from torch.testing._internal import autograd_function_db

import opweave
from opweave.registry.errors import AutogradError

_TEXT = open(autograd_function_db.__file__).read()  # noqa: SIM115
_OURS = types.ModuleType("opweave_functions")
exec(
    compile(_TEXT[: _TEXT.index("autograd_function_db = [")].replace("import torch\n", "import opweave as torch\n", 1),
            autograd_function_db.__file__, "exec"),
    vars(_OURS),
)  # fmt: skip
#: Its backward is differentiated a second time only by what refuses it.
ONCE = ("NumpyCubeNotComposableAutogradFunction",)


def ours_of(op: Callable[..., Any]) -> Callable[..., Any]:
    """What applies the class of the same name that is opweave's."""
    if isinstance(op, types.FunctionType):
        names = {name: vars(_OURS).get(name, value) for name, value in op.__globals__.items()}
        return types.FunctionType(op.__code__, names, op.__name__, op.__defaults__, op.__closure__)
    return getattr(_OURS, op.__self__.__name__).apply  # type: ignore[attr-defined]  # a class method


def tensors(value: Any) -> list[Any]:
    if isinstance(value, (torch.Tensor, opweave.Tensor)):
        return [value]
    return [t for each in value for t in tensors(each)] if isinstance(value, (list, tuple)) else []


def floats(value: Any) -> tuple[Any, ...]:
    return tuple(t for t in tensors(value) if t.is_floating_point())


class Call:
    """A function of those arguments that have gradients."""

    def __init__(self, lib: Any, op: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]):
        self.lib, self.op, self.kwargs = lib, op, kwargs
        self.args = [a.detach() if isinstance(a, lib.Tensor) else a for a in args]
        self.places = [i for i, a in enumerate(self.args) if isinstance(a, lib.Tensor) and a.is_floating_point()]
        self.inputs = [self.args[i].clone() for i in self.places]

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        args = list(self.args)
        for place, value in zip(self.places, inputs, strict=True):
            args[place] = value
        return floats(self.op(*args, **self.kwargs))

    def loss(self, *inputs: Any) -> Any:
        return sum((t * t).sum() for t in self(*inputs))

    def backward(self, twice: bool = True) -> list[Any]:
        leaves = [t.clone().requires_grad_() for t in self.inputs]
        loss = self.loss(*leaves)
        if not twice:
            return [*self.lib.autograd.grad(loss, leaves)]
        found = self.lib.autograd.grad(loss, leaves, create_graph=True)
        moving = [g for g in found if g.requires_grad]
        again = self.lib.autograd.grad([(g * g).sum() for g in moving], leaves, allow_unused=True) if moving else ()
        return [*found, *(g for g in again if g is not None)]

    def tangents(self) -> Any:
        return self.lib.func.jvp(self, tuple(self.inputs), tuple(self.lib.ones_like(t) * 0.5 for t in self.inputs))

    def jacobians(self) -> Any:
        func, every = self.lib.func, tuple(range(len(self.inputs)))
        twice = func.jacrev(func.jacrev(self.loss, argnums=every), argnums=every)(*self.inputs)
        return twice, func.jacfwd(self.loss, argnums=every)(*self.inputs)

    def batched(self, dim: int) -> Any:
        return self.lib.vmap(self, in_dims=dim)(*[self.lib.stack([t, t * 2], dim) for t in self.inputs])

    def batched_gradients(self) -> Any:
        gradient = self.lib.func.grad(self.loss, argnums=tuple(range(len(self.inputs))))
        return self.lib.vmap(gradient)(*[self.lib.stack([t, t * 2]) for t in self.inputs])


WAYS: dict[str, Callable[[Call], Any]] = {
    "values": lambda call: call(*call.inputs),
    "backward": Call.backward,
    "tangents": Call.tangents,
    "jacobians": Call.jacobians,
    "batched": lambda call: [call.batched(0), call.batched(-1)],
    "batched gradients": Call.batched_gradients,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("entry", autograd_function_db.autograd_function_db, ids=lambda entry: entry.name)
def test_functions(entry: Any, way: str) -> None:
    tried = 0
    for sample in entry.sample_inputs("cpu", torch.float64, requires_grad=True):
        args = [sample.input, *sample.args]
        theirs = Call(torch, entry.op, args, sample.kwargs)
        ours = Call(opweave, ours_of(entry.op), [opinfo.to_opweave(a) for a in args], sample.kwargs)
        if entry.name in ONCE and way == "backward":
            with pytest.raises(AutogradError, match="once_differentiable"):
                ours.backward()
            pair = ours.backward(twice=False), theirs.backward(twice=False)
        else:
            try:
                wanted = WAYS[way](theirs)
            except (RuntimeError, NotImplementedError):
                continue  # no difference: PyTorch refuses what has no rule, or derives none from another
            pair = WAYS[way](ours), wanted
        found, expected = tensors(pair[0]), tensors(pair[1])
        assert len(found) == len(expected) > 0
        for mine, other in zip(found, expected, strict=True):
            close(mine.detach().numpy(), other.detach().numpy(), "models", entry.name)
        tried += 1
    assert tried or entry.name in ONCE or way in ("tangents", "jacobians", "batched", "batched gradients")


@pytest.mark.parametrize("entry", autograd_function_db.autograd_function_db, ids=lambda entry: entry.name)
def test_compiled(entry: Any) -> None:
    for sample in entry.sample_inputs("cpu", torch.float64, requires_grad=True):
        args = [opinfo.to_opweave(a) for a in (sample.input, *sample.args)]
        eager = Call(opweave, ours_of(entry.op), args, sample.kwargs)
        compiled = Call(opweave, opweave.compile(ours_of(entry.op)), args, sample.kwargs)
        for mine, other in zip(compiled.backward(twice=False), eager.backward(twice=False), strict=True):
            np.testing.assert_array_equal(mine.numpy(), other.numpy())


def formulas(lib: Any) -> tuple[Any, Any]:
    """A function whose jvp is not what its values say, with a default; one that writes."""

    class Product(lib.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any, n: Any = 3) -> Any:
            return x * y * n, x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(inputs[0], inputs[1])
            ctx.n = inputs[2]

        @staticmethod
        def jvp(ctx: Any, a: Any, b: Any, n: Any) -> Any:
            assert n is None
            x, y = ctx.saved_tensors
            return (a * y + x * b) * ctx.n * 10, a.clone()

    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_dirty(inputs[0])

        @staticmethod
        def jvp(ctx: Any, a: Any) -> Any:
            return a.mul_(7)

    return Product, Twice


def one(lib: Any) -> Any:
    return lib.ones(2, dtype=lib.float64)


@pytest.mark.parametrize(
    "use",
    [
        lambda lib, p, w, x, y: lib.func.jvp(lambda x: p.apply(x, y)[0], (x,), (one(lib),)),
        lambda lib, p, w, x, y: lib.func.jvp(lambda y: p.apply(x, y=y, n=2)[0].sin(), (y,), (one(lib),)),
        lambda lib, p, w, x, y: lib.func.jvp(lambda x: w.apply(x * 1), (x,), (one(lib),)),
        lambda lib, p, w, x, y: lib.func.linearize(lambda x: p.apply(x, y)[0], x)[1](one(lib)),
        lambda lib, p, w, x, y: dual(lib, lambda x: p.apply(x, y, n=1), x),
        lambda lib, p, w, x, y: dual(lib, lambda y: p.apply(x, y)[0] * y, y),
        lambda lib, p, w, x, y: lib.func.jvp(
            lambda x: lib.func.jvp(lambda x: p.apply(x, y)[0] ** 2, (x,), (one(lib),))[1], (x,), (one(lib),)
        ),
        lambda lib, p, w, x, y: p.apply(x, y=y),
    ],
    ids=["jvp", "by name", "writes", "linearize", "dual", "dual of the second", "twice", "values"],
)  # fmt: skip
def test_jvp_is_the_users(use: Callable[..., Any]) -> None:
    found = [
        tensors(use(lib, *formulas(lib), *(lib.tensor(v, dtype=lib.float64) for v in ([2.0, 1.0], [3.0, 5.0]))))
        for lib in (opweave, torch)
    ]
    assert len(found[0]) == len(found[1])
    for mine, other in zip(*found, strict=True):
        close(mine.numpy(), other.numpy(), "models")


def dual(lib: Any, function: Callable[..., Any], x: Any) -> list[Any]:
    forward_ad = lib.autograd.forward_ad
    with forward_ad.dual_level():
        made = function(forward_ad.make_dual(x, one(lib)))
        return [tuple(forward_ad.unpack_dual(t)) for t in tensors(made)]


def test_batches_and_columns_of_a_users_jvp() -> None:
    product, _ = formulas(opweave)
    x, y = opweave.tensor([2.0, 1.0]), opweave.tensor([3.0, 5.0])
    assert opweave.func.jacfwd(lambda x: product.apply(x, y, 2)[0])(x).tolist() == [[60.0, 0.0], [0.0, 100.0]]

    def along(x: Any, v: Any) -> Any:
        return opweave.func.jvp(lambda x: product.apply(x, y)[0], (x,), (v,))[1]

    found = opweave.vmap(along)(opweave.stack([x, y]), opweave.eye(2))
    assert found.tolist() == [[90.0, 0.0], [0.0, 150.0]]


@pytest.mark.parametrize(
    ("returned", "message"),
    [(lambda a: a, "returned 1 tangents for 2 outputs"), (lambda a: (a, 3), "must be a tensor or None"),
     (lambda a: (a, opweave.ones(5)), "has another shape than the output")],
    ids=["one", "a number", "a shape"],
)  # fmt: skip
def test_what_a_jvp_returns_is_checked(returned: Callable[..., Any], message: str) -> None:
    product, _ = formulas(opweave)

    class Wrong(product):
        @staticmethod
        def jvp(ctx: Any, a: Any, b: Any, n: Any) -> Any:
            return returned(a)

    with pytest.raises(AutogradError, match=message):
        opweave.func.jvp(lambda x: Wrong.apply(x, x), (opweave.ones(2),), (opweave.ones(2),))


def test_a_function_without_setup_context_takes_no_names() -> None:
    class Plain(opweave.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with pytest.raises(TypeError, match="takes no keyword arguments"):
        Plain.apply(x=opweave.ones(2))
