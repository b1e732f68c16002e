"""Every POSIX call of the table, issued with random arguments, stands in the trace with them."""

from __future__ import annotations

import random
import re
from pathlib import Path

from harness import Place, main

ROOT = Path(__file__).resolve().parents[2]


def table() -> set[str]:
    """The POSIX calls of calls.table."""
    text = (ROOT / "recorder" / "calls.table").read_text()
    return set(re.findall(r"^posix\s+\w+\s+(\w+)", text, re.MULTILINE))


def compare(place: Place, out: bytes) -> None:
    """The trace's POSIX calls with what posix_random printed."""
    said = []
    for line in out.decode().splitlines():
        head, *paths = line.split(" | ")
        name, *numbers = head.split()
        said.append((name, [int(n) for n in numbers], paths))
    missing = table() - {name for name, _, _ in said}
    assert not missing, f"in the table, but not issued: {sorted(missing)}"
    recorded = [
        (c["name"], c["numbers"], c["texts"]) for c in place.calls() if c["layer"] == "posix"
    ]
    for index, (one, other) in enumerate(zip(recorded, said)):
        assert one == other, f"call {index}: recorded {one}, made {other}"
    assert len(recorded) == len(said), (len(recorded), len(said), recorded[len(said) :][:3])


def calls(place: Place) -> None:
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    folder = place.scratch / "a folder"
    folder.mkdir()
    done = place.right(place.run(place.bin / "posix_random", folder, seed), "posix_random")
    compare(place, done.out)


def metadata_alone(place: Place) -> None:
    """Programs that only ask leave nothing behind, unless they ask a lot."""
    file = place.scratch / "data"
    file.write_text("data")
    place.right(place.run("stat", file))
    assert not place.ours(), place.ours()
    for number in range(400):
        (place.scratch / f"file{number}").touch()
    place.right(place.run("rm", *sorted(place.scratch.glob("file*"))))
    gone = [c for c in place.calls() if c["name"] in ("unlink", "unlinkat", "remove")]
    assert len(gone) == 400, len(gone)


if __name__ == "__main__":
    main({"calls": calls, "metadata-alone": metadata_alone})
