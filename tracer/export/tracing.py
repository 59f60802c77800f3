"""`export`: from a function and example arguments to an `ExportedProgram`."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import optree

from opweave.fake.mode import FakeTensorMode, every_size
from opweave.fake.tensor import FakeTensor
from opweave.registry.containers import is_dict, is_sequence
from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.registry.keys import GRAD
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.effects import mutated_inputs
from opweave.tracer.export.bodies import trace_body
from opweave.tracer.export.dims import Wanted, wanted_sizes
from opweave.tracer.export.linking import BODY, calls, graphs_in
from opweave.tracer.export.program import ExportedProgram, make_signature
from opweave.tracer.export.signature import ConstantArgument, InputKind, InputSpec, TensorArgument
from opweave.tracer.export.sizes import ExportEnv
from opweave.tracer.export.state import ModuleState, is_module, modules_of, variables_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.make_fx import parameter_names, trace_flat

# Names are for reading: the search for them goes no further.
_MOST_OBJECTS, _MOST_DOTS = 10_000, 8
_PREFIX = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}


def export(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, dynamic_shapes: Any = None
) -> ExportedProgram:
    """Trace a function to a program that can be saved and run elsewhere.

    Parameters
    ----------
    fn : callable
        Takes and returns nested tuples, lists and dicts of tensors and constants. Tensors that it closes over, or that
        are attributes of it, are lifted to inputs of the graph.
    args : tuple
        Example arguments. No data is looked at; numbers and strings become part of the graph.
    kwargs : dict, optional
        Further ones, by name.
    dynamic_shapes : optional
        Which of the arguments' sizes may differ (`wanted_sizes`): `{"x": {0: Dim("batch")}}`. All others are fixed.

    Returns
    -------
    ExportedProgram
        For arguments of the same structure, element types, devices, sizes and strides. Dynamic sizes, and strides
        that follow from them, may be any that fulfil what the code decided on; each call checks that.

    Raises
    ------
    DataDependentError
        If the function looks at the values of a tensor.
    TraceError
        If it returns something that a graph cannot hold.
    UnsupportedError
        If the function calls `backward`.
    ConstraintError
        If the code needs a dynamic size to be fixed, in a smaller range or equal to another one.
    ArgumentError
        If the arguments are no tuple and dict.

    Examples
    --------
    >>> program = opweave.export.export(lambda x: x * 2, (opweave.ones(3),))
    >>> program.module()(opweave.ones(3))
    tensor([2., 2., 2.])
    """
    if not callable(fn):
        raise ArgumentError("export: expected a function", got=f"{fn!r} ({type(fn).__name__})")
    given: tuple[Any, Any] = (args, kwargs)
    if not isinstance(given[0], tuple) or not isinstance(given[1], (dict, type(None))):
        raise ArgumentError(
            "export: arguments are given as a tuple and a dict",
            got=f"{type(args).__name__}, {type(kwargs).__name__}",
            hint="export(f, (x,), {'scale': 2.0})",
        )
    kwargs = dict(kwargs or {})
    for t in tensors_in([args, kwargs]):
        if any(type(size) is not int for size in (*t._sizes, *t._strides)):
            raise UnsupportedError(
                "export: an example argument has symbolic sizes", got=describe(t), hint="pass one with fixed sizes"
            )
    signed = cast(Any, fn).forward if is_module(fn) else fn
    positional = parameter_names(signed, len(args))
    wanted = wanted_sizes(dynamic_shapes, args, kwargs, positional, signed)
    leaves, in_spec = optree.tree_flatten(cast(Any, (args, kwargs)))
    paths = [_path_text(path, positional) for path in optree.tree_paths(cast(Any, (args, kwargs)))]
    mode = next((t.fake_mode for t in tensors_in(leaves) if isinstance(t, FakeTensor)), None) or FakeTensorMode(
        make_env=lambda: ExportEnv({}, ())
    )
    if wanted:
        mode = FakeTensorMode(shape_env=_env_for(wanted, leaves, paths))
    out_spec: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        called_args, called_kwargs = optree.tree_unflatten(in_spec, values)
        state = ModuleState(modules_of(fn))
        try:
            outputs, spec = optree.tree_flatten(fn(*called_args, **called_kwargs))
            state.write()
        finally:
            state.restore()
        out_spec.append(spec)
        return outputs

    graph, constants = trace_flat(
        flat,
        leaves,
        mode,
        names=[_identifier(p) for p in paths],
        keep_triton_ops=True,
        dynamic=every_size if wanted else None,
    )
    _refuse_backward([*constants.values(), *tensors_in(leaves)])
    specs = [_user_input(node, path) for node, path in zip(graph.placeholders(), paths, strict=True)]
    tensors = _lift(graph, constants, *_names_of_outside(fn), specs)
    for node in list(calls(graph, bodies=False)):
        if node.target.is_triton_op:
            _add_body(node, mode, tensors)
    for part in graphs_in(graph):
        _forget_history(part)
    kept = {spec.target for spec in specs if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER)}
    return ExportedProgram(
        graph,
        make_signature(graph, specs),
        in_spec,
        out_spec[0],
        name=_name_of(fn),
        state_dict={name: t for name, t in tensors.items() if name in kept},
        constants={name: t for name, t in tensors.items() if name not in kept},
        shape_env=cast(Any, mode.shape_env),
    )


def _env_for(wanted: Wanted, leaves: list[Any], paths: list[str]) -> ExportEnv:
    """The symbols' home."""
    for path, leaf in zip(paths, leaves, strict=True):
        if isinstance(leaf, FakeTensor):
            raise UnsupportedError(
                "export: dynamic sizes of a tensor without data",
                got=f"{path}: {describe(leaf)}",
                hint="pass a tensor with data: its values are not looked at",
            )
    named = [path for path, leaf in zip(paths, leaves, strict=True) if isinstance(leaf, Tensor)]
    missing = [path for path in wanted if path not in named]
    if missing:
        raise ArgumentError("export: dynamic_shapes describes what is no argument", got=", ".join(missing))
    return ExportEnv(wanted, named)


def _name_of(fn: Any) -> str:
    name = getattr(fn, "__name__", None) or type(fn).__name__
    return name if name.isidentifier() else "forward"


def _path_text(path: tuple[Any, ...], positional: list[str]) -> str:
    """How a message names a flat argument."""
    first = positional[cast("int", path[1])] if path[0] == 0 else str(path[1])
    return first + "".join(f"[{entry!r}]" for entry in path[2:])


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text).strip("_") or "arg"
    return name if not name[0].isdigit() else f"arg_{name}"


def _user_input(node: Node, path: str) -> InputSpec:
    value = node.meta["val"]
    argument = TensorArgument(node.name) if isinstance(value, Tensor) else ConstantArgument(node.name, value)
    return InputSpec(InputKind.USER_INPUT, argument, None, path)


# ---- tensors from outside --------------------------------------------------------------------------------------------


def _lift(
    graph: Graph,
    constants: dict[str, Tensor],
    names: dict[int, str],
    kinds: dict[int, InputKind],
    specs: list[InputSpec],
) -> dict[str, Tensor]:
    """Make inputs of the constants, before all others: parameters, buffers, then the rest; gives them by name."""
    found: dict[str, tuple[Node, Tensor]] = {}
    for node in graph.find_nodes(op="get_attr"):
        tensor = constants[node.target]
        wanted = names.get(id(tensor), f"lifted_tensor_{len(found)}")
        name, number = wanted, 0
        while name in found:
            number += 1
            name = f"{wanted}_{number}"
        last = list(found.values())[-1][0] if found else None
        with graph.inserting_before(None) if last is None else graph.inserting_after(last):
            new = graph.placeholder(f"c_{_identifier(name)}")
        new.meta.update(node.meta)
        node.replace_all_uses_with(new)
        graph.erase_node(node)
        found[name] = new, tensor
    written = mutated_inputs(graph)
    lifted: list[InputSpec] = []
    before: Node | None = None
    for name, (node, tensor) in found.items():
        kind = kinds.get(id(tensor), InputKind.CONSTANT_TENSOR)
        if kind is not InputKind.CONSTANT_TENSOR:
            pass
        elif node.name in written:
            kind = InputKind.BUFFER
        elif tensor.requires_grad and tensor.is_leaf:
            kind = InputKind.PARAMETER
        graph.rename(node, _PREFIX[kind] + _identifier(name))
        lifted.append(InputSpec(kind, TensorArgument(node.name), name, name))
    lifted.sort(key=lambda spec: list(_PREFIX).index(spec.kind))
    for spec in lifted:
        node = found[spec.target or ""][0]
        if before is not None:
            before.append(node)
        elif (first := next(iter(graph.nodes))) is not node:
            first.prepend(node)
        before = node
    specs[:0] = lifted
    return {name: tensor for name, (_, tensor) in found.items()}


def _names_of_outside(fn: Any) -> tuple[dict[int, str], dict[int, InputKind]]:
    """Names of the tensors that a function closes over, reads from its module, or has as attributes.

    Of what modules keep (`opweave.nn.Module`) also what it is.
    """
    found: dict[int, str] = {}
    kinds: dict[int, InputKind] = {}

    def note(value: Any, prefix: str) -> None:
        if is_module(value):
            kept = value.state_dict(keep_vars=True)
            for name, t in value.named_parameters():
                found.setdefault(id(t), f"{prefix}{name}")
                kinds[id(t)] = InputKind.PARAMETER
            for name, t in value.named_buffers():
                found.setdefault(id(t), f"{prefix}{name}")
                if name in kept:
                    kinds[id(t)] = InputKind.BUFFER
        for name, tensor in _attributes(value, prefix, set()):
            found.setdefault(id(tensor), name)

    note(getattr(fn, "__self__", None if isinstance(fn, types.FunctionType) else fn), "")
    function = getattr(fn, "__func__", fn)
    if not isinstance(function, types.FunctionType):
        function = type(fn).__call__
    if isinstance(function, types.FunctionType):
        variables = variables_of(function)
        for name, value in variables:
            if isinstance(value, Tensor):
                found.setdefault(id(value), name)
            else:
                note(value, f"{name}.")
    return found, kinds


def _attributes(value: Any, prefix: str, seen: set[int]) -> Iterator[tuple[str, Tensor]]:
    """Tensors in a user's object and in the containers that it has, by dotted name."""
    if id(value) in seen or len(seen) > _MOST_OBJECTS or prefix.count(".") > _MOST_DOTS:
        return
    seen.add(id(value))
    if is_dict(value):
        items: Iterable[tuple[Any, Any]] = value.items()
    elif is_sequence(value):
        items = enumerate(value)
    elif isinstance(value, (type, types.ModuleType, types.FunctionType, Tensor)):
        return
    else:
        items = getattr(value, "__dict__", {}).items()
    for key, inner in list(items):
        if isinstance(inner, Tensor):
            yield f"{prefix}{key}", inner
        elif isinstance(inner, (dict, list, tuple)) or hasattr(inner, "__dict__"):
            yield from _attributes(inner, f"{prefix}{key}.", seen)


def _add_body(node: Node, mode: FakeTensorMode, tensors: dict[str, Tensor]) -> None:
    """Keep with a triton_op what its body does, for where the op is not registered."""
    body, constants = trace_body(node, mode, node.target.body)
    renamed: dict[str, str] = {}
    for name, tensor in constants.items():
        known = next((k for k, t in tensors.items() if t is tensor), None)
        number = 0
        while known is None:
            # Nodes of several graphs may have one name.
            wanted = f"{node.name}_constant{number}"
            known = wanted if wanted not in tensors else None
            number += 1
        renamed[name] = known
        tensors[known] = tensor
    for inner in body.find_nodes(op="get_attr"):
        inner.target = renamed[inner.target]
    for part in graphs_in(body):
        _forget_history(part)
    node.meta[BODY] = body


def _refuse_backward(tensors: list[Tensor]) -> None:
    """`backward` leaves a fake gradient on a tensor that is not the trace's."""
    for tensor in tensors:
        if isinstance(getattr(tensor, "grad", None), FakeTensor):
            cast(Any, tensor).grad = None
            raise UnsupportedError(
                "export: the function calls backward(), which writes .grad",
                got=describe(tensor),
                hint="return what opweave.autograd.grad(loss, parameters) gives",
            )


def _forget_history(graph: Graph) -> None:
    """Take autograd's record from the fake values, which would keep what it saved alive."""
    for node in graph.nodes:
        for t in tensors_in([node.meta.get("val")]):
            t._keys &= ~GRAD
            t._autograd = None
