"""Files that are one entry for people: a series, or the files of a run's processes."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from iotune.traces.summary import FilePattern

# Fewer are shown one by one.
FEWEST_FOLDED = 3
_DIGITS = re.compile(r"\d+")


@dataclass
class Alike:
    """Files that differ by the numbers in their paths alone, and in nothing that is said."""

    files: list[FilePattern]

    @property
    def is_folded(self) -> bool:
        """Whether they are one entry."""
        return len(self.files) >= FEWEST_FOLDED

    @property
    def name(self) -> str:
        """One path for all: `#` where their numbers differ."""
        paths = [one.path for one in self.files]
        parts = [_DIGITS.findall(path) for path in paths]
        fixed = iter([numbers[0] if len(set(numbers)) == 1 else "#" for numbers in zip(*parts)])
        return _DIGITS.sub(lambda match: next(fixed), paths[0])


def masked(text: str) -> str:
    """A text with `#` for each number."""
    return _DIGITS.sub("#", text)


def patterns_of(file: FilePattern) -> Hashable:
    """What a file's datasets are, for `folded`."""
    return tuple(
        sorted((masked(one.dataset), one.descriptor, one.write, one.mode) for one in file.datasets)
    )


def folded(
    files: Sequence[FilePattern], said: Callable[[FilePattern], Hashable] = patterns_of
) -> list[Alike]:
    """Files in their order, each with those behind it of which the same is `said`."""
    groups: dict[Hashable, Alike] = {}
    for file in files:
        key = (masked(file.path), said(file))
        if key in groups:
            groups[key].files.append(file)
        else:
            groups[key] = Alike([file])
    return list(groups.values())
