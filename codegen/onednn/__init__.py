"""Convolutions by oneDNN, as an extra: `pip install opweave[onednn]` (`docs/decisions/0027-onednn-is-an-extra.md`).

Opweave's own native code makes each convolution, and where the library is installed it is asked, too: a convolution of
some sizes is made by both, once, with one thread, and by the faster one from then on. What was found is kept with the
cache, as what tuning finds. So results do not depend on the number of threads, and a file may fix the choices
(`codegen/winners.py`). A process measures for some seconds at most, of large batches a part; sizes that come later are
made by own code. With `OPWEAVE_ONEDNN=0` the library is left alone, with `always` it makes all that it can.

`choice` measures, `library` is the library's interface, and its primitives are parts of plans (`plans`), which native
code runs on opweave's pool (`native/onednn.ll`).
"""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

_FILE = "libdnnl.so.3"


def where() -> Path | None:
    """The library's file, where the extra is installed and not switched off."""
    if _setting() in ("0", "off", "false", "no"):
        return None
    # Where wheels put data, in an environment of its own or beside it; Debian's Python has a place for pip's.
    for prefix in dict.fromkeys((sys.prefix, site.getuserbase(), sys.base_prefix, f"{sys.base_prefix}/local")):
        path = Path(prefix, "lib", _FILE)
        if path.exists():
            return path
    return None


def is_forced() -> bool:
    """Whether it is to make all that it can, whatever takes how long."""
    return _setting() == "always"


def _setting() -> str:
    return os.environ.get("OPWEAVE_ONEDNN", "1").lower()
