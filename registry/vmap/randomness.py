"""Random ops inside `vmap`: refused, the same for all examples, or different for each, as the call says.

Each active call is asked in turn, the innermost first. Other ops pass this key by.
"""

from __future__ import annotations

from typing import Any

from opweave.registry.batched import BatchedTensor, Level, make_batched
from opweave.registry.batching import bound, call, refuse_write, stretched, write_each
from opweave.registry.dispatching import resolvers
from opweave.registry.errors import UnsupportedError
from opweave.registry.kernels import Kernel
from opweave.registry.keys import DispatchKey
from opweave.registry.op import OpOverload, ops
from opweave.registry.tensor import Tensor
from opweave.registry.vmap.levels import active, left

_TAG = "nondeterministic_seeded"


def _is_random(op: OpOverload) -> bool:
    """Whether an op draws numbers itself, which one that is written with others leaves to them."""
    functional = (op.decl and op.decl.functional) or op
    return _TAG in functional.declared_tags and not (functional.decl and functional.decl.is_composite)


def resolve(op: OpOverload, bits: int) -> Kernel | None:
    """The kernel of a random op inside `vmap`; None for any other op."""
    if not _is_random(op):
        return None

    def kernel(*args: Any, **kwargs: Any) -> Any:
        levels = active()
        if not levels:
            return op(*args, **kwargs)
        return _random(op, levels[-1], args, kwargs)

    return kernel


def _random(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if level.randomness == "error":
        raise UnsupportedError(
            f"vmap: the random op {op} was called with randomness='error'",
            got="randomness='error'",
            hint="vmap(..., randomness='different') draws anew for each example, 'same' once for all",
        )
    values = bound(op, args, kwargs)
    decl = op.decl
    if decl is None:
        with left():
            return op(*args, **kwargs)  # a user's op; its own rule is told the randomness
    if decl.functional is not None:
        targets, rest = decl.split((), values)
        if level.randomness == "different":
            for target in targets:
                refuse_write(op, target, level)
        results = decl.functional(**rest)
        return write_each(op, targets, [results] if isinstance(results, Tensor) else list(results))
    name = op._schema.arguments[0].name
    source = values[name]
    if level.randomness == "same":
        if isinstance(source, BatchedTensor) and source.level == level:
            if op is ops.aten.bernoulli.default:
                raise UnsupportedError(
                    "vmap: bernoulli of probabilities that differ between examples, with randomness='same'",
                    hint="opweave.rand_like(p) < p compares each with the same numbers",
                )
            values[name] = ops.aten.select.int(source.value, source.bdim, 0) if level.size else _one(source)
        with left():
            return call(op, values)
    with left():
        if isinstance(source, Tensor):
            return make_batched(call(op, {**values, name: stretched(source, level)}), 0, level)
        if "size" in values:
            return make_batched(call(op, {**values, "size": [level.size, *values["size"]]}), 0, level)
        drawn = [call(op, values) for _ in range(level.size)]  # a permutation
        if not drawn:
            raise UnsupportedError(f"vmap: {op} for no example")
        return make_batched(ops.aten.stack.default(drawn, 0), 0, level)


def _one(source: BatchedTensor) -> Tensor:
    """A tensor of an example's shape, where there is no example."""
    return ops.aten.new_empty.default(source.value, source._sizes)


resolvers[DispatchKey.FuncTorchVmapMode] = resolve
