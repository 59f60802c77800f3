"""The four parts of an error, and where it says it happened."""

import pickle

import numpy as np
import pytest

from opweave.registry.errors import ArgumentError, OpweaveError, ShapeError, Site, user_frame
from opweave.registry.op import ops
from opweave.registry.tensor import from_numpy


def test_text_has_the_four_parts():
    error = ShapeError("add: no", got="x: f32[2]", at=Site("/a/model.py", 42, "forward"), hint="expand")
    assert str(error) == "add: no\n  got:  x: f32[2]\n  at:   model.py:42 in forward\n  hint: expand"


def test_parts_that_are_missing_leave_no_line():
    assert str(ShapeError("no", at=Site("m.py", 1, "f"))) == "no\n  at:   m.py:1 in f"


def test_place_is_the_users_line_not_ours():
    x, y = from_numpy(np.zeros((2, 4), np.float32)), from_numpy(np.zeros(3, np.float32))
    with pytest.raises(ShapeError) as caught:
        ops.aten.add.Tensor(x, y)
    assert isinstance(caught.value.at, Site)
    assert caught.value.at.file == __file__
    assert caught.value.at.function == "test_place_is_the_users_line_not_ours"
    assert caught.value.what == "add: cannot broadcast dim -1: 4 with 3"


def test_user_frame_is_here():
    assert user_frame().file == __file__


def test_errors_are_the_builtins_that_callers_expect_and_survive_pickling():
    assert issubclass(ShapeError, RuntimeError) and issubclass(ArgumentError, TypeError)
    error = pickle.loads(pickle.dumps(ShapeError("what", got="g", at=Site("m.py", 3, "f"), hint="h")))
    assert isinstance(error, OpweaveError) and str(error) == "what\n  got:  g\n  at:   m.py:3 in f\n  hint: h"
