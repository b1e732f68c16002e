"""`iotune advise`: its text, its JSON and its page; what it says of other tools' logs."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import iotune
from iotune.findings import findings_of
from iotune.findings.page import page, section
from iotune.findings.rules import RULES
from iotune.findings.words import WORDS
from iotune.schemas import schema
from support.installed.import_logs import LOGS, imported, typed
from support.repository import ROOT

PACKAGE = ROOT / "python" / "iotune" / "findings"
SCHEMA = schema("advise")
WIDTH = 80
HEAD = "layer,rank,call,file,offset,length,start,duration\n"


def rows(rank: int, call: str, sizes: list[tuple[int, int]], seconds: float) -> str:
    return "".join(
        f"posix,{rank},{call},/data/shared.bin,{at},{size},{k * seconds:.6f},{seconds:.6f}\n"
        for k, (at, size) in enumerate(sizes)
    )


@pytest.fixture
def slow(tmp_path: Path) -> iotune.Trace:
    """Four ranks that write as much, of which rank 2 takes 40 times as long; small reads."""
    mib = 1 << 20
    text = HEAD
    for rank in range(4):
        places = [((rank * 16 + k) * mib, mib) for k in range(16)]
        text += rows(rank, "pwrite", places, 0.2 if rank == 2 else 0.005)
    text += rows(0, "pread", [(64 * k, 64) for k in range(1000)], 0.0001)
    log = tmp_path / "slow.csv"
    log.write_text(text)
    return imported(log, tmp_path)[0]


def test_a_rank_that_takes_longer_than_all_others_is_found(slow: iotune.Trace) -> None:
    found = {one.id: one for one in findings_of(slow).findings}
    assert found["imbalance"].severity == "high"
    assert found["imbalance"].evidence[0].ranks == (2,)
    assert "rank 2 spends 3.2 s" in found["imbalance"].summary
    assert found["small-reads"].severity == "low"
    assert found["small-reads"].evidence[0].calls == 1000


def test_the_json_is_as_its_schema_says(slow: iotune.Trace, tmp_path: Path) -> None:
    said = json.loads(typed(tmp_path, "advise", str(slow.path), "--json").stdout)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(said, SCHEMA)
    assert [one["id"] for one in said["findings"]] == ["imbalance", "small-reads"]
    assert said["checked"] == [one.id for one in RULES]
    # The schema can refuse.
    for wrong in ({**said, "more": 1}, {**said, "ranks": "4"}, {"trace": "a"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)
    said["findings"][0]["severity"] = "grave"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(said, SCHEMA)


def test_the_text_fits_80_columns_and_names_the_next_command(
    slow: iotune.Trace, tmp_path: Path
) -> None:
    done = typed(tmp_path, "advise", str(slow.path))
    lines = done.stdout.splitlines()
    assert lines[0].endswith("2 findings (1 high, 1 low)")
    assert "HIGH  imbalance: some ranks move much more than others" in lines
    assert [line for line in lines if len(line) > WIDTH] == []
    assert "iotune: next: iotune advise --explain imbalance" in done.stderr


def test_a_log_without_a_fault_has_no_finding(tmp_path: Path) -> None:
    log = tmp_path / "clean.csv"
    log.write_text(HEAD + rows(0, "pwrite", [(k << 20, 1 << 20) for k in range(64)], 0.001))
    trace, _ = imported(log, tmp_path)
    done = typed(tmp_path, "advise", str(trace.path))
    assert done.stdout.endswith(": no finding\n")
    assert "iotune: next: iotune show" in done.stderr
    assert json.loads(typed(tmp_path, "advise", str(trace.path), "--json").stdout)["findings"] == []


def test_other_tools_logs_are_read(tmp_path: Path) -> None:
    for number, log in enumerate((LOGS / "accesses.csv", LOGS / "fuse-tracer.log")):
        folder = tmp_path / str(number)
        folder.mkdir()
        jsonschema.validate(
            json.loads(
                typed(folder, "advise", str(imported(log, folder)[0].path), "--json").stdout
            ),
            SCHEMA,
        )


def test_the_page_is_what_is_looked_for() -> None:
    """`python -m iotune.findings.page > docs/findings.md` makes it so."""
    assert (ROOT / "docs" / "findings.md").read_text() == page()
    assert [one.id for one in RULES] == list(dict.fromkeys(one.id for one in RULES))
    assert sorted(WORDS) == sorted(one.id for one in RULES)


def test_explain_prints_its_part_of_the_page(tmp_path: Path) -> None:
    for one in (RULES[0], RULES[-1]):
        assert typed(tmp_path, "advise", "--explain", one.id).stdout == section(one)
    assert typed(tmp_path, "advise", "--explain", "all").stdout == page()
    unknown = typed(tmp_path, "advise", "--explain", "slow", status=1).stderr
    assert "there is no finding 'slow'; there are: small-writes, small-reads," in unknown
    assert "Usage" in typed(tmp_path, "advise", "a.iotrace", "--explain", "all", status=2).stderr


def test_snippets_fit_into_the_text() -> None:
    """Indented by six."""
    for rule in RULES:
        for snippet in rule.snippets_for():
            wide = [line for line in snippet.code.splitlines() if len(line) > WIDTH - 6]
            assert wide == [], rule.id


def test_every_finding_has_a_program() -> None:
    """A rule is not done before a test records a program that it finds."""
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_findings_*.py"))
    assert [one.id for one in RULES if f'"{one.id}"' not in text] == []
