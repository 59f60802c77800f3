"""`DataLoader`: batches of a data set, made in this process or in workers, in an order that a seed decides."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import queue
import signal
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opweave.registry.errors import ArgumentError, DomainError
from opweave.registry.op import ops
from opweave.registry.random_generator import Generator
from opweave.registry.tensor import Tensor
from opweave.utils.data.collate import default_collate, default_convert
from opweave.utils.data.dataset import IterableDataset
from opweave.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from opweave.utils.data.worker import Ended, Failure, Plan, work

aten = ops.aten
#: How often it is looked whether workers still live while nothing comes, in seconds.
_LOOKS = 1.0


class _Fetch:
    """From the numbers of examples to what a loader gives."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], batched: bool) -> None:
        self.dataset, self.collate, self.batched = dataset, collate, batched

    def __call__(self, numbers: Any) -> Any:
        if not self.batched:
            return self.collate(self.dataset[numbers])
        several = getattr(self.dataset, "__getitems__", None)
        return self.collate(several(numbers) if several else [self.dataset[i] for i in numbers])


class _FetchNext:
    """From an iterator and a number of examples to what a loader gives."""

    def __init__(self, collate: Callable[[Any], Any], batched: bool, drop_last: bool) -> None:
        self.collate, self.batched, self.drop_last = collate, batched, drop_last

    def __call__(self, task: Any) -> Any:
        items, numbers = task
        if not self.batched:
            return self.collate(next(items))
        batch = list(itertools.islice(items, len(numbers)))
        if not batch or (self.drop_last and len(batch) < len(numbers)):
            raise StopIteration
        return self.collate(batch)


class _Endless(Sampler[None]):
    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader:
    """Batches of a data set.

    Parameters
    ----------
    dataset : Dataset
        Examples by number, or an `IterableDataset`.
    batch_size : int or None
        Examples in a batch; None for single examples.
    shuffle : bool, optional
        Whether each epoch has another order.
    sampler, batch_sampler : iterable, optional
        The order, as numbers or as lists of numbers, in place of `shuffle`.
    num_workers : int
        Processes that make batches; 0 for this one.
    collate_fn : callable, optional
        From a list of examples to a batch; `default_collate` by default.
    pin_memory : bool
        For the signature's sake.
    drop_last : bool
        Whether a last batch that is shorter is left out.
    timeout : float
        Seconds to wait for a batch of a worker; 0 for as long as it takes.
    worker_init_fn : callable, optional
        Called in each worker with its number.
    multiprocessing_context : str or context, optional
        How processes start; Python's default by default.
    generator : Generator, optional
        Where the order, and the workers' seeds, come from.
    prefetch_factor : int, optional
        Batches that each worker is ahead; 2 by default.
    persistent_workers : bool
        Whether workers stay for the next epoch.

    Raises
    ------
    ValueError
        If arguments contradict each other.

    Notes
    -----
    An exception in a worker is raised here, with its traceback. A worker's random numbers start from a seed that is
    drawn for each epoch, plus its number. Batches come in order, whichever worker is faster.

    Examples
    --------
    >>> data = opweave.utils.data.TensorDataset(opweave.arange(4))
    >>> [batch for (batch,) in opweave.utils.data.DataLoader(data, batch_size=2)]
    [tensor([0, 1]), tensor([2, 3])]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise DomainError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
                got=f"num_workers={num_workers}",
                hint="0 loads in this process",
            )
        if timeout < 0:
            raise DomainError(
                "timeout option should be non-negative",
                got=f"timeout={timeout}",
                hint="seconds to wait for a batch; 0 waits for ever",
            )
        if num_workers == 0 and prefetch_factor is not None:
            raise DomainError(
                "prefetch_factor option could only be specified in multiprocessing: let num_workers > 0",
                got=f"prefetch_factor={prefetch_factor}, num_workers=0",
                hint="num_workers=2, or leave prefetch_factor out",
            )
        if num_workers == 0 and (persistent_workers or multiprocessing_context is not None):
            raise DomainError(
                "persistent_workers and multiprocessing_context need num_workers > 0",
                got=f"num_workers=0, persistent_workers={persistent_workers}",
                hint="num_workers=2, or leave them out",
            )
        if prefetch_factor is not None and prefetch_factor < 1:
            raise DomainError(
                "prefetch_factor option should be positive",
                got=f"prefetch_factor={prefetch_factor}",
                hint="2 batches for each worker, for one",
            )
        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise DomainError(
                "DataLoader with IterableDataset: expected no shuffle, sampler or batch_sampler option",
                got=f"{type(dataset).__name__}, shuffle={shuffle}",
                hint="such a data set says its order itself",
            )
        if sampler is not None and shuffle:
            raise DomainError(
                "sampler option is mutually exclusive with shuffle",
                got=f"shuffle={shuffle}, sampler={type(sampler).__name__}",
                hint="leave shuffle out; RandomSampler is a sampler that shuffles",
            )
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise DomainError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
                    got=f"batch_size={batch_size}, shuffle={shuffle}, drop_last={drop_last}",
                    hint="leave these out: the batch_sampler says what is in a batch",
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise DomainError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
                got=f"drop_last={drop_last}",
                hint="leave drop_last out",
            )
        if sampler is None:
            if self._is_iterable:
                sampler = _Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.persistent_workers = persistent_workers
        self._workers: _Workers | None = None

    @property
    def _order(self) -> Iterable[Any]:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _fetch(self) -> Callable[[Any], Any]:
        batched = self.batch_sampler is not None
        if self._is_iterable:
            return _FetchNext(self.collate_fn, batched, self.drop_last)
        return _Fetch(self.dataset, self.collate_fn, batched)

    def __len__(self) -> int:
        if self._is_iterable:
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self._order)  # type: ignore[arg-type]  # where the sampler has a length

    def __iter__(self) -> Iterator[Any]:
        seed = _drawn_seed(self.generator)  # without workers too, so that the order does not depend on them
        if not self.num_workers:
            return self._here()
        if not self.persistent_workers:
            return self._elsewhere(_Workers(self, seed), keep=False)
        if self._workers is None or not self._workers.is_alive():
            self._workers = _Workers(self, seed)
        return self._elsewhere(self._workers, keep=True)

    def _here(self) -> Iterator[Any]:
        fetch = self._fetch()
        items = iter(self.dataset) if self._is_iterable else None
        for numbers in self._order:
            try:
                batch = fetch((items, numbers) if self._is_iterable else numbers)
            except StopIteration:
                if not self._is_iterable:
                    raise RuntimeError("the data set raised StopIteration") from None
                return
            yield batch

    def _elsewhere(self, workers: _Workers, keep: bool) -> Iterator[Any]:
        done = False
        try:
            yield from workers.batches(iter(self._order), self.timeout)
            done = True
        finally:
            if not (keep and done):
                workers.close()
                self._workers = None


def _drawn_seed(generator: Any) -> int:
    if generator is not None and not isinstance(generator, Generator):
        raise ArgumentError("DataLoader: expected a Generator", got=type(generator).__name__)
    drawn: Tensor = aten.randint.generator(2**62, [1], generator=generator)
    return int(drawn.item())


class _Workers:
    """The processes of a loader."""

    def __init__(self, loader: DataLoader, seed: int) -> None:
        context: Any = loader.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        count = loader.num_workers
        plan = Plan(loader.dataset, loader._fetch(), loader._is_iterable, loader.worker_init_fn, count, os.getpid())
        self.ahead = count * (loader.prefetch_factor or 2)
        self.results = context.Queue()
        self.tasks = [context.Queue() for _ in range(count)]
        self.epoch = 0
        self.processes = [
            context.Process(target=work, args=(i, seed + i, plan, self.tasks[i], self.results), daemon=True)
            for i in range(count)
        ]
        for process in self.processes:
            process.start()
        self._finalizer = weakref.finalize(self, _stop, self.processes, self.tasks, self.results)

    def is_alive(self) -> bool:
        """Whether all processes live."""
        return all(process.is_alive() for process in self.processes)

    def close(self) -> None:
        """End the processes."""
        self._finalizer()

    def batches(self, order: Iterator[Any], timeout: float) -> Iterator[Any]:
        """The batches of one epoch, in order."""
        self.epoch += 1
        live = set(range(len(self.processes)))
        owners: dict[int, int] = {}
        waiting: dict[int, Any] = {}
        turn = itertools.cycle(range(len(self.processes)))
        sent = 0

        def send() -> None:
            nonlocal sent
            if not live:
                return
            numbers = next(order, self)
            if numbers is self:
                return
            worker = next(each for each in turn if each in live)
            owners[sent] = worker
            self.tasks[worker].put((self.epoch, sent, numbers))
            sent += 1

        for _ in range(self.ahead):
            send()
        index = 0
        while index < sent:
            while index not in waiting:
                epoch, at, found = self._receive(timeout)
                if epoch == self.epoch:
                    waiting[at] = found
            found = waiting.pop(index)
            worker = owners.pop(index)
            index += 1
            if isinstance(found, Ended):
                live.discard(worker)
                continue
            send()
            if isinstance(found, Failure):
                raise found.raised()
            yield found

    def _receive(self, timeout: float) -> Any:
        until = time.monotonic() + timeout if timeout else None
        while True:
            left = _LOOKS if until is None else max(0.0, min(_LOOKS, until - time.monotonic()))
            try:
                return self.results.get(timeout=left)
            except queue.Empty:
                dead = [p for p in self.processes if not p.is_alive()]
                if dead:
                    ends = ", ".join(f"pid {p.pid}: {_ending(p.exitcode)}" for p in dead)
                    raise RuntimeError(f"DataLoader worker exited unexpectedly ({ends})") from None
                if until is not None and time.monotonic() >= until:
                    raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"killed by signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _stop(processes: list[Any], tasks: list[Any], results: Any) -> None:
    """Ask the processes to end, and end those that do not."""
    for each in tasks:
        each.put(None)
    for process in processes:
        process.join(timeout=1.0)
        if process.is_alive():
            process.terminate()
            process.join(timeout=5.0)
    for each in (*tasks, results):
        each.close()
        each.cancel_join_thread()
