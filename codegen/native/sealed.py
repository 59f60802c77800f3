"""Object code with a checksum, since caches keep it: the linkers abort the process on a damaged file, or worse."""

from __future__ import annotations

import hashlib

_MAGIC = b"opweave\x01"
_DIGEST_BYTES = 16
_TRAILER_BYTES = len(_MAGIC) + _DIGEST_BYTES


def seal(image: bytes) -> bytes:
    """A file followed by its checksum."""
    return image + _MAGIC + _digest(image)


def opened(sealed: bytes) -> bytes | None:
    """The file, or None if the checksum does not fit."""
    image, trailer = sealed[:-_TRAILER_BYTES], sealed[-_TRAILER_BYTES:]
    return image if trailer == _MAGIC + _digest(image) else None


def _digest(image: bytes) -> bytes:
    return hashlib.blake2b(image, digest_size=_DIGEST_BYTES).digest()
