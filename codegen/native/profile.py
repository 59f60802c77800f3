"""What the launches on the CPU cost, kernel by kernel.

Native code counts and times launches where `launch.profiling` is set, those of compiled functions as well; otherwise
a launch pays for one comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from html import escape

from opweave.codegen.native.launch import Launcher, launchers, profiled, profiling
from opweave.registry import forking
from opweave.registry.dataclass import dataclass
from opweave.registry.interrupts import contextmanager

_lock = forking.short_lock()


@dataclass(frozen=True)
class KernelProfile:
    """What launches of kernels of one name cost.

    Attributes
    ----------
    name : str
        The kernel's.
    launches, programs : int
        How many there were; programs of all launches together.
    seconds : float
        Their time together, from the call to its return, without the conversion of the arguments.

    Examples
    --------
    >>> f = opweave.compile(lambda x: x.sin() + 1)
    >>> with opweave.profile() as found:
    ...     _ = f(opweave.ones(1000))
    >>> type(found.kernels[0]).__name__
    'KernelProfile'
    """

    name: str
    launches: int
    programs: int
    seconds: float


@dataclass
class LaunchProfile:
    """Kernels that were launched, the costliest first; filled when its context ends. `print` shows a table.

    Examples
    --------
    >>> with opweave.profile() as found:
    ...     _ = opweave.ones(2) + 1
    >>> found.kernels
    []
    """

    kernels: list[KernelProfile] = field(default_factory=list[KernelProfile])

    def __str__(self) -> str:
        return "\n".join(self._lines("  "))

    def _lines(self, between: str) -> list[str]:
        total = sum(k.seconds for k in self.kernels)
        rows = [("kernel", "launches", "programs", "total ms", "mean us", "share")]
        for k in self.kernels:
            share = f"{k.seconds / total:.1%}" if total else ""
            mean = f"{k.seconds / k.launches * 1e6:.1f}"
            rows.append((k.name, str(k.launches), str(k.programs), f"{k.seconds * 1e3:.3f}", mean, share))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        first, *others = widths
        return [
            between.join([name.ljust(first), *(text.rjust(w) for text, w in zip(numbers, others, strict=True))])
            for name, *numbers in rows
        ]

    def _repr_html_(self) -> str:
        head, *rows = [line.split("\0") for line in self._lines("\0")]
        cells = "".join(f"<th style='text-align:left'>{escape(text.strip())}</th>" for text in head)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:{'right' if at else 'left'}'>{escape(text.strip())}</td>"
                for at, text in enumerate(row)
            )
            + "</tr>"
            for row in rows
        )
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


@contextmanager
def profile() -> Iterator[LaunchProfile]:
    """Count and time the launches of Triton kernels on the CPU within this context, in all threads.

    Yields
    ------
    LaunchProfile
        Empty until the context ends.

    Examples
    --------
    >>> f = opweave.compile(lambda x: x.sin() + 1)
    >>> x = opweave.ones(1000)
    >>> _ = f(x)
    >>> with opweave.profile() as found:
    ...     _ = f(x)
    >>> [kernel.launches for kernel in found.kernels]
    [1]
    """
    found = LaunchProfile()
    with _lock:
        profiling.value += 1
        before = {launcher: _counts(launcher) for launcher in launchers}
    try:
        yield found
    finally:
        with _lock:
            sums: dict[str, list[int]] = {}
            for launcher in list(launchers):
                start = before.get(launcher, (0, 0, 0))
                total = sums.setdefault(launcher.name, [0, 0, 0])
                total[:] = [t + now - then for t, now, then in zip(total, _counts(launcher), start, strict=True)]
            profiling.value -= 1
            if not profiling.value:
                profiled.clear()
        rows = [KernelProfile(name, n, programs, ns / 1e9) for name, (n, programs, ns) in sums.items() if n]
        found.kernels = sorted(rows, key=lambda row: -row.seconds)


def _counts(launcher: Launcher) -> tuple[int, int, int]:
    counts = launcher.counts
    return counts.launches, counts.programs, counts.spent
