"""Totals over the JUnit files of one `make check`, and what could not be verified."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MARK = "NOT VERIFIED"


@dataclass
class Totals:
    """Counts over all suites, and (test, line) for everything marked NOT VERIFIED."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
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


def add_file(totals: Totals, path: Path) -> None:
    """Add one JUnit file, whichever of ctest and pytest wrote it."""
    for case in ET.parse(path).getroot().iter("testcase"):
        # ctest: a disabled or skipped test has status="disabled|notrun" and <skipped>.
        if case.find("failure") is not None or case.find("error") is not None:
            totals.failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            totals.skipped += 1
        else:
            totals.passed += 1
        name = f"{path.stem}: {case.get('name')}"
        totals.unverified += [(name, line) for line in marked_lines(case)]


def main(folder: Path) -> int:
    """Print the totals of `folder`; 1 where a test failed or nothing ran."""
    totals = Totals()
    for path in sorted(folder.glob("*.xml")):
        try:
            add_file(totals, path)
        except ET.ParseError as error:
            print(f"  {path}: {error}")
            totals.failed += 1
    print(f"  {len(totals.unverified)} NOT VERIFIED")
    for name, line in totals.unverified:
        print(f"    {name}: {line}")
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 0 if totals.failed == 0 and totals.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
