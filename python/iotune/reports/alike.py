"""Files that are one entry for people: a series, or the files of a run's processes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from iotune.traces.summary import FilePattern

# Fewer are shown one by one.
FEWEST_FOLDED = 3
MOST_BLOCKS = 12  # about a screen of them
_DIGITS = re.compile(r"[0-9]+")
_NUMBERS = re.compile(r"[0-9]+|#")


@dataclass
class Alike:
    """Files that are said together: they differ by the numbers in their paths alone and in nothing
    that is said, or, of a run with very many, lie in one folder.
    """

    files: list[FilePattern]  # of a folded summary one may be several

    @property
    def is_folded(self) -> bool:
        """Whether they are one entry."""
        return self.count >= FEWEST_FOLDED

    @property
    def count(self) -> int:
        """How many files they are."""
        return count_of(self.files)

    @property
    def name(self) -> str:
        """One path for all: `#` where their numbers differ, `*` for names that differ otherwise."""
        return joint_name([one.together.name for one in self.files])

    @property
    def is_mixed(self) -> bool:
        """Whether their patterns differ, as those of files of different sizes do."""
        return len({patterns_of(one) for one in self.files}) > 1 or any(
            one.together.mixed for one in self.files
        )

    @property
    def bytes(self) -> int:
        """Moved of all of them."""
        return sum(moved_of(self.files))

    @property
    def largest(self) -> FilePattern:
        """The file that most was moved of."""
        return max(self.files, key=lambda one: one.bytes)


def count_of(files: Iterable[FilePattern]) -> int:
    """How many files they are; of a folded summary one may be several."""
    return sum(one.together.files for one in files)


def moved_of(files: Iterable[FilePattern]) -> tuple[int, int]:
    """Bytes that were written and read of all of them."""
    each = [one.together for one in files]
    return sum(one.bytes_written for one in each), sum(one.bytes_read for one in each)


def masked(text: str) -> str:
    """A text with `#` for each number."""
    return _DIGITS.sub("#", text)


def joint_name(paths: Sequence[str]) -> str:
    """One path for all of them, as Alike.name."""
    if len({masked(path) for path in paths}) > 1:
        paths = [os.path.join(os.path.dirname(path), "*" + _ending(path)) for path in paths]
    # The names of several files have # already.
    parts = [_NUMBERS.findall(path) for path in paths]
    fixed = iter([numbers[0] if len(set(numbers)) == 1 else "#" for numbers in zip(*parts)])
    return _NUMBERS.sub(lambda match: next(fixed), paths[0])


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
        key = (masked(file.together.name), said(file))
        if key in groups:
            groups[key].files.append(file)
        else:
            groups[key] = Alike([file])
    return list(groups.values())


def screenful(
    files: Sequence[FilePattern],
    said: Callable[[FilePattern], Hashable] = patterns_of,
    loosely: Callable[[FilePattern], Hashable] = lambda _: None,
) -> tuple[list[Alike], list[FilePattern]]:
    """The files as blocks, MOST_BLOCKS at most, and those that are in none.

    Where they are more by what is `said`, names that differ by numbers alone are one block for all
    that is said `loosely`, and at last a folder's files of one ending; then the largest are shown.
    """
    groups = folded(files, said)
    if len(groups) > MOST_BLOCKS:
        groups = folded(files, loosely)
    if len(groups) > MOST_BLOCKS:
        groups = _by_folder(files, loosely)
    blocks = [
        Alike([one]) for group in groups if not group.is_folded for one in group.files
    ] + [group for group in groups if group.is_folded]  # fmt: skip
    place = {id(one): at for at, one in enumerate(files)}
    largest = sorted(blocks, key=lambda one: -one.bytes)
    shown = sorted(largest[:MOST_BLOCKS], key=lambda one: place[id(one.files[0])])
    return shown, [file for one in largest[MOST_BLOCKS:] for file in one.files]


def _by_folder(
    files: Sequence[FilePattern], loosely: Callable[[FilePattern], Hashable]
) -> list[Alike]:
    groups: dict[Hashable, Alike] = {}
    for file in files:
        name = file.together.name
        key = (masked(os.path.dirname(name)), masked(_ending(name)), loosely(file))
        groups.setdefault(key, Alike([])).files.append(file)
    return list(groups.values())


def _ending(path: str) -> str:
    return os.path.splitext(path)[1]
