"""Differentiation: `backward`, `grad`, `Function`, grad modes, and checks of gradients, under the names of
`torch.autograd`.
"""

from __future__ import annotations

import importlib
import sys

from opweave.registry.autograd import forward_ad, function, functional, graph_names as graph
from opweave.registry.autograd.anomaly import detect_anomaly, set_detect_anomaly
from opweave.registry.autograd.engine import backward, grad
from opweave.registry.autograd.function import Function
from opweave.registry.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from opweave.registry.autograd.mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "Function", "GradcheckError", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function", "functional",
    "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly",
    "set_grad_enabled",
]  # fmt: skip

# So that `from opweave.autograd.graph import Node` works, too.
_FILES = {"graph": "graph_names", "anomaly_mode": "anomaly"}
for _name in ("anomaly_mode", "forward_ad", "function", "functional", "graph", "gradcheck"):
    _file = _FILES.get(_name, _name)
    sys.modules[f"{__name__}.{_name}"] = importlib.import_module(f"opweave.registry.autograd.{_file}")


def __dir__() -> list[str]:
    return sorted(__all__)
