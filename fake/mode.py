"""`FakeTensorMode`: run ops on tensors without data.

    with FakeTensorMode() as mode:
        x = mode.from_tensor(real)      # or opweave.empty(3, 4): creation ops give fake tensors
        (x @ x.T).shape

An op's result follows from its declaration (`decl.meta`) or, for a user's op, from the rule given to `register_fake`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from opweave.fake.constraints import Assertion
from opweave.fake.shape_env import ShapeEnv
from opweave.fake.tensor import FakeTensor, make_fake
from opweave.registry import custom_op
from opweave.registry.autograd.mode import no_grad
from opweave.registry.cpp.imported import import_rules
from opweave.registry.device import Device
from opweave.registry.errors import DeviceError, DTypeError, FakeTensorError, OpweaveError
from opweave.registry.fake_context import LITERAL, running_rule
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.interrupts import let_through
from opweave.registry.keys import ABOVE_VIEWS, DispatchKey, DispatchMode, no_modes
from opweave.registry.nested import map_leaves
from opweave.registry.op import OpOverload, ops
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.spec import TensorSpec, span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, describe
from opweave.registry.triton_op import launch_effects, triton_kernel_wrapper_functional, triton_kernel_wrapper_mutation

#: For a dimension the keywords of `ShapeEnv.new_size`, or None where its size is fixed.
Dynamic = Callable[[int], dict[str, Any] | None]


def every_size(dim: int) -> dict[str, Any]:
    """All sizes symbolic."""
    return {}


class FakeTensorMode(DispatchMode):
    """Ops inside the block run on fake tensors and creation ops make them.

    Parameters
    ----------
    allow_non_fake_inputs : bool
        Convert real tensors that meet fake ones, instead of raising; their sizes are fixed. Real 0-d CPU tensors are
        always let in. An op that would write to a real tensor raises either way.
    shape_env : ShapeEnv, optional
        Where symbolic numbers live. Without one, a new one is made when the first number that depends on data turns up.
    static_shapes : bool, optional
        Whether `from_tensor` keeps sizes as plain numbers unless told otherwise; the default where no `shape_env` is
        given. Sizes that depend on data are symbolic either way.
    make_env : callable, optional
        Makes the `shape_env` where none is given.

    Attributes
    ----------
    on_assertion : callable or None
        Called with what is demanded of numbers that depend on data; a tracer records it.

    Examples
    --------
    >>> with opweave.FakeTensorMode():
    ...     product = opweave.empty(1000, 2000) @ opweave.empty(2000, 3)
    >>> product.shape
    opweave.Size([1000, 3])
    """

    def __init__(
        self,
        *,
        allow_non_fake_inputs: bool = False,
        shape_env: ShapeEnv | None = None,
        static_shapes: bool | None = None,
        make_env: Callable[[], ShapeEnv] = ShapeEnv,
    ):
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.shape_env = shape_env
        self.on_assertion: Callable[[Assertion], None] | None = None
        self._make_env = make_env
        #: Whether any fake tensor is a constant of the traced code.
        self.has_constants = False
        if shape_env is not None:
            shape_env.on_assertion = self._demanded
        # Two real views of one storage become two fake views of one storage.
        self._storages: weakref.WeakKeyDictionary[Storage, Storage] = weakref.WeakKeyDictionary()
        # By id, since tensors compare elementwise; an entry goes when its tensor does.
        self._tensors: dict[int, tuple[weakref.ref[Tensor], FakeTensor]] = {}

    def symbols(self) -> ShapeEnv:
        """The `shape_env`, which is made if there is none yet."""
        env = self.shape_env
        if env is None:
            env = self.shape_env = self._make_env()
            env.on_assertion = self._demanded
        return env

    def _demanded(self, assertion: Assertion) -> None:
        if self.on_assertion is not None:
            self.on_assertion(assertion)

    # ---- making fake tensors -----------------------------------------------------------------------------------------

    def from_tensor(
        self, t: Tensor, *, static_shapes: bool | None = None, source: str = "", dynamic: Dynamic | None = None
    ) -> FakeTensor:
        """The fake tensor that stands for a real one; the same for the same tensor.

        Parameters
        ----------
        t : Tensor
            The real one.
        static_shapes : bool, optional
            Keep its sizes as numbers; what the mode does by default.
        source : str
            How the tensor is called in guards.
        dynamic : callable, optional
            For a dimension the keywords of `ShapeEnv.new_size`, or None where its size is fixed; all are symbolic by
            default.

        Raises
        ------
        FakeTensorError
            If it is a fake tensor of another mode.
        """
        if isinstance(t, FakeTensor):
            return self._own(t)
        known = self._tensors.get(id(t))
        if known is not None:
            return known[1]
        static = self.static_shapes if static_shapes is None else static_shapes
        fake = self.fresh(t) if static else self.symbolic(t, source or f"t{len(self._tensors)}", dynamic)
        key, tensors = id(t), self._tensors
        tensors[key] = (weakref.ref(t, lambda _: tensors.pop(key, None)), fake)
        return fake

    def fresh(self, t: Tensor) -> FakeTensor:
        """A new fake tensor that looks like `t` and shares the fake storage of its storage."""
        if isinstance(t, FakeTensor):
            storage = self._own(t)._storage
        else:
            found = self._storages.get(t._storage)
            if found is None:
                found = self._storages[t._storage] = Storage(t._device, t._storage.nbytes, None, None)
            storage = found
        fake = make_fake(self, storage, t._sizes, t._strides, t._offset, t._dtype, t._device)
        # Whether it requires grad, or was made in inference mode.
        fake._keys = (fake._keys & ~ABOVE_VIEWS) | (t._keys & ABOVE_VIEWS)
        if t._view_of is not None:
            fake._view_of = self.from_tensor(t._view_of)
            storage.note_view(fake)
        return fake

    def symbolic(self, t: Tensor, source: str, dynamic: Dynamic | None = None) -> FakeTensor:
        """A new fake tensor whose sizes are symbolic, with a storage of its own; see `from_tensor`."""
        layout = self.symbols().new_layout(t._sizes, t._strides, t._offset, source, dynamic or every_size)
        sizes, strides, offset = layout
        storage = Storage(t._device, (span(sizes, strides) + offset) * t._dtype.itemsize, None, None)
        fake = make_fake(self, storage, sizes, strides, offset, t._dtype, t._device)
        fake._keys = (fake._keys & ~ABOVE_VIEWS) | (t._keys & ABOVE_VIEWS)
        return fake

    def make_constant(self, fake: FakeTensor, value: Tensor) -> None:
        """Note that a fake tensor stands for numbers in the traced code itself."""
        fake._constant = value, fake._storage.version
        self.has_constants = True

    def make(self, spec: TensorSpec) -> FakeTensor:
        """A new fake tensor with a storage of its own."""
        sizes, strides, dtype, device = spec
        storage = Storage(device, span(sizes, strides) * dtype.itemsize, None, None)
        return make_fake(self, storage, sizes, strides, 0, dtype, device)

    def _own(self, t: FakeTensor) -> FakeTensor:
        if t.fake_mode is not self:
            raise FakeTensorError(
                "a fake tensor of another FakeTensorMode", got=describe(t), hint="use one mode for all fake tensors"
            )
        return t

    # ---- running ops -------------------------------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return self.dispatch(func, args, kwargs or {})

    def dispatch(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What an op gives, without data.

        Raises
        ------
        FakeTensorError
            If real tensors are mixed in, or the op has no fake rule.
        DeviceError
            If the tensors are on different devices.
        """
        if op.is_mutable and isinstance(op, OpOverload):
            _refuse_real_writes(op, args, kwargs)
        args = self._admit(op, args)
        if kwargs:
            kwargs = dict(zip(kwargs, self._admit(op, tuple(kwargs.values())), strict=True))
        if isinstance(op, HigherOrderOperator):
            return self._dispatch_higher_order(op, args, kwargs)
        decl = op.decl
        if decl is None or op.fake != decl.fake:
            result = self._dispatch_user(op, args, kwargs)
        elif decl.is_number:
            result = decl.meta(self.make, args, kwargs)
        else:
            if len(args) > 1 and not decl.checks_devices:
                self._check_devices(op, args)
            result = self._settled(op.opname, lambda: self._ruled(decl, args, kwargs))
        if op.is_mutable:
            note_mutation(op, args, kwargs)
        if self.has_constants:
            carry_constants(op, args, kwargs, result)
        return result

    def _settled(self, what: str, rule: Callable[[], Any]) -> Any:
        if self.shape_env is not None:
            return self.shape_env.ruled(what, rule)
        try:
            return rule()
        except OpweaveError:
            if self.shape_env is None:
                raise
        env: ShapeEnv = self.shape_env  # the rule made a number that depends on data
        return env.ruled_again(what, rule)

    def _ruled(self, decl: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if decl.is_composite:
            with self:
                return decl.meta(self.make, args, kwargs)
        return decl.meta(self.make, args, kwargs)

    def _admit(self, op: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with real tensors converted where that is allowed."""
        for value in values:
            if type(value) is FakeTensor:
                if value.fake_mode is not self:
                    self._own(value)
            elif isinstance(value, (Tensor, list, tuple, dict)):
                return tuple([self._admit_one(op, item) for item in values])
        return values

    def _admit_one(self, op: Any, value: Any) -> Any:
        if isinstance(value, FakeTensor):
            return self._own(value)
        if isinstance(value, Tensor):
            lifted = op is ops.aten.lift_fresh_copy.default
            if lifted or self.allow_non_fake_inputs or (not value._sizes and value._device.is_host):
                # It is what it is at this moment, so its sizes are no symbols.
                fake = self.from_tensor(value, static_shapes=True)
                if LITERAL in value.__dict__:
                    self.make_constant(fake, value)
                return fake
            raise FakeTensorError(
                f"{op}: a real tensor among fake ones",
                got=describe(value),
                hint="convert it with mode.from_tensor(t), or use FakeTensorMode(allow_non_fake_inputs=True)",
            )
        if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
            return [self._admit_one(op, item) for item in value]
        if isinstance(value, dict):
            return {key: self._admit_one(op, item) for key, item in value.items()}
        return value

    def _check_devices(self, op: OpOverload, args: tuple[Any, ...]) -> None:
        device: Device | None = None
        for t in tensors_in(args):
            if t._device is device or (not t._sizes and t._device.is_host):
                continue
            if device is not None:
                raise DeviceError(
                    f"{op.opname}: tensors on different devices",
                    got=", ".join(map(describe, tensors_in(args))),
                    hint="move them to one device with .to(...)",
                )
            device = t._device

    def _dispatch_user(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        rule = op.fake
        if rule is None and op.name not in custom_op.definitions:
            # Written with other ops, which have rules. (A custom_op's kernel has the same key, but is opaque.)
            rule = op.kernels.get(DispatchKey.CompositeExplicitAutograd)
        if rule is None and op.python_module is not None:
            import_rules(op)
            rule = op.fake
        if rule is None and op.is_mutable and not op._schema.returns:
            return None  # there is nothing to be told about
        if rule is None:
            raise FakeTensorError(
                f"{op}: no rule for tensors without data",
                got=f"schema: {op._schema}",
                hint=f"register one:\n      @opweave.library.register_fake({op.name!r})\n      def _({_names(op)}):\n"
                "          return opweave.empty_like(...)    # right sizes, dtype and device, no data",
            )
        with self, running_rule(op.name, self.symbols):
            result = rule(*args, **kwargs) if not op._defaults else rule(*fill_defaults(op, args, kwargs), **kwargs)
        return self._checked_result(op, result, args, kwargs)

    def _checked_result(self, op: OpOverload, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a rule returned, in the structure of the schema."""
        returns = op._schema.returns
        try:
            found = op._conform(result)
        except (TypeError, AttributeError) as error:
            let_through(error)
            raise FakeTensorError(
                f"{op}: the fake rule must return {', '.join(str(r.type) for r in returns) or 'None'}",
                got=describe(result) if isinstance(result, (Tensor, tuple, list)) else type(result).__name__,
                hint=f"schema: {op._schema}",
            ) from None
        outputs = list(tensors_in([found]))
        for output in outputs:
            if not isinstance(output, FakeTensor):
                raise FakeTensorError(
                    f"{op}: the fake rule returned a tensor with data",
                    got=describe(output),
                    hint="make results with opweave.empty_like(x), x.new_empty(...) and the like",
                )
        if outputs and not op.is_mutable and not op._schema.aliased_returns:
            given = {id(t._storage) for t in tensors_in([*args, *kwargs.values()])}
            for output in outputs:
                if id(output._storage) in given:
                    raise FakeTensorError(
                        f"{op}: the fake rule returned an input or a view of it, the schema says the output is fresh",
                        got=describe(output),
                        hint="return opweave.empty_like(x)",
                    )
        return found

    def _dispatch_higher_order(self, op: HigherOrderOperator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        rule = op.mode_rules.get(FakeTensorMode)
        if rule is None:
            raise FakeTensorError(f"{op}: no rule for tensors without data", hint=f"{op}.py_impl(FakeTensorMode)")
        return rule(self, *args, **kwargs)


def fill_defaults(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Positional arguments with the schema's defaults put in; a rule need not repeat them."""
    arguments = [a for a in op._schema.arguments if not a.kwarg_only]
    filled = list(args)
    for argument in arguments[len(args) :]:
        if argument.name in kwargs or not argument.has_default:
            break
        filled.append(list(argument.default) if isinstance(argument.default, tuple) else argument.default)
    return tuple(filled)


def _names(op: OpOverload) -> str:
    return ", ".join(argument.name for argument in op._schema.arguments)


def _refuse_real_writes(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for argument, value in _written(op, args, kwargs):
        for t in tensors_in([value]):
            if not isinstance(t, FakeTensor):
                raise FakeTensorError(
                    f"{op}: there are no values to write to a real tensor",
                    got=f"{argument}: {describe(t)}",
                    hint="write to mode.from_tensor(t), or to a copy: t.clone()",
                )


def _written(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values of the arguments that an op writes."""
    for index, argument in enumerate(op._schema.arguments):
        if argument.is_write:
            yield argument.name, args[index] if index < len(args) else kwargs.get(argument.name)


def note_mutation(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Count up the versions of what an op writes."""
    for _, value in _written(op, args, kwargs):
        for t in tensors_in([value]):
            t._bump()


#: Elements up to which constants of the traced code are computed along.
_MOST_ELEMENTS = 1024


def carry_constants(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Compute what an op gives of constants of the traced code: `opweave.tensor(3) + 1`."""
    given = list(tensors_in([args, kwargs]))
    if not isinstance(op, OpOverload) or op.decl is None or not given or op.is_random:
        return
    written = [t for _, value in _written(op, args, kwargs) for t in tensors_in([value])]
    if not all(isinstance(t, FakeTensor) and (t.constant is not None or _just_written(t, written)) for t in given):
        return
    if any(type(size) is not int for t in given for size in t._sizes) or any(t.numel() > _MOST_ELEMENTS for t in given):
        return

    def value(item: Any) -> Any:
        if isinstance(item, FakeTensor):
            assert item._constant is not None
            return item._constant[0]
        return item

    try:
        with no_modes(), no_grad():
            found = op(*map_leaves(args, value), **map_leaves(kwargs, value))
            found = found.clone() if op is ops.aten.lift_fresh_copy.default else found
    except Exception as error:  # it is said when the trace runs
        let_through(error)
        return
    computed = list(tensors_in([found]))
    fakes = list(tensors_in([result]))
    for fake, real in zip(fakes, computed, strict=len(fakes) == len(computed)):
        if isinstance(fake, FakeTensor) and fake.numel() <= _MOST_ELEMENTS:
            fake._constant = real, fake._storage.version
    for fake in written:
        if isinstance(fake, FakeTensor) and fake._constant is not None:
            fake._constant = fake._constant[0], fake._storage.version


def _just_written(t: FakeTensor, written: list[Tensor]) -> bool:
    """Whether it was a constant before the op that wrote it."""
    return t._constant is not None and t._constant[1] == t._storage.version - 1 and any(t is one for one in written)


@triton_kernel_wrapper_mutation.py_impl(FakeTensorMode)
def _launch(
    mode: FakeTensorMode, *, kernel_idx: int, constant_args_idx: int, grid: Any, kwargs: dict[str, Any]
) -> None:
    for name, value in kwargs.items():
        if isinstance(value, Tensor) and value._dtype.triton is None:
            raise DTypeError(
                f"Triton kernel argument {name!r}: Triton has no element type {value._dtype.name}",
                got=describe(value),
                hint="pass the real and imaginary parts as two tensors" if value.is_complex() else None,
            )
    for name in launch_effects(kernel_idx, constant_args_idx, kwargs):
        for t in tensors_in([kwargs.get(name)]):
            t._bump()


@triton_kernel_wrapper_functional.py_impl(FakeTensorMode)
def _launch_functional(
    mode: FakeTensorMode,
    *,
    kernel_idx: int,
    constant_args_idx: int,
    grid: Any,
    kwargs: dict[str, Any],
    tensors_to_clone: Any,
) -> dict[str, FakeTensor]:
    return {name: mode.make(kwargs[name].spec) for name in tensors_to_clone}
