"""Exceptions a user can cause, each in four parts: what happened, what was given, where, and what to do.

    ShapeError: add: cannot broadcast dim -1: 3 with 5
      got:  x: f32[2, 3], y: f32[4, 5]
      at:   model.py:42 in forward
      hint: unsqueeze or expand explicitly

Every class also derives from the builtin that callers of the field's libraries expect (`ValueError`,
`RuntimeError`, ...), so `except RuntimeError` written for them keeps working.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from dataclasses import dataclass
from types import FrameType


def _own_folders() -> tuple[str, ...]:
    """The package's folder; in a source tree also those of the stages, to which its links lead."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    links = []
    with contextlib.suppress(OSError):  # the package may be in an archive
        links = [entry.path for entry in os.scandir(package) if entry.is_symlink()]
    return tuple({os.path.join(folder, "") for folder in (package, *map(os.path.realpath, (package, *links)))})


_OWN_FOLDERS = _own_folders()
#: Libraries that call back into opweave, or that opweave has call the user's functions.
_BETWEEN = ("optree", "numpy", "triton", "contextlib", "logging")
_own_file_cache: dict[str, bool] = {}


@dataclass(frozen=True, slots=True)
class Site:
    """A place in a user's source.

    Parameters
    ----------
    file : str
        Path of the source file as Python knows it.
    line : int
        Line number, from 1.
    function : str
        Name of the function the line belongs to.
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.short} in {self.function}"

    @property
    def short(self) -> str:
        """`file.py:12`, the form used in printed graphs and generated code."""
        return f"{os.path.basename(self.file)}:{self.line}"


def is_own_file(filename: str) -> bool:
    """Whether a code object's file belongs to opweave (or to the libraries that call back into it)."""
    known = _own_file_cache.get(filename)
    if known is None:
        path = os.path.abspath(filename)
        known = filename.startswith("<opweave") or path.startswith(_OWN_FOLDERS)
        known = _own_file_cache[filename] = known or any(_is_file_of(name, path) for name in _BETWEEN)
    return known


def _is_file_of(library: str, path: str) -> bool:
    """Whether a file is a library's; one that is not loaded has no code that could ask."""
    module = sys.modules.get(library)
    file = getattr(module, "__file__", None)
    if not file:
        return False
    file = os.path.abspath(file)
    return path.startswith(os.path.join(os.path.dirname(file), "")) if hasattr(module, "__path__") else path == file


def note_own_file(filename: str) -> None:
    """Count a file of generated code as opweave's own: errors and traces then name the user's line that led to it."""
    _own_file_cache[filename] = True


def user_frame(skip: int = 0) -> Site:
    """The innermost frame outside opweave.

    Parameters
    ----------
    skip : int
        Frames above the caller to leave out before looking.

    Returns
    -------
    Site
        The place; `<unknown>:0` where the whole stack is opweave's own.
    """
    frame: FrameType | None = sys._getframe(1 + skip)
    while frame is not None:
        # `dynamic_func` is the launch code that Triton makes from text, in a file it calls <string>.
        if not is_own_file(frame.f_code.co_filename) and frame.f_code.co_name != "dynamic_func":
            return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return Site("<unknown>", 0, "<unknown>")


class OpweaveError(Exception):
    """Base of all errors that opweave raises on purpose.

    Parameters
    ----------
    what : str
        What went wrong, naming the op or function.
    got : str, optional
        The offending values, described.
    at : Site or str, optional
        The user's place; found from the stack when not given.
    hint : str, optional
        What to do about it.
    """

    def __init__(self, what: str, *, got: str | None = None, at: Site | str | None = None, hint: str | None = None):
        self.what = what
        self.got = got
        self.at = user_frame() if at is None else at
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        lines = [self.what]
        if self.got is not None:
            lines.append(f"  got:  {self.got}")
        lines.append(f"  at:   {self.at}")
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.got, str(self.at), self.hint))


def _rebuild(cls: type[OpweaveError], what: str, got: str | None, at: str, hint: str | None) -> OpweaveError:
    return cls(what, got=got, at=at, hint=hint)


_PART = re.compile(r"\n  (got:  |at:   |hint: )")


def from_text(kind: type[OpweaveError], text: str) -> OpweaveError:
    """An error from its text, as it comes back from another language.

    Parameters
    ----------
    kind : type
        Its class.
    text : str
        What `str` gave.
    """
    what, *rest = _PART.split(text)
    parts = dict(zip((name.strip(" :") for name in rest[::2]), rest[1::2], strict=True))
    return kind(what, got=parts.get("got"), at=parts.get("at"), hint=parts.get("hint"))


class ShapeError(OpweaveError, ValueError, RuntimeError):
    """Sizes, strides or dimensions that do not fit together."""


class DTypeError(OpweaveError, TypeError, RuntimeError):
    """An element type that an operation cannot take or produce."""


class DeviceError(OpweaveError, RuntimeError):
    """Tensors on devices that do not go together, or a device that is not there."""


class DeviceAssertionError(OpweaveError, AssertionError, RuntimeError):
    """A kernel's device assertion does not hold."""


class SanitizerError(OpweaveError, RuntimeError):
    """What a sanitized kernel does to memory is wrong.

    Attributes
    ----------
    kernel : str
        Its name.
    program : tuple of int
        The program's position in the grid.
    index : tuple of int
        The element's position in the block; () for a scalar.
    category : str
        What is wrong: `outside`, `misaligned`, `read-only`; `unwritten`; `race` (two programs write), `stale` (one
        reads what another wrote), `overwritten` (one writes what another read), `benign` (two write the same value);
        `undefined` (a result depends on masked lanes), `index` (a gather), `endless`.
    """

    kernel: str
    program: tuple[int, ...]
    index: tuple[int, ...]
    category: str


class OutOfMemoryError(OpweaveError, MemoryError, RuntimeError):
    """More memory was asked for than there is."""


class ArgumentError(OpweaveError, TypeError):
    """An argument that does not fit an op's schema."""


class LinAlgError(OpweaveError, RuntimeError):
    """A matrix that cannot be factored or inverted, or an iteration that does not end; `opweave.linalg.LinAlgError`."""


class DivisionByZeroError(OpweaveError, ZeroDivisionError, RuntimeError):
    """An integer was divided by zero."""


class IntegerRangeError(OpweaveError, OverflowError, RuntimeError):
    """An integer that no element type can hold."""


class OutOfRangeError(OpweaveError, IndexError):
    """An index or dimension outside its range."""


class SchemaError(OpweaveError, ValueError):
    """A schema string or a signature that cannot be understood."""


class RegistrationError(OpweaveError, RuntimeError):
    """A registration that contradicts the registry's present state."""


class LibraryError(OpweaveError, OSError):
    """A shared library that cannot be loaded, or is none that registers ops here."""


class DispatchError(OpweaveError, NotImplementedError):
    """No kernel for the given inputs."""


class DataDependentError(OpweaveError, RuntimeError):
    """A value was asked of a tensor that has none while tracing."""


class FakeTensorError(OpweaveError, RuntimeError):
    """Fake tensors used in a way that has no meaning, or an op without a fake rule."""


class TraceError(OpweaveError, RuntimeError):
    """A function that cannot be traced."""


class GraphError(OpweaveError, RuntimeError):
    """A graph that breaks its own rules."""


class CompileError(OpweaveError, RuntimeError):
    """A graph that cannot be compiled."""


class HostError(CompileError):
    """A host program that breaks the rules of its steps: a mistake of the compiler."""


class AutogradError(OpweaveError, RuntimeError):
    """Differentiation that is not possible: no formula, a saved tensor overwritten, a graph that was freed."""


class OpCheckError(OpweaveError, RuntimeError):
    """An op whose registrations contradict each other or what its kernel does (`library.opcheck`)."""


class ExportError(OpweaveError, ValueError, RuntimeError):
    """An exported program, or its file, that is damaged or cannot run here."""


class ConstraintError(OpweaveError, ValueError):
    """A symbolic size that would have to leave the range asked for."""


class UnsupportedError(OpweaveError, NotImplementedError):
    """Something that is deliberately out of scope."""

    #: Whether it is what a compiled function reads, which no guard can compare.
    unguarded = False


class UnrecordedError(UnsupportedError):
    """A function reads what cannot be recorded: it runs uncompiled, with a warning, unless it must be one graph."""
