"""Masks and zeros, hidden from LLVM where it gets them wrong.

Loads: LLVM (20 to 22, at least) splits a masked load that is wider than a register during instruction selection.
Where it then knows that a part's mask is false in all lanes, it may describe that mask by a constant whose lanes are 1,
of which the sign bits (what the instruction looks at) are 0; `combineMaskedLoadConstantMask` takes every lane that is
not 0 for true, and makes an unmasked load of it. So the load returns what the mask excludes, and reads memory that it
must not touch. `rows[:, None] < n & columns[None, :] < 20`, with a block of 32 columns, is enough.

Only masks that are combined of others are affected: the parts of a comparison are comparisons. `hide` passes such masks
through an empty piece of inline assembly, behind which the backend knows nothing about them. There they are a byte per
lane, as between operations on masks anyway, so this costs nearly nothing. Machines with mask registers (AVX-512), and
those without masked loads, are not affected.

Stores: on machines with mask registers, LLVM 22 joins a `trunc` and the masked store of its result. Where all but one
lane of the mask turn out to be false, it stores the one element as it was before: eight bytes of an i64 where four were
meant. `hide_from_stores` lets no mask of such a store be a constant.

Zeros: LLVM 22 looks for a minimum or a maximum behind a cast (InstCombine's `lookThroughCast`), and takes
`select(x > 0, 0, fptrunc x)` for `select(x < 0 or unordered, fptrunc x, 0)`, which is another zero for x = -0.0. It
widens and narrows by itself around a choice, so `hide_zeros` compares with a zero that LLVM does not know wherever
numbers are narrowed.
"""

from __future__ import annotations

import re

_LOAD = re.compile(
    r"^( *%[\w.]+ = call <(\d+) x (?:float|double|i32|i64|ptr)> @llvm\.masked\.load\.[^(]*"
    r"\(ptr [^,]+, i32 \d+, <\d+ x i1> )(%[\w.]+)(, .*)$",
    re.MULTILINE,
)
_STORE = re.compile(
    r"^( *call void @llvm\.masked\.store\.v\d+i(?:8|16|32)\.p0\(<(\d+) x i\d+> [^,]+, ptr [^,]+, i32 \d+, <\d+ x i1> )"
    r"(%[\w.]+)\)",
    re.MULTILINE,
)
# Not `eq` and `ne`, by which integers are made masks again: optimisations undo that.
_COMPARISON = re.compile(r"^ *(%[\w.]+) = (?:icmp [us][lg][te]|fcmp) ", re.MULTILINE)
# The other comparisons are left alone by LLVM where signs of zeros count.
_STRICT = re.compile(r"^( *%[\w.]+ = fcmp [ou][gl]t (<(\d+) x (\w+)>|\w+) )([^,\n]+), ([^,\n]+)$", re.MULTILINE)
_SOME_ZERO = r"(?:(?:splat \(\w+ )?(?:0xH?[08]0+|-?0\.0)\)?|zeroinitializer)"
_ZERO = re.compile(_SOME_ZERO)
_CAST_ZERO = re.compile(rf"^ *(%[\w.]+) = fp(?:ext|trunc) (?:<\d+ x \w+>|\w+) {_SOME_ZERO} to ", re.MULTILINE)
_BITS = {"half": "i16", "float": "i32", "double": "i64"}
_XMM, _YMM = 16, 32


def hide(llvm_ir: str) -> str:
    """The text with the masks of loads hidden.

    Parameters
    ----------
    llvm_ir : str
        A module as `Emitter` writes it.
    """
    if "@llvm.masked.load" not in llvm_ir:
        return llvm_ir
    comparisons = frozenset(_COMPARISON.findall(llvm_ir))
    numbers = iter(range(1 << 30))

    def hidden(found: re.Match[str]) -> str:
        start, lanes, mask, rest = found.groups()
        if mask in comparisons:
            return found[0]
        lines, name = _barrier(mask, int(lanes), f"%hidden{next(numbers)}")
        return "\n".join([*lines, f"{start}{name}{rest}"])

    return _LOAD.sub(hidden, llvm_ir)


def hide_from_stores(llvm_ir: str) -> str:
    """The text with the masks of stores of narrow integers hidden."""
    numbers = iter(range(1 << 30))

    def hidden(found: re.Match[str]) -> str:
        start, lanes, mask = found.groups()
        name, m = f"%unknown{next(numbers)}", f"<{lanes} x i1>"
        return "\n".join(
            [
                f'  {name}.r = call i8 asm "", "=r,0"(i8 1)',
                f"  {name}.t = trunc i8 {name}.r to i1",
                f"  {name}.o = insertelement {m} poison, i1 {name}.t, i64 0",
                f"  {name}.a = shufflevector {m} {name}.o, {m} poison, <{lanes} x i32> zeroinitializer",
                f"  {name} = and {m} {mask}, {name}.a",
                f"{start}{name})",
            ]
        )

    return _STORE.sub(hidden, llvm_ir)


def hide_zeros(llvm_ir: str) -> str:
    """The text with the zeros hidden that numbers are compared with, if it narrows any numbers."""
    if "= fptrunc " not in llvm_ir or "= select " not in llvm_ir:
        return llvm_ir
    cast = frozenset(_CAST_ZERO.findall(llvm_ir))
    numbers = iter(range(1 << 30))

    def hidden(found: re.Match[str]) -> str:
        start, whole, lanes, element, *sides = found.groups()
        zeros = [side in cast or _ZERO.fullmatch(side) is not None for side in sides]
        if not any(zeros):
            return found[0]
        kind, zero = element or whole, f"%zero{next(numbers)}"
        lines = [
            f'  {zero}.r = call {_BITS[kind]} asm "", "=r,0"({_BITS[kind]} 0) memory(none) nounwind',
            f"  {zero}.n = bitcast {_BITS[kind]} {zero}.r to {kind}",
        ]
        if lanes:
            lines += [
                f"  {zero}.o = insertelement {whole} poison, {kind} {zero}.n, i64 0",
                f"  {zero}.a = shufflevector {whole} {zero}.o, {whole} poison, <{lanes} x i32> zeroinitializer",
            ]
        value = f"{zero}.a" if lanes else f"{zero}.n"
        return "\n".join(
            [*lines, start + ", ".join(value if it else side for side, it in zip(sides, zeros, strict=True))]
        )

    return _STRICT.sub(hidden, llvm_ir)


def _barrier(mask: str, lanes: int, name: str) -> tuple[list[str], str]:
    """Instructions that make a mask unknown, and the name it has then."""
    lines = [f"  {name}.b = sext <{lanes} x i1> {mask} to <{lanes} x i8>"]
    parts = [
        _through(lines, f"{name}.b", lanes, at, min(lanes - at, _YMM), f"{name}.{at}") for at in range(0, lanes, _YMM)
    ]
    size = min(lanes, _YMM)
    while len(parts) > 1:
        joined = [f"{p}j" for p in parts[::2]]
        size *= 2
        for to, a, b in zip(joined, parts[::2], parts[1::2], strict=True):
            half = f"<{size // 2} x i8>"
            lines.append(f"  {to} = shufflevector {half} {a}, {half} {b}, {_order(range(size), size)}")
        parts = joined
    lines.append(f"  {name} = icmp slt <{lanes} x i8> {parts[0]}, zeroinitializer")
    return lines, name


def _through(lines: list[str], value: str, lanes: int, at: int, count: int, name: str) -> str:
    """Some lanes, through a register."""
    whole, width = f"<{lanes} x i8>", max(count, _XMM)
    register = f"<{width} x i8>"
    if lanes != width:
        lines.append(
            f"  {name}w = shufflevector {whole} {value}, {whole} poison, {_order(range(at, at + count), width)}"
        )
        value = f"{name}w"
    lines.append(f'  {name}r = call {register} asm "", "=x,0"({register} {value})')
    if count == width:
        return f"{name}r"
    lines.append(f"  {name}n = shufflevector {register} {name}r, {register} poison, {_order(range(count), count)}")
    return f"{name}n"


def _order(lanes: range, width: int) -> str:
    places = [f"i32 {i}" for i in lanes] + ["i32 poison"] * (width - len(lanes))
    return f"<{width} x i32> <{', '.join(places)}>"
