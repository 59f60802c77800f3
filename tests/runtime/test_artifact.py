"""Artifacts: what `opweave.export.compile` makes does what the program does, without Python, and refuses the rest."""

import json
import os
import pickle
import re
import shutil
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from expecttest import assert_expected_inline

import opweave
from opweave import Tensor, from_numpy
from opweave.export import Dim, export
from opweave.nn import functional as F
from opweave.registry.errors import (
    ArgumentError,
    DTypeError,
    ExportError,
    OutOfRangeError,
    ShapeError,
    UnsupportedError,
)

CC = [sys.executable, "-m", "ziglang", "cc", "-O1"]
QEMU = shutil.which("qemu-aarch64")


def tensor(*sizes: int, seed: int = 0) -> Tensor:
    return from_numpy(np.random.default_rng([seed, *sizes]).standard_normal(sizes).astype(np.float32))


def integers(high: int, *sizes: int) -> Tensor:
    return from_numpy(np.random.default_rng(sizes).integers(0, high, sizes))


class Block:
    """A transformer block with an embedding."""

    def __init__(self, width: int = 32, heads: int = 4, words: int = 50) -> None:
        def weights(*sizes: int) -> Tensor:
            return tensor(*sizes, seed=1) * 0.2

        self.words, self.heads = weights(words, width), heads
        self.scale, self.shift = weights(width) + 1, weights(width)
        self.qkv, self.out = weights(3 * width, width), weights(width, width)
        self.up, self.down, self.bias = weights(4 * width, width), weights(width, 4 * width), weights(4 * width)

    def __call__(self, i: Tensor) -> Tensor:
        x = F.embedding(i, self.words)
        batch, length, width = x.shape
        rows = F.linear(F.layer_norm(x, (width,), self.scale, self.shift), self.qkv)
        q, k, v = rows.reshape(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(seen.transpose(1, 2).reshape(batch, length, width), self.out)
        return x + F.linear(F.gelu(F.linear(x, self.up, self.bias)), self.down)


def network(x: Tensor, a: Tensor, b: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    y = F.relu(F.batch_norm(F.conv2d(x, a, padding=1), mean, var.abs() + 1))
    return F.max_pool2d(F.relu(F.conv2d(y, b, stride=2, padding=1)), 2).flatten(1)


def written(x: Tensor, y: Tensor) -> Tensor:
    x.add_(1)
    return x * y


@triton.jit
def _axpy(x, y, out, n, a, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * a + tl.load(y + i, i < n), i < n)


@opweave.library.triton_op("artifacts::axpy", mutates_args=())
def axpy(x: Tensor, y: Tensor, a: float) -> Tensor:
    out = opweave.empty_like(x)
    _axpy[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), a, BLOCK=64)
    return out


N, M = Dim("n", min=1, max=40), Dim("m")

#: Function, example, which sizes are open, further arguments.
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], Any, list[tuple[Tensor, ...]]]] = {
    "pointwise": (lambda x: (x * 2 + 1).relu(), (tensor(4, 8),), None, [(tensor(4, 8, seed=3),)]),
    "reduced": (lambda x: (x.sum(0), x.mean(), x.amax(1), x.argmax(1)), (tensor(5, 70),), None, []),
    # The same kernel's text as another's, with other constants.
    "few": (lambda x: F.group_norm(x, 4), (tensor(2, 4, 5),), None, []),
    "fewer": (lambda x: F.group_norm(x, 4), (tensor(1, 4, 5),), None, []),
    "more": (lambda x: F.group_norm(x, 4), (tensor(9, 4, 5),), None, []),
    "scan": (lambda x: x.cumsum(0) * 2, (tensor(30, 7),), None, []),
    "views": (
        lambda x, y: (x + y, x.t(), x, y[1:], x.reshape(-1)[::2]), (tensor(4, 4), tensor(4, 4, seed=1)), None, [],
    ),
    "twice": (lambda x: [x * 2] * 2, (tensor(4),), None, []),
    "nested": (lambda d: {"a": [d["x"] + 1, None], "b": (d["y"],)}, ({"x": tensor(3), "y": tensor(2)},), None, []),
    "halves": (lambda x: (x.half() * 3).exp().bfloat16(), (tensor(4, 4),), None, []),
    "integers": (lambda x: (x // 3, x % 3, x.float().sqrt(), x > 4), (integers(50, 4, 4),), None, []),
    "gather": (lambda x, i: x[i] * 2, (tensor(10, 4), integers(10, 6)), None, []),
    "scatter": (lambda x, i, y: x.index_add(0, i, y), (tensor(10, 4), integers(10, 6), tensor(6, 4)), None, []),
    "filled": (lambda x: opweave.ops.aten.slice_backward.default(x, [2, 7], 1, 1, 7, 2), (tensor(2, 3),), None, []),
    "empty": (lambda x: x * 2, (tensor(0, 3),), None, []),
    "scalar": (lambda x: x * 2, (tensor(1)[0],), None, []),
    "product": (lambda x, y: (x @ y).relu() @ y.t(), (tensor(50, 37), tensor(37, 70)), None, []),
    "doubles": (lambda x, y: x @ y, (tensor(20, 9).double(), tensor(9, 33).double()), None, []),
    "halved": (
        lambda x, y: (x.half() @ y.half(), opweave.bmm(x[None].bfloat16(), y[None].bfloat16()).relu()),
        (tensor(20, 9), tensor(9, 33)), None, [],
    ),
    "batched": (lambda x, y: opweave.bmm(x, y) + 1, (tensor(3, 17, 33), tensor(3, 33, 65)), None, []),
    "open": (
        lambda x, w: opweave.softmax(x @ w, -1), (tensor(4, 8), tensor(8, 5)), ({0: N}, None),
        [(tensor(n, 8), tensor(8, 5)) for n in (1, 2, 7, 40)],
    ),
    "joined": (
        lambda x, y: opweave.cat([x * 2, y]).reshape(2, -1).sum(1), (tensor(4, 6), tensor(2, 6)), ({0: 2 * M}, {0: M}),
        [(tensor(2 * n, 6), tensor(n, 6)) for n in (2, 6, 10)],
    ),
    "block": (
        Block(), (integers(50, 2, 16),), ({0: Dim("b"), 1: Dim("t", max=64)},),
        [(integers(50, 1, 64),), (integers(50, 3, 1),)],
    ),
    "network": (
        network, (tensor(2, 3, 16, 16), tensor(8, 3, 3, 3), tensor(4, 8, 3, 3), tensor(8), tensor(8, seed=1)),
        ({0: Dim("images")}, None, None, None, None), [],
    ),
    "dilated": (
        lambda x, w: F.conv2d(x, w, stride=2, padding=1, dilation=2, groups=2),
        (tensor(2, 4, 9, 9), tensor(6, 2, 3, 3)), None, [],
    ),
    "transposed": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=3, padding=1, output_padding=1, groups=2, dilation=2),
        (tensor(2, 4, 5, 6), tensor(4, 3, 3, 2), tensor(6)), None, [],
    ),
    "line": (lambda x, w, b: F.conv1d(x, w, b, padding=2), (tensor(2, 4, 9), tensor(6, 4, 5), tensor(6)), None, []),
    "parts": (
        lambda x: (x[1:].reshape(-1)[3:] * 2, x.unbind(0)[2] @ x.t(), x[2].view(2, 3)[1] + 1),
        (tensor(4, 6),), None, [],
    ),
    "launch": (
        lambda x, y: axpy(x * 2, y, 0.5).sum(-1), (tensor(6, 20), tensor(6, 20, seed=1)), ({0: M}, {0: M}),
        [(tensor(90, 20), tensor(90, 20, seed=1))],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("artifacts")


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    """All programs in one file."""
    with opweave.no_grad():
        programs = {
            name: export(function, example, dynamic_shapes=sizes)
            for name, (function, example, sizes, _) in PROGRAMS.items()
        }
    opweave.export.compile(programs, folder / "all.so", name="several")
    return opweave.load_compiled(folder / "all.so")


def leaves(value: Any) -> list[Tensor]:
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [] if value is None else [value]


def structure(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(structure, value))
    return {k: structure(v) for k, v in value.items()} if isinstance(value, dict) else type(value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_gives_what_the_function_gives(name: str, model: Any) -> None:
    function, example, _, more = PROGRAMS[name]
    for args in (example, *more):
        got, want = model.entries[name](*args), function(*args)
        assert structure(got) == structure(want)
        for one, other in zip(leaves(got), leaves(want), strict=True):
            assert one.dtype is other.dtype and one.shape == other.shape and one.is_contiguous()
            # Products add up in another order, of numbers whose sums are some hundreds.
            rtol = 1e-2 if one.dtype.itemsize < 4 and one.dtype.is_floating_point else 2e-5
            np.testing.assert_allclose(
                one.to(opweave.float64).numpy(), other.to(opweave.float64).numpy(), rtol=rtol, atol=2e-4
            )


def compiled(folder: Path, function: Any, *args: Any, name: str = "one", sizes: Any = None, **options: Any) -> Any:
    with opweave.no_grad():
        program = export(function, args, dynamic_shapes=sizes)
    path = folder / f"{name}_{len(list(folder.iterdir()))}.so"
    opweave.export.compile(program, path, name=name, **options)
    return opweave.load_compiled(path)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_arguments_that_do_not_fit_are_refused(model: Any) -> None:
    run, x, w = model.entries["open"], tensor(4, 8), tensor(8, 5)
    with pytest.raises(ShapeError, match="open: size n must be 40 at most"):
        run(tensor(41, 8), w)
    with pytest.raises(ShapeError, match="open: x: size of dim 1 must be 8"):
        run(tensor(4, 9), w)
    with pytest.raises(ShapeError, match="open: x: stride of dim 0 must be 8 elements"):
        run(tensor(8, 4).t(), w)
    with pytest.raises(ShapeError, match="must have 2 dimensions"):
        run(tensor(4, 8, 1), w)
    with pytest.raises(DTypeError, match="x must be float32"):
        run(x.double(), w)
    with pytest.raises(ArgumentError, match="another structure"):
        run(x)
    with pytest.raises(ArgumentError, match="another structure"):
        run(x, 3.0)
    with pytest.raises(ShapeError, match="size of dim 0 must be"):
        model.entries["joined"](tensor(5, 6), tensor(2, 6))
    with pytest.raises(UnsupportedError, match="no gradients"):
        run(x.requires_grad_(), w)
    with opweave.no_grad():
        assert not run(x, w).requires_grad
    with pytest.raises(UnsupportedError, match="cannot be traced"):
        opweave.make_fx(lambda x: run(x, w))(tensor(4, 8))
    with pytest.raises(ArgumentError, match="which of its programs"):
        model(x)


def test_an_index_out_of_range_is_refused(model: Any) -> None:
    run, words = model.entries["block"], integers(50, 2, 16)
    want = run(words)
    bad = from_numpy(np.full((2, 16), 50))
    with pytest.raises(OutOfRangeError), opweave.no_grad():
        Block()(bad)
    with pytest.raises(ExportError, match=r"embedding: an index is out of range .*test_artifact.py:\d+"):
        run(bad)
    np.testing.assert_array_equal(run(words).numpy(), want.numpy())


def test_a_written_argument_is_written(folder: Path) -> None:
    run = compiled(folder, written, tensor(4), tensor(4))
    x, y = tensor(4, seed=5), tensor(4, seed=6)
    before, version = x.clone(), x._version
    result = run(x, y)
    np.testing.assert_array_equal(x.numpy(), before.numpy() + 1)
    np.testing.assert_array_equal(result.numpy(), (x * y).numpy())
    assert x._version > version
    assert [t["written"] for t in run.description["entries"][0]["inputs"]] == [True, False]


def _turned_in_place(x: Tensor) -> Tensor:
    x.copy_(x.t())
    return x.sum()


def _scattered(x: Tensor, index: Tensor, values: Tensor) -> Tensor:
    return x.t().scatter(0, index, values)


def _turned(x: Tensor, y: Tensor) -> Tensor:
    x.t().copy_(y)
    return x.sum()


def _some_columns(x: Tensor, y: Tensor) -> Tensor:
    x[:, 1::2] = y
    return x + 1


def _all_rows(x: Tensor, y: Tensor) -> Tensor:
    x.t().copy_(y)
    return x * 2


@pytest.mark.parametrize("open_", [False, True])
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (_turned_in_place, (tensor(40, 40),)),
        (_scattered, (tensor(4, 3), integers(3, 1, 4), tensor(1, 4))),
        (_turned, (tensor(4, 3), tensor(3, 4))),
        (_turned, (tensor(4, 3).double(), tensor(3, 4).double())),
        (_turned, (tensor(4, 3).half(), tensor(3, 4).half())),
        (_turned, (integers(9, 40, 70), integers(7, 70, 40))),
        (_some_columns, (tensor(4, 6), tensor(4, 3))),
        (_all_rows, (tensor(4, 3), tensor(4))),
    ],
)
def test_copies_between_layouts(function: Any, args: Any, open_: bool, tmp_path: Path) -> None:
    sizes = None
    if open_:
        n = opweave.export.Dim("n", min=2, max=90)
        if function is _turned_in_place:
            return  # both sizes are one
        at = {_scattered: (0, 1, 1), _turned: (0, 1), _some_columns: (0, 0), _all_rows: (0, 0)}[function]
        sizes = tuple({d: n} for d in at)
    program = opweave.export.export(function, args, dynamic_shapes=sizes)
    opweave.export.compile(program, tmp_path / "copies.so")
    given, expected = [t.clone() for t in args], [t.clone() for t in args]
    result, wanted = opweave.load_compiled(tmp_path / "copies.so")(*given), function(*expected)
    np.testing.assert_allclose(result.numpy(), wanted.numpy(), rtol=1e-3 if args[0].dtype is opweave.float16 else 1e-6)
    for found, right in zip(given, expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), right.numpy())


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (lambda x: x.sort()[0], (tensor(5),), "no code for aten.sort"),
        (lambda x: x + opweave.rand(5), (tensor(5),), "no code for random numbers"),
        (lambda x: opweave.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 3, (x,)), (tensor(5),), "no code for cond"),
        (lambda x: x.nonzero(), (tensor(5),), "no (code for|size that)"),
        (lambda x: x.masked_scatter(x > 0, x), (tensor(5),), "no (code for|size that)"),
        (lambda x: (x, 3), (tensor(5),), "returns something that is no tensor"),
    ],
)  # fmt: skip
def test_what_needs_python_is_refused(function: Any, args: Any, message: str, folder: Path) -> None:
    with pytest.raises(UnsupportedError, match=message) as info:
        opweave.export.compile(export(function, args), folder / "no.so")
    assert not (folder / "no.so").exists()
    if "code" in message:
        assert "test_artifact.py" in str(info.value)


def test_a_program_that_writes_its_own_tensors_is_refused(folder: Path) -> None:
    count = opweave.zeros(1)

    def counted(x: Tensor) -> Tensor:
        count.add_(1)
        return x * count

    program = export(counted, (tensor(3),))
    with pytest.raises(UnsupportedError, match="writes tensors of its own"):
        opweave.export.compile(program, folder / "no.so")


def test_wrong_options(folder: Path) -> None:
    program = export(lambda x: x + 1, (tensor(3),))
    for options, message in (
        ({"target": "sparc"}, "unknown target"), ({"name": "a-b"}, "none of C's"),
        ({"weights": "away"}, "unknown weights"), ({"products": "mkl"}, "unknown products"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=message):
            opweave.export.compile(program, folder / "no.so", **options)
    with pytest.raises(ArgumentError, match=r"\.so or \.o"):
        opweave.export.compile(program, folder / "no.exe")
    with pytest.raises(ArgumentError, match="expected an exported program"):
        opweave.export.compile(lambda x: x, folder / "no.so")  # type: ignore[arg-type]
    opweave.export.save(program, folder / "p.opweave")
    stranger = opweave.export.load(folder / "p.opweave", untrusted=True)
    with pytest.raises(UnsupportedError, match="stranger"):
        opweave.export.compile(stranger, folder / "no.so")


# ---- the file --------------------------------------------------------------------------------------------------------


def test_a_damaged_file_is_refused(folder: Path, model: Any) -> None:
    data, bad = (folder / "all.so").read_bytes(), folder / "bad.so"
    for content in (data[: len(data) // 2], data[:-30], data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]):
        bad.write_bytes(content)
        with pytest.raises(ExportError, match="damaged"):
            opweave.load_compiled(bad)
    for content in (b"", b"hello", b"\x7fELF" + b"\x02\x01" + bytes(10), b"\x7fELF\x01\x01" + bytes(200)):
        bad.write_bytes(content)
        with pytest.raises(ExportError):
            opweave.load_compiled(bad)
    with pytest.raises(ExportError, match="cannot be read"):
        opweave.load_compiled(folder / "nowhere.so")
    assert np.isfinite(model.entries["pointwise"](tensor(4, 8)).numpy()).all()


def test_a_file_for_another_processor_is_refused(folder: Path) -> None:
    program = export(lambda x: x + 1, (tensor(3),))
    opweave.export.compile(
        program, folder / "other.so", target="aarch64" if os.uname().machine == "x86_64" else "x86-64-v2"
    )
    with pytest.raises(ExportError, match="another processor"):
        opweave.load_compiled(folder / "other.so")
    opweave.export.compile(program, folder / "object.o")
    with pytest.raises(ExportError, match="not linked"):
        opweave.load_compiled(folder / "object.o")


def test_a_library_that_is_no_artifact_is_refused(folder: Path) -> None:
    (folder / "plain.c").write_text("int f(void) { return 1; }")
    subprocess.run([*CC, "-shared", "plain.c", "-o", "plain.so"], cwd=folder, check=True)
    with pytest.raises(ExportError, match="no artifact"):
        opweave.load_compiled(folder / "plain.so")


def test_weights_beside(folder: Path) -> None:
    block, words = Block(), integers(50, 2, 8)
    run = compiled(folder, block, words, name="beside", weights="beside")
    want = block(words).numpy()
    np.testing.assert_allclose(run(words).numpy(), want, rtol=1e-5, atol=1e-5)
    about = run.description["weights"]
    file = run.path.with_suffix(".weights")
    assert file.stat().st_size == about["bytes"] + 64
    beside = file.read_bytes()
    assert not any(beside[at : at + 64] in run.path.read_bytes() for at in range(64, len(beside), 4096))
    moved = file.rename(folder / "elsewhere.bin")
    with pytest.raises(ExportError, match="cannot be opened"):
        opweave.load_compiled(run.path)
    again = opweave.load_compiled(run.path, weights=moved)
    np.testing.assert_allclose(again(words).numpy(), want, rtol=1e-5, atol=1e-5)
    data = moved.read_bytes()
    for content in (data[:-1], data + b"x", b"y" + data[1:]):
        moved.write_bytes(content)
        with pytest.raises(ExportError, match="not the one that was made with"):
            opweave.load_compiled(run.path, weights=moved)


def test_it_runs_without_what_compiles(folder: Path, model: Any) -> None:
    """Also from a folder that cannot be written, in several processes at once, with no program to be found."""
    place = folder / "fixed"
    place.mkdir()
    shutil.copy(folder / "all.so", place / "all.so")
    place.chmod(stat.S_IRUSR | stat.S_IXUSR)
    script = textwrap.dedent("""
        import sys, numpy as np, opweave
        model = opweave.load_compiled("all.so")
        x = opweave.from_numpy(np.arange(32, dtype=np.float32).reshape(4, 8))
        print(model.entries["pointwise"](x).sum().item())
        heavy = {"triton", "llvmlite", "sympy", "networkx", "torch", "opweave.pipeline"} & sys.modules.keys()
        assert not heavy, heavy
    """)
    environment = {**os.environ, "PATH": "", "OPWEAVE_CACHE_DIR": "/nonexistent"}
    made = [
        subprocess.Popen([sys.executable, "-c", script], cwd=place, env=environment, stdout=-1, stderr=-1, text=True)
        for _ in range(3)
    ]
    for process in made:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0 and float(out) == 32 + 31 * 32, err


def test_a_model_is_pickled_by_its_file(model: Any) -> None:
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        other.entries["pointwise"](tensor(4, 8)).numpy(), model.entries["pointwise"](tensor(4, 8)).numpy()
    )


def test_threads_share_a_model(model: Any) -> None:
    run = model.entries["block"]
    cases = [(words, run(words).numpy()) for words in (integers(50, n, 9) for n in range(1, 9))]
    wrong: list[int] = []

    def work(i: int) -> None:
        words, want = cases[i]
        for _ in range(100):
            if not np.array_equal(run(words).numpy(), want):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    model.set_num_threads(1)
    np.testing.assert_array_equal(run(cases[0][0]).numpy(), cases[0][1])
    model.set_num_threads(2)
    with pytest.raises(ArgumentError, match="positive integer"):
        model.set_num_threads(0)


def test_what_it_says_of_itself(folder: Path, model: Any) -> None:
    about = json.loads((folder / "all.json").read_text())
    assert about == model.description
    entry = next(e for e in about["entries"] if e["name"] == "joined")
    assert [t["sizes"] for t in entry["inputs"]] == [["2*m", 6], ["m", 6]] and entry["symbols"]["m"]["min"] >= 1
    header = (folder / "all.h").read_text()
    assert_expected_inline(
        header[header.index("/* Entry open") : header.index("/* Entry joined")],
        """\
/* Entry open
 *   input 0: float[n][8] x
 *   input 1: float[8][5] w
 *   result 0: float[n][5]
 *   n: from 1 to 40
 */
enum { SEVERAL_OPEN = 20, SEVERAL_OPEN_INPUTS = 2,
       SEVERAL_OPEN_RESULTS = 1, SEVERAL_OPEN_RESULT_DIMS = 2 };

""",
    )


# ---- C ---------------------------------------------------------------------------------------------------------------

MAIN = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "block.h"
static void *load(const char *path, size_t n) {
  void *data = aligned_alloc(64, (n + 63) / 64 * 64);
  FILE *file = fopen(path, "rb");
  if (!file || fread(data, 1, n, file) != n) { perror(path); exit(1); }
  fclose(file);
  return data;
}
static void say(const char *what, int32_t code) {
  printf(code ? "%s: %d %s\n" : "%s: %d\n", what, code, block_error(code));
}
int main(int argc, char **argv) {
  int64_t *x = load("x.bin", 2 * 16 * 8), sizes[] = {2, 16}, found[3];
  float *want = load("want.bin", 2 * 16 * 32 * 4), *y = aligned_alloc(64, 2 * 16 * 32 * 4);
  block_model *m = NULL;
  int32_t code = block_create(argv[1], NULL, 0, &m);
  if (code) { say("create", code); return 1; }
  DLTensor in = {x, {kDLCPU, 0}, 2, {kDLInt, 64, 1}, sizes, NULL, 0};
  say("sizes", block_result_sizes(m, BLOCK_FORWARD, &in, 1, found));
  DLTensor out = {y, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, found, NULL, 0};
  block_set_threads(2);
  for (int i = 0; i < 50; i++)
    if ((code = block_run(m, BLOCK_FORWARD, &in, 1, &out, 1))) { say("run", code); return 1; }
  double most = 0;
  for (int i = 0; i < 2 * 16 * 32; i++) most = fmax(most, fabs(y[i] - want[i]));
  printf("%d %d %d, near: %d\n", (int)found[0], (int)found[1], (int)found[2], most < 1e-4);
  x[3] = 1000;
  say("index", block_run(m, BLOCK_FORWARD, &in, 1, &out, 1));
  sizes[1] = 65;
  say("size", block_run(m, BLOCK_FORWARD, &in, 1, &out, 1));
  sizes[1] = 16;
  in.dtype.bits = 32;
  say("type", block_run(m, BLOCK_FORWARD, &in, 1, &out, 1));
  in.dtype.bits = 64, in.data = NULL;
  say("null", block_run(m, BLOCK_FORWARD, &in, 1, &out, 1));
  in.data = x, out.data = (char *)y + 4;
  say("align", block_run(m, BLOCK_FORWARD, &in, 1, &out, 1));
  out.data = x;
  say("overlap", block_run(m, BLOCK_FORWARD, &in, 1, &out, 1));
  out.data = y, found[2] = 31;
  say("result", block_run(m, BLOCK_FORWARD, &in, 1, &out, 1));
  say("count", block_run(m, BLOCK_FORWARD, &in, 2, &out, 1));
  say("entry", block_run(m, 7, &in, 1, &out, 1));
  say("model", block_run(NULL, 0, &in, 1, &out, 1));
  block_destroy(m);
  return 0;
}
"""
SAID = """\
sizes: 0
2 16 32, near: 1
index: 1.. forward: embedding: an index is out of range for dimension 0 with size 50 (test_artifact.py)
size: 1.. forward: size t must be 64 at most
type: 1.. forward: i: its elements must be int64
null: 1.. forward: i: its data is null
align: 1.. forward: result_0: its address must be a multiple of 16
overlap: 1.. forward: result_0: it lies in memory of another tensor
result: 1.. forward: result_0: it must be float32[b, t, 32] with strides [32*t, 32, 1]
count: 12 another number of inputs than the entry has
entry: 11 there is no entry of that number
model: 10 a pointer that must be given is null
"""


@pytest.fixture(scope="module")
def block(folder: Path) -> Any:
    words = integers(50, 2, 16)
    (folder / "x.bin").write_bytes(words.numpy().tobytes())
    with opweave.no_grad():
        (folder / "want.bin").write_bytes(Block()(words).numpy().tobytes())
        program = export(Block(), (words,), dynamic_shapes=({0: Dim("b"), 1: Dim("t", max=64)},))
    (folder / "main.c").write_text(MAIN)
    return program


@pytest.mark.parametrize("weights", ["inside", "beside"])
@pytest.mark.parametrize("target", ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_a_c_program(target: str, weights: str, folder: Path, block: Any) -> None:
    other, start = [], []
    machine = os.uname().machine
    if target == "aarch64" and machine != "aarch64":
        if QEMU is None:
            pytest.skip("qemu-aarch64 is not installed")
        other, start = ["-target", "aarch64-linux-musl"], [QEMU]
    elif target.startswith("x86") and machine != "x86_64":
        pytest.skip(f"this is {machine}")
    made = opweave.export.compile(block, folder / "block.o", target=target, weights=weights)
    assert made.target == target and not made.libraries
    program = folder / "main"
    subprocess.run([*CC, *other, "main.c", "block.o", "-lm", "-lpthread", "-o", "main"], cwd=folder, check=True)
    done = subprocess.run([*start, program, "block.weights"], cwd=folder, capture_output=True, text=True, check=False)
    if target == "x86-64-v4" and "avx512f" not in Path("/proc/cpuinfo").read_text():
        # It says so before it runs an instruction that is not there.
        assert done.returncode == 1 and "another processor" in done.stdout
        return
    assert done.returncode == 0, done
    # Lines of this file, and numbers of messages.
    assert re.sub(r"\.py:\d+", ".py", re.sub(r": 1\d\d ", ": 1.. ", done.stdout)) == SAID


OPERATORS = r"""
#include "custom.h"
int32_t opweave_op_artifacts__scaled(const DLTensor *in, const DLTensor *out, const opweave_number *n) {
  int64_t total = 1;
  for (int i = 0; i < in[0].ndim; i++) total *= in[0].shape[i];
  const float *x = in[0].data;
  float *y = out[0].data, *z = out[1].data;
  for (int64_t i = 0; i < total; i++) y[i] = x[i] * (float)n[0].d + n[1].i, z[i] = -x[i];
  return in[0].strides[in[0].ndim - 1] != 1 || in[0].dtype.code != kDLFloat || in[1].data || x[0] > 1e6f;
}
"""


@opweave.library.custom_op("artifacts::scaled", mutates_args=())
def scaled(x: Tensor, a: float, bias: Tensor | None = None, k: int = 2) -> tuple[Tensor, Tensor]:
    return x * a + k, -x


@scaled.register_fake
def _(x: Tensor, a: float, bias: Tensor | None = None, k: int = 2) -> tuple[Tensor, Tensor]:
    return opweave.empty_like(x), opweave.empty_like(x)


def test_a_custom_operator_in_c(folder: Path) -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        y, z = scaled(x + 1, 2.5)
        u, _ = scaled((y * z).sum(1, keepdim=True) + x, 0.5, k=3)  # of which a result is not read
        return u.relu(), z

    made = opweave.export.compile(
        export(function, (tensor(4, 8),), dynamic_shapes=({0: Dim("n")},)), folder / "custom.so"
    )
    assert made.operators == ("artifacts::scaled",)
    with pytest.raises(ExportError, match="the operator artifacts::scaled is missing"):
        opweave.load_compiled(folder / "custom.so")
    (folder / "ops.c").write_text(OPERATORS)
    subprocess.run([*CC, "-shared", "-fPIC", "ops.c", "-o", "ops.so"], cwd=folder, check=True)
    model = opweave.load_compiled(folder / "custom.so", libraries=[folder / "ops.so"])
    for n in (4, 9):
        for got, want in zip(model(tensor(n, 8)), function(tensor(n, 8)), strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)
    with pytest.raises(ExportError, match="artifacts::scaled failed"):
        model(tensor(4, 8) + 1e7)
    again = pickle.loads(pickle.dumps(model))
    assert len(again(tensor(4, 8))) == 2


CBLAS = r"""
void cblas_sgemm(int o, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                 int ldb, float beta, float *c, int ldc) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int l = 0; l < k; l++)
        sum += (double)a[ta == 112 ? l * lda + i : i * lda + l] * b[tb == 112 ? j * ldb + l : l * ldb + j];
      c[i * ldc + j] = sum;
    }
}
void cblas_dgemm(void) {}
"""


def test_products_by_a_blas(folder: Path) -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        return opweave.softmax((x @ y).relu() @ y.t(), -1)

    (folder / "cblas.c").write_text(CBLAS)
    subprocess.run([*CC, "-shared", "-fPIC", "cblas.c", "-o", "libcblas.so"], cwd=folder, check=True)
    x, y = tensor(300, 33), tensor(33, 40)
    made = opweave.export.compile(export(function, (x, y)), folder / "blas.so", products="blas")
    assert made.libraries == ("cblas",)
    model = opweave.load_compiled(folder / "blas.so", libraries=[folder / "libcblas.so"])
    np.testing.assert_allclose(model(x, y).numpy(), function(x, y).numpy(), rtol=1e-4, atol=1e-6)
