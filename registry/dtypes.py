"""Element types: one row a type, with all its spellings.

A `DType` is an immortal singleton with a unique hash: Triton caches a kernel's argument types by `hash(dtype)` for the
life of the process, so a recycled or colliding object would silently give a kernel the wrong type.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from opweave.registry.errors import DTypeError
from opweave.registry.loading import load_heavy

#: DLPack's codes of the types that NumPy has not, and ml_dtypes has.
_DLPACK = {
    "bfloat16": 4, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}  # fmt: skip


class DType:
    """An element type.

    Attributes
    ----------
    name : str
        Long name, as in `opweave.float32`.
    short : str
        Short name used in printed graphs (`f32`).
    kind : str
        `b` bool, `i` signed, `u` unsigned, `f` floating, `c` complex.
    itemsize : int
        Bytes an element.
    triton : str or None
        Triton's scalar type name, None where Triton has none.
    dlpack : int
        DLPack's `DLDataType` as a little-endian word: its code, the bits, one lane.

    Examples
    --------
    >>> opweave.float32.itemsize, opweave.float32.is_floating_point
    (4, True)
    """

    __slots__ = (
        "name", "short", "kind", "itemsize", "triton", "is_floating_point", "is_complex", "is_signed", "priority",
        "dlpack", "_numpy", "compute", "is_stored", "bits",
    )  # fmt: skip

    def __init__(self, name: str, short: str, kind: str, itemsize: int, triton: str | None, priority: int):
        self.name = name
        self.short = short
        self.kind = kind
        self.itemsize = itemsize
        self.triton = triton
        self.priority = priority
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        self.is_signed = kind in "ifc"
        self.dlpack = _DLPACK.get(name, "iuf__cb".index(kind)) | itemsize << 11 | 1 << 16
        self._numpy: np.dtype[Any] | None = None
        #: Whether values are only kept in it: copied, converted and compared, but not computed with.
        self.is_stored = kind == "f" and itemsize == 1
        #: NumPy's type for the bits, where NumPy has no such type, as in files; else None.
        self.bits: np.dtype[Any] | None = np.dtype(f"u{itemsize}") if name in _DLPACK else None
        #: The type that arithmetic on this one is done in (half types widen to float32).
        self.compute: DType = self

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype (bfloat16 and float8 types come from ml_dtypes, loaded at first use)."""
        if self._numpy is None:
            self._numpy = np.dtype(getattr(load_heavy("ml_dtypes"), self.name))
        return self._numpy

    def __repr__(self) -> str:
        return f"opweave.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name

    def __dlpack_data_type__(self) -> tuple[int, int, int]:
        """DLPack's code, the bits and the lanes, for libraries that take element types."""
        return self.dlpack & 255, self.dlpack >> 8 & 255, self.dlpack >> 16

    def to_complex(self) -> DType:
        """The complex type whose parts have this type (float32 parts for half types)."""
        return complex128 if self is float64 or self is complex128 else complex64

    def to_real(self) -> DType:
        """The type of a complex type's parts; a real type itself."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)


#         name        short   kind size triton  promotion rank within its category
_ROWS = (
    ("bool",       "b8",   "b", 1,  "i1",   0),
    ("uint8",      "u8",   "u", 1,  "u8",   1),
    ("int8",       "i8",   "i", 1,  "i8",   1),
    ("int16",      "i16",  "i", 2,  "i16",  2),
    ("uint16",     "u16",  "u", 2,  "u16",  2),
    ("int32",      "i32",  "i", 4,  "i32",  3),
    ("uint32",     "u32",  "u", 4,  "u32",  3),
    ("int64",      "i64",  "i", 8,  "i64",  4),
    ("uint64",     "u64",  "u", 8,  "u64",  4),
    ("float8_e8m0fnu",  "f8e8m0fnu",  "f", 1, None,      5),
    ("float8_e5m2fnuz", "f8e5m2fnuz", "f", 1, "fp8e5b16", 5),
    ("float8_e4m3fnuz", "f8e4m3fnuz", "f", 1, "fp8e4b8", 5),
    ("float8_e5m2",     "f8e5m2",     "f", 1, "fp8e5",   5),
    ("float8_e4m3fn",   "f8e4m3fn",   "f", 1, "fp8e4nv", 5),
    ("float16",    "f16",  "f", 2,  "fp16", 6),
    ("bfloat16",   "bf16", "f", 2,  "bf16", 6),
    ("float32",    "f32",  "f", 4,  "fp32", 7),
    ("float64",    "f64",  "f", 8,  "fp64", 8),
    ("complex64",  "c64",  "c", 8,  None,   9),
    ("complex128", "c128", "c", 16, None,   10),
)  # fmt: skip

DTYPES: dict[str, DType] = {row[0]: DType(*row) for row in _ROWS}
#: Types that all ops are defined for; PyTorch has the others to keep values in, or for a few ops.
COMPUTED = tuple(d for d in DTYPES.values() if not d.is_stored and (d.kind != "u" or d.itemsize == 1))
#: Names of the classes of tensors that PyTorch had before dtypes, which `Tensor.type` tells; others are the dtype's.
_CLASSES = {
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double", "uint8": "Byte", "int8": "Char",
    "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip
BY_CLASS: dict[str, DType] = {f"{_CLASSES.get(d.name, d.name.capitalize())}Tensor": d for d in DTYPES.values()}
CLASS_OF: dict[DType, str] = {d: name for name, d in BY_CLASS.items()}
BY_SHORT: dict[str, DType] = {d.short: d for d in DTYPES.values()}
BY_DLPACK: dict[int, DType] = {d.dlpack: d for d in DTYPES.values()}

bool_ = DTYPES["bool"]
uint8 = DTYPES["uint8"]
int8 = DTYPES["int8"]
int16 = short = DTYPES["int16"]
int32 = DTYPES["int32"]
int64 = long = DTYPES["int64"]
uint16 = DTYPES["uint16"]
uint32 = DTYPES["uint32"]
uint64 = DTYPES["uint64"]
float8_e8m0fnu = DTYPES["float8_e8m0fnu"]
float8_e5m2fnuz = DTYPES["float8_e5m2fnuz"]
float8_e4m3fnuz = DTYPES["float8_e4m3fnuz"]
float8_e5m2 = DTYPES["float8_e5m2"]
float8_e4m3fn = DTYPES["float8_e4m3fn"]
float16 = half = DTYPES["float16"]
bfloat16 = DTYPES["bfloat16"]
float32 = DTYPES["float32"]
float64 = double = DTYPES["float64"]
complex64 = cfloat = DTYPES["complex64"]
complex128 = cdouble = DTYPES["complex128"]
float16.compute = bfloat16.compute = float32
for _d in (float8_e8m0fnu, float8_e5m2fnuz, float8_e4m3fnuz, float8_e5m2, float8_e4m3fn):
    _d.compute = float32

_BY_NUMPY: dict[Any, DType] = {}
for _d in DTYPES.values():
    if _d.bits is None:
        _d._numpy = np.dtype(_d.name)
        _BY_NUMPY[_d._numpy] = _d

_FROM_PYTHON: dict[type, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}


def from_numpy(dtype: Any) -> DType:
    """The `DType` of a NumPy (or CuPy) dtype.

    Raises
    ------
    DTypeError
        If opweave has no such element type.
    """
    found = _BY_NUMPY.get(dtype)
    if found is None:
        dtype = np.dtype(dtype)
        found = _BY_NUMPY.get(dtype.newbyteorder("=")) if dtype.isnative else None
        if found is None and dtype.name in _DLPACK:
            _BY_NUMPY[dtype] = found = DTYPES[dtype.name]
        if found is None:
            raise DTypeError(
                f"from_numpy: no opweave dtype for NumPy's {dtype}",
                got=str(dtype),
                hint="supported: " + ", ".join(DTYPES) + "; convert with .astype first",
            )
    return found


def as_dtype(value: Any, what: str = "dtype") -> DType:
    """Accept a `DType`, a NumPy dtype, or one of Python's `bool`, `int`, `float`, `complex`, of its digits."""
    if type(value) is DType:
        return value
    if isinstance(value, type) and value in _FROM_PYTHON:
        return _FROM_PYTHON[value]
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return from_numpy(value)
    raise DTypeError(f"{what}: expected a dtype", got=f"{value!r} ({type(value).__name__})", hint="opweave.float32")


_default = threading.local()
#: Holds something once any thread has set a default, so that guards need not look at this thread's before.
_assigned: list[bool] = []


def get_default_dtype() -> DType:
    """The floating type of new tensors made from Python floats.

    Examples
    --------
    >>> opweave.get_default_dtype()
    opweave.float32
    """
    return getattr(_default, "dtype", float32)


def set_default_dtype(dtype: DType) -> None:
    """Set the floating type of new tensors made from Python floats, for this thread.

    Examples
    --------
    >>> opweave.set_default_dtype(opweave.float32)
    """
    dtype = as_dtype(dtype)
    if not dtype.is_floating_point:
        raise DTypeError("set_default_dtype: only floating types", got=repr(dtype))
    _default.dtype = dtype
    if not _assigned:
        _assigned.append(True)


def _category(dtype: DType) -> int:
    return 0 if dtype.kind == "b" else 1 if dtype.kind in "iu" else 2 if dtype.kind == "f" else 3


@functools.cache
def promote_types(a: DType, b: DType) -> DType:
    """The smallest type that holds both, by PyTorch's table (two different half types give float32).

    Raises
    ------
    DTypeError
        Where one is a float8 type, or an unsigned one of more than 8 bits and the other no floating one: PyTorch has no
        rule for these.

    Examples
    --------
    >>> opweave.promote_types(opweave.int64, opweave.float16)
    opweave.float16
    """
    if a is b:
        return a
    wide = [d for d in (a, b) if d.kind == "u" and d is not uint8]
    if a.is_stored or b.is_stored or wide and not (a.is_floating_point or b.is_floating_point):
        raise DTypeError(
            "promotion for float8 types, and for uint16, uint32 and uint64, is not supported",
            got=f"{a.name} and {b.name}", hint="convert one with .to(dtype)",
        )  # fmt: skip
    if a.priority > b.priority:
        a, b = b, a
    category_a, category_b = _category(a), _category(b)
    if category_b == 3:
        if category_a == 2 and b is complex64 and a is float64:
            return complex128
        return b
    if category_a != category_b:
        return b
    if {a, b} == {uint8, int8}:
        return int16
    if {a, b} == {float16, bfloat16}:
        return float32
    return b
