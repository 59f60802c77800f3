"""Modules are loaded without a search for garbage, which is found later all the same."""

import subprocess
import sys

import pytest

PROGRAM = """
import gc, weakref
from opweave.registry.loading import uncollected

class Node:
    pass

def ring():
    node = Node()
    node.itself = node
    return weakref.ref(node)

gc.collect()
before = ring()
if FROZEN:
    gc.freeze()
frozen, searches = gc.get_freeze_count(), []
with uncollected():
    within = ring()
    kept = [[] for _ in range(100_000)]
    gc.callbacks.append(lambda phase, info: searches.append(phase))
more = [[] for _ in range(500)]
assert gc.isenabled() and gc.get_freeze_count() == frozen
assert FROZEN or not searches, searches
gc.collect()
assert within() is None
assert (before() is None) is not FROZEN
"""


@pytest.mark.parametrize("frozen", [False, True])
def test_what_is_made_meanwhile_is_neither_searched_nor_kept(frozen: bool):
    """What somebody keeps frozen stays so."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("FROZEN", str(frozen))],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
