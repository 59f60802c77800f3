"""Develop a photograph: two ops of one's own among ordinary ones, traced, fused, run natively and checked.

    make demo                            # or, with the extras `demo` installed:
    python examples/demo.py
    python examples/demo.py --device cuda
    python examples/demo.py --photo mine.npy --save developed.npy

`levels` is a `custom_op`: NumPy finds the darkest and brightest tones, and no compiler looks inside. `film_curve` is a
`triton_op`: its kernel is traced into the graph. Everything around them is ordinary array code, which fuses.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

import opweave
from opweave import Tensor
from opweave.library import custom_op, triton_op, wrap_triton

# --- two ops


def find_levels(photo: Any, share: float, xp: Any = np) -> Any:
    """The tones in [0, 1] below and above which `share` of a uint8 image lies, with the array module `xp`."""
    seen = xp.cumsum(xp.bincount(photo.ravel(), minlength=256)) / photo.size
    return (xp.searchsorted(seen, xp.asarray([share, 1 - share])) / 255).astype(np.float32)


@custom_op("demo::levels", mutates_args=())
def levels(photo: Tensor, share: float = 0.01) -> Tensor:
    """`find_levels` as an op."""
    return opweave.from_numpy(find_levels(photo.numpy(), share))


@levels.register_kernel("cuda")
def _(photo: Tensor, share: float = 0.01) -> Tensor:
    import cupy

    found = find_levels(cupy.from_dlpack(photo), share, cupy)
    return opweave.from_numpy(found.get()).to(photo.device)


@levels.register_fake
def _(photo: Tensor, share: float = 0.01) -> Tensor:
    return photo.new_empty((2,), dtype=opweave.float32)


@triton.jit
def film_curve_kernel(x_ptr, out_ptr, exposure, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offsets < n
    x = tl.load(x_ptr + offsets, live) * exposure
    # The fit of the ACES film curve by K. Narkowicz, "ACES Filmic Tone Mapping Curve" (2016).
    y = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    tl.store(out_ptr + offsets, tl.minimum(tl.maximum(y, 0.0), 1.0), live)


@triton_op("demo::film_curve", mutates_args=())
def film_curve(x: Tensor, exposure: float) -> Tensor:
    """How film darkens with light: a toe, a straight part, a shoulder."""
    out = opweave.empty_like(x)
    n = x.numel()
    wrap_triton(film_curve_kernel)[(triton.cdiv(n, 1024),)](x, out, exposure, n, BLOCK=1024)
    return out


# --- a function that uses them


def develop(photo: Tensor, weights: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """uint8[3, H, W] -> float32[3, H, W]: the full range of tones, filmic, more colourful, darker corners."""
    black, white = levels(photo)
    light = ((photo / 255 - black) / (white - black)).clamp(0, 1)
    film = film_curve(light * light, 0.9)  # from the tones of a screen to light, and back below
    gray = (film * weights).sum(0, keepdim=True)
    colour = (gray + 1.3 * (film - gray)).clamp(0, 1).sqrt()
    return colour * (1 - 0.3 * (down * down + across * across))


def develop_numpy(photo: Any, weights: Any, down: Any, across: Any) -> Any:
    """The same, by hand."""
    black, white = find_levels(photo, 0.01)
    light = np.clip((photo.astype(np.float32) / 255 - black) / (white - black), 0, 1)
    x = light * light * 0.9
    film = np.clip(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0, 1)
    gray = (film * weights).sum(0, keepdims=True)
    colour = np.sqrt(np.clip(gray + 1.3 * (film - gray), 0, 1))
    return colour * (1 - 0.3 * (down * down + across * across))


# --- what is printed


class Collector(logging.Handler):
    """Keeps what the compiler tells on its log channels, so that it can be shown in its place."""

    def __init__(self, *channels: str):
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        for name in channels:
            logger = logging.getLogger(f"opweave.{name}")
            logger.setLevel(logging.DEBUG)
            logger.propagate = False
            logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Called by `logging` with each message."""
        self.texts.setdefault(record.name.removeprefix("opweave."), []).append(record.getMessage())

    def show(self, channel: str) -> None:
        """Print a channel's messages."""
        print("\n\n".join(text.strip("\n") for text in self.texts.get(channel, ["(nothing)"])))


def heading(text: str) -> None:
    """A line across the page."""
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}── {text} {'─' * (114 - len(text))}{plain}\n")


def print_pictures(*pictures: Any) -> None:
    """Gray pictures of characters, side by side."""
    rows = []
    for picture in pictures:
        gray = np.asarray(picture, np.float32).mean(0)
        height, width = gray.shape
        cells = gray[: height // 24 * 24, : width // 56 * 56].reshape(24, height // 24, 56, width // 56).mean((1, 3))
        ramp = np.array(list(" .:-=+*#%@"))
        tones = (np.clip(cells / gray.max(), 0, 0.999) * len(ramp)).astype(int)
        rows.append(["".join(ramp[line]) for line in tones])
    for lines in zip(*rows, strict=True):
        print("   ".join(lines))


def median_ms(
    calls: dict[str, Callable[[], Any]], synchronize: Callable[[], None], rounds: int = 21
) -> dict[str, float]:
    """Milliseconds a call, medians over rounds in which everyone has a turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            synchronize()
            start = time.perf_counter()
            call()
            synchronize()
            times[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def load_photo(path: Path | None) -> Any:
    """uint8[3, H, W], planes first; by default a photograph of the Summer Palace in Beijing that scikit-learn ships."""
    if path is not None:
        photo = np.load(path)
    else:
        from sklearn.datasets import load_sample_image

        photo = load_sample_image("china.jpg")
    return np.ascontiguousarray(np.moveaxis(photo, -1, 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--photo", type=Path, help=".npy file with uint8[H, W, 3]")
    parser.add_argument("--save", type=Path, help="write the result to this .npy file, as uint8[H, W, 3]")
    options = parser.parse_args()

    image = load_photo(options.photo)
    height, width = image.shape[1:]
    arrays = (
        image,
        np.array([0.2126, 0.7152, 0.0722], np.float32).reshape(3, 1, 1),  # luminance of ITU-R BT.709
        np.linspace(-1, 1, height, dtype=np.float32).reshape(height, 1),
        np.linspace(-1, 1, width, dtype=np.float32),
    )
    inputs = [opweave.from_numpy(array).to(options.device) for array in arrays]

    heading("two ops, registered")
    for op in (opweave.ops.demo.levels.default, opweave.ops.demo.film_curve.default):
        print(op._schema)

    compiled = opweave.compile(develop)
    told = Collector("graph", "fusion", "code")
    start = time.perf_counter()
    result = compiled(*inputs)
    first = time.perf_counter() - start
    heading(f"the graph of develop(), traced on {options.device}")
    told.show("graph")
    heading("what became one kernel, and what did not")
    told.show("fusion")
    heading("the code it became")
    told.show("code")

    developed = result.cpu().numpy()
    heading(f"a photograph of {width} x {height}, before and after")
    print_pictures(image, developed)

    heading("checked and timed")
    difference = float(np.abs(developed - develop_numpy(*arrays)).max())
    print(f"{'largest difference from NumPy':<32}{difference:.1e} (of 1)")
    if not difference < 1e-3:
        sys.exit("the results differ")
    print(f"{'tracing and compiling':<32}{first * 1e3:.0f} ms, once")
    synchronize = inputs[0].device.xp.cuda.Device().synchronize if options.device != "cpu" else (lambda: None)
    calls = {
        "NumPy": lambda: develop_numpy(*arrays),
        "opweave, eager": lambda: develop(*inputs),
        "opweave, compiled": lambda: compiled(*inputs),
        "levels() alone, part of each": lambda: levels(inputs[0]),
    }
    times = median_ms(calls, synchronize)
    for name, milliseconds in times.items():
        print(f"{name:<32}{milliseconds:.2f} ms a call")
    print(f"{'compiled beside NumPy':<32}{times['NumPy'] / times['opweave, compiled']:.1f} times as fast")

    if options.save:
        np.save(options.save, np.moveaxis((developed.clip(0, 1) * 255).round().astype(np.uint8), 0, -1))
        print(f"written to {options.save}")


if __name__ == "__main__":
    main()
