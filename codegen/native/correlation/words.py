"""What native code of convolutions is told, what it derives from that, and the machine that it is for."""

from __future__ import annotations

from opweave.codegen.native import amx
from opweave.codegen.native.emitting import Function, Int, Number
from opweave.codegen.native.llvm import Host
from opweave.registry.dataclass import dataclass

#: What describes a correlation, in words. Steps count elements; `input`, `weight` and `output` are addresses of what
#: the first place, tap and channel see: of places before `lo` there may be nothing.
FIELDS = (
    "kind", "input", "weight", "output", "bias", "bias_by", "n", "groups", "rows", "channels", "in_n", "in_g", "in_c",
    "w_g", "w_m", "w_c", "out_n", "out_g", "out_m",
    *(f"{name}{d}" for d in range(3) for name in ("count", "step", "taps", "dstep", "lo", "hi", "in", "out", "w")),
)  # fmt: skip
#: Of products of rows of numbers side by side: where operands and results lie, and how many there are.
TOLD = (
    "left", "right", "to", "added", "left_i", "left_k", "right_k", "to_i", "count_i", "count_k", "count_j", "left_g",
    "right_g", "to_g", "count_n", "right_n", "to_n", "own",
)  # fmt: skip
#: What follows from them.
_DERIVED = (
    "window", "image", "places", "terms", "depth", "width", "blocks", "height", "row_blocks", "splits", "stretch",
    "phase", "pitch", "direct", "plain", "partial", "packed", "odd", "deep", "failed",
    "line", "planes", "blocked", "late", "paired",
    "given", "span", "down", "across", "several",
    "tiled", "batch", "uneven", "striped", "by_taps", "turned", "landing", "beyond", "turn_of", "turn_to", "turn_side",
    *(f"turn_part{part}{k}" for part in ("", "_by") for k in range(5)),
    *(f"turn_inner{part}{k}" for part in ("", "_by") for k in range(3)),
    *(f"told_{name}" for name in TOLD),
)  # fmt: skip
#: What a program keeps of its block.
BLOCK = (
    "pieces", "taps", "weights", "edges", "counts", "ins", "outs", "scratch", "found", "panels", "panel", "memory",
    "phase", "pitch", "begin", "plane", "masks", "seen", "sees",
)  # fmt: skip
CORRELATE, WEIGHT, DEPTHWISE, DEPTHWISE_WEIGHT, DEPTHWISE_ADJOINT, SPREAD = range(6)
#: Terms that are summed in registers, and the distance of rows of the left operand: not a power of two, or rows would
#: lie in the same lines of the cache.
DEPTH, _GAP = 256, 16
PITCH = DEPTH + _GAP
PIECE = 6
#: The most filters of a program, and programs that are enough.
TALL, ENOUGH = 256, 8
#: Multiplications a nanosecond, about.
RATE = 30

WORDS = FIELDS + _DERIVED


@dataclass(frozen=True)
class Kind:
    """How numbers are kept and computed.

    Attributes
    ----------
    stored : {"float", "double", "half", "bfloat"}
        Their type in memory.
    bits : int
        Of a vector register.
    registers : int
        How many there are.
    paired : bool
        Whether the machine multiplies pairs of bfloat16, and does.
    tiles : bool
        Whether it multiplies tiles of such pairs, by AMX.
    """

    stored: str
    bits: int
    registers: int
    paired: bool = False
    tiles: bool = False

    @classmethod
    def of(cls, stored: str, machine: Host) -> Kind:
        """For a machine."""
        many = machine.vector_bits == 512 or machine.triple.startswith(("aarch64", "arm64"))
        paired = stored == "bfloat" and machine.vector_bits == 512 and "avx512bf16" in machine.features
        return cls(stored, machine.vector_bits, 32 if many else 16, paired, paired and machine.has_tiles(stored))

    @property
    def real(self) -> str:
        """The type that is computed in."""
        return "double" if self.stored == "double" else "float"

    @property
    def lanes(self) -> int:
        """Numbers of a register."""
        return self.bits // (64 if self.real == "double" else 32)

    @property
    def height(self) -> int:
        """Rows of the kernel in registers, or of a tile."""
        if self.tiles:
            return amx.ROWS
        return 8 if self.registers >= 32 else 4

    @property
    def heights(self) -> tuple[int, ...]:
        """Of all kernels in registers: few rows do not take the time of many."""
        return (self.height,) if self.tiles else (self.height // 2, self.height)


class Record:
    """Words by their names."""

    def __init__(self, f: Function, base: str, names: tuple[str, ...]) -> None:
        self.f, self.base, self.names = f, base, names

    def __getitem__(self, name: str) -> Int:
        return self.f.load(self.base, self.names.index(name))

    def __setitem__(self, name: str, value: Number) -> None:
        self.f.store(value, self.base, self.names.index(name))

    def pointer(self, name: str) -> str:
        """A word that is an address."""
        return self.f.op(f"load ptr, ptr {self.f.at(self.base, self.names.index(name))}")

    def keep(self, name: str, pointer: str) -> None:
        """Keep an address."""
        self.f.line(f"store ptr {pointer}, ptr {self.f.at(self.base, self.names.index(name))}")
