"""Tensors in files of the safetensors format: a JSON header, then the elements; nothing in a file is ever run.

    opweave.safetensors.save_file(model.state_dict(), "model.safetensors")
    model.load_state_dict(opweave.safetensors.load_file("model.safetensors"))

Names and files are those of the package `safetensors`, which is not needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from opweave.registry.dtypes import DTYPES
from opweave.registry.errors import ArgumentError, DTypeError, ExportError
from opweave.registry.interrupts import let_through
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, from_numpy

__all__ = ["load", "load_file", "load_metadata", "save", "save_file"]

_ = _surface  # declares the ops
aten = ops.aten
_NAMES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu", "C64": "complex64",
}  # fmt: skip
_CODES = {name: code for code, name in _NAMES.items()}
#: The largest header that other readers take.
_LARGEST_HEADER = 100_000_000
_METADATA = "__metadata__"


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a file; see `save_file`.

    Examples
    --------
    >>> data = opweave.safetensors.save({"w": opweave.ones(2)})
    >>> opweave.safetensors.load(data)
    {'w': tensor([1., 1.])}
    """
    header: dict[str, Any] = {}
    if metadata is not None:
        if not all(isinstance(text, str) for pair in metadata.items() for text in pair):
            raise ArgumentError("safetensors: metadata must be texts by name", got=repr(dict(metadata)))
        header[_METADATA] = dict(metadata)
    if not isinstance(tensors, Mapping):
        raise ArgumentError(
            "safetensors: expected tensors by name",
            got=type(tensors).__name__,
            hint="save_file(model.state_dict(), path)",
        )
    for name, t in tensors.items():
        if not isinstance(name, str) or not isinstance(t, Tensor):
            raise ArgumentError(
                "safetensors: expected tensors by name", got=f"{name!r}: {type(t).__name__}",
                hint="only tensors can be saved so; opweave.save takes numbers, texts and containers, too",
            )  # fmt: skip
        if name == _METADATA:
            raise ArgumentError(f"safetensors: no tensor may be named {_METADATA!r}")
        if t._dtype.name not in _CODES:
            raise DTypeError("safetensors: the format has no such dtype", got=f"{name!r}: {t._dtype}")
    at, parts = 0, list[bytes]()
    # The largest elements first, so that each tensor lies where its elements may.
    for name, t in sorted(tensors.items(), key=lambda item: (-item[1]._dtype.itemsize, item[0])):
        array = np.ascontiguousarray(t.detach().numpy(force=True))  # type: ignore[attr-defined]
        part = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        offsets = [at, at + len(part)]
        header[name] = {"dtype": _CODES[t._dtype.name], "shape": list(t._sizes), "data_offsets": offsets}
        parts.append(part)
        at += len(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def save_file(
    tensors: Mapping[str, Tensor], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to a file.

    Parameters
    ----------
    tensors : dict of str to Tensor
        On any device, with any strides.
    filename : str or path
        Replaced whole, or not at all.
    metadata : dict of str to str, optional
        Further texts.

    Raises
    ------
    ArgumentError
        If something is no tensor, or no text.
    DTypeError
        If the format has no such dtype.

    Examples
    --------
    >>> opweave.safetensors.save_file({"w": opweave.ones(2)}, "w.safetensors")  # doctest: +SKIP
    """
    path = Path(filename)
    data = save(tensors, metadata)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(data)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _refused(what: str, got: str) -> ExportError:
    return ExportError(f"safetensors: {what}", got=got, hint="the file is damaged, or of another format")


def _header(data: Any, what: str) -> tuple[dict[str, Any], int]:
    """The header, checked, and where elements begin."""
    total = len(data)
    if total < 8:
        raise _refused("too short", f"{what}: {total} bytes")
    size = int.from_bytes(bytes(data[:8]), "little")
    if size > min(total - 8, _LARGEST_HEADER):
        raise _refused("the header is longer than the file", f"{what}: {size} of {total} bytes")
    try:
        header = json.loads(bytes(data[8 : 8 + size]))
    except (ValueError, RecursionError) as error:
        let_through(error)
        raise _refused("the header is no JSON", f"{what}: {error}") from None
    if not isinstance(header, dict):
        raise _refused("the header is no object", what)
    end = 0
    entries = [(name, entry) for name, entry in header.items() if name != _METADATA]
    for name, entry in entries:
        match entry:
            case {"dtype": str(code), "shape": list(shape), "data_offsets": [int(begin), int(stop)]} if all(
                type(n) is int and n >= 0 for n in (*shape, begin, stop)
            ):
                pass
            case _:
                raise _refused("an entry of the header is not right", f"{what}: {name!r}")
        dtype = DTYPES.get(_NAMES.get(code, ""))
        if dtype is None:
            raise DTypeError("safetensors: no such dtype here", got=f"{what}: {name!r} is {code}")
        count = 1
        for n in shape:
            count *= n
        if stop - begin != count * dtype.itemsize:
            raise _refused("a tensor's bytes do not fit its shape", f"{what}: {name!r}")
    for name, entry in sorted(entries, key=lambda item: tuple(item[1]["data_offsets"])):
        if entry["data_offsets"][0] != end:
            raise _refused("tensors overlap or leave gaps", f"{what}: {name!r}")
        end = entry["data_offsets"][1]
    if end != total - 8 - size:
        raise _refused("there are more or fewer elements than the header says", f"{what}: {total - 8 - size} bytes")
    return header, 8 + size


def _tensors(data: Any, what: str, device: Any) -> dict[str, Tensor]:
    header, start = _header(data, what)
    found = dict[str, Tensor]()
    for name, entry in header.items():
        if name == _METADATA:
            continue
        dtype = DTYPES[_NAMES[entry["dtype"]]]
        begin, stop = entry["data_offsets"]
        array = data[start + begin : start + stop].view(dtype.numpy).reshape(entry["shape"])
        t = aten.clone.default(from_numpy(array))
        found[name] = t if device is None else aten._to_copy.default(t, device=device)
    return found


def _mapped(filename: str | os.PathLike[str]) -> Any:
    """The bytes of a file, read where they are looked at."""
    # Copied on write: read-only memory can be no tensor's, not even on its way.
    data = np.memmap(filename, np.uint8, "c") if os.path.getsize(filename) else np.empty(0, np.uint8)
    return data.view(np.ndarray)


def load(data: bytes) -> dict[str, Tensor]:
    """Tensors from the bytes of a file; see `load_file`.

    Examples
    --------
    >>> data = opweave.safetensors.save({"w": opweave.ones(2)})
    >>> opweave.safetensors.load(data)["w"]
    tensor([1., 1.])
    """
    return _tensors(np.frombuffer(bytearray(data), np.uint8), "bytes", None)


def load_file(filename: str | os.PathLike[str], device: Any = None) -> dict[str, Tensor]:
    """Read the tensors of a file.

    Parameters
    ----------
    filename : str or path
        Of the file.
    device : Device or str, optional
        Where they go; main memory by default.

    Raises
    ------
    ExportError
        If the file is damaged, or of another format.
    DTypeError
        If there is no such dtype here.

    Examples
    --------
    >>> tensors = opweave.safetensors.load_file("w.safetensors")  # doctest: +SKIP
    """
    return _tensors(_mapped(filename), os.fspath(filename), device)


def load_metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The texts that a file has besides its tensors.

    Examples
    --------
    >>> opweave.safetensors.load_metadata("w.safetensors")  # doctest: +SKIP
    """
    return dict(_header(_mapped(filename), os.fspath(filename))[0].get(_METADATA, {}))


def __dir__() -> list[str]:
    return sorted(__all__)
