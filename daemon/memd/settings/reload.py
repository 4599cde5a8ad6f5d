"""Settings that change while the daemon runs: read again when a file changes, or on SIGHUP."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import trio
from msgspec import Struct
from msgspec.structs import replace

from memd.settings.agents import AgentConfig, OpenClawHome
from memd.settings.endpoints import ProviderEntry
from memd.settings.fields import Settings, derived_keys
from memd.settings.layers import shown_key
from memd.settings.schema import DaemonSettings
from memd.system.log import log
from memd_client.errors import MemdError

LOOK_S = 2.0
"""Interval of the check, which takes three stats. Events would be lost if an editor replaces a file's folder."""

SHARED_KEYS = ("agents.defaults", "memory", "hooks", "plugins")
"""Prefixes of keys in openclaw.json with settings of all agents."""

RESTART_KEYS = ("socket",)
"""Settings of the daemon that need a restart."""

MAX_LOGGED_KEYS = 50

Identity = tuple[int, int, int] | None
"""Modification time, size and inode of a file; None if it doesn't exist."""


class CurrentSettings(Struct, frozen=True):
    """The current settings of the agents and the daemon, and the problems of the latter."""

    home: OpenClawHome
    daemon: DaemonSettings
    problems: tuple[MemdError, ...] = ()


class Reloader:
    """Reloads the settings when their files change."""

    def __init__(
        self,
        first: CurrentSettings,
        load: Callable[[], CurrentSettings],
        apply: Callable[[CurrentSettings], Awaitable[Sequence[str]]],
        files: Sequence[Path],
        *,
        look_s: float = LOOK_S,
    ) -> None:
        self.current = first
        self._load = load
        self._apply = apply
        self._files = tuple(files)
        self._look_s = look_s
        self._seen = self._identities()
        self._requested = trio.Event()

    def __repr__(self) -> str:
        return f"<Reloader of {len(self._files)} files>"

    def reload_nowait(self) -> None:
        """Request a reload, whether or not the files have changed."""
        self._requested.set()

    async def run(self) -> None:
        """Check the files until cancelled, and apply changed settings.

        An invalid value keeps the last valid setting and appears in the status. Unexpected errors are logged.
        """
        while True:
            with trio.move_on_after(self._look_s):
                await self._requested.wait()
            is_requested = self._requested.is_set()
            self._requested = trio.Event()
            seen = self._identities()
            if is_requested or seen != self._seen:
                self._seen = seen
                try:
                    await self._reload()
                except Exception:
                    log.exception("config.reload_crashed")

    async def _reload(self) -> None:
        """Read all files and apply the differences."""
        before = self.current
        fresh = await trio.to_thread.run_sync(self._load)
        fresh = CurrentSettings(
            keep_last_valid(before.home, fresh.home),
            _keep_last_valid(before.daemon, fresh.daemon, fresh.problems),
            fresh.problems,
        )
        for problem in (*fresh.home.problems, *fresh.problems):
            log.warning("config.problem", code=problem.code, error=problem.message, hint=problem.hint)
        keys = [*changed_keys(before, fresh)]
        waiting = [key for key in RESTART_KEYS if getattr(before.daemon, key) != getattr(fresh.daemon, key)]
        if waiting:
            log.warning("config.needs_restart", keys=waiting, hint="run `memctl service restart`")
        self.current = fresh
        opened = await self._apply(fresh)
        log.info("config.reloaded", keys=keys[:MAX_LOGGED_KEYS], changed=len(keys), agents=list(opened))

    def _identities(self) -> list[Identity]:
        """Return the identities of the files."""
        return [_identity(file) for file in self._files]


def keep_last_valid(previous: OpenClawHome, fresh: OpenClawHome) -> OpenClawHome:
    """Return new settings with the last valid ones in place of invalid ones."""
    if not (fresh.readable and fresh.has_own):
        return replace(
            fresh,
            agents=previous.agents,
            default_agent=previous.default_agent,
            providers=previous.providers,
        )
    keys = [str(error.data.get("key", "")) for error in fresh.problems]
    own = [error for error in fresh.problems if error.data.get("file") != str(fresh.config_path)]
    has_bad_defaults = bool(own) or any(key.startswith(SHARED_KEYS) for key in keys)
    kept = {}
    for agent_id, agent in fresh.agents.items():
        before = previous.agents.get(agent_id)
        if before is not None and (has_bad_defaults or agent.problems):
            agent = replace(before, is_default=agent.is_default, problems=agent.problems)
        kept[agent_id] = agent
    return replace(
        fresh, agents=kept, providers=fresh.providers | _entries_now_invalid(previous.providers, keys)
    )


def _entries_now_invalid(
    entries: Mapping[str, ProviderEntry], bad: Iterable[str]
) -> dict[str, ProviderEntry]:
    """Return the earlier entries of `models.providers` that are invalid now, from the invalid keys."""
    invalid = {f"{key}." for key in bad if key.startswith("models")}
    whole = bool(invalid & {"models.", "models.providers."})
    places = {name: f"models.providers.{shown_key(name)}." for name in entries}
    return {
        name: entry
        for name, entry in entries.items()
        if whole or any(key.startswith(places[name]) for key in invalid)
    }


def _keep_last_valid(
    before: DaemonSettings, fresh: DaemonSettings, problems: Sequence[MemdError]
) -> DaemonSettings:
    """Return the daemon's settings with the last valid values in place of invalid ones.

    A problem without a key concerns the whole file, so that all earlier settings are kept; one in a table, that table.
    """
    bad = {str(problem.data.get("key", "")).partition(".")[0] for problem in problems}
    if "" in bad:
        return before
    return msgspec.structs.replace(
        fresh, **{key: value for key, value in msgspec.structs.asdict(before).items() if key in bad}
    )


def changed_keys(before: CurrentSettings, after: CurrentSettings) -> Iterator[str]:
    """Yield the dotted names of changed settings, without values, which may be secrets."""
    for key in msgspec.structs.asdict(after.daemon):
        if getattr(before.daemon, key) != getattr(after.daemon, key):
            yield f"memd.{key}"
    old, new = before.home.agents, after.home.agents
    for agent_id in sorted(old.keys() | new.keys()):
        if agent_id not in new:
            yield f"agents.{agent_id} (removed)"
        elif agent_id not in old:
            yield f"agents.{agent_id} (added)"
        else:
            yield from _changed_agent(old[agent_id], new[agent_id])
    for name in sorted(before.home.providers.keys() | after.home.providers.keys()):
        if before.home.providers.get(name) != after.home.providers.get(name):
            yield f"models.providers.{name}"


def _changed_agent(old: AgentConfig, new: AgentConfig) -> Iterator[str]:
    """Yield the changed settings of one agent."""
    for name in ("workspace", "index_path"):
        if getattr(old, name) != getattr(new, name):
            yield f"agents.{new.id}.{name}"
    if old.sources != new.sources:
        yield f"agents.{new.id}.sources"
    yield from _changed_values(f"agents.{new.id}.search", old.settings, new.settings)
    yield from _changed_values(f"agents.{new.id}", old.life, new.life)


def _changed_values(prefix: str, old: Settings, new: Settings) -> Iterator[str]:
    """Yield the dotted names of the differences between two structs, without values that only follow from others."""
    derived = {f"{prefix}.{key}" for key in derived_keys(type(new))}
    for key in _changed_settings(prefix, msgspec.to_builtins(old), msgspec.to_builtins(new)):
        if key not in derived:
            yield key


def _changed_settings(prefix: str, old: object, new: object) -> Iterator[str]:
    """Yield the dotted names of the differences between two settings."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            yield from _changed_settings(f"{prefix}.{key}", old.get(key), new.get(key))
    elif old != new:
        yield prefix


def _identity(file: Path) -> Identity:
    """Return the identity of the file at a path."""
    try:
        facts = os.stat(file)
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
