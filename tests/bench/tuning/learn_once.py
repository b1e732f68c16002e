"""learn_once.py LIBRARY TRACE: learn from a trace by libiotune-db.so, as a run's end does.

Prints the milliseconds of the call and the KiB that it passed to write(2) and its kin. The database
is IOTUNE_DB's; the library is loaded before.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path

from bench.tuning.decide_once import VERSION


class RunEnd(ctypes.Structure):
    """iotune_run_end of patterndb/decide/decision.h."""

    _fields_ = (
        ("version", ctypes.c_uint32), ("held", ctypes.c_uint32), ("folder", ctypes.c_char_p),
        ("trace", ctypes.c_char_p), ("name", ctypes.c_char_p), ("until_ns", ctypes.c_uint64),
        ("site_database", ctypes.c_char_p),
    )  # fmt: skip


def written_bytes() -> int:
    """Of this process so far."""
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("wchar:"):
            return int(line.split()[1])
    raise AssertionError("/proc/self/io says no wchar")


def main() -> None:
    """Learn and print."""
    library, trace = sys.argv[1:3]
    learn = ctypes.CDLL(library).iotune_learn
    end = RunEnd(VERSION, 0, None, os.fsencode(trace), None, 0, None)
    message = ctypes.create_string_buffer(512)
    before, began = written_bytes(), time.perf_counter()
    status = learn(ctypes.byref(end), message, len(message))
    took = time.perf_counter() - began
    assert status == 0, message.value.decode()
    print(took * 1e3, (written_bytes() - before) / 1024)


if __name__ == "__main__":
    main()
