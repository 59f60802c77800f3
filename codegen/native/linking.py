"""Object code into memory, without LLVM: a kernel that a cache has runs before LLVM could be loaded.

`link` takes the ELF files that LLVM's code generator makes for x86-64 (System V ABI, AMD64 supplement, table 4.9, has
the relocations). Code and constants come first, then a table of the addresses that are outside, since a call reaches
two gigabytes and libraries are farther away; what is written is on pages of its own. Other files are refused by
`NotLinked`, and LLVM links them.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from opweave.registry.interrupts import let_through

_PAGE = mmap.PAGESIZE
_LARGEST = 1 << 28
_SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS = 2, 4, 8
_SHF_WRITE, _SHF_ALLOC, _SHF_TLS = 1, 2, 0x400
_SHN_UNDEF, _SHN_ABS = 0, 0xFFF1
_EM_X86_64, _ET_REL = 62, 1
# A jump to the address that follows, and that address.
_STUB = struct.Struct("<6sxxQ")
_JUMP = b"\xff\x25\x02\x00\x00\x00"  # jmp *2(%rip)

_R_64, _R_PC32, _R_PLT32, _R_PC64 = 1, 2, 4, 24
_R_GOT = (9, 41, 42)  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX


class NotLinked(Exception):
    """A file that this linker does not know how to load, or a symbol that is nowhere."""


class _Section(NamedTuple):
    """`Elf64_Shdr`."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    """`Elf64_Sym`."""

    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


_SECTION, _SYMBOL, _RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")


class Linked:
    """Code in memory.

    Attributes
    ----------
    addresses : dict of str to int
        Of the symbols that were asked for.
    """

    __slots__ = ("addresses", "_memory", "_size")

    def __init__(self, addresses: dict[str, int], memory: int, size: int) -> None:
        self.addresses = addresses
        self._memory = memory
        self._size = size

    def close(self) -> None:
        """Give the memory back; nothing may run in it any more."""
        if self._size:
            _c().munmap(self._memory, self._size)
            self._size = 0


@functools.cache
def available() -> bool:
    """Whether files for this machine can be linked."""
    return platform.system() == "Linux" and platform.machine() == "x86_64"


def link(image: bytes, symbols: Iterable[str], imports: Mapping[str, int]) -> Linked:
    """Load an object file that was checked to be one that LLVM made.

    Parameters
    ----------
    image : bytes
        The file.
    symbols : iterable of str
        Whose addresses are asked for.
    imports : mapping of str to int
        Addresses of undefined symbols; others are searched in the process, and in libm and libgcc.

    Raises
    ------
    NotLinked
        If it cannot be loaded here.
    """
    if len(image) < 64 or image[:6] != b"\x7fELF\x02\x01":
        raise NotLinked("no ELF file of 64 bits")
    kind, machine = struct.unpack_from("<HH", image, 16)
    if kind != _ET_REL or machine != _EM_X86_64:
        raise NotLinked(f"an ELF file of type {kind} for machine {machine}")
    try:
        return _Linker(image, imports).run(tuple(symbols))
    except (struct.error, IndexError, KeyError, ValueError, OverflowError, MemoryError) as error:
        let_through(error)
        raise NotLinked(f"a file that is no ELF file inside: {error!r}") from error


class _Linker:
    def __init__(self, image: bytes, imports: Mapping[str, int]) -> None:
        self.image = image
        self.imports = imports
        (start,) = struct.unpack_from("<Q", image, 40)
        (count,) = struct.unpack_from("<H", image, 60)
        self.sections = [_Section(*_SECTION.unpack_from(image, start + _SECTION.size * i)) for i in range(count)]
        self.relocated = [s for s in self.sections if s.type == _SHT_RELA and self.sections[s.info].flags & _SHF_ALLOC]
        self.symbols: list[_Symbol] = []
        self.names = 0
        for section in self.sections:
            if section.type == _SHT_SYMTAB:
                self.names = self.sections[section.link].offset
                self.symbols = [
                    _Symbol(*_SYMBOL.unpack_from(image, section.offset + at))
                    for at in range(0, section.size, _SYMBOL.size)
                ]
        #: Where each section begins in memory, from the start of the whole.
        self.places: dict[int, int] = {}
        #: Places in the table, by symbol.
        self.slots: dict[int, int] = {}

    def run(self, wanted: tuple[str, ...]) -> Linked:
        """Lay the sections out, copy, relocate, protect."""
        end = self._lay_out(0, 0)
        table = _rounded(end, 16)
        listed = dict.fromkeys(
            number for number, kind, _, _, _ in self._relocations() if kind in _R_GOT or not self._is_inside(number)
        )
        self.slots = {number: table + _STUB.size * i for i, number in enumerate(listed)}
        fixed = _rounded(table + _STUB.size * len(listed), _PAGE)
        size = _rounded(self._lay_out(fixed, _SHF_WRITE), _PAGE)
        if size > _LARGEST:
            raise NotLinked(f"{size:,} bytes")
        read_write = mmap.PROT_READ | mmap.PROT_WRITE
        memory = _c().mmap(None, size, read_write, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        if memory in (None, ctypes.c_void_p(-1).value):
            raise NotLinked("no memory")
        found = Linked({}, memory, size)
        try:
            content = self._content(memory, size)
            ctypes.memmove(memory, bytes(content), size)
            if _c().mprotect(memory, fixed, mmap.PROT_READ | mmap.PROT_EXEC):
                raise NotLinked("memory may not be executed")
            found.addresses = self._addresses(memory, wanted)
        except BaseException:
            found.close()
            raise
        return found

    def _lay_out(self, at: int, writable: int) -> int:
        """Give the sections that are written to, or the others, places from there on; gives the end."""
        for number, section in enumerate(self.sections):
            if section.flags & _SHF_ALLOC and section.flags & _SHF_WRITE == writable:
                if section.flags & _SHF_TLS or section.alignment > _PAGE:
                    raise NotLinked("a section of a thread's own, or with a large alignment")
                self.places[number] = at = _rounded(at, max(section.alignment, 1))
                at += section.size
        return at

    def _relocations(self) -> Iterable[tuple[int, int, int, int, int]]:
        """The symbol, type, section, offset in it and addend of each."""
        for section in self.relocated:
            for at in range(section.offset, section.offset + section.size, _RELOCATION.size):
                offset, info, addend = _RELOCATION.unpack_from(self.image, at)
                yield info >> 32, info & 0xFFFFFFFF, section.info, offset, addend

    def _is_inside(self, number: int) -> bool:
        section = self.symbols[number].section
        return section < len(self.sections) and bool(self.sections[section].flags & _SHF_ALLOC)

    def _content(self, memory: int, size: int) -> bytearray:
        """The bytes that the memory gets."""
        content = bytearray(size)
        for number, place in self.places.items():
            section = self.sections[number]
            if section.type != _SHT_NOBITS:
                if section.offset + section.size > len(self.image):
                    raise NotLinked("a section that ends behind the file")
                content[place : place + section.size] = self.image[section.offset : section.offset + section.size]
        targets = {number: self._address(number, memory) for number in self.slots}
        for number, slot in self.slots.items():
            # The jump is at the slot, its address behind it.
            _STUB.pack_into(content, slot, _JUMP, targets[number])
        for number, kind, section, offset, addend in self._relocations():
            place = self.places[section] + offset
            inside = self._is_inside(number)
            symbol = self.symbols[number]
            target = self.places[symbol.section] + symbol.value if inside else self.slots[number]
            if kind in _R_GOT:
                struct.pack_into("<i", content, place, self.slots[number] + 8 + addend - place)
            elif kind == _R_PLT32 or (kind == _R_PC32 and inside):
                struct.pack_into("<i", content, place, target + addend - place)
            elif kind == _R_PC64 and inside:
                struct.pack_into("<q", content, place, target + addend - place)
            elif kind == _R_64:
                value = memory + target if inside else targets[number]
                struct.pack_into("<Q", content, place, (value + addend) % 2**64)
            else:
                raise NotLinked(f"a relocation of type {kind}")
        return content

    def _address(self, number: int, memory: int) -> int:
        symbol = self.symbols[number]
        if self._is_inside(number):
            return memory + self.places[symbol.section] + symbol.value
        if symbol.section == _SHN_ABS:
            return symbol.value
        name = self._name(symbol)
        found = self.imports.get(name) or _in_process(name)
        if not found or symbol.section != _SHN_UNDEF:
            raise NotLinked(f"no symbol {name}")
        return found

    def _addresses(self, memory: int, wanted: tuple[str, ...]) -> dict[str, int]:
        known = {
            self._name(symbol): memory + self.places[symbol.section] + symbol.value
            for symbol in self.symbols
            if symbol.name and symbol.section in self.places
        }
        missing = [name for name in wanted if name not in known]
        if missing:
            raise NotLinked(f"no symbol {missing[0]}")
        return {name: known[name] for name in wanted}

    def _name(self, symbol: _Symbol) -> str:
        start = self.names + symbol.name
        return self.image[start : self.image.index(b"\0", start)].decode()


def _rounded(value: int, step: int) -> int:
    return -(-value // step) * step


@functools.cache
def _c() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


@functools.cache
def _libraries() -> list[Any]:
    """Where undefined symbols are: half-precision and 128-bit arithmetic may call libgcc."""
    found = [ctypes.CDLL(None)]
    for name in ("libm.so.6", "libgcc_s.so.1"):
        try:
            found.append(ctypes.CDLL(name))
        except OSError as error:
            let_through(error)
            # nearly no kernel needs it; one that does says which symbol is missing
    return found


def _in_process(name: str) -> int | None:
    for library in _libraries():
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError as error:
            let_through(error)
    return None
