"""Products through `aten` beside PyTorch's: float32, bfloat16 and int8, square and with few rows.

python benchmarks/products.py --only bfloat16 --threads 1
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import sys
from typing import Any

import numpy as np
from kernels import Calls, all_of, serve

LIBRARIES: tuple[str, ...] = ("opweave", "torch")
TYPES = ("float32", "bfloat16", "int8")
SIZES = (
    (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (1, 1024, 1024), (8, 1024, 1024),
    (32, 1024, 4096),
)  # fmt: skip
#: Rows, summands, columns, by type.
WORK = {f"{dtype} {m} x {k} x {n}": (dtype, m, k, n) for dtype in TYPES for m, k, n in SIZES}


def of(library: str) -> Calls:
    """A library's products with a transposed weight, called one by one."""
    lib: Any = importlib.import_module(library)
    draw = np.random.default_rng(0)
    found: Calls = {}
    for name, (dtype, m, k, n) in WORK.items():
        if dtype == "int8":
            x, w = (lib.from_numpy(draw.integers(-128, 128, sizes).astype(np.int8)) for sizes in ((m, k), (n, k)))
            found[name] = functools.partial(lib._int_mm, x, w.t())
        else:
            arrays = [draw.standard_normal(sizes, dtype=np.float32) for sizes in ((m, k), (n, k))]
            x, w = (lib.from_numpy(array).to(getattr(lib, dtype)) for array in arrays)
            found[name] = functools.partial(lib.mm, x, w.t())
        found[name]()
    return found


def main() -> None:
    """Print seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=LIBRARIES, help="serve one in this process")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="for each product in each round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="parts of names, with commas between")
    options = parser.parse_args()
    for name in [name for name in WORK if not any(part in name for part in options.only.split(","))]:
        del WORK[name]
    if options.library:
        serve(of(options.library))
        return
    pythons, arguments = dict.fromkeys(LIBRARIES, sys.executable), ("--only", options.only)
    found = all_of(pythons, options.threads, options.rounds, options.seconds, [*WORK], __file__, arguments)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
