"""`opweave.fx.GraphModule`: a graph that is an `nn.Module`."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from opweave.nn.modules.module import Module
from opweave.registry.errors import ArgumentError
from opweave.registry.tensor import Tensor
from opweave.tracer import graph_module, make_fx as tracing
from opweave.tracer.graph import Graph

_STORES = ("_parameters", "_buffers", "_others")


class _Constants(MutableMapping[str, Any]):
    """What a graph reads, by name: parameters and buffers of a module, and what is no tensor."""

    def __init__(self, module: GraphModule) -> None:
        self._own = module.__dict__

    def _store(self, name: str) -> dict[str, Any] | None:
        return next((self._own[store] for store in _STORES if name in self._own[store]), None)

    def __getitem__(self, name: str) -> Any:
        held = self._store(name)
        if held is None:
            raise KeyError(name)
        return held[name]

    def __setitem__(self, name: str, value: Any) -> None:
        held = self._store(name)
        if held is not None:
            del held[name]
        if isinstance(value, Tensor):
            is_parameter = value._role == "parameter" or value.requires_grad
            self._own["_parameters" if is_parameter else "_buffers"][name] = value
        else:
            self._own["_others"][name] = value

    def __delitem__(self, name: str) -> None:
        held = self._store(name)
        if held is None:
            raise KeyError(name)
        del held[name]

    def __iter__(self) -> Iterator[str]:
        return (name for store in _STORES for name in self._own[store])

    def __len__(self) -> int:
        return sum(len(self._own[store]) for store in _STORES)

    def __repr__(self) -> str:
        return repr(dict(self))


class GraphModule(Module, graph_module.GraphModule):  # type: ignore[misc]  # both have methods of these names
    """A graph with its tensors, callable as the function it was traced from, and an `nn.Module`.

    The tensors that the graph reads are its parameters, where they require grad, and its buffers; the functions of
    control flow are modules in it.

    Parameters
    ----------
    root : Module or mapping of str to Tensor, optional
        What has the tensors that the graph reads, by the names that its `get_attr` nodes have.
    graph : Graph
        May be changed later: the next call compiles it again.
    in_spec, out_spec : optree.PyTreeSpec, optional
        Structure of `(args, kwargs)` and of the result. Without them the module takes and returns what the graph does.
    name : str
        Name of the printed function.
    class_name : str, optional
        Name of the module in texts.

    Examples
    --------
    >>> net = opweave.nn.Linear(2, 1)
    >>> traced = opweave.make_fx(lambda x: net(x))(opweave.ones(1, 2))
    >>> isinstance(traced, opweave.nn.Module), len(list(traced.parameters()))
    (True, 2)
    """

    def __init__(
        self,
        root: Module | Mapping[str, Any] | None = None,
        graph: Graph | None = None,
        in_spec: Any = None,
        out_spec: Any = None,
        name: str = "forward",
        *,
        class_name: str | None = None,
    ) -> None:
        if isinstance(in_spec, str):  # PyTorch's third argument
            in_spec, class_name = None, in_spec
        if graph is None:
            raise ArgumentError("GraphModule: needs a graph", got="None", hint="GraphModule(root, graph)")
        super().__init__()
        self.__dict__["_others"] = {}
        self.__dict__["_class_name"] = class_name or "GraphModule"
        constants = _read_from(root, graph) if isinstance(root, Module) else dict(root or {})
        graph_module.GraphModule.__init__(self, constants, graph, in_spec, out_spec, name)

    @property
    def constants(self) -> Any:
        """What the graph's `get_attr` nodes read."""
        return _Constants(self)

    @constants.setter
    def constants(self, value: Mapping[str, Any]) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        for store in _STORES:
            self.__dict__[store] = {}
        _Constants(self).update(value)

    # ---- attributes --------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name in own.get("_others", ()):
            return own["_others"][name]
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "graph" in own and not name.startswith("__"):
                for child, module in graph_module.GraphModule.named_children(self):
                    if child == name:
                        return module
            raise

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and "_others" in self.__dict__:
            self.constants[name] = value
        elif name == "graph":
            self.__dict__["_compiled"] = None  # versions of two graphs say nothing about each other
            self.__dict__[name] = value
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.constants:
            del self.constants[name]
        else:
            super().__delattr__(name)

    # ---- what it has in it -------------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:  # type: ignore[override]
        """The modules in it, then the functions of control flow and the regions that the graph calls, by name."""
        yield from super().named_children()
        for name, inner in graph_module.GraphModule.named_children(self):
            module = inner
            if not isinstance(inner, GraphModule):
                module = self._submodules[name] = GraphModule({}, inner.graph, name=name)
                for store in _STORES:
                    module.__dict__[store] = self.__dict__[store]
            yield name, module  # type: ignore[misc]

    named_modules = graph_module.GraphModule.named_modules  # type: ignore[assignment]  # by `named_children`
    get_submodule = graph_module.GraphModule.get_submodule  # type: ignore[assignment]

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module in this one under a path, whose missing modules are made; whether that could be done.

        Examples
        --------
        >>> traced = opweave.make_fx(lambda x: x + 1)(opweave.ones(2))
        >>> traced.add_submodule("head.linear", opweave.nn.Linear(2, 1))
        True
        """
        *path, name = target.split(".")
        owner: Module = self
        for part in path:
            inner = getattr(owner, part, None)
            if inner is None:
                inner = Module()
                owner.add_module(part, inner)
            if not isinstance(inner, Module):
                return False
            owner = inner
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module of a path away; whether there was one."""
        *path, name = target.split(".")
        owner: Any = self
        for part in path:
            owner = owner._modules.get(part)
            if owner is None:
                return False
        return owner._modules.pop(name, None) is not None

    def delete_all_unused_submodules(self) -> None:
        """Take away all modules that hold nothing that the graph reads."""
        used = {str(node.target) for node in self.graph.nodes if node.op == "get_attr"}
        for name in list(self._modules):
            if not any(target.startswith(f"{name}.") for target in used):
                del self._modules[name]

    # ---- text and copies ---------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return self._class_name if type(self) is GraphModule else type(self).__name__

    __repr__ = graph_module.GraphModule.__repr__  # type: ignore[assignment]
    __str__ = graph_module.GraphModule.__str__
    forward = graph_module.GraphModule.forward  # type: ignore[assignment]

    def _copied(self, graph: Graph, constants: Mapping[str, Any]) -> GraphModule:
        made = GraphModule(constants, graph, self.in_spec, self.out_spec, self.name, class_name=self._class_name)
        made.shape_env = self.shape_env
        made.__dict__["training"] = self.training
        made.__dict__["_modules"] = dict(self._modules)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        """With a graph and tensors of its own; fake values and symbols are shared."""
        constants = {name: copy.deepcopy(value, memo) for name, value in self.constants.items()}
        made = memo[id(self)] = self._copied(self.graph.clone(), constants)
        made.__dict__["_modules"] = {name: copy.deepcopy(module, memo) for name, module in self._modules.items()}
        return made

    def __reduce__(self) -> Any:
        """Pickled are graph, tensors, modules and structure; fake values and symbols are not."""
        given = dict(self.constants), self.graph, self.in_spec, self.out_spec, self.name
        return _unpickled, (given, self._class_name, dict(self._modules), self.training)


def _unpickled(given: tuple[Any, ...], class_name: str, modules: dict[str, Any], training: bool) -> GraphModule:
    made = GraphModule(*given, class_name=class_name)
    made._modules.update(modules)
    made.training = training
    return made


def _read_from(root: Module, graph: Graph) -> dict[str, Any]:
    """What the graph reads of a module."""
    found: dict[str, Any] = {}
    for node in graph.nodes:
        if node.op == "get_attr":
            found[node.target] = functools.reduce(getattr, str(node.target).split("."), root)
    return found


def as_module(traced: graph_module.GraphModule) -> GraphModule:
    """A traced graph as an `nn.Module`: the same graph and tensors."""
    if isinstance(traced, GraphModule):
        return traced
    made = GraphModule(traced.constants, traced.graph, traced.in_spec, traced.out_spec, traced.name)
    made.shape_env = traced.shape_env
    return made


@functools.wraps(tracing.make_fx)
def make_fx(*args: Any, **kwargs: Any) -> Callable[..., GraphModule]:
    """`opweave.tracer.make_fx.make_fx`, whose results are modules."""
    trace = tracing.make_fx(*args, **kwargs)

    @functools.wraps(trace)
    def traced(*args: Any, **kwargs: Any) -> GraphModule:
        return as_module(trace(*args, **kwargs))

    return traced
