"""PyTorch's own samples of its operators (OpInfo), called through opweave's public names and compared.

An entry of `op_db` names a function of `torch` and gives samples. The same name in opweave is called with the same
arguments in each way that a program may: as a function, a method, in place, into `out=`, with gradients, compiled.
Wrappers that PyTorch's entries put around a function are run with `torch` meaning opweave in them.

As a script it prints where entries differ: `python tests/parity/opinfo.py --ways function,out --names linalg`.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import random
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core

import opweave

# For each set of samples PyTorch looks through the stack, and its sources, for the `unittest.TestCase` that wants them:
# there is none, and three quarters of the time of all that is done with the samples would go into it.
common_utils.extract_test_fn = core.extract_test_fn = lambda: None

WAYS = ("function", "method", "inplace", "out", "gradient", "compiled")
#: Modules whose functions wrap what they test.
_WRAPPERS = ("torch.testing._internal",)


# ---- values ---------------------------------------------------------------------------------------------------------


def to_opweave(value: Any) -> Any:
    """A PyTorch value as opweave's: a tensor as a copy with the same sizes and strides."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, torch.dtype):
        return getattr(opweave, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return opweave.device(str(value))
    if isinstance(value, torch.memory_format):
        return getattr(opweave, str(value).removeprefix("torch."))
    if value is torch.strided:
        return getattr(opweave, "strided", None)
    if isinstance(value, torch.Size):
        return opweave.Size(value)
    if isinstance(value, (list, tuple)):
        return type(value)(to_opweave(item) for item in value)
    if isinstance(value, dict):
        return {key: to_opweave(item) for key, item in value.items()}
    if isinstance(value, types.FunctionType):
        return rewritten(value)
    if isinstance(value, torch.nn.PairwiseDistance):
        return opweave.nn.functional.pairwise_distance
    if isinstance(value, torch.nn.LinearCrossEntropyOptions):
        return opweave.nn.LinearCrossEntropyOptions(**to_opweave(dataclasses.asdict(value)))
    if isinstance(value, types.BuiltinFunctionType) and hasattr(torch, value.__name__):
        return getattr(opweave, value.__name__)
    return value


def _tensor(t: torch.Tensor) -> Any:
    grad = t.requires_grad
    t = t.detach().resolve_conj().resolve_neg()
    if t.numel() == 0:
        made = opweave.empty_strided(tuple(t.shape), t.stride(), dtype=to_opweave(t.dtype))
    else:
        size = t.untyped_storage().nbytes() // t.dtype.itemsize
        flat = t.as_strided((size,), (1,), 0)
        if t.dtype == torch.bfloat16:
            base = opweave.from_numpy(flat.view(torch.int16).numpy().copy()).view(opweave.bfloat16)
        else:
            base = opweave.from_numpy(flat.numpy().copy())
        made = base.as_strided(tuple(t.shape), t.stride(), t.storage_offset())
        if t.is_contiguous() and size == t.numel():
            made = made.clone()  # memory of its own, as the copy that PyTorch gets has
    return made.detach().requires_grad_() if grad else made


def to_torch(value: Any) -> Any:
    """opweave's value as PyTorch's."""
    if isinstance(value, opweave.Tensor):
        value = value.detach()
        if value.dtype is opweave.bfloat16:
            return torch.from_numpy(value.contiguous().view(opweave.int16).numpy().copy()).view(torch.bfloat16)
        return torch.from_numpy(np.array(value.numpy(), copy=True))
    if isinstance(value, opweave.dtype):
        return getattr(torch, value.name)
    if isinstance(value, (list, tuple)):
        return [to_torch(item) for item in value]
    return value


class _Stand:
    """What a module of `torch` is in a wrapper: opweave's names, where it has them, and what else is given."""

    def __init__(self, module: Any, **names: Any) -> None:
        self.module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


class _Called:
    """An entry in a wrapper: what is called, and by which it finds out where a mask leaves something."""

    def __init__(self, function: Callable[..., Any], op: Any) -> None:
        self.function, self.op = function, op

    def __getattr__(self, name: str) -> Any:
        return getattr(self.op, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def _by_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(op: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs = {name: to_torch(value) for name, value in kwargs.items()}
        return to_opweave(function(_argument(op), *[_argument(value) for value in args], **kwargs))

    return called


def _argument(value: Any) -> Any:
    return to_torch(value) if isinstance(value, opweave.Tensor) else value


_MASKED = _Stand(
    opweave.masked, _output_mask=_by_torch(torch.masked._output_mask), _input_mask=_by_torch(torch.masked._input_mask)
)
_TORCH = _Stand(opweave, masked=_MASKED)


def rewritten(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of PyTorch's tests with `torch` meaning opweave in it and in what it calls there."""
    if not isinstance(function, types.FunctionType):
        return function
    names = dict(function.__globals__)
    names["torch"] = _TORCH
    names["F"] = opweave.nn.functional
    for name in function.__code__.co_names:
        found = names.get(name)
        if isinstance(found, types.FunctionType) and found.__module__.startswith(_WRAPPERS) and found is not function:
            names[name] = rewritten(found)
    closure = function.__closure__
    if closure:
        closure = tuple(types.CellType(_closed(cell.cell_contents)) for cell in closure)
    made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _closed(value: Any) -> Any:
    if isinstance(value, types.FunctionType) and value.__module__.startswith(_WRAPPERS):
        return rewritten(value)
    if isinstance(value, torch.nn.PairwiseDistance):
        return opweave.nn.functional.pairwise_distance
    if callable(value) and not isinstance(value, type):
        for owner, ours in ((torch, opweave), (torch.Tensor, opweave.Tensor)):
            name = getattr(value, "__name__", "")
            if getattr(owner, name, None) is value:
                return getattr(ours, name)
        return value
    return to_opweave(value)


# ---- the ways to call an entry --------------------------------------------------------------------------------------


def public(name: str) -> Any:
    """What opweave has under a name of PyTorch's, such as `linalg.norm`.

    Raises
    ------
    AttributeError
        If it has none.
    """
    found: Any = opweave
    for part in name.removeprefix("torch.").split("."):
        found = getattr(found, part)
    return found


def function_of(entry: Any) -> Callable[..., Any]:
    """The function that an entry tests, in opweave."""
    op = entry.op
    if isinstance(op, types.FunctionType) and op.__module__.startswith(_WRAPPERS):
        return rewritten(op)
    if entry.name.startswith("__r"):
        return getattr(opweave.Tensor, entry.name)
    name = getattr(op, "__name__", "")
    if getattr(torch.Tensor, name, None) is op:
        return getattr(opweave.Tensor, name)
    if entry.name.startswith("_") and name and getattr(torch, name, None) == op:
        return public(name)  # `torch._segment_reduce` is `torch.segment_reduce`
    if isinstance(op, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return public("ops." + str(op) if not str(op).startswith("torch") else str(op))
    return public(entry.name)


def method_of(entry: Any, variant: Any, inplace: bool) -> Callable[..., Any] | None:
    if variant is None:
        return None
    if isinstance(variant, types.FunctionType) and variant.__module__.startswith(_WRAPPERS):
        return rewritten(variant)
    name = getattr(variant, "__name__", "")
    if getattr(torch.Tensor, name, None) is variant:
        return getattr(opweave.Tensor, name)
    if inplace:
        return public(entry.name + "_") if hasattr(torch.nn.functional, name) else None
    return None


#: Results that follow from a generator, or from nothing.
RANDOM = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential", "geometric",
    "log_normal", "multinomial", "new_empty", "new_empty_strided", "normal", "rand_like", "randint", "randint_like",
    "randn", "randn_like", "uniform", "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "pca_lowrank",
    "svd_lowrank",
}  # fmt: skip


#: Of equal elements another may be chosen: the values and places are right if the places have the values.
TIES = {"topk", "kthvalue", "mode", "median", "nanmedian", "sort", "argsort", "msort", "masked.median"}


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [value]


def _drops(entry: Any, sample: Any) -> bool:
    """Whether attention drops weights at random: the probability is the tenth argument, counted behind the first."""
    return entry.name == "nn.functional.multi_head_attention_forward" and sample.args[9] > 0


def compare(entry: Any, sample: Any, ours: Any, theirs: Any) -> None:
    """Fail unless results agree: their number, types, sizes and values."""
    mine, other = leaves(to_torch(ours)), leaves(theirs)
    is_random = entry.name in RANDOM or sample.kwargs.get("dropout_p") or _drops(entry, sample)
    may_tie = entry.name in TIES and not sample.input.is_floating_point()
    assert len(mine) == len(other), f"{len(mine)} results for {len(other)}"
    for m, o in zip(mine, other, strict=True):
        if isinstance(o, torch.Tensor):
            assert isinstance(m, torch.Tensor), f"{type(m).__name__} for a tensor"
            o = o.detach().resolve_conj().resolve_neg()
            if o._is_zerotensor():
                o = o.clone()
            assert m.dtype == o.dtype, f"{m.dtype} for {o.dtype}"
            assert m.shape == o.shape, f"{tuple(m.shape)} for {tuple(o.shape)}"
            if is_random:
                continue
            if may_tie and o.dtype == torch.int64 and (o is not other[0] or entry.name == "argsort"):
                if entry.name == "argsort":
                    dim = (
                        sample.args[0]
                        if sample.args and not isinstance(sample.args[0], bool)
                        else sample.kwargs.get("dim", -1)
                    )
                    m, o = (torch.take_along_dim(sample.input, t, dim) if t.ndim else t for t in (m, o))
                    assert torch.equal(m, o), "another order"
                continue
            wide = o.dtype in (torch.float64, torch.complex128)
            tight = (
                {"rtol": 1e-7, "atol": 1e-7}
                if wide
                else {"rtol": 2e-2, "atol": 1e-2}
                if o.dtype.itemsize == 2
                else {"rtol": 3e-4, "atol": 3e-5}
            )
            if "matrix_exp" in entry.name and not wide:
                tight = {"rtol": 5e-3, "atol": 1e-3}  # PyTorch's is a series in float32
            if not (o.is_floating_point() or o.is_complex()):
                tight = {"rtol": 0, "atol": 0}
            torch.testing.assert_close(m, o, rtol=tight["rtol"], atol=tight["atol"], equal_nan=True)
        elif isinstance(o, float):
            assert m == o or (m != m and o != o) or abs(m - o) <= 1e-5 * max(abs(m), abs(o)), f"{m} for {o}"
        elif isinstance(o, (torch.dtype, bool, int, complex)):
            assert m == o, f"{m} for {o}"


#: Entries that say they have `out=`, whose functions in PyTorch take none.
_NO_OUT = {"histogramdd"}


class Late(Exception):
    """A call took too long."""


def _alarm(*_: Any) -> None:
    raise Late("takes too long")


def _values(sample: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return to_opweave(sample.input), to_opweave(tuple(sample.args)), to_opweave(dict(sample.kwargs))


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        t = value.detach()
        made = t.clone()
        if t.layout is torch.strided and not (t.is_conj() or t.is_neg() or t._is_zerotensor()):
            made.set_(t.untyped_storage().clone(), t.storage_offset(), t.shape, t.stride())  # what views look into
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(_copy(item) for item in value)
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return value


def processed(sample: Any, result: Any, ours: bool) -> Any:
    """What of a result is determined, as the entry says (singular vectors are so up to a sign)."""
    process = sample.output_process_fn_grad
    return (rewritten(process) if ours else process)(result)


def check(entry: Any, way: str, sample: Any) -> None:
    """Fail unless one way to call an entry agrees for a sample."""
    seed = 7
    torch.manual_seed(seed)
    opweave.manual_seed(seed)
    x, args, kwargs = _values(sample)
    theirs_in = (_copy(sample.input), *_copy(tuple(sample.args)))
    theirs_kw = _copy(dict(sample.kwargs))
    if way == "inplace":
        method = method_of(entry, entry.inplace_variant, True)
        if method is None:
            raise LookupError("no name")
        theirs = entry.inplace_variant(*theirs_in, **theirs_kw)
        ours = method(x, *args, **kwargs)
        compare(entry, sample, ours, theirs)
        compare(entry, sample, x, theirs_in[0])
        return
    if way == "out":
        theirs = entry.op(*theirs_in, **theirs_kw)
        if not isinstance(theirs, (torch.Tensor, tuple, list)) or kwargs.get("as_tuple"):
            raise LookupError("no name")
        fn = function_of(entry)
        for resized in (False, True):
            out = _empties(theirs, resized)
            given = to_opweave(out)
            ours = fn(x, *args, out=given, **kwargs)
            compare(entry, sample, processed(sample, given, True), processed(sample, theirs, False))
            compare(entry, sample, processed(sample, ours, True), processed(sample, theirs, False))
        return
    if way == "method":
        method = method_of(entry, entry.method_variant, False)
        if method is None:
            raise LookupError("no name")
    else:
        method = function_of(entry)
    ours: Any = None
    if way == "gradient":  # a matrix of which a triangle is read, say, is made one first
        wrapper = entry.gradcheck_wrapper
        theirs = wrapper(entry.get_op(), *theirs_in, **theirs_kw)
        ours = rewritten(wrapper)(_Called(method, entry.op), x, *args, **kwargs)
    else:
        theirs = entry.op(*theirs_in, **theirs_kw)
    if way == "compiled":
        ours = _compiled(method, x, args, kwargs)
        compare(entry, sample, processed(sample, ours, True), processed(sample, theirs, False))
        return
    if way != "gradient":
        ours = method(x, *args, **kwargs)
        compare(entry, sample, processed(sample, ours, True), processed(sample, theirs, False))
        return
    mine = [t for t in leaves(processed(sample, ours, True)) if isinstance(t, opweave.Tensor)]
    other = [t for t in leaves(processed(sample, theirs, False)) if isinstance(t, torch.Tensor)]
    inputs = [t for t in leaves([x, args, kwargs]) if isinstance(t, opweave.Tensor) and t.requires_grad]
    leaf = [t for t in leaves([theirs_in, theirs_kw]) if isinstance(t, torch.Tensor) and t.requires_grad]
    wanted = [i for i, t in enumerate(other) if t.requires_grad]
    has = [i for i, t in enumerate(mine) if t.requires_grad]
    assert wanted == has, f"results {has} have a gradient instead of {wanted}"
    if not wanted or not leaf:
        return
    torch.manual_seed(3)
    seeds = [torch.randn_like(other[i].detach()) for i in wanted]
    theirs_g = torch.autograd.grad([other[i] for i in wanted], leaf, seeds, allow_unused=True)
    ours_g = opweave.autograd.grad([mine[i] for i in wanted], inputs, [to_opweave(s) for s in seeds], allow_unused=True)
    for m, o in zip(ours_g, theirs_g, strict=True):
        if o is None or m is None:
            zero = o if m is None else to_torch(m)
            assert zero is None or not zero.any(), "a gradient where there is none, or none"
            continue
        compare(entry, sample, m, o)


def _compiled(method: Callable[..., Any], x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the compiled call gives; tensors are arguments of what is compiled, all else belongs to it."""
    given = [a for a in (x, *args) if isinstance(a, opweave.Tensor)]

    def function(tensors: list[Any]) -> Any:
        rest = iter(tensors)
        return method(*[next(rest) if isinstance(a, opweave.Tensor) else a for a in (x, *args)], **kwargs)

    return opweave.compile(function, fullgraph=True)(given)


def _empties(theirs: Any, resized: bool) -> Any:
    if isinstance(theirs, torch.Tensor):
        return torch.empty((0,) if resized else theirs.shape, dtype=theirs.dtype)
    return tuple(_empties(item, resized) for item in theirs)


def samples_of(entry: Any, way: str, dtype: torch.dtype) -> Iterator[Any]:
    """An entry's samples of a type, always the same."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    for sample in entry.sample_inputs("cpu", dtype, requires_grad=way == "gradient"):
        if "fractional_max_pool" in entry.name and sample.kwargs.get("_random_samples") is None:
            # Windows begin at random: at the same numbers in both.
            sizes = *sample.input.shape[:2], sample.input.ndim - 2
            sample.kwargs["_random_samples"] = torch.rand(sizes, dtype=sample.input.dtype)
        yield sample


def applies(entry: Any, way: str, dtype: torch.dtype) -> bool:
    """Whether an entry has a way for a type."""
    supported = entry.supported_dtypes("cpu")
    if dtype not in supported:
        return False
    if way == "method":
        return entry.method_variant is not None
    if way == "inplace":
        return entry.inplace_variant is not None
    if way == "out":
        return bool(entry.supports_out)
    if way == "gradient":
        return bool(entry.supports_autograd) and dtype in entry.supported_backward_dtypes("cpu")
    return True


def measure(
    entry: Any, way: str, dtype: torch.dtype, limit: int = 10**6, seconds: int = 0
) -> tuple[int, int, collections.Counter[str]]:
    """Numbers of samples that agree and of all, and what the others say."""
    right = total = 0
    errors: collections.Counter[str] = collections.Counter()
    if not applies(entry, way, dtype):
        return 0, 0, errors
    for sample in samples_of(entry, way, dtype):
        if total >= limit:
            break
        try:
            _reference(entry, way, sample)
        except Exception:
            continue
        total += 1
        signal.alarm(seconds)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(entry, way, sample)
            right += 1
        except LookupError as error:
            if str(error) == "no name":
                total -= 1
                continue
            errors[_told(error, sample)] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            errors[_told(error, sample)] += 1
        finally:
            signal.alarm(0)
    return right, total, errors


def _reference(entry: Any, way: str, sample: Any) -> None:
    """Raise where PyTorch itself refuses."""
    if way == "inplace":
        entry.inplace_variant(_copy(sample.input), *_copy(tuple(sample.args)), **_copy(dict(sample.kwargs)))
    if way == "out" and entry.name in _NO_OUT:
        raise TypeError("an argument out= that the entry does not say it lacks")


def _told(error: BaseException, sample: Any) -> str:
    text = f"{type(error).__name__}: {error}"
    first = " | ".join(line.strip() for line in text.splitlines() if line.strip())[:300]
    shown = f"{_short(sample.input)} {_short(tuple(sample.args))} {_short(dict(sample.kwargs))}"[:200]
    return f"{first} <- {shown}"


def _short(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return [_short(item) for item in value]
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return value


DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "int64": torch.int64,
    "bool": torch.bool,
    "complex64": torch.complex64,
    "bfloat16": torch.bfloat16,
}


def label(entry: Any) -> str:
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ways", default="function,method,inplace,out,gradient")
    parser.add_argument("--names", default="")
    parser.add_argument("--limit", type=int, default=10**6)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--dtypes", default="")
    parser.add_argument("--errors", type=int, default=2)
    parser.add_argument("--only", default="", help="a file with labels, one a line")
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    signal.signal(signal.SIGALRM, _alarm)
    only = set(Path(given.only).read_text().split("\n")) if given.only else None
    found: dict[str, Any] = {}
    names = [n for n in given.names.split(",") if n]
    for entry in op_db:
        if names and not any(entry.name == n or n.endswith("*") and entry.name.startswith(n[:-1]) for n in names):
            continue
        if only is not None and label(entry) not in only:
            continue
        row: dict[str, Any] = {}
        for way in given.ways.split(","):
            dtypes = (
                given.dtypes.split(",")
                if given.dtypes
                else ["float64"]
                if way == "gradient"
                else ["float32", "int64", "bool"]
                if way in ("function", "method", "inplace")
                else ["float32"]
            )
            if (
                way not in ("gradient",)
                and not any(applies(entry, way, DTYPES[d]) for d in dtypes)
                and not given.dtypes
            ):
                dtypes = [d for d in ("complex64", "int64") if applies(entry, way, DTYPES[d])][:1]
            for d in dtypes:
                try:
                    right, total, errors = measure(
                        entry, way, DTYPES[d], 2 if way == "compiled" else given.limit, given.seconds
                    )
                except Exception as error:
                    right, total, errors = 0, 1, collections.Counter({f"samples: {error}"[:200]: 1})
                if total:
                    row[f"{way}/{d}"] = (right, total, errors.most_common(given.errors))
        found[label(entry)] = row
        for key, (right, total, errors) in row.items():
            if right < total:
                print(f"{label(entry)} {key} {right}/{total}")
                for text, count in errors:
                    print(f"      {count}x {text}")
        sys.stdout.flush()
        if given.json:
            Path(given.json).write_text(json.dumps(found))
    summary(found)


def summary(found: dict[str, Any]) -> None:
    """The numbers of all entries, by way."""
    whole = sum(all(r == t for r, t, _ in row.values()) for row in found.values() if row)
    nearly = sum(
        sum(r for r, _, _ in row.values()) >= 0.99 * sum(t for _, t, _ in row.values()) for row in found.values() if row
    )
    print(f"{len(found)} entries, all right {whole}, at least 99 % right {nearly}")
    by: dict[str, list[int]] = {}
    for row in found.values():
        for key, (right, total, _) in row.items():
            entry = by.setdefault(key, [0, 0, 0, 0])
            entry[0] += right
            entry[1] += total
            entry[2] += right == total
            entry[3] += 1
    for key, (right, total, good, count) in by.items():
        print(f"  {key}: {right}/{total} samples ({100 * right / max(total, 1):.1f} %), {good}/{count} entries")


if __name__ == "__main__":
    main()
