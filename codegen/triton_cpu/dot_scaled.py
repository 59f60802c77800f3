"""tl.dot_scaled: products of 8-bit and 4-bit numbers that share a power of two with their neighbours along k.

Each operand is widened to float32, which holds every such number exactly, times its scale; then the microkernel of
tl.dot multiplies. A GPU that lacks the formats does the same in bfloat16 or float16.
"""

from __future__ import annotations

import re

from opweave.codegen.instructions.emit import FLOATS, Buffer
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.dot import multiply
from opweave.codegen.triton_cpu.elementwise import binary, cast, compare, constant, select, to_f32
from opweave.codegen.triton_cpu.lanes import Index, Indices, Lanes
from opweave.codegen.triton_cpu.loops import materialize, nest
from opweave.codegen.triton_cpu.operations import root
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.triton.ttir import Op, Value

_FORMATS = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}
_OPERANDS = re.compile(r"%\S+?( scale %\S+?)?, %\S+?( scale %\S+?)?, %\S+ lhs = ")


@root("tt.dot_scaled")
def dot_scaled(cx: Context, op: Op) -> None:
    scaled = _OPERANDS.match(op.attrs)
    if scaled is None:
        raise unsupported(op)
    rest = iter(op.operands)
    a, a_scale = next(rest), next(rest) if scaled.group(1) else None
    b, b_scale = next(rest), next(rest) if scaled.group(2) else None
    c = next(rest)
    left = _numbers(cx, op, a, "lhs", len(a.type.dims) - 1)
    right = _numbers(cx, op, b, "rhs", len(b.type.dims) - 2)
    if a_scale is not None:
        _apply_scale(cx, op, left, a_scale, len(left.shape) - 1)
    if b_scale is not None:
        _apply_scale(cx, op, right, b_scale, len(right.shape) - 2)
    multiply(cx, op, c, left, right, "f32")


def _numbers(cx: Context, op: Op, v: Value, side: str, k: int) -> Buffer:
    """An operand as float32, unpacked; `k` is the dimension that is summed over."""
    kind, dims = op.attr(side), v.type.dims
    packed = kind == "e2m1"
    if kind not in ("e2m1", "bf16", "fp16", *_FORMATS):
        raise unsupported(op, f"operands in {kind}")
    # Two numbers a byte, the lower half first, along k or along the other dimension.
    other = len(dims) - 1 if k == len(dims) - 2 else len(dims) - 2
    along = k if op.attr(f"{side}_k_pack") != "false" else other
    buffer = cx.em.buffer((*dims[: along + 1], 2, *dims[along + 1 :]) if packed else dims, "f32")

    def body(idx: Indices) -> None:
        x = cx.evaluate(v, idx)
        if not packed:
            x = Lanes(x.kind, x.value, _FORMATS.get(kind or "", x.elem), x.stride, x.origin)
            cx.store_buffer(buffer, to_f32(cx, x), idx)
            return
        for half in range(2):
            nibble = binary(cx, "lshr", [x, constant("i8", 4)]) if half else x
            at = (*idx[: along + 1], Index(half, 0, f"half{half}"), *idx[along + 1 :])
            cx.store_buffer(buffer, _decode_e2m1(cx, nibble), at)

    nest(cx, dims, [v], [], body)
    whole = tuple(2 * d if packed and n == along else d for n, d in enumerate(dims))
    return Buffer(buffer.pointer, whole, "f32")


def _decode_e2m1(cx: Context, x: Lanes) -> Lanes:
    """The four lower bits of a byte, sign, two of exponent and one of fraction, as float32."""
    code = binary(cx, "and", [cast(cx, "zext", x, "i32"), constant("i32", 15)])
    sign = binary(cx, "shl", [binary(cx, "and", [code, constant("i32", 8)]), constant("i32", 28)])
    magnitude = binary(cx, "and", [code, constant("i32", 7)])
    # From 1 on the bits are those of a float32 whose exponent is 126 higher; below are 0 and 0.5.
    normal = binary(
        cx, "add", [binary(cx, "shl", [magnitude, constant("i32", 22)]), constant("i32", 126 << 23)]
    )  # fmt: skip
    half = select(cx, compare(cx, "eq", magnitude, constant("i32", 1)), constant("i32", 0x3F000000), constant("i32", 0))
    bits = select(cx, compare(cx, "ugt", magnitude, constant("i32", 1)), normal, half)
    return cast(cx, "bitcast", binary(cx, "or", [bits, sign]), "f32")


def _apply_scale(cx: Context, op: Op, numbers: Buffer, scale: Value, k: int) -> None:
    """Multiply each run along `k` with its scale, whose last dimension counts the runs."""
    shape, runs = numbers.shape, scale.type.dims[-1]
    if runs == 0 or shape[k] % runs:
        raise unsupported(op, f"{runs} scales for {shape[k]} numbers")
    view = Buffer(numbers.pointer, (*shape[:k], runs, shape[k] // runs, *shape[k + 1 :]), "f32")
    materialize(cx, [scale])

    def body(idx: Indices) -> None:
        outer = (*idx[:k], *idx[k + 2 :])  # the batch, and the row of the left or the column of the right operand
        factor = _power(cx, cx.evaluate(scale, (*outer, idx[k])))
        w, (x, y) = cx.operands([cx.load_buffer(view, idx), factor])
        assert w == cx.width
        cx.store_buffer(view, Lanes("vector", cx.em.inst(f"fmul {cx.vector('f32')} {x}, {y}"), "f32"), idx)

    nest(cx, view.shape, [], [], body)


def _power(cx: Context, x: Lanes) -> Lanes:
    """A scale as float32: 2 to the power of a byte less 127 (255 is NaN), or a narrow float as it is."""
    if x.elem in FLOATS:
        return to_f32(cx, x)
    code = cast(cx, "zext", x, "i32")
    bits = binary(cx, "shl", [code, constant("i32", 23)])
    bits = select(cx, compare(cx, "eq", code, constant("i32", 0)), constant("i32", 0x00400000), bits)
    bits = select(cx, compare(cx, "eq", code, constant("i32", 255)), constant("i32", 0x7FC00000), bits)
    return cast(cx, "bitcast", bits, "f32")
