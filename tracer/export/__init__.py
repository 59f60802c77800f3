"""Exported programs: a function's graph with all that it needs, to be kept in a file and run elsewhere.

Read in the order signature, dims, linking, kernels, program, tracing; then archive, encoding and serialize for files.
"""
