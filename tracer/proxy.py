"""`ProxyMode`: records every op that a function calls."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

from opweave.fake.constraints import Assertion
from opweave.fake.mode import Dynamic, FakeTensorMode, carry_constants, note_mutation
from opweave.fake.symbolic import SymNumber
from opweave.fake.tensor import FakeTensor
from opweave.registry.containers import is_dict, is_sequence
from opweave.registry.device import Device
from opweave.registry.dispatching import resolvers
from opweave.registry.dtypes import DType
from opweave.registry.errors import (
    DataDependentError,
    FakeTensorError,
    OpweaveError,
    Site,
    TraceError,
    UnsupportedError,
)
from opweave.registry.fake_context import LITERAL
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.interrupts import surely
from opweave.registry.kernels import Kernel
from opweave.registry.keys import (
    AUTOCAST_MASK,
    GRAD,
    INFERENCE,
    PRE_DISPATCH_BIT,
    DispatchKey,
    DispatchMode,
    no_modes,
    state,
)
from opweave.registry.op import OpOverload, ops
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tags import Tag
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.calls import apart_from, in_autograd, map_plain
from opweave.tracer.graph import Graph, Node
from opweave.tracer.numbers import Numbers
from opweave.tracer.operands import ATOMS, map_operands
from opweave.tracer.sites import StackReader

_ITEM = ops.aten._local_scalar_dense.default
#: How often a decomposition may call its own op before it is taken for endless.
_DEEPEST = 40
_CONSTANT_TYPES = (DType, Device, int, float, bool, str, complex, type(None), type(Ellipsis))


class ProxyMode(DispatchMode):
    """Records ops into a graph while the traced function runs on fake tensors.

    A tensor that is traced carries its node. A real tensor that the function brings along (a weight in a closure, say)
    becomes a constant of the graph. In "real" mode the values are computed too: that is what an op without a fake rule
    needs. Looking at a traced tensor's values raises in both modes, since the graph would silently keep what was seen.

    Parameters
    ----------
    graph : Graph
        Where nodes are added.
    fake_mode : FakeTensorMode
        Computes what results look like. It must be active (below this mode) while the function runs.
    real : bool
        Whether to compute values too.
    site : Site, optional
        The place to note for every node, instead of reading the stack.
    boundary : frame, optional
        Frames from here outwards are not the traced function's.
    compiling : bool
        Whether the trace stands for later calls, which rules out making text of a traced tensor.
    keep_triton_ops : bool
        Record a triton_op as one call, instead of what its body calls.
    decompositions : mapping of OpOverload to callable, optional
        Functions that are traced in place of calls of an op.
    pre_dispatch : bool
        Record composite ops as they are called, before autograd and their bodies.
    """

    def __init__(
        self, graph: Graph, fake_mode: FakeTensorMode, *, real: bool = False, site: Site | None = None,
        boundary: FrameType | None = None, compiling: bool = False, keep_triton_ops: bool = False,
        decompositions: Mapping[OpOverload, Callable[..., Any]] | None = None, pre_dispatch: bool = False,
    ):  # fmt: skip
        self.graph = graph
        self.fake_mode = fake_mode
        self.real = real
        self.compiling = compiling
        self.keep_triton_ops = keep_triton_ops
        self.decompositions = decompositions or {}
        self.pre_dispatch = pre_dispatch
        # Composites with a decomposition of the user's are gone by the time that other ops are seen.
        self._sees_composites = pre_dispatch or any(op.has_composite_implicit for op in self.decompositions)
        self._decomposing: list[OpOverload] = []
        self._start = 0, 0
        #: Whether composites were seen before each of the blocks that it is entered in.
        self._outside: list[int] = []
        self._numbers: Numbers | None = None
        # What is demanded of numbers that depend on data is recorded here until `finish`.
        self._demanded_before, fake_mode.on_assertion = fake_mode.on_assertion, self._demand
        self._waiting: list[Assertion] = []
        #: Tensors the function brought along, by the name of their attribute.
        self.constants: dict[str, Tensor] = {}
        self._lifted: dict[int, FakeTensor] = {}
        #: The tensors whose accumulated gradient the function asked for, by id, and those to which it added some.
        self.gradients: dict[int, Tensor] = {}
        self.gained: dict[int, Tensor] = {}
        #: What stands for each input that is a tensor, and how it lies in memory.
        self._given: list[tuple[Node, FakeTensor, tuple[Any, ...]]] = []
        #: Which node of autograd's record runs, on the way back: the ops belong to its formula.
        self.formula: int | None = None
        #: The first thing that tracing could not do. The traced function may catch that error and go on, on a path
        #: that it would not take otherwise, so it is raised again at the end.
        self.refused: OpweaveError | None = None
        self._site = site
        self._stacks = StackReader(boundary)

    @property
    def numbers(self) -> Numbers | None:
        """What computes symbolic numbers, once there are any."""
        if self._numbers is None and self.fake_mode.shape_env is not None:
            self._numbers = Numbers(self.graph, self.fake_mode.shape_env)
        return self._numbers

    def tells(self, expr: Any) -> bool:
        """Whether the graph can compute an expression by now."""
        return self.numbers is not None and self.numbers.tells(expr)

    def _demand(self, assertion: Assertion) -> None:
        """Record a check of numbers that depend on data, as soon as the graph has the numbers."""
        numbers = self.numbers
        assert numbers is not None
        if self.tells(assertion.expr):
            numbers.demand(assertion)
        else:
            self._waiting.append(assertion)

    def data_accessed(self, tensor: Any, what: str) -> None:
        """Refuse: the graph would keep the value of this moment for every later run.

        In real mode that is what tracing with given values means, as in `make_fx` of the field.
        """
        if self.real:
            return
        self._refuse(DataDependentError(
            f"{what}: the data of a tensor that the traced function brings along was looked at",
            got=describe(tensor), hint="compute with the tensor itself, read it before tracing, or use a custom_op",
        ))  # fmt: skip

    def data_assigned(self, tensor: Any) -> None:
        """Refuse for what outlives the call: the graph would leave it as it is."""
        if isinstance(tensor, FakeTensor) and not any(tensor is fake for _, fake, _ in self._given):
            return
        what = "the traced function assigns the data of a tensor from outside, which the graph would not do"
        hint = "with opweave.no_grad(): x.copy_(value) writes elements"
        self._refuse(UnsupportedError(what, got=describe(tensor), hint=hint))

    def _refuse(self, error: OpweaveError) -> NoReturn:
        self.refused = self.refused or error
        raise error

    def generator_accessed(self, what: str) -> None:
        """Refuse, where the graph stands for later calls: they would go on from the generator as it is."""
        if not self.compiling:
            return
        self._refuse(UnsupportedError(
            f"compile: {what} inside a compiled function would be called only when it is traced",
            hint="call it outside of the compiled function",
        ))  # fmt: skip

    # ---- inputs and outputs ------------------------------------------------------------------------------------------

    def add_input(self, name: str, value: Any, dynamic: Dynamic | None = None) -> Any:
        """Add a placeholder.

        Parameters
        ----------
        name : str
            Wanted name.
        value : Any
            A tensor, or a constant.
        dynamic : callable, optional
            Which sizes become symbolic (see `FakeTensorMode.from_tensor`); an int becomes so too.

        Returns
        -------
        Any
            What the function gets for it.
        """
        node = self.graph.placeholder(name)
        if type(value) is int and dynamic is not None and self.fake_mode.shape_env is not None:
            value = self.fake_mode.shape_env.new_size(value, name)
        if not isinstance(value, Tensor):
            node.meta["val"] = value
            if self.numbers is not None:
                self.numbers.bind(value, node)
            return value
        if dynamic is not None and not isinstance(value, FakeTensor):
            return self._enter(self.fake_mode.symbolic(value, name, dynamic), node)
        # Each input is a tensor of its own, even if one tensor is given twice.
        fake = self.fake_mode.fresh(value)
        if self.real:
            fake._real = value
        return self._enter(fake, node)

    def _enter(self, fake: FakeTensor, node: Node) -> FakeTensor:
        self._given.append((node, fake, _layout(fake)))
        return self._track(fake, node)

    def operand(self, value: Any) -> Any:
        """What stands for a value in the graph: its node, or itself if it is a constant.

        Raises
        ------
        TraceError
            If it is a fake tensor that is not part of this trace, or nothing that a graph can hold.
        """
        if isinstance(value, Tensor):
            return self._fake_of(value)._node
        if isinstance(value, SymNumber) and self.numbers is not None:
            return self.numbers.node(value)
        if isinstance(value, (*_CONSTANT_TYPES, Graph)):
            return value
        raise TraceError(
            f"a value that a graph cannot hold: {type(value).__name__}", got=repr(value),
            hint="ops take tensors, numbers, strings, dtypes, devices and lists of them",
        )  # fmt: skip

    def lifted(self) -> list[tuple[Tensor, Tensor]]:
        """The tensors that the function brought along, and what stands for them in the trace."""
        return [(t, self._lifted[id(t)]) for t in self.constants.values()]

    def gradient_accessed(self, tensor: Tensor, how: str) -> None:
        """Note a tensor whose gradient the function asks for; only compiled functions assign some.

        Raises
        ------
        UnsupportedError
            If a tensor from outside is given a gradient, or one is to keep it, which the graph would not do.
        """
        if how == "retained":
            if self.compiling:
                what = "the gradient of a result is to be kept (retain_grad), which the graph would not do"
                self._refuse(UnsupportedError(what, got=describe(tensor)))
            return
        if how == "assigned" and not self.compiling and not isinstance(tensor, FakeTensor):
            raise UnsupportedError(
                "the traced function assigns the gradient of a tensor, which the graph would not do",
                got=describe(tensor),
                hint="call opweave.compile, or return what opweave.autograd.grad gives",
            )
        self.gradients[id(tensor)] = tensor
        if how == "added":
            self.gained[id(tensor)] = tensor

    def relaid(self) -> list[tuple[FakeTensor, bool]]:
        """The inputs whose sizes were changed in place, and whether they are others now.

        Whoever asks for them is to change those that they stand for.
        """
        found = [(fake, _layout(fake) != layout) for _, fake, layout in self._given if fake._relaid]
        self._given = [given for given in self._given if not given[1]._relaid]
        return found

    def check_inputs(self) -> None:
        """Refuse changes of the sizes of inputs, which a graph does not make.

        Raises
        ------
        UnsupportedError
            If the traced function makes one.
        """
        for node, fake, layout in self._given:
            if _layout(fake) != layout:
                raise UnsupportedError(
                    f"the traced function changes the sizes of its argument {node.name} in place",
                    got=f"{describe(node.meta['val'])} → {describe(fake)}",
                    hint="use the functional form, as in x = x.t(), or call the function as it is",
                )  # fmt: skip

    def finish(self) -> None:
        """End the trace: drop what nothing uses of ops with several results, and let go of the tensors."""
        graph = self.graph
        for node in list(reversed(graph.node_order)):
            if node.target is operator.getitem and not node.users:
                graph.erase_node(node)
        for node in graph.nodes:
            for t in tensors_in([node.meta.get("val")]):
                if isinstance(t, FakeTensor):
                    t._tracer = t._node = t._real = None
        self._lifted.clear()
        self._stacks.close()
        self.fake_mode.on_assertion = self._demanded_before

    def __enter__(self) -> Self:
        super().__enter__()
        self._outside += [state.include & PRE_DISPATCH_BIT]
        if self._sees_composites:
            if not self._decomposing:
                self._start = state.include, state.exclude
            state.include |= PRE_DISPATCH_BIT
        return self

    @surely
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            _entered = True
        finally:
            state.include = state.include & ~PRE_DISPATCH_BIT | self._outside[-1]
            del self._outside[-1]
            super().__exit__(kind, value, traceback)

    # ---- recording ---------------------------------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if type(func) is OpOverload:
            if func in self.decompositions:
                with self:
                    result = self._decomposed(func, self._lift(args), kwargs)
                if result is not NotImplemented:
                    return result
            if func.body is not None and not self.keep_triton_ops:
                # A triton_op: its body's ops and launches are recorded instead.
                if state.used is not None:
                    state.used[func] = func.version
                with self:
                    return func.body(*args, **kwargs)
            if func.decl is not None and func.decl.is_number and func is not _ITEM:
                # Read where it is needed; what it says is an expression of the sizes.
                return func.decl.meta(self.fake_mode.make, self._lift(args), kwargs)
        elif isinstance(func, HigherOrderOperator):
            rule = func.mode_rules.get(ProxyMode)
            if rule is not None:
                return rule(self, *args, **kwargs)
        site, stack = (self._site, None) if self._site is not None else self._stacks.read(2)
        if self.numbers is not None:
            self.numbers.site = site
        if self.compiling and stack is not None and getattr(func, "decl", self) is None and stack.is_caught:
            # Noted too, since that very code may catch it.
            self.refused = self.refused or UnsupportedError(
                f"{func} stands in a `try`: what it raises when the graph runs would not be caught",
                got="an op without a declaration, which may raise anything", at=site,
                hint="call it outside of the `try`, or test before what it would refuse",
            )  # fmt: skip
            raise self.refused
        args = self._lift(args)
        if kwargs:
            kwargs = {key: self._lift((value,))[0] for key, value in kwargs.items()}
        run = self._run_real if self.real else self.fake_mode.dispatch
        if self.keep_triton_ops and type(func) is OpOverload and func.body is not None and not self.real:
            run = self._run_body
        try:
            result = run(func, args, kwargs)
        except (DataDependentError, FakeTensorError, TraceError) as error:
            self.refused = self.refused or error
            raise
        if self.real and self.fake_mode.has_constants:
            carry_constants(func, args, kwargs, result)
        return self._record(func, args, kwargs, result, site, stack)

    def _decomposed(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the user's function for an op gives, traced; NotImplemented where it leaves the call alone."""
        if self._decomposing.count(func) >= _DEEPEST:
            raise TraceError(
                f"the decomposition of {func} calls {func} without end", got=f"{self.decompositions[func]!r}",
                hint="write it with other ops, or let it return NotImplemented where the call is to stay",
            )  # fmt: skip
        self._decomposing.append(func)
        try:
            return self.decompositions[func](*args, **kwargs)
        finally:
            self._decomposing.pop()

    def call_composite(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call as the user wrote it, before autograd; NotImplemented where it goes on as usual.

        Raises
        ------
        UnsupportedError
            If the call's part in a gradient is other than that of the graph when it runs.
        """
        if func in self.decompositions and func.has_composite_implicit:
            result = self._decomposed(func, args, kwargs)
            if result is not NotImplemented:
                return result
        if not self.pre_dispatch:
            return NotImplemented
        tensors = list(tensors_in([*args, *kwargs.values()]))
        differentiated = any(t._keys & GRAD for t in tensors)
        if differentiated and self._grad_mode_changed() and not in_autograd():
            error = UnsupportedError(
                f"{func}: pre_dispatch tracing does not record that grad mode changes",
                got=describe(next(t for t in tensors if t._keys & GRAD)),
                hint="detach() the tensor in place of no_grad(), or put the whole trace under it",
            )
            self.refused = self.refused or error
            raise error
        # Under autocast the ops of the body are cast, which the composite would not be when the graph runs.
        if (
            not func.has_composite_implicit
            or Tag.inplace_view in func.tags  # a graph has the view in its place
            or state.include & ~state.exclude & AUTOCAST_MASK
            or not any(r.type.has_tensor for r in func._schema.returns)
            or not all(type(t) is Tensor or (type(t) is FakeTensor and t._tracer is self) for t in tensors)
        ):
            return NotImplemented
        if self.real and differentiated:
            raise UnsupportedError(
                f"{func}: pre_dispatch tracing of tensors that require grad computes no values", got=str(func._schema),
                hint="tracing_mode='fake' or 'symbolic'; or detach() the tensors",
            )  # fmt: skip
        site, stack = (self._site, None) if self._site is not None else self._stacks.read(2)
        if self.numbers is not None:
            self.numbers.site = site
        args = self._lift(args)
        if kwargs:
            kwargs = {key: self._lift((value,))[0] for key, value in kwargs.items()}
        modes = state.modes
        state.modes = [mode for mode in modes if mode is not self]
        try:
            result = self._run_real(func, args, kwargs) if self.real else func(*args, **kwargs)
            if not func.is_mutable:
                result = apart_from(result, list(tensors_in([*args, *kwargs.values()])))
        except (DataDependentError, FakeTensorError, TraceError) as error:
            self.refused = self.refused or error
            raise
        finally:
            state.modes = modes
        return self._record(func, args, kwargs, result, site, stack)

    def _grad_mode_changed(self) -> bool:
        include, exclude = self._start
        return bool((state.exclude ^ exclude) & GRAD or (state.include ^ include) & INFERENCE)

    def _record(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, site: Site | None, stack: Any
    ) -> Any:
        node_args: list[Any] = []
        for value in args:
            kind = value.__class__
            if kind is FakeTensor:
                node_args.append(value._node)
            else:
                node_args.append(value if kind in ATOMS else map_operands(value, self.operand))
        node_kwargs = {key: map_operands(value, self.operand) for key, value in kwargs.items()} if kwargs else None
        node = self.graph.create_node("call_function", func, node_args, node_kwargs)
        node.meta = {"site": site, "stack": stack}
        if state.checkpoint is not None:
            node.meta["checkpoint"] = state.checkpoint
        if self.formula is not None:
            node.meta["formula"] = self.formula
        return self._track(result, node)

    def _track(self, value: Any, node: Node) -> Any:
        """Let a result's tensors carry their node; the parts of a structure get nodes that pick them."""
        meta = node.meta
        meta["val"] = value
        if self.numbers is not None:
            self.numbers.bind(value, node)
            if self._waiting:
                waiting, self._waiting = self._waiting, []
                for assertion in waiting:
                    self._demand(assertion)
        if isinstance(value, FakeTensor):
            value._tracer = self
            value._node = node
            if value._real is not None:
                # The graph outlives the values.
                meta["val"] = self.fake_mode.fresh(value)
        elif is_sequence(value) or is_dict(value):
            kept: dict[Any, Any] = {}
            for key, item in value.items() if is_dict(value) else enumerate(value):
                kept[key] = item
                if isinstance(item, (Tensor, SymNumber, list, tuple, dict)):
                    part = self.graph.create_node("call_function", operator.getitem, (node, key))
                    part.meta.update(meta)
                    self._track(item, part)
                    kept[key] = part.meta["val"]
            meta["val"] = kept if is_dict(value) else tuple(kept.values())
        return value

    # ---- tensors -----------------------------------------------------------------------------------------------------

    def _lift(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with tensors from outside turned into constants of the graph."""
        for value in values:
            if type(value) is FakeTensor:
                if value._tracer is not self:
                    break
            elif isinstance(value, (Tensor, list, tuple, dict)):
                break
        else:
            return values
        return tuple([self._lift_one(value) for value in values])

    def _lift_one(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._fake_of(value)
        if is_sequence(value) and any(isinstance(item, Tensor) for item in value):
            return [self._lift_one(item) for item in value]
        if is_dict(value):
            return {key: self._lift_one(item) for key, item in value.items()}
        return value

    def _fake_of(self, t: Tensor) -> FakeTensor:
        if isinstance(t, FakeTensor):
            if t._tracer is not self:
                raise TraceError(
                    "a fake tensor that is not part of this trace", got=describe(t),
                    hint="pass it to the traced function as an argument" if not self.pre_dispatch
                    else "a gradient inside the traced function needs pre_dispatch=False; any other tensor is to be "
                    "passed to the traced function as an argument",
                )  # fmt: skip
            return t
        fake = self._lifted.get(id(t))
        if fake is None:
            name = f"_tensor_constant{len(self.constants)}"
            self.constants[name] = t  # keeps it, and so its id, alive
            fake = self._lifted[id(t)] = self.fake_mode.fresh(t)
            if self.real:
                fake._real = t
            if LITERAL in t.__dict__:
                self.fake_mode.make_constant(fake, t)
            self._track(fake, self.graph.get_attr(name))
        return fake

    # ---- values ------------------------------------------------------------------------------------------------------

    def _run_body(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a triton_op gives; its body may bring tensors along."""
        mode = self.fake_mode
        before, mode.allow_non_fake_inputs = mode.allow_non_fake_inputs, True
        try:
            return mode.dispatch(func, args, kwargs)
        finally:
            mode.allow_non_fake_inputs = before

    def _run_real(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given: dict[int, FakeTensor] = {}

        def real(value: Any) -> Any:
            if isinstance(value, FakeTensor):
                assert value._real is not None
                given[id(value._real)] = value
                return value._real
            return value

        def fake(value: Any) -> Any:
            if isinstance(value, Tensor):
                # An op that returns what it was given (in-place ops do) returns it here, too.
                found = given.get(id(value))
                if found is None:
                    found = self.fake_mode.fresh(value)
                found._real = value
                return found
            if isinstance(value, (int, float, complex)):
                raise DataDependentError(
                    f"{func}: returns a Python number, which the graph would silently keep", got=repr(value),
                    hint="return a 0-d tensor",
                )  # fmt: skip
            return value

        real_args, real_kwargs = map_plain(args, real), map_plain(kwargs, real)
        with no_modes():
            result = func(*real_args, **real_kwargs)
        if type(func) is OpOverload and func.is_mutable:
            note_mutation(func, args, kwargs)
        return map_plain(result, fake)


def _layout(t: Tensor) -> tuple[Any, ...]:
    return t._sizes, t._strides, t._offset


def _before_dispatch(op: OpOverload, bits: int) -> Kernel:
    below = bits & ~PRE_DISPATCH_BIT

    def call(*args: Any, **kwargs: Any) -> Any:
        mode = next((mode for mode in reversed(state.modes) if isinstance(mode, ProxyMode)), None)
        if mode is not None and mode._sees_composites:
            result = mode.call_composite(op, *op.trim(args, kwargs))
            if result is not NotImplemented:
                return result
        return op._lookup(below)(*args, **kwargs)

    return call


resolvers[DispatchKey.PreDispatch] = _before_dispatch
