"""What stands as an operand in LLVM IR: the name of a register, or the text of a constant."""

from __future__ import annotations


class Register(str):
    """What only the kernel knows: what an instruction computed, a variable or a parameter, by its name (`%t5`).

    Text that is none is a constant: a number, `true`, `null`, `splat (i32 1)`.
    """

    __slots__ = ()
