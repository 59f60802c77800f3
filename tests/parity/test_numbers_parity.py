"""Numbers of every kind and size where a schema has a `Scalar`, beside tensors of every type, as in PyTorch.

Every op with such a parameter is called with each number and type: the same result, or an error in both. And the ways
in which PyTorch reads the arguments of its functions: a truth value is no whole number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import comparisons
from differences import NUMBERS as DIFFERENCES, Difference, left_out
from op_matrix import FULL
from op_samples import as_list, maker, replace_tensors
from oracle import REFUSALS, _argument, to_torch, values_of
from test_special_values import differing

import opweave
from opweave.registry.dtypes import DTYPES, DType
from opweave.registry.errors import ArgumentError, OpweaveError
from opweave.registry.op import OpOverload, registry
from opweave.registry.tensor import Tensor

NUMBERS = (True, False, 0, 1, -1, 3, 300, 2**40, 2**63, -(2**70), 0.6, 2.0, -1.5, 1e30, 1e300, math.nan, math.inf,
           -math.inf, 1j, 2 + 0j, complex(math.nan, 0))  # fmt: skip
TYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
#: Their results are random, or not determined.
RANDOM = re.compile("rand|drop|bernoulli|normal|uniform|exponential|geometric|cauchy|empty")


def _scalars(op: OpOverload) -> list[str]:
    return [a.name for a in op._schema.arguments if str(a.type) in ("Scalar", "Scalar?")]


OPS = [
    op for op in registry.operators.values()
    if op.decl and op.decl.samples and op.namespace == "aten" and not RANDOM.search(op.opname) and _scalars(op)
    and hasattr(getattr(torch.ops.aten, op.opname, None), op.overload)
    and not op.opname.startswith("_foreach_")  # those are of other ops, which are among these
]  # fmt: skip


def calls(op: OpOverload, dtype: DType) -> Iterator[tuple[Any, Any, Any]]:
    """(number, arguments, keyword arguments), each number in each place."""
    try:
        args, kwargs = next(iter(op.decl.samples(maker(dtype))))
    except (OpweaveError, StopIteration):
        return
    positional, keyword = op._schema.bind(args, kwargs)
    names = [a.name for a in op._schema.arguments if not a.kwarg_only]
    for name in _scalars(op):
        for number in NUMBERS:
            bound = {**dict(zip(names, positional, strict=False)), **keyword, name: number}
            yield number, [bound[n] for n in names], {n: bound[n] for n in keyword}


def outcome(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The results of a call, or what it raises."""
    try:
        return as_list(function(*args, **kwargs))
    except (OpweaveError, OverflowError, *REFUSALS) as error:
        return error


@pytest.mark.parametrize("op", OPS, ids=str)
def test_numbers_of_every_kind(op: OpOverload) -> None:
    theirs = getattr(getattr(torch.ops.aten, op.opname), op.overload)
    allowed = DIFFERENCES.get(op.opname.rstrip("_"))
    count = 0
    for name in TYPES:
        for number, args, kwargs in calls(op, DTYPES[name]):
            note = (str(op), name, number, args[1:], kwargs)
            expected = outcome(theirs, *_argument(replace_tensors((args, kwargs), to_torch)))
            ours = outcome(op, *replace_tensors((args, kwargs), lambda t: t.clone()))
            assert not isinstance(ours, Exception) or isinstance(ours, OpweaveError), (note, "not a typed error", ours)
            if isinstance(expected, Exception):
                held = "overflow" in str(expected) or isinstance(expected, OverflowError)
                half = "Half" in str(expected) or "BFloat16" in str(expected)
                if held and not (half and left_out("numbers beyond half types")):
                    assert isinstance(ours, OpweaveError), (note, expected, ours)
                continue  # no difference: what else PyTorch refuses is compared by samples
            if isinstance(ours, Exception):
                half = DTYPES[name].itemsize == 2 and left_out("numbers beyond half types")
                assert half or (allowed is not None and type(ours).__name__ in (allowed.error, "ArgumentError")), note
                continue  # no difference: the table of numbers has it
            if op.opname == "hardtanh_backward" and number != number and left_out("hardtanh_backward, limits of NaN"):
                continue
            if not np.isfinite(complex(number)) and (name == "complex64" or not op.decl.kind == "pointwise"):
                assert left_out("numbers, products of infinities and complex numbers")
                continue
            for mine, other in zip(ours, expected, strict=True):
                if isinstance(other, torch.Tensor):
                    assert mine._dtype.name == str(other.dtype).removeprefix("torch."), note
                    bad = differing(
                        values_of(mine), values_of(other), mine._dtype.name, Difference("", scale=8, zeros=True)
                    )
                    assert not bad.any(), (note, values_of(mine)[bad][:4], values_of(other)[bad][:4])
            comparisons.note_test()
            count += 1
    assert count


def _x(m: Any) -> Any:
    return m.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]])


TRUTHS = (
    "x.var(False)", "x.var(True)", "x.std(True)", "x.std(False)", "m.sum(x, True)", "m.mean(x, True)",
    "x.var(0, False)", "x.var([0], True)", "m.var_mean(x, False)", "x.amax(True)", "x.sum([True])",
    "x.sum((True, False))", "x.sum(0, True)", "x.argmax(True)", "x.max(0)", "x.transpose(False, True)",
    "x.view(True, -1)", "x.reshape([True, 6])", "m.zeros(True)", "m.zeros([True, 2])", "x.repeat([True, 2])",
    "x.expand(True, 2, 3)", "x.unsqueeze(True)", "x.squeeze(False)", "x.flip(True)", "x.roll(True)", "x.roll(1, True)",
    "x.cumsum(True)", "x.sort(True)", "x.sort(0, True)", "x.topk(True)", "x.narrow(0, False, True)", "x.chunk(True)",
    "x.any(True)", "x.prod(True)", "x.norm(True)", "x.clamp(True)", "x.clamp(0, True)", "x.pow(True)", "x.add(True)",
    "m.full([2], True)", "m.arange(True)", "m.arange(True, 4)", "m.linspace(False, True, 3)", "m.linspace(0, 1, True)",
    "m.eye(True)", "x.tril(True)", "x.softmax(True)", "x.gather(True, m.tensor([[0, 1]]))", "x.flatten(False, True)",
    "m.stack([x, x], True)", "m.cat([x, x], True)", "x.median(True)", "x.kthvalue(True)", "x.logsumexp(True)",
    "x.var(0, 0)", "x.var(1)", "x.var(None)", "x.var(None, True)", "x.std(unbiased=0)", "x.sum(0, 1)",
    "x.sum(dim=0, keepdim=1)", "x.sum(1.0)", "x.sum(None)", "x.sum(np.int64(0))", "x.sum([np.int64(0)])",
    "x.clamp(np.float64(2))", "m.zeros(np.int64(2), np.int32(1))", "m.full((2,), np.float32(2))", "x.pow(np.int64(2))",
    "m.where(x > 2, 1, 0)", "m.where(x > 2, 1.5, True)", "x.lerp(x, m.tensor(0.5))",
    "x.lerp(x, True)", "m.nan_to_num(x, True)", "x.masked_fill(x > 2, 1j)", "x.fill_(1j)", "x.clone().copy_(0.5)",
    "m.full((2,), 1j, dtype=m.float32)", "m.full((2,), 300, dtype=m.uint8)", "m.full((2,), -1, dtype=m.uint8)",
    "m.full((2,), 1.5, dtype=m.int64)", "m.full((2,), math.nan, dtype=m.int64)", "m.full((2,), 2**63)",
    "m.full((2,), 1e300, dtype=m.float32)", "m.tensor([1, 2]).clamp_(1.5)", "m.tensor([1, 2]).add_(1.5)",
    "m.tensor([1, 2]) + 2**63", "m.tensor([1, 2]) + 2**64", "x + 2**70", "x + (-2) ** 70",
    "m.tensor([1, 2]) + (2**63 - 1)",
    "m.tensor([1], dtype=m.uint8) + 300", "m.tensor([1], dtype=m.int8) - 200", "m.tensor([True]) + 300",
    "1 << m.tensor([62, 63, 64, 65, -1])", "m.tensor([5, -5]) >> 70", "m.tensor([1], dtype=m.int32) << 31",
    "m.tensor([1], dtype=m.uint8) << 300", "m.tensor([5]) >> -1", "m.tensor([16777217]) + 0.0",
    "m.tensor([2**53 + 1]) * 1.0",
    "m.tensor([-128], dtype=m.int8).abs()", "-m.tensor([-(2**63)])", "m.tensor([200], dtype=m.uint8) * 2",
    "m.tensor([2, 3]) ** m.tensor([-1, 2])", "m.tensor([1, -1, 2, 0]) ** m.tensor([-3])", "m.tensor([3]) ** 41",
    "m.tensor([3]) ** -1", "m.tensor([True]) & True", "m.tensor([True]) * m.tensor([True])", "m.tensor([True]) - True",
)  # fmt: skip
#: Tensors without dimensions as numbers, whose values a trace does not know.
TENSORS = (
    "x.sum(m.tensor(0))", "x.sum([m.tensor(0)])", "x.sum(m.tensor(0.0))", "x.cumsum(m.tensor(1.0))",
    "m.zeros(m.tensor(2))", "x.clamp(m.tensor(2))", "x.clamp(2, m.tensor(5.0))", "m.full((2,), m.tensor(3.0))",
    "x.add(1, alpha=m.tensor(2))",
)  # fmt: skip
SPACED = tuple(
    f"m.{name}({start}, {end}, {steps}, dtype=m.{dtype})"
    for name in ("linspace", "logspace")
    for start, end in ((0.5, 2.7), (-1.9, 3), (0, 2), (2, -1.5), (1, 1))
    for steps in (0, 1, 2, 5, 6)
    for dtype in ("int64", "int32", "uint8", "float32", "float64", "complex64")
    if not (name == "logspace" and dtype == "uint8")
) + tuple(
    f"m.arange({start}, {end}, {step}, dtype=m.{dtype})"
    for start, end, step in ((0.5, 5, 1.5), (0, 5, 0.5), (-2.5, 2.5, 1), (5, 0.5, -1.5), (0, 3, 1), (0, 1, 0.1))
    for dtype in ("int64", "int32", "int8", "float32", "float64")
)  # fmt: skip
CORNERS = (
    "m.tensor(3.0).flip(0)", "m.tensor(3.0).flip([])", "m.tensor(3.0).flip(-1)", "m.tensor(3.0).flip(1)",
    "m.gather(m.tensor(3.0), 0, m.tensor(0))", "m.gather(m.tensor(3.0), 0, m.tensor([0, 0]))",
    "m.gather(m.tensor([3.0, 4.0]), 0, m.tensor(1))", "m.gather(m.tensor(3.0), 0, m.tensor([], dtype=m.int64))",
    "m.gather(m.ones(2, 3), 1, m.empty(0, 3, dtype=m.int64))", "m.gather(m.ones(2, 3), 1, m.tensor([], dtype=m.int64))",
    "m.tensor(3.0).scatter_add(0, m.tensor(0), m.tensor(2.0))",
    "m.tensor(3.0).scatter_add(0, m.tensor([0, 0]), m.tensor([2.0, 1.0]))",
    "m.tensor([3.0, 4.0]).scatter_add(0, m.tensor(1), m.tensor(2.0))",
    "m.tensor(3.0).scatter_add(0, m.tensor(0), m.tensor([2.0]))",
    "m.tensor([3.0, 4.0]).scatter_add(0, m.tensor([], dtype=m.int64), m.tensor([2.0]))",
    "m.ones(2, 3).scatter_add(0, m.tensor([], dtype=m.int64), m.tensor([2.0]))",
    "m.tensor(3.0).scatter(0, m.tensor(0), 2.0)",
    "m.ones(2, 3).scatter_add(1, m.empty(0, 3, dtype=m.int64), m.empty(0, 3))",
    "m.tensor(3.0).index_fill(0, m.tensor(0), 2.0)",
    "m.tensor(3.0).index_select(0, m.tensor(0))", "m.tensor(3.0).index_add(0, m.tensor(0), m.tensor(2.0))",
    "m.tensor(3.0).take_along_dim(m.tensor(0), 0)", "m.bincount(m.tensor([2**40]))",
    "m.bincount(m.tensor([2**63 - 1]))",
    "m.bincount(m.tensor([3]), minlength=2**62)", "m.bincount(m.tensor([], dtype=m.int64))",
    "m.bincount(m.tensor([-1]))",
    "m.tril_indices(10**7, 10**7)", "m.triu_indices(2**31, 2**33)", "m.tril_indices(3, 5, -1)",
    "m.triu_indices(4, 2, 1)",
    "m.tril_indices(3, 5, 9)", "m.triu_indices(3, 5, -9)", "m.tril_indices(0, 5)",
    "m.nn.functional.softshrink(m.ones(2), -1.0)",
)  # fmt: skip


def function(text: str, package: Any) -> Callable[..., Any]:
    """The expression as a function of `x`."""
    return eval(f"lambda x: {text}", {"m": package, "np": np, "math": math})


@pytest.mark.parametrize("text", [*TRUTHS, *TENSORS, *CORNERS])
def test_as_pytorch_reads_its_arguments(text: str) -> None:
    _agree(text)


def test_spaced_numbers() -> None:
    for text in SPACED:
        _agree(text)


def _agree(text: str) -> None:
    comparisons.note_test()
    _same(text, outcome(function(text, opweave), [_x(opweave)], {}), outcome(function(text, torch), [_x(torch)], {}))


@pytest.mark.parametrize("part", range(4))
def test_compiled_as_eager(part: int) -> None:
    """Expressions that compute something, many in one function."""
    spaced = SPACED[:: 1 if FULL else 5]
    texts = [t for t in (*TRUTHS, *CORNERS, *spaced)[part::4] if "bincount" not in t]
    texts = [t for t in texts if not isinstance(outcome(function(t, opweave), [_x(opweave)], {}), Exception)]
    whole = "[" + ", ".join(texts) + "]"
    found = opweave.compile(function(whole, opweave))(_x(opweave))
    for text, mine in zip(texts, found, strict=True):
        _same(text, as_list(mine), outcome(function(text, torch), [_x(torch)], {}))


def _same(text: str, ours: Any, expected: Any) -> None:
    if isinstance(expected, Exception):
        assert isinstance(ours, OpweaveError), (text, expected, ours)
        return
    assert not isinstance(ours, Exception), (text, ours)
    for mine, other in zip(ours, expected, strict=True):
        assert mine._dtype.name == str(other.dtype).removeprefix("torch."), (text, mine, other)
        assert mine._sizes == tuple(other.shape), (text, mine, other)
        bad = differing(values_of(mine), values_of(other), mine._dtype.name, Difference("", zeros=True))
        assert not np.any(bad), (text, mine, other)


def test_calls_of_overloads_take_no_truths_either() -> None:
    x = opweave.ones(2, 3)
    for call in (
        lambda: opweave.ops.aten.sum.dim_IntList(x, [True]), lambda: opweave.ops.aten.cumsum.default(x, True),
        lambda: opweave.ops.aten.sum.dim_IntList(x, True),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match="not bool"):
            call()


@pytest.mark.parametrize("value", [2.0, "tensor"])
def test_gradient_of_index_fill_with_repeated_numbers(value: Any) -> None:
    def run(m: Any, wrap: Any = lambda f: f) -> Any:
        x = m.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
        number = m.tensor(2.0, requires_grad=True) if value == "tensor" else value
        weights = m.tensor([[1.0, 10.0], [100.0, 1000.0], [3.0, 5.0]])
        at = m.tensor([0, 0, 2, 0])
        wrap(lambda x, n: (m.index_fill(x, 0, at, n) * weights).sum() + ((x * 1).index_fill_(0, at[:2], n) ** 2).sum())(
            x, number
        ).backward()
        return [x.grad.tolist(), number.grad.tolist() if value == "tensor" else None]

    assert run(opweave) == run(torch) == run(opweave, opweave.compile)
    assert isinstance(opweave.index_fill(opweave.ones(3), 0, opweave.tensor([-1]), 2.0), Tensor)
