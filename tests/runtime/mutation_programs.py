"""Random programs of views, mutation, mutating ops and aliases; each runs eagerly and compiled, and must do the same.

    python tests/runtime/mutation_programs.py --count 10000 --seed 0

A program is Python source. It grows line by line while it runs, so that its lines fit the tensors that are there; a few
end with a line that raises. What is compared: results, arguments afterwards, gradients, types, strides, which tensors
share memory and where, and which are one object. A program that fails is made as short as possible and printed as a
script that runs by itself.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import linecache
import os
import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

import mutation_ops
import numpy as np

import opweave
from opweave.registry.autograd import engine
from opweave.registry.errors import AutogradError, OpweaveError, UnsupportedError
from opweave.registry.tensor import Tensor

#: What a script needs to make its arguments.
MAKE = '''
def make(draw, sizes, dtype):
    """Small whole numbers, so that every order of additions gives the same."""
    values = draw.integers(-3, 4, size=sizes)
    return opweave.from_numpy(np.array(values)).to(getattr(opweave, dtype))
'''
exec(MAKE, globals())

SIZES = ((3, 4), (3, 4), (4, 3), (12,), (2, 3, 2), (4,), (3,), (3, 3), (1, 4), (), (0, 4), (1,))
DTYPES = ("float32",) * 6 + ("float16", "int64", "int32", "bool", "float64")


@dataclass(frozen=True)
class Line:
    """A statement, the variables it sets and those it reads."""

    text: str
    sets: tuple[str, ...]
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """A function as source.

    Attributes
    ----------
    setup : tuple of Line
        Statements that make the arguments and leaves from `draw`.
    arguments : tuple of str
        Names of the parameters, set by `setup`.
    leaves : tuple of str
        Tensors that gradients are taken for, set by `setup`.
    body : tuple of Line
    results : tuple of str
    """

    setup: tuple[Line, ...]
    arguments: tuple[str, ...]
    leaves: tuple[str, ...]
    body: tuple[Line, ...]
    results: tuple[str, ...]

    def __str__(self) -> str:
        setup = "".join(f"    {line.text}\n" for line in self.setup)
        body = "".join(f"    {line.text}\n" for line in self.body)
        return (
            f"def inputs(seed):\n    draw = np.random.default_rng(seed)\n{setup}"
            f"    return [{', '.join(self.arguments)}], [{', '.join(self.leaves)}]\n\n\n"
            f"def run({', '.join(self.arguments)}):\n{body}"
            f"    return [{', '.join(self.results)}]\n"
        )

    def build(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """(inputs, run)."""
        text = str(self)
        name = f"<program {hash(text)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        space = dict(_SPACE)
        exec(compile(text, name, "exec"), space)
        return space["inputs"], space["run"]


_OPS = "accumulate bump swap shift_all anything maybe tripled launch doubled_into doubled".split()
_SPACE = {"opweave": opweave, "np": np, "make": globals()["make"], **{n: getattr(mutation_ops, n) for n in _OPS}}


# ---- making programs -------------------------------------------------------------------------------------------------


class Maker:
    """Grows one program.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.space: dict[str, Any] = dict(_SPACE, draw=np.random.default_rng(seed))
        self.lines: list[Line] = []
        self.count = 0
        self.pool: list[str] = []

    def make(self) -> Program:
        draw = self.draw
        setup, arguments, leaves = self._inputs()
        self.pool = list(dict.fromkeys(arguments))
        length, tries = draw.randrange(3, 12), 0
        wild = draw.random() < 0.05
        while len(self.lines) < length and tries < 80:
            tries += 1
            line = draw.choice(STEPS)(self)
            if line is None:
                continue
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    exec(line.text, self.space)
            except Exception:  # the line does not fit
                if wild and len(self.lines) > 1:
                    self.lines.append(line)
                    break
                continue
            self.lines.append(line)
            self.pool += [name for name in line.sets if isinstance(self.space[name], Tensor)]
        recent = self.pool[-6:] + arguments
        results = draw.sample(recent, min(len(recent), draw.randrange(1, 5)))
        known = {*arguments, *(name for line in self.lines if line.text in self.done() for name in line.sets)}
        return Program(
            setup, tuple(arguments), tuple(leaves), tuple(self.lines), tuple(r for r in results if r in known)
        )

    def done(self) -> set[str]:
        """Lines that ran."""
        return {line.text for line in self.lines if all(name in self.space for name in line.sets)}

    def _inputs(self) -> tuple[tuple[Line, ...], list[str], list[str]]:
        draw, setup, arguments, leaves = self.draw, [], [], []
        grad = draw.random() < 0.4

        def put(name: str, text: str, *reads: str) -> None:
            setup.append(Line(f"{name} = {text}", (name,), reads))
            exec(setup[-1].text, self.space)

        main = draw.choice(SIZES)
        bases: list[str] = []
        for i in range(draw.randrange(1, 4)):
            name = "abc"[i]
            if bases and draw.random() < 0.2:
                source = draw.choice(bases)
                text = self._part(source)
                put(name, text, source)
                arguments.append(name)
                continue
            sizes = main if draw.random() < 0.7 else draw.choice(SIZES)
            dtype = "float32" if grad and i == 0 else draw.choice(DTYPES)
            made = f'make(draw, {sizes}, "{dtype}")'
            if grad and dtype.startswith("float") and draw.random() < 0.8:
                leaf = f"leaf_{name}"
                put(leaf, f"{made}.requires_grad_()")
                leaves.append(leaf)
                put(name, leaf if draw.random() < 0.7 else f"{leaf} * 2", leaf)
            else:
                put(name, made)
                bases.append(name)
                if draw.random() < 0.15:
                    whole = f"whole_{name}"
                    setup[-1] = Line(f"{whole} = {made}", (whole,), ())
                    self.space[whole] = self.space[name]
                    put(name, self._part(whole), whole)
            arguments.append(name)
        return tuple(setup), arguments, leaves

    def _part(self, source: str) -> str:
        """An expression for a view of a tensor, or the tensor."""
        t = self.space[source]
        fits = [source, f"{source}.t()" if t.ndim == 2 else source]
        flat = f"{source}.view(-1)" if t.is_contiguous() else source
        if t.ndim:
            fits += [f"{source}[1:]", f"{source}[:2]", flat, f"{source}[::2]"]
        if t.numel():
            fits.append(f"{source}.unsqueeze(0)")
        if t.numel() == 12:
            fits += [f"{flat}[:6]", f"{flat}[4:]"]
        return self.draw.choice(fits)

    # ---- choices

    def name(self) -> str:
        """For a new variable."""
        self.count += 1
        return f"v{self.count}"

    def any(self) -> str:
        """A variable; recent ones more often."""
        if self.draw.random() < 0.4:
            return self.draw.choice(self.pool[-3:])
        return self.draw.choice(self.pool)

    def like(self, name: str) -> str | None:
        """Another variable of the same sizes."""
        t = self.space[name]
        fits = [n for n in self.pool if n != name and self.space[n].shape == t.shape]
        return self.draw.choice(fits) if fits else None

    def number(self) -> int:
        return self.draw.choice((0, 1, 2, 2, 3, -1))

    def guarded(self, text: str) -> str:
        """Now and then under no_grad."""
        return f"with opweave.no_grad(): {text}" if self.draw.random() < 0.1 else text


def _view(m: Maker) -> Line | None:
    a = m.any()
    t: Tensor = m.space[a]
    draw, sizes = m.draw, t.shape
    fits = [f"{a}.unsqueeze({draw.randrange(t.ndim + 1)})", f"{a}.view(-1)", f"{a}.detach()", f"{a}.reshape(-1)"]
    if t.ndim:
        d = draw.randrange(t.ndim)
        n = sizes[d]
        low = draw.randrange(n + 1)
        high = draw.randrange(low, n + 1)
        fits += [f"{a}[{draw.choice((':2', '1:', '-1:', '::2', '...', '1:1'))}]"] * 2
        fits += [f"{a}.narrow({d}, {low}, {high - low})", f"{a}.squeeze({d})", f"{a}[..., 1:]"]
        fits += [f"{a}.unsqueeze(0).expand({', '.join(map(str, (2, *sizes)))})"]
        if n:
            fits += [f"{a}.select({d}, {draw.randrange(-n, n)})"] * 2
        if 1 in sizes:
            fits.append(f"{a}.expand({', '.join(str(s if s != 1 else 2) for s in sizes)})")
    if t.ndim >= 2:
        dims = list(range(t.ndim))
        draw.shuffle(dims)
        fits += [f"{a}.permute({', '.join(map(str, dims))})", f"{a}.transpose(0, {draw.randrange(1, t.ndim)})"] * 2
        fits += [f"{a}.diagonal({draw.choice((0, 0, 1, -1))})"] * 2
        fits += [f"{a}.view({', '.join(map(str, reversed(sizes)))})", f"{a}.flatten()"]
    if t.numel() == 12:
        shape = draw.choice(("(3, 4)", "(2, 6)", "(12,)", "(2, 3, 2)", "(4, 3)"))
        fits += [f"{a}.reshape{shape}", f"{a}.view{shape}"] * 2
        offset = t.storage_offset()
        fits.append(f"{a}.as_strided({draw.choice(('(2, 3), (3, 1)', '(3,), (4,)', '(2, 2), (1, 2)'))})")
        fits.append(f"{a}.as_strided((4,), (2,), {offset + draw.randrange(4)})")
        fits.append(f"{a}.as_strided((3, 2), (1, 1))")
    name = m.name()
    return Line(m.guarded(f"{name} = {draw.choice(fits)}"), (name,), (a,))


def _parts(m: Maker) -> Line | None:
    a = m.any()
    t: Tensor = m.space[a]
    if not t.ndim:
        return None
    d = m.draw.randrange(t.ndim)
    x, y = m.name(), m.name()
    n = t.shape[d]
    if n == 2 and m.draw.random() < 0.3:
        return Line(f"{x}, {y} = {a}.unbind({d})", (x, y), (a,))
    if n >= 2 and m.draw.random() < 0.5:
        return Line(f"{x}, {y} = {a}.split([1, {n - 1}], {d})", (x, y), (a,))
    return Line(f"{x}, {y} = {a}.chunk(2, {d})", (x, y), (a,))


def _pure(m: Maker) -> Line | None:
    a = m.any()
    b = m.like(a)
    fits = [f"{a} + {m.number()}", f"{a} * 2", f"{a}.clone()", f"{a}.sum()", f"-{a}", f"{a}.relu()", f"{a} * 1"]
    fits += [f"{a}.to(opweave.{m.draw.choice(('float32', 'float16', 'int64', 'bool'))})", f"{a}.contiguous()"]
    fits += [f"opweave.zeros({tuple(m.space[a].shape)})", f"tripled({a})"]
    fits += [f"{a}.flip({d})" for d in range(m.space[a].ndim)] + [f"opweave.roll({a}, {m.number()})"]
    if m.space[a].is_floating_point():
        fits += [f"{a}.cumsum({d})" for d in range(m.space[a].ndim)]
        fits += [f"opweave.mm({a}, {a}.t()) * 0.125"] * (m.space[a].ndim == 2)
    fits += [f"{a}.reshape(-1)", f"opweave.zeros_like({a})", f"opweave.full({tuple(m.space[a].shape)}, {m.number()})"]
    if b is not None:
        fits += [f"{a} + {b}", f"{a} * {b}", f"opweave.where({b} > 0, {a}, 1)", f"opweave.cat([{a}, {b}], 0)"]
    if m.space[a].is_contiguous() and m.space[a].numel():
        fits.append(f"doubled({a})")
    name = m.name()
    return Line(m.guarded(f"{name} = {m.draw.choice(fits)}"), (name,), (a,) if b is None else (a, b))


def _in_place(m: Maker) -> Line | None:
    a = m.any()
    b = m.like(a)
    k = m.number()
    fits = [f"{a}.add_({k})", f"{a}.mul_({k})", f"{a}.fill_({k})", f"{a}.zero_()", f"{a}.neg_()", f"{a}.relu_()"]
    fits += [f"{a}.add_({a})", f"{a}.clamp_(-1, 2)", f"{a}.masked_fill_({a} > 0, {k})", f"{a}.mul_({a} + 1)"]
    fits += [f"{a}.sub_({k})", f"{a}.copy_({a} * 2)", f"{a} += {k}"]
    if b is not None:
        fits += [f"{a}.{op}_({b})" for op in ("add", "mul", "copy", "copy", "sub")]
        fits += [f"{a}.add_({b}, alpha=2)", f"{a}.masked_fill_({b} > 0, {k})"]
    if m.space[a].ndim and m.space[a].shape[0]:
        fits.append(f"{a}.add_({a}[0])")
    if m.draw.random() < 0.15 and len(m.pool) > 1:
        other = m.any()
        return Line(f"{a}.add_({other})", (), (a, other))
    return Line(m.guarded(m.draw.choice(fits)), (), (a,) if b is None else (a, b))


def _assigned(m: Maker) -> Line | None:
    a = m.any()
    t: Tensor = m.space[a]
    if not t.ndim:
        return None
    b = m.like(a)
    k = m.number()
    fits = [f"{a}[{key}] = {k}" for key in ("1:3", "0", "...", "::2", ":, None", "-1", "..., 0", "None")]
    fits += [f"{a}[1:3] += {k}", f"{a}[{a} > 0] = {k}", f"{a}[0] = {a}[-1]", f"{a}[[0, -1]] = {k}", f"{a}[:2] *= 2"]
    fits += [f"{a}[1:] = {a}[:-1].clone()", f"{a}[1:] = {a}[:-1] + 1", f"{a}[1:].zero_()"]
    if b is not None:
        fits += [
            f"{a}[:2] = {b}[:2]",
            f"{a}[{b} > 0] = {b}[{b} > 0]" if m.draw.random() < 0.1 else f"{a}[{b} > 0] = {k}",
        ]
        fits += [f"{a}[0].copy_({b}[-1])", f"{a}[1:] += {b}[1:]"]
    return Line(m.guarded(m.draw.choice(fits)), (), (a,) if b is None else (a, b))


def _custom(m: Maker) -> Line | None:
    a = m.any()
    b = m.like(a)
    k = m.number()
    name = m.name()
    fits = [Line(f"{name} = bump({a}, {k})", (name,), (a,)), Line(f"shift_all([{a}], {k})", (), (a,))]
    fits += [Line(f"maybe({a}, None)", (), (a,)), Line(f"{name} = {a}.clone(); accumulate({name}, {a})", (name,), (a,))]
    fits += [Line(f"accumulate({a}, {a}.clone())", (), (a,)), Line(f"accumulate({a}.clone(), {a})", (), (a,))]
    fits += [Line(f"swap({a}, {a}.clone())", (), (a,))]
    other = m.any()
    fits += [Line(f"anything({a}, {other})", (), (a, other))]
    if b is not None:
        fits += [Line(f"accumulate({a}, {b})", (), (a, b)), Line(f"swap({a}, {b})", (), (a, b))] * 2
        fits += [Line(f"shift_all([{a}, {b}], {k})", (), (a, b)), Line(f"anything({a}, {b})", (), (a, b))]
        fits += [Line(f"{name} = maybe({a}, {b})", (name,), (a, b))] * 2
    line = m.draw.choice(fits)
    t: Tensor = m.space[a]
    if t.dtype is opweave.bool or (t.ndim == 0 and "accumulate" in line.text):
        return None
    return dataclasses.replace(line, text=m.guarded(line.text)) if ";" not in line.text else line


def _launch(m: Maker) -> Line | None:
    a = m.any()
    b = m.like(a)
    t: Tensor = m.space[a]
    if t.dtype is opweave.bool or not t.numel() or t.numel() > 32 or not t.is_contiguous():
        return None
    fits = [Line(f"{(n := m.name())} = {a}.clone(); launch({a}, {n})", (n,), (a,))]
    fits += [Line(f"launch({a}.clone(), {a})", (), (a,)), Line(f"launch({a}, {a}.clone())", (), (a,))]
    fits += [Line(f"doubled_into({a}, {a}.clone())", (), (a,))]
    if b is not None and m.space[b].is_contiguous() and m.space[b].dtype is t.dtype:
        fits += [Line(f"launch({b}, {a})", (), (a, b)), Line(f"doubled_into({a}, {b})", (), (a, b))] * 2
    return m.draw.choice(fits)


def _indexed(m: Maker) -> Line | None:
    """Gathers, scatters, and tensors side by side."""
    a = m.any()
    b = m.like(a)
    t: Tensor = m.space[a]
    if not t.ndim or not t.numel():
        return None
    d, k, name = m.draw.randrange(t.ndim), m.number(), m.name()
    n = t.shape[d]
    places = [m.draw.randrange(-n, n) for _ in range(m.draw.randrange(1, 5))]
    index, at = f"opweave.tensor({places})", f"opweave.tensor({[p % n for p in places]})"
    first = f"opweave.tensor({[p % t.shape[0] for p in places]})"
    fits = [
        f"{a}[{first}]",
        f"{a}.index_select({d}, {at})",
        f"{a}[..., {index}]" if d == t.ndim - 1 else f"{a}[{first}]",
    ]
    fits += [f"{a}.index_fill({d}, {at}, {k})", f"opweave.cat([{a}, {a} * 2], {d})"]
    fits += [f"opweave.cat([{a}.narrow({d}, 0, 1), {a}], {d})", f"opweave.stack([{a}, {a} + {k}])"]
    fits += [f"opweave.nn.functional.pad({a}, [1, 2])", f"{a}.index_put([{first}], {a}[{first}] * 2, True)"]
    steps = [Line(f"{name} = {text}", (name,), (a,)) for text in fits]
    writes = [f"{a}[{first}] = {k}", f"{a}.index_put_([{first}], {a}[{first}] + 1, True)", f"{a}[{first}] += {k}"]
    writes += [f"{a}.index_fill_({d}, {at}, {k})", f"{a}.index_add_(0, {first}, {a}[{first}])"]
    writes += [f"{a}.copy_(opweave.cat([{a}[1:], {a}[:1]]))", f"{a}.copy_({a}[opweave.arange({t.shape[0]}) * 0])"]
    if b is not None:
        reads = f"{a}, {b}"
        steps += [Line(f"{name} = opweave.cat([{reads}, {a}], {d})", (name,), (a, b))] * 2
        steps += [Line(f"{name} = {a}.index_add(0, {first}, {b}[{first}])", (name,), (a, b))]
        steps += [Line(f"{name} = opweave.where({a} > 0, {b}[{first}][:1], {a})", (name,), (a, b))]
        steps += [
            Line(f"{a}[{first}] = {b}[{first}]", (), (a, b)),
            Line(f"{a}.index_add_(0, {first}, {b}[{first}])", (), (a, b)),
        ]
        steps += [Line(f"{a}.copy_(opweave.cat([{b}[1:], {a}[:1]]))", (), (a, b))]
    steps += [Line(m.guarded(text), (), (a,)) for text in writes]
    return m.draw.choice(steps)


STEPS = (
    (_view,) * 7 + (_parts,) + (_pure,) * 4 + (_in_place,) * 6 + (_assigned,) * 3 + (_custom,) * 3 + (_launch,) * 2
    + (_indexed,) * 5
)  # fmt: skip


# ---- running and comparing -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What can be told of a call from outside: a fact by name, or the error."""

    facts: dict[str, Any]
    error: BaseException | None = None


def observe(run: Callable[..., Any], inputs: Callable[..., Any], seed: int) -> Seen:
    """Call a function on new arguments, and look at everything."""
    given, leaves = inputs(seed)
    try:
        results = run(*given)
    except Exception as error:
        return Seen({}, error)
    facts: dict[str, Any] = {"number of results": len(results)}
    everything = [
        *[(f"argument {i}", t) for i, t in enumerate(given)],
        *[(f"result {i}", t) for i, t in enumerate(results)],
    ]
    first: dict[int, tuple[str, Tensor]] = {}
    for name, t in everything:
        facts[f"{name}: type"] = (tuple(t.shape), str(t.dtype), t.requires_grad)
        facts[f"{name}: strides"] = t.stride()
        facts[f"{name}: object"] = next(other for other, o in everything if o is t)
        owner, base = first.setdefault(id(t._storage), (name, t))
        facts[f"{name}: memory"] = (owner, t.storage_offset() - base.storage_offset())
        facts[f"{name}: values"] = t.detach().numpy().copy()
    unique = {id(t): t for t in results if t.requires_grad}
    if leaves and unique:
        roots = list(unique.values())
        vectors = [(opweave.arange(t.numel()).reshape(t.shape) + 1).to(t.dtype) for t in roots]
        try:
            found = engine.grad(roots, leaves, vectors, allow_unused=True)
        except OpweaveError as error:
            facts["gradients"] = "refused"
            return Seen(facts, None if True else error)
        for i, grad in enumerate(found):
            facts[f"gradient {i}"] = None if grad is None else grad.detach().numpy()
    return Seen(facts)


def difference(expected: Seen, got: Seen) -> str | None:
    """The first fact that is another one."""
    for name, want in expected.facts.items():
        have = got.facts.get(name)
        if name == "gradients" or (name.startswith("gradient") and "gradients" in got.facts):
            have, want = "gradients" in got.facts, "gradients" in expected.facts
        if isinstance(want, np.ndarray) and isinstance(have, np.ndarray):
            loose = 2e-2 if "float16" in str(want.dtype) else 1e-4
            if want.shape != have.shape or not np.allclose(have, want, loose, loose, equal_nan=True):
                return f"{name}: expected {want.tolist()}, got {have.tolist()}"
        elif (want is None) != (have is None) or isinstance(want, np.ndarray) or want != have:
            return f"{name}: expected {want}, got {have}"
    return None


@dataclass(frozen=True)
class Outcome:
    """What became of a program: `"equal"`, `"raises"`, `"refused"` or `"failed"`, and why."""

    kind: str
    why: str = ""


def attempt(program: Program, backend: str, dynamic: bool) -> Outcome:
    """Run a program eagerly and compiled, twice on other values."""
    inputs, run = program.build()
    compiled = opweave.compile(run, backend=backend, dynamic=dynamic)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in (1, 2):
            expected = observe(run, inputs, seed)
            try:
                got = observe(compiled, inputs, seed)
            except Exception as error:
                return Outcome("failed", f"compiled raises {one_line(error)}")
            if isinstance(got.error, UnsupportedError):
                return Outcome("refused", reason(got.error))
            if isinstance(got.error, AutogradError) and "gradients" in expected.facts:
                return Outcome(
                    "refused", "gradients: refused with the call, which eager code does when they are asked for"
                )
            if expected.error is not None:
                if got.error is None:
                    return Outcome("failed", f"eager raises, compiled does not: {one_line(expected.error)}")
                return Outcome("raises")
            if got.error is not None:
                return Outcome("failed", f"compiled raises {one_line(got.error)}")
            if "gradients" in got.facts and "gradients" not in expected.facts:
                return Outcome("refused", "gradients: the walk back of one of the results cannot be traced")
            found = difference(expected, got)
            if found is not None:
                return Outcome("failed", found)
    return Outcome("equal")


def one_line(error: BaseException) -> str:
    text = str(error).splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"


def reason(error: UnsupportedError) -> str:
    """The message without names of this program."""
    text = str(error).splitlines()[0]
    text = re.sub(r"\b(leaf_)?[abc]\b|\bv\d+\b|\bv\d+_\d+\b", "x", text)
    return re.sub(r"(mutation_ops|aten)\.\w+(\.\w+)?", "an op", text)


# ---- making a failure short ------------------------------------------------------------------------------------------


def minimised(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Take away lines and results, as long as it fails."""
    changed = True
    while changed:
        changed = False
        for candidate in _smaller(program):
            if fails(candidate):
                program, changed = candidate, True
                break
    return program


def _smaller(program: Program) -> Sequence[Program]:
    found = []
    for i in reversed(range(len(program.body))):
        gone = set(program.body[i].sets)
        body = list(program.body[:i])
        for line in program.body[i + 1 :]:
            if gone & set(line.reads):
                gone |= set(line.sets)
            else:
                body.append(line)
        results = tuple(r for r in program.results if r not in gone)
        found.append(dataclasses.replace(program, body=tuple(body), results=results))
    for i in range(len(program.results)):
        found.append(dataclasses.replace(program, results=program.results[:i] + program.results[i + 1 :]))
    used = {name for line in program.body for name in line.reads} | set(program.results)
    for name in program.arguments:
        if name not in used:
            needed = {n for line in program.setup for n in line.reads if name in line.reads}
            if name not in needed:
                setup = tuple(line for line in program.setup if line.sets != (name,))
                arguments = tuple(a for a in program.arguments if a != name)
                if arguments:
                    found.append(dataclasses.replace(program, setup=setup, arguments=arguments))
    return found


def script(program: Program, backend: str, dynamic: bool, why: str) -> str:
    """A program as a file that runs by itself and shows what differs."""
    sections = re.split(r"^# op: (\w+)\n", Path(mutation_ops.__file__).read_text(), flags=re.MULTILINE)
    ops = dict(zip(sections[1::2], sections[2::2], strict=True))
    text = str(program)
    needed = [name for name in ops if re.search(rf"\b{name}\(", text)]
    if {"launch", "doubled", "doubled_into"} & set(needed):
        needed.insert(0, "halve_and_add")
    head = "from collections.abc import Sequence\n\nimport numpy as np\nimport triton\nimport triton.language as tl\n\n"
    head += "import opweave\nfrom opweave.library import custom_op, triton_op, wrap_triton\n"
    definitions = "\n\n".join(ops[name].strip() for name in dict.fromkeys(needed))
    return (
        f"# {why}\n{head}{MAKE}\n{definitions}\n\n{text}\n\n"
        "for call in (run, "
        f"opweave.compile(run, backend={backend!r}, dynamic={dynamic})):\n"
        "    given, leaves = inputs(1)\n"
        "    results = call(*given)\n"
        '    print("results", *results, "arguments", *given, sep="\\n")\n'
        "    roots = [t for t in dict.fromkeys(results) if t.requires_grad]\n"
        "    if roots and leaves:\n"
        "        vectors = [(opweave.arange(t.numel()).reshape(t.shape) + 1).to(t.dtype) for t in roots]\n"
        '        print("gradients", opweave.autograd.grad(roots, leaves, vectors, allow_unused=True))\n'
    )


# ---- the search ------------------------------------------------------------------------------------------------------


def mode_of(seed: int) -> tuple[str, bool]:
    """(backend, dynamic) that a program is compiled with."""
    return ("eager" if seed % 3 == 0 else "opweave"), seed % 5 == 0


def failure(seed: int) -> tuple[Outcome, str]:
    """What became of the program of a seed; a script where it failed."""
    program = Maker(seed).make()
    backend, dynamic = mode_of(seed)
    outcome = attempt(program, backend, dynamic)
    if outcome.kind != "failed":
        return outcome, ""
    program = minimised(program, lambda p: attempt(p, backend, dynamic).kind == "failed")
    return outcome, script(program, backend, dynamic, f"seed {seed}: {attempt(program, backend, dynamic).why}")


def main() -> int:
    """Search, and print totals, refusals by reason, and failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="failing programs that are printed")
    options = parser.parse_args()
    kinds: collections.Counter[str] = collections.Counter()
    refusals: collections.Counter[str] = collections.Counter()
    examples: dict[str, int] = {}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OPWEAVE_CACHE_DIR"] = folder
        for seed in range(options.seed, options.seed + options.count):
            outcome, text = failure(seed)
            kinds[outcome.kind] += 1
            if outcome.kind == "refused":
                refusals[outcome.why] += 1
                examples.setdefault(outcome.why, seed)
            if text and kinds["failed"] <= options.show:
                print(text, flush=True)
            elif text:
                print(f"# seed {seed}: {outcome.why}"[:200], flush=True)
            if sys.stderr.isatty() and seed % 50 == 0:
                print(f"\r{seed}", end="", file=sys.stderr)
    print(f"{options.count} programs in {time.perf_counter() - start:.0f} s: {dict(kinds)}")
    for why, count in refusals.most_common():
        print(f"{count:6}  {why}  (seed {examples[why]})")
    return 1 if kinds["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
