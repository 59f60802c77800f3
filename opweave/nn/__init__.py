"""Functions of neural networks; `functional` is all there is."""

from opweave.nn import functional

__all__ = ["functional"]
