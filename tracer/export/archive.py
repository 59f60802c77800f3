"""The container of an exported program: a zip of JSON, `.npy` and TTIR files, read with suspicion.

Entries are stored, never compressed, so a file cannot hold more than its own length; nothing is unpacked to disk. The
entry `manifest.json` has the SHA-256 and the length of all others. NumPy's reader is not used: it would look at Python
expressions and at pickles.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import secrets
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from opweave.registry.containers import is_dict
from opweave.registry.errors import ArgumentError, ExportError
from opweave.registry.interrupts import let_through

FORMAT = "opweave.export"
VERSION = 2
READABLE = (1, 2)
"""Versions that are read: 1 has no control flow, and its launch grids are integers."""
MANIFEST = "manifest.json"
JSON_LIMIT = 32 << 20
"""Most bytes of JSON: parsed it takes some twenty times as much memory."""

_NAME = re.compile(r"(?:manifest|program)\.json|data/\d{1,9}\.npy|kernels/\d{1,9}\.ttir", re.ASCII)
_NPY = re.compile(rb"\{'descr': '([|<][a-z]\d{1,2})', 'fortran_order': False, 'shape': \((\d{1,19}),\), \} *\n")
_NPY_TYPES = frozenset(
    {"|b1", "|u1", "|i1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"}
)  # fmt: skip
_HINT = "get the file again from where it was saved"


def refuse(what: str, got: str | None = None) -> NoReturn:
    """Raise `ExportError` about a file."""
    raise ExportError(f"load: {what}", got=got, hint=_HINT)


# ---- writing ---------------------------------------------------------------------------------------------------------


def write(target: Any, entries: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
    """Write an archive; equal contents give equal bytes.

    Parameters
    ----------
    target : str, path or binary file
        A path is replaced only when everything is written.
    entries : mapping of str to bytes
        All but the manifest.
    manifest : mapping
        What the manifest has besides format, version and hashes.
    """
    about = {
        "format": FORMAT,
        "version": VERSION,
        **manifest,
        "entries": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in entries.items()
        },
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {MANIFEST: to_json(about), **entries}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    if hasattr(target, "write"):
        target.write(content.getvalue())
        return
    replace_file(_path(target, "save"), content.getvalue())


def replace_file(path: str | Path, content: bytes) -> None:
    """Write a file, or leave what is there as it is."""
    temporary = os.path.join(os.path.dirname(os.path.abspath(path)), f".opweave-{secrets.token_hex(8)}")
    # Readable for whom new files are.
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _path(target: Any, what: str) -> str:
    try:
        return os.fsdecode(target)
    except TypeError:
        raise ArgumentError(
            f"{what}: expected a path or a binary file", got=f"{target!r} ({type(target).__name__})",
            hint="'program.opweave', or open(..., 'rb')",
        ) from None  # fmt: skip


def to_json(value: Any) -> bytes:
    """JSON text; no NaN or infinity."""
    return json.dumps(value, indent=1, allow_nan=False, ensure_ascii=True).encode()


def to_npy(array: Any) -> bytes:
    """A one-dimensional array as a `.npy` file."""
    content = io.BytesIO()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(content, little, version=(1, 0), allow_pickle=False)
    return content.getvalue()


# ---- reading ---------------------------------------------------------------------------------------------------------


def read(source: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest, and all other entries.

    Raises
    ------
    ExportError
        If the archive is not whole, or holds anything that `write` does not write.
    """
    if hasattr(source, "read"):
        content = source.read()
        if not isinstance(content, bytes):
            raise ArgumentError("load: expected a file opened in binary mode", got=type(content).__name__)
    else:
        try:
            with open(_path(source, "load"), "rb") as file:
                content = file.read()
        except OSError as error:
            let_through(error)
            raise ExportError(
                "load: the file cannot be read", got=str(error), hint="give the path of a file that export.save wrote"
            ) from None
        except ValueError as error:  # a NUL in the path
            let_through(error)
            raise ArgumentError("load: not a path", got=str(error)) from None
    try:
        entries = _unzip(content)
    except ExportError:
        raise
    except Exception as error:  # zipfile raises whatever a damaged directory leads to
        let_through(error)
        refuse("the file is no exported program, or it is damaged", f"{type(error).__name__}: {error}")
    manifest = from_json(entries.pop(MANIFEST, b""), MANIFEST)
    if not is_dict(manifest) or manifest.get("format") != FORMAT:
        refuse("the file is no exported program", f"format {_short(manifest)}")
    if type(manifest.get("version")) is not int or manifest["version"] not in READABLE:
        raise ExportError(
            "load: the file has another format version",
            got=_short(manifest.get("version")),
            hint=f"this opweave reads versions {READABLE[0]} to {READABLE[-1]}",
        )
    _check_hashes(manifest.get("entries"), entries)
    return manifest, entries


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _unzip(content: bytes) -> dict[str, bytes]:
    entries: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        if sum(info.file_size for info in infos) > len(content):
            refuse("its entries are longer than the file")
        for info in infos:
            name = info.filename
            if not _NAME.fullmatch(name):
                refuse("it has an entry that does not belong there", _short(name))
            if name in entries:
                refuse("an entry is there twice", name)
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
                refuse("an entry is compressed or encrypted", name)
            if name.endswith(".json") and info.file_size > JSON_LIMIT:
                refuse(f"{name} is longer than {JSON_LIMIT} bytes", str(info.file_size))
            entries[name] = archive.read(info)
    return entries


def _check_hashes(expected: Any, entries: Mapping[str, bytes]) -> None:
    if not is_dict(expected) or expected.keys() != entries.keys():
        refuse("its entries are not those of its manifest", _short(sorted(entries)))
    for name, data in entries.items():
        about: Any = expected[name]
        if not is_dict(about) or about.get("bytes") != len(data):
            refuse(f"{name} has another length than its manifest says", str(len(data)))
        if about.get("sha256") != hashlib.sha256(data).hexdigest():
            refuse(f"{name} is damaged: its hash is not that of the manifest")


def from_json(data: bytes, name: str) -> Any:
    """JSON text read; numbers are finite and no key is there twice."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            raise ValueError("a key is there twice")
        return found

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(f"{text} is no finite number")
        return value

    def constant(text: str) -> NoReturn:
        raise ValueError(f"{text} is no JSON")

    try:
        return json.loads(data.decode(), object_pairs_hook=pairs, parse_float=number, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        let_through(error)
        refuse(f"{name} cannot be read", f"{type(error).__name__}: {_short(str(error))}")


def from_npy(data: bytes, name: str) -> Any:
    """The bytes of a one-dimensional array, checked."""
    if data[:8] != b"\x93NUMPY\x01\x00" or len(data) < 10:
        refuse(f"{name} is no .npy file of version 1.0")
    (length,) = struct.unpack("<H", data[8:10])
    header = _NPY.fullmatch(data[10 : 10 + length])
    kind = header[1].decode() if header else ""
    if header is None or kind not in _NPY_TYPES:
        refuse(f"{name} is no plain one-dimensional array", _short(data[10 : 10 + length][:60]))
    body = np.frombuffer(data, np.uint8, offset=10 + length)
    if int(header[2]) * np.dtype(kind).itemsize != body.size:
        refuse(f"{name} has another length than its header says", f"{body.size} bytes for {int(header[2])} of {kind}")
    return body
