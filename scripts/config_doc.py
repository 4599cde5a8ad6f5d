"""Writes tables of docs and the memory settings of the plugin's manifest from the code; `scripts/config_doc` calls it.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; what is around it is written by hand. In the manifest
the memory settings are the last properties of `configSchema`, after `dreaming`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from memd.embedding.remote.catalog import KNOWN, limits_of
from memd.settings.layers import NOT_FROM_FILE
from memd.settings.lifecycle import OWN_GROUPS, PLACES
from memd.settings.openclaw_accepts import REFUSED_DEFAULTS, is_refused
from memd.settings.reference import (
    AGENT_KEYS,
    DAEMON_KEYS,
    DEFAULTS_IN_WORDS,
    LIFE_KEYS,
    PROVIDER_KEYS,
    VARIABLES,
)
from memd.settings.schema import KEY_KINDS, DaemonSettings, MemorySearch, ProviderEntry, Source, describe_type

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = (DOCS / "configuration.md", DOCS / "providers.md")
MANIFEST = ROOT / "client" / "openclaw-plugin" / "openclaw.plugin.json"

IN_MANIFEST = re.compile(r"(\n      \"dreaming\": \{.*?\n      \}).*?(\n    \}\n  \}\n\}\n)$", re.DOTALL)
"""The end of the manifest: what is before and after the memory settings."""

TABLE = re.compile(r"(<!-- table: ([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)

Field = msgspec.structs.FieldInfo

TYPES_IN_WORDS = {
    "sources": 'a list of "memory", "sessions"',
    "extraPaths": "a list of paths, or of objects with a path and a pattern",
    "models": "a list of objects with an id",
    "apiKey": KEY_KINDS,
}
"""Types of what is read piece by piece, by the last word of the key."""


def fields_of(kind: type[msgspec.Struct], prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield every key of a settings struct, as it stands in a file, with its field."""
    for field in msgspec.structs.fields(kind):
        if field.name in NOT_FROM_FILE or (kind is ProviderEntry and field.name == "id"):
            continue
        key = f"{prefix}{field.encode_name}"
        options = [each for each in get_args(field.type) or (field.type,) if each is not type(None)]
        inner = options[0] if len(options) == 1 else None
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            yield from fields_of(inner, f"{key}.")
        else:
            yield key, field


def life_fields() -> dict[str, Field]:
    """Return every key of an agent's life, as it stands in the whole file, with its field."""
    return {key: field for place, kind in PLACES.items() for key, field in fields_of(kind, f"{place}.")}


def own_names() -> dict[str, str]:
    """Return the name of every setting of an agent's life in memd's own places, by its place in openclaw.json."""
    return {
        f"{place}.{key}": f"{OWN_GROUPS[kind]}.{key}".lstrip(".")
        for place, kind in PLACES.items()
        for key, _ in fields_of(kind)
    }


def tables() -> dict[str, str]:
    """Return every table by its name."""
    agent = dict(fields_of(MemorySearch))
    made = {
        name: _keys_table(
            {key: agent[key] for key in sentences},
            sentences,
            {key: "no" if is_refused(key) else "yes" for key in sentences},
        )
        for name, sentences in AGENT_KEYS.items()
    }
    made["life"] = _life_table()
    made["entries"] = _keys_table(dict(fields_of(ProviderEntry)), PROVIDER_KEYS)
    made["daemon"] = _keys_table(dict(fields_of(DaemonSettings)), DAEMON_KEYS)
    made["variables"] = _table(
        ("variable", "meaning"), [(f"`{name}`", meaning) for name, meaning in VARIABLES.items()]
    )
    made["providers"] = _providers_table()
    return made


def render(page: str) -> str:
    """Return a page with its tables as the code has them."""
    made = tables()
    return TABLE.sub(lambda found: found[1] + made[found[2]] + found[3], page)


def _keys_table(
    fields: Mapping[str, Field], sentences: Mapping[str, str], accepted: Mapping[str, str] | None = None
) -> str:
    """Return a table of keys, in the order of their sentences; `accepted` is the column on openclaw.json."""
    rows = []
    for key, meaning in sentences.items():
        kind = TYPES_IN_WORDS.get(key.rpartition(".")[2]) or describe_type(fields[key].type)
        place = () if accepted is None else (accepted[key],)
        rows.append((f"`{key}`", kind, _default(key, fields[key]), *place, meaning))
    heads = ("key", "type", "default", *(() if accepted is None else ("openclaw.json",)), "meaning")
    return _table(heads, rows)


def _life_table() -> str:
    """Return the table of an agent's life: names in memd's own places, and where openclaw.json has them."""
    fields, rows = life_fields(), []
    refused = {f"agents.defaults.{key}" for key in REFUSED_DEFAULTS}
    for place, name in own_names().items():
        kind = describe_type(fields[place].type)
        found = "no" if place in refused else f"`{place}`"
        rows.append((f"`{name}`", kind, _default(place, fields[place]), found, LIFE_KEYS[place]))
    return _table(("key", "type", "default", "openclaw.json", "meaning"), rows)


def _default(key: str, field: Field) -> str:
    """Return a key's default as it would stand in a file, or in words."""
    value: Any = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is msgspec.NODEFAULT or value is None or value == "":
        return DEFAULTS_IN_WORDS.get(key, "none")
    return f"`{json.dumps(value)}`"


# --- the plugin's manifest -----------------------------------------------------------------------------

AGENT_SCHEMA = (
    "Settings of single agents by their ids, under the same names; they win over those for all agents."
)

READ_PIECE_BY_PIECE: dict[str, dict[str, Any]] = {
    "sources": {"type": "array", "items": {"enum": sorted(get_args(Source))}},
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

    Defaults are in the descriptions only: OpenClaw puts defaults of a schema into the config that plugins see, where
    they would win over what `memory.search` says.
    """
    root: dict[str, Any] = {"properties": {}}
    search = dict(fields_of(MemorySearch))
    for sentences in AGENT_KEYS.values():
        for key, meaning in sentences.items():
            _add_property(root, f"search.{key}", _leaf(key, search[key], meaning))
    life = life_fields()
    for place, name in own_names().items():
        _add_property(root, name, _leaf(place, life[place], LIFE_KEYS[place]))
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


def _leaf(key: str, field: Field, meaning: str) -> dict[str, Any]:
    """Return the schema of one setting, with its sentence and default in words."""
    options = [each for each in get_args(field.type) if each is not type(None)]
    is_optional = len(options) < len(get_args(field.type))
    schema = READ_PIECE_BY_PIECE.get(key.rpartition(".")[2])
    if schema is None:
        schema = msgspec.json.schema(options[0] if is_optional else field.type)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", meaning)
    default = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", _default(key, field))
    return schema | {"description": f"{text} Default: {default}."}


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
                f"`{known.base_url}`" if known.base_url else "`remote.baseUrl`",
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


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(render(path.read_text(encoding="utf-8")), encoding="utf-8")
    MANIFEST.write_text(render_manifest(MANIFEST.read_text(encoding="utf-8")), encoding="utf-8")
