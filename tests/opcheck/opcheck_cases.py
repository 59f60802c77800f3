"""Wrong and right registrations of ops, for `opcheck`: it should refuse the first and pass the second.

    python tests/opcheck/opcheck_cases.py [text]

prints a table; with a text, only cases whose name has it, and the errors.

A case is a function that registers an op and gives `(op, args)` or `(op, args, kwargs)`. Wrong ones say what is wrong.
"""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np
import triton
import triton.language as tl

import opweave as ow
from opweave.library import Library, Tag, custom_op, opcheck, register_fake, triton_op, wrap_triton
from opweave.registry.schema import parse_schema

WRONG, RIGHT = {}, {}
_counter = itertools.count()
_kept = []


def wrong(kind, catches=None):
    """Register a wrong case; `catches` is a word that the error has."""

    def register(fn):
        WRONG[f"{kind} #{sum(k.startswith(kind + ' #') for k in WRONG) + 1}"] = (fn, catches)
        return fn

    return register


def right(kind):
    def register(fn):
        RIGHT[f"{kind} #{sum(k.startswith(kind + ' #') for k in RIGHT) + 1}"] = (fn, None)
        return fn

    return register


def op(schema, kernel, fake=None, *, backward=None, setup=None, vmap=None, tags=()):
    """A custom op of a new name."""
    name = f"opcheck_cases::op{next(_counter)}"
    mutates = parse_schema(name + schema).mutated_args
    made = custom_op(name, kernel, mutates_args=mutates, schema=schema, tags=tags)
    if fake is not None:
        made.register_fake(fake)
    if backward is not None:
        made.register_autograd(backward, setup_context=setup)
    if vmap is not None:
        made.register_vmap(vmap)
    return made


def rand(*sizes, seed=0, dtype=np.float32, grad=False):
    values = np.random.default_rng(seed).uniform(0.3, 1.7, sizes)
    t = ow.from_numpy(np.asarray(values, dtype))
    return t.requires_grad_() if grad else t


def ints(*sizes, high=3, seed=0):
    return ow.from_numpy(np.random.default_rng(seed).integers(0, high, sizes))


def wrap(array):
    """A NumPy result as a tensor; NumPy gives scalars for 0-d."""
    return ow.from_numpy(np.asarray(array))


def like(x, *rest, **kwargs):
    return ow.empty_like(x)


def keep_inputs(ctx, inputs, output):
    ctx.save_for_backward(*[t for t in inputs if isinstance(t, ow.Tensor)])
    ctx.rest = [v for v in inputs if not isinstance(v, ow.Tensor)]


UNARY = "(Tensor x) -> Tensor"
BINARY = "(Tensor x, Tensor y) -> Tensor"


def np_sin(x):
    return wrap(np.sin(x.numpy()))


def np_mul(x, y):
    return wrap(x.numpy() * y.numpy())


def np_matmul(a, b):
    return wrap(a.numpy() @ b.numpy())


def fake_matmul(a, b):
    return a.new_empty((a.shape[0], b.shape[1]))


def times(x, y):
    """A fake rule: shape, dtype and strides of an elementwise result."""
    return x * y


# ---- wrong: writes -------------------------------------------------------------------------------------------------


@wrong("hidden mutation", "written")
def _():
    def kernel(x):
        result = np.sin(x.numpy())
        x.numpy()[...] = 0
        return wrap(result)

    return op(UNARY, kernel, like), (rand(3, 4),)


@wrong("hidden mutation", "written")
def _():
    def kernel(x, y):
        y.add_(1)
        return x + y

    return op(BINARY, kernel, like), (rand(3), rand(3))


@wrong("hidden mutation", "written")
def _():
    def kernel(xs):
        xs[1].numpy()[0] += 1
        return wrap(sum(x.numpy() for x in xs))

    return op("(Tensor[] xs) -> Tensor", kernel, lambda xs: ow.empty_like(xs[0])), ([rand(3), rand(3, seed=1)],)


@wrong("hidden mutation", "written")
def _():
    def kernel(x, out):
        out.copy_(x)
        x.numpy()[-1] = 7

    return op("(Tensor x, Tensor(a!) out) -> ()", kernel), (rand(5), rand(5))


@wrong("hidden mutation", "written")
def _():
    def kernel(x, y):  # names the wrong one
        y.mul_(2)

    return op("(Tensor(a!) x, Tensor y) -> ()", kernel), (rand(2, 2), rand(2, 2))


@wrong("mutation that is undone", "same values")
def _():
    def kernel(x):
        x.mul_(2)
        result = x.sum()
        x.mul_(0.5)
        return result

    return op(UNARY, kernel, lambda x: x.new_empty(())), (rand(4),)


@wrong("mutation of a rare element", "written")
def _():
    def kernel(x):
        a = x.numpy()
        if a.size > 5:
            a.reshape(-1)[5] = -a.reshape(-1)[5]
        return wrap(np.abs(a))

    return op(UNARY, kernel, like), (rand(3, 3),)


@wrong("mutation of a strided input", "written")
def _():
    def kernel(x):
        if not x.is_contiguous():
            x.numpy()[...] *= 2  # "it is a copy anyway"
        return wrap(np.cos(x.numpy()))

    return op(UNARY, kernel, like), (rand(4, 3),)


@wrong("mutation of gaps", "between its elements")
def _():
    def kernel(x):
        flat = x._storage.array((x._storage.nbytes // 4,), (1,), 0, ow.float32)
        flat[...] = 0

    return op("(Tensor(a!) x) -> ()", kernel), (rand(4, 6)[:, ::2],)


@wrong("mutation of a 0-d input", "written")
def _():
    def kernel(x, n):
        n += 1
        return x * n

    return op(BINARY, kernel, like), (rand(3), rand())


# ---- wrong: aliases ------------------------------------------------------------------------------------------------


@wrong("output aliases input", "shares memory")
def _():
    return op(UNARY, lambda x: x, like), (rand(3),)


@wrong("output aliases input", "shares memory")
def _():
    return op(UNARY, lambda x: wrap(np.ascontiguousarray(x.numpy())), lambda x: x.new_empty(x.shape)), (rand(4, 2).t(),)


@wrong("output aliases input", "shares memory")
def _():
    lib = Library("opcheck_cases", "FRAGMENT")
    _kept.append(lib)
    name = f"lib{next(_counter)}"
    lib.define(f"{name}(Tensor x) -> Tensor")
    lib.impl(name, lambda x: x[1:], "CompositeExplicitAutograd")
    register_fake(f"opcheck_cases::{name}", lambda x: x.new_empty((x.shape[0] - 1,)), lib=lib)
    return getattr(ow.ops.opcheck_cases, name).default, (rand(5),)


@wrong("outputs alias each other", "share memory")
def _():
    def kernel(x):
        y = np.sin(x.numpy())
        return wrap(y), wrap(y[:1])

    return op("(Tensor x) -> (Tensor, Tensor)", kernel, lambda x: (like(x), x.new_empty((1,)))), (rand(3),)


@wrong("outputs alias each other", "share memory")
def _():
    def kernel(x):
        y = x * 2
        return [y, y]

    return op("(Tensor x) -> Tensor[]", kernel, lambda x: [like(x), like(x)]), (rand(2, 3),)


@wrong("declared view is a copy", "declared to share memory")
def _():
    return op("(Tensor(a) x) -> Tensor(a)", lambda x: x.clone(), lambda x: x[:]), (rand(3),)


@wrong("declared view, fake makes a new tensor", "new tensor")
def _():
    made = op("(Tensor(a) x) -> Tensor(a)", lambda x: x[1:], lambda x: x.new_empty((x.shape[0] - 1,)))
    return made, (rand(4),)


@wrong("state kept between calls", "share memory")
def _():
    buffers = {}

    def kernel(x):
        buffer = buffers.setdefault(tuple(x.shape), ow.empty_like(x))
        buffer.copy_(x * 2)
        return buffer

    return op(UNARY, kernel, like), (rand(3, 3),)


@wrong("state kept between calls", "two calls")
def _():
    calls = itertools.count(1)
    return op(UNARY, lambda x: x * float(next(calls)), like), (rand(3),)


@wrong("state kept between calls", "share memory")
def _():
    remembered = {}

    def kernel(x):  # keyed by shape only
        key = tuple(x.shape), x.dtype
        if key not in remembered:
            remembered[key] = x.sum()
        return remembered[key]

    return op(UNARY, kernel, lambda x: x.new_empty(())), (rand(3),)


@wrong("nondeterminism", "different results")
def _():
    return op(UNARY, lambda x: wrap(x.numpy() + np.random.rand(*x.shape).astype("f4")), like), (rand(4),)


@wrong("nondeterminism", "different results")
def _():
    return op("(Tensor x, float p) -> Tensor", lambda x, p: x * (ow.rand(x.shape) > p), like), (rand(4, 8), 0.5)


# ---- wrong: fake rules ---------------------------------------------------------------------------------------------


@wrong("fake: dtype", "dtype")
def _():
    return op(UNARY, lambda x: wrap(np.argsort(x.numpy())), like), (rand(5),)


@wrong("fake: dtype", "dtype")
def _():
    return op(UNARY, lambda x: wrap(x.numpy() > 1), lambda x: ow.empty(x.shape, dtype=ow.uint8)), (rand(2, 2),)


@wrong("fake: shape", "sizes")
def _():
    return op(UNARY, lambda x: wrap(x.numpy().sum(1)), lambda x: x.new_empty((x.shape[1],))), (rand(3, 4),)


@wrong("fake: shape", "sizes")
def _():
    def kernel(x, k):
        return wrap(np.repeat(x.numpy(), k, 0))

    return op("(Tensor x, int k=2) -> Tensor", kernel, lambda x, k: x.new_empty((x.shape[0] + k, *x.shape[1:]))), (
        rand(3, 4), 2,
    )  # fmt: skip


@wrong("fake: shape", "sizes")
def _():
    return op(UNARY, lambda x: wrap(x.numpy().sum(keepdims=True)), lambda x: x.new_empty(())), (rand(1),)


@wrong("fake: stride", "strides")
def _():
    return op(UNARY, lambda x: wrap(np.sin(x.numpy()).T), lambda x: x.new_empty((x.shape[1], x.shape[0]))), (
        rand(3, 4),
    )


@wrong("fake: stride", "strides")
def _():
    def kernel(x):  # row-major always, empty_like is not
        return wrap(np.array(np.exp(x.numpy()), order="C"))

    return op(UNARY, kernel, like), (rand(3, 4),)


@wrong("fake: device", "device")
def _():
    return op(UNARY, np_sin, lambda x: ow.empty(x.shape, device="meta")), (rand(3),)


@wrong("fake: missing", "no rule")
def _():
    return op(UNARY, np_sin), (rand(3),)


@wrong("fake: missing", "no rule")
def _():
    lib = Library("opcheck_cases", "FRAGMENT")
    _kept.append(lib)
    name = f"lib{next(_counter)}"
    lib.define(f"{name}(Tensor x) -> Tensor")
    lib.impl(name, np_sin, "CPU")
    return getattr(ow.ops.opcheck_cases, name), (rand(3),)


@wrong("fake: returns input", "returned an input")
def _():
    return op(UNARY, np_sin, lambda x: x), (rand(3),)


@wrong("fake: returns a view of the input", "view")
def _():
    return op(UNARY, lambda x: wrap(x.numpy().T.copy()), lambda x: x.t()), (rand(3, 4),)


@wrong("fake: default", "default")
def _():
    def kernel(x, *, k=3):
        return wrap(np.repeat(x.numpy(), k))

    return op("(Tensor x, *, int k=3) -> Tensor", kernel, lambda x, *, k=2: x.new_empty((x.shape[0] * k,))), (rand(4),)


@wrong("fake: default", "default")
def _():
    def fake(x, dim=0):
        return x.new_empty(tuple(s for i, s in enumerate(x.shape) if i != dim))

    def kernel(x, dim=1):
        return wrap(x.numpy().sum(dim))

    return op("(Tensor x, int dim=1) -> Tensor", kernel, fake), (rand(3, 4),)


@wrong("kernel: default", "default")
def _():
    def kernel(x, k=4):
        return x * k

    return op("(Tensor x, int k=2) -> Tensor", kernel, like), (rand(3),)


@wrong("fake: order of parameters", "order")
def _():
    def kernel(x, weight):
        return wrap(x.numpy() * weight.numpy().sum())

    return op("(Tensor x, Tensor weight) -> Tensor", kernel, lambda weight, x: ow.empty_like(weight)), (
        rand(3), rand(3),
    )  # fmt: skip


@wrong("kernel: order of parameters", "order")
def _():
    return op("(Tensor x, float a, float b) -> Tensor", lambda x, b, a: x * a + b, like), (rand(3), 2.0, 5.0)


@wrong("fake: reads data", "fake rule failed")
def _():
    def kernel(x):
        return wrap(x.numpy()[x.numpy() > 1])

    return op(UNARY, kernel, lambda x: x.new_empty((int((x > 1).sum()),))), (rand(9),)


@wrong("fake: reads data", "fake rule failed")
def _():
    return op(UNARY, np_sin, lambda x: wrap(np.empty_like(x.numpy()))), (rand(3),)


@wrong("fake: writes its argument", "changes argument")
def _():
    return op(UNARY, np_sin, lambda x: ow.empty_like(x.mul_(2))), (rand(3),)


@wrong("fake: number of outputs", "must return")
def _():
    return op("(Tensor x) -> (Tensor, Tensor)", lambda x: (x + 1, x + 2), lambda x: (like(x),)), (rand(3),)


@wrong("fake: length of list", "list of")
def _():
    def kernel(x):
        return [wrap(a.copy()) for a in x.numpy()]

    return op("(Tensor x) -> Tensor[]", kernel, lambda x: [x.new_empty(x.shape[1:])] * 2), (rand(3, 2),)


@wrong("fake: None in place of a tensor", "NoneType")
def _():
    def kernel(x, bias):
        return x * 2, None if bias is None else bias * 2

    return op("(Tensor x, Tensor? bias) -> (Tensor, Tensor?)", kernel, lambda x, b: (like(x), None)), (rand(3), rand(3))


@wrong("fake: number that depends on data", "different values")
def _():
    made = op("(Tensor x) -> int", lambda x: int((x.numpy() > 1).sum()), lambda x: x.numel())
    return made, (rand(7),)


# ---- wrong: results ------------------------------------------------------------------------------------------------


@wrong("kernel: number of returns", "return")
def _():
    return op("(Tensor x) -> (Tensor, Tensor)", lambda x: (x + 1, x + 2, x + 3), lambda x: (like(x), like(x))), (
        rand(3),
    )


@wrong("kernel: returns None", "return")
def _():
    return op(UNARY, lambda x: None, like), (rand(3),)


@wrong("kernel: returns a float for an int", "must return")
def _():
    return op("(Tensor x) -> int", lambda x: x.numel() / 2, lambda x: x.numel() // 2), (rand(3),)


@wrong("kernel: zero-size shape", "sizes")
def _():
    def kernel(x):
        return wrap(np.zeros((1,), "f4")) if x.numel() == 0 else wrap(x.numpy().sum(1))

    return op(UNARY, kernel, lambda x: x.new_empty((x.shape[0],))), (rand(3, 4),)


@wrong("kernel: zero-size dtype", "dtype")
def _():
    def kernel(x):
        return wrap(np.array([v * 2 for v in x.numpy()]))

    return op(UNARY, kernel, like), (rand(4),)


@wrong("kernel: ignores strides", "memory layout")
def _():
    def kernel(x):
        flat = x._storage.array((x.numel(),), (1,), x.storage_offset(), x.dtype)
        return wrap(np.cumsum(flat).reshape(tuple(x.shape)))

    return op(UNARY, kernel, lambda x: x.new_empty(x.shape)), (rand(3, 4),)


@wrong("kernel: ignores strides", "memory layout")
def _():
    def kernel(x, y):
        return wrap(x.numpy().ravel(order="K") * y.numpy().ravel(order="K"))

    return op(BINARY, kernel, lambda x, y: x.new_empty((x.numel(),))), (rand(3, 4), rand(3, 4, seed=1))


@wrong("kernel: ignores the offset", "memory layout")
def _():
    def kernel(x):
        array = x._storage.array(tuple(x.shape), tuple(x.stride()), 0, x.dtype)
        return wrap(array * 2)

    return op(UNARY, kernel, lambda x: x.new_empty(x.shape)), (rand(6),)


# ---- wrong: gradients ----------------------------------------------------------------------------------------------


def gradient(kind, catches, schema, kernel, fake, backward, setup, args):
    def case():
        made = op(schema, kernel, fake, backward=backward, setup=setup)
        return made, args()

    wrong(kind, catches)(case)


def x_grad(*sizes, **options):
    return lambda: (rand(*sizes, grad=True, **options),)


def xy_grad(a=(3, 4), b=(3, 4)):
    return lambda: (rand(*a, grad=True), rand(*b, seed=1, grad=True))


gradient("gradient: factor", "factor", UNARY, lambda x: wrap(x.numpy() ** 2), like,
         lambda ctx, g: g * ctx.saved_tensors[0], keep_inputs, x_grad(3, 4))  # fmt: skip
gradient("gradient: sign", "sign", UNARY, lambda x: wrap(np.cos(x.numpy())), like,
         lambda ctx, g: g * ctx.saved_tensors[0].sin(), keep_inputs, x_grad(5))  # fmt: skip
gradient("gradient: transposed", "is wrong", BINARY, np_matmul, fake_matmul,
         lambda ctx, g: (g @ ctx.saved_tensors[1], ctx.saved_tensors[0] @ g), keep_inputs,
         xy_grad((3, 3), (3, 3)))  # fmt: skip
gradient("gradient: missing term", "is wrong", UNARY, lambda x: wrap(x.numpy() * np.sin(x.numpy())), like,
         lambda ctx, g: g * ctx.saved_tensors[0].sin(), keep_inputs, x_grad(4))  # fmt: skip
gradient("gradient: None for an input", "is wrong", BINARY, np_mul, times,
         lambda ctx, g: (g * ctx.saved_tensors[1], None), keep_inputs, xy_grad())  # fmt: skip
gradient("gradient: shape", "backward raised", UNARY, lambda x: wrap(x.numpy().sum(0)),
         lambda x: x.new_empty(x.shape[1:]), lambda ctx, g: g[:2], keep_inputs, x_grad(3, 4))  # fmt: skip
gradient("gradient: of a broadcast input", "backward raised", BINARY, lambda x, y: wrap(x.numpy() + y.numpy()),
         times, lambda ctx, g: (g, g.sum(1)), None, xy_grad((3, 4), (4,)))  # fmt: skip
gradient("gradient: order of arguments", "is wrong", BINARY, lambda x, y: wrap(x.numpy() / y.numpy()), times,
         lambda ctx, g: (-g * ctx.saved_tensors[0] / ctx.saved_tensors[1] ** 2, g / ctx.saved_tensors[1]),
         keep_inputs, xy_grad())  # fmt: skip
gradient("gradient: number", "backward raised", "(Tensor x, float a) -> Tensor", lambda x, a: wrap(x.numpy() * a), like,
         lambda ctx, g: g * ctx.rest[0], keep_inputs, lambda: (rand(3, grad=True), 2.0))  # fmt: skip
gradient("second order: detached", "second derivative", UNARY, lambda x: wrap(x.numpy() ** 3), like,
         lambda ctx, g: g * 3 * ctx.saved_tensors[0].detach() ** 2, keep_inputs, x_grad(4))  # fmt: skip
gradient("second order: value kept as an attribute", "second derivative", UNARY,
         lambda x: wrap(np.exp(x.numpy())), like,
         lambda ctx, g: g * ctx.kept, lambda ctx, inputs, output: setattr(ctx, "kept", output.clone()),
         x_grad(4))  # fmt: skip
gradient("second order: detached gradient", "second derivative", UNARY, np_sin, like,
         lambda ctx, g: g.detach() * ctx.saved_tensors[0].cos(), keep_inputs, x_grad(4))  # fmt: skip
gradient("backward mutates grad", "backward: ", UNARY, lambda x: wrap(x.numpy() * 2), like,
         lambda ctx, g: g.detach().mul_(2), None, x_grad(4))  # fmt: skip
gradient("backward mutates what it saved", "backward: x was written", UNARY, lambda x: wrap(x.numpy() ** 2), like,
         lambda ctx, g: g * ctx.kept.mul_(2), lambda ctx, inputs, output: setattr(ctx, "kept", inputs[0].detach()),
         x_grad(4))  # fmt: skip
gradient("backward branches on data", "cannot be traced", UNARY, np_sin, like,
         lambda ctx, g: g * ctx.saved_tensors[0].cos() if g.abs().sum() > 0 else g * 0, keep_inputs,
         x_grad(4))  # fmt: skip
gradient("backward uses NumPy", "second derivative", UNARY, np_sin, like,
         lambda ctx, g: wrap(g.detach().numpy() * np.cos(ctx.saved_tensors[0].detach().numpy())), keep_inputs,
         x_grad(4))  # fmt: skip
gradient("backward keeps state", "different gradients", UNARY, np_sin, like,
         lambda ctx, g, n=itertools.count(1): g * ctx.saved_tensors[0].cos() * float(next(n)), keep_inputs,
         x_grad(4))  # fmt: skip
gradient("gradient: of a power", "is wrong", "(Tensor x, float a) -> Tensor",
         lambda x, a: wrap(x.numpy() ** a), like,
         lambda ctx, g: (g * ctx.rest[0] * ctx.saved_tensors[0], None), keep_inputs,
         lambda: (rand(3, grad=True), 3.0))  # fmt: skip
gradient("gradient: of a list", "is wrong", "(Tensor[] xs) -> Tensor", lambda xs: wrap(sum(x.numpy() for x in xs)),
         lambda xs: like(xs[0]), lambda ctx, g: [g, g * 2], None,
         lambda: ([rand(3, grad=True), rand(3, seed=1, grad=True)],))  # fmt: skip
gradient("gradient: of one of two outputs", "is wrong", "(Tensor x) -> (Tensor, Tensor)",
         lambda x: (wrap(np.sin(x.numpy())), wrap(np.cos(x.numpy()))), lambda x: (like(x), like(x)),
         lambda ctx, g, h: g * ctx.saved_tensors[0].cos(), keep_inputs, x_grad(4))  # fmt: skip


@wrong("gradient: needs_input_grad", "only that one")
def _():
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        if all(ctx.needs_input_grad):
            return g * y, g * x
        return (g, None) if ctx.needs_input_grad[0] else (None, g)

    return op(BINARY, np_mul, times, backward=backward, setup=keep_inputs), (rand(3, grad=True), rand(3, grad=True))


@wrong("gradient: recorded below autograd", "below Autograd")
def _():
    class Double(ow.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return op(UNARY, lambda x: Double.apply(x), like), (rand(3, grad=True),)


@wrong("gradient: recorded below autograd", "below Autograd")
def _():
    lib = Library("opcheck_cases", "FRAGMENT")
    _kept.append(lib)
    name = f"lib{next(_counter)}"
    lib.define(f"{name}(Tensor x) -> Tensor")
    lib.impl(name, lambda x: x.sin() * 2, "CPU")
    register_fake(f"opcheck_cases::{name}", like, lib=lib)
    return getattr(ow.ops.opcheck_cases, name).default, (rand(3, grad=True),)


# ---- wrong: vmap ---------------------------------------------------------------------------------------------------


def unary_rule(info, in_dims, x):
    return np_sin(x), in_dims[0]


@wrong("vmap: output dimension", "vmap")
def _():
    return op(UNARY, np_sin, like, vmap=lambda info, in_dims, x: (np_sin(x), 0)), (rand(3, 3),)


@wrong("vmap: sums over the batch", "vmap")
def _():
    def rule(info, in_dims, x):
        return wrap(np.broadcast_to(x.numpy().sum(), (info.batch_size,)).copy()), 0

    made = op(UNARY, lambda x: wrap(x.numpy().sum()), lambda x: x.new_empty(()), vmap=rule)
    return made, (rand(4),)


@wrong("vmap: takes all arguments to be batched", "vmap")
def _():
    def rule(info, in_dims, x, y):
        x, y = x.movedim(in_dims[0], 0), y.movedim(in_dims[1] or 0, 0)
        return wrap(x.numpy() * y.numpy()), 0

    return op(BINARY, np_mul, times, vmap=rule), (rand(3, 3), rand(3, 3, seed=1))


@wrong("vmap: returns no dimensions", "vmap")
def _():
    return op(UNARY, np_sin, like, vmap=lambda info, in_dims, x: np_sin(x)), (rand(4),)


# ---- right ---------------------------------------------------------------------------------------------------------


def simple(kind, schema, kernel, fake, *args, **options):
    kwargs = options.pop("kwargs", {})
    right(kind)(lambda: (op(schema, kernel, fake, **options), args, kwargs))


def backward_sin(ctx, g):
    return g * ctx.saved_tensors[0].cos()


def backward_mul(ctx, g):
    x, y = ctx.saved_tensors
    return g * y, g * x


simple("unary", UNARY, np_sin, like, rand(3, 4))
simple("unary", UNARY, lambda x: x.relu() + 1, like, rand(2, 3, 4))
simple("unary on 0-d", UNARY, np_sin, like, rand())
simple("unary on size 0", UNARY, np_sin, like, rand(0, 3))
simple("unary on a view", UNARY, np_sin, like, rand(4, 6)[1:, ::2])
simple("unary on expanded", UNARY, lambda x: x * 2, like, rand(1, 3).expand(4, 3))
simple("unary with NaN", UNARY, np_sin, like, ow.tensor([1.0, float("nan"), float("inf")]))
simple("ints", UNARY, lambda x: x * 2 + 1, like, ints(3, 4))
simple("bools", UNARY, lambda x: wrap(~x.numpy()), like, ow.tensor([True, False]))
simple("bfloat16", UNARY, lambda x: x + 1, like, rand(3).to(ow.bfloat16))
simple("row-major result", UNARY, lambda x: wrap(np.array(np.exp(x.numpy()), order="C")),
       lambda x: x.new_empty(x.shape), rand(3, 4))  # fmt: skip
simple("insists on contiguous", UNARY, lambda x: contiguous_only(x), lambda x: x.new_empty(x.shape), rand(3, 4))
simple("refuses size 0", UNARY, lambda x: wrap(np.asarray(x.numpy().max())), lambda x: x.new_empty(()), rand(3, 4))
simple("binary", BINARY, np_mul, times, rand(3, 1), rand(4))
simple("binary, same tensor twice", BINARY, np_mul, times, *([rand(3)] * 2))
simple("matrix product", BINARY, np_matmul, fake_matmul, rand(3, 4), rand(4, 5))
simple("reduction", "(Tensor x, int dim, bool keepdim=False) -> Tensor",
       lambda x, dim, keepdim=False: wrap(x.numpy().sum(dim, keepdims=keepdim)),
       lambda x, dim, keepdim: x.sum(dim, keepdim=keepdim), rand(3, 4), 1)  # fmt: skip
simple("reduction to 0-d", UNARY, lambda x: wrap(x.numpy().sum()), lambda x: x.new_empty(()), rand(3, 4))
simple(
    "argmax", UNARY, lambda x: wrap(x.numpy().argmax(0)), lambda x: ow.empty(x.shape[1:], dtype=ow.int64), rand(3, 4)
)
simple("comparison", BINARY, lambda x, y: wrap(x.numpy() > y.numpy()), lambda x, y: x > y,
       rand(3), rand(3, seed=1))  # fmt: skip
simple("gather", "(Tensor x, Tensor index) -> Tensor", lambda x, i: wrap(x.numpy()[i.numpy()]),
       lambda x, i: x.new_empty((*i.shape, *x.shape[1:])), rand(4, 5), ints(3, high=4))  # fmt: skip
simple("several outputs", "(Tensor x) -> (Tensor, Tensor)",
       lambda x: (wrap(np.sort(x.numpy())), wrap(np.argsort(x.numpy()))),
       lambda x: (x.new_empty(x.shape), ow.empty(x.shape, dtype=ow.int64)), rand(7))  # fmt: skip
simple("list of outputs", "(Tensor x) -> Tensor[]", lambda x: [wrap(a.copy()) for a in x.numpy()],
       lambda x: [x.new_empty(x.shape[1:]) for _ in range(x.shape[0])], rand(3, 2))  # fmt: skip
simple("interleaved outputs", "(Tensor x) -> (Tensor, Tensor)", lambda x: interleaved(x),
       lambda x: (ow.empty_strided(x.shape, (2,)), ow.empty_strided(x.shape, (2,))), rand(5))  # fmt: skip
simple("list argument", "(Tensor[] xs) -> Tensor", lambda xs: join(xs),
       lambda xs: xs[0].new_empty((sum(x.shape[0] for x in xs), *xs[0].shape[1:])),
       [rand(2, 3), rand(4, 3)])  # fmt: skip
simple("optional argument", "(Tensor x, Tensor? bias=None) -> Tensor",
       lambda x, bias=None: x + 1 if bias is None else x + bias, like, rand(3, 4))  # fmt: skip
simple("optional argument", "(Tensor x, Tensor? bias=None) -> Tensor",
       lambda x, bias=None: x + 1 if bias is None else x + bias, like, rand(3, 4), rand(4))  # fmt: skip
simple("optional result", "(Tensor x, bool both) -> (Tensor, Tensor?)",
       lambda x, both: (x + 1, x + 2 if both else None),
       lambda x, both: (like(x), like(x) if both else None), rand(3), False)  # fmt: skip
simple("keyword-only", "(Tensor x, *, float alpha=2.0, int[] dims=[0]) -> Tensor",
       lambda x, *, alpha=2.0, dims=(0,): wrap(x.numpy().sum(tuple(dims)) * np.float32(alpha)),
       lambda x, *, alpha=2.0, dims=(0,): x.sum(list(dims)), rand(3, 4), kwargs={"alpha": 0.5})  # fmt: skip
simple("number of a size", "(Tensor x) -> int", lambda x: x.numel(), lambda x: x.numel(), rand(3, 4))
simple("tensor and number", "(Tensor x) -> (Tensor, int)", lambda x: (x * 2, x.dim()), lambda x: (like(x), x.dim()),
       rand(3, 4))  # fmt: skip
simple("text argument", "(Tensor x, str mode=\"sin\") -> Tensor",
       lambda x, mode="sin": wrap(getattr(np, mode)(x.numpy())), like, rand(3), "cos")  # fmt: skip
simple("in place", "(Tensor(a!) x) -> ()", lambda x: in_place(x), None, rand(3, 4))
simple("in place on a view", "(Tensor(a!) x) -> ()", lambda x: in_place(x), None, rand(4, 6)[:, ::2])
simple("in place, returning", "(Tensor(a!) x) -> Tensor(a!)", lambda x: x.mul_(2), lambda x: x, rand(3))
simple(
    "out", "(Tensor x, Tensor(a!) out) -> ()", lambda x, out: out.copy_(x.sin()) is None or None, None, rand(3), rand(3)
)
simple("out and result", "(Tensor x, Tensor(a!) out) -> Tensor",
       lambda x, out: out.copy_(x) * 2, lambda x, out: like(x),
       rand(3), rand(3))  # fmt: skip
simple("writes a list", "(Tensor(a!)[] xs) -> ()", lambda xs: [x.add_(1) for x in xs] and None, None,
       [rand(3), rand(2, 2)])  # fmt: skip
simple("view", "(Tensor(a) x) -> Tensor(a)", lambda x: x[1:], lambda x: x[1:], rand(4, 3))
simple("transposed view", "(Tensor(a) x) -> Tensor(a)", lambda x: x.t(), lambda x: x.t(), rand(4, 3))
simple("random", UNARY, lambda x: wrap(x.numpy() * np.random.rand(*x.shape).astype("f4")), like, rand(4),
       tags=Tag.nondeterministic_seeded)  # fmt: skip
simple("random", "(Tensor x, float p) -> (Tensor, Tensor)", lambda x, p: dropped(x, p),
       lambda x, p: (like(x), ow.empty_like(x, dtype=ow.bool)), rand(4, 4), 0.5,
       tags=Tag.nondeterministic_seeded)  # fmt: skip
simple("no tensors", "(int n) -> Tensor", lambda n: ow.arange(n), lambda n: ow.empty((n,), dtype=ow.int64), 5)

simple("gradient", UNARY, np_sin, like, rand(3, 4, grad=True), backward=backward_sin, setup=keep_inputs)
simple("gradient in double", UNARY, np_sin, like, rand(3, 4, dtype=np.float64, grad=True), backward=backward_sin,
       setup=keep_inputs)  # fmt: skip
simple("gradient on 0-d", UNARY, np_sin, like, rand(grad=True), backward=backward_sin, setup=keep_inputs)
simple("gradient of a product", BINARY, np_mul, times, rand(3, grad=True), rand(3, seed=1, grad=True),
       backward=backward_mul, setup=keep_inputs)  # fmt: skip
simple("gradient of one of two", BINARY, np_mul, times, rand(3, grad=True), rand(3, seed=1), backward=backward_mul,
       setup=keep_inputs)  # fmt: skip
simple("gradient of a broadcast", BINARY, np_mul, times, rand(3, 1, grad=True), rand(4, seed=1, grad=True),
       backward=backward_mul, setup=keep_inputs)  # fmt: skip
simple("gradient of a matrix product", BINARY, np_matmul, fake_matmul, rand(3, 4, grad=True), rand(4, 2, grad=True),
       backward=lambda ctx, g: (g @ ctx.saved_tensors[1].t(), ctx.saved_tensors[0].t() @ g),
       setup=keep_inputs)  # fmt: skip
simple("gradient at a kink", UNARY, lambda x: wrap(np.maximum(x.numpy(), 0)), like,
       ow.tensor([-1.0, 0.0, 0.0, 2.0]).requires_grad_(),
       backward=lambda ctx, g: g * (ctx.saved_tensors[0] > 0), setup=keep_inputs)  # fmt: skip
simple("gradient passed straight through", UNARY, lambda x: wrap(np.round(x.numpy())), like, rand(5, grad=True),
       backward=lambda ctx, g: g)  # fmt: skip
simple("gradient of two outputs", "(Tensor x) -> (Tensor, Tensor)",
       lambda x: (wrap(np.sin(x.numpy())), wrap(np.cos(x.numpy()))), lambda x: (like(x), like(x)), rand(4, grad=True),
       backward=lambda ctx, g, h: g * ctx.saved_tensors[0].cos() - h * ctx.saved_tensors[0].sin(),
       setup=keep_inputs)  # fmt: skip
simple("gradient of a list", "(Tensor[] xs) -> Tensor", lambda xs: wrap(sum(x.numpy() for x in xs)),
       lambda xs: like(xs[0]), [rand(3, grad=True), rand(3, seed=1, grad=True)],
       backward=lambda ctx, g: [g.clone(), g.clone()])  # fmt: skip
simple("gradient with a number", "(Tensor x, float a) -> Tensor", lambda x, a: wrap(x.numpy() * a), like,
       rand(3, grad=True), 2.5, backward=lambda ctx, g: (g * ctx.rest[0], None), setup=keep_inputs)  # fmt: skip
simple("gradient, once differentiable", UNARY, lambda x: wrap(x.numpy() ** 3), like, rand(4, grad=True),
       backward=ow.autograd.function.once_differentiable(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2),
       setup=keep_inputs)  # fmt: skip
simple("gradient with an int output", "(Tensor x) -> (Tensor, Tensor)",
       lambda x: (wrap(np.sort(x.numpy())), wrap(np.argsort(x.numpy()))),
       lambda x: (x.new_empty(x.shape), ow.empty(x.shape, dtype=ow.int64)), rand(5, grad=True),
       backward=lambda ctx, g, _: ow.zeros_like(g).scatter(0, ctx.saved_tensors[0], g),
       setup=lambda ctx, inputs, output: ctx.save_for_backward(output[1]))  # fmt: skip
simple("no formula", UNARY, lambda x: wrap(np.sin(x.detach().numpy())), like, rand(3, grad=True))
simple("vmap rule", UNARY, np_sin, like, rand(3, 4), vmap=unary_rule)


@right("vmap rule of two")
def _():
    def rule(info, in_dims, x, y):
        x, y = (t if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims, strict=True))
        return wrap(x.numpy() * y.numpy()), 0

    return op(BINARY, np_mul, times, vmap=rule), (rand(3, 4), rand(3, 4, seed=1))


@triton.jit
def _scale_kernel(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) * factor, mask=mask)


@right("triton_op")
def _():
    @triton_op(f"opcheck_cases::triton{next(_counter)}", mutates_args=())
    def scale(x: ow.Tensor, factor: float) -> ow.Tensor:
        x = x.contiguous()
        out = ow.empty_like(x)
        n = x.numel()
        if n:
            wrap_triton(_scale_kernel)[(triton.cdiv(n, 64),)](x, out, n, factor, BLOCK=64)
        return out

    return scale, (rand(100), 3.0)


@right("annotated function")
def _():
    @custom_op(f"opcheck_cases::annotated{next(_counter)}", mutates_args=("acc",))
    def add_to(acc: ow.Tensor, x: ow.Tensor, scale: float = 1.0) -> ow.Tensor:
        acc.add_(x * scale)
        return x.sum()

    add_to.register_fake(lambda acc, x, scale=1.0: x.new_empty(()))
    return add_to, (rand(3), rand(3, seed=1))


@right("composite of a library")
def _():
    lib = Library("opcheck_cases", "FRAGMENT")
    _kept.append(lib)
    name = f"lib{next(_counter)}"
    lib.define(f"{name}(Tensor x) -> Tensor")
    lib.impl(name, lambda x: x.sin() * 2, "CompositeImplicitAutograd")
    return getattr(ow.ops.opcheck_cases, name).default, (rand(3, grad=True),)


right("built-in")(lambda: (ow.ops.aten.sin.default, (rand(3, grad=True),)))
right("built-in")(lambda: (ow.ops.aten.add, (rand(3, grad=True), rand(3, grad=True)), {"alpha": 2}))
right("built-in")(lambda: (ow.ops.aten.add_.Tensor, (rand(3), rand(3))))
right("built-in")(lambda: (ow.ops.aten.mm.default, (rand(3, 4, grad=True), rand(4, 2, grad=True))))


def contiguous_only(x):
    if not x.is_contiguous():
        raise ValueError("x must be contiguous")
    return wrap(np.cumsum(x.numpy(), 0))


def join(xs):
    return wrap(np.concatenate([x.numpy() for x in xs])).contiguous()


def in_place(x):
    x.numpy()[...] = np.cos(x.numpy())


def interleaved(x):
    pair = np.stack([x.numpy(), x.numpy() * 2], -1)
    return wrap(pair[:, 0]), wrap(pair[:, 1])


def dropped(x, p):
    mask = ow.rand_like(x) > p
    return x * mask, mask


# ---- trying them ---------------------------------------------------------------------------------------------------


def try_case(fn):
    """{test: "SUCCESS" or error text} of a case, and the seconds it took."""
    made, args, *rest = fn()
    start = time.perf_counter()
    results = opcheck(made, args, *rest, raise_exception=False, level="thorough")
    return {test: str(result) for test, result in results.items()}, time.perf_counter() - start


def caught(results):
    """Texts of the errors."""
    return [text for text in results.values() if text != "SUCCESS"]


def main(pattern=""):
    counts = {"wrong": 0, "right": 0}
    for label, cases in (("wrong", WRONG), ("right", RIGHT)):
        for name, (fn, word) in cases.items():
            if pattern not in name:
                continue
            results, took = try_case(fn)
            texts = caught(results)
            good = bool(texts) == (label == "wrong")
            counts[label] += good
            failing = ", ".join(test.removeprefix("test_") for test, text in results.items() if text != "SUCCESS")
            note = "" if word is None or label == "right" or any(word in text for text in texts) else "  OTHER REASON"
            print(f"{label} {'ok  ' if good else 'MISS'} {took * 1e3:6.0f} ms  {name:45s} {failing}{note}")
            if (pattern or not good or note) and texts:
                print("    " + "\n    ".join("\n".join(texts).splitlines()))
    print(f"caught {counts['wrong']} of {len(WRONG)} wrong; passed {counts['right']} of {len(RIGHT)} right")


if __name__ == "__main__":
    main(*sys.argv[1:])
