"""Gradients of pointwise ops against PyTorch's, of first and second order, also where slopes jump."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from oracle import close, to_torch, values_of

import opweave as ow
from opweave.registry.autograd.engine import grad
from opweave.registry.dtypes import DType
from opweave.registry.errors import AutogradError, DTypeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

INF, NAN = float("inf"), float("nan")
#: PyTorch rounds a constant of these to float32.
ROUNDED = {"hardsigmoid", "celu 0.7"}
Call = Callable[[Any, Any], Any]


def made(values: Any, dtype: DType = ow.float64, needs: bool = True) -> Tensor:
    kind = np.complex128 if dtype.is_complex else np.float64
    return ow.from_numpy(np.array(values, dtype=kind)).to(dtype).requires_grad_(needs)


def drawn(sizes: Sequence[int], low: float, high: float, dtype: DType = ow.float64, seed: int = 0) -> Tensor:
    rng = np.random.default_rng([seed, *sizes])
    values = rng.uniform(low, high, tuple(sizes))
    return made(values + 1j * rng.uniform(low, high, tuple(sizes)) if dtype.is_complex else values, dtype)


def resolved(packet: str, name: str, is_torch: bool) -> Any:
    space = torch.ops.aten if is_torch else ops.aten
    return getattr(getattr(space, packet), name)


def op(name: str, *attributes: Any, **named: Any) -> Callable[..., Any]:
    """The same op of either library: `call(is_torch, *operands)`."""
    packet, _, overload = name.partition(".")

    def call(is_torch: bool, *operands: Any) -> Any:
        return resolved(packet, overload or "default", is_torch)(*operands, *attributes, **named)

    return call


def twin(x: Any) -> Any:
    return to_torch(x.detach()).requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x


def weights(y: Any, is_torch: bool) -> Any:
    rng = np.random.default_rng(5)
    sizes = tuple(y.shape)
    values = np.asarray(rng.uniform(0.5, 2.0, sizes))
    if "complex" in str(y.dtype):
        values = values + 1j * rng.uniform(-2.0, -0.5, sizes)
    found = torch.from_numpy(values).to(y.dtype) if is_torch else ow.from_numpy(values).to(y.dtype)
    return found


def differentiate(call: Callable[..., Any], operands: Sequence[Any], is_torch: bool, order: int) -> list[Any]:
    """The result, its gradients, and the gradients of a weighted sum of their squares."""
    leaves = [x for x in operands if hasattr(x, "requires_grad") and x.requires_grad]
    walk: Any = torch.autograd.grad if is_torch else grad
    y = call(is_torch, *operands)
    assert y.requires_grad
    first = walk([y], leaves, [weights(y, is_torch)], create_graph=order > 1, allow_unused=True)
    found = [y, *first]
    if order > 1:
        roots = [g for g in first if g is not None and g.requires_grad]
        steps = [(g * 2).detach() for g in roots]
        second = walk(roots, leaves, steps, allow_unused=True) if roots else [None] * len(leaves)
        # A slope that does not depend on an operand gives zeros here and nothing there.
        found += [x.detach() * 0 if g is None else g for g, x in zip(second, leaves, strict=True)]
    return found


def solid(t: Any) -> Any:
    """A tensor with memory: PyTorch has some zeros without."""
    return t.detach() + 0 if t._is_zerotensor() else t


def check(
    call: Callable[..., Any], operands: Sequence[Any], order: int = 1, difference: str = "pointwise, gradients"
) -> None:
    ours = differentiate(call, operands, False, order)
    theirs = differentiate(call, [twin(x) for x in operands], True, order)
    for position, (mine, expected) in enumerate(zip(ours, theirs, strict=True)):
        assert str(mine.dtype).split(".")[-1] == str(expected.dtype).split(".")[-1]
        assert tuple(mine.shape) == tuple(expected.shape)
        close(values_of(mine.detach()), values_of(solid(expected)), difference, f"number {position} of {operands}")


def _by_rounding(name: str) -> str:
    return "pointwise, rounded" if name in ROUNDED else "pointwise, gradients"


#: (op, range of its operands) of one operand.
UNARY: dict[str, tuple[Callable[..., Any], float, float]] = {
    **{name: (op(name), -1.5, 1.5) for name in (
        "exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "sigmoid", "erf", "neg",
        "square", "silu", "mish", "gelu", "softplus", "elu", "clone", "relu", "leaky_relu", "abs", "frac", "selu",
        "celu", "lift_fresh_copy")},
    **{name: (op(name), 0.2, 3.0) for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal")},
    **{name: (op(name), -0.8, 0.8) for name in ("asin", "acos", "atanh")},
    "acosh": (op("acosh"), 1.2, 3.0),
    **{name: (op(name), -5.0, 5.0) for name in (
        "floor", "ceil", "trunc", "round", "sign", "hardtanh", "relu6", "hardsigmoid", "hardswish",
        "nan_to_num")},
    "log_sigmoid": (lambda is_torch, x: torch.nn.functional.logsigmoid(x) if is_torch
                    else ops.aten.log_sigmoid.default(x), -40.0, 40.0),
    "gelu tanh": (op("gelu", approximate="tanh"), -4.0, 4.0),
    "silu far": (op("silu"), -50.0, 50.0),
    "mish far": (op("mish"), -30.0, 30.0),
    "softplus 2, 1": (op("softplus", 2.0, 1.0), -3.0, 3.0),
    "elu 1.5, 2, 0.5": (op("elu", 1.5, 2.0, 0.5), -3.0, 3.0),
    "celu 0.7": (op("celu", 0.7), -3.0, 3.0),
    "leaky_relu 0.3": (op("leaky_relu", 0.3), -3.0, 3.0),
    "threshold": (op("threshold", 0.5, 9.0), -3.0, 3.0),
    "hardtanh -2, 1": (op("hardtanh", -2.0, 1.0), -3.0, 3.0),
    "clamp": (op("clamp", -0.5, 0.75), -2.0, 2.0),
    "clamp from": (op("clamp", -0.5), -2.0, 2.0),
    "clamp_max": (op("clamp_max", 0.5), -2.0, 2.0),
    **{f"pow {n}": (op("pow.Tensor_Scalar", n), 0.3, 2.0) for n in (0, 1, 2, 3, -1, 0.5, 2.5)},
    "number pow": (lambda is_torch, x: resolved("pow", "Scalar", is_torch)(1.7, x), -2.0, 2.0),
}  # fmt: skip

#: The same of two operands; the third tells whether it is the same function for complex numbers.
BINARY: dict[str, tuple[Callable[..., Any], float, float]] = {
    **{name: (op(name), 0.5, 2.0) for name in (
        "add.Tensor", "sub.Tensor", "rsub.Tensor", "mul.Tensor", "div.Tensor", "pow.Tensor_Tensor", "atan2",
        "xlogy.Tensor")},
    **{name: (op(name), -3.0, 3.0) for name in (
        "remainder.Tensor", "fmod.Tensor", "maximum", "minimum", "copysign.Tensor", "logaddexp")},
    "add alpha": (op("add.Tensor", alpha=-2.5), -1.0, 1.0),
    "sub alpha": (op("sub.Tensor", alpha=3), -1.0, 1.0),
    **{f"div {mode}": (op("div.Tensor_mode", rounding_mode=mode), 0.5, 4.0) for mode in (None, "trunc", "floor")},
    "lerp 0.3": (op("lerp.Scalar", 0.3), -1.0, 1.0),
    "clamp_min": (op("clamp_min.Tensor"), -1.0, 1.0),
    "clamp_max": (op("clamp_max.Tensor"), -1.0, 1.0),
}  # fmt: skip

TERNARY: dict[str, tuple[Callable[..., Any], float, float]] = {
    "lerp": (op("lerp.Tensor"), -1.5, 1.5),
    "addcmul": (op("addcmul", value=-1.5), -1.0, 1.0),
    "addcdiv": (op("addcdiv", value=2), 0.5, 2.0),
    "clamp.Tensor": (op("clamp.Tensor"), -1.0, 1.0),
}

COMPLEX = {
    "exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "sigmoid", "neg", "square",
    "clone", "abs", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "asin", "acos", "atanh", "acosh",
    "pow 2", "pow 3", "pow -1", "pow 2.5", "number pow", "add.Tensor", "sub.Tensor", "rsub.Tensor", "mul.Tensor",
    "div.Tensor", "pow.Tensor_Tensor", "add alpha", "lerp 0.3", "lerp", "addcmul", "addcdiv",
}  # fmt: skip
ALL = {**{n: (1, *v) for n, v in UNARY.items()}, **{n: (2, *v) for n, v in BINARY.items()},
       **{n: (3, *v) for n, v in TERNARY.items()}}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_first_and_second_gradients(name: str) -> None:
    count, call, low, high = ALL[name]
    difference = _by_rounding(name)
    order = 1 if name == "hardsigmoid" and left_out("hardsigmoid, second derivative") else 2
    check(call, [drawn((3, 4), low, high, seed=i) for i in range(count)], order, difference)
    check(call, [drawn((), low, high, seed=i) for i in range(count)], order, difference)
    check(call, [drawn((0, 2), low, high, seed=i) for i in range(count)])


@pytest.mark.parametrize("name", [n for n in ALL if n in COMPLEX])
def test_complex_gradients_are_conjugate(name: str) -> None:
    count, call, low, high = ALL[name]
    check(call, [drawn((3, 4), low, high, ow.complex128, seed=i) for i in range(count)])


@pytest.mark.parametrize("name", [n for n in ALL if n in COMPLEX])
def test_second_gradients_of_complex_numbers(name: str) -> None:
    count, call, low, high = ALL[name]
    check(call, [drawn((3, 4), low, high, ow.complex128, seed=i) for i in range(count)], order=2)


@pytest.mark.parametrize("name", [n for n in BINARY if n in COMPLEX])
def test_a_real_operand_beside_a_complex_one_gets_a_real_gradient(name: str) -> None:
    call, low, high = BINARY[name]
    if name == "lerp 0.3":
        pytest.skip("lerp takes one dtype")  # no difference: both refuse
    check(call, [drawn((3, 4), low, high), drawn((3, 4), low, high, ow.complex128, seed=1)])
    check(call, [drawn((3, 4), low, high, ow.complex128), drawn((3, 4), low, high, seed=1)])


@pytest.mark.parametrize("dtype", [ow.float32, ow.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "silu", "gelu", "gelu tanh", "relu", "softplus", "elu",
                                  "mish", "hardswish", "mul.Tensor", "div.Tensor", "add alpha", "maximum", "clamp",
                                  "pow 3", "sqrt", "log", "addcmul"])  # fmt: skip
def test_narrow_types(name: str, dtype: DType) -> None:
    count, call, low, high = ALL[name]
    difference = "pointwise, gradients of float32" if dtype is ow.float32 else "pointwise, gradients of bfloat16"
    check(call, [drawn((3, 4), low, high, dtype, seed=i) for i in range(count)], difference=difference)


@pytest.mark.parametrize("name", [n for n in ALL if ALL[n][0] > 1])
def test_broadcast_operands_get_sums(name: str) -> None:
    count, call, low, high = ALL[name]
    for shapes in (((2, 1, 3), (4, 1), (3,)), ((3,), (2, 3), ()), ((), (3, 1), (1, 2))):
        if name == "clamp.Tensor" and left_out("clamp, gradients of bounds that broadcast"):
            shapes = ((2, 1, 3), (2, 4, 3), (2, 4, 3))
        check(call, [drawn(sizes, low, high, seed=i) for i, sizes in enumerate(shapes[:count])])


@pytest.mark.parametrize("name", [n for n in BINARY if "." in n and not n.startswith(("lerp", "clamp"))])
def test_numbers_stand_for_tensors(name: str) -> None:
    _, low, high = BINARY[name]
    x = drawn((3, 4), low, high)
    operator = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "rsub": lambda a, b: b - a,
                "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "pow": lambda a, b: a**b,
                "remainder": lambda a, b: a % b}  # fmt: skip
    packet = name.partition(".")[0]

    def with_number(is_torch: bool, x: Any, number: Any, first: bool) -> Any:
        if is_torch and (first and packet == "remainder" or packet in ("atan2", "fmod", "copysign")):
            assert left_out("numbers beside tensors, gradients")
            number = torch.tensor(number, dtype=x.dtype)
        if packet in operator:
            return operator[packet](number, x) if first else operator[packet](x, number)
        function = getattr(torch if is_torch else ops.aten, packet)
        return function(number, x) if first else function(x, number)

    for number in (2, 1.5, 0.75):
        check(lambda is_torch, x, n=number: with_number(is_torch, x, n, False), [x], order=2)
        if packet != "copysign":
            check(lambda is_torch, x, n=number: with_number(is_torch, x, n, True), [x], order=2)


#: Where slopes jump, or functions end.
POINTS = [-INF, -20.0, -6.0, -3.0, -2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 3.0, 6.0, 10.0, 20.0, 25.0, INF, NAN]


@pytest.mark.parametrize("name", UNARY)
def test_special_points_of_one_operand(name: str) -> None:
    check(UNARY[name][0], [made(POINTS)], difference=_by_rounding(name))


@pytest.mark.parametrize("name", [*BINARY])
def test_special_points_of_two_operands(name: str) -> None:
    points = [-INF, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, INF, NAN]
    if name.startswith("div"):  # the values of division by zero are another test's matter
        points = [-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0]
    a, b = np.meshgrid(points, points)
    check(BINARY[name][0], [made(a), made(b)])


def slope(y: Tensor, x: Tensor) -> list[float]:
    (found,) = grad([y], [x], [ops.aten.ones_like.default(y.detach())])
    assert found is not None
    return found.tolist()


def test_ties_share_and_bounds_cross() -> None:
    points = [-1.0, 0.0, 1.0, NAN]
    x, low, high = np.meshgrid(points, points, points)
    check(op("clamp.Tensor"), [made(x), made(low), made(high)])
    x = made([1.0, 2.0])
    one = made([1.0, 1.0], needs=False)
    assert slope(ops.aten.maximum.default(x, one), x) == [0.5, 1.0]
    assert slope(ops.aten.minimum.default(x, one), x) == [0.5, 0.0]


def test_roots_and_powers_at_zero() -> None:
    x = made([0.0, 0.0])
    assert slope(x.sqrt(), x) == [INF, INF]
    assert slope(x.abs(), x) == [0.0, 0.0]
    assert slope(x**0, x) == [0.0, 0.0]
    assert slope(x.relu(), x) == [0.0, 0.0]
    for base in (0.0, -2.0, 1.0):
        check(lambda _, e, b=base: b**e, [made([-1.0, 0.0, 1.0, 2.0])])
    check(lambda _, z: abs(z), [made([0.0, 1 + 2j, -3j], ow.complex128)], order=2)
    check(op("pow.Tensor_Tensor"), [made([2.0, 1j, 0.0], ow.complex128), made([0.0, 2.0, 1 + 1j], ow.complex128)])


def test_selection() -> None:
    condition = np.array([[True, False, True], [False, False, True]])

    def select(is_torch: bool, a: Any, b: Any) -> Any:
        module: Any = torch if is_torch else ow
        return module.where(module.from_numpy(condition), a, b)

    check(select, [drawn((2, 3), -1, 1), drawn((3,), -1, 1, seed=1)])
    check(select, [drawn((), -1, 1), drawn((2, 1), -1, 1, seed=1)])
    check(lambda is_torch, a: select(is_torch, a, 0.0), [drawn((2, 3), -1, 1)])

    def fill(is_torch: bool, x: Any, *value: Any) -> Any:
        return x.masked_fill((torch if is_torch else ow).from_numpy(condition), *(value or (7.0,)))

    check(fill, [drawn((2, 3), -1, 1)])
    check(fill, [drawn((2, 3), -1, 1), drawn((), -1, 1)])
    check(fill, [drawn((2, 3), -1, 1, ow.complex128)])


def test_casts_go_back() -> None:
    for dtype in ("float32", "bfloat16", "complex128"):
        check(lambda is_torch, x, d=dtype: x.to(getattr(torch if is_torch else ow, d)) * 3, [drawn((3, 4), -1, 1)],
              difference=f"pointwise, gradients of {'bfloat16' if dtype == 'bfloat16' else 'float32'}")  # fmt: skip
    x = drawn((3,), -1, 1)
    assert not x.to(ow.int64).requires_grad
    check(
        lambda is_torch, a, b: a * b,
        [drawn((3,), -1, 1, ow.float32), drawn((3,), -1, 1)],
        difference="pointwise, gradients of float32",
    )


INPLACE = [n for n in ALL if n.partition(" ")[0].partition(".")[0] in (
    "exp", "sin", "tanh", "sigmoid", "sqrt", "neg", "square", "abs", "floor", "relu", "leaky_relu", "silu", "gelu",
    "elu", "clamp", "threshold", "hardtanh", "hardswish", "hardsigmoid", "mish", "add", "sub", "mul", "div", "pow",
    "remainder", "fmod", "atan2", "lerp", "addcmul", "addcdiv", "xlogy", "copysign", "reciprocal", "nan_to_num",
    "relu6", "frac", "rsqrt", "clamp_min", "clamp_max")]  # fmt: skip


def written(name: str) -> Callable[..., Any]:
    """The in-place variant on an intermediate result."""
    plain = ALL[name][1]

    def call(is_torch: bool, x: Any, *rest: Any) -> Any:
        y = x * 1
        packet = name.partition(" ")[0].partition(".")[0]
        code = plain.__closure__
        cells = dict(zip(plain.__code__.co_freevars, [c.cell_contents for c in code or ()], strict=True))
        space = torch.ops.aten if is_torch else ops.aten
        result = getattr(space, f"{packet}_")(y, *rest, *cells.get("attributes", ()), **cells.get("named", {}))
        assert result is y
        return y

    return call


@pytest.mark.parametrize("name", INPLACE)
def test_in_place_variants(name: str) -> None:
    count, _, low, high = ALL[name]
    difference = _by_rounding(name)
    check(written(name), [drawn((3, 4), low, high, seed=i) for i in range(count)], difference=difference)


BACKWARD = {
    "threshold_backward": (0.5,), "leaky_relu_backward": (0.1, False), "hardtanh_backward": (-1.0, 1.0),
    "softplus_backward": (2.0, 3.0), "gelu_backward": (), "silu_backward": (), "hardsigmoid_backward": (),
    "hardswish_backward": (), "mish_backward": (), "sigmoid_backward": (), "tanh_backward": (),
}  # fmt: skip


@pytest.mark.parametrize("name", BACKWARD)
def test_backward_ops_are_themselves_differentiable(name: str) -> None:
    points = made([x for x in POINTS if abs(x) < 30])
    if name in ("sigmoid_backward", "tanh_backward"):
        points = drawn((16,), 0.05, 0.95)
    weight = drawn(tuple(points.shape), -1, 1, seed=3)
    if name in ("silu_backward", "mish_backward", "hardsigmoid_backward"):
        # The second derivatives of silu and mish are tested above.
        assert left_out("mish, silu and hardsigmoid, derivative of the backward op")
        ours = resolved(name, "default", False)(weight.detach(), points.detach())
        theirs = resolved(name, "default", True)(to_torch(weight.detach()), to_torch(points.detach()))
        close(values_of(ours), values_of(theirs), "pointwise, rounded" if "hard" in name else "pointwise, gradients")
        return
    check(op(name, *BACKWARD[name]), [weight, points])
    if name == "gelu_backward":
        check(op(name, approximate="tanh"), [weight, points])


def test_elu_backward_of_input_and_result() -> None:
    for is_result in (False, True):
        check(
            lambda is_torch, g, x, r=is_result: resolved("elu_backward", "default", is_torch)(g, 1.5, 2.0, 0.5, r, x),
            [drawn((9,), -1, 1), made([-2.0, -1.0, -0.5, -0.1, 0.0, 0.1, 1.0, 2.0, 3.0])],
        )


def test_floor_divide_refuses_and_comparisons_are_constants() -> None:
    x = drawn((3,), 1, 2)
    y = x // 2.0
    with pytest.raises(AutogradError, match="no autograd formula"):
        grad([y], [x], [made([1.0, 1.0, 1.0], needs=False)])
    assert not (x > 1).requires_grad
    assert not x.isnan().requires_grad


def test_relu_keeps_negative_zero_and_nan() -> None:
    found = made([-0.0, 0.0, NAN, -1.0], needs=False).relu().numpy()
    expected = torch.relu(torch.tensor([-0.0, 0.0, NAN, -1.0], dtype=torch.float64)).numpy()
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [ow.int64, ow.uint8, ow.bool], ids=str)
def test_silu_refuses_integers_as_pytorch_does(dtype: DType) -> None:
    with pytest.raises(DTypeError, match="silu"):
        ops.aten.silu.default(ow.from_numpy(np.ones(2)).to(dtype))
    with pytest.raises(RuntimeError):
        torch.nn.functional.silu(torch.ones(2).to(getattr(torch, dtype.name.rstrip("_"))))
