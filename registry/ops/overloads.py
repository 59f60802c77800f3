"""Overloads that take numbers where the main one takes tensors.

A pointwise op takes numbers in place of tensors as it is, so these only hand on; no trace has them. They exist for code
that names an overload: `ops.aten.eq.Scalar(x, 0)`.
"""

from __future__ import annotations

from typing import Any, Unpack

from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import numeric, pointwise
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.tags import TagLike
from opweave.registry.tensor import Tensor, describe

aten = ops.aten

#: Where the ops that these hand on to are declared.
BASES = (pointwise, numeric)


def _hand_on(schema: str, target: OpOverload, **traits: Unpack[Traits]) -> None:
    said: Traits = {"tags": "pointwise", "autocast": target.decl.autocast, **traits}

    @composite(schema, **said)
    def body(*args: Any, **kwargs: Any) -> Tensor:
        return target(*args, **kwargs)


def _into(schema: str, name: str) -> None:
    """A form that writes into `out`, where the main op has one."""
    packet = getattr(aten, name)
    target = next((o for o in ("out", "Tensor_out", "Tensor_Tensor_out") if o in packet.overloads()), None)
    if target is not None:
        _hand_on(f"{schema} -> Tensor(a!)", getattr(packet, target))


def _second_number(
    name: str, overload: str = "Scalar", target: str = "Tensor", inplace_tags: TagLike = "pointwise",
    **traits: Unpack[Traits],
) -> None:  # fmt: skip
    """`name(tensor, number)`, and in place."""
    main = getattr(getattr(aten, name), target)
    _hand_on(f"aten::{name}.{overload}(Tensor self, Scalar other) -> Tensor", main, **traits)
    written = getattr(aten, f"{name}_").Tensor
    _hand_on(f"aten::{name}_.{overload}(Tensor(a!) self, Scalar other) -> Tensor(a!)", written, tags=inplace_tags)
    _into(f"aten::{name}.{overload}_out(Tensor self, Scalar other, *, Tensor(a!) out)", name)


def _first_number(name: str, overload: str = "Scalar_Tensor", **traits: Unpack[Traits]) -> None:
    """`name(number, tensor)`."""
    _hand_on(f"aten::{name}.{overload}(Scalar self, Tensor other) -> Tensor", getattr(aten, name).Tensor, **traits)
    _into(f"aten::{name}.{overload}_out(Scalar self, Tensor other, *, Tensor(a!) out)", name)


for _name in ("mul", "div", "remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor"):
    _second_number(_name)

for _name in ("eq", "ne", "lt", "le", "gt", "ge", "copysign"):
    _second_number(_name, inplace_tags=())

_second_number("floor_divide", target="default", inplace_tags=())

for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    _second_number(_name, "Tensor_Scalar")
    _first_number(_name)

for _name in ("remainder", "bitwise_and", "bitwise_or", "bitwise_xor"):
    _first_number(_name)

_first_number("xlogy", "Scalar_Self", outs="OutScalar_Self")

_second_number("xlogy", "Scalar_Other", inplace_tags=(), outs="OutScalar_Other")


def _scaled(schema: str, target: OpOverload, **traits: Unpack[Traits]) -> None:
    """The number forms of add and sub take alpha by position too."""

    @composite(schema, **traits)
    def body(self: Tensor, other: Any, alpha: Any = 1, **into: Any) -> Tensor:
        return target(self, other, alpha=alpha, **into)


_ALPHA = "(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"

_scaled(f"aten::rsub.Scalar{_ALPHA}", aten.rsub.Tensor, own_tags="pointwise", outs="Scalar_out")

for _name in ("add", "sub"):
    _scaled(f"aten::{_name}.Scalar{_ALPHA}", getattr(aten, _name).Tensor, tags="pointwise")

for _name in ("add", "sub"):
    _scaled(
        f"aten::{_name}.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)",
        getattr(aten, _name).out,
        tags="pointwise",
    )

for _name in ("add_", "sub_"):
    _scaled(
        f"aten::{_name}.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
        getattr(aten, _name).Tensor,
        tags="pointwise",
    )

_hand_on(
    "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    aten.div.Tensor_mode,
    outs="Scalar_mode_out",
)

_hand_on(
    "aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)", aten.div_.Tensor_mode
)

_hand_on("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", aten.pow.Tensor_Tensor)

_hand_on("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", aten.pow.Tensor_Tensor)

_into("aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out)", "pow")

_into("aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out)", "pow")

_hand_on("aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", aten.pow_.Tensor)

_hand_on("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", aten.lerp.Tensor, outs="Scalar_out")

_hand_on("aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)", aten.lerp_.Tensor)

for _name in ("max", "min"):
    _target = getattr(aten, f"{_name}imum")
    _hand_on(f"aten::{_name}.other(Tensor self, Tensor other) -> Tensor", _target.default)
    _hand_on(f"aten::{_name}.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", _target.out)

_hand_on("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", aten.where.self)

_hand_on("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", aten.where.self)

_hand_on("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", aten.where.self)


# ---- limits --------------------------------------------------------------------------------------------------------


@composite("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", tags="pointwise", outs="Tensor_out")
def clamp_min_tensor(self: Tensor, min: Tensor) -> Tensor:
    return aten.clamp.Tensor(self, min)


@composite("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", tags="pointwise", outs="Tensor_out")
def clamp_max_tensor(self: Tensor, max: Tensor) -> Tensor:
    return aten.clamp.Tensor(self, None, max)


@composite("aten::clamp_min_(Tensor(a!) self, Scalar min) -> Tensor(a!)", tags="pointwise")
def clamp_min_(self: Tensor, min: Any) -> Tensor:
    return aten.clamp_.default(self, min)


@composite("aten::clamp_max_(Tensor(a!) self, Scalar max) -> Tensor(a!)", tags="pointwise")
def clamp_max_(self: Tensor, max: Any) -> Tensor:
    return aten.clamp_.default(self, None, max)


@composite("aten::clamp_min_.Tensor(Tensor(a!) self, Tensor min) -> Tensor(a!)", tags="pointwise")
def clamp_min_tensor_(self: Tensor, min: Tensor) -> Tensor:
    return aten.clamp_.Tensor(self, min)


@composite("aten::clamp_max_.Tensor(Tensor(a!) self, Tensor max) -> Tensor(a!)", tags="pointwise")
def clamp_max_tensor_(self: Tensor, max: Tensor) -> Tensor:
    return aten.clamp_.Tensor(self, None, max)


# ---- masked fill with a 0-d tensor ---------------------------------------------------------------------------------


def _fill_value(self: Tensor, value: Tensor) -> Tensor:
    if value._sizes:
        raise ShapeError("masked_fill: the value must be a 0-d tensor", got=describe(value))
    return value if value._dtype is self._dtype else aten._to_copy.default(value, dtype=self._dtype)


@composite(
    "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", tags="pointwise", outs="Tensor_out"
)
def masked_fill_tensor(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    if mask._dtype.kind != "b":
        raise ArgumentError("masked_fill: the mask must be bool", got=describe(mask), hint="compare with != 0")
    return aten.where.self(mask, _fill_value(self, value), self)


@composite("aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)")
def masked_fill_tensor_(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    return aten.copy_.default(self, masked_fill_tensor.body(self, mask, value))
