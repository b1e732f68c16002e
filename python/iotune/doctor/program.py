"""Checks of a program itself: is it there, how is it linked, does the preload reach it."""

from __future__ import annotations

import os
import platform
import re
import stat

from iotune.doctor.check import FAILS, PARTLY, UNKNOWN, WORKS, Check
from iotune.doctor.examined import Examined
from iotune.launch import start
from iotune.launch.elf import Executable, read_symbols

_MACHINES = {
    "EM_386": "i386", "EM_ARM": "arm", "EM_X86_64": "x86_64", "EM_AARCH64": "aarch64",
    "EM_PPC64": "ppc64le", "EM_RISCV": "riscv64",
}  # fmt: skip
_32_BIT_OF = {"x86_64": "i386", "aarch64": "arm"}
# By what they call at their start, in a library of theirs or inside the program.
_SANITIZERS = {
    "__asan_init": "AddressSanitizer", "__tsan_init": "ThreadSanitizer",
    "__msan_init": "MemorySanitizer", "__hwasan_init": "HWAddressSanitizer",
}  # fmt: skip
_TRIED = {"AddressSanitizer", "ThreadSanitizer"}  # GCC 12's, the first one inside the program
_OTHER_WAYS = "`iotune fuse` records what it writes below a folder"
_LIBTOOL = re.compile(r"^# .*libtool", re.MULTILINE)


def why_no_program(path: str) -> Check | None:
    """The check that a program fails which cannot be started; None where it can."""
    try:
        found = os.stat(path)
    except OSError as problem:
        return Check("program", FAILS, f"{problem.strerror}",
                     "name it by its path, or load the module that has it", path)  # fmt: skip
    if not stat.S_ISREG(found.st_mode):
        what = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
        return Check("program", FAILS, f"it is {what}", "name the program in it", path)
    if not os.access(path, os.X_OK):
        noexec = found.st_mode & 0o111 != 0
        return Check(
            "program", FAILS,
            "its file system is mounted noexec, or you have no right to execute it" if noexec
            else f"it has no right to be executed (mode {stat.S_IMODE(found.st_mode):o})",
            "copy it to a place where programs may run" if noexec else f"chmod +x {path}", path,
        )  # fmt: skip
    if found.st_size == 0:
        return Check("program", FAILS, "it is an empty file",
                     "build it again: a disk that was full leaves such files", path)  # fmt: skip
    return None


def program_checks(known: Examined) -> list[Check]:
    """All checks of this file, of a program that is there."""
    found = [_program(known), *_scripts(known)]
    if known.elf is None:
        return found
    found += [_linkage(known, known.elf), _setuid(known), _sanitizer(known)]
    if known.elf.interpreter:
        found.append(_libraries(known))
    return found


def _program(known: Examined) -> Check:
    if known.elf is None and not known.scripts:
        head = _head(known.path)
        if _is_text(head):
            return Check("program", PARTLY, "a text without a first line #!: a shell reads it",
                         "begin it with #!/bin/sh, or its interpreter", known.path)  # fmt: skip
        return Check("program", FAILS, "no program: neither ELF nor a script",
                     "name the program that you run", known.path)  # fmt: skip
    machine = platform.machine()
    if known.elf is not None and not known.scripts:
        own = _MACHINES.get(known.elf.machine, f"machine {known.elf.machine}")
        if own not in (machine, _32_BIT_OF.get(machine)):
            return Check("program", FAILS, f"it is built for {own}, and this node is {machine}",
                         "build it for this node, or ask on its own", known.path)  # fmt: skip
    return Check("program", WORKS, "it is there, and may be executed", "", known.path)


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def _is_text(head: bytes) -> bool:
    return b"\0" not in head and sum(byte < 9 or 14 <= byte < 32 for byte in head) == 0


def _scripts(known: Examined) -> list[Check]:
    found = []
    for one in known.scripts:
        if not one.interpreter:
            found.append(Check("script", FAILS, f"its interpreter {one.named} is not there",
                               "mend its first line, or load the module that has it",
                               one.path))  # fmt: skip
        elif one.is_python:
            brought = ", ".join(known.modules) or "no module with an HDF5 or MPI of its own"
            found.append(Check("script", WORKS, f"{one.interpreter} reads it; it imports {brought}",
                               "", one.path))  # fmt: skip
        elif _LIBTOOL.search(one.text[:4096]):
            inner = os.path.join(os.path.dirname(one.path), ".libs", os.path.basename(one.path))
            found.append(Check("script", PARTLY, "libtool's wrapper around the program",
                               f"ask about {inner}, or install the program", one.path))  # fmt: skip
        else:
            found.append(Check("script", WORKS, f"{one.interpreter} reads it; what it starts "
                               "inherits the preload", "", one.path))  # fmt: skip
    return found


def _linkage(known: Examined, elf: Executable) -> Check:
    if elf.is_go:
        return Check("linkage", FAILS, "a Go program: its system calls go past every library",
                     _OTHER_WAYS, known.binary)  # fmt: skip
    if not elf.interpreter:
        return Check("linkage", FAILS, "statically linked: nothing can be preloaded into it",
                     f"link it without -static; {_OTHER_WAYS}", known.binary)  # fmt: skip
    refused = start.why_refused(known.binary)
    if refused and "Sanitizer" not in refused:
        return Check("linkage", FAILS, refused, "build it with 64 bits and glibc", known.binary)
    return Check("linkage", WORKS, f"dynamic, 64 bits, by {elf.interpreter}", "", known.binary)


def _setuid(known: Examined) -> Check:
    secure = start.why_secure(known.binary)
    if secure:
        return Check("setuid", FAILS, secure, "run a copy of the file that you own", known.binary)
    mode = os.stat(known.binary).st_mode
    said = "set, and of your own user" if mode & (stat.S_ISUID | stat.S_ISGID) else "not set"
    return Check("setuid", WORKS, f"bits for another user or group are {said}", "", known.binary)


def _sanitizer(known: Examined) -> Check:
    refused = start.why_refused(known.binary)
    if "Sanitizer" in refused:
        return Check("sanitizer", FAILS, f"it {refused}",
                     "run a build without -fsanitize=address, or put its libasan.so into "
                     "LD_PRELOAD", known.binary)  # fmt: skip
    symbols = read_symbols(known.binary, _SANITIZERS)
    has = sorted(symbols.defined | symbols.imported) if symbols is not None else []
    others = [_SANITIZERS[one] for one in has]
    if others and set(others) <= _TRIED:
        return Check("sanitizer", PARTLY, f"it was built with {' and '.join(others)}: it is "
                     "recorded, and its times are the sanitizer's", "measure a build without it",
                     known.binary)  # fmt: skip
    if others:
        return Check("sanitizer", UNKNOWN, f"it was built with {' and '.join(others)}",
                     "run a build without it to be sure", known.binary)  # fmt: skip
    return Check("sanitizer", WORKS, "none", "", known.binary)


def _libraries(known: Examined) -> Check:
    if known.loaded is None:
        return Check("libraries", UNKNOWN, known.fault or "its dynamic linker cannot be asked",
                     "run it once with LD_DEBUG=libs", known.binary)  # fmt: skip
    if known.loaded.missing:
        return Check("libraries", FAILS, f"not found: {', '.join(known.loaded.missing)}",
                     "load the modules of the job script, or set LD_LIBRARY_PATH",
                     known.binary)  # fmt: skip
    if known.loaded.fault:
        return Check("libraries", FAILS, known.loaded.fault,
                     "load the modules that it was built with", known.binary)  # fmt: skip
    after = known.with_preload
    if after is None or after.fault or not any("libiotune.so" in one for one in after.paths):
        why = (after.fault if after else known.fault) or "its linker does not list libiotune.so"
        return Check("libraries", FAILS, why,
                     "install iotune on the system that it is of", known.binary)  # fmt: skip
    return Check("libraries", WORKS, f"all {len(known.loaded.paths)} are found, and libiotune.so "
                 "with them", "", known.binary)  # fmt: skip
