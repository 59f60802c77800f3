"""Attention as one kernel: what the weights are is forgotten as soon as they have been used.

    aten: softmax(q @ k.T * scale + bias) @ v         kernel: for each block of queries
                                                          for each block of keys
                                                              s = q @ k.T          most = max(most, s)
                                                              p = 2 ** (s - most)  total, result = ..., ... + p @ v

A program of the forward has a block of queries of one head. It goes through the keys in blocks; when it meets a larger
score, it scales what it has. A program of the backward has a head, or a part of its keys: it computes the weights of a
block of keys again, from the logarithm of each row's sum, and adds up the gradient of the queries in memory. Which
programs there are follows from the sizes alone, so results are the same with any number of threads.

Blocks of keys that no query of the block sees, since they are later or the mask hides them all, are left out.

Powers are of 2: scores are multiplied by log2(e) with the scale. Sizes and strides that are fixed stand in the text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opweave.codegen.kernel import KernelSource
from opweave.codegen.native import llvm
from opweave.fake.symbolic import statically_known_true
from opweave.registry import dtypes, families
from opweave.registry.dtypes import DType
from opweave.registry.interrupts import contextmanager
from opweave.registry.op import ops
from opweave.tracer.graph import Node

#: Types of operands; half types are computed in float32, but for products where the machine multiplies tiles of them.
DTYPES = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
LOG2E: float = families.family("attention").LOG2E
_TARGETS = (ops.opweave.attention.default, ops.opweave.attention_backward.default)
#: The fewest elements of a side of `tl.dot`.
_LEAST = 16


class Operand(NamedTuple):
    """A tensor of the kernel: its sizes and strides, and the type of its elements."""

    sizes: Sequence[Any]
    strides: Sequence[Any]
    dtype: DType


class Attention(NamedTuple):
    """What a node computes.

    Attributes
    ----------
    operands : mapping of str to Node
        By the kernel's names.
    results : mapping of str to int
        Those that are read, with their places among the node's results.
    backward : bool
        Whether it is the backward.
    scale, is_causal, inverted, fill, hidden_is_zero
        As of `opweave::attention`.
    parts : int
        Of the keys, in the backward.
    """

    operands: Mapping[str, Node]
    results: Mapping[str, int]
    backward: bool
    scale: float
    is_causal: bool
    inverted: bool
    fill: float
    hidden_is_zero: bool
    parts: int = 1


def attention_of(node: Node) -> Attention | None:
    """What a call computes, if it is attention that a kernel makes."""
    if node.target not in _TARGETS:
        return None
    backward = node.target is _TARGETS[1]
    own, args = (node.args[:3], node.args[3:]) if backward else ((), node.args)
    names = [*(("grad", "delta", "rows") if backward else ()), "query", "key", "value", "bias", "mask"]
    operands = {name: x for name, x in zip(names, (*own, *args[:5]), strict=True) if x is not None}
    query = operands["query"].meta["val"]
    if query._device.type != "cpu" or query._dtype not in DTYPES or not _fits(operands):
        return None
    made = ("query_grad", "key_grad", "value_grad") if backward else ("out", "rows")
    read = {user.args[1] for user in node.users if user.target is operator.getitem}
    results = {name: i for i, name in enumerate(made) if i in read or (i == 0 and not backward)}
    return Attention(operands, results, backward, *args[5:])


def _fits(operands: Mapping[str, Node]) -> bool:
    """Whether there is something to compute, of a width that is known, and which heads go together is known too."""
    query, key, value = (operands[name].meta["val"]._sizes for name in ("query", "key", "value"))
    if any(type(size) is int and size < 1 for sizes in (query, key, value) for size in sizes):
        return False
    if type(query[3]) is not int or type(value[3]) is not int:
        return False
    heads = [sizes[1] for sizes in (query, key, value)]
    if any(type(n) is not int for n in heads) and not all(statically_known_true(n == heads[0]) for n in heads):
        return False
    mask = operands.get("mask")
    return mask is None or mask.meta["val"]._dtype is dtypes.bool_


def is_result(node: Node) -> bool:
    """Whether a node names a result of such a kernel."""
    return node.target is operator.getitem and isinstance(node.args[0], Node) and attention_of(node.args[0]) is not None


def programs(attention: Attention) -> tuple[Any, Any, int]:
    """The grid."""
    batch, heads, rows, _ = attention.operands["query"].meta["val"]._sizes
    if attention.backward:
        return batch * heads, attention.parts, 1
    block, _ = _blocks(attention, rows, attention.operands["key"].meta["val"]._sizes[2])
    return (rows + block - 1) // block * (batch * heads), 1, 1


def _blocks(attention: Attention, rows: Any, columns: Any) -> tuple[int, int]:
    """Queries and keys that are looked at together."""
    most = 64 if attention.backward or attention.is_causal else 128
    return _block(rows, most), _block(columns, most)


def _block(size: Any, most: int) -> int:
    return most if type(size) is not int else max(_LEAST, min(most, 1 << max(size - 1, 0).bit_length()))


class Part(NamedTuple):
    """A stretch of a head's width: a power of two that `tl.dot` takes, of which the last may stick out."""

    begin: int
    size: int
    is_whole: bool


def parts_of(width: int) -> list[Part]:
    """A width as powers of two: 80 is 64 and 16."""
    found: list[Part] = []
    begin = 0
    while begin < width:
        left = width - begin
        size = max(_LEAST, 1 << left.bit_length() - 1)
        found.append(Part(begin, size, size <= left))
        begin += size
    return found


def print_attention(attention: Attention, number: int, *, anonymous: bool = False) -> KernelSource:
    """The kernel of a node.

    Parameters
    ----------
    attention : Attention
        What it computes.
    number : int
        Makes the name unique in its graph.
    anonymous : bool
        Nothing; all text follows from what is computed.
    """
    printer = (_Backward if attention.backward else _Forward)(attention)
    name = f"attention_backward_{number}" if attention.backward else f"attention_{number}"
    body = printer.body()
    pointers = printer.pointers()
    head = f"def {name}({', '.join([*(p for p, _ in pointers), *printer.open])}):"
    source = "\n".join(["import triton", "import triton.language as tl", "", "", "@triton.jit", head, *body, ""])
    numbers = tuple((n, "i64") for n in printer.open)
    return KernelSource(name, source, pointers, {}, (None, 1, 1), numbers, num_warps=8)


def numbers_of(attention: Attention) -> list[Any]:
    """The numbers that the kernel is given, in order."""
    printer = (_Backward if attention.backward else _Forward)(attention)
    printer.body()
    return list(printer.open.values())


class _Printer:
    """What forward and backward have in common."""

    def __init__(self, attention: Attention) -> None:
        self.a = attention
        self.values = {name: node.meta["val"] for name, node in attention.operands.items()}
        query = self.values["query"]
        self.type = query._dtype.compute.name
        #: Numbers that are not fixed, by name.
        self.open: dict[str, Any] = {}
        self.heads, self.m, self.width = query._sizes[1:]
        self.n, self.depth = self.values["key"]._sizes[2], self.values["value"]._sizes[3]
        self.bm, self.bn = _blocks(attention, self.m, self.n)
        self.rows, self.columns = self.number("queries", self.m), self.number("keys", self.n)
        self.qk, self.ov = parts_of(self.width), parts_of(self.depth)
        self.factor = attention.scale * LOG2E
        self.ragged_m, self.ragged_n = (
            type(size) is not int or size % block != 0 for size, block in ((self.m, self.bm), (self.n, self.bn))
        )
        #: The type that products take, and what scores are multiplied by once they are summed, where not before.
        self.narrow = query._dtype.name if self.takes_narrow() else self.type
        self.lines: list[str] = []
        self.depth_of_text = 1

    def takes_narrow(self) -> bool:
        """Whether products are of numbers as they are stored, summed in `type`."""
        return False

    def pointers(self) -> tuple[tuple[str, DType], ...]:
        """Parameters that are tensors."""
        compute = self.values["query"]._dtype.compute
        names = {"rows": "sums"}
        given = tuple((name, value._dtype) for name, value in self.values.items())
        return (*given, *((names.get(name, name), compute) for name in self.a.results))

    # ---- text ------------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth_of_text + text)

    @contextmanager
    def under(self, head: str) -> Iterator[None]:
        """A block of lines."""
        self.line(head)
        self.depth_of_text += 1
        yield
        self.depth_of_text -= 1

    def number(self, name: str, value: Any) -> str:
        """A size or stride: itself where it is fixed, else the name of a parameter."""
        if type(value) is int:
            return str(value)
        self.open[name] = value
        return name

    def stride(self, operand: str, dim: int) -> Any:
        value = self.values[operand]
        # What is stretched lies in one place.
        return 0 if type(value._sizes[dim]) is int and value._sizes[dim] == 1 else value._strides[dim]

    def times(self, index: str, name: str, stride: Any) -> str:
        """An index times a stride."""
        if type(stride) is int and stride in (0, 1):
            return index if stride else ""
        return f"{index} * {self.number(name, stride)}"

    def heads_of(self, operand: str) -> str:
        """The index of the head of an operand that goes with a head of the queries."""
        own = self.values[operand]._sizes[1]
        if operand in ("key", "value") and type(own) is int and type(self.heads) is int and own != self.heads:
            return f"(head // {self.heads // own})"
        return "head"

    def place(self, operand: str) -> None:
        """Let a pointer be that of the program's head."""
        offsets = [
            self.times("batch", f"{operand}_batch", self.stride(operand, 0)),
            self.times(self.heads_of(operand), f"{operand}_head", self.stride(operand, 1)),
        ]
        total = " + ".join(offset for offset in offsets if offset)
        if total:
            self.line(f"{operand} += {total}")

    def at(self, operand: str, row: str, column: str) -> str:
        """The addresses of elements: indices as they are broadcast."""
        terms = [
            self.times(row, f"{operand}_row", self.stride(operand, 2)),
            # Also what is stretched has two dimensions.
            self.times(column, f"{operand}_column", self.stride(operand, 3)) or f"{column} * 0",
        ]
        return " + ".join([operand, *(term for term in terms if term)])

    def load(
        self, operand: str, row: str, column: str, masks: Sequence[str] = (), other: str = "0.0", *, wide: bool = True
    ) -> str:
        """The elements at broadcast indices, in the type they are computed in."""
        masked = f", mask={' & '.join(masks)}, other={other}" if masks else ""
        text = f"tl.load({self.at(operand, row, column)}{masked})"
        multiplied = self.narrow if operand in ("query", "key", "value") else self.type
        if wide and self.values[operand]._dtype.name != multiplied:
            text += f".to(tl.{self.type})"
        return text

    def widths(self, parts: Sequence[Part], letter: str) -> None:
        """The indices along a head's width."""
        for k, part in enumerate(parts):
            begin = f"{part.begin} + " if part.begin else ""
            self.line(f"{letter}{k} = {begin}tl.arange(0, {part.size})")

    def inside(self, part: Part, index: str, width: int) -> list[str]:
        return [] if part.is_whole else [f"({index} < {width})"]

    def dot(self, left: str, right: str, onto: str = "") -> str:
        """A product of tiles, as exact as its type."""
        third = f", {onto}" if onto else ""
        return f'tl.dot({left}, {right}{third}, input_precision="ieee", out_dtype=tl.{self.type})'

    def constant(self, value: float) -> str:
        """A number of the type that is computed in."""
        if math.isinf(value):
            return 'float("inf")' if value > 0 else 'float("-inf")'
        return repr(value)

    def begin(self, pair: str) -> None:
        self.line(f"pair = ({pair}).to(tl.int64)")
        heads = self.number("heads", self.heads)
        self.line(f"batch, head = pair // {heads}, pair % {heads}")
        for operand in self.values:
            self.place(operand)

    def seen(self, row: str, column: str, masks: Sequence[str]) -> str:
        """Which scores of a tile the mask shows."""
        loaded = self.load("mask", row, column, masks, "1" if self.a.inverted else "0", wide=False)
        return f"{loaded} == 0" if self.a.inverted else f"{loaded} != 0"

    def scored(self, row: str, column: str, masks: Sequence[str], limits: Sequence[str]) -> None:
        """What is done to the scores `s` of a tile before they are weights."""
        if "bias" in self.values:
            bias = self.load("bias", row, column, [m for m in masks if self._depends("bias", m, row)])
            self.line(f"s += {bias} * {LOG2E!r}")
        if "mask" in self.values:
            shown = [m for m in masks if self._depends("mask", m, row)]
            self.line(f"seen = {self.seen(row, column, shown)}")
            self.line(f"s = tl.where(seen, s, {self.constant(self.a.fill * LOG2E)})")
        if limits:
            self.line(f's = tl.where({" & ".join(limits)}, s, float("-inf"))')

    def _depends(self, operand: str, mask: str, row: str) -> bool:
        """Whether a mask is of a dimension in which an operand is not stretched."""
        stride = self.stride(operand, 2 if row in mask else 3)
        return not (type(stride) is int and stride == 0)


class _Forward(_Printer):
    def takes_narrow(self) -> bool:
        """PyTorch's kernel rounds the weights as well."""
        names = {self.values[name]._dtype.name for name in ("query", "key", "value")}
        return names == {"bfloat16"} and llvm.host().has_tiles("bfloat")

    def body(self) -> list[str]:
        """All lines of the function."""
        bm, bn, a = self.bm, self.bn, self.a
        self.line(f"blocks = ({self.rows} + {bm - 1}) // {bm}")
        self.line("program = tl.program_id(0)")
        # The last queries see the most keys: they begin.
        self.line(f"start = (blocks - 1 - program % blocks) * {bm}")
        self.begin("program // blocks")
        self.line(f"i = start + tl.arange(0, {bm})")
        self.widths(self.qk, "d")
        if self.width != self.depth:
            self.widths(self.ov, "e")
        e = "d" if self.width == self.depth else "e"
        ragged = [f"(i[:, None] < {self.rows})"] if self.ragged_m else []
        for k, part in enumerate(self.qk):
            masks = [*ragged, *self.inside(part, f"d{k}[None, :]", self.width)]
            scaled = "" if self.narrow != self.type else f" * {self.factor!r}"
            self.line(f"q{k} = {self.load('query', 'i[:, None]', f'd{k}[None, :]', masks)}{scaled}")
        self.line(f'most = tl.full(({bm},), float("-inf"), tl.{self.type})')
        self.line(f"total = tl.zeros(({bm},), tl.{self.type})")
        for k, part in enumerate(self.ov):
            self.line(f"result{k} = tl.zeros(({bm}, {part.size}), tl.{self.type})")
        self.line("begin = 0")
        self.line(f"end = {f'tl.minimum({self.columns}, start + {bm})' if a.is_causal else self.columns}")
        if "mask" in self.values and a.fill == -math.inf:
            self.shown()
        whole = f"{self.columns} // {bn} * {bn}"
        if a.is_causal:
            self.line(f"whole = tl.minimum({whole}, (start + 1) // {bn} * {bn})")
        elif self.ragged_n:
            self.line(f"whole = {whole}")
        if a.is_causal or self.ragged_n:
            with self.under(f"for first in range(begin, tl.minimum(whole, end), {bn}):"):
                self.step(e, ragged, edge=False)
            with self.under(f"for first in range(tl.maximum(begin, whole), end, {bn}):"):
                self.step(e, ragged, edge=True)
        else:
            with self.under(f"for first in range(begin, end, {bn}):"):
                self.step(e, ragged, edge=False)
        self.finish(e, ragged)
        return self.lines

    def shown(self) -> None:
        """Leave out the blocks before the first and behind the last of which the mask shows something."""
        bn = self.bn
        self.line("shown, hidden = end, end - end")
        with self.under(f"for first in range(0, end, {bn}):"):
            self.line(f"j = first + tl.arange(0, {bn})")
            masks = [f"(i[:, None] < {self.rows})", f"(j[None, :] < {self.columns})"]
            shown = [m for m in masks if self._depends("mask", m, "i[:, None]")]
            self.line(f"seen = {self.seen('i[:, None]', 'j[None, :]', shown)}")
            self.line("some = tl.max(tl.max(seen.to(tl.int32), 1), 0) > 0")
            self.line("shown = tl.where(some, tl.minimum(shown, first), shown)")
            self.line(f"hidden = tl.where(some, first + {bn}, hidden)")
        self.line("begin, end = shown, tl.minimum(end, hidden)")

    def step(self, e: str, ragged: Sequence[str], *, edge: bool) -> None:
        """A block of keys."""
        self.line(f"j = first + tl.arange(0, {self.bn})")
        bound = [f"(j[None, :] < {self.columns})"] if edge and self.ragged_n else []
        for k, part in enumerate(self.qk):
            masks = [*bound, *self.inside(part, f"d{k}[:, None]", self.width)]
            self.line(f"k{k} = {self.load('key', 'j[None, :]', f'd{k}[:, None]', masks)}")
            self.line(f"s = {self.dot(f'q{k}', f'k{k}', 's' if k else '')}")
        if self.narrow != self.type:
            self.line(f"s *= {self.factor!r}")
        limits = [*bound, *(["(j[None, :] <= i[:, None])"] if edge and self.a.is_causal else [])]
        self.scored("i[:, None]", "j[None, :]", [*ragged, *bound], limits)
        self.line("high = tl.maximum(most, tl.max(s, 1))")
        # Of a row in which nothing is seen yet, -inf is not taken from -inf.
        self.line('base = tl.where(high == float("-inf"), 0.0, high)')
        self.line("less = tl.exp2(most - base)")
        self.line("p = tl.exp2(s - base[:, None])")
        self.line("total = total * less + tl.sum(p, 1)")
        for k, part in enumerate(self.ov):
            bound = [f"(j[:, None] < {self.columns})"] if edge and self.ragged_n else []
            masks = [*bound, *self.inside(part, f"{e}{k}[None, :]", self.depth)]
            self.line(f"v{k} = {self.load('value', 'j[:, None]', f'{e}{k}[None, :]', masks)}")
            weights = "p" if self.narrow == self.type else f"p.to(tl.{self.narrow})"
            self.line(f"result{k} = {self.dot(weights, f'v{k}', f'result{k} * less[:, None]')}")
        self.line("most = high")

    def finish(self, e: str, ragged: Sequence[str]) -> None:
        """Store what came out."""
        a = self.a
        offset = f"pair * {self.rows}"
        for k, part in enumerate(self.ov):
            masks = [*ragged, *self.inside(part, f"{e}{k}[None, :]", self.depth)]
            found = f"result{k} / total[:, None]"
            if a.hidden_is_zero:
                found = f"tl.where(total[:, None] == 0, 0.0, {found})"
            place = f"out + ({offset} + i[:, None]) * {self.depth} + {e}{k}[None, :]"
            self.line(f"tl.store({place}, {found}{_masked(masks)})")
        if "rows" in a.results:
            found = "most + tl.log2(total)"
            if a.hidden_is_zero:
                found = f'tl.where(total == 0, float("inf"), {found})'
            mask = f", mask=i < {self.rows}" if self.ragged_m else ""
            self.line(f"tl.store(sums + {offset} + i, {found}{mask})")


class _Backward(_Printer):
    def body(self) -> list[str]:
        """All lines of the function: tiles have a row for each key."""
        bn, a = self.bn, self.a
        self.begin("tl.program_id(0)")
        self.widths(self.qk, "d")
        if self.width != self.depth:
            self.widths(self.ov, "e")
        e = "d" if self.width == self.depth else "e"
        if a.parts > 1:
            self.line("part = tl.program_id(1).to(tl.int64)")
            stretch = f"(({self.columns} + {bn * a.parts - 1}) // {bn * a.parts} * {bn})"
            self.line(f"begin = tl.program_id(1) * {stretch}")
            self.line(f"end = tl.minimum({self.columns}, begin + {stretch})")
            if "query_grad" in a.results:
                heads, batch = self.number("heads", self.heads), self.number("batches", self.values["query"]._sizes[0])
                self.line(f"query_grad += part * {batch} * {heads} * {self.rows} * {self.width}")
        else:
            self.line(f"begin, end = 0, {self.columns}")
        if "query_grad" in a.results:
            self.line(f"query_grad += pair * {self.rows} * {self.width}")
        with self.under(f"for first in range(begin, end, {bn}):"):
            self.keys(e)
        if a.parts > 1 and "query_grad" in a.results:
            self.nothing()
        return self.lines

    def nothing(self) -> None:
        """Store zeros for the queries that no key of a part is seen by."""
        bm = self.bm
        self.line(f"low = begin // {bm} * {bm}" if self.a.is_causal else "low = 0")
        self.line(f"low = tl.where(begin < end, tl.minimum(low, {self.rows}), {self.rows})")
        with self.under(f"for start in range(0, low, {bm}):"):
            self.line(f"i = start + tl.arange(0, {bm})")
            for k, part in enumerate(self.qk):
                masks = ["(i[:, None] < low)", *self.inside(part, f"d{k}[None, :]", self.width)]
                place = f"query_grad + i[:, None] * {self.width} + d{k}[None, :]"
                zeros = f"tl.zeros(({bm}, {part.size}), tl.{self.type})"
                self.line(f"tl.store({place}, {zeros}{_masked(masks)})")

    def keys(self, e: str) -> None:
        """A block of keys."""
        bm, bn, a = self.bm, self.bn, self.a
        self.line(f"j = first + tl.arange(0, {bn})")
        bound = [f"(j[:, None] < {self.columns})"] if self.ragged_n else []
        for name, letter, parts, index, width in (
            ("key", "k", self.qk, "d", self.width), ("value", "v", self.ov, e, self.depth),
        ):  # fmt: skip
            for k, part in enumerate(parts):
                masks = [*bound, *self.inside(part, f"{index}{k}[None, :]", width)]
                self.line(f"{letter}{k} = {self.load(name, 'j[:, None]', f'{index}{k}[None, :]', masks)}")
                if f"{name}_grad" in a.results:
                    self.line(f"{name}_sum{k} = tl.zeros(({bn}, {part.size}), tl.{self.type})")
        above = f"first // {bm} * {bm}" if a.is_causal else "0"
        with self.under(f"for start in range({above}, {self.rows}, {bm}):"):
            self.queries(e, bound)
        for name, parts, index, width in (("key", self.qk, "d", self.width), ("value", self.ov, e, self.depth)):
            if f"{name}_grad" not in a.results:
                continue
            for k, part in enumerate(parts):
                masks = [*bound, *self.inside(part, f"{index}{k}[None, :]", width)]
                # Of a product with the transposed key, this is the gradient as it lies then.
                place = f"{name}_grad + (pair * {width} + {index}{k}[None, :]) * {self.columns} + j[:, None]"
                if name == "value":
                    place = f"{name}_grad + (pair * {self.columns} + j[:, None]) * {width} + {index}{k}[None, :]"
                self.line(f"tl.store({place}, {name}_sum{k}{_masked(masks)})")

    def queries(self, e: str, bound: Sequence[str]) -> None:
        """A block of queries, for one of keys."""
        bm, a = self.bm, self.a
        self.line(f"i = start + tl.arange(0, {bm})")
        down = [f"(i[:, None] < {self.rows})"] if self.ragged_m else []
        across = [f"(i[None, :] < {self.rows})"] if self.ragged_m else []
        only = f", mask=i < {self.rows}, other=" if self.ragged_m else ""
        for k, part in enumerate(self.qk):
            masks = [*across, *self.inside(part, f"d{k}[:, None]", self.width)]
            self.line(f"q = {self.load('query', 'i[None, :]', f'd{k}[:, None]', masks)} * {self.factor!r}")
            self.line(f"s = {self.dot(f'k{k}', 'q', 's' if k else '')}")
        # Masks lie with a row for each query: their tiles are turned.
        inside = [*down, *([f"(j[None, :] < {self.columns})"] if self.ragged_n else [])]
        self.turned_terms(inside)
        limits = [*bound, *(["(j[:, None] <= i[None, :])"] if a.is_causal else [])]
        if limits:
            self.line(f's = tl.where({" & ".join(limits)}, s, float("-inf"))')
        self.line(f"""sums = tl.load({self.along("rows")}{f'{only}float("inf")' if only else ""})""")
        self.line("p = tl.exp2(s - sums[None, :])")
        weights = "p"
        if "mask" in self.values and a.fill != -math.inf:
            # Hidden scores are a number, which has no gradient.
            weights = "w"
            hidden = self.turned("mask", "tl.where(seen, 0.0, 1.0)")
            self.line(f"w = p + tl.exp2({self.constant(a.fill * LOG2E)} - sums)[None, :] * {hidden}")
        for k, part in enumerate(self.ov):
            if "value_grad" in a.results:
                masks = [*down, *self.inside(part, f"{e}{k}[None, :]", self.depth)]
                self.line(f"g = {self.load('grad', 'i[:, None]', f'{e}{k}[None, :]', masks)}")
                self.line(f"value_sum{k} = {self.dot(weights, 'g', f'value_sum{k}')}")
            if {"key_grad", "query_grad"} & a.results.keys():
                masks = [*across, *self.inside(part, f"{e}{k}[:, None]", self.depth)]
                self.line(f"g = {self.load('grad', 'i[None, :]', f'{e}{k}[:, None]', masks)}")
                self.line(f"t = {self.dot(f'v{k}', 'g', 't' if k else '')}")
        if not {"key_grad", "query_grad"} & a.results.keys():
            return
        self.line(f"less = tl.load({self.along('delta')}{f'{only}0.0' if only else ''})")
        self.line(f"t = p * (t - less[None, :]) * {a.scale!r}")
        # A row that is NaN has no gradient where it is hidden.
        if a.is_causal:
            self.line("t = tl.where(j[:, None] <= i[None, :], t, 0.0)")
        if "mask" in self.values and not a.hidden_is_zero:
            self.line(f"t = tl.where({self.turned('mask', 'tl.where(seen, 1.0, 0.0)')} != 0.0, t, 0.0)")
        for k, part in enumerate(self.qk):
            masks = [*down, *self.inside(part, f"d{k}[None, :]", self.width)]
            if "key_grad" in a.results:
                self.line(f"q = {self.load('query', 'i[:, None]', f'd{k}[None, :]', masks)}")
                self.line(f"key_sum{k} = {self.dot('t', 'q', f'key_sum{k}')}")
            if "query_grad" in a.results:
                # The first block of keys finds nothing in memory yet.
                self.line(f"place = query_grad + i[:, None] * {self.width} + d{k}[None, :]")
                masked = " & ".join([*masks, "(first > begin)"])
                self.line(f"before = tl.load(place, mask={masked}, other=0.0)")
                self.line(f"tl.store(place, {self.dot('tl.trans(t)', f'k{k}', 'before')}{_masked(masks)})")

    def turned_terms(self, masks: Sequence[str]) -> None:
        """What is done to the scores `s` of a tile with a row for each key."""
        row, column = "i[:, None]", "j[None, :]"
        if "bias" in self.values:
            bias = self.load("bias", row, column, [m for m in masks if self._depends("bias", m, row)])
            self.line(f"s += {self.turned('bias', f'({bias} * {LOG2E!r})')}")
        if "mask" in self.values:
            self.line(f"seen = {self.seen(row, column, [m for m in masks if self._depends('mask', m, row)])}")
            cap = self.turned("mask", 'tl.where(seen, float("inf"), float("-inf"))')
            # The lesser one, of which one that is no number is none.
            self.line(f"s = tl.minimum(s, {cap})")

    def along(self, operand: str) -> str:
        """The addresses of what there is one of for each query."""
        place = self.times("i", f"{operand}_row", self.stride(operand, 2))
        return f"{operand} + {place or 'i * 0'}"

    def turned(self, operand: str, tile: str) -> str:
        return f"tl.trans({tile}.to(tl.{self.type}))"


def _masked(masks: Sequence[str]) -> str:
    return f", mask={' & '.join(masks)}" if masks else ""
