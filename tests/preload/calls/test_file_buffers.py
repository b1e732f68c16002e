"""Page buffer, metadata cache and evictions at a close: what is set is what the open file has.

Each program compares all that it reads, and counts what its own error handler hears.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.place import Place, main, not_verified
from support.settings import outcomes, write_config

Reported = dict[str, tuple[str, str, str]]
PAGES = 40 * 4096
ALL = {"page_buffer": PAGES, "mdc_size": 8 << 20, "evict_on_close": "enable"}


def programs(place: Place) -> Iterable[Path]:
    """The program with each HDF5 without MPI that could be had."""
    found = sorted(place.bin.glob("file_buffers_*"))
    if not found:
        not_verified("no HDF5 without MPI (tools/setup.sh companions)")
    return found


def read(
    place: Place,
    program: Path,
    file: Path,
    *words: str,
    settings: Mapping[str, object],
    ranks: int = 0,
) -> tuple[dict[str, str], Reported]:
    """What the program found, tuned, and what the trace says became of the settings."""
    place.clear()
    text = write_config(place.scratch / "config.xml", **settings)
    # Whatever is proven of this version: the test compares what is read.
    text.write_text(text.read_text().replace("<Parameters>", '<Parameters iotune_force="yes">'))
    run = place.run if not ranks else lambda *all_, **how: place.mpi(ranks, *all_, **how)
    done = place.right(run(program, "read", file, *words, IOTUNE_CONFIG=text, IOTUNE_DB="none"))
    assert not done.err, done.err
    lines = done.out.decode().splitlines()
    assert lines.count("failures 0") == max(1, ranks), lines
    return dict(line.split() for line in lines), outcomes(place.calls())


def made(place: Place, program: Path, *words: str) -> Path:
    file = place.scratch / f"{program.name}{'-'.join(('', *words))}.h5"
    place.right(place.run(program, "make", file, *words, preload=False))
    return file


def paged(place: Place) -> None:
    """All three reach a paged file that is read; a buffer has whole pages."""
    for program in programs(place):
        file = made(place, program, "paged")
        before = file.read_bytes()
        odd = {**ALL, "page_buffer": PAGES + 100}
        have, reported = read(place, program, file, settings=odd)
        assert have["page_buffer"] == str(PAGES), (program, have)
        assert have["mdc_size"] == str(8 << 20), have
        assert reported["page_buffer"] == ("applied", str(PAGES), ""), reported
        assert reported["mdc_size"] == ("applied", str(8 << 20), ""), reported
        # Nothing tells of an open file: what it does shows in other_second_open().
        assert reported["evict_on_close"][:2] == ("unverifiable", ""), reported
        # Below its usual least, and beyond its usual most.
        for size in (65536, 64 << 20):
            have, reported = read(place, program, file, settings={"mdc_size": size})
            assert have["mdc_size"] == str(size), (program, have)
            assert reported["mdc_size"][0] == "applied", reported
        assert file.read_bytes() == before


def not_paged(place: Place) -> None:
    """A file without pages has no page buffer, and a page is the least of one: the rest holds."""
    for program in programs(place):
        have, reported = read(place, program, made(place, program), settings=dict(ALL))
        verdict, got, reason = reported["page_buffer"]
        assert (have["page_buffer"], got) == ("0", "0"), have
        assert verdict == "without effect" and "not paged" in reason, reported
        assert reported["mdc_size"][0] == "applied" and have["mdc_size"] == str(8 << 20), reported


def writing(place: Place) -> None:
    for program in programs(place):
        file = made(place, program, "paged")
        have, reported = read(place, program, file, "write", settings=dict(ALL))
        assert have["page_buffer"] == "0", have
        assert (
            reported["page_buffer"][0] == "refused" and "reading" in reported["page_buffer"][2]
        ), reported
        assert reported["mdc_size"][0] == "applied", reported
        assert reported["evict_on_close"][0] == "unverifiable", reported


def own(place: Place) -> None:
    """What the program sets itself stays, values that are HDF5's own too."""
    for program in programs(place):
        file = made(place, program, "paged")
        have, reported = read(place, program, file, "own", settings=dict(ALL))
        assert have["page_buffer"] == "0" and have["evict_on_close"] == "disable", have
        assert have["mdc_size"] == "1572864", have
        for verdict, _, reason in reported.values():
            assert (verdict, reason) == ("refused", "the program set it itself"), reported


def other_second_open(place: Place) -> None:
    """HDF5 demands that both opens of a file agree on evictions: ours do.

    Another one fails, for which training offers no evictions: that it does shows that ours are set.
    """
    for program in programs(place):
        file = made(place, program, "paged")
        read(place, program, file, "twice", settings=dict(ALL))
        for evicts, opens in (("enable", "refused"), ("disable", "opened")):
            have, _ = read(place, program, file, "other", settings={"evict_on_close": evicts})
            assert have["other"] == opens, (program, have)
        # The file is open without: it cannot be had with it any more, and the open is made again.
        _, reported = read(place, program, file, "own", "twice", settings=dict(ALL))
        assert {verdict for verdict, _, _ in reported.values()} == {"refused"}, reported


def memory(place: Place) -> None:
    """An eighth of what caches may have in all, unless it is no more than HDF5 has anyway."""
    if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8 // 8 >= 1 << 30:
        not_verified("a node with so much memory has room for the largest page buffer")
        return
    for program in programs(place):
        file = made(place, program, "paged")
        both = {"page_buffer": 1 << 30, "mdc_size": 2 << 20}
        have, reported = read(place, program, file, settings=both)
        assert have["page_buffer"] == "0", have
        assert reported["page_buffer"][0] == "refused" and "memory" in reported["page_buffer"][2], (
            reported
        )
        assert reported["mdc_size"][0] == "applied", reported


def built_for_mpi(place: Place) -> None:
    """Such a build fails opens with a page buffer: they are made again, and nobody hears of it."""
    program = place.bin / "file_buffers"
    if not program.exists():
        not_verified("no parallel HDF5")
        return
    file = made(place, program, "paged")
    have, reported = read(place, program, file, settings=dict(ALL))
    assert have["mdc_size"] == str(8 << 20) and reported["mdc_size"][0] == "applied", (
        have,
        reported,
    )
    verdict, got, reason = reported["page_buffer"]
    if verdict == "applied":  # a distribution's own, or a newer one
        assert have["page_buffer"] == got == str(PAGES), (have, reported)
    else:
        assert verdict == "refused" and "the call failed with it" in reason, reported
        assert have["page_buffer"] == "0", have
    assert reported["evict_on_close"][0] == "refused" and "MPI" in reported["evict_on_close"][2], (
        reported
    )
    assert have["evict_on_close"] == "disable", have


def over_mpi_io(place: Place) -> None:
    program = place.bin / "file_buffers"
    if not program.exists():
        not_verified("no parallel HDF5")
        return
    file = made(place, program, "paged")
    have, reported = read(place, program, file, "mpio", settings=dict(ALL), ranks=2)
    assert have["mdc_size"] == str(8 << 20) and reported["mdc_size"][0] == "applied", (
        have,
        reported,
    )
    for name in ("page_buffer", "evict_on_close"):
        assert reported[name][0] == "refused" and "MPI" in reported[name][2], reported


if __name__ == "__main__":
    main({"paged": paged, "not-paged": not_paged, "writing": writing, "own": own,
          "other-second-open": other_second_open, "memory": memory,
          "built-for-mpi": built_for_mpi, "over-mpi-io": over_mpi_io})  # fmt: skip
