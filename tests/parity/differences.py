"""Every difference from PyTorch that the parity tests let pass, and why; `docs/parity.md` is made from this table.

python tests/parity/differences.py > docs/parity.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

import missing_names

_WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
_COMPLEX = ("complex64", "complex128")
_HALF = ("float16", "bfloat16")


@dataclass(frozen=True)
class Difference:
    """What may differ.

    Parameters
    ----------
    reason : str
        Why.
    scale : float
        Tolerances are this many times as wide.
    rtol, atol : float, optional
        Tolerances of a test that has its own, which compares with NumPy.
    strides : bool
        Whether strides are compared.
    refused : tuple of str
        Dtypes that PyTorch takes and opweave refuses, with an error.
    uncompared : tuple of str
        Dtypes of which nothing is compared.
    left_out : bool
        Whether nothing is compared.
    error : str
        The class of the error that opweave raises instead; `nothing` where it takes what PyTorch refuses.
    zeros : bool
        Whether a zero may have the other sign.
    overflow : bool
        Whether a number may stand where PyTorch's formula overflows.
    either : bool
        Whether a compiled zero may have another sign than an eager one.
    """

    reason: str
    scale: float = 1.0
    rtol: float | None = None
    atol: float = 0.0
    strides: bool = True
    refused: tuple[str, ...] = ()
    uncompared: tuple[str, ...] = ()
    left_out: bool = False
    error: str | None = None
    zeros: bool = False
    overflow: bool = False
    either: bool = False

    @property
    def what(self) -> str:
        """What may differ, in words."""
        parts = []
        if self.left_out:
            parts.append("not compared")
        if self.scale != 1:
            parts.append(f"tolerance × {self.scale:g}")
        if self.rtol is not None and self.rtol >= 1:
            parts.append(f"tolerance × {self.rtol:g}, none beside the largest")
        elif self.rtol is not None:
            parts.append(f"relative tolerance {self.rtol:g}, absolute {self.atol:g}")
        if not self.strides:
            parts.append("strides")
        if self.refused:
            parts.append("refuses " + ", ".join(self.refused))
        if self.uncompared:
            parts.append("does not compare " + ", ".join(self.uncompared))
        if self.zeros:
            parts.append("signs of zeros")
        if self.overflow:
            parts.append("finite where PyTorch's formula overflows")
        if self.error is not None:
            parts.append("takes it" if self.error == "nothing" else f"raises {self.error}")
        return "; ".join(parts)


_NONE = Difference("")


def _same(names: Iterable[str], difference: Difference) -> dict[str, Difference]:
    return dict.fromkeys(names, difference)


_EDGES = [f"{kind}_pad{n}d_backward" for kind in ("reflection", "replication") for n in (1, 2, 3)]
_CONVOLUTIONS = [
    "convolution", "convolution_backward", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d",
]  # fmt: skip

#: By the name of an op (all its overloads, if none is named, and its in-place form).
OPS: dict[str, Difference] = {
    **_same(
        (name for name in _CONVOLUTIONS if name not in ("convolution", "convolution_backward")),
        Difference("a sum of products, added up in another order", scale=16),
    ),
    "convolution": Difference(
        "a sum of products, added up in another order; PyTorch takes bool where there is nothing to add up",
        scale=16, refused=("bool",),
    ),
    "convolution_backward": Difference(
        "as convolution; of whole numbers PyTorch takes those calls alone in which there is nothing to compute",
        scale=16, refused=_WHOLE[1:],
    ),
    "sum": Difference("sums cancel: their error goes with the size of the terms", scale=20),
    "mm": Difference(
        "sums cancel: their error goes with the size of the terms; PyTorch takes bool where there is nothing to "
        "multiply",
        scale=20, refused=("bool",),
    ),
    **_same(("nll_loss", "nll_loss_forward"), Difference("a mean, added up in another order", scale=4)),
    **_same(_EDGES, Difference("PyTorch rounds a half type at each term; here once", scale=4)),
    **_same(
        ("bmm", "mv", "addmm", "matmul"),
        Difference("PyTorch takes bool where there is nothing to multiply", refused=("bool",)),
    ),
    "hardsigmoid_backward": Difference("PyTorch rounds the constant 1/6 to float32", scale=2e4),
    "grid_sampler": Difference("half types are computed in float32 here, and PyTorch rounds each step", scale=32),
    "grid_sampler_2d": Difference(
        "as grid_sampler; other types PyTorch takes where there is nothing to sample", scale=32,
        refused=_WHOLE + _COMPLEX,
    ),
    "grid_sampler_3d": Difference("as grid_sampler", scale=32),
    **_same(
        ("mH", "adjoint", "matrix_H"),
        Difference("PyTorch marks a view as conjugated, in the layout of its base; here numbers are conjugated",
                   strides=False),
    ),
    "conj_physical": Difference("of real numbers PyTorch gives the tensor itself, gaps and all", strides=False),
    "copy": Difference("PyTorch keeps the gaps between rows, of no use in a new tensor", strides=False),
    **_same(
        ("_cdist_backward", "_pdist_backward"),
        Difference("the layout of a gradient that no one looks at", strides=False, scale=4),
    ),
    "_cdist_forward": Difference("the differences of half types are too coarse for distances", refused=_HALF),
    "_pdist_forward": Difference(
        "PyTorch takes other types where there is no pair", refused=_WHOLE + _COMPLEX + _HALF
    ),
    **_same(
        ("adaptive_avg_pool1d", "adaptive_avg_pool3d"),
        Difference("PyTorch takes complex numbers for one mean alone, of all elements", refused=_COMPLEX),
    ),
    **_same(
        ("_softmax", "_log_softmax", "_adaptive_avg_pool2d", "adaptive_avg_pool2d"),
        Difference("defined for floating types; PyTorch takes others where there is no element",
                   refused=_WHOLE + _COMPLEX),
    ),
    **_same(
        ("_softmax_backward_data", "_log_softmax_backward_data"),
        Difference("PyTorch takes bool where there is no element", refused=("bool",)),
    ),
    "embedding_dense_backward": Difference(
        "a gradient of whole numbers, which nothing asks for, is float32 here", uncompared=_WHOLE,
    ),
    "dropout": Difference("of whole numbers the result is float32 here, as for any probability", uncompared=_WHOLE),
    "hinge_embedding_loss": Difference("a margin is a float, so the loss of whole numbers is one", uncompared=_WHOLE),
    "einsum": Difference("a product of other operands first, in another layout", scale=20, strides=False),
    "kthvalue": Difference("of equal elements any place may be told; here it is the first", uncompared=_WHOLE),
    "round.decimals": Difference("half types are rounded once, at the end", uncompared=_HALF),
    "soft_margin_loss": Difference("an exponential that is rounded to a half type and then added to 1", scale=4),
    **_same(
        ("view_as_complex", "complex"), Difference("there is no complex type of two float16", refused=("float16",))
    ),
    "gelu_backward": Difference("PyTorch's library fails on a tensor without elements", error="nothing"),
}  # fmt: skip

#: Of special values: infinities, NaN, zeros of both signs, the largest and the least numbers of each type.
SPECIAL_VALUES: dict[str, Difference] = {
    **_same(
        ("maximum", "minimum", "fmax", "fmin", "clamp"),
        Difference(
            "neither zero is larger: which one comes out differs with the length of a row in PyTorch, and "
            "with the machine's instruction here",
            zeros=True,
            either=True,
        ),
    ),
    "erf": Difference("PyTorch rounds the least numbers of bfloat16 to 0", atol=1e-39),
    "sigmoid_backward": Difference("PyTorch rounds each step of a half type", overflow=True),
    **_same(
        ("softplus_backward", "elu_backward"),
        Difference("PyTorch multiplies the gradient before it divides", atol=1e-6, overflow=True),
    ),
    "pow": Difference("of complex numbers that are not finite, NaN elsewhere", uncompared=_COMPLEX),
    "hardsigmoid_backward": Difference("PyTorch rounds the constant 1/6 to float32", scale=2e4),
    "logaddexp2": Difference("the sum of two halves is 1, of which PyTorch's logarithm is no 0", atol=1e-7, zeros=True),
    **_same(
        ("i0", "special_i1"),
        Difference("NaN at infinity, and infinite before the result is", overflow=True, zeros=True),
    ),
    "special_i1e": Difference("PyTorch's loses the sign of 0", zeros=True),
}

#: Of functions in a user's kernel, by their text.
KERNELS: dict[str, Difference] = {
    **_same(
        ("tl.maximum(x, y)", "tl.minimum(x, y)"),
        Difference("neither zero is larger, and these, which leave NaN out, take either", zeros=True),
    ),
}

#: Of numbers in a schema's place for a `Scalar`: of any kind and size, beside tensors of any type.
NUMBERS: dict[str, Difference] = {
    **_same(
        ("arange", "celu", "clamp", "clamp_min", "clamp_max", "hardtanh"),
        Difference("complex numbers and infinite steps are refused, whatever their imaginary part", error="DTypeError"),
    ),
    **_same(
        ("addmm", "addmv", "baddbmm"),
        Difference(
            "a factor that the type does not hold is refused where there is nothing to multiply too", error="DTypeError"
        ),
    ),
    "sub": Difference("an alpha of 64 bits without a sign is refused", error="DTypeError"),
    "rsub": Difference("an alpha of 64 bits without a sign is refused", error="DTypeError"),
}

#: Of all ops.
EVERYWHERE: dict[str, Difference] = {
    "more than PyTorch takes": Difference(
        "where PyTorch has no kernel for a type, or wants a tensor where a number would do, opweave computes what the "
        "op's definition says", error="nothing",
    ),
    "arguments that do not fit": Difference(
        "a TypeError, as in Python, where PyTorch's dispatcher raises RuntimeError", error="ArgumentError",
    ),
    "binary_cross_entropy of what is no probability": Difference(
        "compiled code does not look for it: the loss is NaN, which no sum hides, as torch.compile gives it",
        error="nothing",
    ),
    "lengths of segment_reduce that do not sum up": Difference(
        "compiled code does not look for it: what is behind the last segment is left out, as with unsafe=True",
        error="nothing",
    ),
    "gradients of equal extrema of segment_reduce": Difference(
        "each has its share; PyTorch gives each all of a gradient that is negative",
    ),
    "random numbers": Difference(
        "another generator: sizes, types and moments are tested, in tests/registry", left_out=True
    ),
}  # fmt: skip

_REORDERED = "the same numbers are added up in another order"
_NEW_LAYOUT = "a gradient is laid out anew"
_FAR = "places far from the start are rounded to float32, once or twice"

#: Of tests that compare on their own, by the name that they look the difference up by.
TESTS: dict[str, Difference] = {
    "activation, eager": Difference("exp and tanh of another library", scale=4),
    "Muon": Difference("directions are computed in bfloat16, and rounded in another order", rtol=1e-2, atol=4e-3),
    "agree, gradients": Difference(f"{_REORDERED}; {_NEW_LAYOUT}", scale=100, strides=False),
    "autocast": Difference("half types: PyTorch rounds each step of some", scale=4),
    "autocast, linear algebra": Difference("half types; LAPACK's matrices lie by columns", scale=20, strides=False),
    "autocast, ops in no list": Difference("half types: PyTorch rounds each step of some", scale=20),
    "autocast, gradients": Difference("half types", rtol=3e-2, atol=3e-2),
    "Bessel functions": Difference("computed in float64 here, in the type itself by PyTorch", scale=16),
    "beside PyTorch": Difference(_REORDERED, rtol=1e-4, atol=1e-5),
    "batch_norm, compiled": Difference(_REORDERED, rtol=1e-5, atol=1e-5),
    "batch_norm, gradients": Difference(_REORDERED, rtol=1e-4, atol=1e-4),
    "draws, gradients": Difference("sums of a few terms that cancel, in float64", rtol=0.0, atol=1e-7),
    "recurrent": Difference("gradients by another formula, in float64", rtol=1e-7, atol=1e-9),
    "recurrent layers, float32": Difference(_REORDERED, rtol=0.0, atol=5e-5),
    "recurrent layers, float64": Difference(_REORDERED, rtol=0.0, atol=1e-11),
    "recurrent layers, special values": Difference(_REORDERED, rtol=1e-4, atol=1e-6),
    "recurrent, compiled": Difference(_REORDERED, rtol=1e-7, atol=1e-12),
    "recurrent, autocast": Difference("half types", rtol=1e-2, atol=3e-2),
    "replayed, float64": Difference(_REORDERED, rtol=1e-8, atol=1e-8),
    "replayed, float32": Difference(f"{_REORDERED}; steep functions", rtol=2e-3, atol=2e-3),
    "cdist": Difference("powers of another library", scale=8),
    "cdist, from products, float32": Difference("from products of matrices, distances lose half of the digits",
                                                rtol=1e-3, atol=1e-3),
    "cdist, from products, float64": Difference("from products of matrices, distances lose half of the digits",
                                                rtol=1e-7, atol=1e-7),
    "cdist, results, float32": Difference("powers of another library", rtol=1e-5, atol=1e-5),
    "cdist, results, float64": Difference("powers of another library", rtol=1e-10, atol=1e-10),
    "control flow in float64": Difference(_REORDERED, rtol=1e-10, atol=1e-12),
    "distance, results": Difference(_REORDERED, rtol=1e-12, atol=1e-12),
    "einsum": Difference(f"{_REORDERED}, in another layout", scale=20, strides=False),
    "embedding_bag, gradients": Difference(_REORDERED, rtol=1e-12, atol=1e-12),
    "gradients of registered ops": Difference(_REORDERED, rtol=1e-12),
    "grid_sample": Difference("places are computed in another order; what is far from the image cancels", scale=1e3),
    "grid_sample, compiled gradients": Difference("as above, and squared", scale=1e4),
    "grid_sample, float64": Difference("as above", rtol=1e-9, atol=1e-9),
    "grid_sample, gradients": Difference(f"as above; {_NEW_LAYOUT}", scale=1e3, strides=False),
    "grid_sample, half types": Difference("half a place is a large part of a half type's digits", scale=32),
    "nn, gradients": Difference(_REORDERED, rtol=1e-9, atol=1e-12),
    "nn, gradients of attention": Difference(_REORDERED, rtol=1e-8, atol=1e-10),
    "nn, gradients of bfloat16": Difference("bfloat16", rtol=1.6e-2, atol=1e-2),
    "nn, gradients of float32": Difference("half types in float32", rtol=2e-3, atol=1e-3),
    "nn, initial values": Difference("other random numbers: moments, quantiles", rtol=1e-7, atol=0.1),
    "nn, orthogonal initial values": Difference("a product of float32", rtol=1e-5, atol=1e-5),
    "nn, gradients through norms": Difference(_REORDERED, rtol=1e-7, atol=1e-9),
    "pad, compiled gradients": Difference(_REORDERED, rtol=1e-5, atol=1e-5),
    "pointwise, gradients": Difference("functions of another library", rtol=1e-10, atol=1e-11),
    "pointwise, gradients of bfloat16": Difference("bfloat16", rtol=2e-2, atol=2e-3),
    "pointwise, gradients of float32": Difference("functions of another library", rtol=2e-5, atol=2e-6),
    "pointwise, rounded": Difference("PyTorch rounds a constant to float32", rtol=1e-7, atol=1e-8),
    "resample, factors": Difference(_REORDERED, scale=64),
    "resample, factors, gradients": Difference(f"{_REORDERED}; {_NEW_LAYOUT}", scale=64, strides=False),
    "complex": Difference(_REORDERED, scale=8),
    "control flow": Difference(_REORDERED, rtol=1e-10, atol=1e-12),
    "control flow, gradients": Difference(_REORDERED, rtol=1e-9, atol=1e-11),
    "convolution": Difference(_REORDERED, scale=16),
    "convolution, gradients": Difference(f"{_REORDERED}; {_NEW_LAYOUT}", scale=1e3, strides=False),
    "convolution, one example": Difference("a batch of convolutions is one, in its layout", scale=16, strides=False),
    "distance, gradients": Difference(_REORDERED, rtol=1e-9, atol=1e-9),
    "edges, gradients": Difference("half types: PyTorch rounds at each term", scale=4),
    "export": Difference("compiled products", rtol=1e-5),
    "fft, layout of sizes 1": Difference("the stride of a dimension of size 1 says nothing", strides=False, scale=8),
    "fft": Difference("another library; the stride of a dimension of size 1 says nothing", strides=False, scale=8),
    "linalg": Difference(_REORDERED, scale=8),
    "fft, gradients": Difference(_REORDERED, rtol=1e-10, atol=1e-10),
    "func": Difference(_REORDERED, rtol=1e-9, atol=1e-11),
    "functional": Difference(_REORDERED, scale=8),
    "functional, slopes at the ends": Difference("PyTorch rounds 1e-12 to float32", scale=1e4),
    "functional, resized": Difference("places are rounded to the type, and volumes mixed in two steps", scale=64,
                                      strides=False),
    "gradients": Difference(_REORDERED, rtol=1e-8, atol=1e-10),
    "gradients, hardsigmoid": Difference("PyTorch rounds the constant 1/6 to float32", rtol=1e-7, atol=1e-10),
    "indices, gradients": Difference(_REORDERED, rtol=1e-10, atol=1e-10),
    "models": Difference(_REORDERED, rtol=1e-8, atol=1e-9),
    "models in float32": Difference(_REORDERED, rtol=1e-5),
    "models, gradients in float32": Difference("norms of few numbers magnify what is rounded", rtol=1e-7, atol=1e-3),
    "models, losses in training": Difference("steps of AdamW magnify what is rounded", rtol=1e-8),
    "optim": Difference("float32 steps over many iterations", rtol=2e-5, atol=2e-6),
    "pad": Difference("PyTorch has many paths, with as many layouts", strides=False),
    "pad, compiled": Difference("exp of another library", scale=4),
    "pairs of types": Difference(
        "rounding of PyTorch's approximations", rtol=2.0,
    ),
    "registration": Difference("functions of another library", rtol=2e-6, atol=1e-6),
    "vmap of cond": Difference("functions of another library", rtol=1e-12),
    "einsum, compiled": Difference(_REORDERED, rtol=1e-7),
    "sort, compiled": Difference("exp of another library", rtol=1e-6),
    "dropout": Difference("what is kept is divided, or multiplied by the inverse", rtol=1e-7),
    "alpha_dropout": Difference("its constants are rounded", rtol=1e-9, atol=1e-9),
    "nn.utils": Difference("float32", rtol=2e-5, atol=2e-6),
    "nn.utils, gradients": Difference("float32", rtol=2e-4, atol=2e-5),
    "distributions": Difference(_REORDERED, rtol=1e-8, atol=1e-9),
    "distributions, von Mises": Difference("PyTorch's Bessel functions have seven digits", rtol=1e-5, atol=1e-6),
    "distributions, compiled": Difference("float32", rtol=2e-4, atol=1e-5),
    "distributions, gradients": Difference(_REORDERED, rtol=1e-6, atol=1e-9),
    "distributions, gradients of means of draws": Difference("means of 20,000 random draws", rtol=0.1, atol=0.1),
    "gamma, gradients of draws": Difference("PyTorch approximates them to three digits, here to seven", rtol=2e-3),
    "draws": Difference("how often some thousand random draws give a number", rtol=0.0, atol=0.04),
    "adaptive pooling": Difference(f"{_REORDERED}; sums of both signs", scale=50),
    "pooling": Difference(_REORDERED, scale=4),
    "pooling, gradients": Difference(f"{_REORDERED}; {_NEW_LAYOUT}", scale=4, strides=False),
    "pooling, compiled gradients": Difference(_REORDERED, scale=100),
    "resample": Difference(_REORDERED, scale=8),
    "resample, large images": Difference(_FAR, rtol=1e-4, atol=1e-3),
    "resample, large images, gradients": Difference(_FAR, rtol=1e-4, atol=3e-3),
    "written, gradients": Difference(_REORDERED, rtol=1e-8, atol=1e-10),
    "resample, gradients": Difference(f"{_REORDERED}; {_NEW_LAYOUT}", scale=8, strides=False),
    "scatter, half types": Difference("PyTorch rounds a half type at each step; here once", scale=16),
    "embedding, half types": Difference("PyTorch rounds a half type at each row; here once", scale=64),
    "scatter": Difference(_REORDERED, scale=4),
    "windows": Difference("sines of another library, and of sums in another order", scale=16),
    "vmap": Difference("a batch has the layout of the whole", strides=False),
}  # fmt: skip

_NO_DATA = "without data PyTorch takes more than its kernels do, and runs decompositions of some, whose ops are cast"
_NO_FORMULA = "PyTorch has none"


def _unmatched(reason: str) -> Difference:
    return Difference(reason, left_out=True)


#: What tests leave out, or put in the place of what PyTorch gives, by the name that they ask `left_out` for.
INPUTS: dict[str, Difference] = {
    "Bessel functions near the largest number": _unmatched(
        "PyTorch's overflow where the exponential does, before the function, and are NaN at infinity"
    ),
    "autocast without data, what kernels refuse": _unmatched(_NO_DATA),
    "autocast without data, backward ops": _unmatched(_NO_DATA),
    "autocast without data, cells of recurrent networks": _unmatched("PyTorch's rule fails where there are no biases"),
    "autocast without data, _histogramdd_from_bin_tensors": _unmatched("PyTorch, without a rule, asks for a GPU"),
    "autocast without data, native_group_norm of bfloat16 and float32": _unmatched(
        "PyTorch's rule forgets the type that its kernel gives statistics of float32 parameters"
    ),
    "autocast, _cdist_forward": _unmatched(
        "PyTorch's calls a matrix product inside, which is cast and makes the distances of half precision"
    ),
    "autocast, bilinear": _unmatched("its products are cast; PyTorch's sum is none of the products that it casts"),
    "autocast, linalg_pinv": _unmatched("PyTorch's ends in a matrix product, which is cast"),
    "cdist of NaN by the largest difference": _unmatched("PyTorch's leaves NaN out, where pdist does not"),
    "clamp, gradients of bounds that broadcast": _unmatched("PyTorch masks in place, which needs bounds of full size"),
    "cond, operands of the branch that did not run": _unmatched("PyTorch's gradient is 0, here there is none"),
    "convolution of volumes with channels last, strides": _unmatched(
        "PyTorch gives a row-major result where it has no other kernel, as for a batch of one; here it follows"
    ),
    "embedding_bag, gradients scaled by frequency": _unmatched(
        "PyTorch divides by the number of another row's indices"
    ),
    "export, assertions on sizes": _unmatched("guards here, nodes there"),
    "export, outputs that are None": _unmatched("part of the structure here, outputs there"),
    "sizes changed in place by compiled code, where gradients are recorded": _unmatched(
        "here refused for leaves, for views that are written too and by as_strided_, whose gradients need other sizes"
    ),
    "fft of nothing, or twice over a dimension": _unmatched("PyTorch takes some, with values that mean nothing"),
    "gradients of samples with a narrow tensor": _unmatched(
        "of a tensor that has a type of its own, rounding hides them"
    ),
    "gradients of an average of nothing": _unmatched(_NO_FORMULA),
    "hardtanh_backward, limits of NaN": _unmatched("inside of what is NaN lies all in PyTorch, or nothing, by type"),
    "hardsigmoid, second derivative": _unmatched(_NO_FORMULA),
    "mish, silu and hardsigmoid, derivative of the backward op": _unmatched(_NO_FORMULA),
    "numbers beside tensors, gradients": _unmatched("PyTorch has no overload of some, or one without formula"),
    "padding, circular, by more than there is": _unmatched(
        "PyTorch takes some of it from memory that it has not written"
    ),
    "numbers beyond half types": _unmatched(
        "PyTorch converts a number to a half type first, or to float32; here to the type that is computed with"
    ),
    "numbers, products of infinities and complex numbers": _unmatched(
        "sums of products, and parts of complex numbers, are NaN elsewhere where a factor is not finite"
    ),
    "powers of float64 by minus one half, without AVX-512": _unmatched(
        "PyTorch's vectors give 0.7071067811865475 for 2 ** -0.5 there, which is 0.70710678118654752"
    ),
    "roots of float64, where those of PyTorch's vectors are not the nearest": _unmatched(
        "on processors of Intel PyTorch has MKL's, which gives 1.414213562373095 for 2, which is 1.4142135623730951"
    ),
    "powers of float16 by one half": _unmatched(
        "PyTorch has roots for the other types, and C's pow for this one, in which -inf has a root"
    ),
    "pairs of types, whole numbers beside half types": _unmatched(
        "PyTorch rounds a whole number to the half type before anything is computed; here the result alone is rounded"
    ),
    "remainder, quotients that overflow": _unmatched("PyTorch finds a remainder by way of the quotient, and gives NaN"),
    "resample, second derivative by factors of 1": _unmatched("PyTorch's gradient is not that of its result"),
    "resample, images of width 1": _unmatched("PyTorch's kernel that goes dimension by dimension takes wrong elements"),
    "samples, ops that PyTorch does not have": _unmatched("ops of this package, which others are written with"),
    "schemas that are no schemas": _unmatched("of TorchScript's classes, or with two arguments of one name"),
    "scatter, second derivative of a product with zeros": _unmatched(_NO_FORMULA),
    "sgn, second derivative at 0": _unmatched("PyTorch's is NaN"),
    "written, views of constants by ops without derivative": _unmatched(
        "PyTorch forgets to refuse, and gives 0, where what is written is a view of a constant"
    ),
    "written, views of complex numbers transposed in place": _unmatched(
        "PyTorch's gradient of the base is not that of its values, or has the wrong shape"
    ),
    "soft_margin_loss, gradient of the target": _unmatched(_NO_FORMULA),
    "tensor of NumPy numbers in another type": _unmatched("PyTorch takes no NumPy float for an integer"),
    "topk, any order": _unmatched("what is not ordered is sorted first"),
    "vmap, arguments that have their defaults": _unmatched("PyTorch does not hand them to the rule"),
    "registration, text of a default device": _unmatched("PyTorch prints it without quotes"),
}  # fmt: skip

#: Of the first two derivatives of samples.
NOT_DIFFERENTIATED: dict[str, Difference] = {
    "empty_like": Difference("its values are undetermined", left_out=True),
    **_same(
        ("normal_functional", "uniform", "bernoulli"), Difference("random, or without a counterpart", left_out=True)
    ),
    "native_layer_norm": Difference("PyTorch takes the mean and the deviation as constants; here they have gradients"),
}  # fmt: skip

_UNDIFFERENTIATED = "PyTorch has no derivative, of that argument or type"
_KEPT = "PyTorch keeps the result for the gradient, which opweave does not need"
_OVERLAPPING = "elements of the view share memory: what several writes to one place leave is undefined"

#: Of programs that write in place, by the name of the op whose result is written, or that writes. `takes it`: opweave
#: computes the gradient that the program has without a write, where PyTorch raises an error.
WRITTEN: dict[str, Difference] = {
    **_same(
        ("where", "silu", "silu_backward", "hardsigmoid_backward", "mish_backward", "_cdist_backward",
         "_pdist_backward", "binary_cross_entropy_with_logits", "nll_loss_backward", "nan_to_num", "embedding",
         "binary_cross_entropy", "soft_margin_loss", "native_layer_norm_backward", "native_group_norm_backward",
         "_native_batch_norm_legit_no_training",
         "batch_norm", "_batch_norm_no_update", "_histogramdd_from_bin_tensors", "_segment_reduce_backward", "zero",
         "copy", "heaviside", "heaviside_"),
        Difference(_UNDIFFERENTIATED, error="nothing"),
    ),
    **_same(("asinh_", "acosh_", "atanh_"), Difference("PyTorch has no derivative of the in-place form",
                                                        error="nothing")),
    **_same(
        ("prod", "_native_batch_norm_legit", "native_batch_norm", "special_log_ndtr"),
        Difference(_KEPT, error="nothing"),
    ),
    **_same(
        ("scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce_"),
        Difference("PyTorch's gradient of a source larger than the index has the size of the index, and it has none of "
                   "reductions by name", error="nothing"),
    ),
    "native_group_norm": Difference("PyTorch's derivative fails where there is nothing to normalize", error="nothing"),
    "clamp": Difference("PyTorch masks in place, which needs bounds of full size", error="nothing"),
    "lstm_cell": Difference("the new cell is kept for the gradient; PyTorch keeps its tanh", error="AutogradError"),
    "abs_": Difference("PyTorch refuses complex numbers", error="nothing"),
    "silu_": Difference("PyTorch's in-place form forgets to conjugate", left_out=True),
    "sgn_": Difference("PyTorch's gradient is a tensor without memory, which NumPy does not take", error="nothing"),
    **_same(("as_strided", "unfold"), Difference(_OVERLAPPING, error="ShapeError")),
    **_same(
        ("logical_and_", "logical_or_", "logical_xor_", "logical_not_"),
        Difference("PyTorch leaves the history of what is overwritten, and gives 1 for a gradient that is 0, also of "
                   "leaves", error="AutogradError", left_out=True),
    ),
    "native_layer_norm": Difference("PyTorch takes the mean and the deviation as constants", left_out=True),
    "masked_scatter_backward": Difference("a constant where nothing was chosen", left_out=True),
    **_same(("hardsigmoid", "hardsigmoid_"), Difference("PyTorch rounds the constant 1/6 to float32", rtol=1e-7)),
}  # fmt: skip

#: Classes of errors that stand for others in registration: ours for PyTorch's.
ERRORS: dict[str, str] = {
    **dict.fromkeys(
        ("ArgumentError for RuntimeError", "ArgumentError for ValueError"),
        "what does not fit a parameter is a TypeError, as in Python",
    ),
    **dict.fromkeys(
        ("SchemaError for RuntimeError", "SchemaError for TypeError"),
        "a text that is no schema is a ValueError wherever it is met",
    ),
    "RegistrationError for ValueError": "a registration that contradicts what is there is a RuntimeError",
}

_TENSORS = (
    "Tensor", "Optional[Tensor]", "Tensor | None", "Sequence[Tensor]", "typing.Sequence[Tensor]", "List[Tensor]",
    "list[Tensor]", "Sequence[Optional[Tensor]]", "List[Optional[Tensor]]",
)  # fmt: skip
_NO_WORD = "refused with an error that says what is wrong, where PyTorch stumbles over it or does so only at a call"

#: Cases of `test_registration.py`.
REGISTRATION: dict[str, Difference] = {
    **_same(
        [f"annotation {kind} keyword" for kind in _TENSORS],
        Difference("keyword-only tensors are taken; they have no gradients", error="nothing"),
    ),
    **_same(
        [f"annotation Optional[{kind}[Tensor]] {where}"
         for kind in ("Sequence", "List") for where in ("first", "last", "keyword")],
        Difference("optional lists of tensors are taken", error="nothing"),
    ),
    "default no Tensor": Difference("None is a default of an optional tensor", error="nothing"),
    "library_fragment_with_key": Difference("a fragment may have its own key", error="nothing"),
    "schema (Tensor x, Tensor x) -> Tensor": Difference("two parameters of one name", error="SchemaError"),
    "write_to_a_leaf": Difference("PyTorch goes on to something that is wrong", error="AutogradError"),
    "fake_context_outside": Difference("PyTorch gives None", error="FakeTensorError"),
    "mode_rule_twice": Difference("PyTorch's NotImplementedError has no text", error="RegistrationError"),
    "kernel_of_no_op": Difference("ops are defined before they get kernels", error="RegistrationError"),
    "vmap_of_a_write": Difference("PyTorch goes on to something that is wrong", error="RegistrationError"),
    "switch an unknown device": Difference("PyTorch takes it, without effect", error="ArgumentError"),
    "setup_of_other_parameters": Difference(_NO_WORD, error="RegistrationError"),
    "vmap_keyword_tensor": Difference(_NO_WORD, error="RegistrationError"),
    "custom_op no function": Difference(_NO_WORD, error="ArgumentError"),
}  # fmt: skip


@dataclass(frozen=True)
class Meant:
    """A difference between runs of a random program.

    Parameters
    ----------
    what : str
        What differs, in words.
    reason : str
        Why.
    why : str
        A pattern for what the comparison says.
    program : str
        A pattern for the program.
    """

    what: str
    reason: str
    why: str
    program: str = ""


_PIECES = "hardshrink|hardtanh|relu6|elu|celu|selu|hardswish"
_SQUARES = r"std|var|norm|similarity|mse|\*\* 3|pow_\(3|addcmul"

#: What `torch_programs.py` lets pass; the first that fits says why.
PROGRAMS = (
    Meant(
        "writes to a tensor whose elements share memory are refused",
        "the result depends on the order of the writes",
        r"opweave alone (raises|refuses).*several elements of the tensor written to share memory",
    ),
    Meant(
        "the gradient of scatter_add with a src larger than the index",
        "PyTorch cannot compute it",
        "ScatterAddBackward0 returned an invalid gradient",
    ),
    Meant(
        "gradients that PyTorch refuses since a tensor was written to",
        "PyTorch has saved what the formula here does not need",
        "PyTorch alone refuses gradients: one of the variables needed .*modified by an inplace",
    ),
    Meant(
        "writes to one of the parts of a tensor (split, chunk, unbind)",
        "each is a view like any other, with its gradients",
        r"PyTorch alone (raises|refuses).*(returns multiple views|Output \d of \w+ is a view and)",
        "split|unbind|chunk",
    ),
    Meant(
        "a view made under no_grad does not require grad",
        "no gradient flows through it in PyTorch either, which says that it does",
        r"type: expected \(.*True\), got \(.*False\)|created in no_grad mode and its base or another view",
        r"no_grad|def run.*\.requires_grad_",
    ),
    Meant(
        "strides of what select_scatter and its like return",
        "PyTorch keeps the gaps between rows, of no use in a new tensor",
        "strides: expected",
        "(slice|select|diagonal)_scatter",
    ),
    Meant(
        "strides of logsigmoid",
        "PyTorch lays its result out anew, as rows",
        "strides: expected|need a copy, since they join dimensions that are apart",
        "logsigmoid",
    ),
    Meant(
        "what as_strided shows of such a tensor",
        "the places in memory are others",
        "values: expected",
        "(slice|select|diagonal)_scatter.*as_strided",
    ),
    Meant(
        "gradients of prod beside a NaN or an infinity",
        "PyTorch divides the product by each element, NaN if that is; here the others are multiplied",
        r"gradient \d+: expected .*nan",
        r"\.prod\(",
    ),
    Meant(
        "strides of what nonzero returns",
        "PyTorch gives the places in columns",
        "strides: expected|last dimension with stride 1",
        r"nonzero\(\)",
    ),
    Meant(
        "a matrix transpose of what is no matrix is refused",
        "deprecated in PyTorch",
        "alone raises ShapeError: mT",
    ),
    Meant(
        "remainders are differentiable by the divisor too, and heaviside",
        "PyTorch has no formula for some",
        r"derivative for aten::\w+ is not implemented",
        "remainder|fmod|%|heaviside",
    ),
    Meant(
        "squares of 1e30 overflow",
        "PyTorch takes some sums in float64 and rounds the root of them alone",
        "expected",
        f"1e\\+30.*({_SQUARES})|({_SQUARES}).*1e\\+30",
    ),
    Meant(
        "the gradient at a NaN of what is made of pieces (hardtanh, elu, ...)",
        "in PyTorch it depends on where in the tensor the NaN is",
        "gradient",
        f"nan.*({_PIECES})",
    ),
    Meant(
        "logical_not_ and its like are writes, whose gradient is zero",
        "PyTorch lets the gradient of what was there before pass, and overwrites leaves",
        r"a (view of a )?leaf|made without recording|one of several views|gradient|type: expected",
        r"\.logical_\w+_\(",
    ),
    Meant(
        "strides of a number to the power of a tensor, of signbit and of masked_fill",
        "PyTorch lays some of these out anew, as rows",
        "strides: expected|need a copy, since they join dimensions that are apart",
        r"\) \*\* |pow\(2|signbit|masked_fill\(",
    ),
    Meant(
        "signs of zeros in complex numbers",
        "PyTorch negates by a subtraction from 0, and multiplies what is added by 1",
        r"values: expected.*j",
        r"= -\w+|neg|add|sub| [-+]=? ",
    ),
    Meant(
        "which of equal elements gets the gradient of kthvalue, median and topk",
        "any may; here it is the first",
        "gradient",
        r"kthvalue|median|topk",
    ),
    Meant(
        "addcdiv takes integers, lerp an end of another type",
        "more than PyTorch takes",
        "PyTorch alone raises RuntimeError: (Integer division with addcdiv|expected dtype .* for `end`)",
    ),
    Meant(
        "gradients of a leaf after t_ and its like under no_grad",
        "PyTorch holds them to the sizes of before, and refuses them",
        "PyTorch alone refuses gradients: .*invalid gradient at index",
        "no_grad.*(t|transpose|swapaxes|squeeze)_",
    ),
    Meant(
        "gradients of a written view and of other results of a compiled function",
        "the way back is walked for each, with zeros for the other: 0 / 0 is NaN where their sum has none",
        r"compiled: gradient \d+: expected .*got .*nan",
        r"\(leaf_\w \* 1\)[.\[].*_\(",
    ),
    Meant(
        "whole numbers beside half types",
        "PyTorch makes infinities of large ones before anything is computed",
        "expected",
        r"922337203685477580\d.*float16",
    ),
    Meant(
        "t_ and its like under no_grad are refused where a history would be lost",
        "PyTorch keeps a history that no longer fits the sizes",
        "the sizes of a tensor with a history cannot be changed without recording",
    ),
    Meant(
        "roots as powers of half types",
        "PyTorch takes roots of float32 and float64 alone, which know the sign of zero and that -inf has none",
        "expected",
        r"float16.*(\*\* -?0\.5|pow_?\(-?0\.5)",
    ),
    Meant(
        "compiled code refuses gradients that cannot be traced, also where those of other results are asked for",
        "the way back from all results is traced at once; the error says what to change",
        "compiled: opweave alone refuses gradients: (a tensor needed for backward was modified|.*no autograd formula)",
    ),
    Meant(
        "compiled code leaves out what nobody uses, its errors too",
        "as does every compiler of PyTorch's",
        "compiled: eager opweave alone raises OutOfRangeError",
        "# raises",
    ),
    Meant(
        "parts of what gets requires_grad_() later, written in compiled code",
        "refused there",
        "compiled: opweave alone raises AutogradError: .*made without recording",
        r"def run.*requires_grad_",
    ),
    Meant(
        "broadcast_tensors gives views",
        "PyTorch gives the tensor itself where nothing is stretched",
        "type: expected|a view made without recording",
        "broadcast_tensors",
    ),
    Meant(
        "clamp of truth values is refused",
        "they have no order",
        "clamp: not defined for bool",
    ),
    Meant("gelu", "PyTorch's is NaN at infinity, and 1e-6 off elsewhere", "expected.*nan", "gelu"),
    Meant("complex numbers of float16", "there are none here; the next larger ones are made", "complex32"),
    Meant(
        "whole numbers and truth values do not require grad",
        "PyTorch marks what a comparison in place writes, of any type",
        r"type: expected .*'(bool|u?int\d+)', True\)",
    ),
    Meant(
        "a write through a view by dtype is refused where gradients flow",
        "bits have no derivatives",
        "in-place write through a view of another element type|made without recording|a view of a leaf",
        r"view\(T",
    ),
    Meant(
        "gradients behind a view of another dtype",
        "PyTorch loses them once such a tensor is written to",
        "gradient|type: expected",
        r"\.view\(T\.(float|bfloat|complex)",
    ),
    Meant(
        "x.data shares its version",
        "a write through it after x was saved for the backward is an error, not a wrong gradient",
        "opweave alone refuses gradients: a tensor needed for backward was modified",
        r"\.data\b",
    ),
    Meant(
        "types are looked at also where there is no element",
        "whether a call is allowed must not depend on sizes",
        "opweave alone raises (DTypeError|AutogradError: .*one of several views)",
        r"\(0, 4\)",
    ),
)


def of_op(name: str, overload: str) -> Difference:
    """What may differ in the results of an op; an entry of the overload stands before one of the packet."""
    return OPS.get(f"{name.removesuffix('_')}.{overload}") or OPS.get(name) or OPS.get(name.removesuffix("_")) or _NONE


def of_test(name: str) -> Difference:
    """What may differ in a test that says by which name."""
    return TESTS[name]


def written(name: str) -> Difference | None:
    """What may differ in a program that writes the result of an op, or that an op writes."""
    return WRITTEN.get(name)


def of_written(name: str, usual: Difference) -> Difference:
    """The tolerance of such a program."""
    found = WRITTEN.get(name)
    return found if found is not None and found.rtol is not None else usual


def left_out(name: str) -> bool:
    """Whether a test may leave something out; True for what the table has, an error for what it has not."""
    return INPUTS[name].left_out


_SPARSE = "there are no sparse tensors"
_JIT = "compiles CUDA C++"
_PYTHON = "the result, or an argument, is a Python value that depends on data, which one graph has not"

#: Of PyTorch's OpInfo, by entry, or by entry and way to call it: what `test_opinfo` does not try.
OPINFO: dict[str, str] = {
    "chalf": "there are no complex numbers of half precision",
    **dict.fromkeys(("sparse.sampled_addmm", "sparse.mm.reduce", "to_sparse"), _SPARSE),
    **dict.fromkeys(("jiterator_unary", "jiterator_binary", "jiterator_4inputs_with_extra_args",
                     "jiterator_binary_return_by_ref", "jiterator_2inputs_2outputs"), _JIT),
    **dict.fromkeys(("item compiled", "allclose compiled", "equal compiled", "narrow compiled",
                     "tensor_split compiled", "histogram compiled", "histogramdd compiled",
                     "nn.functional.one_hot compiled"), _PYTHON),
    "as_strided_scatter gradient": "PyTorch's is zero for the elements that are kept, and not for those that are "
                                   "overwritten: the wrong way round; here it is that of finite differences",
    "native_layer_norm gradient": "the mean and the deviation have gradients here, where PyTorch's are constants",
}  # fmt: skip


PAGE = """# Parity with PyTorch

`make parity` runs the tests that compare with PyTorch 2.13. At the end it prints how many comparisons it made; with
`ARGS=-v`, of each op. A comparison is one call of one op, with one sample of arguments of one dtype, whose values,
dtype, sizes and strides, or derivatives, or class of error, were held against those of PyTorch. All declared samples
of every op are called in every dtype there is, also in those that an op does not take. A call that PyTorch takes and
opweave does not fails the test, unless the table below has it, and so does an error of another class.

Tolerances, relative and beside the largest number: float16 2e-3, bfloat16 1.6e-2, float32 2e-6, complex64 5e-6, float64
and complex128 1e-12. Whole numbers are equal.

Everything that the tests let pass stands below; they take their exceptions from this table
(`tests/parity/differences.py`).

## By op

| op | what may differ | why |
|---|---|---|
{ops}

## Special values

Of every pointwise op in every dtype: infinities, NaN, zeros of both signs, the largest and the least numbers, each
combined with each, eager and compiled.

| op | what may differ | why |
|---|---|---|
{special}

Functions in a user's kernel:

| function | what may differ | why |
|---|---|---|
{kernels}

## Numbers

Numbers of every kind and size beside tensors of every dtype.

| op | what may differ | why |
|---|---|---|
{numbers}

## Everywhere

| what | what may differ | why |
|---|---|---|
{everywhere}

## By test

Tests of whole functions, gradients and compiled code, by what they compare.

| what | what may differ | why |
|---|---|---|
{tests}

## Inputs

What tests leave out, or do not take from PyTorch. (Inputs that have no meaning in either are not listed: the tests say
of each that it is no difference.)

| what | why |
|---|---|
{inputs}

## Derivatives of samples

| op | what may differ | why |
|---|---|---|
{derivatives}

## Writes in place

Gradients of an op followed by a write to its result, and of its in-place form on tensors and views; "takes it" means
that the gradient is that of the program without a write, where PyTorch raises an error.

| op | what may differ | why |
|---|---|---|
{written}

## Registration

| case | what may differ | why |
|---|---|---|
{registration}

## OpInfo

`tests/parity/test_opinfo.py` calls opweave by PyTorch's public names on the samples that PyTorch tests its own
operators with (`op_db`, 702 entries): as functions, methods, in place, into `out=`, with gradients, and some compiled.
It does not try:

| entry, and way to call it | why |
|---|---|
{opinfo}

## Names

Of the modules that users import most, `tests/parity/missing_names.py` lists what is missing; a test compares it with
PyTorch's.

{names}

## Layouts

Beside those of the tables above, these results lie otherwise than PyTorch's on OpInfo's samples, plain, transposed, in
channels-last and with gaps: `argwhere` and `nonzero` (rows here), `addbmm`, `put`, `ldexp`, `mvlgamma`, `masked_fill`,
`renorm`, `logcumsumexp`, `bernoulli`, `max_pool1d`, `conv1d`, `conv_transpose1d` and `interpolate` of transposed
tensors, `interpolate`, `conv_transpose3d` and `max_unpool2d` in channels-last, `slice_scatter`, `select_scatter`,
`diagonal_scatter` and `as_strided_scatter` (no gaps here), `unsafe_split` and `unsafe_chunk` (copies here), and of
linear algebra `cholesky_inverse`, `cholesky_solve`, `householder_product`, `ldl_factor`, `ldl_solve`, `lu_solve`,
`ormqr`, `solve_triangular`, `tensorinv`, the deprecated `triangular_solve`, and some shapes of `lstsq`.

## Random programs

`tests/parity/torch_programs.py` makes programs of views, in-place ops, dtypes and special values, and runs them in
PyTorch and here, eager and compiled. What it lets pass:

| what | why |
|---|---|
{programs}

## Errors

Classes of errors that stand for others:

| class | why |
|---|---|
{errors}
"""


def _rows(table: dict[str, Difference], mark: str = "") -> str:
    return "\n".join(f"| {_code(name, mark)} | {d.what} | {d.reason} |" for name, d in sorted(table.items()))


def _code(name: str, mark: str) -> str:
    """A name as a cell; a bar would end it."""
    return f"{mark}{name}{mark}".replace("|", "\\|")


def page() -> str:
    """The page of the documentation."""
    return PAGE.format(
        ops=_rows(OPS, "`"), special=_rows(SPECIAL_VALUES, "`"), numbers=_rows(NUMBERS, "`"),
        kernels=_rows(KERNELS, "`"),
        everywhere=_rows(EVERYWHERE), tests=_rows(TESTS),
        derivatives=_rows(NOT_DIFFERENTIATED, "`"), written=_rows(WRITTEN, "`"), registration=_rows(REGISTRATION, "`"),
        names=missing_names.table(),
        opinfo="\n".join(f"| {_code(name, '')} | {reason} |" for name, reason in sorted(OPINFO.items())),
        inputs="\n".join(f"| {_code(name, '')} | {d.reason} |" for name, d in sorted(INPUTS.items())),
        programs="\n".join(f"| {meant.what} | {meant.reason} |" for meant in PROGRAMS),
        errors="\n".join(f"| {name} | {reason} |" for name, reason in sorted(ERRORS.items())),
    )  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(page())
