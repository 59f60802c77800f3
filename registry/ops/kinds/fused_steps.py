"""The steps of a pointwise body (`registry.ops.kinds.ufunc_plan`) as a row program: large tensors are read once.

NumPy's loops go over a piece of the elements for each step, and half types become float32 in memory before. Left to
NumPy is a single step on float32, which is one loop anyway, and what would have other bits than small tensors have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import rows
from opweave.registry.rows import Form, RowProgram
from opweave.registry.scalar import OWN, erf_of_array, own_names
from opweave.registry.spec import is_dense
from opweave.registry.tape import MOST_OPERANDS, Tape, Value


class Ref(NamedTuple):
    """The value of an input (first) or of a step."""

    number: int


#: What `k.apply` calls functions of numbers, what gives truths of them, and what is done with truths.
_OF_NUMBERS: dict[Any, str] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "div", np.negative: "neg",
    np.absolute: "abs", np.sqrt: "sqrt", erf_of_array: "erf", np.floor: "floor",
    np.ceil: "ceil", np.trunc: "trunc", np.rint: "rint", np.maximum: "maximum",
    np.minimum: "minimum", np.clip: "clip", np.sign: "sign", np.square: "square", np.fmod: "fmod",
    np.floor_divide: "floor_divide",
}  # fmt: skip
_TO_TRUTHS: dict[Any, str] = {
    np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=", np.equal: "==", np.not_equal: "!=",
    np.isnan: "isnan", np.isinf: "isinf", np.isfinite: "isfinite", np.signbit: "signbit", np.copyto: "truth",
}  # fmt: skip
_OF_TRUTHS: dict[Any, str] = {
    np.logical_and: "and", np.logical_or: "or", np.bitwise_and: "and", np.bitwise_or: "or", np.logical_not: "not",
    np.invert: "not",
}  # fmt: skip
_NUMBER: tuple[Form] = ("number",)
#: Steps that NumPy takes element by element.
_SLOW = (np.sign, erf_of_array, np.fmod, np.floor_divide)
_SINGLE, _TRUTH = np.dtype(np.float32), np.dtype(np.bool_)
_HALF_BYTES = 2

#: Elements of what stands for a row where all operands lie alike.
_PIECE = 1 << 13
#: Fewer are not worth code of their own where a call is replayed.
LEAST_REPLAYED = 1 << 10

#: A step: the function, and where its arguments come from: inputs, then numbers, then steps before.
_Steps = list[tuple[str, tuple[int, ...]]]
#: By what they do: there are as many as there are bodies, since numbers are operands.
_programs: dict[str, RowProgram] = {}


class Fused:
    """Steps as a program, which the numbers among their arguments are operands of.

    Parameters
    ----------
    steps : list of (str, tuple of int)
        The functions and their arguments: inputs, numbers and steps before.
    inputs : int
        How many arrays there are.
    numbers : list of float
        What stands among the arguments.
    """

    def __init__(self, steps: _Steps, inputs: int, numbers: list[float]) -> None:
        self.steps, self.inputs, self.numbers = steps, inputs, numbers

    def run(self, arrays: Sequence[Any], out: Any) -> bool:
        """Write the result for arrays that are all as long as it, and floats; whether it was done."""
        if not rows.are_enough(out.size):
            return False
        program = self._program(tuple(["number" if type(a) is float else "rows" for a in arrays]))
        count = out.size // _PIECE
        whole = count * _PIECE
        if not self._run_part(program, arrays, out, slice(whole), count, _PIECE):
            return False
        if whole < out.size:
            self._run_part(program, arrays, out, slice(whole, None), 1, out.size - whole)
        return True

    def write(self, tape: Tape, inputs: Sequence[Value], out: Value) -> bool:
        """Write the same down, for arrays that all lie as the result does, and numbers; whether it was done."""
        if math.prod(out.sizes) < LEAST_REPLAYED or rows.native.call is None:
            return False
        if not is_dense(out.sizes, out.strides) or len(inputs) + 1 > MOST_OPERANDS:
            return False
        if len(self.steps) == 1 and self.steps[0][0] in OWN and all(v.dtype == out.dtype for v in inputs):
            return False  # there is a loop
        if any(v.sizes and (v.sizes, v.strides) != (out.sizes, out.strides) for v in inputs):
            return False
        forms: tuple[Form, ...] = tuple(["rows" if v.sizes else "number" for v in inputs])
        with np.errstate(over="ignore"):
            words = [int(np.float32(number).view(np.uint32)) for number in self.numbers]
        tape.map(self._program(forms), inputs, out, tuple(words))
        return True

    def _run_part(
        self, program: RowProgram, arrays: Sequence[Any], out: Any, part: slice, count: int, length: int
    ) -> bool:
        given = [a if type(a) is float else a[part] for a in arrays]
        return rows.run(program, [*given, *self.numbers], [out[part]], count, length, is_part=True)

    def run_broadcast(self, arrays: Sequence[Any], out: Any) -> bool:
        """The same for row-major arrays some of which are one row, one number for each row, or a single one."""
        if not rows.are_enough(out.size) or not out.flags.c_contiguous:
            return False
        given = [_unexpanded(a) for a in arrays]
        shapes = [a.shape for a in given if type(a) is not float]
        if not shapes:
            return False
        if all(shape == out.shape for shape in shapes):
            if not all(type(a) is float or a.flags.c_contiguous for a in given):
                lying: tuple[Form, ...] = tuple(["number" if type(a) is float else "rows" for a in given])
                length = min(_side_by_side(a) for a in given if type(a) is not float)
                operands = [*given, *self.numbers]
                return rows.run(self._program(lying), operands, [out], out.size // length, length)
            return self.run([a if type(a) is float else a.reshape(-1) for a in given], out.reshape(-1))
        found = _as_rows(shapes, out.shape)
        if found is None or set(found[0]) == {"each"}:
            return False
        of_arrays, count, length = iter(found[0]), *found[1:]
        forms: tuple[Form, ...] = tuple(["number" if type(a) is float else next(of_arrays) for a in given])
        return rows.run(self._program(forms), [*given, *self.numbers], [out], count, length)

    def _program(self, forms: tuple[Form, ...]) -> RowProgram:
        name = f"{__name__} {self.steps} {forms}"
        found = _programs.get(name)
        if found is None:
            steps, numbers = self.steps, len(self.numbers)

            def body(k: Any, *operands: Any) -> list[Any]:
                values = list(operands)
                for function, args in steps:
                    values.append(k.apply(function, *[values[i] for i in args]))
                return [values[-1]]

            found = _programs[name] = RowProgram(name, (*forms, *_NUMBER * numbers), body)
        return found


def _unexpanded(array: Any) -> Any:
    """The elements of an array that are not the same one again; a float if there is one alone."""
    found = array[tuple([slice(1) if not stride else slice(None) for stride in array.strides])]
    return float(found.reshape(())) if found.size == 1 else found


def _side_by_side(array: Any) -> int:
    """How many elements lie side by side, in the last dimensions."""
    count = 1
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if size != 1 and stride != count * array.itemsize:
            break
        count *= size
    return count


def _as_rows(shapes: Sequence[tuple[int, ...]], whole: tuple[int, ...]) -> tuple[tuple[Form, ...], int, int] | None:
    """(forms of arrays that broadcast to a shape, how many rows, how long); None where rows are not what they have."""
    forms: list[Form] = []
    split: set[int] = set()
    for shape in shapes:
        if shape == whole:
            forms.append("rows")
            continue
        wide = (1,) * (len(whole) - len(shape)) + shape
        inner = next((d for d, n in enumerate(wide) if n != 1), len(wide))
        outer = next((d for d in range(len(wide), 0, -1) if wide[d - 1] != 1), 0)
        if wide[inner:] == whole[inner:]:
            forms.append("columns")
            split.add(inner)
        elif wide[:outer] == whole[:outer]:
            forms.append("each")
            split.add(outer)
        else:
            return None
    if len(split) != 1:
        return None
    (at,) = split
    return tuple(forms), math.prod(whole[:at]), math.prod(whole[at:])


def fused(steps: Sequence[Any], result: int, inputs: Sequence[np.dtype[Any]]) -> Fused | None:
    """Steps (`ufunc_plan.Step`) as a program; None where a row program cannot say it, or is no gain.

    Parameters
    ----------
    steps : sequence of Step
        In order, the last one the result unless there are none.
    result : int
        As `Ref` has it.
    inputs : sequence of numpy.dtype
        The types that they are computed in.
    """
    if not steps or result != -len(steps) or any(dtype != _SINGLE for dtype in inputs):
        return None
    *middle, last = steps
    if last.function is np.copyto and last.dtype.itemsize == _HALF_BYTES and last.dtype.kind not in "iu":
        if not middle or last.args[0].number != -len(middle):
            return None
        steps, half = middle, True
    else:
        half = False
    if steps[-1].dtype != _SINGLE:
        return None
    # A large tensor of float32 is, bit for bit, as its parts.
    if not half and len(steps) == 1 and steps[0].function not in _SLOW and steps[0].function not in own_names:
        return None
    numbers = sum(not isinstance(a, Ref) for step in steps for a in step.args)
    types = [*inputs, *(_SINGLE,) * numbers]
    found: _Steps = []
    taken: list[float] = []
    for step in steps:
        places: list[int] = []
        for a in step.args:
            if isinstance(a, Ref):
                places.append(a.number if a.number >= 0 else len(inputs) + numbers - 1 - a.number)
            elif np.ndim(a) == 0 and type(a) is not bool and np.asarray(a).dtype.kind in "fiu":
                places.append(len(inputs) + len(taken))
                taken.append(float(a))
            else:
                return None
        name = name_of(step.function, step.dtype, [types[i] for i in places])
        if name is None:
            return None
        found.append((name, tuple(places)))
        types.append(step.dtype)
    return Fused(found, len(inputs), taken)


def name_of(function: Any, dtype: np.dtype[Any], types: list[np.dtype[Any]]) -> str | None:
    """What a step is called that gives a type, with arguments of these types; None where a program has no such."""
    if function is np.where:
        return "where" if types == [_TRUTH, _SINGLE, _SINGLE] and dtype == _SINGLE else None
    if function is np.copyto and types == [_SINGLE] and dtype == _SINGLE:
        return "same"
    if function in own_names:
        return own_names[function] if dtype == _SINGLE and all(t == _SINGLE for t in types) else None
    for names, source, target in (
        (_OF_NUMBERS, _SINGLE, _SINGLE), (_TO_TRUTHS, _SINGLE, _TRUTH), (_OF_TRUTHS, _TRUTH, _TRUTH),
    ):  # fmt: skip
        if function in names and dtype == target and all(t == source for t in types):
            return names[function]
    return None
