"""All steps of a recurrent layer in one direction (`registry.ops.recurrent_layers`) in native code, and gradients.

A step is a product (`codegen.blas`), whose right operand is packed for the first and read packed by the others, and one
loop over what it gave: from the gates' sums to the state, or from the state's gradient to the gates'. The loop's lanes
are neighbours of a row; the arithmetic is that of the ops' bodies. All memory is there before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.codegen import blas
from opweave.codegen.instructions import formulas
from opweave.codegen.instructions.arithmetic import F32, Floats
from opweave.codegen.instructions.emit import Emitter, vector
from opweave.codegen.instructions.operands import DOUBLE, I32, PTR, Operand, Register
from opweave.codegen.native import launch, llvm, objects
from opweave.registry import dtypes
from opweave.registry.device import cpu
from opweave.registry.interrupts import let_through
from opweave.registry.ops.recurrent_layers import GATES
from opweave.registry.spec import contiguous_strides
from opweave.registry.tensor import Tensor, allocate

_ELEMS = {dtypes.float32: "f32", dtypes.float64: "f64"}
#: Addresses by name, those of tensors as they are there: missing ones are 0. `sums` has room for a step's products with
#: the state; backwards it is what the state's gradient is then, and `through` what passes by the products.
_TENSORS = (
    "products", "bias", "hidden", "cell", "outputs", "last", "cells", "last_cell", "used", "from_hidden",
    "grad_outputs", "of_products", "of_from_hidden", "of_hidden", "of_cell", "sums", "through",
)  # fmt: skip
#: What code is told: where products are made, counts, the first step and from one to the next, how far steps and rows
#: of the gradient of outputs are apart, in elements, whether gates and cells of all steps are kept (1; else 0: there is
#: room for those of one); and addresses. The words of a product follow (`blas.words_of`).
_NUMBERS = ("product", "steps", "rows", "width", "first", "next", "grad_step", "grad_row", "keep")
_FIELDS = (*_NUMBERS, *_TENSORS)
#: Among the words of a product: where its left operand, its result and its packed right operand are.
_LEFT, _RESULT, _THERE = 6, 16, 28
_PRODUCT_WORDS = 29
_WORDS = len(_FIELDS) + _PRODUCT_WORDS
#: Columns of a panel of a packed operand, at most (`codegen.host.packing`).
_PANEL = 64


class Form(NamedTuple):
    """What code is for."""

    mode: str
    elem: str
    backwards: bool

    @property
    def symbol(self) -> str:
        """Its name."""
        return f"opweave.recurrent.{self.mode}.{self.elem}{'.backward' if self.backwards else ''}"


class _Writer:
    def __init__(self, form: Form) -> None:
        self.form = form
        self.em = Emitter()
        host = llvm.host()
        # The functions of float64 are the C library's.
        self.lanes = host.vector_bits // 32 if form.elem == "f32" else 1
        self.f = F32(self.em, self.lanes, host.fma) if form.elem == "f32" else Floats(self.em, "f64", 1, host.fma)
        self.gates = GATES[form.mode]
        self.given = {name: self._word(place) for place, name in enumerate(_FIELDS)}
        self.at = {name: self.em.inst(f"inttoptr i64 {self.given[name]} to ptr") for name in ("product", *_TENSORS)}
        self.words = self.em.inst(f"getelementptr i64, ptr %packed, i64 {len(_FIELDS)}")
        #: So many times the width of the state.
        self.wide: list[Operand] = [self.em.mul(self.given["width"], count) for count in range(self.gates + 1)]
        #: The row and vector that is being written: its numbers, where rows begin, and which lanes there are; and where
        #: it is written what is the same for all vectors of a row.
        self.row: Operand = 0
        self.column: Operand = 0
        self.starts: dict[tuple[Operand, Operand, Operand], Operand] = {}
        self.mask: Operand = 0
        self.begun = 0

    def _word(self, place: int) -> Register:
        at = self.em.inst(f"getelementptr i64, ptr %packed, i64 {place}")
        return self.em.inst(f"load i64, ptr {at}")

    # -- arithmetic

    def one_less(self, x: Operand) -> Operand:
        return self.f.sub(self.f.const(1.0), x)

    def sigmoid(self, x: Operand) -> Operand:
        f = self.f
        negative = f.neg(x)
        power = formulas.exp(f, negative) if isinstance(f, F32) else self.em.call(DOUBLE, "exp", [(DOUBLE, negative)])
        return f.div(f.const(1.0), f.add(f.const(1.0), power))

    def tanh(self, x: Operand) -> Operand:
        f = self.f
        return formulas.tanh(f, x) if isinstance(f, F32) else self.em.call(DOUBLE, "tanh", [(DOUBLE, x)])

    def of_sigmoid(self, grad: Operand, result: Operand) -> Operand:
        return self.f.mul(grad, self.f.mul(result, self.one_less(result)))

    def of_tanh(self, grad: Operand, result: Operand) -> Operand:
        return self.f.mul(grad, self.one_less(self.f.mul(result, result)))

    # -- memory

    def place(self, base: Operand, elements: Operand) -> Operand:
        return self.em.offset(base, elements, self.form.elem)

    def _load(self, pointer: Operand) -> Operand:
        f, em = self.f, self.em
        if self.lanes == 1:
            return em.inst(f"load {f.type}, ptr {pointer}")
        name = f"llvm.masked.load.v{self.lanes}f32.p0"
        return em.call(f.type, name, [(PTR, pointer), (I32, 4), (f.mask, self.mask), (f.type, f.const(0.0))])

    def _store(self, value: Operand, pointer: Operand) -> None:
        f, em = self.f, self.em
        if self.lanes == 1:
            em.line(f"store {f.type} {value}, ptr {pointer}")
            return
        name = f"llvm.masked.store.v{self.lanes}f32.p0"
        text = f"declare void @{name}({f.type}, ptr, i32, {f.mask})"
        em.declarations[name] = text
        em.line(f"call void @{name}({f.type} {value}, ptr {pointer}, i32 4, {f.mask} {self.mask})")

    def of_row(self, base: Operand, stride: Operand, elements: Operand) -> Operand:
        """The current vector of a matrix whose rows are so far apart, from some element on.

        Where its row begins is computed before the vectors of the row are.
        """
        em = self.em
        key = base, stride, elements
        if key not in self.starts:
            first = len(em.lines)
            self.starts[key] = self.place(base, em.add(em.mul(self.row, stride), elements))
            lines = em.lines[first:]
            del em.lines[first:]
            em.lines[self.begun : self.begun] = lines
            self.begun += len(lines)
        return self.place(self.starts[key], self.column)

    def _where(self, base: Operand, gate: int, count: int) -> Operand:
        return self.of_row(base, self.wide[count], self.wide[gate])

    def read(self, base: Operand, gate: int = 0, count: int = 1) -> Operand:
        """A vector of the row of a matrix of `count` gates a row."""
        return self._load(self._where(base, gate, count))

    def write(self, value: Operand, base: Operand, gate: int = 0, count: int = 1) -> None:
        self._store(value, self._where(base, gate, count))

    def bias(self, gate: int) -> Operand:
        return self._load(self.of_row(self.at["bias"], 0, self.wide[gate]))

    def of_step(self, name: str, at: Operand, count: int = 1) -> Operand:
        """Where a step's matrix is, of `count` gates a row."""
        em = self.em
        area = em.mul(self.given["rows"], self.given["width"])
        return self.place(self.at[name], em.mul(em.mul(area, count), at))

    def chosen(self, condition: Operand, a: Operand, b: Operand) -> Register:
        return self.em.inst(f"select i1 {condition}, ptr {a}, ptr {b}")

    # -- steps

    def over_elements(self, body: Callable[[], None]) -> None:
        """A body for each vector of each row."""
        em, width = self.em, self.given["width"]

        def of_column(column: Operand) -> None:
            self.column = column
            if self.lanes > 1:
                left = em.inst(f"trunc i64 {em.sub(width, column)} to i32")
                ints = vector("i32", self.lanes)
                one = em.inst(f"insertelement {ints} poison, i32 {left}, i64 0")
                all_ = em.inst(f"shufflevector {ints} {one}, {ints} poison, <{self.lanes} x i32> zeroinitializer")
                numbers = ", ".join(f"i32 {lane}" for lane in range(self.lanes))
                self.mask = em.inst(f"icmp slt {ints} <{numbers}>, {all_}")
            body()

        def of_row(row: Operand) -> None:
            self.row = row
            self.starts, self.begun = {}, len(em.lines)
            em.loop(0, width, self.lanes, of_column)

        em.loop(0, self.given["rows"], 1, of_row)

    def multiply(self, left: Operand, step: Operand) -> None:
        """Make the product, of a left operand; leave where it cannot be made."""
        em = self.em
        for place, value in ((_LEFT, f"ptr {left}"), (_THERE, f"i64 {self._is_later(step)}")):
            at = em.inst(f"getelementptr i64, ptr {self.words}, i64 {place}")
            em.line(f"store {value}, ptr {at}")
        status = em.inst(f"call i32 {self.at['product']}(ptr {self.words})")
        yes, no = em.fresh("failed"), em.fresh("made")
        em.branch_if(em.inst(f"icmp ne i32 {status}, 0"), yes, no)
        em.label(yes)
        em.line(f"ret i32 {status}")
        em.label(no)

    def _is_later(self, step: Operand) -> Register:
        return self.em.inst(f"zext i1 {self.em.inst(f'icmp ne i64 {step}, 0')} to i64")

    def index(self, step: Operand) -> Operand:
        """Which one the step of a number is."""
        return self.em.add(self.given["first"], self.em.mul(step, self.given["next"]))

    def text(self) -> str:
        em = self.em
        em.loop(0, self.given["steps"], 1, self._backward if self.form.backwards else self._forward)
        parameters = "ptr %code, ptr %packed, i64 %n, i32 %gx, i32 %gy, i32 %gz, ptr %cost"
        return "\n".join(
            [
                *em.declarations.values(),
                f"define i32 @{self.form.symbol}({parameters}) {{",
                "entry:", *em.entry, *em.lines, "  ret i32 0", "}",
            ]
        )  # fmt: skip

    def _state(self, name: str, first: str, step: Operand, at: Operand, each: Operand = 1) -> Register:
        """What a state was before a step: the first one, or what the step before gave."""
        em = self.em
        is_first = em.inst(f"icmp eq i64 {step}, 0")
        return self.chosen(is_first, self.at[first], self.of_step(name, em.mul(em.sub(at, self.given["next"]), each)))

    def _forward(self, step: Operand) -> None:
        em, mode = self.em, self.form.mode
        at = self.index(step)
        before = self._state("outputs", "hidden", step, at)
        self.multiply(before, step)
        products, sums = self.of_step("products", at, self.gates), self.at["sums"]
        keep = self.given["keep"]
        room = em.mul(at, keep)
        outputs, used = self.of_step("outputs", at), self.of_step("used", room, self.gates)
        # Where cells are not kept, each takes the place of the one before, which was read.
        cell = self._state("cells", "cell", step, at, keep) if mode == "LSTM" else 0
        kept = self.of_step("cells", room) if mode == "LSTM" else self.of_step("from_hidden", room, self.gates)
        f = self.f

        def from_hidden(gate: int) -> Operand:
            return f.add(self.read(sums, gate, self.gates), self.bias(gate))

        def total(gate: int) -> Operand:
            return f.add(self.read(products, gate, self.gates), from_hidden(gate))

        def lstm() -> None:
            i, forget, g, o = (
                bend(total(gate)) for gate, bend in enumerate((self.sigmoid, self.sigmoid, self.tanh, self.sigmoid))
            )
            new = f.add(f.mul(forget, self.read(cell)), f.mul(i, g))
            for gate, value in enumerate((i, forget, g, o)):
                self.write(value, used, gate, 4)
            self.write(new, kept)
            self.write(f.mul(o, self.tanh(new)), outputs)

        def gru() -> None:
            parts = [from_hidden(gate) for gate in range(3)]
            r, z = (self.sigmoid(f.add(self.read(products, gate, 3), parts[gate])) for gate in range(2))
            n = self.tanh(f.add(self.read(products, 2, 3), f.mul(r, parts[2])))
            for gate, (value, part) in enumerate(zip((r, z, n), parts, strict=True)):
                self.write(value, used, gate, 3)
                self.write(part, kept, gate, 3)
            self.write(f.add(n, f.mul(z, f.sub(self.read(before), n))), outputs)

        def elman() -> None:
            value = total(0)
            self.write(self.tanh(value) if mode == "RNN_TANH" else f.at_least(value, 0.0), outputs)

        self.over_elements({"LSTM": lstm, "GRU": gru}.get(mode, elman))
        is_last = em.inst(f"icmp eq i64 {step}, {em.sub(self.given['steps'], 1)}")

        def copied() -> None:
            self.write(self.read(outputs), self.at["last"])
            if mode == "LSTM":
                self.write(self.read(kept), self.at["last_cell"])

        em.when(is_last, lambda: self.over_elements(copied))

    def _backward(self, turn: Operand) -> None:
        em, f, mode = self.em, self.f, self.form.mode
        step = em.sub(em.sub(self.given["steps"], 1), turn)
        at = self.index(step)
        sums, through = self.at["sums"], self.at["through"]
        grads = self.place(self.at["grad_outputs"], em.mul(at, self.given["grad_step"]))
        of_products = self.of_step("of_products", at, self.gates)
        of_kept = self.of_step("of_from_hidden", at, self.gates)
        outputs, used = self.of_step("outputs", at), self.of_step("used", at, self.gates)
        kept = self.of_step("cells", at) if mode == "LSTM" else self.of_step("from_hidden", at, self.gates)
        names = ("cells", "cell") if mode == "LSTM" else ("outputs", "hidden")
        before = 0 if mode.startswith("RNN") else self._state(*names, step, at)
        left = of_kept if mode == "GRU" else of_products

        def grad() -> Operand:
            return f.add(self.read(sums), self._load(self.of_row(grads, self.given["grad_row"], 0)))

        def lstm() -> None:
            of_hidden, of_cell = grad(), self.at["of_cell"]
            i, forget, g, o = (self.read(used, gate, 4) for gate in range(4))
            bent = self.tanh(self.read(kept))
            total = f.add(self.of_tanh(f.mul(of_hidden, o), bent), self.read(of_cell))
            found = (
                self.of_sigmoid(f.mul(total, g), i), self.of_sigmoid(f.mul(total, self.read(before)), forget),
                self.of_tanh(f.mul(total, i), g), self.of_sigmoid(f.mul(of_hidden, bent), o),
            )  # fmt: skip
            for gate, value in enumerate(found):
                self.write(value, of_products, gate, 4)
            self.write(f.mul(total, forget), of_cell)

        def gru() -> None:
            of_hidden = f.add(grad(), self.read(through))
            r, z, n = (self.read(used, gate, 3) for gate in range(3))
            new = self.of_tanh(f.mul(of_hidden, self.one_less(z)), n)
            update = self.of_sigmoid(f.mul(of_hidden, f.sub(self.read(before), n)), z)
            reset = self.of_sigmoid(f.mul(new, self.read(kept, 2, 3)), r)
            for gate, value in enumerate((reset, update, new)):
                self.write(value, of_products, gate, 3)
                self.write(f.mul(new, r) if gate == 2 else value, of_kept, gate, 3)
            self.write(f.mul(of_hidden, z), through)

        def elman() -> None:
            value, result = grad(), self.read(outputs)
            if mode == "RNN_TANH":
                value = self.of_tanh(value, result)
            else:
                value = f.select(f.compare("ole", result, f.const(0.0)), f.const(0.0), value)
            self.write(value, of_products)

        self.over_elements({"LSTM": lstm, "GRU": gru}.get(mode, elman))
        self.multiply(left, turn)
        if mode == "GRU":
            is_first = em.inst(f"icmp eq i64 {step}, 0")

            def added() -> None:
                self.write(f.add(self.read(through), self.read(sums)), sums)

            em.when(is_first, lambda: self.over_elements(added))


def source(form: Form) -> str:
    """The LLVM IR of a form's code."""
    return _Writer(form).text()


@functools.cache
def _loaded(form: Form) -> Callable[..., None] | None:
    name = f"recurrent layer {form}"
    try:
        loaded = objects.Code(lambda: source(form), name, objects.CLEANED, name).load([form.symbol])
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, ops go on
        let_through(error)
        return None
    return launch.words_function("recurrent layers", _WORDS, loaded.address(form.symbol), loaded)


def run(mode: str, backwards: bool, tensors: dict[str, Tensor | None], reverse: bool) -> bool:
    """`registry.ops.recurrent_layers.native`.

    Parameters
    ----------
    mode : str
        One of `GATES`.
    backwards : bool
        Whether the gradients are wanted, of the states and of the products.
    tensors : dict
        By the names of arguments and results, all of one type, with elements. Results are row-major. Forwards, what
        gradients need may be left out.
    reverse : bool
        Whether the last step comes first.

    Returns
    -------
    bool
        False where there is no code for it.
    """
    weight, kept = tensors["weight"], tensors["used" if mode in ("LSTM", "GRU") and backwards else "outputs"]
    assert weight is not None and kept is not None
    dtype = weight._dtype
    steps, rows = kept._sizes[:2]
    gates, width = GATES[mode], weight._sizes[1]
    form = Form(mode, _ELEMS[dtype], backwards)
    call, sizes = _loaded(form), (rows, width if backwards else gates * width)
    terms = weight._sizes[0] if backwards else width
    is_packed = terms * sizes[1] * rows > blas.SMALL and blas.is_own(dtype, sizes, terms, blas.PACKED)
    product = blas.native_product(dtype, sizes, terms, is_packed)
    if call is None or product is None:
        return False
    keep = backwards or "used" in tensors
    given: dict[str, Any] = {name: _plain(t) if name != "grad_outputs" else t for name, t in tensors.items()}
    grad = given.get("grad_outputs")
    far = (0, 0)
    if backwards:
        grad = _with_rows(grad, sizes, dtype)
        far = grad._strides[-3:-1] if grad.ndim == 3 else (0, 0)
        given["grad_outputs"] = grad
        _begin(given)
        given["sums"] = given["of_hidden"]
        if mode == "GRU":
            given["through"] = _zeros(sizes, dtype)
    else:
        given["sums"] = allocate(sizes, (sizes[1], 1), dtype, cpu)
        for name in ("used", "from_hidden") if mode in ("LSTM", "GRU") and not keep else ():
            given[name] = allocate(sizes, (sizes[1], 1), dtype, cpu)
        if not keep:
            given["cells"] = given.get("last_cell")
        if given["bias"] is None:
            # What changes nothing that it is added to, not even the sign of 0.
            given["bias"] = _filled((sizes[1],), dtype, -0.0)
    right = weight if backwards else _turned(weight, is_packed)
    room = allocate((-(-sizes[1] // _PANEL) * _PANEL * terms,), (1,), dtype, cpu) if is_packed else None
    sums = given["sums"]
    words = blas.words_of(
        dtype, (sums.data_ptr(), sizes, (sizes[1], 1)), (0, (rows, terms), (terms, 1)),
        (right.data_ptr(), (terms, sizes[1]), right._strides),
    )  # fmt: skip
    addresses = [0 if t is None else t.data_ptr() for t in map(given.get, _TENSORS)]
    first, following = (steps - 1, -1) if reverse else (0, 1)
    epilogue = (0,) * (_PRODUCT_WORDS - len(words) - 2)
    packed = 0 if room is None else room.data_ptr()
    call(product, steps, rows, width, first, following, *far, int(keep), *addresses, *words, *epilogue, packed, 0)
    return True


def _plain(t: Tensor | None) -> Tensor | None:
    """A tensor row-major; of a weight any matrix will do, which is not asked for."""
    if t is None or t._strides == contiguous_strides(t._sizes):
        return t
    made = allocate(t._sizes, contiguous_strides(t._sizes), t._dtype, cpu)
    made._array[...] = t._array
    return made


def _turned(weight: Tensor, is_packed: bool) -> Tensor:
    """A weight as the right operand: a view where it is packed anyway, else a copy, whose rows lie in one piece."""
    rows, columns = weight._sizes
    if is_packed:
        return weight._make_view((columns, rows), weight._strides[::-1], weight._offset)
    made = allocate((columns, rows), (rows, 1), weight._dtype, cpu)
    made._array[...] = weight._array.T
    return made


def _with_rows(grad: Tensor | None, sizes: Sequence[int], dtype: Any) -> Tensor:
    """The gradient of outputs with rows that lie in one piece; of a missing one, one step for all."""
    if grad is None:
        return _zeros(sizes, dtype)
    return grad if grad._strides[-1] == 1 else _plain(grad)  # type: ignore[return-value]


def _begin(given: dict[str, Any]) -> None:
    """Have the gradients of the last states where the first ones' will be."""
    for to, source in (("of_hidden", "grad_last"), ("of_cell", "grad_last_cell")):
        target = given.get(to)
        if target is not None:
            start = given.get(source)
            target._array[...] = 0 if start is None else start._array


def _zeros(sizes: Sequence[int], dtype: Any) -> Tensor:
    return _filled(sizes, dtype, 0.0)


def _filled(sizes: Sequence[int], dtype: Any, value: float) -> Tensor:
    made = allocate(tuple(sizes), contiguous_strides(tuple(sizes)), dtype, cpu)
    made._array[...] = np.asarray(value, dtype.numpy)
    return made
