"""Gradients of registered ops, in the structure of their schemas, beside PyTorch.

The ops are generated: what each takes and returns is a row of kinds (a tensor, a list, a number ...). All compute
multiples of the product of their tensors, so that each gradient depends on every input and every other gradient.
"""

import itertools

import numpy as np
import pytest
import torch
from oracle import close, values_of

import opweave
from opweave.registry.custom_op import definitions
from opweave.registry.errors import AutogradError
from opweave.registry.op import registry

_serial = itertools.count()

TAKES = {
    "tensor": ("Tensor", lambda make: make()),
    "absent": ("Tensor?", lambda make: None),
    "optional": ("Tensor?", lambda make: make()),
    "list": ("Tensor[]", lambda make: [make(), make()]),
    "empty list": ("Tensor[]", lambda make: []),
    "optional list": ("Tensor[]?", lambda make: [make()]),
    "no list": ("Tensor[]?", lambda make: None),
    "number": ("float", lambda make: 2.0),
    "numbers": ("int[]", lambda make: [1, 2]),
}
GIVES = {
    "tensor": ("Tensor", lambda t: t * 2, lambda g: g * 2),
    "list": ("Tensor[]", lambda t: [t * 3, t * 5], lambda g: g[0] * 3 + g[1] * 5),
    "no tensors": ("Tensor[]", lambda t: [], lambda g: 0),
    "number": ("int", lambda t: 7, lambda g: 0 if g is None else 1e9),
    "integers": ("Tensor", lambda t: (t * 0).to(dtype=t.dtype).long(), lambda g: 0),
}
INPUTS = [
    ["tensor"], ["list"], ["list", "list"], ["tensor", "list"], ["list", "number", "tensor"],
    ["optional list", "tensor"], ["tensor", "numbers", "list"], ["tensor", "absent", "list"], ["no list", "tensor"],
    ["empty list", "tensor"],
    ["tensor", "number"], ["optional", "tensor", "numbers"],
]  # fmt: skip
OUTPUTS = [
    ["tensor"], ["list"], ["tensor", "list"], ["list", "list"], ["list", "tensor", "number"], ["tensor", "number"],
    ["no tensors", "tensor"], ["tensor", "integers"], ["list", "integers"],
]  # fmt: skip


@pytest.fixture(autouse=True)
def forget():
    """What a test registers is gone from opweave afterwards."""
    known = set(registry.operators)
    yield
    for name in set(registry.operators) - known:
        definitions.pop(name, None)
        registry.remove(registry.operators[name])


def tensors(value):
    """The tensors in nested lists."""
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in tensors(item)]
    return [value] if hasattr(value, "shape") else []


def with_tensors(values, given):
    """Nested lists with other tensors in the places of theirs."""
    if isinstance(values, list):
        return [with_tensors(item, given) for item in values]
    return next(given) if hasattr(values, "shape") else values


def total(found):
    """The product of what there is."""
    result = found[0]
    for t in found[1:]:
        result = result * t
    return result


def look(value):
    """Types and lengths of nested values."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [look(item) for item in value]
    return "Tensor" if hasattr(value, "shape") else value


def registered(T, takes, gives, seen):
    """An op that returns multiples of the product of its tensors, and its gradient."""
    arguments = ", ".join(f"{TAKES[kind][0]} x{i}" for i, kind in enumerate(takes))
    returns = ", ".join(GIVES[kind][0] for kind in gives)
    schema = f"({arguments}) -> " + (returns if len(gives) == 1 else f"({returns})")

    def body(*args):
        made = [GIVES[kind][1](total(tensors(list(args)))) for kind in gives]
        return made[0] if len(gives) == 1 else tuple(made)

    def setup(ctx, inputs, output):
        seen.append(("setup", look(inputs), look(output)))
        ctx.layout = [len(value) if isinstance(value, list) else None for value in inputs]
        ctx.has = [tensors([value]) != [] for value in inputs]
        ctx.save_for_backward(*tensors(list(inputs)))

    def backward(ctx, *grads):
        seen.append(("backward", look(grads), look(ctx.needs_input_grad)))
        saved = list(ctx.saved_tensors)
        incoming = 0
        for kind, grad in zip(gives, grads, strict=True):
            incoming = incoming + GIVES[kind][2](grad)
        each = [incoming * total(saved[:i] + saved[i + 1 :] + [saved[i] * 0 + 1]) for i in range(len(saved))]
        found, position = [], 0
        for width, has in zip(ctx.layout, ctx.has, strict=True):
            if not has:
                found.append([] if width == 0 else None)
            elif width is None:
                found.append(each[position])
                position += 1
            else:
                found.append(each[position : position + width])
                position += width
        return tuple(found) if len(found) != 1 else found[0]

    op = T.library.custom_op(f"grads_{next(_serial)}::f", body, mutates_args=(), schema=schema)
    op.register_fake(body)
    op.register_autograd(backward, setup_context=setup)
    return op


def arguments(T, takes):
    numbers = itertools.count(1)

    def make():
        start = next(numbers)
        return T.tensor([0.5 + start, 1.5 - start, 0.25 * start], dtype=T.float64, requires_grad=True)

    return [TAKES[kind][1](make) for kind in takes]


def loss(T, result, used):
    """A sum of the results that are used; each is used twice, with other weights."""
    found = [t for t in tensors([result]) if t.requires_grad]
    return sum((t * t).sum() * (i + 1) for i, t in enumerate(found[:used]))


def gradients(T, op, args, used):
    leaves = [t for t in tensors(args) if t.requires_grad]
    first = T.autograd.grad(loss(T, op(*args), used), leaves, create_graph=True)
    second = T.autograd.grad(sum((g * g).sum() for g in first), leaves)
    return [*first, *second]


@pytest.mark.parametrize("gives", OUTPUTS, ids="-".join)
@pytest.mark.parametrize("takes", INPUTS, ids="-".join)
def test_gradients_have_the_structure_of_the_schema(takes, gives):
    mine, theirs = [], []
    my_op, their_op = registered(opweave, takes, gives, mine), registered(torch, takes, gives, theirs)
    for used in (100, 1):
        expected = gradients(torch, their_op, arguments(torch, takes), used)
        found = gradients(opweave, my_op, arguments(opweave, takes), used)
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            close(values_of(a.detach()), values_of(b.detach()), "gradients of registered ops", i)
    assert mine == theirs
    args = arguments(opweave, takes)
    assert look(my_op(*args)) == look(their_op(*arguments(torch, takes)))


@pytest.mark.parametrize("gives", [["list"], ["tensor", "list"], ["list", "tensor", "number"]], ids="-".join)
@pytest.mark.parametrize(
    "takes", [["tensor"], ["list"], ["tensor", "list"], ["list", "number", "tensor"]], ids="-".join
)
def test_traced_compiled_and_batched(takes, gives):
    op = registered(opweave, takes, gives, [])
    args = arguments(opweave, takes)
    given = [t.detach() for t in tensors(args)]

    def value(*values):
        found = tensors([op(*with_tensors(args, iter(values)))])
        return sum((t * t).sum() * (i + 1) for i, t in enumerate(found))

    def differentiated(*values):
        return opweave.func.grad(value, argnums=tuple(range(len(values))))(*values)

    expected = [values_of(t) for t in differentiated(*given)]
    traced = opweave.make_fx(differentiated, tracing_mode="fake")(*given)
    again = [values_of(t) for t in traced(*given)]
    required = [t.detach().requires_grad_() for t in given]
    opweave.compile(value)(*required).backward()
    compiled = [values_of(t.grad) for t in required]
    batch = [opweave.stack([t, t * 2]) for t in given]
    batched = opweave.vmap(differentiated)(*batch)
    rows = [differentiated(*(t[i] for t in batch)) for i in range(2)]
    for i, one in enumerate(expected):
        close(again[i], one, "gradients of registered ops")
        close(compiled[i], one, "gradients of registered ops")
        close(values_of(batched[i]), np.stack([values_of(row[i]) for row in rows]), "gradients of registered ops")


# ---- how many gradients a backward returns -------------------------------------------------------------------------

CALLS = [
    ((), {}),
    ((None,), {}),
    ((None, 2), {}),
    ((None, 3), {}),
    (("y",), {}),
    (("y", 3), {}),
    ((), {"a": 3.0}),
    ((None, 3), {"a": 2.0}),
]
RETURNED = ["", "g", "gN", "gG", "gNN", "gGN", "gNNN", "Ng", "gNg", "NNN", "G"]


def outcome(T, takes_list, args, kwargs, returned):
    """The gradients of `x` and `y`, or RuntimeError."""
    first = "Tensor[] x" if takes_list else "Tensor x"

    def body(x, y=None, n=2, *, a=1.0):
        return (x[0] if takes_list else x) * n

    def backward(ctx, g):
        letters = {"g": [g] if takes_list else g, "G": g * 2, "N": None}
        found = tuple(letters[letter] for letter in returned)
        return found[0] if len(found) == 1 else found

    name = f"counts_{next(_serial)}::f"
    op = T.library.custom_op(
        name, body, mutates_args=(), schema=f"({first}, Tensor? y=None, int n=2, *, float a=1.0) -> Tensor"
    )
    op.register_autograd(backward, setup_context=lambda ctx, inputs, keyword_only_inputs, output: None)
    x, y = (T.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    try:
        op([x] if takes_list else x, *[y if value == "y" else value for value in args], **kwargs).sum().backward()
    except RuntimeError:
        return RuntimeError
    return [None if t.grad is None else t.grad.tolist() for t in (x, y)]


@pytest.mark.parametrize("returned", RETURNED)
@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_trailing_defaults_may_be_left_out(args, kwargs, returned):
    assert outcome(opweave, False, args, kwargs, returned) == outcome(torch, False, args, kwargs, returned)


@pytest.mark.parametrize("returned", RETURNED)
@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_trailing_defaults_beside_a_list(args, kwargs, returned):
    mine, theirs = outcome(opweave, True, args, kwargs, returned), outcome(torch, True, args, kwargs, returned)
    # Beside a list PyTorch wants exactly as many as the call gave arguments; here more may be None, as without one.
    assert mine == theirs or (theirs is RuntimeError and returned.endswith("N") and returned[0] in "gN")


@pytest.mark.parametrize(
    ("schema", "returned"),
    [
        ("(Tensor x, Tensor y) -> Tensor", lambda g: [g, g]),
        ("(Tensor x, Tensor y) -> Tensor", lambda g: ([g], g)),
        ("(Tensor[] x, Tensor y) -> Tensor", lambda g: ((g,), g)),
        ("(Tensor[] x, Tensor y) -> Tensor", lambda g: ([g, g], g)),
        ("(Tensor[] x, Tensor y) -> Tensor", lambda g: (g, g)),
        ("(Tensor[] x, Tensor y) -> Tensor", lambda g: [[g], g]),
        ("(Tensor[] x, Tensor y) -> Tensor", lambda g: ([1.0], g)),
        ("(Tensor x, int[] y) -> Tensor", lambda g: (g, [g])),
    ],
)
def test_gradients_of_another_structure_are_refused(schema, returned):
    def run(T):
        name = f"shapes_{next(_serial)}::f"
        op = T.library.custom_op(
            name, lambda x, y: (x[0] if isinstance(x, list) else x) * 1, mutates_args=(), schema=schema
        )
        op.register_autograd(lambda ctx, g: returned(g))
        x, y = (T.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        op([x] if "[] x" in schema else x, [1] if "[] y" in schema else y).sum().backward()

    with pytest.raises(RuntimeError):
        run(torch)
    with pytest.raises(AutogradError, match="gradient"):
        run(opweave)


# ---- what kernels are given and return -----------------------------------------------------------------------------

RESULTS = {
    "a tuple for a list": ("Tensor[]", lambda x: (x * 1, x * 2)),
    "a tensor for a list": ("Tensor[]", lambda x: x * 1),
    "None for a list": ("Tensor[]", lambda x: None),
    "a number in a list": ("Tensor[]", lambda x: [x * 1, 3]),
    "None in a list": ("Tensor[]", lambda x: [x * 1, None]),
    "a list of several": ("(Tensor, Tensor)", lambda x: [x * 1, x * 2]),
    "an integer": ("int", lambda x: 3),
    "a float for an integer": ("int", lambda x: 3.5),
    "an integer for a float": ("float", lambda x: 3),
    "a tuple of integers": ("int[]", lambda x: (3, 4)),
    "a number for a text": ("str", lambda x: 3),
    "an integer for a bool": ("bool", lambda x: 3),
    "a tuple of one": ("Tensor", lambda x: (x * 1,)),
    "None for an optional": ("Tensor?", lambda x: None),
    "a float among several": ("(Tensor, int)", lambda x: (x * 1, 2.5)),
    "a value for none": ("()", lambda x: x * 1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_the_types_of_the_schema(name):
    returns, body = RESULTS[name]

    def run(T):
        op = T.library.custom_op(
            f"results_{next(_serial)}::f", body, mutates_args=(), schema=f"(Tensor x) -> {returns}"
        )
        op.register_fake(body)
        return op

    their_op, my_op = run(torch), run(opweave)
    try:
        expected = look(their_op(torch.ones(2)))
    except RuntimeError:
        with pytest.raises(TypeError, match="must return"):
            my_op(opweave.ones(2))
        with pytest.raises(RuntimeError, match="must return"), opweave.FakeTensorMode() as mode:
            my_op(mode.from_tensor(opweave.ones(2)))
        return
    assert look(my_op(opweave.ones(2))) == expected
    with opweave.FakeTensorMode() as mode:
        assert look(my_op(mode.from_tensor(opweave.ones(2)))) == expected


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ("(Tensor x, int[] s) -> Tensor", ((1, 2),)),
        ("(Tensor x, int[2] s) -> Tensor", (4,)),
        ("(Tensor x, float[] s) -> Tensor", ((1, 2),)),
        ("(Tensor x, str[] s) -> Tensor", (("a",),)),
        ("(Tensor x, bool[] s) -> Tensor", ((True,),)),
        ("(Tensor x, Scalar[] s) -> Tensor", ((1, 2.0),)),
        ("(Tensor x, SymInt[] s) -> Tensor", ((1, 2),)),
        ("(Tensor x, int[]? s) -> Tensor", ((1, 2),)),
        ("(Tensor x, complex s) -> Tensor", (1,)),
        ("(Tensor x, float s) -> Tensor", (True,)),
        ("(Tensor x, Tensor[] s) -> Tensor", "x"),
        ("(Tensor x, Tensor?[] s) -> Tensor", "x"),
    ],
)
def test_kernels_are_given_the_types_of_the_schema(schema, args):
    seen = {}

    def run(T):
        def body(x, s):
            seen[T] = look(s)
            return x * 1

        x = T.ones(2)
        T.library.custom_op(f"given_{next(_serial)}::f", body, mutates_args=(), schema=schema)(
            x, *(((x, x),) if args == "x" else args)
        )

    run(torch)
    run(opweave)
    assert seen[opweave] == seen[torch]
