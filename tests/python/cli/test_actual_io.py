"""What `iotune explain` and `iotune show` say of collective transfers that HDF5 took apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from iotune.launch import preload
from iotune.replay.mpi import find_mpi
from iotune.reports.actual_io import done_text, reported_settings
from iotune.traces.summary import DatasetPattern, FilePattern, SettingOutcome
from support.installed.user_home import Home
from support.repository import KERNELS

pytestmark = pytest.mark.mpi

WHOLE, APART = {"collective (contiguous)": 12}, {"independent": 4}
CAUSE = {"datatype conversion": 4}
HINTS = ("cb_nodes", "cb_buffer_size", "cb_config_list", "romio_cb_write", "romio_cb_read")


def file_with(*datasets: DatasetPattern, verdict: str = "applied") -> FilePattern:
    settings = [SettingOutcome(name, "1", "1", "", verdict) for name in (*HINTS, "alignment")]
    return FilePattern(path="/a.h5", datasets=list(datasets), settings=settings)


def collective(done: dict[str, int], causes: dict[str, int] | None = None) -> DatasetPattern:
    return DatasetPattern("/a", mode="collective", actual_io=done, not_collective=causes or {})


def verdicts(file: FilePattern) -> set[str]:
    return {one.verdict for one in reported_settings(file) if one.parameter in HINTS}


def test_what_hdf5_did_is_one_line() -> None:
    assert done_text({**WHOLE, **APART}, CAUSE) == (
        "12 collective (contiguous), 4 independent, because: datatype conversion"
    )
    assert done_text(WHOLE, {}) == "12 collective (contiguous)"


@pytest.mark.parametrize("verdict", ["applied", "unverifiable"])
def test_hints_of_aggregators_had_no_effect_where_no_transfer_stayed_collective(
    verdict: str,
) -> None:
    file = file_with(
        collective(APART, CAUSE),
        collective({"independent (chunks)": 2}),
        DatasetPattern("/b", mode="independent"),
        verdict=verdict,
    )
    assert verdicts(file) == {"without effect"}
    reported = reported_settings(file)
    assert "datatype conversion" in reported[0].reason and "aggregators" in reported[0].reason
    # The others stay as they are, and so does what the trace says.
    assert reported[-1] == file.settings[-1]
    assert {one.verdict for one in file.settings} == {verdict}
    assert verdicts(replace(file, sampled_out=True)) == {verdict}


@pytest.mark.parametrize(
    "other",
    [
        collective(WHOLE),
        collective({"mixed (chunks)": 1}),
        collective({"in a way that iotune does not know": 1}),
        collective({}),
        DatasetPattern("/b", mode="mixed"),
    ],
)
def test_hints_are_left_where_a_transfer_was_collective_or_may_have_been(
    other: DatasetPattern,
) -> None:
    assert verdicts(file_with(collective(APART, CAUSE), other)) == {"applied"}


def test_hints_that_were_refused_stay_refused() -> None:
    assert verdicts(file_with(collective(APART), verdict="refused")) == {"refused"}


@pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None or not (KERNELS / "ask_datasets").exists(),
    reason="libiotune.so is not installed, or the test programs are not built",
)
def test_a_program_whose_transfers_hdf5_converts_is_explained(tmp_path: Path) -> None:
    # given
    home = Home(tmp_path)
    config = tmp_path / "config.xml"
    hints = (
        "<cb_nodes>2</cb_nodes><romio_cb_write>enable</romio_cb_write>"
        "<romio_ds_write>disable</romio_ds_write>"
    )
    config.write_text(f"<Parameters><Middleware_Layer>{hints}</Middleware_Layer></Parameters>")
    program = [*find_mpi().command(2), str(KERNELS / "ask_datasets"), "a.h5"]

    def explained(option: str) -> tuple[dict[str, str], dict[str, int], str]:
        home.type("run", "--config", str(config), "--", *program, option)
        (file,) = home.asked("explain")["files"]
        said = {one["parameter"]: one["verdict"] for one in file["settings"]}
        return said, file["actual_io"]["done"], home.type("explain").stdout

    # when
    said, done, text = explained("--convert")
    # then
    assert said["cb_nodes"] == "without effect" and said["romio_ds_write"] == "applied", said
    assert done == {"independent": 8}
    assert "  actual I/O  8 independent, because: datatype conversion\n" in text
    assert "no data went through aggregators" in text
    # and where one dataset of two is left whole, the hint was of use
    said, done, text = explained("--convert-b")
    assert said["cb_nodes"] == "applied", said
    assert done == {"collective (contiguous)": 4, "independent": 4}
    assert "/group/b written: 2 independent, because: datatype conversion\n" in text
    shown = home.type("show").stdout
    assert "actual I/O: 2 independent, because: datatype conversion (so of 2 datasets)" in shown
