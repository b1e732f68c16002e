"""A rank that gives up rights votes for leaving files alone, and makes nobody wait."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from support.place import Place, collect, main

ASKED = "1048576"
CONFIG = f"""<Parameters><Middleware_Layer><cb_buffer_size>{ASKED}</cb_buffer_size>
</Middleware_Layer></Parameters>"""


def dropped(place: Place, rank: int) -> None:
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    work = place.scratch / "work"
    work.mkdir()
    done = place.right(
        place.mpi(2, place.bin / "privilege_drop_rank", rank, cwd=work, IOTUNE_CONFIG=config)
    )
    assert done.said() == [], done.said()
    said: dict[str, list[str]] = {}
    for line in done.out.decode().splitlines():
        name, _, value = line.split(maxsplit=2)
        said.setdefault(name, []).append(value)
    # All ranks or none: with every right the setting is applied, without it is nowhere.
    assert said["first"] == [ASKED, ASKED], said
    assert len(said["second"]) == 2 and ASKED not in said["second"], said
    data = b"".join(i.to_bytes(4, "little") for i in range(2000))
    assert (work / "first").read_bytes() == (work / "second").read_bytes() == data
    # The trace waits for a process that joins the ranks' buffers: both, with both files.
    if collect(place, place.trace):
        assert place.leftovers() == []
        written = [
            (call["rank"], call["name"]) for call in place.calls()
            if call["name"] == "MPI_File_write_at_all"
        ]  # fmt: skip
        # Of the second file only the rank that kept its rights has a call.
        kept = 1 - rank
        assert sorted(written) == [
            (one, "MPI_File_write_at_all") for one in sorted((0, 1, kept))
        ], written


CASES: dict[str, Callable[[Place], None]] = {
    "rank-0": partial(dropped, rank=0),
    "rank-1": partial(dropped, rank=1),
}

if __name__ == "__main__":
    main(CASES)
