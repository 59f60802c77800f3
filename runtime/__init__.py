"""What runs when a compiled function is called: guards, compiled code, caches. Import it as `opweave.runtime`."""

if __name__ != "opweave.runtime":
    raise ImportError(f"import this package as 'opweave.runtime', not {__name__!r}: two copies would not share state")
