"""Matrix products as Triton kernels, for artifacts that are to need no BLAS.

    product mm = x @ w            launch product_0 [16, 1, 1]: x, w -> mm
        launch relu: mm -> y  ->  launch relu: mm -> y

Sizes and strides that are fixed stand in the kernel's text, so loads of neighbours are known to be such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opweave.codegen import blas
from opweave.codegen.host.operands import Address, Local, Number, number_in
from opweave.codegen.host.steps import Launch, Product, Program, Step
from opweave.codegen.kernel import KernelSource
from opweave.registry.dtypes import DType, float32, float64
from opweave.tracer.graph import Node

#: What it can multiply.
DTYPES = (float32, float64)
#: The most rows, columns and summands that a program of the kernel has in hand.
ROWS, COLUMNS, DEPTH = 128, 128, 128


def multiplies(node: Node) -> bool:
    """Whether a call can be such a kernel."""
    return blas.is_product(node) and node.meta["val"]._dtype in DTYPES


def run(program: Program) -> Program:
    """The program with launches in the place of its products."""
    maker = _Maker(program)
    steps: list[Step] = []
    for step in program.steps:
        if isinstance(step, Product) and step.factors is None:
            steps.append(maker.launch(step))
            if step.epilogue is not None:
                steps.append(step.epilogue.launch)
        else:
            steps.append(step)
    return replace(program, steps=tuple(steps), kernels=(*program.kernels, *maker.kernels.values()))


class _Maker:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.symbols = dict(program.symbols)
        self.kernels: dict[str, KernelSource] = {}

    def launch(self, step: Product) -> Launch:
        """The launch of a kernel that multiplies."""
        sizes, strides = (1, 1, *step.out.tensor.sizes)[-4:], [_padded(x) for x in (step.a, step.b, step.out)]
        rows, columns = sizes[-2:]
        depth = step.a.tensor.sizes[-1]
        blocks = [_block(rows, ROWS), _block(columns, COLUMNS), _block(depth, DEPTH)]
        names = [f"{x}_{dim}" for x in "abc" for dim in ("far", "near", "row", "column")]
        numbers = dict(zip(names, [n for of in strides for n in of], strict=True))
        numbers |= {"rows": rows, "columns": columns, "depth": depth, "near": sizes[1]}
        open_ = {name: value for name, value in numbers.items() if type(value) is not int}
        across = (rows + blocks[0] - 1) // blocks[0] * ((columns + blocks[1] - 1) // blocks[1])
        dtype = step.out.tensor.dtype
        body = _text(numbers, list(open_), blocks, dtype)
        key = f"{dtype}{body}"
        kernel = self.kernels.get(key)
        if kernel is None:
            name = self.program.names.fresh(f"product_{len(self.kernels)}")
            kernel = self.kernels[key] = KernelSource(
                name, _HEAD + body.replace("NAME", name), tuple((p, dtype) for p in "abc"), {},
                (across if type(across) is int else None, 1, 1), tuple((number, "i64") for number in open_),
            )  # fmt: skip
        grid = (self._number(across), self._number(sizes[0] * sizes[1]), 1)
        arguments = (*(Address(x) for x in (step.a, step.b, step.out)), *map(self._number, open_.values()))
        return Launch(step.origin, kernel, grid, (step.a, step.b), (step.out,), arguments)

    def _number(self, value: Any) -> Number:
        return number_in(value, self.symbols)


def _padded(local: Local) -> Sequence[Any]:
    """Elements from one matrix (outer, inner), row and column to the next."""
    return (0, 0, *local.tensor.strides)[-4:]


def _block(size: Any, most: int) -> int:
    """A power of two."""
    return most if type(size) is not int else min(most, 1 << max(size - 1, 0).bit_length())


_HEAD = """\
import triton
import triton.language as tl


"""


def _text(numbers: Mapping[str, Any], open_: Sequence[str], blocks: Sequence[int], dtype: DType) -> str:
    """The kernel: a program makes one tile of one matrix. Sums of half types are float32."""
    total = dtype.compute.name
    n = {name: name if name in open_ else str(value) for name, value in numbers.items()}
    tile_rows, tile_columns, step = blocks
    parts = {"r": ("rows", tile_rows), "s": ("columns", tile_columns), "k": ("depth", step)}
    # What a tile is known to be full of needs no mask.
    ragged = {x for x, (name, block) in parts.items() if name in open_ or numbers[name] % block}

    def access(matrix: str, down: str, across: str) -> tuple[str, str]:
        """Addresses, and the mask behind a comma."""
        place = f"{matrix} + {down}[:, None] * {n[f'{matrix}_row']} + {across}[None, :] * {n[f'{matrix}_column']}"
        limits = ((down, "[:, None]"), (across, "[None, :]"))
        mask = " & ".join(f"({x}{shape} < {n[parts[x][0]]})" for x, shape in limits if x in ragged)
        return place, f", {mask}" if mask else ""

    def load(matrix: str, down: str, across: str) -> str:
        return f"tl.load({''.join(access(matrix, down, across))}{', 0.0' if {down, across} & ragged else ''})"

    place, mask = access("c", "r", "s")
    batch = [f"    {x} += far * {n[f'{x}_far']} + near * {n[f'{x}_near']}" for x in "abc"]
    return "\n".join(
        [
            "@triton.jit",
            f"def NAME({', '.join(['a', 'b', 'c', *open_])}):",
            f"    across = ({n['columns']} + {tile_columns - 1}) // {tile_columns}",
            "    tile, batch = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)",
            f"    far, near = batch // {n['near']}, batch % {n['near']}",
            *batch,
            f"    r = tile // across * {tile_rows} + tl.arange(0, {tile_rows})",
            f"    s = tile % across * {tile_columns} + tl.arange(0, {tile_columns})",
            f"    total = tl.zeros(({tile_rows}, {tile_columns}), tl.{total})",
            f"    for start in range(0, {n['depth']}, {step}):",
            f"        k = start + tl.arange(0, {step}).to(tl.int64)",
            f"        total = tl.dot({load('a', 'r', 'k')}, {load('b', 'k', 's')}, total,",
            f'                       input_precision="ieee", out_dtype=tl.{total})',
            f"    tl.store({place}, total.to(tl.{dtype.name}){mask})",
            "",
        ]
    )
