"""Modules of exported programs: `opweave.export.unflatten`."""

from __future__ import annotations

from typing import Any

from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.registry.errors import ArgumentError
from opweave.tracer.export.program import ExportedModule, ExportedProgram
from opweave.tracer.export.signature import InputKind


class UnflattenedModule(Module):
    """An exported program with its parameters and buffers in modules again, as they were named when it was exported.

    The modules hold the program's own tensors: what is written to them, by an optimizer or `load_state_dict`, the
    program computes with. The program is one graph, so the modules inside cannot be called one by one.

    Examples
    --------
    >>> net = opweave.nn.Sequential(opweave.nn.Linear(3, 2), opweave.nn.ReLU())
    >>> again = opweave.export.unflatten(opweave.export.export(net, (opweave.ones(1, 3),)))
    >>> opweave.equal(again(opweave.ones(1, 3)), net(opweave.ones(1, 3)))
    True
    """

    def __init__(self, program: ExportedProgram, *, compile: bool = True) -> None:
        super().__init__()
        self._program = program
        self._run = ExportedModule(program, compile=compile)
        for spec in program.graph_signature.input_specs:
            if spec.target is not None and spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                self._place(spec.target, program.tensors[spec.target], spec.kind is InputKind.PARAMETER)

    def _place(self, target: str, tensor: Any, is_parameter: bool) -> None:
        *path, name = target.split(".")
        owner: Module = self
        for part in path:
            inner = owner._modules.get(part)
            if inner is None:
                inner = Module()
                owner.add_module(part, inner)
            owner = inner
        if is_parameter:
            owner.register_parameter(name, tensor if isinstance(tensor, Parameter) else Parameter(tensor))
        else:
            owner.register_buffer(name, tensor)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments as the exported module took them."""
        for name, tensor in (*self.named_parameters(), *self.named_buffers()):
            for held in (self._program.state_dict, self._program.constants):
                if name in held:
                    held[name] = tensor
        return self._run(*args, **kwargs)


def unflatten(module: ExportedProgram, *, compile: bool = True) -> UnflattenedModule:
    """A module of an exported program, with the modules inside that its parameters and buffers are named by.

    Parameters
    ----------
    module : ExportedProgram
        Of a module, as a rule: tensors that a function brought along have names of their own.
    compile : bool
        Whether its first call compiles it.

    Returns
    -------
    UnflattenedModule
        It shares the program's tensors.

    Raises
    ------
    ArgumentError
        If it is no program.

    Examples
    --------
    >>> net = opweave.nn.Sequential(opweave.nn.Linear(3, 2), opweave.nn.ReLU())
    >>> again = opweave.export.unflatten(opweave.export.export(net, (opweave.ones(1, 3),)))
    >>> [name for name, _ in again.named_parameters()]
    ['0.weight', '0.bias']
    """
    if not isinstance(module, ExportedProgram):
        raise ArgumentError("unflatten: expected an ExportedProgram", got=type(module).__name__)
    return UnflattenedModule(module, compile=compile)
