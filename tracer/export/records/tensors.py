"""Tensors that a program brings along, and their memory, which they may share."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.registry.device import Device
from opweave.registry.dtypes import DType, uint8
from opweave.registry.errors import UnsupportedError
from opweave.registry.spec import span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, allocate, describe, make
from opweave.tracer.export import archive
from opweave.tracer.export.encoding import Reader, decode_spec
from opweave.tracer.export.program import ExportedProgram
from opweave.tracer.export.records.places import Entries

# Parts of a storage keep their alignment to the widest element.
_ALIGNMENT = 16


class TensorRecords:
    """Writes tensors.

    Attributes
    ----------
    storages : list
        The records of their memory, by number.
    """

    def __init__(self, entries: Entries):
        self.storages: list[Any] = []
        self._entries = entries

    def write(self, program: ExportedProgram) -> dict[str, Any]:
        """The tensors of a program, by name."""
        named = program.tensors
        groups: dict[int, list[Tensor]] = {}
        for name, tensor in named.items():
            if type(tensor) is not Tensor or tensor._storage.owner is None:
                raise UnsupportedError(
                    f"save: {name} is no plain tensor with data",
                    got=describe(tensor),
                    hint="pass it to the program as an argument",
                )
            groups.setdefault(id(tensor._storage), []).append(tensor)
        placed = {storage: self._storage(group) for storage, group in groups.items()}
        found: dict[str, dict[str, Any]] = {}
        for name, tensor in named.items():
            number, start = placed[id(tensor._storage)]
            found[name] = {
                "storage": number, "dtype": tensor._dtype.name, "sizes": list(tensor._sizes),
                "strides": list(tensor._strides), "device": str(tensor._device),
                "offset": tensor._offset - start // tensor._dtype.itemsize if tensor.numel() else 0,
                "requires_grad": bool(tensor.requires_grad and tensor.is_leaf), "state": name in program.state_dict,
            }  # fmt: skip
        return found

    def _storage(self, tensors: list[Tensor]) -> tuple[int, int]:
        """Write what the tensors of one storage show of it; gives its number and the first byte that was kept."""
        ranges = [_bytes_of(t) for t in tensors if t.numel()] or [(0, 0)]
        start = min(first for first, _ in ranges) // _ALIGNMENT * _ALIGNMENT
        end = max(last for _, last in ranges)
        storage, device = tensors[0]._storage, tensors[0]._device
        raw = storage.array((end - start,), (1,), start, uint8)
        content = np.ascontiguousarray(device.memory.to_host(raw))
        number = len(self.storages)
        entry = self._entries.add(f"data/{number}.npy", archive.to_npy(content.view(_file_type(tensors, end - start))))
        self.storages.append({"entry": entry, "device": str(device)})
        return number, start


def _bytes_of(tensor: Tensor) -> tuple[int, int]:
    first = tensor._offset * tensor._dtype.itemsize
    return first, first + span(tensor._sizes, tensor._strides) * tensor._dtype.itemsize


def _file_type(tensors: list[Tensor], nbytes: int) -> Any:
    """How a storage is shown to whoever opens the file with NumPy: as elements, where all tensors have the same."""
    found: set[DType] = {t._dtype for t in tensors}
    dtype = found.pop()
    if found or nbytes % dtype.itemsize:
        return np.dtype(np.uint8)
    return dtype.bits or dtype.numpy


def decode_tensors(tensors: Reader, storages: Reader, entries: Entries) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Read a program's tensors: its state, and its constants."""
    content = [_read_storage(item, entries) for item in storages.items()]
    kinds: tuple[dict[str, Tensor], dict[str, Tensor]] = ({}, {})
    for name, item in tensors.members():
        if not name.isprintable():
            tensors.fail("printable names")
        item.keys("storage", "dtype", "sizes", "strides", "offset", "device", "requires_grad", "state")
        spec = decode_spec(item)
        storage, raw = content[item["storage"].integer(0, len(content) - 1)]
        offset = item["offset"].integer()
        if spec.numel and (offset + span(spec.sizes, spec.strides)) * spec.dtype.itemsize > storage.nbytes:
            item.fail("a tensor that is inside its storage")
        if spec.device is not storage.device:
            item["device"].fail(str(storage.device))
        if spec.dtype.kind == "b" and raw.size and raw.max() > 1:
            item.fail("bytes that are 0 or 1")
        made = make(storage, spec.sizes, spec.strides, offset, spec.dtype, spec.device)
        if item["requires_grad"].flag():
            if not (spec.dtype.is_floating_point or spec.dtype.is_complex):
                item["requires_grad"].fail("false for integers")
            made.requires_grad_()
        kinds[0 if item["state"].flag() else 1][name] = made
    return kinds


def _read_storage(source: Reader, entries: Entries) -> tuple[Storage, Any]:
    source.keys("entry", "device")
    raw = archive.from_npy(entries.take(source["entry"], ".npy"), source["entry"].value)
    device: Device = source["device"].device()
    if device.type == "meta":
        source["device"].fail("a device with memory")
    bytes_tensor = allocate((raw.size,), (1,), uint8, device)
    if raw.size:
        bytes_tensor._array[...] = device.memory.from_host(raw, device.index)
    return bytes_tensor._storage, raw
