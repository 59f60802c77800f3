"""What every error that a user can cause must have: its type, four parts, and a place in the user's own file."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import opweave
from opweave.registry.errors import OpweaveError, Site

_serial = itertools.count()


@contextmanager
def refused(kind: type[OpweaveError], what: str, file: str, *, got: str | None = None) -> Iterator[None]:
    """The block must raise exactly such an error, at a line of `file`."""
    with pytest.raises(OpweaveError) as caught:
        yield
    error = caught.value
    assert type(error) is kind, error
    assert what in error.what, error
    assert error.got, f"no `got`:\n{error}"
    assert got is None or got in error.got, error
    assert error.hint, f"no `hint`:\n{error}"
    assert isinstance(error.at, Site) and error.at.file == file and error.at.line > 0, error


def fresh_op(
    body: Callable[..., Any], fake: Callable[..., Any] | None = None, schema: str = "(Tensor x) -> Tensor"
) -> Any:
    """A custom op under a name of its own."""
    op = opweave.library.custom_op(f"mistakes::op{next(_serial)}", body, mutates_args=(), schema=schema)
    if fake is not None:
        op.register_fake(fake)
    return op
