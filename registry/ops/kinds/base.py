"""What all declarations share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from opweave.registry.autograd.formula import Derivative, Formula
from opweave.registry.dtypes import DType
from opweave.registry.errors import Site
from opweave.registry.keys import DispatchKey
from opweave.registry.op import OpOverload, registry
from opweave.registry.scalar import ArrayScalars
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like


def _error_state() -> tuple[Any, Any, Any]:
    try:
        # What `np.errstate` sets, without the object that it makes: a microsecond of five for a small tensor.
        from numpy._core.umath import _extobj_contextvar, _make_extobj  # type: ignore[attr-defined]
    except ImportError:  # a NumPy that keeps it elsewhere
        return (lambda state: np.seterr(**state)), (lambda token: np.seterr(**token)), {"all": "ignore"}
    return _extobj_contextvar.set, _extobj_contextvar.reset, _make_extobj(all="ignore")


#: `token = set_errors(IGNORED)` silences floating point errors in this thread until `reset_errors(token)`.
set_errors, reset_errors, IGNORED = _error_state()

Maker = Callable[[TensorSpec], Tensor]

# How the types of a pointwise op's operands become its compute and result types.
DEFAULT = "default"  # the promoted type
INT_TO_FLOAT = "int_to_float"  # integers and bools become the default floating type
COMPARE = "compare"  # computed in the promoted type, the result is bool

_handlers: dict[Any, ArrayScalars] = {}


def handler(xp: Any) -> ArrayScalars:
    """The eager handler of an array module."""
    found = _handlers.get(xp)
    if found is None:
        found = _handlers[xp] = ArrayScalars(xp)
    return found


class Decl:
    """A declaration; see the module's table for the kinds.

    Attributes
    ----------
    op : OpOverload
        The op it declares.
    kind : str
        One of the table's names.
    samples : callable or None
        `samples(make) -> iterable of (args, kwargs)`: inputs that the generated tests run, `make(*sizes, dtype=...,
        low=..., high=...)` makes a tensor.
    sample_dtypes : tuple of DType or None
        Types that the tests cross the samples with; None for the kind's own choice.
    """

    kind: ClassVar[str]
    takes_numbers: ClassVar[bool] = False

    def __init__(
        self, schema: str | Callable[[], str], body: Callable[..., Any], tags: Sequence[str] = (), name: str = ""
    ):
        self.body = body
        code = getattr(body, "__code__", None)
        site = Site(code.co_filename, code.co_firstlineno, code.co_name) if code else Site("<opweave>", 0, "")
        name = name or str(schema).partition("(")[0]
        self.op: OpOverload = registry.declare(name, schema, tags=tags, site=site)
        self.op.decl = self
        self.samples: Callable[..., Iterable[Any]] | None = None
        self.sample_dtypes: tuple[DType, ...] | None = None
        self.op.fake = self.fake
        self.__name__ = self.op.opname
        self.__doc__ = body.__doc__

    def _run_by(self, kernel: Callable[..., Any], key: DispatchKey = DispatchKey.CompositeExplicitAutograd) -> None:
        self.op.register(key, kernel, site=self.op.site)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.op(*args, **kwargs)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Results without data for arguments in the schema's order (defaults may be left out)."""
        raise NotImplementedError

    def fake(self, *args: Any, **kwargs: Any) -> Any:
        """The rule for meta tensors."""
        return self.meta(allocate_like, args, kwargs)

    def backward(
        decl, joint: Callable[..., Any] | None = None, /, *, differentiable: tuple[int, ...] | None = None,
        **formulas: Callable[..., Any],
    ) -> Any:  # fmt: skip
        """Declare how the results are differentiated: one formula an argument, or one for all (a decorator).

        See `registry.autograd.formula` for what a formula may name among its parameters. Without any formula the
        results are constants to autograd.
        """
        by_argument = {name: Formula(formula) for name, formula in formulas.items()}
        if joint is None and not formulas:
            differentiable = ()
        decl.op.derivative = Derivative(by_argument, None if joint is None else Formula(joint), differentiable)
        decl.op.changed()
        return joint or decl

    def with_samples(self, samples: Callable[..., Iterable[Any]]) -> Callable[..., Iterable[Any]]:
        """Decorator: the inputs that the generated tests run."""
        self.samples = samples
        return samples

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """All argument values in the schema's order, defaults filled in."""
        positional, keyword = self.op._schema.bind(args, kwargs)
        return [*positional, *keyword.values()]

    def __repr__(self) -> str:
        return f"<{self.kind} {self.op}>"


def differs(value: Any, dtype: DType) -> bool:
    """Whether an array has another element type (a Python number has none)."""
    return hasattr(value, "dtype") and value.dtype != dtype.numpy


def store(k: ArrayScalars, target: Any, array: Any, dtype: DType) -> None:
    """Write values into an array, converted as casts are."""
    if hasattr(array, "dtype") and array.dtype == target.dtype:
        target[...] = array
    else:
        target[...] = k.cast(array, dtype)
