"""Values of a graph as JSON, and back: operands, types, pytrees. What is read is checked at every step."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn, cast

import optree

from opweave.fake.mode import FakeTensorMode
from opweave.fake.shape_env import ShapeEnv
from opweave.fake.tensor import make_fake
from opweave.registry import dtypes, return_types
from opweave.registry.containers import is_dict, is_list, is_sequence, is_tuple
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import DeviceError, UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.spec import TensorSpec, span
from opweave.registry.storage import Storage
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.export.archive import refuse
from opweave.tracer.graph import Node

_DEPTH = 64
_LARGEST = 2**63 - 1
_MOST_DIMS = 64
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


# ---- checked access --------------------------------------------------------------------------------------------------


class Reader:
    """A JSON value with the place where it stands.

    Parameters
    ----------
    value : Any
        What JSON gave.
    place : str
        For messages: `program.json: graph.nodes[3]`.
    """

    __slots__ = ("value", "place")

    def __init__(self, value: Any, place: str):
        self.value = value
        self.place = place

    def fail(self, expected: str) -> NoReturn:
        """Refuse the value."""
        text = repr(self.value) if not (is_list(self.value) or is_dict(self.value)) else type(self.value).__name__
        refuse(f"{self.place}: expected {expected}", text if len(text) <= 80 else text[:77] + "...")

    def keys(self, *required: str, optional: tuple[str, ...] = ()) -> Reader:
        """Require an object with exactly these keys."""
        if not is_dict(self.value):
            self.fail("an object")
        missing = [key for key in required if key not in self.value]
        unknown = [key for key in self.value if key not in required and key not in optional]
        if missing or unknown:
            self.fail(f"an object with {', '.join(required)}" + (f", and not {unknown[0][:40]!r}" if unknown else ""))
        return self

    def has(self, key: str) -> bool:
        """Whether an object has a key."""
        return key in self.value

    def __getitem__(self, key: str) -> Reader:
        return Reader(self.value[key], f"{self.place}.{key}")

    def items(self) -> list[Reader]:
        """The elements of a list."""
        if not is_list(self.value):
            self.fail("a list")
        return [Reader(item, f"{self.place}[{index}]") for index, item in enumerate(self.value)]

    def members(self) -> list[tuple[str, Reader]]:
        """The entries of an object."""
        if not is_dict(self.value):
            self.fail("an object")
        return [(key, Reader(item, f"{self.place}.{key[:40]}")) for key, item in self.value.items()]

    def text(self, most: int = 10_000) -> str:
        """A string."""
        if type(self.value) is not str or len(self.value) > most:
            self.fail("text")
        return self.value

    def identifier(self) -> str:
        """A string that is an ASCII identifier."""
        if not (self.text(1000).isidentifier() and self.value.isascii()):
            self.fail("an identifier")
        return self.value

    def integer(self, lowest: int = 0, highest: int = _LARGEST) -> int:
        """An integer in a range."""
        if type(self.value) is not int or not lowest <= self.value <= highest:
            self.fail(f"an integer from {lowest} to {highest}")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if type(self.value) is not bool:
            self.fail("true or false")
        return self.value

    def elements(self) -> list[Any]:
        """The elements of a list, as they are."""
        return [item.value for item in self.items()]

    def sizes(self) -> tuple[int, ...]:
        """Sizes or strides that are integers."""
        found = tuple(item.integer() for item in self.items())
        if len(found) > _MOST_DIMS:
            self.fail(f"at most {_MOST_DIMS} dimensions")
        return found

    def dtype(self) -> DType:
        """A dtype by name."""
        found = dtypes.DTYPES.get(self.text())
        return found if found is not None else self.fail("a dtype")

    def device(self) -> Device:
        """A device by name."""
        try:
            return Device(self.text(20))
        except (DeviceError, ValueError) as error:
            let_through(error)
            return self.fail("a device")


# ---- operands --------------------------------------------------------------------------------------------------------


def encode_operand(value: Any, what: str) -> Any:
    """A constant, a node or a nest of them as JSON.

    Raises
    ------
    UnsupportedError
        If it has no such form.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": "nan" if math.isnan(value) else str(value)}
    if isinstance(value, Node):
        return {"node": value.name}
    if is_list(value):
        return [encode_operand(item, what) for item in value]
    if type(value) is complex:
        return {"complex": [encode_operand(value.real, what), encode_operand(value.imag, what)]}
    if is_tuple(value):
        return {"tuple": [encode_operand(item, what) for item in value]}
    if is_dict(value):
        return {"dict": [[encode_operand(key, what), encode_operand(item, what)] for key, item in value.items()]}
    if type(value) is slice:
        return {"slice": [encode_operand(item, what) for item in (value.start, value.stop, value.step)]}
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, MemoryFormat):
        return {"memory_format": value.name}
    if isinstance(value, Device):
        return {"device": str(value)}
    if value is Ellipsis:
        return {"ellipsis": True}
    for base in (bool, int, float, str):  # an enumeration, a NumPy number
        if isinstance(value, base):
            return encode_operand(base(value), what)
    raise UnsupportedError(
        f"save: {what} holds something that a file cannot",
        got=describe(value),
        hint="numbers, strings, dtypes, devices, and tuples, lists and dicts of them",
    )


def decode_operand(source: Reader, nodes: dict[str, Node], depth: int = 0) -> Any:
    """What `encode_operand` gave, read back; nodes are looked up by name."""
    value = source.value
    if value is None or type(value) in (bool, int, str, float):
        return value
    if depth > _DEPTH:
        source.fail("operands that are nested less deep")
    if is_list(value):
        return [decode_operand(item, nodes, depth + 1) for item in source.items()]
    if not is_dict(value) or len(value) != 1:
        source.fail("an operand")
    (kind,) = value
    inner = Reader(value[kind], f"{source.place}.{kind[:40]}")
    if kind == "node":
        found = nodes.get(inner.text())
        return found if found is not None else inner.fail("the name of an earlier node")
    if kind == "float":
        return _NOT_FINITE[inner.text()] if inner.text() in _NOT_FINITE else inner.fail("inf, -inf or nan")
    if kind == "dtype":
        return inner.dtype()
    if kind == "memory_format":
        found = MemoryFormat.__members__.get(inner.text())
        return found if found is not None else inner.fail("a memory format")
    if kind == "device":
        return inner.device()
    if kind == "ellipsis":
        return Ellipsis if inner.flag() else inner.fail("true")
    if kind == "dict":
        return dict(_pair(item, nodes, depth) for item in inner.items())
    if kind not in ("tuple", "slice", "complex"):
        source.fail("an operand")
    items = [decode_operand(item, nodes, depth + 1) for item in inner.items()]
    if kind == "tuple":
        return tuple(items)
    if kind == "slice" and len(items) == 3:
        return slice(*items)
    if kind == "complex" and len(items) == 2 and all(type(item) in (int, float) for item in items):
        return complex(*items)
    return source.fail("an operand")


def _pair(source: Reader, nodes: dict[str, Node], depth: int) -> tuple[Any, Any]:
    items = source.items()
    if len(items) != 2:
        source.fail("a key and a value")
    key = items[0].value
    if type(key) not in (str, int):
        items[0].fail("text or an integer")
    return key, decode_operand(items[1], nodes, depth + 1)


# ---- what nodes look like --------------------------------------------------------------------------------------------


class Numbers:
    """How symbolic numbers are written and read; this one does without.

    A subclass overrides both methods.
    """

    def encode(self, value: Any, what: str) -> Any:
        """A symbolic number as JSON."""
        raise UnsupportedError(f"save: {what} is a symbolic number of another trace", got=repr(value))

    def decode(self, source: Reader) -> Any:
        """A number of any kind."""
        unknown = self.unknown(source, ShapeEnv)
        return source.fail("a number that is fixed") if unknown is None else unknown

    @staticmethod
    def unknown(source: Reader, env: Callable[[], ShapeEnv]) -> Any:
        """A float that depends on data, or a condition on one, of which a file says no more; else None."""
        if not is_dict(source.value) or source["value"].value is not None:
            return None
        kind = source["number"].text(10)
        if kind not in ("float", "bool"):
            source["value"].fail("an expression")
        return env().new_unbacked_float() if kind == "float" else env().new_unbacked(0, 1) == 1


def encode_value(value: Any, what: str, numbers: Numbers) -> Any:
    """What a node's value looks like, as JSON: sizes, strides, dtype and device of tensors."""
    if isinstance(value, Tensor):

        def encoded(values: Any) -> list[Any]:
            return [size if type(size) is int else numbers.encode(size, what) for size in values]

        return {
            "dtype": value._dtype.name,
            "sizes": encoded(value._sizes),
            "strides": encoded(value._strides),
            "device": str(value._device),
        }
    if isinstance(value, Symbolic):
        return {"number": value.kind, "value": numbers.encode(value, what)}
    if is_sequence(value):
        return [encode_value(item, what, numbers) for item in value]
    if is_dict(value):
        return {"dict": [[encode_operand(key, what), encode_value(item, what, numbers)] for key, item in value.items()]}
    return {"constant": encode_operand(value, what)}


def decode_value(source: Reader, mode: FakeTensorMode, numbers: Numbers, depth: int = 0) -> Any:
    """A node's fake value; lists come back as tuples."""
    if depth > _DEPTH:
        source.fail("values that are nested less deep")
    if is_list(source.value):
        return tuple(decode_value(item, mode, numbers, depth + 1) for item in source.items())
    if is_dict(source.value) and "constant" in source.value:
        return decode_operand(source.keys("constant")["constant"], {})
    if is_dict(source.value) and "dict" in source.value:
        pairs = [item.items() for item in source.keys("dict")["dict"].items()]
        if any(len(pair) != 2 or type(pair[0].value) not in (str, int) for pair in pairs):
            source.fail("keys and values")
        return {key.value: decode_value(item, mode, numbers, depth + 1) for key, item in pairs}
    if is_dict(source.value) and "number" in source.value:
        return numbers.decode(source.keys("number", "value"))
    source.keys("dtype", "sizes", "strides", "device")
    if any(isinstance(size, (str, list)) for key in ("sizes", "strides") for size in source[key].elements()):
        return _symbolic(source, mode, numbers)
    return mode.make(decode_spec(source))


def _symbolic(source: Reader, mode: FakeTensorMode, numbers: Numbers) -> Any:
    """A fake tensor with symbolic sizes or strides."""
    dtype, device = source["dtype"].dtype(), source["device"].device()
    layout: list[tuple[Any, ...]] = []
    for key in ("sizes", "strides"):
        items = source[key].items()
        if any(isinstance(item.value, dict) for item in items):
            source[key].fail("integers and expressions")
        layout.append(tuple(i.integer() if type(i.value) is int else numbers.decode(i) for i in items))
    if len(layout[0]) != len(layout[1]) or len(layout[0]) > _MOST_DIMS:
        source.fail("as many strides as sizes")
    # How large it is in the example; where that depends on data, nothing is known.
    known = [[n if type(n) is int else n.hint for n in part] for part in layout]
    nbytes = 0
    if None not in (*known[0], *known[1]):
        if min((*known[0], *known[1]), default=0) < 0:
            source.fail("sizes that are not negative")
        nbytes = max(math.prod(size for size in known[0] if size), span(*known)) * dtype.itemsize
        if nbytes > _LARGEST:
            source.fail("sizes that memory could hold")
    return make_fake(mode, Storage(device, nbytes, None, None), layout[0], layout[1], 0, dtype, device)


def decode_spec(source: Reader) -> TensorSpec:
    """Sizes, strides, dtype and device of a tensor that can exist."""
    dtype, device = source["dtype"].dtype(), source["device"].device()
    sizes, strides = source["sizes"].sizes(), source["strides"].sizes()
    if len(sizes) != len(strides):
        source.fail("as many strides as sizes")
    if max(math.prod(size for size in sizes if size), span(sizes, strides)) * dtype.itemsize > _LARGEST:
        source.fail("sizes that memory could hold")
    return TensorSpec(sizes, strides, dtype, device)


# ---- pytrees ---------------------------------------------------------------------------------------------------------

_LEAF = object()


def encode_tree(spec: Any, what: str) -> Any:
    """The structure of arguments or results as JSON.

    Raises
    ------
    UnsupportedError
        If it has containers other than tuples, lists and dicts.
    """
    return _encode_tree(optree.tree_unflatten(spec, [_LEAF] * spec.num_leaves), what)


def _encode_tree(value: Any, what: str) -> Any:
    kind = cast("type[Any]", type(value))
    if value is _LEAF:
        return "*"
    if value is None:
        return None
    if kind in (tuple, list):
        return {kind.__name__: [_encode_tree(item, what) for item in value]}
    if kind in (dict, OrderedDict) and all(type(key) in (str, int) for key in value):
        name = "dict" if kind is dict else "ordered_dict"
        return {name: [[key, _encode_tree(item, what)] for key, item in value.items()]}
    if return_types.classes.get(kind.__name__) is kind:
        return {"return_type": [kind.__name__, *(_encode_tree(item, what) for item in value)]}
    raise UnsupportedError(
        f"save: {what} have a {kind.__name__}, which a file cannot describe",
        got=repr(value)[:80],
        hint="tuples, lists, and dicts with strings or integers as keys",
    )


def decode_tree(source: Reader) -> Any:
    """The optree structure."""
    example = _decode_tree(source, 0)
    try:
        return optree.tree_structure(example)
    except (ValueError, RecursionError, TypeError) as error:
        let_through(error)
        return source.fail(f"a structure ({type(error).__name__})")


def _decode_tree(source: Reader, depth: int) -> Any:
    value = source.value
    if depth > _DEPTH:
        source.fail("a structure that is nested less deep")
    if value is None:
        return None
    if value == "*":
        return _LEAF
    if not is_dict(value) or len(value) != 1:
        source.fail("a structure")
    (kind,) = value
    inner = Reader(value[kind], f"{source.place}.{kind[:40]}")
    if kind in ("tuple", "list"):
        items = [_decode_tree(item, depth + 1) for item in inner.items()]
        return items if kind == "list" else tuple(items)
    if kind == "return_type":
        name, *items = inner.items() or [inner]  # one without a name is refused below
        found = return_types.classes.get(name.text())
        if found is None or len(items) != len(found._fields):
            inner.fail("an op with named results, and a structure for each")
        return found._make(_decode_tree(item, depth + 1) for item in items)
    if kind not in ("dict", "ordered_dict"):
        source.fail("a structure")
    entries: dict[str | int, Any] = {} if kind == "dict" else OrderedDict()
    for item in inner.items():
        pair = item.items()
        if len(pair) != 2 or type(pair[0].value) not in (str, int) or pair[0].value in entries:
            item.fail("a key, once, and a structure")
        entries[pair[0].value] = _decode_tree(pair[1], depth + 1)
    return entries
