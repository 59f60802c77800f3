"""`OpOverloadPacket`: all overloads of a name, of which a call picks the first that fits its arguments."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from opweave.registry import families, older_forms, replay
from opweave.registry.argument_names import OTHER_NAMES, respell
from opweave.registry.described import Document, Signed
from opweave.registry.entry import binds, fits
from opweave.registry.errors import ArgumentError
from opweave.registry.overriding import overridden, overriding
from opweave.registry.tensor import Tensor, describe

if TYPE_CHECKING:
    from opweave.registry.op import OpOverload

#: Keywords that may have to be said in another way.
_OTHER = frozenset((*OTHER_NAMES, "out"))
#: What an object has besides its overloads.
_OWN = ("namespace", "opname")


class OpOverloadPacket(replay.Replayable):
    __doc__: Any = Document(
        """All overloads of a name; calling it picks the first whose schema fits the arguments.

    Examples
    --------
    >>> opweave.ops.aten.add.overloads()[:2]
    ['Tensor', 'out']
    """
    )
    __signature__ = Signed()

    #: What there is to call; not there while the files that declare it have not been run (see `wait`).
    _overloads: dict[str, OpOverload]

    def __init__(self, namespace: str, opname: str):
        self.namespace = namespace
        self.opname = opname
        self._overloads = {}
        self._choice: dict[Any, OpOverload] = {}
        self._text: str | None = None
        #: Overloads of a packet that waits, as far as their files have been run.
        self._declared: dict[str, OpOverload] = {}
        self.__name__ = opname
        self.__qualname__ = f"{namespace}.{opname}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if replay.calls >= 0:
            replay.count()
        try:
            return self.called(args, kwargs)
        except ArgumentError:
            others = overriding(args, kwargs)
            if not others:
                raise
        return overridden(self, others, args, kwargs)  # whose own errors have nothing to do with that one

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call, where nobody is asked about one that is not possible: for functions that stand for the op."""
        if kwargs and not _OTHER.isdisjoint(kwargs):
            kwargs = self.respelled(kwargs)
        if len(args) > 2 and self.opname in older_forms.FORMS and self.namespace == "aten":
            args, kwargs = older_forms.rewritten(self.opname, args, kwargs)
        return self.pick(args, kwargs)(*args, **kwargs)

    def respelled(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments by the names that the schemas have for them (see `registry.argument_names`).

        `out=None`, as NumPy's functions hand it on, asks for no tensor to write to. A tuple of several tensors is
        written to by the overload that has a name for each.
        """
        out = kwargs.get("out", self)
        if out is None:
            kwargs = {name: value for name, value in kwargs.items() if name != "out"}
        elif type(out) in (tuple, list) and len(out) > 1:
            for op in self._overloads.values():
                names = [a.name for a in op._schema.arguments if a.kwarg_only and a.alias is not None]
                if len(names) == len(out):
                    rest = {name: value for name, value in kwargs.items() if name != "out"}
                    kwargs = {**rest, **dict(zip(names, out, strict=True))}
                    break
        return respell(kwargs, {a.name for op in self._overloads.values() for a in op._schema.arguments})

    def pick(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        """The overload for these arguments; the choice is remembered by their types.

        Raises
        ------
        ArgumentError
            If none fits; lists the schemas.
        """
        if len(self._overloads) == 1:
            return self.first
        signature = (
            tuple([_kind_of(a) if isinstance(a, (list, tuple)) else type(a) for a in args]),
            tuple([(k, _kind_of(v)) for k, v in kwargs.items()]) if kwargs else (),
        )
        found = self._choice.get(signature)
        if found is None:
            # A 0-d tensor passes for a number, but only where no overload takes it as a tensor.
            found = next((op for exact in (True, False) for op in self._overloads.values()
                          if fits(op, args, kwargs, exact)), None)  # fmt: skip
            if found is None:
                named = [op for op in self._overloads.values() if binds(op, args, kwargs)]
                if len(named) == 1:
                    return named[0]  # which says what is wrong with the values
                given = [*map(describe, args), *(f"{key}={describe(value)}" for key, value in kwargs.items())]
                raise ArgumentError(
                    f"{self}: no overload takes these arguments", got=f"({', '.join(given)})",
                    hint="one of:\n    " + "\n    ".join(str(op._schema) for op in self._overloads.values()),
                )  # fmt: skip
            self._choice[signature] = found
        return found

    @property
    def first(self) -> OpOverload:
        """The overload that was declared first."""
        return next(iter(self._overloads.values()))

    def overloads(self) -> list[str]:
        """Names of the overloads."""
        return list(self._overloads)

    @property
    def text(self) -> str:
        """The schemas that are written out, a line each; parsing them all takes time."""
        found = self._text
        if found is None:
            sources = [op.schema_source for op in self._overloads.values()]
            found = self._text = "\n".join([source for source in sources if isinstance(source, str)])
        return found

    def wait(self, names: tuple[str, ...]) -> None:
        """Have the overloads that files of `registry/ops` declare, which are run when it is asked what there is.

        Parameters
        ----------
        names : tuple of str
            The files (see `registry.families`).
        """
        own = self.__dict__
        for name, op in own.pop("_overloads").items():
            if own.get(name) is op:
                del own[name]
            self._declared[name] = op
        self._families = names

    def _awaited(self) -> dict[str, OpOverload]:
        """The overloads of a packet that waits for files, which are run."""
        is_all = families.load(*self._families)
        own = self.__dict__
        if is_all and "_overloads" not in own:  # not while they run, and another thread may have been faster
            for op in [*self._declared.values()]:
                self._show(op)
            own["_overloads"] = self._declared
        return self._declared

    @property
    def is_waiting(self) -> bool:
        """Whether files have to be run before it is known what there is to call."""
        return "_overloads" not in self.__dict__

    def _show(self, op: OpOverload) -> None:
        """Have an overload found without `__getattr__`."""
        name = op.overload
        if not name.startswith("_") and name not in _OWN and not hasattr(OpOverloadPacket, name):
            self.__dict__[name] = op

    def add(self, op: OpOverload) -> None:
        """Make an overload known (or replace the one of the same name)."""
        if self.is_waiting:
            self._declared[op.overload] = op
            return
        self._overloads[op.overload] = op
        self._show(op)
        self._choice.clear()
        self._text = None

    def remove(self, op: OpOverload) -> None:
        """Forget an overload."""
        self._overloads.pop(op.overload, None)
        if self.__dict__.get(op.overload) is op:
            del self.__dict__[op.overload]
        self._choice.clear()
        self._text = None

    def __getattr__(self, name: str) -> OpOverload:
        if name == "_overloads" and "_families" in self.__dict__:
            return self._awaited()  # type: ignore[return-value]
        if name.startswith("__") or name in ("_overloads", "namespace"):
            raise AttributeError(name)  # asked of a half-made copy
        try:
            return self._overloads[name]
        except KeyError:
            raise AttributeError(
                f"{self.namespace}.{self.opname} has no overload {name!r}; it has {', '.join(self._overloads)}"
            ) from None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a class attribute a packet is a method."""
        return self if instance is None else _BoundPacket(self, instance)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __reduce__(self) -> tuple[object, ...]:
        return (attrgetter("packet"), (next(iter(self._overloads.values())),))  # any overload leads to it

    def __deepcopy__(self, memo: object) -> OpOverloadPacket:
        return self


class _BoundPacket:
    __doc__: Any = Document("An op's name as a method of a tensor.")
    __signature__ = Signed()
    __slots__ = ("packet", "instance")

    def __init__(self, packet: OpOverloadPacket, instance: Any):
        self.packet = packet
        self.instance = instance

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.packet(self.instance, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<bound op {self.packet} of {describe(self.instance)}>"


#: What has no kind but its type.
_NUMBERS = {bool, int, float}


def _kind_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        kinds = {*map(type, value)}
        return (list, *(kinds if kinds <= _NUMBERS else {_kind_of(item) for item in value}))
    return Tensor if isinstance(value, Tensor) else type(value)
