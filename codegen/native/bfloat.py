"""float32 to bfloat16 in registers, to the nearest, ties to even, as LLVM IR."""

from __future__ import annotations

from opweave.codegen.native.emitting import Function, Int

#: LLVM's names of the instruction of AVX512-BF16, and of what tells numbers below the smallest normal one (class 32).
_ROUND, _CLASS = "llvm.x86.avx512bf16.cvtneps2bf16.512", "llvm.x86.avx512.fpclass.ps.512"


def function(name: str, lanes: int, unit: bool) -> str:
    """A function of a register of float32, which returns `lanes` numbers of i16.

    Parameters
    ----------
    name : str
        Its name.
    lanes : int
        Numbers of a register.
    unit : bool
        Whether the machine has AVX512-BF16; it has 16 lanes then.
    """
    kind = f"<{lanes} x i16>"
    f = Function(f"internal {kind}", name, [f"<{lanes} x float> x"], "alwaysinline")
    if not unit:
        return f.end(f"{kind} {_by_whole_numbers(f, '%x', lanes)}")
    # The instruction takes numbers below the smallest normal one as zero.
    found = f.room(kind)
    fast = f.op(f"call <{lanes} x bfloat> @{_ROUND}(<{lanes} x float> %x)")
    f.line(f"store <{lanes} x bfloat> {fast}, ptr {found}")
    small = f.op(f"call <{lanes} x i1> @{_CLASS}(<{lanes} x float> %x, i32 32)")
    some = Int(f, f.op(f"icmp ne i{lanes} {f.op(f'bitcast <{lanes} x i1> {small} to i{lanes}')}, 0"))
    with f.when(some):
        f.line(f"store {kind} {_by_whole_numbers(f, '%x', lanes)}, ptr {found}")
    declared = (
        f"declare <{lanes} x bfloat> @{_ROUND}(<{lanes} x float>)\n"
        f"declare <{lanes} x i1> @{_CLASS}(<{lanes} x float>, i32)"
    )
    value = f.op(f"load {kind}, ptr {found}")
    return f"{declared}\n{f.end(f'{kind} {value}')}"


def _by_whole_numbers(f: Function, value: str, lanes: int) -> str:
    wide = f"<{lanes} x i32>"
    bits = f.op(f"bitcast <{lanes} x float> {value} to {wide}")
    low = f.op(f"lshr {wide} {bits}, splat (i32 16)")
    odd = f.op(f"and {wide} {low}, splat (i32 1)")
    total = f.op(f"add {wide} {bits}, {f.op(f'add {wide} {odd}, splat (i32 32767)')}")
    high = f.op(f"lshr {wide} {total}, splat (i32 16)")
    nan = f.op(f"fcmp uno <{lanes} x float> {value}, {value}")
    quiet = f.op(f"or {wide} {low}, splat (i32 64)")
    found = f.op(f"select <{lanes} x i1> {nan}, {wide} {quiet}, {wide} {high}")
    return f.op(f"trunc {wide} {found} to <{lanes} x i16>")
