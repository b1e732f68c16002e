"""What `iotune doctor` prints: its text, its JSON, its exit status, its page."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import jsonschema
import pytest

from iotune.doctor.catalogue import GROUPS, KINDS
from iotune.doctor.check import FAILS, PARTLY, UNKNOWN, VERDICTS, WORKS, Check, worst_of
from iotune.doctor.page import page
from support.installed.doctors import Patient
from support.repository import ROOT

pytestmark = pytest.mark.mpi

SCHEMA = json.loads((ROOT / "python" / "iotune" / "schemas" / "doctor.schema.json").read_text())
PAGE = ROOT / "docs" / "howto" / "when-nothing-happens.md"
WIDTH = 80


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def test_the_json_is_as_its_schema_says(patient: Patient) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for words in ((), ("--on", "."), ("--", "/bin/sh", "-c", "exit"), ("--", "./nowhere")):
        said = json.loads(patient.typed("--json", *words).stdout)
        jsonschema.validate(said, SCHEMA)
        ids = [one["id"] for one in said["checks"]]
        assert set(ids) <= {one.id for one in KINDS}
        grave = [VERDICTS.index(one["verdict"]) for one in said["checks"]]
        assert said["worst"] == VERDICTS[min(grave)]
        assert all(one["todo"] or one["verdict"] == WORKS for one in said["checks"])
        groups = [GROUPS.index(one["group"]) for one in said["checks"]]
        assert groups == sorted(groups)
    # The schema can refuse.
    bad: list[dict] = [{**said, "more": 1}, {**said, "worst": "bad"}, {"checks": []}]
    for wrong in bad:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)
    said["checks"][0]["verdict"] = "fine"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(said, SCHEMA)


def test_the_text_fits_80_columns(patient: Patient) -> None:
    done = patient.typed("--on", "/dev/shm", "--", "mpirun", "-n", "2", "/bin/cat", "x")
    lines = done.stdout.splitlines()
    # A path is never broken, and stands by itself.
    wide = [line for line in lines if len(line) > WIDTH]
    assert all(len(line.split()) == 1 for line in wide), wide
    assert "The program" in lines and "The directory" in lines
    [linkage] = [line for line in lines if line.startswith("  linkage ")]
    assert linkage.split()[1] == "works"
    assert re.match(r"\d+ checks: \d+ work", lines[-1])
    assert "iotune: next: iotune run -- mpirun -n 2 /bin/cat x" in done.stderr


def test_what_to_do_stands_below_what_does_not_work(patient: Patient) -> None:
    done = patient.typed("--", "./nowhere")
    assert done.returncode == 1
    [at] = [n for n, line in enumerate(done.stdout.splitlines()) if line.startswith("  program ")]
    below = "\n".join(done.stdout.splitlines()[at:])
    assert "does not work  No such file or directory" in below
    assert re.search(r"^ +do: name it by its path", below, re.MULTILINE)
    assert "1 does not work" in done.stdout.splitlines()[-1]


def test_exit_status(patient: Patient) -> None:
    assert patient.typed("--", "/bin/cat").returncode == 0
    assert patient.typed("--", "./nowhere").returncode == 1
    for words in (("--no-such-option",), ("--on", "./nowhere"), ("--on",), ("--bundle", "a.zip")):
        done = patient.typed(*words)
        assert done.returncode == 2 and "Error" in done.stderr, words


def test_a_program_s_options_are_its_own(patient: Patient) -> None:
    done = patient.typed("--json", "--", "/bin/cat", "--json", "--on", "/nowhere")
    assert done.returncode == 0
    said = json.loads(done.stdout)
    assert said["command"] == ["/bin/cat", "--json", "--on", "/nowhere"]
    assert said["directory"] is None


def test_no_name_of_a_file_gives_orders_to_a_terminal(patient: Patient) -> None:
    program = patient.work / "a\x1b[2Jb"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert "\x1b" not in patient.typed("--", program).stdout


def test_a_program_is_never_run(patient: Patient) -> None:
    program = patient.work / "program"
    program.write_text(f"#!{sys.executable}\nimport h5py\nopen('{patient.work}/ran', 'w')\n")
    program.chmod(0o755)
    (patient.work / "h5py.py").write_text(f"open('{patient.work}/imported', 'w')\n")
    patient.typed("--on", ".", "--", "mpirun", "-n", "1", program)
    assert sorted(path.name for path in patient.work.iterdir()) == ["h5py.py", "program"]


def test_the_page_has_every_check() -> None:
    """`python -m iotune.doctor.page > docs/howto/when-nothing-happens.md` makes it so."""
    assert PAGE.read_text() == page()
    ids = [one.id for one in KINDS]
    assert ids == list(dict.fromkeys(ids))
    assert re.findall(r"^### (\S+)$", page(), re.MULTILINE) == ids


def test_a_check_says_what_to_do() -> None:
    for verdict in VERDICTS:
        assert Check("library", verdict, "seen", "do").verdict == verdict
    for wrong in (("library", FAILS, "seen", ""), ("library", "bad", "seen", "do"),
                  ("no-check", WORKS, "seen", "")):  # fmt: skip
        with pytest.raises(AssertionError):
            Check(*wrong)
    assert Check("library", WORKS, "two\nlines").evidence == "two lines"
    assert worst_of([]) == WORKS
    assert worst_of([Check("library", UNKNOWN, "a", "b"), Check("library", PARTLY, "a", "b")]) == (
        PARTLY
    )


def test_each_check_has_a_case_that_shows_it_and_one_that_does_not() -> None:
    """By the tests' own sources: what they demand by says()."""
    seen: dict[str, set[str]] = {}
    for path in Path(__file__).parent.glob("test_doctor_*.py"):
        text = path.read_text()
        for name in (one.id for one in KINDS):
            of_it = re.findall(rf'"{name}",\s*(WORKS|FAILS|PARTLY|UNKNOWN|verdict)', text)
            seen.setdefault(name, set()).update(of_it)
            if "verdict" in of_it:
                seen[name] |= {WORKS.upper(), "FAILS"}
            if re.search(rf'for wanted in \([^)]*"{name}"', text):
                seen[name].add("WORKS")
    both = {name for name, verdicts in seen.items() if "WORKS" in verdicts and len(verdicts) > 1}
    assert sorted({one.id for one in KINDS} - both) == []
