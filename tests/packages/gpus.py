"""What packages ask of a GPU when they are imported, answered for the CPU's Triton backend.

FlagGems and gemlite ask for the name and the capability of a GPU at import, and fail without one, as they do
beside PyTorch. Their kernels are Triton's and run on the CPU, so a user who wants that says what they are to be told.
"""

from __future__ import annotations

import os
from types import SimpleNamespace

import torch


def answer(count: int = 1) -> None:
    """Answer as so many GPUs of compute capability 8.0 would, to packages that are imported from now on."""
    os.environ.setdefault("GEMS_VENDOR", "nvidia")
    torch.cuda.get_device_capability = lambda device=None: (8, 0)
    torch.cuda.device_count = lambda: count
    torch.cuda.get_device_name = lambda device=None: "CPU"
    torch.cuda.get_device_properties = lambda device=None: SimpleNamespace(
        name="CPU", major=8, minor=0, multi_processor_count=os.cpu_count(), total_memory=1 << 34,
        shared_memory_per_block_optin=1 << 17, warp_size=32,
    )  # fmt: skip
