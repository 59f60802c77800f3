"""What a kernel stores, as an expression of what it loads at the same place.

    x = tl.load(x_ptr + i, i < n)                     x_ptr: f32
    y = x * scale / (1 + tl.abs(x))         ->        scale: f32
    tl.store(y_ptr + i, y, i < n)                     arith.mulf(x_ptr, scale): f32
                                                      ...

An expression is a list of steps, each a TTIR operation on one element, in the order of the kernel; the last one is what
is stored. A kernel that stores nothing but such expressions does with each element what any other kernel could do.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from opweave.registry.dataclass import dataclass
from opweave.registry.triton.access import Access, KernelAccesses
from opweave.registry.triton.masks import Fact
from opweave.registry.triton.polynomial import Opaque, Polynomial
from opweave.registry.triton.ttir import Op, Value, walk

_SPREAD = frozenset(("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.unsplat"))
"""Operations that give every lane of a number the number."""
_SILENT = frozenset(
    """tt.load tt.store tt.return tt.addptr tt.make_range tt.get_program_id tt.get_num_programs tt.splat tt.broadcast
    tt.expand_dims tt.reshape tt.unsplat tt.bitcast tt.ptr_to_int tt.int_to_ptr tt.extern_elementwise tt.clampf
    tt.precise_sqrt tt.precise_divf tt.trans tt.fp_to_fp scf.for scf.if scf.yield ub.poison""".split()
)
"""Operations besides `arith` and `math` that do nothing a caller could see, but for what they store."""
_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}


class NotAMap(Exception):
    """Why what a kernel stores is no such expression."""


@dataclass(frozen=True)
class Step:
    """An operation on one element.

    Attributes
    ----------
    name : str
        Of the operation, `"arith.addf"`; `"load"` and `"number"` of what is loaded from a pointer, or is an argument;
        `"constant"`.
    operands : tuple of int
        The steps that it takes.
    elem : str
        Type of the result as TTIR has it: without a sign.
    detail : object
        Of a load and a number the parameter's name, of a constant its value, of a comparison which one, of a function
        of a library its symbol.
    """

    name: str
    operands: tuple[int, ...]
    elem: str
    detail: object = ""


@dataclass(frozen=True)
class Expression:
    """What is stored; the last step is the value.

    Attributes
    ----------
    steps : tuple of Step
        The operations.
    single : frozenset of str
        The pointers of which one element, the first, is loaded for all lanes.
    """

    steps: tuple[Step, ...]
    single: frozenset[str] = frozenset()

    @property
    def loads(self) -> list[str]:
        """The pointers that are loaded from, in order."""
        return list(dict.fromkeys(str(s.detail) for s in self.steps if s.name == "load"))

    @property
    def numbers(self) -> list[str]:
        """The arguments that it takes as numbers, in order."""
        return list(dict.fromkeys(str(s.detail) for s in self.steps if s.name == "number"))

    def __str__(self) -> str:
        lines = []
        for i, s in enumerate(self.steps):
            told = f" {s.detail}" if s.detail != "" else ""
            lines.append(f"{i}: {s.elem} = {s.name}{told}" + (f" {list(s.operands)}" if s.operands else ""))
        return "\n".join(lines)


def stored(accesses: KernelAccesses, names: Sequence[str], store: Access) -> Expression:
    """What a store stores.

    Parameters
    ----------
    accesses : KernelAccesses
        Of the kernel, in a launch.
    names : sequence of str
        What its TTIR parameters are called.
    store : Access
        One of its stores.

    Raises
    ------
    NotAMap
        If it is more than an expression of what is loaded at the same place.
    """
    if store.via != "pointer" or accesses.function is None:
        raise NotAMap(f"it stores through a {store.via}")
    return _Reading(accesses, names, store).run()


def check_silent(accesses: KernelAccesses) -> None:
    """Whether a kernel does nothing besides what it stores.

    Raises
    ------
    NotAMap
        If it does, or may.
    """
    assert accesses.function is not None
    for op in walk(accesses.function.body):
        if op.name.startswith(("arith.", "math.")) or op.name in _SILENT:
            if op.name != "tt.extern_elementwise" or op.flag("pure"):
                continue
        raise NotAMap(f"it has a {op.name}" + (f" ({op.loc})" if op.loc else ""))


class _Reading:
    def __init__(self, accesses: KernelAccesses, names: Sequence[str], store: Access) -> None:
        self.store = store
        self.loads = {id(a.op): (p.name, a) for p in accesses.parameters for a in p.accesses if a.kind == "load"}
        assert accesses.function is not None
        self.numbers = dict(zip(map(id, accesses.function.args), names, strict=True))
        self.conditions = {*store.mask, *store.guards}
        self.mask = store.op.operands[2] if len(store.op.operands) > 2 else None
        self.single: set[str] = set()
        self.several: set[str] = set()
        self.steps: list[Step] = []
        #: Whether a step is not the same number for all lanes.
        self.varies: list[bool] = []
        self.places: dict[int, int] = {}

    def run(self) -> Expression:
        value = self.store.op.operands[1]
        waiting: list[tuple[Value, bool]] = [(value, False)]
        while waiting:
            at, ready = waiting.pop()
            if id(at) in self.places:
                continue
            parts = self._parts(at)
            if ready or not parts:
                self.places[id(at)] = self._step(at, tuple(self.places[id(p)] for p in parts))
            else:
                waiting.append((at, True))
                waiting += [(part, False) for part in reversed(parts)]
        steps, last = self.steps, self.places[id(value)]
        if last != len(steps) - 1:  # the value itself is a number that is spread
            steps = steps[: last + 1]
        for name in sorted(self.single & self.several):
            raise NotAMap(f"{name}: it is loaded at two places")
        return Expression(tuple(steps), frozenset(self.single))

    def _parts(self, value: Value) -> list[Value]:
        """The values that have to be read before."""
        op = value.op
        if value is self.mask or op is None or id(op) in self.loads or op.name == "arith.constant":
            return []
        return list(op.operands)

    def _step(self, value: Value, operands: tuple[int, ...]) -> int:
        op, elem = value.op, value.type.elem
        if value is self.mask:  # where it does not hold nothing is stored
            return self._made(Step("constant", (), "i1", True))
        if op is None:
            name = self.numbers.get(id(value))
            if name is None:
                raise NotAMap("it stores what a loop carries from turn to turn")
            if elem == "ptr":
                raise NotAMap("it stores an address")
            return self._made(Step("number", (), elem, name))
        if id(op) in self.loads:
            name = self._loaded(op)
            return self._made(Step("load", (), elem, name), name in self.several)
        if op.name == "arith.constant":
            return self._made(Step("constant", (), elem, _constant(op)))
        if op.name in _SPREAD:
            if self.varies[operands[0]]:
                raise NotAMap(f"it moves elements between lanes by {op.name}" + _at(op))
            return operands[0]
        if op.name in ("tt.make_range", "tt.get_program_id", "tt.get_num_programs"):
            raise NotAMap("it computes with its place" + _at(op))
        if len(op.results) != 1 or op.regions or not (op.name.startswith(("arith.", "math.")) or op.name in _SILENT):
            raise NotAMap(f"it stores what a {op.name} makes" + _at(op))
        return self._made(Step(op.name, operands, elem, _detail(op)))

    def _made(self, step: Step, varies: bool = False) -> int:
        self.steps.append(step)
        self.varies.append(varies or any(self.varies[i] for i in step.operands))
        return len(self.steps) - 1

    def _loaded(self, op: Op) -> str:
        """The pointer that a load loads from, where it loads what stands in the place of what is stored."""
        name, load = self.loads[id(op)]
        if load.via != "pointer" or load.volatile:
            raise NotAMap(f"{name}: it is loaded through a descriptor, or volatile" + _at(op))
        polynomial = load.offset.polynomial
        first = load.shape == () and polynomial == Polynomial()
        same = load.shape == self.store.shape and load.offset == self.store.offset
        if not (same or first) or any(isinstance(leaf, Opaque) for leaf in polynomial.leaves()):
            raise NotAMap(f"{name}: it is loaded at another place than it is stored to" + _at(op))
        conditions: set[Fact] = {*load.mask, *load.guards}
        if any(fact.relation == "?" for fact in conditions) or not conditions <= self.conditions:
            raise NotAMap(f"{name}: what is stored may be what a mask leaves out" + _at(op))
        (self.single if first and not same else self.several).add(name)
        return name


def _at(op: Op) -> str:
    return f" ({op.loc})" if op.loc else ""


def _detail(op: Op) -> str:
    """What an operation does that its name does not say."""
    if op.name in ("arith.cmpi", "arith.cmpf"):
        return op.word
    if op.name == "tt.extern_elementwise":
        return op.attr("symbol") or ""
    return (op.attr("propagateNan") or "") if op.name == "tt.clampf" else ""


def _constant(op: Op) -> object:
    """A constant's value; a floating one as its digits say, which name one number of the type."""
    text, elem = op.splat, op.result.type.elem
    if text is None:
        raise NotAMap("it stores a table" + _at(op))
    if elem == "i1":
        return text in ("true", "-1", "1")
    if elem.startswith("i"):
        return int(text, 0)
    if text.startswith("0x"):
        if elem == "bf16":
            return struct.unpack("<f", struct.pack("<I", int(text, 16) << 16))[0]
        if elem not in _FLOATS:
            raise NotAMap(f"it has a constant of type {elem}" + _at(op))
        size = struct.calcsize(_FLOATS[elem])
        return struct.unpack(_FLOATS[elem], int(text, 16).to_bytes(size, "little"))[0]
    return float(text)
