"""The same registrations and calls, sent through PyTorch and through opweave.

A case is a function of the library and a namespace of its own. What it returns must agree (tensors by value, dtype and
sizes), and where PyTorch raises, opweave must raise an error that `except` clauses for PyTorch's builtin class catch.
`differences.REGISTRATION` lists where it is meant to be another one, and why.
"""

# Old spellings of annotations are what is tested.
# ruff: noqa: UP006, UP007, UP035, UP045

import collections.abc
import itertools
import typing
import warnings
from collections.abc import Sequence
from typing import Any, List, Optional, Tuple, Union  # noqa: UP035

import comparisons
import numpy as np
import pytest
import torch
from differences import ERRORS, REGISTRATION, left_out
from oracle import close, values_of
from torch.utils._python_dispatch import TorchDispatchMode

import opweave
from opweave.registry import keys
from opweave.registry.custom_op import definitions
from opweave.registry.errors import OpweaveError
from opweave.registry.op import registry

_serial = itertools.count()


class Side:
    """One of the two libraries, under the names that the cases use."""

    def __init__(self, module, **names):
        self.module = module
        self.__dict__.update(names)

    def __getattr__(self, name):
        return getattr(self.module, name)


def _excluding(*names):
    found = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, names[0]))
    for name in names[1:]:
        found = found | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name))
    return torch._C._ExcludeDispatchKeyGuard(found)


THEIRS = Side(torch, Mode=TorchDispatchMode, after_autograd=torch._C._after_autograd_keyset, excluding=_excluding)
OURS = Side(
    opweave,
    Mode=opweave.DispatchMode,
    after_autograd=keys.after_autograd_keyset,
    excluding=lambda *names: keys.exclude_keys(*(keys.DispatchKey[name] for name in names)),
)


@pytest.fixture(autouse=True)
def forget():
    """What a test registers is gone from opweave afterwards."""
    known = set(registry.operators)
    yield
    for name in set(registry.operators) - known:
        definitions.pop(name, None)
        registry.remove(registry.operators[name])


def outcome(case, side, ns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return case(side, ns), None
        except Exception as error:  # what the other side raises is the expectation
            return None, error


def builtin_class(error):
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def same(mine, theirs, where="result"):
    if isinstance(theirs, torch.Tensor):
        assert isinstance(mine, opweave.Tensor), (where, mine)
        assert mine.dtype.name == str(theirs.dtype).removeprefix("torch."), where
        assert tuple(mine.shape) == tuple(theirs.shape), where
        close(values_of(mine.detach()), values_of(theirs), "registration", where)
    elif isinstance(theirs, (list, tuple)):
        assert type(mine) is type(theirs) and len(mine) == len(theirs), (where, mine, theirs)
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(theirs, dict):
        assert mine.keys() == theirs.keys(), where
        for key in theirs:
            same(mine[key], theirs[key], f"{where}[{key!r}]")
    else:
        assert type(mine) is type(theirs) and mine == theirs, (where, mine, theirs)


def check(case, name):
    ns = f"parity_{id(_serial)}_{next(_serial)}"  # this module may be there twice, and PyTorch forgets nothing
    theirs, their_error = outcome(case, THEIRS, ns)
    mine, my_error = outcome(case, OURS, ns)
    comparisons.note_test()
    if name in REGISTRATION:
        expected = None if REGISTRATION[name].error == "nothing" else REGISTRATION[name].error
        got = type(my_error).__name__ if my_error is not None else None
        assert got == expected, (name, my_error, mine)
        return
    if their_error is not None:
        assert my_error is not None, f"{name}: PyTorch raises {their_error!r}, opweave returns {mine!r}"
        kind = builtin_class(their_error)
        documented = f"{type(my_error).__name__} for {kind.__name__}" in ERRORS
        assert isinstance(my_error, kind) or documented, (name, repr(their_error), my_error)
        assert isinstance(my_error, (OpweaveError, kind)), my_error
        return
    if my_error is not None:
        raise AssertionError(f"{name}: PyTorch takes this, with {theirs!r}") from my_error
    same(mine, theirs)


def example(T, *sizes, start=1.0):
    """The numbers from `start` on."""
    count = int(np.prod(sizes)) if sizes else 1
    return T.tensor(np.arange(start, start + count, dtype=np.float32).reshape(sizes).tolist())


# ---- infer_schema: annotations -------------------------------------------------------------------------------------

ANNOTATIONS = {
    "Tensor": lambda T: T.Tensor,
    "Optional[Tensor]": lambda T: Optional[T.Tensor],
    "Tensor | None": lambda T: T.Tensor | None,
    "Sequence[Tensor]": lambda T: Sequence[T.Tensor],
    "typing.Sequence[Tensor]": lambda T: typing.Sequence[T.Tensor],
    "List[Tensor]": lambda T: List[T.Tensor],
    "list[Tensor]": lambda T: list[T.Tensor],
    "Sequence[Optional[Tensor]]": lambda T: Sequence[T.Tensor | None],
    "List[Optional[Tensor]]": lambda T: List[T.Tensor | None],
    "Optional[Sequence[Tensor]]": lambda T: Optional[Sequence[T.Tensor]],
    "Optional[List[Tensor]]": lambda T: Optional[List[T.Tensor]],
    "int": lambda T: int,
    "float": lambda T: float,
    "bool": lambda T: bool,
    "str": lambda T: str,
    "Number": lambda T: Union[int, float, bool],
    "dtype": lambda T: T.dtype,
    "device": lambda T: T.device,
    "Optional[int]": lambda T: Optional[int],
    "int | None": lambda T: int | None,
    "Optional[float]": lambda T: Optional[float],
    "Optional[bool]": lambda T: Optional[bool],
    "Optional[str]": lambda T: Optional[str],
    "Optional[Number]": lambda T: Optional[int | float | bool],
    "Optional[dtype]": lambda T: Optional[T.dtype],
    "Optional[device]": lambda T: Optional[T.device],
    "Sequence[int]": lambda T: Sequence[int],
    "List[int]": lambda T: List[int],
    "list[int]": lambda T: list[int],
    "Sequence[float]": lambda T: Sequence[float],
    "List[float]": lambda T: List[float],
    "Sequence[bool]": lambda T: Sequence[bool],
    "List[bool]": lambda T: List[bool],
    "Sequence[Number]": lambda T: Sequence[int | float | bool],
    "Optional[Sequence[int]]": lambda T: Optional[Sequence[int]],
    "Optional[List[int]]": lambda T: Optional[List[int]],
    "Optional[Sequence[float]]": lambda T: Optional[Sequence[float]],
    "Optional[List[bool]]": lambda T: Optional[List[bool]],
    "a text": lambda T: "int",
    "Tuple[int, int]": lambda T: Tuple[int, int],
    "tuple[Tensor, Tensor]": lambda T: tuple[T.Tensor, T.Tensor],
    "dict": lambda T: dict,
    "object": lambda T: object,
    "Any": lambda T: Any,
    "None": lambda T: None,
    "Callable": lambda T: collections.abc.Callable,
    "list": lambda T: list,
    "List[List[int]]": lambda T: List[List[int]],
    "Union[int, str]": lambda T: Union[int, str],
    "a missing name": lambda T: "Nope",
}


@pytest.mark.parametrize("where", ["first", "last", "keyword"])
@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotations(name, where):
    def case(T, ns):
        kind = ANNOTATIONS[name](T)

        def first(a: kind, x: T.Tensor) -> T.Tensor: ...
        def last(x: T.Tensor, a: kind) -> T.Tensor: ...
        def keyword(x: T.Tensor, *, a: kind) -> T.Tensor: ...

        function = {"first": first, "last": last, "keyword": keyword}[where]
        text = T.library.infer_schema(function, mutates_args=(), op_name="f")
        op = T.library.custom_op(f"{ns}::f", function, mutates_args=())
        return text, str(op._opoverload._schema)

    check(case, f"annotation {name} {where}")


DEFAULTS = {
    "int 3": (lambda T: int, lambda T: 3),
    "int -1": (lambda T: int, lambda T: -1),
    "float 2": (lambda T: float, lambda T: 2.0),
    "float 1e-5": (lambda T: float, lambda T: 1e-5),
    "float 0.1": (lambda T: float, lambda T: 0.1),
    "float of int": (lambda T: float, lambda T: 1),
    "bool": (lambda T: bool, lambda T: True),
    "str": (lambda T: str, lambda T: "mean"),
    "no int": (lambda T: Optional[int], lambda T: None),
    "an optional int": (lambda T: Optional[int], lambda T: 4),
    "an optional float": (lambda T: Optional[float], lambda T: 0.5),
    "no Tensor": (lambda T: Optional[T.Tensor], lambda T: None),
    "Number": (lambda T: Union[int, float, bool], lambda T: 1),
    "Number as float": (lambda T: Union[int, float, bool], lambda T: 1.5),
    "no dtype": (lambda T: Optional[T.dtype], lambda T: None),
    "no device": (lambda T: Optional[T.device], lambda T: None),
    "device": (lambda T: T.device, lambda T: T.device("cpu")),
    "no ints": (lambda T: Optional[Sequence[int]], lambda T: None),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults(name):
    def case(T, ns):
        kind, default = (part(T) for part in DEFAULTS[name])
        got = []

        @T.library.custom_op(f"{ns}::f", mutates_args=())
        def f(x: T.Tensor, a: kind = default) -> T.Tensor:
            got.append(a)
            return x.clone()

        @T.library.custom_op(f"{ns}::g", mutates_args=())
        def g(x: T.Tensor, *, a: kind = default) -> T.Tensor:
            got.append(a)
            return x.clone()

        f(example(T, 2)), g(example(T, 2)), getattr(T.ops, ns).f(example(T, 2))
        schemas = [str(op._opoverload._schema) for op in (f, g)]
        # A default is handed on as it stands in the function.
        assert left_out("registration, text of a default device")
        schemas = [text.replace("=cpu", '="cpu"') for text in schemas]
        return schemas, [str(a) if isinstance(a, T.device) else float(a) if kind is float else a for a in got]

    check(case, f"default {name}")


RETURNS = {
    "Tensor": (lambda T: T.Tensor, lambda x: x + 1),
    "pair": (lambda T: Tuple[T.Tensor, T.Tensor], lambda x: (x + 1, x + 2)),
    "tuple pair": (lambda T: tuple[T.Tensor, T.Tensor], lambda x: (x + 1, x + 2)),
    "triple": (lambda T: tuple[T.Tensor, T.Tensor, T.Tensor], lambda x: (x + 1, x + 2, x + 3)),
    "list": (lambda T: List[T.Tensor], lambda x: [x + 1, x + 2]),
    "list of one": (lambda T: list[T.Tensor], lambda x: [x + 1]),
    "int": (lambda T: int, lambda x: 3),
    "float": (lambda T: float, lambda x: 1.5),
    "bool": (lambda T: bool, lambda x: True),
    "Number": (lambda T: Union[int, float, bool], lambda x: 2),
    "Tensor and int": (lambda T: Tuple[T.Tensor, int], lambda x: (x + 1, 3)),
    "Tensor and list": (lambda T: Tuple[T.Tensor, List[T.Tensor]], lambda x: (x + 1, [x + 2])),
    "None": (lambda T: None, lambda x: None),
    "str": (lambda T: str, lambda x: "a"),
    "dict": (lambda T: dict, lambda x: {}),
    "Optional[Tensor]": (lambda T: Optional[T.Tensor], lambda x: None),
    "object": (lambda T: object, lambda x: 3),
}


@pytest.mark.parametrize("name", RETURNS)
def test_returns(name):
    def case(T, ns):
        kind, body = RETURNS[name][0](T), RETURNS[name][1]

        @T.library.custom_op(f"{ns}::f", mutates_args=())
        def f(x: T.Tensor) -> kind:
            return body(x)

        x = example(T, 2)
        return str(f._opoverload._schema), f(x), getattr(T.ops, ns).f(x), getattr(T.ops, ns).f.default(x)

    check(case, f"return {name}")


MUTATES = {
    "none": (),
    "a set": {"x"},
    "a list": ["x"],
    "a dict": {"x": 1},
    "two": ("x", "y"),
    "a list argument": ("ys",),
    "optional": ("o",),
    "unknown": "unknown",
    "everything": ("x", "y", "ys", "o"),
    "a text": "x",
    "absent": ("z",),
    "a number": ("n",),
    "no iterable": 3,
    "nothing": None,
}


@pytest.mark.parametrize("name", MUTATES)
def test_mutates_args(name):
    def case(T, ns):
        def f(x: T.Tensor, y: T.Tensor, ys: Sequence[T.Tensor], o: T.Tensor | None = None, n: int = 1) -> None: ...

        text = T.library.infer_schema(f, mutates_args=MUTATES[name])
        op = T.library.custom_op(f"{ns}::f", f, mutates_args=MUTATES[name])
        x, y, z = example(T, 2), example(T, 2), example(T, 2)
        result = op(x, y, [z], None, n=2)
        return text, str(op._opoverload._schema), result, [t._version for t in (x, y, z)]

    check(case, f"mutates {name}")


# ---- calls ---------------------------------------------------------------------------------------------------------


def _sum_op(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(
        x: T.Tensor, n: int, s: float = 0.5, ys: Sequence[T.Tensor] = (), *, flag: bool = False,
        o: T.Tensor | None = None, sizes: Sequence[int] | None = None, how: str = "add",
    ) -> T.Tensor:  # fmt: skip
        out = x * n + s
        for y in ys:
            out = out + y
        if flag:
            out = out * 10
        if o is not None:
            out = out + o
        if sizes is not None:
            out = out + sum(sizes)
        return out + (1 if how == "add" else 2)

    return f


def _plain_op(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(
        x: T.Tensor, n: int = 2, s: float = 0.5, o: T.Tensor | None = None, *, flag: bool = False, how: str = "add",
        sizes: Sequence[int] | None = None,
    ) -> T.Tensor:  # fmt: skip
        out = x * n + s
        out = out * 10 if flag else out
        out = out if o is None else out + o
        out = out if sizes is None else out + sum(sizes)
        return out + (1 if how == "add" else 2)

    return f


CALLS = {
    "defaults": lambda T, f, x: f(x),
    "positional": lambda T, f, x: f(x, 3, 1.5),
    "by name": lambda T, f, x: f(x=x, n=3),
    "mixed": lambda T, f, x: f(x, s=2.0, n=1),
    "keyword only": lambda T, f, x: f(x, flag=True, how="other"),
    "optional": lambda T, f, x: f(x, 1, 0.0, x),
    "optional None": lambda T, f, x: f(x, 1, 0.0, None),
    "sizes": lambda T, f, x: f(x, sizes=[1, 2]),
    "sizes as a tuple": lambda T, f, x: f(x, sizes=(1, 2)),
    "no sizes": lambda T, f, x: f(x, sizes=[]),
    "int for float": lambda T, f, x: f(x, 1, 2),
    "bool for int": lambda T, f, x: f(x, True),
    "NumPy int": lambda T, f, x: f(x, np.int64(3)),
    "float for int": lambda T, f, x: f(x, 1.5),
    "text for int": lambda T, f, x: f(x, "1"),
    "text for float": lambda T, f, x: f(x, 1, "1"),
    "number for Tensor": lambda T, f, x: f(3),
    "None for Tensor": lambda T, f, x: f(None),
    "int for bool": lambda T, f, x: f(x, flag="yes"),
    "too many": lambda T, f, x: f(x, 1, 1.0, None, True),
    "none at all": lambda T, f, x: f(),
    "unknown name": lambda T, f, x: f(x, nope=1),
    "twice": lambda T, f, x: f(x, 1, n=2),
    "sizes of floats": lambda T, f, x: f(x, sizes=[1.5]),
    "a size": lambda T, f, x: f(x, sizes=3),
    "list for Tensor": lambda T, f, x: f([x]),
    "0-d tensor for int": lambda T, f, x: f(x, T.tensor(3)),
    "0-d tensor for float": lambda T, f, x: f(x, 1, T.tensor(1.5)),
}


@pytest.mark.parametrize("through", ["definition", "packet", "overload"])
@pytest.mark.parametrize("name", CALLS)
def test_calls(name, through):
    def case(T, ns):
        f = _plain_op(T, ns)
        target = {"definition": f, "packet": getattr(T.ops, ns).f, "overload": getattr(T.ops, ns).f.default}[through]
        return CALLS[name](T, target, example(T, 2))

    check(case, f"call {name}")


def list_calls(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(xs: Sequence[T.Tensor], os: Sequence[T.Tensor | None], ks: List[float]) -> List[T.Tensor]:
        return [x * sum(ks) for x in xs] + [o + 1 for o in os if o is not None]

    x = example(T, 2)
    return f([x, x + 1], [None, x], [1.0, 2.0]), f((x,), (), (3.0,)), f([], [None], [])


def writes(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args={"x"})
    def f(x: T.Tensor, by: float) -> None:
        x.numpy()[...] *= by

    x = example(T, 2, 2)
    view = x[1]
    return f(view, 10.0), x, x._version, view._version


def writes_list(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args={"xs"})
    def f(xs: Sequence[T.Tensor]) -> T.Tensor:
        for x in xs:
            x.numpy()[...] = 0
        return xs[0] + 1

    x, y = example(T, 2), example(T, 2)
    return f([x, y]), x, y, x._version, y._version


def factory(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=(), device_types="cpu")
    def f(n: int, device: T.device) -> T.Tensor:
        return T.ones(n) * 3

    return f(2, "cpu"), f(3, T.device("cpu")), f(n=1, device=T.device("cpu"))


def returns_its_argument(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> T.Tensor:
        return x

    return f(example(T, 2))


def returns_a_view(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> T.Tensor:
        return x[0]

    return f(example(T, 2, 2))


def schema_given(T, ns):
    f = T.library.custom_op(
        f"{ns}::f", lambda x, n=2, *, s=1.0: x * n + s, mutates_args=(),
        schema="(Tensor x, SymInt n=2, *, float s=1.) -> Tensor",
    )  # fmt: skip
    return str(f._opoverload._schema), f(example(T, 2)), f(example(T, 2), 3, s=0.5)


def schema_disagrees(T, ns):
    T.library.custom_op(f"{ns}::f", lambda x: None, mutates_args=(), schema="(Tensor(a!) x) -> ()")


# ---- define and impl -----------------------------------------------------------------------------------------------


def _define(T, ns, schema="(Tensor x) -> Tensor", **kwargs):
    lib = T.library.Library(ns, "FRAGMENT")
    T.library.define(f"{ns}::f", schema, lib=lib, **kwargs)
    return lib


def define_then_impl(T, ns):
    lib = _define(T, ns)
    T.library.impl(f"{ns}::f", "cpu", lambda x: x + 1, lib=lib)
    return str(getattr(T.ops, ns).f.default._schema), getattr(T.ops, ns).f(example(T, 2))


def impl_decorator(T, ns):
    lib = _define(T, ns)

    @T.library.impl(f"{ns}::f", ("cpu", "cuda"), lib=lib)
    def f(x):
        return x + 1

    return getattr(T.ops, ns).f(example(T, 2))


def impl_default(T, ns):
    lib = _define(T, ns)
    T.library.impl(f"{ns}::f", "default", lambda x: x * 3, lib=lib)
    return getattr(T.ops, ns).f(example(T, 2)), getattr(T.ops, ns).f(T.empty(2, device="meta")).shape[0]


def impl_cpu_beats_default(T, ns):
    lib = _define(T, ns)
    T.library.impl(f"{ns}::f", "default", lambda x: x * 3, lib=lib)
    T.library.impl(f"{ns}::f", "cpu", lambda x: x * 5, lib=lib)
    return getattr(T.ops, ns).f(example(T, 2))


def library_methods(T, ns):
    lib = T.library.Library(ns, "DEF")
    names = lib.define("f(Tensor x) -> Tensor"), lib.define("f.two(Tensor x, int n) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    lib.impl("f.two", lambda x, n: x * n, "CPU")
    space = getattr(T.ops, ns)
    return names, space.f(example(T, 2)), space.f(example(T, 2), 4), sorted(space.f.overloads()), lib.ns, lib.kind


def library_with_key(T, ns):
    owner = _define(T, ns)
    lib = T.library.Library(owner.ns, "IMPL", "CPU")
    lib.impl("f", lambda x: x + 1)
    return getattr(T.ops, ns).f(example(T, 2)), lib.dispatch_key


def library_fragment_with_key(T, ns):
    lib = T.library.Library(ns, "FRAGMENT", "CPU")
    lib.define("f(Tensor x) -> Tensor")


def impl_by_overload(T, ns):
    lib = T.library.Library(ns, "FRAGMENT")
    lib.define("f.o(Tensor x) -> Tensor")
    lib.impl(getattr(T.ops, ns).f.o, lambda x: x + 1, "CPU")
    return getattr(T.ops, ns).f(example(T, 2)), str(getattr(T.ops, ns).f.o)


def earlier_forms(T, ns):
    lib = T.library.Library(ns, "FRAGMENT")

    @T.library.define(lib, "f(Tensor x) -> Tensor")
    def f(x):
        return x + 1

    lib.define("g(Tensor x) -> Tensor")

    @T.library.impl(lib, "g", "CPU")
    def g(x):
        return x + 2

    return getattr(T.ops, ns).f(example(T, 2)), getattr(T.ops, ns).g(example(T, 2)), f(example(T, 2)), g(example(T, 2))


def lifetime(T, ns):
    lib = _define(T, ns)
    kernels = T.library.Library(ns, "IMPL")
    kernels.impl("f", lambda x: x + 1, "CPU")
    f = getattr(T.ops, ns).f.default
    before = f(example(T, 2))
    kernels._destroy()
    try:
        f(example(T, 2))
    except NotImplementedError:
        return before, "gone", lib.ns
    return before, "still there", lib.ns


def overriding(T, ns):
    lib = _define(T, ns)
    lib.impl("f", lambda x: x + 1, "CPU")
    other = T.library.Library(ns, "IMPL")
    other.impl("f", lambda x: x + 2, "CPU", allow_override=True)
    f = getattr(T.ops, ns).f.default
    first = f(example(T, 2))
    other._destroy()
    return first, f(example(T, 2))


def override_refused(T, ns):
    lib = _define(T, ns)
    lib.impl("f", lambda x: x + 1, "CPU", allow_override=False)
    lib.impl("f", lambda x: x + 2, "CPU", allow_override=False)


def redispatch(T, ns):
    lib = _define(T, ns)
    f = getattr(T.ops, ns).f.default
    lib.impl("f", lambda ks, x: f.redispatch(ks & T.after_autograd, x) * 10, "AutogradCPU", with_keyset=True)
    lib.impl("f", lambda x: x + 1, "CPU")
    return f(example(T, 2))


def excluded(T, ns):
    lib = _define(T, ns)
    f = getattr(T.ops, ns).f.default
    lib.impl("f", lambda x: x + 100, "AutogradCPU")
    lib.impl("f", lambda x: x + 1, "CPU")
    with T.excluding("AutogradCPU"):
        inside = f(example(T, 2))
    return inside, f(example(T, 2))


def fallthrough(T, ns):
    lib = _define(T, ns)
    lib.impl("f", T.library.fallthrough_kernel, "Autograd")
    lib.impl("f", lambda x: x + 1, "CPU")
    return getattr(T.ops, ns).f(example(T, 2))


def boxed(T, ns):
    lib = _define(T, ns)
    lib.impl("f", lambda x: x + 1, "CPU")
    kernel = T.library.get_kernel(f"{ns}::f", "CPU")
    return kernel.call_boxed(T._C.DispatchKeySet(T._C.DispatchKey.CPU) if T is THEIRS
                             else T.DispatchKeySet(T.DispatchKey.CPU), example(T, 2))  # fmt: skip


def composite_with_gradient(T, ns):
    lib = _define(T, ns, "(Tensor x, Tensor y) -> Tensor")
    lib.impl("f", lambda x, y: x @ y, "CompositeImplicitAutograd")
    x, y = example(T, 2, 3).requires_grad_(), example(T, 3, 2)
    out = getattr(T.ops, ns).f(x, y)
    return out.detach(), T.autograd.grad(out, x, T.ones(2, 2))


SCHEMAS = [
    "(Tensor x) -> Tensor", "(Tensor x, *, int n=1) -> Tensor", "(Tensor x, float s=2.) -> (Tensor, Tensor)",
    "(Tensor(a!) x) -> ()", "(Tensor(a!) x) -> Tensor(a!)", "(Tensor(a) x) -> Tensor(a)", "(Tensor? x=None) -> Tensor",
    "(Tensor[] xs) -> Tensor[]", "(Tensor?[] xs) -> Tensor", "(SymInt[] s) -> Tensor", "(int[2] s=1) -> Tensor",
    "(Scalar s) -> Tensor", "(str s=\"a\") -> ()", "(ScalarType? d=None, Device? e=None) -> Tensor",
    "(Tensor x, bool b=True) -> bool", "(float[] fs=[1., 2.]) -> float", "(Tensor(a!)[] xs) -> ()", "() -> Tensor",
    "(Tensor x) -> (Tensor out, int n)", "(Tensor x", "(Tensr x) -> Tensor", "x -> Tensor", "", "(Tensor) -> Tensor",
    "(Tensor x) -> Tensor trailing", "(Tensor x, Tensor x) -> Tensor", "(int n=) -> Tensor", "(Tensor x) Tensor",
    "(Tensor x) -> Tensr",
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schemas(schema):
    def case(T, ns):
        lib = _define(T, ns, schema)
        op = getattr(T.ops, ns).f.default
        return str(op._schema), op._schema.is_mutable, lib.ns

    check(case, f"schema {schema}")


@pytest.mark.parametrize(
    "present",
    [
        c
        for n in (1, 2, 3)
        for c in itertools.combinations(
            [
                "CPU",
                "CompositeExplicitAutogradNonFunctional",
                "CompositeExplicitAutograd",
                "CompositeImplicitAutograd",
                "Autograd",
                "AutogradCPU",
                "ADInplaceOrView",
                "AutocastCPU",
            ],
            n,
        )
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("needs_grad", [False, True])
def test_which_kernel_runs(present, needs_grad):
    def case(T, ns):
        lib = _define(T, ns)
        seen = []

        def kernel(number):
            def run(x):
                seen.append(number)
                return T.full((1,), float(number))

            return run

        for number, key in enumerate(present):
            lib.impl("f", kernel(number), key)
        x = example(T, 1)
        if needs_grad:
            x.requires_grad_()
        getattr(T.ops, ns).f(x)
        return seen

    check(case, f"kernels {' '.join(present)}")


# ---- gradients -----------------------------------------------------------------------------------------------------


def _mul_op(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor, y: T.Tensor, s: float = 1.0) -> T.Tensor:
        return x * y * s

    return f


def gradients(T, ns):
    f = _mul_op(T, ns)

    def setup(ctx, inputs, output):
        x, y, s = inputs
        ctx.save_for_backward(x, y)
        ctx.s = s

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y * ctx.s, grad * x * ctx.s, None

    f.register_autograd(backward, setup_context=setup)
    x, y = example(T, 3).requires_grad_(), example(T, 3, start=5.0).requires_grad_()
    out = f(x, y, 2.0)
    return (
        out.detach(),
        T.autograd.grad(out, [x, y], T.ones(3)),
        out.requires_grad,
        f(x.detach(), y.detach()).requires_grad,
    )


def gradient_of_one(T, ns):
    f = _mul_op(T, ns)
    needs = []

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[1])

    def backward(ctx, grad):
        needs.append(ctx.needs_input_grad)
        (y,) = ctx.saved_tensors
        return grad * y, None, None

    T.library.register_autograd(f"{ns}::f", backward, setup_context=setup)
    x = example(T, 3).requires_grad_()
    f(x, example(T, 3), 2.0).backward(T.ones(3))
    return x.grad, needs


def gradient_without_context(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> T.Tensor:
        return x * 3

    f.register_autograd(lambda ctx, grad: grad * 3)
    x = example(T, 3).requires_grad_()
    return T.autograd.grad(f(x), x, T.ones(3))


def gradient_keyword_only(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor, *, s: float, n: int = 2) -> T.Tensor:
        return x * s * n

    seen = []

    def setup(ctx, inputs, keyword_only_inputs, output):
        seen.append((len(inputs), keyword_only_inputs))
        ctx.s = keyword_only_inputs["s"] * keyword_only_inputs["n"]

    f.register_autograd(lambda ctx, grad: grad * ctx.s, setup_context=setup)
    x = example(T, 3).requires_grad_()
    return T.autograd.grad(f(x, s=1.5), x, T.ones(3)), seen


def gradient_of_several_results(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> Tuple[T.Tensor, T.Tensor]:
        return x * 2, x * 3

    f.register_autograd(lambda ctx, a, b: a * 2 + b * 3)
    x = example(T, 3).requires_grad_()
    a, b = f(x)
    return T.autograd.grad([a, b], x, [T.ones(3), T.ones(3)]), T.autograd.grad(f(x)[1], x, T.ones(3))


def gradient_of_a_list(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(xs: Sequence[T.Tensor], s: float) -> T.Tensor:
        return xs[0] * s + xs[1]

    def setup(ctx, inputs, output):
        ctx.s = inputs[1]

    f.register_autograd(lambda ctx, grad: ([grad * ctx.s, grad], None), setup_context=setup)
    x, y = example(T, 3).requires_grad_(), example(T, 3).requires_grad_()
    return T.autograd.grad(f([x, y], 4.0), [x, y], T.ones(3))


def gradient_of_an_output_saved(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> T.Tensor:
        return x * x

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    f.register_autograd(lambda ctx, grad: grad * ctx.saved_tensors[1], setup_context=setup)
    x = example(T, 3).requires_grad_()
    return T.autograd.grad(f(x), x, T.ones(3))


def gradient_missing(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> T.Tensor:
        return x * 2

    x = example(T, 3).requires_grad_()
    T.autograd.grad(f(x), x, T.ones(3))


def gradient_forward_only(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> T.Tensor:
        return x * 2

    return f(example(T, 3).requires_grad_()).detach()


def too_few_gradients(T, ns):
    f = _mul_op(T, ns)
    f.register_autograd(lambda ctx, grad: (grad,))
    x = example(T, 3).requires_grad_()
    T.autograd.grad(f(x, example(T, 3)), x, T.ones(3))


def too_many_gradients(T, ns):
    f = _mul_op(T, ns)
    f.register_autograd(lambda ctx, grad: (grad, grad, None, grad))
    x = example(T, 3).requires_grad_()
    T.autograd.grad(f(x, example(T, 3)), x, T.ones(3))


def gradient_for_a_number(T, ns):
    f = _mul_op(T, ns)
    f.register_autograd(lambda ctx, grad: (grad, grad, grad))
    x = example(T, 3).requires_grad_()
    T.autograd.grad(f(x, example(T, 3)), x, T.ones(3))


def gradient_of_a_write(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args={"x"})
    def f(x: T.Tensor) -> None: ...

    f.register_autograd(lambda ctx, grad: grad)


def write_to_a_leaf(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args={"x"})
    def f(x: T.Tensor) -> None:
        x.numpy()[...] = 0

    f(example(T, 3).requires_grad_())


def setup_of_other_parameters(T, ns):
    f = _mul_op(T, ns)
    f.register_autograd(lambda ctx, grad: (grad, None, None), setup_context=lambda ctx, inputs, result: None)
    x = example(T, 3).requires_grad_()
    f(x, example(T, 3))


def saved_tensor_written(T, ns):
    f = _mul_op(T, ns)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[1])

    f.register_autograd(lambda ctx, grad: (grad * ctx.saved_tensors[0], None, None), setup_context=setup)
    x, y = example(T, 3).requires_grad_(), example(T, 3)
    out = f(x, y)
    y.zero_()
    T.autograd.grad(out, x, T.ones(3))


def autograd_kernel_of_a_function(T, ns):
    lib = _define(T, ns)

    class Triple(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with T.excluding("AutogradCPU"):
                return getattr(T.ops, ns).f(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    lib.impl("f", lambda x: x * 3, "CPU")
    lib.impl("f", Triple.apply, "Autograd")
    x = example(T, 3).requires_grad_()
    return T.autograd.grad(getattr(T.ops, ns).f(x), x, T.ones(3))


# ---- kernels, fake rules -------------------------------------------------------------------------------------------


def kernels_by_device(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=(), device_types="cpu")
    def f(x: T.Tensor) -> T.Tensor:
        return x + 1

    f.register_kernel("meta")(lambda x: T.empty(5, device="meta"))
    T.library.register_kernel(f"{ns}::f", ["cuda", "cpu"], lambda x: x + 2)
    return f(example(T, 2)), f(T.empty(2, device="meta")).shape[0]


def kernel_of_another_device(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=(), device_types="cuda")
    def f(x: T.Tensor) -> T.Tensor:
        return x + 1

    f(example(T, 2))


def kernel_unknown_device(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=(), device_types="nope")
    def f(x: T.Tensor) -> T.Tensor:
        return x + 1


def kernel_without_tensors(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=(), device_types="cpu")
    def f(n: int) -> T.Tensor:
        return T.ones(n)


def switched(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> T.Tensor:
        return x * 0

    f.register_kernel("cpu", lambda x: x + 1)
    x, seen = example(T, 2), []
    with f.set_kernel_enabled("cpu", enabled=False):
        seen.append(f(x))
        f.register_kernel("cpu", lambda x: x + 2)
        seen.append(f(x))
    with f.set_kernel_enabled("cpu", True):
        seen.append(f(x))
    return [*seen, f(x)]


def fake_on_meta(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor, n: int) -> T.Tensor:
        return T.cat([x] * n)

    f.register_fake(lambda x, n: x.new_empty(x.shape[0] * n, *x.shape[1:]))
    out = f(T.empty(2, 3, device="meta"), 2)
    return tuple(out.shape), out.device.type


def fake_missing(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> T.Tensor:
        return T.from_numpy(x.numpy() + 1)

    f(T.empty(2, device="meta"))


def fake_context_outside(T, ns):
    T.library.get_ctx()


def fake_of_no_op(T, ns):
    T.library.register_fake(f"{ns}::nope", lambda x: x)


def kernel_of_no_op(T, ns):
    T.library.register_kernel(f"{ns}::nope", "cpu", lambda x: x)


# ---- modes, vmap, autocast -----------------------------------------------------------------------------------------


def mode_sees(T, ns):
    f, seen = _plain_op(T, ns), []

    class Log(T.Mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), len(args), sorted(kwargs or {}), len(types)))
            return func(*args, **(kwargs or {}))

    with Log():
        out = f(example(T, 2), 3, flag=True)
    return out, [entry for entry in seen if entry[0].startswith(ns)]


def mode_rule(T, ns):
    f = _plain_op(T, ns)

    class Mode(T.Mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    @T.library.register_torch_dispatch(f"{ns}::f", Mode)
    def _(mode, func, types, args, kwargs):
        assert isinstance(mode, Mode)
        return args[0] + 100

    with Mode():
        inside = f(example(T, 2))
    return inside, f(example(T, 2))


def mode_rule_twice(T, ns):
    f = _plain_op(T, ns)

    class Mode(T.Mode):
        pass

    f.register_torch_dispatch(Mode, lambda *args: 1)
    f.register_torch_dispatch(Mode, lambda mode, func, types, args, kwargs: args[0] + 7)
    T.library.register_torch_dispatch(f"{ns}::f", Mode, lambda mode, func, types, args, kwargs: args[0] + 8)
    with Mode():
        return f(example(T, 2))


def mode_rule_twice_of_a_library_op(T, ns):
    lib = _define(T, ns)

    class Mode(T.Mode):
        pass

    T.library.register_torch_dispatch(f"{ns}::f", Mode, lambda *args: 1, lib=lib)
    T.library.register_torch_dispatch(f"{ns}::f", Mode, lambda *args: 1, lib=lib)


def _wrapper(T):
    class Wrapped(T.Tensor):
        @staticmethod
        def __new__(cls, inner, requires_grad=False):
            t = T.Tensor._make_wrapper_subclass(
                cls, inner.size(), dtype=inner.dtype, device=inner.device, requires_grad=requires_grad
            )
            t.inner = inner
            return t

        def __repr__(self):
            return "Wrapped"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            plain = [a.inner if isinstance(a, Wrapped) else a for a in args]
            result = func(*plain, **(kwargs or {}))
            return Wrapped(result) if isinstance(result, T.Tensor) else result

    return Wrapped


def subclass(T, ns):
    f, Wrapped = _plain_op(T, ns), _wrapper(T)
    out = f(Wrapped(example(T, 2)), 3)
    return type(out).__name__, out.inner, tuple(out.shape)


def subclass_rule(T, ns):
    f, Wrapped = _plain_op(T, ns), _wrapper(T)
    f.register_torch_dispatch(Wrapped, lambda cls, func, types, args, kwargs: cls(args[0].inner + 100))
    return f(Wrapped(example(T, 2))).inner, f(example(T, 2))


def subclass_gradient(T, ns):
    f, Wrapped = _mul_op(T, ns), _wrapper(T)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[1])

    f.register_autograd(lambda ctx, grad: (grad * ctx.saved_tensors[0], None, None), setup_context=setup)
    x = Wrapped(example(T, 3), requires_grad=True)
    out = f(x, Wrapped(example(T, 3)))
    (grad,) = T.autograd.grad(out, x, Wrapped(T.ones(3)))
    return type(grad).__name__, grad.inner, out.requires_grad


def subclass_kept(T, ns):
    class Kept(T.Tensor):
        @staticmethod
        def __new__(cls, data):
            return T.Tensor._make_subclass(cls, data, True)

    data = example(T, 2)
    x = Kept(data)
    with T.no_grad():
        data[0] = 7
    return type(x).__name__, x.requires_grad, x.detach().tolist()


def subclass_of_number(T, ns):
    T.Tensor._make_subclass(int, example(T, 2))


def vmap_rule(T, ns):
    f, seen = _mul_op(T, ns), []

    @f.register_vmap
    def _(info, in_dims, x, y, s=1.0):
        assert left_out("vmap, arguments that have their defaults")
        seen.append((info.batch_size, tuple(in_dims[:2])))
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x
        y = y.movedim(in_dims[1], 0) if in_dims[1] is not None else y
        return f(x, y, s), 0

    x, y = example(T, 3, 2), example(T, 2, 3)
    out = T.vmap(f, in_dims=(0, 1))(x, y)
    return out, T.vmap(lambda a: f(a, example(T, 2), 2.0))(x), T.vmap(f, in_dims=(None, 0))(example(T, 3), y), seen


def vmap_rule_of_several(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor) -> Tuple[T.Tensor, T.Tensor]:
        return x * 2, x * 3

    f.register_vmap(lambda info, in_dims, x: (f(x), (in_dims[0], in_dims[0])))
    return T.vmap(f)(example(T, 3, 2)), T.vmap(f, out_dims=(1, 0))(example(T, 3, 2))


def vmap_without_rule(T, ns):
    return T.vmap(_mul_op(T, ns))(example(T, 3, 2), example(T, 3, 2))


def vmap_of_a_write(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args={"x"})
    def f(x: T.Tensor) -> None: ...

    f.register_vmap(lambda info, in_dims, x: (None, None))


def vmap_keyword_tensor(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor, *, y: T.Tensor) -> T.Tensor:
        return x + y

    f.register_vmap(lambda info, in_dims, x, y: (x, 0))


def autocast_rule(T, ns):
    f = _mul_op(T, ns)
    f.register_autocast("cpu", T.bfloat16)
    x, y = example(T, 2), example(T, 2)
    with T.autocast("cpu", dtype=T.bfloat16):
        inside = f(x, y)
    return inside, f(x, y)


def autocast_leaves_integers(T, ns):
    @T.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: T.Tensor, n: T.Tensor) -> Tuple[T.Tensor, T.Tensor]:
        return x.clone(), n.clone()

    T.library.register_autocast(f"{ns}::f", "cpu", T.bfloat16)
    with T.autocast("cpu", dtype=T.bfloat16):
        return f(example(T, 2), T.tensor([1, 2]))


def autocast_unknown_device(T, ns):
    _mul_op(T, ns).register_autocast("nope", T.bfloat16)


def autocast_no_device(T, ns):
    _mul_op(T, ns).register_autocast(3, T.bfloat16)


# ---- what cannot be ------------------------------------------------------------------------------------------------


def _custom(T, name, schema="(Tensor x) -> Tensor"):
    return T.library.custom_op(name, lambda x: x, mutates_args=(), schema=schema)


INVALID = {
    "custom_op without a namespace": lambda T, ns: _custom(T, "f"),
    "custom_op with two": lambda T, ns: _custom(T, "a::b::c"),
    "custom_op unparsable": lambda T, ns: _custom(T, f"{ns}::f", "(Tensr x) -> Tensor"),
    "custom_op no function": lambda T, ns: T.library.custom_op(f"{ns}::f", 3, mutates_args=()),
    "custom_op without mutates_args": lambda T, ns: T.library.custom_op(f"{ns}::f", lambda x: x),
    "library kind": lambda T, ns: T.library.Library(ns, "NOPE"),
    "library of prim": lambda T, ns: T.library.Library("prim", "DEF"),
    "library defined twice": lambda T, ns: [T.library.Library(ns, "DEF"), T.library.Library(ns, "DEF")],
    "library key": lambda T, ns: T.library.Library(ns, "IMPL", "Nope"),
    "define twice": lambda T, ns: [_define(T, ns), _define(T, ns)],
    "define without a namespace": lambda T, ns: T.library.define("f", "(Tensor x) -> Tensor"),
    "define a number": lambda T, ns: T.library.define(3, "(Tensor x) -> Tensor"),
    "define with the name in the schema": lambda T, ns: T.library.define(f"{ns}::f", "f(Tensor x) -> Tensor"),
    "define alias analysis": lambda T, ns: T.library.Library(ns, "DEF").define("f(Tensor x) -> Tensor", "NOPE"),
    "define through IMPL": lambda T, ns: T.library.Library(ns, "IMPL").define("f(Tensor x) -> Tensor"),
    "impl no function": lambda T, ns: _define(T, ns).impl("f", 3, "CPU"),
    "impl key": lambda T, ns: _define(T, ns).impl("f", lambda x: x, "Nope"),
    "impl device": lambda T, ns: [_define(T, ns), T.library.impl(f"{ns}::f", "nope", lambda x: x)],
    "impl number for a name": lambda T, ns: _define(T, ns).impl(3, lambda x: x, "CPU"),
    "impl Meta of a composite": lambda T, ns: [
        lib := _define(T, ns), lib.impl("f", lambda x: x + 1, "CompositeImplicitAutograd"),
        lib.impl("f", lambda x: x, "Meta"),
    ],
    "no kernel": lambda T, ns: [_define(T, ns), getattr(T.ops, ns).f(example(T, 2))],
    "no op": lambda T, ns: getattr(T.ops, ns).nope(example(T, 2)),
    "no overload": lambda T, ns: [_define(T, ns), getattr(T.ops, ns).f.nope],
    "fallback of a namespace": lambda T, ns: T.library.Library(ns, "IMPL").fallback(lambda *a: None, "AutocastCPU"),
    "fallback no function": lambda T, ns: T.library.Library("_", "IMPL").fallback(3, "AutocastCPU"),
    "fallthrough called": lambda T, ns: T.library.fallthrough_kernel(),
    "register_fake of a number": lambda T, ns: T.library.register_fake(3, lambda x: x),
    "register_kernel of a number": lambda T, ns: T.library.register_kernel(3, "cpu", lambda x: x),
    "register_autograd of a number": lambda T, ns: T.library.register_autograd(3, lambda ctx, g: g),
    "register_vmap of a number": lambda T, ns: T.library.register_vmap(3, lambda *a: None),
    "register_torch_dispatch of a number": lambda T, ns: T.library.register_torch_dispatch(3, T.Mode, lambda *a: None),
    "get_kernel of no op": lambda T, ns: T.library.get_kernel(f"{ns}::nope", "CPU"),
    "get_kernel without one": lambda T, ns: [_define(T, ns), T.library.get_kernel(f"{ns}::f", "CPU")],
    "switch an unknown device": lambda T, ns: _plain_op(T, ns).set_kernel_enabled(3),
    "infer_schema of *args": lambda T, ns: T.library.infer_schema(_star(T), mutates_args=()),
    "infer_schema of **kwargs": lambda T, ns: T.library.infer_schema(_double_star(T), mutates_args=()),
    "infer_schema positional only": lambda T, ns: T.library.infer_schema(_positional_only(T), mutates_args=()),
    "infer_schema without annotation": lambda T, ns: T.library.infer_schema(lambda x: x, mutates_args=()),
    "infer_schema without return": lambda T, ns: T.library.infer_schema(_no_return(T), mutates_args=()),
    "implementation of the wrong type": lambda T, ns: T.library.custom_op(
        f"{ns}::f", lambda x: "text", mutates_args=(), schema="(Tensor x) -> Tensor")(example(T, 2)),
}  # fmt: skip


def _star(T):
    def f(*x: T.Tensor) -> T.Tensor: ...

    return f


def _double_star(T):
    def f(**x: T.Tensor) -> T.Tensor: ...

    return f


def _positional_only(T):
    def f(x: T.Tensor, /) -> T.Tensor: ...

    return f


def _no_return(T):
    def f(x: T.Tensor): ...

    return f


SINGLE = [
    list_calls, writes, writes_list, factory, returns_its_argument, returns_a_view, schema_given, schema_disagrees,
    define_then_impl, impl_decorator, impl_default, impl_cpu_beats_default, library_methods, library_with_key,
    library_fragment_with_key,
    impl_by_overload, earlier_forms, lifetime, overriding, override_refused, redispatch, excluded, fallthrough, boxed,
    composite_with_gradient, gradients, gradient_of_one, gradient_without_context, gradient_keyword_only,
    gradient_of_several_results, gradient_of_a_list, gradient_of_an_output_saved, gradient_missing,
    gradient_forward_only, too_few_gradients, too_many_gradients, gradient_for_a_number, gradient_of_a_write,
    write_to_a_leaf, setup_of_other_parameters, saved_tensor_written, autograd_kernel_of_a_function, kernels_by_device,
    kernel_of_another_device, kernel_unknown_device, kernel_without_tensors, switched, fake_on_meta, fake_missing,
    fake_context_outside, fake_of_no_op, kernel_of_no_op, mode_sees, mode_rule, mode_rule_twice,
    mode_rule_twice_of_a_library_op, subclass,
    subclass_rule, subclass_gradient, subclass_kept, subclass_of_number, vmap_rule, vmap_rule_of_several,
    vmap_without_rule, vmap_of_a_write, vmap_keyword_tensor, autocast_rule, autocast_leaves_integers,
    autocast_unknown_device, autocast_no_device,
]  # fmt: skip


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.__name__)
def test_cases(case):
    check(case, case.__name__)


@pytest.mark.parametrize("name", INVALID)
def test_invalid(name):
    check(INVALID[name], name)
