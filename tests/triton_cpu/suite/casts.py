"""Conversions between types: widths, signs, halves, 8-bit floats and packed 4-bit integers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from suite import case

Rng = np.random.Generator
BF16 = np.dtype(ml_dtypes.bfloat16)
NO_BF16 = "the interpreter stores bfloat16 as uint16 and rounds it toward zero"
NO_FP8 = "the interpreter does not round 8-bit floats to nearest even, and does not saturate"

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 1e30, -1e30, 65504.0, 65520.0, 1.0, -1.0, 5e-8, 3e-8]


def spread(rng: Rng, n: int, low: float = -20, high: float = 18) -> np.ndarray[Any, Any]:
    """Numbers over many powers of two, ties of short formats, and the special ones."""
    x = rng.standard_normal(n) * np.exp2(rng.uniform(low, high, n))
    ties = np.ldexp(rng.integers(-63, 64, n // 4) / 32.0, rng.integers(int(low), int(high), n // 4))
    x[: n // 4] = ties
    x[n // 4 : n // 4 + len(SPECIAL)] = SPECIAL
    return x


# --- between the usual types


@triton.jit
def convert(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(x + i, live).to(out.dtype.element_ty), live)


def _convert(source: Any, target: Any, draw: Any, reference: Any = None, name: str = "", interpreter: str = "") -> None:
    n = 700

    def make(rng: Rng) -> list[Any]:
        with np.errstate(all="ignore"):
            return [draw(rng, n).astype(source), np.zeros(n, target), n]

    def expect(x: Any, out: Any, count: int) -> Any:
        with np.errstate(all="ignore"):
            return reference(x) if reference else x.astype(target)

    what = f"cast {np.dtype(source).name} to {np.dtype(target).name}{name}"
    case(what, convert, make, expect, 1, grid=(3,), constants={"BLOCK": 256}, interpreter=interpreter)


def _integers(low: int, high: int) -> Any:
    return lambda rng, n: rng.integers(low, high, n, dtype=np.int64)


_convert("f4", "f2", spread)
_convert("f2", "f4", spread)
_convert("f4", "f8", spread)
_convert("f8", "f4", lambda rng, n: spread(rng, n, -150, 130))
_convert("f8", "f2", lambda rng, n: (1 + 2.0**-11 + rng.choice([0, 2.0**-40, -(2.0**-40)], n)) * np.exp2(
    rng.integers(-16, 15, n)), name=" beside ties")  # fmt: skip
_convert("f4", BF16, lambda rng, n: spread(rng, n, -130, 120), interpreter=NO_BF16)
_convert(
    BF16, "f4", lambda rng, n: spread(rng, n, -130, 120), interpreter="the interpreter misreads subnormal bfloat16"
)
_convert(BF16, "f2", spread, lambda x: x.astype("f4").astype("f2"))


def _exact_bfloat(x: np.ndarray[Any, Any]) -> Any:
    """Rounded once, by exact arithmetic: the neighbours in bfloat16 and which is nearer."""
    down = ((x.astype("f4").view("u4") & 0xFFFF0000).view("f4")).astype("f8")
    inside = np.abs(down) <= np.abs(x)
    bits = x.astype("f4").view("u4") & np.uint32(0xFFFF0000)
    bits = np.where(inside, bits, bits - np.uint32(0x10000)).astype("u4")
    low, high = bits.view("f4").astype("f8"), (bits + np.uint32(0x10000)).view("f4").astype("f8")
    nearer = np.abs(high - x) < np.abs(x - low)
    even = (np.abs(high - x) == np.abs(x - low)) & ((bits >> 16) & 1 == 1)
    return np.where(nearer | even, high, low).astype(BF16)


_convert("f8", BF16, lambda rng, n: (1 + 2.0**-8 + rng.choice([0, 2.0**-40, -(2.0**-40)], n)) * np.exp2(
    rng.integers(-30, 30, n)) * rng.choice([1, -1, 1 + 2.0**-7], n), _exact_bfloat,
    name=" beside ties", interpreter="the interpreter reads the integer part")  # fmt: skip
_convert("f4", "i4", lambda rng, n: rng.uniform(-3e4, 3e4, n))
_convert("f8", "i8", lambda rng, n: rng.uniform(-(2.0**62), 2.0**62, n))
_convert("f4", "u4", lambda rng, n: rng.uniform(0, 4.2e9, n))
_convert("f8", "u8", lambda rng, n: rng.uniform(0, 1.8e19, n))
_convert("f4", "i1", lambda rng, n: rng.uniform(-128.9, 127.9, n))
_convert("f2", "i2", lambda rng, n: rng.uniform(-3e4, 3e4, n))
_convert(BF16, "i4", lambda rng, n: rng.uniform(-3e4, 3e4, n), lambda x: x.astype("f4").astype("i4"),
         interpreter="the interpreter converts the bits of bfloat16")  # fmt: skip
_convert("f4", "?", lambda rng, n: rng.integers(-1, 2, n) * rng.choice([1.0, np.nan, 1e-45], n), lambda x: x != 0)


def _saturated(x: np.ndarray[Any, Any], target: str) -> Any:
    info = np.iinfo(target)
    whole = [0 if v != v else (2**70 if v > 0 else -(2**70)) if abs(v) == np.inf else int(v) for v in x.tolist()]
    return np.array([max(info.min, min(info.max, v)) for v in whole], target)


def _far(rng: Rng, n: int) -> Any:
    x = rng.standard_normal(n) * np.exp2(rng.uniform(0, 70, n))
    x[:6] = [np.inf, -np.inf, np.nan, 2.0**31, -(2.0**31), 2.0**63]
    return x


_C = "casts of numbers out of range are undefined in C, which the interpreter follows"
for _source in ("f4", "f8"):
    for _target in ("i4", "i8"):
        _convert(_source, _target, _far, lambda x, t=_target: _saturated(x, t), name=" saturates", interpreter=_C)
for _wide, _short in (("i8", "i4"), ("i4", "i2"), ("i4", "i1"), ("i8", "u1"), ("u4", "i8"), ("u1", "i4"), ("i1", "u8"),
                      ("i1", "i8"), ("u2", "u8"), ("i2", "u4")):  # fmt: skip
    _convert(_wide, _short, _integers(-(2**62), 2**62))
_convert("i8", "f4", _integers(-(2**62), 2**62))
_convert("u8", "f8", lambda rng, n: rng.integers(0, 2**64, n, dtype=np.uint64))
_convert("u4", "f4", lambda rng, n: rng.integers(0, 2**32, n))
_convert("i4", "f2", _integers(-70000, 70000))
_convert("i2", BF16, _integers(-(2**15), 2**15), lambda x: x.astype("f4").astype(BF16),
         interpreter="the interpreter stores the integer as the bits of a bfloat16")  # fmt: skip
_convert("?", "f4", _integers(0, 2))
_convert("?", "i4", _integers(0, 2))
_convert("i4", "?", _integers(-1, 2), lambda x: x != 0)


# --- rounding toward zero


@triton.jit
def truncate(x, half, brain, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(half + i, v.to(tl.float16, fp_downcast_rounding="rtz"), i < n)
    tl.store(brain + i, v.to(tl.bfloat16, fp_downcast_rounding="rtz"), i < n)


def _toward_zero(x: np.ndarray[Any, Any], table: np.ndarray[Any, Any]) -> Any:
    """The largest of the magnitudes in `table` that is not above |x|, with the sign of x; NaN and infinity stay."""
    place = np.searchsorted(table, np.abs(x), side="right") - 1
    with np.errstate(all="ignore"):
        cut = np.copysign(table[np.minimum(place, len(table) - 1)], x)
    return np.where(np.isfinite(x), cut, x)


def _magnitudes(dtype: Any, bits: int) -> Any:
    codes = np.arange(1 << (bits - 1)).astype(f"u{bits // 8}").view(dtype).astype("f8")
    return np.sort(codes[np.isfinite(codes)])


def _truncated(x: Any, half: Any, brain: Any, n: int) -> Any:
    wide = x.astype("f8")
    return (
        _toward_zero(wide, _magnitudes("f2", 16)).astype("f2"),
        _toward_zero(wide, _magnitudes(BF16, 16)).astype(BF16),
    )


for _source in ("f4", "f8"):
    case(
        f"cast {_source} to halves rounding toward zero",
        truncate,
        lambda rng, s=_source: [spread(rng, 500, -30, 20).astype(s), np.zeros(500, "f2"), np.zeros(500, BF16), 500],
        _truncated,
        (1, 2),
        grid=(4,),
        constants={"BLOCK": 128},
        interpreter="the interpreter turns infinity and NaN into numbers when it rounds toward zero",
    )


# --- 8-bit floats


@triton.jit
def encode_nv(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4nv).to(tl.uint8, bitcast=True))


@triton.jit
def encode_5(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out.to(tl.pointer_type(tl.float8e5)) + i, tl.load(x + i).to(tl.float8e5))


@triton.jit
def encode_b8(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4b8).to(tl.uint8, bitcast=True))


@triton.jit
def encode_b16(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.float8e5b16).to(tl.uint8, bitcast=True))


@triton.jit
def encode_rtz(x, nv, e5, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(nv + i, v.to(tl.float8e4nv, fp_downcast_rounding="rtz").to(tl.uint8, bitcast=True))
    tl.store(e5 + i, v.to(tl.float8e5, fp_downcast_rounding="rtz").to(tl.uint8, bitcast=True))


@triton.jit
def decode_nv(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4nv, bitcast=True).to(out.dtype.element_ty))


@triton.jit
def decode_5(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x.to(tl.pointer_type(tl.float8e5)) + i).to(out.dtype.element_ty))


@triton.jit
def decode_b8(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4b8, bitcast=True).to(out.dtype.element_ty))


@triton.jit
def decode_b16(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.float8e5b16, bitcast=True).to(out.dtype.element_ty))


_FORMATS = {
    "nv": (ml_dtypes.float8_e4m3fn, encode_nv, decode_nv),
    "5": (ml_dtypes.float8_e5m2, encode_5, decode_5),
    "b8": (ml_dtypes.float8_e4m3fnuz, encode_b8, decode_b8),
    "b16": (ml_dtypes.float8_e5m2fnuz, encode_b16, decode_b16),
}


def _codes(x: np.ndarray[Any, Any], kind: str, rtz: bool = False) -> Any:
    """The codes of numbers, by looking among all codes; a GPU saturates when it rounds to nearest."""
    dtype = np.dtype(_FORMATS[kind][0])
    wide = x.astype("f8")
    values = np.arange(128, dtype=np.uint8).view(dtype).astype("f8")
    table = np.sort(values[np.isfinite(values)])
    magnitude = np.minimum(np.abs(wide), table[-1])
    low = np.maximum(np.searchsorted(table, magnitude, side="right") - 1, 0)
    high = np.minimum(low + 1, len(table) - 1)
    up = (table[high] - magnitude < magnitude - table[low]) | (
        (table[high] - magnitude == magnitude - table[low]) & (low % 2 == 1)
    )
    code = (low if rtz else np.where(up, high, low)).astype(np.uint8)
    if rtz and kind == "5":
        code = np.where(np.isinf(wide), 0x7C, code)
    unsigned_zero = kind.startswith("b")
    code = np.where(np.signbit(wide) & ~((code == 0) & unsigned_zero), code | 0x80, code)
    return np.where(np.isnan(wide), 0x80 if unsigned_zero else 0x7F, code).astype(np.uint8)


for _kind, (_dtype, _encode, _decode) in _FORMATS.items():
    for _from in ("f4", "f2", "f8", BF16):
        with np.errstate(all="ignore"):
            case(
                f"float8e {_kind} from {np.dtype(_from).name}",
                _encode,
                lambda rng, t=_from: [spread(rng, 1024).astype(t), np.zeros(1024, "u1")],
                lambda x, out, k=_kind: _codes(x, k),
                1,
                constants={"BLOCK": 1024},
                interpreter=NO_FP8,
            )
    for _to in ("f4", "f2"):
        case(
            f"float8e {_kind} to {np.dtype(_to).name}",
            _decode,
            lambda rng, t=_to: [np.arange(256, dtype=np.uint8), np.zeros(256, t)],
            lambda x, out, d=_dtype, t=_to: x.view(d).astype(t),
            1,
            constants={"BLOCK": 256},
            interpreter="the interpreter decodes NaN and infinity as numbers",
        )

case(
    "float8e rounding toward zero",
    encode_rtz,
    lambda rng: [spread(rng, 1024).astype("f4"), np.zeros(1024, "u1"), np.zeros(1024, "u1")],
    lambda x, nv, e5: (_codes(x, "nv", rtz=True), _codes(x, "5", rtz=True)),
    (1, 2),
    constants={"BLOCK": 1024},
    interpreter=NO_FP8,
)


@triton.jit
def float8_arithmetic(x, y, total, less, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i).to(tl.float8e5, bitcast=True)
    b = tl.load(y + i).to(tl.float8e5, bitcast=True)
    tl.store(total + i, (a * b + a).to(tl.uint8, bitcast=True))
    tl.store(less + i, tl.where(a < b, a, b).to(tl.float32))


def _float8_arithmetic(x: Any, y: Any, total: Any, less: Any) -> Any:
    a, b = (v.view(ml_dtypes.float8_e5m2).astype("f4") for v in (x, y))
    product = _codes(a * b, "5").view(ml_dtypes.float8_e5m2).astype("f4")
    return _codes(product + a, "5"), np.where(a < b, a, b)


case(
    "float8e5 arithmetic rounds after each operation",
    float8_arithmetic,
    lambda rng: (
        [rng.integers(0, 0x70, 128).astype("u1") | rng.choice([0, 0x80], 128).astype("u1") for _ in range(2)]
        + [np.zeros(128, "u1"), np.zeros(128, "f4")]
    ),
    _float8_arithmetic,
    (2, 3),
    constants={"BLOCK": 128},
    interpreter="the interpreter adds the codes",
)


@triton.jit
def float8_masked(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x.to(tl.pointer_type(tl.float8e4nv)) + i * 3, i < n)
    tl.store(out + i, v.to(tl.float32) * 2.0, i < n)


case(
    "float8e4nv strided and masked",
    float8_masked,
    lambda rng: [rng.integers(0, 0x7F, 600).astype("u1"), np.zeros(200, "f4"), 195],
    lambda x, out, n: np.concatenate([x[: 3 * n : 3].view(ml_dtypes.float8_e4m3fn).astype("f4") * 2, np.zeros(5)]),
    1,
    grid=(4,),
    constants={"BLOCK": 64},
    interpreter=NO_FP8,
)


@triton.jit
def encode_b15(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4b15).to(tl.uint8, bitcast=True))


@triton.jit
def decode_b15(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4b15, bitcast=True).to(out.dtype.element_ty))


def _b15(x: Any, out: Any) -> Any:
    """Magnitudes in sixty-fourths of an exponent step: halves go up, all from 1.75 on is 1.75, NaN too."""
    if x.dtype == np.float32:
        x = _toward_zero(x.astype("f8"), _magnitudes("f2", 16)).astype("f2")
    magnitude = np.minimum(x.view("u2") & 0x7FFF, 0x3F00).astype(np.uint32)
    return ((magnitude + 64) >> 7 | np.signbit(x).astype(np.uint32) << 7).astype(np.uint8)


def _b15_values(x: Any, out: Any) -> Any:
    exponent, fraction = (x >> 3 & 15).astype("i4"), (x & 7) / 8.0
    value = np.where(exponent > 0, np.ldexp(1 + fraction, exponent - 15), np.ldexp(fraction, -14))
    return np.where(x >= 128, -value, value)


for _from in ("f2", "f4"):
    with np.errstate(all="ignore"):
        case(
            f"float8e4b15 from {np.dtype(_from).name}",
            encode_b15,
            lambda rng, t=_from: [spread(rng, 512, -20, 2).astype(t), np.zeros(512, "u1")],
            _b15,
            1,
            constants={"BLOCK": 512},
            interpreter=NO_FP8,
        )
    case(
        f"float8e4b15 to {np.dtype(_from).name}",
        decode_b15,
        lambda rng, t=_from: [np.arange(256, dtype=np.uint8), np.zeros(256, t)],
        _b15_values,
        1,
        constants={"BLOCK": 256},
        interpreter="the interpreter gives another number for some subnormal codes",
    )


# --- bits


@triton.jit
def pack_nibbles(x, out, n, BLOCK: tl.constexpr):
    """Two 4-bit integers a byte, the first in the low half."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    low = tl.load(x + 2 * i, i < n).to(tl.uint8)
    high = tl.load(x + 2 * i + 1, i < n).to(tl.uint8)
    tl.store(out + i, (low & 15) | (high << 4), i < n)


case(
    "pack 4-bit integers",
    pack_nibbles,
    lambda rng: [rng.integers(-8, 8, 600).astype("i1"), np.zeros(300, "u1"), 300],
    lambda x, out, n: (x[::2].view("u1") & 15) | (x[1::2].view("u1") << 4),
    1,
    grid=(3,),
    constants={"BLOCK": 128},
)


@triton.jit
def unpack_nibbles(x, scale, out, n, BLOCK: tl.constexpr):
    """Signed 4-bit integers times a scale a group of 32."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    byte = tl.load(x + i // 2, i < n).to(tl.int8)
    nibble = tl.where(i % 2 == 0, byte << 4, byte) >> 4
    tl.store(out + i, nibble.to(tl.float32) * tl.load(scale + i // 32, i < n), i < n)


def _unpacked(x: Any, scale: Any, out: Any, n: int) -> Any:
    pair = np.stack([x & 15, x >> 4], -1).reshape(-1).astype("i4")
    return (np.where(pair > 7, pair - 16, pair) * np.repeat(scale, 32)).astype("f4")


case(
    "unpack 4-bit integers with scales",
    unpack_nibbles,
    lambda rng: [
        rng.integers(0, 256, 288).astype("u1"),
        rng.standard_normal(18).astype("f4"),
        np.zeros(576, "f4"),
        576,
    ],
    _unpacked,
    2,
    grid=(3,),
    constants={"BLOCK": 256},
)


@triton.jit
def swap_signs(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    bits = tl.load(x + i).to(tl.uint32, bitcast=True)
    tl.store(out + i, (bits ^ 0x80000000).to(tl.float32, bitcast=True))
    tl.store(out + BLOCK + i, (bits >> 23).to(tl.float32))


case(
    "bits of floats",
    swap_signs,
    lambda rng: [spread(rng, 128, -100, 100).astype("f4"), np.zeros(256, "f4")],
    lambda x, out: np.concatenate([-x, (x.view("u4") >> 23).astype("f4")]),
    1,
    constants={"BLOCK": 128},
)


@triton.jit
def mixed_widths(a, b, c, d, out, n, BLOCK: tl.constexpr):
    """One loop over 8, 16, 32 and 64 bits."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    narrow = tl.load(a + i, live) + tl.load(b + i, live)
    total = narrow.to(tl.int64) * tl.load(d + i, live) + tl.load(c + i, live)
    tl.store(out + i, total, live)


case(
    "arithmetic over mixed widths",
    mixed_widths,
    lambda rng: [rng.integers(-100, 100, 300).astype(t) for t in ("i1", "i2", "i4", "i8")] + [np.zeros(300, "i8"), 297],
    lambda a, b, c, d, out, n: np.where(np.arange(300) < n, (a.astype("i2") + b).astype("i8") * d + c, 0),
    4,
    grid=(5,),
    constants={"BLOCK": 64},
)


@triton.jit
def bool_round_trip(flags, x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    f = tl.load(flags + i, i < n, other=True)
    both = f & (tl.load(x + i, i < n) > 0)
    tl.store(out + i, both ^ True, i < n)


case(
    "booleans in memory",
    bool_round_trip,
    lambda rng: [rng.integers(0, 2, 333).astype(bool), rng.standard_normal(333).astype("f4"), np.zeros(333, bool), 333],
    lambda flags, x, out, n: ~(flags & (x > 0)),
    2,
    grid=(3,),
    constants={"BLOCK": 128},
)
