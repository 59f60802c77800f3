"""Samplers: the order in which a data set is read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from opweave.registry.dtypes import float64
from opweave.registry.errors import DomainError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor

_ = _surface  # declares the ops
aten = ops.aten
T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Numbers of examples, one after the other: a subclass has `__iter__`, and `__len__` where that is known.

    Examples
    --------
    >>> class Backwards(opweave.utils.data.Sampler):
    ...     def __init__(self, count):
    ...         self.count = count
    ...     def __iter__(self):
    ...         return iter(range(self.count - 1, -1, -1))
    ...     def __len__(self):
    ...         return self.count
    >>> list(opweave.utils.data.DataLoader(range(3), batch_size=3, sampler=Backwards(3)))
    [tensor([2, 1, 0])]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")


class SequentialSampler(Sampler[int]):
    """All examples in their order.

    Examples
    --------
    >>> list(opweave.utils.data.SequentialSampler(range(3)))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Examples at random.

    Parameters
    ----------
    data_source : sized
        The data set.
    replacement : bool
        Whether an example may come again before all came.
    num_samples : int, optional
        How many; as many as there are by default.
    generator : Generator, optional
        Where random numbers come from.

    Examples
    --------
    >>> sorted(opweave.utils.data.RandomSampler(range(3)))
    [0, 1, 2]
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator

    @property
    def num_samples(self) -> int:
        """How many examples it gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, left = len(self.data_source), self.num_samples
        while left > 0:
            if self.replacement:
                drawn = aten.randint.generator(count, [min(left, 4096)], generator=self.generator)
            else:
                drawn = aten.randperm.generator(count, generator=self.generator)
            found = drawn.tolist()[:left]
            left -= len(found)
            yield from found
            if not found:
                return

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given examples at random, each once.

    Examples
    --------
    >>> sorted(opweave.utils.data.SubsetRandomSampler([4, 7]))
    [4, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in aten.randperm.generator(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Examples with given probabilities.

    Parameters
    ----------
    weights : sequence of float
        One for each example, of any sum.
    num_samples : int
        How many.
    replacement : bool
        Whether an example may come again.
    generator : Generator, optional
        Where random numbers come from.

    Examples
    --------
    >>> list(opweave.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        given: Any = weights.tolist() if isinstance(weights, Tensor) else list(weights)
        self.weights: Tensor = aten.stack.default([aten.scalar_tensor.default(w, dtype=float64) for w in given])
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = aten.multinomial.default(self.weights, self.num_samples, self.replacement, generator=self.generator)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of numbers from another sampler; with `drop_last` none that is shorter.

    Examples
    --------
    >>> list(opweave.utils.data.BatchSampler(opweave.utils.data.SequentialSampler(range(5)), 2, False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise DomainError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}",
                got=f"batch_size={batch_size!r}",
                hint="how many items are in a batch; None gives items one by one",
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # where it has a length
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
