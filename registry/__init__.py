"""What an op is, and what runs when it is called.

Read in the order errors, dtypes, device, memory, storage, tensor, schema, keys, entry, op, promote, scalar, ops/kinds,
and then any family in `ops/`. Import it as `opweave.registry`: a second copy under another name would be a second
registry.
"""

if __name__ != "opweave.registry":
    raise ImportError(f"import this package as 'opweave.registry', not {__name__!r}: it would be a second registry")
