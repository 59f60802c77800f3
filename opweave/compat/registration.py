"""An op of opweave's as an op of PyTorch's, from the one declaration: schema, kernel, fake, gradient, vmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.compat.sharing import from_torch, opweave_dtype, opweave_setting, pytorch, to_torch, torch_dtype
from opweave.fake.mode import FakeTensorMode
from opweave.fake.tensor import make_fake
from opweave.registry.autograd import engine
from opweave.registry.autograd.mode import enable_grad
from opweave.registry.custom_op import CustomOpDef
from opweave.registry.device import parse_device
from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.registry.keys import GRAD
from opweave.registry.nested import leaves, map_leaves
from opweave.registry.op import OpOverload
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor

_made: dict[str, Any] = {}


def to_torch_op(op: Any) -> Any:
    """Register an op in `torch.library`; see `opweave.library.to_torch`."""
    torch = pytorch()
    found = _overload(op)
    if found.name in _made:
        return _made[found.name]
    schema = found._schema
    if schema.aliased_returns:
        raise UnsupportedError(f"to_torch: {found} returns views of its arguments", got=str(schema))
    if found.decl is not None or found.overload != "default":
        raise UnsupportedError(
            f"to_torch: {found} is no op of a user's library, or an overload", got=str(schema),
            hint="PyTorch has its own; an op made with opweave.library.custom_op can be registered",
        )  # fmt: skip
    text = str(schema)
    made = torch.library.custom_op(
        found.name, _kernel(found), mutates_args=found.mutated_args, schema=text[text.index("(") :]
    )
    made.register_fake(_fake_rule(found))
    if not found.is_mutable:
        if found.derivative_source()[1] is not None:
            _register_gradient(found, made)
        made.register_vmap(_batch_rule(found, made))
    _made[found.name] = made
    return made


def _overload(op: Any) -> OpOverload:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        op = op.default
    if not isinstance(op, OpOverload):
        raise ArgumentError(
            "to_torch: expected an op", got=f"{op!r} ({type(op).__name__})", hint="opweave.library.custom_op makes one"
        )
    return op


# ---- values that cross -----------------------------------------------------------------------------------------------


def _taken(value: Any) -> Any:
    """A value of PyTorch's as opweave has it."""
    torch = pytorch()
    if isinstance(value, torch.Tensor):
        return from_torch(value.detach())
    return opweave_setting(value)


def _given(value: Any) -> Any:
    """A result for PyTorch."""
    return to_torch(value.detach() if value._keys & GRAD else value) if isinstance(value, Tensor) else value


def _kernel(op: OpOverload) -> Any:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        return map_leaves(op(*map_leaves(args, _taken), **map_leaves(kwargs, _taken)), _given)

    return kernel


def _fake_rule(op: OpOverload) -> Any:
    """The op without data, in PyTorch's fake tensors. Symbolic sizes are fixed: the rule is asked for each size."""
    torch = pytorch()

    def fake(*args: Any, **kwargs: Any) -> Any:
        mode = FakeTensorMode()
        places: list[Any] = []

        def taken(value: Any) -> Any:
            if isinstance(value, (torch.SymInt, torch.SymBool)):
                return int(value)
            if isinstance(value, torch.SymFloat):
                return float(value)
            if not isinstance(value, torch.Tensor):
                return _taken(value)
            places.append(value.device)
            sizes, strides = tuple(map(int, value.shape)), tuple(map(int, value.stride()))
            dtype, offset = opweave_dtype(value.dtype), int(value.storage_offset())
            reach = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + 1 if 0 not in sizes else 0
            device = parse_device("cpu")
            storage = Storage(device, (offset + reach) * dtype.itemsize, None, None)
            return make_fake(mode, storage, sizes, strides, offset, dtype, device)

        def made(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            if all(type(n) is int for n in (*value._sizes, *value._strides)):
                device = places[0] if places else "cpu"
                return torch.empty_strided(value._sizes, value._strides, dtype=torch_dtype(value._dtype), device=device)
            context = torch.library.get_ctx()
            sizes = [n if type(n) is int else context.new_dynamic_size() for n in value._sizes]
            return torch.empty(sizes, dtype=torch_dtype(value._dtype), device=places[0] if places else "cpu")

        given, named = map_leaves(args, taken), map_leaves(kwargs, taken)
        with mode:
            found = op(*given, **named)
        return map_leaves(found, made)

    return fake


# ---- gradients -------------------------------------------------------------------------------------------------------


def _register_gradient(op: OpOverload, made: Any) -> None:
    """A second op for the gradients, so that PyTorch's compiler sees one call there too."""
    torch = pytorch()
    arguments = op._schema.arguments
    declared = ", ".join(f"{a.type} {a.name}" for a in arguments)
    declared += f"{', ' if declared else ''}Tensor[] _results, Tensor?[] _grads"
    count = len(arguments)

    def kernel(*args: Any, **kwargs: Any) -> list[Any]:
        values = [*args, *kwargs.values()]
        given, results, grads = values[:count], values[count], values[count + 1]
        return _gradients(op, given, results, grads)

    def fake(*args: Any, **kwargs: Any) -> list[Any]:
        tensors = _tensors([*args, *kwargs.values()][:count])
        return [_like(t) for t in tensors]

    backward_op = torch.library.custom_op(
        f"{op.name}_backward", kernel, mutates_args=(), schema=f"({declared}) -> Tensor[]"
    )
    backward_op.register_fake(fake)

    def setup_context(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: dict[str, Any] | None = None) -> None:
        values = [*inputs, *(keyword_only_inputs or {}).values()]
        results = list(leaves(output))
        ctx.form = map_leaves(values, lambda value: None if isinstance(value, torch.Tensor) else (value,))
        ctx.positional = len(inputs)
        ctx.save_for_backward(*_tensors(values), *results)
        ctx.results = len(results)

    def backward(ctx: Any, *grads: Any) -> Any:
        saved = list(ctx.saved_tensors)
        results = saved[len(saved) - ctx.results :]
        waiting = iter(saved)
        values = [_restored(form, waiting) for form in ctx.form]
        found = iter(backward_op(*values, results, list(leaves(list(grads)))))

        def one(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return None
            grad = next(found)
            return grad if value.is_floating_point() or value.is_complex() else None

        gradients = map_leaves(values, one)
        return tuple([g if not isinstance(g, list) or g else None for g in gradients[: ctx.positional]])

    made.register_autograd(backward, setup_context=setup_context)


def _restored(form: Any, waiting: Any) -> Any:
    """A value from its form: tensors come from those that were saved, others stand in it."""
    if form is None:
        return next(waiting)
    return [_restored(item, waiting) for item in form] if isinstance(form, list) else form[0]


def _tensors(values: Sequence[Any]) -> list[Any]:
    torch = pytorch()
    return [value for value in leaves(list(values)) if isinstance(value, torch.Tensor)]


def _like(t: Any) -> Any:
    """What the gradient of a tensor looks like; empty where there is none."""
    torch = pytorch()
    return torch.empty_like(t) if t.is_floating_point() or t.is_complex() else t.new_empty((0,))


def _gradients(op: OpOverload, given: Sequence[Any], results: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """Gradients for the tensors among the arguments, by what opweave knows of the op."""
    wanted: list[Tensor] = []

    def taken(value: Any) -> Any:
        found = _taken(value)
        if isinstance(found, Tensor) and found._dtype.kind in "fc":
            found = found.detach().requires_grad_()
            wanted.append(found)
        return found

    values = [map_leaves(value, taken) for value in given]
    names = [a.name for a in op._schema.arguments if a.kwarg_only]
    positional = values[: len(values) - len(names)]
    keyword = dict(zip(names, values[len(positional) :], strict=True))
    make_kernel = getattr(op.derivative_source()[1], "make_kernel", None)
    with enable_grad():
        if make_kernel is None:
            outputs = op(*positional, **keyword)
        else:  # the results are there already
            known = op._conform(_structured(op, [_taken(t) for t in results]))
            outputs = make_kernel(op, lambda *_, **__: known)(*positional, **keyword)
    pairs = [(t, _taken(g)) for t, g in zip(leaves(outputs), grads, strict=True) if g is not None]
    roots = [(t, g) for t, g in pairs if isinstance(t, Tensor) and t._keys & GRAD]
    found: Sequence[Any] = [None] * len(wanted)
    if roots and wanted:
        found = engine.grad([t for t, _ in roots], wanted, [g for _, g in roots], allow_unused=True)
    waiting = iter(found)
    made = []
    for t in _tensors(given):
        target = _like(t)
        if t.is_floating_point() or t.is_complex():
            grad = next(waiting)
            target.zero_() if grad is None else target.copy_(_given(grad))
        made.append(target)
    return made


def _structured(op: OpOverload, results: list[Any]) -> Any:
    """Results one by one as the op returns them."""
    returns = op._schema.returns
    if len(returns) == 1:
        return results if str(returns[0].type).endswith("[]") else results[0]
    return tuple(results)


# ---- vmap ------------------------------------------------------------------------------------------------------------


def _batch_rule(op: OpOverload, made: Any) -> Any:
    """The op's own rule on plain tensors; else, and where gradients are recorded, example by example."""
    torch = pytorch()

    def is_plain(value: Any) -> bool:
        if not isinstance(value, torch.Tensor):
            return True
        odd = torch._C._functorch.is_functorch_wrapped_tensor(value) or torch._is_functional_tensor(value)
        return type(value) in (torch.Tensor, torch.nn.Parameter) and not (odd or value.requires_grad)

    def rule(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        if op.batch_rule is not None and all(map(is_plain, leaves(list(args)))):
            found, out_dims = op.batch_rule(info, in_dims, *map_leaves(args, _taken), **map_leaves(kwargs, _taken))
            return map_leaves(found, _given), out_dims
        if not info.batch_size:
            raise UnsupportedError(f"vmap: {op} has no rule for a batch without examples", hint="register_vmap")
        results = [made(*_example(args, in_dims, i), **kwargs) for i in range(info.batch_size)]
        if isinstance(results[0], torch.Tensor):
            return torch.stack(results), 0
        kind = type(results[0])
        stacked = kind([torch.stack(parts) for parts in zip(*results, strict=True)])
        return stacked, kind([0] * len(stacked))

    return rule


def _example(values: Any, dims: Any, at: int) -> list[Any]:
    """The arguments of one example."""
    torch = pytorch()
    picked: list[Any] = []
    for value, dim in zip(values, dims, strict=True):
        if isinstance(value, (list, tuple)) and isinstance(dim, (list, tuple)):
            picked.append(_example(value, dim, at))
        else:
            batched = dim is not None and isinstance(value, torch.Tensor)
            picked.append(torch.select(value, dim, at) if batched else value)
    return picked
