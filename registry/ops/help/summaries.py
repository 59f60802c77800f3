"""What ops compute, a line for each name whose declaration does not say it.

The docstring of an op's declaration is its summary. Here stand the names of ops whose declarations have none, as those
that are declared in a loop, and those of several overloads of which each says but a part.
"""

from __future__ import annotations

_TEXT = """
abs: The absolute value of each element; of a complex number its magnitude.
acos: The inverse cosine of each element, in radians from 0 to π; NaN outside of [-1, 1].
acosh: The inverse hyperbolic cosine of each element; NaN below 1.
adaptive_avg_pool2d: The means over windows that cover an image evenly, as many as the output has places.
adaptive_avg_pool3d: The means over windows that cover a volume evenly, as many as the output has places.
add: The sum `input + alpha * other`, element by element.
addcdiv: `input + value * tensor1 / tensor2`, element by element.
addcmul: `input + value * tensor1 * tensor2`, element by element.
addmm: `beta * input + alpha * (mat1 @ mat2)`; where beta is 0, what `input` holds does not count.
addmv: `beta * input + alpha * (mat @ vec)`; where beta is 0, what `input` holds does not count.
adjoint: The matrices in the last two dimensions transposed and conjugated.
alias: Another tensor over the same memory.
all: Whether no element is 0, of the whole tensor or over dimensions.
alpha_dropout: Dropout that keeps mean and variance: dropped elements take the value that SELU saturates at.
aminmax: The least and the largest element, of the whole tensor or along a dimension.
any: Whether any element is other than 0, of the whole tensor or over dimensions.
argsort: The places that elements come from when they are sorted along a dimension.
bilinear: `input1 @ weight[i] @ input2 + bias[i]` for each matrix i of the weight (out, in1, in2).
gru_cell: The state after one step of a GRU.
lstm_cell: The state after one step of an LSTM: what it shows, and its cell.
rms_norm: The last dimensions divided by the root of their mean square, then scaled.
rnn_relu_cell: The state after one step of a network with ReLU, `relu(w_ih @ input + b_ih + w_hh @ hx + b_hh)`.
rnn_tanh_cell: The state after one step of an Elman network, `tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh)`.
view: The same memory with other sizes, or as elements of another type.
arange: Numbers from `start` up to, and without, `end`, `step` apart.
as_strided: A view with sizes, strides and an offset into memory of one's own choice.
asin: The inverse sine of each element, in radians from -π/2 to π/2; NaN outside of [-1, 1].
asinh: The inverse hyperbolic sine of each element.
atan: The inverse tangent of each element, in radians from -π/2 to π/2.
atan2: The angle of the point (other, input), in radians from -π to π, by the signs of both.
atanh: The inverse hyperbolic tangent of each element; infinite at -1 and 1, NaN beyond.
baddbmm: `beta * input + alpha * (batch1 @ batch2)` for each matrix of a batch.
bartlett_window: A window that rises to 1 and falls in straight lines.
batch_norm: Each channel brought to mean 0 and variance 1 over the batch, or by running statistics, then scaled.
bernoulli: 1 with a probability, else 0: the probability that each element is, or that `p` gives.
bitwise_and: The bits that both have, of whole numbers; of truth values, whether both are true.
bitwise_left_shift: The bits moved to the left, so many places as `other` says.
bitwise_not: The other bits of whole numbers; the opposite of truth values.
bitwise_or: The bits that either has, of whole numbers; of truth values, whether either is true.
bitwise_right_shift: The bits moved to the right, so many places as `other` says; the sign stays.
bitwise_xor: The bits that one of both has, of whole numbers; of truth values, whether they differ.
blackman_window: A window of a constant and two cosines that is nearly 0 at its ends.
bmm: The matrix product for each pair of matrices of two batches.
broadcast_to: A view with larger sizes, in which dimensions of size 1 repeat.
cauchy: Numbers drawn from a Cauchy distribution, in the shape of the tensor.
ceil: The least whole number that is no less, for each element.
chunk: At most so many parts of a dimension, as views; the last may be smaller.
clamp: Each element brought between `min` and `max`; a bound that is None is none.
clamp_max: Each element, or the bound where it is larger.
clamp_min: Each element, or the bound where it is less.
clone: A copy in memory of its own, through which gradients flow.
concat: Join tensors along a dimension; another name of `cat`.
contiguous: The tensor with its elements in row-major order; itself where they are.
conv1d: A line of several channels correlated with filters (shape: batch, channels, length).
conv2d: An image of several channels correlated with filters (shape: batch, channels, height, width).
conv3d: A volume of several channels correlated with filters (shape: batch, channels, depth, height, width).
conv_transpose1d: The adjoint of `conv1d`: each element of the input adds a filter to a longer line.
conv_transpose2d: The adjoint of `conv2d`: each element of the input adds a filter to a larger image.
conv_transpose3d: The adjoint of `conv3d`: each element of the input adds a filter to a larger volume.
copy: The elements of `src`, broadcast and converted, in the shape and type of the tensor.
copysign: The magnitude of each element with the sign of the other.
cos: The cosine of each element, in radians.
cosh: The hyperbolic cosine of each element.
count_nonzero: How many elements are other than 0, of the whole tensor or over dimensions.
cummax: The largest element so far along a dimension, and where it was.
cummin: The least element so far along a dimension, and where it was.
cumprod: The product of the elements so far along a dimension.
cumsum: The sum of the elements so far along a dimension.
cumulative_trapezoid: The area under straight lines from element to element, up to each.
deg2rad: Degrees in radians.
detach: The same memory as a tensor without history: gradients do not flow through it.
diagonal: A view of the diagonal of two dimensions, as a new last one.
div: The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number.
dot: The sum of products of two vectors.
dropout: Each element set to 0 with probability p, the others scaled by 1 / (1 - p); without `train` the input.
dsplit: Parts of the third dimension, as views.
dstack: Tensors joined along the third dimension, which those with fewer get.
elu: x where positive, alpha (exp(x) - 1) elsewhere.
embedding_bag: The sums, means or maxima of rows of a matrix, of which bags of indices name the rows.
empty: A tensor of some sizes with nothing in particular in it.
empty_like: A tensor like another, with nothing in particular in it.
empty_strided: A tensor of some sizes and strides, with nothing in particular in it.
eq: Whether each element equals the other.
erf: The error function of each element.
exp: e to the power of each element.
exp2: 2 to the power of each element.
expand: A view with larger sizes, in which dimensions of size 1 repeat; -1 keeps a size.
expand_as: A view with the sizes of another tensor, in which dimensions of size 1 repeat.
expm1: exp(x) - 1, of which nothing is lost where x is small.
exponential: Numbers drawn from an exponential distribution, in the shape of the tensor.
eye: A matrix with 1 on its diagonal and 0 elsewhere.
feature_alpha_dropout: `alpha_dropout` of whole channels.
feature_dropout: `dropout` of whole channels.
fill: A tensor like this one with one number everywhere.
flatten: Dimensions from one to another as a single one; a view where strides allow it.
floor: The largest whole number that is no larger, for each element.
floor_divide: The quotient, rounded down to a whole number.
fmod: What is left of a division that is cut towards 0; it has the sign of the dividend.
frac: What is left of each element without its whole part; it has the element's sign.
full: A tensor of some sizes with one number everywhere.
full_like: A tensor like another with one number everywhere.
gcd: The greatest common divisor of whole numbers.
ge: Whether each element is no less than the other.
geometric: How many draws it takes until one with probability p succeeds, in the shape of the tensor.
grid_sampler: An image or a volume at the places of a grid, -1 and 1 being its borders.
group_norm: Groups of channels brought to mean 0 and variance 1, then scaled channel by channel.
gt: Whether each element is larger than the other.
hamming_window: A cosine window that does not reach 0 at its ends.
hann_window: A cosine window that is 0 at its ends.
hsplit: Parts of the second dimension (of a vector, the first), as views.
hstack: Tensors joined along the second dimension; vectors along the first.
igamma: The lower incomplete gamma function, divided by Γ: the share below x for each pair (a, x).
igammac: The upper incomplete gamma function, divided by Γ: the share above x for each pair (a, x).
isfinite: Whether each element is a finite number.
isin: Whether each element is among others.
isinf: Whether each element is infinite.
isnan: Whether each element is NaN.
isneginf: Whether each element is -inf.
isposinf: Whether each element is +inf.
kaiser_window: A window by Bessel functions, which `beta` makes narrower.
layer_norm: The last dimensions brought to mean 0 and variance 1, then scaled and shifted.
lcm: The least common multiple of whole numbers.
le: Whether each element is no larger than the other.
leaky_relu: x where positive, negative_slope times x elsewhere.
lerp: The point between `input` and `end` that `weight` says: 0 is the first, 1 the second.
linalg_cond: How much solving with a matrix may magnify errors: its norm times that of its inverse.
linalg_matrix_norm: A norm of matrices: Frobenius, nuclear, or the largest or least sum or singular value.
linalg_matrix_rank: How many singular values of a matrix count, by an absolute and a relative tolerance.
linalg_norm: A vector norm, or a matrix norm where `ord` is given and there are two dimensions.
linalg_vector_norm: The p-norm of all elements, or over dimensions: (Σ |x|^p)^(1/p).
log: The natural logarithm of each element; NaN for negative numbers.
log10: The logarithm to base 10 of each element.
log1p: log(1 + x), of which nothing is lost where x is small.
log2: The logarithm to base 2 of each element.
log_normal: Numbers whose logarithm is normal, in the shape of the tensor.
log_softmax: The logarithm of `softmax` along a dimension, without overflow.
logaddexp: log(exp(x) + exp(y)), without overflow.
logical_and: Whether both elements are other than 0.
logical_not: Whether each element is 0.
logical_or: Whether either element is other than 0.
logical_xor: Whether one of both elements is other than 0.
logsumexp: log(Σ exp(x)) over dimensions, without overflow.
lt: Whether each element is less than the other.
masked_fill: A copy with a number where a mask is true.
max: The largest element; along a dimension, with its place; of two tensors, as `maximum`.
max_pool2d: The largest element of each window of an image.
max_pool3d: The largest element of each window of a volume.
maximum: The larger of two elements; NaN where either is.
mean: The mean of all elements, or over dimensions.
median: The middle element in order, of an even number the lower; along a dimension, with its place.
min: The least element; along a dimension, with its place; of two tensors, as `minimum`.
minimum: The smaller of two elements; NaN where either is.
mm: The product of two matrices.
movedim: A view with dimensions at other places, the others in their order.
mse_loss: The mean (or sum) of squared differences.
msort: The elements in order along the first dimension.
mul: The product `input * other`, element by element.
mv: The product of a matrix and a vector.
nan_to_num: Numbers in place of NaN and infinities: 0, the largest and the least of the type by default.
nanmedian: `median` of what is a number.
nanquantile: `quantile` of what is a number.
narrow: A view of so many places of a dimension from one on.
native_layer_norm: `layer_norm` with the means and the inverse standard deviations that it found.
ne: Whether each element differs from the other.
neg: Each element with the other sign.
new_empty: A tensor of some sizes, of this one's type and device, with nothing in particular in it.
new_empty_strided: A tensor of some sizes and strides, of this one's type and device, with nothing in particular in it.
new_full: A tensor of some sizes, of this one's type and device, with one number everywhere.
new_ones: A tensor of ones, of this one's type and device.
new_zeros: A tensor of zeros, of this one's type and device.
nll_loss: The negative log-probabilities at the class numbers, averaged by default.
nll_loss_forward: `nll_loss` with the sum of weights that it divided by.
normal: Numbers drawn from normal distributions with these means and standard deviations.
normal_functional: Normal numbers in the shape of the tensor.
numpy_T: A view with the dimensions in the opposite order.
matrix_H: A matrix transposed and conjugated.
ones: A tensor of some sizes with 1 everywhere.
ones_like: A tensor like another with 1 everywhere.
outer: The product of each element of a vector with each of another.
pdist: The distances between all pairs of rows, as a vector.
permute: A view with the dimensions in another order.
polygamma_: The n-th derivative of `digamma` at each element.
pow: `input` to the power of `exponent`, element by element.
prod: The product of all elements, or over a dimension.
quantile: The elements below which shares of all are, between two of them by interpolation.
rad2deg: Radians in degrees.
rand: Numbers drawn evenly from 0 up to 1.
rand_like: Numbers drawn evenly from 0 up to 1, in a tensor like another.
randint: Whole numbers drawn evenly from `low` up to, and without, `high`.
randint_like: Whole numbers drawn evenly, in a tensor like another.
randn: Numbers drawn from the normal distribution of mean 0 and variance 1.
randn_like: Normal numbers in a tensor like another.
random: Whole numbers drawn evenly, in the shape of the tensor.
randperm: The numbers from 0 to n - 1 in a random order.
ravel: All elements as a vector; a view where they lie in order.
reciprocal: 1 / x for each element.
reflection_pad1d: A line continued at its ends by its mirror image, without the last element.
reflection_pad2d: An image continued at its borders by its mirror image, without the last elements.
reflection_pad3d: A volume continued at its borders by its mirror image, without the last elements.
relu: x where positive, 0 elsewhere.
remainder: What is left of a division that is rounded down; it has the sign of the divisor.
repeat: The tensor so many times along each dimension, as a copy.
replication_pad1d: A line continued at its ends by its last elements.
replication_pad2d: An image continued at its borders by the elements there.
replication_pad3d: A volume continued at its borders by the elements there.
reshape: The same elements with other sizes; a view where strides allow it. One size may be -1.
reshape_as: The same elements with the sizes of another tensor.
round: The nearest whole number, or number of so many decimals; half goes to even.
rsqrt: 1 / √x for each element.
rsub: `other - alpha * input`, element by element.
scalar_tensor: A number as a tensor without dimensions.
scatter: A copy with elements of `src`, or a number, at places along a dimension that `index` says.
select: A view of one place of a dimension, which is gone.
sigmoid: 1 / (1 + exp(-x)) for each element.
signbit: Whether the sign of each element is negative, of -0.0 too.
sin: The sine of each element, in radians.
sinh: The hyperbolic sine of each element.
slice: A view of places of a dimension from `start` up to `end`, `step` apart.
softmax: exp(x) divided by its sum along a dimension, so that the results are positive and add up to 1.
softplus: log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.
softshrink: x nearer to 0 by lambd, and 0 where it is no further than that.
special_airy_ai: The Airy function Ai of each element.
special_bessel_j0: The Bessel function of the first kind and order 0.
special_bessel_j1: The Bessel function of the first kind and order 1.
special_bessel_y0: The Bessel function of the second kind and order 0.
special_bessel_y1: The Bessel function of the second kind and order 1.
special_chebyshev_polynomial_t: The Chebyshev polynomial of the first kind and degree n at x.
special_chebyshev_polynomial_u: The Chebyshev polynomial of the second kind and degree n at x.
special_chebyshev_polynomial_v: The Chebyshev polynomial of the third kind and degree n at x.
special_chebyshev_polynomial_w: The Chebyshev polynomial of the fourth kind and degree n at x.
special_shifted_chebyshev_polynomial_t: The Chebyshev polynomial of the first kind and degree n at 2 x - 1.
special_shifted_chebyshev_polynomial_u: The Chebyshev polynomial of the second kind and degree n at 2 x - 1.
special_shifted_chebyshev_polynomial_v: The Chebyshev polynomial of the third kind and degree n at 2 x - 1.
special_shifted_chebyshev_polynomial_w: The Chebyshev polynomial of the fourth kind and degree n at 2 x - 1.
special_hermite_polynomial_h: The Hermite polynomial H of degree n at x (the physicists').
special_hermite_polynomial_he: The Hermite polynomial He of degree n at x (the probabilists').
special_laguerre_polynomial_l: The Laguerre polynomial of degree n at x.
special_legendre_polynomial_p: The Legendre polynomial of degree n at x.
special_log_softmax: The logarithm of `softmax` along a dimension, without overflow.
special_modified_bessel_i0: The modified Bessel function of the first kind and order 0.
special_modified_bessel_i1: The modified Bessel function of the first kind and order 1.
special_modified_bessel_k0: The modified Bessel function of the second kind and order 0.
special_modified_bessel_k1: The modified Bessel function of the second kind and order 1.
special_ndtri: The number below which a share of a normal distribution is.
special_round: The nearest whole number, or number of so many decimals; half goes to even.
special_scaled_modified_bessel_k0: exp(x) times the modified Bessel function of the second kind and order 0.
special_scaled_modified_bessel_k1: exp(x) times the modified Bessel function of the second kind and order 1.
special_softmax: exp(x) divided by its sum along a dimension, so that the results are positive and add up to 1.
special_spherical_bessel_j0: The spherical Bessel function of the first kind and order 0: sin(x) / x.
special_zeta: The Hurwitz zeta function: Σ 1 / (k + other)^input.
special_exp2: 2 to the power of each element.
special_expit: 1 / (1 + exp(-x)) for each element; another name of `sigmoid`.
special_expm1: exp(x) - 1, of which nothing is lost where x is small.
special_erf: The error function of each element.
special_erfc: 1 - erf(x), of which nothing is lost where erf is near 1.
special_erfinv: The number whose error function each element is.
special_digamma: The derivative of log Γ(x).
special_psi: The derivative of log Γ(x); another name of `digamma`.
special_gammaln: log |Γ(x)|; another name of `lgamma`.
special_gammainc: The lower incomplete gamma function, divided by Γ: the share below x for each pair (a, x).
special_gammaincc: The upper incomplete gamma function, divided by Γ: the share above x for each pair (a, x).
special_log1p: log(1 + x), of which nothing is lost where x is small.
special_logit: log(x / (1 - x)), of x that is brought into [eps, 1 - eps] first.
special_logsumexp: log(Σ exp(x)) over dimensions, without overflow.
special_multigammaln: The logarithm of the multivariate gamma function of p dimensions.
special_polygamma: The n-th derivative of `digamma` at each element.
special_sinc: sin(πx) / (πx), 1 at 0.
split: Parts of a dimension, so large as one number or a list of them says, as views.
split_with_sizes: Parts of a dimension that are so large as a list says, as views.
sqrt: The square root of each element; NaN for negative numbers.
square: The square of each element.
squeeze: A view without dimensions of size 1: all of them, or those that are named.
stack: Tensors of the same sizes joined along a new dimension.
std: The standard deviation of all elements, or over dimensions.
std_mean: The standard deviation and the mean of all elements, or over dimensions.
sub: The difference `input - alpha * other`, element by element.
sum: The sum of all elements, or over dimensions.
swapaxes: A view with two dimensions exchanged; another name of `transpose`.
swapdims: A view with two dimensions exchanged; another name of `transpose`.
t: A view of a matrix with its dimensions exchanged; a vector as it is.
take: Elements of the flattened tensor at these places.
take_along_dim: Elements along a dimension at places that indices say, as `argsort` gives them.
tan: The tangent of each element, in radians.
tanh: The hyperbolic tangent of each element.
tensor_split: Parts of a dimension as views: a number of them as even as can be, or cut before these places.
tile: The tensor so many times along each dimension, the last ones first, as a copy.
transpose: A view with two dimensions exchanged.
tril: The lower triangle of matrices; 0 above the diagonal.
tril_indices: The rows and columns of the elements of a lower triangle.
triu: The upper triangle of matrices; 0 below the diagonal.
triu_indices: The rows and columns of the elements of an upper triangle.
trunc: Each element without its fraction.
unbind: The slices along a dimension, as views.
unflatten: One dimension as several, as a view; one of their sizes may be -1.
uniform: Numbers drawn evenly from an interval, in the shape of the tensor.
unique_dim: The distinct slices along a dimension, in order.
unsqueeze: A view with a new dimension of size 1.
upsample_bicubic2d: An image at another size, by cubic interpolation.
var: The variance of all elements, or over dimensions.
var_mean: The variance and the mean of all elements, or over dimensions.
view_as: A view with the sizes of another tensor.
view_as_complex: A view of pairs in the last dimension as complex numbers.
view_as_real: A view of complex numbers as pairs in a new last dimension.
view_copy: The same elements with other sizes, as a copy.
vsplit: Parts of the first dimension, as views.
vstack: Tensors joined along the first dimension, vectors as rows.
where: The elements of `input` where a condition holds, those of `other` elsewhere; alone, where it holds.
xlogy: x log(y), 0 where x is 0.
zero: A tensor like this one with 0 everywhere.
zeros: A tensor of some sizes with 0 everywhere.
zeros_like: A tensor like another with 0 everywhere.
index: The elements at index tensors, which broadcast together; None takes a whole dimension.
masked_scatter: A copy in which the places where a mask is true hold the first elements of the source, in order.
histogram: How many elements, or what weight of them, lie between edges, and the edges.
histogramdd: How many points, or what weight of them, lie in as many bins of each dimension, and the edges of bins.
isclose: Whether two elements are as near as tolerances allow.
repeat_interleave: Each element of a dimension so often, one after the other.
bucketize: The number of boundaries below each element; with `right`, of those that it equals too.
searchsorted: The place in a sorted sequence where each value would be put for it to stay sorted.
nll_loss_nd: `nll_loss` of scores with any number of places.
round_: The nearest whole number, or number of so many decimals; half goes to even.
real: The real parts of complex numbers, as a view; a real tensor itself.
imag: The imaginary parts of complex numbers, as a view.
mT: A view of the matrices in the last two dimensions, transposed.
mH: The matrices in the last two dimensions, transposed and conjugated.
index_copy: A copy with slices of the source in the places of a dimension that `index` names.
index_put: A copy with values at index tensors; with `accumulate` they are added to what is there.
scatter_reduce: A copy in which each place is reduced with all elements of the source that `index` sends there.
"""

SUMMARIES = {name: text for name, _, text in (line.partition(": ") for line in _TEXT.strip().splitlines())}
