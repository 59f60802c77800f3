"""Neural networks under the names of `torch.nn`: modules, parameters, initial values, and functions in `functional`.

What is asked for is loaded then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opweave.registry.loading import load_heavy

if TYPE_CHECKING:
    from opweave.nn import attention, functional, init, modules, parameter, utils
    from opweave.nn.modules.activation import *
    from opweave.nn.modules.arranging import *
    from opweave.nn.modules.attention import MultiheadAttention
    from opweave.nn.modules.batchnorm import *
    from opweave.nn.modules.container import *
    from opweave.nn.modules.conv import *
    from opweave.nn.modules.dropout import *
    from opweave.nn.modules.linear import *
    from opweave.nn.modules.loss import *
    from opweave.nn.modules.module import Module
    from opweave.nn.modules.normalization import *
    from opweave.nn.modules.padding import *
    from opweave.nn.modules.pooling import *
    from opweave.nn.modules.rnn import *
    from opweave.nn.modules.sparse import *
    from opweave.nn.modules.transformer import *
    from opweave.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

#: The classes of each file of `opweave.nn.modules`.
_FILES = {
    "activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish "
    "PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink "
    "Threshold",
    "arranging": "ChannelShuffle CosineSimilarity Flatten Fold PairwiseDistance PixelShuffle PixelUnshuffle Unflatten "
    "Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "attention": "MultiheadAttention",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyBatchNorm1d "
    "LazyBatchNorm2d LazyBatchNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d "
    "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "linear": "Bilinear Identity LazyLinear Linear",
    "linear_loss": "LinearCrossEntropyLoss",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
    "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss "
    "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss "
    "TripletMarginLoss TripletMarginWithDistanceLoss",
    "module": "Module",
    "normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
    "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d",
    "pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
    "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d "
    "LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
}
_WHERE = {
    **{name: f"opweave.nn.modules.{file}" for file, names in _FILES.items() for name in names.split()},
    **dict.fromkeys(("Parameter", "Buffer", "UninitializedBuffer", "UninitializedParameter"), "opweave.nn.parameter"),
    "LinearCrossEntropyOptions": "opweave.nn.linear_cross_entropy",
}
_PARTS = frozenset({"attention", "functional", "init", "modules", "parameter", "utils"})

__all__ = [*_PARTS, *_WHERE]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        found = load_heavy(f"opweave.nn.{name}")
    elif name in _WHERE:
        found = getattr(load_heavy(_WHERE[name]), name)
    else:
        raise AttributeError(f"module 'opweave.nn' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
