"""What stands as an operand in LLVM IR.

An integer constant is Python's `int`; everything else is text of one of these types, so that it prints as it is.
"""

from __future__ import annotations

from typing import NewType

LLVMType = NewType("LLVMType", str)
"""A type: `float`, `<8 x i32>`. It is only printed: what a value is its element type in TTIR and its width say."""


class Register(str):
    """What only the kernel knows: what an instruction computed, a variable or a parameter, by its name (`%t5`)."""

    __slots__ = ()


class Constant(str):
    """What is known but no integer: `0x3FF0000000000000`, `true`, `null`, `splat (i32 1)`, the name of a table."""

    __slots__ = ()


Operand = Register | Constant | int
Typed = tuple[LLVMType, Operand]
"""An operand with its type, as calls print them."""

TRUE, FALSE = Constant("true"), Constant("false")
NULL = Constant("null")
POISON = Constant("poison")
ZEROS = Constant("zeroinitializer")
VOID, PTR, DOUBLE = LLVMType("void"), LLVMType("ptr"), LLVMType("double")
I1, I8, I16, I32, I64 = (LLVMType(f"i{bits}") for bits in (1, 8, 16, 32, 64))
