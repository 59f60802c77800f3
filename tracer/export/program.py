"""`ExportedProgram`: a graph with its signature and its tensors, which runs on the arguments it was exported for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import optree

from opweave.registry.containers import is_tuple
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import (
    ArgumentError,
    CompileError,
    DataDependentError,
    DTypeError,
    FakeTensorError,
    GraphError,
    TraceError,
    UnsupportedError,
)
from opweave.registry.hooks import Hook
from opweave.registry.keys import state
from opweave.registry.op import registry
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.effects import mutated_inputs
from opweave.tracer.export import kernels
from opweave.tracer.export.expansion import expand
from opweave.tracer.export.linking import BODY, calls, graphs_in, link, registered
from opweave.tracer.export.running import Runner, check_tensor, op_of_body
from opweave.tracer.export.signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from opweave.tracer.export.sizes import Binding, ExportEnv, range_constraints
from opweave.tracer.export.untrusted import Limits, running
from opweave.tracer.graph import Graph, Node
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.make_fx import DecompositionTable, decompositions
from opweave.tracer.module_tree import ModuleTree
from opweave.tracer.printing import operand_text


class ExportedProgram:
    """A function's ops as a graph, with everything that it needs to run; made by `export` or `load`.

    Attributes
    ----------
    graph : Graph
        Its inputs are lifted tensors, then the flattened arguments; it may be changed in place. A custom_op is one node
        and so is a triton_op. It writes in place what the function wrote.
    graph_signature : ExportGraphSignature
        What its inputs and outputs are.
    in_spec, out_spec : optree.PyTreeSpec
        Structure of `(args, kwargs)` and of the result.
    state_dict : dict of str to Tensor
        Lifted tensors that require grad, or that the graph writes.
    constants : dict of str to Tensor
        All other lifted tensors.
    range_constraints : dict of str to (int, int or None)
        The least and largest values of symbolic sizes, by symbol; None where there is no largest.
    shape_env : ExportEnv or None
        The symbols of dynamic sizes and what is known of them; None where all sizes are fixed.
    name : str
        Name of the exported function.
    limits : Limits or None
        What it may do, where it was loaded as a stranger's.
    default_dtype : DType
        The default dtype when it was exported: what some of its ops give depends on it.

    Examples
    --------
    >>> program = opweave.export.export(opweave.nn.Linear(3, 2), (opweave.ones(1, 3),))
    >>> sorted(program.state_dict)
    ['bias', 'weight']
    >>> program.graph_signature.user_inputs
    ('input_1',)
    """

    def __init__(
        self,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        in_spec: Any,
        out_spec: Any,
        *,
        state_dict: Mapping[str, Tensor],
        constants: Mapping[str, Tensor],
        name: str = "forward",
        default_dtype: DType | None = None,
        shape_env: ExportEnv | None = None,
        limits: Limits | None = None,
    ):
        self.graph = graph
        self.graph_signature = graph_signature
        self.in_spec = in_spec
        self.out_spec = out_spec
        self.state_dict: dict[str, Tensor] = dict(state_dict)
        self.constants: dict[str, Tensor] = dict(constants)
        self.shape_env = shape_env
        if shape_env is not None:
            shape_env.frozen = True  # what later traces decide would not be checked at calls
        self.range_constraints: dict[Any, Any] = {} if shape_env is None else range_constraints(shape_env)
        self.name = name
        self.default_dtype = default_dtype or get_default_dtype()
        #: What it may do, where it is a stranger's.
        self.limits = limits
        self._checked: tuple[Any, ...] = ()
        self._links: dict[Any, Any] = {}

    # ---- looking -----------------------------------------------------------------------------------------------------

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a function of its inputs one by one, lifted tensors included."""
        return _FlatModule(self)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All tensors that the program brings along, by name."""
        return {**self.state_dict, **self.constants}

    @property
    def tensor_constants(self) -> dict[str, Tensor]:
        """The same as `constants`."""
        return self.constants

    def parameters(self) -> Iterator[Tensor]:
        """Lifted tensors that require grad."""
        return (tensor for _, tensor in self.named_parameters())

    def buffers(self) -> Iterator[Tensor]:
        """Lifted tensors that the graph writes."""
        return (tensor for _, tensor in self.named_buffers())

    def named_parameters(self) -> list[tuple[str, Tensor]]:
        """Lifted tensors that require grad."""
        return [(name, self.tensors[name]) for name in self.graph_signature.parameters]

    def named_buffers(self) -> list[tuple[str, Tensor]]:
        """Lifted tensors that the graph writes."""
        return [(name, self.tensors[name]) for name in self.graph_signature.buffers]

    def print_readable(self, print_output: bool = True) -> str:
        """The graph as Python with its signature; also written to standard output unless told otherwise."""
        text = str(self)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        lines = str(self.graph_signature).splitlines()
        signature = "\n".join(line if line.startswith("#") or not line else f"#   {line}" for line in lines)
        return f"{self.graph_module.code}\n\n{signature}\n"

    def _repr_html_(self) -> str:
        return self.graph._repr_html_()

    def __repr__(self) -> str:
        return f"<ExportedProgram {self.name}: {len(self.graph)} nodes>"

    # ---- running -----------------------------------------------------------------------------------------------------

    def module(self, *, compile: bool = True) -> ExportedModule:
        """The program as a function with the arguments and results of the one that was exported.

        Parameters
        ----------
        compile : bool
            Whether its first call compiles it, as `opweave.compile` does. Else it runs op by op; so does a program that
            was loaded as a stranger's, and any inside a mode.
        """
        return ExportedModule(self, compile=compile)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            "an ExportedProgram cannot be called directly", got=f"{self!r}(...)", hint="program.module()(...)"
        )

    def validate(self) -> None:
        """Check that graph, signature and tensors agree.

        Raises
        ------
        GraphError
            If the graph breaks its rules, or its inputs are not those of the signature.
        """
        self.graph.lint()
        expected = [spec.arg.name for spec in self.graph_signature.input_specs]
        found = [node.name for node in self.graph.placeholders()]
        if expected != found:
            raise GraphError(
                "the graph's inputs are not those of its signature",
                got=f"{', '.join(found)}",
                hint=f"the signature has {', '.join(expected) or 'none'}",
            )
        known = self.tensors
        for spec in self.graph_signature.input_specs:
            if spec.target is not None and spec.target not in known:
                raise GraphError(f"the program has no tensor {spec.target!r}", got=", ".join(known))
        for node in self._all_nodes():
            if node.op == "get_attr" and node.target not in known:
                raise GraphError(f"{node.name}: the program has no tensor {node.target!r}", got=", ".join(known))
        outputs = self.graph.outputs
        if not is_tuple(outputs) or len(outputs) != self.out_spec.num_leaves:
            raise GraphError(
                f"the graph must return a tuple of {self.out_spec.num_leaves} values", got=operand_text(outputs)
            )

    def _all_nodes(self) -> Iterator[Node]:
        for graph in graphs_in(self.graph):
            for node in graph.nodes:
                yield node
                if BODY in node.meta:
                    for inner in graphs_in(node.meta[BODY]):
                        yield from inner.nodes

    def run_flat(self, leaves: Sequence[Any], tensors: Mapping[str, Tensor] | None = None) -> Any:
        """Run on values for the user's inputs, which are not checked; gives the flat outputs.

        Parameters
        ----------
        leaves : sequence
            The values.
        tensors : mapping of str to Tensor, optional
            What stands for the tensors that the program brings along; by default those.

        Raises
        ------
        ExportError
            If ops are missing, or registered with other schemas.
        DTypeError
            If the default dtype is another one than when it was exported.
        """
        if get_default_dtype() is not self.default_dtype:
            raise DTypeError(
                f"{self.name}: exported under the default dtype {self.default_dtype.name}",
                got=f"the default dtype is {get_default_dtype().name}",
                hint=f"opweave.set_default_dtype({self.default_dtype!r})",
            )
        with self._guarded():
            results = self._run_flat(leaves, self.tensors if tensors is None else tensors)
            if self.limits is not None and kernels.check_results.call is not None:
                kernels.check_results.call(self.name, results)
            return results

    def _guarded(self) -> AbstractContextManager[None]:
        """A context in which a stranger's program does no harm."""
        return nullcontext() if self.limits is None else running(self.name, self.limits)

    def _run_flat(self, leaves: Sequence[Any], tensors: Mapping[str, Tensor]) -> Any:
        links = self._linked()
        lifted = [tensors[spec.target] for spec in self.graph_signature.input_specs if spec.target is not None]
        runner = Runner(self.graph, tensors, links)
        binding = self._binding(leaves)
        runner.binding = binding if binding is not None and binding.small else None
        return runner.run(*lifted, *leaves)

    def _binding(self, leaves: Sequence[Any]) -> Binding | None:
        """What the symbols are at a call."""
        if self.shape_env is None:
            return None
        found = Binding(self.shape_env, self.name)
        for spec, value in zip(self._user_specs(), leaves, strict=True):
            node = self.graph.named(spec.arg.name)
            expected = None if node is None else node.meta.get("val")
            if isinstance(expected, Tensor) and isinstance(value, Tensor) and value.dim() == len(expected._sizes):
                found.read(spec.path, expected, value)
        return found

    def _user_specs(self) -> list[InputSpec]:
        return [spec for spec in self.graph_signature.input_specs if spec.target is None]

    def _linked(self) -> dict[Any, Any]:
        """What to call in place of ops that are not registered themselves, by op, and by node for bodies."""
        state = (registry.version, *[graph.version for graph in graphs_in(self.graph)])
        if self._checked != state:
            self.validate()
            find = registered if self.limits is None else self.limits.find
            links: dict[Any, Any] = dict(link(self.graph, find))
            for node in calls(self.graph, bodies=False):
                if BODY in node.meta and find(node.target) is None:
                    links[node] = op_of_body(self, node)
            self._links, self._checked = links, state
        return self._links

    def check_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The flat arguments.

        Raises
        ------
        ArgumentError, ShapeError, DTypeError, DeviceError
            If they are not of the kind that the program was exported for.
        """
        leaves, spec = optree.tree_flatten(cast(Any, (args, kwargs)))
        specs = self._user_specs()
        if spec != self.in_spec or len(leaves) != len(specs):
            raise ArgumentError(
                f"{self.name}: arguments of another structure than it was exported with",
                got=str(spec),
                hint=f"expected {self.in_spec}" + (f": {', '.join(s.path for s in specs)}" if specs else ""),
            )
        binding = self._binding(leaves)
        for one, value in zip(specs, leaves, strict=True):
            node = self.graph.named(one.arg.name)
            if isinstance(one.arg, ConstantArgument):
                self._check_constant(one, value)
            elif node is not None and isinstance(node.meta.get("val"), Tensor):
                check_tensor(self.name, one.path, node.meta["val"], value, binding)
        if binding is not None:
            binding.check()
        return leaves

    def _check_constant(self, spec: InputSpec, value: Any) -> None:
        expected = cast(ConstantArgument, spec.arg).value
        if value is expected or (type(value) is type(expected) and repr(value) == repr(expected)):
            return
        raise ArgumentError(
            f"{self.name}: exported with {spec.path}={expected!r}, which is part of the graph",
            got=f"{spec.path}={describe(value)}",
            hint="export again for another value, or pass it as a 0-d tensor",
        )

    # ---- changing ----------------------------------------------------------------------------------------------------

    def run_decompositions(self, decomp_table: DecompositionTable | None = None) -> ExportedProgram:
        """A program of simpler ops: each triton_op becomes the ops and launches of its body.

        Parameters
        ----------
        decomp_table : mapping of OpOverload, OpOverloadPacket or CustomOpDef to callable, optional
            Functions that compute what further ops do; each takes the op's arguments, and is traced.

        Returns
        -------
        ExportedProgram
            Shares its tensors with this one.

        Raises
        ------
        TraceError
            If a function of the table brings tensors along.
        """
        self.validate()
        graph = self.graph.clone()
        table = decompositions(decomp_table)
        expand(graph, table)
        graph.lint()
        signature = make_signature(graph, self.graph_signature.input_specs)
        return ExportedProgram(
            graph,
            signature,
            self.in_spec,
            self.out_spec,
            state_dict=self.state_dict,
            constants=self.constants,
            name=self.name,
            default_dtype=self.default_dtype,
            shape_env=self.shape_env,
            limits=self.limits,
        )

    def __deepcopy__(self, memo: object) -> ExportedProgram:
        raise _no_copy("copied")

    def __reduce__(self) -> Any:
        raise _no_copy("pickled")


#: Compiles `run_flat` of a program; the compiler supplies it.
compile_flat: Hook[[ExportedProgram], Callable[[Sequence[Any], Mapping[str, Tensor]], Any]] = Hook()
#: Why a program is not compiled, but can be run: ops without rules for tensors without data, for one.
_NOT_COMPILED = (CompileError, DataDependentError, FakeTensorError, TraceError, UnsupportedError)
_log = logging.getLogger("opweave.graph")


def _no_copy(what: str) -> UnsupportedError:
    return UnsupportedError(f"an ExportedProgram cannot be {what}", hint="opweave.export.save it and load the file")


def make_signature(graph: Graph, inputs: Sequence[InputSpec]) -> ExportGraphSignature:
    """The signature of a graph whose inputs are known."""
    outputs: list[OutputSpec] = []
    for index, value in enumerate(graph.outputs):
        made = TensorArgument(value.name) if isinstance(value, Node) else ConstantArgument(f"output_{index}", value)
        outputs.append(OutputSpec(OutputKind.USER_OUTPUT, made))
    return ExportGraphSignature(list(inputs), outputs, mutated_inputs(graph))


class ExportedModule(ModuleTree):
    """An exported program as a function; made by `ExportedProgram.module`.

    Each call checks that the arguments are nested as those of the export, that tensors have the same element types,
    devices, sizes and strides, and that numbers have the same values: all of that is part of the graph.

    Raises
    ------
    ArgumentError
        For another structure, another number, or something that is no tensor.
    DTypeError, DeviceError, ShapeError
        For a tensor of another element type, device, number of dimensions, size or stride.
    ExportError
        If the program calls ops that are not registered.
    """

    def __init__(self, program: ExportedProgram, *, compile: bool = True):
        self.program = program
        self.__name__ = program.name
        self._compiles = compile and program.limits is None
        self._compiled: Callable[..., Any] | None = None

    @property
    def graph(self) -> Graph:
        """The program's graph."""
        return self.program.graph

    @property
    def code(self) -> str:
        """The graph as Python."""
        return self.program.graph_module.code

    def print_readable(self, print_output: bool = True) -> str:
        """The code as text; also written to standard output unless told otherwise."""
        return self.program.graph_module.print_readable(print_output)

    def named_children(self) -> Iterator[tuple[str, GraphModule]]:
        """The functions of control flow, by name."""
        return self.program.graph_module.named_children()

    def tensors_of(self) -> Mapping[str, Tensor]:
        return self.program.tensors

    def __getattr__(self, name: str) -> Any:
        program = self.__dict__.get("program")
        if program is not None and not name.startswith("__"):
            return getattr(program.graph_module, name)
        raise AttributeError(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The same as `forward`."""
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments as the exported function took them; gives what it gave."""
        program = self.program
        leaves = program.check_inputs(args, kwargs)
        result = self._run(leaves)
        return optree.tree_unflatten(program.out_spec, result)

    def _run(self, leaves: Sequence[Any]) -> Any:
        """The flat outputs, of compiled code where there is some."""
        program = self.program
        if self._compiles and compile_flat.call is not None and not state.modes:
            if self._compiled is None:
                self._compiled = compile_flat.call(program)
            try:
                return self._compiled(leaves, program.tensors)
            except _NOT_COMPILED as error:
                self._compiles = False
                _log.warning("%s runs op by op: %s", program.name, error)
        return program.run_flat(leaves)

    def __repr__(self) -> str:
        return f"<module of {self.program!r}>"


class _FlatModule(GraphModule):
    """The graph module of a program: runs node by node, since not every op needs to be registered to print it."""

    def __init__(self, program: ExportedProgram):
        super().__init__(program.tensors, program.graph)
        self._program = program

    def run_flat(self, *flat: Any) -> Any:
        program = self._program
        with program._guarded():
            return Runner(program.graph, program.tensors, program._linked()).run(*flat)
