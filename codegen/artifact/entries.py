"""The host steps of a program as a table of instructions that the artifact runs, with all that it checks.

The frame begins with words that the runtime fills in (`model.ll`): where the weights, the custom operators and the
block of memory are, of each input its address, sizes and strides, and of each result its address. First come the
checks of sizes and strides, the sizes of the results and the bytes of the block; then addresses, then what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from opweave.codegen.artifact.kernels import Compiled
from opweave.codegen.artifact.tensors import Described, Dynamic, Weights
from opweave.codegen.host import steps as host
from opweave.codegen.host.operands import Address, Expression, Layout, Local, TensorType
from opweave.codegen.host.segments import Life, dense_nbytes_of, lie_alike, nbytes_of, plan
from opweave.codegen.host.steps import Program, Step
from opweave.codegen.kernel import KernelSource
from opweave.codegen.native.launch import FLOAT64, INTEGER, NativeParameter
from opweave.codegen.native.segments import ASSERTED, CALL, EXPECT, LEAST, LOAD, MOST, SKIP, NotRecorded, Recorder, Word
from opweave.fake.symbolic import SymNumber
from opweave.registry.containers import is_sequence
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import UnsupportedError
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor

WEIGHTS, OPERATORS, MEMORY, GIVEN = range(4)
#: Of the number of a message, which is an error's code.
FIRST_MESSAGE = 100
_WORD = NativeParameter(INTEGER, -(2**63), 2**63 - 1)
_FLOAT = NativeParameter(FLOAT64, 0, 0)
#: Words of a `DLTensor`.
_TENSOR = 6


@dataclass(frozen=True)
class Entry:
    """A program of an artifact.

    Attributes
    ----------
    name : str
        What it is called.
    inputs, results : tuple of Described
        What it is given, and what it makes.
    symbols : mapping of str to (int, int or None)
        Sizes that are not fixed: the least and largest values.
    recorder : Recorder
        The table and its frame.
    checks : int
        How many instructions come before the block of memory is there.
    memory : int
        Where in the frame its bytes are.
    operators : tuple of str
        Custom operators that it calls.
    """

    name: str
    inputs: tuple[Described, ...]
    results: tuple[Described, ...]
    symbols: Mapping[str, tuple[int, int | None]]
    recorder: Recorder
    first: Sequence[tuple[int, int, int, int]]
    memory: int
    operators: tuple[str, ...]

    @property
    def table(self) -> list[tuple[int, int, int, int]]:
        """All instructions."""
        return [*self.first, *self.recorder.computing, *self.recorder.running]


def record(
    name: str,
    program: Program,
    names: Sequence[str],
    written: Sequence[int],
    dynamic: Dynamic,
    constants: Mapping[str, Tensor],
    weights: Weights,
    messages: list[str],
    compile_kernel: Callable[[KernelSource, bool], Compiled],
) -> Entry:
    """The table of a program.

    Parameters
    ----------
    name : str
        Of the entry.
    program : Program
        Its steps, with kernels and without segments.
    names : sequence of str
        Of the inputs.
    written : sequence of int
        Which of them are written.
    dynamic : Dynamic
        Sizes that are not fixed.
    constants : mapping of str to Tensor
        What its `Constant` steps read.
    weights : Weights
        Gets those.
    messages : list of str
        Gets what its checks say.
    compile_kernel : callable
        Makes a kernel's code; told whether memory that it reads and memory that it writes are known to be different.

    Raises
    ------
    UnsupportedError
        If it does what an artifact cannot.
    """
    return _Maker(name, program, names, written, dynamic, constants, weights, messages, compile_kernel).entry()


class _Maker:
    def __init__(
        self,
        name: str,
        program: Program,
        names: Sequence[str],
        written: Sequence[int],
        dynamic: Dynamic,
        constants: Mapping[str, Tensor],
        weights: Weights,
        messages: list[str],
        compile_kernel: Callable[[KernelSource, bool], Compiled],
    ) -> None:
        self.name, self.program, self.names, self.dynamic = name, program, names, dynamic
        self.written = written
        self.constants, self.weights, self.messages, self.compile_kernel = constants, weights, messages, compile_kernel
        self.step: Step | None = None
        returned = program.steps[-1]
        assert isinstance(returned, host.Return)
        if not is_sequence(returned.value) or not all(isinstance(v, Local) for v in returned.value):
            self._refuse("a result that is no tensor", str(returned.value))
        self.results: list[Local] = [*returned.value]
        given = GIVEN + sum(1 + 2 * len(x.tensor.sizes) for x in program.inputs) + len(self.results)
        self.recorder = Recorder([int] * given, linked=True)
        self.kernels: dict[str, Compiled] = {}
        self.operators: dict[str, int] = {}
        #: The addresses of tensors, and numbers.
        self.words: dict[Local, Word] = {}
        #: Numbers by symbol.
        self.symbols: dict[str, Word] = {}
        self.base: dict[Local, Local] = {}
        for step in program.steps:
            if isinstance(step, (host.View, host.Move)):
                self.base[step.result] = step.base if isinstance(step, host.View) else step.of
        #: What calls return.
        self.made = {step: self._made_by(step) for step in program.steps if isinstance(step, host.Call)}
        #: What is given from outside: it may lie in the memory of others.
        self.outside: set[Local] = {*program.inputs}

    def entry(self) -> Entry:
        place, inputs = GIVEN, list[Described]()
        for number, (local, name) in enumerate(zip(self.program.inputs, self.names, strict=True)):
            kind = local.tensor
            self.words[local] = self.recorder.inputs[place]
            self._bind(kind, place + 1)
            sizes, strides = self._shown(kind.sizes), self._shown(kind.strides)
            inputs.append(Described(name, kind.dtype, sizes, strides, place, number in self.written))
            place += 1 + 2 * len(kind.sizes)
        for described, local in zip(inputs, self.program.inputs, strict=True):
            self._check_input(described, local.tensor)
        self._check_symbols()
        results: list[Described] = []
        for number, local in enumerate(self.results):
            kind = local.tensor
            dims = tuple(self.recorder.place(self._value(n)) for n in (*kind.sizes, *kind.strides))
            sizes, strides = self._shown(kind.sizes), self._shown(kind.strides)
            results.append(Described(f"result_{number}", kind.dtype, sizes, strides, place, True, dims))
            # What goes on under another name is made where the result is wanted.
            self.words[local] = self.words[self._root(local)] = self.recorder.inputs[place]
            place += 1
        made = [self._root(local) for local in self.results]
        if len({*made}) < len(made) or any(root in self.outside for root in made):
            self._refuse("results that share memory", str(self.results))
        lives = self._lives()
        memory = self.recorder.place(plan(lives, {}, self._value))
        first, self.recorder.computing = self.recorder.computing, []
        for local, life in lives.items():
            self.words[local] = self.recorder.inputs[MEMORY] + life.place
        for step in self.program.steps:
            self.step = step
            try:
                _STEPS.get(type(step), _Maker._unknown)(self, step)
            except NotRecorded:
                self._refuse(f"the step `{type(step).__name__.lower()}`, or a size in it", step.origin.name)
        symbols = {self.dynamic.names.get(name, name): self.dynamic.ranges[name] for name in self.symbols}
        return Entry(
            self.name, tuple(inputs), tuple(results), symbols, self.recorder, first, memory, tuple(self.operators)
        )

    def _refuse(self, what: str, got: str, hint: str = "") -> Any:
        site = None if self.step is None else self.step.origin.site
        raise UnsupportedError(f"compile: {self.name}: an artifact has no {what}", got=got, at=site, hint=hint or None)

    # ---- numbers ---------------------------------------------------------------------------------------------------

    def _bind(self, kind: TensorType, place: int) -> None:
        """Take symbols from where they stand by themselves."""
        for number in (*kind.sizes, *kind.strides):
            if isinstance(number, SymNumber) and number.expr.is_Symbol:
                self.symbols.setdefault(number.expr.name, self.recorder.inputs[place])
            place += 1

    def _value(self, number: Any) -> Any:
        """A number of the trace or of the program, as a word where it is not fixed."""
        if isinstance(number, Local):
            return self.words[number]
        if isinstance(number, Expression):
            number = number.number
        if not isinstance(number, SymNumber):
            return number
        return self._evaluated(number.env, number.env.simplify(number.expr))

    def _evaluated(self, env: Any, expr: Any) -> Any:
        unknown = [s.name for s in expr.free_symbols if s.name not in self.symbols]
        if unknown:
            self._refuse("size that follows from no input", str(expr))
        text = env.python(expr, _name_of)
        names = {"min": self.recorder.minimum, "max": self.recorder.maximum}
        try:
            return eval(text, {"__builtins__": {}, **names}, {**self.symbols})
        except (NotRecorded, NameError, TypeError):
            return self._refuse("size of such a form", text)

    def _shown(self, numbers: Iterable[Any]) -> tuple[int | str, ...]:
        return tuple(n if type(n) is int else self._text(n) for n in numbers)

    def _text(self, number: Any) -> str:
        return number.env.python(number.env.simplify(number.expr), self._called)

    def _called(self, symbol: Any) -> str:
        """What the user calls a size."""
        return self.dynamic.names.get(symbol.name, symbol.name)

    # ---- checks ----------------------------------------------------------------------------------------------------

    def _message(self, text: str) -> int:
        self.messages.append(f"{self.name}: {text}")
        return FIRST_MESSAGE + len(self.messages) - 1

    def _check(self, what: int, word: Any, other: Any, text: str) -> None:
        left, right = self.recorder.place(word), self.recorder.place(other)
        self.recorder.computing.append((what, left, right, self._message(text)))

    def _check_input(self, described: Described, kind: TensorType) -> None:
        at, dims = described.place + 1, len(kind.sizes)
        for dim, size in enumerate(kind.sizes):
            word, shown = self.recorder.inputs[at + dim], described.sizes[dim]
            if isinstance(size, SymNumber) and self.symbols.get(str(size.expr)) is word:
                continue
            self._check(EXPECT, word, self._value(size), f"{described.name}: size of dim {dim} must be {shown}")
        for dim, step in enumerate(kind.strides):
            word, shown = self.recorder.inputs[at + dims + dim], described.strides[dim]
            self.recorder.computing.append((SKIP, at + dim, 0, 0))
            place = self.recorder.place(self._value(step)) if type(step) is int else None
            if place is None:
                # What computes it must not stand behind the one that may be skipped.
                self.recorder.computing.pop()
                place = self.recorder.place(self._value(step))
                self.recorder.computing.append((SKIP, at + dim, 0, 0))
            text = f"{described.name}: stride of dim {dim} must be {shown} elements"
            self.recorder.computing.append((EXPECT, word.place, place, self._message(text)))

    def _check_symbols(self) -> None:
        for symbol, word in self.symbols.items():
            low, high = self.dynamic.ranges[symbol]
            name = self.dynamic.names.get(symbol, symbol)
            self._check(LEAST, word, max(low, 1), f"size {name} must be {max(low, 1)} at least")
            if high is not None:
                self._check(MOST, word, high, f"size {name} must be {high} at most")
        for env, expr, site in self.dynamic.demands:
            shown = env.python(expr, self._called)
            self._demand(env, expr, f"sizes must fulfil {shown}" + (f" ({site.short})" if site else ""))

    def _demand(self, env: Any, expr: Any, text: str) -> None:
        if not expr.is_Relational:
            self._refuse("relation of sizes of such a form", text)
        left, right = self._evaluated(env, expr.lhs), self._evaluated(env, expr.rhs)
        relation = expr.rel_op
        if relation in ("==", "<=", ">="):
            self._check({"==": EXPECT, "<=": MOST, ">=": LEAST}[relation], left, right, text)
        elif relation in ("<", ">"):
            self._check(LEAST if relation == ">" else MOST, left, right + (1 if relation == ">" else -1), text)
        elif relation == "!=":
            apart = left - right
            self._check(LEAST, apart * apart, 1, text)
        else:
            self._refuse("relation of sizes of such a form", text)

    # ---- memory ----------------------------------------------------------------------------------------------------

    def _root(self, local: Local) -> Local:
        while local in self.base:
            local = self.base[local]
        return local

    def _lives(self) -> dict[Local, Life]:
        """What is made and not returned, and from when to when it is needed."""
        made: set[Local] = set()
        returned_roots = {self._root(local) for local in self.results}
        lives: dict[Local, Life] = {}
        for number, step in enumerate(self.program.steps):
            if isinstance(step, host.Alloc):
                made.add(step.result)
            returned = self.made.get(step, ()) if isinstance(step, host.Call) else ()
            made.update(returned)
            if isinstance(step, (host.Alloc, host.Free)):
                continue
            for local in (*step.uses, *step.defines, *returned):
                root = self._root(local)
                if root in lives:
                    lives[root].last = number
                elif root in made and root not in returned_roots:
                    nbytes = dense_nbytes_of(root)
                    if nbytes is None:
                        self.step = step
                        self._refuse("memory with gaps", str(root))
                    lives[root] = Life(nbytes, number, number)
        return lives

    # ---- steps -----------------------------------------------------------------------------------------------------

    def _unknown(self, step: Step) -> None:
        self._refuse(f"step `{type(step).__name__.lower()}`", step.origin.name)

    def _nothing(self, step: Step) -> None:
        """What only Python needs."""

    def _constant(self, step: host.Constant) -> None:
        at = self.weights.place(self.constants[step.attribute])
        self.words[step.result] = self.recorder.inputs[WEIGHTS] + at

    def _read(self, step: host.Read) -> None:
        number, local = step.result, self._root(step.of)
        kind = local.type
        if not isinstance(kind, TensorType) or local not in self.program.inputs or step.promise is not None:
            self._refuse("size that depends on data", step.origin.name)
            return
        if step.what == "offset":
            self._refuse("offset of a tensor's memory", step.origin.name)
        place = self.words[local].place + 1 + step.dim + (len(kind.sizes) if step.what == "stride" else 0)
        self.words[number] = self.recorder.inputs[place]

    def _view(self, step: host.View) -> None:
        if step.result in self.words:  # a result
            self._refuse("result that is a view", str(step.result))
        shift = self._value(step.shift)
        word = self.words[step.base]
        self.words[step.result] = word if type(shift) is int and not shift else (
            word + shift * step.base.tensor.dtype.itemsize
        )  # fmt: skip

    def _move(self, step: host.Move) -> None:
        self.words.setdefault(step.result, self.words[step.of])

    def _copy(self, step: host.Copy) -> None:
        nbytes = nbytes_of(step.to)
        if nbytes is None or not lie_alike(step.to, step.of):
            self._refuse("copy from one layout to another", step.origin.name, "pass x.contiguous()")
        self.recorder.move(self.words[step.to], self.words[step.of], self._value(nbytes))

    def _cell(self, step: host.Cell) -> None:
        place = self.recorder.fresh()
        address = self.recorder.fresh()
        self.recorder.put_place(address, place)
        self.words[step.result] = Word(self.recorder, address)
        self.cell = place

    def _check_cell(self, step: host.Check) -> None:
        said = [self._message(f"{what}{f' ({site.short})' if site else ''}") for what, site in step.checks]
        self.recorder.running.append((ASSERTED, self.cell, 0, said[0]))

    def _kernel(self, step: host.Launch) -> Compiled:
        kernel = step.kernel
        assert isinstance(kernel, KernelSource)
        touched = [self._root(local) for local in (*step.inputs, *step.outputs)]
        # Of what is given from outside nobody knows whether it lies in the same memory.
        apart = len({*touched}) == len(touched) and sum(local in self.outside for local in touched) < 2
        return self.compile_kernel(kernel, apart)

    def _launch(self, step: host.Launch) -> None:
        kernel = self._kernel(step)
        grid, arguments = [self._value(n) for n in step.grid], [self._argument(a) for a in step.arguments]
        self._run(kernel, grid, arguments)

    def _run(self, kernel: Compiled, grid: Sequence[Any], arguments: Sequence[Any]) -> None:
        before = len(self.recorder.running)
        self.recorder.launch(kernel, *grid, *arguments)
        said = [self._message(_said(kernel.name, assertion)) for assertion in kernel.assertions]
        for i, (what, d, a, b) in enumerate(self.recorder.running[before:], before):
            self.recorder.running[i] = (what, d, a, said[0] if what == ASSERTED else b)

    def _argument(self, argument: Any) -> Any:
        return self.words[argument.of] if isinstance(argument, Address) else self._value(argument)

    def _product(self, step: host.Product) -> None:
        if step.factors is not None:
            parts = [None if x is None else self._matrix(x) for x in (step.out, step.a, step.b, step.term)]
            self.recorder.multiply(step.a.tensor.dtype, *parts, *step.factors)
            return
        dtype, parts = step.out.tensor.dtype, (self._matrix(step.out), self._matrix(step.a), self._matrix(step.b))
        then = step.epilogue
        follows = None if then is None else self._kernel(then.launch)
        if then is not None and follows is not None and follows.is_plain:
            grid = [self._value(n) for n in then.launch.grid]
            arguments = [self._argument(a) for a in then.launch.arguments]
            launch = partial(self.recorder.launch, follows)
            self.recorder.product(dtype, *parts, then.elements, then.programs, launch, grid, arguments)
            return
        self.recorder.product(dtype, *parts)
        if then is not None:
            self._launch(then.launch)

    def _convolve(self, step: host.Convolve) -> None:
        parts = [None if x is None else self._matrix(x) for x in (step.out, step.a, step.b, step.bias)]
        self.recorder.convolve(step.form, step.out.tensor.dtype, *parts, step.groups, *step.steps)

    def _matrix(self, local: Local) -> tuple[Any, list[Any], list[Any]]:
        kind = local.tensor
        return self.words[local], [self._value(n) for n in kind.sizes], [self._value(n) for n in kind.strides]

    # ---- custom operators ------------------------------------------------------------------------------------------

    def _call(self, step: host.Call) -> None:
        target: Any = getattr(step.target, "function", None)
        if isinstance(step.result.type, TensorType) and 0 in step.result.tensor.sizes and not _writes(target):
            return  # nothing is in it
        if not isinstance(target, OpOverload) or target.name.startswith(("aten::", "opweave::", "higher_order::")):
            is_random = isinstance(target, OpOverload) and target.is_random
            self._refuse(
                f"code for random numbers ({step.target})" if is_random else f"code for {step.target}",
                step.origin.name,
                "their generator is Python's: pass them in"
                if is_random
                else "it runs in Python alone; leave it out of the exported function, or make it a custom operator",
            )
        tensors: list[Local | None] = []
        numbers: list[float | int] = []
        for argument in target._schema.arguments:
            value = _argument_of(step, target._schema, argument)
            if isinstance(value, Local) and isinstance(value.type, TensorType):
                tensors.append(value)
            elif value is None:
                tensors.append(None)
            elif isinstance(value, (bool, int, float)):
                numbers.append(value)
            else:
                self._refuse(f"argument {argument.name!r} of that kind for {target.name}", str(value))
        results = self.made[step]
        if len(results) != len(target._schema.returns):
            self._refuse(f"operator {target.name}, whose results nothing reads", step.origin.name)
        number = self.operators.setdefault(target.name, len(self.operators))
        message = self._message(f"{target.name} failed")
        given, made, scalars = self._structs(tensors), self._structs(results), self.recorder.fresh(len(numbers) + 1)
        for i, value in enumerate(numbers):
            self.recorder.put(scalars + i, value, _FLOAT if isinstance(value, float) else _WORD)
        call = self.recorder.fresh(3)
        for i, place in enumerate((given, made, scalars)):
            self.recorder.put_place(call + i, place)
        function = self.recorder.fresh()
        # The table of operators holds addresses: the instruction reads it.
        self.recorder.computing.append((LOAD, function, OPERATORS, number))
        self.recorder.running.append((CALL, call, function, message))

    def _made_by(self, call: host.Call) -> list[Local]:
        """What an operator returns, also what nothing reads."""
        result, steps = call.result, self.program.steps
        if isinstance(result.type, TensorType):
            return [result]
        read = {s.key: s.result for s in steps if isinstance(s, host.Item) and s.of is result}
        layouts = next((s.layouts for s in steps if isinstance(s, host.Conform) and s.of is result), ())
        assert isinstance(layouts, tuple)
        return [read.get(i) or self._unread(f"{result}_{i}", layout) for i, layout in enumerate(layouts)]

    def _unread(self, name: str, layout: Layout) -> Local:
        sizes, strides = (
            tuple(n.number if isinstance(n, Expression) else n for n in numbers)
            for numbers in (layout.sizes, layout.strides)
        )
        return Local(name, TensorType(sizes, strides, 0, layout.dtype, layout.device))

    def _structs(self, tensors: Sequence[Local | None]) -> int:
        """`DLTensor`s, one behind the other; zeros for one that is left out."""
        structs = self.recorder.fresh(_TENSOR * len(tensors) + 1)
        for i, local in enumerate(tensors):
            if local is None:
                continue
            kind = local.tensor
            sizes, strides = ([self._value(n) for n in numbers] for numbers in (kind.sizes, kind.strides))
            self.recorder.put_tensor(structs + _TENSOR * i, self.words[local], sizes, strides, kind.dtype)
        return structs


def _name_of(symbol: Any) -> str:
    return symbol.name


def _writes(target: Any) -> bool:
    return not isinstance(target, OpOverload) or any(a.is_write for a in target._schema.arguments)


def _argument_of(step: host.Call, schema: Any, argument: Any) -> Any:
    positional = [a for a in schema.arguments if not a.kwarg_only]
    if argument.name in step.kwargs:
        return step.kwargs[argument.name]
    place = positional.index(argument) if argument in positional else len(step.args)
    return step.args[place] if place < len(step.args) else argument.default


def _said(name: str, assertion: str) -> str:
    place, _, message = assertion.partition("\0")
    return f"{name}: {message}" + (f" ({place})" if place else "")


_STEPS: dict[type[Step], Callable[[_Maker, Any], None]] = {
    host.Constant: _Maker._constant, host.Read: _Maker._read, host.View: _Maker._view, host.Copy: _Maker._copy,
    host.Move: _Maker._move, host.Cell: _Maker._cell, host.Launch: _Maker._launch, host.Product: _Maker._product,
    host.Convolve: _Maker._convolve,
    host.Call: _Maker._call, host.Check: _Maker._check_cell, host.Alloc: _Maker._nothing, host.Item: _Maker._nothing,
    host.Count: _Maker._nothing, host.Conform: _Maker._nothing, host.Bump: _Maker._nothing, host.Free: _Maker._nothing,
    host.Return: _Maker._nothing,
}  # fmt: skip
