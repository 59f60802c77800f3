"""`op_` and `out=` variants of ops that are not pointwise (those are declared with theirs).

A variant computes what its functional op does and writes that into memory it is given; nothing is resized. Those of
`OUT` are functional ops in compiled graphs; those of `OUTS`, with several results or other names, stay calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry.errors import UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite, declare_inplace, declare_out, declare_outs
from opweave.registry.tensor import Tensor, describe

#: By op, for each overload that of its `out=` variant.
OUT = {
    "sum": {"default": "out", "dim_IntList": "IntList_out"},
    "mean": {"default": "dtype_out", "dim": "out"},
    "prod": {"default": "out", "dim_int": "int_out"},
    "var": {"correction": "correction_out"},
    "std": {"correction": "correction_out"},
    "amax": {"default": "out"},
    "amin": {"default": "out"},
    "max": {"default": "unary_out"},
    "min": {"default": "unary_out"},
    "argmax": {"default": "out"},
    "argmin": {"default": "out"},
    "any": {"default": "all_out", "dim": "out", "dims": "dims_out"},
    "all": {"default": "all_out", "dim": "out", "dims": "dims_out"},
    "cumsum": {"default": "out"},
    "mm": {"default": "out"},
    "bmm": {"default": "out"},
    "addmm": {"default": "out"},
    "cat": {"default": "out"},
    "flip": {"default": "out"},
    "repeat": {"default": "out"},
    "index": {"Tensor": "Tensor_out"},
    "index_put": {"default": "out"},
    "index_select": {"default": "out"},
    "gather": {"default": "out"},
    "embedding": {"default": "out"},
    "scatter": {"src": "src_out"},
    "scatter_reduce": {"two": "two_out"},
    "masked_scatter": {"default": "out"},
    "scatter_add": {"default": "out"},
    "nonzero": {"default": "out"},
    "isnan": {"default": "out"},
    "isinf": {"default": "out"},
    "clamp": {"Tensor": "Tensor_out"},
    "div": {"Tensor_mode": "out_mode"},
    "copy": {"default": "out"},
    "_softmax": {"default": "out"},
    "_log_softmax": {"default": "out"},
}

#: The same of other variants, which keep their call in graphs, with the names of what is written, if not just `out`.
OUTS = {
    "rsub": {"Tensor": "Tensor_out", "Scalar": "Scalar_out"},
    "div": {"Scalar_mode": "Scalar_mode_out"},
    "lerp": {"Scalar": "Scalar_out"},
    "where": {"self": "self_out"},
    "masked_fill": {"Scalar": "Scalar_out", "Tensor": "Tensor_out"},
    "clamp_min": {"default": "out", "Tensor": "Tensor_out"},
    "clamp_max": {"default": "out", "Tensor": "Tensor_out"},
    "max": {"dim": "dim_max max max_values"},
    "min": {"dim": "dim_min min min_indices"},
    "aminmax": {"default": "out min max"},
    "var": {"dim": "out"},
    "std": {"dim": "out"},
    "var_mean": {"correction": "correction_out out0 out1"},
    "std_mean": {"correction": "correction_out out0 out1"},
    "count_nonzero": {"dim_IntList": "dim_IntList_out", "default": "out"},
    "max_pool2d_with_indices": {"default": "out out indices"},
    "max_pool3d_with_indices": {"default": "out out indices"},
    "adaptive_max_pool2d": {"default": "out out indices"},
    "adaptive_max_pool3d": {"default": "out out indices"},
    "empty": {"memory_format": "out"},
    "arange": {"start_step": "start_out", "default": "out"},
    "eye": {"default": "out", "m": "m_out"},
    "_embedding_bag": {"default": "out out0 out1 out2 out3"},
    "xlogy": {"Scalar_Self": "OutScalar_Self", "Scalar_Other": "OutScalar_Other"},
    "scatter": {"value": "value_out", "reduce": "reduce_out", "value_reduce": "value_reduce_out"},
    "_softmax_backward_data": {"default": "out grad_input"},
    "softmax": {"int": "int_out"},
    "log_softmax": {"int": "int_out"},
    "native_dropout": {"default": "out out0 out1"},
    "_native_batch_norm_legit": {
        "default": "out out save_mean save_invstd", "no_stats": "no_stats_out out save_mean save_invstd",
    },
    "rand": {"default": "out", "generator": "generator_out"},
    "rand_like": {"default": "out", "generator": "generator_out"},
    "randn": {"default": "out", "generator": "generator_out"},
    "randn_like": {"default": "out", "generator": "generator_out"},
    "randint": {"default": "out", "generator": "generator_out", "low": "low_out", "low_generator": "low_generator_out"},
    "randint_like": {"default": "out", "low_dtype": "low_dtype_out"},
    "randperm": {"default": "out", "generator": "generator_out"},
    "bernoulli": {"default": "out"},
    "normal": {"float_float": "float_float_out"},
    "repeat_interleave": {"Tensor": "Tensor_out"},
    "upsample_nearest2d": {"default": "out", "vec": "vec_out"},
    "upsample_bilinear2d": {"default": "out", "vec": "vec_out"},
    "fill": {"Tensor": "Tensor_out"},
    "sort": {"stable": "values_stable values indices", "default": "values values indices"},
    "argsort": {"stable": "stable_out"},
    "topk": {"default": "values values indices"},
    "kthvalue": {"default": "values values indices"},
}  # fmt: skip

#: Ops with a variant `out`, beside these.
_PLAIN = """
    lift_fresh_copy _to_copy hardswish_backward celu glu logsumexp linalg_vector_norm cumprod avg_pool2d
    avg_pool3d avg_pool1d _adaptive_avg_pool2d _adaptive_avg_pool2d_backward adaptive_avg_pool2d
    _adaptive_avg_pool3d _adaptive_avg_pool3d_backward adaptive_avg_pool3d adaptive_avg_pool1d max_unpool2d
    max_unpool3d convolution im2col col2im empty_strided empty_like full full_like zeros ones zeros_like
    ones_like new_empty new_zeros new_ones new_full new_empty_strided scalar_tensor linspace logspace tril triu
    _cdist_forward _cdist_backward _pdist_forward _pdist_backward _fft_c2c _fft_r2c _fft_c2r take_along_dim
    embedding_dense_backward masked_select smooth_l1_loss huber_loss binary_cross_entropy
    binary_cross_entropy_with_logits soft_margin_loss select_backward slice_backward diagonal_backward
    select_scatter slice_scatter _unsafe_view conj_physical unfold_backward mv dot addmv baddbmm matmul linear
    outer _log_softmax_backward_data mse_loss nll_loss constant_pad_nd reflection_pad1d reflection_pad2d
    reflection_pad3d replication_pad1d replication_pad2d replication_pad3d uniform multinomial pixel_shuffle
    pixel_unshuffle channel_shuffle upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa
    grid_sampler_2d concat stack hstack vstack dstack roll msort
""".split()
#: The same of gradients, with a variant that writes `grad_input`.
_GRADIENTS = """
    sigmoid_backward tanh_backward threshold_backward leaky_relu_backward silu_backward gelu_backward
    softplus_backward elu_backward hardtanh_backward hardsigmoid_backward max_pool2d_with_indices_backward
    max_pool3d_with_indices_backward avg_pool2d_backward avg_pool3d_backward adaptive_max_pool2d_backward
    adaptive_max_pool3d_backward nll_loss_backward reflection_pad1d_backward reflection_pad2d_backward
    reflection_pad3d_backward replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward
""".split()
#: The same of ops with three results.
_THREE = """
    convolution_backward native_layer_norm native_layer_norm_backward native_group_norm
    native_group_norm_backward _native_batch_norm_legit_no_training
""".split()

#: By op, for each overload that of its in-place variant.
INPLACE = {
    "cumsum": {"default": "default"},
    "addmm": {"default": "default"},
    "scatter": {"src": "src"},
    "scatter_reduce": {"two": "two"},
    "masked_scatter": {"default": "default"},
    "scatter_add": {"default": "default"},
}

for _table, _declare in ((OUT, declare_out), (INPLACE, declare_inplace)):
    for _name, _overloads in _table.items():
        for _overload, _variant in _overloads.items():
            _declare(getattr(getattr(ops.aten, _name), _overload), _variant)

for _name, _overloads in (
    *OUTS.items(),
    *((_name, {"default": "out"}) for _name in _PLAIN),
    *((_name, {"default": "grad_input grad_input"}) for _name in _GRADIENTS),
    *((_name, {"default": "out out0 out1 out2"}) for _name in _THREE),
):
    for _overload, _variant in _overloads.items():
        _written, *_targets = _variant.split()
        declare_outs(getattr(getattr(ops.aten, _name), _overload), _written, *(_targets or ["out"]))


@composite(
    "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    tags="inplace_view",
)
def resize_(self: Tensor, size: Sequence[int], *, memory_format: Any = None) -> Tensor:
    """Refused: views, graphs and what autograd saved rely on a tensor's memory and sizes."""
    raise UnsupportedError(
        "resize_: a tensor keeps its memory and its sizes", got=describe(self),
        hint="make another: x = x.new_empty(sizes)",
    )  # fmt: skip
