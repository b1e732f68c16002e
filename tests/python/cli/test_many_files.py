"""Runs of very many files: `iotune show` and `iotune explain` print a screen of blocks at most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iotune.importing import import_log
from iotune.reports.alike import MOST_BLOCKS, masked, screenful
from iotune.reports.show_run import print_run
from iotune.traces.summary import DatasetPattern, FilePattern, RunSummary
from iotune.traces.trace import open_trace

MANY = 2000


def written(path: str, size: int) -> FilePattern:
    dataset = DatasetPattern(
        "(bytes)", True, f"<1D,(*),({size})>", 1, calls=1, ranks=1, bytes=size, seconds=size * 1e-9,
        inferred=True, ambiguity="counts are bytes",
    )  # fmt: skip
    return FilePattern(path, masked(path), size, 0, size * 1e-9, datasets=[dataset], speaker=0)


def shown(capsys: pytest.CaptureFixture[str], files: list[FilePattern], **how: Any) -> list[str]:
    print_run(RunSummary(files=files, ranks=1, nodes=1), **how)
    return capsys.readouterr().out.splitlines()


def test_files_of_many_sizes_are_one_block_with_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    # given as many patterns as files
    files = [written(f"/d/run/part.{k:05}.bin", (k + 1) * 1024) for k in range(MANY)]
    # when
    lines = shown(capsys, files)
    # then
    (block,) = [line for line in lines if line.startswith("/d/run/part.#.bin ")]
    assert f"{MANY} files: " in block and "1.0 KiB to 2.0 MiB and " in block
    assert block.endswith("the largest one:")
    assert f"<1D,(*),({MANY * 1024})>" in "\n".join(lines)
    assert len(lines) < 12
    # and --all has each
    assert len([line for line in shown(capsys, files, everything=True) if "/part." in line]) == MANY


def test_names_that_differ_otherwise_are_joined_by_folder_and_ending() -> None:
    words = ["".join(chr(97 + k // 26**at % 26) for at in range(4)) for k in range(MANY)]
    files = [written(f"/d/{word}.json", 1024 + k) for k, word in enumerate(words)]
    files.append(written("/d/log.txt", 5))
    groups, left_out = screenful(files)
    assert [one.name for one in groups] == ["/d/*.json", "/d/log.txt"] and left_out == []
    assert (len(groups[0].files), groups[0].is_mixed) == (MANY, True)


def test_of_many_folders_the_largest_blocks_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"{chr(97 + k // 26)}{chr(97 + k % 26)}" for k in range(100)]
    files = [written(f"/d/{name}/out.dat", 1024 * (k + 1)) for k, name in enumerate(names)]
    groups, left_out = screenful(files)
    assert (len(groups), len(left_out)) == (MOST_BLOCKS, 100 - MOST_BLOCKS)
    assert min(one.bytes for group in groups for one in group.files) > max(
        one.bytes for one in left_out
    )
    said = "\n".join(shown(capsys, files))
    assert f"not shown: {100 - MOST_BLOCKS} smaller files, " in said


def test_few_files_are_shown_as_they_are() -> None:
    files = [written(f"/d/part.{k}.bin", 1024 * (k + 1)) for k in range(MOST_BLOCKS)]
    groups, left_out = screenful(files)
    assert [len(one.files) for one in groups] == [1] * MOST_BLOCKS and left_out == []


def test_of_a_file_of_many_datasets_the_largest_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = written("/d/a.h5", 0)
    file.datasets = [
        DatasetPattern(f"/x{k:04}", True, "<1D,(*),(8)>", bytes=8 * k, ranks=1) for k in range(500)
    ]
    file.bytes_written = sum(one.bytes for one in file.datasets)
    lines = shown(capsys, [file])
    assert len(lines) < 40 and any("476 smaller datasets" in line for line in lines)
    assert any("/x0499" in line for line in lines)
    assert len(shown(capsys, [file], wanted=["a.h5"])) > 500


def test_what_is_inferred_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    files = [written(f"/d/{name}", 4096) for name in ("one", "two", "three")]
    lines = shown(capsys, files)
    assert len([line for line in lines if "inferred" in line]) == 1


def test_a_folded_summary_prints_as_that_of_all_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # given three series, of one of which each file is of its own size, and two single files
    rows = ["rank,file,op,offset,length,start,end"]
    for at in range(120):
        for name, size in ((f"a{at}.bin", 4096), (f"b{at}.bin", 100 + at), (f"c{at % 9}.log", 10)):
            rows.append(f"0,/d/{name},write,0,{size},{at}.1,{at}.2")
    rows += ["0,/d/first.h5,write,0,64,0.1,0.2", "0,/d/second.h5,write,0,64,0.1,0.2"]
    log, trace = tmp_path / "log.csv", tmp_path / "run.iotrace"
    log.write_text("\n".join(rows) + "\n")
    import_log(log, trace)
    run = open_trace(trace)
    # when
    print_run(run.summary)
    whole = capsys.readouterr().out
    print_run(run.folded_summary)
    # then
    assert capsys.readouterr().out == whole
    assert len(run.folded_summary.files) < len(run.summary.files)
    assert "/d/a#.bin   120 files: " in whole and "/d/b#.bin   120 files: " in whole
