"""What sections are made of, beside Figure and Table (svg.py); templates/blocks.html draws them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from iotune.findings import Finding


@dataclass(frozen=True)
class Fact:
    """A tile: a value with what it is."""

    label: str
    value: str
    more: str = ""


@dataclass(frozen=True)
class Facts:
    """Tiles in a row."""

    facts: list[Fact]


@dataclass(frozen=True)
class Heading:
    """A part of a section, of one file mostly."""

    text: str
    lines: list[tuple[str, str]] = field(default_factory=list)  # label, sentence


@dataclass(frozen=True)
class FindingBlock:
    """A finding (iotune.findings)."""

    finding: Finding


@dataclass
class Section:
    """Blocks under a title."""

    id: str
    title: str
    intro: str
    blocks: list[Any]
