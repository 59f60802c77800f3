"""Data sets, samplers, loaders and their workers; files of tensors."""

from __future__ import annotations

import json
import os
from collections import Counter

import numpy as np
import pytest

import opweave
from opweave import safetensors
from opweave.registry.errors import ArgumentError, ExportError, ShapeError
from opweave.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)


class Squares(Dataset):
    def __init__(self, count: int = 10, broken: int = -1):
        self.count, self.broken = count, broken

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i == self.broken:
            raise KeyError("no such square")
        return opweave.tensor([float(i), float(i * i)]), i, {"name": f"n{i}", "half": np.float32(i / 2)}


class Counts(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, 11, step))


class Draws(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return opweave.rand(1).item(), np.random.rand(), get_worker_info().id


class Dies(Squares):
    def __getitem__(self, i):
        os._exit(3)


def test_batches_and_their_order():
    batches = list(DataLoader(Squares(), batch_size=4))
    assert [len(numbers) for _, numbers, _ in batches] == [4, 4, 2]
    pairs, numbers, about = batches[1]
    assert pairs.tolist() == [[4, 16], [5, 25], [6, 36], [7, 49]]
    assert numbers.dtype is opweave.int64 and numbers.tolist() == [4, 5, 6, 7]
    assert about["name"] == ["n4", "n5", "n6", "n7"] and about["half"].dtype is opweave.float32
    assert len(DataLoader(Squares(), 4, drop_last=True)) == 2 and len(DataLoader(Squares(), 4)) == 3
    singles = list(DataLoader(Squares(), batch_size=None))
    assert len(singles) == 10 and singles[3][1] == 3


def test_an_order_follows_from_a_seed():
    def order(workers: int, seed: int) -> list[int]:
        generator = opweave.Generator().manual_seed(seed)
        loader = DataLoader(Squares(), 3, shuffle=True, num_workers=workers, generator=generator)
        return [i for _, numbers, _ in loader for i in numbers.tolist()]

    assert order(0, 1) == order(2, 1) != order(0, 2)
    assert sorted(order(0, 1)) == list(range(10))


def test_workers_draw_from_seeds_of_their_own():
    def drawn() -> list[tuple[float, float, int]]:
        opweave.manual_seed(7)
        return [tuple(v.item() for v in each) for each in DataLoader(Draws(), num_workers=2)]

    first = drawn()
    assert first == drawn()
    assert len({value for value, _, _ in first}) == len({value for _, value, _ in first}) == 8
    assert Counter(worker for *_, worker in first) == {0: 4, 1: 4}


def test_iterable_data_and_workers_that_stay():
    assert [b.tolist() for b in DataLoader(Counts(), 4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
    loader = DataLoader(Counts(), 3, num_workers=2, persistent_workers=True)
    for _ in range(2):
        assert sorted(i for b in loader for i in b.tolist()) == list(range(11))
    processes = loader._workers.processes
    assert all(p.is_alive() for p in processes)
    loader._workers.close()
    assert not any(p.is_alive() for p in processes)


def test_errors_of_workers_are_told():
    with pytest.raises(KeyError, match="no such square") as caught:
        list(DataLoader(Squares(broken=5), 2, num_workers=1))
    assert "worker process 0" in str(caught.value) and "test_data.py" in str(caught.value)
    with pytest.raises(RuntimeError, match="exit code 3"):
        list(DataLoader(Dies(), 2, num_workers=1))


def test_arguments_that_contradict_each_other():
    for options in (
        {"shuffle": True, "sampler": [1]}, {"num_workers": -1}, {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_size": None, "drop_last": True}, {"prefetch_factor": 2}, {"batch_size": 0},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            DataLoader(Squares(), **options)
    with pytest.raises(ValueError):
        DataLoader(Counts(), shuffle=True)
    with pytest.raises(ArgumentError, match="collate_fn"):
        default_collate([object()])
    with pytest.raises(ShapeError):
        TensorDataset(opweave.ones(2), opweave.ones(3))


def test_data_sets_and_samplers():
    data = TensorDataset(opweave.arange(6), opweave.arange(6) * 10)
    both = ConcatDataset([data, Subset(data, [5, 0])])
    assert len(both) == 8 and [t.item() for t in both[6]] == [5, 50] and [t.item() for t in both[-1]] == [0, 0]
    stacked = StackDataset(a=[1, 2], b=[3, 4])
    assert stacked[1] == {"a": 2, "b": 4}
    parts = random_split(range(11), [0.5, 0.3, 0.2], opweave.Generator().manual_seed(0))
    assert [len(part) for part in parts] == [6, 3, 2]
    assert sorted(i for part in parts for i in part) == list(range(11))
    with pytest.raises(ValueError):
        random_split(range(4), [1, 2])
    assert list(BatchSampler(SequentialSampler(range(5)), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert sorted(RandomSampler(range(5))) == list(range(5)) and len(list(RandomSampler(range(3), True, 9))) == 9
    assert sorted(SubsetRandomSampler([7, 9])) == [7, 9]
    drawn = Counter(WeightedRandomSampler([0.0, 1.0, 3.0], 400))
    assert set(drawn) == {1, 2} and 2 < drawn[2] / drawn[1] < 4.5


# ---- safetensors ---------------------------------------------------------------------------------------------------


def test_a_file_has_the_bytes_of_the_format(tmp_path):
    tensors = {"b": opweave.tensor([1, -2], dtype=opweave.int16), "a": opweave.tensor([[1.5]])}
    data = safetensors.save(tensors, {"format": "pt"})
    size = int.from_bytes(data[:8], "little")
    assert (8 + size) % 8 == 0
    assert json.loads(data[8 : 8 + size]) == {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]},
        "b": {"dtype": "I16", "shape": [2], "data_offsets": [4, 8]},
    }
    assert data[8 + size :] == b"\x00\x00\xc0\x3f\x01\x00\xfe\xff"
    safetensors.save_file(tensors, tmp_path / "x.safetensors", {"format": "pt"})
    assert (tmp_path / "x.safetensors").read_bytes() == data
    assert safetensors.load_metadata(tmp_path / "x.safetensors") == {"format": "pt"}


def test_tensors_come_back(tmp_path):
    tensors = {
        "bf16": opweave.randn(3, 4).to(opweave.bfloat16), "bool": opweave.tensor(True), "empty": opweave.zeros(0, 3),
        "turned": opweave.randn(4, 3).t(), "wide": opweave.arange(5).double(),
        "c": opweave.randn(2).to(opweave.complex64),
    }  # fmt: skip
    safetensors.save_file(tensors, tmp_path / "x.safetensors")
    for found in (safetensors.load_file(tmp_path / "x.safetensors"), safetensors.load(safetensors.save(tensors))):
        assert found.keys() == tensors.keys()
        for name, t in tensors.items():
            assert found[name].dtype is t.dtype and found[name].shape == t.shape
            assert found[name].is_contiguous() and bool((found[name] == t).all())
    with pytest.raises(ArgumentError):
        safetensors.save({"x": 3})


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff" * 8, b"\x02" + b"\x00" * 7 + b"[]", b"\x02" + b"\x00" * 7 + b"{", b"\x01" + b"\x00" * 7 + b"{x",
        *(
            len(text := json.dumps({"x": entry}).encode()).to_bytes(8, "little") + text + b"\x00" * 4
            for entry in (
                {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]},
                {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]},
                {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 4]},
                {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]},
                {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]},
                {"dtype": "F32"},
            )
        ),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(data):
    with pytest.raises(ExportError):
        safetensors.load(data)
