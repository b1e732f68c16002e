"""Logs in other forms: strace, dftracer, tables without a head line, block traces, gzip."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

import iotune
from iotune.importing import import_log
from iotune.importing.lines import whole
from iotune.traces import log_totals
from support.installed.darshan_texts import darshan_text, dxt_text
from support.installed.import_logs import LOGS, imported, rows, typed

STRACE = (LOGS / "run.strace").read_text()
EVENTS = (LOGS / "events.pfw").read_text()


def written(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_strace_is_followed_as_the_kernel_keeps_positions(tmp_path: Path) -> None:
    trace, done = imported(written(tmp_path, "log", STRACE), tmp_path)
    assert done.format == "strace" and trace.summary.program == "/bin/app"
    found = [row[:5] for row in rows(trace, "pread", "pwrite")]
    name = '/d/a"b'
    assert found == [
        (0, "pwrite", name, 0, 4096),
        (1, "pwrite", name, 4096, 100),
        (0, "pread", name, 1024, 512),
        (1, "pwrite", name, 8192, 10),
        (0, "pwrite", "/d/log", 0, 3),
        (0, "pwrite", "/d/log", 3, 3),
    ]
    assert [row[5:] for row in rows(trace, "pwrite")][1] == (300_000_000, 20_000)
    assert done.notes == ["1 record(s) left out: write, of what was not opened (1)"]


def test_strace_with_names_of_descriptors(tmp_path: Path) -> None:
    text = (
        '1700000000.1 openat(AT_FDCWD</home>, "x", O_RDONLY) = 3</home/x> <0.000010>\n'
        '1700000000.2 read(3</home/x>, "a", 9) = 9 <0.000010>\n'
        '1700000000.3 write(1</dev/pts/0<char 136:0>>, "a", 9) = 9 <0.000010>\n'
        '1700000000.4 read(5<socket:[77]>, "a", 9) = 9 <0.000010>\n'
        '1700000000.5 pread64(7</old>, "a", 9, 90) = 9 <0.000010>\n'
    ).replace("00.", "00.00000")
    trace, _ = imported(written(tmp_path, "log", text), tmp_path)
    assert [row[2:5] for row in rows(trace, "pread", "pwrite")] == [
        ("/home/x", 0, 9), ("/old", 90, 9),
    ]  # fmt: skip


def test_strace_with_what_is_no_octal_number(tmp_path: Path) -> None:
    text = (
        '1700000000.000001 openat(AT_FDCWD, "/d/\\9\\101", O_RDWR) = 3 <0.000010>\n'
        '1700000000.000002 pwrite64(3, "x", 9, 0) = 9 <0.000010>\n'
    )
    trace, _ = imported(written(tmp_path, "log", text), tmp_path)
    assert [row[2] for row in rows(trace, "pwrite")] == ["/d/9A"]
    wrong = written(tmp_path, "wrong", text.replace("= 9 ", "= 09 "))
    with pytest.raises(iotune.Error, match="wrong:2: the result '09' is no number"):
        import_log(wrong, tmp_path / "wrong.iotrace")


def test_dftracer_is_read_packed_or_not(tmp_path: Path) -> None:
    packed = tmp_path / "t.pfw.gz"
    half = len(EVENTS) // 2  # dftracer packs in blocks
    packed.write_bytes(
        gzip.compress(EVENTS[:half].encode()) + gzip.compress(EVENTS[half:].encode())
    )
    trace, done = imported(packed, tmp_path)
    assert done.format == "dftracer"
    assert [row[:5] for row in rows(trace, "pread", "pwrite")] == [
        (0, "pwrite", "/d/x", 0, 4096),
        (0, "pread", "/d/x", 100, 50),
        (1, "pread", "/d/x", 9, 7),
    ]


def test_columns_name_those_of_a_table_without_a_head(tmp_path: Path) -> None:
    log = written(tmp_path, "bare.csv", "0\t/f\twrite\t0\t1e+03\tx\n1\t/f\twrite\t1000\t1000\ty\n")
    done = typed(tmp_path, "import", "bare.csv", "--columns", "rank,file,op,offset,length,-")
    assert "2 ranks" in done.stderr
    trace = iotune.open_trace(tmp_path / "bare.csv.iotrace")
    assert [row[:5] for row in rows(trace, "pwrite")] == [
        (0, "pwrite", "/f", 0, 1000), (1, "pwrite", "/f", 1000, 1000),
    ]  # fmt: skip
    for columns, fault in (
        ("rank,file,op,offset", "6 columns, and --columns names 4"),
        ("a,file,op,offset,b,c", "no column 'length'"),
        ("rank,file,op,length,offset,-", ""),
    ):
        if fault:
            with pytest.raises(iotune.Error, match=fault):
                import_log(log, tmp_path / "bad", columns=columns)
    with pytest.raises(iotune.Error, match="the format is fuse"):
        import_log(log, tmp_path / "bad", format="fuse", columns="rank")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("  8,0    1        1     0.000000000   697  G   W 223490 + 8 [kjournald]", "blkparse"),
        ("128166372003061629,hm,1,Read,383496192,32768,413", "MSR"),
        ("\x07tae", "blktrace"),
    ],
)
def test_block_traces_are_named_as_what_they_are(line: str, what: str, tmp_path: Path) -> None:
    log = written(tmp_path, "log", line + "\n")
    with pytest.raises(iotune.Error, match=rf"a block trace.*{what}.*no files"):
        import_log(log, tmp_path / "made")


def test_logs_of_darshan_2_are_named(tmp_path: Path) -> None:
    log = tmp_path / "old.gz"
    log.write_bytes(gzip.compress(b"2.05" + bytes(2000)))
    with pytest.raises(iotune.Error, match="a log of Darshan 2"):
        import_log(log, tmp_path / "made")
    text = written(tmp_path, "old.txt", "0\t123\tCP_POSIX_READS\t7\t...abc\t/\text3\n")
    with pytest.raises(iotune.Error, match="the text of a log of Darshan 2"):
        import_log(text, tmp_path / "made")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (b"1e+05", 100_000),
        (b"1.048576E6", 1 << 20),
        (b"40960e-1", 4096),
        (b"4096.00", 4096),
        (b"0e9", 0),
        (b"-5", None),
        (b"1.5", None),
        (b"15e-1", None),
        (b"1e30", None),
        (b"e5", None),
    ],
)
def test_numbers_as_r_and_spreadsheets_write_them(word: bytes, value: int | None) -> None:
    if value is None:
        with pytest.raises(ValueError):
            whole(word, "the length")
    else:
        assert whole(word, "the length") == value


def test_a_wrong_guess_names_what_was_expected(tmp_path: Path) -> None:
    log = written(tmp_path, "log", STRACE + "7 17:00:01 nothing\n")
    with pytest.raises(iotune.Error) as caught:
        import_log(log, tmp_path / "made")
    said = str(caught.value)
    assert said.startswith(f"{log}:20: ") and "strace -f -ttt -T writes" in said
    assert said.endswith("(the output of strace by its content: --format says other)")


def test_damaged_gzip_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log.gz"
    whole_log = gzip.compress((LOGS / "accesses.csv").read_bytes())
    for content in (whole_log[:40], whole_log[:-6], whole_log[:30] + b"??" + whole_log[32:]):
        log.write_bytes(content)
        with pytest.raises(iotune.Error, match="gzip") as caught:
            import_log(log, tmp_path / "made")
        assert "\n" not in str(caught.value)


FUZZED = {
    "strace": STRACE,
    "dftracer": EVENTS,
    "darshan-text": darshan_text(
        [("POSIX", 0, "/x", {"WRITES": 1, "BYTES_WRITTEN": 5, "F_WRITE_TIME": 1.5})]
    )
    + dxt_text("/x", [("POSIX", 0, "write", 0, 5, 1.0, 2.0), ("MPIIO", 1, "read", 0, 5, 1.0, 2.0)]),
}


@pytest.mark.parametrize("form", FUZZED)
def test_damaged_text_is_an_error_or_a_trace(form: str, tmp_path: Path) -> None:
    draw = random.Random(57)
    log, target = tmp_path / "log", tmp_path / "made"
    text = FUZZED[form].encode()
    words = (b"", b"-1", b"9" * 30, b"\xff", b'"', b"{", b"<", b"\t", b"nan", b"\n", b"1e99")
    for _ in range(150):
        damaged = bytearray(text)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(damaged))
            damaged[at : at + draw.randint(0, 9)] = draw.choice(words)
        log.write_bytes(damaged)
        target.unlink(missing_ok=True)
        try:
            import_log(log, target, format=form)
        except iotune.Error as problem:
            assert str(problem).startswith(str(log)) and "\n" not in str(problem)
            continue
        json.dumps(iotune.open_trace(target).raw_summary)


@pytest.mark.parametrize(
    ("layer", "ranks", "said"),
    [
        (
            "posix",
            2,
            "or, where MPI-IO was collective, written by 2 aggregators, as <1D,(*),(16384)>",
        ),
        ("mpiio", 2, ""),
        ("posix", 1, ""),
    ],
)
def test_a_log_of_posix_alone_says_that_ranks_may_be_aggregators(
    layer: str, ranks: int, said: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.csv"
    rows = [
        f"{rank},/scratch/a.bin,write,{8192 * rank},8192,{rank}.5,{rank}.6,{layer}"
        for rank in range(ranks)
    ]
    log.write_text("\n".join(["rank,file,op,offset,length,start,end,layer", *rows, ""]))
    trace, _ = imported(log, tmp_path)
    [one] = trace.raw_summary["files"][0]["datasets"]
    assert (said in one["ambiguity"]) if said else ("aggregator" not in one["ambiguity"])


@pytest.mark.parametrize("collective", [False, True])
def test_aggregators_of_what_is_no_array_have_no_name(collective: bool, tmp_path: Path) -> None:
    """Of scattered bytes, and of rows that lie apart, nobody can say one array."""
    draw = random.Random(4)
    places = sorted(draw.sample(range(5000), 80))
    rows = [f"{at % 2},/f,write,{8192 * place},4096,{at}.0,{at}.5"
            for at, place in enumerate(places)]  # fmt: skip
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["rank,file,op,offset,length,start,end", *rows, ""]))
    trace, _ = imported(log, tmp_path)
    found = 0
    for one in trace.raw_summary["files"][0]["datasets"]:
        if collective:
            totals = {"layers": [{"layer": "mpiio", "calls": {"collective write": 4}}]}
            log_totals._name_aggregators({"datasets": [one]}, totals)
        if "IRREGULAR" in one["descriptor"]["text"] or ", every " in one["dataset"]:
            assert "written by 2 aggregators" in one["ambiguity"]
            assert "aggregators, as" not in one["ambiguity"]
            found += 1
    assert found
