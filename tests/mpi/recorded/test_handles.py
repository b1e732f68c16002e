"""Freed communicators, changed drivers and failed calls: as without the preload, in every mode."""

from __future__ import annotations

from support.place import Place, main
from support.preloaded import Done

XML = """<Parameters>
 <High_Level_IO_Library><alignment>65536,1048576</alignment></High_Level_IO_Library>
 <Middleware_Layer><romio_cb_write>disable</romio_cb_write></Middleware_Layer>
</Parameters>
"""


def lines(done: Done) -> list[str]:
    """What the ranks printed, whose order is not theirs to say."""
    return sorted(done.out.decode().splitlines())


def handles(place: Place) -> None:
    # given a program that frees, changes and fails, run bare
    program = place.bin / "handles_and_errors"
    bare = place.right(place.mpi(2, program, preload=False), "bare")
    assert len(lines(bare)) == 17, lines(bare)
    config = place.scratch / "config.xml"
    config.write_text(XML)
    for mode, settings in (("record", {}), ("tune", {}), ("tune", {"IOTUNE_CONFIG": config})):
        # when it runs under the preload
        done = place.right(place.mpi(2, program, IOTUNE_MODE=mode, **settings), mode)
        # then results and error stacks are the same, and nobody hung or was aborted
        assert lines(done) == lines(bare), (mode, settings, lines(done))


if __name__ == "__main__":
    main({"handles": handles})
