"""The four parts of an error, and where it says it happened."""

import contextlib
import importlib.util
import logging
import pickle
import shutil
import sys

import numpy as np
import pytest

import opweave
from opweave.registry import errors
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


@pytest.mark.parametrize("layout", ["installed", "checkout"])
def test_own_files_are_those_of_the_package_in_both_layouts(tmp_path, layout):
    """Copies of the module that decides, as a wheel and as a source tree have it, asked about files of all sorts."""
    package = tmp_path / "site-packages" / "opweave"
    package.mkdir(parents=True)
    stage = package / "registry" if layout == "installed" else tmp_path / "site-packages" / "registry"
    stage.mkdir()
    if layout == "checkout":
        (package / "registry").symlink_to("../registry")
    shutil.copy(errors.__file__, stage / "errors.py")
    spec = importlib.util.spec_from_file_location("opweave_copy.registry.errors", package / "registry" / "errors.py")
    copy = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = copy  # dataclasses look there
    try:
        spec.loader.exec_module(copy)
    finally:
        del sys.modules[spec.name]
    own = [
        package / "library.py",
        package / "nn" / "functional.py",
        package / "registry" / "tensor.py",
        stage / "op.py",
    ]
    own += [np.lib.__file__, contextlib.__file__, logging.__file__]
    others = [
        tmp_path / "opweave" / "model.py", tmp_path / "registry" / "model.py", tmp_path / "site-packages" / "model.py",
        tmp_path / "site-packages" / "opweave_extras" / "x.py", tmp_path / "site-packages" / "opweave-tools" / "x.py",
        tmp_path / "site-packages" / "passes" / "x.py", tmp_path / "optree" / "x.py", tmp_path / "my_contextlib.py",
        tmp_path / "contextlib.py", tmp_path / "logging" / "__init__.py", tmp_path / "my-packages" / "triton" / "x.py",
        "<string>", "<stdin>",
    ]  # fmt: skip
    if layout == "installed":
        others.append(tmp_path / "site-packages" / "registry" / "x.py")
    assert [file for file in own if not copy.is_own_file(str(file))] == []
    assert [file for file in others if copy.is_own_file(str(file))] == []


def test_errors_of_nn_functional_are_at_the_users_line():
    with pytest.raises(OpweaveError) as caught:
        opweave.nn.functional.linear(opweave.ones(2, 3), opweave.ones(4, 5))
    assert caught.value.at.file == __file__
