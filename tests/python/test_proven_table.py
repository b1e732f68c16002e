"""Every setting that the table calls proven: bytes on disk, over five seeds, under each MPI here.

In `make check` one of two MPIs under one seed; in `make soak` all. A row of the table holds for the
releases that are here (`tools/setup.sh companions`); for others of its range by the two at its
ends.
"""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from iotune.models.cases import Case
from iotune.models.settings.allowed import Allowed
from iotune.models.settings.candidates import Candidate

from iotune import core
from iotune.proving.prover import LEAST_RANKS, SEEDS, Prover, settings_to_try, unproven
from iotune.replay.mpi import Mpi, serial_command, serial_hdf5
from support import mpis, preloaded
from support.installed import prove_table
from support.installed.prove_table import Site, is_proven
from support.repository import COMPANIONS, ROOT, program_source

pytestmark = pytest.mark.mpi

# Launcher's name in mpis.py, and what Open MPI is set to take as its MPI-IO.
SITES = [(site.mpi, site.mpi_io) for site in prove_table.SITES]
# In `make check`, of Debian's two: settings whose fault was seen elsewhere.
QUICK = [
    ("mpich-4", "", ("romio_ds_write", "enable")),
    ("openmpi-4", "ompio", ("dxpl_mpio_collective_opt", "individual")),
]


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    # The compiled programs stay in the cache: all tests compile the same.
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("IOTUNE_BUFFER_DIR", str(tmp_path / "buffers"))
    (tmp_path / "buffers").mkdir()
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def mpi_named(name: str, mpi_io: str, monkeypatch: pytest.MonkeyPatch) -> Mpi:
    if mpis.find_mpi(name) is None:
        pytest.skip(f"{name} is not here")
    site = Site(name, mpi_io)
    for key, value in site.environment().items():
        monkeypatch.setenv(key, value)
    return site.described()


def compare(name, mpi_io, scratch, monkeypatch, wanted, seeds=SEEDS) -> None:
    prover = Prover(mpi_named(name, mpi_io, monkeypatch), LEAST_RANKS, scratch, seeds)
    prover.settle()
    chosen = [one for one in settings_to_try() if wanted(one) and is_proven(prover, one)]
    assert chosen
    for one in chosen:
        proof = prover.prove(one)
        assert proof["passed"] and proof["seeds"] == seeds, proof


@pytest.mark.parametrize(("name", "mpi_io", "setting"), QUICK)
def test_one_of_each(name, mpi_io, setting, scratch, monkeypatch) -> None:
    compare(name, mpi_io, scratch, monkeypatch,
            lambda one: (one.parameter, one.value_class) == setting, seeds=1)  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize(("name", "mpi_io"), SITES)
def test_all(name, mpi_io, scratch, monkeypatch) -> None:
    compare(name, mpi_io, scratch, monkeypatch, lambda one: True)


def test_the_record_has_every_proven_row() -> None:
    """Who adds a row runs `prove_table.py` for it: the record is what a row rests on."""
    record = prove_table.recorded()
    assert all(one["seeds"] >= SEEDS for one in record), "fewer seeds than a proof has"
    alone = prove_table.SERIAL_HDF5
    assert all(one["ranks"] >= (1 if one["library"] == alone else LEAST_RANKS) for one in record)
    rows = {row[:4]: row[4] for row in prove_table.provers_of_rows()}
    wrong = [
        one
        for one in record
        if not one["passed"]
        and (one["library"], one["version"], one["parameter"], one["value_class"]) in rows
    ]
    assert wrong == [], "the record has seen wrong bytes of what the table calls proven"
    without = sorted(key for key, prover in rows.items() if prover == 0)
    assert without == [], "proven without a record: prove_table.py"


def test_the_document_says_what_each_row_rests_on() -> None:
    assert prove_table.as_markdown() in (ROOT / "docs/safety.md").read_text(), (
        "docs/safety.md is behind: prove_table.py --print"
    )


# What a prover of MPI-IO and of HDF5 must see, if a library did it wrong.
WRONG_CALLS = [
    *(f"MPI_File_{word}{form}" for word in ("read", "write")
      for form in ("", "_all", "_at", "_at_all", "_ordered", "_shared", "_all_begin",
                   "_at_all_begin", "_ordered_begin")),
    *(f"MPI_File_i{word}{form}" for word in ("read", "write")
      for form in ("_at", "_all", "_at_all", "_shared")),
    "H5Dread", "H5Dwrite", "H5Awrite",
]  # fmt: skip
QUICK_WRONG = ("MPI_File_read_ordered", "H5Dwrite")


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(one, marks=() if one in QUICK_WRONG else pytest.mark.soak)
        for one in WRONG_CALLS
    ],
)
def test_a_library_that_is_wrong_on_purpose_is_seen(call, scratch, monkeypatch) -> None:
    prover = Prover(mpi_named("mpich-4", "", monkeypatch), LEAST_RANKS, scratch)
    preload = scratch / "wrong.so"
    source = program_source("wrong_calls.c")
    subprocess.run(["mpicc.mpich", "-fPIC", "-shared", "-o", str(preload), str(source), "-ldl"],
                   check=True)  # fmt: skip
    program = prover._hdf5 if call.startswith("H5") else prover._mpiio
    assert program is not None
    environment = prover._bare()
    shims = filter(None, environment.get(preloaded.VARIABLE, "").split(":"))
    wrong = {**environment, **preloaded.variables(preload, *shims), "WRONG_CALL": call}
    seen = prover.run(program, {}, wrong, more=["--seconds", "0"])
    assert not seen.right and seen.wrong_bytes > 0, seen


@pytest.mark.parametrize("with_hdf5", [pytest.param(False, marks=pytest.mark.soak), True])
def test_one_wrong_byte_is_seen(with_hdf5, scratch, monkeypatch) -> None:
    prover = Prover(mpi_named("mpich-4", "", monkeypatch), LEAST_RANKS, scratch, seeds=1)
    program = prover._hdf5 if with_hdf5 else prover._mpiio
    assert program is not None
    assert prover.run(program, {}).right
    spoilt = prover.run(program, {}, more=["--spoil"])
    assert not spoilt.right and spoilt.wrong_bytes > 0 and spoilt.fault, spoilt


def test_a_known_fault_is_seen(scratch, monkeypatch) -> None:
    """A prover that sees no fault proves nothing. This one shows by chance, under most seeds."""
    prover = Prover(mpi_named("openmpi-4", "ompio", monkeypatch), 2, scratch, seeds=3)
    site = prover.settle()
    version = tuple(int(part) for part in site.mpi.split("v")[-1].split()[0].split("."))
    if version > (4, 1, 6):
        pytest.skip(f"NOT VERIFIED: {site.mpi} has no known fault")
    assert site.ranks == LEAST_RANKS, "with two ranks it never shows"
    assert prover._mpiio is not None
    seen = prover.run(prover._mpiio, {"cb_nodes": "2", "cb_config_list": "*:2"})
    assert not seen.right and seen.wrong_bytes > 0, seen


@pytest.mark.soak
def test_what_nobody_here_reads_proves_nothing(scratch, monkeypatch) -> None:
    """Bytes that are right because nobody looked at a setting say nothing of it."""
    prover = Prover(mpi_named("mpich-4", "", monkeypatch), LEAST_RANKS, scratch, seeds=1)
    site = prover.settle()
    if site.filesystem == "lustre":
        pytest.skip("NOT VERIFIED: the tests run on Lustre")
    by_name = {(one.parameter, one.value_class): one for one in settings_to_try()}
    assert prover.can_try(by_name["romio_no_indep_rw", "true"])
    of_others = ("romio_lustre_co_ratio", "cray_cb_nodes_multiplier", "collective_buffering")
    for (name, _), one in by_name.items():
        assert not (name in of_others and prover.can_try(one)), name
    # All that this one goes with is known bad: nothing was compared.
    proof = prover.prove(by_name["romio_cb_alltoall", "enable"])
    assert not proof["passed"] and "known bad" in proof["evidence"], proof


SERIAL = sorted(COMPANIONS.glob("hdf5-*/lib/libhdf5-*.so*"))


@pytest.mark.parametrize("library", SERIAL, ids=lambda path: path.parts[-3])
def test_an_hdf5_without_mpi_is_proven_by_itself(library, scratch, monkeypatch) -> None:
    prover = Prover(serial_hdf5(str(library)), 1, scratch, seeds=1)
    site = prover.settle()
    assert (site.mpi, site.mpi_io, site.ranks) == ("", "", 1) and site.hdf5, site
    assert prover.run(library, {}).compared_bytes > 100_000
    spoilt = prover.run(library, {}, more=["--spoil"])
    assert not spoilt.right and spoilt.wrong_bytes == 5, (
        spoilt
    )  # a value read again, a byte on disk
    hints = [one for one in settings_to_try() if not one.of_hdf5]
    assert hints and not any(prover.can_try(one) for one in hints)
    for one in settings_to_try():
        if (one.parameter, one.value_class) in (("alignment", "up to 64 MiB"), ("chunk", "any")):
            proof = prover.prove(one)
            assert proof["passed"] and proof["ranks"] == 1 and not proof["mpi"], proof


def test_settings_reach_the_files_of_an_hdf5_without_mpi(scratch, tmp_path) -> None:
    """The prover gets what the tuner sets: the file is another one."""
    kept = tmp_path / "kept.so"
    source = "int unlink(const char* path) { (void)path; return 0; }"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(kept)],
                   input=source, text=True, check=True)  # fmt: skip
    for library in SERIAL[:1]:
        sizes = {}
        for settings in ({}, {"alignment": "0,65536"}, {"meta_block_size": "1048576"}):
            asked = [f"{name}={value}" for name, value in settings.items()]
            words = [word for one in asked for word in ("--set", one)]
            done = preloaded.run(
                *serial_command("libiotune-serial-prove.so"), str(library), "--dir", str(scratch),
                "--files", "2", *words, libraries=(kept,),
            )  # fmt: skip
            assert done.status == 0, done
            sizes[";".join(asked)] = [path.stat().st_size for path in sorted(scratch.glob("*.h5"))]
        assert len({tuple(one) for one in sizes.values()}) == 3, sizes


def test_the_command_proves_an_hdf5_without_mpi(scratch) -> None:
    if not SERIAL:
        pytest.skip("NOT VERIFIED: no HDF5 by itself in build/companions")
    done = iotune("prove", "--on", str(scratch), "--hdf5", str(SERIAL[0]), "--all", "--setting",
                  "fill_time", "--setting", "coll_metadata_write")  # fmt: skip
    assert done.returncode == 0 and done.stdout.count("proven here") == 2, (
        done.stdout,
        done.stderr,
    )
    proofs = core.Database(core.default_database()).proofs()
    assert {(one["parameter"], one["mpi"], one["ranks"]) for one in proofs} == {
        ("fill_time", "", 1)
    }


def test_what_fails_or_hangs_is_no_proof(scratch, monkeypatch) -> None:
    prover = Prover(mpi_named("mpich-4", "", monkeypatch), LEAST_RANKS, scratch, seeds=1)
    prover.settle()
    failing = scratch / "failing"
    failing.write_text("#!/bin/sh\necho 'iotune-prove: out of luck' >&2\nexit 3\n")
    failing.chmod(0o755)
    assert "out of luck" in prover.run(failing, {}).fault
    failing.write_text("#!/bin/sh\nsleep 60\n")
    prover._limit_seconds = 0.5
    assert "did not end" in prover.run(failing, {}).fault


def iotune(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "iotune", *words], capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip


@pytest.mark.soak
def test_the_command_keeps_what_it_found(scratch, monkeypatch) -> None:
    mpi_named("mpich-4", "", monkeypatch)
    done = iotune("prove", "--on", str(scratch), "--all", "--setting", "coll_metadata_write")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("proven here") == 2, done.stdout
    assert not list(scratch.iterdir()), "the scratch folder is left"
    listed = iotune("prove", "--list")
    assert "known bad" in listed.stdout and listed.stdout.count("proven here") == 2, listed.stdout
    proofs = core.Database(core.default_database()).proofs()
    assert {one["value_class"] for one in proofs} == {"enable", "disable"}
    assert all(one["passed"] and one["ranks"] == 4 and one["mpi"] for one in proofs), proofs


@pytest.mark.soak
def test_nothing_unknown_is_left_here(scratch, monkeypatch) -> None:
    prover = Prover(mpi_named("mpich-4", "", monkeypatch), LEAST_RANKS, scratch, seeds=1)
    prover.settle()
    left = list(unproven(prover, settings_to_try(), Path("none")))
    assert left == [], left


@pytest.mark.parametrize("words", [("--on", "/nowhere"), ("--setting", "luck"), ("-n", "1")])
def test_mistakes_are_reported_in_a_line(words, scratch) -> None:
    done = iotune("prove", *words)
    assert done.returncode != 0 and "Traceback" not in done.stderr, done.stderr
    assert any(word in done.stderr for word in words), done.stderr


def allowed_for(scratch: Path, monkeypatch: pytest.MonkeyPatch, stack: ExitStack) -> Allowed:
    database = core.Database(scratch.parent / "of-training.db")
    mpi = mpi_named("mpich-4", "", monkeypatch)
    return Allowed(mpi, database, scratch.parent / "of-training.db", stack, lambda text: None)


def case_of(mpi: str) -> Case:
    return Case(1, {"descriptor": "", "ranks": 2}, {"mpi": mpi, "hdf5": "1.10.8"})


def test_training_tries_nothing_that_is_bad(scratch, monkeypatch) -> None:
    with ExitStack() as stack:
        allowed = allowed_for(scratch, monkeypatch, stack)
        bad = allowed.refusal(case_of("Open MPI v4.1.4"), scratch, Candidate({"cb_nodes": "2"}))
        assert "known bad" in bad, bad
        proven = Candidate({"cb_nodes": "2", "cb_config_list": "*:2"})
        assert allowed.refusal(case_of("MPICH 4.0.2"), scratch, proven) == ""
    assert not list(scratch.iterdir())


@pytest.mark.soak
def test_training_proves_what_is_unknown_and_keeps_it(scratch, monkeypatch) -> None:
    ask, asked = core.gate_refusals, []
    unknown = {
        "reason": "not proven",
        "unproven_name": "coll_metadata_write",
        "unproven_value": "enable",
    }

    def twice_unknown(question, settings):
        asked.append(question["mpi"])
        return [unknown] if len(asked) <= 2 else ask(question, settings)

    monkeypatch.setattr(core, "gate_refusals", twice_unknown)
    with ExitStack() as stack:
        allowed = allowed_for(scratch, monkeypatch, stack)
        candidate = Candidate({"coll_metadata_write": "enable"})
        assert allowed.refusal(case_of("MPICH 97.1"), scratch, candidate) == ""
    (proof,) = core.Database(scratch.parent / "of-training.db").proofs()
    assert proof["passed"] and proof["seeds"] == 5 and proof["ranks"] == 4, proof
    # It speaks for what was there, whatever the pattern was recorded with.
    assert proof["mpi"] == asked[-1] != "MPICH 97.1", (proof, asked)
