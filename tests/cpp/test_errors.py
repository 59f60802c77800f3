"""Exceptions cross both ways by type and with their text, and bad input never ends the process."""

import traceback

import pytest

import opweave
from opweave.registry.errors import DTypeError, OutOfMemoryError, RegistrationError, ShapeError

#: What is thrown, the class that it becomes, and its text.
THROWN = [
    ("check", RuntimeError, "checked check 42"),
    ("bare", RuntimeError, "Expected kind.empty() to be true, but got false."),
    ("index", IndexError, "an index"),
    ("value", ValueError, "a value"),
    ("type", TypeError, "a type"),
    ("not_implemented", NotImplementedError, "not here"),
    ("error", RuntimeError, "an error"),
    ("invalid_argument", ValueError, "std"),
    ("out_of_range", IndexError, "std"),
    ("domain_error", ValueError, "std"),
    ("length_error", ValueError, "std"),
    ("range_error", ValueError, "std"),
    ("overflow_error", OverflowError, "std"),
    ("underflow_error", RuntimeError, "std"),
    ("runtime_error", RuntimeError, "std"),
    ("logic_error", RuntimeError, "std"),
    ("bad_alloc", MemoryError, "bad_alloc"),
    ("bad_cast", TypeError, "bad_cast"),
    ("bad_optional", RuntimeError, "bad optional access"),
    ("bad_function", RuntimeError, "bad_function_call"),
    ("exception", RuntimeError, "std::exception"),
    ("int", RuntimeError, "not derived from std::exception"),
    ("other", RuntimeError, "not derived from std::exception"),
    ("no text", RuntimeError, "an exception without a text"),
    ("latin", RuntimeError, r"caf\xe9 \xed\xa0\x80 \xf4\x90\x80\x80" + " \u00e9 \U0001f600 " + r"\xe2\x82"),
    ("checked latin", RuntimeError, r"caf\xe9"),
]


@pytest.fixture(scope="module")
def e(ops):
    return ops("errors.cpp", "cpperrors")


@pytest.mark.parametrize(("kind", "expected", "text"), THROWN, ids=[row[0] for row in THROWN])
def test_what_cpp_throws_python_catches(e, kind, expected, text):
    with pytest.raises(expected) as caught:
        e.boom(kind)
    assert text in str(caught.value) and isinstance(caught.value, expected)
    assert type(caught.value) is expected
    assert e.boom("nothing of these") is None


def test_the_trace_names_the_cpp_line(e):
    with pytest.raises(RuntimeError) as caught:
        e.boom("check")
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert any(frame.filename.endswith("errors.cpp") and frame.lineno > 5 for frame in frames)
    assert any(frame.filename == __file__ for frame in frames)


def test_what_python_raises_crosses_cpp_by_type(e):
    a, b = opweave.randn(2, 3), opweave.randn(2, 3)
    with pytest.raises(ShapeError) as direct:
        opweave.matmul(a, b)
    with pytest.raises(ShapeError) as through:
        e.from_python(a, b)
    assert through.value.what == direct.value.what and through.value.got == direct.value.got
    assert any("matmul" in frame.name or frame.filename.endswith(".py")
               for frame in traceback.extract_tb(through.value.__traceback__))  # fmt: skip
    assert e.caught(a, b).startswith("ShapeError: ")
    assert e.caught(a, b.t()) == "nothing"


def test_wrong_dtypes_of_data_ptr(e):
    with pytest.raises(DTypeError, match="expected scalar type Float but found Double"):
        e.as_float(opweave.ones(2, dtype=opweave.float64))
    with pytest.raises(DTypeError):
        e.accessed(opweave.ones(2, 2, dtype=opweave.int32))


def test_layouts_and_dimensions(e):
    x = opweave.randn(3, 4)
    with pytest.raises(RuntimeError, match="x must be contiguous"):
        e.needs_contiguous(x.t())
    assert e.needs_contiguous(x) == 12
    assert e.size(x, -1) == 4
    for d in (2, -3, 2**40):
        with pytest.raises(IndexError, match="Dimension out of range"):
            e.size(x, d)
    with pytest.raises(ValueError, match="expected 2 dimensions but the tensor has 1"):
        e.accessed(opweave.randn(3))
    with pytest.raises(ValueError, match="a tensor of 12 elements is no number"):
        e.item(x)
    with pytest.raises(ValueError, match="not defined"):
        e.undefined(None)


def test_wrong_arguments(e):
    x = opweave.ones(2)
    for args in [(), (x, x), (None,), (1,), ("x",), ([x],)]:
        with pytest.raises(TypeError):
            e.as_float(*args)
    with pytest.raises(TypeError, match="must be int"):
        e.size(x, "0")
    with pytest.raises(TypeError):
        e.boom(3)
    with pytest.raises((OverflowError, TypeError)):
        e.size(x, 2**70)


def test_lists_that_are_shorter_than_the_kernel_reads(e):
    assert e.second([1, 2]) == 2 and e.second(3) == 3
    for short in ([1], []):
        with pytest.raises(IndexError, match=f"index 1 is outside of {len(short)} elements"):
            e.second(short)


@pytest.mark.parametrize(
    ("name", "text"), [("nothing", "0 values"), ("text", "str, where the schema returns Tensor"), ("more", "2 values")]
)
def test_what_a_boxed_kernel_leaves_is_what_the_schema_returns(e, name, text):
    with pytest.raises(RegistrationError, match=f"a boxed kernel left {text}"):
        getattr(e, f"leaves_{name}")(opweave.ones(2))


def test_bad_sizes_of_new_tensors(e):
    with pytest.raises(OutOfMemoryError):
        e.empty_huge()
    with pytest.raises(ValueError, match="must not be negative"):
        e.empty_negative()


def test_a_throw_in_boxed_code_and_in_threads(e):
    with pytest.raises(IndexError, match="in a fallback"):
        e.boxed(opweave.ones(2))
    with pytest.raises(ValueError, match="in a thread"):
        e.in_parallel()
    with pytest.raises(IndexError, match="the stack is empty"):
        e.pop_too_much()
    with pytest.raises(RegistrationError, match="there_is_none"):
        e.unknown_op()


def test_nothing_grows(e, build):
    """A failing call frees what it made."""
    import resource

    x = opweave.randn(1000, 100)
    for _ in range(200):
        with pytest.raises(RuntimeError):
            e.needs_contiguous(x.t())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2000):
        with pytest.raises(RuntimeError):
            e.needs_contiguous(x.t())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
