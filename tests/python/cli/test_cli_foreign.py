"""The whole loop on programs that nobody here wrote: HDF5's own example and parallel test."""

from __future__ import annotations

import pytest

from support.installed.user_home import Home
from support.repository import KERNELS

EXAMPLE, TEST = "foreign_ph5example", "foreign_testphdf5"


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def needs(program: str) -> None:
    if not (KERNELS / program).exists():
        pytest.skip(f"NOT VERIFIED: {program} is not built (tools/setup.sh companions)")


@pytest.mark.parametrize(
    ("program", "options", "file"),
    [
        (EXAMPLE, ("-c", "-r"), "ParaEg1.h5"),
        (TEST, ("-o", "ecdsetw", "-d", "128", "256"), "ParaTest.h5"),
    ],
)
def test_a_foreign_program_goes_through_the_loop(
    home: Home, program: str, options: tuple[str, ...], file: str
) -> None:
    needs(program)
    home.environment["HDF5_NOCLEANUP"] = "1"

    def explained() -> dict:
        home.run(program, *options)
        (one,) = [f for f in home.asked("explain")["files"] if f["path"].endswith(file)]
        return one

    # given a first run, of which nothing is known
    first = explained()
    assert first["recognised"].startswith("<2D,(BLOCK,*),("), first
    # ("series": its files are one, and the second tries a candidate)
    assert first["source"] in (None, "unknown", "series"), first
    assert first["source"] == "series" or first["settings"] == [], first
    # when
    outcomes = home.asked("train", "--rounds", "3", "--candidates", "cb_buffer_size=1048576")
    # then it is measured, and the next run gets what was found
    # (written and read by the same descriptor: what the file begins with comes first)
    outcome, *_ = [o for o in outcomes if o["descriptor"] == first["recognised"]
                  and all(c["effect"] == "applied" for c in o["candidates"])]  # fmt: skip
    assert outcome["state"] in ("tuned", "default-is-best"), outcome
    second = explained()
    assert (second["source"], second["state"]) == ("exact", outcome["state"]), second
    got = {one["parameter"]: (one["got"], one["verdict"]) for one in second["settings"]}
    assert got == {name: (value, "applied") for name, value in outcome["settings"].items()}, second


def test_a_foreign_program_gets_what_was_added_by_hand(home: Home) -> None:
    needs(EXAMPLE)

    def explained() -> dict:
        home.run(EXAMPLE, "-c", "-r")
        (one,) = [f for f in home.asked("explain")["files"] if f["path"].endswith("ParaEg1.h5")]
        return one

    # given
    first = explained()
    assert first["recognised"] == "<2D,(BLOCK,*),(12,24)>", first
    known = home.asked("db", "list")["patterns"]
    # when
    for pattern in [p for p in known if p["descriptor"] == first["recognised"]]:
        home.type("db", "add", str(pattern["id"]), "cb_buffer_size=65536;romio_cb_write=disable")
    # then
    second = explained()
    assert second["source"] == "exact" and second["state"] == "tuned", second
    assert {one["parameter"]: (one["got"], one["verdict"]) for one in second["settings"]} == {
        "cb_buffer_size": ("65536", "applied"),
        "romio_cb_write": ("disable", "applied"),
    }, second
