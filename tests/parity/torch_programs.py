"""Random programs of views, in-place ops, dtypes and special values: PyTorch beside opweave, eager and compiled.

    python tests/parity/torch_programs.py --count 5000 --seed 0

A program is a Python function of tensors, written in the names that both libraries have (`T` is the module). It grows
line by line while PyTorch runs it, so that its lines fit; a few end with a line that PyTorch refuses. What is compared:
results and the arguments afterwards (values with the signs of zeros, dtypes, sizes, strides, which share memory and
where, whether they require grad), gradients, and that what raises in one raises in the other.

A value is *rough* where libraries may round otherwise (`exp`, sums): it is compared with a tolerance, and no line that
a small difference would make a large one (a comparison, `floor`, a quotient) reads it. What PyTorch leaves undefined
(NaN as an int, a shift by more bits than there are, `INT_MIN // -1`) is not written.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import linecache
import math
import os
import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

import numpy as np
import torch
from differences import PROGRAMS

import opweave
from opweave.registry.errors import AutogradError, OpweaveError, UnsupportedError

SIZES = ((3, 4), (3, 4), (4, 3), (12,), (2, 3, 2), (4,), (3,), (3, 3), (1, 4), (), (), (0, 4), (1,), (2, 2))
DTYPES = (
    *("float32",) * 8, *("float64",) * 2, *("int64",) * 2, "float16", "bfloat16", "int32", "int8", "uint8", "int16",
    "bool", "complex64",
)  # fmt: skip
FLOATS = ("float16", "bfloat16", "float32", "float64")
WHOLE = ("uint8", "int8", "int16", "int32", "int64")
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    1.5,
    2.0,
    3.0,
    -3.0,
    math.inf,
    -math.inf,
    math.nan,
    1e-3,
    255.0,
    1e30,
    1e-40,
)
#: Relative to the largest number of a tensor; what rounds in several steps.
TOLERANCE = {
    "float16": 8e-3,
    "bfloat16": 6e-2,
    "float32": 2e-5,
    "float64": 1e-10,
    "complex64": 4e-5,
    "complex128": 1e-10,
}
#: PyTorch has no kernel for a type; opweave may take it.
MISSING = re.compile(
    "not implemented|not supported|unsupported|isn't implemented|only support|Expected .* dtype|not currently"
)

# Placeholders: {x} a tensor, {y} another that broadcasts with it, {z} one of the same sizes, {f} a float tensor, {i}
# one of whole numbers, {m} a bool tensor of the same sizes, {d} {e} dimensions of the first tensor, {n} an index in
# dimension d, {lo} {hi} bounds there, {k} a number, {c} a small whole number, {t} a dtype, {sizes} of the first tensor,
# {flip} those in reverse, {last} the last of them, {ones} a 1 for each, {perm} an order of its dimensions.
VIEWS = """
{x}[{n}] | {x}[{lo}:] | {x}[:{hi}] | {x}[::2] | {x}[..., {c}:] | {x}[None] | {x}[..., None] | {x}[-1] | {x}.t()
{x}.mT | {x}.transpose({d}, {e}) | {x}.reshape(-1) | {x}.view(-1) | {x}.flatten() | {x}.permute({perm})
{x}.unsqueeze({d}) | {x}.squeeze() | {x}.squeeze({d}) | {x}.narrow({d}, {lo}, 1) | {x}.select({d}, {n})
{x}.unbind({d})[0] | {x}.chunk(2, {d})[0] | {x}.split(2, {d})[-1] | {x}.diagonal() | {x}.movedim({d}, {e})
{x}.swapaxes({d}, {e}) | {x}.unfold({d}, 2, 1) | {x}.expand_as(T.stack([{x}, {x}])) | {x}[None].expand(2, *{x}.shape)
{x}.detach() | {x}.view_as({z}) | {x}.real | T.atleast_2d({x}) | {x}.reshape({flip}) | {x}.view({flip}) | {x}.T
{x}.tensor_split(2, {d})[0] | {x}.alias() | {x}.contiguous() | {x}.to({x}.dtype) | {x}.unflatten(0, (1, -1))
{x}.flatten({d}) | T.as_strided({x}, (2,), (1,), {x}.storage_offset()) | {x}.expand(2, {sizes})
{x}.broadcast_to({sizes})
"""
RETYPED = """
{x}.view({t}) | {x}.view({t})[..., :1]
"""
#: Calls whose results round alike everywhere.
EXACT = """
{x} + {y} | {x} - {y} | {x} * {y} | {x} + {k} | {x} * {k} | ({k}) - {x} | -{x} | {x}.clone() | {x} * {x} | {f} / {y}
{f} / {k} | {f}.reciprocal() | {x}.square() | {x}.neg() | T.add({x}, {y}, alpha=2)
T.sub({x}, {y}, alpha=2) | {x}.to({t}) | {x}.float() | {x}.double() | {x}.type_as({y}) | {x}.positive()
{f}.rsub({k}) | {x}.ravel() | T.where({m}, {x}, {z}) | T.where({m}, {x}, {k}) | {x}.masked_fill({m}, {k})
T.nan_to_num({f}) | T.nan_to_num({f}, 1.0, 2.0, -2.0) | T.zeros_like({x}) | T.ones_like({x}) | T.full_like({x}, {c})
T.zeros({sizes}) + {x} | {x}.new_zeros({sizes}) | {x}.new_full((2,), {c}) | T.cat([{x}, {z}], {d})
T.stack([{x}, {z}], {d}) | T.cat([{x}, {x}[:1]]) | {x}.repeat(2, {ones}) | {x}.tile(2) | {x}.flip({d})
T.roll({x}, {c}, {d}) | {x}[[0, -1]] | {x}[T.tensor([{n}, 0])] | {x}.index_select({d}, T.tensor([{n}, 0, {n}]))
{x}.gather({d}, T.zeros_like({x}, dtype=T.int64)) | {x}.tril() | {x}.triu(1) | T.nn.functional.pad({x}, (1, 0))
T.nn.functional.pad({x}, (1, -1), value=2.0) | {x}.diag() | {x}.diag_embed() | {x}.repeat_interleave(2, {d})
{x}.index_fill({d}, T.tensor([0, 0]), {c}) | {x}.index_add({d}, T.tensor([0]), {x}.narrow({d}, 0, 1))
{x}.masked_select({m}) | {x}[{m}] | {x}.take(T.tensor([0])) | T.diff({x}) | {x}.rot90() | T.hstack([{x}, {z}])
T.column_stack([{x}, {x}]) | {x}.scatter({d}, T.zeros_like({x}, dtype=T.int64), {c})
{x}.scatter_add({d}, T.zeros_like({x}, dtype=T.int64).narrow({d}, 0, 1), {x}) | T.hardtanh({f}) | T.relu({x})
{x}.select_scatter({x}.select({d}, 0), {d}, {n}) | {x}.slice_scatter({x}[:1], 0, 0, 1)
T.broadcast_tensors({x}, {y})[0] | T.einsum('...->...', {x})
"""
#: Calls whose result jumps; they read no rough value.
JUMPS = """
{x} < {y} | {x} <= {k} | {x} == {z} | {x} != {y} | {x} > {k} | {x}.sign() | {x}.sgn() | {f}.floor() | {f}.ceil()
{f}.round() | {f}.trunc() | {f}.frac() | {f} // {y} | {f} // {k} | {f} % {y} | {f} % {k} | {f}.fmod({y})
{f}.fmod({k}) | {f}.remainder({k}) | {i} // 2 | {i} % 3 | {i} // -3 | {i} % -2 | {i}.fmod(-3)
T.div({x}, {y}, rounding_mode='floor') | T.div({x}, {k}, rounding_mode='trunc') | {i} / {y} | {x} / {k}
{i}.fmod({y}) | {i} // {y} | {i} % {y} | ({k}) / {f} | ({k}) // {f} | ({k}) % {f} | {f} ** 2 | {f} ** -1
{i} ** 2 | {i} ** 3 | {i} ** {i} | T.pow(2, {i}) | {x}.isnan() | {f}.isinf() | {f}.isfinite() | T.signbit({x})
T.copysign({f}, {y}) | {x}.bool() | T.logical_and({x}, {y}) | T.logical_not({x}) | T.logical_xor({x}, {y}) | {i} & {i}
{i} | 5 | {i} ^ {i} | ~{i} | {i} << 1 | {i} >> 1 | T.bitwise_and({i}, {i}) | T.gcd({i}, {i}) | T.lcm({i}, {c})
T.heaviside({f}, {f}) | T.nextafter({f}, {f}) | {x}.argmax({d}) | {x}.argmin() | {x}.any({d}) | {x}.all()
{x}.max({d}).indices | {x}.nonzero() | T.unique({i}) | T.isclose({x}, {z}) | {x}.count_nonzero({d})
{i}.to(T.float32) | {f}.to(T.int64) | {f}.to(T.int32) | {x}.to(T.bool) | {f}.int() | {f}.sin() > 0.5 | T.relu6({f})
T.nn.functional.leaky_relu({f}) | T.nn.functional.threshold({f}, 0.5, 2.0) | T.nn.functional.hardshrink({f})
T.nn.functional.relu({f})
"""
#: Calls that read no rough value and make one: powers, and what may choose either of two zeros.
ROUGH_JUMPS = """
{f}.sqrt() | {f} ** 0.5 | {f} ** 3 | {f} ** -0.5 | {f} ** {y} | ({k}) ** {f}
{f} ** {k} | {f}.rsqrt() | T.atan2({f}, {y}) | {f}.fmod({y})
{x}.pow({i}) | {x} ** -2 | {f}.float_power(2) | {f}.log() | T.xlogy({f}, {y}) | T.minimum({x}, {y})
T.maximum({x}, {y}) | T.fmin({x}, {y}) | T.fmax({x}, {y}) | {x}.clamp({c}, 3) | {x}.clamp(min={y})
{x}.clamp_max({k}) | {x}.clamp(min={k}) | T.clip({x}, -1, 1) | {x}.amax() | {x}.amin({d})
{x}.amax({d}, keepdim=True) | {x}.max({d}).values | {x}.min({d}).values | {x}.max() | {x}.median()
{x}.sort({d}).values | {x}.cummax({d}).values | {x}.cummin({d}).values | {x}.topk(1, {d}).values
{x}.kthvalue(1, {d}).values | {x}.aminmax().max
"""
ROUGH = """
{f}.exp() | {f}.sin() | {f}.cos() | {f}.tanh() | T.sigmoid({f}) | {f}.log1p() | {f}.expm1() | {f}.erf()
T.hypot({f}, {f}) | T.logaddexp({f}, {f}) | {x}.abs() | {x}.sum() | {x}.sum({d}) | {x}.sum({d}, keepdim=True)
{f}.mean({d}) | {f}.mean() | {x}.prod({d}) | {x}.cumsum({d}) | {x}.cumprod({d}) | {f}.logsumexp({d})
{f}.softmax({d}) | {f}.log_softmax({d}) | {f}.var({d}) | {f}.std() | {f}.norm() | {f}.nansum({d})
T.lerp({f}, {z}, 0.25) | T.addcmul({f}, {z}, {z}, value=2) | T.addcdiv({f}, {z}, {z}) | {f} @ {f}.mT
T.nn.functional.gelu({f}) | T.nn.functional.softplus({f}) | T.nn.functional.silu({f}) | T.nn.functional.elu({f})
T.outer({x}, {x}) | T.nn.functional.mse_loss({f}, {z}) | {f}.sinh() | {f}.atan() | {f}.asin() | {f}.log2()
{f}.exp2() | T.nn.functional.logsigmoid({f}) | T.ldexp({f}, {i}) | {f}.trace() | T.dot({f}, {f}) | {f}.mv({f}[0])
T.nn.functional.mish({f}) | T.nn.functional.layer_norm({f}, ({last},)) | T.logit({f}, 0.1)
T.cosine_similarity({f}, {z}, -1)
"""
WRITES = """
{x}.add_({y}) | {x}.sub_({k}) | {x}.mul_({y}) | {x}.mul_({k}) | {x}.neg_() | {x}.abs_() | {x}.fill_({k}) | {x}.zero_()
{x}.copy_({y}) | {x}.square_() | {x}.add_({z}, alpha=2) | {x} += {k} | {x} *= {y} | {x} -= {x} | {x}[{lo}:] = {k}
{x}[{n}] = {c} | {x}[..., 0] = {y}[..., 0] | {x}[{m}] = {k} | {x}.masked_fill_({m}, {k}) | {x}[[0, -1]] = {c}
{x}[:1] += {c} | {x}[1:] = {x}[:-1].clone() | {x}[...] = {y} | {x}[None] = {c} | {x}[::2].mul_(2) | {x}.t_()
{x}.transpose_({d}, {e}) | {x}.unsqueeze_({d}) | {x}.squeeze_() | {x}.swapaxes_({d}, {e}) | {x}.tril_() | {x}.triu_()
{x}.index_fill_({d}, T.tensor([0]), {c}) | {x}.index_add_({d}, T.tensor([0]), {x}.narrow({d}, 0, 1).clone())
{x}.index_copy_({d}, T.tensor([0]), {x}.narrow({d}, -1, 1).clone())
{x}.scatter_({d}, T.zeros_like({x}, dtype=T.int64), {c}) | {x}.masked_scatter_({m}, {z})
{x}.index_put_((T.tensor([0, 0]),), {x}[:1].clone(), accumulate=True) | {x}.select({d}, 0).fill_({c})
{x}.t().add_({c}) | {x}.view(-1).mul_(2) | {x}.unsqueeze(0).zero_() | {x}.detach().add_({c})
{x}.diagonal().fill_({c}) | {x}.data.mul_({c}) | {x}.relu_() | {x}.clone().mul_({y})
{x}.requires_grad_() | {f}.nan_to_num_() | {x}.real.mul_(2)
"""
JUMPING_WRITES = """
{f}.div_({y}) | {x}.div_({k}) | {x}.lt_({y}) | {x}.eq_({c}) | {x}.logical_not_() | {x}.clamp_(-1, 2) | {f}.floor_()
{f}.round_() | {x}.sign_() | {f}.remainder_({k}) | {i}.bitwise_and_(3) | {i}.floor_divide_(2) | {f}.fmod_({y})
{f}.pow_(2) | {f}.reciprocal_() | {f}.neg_() | {x}.ge_({k}) | {x}.ne_({y}) | {x}.clamp_min_({c})
{x}.logical_and_({y}) | {f}.trunc_() | {i}.__ilshift__(1) | {x}.floor_divide_({y}) | {i} //= {y} | {f} %= {y}
{x} /= {k} | {i}.remainder_({y}) | {f}.copysign_({y}) | {x}.eq_({z})
"""
ROUGH_WRITES = """
{f}.exp_() | {x}.pow_({c}) | {f}.pow_(3) | {f}.sigmoid_() | {f}.tanh_() | {f}.addcmul_({z}, {z}) | {f}.lerp_({z}, 0.5)
{x}.cumsum_({d}) | {f}.log_() | {f}.sin_() | {f}.addcdiv_({z}, {z}) | {f}.softmax(-1).mul_(2)
{x}.addcmul_({z}, {z}, value={c})
"""


def _texts(table: str) -> tuple[str, ...]:
    # `{i} | 5` is an or: the rows are split where a bar stands between two calls, which are all longer.
    found = [part.strip() for line in table.strip().splitlines() for part in re.split(r" \| (?!\d)", line)]
    return tuple(part for part in found if part)


@dataclass(frozen=True)
class Family:
    """Lines of one sort.

    Parameters
    ----------
    texts : tuple of str
    share : int
        How often they are chosen.
    rough : bool
        Whether what they make is rough.
    jumps : bool
        Whether they must not read what is rough.
    writes : bool
        Whether they write to their first tensor instead of making one.
    """

    texts: tuple[str, ...]
    share: int
    rough: bool = False
    jumps: bool = False
    writes: bool = False


FAMILIES = (
    Family(_texts(VIEWS), 8),
    Family(_texts(RETYPED), 1, jumps=True),
    Family(_texts(EXACT), 6),
    Family(_texts(JUMPS), 6, jumps=True),
    Family(_texts(ROUGH_JUMPS), 3, rough=True, jumps=True),
    Family(_texts(ROUGH), 3, rough=True),
    Family(_texts(WRITES), 6, writes=True),
    Family(_texts(JUMPING_WRITES), 3, jumps=True, writes=True),
    Family(_texts(ROUGH_WRITES), 2, rough=True, writes=True),
)


@dataclass(frozen=True)
class Input:
    """An argument of a program.

    Parameters
    ----------
    name, dtype : str
    sizes : tuple of int
        Before `layout`.
    values : tuple
        In order.
    layout : str
        What is done to it, as `.t()`; may be empty.
    grad : str
        `"leaf"`, `"inner"` for the result of an op on a leaf, or empty.
    """

    name: str
    dtype: str
    sizes: tuple[int, ...]
    values: tuple[Any, ...]
    layout: str = ""
    grad: str = ""

    def lines(self) -> list[str]:
        """Statements that make it."""
        values = ", ".join(_literal(v) for v in self.values)
        made = f"T.tensor([{values}], dtype=T.{self.dtype}).reshape({self.sizes}).clone()"
        if not self.grad:
            return [f"{self.name} = {made}{self.layout}"]
        leaf = [f"leaf_{self.name} = {made}.requires_grad_()"]
        if self.grad == "inner":
            return [*leaf, f"{self.name} = (leaf_{self.name} * 1){self.layout}"]
        return [*leaf, f"{self.name} = leaf_{self.name}"]


def _literal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)


@dataclass(frozen=True)
class Program:
    """A function as source.

    Parameters
    ----------
    inputs : tuple of Input
    body : tuple of str
        Statements.
    results : tuple of str
    """

    inputs: tuple[Input, ...]
    body: tuple[str, ...]
    results: tuple[str, ...]

    def __str__(self) -> str:
        made = "".join(f"    {line}\n" for each in self.inputs for line in each.lines())
        names = ", ".join(each.name for each in self.inputs)
        leaves = ", ".join(f"leaf_{each.name}" for each in self.inputs if each.grad)
        body = "".join(f"    {line}\n" for line in self.body)
        return (
            f"def inputs():\n{made}    return [{names}], [{leaves}]\n\n\n"
            f"def run({names}):\n{body}    return [{', '.join(self.results)}]\n"
        )

    def build(self, module: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """(inputs, run) for one of the libraries."""
        text = str(self)
        name = f"<program {hash(text)} {module.__name__}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        space: dict[str, Any] = {"T": module}
        exec(compile(text, name, "exec"), space)
        return space["inputs"], space["run"]


# ---- making programs -------------------------------------------------------------------------------------------------


class Misfit(Exception):
    """No variable fits a placeholder."""


class Maker:
    """Grows one program.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.space: dict[str, Any] = {"T": torch}
        self.pool: list[str] = []
        #: Memory -> how far its numbers may be off.
        self.rough: dict[int, float] = {}
        self.count = 0
        #: Whether bits of a NaN are read as a number: nobody says which NaN it is.
        self.ambiguous = False

    @staticmethod
    def of(seed: int) -> tuple[Program, dict[str, float]]:
        """The program of a seed, and the tolerances of its variables."""
        while True:
            maker = Maker(seed)
            program = maker.make()
            if not maker.ambiguous:
                names = tuple(dict.fromkeys([*(each.name for each in program.inputs), *program.results]))
                return program, maker.roughness(names)
            seed += 1 << 32

    def make(self) -> Program:
        """A program; `roughness` and `ambiguous` then say more of it."""
        inputs = self._inputs()
        for each in inputs:
            for line in each.lines():
                exec(line, self.space)
        self.pool = [each.name for each in inputs]
        body: list[str] = []
        length, tries = self.draw.randrange(3, 10), 0
        wild = self.draw.random() < 0.06
        while len(body) < length and tries < 60:
            tries += 1
            text = self._line(wild and len(body) > 1)
            if text is not None:
                body.append(text)
                if text.endswith("# raises"):
                    break
        recent = list(dict.fromkeys(self.pool[-5:] + self.pool[: len(inputs)]))
        results = self.draw.sample(recent, min(len(recent), self.draw.randrange(1, 4)))
        return Program(tuple(inputs), tuple(body), tuple(results))

    def roughness(self, names: tuple[str, ...]) -> dict[str, float]:
        """Of each variable the tolerance that it is compared with."""
        return {name: self.rough.get(_memory(self.space[name]), 0.0) for name in names}

    def _inputs(self) -> list[Input]:
        draw, found = self.draw, []
        main = draw.choice(SIZES)
        grads = draw.random() < 0.5
        for name in "abc"[: draw.randrange(1, 4)]:
            sizes = main if draw.random() < 0.7 else draw.choice(SIZES)
            dtype = draw.choice(DTYPES)
            if grads and name == "a":
                dtype = draw.choice(("float32", "float32", "float64", "float16"))
            values = tuple(self._value(dtype) for _ in range(math.prod(sizes)))
            grad = ""
            if grads and dtype in FLOATS and draw.random() < 0.8:
                grad = draw.choice(("leaf", "inner", "inner"))
            layout = ""
            if grad != "leaf" and sizes and draw.random() < 0.3:
                layouts = ["[::2]", "[..., 1:]", "[None]"] + [".t()", ".t()"] * (len(sizes) == 2)
                layouts += [f".expand({', '.join(str(2 if s == 1 else s) for s in sizes)})"] * (1 in sizes)
                layout = draw.choice(layouts)
            found.append(Input(name, dtype, sizes, values, layout, grad))
        return found

    def _value(self, dtype: str) -> Any:
        draw = self.draw
        if dtype == "bool":
            return draw.random() < 0.5
        if dtype in WHOLE:
            info = torch.iinfo(getattr(torch, dtype))
            wide = [info.max, info.min + 1] * (draw.random() < 0.3)
            return draw.choice([0, 1, 2, 3, 5, 7, *([-1, -2, -3] * (info.min < 0)), *wide])
        if dtype.startswith("complex"):
            return complex(draw.choice((0.0, -0.0, 1.0, -2.0, 0.5)), draw.choice((0.0, -0.0, 1.0, 3.0)))
        value = draw.choice(SPECIAL) if draw.random() < 0.35 else draw.choice((1.0, 2.0, -1.0, 0.5, -3.0, 0.25, 4.0))
        return value if dtype not in ("float16",) or not 6e4 < abs(value) < math.inf else 2.0

    def _tensors(self) -> list[torch.Tensor]:
        return [self.space[name] for name in self.pool]

    # ---- lines

    def _line(self, wild: bool) -> str | None:
        draw = self.draw
        family = draw.choices(FAMILIES, [f.share for f in FAMILIES])[0]
        choice = _Choice(self)
        try:
            text = choice.fill(draw.choice(family.texts))
        except Misfit:
            return None
        read = [self.space[name] for name in choice.read]
        if family.jumps and any(_memory(t) in self.rough for t in read):
            return None
        if _undefined(text, read) or (family.writes and _reads_what_it_writes(read)):
            return None
        if family.writes and family.rough and any(_shows_bits(self.space[name], read[0]) for name in self.pool):
            return None
        if not family.writes:
            self.count += 1
            name = f"v{self.count}"
            text = f"{name} = {text}"
        if draw.random() < 0.06:
            text = f"with T.no_grad(): {text}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(text, self.space)
            except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, AttributeError) as error:
                if not wild or MISSING.search(str(error)) or isinstance(error, (AttributeError, NotImplementedError)):
                    return None
                return f"{text}  # raises"
        touched = self.space[choice.read[0]] if family.writes else self.space[name]
        if not isinstance(touched, torch.Tensor) or touched.numel() > 400 or touched.is_sparse:
            if not family.writes:
                del self.space[name]
            return None
        off = max(self.rough.get(_memory(t), 0.0) for t in (*read, touched))
        if family.rough:
            off = max([off, *(TOLERANCE.get(_name(t.dtype), 0.0) for t in (*read, touched))])
        if off and (touched.dtype.is_floating_point or touched.dtype.is_complex):
            self.rough[_memory(touched)] = off
        if any(_bits_of_nan(t, u) for t in self._tensors() for u in self._tensors()):
            self.ambiguous = True
        if not family.writes:
            self.pool.append(name)
        return text


class _Choice:
    """Fills the placeholders of one line."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.read: list[str] = []
        self.known: dict[str, str] = {}

    def fill(self, text: str) -> str:
        return re.sub(r"\{(\w+)\}", self._one, text)

    def _one(self, match: re.Match[str]) -> str:
        what = match[1]
        if what in self.known and what in "xzmde":
            return self.known[what]
        found = self.known[what] = self._pick(what)
        if what in ("x", "y", "z", "f", "i") or (what == "m" and found.isidentifier()):
            self.read.append(found)
        return found

    @property
    def first(self) -> torch.Tensor:
        if not self.read:
            raise Misfit
        return self.maker.space[self.read[0]]

    def _any(self, fits: Callable[[torch.Tensor], bool]) -> str:
        maker = self.maker
        names = [name for name in maker.pool if fits(maker.space[name])]
        if not names:
            raise Misfit
        return maker.draw.choice(names[-3:] if maker.draw.random() < 0.5 else names)

    def _pick(self, what: str) -> str:
        draw, space = self.maker.draw, self.maker.space
        match what:
            case "x":
                return self._any(lambda t: True)
            case "f":
                return self._any(lambda t: t.dtype.is_floating_point and (not self.read or _broadcasts(t, self.first)))
            case "i":
                return self._any(
                    lambda t: not t.dtype.is_floating_point and not t.dtype.is_complex
                    and (not self.read or _broadcasts(t, self.first))
                )  # fmt: skip
            case "y":
                return self._any(lambda t: _broadcasts(t, self.first))
            case "z":
                return self._any(lambda t: t.shape == self.first.shape)
            case "m":
                masks = [
                    n for n in self.maker.pool if space[n].dtype == torch.bool and space[n].shape == self.first.shape
                ]
                if masks:
                    return draw.choice(masks)
                if _memory(self.first) in self.maker.rough or self.first.dtype.is_complex:
                    raise Misfit
                return f"({self.read[0]} > 0)"
            case "d" | "e":
                if not self.first.ndim:
                    raise Misfit
                return str(draw.randrange(-self.first.ndim, self.first.ndim))
            case "n" | "lo" | "hi":
                size = self.first.shape[int(self.known.get("d", 0))] if self.first.ndim else 0
                if not size:
                    raise Misfit
                return str(draw.randrange(size) if what != "n" else draw.randrange(-size, size))
            case "k":
                return draw.choice("0 1 2 -1 3 2.0 0.5 -1.5 0.0 -0.0 True float('inf') float('nan') -2".split())
            case "c":
                return draw.choice("0 1 2 3 -1".split())
            case "t":
                return f"T.{draw.choice(DTYPES)}"
            case "sizes":
                return f"({', '.join(map(str, self.first.shape))}{',' * (self.first.ndim == 1)})"
            case "last":
                if not self.first.ndim:
                    raise Misfit
                return str(self.first.shape[-1])
            case "flip":
                return f"({', '.join(map(str, reversed(self.first.shape)))}{',' * (self.first.ndim == 1)})"
            case "ones":
                return ", ".join("1" for _ in self.first.shape)
            case "perm":
                dims = list(range(self.first.ndim))
                draw.shuffle(dims)
                return ", ".join(map(str, dims))
        raise KeyError(what)


def _broadcasts(a: torch.Tensor, b: torch.Tensor) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a.shape), reversed(b.shape), strict=False))


def _memory(t: torch.Tensor) -> int:
    return t.untyped_storage()._cdata


def _name(dtype: Any) -> str:
    return str(dtype).partition(".")[2]


def _bits_of_nan(t: torch.Tensor, u: torch.Tensor) -> bool:
    """Whether two variables show the same memory in different types, and one of them a NaN."""
    return t.dtype != u.dtype and _memory(t) == _memory(u) and bool(t.detach().isnan().any())


def _shows_bits(t: torch.Tensor, written: torch.Tensor) -> bool:
    """Whether a variable shows memory as another type."""
    return t.dtype != written.dtype and _memory(t) == _memory(written)


def _reads_what_it_writes(read: list[torch.Tensor]) -> bool:
    """Whether another tensor of a write lies otherwise in the memory that is written."""
    first = read[0]
    place = first.storage_offset(), first.stride()
    return any(_memory(t) == _memory(first) and (t.storage_offset(), t.stride()) != place for t in read[1:])


_LEAST = re.compile(r"//|%|/ |div|fmod|remainder")


def _undefined(text: str, read: list[torch.Tensor]) -> bool:
    """Whether the line asks for what PyTorch gives no definition of."""
    first = read[0]
    if re.search(r"\.to\(T\.u?int|\.int\(\)|type_as|ldexp|copy_|index_copy|\] = |masked_scatter", text):
        # A float that the whole type does not hold.
        if "masked_scatter" in text and any(_memory(t) == _memory(first) for t in read[1:]):
            return True  # reads what it writes
        for t in read:
            if (t.dtype.is_floating_point or t.dtype.is_complex) and t.numel():
                largest = torch.view_as_real(t.detach().resolve_conj()) if t.dtype.is_complex else t.detach()
                if not bool((largest.double().abs() < 100).all()) or bool((largest.double() < 0).any()):
                    return True
    if ".view(T.bool" in text or (".view(T" in text and first.dtype == torch.bool):
        return True  # bytes that are neither 0 nor 1
    if re.search(r"\.(view|int)\(|view\(T", text) and "T." in text and first.dtype.is_floating_point:
        return bool(first.isnan().any())  # which NaN it is
    if re.search(r"<<|>>|lshift", text) or "lcm" in text or "gcd" in text:
        return any(t.numel() and bool((t.detach().double().abs() > 30).any()) for t in read)
    if re.search("signbit|copysign", text):
        return any(bool(t.isnan().any()) for t in read)  # the sign of a NaN
    if "ldexp" in text and any(t.numel() and bool((t.detach().double().abs() > 1e4).any()) for t in read[1:]):
        return True  # the exponent as an int of 32 bits, or a power that float32 does not hold
    if "as_strided" in text and first.numel() < 2:
        return True  # reads what may lie behind it
    if _LEAST.search(text):
        for t in read:
            if not t.dtype.is_floating_point and not t.dtype.is_complex and t.dtype != torch.bool and t.numel():
                if bool((t == torch.iinfo(t.dtype).min).any()):
                    return True
    return False


# ---- running and comparing -------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What can be told of a call from outside: facts by name, or the error."""

    facts: dict[str, Any] = field(default_factory=dict)
    error: BaseException | None = None


def observe(program: Program, module: Any, compiled: bool = False, dynamic: bool = False, times: int = 1) -> Seen:
    """Call a program in one of the libraries so many times, on new arguments, and look at everything after the last."""
    inputs, run = program.build(module)
    if compiled:
        run = opweave.compile(run, dynamic=dynamic)
    try:
        for _ in range(times):
            given, leaves = inputs()
            results = run(*given)
    except Exception as error:
        return Seen(error=error)
    seen = Seen()
    everything = [
        *((f"argument {i}", t) for i, t in enumerate(given)),
        *((f"result {i}", t) for i, t in enumerate(results)),
    ]
    first: dict[Any, tuple[str, Any]] = {}
    for name, t in everything:
        seen.facts[f"{name}: type"] = (tuple(t.shape), str(t.dtype).partition(".")[2], t.requires_grad)
        seen.facts[f"{name}: strides"] = _strides(t)
        if t.numel():
            storage = t.untyped_storage().data_ptr() if module is torch else t._storage.ptr
            owner, base = first.setdefault(storage, (name, t))
            apart = t.storage_offset() * t.element_size() - base.storage_offset() * base.element_size()
            seen.facts[f"{name}: memory"] = (owner, apart)
        seen.facts[f"{name}: values"] = _array(t)
    roots = [t for t in results if t.requires_grad]
    if leaves and roots:
        vectors = [((module.arange(t.numel()).reshape(t.shape) % 3) + 1).to(t.dtype) for t in roots]
        try:
            found = module.autograd.grad(roots, leaves, vectors, allow_unused=True)
        except (RuntimeError, OpweaveError) as error:
            seen.facts["gradients"] = error
        else:
            for i, grad in enumerate(found):
                seen.facts[f"gradient {i}"] = None if grad is None else _array(grad)
    return seen


def _strides(t: Any) -> tuple[int, ...]:
    """Of the dimensions that have a step."""
    if not t.numel():
        return ()
    return tuple(stride for size, stride in zip(t.shape, t.stride(), strict=True) if size > 1)


def _array(t: Any) -> Any:
    t = t.detach()
    if isinstance(t, torch.Tensor):
        t = t.resolve_conj().resolve_neg()
        t = t.clone() if t._is_zerotensor() else t  # zeros without memory
        wider = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}  # NumPy has neither
        return t.to(wider.get(t.dtype, t.dtype)).numpy().copy()
    return (t.float() if t.dtype is opweave.bfloat16 else t).numpy().copy()


def difference(
    expected: Seen, got: Seen, rough: dict[str, float], program: Program, other: str = "PyTorch"
) -> str | None:
    """The first fact that is another one; `other` is what was expected to be right."""
    if (expected.error is None) != (got.error is None):
        which = expected.error or got.error
        assert which is not None
        return f"{other if expected.error else 'opweave'} alone raises {type(which).__name__}: {str(which)[:300]}"
    by_name = {f"argument {i}": rough[each.name] for i, each in enumerate(program.inputs)}
    by_name |= {f"result {i}": rough[name] for i, name in enumerate(program.results)}
    # A gradient goes through every type that there is.
    text = str(program)
    off = max((TOLERANCE[name] for name in ("float16", "bfloat16") if f"T.{name}" in text), default=0.0)
    for name, want in expected.facts.items():
        have = got.facts.get(name)
        if name == "gradients":
            if have is None:
                return f"{other} alone refuses gradients: {str(want)[:200]}"
            continue
        if name.startswith("gradient"):
            if "gradients" in got.facts:
                return f"opweave alone refuses gradients: {str(got.facts['gradients'])[:300]}"
            if (want is None) != (have is None):
                return f"{name}: expected {want}, got {have}"
            if want is not None and not _near(want, have, max([TOLERANCE["float32"], off, *rough.values()]), 1.0):
                return f"{name}: expected {want.tolist()}, got {have.tolist()}"
        elif name.endswith("values"):
            if not _near(want, have, by_name[name.partition(":")[0]]):
                return f"{name}: expected {want.tolist()}, got {have.tolist()}"
        elif want != have:
            return f"{name}: expected {want}, got {have}"
    return None


def _near(want: np.ndarray, have: np.ndarray, off: float, least: float = 0.0) -> bool:
    """Whether numbers are equal, or `off` by so much of the largest (of `least`, if that is larger)."""
    if want.shape != have.shape or want.dtype != have.dtype:
        return False
    if want.dtype.kind not in "fc" or not want.size:
        return np.array_equal(want, have)
    if not off:
        parts = (want.real, have.real), (want.imag, have.imag)
        signs = all(np.array_equal(np.signbit(a) | (a != a), np.signbit(b) | (b != b)) for a, b in parts)
        return signs and np.array_equal(want, have, equal_nan=True)
    with np.errstate(all="ignore"):
        finite = np.isfinite(want) & np.isfinite(have)
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        apart = np.abs(want.astype(wide) - have.astype(wide))
        largest = np.abs(want.astype(wide)[finite]).max(initial=least)
        near = apart <= off * largest + 1e-37
    return bool(np.where(finite, near, (want == have) | ((want != want) & (have != have))).all())


@dataclass(frozen=True)
class Outcome:
    """What became of a program: `"equal"`, `"raises"`, `"refused"`, `"explained"` or `"failed"`, and why."""

    kind: str
    why: str = ""


def attempt(program: Program, rough: dict[str, float], dynamic: bool, beside: str = "torch") -> Outcome:
    """Run a program in two ways, and compare.

    Parameters
    ----------
    program : Program
    rough : dict
        Variable -> how far its numbers may be off.
    dynamic : bool
        Whether it is compiled for all sizes.
    beside : str
        `"torch"`: PyTorch and eager. `"compiled"`: eager and compiled.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if beside == "torch":
            expected, got = observe(program, torch), observe(program, opweave)
            if isinstance(got.error, AttributeError):
                return Outcome("refused", f"no name: {got.error}")
        else:
            expected, got = observe(program, opweave), observe(program, opweave, compiled=True, dynamic=dynamic)
            if isinstance(got.error, UnsupportedError) or "depends on data" in str(got.error):
                return Outcome("raises" if expected.error else "refused", str(got.error).splitlines()[0])
            if isinstance(got.error, AutogradError) and "gradients" in expected.facts:
                return Outcome("raises")  # sooner than eagerly
            # What was saved is written to; compiled code has saved it in time.
            expected.facts.pop("gradients", None)
        found = difference(expected, got, rough, program, "PyTorch" if beside == "torch" else "eager opweave")
    if found is not None and beside == "compiled" and "depends on data" in f"{found} {got.facts.get('gradients')}":
        return Outcome("refused", "the backward needs a size that depends on data")
    if found is not None:
        return Outcome("failed", f"{'eager' if beside == 'torch' else 'compiled'}: {found}")
    return Outcome("raises" if expected.error else "equal")


def explained(outcome: Outcome, program: Program) -> Outcome:
    """The outcome of a program that cannot be made shorter, by the table of what is meant to differ.

    A longer one would hold, by chance, what an explanation asks for.
    """
    for meant in PROGRAMS:
        if re.search(meant.why, outcome.why, re.DOTALL) and re.search(meant.program, str(program), re.DOTALL):
            return Outcome("explained", meant.reason)
    return outcome


# ---- making a failure short ------------------------------------------------------------------------------------------


def minimised(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Take away lines, results and inputs, as long as it fails."""
    changed = True
    while changed:
        changed = False
        for candidate in _smaller(program):
            if fails(candidate):
                program, changed = candidate, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    for i in reversed(range(len(program.body))):
        yield dataclasses.replace(program, body=program.body[:i] + program.body[i + 1 :])
    if len(program.results) > 1:
        for i in range(len(program.results)):
            yield dataclasses.replace(program, results=program.results[:i] + program.results[i + 1 :])
    text = "\n".join((*program.body, *program.results))
    for each in program.inputs:
        if len(program.inputs) > 1 and not re.search(rf"\b{each.name}\b", text):
            yield dataclasses.replace(program, inputs=tuple(i for i in program.inputs if i is not each))
        if each.layout:
            other = dataclasses.replace(each, layout="")
            yield dataclasses.replace(program, inputs=tuple(other if i is each else i for i in program.inputs))


def _runs(program: Program) -> bool:
    """Whether every name is known; else it would fail for another reason."""
    known = {"T", *(each.name for each in program.inputs)}
    for line in program.body:
        used = set(re.findall(r"(?<![\w.'])(?:v\d+|[abc])\b", line))
        made = re.match(r"(?:with T.no_grad\(\): )?(v\d+) = ", line)
        if used - known - ({made[1]} if made else set()):
            return False
        if made:
            known.add(made[1])
    return set(program.results) <= known


def failure(seed: int, eager_only: bool = False) -> tuple[Outcome, Program]:
    """What became of the program of a seed: beside PyTorch, then compiled; made short where it failed."""
    program, rough = Maker.of(seed)
    dynamic = seed % 5 == 0
    meant = None
    for beside in ("torch",) if eager_only else ("torch", "compiled"):
        outcome = attempt(program, rough, dynamic, beside)
        if outcome.kind == "refused":
            return outcome, program
        if outcome.kind == "failed":
            short = shortened(program, outcome, lambda candidate, way=beside: attempt(candidate, rough, dynamic, way))
            outcome = explained(attempt(short, rough, dynamic, beside), short)
            if outcome.kind == "failed":
                return outcome, short
            meant = meant or outcome
    return meant or outcome, program


def shortened(program: Program, outcome: Outcome, again: Callable[[Program], Outcome]) -> Program:
    """The shortest program of the same sort of failure."""
    sort = outcome.why[:24]

    def fails(candidate: Program) -> bool:
        if not _runs(candidate):
            return False
        now = again(candidate)
        return now.kind == "failed" and now.why[:24] == sort

    return minimised(program, fails)


def main() -> int:
    """Search, and print totals, refusals by reason, and failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--eager", action="store_true", help="leave out compiled code, which takes most of the time")
    parser.add_argument("--show", type=int, default=20, help="failing programs that are printed in full")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kinds: collections.Counter[str] = collections.Counter()
    refusals: collections.Counter[str] = collections.Counter()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OPWEAVE_CACHE_DIR"] = folder
        for seed in range(options.seed, options.seed + options.count):
            outcome, program = failure(seed, options.eager)
            kinds[outcome.kind] += 1
            if outcome.kind in ("refused", "explained"):
                refusals[f"{outcome.kind}: " + re.sub(r"\b[abc]\b|\bv\d+\b", "x", outcome.why)] += 1
            if outcome.kind == "failed":
                print(f"# seed {seed}: {outcome.why[:400]}", flush=True)
                if kinds["failed"] <= options.show:
                    print(program, flush=True)
    print(f"{options.count} programs in {time.perf_counter() - start:.0f} s: {dict(kinds)}")
    for why, count in refusals.most_common():
        print(f"{count:6}  {why}")
    return 1 if kinds["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
