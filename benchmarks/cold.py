"""Seconds from nothing to the first result of a compiled softmax; prints one JSON object. Run by `run.py`."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from typing import Any

import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=("opweave", "torch"))
    options = parser.parse_args()
    array = np.random.default_rng(0).standard_normal((64, 1024), dtype=np.float32)

    started = time.perf_counter()
    library: Any = importlib.import_module(options.library)
    imported = time.perf_counter()
    function = library.compile(lambda x, y: library.softmax(x * 2 + y, -1))
    x, y = library.from_numpy(array), library.from_numpy(array.copy())
    result = function(x, y)
    first = time.perf_counter()
    function(x, y)
    second = time.perf_counter()

    shifted = np.exp(3 * array - (3 * array).max(-1, keepdims=True))
    np.testing.assert_allclose(np.asarray(result), shifted / shifted.sum(-1, keepdims=True), rtol=1e-4, atol=1e-5)
    print(json.dumps({"import": imported - started, "first call": first - imported, "second call": second - first}))


if __name__ == "__main__":
    main()
