"""Saving tensors, and containers of them, to files: `save` and `load`. Nothing that is read is run.

A file is a zip: `tree.json` has the containers with numbers in the place of tensors, `data/0.npy` and so on their
elements. No object of another class can be saved, and none is made by loading.
"""

from __future__ import annotations

import base64
import io
import json
import os
import zipfile
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from opweave.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from opweave.registry.device import Device, cpu, parse_device
from opweave.registry.dtypes import DTYPES, DType
from opweave.registry.errors import ArgumentError
from opweave.registry.interrupts import let_through
from opweave.registry.ops import copies
from opweave.registry.strided import Size
from opweave.registry.tensor import Tensor

__all__ = ["load", "save"]

#: The number of the format, which is counted up when it changes.
_VERSION = 1
File = str | os.PathLike[str] | IO[bytes]


def save(obj: Any, f: File) -> None:
    """Write tensors, and containers of them, to a file.

    Parameters
    ----------
    obj : object
        A tensor, array of NumPy, number, string, bytes, dtype, device, None, or a list, tuple, set or dict of these
        (keys are what is no container, or tuples). Each tensor is written with its own elements: tensors that share
        memory do not when they are loaded.
    f : path or binary file
        Where to.

    Raises
    ------
    ArgumentError
        If there is something else among them.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> opweave.save({"step": 3, "weight": opweave.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> opweave.load(file)
    {'step': 3, 'weight': tensor([1., 1.])}
    """
    tensors: list[Any] = []
    tree = {"format": "opweave.save", "version": _VERSION, "tree": _encoded(obj, tensors, "the object")}
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("tree.json", json.dumps(tree))
        for number, t in enumerate(tensors):
            with archive.open(f"data/{number}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, _elements(t), allow_pickle=False)


def _elements(value: Any) -> Any:
    """A tensor's or an array's elements as a file of NumPy has them."""
    if not isinstance(value, Tensor):
        return np.asarray(value)
    array = copies.to(value.detach(), "cpu").contiguous().numpy()
    return array if value._dtype.bits is None else array.view(value._dtype.bits)


def _is_array(value: Any) -> bool:
    """Whether it is NumPy's, of what a file has: numbers, bools, times, strings and bytes."""
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufcmMSU"


def _encoded(value: Any, tensors: list[Any], where: str) -> Any:
    """A value as JSON: what JSON has as it is, all else as `{kind: ...}`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if is_lazy(value):
        about = {"dtype": value._dtype.name, "device": str(value._device), "requires_grad": value.requires_grad}
        return {"uninitialized": {"parameter": isinstance(value, UninitializedParameter), **about}}
    if isinstance(value, Tensor):
        tensors.append(value)
        about = {"dtype": value._dtype.name, "device": str(value._device), "requires_grad": value.requires_grad}
        return {"tensor": len(tensors) - 1, **about}
    if type(value) is complex:
        return {"complex": [value.real, value.imag]}
    if _is_array(value):
        tensors.append(value)
        return {"array" if isinstance(value, np.ndarray) else "scalar": len(tensors) - 1}
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, Device):
        return {"device": str(value)}
    if type(value) in (bytes, bytearray):
        return {type(value).__name__: base64.b64encode(value).decode()}
    if type(value) in (set, frozenset):
        return {type(value).__name__: [_encoded(item, tensors, where) for item in value]}
    if type(value) in (list, tuple, Size):
        items = [_encoded(item, tensors, f"{where}[{i}]") for i, item in enumerate(value)]
        return items if type(value) is list else {"size" if type(value) is Size else "tuple": items}
    if isinstance(value, dict):
        return {"dict": [
            [_encoded(key, tensors, f"a key of {where}"), _encoded(item, tensors, f"{where}[{key!r}]")]
            for key, item in value.items()
        ]}  # fmt: skip
    raise ArgumentError(
        "save: only tensors, arrays, numbers, strings, and lists, tuples, sets and dicts of these can be saved",
        got=f"{type(value).__name__} at {where}", hint="save a state_dict(), or what the object is made from",
    )  # fmt: skip


def load(f: File, map_location: Device | str | None = None, *, weights_only: bool = True) -> Any:
    """Read what `save` wrote.

    Parameters
    ----------
    f : path or binary file
        Where from.
    map_location : Device or str, optional
        Where to put all tensors; by default where they were.
    weights_only : bool
        For PyTorch's callers: it always is so.

    Raises
    ------
    ArgumentError
        If it is no such file, or damaged.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> opweave.save(opweave.arange(3), file)
    >>> _ = file.seek(0)
    >>> opweave.load(file)
    tensor([0, 1, 2])
    """
    place = None if map_location is None else parse_device(map_location)
    try:
        with zipfile.ZipFile(f) as archive:
            tree = json.loads(archive.read("tree.json"))
            if tree.get("format") != "opweave.save" or tree.get("version") != _VERSION:
                raise ValueError(f"version {tree.get('version')}")
            return _decoded(tree["tree"], lambda about: _loaded(archive, about, place))
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, EOFError) as error:
        let_through(error)
        raise ArgumentError(
            "load: this is no file of opweave.save, or a damaged one", got=f"{f}: {error}",
            hint="it reads what opweave.save wrote; weights of PyTorch come by safetensors, programs by export.load",
        ) from None  # fmt: skip


def _loaded(archive: zipfile.ZipFile, about: dict[str, Any], place: Device | None) -> Any:
    """A tensor, array or number of NumPy."""
    number = about.get("tensor", about.get("array", about.get("scalar")))
    data = archive.read(f"data/{int(number)}.npy")  # type: ignore[arg-type]  # one is there, or this is damaged
    array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    if "tensor" not in about:
        return array if "array" in about else array[()]
    dtype = DTYPES[about["dtype"]]
    if dtype.bits is not None:
        if array.dtype != dtype.bits:
            raise ValueError(f"elements of {array.dtype}")
        array = array.view(dtype.numpy)
    if array.dtype != dtype.numpy:
        raise ValueError(f"elements of {array.dtype} for {dtype.name}")
    made = Tensor._from_array(array, cpu)
    target = parse_device(about["device"]) if place is None else place
    made = made if target is cpu else copies.to(made, target)
    return made.requires_grad_() if about["requires_grad"] else made


#: What makes a container of what it holds.
_MAKERS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "size": Size, "set": set, "frozenset": frozenset}


def _decoded(value: Any, loaded: Callable[[dict[str, Any]], Any]) -> Any:
    if isinstance(value, list):
        return [_decoded(item, loaded) for item in value]
    if not isinstance(value, dict):
        return value
    if not value.keys().isdisjoint(("tensor", "array", "scalar")):
        return loaded(value)
    ((kind, content),) = value.items()
    if kind == "uninitialized":
        make = UninitializedParameter if content["parameter"] else UninitializedBuffer
        return make(bool(content["requires_grad"]), parse_device(content["device"]), DTYPES[content["dtype"]])
    if kind == "complex":
        return complex(*content)
    if kind == "dtype":
        return DTYPES[content]
    if kind == "device":
        return parse_device(content)
    if kind in ("bytes", "bytearray"):
        data = base64.b64decode(content, validate=True)
        return data if kind == "bytes" else bytearray(data)
    if kind in _MAKERS:
        return _MAKERS[kind](_decoded(item, loaded) for item in content)
    if kind == "dict":
        return {_decoded(key, loaded): _decoded(item, loaded) for key, item in content}
    raise ValueError(f"an unknown kind {kind!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
