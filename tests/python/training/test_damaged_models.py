"""Models that are damaged, foreign or newer: one line that says what, where and what to do."""

from __future__ import annotations

import base64
import random
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn")
from iotune.models.cases import Case  # noqa: E402
from iotune.models.gains import store, stored_model  # noqa: E402
from iotune.models.options import Options  # noqa: E402
from iotune.models.survey import stored  # noqa: E402

from bench.training.made_surfaces import PLATFORM, made_surfaces  # noqa: E402
from iotune import Error, core  # noqa: E402
from iotune.cli.train_method import with_method  # noqa: E402


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a model."""
    path = tmp_path_factory.mktemp("kept") / "patterns.db"
    database = core.Database(path)
    for surface in made_surfaces(12, 1):
        stored.add_trials(database, surface.subject, surface.trials, surface.subject.name)
    store.fit_and_store(database, PLATFORM)
    return path


@pytest.fixture
def path(kept: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "patterns.db"
    copy.write_bytes(kept.read_bytes())
    copy.chmod(0o600)
    return copy


def change(path: Path, column: str, value: Any) -> None:
    with sqlite3.connect(path) as db:
        assert db.execute(f"UPDATE gain_models SET {column} = ?", (value,)).rowcount == 1
    db.close()


def payload_of(path: Path) -> bytes:
    with sqlite3.connect(path) as db:
        (found,) = db.execute("SELECT payload FROM gain_models").fetchone()
    db.close()
    return bytes(found)


def flipped(payload: bytes) -> bytes:
    return payload[:999] + bytes([payload[999] ^ 4]) + payload[1000:]


def of_a_newer_version(payload: bytes) -> bytes:
    """One with a feature more, and a checksum that is right."""
    (features,) = struct.unpack_from("=I", payload, 8)
    body = payload[:8] + struct.pack("=I", features + 1) + payload[12:-8]
    checksum = 14695981039346656037
    for byte in body:
        checksum = (checksum ^ byte) * 1099511628211 % 2**64
    return body + struct.pack("=Q", checksum)


# Column, and what stands there.
DAMAGE = {
    "a bit": ("payload", flipped),
    "its end": ("payload", lambda payload: payload[:-100]),
    "all": ("payload", lambda payload: b""),
    "text": ("payload", lambda payload: "hello"),
    "newer": ("payload", of_a_newer_version),
    "score is cut": ("score", lambda payload: '{"noise": 0.'),
    "score is a list": ("score", lambda payload: "[1]"),
    "score is a number": ("score", lambda payload: "7"),
    "no setting": ("candidates", lambda payload: "romio_cb_write=sometimes"),
    "no name": ("candidates", lambda payload: "=;=\nx"),
    "no text": ("candidates", lambda payload: b"\xff\xfe\x00romio_cb_write=disable"),
    "no time": ("made_at", lambda payload: "yesterday"),
    "no count": ("patterns", lambda payload: "many"),
    "negative": ("patterns", lambda payload: -5),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_model_is_named_or_does_no_harm(
    how: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    column, damaged = DAMAGE[how]
    change(path, column, damaged(payload_of(path)))
    before = path.read_bytes()
    database = core.Database(path, read_only=True)
    try:
        found = stored_model.newest_model([database], PLATFORM)
        assert found is not None
        # What does no harm to a prediction is what stands beside the model.
        assert column in ("made_at", "patterns"), how
    except Error as problem:
        message = str(problem)
        assert "\n" not in message and str(path) in message, message
        assert "iotune train --survey" in message, message
    # A training goes on without it, and says why.
    case = Case(1, {"descriptor": "<1D,BLOCK,8>"}, dict(PLATFORM))
    options = with_method(Options(), None, case, [database])
    said = capsys.readouterr().err
    if column not in ("made_at", "patterns"):
        assert options.method == "race" and said.count("\n") == 1 and str(path) in said, said
    assert path.read_bytes() == before


def predict(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "iotune", "predict", "<1D,BLOCK,500000>", "--ranks", "2", "--db",
         str(path), "--on", str(path.parent), *words],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("how", ["a bit", "newer", "score is cut", "no setting"])
def test_predict_says_it_in_one_line(how: str, path: Path) -> None:
    column, damaged = DAMAGE[how]
    with sqlite3.connect(path) as db:
        here = core.filesystem_of(path.parent)
        db.execute("UPDATE platforms SET filesystem = ?", (here,))
    db.close()
    right = predict(path)
    assert right.returncode == 0, right.stderr
    change(path, column, damaged(payload_of(path)))
    done = predict(path)
    assert done.returncode == 1 and not done.stdout, done.stderr
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr, done.stderr
    assert str(path) in done.stderr and "iotune train --survey" in done.stderr, done.stderr
    # The rest of the database is whole.
    assert len(core.Database(path).surfaces()) == 12


def test_a_model_of_another_platform_is_not_used(path: Path) -> None:
    with sqlite3.connect(path) as db:
        here = core.filesystem_of(path.parent)
        db.execute("UPDATE platforms SET filesystem = ?, mpi = 'MPICH 1.2'", (here,))
    db.close()
    done = predict(path, "--mpi", "MPICH 4.0.2")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "no model of" in done.stderr and "MPICH 1.2" in done.stderr, done.stderr


def test_an_archive_is_never_read_by_runs_and_predictions(path: Path) -> None:
    """A skops file serves other programs: what stands there can do nothing here."""
    for archive in ("no base64 !", base64.b64encode(b"PK\x03\x04 cut").decode(), ""):
        change(path, "archive", archive)
        found = stored_model.newest_model([core.Database(path, read_only=True)], PLATFORM)
        assert found is not None and found.patterns == 12


def test_bits_that_flip_anywhere_in_the_file_are_an_error_or_nothing(path: Path) -> None:
    whole = path.read_bytes()
    draw = random.Random(7)
    reported = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(draw.choice((1, 20))):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            database = core.Database(path, read_only=True)
            found = stored_model.newest_model([database], PLATFORM)
            stored.of_database(database, PLATFORM)
            if found is not None:
                assert found.model is not None
        except Error as problem:
            reported += 1
            assert "\n" not in str(problem), problem
    assert reported > 5
