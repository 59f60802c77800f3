"""Graph to graph, one pass a file; `opweave/pipeline.py` has their order. Import it as `opweave.passes`."""

if __name__ != "opweave.passes":
    raise ImportError(f"import this package as 'opweave.passes', not {__name__!r}: two copies would not share state")
