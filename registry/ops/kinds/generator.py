"""Generators: new tensors whose elements are functions of their index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry.autograd.formula import NOT_DIFFERENTIABLE
from opweave.registry.ops.kinds.base import Decl, Maker, handler, store
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like


class GeneratorDecl(Decl):
    """A new tensor whose elements are functions of their index.

    Attributes
    ----------
    body : callable
        `body(k, index, *args) -> value`: `index` has an int64 value for each dimension, `args` are the schema's.
    spec : callable
        `spec(*args) -> TensorSpec`.
    """

    kind = "generator"

    def __init__(self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec]):
        super().__init__(schema, body)
        self.spec = spec
        self.op.derivative = NOT_DIFFERENTIABLE
        self._run_by(self.eager)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        return make(self.spec(*self.bind(args, kwargs)))

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        """Fill a new tensor."""
        values = self.bind(args, kwargs)
        result = allocate_like(self.spec(*values))
        if result.is_meta:
            return result
        xp = result._device.xp
        k = handler(xp)
        with np.errstate(all="ignore"):
            value = self.body(k, _Index(xp, result._sizes), *values)
            store(k, result._array, xp.asarray(value), result._dtype)
        return result


class _Index(Sequence[Any]):
    """Index values of each dimension, made when a body asks for them."""

    def __init__(self, xp: Any, sizes: tuple[int, ...]):
        self.xp = xp
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, dim: Any) -> Any:
        shape = [1] * len(self.sizes)
        shape[dim] = self.sizes[dim]
        return self.xp.arange(self.sizes[dim], dtype=np.int64).reshape(shape)


def generator(schema: str, *, spec: Callable[..., TensorSpec]) -> Callable[[Callable[..., Any]], GeneratorDecl]:
    """Declare an op that fills a new tensor; the decorated body is `body(k, index, *args)`."""

    def declare(body: Callable[..., Any]) -> GeneratorDecl:
        return GeneratorDecl(schema, body, spec)

    return declare
