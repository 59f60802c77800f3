"""State dicts: the parameters and buffers of a module and of those in it, by path, out and in."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from opweave.nn.parameter import Parameter, is_lazy
from opweave.registry.autograd.graph import RemovableHandle
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import ArgumentError, OpweaveError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

aten = ops.aten
_NONE: Mapping[int, Any] = MappingProxyType({})
_EXTRA = "_extra_state"


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` did not find, and what it found and did not know."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDict(OrderedDict[str, Any]):
    """Tensors by path, with the versions of the modules they come from in `_metadata`."""

    _metadata: OrderedDict[str, Any]


#: What names in a state dict of a compiled module begin with.
_COMPILED = "_orig_mod."


class StateError(OpweaveError, RuntimeError):
    """A state dict that does not fit a module."""


class Stateful:
    """`state_dict`, `load_state_dict` and their hooks."""

    #: Of the layout of its state, kept in a state dict's `_metadata`.
    _version: int | None = 1
    _state_dict_hooks: Mapping[int, Any] = _NONE
    _state_dict_pre_hooks: Mapping[int, Any] = _NONE
    _load_state_dict_pre_hooks: Mapping[int, Any] = _NONE
    _load_state_dict_post_hooks: Mapping[int, Any] = _NONE
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def get_extra_state(self) -> Any:
        """What else belongs to the state of this module; a subclass that has some says it."""
        raise NotImplementedError(f"{type(self).__name__} has no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take over what `get_extra_state` gave."""
        raise NotImplementedError(f"{type(self).__name__} has no set_extra_state")

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the parameters and buffers of this module alone in a state dict."""
        for name, t in self._parameters.items():
            if t is not None:
                destination[prefix + name] = t if keep_vars else t.detach()
        for name, t in self._buffers.items():
            if t is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = t if keep_vars else t.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[f"{prefix}{_EXTRA}"] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by path; they share memory with the module.

        Parameters
        ----------
        destination : dict, optional
            Where to put them; a new one by default.
        prefix : str
            Before each path.
        keep_vars : bool
            Give the parameters themselves, with their history.
        """
        if args:
            destination = args[0]
            prefix = args[1] if len(args) > 1 else prefix
            keep_vars = args[2] if len(args) > 2 else keep_vars
        if destination is None:
            destination = StateDict()
            destination._metadata = OrderedDict()
        about = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = about
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook, is_private in self._state_dict_hooks.values():
            found = hook(self, destination, prefix, about)
            if is_private:
                destination = destination if found is None else found
            elif found is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _add_state_hook(self, store: str, hook: Any) -> RemovableHandle:
        held = self.__dict__.setdefault(store, OrderedDict())
        handle = RemovableHandle(held)
        held[handle.id] = hook
        return handle

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` reads the module."""
        return self._add_state_hook("_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after; it may change the dict."""
        return self._add_state_hook("_state_dict_hooks", (hook, False))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return self._add_state_hook("_state_dict_hooks", (hook, True))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before this module is loaded; it may change the state dict.

        It gets `(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`.
        """
        return self._add_state_hook("_load_state_dict_pre_hooks", (hook, True))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return self._add_state_hook("_load_state_dict_pre_hooks", (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module was loaded; it may change the lists of keys."""
        return self._add_state_hook("_load_state_dict_post_hooks", hook)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the parameters and buffers of this module alone; what does not fit is added to the lists."""
        for hook, with_module in self._load_state_dict_pre_hooks.values():
            given = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
            hook(self, *given) if with_module else hook(*given)
        kept = {n: t for n, t in self._buffers.items() if n not in self._non_persistent_buffers_set}
        own = {name: t for name, t in [*self._parameters.items(), *kept.items()] if t is not None}
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        for name, t in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            message = self._load_one(name, key, t, state_dict[key], assign)
            if message is not None:
                error_msgs.append(message)
        key = f"{prefix}{_EXTRA}"
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != f"{prefix}{_EXTRA}":
                    first = key[len(prefix) :].split(".", 1)
                    if first[0] not in (self._modules if len(first) > 1 else own):
                        unexpected_keys.append(key)

    def _load_one(self, name: str, key: str, t: Any, value: Any, assign: bool) -> str | None:
        """Load one tensor; gives what is wrong."""
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected opweave.Tensor or Tensor-like object from '
                f"checkpoint but received {type(value).__name__}"
            )
        if is_lazy(value):
            if is_lazy(t):
                return None
            return f'While copying the parameter named "{key}", the checkpoint has an uninitialized parameter'
        if not t._sizes and value._sizes == (1,):
            value = value[0]  # what versions before 0.4 wrote
        if value._sizes != t._sizes:
            return (
                f"size mismatch for {key}: copying a param with shape {list(value._sizes)} from checkpoint, "
                f"the shape in current model is {list(t._sizes)}."
            )
        if assign:
            if isinstance(t, Parameter) and not isinstance(value, Parameter):
                value = Parameter(value, t.requires_grad)
            setattr(self, name, value)
            return None
        try:
            with no_grad():
                aten.copy_.default(t, value)
        except OpweaveError as error:
            return f'While copying the parameter named "{key}", an exception occurred: {error}'
        return None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy parameters and buffers from a state dict into this module and those in it.

        Parameters
        ----------
        state_dict : dict of str to Tensor
            By path.
        strict : bool
            Whether the names must be those of this module.
        assign : bool
            Take the tensors themselves instead of copying their elements; dtypes are then theirs.

        Returns
        -------
        IncompatibleKeys
            `missing_keys` and `unexpected_keys`.

        Raises
        ------
        StateError
            If sizes differ, or names do where `strict`. What fitted is loaded.
        """
        given: object = state_dict
        if not isinstance(given, Mapping):
            raise ArgumentError(
                "load_state_dict: expected a dict",
                got=type(state_dict).__name__,
                hint="model.load_state_dict(opweave.load(path))",
            )
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        missing, unexpected, errors = list[str](), list[str](), list[str]()

        def load(module: Any, found: dict[str, Any], prefix: str) -> None:
            about = dict({} if metadata is None else metadata.get(prefix[:-1], {}))
            if assign:
                about["assign_to_params_buffers"] = assign
            module._load_from_state_dict(found, prefix, about, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    inner = f"{prefix}{name}."
                    load(child, {k: v for k, v in found.items() if k.startswith(inner)}, inner)
            keys = IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise RuntimeError("hooks of register_load_state_dict_post_hook must return None")

        load(self, state, "")
        if strict:
            for words, names in (("Unexpected", unexpected), ("Missing", missing)):
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{words} key(s) in state_dict: {listed}. ")
        if errors:
            lines = "\n\t".join(errors)
            raise StateError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}",
                got=f"{len(state_dict)} entries, {len(missing)} missing, {len(unexpected)} unexpected",
                hint=_hint(missing, unexpected),
            )
        return IncompatibleKeys(missing, unexpected)


def _hint(missing: list[str], unexpected: list[str]) -> str:
    """What to do; names may differ by the prefix that those of a compiled module have."""
    if any(name.startswith(_COMPILED) for name in unexpected):
        return f"the names are those of a compiled module: save its ._orig_mod.state_dict(), or strip {_COMPILED!r}"
    if any(name.startswith(_COMPILED) for name in missing):
        return "the names are those of a module that is not compiled: load it into ._orig_mod of the compiled one"
    if missing or unexpected:
        return "strict=False leaves out what does not fit by name; look at model.state_dict().keys()"
    return "make the module with the sizes that it was saved with"
