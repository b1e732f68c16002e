"""The little of an ELF file that tells whether a preloaded library can see a program's calls."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_PT_DYNAMIC, _PT_INTERP, _PT_NOTE = 2, 3, 4
_SHT_SYMTAB, _SHT_DYNSYM = 2, 11
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_SONAME = 0, 1, 5, 14
_PT_LOAD = 1
# Part of every libhdf5 (its H5lib_settings), found where a static one was stripped.
# The linker of Go names its notes so, and its sections.
_GO_NOTE = b"Go\0\0"
_GO_SECTIONS = (b".go.buildinfo", b".note.go.buildid", b".gopclntab")
_HDF5_MARK = b"SUMMARY OF THE HDF5 CONFIGURATION"


@dataclass
class Executable:
    """What was read of an ELF executable."""

    bits: int
    interpreter: str  # empty: statically linked
    needed: list[str] = field(default_factory=list)  # libraries by name
    holds_hdf5: bool = False  # H5Fcreate is defined in the file itself
    is_go: bool = False  # linked by Go, with or without C in it
    machine: int = 0  # e_machine: 62 is x86-64, 183 AArch64
    soname: str = ""  # of a library


@dataclass(frozen=True)
class Symbols:
    """Names of symbol tables: what the file has itself, and what it takes from elsewhere."""

    defined: frozenset[str]
    imported: frozenset[str]


@dataclass
class _Layout:
    header: struct.Struct
    program: struct.Struct
    section: struct.Struct
    symbol: struct.Struct
    dynamic: struct.Struct


def _layout(bits: int, order: str) -> _Layout:
    if bits == 64:
        return _Layout(
            header=struct.Struct(order + "16xHHIQQQIHHHHHH"),
            program=struct.Struct(order + "IIQQQQQQ"),
            section=struct.Struct(order + "IIQQQQIIQQ"),
            symbol=struct.Struct(order + "IBBHQQ"),
            dynamic=struct.Struct(order + "qQ"),
        )
    return _Layout(
        header=struct.Struct(order + "16xHHIIIIIHHHHHH"),
        program=struct.Struct(order + "IIIIIIII"),
        section=struct.Struct(order + "IIIIIIIIII"),
        symbol=struct.Struct(order + "IIIBBH"),
        dynamic=struct.Struct(order + "iI"),
    )


def read_executable(path: str | os.PathLike[str]) -> Executable | None:
    """Read an executable; None where it is no ELF file (a script), unreadable or damaged."""
    return _read(path, _parse)


def read_symbols(path: str | os.PathLike[str], names: Iterable[str]) -> Symbols | None:
    """Which of `names` stand in an ELF file's symbol tables; None as for read_executable()."""
    wanted = [name.encode() for name in names]
    return _read(path, lambda data: _parse_symbols(data, wanted))


def _read(path: str | os.PathLike[str], parse: Callable[[mmap.mmap], T | None]) -> T | None:
    try:
        with Path(path).open("rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return parse(data)
    except (OSError, ValueError, struct.error, IndexError):
        return None


def _bits_and_layout(data: mmap.mmap) -> tuple[int, _Layout] | None:
    if data[:4] != b"\x7fELF" or data[4] not in (1, 2) or data[5] not in (1, 2):
        return None
    bits = 64 if data[4] == 2 else 32
    return bits, _layout(bits, "<" if data[5] == 1 else ">")


def _parse_symbols(data: mmap.mmap, wanted: Sequence[bytes]) -> Symbols | None:
    known = _bits_and_layout(data)
    if known is None:
        return None
    bits, layout = known
    header = layout.header.unpack_from(data, 0)
    sections = _sections(data, layout, header)
    defined, imported = set(), set()
    for name in wanted:
        has, lacks = _symbol(data, layout, bits, sections, name)
        if has:
            defined.add(name.decode())
        elif lacks:
            imported.add(name.decode())
    return Symbols(frozenset(defined), frozenset(imported))


def _sections(data: mmap.mmap, layout: _Layout, header: tuple[int, ...]) -> list[tuple[int, ...]]:
    offset, size, count = header[5], header[10], header[11]
    return [layout.section.unpack_from(data, offset + index * size) for index in range(count)]


def _parse(data: mmap.mmap) -> Executable | None:
    known = _bits_and_layout(data)
    if known is None:
        return None
    bits, layout = known
    header = layout.header.unpack_from(data, 0)
    ph_offset, ph_size, ph_count, sh_names = header[4], header[8], header[9], header[12]
    found = Executable(bits=bits, interpreter="", machine=header[1])
    segments = []
    for index in range(ph_count):
        words = layout.program.unpack_from(data, ph_offset + index * ph_size)
        kind = words[0]
        offset, address, size = (
            (words[2], words[3], words[5]) if bits == 64 else (words[1], words[2], words[4])
        )
        segments.append((kind, offset, address, size))
        if kind == _PT_INTERP:
            found.interpreter = data[offset : offset + size].split(b"\0")[0].decode()
        if kind == _PT_NOTE and data[offset + 12 : offset + 16] == _GO_NOTE:
            found.is_go = True
    dynamic = _dynamic_texts(data, layout, segments)
    found.needed = [text for tag, text in dynamic if tag == _DT_NEEDED]
    found.soname = next((text for tag, text in dynamic if tag == _DT_SONAME), "")
    sections = _sections(data, layout, header)
    if sh_names < len(sections):
        found.is_go = found.is_go or _has_go_section(data, sections, sections[sh_names][4])
    found.holds_hdf5 = _symbol(data, layout, bits, sections, b"H5Fcreate")[0] or (
        data.find(_HDF5_MARK) >= 0
    )
    return found


def _has_go_section(data: mmap.mmap, sections: list[tuple[int, ...]], names: int) -> bool:
    for section in sections:
        at = names + section[0]
        if data[at : data.find(b"\0", at)] in _GO_SECTIONS:
            return True
    return False


def _dynamic_texts(
    data: mmap.mmap, layout: _Layout, segments: list[tuple[int, int, int, int]]
) -> list[tuple[int, str]]:
    """The texts that the dynamic section names, by their tags."""
    entries: list[tuple[int, int]] = []
    for kind, offset, _, size in segments:
        if kind != _PT_DYNAMIC:
            continue
        for at in range(offset, offset + size, layout.dynamic.size):
            tag, value = layout.dynamic.unpack_from(data, at)
            if tag == _DT_NULL:
                break
            entries.append((tag, value))
    table = next((value for tag, value in entries if tag == _DT_STRTAB), None)
    if table is None:
        return []
    for kind, offset, address, size in segments:
        if kind == _PT_LOAD and address <= table < address + size:
            base = table - address + offset
            return [
                (tag, _text(data, base + value))
                for tag, value in entries
                if tag in (_DT_NEEDED, _DT_SONAME)
            ]
    return []


def _text(data: mmap.mmap, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode(errors="replace")


def _symbol(
    data: mmap.mmap, layout: _Layout, bits: int, sections: list[tuple[int, ...]], name: bytes
) -> tuple[bool, bool]:
    """Whether a symbol is defined in the file, and whether it is there without a definition."""
    imported = False
    for section in sections:
        if section[1] not in (_SHT_SYMTAB, _SHT_DYNSYM):
            continue
        offset, size, link = section[4], section[5], section[6]
        strings = sections[link][4]
        strings_end = strings + sections[link][5]
        # Every place of the name in the string table, then one pass over the symbols.
        places = set()
        at = data.find(name + b"\0", strings, strings_end)
        while at >= 0:
            # Linkers keep a name that ends another one once.
            places.add(at - strings)
            at = data.find(name + b"\0", at + 1, strings_end)
        if not places:
            continue
        for words in layout.symbol.iter_unpack(data[offset : offset + size]):
            if words[0] in places:
                if (words[3] if bits == 64 else words[5]) != 0:
                    return True, imported
                imported = True
    return False, imported
