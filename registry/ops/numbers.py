"""Overloads that take numbers where the main one takes tensors.

A pointwise op takes numbers in place of tensors as it is, so these only hand on; no trace has them. They exist for code
that names an overload: `ops.aten.eq.Scalar(x, 0)`.
"""

from __future__ import annotations

from typing import Any, Unpack

from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.tags import TagLike
from opweave.registry.tensor import Tensor

aten = ops.aten


def hand_on(schema: str, target: OpOverload, **traits: Unpack[Traits]) -> None:
    said: Traits = {"tags": "pointwise", "autocast": target.decl.autocast, **traits}

    @composite(schema, **said)
    def body(*args: Any, **kwargs: Any) -> Tensor:
        return target(*args, **kwargs)


def into(schema: str, name: str) -> None:
    """A form that writes into `out`, where the main op has one."""
    packet = getattr(aten, name)
    target = next((o for o in ("out", "Tensor_out", "Tensor_Tensor_out") if o in packet.overloads()), None)
    if target is not None:
        hand_on(f"{schema} -> Tensor(a!)", getattr(packet, target))


def second_number(
    name: str, overload: str = "Scalar", target: str = "Tensor", inplace_tags: TagLike = "pointwise",
    **traits: Unpack[Traits],
) -> None:  # fmt: skip
    """`name(tensor, number)`, and in place."""
    main = getattr(getattr(aten, name), target)
    hand_on(f"aten::{name}.{overload}(Tensor self, Scalar other) -> Tensor", main, **traits)
    written = getattr(aten, f"{name}_").Tensor
    hand_on(f"aten::{name}_.{overload}(Tensor(a!) self, Scalar other) -> Tensor(a!)", written, tags=inplace_tags)
    into(f"aten::{name}.{overload}_out(Tensor self, Scalar other, *, Tensor(a!) out)", name)


def first_number(name: str, overload: str = "Scalar_Tensor", **traits: Unpack[Traits]) -> None:
    """`name(number, tensor)`."""
    hand_on(f"aten::{name}.{overload}(Scalar self, Tensor other) -> Tensor", getattr(aten, name).Tensor, **traits)
    into(f"aten::{name}.{overload}_out(Scalar self, Tensor other, *, Tensor(a!) out)", name)
