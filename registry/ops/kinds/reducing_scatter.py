"""Ops that reduce each place of a tensor with the elements that an index sends there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from opweave.registry.ops.kinds.composite import ExternDecl
from opweave.registry.ops.kinds.gather import Scatter
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.kinds.writing import with_traits
from opweave.registry.spec import TensorSpec
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor

_FUNCTIONS = {"sum": "added", "mean": "added", "prod": "multiplied", "amax": "greatest", "amin": "least"}


class ReducingScatterDecl(ExternDecl):
    """A call into a library, which native code replays.

    Attributes
    ----------
    target : callable
        `target(self, dim, index, source) -> Scatter`, or None where it cannot be said.
    identity : callable
        `identity(reduce, dtype)`: what changes nothing in a reduction.
    """

    def __init__(
        self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec],
        target: Callable[..., Scatter | None], identity: Callable[..., Any],
    ):  # fmt: skip
        super().__init__(schema, body, spec)
        self.target, self.identity = target, identity

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        own, dim, index, source, reduce, include_self = self.bind(args, kwargs)
        found, dtype = self.target(own, dim, index, source), result._dtype
        if found is None or dtype.kind in "bc" or dtype.compute is not dtype:
            raise NotTaped(str(self.op))
        made, values = tape.made(result), tape.value(source)
        whole = tape.scratch(made.sizes, made.dtype) if reduce == "mean" else made
        tape.map("copied", [tape.value(own)], whole)

        def constant(value: Any) -> Any:
            return tape.constant(np.asarray(value, whole.dtype))

        if not include_self:
            found.write(tape, whole, constant(self.identity(reduce, dtype)), "scattered")
        found.write(tape, whole, values, _FUNCTIONS[reduce])
        if reduce == "mean":
            counts = tape.scratch(made.sizes, made.dtype)
            tape.map("copied", [constant(int(include_self))], counts)
            found.write(tape, counts, constant(1), "added")
            least = tape.scratch(made.sizes, made.dtype)
            tape.map(np.maximum, [counts, constant(1)], least)
            tape.map(np.floor_divide if dtype.kind in "iu" else np.divide, [whole, least], made)


def reducing_scatter(
    schema: str, *, spec: Callable[..., TensorSpec], target: Callable[..., Scatter | None],
    identity: Callable[..., Any], **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], ReducingScatterDecl]:  # fmt: skip
    """Declare such an op; the decorated function is its eager kernel."""

    def declare(body: Callable[..., Any]) -> ReducingScatterDecl:
        return with_traits(ReducingScatterDecl(schema, body, spec, target, identity), **traits)

    return declare
