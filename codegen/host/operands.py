"""What steps of a host program are about: names with types, numbers, layouts, and the kernels of launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave.codegen.attention import Attention
from opweave.codegen.loops.nest import LoopNest
from opweave.codegen.loops.schedule import Schedule
from opweave.codegen.loops.values import Buffer
from opweave.fake.symbolic import SymFloat, SymNumber
from opweave.registry.containers import is_sequence
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node


@dataclass(frozen=True)
class TensorType:
    """What is known of a tensor; its numbers are those of the trace."""

    sizes: tuple[Any, ...]
    strides: tuple[Any, ...]
    offset: Any
    dtype: DType
    device: Device

    def __str__(self) -> str:
        return f"{self.dtype.short}[{', '.join(map(str, self.sizes))}]"


@dataclass(frozen=True)
class NumberType:
    """A number: `"int"`, `"float"` or `"bool"`."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class OpaqueType:
    """What only calls and returns may take: several values, nothing, or an object."""

    text: str = "object"

    def __str__(self) -> str:
        return self.text


Type = TensorType | NumberType | OpaqueType


def type_of(value: Any) -> Type:
    """The type of a value of the trace."""
    if isinstance(value, Tensor):
        return TensorType(value._sizes, value._strides, value._offset, value._dtype, value._device)
    if isinstance(value, SymNumber):
        return NumberType(value.kind)
    if isinstance(value, (bool, int, float)):
        return NumberType(type(value).__name__)
    if is_sequence(value):
        return OpaqueType(f"({', '.join(str(type_of(item)) for item in value)})")
    return OpaqueType()


@dataclass(frozen=True, eq=False)
class Local:
    """A name of the host program, and what it stands for."""

    name: str
    type: Type

    @property
    def tensor(self) -> TensorType:
        """Its type, where it is a tensor."""
        assert isinstance(self.type, TensorType), self.name
        return self.type

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Expression:
    """A number that follows from sizes.

    Attributes
    ----------
    number : SymNumber
        What it is in the trace.
    expr : object
        The number as an expression, with what is known put in.
    reads : mapping of str to Local
        What holds each symbol in it.
    """

    number: SymNumber
    expr: Any
    reads: Mapping[str, Local]

    def __str__(self) -> str:
        text = self.number.env.python(self.expr, lambda symbol: self.reads[symbol.name].name)
        # An expression of integers computes an int, also where it is a float: `n * 2.0`.
        return f"({text}) / 1" if isinstance(self.number, SymFloat) and self.expr.is_integer else text


Number = int | float | Expression | Local


def number_in(value: Any, symbols: dict[str, Local]) -> Number:
    """A number of the trace as one of the program.

    Parameters
    ----------
    value : int, float or SymNumber
        The number.
    symbols : dict of str to Local
        What holds each symbol; gets those that are known to equal others.

    Raises
    ------
    CompileError
        If it follows from no size that is there.
    """
    if not isinstance(value, SymNumber):
        return value
    env = value.env
    expr = env.simplify(value.expr)
    for symbol in expr.free_symbols:
        if symbol.name not in symbols:
            # The trace found out that it equals others; the one that can be read may be the one that gave way.
            equal = next((s for s, e in env.replacements.items() if e == symbol and s.name in symbols), None)
            if equal is None:
                raise CompileError(
                    f"the size {value} is not a size of any tensor in the graph",
                    got=env.symbols[symbol].site.short,
                    hint="return a tensor of that size from the op that made it",
                )
            symbols[symbol.name] = symbols[equal.name]
    return Expression(value, expr, {symbol.name: symbols[symbol.name] for symbol in expr.free_symbols})


@dataclass(frozen=True)
class Address:
    """The address of a tensor's first element."""

    of: Local

    def __str__(self) -> str:
        return f"&{self.of}"


@dataclass(frozen=True)
class Layout:
    """How a tensor lies in memory, in numbers that the program knows."""

    sizes: tuple[Number, ...]
    strides: tuple[Number, ...]
    dtype: DType
    device: Device

    def __str__(self) -> str:
        return f"{self.dtype.short}{_listed(self.sizes)} strides {_listed(self.strides)} {self.device}"


@dataclass(frozen=True)
class Target:
    """A function that is called, and the name that it is known by."""

    label: str
    function: Callable[..., Any]

    def __str__(self) -> str:
        return self.label


# ---- what a launch runs --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Loops:
    """A kernel that is not printed yet.

    Attributes
    ----------
    nest, schedule : LoopNest, Schedule
        What it computes and how.
    aligned : frozenset of Buffer
        Buffers that are known to begin at multiples of 16 bytes.
    whole : bool
        Whether it computes all of its region; else others compute the rest.
    """

    nest: LoopNest
    schedule: Schedule
    aligned: frozenset[Buffer] = frozenset()
    whole: bool = True

    def __str__(self) -> str:
        return " ".join(self.nest.names)


@dataclass(frozen=True, eq=False)
class Attends:
    """A kernel of attention that is not printed yet."""

    attention: Attention

    def __str__(self) -> str:
        return "attention_backward" if self.attention.backward else "attention"


@dataclass(frozen=True, eq=False)
class GroupLoops:
    """The kernel of a group that is not printed yet; see `Group` and `print_group`."""

    nest: LoopNest
    schedule: Schedule
    shared: tuple[int, ...]

    def __str__(self) -> str:
        return " ".join([*self.nest.names, "group"])


@dataclass(frozen=True, eq=False)
class Spliced:
    """A user's kernel with a region's other ops in it, not made yet.

    Attributes
    ----------
    region : Graph
        With the launch.
    configuration : int
        Which of a tuned kernel's.
    aligned : frozenset of str
        Inputs of the region that are known to begin at multiples of 16 bytes.
    own : frozenset of int
        Results of which that is known too.
    wide : bool
        Whether offsets may not fit in 32 bits.
    operands : mapping of Node to Local
        By input of the region.
    results : mapping of int to Local
        By number.
    scratch : mapping of str to Local
        Memory that only the kernel needs, by operand of the launch.
    symbols : dict of str to Local
        What holds the symbols that numbers may depend on.
    """

    region: Graph
    configuration: int
    aligned: frozenset[str]
    own: frozenset[int]
    wide: bool
    operands: Mapping[Node, Local]
    results: Mapping[int, Local]
    scratch: Mapping[str, Local]
    symbols: dict[str, Local]

    def __str__(self) -> str:
        return " ".join(node.name for node in self.region.nodes if node.op == "call_function")


def _listed(numbers: Sequence[Number]) -> str:
    return f"[{', '.join(map(str, numbers))}]"
