"""CUDA for stock Triton without PyTorch and without a C compiler.

Devices, streams and memory are CuPy's. Triton's own driver takes them from PyTorch, and builds its launchers with gcc;
here launches go through ctypes to the CUDA driver library (`library`), which also encodes tensor descriptors
(`arguments`). A kernel is loaded on the device of its tensors and launched there (`launcher`), whichever is current.
`driver` is what Triton asks.
"""
