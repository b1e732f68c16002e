"""An open that fails with our settings is made again as the program asked for it.

The program, its error handlers and its files notice nothing; the refused setting is reported with
the library's own words, and the others hold.
"""

from __future__ import annotations

from pathlib import Path

from support.place import Place, main
from support.settings import VERDICTS, write_config

Reported = dict[tuple[str, str], tuple[str, str]]


def run(place: Place, name: str, *words: object, **how: object) -> tuple[dict[str, str], Path]:
    folder = place.scratch / name
    folder.mkdir()
    done = place.right(place.mpi(2, place.bin / "new_files", folder, *words, **how))
    assert not done.said(), done.said()
    return dict(line.split() for line in done.out.decode().splitlines()), folder


def reported(place: Place) -> Reported:
    """Of each file and setting: verdict and reason, of the first open."""
    found: Reported = {}
    for call in place.calls():
        if call["name"] == "iotune_setting":
            path, parameter, _, _, reason = call["texts"]
            verdict = VERDICTS[call["numbers"][0]]
            found.setdefault((Path(path).name, parameter), (verdict, reason))
    return found


def same_files(one: Path, other: Path) -> None:
    assert sorted(p.name for p in one.iterdir()) == sorted(p.name for p in other.iterdir())
    assert (one / "raw").read_bytes() == (other / "raw").read_bytes()
    values = b"".join((3 * i).to_bytes(4, "little") for i in range(64))
    for path in other.glob("*.h5"):
        assert values in path.read_bytes(), path


def user_block(place: Place) -> None:
    """HDF5 refuses an alignment beside a smaller user block, after it has made the file."""
    bare, files = run(place, "bare", 512, preload=False)
    text = write_config(
        place.scratch / "c.xml", alignment="1,65536", sieve_buf_size=131072, cb_buffer_size=1048576
    )
    tuned, tuned_files = run(place, "tuned", 512, IOTUNE_CONFIG=text)
    assert tuned == bare, (bare, tuned)
    assert bare["all"].startswith("ok,handler=0") and bare["there"].startswith("failed,handler=1")
    same_files(files, tuned_files)
    for name in ("all.h5", "each0.h5"):
        verdict, reason = reported(place)[name, "alignment"]
        assert verdict == "refused" and "the call failed with it: userblock size" in reason, reason
        assert reported(place)[name, "sieve_buf_size"] == ("applied", ""), reported(place)
    assert reported(place)["all.h5", "cb_buffer_size"] == ("applied", ""), reported(place)


def missing(place: Place) -> None:
    """A file that is not there is the fault of no setting."""
    text = write_config(place.scratch / "c.xml", cb_buffer_size=1048576, romio_cb_write="enable")
    tuned, _ = run(place, "tuned", IOTUNE_CONFIG=text)
    assert tuned["absent"] == "failed"
    for parameter in ("cb_buffer_size", "romio_cb_write"):
        verdict, reason = reported(place)["absent", parameter]
        assert (verdict, reason) == ("refused", "the program's call failed"), reason


def not_recorded(place: Place) -> None:
    """Where opens are not recorded nobody knows who made a file: nothing is put into the call."""
    bare, files = run(place, "bare", 512, preload=False)
    text = write_config(place.scratch / "c.xml", alignment="1,65536", cb_buffer_size=1048576)
    tuned, tuned_files = run(place, "tuned", 512, IOTUNE_CONFIG=text, IOTUNE_EXCLUDE="*/tuned/*")
    assert tuned == bare, (bare, tuned)
    same_files(files, tuned_files)


def one_rank(place: Place) -> None:
    """A call that one rank alone fails is made again by all; the others close what they have."""
    bare, files = run(place, "bare", preload=False)
    text = place.scratch / "c.xml"
    text.write_text(
        "<Parameters><Middleware_Layer><alignment>1,65536</alignment>"
        "<sieve_buf_size>131072</sieve_buf_size>"
        '<cb_buffer_size FileName="raw">1048576</cb_buffer_size></Middleware_Layer></Parameters>'
    )
    both = [place.library, place.build / "lib" / "librefusing_opens.so"]
    tuned, tuned_files = run(place, "tuned", IOTUNE_CONFIG=text, preload=both)
    assert tuned == bare, (bare, tuned)
    same_files(files, tuned_files)
    for name, parameter in (("raw", "cb_buffer_size"), ("all.h5", "alignment")):
        verdict, reason = reported(place)[name, parameter]
        assert verdict == "refused" and "the call failed with it" in reason, reason
    assert reported(place)["all.h5", "sieve_buf_size"] == ("applied", ""), reported(place)


if __name__ == "__main__":
    main(
        {
            "user-block": user_block,
            "not-recorded": not_recorded,
            "one-rank": one_rank,
            "missing": missing,
        }
    )
