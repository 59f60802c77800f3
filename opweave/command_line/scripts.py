"""`opweave run`: a script, as `python script.py` would run it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from opweave.registry.errors import ArgumentError


def run(given: argparse.Namespace) -> int:
    """Run the script in the place of this process."""
    if not Path(given.script).is_file():
        raise ArgumentError("run: there is no such file", got=given.script)
    environment = dict(os.environ)
    if given.sanitize:
        environment["OPWEAVE_SANITIZE"] = "1"
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, given.script, *given.arguments], environment)
