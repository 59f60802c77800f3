"""What the inputs and outputs of an exported graph are."""

from __future__ import annotations

from dataclasses import field
from enum import Enum, auto
from typing import Any

from opweave.registry.dataclass import dataclass


@dataclass(frozen=True)
class TensorArgument:
    """A tensor; `name` is the node that stands for it.

    Examples
    --------
    >>> program = opweave.export.export(lambda x: x + 1, (opweave.ones(3),))
    >>> program.graph_signature.input_specs[0].arg
    TensorArgument(name='x')
    """

    name: str


@dataclass(frozen=True)
class ConstantArgument:
    """A value that is part of the graph; as an input it must be given again.

    Examples
    --------
    >>> program = opweave.export.export(lambda x, n: x + n, (opweave.ones(3), 2))
    >>> type(program.graph_signature.input_specs[1].arg).__name__
    'ConstantArgument'
    """

    name: str
    value: Any


ArgumentSpec = TensorArgument | ConstantArgument


class InputKind(Enum):
    """What an input is.

    Examples
    --------
    >>> opweave.export.InputKind.PARAMETER.name
    'PARAMETER'
    """

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()


@dataclass(frozen=True)
class InputSpec:
    """One input of the graph.

    Attributes
    ----------
    kind : InputKind
        Where its value comes from.
    arg : TensorArgument or ConstantArgument
        What stands for it.
    target : str or None
        Its name among the program's tensors; None for a user input.
    path : str
        How a message names it: for a user input the parameter and the place in it, `x['scale'][0]`.

    Examples
    --------
    >>> program = opweave.export.export(lambda x: x + 1, (opweave.ones(3),))
    >>> program.graph_signature.input_specs[0].kind.name
    'USER_INPUT'
    """

    kind: InputKind
    arg: ArgumentSpec
    target: str | None = None
    path: str = ""

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}" + ("" if self.target is None else f" target={self.target!r}")


class OutputKind(Enum):
    """What an output is.

    Examples
    --------
    >>> opweave.export.OutputKind.USER_OUTPUT.name
    'USER_OUTPUT'
    """

    USER_OUTPUT = auto()


@dataclass(frozen=True)
class OutputSpec:
    """One output of the graph.

    Examples
    --------
    >>> program = opweave.export.export(lambda x: x + 1, (opweave.ones(3),))
    >>> program.graph_signature.output_specs[0].kind.name
    'USER_OUTPUT'
    """

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None = None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}"


@dataclass
class ExportGraphSignature:
    """Inputs and outputs of an exported graph, in the order of its placeholders and results.

    Lifted parameters, buffers and constants come first, then the user's arguments, flattened. The graph writes in place
    what the function wrote in place; `mutations` has the inputs that it writes.

    Attributes
    ----------
    input_specs : list of InputSpec
        One for each placeholder.
    output_specs : list of OutputSpec
        One for each result.
    mutated : tuple of str
        Placeholders that the graph writes.

    Examples
    --------
    >>> program = opweave.export.export(opweave.nn.Linear(3, 2), (opweave.ones(1, 3),))
    >>> [spec.kind.name for spec in program.graph_signature.input_specs]
    ['PARAMETER', 'PARAMETER', 'USER_INPUT']
    """

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]
    mutated: tuple[str, ...] = field(default=())

    def _of_kind(self, kind: InputKind) -> list[InputSpec]:
        return [spec for spec in self.input_specs if spec.kind is kind]

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """For each user input the name of its node, or its value where that is part of the graph."""
        return tuple(_shown(spec.arg) for spec in self._of_kind(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """For each output the name of its node, or its value."""
        return tuple(_shown(spec.arg) for spec in self.output_specs)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of lifted tensors that require grad, or are parameters of a module."""
        return tuple(spec.target or "" for spec in self._of_kind(InputKind.PARAMETER))

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of lifted tensors that the graph writes, or that are buffers of a module."""
        return tuple(spec.target or "" for spec in self._of_kind(InputKind.BUFFER))

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """Names of lifted tensors that stay as they are."""
        return tuple(spec.target or "" for spec in self._of_kind(InputKind.CONSTANT_TENSOR))

    def _named(self, kind: InputKind) -> dict[str, str]:
        return {spec.arg.name: spec.target or "" for spec in self._of_kind(kind)}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Placeholder -> parameter."""
        return self._named(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """Placeholder -> buffer."""
        return self._named(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """Placeholder -> constant."""
        return self._named(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """Placeholder -> lifted tensor, of those that the graph writes in place."""
        return {
            spec.arg.name: spec.target for spec in self.input_specs if spec.target and spec.arg.name in self.mutated
        }

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """Placeholder -> argument, of those that the graph writes in place."""
        return {
            spec.arg.name: spec.path for spec in self.input_specs if not spec.target and spec.arg.name in self.mutated
        }

    def __str__(self) -> str:
        lines = ["# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs)]
        if self.mutated:
            lines += ["", "# written in place", *self.mutated]
        return "\n".join(lines)


def _shown(argument: ArgumentSpec) -> Any:
    return argument.value if isinstance(argument, ConstantArgument) else argument.name
