"""`make_fx`: a function's ops as a graph."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, cast

import optree

from opweave.fake.mode import Dynamic, FakeTensorMode, every_size
from opweave.fake.shape_env import ShapeEnv
from opweave.fake.tensor import FakeTensor
from opweave.registry.custom_op import CustomOpDef
from opweave.registry.errors import ArgumentError, Site, TraceError
from opweave.registry.interrupts import let_through
from opweave.registry.op import OpOverload
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.operands import map_operands
from opweave.tracer.proxy import ProxyMode

importlib.import_module("opweave.tracer.control_flow")  # what traces do with branches and loops

P = ParamSpec("P")

MODES = ("real", "fake", "symbolic")


#: Functions that are traced in place of an op's calls: for one overload, for all of a name, or for a custom op.
DecompositionTable = Mapping[Any, Callable[..., Any]]


def make_fx(
    f: Callable[P, object],
    decomposition_table: DecompositionTable | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    fake_mode: FakeTensorMode | None = None,
) -> Callable[P, GraphModule]:
    """Trace a function: what it returns takes the function's arguments and gives the graph of the ops it called.

    Parameters
    ----------
    f : callable
        Takes and returns nested lists, tuples, dicts and other pytrees of tensors. Anything else among its arguments is
        part of the graph as it is.
    decomposition_table : mapping of OpOverload, OpOverloadPacket or CustomOpDef to callable, optional
        Functions that are traced in place of calls of these ops, and whose own calls are looked up too. Each takes the
        op's arguments; one that returns NotImplemented leaves the call as it is.
    tracing_mode : {"real", "fake", "symbolic"}
        `"real"` computes values while tracing (and has the side effects of doing so), which ops without a fake rule
        need; `"fake"` traces without data; `"symbolic"` traces without data or sizes: the graph is good for all sizes
        that fit the guards of its `shape_env`, and Python ints among the arguments are inputs.
    _allow_non_fake_inputs : bool
        Accepted as PyTorch has it: real tensors beside fake ones are taken either way.
    pre_dispatch : bool
        Record ops that are written with other ops (`aten.linear`) as they are called, instead of what they call. Under
        autocast, and where they are called on batched tensors, what they call is recorded all the same.
    fake_mode : FakeTensorMode, optional
        The mode to trace under; found from fake arguments, or made.

    Returns
    -------
    callable
        `(*args, **kwargs) -> GraphModule`. The module is called like `f`. Inputs are named after `f`'s parameters
        (`x_1`); real tensors that `f` brings along are its attributes `_tensor_constant0`, ...

    Raises
    ------
    DataDependentError
        When tracing, if the function looks at the values of a traced tensor (a branch, `.item()`).
    TraceError
        If it uses fake tensors that were not passed to it, returns something that a graph cannot hold, or a
        decomposition calls its own op without end.
    UnsupportedError
        If `pre_dispatch` is set and the function calls ops on tensors that require grad under another grad mode than it
        was called in (the graph would not tell), or in "real" mode.
    ArgumentError
        If the table has other keys or values than said.

    Examples
    --------
    >>> print(make_fx(lambda x: x * 2 + 1)(opweave.ones(3)).code)  # doctest: +SKIP
    def forward(self, x_1: "f32[3]"):
        mul: "f32[3]" = ops.aten.mul.Tensor(x_1, 2)  # <stdin>:1
        add: "f32[3]" = ops.aten.add.Tensor(mul, 1)  # <stdin>:1
        return (add,)
    """
    fn: Callable[..., Any] = f
    if not callable(fn):
        raise ArgumentError(
            "make_fx: expected a function", got=f"{fn!r} ({type(fn).__name__})", hint="make_fx(f)(*example_arguments)"
        )
    if tracing_mode not in MODES:
        raise ArgumentError("make_fx: unknown tracing_mode", got=repr(tracing_mode), hint="one of " + ", ".join(MODES))
    table: Any = decomposition_table
    if table is not None and not isinstance(table, Mapping):
        raise ArgumentError(
            "make_fx: decomposition_table must be a mapping from ops to functions", got=repr(decomposition_table),
            hint="make_fx(f, tracing_mode='fake')" if table in MODES else None,
        )  # fmt: skip
    table = decompositions(decomposition_table)

    def trace(*args: Any, **kwargs: Any) -> GraphModule:
        leaves, in_spec = optree.tree_flatten(cast(Any, (args, kwargs)))
        symbolic = tracing_mode == "symbolic"
        mode = fake_mode or _mode_of(leaves) or FakeTensorMode(shape_env=ShapeEnv() if symbolic else None)
        real = tracing_mode == "real" and not any(isinstance(leaf, FakeTensor) for leaf in leaves)
        out_spec: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            called_args, called_kwargs = optree.tree_unflatten(in_spec, values)
            outputs, spec = optree.tree_flatten(fn(*called_args, **called_kwargs))
            out_spec.append(spec)
            return outputs

        names = [f"{name}_1" for name in _leaf_names(fn, args, kwargs)]
        if symbolic:
            mode.symbols()
        dynamic = every_size if symbolic else None
        graph, constants = trace_flat(
            flat, leaves, mode, names=names, real=real, dynamic=dynamic, decompositions=table, pre_dispatch=pre_dispatch
        )
        module = GraphModule(constants, graph, in_spec, out_spec[0])
        module.shape_env = mode.shape_env
        return module

    return trace


def trace_flat(
    fn: Callable[..., Iterable[Any]],
    inputs: Sequence[Any],
    fake_mode: FakeTensorMode,
    *,
    names: Sequence[str] | None = None,
    real: bool = False,
    site: Site | None = None,
    compiling: bool = False,
    keep_triton_ops: bool = False,
    dynamic: Dynamic | None = None,
    decompositions: Mapping[OpOverload, Callable[..., Any]] | None = None,
    pre_dispatch: bool = False,
) -> tuple[Graph, dict[str, Tensor]]:
    """Trace a function of several values that returns several: `make_fx` without pytrees, for passes.

    Parameters
    ----------
    fn : callable
        Called with a tensor for each input.
    inputs : sequence
        Tensors, fake or real, and constants.
    fake_mode : FakeTensorMode
        The mode to trace under.
    names : sequence of str, optional
        Names of the inputs.
    real : bool
        Compute values too.
    site : Site, optional
        Noted for every node, instead of where `fn` calls the op.
    compiling : bool
        Whether the graph stands for later calls of `fn`.
    keep_triton_ops : bool
        Record a triton_op as one call, instead of what its body calls.
    dynamic : callable, optional
        Which sizes of real inputs become symbolic (see `FakeTensorMode.from_tensor`).
    decompositions : mapping of OpOverload to callable, optional
        Functions that are traced in place of calls of an op.
    pre_dispatch : bool
        Record composite ops as they are called.

    Returns
    -------
    graph : Graph
        Its output is a flat tuple.
    constants : dict of str to Tensor
        What its `get_attr` nodes read.
    """
    graph = Graph()
    mode = ProxyMode(
        graph, fake_mode, real=real, site=site, boundary=sys._getframe(), compiling=compiling,
        keep_triton_ops=keep_triton_ops, decompositions=decompositions, pre_dispatch=pre_dispatch,
    )  # fmt: skip
    names = names or [f"arg{index}_1" for index in range(len(inputs))]
    values = [mode.add_input(name, value, dynamic) for name, value in zip(names, inputs, strict=True)]
    try:
        with fake_mode, mode:
            outputs = fn(*values)
            if mode.refused is not None:
                raise mode.refused
            mode.check_inputs()
            graph.output(tuple([_output(mode, value) for value in outputs]))
    finally:
        mode.finish()
    return graph, mode.constants


def decompositions(table: DecompositionTable | None) -> dict[OpOverload, Callable[..., Any]]:
    """A table of decompositions by overload.

    Raises
    ------
    ArgumentError
        If a key is no op, or a value no function.
    """
    found: dict[OpOverload, Callable[..., Any]] = {}
    for key, function in (table or {}).items():
        if not callable(function):
            raise ArgumentError(
                f"decomposition table: the entry of {key} is no function", got=f"{function!r}",
                hint="{opweave.ops.aten.gelu.default: my_gelu}",
            )  # fmt: skip
        if isinstance(key, OpOverload):
            found[key] = function
        elif isinstance(key, CustomOpDef):
            found[key._opoverload] = function
        elif isinstance(key, OpOverloadPacket):
            for name in key.overloads():
                # An entry of its own comes first.
                found.setdefault(getattr(key, name), function)
        else:
            raise ArgumentError(
                "decomposition table: the keys are ops", got=f"{key!r} ({type(key).__name__})",
                hint="{opweave.ops.aten.gelu.default: my_gelu}",
            )  # fmt: skip
    return found


def _output(mode: ProxyMode, value: Any) -> Any:
    try:
        return map_operands(value, mode.operand)
    except TraceError as error:
        error.what = f"the traced function returns {error.what}"
        raise


def inline(graph: Graph, source: Graph, values: Sequence[Any]) -> tuple[Any, ...]:
    """Copy a graph's calls into another at its insertion point.

    Parameters
    ----------
    graph : Graph
        Where to.
    source : Graph
        What to copy, without constants.
    values : sequence of Node or constant
        What stands for its inputs.

    Returns
    -------
    tuple
        What its outputs are in `graph`.
    """
    mapping: dict[Node, Any] = dict(zip(source.placeholders(), values, strict=True))
    return graph.copy_nodes(source, mapping)


def _mode_of(leaves: Sequence[Any]) -> FakeTensorMode | None:
    return next((t.fake_mode for t in tensors_in(leaves) if isinstance(t, FakeTensor)), None)


def _leaf_names(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for each leaf of `(args, kwargs)`: that of the parameter it is part of."""
    positional = parameter_names(fn, len(args))
    names: list[str] = []
    for name, value in zip(positional, args, strict=True):
        names += [name] * optree.tree_structure(value).num_leaves
    # Dicts are flattened in the order of their keys.
    for key in sorted(kwargs):
        names += [key] * optree.tree_structure(kwargs[key]).num_leaves
    return names


def parameter_names(fn: Callable[..., Any], count: int) -> list[str]:
    """Names of the parameters that the first `count` positional arguments go to."""
    if hasattr(type(fn), "__opweave_module__"):
        fn = cast(Any, fn).forward
    if isinstance(fn, OpOverload):
        names = [argument.name for argument in fn._schema.arguments]
    else:
        names: list[str] = []
        try:
            parameters = inspect.signature(fn).parameters.values()
        except (TypeError, ValueError) as error:
            let_through(error)
            parameters = ()
        for parameter in parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                names += [parameter.name] * count
                break
            names.append(parameter.name)
    return [*names, *(f"arg{index}" for index in range(len(names), count))][:count]
