"""Inlining of `tt.call`, for the helpers that Triton's inliner leaves: marked `noinline`, or returning early."""

from __future__ import annotations

from opweave.registry.triton.ttir import Block, Function, Module, Op, Region, Value, callee_of, walk


def inline_calls(function: Function, module: Module) -> list[Op]:
    """Replace every call in `function` by an `opweave.call` operation whose region is a copy of the callee's body.

    Its results are assigned by the `tt.return`s inside; the callee's arguments are replaced by the operands.

    Returns
    -------
    list of Op
        The calls that stay: of a function that calls itself, or that the module does not define.
    """
    left: list[Op] = []
    todo = [(op, frozenset({function.name})) for op in walk(function.body) if op.name == "tt.call"]
    while todo:
        op, around = todo.pop()
        callee = module.functions.get(callee_of(op))
        if callee is None or not callee.body or callee.name in around:
            left.append(op)
            continue
        op.name = "opweave.call"
        mapping = dict(zip(callee.args, op.operands, strict=True))
        op.regions = [_copy_region(callee.body, op, mapping)]
        for v in dict.fromkeys(op.operands):
            v.users.remove(op)
        op.operands = []
        inside = around | {callee.name}
        todo += [(inner, inside) for inner in walk(op.regions[0]) if inner.name == "tt.call"]
    return left


def _copy_region(region: Region, parent: Op, mapping: dict[Value, Value]) -> Region:
    copies = []
    for block in region:
        copy = Block(block.label, parent=parent)
        for a in block.args:
            if a not in mapping:
                mapping[a] = Value(a.name, a.type, None, a.index, copy)
                copy.args.append(mapping[a])
        copies.append(copy)
    for block, copy in zip(region, copies, strict=True):
        copy.ops = [_copy_op(op, copy, mapping) for op in block.ops]
    return copies


def _copy_op(op: Op, block: Block, mapping: dict[Value, Value]) -> Op:
    new = Op(
        op.name, [mapping[v] for v in op.operands], [], op.attrs, op.line, block, op.pos, loc=op.loc, number=op.number
    )
    new.successors = [(label, [mapping[v] for v in args]) for label, args in op.successors]
    for v in dict.fromkeys([*new.operands, *(v for _, args in new.successors for v in args)]):
        v.users.append(new)
    new.regions = [_copy_region(region, new, mapping) for region in op.regions]
    for r in op.results:
        mapping[r] = Value(r.name, r.type, new, r.index)
        new.results.append(mapping[r])
    return new
