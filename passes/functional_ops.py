"""The ops that a functionalized graph may hold: mutation as a call that gives what it wrote.

Run by themselves they work on copies; `passes.reinplace` has them write in place where no copy is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.registry.containers import is_dict, is_sequence, is_tuple
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.nested import map_leaves
from opweave.registry.op import ops, registry
from opweave.registry.spec import TensorSpec, is_dense, span
from opweave.registry.tensor import Tensor, allocate, as_view

aten = ops.aten


def _auto_functionalized(name: str, /, **arguments: Any) -> tuple[Any, ...]:
    op = registry.find(name)
    copies: dict[int, Tensor] = {}

    def fresh(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        # One tensor given twice stays one tensor.
        if id(value) not in copies:
            copies[id(value)] = aten.clone.default(value)
        return copies[id(value)]

    written = {name: map_leaves(arguments[name], fresh) for name in op.mutated_args}
    others = {name: value for name, value in arguments.items() if name not in written}
    rest = map_leaves(others, lambda value: copies.get(id(value), value))
    result = op(**rest, **written)
    results = () if not op._schema.returns else result if is_tuple(result) else (result,)
    return (*results, *written.values())


#: ``(op's name, **arguments) -> (*results, *written)``: a mutating op run on copies of what it writes.
auto_functionalized = HigherOrderOperator("auto_functionalized", _auto_functionalized, writes_copies=True)


def _write_view(
    base: Tensor, value: Tensor, size: list[int], stride: list[int], offset: int, layout: list[int]
) -> Tensor:
    result = allocate(base._sizes, tuple(layout), base._dtype, base._device)
    result._array[...] = base._array
    as_view(result, tuple(size), tuple(stride), offset)._array[...] = value._array
    return result


#: ``(base, value, size, stride, offset, layout) -> Tensor``: a copy of `base` with strides `layout`, in which the view
#: of these sizes, strides and offset holds `value`.
write_view = HigherOrderOperator("write_view", _write_view, is_pure=True)


def _mutate_views(name: str, bases: list[Tensor], views: list[list[Any]], arguments: dict[str, Any]) -> tuple[Any, ...]:
    copies = [copy_laid_out(base, called, base) for base in bases]
    made = [
        aten.as_strided.default(copies[k], size, stride, copies[k]._offset + offset)
        for k, size, stride, offset, _ in views
    ]
    target = registry.higher_order.get(name) or registry.find(name)
    result = target(**put_views(arguments, views, made))
    results = () if result is None else result if is_tuple(result) else (result,)
    return (*results, *copies)


def called(op: Any, *args: Any) -> Any:
    return op(*args)


def copy_laid_out(t: Any, call: Callable[..., Any], value: Tensor) -> Any:
    """A copy with the same strides, also where there are gaps between the elements.

    `call(op, *args)` calls an op on tensors such as `t`, of which `value` is a fake or real one.
    """
    if is_dense(value._sizes, value._strides):
        return call(aten.clone.default, t)
    whole = call(aten.as_strided.default, t, [span(value._sizes, value._strides)], [1], value._offset)
    return call(aten.as_strided.default, call(aten.clone.default, whole), list(value._sizes), list(value._strides), 0)


def put_views(arguments: dict[str, Any], views: list[list[Any]], made: list[Any]) -> dict[str, Any]:
    """The arguments of `mutate_views` with its views where they go."""
    at = {tuple(path): value for view, value in zip(views, made, strict=True) for path in view[-1]}

    def filled(value: Any, path: tuple[Any, ...]) -> Any:
        if path in at:
            return at[path]
        if is_sequence(value):
            return [filled(item, (*path, i)) for i, item in enumerate(value)]
        return {key: filled(item, (*path, key)) for key, item in value.items()} if is_dict(value) else value

    return filled(arguments, ())


#: ``(name, bases, views, arguments) -> (*results, *written)``: a mutating op or launch run on copies of `bases`. A view
#: is (number of the base, sizes, strides, offset in the base, paths in the arguments); these have None there.
mutate_views = HigherOrderOperator("mutate_views", _mutate_views, writes_copies=True)


@mutate_views.py_impl(FakeTensorMode)
def _mutate_views_fake(mode: FakeTensorMode, *args: Any) -> tuple[Any, ...]:
    with mode:
        return _mutate_views(*args)


@auto_functionalized.py_impl(FakeTensorMode)
def _auto_functionalized_fake(mode: FakeTensorMode, name: str, /, **arguments: Any) -> tuple[Any, ...]:
    with mode:
        return _auto_functionalized(name, **arguments)


@write_view.py_impl(FakeTensorMode)
def _write_view_fake(mode: FakeTensorMode, base: Tensor, *rest: Any) -> Tensor:
    return mode.make(TensorSpec(base._sizes, tuple(rest[-1]), base._dtype, base._device))
