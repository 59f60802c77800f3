"""Results that have names: `x.max(1).values`.

Ops give plain tuples, as in PyTorch; functions of the package and methods of `Tensor` give these. There is a class for
each op whose schema names its results, `opweave.return_types.max`.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from opweave.registry.errors import ArgumentError
from opweave.registry.overriding import called_by_function
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.tensor import describe


class _Classes(Mapping[str, Any]):
    """The classes by the name of the op, each made when it is first asked for."""

    def __init__(self) -> None:
        self.packets: dict[str, OpOverloadPacket] = {}
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        found = self._made.get(name)
        if found is None:
            kind = namedtuple(name, names(self.packets[name]), module=__name__)  # pyright: ignore[reportUntypedNamedTuple]
            kind.__repr__ = _text
            found = self._made.setdefault(name, kind)  # another thread may have been faster
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.packets)

    def __len__(self) -> int:
        return len(self.packets)


classes = _Classes()


def _text(self: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"opweave.return_types.{type(self).__name__}(\n{fields})"


def names(packet: OpOverloadPacket) -> tuple[str, ...]:
    """What the results of an op are called, by the first overload that says so; empty where none does."""
    for text in packet.text.splitlines():
        if text.endswith(")") and ") -> (" in text:
            parts = [part.strip().rpartition(" ") for part in text[text.rindex(") -> (") + 6 : -1].split(",")]
            if len(parts) > 1 and all(kind and name.isidentifier() for kind, _, name in parts):
                return tuple(name for _, _, name in parts)
    return ()


def named(packet: OpOverloadPacket) -> Callable[..., Any]:
    """The op, whose results have names, as a function that gives them so."""
    name = packet.opname
    classes.packets.setdefault(name, packet)

    def function(*args: Any, **kwargs: Any) -> Any:
        if type(kwargs.get("out")) in (tuple, list):
            kwargs.update(_by_name(packet, kwargs.pop("out")))
        elif len(args) > 1 and type(args[1]) in (int, bool, str) and kwargs.get("out") is not None:
            # By position that is no operand of an overload with one result, which takes a tensor.
            raise ArgumentError(f"{packet}: out= must be {len(names(packet))} tensors", got=describe(kwargs["out"]))
        found, is_whole = called_by_function(packet, args, kwargs)
        if is_whole:
            return found
        if type(found) not in (tuple, list):
            return found
        return classes[name]._make([tuple(part) if type(part) is list else part for part in found])

    function.__name__ = function.__qualname__ = name
    function.op_packet = packet  # type: ignore[attr-defined]  # its signature and its docstring follow from it
    return function


def _by_name(packet: OpOverloadPacket, out: Sequence[Any]) -> dict[str, Any]:
    """The tensors of `out=(values, indices)` by the names that the op's variant has for them."""
    declared = (getattr(getattr(packet, name).decl, "targets", ()) for name in packet.overloads())
    targets = next((names for names in declared if len(names) == len(out)), None)
    if targets is None:
        raise ArgumentError(f"{packet}: out= is not as many tensors", got=f"{len(out)} tensors")
    return dict(zip(targets, out, strict=True))


def __getattr__(name: str) -> type[Any]:
    if name in classes:
        return classes[name]
    raise AttributeError(f"no op {name!r} names its results")


def __dir__() -> list[str]:
    return sorted(classes)
