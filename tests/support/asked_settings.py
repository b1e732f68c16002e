"""Programs that ask their own files which settings they have, and what the trace says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.place import Place
from support.settings import VERDICTS

CONFIG = """<Parameters>
  <High_Level_IO_Library>
    <alignment>65536,4096</alignment>
    <meta_block_size>131072</meta_block_size>
  </High_Level_IO_Library>
  <Middleware_Layer>
    <cb_nodes>2</cb_nodes>
    <cb_buffer_size>1048576</cb_buffer_size>
    <romio_cb_write>enable</romio_cb_write>
    <romio_ds_write>disable</romio_ds_write>
  </Middleware_Layer>
</Parameters>
"""
HINTS = {"cb_nodes": "2", "cb_config_list": "*:2", "cb_buffer_size": "1048576",
         "romio_cb_write": "enable", "romio_ds_write": "disable"}  # fmt: skip


class Seen:
    """What the program printed of its own file, and what the trace says of it."""

    program = "ask_settings"

    def __init__(
        self, place: Place, *arguments: object, expect_trace: bool = True, finalizes: bool = True,
        **env: Any,
    ):  # fmt: skip
        """finalizes: the program calls MPI_Finalize; where it does not, mpirun may call that a
        fault or not, as the ranks happen to end.
        """
        place.trace.unlink(missing_ok=True)
        done = place.mpi(2, place.bin / self.program, *arguments, **env)
        if finalizes:
            place.right(done, self.program)
        self.said = done.said()
        self.opens: list[dict[str, str]] = [{}]
        for line in done.out.decode().splitlines():
            if line == "reopened":
                self.opens.append({})
                continue
            words = line.split()
            self.opens[-1][words[-2]] = words[-1]
        self.values = self.opens[0]
        self.outcomes: list[tuple[str, str, str, str]] = []
        self.source = ""
        if env.get("preload", True) and expect_trace:
            for call in place.calls():
                if call["name"] == "iotune_setting":
                    _, parameter, wanted, got, reason = call["texts"]
                    self.outcomes.append((parameter, VERDICTS[call["numbers"][0]], got, reason))
                if call["name"] == "iotune_decision":
                    self.source = call["texts"][1]

    def verdict(self, parameter: str) -> str:
        return next(v for p, v, _, _ in self.outcomes if p == parameter)

    def got(self, parameter: str) -> str:
        return next(g for p, _, g, _ in self.outcomes if p == parameter)

    def check_verdicts(self) -> None:
        """What is called applied is what the program saw; nothing else is called so."""
        for parameter, verdict, got, _ in self.outcomes:
            if verdict == "applied":
                assert self.values.get(parameter) == got, (parameter, got, self.values)


def config(place: Place, text: str = CONFIG) -> Path:
    path = place.scratch / "config.xml"
    path.write_text(text)
    return path


EVERY = {
    "alignment": "65536,4096", "meta_block_size": "131072", "sieve_buf_size": "131072",
    "coll_metadata_write": "enable", "cb_nodes": "2", "cb_config_list": "*:2",
    "cb_buffer_size": "1048576", "romio_cb_write": "disable", "romio_cb_read": "disable",
    "romio_ds_write": "disable", "romio_ds_read": "enable", "ind_rd_buffer_size": "1048576",
    "ind_wr_buffer_size": "1048576",
}  # fmt: skip


DATASETS = """<Parameters><High_Level_IO_Library>
  <chunk>128</chunk> <chunk VariableName="b">64</chunk> <chunk_cache>8388608</chunk_cache>
  <dxpl_mpio_collective_opt>individual</dxpl_mpio_collective_opt>
</High_Level_IO_Library></Parameters>"""


class SeenDatasets(Seen):
    program = "ask_datasets"

    def verdicts(self, parameter: str) -> list[tuple[str, str]]:
        """(verdict, reason) of each note."""
        return [(v, reason) for p, v, _, reason in self.outcomes if p == parameter]


def transfers(place: Place) -> tuple[int, int]:
    """MPI-IO calls that HDF5 made for data: independent, collective."""
    names = [c["name"] for c in place.calls() if c["name"].startswith("MPI_File_")]
    independent = sum(names.count(f"MPI_File_{way}_at") for way in ("write", "read"))
    return independent, sum(names.count(f"MPI_File_{way}_at_all") for way in ("write", "read"))
