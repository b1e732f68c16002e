"""The little of an ELF file that tells whether a preloaded library can see a program's calls."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

# The linker of Go names its notes so, and its sections.
_GO_NOTE = b"Go\0\0"
_GO_SECTIONS = {".go.buildinfo", ".note.go.buildid", ".gopclntab"}
# Part of every libhdf5 (its H5lib_settings), found where a static one was stripped.
HDF5_MARK = b"SUMMARY OF THE HDF5 CONFIGURATION"
# An entry of a symbol table, and where its st_shndx is.
_SYMBOL = {64: ("IBBHQQ", 3), 32: ("IIIBBH", 5)}


@dataclass
class Executable:
    """What was read of an ELF executable."""

    bits: int
    interpreter: str  # empty: statically linked
    needed: list[str]  # libraries by name
    holds_hdf5: bool  # H5Fcreate is defined in the file itself
    is_go: bool  # linked by Go, with or without C in it
    machine: str  # EM_X86_64 and so on
    soname: str  # of a library


@dataclass(frozen=True)
class Symbols:
    """Names of symbol tables: what the file has itself, and what it takes from elsewhere."""

    defined: frozenset[str]
    imported: frozenset[str]


def read_executable(path: str | os.PathLike[str]) -> Executable | None:
    """Read an executable; None where it is no ELF file (a script), unreadable or damaged."""
    return _read(path, _executable)


def read_symbols(path: str | os.PathLike[str], names: Collection[str]) -> Symbols | None:
    """Which of `names` stand in an ELF file's symbol tables; None as for read_executable()."""
    return _read(path, lambda elf: _symbols(elf, [one.encode() for one in names]))


def _read(path: str | os.PathLike[str], parse: Callable[[Any], T]) -> T | None:
    from elftools.elf.elffile import ELFFile  # for a few commands alone: it takes long

    data: Any
    try:
        with Path(path).open("rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return parse(ELFFile(data))
    except Exception:  # of a damaged file the parser raises many
        return None


def _executable(elf: Any) -> Executable:
    interpreter, is_go = "", any(one.name in _GO_SECTIONS for one in elf.iter_sections())
    named: dict[str, list[str]] = {"DT_NEEDED": [], "DT_SONAME": []}
    for segment in elf.iter_segments():
        kind = segment["p_type"]
        if kind == "PT_INTERP":
            interpreter = segment.get_interp_name()
        elif kind == "PT_NOTE":
            is_go = is_go or segment.data()[12:16] == _GO_NOTE
        elif kind == "PT_DYNAMIC":
            for tag in segment.iter_tags():
                if tag.entry.d_tag in named:
                    named[tag.entry.d_tag].append(getattr(tag, tag.entry.d_tag[3:].lower()))
    holds_hdf5 = bool(_symbols(elf, [b"H5Fcreate"]).defined)
    return Executable(
        elf.elfclass, interpreter, named["DT_NEEDED"],
        holds_hdf5 or elf.stream.find(HDF5_MARK, 0) >= 0, is_go, elf["e_machine"],
        "".join(named["DT_SONAME"]),
    )  # fmt: skip


def _symbols(elf: Any, names: Collection[bytes]) -> Symbols:
    entry, place = _SYMBOL[elf.elfclass]
    layout = struct.Struct(("<" if elf.little_endian else ">") + entry)
    defined: set[str] = set()
    imported: set[str] = set()
    for table in elf.iter_sections():
        if table["sh_type"] not in ("SHT_SYMTAB", "SHT_DYNSYM"):
            continue
        # The parser's own walk takes seconds for a large library.
        texts = elf.get_section(table["sh_link"]).data()
        wanted = {at: one.decode() for one in names for at in _places(texts, one + b"\0")}
        for words in layout.iter_unpack(table.data() if wanted else b""):
            if words[0] in wanted:
                (defined if words[place] else imported).add(wanted[words[0]])
    return Symbols(frozenset(defined), frozenset(imported - defined))


def _places(texts: bytes, name: bytes) -> Iterable[int]:
    """Where a name stands in a string table: linkers keep one that ends another one once."""
    at = texts.find(name)
    while at >= 0:
        yield at
        at = texts.find(name, at + 1)
