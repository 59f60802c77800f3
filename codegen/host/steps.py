"""Steps of a host program: what a compiled graph does on the host at each call.

Everything is data: operands are `Local`s, numbers that are not fixed are `Expression`s of symbols that `Read` steps
bind, what is called is a `Target`. A printer needs to decide nothing, and knows no graph.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

from opweave.codegen.host.operands import (
    Address,
    Attends,
    Expression,
    GroupLoops,
    Layout,
    Local,
    Loops,
    Number,
    Spliced,
    Target,
    TensorType,
)
from opweave.codegen.kernel import KernelSource
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.registry.errors import Site
from opweave.tracer.operands import ImmutableDict, ImmutableList


@dataclass(frozen=True, eq=False)
class Origin:
    """The node of the graph that a step comes from."""

    name: str
    site: Site | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """Something that happens at each call. What is called `result` or `results` is defined by it."""

    origin: Origin

    @property
    def defines(self) -> tuple[Local, ...]:
        """New names."""
        result = getattr(self, "result", None)
        return getattr(self, "results", ()) if result is None else (result,)

    @functools.cached_property
    def uses(self) -> tuple[Local, ...]:
        """Names that must be known by now, those in expressions included; some may come twice."""
        found: list[Local] = []
        for name in _operand_fields(type(self)):
            _collect(getattr(self, name), found)
        return tuple(found)

    @property
    def writes(self) -> tuple[Local, ...]:
        """Tensors whose memory is written."""
        return ()


@dataclass(frozen=True, eq=False)
class Constant(Step):
    """A tensor that belongs to the graph."""

    result: Local
    attribute: str


@dataclass(frozen=True, eq=False)
class Read(Step):
    """A symbol gets its value from what is there: a number, or a size, stride or offset of a tensor.

    Attributes
    ----------
    result : Local
        Holds the symbol.
    of : Local
        The number, the tensor, or what has the tensor as its `item`.
    what : {"number", "size", "stride", "offset"}
        What of it.
    dim : int
        Of a size or stride.
    item : int or None
        Of several results, which.
    promise : Promise or None
        The range that the size must lie in; the code relies on it.
    """

    result: Local
    of: Local
    what: str
    dim: int = 0
    item: int | None = None
    promise: Promise | None = None


@dataclass(frozen=True)
class Promise:
    """The least and largest value of a size, as an op's fake rule gave them; `high` is None where there is none."""

    low: int
    high: int | None
    label: str


@dataclass(frozen=True, eq=False)
class Alloc(Step):
    """New memory with nothing in it."""

    result: Local
    layout: Layout


@dataclass(frozen=True, eq=False)
class View(Step):
    """A tensor's memory with other sizes and strides.

    Attributes
    ----------
    result, base : Local
        The view, and what it looks into.
    sizes, strides : tuple of Number
        Its own.
    shift : Number
        How many elements it begins behind its base.
    tracked : bool
        Whether it counts as a view for autograd; else it is another tensor of the same memory.
    """

    result: Local
    base: Local
    sizes: tuple[Number, ...]
    strides: tuple[Number, ...]
    shift: Number
    tracked: bool


@dataclass(frozen=True, eq=False)
class Copy(Step):
    """A tensor's contents are put into another."""

    to: Local
    of: Local

    @property
    def writes(self) -> tuple[Local, ...]:
        return (self.to,)


@dataclass(frozen=True, eq=False)
class Move(Step):
    """A tensor goes on under another name."""

    result: Local
    of: Local


@dataclass(frozen=True, eq=False)
class Align(Step):
    """A tensor whose address is a multiple of 16 bytes: the one given, or a copy."""

    result: Local
    of: Local


@dataclass(frozen=True, eq=False)
class Cell(Step):
    """Where kernels report failed checks."""

    result: Local
    device: Device


@dataclass(frozen=True, eq=False)
class Launch(Step):
    """A kernel runs.

    Attributes
    ----------
    kernel : Loops, Spliced, Attends or KernelSource
        What; a `KernelSource` once it is made.
    grid : tuple of Number
        Programs in each dimension.
    inputs, outputs : tuple of Local
        Tensors that it reads, and those that it writes; of loops in the order of its nest.
    arguments : tuple of Address or Number
        What the kernel is given. Of a spliced one it is not known before it is made.
    """

    kernel: Loops | Spliced | Attends | KernelSource
    grid: tuple[Number, ...]
    inputs: tuple[Local, ...]
    outputs: tuple[Local, ...]
    arguments: tuple[Address | Number, ...]

    @property
    def writes(self) -> tuple[Local, ...]:
        return self.outputs


@dataclass(frozen=True, eq=False)
class Group(Step):
    """Many kernels of one form run in one launch, over tables (`codegen.groups`).

    Attributes
    ----------
    kernel : GroupLoops or KernelSource
        For any of its members.
    result : Local
        The table of addresses, made at each call.
    tables : str
        Name of the tables that follow from the sizes, made once.
    sizes : tuple of int
        Elements of each member.
    block : int
        Elements of a program.
    device : Device
        Where it runs.
    rows : tuple of tuple of Local
        By buffer and member, the tensors that differ.
    shared : tuple of Local
        Those that all members read.
    outputs : tuple of Local
        What is written.
    """

    kernel: GroupLoops | KernelSource
    result: Local
    tables: str
    sizes: tuple[int, ...]
    block: int
    device: Device
    rows: tuple[tuple[Local, ...], ...]
    shared: tuple[Local, ...]
    outputs: tuple[Local, ...]

    @property
    def programs(self) -> int:
        """How many run."""
        return sum(-(-size // self.block) for size in self.sizes)

    @property
    def writes(self) -> tuple[Local, ...]:
        return self.outputs


@dataclass(frozen=True)
class Epilogue:
    """A kernel that follows a product slab by slab.

    Attributes
    ----------
    elements, programs : int
        So many programs in a row read so many elements of the product in a row, and no others; 0 where there is one
        program.
    launch : Launch
        The kernel.
    """

    elements: int
    programs: int
    launch: Launch


@dataclass(frozen=True, eq=False)
class Product(Step):
    """A matrix product, or a batch of them, is written to memory (`codegen.blas`).

    With `factors` of it and of the `term` that is added, by `codegen.narrow_products`. `host.packing` has `packed`.
    """

    out: Local
    a: Local
    b: Local
    epilogue: Epilogue | None = None
    term: Local | None = None
    factors: tuple[float, float] | None = None
    packed: Local | None = None

    @property
    def operands(self) -> tuple[Local, ...]:
        """What is multiplied, and what is added."""
        return (self.a, self.b) if self.term is None else (self.a, self.b, self.term)

    @property
    def writes(self) -> tuple[Local, ...]:
        made = (self.out,) if self.packed is None else (self.out, self.packed)
        return made if self.epilogue is None else (*made, *self.epilogue.launch.outputs)


@dataclass(frozen=True, eq=False)
class Convolve(Step):
    """A convolution or one of its adjoints is written to memory (`codegen.convolution`).

    Attributes
    ----------
    form : str
        Which; `a`, `b` and `bias` are its operands (`convolution.words_of`).
    groups : int
        Of channels.
    steps : tuple of tuple of int
        Stride, padding and dilation, by spatial dimension.
    """

    out: Local
    form: str
    a: Local
    b: Local
    bias: Local | None
    groups: int
    steps: tuple[tuple[int, ...], ...]

    @property
    def operands(self) -> tuple[Local, ...]:
        """What it reads."""
        return (self.a, self.b) if self.bias is None else (self.a, self.b, self.bias)

    @property
    def writes(self) -> tuple[Local, ...]:
        return (self.out,)


@dataclass(frozen=True, eq=False)
class Call(Step):
    """A function is called with operands as the graph has them; a `Program` among them is handed on as a function."""

    result: Local
    target: Target | Local
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class NativeCall(Step):
    """A kernel of a library runs without Python (`registry.native_kernel`); its results are memory that is there.

    Attributes
    ----------
    target : Target
        The op.
    args : tuple of operands
        All of its arguments, in the order of the schema.
    results : tuple of Local
        What it makes.
    changed : tuple of Local
        Arguments that it writes.
    label : str
        The op, for messages.
    """

    target: Target
    args: tuple[Any, ...]
    results: tuple[Local, ...]
    changed: tuple[Local, ...]
    label: str

    @property
    def defines(self) -> tuple[Local, ...]:
        return ()

    @functools.cached_property
    def uses(self) -> tuple[Local, ...]:
        return (*locals_in(self.args), *self.results)

    @property
    def writes(self) -> tuple[Local, ...]:
        return (*self.results, *self.changed)

    @property
    def tensors(self) -> tuple[Local, ...]:
        """The tensors that it is given."""
        return tuple([value for value in self.args if isinstance(value, Local) and isinstance(value.type, TensorType)])


@dataclass(frozen=True, eq=False)
class Item(Step):
    """One of several values."""

    result: Local
    of: Local
    key: Any


@dataclass(frozen=True, eq=False)
class Count(Step):
    """What an opaque op returned must be so many tensors."""

    of: Local
    number: int
    label: str


@dataclass(frozen=True, eq=False)
class Conform(Step):
    """What came from outside gets the layout that compiled code relies on; wrong sizes, dtypes, devices are errors.

    Attributes
    ----------
    of : Local
        A tensor, or as many as there are layouts.
    layouts : Layout or tuple of Layout
        What it must be.
    label : str
        The op that it came from.
    """

    of: Local
    layouts: Layout | tuple[Layout, ...]
    label: str


@dataclass(frozen=True, eq=False)
class Check(Step):
    """What kernels reported is raised.

    Attributes
    ----------
    cell : Local
        Where they did.
    checks : tuple of (str, Site or None)
        By number what to say, of which line.
    """

    cell: Local
    checks: tuple[tuple[str, Site | None], ...]


@dataclass(frozen=True, eq=False)
class Bump(Step):
    """Autograd is told that tensors were written."""

    locals: tuple[Local, ...]


@dataclass(frozen=True)
class Choice:
    """A configuration of a tuned launch: its number, what the user calls it, and a program that runs it."""

    number: int
    label: str
    program: Program


@dataclass(frozen=True, eq=False)
class Tuned(Step):
    """The fastest of several kernels that compute the same (`codegen.tuning`).

    Attributes
    ----------
    results : tuple of Local
        What the choices return.
    name : str
        Of the object that chooses.
    kernel_idx, form_idx : int
        The user's kernel and the form of its launch.
    choices : tuple of Choice
        What there is to choose from.
    unfused : Program
        The same without fusion.
    written : tuple of int
        Which operands are changed in place.
    key : tuple of operands
        Numbers that the choice depends on.
    operands : tuple of Local
        What the choices are given.
    digest : str
        What tells the kernels from others; known once they are made.
    """

    results: tuple[Local, ...]
    name: str
    kernel_idx: int
    form_idx: int
    choices: tuple[Choice, ...]
    unfused: Program
    written: tuple[int, ...]
    key: tuple[Any, ...]
    operands: tuple[Local, ...]
    digest: str = ""

    @property
    def writes(self) -> tuple[Local, ...]:
        return (*self.results, *(self.operands[i] for i in self.written))


@dataclass(frozen=True, eq=False)
class Free(Step):
    """Names that nothing needs any more."""

    locals: tuple[Local, ...]


@dataclass(frozen=True, eq=False)
class Return(Step):
    """The end: operands as the graph returns them."""

    value: Any


# ---- programs ------------------------------------------------------------------------------------------------------


@dataclass
class Names:
    """The names of a program and all functions in it."""

    taken: set[str]

    def fresh(self, wanted: str) -> str:
        """A name that nothing else has."""
        while wanted in self.taken:
            wanted += "_"
        self.taken.add(wanted)
        return wanted


@dataclass(frozen=True, eq=False)
class Program:
    """A function of the host.

    Attributes
    ----------
    name : str
        Of the function.
    inputs : tuple of Local
        Its parameters.
    steps : tuple of Step
        What it does, a `Return` at last.
    names : Names
        Those in use.
    defaults : mapping of Local to Target
        Further parameters that need not be given.
    captured : tuple of Local
        What it sees of the function that it stands in; where there is nothing, it stands by itself.
    kernels : tuple of KernelSource
        What is launched, once they are made; of the outermost program.
    symbols : mapping of str to Local
        What holds each symbol of its sizes.
    """

    name: str
    inputs: tuple[Local, ...]
    steps: tuple[Step, ...]
    names: Names
    defaults: Mapping[Local, Target] = field(default_factory=dict[Local, Target])
    captured: tuple[Local, ...] = ()
    kernels: tuple[KernelSource, ...] = ()
    symbols: Mapping[str, Local] = field(default_factory=dict[str, Local])

    def units(self) -> list[list[Step]]:
        """The steps by the node that they come from."""
        return [list(steps) for _, steps in itertools.groupby(self.steps, lambda step: step.origin)]


def locals_in(value: Any) -> list[Local]:
    """The names in operands."""
    found: list[Local] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[Local]) -> None:
    kind = value.__class__
    if kind is Local:
        found.append(value)
    elif kind is tuple or kind is ImmutableList:
        for item in value:
            _collect(item, found)
    elif kind is Address:
        found.append(value.of)
    elif kind is Expression:
        found += value.reads.values()
    elif kind is Layout:
        _collect(value.sizes, found)
        _collect(value.strides, found)
    elif kind is Program:
        found += value.captured
    elif kind is Epilogue:
        found += value.launch.uses
    elif kind is ImmutableDict:
        _collect((*value.values(),), found)
    elif kind is slice:
        _collect((value.start, value.stop, value.step), found)
    elif isinstance(value, tuple):
        _collect((*value,), found)


@functools.cache
def _operand_fields(kind: type) -> tuple[str, ...]:
    skipped = {"origin", "result", "results", "kernel", "choices", "memory", "places", "layouts", "copied", "work"}
    return tuple(f.name for f in fields(kind) if f.name not in skipped)
