"""Window functions, and transforms of the windows of a signal, against PyTorch, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import ops_with_samples
from oracle import agree, check

import opweave as ow
from opweave.registry.op import OpOverload
from opweave.registry.ops import windowing


@pytest.mark.parametrize("op", ops_with_samples(windowing), ids=str)
def test_samples(op: OpOverload) -> None:
    assert check(op, difference="windows", every_type=False)


def _of(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]


#: `t` is the package.
WINDOWS = """
t.hann_window(10); t.hann_window(10, False); t.hann_window(11, periodic=True, dtype=t.float64)
t.hamming_window(9, True, 0.6); t.hamming_window(9, periodic=False, alpha=0.3, beta=0.5); t.blackman_window(12, False)
t.bartlett_window(6, False); t.bartlett_window(7); t.kaiser_window(9); t.kaiser_window(9, True, beta=3.0)
t.kaiser_window(9, False, -2.0); t.hann_window(8, dtype=t.bfloat16); t.kaiser_window(8, dtype=t.float16)
t.hann_window(-1); t.hann_window(4, dtype=t.int64); t.bartlett_window(3, dtype=t.complex64)
t.hann_window(3, requires_grad=True).requires_grad
"""


@pytest.mark.parametrize("expression", _of(WINDOWS))
def test_windows(expression: str) -> None:
    agree(lambda m: eval(expression, {"t": m}), order=0, difference="windows")


#: `t` is the package, `x` f64[2, 40], `w` f64[8], `v` f64[6].
TRANSFORMS = """
t.stft(x, 8, return_complex=True); t.stft(x[0], 8, 3, window=w, return_complex=True); x.stft(8, return_complex=False)
t.stft(x, 8, 2, 6, v, normalized=True, return_complex=True); t.stft(x, 8, 2, 5, center=False, return_complex=True)
t.stft(x, 8, window=w, pad_mode="constant", onesided=False, return_complex=True); t.stft(x, 7, 3, return_complex=True)
t.stft(x, 8, 3, 6, v, center=False, return_complex=True, align_to_window=True); t.stft(t.complex(x, x + 1), 8, window=w)
t.stft(x, 8, window=t.complex(w, w))
t.stft(x, 8); t.stft(x, 8, window=v, return_complex=True); t.stft(x, 41, center=False, return_complex=True)
t.stft(x, 8, 0, return_complex=True); t.stft(x, 8, win_length=9, return_complex=True)
t.stft(t.complex(x, x), 8, onesided=True); t.stft(x, 8, return_complex=True, align_to_window=True)
t.stft(x.long(), 8, return_complex=True); t.stft(x[None], 8, return_complex=True)
t.istft(t.stft(x, 8, window=w, return_complex=True) * x[0, :5].view(5, 1), 8, window=w)
t.istft(t.complex(x[:, :30].view(2, 5, 6), w[0]), 8)
t.istft(x[0, :5].view(5, 1) * t.stft(x[0], 8, 2, 6, v, True, return_complex=True), 8, 2, 6, v, normalized=True)
t.istft(t.stft(x, 8, return_complex=True), 8, length=29); t.istft(t.stft(x, 8, return_complex=True), 8, length=50)
t.istft(t.stft(t.complex(x, x + 1), 8) * x[0, :8].view(8, 1), 8, window=w, return_complex=True, onesided=False)
t.istft(t.stft(x, 8, return_complex=True, onesided=False), 8); t.istft(x, 8); t.istft(t.complex(w, w), 8)
t.istft(t.stft(x, 8, center=False, return_complex=True), 8, center=False)
t.istft(t.stft(x, 8, return_complex=True), 12); t.istft(t.stft(x, 8, return_complex=True), 8, 9)
t.istft(t.stft(x, 8, return_complex=True), 8, window=w * 0); t.istft(t.stft(x, 8, return_complex=True)[:0], 8)
t.istft(t.stft(x, 8, return_complex=True), 8, return_complex=True)
"""


def _signals() -> tuple[Any, Any, Any]:
    source = np.random.default_rng(3)
    signal, w, v = (source.uniform(0.1, 1.0, n) for n in ((2, 40), (8,), (6,)))
    return ow.from_numpy(signal), ow.from_numpy(w), ow.from_numpy(v)


@pytest.mark.parametrize("expression", _of(TRANSFORMS))
@pytest.mark.filterwarnings("ignore")
def test_transforms(expression: str) -> None:
    def call(m: Any, x: Any, w: Any, v: Any) -> Any:
        return eval(expression, {"t": m, "x": x, "w": w, "v": v})

    agree(call, *_signals(), difference="windows")


def test_of_float32() -> None:
    x, w, _ = (t.float() for t in _signals())
    agree(lambda m, x, w: m.stft(x, 8, window=w, return_complex=True), x, w, difference="windows")


def test_there_and_back_compiled_and_batched() -> None:
    x, w, _ = _signals()

    def there(x: Any) -> Any:
        return ow.stft(x, 8, window=w, return_complex=True)

    def back(spectrum: Any) -> Any:
        return ow.istft(spectrum, 8, window=w, length=40)

    assert ow.allclose(back(there(x)), x)
    assert ow.allclose(ow.compile(lambda x: back(there(x) * 2))(x), x * 2)
    assert ow.allclose(ow.vmap(lambda x: back(there(x)))(x), x)
    assert ow.allclose(
        ow.compile(lambda: ow.kaiser_window(9) + ow.hann_window(9))(), ow.kaiser_window(9) + ow.hann_window(9)
    )
