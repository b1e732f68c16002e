"""iotune latency on a real MPI and a real disk: samples, a killed run's journal, fits, a page."""

import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from support.installed.json_schemas import conforming

pytest.importorskip("scipy")
pd = pytest.importorskip("pandas")

IOTUNE = [sys.executable, "-m", "iotune"]


def iotune(*words, cwd, status=0):
    done = subprocess.run(
        [*IOTUNE, "latency", *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300
    )
    assert status in (None, done.returncode), done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """A table of 40 rounds of one size on two ranks."""
    place = tmp_path_factory.mktemp("latency")
    (place / "data").mkdir()
    iotune("sample", "data", "--size", "64KiB", "--rounds", 40, "--share", 100,
           "--interface", "both", "--ranks", 2, "-o", "t.parquet", cwd=place)  # fmt: skip
    return place


def test_every_kind_is_sampled_as_often(sampled):
    table = pd.read_parquet(sampled / "t.parquet")
    kinds = table.groupby(["operation", "cache", "interface", "bytes"]).size()
    assert len(kinds) == 2 * 2 * 2 and (kinds == 80).all()
    assert sorted(table["rank"].unique()) == [0, 1]
    assert (table["seconds"] > 0).all()
    # The ranks of a round begin together: within the time of a barrier.
    one = table[(table["bytes"] == 65536) & (table["operation"] == "read")]
    begins = one.groupby(["cache", "interface", "round"])["time_ns"].agg(["min", "max"])
    assert ((begins["max"] - begins["min"]).median()) < 50e6
    assert (sampled / "data" / "iotune-latency" / "65536-1.dat").stat().st_size == 65536
    assert not (sampled / "t.parquet.journal").exists()


def test_a_second_job_adds_to_the_table(sampled, tmp_path):
    before = len(pd.read_parquet(sampled / "t.parquet"))
    again = tmp_path / "t.parquet"
    again.write_bytes((sampled / "t.parquet").read_bytes())
    iotune("sample", sampled / "data", "--size", "64KiB", "--cache", "warm", "--interface", "posix",
           "--share", 100, "-o", again, cwd=tmp_path)  # fmt: skip
    table = pd.read_parquet(again)
    assert len(table) == before + 4
    assert table["run"].nunique() == 2


def test_a_killed_job_loses_no_round(sampled, tmp_path):
    command = [*IOTUNE, "latency", "sample", str(sampled / "data"), "--size", "64KiB",
               "--for", "60s", "--share", "100", "-o", "t.csv"]  # fmt: skip
    child = subprocess.Popen(command, cwd=tmp_path, start_new_session=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    journal = tmp_path / "t.csv.journal"
    until = time.monotonic() + 60
    while time.monotonic() < until and (not journal.exists() or journal.stat().st_size < 4000):
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    lines = journal.read_text().count("\n")
    assert lines > 20 and not (tmp_path / "t.csv").exists()
    iotune(
        "sample", sampled / "data", "--size", "64KiB", "--share", 100, "-o", "t.csv", cwd=tmp_path
    )
    table = pd.read_csv(tmp_path / "t.csv")
    assert len(table) == lines + 8 and table["run"].nunique() == 2


def test_the_table_goes_over_csv_without_loss(sampled, tmp_path):
    iotune("export", sampled / "t.parquet", "t.csv", cwd=tmp_path)
    iotune("export", "t.csv", "back.parquet", cwd=tmp_path)
    first, back = (pd.read_parquet(p) for p in (sampled / "t.parquet", tmp_path / "back.parquet"))
    pd.testing.assert_frame_equal(first, back, check_dtype=False)


def test_fits_are_printed_for_people_and_programs(sampled):
    done = iotune("fit", "t.parquet", "--operation", "read", cwd=sampled)
    assert done.stdout.count("read") == 4 and "write" not in done.stdout
    said = conforming(
        "latency-fit",
        iotune("fit", "t.parquet", "--json", "--cache", "warm", cwd=sampled).stdout,
    )
    assert len(said) == 4 and {one["samples"] for one in said} == {80}
    for one in said:
        assert len(one["single"]) == 8
        assert one["mixture"] is None or 0 < one["mixture"]["tail_share"] < 1
        assert one["times"]["samples"] == 80 and one["times"]["fractions"][0] == 0
    # A line each says how the longest times fall off, and that 80 samples say little of it.
    reported = [line for line in done.stderr.splitlines() if " beyond " in line and "%" in line]
    assert len(reported) == 4 or "nothing is predicted" in done.stderr, done.stderr


def test_the_page_has_the_papers_figures(sampled, tmp_path):
    iotune("report", sampled / "t.parquet", "-o", "page", "--size", "64KiB", cwd=tmp_path)
    page = tmp_path / "page"
    text = (page / "index.html").read_text()
    for number in "123456":
        assert list(page.glob(f"figure{number}*.svg")), number
    for figure in page.glob("*.svg"):
        assert ET.parse(figure).getroot().tag.endswith("svg")
    assert "Distributions" in text and "The longest times" in text and "64 KiB" in text
    assert "<script" not in text and 'src="' not in text  # nothing is loaded from elsewhere


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["fit", "missing.parquet"], "no such file"),
        (["fit", "."], "is a directory"),
        (["fit", "text.csv"], "has no column time_ns"),
        (["fit", "damaged.parquet"], "is no table of samples"),
        (["fit", "wrong.csv"], "seconds of row 2 is 'soon', no number"),
        (["fit", "one.csv"], "1 response times are too few"),
        (["sample", "missing"], "is no directory"),
        (["sample", ".", "-o", "/dev/null"], "/dev/null"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, words, says):
    head = "time_ns,seconds,bytes,operation\n"
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 nothing")
    (tmp_path / "wrong.csv").write_text(head + "1,0.5,10,read\n2,soon,10,read\n")
    (tmp_path / "one.csv").write_text(head + "1,0.5,10,read\n")
    done = iotune(*words, cwd=tmp_path, status=1)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and says in lines[0], done.stderr


@pytest.mark.parametrize("words", [["--share", "0"], ["--cache", "luke"], ["--interface", "hdf5"]])
def test_usage_errors_exit_with_two(tmp_path, words):
    iotune("sample", ".", *words, cwd=tmp_path, status=2)


def test_a_full_storage_is_reported_before(tmp_path):
    from iotune.models.latency.sampler import sizes_that_fit

    from iotune import Error

    with pytest.raises(Error, match="has no room"):
        sizes_that_fit([1 << 60], 4, Path(tmp_path))
    assert sizes_that_fit([4096, 1 << 60], 4, Path(tmp_path)) == [4096]


def test_foreign_and_cut_tables_are_said_in_one_line(sampled, tmp_path):
    """Whatever the file is, what is wrong with it and its name stand in one line."""
    head = "time_ns,seconds,bytes,operation\n"
    row = "1000000000,0.5,1048576,read\n"
    whole = (sampled / "t.parquet").read_bytes()
    foreign = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})
    foreign.to_parquet(tmp_path / "foreign.parquet")
    odd = pd.DataFrame({"time_ns": [[1], [2]], "seconds": [0.5, 0.5], "bytes": [1, 1],
                        "operation": ["read", "read"]})  # fmt: skip
    odd.to_parquet(tmp_path / "lists.parquet")
    files = {
        "cut.parquet": whole[: len(whole) // 2],
        "flipped.parquet": whole[:200] + bytes(200) + whole[400:],
        "empty.parquet": b"", "empty.csv": b"", "head.csv": head.encode(),
        "binary.csv": bytes(range(256)) * 20, "nul.csv": (head + "1,0\x00,1,read\n").encode(),
        "halved.csv": (head + row * 50 + "1000000000,0.").encode(),
        "wide.csv": (head + row + row[:-1] + ",1,2,3,4,5\n").encode(),
        "equal.csv": (head + row * 60).encode(),
        "lone.csv": (head + row).encode(),
        "huge.csv": (head + f"{10**30},0.5,1,read\n" * 50).encode(),
        "endless.csv": (head + "1,inf,1,read\n" * 50).encode(),
        "negative.csv": (head + "1,-1,1,read\n" * 50).encode(),
        "no-bytes.csv": (head + "1,0.5,-4,read\n" * 50).encode(),
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    for name in (*files, "foreign.parquet", "lists.parquet"):
        before = (tmp_path / name).read_bytes()
        commands = [["fit", name]]
        # All commands read by the same reader: of each kind of damage one.
        if name in ("cut.parquet", "equal.csv", "foreign.parquet"):
            commands += [["fit", name, "--keep", "--db", "kept/patterns.db"],
                         ["report", name, "-o", "page"]]  # fmt: skip
        for words in commands:
            done = iotune(*words, cwd=tmp_path, status=1)
            assert done.stderr.count("\n") == 1, (name, words, done.stderr)
        assert (tmp_path / name).read_bytes() == before
    assert not (tmp_path / "page").exists() and not (tmp_path / "kept").exists()


def test_a_fit_is_kept_for_trainings(sampled, tmp_path):
    from iotune.models.latency.kept import kept_of

    from iotune import core

    here = core.filesystem_of(sampled)
    done = iotune("fit", sampled / "t.parquet", "--keep", "--db", tmp_path / "patterns.db",
                  cwd=sampled, status=None)  # fmt: skip
    if done.returncode:  # this storage has no tail
        assert "nothing to keep" in done.stderr
        return
    found = kept_of([tmp_path / "patterns.db"], here)
    assert found is not None and found.kinds and found.directory == str(sampled / "data")
    assert all(one.samples == 80 for one in found.kinds)
    # Not where no one knows which storage it is.
    table = pd.read_parquet(sampled / "t.parquet").assign(directory="/gone")
    table.to_parquet(tmp_path / "gone.parquet")
    for words, said in (([], "--on DIR"), (["--on", tmp_path / "nowhere"], "no directory")):
        done = iotune("fit", "gone.parquet", "--keep", *words, cwd=tmp_path, status=1)
        assert said in done.stderr and done.stderr.count("\n") == 1
    iotune("fit", "gone.parquet", "--keep", "--on", tmp_path, "--db", tmp_path / "o" / "p.db",
           cwd=tmp_path)  # fmt: skip
