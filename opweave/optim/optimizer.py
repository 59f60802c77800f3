"""`Optimizer`: parameters in groups with settings, a state for each parameter, and both as a state dict."""

from __future__ import annotations

import copy
import functools
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry.autograd.graph import RemovableHandle
from opweave.registry.autograd.mode import enable_grad, no_grad, set_grad_enabled
from opweave.registry.errors import ArgumentError, DomainError, NamingError, UnsupportedError
from opweave.registry.keys import state as threads
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten


class Optimizer:
    """Base of all optimizers.

    Parameters
    ----------
    params : iterable of Tensor, of (str, Tensor), or of dict
        Parameters, or groups `{"params": ..., "lr": ...}` with settings of their own.
    defaults : dict
        Settings of groups that do not have them.

    Attributes
    ----------
    param_groups : list of dict
        Settings, and `"params"`.
    state : dict of Tensor to dict
        What is kept of each parameter; filled by the first step.

    Examples
    --------
    >>> class Plain(opweave.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     def step(self, closure=None):
    ...         with opweave.no_grad():
    ...             for group in self.param_groups:
    ...                 for parameter in group["params"]:
    ...                     parameter -= group["lr"] * parameter.grad
    >>> w = opweave.nn.Parameter(opweave.ones(2))
    >>> w.sum().backward()
    >>> Plain([w], lr=0.5).step()
    >>> w.tolist()
    [0.5, 0.5]
    """

    #: Tells the compiler how to guard it (`runtime.modules`).
    __opweave_optimizer__ = True
    state: defaultdict[Tensor, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise ArgumentError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts",
                got=describe(params), hint="[parameter]",
            )  # fmt: skip
        if not isinstance(params, Iterable):
            raise ArgumentError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts",
                got=type(params).__name__, hint="model.parameters()",
            )  # fmt: skip
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._make_hooks()
        groups = list(params)
        if not groups:
            raise DomainError(
                "optimizer got an empty parameter list", got=f"params={_seen(params)}",
                hint="what model.parameters() gives can be read once: call it anew, or keep list(model.parameters())",
            )  # fmt: skip
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = _between_hooks(cls.step)  # type: ignore[method-assign]  # as every step is

    def _make_hooks(self) -> None:
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, `{"params": ..., "lr": ...}`.

        Raises
        ------
        ArgumentError
            If something is no tensor.
        ValueError
            If a parameter is no leaf, or in a group already, or a setting is missing.
        """
        given: object = param_group
        if not isinstance(given, dict):
            raise ArgumentError(
                "param_group must be a dict", got=type(param_group).__name__, hint="{'params': [parameter], 'lr': 0.1}"
            )
        if "params" not in param_group:
            raise NamingError(
                "param_group has no 'params'", got=f"keys {[*param_group]}", hint="{'params': [parameter], 'lr': 0.1}"
            )
        params = param_group["params"]
        if isinstance(params, set):
            raise ArgumentError("parameters have an order, which a set does not keep", got="a set", hint="pass a list")
        params = [params] if isinstance(params, Tensor) else list(params)
        named = [isinstance(each, tuple) for each in params]
        if any(named) and not all(named):
            raise DomainError(
                "all optimizer params should be with/without names. Some param names are missing",
                got=f"{sum(named)} names for {len(named)} parameters", hint="model.named_parameters()",
            )  # fmt: skip
        if params and all(named):
            param_group["param_names"] = [name for name, _ in params]
            params = [parameter for _, parameter in params]
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise ArgumentError(
                    "optimizer can only optimize Tensors", got=type(parameter).__name__, hint="model.parameters()"
                )
            if not (parameter.is_leaf or parameter.retains_grad or self.defaults.get("differentiable")):
                raise DomainError(
                    "can't optimize a non-leaf Tensor", got=describe(parameter),
                    hint="it is computed from others: optimize those, or its .detach().requires_grad_()",
                )  # fmt: skip
        if len({id(p) for p in params}) != len(params):
            raise DomainError(
                "optimizer contains a parameter group with duplicate parameters",
                got=f"{len(params)} parameters, {len({id(p) for p in params})} of them different",
                hint="name each once: list(dict.fromkeys(parameters)) leaves out what stands there again",
            )  # fmt: skip
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise DomainError(
                "some parameters appear in more than one parameter group",
                got=describe([p for p in params if id(p) in known]), hint="leave them out of one of the groups",
            )  # fmt: skip
        if any(("param_names" in group) != ("param_names" in param_group) for group in self.param_groups):
            raise DomainError(
                "all optimizer param groups should be with/without names", got=f"a group with keys {[*param_group]}",
                hint=f"those before have keys {[*self.param_groups[0]]}",
            )  # fmt: skip
        param_group["params"] = params
        self.param_groups.append(param_group)
        for name, value in self.defaults.items():
            param_group.setdefault(name, value)

    # ---- steps -------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients, in place.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradients; called before, and what it gives is given.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        ascends = group.get("maximize", False)
        for parameter in group["params"]:
            grad = parameter.grad
            if grad is None:
                continue
            kept = self.state.get(parameter) or self._first(parameter, group)
            grad = aten.neg.default(grad) if ascends else grad
            if group.get("differentiable"):  # the ways back of earlier steps hold what these were then
                kept.update({k: aten.clone.default(v) for k, v in kept.items() if isinstance(v, Tensor)})
            if parameter._dtype.kind == "c":
                given = {k: as_real(v) for k, v in kept.items()}
                pairs = given.copy()
                self.update(as_real(parameter), as_real(grad), pairs, group)
                kept.update({k: aten.view_as_complex.default(v) for k, v in pairs.items() if v is not given[k]})
            else:
                self.update(parameter, grad, kept, group)

    def _first(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter before its first step."""
        made: dict[str, Any] = {}
        self.init_parameter(parameter, made, group)
        if made:
            if any(mode.record is None for mode in threads.modes):  # a trace
                raise UnsupportedError(
                    f"{type(self).__name__}: a first step makes the state, which compiled code would not do",
                    hint="call optimizer.init_state() before",
                )
            self.state[parameter] = made
        return made

    def init_state(self) -> None:
        """Make the state of all parameters now, which the first step does otherwise: before `step` is compiled."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if not self.state.get(parameter):
                    self._first(parameter, group)

    def init_parameter(self, parameter: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """Make the state of a parameter; a subclass that has one says it."""

    def update(self, parameter: Tensor, grad: Tensor, kept: dict[str, Any], group: dict[str, Any]) -> None:
        """Change a parameter by its gradient; a subclass says how, or overrides `step`."""
        raise UnsupportedError(
            f"{type(self).__name__} has no step of its own", got=f"class {type(self).__name__}(Optimizer)",
            hint="write step(self, closure=None)",
        )  # fmt: skip

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the parameters, or set them to zeros."""
        for group in self.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if set_to_none:
                    parameter.grad = None
                elif grad.grad_fn is not None:
                    parameter.grad = aten.zeros_like.default(grad.detach())
                else:
                    with no_grad():
                        aten.zero_.default(grad)

    # ---- hooks -------------------------------------------------------------------------------------------------------

    def _register(self, name: str, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        hooks = self.__dict__[name]
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other arguments, as a pair.

        `args` begins with the optimizer.
        """
        return self._register("_optimizer_step_pre_hooks", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._register("_optimizer_step_post_hooks", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before a state dict is made."""
        return self._register("_optimizer_state_dict_pre_hooks", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` on a state dict that was made; it may return another."""
        return self._register("_optimizer_state_dict_post_hooks", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before a state dict is taken over; it may return another."""
        return self._register("_optimizer_load_state_dict_pre_hooks", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after a state dict was taken over."""
        return self._register("_optimizer_load_state_dict_post_hooks", hook, prepend)

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Any]], with_indices: bool = False) -> Any:
        """Lists by the device and type of the tensors of the first one, as ops on lists want them."""
        return grouped(tensorlistlist, with_indices)

    def _cuda_graph_capture_health_check(self) -> None:
        """Nothing: what subclasses written for PyTorch call in their steps."""

    def _patch_step_function(self) -> None:
        """Nothing: what those call that are made without `Optimizer.__init__`; every class's step runs the hooks."""

    # ---- states ------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """`{"state": ..., "param_groups": ...}`, with numbers for the parameters."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed = {name: value for name, value in group.items() if name != "params"}
            groups.append({**packed, "params": [numbers[id(p)] for p in group["params"]]})
        held = {numbers.get(id(p), p) if isinstance(p, Tensor) else p: kept for p, kept in self.state.items()}
        made: dict[str, Any] = {"state": held, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            found = hook(self, made)
            made = made if found is None else found
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state dict; tensors are copied, in the dtypes of the parameters.

        Raises
        ------
        ValueError
            If its groups are not those of this optimizer.
        """
        if isinstance(state_dict, dict):
            state_dict = state_dict.copy()
            for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
                found = hook(self, state_dict)
                state_dict = state_dict if found is None else found
        if not isinstance(state_dict, dict) or not {"state", "param_groups"} <= state_dict.keys():
            given = [*state_dict][:5] if isinstance(state_dict, dict) else type(state_dict).__name__
            raise ArgumentError(
                "load_state_dict: this is no state of an optimizer", got=f"{given}",
                hint="what optimizer.state_dict() gave, with 'state' and 'param_groups'; a model's goes to the model",
            )  # fmt: skip
        groups = copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(self.param_groups):
            raise DomainError(
                "loaded state dict has a different number of parameter groups",
                got=f"{len(groups)}, for {len(self.param_groups)} here",
                hint="load it into an optimizer that was made of the same groups",
            )
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, self.param_groups, strict=True)):
            raise DomainError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
                got=f"{_counts(groups)} parameters, for {_counts(self.param_groups)} here",
                hint="load it into an optimizer that was made of the same model",
            )
        numbers = [number for group in groups for number in group["params"]]
        own = [parameter for group in self.param_groups for parameter in group["params"]]
        by_number = dict(zip(numbers, own, strict=True))
        held: defaultdict[Any, Any] = defaultdict(dict)
        for key, kept in state_dict["state"].items():
            parameter = by_number.get(key)
            if parameter is None:
                held[key] = kept
            else:
                held[parameter] = {name: _cast(name, value, parameter) for name, value in kept.items()}
        for group, loaded in zip(self.param_groups, groups, strict=True):
            params = group["params"]
            group.clear()
            group.update({**loaded, "params": params})
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        self.__setstate__({"state": held, "param_groups": self.param_groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _HOOKS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over attributes; subclasses add settings that older ones lack."""
        self.__dict__.update(state)
        self._make_hooks()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


#: The dicts of hooks that each optimizer has.
_HOOKS = (
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
)  # fmt: skip
#: Hooks of all optimizers.
_PRE_HOOKS: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_POST_HOOKS: OrderedDict[int, Callable[..., Any]] = OrderedDict()
#: Ids of those whose step runs: a step that calls the one of its base is one step.
_stepping: set[int] = set()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of any optimizer."""
    handle = RemovableHandle(_PRE_HOOKS)
    _PRE_HOOKS[handle.id] = hook
    return handle


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of any optimizer."""
    handle = RemovableHandle(_POST_HOOKS)
    _POST_HOOKS[handle.id] = hook
    return handle


def _between_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A class's step as one that runs the hooks, which is called in place of it."""

    @functools.wraps(step)
    def stepping(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, after = self.__dict__.get(_HOOKS[0]), self.__dict__.get(_HOOKS[1])
        if not (before or after or _PRE_HOOKS or _POST_HOOKS) or id(self) in _stepping:
            return step(self, *args, **kwargs)
        _stepping.add(id(self))
        try:
            given: Any = (self, *args)
            for hook in (*_PRE_HOOKS.values(), *(before or {}).values()):
                found = hook(self, given, kwargs)
                if found is not None:
                    if not isinstance(found, tuple) or len(found) != 2:
                        raise ArgumentError(
                            "a hook before a step must return None or a pair of new args and kwargs", got=repr(found),
                            hint="return args, kwargs",
                        )  # fmt: skip
                    given, kwargs = found
            result = step(*given, **kwargs)
            for hook in (*(after or {}).values(), *_POST_HOOKS.values()):
                hook(self, given, kwargs)
            return result
        finally:
            _stepping.discard(id(self))

    return stepping


Optimizer.step = _between_hooks(Optimizer.step)  # type: ignore[method-assign]  # as that of every subclass is


def grouped(lists: list[list[Any]], with_indices: bool = False) -> dict[Any, tuple[list[list[Any]], list[int]]]:
    """By device and type of the tensors of the first list: the parts of all lists, and which elements they are."""
    found: dict[Any, tuple[list[list[Any]], list[int]]] = {}
    for i, t in enumerate(lists[0]):
        parts, indices = found.setdefault((t.device, t.dtype), ([[] for _ in lists], []))
        for part, given in zip(parts, lists, strict=True):
            if given:
                part.append(given[i])
        if with_indices:
            indices.append(i)
    return found


def _cast(name: str, value: Any, parameter: Tensor) -> Any:
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    if name == "step" or parameter._dtype.kind not in "fc":
        return value.detach().clone()  # type: ignore[attr-defined]  # bound from the declarations
    found: Tensor = aten._to_copy.default(value.detach(), dtype=parameter._dtype, device=parameter._device)
    return found


def _counts(groups: list[dict[str, Any]]) -> str:
    return ", ".join(str(len(group["params"])) for group in groups)


def _seen(params: Any) -> str:
    """What was given for parameters."""
    return repr(params) if isinstance(params, (list, tuple, dict)) else f"<{type(params).__name__}>"


# ---- what updates are written with -----------------------------------------------------------------------------------
# Methods, not ops: calls of methods are replayed by native code.


def check(**settings: float | Tensor) -> None:
    """Refuse settings that are negative."""
    for name, value in settings.items():
        if isinstance(value, Tensor):
            if value.numel() != 1:
                short = "lr" if name == "learning_rate" else name
                raise DomainError(f"Tensor {short} must be 1-element", got=describe(value), hint="pass a number")
        elif not value >= 0.0:
            raise DomainError(f"Invalid {name.replace('_', ' ')}: {value}", got=repr(value), hint="it is at least 0")


def check_betas(betas: Any) -> None:
    """Refuse factors of running means that are not in [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise DomainError(
                f"Invalid beta parameter at index {i}: {beta}", got=f"betas={betas!r}", hint="each is in [0, 1)"
            )


def hints(foreach: bool | None, fused: bool | None, differentiable: bool) -> dict[str, Any]:
    """Settings that choose among PyTorch's ways to do the same, and whether steps are recorded.

    Raises
    ------
    UnsupportedError
        If `fused` is to stand beside one of the others.
    """
    given = {"foreach": foreach, "differentiable": differentiable, "fused": fused}
    chosen = [name for name, value in given.items() if value]
    if fused and len(chosen) > 1:
        raise UnsupportedError(
            f"`fused` and `{chosen[0]}` exclude each other", got=", ".join(f"{name}=True" for name in chosen),
            hint=f"leave fused out: {chosen[0]}=True",
        )  # fmt: skip
    return given


def count(parameter: Tensor) -> Tensor:
    """How many steps were made, as a state: float32, 0-d."""
    return aten.zeros.default([], device=parameter._device)


def zeros(parameter: Tensor) -> Tensor:
    """A state that starts from zeros."""
    return aten.zeros_like.default(parameter.detach())


def number(value: Any, capturable: bool = False) -> Any:
    """A setting or a count as a number, which is exact; the tensor where it is traced, recorded or not looked at."""
    if not isinstance(value, Tensor) or capturable or value.requires_grad or _is_traced():
        return value
    return value.item()


def as_real(value: Any) -> Any:
    """A complex tensor as pairs of real numbers in the same memory."""
    return aten.view_as_real.default(value) if isinstance(value, Tensor) and value._dtype.kind == "c" else value


def unsaved(value: Any) -> Any:
    """The value to be changed in place: a copy where the way back of what made it needs it as it is."""
    return value.clone() if value.requires_grad else value


def keep(kept: dict[str, Any], name: str, value: Any) -> Any:
    """Set a part of the state, in its memory unless a way back needs what stands there."""
    if value.requires_grad:
        kept[name] = value
        return value
    return kept[name].copy_(value)


def add_scaled_(target: Any, value: Any, factor: Any) -> None:
    """target += factor value, in place."""
    if isinstance(factor, Tensor):
        target.add_(value * factor)
    else:
        target.add_(value, alpha=factor)


def add_ratio_(target: Any, over: Any, under: Any, factor: Any) -> None:
    """target += factor over / under, in place."""
    if isinstance(factor, Tensor):
        target.add_(over / under * factor)
    else:
        target.addcdiv_(over, under, value=factor)


def decayed(parameter: Any, grad: Any, weight_decay: Any) -> Any:
    """The gradient with that of a penalty on squares."""
    if isinstance(weight_decay, Tensor):
        return grad + parameter * weight_decay
    return grad.add(parameter, alpha=weight_decay) if weight_decay != 0 else grad


def root(value: Any) -> Any:
    """Square root of a number or tensor."""
    return aten.sqrt.default(value) if isinstance(value, Tensor) else math.sqrt(value)


def squares_(kept: Any, grad: Any, beta: Any) -> None:
    """A running mean of squares, in place."""
    if isinstance(beta, Tensor):
        kept.mul_(beta).add_(grad * grad * (1 - beta))
    else:
        kept.mul_(beta).addcmul_(grad, grad, value=1 - beta)


Params = Iterable[Any]


def _is_traced() -> bool:
    """Whether a mode is active that does not run what it sees at this very call, as a function in parts does."""
    return any(mode.record is None for mode in threads.modes)
