"""Guards on classes: what looking a name up in a class and its bases gives, which is also that it gives nothing.

CPython numbers the states of a class: the number (`tp_version_tag`) changes whenever an attribute of the class or of a
base is assigned, added or deleted, or its bases are. So one comparison of a number tells that nothing changed, and only
where it moved are the names looked up again one by one.
"""

from __future__ import annotations

import abc
import ctypes
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opweave.registry.interrupts import let_through
from opweave.runtime.exact import scalar_token
from opweave.runtime.sources import MISSING, brief

#: Special methods that syntax and builtins look for in a class without the code naming them.
SPECIAL = frozenset(
    f"__{name}__"
    for name in (
        "del call get set delete set_name getattr getattribute setattr delattr dir class_getitem "
        "getitem setitem delitem contains len length_hint iter next reversed missing bool hash eq ne lt le gt ge repr "
        "str bytes format enter exit instancecheck subclasscheck subclasshook init_subclass prepare mro_entries "
        "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv ifloordiv mod rmod "
        "imod "
        "divmod rdivmod pow rpow ipow matmul rmatmul imatmul lshift rlshift ilshift rshift rrshift irshift and rand "
        "iand or ror ior xor rxor ixor neg pos abs invert int float complex index round trunc floor ceil copy deepcopy "
        "reduce reduce_ex getstate setstate getnewargs torch_function torch_dispatch array array_ufunc "
        "array_function array_priority match_args class fspath sizeof subclasses".split()
    )
)

#: Those that making an instance looks for.
CONSTRUCTORS = frozenset({"__new__", "__init__", "__post_init__"})
#: Those that rarely run, and are followed where they did.
RARE = frozenset(
    f"__{name}__" for name in "del repr str bytes format dir reduce reduce_ex getstate setstate copy deepcopy".split()
)


def static_lookup(kind: type, name: str) -> tuple[type | None, Any]:
    """The class of an MRO that has a name, and what it has there, without asking any descriptor."""
    for base in kind.__mro__:
        space = base.__dict__
        if name in space:
            return base, space[name]
    return None, MISSING


def _word(kind: type, offset: int) -> Any:
    """A view of four bytes of a class object."""
    return memoryview((ctypes.c_char * 4).from_address(id(kind) + offset)).cast("B").cast("I")


@functools.lru_cache(maxsize=1)
def _tag_offset() -> int | None:
    """Where in a class object its version stands; None where trying it out does not show that."""
    try:
        kinds = [type("_Probe", (), {"a": 1}), type("_Probe", (dict,), {"a": 1})]
        found: set[int] | None = None
        for kind in kinds:
            size = ctypes.sizeof(ctypes.c_void_p) * 64

            def words(kind: Any = kind, size: int = size) -> list[int]:
                kind().a  # noqa: B018 - a lookup gives a class without a version one
                return [_word(kind, at)[0] for at in range(0, size, 4)]

            states = [words()]
            for i in range(3):
                setattr(kind, f"b{i}", i)
                states.append(words())
            steady = words() == states[-1]
            rising = {4 * i for i, column in enumerate(zip(*states, strict=True)) if _rises(column)}
            found = rising if found is None else found & rising
            if not steady:
                return None
        assert found is not None
        return found.pop() if len(found) == 1 else None
    except Exception as error:  # another interpreter, or another layout: names are then looked up at each call
        let_through(error)
        return None


def _rises(column: tuple[int, ...]) -> bool:
    return all(0 < one < other < one + 64 for one, other in itertools.pairwise(column))


class ClassFacts:
    """What names give in a class, at the time it was compiled for.

    Parameters
    ----------
    kind : type
        The class.
    names : iterable of str
        Those that the code may look up.
    stateful : callable
        ``attribute -> bool``: whether a guard of its own compares this one, so that only its place is compared here.
    closed : bool
        Whether it must have the very names that it has: the code may compute names.
    deep : bool
        Whether the code looks up names behind a class that has them, by `super`.

    Attributes
    ----------
    found : list of (str, type, object)
        Name, class that has it, what it has there.
    """

    def __init__(
        self,
        kind: type,
        names: Iterable[str],
        stateful: Callable[[Any], bool],
        *,
        closed: bool = False,
        deep: bool = False,
    ) -> None:
        self.kind = kind
        self.mro = kind.__mro__
        self.names = sorted(names)
        self._deep = deep
        self._stateful = stateful
        self.found = list(self._lookups())
        self._all = _all_names(kind) if closed else None
        offset = _tag_offset()
        self.tag: Any = [0] if offset is None else _word(kind, offset)
        #: What holds of its bases besides, whose changes move its version, too.
        self.below: list[ClassFacts] = []
        #: The version at which all this was last found to hold.
        self.known = [self.tag[0] or -1]

    def _lookups(self) -> Iterator[tuple[str, type, Any]]:
        for name in self.names:
            for base in self.kind.__mro__:
                space = base.__dict__
                if name in space and (name != "__annotations__" or space[name]):  # reading gives a class empty ones
                    yield name, base, space[name]
                    if not self._deep:
                        break

    @property
    def closed_names(self) -> tuple[tuple[str, ...], ...] | None:
        """All names of the class and its bases, where the code may compute names."""
        return self._all

    def is_guarded(self, attribute: Any) -> bool:
        """Whether a guard of its own compares an attribute."""
        return attribute is not MISSING and self._stateful(attribute)

    def holds(self) -> bool:
        """Look the names up again, after the class changed in some way."""
        tag = self.tag[0]
        if self.difference() is not None:
            return False
        self.known[0] = tag or -1
        return True

    def difference(self) -> str | None:
        """The first name that gives something else, in words; None if there is none."""
        kind = self.kind
        if len(kind.__mro__) != len(self.mro) or any(a is not b for a, b in zip(kind.__mro__, self.mro, strict=True)):
            return f"bases of {kind.__name__} changed"
        if self._all is not None and self._all != _all_names(kind):
            return f"attributes of {kind.__name__} changed"
        old = {(name, base): value for name, base, value in self.found}
        now = {(name, base): value for name, base, value in self._lookups()}
        for key in [*now, *old]:
            before, after = old.get(key, MISSING), now.get(key, MISSING)
            if not self._same(before, after):
                return f"{key[1].__name__}.{key[0]} {brief(before)} → {brief(after)}"
        return next((text for facts in self.below if (text := facts.difference()) is not None), None)

    def _same(self, before: Any, after: Any) -> bool:
        if before is after:
            return True
        if before is MISSING or after is MISSING:
            return False
        if self._stateful(before):
            return True  # its own guard looks at what is there now
        token = scalar_token(before)
        return token is not None and token == scalar_token(after)


class OwnFacts(ClassFacts):
    """Of a class of this library's, which a text tells by its name where nobody replaced anything in it."""


def _all_names(kind: type) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(name for name in base.__dict__ if name != "__annotations__") for base in kind.__mro__)


class Registered:
    """Which classes count as subclasses of an abstract one by `register`.

    Attributes
    ----------
    known : list of int
        The count of all registrations at which that was last looked at.
    """

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.known = [abc.get_cache_token()]
        self.classes = _registered(kind)

    def holds(self) -> bool:
        """Look again, after something was registered somewhere."""
        token = abc.get_cache_token()
        if _registered(self.kind) != self.classes:
            return False
        self.known[0] = token
        return True


def _registered(kind: type) -> list[tuple[type, frozenset[Any]]]:
    found, todo = [], [kind]
    while todo:
        each = todo.pop()
        registry = _own_registry(each) if isinstance(each, abc.ABCMeta) else None
        if registry:
            found.append((each, registry))
        todo += type.__subclasses__(each)
    return found


def _own_registry(kind: type) -> frozenset[Any]:
    dump = getattr(abc, "_get_dump", None)
    if dump is None:  # the pure Python implementation
        return frozenset(vars(kind).get("_abc_registry", ()))
    return frozenset(dump(kind)[0])
