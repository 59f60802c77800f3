"""Special functions and less common arithmetic against PyTorch, with first and second derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import ops_with_samples
from oracle import agree, check, close, to_torch

import opweave as ow
from opweave.registry.errors import DataDependentError
from opweave.registry.op import OpOverload
from opweave.registry.ops import complexes, gaussian, special


@pytest.mark.parametrize("op", ops_with_samples(special, gaussian), ids=str)
def test_samples(op: OpOverload) -> None:
    assert check(op, difference="functional")


@pytest.mark.parametrize("op", ops_with_samples(complexes), ids=str)
def test_samples_of_complex_numbers(op: OpOverload) -> None:
    assert check(op, difference="functional" if op.opname in ("angle", "polar") else None)


FAR = [1e-5, -1e-5, 1e8, 1e30, 0.0, -0.0, -3.0, np.inf, -np.inf, np.nan, 1.0, 2.0, 1 + 1e-9, 2 - 1e-9, 0.25, 0.5]


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv", "sinc", "logit", "deg2rad", "rad2deg"])
def test_values(name: str) -> None:
    values = np.concatenate([np.linspace(-1.2, 1.2, 301), FAR])
    if name in ("lgamma", "digamma"):
        values = np.concatenate([np.linspace(-8.9, 30, 401), FAR])
    if name == "erfinv":
        values = np.concatenate([values, [1 - 1e-10, 1 - 1e-15, -1 + 1e-12, 1e-300]])
    for dtype in (ow.float64, ow.float32):
        x = ow.from_numpy(values).to(dtype)
        agree(lambda m, x: getattr(m, name)(x), x, order=0, difference="functional")
    agree(lambda m, x: getattr(m, name)(x), ow.arange(5), order=0, difference="functional")


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv", "sinc", "logit", "deg2rad", "rad2deg"])
def test_derivatives(name: str) -> None:
    low, high = (-0.9, 0.9) if name in ("erfinv",) else (0.05, 0.95) if name == "logit" else (0.3, 4.7)
    x = ow.linspace(low, high, 25, dtype=ow.float64)
    order = {"digamma": 0, "lgamma": 1}.get(name, 2)  # the next is by trigamma, of which PyTorch has nine digits
    agree(lambda m, x: getattr(m, name)(x), x, order=order, difference="functional")


@pytest.mark.parametrize("name", ["special_log_ndtr", "special_erfcx"])
def test_the_normal_distribution(name: str) -> None:
    values = np.concatenate([np.linspace(-40, 12, 401), np.linspace(-2, 2, 41), FAR, [-1e5, 1e-300]])
    if name == "special_erfcx":
        values = values[(values > -20) | (values < -30)]  # between, PyTorch's has fewer digits
    for dtype in (ow.float64, ow.float32):
        x = ow.from_numpy(values).to(dtype)
        agree(lambda m, x: getattr(m.ops.aten, name)(x), x, order=0, difference="functional")
    agree(lambda m, x: getattr(m.ops.aten, name)(x), ow.arange(5), order=0, difference="functional")
    x = ow.linspace(-5, 5, 41, dtype=ow.float64)
    agree(
        lambda m, x: getattr(m.ops.aten, name)(x),
        x,
        order=2 if name == "special_log_ndtr" else 1,
        difference="functional",
    )


def test_derivatives_of_digamma() -> None:
    values = np.concatenate([np.linspace(-5.3, 20, 400), [0.0, -1.0, np.nan, 1e6]])
    for order in (0, 2, 3, 5):
        x = ow.from_numpy(values if not order else values[values > 0.1])
        agree(lambda m, x: m.polygamma(order, x), x, order=0, difference="functional")  # noqa: B023
        y = ow.linspace(0.3, 6, 9, dtype=ow.float64)
        agree(lambda m, x: x.polygamma(order), y, order=int(order > 0), difference="functional")  # noqa: B023


def test_the_first_derivative_of_digamma() -> None:
    """By known values, since PyTorch has nine digits of it."""
    x = ow.tensor([1.0, 0.5, 2.0, -0.5, -2.5], dtype=ow.float64)
    found, half = ow.polygamma(1, x), math.pi**2 / 2
    wanted = [math.pi**2 / 6, half, math.pi**2 / 6 - 1, half + 4, half + 4 + 4 / 9 + 4 / 25]
    assert np.abs(found.numpy() / wanted - 1).max() < 1e-14


@pytest.mark.parametrize("order", [1, 2, 3])
def test_no_element_of_polygamma_depends_on_another(order: int) -> None:
    values = [1.0, 0.5, -2.5, -0.0, np.inf, -np.inf, np.nan, -1e7 + 0.5, 1e20, -3.0]
    alone = [ow.polygamma(order, ow.tensor([value], dtype=ow.float64)).item() for value in values]
    together = ow.polygamma(order, ow.tensor(values, dtype=ow.float64)).numpy()
    np.testing.assert_array_equal(together, alone)
    if order == 1:
        assert abs(together[7] - (np.pi**2 - 1e-7)) < 1e-12


def test_powers_of_two_are_multiplied_in_one_step() -> None:
    """Also where 2^y alone is infinite or 0; a whole y has no type of its own."""
    values = [2.0**-10, 2.0**-14, -1.5, -0.0, np.inf, np.nan]
    powers = ow.tensor([20, 25, 2, 99999, -5000, 3])
    for dtype in (ow.float16, ow.bfloat16, ow.float32, ow.float64):
        agree(lambda m, x, y: m.ldexp(x, y), ow.tensor(values, dtype=dtype), powers, order=0, difference="functional")
    x = ow.tensor([2.0**-100, 2.0**-120, 1e30], dtype=ow.float32)
    agree(lambda m, x, y: m.ldexp(x, y), x, ow.tensor([200, -20, -400]), order=0, difference="functional")
    x = ow.tensor([5e-324, 1e308], dtype=ow.float64)
    agree(lambda m, x, y: m.ldexp(x, y), x, ow.tensor([2000, -2100]), order=0, difference="functional")
    assert ow.compile(ow.ldexp)(ow.tensor([1.5, 2.0**-100]), ow.tensor([-1, 200])).tolist() == [0.75, 2.0**100]


def test_a_clipped_logit() -> None:
    x = ow.linspace(-0.2, 1.2, 15, dtype=ow.float64)
    agree(lambda m, x: m.logit(x, 0.1), x, difference="functional")
    agree(lambda m, x: x.logit(eps=0.3), x, difference="functional")


@pytest.mark.parametrize("name", ["fmax", "fmin", "hypot", "logaddexp2"])
def test_pairs(name: str) -> None:
    some = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 3.0])
    x, y = (ow.from_numpy(np.ascontiguousarray(a)) for a in (np.repeat(some, 8), np.tile(some, 8)))

    def call(m: Any, x: Any, y: Any) -> Any:
        return getattr(m, name)(x, y)

    agree(call, x, y, order=0, difference="functional")
    z = ow.from_numpy(np.random.default_rng(0).standard_normal((3, 4)))
    agree(call, z, z[0] + 0.3, order=2 if name == "hypot" else 1, difference="functional")
    if name == "hypot":
        big = ow.tensor([1e300, 3e-300, 0.0], dtype=ow.float64)
        agree(lambda m, x: m.hypot(x, x), big, order=0, difference="functional")


#: `t` is the package, `x` f64[3], `n` and `k` i64[3].
EXPRESSIONS = """
t.gcd(n, k); n.lcm(k); n.clone().gcd_(k); t.gcd(n, k.int()); t.gcd(x, k); t.ldexp(x, k.abs()); x.float_power(2)
t.float_power(2, n); n.float_power(k.abs()); x.abs().float_power(x); t.positive(x); x.positive(); t.isreal(x)
t.arccos(x / 9); x.arctanh(); t.fix(x); x.moveaxis(0, 0); t.positive(x > 0)
"""


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.replace("\n", ";").split(";") if e.strip()])
def test_expression(expression: str) -> None:
    def call(m: Any, x: Any, n: Any, k: Any) -> Any:
        return eval(expression, {"t": m, "x": x, "n": n, "k": k})

    agree(call, ow.tensor([1.5, -0.5, 3.0], dtype=ow.float64), ow.tensor([12, -18, 0]), ow.tensor([8, 27, -5]),
          difference="functional")  # fmt: skip


#: `t` is the package, `x` and `y` f64[8] with special values, `n` and `u` i64[8] and u8[8], `b` b8[8], `c` c128[8].
CLOSE = """
t.isclose(x, y); x.isclose(y, 0.1, 0.5); t.isclose(x, x, equal_nan=True); t.isclose(x, y, rtol=0, atol=0)
t.isclose(x, x, rtol=0, atol=0, equal_nan=True); t.isclose(n, n + 1, atol=1); t.isclose(u, u + 1, rtol=0.3)
t.isclose(b, ~b); t.isclose(b, b); t.isclose(c, c, equal_nan=True); t.isclose(c, c * 1.001, rtol=0.01)
t.isclose(x, y.float()); t.isclose(x, y, rtol=-1.0); t.isclose(x, y, atol=t.nan); t.isclose(x, y[:3])
t.isclose(x, y[3]); t.isclose(x.half(), y.half()); t.isclose(x.bfloat16(), y.bfloat16(), atol=0.1)
t.allclose(x, y); t.allclose(n, n); t.allclose(x, x, equal_nan=True); x.allclose(y.float()); t.allclose(x[:0], y[:0])
t.equal(x, x); t.equal(n, n); n.equal(n[:3]); t.equal(n, n + 0.0); t.equal(b, ~b); t.equal(x[:0], y[:0])
"""


@pytest.mark.parametrize("expression", [e.strip() for e in CLOSE.replace("\n", ";").split(";") if e.strip()])
def test_close(expression: str) -> None:
    x = ow.tensor([1.0, -2.0, 0.0, np.inf, -np.inf, np.nan, 1e-9, 3.0], dtype=ow.float64)
    y = ow.tensor([1.0 + 1e-6, -2.3, 1e-9, np.inf, np.inf, np.nan, -0.0, 2.9], dtype=ow.float64)
    n, u = ow.arange(8), ow.arange(8, dtype=ow.uint8)

    def call(m: Any, *given: Any) -> Any:
        return eval(expression, dict(zip("txynubc", (m, *given), strict=True)))

    agree(call, x, y, n, u, n % 3 == 0, ow.complex(x, y), order=0)


@pytest.mark.parametrize("name", ["allclose", "equal"])
def test_a_truth_that_a_trace_does_not_know(name: str) -> None:
    x = ow.ones(3)
    ask = {"allclose": ow.allclose, "equal": ow.equal}[name]
    with pytest.raises(DataDependentError, match=r"isclose\(.*\)\.all\(\)"):
        ow.compile(lambda x: x + 1 if ask(x, x) else x, fullgraph=True)(x)


@pytest.mark.parametrize("name", ["i0", "special.i0e", "special.i1", "special.i1e"])
def test_bessel_functions(name: str) -> None:
    values = np.concatenate([np.linspace(-30, 30, 301), [1e-30, 0.0, -0.0, 20.0, 300.0, -700.0, np.nan]])

    def call(m: Any, x: Any) -> Any:
        return getattr(m.ops.aten, name.replace(".", "_"))(x)

    for dtype in (ow.float64, ow.float32):
        agree(call, ow.from_numpy(values).to(dtype), order=0, difference="Bessel functions")
    agree(call, ow.arange(5), order=0, difference="functional")
    agree(call, ow.linspace(-6, 6, 13, dtype=ow.float64), order=2, difference="functional")
    large = ow.tensor([90.0, np.inf])
    assert name.endswith("e") or left_out("Bessel functions near the largest number")
    assert np.isinf(call(ow, large).numpy()).tolist() == [False, not name.endswith("e")]


def test_angles_and_parts() -> None:
    x = ow.tensor([1.0, -2.0, 0.0, -0.0, np.inf, -np.inf, np.nan, 3.0], dtype=ow.float64)
    agree(lambda m, x: m.angle(x), x, difference="functional")
    agree(lambda m, n: n.angle(), ow.arange(4) - 2, difference="functional")
    z = ow.complex(ow.tensor([1.0, -2.0, 0.0, -0.5], dtype=ow.float64), ow.tensor([0.5, -1.0, 0.0, 2.0]).double())
    agree(lambda m, z: m.angle(z), z, difference="functional")
    agree(lambda m, z: m.angle(z), z[[0, 1, 3]], order=2, difference="functional")
    r, phi = ow.tensor([1.0, -2.0, 0.0]).double(), ow.tensor([[0.5], [4.0]]).double()
    agree(lambda m, r, phi: m.polar(r, phi), r, phi, order=0, difference="functional")
    agree(lambda m, r, phi: m.polar(r, phi), r.abs() + 0.5, phi, order=2, difference="functional")
    agree(lambda m, r, phi: m.complex(r, phi), r, phi, order=2, difference="functional")
    for name in ("polar", "complex"):
        agree(lambda m, r, phi: getattr(m, name)(r, phi), r, phi.float())  # noqa: B023


def test_gradients_of_polar_where_the_absolute_value_is_not_positive() -> None:
    """PyTorch's forward mode has them; its backward pass has another sign there, and 0 at 0."""
    r, phi, along = (ow.tensor(v).double() for v in ([1.0, -2.0, 0.0], [0.5, 4.0, -1.0], [0.3, -0.7, 1.1]))
    r.requires_grad_()
    made = ow.view_as_real(ow.polar(r, phi))
    found = [ow.autograd.grad(made[..., part].sum(), r, retain_graph=True)[0] * along for part in (0, 1)]
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(to_torch(r.detach()), to_torch(along))
        tangent = torch.autograd.forward_ad.unpack_dual(torch.polar(dual, to_torch(phi))).tangent
    for part, expected in zip(found, (tangent.real, tangent.imag), strict=True):
        close(part.numpy(), expected.numpy(), "gradients")


@pytest.mark.parametrize("dtype", [ow.float64, ow.float32, ow.float16, ow.bfloat16], ids=repr)
def test_neighbours_and_exponents(dtype: Any) -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 16, 300).astype(np.uint16)
    some = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1.5, 2.0, 1e-40, 6e-8])
    wide = (np.concatenate([bits, bits]).astype(np.uint32) << 16)[: bits.size].view(np.float32).astype(np.float64)
    x = ow.from_numpy(np.concatenate([some, wide])).to(dtype)
    y = ow.from_numpy(np.concatenate([some[::-1], wide[::-1]])).to(dtype)
    for other in (y, x[::2][0] * 0 + np.inf, -x[2] / 0, x * 1):
        agree(lambda m, x, y: m.nextafter(x, y), x, other)
    agree(lambda m, x: m.frexp(x), x)
    agree(lambda m, x: m.frexp(x)[0] * 2, x[7:9], order=1)
    top = ow.tensor([ow.finfo(dtype).max], dtype=dtype) if hasattr(ow, "finfo") else x[:1]
    agree(lambda m, x: m.nextafter(x, x * 2), top)


#: `x` f64[3], `n` i64[3], `y` f64[3] above -1.
LOGARITHMS = """
s.xlog1py(x, y); s.xlog1py(x, 2.5); s.xlog1py(0, y); s.xlog1py(n, y); s.xlog1py(n, 2); s.xlogy(x, y + 2)
s.xlogy(x, 3.0); s.xlogy(3.0, y + 2)
"""


@pytest.mark.parametrize("expression", [e.strip() for e in LOGARITHMS.replace("\n", ";").split(";") if e.strip()])
def test_logarithms(expression: str) -> None:
    def call(m: Any, x: Any, n: Any, y: Any) -> Any:
        called = expression.replace("s.", "a.special_")
        return eval(called, {"a": m.ops.aten, "x": x, "n": n, "y": y})

    x, n, y = ow.tensor([1.5, 0.0, -3.0]).double(), ow.tensor([2, 0, -1]), ow.tensor([0.5, -0.5, 2.0]).double()
    agree(call, x, n, y, difference="functional")


@pytest.mark.parametrize("call", ["m.gcd(x, x)", "m.lcm(x, y)", "m.special.polygamma(1, x)", "m.gcd(x, y[:1])"])
def test_results_lie_as_the_operands(call: str) -> None:
    def run(m: Any) -> Any:
        x, y = (m.arange(1, 13).reshape(3, 4).t() + k for k in range(2))
        return eval(call.replace("special.", "") if m is ow else call, {"m": m, "x": x, "y": y})

    found, expected = run(ow), run(torch)
    assert found.stride() == expected.stride()
    if "gcd" in call or "lcm" in call:  # the other's values have tests of their own
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64", "float16", "float32"])
def test_the_middle_of_nothing(name: str) -> None:
    for op in ("median", "nanmedian"):
        found, expected = (getattr(m.zeros(0, dtype=getattr(m, name)), op)() for m in (ow, torch))
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
        assert str(found.dtype).partition(".")[2] == str(expected.dtype).partition(".")[2]
