"""An HTML page as tests look at it: its elements, without a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Element:
    """One element with what stands in it."""

    name: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text within, blanks joined."""
        parts = [*self.words, *(one.text for one in self.children)]
        return " ".join(" ".join(parts).split())

    def all(self, name: str, **attributes: str) -> list[Element]:
        """The elements of a name within, in their order; `class_`: one of its classes."""
        found = []
        for one in self.children:
            if one.name == name and all(
                value in one.attributes.get("class", "").split()
                if key == "class_"
                else one.attributes.get(key) == value
                for key, value in attributes.items()
            ):
                found.append(one)
            found += one.all(name, **attributes)
        return found

    def every(self) -> list[Element]:
        """All elements within."""
        return [deep for one in self.children for deep in (one, *one.every())]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self.at = Element("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        one = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(one)
        if tag not in _VOID:
            self.at = one

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.at.children.append(Element(tag, {name: v or "" for name, v in attrs}, self.at))

    def handle_endtag(self, tag: str) -> None:
        assert self.at.name == tag, f"</{tag}> ends <{self.at.name}>"
        assert self.at.parent is not None
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.words.append(data)


def parsed(html: str) -> Element:
    """The page. Fails where an element is not closed as it should be."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.at is reader.root, f"<{reader.at.name}> is not closed"
    return reader.root


def sections(one: Element) -> dict[str, Element]:
    """The sections of a report by their ids."""
    return {section.attributes["id"]: section for section in one.all("section")}


def rows(table: Element) -> list[list[str]]:
    """The cells of a table."""
    return [[cell.text for cell in row.children] for row in table.all("tr")]


def table_of(one: Element, caption: str) -> list[list[str]]:
    """The cells of the table below such a caption."""
    for table in one.all("table"):
        if caption in table.all("caption")[0].text:
            return rows(table)
    raise AssertionError(f"no table {caption!r}")
