"""What works on parameters of any module: norms of gradients, vectors of parameters, parametrizations, sequences."""

from opweave.nn import stateless
from opweave.nn.utils import parametrizations, parametrize, rnn
from opweave.nn.utils.clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, get_total_norm
from opweave.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector",
    "parametrizations", "parametrize", "rnn", "stateless", "vector_to_parameters",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
