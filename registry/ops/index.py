"""Names of ops and functions by the file of this folder that declares them; `python -m opweave.op_index` writes it.

A name is followed by the letters of its form (`registry.binding.form_of`), and has its namespace where that is not
`aten`. A name is of several files where each has overloads of it.
"""

# fmt: off
PACKETS = {
    "activation": (
        "relu/s relu_/s threshold_backward leaky_relu/s leaky_relu_/s leaky_relu_backward silu/s silu_/s silu_backward "
        "gelu/s gelu_/s gelu_backward softplus/s softplus_backward elu/s elu_/s elu_backward hardtanh/s hardtanh_/s "
        "hardtanh_backward relu6/s relu6_/s hardsigmoid/s hardsigmoid_/s hardsigmoid_backward hardswish/s hardswish_/s "
        "hardswish_backward mish/s mish_/s mish_backward selu/s celu/s threshold/s threshold_/s log_sigmoid/s "
        "hardshrink/s softshrink/s glu/s prelu/s"
    ),
    "adaptive_pooling": (
        "_adaptive_avg_pool2d/smi _adaptive_avg_pool2d_backward adaptive_avg_pool2d/smi _adaptive_avg_pool3d/smi "
        "_adaptive_avg_pool3d_backward adaptive_avg_pool3d/smi adaptive_avg_pool1d/smi adaptive_max_pool2d/smi "
        "adaptive_max_pool2d_backward adaptive_max_pool3d/smi adaptive_max_pool3d_backward adaptive_max_pool1d/smi "
        "max_unpool2d/s max_unpool3d/s"
    ),
    "arithmetic": (
        "add/s add_/s sub/s sub_/s rsub/s mul/s mul_/s div/s div_/s floor_divide/s floor_divide_/s remainder/s "
        "remainder_/s fmod/s fmod_/s pow/s pow_/s lerp/s lerp_/s addcmul/s addcmul_/s addcdiv/s addcdiv_/s gcd/s "
        "gcd_/s lcm/s lcm_/s float_power/s float_power_/s positive/s abs/s abs_/s neg/s neg_/s sign/s sign_/s square/s "
        "square_/s sgn/s sgn_/s"
    ),
    "attention": "opweave::attention opweave::attention_backward",
    "batch_normalization": "native_batch_norm _batch_norm_with_update _batch_norm_no_update batch_norm",
    "cells": "lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell bilinear",
    "cholesky_systems": "cholesky_solve/s cholesky_inverse/s",
    "columns": "im2col/s col2im/s",
    "comparison": (
        "eq/s eq_/s ne/s ne_/s lt/s lt_/s le/s le_/s gt/s gt_/s ge/s ge_/s logical_and/s logical_and_/s logical_or/s "
        "logical_or_/s logical_xor/s logical_xor_/s logical_not/s logical_not_/s bitwise_and/s bitwise_and_/s "
        "bitwise_or/s bitwise_or_/s bitwise_xor/s bitwise_xor_/s bitwise_not/s bitwise_not_/s isnan/s isinf/s "
        "isfinite/s signbit/s isposinf/s isneginf/s bitwise_left_shift/s bitwise_left_shift_/s bitwise_right_shift/s "
        "bitwise_right_shift_/s isclose/s allclose/s equal/s"
    ),
    "complexes": (
        "angle/s complex polar isreal/s view_as_real/s view_as_complex/s conj_physical/s conj_physical_/s real/s "
        "imag/s"
    ),
    "convolution": (
        "convolution opweave::convolution_weight convolution_backward conv1d conv_transpose1d conv2d conv_transpose2d "
        "conv3d conv_transpose3d"
    ),
    "copies": "clone/s lift_fresh_copy/s _to_copy/sp fill/s fill_/s zero/s zero_/s copy/s copy_/s",
    "creation": (
        "empty/pf empty_strided/pmi empty_like/sp full/p full_like/sp zeros/pf ones/pf zeros_like/sp ones_like/sp "
        "new_empty/spmi new_zeros/spmi new_ones/spmi new_full/sp new_empty_strided/sp scalar_tensor/p arange/p "
        "linspace/p eye/p logspace/p"
    ),
    "cross_entropy": "nll_loss_forward/sn nll_loss_backward nll_loss/s nll_loss_nd/s cross_entropy_loss/s",
    "ctc": "_ctc_loss _ctc_loss_backward ctc_loss",
    "cumulative": (
        "cumsum/s cumsum_/s cumprod/s cumprod_/s cummax/sn cummin/sn logcumsumexp/s diff/s trapezoid trapz "
        "cumulative_trapezoid"
    ),
    "diagonals": (
        "diagonal/s diagonal_backward tril/s tril_/s triu/s triu_/s diag_embed/s diagflat/s diag/s diagonal_scatter/s "
        "trace/s tril_indices/p triu_indices/p"
    ),
    "distance": (
        "linalg_vector_norm/s dist/s pairwise_distance cosine_similarity _cdist_forward _cdist_backward cdist "
        "_pdist_forward/s _pdist_backward pdist/s"
    ),
    "draws": "poisson/s binomial _standard_gamma/s _standard_gamma_grad/s _sample_dirichlet/s",
    "dropout": (
        "dropout native_dropout feature_dropout feature_dropout_/s alpha_dropout alpha_dropout_/s "
        "feature_alpha_dropout feature_alpha_dropout_/s dropout_/s renorm/s renorm_/s embedding_renorm_/s"
    ),
    "elementary": (
        "atan2/s atan2_/s logaddexp/s xlogy/s xlogy_/s heaviside/s heaviside_/s hypot/s hypot_/s logaddexp2/s "
        "special_xlog1py/s special_xlogy/s exp/s exp_/s exp2/s exp2_/s expm1/s expm1_/s sin/s sin_/s cos/s cos_/s "
        "tan/s tan_/s atan/s atan_/s sinh/s sinh_/s cosh/s cosh_/s asinh/s asinh_/s log/s log_/s log2/s log2_/s "
        "log10/s log10_/s log1p/s log1p_/s sqrt/s sqrt_/s rsqrt/s rsqrt_/s reciprocal/s reciprocal_/s asin/s asin_/s "
        "acos/s acos_/s atanh/s atanh_/s acosh/s acosh_/s sigmoid/s sigmoid_/s tanh/s tanh_/s sigmoid_backward "
        "tanh_backward deg2rad/s deg2rad_/s rad2deg/s rad2deg_/s sinc/s sinc_/s logit/s logit_/s"
    ),
    "embedding": "embedding embedding_dense_backward _embedding_bag embedding_bag",
    "factorizations": (
        "linalg_cholesky_ex/sn linalg_cholesky/s cholesky/s linalg_qr/n qr/sn geqrf/sn linalg_householder_product "
        "orgqr/s ormqr/s linalg_lu_factor_ex/n linalg_lu_factor/n lu_unpack/n linalg_lu/n"
    ),
    "facts": (
        "fill_diagonal_/s empty_permuted/pmi as_strided_scatter/s nonzero_static/s _safe_softmax/s "
        "native_dropout_backward _unsafe_masked_index/s _unsafe_masked_index_put_accumulate/s _chunk_cat chain_matmul "
        "frobenius_norm/s nuclear_norm/s hash_tensor/smi"
    ),
    "fills": (
        "exponential/s exponential_/s cauchy/s cauchy_/s log_normal/s log_normal_/s geometric/s geometric_/s random/s "
        "random_/s bernoulli/s bernoulli_/s"
    ),
    "floats": (
        "floor/s floor_/s ceil/s ceil_/s trunc/s trunc_/s round/s round_/s copysign/s copysign_/s frac/s frac_/s "
        "ldexp/s ldexp_/s _mantissa/s _exponent/s frexp/sn nextafter/s nextafter_/s"
    ),
    "foreach": (
        "_foreach_abs/l _foreach_abs_ _foreach_acos/l _foreach_acos_ _foreach_asin/l _foreach_asin_ _foreach_atan/l "
        "_foreach_atan_ _foreach_ceil/l _foreach_ceil_ _foreach_cos/l _foreach_cos_ _foreach_cosh/l _foreach_cosh_ "
        "_foreach_erf/l _foreach_erf_ _foreach_erfc/l _foreach_erfc_ _foreach_exp/l _foreach_exp_ _foreach_expm1/l "
        "_foreach_expm1_ _foreach_floor/l _foreach_floor_ _foreach_frac/l _foreach_frac_ _foreach_lgamma/l "
        "_foreach_lgamma_ _foreach_log/l _foreach_log_ _foreach_log10/l _foreach_log10_ _foreach_log1p/l "
        "_foreach_log1p_ _foreach_log2/l _foreach_log2_ _foreach_neg/l _foreach_neg_ _foreach_reciprocal/l "
        "_foreach_reciprocal_ _foreach_round/l _foreach_round_ _foreach_rsqrt/l _foreach_rsqrt_ _foreach_sigmoid/l "
        "_foreach_sigmoid_ _foreach_sign/l _foreach_sign_ _foreach_sin/l _foreach_sin_ _foreach_sinh/l _foreach_sinh_ "
        "_foreach_sqrt/l _foreach_sqrt_ _foreach_tan/l _foreach_tan_ _foreach_tanh/l _foreach_tanh_ _foreach_trunc/l "
        "_foreach_trunc_ _foreach_zero_ _foreach_clone/l _foreach_add/l _foreach_add_ _foreach_sub/l _foreach_sub_ "
        "_foreach_mul/l _foreach_mul_ _foreach_div/l _foreach_div_ _foreach_clamp_min/l _foreach_clamp_min_ "
        "_foreach_clamp_max/l _foreach_clamp_max_ _foreach_maximum/l _foreach_maximum_ _foreach_minimum/l "
        "_foreach_minimum_ _foreach_pow/l _foreach_pow_ _foreach_copy_ _foreach_mm/l _foreach_addcmul/l "
        "_foreach_addcmul_ _foreach_addcdiv/l _foreach_addcdiv_ _foreach_lerp/l _foreach_lerp_ _foreach_max/l "
        "_foreach_norm/l _foreach_powsum/l"
    ),
    "fourier": "_fft_c2c/s _fft_r2c/s _fft_c2r/s",
    "gaussian": "special_erfcx/s special_log_ndtr/s special_entr/s",
    "grid_sampling": "grid_sampler_2d grid_sampler_3d grid_sampler grid_sampler_2d_backward grid_sampler_3d_backward",
    "histograms": (
        "histogram/sn _histogramdd_bin_edges/slmi _histogramdd_from_bin_tensors/s _histogramdd_from_bin_cts/smi "
        "histogramdd/sn"
    ),
    "indexing": "index/s index_put/s index_put_/s index_select/s gather/s take_along_dim/s take/s put/s put_/s",
    "integer_products": "_int_mm/s",
    "joining": (
        "cat concat stack hstack vstack dstack broadcast_tensors/l atleast_1d/sl atleast_2d/sl atleast_3d/sl "
        "column_stack row_stack block_diag meshgrid/l cartesian_prod combinations/s"
    ),
    "layer_normalization": "native_layer_norm native_layer_norm_backward layer_norm rms_norm",
    "linear": "matmul/s linear outer/s",
    "linear_systems": (
        "linalg_solve_ex/n linalg_solve linalg_solve_triangular/s triangular_solve/sn linalg_lu_solve lu_solve/s "
        "linalg_inv_ex/n linalg_inv inverse/s linalg_det det/s linalg_slogdet/n slogdet/sn logdet/s linalg_lstsq/sn"
    ),
    "losses": (
        "l1_loss/s smooth_l1_loss/s huber_loss/s mse_loss/s binary_cross_entropy/s binary_cross_entropy_with_logits/s "
        "kl_div/s poisson_nll_loss soft_margin_loss/s hinge_embedding_loss/s margin_ranking_loss triplet_margin_loss "
        "cosine_embedding_loss one_hot/s"
    ),
    "matmul": "mm/s bmm/s mv/s dot/s addmm/s addmm_/s addmv/s addmv_/s baddbmm/s baddbmm_/s opweave::batched_mm/s",
    "matrix_functions": (
        "linalg_norm/s linalg_matrix_norm/s linalg_cond/s linalg_matrix_rank/s linalg_pinv/s pinverse/s "
        "linalg_matrix_exp/s matrix_exp/s linalg_matrix_power/s matrix_power/s linalg_tensorinv/s linalg_tensorsolve/s "
        "linalg_matmul/s linalg_vecdot linalg_cross/s linalg_multi_dot linalg_vander linalg_diagonal"
    ),
    "normalization": (
        "native_group_norm native_group_norm_backward group_norm _native_batch_norm_legit opweave::batch_norm_backward "
        "_native_batch_norm_legit_no_training"
    ),
    "other_names": (
        "special_expit/s special_exp2/s special_expm1/s special_erf/s special_erfc/s special_erfinv/s "
        "special_gammaln/s special_digamma/s special_psi/s special_log1p/s special_sinc/s special_gammainc/s "
        "special_gammaincc/s special_logit/s special_multigammaln/s special_polygamma special_logsumexp/s "
        "special_round/s special_softmax/s special_log_softmax/s special_ndtr/s alias_copy/s as_strided_copy/s "
        "detach_copy/s diagonal_copy/s expand_copy/smi narrow_copy/s permute_copy/smi select_copy/s slice_copy/s "
        "split_copy/sl split_with_sizes_copy/sl squeeze_copy/sm t_copy/s transpose_copy/s unbind_copy/sl unfold_copy/s "
        "unsqueeze_copy/s view_copy/smi view_as_complex_copy/s view_as_real_copy/s unsafe_split/sl "
        "unsafe_split_with_sizes/sl unsafe_chunk/sl reshape_as/s sum_to_size/smi conj/s resolve_conj/s resolve_neg/s"
    ),
    "padding": (
        "constant_pad_nd/s reflection_pad1d/smi reflection_pad1d_backward reflection_pad2d/smi "
        "reflection_pad2d_backward reflection_pad3d/smi reflection_pad3d_backward replication_pad1d/smi "
        "replication_pad1d_backward replication_pad2d/smi replication_pad2d_backward replication_pad3d/smi "
        "replication_pad3d_backward _pad_circular/smi pad/s"
    ),
    "philox": "opweave::philox_key opweave::philox_uniform opweave::philox_normal opweave::philox_bits",
    "pooling": (
        "max_pool2d_with_indices/s max_pool2d_with_indices_backward max_pool2d/s max_pool3d_with_indices/s "
        "max_pool3d_with_indices_backward max_pool3d/s avg_pool2d/s avg_pool2d_backward avg_pool3d/s "
        "avg_pool3d_backward avg_pool1d/s"
    ),
    "products": "einsum kron/s tensordot/s inner/s vdot/s ger/s cross/s vander addr/s addbmm/s addr_/s addbmm_/s",
    "random": (
        "rand/pf rand_like/sp randn/pf randn_like/sp randint/pm randint_like/sp randperm/p bernoulli/s normal/p "
        "normal_functional/s uniform/s multinomial/s bernoulli_/s normal_/s uniform_/s"
    ),
    "rearranging": (
        "repeat/smi tile/smi flip/smi roll/s fliplr/s flipud/s rot90/s pixel_shuffle/s pixel_unshuffle/s "
        "channel_shuffle/s repeat_interleave/s"
    ),
    "recurrent": "opweave::lstm_cell opweave::lstm_cell_backward opweave::gru_cell opweave::gru_cell_backward",
    "recurrent_layers": (
        "opweave::lstm_layer opweave::lstm_layer_outputs opweave::lstm_layer_backward opweave::gru_layer "
        "opweave::gru_layer_outputs opweave::gru_layer_backward opweave::rnn_layer opweave::rnn_layer_backward"
    ),
    "reduction": (
        "sum/s mean/s prod/s amax/s amin/s max/sn min/sn any/s all/s argmax/s argmin/s aminmax/sn logsumexp/s "
        "count_nonzero/smi nansum/s nanmean/s"
    ),
    "resample": "upsample_nearest2d/s upsample_bilinear2d/s",
    "resample_filters": "upsample_bicubic2d/s _upsample_bilinear2d_aa/s _upsample_bicubic2d_aa/s",
    "reshape": (
        "view/smi _unsafe_view/smi reshape/smi to_dense/s contiguous/s flatten/s ravel/s unflatten/s view_as/s "
        "unfold/s unfold_backward"
    ),
    "scatter": (
        "scatter/s scatter_/s scatter_add/s scatter_add_/s scatter_reduce/s scatter_reduce_/s index_add/s index_copy/s "
        "index_fill/s index_reduce/s index_add_/s index_copy_/s index_fill_/s index_reduce_/s"
    ),
    "segments": "segment_reduce _segment_reduce_backward",
    "selection": (
        "maximum/s minimum/s fmax/s fmin/s where/sl masked_fill/s masked_fill_/s clamp/s clamp_/s clamp_min/s "
        "clamp_max/s nan_to_num/s nan_to_num_/s clamp_min_/s clamp_max_/s nonzero/s masked_select/s masked_scatter/s "
        "masked_scatter_/s masked_scatter_backward argwhere/s nonzero_numpy/sl"
    ),
    "sizes": (
        "sym_size/s sym_stride/s sym_storage_offset/s sym_numel/s sym_is_contiguous/s _local_scalar_dense/s "
        "_assert_scalar"
    ),
    "slicing": (
        "select/s slice/s narrow/s split_with_sizes/sl split/sl chunk/sl tensor_split/sl unbind/sl select_backward "
        "slice_backward select_scatter/s slice_scatter/s hsplit/slm vsplit/slm dsplit/slm"
    ),
    "softmax": (
        "_softmax/s _log_softmax/s _softmax_backward_data _log_softmax_backward_data softmax/s log_softmax/s "
        "scaled_dot_product_attention"
    ),
    "sorting": (
        "sort/sn argsort/s msort/s topk/sn kthvalue/sn searchsorted bucketize _unique2/s unique_dim/s "
        "unique_consecutive/s isin"
    ),
    "special": (
        "erf/s erf_/s erfc/s erfc_/s erfinv/s erfinv_/s lgamma/s lgamma_/s digamma/s digamma_/s polygamma polygamma_/s "
        "i0/s i0_/s special_i0e/s special_i1/s special_i1e/s special_i0/s"
    ),
    "special_library": (
        "special_airy_ai special_bessel_j0/s special_bessel_j1/s special_bessel_y0/s special_bessel_y1/s "
        "special_modified_bessel_i0/s special_modified_bessel_i1/s special_modified_bessel_k0/s "
        "special_modified_bessel_k1/s special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 "
        "special_spherical_bessel_j0 special_ndtri/s special_zeta/s igamma/s igammac/s igamma_/s igammac_/s mvlgamma/s "
        "mvlgamma_/s special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
        "special_chebyshev_polynomial_w special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
        "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_hermite_polynomial_h "
        "special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p"
    ),
    "spectra": (
        "_linalg_eigh/n linalg_eigh/sn linalg_eigvalsh/s linalg_eig/sn _linalg_eigvals/s linalg_eigvals/s "
        "_linalg_svd/n linalg_svd/n linalg_svdvals svd/sn linalg_ldl_factor_ex/sn linalg_ldl_factor/sn "
        "linalg_ldl_solve"
    ),
    "statistics": (
        "var/sm std/sm var_mean/sm std_mean/sm median/sn nanmedian/sn quantile/s nanquantile/s mode/sn cov/s "
        "corrcoef/s histc/s bincount/s"
    ),
    "view": (
        "permute/smi transpose/s t/s numpy_T/s mT/s mH/s adjoint/s matrix_H/s swapaxes/s swapdims/s movedim/s "
        "expand/smi expand_as/s broadcast_to/smi squeeze/sm unsqueeze/s alias/s detach/s as_strided/s t_/s "
        "transpose_/s swapaxes_/s swapdims_/s unsqueeze_/s squeeze_/sm as_strided_/s resize_/smi resize_as_/s"
    ),
    "windowing": "hann_window/p hamming_window/p blackman_window/p bartlett_window/p kaiser_window/p stft/s istft/s",
}

#: Functions of the package that are no ops.
FUNCTIONS = {
    "approximations": "gradient svd_lowrank pca_lowrank",
    "distance": "cdist",
    "facts": "is_floating_point is_complex can_cast chain_matmul",
    "foreach": (
        "_foreach_zero_ _foreach_copy_ _foreach_abs_ _foreach_acos_ _foreach_asin_ _foreach_atan_ _foreach_ceil_ "
        "_foreach_cos_ _foreach_cosh_ _foreach_erf_ _foreach_erfc_ _foreach_exp_ _foreach_expm1_ _foreach_floor_ "
        "_foreach_frac_ _foreach_lgamma_ _foreach_log_ _foreach_log10_ _foreach_log1p_ _foreach_log2_ _foreach_neg_ "
        "_foreach_reciprocal_ _foreach_round_ _foreach_rsqrt_ _foreach_sigmoid_ _foreach_sign_ _foreach_sin_ "
        "_foreach_sinh_ _foreach_sqrt_ _foreach_tan_ _foreach_tanh_ _foreach_trunc_ _foreach_add_ _foreach_sub_ "
        "_foreach_mul_ _foreach_div_ _foreach_clamp_min_ _foreach_clamp_max_ _foreach_maximum_ _foreach_minimum_ "
        "_foreach_pow_ _foreach_addcmul_ _foreach_addcdiv_ _foreach_lerp_"
    ),
    "indexing": "unravel_index",
    "joining": (
        "atleast_1d atleast_2d atleast_3d block_diag cartesian_prod meshgrid broadcast_tensors broadcast_shapes"
    ),
    "products": "einsum tensordot",
}

#: Methods of `Tensor` that are no ops, which are functions of the package, too.
METHODS = {
    "comparison": "isclose allclose equal",
    "distance": "norm",
    "factorizations": "lu",
    "facts": "is_signed is_conj is_neg is_nonzero is_same_size",
    "selection": "nonzero",
    "sorting": "unique unique_consecutive",
    "windowing": "stft",
}
