"""Modules that learn the sizes of their parameters from what they are first called with."""

from __future__ import annotations

import itertools
from typing import Any

from opweave.nn.modules.module import Module
from opweave.nn.parameter import UninitializedParameter, UninitializedParameterError, is_lazy
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import TraceError
from opweave.registry.keys import state

__all__ = ["LazyModuleMixin", "is_lazy"]


class LazyModuleMixin(Module):
    """What a module derives from, before its usual class, to have parameters whose sizes its first call says.

    The module has `UninitializedParameter` and `UninitializedBuffer` among its parameters and buffers, and
    `initialize_parameters(*args, **kwargs)`, which is given what the first call is given and materializes them. It is
    of the class `cls_to_become`, if there is one, from then on.

    Examples
    --------
    >>> model = opweave.nn.Sequential(opweave.nn.LazyLinear(4), opweave.nn.ReLU(), opweave.nn.LazyLinear(1))
    >>> model(opweave.ones(2, 3)).shape
    opweave.Size([2, 1])
    >>> model[0]
    Linear(in_features=3, out_features=4, bias=True)
    """

    #: The class of the module once its parameters have sizes.
    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(_sized_by_state, with_module=True)
        self._initialize_hook = self.register_forward_pre_hook(_initialized, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters, by what the module is called with."""
        raise NotImplementedError(f"{type(self).__name__} has no initialize_parameters")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of this module alone has no sizes yet."""
        return any(map(is_lazy, itertools.chain(self._parameters.values(), self._buffers.values())))

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise UninitializedParameterError(
                f"module {self._get_name()} has not been fully initialized", got=repr(module),
                hint="initialize_parameters has to materialize all parameters and buffers",
            )  # fmt: skip
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


def _initialized(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if any(getattr(mode, "compiling", False) for mode in state.modes):
        raise TraceError(
            "a lazy module is initialized by its first call, which is no graph", got=repr(module),
            hint="call the module once, on a batch, before it is compiled with fullgraph=True",
        )  # fmt: skip
    module._infer_parameters(module, args, kwargs)


def _sized_by_state(module: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
    """Give parameters the sizes that they have in a state dict."""
    for name, t in itertools.chain(module._parameters.items(), module._buffers.items()):
        found = state_dict.get(prefix + name)
        if is_lazy(t) and found is not None and not is_lazy(found):
            with no_grad():
                t.materialize(found.shape)


class SizedByInput(LazyModuleMixin):
    """Lazy modules of opweave, which draw their parameters once these have sizes."""

    #: The attribute that is 0 until the first call.
    _counted = ""

    def _give_parameters(self, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def _lazy(self) -> tuple[Any, Any]:
        """The parameters, which have no sizes yet; None for a bias that there is not."""
        return self.weight, getattr(self, "bias", None)

    def reset_parameters(self) -> None:
        """Draw the parameters anew, if they have sizes."""
        if not self.has_uninitialized_params() and getattr(self, self._counted) != 0:
            super().reset_parameters()  # type: ignore[misc]  # the class behind has it
