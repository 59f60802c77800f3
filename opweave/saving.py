"""Saving tensors, and containers of them, to files: `save` and `load`.

A file is a zip: `tree.json` has the containers with numbers in the place of tensors, `data/0.npy` and so on their
elements. An object of another class is a pickle in it, under its class's name. What is read is not run: such a file is
refused, unless whoever loads it says that it is trusted, with `weights_only=False`.
"""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable, Mapping
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
MapLocation = Device | str | Mapping[str, Device | str] | Callable[[Any, str], Any] | None


def save(obj: Any, f: File) -> None:
    """Write tensors, and containers of them, to a file.

    Parameters
    ----------
    obj : object
        A tensor, array of NumPy, number, string, bytes, dtype, device, None, or a list, tuple, set or dict of these.
        Each tensor is written with its own elements: tensors that share memory do not when they are loaded. Another
        object is pickled, and comes back by `load(f, weights_only=False)` alone.
    f : path or binary file
        Where to.

    Raises
    ------
    ArgumentError
        If there is something among them that cannot be pickled.

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
    return {"object": f"{type(value).__module__}.{type(value).__qualname__}", "pickle": _pickled(value, where)}


def _pickled(value: Any, where: str) -> str:
    try:
        return base64.b64encode(pickle.dumps(value)).decode()
    except Exception as error:
        let_through(error)
        raise ArgumentError(
            "save: tensors, arrays, numbers, strings and containers of them can be saved, and what can be pickled",
            got=f"{type(value).__name__} at {where}: {error}",
            hint="save a state_dict(), or what the object is made from",
        ) from None  # fmt: skip


def load(f: File, map_location: MapLocation = None, *, weights_only: bool = True) -> Any:
    """Read what `save` wrote.

    Parameters
    ----------
    f : path or binary file
        Where from.
    map_location : Device, str, dict or callable, optional
        Where to put all tensors; by default where they were. A dict maps devices by name; what is not in it stays. A
        function is called with the storage on the CPU and the name of the device, and returns a storage on another
        one, as `lambda storage, location: storage` for the CPU, or None.
    weights_only : bool
        Whether to refuse objects of other classes than those that `save` names, which only running code of the file
        can make. Pass False for files that you trust as you do programs.

    Raises
    ------
    ArgumentError
        If it is no such file, or damaged, or has such an object.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> opweave.save(opweave.arange(3), file)
    >>> _ = file.seek(0)
    >>> opweave.load(file)
    tensor([0, 1, 2])
    """
    place = _placing(map_location)
    try:
        with zipfile.ZipFile(f) as archive:
            tree = json.loads(archive.read("tree.json"))
            if tree.get("format") != "opweave.save" or tree.get("version") != _VERSION:
                raise ValueError(f"version {tree.get('version')}")
            return _decoded(tree["tree"], lambda about: _loaded(archive, about, place, weights_only))
    except _UntrustedError as error:
        raise ArgumentError(
            "load: the file has an object that only running code of it can make", got=f"{f}: {error}",
            hint="load(f, weights_only=False), if you trust the file as you do a program",
        ) from None  # fmt: skip
    except (
        zipfile.BadZipFile,
        pickle.UnpicklingError,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        EOFError,
    ) as error:
        let_through(error)
        raise ArgumentError(
            "load: this is no file of opweave.save, or a damaged one", got=f"{f}: {error}",
            hint="it reads what opweave.save wrote; weights of PyTorch come by safetensors, programs by export.load",
        ) from None  # fmt: skip


def _placing(given: MapLocation) -> Callable[[Tensor, str], Device]:
    """Where to put a tensor that is on the CPU and was on a device."""
    if given is None:
        return lambda t, name: parse_device(name)
    if isinstance(given, Mapping):
        return lambda t, name: parse_device(given.get(name, name))
    if callable(given):

        def asked(t: Tensor, name: str) -> Device:
            found = given(t.untyped_storage(), name)
            return parse_device(name if found is None else found.device)

        return asked
    place = parse_device(given)
    return lambda t, name: place


class _UntrustedError(Exception):
    """A file has a pickle, and is not to be trusted."""


def _loaded(
    archive: zipfile.ZipFile, about: dict[str, Any], place: Callable[[Tensor, str], Device], weights_only: bool
) -> Any:
    """A tensor, array or number of NumPy, or another object."""
    if "object" in about:
        if weights_only:
            raise _UntrustedError(str(about["object"]))
        return pickle.loads(base64.b64decode(about["pickle"], validate=True))
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
    target = place(made, about["device"])
    made = made if target is cpu else copies.to(made, target)
    return made.requires_grad_() if about["requires_grad"] else made


#: What makes a container of what it holds.
_MAKERS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "size": Size, "set": set, "frozenset": frozenset}


def _decoded(value: Any, loaded: Callable[[dict[str, Any]], Any]) -> Any:
    if isinstance(value, list):
        return [_decoded(item, loaded) for item in value]
    if not isinstance(value, dict):
        return value
    if not value.keys().isdisjoint(("tensor", "array", "scalar", "object")):
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
