"""Headers that follow from the registry are what it says now, and are enough for each op."""

import re

from opweave.registry.cpp import headers
from opweave.registry.keys import DispatchKey
from opweave.registry.op import registry


def test_made_headers_are_current():
    for path, text in headers.made().items():
        assert path.read_text() == text, f"{path.name}: run `python -m opweave.registry.cpp.headers`"


def test_keys_have_the_numbers_of_the_registry():
    text = headers.keys()
    for key in DispatchKey:
        assert re.search(rf"_\({key.name}, {int(key)}\)", text)


def test_every_declared_op_is_there():
    called = "".join(headers.made().values())
    native = "".join(path.read_text() for path in (headers.include_folder() / "opweave").glob("*.h"))
    missing = [
        name for name, op in registry.operators.items()
        if op.decl is not None and op.namespace == "aten" and f'"{name}"' not in called and f'"{name}"' not in native
    ]  # fmt: skip
    assert missing == []


def test_headers_are_in_the_package():
    folder = headers.include_folder()
    for name in ("opweave/library.h", "torch/library.h", "torch/extension.h", "ATen/ATen.h", "c10/util/Optional.h"):
        assert (folder / name).is_file()
    longest = {path.name: len(path.read_text().splitlines()) for path in (folder / "opweave").glob("*.h")}
    assert max(longest.values()) <= 600
