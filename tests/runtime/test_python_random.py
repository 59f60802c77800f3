"""What Python's and NumPy's generators draw in compiled functions: anew at each call, in the order of eager code."""

from __future__ import annotations

import functools
import numbers
import random
import threading
from collections.abc import Callable
from random import random as uniform_number, randrange, sample, shuffle
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import nn
from opweave.registry.errors import OpweaveError

X = opweave.arange(12.0).reshape(3, 4)
Function = Callable[[Any], Any]


def shuffled(x: Any) -> Any:
    order = list(range(4))
    shuffle(order)
    return x[:, order]


def unused(x: Any) -> Any:
    uniform_number()
    random.gauss(0, 1)
    return x + 1


def two(x: Any) -> Any:
    return x * random.random() + random.uniform(-1, 1) - random.gauss(0, 1)


def imported(x: Any) -> Any:
    import random as again

    return x * again.random()


class Skips(nn.Module):
    """Draws in training, and decides on it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        if self.training and uniform_number() < 0.5:
            return x
        return self.linear(x) * (1 + uniform_number())


#: Functions that are one graph.
WHOLE: dict[str, Function] = {
    "two": two,
    "unused": unused,
    "imported": imported,
    "shuffle": shuffled,
    "by their names": lambda x: x * uniform_number() + randrange(10),
    "sample": lambda x: x[:, sample(range(4), 2)],
    "row": lambda x: x[random.randint(0, 2)],
    "slice": lambda x: x[: random.randint(1, 3)].sum(0),
    "choice": lambda x: x * random.choice([1.0, 2.0, 3.0]),
    "choices": lambda x: x * random.choices([1, 2, 3], weights=[0.1, 0.2, 0.7], k=2)[0],
    "result": lambda x: (x.sum(), random.random(), random.randrange(5)),
    "tensor": lambda x: opweave.tensor([random.random(), random.random()]),
    "numbers": lambda x: x / random.randint(1, 3) // random.randint(1, 3) % random.uniform(1, 2),
    "distributions": lambda x: x * random.triangular(0, 1) * random.betavariate(1, 2) * random.expovariate(1.5),
    "bits": lambda x: x * random.getrandbits(4),
    "of a size": lambda x: x * random.randrange(x.shape[0]),
    "mapped": lambda x: x * sum(map(random.uniform, [0.0, 1.0], [2.0, 3.0])),
    "numpy": lambda x: x + np.random.rand() * np.random.randint(3, 9) - np.random.normal(1, 2),
    "vmap": lambda x: opweave.func.vmap(lambda row: row * uniform_number())(x),
    "repeat": lambda x: x.repeat(random.randint(1, 3), 1),
    "comparison": lambda x: opweave.where(x > random.random() * 12, x, -1.0),
    "module": Skips().eval(),
}


def decides(x: Any) -> Any:
    if random.random() < 0.5:
        return x * random.random()
    return x * random.randint(2, 7)


def seeds(x: Any) -> Any:
    random.seed(3)
    return x * random.random()


def closes_over() -> Function:
    draw = random.random
    return lambda x: x * draw()


class Holds:
    """A class that has a drawing function."""

    draw = staticmethod(random.random)

    def __call__(self, x: Any) -> Any:
        return x * self.draw()


PART = functools.partial(random.uniform, 0, 1)
#: Functions that are not: some decide on what was drawn, some draw what no graph takes, or by what no name leads to.
PARTS: dict[str, Function] = {
    "decides": decides,
    "seeds": seeds,
    "closes over": closes_over(),
    "a class": Holds().__call__,
    "a part": lambda x: x * PART(),
    "a loop": lambda x: sum([x for _ in range(random.randrange(3))], x),
    "larger": lambda x: x * max(random.random(), 0.5),
    "int": lambda x: x * int(random.random() * 10),
    "list": lambda x: [x, x * 2, x * 3][random.randrange(3)],
    "of tensors": lambda x: random.choice([x, x * 2]),
    "of what was drawn": lambda x: x * random.randint(0, random.randint(1, 5)),
    "text": lambda x: (f"{random.random():.3f}", x + 1),
    "array": lambda x: x + opweave.from_numpy(np.random.rand(4)),
    "module": Skips(),
}


def seeded(function: Function, times: int = 5) -> tuple[list[Any], Any]:
    """What calls give, and the states of the generators after them."""
    random.seed(7)
    np.random.seed(7)
    with opweave.no_grad():
        found = [function(X) for _ in range(times)]
    kind, keys, place, *rest = np.random.get_state()
    return found, (random.getstate(), kind, np.asarray(keys).tolist(), place, rest)


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, opweave.Tensor):
        return one.dtype is other.dtype and np.allclose(one.numpy(), other.numpy(), rtol=1e-5, equal_nan=True)
    return type(one) is type(other) and one == other


def same_as_eager(function: Function, fullgraph: bool) -> Any:
    compiled = opweave.compile(function, fullgraph=fullgraph)
    (found, state), (wanted, after) = seeded(compiled), seeded(function)
    assert alike(found, wanted)
    assert state == after
    return compiled


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("fullgraph", [False, True])
def test_numbers_are_drawn_at_each_call(name, fullgraph):
    compiled = same_as_eager(WHOLE[name], fullgraph)
    assert len(getattr(compiled, "entries", [0])) == 1


@pytest.mark.parametrize("name", PARTS)
def test_what_is_no_graph_runs_in_parts(name):
    same_as_eager(PARTS[name], False)
    before = random.getstate()
    with pytest.raises((OpweaveError, NotImplementedError)):
        opweave.compile(PARTS[name], fullgraph=True)(X)
    assert random.getstate() == before


def test_gradients_are_of_what_was_drawn():
    def loss(x: Any, w: Any) -> Any:
        return (x * w * uniform_number() + w * random.randint(1, 5)).sum()

    compiled, grads = opweave.compile(loss, fullgraph=True), list[Any]()
    for function in (compiled, loss):
        random.seed(1)
        w: Any = opweave.ones(4, requires_grad=True)
        for _ in range(3):
            function(X, w).backward()
        grads.append(w.grad.tolist())
    assert grads[0] == pytest.approx(grads[1], rel=1e-6)


def test_a_way_back_that_draws_runs_in_parts():
    class Noisy(opweave.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * random.random()

    compiled = opweave.compile(lambda x: Noisy.apply(x).sum())
    values = set()
    for _ in range(4):
        x: Any = opweave.ones(3, requires_grad=True)
        compiled(x).backward()
        values.add(float(x.grad[0]))
    assert len(values) == 4


def test_other_threads_draw_as_ever_while_one_traces():
    names = {name: getattr(random, name) for name in ("random", "randint")}
    found: list[Any] = []

    def work(number: int) -> None:
        compiled = opweave.compile(lambda x: x * random.random() * number + 0 * random.randint(1, 2), fullgraph=True)
        found.append(len({float(compiled(X)[0, 1]) for _ in range(10)}))

    threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(4)]
    for thread in threads:
        thread.start()
    assert all(type(random.random()) is float for _ in range(1000))
    for thread in threads:
        thread.join()
    assert found == [10] * 4
    assert names == {name: getattr(random, name) for name in names}


def test_a_replaced_function_is_called(monkeypatch):
    compiled = opweave.compile(lambda x: x * random.random())
    compiled(X)
    monkeypatch.setattr(random, "random", lambda: 0.25)
    assert compiled(X).tolist() == (X * 0.25).tolist()


#: Of a size that is left open, and of a number that depends on data: what is kept of them is the number's own.
TEXTS: dict[str, Callable[[Any], Any]] = {
    "f-string": lambda n: f"{n}",
    "width": lambda n: f"{n:>5}",
    "str": str,
    "repr": repr,
    "percent": lambda n: "%s" % n,  # noqa: UP031 - another way to a text
    "key": lambda n: {n: 1},
    "found": lambda n: {3: "three", 4: "four"}.get(n, "none"),
    "in": lambda n: n in {3, 4},
    "list": lambda n: f"{[n, (n,)]}",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("fullgraph", [False, True])
def test_texts_and_keys_of_sizes_are_those_of_each_call(name, fullgraph):
    text = TEXTS[name]
    compiled = opweave.compile(lambda x: (text(x.shape[0]), x + 1), dynamic=True, fullgraph=fullgraph)
    for size in (5, 3, 4):
        assert compiled(opweave.ones(size))[0] == text(size)


@pytest.mark.parametrize("name", TEXTS)
def test_texts_and_keys_of_data_are_those_of_each_call(name):
    text = TEXTS[name]

    def function(x: Any) -> Any:
        return text(x.sum().item()), x + 1

    compiled = opweave.compile(function)
    for size in (5, 3, 4):
        assert compiled(opweave.ones(size))[0] == function(opweave.ones(size))[0]
    with pytest.raises(OpweaveError):
        opweave.compile(function, fullgraph=True)(opweave.ones(3))


def test_the_text_of_all_sizes():
    compiled = opweave.compile(lambda x: (str(x.shape), x + 1), dynamic=True, fullgraph=True)
    for sizes in ((5, 2), (3, 2)):
        assert compiled(opweave.ones(sizes))[0] == str(opweave.Size(sizes))


def test_lists_of_open_sizes_index():
    compiled = opweave.compile(
        lambda x: x[[x.shape[0] - 1, 0]] * x[:, [x.shape[1] - 1]][:2], dynamic=True, fullgraph=True
    )
    for rows in (3, 2):
        x = X[:rows]
        assert compiled(x).tolist() == (x[[rows - 1, 0]] * x[:, [3]][:2]).tolist()
    assert len(compiled.entries) == 1


def matched(n: Any) -> int:
    match n:
        case int():
            return 2
        case float():
            return 3
    return 4


#: What a number is: a function of it, and whether that leaves sizes open.
KINDS: dict[str, tuple[Callable[[Any], int], bool]] = {
    "int": (lambda n: 2 if isinstance(n, int) else 3, True),
    "float": (lambda n: 2 if isinstance(n, float) else 3, True),
    "several": (lambda n: 2 if isinstance(n, (str, int, float)) else 3, True),
    "abstract": (lambda n: 2 if isinstance(n, numbers.Integral) else 3, True),
    "class": (lambda n: 2 if n.__class__ is int else 3, True),
    "match": (matched, True),
    "type": (lambda n: 2 if type(n) is int else 3, False),
    "equal types": (lambda n: 2 if type(n) == int else 3, False),  # noqa: E721 - as people write it
    "types": (lambda n: 2 if type(n) in (float, bool) else 3, False),
}


@pytest.mark.parametrize("name", KINDS)
def test_sizes_are_ints(name):
    kind, stays_open = KINDS[name]
    compiled = opweave.compile(lambda x: x * kind(x.shape[0]), dynamic=True, fullgraph=True)
    for size in (5, 3, 4):
        assert compiled(opweave.ones(size)).tolist() == [float(kind(size))] * size
    assert (len(compiled.entries) == 1) is stays_open


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("number", ["an item", "drawn", "drawn int"])
def test_numbers_that_depend_on_data_are_what_they_are(name, number):
    kind, stays_open = KINDS[name]
    read: Callable[[Any], Any] = {
        "an item": lambda x: x.sum().item(), "drawn": lambda x: random.random(), "drawn int": lambda x: randrange(9),
    }[number]  # fmt: skip

    def function(x: Any) -> Any:
        return x * kind(read(x))

    same_as_eager(function, False)
    if stays_open:
        same_as_eager(function, True)
    else:
        with pytest.raises(OpweaveError, match="isinstance"):
            opweave.compile(function, fullgraph=True)(X)


def test_an_open_int_is_an_int():
    compiled = opweave.compile(lambda x, n: x * n if isinstance(n, int) else x, dynamic=True)
    for n in (3, 4, 5):
        assert compiled(opweave.ones(2), n).tolist() == [float(n)] * 2
