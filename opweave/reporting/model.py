"""What a report holds: plain data, gathered once (`gather`), written as a page (`page`) or as a trace (`trace`)."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from opweave.registry.dataclass import dataclass


@dataclass
class NodeRow:
    """A node of a graph; `sites` are numbers in `Facts.sites`, innermost first, `inner` what a kernel computes."""

    name: str
    kind: str
    label: str
    type: str
    text: str
    inputs: list[str]
    sites: list[int]
    inner: list[NodeRow] = field(default_factory=list["NodeRow"])


@dataclass
class Stage:
    """A graph after a pass, and what that did: the names of nodes that came, went and changed."""

    name: str
    milliseconds: float
    nodes: list[NodeRow]
    added: list[str]
    removed: list[str]
    changed: list[str]
    #: The text of those that went.
    gone: dict[str, str]


@dataclass
class StepRow:
    """A step of the host.

    Attributes
    ----------
    kind : str
        `kernel`, `product`, `convolve`, `call`, or what moves and names memory.
    label, text : str
        In a word, and in full.
    node : str
        Of the fused graph.
    reason : str
        Why it is a step of its own.
    sites : list of int
        The lines that it comes from, as numbers in `Facts.sites`.
    ops : list of str
        What it computes.
    kernel : str
        The name of the kernel that it launches, or that follows a product.
    product : str
        The node of that product.
    detail : str
        The types of what is multiplied, or of a call's result.
    seconds : float or None
        Of a call, the median.
    start, took : float or None
        In the call of the timeline, in seconds.
    read, written : int
        Bytes of the tensors it is given and of those it writes, each element once.
    flops : int
        Additions and multiplications of products and convolutions.
    share : float or None
        Of what the machine could do: the least time over the time taken.
    bound : str
        What the least time follows from.
    """

    index: int
    kind: str
    label: str
    text: str
    node: str
    reason: str = ""
    sites: list[int] = field(default_factory=list[int])
    ops: list[str] = field(default_factory=list[str])
    kernel: str = ""
    product: str = ""
    detail: str = ""
    reads: list[str] = field(default_factory=list[str])
    writes: list[str] = field(default_factory=list[str])
    seconds: float | None = None
    start: float | None = None
    took: float | None = None
    read: int = 0
    written: int = 0
    flops: int = 0
    share: float | None = None
    bound: str = ""


@dataclass
class KernelRow:
    """A kernel: its texts by language, and what its launches took of a call, timed by native code."""

    name: str
    texts: dict[str, str]
    launches: float | None = None
    seconds: float | None = None
    problem: str = ""


@dataclass
class BufferRow:
    """Memory: what it is called, and the steps from and to which it is needed."""

    name: str
    type: str
    kind: str
    nbytes: int
    first: int
    last: int


@dataclass
class LineRow:
    """What came of a line: `seconds` of its own, `total` with what it calls, and its steps."""

    site: int
    seconds: float
    total: float
    steps: list[int]
    ops: list[str]
    reasons: list[str]


@dataclass
class ProgramRow:
    """A graph's way from capture to steps: of the forward, or of the backward."""

    name: str
    stages: list[Stage] = field(default_factory=list[Stage])
    host: str = ""
    code: str = ""
    steps: list[StepRow] = field(default_factory=list[StepRow])
    kernels: list[KernelRow] = field(default_factory=list[KernelRow])
    buffers: list[BufferRow] = field(default_factory=list[BufferRow])
    lines: list[LineRow] = field(default_factory=list[LineRow])
    #: Notes on what stayed apart: label, reason, site.
    apart: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    #: A call of the compiled code, and of the same steps one by one.
    seconds: float | None = None
    stepwise: float | None = None
    arena: int = 0
    problem: str = ""


@dataclass
class GuardRow:
    """What a version depends on: whose, in words, as a test, and the line that reads it."""

    what: str
    words: str
    test: str
    site: int


@dataclass
class VersionRow:
    """A compiled version."""

    index: int
    #: Why the versions before it did not fit the call that it was compiled for.
    reasons: list[str]
    #: Why it does not fit the call of the report; None where it does.
    misfit: str | None
    guards: list[GuardRow]
    backward: str
    programs: list[ProgramRow] = field(default_factory=list[ProgramRow])
    stub: bool = False


@dataclass
class FileRow:
    """The parts of a source file that the function ran through: (first line, lines), in order."""

    path: str
    parts: list[tuple[int, list[str]]]


@dataclass
class MachineRow:
    """What the machine was measured to do: by bytes moved the bytes a second, and flops a second by dtype."""

    name: str
    threads: int
    bandwidth: list[tuple[int, float]]
    flops: dict[str, float]


@dataclass
class Facts:
    """All of a report."""

    name: str
    made: str
    opweave: str
    device: str
    versions: list[VersionRow] = field(default_factory=list[VersionRow])
    #: file, line, function.
    sites: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])
    files: list[FileRow] = field(default_factory=list[FileRow])
    machine: MachineRow | None = None
    notes: list[str] = field(default_factory=list[str])
    recompiled: bool = False
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
