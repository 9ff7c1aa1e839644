"""The pages on the JSON schemas: what each key says, and the schema itself."""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping

from docs_site.tables import cell, prose, written
from stallkit.cli.printed_json import all_printed, json_schema

__all__ = ["pages"]


def pages() -> Iterator[tuple[str, str]]:
    """Path and text of each page."""
    schemas = {name: json_schema(name) for name in all_printed().names}
    rows = [(f"[`{name}`]({name}.md)", prose(str(schema.get("title", "")))) for name, schema in schemas.items()]
    listed = "\n".join(schemas)
    yield (
        "reference/schemas/index.md",
        "# JSON schemas\n\n`stallkit config schema NAME` prints these (JSON Schema 2020-12), `stallkit.schema(Verdict)`"
        " that of a class.\n\n"
        f"{written(['name', 'of what'], rows)}\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
    )
    for name, schema in schemas.items():
        known = {path: rest for path, *rest in _keys(schema)}
        keys = [
            (f"`{path}`", cell(kind), "yes" if needed else "", meaning)
            for path, (kind, needed, meaning) in known.items()
        ]
        table = written(["key", "type", "always there", "meaning"], keys) if keys else ""
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        yield (
            f"reference/schemas/{name}.md",
            f"# {name}\n\n{prose(str(schema.get('title', '')))}.\n\n{table}\n## The schema\n\n```json\n{text}\n```\n",
        )


def _keys(schema: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str, bool, str]]:
    """Each key of an object and of those in it, of each of several: path, type, whether it is required, meaning."""
    for one in schema.get("anyOf", ()):
        yield from _keys(one, above)
    for key, value in schema.get("properties", {}).items():
        path = f"{above}{key}"
        yield path, _type(value), key in schema.get("required", ()), prose(str(value.get("description", "")))
        for inner, step in ((value, "."), (value.get("items"), "[].")):
            if isinstance(inner, dict):
                yield from _keys(inner, path + step)


def _type(value: Mapping[str, Any]) -> str:
    if "const" in value:
        return json.dumps(value["const"])
    if "enum" in value:
        return ", ".join("null" if word is None else str(word) for word in value["enum"])
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    for several in ("anyOf", "oneOf"):
        if several in value:
            return " or ".join(_type(one) for one in value[several])
    found = value.get("type", "anything")
    kinds = found if isinstance(found, list) else [found]
    if "array" in kinds and isinstance(value.get("items"), dict):
        return f"array of {_type(value['items'])}"
    return " or ".join(map(str, kinds))
