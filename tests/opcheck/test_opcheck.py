"""`opcheck` refuses each wrong registration of the table, for its reason, and passes each right one."""

from __future__ import annotations

import numpy as np
import opcheck_cases
import pytest
from opcheck_cases import RIGHT, WRONG, caught, try_case

import opweave
from opweave.library import custom_op, opcheck
from opweave.registry.errors import ArgumentError, OpCheckError


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_registration_passes(name: str) -> None:
    results, _ = try_case(RIGHT[name][0])
    assert set(results.values()) == {"SUCCESS"}, results


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_registration_is_caught(name: str) -> None:
    fn, word = WRONG[name]
    texts = caught(try_case(fn)[0])
    assert texts
    assert word is None or any(word in text for text in texts), texts


def test_there_are_enough_cases_and_the_table_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(WRONG) >= 60 and len(RIGHT) >= 60
    opcheck_cases.main("hidden mutation")
    assert "wrong ok" in capsys.readouterr().out


def test_arguments_are_left_as_they_were() -> None:
    @custom_op("opcheck_arguments::scaled", mutates_args=("x",))
    def scaled(x: opweave.Tensor) -> None:
        x.numpy()[...] *= 2

    x = opweave.tensor([1.0, 2.0])
    assert set(opcheck(scaled, (x,)).values()) == {"SUCCESS"}
    np.testing.assert_array_equal(x.numpy(), [1, 2])
    assert x._version == 0


def test_what_is_no_test_or_op_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no such test"):
        opcheck(opweave.ops.aten.sin.default, (opweave.ones(2),), test_utils="test_everything")
    with pytest.raises(ArgumentError, match="expected an op"):
        opcheck(len, (opweave.ones(2),))  # type: ignore[arg-type]


def test_the_first_error_is_raised_or_all_are_told() -> None:
    made, args, *_ = WRONG["hidden mutation #1"][0]()
    with pytest.raises(OpCheckError, match="written"):
        opcheck(made, args)
    told = opcheck(made, args, raise_exception=False, test_utils=["test_schema", "test_faketensor"])
    assert list(told) == ["test_schema", "test_faketensor"] and told["test_schema"] != "SUCCESS"


def test_a_gradient_where_there_is_none_is_told() -> None:
    @custom_op("opcheck_test::flat", mutates_args=())
    def flat(x: opweave.Tensor) -> opweave.Tensor:
        return opweave.zeros_like(x)

    flat.register_fake(lambda x: opweave.empty_like(x))
    flat.register_autograd(lambda ctx, grad: grad)
    with pytest.raises(OpCheckError, match="gradient"):
        opcheck(flat, (opweave.ones(3, requires_grad=True),))
