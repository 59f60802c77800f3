"""Generators: new tensors whose elements are functions of their index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Unpack

import numpy as np

from opweave.registry import dtypes
from opweave.registry.autograd.formula import NOT_DIFFERENTIABLE
from opweave.registry.device import Device, cpu, meta
from opweave.registry.dtypes import DType
from opweave.registry.ops.kinds.base import IGNORED, Decl, Maker, handler, reset_errors, set_errors, store
from opweave.registry.ops.kinds.loops import Call, Operand, Point
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.kinds.writing import with_traits
from opweave.registry.spec import TensorSpec
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, allocate_like


class GeneratorDecl(Decl):
    """A new tensor whose elements are functions of their index.

    Attributes
    ----------
    body : callable
        `body(k, index, *args) -> value`: `index` has an int64 value for each dimension, `args` are the schema's.
    spec : callable
        `spec(*args) -> TensorSpec`.
    uniform : bool
        Whether every element is the same, whatever its index.
    """

    kind = "generator"
    allocates = True
    cost = 0
    elementwise = True

    def __init__(self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec], uniform: bool = False):
        super().__init__(schema, body)
        self.spec = spec
        self.uniform = uniform
        self._plans: dict[Any, tuple[list[Any], TensorSpec]] = {}
        self.op.derivative = NOT_DIFFERENTIABLE
        self._run_by(self.eager)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        return make(self.spec(*self.bind(args, kwargs)))

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        """Fill a new tensor."""
        values, spec = self._planned(args, kwargs)
        result = allocate_like(spec)
        if spec.device is meta:
            return result
        xp = np if spec.device is cpu else spec.device.xp
        k = handler(xp)
        token = set_errors(IGNORED)
        try:
            for block in self._blocks(spec):
                target = result._array if block is None else result._array[block]
                value = self.body(k, _Index(xp, target.shape, 0 if block is None else block.start), *values)
                store(k, target, xp.asarray(value), result._dtype)
        finally:
            reset_errors(token)
        return result

    def _blocks(self, spec: TensorSpec) -> Iterable[slice | None]:
        """Parts of the first dimension whose values stay in the cache until they are stored; None for all of it."""
        if self.uniform or spec.device is not cpu or math.prod(spec.sizes) <= _BLOCK:
            return (None,)
        count = spec.sizes[0]
        each = max(1, _BLOCK * count // math.prod(spec.sizes))
        return (slice(start, min(start + each, count)) for start in range(0, count, each))

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        if any(isinstance(value, Tensor) for value in self.bind(args, kwargs)[1:]):
            raise NotTaped("elements that follow from a tensor's")
        made = tape.made(result)
        if not result.numel() or not self.uniform and result.numel() > _FEW:
            raise NotTaped(str(self.op))
        if self.uniform:
            tape.map("copied", [np.array(result._array.flat[0], made.dtype)], made)
        else:
            tape.map("copied", [tape.constant(result._array.copy())], made)

    def evaluate(self, call: Call, point: Point) -> Any:
        values = [v.value if isinstance(v, Operand) else v for v in call.arguments()]
        positions = tuple([point.position(part) for part in point.demand.index])
        return point.k.cast(self.body(point.k, positions, *values), call.result._dtype)

    def _planned(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], TensorSpec]:
        """The arguments in the schema's order, and what the result looks like; remembered for plain arguments."""
        key: list[Any] | None = [dtypes.get_default_dtype(), *kwargs]
        for value in (*args, *kwargs.values()):
            kind = type(value)
            if kind in (list, tuple) and all(type(item) is int for item in value):
                key += (kind, tuple(value))
            elif kind is float:
                key += (kind, repr(value))  # 0.0 and -0.0 are equal
            elif kind in _PLAIN:
                key += (kind, value)
            else:
                key = None
                break
        found = None if key is None else self._plans.get(tuple(key))
        if found is None:
            values = self.bind(args, kwargs)
            found = values, self.spec(*values)
            if key is not None and found[1].device is cpu:  # which GPU is the current one changes
                if len(self._plans) > _MOST_PLANS:
                    self._plans.clear()
                self._plans[tuple(key)] = found
        return found


# Elements of a block.
_BLOCK = 1 << 15
# Elements that are kept to be copied.
_FEW = 1 << 12
# Calls that an op remembers, and types of arguments that can be looked up.
_MOST_PLANS = 256
_PLAIN = frozenset({int, bool, str, type(None), DType, Device})


class _Index(Sequence[Any]):
    """Index values of each dimension, made when a body asks for them; those of the first count from a number."""

    def __init__(self, xp: Any, sizes: tuple[int, ...], first: int):
        self.xp = xp
        self.sizes = sizes
        self.first = first

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, dim: Any) -> Any:
        shape = [1] * len(self.sizes)
        shape[dim] = self.sizes[dim]
        first = 0 if dim % len(self.sizes) else self.first
        return self.xp.arange(first, first + self.sizes[dim], dtype=np.int64).reshape(shape)


def generator(
    schema: str, *, spec: Callable[..., TensorSpec], uniform: bool = False, **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], GeneratorDecl]:
    """Declare an op that fills a new tensor; the decorated body is `body(k, index, *args)`."""

    def declare(body: Callable[..., Any]) -> GeneratorDecl:
        return with_traits(GeneratorDecl(schema, body, spec, uniform), **traits)

    return declare
