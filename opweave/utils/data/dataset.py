"""Data sets: examples by number, or one after the other."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Examples by number: a subclass has `__getitem__`, and `__len__` for most samplers.

    Examples
    --------
    >>> class Squares(opweave.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> list(opweave.utils.data.DataLoader(Squares(), batch_size=3))
    [tensor([0, 1, 4])]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Examples one after the other: a subclass has `__iter__`. Every worker runs it all; see `get_worker_info`.

    Examples
    --------
    >>> class Count(opweave.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(opweave.utils.data.DataLoader(Count(), batch_size=3))
    [tensor([0, 1, 2])]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]  # of another sort
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors that have as many.

    Raises
    ------
    ShapeError
        If their first sizes differ.

    Examples
    --------
    >>> data = opweave.utils.data.TensorDataset(opweave.arange(3), opweave.ones(3))
    >>> len(data), data[1]
    (3, (tensor(1), tensor(1.)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(t._sizes[0] != tensors[0]._sizes[0] for t in tensors):
            raise ShapeError(
                "TensorDataset: the first sizes must be equal",
                got=describe(tensors),
                hint="dimension 0 counts the examples",
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([t[index] for t in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0]._sizes[0]


class StackDataset(Dataset[Any]):
    """The examples of several data sets side by side, in tuples, or in dicts where they are given by name.

    Examples
    --------
    >>> opweave.utils.data.StackDataset([1, 2], ["a", "b"])[1]
    (2, 'b')
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: expected data sets, either all by position or all by name")
        self.datasets: Any = args or kwargs
        self._length = len(next(iter(args or kwargs.values())))
        if any(len(each) != self._length for each in args or kwargs.values()):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple([each[index] for each in self.datasets])

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """Data sets one behind the other.

    Examples
    --------
    >>> len(opweave.utils.data.ConcatDataset([range(3), range(2)]))
    5
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(each) for each in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[Any]):
    """Iterable data sets one behind the other.

    Examples
    --------
    >>> class Count(opweave.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(opweave.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for each in self.datasets:
            yield from each

    def __len__(self) -> int:
        return sum(len(each) for each in self.datasets)


class Subset(Dataset[Any]):
    """Some of the examples of a data set, by their numbers.

    Examples
    --------
    >>> list(opweave.utils.data.Subset([10, 20, 30], [0, 2]))
    [10, 30]
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Parts of a data set, of given lengths, with examples drawn at random.

    Parameters
    ----------
    dataset : Dataset
        With a length.
    lengths : sequence of int or float
        Of the parts; or fractions that add up to 1, where what is left goes to the first parts.
    generator : Generator, optional
        Where random numbers come from.

    Raises
    ------
    ValueError
        If the lengths do not add up.

    Examples
    --------
    >>> [len(part) for part in opweave.utils.data.random_split(range(10), [0.8, 0.2])]
    [8, 2]
    """
    count = len(dataset)
    sizes: list[int]
    if lengths and math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        if any(not 0 <= part <= 1 for part in lengths):
            raise ValueError(f"random_split: fractions must be from 0 to 1, got {list(lengths)}")
        sizes = [math.floor(count * part) for part in lengths]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
    else:
        sizes = [int(part) for part in lengths]
    if sum(sizes) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = aten.randperm.generator(count, generator=generator).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
