"""What each operation of TTIR takes: the types of its operands and results, and the attributes that it may have.

`verify` holds text from files against these rules. What stands in no rule is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod
from typing import NoReturn

from opweave.codegen.instructions.emit import FLOATS, LLVM_TYPE, SIZE, literal
from opweave.codegen.triton_cpu.context import dense_literals
from opweave.codegen.triton_cpu.operations import operation, rule
from opweave.registry.triton.ttir import Op, Region, Type, Value, callee_of, parse_type, split_signature, walk

_MOST_ELEMENTS = 1 << 20
_MOST_RANK = 32
_INTEGERS = frozenset({"i1", "i8", "i16", "i32", "i64"})
_NUMBERS = FLOATS | _INTEGERS


class TTIRError(ValueError):
    """Text that is no kernel."""


def fail(op: Op, expected: str) -> NoReturn:
    """Refuse an operation."""
    raise TTIRError(f"{op.name}: expected {expected}: {op.line[:160]}")


def check_type(type_: Type) -> None:
    """Refuse types that a value cannot have, and sizes that no block has."""
    if type_.elem not in LLVM_TYPE and type_.elem != "ptr":
        raise TTIRError(f"no type of a value: {str(type_)[:80]}")
    if type_.elem == "ptr":
        pointee = (type_.pointee or "").strip()
        inner = parse_type(pointee)
        if inner.is_tensor or (inner.elem not in SIZE and inner.elem != "ptr") or pointee.count("<") > 4:
            raise TTIRError(f"no type of a pointer: {str(type_)[:80]}")
    dims = type_.dims
    if len(dims) > _MOST_RANK or prod(dims) > _MOST_ELEMENTS or any(d < 1 or d & (d - 1) for d in dims):
        raise TTIRError(f"a block has powers of two as its sizes, and at most {_MOST_ELEMENTS} elements: {type_!s:.80}")


# ---- operations ------------------------------------------------------------------------------------------------------

NO_ATTRIBUTES = re.compile(r"(?:%(?:, %)*)?(?: \{[\w.]+ = [\w.:, <>\-]+\})?")


def attributes_of(op: Op) -> str:
    """What stands between an operation's name and its types, without the names of values."""
    if op.name == "arith.constant":
        return ""
    text = op.attrs if operation(op).blocks else split_signature(op.attrs)[0].strip()
    text = _HINT.sub("", re.sub(r"%[\w$.\-]+(?:#\d+)?", "%", text))
    return text.replace("{, ", "{").replace(" {}", "")


_HINT = re.compile(r"(?:, |(?<=\{))tt\.\w+ = (?:dense<[\w\[\], ]*> : tensor<\w+>|\w+(?: : \w+)?)")
"""What Triton's passes note about values; nothing here reads it."""


def require(op: Op, condition: bool, expected: str = "operands of the operation's types") -> None:
    """Refuse an operation unless a condition holds."""
    if not condition:
        fail(op, expected)


def _same(op: Op, count: int, elems: Iterable[str]) -> None:
    require(op, len(op.operands) == count and len(op.results) == 1)
    require(op, all(v.type == op.result.type for v in op.operands) and op.result.type.elem in set(elems))


_EXTRA = r"(?:%(?:, %)*)?(?: (?:overflow|fastmath)<[\w, ]*>)?(?: \{[\w.]+ = [\w.:, <>\-]+\})?"


@rule("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.maxnumf", "arith.minnumf",
      "arith.maximumf", "arith.minimumf", "tt.precise_divf", "math.copysign", "math.powf", "math.atan2",
      attributes=_EXTRA)  # fmt: skip
def _float_binary(op: Op) -> None:
    _same(op, 2, FLOATS)


@rule("arith.negf", "math.sqrt", "math.rsqrt", "math.exp", "math.exp2", "math.log", "math.log2", "math.log1p",
      "math.expm1", "math.erf", "math.sin", "math.cos", "math.tan", "math.tanh", "math.absf", "math.floor", "math.ceil",
      "math.trunc", "math.round", "math.roundeven", "tt.precise_sqrt", "tt.precise_rsqrt", "math.log10", "math.sinh",
      "math.cosh", "math.asin", "math.acos", "math.atan", attributes=_EXTRA)  # fmt: skip
def _float_unary(op: Op) -> None:
    _same(op, 1, FLOATS)


@rule("math.fma", attributes=_EXTRA)
def _fma(op: Op) -> None:
    _same(op, 3, FLOATS)


@rule("tt.clampf", attributes=r"%, %, %, propagateNan = (?:none|all)")
def _clampf(op: Op) -> None:
    _same(op, 3, FLOATS)


@rule("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori", "arith.shli", "arith.shrsi",
      "arith.shrui", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.maxsi", "arith.minsi",
      "arith.maxui", "arith.minui", "tt.mulhiui", "arith.mulhiui", attributes=_EXTRA)  # fmt: skip
def _int_binary(op: Op) -> None:
    _same(op, 2, _INTEGERS | {"index", "i128"})


@rule("math.absi", "math.ctlz", "math.cttz", "math.ctpop")
def _int_unary(op: Op) -> None:
    _same(op, 1, _INTEGERS)


_PREDICATES = {
    "arith.cmpi": "eq|ne|slt|sle|sgt|sge|ult|ule|ugt|uge",
    "arith.cmpf": "oeq|ogt|oge|olt|ole|one|ord|ueq|ugt|uge|ult|ule|une|uno",
}


@rule("arith.cmpi", attributes=rf"(?:{_PREDICATES['arith.cmpi']}), %, %")
@rule("arith.cmpf", attributes=rf"(?:{_PREDICATES['arith.cmpf']}), %, %(?: fastmath<[\w, ]*>)?")
def _compare(op: Op) -> None:
    a, b = op.operands
    kinds = FLOATS if op.name == "arith.cmpf" else _INTEGERS | {"index", "ptr", "i128"}
    require(op, a.type == b.type and a.type.elem in kinds)
    require(op, op.result.type == Type("i1", a.type.shape))


@rule("arith.select")
def _select(op: Op) -> None:
    condition, a, b = op.operands
    require(op, a.type == b.type == op.result.type and condition.type.elem == "i1")
    require(op, condition.type.shape in (None, a.type.shape))


@rule("arith.constant")
def _constant(op: Op) -> None:
    type_ = op.result.type
    require(op, not op.operands and type_.elem in _NUMBERS | {"index"})
    if op.splat is not None:
        literal(op.splat, type_.elem)
        require(op, re.fullmatch(r"[\w.+\-]+", op.splat) is not None, "a number")
        return
    require(op, type_.is_tensor)
    values = dense_literals(op.attrs, type_.elem, type_.numel)
    require(op, len(values) == type_.numel, "as many numbers as the block has elements")


def _cast(op: Op, sources: Iterable[str], targets: Iterable[str]) -> tuple[Type, Type]:
    (value,) = op.operands
    source, target = value.type, op.result.type
    require(op, source.shape == target.shape and source.elem in set(sources) and target.elem in set(targets))
    return source, target


@rule("arith.extf", "arith.truncf", attributes=_EXTRA)
@rule("tt.fp_to_fp", attributes=r"%(?:, rounding = (?:rtz|rtne))?")
def _between_floats(op: Op) -> None:
    _cast(op, FLOATS, FLOATS)


def _bits(elem: str) -> int:
    return 1 if elem == "i1" else 8 * SIZE[elem]


@rule("arith.extsi", "arith.extui", attributes=r"%(?: nneg)?(?: \{.*\})?")
@rule("arith.trunci", attributes=_EXTRA)
def _resize(op: Op) -> None:
    source, target = _cast(op, _INTEGERS | {"i128"}, _INTEGERS | {"i128"})
    wider = _bits(target.elem) > _bits(source.elem)
    require(op, wider != (op.name == "arith.trunci") and _bits(target.elem) != _bits(source.elem))


@rule("arith.index_cast", "arith.index_castui")
def _index_cast(op: Op) -> None:
    source, target = _cast(op, _INTEGERS | {"index"}, _INTEGERS | {"index"})
    require(op, (source.elem == "index") != (target.elem == "index"))


@rule("arith.sitofp", "arith.uitofp", attributes=r"%(?: nneg)?")
def _to_float(op: Op) -> None:
    _cast(op, _INTEGERS, FLOATS)


@rule("arith.fptosi", "arith.fptoui")
def _to_int(op: Op) -> None:
    _cast(op, FLOATS, _INTEGERS)


@rule("arith.bitcast", "tt.bitcast")
def _bitcast(op: Op) -> None:
    source, target = _cast(op, _NUMBERS | {"ptr"}, _NUMBERS | {"ptr"})
    require(op, (source.elem == "ptr") == (target.elem == "ptr") and SIZE[source.elem] == SIZE[target.elem])


@rule("tt.ptr_to_int")
def _ptr_to_int(op: Op) -> None:
    _cast(op, {"ptr"}, {"i64"})


@rule("tt.int_to_ptr")
def _int_to_ptr(op: Op) -> None:
    _cast(op, {"i64"}, {"ptr"})


@rule("tt.addptr")
def _addptr(op: Op) -> None:
    pointer, offset = op.operands
    require(
        op, pointer.type == op.result.type and pointer.type.elem == "ptr" and pointer.type.shape == offset.type.shape
    )
    require(op, offset.type.elem in _INTEGERS - {"i1"})


@rule("tt.get_program_id", "tt.get_num_programs", attributes="[xyz]")
def _program(op: Op) -> None:
    require(op, not op.operands and op.result.type == Type("i32"))


@rule("tt.make_range", attributes=r"\{end = \d{1,8} : i32, start = \d{1,8} : i32\}")
def _make_range(op: Op) -> None:
    start, end = op.int_attr("start"), op.int_attr("end")
    require(op, op.result.type.elem == "i32" and op.result.type.dims == (end - start,) and not op.operands)


def _view(op: Op) -> tuple[tuple[int, ...], tuple[int, ...]]:
    (value,) = op.operands
    source, target = value.type, op.result.type
    require(op, source.elem == target.elem and source.pointee == target.pointee and target.is_tensor)
    require(op, source.is_tensor == (op.name != "tt.splat"))
    return source.dims, target.dims


@rule("tt.splat")
def _splat(op: Op) -> None:
    _view(op)


@rule("tt.unsplat")
def _unsplat(op: Op) -> None:
    (value,) = op.operands
    require(op, value.type.is_tensor and value.type.numel == 1 and not op.result.type.is_tensor)
    require(op, value.type.elem == op.result.type.elem and value.type.pointee == op.result.type.pointee)


@rule("tt.broadcast")
def _broadcast(op: Op) -> None:
    source, target = _view(op)
    require(op, len(source) == len(target) and all(a in (1, b) for a, b in zip(source, target, strict=True)))


@rule("tt.expand_dims", attributes=r"% \{axis = \d{1,2} : i32\}")
def _expand_dims(op: Op) -> None:
    source, target = _view(op)
    axis = op.int_attr("axis")
    require(op, axis <= len(source) and target == (*source[:axis], 1, *source[axis:]))


@rule("tt.trans", attributes=r"% \{order = array<i32: [\d, ]+>\}")
def _trans(op: Op) -> None:
    source, target = _view(op)
    order = op.array_attr("order")
    require(op, sorted(order) == list(range(len(source))) and target == tuple(source[d] for d in order))


@rule("tt.reshape", attributes=r"%(?: allow_reorder)?(?: efficient_layout)?(?: \{[\w ]+\})?")
def _reshape(op: Op) -> None:
    source, target = _view(op)
    require(op, prod(source) == prod(target))


@rule("tt.join")
def _join(op: Op) -> None:
    a, b = op.operands
    require(op, a.type == b.type and a.type.is_tensor and op.result.type.dims == (*a.type.dims, 2))
    require(op, op.result.type.elem == a.type.elem and op.result.type.pointee == a.type.pointee)


@rule("tt.split")
def _split(op: Op) -> None:
    (value,) = op.operands
    require(op, value.type.dims[-1:] == (2,) and len(op.results) == 2)
    for result in op.results:
        require(op, result.type == Type(value.type.elem, value.type.dims[:-1], value.type.pointee))


@rule("tt.cat")
def _cat(op: Op) -> None:
    require(op, len(op.operands) == 2 and all(len(v.type.dims) == 1 for v in (*op.operands, op.result)))
    require(op, all(v.type.elem == op.result.type.elem != "ptr" for v in op.operands))
    require(op, sum(v.type.numel for v in op.operands) == op.result.type.numel)


@rule("tt.gather", attributes=r"%\[%\] \{axis = \d{1,2} : i32(?:, efficient_layout)?\}")
def _gather(op: Op) -> None:
    source, index = op.operands
    axis = op.int_attr("axis")
    a, b = source.type.dims, index.type.dims
    require(op, index.type.elem in _INTEGERS - {"i1"} and source.type.elem in _NUMBERS and axis < len(a) == len(b))
    require(op, op.result.type == Type(source.type.elem, index.type.shape))
    require(op, all(x == y for d, (x, y) in enumerate(zip(a, b, strict=True)) if d != axis))


@rule("tt.histogram")
def _histogram(op: Op) -> None:
    source, *mask = op.operands
    require(op, len(mask) <= 1 and len(source.type.dims) == len(op.result.type.dims) == 1)
    require(op, source.type.elem in _INTEGERS - {"i1"} and op.result.type.elem in {"i32", "i64"})
    require(op, all(m.type == Type("i1", source.type.shape) for m in mask))


def _element(op: Op) -> Type:
    pointer = op.operands[0].type
    require(op, pointer.elem == "ptr", "a pointer")
    inner = parse_type(pointer.pointee or "")
    return Type(inner.elem, pointer.shape, inner.pointee)


def _mask(op: Op, values: list[Value]) -> None:
    for value in values:
        require(op, value.type == Type("i1", op.operands[0].type.shape), "a mask like the pointers")


_ACCESS = (
    r"(?:%(?:, %)*)"
    r"(?: (?:cacheModifier|evictionPolicy) = \w+| \{[\w =,:<>\"]+\}| (?:cacheModifier|evictionPolicy) = \w+)*"
)


@rule("tt.load", attributes=_ACCESS)
def _load(op: Op) -> None:
    found = _element(op)
    require(op, 1 <= len(op.operands) <= 3 and op.result.type == found)
    _mask(op, op.operands[1:2])
    require(op, all(v.type == found for v in op.operands[2:]))


@rule("tt.store", attributes=_ACCESS)
def _store(op: Op) -> None:
    require(op, 2 <= len(op.operands) <= 3 and op.operands[1].type == _element(op))
    _mask(op, op.operands[2:])


_ORDER = r"(?:relaxed|acquire|release|acq_rel), (?:gpu|cta|sys), %(?:, %)*"


@rule("tt.atomic_rmw", attributes=r"(?:add|fadd|max|min|umax|umin|and|or|xor|exch), " + _ORDER)
def _atomic_rmw(op: Op) -> None:
    found = _element(op)
    require(op, 2 <= len(op.operands) <= 3 and op.operands[1].type == found == op.result.type)
    _mask(op, op.operands[2:])
    kind = op.word
    kinds = FLOATS if kind == "fadd" else _INTEGERS | FLOATS if kind == "exch" else _INTEGERS
    require(op, found.elem in kinds - {"i1"})


@rule("tt.atomic_cas", attributes=_ORDER)
def _atomic_cas(op: Op) -> None:
    found = _element(op)
    require(op, len(op.operands) == 3 and all(v.type == found for v in (*op.operands[1:], op.result)))
    require(op, found.elem in _NUMBERS - {"i1"})


@rule("tt.dot", attributes=r"%, %, %(?:, inputPrecision = \w+)?(?: \{[\w =,:]+\})?")
def _dot(op: Op) -> None:
    a, b, c = (v.type for v in op.operands)
    require(op, c == op.result.type and len(a.dims) == len(b.dims) == len(c.dims) and 2 <= len(a.dims) <= 3)
    require(op, a.dims[-1] == b.dims[-2] and c.dims[-2:] == (a.dims[-2], b.dims[-1]))
    require(op, a.dims[:-2] == b.dims[:-2] == c.dims[:-2] and {a.elem, b.elem, c.elem} <= _NUMBERS)


_SCALED = r"(?:e2m1|e4m3|e5m2|bf16|fp16)"


@rule(
    "tt.dot_scaled",
    attributes=rf"%(?: scale %)?, %(?: scale %)?, % lhs = {_SCALED} rhs = {_SCALED} \{{fastMath = (?:false|true)"
    r"(?:, [lr]hs_k_pack = (?:false|true))*\}",
)
def _dot_scaled(op: Op) -> None:
    text = attributes_of(op)
    formats = re.findall(rf"[lr]hs = ({_SCALED})", text)
    left, _, right = text.partition(",")
    values = [v.type for v in op.operands]
    a = values.pop(0)
    a_scale = values.pop(0) if "scale" in left else None
    b = values.pop(0)
    b_scale = values.pop(0) if "scale" in right.partition(",")[0] else None
    (c,) = values
    packed = [f == "e2m1" for f in formats]
    along = [p and f"{side}hs_k_pack = false" not in text for p, side in zip(packed, "lr", strict=True)]
    inner = [a.dims[1] << along[0], b.dims[0] << along[1]]
    outer = (a.dims[0] << (packed[0] and not along[0]), b.dims[1] << (packed[1] and not along[1]))
    require(op, c == op.result.type and c.elem == "f32" and c.dims == outer and inner[0] == inner[1])
    for scale, rows in ((a_scale, c.dims[0]), (b_scale, c.dims[1])):
        require(op, scale is None or (scale.elem == "i8" and scale.dims == (rows, inner[0] // 32)))


@rule("tt.extern_elementwise", attributes=r'%(?:, %)* \{libname = "", libpath = "", pure = true, symbol = "__nv_\w+"\}')
def _extern(op: Op) -> None:
    require(op, 1 <= len(op.operands) <= 4 and all(v.type.shape == op.result.type.shape for v in op.operands))
    require(op, {v.type.elem for v in (*op.operands, op.result)} <= _NUMBERS)


_TEXT = r'"(?:[^"\\]|\\[0-9A-F]{2})*"'


@rule("tt.print", attributes=rf"{_TEXT}(?: \{{.*\}})?(?:\s*: %(?:, %)*)?(?: \{{.*\}})?")
def _print(op: Op) -> None:
    require(op, not op.results and all(v.type.elem in _NUMBERS | {"ptr"} for v in op.operands))


@rule("tt.assert", attributes=rf"%, {_TEXT}(?: \{{.*\}})?")
def _assert(op: Op) -> None:
    (condition,) = op.operands
    require(op, condition.type.elem == "i1" and not op.results)


@rule("gpu.barrier", "ttg.barrier", attributes=r"(?:memfence \[.*\]|local)?")
def _barrier(op: Op) -> None:
    require(op, not op.operands and not op.results)


@rule("llvm.intr.assume")
def _assume(op: Op) -> None:
    require(op, len(op.operands) == 1 and op.operands[0].type == Type("i1"))


# ---- control flow ----------------------------------------------------------------------------------------------------


@rule("tt.call", attributes=r'@(?:"[\w.$<>\[\], ]+"|[\w.$]+)\((?:%(?:, %)*)?\)')
def _call(op: Op) -> None:
    require(op, bool(callee_of(op)))


@rule("tt.return", "scf.yield", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return",
      attributes=r"(?:%(?:, %)*)?", ends=True)  # fmt: skip
@rule("scf.condition", attributes=r"\(%\)(?: %(?:, %)*)?", ends=True)
def _end(op: Op) -> None:
    require(op, not op.results)


@rule("cf.br", attributes=r"\^bb\d+.*", ends=True)
@rule("cf.cond_br", attributes=r"%, \^bb\d+.*", ends=True)
def _branch(op: Op) -> None:
    require(op, not op.results and len(op.successors) == (1 if op.name == "cf.br" else 2))
    require(op, [v.type for v in op.operands] == ([] if op.name == "cf.br" else [Type("i1")]))


def check_branch(op: Op, region: Region) -> None:
    blocks = {block.label: block for block in region[1:]}
    for label, values in op.successors:
        target = blocks.get(label)
        if target is None:
            fail(op, "a block of the function to go to")
        require(op, [v.type for v in values] == [a.type for a in target.args], "what the block takes")


def _types(values: Iterable[Value]) -> list[Type]:
    return [v.type for v in values]


@rule("scf.for", attributes=r"(?:unsigned )?% = % to % step %.*", blocks=("scf.yield",))
def _for(op: Op) -> None:
    body = op.regions[0][0]
    bounds, initial = op.operands[:3], op.operands[3:]
    counter = body.args[0].type
    require(op, len(bounds) == 3 and all(v.type == counter for v in bounds) and counter.elem in _INTEGERS | {"index"})
    require(
        op, _types(initial) == _types(op.results) == _types(body.args[1:]) == _types(body.yielded), "values carried"
    )


@rule("scf.if", attributes=r".*", blocks=("scf.yield",))
def _if(op: Op) -> None:
    require(op, _types(op.operands) == [Type("i1")], "a condition")
    require(op, len(op.regions) == 2 or (len(op.regions) == 1 and not op.results), "two branches")
    for region in op.regions:
        require(op, _types(region[0].yielded) == _types(op.results) and not region[0].args, "branches with its results")


@rule("scf.while", attributes=r".*", blocks=("scf.condition", "scf.yield"))
def _while(op: Op) -> None:
    before, after = op.regions[0][0], op.regions[1][0]
    end = before.ops[-1]
    require(op, end.name == "scf.condition" and _types(end.operands[:1]) == [Type("i1")], "a condition")
    require(op, _types(op.operands) == _types(before.args) == _types(after.yielded), "values carried")
    require(op, _types(end.operands[1:]) == _types(after.args) == _types(op.results), "values handed on")


@rule(
    "tt.reduce", attributes=r"\(%(?:, %)*\) <\{axis = \d{1,2} : i32(?:, [\w =]+)?\}> \(\{", blocks=("tt.reduce.return",)
)
@rule(
    "tt.scan",
    attributes=r"\(%(?:, %)*\) <\{axis = \d{1,2} : i32, reverse = (?:true|false)\}> \(\{",
    blocks=("tt.scan.return",),
)
def _reduce(op: Op) -> None:
    shape, axis = op.operands[0].type.dims, op.int_attr("axis")
    require(op, len(op.regions) == 1 and axis < len(shape) and len(op.results) == len(op.operands))
    rest = shape[:axis] + shape[axis + 1 :]
    for value, result in zip(op.operands, op.results, strict=True):
        require(op, value.type.dims == shape and value.type.elem in _NUMBERS)
        left = (rest or None) if op.name == "tt.reduce" else shape
        require(op, result.type == Type(value.type.elem, left), "results that fit")
    scalars = [Type(v.type.elem) for v in op.operands]
    require(op, _types(op.regions[0][0].args) == scalars * 2, "a function of two elements")


@rule(
    "tt.map_elementwise", attributes=r"\(%(?:, %)*\) <\{pack = \d{1,4} : i32\}> \(\{",
    blocks=("tt.map_elementwise.return",),
)  # fmt: skip
def _map(op: Op) -> None:
    shape, pack = op.operands[0].type.dims, op.int_attr("pack")
    require(op, len(op.regions) == 1 and pack >= 1 and op.operands[0].type.numel % pack == 0)
    require(op, all(v.type.dims == shape and v.type.elem in _NUMBERS for v in (*op.operands, *op.results)))
    inputs = [Type(v.type.elem) for v in op.operands for _ in range(pack)]
    require(op, _types(op.regions[0][0].args) == inputs, "a function of the elements")


_ARITHMETIC = ("arith.", "math.", "cf.", "scf.", "tt.extern", "tt.mulhi", "tt.precise", "tt.fp_to_fp", "tt.bitcast",
               "tt.clampf")  # fmt: skip


def check_combine(op: Op) -> None:
    """The function of a reduction: scalars alone, and no memory."""
    pack = op.int_attr("pack") if op.name == "tt.map_elementwise" else 1
    wanted = [Type(v.type.elem) for v in op.results for _ in range(pack)]
    for inner in walk(op.regions[0]):
        if inner.name.endswith(".return"):
            require(inner, _types(inner.operands) == wanted, "the types of the elements")
        elif not inner.name.startswith(_ARITHMETIC):
            fail(inner, "arithmetic alone")
        if any(v.type.is_tensor for v in (*inner.operands, *inner.results)):
            fail(inner, "single elements")
