"""View ops: other sizes and strides over the same memory, the order and number of dimensions.

A rule is plain arithmetic on sizes, strides and offset, linear in the last two, so that codegen runs it on symbols to
derive index maps. Only the reshape-like ones (`reshape=True`) compare strides; those keep the row-major order of the
elements instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opweave.registry.autograd.formula import Derivative
from opweave.registry.autograd.graph import AsStridedNode, attach
from opweave.registry.autograd.record import run_below
from opweave.registry.autograd.views import show_as
from opweave.registry.batched import BatchedTensor, Level, make_batched
from opweave.registry.batching import as_view_of, bound, front
from opweave.registry.errors import AutogradError, OutOfRangeError, ShapeError, UnsupportedError
from opweave.registry.keys import GRAD
from opweave.registry.memory_format import as_memory_format, format_strides, preserve_format, suggested_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import CompositeDecl, ViewDecl, composite, normalize_axes, view
from opweave.registry.ops.kinds.view import in_order
from opweave.registry.resizing import have_room
from opweave.registry.spec import TensorSpec, contiguous_strides, span
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import demand, is_open
from opweave.registry.tensor import Tensor, describe

Layout = tuple[tuple[int, ...], tuple[Any, ...], Any]
Sizes = Sequence[int]


# ---- order of dimensions -------------------------------------------------------------------------------------------


@view("aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)")
def permute(sizes: Sizes, strides: Sequence[Any], offset: Any, dims: Sequence[int]) -> Layout:
    order = [wrap_dim(d, len(sizes), "permute") for d in dims]
    if len(order) != len(sizes) or len(set(order)) != len(order):
        raise ShapeError(
            "permute: dims must name each dimension once",
            got=f"dims={list(dims)} for a {len(sizes)}-d tensor",
            hint="permute(1, 0) swaps the two dimensions of a matrix",
        )
    return tuple(sizes[d] for d in order), tuple(strides[d] for d in order), offset


@permute.backward
def _permute_backward(grad: Tensor, self_spec: TensorSpec, dims: Sequence[int]) -> tuple[Tensor]:
    ndim = len(self_spec.sizes)
    order = [wrap_dim(d, ndim, "permute") for d in dims]
    return (ops.aten.permute.default(grad, [order.index(d) for d in range(ndim)]),)


@permute.inverted
def _(whole: Tensor, dims: Sequence[int]) -> tuple[Any, tuple[Any, ...]]:
    order = [dim % whole.ndim for dim in dims]
    return ops.aten.permute.default, ([order.index(i) for i in range(len(order))],)


def _swapped(sizes: Sizes, strides: Sequence[Any], a: int, b: int) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    new_sizes, new_strides = list(sizes), list(strides)
    new_sizes[a], new_sizes[b] = sizes[b], sizes[a]
    new_strides[a], new_strides[b] = strides[b], strides[a]
    return tuple(new_sizes), tuple(new_strides)


@view("aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
def transpose(sizes: Sizes, strides: Sequence[Any], offset: Any, dim0: int, dim1: int) -> Layout:
    a, b = (wrap_dim(d, len(sizes), "transpose") for d in (dim0, dim1))
    if not sizes:
        return (), (), offset
    return *_swapped(sizes, strides, a, b), offset


transpose.backward(self=lambda grad, dim0, dim1: ops.aten.transpose.int(grad, dim0, dim1))


@view("aten::t(Tensor(a) self) -> Tensor(a)")
def t(sizes: Sizes, strides: Sequence[Any], offset: Any) -> Layout:
    if len(sizes) > 2:
        raise ShapeError(
            f"t: expected at most 2 dimensions, not {len(sizes)}", got=f"sizes {list(sizes)}", hint="use .mT"
        )
    return tuple(sizes[::-1]), tuple(strides[::-1]), offset


t.backward(self=lambda grad: ops.aten.t.default(grad))


@transpose.inverted
def _(whole: Tensor, dim0: int, dim1: int) -> tuple[Any, tuple[Any, ...]]:
    return ops.aten.transpose.int, (dim0, dim1)


@t.inverted
def _(whole: Tensor) -> tuple[Any, tuple[Any, ...]]:
    return ops.aten.t.default, ()


def _matrix(op: str, self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise ShapeError(f"{op}: expected a matrix or a batch of matrices", got=describe(self))
    return ops.aten.transpose.int(self, -2, -1)


def _conjugate(value: Tensor) -> Tensor:
    return ops.aten.conj_physical.default(value) if value._dtype.is_complex else value


@composite("aten::numpy_T(Tensor(a) self) -> Tensor(a)")
def numpy_t(self: Tensor) -> Tensor:
    return ops.aten.permute.default(self, list(range(self.ndim)[::-1]))


@composite("aten::mT(Tensor(a) self) -> Tensor(a)")
def mt(self: Tensor) -> Tensor:
    return _matrix("mT", self)


@composite("aten::mH(Tensor(a) self) -> Tensor(a)")
def mh(self: Tensor) -> Tensor:
    return _conjugate(_matrix("mH", self))


@composite("aten::adjoint(Tensor(a) self) -> Tensor(a)")
def adjoint(self: Tensor) -> Tensor:
    return _conjugate(_matrix("adjoint", self))


@composite("aten::matrix_H(Tensor(a) self) -> Tensor(a)")
def matrix_h(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        raise ShapeError("H: expected a matrix", got=describe(self), hint="use .mH for batches")
    return _conjugate(ops.aten.t.default(self))


@composite("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)")
def swapaxes(self: Tensor, axis0: int, axis1: int) -> Tensor:
    return ops.aten.transpose.int(self, axis0, axis1)


@composite("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
def swapdims(self: Tensor, dim0: int, dim1: int) -> Tensor:
    return ops.aten.transpose.int(self, dim0, dim1)


@composite("aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
def movedim(self: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    sources = [wrap_dim(d, self.ndim, "movedim") for d in source]
    targets = [wrap_dim(d, self.ndim, "movedim") for d in destination]
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ShapeError(
            "movedim: source and destination must name as many dimensions, each once",
            got=f"source={list(source)}, destination={list(destination)}",
        )
    if not self._sizes:
        return ops.aten.alias.default(self)
    placed = dict(zip(targets, sources, strict=True))
    rest = iter([d for d in range(self.ndim) if d not in sources])
    return ops.aten.permute.default(self, [placed[d] if d in placed else next(rest) for d in range(self.ndim)])


@composite("aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
def movedim_int(self: Tensor, source: int, destination: int) -> Tensor:
    return ops.aten.movedim.intlist(self, [source], [destination])


# ---- number of dimensions ------------------------------------------------------------------------------------------


@view("aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)")
def expand(sizes: Sizes, strides: Sequence[Any], offset: Any, size: Sizes, implicit: bool = False) -> Layout:
    lead = len(size) - len(sizes)
    if lead < 0:
        raise ShapeError(
            f"expand: {list(size)} has fewer dimensions than the tensor", got=f"sizes {list(sizes)}",
            hint="an expanded tensor keeps all dimensions; index or squeeze first",
        )  # fmt: skip
    new_sizes: list[int] = [0] * len(size)
    new_strides: list[Any] = [0] * len(size)
    for d in range(len(size) - 1, -1, -1):
        wanted = size[d]
        if d >= lead:
            have, stride = sizes[d - lead], strides[d - lead]
        else:
            have = 1
            stride = new_sizes[d + 1] * new_strides[d + 1] if d + 1 < len(size) else 1
            if wanted == -1:
                raise ShapeError("expand: -1 is not allowed for a new leading dimension", got=f"size={list(size)}")
        wanted = have if wanted == -1 else wanted
        if wanted != have:
            if have != 1 or wanted < 0:
                raise ShapeError(
                    f"expand: dim {d} has size {have}, not 1, and cannot become {wanted}",
                    got=f"{list(sizes)} to {list(size)}",
                    hint="only dimensions of size 1 expand; repeat(...) copies",
                )
            stride = 0
        new_sizes[d], new_strides[d] = wanted, stride
    return tuple(new_sizes), tuple(new_strides), offset


# The sum over what was stretched happens by itself.
expand.backward(self=lambda grad: grad)


@composite("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    return ops.aten.expand.default(self, other._sizes)


@composite("aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
def broadcast_to(self: Tensor, size: Sizes) -> Tensor:
    return ops.aten.expand.default(self, size)


def _is_one(size: Any) -> bool:
    """Whether a size is 1; one that depends on data is not, which is verified when the trace runs."""
    one = size == 1
    if is_open(one):
        demand(size != 1, "squeeze: a size that depends on data is 1, but was taken for larger", ShapeError)
        return False
    return bool(one)


def _without(sizes: Sizes, strides: Sequence[Any], offset: Any, dropped: Iterable[int]) -> Layout:
    gone = {d for d in dropped if sizes and _is_one(sizes[d])}
    kept = [d for d in range(len(sizes)) if d not in gone]
    return tuple(sizes[d] for d in kept), tuple(strides[d] for d in kept), offset


@view("aten::squeeze(Tensor(a) self) -> Tensor(a)")
def squeeze(sizes: Sizes, strides: Sequence[Any], offset: Any) -> Layout:
    return _without(sizes, strides, offset, range(len(sizes)))


@view("aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)")
def squeeze_dim(sizes: Sizes, strides: Sequence[Any], offset: Any, dim: int) -> Layout:
    return _without(sizes, strides, offset, [wrap_dim(dim, len(sizes), "squeeze")])


@view("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)")
def squeeze_dims(sizes: Sizes, strides: Sequence[Any], offset: Any, dim: Sequence[int]) -> Layout:
    return _without(sizes, strides, offset, normalize_axes(dim, len(sizes), "squeeze") if dim else ())


for _decl in (squeeze, squeeze_dim, squeeze_dims):
    _decl.backward(self=lambda grad, self_spec: ops.aten.reshape.default(grad, list(self_spec.sizes)))


@view("aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
def unsqueeze(sizes: Sizes, strides: Sequence[Any], offset: Any, dim: int) -> Layout:
    at = wrap_dim(dim, len(sizes) + 1, "unsqueeze")
    stride = sizes[at] * strides[at] if at < len(sizes) else 1
    return (*sizes[:at], 1, *sizes[at:]), (*strides[:at], stride, *strides[at:]), offset


unsqueeze.backward(self=lambda grad, dim: ops.aten.squeeze.dim(grad, dim))

for _op in (squeeze, squeeze_dim, squeeze_dims, unsqueeze):
    _op.inverted(in_order)


# ---- the same elements ---------------------------------------------------------------------------------------------


class SameDecl(ViewDecl):
    """A view of all elements as they are."""

    def batch(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A view of the whole batch, its examples counted by the same dimension."""
        t = args[0]
        whole = self.op(t.value)
        return as_view_of(t, whole, level, t.bdim) if self.is_tracked else make_batched(whole, t.bdim, level)


def _same(sizes: Sizes, strides: Sequence[Any], offset: Any) -> Layout:
    return tuple(sizes), tuple(strides), offset


alias = SameDecl("aten::alias(Tensor(a) self) -> Tensor(a)", _same, False)

alias.backward(self=lambda grad: grad)

#: The same data without the history: for autograd it is no view, so that a write to it is not recorded.
detach = SameDecl("aten::detach(Tensor(a) self) -> Tensor(a)", _same, False, is_tracked=False)

detach.backward()

for _op in (alias, detach):
    _op.inverted(in_order)


class AsStridedDecl(ViewDecl):
    """`as_strided`, which alone can leave the memory of its base."""

    def eager(self, self_: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = super().eager(self_, *args, **kwargs)
        needed = (result._offset + span(result._sizes, result._strides)) * result._dtype.itemsize
        if 0 not in result._sizes and needed > self_._storage.nbytes:
            raise OutOfRangeError(
                f"as_strided: sizes {list(result._sizes)}, strides {list(result._strides)} and offset "
                f"{result._offset} reach {needed} bytes into {self_._storage.nbytes}", got=describe(self_),
            )  # fmt: skip
        return result


def _as_strided(
    sizes: Sizes, strides: Sequence[Any], offset: Any, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Layout:
    if len(size) != len(stride):
        raise ShapeError("as_strided: size and stride differ in length", got=f"{list(size)} and {list(stride)}")
    if any(s < 0 for s in size) or any(s < 0 for s in stride) or (storage_offset or 0) < 0:
        raise ShapeError("as_strided: negative size, stride or offset", got=f"{list(size)}, {list(stride)}")
    return tuple(size), tuple(stride), offset if storage_offset is None else storage_offset


as_strided = AsStridedDecl(
    "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    _as_strided, False,
)  # fmt: skip


@as_strided.batching
def _as_strided_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = bound(op, args, kwargs)
    t = values["self"]
    whole = front(t, level)
    offset = values["storage_offset"]
    found = op(
        whole, [whole._sizes[0], *values["size"]], [whole._strides[0], *values["stride"]],
        whole._offset if offset is None else offset,
    )  # fmt: skip
    return as_view_of(t, found, level)


class _AsStridedDerivative(Derivative):
    """The gradient of `as_strided`: it depends on where both tensors lie in memory, which no argument tells."""

    def make_kernel(self, op: OpOverload, below: Any) -> Callable[..., Tensor]:
        def kernel(*args: Any, **kwargs: Any) -> Tensor:
            result = run_below(below, args, kwargs)
            attach(result, AsStridedNode(args[0], result), 0)
            return result

        return kernel


as_strided.op.derivative = _AsStridedDerivative({})


# ---- views of whole batches ----------------------------------------------------------------------------------------


def dims_behind(op: str, sizes: Sizes, *dims: int) -> list[int]:
    """Dimensions of an example as those of the batch, which counts the examples first."""
    return [wrap_dim(d, len(sizes), op) + 1 for d in dims]


@permute.on_batch
def _(whole: Tensor, sizes: Sizes, dims: Sequence[int]) -> Tensor | None:
    return ops.aten.permute.default(whole, [0, *dims_behind("permute", sizes, *dims)]) if sizes else None


@transpose.on_batch
def _(whole: Tensor, sizes: Sizes, dim0: int, dim1: int) -> Tensor | None:
    return ops.aten.transpose.int(whole, *dims_behind("transpose", sizes, dim0, dim1)) if sizes else None


@t.on_batch
def _(whole: Tensor, sizes: Sizes) -> Tensor | None:
    return ops.aten.transpose.int(whole, 1, len(sizes)) if 0 < len(sizes) <= 2 else None


@expand.on_batch
def _(whole: Tensor, sizes: Sizes, size: Sizes, implicit: bool) -> Tensor | None:
    lead = len(size) - len(sizes)
    if lead < 0 or -1 in size[:lead]:
        return None
    for _ in range(lead):
        whole = ops.aten.unsqueeze.default(whole, 1)
    return ops.aten.expand.default(whole, [whole._sizes[0], *size])


@squeeze.on_batch
def _(whole: Tensor, sizes: Sizes) -> Tensor:
    return ops.aten.squeeze.dims(whole, [d + 1 for d, size in enumerate(sizes) if size == 1])


@squeeze_dim.on_batch
def _(whole: Tensor, sizes: Sizes, dim: int) -> Tensor | None:
    return ops.aten.squeeze.dim(whole, *dims_behind("squeeze", sizes, dim)) if sizes else None


@squeeze_dims.on_batch
def _(whole: Tensor, sizes: Sizes, dim: Sequence[int]) -> Tensor | None:
    return ops.aten.squeeze.dims(whole, dims_behind("squeeze", sizes, *dim)) if sizes else None


@unsqueeze.on_batch
def _(whole: Tensor, sizes: Sizes, dim: int) -> Tensor:
    return ops.aten.unsqueeze.default(whole, wrap_dim(dim, len(sizes) + 1, "unsqueeze") + 1)


# ---- in place, on what a tensor shows ------------------------------------------------------------------------------


def _inplace(arguments: str, functional: str) -> CompositeDecl:
    """Declare the in-place form of a view op."""
    name, _, overload = functional.partition(".")
    op = getattr(getattr(ops.aten, name), overload or "default")

    def body(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return show_as(made.op, self, lambda: op(self, *args, **kwargs))

    overload = f".{overload}" if overload in ("dim", "dims") else ""
    made = composite(f"aten::{name}_{overload}(Tensor(a!) self{arguments}) -> Tensor(a!)", tags="inplace_view")(body)
    return made


t_ = _inplace("", "t")

transpose_ = _inplace(", int dim0, int dim1", "transpose.int")

swapaxes_ = _inplace(", int axis0, int axis1", "swapaxes")

swapdims_ = _inplace(", int dim0, int dim1", "swapdims")

unsqueeze_ = _inplace(", int dim", "unsqueeze")

squeeze_ = _inplace("", "squeeze")

squeeze_dim_ = _inplace(", int dim", "squeeze.dim")

squeeze_dims_ = _inplace(", int[] dim", "squeeze.dims")

as_strided_ = _inplace(", SymInt[] size, SymInt[] stride, SymInt? storage_offset=None", "as_strided")


@composite(
    "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    tags="inplace_view",
)
def resize_(self: Tensor, size: Sequence[int], *, memory_format: Any = None) -> Tensor:
    """Let a tensor have other sizes, row-major over its memory; it gets more memory where nothing else has a part in
    its own, and what is new there may be anything."""
    sizes = tuple(size)
    demand(all(n >= 0 for n in sizes), f"resize_: sizes must not be negative, got {list(sizes)}", ShapeError)
    if self._keys & GRAD:
        raise AutogradError(
            "resize_: a tensor that requires grad keeps its sizes", got=describe(self), hint="x = x.detach()"
        )
    if memory_format is None:
        if sizes == self._sizes:
            return self
        strides = contiguous_strides(sizes)
    else:
        strides = format_strides("resize_", sizes, as_memory_format(memory_format, "resize_"))
    if isinstance(self, BatchedTensor) and self._strides != contiguous_strides(self._sizes):
        raise UnsupportedError("resize_: under vmap each example must lie in one piece", got=describe(self))
    have_room(self, sizes, strides)
    return as_strided_.op(self, sizes, strides, self._offset)


@composite(
    "aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    tags="inplace_view",
)
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Let a tensor have the sizes of another; with `preserve_format` its memory format too."""
    if memory_format is not None:
        memory_format = as_memory_format(memory_format, "resize_as_")
        if memory_format == preserve_format:
            memory_format = suggested_format(the_template._sizes, the_template._strides)
    return resize_.op(self, the_template._sizes, memory_format=memory_format)


def _matrices(make: Any) -> Sequence[tuple[tuple[Any, ...], dict[str, Any]]]:
    return [((make(3, 4),), {}), ((make(5),), {})]


t_.with_samples(_matrices)

for _decl in (transpose_, swapaxes_, swapdims_):
    _decl.with_samples(lambda make: [((make(2, 3, 4), 0, -1), {}), ((make(2, 3), 1, 0), {})])

resize_.with_samples(lambda make: [((make(3, 4), [2, 5]), {}), ((make(6), [6]), {}), ((make(2, 3), [0, 3]), {})])

resize_as_.with_samples(lambda make: [((make(3, 4), make(5, 2)), {})])

unsqueeze_.with_samples(lambda make: [((make(2, 3), 0), {}), ((make(2, 3), -1), {}), ((make(), 0), {})])

squeeze_.with_samples(lambda make: [((make(2, 1, 3, 1),), {}), ((make(2, 3),), {})])

squeeze_dim_.with_samples(lambda make: [((make(2, 1, 3), 1), {}), ((make(2, 1, 3), 0), {})])

squeeze_dims_.with_samples(lambda make: [((make(2, 1, 1), [1, 2]), {}), ((make(2, 1, 3), [0, -2]), {})])

as_strided_.with_samples(lambda make: [((make(3, 4), [2, 2], [4, 1], 1), {}), ((make(6), [2, 3], [3, 1]), {})])


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, 1)


def _part(x: Tensor) -> Tensor:
    return ops.aten.slice.Tensor(x, 1, 1, None, 2)


def sample_layouts(make: Any) -> Iterable[Tensor]:
    """Contiguous, transposed, strided, expanded and empty tensors of 3 dimensions."""
    yield make(2, 3, 4)
    yield _turned(make(3, 2, 4))
    yield _part(make(2, 6, 4))
    yield ops.aten.expand.default(make(2, 1, 4), [2, 3, 4])
    yield make(2, 0, 4)


#: Arguments after the tensor (positional, or a dict for keywords) for tensors of sizes (2, 3, 4).
_ARGUMENTS: dict[ViewDecl | Any, tuple[Any, ...]] = {
    permute: (([2, 0, 1],), ([-1, 1, 0],)),
    transpose: ((0, 1), (-1, 0), (1, 1)),
    numpy_t: ((),),
    mt: ((),),
    mh: ((),),
    adjoint: ((),),
    swapaxes: ((0, 2),),
    swapdims: ((0, -1),),
    movedim: (([0, 1], [2, 0]), ([-1], [0])),
    movedim_int: ((0, 2), (-1, 0)),
    expand: (([2, -1, 4],), ([5, 2, -1, 4],), ([1, 2, -1, 4],)),
    broadcast_to: (([3, 2, -1, 4],),),
    unsqueeze: ((0,), (1,), (-1,), (3,)),
    alias: ((),),
    detach: ((),),
    squeeze: ((),),
    squeeze_dim: ((0,), (-1,)),
    squeeze_dims: (([0, 1],), ([],)),
}


def view_samples(*arguments: tuple[Any, ...]) -> Any:
    """Samples that give a tensor of sizes (2, 3, 4) in several layouts, and each of these arguments after it."""

    def samples(make: Any) -> Iterable[Any]:
        for x in sample_layouts(make):
            for rest in arguments:
                yield (x, *rest), {}

    return samples


for _decl, _arguments in _ARGUMENTS.items():
    _decl.with_samples(view_samples(*_arguments))

for _decl in (squeeze, squeeze_dim, squeeze_dims):

    @_decl.with_samples
    def _(make: Any, _own: Any = _decl.samples) -> Iterable[Any]:
        yield from _own(make)
        for args, kwargs in _own(make):
            if 0 not in args[0]._sizes:
                yield (ops.aten.slice.Tensor(args[0], 0, 0, 1), *args[1:]), kwargs


for _decl in (t, matrix_h):

    @_decl.with_samples
    def _(make: Any) -> Iterable[Any]:
        yield (make(2, 3),), {}
        yield (_part(make(2, 6)),), {}
        yield (make(),), {}


@t.with_samples
def _(make: Any) -> Iterable[Any]:
    for x in (make(2, 3), _turned(make(2, 3)), make(3), make()):
        yield (x,), {}


@expand_as.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(2, 3), make(2, 3)), {}


@as_strided.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(12), [2, 3], [4, 1], 1), {}
    yield (make(12), [3, 3], [1, 1]), {}
    yield (make(12), [], [], 11), {}
    yield (make(3, 4), [0, 2], [100, 1]), {}
