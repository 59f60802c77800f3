"""Times Triton's tutorial kernels in one mode: natively on opweave's tensors, or in Triton's interpreter on PyTorch's.

`run.py` starts it once for each mode; `TRITON_INTERPRET=1` chooses the interpreter.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def cases(wrap: Callable[[np.ndarray], Any]) -> dict[str, Callable[[], None]]:
    """The launches by name, on data that `wrap` turns into tensors."""
    import triton_tutorials as tutorials

    rng = np.random.default_rng(0)

    def data(*sizes: int) -> Any:
        return wrap(rng.standard_normal(sizes).astype(np.float32))

    vectors = [data(1 << 20) for _ in range(3)]
    matrices = [data(1024, 1024) for _ in range(2)]
    factors = [data(512, 512) for _ in range(3)]
    rows = [data(1024, 1024), data(1024), data(1024), data(1024, 1024), data(1024), data(1024)]
    return {
        "vector add 1M": lambda: tutorials.vector_add(*vectors),
        "softmax 1024x1024": lambda: tutorials.softmax(*matrices, programs=64),
        "matmul 512": lambda: tutorials.matmul(*factors),
        "layer norm 1024x1024": lambda: tutorials.layer_norm(*rows, block=1024),
    }


def main() -> None:
    """Print the median seconds of each launch as JSON."""
    if INTERPRETED:
        import torch

        wrap: Callable[[np.ndarray], Any] = torch.from_numpy
    else:
        import opweave

        wrap = opweave.from_numpy
    found = {}
    for name, launch in cases(wrap).items():
        launch()
        times = []
        for _ in range(3 if INTERPRETED else 50):
            start = time.perf_counter()
            launch()
            times.append(time.perf_counter() - start)
        found[name] = statistics.median(times)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
