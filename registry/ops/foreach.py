"""Ops on lists of tensors, `_foreach_add` and the like: what optimizers of many parameters are written with.

Each is one op for each tensor, so a graph has these, and its kernels take many at a time (`codegen.loops.combine`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opweave.registry.errors import OutOfRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import result_type
from opweave.registry.tensor import Tensor, describe

aten = ops.aten

#: They are ops of their own, which autocasting knows nothing of, to CUDA; elsewhere what they are written with is cast.
_AS_GIVEN: Any = {"cuda": "keep"}
#: Names of the ops that write.
_WRITING: dict[str, None] = {"_foreach_zero_": None, "_foreach_copy_": None}

Each = Callable[..., Any]
Lists = Callable[..., Iterator[tuple[Any, ...]]]


def _filled(op: str, tensors: Sequence[Tensor]) -> None:
    if not tensors:
        raise ShapeError(f"{op}: Tensor list must have at least one tensor", got="[]", hint="leave the call out")


def _same_length(op: str, tensors: Sequence[Tensor], others: Sequence[Any], kind: str) -> None:
    if len(tensors) != len(others):
        raise ShapeError(
            f"{op}: lists of tensors and of {kind} must have the same length", got=f"{len(tensors)} and {len(others)}",
            hint="one for each tensor",
        )  # fmt: skip


def _declare(name: str, overload: str, arguments: str, each: Each, written: Each, lists: Lists) -> None:
    """The op of lists and that which writes into them.

    Parameters
    ----------
    arguments : str
        Of the schema, behind the tensors.
    each, written : callable
        What is called with the arguments of one tensor.
    lists : callable
        Gives these in turn, from the op's name and arguments.
    """
    full = f"_foreach_{name}"
    suffix = f".{overload}" if overload else ""

    @composite(f"aten::{full}{suffix}(Tensor[] self{arguments}) -> Tensor[]", autocast=_AS_GIVEN)
    def functional(self: Sequence[Tensor], *args: Any, **kwargs: Any) -> list[Tensor]:
        return [each(*given, **kwargs) for given in lists(full, self, *args)]

    @composite(f"aten::{full}_{suffix}(Tensor(a!)[] self{arguments}) -> ()", autocast=_AS_GIVEN)
    def in_place(self: Sequence[Tensor], *args: Any, **kwargs: Any) -> None:
        for given in lists(f"{full}_", self, *args):
            written(*given, **kwargs)

    _WRITING[f"{full}_"] = None
    functional.with_samples(_samples(overload, arguments))


def _samples(overload: str, arguments: str) -> Callable[[Make], Samples]:
    def samples(make: Make) -> Samples:
        inside = {"low": 0.1, "high": 0.9}  # where acos and log are, too
        tensors = [make(2, 3, **inside), make(4, **inside)]
        given: list[Any] = []
        for text in arguments.strip(", ").split(", ") if arguments else []:
            if text == "*" or "=" in text:
                break
            kind = text.split()[0]
            made = {"Tensor[]": [make(2, 3, **inside), make(4, **inside)], "Scalar[]": [2.0, 0.5], "Scalar": 2.0}
            lone = make(2) if overload == "Tensor" and "tensor1" in arguments else make()
            given.append(made.get(kind, lone))
        yield (tensors, *given), {}

    return samples


# ---- of the tensors alone --------------------------------------------------------------------------------------------


def _alone(op: str, self: Sequence[Tensor]) -> Iterator[tuple[Any, ...]]:
    _filled(op, self)
    return ((t,) for t in self)


for _name in (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
):  # fmt: skip
    _declare(_name, "", "", getattr(aten, _name).default, getattr(aten, f"{_name}_").default, _alone)


@composite("aten::_foreach_zero_(Tensor(a!)[] self) -> ()", autocast=_AS_GIVEN)
def foreach_zero_(self: Sequence[Tensor]) -> None:
    """Write zeros."""
    for (t,) in _alone("_foreach_zero_", self):
        aten.zero_.default(t)


@composite("aten::_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", autocast=_AS_GIVEN)
def foreach_clone(self: Sequence[Tensor], *, memory_format: Any = None) -> list[Tensor]:
    """Copies."""
    return [aten.clone.default(t, memory_format=memory_format) for (t,) in _alone("_foreach_clone", self)]


# ---- with a second one -----------------------------------------------------------------------------------------------


def _one_for_all(op: str, self: Sequence[Tensor], *others: Any) -> Iterator[tuple[Any, ...]]:
    _filled(op, self)
    return ((t, *others) for t in self)


def _with_tensors(op: str, self: Sequence[Tensor], *others: Any) -> Iterator[tuple[Any, ...]]:
    _filled(op, self)
    for each in others:
        _same_length(op, self, each, "tensors")
    return zip(self, *others, strict=True)


def _with_numbers(op: str, self: Sequence[Tensor], *others: Any) -> Iterator[tuple[Any, ...]]:
    _filled(op, self)
    for each in others:
        _same_length(op, self, each, "numbers")
    return zip(self, *others, strict=True)


def _with_lone_tensor(op: str, self: Sequence[Tensor], other: Tensor) -> Iterator[tuple[Any, ...]]:
    if other.ndim or other.numel() != 1:
        raise ShapeError(f"{op}: scalar tensor expected to be 0 dim", got=describe(other), hint="a list of tensors")
    return _one_for_all(op, self, other)


_NUMBER, _NUMBERS, _TENSORS, _LONE = ", Scalar scalar", ", Scalar[] scalars", ", Tensor[] other", ", Tensor other"
_ALPHA = ", *, Scalar alpha=1"
#: Name; ops of a number, writing a number, of a tensor, writing a tensor; whether there is a factor of the second, and
#: whether one tensor for all may be the second.
for _name, _ops, _has_alpha, _takes_lone in (
    ("add", ("add.Scalar", "add_.Scalar", "add.Tensor", "add_.Tensor"), True, True),
    ("sub", ("sub.Scalar", "sub_.Scalar", "sub.Tensor", "sub_.Tensor"), True, False),
    ("mul", ("mul.Scalar", "mul_.Scalar", "mul.Tensor", "mul_.Tensor"), False, True),
    ("div", ("div.Scalar", "div_.Scalar", "div.Tensor", "div_.Tensor"), False, True),
    *(
        (name, (f"{op}.default", f"{op}_.default", f"{op}.Tensor", f"{op}_.Tensor"), False, False)
        for name, op in (("clamp_min", "clamp_min"), ("clamp_max", "clamp_max"), ("maximum", "clamp_min"),
                         ("minimum", "clamp_max"))
    ),
):  # fmt: skip
    _number, _write_number, _tensor, _write_tensor = (
        getattr(getattr(aten, text.partition(".")[0]), text.partition(".")[2]) for text in _ops
    )
    _alpha = _ALPHA if _has_alpha else ""
    _declare(_name, "Scalar", _NUMBER, _number, _write_number, _one_for_all)
    _declare(_name, "List", _TENSORS + _alpha, _tensor, _write_tensor, _with_tensors)
    _declare(_name, "ScalarList", _NUMBERS, _number, _write_number, _with_numbers)
    if _takes_lone:
        _declare(_name, "Tensor", _LONE + _alpha, _tensor, _write_tensor, _with_lone_tensor)

_POWER = aten.pow.Tensor_Scalar, aten.pow_.Scalar
_declare("pow", "List", ", Tensor[] exponent", aten.pow.Tensor_Tensor, aten.pow_.Tensor, _with_tensors)
_declare("pow", "Scalar", ", Scalar exponent", *_POWER, _one_for_all)
_declare("pow", "ScalarList", ", Scalar[] exponent", *_POWER, _with_numbers)


@composite("aten::_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", autocast=_AS_GIVEN)
def foreach_pow_of_number(self: Any, exponent: Sequence[Tensor]) -> list[Tensor]:
    """A number to the power of each."""
    return [aten.pow.Scalar(self, t) for (t,) in _alone("_foreach_pow", exponent)]


@composite("aten::_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", autocast=_AS_GIVEN)
def foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> None:
    """Write the one's values into the other."""
    for t, source in _with_tensors("_foreach_copy_", self, src):
        aten.copy_.default(t, source)


@composite("aten::_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]", autocast=_AS_GIVEN)
def foreach_mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> list[Tensor]:
    """Products of matrices."""
    return [aten.mm.default(a, b) for a, b in _with_tensors("_foreach_mm", self, mat2)]


# ---- with two more ---------------------------------------------------------------------------------------------------


def _and_number(op: str, self: Sequence[Tensor], first: Any, second: Any, number: Any = 1) -> Iterator[tuple[Any, ...]]:
    return ((*given, number) for given in _with_tensors(op, self, first, second))


def _and_numbers(op: str, self: Sequence[Tensor], first: Any, second: Any, numbers: Any) -> Iterator[tuple[Any, ...]]:
    _same_length(op, self, numbers, "numbers")
    return ((*given, n) for given, n in zip(_with_tensors(op, self, first, second), numbers, strict=True))


def _and_elements(
    op: str, self: Sequence[Tensor], first: Any, second: Any, numbers: Tensor
) -> Iterator[tuple[Any, ...]]:
    if tuple(numbers._sizes) != (len(self),):
        raise ShapeError(
            f"{op}: expected a vector with a number for each of the {len(self)} tensors", got=describe(numbers),
            hint="a list of numbers",
        )  # fmt: skip
    return _and_numbers(op, self, first, second, list(aten.unbind.int(numbers)))


def _by_value(op: Any) -> Each:
    def each(t: Tensor, first: Tensor, second: Tensor, value: Any = 1) -> Any:
        return op(t, first, second, value=value)

    return each


def _by_element(op: Any, combine: Any, add: Any) -> Each:
    def each(t: Tensor, first: Tensor, second: Tensor, number: Tensor) -> Any:
        if result_type(first, second).kind not in "fc" and combine is aten.div.Tensor:
            return op(t, first, second)  # which says that it is not for integers
        return add(t, combine(aten.mul.Tensor(first, number), second))

    return each


_PAIR = ", Tensor[] tensor1, Tensor[] tensor2"
for _name, _combine in (("addcmul", aten.mul.Tensor), ("addcdiv", aten.div.Tensor)):
    _op, _op_ = getattr(aten, _name).default, getattr(aten, f"{_name}_").default
    _both = _by_value(_op), _by_value(_op_)
    _elements = _by_element(_op, _combine, aten.add.Tensor), _by_element(_op_, _combine, aten.add_.Tensor)
    _declare(_name, "Scalar", f"{_PAIR}, Scalar value=1", *_both, _and_number)
    _declare(_name, "ScalarList", f"{_PAIR}, Scalar[] scalars", *_both, _and_numbers)
    _declare(_name, "Tensor", f"{_PAIR}, Tensor scalars", *_elements, _and_elements)


def _towards(op: str, self: Sequence[Tensor], ends: Any, weight: Any) -> Iterator[tuple[Any, ...]]:
    return ((*given, weight) for given in _with_tensors(op, self, ends))


def _towards_by_numbers(op: str, self: Sequence[Tensor], ends: Any, weights: Any) -> Iterator[tuple[Any, ...]]:
    _same_length(op, self, weights, "numbers")
    return ((*given, w) for given, w in zip(_with_tensors(op, self, ends), weights, strict=True))


_LERP = aten.lerp.Scalar, aten.lerp_.Scalar
_declare(
    "lerp", "List", ", Tensor[] tensors1, Tensor[] weights", aten.lerp.Tensor, aten.lerp_.Tensor, _with_tensors
)  # fmt: skip
_declare("lerp", "Scalar", ", Tensor[] tensors1, Scalar weight", *_LERP, _towards)
_declare("lerp", "ScalarList", ", Tensor[] tensors1, Scalar[] weight", *_LERP, _towards_by_numbers)


# ---- to one number each ----------------------------------------------------------------------------------------------


@composite("aten::_foreach_max(Tensor[] self) -> Tensor[]", autocast=_AS_GIVEN)
def foreach_max(self: Sequence[Tensor]) -> list[Tensor]:
    """The largest element of each."""
    for (t,) in _alone("_foreach_max", self):
        if not t.numel():
            raise OutOfRangeError(
                "_foreach_max: max over zero elements is undefined", got=describe(t), hint="leave it out of the list"
            )
    return [aten.max.default(t) for t in self]


@composite(
    "aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", autocast=_AS_GIVEN
)
def foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> list[Tensor]:
    """The norm of each, as a vector."""
    return [aten.linalg_vector_norm.default(t, ord, dtype=dtype) for (t,) in _alone("_foreach_norm", self)]


@composite(
    "aten::_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", autocast=_AS_GIVEN
)
def foreach_powsum(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> list[Tensor]:
    """The sum of powers of the elements' sizes, which is the norm's before the root."""
    found = []
    for (t,) in _alone("_foreach_powsum", self):
        size = aten.abs.default(t)
        size = size if dtype is None else aten._to_copy.default(size, dtype=dtype)
        found.append(aten.sum.default(aten.pow.Tensor_Scalar(size, ord)))
    return found


# ---- functions of the package ----------------------------------------------------------------------------------------


def _giving_back(name: str) -> Callable[..., Any]:
    packet = getattr(aten, name)

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        packet(self, *args, **kwargs)
        return self

    function.__name__ = name
    function.__doc__ = f"`{name.removeprefix('_foreach_')}` of each tensor of a list, in place; gives the list."
    return function


#: What writes gives the list that it has written to.
FUNCTIONS: dict[str, Callable[..., Any]] = {name: _giving_back(name) for name in _WRITING}
