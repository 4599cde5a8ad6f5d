"""The settings of `--compare`, and the `memd.toml` of a private daemon that has them. Pure."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memd.cli.arguments import HintedError

LOCAL_PROVIDERS = frozenset({"", "none", "local"})
"""Providers that send nothing to another program."""

NOT_COMPARED = frozenset({"enabled", "store.path"})
"""Settings that the private daemon needs for itself."""

KEYS_HINT = "use a key below `search` from docs/configuration.md, such as `query.hybrid.fusion=rrf`"

_KEY = re.compile(r"[A-Za-z]+(?:\.[A-Za-z]+)*")

Settings = dict[str, Any]


def parse_setting(text: str) -> tuple[str, Any]:
    """Return the key and the value of `KEY=VALUE`; the value is TOML, or else a text."""
    key, sign, raw = (part.strip() for part in text.partition("="))
    key = key.removeprefix("search.")
    if not sign or not raw or _KEY.fullmatch(key) is None:
        raise HintedError(f"--compare {text[:80]!r} is not KEY=VALUE", KEYS_HINT)
    if key in NOT_COMPARED:
        raise HintedError(f"--compare cannot change {key}, which the other index needs", KEYS_HINT)
    try:
        value = tomllib.loads(f"value = {raw}")
    except tomllib.TOMLDecodeError:
        return key, raw
    is_plain = len(value) == 1 and isinstance(value["value"], str | int | float | list | dict)
    return key, value["value"] if is_plain else raw


def parse_settings(texts: Iterable[str]) -> Settings:
    """Return the settings of all `--compare` options by key."""
    return dict(map(parse_setting, texts))


def require_local(settings: Mapping[str, Any]) -> None:
    """Raise if settings would send queries or notes to a provider."""
    for key, value in settings.items():
        is_provider = key in ("provider", "fallback") and str(value).strip() not in LOCAL_PROVIDERS
        if is_provider or key.partition(".")[0] == "remote":
            raise HintedError(
                f"--compare {key} would send the notes and the queries to an embedding provider",
                "add --allow-remote to permit that",
            )


def with_providers(settings: Mapping[str, Any], provider: str, *, allow_remote: bool) -> Settings:
    """Return the settings, completed so that no provider outside of this machine is used unless allowed.

    `provider` is the one that the agent's searches use now.
    """
    if allow_remote:
        return dict(settings)
    names_model = any(key.startswith("local.") for key in settings)
    wanted = "local" if names_model or provider == "local" else "none"
    return {"provider": wanted, **settings, "fallback": "none"}


def private_document(
    document: Mapping[str, Any], agent: str, others: Sequence[str], settings: Mapping[str, Any], index: str
) -> Settings:
    """Return the user's `memd.toml` with other settings of one agent, and with memory off for all others.

    `index` is the path of the private indexes, with `{agentId}` in it: an agent's own settings override all others, so
    that the user's indexes are never opened.
    """
    made: Settings = copy.deepcopy(dict(document))
    made.pop("socket", None)
    _put(made, "search.store.path", index)
    for other in others:
        agents = _table(made, "agents")
        _put(_table(agents, other), "search.enabled", False)
        _put(_table(agents, other), "search.store.path", index)
    own = _table(_table(made, "agents"), agent)
    _put(own, "search.store.path", index)
    for key, value in settings.items():
        _put(own, f"search.{key}", value)
    return made


def _put(table: Settings, key: str, value: Any) -> None:
    """Set a dotted key."""
    name, dot, rest = key.partition(".")
    if dot:
        _put(_table(table, name), rest, value)
    else:
        table[name] = value


def _table(parent: Settings, name: str) -> Settings:
    """Return the table of a name, a new one if there is none."""
    if not isinstance(parent.get(name), dict):
        parent[name] = {}
    table: Settings = parent[name]
    return table
