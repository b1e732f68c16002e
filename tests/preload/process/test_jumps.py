"""Signal handlers that leave a call by siglongjmp, and exceptions: the program goes on as without
iotune, and what it does afterwards is recorded.
"""

from __future__ import annotations

import os
from pathlib import Path

from support.place import Place, main, not_verified


def writes(place: Place, path: Path) -> list[int]:
    """Offsets of the pwrites to a file that the process's buffer or trace holds."""
    files = {}
    found = []
    for call in (c for at in [*place.traces(), *place.leftovers()] for c in place.calls(at)):
        if call["name"] == "iotune_file":
            files[call["arguments"]["file"]] = call["arguments"]["path"]
        elif call["name"].startswith("pwrite") and files[call["keys"][1]] == str(path):
            found.append(call["arguments"]["offset"])
    return found


def read(place: Place) -> None:
    fifo, file = place.scratch / "fifo", place.scratch / "file"
    os.mkfifo(fifo)
    program = place.bin / "jumps"
    done = place.right(place.run(program, "read", fifo, file, IOTUNE_TRACE=place.trace))
    assert done.out == b"3 jumps\n" and done.said() == [], done
    assert writes(place, file) == [0, 10, 20, 30, 40]


def timer(place: Place) -> None:
    """Jumps that hit iotune's own code too, its locks among it: nothing hangs, nothing fails."""
    for turn in range(4):
        done = place.right(place.run(place.bin / "jumps", "timer", place.scratch / f"file{turn}",
                                     100, IOTUNE_TRACE=place.trace))  # fmt: skip
        assert done.out == b"100 jumps\n", done
        assert done.said() == [], done.said()
        assert writes(place, place.scratch / f"file{turn}")[-5:] == [0, 10, 20, 30, 40]
        place.clear()


def cancel(place: Place) -> None:
    """Threads that end anywhere, in iotune's own code too: no lock stays with them."""
    for turn in range(4):
        file = place.scratch / f"file{turn}"
        done = place.right(place.run(place.bin / "jumps", "cancel", file, 25,
                                     IOTUNE_TRACE=place.trace))  # fmt: skip
        assert done.out == b"0 jumps\n" and done.said() == [], done
        assert writes(place, file)[-5:] == [0, 10, 20, 30, 40]
        place.clear()


def anywhere(place: Place) -> None:
    """A jump out of each instruction of a recorded read: where a loop of reads begins to be
    counted, is counted, ends, and where a list of others goes on.
    """
    file = place.scratch / "file"
    file.write_bytes(bytes(range(256)) * 300)
    for at in (8, 26):
        done = place.run(place.bin / "jump_anywhere", file, at, IOTUNE_TRACE=place.trace)
        if done.status == 77:
            not_verified("jumps anywhere: no process may be traced here")
            return
        place.right(done, f"read {at}")
        # Far more than a read takes by itself.
        assert int(done.out.split()[0]) > 100 and done.said() == [], done
        assert writes(place, place.scratch / "file.out") == [i * 10 + i * i for i in range(5)], at
        place.clear()


def stream(place: Place) -> None:
    """A stream that calls were left on is one thread's alone again."""
    file = place.scratch / "file"
    done = place.right(place.run(place.bin / "jumps", "stream", file, 3,
                                 IOTUNE_TRACE=place.trace))  # fmt: skip
    assert done.out == b"3 jumps\n" and done.said() == [], done
    assert file.read_bytes().endswith(b"0123456789abcdefghij0123456789")
    moved = [
        (c["name"], c["numbers"][-1]) for c in place.calls() if c["name"] in ("fputc", "fwrite")
    ]
    assert moved[-3:] == [("fwrite", 10), ("fputc", 10), ("fwrite", 10)], moved


def exceptions(place: Place) -> None:
    """An exception that leaves a wrapped call: the thread is outside of it afterwards."""
    done = place.right(
        place.run(place.bin / "exceptions", place.scratch / "file", IOTUNE_TRACE=place.trace)
    )
    assert done.out == b"3 caught\n" and done.said() == [], done
    assert [c["name"] for c in place.calls() if c["name"].startswith("H5")] == ["H5Fflush"] * 3


if __name__ == "__main__":
    main({"read": read, "timer": timer, "cancel": cancel, "anywhere": anywhere, "stream": stream,
          "exceptions": exceptions})  # fmt: skip
