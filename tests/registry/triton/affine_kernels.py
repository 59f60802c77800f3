"""Random kernels whose addresses are arithmetic of program ids, ranges, loops and arguments."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton
import triton.language as tl

from opweave.registry.triton.access import Access
from opweave.registry.triton.polynomial import Argument, Counter, Leaf, Loop, Program, Range, Trips

Environment = Mapping[str, Any]
_LARGEST = 1 << 14
_serial = itertools.count()


@dataclass(frozen=True)
class Expression:
    """Text for a kernel, and its value given those of the names in it; `bound` is what its magnitude is below."""

    text: str
    value: Callable[[Environment], Any]
    bound: int


@dataclass
class Kernel:
    """A kernel that adds 1 to each element it comes to, as often as it comes there, and what it should do."""

    source: str
    shape: tuple[int, ...]
    grid: tuple[int, int]
    arguments: dict[str, int]
    turns: list[dict[str, int]] = field(default_factory=list)
    """What the counters of loops are, turn by turn."""
    offset: Callable[[Environment], Any] = lambda env: 0
    mask: Callable[[Environment], Any] = lambda env: True

    def compiled(self) -> Any:
        file = f"<affine kernel {next(_serial)}>"
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(True), file)
        scope: dict[str, Any] = {"tl": tl, "__name__": __name__}
        exec(compile(self.source, file, "exec"), scope)
        return triton.jit(scope["kernel"])

    def touched(self) -> np.ndarray:
        """The offset of each lane that takes part, in all programs and turns."""
        found = []
        for pid0, pid1 in np.ndindex(self.grid):
            for turn in self.turns:
                env = {**self.arguments, **turn, "pid0": pid0, "pid1": pid1}
                offset, mask = np.broadcast_arrays(self.offset(env), self.mask(env), np.zeros(self.shape))[:2]
                found.append(offset[mask.astype(bool)])
        return np.concatenate([np.empty(0), *found]).astype(np.int64)


def predicted(access: Access, grid: tuple[int, int], arguments: Mapping[str, int]) -> np.ndarray:
    """The same, from the analysis."""
    found = []
    for program in np.ndindex(grid):
        known: dict[Leaf, Any] = {Program(axis): pid for axis, pid in enumerate(program)}

        def value(leaf: Leaf, known: dict[Leaf, Any] = known) -> Any:
            if isinstance(leaf, Argument):
                return arguments[leaf.name]
            if isinstance(leaf, Range):
                rank = len(access.shape)
                return np.arange(leaf.extent).reshape([-1 if d == leaf.dim else 1 for d in range(rank)])
            if isinstance(leaf, Trips):
                return _turns_of(leaf.loop, value)
            return known[leaf]

        for _ in _turns(access, known, value):
            if all(
                _holds(fact.left.evaluate(value), fact.relation, fact.right.evaluate(value)) for fact in access.guards
            ):
                live = np.ones(access.shape, bool)
                for fact in access.mask:
                    live &= _holds(fact.left.evaluate(value), fact.relation, fact.right.evaluate(value))
                found.append(np.broadcast_to(access.offset.polynomial.evaluate(value), access.shape)[live])
    return np.concatenate([np.empty(0), *found]).astype(np.int64)


def _turns(access: Access, known: dict[Leaf, Any], value: Callable[[Leaf], Any], at: int = 0) -> Iterator[None]:
    if at == len(access.loops):
        yield
        return
    loop = access.loops[at]
    for turn in range(_turns_of(loop, value)):
        known[Counter(loop)] = turn
        yield from _turns(access, known, value, at + 1)


def _turns_of(loop: Loop, value: Callable[[Leaf], Any]) -> int:
    assert loop.lower is not None and loop.upper is not None and loop.step is not None
    bounds = [loop.lower, loop.upper, loop.step]
    return len(range(*[int(b.evaluate(value)) for b in bounds]))


def _holds(left: Any, relation: str, right: Any) -> Any:
    operate = {"<": np.less, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}
    return operate[relation](left, right)


class Generator:
    """Writes one kernel: with loops and branches, and pointers and integers that loops carry."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.shape = self.pick([(8,), (4, 8), (2, 4, 4), (4, 4)])
        self.scalars = [Expression(k, lambda env, k=k: env[k], bound) for k, bound in _NAMES.items()]

    def pick(self, options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def lane(self) -> Expression:
        """A range along one dimension, or one along all in another order."""
        shape, size = self.shape, int(np.prod(self.shape))
        rank = len(shape)
        kind = self.rng.integers(6) if rank > 1 else 3
        if kind == 0:
            return Expression(
                f"tl.arange(0, {size}).reshape({shape})", lambda env: np.arange(size).reshape(shape), size
            )
        order = tuple(int(d) for d in self.rng.permutation(rank))
        if kind == 1:
            turned = tuple(shape[order.index(d)] for d in range(rank))
            text = f"tl.permute(tl.arange(0, {size}).reshape({turned}), {order})"
            return Expression(text, lambda env: np.arange(size).reshape(turned).transpose(order), size)
        if kind == 2:
            text = f"tl.permute(tl.arange(0, {size}).reshape({shape}), {order}).reshape({shape})"
            return Expression(text, lambda env: np.arange(size).reshape(shape).transpose(order).reshape(shape), size)
        d = int(self.rng.integers(rank))
        at = ", ".join(":" if k == d else "None" for k in range(rank))
        index = tuple(slice(None) if k == d else None for k in range(rank))
        start = int(self.pick([0, 0, shape[d]]))
        text = f"tl.arange({start}, {start + shape[d]})" + (f"[{at}]" if rank > 1 else "")
        return Expression(text, lambda env: np.arange(start, start + shape[d])[index], start + shape[d])

    def expression(self, block: bool, depth: int = 3) -> Expression:
        """Of numbers that are known where the kernel runs: what Python computes beforehand rounds otherwise."""
        if depth == 0 or self.rng.random() < 0.15:
            return self.lane() if block and self.rng.random() < 0.7 else self.pick(self.scalars)
        a = self.expression(block, depth - 1)
        kind = self.pick(
            ["+", "+", "-", "*", "min", "max", "*c", "+c", "//", "%", "//n", "%n", "&", "<<", ">>", "wide"]
        )
        if kind in _BINARY:
            b = self.expression(block, depth - 1)
            operate, bound = _BINARY[kind], a.bound * b.bound if kind == "*" else a.bound + b.bound
            text = f"tl.{kind}imum({a.text}, {b.text})" if kind[0] == "m" else f"({a.text} {kind} {b.text})"
            made = Expression(text, lambda env: operate(a.value(env), b.value(env)), bound)
        elif kind == "wide":
            made = Expression(f"({a.text}).to(tl.int64)", a.value, a.bound)
        else:
            symbol, c = kind.rstrip("cn"), self.pick([2, 3, 4, 7, 8])
            if kind.endswith("n"):
                operand, of = "n", lambda env: env["n"]
            else:
                c = (
                    (1 << c % 4) - 1
                    if symbol == "&" and c % 4
                    else 3
                    if symbol == "&"
                    else c % 4
                    if symbol in "<<>>"
                    else c
                )
                operand, of = str(c), lambda env: c
            operate, bound = _WITH_NUMBER[symbol], a.bound * 8 if symbol in ("*", "<<") else a.bound + 33
            made = Expression(f"({a.text} {symbol} {operand})", lambda env: operate(a.value(env), of(env)), bound)
        return made if made.bound <= _LARGEST else a

    def condition(self, block: bool) -> Expression:
        """A comparison, a negation or a conjunction of such: all that is read as facts."""
        a, b = self.expression(block, 1), self.expression(block, 1)
        relation = self.pick(["<", "<=", ">", ">=", "==", "!="])
        operate = _RELATIONS[relation]
        text = f"({a.text} {relation} {b.text})"
        negated = self.rng.random() < 0.3
        made = Expression(
            f"(~{text})" if negated else text, lambda env: operate(a.value(env), b.value(env)) ^ negated, 2
        )  # fmt: skip
        if self.rng.random() < 0.3:
            other = self.condition(block)
            return Expression(
                f"({made.text} & {other.text})", lambda env: np.logical_and(made.value(env), other.value(env)), 2
            )
        return made

    def kernel(self) -> Kernel:
        rng = self.rng
        grid = (int(rng.integers(1, 5)), int(rng.integers(1, 4)))
        arguments = {"n": int(self.pick([2, 3, 5, 16, 32, -3])), "m": int(self.pick([2, 7, 16, 33, -5]))}
        lines = ["def kernel(out, n, m, base):", "    pid0 = tl.program_id(0)", "    pid1 = tl.program_id(1)"]
        indent, turns = "    ", [{}]
        first = self.expression(False, 2)
        step = self.expression(False, 1)
        carried, grows = int(rng.integers(5)), int(rng.integers(-3, 4))
        lines += [f"    p = out + base + {first.text}", f"    c = n + {carried}"]
        guard = self.condition(False) if rng.random() < 0.3 else None
        if guard is not None:
            lines.append(f"{indent}if {guard.text}:")
            indent += "    "
        total = 0
        for depth in range(rng.integers(3)):
            low, up, by = int(rng.integers(0, 4)), int(rng.integers(1, 12)), int(rng.integers(1, 4))
            k = f"k{depth}"
            lines.append(f"{indent}for {k} in range({low}, {up} + pid1 * 0, {by}):")
            indent += "    "
            turns = [{**turn, k: value} for turn in turns for value in range(low, up, by)]
            self.scalars.append(Expression(k, lambda env, k=k: env[k], 12))
            total = depth + 1
        for number, turn in enumerate(turns):
            turn["turn"] = number
        self.scalars.append(Expression("c", lambda env: env["n"] + carried + grows * env["turn"], 500))
        offset = self.expression(True)
        mask = self.condition(True) if rng.random() < 0.6 else None
        shape = self.shape
        where = f"tl.broadcast_to({offset.text}, {shape})"
        live = f", mask=tl.broadcast_to({mask.text}, {shape})" if mask is not None else ""
        lines.append(f"{indent}tl.atomic_add(p + {where}, tl.full({shape}, 1, tl.int32){live})")
        if total:
            lines += [f"{indent}p += {step.text}", f"{indent}c += {grows}"]

        def place(env: Environment) -> Any:
            moved = step.value(env) * env["turn"] if total else 0
            return first.value(env) + moved + offset.value(env)

        def takes_part(env: Environment) -> Any:
            return np.logical_and(
                True if mask is None else mask.value(env), True if guard is None else guard.value(env)
            )

        return Kernel("\n".join([*lines, ""]), shape, grid, arguments, turns, place, takes_part)


_NAMES = {"pid0": 5, "pid1": 4, "n": 33, "m": 34}
_BINARY = {"+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum}
_WITH_NUMBER: dict[str, Callable[[Any, Any], Any]] = {
    "*": np.multiply,
    "+": np.add,
    "//": lambda a, b: np.sign(a) * np.sign(b) * (abs(a) // abs(b)),
    "%": np.fmod,
    "&": np.bitwise_and,
    "<<": np.left_shift,
    ">>": np.right_shift,
}
_RELATIONS = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
