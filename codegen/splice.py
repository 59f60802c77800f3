"""Puts block functions into a kernel's TTIR, in the place of its loads and stores.

    %x_11 = tt.load %x_10, %live_9 : tensor<64x!tt.ptr<f32>>

    %s0 = ...                                                                   the index of each element
    %x_11 = tt.call @before_x(%s0, %live_9, %p0) : (...) -> tensor<64xf32>

The text is edited, not Python's: helper functions, loops, block pointers and what `constexpr` chooses are seen through.
Triton reads the result, inlines the functions and checks it, so that an edit which is wrong is an error.

The index of an element is read from the address where `registry.triton.known.digits` can take it apart; else it is
divided out of the distance from the parameter, which works for any address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field

from opweave.registry.dataclass import dataclass
from opweave.registry.errors import Site
from opweave.registry.triton.access import Access
from opweave.registry.triton.known import digits
from opweave.registry.triton.polynomial import (
    Counter,
    Extreme,
    Known,
    Leaf,
    Opaque,
    Polynomial,
    Program,
    Programs,
    Quotient,
    Range,
    Remainder,
    is_natural,
)
from opweave.registry.triton.ttir import Parameter, Type, Value, parameters_of


class Unwritten(Exception):
    """A polynomial that cannot be computed where it is asked for."""


_HEAD = re.compile(r"^( *tt\.func public @\S+?)\((.*)\)( attributes \{.*\})? \{(?: loc\(.*\))?$", re.M)


def _head(text: str) -> re.Match[str]:
    """The header of the kernel."""
    head = _HEAD.search(text)
    assert head is not None
    return head


def kernel_parameters(text: str) -> list[Parameter]:
    """The kernel's parameters."""
    return parameters_of(_head(text)[2])


def with_parameters(text: str, parameters: Sequence[Parameter]) -> str:
    """The text with other parameters of the kernel."""
    head = _head(text)
    made = f"{head.group(1)}({', '.join(map(str, parameters))}){head.group(3) or ''} {{"
    return text[: head.start()] + made + text[head.end() :]


def without_unused(text: str) -> tuple[str, list[int]]:
    """The text without parameters that nothing uses, and the places of those that are left."""
    head, parameters = _head(text), kernel_parameters(text)
    rest = text[head.end() :]
    used = set(re.findall(r"%[\w$.\-]+", rest))
    kept = [k for k, parameter in enumerate(parameters) if parameter.name in used]
    return with_parameters(text, [parameters[k] for k in kept]), kept


def without_places(text: str) -> str:
    """The text without what it says of source files."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(_PLACE.sub("", line) for line in lines)


_PLACE = re.compile(r' loc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)')


# ---- modules ---------------------------------------------------------------------------------------------------------


@dataclass
class Functions:
    """Private functions of a module, ready to be put into another one.

    Attributes
    ----------
    name : str
        Of the one that is called.
    text : str
        All of them.
    first, last : str
        What their locations stand for, as far as that has to be said before, and the others.
    """

    name: str
    text: str
    first: str
    last: str

    @staticmethod
    def of(module: str, mark: str, file: str, sites: dict[int, Site]) -> Functions:
        """The functions that a module's kernel calls.

        Parameters
        ----------
        module : str
            A module whose kernel calls one function.
        mark : str
            What their names and those of their locations get, to tell them from others.
        file : str
            The source file that the locations name.
        sites : dict of int to Site
            What they are to name instead, by lines.
        """
        call = re.search(r"tt\.call @(\"[^\"]*\"|[\w.$]+)", module[module.index("tt.func public") :])
        assert call is not None
        names = re.findall(r"tt\.func private @(\"[^\"]*\"|[\w.$]+)", module)
        text = re.sub(r"#loc(\d*)", rf"#{mark}loc\1", module)
        for name in names:
            plain = name.strip('"')
            text = re.sub(rf"@{re.escape(name)}(?=\()", f'@"{mark}{plain}"', text)
        functions: list[str] = []
        current: list[str] | None = None
        for line in text.splitlines():
            if line.startswith("  tt.func private"):
                current = []
            if current is not None:
                current.append(line)
                if line.startswith("  }"):
                    functions += current
                    current = None

        def place(m: re.Match[str]) -> str:
            site = sites.get(int(m.group(1)))
            return f"{_quoted(site.file)}:{site.line}:0" if site is not None else m.group(0)

        text = re.sub(rf"{re.escape(_quoted(file))}:(\d+):\d+", place, text)
        head, tail = text.split("module {", 1)
        first, last = ([line for line in part.splitlines() if line.startswith("#")] for part in (head, tail))
        called = call.group(1).strip('"')
        return Functions(f'"{mark}{called}"', "\n".join(functions), "\n".join(first), "\n".join(last))


def _quoted(file: str) -> str:
    return '"' + file.replace("\\", "\\\\").replace('"', '\\"') + '"'


def with_functions(text: str, found: Sequence[Functions]) -> str:
    """A module with more functions in it."""
    lines = text.splitlines()
    end = max(k for k, line in enumerate(lines) if line.startswith("}"))
    before, after = lines[:end], lines[end:]
    more = [line for functions in found for line in functions.text.splitlines()]
    first, last = [functions.first for functions in found], [functions.last for functions in found]
    return "\n".join([*first, *before, *more, *after, *last, ""])


# ---- indices ---------------------------------------------------------------------------------------------------------


@dataclass
class Code:
    """Lines of TTIR that compute with blocks of one shape.

    Attributes
    ----------
    elem : str
        Type of the integers.
    shape : tuple of int or None
        Of the blocks; None where the kernel works on scalars.
    location : str
        What stands behind each line.
    fresh : callable
        Gives a new name.
    numbers : callable
        The parameter that holds a `Known` number.
    widest : int
        Bits of the widest type that the kernel adds and multiplies in.
    """

    elem: str
    shape: tuple[int, ...] | None
    location: str
    fresh: Callable[[], str]
    numbers: Callable[[Known], Value]
    widest: int = 64
    lines: list[str] = field(default_factory=list[str])

    def add(self, text: str, type_: Type) -> Value:
        value = Value(self.fresh(), type_)
        self.lines.append(f"{value.name} = {text}{self.location}")
        return value

    def constant(self, number: int) -> Value:
        if number.bit_length() >= int(self.elem[1:]):
            raise Unwritten(f"{number} is no {self.elem}")
        return self.add(f"arith.constant {number} : {self.elem}", Type(self.elem))

    def cast(self, v: Value) -> Value:
        """As integers of the code's type."""
        old = v.type.elem
        if old == self.elem:
            return v
        type_ = Type(self.elem, v.type.shape)
        if old == "index":
            return self.add(f"arith.index_cast {v.name} : {v.type} to {type_}", type_)
        wider = int(old[1:]) < int(self.elem[1:])
        op = "arith.trunci" if not wider else "arith.extui" if old == "i1" else "arith.extsi"
        return self.add(f"{op} {v.name} : {v.type} to {type_}", type_)

    def block(self, v: Value) -> Value:
        """Of the code's shape."""
        if v.type.shape == self.shape:
            return v
        type_ = Type(v.type.elem, self.shape, v.type.pointee)
        op = "tt.broadcast" if v.type.is_tensor else "tt.splat"
        return self.add(f"{op} {v.name} : {v.type} -> {type_}", type_)

    def binary(self, op: str, a: Value, b: Value) -> Value:
        if a.type.shape != b.type.shape:
            a, b = self.block(a), self.block(b)
        return self.add(f"arith.{op} {a.name}, {b.name} : {a.type}", a.type)

    def along(self, v: Value, dims: Sequence[int]) -> Value:
        """A block whose dimensions are some of the code's."""
        rank = len(self.shape or ())
        if list(dims) != sorted(dims) or len(set(dims)) != len(dims):
            raise Unwritten("dimensions in another order")
        for d in range(rank):
            if d not in dims:
                shape = (*v.type.dims[:d], 1, *v.type.dims[d:])
                type_ = Type(v.type.elem, shape)
                v = self.add(f"tt.expand_dims {v.name} {{axis = {d} : i32}} : {v.type} -> {type_}", type_)
        return v

    def polynomial(self, p: Polynomial) -> Value:
        """Its value: a scalar, or a block that broadcasts to the code's shape."""
        total: Value | None = None
        for product, c in p.terms:
            term: Value | None = None
            for leaf in product:
                value, c = self._leaf(leaf, c)
                term = value if term is None else self.binary("muli", term, value)
            if term is None:
                term = self.constant(c)
            elif c != 1:
                term = self.binary("muli", term, self.constant(c))
            total = term if total is None else self.binary("addi", total, term)
        return total if total is not None else self.constant(0)

    def _leaf(self, leaf: Leaf, c: int) -> tuple[Value, int]:
        """A leaf's value, and what is left of the coefficient."""
        if isinstance(leaf, Counter):
            return self._turn(leaf, c)
        return self.cast(self._value(leaf)), c

    def _value(self, leaf: Leaf) -> Value:
        if isinstance(leaf, (Program, Programs)):
            op = "tt.get_program_id" if isinstance(leaf, Program) else "tt.get_num_programs"
            return self.add(f"{op} {'xyz'[leaf.axis]} : i32", Type("i32"))
        if isinstance(leaf, Range):
            type_ = Type("i32", (leaf.extent,))
            lanes = self.add(f"tt.make_range {{end = {leaf.extent} : i32, start = 0 : i32}} : {type_}", type_)
            return self.along(lanes, (leaf.dim,))
        if isinstance(leaf, Known):
            return self.numbers(leaf)
        if isinstance(leaf, Opaque) and not leaf.part and re.fullmatch(r"i\d+", leaf.value.type.elem):
            return self.along(leaf.value, leaf.along) if leaf.value.type.is_tensor else leaf.value
        if isinstance(leaf, (Quotient, Remainder, Extreme)):
            if not all(map(self._fits, leaf.parts())):
                raise Unwritten(f"{leaf} is of more than {self.elem}")
            op = f"{leaf.kind}si" if isinstance(leaf, Extreme) else self._division(leaf)
            first, second = map(self.polynomial, leaf.parts())
            return self.binary(op, first, second)
        raise Unwritten(f"{leaf} is not at hand")

    def _fits(self, p: Polynomial) -> bool:
        """Whether a part of a leaf comes out here as it does in the kernel: a sum or product that wraps need not."""
        low, high = p.bounds
        bits = int(self.elem[1:])
        if low is None or high is None:
            return self.widest <= bits
        return max(low.bit_length(), high.bit_length()) < bits

    def _division(self, leaf: Quotient | Remainder) -> str:
        if leaf.down and not all(map(is_natural, leaf.parts())):
            raise Unwritten(f"{leaf} may round down a negative number")
        return "divsi" if isinstance(leaf, Quotient) else "remsi"

    def _turn(self, leaf: Counter, c: int) -> tuple[Value, int]:
        """How often a loop has gone round: from its variable."""
        loop = leaf.loop
        if loop.kind != "for":
            raise Unwritten(f"{leaf} of a while loop")
        variable = loop.op.regions[0][0].args[0]
        gone = self.binary("subi", self.cast(variable), self.cast(loop.op.operands[0]))
        step = loop.step.constant if loop.step is not None else None
        if step and c % step == 0:
            return gone, c // step
        return self.binary("divsi", gone, self.cast(loop.op.operands[2])), c

    def index(
        self,
        access: Access,
        pointer: Value,
        base: Value,
        sizes: Sequence[Polynomial],
        strides: Sequence[Polynomial],
        nbytes: int,
    ) -> list[Value]:
        """The place of each element that is accessed in a dense tensor, and its index along each dimension.

        Parameters
        ----------
        access : Access
            The load or store, its numbers those of the launch.
        pointer, base : Value
            What it goes through, and the parameter.
        sizes, strides : sequence of Polynomial
            The tensor's, outermost first.
        nbytes : int
            Size of an element.
        """
        before = len(self.lines)
        try:
            place = self.block(self.polynomial(access.offset.polynomial))
            found = digits(access.offset.polynomial, sizes, strides, access.mask)
            if len(sizes) > 1 and found is not None:
                return [place, *(self.block(self.polynomial(p)) for p in found)]
        except Unwritten:
            del self.lines[before:]
            place = self._distance(pointer, base, nbytes)
        result = [place]
        if len(sizes) == 1:
            return result
        for k, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
            at = place
            if stride.constant != 1:
                at = self.binary("divsi", at, self.polynomial(stride))
            if k:
                at = self.binary("remsi", at, self.polynomial(size))
            result.append(at)
        return result

    def _distance(self, pointer: Value, base: Value, nbytes: int) -> Value:
        """How many elements lie between a parameter and an address."""
        wide = Type("i64", pointer.type.shape)
        there = self.add(f"tt.ptr_to_int {pointer.name} : {pointer.type} -> {wide}", wide)
        here = self.add(f"tt.ptr_to_int {base.name} : {base.type} -> i64", Type("i64"))
        if wide.is_tensor:
            here = self.block(here)
        between = self.add(f"arith.subi {there.name}, {here.name} : {wide}", wide)
        size = self.add(f"arith.constant {nbytes} : i64", Type("i64"))
        if wide.is_tensor:
            size = self.block(size)
        count = self.add(f"arith.divsi {between.name}, {size.name} : {wide}", wide)
        return self.cast(count)
