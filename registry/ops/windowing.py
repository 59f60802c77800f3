"""Window functions, and Fourier transforms of the windows of a signal (STFT) and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.indexing import has_data
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.samples import Make
from opweave.registry.tensor import Tensor, describe

aten = ops.aten

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

# ---- windows -------------------------------------------------------------------------------------------------------


def _window(
    name: str, length: int, periodic: bool, dtype: DType | None, device: Any, shape: Callable[[Tensor, int], Any]
) -> Tensor:
    """`shape(places, number of places)`; a periodic window is a symmetric one without its last place."""
    dtype = dtype or get_default_dtype()
    if dtype.kind != "f":
        raise DTypeError(f"{name}: only floating types", got=repr(dtype))
    if length < 0:
        raise ShapeError(f"{name}: the length must not be negative", got=f"window_length={length}")
    if length < 2:
        return aten.ones.default([length], dtype=dtype, device=device)
    count = length + 1 if periodic else length
    found = shape(aten.arange.default(count, dtype=dtype, device=device), count)
    return aten.slice.Tensor(found, 0, 0, length) if periodic else found


def _raised_cosine(alpha: float, beta: float) -> Callable[[Tensor, int], Any]:
    def shape(places: Any, count: int) -> Any:
        return aten.cos.default(places * (2 * math.pi / (count - 1))) * -beta + alpha

    return shape


def _blackman(places: Any, count: int) -> Any:
    angle = places * (math.pi / (count - 1))
    return aten.cos.default(angle * 4) * 0.08 - aten.cos.default(angle * 2) * 0.5 + 0.42


def _bartlett(places: Any, count: int) -> Any:
    rising = places * (2 / (count - 1))
    return aten.where.self(aten.gt.Scalar(places, (count - 1) // 2), 2 - rising, rising)


def _kaiser(beta: float) -> Callable[[Tensor, int], Any]:
    def shape(places: Any, count: int) -> Any:
        dtype, middle = places._dtype, (count - 1) / 2
        wide = aten._to_copy.default(places, dtype=dtype.compute)
        away: Any = (wide - middle) / middle
        inside = aten.clamp_min.default(1 - away * away, 0)
        top = aten.i0.default(aten.scalar_tensor.default(beta, dtype=dtype.compute, device=places._device))
        return aten._to_copy.default(aten.i0.default(aten.sqrt.default(inside) * beta) / top, dtype=dtype)

    return shape


def _declare(name: str, shape: Callable[..., Callable[[Tensor, int], Any]], *overloads: tuple[str, str]) -> None:
    """A window, and its overloads with numbers of its own: (the overload's name, its arguments)."""

    def body(
        window_length: int, periodic: bool = True, *numbers: float, dtype: Any = None, device: Any = None, **_: Any
    ) -> Tensor:
        return _window(name, window_length, periodic, dtype, device, shape(*numbers))

    for overload, arguments in (("", ""), ("periodic", ", bool periodic"), *overloads):
        full, out = (f"{name}.{overload}", f"{overload}_out") if overload else (name, "out")
        decl = composite(f"aten::{full}(int window_length{arguments}, *, {_OPTIONS}) -> Tensor", outs=out)(body)
        decl.with_samples(_samples_of(arguments.count(",")))
        decl.sample_dtypes = (dtypes.float32,)


def _samples_of(count: int) -> Callable[[Make], Iterable[Any]]:
    """Calls with so many arguments beside the length."""

    def samples(make: Make) -> Iterable[Any]:
        for length, periodic in ((0, True), (1, False), (2, True), (7, False), (8, True)):
            yield (length, *(periodic, 0.6, 0.3)[:count]), {}
        yield (9, *(False, 1.5, 2.0)[:count]), {"dtype": dtypes.float64}

    return samples


_declare("hann_window", lambda: _raised_cosine(0.5, 0.5))
_declare(
    "hamming_window", lambda alpha=0.54, beta=0.46: _raised_cosine(alpha, beta),
    ("periodic_alpha", ", bool periodic, float alpha"),
    ("periodic_alpha_beta", ", bool periodic, float alpha, float beta"),
)  # fmt: skip
_declare("blackman_window", lambda: _blackman)
_declare("bartlett_window", lambda: _bartlett)
_declare("kaiser_window", lambda beta=12.0: _kaiser(beta), ("beta", ", bool periodic, float beta"))


# ---- transforms of windows -----------------------------------------------------------------------------------------


def _check_frames(op: str, n_fft: int, hop: int, width: int, window: Tensor | None, longest: int | None) -> None:
    if n_fft < 1 or (longest is not None and n_fft > longest):
        limit = "" if longest is None else f", at most the signal's {longest}"
        raise ShapeError(f"{op}: n_fft must be 1 or more{limit}", got=f"n_fft={n_fft}")
    if not (0 < width <= n_fft and hop > 0):
        raise ShapeError(
            f"{op}: needs 0 < win_length <= n_fft, and a hop of 1 or more",
            got=f"win_length={width}, n_fft={n_fft}, hop_length={hop}",
        )
    if window is not None and tuple(window._sizes) != (width,):
        raise ShapeError(f"{op}: the window must be a vector of win_length={width}", got=describe(window))


def _full_window(window: Tensor | None, like: Tensor, dtype: DType, width: int, n_fft: int) -> Tensor | None:
    """The window in the middle of n_fft places; None for ones."""
    if window is None:
        if width == n_fft:
            return None
        window = aten.ones.default([width], dtype=dtype, device=like._device)
    before = (n_fft - width) // 2
    return aten.constant_pad_nd.default(window, [before, n_fft - width - before]) if width < n_fft else window


_STFT = "Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None"
_STFT_REST = "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None"


@composite(f"aten::stft({_STFT}, {_STFT_REST}) -> Tensor", autocast={"cpu": "fp32"})
def _stft(
    self: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    return _stft_center.body(
        self, n_fft, hop_length, win_length, window, False, "reflect", normalized, onesided, return_complex,
        align_to_window,
    )  # fmt: skip


@composite(
    f'aten::stft.center({_STFT}, bool center=True, str pad_mode="reflect", {_STFT_REST}) -> Tensor',
    autocast={"cpu": "fp32"},
)
def _stft_center(
    self: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The Fourier transforms of windows of a signal, in columns."""
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    is_complex = self._dtype.kind == "c" or (window is not None and window._dtype.kind == "c")
    if return_complex is None and not is_complex:
        raise ArgumentError("stft: of real input, say what is wanted", got="return_complex=None",
                            hint="return_complex=True")  # fmt: skip
    if center and align_to_window is not None:
        raise ArgumentError("stft: align_to_window is for center=False", got=f"align_to_window={align_to_window}")
    if self._dtype.kind not in "fc" or self.ndim not in (1, 2):
        raise ShapeError("stft: expected one or two dimensions of floating or complex numbers", got=describe(self))
    if onesided is None:
        onesided = not is_complex
    if onesided and is_complex:
        raise ArgumentError("stft: the transform of complex numbers has two sides", got="onesided=True")
    x = self if self.ndim == 2 else aten.unsqueeze.default(self, 0)
    if center:
        around = [n_fft // 2, n_fft // 2]
        x = aten.squeeze.dim(aten.pad.default(aten.unsqueeze.default(x, 0), around, pad_mode), 0)
    _check_frames("stft", n_fft, hop, width, window, x._sizes[1])
    if not center and align_to_window:
        before = (n_fft - width) // 2
        x = aten.constant_pad_nd.default(x, [before, n_fft - width - before])
    frames: Any = aten.unfold.default(x, 1, n_fft, hop)
    whole = _full_window(window, self, self._dtype, width, n_fft)
    frames = frames if whole is None else frames * whole
    norm = 1 if normalized else 0
    if frames._dtype.kind == "c":
        found = aten._fft_c2c.default(frames, [2], norm, True)
    else:
        found = aten._fft_r2c.default(frames, [2], norm, onesided)
    found = aten.transpose.int(found, 1, 2)
    found = found if self.ndim == 2 else aten.squeeze.dim(found, 0)
    return found if return_complex or return_complex is None else aten.view_as_real.default(found)


@composite(
    f"aten::istft({_STFT}, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, "
    "bool return_complex=False) -> Tensor"
)
def istft(
    self: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal of which `stft` gives these transforms: the least squares (Griffin and Lim 1984)."""
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if self._dtype.kind != "c" or self.ndim not in (2, 3):
        kind = OutOfRangeError if self.ndim < 2 else ShapeError
        raise kind("istft: expected two or three dimensions of complex numbers", got=describe(self),
                   hint="stft(..., return_complex=True)")  # fmt: skip
    if not self.numel():
        raise ShapeError("istft: there are no elements", got=describe(self))
    x = self if self.ndim == 3 else aten.unsqueeze.default(self, 0)
    points, count = x._sizes[1], x._sizes[2]
    if onesided is None:
        onesided = points != n_fft
    if points != (n_fft // 2 + 1 if onesided else n_fft):
        raise ShapeError(f"istft: the frequencies do not fit n_fft={n_fft}", got=describe(self))
    _check_frames("istft", n_fft, hop, width, window, None)
    if hop > width:
        raise ShapeError("istft: windows leave gaps", got=f"hop_length={hop}, win_length={width}")
    complex_window = window is not None and window._dtype.kind == "c"
    if (complex_window and not return_complex) or (return_complex and onesided):
        raise ArgumentError("istft: of one side, or with return_complex=False, the signal and the window are real",
                            got=f"onesided={onesided}, return_complex={return_complex}")  # fmt: skip
    whole = _full_window(window, self, self._dtype.to_real(), width, n_fft)
    if whole is None:
        whole = aten.ones.default([n_fft], dtype=self._dtype.to_real(), device=self._device)
    columns = aten.transpose.int(x, 1, 2)
    norm = 1 if normalized else 2
    frames: Any
    if return_complex:
        frames = aten._fft_c2c.default(columns, [2], norm, False)
    else:
        half = columns if onesided else aten.slice.Tensor(columns, 2, 0, n_fft // 2 + 1)
        frames = aten._fft_c2r.default(half, [2], norm, n_fft)
    # The windows are added up where they overlap, weighted by themselves once more.
    total = n_fft + hop * (count - 1)
    signal = aten.unfold_backward.default(frames * whole, [x._sizes[0], total], 1, n_fft, hop)
    squares = aten.expand.default(aten.pow.Tensor_Scalar(whole, 2), [1, count, n_fft])
    weight = aten.unfold_backward.default(squares, [1, total], 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal = aten.slice.Tensor(signal, 1, start, end)
    weight = aten.slice.Tensor(weight, 1, start, end)
    # Without data, and of a batch of windows, it is not looked at: a trace does not depend on numbers.
    if type(weight) is Tensor and has_data(weight) and not bool((abs(weight._array) > 1e-11).all()):
        raise ShapeError("istft: the windows leave a place that none covers", got=f"hop_length={hop}, center={center}",
                         hint="shorter hops, or center=True")  # fmt: skip
    found = aten.div.Tensor(signal, weight)
    if end > total:
        found = aten.constant_pad_nd.default(found, [0, end - total])
    return found if self.ndim == 3 else aten.squeeze.dim(found, 0)


def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The Fourier transforms of windows of a signal (short-time Fourier transform), in columns.

    Parameters
    ----------
    input : Tensor
        A signal, or a batch of them.
    n_fft : int
        Points of each transform.
    hop_length : int, optional
        From window to window; a quarter of `n_fft` by default.
    win_length : int, optional
        Points of the window, which stands in the middle of `n_fft`; as many by default.
    window : Tensor, optional
        What the points are multiplied by; ones by default.
    center : bool
        Whether the signal is padded, so that the t-th window is centred at `t * hop_length`.
    pad_mode : str
        How it is padded, as in `nn.functional.pad`.
    normalized : bool
        Whether to divide by the root of `n_fft`.
    onesided : bool, optional
        Whether to give the half that tells the rest; the default for real numbers.
    return_complex : bool, optional
        False for the parts in a last dimension of size 2.
    align_to_window : bool, optional
        Without `center`, whether the first window, rather than its `n_fft` points, starts where the signal does.

    Examples
    --------
    >>> opweave.stft(opweave.ones(16), 8, window=opweave.ones(8), return_complex=True).shape
    opweave.Size([5, 9])
    """
    return aten.stft.center(
        input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex,
        align_to_window,
    )  # fmt: skip


#: Functions of the package, and methods, that have other defaults than the op.
METHODS: dict[str, Callable[..., Any]] = {"stft": stft}


# ---- samples -------------------------------------------------------------------------------------------------------


@_stft.with_samples
def _(make: Make) -> Iterable[Any]:
    yield (make(20), 6, 3, 4), {"return_complex": True}
    yield (make(2, 20), 6, 3, 6, make(6)), {"return_complex": False, "normalized": True}


@_stft_center.with_samples
def _(make: Make) -> Iterable[Any]:
    yield (make(2, 20), 6, 2, 5, make(5)), {"return_complex": True}
    yield (make(20), 5), {"return_complex": True, "onesided": False, "pad_mode": "constant"}


@istft.with_samples
def _(make: Make) -> Iterable[Any]:
    yield (make(2, 4, 5), 6, 2), {}
    yield (make(6, 5), 6, 2), {"onesided": False, "return_complex": True, "length": 9}


for _decl in (_stft, _stft_center):
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64)
istft.sample_dtypes = (dtypes.complex64, dtypes.complex128)
