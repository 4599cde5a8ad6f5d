"""An Obsidian vault as an extra path of one agent, added to openclaw.json without other changes.

The edit is made only if the settings before and after it differ in that path of that agent alone. Else the user gets
the lines to add.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import json5
import msgspec

from memd.importing.agents import ImportedAgent
from memd.importing.sources import LIMIT_BYTES, ExcludedFile
from memd.settings.agents import OpenClawHome, agent_id_of, resolve
from memd.settings.layers import absolute_path
from memd.settings.names import NEWER_FROM, release_of
from memd.settings.openclaw_file import load_agent_folders, load_document, workspace_of
from memd.settings.schema import ExtraPath
from memd.sync.disk.discover import discover
from memd.system.json_edit import JSON5, Keys, append, value_of
from memd.system.state_file import MAX_SETTINGS_BYTES, load_whole
from memd.system.temp_files import temp_file
from memd_client.errors import BadParamsError, ConfigInvalidError, FileMissingError, NoteUnwritableError

NEW, SAME, BY_HAND = "new", "same", "by hand"

PATTERN = "**/*.md"
"""Keeps OpenClaw's own engine out of hidden folders such as `.obsidian` and `.trash`, which memd skips."""


@dataclass(frozen=True, slots=True)
class VaultPlan:
    """The plan for a vault.

    Attributes:
        state: `NEW`: the entry will be added; `SAME`: it exists; `BY_HAND`: the user has to add it.
        vault: The real path.
        reason: Why the entry exists or the user has to add it.
        lines: The entry for the user to add.
        files: Number of Markdown files in the vault.
        size: Their bytes together.
        left_out: Files that will not be searched.
        before: The contents of openclaw.json; None if it doesn't exist.
        after: The new contents.
    """

    state: str
    vault: Path
    reason: str = ""
    lines: str = ""
    files: int = 0
    size: int = 0
    left_out: list[ExcludedFile] = field(default_factory=list)
    before: bytes | None = field(default=None, repr=False)
    after: str = field(default="", repr=False)


def plan_vault(source: Path, agent: ImportedAgent) -> VaultPlan:
    """Return the plan to add a vault to an agent's search. Writes nothing."""
    vault = Path(os.path.realpath(source))
    if not vault.is_dir():
        raise FileMissingError(
            f"no folder {vault}", hint="pass the vault's path: the folder that contains .obsidian"
        )
    workspace = Path(os.path.realpath(agent.workspace))
    if vault == workspace or vault in workspace.parents or workspace in vault.parents:
        raise BadParamsError(
            f"one of the vault {vault} and the workspace {workspace} contains the other",
            hint="move the workspace out of the vault; folders in the workspace's memory/ are searched already",
            data={"path": str(vault)},
        )
    looked = discover(vault, [ExtraPath(path=".", pattern=PATTERN)], LIMIT_BYTES)
    size = sum(found.size for found in looked.files.values())
    left = [ExcludedFile(f"{vault}/{each.path}", each.reason) for each in looked.skipped + looked.partial]
    facts: dict[str, Any] = {"files": len(looked.files), "size": size, "left_out": left}
    document = load_document(agent.config)
    try:
        before: bytes | None = _bytes_of(agent.config)
    except (OSError, ValueError) as error:
        raise _unwritable(agent.config, "it cannot be read") from error
    now = _resolved(document, agent)
    mine = now.agents.get(agent.id)
    if mine is not None and any(_is_vault(each, agent, vault) for each in mine.settings.extra_paths):
        return VaultPlan(SAME, vault, "the vault is an extra path of this agent already", **facts)
    text = "{}\n" if before is None else before.decode("utf-8-sig")
    for keys, value in _entry_places(document, agent, str(vault)):
        with contextlib.suppress(ValueError, RecursionError):
            after = append(text, keys, value, JSON5)
            read = json5.loads(after)
            if read == value_of(after, JSON5) and _only_adds_vault(now, _resolved(read, agent), agent, vault):
                bom = "\ufeff" if before is not None and before.startswith(b"\xef\xbb\xbf") else ""
                return VaultPlan(NEW, vault, before=before, after=bom + after, **facts)
    reason = f"adding it to {agent.config} would change other settings"
    return VaultPlan(BY_HAND, vault, reason, _lines(document, agent, vault), **facts)


def carry_out_vault(plan: VaultPlan, config: Path, stamp: str) -> Path | None:
    """Write the entry atomically, and return the backup of the file; None if there was no file."""
    real = Path(os.path.realpath(config))
    backup = real.with_name(f"{real.name}.before-import-{stamp}")
    try:
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with temp_file(real.parent) as (handle, spare):
            with open(handle, "wb", closefd=False) as file:
                file.write(plan.after.encode())
            os.fsync(handle)
            if _bytes_of(real) != plan.before:
                raise _unwritable(config, "it has changed in the meantime; import again")
            if plan.before is not None:
                with _new_file(backup) as file:
                    file.write(plan.before)
                    os.fsync(file.fileno())
                shutil.copymode(real, backup)
                shutil.copymode(real, spare)
            os.replace(spare, real)
    except OSError as error:
        raise _unwritable(config, error.strerror or type(error).__name__) from None
    return None if plan.before is None else backup


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[Any]:
    """Yield a new file with mode 0600, because settings contain keys."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:
        yield file


def _bytes_of(path: Path) -> bytes | None:
    """Return the contents of a file; None if it doesn't exist."""
    try:
        return load_whole(path, MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        return None


def _unwritable(config: Path, why: str) -> NoteUnwritableError:
    """Return the error for settings that are not changed."""
    return NoteUnwritableError(
        f"{config} was not changed: {why}",
        hint="add the entry yourself; `memctl import obsidian PATH --dry-run --json` shows it",
        data={"path": str(config)},
    )


def _resolved(document: object, agent: ImportedAgent) -> OpenClawHome:
    """Return the agents and settings of a document."""
    try:
        folders = load_agent_folders(agent.state_dir)
    except ConfigInvalidError:
        folders = []
    return resolve(
        document,
        config_path=agent.config,
        state_dir=agent.state_dir,
        home=agent.home,
        agent_folders=folders,
        has_workspace=lambda name: workspace_of(name, agent.state_dir, agent.home).is_dir(),
    )


def _only_adds_vault(before: OpenClawHome, after: OpenClawHome, agent: ImportedAgent, vault: Path) -> bool:
    """Return whether the settings differ only by the vault as an extra path of the agent."""
    old, new = before.agents.get(agent.id), after.agents.get(agent.id)
    if old is None or new is None:
        return False
    others = {name: each for name, each in before.agents.items() if name != agent.id}
    if others != {name: each for name, each in after.agents.items() if name != agent.id}:
        return False
    gained = [each for each in new.settings.extra_paths if each not in old.settings.extra_paths]
    without = msgspec.structs.replace(new.settings, extra_paths=old.settings.extra_paths)
    is_vault = [(each.path, each.pattern in (None, PATTERN)) for each in gained] == [(str(vault), True)]
    return is_vault and replace(new, settings=without) == old


def _is_vault(extra: ExtraPath, agent: ImportedAgent, vault: Path) -> bool:
    """Return whether an extra path is the vault itself; a folder around it may exclude it."""
    named = absolute_path(extra.path, base=agent.workspace, home=agent.home)
    return Path(os.path.realpath(named)) == vault and extra.pattern in (None, "*.md", PATTERN)


def _entry_places(
    document: Mapping[str, object], agent: ImportedAgent, vault: str
) -> Iterator[tuple[Keys, object]]:
    """Yield the lists that the entry may go into, each with the entry's form there.

    An agent with its own entry gets it only there. Older releases get the path without a pattern.
    """
    agents = _map(document, "agents")
    named = agents.get("list")
    newer = {"path": vault, "pattern": PATTERN}
    is_stamped = (release_of(document) or (0, 0)) >= NEWER_FROM
    own: list[tuple[Keys, object]] = [
        (("agents", "list", number, "memory", "search", "extraPaths"), newer)
        if is_stamped
        else (("agents", "list", number, "memorySearch", "extraPaths"), vault)
        for number, each in enumerate(named if isinstance(named, list) else ())
        if isinstance(each, Mapping) and agent_id_of(str(each.get("id", ""))) == agent.id
    ]
    for name in _map(agents, "entries"):
        if agent_id_of(str(name)) == agent.id:
            own.append((("agents", "entries", name, "memory", "search", "extraPaths"), newer))
    if own:
        yield own[0]
    elif _is_newer(document):
        yield ("memory", "search", "extraPaths"), newer
        yield ("agents", "entries", agent.id, "memory", "search", "extraPaths"), newer
    else:
        yield ("agents", "defaults", "memorySearch", "extraPaths"), vault
        yield ("agents", "list"), {"id": agent.id, "memorySearch": {"extraPaths": [vault]}}


def _is_newer(document: Mapping[str, object]) -> bool:
    """Return whether settings have the form of current OpenClaw releases."""
    agents = _map(document, "agents")
    release = release_of(document)
    if "search" in _map(document, "memory") or "entries" in agents or (release or (0, 0)) >= NEWER_FROM:
        return True
    return release is None and not ("list" in agents or "memorySearch" in _map(agents, "defaults"))


def _map(document: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Return the object under a key; empty if there is none."""
    value = document.get(key)
    return value if isinstance(value, Mapping) else {}


def _lines(document: Mapping[str, object], agent: ImportedAgent, vault: Path) -> str:
    """Return the entry as JSON for the user to add."""
    entry: object
    if _is_newer(document):
        paths = {"extraPaths": [{"path": str(vault), "pattern": PATTERN}]}
        entry = {"agents": {"entries": {agent.id: {"memory": {"search": paths}}}}}
    else:
        entry = {"agents": {"list": [{"id": agent.id, "memorySearch": {"extraPaths": [str(vault)]}}]}}
    return json.dumps(entry, indent=2, ensure_ascii=False)
