"""docs/settings.md has the parameters that the library has."""

from __future__ import annotations

from iotune import core
from iotune.database.settings_page import page
from support.repository import ROOT


def test_the_page_is_current():
    """`python -m iotune.database.settings_page > docs/settings.md` makes it so."""
    assert (ROOT / "docs" / "settings.md").read_text() == page()


def test_every_parameter_has_one_row():
    rows = [line.split(" | ")[0][2:] for line in page().splitlines() if line.startswith("| ")]
    names = [name for name in rows if name not in ("name", "---")]
    assert names == [one["name"] for one in core.parameters()]


def test_ranges_are_said_with_their_units():
    text = page()
    assert "| striping_unit | 64 KiB to 2097088 KiB, a multiple of 64 KiB |" in text
    assert "| romio_cb_ds_threshold | 0 to 100 percent |" in text
