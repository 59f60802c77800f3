"""Mutated files of exported programs: each is loaded as a stranger's and run in a child process, between guard pages.

    python tests/tracer/mutated_files.py --count 1500 --seed 0

A third of the mutations change bytes of the file, a third its JSON and arrays, a third the TTIR of its kernels: masks,
constants, operands, offsets, bounds of loops. What the sanitizer says of the last is compared with what the same
kernels do unsanitized, where every tensor lies at the end, and then at the start, of pages whose neighbours cannot be
touched.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import faulthandler
import io
import json
import mmap
import os
import random
import re
import signal
import struct
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import triton
import triton.language as tl

import opweave
from opweave.export import Dim, export, load, save
from opweave.library import triton_op, wrap_triton
from opweave.registry import memory
from opweave.registry.errors import ExportError, OpweaveError, SanitizerError
from opweave.registry.op import registry
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.export import archive

# ---- programs --------------------------------------------------------------------------------------------------------


@triton.jit
def scaled_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n, 0.0) * 2.0 + tl.load(y + i, i < n, 0.0), i < n)


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + c, c < cols, float("-inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * cols + c, value / tl.sum(value, 0), c < cols)


@triton.jit
def counts_kernel(places, out, n, bins, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(places + i, i < n, 0)
    tl.atomic_add(out + at, 1, (i < n) & (at >= 0) & (at < bins))


@triton.jit
def taken_kernel(x, places, out, n, size, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(places + i, i < n, 0)
    inside = (at >= 0) & (at < size) & (i < n)
    tl.store(out + i, tl.load(x + at, inside, 0.0), i < n)


@triton.jit
def running_kernel(x, out, rows, cols, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for r in range(rows):
        total += tl.load(x + r * cols + c, c < cols, 0.0)
        tl.store(out + r * cols + c, total, c < cols)


@triton.jit
def product_kernel(a, b, out, m, k, n, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        ka, kb = start + tl.arange(0, BLOCK)[None, :], start + tl.arange(0, BLOCK)[:, None]
        left = tl.load(a + r * k + ka, (r < m) & (ka < k), 0.0)
        total += tl.dot(left, tl.load(b + kb * n + c, (kb < k) & (c < n), 0.0), input_precision="ieee")
    tl.store(out + r * n + c, total, (r < m) & (c < n))


@triton.jit
def collatz_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    value, steps = tl.load(x + i), 0
    while (value > 1) & (steps < 50):
        value = tl.where(value % 2 == 0, value // 2, 3 * value + 1)
        steps += 1
    tl.store(out + i, steps, i < n)


@triton_op("mutated::scaled", mutates_args=())
def scaled(x: Tensor, y: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    wrap_triton(scaled_kernel)[(triton.cdiv(x.numel(), 16),)](x, y, out, x.numel(), BLOCK=16)
    return out


@triton_op("mutated::softmax", mutates_args=())
def softmax(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    wrap_triton(softmax_kernel)[(x.shape[0],)](x, out, x.shape[1], BLOCK=32)
    return out


@triton_op("mutated::counts", mutates_args=())
def counts(places: Tensor) -> Tensor:
    out = opweave.zeros(7, dtype=opweave.int32)
    wrap_triton(counts_kernel)[(triton.cdiv(places.numel(), 16),)](places, out, places.numel(), 7, BLOCK=16)
    return out


@triton_op("mutated::taken", mutates_args=())
def taken(x: Tensor, places: Tensor) -> Tensor:
    out = opweave.empty(places.shape, dtype=x.dtype)
    n = places.numel()
    wrap_triton(taken_kernel)[(triton.cdiv(n, 16),)](x, places, out, n, x.numel(), BLOCK=16)
    return out


@triton_op("mutated::running", mutates_args=())
def running(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    wrap_triton(running_kernel)[(triton.cdiv(x.shape[1], 8),)](x, out, x.shape[0], x.shape[1], BLOCK=8)
    return out


@triton_op("mutated::product", mutates_args=())
def product(a: Tensor, b: Tensor) -> Tensor:
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    out = opweave.empty((m, n))
    wrap_triton(product_kernel)[(triton.cdiv(m, 16), triton.cdiv(n, 16))](a, b, out, m, k, n, BLOCK=16)
    return out


@triton_op("mutated::collatz", mutates_args=())
def collatz(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    wrap_triton(collatz_kernel)[(x.numel(),)](x, out, x.numel(), BLOCK=1)
    return out


@dataclass(frozen=True)
class Program:
    """A file, and what it is called with."""

    name: str
    data: bytes
    args: tuple[np.ndarray[Any, Any], ...]


def programs() -> list[Program]:
    """Programs with kernels of all sorts; each file holds launches, and some a triton_op with its body."""
    rng = np.random.default_rng(0)

    def floats(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(np.float32)

    weight = from_numpy(floats(13, 11))
    places = np.array([0, 3, 6, 3, 1, 2, 6, 6, 0, 5, 4, 2, 1, 0, 3, 3, 2, 5, 6, 1])

    def looped(x: Tensor) -> Tensor:
        def going(i: Tensor, y: Tensor) -> Tensor:
            return i < 3

        def turn(i: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            return i + 1, scaled(y, y) * 0.3

        return opweave.while_loop(going, turn, (opweave.zeros((), dtype=opweave.int64), x))[1]

    def branched(x: Tensor) -> Tensor:
        return opweave.cond(x.sum() > 0, lambda x: softmax(x), lambda x: running(x) + weight[0], (x,))

    made: list[tuple[str, Callable[..., Any], tuple[Any, ...], Any]] = [
        ("scaled", lambda x, y: scaled(x.relu(), y) + 1, (floats(37), floats(37)), None),
        ("softmax", lambda x: softmax(x @ weight), (floats(5, 13),), None),
        ("counts", lambda p: counts(p) * 2, (places,), None),
        ("taken", lambda x, p: taken(x, p).sum(), (floats(7), places), None),
        ("running", lambda x: running(x)[1:], (floats(6, 11),), None),
        ("product", lambda a: product(a, weight), (floats(19, 13),), None),
        ("collatz", lambda x: collatz(x), (np.arange(1, 9),), None),
        ("dynamic", lambda x: scaled(x, x * 3)[::2], (floats(40),), {"x": {0: Dim("n", min=4, max=4096)}}),
        ("looped", looped, (floats(21),), None),
        ("branched", branched, (floats(3, 11),), None),
    ]
    found: list[Program] = []
    for name, function, args, dynamic in made:
        program = export(function, tuple(map(from_numpy, args)), dynamic_shapes=dynamic)
        for whole in (program, program.run_decompositions()):
            file = io.BytesIO()
            save(whole, file)
            found.append(Program(name, file.getvalue(), args))
    # Elsewhere nobody knows the ops: what the files have of them runs.
    for name in [name for name in registry.operators if name.startswith("mutated::")]:
        del registry.loaded[name]
    registry.version += 1
    return found


# ---- mutations -------------------------------------------------------------------------------------------------------


def entries_of(data: bytes) -> dict[str, bytes]:
    """A file's entries."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def sealed(entries: dict[str, bytes]) -> bytes:
    """A file of entries, with hashes that are right."""
    about = json.loads(entries["manifest.json"])
    rest = {name: data for name, data in entries.items() if name != "manifest.json"}
    content = io.BytesIO()
    archive.write(content, rest, {"ops": about["ops"]})
    return content.getvalue()


def bytes_changed(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut out, repeated."""
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(found))
        match rng.randrange(4):
            case 0:
                found[at] ^= 1 << rng.randrange(8)
            case 1:
                del found[at : at + rng.choice([1, 4, 100])]
            case 2:
                found[at:at] = found[at : at + rng.choice([1, 4, 100])]
            case _:
                struct.pack_into("<I", found, min(at, len(found) - 4), rng.choice([0, 1, 2**31, 2**32 - 1, 2**16]))
    return bytes(found)


_VALUES: list[Any] = [0, 1, -1, 2, 7, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 0.5, True, None, "", "x", [], {}, "s0",
                      [1, 2], {"node": "x"}, "aten::mul.Tensor", "*fp64", ["mul", "s0", 2**40]]  # fmt: skip


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def json_changed(data: bytes, rng: random.Random) -> bytes:
    """Values of `program.json` changed, moved or taken away; or an array's header."""
    entries = entries_of(data)
    arrays = [name for name in entries if name.endswith(".npy")]
    if arrays and rng.random() < 0.2:
        name = rng.choice(arrays)
        entries[name] = bytes_changed(entries[name][:128], rng) + entries[name][128:]
        return sealed(entries)
    program = json.loads(entries["program.json"])
    for _ in range(rng.choice([1, 1, 1, 2])):
        places = list(_places(program))
        holder, key = rng.choice(places)
        match rng.randrange(5):
            case 0:
                other, there = rng.choice(places)
                holder[key] = json.loads(json.dumps(other[there]))
            case 1 if isinstance(holder, list):
                holder.insert(key, holder[rng.randrange(len(holder))])
            case 2:
                del holder[key]
            case 3 if type(holder[key]) is int:
                holder[key] += rng.choice([-1, 1, 16, -16, 2**20])
            case _:
                holder[key] = rng.choice(_VALUES)
    entries["program.json"] = json.dumps(program).encode()
    return sealed(entries)


_OPPOSITE = {"slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "eq": "ne", "ult": "uge"}
_SWAPS = [("addi", "subi"), ("addi", "muli"), ("muli", "addi"), ("andi", "ori"), ("subi", "addi"), ("divsi", "remsi"),
          ("program_id x", "program_id y"), ("addf", "mulf"), ("remsi", "divsi"), ("maxnumf", "minnumf")]  # fmt: skip


def ttir_changed(data: bytes, rng: random.Random) -> bytes:
    """A kernel's masks, constants, operands, offsets or bounds changed."""
    entries = entries_of(data)
    name = rng.choice([name for name in entries if name.endswith(".ttir")])
    lines = entries[name].decode().splitlines()
    for _ in range(200):
        at = rng.randrange(len(lines))
        changed = _line_changed(lines, at, rng)
        if changed is not None and changed != lines[at]:
            lines[at] = changed
            if rng.random() < 0.7:
                break
    entries[name] = "\n".join(lines).encode() + b"\n"
    return sealed(entries)


def _line_changed(lines: list[str], at: int, rng: random.Random) -> str | None:
    line = lines[at]
    values = re.findall(r"%[\w.]+(?:#\d+)?", line.partition(" = ")[2] if line.strip().startswith("%") else line)
    if m := re.search(r"arith\.cmpi (\w+),", line):
        return line.replace(f" {m[1]},", f" {_OPPOSITE.get(m[1], 'eq')},", 1)
    if "arith.constant" in line and rng.random() < 0.6:
        new = rng.choice(["0", "1", "-1", "2", "3", "100", "4096", "1000000", "-7", "2147483647"])
        return re.sub(r"(constant (?:dense<)?)-?\d+(?=[> ])", rf"\g<1>{new}", line)
    if "tt.load" in line or "tt.store" in line or "tt.atomic" in line:
        kept = {"tt.load": 1, "tt.store": 2}.get("tt.load" if "tt.load" in line else "tt.store", 2)
        if len(values) > kept and rng.random() < 0.5 and "atomic" not in line:  # no mask
            return re.sub(r"(?:, %[\w.]+(?:#\d+)?){" + str(len(values) - kept) + "}(?= )", "", line, count=1)
    if rng.random() < 0.3:
        for old, new in rng.sample(_SWAPS, len(_SWAPS)):
            if old in line:
                return line.replace(old, new, 1)
    if len(values) >= 2 and rng.random() < 0.4:
        a, b = rng.sample(values, 2)
        head, _, tail = line.partition(values[0])
        tail = values[0] + tail
        return head + re.sub(rf"{a}\b|{b}\b", lambda m: b if m[0] == a else a, tail)
    if values:  # another value in the place of one, often of the same type
        old = rng.choice(values)
        types = _types_of(lines)
        alike = [v for v, t in types.items() if t == types.get(old) and v != old]
        if alike:
            new = rng.choice(alike)
            left, sep, right = line.rpartition(" = ") if line.strip().startswith("%") else ("", "", line)
            return left + sep + re.sub(rf"{old}\b", new, right, count=1)
    return None


def _types_of(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        for name, kind in re.findall(r"(%\w+): (![\w.<>]+|\w+)", line):
            found[name] = kind
        m = re.match(r"\s*(%\w+) = .* : (?:.* -> )?(\S+)$", line)
        if m:
            found[m[1]] = m[2]
    return found


KINDS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "bytes": bytes_changed, "json": json_changed, "ttir": ttir_changed,
}  # fmt: skip


# ---- memory between guard pages --------------------------------------------------------------------------------------

_PAGE = mmap.PAGESIZE
_CANARY = 0x5A
_libc = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Memory whose pages have neighbours that nobody can touch; what is left of its own pages holds a pattern."""

    def __init__(self, at_end: bool) -> None:
        self.at_end = at_end
        self.spans: list[tuple[mmap.mmap, np.ndarray[Any, Any], int, int]] = []

    def bytes(self, nbytes: int) -> np.ndarray[Any, Any]:
        """New memory, aligned to 16 bytes."""
        pages = -(-max(nbytes, 1) // _PAGE)
        whole = mmap.mmap(-1, (pages + 2) * _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        array = np.frombuffer(whole, np.uint8)
        base = array.ctypes.data
        inner = array[_PAGE : (pages + 1) * _PAGE]
        inner[:] = _CANARY
        for page in (base, base + (pages + 1) * _PAGE):
            if _libc.mprotect(ctypes.c_void_p(page), _PAGE, 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        start = (pages * _PAGE - nbytes) // 16 * 16 if self.at_end else 0
        self.spans.append((whole, inner, start, nbytes))
        return inner[start : start + nbytes]

    def lease(self, nbytes: int) -> memory.Lease:
        """The same for `memory.allocate`."""
        found, lease = self.bytes(nbytes), memory.Lease()
        lease.span = SimpleNamespace(capacity=nbytes, mapping=found, offset=0, ptr=found.ctypes.data)
        return lease

    def damaged(self) -> bool:
        """Whether somebody wrote to what is nobody's."""
        return any(
            (inner[:start] != _CANARY).any() or (inner[start + nbytes :] != _CANARY).any()
            for _, inner, start, nbytes in self.spans
        )

    def copied(self, array: np.ndarray[Any, Any]) -> Tensor:
        """A tensor with an array's elements."""
        found = self.bytes(array.nbytes)
        found[:] = np.frombuffer(array.tobytes(), np.uint8)
        return from_numpy(found.view(array.dtype).reshape(array.shape))


# ---- running ---------------------------------------------------------------------------------------------------------

STEPS = 2_000_000
NBYTES = 1 << 28


def verdict(data: bytes, args: tuple[np.ndarray[Any, Any], ...], *, trusted: bool, at_end: bool) -> str:
    """Load and run a file: `refused`, `found: CATEGORY`, `failed: ERROR`, `ran`, or `DAMAGED` memory."""
    guarded = Guarded(at_end)
    memory.allocate = guarded.lease  # type: ignore[assignment]
    try:
        program = (
            load(io.BytesIO(data)) if trusted else load(io.BytesIO(data), untrusted=True, steps=STEPS, nbytes=NBYTES)
        )
    except ExportError:
        return "refused"
    except OpweaveError as error:
        return f"refused: {type(error).__name__}"
    try:
        program.module()(*map(guarded.copied, args))
        found = "ran"
    except SanitizerError as error:
        found = f"found: {error.category}"
    except OpweaveError as error:
        found = f"failed: {type(error).__name__}"
    except Exception as error:
        if not trusted:
            return "UNTYPED " + "".join(traceback.format_exception(error))[-1500:]
        found = f"failed: {type(error).__name__}"
    return "DAMAGED " + found if guarded.damaged() else found


def in_child(tasks: list[Callable[[], str]], seconds: int = 60, *, alone: bool = False) -> list[str]:
    """Run tasks in forked children, a new one behind each that dies; what it was doing is `CRASHED` or `HUNG`.

    `alone`: each in its own, for tasks that may write where others keep what they need.
    """
    results: list[str] = []
    while len(results) < len(tasks):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _be_child(tasks[len(results) :][: 1 if alone else None], writer, seconds)
        os.close(writer)
        with os.fdopen(reader) as lines:
            for line in lines:
                results.append(json.loads(line))
        _, status = os.waitpid(child, 0)
        if status:
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            results.append("HUNG" if number == signal.SIGALRM else f"CRASHED by signal {number}, status {status}")
    return results


def _be_child(tasks: list[Callable[[], str]], writer: int, seconds: int) -> None:
    faulthandler.disable()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    with os.fdopen(writer, "w") as out:
        for task in tasks:
            signal.alarm(seconds)
            try:
                text = task()
            except BaseException as error:
                text = "UNTYPED " + "".join(traceback.format_exception(error))[-1500:]
            out.write(json.dumps(text) + "\n")
            out.flush()
    os._exit(0)


def _reaches_outside(outcome: str) -> bool:
    return outcome.startswith(("CRASHED", "DAMAGED"))


@dataclass
class Report:
    """What came of the files.

    Attributes
    ----------
    verdicts : counter of (kind, verdict)
    outside : int
        Kernels that reach outside of their tensors when they run unsanitized.
    bad : list of str
        Crashes, untyped errors, damage; accesses outside that were not found.
    """

    verdicts: collections.Counter[tuple[str, str]]
    outside: int
    bad: list[str]


def check(count: int, seed: int, batch: int = 25) -> Report:
    """Make files, run them, and compare."""
    rng = random.Random(seed)
    known = programs()
    files: list[tuple[str, Program, bytes]] = []
    for number in range(count):
        kind = ("bytes", "json", "ttir")[number % 3]
        program = rng.choice(known)
        files.append((kind, program, KINDS[kind](program.data, rng)))
    report = Report(collections.Counter(), 0, [])
    for first in range(0, count, batch):
        part = files[first : first + batch]
        tasks = [
            lambda data=data, args=p.args, end=end: verdict(data, args, trusted=False, at_end=end)
            for _, p, data in part for end in (True, False)
        ]  # fmt: skip
        outcomes = in_child(tasks)
        # A kernel that takes too long has no say in what it does unsanitized, nor has a file that is refused.
        open_ends = ("refused", "HUNG", "UNTYPED")
        tried = [
            k for k, (kind, _, _) in enumerate(part) if kind == "ttir" and not outcomes[2 * k].startswith(open_ends)
        ]
        oracle = in_child(
            [
                lambda data=part[k][2], args=part[k][1].args, end=end: verdict(data, args, trusted=True, at_end=end)
                for k in tried for end in (True, False)
            ],
            seconds=10, alone=True,
        )  # fmt: skip
        outside = {k for j, k in enumerate(tried) if any(map(_reaches_outside, oracle[2 * j : 2 * j + 2]))}
        report.outside += len(outside)
        for k, (kind, program, data) in enumerate(part):
            both = outcomes[2 * k : 2 * k + 2]
            report.verdicts[kind, both[0].partition("\n")[0]] += 1
            wrong = [o for o in both if o.startswith(("CRASHED", "DAMAGED", "UNTYPED", "HUNG"))]
            if k in outside and not any(o.startswith("found") for o in both):
                wrong.append(f"NOT FOUND: {both}, unsanitized {[oracle[2 * tried.index(k) + e] for e in (0, 1)]}")
            if wrong:
                report.bad.append(f"file {first + k} ({kind} of {program.name}): {wrong[0]}")
                folder = os.environ.get("MUTATED_FILES_KEEP")
                if folder:
                    with open(os.path.join(folder, f"{seed}-{first + k}.opweave"), "wb") as file:
                        file.write(data)
    return report


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    report = check(given.count, given.seed)
    for (kind, outcome), number in sorted(report.verdicts.items()):
        print(f"{number:6} {kind:6} {outcome}")
    print(f"{report.outside} kernels reach outside of their tensors unsanitized; {len(report.bad)} files are amiss")
    for text in report.bad:
        print(text)
    return bool(report.bad)


if __name__ == "__main__":
    sys.exit(main())
