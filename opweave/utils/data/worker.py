"""What a worker process of a loader does: it reads what it is told to, and sends batches, or what went wrong."""

from __future__ import annotations

import os
import queue
import random
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry.dataclass import dataclass
from opweave.registry.errors import OpweaveError
from opweave.registry.interrupts import let_through
from opweave.registry.random_generator import manual_seed

#: How often a worker looks whether its parent is still there, in seconds.
_LOOKS = 5.0


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker process is.

    Attributes
    ----------
    id, num_workers : int
        Which one, of how many.
    seed : int
        What its random numbers start from.
    dataset : Dataset
        Its copy of the data set.

    Examples
    --------
    >>> opweave.utils.data.get_worker_info() is None  # not in a worker
    True
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What this process is, if it is a worker of a loader; None elsewhere.

    Examples
    --------
    >>> opweave.utils.data.get_worker_info() is None  # not in a worker
    True
    """
    return _info


@dataclass(frozen=True)
class Failure:
    """An exception in a worker, as text and as far as it can be sent."""

    kind: type[BaseException]
    text: str
    where: str

    @staticmethod
    def of(error: BaseException, where: str) -> Failure:
        """Of an exception that is being handled."""
        return Failure(type(error), "".join(traceback.format_exception(error)), where)

    def raised(self) -> BaseException:
        """The exception again, with the worker's traceback in its text."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if issubclass(self.kind, OpweaveError):
            return self.kind(f"caught {self.where}", got=f"\n{self.text}", hint="the worker's traceback is above")
        if self.kind is KeyError:
            return KeyError(_Text(text))
        try:
            return self.kind(text)
        except Exception as error:  # an exception of the user's may want other arguments
            let_through(error)
            return RuntimeError(text)


class _Text(str):
    """A text that shows its lines, as a key's `repr` would not."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Plan:
    """What all workers of a loader are told at the start."""

    dataset: Any
    fetch: Callable[[Any], Any]
    is_iterable: bool
    init: Callable[[int], None] | None
    count: int
    parent: int


class Ended:
    """What a worker sends when an iterable data set has no more."""


def work(number: int, seed: int, plan: Plan, tasks: Any, results: Any) -> None:
    """Read tasks `(epoch, index, numbers)` until there is None; send `(epoch, index, batch or Failure or Ended)`."""
    global _info
    try:
        manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002  # what data sets draw from
        _info = WorkerInfo(number, plan.count, seed, plan.dataset)
        broken: Failure | None = None
        try:
            if plan.init is not None:
                plan.init(number)
        except Exception as error:  # of the user's code, to be told at the first batch
            let_through(error)
            broken = Failure.of(error, f"in the worker_init_fn of DataLoader worker process {number}")
        items: Any = None
        epoch_of_items = None
        while True:
            try:
                task = tasks.get(timeout=_LOOKS)
            except queue.Empty:
                if os.getppid() != plan.parent:
                    return
                continue
            if task is None:
                return
            epoch, index, numbers = task
            if broken is not None:
                results.put((epoch, index, broken))
                continue
            try:
                if plan.is_iterable and epoch_of_items != epoch:
                    items, epoch_of_items = iter(plan.dataset), epoch
                found: Any = plan.fetch((items, numbers) if plan.is_iterable else numbers)
            except StopIteration:
                found = Ended()
            except Exception as error:  # of the user's code, told to the parent
                let_through(error)
                found = Failure.of(error, f"in DataLoader worker process {number}")
            results.put((epoch, index, found))
    except KeyboardInterrupt:
        pass  # the parent has it too, and tells
    finally:
        results.close()
