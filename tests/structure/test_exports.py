"""Calls whose wrappers are written by hand are exported under each of their names."""

from __future__ import annotations

import re

from support.repository import CALLS_TABLE, ROOT


def test_each_name_of_the_table_is_exported() -> None:
    """And nothing beside the table, but calls that are only passed on."""
    named: set[str] = set()
    for line in CALLS_TABLE.read_text().splitlines():
        text = line.split("#", 1)[0]
        match = re.match(r"(?:posix|stdio)\s+\w+\s+(\w+)", text)
        if match and not re.search(r"\bside\b", text):
            named |= {match[1], *re.findall(r"\bas\((\w+)\)", text)}
    exported = set(re.findall(r"(\w+);", (ROOT / "tuner" / "exports.map").read_text()))
    jumps = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"}
    users = {"setuid", "seteuid", "setfsuid", "setreuid", "setresuid"}
    limits = {"setrlimit", "setrlimit64", "prlimit", "prlimit64"}
    places = {"chroot", "unshare", "setns", "fchdir", "umount", "umount2"}
    drops = {"prctl", "syscall", *places, *users, *limits}
    passed_on = {"__read_chk", "close_range", "closefrom", "dlclose", "vfork", "clone"}
    passed_on |= {"system", "popen", "getenv", "kill"}
    passed_on |= {"execve", "execv", "execvp", "execvpe", "fexecve", "execveat"}
    passed_on |= {"execl", "execle", "execlp", "_exit", "_Exit"}
    passed_on |= jumps | drops
    # include/iotune.h
    passed_on |= {"iotune_preexecute_slice", "iotune_region_enter", "iotune_region_leave"}
    # python/iotune/entry.py
    passed_on |= {"iotune_leave_this_process"}
    # Regions that programs mark for NVTX and Caliper (recorder/regions).
    passed_on |= {"InitializeInjectionNvtx2", "cali_begin_region", "cali_end_region"}
    # Of these the position of the stream tells (stdio_gaps.h).
    unwrapped = {"fputc", "fgetc"}
    assert named - exported == unwrapped
    assert exported - named == passed_on
