"""Schemas: reading, printing, binding, and inferring them from signatures."""

from __future__ import annotations

import keyword
import math
import typing
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Optional, Union

import pytest
from hypothesis import given, strategies as st

from opweave.registry import dtypes
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, SchemaError
from opweave.registry.schema import (
    MISSING,
    Alias,
    Argument,
    BaseType,
    FunctionSchema,
    GenericType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    VarType,
    infer_schema,
    parse_schema,
    parse_type,
    quote,
)
from opweave.registry.tensor import Tensor

# --- reading and printing


@pytest.mark.parametrize(
    "text",
    [
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor",
        "aten::relu_(Tensor(a!) self) -> Tensor(a!)",
        "aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
        "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
        "aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
        "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
        'aten::gelu(Tensor self, *, str approximate="none") -> Tensor',
        "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"
        " -> (Tensor, Tensor, Tensor)",
        "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values)"
        " -> (Tensor(a!) values, Tensor(b!) indices)",
        "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0) -> Tensor",
        "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,"
        " bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        "aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(b|a)",
        "aten::format(str self, ...) -> str",
        "prim::unpack(Any x) -> ...",
        "aten::items.str(Dict(str, t)(a) self) -> ((str, t)[])",
        "aten::keys.str(Dict(str, t) self) -> str[](*)",
        "prim::wait(Future(t) self, RRef(t)? other) -> t",
        "my_lib::noop() -> ()",
        "noop(Storage s, QScheme q, Generator? g=None, int[] n, Stream? t=None, Dimname[]? names=None) -> ()",
        "f(Union(int, float)[] x, (int, str)[] y, complex z=1.+2.j, Scalar s=0.5, Scalar t=True) -> (Tensor, ...)",
    ],
)
def test_prints_what_it_read(text: str) -> None:
    assert str(parse_schema(text)) == text


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("f(Tensor[3] x)->(Tensor)", "f(Tensor[3] x) -> Tensor"),
        ("f(float x=1e-5, float y=1, float? z=1)->()",
         "f(float x=1.0000000000000001e-05, float y=1., float? z=1) -> ()"),
        ("f(float x=-.5, float y=inf, float z=-inf) -> ()", "f(float x=-0.5, float y=inf, float z=-inf) -> ()"),
        ("f(SymInt[2] x=1, int[2] y=1, bool[2] z=True) -> ()",
         "f(SymInt[2] x=[1, 1], int[2] y=1, bool[2] z=[True, True]) -> ()"),
        ("f(int reduction=Mean, MemoryFormat m=contiguous_format) -> ()", "f(int reduction=1, MemoryFormat m=0) -> ()"),
        ("f(ScalarType x=long, ScalarType? y=float) -> ()", "f(ScalarType x=4, ScalarType? y=6) -> ()"),
        (r"""f(str x='a"\'\n\101é') -> ()""", r'f(str x="a\"\'\nA\303\251") -> ()'),
        ("f(int x, *, int y, *, int z) -> ()", "f(int x, *, int y, int z) -> ()"),
        ("f(Tensor! x, Tensor! y) -> ()", "f(Tensor($0!) x, Tensor($1!) y) -> ()"),
        ("f(\n  Tensor x,\n  Tensor y\n) -> Tensor", "f(Tensor x, Tensor y) -> Tensor"),
    ],
)  # fmt: skip
def test_prints_as_pytorch_does(written: str, printed: str) -> None:
    assert str(parse_schema(written)) == printed
    assert str(parse_schema(printed)) == printed


def test_parts() -> None:
    schema = parse_schema("aten::div.Tensor_mode(Tensor self, Tensor(b!)? other, *, str? mode=None) -> Tensor r")
    assert (schema.name, schema.overload_name) == ("aten::div", "Tensor_mode")
    assert schema.full_name == "aten::div.Tensor_mode"
    first, other, mode = schema.arguments
    assert first == Argument("self", BaseType("Tensor")) and not first.has_default and not first.kwarg_only
    assert other.type == OptionalType(BaseType("Tensor")) and other.alias == Alias(("b",), ("b",), is_write=True)
    assert mode.kwarg_only and mode.default is None and str(mode.type) == "str?"
    assert schema.returns[0].name == "r"


def test_defaults_are_python_values() -> None:
    schema = parse_schema(
        'f(ScalarType a=long, int[] b=[1, -2], str c="x", Device d="cpu", float e=nan, bool f=True, str[] g=["a"])->()'
    )
    a, b, c, d, e, f, g = (argument.default for argument in schema.arguments)
    assert (a, b, c, d, f, g) == (dtypes.int64, (1, -2), "x", "cpu", True, ("a",)) and math.isnan(e)


def test_aliasing() -> None:
    view = parse_schema("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)")
    assert not view.is_mutable and view.mutated_args == () and view.aliased_returns == {0: ("self",)}
    out = parse_schema("aten::aminmax.out(Tensor self, *, Tensor(a!) min, Tensor(b!) max) -> (Tensor(a!), Tensor(b!))")
    assert out.mutated_args == ("min", "max") and out.aliased_returns == {0: ("min",), 1: ("max",)}
    lists = parse_schema("f(Tensor(a!)[] x, Tensor(b!)? y, Tensor z) -> Tensor(c)")
    assert lists.mutated_args == ("x", "y") and lists.aliased_returns == {}
    split = parse_schema("aten::split(Tensor(a -> *) self, int size) -> Tensor(a)[]")
    assert split.aliased_returns == {0: ("self",)}
    wild = parse_schema("f(Tensor x, int n, Tensor[] y) -> Tensor(*)")
    assert wild.aliased_returns == {0: ("x", "y")}
    assert parse_schema("f(Tensor x) -> Tensor").aliased_returns == {}


def test_types() -> None:
    tensor = BaseType("Tensor")
    assert parse_type("Tensor?[]") == ListType(OptionalType(tensor))
    assert parse_type("int[2]?") == OptionalType(ListType(BaseType("int"), 2))
    assert parse_type("Dict(str, Tensor)") == GenericType("Dict", (BaseType("str"), tensor))
    assert parse_type("(int, t[])") == TupleType((BaseType("int"), ListType(VarType("t"))))
    assert parse_type("None") == BaseType("NoneType")
    assert parse_type("Tensor?[]").base == tensor
    assert [parse_type(t).has_tensor for t in ("Tensor?[]", "int[]", "Dict(str, Tensor)", "(int, str)", "Any")] == [
        True, False, True, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("f(Tensr x) -> Tensor", 3, "unknown type 'Tensr'"),
        ("f(double x) -> Tensor", 3, "unknown type 'double'"),
        ("f(Tensor x, -> Tensor", 13, "expected a type but found '->'"),
        ("f(Tensor x,) -> Tensor", 12, "expected something after ','"),
        ("f(Tensor x) Tensor", 13, "expected '->' but found 'Tensor'"),
        ("f(Tensor x)", 12, "expected '->' but found the end"),
        ("f(Tensor x) -> Tensor Y Z", 25, "expected the end but found 'Z'"),
        ("aten::add", 10, "expected '(' and the arguments of aten::add but found the end"),
        ("aten::add.default(Tensor x) -> Tensor", 11, "'default' is not a legal overload name"),
        ("f(__torch__.Foo x) -> ()", 3, "TorchScript classes have no counterpart here"),
        ("f(Tensor x, int x) -> ()", 13, "two arguments are called 'x'"),
        ("f(int x=1.5) -> ()", 9, "'1.5' is no default for an argument of type int"),
        ("f(Tensor x=3) -> ()", 12, "'3' is no default for an argument of type Tensor"),
        ("f(int[] x=1) -> ()", 11, "'1' is no default for an argument of type int[]"),
        ("f(str x=foo) -> ()", 9, "expected a default value but found 'foo'"),
        ("f(str x=\"foo) -> ()", 9, "unterminated string"),
        ("f(Tensor?(a!) x) -> ()", 10, "an alias annotation stands before '?'"),
        ("f(int[n] x) -> ()", 7, "expected a list size or ']' but found 'n'"),
        ("f(Dict(str) x) -> ()", 3, "Dict takes 2 type parameters, not 1"),
        ("f((Tensor(a), int) x) -> ()", 4, "alias annotations cannot stand inside a tuple type"),
        ("f(int x) -> (..., Tensor)", 19, "'...' must be the last of the returns"),
        ("f(int x=1, ...) -> ()", 1, "with '...' no argument can have a default"),
        ("f(int a=1, Tensor b) -> ()", 12, "'b' has no default, and stands after one that has"),
        ("f(int class) -> ()", 7, "'class' is a reserved word, and no argument name"),
        ("f(int x=9223372036854775808) -> ()", 9, "9223372036854775808 does not fit in 64 bits"),
        ("f(int?[] x=[1]) -> ()", 12, "a list is no default for an argument of type int?[]"),
        ("f(Union(int) x) -> ()", 3, "Union takes at least 2 type parameters, not 1"),
        ("f(str x='\\x41') -> ()", 9, "a text cannot have '\\\\x' in it"),
        ("f(int x; int y) -> ()", 8, "unexpected character ';'"),
        ("", 1, "expected an operator name but found the end"),
    ],
)  # fmt: skip
def test_errors_point_at_the_column(text: str, column: int, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    assert caught.value.what == f"schema: {message}"
    shown, caret = str(caught.value.got).split("\n")
    assert shown == text
    assert caret == " " * (8 + column - 1) + f"^ column {column}"
    assert "test_schema.py" in str(caught.value.at)


def test_error_text() -> None:
    with pytest.raises(ValueError) as caught:
        parse_schema("f(double x) -> Tensor")
    lines = str(caught.value).split("\n")
    assert lines[:3] == ["schema: unknown type 'double'", "  got:  f(double x) -> Tensor", "          ^ column 3"]
    assert lines[4] == "  hint: a schema says float"


# --- round trip of arbitrary schemas

_names = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: name not in ("inf", "nan") and not keyword.iskeyword(name)
)
_bases = st.sampled_from(["Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "ScalarType", "Device", "t"])
_leaves = _bases.map(lambda name: VarType(name) if name == "t" else BaseType(name))
_types: st.SearchStrategy[Type] = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(ListType, inner),
        inner.filter(lambda kind: not isinstance(kind, OptionalType)).map(OptionalType),
        st.lists(inner, min_size=1, max_size=3).map(lambda elements: TupleType(tuple(elements))),
        st.tuples(st.just(BaseType("str")), inner).map(lambda pair: GenericType("Dict", pair)),
    ),
    max_leaves=4,
)
_letters = st.lists(st.sampled_from("abcd"), min_size=1, max_size=2, unique=True).map(tuple)


@st.composite
def _aliases(draw: st.DrawFn, kind: Type) -> Alias | None:
    while isinstance(kind, OptionalType):
        kind = kind.element
    if isinstance(kind, TupleType) or draw(st.booleans()):
        return None
    if isinstance(kind, ListType):
        inner = draw(_aliases(kind.element))
        if inner is not None:
            return Alias(is_write=inner.is_write, contained=inner)
    before = draw(_letters)
    after = draw(st.one_of(st.just(before), _letters, st.just(("*",))))
    return Alias(before, after, draw(st.booleans()))


def _defaults(kind: Type) -> st.SearchStrategy[Any]:
    values: dict[str, st.SearchStrategy[Any]] = {
        "int": st.integers(-(2**63), 2**63 - 1),
        "float": st.floats(allow_nan=False),
        "bool": st.booleans(),
        "str": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        "ScalarType": st.sampled_from(list(dtypes.DTYPES.values())),
    }
    if isinstance(kind, OptionalType):
        return st.one_of(st.none(), st.just(MISSING))
    if isinstance(kind, ListType) and str(kind.element) in values:
        return st.lists(values[str(kind.element)], max_size=3).map(tuple)
    return values.get(str(kind), st.just(MISSING))


@st.composite
def _arguments(draw: st.DrawFn, name: str, kwarg_only: bool) -> Argument:
    kind = draw(_types)
    default = draw(st.one_of(st.just(MISSING), _defaults(kind)))
    return Argument(name, kind, default, kwarg_only, draw(_aliases(kind)))


@st.composite
def _schemas(draw: st.DrawFn) -> FunctionSchema:
    names = draw(st.lists(_names, max_size=4, unique=True))
    split = draw(st.integers(0, len(names)))
    arguments = [draw(_arguments(name, i >= split)) for i, name in enumerate(names)]
    required = False  # what has a default stands after what has none, but for lists
    for i in reversed(range(split)):
        if required:
            arguments[i] = replace(arguments[i], default=MISSING)
        required = required or not (arguments[i].has_default or isinstance(arguments[i].type, ListType))
    returns = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(_types)
        returns.append(Argument(draw(st.one_of(st.just(""), _names)), kind, alias=draw(_aliases(kind))))
    name = f"{draw(_names)}::{draw(_names)}"
    overload = draw(st.one_of(st.just(""), _names.filter(lambda name: name != "default" and name[:2] != "__")))
    return FunctionSchema(name, overload, tuple(arguments), tuple(returns), is_varret=draw(st.booleans()))


@given(_schemas())
def test_round_trip(schema: FunctionSchema) -> None:
    assert parse_schema(str(schema)) == schema


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_strings_round_trip(text: str) -> None:
    assert quote(text).isascii()
    assert parse_schema(f"f(str x={quote(text)}) -> ()").arguments[0].default == text


@given(st.text(alphabet="f(Tensor x, int=1[]?!|*->.:'\")", max_size=40))
def test_nonsense_gives_a_schema_error(text: str) -> None:
    try:
        schema = parse_schema(text)
    except SchemaError:
        return
    assert parse_schema(str(schema)) == schema


# --- binding

SUM = parse_schema("aten::sum.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")


def test_bind_fills_defaults() -> None:
    assert SUM.bind((1, [0]), {}) == ([1, [0], False], {"dtype": None})
    assert SUM.bind((1,), {"dim": None}) == ([1, None, False], {"dtype": None})
    assert SUM.bind((), {"keepdim": True, "dtype": 5, "dim": (0, 1), "self": 9}) == ([9, (0, 1), True], {"dtype": 5})
    schema = parse_schema("f(int a=1, int b=2) -> ()")
    assert schema.bind((), {"b": 5}) == ([1, 5], {})
    assert parse_schema("f(str x, ...) -> str").bind(("a", 1, 2), {}) == (["a", 1, 2], {})


def test_bind_repeats_single_elements() -> None:
    schema = parse_schema("conv(Tensor x, int[2] stride=1, *, SymInt[3] padding=0, int[] dilation=[]) -> Tensor")
    assert schema.bind((0,), {}) == ([0, (1, 1)], {"padding": (0, 0, 0), "dilation": ()})
    assert schema.bind((0, 3), {"padding": 4}) == ([0, (3, 3)], {"padding": (4, 4, 4), "dilation": ()})
    assert SUM.bind((1, -1), {})[0] == [1, (-1,), False]


def test_bind_does_not_compare_values() -> None:
    class Incomparable:
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = None  # type: ignore[assignment]

    value = Incomparable()
    assert SUM.bind((value, None), {})[0][0] is value


@pytest.mark.parametrize(
    ("args", "kwargs", "what", "got"),
    [
        ((), {}, "missing argument 'self'", "()"),
        ((1,), {}, "missing argument 'dim'", "(1)"),
        ((1, 2, True, None), {}, "takes 3 positional arguments, 4 were given", "(1, 2, True, None)"),
        ((1, 2), {"dims": 3}, "unexpected keyword argument 'dims'", "(1, 2, dims=3)"),
        ((1, 2), {"dim": [3]}, "multiple values for argument 'dim'", "(1, 2, dim=[3])"),
    ],
)
def test_bind_errors(args: tuple[Any, ...], kwargs: dict[str, Any], what: str, got: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        SUM.bind(args, kwargs)
    assert caught.value.what == f"aten::sum.dim: {what}"
    assert caught.value.got == got
    assert caught.value.hint == f"schema: {SUM}"


def test_bind_requires_keyword_arguments() -> None:
    schema = parse_schema("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    with pytest.raises(TypeError, match="f: missing argument 'out'"):
        schema.bind((1,), {})


# --- inferring


def _plain(x: Tensor, n: int, p: float, *, flag: bool = True, mode: str = "a'b") -> Tensor: ...


def _optional(x: Optional[Tensor], y: Tensor | None = None, z: Optional[int] = None) -> None: ...  # noqa: UP045


def _lists(
    x: list[Tensor],
    y: Sequence[int],
    z: typing.List[float],  # noqa: UP006
    w: Sequence[bool] | None = None,
) -> list[Tensor]: ...


def _options(
    x: Sequence[Optional[Tensor]],  # noqa: UP045
    y: list["Tensor | None"],  # noqa: UP037
) -> "tuple[Tensor, list[Tensor], int]": ...  # noqa: UP037


def _numbers(
    x: Union[int, float, bool],  # noqa: UP007
    y: int | float | bool | None = 2.5,
    z: list[int | float] = [1],  # noqa: B006
) -> int | float | bool: ...


def _devices(
    d: DType, e: Device, f: DType | None = dtypes.int64, g: Device = Device("cpu"), c: complex = 1 + 2j
) -> tuple[Tensor]: ...


@pytest.mark.parametrize(
    ("function", "schema"),
    [
        (_plain, '(Tensor x, SymInt n, float p, *, bool flag=True, str mode="a\\\'b") -> Tensor'),
        (_optional, "(Tensor? x, Tensor? y=None, SymInt? z=None) -> ()"),
        (_lists, "(Tensor[] x, SymInt[] y, float[] z, bool[]? w=None) -> Tensor[]"),
        (_options, "(Tensor?[] x, Tensor?[] y) -> (Tensor, Tensor[], SymInt)"),
        (_numbers, "(Scalar x, Scalar? y=2.5, Scalar[] z=[1]) -> Scalar"),
        (_devices, "(ScalarType d, Device e, ScalarType? f=4, Device g=\"cpu\", complex c=1.+2.j) -> ((Tensor))"),
    ],
)  # fmt: skip
def test_infer(function: Callable[..., Any], schema: str) -> None:
    assert infer_schema(function, mutates_args=()) == schema
    named = infer_schema(function, mutates_args=(), op_name="lib::f")
    assert named == f"lib::f{schema}"
    parse_schema(named)


def test_infer_mutation() -> None:
    def f(x: Tensor, n: int, y: list[Tensor], z: Tensor | None = None) -> None: ...

    assert infer_schema(f, mutates_args={"x"}) == "(Tensor(a0!) x, SymInt n, Tensor[] y, Tensor? z=None) -> ()"
    assert infer_schema(f, mutates_args=["z", "y"]) == (
        "(Tensor x, SymInt n, Tensor(a2!)[] y, Tensor(a3!)? z=None) -> ()"
    )
    assert infer_schema(f, mutates_args="unknown") == (
        "(Tensor(a0!) x, SymInt n, Tensor(a2!)[] y, Tensor(a3!)? z=None) -> ()"
    )


def test_infer_knows_the_usual_names() -> None:
    scope: dict[str, Any] = {}
    exec("def f(x: 'Tensor', y: 'Optional[Sequence[int]]', d: 'dtype') -> 'List[Tensor]': ...", scope)
    assert infer_schema(scope["f"], mutates_args=()) == "(Tensor x, SymInt[]? y, ScalarType d) -> Tensor[]"


def _inferred_error(function: Callable[..., Any], mutates_args: Any = ()) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        infer_schema(function, mutates_args=mutates_args)
    assert str(caught.value.at).startswith("test_schema.py:")
    assert str(caught.value.at).endswith(f"in {function.__name__}")
    return caught.value


def test_infer_errors() -> None:
    def unannotated(x: Tensor, y) -> Tensor: ...  # type: ignore[no-untyped-def]

    assert _inferred_error(unannotated).what == "infer_schema(unannotated): parameter 'y' must have a type annotation"

    def varargs(*xs: Tensor) -> Tensor: ...

    assert _inferred_error(varargs).what == "infer_schema(varargs): parameter 'xs' is variadic positional"

    def positional(x: Tensor, /) -> Tensor: ...

    assert _inferred_error(positional).what == "infer_schema(positional): parameter 'x' is positional-only"

    def unreturning(x: Tensor): ...  # type: ignore[no-untyped-def]

    assert _inferred_error(unreturning).what == "infer_schema(unreturning): no return type annotation was provided"

    def tuples(x: tuple[int, int]) -> Tensor: ...

    error = _inferred_error(tuples)
    assert error.what == "infer_schema(tuples): parameter 'x' has unsupported type tuple[int, int]"
    assert error.hint == "a schema has no tuples; say list[int]"

    def sets(x: set[Tensor]) -> Tensor: ...

    assert "parameter 'x' has unsupported type set[Tensor]" in _inferred_error(sets).what

    def mixed(x: Tensor | int) -> Tensor: ...

    assert "parameter 'x' has unsupported type Tensor | int" in _inferred_error(mixed).what

    def string_return(x: Tensor) -> str: ...

    assert "the return has unsupported type str" in _inferred_error(string_return).what

    def unknown_name(x: Nowhere) -> Tensor: ...  # type: ignore[name-defined]  # noqa: F821

    assert "parameter 'x' has an annotation that cannot be evaluated: NameError" in _inferred_error(unknown_name).what

    def bad_default(x: Tensor, n: int = "one") -> Tensor: ...  # type: ignore[assignment]

    error = _inferred_error(bad_default)
    assert error.what == "infer_schema(bad_default): parameter 'n' of type SymInt cannot have this default"
    assert error.got == "'one' (str)"


def test_infer_mutation_errors() -> None:
    def f(x: Tensor, n: int) -> None: ...

    error = _inferred_error(f, "x")
    assert "mutates_args must be a sequence of argument names or the string 'unknown'" in error.what
    assert error.hint == "mutates_args=('x',)"
    assert "'y' in mutates_args but not in the signature" in _inferred_error(f, ["x", "y"]).what
    assert "parameter 'n' of type SymInt is in mutates_args" in _inferred_error(f, ["n"]).what
