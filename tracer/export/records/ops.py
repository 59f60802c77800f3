"""The ops that a program calls, in the manifest: names and schemas."""

from __future__ import annotations

import re

from opweave.registry.errors import ExportError
from opweave.registry.interrupts import let_through
from opweave.registry.op import OpOverload
from opweave.registry.schema import parse_schema
from opweave.tracer.export.encoding import Reader
from opweave.tracer.export.linking import accepts, check_schemas, detached, registered
from opweave.tracer.export.untrusted import Limits

_OP_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)


class OpRecords:
    """Collects the schemas of the ops that a program calls."""

    def __init__(self) -> None:
        self.schemas: dict[str, str] = {}

    def note(self, op: OpOverload) -> None:
        """Note that an op is called."""
        schema = str(op._schema)
        if self.schemas.setdefault(op.name, schema) != schema:
            raise ExportError(
                f"save: the program calls {op.name} with two schemas", got=f"{self.schemas[op.name]}\n    {schema}"
            )


def decode_ops(source: Reader, limits: Limits | None) -> dict[str, OpOverload]:
    """The ops that a program calls, by name: those registered here where they take its calls."""
    found: dict[str, OpOverload] = {}
    exported: list[OpOverload] = []
    for name, item in source.members():
        if not _OP_NAME.fullmatch(name):
            source.fail("names of ops")
        schema = item.text(100_000)
        try:
            op = detached(schema)
            parse_schema(str(op._schema))
        except (ValueError, RecursionError, TypeError, OverflowError) as error:
            let_through(error)
            raise ExportError(f"load: {item.place}: no schema", got=f"{schema[:80]!r}: {error}") from None
        if op.name != name:
            item.fail(f"the schema of {name}")
        here = registered(op) if limits is None else limits.find(op)
        found[name] = here if here is not None and accepts(here._schema, op._schema) else op
        exported.append(op)
    check_schemas(exported)
    return found
