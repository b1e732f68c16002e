"""Writes docs/json.md from the schemas: `python -m iotune.schemas.page > docs/json.md`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from iotune.schemas import names, schema

_HEAD = """# What `--json` prints

Each command that prints a table prints the same for programs with `--json`. The fields of each
document are below. The JSON Schemas lie in the package, in `iotune/schemas`; from Python
`iotune.schemas.schema("show")` is one. Tests hold them against what the commands really print:
no field is missing, and none is there that the schema does not have.

`iotune show --calls --json` prints one object a line; [reading.md](reading.md) has its columns.
A field of a later version may be new; none changes its meaning or its unit. Numbers in seconds and
bytes say so in their names. `null` means that it is not known.
"""
_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
}


def page() -> str:
    """The page, in Markdown."""
    parts = [_HEAD]
    for name in names():
        one = schema(name)
        command = one["title"].removeprefix("What ").removesuffix(" --json prints")
        parts.append(f"## {command}\n\n`{name}.schema.json`: {_kind(one, one)}.\n")
        rows = list(_rows(one, one, "", ()))
        if rows:
            parts.append(
                "| field | value | meaning |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
            )
    return "\n".join(parts)


def _rows(
    node: dict[str, Any], root: dict[str, Any], path: str, seen: tuple[str, ...]
) -> Iterator[str]:
    node = _without_null(node)
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        if name not in seen:
            yield from _rows(root["$defs"][name], root, path, (*seen, name))
        return
    for one in node.get("anyOf", []):
        yield from _rows(one, root, path, seen)
    if "items" in node:
        yield from _rows(node["items"], root, f"{path}[]", seen)
    for name, value in node.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        may = "" if name in node.get("required", []) else ", may be missing"
        text = value.get("description", "")
        yield f"| `{here}` | {_kind(value, root)}{may} | {text} |"
        yield from _rows(value, root, here, seen)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    kept = [one for one in node.get("anyOf", []) if one != {"type": "null"}]
    return kept[0] if len(kept) == 1 else node


def _kind(node: dict[str, Any], root: dict[str, Any]) -> str:
    """The type in words."""
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node:
        return " or ".join(f"`{one}`" for one in node["enum"])
    if "anyOf" in node:
        kinds = dict.fromkeys(_kind(one, root) for one in node["anyOf"])
        return " or ".join(kinds)
    if "$ref" in node:
        return _kind(root["$defs"][node["$ref"].rsplit("/", 1)[1]], root)
    kinds = node.get("type", "object")
    several = kinds if isinstance(kinds, list) else [kinds]
    return " or ".join(_one_kind(kind, node, root) for kind in several)


def _one_kind(kind: str, node: dict[str, Any], root: dict[str, Any]) -> str:
    if kind == "array":
        return f"list of {_kind(node['items'], root)}" if "items" in node else "list"
    if kind == "object" and isinstance(node.get("additionalProperties"), dict):
        return f"object, by name: {_kind(node['additionalProperties'], root)}"
    return _KINDS.get(kind, kind)


if __name__ == "__main__":
    print(page(), end="")
