"""Convolutions and their gradients beside PyTorch's: shapes of ResNets, a U-Net and MobileNet, float32 and bfloat16.

    python benchmarks/convolutions.py --only resnet --threads 1

`eager` and `compiled` are PyTorch's time as a multiple of opweave's, of a call of the op and of a compiled function
that calls it: above 1 opweave is first. One library a process; they take turns, as in `kernels.py`. With one thread
the time is the processor's, so what else the machine does counts less.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import itertools
import statistics
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from kernels import Calls, Times, all_of, over, serve

LIBRARIES: tuple[str, ...] = ("opweave", "opweave.compile", "torch")
TYPES = ("float32", "bfloat16")
DIRECTIONS = ("forward", "by data", "by weights")


class Shape(NamedTuple):
    """A convolution of square images and filters, padded by half a filter."""

    batch: int
    channels: int
    filters: int
    side: int
    kernel: int = 3
    stride: int = 1
    groups: int = 1

    def __str__(self) -> str:
        what = "depthwise" if self.groups > 1 else f"{self.kernel}x{self.kernel}"
        steps = f" / {self.stride}" if self.stride > 1 else ""
        return f"{self.batch}x{self.channels}->{self.filters} at {self.side}, {what}{steps}"


def _depthwise(batch: int, channels: int, side: int, stride: int = 1) -> Shape:
    return Shape(batch, channels, channels, side, 3, stride, channels)


#: Of each network some of its layers.
SHAPES: dict[str, tuple[Shape, ...]] = {
    "resnet": (
        Shape(1, 3, 64, 224, 7, 2), Shape(4, 3, 64, 96, 7, 2), Shape(1, 64, 64, 56), Shape(4, 64, 128, 56, 3, 2),
        Shape(4, 64, 128, 56, 1, 2), Shape(1, 128, 128, 28), Shape(8, 128, 128, 28), Shape(4, 256, 256, 14),
        Shape(1, 512, 512, 7), Shape(4, 512, 512, 7), Shape(8, 64, 64, 16), Shape(4, 64, 256, 56, 1),
        Shape(4, 256, 64, 56, 1), Shape(1, 256, 1024, 14, 1), Shape(4, 1024, 256, 14, 1), Shape(4, 2048, 512, 7, 1),
        Shape(4, 1024, 2048, 14, 1, 2),
    ),
    "unet": (
        Shape(2, 1, 32, 64), Shape(2, 32, 64, 64), Shape(2, 64, 32, 64), Shape(2, 64, 64, 32), Shape(2, 128, 64, 32),
        Shape(2, 128, 128, 16), Shape(2, 32, 2, 64, 1),
    ),
    "mobilenet": (
        Shape(4, 3, 32, 112, 3, 2), _depthwise(4, 32, 56), _depthwise(1, 144, 56, 2), _depthwise(4, 192, 28),
        _depthwise(4, 384, 14), _depthwise(4, 576, 14, 2), _depthwise(8, 960, 7), Shape(1, 32, 16, 112, 1),
        Shape(4, 144, 24, 56, 1), Shape(4, 64, 384, 14, 1), Shape(8, 160, 960, 7, 1),
    ),
}  # fmt: skip
WORK = {
    f"{network} {shape} | {direction} | {dtype}": (shape, direction, dtype)
    for network, shapes in SHAPES.items()
    for shape, direction, dtype in itertools.product(shapes, DIRECTIONS, TYPES)
}


def of(library: str) -> Calls:
    """A library's convolutions, called one by one."""
    package, _, compiled = library.partition(".")
    lib: Any = importlib.import_module(package)
    aten = lib.ops.aten
    draw = np.random.default_rng(0)
    found: Calls = {}
    for name, (shape, direction, dtype) in WORK.items():
        batch, channels, filters, side, kernel, stride, groups = shape
        padding = kernel // 2
        after = (side + 2 * padding - kernel) // stride + 1
        sizes = (
            (batch, channels, side, side),
            (filters, channels // groups, kernel, kernel),
            (batch, filters, after, after),
        )
        arrays = [draw.standard_normal(each, dtype=np.float32) for each in sizes]
        x, w, y = (lib.from_numpy(array).to(getattr(lib, dtype)) for array in arrays)
        rest = [stride] * 2, [padding] * 2, [1] * 2, False, [0] * 2, groups

        def forward(x: Any, w: Any, y: Any, rest: Any = rest) -> Any:
            return aten.convolution(x, w, None, *rest)

        def by_data(x: Any, w: Any, y: Any, rest: Any = rest) -> Any:
            return aten.convolution_backward(y, x, w, None, *rest, [True, False, False])[0]

        def by_weights(x: Any, w: Any, y: Any, rest: Any = rest) -> Any:
            return aten.convolution_backward(y, x, w, None, *rest, [False, True, False])[1]

        call = (forward, by_data, by_weights)[DIRECTIONS.index(direction)]
        found[name] = functools.partial(lib.compile(call) if compiled else call, x, w, y)
    return found


def rows(times: Times) -> list[str]:
    """The table as Markdown."""
    lines = ["| | | | torch, ms | eager | compiled |", "|---|---|---|---|---|---|"]
    for name, row in times.items():
        ratios = [f"{over(row['torch'], row[key]):.2f}" for key in LIBRARIES[:2]]
        lines.append(f"| {name} | {statistics.median(row['torch']) * 1e3:.3f} | {' | '.join(ratios)} |")
    return lines


def summary(times: Times) -> str:
    """How many reach 0.8, and the geometric mean."""
    found = [over(row["torch"], row[key]) for row in times.values() for key in LIBRARIES[:2]]
    return (
        f"{sum(ratio >= 0.8 for ratio in found)} of {len(found)} reach 0.8 of PyTorch's speed; least {min(found):.2f},"
        f" geometric mean {statistics.geometric_mean(found):.2f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=LIBRARIES, help="serve one in this process")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05, help="for each convolution in each round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="parts of names, with commas between")
    options = parser.parse_args()
    for name in [name for name in WORK if not any(part in name for part in options.only.split(","))]:
        del WORK[name]
    if not WORK:
        parser.error(f"no convolution has {options.only!r} in its name")
    if options.library:
        serve(of(options.library), time.process_time if options.threads == 1 else time.perf_counter)
        return
    pythons = dict.fromkeys(LIBRARIES, sys.executable)
    arguments = "--only", options.only, "--threads", str(options.threads)
    found = all_of(pythons, options.threads, options.rounds, options.seconds, [*WORK], __file__, arguments)
    print("\n".join(rows(found)))
    print(f"\n{summary(found)}")


if __name__ == "__main__":
    main()
