"""Modules and parameters in lists, dicts and chains."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Self

from opweave.nn.modules.module import Module, indented
from opweave.nn.parameter import Parameter
from opweave.registry.errors import ArgumentError, OpweaveError
from opweave.registry.tensor import Tensor


def _index(owner: Any, index: Any) -> int:
    """A place in a list, counted from its start."""
    count, at = len(owner), operator.index(index)
    if not -count <= at < count:
        raise IndexError(f"index {at} is out of range")
    return at % count


class Sequential(Module):
    """Modules one after the other, each on what the one before gave.

    Parameters
    ----------
    *args : Module, or one OrderedDict of them by name
        Named "0", "1", ... where they have no names.

    Examples
    --------
    >>> opweave.nn.Sequential(opweave.nn.Linear(2, 3), opweave.nn.ReLU())(opweave.ones(1, 2)).shape
    opweave.Size([1, 3])
    """

    _modules: dict[str, Module]  # type: ignore[assignment]  # none of them is None

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return list(self._modules.values())[_index(self, idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, list(self._modules)[_index(self, idx)], module)

    def __delitem__(self, idx: Any) -> None:
        names = list(self._modules)
        for name in names[idx] if isinstance(idx, slice) else [names[_index(self, idx)]]:
            delattr(self, name)
        _renumber(self)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ArgumentError("Sequential: only another Sequential can be added", got=type(other).__name__)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        return self.extend(other)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before a place."""
        _insert(self, index, module)
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out."""
        found = self[key]
        del self[key]
        return found

    def forward(self, input: Any) -> Any:
        """The modules one after the other."""
        for name, module in self._modules.items():
            try:
                input = module(input)
            except OpweaveError as error:
                error.add_note(f"  in:   {type(self).__name__}[{name}], {type(module).__name__}({module.extra_repr()})")
                raise
        return input


def _renumber(owner: Any) -> None:
    held = list(owner._modules.values())
    owner.__dict__["_modules"] = {str(i): module for i, module in enumerate(held)}


def _insert(owner: Any, index: int, module: Module) -> None:
    if not isinstance(module, Module):
        raise ArgumentError("insert: expected a Module", got=type(module).__name__)
    count = len(owner)
    if not -count <= index <= count:
        raise IndexError(f"index out of range: {index}")
    held = list(owner._modules.values())
    held.insert(index, module)
    owner.__dict__["_modules"] = {str(i): each for i, each in enumerate(held)}


class ModuleList(Module):
    """Modules in a list; it has no forward of its own.

    Parameters
    ----------
    modules : iterable of Module, optional
        What is in it.

    Examples
    --------
    >>> len(opweave.nn.ModuleList([opweave.nn.ReLU(), opweave.nn.Tanh()]))
    2
    """

    _modules: dict[str, Module]  # type: ignore[assignment]  # none of them is None

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[str(_index(self, idx))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, str(_index(self, idx)), module)

    def __delitem__(self, idx: Any) -> None:
        names = list(self._modules)
        for name in names[idx] if isinstance(idx, slice) else [names[_index(self, idx)]]:
            delattr(self, name)
        _renumber(self)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def insert(self, index: int, module: Module) -> None:
        """Add a module before a place."""
        _insert(self, index, module)

    def __repr__(self) -> str:
        """As of any module, with equal neighbours in one line."""
        runs: list[tuple[int, int, str]] = []
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = runs[-1][0], i, text
            else:
                runs.append((i, i, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = [indented(f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}") for a, b, text in runs]
        body = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {body}\n)"

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        given: object = modules
        if not isinstance(given, Iterable):
            raise ArgumentError("ModuleList.extend: expected an iterable", got=type(modules).__name__)
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out."""
        found = self[key]
        del self[key]
        return found


class ModuleDict(Module):
    """Modules in a dict; it has no forward of its own.

    Parameters
    ----------
    modules : mapping, or iterable of (str, Module), optional
        What is in it.

    Examples
    --------
    >>> list(opweave.nn.ModuleDict({'first': opweave.nn.ReLU()}))
    ['first']
    """

    _modules: dict[str, Module]  # type: ignore[assignment]  # none of them is None

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take one out."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of pairs."""
        if not isinstance(modules, Iterable):
            raise ArgumentError("ModuleDict.update: expected pairs or a mapping", got=type(modules).__name__)
        pairs: Any = modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules
        for name, module in pairs:
            self[name] = module


def _kept(value: Any) -> Any:
    """Tensors become parameters."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """Parameters in a list.

    Parameters
    ----------
    values : iterable, optional
        Tensors, which become parameters, or anything else.

    Examples
    --------
    >>> len(opweave.nn.ParameterList([opweave.nn.Parameter(opweave.ones(2))]))
    1
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, str(_index(self, idx)))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(_index(self, idx)), _kept(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add one at the end."""
        place = len(self)
        self._size += 1
        self[place] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several at the end."""
        given: object = values
        if not isinstance(given, Iterable) or isinstance(given, Tensor):
            raise ArgumentError("ParameterList.extend: expected an iterable", got=type(values).__name__)
        for value in list(values):
            self.append(value)
        return self

    def pop(self, idx: int = -1) -> Any:
        """Take one out."""
        held = list(self)
        found = held.pop(idx)
        for i in range(len(self)):
            delattr(self, str(i))
        self._size = 0
        self.extend(held)
        return found

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(f"  ({i}): {_about(value)}" for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters in a dict.

    Parameters
    ----------
    parameters : mapping, or iterable of (str, Tensor), optional
        Tensors become parameters.

    Examples
    --------
    >>> list(opweave.nn.ParameterDict({'scale': opweave.nn.Parameter(opweave.ones(2))}))
    ['scale']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, key, _kept(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __or__(self, other: Any) -> ParameterDict:
        return ParameterDict({**dict(self.items()), **dict(other.items())})

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def get(self, key: str, default: Any = None) -> Any:
        """One of them, or something else where it is not there."""
        return self[key] if key in self else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """One of them, put there where it is not."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take one out."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take the last one out."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return ParameterDict(dict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another dict, with one value for all names."""
        return ParameterDict(dict.fromkeys(keys, default))

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Names and parameters."""
        return iter([(key, self[key]) for key in self._keys])

    def values(self) -> Iterator[Any]:
        """The parameters."""
        return iter([self[key] for key in self._keys])

    def update(self, parameters: Any) -> None:
        """Add those of a mapping, or of pairs."""
        if not isinstance(parameters, Iterable):
            raise ArgumentError("ParameterDict.update: expected pairs or a mapping", got=type(parameters).__name__)
        pairs: Any = parameters.items() if isinstance(parameters, (Mapping, ParameterDict)) else parameters
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(f"  ({key}): {_about(value)}" for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


def _about(value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    sort = {"float32": "FloatTensor", "float64": "DoubleTensor"}.get(value._dtype.name, value._dtype.name)
    return f"{kind} containing: [opweave.{sort} of size {'x'.join(map(str, value._sizes))}]"
