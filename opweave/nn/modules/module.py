"""`Module`: an object whose parameters, buffers and modules are found by name.

Parameters, buffers and submodules stand in the dicts `_parameters`, `_buffers` and `_modules`, so that a checkpoint
written for PyTorch's names loads. Hooks are in `opweave.nn.modules.hooks`, what reads and writes states in
`opweave.nn.modules.states`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from opweave.nn.modules.global_hooks import (
    BUFFER_HOOKS,
    MODULE_HOOKS,
    PARAMETER_HOOKS,
    register_module_backward_hook as register_module_backward_hook,
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
    register_module_forward_hook as register_module_forward_hook,
    register_module_forward_pre_hook as register_module_forward_pre_hook,
    register_module_full_backward_hook as register_module_full_backward_hook,
    register_module_full_backward_pre_hook as register_module_full_backward_pre_hook,
    register_module_module_registration_hook as register_module_module_registration_hook,
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
    replaced,
)
from opweave.nn.modules.hooks import Hooked
from opweave.nn.modules.states import Stateful
from opweave.nn.parameter import PASSING, Buffer, Parameter, is_lazy
from opweave.registry.autograd.mode import no_grad
from opweave.registry.device import Device, parse_device
from opweave.registry.dtypes import DType, as_dtype, bfloat16, float16, float32, float64
from opweave.registry.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    NamingError,
    UninitializedError,
    UnsupportedError,
)
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten
_STORES = ("_parameters", "_buffers", "_modules")


class Module(Hooked, Stateful):
    """Base of all modules: derive from it, call `super().__init__()`, assign parameters and modules, write `forward`.

    Attributes
    ----------
    training : bool
        Whether it is in training mode; see `train` and `eval`.

    Examples
    --------
    >>> class Net(opweave.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden = opweave.nn.Linear(4, 8)
    ...
    ...     def forward(self, x):
    ...         return self.hidden(x).relu()
    >>> [name for name, _ in Net().named_parameters()]
    ['hidden.weight', 'hidden.bias']
    """

    #: Tells the compiler that names stand in dicts (`runtime.modules`).
    __opweave_module__ = True
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            raise ArgumentError(
                f"{type(self).__name__}.__init__: unexpected arguments for Module", got=f"{[*args, *kwargs]}"
            )
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_modules"] = {}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; a subclass says it."""
        raise UnsupportedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function',
            got=f"class {type(self).__name__}(nn.Module), called with {len(args) + len(kwargs)} arguments",
            hint="define forward(self, x), by this name",
        )

    # ---- attributes --------------------------------------------------------------------------------------------------

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # found before `__getattr__` of a subclass, which may need what is not there yet

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        held = own.get("_parameters", ())
        if name in held:
            return own["_parameters"][name]
        held = own.get("_modules", ())
        if name in held:
            return own["_modules"][name]
        held = own.get("_buffers", ())
        if name in held:
            return own["_buffers"][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Tensor):
            if value._role == "parameter":
                self._forget(name, "_parameters")
                self.register_parameter(name, value)
                return
        elif isinstance(value, Module):
            self._store("_modules")
            self._forget(name, "_modules")
            own["_modules"][name] = replaced(MODULE_HOOKS, self, name, value) if MODULE_HOOKS else value
            return
        parameters = own.get("_parameters")
        if parameters is None:
            object.__setattr__(self, name, value)
            return
        if name in parameters:
            if value is not None:
                raise ArgumentError(
                    f"cannot assign {type(value).__name__!r} as parameter {name!r}",
                    got=_brief(value), hint="assign an nn.Parameter, or None",
                )  # fmt: skip
            parameters[name] = None
        elif name in own["_modules"]:
            if value is not None:
                raise ArgumentError(
                    f"cannot assign {type(value).__name__!r} as child module {name!r}",
                    got=_brief(value), hint="assign an nn.Module, or None",
                )  # fmt: skip
            own["_modules"][name] = replaced(MODULE_HOOKS, self, name, None)
        elif isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value._role != PASSING)
        elif name in own["_buffers"]:
            if value is not None and not isinstance(value, Tensor):
                raise ArgumentError(
                    f"cannot assign {type(value).__name__!r} as buffer {name!r}",
                    got=_brief(value), hint="assign a tensor, or None",
                )  # fmt: skip
            own["_buffers"][name] = replaced(BUFFER_HOOKS, self, name, value) if BUFFER_HOOKS else value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for store in _STORES:
            held = self.__dict__.get(store)
            if held is not None and name in held:
                del held[name]
                self.__dict__["_non_persistent_buffers_set"].discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        held = [name for store in _STORES for name in self.__dict__.get(store, ())]
        return sorted({*super().__dir__(), *held})

    def _store(self, kind: str) -> dict[str, Any]:
        held = self.__dict__.get(kind)
        if held is None:
            raise UninitializedError(
                f"cannot assign {kind.strip('_')} to {type(self).__name__} before Module.__init__() call",
                got=f"{type(self).__name__}.__init__ has not called it",
                hint="super().__init__() is the first line of __init__",
            )
        return held

    def _forget(self, name: str, but: str) -> None:
        """Make way for a name."""
        own = self.__dict__
        own.pop(name, None)
        for store in _STORES:
            if store != but:
                own.get(store, {}).pop(name, None)
        if but != "_buffers":
            own.get("_non_persistent_buffers_set", set()).discard(name)

    def _check_name(self, name: Any, kind: str, store: str) -> None:
        if not isinstance(name, str):
            raise ArgumentError(f"{kind} name should be a string", got=type(name).__name__)
        if "." in name:
            raise NamingError(
                f'{kind} name can\'t contain ".", got: {name}',
                got=repr(name),
                hint="dots separate the names of modules in a path",
            )
        if not name:
            raise NamingError(
                f'{kind} name can\'t be empty string ""', got=repr(name), hint="a name as attributes have it"
            )
        if hasattr(self, name) and name not in self.__dict__[store]:
            raise NamingError(
                f"attribute {name!r} already exists",
                got=f"{type(self).__name__}.{name} is {_brief(getattr(self, name))}",
                hint="choose another name, or del it first",
            )

    def register_parameter(self, name: str, param: Any) -> None:
        """Keep a parameter, or None, under a name.

        Raises
        ------
        KeyError
            If the name is taken, empty or has a dot.
        ArgumentError
            If it is no Parameter.
        ValueError
            If it is the result of recorded ops.
        """
        self._store("_parameters")
        self._check_name(name, "parameter", "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise ArgumentError(
                    f"register_parameter: {name!r} must be an nn.Parameter or None", got=_brief(param),
                    hint="nn.Parameter(tensor)",
                )  # fmt: skip
            if param.grad_fn is not None:
                raise DomainError(
                    f"cannot assign a non-leaf tensor to parameter {name!r}: a parameter is no result of other ones; "
                    "compute it in forward",
                    got=describe(param),
                    hint="nn.Parameter(tensor.detach()) is a parameter of its own",
                )
            param = replaced(PARAMETER_HOOKS, self, name, param)
        self.__dict__["_parameters"][name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Keep a tensor, or None, that is not trained, under a name.

        Parameters
        ----------
        name : str
            Its attribute.
        tensor : Tensor or None
            What it is.
        persistent : bool
            Whether it is part of the state dict.

        Raises
        ------
        KeyError
            If the name is taken, empty or has a dot.
        ArgumentError
            If it is no tensor.
        """
        self._store("_buffers")
        self._check_name(name, "buffer", "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentError(f"register_buffer: {name!r} must be a tensor or None", got=_brief(tensor))
        self.__dict__["_buffers"][name] = replaced(BUFFER_HOOKS, self, name, tensor)
        passing = self.__dict__["_non_persistent_buffers_set"]
        (passing.discard if persistent else passing.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Keep a module, or None, under a name.

        Raises
        ------
        KeyError
            If the name is taken, empty or has a dot.
        ArgumentError
            If it is no module.
        """
        given: object = module
        if given is not None and not isinstance(given, Module):
            raise ArgumentError(
                f"add_module: {name!r} must be a Module or None",
                got=_brief(module),
                hint="wrap a function in a class that derives from Module",
            )
        self._store("_modules")
        self._check_name(name, "module", "_modules")
        self.__dict__["_modules"][name] = replaced(MODULE_HOOKS, self, name, module)

    register_module = add_module

    # ---- walking -----------------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The module of a path such as `"layers.0.mlp"`; the empty path is this one.

        Raises
        ------
        AttributeError
            If there is none.
        """
        found: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(found, part):
                raise AttributeError(f"{type(found).__name__} has no attribute `{part}`")
            found = getattr(found, part)
            if not isinstance(found, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return found

    def _member(self, target: str, kind: str, store: str) -> Any:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if name not in owner.__dict__[store]:
            raise AttributeError(
                f"`{name}` is not an nn.{kind}" if kind == "Parameter" else f"`{name}` is not a buffer"
            )
        return owner.__dict__[store][name]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a path; see `get_submodule`."""
        return self._member(target, "Parameter", "_parameters")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a path; see `get_submodule`."""
        return self._member(target, "Buffer", "_buffers")

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module (under the prefix) and all in it, by path."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all in it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly in this one, by name, each once."""
        seen = set[Module]()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly in this one, each once."""
        return (module for _, module in self.named_children())

    def _named_members(
        self, members: Callable[[Module], Any], prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set[int]()
        modules = self.named_modules(None, prefix, remove_duplicate) if recurse else iter([(prefix, self)])
        for path, module in modules:
            for name, value in members(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters by path; those of the modules in it too, unless `recurse` is false."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters, each once; those of the modules in it too, unless `recurse` is false."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers by path; those of the modules in it too, unless `recurse` is false."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Buffers, each once; those of the modules in it too, unless `recurse` is false."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    # ---- all parts at once -------------------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call a function on each module in this one, then on this one, as to initialise weights."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace what parameters and buffers hold by what a function makes of it; parameters stay the objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        held: dict[str, Any] = self._parameters
        for parameter in held.values():
            if parameter is None:
                continue
            if is_lazy(parameter):
                parameter._convert(fn)
                continue
            with no_grad():
                changed = fn(parameter.detach())
            grad = parameter.grad
            if changed._storage is not parameter._storage or changed._strides != parameter._strides:
                parameter.grad = None
                parameter.data = changed
            if grad is not None:
                with no_grad():
                    parameter.grad = fn(grad.detach()).requires_grad_(grad.requires_grad)
        buffers: dict[str, Any] = self._buffers
        for name, buffer in buffers.items():
            if is_lazy(buffer):
                buffer._convert(fn)
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and convert parameters and buffers, in place: `to(device)`, `to(dtype)`, `to(device, dtype)`, `to(t)`.

        Parameters
        ----------
        device : Device or str
            Where to.
        dtype : DType
            Floating or complex; of whole numbers a tensor keeps its own.
        memory_format : MemoryFormat
            Of tensors with four or five dimensions.

        Raises
        ------
        DTypeError
            If the dtype is neither floating nor complex.
        """
        device, dtype, layout = destination(args, kwargs)
        if dtype is not None and dtype.kind not in "fc":
            raise DTypeError("Module.to: only floating and complex dtypes", got=f"{dtype}")

        def convert(t: Tensor) -> Tensor:
            options: dict[str, Any] = {"dtype": dtype if dtype is not None and t._dtype.kind in "fc" else t._dtype}
            if layout is not None and t.ndim in (4, 5):
                options["memory_format"] = layout
            if device is not None:
                options["device"] = device
            same = options["dtype"] is t._dtype and "memory_format" not in options
            return t if same and device in (None, t._device) else aten._to_copy.default(t, **options)

        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype, in place."""
        dtype = as_dtype(dst_type)
        return self._apply(lambda t: t if t._dtype is dtype else aten._to_copy.default(t, dtype=dtype))

    def _cast(self, dtype: DType) -> Self:
        return self._apply(
            lambda t: aten._to_copy.default(t, dtype=dtype) if t._dtype.kind == "f" and t._dtype is not dtype else t
        )

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32, in place."""
        return self._cast(float32)

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64, in place."""
        return self._cast(float64)

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16, in place."""
        return self._cast(float16)

    def bfloat16(self) -> Self:
        """Convert floating parameters and buffers to bfloat16, in place."""
        return self._cast(bfloat16)

    def cpu(self) -> Self:
        """Move all parameters and buffers to main memory, in place."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: int | str | Device | None = None) -> Self:
        """Move all parameters and buffers to a CUDA device, in place."""
        place = f"cuda:{device}" if isinstance(device, int) else device or "cuda"
        return self._apply(lambda t: t.cuda(place))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without the elements, which are then undefined."""
        target = parse_device(device)
        return self._apply(lambda t: aten.empty_like.default(t, device=target), recurse)

    def train(self, mode: bool = True) -> Self:
        """Set this module and those in it to training mode, or to evaluation.

        Raises
        ------
        ValueError
            If the mode is no bool.
        """
        if type(mode) is not bool:
            raise DomainError(
                "training mode is expected to be boolean", got=repr(mode), hint="module.train() or module.eval()"
            )
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set this module and those in it to evaluation: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether gradients flow to the parameters, in place."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the parameters, or set them to zeros."""
        found: Iterator[Any] = self.parameters()
        for parameter in found:
            if parameter.grad is not None:
                if set_to_none:
                    parameter.grad = None
                else:
                    parameter.grad = aten.zeros_like.default(parameter.grad.detach())

    # ---- text --------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses of the text of this module; a subclass says it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        body = "\n  ".join([*lines, *children])
        return f"{self._get_name()}(\n  {body}\n)" if body else f"{self._get_name()}()"


def indented(text: str) -> str:
    """A text whose lines but the first are two spaces further in."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line for line in rest)])


def _brief(value: Any) -> str:
    return describe(value) if isinstance(value, Tensor) else type(value).__name__


def destination(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Device | None, DType | None, Any]:
    """Device, dtype and layout that arguments of `Module.to` name, None where they do not."""
    named = dict(kwargs)
    device, dtype = named.pop("device", None), named.pop("dtype", None)
    layout: MemoryFormat | None = named.pop("memory_format", None)
    other = named.pop("tensor", named.pop("other", None))
    named.pop("non_blocking", None)
    named.pop("copy", None)
    if named:
        raise ArgumentError("Module.to: unexpected arguments", got=", ".join(named))
    for value in args:
        if isinstance(value, Tensor):
            other = value
        elif isinstance(value, DType):
            dtype = value
        elif isinstance(value, (str, Device)):
            device = value
        elif isinstance(value, int) and not isinstance(value, bool):
            device = f"cuda:{value}"
        elif value is not None and not isinstance(value, bool):
            raise ArgumentError("Module.to: expected a device, a dtype or a tensor", got=_brief(value))
    if other is not None:
        device, dtype = other._device, other._dtype
    return None if device is None else parse_device(device), None if dtype is None else as_dtype(dtype), layout
