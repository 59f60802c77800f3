"""`torch.multiprocessing`: Python's own, with `spawn`."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable
from typing import Any

from opweave.registry.errors import ArgumentError
from opweave.registry.interrupts import let_through


class ProcessRaisedException(Exception):  # PyTorch's name
    """A function that ran in another process raised."""

    def __init__(self, msg: str, error_index: int = -1, pid: int = -1) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid, self.pid = msg, error_index, pid, pid


class ProcessExitedException(ProcessRaisedException):
    """Another process ended by itself, or was ended."""

    def __init__(self, msg: str, error_index: int, exit_code: int, pid: int = -1) -> None:
        super().__init__(msg, error_index, pid)
        self.exit_code = exit_code


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self.error_queues = processes, errors

    def pids(self) -> list[int]:
        """Their numbers."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for all; whether all have ended. The others are ended where one fails.

        Raises
        ------
        ProcessRaisedException
            With the traceback of the first that raised, or says how it ended.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while any(process.is_alive() for process in self.processes):
            if (failed := self._failed()) is not None:
                for process in self.processes:
                    process.terminate()
                    process.join(grace_period)
                raise failed
            if until is not None and time.monotonic() > until:
                return False
            time.sleep(0.01)
        if (failed := self._failed()) is not None:
            raise failed
        return True

    def _failed(self) -> ProcessRaisedException | None:
        for index, (process, errors) in enumerate(zip(self.processes, self.error_queues, strict=True)):
            if process.is_alive() or not process.exitcode:
                continue
            if errors.poll():
                text = f"\n\n-- Process {index} terminated with the following error:\n{errors.recv()}"
                return ProcessRaisedException(text, index, process.pid)
            return ProcessExitedException(
                f"process {index} terminated with exit code {process.exitcode}", index, process.exitcode, process.pid
            )
        return None


def _run(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted, too
    except Exception as error:
        let_through(error)
        errors.send(traceback.format_exc())
        raise SystemExit(1) from None


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Call `fn(i, *args)` in each of several processes; what is not joined is given."""
    context = multiprocessing.get_context(start_method)
    processes, pipes = [], []
    for index in range(nprocs):
        theirs, mine = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, index, args, mine), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
        pipes.append(theirs)
    made = ProcessContext(processes, pipes)
    if not join:
        return made
    while not made.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """`start_processes` of new interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how tensors are handed over: there is one way.

    Raises
    ------
    ArgumentError
        For what PyTorch has no name of.
    """
    if new_strategy not in ("file_system", "file_descriptor"):
        raise ArgumentError("set_sharing_strategy: unknown", got=repr(new_strategy), hint="'file_system'")


NAMES: dict[str, Any] = {
    **{name: getattr(multiprocessing, name) for name in multiprocessing.__all__},
    "spawn": spawn, "start_processes": start_processes, "ProcessContext": ProcessContext,
    "SpawnContext": ProcessContext,
    "ProcessRaisedException": ProcessRaisedException, "ProcessExitedException": ProcessExitedException,
    "set_sharing_strategy": set_sharing_strategy, "get_sharing_strategy": lambda: "file_system",
    "get_all_sharing_strategies": lambda: {"file_system"},
}  # fmt: skip
