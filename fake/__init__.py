"""Tensors without data: what the tracer runs a user's function on. Import it as `opweave.fake`."""

if __name__ != "opweave.fake":
    raise ImportError(f"import this package as 'opweave.fake', not {__name__!r}: a second copy would be a second one")
