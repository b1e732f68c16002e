"""Totals over the JUnit files of one `make check`, and what could not be verified.

Usage: check_summary.py FOLDER [--all-but FILE]

With --all-but, as `make soak` has it, everything has to be verified: a NOT VERIFIED line is an
error, unless a line of FILE accepts it. Such a line is a pattern of the shell for "SUITE: TEST:
NOT VERIFIED …"; comments begin with # and say why no machine can verify it.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MARK = "NOT VERIFIED"


@dataclass
class Totals:
    """Counts over all suites, the failed tests with a line of why, and (test, line) for
    everything marked NOT VERIFIED.
    """

    passed: int = 0
    skipped: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    unverified: list[tuple[str, str]] = field(default_factory=list)


def marked_lines(case: ET.Element) -> Iterator[str]:
    """Yield the marked lines of one test, each once.

    They stand in what the test printed, or in the reason why it was skipped.
    """
    texts = [case.findtext("system-out") or "", case.findtext("system-err") or ""]
    texts += [skip.get("message") or "" for skip in case.iter("skipped")]
    seen = set()
    for line in "\n".join(texts).splitlines():
        if MARK in line:
            # The reason alone: a skip message repeats it behind another prefix.
            reason = line[line.index(MARK) :].strip()
            if reason not in seen:
                seen.add(reason)
                yield reason


def reason_of_failure(case: ET.Element) -> str:
    """One line of why a test failed, from pytest's message or the last line ctest saw."""
    trouble = case.find("failure")
    if trouble is None:
        trouble = case.find("error")
    reported = "" if trouble is None else trouble.get("message") or trouble.text or ""
    if not reported.strip():
        reported = (case.findtext("system-out") or "").strip().rpartition("\n")[2]
    # A line alone, and no more of it than a terminal shows in two.
    return (reported.strip().splitlines() or ["no reason was given"])[0][:160]


def add_file(totals: Totals, path: Path) -> None:
    """Add one JUnit file, whichever of ctest and pytest wrote it."""
    for case in ET.parse(path).getroot().iter("testcase"):
        # ctest: a disabled or skipped test has status="disabled|notrun" and <skipped>.
        if case.find("failure") is not None or case.find("error") is not None:
            name = f"{path.stem}: {case.get('classname')}: {case.get('name')}"
            totals.failed.append((name, reason_of_failure(case)))
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            totals.skipped += 1
        else:
            totals.passed += 1
        name = f"{path.stem}: {case.get('name')}"
        totals.unverified += [(name, line) for line in marked_lines(case)]


def add_log(totals: Totals, path: Path) -> None:
    """Add the marked lines of a step that wrote no JUnit file."""
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith(MARK):
            totals.unverified.append((path.stem, line.strip()))


def accepted_patterns(path: Path) -> list[str]:
    """What FILE accepts."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def summarize(folder: Path, accepted: list[str] | None) -> int:
    """Print the totals of `folder`; 1 where a test failed, nothing ran, or something that has to
    be verified was not. `accepted`: what need not be; None: nothing need be.
    """
    totals = Totals()
    for path in sorted(folder.glob("*.xml")):
        try:
            add_file(totals, path)
        except ET.ParseError as error:
            totals.failed.append((str(path), f"cannot be read: {error}"))
    for path in sorted(folder.glob("*.log")):
        add_log(totals, path)
    print(f"  {len(totals.unverified)} NOT VERIFIED")
    errors = 0
    for name, line in totals.unverified:
        text = f"{name}: {line}"
        wrong = accepted is not None and not any(
            fnmatch.fnmatchcase(text, pattern) for pattern in accepted
        )
        errors += wrong
        print(f"    {'ERROR ' if wrong else ''}{text}")
    if totals.failed:
        print(f"  {len(totals.failed)} FAILED")
    for name, reason in totals.failed:
        print(f"    {name}: {reason}")
    if errors:
        print(f"  {errors} of them had to be verified here: install what is missing")
    print(f"{totals.passed} passed, {len(totals.failed)} failed, {totals.skipped} skipped")
    return 0 if not totals.failed and totals.passed > 0 and errors == 0 else 1


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Totals of one `make check` or `make soak`.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all-but", type=Path, help="what need not be verified; else nothing need")
    options = parser.parse_args()
    accepted = accepted_patterns(options.all_but) if options.all_but else None
    return summarize(options.folder, accepted)


if __name__ == "__main__":
    sys.exit(main())
