"""Overloads of users' ops: each is defined, registered for, called, differentiated and traced by its name."""

import pytest
from test_registration import check, example, forget  # noqa: F401  # a fixture

import opweave


def _one(x):
    return x * 2


def _two(x, y):
    return x * y


def _three(x, n):
    return x + n


def _annotated(T, fn, **kinds):
    fn = type(fn)(fn.__code__, fn.__globals__)
    fn.__annotations__ = {**{name: getattr(T, kind, None) or kind for name, kind in kinds.items()}, "return": T.Tensor}
    return fn


def _ops(T, ns):
    """Three overloads of one name."""
    custom = T.library.custom_op
    return (
        custom(f"{ns}::f.two", _annotated(T, _two, x="Tensor", y="Tensor"), mutates_args=()),
        custom(f"{ns}::f", _annotated(T, _one, x="Tensor"), mutates_args=()),
        custom(f"{ns}::f.three", _three, mutates_args=(), schema="(Tensor x, int n) -> Tensor"),
    )


def custom_ops(T, ns):
    two, one, three = _ops(T, ns)
    x, y = example(T, 2), example(T, 2, start=3)
    packet = getattr(T.ops, ns).f
    names = [op._qualname.removeprefix(ns) for op in (two, one, three)]
    called = [packet(x), packet(x, y), packet(x, 4), packet.two(x, y), packet.default(x), packet.three(x, 4)]
    return (
        names,
        sorted(packet.overloads()),
        called,
        [two(x, y), one(x), three(x, 1)],
        str(two._opoverload._schema)[len(ns) :],
    )


def replaced(T, ns):
    _ops(T, ns)
    T.library.custom_op(f"{ns}::f.two", lambda x, y: x - y, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
    packet = getattr(T.ops, ns).f
    return packet(example(T, 2), example(T, 2, start=5)), packet(example(T, 2)), sorted(packet.overloads())


def defined(T, ns):
    library = T.library
    for overload, schema in ((".two", "(Tensor x, Tensor y)"), ("", "(Tensor x)"), (".three", "(Tensor x, int n)")):
        library.define(f"{ns}::f{overload}", schema + " -> Tensor")
    library.impl(f"{ns}::f.two", "cpu", _two)
    library.impl(f"{ns}::f", "cpu", _one)
    library.register_kernel(f"{ns}::f.three", "cpu", _three)
    packet = getattr(T.ops, ns).f
    x = example(T, 2)
    return packet(x), packet(x, x), packet(x, 3), packet.overloads()


def fragment(T, ns):
    library = T.library.Library(ns, "FRAGMENT")
    found = [library.define("f.two(Tensor x, Tensor y) -> Tensor")]
    library.impl("f.two", _two, "CPU")
    packet = getattr(T.ops, ns).f
    return found, packet(example(T, 2), example(T, 2)), packet.overloads()


def told_more(T, ns):
    """Fake rule, gradient, batching rule and autocast of one overload leave the other alone."""
    _ops(T, ns)
    library = T.library
    library.register_fake(f"{ns}::f.two", lambda x, y: T.empty_like(x))
    library.register_autograd(f"{ns}::f.two", lambda ctx, g: (g * 7, g * 11))
    library.register_vmap(f"{ns}::f.two", lambda info, in_dims, x, y: (x * y * 100, in_dims[0]))
    library.register_autograd(getattr(T.ops, ns).f.default, lambda ctx, g: g * 13)
    library.register_autocast(f"{ns}::f.two", "cpu", T.bfloat16)
    x, y = example(T, 2).requires_grad_(), example(T, 2).requires_grad_()
    packet = getattr(T.ops, ns).f
    (packet(x, y).sum() + packet(x).sum()).backward()
    with T.autocast("cpu", dtype=T.bfloat16):
        types = [str(packet(x, y).dtype).split(".")[-1], str(packet(x).dtype).split(".")[-1]]
    rows = example(T, 2, 3)
    return x.grad, y.grad, T.vmap(packet.two)(rows, rows), types


def checked(T, ns):
    two, _, _ = _ops(T, ns)
    two.register_fake(lambda x, y: T.empty_like(x))
    two.register_autograd(
        lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x, y = example(T, 2).requires_grad_(), example(T, 2, start=3).requires_grad_()
    given = T.library.opcheck(two, (x, y)), T.library.opcheck(getattr(T.ops, ns).f.two, (x, y))
    return [sorted(found.items()) for found in given]


def kernel_of_an_overload(T, ns):
    _ops(T, ns)
    kernel = T.library.get_kernel(f"{ns}::f.two", "CPU")
    x = example(T, 2)
    keys = T if hasattr(T, "DispatchKeySet") else T._C
    return kernel.call_boxed(keys.DispatchKeySet(keys.DispatchKey.CPU), x, x)


def transparent(T, ns):
    T.library.triton_op(f"{ns}::f.two", _annotated(T, _two, x="Tensor", y="Tensor"), mutates_args=())
    T.library.triton_op(f"{ns}::f", _annotated(T, _one, x="Tensor"), mutates_args=())
    packet = getattr(T.ops, ns).f
    return packet(example(T, 2)), packet(example(T, 2), example(T, 2))


def defined_and_custom(T, ns):
    T.library.define(f"{ns}::f.two", "(Tensor x) -> Tensor")
    T.library.custom_op(f"{ns}::f.two", _annotated(T, _one, x="Tensor"), mutates_args=())


def no_fit(T, ns):
    _ops(T, ns)
    return getattr(T.ops, ns).f("text")


def no_such_overload(T, ns):
    _ops(T, ns)
    return getattr(T.ops, ns).f.four


CASES = [
    custom_ops, replaced, defined, fragment, told_more, checked, kernel_of_an_overload, transparent, defined_and_custom,
    no_fit, no_such_overload,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_overloads(case):
    check(case, case.__name__)


@pytest.mark.parametrize("overload", ["default", "__x", "a.b", "", "x-y", "2", "o"])
@pytest.mark.parametrize("how", ["custom_op", "define"])
def test_names(overload, how):
    def case(T, ns):
        if how == "define":
            T.library.define(f"{ns}::f.{overload}", "(Tensor x) -> Tensor")
        else:
            T.library.custom_op(f"{ns}::f.{overload}", _annotated(T, _one, x="Tensor"), mutates_args=())
        return getattr(T.ops, ns).f.overloads()

    check(case, f"{how} of the overload {overload!r}")


def test_an_overload_is_traced_compiled_and_exported():
    two, one, _ = _ops(opweave, "overloads_traced")
    two.register_fake(lambda x, y: opweave.empty_like(x))
    one.register_fake(lambda x: opweave.empty_like(x))
    f = opweave.ops.overloads_traced.f

    def fn(x):
        return f(f(x), x)

    x = opweave.tensor([1.0, 2.0])
    module = opweave.make_fx(fn, tracing_mode="fake")(x)
    assert [n.target for n in module.graph.nodes if n.op == "call_function"] == [f.default, f.two]
    program = opweave.export.export(fn, (x,))
    for run in (module, opweave.compile(fn), program.module()):
        assert run(x).tolist() == [2.0, 8.0]


def test_an_overload_of_a_builtin_op():
    op = opweave.library.custom_op("aten::sin.twice", _annotated(opweave, _one, x="Tensor"), mutates_args=())
    assert op(opweave.ones(1)).tolist() == [2.0] and opweave.ops.aten.sin.twice(opweave.ones(1)).tolist() == [2.0]
    assert opweave.sin(opweave.zeros(1)).tolist() == [0.0] == opweave.ops.aten.sin(opweave.zeros(1)).tolist()
    for name in ("aten::sin", "aten::add", "aten::add.Tensor"):
        with pytest.raises(RuntimeError, match="already defined, as a built-in op"):
            opweave.library.custom_op(name, _annotated(opweave, _one, x="Tensor"), mutates_args=())
