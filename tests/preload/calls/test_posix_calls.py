"""Every POSIX call of the table, issued with random arguments, stands in the trace with them."""

from __future__ import annotations

import random

from support.place import Place, main
from support.posix_calls import compare


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
