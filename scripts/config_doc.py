"""Writes the tables of docs/configuration.md and docs/providers.md from the code; `scripts/config_doc` calls it.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; what is around it is written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from memd.config import KEY_KINDS, DaemonSettings, MemorySearch, ProviderEntry, describe_type
from memd.config_keys import AGENT_KEYS, DAEMON_KEYS, DEFAULTS_IN_WORDS, LIFE_KEYS, PROVIDER_KEYS, VARIABLES
from memd.embedding.catalog import KNOWN, limits_of
from memd.life_settings import PLACES
from memd.settings import NOT_FROM_FILE

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = (DOCS / "configuration.md", DOCS / "providers.md")

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


def tables() -> dict[str, str]:
    """Return every table by its name."""
    agent = dict(fields_of(MemorySearch))
    made = {
        name: _keys_table({key: agent[key] for key in sentences}, sentences)
        for name, sentences in AGENT_KEYS.items()
    }
    made["life"] = _keys_table(life_fields(), LIFE_KEYS)
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


def _keys_table(fields: Mapping[str, Field], sentences: Mapping[str, str]) -> str:
    """Return a table of keys, in the order of their sentences."""
    rows = [
        (
            f"`{key}`",
            TYPES_IN_WORDS.get(key.rpartition(".")[2]) or describe_type(fields[key].type),
            _default(key, fields[key]),
            meaning,
        )
        for key, meaning in sentences.items()
    ]
    return _table(("key", "type", "default", "meaning"), rows)


def _default(key: str, field: Field) -> str:
    """Return a key's default as it would stand in a file, or in words."""
    value: Any = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is msgspec.NODEFAULT or value is None or value == "":
        return DEFAULTS_IN_WORDS.get(key, "none")
    return f"`{json.dumps(value)}`"


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
