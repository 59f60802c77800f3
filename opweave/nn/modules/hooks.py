"""Calls of modules, and the hooks around them."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from opweave.registry.autograd.function import Function
from opweave.registry.autograd.graph import Node, RemovableHandle, grad_fn_of
from opweave.registry.errors import ArgumentError, AutogradError, warn_user
from opweave.registry.interrupts import let_through
from opweave.registry.keys import GRAD, state
from opweave.registry.loading import load_heavy
from opweave.registry.tensor import Tensor

Hook = Callable[..., Any]
_NONE: Mapping[int, Any] = MappingProxyType({})
_STORES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "_node_hooks")
MIXED = "both full backward hooks and those of the older kind, which see one node of the graph alone"


class OfAll:
    """The hooks that all modules have (`opweave.nn.modules.global_hooks`), as those of one stand in its dicts."""

    def __init__(self) -> None:
        self.forward_pre: OrderedDict[int, tuple[Hook, bool]] = OrderedDict()
        self.forward: OrderedDict[int, tuple[Hook, bool, bool]] = OrderedDict()
        self.backward_pre: OrderedDict[int, Hook] = OrderedDict()
        self.backward: OrderedDict[int, Hook] = OrderedDict()
        self.node: OrderedDict[int, Hook] = OrderedDict()


OF_ALL = OfAll()


class Hooked:
    """What a call of a module runs besides `forward`.

    A module without hooks has none of these dicts; the first hook of a kind makes it.
    """

    #: Whether there was ever a hook, or calls were compiled; then a call looks for them. Of the class: whether all
    #: modules have hooks.
    _hooked = False
    _hooks_of_all = OF_ALL
    _forward_pre_hooks: Mapping[int, Hook] = _NONE
    _forward_hooks: Mapping[int, Hook] = _NONE
    #: Beside these, by their numbers: which hooks take kwargs, and which are called after an error too.
    _forward_pre_hooks_with_kwargs: Mapping[int, bool] = _NONE
    _forward_hooks_with_kwargs: Mapping[int, bool] = _NONE
    _forward_hooks_always_called: Mapping[int, bool] = _NONE
    _backward_pre_hooks: Mapping[int, Hook] = _NONE
    _backward_hooks: Mapping[int, Hook] = _NONE
    #: Those of the older kind, which see the gradients of one node.
    _node_hooks: Mapping[int, Hook] = _NONE
    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooked:
            compiled = self.__dict__.get("_compiled_call")
            return self._call_with_hooks(args, kwargs) if compiled is None else compiled(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the calls of this module from now on, in place, by `opweave.compile` with these arguments.

        What is copied or pickled runs uncompiled, until its own `compile`.

        Examples
        --------
        >>> linear = opweave.nn.Linear(3, 2)
        >>> linear.compile()
        >>> linear(opweave.ones(1, 3)).shape
        opweave.Size([1, 2])
        """
        compile = load_heavy("opweave.compiling").compile
        self.__dict__["_compiled_call"] = compile(self._uncompiled_call, *args, **kwargs)
        self.__dict__["_hooked"] = True

    def _uncompiled_call(self, *args: Any, **kwargs: Any) -> Any:
        has_hooks = Hooked._hooked or any(name in self.__dict__ for name in _STORES)
        return self._call_with_hooks(args, kwargs) if has_hooks else self.forward(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call"}

    def _add_hook(self, store: str, hook: Hook, prepend: bool = False, **marks: bool) -> RemovableHandle:
        """Add a hook to a store, and its number to the stores beside that one whose marks it has."""
        held = self.__dict__.get(store)
        if held is None:
            held = self.__dict__[store] = OrderedDict()
        handle = RemovableHandle(held)
        held[handle.id] = hook
        if prepend:
            held.move_to_end(handle.id, last=False)
        for mark in (name for name, is_marked in marks.items() if is_marked):
            self.__dict__.setdefault(f"{store}_{mark}", {})[handle.id] = True
        self.__dict__["_hooked"] = True
        return handle

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it returns, if anything, are the arguments.

        Parameters
        ----------
        hook : callable
            With `with_kwargs` it gets `(module, args, kwargs)` and returns `(args, kwargs)` or None.
        prepend : bool
            Before the hooks there are.
        with_kwargs : bool
            Whether it gets the keyword arguments.
        """
        return self._add_hook("_forward_pre_hooks", hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; what it returns, if anything, is the result.

        Parameters
        ----------
        hook : callable
            With `with_kwargs` it gets `(module, args, kwargs, output)`.
        prepend : bool
            Before the hooks there are.
        with_kwargs : bool
            Whether it gets the keyword arguments.
        always_call : bool
            Call it where `forward` raises, too, with None for the output.
        """
        return self._add_hook("_forward_hooks", hook, prepend, with_kwargs=with_kwargs, always_called=always_call)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before gradients go back through the module; it may return others."""
        return self._add_hook("_backward_pre_hooks", hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` once gradients of the inputs are known; it may return others.

        Both are tuples with an entry for each tensor among the positional arguments and the results.
        """
        if self._node_hooks:
            raise AutogradError(f"register_full_backward_hook: a module cannot have {MIXED}", got=type(self).__name__)
        return self._add_hook("_backward_hooks", hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after the node of the graph that made the result.

        Where `forward` is more than one op, `grad_input` are not the gradients of the module's inputs, and a warning
        says so: `register_full_backward_hook` gives these.
        """
        if self._backward_hooks:
            raise AutogradError(f"register_backward_hook: a module cannot have {MIXED}", got=type(self).__name__)
        return self._add_hook("_node_hooks", hook)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = _Call(self, args, kwargs)
        try:
            return call.run()
        except Exception as error:
            let_through(error)
            if not any(getattr(mode, "compiling", False) for mode in state.modes):
                call.after_error()
            raise


class _Call:
    """One call of a module with hooks; those of all modules come before its own."""

    def __init__(self, module: Hooked, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self._called = set[int]()

    def run(self) -> Any:
        """The result."""
        module, of_all = self.module, self.module._hooks_of_all
        before_back = [*of_all.backward_pre.values(), *module._backward_pre_hooks.values()]
        back = [*of_all.backward.values(), *module._backward_hooks.values()]
        at_node = [*of_all.node.values(), *module._node_hooks.values()]
        for hook, with_kwargs in of_all.forward_pre.values():
            self._before(hook, with_kwargs)
        for number, hook in [*module._forward_pre_hooks.items()]:
            self._before(hook, number in module._forward_pre_hooks_with_kwargs)
        passage = _Backward(module, back, before_back) if back or before_back else None
        if passage is not None:
            self.args = passage.enter(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for number, hook, with_kwargs, _ in self._hooks_after():
            self._called.add(number)
            self._after(hook, with_kwargs)
        if passage is not None:
            self.result = passage.leave(self.result)
        if at_node:
            self._hook_node(at_node)
        return self.result

    def _hooks_after(self) -> list[tuple[int, Hook, bool, bool]]:
        """Each with its number, whether it takes kwargs, and whether it is called after an error too."""
        module = self.module
        found = [(number, *about) for number, about in module._hooks_of_all.forward.items()]
        kwargs, always = module._forward_hooks_with_kwargs, module._forward_hooks_always_called
        return found + [(n, hook, n in kwargs, n in always) for n, hook in module._forward_hooks.items()]

    def _before(self, hook: Hook, with_kwargs: bool) -> None:
        if with_kwargs:
            found = hook(self.module, self.args, self.kwargs)
            if found is not None:
                if not isinstance(found, tuple) or len(found) != 2:
                    raise ArgumentError(
                        "forward pre-hook: must return None or (args, kwargs)", got=type(found).__name__
                    )
                self.args, self.kwargs = found
            return
        found = hook(self.module, self.args)
        if found is not None:
            self.args = found if isinstance(found, tuple) else (found,)

    def _after(self, hook: Hook, with_kwargs: bool) -> None:
        given = (self.args, self.kwargs, self.result) if with_kwargs else (self.args, self.result)
        found = hook(self.module, *given)
        if found is not None:
            self.result = found

    def after_error(self) -> None:
        """Call the hooks that are always called and were not yet."""
        for number, hook, with_kwargs, always in self._hooks_after():
            if always and number not in self._called:
                try:
                    self._after(hook, with_kwargs)
                except Exception as error:
                    let_through(error)
                    warn_user(f"forward hook with always_call=True raised an error after another one: {error}")

    def _hook_node(self, hooks: list[Hook]) -> None:
        first = self.result
        while not isinstance(first, Tensor):
            values = first.values() if isinstance(first, dict) else ()
            first = next(value for value in values if isinstance(value, Tensor)) if values else first[0]
        node = grad_fn_of(first)
        if node is None:
            return
        for hook in hooks:
            node.register_hook(functools.partial(hook, self.module))
        missing = self._not_seen_at(node)
        if missing is not None:
            warn_user(
                f"backward hook of {type(self.module).__name__}: {missing}; use register_full_backward_hook",
                FutureWarning,
            )

    def _not_seen_at(self, node: Node) -> str | None:
        """What hooks of one node do not see, where that is something."""
        results = (self.result,) if isinstance(self.result, Tensor) else self.result
        if not (isinstance(results, tuple) and all(isinstance(each, Tensor) for each in results)):
            return "results that are no tensors and no tuple of them: it misses gradients of results"
        if not all(isinstance(each, Tensor) for each in self.args):
            return "arguments that are no tensors: it misses gradients of arguments"
        made = {found for each in results if (found := grad_fn_of(each)) is not None}
        if made != {node}:
            return "results of several nodes of the graph: it misses gradients of results"
        given = {found for each in self.args if (found := grad_fn_of(each)) is not None}
        if given != {found for found, _ in node.next_functions}:
            return "forward is more than one node of the graph: it misses gradients of arguments"
        return None


class _Passage(Function):
    """Tensors as they are, with one node behind them."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Any:
        made = tuple(t.view_as(t) for t in tensors)  # type: ignore[attr-defined]  # bound from the declarations
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads


def _passed(tensors: list[Tensor]) -> tuple[list[Tensor], Any]:
    """The tensors behind one node, and the node; None where no gradient comes by."""
    if not any(t._keys & GRAD for t in tensors):
        return tensors, None
    found = _Passage.apply(*tensors)
    found = [found] if isinstance(found, Tensor) else list(found)
    return found, next((node for t in found if (node := grad_fn_of(t)) is not None), None)


class _Backward:
    """One call of a module, as its backward hooks see it."""

    def __init__(self, module: Any, hooks: list[Hook], before: list[Hook]) -> None:
        self.module, self.hooks, self.before = module, hooks, before
        self.grad_outputs: tuple[Any, ...] | None = None
        self.has_input_node = False
        self.input_count = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with a node before them that sees their gradients."""
        places = [i for i, value in enumerate(args) if isinstance(value, Tensor)]
        self.input_count = len(places)
        tensors, node = _passed([args[i] for i in places])
        if node is None:
            return args
        self.has_input_node = True
        node.register_hook(self._after)
        replaced = dict(zip(places, tensors, strict=True))
        return tuple([replaced.get(i, value) for i, value in enumerate(args)])

    def leave(self, result: Any) -> Any:
        """The results, with a node behind them that sees their gradients."""
        optree = load_heavy("optree")
        leaves, spec = optree.tree_flatten(result, none_is_leaf=True)
        places = [i for i, value in enumerate(leaves) if isinstance(value, Tensor)]
        tensors, node = _passed([leaves[i] for i in places])
        if node is None:
            return result
        node.register_prehook(self._before)
        for i, t in zip(places, tensors, strict=True):
            leaves[i] = t
        return optree.tree_unflatten(spec, leaves)

    def _before(self, grads: Any) -> Any:
        grads = tuple(grads)
        for hook in self.before:
            grads = _replaced(grads, hook(self.module, grads))
        self.grad_outputs = grads
        if not self.has_input_node:
            for hook in self.hooks:
                found = hook(self.module, (None,) * self.input_count, grads)
                if found is not None and not (isinstance(found, tuple) and all(part is None for part in found)):
                    raise AutogradError(
                        "full backward hook: gradients of inputs that do not require grad cannot be replaced"
                    )
        return grads

    def _after(self, grads: Any, _: Any) -> Any:
        if self.grad_outputs is None:
            raise AutogradError("full backward hook: gradients came to the inputs before any came to the results")
        grads = tuple(grads)
        for hook in self.hooks:
            grads = _replaced(grads, hook(self.module, grads, self.grad_outputs))
        return grads


def _replaced(grads: tuple[Any, ...], found: Any) -> tuple[Any, ...]:
    if found is None:
        return grads
    made = found if isinstance(found, tuple) else (found,)
    if len(made) != len(grads):
        raise AutogradError(
            "backward hook: must return as many gradients as it got", got=f"{len(made)} instead of {len(grads)}"
        )
    return made
