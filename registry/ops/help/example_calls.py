"""Calls that docstrings show, where no sample of the declaration, and no three numbers, make a good one.

A line is `name | setup; setup | arguments`. `T(...)` is short for `opweave.tensor(...)`, and one capital letter for a
tensor that many use (see `LETTERS`). `name! | ...` shows sizes, not elements.
"""

from __future__ import annotations

LETTERS = {
    "M": "x = T([[1.0, 2.0], [3.0, 4.0]])",
    "N": "y = T([[0.0, 1.0], [1.0, 0.0]])",
    "R": "x = T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])",
    "V": "x = T([1.0, 2.0, 3.0])",
    "W": "y = T([4.0, 5.0, 6.0])",
    "U": "x = T([3.0, 1.0, 2.0])",
    "S": "x = T([[2.0, 1.0], [1.0, 3.0]])",
    "L": "x = T([[[1.0, 2.0, 3.0, 4.0]]])",
    "Q": "x = opweave.arange(16.0).view(1, 1, 4, 4)",
    "C": "x = opweave.arange(8.0).view(1, 1, 2, 2, 2)",
    "B": "x = opweave.ones(2, 2, 3)",
    "P": "y = opweave.tensor([1, 2], dtype=opweave.int32)",
    "O": "z = opweave.tensor([1, 2], dtype=opweave.int32)",
}

_TEXT = """
adaptive_avg_pool1d | L | x, 2
adaptive_avg_pool2d | Q | x, [2, 2]
adaptive_avg_pool3d | C | x, [1, 1, 1]
adaptive_max_pool1d | L | x, 2
adaptive_max_pool2d | Q | x, [2, 2]
adaptive_max_pool3d | C | x, [1, 1, 1]
add | V; W | x, y, alpha=2
addbmm | M; y = opweave.ones(3, 2, 2); z = opweave.ones(3, 2, 2) | x, y, z
addcdiv | V; W; z = T([2.0, 2.0, 2.0]) | x, y, z, value=2
addcmul | V; W; z = T([2.0, 2.0, 2.0]) | x, y, z, value=2
addmm | M; N; z = T([[1.0, 1.0], [1.0, 1.0]]) | x, y, z
addmv | x = T([1.0, 1.0]); y = T([[1.0, 2.0], [3.0, 4.0]]); z = T([1.0, 2.0]) | x, y, z
addr | M; y = T([1.0, 2.0]); z = T([1.0, 10.0]) | x, y, z
adjoint | M | x
alias | V | x
all | x = T([[True, False], [True, True]]) | x, 1
allclose | V; y = T([1.0, 2.0, 3.0001]) | x, y, atol=1e-3
alpha_dropout | V | x, 0.5, False
amax | R | x, 1
amin | R | x, 1
aminmax | R | x, dim=1
any | x = T([[True, False], [False, False]]) | x, 1
arange | | 0, 10, 3
argmax | R | x, 1
argmin | R | x, 1
argsort | U | x
argwhere | x = T([0.0, 2.0, 3.0]) | x
as_strided | V | x, [2, 2], [1, 1]
as_strided_scatter | V; y = T([8.0, 9.0]) | x, y, [2], [2]
atleast_1d | x = T(1.0) | x
atleast_2d | V | x
atleast_3d | V | x
avg_pool1d | L | x, 2
avg_pool2d | Q | x, 2
avg_pool3d | C | x, 2
baddbmm | x = opweave.zeros(2, 2, 2); y = opweave.ones(2, 2, 3); z = opweave.ones(2, 3, 2) | x, y, z
batch_norm | x = T([[1.0, 4.0], [3.0, 8.0]]) | x, None, None, None, None, True, 0.1, 1e-5, False
bernoulli | x = T([0.0, 1.0, 1.0]) | x
bilinear | x = opweave.ones(1, 2); y = opweave.ones(1, 3); z = opweave.ones(4, 2, 3) | x, y, z
binary_cross_entropy | x = T([0.2, 0.9]); y = T([0.0, 1.0]) | x, y
binary_cross_entropy_with_logits | x = T([-2.0, 3.0]); y = T([0.0, 1.0]) | x, y
bincount | x = T([0, 1, 1, 3]) | x
bitwise_and | x = T([12, 7]); y = T([10, 3]) | x, y
bitwise_left_shift | x = T([1, 3]); y = T([2, 1]) | x, y
bitwise_not | x = T([0, 5]) | x
bitwise_or | x = T([12, 7]); y = T([10, 3]) | x, y
bitwise_right_shift | x = T([8, 7]); y = T([2, 1]) | x, y
bitwise_xor | x = T([12, 7]); y = T([10, 3]) | x, y
block_diag | M; y = T([[5.0]]) | x, y
bmm | B; y = opweave.ones(2, 3, 1) | x, y
broadcast_tensors | x = T([[1], [2]]); y = T([3, 4]) | x, y
broadcast_to | V | x, [2, 3]
bucketize | x = T([1.0, 4.5, 9.0]); y = T([2.0, 4.0, 6.0]) | x, y
cartesian_prod | x = T([1, 2]); y = T([3, 4]) | x, y
cat | M; N | [x, y], 1
cauchy | V | x
cdist | x = T([[0.0, 0.0]]); y = T([[3.0, 4.0], [6.0, 8.0]]) | x, y
chain_matmul | M; N | [x, y]
channel_shuffle | x = opweave.arange(4.0).view(1, 4, 1) | x, 2
cholesky | S | x
cholesky_inverse | x = T([[2.0, 0.0], [0.5, 1.0]]) | x
cholesky_solve | x = T([[4.0], [2.0]]); y = T([[2.0, 0.0], [0.0, 1.0]]) | x, y
chunk | V | x, 2
clamp | x = T([-3.0, 0.5, 4.0]) | x, -1, 1
clamp_max | V | x, 2
clamp_min | V | x, 2
clone | V | x
col2im! | x = opweave.ones(1, 4, 4) | x, [4, 4], [2, 2], [1, 1], [0, 0], [2, 2]
column_stack | V; W | [x, y]
combinations | x = T([1, 2, 3]) | x
complex | x = T([1.0, 2.0]); y = T([0.5, -1.0]) | x, y
concat | V; W | [x, y]
conj | x = T([1 + 2j]) | x
conj_physical | x = T([1 + 2j]) | x
constant_pad_nd | V | x, [1, 2], 0.5
contiguous | M | x
to_dense | M | x
conv1d | L; y = T([[[1.0, -1.0]]]) | x, y
conv2d | Q; y = opweave.ones(1, 1, 2, 2) | x, y, stride=2
conv3d | C; y = opweave.ones(1, 1, 2, 2, 2) | x, y
conv_transpose1d | L; y = T([[[1.0, -1.0]]]) | x, y
conv_transpose2d | x = T([[[[1.0, 2.0]]]]); y = opweave.ones(1, 1, 2, 2) | x, y
conv_transpose3d | x = opweave.ones(1, 1, 1, 1, 1); y = opweave.ones(1, 1, 1, 2, 2) | x, y
convolution | L; y = T([[[1.0, -1.0]]]) | x, y, None, [1], [0], [1], False, [0], 1
copy | V; W | x, y
copysign | V; y = T([-1.0, 1.0, -0.0]) | x, y
corrcoef | x = T([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]) | x
cosine_embedding_loss | x = T([[1.0, 0.0]]); y = T([[0.0, 1.0]]); z = T([1.0]) | x, y, z
cosine_similarity | x = T([[1.0, 0.0]]); y = T([[1.0, 1.0]]) | x, y
count_nonzero | x = T([[0.0, 2.0], [3.0, 4.0]]) | x, 1
cov | x = T([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]) | x
cross | x = T([1.0, 0.0, 0.0]); y = T([0.0, 1.0, 0.0]) | x, y
ctc_loss | x = opweave.zeros(3, 1, 2).log_softmax(2); y = T([[1]]); z = T([3]); w = T([1]) | x, y, z, w
cummax | U | x, 0
cummin | U | x, 0
cumprod | V | x, 0
cumsum | V | x, 0
cumulative_trapezoid | V | x
det | M | x
detach | V | x
diag | M | x
diag_embed | x = T([1.0, 2.0]) | x
diagflat | x = T([1.0, 2.0]) | x
diagonal | M | x
diagonal_scatter | M; y = T([8.0, 9.0]) | x, y
diff | x = T([1.0, 4.0, 9.0]) | x
dist | V; W | x, y
div | x = T([7.0, -7.0]) | x, 2, rounding_mode="floor"
dot | V; W | x, y
dropout | V | x, 0.5, False
dsplit | x = T([[[1.0, 2.0]]]) | x, 2
dstack | x = T([1.0, 2.0]); y = T([3.0, 4.0]) | [x, y]
einsum | M; N | "ij,jk->ik", x, y
embedding | M; y = T([1, 0, 1]) | x, y
embedding_bag! | M; y = T([1, 0, 1]); z = T([0, 2]) | x, y, z
embedding_renorm_ | M; y = T([1]) | x, y, 1.0, 2.0
empty! | | 2, 3
empty_like! | R | x
empty_permuted! | | [2, 3], [1, 0]
empty_strided! | | [2, 3], [1, 2]
eq | V; y = T([1.0, 0.0, 3.0]) | x, y
equal | V; W | x, y
expand | x = T([[1.0], [2.0]]) | x, [2, 3]
expand_as | x = T([[1.0], [2.0]]); y = opweave.zeros(2, 3) | x, y
exponential | V | x
eye | | 2
feature_alpha_dropout | x = T([[[1.0]]]) | x, 0.5, False
feature_dropout | x = T([[[1.0]]]) | x, 0.5, False
fill | V | x, 7
fill_diagonal_ | M | x, 0
flatten | B | x, 1
flip | V | x, [0]
fliplr | M | x
flipud | M | x
float_power | V | x, 2
floor_divide | x = T([7, -7]) | x, 2
fmod | x = T([7, -7]) | x, 3
frexp | V | x
frobenius_norm | M | x, [0, 1]
full | | [2, 2], 7.0
full_like | V | x, 7
gather | M; y = T([[0, 0], [1, 0]]) | x, 1, y
gcd | x = T([12, 7]); y = T([18, 21]) | x, y
ge | V | x, 2
geometric | V | x, 0.5
geqrf | M | x
ger | x = T([1.0, 2.0]); y = T([3.0, 4.0]) | x, y
glu | x = T([1.0, 2.0, 0.0, 0.0]) | x
grid_sampler | Q; y = T([[[[0.0, 0.0]]]]) | x, y, 0, 0, False
grid_sampler_2d | Q; y = T([[[[0.0, 0.0]]]]) | x, y, 0, 0, False
grid_sampler_3d | C; y = T([[[[[0.0, 0.0, 0.0]]]]]) | x, y, 0, 0, False
group_norm | x = T([[1.0, 3.0, 2.0, 6.0]]) | x, 2
gru_cell | x = T([[1.0, 2.0]]); h = opweave.zeros(1, 1); w = opweave.ones(3, 2); u = w[:, :1] | x, h, w, u
gt | V | x, 2
hash_tensor | V | x
hinge_embedding_loss | x = T([0.5, 0.5]); y = T([1.0, -1.0]) | x, y
histc | x = T([1.0, 2.0, 2.0, 4.0]) | x, 3, 1, 4
histogram | x = T([1.0, 2.0, 2.0, 4.0]) | x, 3
histogramdd | x = T([[0.0, 0.0], [1.0, 2.0], [1.0, 1.0]]) | x, [2, 2]
hsplit | M | x, 2
hstack | V; W | [x, y]
huber_loss | x = T([0.0, 0.0]); y = T([0.5, 3.0]) | x, y
heaviside | x = T([-1.0, 0.0, 2.0]); y = T([0.5]) | x, y
hypot | x = T([3.0]); y = T([4.0]) | x, y
igamma | x = T([1.0, 2.0]); y = T([1.0, 1.0]) | x, y
igammac | x = T([1.0, 2.0]); y = T([1.0, 1.0]) | x, y
im2col! | Q | x, [2, 2], [1, 1], [0, 0], [2, 2]
index_add | V; y = T([0, 0]); z = T([10.0, 20.0]) | x, 0, y, z
index_copy | V; y = T([2, 0]); z = T([10.0, 20.0]) | x, 0, y, z
index_fill | V; y = T([0, 2]) | x, 0, y, 9
index_put | V; y = T([0, 2]); z = T([8.0, 9.0]) | x, [y], z
index_reduce | V; y = T([0, 0]); z = T([10.0, 20.0]) | x, 0, y, z, "amax"
index_select | M; y = T([1, 1, 0]) | x, 0, y
inner | V; W | x, y
inverse | x = T([[2.0, 0.0], [0.0, 4.0]]) | x
isclose | V; y = T([1.0, 2.0, 3.1]) | x, y
isfinite | x = T([1.0, float("inf"), float("nan")]) | x
isin | x = T([1, 2, 3]); y = T([2, 5]) | x, y
isinf | x = T([1.0, float("inf"), float("nan")]) | x
isnan | x = T([1.0, float("inf"), float("nan")]) | x
isneginf | x = T([1.0, float("-inf"), float("nan")]) | x
isposinf | x = T([1.0, float("inf"), float("nan")]) | x
isreal | x = T([1 + 0j, 1j]) | x
istft! | w = opweave.ones(8); x = opweave.stft(opweave.ones(16), 8, window=w, return_complex=True) | x, 8, window=w
kl_div | x = T([0.5, 0.5]).log(); y = T([0.25, 0.75]) | x, y
kron | x = T([1.0, 10.0]); y = T([1.0, 2.0]) | x, y
kthvalue | U | x, 2
l1_loss | V; W | x, y
layer_norm | x = T([[1.0, 3.0], [2.0, 6.0]]) | x, [2]
lcm | x = T([4, 6]); y = T([6, 8]) | x, y
ldexp | x = T([1.0, 3.0]); y = T([2, 3]) | x, y
le | V | x, 2
lerp | V; W | x, y, 0.5
lift_fresh_copy | V | x
linalg_cholesky | S | x
linalg_cond | x = T([[2.0, 0.0], [0.0, 1.0]]) | x
linalg_cross | x = T([1.0, 0.0, 0.0]); y = T([0.0, 1.0, 0.0]) | x, y
linalg_det | M | x
linalg_diagonal | M | x
linalg_eig | M | x
linalg_eigh | S | x
linalg_eigvals | M | x
linalg_eigvalsh | S | x
linalg_householder_product | x = T([[1.0], [0.5]]); y = T([1.0]) | x, y
linalg_inv | x = T([[2.0, 0.0], [0.0, 4.0]]) | x
linalg_inv_ex | x = T([[2.0, 0.0], [0.0, 4.0]]) | x
linalg_ldl_factor | S | x
linalg_ldl_factor_ex | S | x
linalg_ldl_solve | x = T([[2.0, 0.0], [0.5, 2.5]]); P; z = T([[2.0], [1.0]]) | x, y, z
linalg_lstsq | x = T([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]); y = T([[1.0], [4.0], [9.0]]) | x, y
linalg_lu | M | x
linalg_lu_factor | M | x
linalg_lu_factor_ex | M | x
linalg_lu_solve | x = T([[3.0, 4.0], [0.5, 2.0]]); P; z = T([[3.0], [2.0]]) | x, y, z
linalg_matmul | M; N | x, y
linalg_matrix_exp | x = T([[0.0, 1.0], [0.0, 0.0]]) | x
linalg_matrix_norm | M | x
linalg_matrix_power | M | x, 2
linalg_matrix_rank | x = T([[1.0, 2.0], [2.0, 4.0]]) | x
linalg_multi_dot | M; N | [x, y]
linalg_norm | V | x
linalg_pinv | x = T([[2.0, 0.0], [0.0, 4.0]]) | x
linalg_qr | M | x
linalg_slogdet | x = T([[2.0, 0.0], [0.0, 4.0]]) | x
linalg_solve | x = T([[2.0, 0.0], [0.0, 4.0]]); y = T([2.0, 2.0]) | x, y
linalg_solve_ex | x = T([[2.0, 0.0], [0.0, 4.0]]); y = T([2.0, 2.0]) | x, y
linalg_solve_triangular | x = T([[2.0, 1.0], [0.0, 4.0]]); y = T([[3.0], [4.0]]) | x, y, upper=True
linalg_svd | R | x, full_matrices=False
linalg_svdvals | x = T([[2.0, 0.0], [0.0, 1.0]]) | x
linalg_tensorinv! | x = opweave.eye(4).view(4, 2, 2) | x, 1
linalg_tensorsolve! | x = opweave.eye(4).view(4, 2, 2); y = opweave.ones(4) | x, y
linalg_vander | V | x
linalg_vecdot | V; W | x, y
linalg_vector_norm | x = T([3.0, 4.0]) | x
linspace | | 0, 1, 5
log_normal | V | x
log_softmax | V | x, 0
logcumsumexp | V | x, 0
logdet | x = T([[2.0, 0.0], [0.0, 4.0]]) | x
logical_and | x = T([0, 1]); y = T([1, 1]) | x, y
logical_not | x = T([0, 1]) | x
logical_or | x = T([0, 1]); y = T([0, 0]) | x, y
logical_xor | x = T([0, 1]); y = T([1, 1]) | x, y
logit | x = T([0.25, 0.5, 0.75]) | x
logspace | | 0, 2, 3
logsumexp | V | x, 0
lstm_cell | x = T([[1.0, 2.0]]); h = opweave.zeros(1, 1); w = opweave.ones(4, 2); u = w[:, :1] | x, [h, h], w, u
lt | V | x, 2
lu_solve | x = T([[3.0], [2.0]]); y = T([[3.0, 4.0], [0.5, 2.0]]); O | x, y, z
lu_unpack | x = T([[3.0, 4.0], [0.5, 2.0]]); P | x, y
margin_ranking_loss | x = T([1.0]); y = T([2.0]); z = T([1.0]) | x, y, z
masked_fill | V; y = T([True, False, True]) | x, y, 0
masked_scatter | V; y = T([True, False, True]); z = T([8.0, 9.0]) | x, y, z
masked_select | V; y = T([True, False, True]) | x, y
matmul | M; N | x, y
matrix_exp | x = T([[0.0, 1.0], [0.0, 0.0]]) | x
matrix_power | M | x, 2
matrix_H | M | x
max | R | x, 1
max_pool2d | Q | x, 2
max_pool2d_with_indices | Q | x, 2
max_pool3d | C | x, 2
max_pool3d_with_indices | C | x, 2
max_unpool2d | x = T([[[[5.0]]]]); y = T([[[[3]]]]) | x, y, [2, 2]
max_unpool3d! | x = T([[[[[5.0]]]]]); y = T([[[[[3]]]]]) | x, y, [2, 2, 2], [2, 2, 2], [0, 0, 0]
mean | R | x, 1
median | U | x, 0
meshgrid | x = T([1, 2]); y = T([3, 4]) | x, y
min | R | x, 1
mm | M; N | x, y
mode | x = T([1, 2, 2, 3]) | x
movedim! | B | x, 0, 2
mse_loss | V; W | x, y
msort | U | x
mul | V; W | x, y
multinomial | V | x, 2
mv | M; y = T([1.0, 1.0]) | x, y
mvlgamma | x = T([2.0, 3.0]) | x, 2
nan_to_num | x = T([1.0, float("nan")]) | x
nanmean | x = T([1.0, float("nan"), 3.0]) | x
nanmedian | x = T([1.0, float("nan"), 3.0]) | x
nanquantile | x = T([1.0, float("nan"), 3.0]) | x, 0.5
nansum | x = T([1.0, float("nan"), 3.0]) | x
narrow | V | x, 0, 1, 2
native_dropout | V | x, 0.5, False
native_group_norm! | x = T([[1.0, 3.0, 2.0, 6.0]]) | x, None, None, 1, 4, 1, 2, 1e-5
native_layer_norm! | x = T([[1.0, 3.0], [2.0, 6.0]]) | x, [2], None, None, 1e-5
ne | V; y = T([1.0, 0.0, 3.0]) | x, y
new_empty! | V | x, [2]
new_empty_strided! | V | x, [2, 3], [1, 2]
new_full | V | x, [2], 7
new_ones | V | x, [2]
new_zeros | V | x, [2]
nll_loss | x = T([[0.5, 0.5], [0.2, 0.8]]).log(); y = T([0, 1]) | x, y
nll_loss_forward | x = T([[0.5, 0.5], [0.2, 0.8]]).log(); y = T([0, 1]) | x, y, None, 1, -100
nonzero | x = T([0.0, 2.0, 3.0]) | x
nonzero_numpy | x = T([0.0, 2.0, 3.0]) | x
nonzero_static | x = T([0.0, 2.0, 3.0]) | x, size=3
normal | | 0.0, 1.0, [2]
normal_ | V | x
nuclear_norm | x = T([[2.0, 0.0], [0.0, 1.0]]) | x
one_hot | x = T([0, 2]) | x, 3
ones | | 2, 3
ones_like | V | x
orgqr | x = T([[1.0], [0.5]]); y = T([1.0]) | x, y
ormqr | x = T([[1.0], [0.5]]); y = T([1.0]); z = T([[1.0], [1.0]]) | x, y, z
outer | V; W | x, y
pad | V | x, [1, 1]
pairwise_distance | x = T([[0.0, 0.0]]); y = T([[3.0, 4.0]]) | x, y
pdist | x = T([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]) | x
permute | R | x, [1, 0]
pinverse | x = T([[2.0, 0.0], [0.0, 4.0]]) | x
pixel_shuffle | x = opweave.arange(4.0).view(1, 4, 1, 1) | x, 2
pixel_unshuffle | x = opweave.arange(4.0).view(1, 1, 2, 2) | x, 2
poisson_nll_loss | V; W | x, y, True, False, 1e-8, 1
polygamma | x = T([1.0, 2.0]) | 1, x
polygamma_ | x = T([1.0, 2.0]) | x, 1
positive | V | x
prod | V | x
put | V; y = T([0]); z = T([9.0]) | x, y, z
qr | M | x
quantile | V | x, 0.25
rand | | 2, 3
rand_like | V | x
randint | | 0, 10, [2]
randint_like | V | x, 0, 10
randn | | 2, 3
randn_like | V | x
random_ | V | x
randperm | | 4
ravel | M | x
reflection_pad1d | L | x, [1, 1]
reflection_pad2d! | Q | x, [1, 1, 1, 1]
reflection_pad3d! | C | x, [1, 1, 1, 1, 1, 1]
remainder | x = T([7, -7]) | x, 3
renorm | M | x, 2, 0, 1.0
repeat | x = T([1, 2]) | x, [2, 2]
repeat_interleave | x = T([1, 2]) | x, 2
replication_pad1d | L | x, [1, 1]
replication_pad2d! | Q | x, [1, 1, 1, 1]
replication_pad3d! | C | x, [1, 1, 1, 1, 1, 1]
reshape | R | x, [3, 2]
reshape_as | R; y = opweave.zeros(3, 2) | x, y
resize_ | V | x, [2]
resize_as_ | V; y = T([[1.0], [2.0]]) | x, y
resolve_conj | V | x
resolve_neg | V | x
rms_norm | x = T([3.0, 4.0]) | x, [2]
rnn_relu_cell | x = T([[1.0, 2.0]]); h = opweave.zeros(1, 1); w = opweave.ones(1, 2); u = w[:, :1] | x, h, w, u
rnn_tanh_cell | x = T([[1.0, 2.0]]); h = opweave.zeros(1, 1); w = opweave.ones(1, 2); u = w[:, :1] | x, h, w, u
roll | V | x, 1
rot90 | M | x
round | x = T([0.5, 1.25, -1.5]) | x
row_stack | V; W | [x, y]
rsub | V; W | x, y
scalar_tensor | | 2.5
scaled_dot_product_attention! | x = opweave.ones(1, 2, 4); y = opweave.ones(1, 3, 4) | x, y, y
scatter | V; y = T([2, 0]); z = T([8.0, 9.0]) | x, 0, y, z
scatter_add | V; y = T([0, 0]); z = T([8.0, 9.0]) | x, 0, y, z
scatter_reduce | V; y = T([0, 0]); z = T([8.0, 9.0]) | x, 0, y, z, "amax"
searchsorted | x = T([1.0, 3.0, 5.0]); y = T([2.0, 5.0]) | x, y
segment_reduce | V; y = opweave.tensor([1, 2]) | x, 'sum', lengths=y
select | M | x, 0, 1
select_scatter | M; y = T([8.0, 9.0]) | x, y, 0, 1
slice | V | x, 0, 1, 3
slice_scatter | V; y = T([8.0, 9.0]) | x, y, 0, 1, 3
slogdet | x = T([[2.0, 0.0], [0.0, 4.0]]) | x
smooth_l1_loss | x = T([0.0, 0.0]); y = T([0.5, 3.0]) | x, y
soft_margin_loss | x = T([1.0]); y = T([1.0]) | x, y
softmax | V | x, 0
sort | U | x
special_multigammaln | x = T([2.0, 3.0]) | x, 2
special_polygamma | x = T([1.0, 2.0]) | 1, x
special_logsumexp | V | x, 0
special_softmax | V | x, 0
special_log_softmax | V | x, 0
special_logit | x = T([0.25, 0.5, 0.75]) | x
special_gammainc | x = T([1.0, 2.0]); y = T([1.0, 1.0]) | x, y
special_gammaincc | x = T([1.0, 2.0]); y = T([1.0, 1.0]) | x, y
special_zeta | x = T([2.0, 3.0]); y = T([1.0, 1.0]) | x, y
split | V | x, 2
split_with_sizes | V | x, [1, 2]
squeeze | x = T([[1.0], [2.0]]) | x, 1
stack | V; W | [x, y]
std | R | x, 1
std_mean | R | x, 1
stft! | x = opweave.ones(16) | x, 8, return_complex=True, window=opweave.ones(8)
sub | V; W | x, y
sum | R | x, 1
sum_to_size | R | x, [1, 3]
svd | R | x
swapaxes | R | x, 0, 1
swapdims | R | x, 0, 1
sym_is_contiguous | V | x
sym_numel | R | x
sym_size | R | x, 1
sym_storage_offset | V | x
sym_stride | R | x, 0
t | R | x
take | R; y = T([0, 5]) | x, y
take_along_dim | U; y = T([1, 2, 0]) | x, y, 0
tensor_split | V | x, 2
tensordot | M; N | x, y, 1
tile | x = T([1, 2]) | x, [2, 2]
topk | U | x, 2
trace | M | x
transpose | R | x, 0, 1
trapezoid | V | x
trapz | V | x
triangular_solve | x = T([[3.0], [4.0]]); y = T([[2.0, 1.0], [0.0, 4.0]]) | x, y
tril | M | x
tril_indices | | 2, 2
triplet_margin_loss | x = T([[0.0, 0.0]]); y = T([[0.0, 1.0]]); z = T([[3.0, 4.0]]) | x, y, z
triu | M | x
triu_indices | | 2, 2
unbind | M | x
unflatten | x = T([1, 2, 3, 4]) | x, 0, [2, 2]
unfold | x = T([1, 2, 3, 4]) | x, 0, 2, 1
uniform | V | x
unique_consecutive | x = T([1, 1, 2, 1]) | x
unique_dim | x = T([[1, 2], [1, 2]]) | x, 0
unsafe_chunk | V | x, 2
unsafe_split | V | x, 2
unsafe_split_with_sizes | V | x, [1, 2]
unsqueeze | V | x, 0
upsample_bicubic2d! | Q | x, [8, 8], False
upsample_bilinear2d! | Q | x, [8, 8], False
upsample_nearest2d! | Q | x, [8, 8]
vander | V | x
var | R | x, 1
var_mean | R | x, 1
vdot | V; W | x, y
view | R | x, [3, 2]
view_as | R; y = opweave.zeros(3, 2) | x, y
view_as_complex | M | x
view_as_real | x = T([1 + 2j]) | x
view_copy | R | x, [3, 2]
vsplit | M | x, 2
vstack | V; W | [x, y]
where | x = T([True, False]); y = T([1.0, 2.0]); z = T([3.0, 4.0]) | x, y, z
zeros | | 2, 3
zeros_like | V | x
zero | V | x
imag | x = T([1 + 2j]) | x
real | x = T([1 + 2j]) | x
normal_functional | V | x
random | V | x, 0, 10
numpy_T | R | x
kaiser_window | | 4
hann_window | | 4
hamming_window | | 4
blackman_window | | 4
bartlett_window | | 4
polar | x = T([1.0, 2.0]); y = T([0.0, 0.5]) | x, y
angle | x = T([1 + 1j, -1 + 0j]) | x
cauchy_ | V | x
bernoulli_ | V | x
geometric_ | V | x, 0.5
"""


def _written(text: str) -> str:
    return LETTERS.get(text, text).replace("T(", "opweave.tensor(")


def _calls() -> dict[str, tuple[list[str], str, bool]]:
    found: dict[str, tuple[list[str], str, bool]] = {}
    for line in _TEXT.strip().splitlines():
        name, setup, arguments = (part.strip() for part in line.split("|"))
        lines = [_written(part.strip()) for part in setup.split(";") if part.strip()]
        found[name.rstrip("!")] = lines, arguments.replace("T(", "opweave.tensor("), name.endswith("!")
    return found


#: By the name of an op: lines of code before the call, its arguments, whether sizes are shown.
CALLS = _calls()
