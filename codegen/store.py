"""Folders of files that are run only as they were made.

An entry of a `Store` is a folder named by its key. Its manifest names the key, and each file with its size and digest;
what is given out is the memory in which the digests were found right, and no file is read again after that. An entry
appears by one rename, so a reader sees all of it or nothing.

Digests say nothing of who wrote them. So, as ssh does with its keys, an entry is taken only where nobody but its owner
and root could have put it: each folder on the way belongs to one of them and can be written by no one else, the
sticky ones like /tmp excepted. Reading and writing never raise. An entry that is damaged in any way is as good as none,
and what cannot be written is made again by the next process; a warning says so, once.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import logging
import os
import stat
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from opweave.registry import forking, interrupts
from opweave.registry.containers import is_dict
from opweave.registry.interrupts import let_through

_log = logging.getLogger("opweave.kernels")
_FORMAT = 2
MANIFEST = "manifest.json"
_LARGEST_MANIFEST = 1 << 20
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
#: Whether files can be looked at below an open folder, and owners told apart; where not, as on Windows, none are kept.
_CAN_KEEP = os.open in os.supports_dir_fd
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC if _CAN_KEEP else os.O_RDONLY
# What reading a file that may hold anything can raise; a JSON text may be nested too deeply or hold too long a number.
DAMAGE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, MemoryError)
_said: set[tuple[str, str]] = set()


def warn_once(place: str, kind: str, what: str) -> None:
    """Log a warning, the first of its kind about a place."""
    if (place, kind) not in _said:
        _said.add((place, kind))
        _log.warning("cache: %s", what)


class Store:
    """Entries in one folder.

    Parameters
    ----------
    root : Path or None
        An absolute path; made, readable by its owner only, when the first entry is written. With None nothing is
        ever found or kept.
    otherwise : str
        What happens to entries that cannot be kept, for the warning.
    """

    def __init__(self, root: Path | None, otherwise: str) -> None:
        self.root = root if _CAN_KEEP else None
        self._otherwise = otherwise

    def read(self, key: str) -> dict[str, bytes] | None:
        """The files of an entry, or None if there is none that can be trusted.

        Parameters
        ----------
        key : str
            The entry's name.

        Returns
        -------
        dict of str to bytes or None
            Name -> content, whose digest is the manifest's.
        """
        if self.root is None:
            return None
        with interrupts.deferred():
            return self._read(self.root, key)

    def write(self, key: str, files: Mapping[str, bytes]) -> bool:
        """Keep an entry, in the place of what is there under its name.

        Parameters
        ----------
        key : str
            The entry's name.
        files : mapping of str to bytes
            Name -> content.

        Returns
        -------
        bool
            Whether it is there for other processes now.
        """
        if self.root is None:
            self._give_up("nowhere", "there is no folder to write to")
            return False
        with interrupts.deferred():
            return self._write(self.root, key, files)

    def report_damage(self, key: str, why: object) -> None:
        """Say of an entry that it is of no use."""
        path = f"{self.root}/{key}"
        if isinstance(why, FileNotFoundError):
            warn_once(path, "damage", f"{path} is incomplete ({why.filename}); making it anew")
        else:
            warn_once(path, "damage", f"{path} is damaged ({str(why) or type(why).__name__}); making it anew")

    def _read(self, path: Path, key: str) -> dict[str, bytes] | None:
        try:
            with _opened(path) as root:
                os.stat(key, dir_fd=root, follow_symlinks=False)
                try:
                    return _entry(root, key)
                except DAMAGE as error:
                    interrupts.let_through(error)
                    self.report_damage(key, error)
        except FileNotFoundError:
            pass  # nothing was kept so far
        except _Unsafe as error:
            self._give_up("unsafe", str(error))
        except OSError as error:  # a folder that cannot be used at all: that is said when something is to be kept
            interrupts.let_through(error)
            _log.debug("cache: cannot read %s (%s)", path, error)
        return None

    def _write(self, path: Path, key: str, files: Mapping[str, bytes]) -> bool:
        try:
            try:
                with _opened(path) as root:
                    return _place(root, key, files)
            except FileNotFoundError:
                _make_folders(path)  # once for a store; to look first takes a part of the time of each entry
            with _opened(path) as root:
                return _place(root, key, files)
        except _Unsafe as error:
            self._give_up("unsafe", str(error))
        except (OSError, ValueError) as error:
            interrupts.let_through(error)
            self._give_up("unwritable", f"cannot write {path} ({getattr(error, 'strerror', None) or error})")
        return False

    def _give_up(self, kind: str, what: str) -> None:
        warn_once(f"{self.root}: {self._otherwise}", kind, f"{what}; {self._otherwise}")


class _Unsafe(Exception):
    """A folder in which others could have put something."""


@contextlib.contextmanager
def _opened(path: Path) -> Generator[int]:
    """A store's folder: what is looked at through its descriptor cannot be exchanged on the way."""
    with _descriptor(os.open(path, _FOLDER)) as root:
        reason = unsafe(path) or _unsafe_status(path, os.fstat(root))
        if reason is not None:
            raise _Unsafe(reason)
        yield root


# ---- who may write ---------------------------------------------------------------------------------------------------


def unsafe(folder: Path) -> str | None:
    """Why others than the user and root decide what a folder holds; None if they do not.

    Parameters
    ----------
    folder : Path
        An absolute path. Its parents are looked at too, and where symbolic links lead, each with its own parents.
    """
    seen: set[Path] = set()
    ahead = [folder]
    while ahead:
        path = ahead.pop()
        for place in (path, *path.parents):
            if place in seen:
                continue
            seen.add(place)
            status = os.lstat(place)
            if stat.S_ISLNK(status.st_mode):
                if not _trusted(status, parent=True):
                    return f"{place} is a link of user {status.st_uid}"
                ahead += [place.parent / os.readlink(place), Path(os.path.realpath(place))]
            else:
                reason = _unsafe_status(place, status, parent=place != folder)
                if reason is not None:
                    return reason
    return None


def _unsafe_status(place: Path, status: os.stat_result, *, parent: bool = False) -> str | None:
    if not _trusted(status, parent=parent):
        return f"{place} belongs to user {status.st_uid}, who could change what is kept there"
    if status.st_mode & _WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX:
        return f"{place} can be written by others (mode {stat.S_IMODE(status.st_mode):o}; `chmod go-w` makes it safe)"
    return None


def _trusted(status: os.stat_result, *, parent: bool = False) -> bool:
    """Whether the owner is the user or root; above the store also who owns /, where root has another number."""
    return status.st_uid in (os.geteuid(), 0) or (parent and status.st_uid == os.stat("/").st_uid)


# ---- reading ---------------------------------------------------------------------------------------------------------


def _entry(root: int, key: str) -> dict[str, bytes]:
    with _descriptor(os.open(key, _FOLDER | os.O_NOFOLLOW, dir_fd=root)) as folder:
        _check_status("the entry", os.fstat(folder))
        about = json.loads(_content(folder, MANIFEST))
        if not is_dict(about) or about != _manifest(key, about.get("files")):
            raise ValueError("its manifest is not what was written for it")
        files: dict[str, bytes] = {}
        for name, (size, digest) in about["files"].items():
            content = files[name] = _content(folder, name, size)
            if _digest(content) != digest:
                raise ValueError(f"checksum of {name}")
        return files


def _content(folder: int, name: str, size: int | None = None) -> bytes:
    """What a file holds; looked at before it is opened, since to open a pipe or a device may have effects."""
    if "/" in name:
        raise ValueError(f"{name} is no file of the entry")
    _check_file(name, os.stat(name, dir_fd=folder, follow_symlinks=False), size)
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with _descriptor(opened):
        expected = _check_file(name, os.fstat(opened), size)
        content = bytearray()
        while len(content) < expected and (part := os.read(opened, expected - len(content))):
            content += part
    if len(content) != expected:
        raise ValueError(f"size of {name}")
    return bytes(content)


def _check_file(name: str, status: os.stat_result, size: int | None) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{name} is no plain file")
    _check_status(name, status)
    if status.st_size > _LARGEST_MANIFEST if size is None else status.st_size != size:
        raise ValueError(f"size of {name}")
    return status.st_size


def _check_status(name: str, status: os.stat_result) -> None:
    if not _trusted(status):
        raise ValueError(f"{name} belongs to user {status.st_uid}")
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise ValueError(f"{name} can be written by others")


def _manifest(key: str, files: Any) -> dict[str, Any]:
    """The manifest, with a digest of all it says."""
    about = {"format": _FORMAT, "key": key, "files": files}
    return {**about, "digest": _digest(json.dumps(about, sort_keys=True).encode())}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# ---- writing ---------------------------------------------------------------------------------------------------------


def _make_folders(folder: Path) -> None:
    """As `os.makedirs`, but nobody else may write in any of them, whatever the umask."""
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(path, 0o700)


def _write_file(folder: int, name: str, content: bytes) -> None:
    opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with _descriptor(opened):
        left = memoryview(content)
        while left:
            left = left[os.write(opened, left) :]


def _place(root: int, key: str, files: Mapping[str, bytes]) -> bool:
    fresh = f".new-{os.urandom(8).hex()}"
    os.mkdir(fresh, 0o700, dir_fd=root)
    try:
        with _descriptor(os.open(fresh, _FOLDER | os.O_NOFOLLOW, dir_fd=root)) as folder:
            listed: dict[str, list[Any]] = {}
            for name, content in files.items():
                _write_file(folder, name, content)
                listed[name] = [len(content), _digest(content)]
            _write_file(folder, MANIFEST, json.dumps(_manifest(key, listed), indent=1).encode())
        return _put_in_place(root, fresh, key, files)
    finally:
        _remove(root, fresh)


def _put_in_place(root: int, fresh: str, key: str, files: Mapping[str, bytes]) -> bool:
    try:
        os.rename(fresh, key, src_dir_fd=root, dst_dir_fd=root)
        return True
    except OSError as error:
        let_through(error)
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise
        # Another process was faster, or what stands there is damaged.
        try:
            if _entry(root, key) == dict(files):
                return True
        except DAMAGE:
            pass
    old = f".old-{os.urandom(8).hex()}"
    os.rename(key, old, src_dir_fd=root, dst_dir_fd=root)
    try:
        os.rename(fresh, key, src_dir_fd=root, dst_dir_fd=root)
        return True
    except OSError as error:  # a third process replaces it at this moment
        let_through(error)
        return False
    finally:
        _remove(root, old)


def _remove(root: int, name: str) -> None:
    """Remove a file or a folder as far as that is possible."""
    try:
        status = os.stat(name, dir_fd=root, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            os.unlink(name, dir_fd=root)
            return
        if status.st_mode & 0o700 != 0o700:
            os.chmod(name, 0o700, dir_fd=root)
        import shutil  # it loads much, and most processes remove nothing

        shutil.rmtree(name, ignore_errors=True, dir_fd=root)
    except OSError as error:
        let_through(error)


@contextlib.contextmanager
def _descriptor(opened: int) -> Generator[int]:
    try:
        yield opened
    finally:
        os.close(opened)


# ---- for this process only -------------------------------------------------------------------------------------------


class _Private(Store):
    """Entries in a folder that is made when something is to be kept, as in few processes."""

    def __init__(self) -> None:
        self._otherwise = "the files of compiled code are only in memory"

    @functools.cached_property
    def root(self) -> Path | None:
        return _temporary_folder() if _CAN_KEEP else None

    def read(self, key: str) -> dict[str, bytes] | None:
        return super().read(key) if "root" in vars(self) else None


@functools.cache
def _private_of(process: int) -> Store:
    return _Private()


def private() -> Store:
    """Entries that go with the process, each its own; none are kept where no temporary folder can be written."""
    return _private_of(os.getpid())


def _temporary_folder() -> Path | None:
    # tempfile looks for a folder that can be written, and finds none if the disk is full; memory may have room.
    for parent in (None, "/dev/shm"):
        with contextlib.suppress(OSError):
            return Path(forking.temporary_folder("opweave-", parent))
    return None
