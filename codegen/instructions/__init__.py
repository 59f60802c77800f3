"""LLVM instructions as text, and formulas of floating-point functions in them: what kernels and eager loops share."""
