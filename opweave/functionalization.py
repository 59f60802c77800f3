"""`func.functionalize`: what a function computes, without the in-place ops that it is written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import optree

from opweave.fake.mode import FakeTensorMode
from opweave.fake.tensor import FakeTensor
from opweave.passes import functionalize, sizes
from opweave.registry.python_dispatch import tensors_in
from opweave.tracer.interpreter import Interpreter
from opweave.tracer.make_fx import trace_flat


def call(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace a call, take the mutations out, and run what is left on the arguments: active modes see only that."""
    leaves, spec = optree.tree_flatten(cast(Any, (args, kwargs)))
    mode = next((t.fake_mode for t in tensors_in(leaves) if isinstance(t, FakeTensor)), None) or FakeTensorMode()
    out: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        given_args, given_kwargs = optree.tree_unflatten(spec, values)
        found, out_spec = optree.tree_flatten(f(*given_args, **given_kwargs))
        out.append(out_spec)
        return found

    graph, constants = trace_flat(flat, leaves, mode)
    graph = sizes.spell(functionalize.run(graph), mode.shape_env)
    return optree.tree_unflatten(out[-1], Interpreter(graph, constants).run(*leaves))
