"""Signals: `opweave.signal.windows`."""

from opweave.signal import windows as windows

__all__ = ["windows"]
