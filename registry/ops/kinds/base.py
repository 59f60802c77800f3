"""What all declarations share."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from opweave.registry import dtypes
from opweave.registry.autograd.formula import Derivative, Formula
from opweave.registry.batched import Level
from opweave.registry.batching import Rule, one_by_one
from opweave.registry.dtypes import DType
from opweave.registry.errors import Site
from opweave.registry.keys import DispatchKey
from opweave.registry.op import OpOverload, registry
from opweave.registry.ops.kinds.loops import Call, Demand, Index, Operand, Point, Size, Space
from opweave.registry.ops.kinds.traits import CastPolicy
from opweave.registry.scalar import ArrayScalars, is_turned
from opweave.registry.spec import TensorSpec
from opweave.registry.tags import Tag
from opweave.registry.tape import NotTaped, Tape
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


class Kind:
    """A kind of op: what the stages ask of its declarations. A new kind overrides what is its own, in one file.

    ==============================  ==================================================================================
    asked by                        what
    ==============================  ==================================================================================
    a call                          a kernel, which `_run_by` registers
    `fake`, meta tensors            `meta`: the results without data
    `registry.vmap`                 `batch`: what becomes of batched tensors
    `registry.autograd`             `derivative`, `is_composite`, `writes_out`
    `passes.decompose`              `in_parts`
    `registry.tape`                 `replay`: what a call does, for native code to do it again
    `passes.functionalize`          `as_functional`
    `tracer.loops.iteration`              `objection`, `extent`, `demands`, `admit`, `place`, `reads_memory`: the loops
    `codegen.loops`                 `evaluate`: the values in them
    `passes.fuse`                   `cost` and what else says whether a kernel pays
    ==============================  ==================================================================================
    """

    #: What it declares.
    op: OpOverload
    #: One of the table of `registry.ops.kinds`, for messages.
    kind: ClassVar[str]
    #: PyTorch's tag of such ops.
    tag: ClassVar[str] = ""
    #: Tags of it that its variants have not.
    own_tags: tuple[Tag, ...] = ()
    #: What `autocast` does with it, by type of device.
    autocast: Mapping[str, CastPolicy] = {}
    #: Whether numbers may stand for its tensors.
    takes_numbers: ClassVar[bool] = False
    #: Whether `out=` may have any element type, to which results are converted.
    writes_any_type: bool = False
    #: Whether the body is its decomposition.
    is_composite: ClassVar[bool] = False
    #: What a compiled graph has in its place, written with other ops; None for an op that is what kernels are made of.
    in_parts: Callable[..., Any] | None = None
    #: Whether the result is a Python number, or nothing, which follows from sizes.
    is_number: ClassVar[bool] = False
    #: Whether the result is the memory of the first argument with other sizes and strides.
    is_layout: ClassVar[bool] = False
    #: Of an op that writes into memory that it is given, the op that computes what; else None.
    functional: Any = None
    #: Whether it writes what another op computes into the first argument, and does nothing else.
    is_inplace: ClassVar[bool] = False
    #: Whether it writes into arguments that are there for that alone.
    writes_out: ClassVar[bool] = False
    #: What tells it from others whose op has the same name; empty where the name does.
    text: str = ""
    #: Whether what a kernel of it returns never is a view of a temporary.
    allocates: ClassVar[bool] = False
    #: Whether the rule for tensors without data sees to devices itself.
    checks_devices: ClassVar[bool] = False
    #: Whether operands with one number everywhere give a result with one, which one element tells.
    keeps_uniform: ClassVar[bool] = False
    #: Whether it calls a library, and no kernel can stand in for that.
    is_library_call: ClassVar[bool] = False
    #: Why it is no part of a kernel; empty where it may be one (see `objection`).
    apart: ClassVar[str] = ""
    #: Whether it is called for memory of one's own: two calls are two tensors, and what is in them may differ.
    gives_memory: bool = False
    #: Operations for an element beside those for the operands; None where it is not cheap to compute again.
    cost: ClassVar[int | None] = None
    #: Whether an element may be computed again wherever it is needed.
    is_cheap: bool = False
    #: Whether an element is too much to be computed twice.
    is_expensive: bool = False
    #: Whether it makes nothing definite of what is not (see `registry.ops.kinds.traits`).
    is_strict: bool = False
    #: What tests may ask of its results (see `registry.ops.kinds.traits`).
    accuracy: Literal["rounded", "cancels", ""] = ""
    #: Where numbers among its operands are rounded (see `registry.ops.kinds.traits`).
    rounds_numbers: tuple[int, ...] = ()
    #: Whether a zero among them may have either sign.
    either_zero: bool = False
    is_uninitialised: bool = False
    #: Whether each element follows from one element of each operand, if any.
    elementwise: ClassVar[bool] = False
    #: Whether alone it is a copy that a library makes as well as a kernel.
    copies_only: ClassVar[bool] = False
    #: Whether it combines the elements along axes into one.
    reduces: ClassVar[bool] = False
    #: Whether it needs all elements along an axis for each of its own.
    spans: ClassVar[bool] = False
    #: Whether tensors name places of another that it reads or writes to (see `reads_memory`).
    takes_places: ClassVar[bool] = False
    #: Whether it writes there, which ends a kernel.
    scatters: ClassVar[bool] = False

    @property
    def derivative(self) -> Any:
        """How the results are differentiated; None where nothing says it."""
        return self.op.derivative

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """All argument values in the schema's order, defaults filled in."""
        positional, keyword = self.op._schema.bind(args, kwargs)
        return [*positional, *keyword.values()]

    def fake(self, *args: Any, **kwargs: Any) -> Any:
        """The rule for meta tensors."""
        raise NotImplementedError

    def as_functional(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]] | None:
        """The call that computes what a call writes into its one target; None where it stays as it is."""
        return None

    def batch(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result for arguments among which tensors are batched at a level, and at no inner one."""
        return one_by_one(self.op, level, args, kwargs)

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        """Write down what a call does that gave this result.

        Raises
        ------
        NotTaped
            If no loops and views are the same.
        """
        raise NotTaped(self.kind)

    # ---- in a kernel -------------------------------------------------------------------------------------------------

    def objection(self, call: Call) -> str:
        """Why a call, on tensors that kernels can have, is no part of one; empty if it can be."""
        return ""

    def extent(self, call: Call) -> tuple[Sequence[Size], frozenset[int]]:
        """Sizes that a kernel which ends with the call runs over, and the dimensions that it runs through in order."""
        return call.result.sizes, frozenset()

    def demands(self, call: Call, operand: Operand, demand: Demand, space: Space) -> Iterable[Demand]:
        """Where an operand is needed for the result at a demand; not at all what is read from memory."""
        sizes, out = operand.sizes, call.result.sizes
        index = call.indices.broadcast(demand.index, sizes, out)
        return [demand.at(index, demand.exact and math.prod(sizes) == math.prod(out))]

    def admit(self, call: Call, demands: Sequence[Demand], space: Space) -> str:
        """Make the call a member of a space, needed at the demands; a reason if it does not fit."""
        space.join(call, demands)
        sizes = call.result.sizes
        if sizes not in space.frames:
            for demand in demands:
                if space.runs_over(sizes, demand):
                    space.frames[sizes] = demand.index
        return ""

    def place(self, call: Call, space: Space) -> tuple[Index, ...] | None:
        """Where a space without a result of that shape evaluates what no member needs; None: nowhere."""
        return None

    def evaluate(self, call: Call, point: Point) -> Any:
        """The call's value at an index of a kernel; of a scatter nothing, which stores there."""
        raise NotImplementedError

    def reads_memory(self, call: Call, operand: Operand) -> bool:
        """Whether it reads elements of an operand that are known only when it runs, or writes into a copy of it."""
        return False

    def scattered_to(self, call: Call) -> tuple[Operand, bool]:
        """What a scatter writes to a copy of, and whether it needs nothing else of that."""
        raise NotImplementedError

    def reduced_dims(self, call: Call) -> Sequence[int]:
        """The operand's dimensions that it reduces."""
        return ()

    def __repr__(self) -> str:
        return f"<{self.kind} {self.op}>"


class Decl(Kind):
    """The declaration of a registered op; see the module's table for the kinds.

    Attributes
    ----------
    samples : callable or None
        `samples(make) -> iterable of (args, kwargs)`: inputs that the generated tests run, `make(*sizes, dtype=...,
        low=..., high=...)` makes a tensor.
    sample_dtypes : tuple of DType or None
        Types that the tests cross the samples with; None for the kind's own choice.
    """

    def __init__(self, schema: str | Callable[[], str], body: Callable[..., Any], name: str = ""):
        self.body = body
        code = getattr(body, "__code__", None)
        site = Site(code.co_filename, code.co_firstlineno, code.co_name) if code else Site("<opweave>", 0, "")
        name = name or str(schema).partition("(")[0]
        self.op: OpOverload = registry.declare(name, schema, site=site)
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

    def batching(self, rule: Rule) -> Rule:
        """Decorator: `rule(op, level, args, kwargs)`, where the kind does not tell what becomes of batched tensors."""
        self.batch = functools.partial(rule, self.op)  # type: ignore[method-assign]
        return rule

    def replaying(self, rule: Callable[..., None]) -> Callable[..., None]:
        """Decorator: `rule(tape, args, kwargs, result)` writes down what a call does (see `replay`)."""
        self.replay = rule  # type: ignore[method-assign]
        return rule

    def with_samples(self, samples: Callable[..., Iterable[Any]]) -> Callable[..., Iterable[Any]]:
        """Decorator: the inputs that the generated tests run."""
        self.samples = samples
        return samples


def differs(value: Any, dtype: DType) -> bool:
    """Whether an array has another element type (a Python number has none)."""
    return hasattr(value, "dtype") and value.dtype != dtype.numpy


def store(k: ArrayScalars, target: Any, array: Any, dtype: DType) -> None:
    """Write values into an array, converted as casts are."""
    if not hasattr(array, "dtype") or array.dtype != target.dtype:
        array = k.cast(array, dtype)
    if dtype is dtypes.bfloat16 and type(target) is np.ndarray and np.ndim(array) == 0:  # one by one else
        target, array = target.view(np.int16), np.asarray(array, target.dtype).view(np.int16)
    if not is_turned(target, array):
        target[...] = array
