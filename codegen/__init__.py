"""From fused regions of a graph to kernels and the code that calls them; and the Triton backend for the CPU.

Import it as `opweave.codegen`.
"""

if __name__ != "opweave.codegen":
    raise ImportError(f"import this package as 'opweave.codegen', not {__name__!r}: two copies would not share state")
