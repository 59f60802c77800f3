"""Signatures that neither a schema nor a function's annotations say, as text for stubs.

Each name has one signature, or several that are overloads.
"""

from __future__ import annotations

_OPTIONS = "dtype: DTypeLike | None = None, device: DeviceLike | None = None"
_TO = "non_blocking: _bool = False, copy: _bool = False"
_AS_PYTHON = f"*, {_OPTIONS}, requires_grad: _bool = False"
_FORMAT = "*, memory_format: MemoryFormat | None = None"

_UNIQUE = [
    "input: Tensor, {first}return_inverse: Literal[False] = False, return_counts: Literal[False] = False, "
    "dim: Int | None = None) -> Tensor",
    "input: Tensor, {first}*, return_inverse: Literal[True], return_counts: Literal[True], "
    "dim: Int | None = None) -> _tuple[Tensor, Tensor, Tensor]",
    "input: Tensor, {first}*, return_inverse: Literal[True], return_counts: Literal[False] = False, "
    "dim: Int | None = None) -> _tuple[Tensor, Tensor]",
    "input: Tensor, {first}*, return_inverse: Literal[False] = False, return_counts: Literal[True], "
    "dim: Int | None = None) -> _tuple[Tensor, Tensor]",
    "input: Tensor, {first}return_inverse: _bool = False, return_counts: _bool = False, dim: Int | None = None) -> Any",
]
_SORTED = [f"({text.format(first='sorted: _bool = True, ')}" for text in _UNIQUE]
_CONSECUTIVE = [f"({text.format(first='')}" for text in _UNIQUE]
_NONZERO = [
    "(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor",
    "(input: Tensor, *, as_tuple: Literal[True]) -> _tuple[Tensor, ...]",
    "(input: Tensor, *, out: Tensor | None = None, as_tuple: _bool) -> Any",
]
_LISTED = [
    "(tensors: Sequence[Tensor], /) -> {several}",
    "(*tensors: Tensor) -> {several}",
]
_SEVERAL = [text.format(several="_tuple[Tensor, ...]") for text in _LISTED]
_ATLEAST = [
    "(tensor: Tensor, /) -> Tensor",
    "(tensors: Sequence[Tensor], /) -> _tuple[Tensor, ...]",
    "(first: Tensor, second: Tensor, /, *more: Tensor) -> _tuple[Tensor, ...]",
]
_ONE = [text.format(several="Tensor") for text in _LISTED]


def _as_method(texts: list[str]) -> list[str]:
    return [text.replace("(input: Tensor", "(self", 1) for text in texts]


FUNCTIONS: dict[str, list[str]] = {
    "tensor": [f"(data: Any, {_AS_PYTHON}) -> Tensor"],
    "as_tensor": [f"(data: Any, {_OPTIONS}) -> Tensor"],
    "atleast_1d": _ATLEAST,
    "atleast_2d": _ATLEAST,
    "atleast_3d": _ATLEAST,
    "block_diag": _ONE,
    "cartesian_prod": _ONE,
    "broadcast_tensors": _SEVERAL,
    "meshgrid": [
        "(tensors: Sequence[Tensor], /, *, indexing: Literal['ij', 'xy'] = 'ij') -> _tuple[Tensor, ...]",
        "(*tensors: Tensor, indexing: Literal['ij', 'xy'] = 'ij') -> _tuple[Tensor, ...]",
    ],
    "broadcast_shapes": ["(*shapes: Int | Sequence[Int]) -> _tuple[_int, ...]"],
    "einsum": [
        "(equation: _str, *operands: Tensor | Sequence[Tensor]) -> Tensor",
        "(operand: Tensor, sublist: Sequence[Any], /, *more: Any) -> Tensor",
    ],
    "tensordot": [
        "(a: Tensor, b: Tensor, dims: Int | Sequence[Sequence[Int]] | Tensor = 2, out: Tensor | None = None) -> Tensor"
    ],
    "unique": _SORTED,
    "unique_consecutive": _CONSECUTIVE,
    "nonzero": _NONZERO,
    "lu": [
        "(A: Tensor, pivot: _bool = True, get_infos: Literal[False] = False, "
        "out: _tuple[Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor]",
        "(A: Tensor, pivot: _bool = True, *, get_infos: Literal[True], "
        "out: _tuple[Tensor, Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor, Tensor]",
        "(A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: Any = None) -> _tuple[Tensor, ...]",
    ],
    "unravel_index": ["(indices: Tensor, shape: Int | Sequence[Int]) -> _tuple[Tensor, ...]"],
}

METHODS: dict[str, list[str]] = {
    **{name: ["(self) -> Tensor"] for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
    "to": [
        f"(self, dtype: DTypeLike, {_TO}, {_FORMAT}) -> Tensor",
        f"(self, device: DeviceLike | None = None, dtype: DTypeLike | None = None, {_TO}, {_FORMAT}) -> Tensor",
        f"(self, other: Tensor, {_TO}, {_FORMAT}) -> Tensor",
    ],
    "type": ["(self, dtype: None = None) -> _str", "(self, dtype: DTypeLike) -> Tensor"],
    "view": [
        "(self, dtype: DTypeLike) -> Tensor",
        "(self, size: Int | Sequence[Int]) -> Tensor",
        "(self, *size: Int) -> Tensor",
    ],
    "new_tensor": [f"(self, data: Any, {_AS_PYTHON}) -> Tensor"],
    "where": ["(self, condition: Tensor, other: Tensor | Number) -> Tensor"],
    "unique": _as_method(_SORTED),
    "unique_consecutive": _as_method(_CONSECUTIVE),
    "nonzero": _as_method(_NONZERO),
    "lu": [text.replace("(A: Tensor", "(self", 1) for text in FUNCTIONS["lu"]],
    "set_": ["(self, *args: Any, **kwargs: Any) -> Any"],
}

_BINARY = ("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift").split()
_WRITING = ("add sub mul truediv floordiv mod pow and or xor lshift rshift").split()

#: Operators, as lines of a class.
OPERATORS = [
    *(f"def __{sign}{name}__(self, other: Operand) -> Tensor: ..." for name in _BINARY for sign in ("", "r")),
    *(f"def __i{name}__(self, other: Operand) -> Tensor: ..." for name in _WRITING),
    *(f"def __{name}__(self, other: Operand) -> Tensor: ..." for name in ("lt", "le", "gt", "ge")),
    "def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]",
    "def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]",
    "def __neg__(self) -> Tensor: ...",
    "def __pos__(self) -> Tensor: ...",
    "def __abs__(self) -> Tensor: ...",
    "def __invert__(self) -> Tensor: ...",
    "def __getitem__(self, key: Index) -> Tensor: ...",
    "def __setitem__(self, key: Index, value: Operand) -> None: ...",
]
