"""Code written for PyTorch without PyTorch: `install` makes `import torch` give opweave.

    import opweave.compat

    opweave.compat.install()
    import torch                    # opweave, under PyTorch's names
    from torch import nn

Nothing here happens by itself. Names of PyTorch's that packages touch when they are imported, and that opweave has not,
are there as placeholders: they can be imported, named in annotations, derived from and compared, and say that they are
not there when they are called. A module or a name that is in no table is missing, as anywhere.
"""

from opweave.compat.finder import install, uninstall

__all__ = ["install", "uninstall"]


def __dir__() -> list[str]:
    return sorted(__all__)
