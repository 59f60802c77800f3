"""Capture: `Graph`, and the machinery that records a function's ops into one.

Read in the order order, operands, graph, printing, parsing, graph_module, proxy, make_fx, interpreter. Import it as
`opweave.tracer`.
"""

if __name__ != "opweave.tracer":
    raise ImportError(f"import this package as 'opweave.tracer', not {__name__!r}: a second copy would be a second one")
