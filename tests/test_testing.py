"""`opweave.testing.assert_close`: what it compares, and what it says."""

import re

import pytest

import opweave

SAME = {
    "mappings": ({"a": opweave.ones(2)}, {"a": opweave.ones(2)}),
    "None": (None, None),
    "a sequence": ([opweave.ones(2), opweave.ones(2)], (opweave.ones(2), opweave.ones(2) + 1e-7)),
    "no elements": (opweave.ones(0), opweave.ones(0)),
}
OTHER = {
    "keys": ({"a": opweave.ones(2)}, {"b": opweave.ones(2)}, "'b'.* are missing"),
    "a value of a mapping": ({"a": [opweave.ones(2)]}, {"a": [opweave.zeros(2)]}, "item 'a': item 0: 2 of 2 elements"),
    "a shorter sequence": ([opweave.ones(2)], [opweave.ones(2), opweave.ones(2)], "1 items, expected 2"),
    "a dtype": (opweave.ones(2), opweave.ones(2, dtype=opweave.float64), "dtypes differ"),
    "None": (None, opweave.ones(2), "None and"),
}


@pytest.mark.parametrize("case", SAME)
def test_what_agrees(case):
    opweave.testing.assert_close(*SAME[case], check_layout=False, allow_subclasses=False)


@pytest.mark.parametrize("case", OTHER)
def test_what_does_not(case):
    *values, text = OTHER[case]
    for msg, wanted in ((None, text), ("mine", "^mine$"), (lambda found: f"mine: {found}", f"mine: .*{text}")):
        with pytest.raises(AssertionError, match=re.compile(wanted, re.DOTALL)):
            opweave.testing.assert_close(*values, msg=msg)


def test_a_tolerance_without_the_other():
    with pytest.raises(ValueError, match="give both rtol and atol"):
        opweave.testing.assert_close(opweave.ones(2), opweave.ones(2), rtol=1e-3)


def test_tensors_of_two_classes():
    class Mine(opweave.Tensor):
        pass

    x = opweave.ones(2)
    opweave.testing.assert_close(x.as_subclass(Mine), x)
    with pytest.raises(AssertionError, match="Mine"):
        opweave.testing.assert_close(x.as_subclass(Mine), x, allow_subclasses=False)
