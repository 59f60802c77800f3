"""What arguments mean, by their names: for all ops, or for one as `op.argument`."""

from __future__ import annotations

_TEXT = """
A: Matrices in the last two dimensions; all others are a batch.
B: The right side: matrices, or vectors where that is clear.
b_hh: What is added to the product with the state.
b_ih: What is added to the product with the input.
hx: The state before.
LD: The factorization, as `linalg.ldl_factor` gives it.
LU: The factorization, as `linalg.lu_factor` gives it.
LU_data: The factorization, as `linalg.lu_factor` gives it.
LU_pivots: The rows that were swapped.
N: How many powers.
UPLO: Which triangle is read, the lower or the upper one.
abs: Absolute values.
accumulate: Whether values are added to what is there.
adjoint: Whether to solve with the transposed and conjugated matrix.
align_corners: Whether the corners of both images are at the same places.
alpha: A factor.
add.alpha: A factor of `other`.
sub.alpha: A factor of `other`.
anchor: The examples.
angle: Angles in radians.
append: What stands after the elements.
approximate: Whether to use the paper's approximation by `tanh`.
assume_unique: For the signature's sake.
segment_reduce.axis: The dimension that is cut into segments.
atol: The absolute tolerance.
base: Whose powers they are.
batch1: The first batch of matrices.
batch2: The second batch of matrices.
beta: A factor of `input`.
linalg_lstsq.b: The right side.
tol: The tolerance.
transposed: Whether to compute the adjoint.
fweights: How often each observation counts, in whole numbers.
aweights: How much each observation counts.
dx: How far apart the points are.
input_scale: A factor of x in the exponential.
scale_grad_by_freq: Whether gradients are divided by how often a row was read.
sparse: For the signature's sake: there are no sparse gradients.
per_sample_weights: A factor for each row that is read.
implicit: For the signature's sake.
m: How many columns; as many as rows by default.
cudnn_enable: For the signature's sake.
C: How many channels.
HxW: How many places.
attn_mask: Truth values that say which keys count, or numbers that are added to the scores.
enable_gqa: Whether several heads of queries share keys and values.
tensor_indices_or_sections: How many parts, or where to cut, as a tensor.
increasing: Whether the powers increase.
softplus.beta: How sharp the bend is.
kaiser_window.beta: How narrow the window is.
smooth_l1_loss.beta: Where the square ends.
bias: What is added, one number for each channel.
bins: How many bins, or their edges.
blank: The number of the class that stands for nothing.
boundaries: The boundaries, in order.
ceil_mode: Whether a last window may stick out.
center: Whether the windows are centred, so that the signal is continued at its ends.
check_errors: Whether to raise where it fails, instead of saying so in `info`.
chunks: How many parts.
compute_uv: Whether to compute the vectors.
condition: Truth values.
correction: What is subtracted from the number of elements before dividing by it; 1 by default.
count_include_pad: Whether padding counts in the means.
cudnn_enabled: For the signature's sake.
d: The distance.
data: The data.
decimals: How many decimals; negative numbers round before the point.
delta: Where the square ends.
density: Whether the sum over the bins is 1.
descending: Whether the largest comes first.
destination: Where these dimensions stand in the result.
device: Where the result is; by default in main memory, or where the argument is.
diagonal: Which diagonal: 0 the main one, positive numbers above it.
dilation: How far apart the elements of a window are.
dim: The dimension, counted from the end where negative.
dim0: One dimension.
dim1: Another dimension.
dim2: The second of the matrix's dimensions.
axis0: One dimension.
axis1: Another dimension.
dimension: The dimension.
dims: The dimensions, counted from the end where negative.
tile.dims: How often along each dimension.
divisor_override: What to divide by instead of the size of the window.
downscale_factor: How much smaller the image becomes.
driver: LAPACK's routine; for the signature's sake.
dropout_p: The probability that a weight is dropped.
dtype: The element type of the result.
elements: What is looked for.
end: Where it ends.
end_dim: The last of the dimensions.
eps: A small number that keeps divisors off 0.
logit.eps: How far from 0 and 1 the elements are kept.
exponent: The exponents.
fill_value: The number.
from_: The least of the numbers.
from: The least of the numbers.
full_matrices: Whether the matrices of vectors are square.
full: Whether to add Stirling's approximation.
generator: The source of random numbers; the device's own by default.
grid: Places (x, y) in the last dimension.
group: How many groups.
groups: How many groups the channels are divided in.
half_to_even: For the signature's sake.
hermitian: Whether the matrices are Hermitian.
high: Where they end, itself not among them.
hop_length: How far apart the windows are.
idx: The index.
ignore_index: Targets that do not count.
imag: The imaginary parts.
include_last_offset: Whether the last offset is an end.
include_self: Whether what is there counts, too.
ind: How many dimensions are the rows.
index: Which places, as whole numbers.
indices: Which places, as whole numbers.
segment_reduce.indices: For the signature's sake.
segment_reduce.initial: What each segment begins with.
input: The tensor.
input1: The first tensor.
input2: The second tensor.
input3: The third tensor.
input_lengths: The lengths of the inputs.
interpolation: What stands between two elements.
interpolation_mode: 0 linear, 1 nearest, 2 cubic.
invert: Whether to say the opposite.
is_causal: Whether a place sees only those before it.
k: How many, or which.
rot90.k: How many quarters.
keepdim: Whether reduced dimensions stay, with size 1.
kernel_size: The size of a window.
key: The keys.
label_smoothing: The share that all classes have of the target.
lambd: The limit.
exponential.lambd: The rate.
largest: Whether to take the largest.
layout: How the elements lie; `strided` is the one there is.
left: Whether the matrix stands on the left of the unknown.
length: How many places.
log_input: Whether the input is the logarithm.
log_probs: Logarithms of probabilities (time, batch, classes).
log_target: Whether the target is the logarithm.
low: Where they begin.
margin: The margin.
mask: Truth values, which broadcast.
mat: A matrix.
mat1: The first matrix.
mat2: The second matrix.
matrices: The matrices.
max: The upper bound.
clamp.max: The upper bound: a number, or a tensor that broadcasts.
max_norm: The limit.
max_val: The upper bound.
maxnorm: The limit.
mean: The means.
median: Where the middle is.
memory_format: How the result lies in memory.
min: The lower bound.
clamp.min: The lower bound: a number, or a tensor that broadcasts.
min_val: The lower bound.
minlength: How many numbers at least.
mode: How it is done.
momentum: How fast running statistics change.
n: A whole number.
diff.n: How often.
n_fft: The size of the transforms.
nan: What stands for NaN.
negative: The examples to be far from.
negative_slope: The slope where x is negative.
neginf: What stands for -inf.
non_blocking: For the signature's sake.
norm_type: The p of the norm.
normalized: Whether to divide by the root of the size.
normalized_shape: The sizes of the last dimensions.
num_classes: How many classes.
num_groups: How many groups.
num_samples: How many to draw.
offset: Which diagonal: 0 the main one, positive numbers above it.
offsets: Where each bag begins.
segment_reduce.offsets: Where each segment begins, and where the last one ends; or `lengths`.
segment_reduce.lengths: How long each segment is; or `offsets`.
onesided: Whether to give only what the rest follows from.
ord: Which norm.
other: The other tensor; shapes broadcast.
mm.other: The second matrix.
out: A tensor, or one for each result, to write to; gets the sizes of the result.
out_int32: Whether to give int32.
output_padding: What is added to the size at one side.
output_size: The size of the result.
p: The p of the norm.
bernoulli.p: The probabilities.
binomial.count: How many trials.
binomial.prob: The probability of success of each.
dropout.p: The probability that an element is dropped.
geometric.p: The probability of success.
mvlgamma.p: The number of dimensions.
native_dropout.p: The probability that an element is dropped.
pad: Numbers for the sides of the last dimension, then of the one before, ...
pad_mode: How the signal is continued.
padding: How many elements are added at each side.
padding_idx: A row whose gradient is 0.
padding_mode: 0 zeros, 1 border, 2 reflection.
periodic: Whether the window is one of a periodic signal.
physical_layout: The order of the dimensions in memory, the outermost first.
pin_memory: For the signature's sake.
pivot: Whether rows are swapped.
pivots: The rows that were swapped.
pos_weight: Weights of positive examples.
posinf: What stands for +inf.
positive: The examples to be near to.
prepend: What stands before the elements.
q: Shares between 0 and 1.
query: The queries.
r: How many.
range: The least and the largest edge.
rcond: The relative tolerance.
real: The real parts.
reduce: How elements for one place are combined.
reduction: 0 none, 1 mean, 2 sum.
repeats: How often.
replacement: Whether a place may be drawn again.
requires_grad: Whether autograd records what is done with the result.
return_complex: Whether to give complex numbers.
return_counts: Whether to give how often each was there.
return_inverse: Whether to give where each went.
right: Whether boundaries that are equal count.
rounding_mode: Towards 0 or down; by default the quotient stays as it is.
row: How many rows.
col: How many columns.
rtol: The relative tolerance.
running_mean: The running means.
running_var: The running variances.
s: The number.
sample: The sample.
scale: A factor of the scores; 1 / √width by default.
sections: How many parts, or where to cut.
shape: The sizes; one of them may be -1, which follows from the others.
shifts: How far.
side: `right` counts boundaries that are equal.
sigma: The scale.
size: The sizes.
sizes: The sizes.
some: Whether the matrices of vectors are as small as can be.
sorted: Whether the results are in order.
sorted_sequence: The sequence, in order.
sorter: The order of the sequence.
source: What is written.
movedim.source: The dimensions that move.
sparse_grad: For the signature's sake.
split_size: How large the parts are.
split_sizes: How large each part is.
src: What is written.
stable: Whether equal elements keep their order.
start: Where it begins.
start_dim: The first of the dimensions.
std: The standard deviations.
step: How far apart.
steps: How many.
storage_offset: Where in memory it begins, in elements.
stride: How far apart windows are; as large as they are by default.
as_strided.stride: The strides, in elements.
swap: Whether to take the nearer of two negatives.
target: What it should be.
target_lengths: The lengths of the targets.
targets: The targets.
tau: The factors of the reflections.
tensor: A vector of the same size.
tensor1: One tensor.
tensor2: Another tensor.
tensors: The tensors.
test_element: The others.
test_elements: The others.
threshold: The threshold.
to: Where they end, itself not among them.
the_template: The tensor whose sizes are taken.
total_length: The length.
train: Whether anything is dropped.
training: Whether statistics are those of the batch.
transpose: Whether to use the transposed matrix.
unbiased: Whether to divide by the number of elements less 1.
unitriangular: Whether the diagonal is 1, and not read.
unsafe: Whether what is behind the last segment is left out, and negative lengths are not looked for.
unpack_data: Whether to give L and U.
unpack_pivots: Whether to give P.
upper: Whether the upper triangle is meant.
upscale_factor: How much larger the image becomes.
value: The number.
addcdiv.value: A factor of the quotient.
addcmul.value: A factor of the product.
scaled_dot_product_attention.value: The values.
values: The values.
vec: A vector.
vec1: One vector.
vec2: Another vector.
w_hh: The weights of the state.
w_ih: The weights of the input, those of one gate below each other.
weight: The weights.
lerp.weight: How far from `input` to `end`.
lerp.end: The other end.
weights: The weights.
win_length: The size of the windows.
window: The window.
window_length: How many points.
with_replacement: Whether an element may be there twice.
wrap: Whether to begin again below a tall matrix.
x: The tensor.
x1: The first tensor.
x2: The second tensor.
y: The values.
zero_infinity: Whether losses that are infinite count as 0.
"""

ARGUMENTS = {name: text for name, _, text in (line.partition(": ") for line in _TEXT.strip().splitlines())}
