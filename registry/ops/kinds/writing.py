"""In-place and `out=` ops: another op's result, written where the caller says; and how a pointwise op gets both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry.device import meta as _META
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, OpweaveError, ShapeError
from opweave.registry.op import OpOverload
from opweave.registry.ops.kinds.base import DEFAULT, Decl, Maker, handler, store
from opweave.registry.ops.kinds.pointwise import PointwiseDecl
from opweave.registry.promote import can_cast
from opweave.registry.spec import TensorSpec, overlaps_itself
from opweave.registry.tensor import Tensor, allocate, allocate_like, describe


def _arguments_text(op: OpOverload, first: str | None = None, extra: str | None = None) -> str:
    arguments = op._schema.arguments
    positional = [str(a) for a in arguments if not a.kwarg_only]
    named = [str(a) for a in arguments if a.kwarg_only]
    if first is not None:
        positional[0] = first
    if extra is not None:
        named.append(extra)
    return ", ".join([*positional, *(["*", *named] if named else [])])


def declare_inplace(op: OpOverload, overload: str) -> InplaceDecl:
    """Declare `op_`, which writes the op's result into its first argument."""
    name = f"{op.namespace}::{op.opname}_" + ("" if overload == "default" else f".{overload}")

    def schema() -> str:
        return f"{name}({_arguments_text(op, first=f'Tensor(a!) {op._schema.arguments[0].name}')}) -> Tensor(a!)"

    return InplaceDecl(schema, op, name)


def declare_out(op: OpOverload, overload: str | None) -> OutDecl:
    """Declare the `out=` variant of an op, by default as `out` or `<overload>_out`."""
    usual = "out" if op.overload in ("default", "Tensor") else f"{op.overload}_out"
    name = f"{op.namespace}::{op.opname}.{overload or usual}"

    def schema() -> str:
        return f"{name}({_arguments_text(op, extra='Tensor(a!) out')}) -> Tensor(a!)"

    return OutDecl(schema, op, name)


class WritingDecl(Decl):
    """An op that computes another op's result into memory it is given."""

    functional: OpOverload

    def __init__(self, schema: str | Callable[[], str], functional: OpOverload, name: str = ""):
        super().__init__(schema, self.run, name=name)
        self.functional = functional
        self._run_by(self.run)

    @property
    def takes_numbers(self) -> bool:  # type: ignore[override]  # follows the functional form
        return bool(self.functional.decl.takes_numbers) if hasattr(self, "functional") else False

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The eager kernel."""
        raise NotImplementedError

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A call's arguments, some left out, as the functional op takes them: it need not have the same defaults."""
        present = {*kwargs, *(a.name for a in self.functional._schema.arguments[: len(args)])}
        missing = [a.name for a in self.functional._schema.arguments if not a.has_default and a.name not in present]
        if not missing:
            return args, kwargs
        return args, {**kwargs, **{name: self.op._defaults[name].default for name in missing}}

    def _check(self, target: Tensor, sizes: tuple[int, ...], dtype: DType) -> None:
        name = self.op.opname
        if sizes != target._sizes:
            raise ShapeError(
                f"{name}: the result's shape {list(sizes)} does not fit the tensor written to", got=describe(target),
                hint="opweave never resizes a tensor; pass one of the right shape",
            )  # fmt: skip
        if not can_cast(dtype, target._dtype):
            raise DTypeError(
                f"{name}: result type {dtype.name} cannot be written to {target._dtype.name}", got=describe(target),
                hint="use the functional form, or convert the tensor first",
            )  # fmt: skip
        if overlaps_itself(target._sizes, target._strides):
            raise ShapeError(
                f"{name}: several elements of the tensor written to share memory",
                got=f"{describe(target)} with strides {target._strides}", hint="call .clone() before mutating",
            )  # fmt: skip

    def _write(self, target: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        decl = self.functional.decl
        if isinstance(decl, PointwiseDecl):
            operands, attributes = decl.operands(args, kwargs)
            spec = decl.spec(operands, attributes)
            self._check(target, spec.sizes, spec.dtype)
            layout = TensorSpec(spec.sizes, target._strides, spec.dtype, target._device)
            decl.evaluate(operands, attributes, layout, target)
            return target
        result = self.functional(*args, **kwargs)
        self._check(target, result._sizes, result._dtype)
        with np.errstate(all="ignore"):
            store(handler(target._device.xp), target._array, result._array, target._dtype)
        return target

    def _result_spec(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TensorSpec:
        """Spec of the functional result, through its own rule."""
        found: list[TensorSpec] = []

        def note(spec: TensorSpec) -> Tensor:
            found.append(spec)
            return allocate(spec.sizes, spec.strides, spec.dtype, _META)

        result = self.functional.decl.meta(note, *self.arguments(args, kwargs))
        return found[-1] if found else result.spec  # a composite's is made by its ops


class InplaceDecl(WritingDecl):
    """`op_`: writes the result of `functional` into the first argument and returns it."""

    kind = "inplace"

    def __init__(self, schema: str | Callable[[], str], functional: OpOverload, name: str = ""):
        super().__init__(schema, functional, name)
        self.samples = self._samples

    def _samples(self, make: Callable[..., Tensor]) -> Iterable[Any]:
        """The functional op's, as far as their result fits the first argument."""
        samples = self.functional.decl.samples
        for args, kwargs in samples(make) if samples else ():
            if args and isinstance(args[0], Tensor):
                try:
                    self.meta(allocate_like, args, kwargs)
                except OpweaveError:
                    continue
                yield args, kwargs

    def run(self, *args: Any, **kwargs: Any) -> Tensor:
        decl = self.functional.decl
        if isinstance(decl, PointwiseDecl):
            done = decl.quick(args, kwargs, inplace=True)
            if done is None:
                done = decl.large(args, kwargs, inplace=True)
            if done is not None:
                return args[0]
        return self._write(args[0], args, kwargs)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        spec = self._result_spec(args, kwargs)
        self._check(args[0], spec.sizes, spec.dtype)
        return args[0]


class OutDecl(WritingDecl):
    """`op.out`: writes the result of `functional` into the keyword argument `out` and returns it."""

    kind = "out"

    def run(self, *args: Any, out: Tensor, **kwargs: Any) -> Tensor:
        return self._write(out, args, kwargs)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        kwargs = dict(kwargs)
        out = kwargs.pop("out")
        spec = self._result_spec(args, kwargs)
        self._check(out, spec.sizes, spec.dtype)
        return out


def pointwise(
    schema: str,
    *,
    promote: Any = DEFAULT,
    kinds: str = "buifc",
    inplace: bool | str = True,
    out: bool | str = True,
    tags: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], PointwiseDecl]:
    """Declare a pointwise op; the decorated body is `body(k, *operands, **attributes)`.

    Parameters
    ----------
    schema : str
        Its `Tensor` arguments are the operands in the body's order, all others attributes.
    promote : str or callable
        `DEFAULT`, `INT_TO_FLOAT`, `COMPARE`, or a function like `PointwiseDecl.types`.
    kinds : str
        Kinds of compute type it is defined for (see `DType.kind`); others are refused.
    inplace : bool or str
        Whether to declare the `op_` variant too; a string is its overload name, where that is another.
    out : bool or str
        Whether to declare the `out=` variant too; a string is its overload name, where that is another.
    """

    def declare(body: Callable[..., Any]) -> PointwiseDecl:
        decl = PointwiseDecl(schema, body, promote, tags, kinds)
        if inplace:
            declare_inplace(decl.op, inplace if isinstance(inplace, str) else decl.op.overload)
        if out:
            declare_out(decl.op, out if isinstance(out, str) else None)
        return decl

    return declare
