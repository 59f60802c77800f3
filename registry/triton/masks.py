"""Conditions of a kernel as facts: what is true where a mask, or the condition of a branch, holds."""

from __future__ import annotations

from opweave.registry.dataclass import dataclass
from opweave.registry.triton.address import WIDE
from opweave.registry.triton.flow import Flow
from opweave.registry.triton.index import Reader
from opweave.registry.triton.polynomial import Opaque, Polynomial, is_natural
from opweave.registry.triton.shapes import VIEWS, through_view
from opweave.registry.triton.ttir import Block, Op, Value

_NEGATED = {"<": ">=", ">=": "<", "==": "!=", "!=": "=="}
_RELATIONS = {"lt": ("<", False), "ge": (">=", False), "gt": ("<", True), "le": (">=", True)}
"""Of a comparison: the relation, and whether it holds of the operands the other way round."""


@dataclass(frozen=True)
class Fact:
    """A comparison that holds.

    Attributes
    ----------
    left, right : Polynomial
        What is compared.
    relation : {"<", ">=", "==", "!=", "?"}
        How; `?` of a condition that nothing is known of, which is neither polynomial's.
    bits : int
        Width of the narrowest type that a sum or product in them may leave; 64 where none may be narrower.
    """

    left: Polynomial
    relation: str
    right: Polynomial
    bits: int = WIDE

    @property
    def is_opaque(self) -> bool:
        """Whether it only says that a value that is not followed is true, or false, or that there is a condition."""
        if self.relation == "?":
            return True
        leaf = self.left.single
        return self.right.constant == 0 and isinstance(leaf, Opaque) and leaf.value.type.elem == "i1"

    def __str__(self) -> str:
        if self.relation == "?":
            return "..."
        if self.is_opaque:
            return str(self.left) if self.relation == "!=" else f"not {self.left}"
        return f"{self.left} {self.relation} {self.right}"


UNKNOWN = Fact(Polynomial(), "?", Polynomial())


def facts(reader: Reader, v: Value, holds: bool = True) -> tuple[Fact, ...]:
    """What follows from a truth value, and no less: together they are true where it is `holds`, and nowhere else."""
    op = v.op
    number = reader.number(v)
    constant = number.polynomial.constant
    if constant is not None:
        return () if bool(constant) is holds else (Fact(Polynomial.of(0), "!=", Polynomial.of(0)),)
    found: tuple[Fact, ...] | None = None
    if op is not None and op.name == ("arith.andi" if holds else "arith.ori"):
        found = tuple(dict.fromkeys((*facts(reader, op.operands[0], holds), *facts(reader, op.operands[1], holds))))
    elif op is not None and op.name == "arith.xori":
        for x, y in (op.operands, op.operands[::-1]):
            if reader.number(y).polynomial.constant == 1:
                found = facts(reader, x, not holds)
    elif op is not None and op.name in VIEWS:
        found = _viewed(op, facts(reader, op.operands[0], holds))
    elif op is not None and op.name == "arith.cmpi":
        found = _compared(reader, op, holds)
    if found is None:
        found = (Fact(number.polynomial, "!=" if holds else "==", Polynomial.of(0)),)
    return found


def unless_certain(fact: Fact) -> tuple[Fact, ...]:
    """The fact, or none if it holds for all lanes, whatever the arguments are."""
    if fact.bits == WIDE and fact.relation in ("<", ">="):
        above = fact.left - fact.right if fact.relation == ">=" else fact.right - fact.left - 1
        if is_natural(above):
            return ()
    return (fact,)


def _viewed(op: Op, of: tuple[Fact, ...]) -> tuple[Fact, ...] | None:
    found = []
    for fact in of:
        left, right = through_view(op, fact.left), through_view(op, fact.right)
        if left is None or right is None:
            return None
        found.append(Fact(left, fact.relation, right, fact.bits))
    return tuple(found)


def _compared(reader: Reader, op: Op, holds: bool) -> tuple[Fact, ...] | None:
    predicate = op.word
    if op.operands[0].type.elem == "i1":
        return None
    read = reader.unsigned if predicate.startswith("u") else reader.number
    a, b = read(op.operands[0]), read(op.operands[1])
    if predicate in ("eq", "ne"):
        relation, turned = ("==" if predicate == "eq" else "!="), False
    else:
        relation, turned = _RELATIONS[predicate[1:]]
    left, right = (b, a) if turned else (a, b)
    relation = relation if holds else _NEGATED[relation]
    return unless_certain(Fact(left.polynomial, relation, right.polynomial, min(a.bits, b.bits)))


def guards(reader: Reader, flow: Flow, block: Block) -> tuple[Fact, ...]:
    """What holds where a block is run: the conditions of the branches around it."""
    found: list[Fact] = []
    at: Block | None = block
    while at is not None:
        found = [*_between_blocks(reader, flow, at), *found]
        parent = at.parent
        if parent is not None and parent.name == "scf.if":
            found = [*facts(reader, parent.operands[0], at in parent.regions[0]), *found]
        at = parent.block if parent is not None else None
    return tuple(dict.fromkeys(found))


def _between_blocks(reader: Reader, flow: Flow, block: Block) -> list[Fact]:
    """What holds in a block that branches lead to, besides what holds around its region."""
    found: list[Fact] = []
    blocks, seen = flow.beside(block), {block}
    while block is not blocks[0]:
        ways = [
            (other.ops[-1], k)
            for other in blocks
            if other.ops
            for k, (label, _) in enumerate(other.ops[-1].successors)
            if flow.successor(other.ops[-1], label) is block
        ]
        if len(ways) != 1 or ways[0][0].block in seen:
            return [UNKNOWN, *found]  # what holds is one of several conditions
        (op, k), *_ = ways
        if op.name == "cf.cond_br":
            found = [*facts(reader, op.operands[0], k == 0), *found]
        block = op.block
        seen.add(block)
    return found
