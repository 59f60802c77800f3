"""Exported programs as object code that needs no Python: `opweave.export.compile`.

    products     matrix products become Triton kernels, unless a BLAS is to do them
    entries      the host steps of a program, recorded as a table (`codegen.native.segments`)
    kernels      kernels as LLVM IR for the target
    module       the tables, weights and texts as constants, beside the runtime (`model.ll`): one object file
    description  what the artifact says of itself: JSON, and a C header
    linking      a shared object of the object file

Nothing here runs a kernel. `runtime.artifact` loads what was made, and imports none of this.
"""
