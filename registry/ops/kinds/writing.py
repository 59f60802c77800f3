"""In-place and `out=` ops: another op's result, written where the caller says; and how a pointwise op gets both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, Unpack

import numpy as np

from opweave.registry.batched import Level
from opweave.registry.batching import refuse_write, write_each
from opweave.registry.device import meta as _META
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, OpweaveError, ShapeError, UnsupportedError
from opweave.registry.keys import AUTOCAST_KEYS, GRAD, state
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds.base import DEFAULT, Decl, Maker, handler, store
from opweave.registry.ops.kinds.pointwise import PointwiseDecl
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.promote import can_cast
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.resizing import resize_result
from opweave.registry.spec import TensorSpec, overlaps_itself
from opweave.registry.tags import parse_tags
from opweave.registry.tensor import Tensor, allocate, allocate_like, describe

#: What a function that makes tensors is told of them; its `out=` variant is told by the tensor.
_OPTIONS = ("dtype", "layout", "device", "pin_memory")
D = TypeVar("D", bound=Decl)


def _is_factory(op: OpOverload) -> bool:
    """Whether an op is told what tensor to make."""
    return any(a.name == "pin_memory" for a in op._schema.arguments)


def _arguments_text(
    op: OpOverload, first: str | None = None, extra: str | None = None, without: Sequence[str] = ()
) -> str:
    left_out = without if _is_factory(op) else ()
    arguments = [a for a in op._schema.arguments if a.name not in left_out]
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


def declare_outs(op: OpOverload, overload: str, *targets: str) -> OutsDecl:
    """Declare an `out=` variant of an op with several results, or of one that makes tensors, or by other names.

    Parameters
    ----------
    op : OpOverload
        What it computes.
    overload : str
        The variant's.
    targets : str
        What the arguments are called that the results are written to.
    """
    name = f"{op.namespace}::{op.opname}.{overload}"

    def schema() -> str:
        taken = sum(a.is_write for a in op._schema.arguments)
        first = ord("a") + taken + bool(taken)  # as PyTorch's are named, which leave one letter out
        written = [f"Tensor({chr(first + i)}!)" for i in range(len(targets))]
        extra = ", ".join(f"{kind} {target}" for kind, target in zip(written, targets, strict=True))
        names = [r.name for r in op._schema.returns]
        returns = [f"{kind} {name}" if name else kind for kind, name in zip(written, names, strict=True)]
        found = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
        return f"{name}({_arguments_text(op, extra=extra, without=_OPTIONS)}) -> {found}"

    return OutsDecl(schema, op, targets, name)


def declare_out(op: OpOverload, overload: str | None) -> OutDecl:
    """Declare the `out=` variant of an op, by default as `out` or `<overload>_out`."""
    usual = "out" if op.overload in ("default", "Tensor") else f"{op.overload}_out"
    name = f"{op.namespace}::{op.opname}.{overload or usual}"

    def schema() -> str:
        return f"{name}({_arguments_text(op, extra='Tensor(a!) out')}) -> Tensor(a!)"

    return OutDecl(schema, op, name)


def before_write(target: Tensor, *others: Any) -> Tensor:
    """A tensor as it is before an op written with others overwrites it: a copy where a gradient may read it later."""
    if state.exclude & GRAD or not any(t._keys & GRAD for t in tensors_in([target, *others])):
        return target
    return ops.aten.clone.default(target)


class WritingDecl(Decl):
    """An op that computes another op's result into memory it is given."""

    def __init__(self, schema: str | Callable[[], str], functional: OpOverload, name: str = ""):
        super().__init__(schema, self.run, name)
        self.functional = functional
        self._run_by(self.run)

    @property
    def takes_numbers(self) -> bool:  # type: ignore[override]  # follows the functional form
        return self.functional is not None and bool(self.functional.decl.takes_numbers)

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

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Tensor], dict[str, Any]]:
        """The tensors that a call writes to, and the functional op's keyword arguments of those given."""
        raise NotImplementedError

    def batch(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The functional form, each result copied to what is written to."""
        targets, rest = self.split(args, kwargs)
        for target in targets:
            refuse_write(self.op, target, level)
        results = self.functional(*args, **rest)
        return write_each(self.op, targets, [results] if isinstance(results, Tensor) else list(results))

    def _fit(self, target: Tensor, sizes: tuple[int, ...], dtype: DType) -> None:
        """Check that a result can be written to a tensor with data."""
        self._check(target, sizes, dtype)

    def _check(self, target: Tensor, sizes: tuple[int, ...], dtype: DType) -> None:
        name = self.op.opname
        self._check_type(target, dtype)
        if sizes != target._sizes:
            raise ShapeError(
                f"{name}: the result's shape {list(sizes)} does not fit the tensor written to", got=describe(target),
                hint="pass one of the right shape; in place, and without data, no tensor is resized",
            )  # fmt: skip
        if overlaps_itself(target._sizes, target._strides):
            raise ShapeError(
                f"{name}: several elements of the tensor written to share memory",
                got=f"{describe(target)} with strides {target._strides}", hint="call .clone() before mutating",
            )  # fmt: skip

    def _check_type(self, target: Tensor, dtype: DType) -> None:
        name = self.op.opname
        if not isinstance(target, Tensor):
            raise ArgumentError(f"{name}: what is written to must be a tensor", got=describe(target))
        if not can_cast(dtype, target._dtype) and not self.functional.decl.writes_any_type:
            raise DTypeError(
                f"{name}: result type {dtype.name} cannot be written to {target._dtype.name}", got=describe(target),
                hint="use the functional form, or convert the tensor first",
            )  # fmt: skip

    def _write(self, target: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        decl = self.functional.decl
        if isinstance(decl, PointwiseDecl):
            operands, attributes = decl.operands(args, kwargs)
            spec = decl.spec(operands, attributes)
            self._fit(target, spec.sizes, spec.dtype)
            layout = TensorSpec(spec.sizes, target._strides, spec.dtype, target._device)
            decl.fill(operands, attributes, layout, target)
            return target
        result = self.functional(*args, **kwargs)
        self._fit(target, result._sizes, result._dtype)
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


class ResizingDecl(WritingDecl):
    """What writes to tensors that are there for that alone: they get the sizes of the results, where there is data."""

    writes_out = True

    def _fit(self, target: Tensor, sizes: tuple[int, ...], dtype: DType) -> None:
        self._check_type(target, dtype)
        if sizes != target._sizes:
            resize_result(self.op.opname, target, sizes)
        self._check(target, sizes, dtype)


class InplaceDecl(WritingDecl):
    """`op_`: writes the result of `functional` into the first argument and returns it."""

    kind = "inplace"
    is_inplace = True
    apart = "inplace op"

    def __init__(self, schema: str | Callable[[], str], functional: OpOverload, name: str = ""):
        super().__init__(schema, functional, name)
        self.samples = self._samples

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Tensor], dict[str, Any]]:
        return [args[0] if args else kwargs[self.op._schema.arguments[0].name]], kwargs

    def batch(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        decl = self.functional.decl
        if isinstance(decl, PointwiseDecl):  # whose operands may be of other kinds than the body has (numbers, say)
            return decl.batch_by(self.op, level, args, kwargs)
        return super().batch(level, args, kwargs)

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

    #: `touching(*args)` writes only the elements that the op is about, where it can; whether it did.
    touching: Callable[..., bool] | None = None

    def run(self, *args: Any, **kwargs: Any) -> Tensor:
        decl = self.functional.decl
        if self.touching is not None:
            target, *rest = self.bind(args, kwargs)
            self._check(target, target._sizes, target._dtype)
            if self.touching(target, *rest):
                return target
        if isinstance(decl, PointwiseDecl):
            done = decl.quick(args, kwargs, inplace=True)
            if done is None:
                done = decl.large(args, kwargs, inplace=True)
            if done is not None:
                return args[0]
        return self._write(args[0], args, kwargs)

    @property
    def derivative(self) -> Any:
        """That of the functional form, if it has none of its own."""
        return self.functional.derivative if self.op.derivative is None else self.op.derivative

    def as_functional(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]]:
        return self.functional, *self.arguments(args, kwargs)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        spec = self._result_spec(args, kwargs)
        self._check(args[0], spec.sizes, spec.dtype)
        return args[0]


class OutDecl(ResizingDecl):
    """`op.out`: writes the result of `functional` into the keyword argument `out` and returns it."""

    kind = "out"
    apart = "out op"

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Tensor], dict[str, Any]]:
        rest = dict(kwargs)
        return [rest.pop("out")], rest

    def run(self, *args: Any, out: Tensor, **kwargs: Any) -> Tensor:
        return self._write(out, args, kwargs)

    def as_functional(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]]:
        return self.functional, *self.arguments(args, {k: v for k, v in kwargs.items() if k != "out"})

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        kwargs = dict(kwargs)
        out = kwargs.pop("out")
        spec = self._result_spec(args, kwargs)
        self._check(out, spec.sizes, spec.dtype)
        return out


class OutsDecl(ResizingDecl):
    """An `out=` variant that writes each result of `functional` into an argument of its own.

    It stays one call in graphs. Where `functional` makes tensors, they have the type and device of the one that is
    written to.
    """

    kind = "outs"
    apart = "outs op"

    def __init__(
        self, schema: str | Callable[[], str], functional: OpOverload, targets: tuple[str, ...], name: str = ""
    ):
        super().__init__(schema, functional, name)
        self.targets = targets

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Tensor], dict[str, Any]]:
        rest = dict(kwargs)
        targets = [rest.pop(name) for name in self.targets]
        if self.is_factory:
            wanted = {"dtype": targets[0]._dtype, "device": targets[0]._device}
            rest.update({name: value for name, value in wanted.items() if name in self.functional._defaults})
        return targets, rest

    @cached_property
    def is_factory(self) -> bool:
        """Whether the functional op is told what tensor to make."""
        return _is_factory(self.functional)

    def run(self, *args: Any, **kwargs: Any) -> Tensor | tuple[Tensor, ...]:
        targets, rest = self.split(args, kwargs)
        results = self._results(targets, self.functional(*args, **rest), self._fit)
        with np.errstate(all="ignore"):
            for target, result in zip(targets, results, strict=True):
                store(handler(target._device.xp), target._array, result._array, target._dtype)
        return targets[0] if len(targets) == 1 else tuple(targets)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | tuple[Tensor, ...]:
        targets, rest = self.split(args, kwargs)
        self._results(targets, self.functional.decl.meta(make, *self.arguments(args, rest)), self._check)
        return targets[0] if len(targets) == 1 else tuple(targets)

    def _results(self, targets: list[Tensor], found: Any, check: Callable[..., None]) -> list[Tensor]:
        """What the functional op gave, after checking that it fits the tensors to write to."""
        results = [found] if isinstance(found, Tensor) else list(found)
        for name, target, result in zip(self.targets, targets, results, strict=True):
            if result is None:
                raise UnsupportedError(
                    f"{self.op}: {name} would not be computed", got=describe(target),
                    hint="ask for all results, or use the functional form",
                )  # fmt: skip
            check(target, result._sizes, result._dtype)
        return results


def with_traits(decl: D, **traits: Unpack[Traits]) -> D:
    """Say more of an op than its kind does, and declare its variants; gives the declaration."""
    op = decl.op
    for name, value in traits.items():
        said: Any = value  # of the type that `Traits` has for the name
        if name in _VARIANTS:
            if said:
                _VARIANTS[name](op, said)
        elif name == "tags":
            op.declared_tags += parse_tags(op.name, said)
        elif name == "own_tags":
            decl.own_tags = parse_tags(op.name, said)
            op.declared_tags += decl.own_tags
        elif name == "autocast":
            decl.autocast = said if isinstance(said, Mapping) else dict.fromkeys(AUTOCAST_KEYS, said)
        else:
            setattr(decl, name, said)
    return decl


def _inplace(op: OpOverload, overload: bool | str) -> None:
    declare_inplace(op, overload if isinstance(overload, str) else op.overload)


def _out(op: OpOverload, overload: bool | str) -> None:
    declare_out(op, overload if isinstance(overload, str) else None)


def _outs(op: OpOverload, names: str | tuple[str, ...]) -> None:
    overload, *targets = [names] if isinstance(names, str) else names
    declare_outs(op, overload, *(targets or ["grad_input" if overload == "grad_input" else "out"]))


#: How the variants that a declaration speaks of are declared.
_VARIANTS: dict[str, Callable[[OpOverload, Any], None]] = {"inplace": _inplace, "out": _out, "outs": _outs}


def pointwise(
    schema: str,
    *,
    promote: Any = DEFAULT,
    kinds: str = "buifc",
    **traits: Unpack[Traits],
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
    **traits
        See `Traits`; there is an `op_` variant by default, and an `out=` variant.
    """
    said: Traits = {"inplace": True, "out": "outs" not in traits, **traits}

    def declare(body: Callable[..., Any]) -> PointwiseDecl:
        return with_traits(PointwiseDecl(schema, body, promote, kinds), **said)

    return declare
