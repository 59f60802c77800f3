"""Running an exported program node by node: what stands for its ops, and checks of what they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from opweave.fake.symbolic import SymNumber
from opweave.registry.containers import is_dict, is_sequence
from opweave.registry.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from opweave.registry.keys import DispatchKey
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.export.bodies import require_current
from opweave.tracer.export.linking import BODY, registered
from opweave.tracer.export.sizes import Binding, ExportEnv
from opweave.tracer.export.untrusted import budget
from opweave.tracer.graph import Graph, Node
from opweave.tracer.interpreter import Interpreter, called


class Runner(Interpreter):
    """Runs a program's graph node by node, with the ops that are registered now."""

    def __init__(self, graph: Graph, constants: Mapping[str, Any], links: Mapping[Any, Any]):
        super().__init__(graph, constants)
        self.links = links
        #: What the symbols are, where each result is to be compared with what the trace foresaw.
        self.binding: Binding | None = None
        #: What is left to a stranger's program.
        self.budget = budget.get()

    def run_node(self, node: Node) -> Any:
        """The value of one node."""
        if self.budget is not None:
            self.budget.spend(node)
        value = super().run_node(node)
        if self.binding is not None and node.op == "call_function":
            self.binding.check_result(node, value)
        return value

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if isinstance(target, Graph):
            return Runner(target, self.constants, self.links).run(*args)
        if type(target) is OpOverload and (self.node in self.links or registered(target) is not target):
            found = self.links.get(self.node)
            target = self.links[target] if found is None else found
        if self.budget is None:
            return called(target, args, kwargs)
        self.budget.check_call(self.node, target, args, kwargs)
        value = target(*args, **kwargs)
        self.budget.check_number(self.node, value)
        return value


class Program(Protocol):
    """What the calls of a program need of it."""

    shape_env: ExportEnv | None

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """The tensors that it brings along, by name."""
        ...

    def _linked(self) -> Mapping[Any, Any]:
        """What to call in place of ops that are not registered themselves, by op, and by node for bodies."""
        ...


def op_of_body(program: Program, node: Node) -> OpOverload:
    """An op that does what a triton_op's body did when it was exported; in no registry, for one call only.

    Being an op, it meets autograd, batching and modes as any other.
    """
    body: Graph = node.meta[BODY]
    require_current(node, body)
    op = OpOverload(node.target.name, node.target._schema, (), node.target.site)
    positional, keyword = op._schema.bind(node.args, node.kwargs)

    def run(*args: Any, **kwargs: Any) -> Any:
        given: dict[Node, Any] = {}
        _match(positional, args, given)
        _match(keyword, kwargs, given)
        values = [given[source] for source in node.all_input_nodes]
        runner = Runner(body, program.tensors, program._linked())
        binding = _check_body_inputs(program.shape_env, str(op), body, values)
        runner.binding = binding if binding is not None and binding.small else None
        return runner.run(*values)[0]

    # Modes and fake tensors see what the body calls.
    op.kernels = {DispatchKey.CompositeExplicitAutograd: run, DispatchKey.Python: run}
    return op


def _check_body_inputs(shape_env: ExportEnv | None, name: str, body: Graph, values: Sequence[Any]) -> Binding | None:
    """Check what a triton_op's body is given; says what the symbols are, as far as that tells."""
    binding = None if shape_env is None else Binding(shape_env, name)
    inputs = [(inner.name, inner.meta["val"]) for inner in body.placeholders()]
    if binding is not None:
        for (path, expected), value in zip(inputs, values, strict=True):
            if isinstance(expected, Tensor) and isinstance(value, Tensor) and value.dim() == len(expected._sizes):
                binding.read(path, expected, value)
            elif isinstance(expected, SymNumber) and expected.expr.is_Symbol and not isinstance(value, Tensor):
                binding.values.setdefault(expected.expr, value)
                binding.places.setdefault(expected.expr, path)
    for (path, expected), value in zip(inputs, values, strict=True):
        if isinstance(expected, Tensor):
            check_tensor(name, path, expected, value, binding, partial=True)
        elif binding is not None and isinstance(expected, SymNumber):
            known = binding.number(expected)
            if known is not None and known != value:
                raise ShapeError(
                    f"{name}: {path} is {value}, and must be {binding.why(expected)}",
                    got=str(value),
                    hint="its body was traced for the arguments of the export",
                )
    return binding


def check_tensor(
    name: str, path: str, expected: Tensor, value: Any, binding: Binding | None = None, *, partial: bool = False
) -> None:
    """Check an argument against what the program was exported for; `partial`: as far as the binding tells."""
    if not isinstance(value, Tensor):
        raise ArgumentError(f"{name}: {path} must be a tensor", got=describe(value), hint=f"like {describe(expected)}")
    if value._dtype is not expected._dtype:
        raise DTypeError(
            f"{name}: exported for {path} of {expected._dtype.name}, not {value._dtype.name}",
            got=describe(value),
            hint=f"{path}.to({expected._dtype!r})",
        )
    if value._device is not expected._device:
        raise DeviceError(
            f"{name}: exported for {path} on {expected._device}, not {value._device}",
            got=describe(value),
            hint=f"move it: {path}.to({str(expected._device)!r})",
        )
    if len(value._sizes) != len(expected._sizes):
        raise ShapeError(
            f"{name}: exported for {path} with {len(expected._sizes)} dimensions, not {len(value._sizes)}",
            got=describe(value),
            hint=f"its sizes must be {tuple(expected._sizes)}",
        )
    sizes: tuple[int | None, ...] = expected._sizes
    strides: tuple[int | None, ...] = expected._strides
    if binding is not None:
        sizes, strides = tuple(map(binding.number, sizes)), tuple(map(binding.number, strides))
    for dim, (given, size) in enumerate(zip(value._sizes, sizes, strict=True)):
        if given == size or (partial and size is None):  # a size that the inputs do not tell
            continue
        if type(expected._sizes[dim]) is int or binding is None:
            raise ShapeError(
                f"{name}: exported for {path} whose dim {dim} is {size}, not {given}",
                got=describe(value),
                hint=f"its sizes must be {tuple(expected._sizes)}; export again for other sizes",
            )
        raise ShapeError(
            f"{name}: dim {dim} of {path} is {given}, and must be {binding.why(expected._sizes[dim])}",
            got=describe(value),
            at=binding.site_of(expected._sizes[dim]),
            hint="pass sizes that fit each other, or export with a Dim of its own for each",
        )
    if 0 in sizes:
        return
    for dim, (given, step) in enumerate(zip(value._strides, strides, strict=True)):
        # Recorded views, copies left out and strides handed to kernels follow from the strides.
        if given != step and sizes[dim] != 1 and not (partial and step is None):
            raise ShapeError(
                f"{name}: exported for {path} whose stride in dim {dim} is {step}, not {given}",
                got=describe(value),
                hint=f"{path}.contiguous()" if expected.is_contiguous() else "lay it out as the example was",
            )


def _match(operand: Any, value: Any, found: dict[Node, Any]) -> None:
    """Collect what is given for each operand node."""
    if isinstance(operand, Node):
        found[operand] = value
    elif is_dict(operand):
        for key, item in operand.items():
            _match(item, value.get(key), found)
    elif is_sequence(operand):
        for item, part in zip(operand, value, strict=False):
            _match(item, part, found)
