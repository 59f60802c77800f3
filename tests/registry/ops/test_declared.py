"""Every declared op on its samples: layouts without data, and NumPy's results in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_samples import as_list, as_meta, calls, layouts, ops_with_samples, replace_tensors

from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import activation, arithmetic, comparison, copies, creation, elementary, floats, selection
from opweave.registry.tensor import Tensor

FAMILIES = (arithmetic, comparison, selection, elementary, floats, copies, activation, creation)

#: NumPy's function of the same meaning, on operands of the compute type.
_NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "maximum": np.maximum,
    "minimum": np.minimum, "atan2": np.arctan2, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor, "logical_not": np.logical_not, "abs": np.abs, "neg": np.negative, "exp": np.exp,
    "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round,
    "sign": lambda x: x if x.dtype.kind == "b" else np.sign(x),
    "square": np.square, "reciprocal": np.reciprocal, "rsqrt": lambda x: 1 / np.sqrt(x), "fmod": np.fmod,
    "remainder": np.mod, "floor_divide": np.floor_divide, "pow": np.power, "copysign": np.copysign,
    "logaddexp": lambda x, y: np.log(np.exp(x) + np.exp(y)),
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "silu": lambda x: x / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0), "where": np.where, "frac": lambda x: x - np.trunc(x),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6, "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "relu6": lambda x: np.clip(x, 0, 6),
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)), "bitwise_not": np.invert,
    "tril": np.tril, "triu": np.triu, "clone": np.copy,
}  # fmt: skip
#: The rounding of results in each type, and of half operands before an op that widens them.
_TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "float64": 1e-13, "complex64": 4e-6}


def accepted(op: OpOverload) -> list[tuple[Any, Any, Any]]:
    """(args, kwargs, result) of the sample calls that the op takes."""
    found = []
    for _, (args, kwargs) in calls(op):
        try:
            found.append((args, kwargs, op(*args, **kwargs)))
        except OpweaveError:
            continue
    assert found, f"{op} takes none of its samples"
    return found


@pytest.mark.parametrize("op", ops_with_samples(*FAMILIES), ids=str)
def test_layout_without_data(op: OpOverload) -> None:
    for args, kwargs, result in accepted(op):
        if op.is_mutable or not any(isinstance(a, Tensor) for a in args):
            continue  # what is written keeps its layout, and a new tensor is asked for on the meta device below
        meta_args, meta_kwargs = replace_tensors((args, kwargs), as_meta)
        assert layouts(op(*meta_args, **meta_kwargs)) == layouts(result), (op, args, kwargs)


@pytest.mark.parametrize("op", ops_with_samples(creation), ids=str)
def test_layout_on_the_meta_device(op: OpOverload) -> None:
    if "device" not in {a.name for a in op._schema.arguments}:
        pytest.skip("takes no device")
    for args, kwargs, result in accepted(op):
        assert layouts(op(*args, **kwargs, device="meta")) == layouts(result), (op, args, kwargs)


@pytest.mark.parametrize("name", _NUMPY)
def test_values_agree_with_numpy(name: str) -> None:
    packet = getattr(ops.aten, name)
    op = getattr(packet, packet.overloads()[0])
    for args, kwargs, result in accepted(op):
        floating = as_list(result)[0]._dtype.kind not in "biu"
        wide = replace_tensors(args, lambda t: _widened(t, floating))  # noqa: B023
        with np.errstate(all="ignore"):
            expected = np.asarray(_NUMPY[name](*wide, **kwargs))
        for mine in as_list(result):
            array = mine.numpy()
            assert array.shape == expected.shape
            if mine._dtype.kind in "biu":
                np.testing.assert_array_equal(array, expected.astype(array.dtype), err_msg=f"{op} {args}")
                continue
            tolerance = _TOLERANCE.get(mine._dtype.name, 1e-13)
            wide_type = np.complex128 if mine._dtype.kind == "c" else np.float64
            with np.errstate(all="ignore"):
                rounded = expected.astype(array.dtype).astype(wide_type)
            np.testing.assert_allclose(
                array.astype(wide_type), rounded, rtol=tolerance, atol=tolerance, err_msg=f"{op} {args}"
            )


def _widened(t: Tensor, floating: bool) -> Any:
    """In double precision; integers and bools stay so where the result is not floating."""
    array = t.numpy()
    if t._dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if floating or t._dtype.kind == "f" else array


@pytest.mark.parametrize("op", [op for op in ops_with_samples(*FAMILIES) if op.is_mutable], ids=str)
def test_in_place_counts_and_returns_its_argument(op: OpOverload) -> None:
    for _, (args, kwargs) in calls(op):
        version = args[0]._version
        try:
            assert op(*args, **kwargs) is args[0]
        except OpweaveError:
            assert args[0]._version == version
            continue
        assert args[0]._version > version
