"""Where the folders are that a user names in the environment."""

from __future__ import annotations

import os
from pathlib import Path

_started_in: str | None = None


def note_start() -> None:
    """Take the working folder for the one in which the process started; call it once, early."""
    global _started_in
    try:
        _started_in = os.getcwd()
    except OSError:  # it was removed
        _started_in = None


def absolute(folder: str) -> Path | None:
    """Where a configured folder is, whatever folder the process has gone to since it started.

    Parameters
    ----------
    folder : str
        As the user named it; it may be relative.

    Returns
    -------
    Path or None
        None if that is nowhere: an empty name, an unknown home, a working folder that was gone from the start.
    """
    found = os.path.expanduser(folder)
    if not found or found.startswith("~"):
        return None
    if os.path.isabs(found):
        return Path(found)
    return None if _started_in is None else Path(_started_in, found)
