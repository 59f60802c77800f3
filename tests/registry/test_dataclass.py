"""Classes whose methods are made when they are used: they are as the standard library makes them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from opweave.registry.dataclass import _Pending, dataclass

OPTIONS = (
    {}, {"frozen": True}, {"eq": False}, {"frozen": True, "eq": False}, {"order": True}, {"repr": False},
    {"slots": True}, {"frozen": True, "slots": True}, {"frozen": True, "order": True}, {"slots": True, "eq": False},
    {"init": False}, {"match_args": False}, {"frozen": True, "slots": True, "weakref_slot": True},
)  # fmt: skip


def plain(decorate: Callable[[type], type]) -> type:
    @decorate
    class Plain:
        """Has a docstring."""

        a: int
        b: str = "b"

    return Plain


def rich(decorate: Callable[[type], type]) -> type:
    @decorate
    class Rich:
        count: ClassVar[int] = 3
        a: int
        b: list[int] = field(default_factory=list)
        c: float = field(default=1.5, compare=False)
        d: str = field(default="d", repr=False, kw_only=True)
        e: tuple[int, ...] = field(default=(), hash=False)

    return Rich


def late(decorate: Callable[[type], type]) -> type:
    @decorate
    class Late:
        a: int
        double: int = field(init=False, default=0)
        made: list[int] = field(init=False, default_factory=list)

        def __post_init__(self) -> None:
            object.__setattr__(self, "double", 2 * self.a)

    return Late


def own(decorate: Callable[[type], type]) -> type:
    @decorate
    class Own:
        a: int

        def __repr__(self) -> str:
            return "mine"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    return Own


def derived(decorate: Callable[[type], type]) -> type:
    @decorate
    class Base:
        a: int
        b: int = 2

        def __post_init__(self) -> None:
            assert self.a is not None

    @decorate
    class Derived(Base):
        b: int = 3
        c: int = 4

    return Derived


def attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (TypeError, AttributeError) as error:  # a frozen object's is an AttributeError
        return type(error), str(error)


def told(cls: type, first: str) -> dict[str, Any]:
    """What can be seen of a class, some method first."""
    attempt(lambda: getattr(cls, first))
    one, same, other = (attempt(lambda value=value: cls(value)) for value in (1, 1, 2))
    if isinstance(one, tuple):
        return {"error": one}
    shown: dict[str, Any] = {
        "fields": [(f.name, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(cls)],
        "signature": str(inspect.signature(cls)),
        "arguments": getattr(cls, "__match_args__", None),
        "repr": repr(one).partition(" at 0x")[0],
        "equal": (one == same, one != other, one == "x", one == one),
        "hash": attempt(lambda: (hash(one) == hash(same), hash(one) == hash(other))),
        "order": [attempt(lambda: one < other), attempt(lambda: one >= same)],
        "assigned": attempt(lambda: setattr(one, "a", 5)),
        "another": attempt(lambda: setattr(one, "unknown", 5)),
        "deleted": attempt(lambda: delattr(copy.copy(same), "a")),
        "replaced": attempt(lambda: dataclasses.asdict(dataclasses.replace(other, a=9))),
        "missing": attempt(lambda: cls()),
        "unknown": attempt(lambda: cls(1, nothing=2)),
        "defaults": [None if hasattr(cls, "__slots__") else getattr(cls, f.name, "") for f in dataclasses.fields(cls)],
        "lists": [getattr(one, "b", None) is getattr(same, "b", None)],
        "params": cls.__dataclass_params__.frozen,
        "document": cls.__doc__ if cls.__doc__ and "docstring" in cls.__doc__ else None,
    }  # fmt: skip
    return shown


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("make", [plain, rich, late, own, derived], ids=lambda make: make.__name__)
def test_they_are_those_of_the_standard_library(make: Any, options: dict[str, Any]) -> None:
    try:
        expected = told(make(dataclasses.dataclass(**options)), "__init__")
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            told(make(dataclass(**options)), "__init__")
        return
    for first in ("__init__", "__eq__", "__repr__", "__dataclass_fields__"):
        assert told(make(dataclass(**options)), first) == expected


def test_nothing_is_made_before_it_is_used() -> None:
    cls = plain(dataclass(frozen=True))
    assert isinstance(cls.__dict__["__init__"], _Pending)
    cls(1)
    assert not isinstance(cls.__dict__["__init__"], _Pending) and isinstance(cls.__dict__["__repr__"], _Pending)


@dataclass(frozen=True)
class Kept:
    a: int
    b: tuple[int, ...] = (1,)


def test_they_are_copied_matched_and_pickled() -> None:
    kept = Kept(2)
    assert pickle.loads(pickle.dumps(kept)) == copy.deepcopy(kept) == kept
    match kept:
        case Kept(a, b):
            assert (a, b) == (2, (1,))
        case _:
            raise AssertionError(kept)


def test_threads_that_make_the_first_object_at_once() -> None:
    for _ in range(50):
        cls = derived(dataclass(frozen=True))
        start, found = threading.Barrier(4), []

        def work(cls: Any = cls, start: threading.Barrier = start, found: list[Any] = found) -> None:
            start.wait()
            found.append(repr(cls(1)))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(found)) == 1 and len(found) == 4
