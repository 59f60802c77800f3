"""Composites, written with other ops, and extern ops, which call a library."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Unpack

from opweave.registry.batched import Level
from opweave.registry.keys import DispatchKey
from opweave.registry.op import ops
from opweave.registry.ops.kinds.base import Decl, Maker
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.kinds.writing import before_write, with_traits
from opweave.registry.spec import TensorSpec
from opweave.registry.tags import TagLike
from opweave.registry.tensor import Tensor


class CompositeDecl(Decl):
    """An op written with other ops; its body is its decomposition.

    Attributes
    ----------
    explicit : bool
        Whether modes see it as one node (to be decomposed by a pass); otherwise it is gone before any mode looks.
    by_parts : callable
        The kernel that makes the calls of its body.
    """

    kind = "composite"
    is_composite = True
    checks_devices = True
    #: Whether it writes its first argument by `copy_` alone, if that is not large.
    copies_back = False
    apart = "composite op"

    def __init__(
        self, schema: str, body: Callable[..., Any], explicit: bool, kernel: Callable[..., Any] | None = None,
        of_rows: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(schema, body)
        self.explicit = explicit
        self.by_parts = body if of_rows is None else _else_body(of_rows, body)
        key = DispatchKey.CompositeExplicitAutograd if explicit else DispatchKey.CompositeImplicitAutograd
        self._run_by(kernel or self.by_parts, key)

    @property
    def allocates(self) -> bool:  # type: ignore[override]
        """Always where no mode sees the op: it is no kernel then, and each op of its body comes by."""
        return not self.explicit

    @property
    def in_parts(self) -> Callable[..., Any]:  # type: ignore[override]
        return self.body

    @property
    def takes_numbers(self) -> bool:  # type: ignore[override]  # the ops of the body decide
        return True

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.body(*args, **kwargs)

    def batch(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The ops that it is written with."""
        return self.body(*args, **kwargs)


def _else_body(of_rows: Callable[..., Any], body: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(body)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        found = of_rows(*args, **kwargs)
        return body(*args, **kwargs) if found is None else found

    return kernel


def composite(
    schema: str, *, explicit: bool = False, kernel: Callable[..., Any] | None = None,
    of_rows: Callable[..., Any] | None = None, **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], CompositeDecl]:  # fmt: skip
    """Declare an op by its decomposition.

    Parameters
    ----------
    explicit : bool
        Keep it as one node in traces.
    kernel : callable, optional
        A faster eager kernel of an explicit op.
    of_rows : callable, optional
        The same for large tensors alone (`registry.rows`): None where it is not for the arguments, as for wrong ones.
    """

    def declare(body: Callable[..., Any]) -> CompositeDecl:
        return with_traits(CompositeDecl(schema, body, explicit, kernel, of_rows), **traits)

    return declare


class ExternDecl(Decl):
    """A call into a library: `body(*args) -> Tensor`, and `spec(*args) -> TensorSpec` (a tuple of them for several)."""

    kind = "extern"
    allocates = True
    is_library_call = True
    apart = "library call"

    def __init__(self, schema: str, body: Callable[..., Any], spec: Callable[..., Any]):
        super().__init__(schema, body)
        self.spec = spec
        self._run_by(body)

    def in_kernels(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Say how the op is written with others, of which a compiled graph makes kernels instead of calling it.

        The decorated `body(*args)` takes the schema's arguments in order.
        """
        self.in_parts = lambda *args, **kwargs: body(*self.bind(args, kwargs))
        return body

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        spec = self.spec(*self.bind(args, kwargs))
        return make(spec) if isinstance(spec, TensorSpec) else tuple(make(s) for s in spec)


def extern(
    schema: str, *, spec: Callable[..., Any], **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], ExternDecl]:
    """Declare an op that calls a library; the decorated function is its kernel."""

    def declare(body: Callable[..., Any]) -> ExternDecl:
        return with_traits(ExternDecl(schema, body, spec), **traits)

    return declare


def declare_copied_back(
    schema: str, functional: CompositeDecl, tags: TagLike = (), of_large: Callable[..., bool] | None = None
) -> None:
    """Declare the form of a composite op that writes into its first argument: its result is copied there.

    Unless `of_large`, called with the arguments, writes it, which it may do for tensors too large to be replayed.
    """

    @composite(schema, tags=tags)
    def body(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if of_large is not None and of_large(self, *args, **kwargs):
            return self
        return ops.aten.copy_.default(self, functional.body(before_write(self, *args), *args, **kwargs))

    body.copies_back = True
