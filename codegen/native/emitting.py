"""A function of the runtime in LLVM IR, written in Python: whole numbers, addresses, loops and branches.

Variables are memory in the entry block, which LLVM promotes to registers, so no phi node is written here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence


class Int:
    """A whole number of 64 bits, or a truth value, in a function."""

    __slots__ = ("f", "text")

    def __init__(self, f: Function, text: str) -> None:
        self.f, self.text = f, text

    def _op(self, what: str, other: Number, *, turned: bool = False) -> Int:
        a, b = (str(other), self.text) if turned else (self.text, str(other))
        return Int(self.f, self.f.op(f"{what} i64 {a}, {b}"))

    def __add__(self, other: Number) -> Int:
        return self._op("add", other)

    def __radd__(self, other: Number) -> Int:
        return self._op("add", other)

    def __sub__(self, other: Number) -> Int:
        return self._op("sub", other)

    def __rsub__(self, other: Number) -> Int:
        return self._op("sub", other, turned=True)

    def __mul__(self, other: Number) -> Int:
        return self._op("mul", other)

    def __rmul__(self, other: Number) -> Int:
        return self._op("mul", other)

    def __floordiv__(self, other: Number) -> Int:
        """The quotient of numbers that are not negative."""
        return self._op("sdiv", other)

    def __mod__(self, other: Number) -> Int:
        """The remainder of numbers that are not negative."""
        return self._op("srem", other)

    def __and__(self, other: Number) -> Int:
        """Of whole numbers."""
        return self._op("and", other)

    def __or__(self, other: Number) -> Int:
        """Of whole numbers."""
        return self._op("or", other)

    def __lt__(self, other: Number) -> Int:
        return self._op("icmp slt", other)

    def __le__(self, other: Number) -> Int:
        return self._op("icmp sle", other)

    def __gt__(self, other: Number) -> Int:
        return self._op("icmp sgt", other)

    def __ge__(self, other: Number) -> Int:
        return self._op("icmp sge", other)

    def equals(self, other: Number) -> Int:
        """Whether both are the same."""
        return self._op("icmp eq", other)

    def both(self, other: Int) -> Int:
        """Whether two truth values hold."""
        return Int(self.f, self.f.op(f"and i1 {self.text}, {other.text}"))

    def either(self, other: Int) -> Int:
        """Whether one of two truth values holds."""
        return Int(self.f, self.f.op(f"or i1 {self.text}, {other.text}"))

    def denied(self) -> Int:
        """Whether a truth value does not hold."""
        return Int(self.f, self.f.op(f"xor i1 {self.text}, true"))

    def choose(self, yes: Number, no: Number) -> Int:
        """One of two numbers, by a truth value."""
        return Int(self.f, self.f.op(f"select i1 {self.text}, i64 {yes}, i64 {no}"))

    def least(self, other: Number) -> Int:
        """The lesser of two."""
        return Int(self.f, self.f.op(f"call i64 @llvm.smin.i64(i64 {self.text}, i64 {other})"))

    def most(self, other: Number) -> Int:
        """The greater of two."""
        return Int(self.f, self.f.op(f"call i64 @llvm.smax.i64(i64 {self.text}, i64 {other})"))

    def up(self, unit: Number) -> Int:
        """So many units hold it."""
        return (self + unit - 1) // unit

    def __str__(self) -> str:
        return self.text


Number = Int | int


class Variable:
    """A number that changes."""

    def __init__(self, f: Function, start: Number) -> None:
        self.f, self.place = f, f.room("i64")
        self.set(start)

    def set(self, value: Number) -> None:
        """Give it a value."""
        self.f.line(f"store i64 {value}, ptr {self.place}")

    @property
    def value(self) -> Int:
        """What it is now."""
        return Int(self.f, self.f.op(f"load i64, ptr {self.place}"))


class Function:
    """A function while it is written.

    Parameters
    ----------
    head : str
        What stands before its name: linkage and the type of its result.
    name : str
        Its name.
    parameters : sequence of str
        Each `type name`.
    attributes : str
        What stands behind them.
    """

    def __init__(self, head: str, name: str, parameters: Sequence[str], attributes: str = "") -> None:
        given = ", ".join(" %".join(p.rsplit(maxsplit=1)) for p in parameters)
        self.head = f"define {head} @{name}({given}) {attributes} {{"
        self.rooms: list[str] = []
        self.lines: list[str] = []
        self.count = 0

    def param(self, name: str) -> Int:
        """A parameter that is a whole number."""
        return Int(self, f"%{name}")

    def fresh(self, kind: str = "v") -> str:
        """A name."""
        self.count += 1
        return f"{kind}.{self.count}"

    def line(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}")

    def op(self, text: str) -> str:
        """The result of an instruction."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {text}")
        return name

    def room(self, kind: str) -> str:
        """Memory on the stack."""
        name = f"%{self.fresh('room')}"
        self.rooms.append(f"  {name} = alloca {kind}, align 64")
        return name

    def const(self, value: int) -> Int:
        """A whole number that is known."""
        return Int(self, str(value))

    def variable(self, start: Number) -> Variable:
        """A number that changes."""
        return Variable(self, start)

    def at(self, base: str, index: Number, kind: str = "i64") -> str:
        """The address of an element."""
        return self.op(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def load(self, base: str, index: Number) -> Int:
        """A whole number in memory."""
        return Int(self, self.op(f"load i64, ptr {self.at(base, index)}"))

    def store(self, value: Number, base: str, index: Number) -> None:
        """Put a whole number in memory."""
        self.line(f"store i64 {value}, ptr {self.at(base, index)}")

    def pointer(self, value: Int) -> str:
        """A whole number as an address."""
        return self.op(f"inttoptr i64 {value} to ptr")

    def _label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    @contextlib.contextmanager
    def loop(self, start: Number, stop: Number, step: Number = 1, *, rolled: bool = True) -> Generator[Int]:
        """Numbers from one up to another."""
        place = self.variable(start)
        head, body, out = (self.fresh(name) for name in ("head", "body", "out"))
        self.line(f"br label %{head}")
        self._label(head)
        i = place.value
        self.line(f"br i1 {i < stop}, label %{body}, label %{out}")
        self._label(body)
        yield i
        place.set(place.value + step)
        self.line(f"br label %{head}{', !llvm.loop !0' if rolled else ''}")
        self._label(out)

    @contextlib.contextmanager
    def repeat(self, condition: Variable, least: int = 1) -> Generator[None]:
        """As long as a variable is at least so much."""
        head, body, out = (self.fresh(name) for name in ("head", "body", "out"))
        self.line(f"br label %{head}")
        self._label(head)
        self.line(f"br i1 {condition.value >= least}, label %{body}, label %{out}")
        self._label(body)
        yield
        self.line(f"br label %{head}, !llvm.loop !0")
        self._label(out)

    @contextlib.contextmanager
    def when(self, condition: Int) -> Generator[None]:
        """Only where a truth value holds."""
        yes, out = self.fresh("yes"), self.fresh("out")
        self.line(f"br i1 {condition}, label %{yes}, label %{out}")
        self._label(yes)
        yield
        self.line(f"br label %{out}")
        self._label(out)

    def leave(self, condition: Int, result: str = "void") -> None:
        """Return where a truth value holds."""
        yes, no = self.fresh("yes"), self.fresh("no")
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")
        self._label(yes)
        self.line(f"ret {result}")
        self._label(no)

    def is_null(self, *pointers: str) -> Int:
        """Whether one of some addresses is nowhere."""
        found = Int(self, "false")
        for pointer in pointers:
            found = found.either(Int(self, self.op(f"icmp eq ptr {pointer}, null")))
        return found

    def end(self, result: str = "void") -> str:
        """The text of the function."""
        self.line(f"ret {result}")
        return "\n".join([self.head, "entry:", *self.rooms, *self.lines, "}"])
