"""programs/mpis/mpi_file.c under any MPI: recorded in full, merged at the end, tuned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.mpis import Mpi
from support.place import Place, not_verified
from support.preloaded import Done
from support.repository import IOTUNE
from support.settings import outcomes

CONFIG = """<Parameters><High_Level_IO_Library>
  <alignment>65536,4096</alignment><meta_block_size>131072</meta_block_size>
</High_Level_IO_Library><Middleware_Layer>
  <cb_nodes>2</cb_nodes><cb_buffer_size>1048576</cb_buffer_size>
  <romio_cb_write>enable</romio_cb_write>
</Middleware_Layer></Parameters>
"""
HINTS = {"cb_nodes": "2", "cb_buffer_size": "1048576", "romio_cb_write": "enable"}
EACH = 4000  # bytes that a rank of mpi_file writes


def words_of(done: Done, first: str) -> dict[str, str]:
    lines = (line.split() for line in done.out.decode().splitlines())
    return {words[1]: words[2] for words in lines if words[0] == first}


def check_merged(place: Place, mpi: Mpi, ranks: int) -> list[dict[str, Any]]:
    """One trace of all ranks, with nothing left beside it; its calls."""
    assert place.traces() == [place.trace], place.traces()
    assert place.leftovers() == [], place.leftovers()
    heads = [head["attributes"] for head in place.heads()]
    assert sorted(int(head["rank"]) for head in heads) == list(range(ranks)), heads
    for head in heads:
        assert int(head["size"]) == ranks, head
        assert head["mpi"].startswith(mpi.version), head
    return place.calls()


def recorded(place: Place, mpi: Mpi, program: Path, bare: Done) -> None:
    under = place.right(place.mpi(2, program, "a.bin", IOTUNE_MODE="record"))
    assert under.same_as(bare), (bare, under)
    calls = check_merged(place, mpi, 2)
    for rank in (0, 1):
        by_name: dict[str, list[dict[str, Any]]] = {}
        for call in calls:
            if call["rank"] == rank:
                by_name.setdefault(call["name"], []).append(call)
        # One meaning whatever the ABI: MULTIPLE, CREATE|WRONLY and RDONLY, MPI_SEEK_SET.
        assert by_name["MPI_Init_thread"][0]["arguments"]["required"] == 3
        assert [c["arguments"]["amode"] for c in by_name["MPI_File_open"]] == [1 + 4, 2]
        (seek,) = by_name["MPI_File_seek"]
        assert (seek["arguments"]["offset"], seek["arguments"]["whence"]) == (EACH * rank, 600)
        (write,) = by_name["MPI_File_write_all"]
        assert (write["arguments"]["count"], write["arguments"]["extras"]) == (1000, [4])
        (read,) = by_name["MPI_File_read_at"]
        assert read["arguments"]["offset"] == EACH * (1 - rank)
        assert by_name["MPI_File_close"] and by_name["MPI_Finalize"]


def tuned(place: Place, mpi: Mpi, program: Path, bare: Done) -> None:
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    before = words_of(bare, "hint")
    assert any(before.get(name) != value for name, value in HINTS.items()), before
    place.clear()
    done = place.right(place.mpi(2, program, "a.bin", IOTUNE_CONFIG=config, IOTUNE_DB="none"))
    assert done.said() == [], done.said()
    calls = check_merged(place, mpi, 2)
    got, said = words_of(done, "hint"), outcomes(calls)
    for name, value in HINTS.items():
        verdict, read_back, reason = said[name]
        if mpi.romio:
            assert got[name] == value and (verdict, read_back) == ("applied", value), (got, said)
        else:
            # OMPIO echoes keys: what it says proves nothing. Those it never asks for had no effect.
            if name == "cb_nodes":  # several aggregators
                known = "known bad" if mpi.name == "openmpi-4" else "not proven"
                assert verdict == "refused" and known in reason, said
                continue
            ignored = name not in ("cb_nodes", "cb_buffer_size") or name not in got
            expected = "without effect" if ignored else "unverifiable"
            assert verdict == expected and reason, said
    # What the program sets itself is left alone.
    place.clear()
    done = place.right(place.mpi(2, program, "a.bin", "cb_buffer_size=524288",
                                 IOTUNE_CONFIG=config, IOTUNE_DB="none"))  # fmt: skip
    said = outcomes(check_merged(place, mpi, 2))
    assert said["cb_buffer_size"][0] == "refused", said
    if mpi.romio:
        assert words_of(done, "hint")["cb_buffer_size"] == "524288"


def joined_later(place: Place) -> None:
    if not IOTUNE.exists():
        not_verified("no iotune in .venv that could join the ranks' buffers")
        return
    place.right(place.run(IOTUNE, "show", preload=False))
    assert place.leftovers() == [], place.leftovers()
    (trace,) = place.traces()
    assert [head["attributes"]["rank"] for head in place.heads(trace)] == ["0", "1"]
