"""decide_once.py LIBRARY PROGRAM FILE COUNT: ask libiotune-db.so as rank 0 does, in a new process.

Prints the milliseconds of loading the library, of the first decision, of CPU time for both, and the
medians of COUNT more on files of the same series and of as many other programs; then the first
decision's source. %d in PROGRAM and FILE is a number. The database is IOTUNE_DB's.
"""

from __future__ import annotations

import ctypes
import re
import statistics
import sys
import time

from support.repository import ROOT

WORDS = (ROOT / "core" / "words" / "decision_words.inc").read_text()
DECIDE = ROOT / "patterndb" / "decide"
HEADER = (DECIDE / "decision.h").read_text()
(VERSION,) = map(int, re.findall(r"define IOTUNE_DECISION_VERSION (\d+)u", HEADER))
# In the order of the enumeration.
SOURCES = re.findall(r'^IOTUNE_SOURCE\(\w+, "(\w*)"\)', WORDS, re.MULTILINE)


class Question(ctypes.Structure):
    """iotune_question of patterndb/decide/decision.h."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("version", "ranks", "nodes", "creating")),
        *((name, ctypes.c_char_p) for name in ("layer", "program", "file", "mpi", "hdf5",
                                               "filesystem")),
        *((name, ctypes.c_uint32) for name in ("frozen", "known_only")),
        ("site_database", ctypes.c_char_p),
        ("mpi_io", ctypes.c_void_p), ("database_copy", ctypes.c_char_p),
    )  # fmt: skip


class Decision(ctypes.Structure):
    """The head of iotune_decision."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("version", "bytes")),
        *((name, ctypes.c_int64) for name in ("row", "distance_milli")),
        *((name, ctypes.c_uint32) for name in ("own_parameters", "unasked_opens")),
        *((name, ctypes.c_uint16) for name in ("setting_count", "refused_count", "pattern",
                                               "message")),
        *((name, ctypes.c_uint8) for name in ("source", "state", "sieves")),
    )  # fmt: skip


class Answer(ctypes.Union):
    """iotune_answer."""

    _fields_ = (("decision", Decision), ("message", ctypes.c_char * 8192))


def main() -> None:
    """Ask and print."""
    path, program, file, count = sys.argv[1:5]
    began, cpu_began = time.perf_counter(), time.process_time()
    decide = ctypes.CDLL(path).iotune_decide
    loaded = time.perf_counter()
    answer = Answer()

    def ask(number: int, who: int) -> tuple[float, str]:
        question = Question(
            VERSION, 4, 1, 1, b"hdf5", program.replace("%d", str(who)).encode(),
            file.replace("%d", str(number)).encode(), b"MPICH 4.0.2", b"1.10.8", b"ext4", 0, 0,
            None, None, None,
        )  # fmt: skip
        start = time.perf_counter()
        length = decide(ctypes.byref(question), ctypes.byref(answer), ctypes.sizeof(answer))
        seconds = time.perf_counter() - start
        assert length > 0, answer.message.decode()
        assert length == answer.decision.bytes, length
        return seconds, SOURCES[answer.decision.source]

    first, source = ask(0, 0)
    cpu = time.process_time() - cpu_began
    numbers = range(1, 1 + int(count))
    series = statistics.median(ask(number, 0)[0] for number in numbers)
    others = statistics.median(ask(number, number)[0] for number in numbers)
    times = (loaded - began, first, cpu, series, others)
    print(*(seconds * 1e3 for seconds in times), source)


if __name__ == "__main__":
    main()
