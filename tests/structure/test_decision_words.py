"""The words for decisions stand in one table; what cannot include it repeats it here."""

from __future__ import annotations

import json
import re

from iotune.reports.applied_log import OUTCOMES
from support.repository import ROOT
from support.settings import VERDICTS


def words(kind: str) -> tuple[str, ...]:
    """The words of a list of the table, in its order."""
    table = (ROOT / "core" / "words" / "decision_words.inc").read_text()
    return tuple(re.findall(rf'^IOTUNE_{kind}\(.*"([^"]*)"\)', table, re.MULTILINE))


def test_the_schema_knows_all_states() -> None:
    for name in ("schema.sql", "schema_v3.sql"):
        text = (ROOT / "patterndb" / "schema" / name).read_text()
        for said in re.findall(r"CHECK \(state IN \(([^)]*)\)", text):
            assert tuple(re.findall(r"'([^']*)'", said)) == words("STATE"), name
    assert "CHECK (state IN" in (ROOT / "patterndb" / "schema" / "schema.sql").read_text()


def test_python_knows_all_verdicts() -> None:
    # Of the last one, which counts datasets that are left out, the log of applied settings says
    # nothing.
    assert words("VERDICT") == VERDICTS
    assert words("VERDICT")[:-1] == OUTCOMES
    schema = json.loads((ROOT / "python/iotune/schemas/db-applied.schema.json").read_text())
    assert json.dumps(list(OUTCOMES)) in json.dumps(schema)
