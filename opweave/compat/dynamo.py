"""`torch.compile(fn, backend=opweave.compat.backend)`: PyTorch captures and differentiates, opweave compiles.

What comes here are the graphs of ATen ops that AOTAutograd makes, one forward and one backward, without mutation. Each
op becomes opweave's of the same name, traced with tensors that share the memory of PyTorch's; the graph then goes
through opweave's passes and kernels. A graph is compiled for the sizes that it is called with.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from opweave.compat.sharing import from_torch, opweave_setting, pytorch, to_torch
from opweave.fake.mode import FakeTensorMode
from opweave.pipeline import compile_graph
from opweave.registry.errors import UnsupportedError
from opweave.registry.op import OpOverload, ops
from opweave.registry.random_generator import manual_seed
from opweave.registry.random_state import get_rng_state, set_rng_state
from opweave.registry.tensor import Tensor
from opweave.runtime.context import below_autograd
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.make_fx import trace_flat

_serial = itertools.count()


def backend(graph: Any, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """Compile a graph for `torch.compile` on the CPU; training too.

    Parameters
    ----------
    graph : torch.fx.GraphModule
        As captured by TorchDynamo.
    example_inputs : sequence of torch.Tensor
        Its inputs.
    **options
        None are known.

    Returns
    -------
    callable
        What runs in its place.

    Raises
    ------
    UnsupportedError
        If it calls ops that opweave has not, which are named, or tensors are not in main memory.

    Examples
    --------
    >>> fast = torch.compile(model, backend=opweave.compat.backend)  # doctest: +SKIP
    """
    pytorch()
    if options:
        raise UnsupportedError(f"opweave.compat.backend: unknown options {', '.join(map(repr, options))}")
    common = importlib.import_module("torch._dynamo.backends.common")
    made = common.aot_autograd(fw_compiler=_compiled, decompositions=_decompositions())
    return made(graph, example_inputs)


@functools.cache
def _decompositions() -> dict[Any, Any]:
    """PyTorch's own, for ops that opweave has not."""
    found = importlib.import_module("torch._decomp")
    table = {**found.decomposition_table, **found.core_aten_decompositions()}
    return {op: body for op, body in table.items() if hasattr(op, "_overloadname") and _ours(op) is None}


def _ours(op: Any) -> OpOverload | None:
    """The op of opweave's with the name of one of PyTorch's."""
    space, _, name = op.name().partition("::")
    packet = getattr(getattr(ops, space, None), name.partition(".")[0], None)
    found = getattr(packet, op._overloadname, None)
    return found if isinstance(found, OpOverload) else None


def _compiled(graph: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """What runs a graph of ATen ops."""
    torch = pytorch()
    translated = _Translated(graph)
    programs: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def run(inputs: list[Any]) -> list[Any]:
        given = [from_torch(t.detach()) if isinstance(t, torch.Tensor) else t for t in inputs]
        inputs.clear()  # what the caller gave away may go
        key = tuple([_fact(t) for t in given])
        program = programs.get(key)
        if program is None:
            program = programs[key] = translated.compile(given)
        return program(*[t for t in given if isinstance(t, Tensor)])

    setattr(run, "_boxed_call", True)  # noqa: B010  # AOTAutograd then passes a list
    return run


def _fact(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return type(value), value
    return value._sizes, value._strides, value._dtype, value._device


class _Translated:
    """A graph of PyTorch's with opweave's ops.

    Parameters
    ----------
    graph : torch.fx.GraphModule
        Of ATen ops.
    """

    def __init__(self, graph: Any) -> None:
        torch = pytorch()
        self.name = f"torch_{next(_serial)}"
        self.nodes = list(graph.graph.nodes)
        self.attributes = {n.target: _attribute(graph, n.target) for n in self.nodes if n.op == "get_attr"}
        self.ops: dict[Any, Callable[..., Any]] = {}
        missing: dict[str, str] = {}
        for node in self.nodes:
            if node.op != "call_function":
                continue
            op = node.target
            if isinstance(op, torch._ops.OpOverload):
                found = _ours(op)
                if found is None:
                    missing.setdefault(op.name(), (node.stack_trace or "").strip().rpartition("\n")[2].strip())
                else:
                    self.ops[op] = found
            elif getattr(op, "__module__", "") in ("_operator", "operator", "math", "builtins"):
                self.ops[op] = op
            else:
                missing.setdefault(str(op), "")
        if missing:
            raise UnsupportedError(
                f"torch.compile: opweave has no {', '.join(sorted(missing))}",
                got="; ".join(line for line in missing.values() if line) or None,
                hint="register it (opweave.library), or keep that part out: torch.compiler.disable",
            )
        self.is_random = any(isinstance(op, OpOverload) and op.is_random for op in self.ops.values())

    def compile(self, given: Sequence[Any]) -> Callable[..., Any]:
        """A program for inputs that look like these."""
        numbers = [None if isinstance(value, Tensor) else value for value in given]
        kept: list[Any] = []

        def traced(*tensors: Tensor) -> list[Tensor]:
            waiting = iter(tensors)
            outputs = self._interpret([n if n is not None else next(waiting) for n in numbers])
            kept[:] = [None if isinstance(value, Tensor) else (value,) for value in outputs]
            return [value for value in outputs if isinstance(value, Tensor)]

        tensors = [value for value in given if isinstance(value, Tensor)]
        mode = FakeTensorMode()
        with below_autograd():
            graph, constants = trace_flat(traced, tensors, mode, compiling=True)
            module = GraphModule(constants, graph, name=self.name)
            module.shape_env = mode.shape_env
            program = compile_graph(module, self.name)

        def run(*inputs: Tensor) -> list[Any]:
            with below_autograd():
                found = iter(program.run(*inputs))
            return [to_torch(next(found)) if value is None else value[0] for value in kept]

        return self._seeded(run) if self.is_random else run

    def _seeded(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Let the random numbers follow from PyTorch's generator."""
        torch = pytorch()

        def seeded(*inputs: Tensor) -> list[Any]:
            before = get_rng_state()
            manual_seed(int(torch.randint(2**62, ())))
            try:
                return run(*inputs)
            finally:
                set_rng_state(before)

        return seeded

    def _interpret(self, inputs: list[Any]) -> list[Any]:
        values: dict[Any, Any] = {}
        waiting = iter(inputs)
        for node in self.nodes:
            if node.op == "placeholder":
                values[node] = next(waiting)
            elif node.op == "get_attr":
                values[node] = self.attributes[node.target]
            elif node.op == "call_function":
                args = [_operand(value, values) for value in node.args]
                kwargs = {name: _operand(value, values) for name, value in node.kwargs.items()}
                if kwargs.get("pin_memory") is not None:
                    del kwargs["pin_memory"]
                values[node] = self.ops[node.target](*args, **kwargs)
            else:
                return [_operand(value, values) for value in node.args[0]]
        raise UnsupportedError("torch.compile: a graph without an output")


def _attribute(graph: Any, path: str) -> Any:
    value = functools.reduce(getattr, path.split("."), graph)
    return from_torch(value.detach()) if isinstance(value, pytorch().Tensor) else value


def _operand(value: Any, values: dict[Any, Any]) -> Any:
    """An operand of PyTorch's as opweave has it."""
    torch = pytorch()
    if isinstance(value, torch.fx.Node):
        return values[value]
    if isinstance(value, (list, tuple)):
        return [_operand(item, values) for item in value]
    return opweave_setting(value)
