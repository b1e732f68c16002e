"""Run a program of one process (kernels/serial) by an HDF5 library that is given as a file.

A program of its own: `python serial_run.py PROGRAM LIBRARY ARGUMENTS`, PROGRAM being
libiotune-serial-replay.so or libiotune-serial-prove.so. A wheel brings a library without headers,
so nothing is compiled. Calls go by the process's global symbols, so that a preload sees them.
"""

from __future__ import annotations

import ctypes
import os
import sys


def main(program: str, library: str, *arguments: str) -> int:
    """The program's exit status. Raises OSError where one of the two cannot be loaded."""
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    # No version of HDF5 has all of the calls: they are bound as they are made.
    everything = ctypes.CDLL(None)
    everything.dlopen.restype = ctypes.c_void_p
    everything.dlerror.restype = ctypes.c_char_p
    handle = everything.dlopen(os.fsencode(program), os.RTLD_LAZY)
    if not handle:
        raise OSError(os.fsdecode(everything.dlerror() or b""))
    words = [ctypes.create_string_buffer(os.fsencode(one)) for one in (program, *arguments)]
    table = (ctypes.c_void_p * (len(words) + 1))(*map(ctypes.addressof, words), None)
    return int(ctypes.CDLL(program, handle=handle).iotune_serial_main(len(words), table))


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except OSError as problem:
        sys.exit(f"iotune-replay: {problem}")
