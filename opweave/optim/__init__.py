"""Optimizers: classes under the names of `torch.optim`, schedules in `lr_scheduler`, averages of
weights in `swa_utils`, and plain functions on pytrees.

    optimizer = optim.AdamW(model.parameters(), lr=1e-3)

    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

The functions write parameters in place, given gradients and a state, and so suit a training step that is compiled as a
whole: see `adam_`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opweave.optim.functional import AdamState, SgdState, adam_, adam_init, adamw_, sgd_, sgd_init
from opweave.registry.loading import load_heavy

if TYPE_CHECKING:
    from opweave.optim import lr_scheduler, swa_utils
    from opweave.optim.adaptive import Adam, Adamax, AdamW, NAdam, RAdam
    from opweave.optim.descent import ASGD, SGD, Adadelta, Adagrad, RMSprop, Rprop
    from opweave.optim.factored import Adafactor, Muon, SparseAdam
    from opweave.optim.lbfgs import LBFGS
    from opweave.optim.optimizer import Optimizer

_WHERE = {
    **dict.fromkeys(("Adam", "AdamW", "Adamax", "NAdam", "RAdam"), "adaptive"),
    **dict.fromkeys(("ASGD", "SGD", "Adadelta", "Adagrad", "RMSprop", "Rprop"), "descent"),
    **dict.fromkeys(("Adafactor", "Muon", "SparseAdam"), "factored"),
    "LBFGS": "lbfgs",
    "Optimizer": "optimizer",
    "lr_scheduler": "lr_scheduler",
    "swa_utils": "swa_utils",
}

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamState", "AdamW", "Adamax", "Muon", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "SgdState", "SparseAdam", "adam_", "adam_init", "adamw_", "lr_scheduler",
    "sgd_", "sgd_init", "swa_utils",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'opweave.optim' has no attribute {name!r}")
    module = load_heavy(f"opweave.optim.{_WHERE[name]}")
    found = globals()[name] = module if name == _WHERE[name] else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
