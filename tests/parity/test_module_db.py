"""PyTorch's own samples of its modules (`module_db`): results, gradients, buffers and errors beside PyTorch's."""

from __future__ import annotations

import copy
import os
import types
import zlib
from collections.abc import Iterator
from typing import Any

import comparisons
import differences
import numpy as np
import opinfo
import pytest
import torch
from oracle import hold_close
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

import opweave

#: So many samples of a module are taken at most, evenly spaced.
SAMPLES = int(os.environ.get("OPWEAVE_MODULE_SAMPLES", "24"))
#: Of so many samples one is compiled, too.
COMPILED = 40


def name_of(info: Any) -> str:
    return info.module_cls.__name__


def to_opweave(value: Any) -> Any:
    """A sample's arguments: modules and functions by their names, tensors as copies."""
    if isinstance(value, torch.nn.Module):
        made = _same(value)
        made.load_state_dict({key: opinfo.to_opweave(t) for key, t in value.state_dict().items()})
        return made.train(value.training)
    if isinstance(value, types.BuiltinFunctionType):
        return getattr(opweave.nn.functional, value.__name__)
    return opinfo.to_opweave(value)


def _same(module: Any) -> Any:
    """A layer of a Transformer made anew, as the samples of its stacks are given one."""
    kind, attention = getattr(opweave.nn, type(module).__name__), module.self_attn
    return kind(
        attention.embed_dim, attention.num_heads, module.linear1.out_features, module.dropout.p,
        activation=getattr(opweave.nn.functional, module.activation.__name__),
        batch_first=attention.batch_first, norm_first=module.norm_first, bias=module.linear1.bias is not None,
        dtype=opinfo.to_opweave(module.linear1.weight.dtype),
    )  # fmt: skip


def samples(info: Any, dtype: torch.dtype) -> Iterator[tuple[bool, Any]]:
    for training in (True, False):
        for sample in info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training):
            if sample.forward_input is not None:
                yield training, sample


def tensors(value: Any) -> list[Any]:
    """The tensors of nested values, in order."""
    if isinstance(value, (torch.Tensor, opweave.Tensor)):
        return [value]
    if isinstance(value, dict):
        value = [*value.values()]
    return [t for each in value for t in tensors(each)] if isinstance(value, (list, tuple)) else []


def detached(value: Any) -> Any:
    """A sample's arguments as leaves: some are computed from each other."""
    if isinstance(value, torch.Tensor):
        return value.detach().requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: detached(each) for key, each in value.items()}
    return type(value)(map(detached, value)) if isinstance(value, (list, tuple)) else value


def made(kind: Any, given: Any, dtype: Any, training: bool) -> Any:
    return kind(*given.args, **given.kwargs).to(dtype).train(training)


def run(lib: Any, module: Any, call: Any, args: Any, kwargs: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Results, their strides and gradients of what has one, as arrays, and the buffers after."""
    lib.manual_seed(0)
    outputs = tensors(call(*args, **kwargs))
    roots = [t for t in outputs if t.requires_grad]
    leaves = [t for t in (*tensors(args), *tensors(kwargs), *module.parameters()) if t.requires_grad]
    found: list[Any] = []
    if roots and leaves:
        weights = [lib.from_numpy(np.cos(np.arange(t.numel(), dtype=np.float64)).reshape(t.shape)) for t in roots]
        vectors = [w.to(t.dtype) for w, t in zip(weights, roots, strict=True)]
        found = [*lib.autograd.grad(roots, leaves, vectors, allow_unused=True)]
    return outputs, found, [*module.buffers()]


def hold(ours: list[Any], theirs: list[Any], allowed: Any, note: str, strides: bool = False) -> None:
    assert len(ours) == len(theirs), note
    for one, other in zip(ours, theirs, strict=True):
        if one is None or other is None:
            assert one is other is None, note
            continue  # no difference: neither has one
        assert str(one.dtype).rpartition(".")[2] == str(other.dtype).rpartition(".")[2], note
        assert tuple(one.shape) == tuple(other.shape), note
        assert one.requires_grad == other.requires_grad, note
        if strides and one.numel() > 1:
            assert one.stride() == other.stride(), note
        comparisons.note_test()
        hold_close(one.detach().numpy(), other.detach().numpy(), allowed, note)


@pytest.mark.parametrize("info", module_db, ids=name_of)
def test_samples(info: Any) -> None:
    dtype, kind = torch.float64, getattr(opweave.nn, name_of(info))
    allowed, taken = differences.of_test("models"), 0
    given_samples = [*samples(info, dtype)]
    for number in range(0, len(given_samples), -(-len(given_samples) // SAMPLES)):
        training, sample = given_samples[number]
        note = f"{number}, training={training}, {sample.desc}: {sample.constructor_input.kwargs}"
        torch.manual_seed(0)
        theirs = made(info.module_cls, sample.constructor_input, dtype, training)
        given = types.SimpleNamespace(
            args=[to_opweave(a) for a in sample.constructor_input.args],
            kwargs={key: to_opweave(value) for key, value in sample.constructor_input.kwargs.items()},
        )
        ours = made(kind, given, opweave.float64, training)
        if name_of(info).startswith("Lazy"):  # the first call draws the weights
            with torch.no_grad():
                theirs(*sample.forward_input.args, **sample.forward_input.kwargs)
        state = theirs.state_dict()
        assert list(ours.state_dict()) == list(state), note
        ours.load_state_dict({key: opinfo.to_opweave(value) for key, value in state.items()})
        if not name_of(info).startswith("Lazy"):  # theirs has been called
            assert repr(ours).replace("opweave", "torch") == repr(theirs), note
        modules = [(opweave, ours, ours)]
        if zlib.crc32(f"{name_of(info)} {number}".encode()) % COMPILED == 0:
            other = copy.deepcopy(ours)
            modules.append((opweave, other, opweave.compile(other)))
        results = []
        for lib, module, call in (*modules, (torch, theirs, theirs)):
            own = to_opweave if lib is opweave else detached
            args, kwargs = own(list(sample.forward_input.args)), own(sample.forward_input.kwargs)
            results.append(run(lib, module, call, args, kwargs))
        for found in results[:-1]:
            for i, (mine, other) in enumerate(zip(found, results[-1], strict=True)):
                hold(mine, other, allowed, note, strides=i == 0)
        taken += 1
    assert taken


@pytest.mark.parametrize("info", [info for info in module_db if info.module_error_inputs_func], ids=name_of)
def test_errors(info: Any) -> None:
    kind = getattr(opweave.nn, name_of(info))
    for training in (True, False):
        found = info.module_error_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
        )
        for error in found:
            sample = error.module_error_input
            args = [to_opweave(a) for a in sample.constructor_input.args]
            kwargs = {key: to_opweave(value) for key, value in sample.constructor_input.kwargs.items()}
            if error.error_on == ModuleErrorEnum.CONSTRUCTION_ERROR:
                with pytest.raises(error.error_type):
                    kind(*args, **kwargs)
                continue  # no difference: both refuse
            module = kind(*args, **kwargs)  # in training, as it begins
            args = [to_opweave(a) for a in sample.forward_input.args]
            kwargs = {key: to_opweave(value) for key, value in sample.forward_input.kwargs.items()}
            with pytest.raises(error.error_type):
                module(*args, **kwargs)
