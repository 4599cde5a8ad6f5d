"""Finds a provider's key in settings, OpenClaw's profiles and the environment.

Errors name the setting, the file or the variable, never its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from memd.embedding.remote.catalog import KnownProvider
from memd.embedding.secret import Secret
from memd.settings.agents import DEFAULT_AGENT
from memd.settings.endpoints import KEY_KINDS, EndpointSettings, ProviderEntry
from memd.settings.layers import key_text, shown_key
from memd.settings.openclaw_file import load_document
from memd.system.clock import Clock, wall_clock_ms
from memd.system.log import log
from memd_client.errors import ConfigInvalidError

ENDPOINT: Final = "search.endpoint"
"""The dotted name of the settings of a remote provider, for messages."""

AUTH_PROFILES: Final = "auth-profiles.json"
"""OpenClaw's keys and tokens of one agent."""

MAX_PROFILES_BYTES: Final = 1024 * 1024
"""Larger files are not read; real ones have a few kilobytes."""

_REFERENCE: Final = re.compile(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NOT_IN_A_HEADER: Final = re.compile(r"[^\x20-\x7e]")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def find_key(
    known: KnownProvider,
    entry: ProviderEntry | None,
    settings: EndpointSettings | None,
    agent_id: str,
    state_dir: Path,
    environ: Mapping[str, str],
    *,
    clock: Clock = wall_clock_ms,
) -> Secret | None:
    """Return the first key found for a provider, None without one. Blocks on disk.

    The order is `endpoint.apiKey`, the auth profiles of the agent and then of the agent `main`, the provider's entry in
    `models.providers`, its environment variables.
    """
    if settings is not None and (
        key := _from_setting(settings.api_key, f"{ENDPOINT}.apiKey", known, environ)
    ):
        return key
    problem: ConfigInvalidError | None = None
    try:
        if key := _from_profiles(known.entry_names, agent_id, state_dir, environ, clock()):
            return key
    except ConfigInvalidError as error:
        problem = error
    key = None
    if entry is not None:
        place = f"models.providers.{shown_key(entry.id)}.apiKey"
        key = _from_setting(entry.api_key, place, known, environ)
    key = key or _from_environment(known.key_variables, environ)
    if problem is not None and key is None:
        raise problem
    if problem is not None:
        log.warning("embedding.auth_profiles_skipped", provider=known.name, problem=problem.message)
    return key


def expand(text: str, environ: Mapping[str, str], setting: str) -> str:
    """Return a text with `${NAME}` replaced from the environment; `$${NAME}` escapes."""

    def value(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        name = match[2]
        found = environ.get(name, "")
        if not found.strip():
            raise ConfigInvalidError(
                f"{setting} refers to the environment variable {name}, which is not set for the daemon",
                hint=f"set {name} in the daemon's environment, or correct {setting}",
                data={"key": setting, "variable": name},
            )
        return found

    return _REFERENCE.sub(value, text)


def usable_headers(
    headers: Mapping[str, str] | None, environ: Mapping[str, str], place: str
) -> dict[str, str]:
    """Return configured headers, expanded and checked."""
    usable = {}
    for name, raw in (headers or {}).items():
        setting = f"{place}.{shown_key(name)}"
        value = expand(raw, environ, setting).strip()
        if not _HEADER_NAME.fullmatch(name.strip()) or _NOT_IN_A_HEADER.search(value):
            raise ConfigInvalidError(
                f"{setting} can't be sent as a header: its name must be letters, digits and hyphens, its value ASCII",
                data={"key": setting},
            )
        usable[name.strip()] = value
    return usable


def usable_key(text: str, source: str) -> Secret | None:
    """Return a key without surrounding space; None if it is blank."""
    text = text.strip()
    if _NOT_IN_A_HEADER.search(text):
        raise ConfigInvalidError(
            f"{source} contains a line break or another character that no key has",
            hint="copy the key again, as one line",
            data={"key": source},
        )
    return Secret(text) if text else None


def _from_setting(
    raw: str | None, setting: str, known: KnownProvider, environ: Mapping[str, str]
) -> Secret | None:
    """Return the key of a setting, which may be a reference or a variable's name."""
    text = (raw or "").strip()
    reference = f"${{{text}}}" if text in known.key_variables else text
    return usable_key(expand(reference, environ, setting), setting)


def _from_environment(names: Sequence[str], environ: Mapping[str, str]) -> Secret | None:
    """Return the key in the first of the variables that is set."""
    for name in names:
        if key := usable_key(environ.get(name, ""), f"the environment variable {name}"):
            return key
    return None


# --- OpenClaw's auth profiles --------------------------------------------------------------------------


def _from_profiles(
    names: Sequence[str], agent_id: str, state_dir: Path, environ: Mapping[str, str], now_ms: int
) -> Secret | None:
    """Return the key in the profiles of the agent, else in those of `main`."""
    problems: list[ConfigInvalidError] = []
    for owner in dict.fromkeys([agent_id, DEFAULT_AGENT]):
        path = state_dir / "agents" / owner / "agent" / AUTH_PROFILES
        try:
            document = _load_profiles(path)
            for name, profile in _profiles_in_order(document, {name.lower() for name in names}, now_ms):
                if key := _key_of(profile, f"the profile {shown_key(name)} in {path}", environ):
                    return key
        except ConfigInvalidError as error:
            problems.append(error)
    if problems:
        raise problems[0]
    return None


def _load_profiles(path: Path) -> Mapping[str, object]:
    """Return the contents of a profiles file; empty if it doesn't exist."""
    try:
        return load_document(path, max_bytes=MAX_PROFILES_BYTES)
    except ConfigInvalidError as error:
        message, data = error.message, dict(error.data)
    hint = "Correct the file, or remove it: OpenClaw writes it when you log in."
    # outside the handler: the parser's error, which would be its context, contains text of the file
    raise ConfigInvalidError(message, hint=hint, data=data)


def _profiles_in_order(
    document: Mapping[str, object], names: set[str], now_ms: int
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield a provider's usable profiles, the preferred one first.

    The user's order counts. Without one the last good profile comes first, then keys, then tokens. OAuth is skipped: no
    provider accepts it for embeddings.
    """
    found: dict[str, Mapping[str, object]] = {}
    for name, raw in _mapping(document.get("profiles")).items():
        if isinstance(raw, Mapping) and _provider_of(name, raw) in names and _is_usable(raw, now_ms):
            found[name] = raw
    ordered = _value_for(document.get("order"), names)
    if isinstance(ordered, list) and ordered:
        chosen = [name for name in ordered if isinstance(name, str) and name in found]
    else:
        last_good = _value_for(document.get("lastGood"), names)
        chosen = sorted(found, key=lambda name: (name != last_good, _kind_of(found[name]) != "api_key"))
    for name in dict.fromkeys(chosen):
        yield name, found[name]


def _provider_of(name: str, profile: Mapping[str, object]) -> str:
    """Return a profile's provider; its id begins with it, too."""
    provider = profile.get("provider")
    text = provider if isinstance(provider, str) and provider.strip() else name.partition(":")[0]
    return text.strip().lower()


def _kind_of(profile: Mapping[str, object]) -> str:
    """Return `api_key`, `token` or `oauth`; openclaw.json has `mode` for `type`."""
    kind = profile.get("type", profile.get("mode"))
    return {"apiKey": "api_key"}.get(kind, kind) if isinstance(kind, str) else ""


def _is_usable(profile: Mapping[str, object], now_ms: int) -> bool:
    """Return whether a profile has a key, or a token that has not expired."""
    ends = profile.get("expires")
    ended = isinstance(ends, int | float) and 0 < ends <= now_ms
    return _kind_of(profile) == "api_key" or (_kind_of(profile) == "token" and not ended)


def _key_of(profile: Mapping[str, object], source: str, environ: Mapping[str, str]) -> Secret | None:
    """Return the key a profile contains or refers to."""
    fields = ("token", "tokenRef") if _kind_of(profile) == "token" else ("key", "apiKey", "keyRef")
    values = [profile[field] for field in fields if profile.get(field) not in (None, "")]
    if not values:
        return None
    text = key_text(values[0])
    if text is None:
        raise ConfigInvalidError(
            f"the key of {source} is in a form that memd can't read",
            hint=f"its key must be {KEY_KINDS}",
            data={"key": source},
        )
    return usable_key(expand(text, environ, source), source)


def _value_for(raw: object, names: set[str]) -> object:
    """Return the value under any of a provider's names."""
    items = _mapping(raw).items()
    return next((value for name, value in items if name.strip().lower() in names), None)


def _mapping(raw: object) -> Mapping[str, object]:
    """Return the value if it is an object, else an empty one."""
    return raw if isinstance(raw, Mapping) else {}
