"""Op libraries in C++: what they register, and what their code asks of the registry.

The headers are in `opweave/include`. A library hands over records (`library`), each of which becomes a definition or a
kernel (`kernels`); what runs in it calls back by name (`host`). `headers` makes those headers that follow from the
registry. The C ABI is apache-tvm-ffi's, which is loaded with the first library.
"""
