"""Files of `opweave.save`, and files as storages."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry.errors import ArgumentError, LibraryError
from opweave.registry.storage import UntypedStorage


def back(value: Any) -> Any:
    file = io.BytesIO()
    opweave.save(value, file)
    file.seek(0)
    return opweave.load(file)


@pytest.mark.parametrize(
    "value",
    [
        b"\x00\xff", bytearray(b"ab"), {1, 2}, frozenset({"a"}), (1, (2.5, None)), {("k", 1): [True], None: 1},
        {2.5: "x"},
        opweave.device("cpu"), opweave.Size((1, 2)), 1 + 2j, opweave.float16, {}, [], "", np.float32(0.1), np.int64(-3),
        np.bool_(True), np.datetime64("2024-02-29"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_comes_back(value: Any) -> None:
    found = back(value)
    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3), np.zeros((0, 3), np.float16), np.array(3.5), np.array(["x", "yy"]),
        np.array([b"a"]),
        np.array([True, False]), np.arange(6.0).reshape(2, 3).T, np.array([1 + 2j], np.complex64),
        np.array([np.nan, -0.0, np.inf], np.float32), np.array([1, 2], ">i4"),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)  # fmt: skip
def test_arrays_come_back(array: Any) -> None:
    found = back({"a": array})["a"]
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)
    if array.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(array))


def test_the_state_of_generators_comes_back() -> None:
    state = np.random.RandomState(3).get_state()
    found = back(state)
    assert found[0] == state[0]
    np.testing.assert_array_equal(found[1], state[1])
    assert found[2:] == state[2:]


@dataclasses.dataclass
class Settings:
    rate: float
    weight: Any


def test_objects_come_back_where_the_file_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    opweave.save({"settings": Settings(0.5, opweave.arange(3)), "step": 3}, path)
    with pytest.raises(ArgumentError, match="only running code") as caught:
        opweave.load(path)
    assert "test_saving.Settings" in str(caught.value)
    found = opweave.load(path, weights_only=False)
    assert found["step"] == 3
    assert found["settings"].rate == 0.5
    assert found["settings"].weight.tolist() == [0, 1, 2]


def test_modules_come_back_where_the_file_is_trusted() -> None:
    model = opweave.nn.Sequential(opweave.nn.Linear(2, 3), opweave.nn.Tanh())
    file = io.BytesIO()
    opweave.save(model, file)
    file.seek(0)
    found = opweave.load(file, weights_only=False)
    x = opweave.ones(1, 2)
    assert found(x).tolist() == model(x).tolist()


def test_what_is_refused_is_not_run(tmp_path: Path) -> None:
    touched = tmp_path / "touched"

    class Touches:
        def __reduce__(self) -> Any:
            return Path.touch, (touched,)

    opweave.save([Touches()], tmp_path / "file")
    with pytest.raises(ArgumentError):
        opweave.load(tmp_path / "file")
    assert not touched.exists()
    opweave.load(tmp_path / "file", weights_only=False)
    assert touched.exists()


@pytest.mark.parametrize("value", [lambda: 1, [io.BytesIO, lambda: 1], {"a": (x for x in ())}])
def test_what_cannot_be_pickled_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match="can be saved"):
        opweave.save(value, io.BytesIO())


@pytest.mark.parametrize("pickled", ["AAAA", "!!", 3, ""])
@pytest.mark.parametrize("weights_only", [True, False])
def test_damaged_pickles(pickled: Any, weights_only: bool) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        tree = {"object": "somewhere.Thing", "pickle": pickled}
        archive.writestr("tree.json", json.dumps({"format": "opweave.save", "version": 1, "tree": tree}))
    file.seek(0)
    with pytest.raises(ArgumentError, match=r"only running code" if weights_only else r"no file of opweave\.save"):
        opweave.load(file, weights_only=weights_only)


def test_files_as_storages(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    storage = UntypedStorage.from_file(str(path), False, 16)
    part = opweave.asarray(storage[4:12], dtype=opweave.uint8)
    assert part.view(opweave.int32).tolist() == np.arange(4, 12, dtype=np.uint8).view(np.int32).tolist()
    part.fill_(7)  # for this storage alone
    assert storage.tolist() == [*range(4), *[7] * 8, *range(12, 16)]
    assert path.read_bytes() == bytes(range(16))
    assert (storage[3], len(storage), storage.untyped() is storage) == (3, 16, True)
    with pytest.raises(IndexError, match="without steps"):
        storage[::2]


def test_shared_files(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    storage = UntypedStorage.from_file(str(path), True, 4)
    opweave.asarray(storage, dtype=opweave.uint8).copy_(opweave.tensor([1, 2, 3, 4], dtype=opweave.uint8))
    del storage
    assert path.read_bytes() == b"\x01\x02\x03\x04"
    with pytest.raises(LibraryError, match="shorter"):
        UntypedStorage.from_file(str(path), False, 5)
    assert len(UntypedStorage.from_file(str(path), False, 0)) == 0


def test_memory_of_a_tensor_as_a_tensor() -> None:
    x = opweave.arange(3)
    seen = opweave.asarray(x.untyped_storage(), dtype=opweave.uint8)[:24].view(opweave.int64)
    x[1] = 9
    assert seen.tolist() == [0, 9, 2]


@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        (lambda storage, location: storage, "cpu"), (lambda storage, location: None, "cpu"), ({"cpu": "meta"}, "meta"),
        ({"cuda:0": "meta"}, "cpu"), ("meta", "meta"), (None, "cpu"),
    ],
)  # fmt: skip
def test_where_tensors_are_put(place: Any, wanted: str) -> None:
    file = io.BytesIO()
    opweave.save(opweave.ones(2), file)
    file.seek(0)
    assert opweave.load(file, map_location=place).device.type == wanted
