"""Writes tables of docs and the memory settings of the plugin's manifest from the code; `scripts/docs` calls it.

A table is between `<!-- table: NAME -->` and `<!-- end -->`; the rest of a page is written by hand. In the manifest
the memory settings are the last properties of `configSchema`, after `dreaming`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from memd.embedding.remote.catalog import KNOWN, limits_of
from memd.settings.endpoints import ProviderEntry
from memd.settings.fields import Field, describe_type, settings_of
from memd.settings.names import is_refused, life_settings, openclaw_key
from memd.settings.reference import VARIABLES
from memd.settings.schema import DaemonSettings, MemorySearch
from memd.settings.sources import SourceSettings

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = (DOCS / "configuration.md", DOCS / "remote-providers.md")
MANIFEST = ROOT / "client" / "openclaw-plugin" / "openclaw.plugin.json"

IN_MANIFEST = re.compile(r"(\n      \"dreaming\": \{.*?\n      \}).*?(\n    \}\n  \}\n\}\n)$", re.DOTALL)
"""The end of the manifest: what is before and after the memory settings."""

TABLE = re.compile(r"(<!-- table: ([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)

SEARCH_TABLES = {
    "enabled": "indexed",
    "provider": "embedding",
    "endpoint": "endpoint",
    "sync": "sync",
    "query": "query",
}
"""The tables of `MemorySearch` by the field each begins with."""

Settings = Sequence[tuple[str, Field]]


def tables() -> dict[str, str]:
    """Return every table by its name."""
    made = {name: _keys_table(rows, with_openclaw=True) for name, rows in _search_tables().items()}
    made["life"] = _life_table()
    made["entries"] = _keys_table([*settings_of(ProviderEntry)])
    made["sources"] = _keys_table([*settings_of(SourceSettings)])
    made["daemon"] = _keys_table([*settings_of(DaemonSettings)])
    made["variables"] = _table(
        ("variable", "meaning"), [(f"`{name}`", meaning) for name, meaning in VARIABLES.items()]
    )
    made["providers"] = _providers_table()
    return made


def _search_tables() -> dict[str, list[tuple[str, Field]]]:
    """Return the settings of each table of `MemorySearch`."""
    parts: dict[str, list[tuple[str, Field]]] = {}
    name = ""
    for key, field in settings_of(MemorySearch):
        name = SEARCH_TABLES.get(key.partition(".")[0], name)
        parts.setdefault(name, []).append((key, field))
    return parts


def render(page: str) -> str:
    """Return a page with its tables as the code has them."""
    made = tables()
    return TABLE.sub(lambda found: found[1] + made[found[2]] + found[3], page)


def _keys_table(settings: Settings, *, with_openclaw: bool = False) -> str:
    """Return a table of settings; `with_openclaw` adds the column on openclaw.json."""
    rows = []
    for key, field in settings:
        place = (_place(key),) if with_openclaw else ()
        rows.append((f"`{key}`", _kind(field), _default(field), *place, field.about.meaning))
    heads = ("key", "type", "default", *(("openclaw.json",) if with_openclaw else ()), "meaning")
    return _table(heads, rows)


def _place(key: str) -> str:
    """Return whether OpenClaw accepts a key below `memory.search`, or its name there if it differs."""
    name = openclaw_key(key)
    return "no" if is_refused(name) else "yes" if name == key else f"`{name}`"


def _life_table() -> str:
    """Return the table of other memory settings, with their keys in openclaw.json."""
    rows = [
        (
            f"`{name}`",
            _kind(field),
            _default(field),
            "no" if field.is_refused else f"`{place}`",
            field.about.meaning,
        )
        for name, place, field in life_settings()
    ]
    return _table(("key", "type", "default", "openclaw.json", "meaning"), rows)


def _kind(field: Field) -> str:
    """Return a setting's type in words, with its unit."""
    about = field.about
    return (about.kind or describe_type(field.type)) + (f", in {about.unit}" if about.unit else "")


def _default(field: Field) -> str:
    """Return a setting's default as it would be in a file, or in words."""
    if field.default is None or field.default == "":
        return field.about.default or "none"
    return f"`{json.dumps(field.default)}`"


# --- the plugin's manifest -----------------------------------------------------------------------------

AGENT_SCHEMA = (
    "Settings of single agents by their ids, under the same names; they win over those for all agents."
)

READ_PIECE_BY_PIECE: dict[str, dict[str, Any]] = {
    "extraPaths": {
        "type": "array",
        "items": {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["path"],
                    "properties": {"path": {"type": "string"}, "pattern": {"type": "string"}},
                },
            ]
        },
    },
    "apiKey": {
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["source", "id"],
                "properties": {
                    "source": {"const": "env"},
                    "provider": {"type": "string"},
                    "id": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                },
            },
        ]
    },
    "forceFlushTranscriptBytes": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]},
}
"""Schemas of what the daemon reads piece by piece, by the last word of the key."""


def plugin_properties() -> dict[str, Any]:
    """Return the JSON schema of every memory setting in the plugin's config, by its name.

    Defaults are in the descriptions only: OpenClaw puts defaults of a schema into the config that plugins see, and
    they would win over `memory.search` there.
    """
    root: dict[str, Any] = {"properties": {}}
    for key, field in settings_of(MemorySearch):
        for name in dict.fromkeys((key, openclaw_key(key))):
            _add_property(root, f"search.{name}", _leaf(field))
    for name, _, field in life_settings():
        _add_property(root, name, _leaf(field))
    properties: dict[str, Any] = root["properties"]
    agent = {"type": "object", "additionalProperties": False, "properties": dict(properties)}
    properties["agents"] = {"type": "object", "description": AGENT_SCHEMA, "additionalProperties": agent}
    return properties


def _add_property(root: dict[str, Any], name: str, leaf: dict[str, Any]) -> None:
    """Put the schema of a setting at its dotted name."""
    *groups, key = name.split(".")
    for group in groups:
        new: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
        root = root["properties"].setdefault(group, new)
    root["properties"][key] = leaf


def _leaf(field: Field) -> dict[str, Any]:
    """Return the schema of one setting, with its sentence, unit and default in words."""
    about = field.about
    schema = READ_PIECE_BY_PIECE.get(field.key)
    if schema is None:
        options = [each for each in get_args(field.type) if each is not type(None)]
        is_optional = type(None) in get_args(get_args(field.type)[0])
        kind = get_args(options[0])[0] if is_optional else field.type
        schema = msgspec.json.schema(kind)
    unit = f" {about.unit}" if about.unit else ""
    text = f"{about.meaning} Default: {_default(field)}{unit}."
    return schema | {"description": re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)}


def render_manifest(text: str) -> str:
    """Return the manifest with its memory settings as the code has them."""
    made = "".join(
        f",\n      {json.dumps(name)}: {_shown(schema, 6)}" for name, schema in plugin_properties().items()
    )
    return IN_MANIFEST.sub(lambda found: found[1] + made + found[2], text)


def _shown(schema: dict[str, Any], indent: int) -> str:
    """Return a schema as JSON: groups of settings over several lines, a setting on one."""
    pad = " " * (indent + 2)
    agent = schema.get("additionalProperties")
    if "properties" in schema:
        rows = (
            f"{json.dumps(key)}: {_shown(each, indent + 4)}" for key, each in schema["properties"].items()
        )
        inner = "properties", "{" + ",".join(f"\n{pad}  {row}" for row in rows) + f"\n{pad}}}"
    elif isinstance(agent, dict) and "properties" in agent:
        inner = "additionalProperties", _shown(agent, indent + 2)
    else:
        return json.dumps(schema, ensure_ascii=False)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in schema.items() if key != inner[0]]
    lines.append(f"{json.dumps(inner[0])}: {inner[1]}")
    return "{" + ",".join(f"\n{pad}{line}" for line in lines) + f"\n{' ' * indent}}}"


def _providers_table() -> str:
    """Return what there is to know of each provider."""
    limits_heads = ("texts a request", "tokens a request", "tokens a text", "requests at once")
    heads = ("provider", "default model", "address", "key", *limits_heads, "batch API")
    rows = []
    for known in KNOWN.values():
        limits = limits_of(known, known.default_model)
        grown = f" to {limits.quick_texts:,}" if limits.quick_texts else ""
        figures = (limits.max_tokens, limits.max_text_tokens, limits.concurrency)
        rows.append(
            (
                f"`{known.name}`",
                f"`{known.default_model}`" if known.default_model else "yours",
                f"`{known.base_url}`" if known.base_url else "`endpoint.baseUrl`",
                ", ".join(f"`{name}`" for name in known.key_variables)
                or ("yes" if known.needs_key else "none"),
                f"{limits.max_texts:,}{grown}",
                *(f"{figure:,}" for figure in figures),
                "yes" if known.has_bulk else "no",
            )
        )
    return _table(heads, rows)


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ("---",) * len(heads), *rows]
    return (
        "".join("| " + " | ".join(cells) + " |\n" for cells in lines)
        .replace("| --- ", "|---")
        .replace("--- |", "---|")
    )


def generated() -> dict[Path, str]:
    """Return the text of each file with tables or settings of the code."""
    pages = {path: render(path.read_text(encoding="utf-8")) for path in PAGES}
    return pages | {MANIFEST: render_manifest(MANIFEST.read_text(encoding="utf-8"))}
