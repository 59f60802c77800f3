"""A call that was written down (`registry.tape`) as the words that native code reads (`calls.ll`)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.codegen import blas, casts, eager_math, joined_loops, narrow_products, row_loops
from opweave.codegen.native import allocation, objects
from opweave.codegen.native.calling import MOST_ARGUMENTS, MOST_KEPT, MOST_PLACES, code
from opweave.registry import dtypes
from opweave.registry.autograd.record import OpNode
from opweave.registry.autograd.replayed import Finish, Unlike, finishing
from opweave.registry.device import Device, cpu
from opweave.registry.dtypes import DType
from opweave.registry.keys import GRAD, state
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.rows import RowCall, RowProgram
from opweave.registry.spec import overlaps_itself, span
from opweave.registry.strided import Size
from opweave.registry.tape import (
    MOST_ELEMENTS,
    MOST_OPERANDS,
    MOST_SCRATCH,
    MOST_SEVERAL,
    Loop,
    NotTaped,
    Tape,
    Value,
    results_of,
    tensors_in,
)  # fmt: skip
from opweave.registry.tensor import Tensor


def keys_of_state() -> int:
    """The keys that the thread excludes, and above them those that it includes besides."""
    return state.exclude | (state.include & ~state.exclude) << 32


class _Words:
    """Words in memory, and what they point to."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def place(self, *words: int) -> int:
        """The address of these words."""
        packed = ctypes.create_string_buffer(struct.pack(f"{len(words)}q", *words))
        self.kept.append(packed)
        return ctypes.addressof(packed)

    def object(self, value: Any) -> int:
        """The address of an object, which lives as long."""
        self.kept.append(value)
        return id(value)


_PLAIN = (type(None), bool, type(Ellipsis), type(NotImplemented), DType, Device, MemoryFormat)


def _snapshot(value: Any) -> Any:
    """A copy of a value that can be compared with later ones, though the value be changed.

    Raises
    ------
    NotTaped
        If it is of a type that native code does not compare.
    """
    kind: Any = value.__class__
    if kind in (int, float, str) or kind in _PLAIN:
        return value
    if kind is slice:
        return slice(_snapshot(value.start), _snapshot(value.stop), _snapshot(value.step))
    if kind in (tuple, list, Size):
        make: Any = kind
        return make([_snapshot(item) for item in value])
    raise NotTaped(f"an argument of type {kind.__name__}")


def _guard(words: _Words, value: Any, place: int, target: Tensor | None, item: int = 0) -> tuple[int, ...]:
    """The words of a `%Guard`; `item` is how long a number is that may be another one."""
    if item:
        return (3, 0, 0, 0, 0, 0, 0, place, item, item, 0)
    if type(value) is Tensor:
        if value._device is not cpu:
            raise NotTaped("a tensor of another device")
        same = [words.object(v) for v in (value._keys, value._sizes, value._strides, value._dtype, cpu)]
        layout = value._sizes, value._strides, value._dtype
        is_alike = target is not None and layout == (target._sizes, target._strides, target._dtype)
        item = value._dtype.itemsize
        return (1, *same, value._keys, place, item, span(value._sizes, value._strides) * item, is_alike)
    same = _snapshot(value)
    kind = 0 if type(value) in _PLAIN else 2
    return (kind, words.object(same), 0, 0, 0, 0, 0, -1, 0, 0, 0)


#: Words of a `%Guard`.
_GUARD = 11


def _guard_of_list(words: _Words, tensors: Sequence[Tensor], first: int) -> tuple[int, ...]:
    """The words of a `%Guard` of a list or tuple of tensors, of whose own the first has a number."""
    return (4, words.object(type(tensors)), 0, 0, 0, 0, len(tensors), -1, first, 0, 0)


def _inner_loop(function: Any, types: Sequence[np.dtype[Any]], is_large: bool) -> tuple[int, int]:
    """The address of the loop for these types, and of what it takes besides.

    Raises
    ------
    NotTaped
        If there is none, or it is not where it is looked for.
    """
    if function == "product":
        product = blas.loop_of(dtypes.from_numpy(types[0]))
        if product is None:
            raise NotTaped("no products on the pool")
        return product
    if function == "narrow product":
        return narrow_products.loop_of(dtypes.from_numpy(types[0]))
    if isinstance(function, RowProgram):
        own = row_loops.loop_of(function, tuple(types), is_large)
        if own is None:
            raise NotTaped("no code for a row program")
        return own, 0
    if isinstance(function, str):
        own = casts.loop(types[0], types[1]) if function == "cast" else code.loop(function, tuple(types))
        if own is None:
            own = eager_math.loop(function, types[0])
        if own is None:
            raise NotTaped("a conversion")
        return own, 0
    found = eager_math.Ufunc.of(function)
    if found is None:
        raise NotTaped("another NumPy")
    for i, text in enumerate(function.types):
        chars = text.replace("->", "")
        if "O" not in chars and [np.dtype(c) for c in chars] == list(types):
            address = found.functions[i]
            if address:
                return address, found.data[i] or 0
    raise NotTaped(f"no loop of {function.__name__}")


#: Where what lies between the loops of a call is: one place for all calls, since nothing else runs between them.
_scratch: Any = None


def _scratch_at(offset: int) -> int:
    global _scratch
    if _scratch is None:
        _scratch = ctypes.create_string_buffer(MOST_SCRATCH + 64)
        objects.keep_forever(_scratch)
    return (ctypes.addressof(_scratch) + 63) // 64 * 64 + offset


def _loop(words: _Words, loop: Loop, place: Callable[[Value], tuple[int, int]]) -> tuple[int, ...]:
    """The words of a `%Loop`."""
    if isinstance(loop.function, RowCall):
        found = row_loops.call_of(loop.function, loop.types, loop.data)
        if found is None:
            raise NotTaped("no code for a row program")
        address, data = found[0], words.place(*found[1])
    else:
        address, data = _inner_loop(loop.function, loop.types, loop.counts[0] > MOST_ELEMENTS)
        data = words.place(*loop.data) if loop.data else data
    if len(loop.operands) > MOST_OPERANDS:
        raise NotTaped("many operands")
    operands: list[int] = []
    for value, (step,) in loop.operands:
        if isinstance(value, Value):
            where, offset = place(value)
        else:
            constant = np.ascontiguousarray(value).reshape(())
            where, offset = -1, constant.__array_interface__["data"][0]
            words.kept.append(constant)
        operands += [where, offset, step]
    operands += [0] * (3 * MOST_OPERANDS - len(operands))
    dims, steps = words.place(*loop.counts), words.place(*loop.steps)
    return (address, data, loop.outer, dims, steps, len(loop.operands), *operands)


class Written:
    """A call as native code has it; it keeps what that points to.

    Parameters
    ----------
    args, kwargs
        The arguments.
    result : Tensor
        What the call gave in Python.
    tape : Tape
        What it does.
    again : Tensor, or tuple or list of them
        What it gave while it was written down.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, tape: Tape, again: Any) -> None:
        self.words = words = _Words()
        self.has_loops = bool(tape.loops)
        given = (*args, *kwargs.values())
        if len(given) > MOST_ARGUMENTS:
            raise NotTaped("many arguments")
        target = tape.target
        if isinstance(result, (tuple, list)):
            finish = _finish_several(result, tape, given, again)
            first = finish.first
            kind, which, made = 0, 0, self._maker(first, tape)
            out = tape.value(first).buffer
        elif target is None:
            finish = _finish(result, tape, given, again)
            first = again if finish is None else finish.first
            kind, which, made = self._result(result, tape, first, given)
            out = tape.value(first).buffer
        else:
            finish = None
            kind, which, made = self._writing(result, tape, given)
            assert tape.written is not None
            out = tape.value(tape.written).buffer
        kept = {tape.value(t).buffer: t for t in finish.kept} if finish is not None else {}
        steps = tape.loops if tape.is_placed else joined_loops.joined(tape.loops, {out, *kept})
        used = {v.buffer for loop in steps for v, _ in loop.operands if isinstance(v, Value)}
        read = {v.buffer for loop in tape.loops for v, _ in loop.operands if isinstance(v, Value)}
        guards: list[int] = []
        of_items: list[int] = []
        number, numbers = 0, 0
        for value in given:
            if type(value) is float:
                dtype = tape.number_types.get(numbers)
                place_of = len(tape.inputs) + numbers
                guards += _guard(words, value, place_of, target, 0 if dtype is None else dtype.itemsize)
                numbers += 1
                continue
            tensors = tensors_in(value)
            if tensors is value:
                if any(t is target for t in tensors):
                    raise NotTaped("what is written, in a list")
                guards += _guard_of_list(words, tensors, len(given) + len(of_items) // _GUARD)
            for t in tensors:
                is_used = number in read or t is target
                # What is read while elements are written in any order is apart from these.
                like = None if tape.is_placed and t is not target else target
                found = _guard(words, t, number if is_used else -1, like)
                if tensors is value:
                    of_items += found
                else:
                    guards += found
                number += 1
            if not tensors:
                guards += _guard(words, value, -1, target)
        if number + numbers + 1 + MOST_KEPT > MOST_PLACES:
            raise NotTaped("many tensors")
        guards += of_items
        number += numbers
        if len(kept) > MOST_KEPT or finish is not None and len(kept) < len(finish.kept) or out in kept:
            raise NotTaped("many results")
        makers = [self._maker(t, tape) for t in kept.values()]
        places = {buffer: number + 1 + i for i, buffer in enumerate(kept)}
        offsets: dict[int, int] = {}
        end = several = 0
        # What is one program of many elements is written once; of NumPy's loops it would not stay in the cache.
        of_programs = {
            getattr(loop.operands[-1].value, "buffer", -1) for loop in steps if type(loop.function) is RowProgram
        }
        for buffer, nbytes in tape.fresh.items():
            if buffer != out and buffer not in kept and buffer in used:
                offsets[buffer] = end
                end += -(-nbytes // 64) * 64
                several += 0 if buffer in of_programs else nbytes
        if end > MOST_SCRATCH or several > MOST_SEVERAL:
            raise NotTaped("large")

        words.kept.append(tape.constants)

        def place(value: Value) -> tuple[int, int]:
            if value.buffer in tape.constants:
                return -1, tape.constants[value.buffer].__array_interface__["data"][0] + value.offset
            if value.buffer in offsets:
                return -1, _scratch_at(offsets[value.buffer]) + value.offset
            if value.buffer in places:
                return places[value.buffer], value.offset
            if value.buffer == out:
                return (number if target is None else tape.value(target).buffer), value.offset
            return value.buffer, value.offset

        loops = [word for loop in steps for word in _loop(words, loop, place)]
        names = tuple(kwargs)
        fields = (
            0, len(args), len(kwargs), words.object(names), keys_of_state(),
            words.object(dtypes._default.__dict__["dtype"]) if "dtype" in dtypes._default.__dict__ else 0,
            words.place(*guards), len(steps), words.place(*loops), kind, which, made, number,
            0 if finish is None else words.object(finish.function), 0, id(self), len(makers), words.place(*makers),
        )  # fmt: skip
        self._fields = (ctypes.c_int64 * len(fields))(*fields)

    @property
    def address(self) -> int:
        """Of its `%Call`."""
        return ctypes.addressof(self._fields)

    @property
    def hits(self) -> int:
        """How often it was made."""
        return self._fields[14]

    def before(self, other: Written | None) -> None:
        """Stand before another call."""
        self._fields[0] = 0 if other is None else other.address

    def _maker(self, t: Tensor, tape: Tape) -> int:
        """The address of what a tensor in fresh memory is made with."""
        value = tape.value(t)
        nbytes = span(t._sizes, t._strides) * t._dtype.itemsize
        if value.offset or t._offset or t._view_of is not None or tape.fresh.get(value.buffer) != nbytes:
            raise NotTaped("a part of what was computed")
        found = allocation.words(t._sizes, t._strides, t._dtype, cpu, t._keys & ~GRAD)
        if found is None:
            raise NotTaped("no layout")
        address, kept = found
        self.words.kept.append(kept)
        return address

    def _result(self, result: Any, tape: Tape, again: Tensor, given: tuple[Any, ...]) -> tuple[int, int, int]:
        """What becomes of the result: a kind, an argument and the address of what it is made with."""
        value = tape.value(again)
        if value.buffer in tape.fresh and result._view_of is not None:  # of what is made here
            return 0, 0, self._maker(again, tape)
        if any(getattr(result, name) != getattr(again, name) for name in ("_sizes", "_strides", "_dtype", "_device")):
            raise NotTaped("another result")
        if value.buffer < len(tape.inputs):
            base = tape.inputs[value.buffer]
            which = next((i for i, v in enumerate(given) if v is base), None)
            if which is None:
                raise NotTaped("an item of a list")
            if result is base:
                return 2, which, 0
            if tape.loops or result._storage is not base._storage or result._dtype is not base._dtype:
                raise NotTaped("another result")
            whose = base if base._view_of is None else base._view_of
            if result._view_of is not None and result._view_of is not whose:
                raise NotTaped("a view of something else")
            return 1, which, self._view(result, base)
        if result._offset or any(result._storage is t._storage for t in tape.inputs):
            raise NotTaped("another result")
        return 0, 0, self._maker(again, tape)

    def _writing(self, result: Any, tape: Tape, given: tuple[Any, ...]) -> tuple[int, int, int]:
        """`_result` for a call that writes into an argument."""
        target, written = tape.target, tape.written
        if target is None or written is None or result is not target or not any(result is v for v in given):
            raise NotTaped("another result")
        value = tape.value(written)
        if (value.sizes, value.strides, written._dtype) != (target._sizes, target._strides, target._dtype):
            raise NotTaped("a result that is converted")
        recorded = not state.exclude & GRAD
        if recorded and any(type(v) is Tensor and v._keys & GRAD for v in given):
            raise NotTaped("a write that is recorded")
        out = tape.value(written).buffer
        writes = [loop for loop in tape.loops if getattr(loop.operands[-1].value, "buffer", -1) == out]
        is_last = tape.is_placed or len(writes) == 1 and writes == tape.loops[-1:]
        if overlaps_itself(target._sizes, target._strides) or not is_last:
            raise NotTaped("a write that is not the last step")
        which = next(i for i, v in enumerate(given) if v is target)
        base = target._view_of
        if recorded and base is not None and (type(base) is not Tensor or base._keys & GRAD):
            raise NotTaped("a view of what has a history")
        return 3, which, self.words.place(recorded, tape.value(target).buffer)

    def _view(self, result: Tensor, base: Tensor) -> int:
        places = allocation.places()
        assert places is not None
        fixed = {
            "_sizes": result._sizes, "_strides": result._strides, "_dtype": result._dtype, "_device": cpu,
            "_keys": result._keys & ~GRAD, "_cached": None, "_autograd": None,
        }  # fmt: skip
        slots = [word for name, value in fixed.items() for word in (places[Tensor][name], self.words.object(value))]
        tracked = result._view_of is not None
        head = [id(Tensor), self.words.object(object.__new__), tracked, result._offset - base._offset, len(fixed)]
        return self.words.place(*head, *slots)


class Refused(Written):
    """A call that only Python makes, as native code has it, so that it is not tried again.

    Parameters
    ----------
    args, kwargs
        The arguments.

    Raises
    ------
    NotTaped
        If native code cannot compare them.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.words = words = _Words()
        given = (*args, *kwargs.values())
        if len(given) > MOST_ARGUMENTS or any(tensors_in(value) is value for value in given):
            raise NotTaped("arguments that are not compared")
        guards = [word for value in given for word in _guard(words, value, -1, None)]
        fields = (
            0, len(args), len(kwargs), words.object(tuple(kwargs)), keys_of_state(),
            words.object(dtypes._default.__dict__["dtype"]) if "dtype" in dtypes._default.__dict__ else 0,
            words.place(*guards), 0, 0, 4, 0, 0, 0, 0, 0, id(self), 0, 0,
        )  # fmt: skip
        self._fields = (ctypes.c_int64 * len(fields))(*fields)


def _finish(result: Tensor, tape: Tape, given: tuple[Any, ...], again: Tensor) -> Finish | None:
    """What makes the result part of the recorded graph; None where it is none of it.

    `again` is what the call gave while it was written down.

    Raises
    ------
    NotTaped
        If that takes more than the node of one op.
    """
    meta = result._autograd
    if meta is None or any(result is value for value in given):
        if result._keys & GRAD and not any(result is value for value in given):
            raise NotTaped("a leaf")
        if not tape.calls or any(result is value for value in given):
            return None
        last, _, _, found = tape.calls[-1]
        if result._view_of is None or not last.is_view or tape.value(found).buffer not in tape.fresh:
            return None
        try:
            return finishing(tape.calls, given, [None], True, [again])
        except Unlike:
            raise NotTaped("a view of its own") from None
    node = meta.grad_fn
    if (
        type(node) is not OpNode
        or not tape.calls
        or not result._keys & GRAD
        or not any(t is again for t in results_of(tape.calls[-1][3]))
    ):
        raise NotTaped("a history of its own")
    if [t is again for t in results_of(tape.calls[-1][3])].index(True) != meta.output:
        raise NotTaped("another output")
    try:
        return finishing(tape.calls, given, [node], result._view_of is not None, [again])
    except Unlike:
        raise NotTaped("a history of its own") from None


def _finish_several(results: Any, tape: Tape, given: tuple[Any, ...], again: Any) -> Finish:
    """What makes several results part of the recorded graph, and gives all of them."""
    nodes: list[OpNode | None] = []
    if not results or tape.target is not None or type(again) is not type(results) or len(again) != len(results):
        raise NotTaped("other results")
    for t, other in zip(results, again, strict=True):
        meta = t._autograd
        node = None if meta is None else meta.grad_fn
        if any(getattr(t, name) != getattr(other, name) for name in ("_sizes", "_strides", "_dtype", "_device")):
            raise NotTaped("another result")
        if t._view_of is not None or t._offset or any(t._storage is one._storage for one in tape.inputs):
            raise NotTaped("a view among several results")
        if tape.value(other).buffer not in tape.fresh or bool(t._keys & GRAD) != (node is not None):
            raise NotTaped("a history of its own")
        if node is not None:
            owner = next((found for *_, found in tape.calls if any(one is other for one in results_of(found))), ())
            outputs = [i for i, one in enumerate(results_of(owner)) if one is other]
            if type(node) is not OpNode or meta is None or outputs != [meta.output]:
                raise NotTaped("a history of its own")
        nodes.append(node)
    try:
        return finishing(tape.calls, given, nodes, False, again, results.__class__)
    except Unlike:
        raise NotTaped("a history of its own") from None
