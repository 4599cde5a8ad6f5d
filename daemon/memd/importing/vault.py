"""An Obsidian vault as an extra path of one agent: one entry in openclaw.json, and nothing else in that file moved.

An edit is made only where both readings of the file, before and after, differ in that one path of that one agent.
Everything else is left to the user, who is given the lines.
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

from memd.importing.agents import Agent
from memd.importing.sources import LIMIT_BYTES, LeftOut
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
"""Keeps OpenClaw's own engine out of hidden folders such as `.obsidian` and `.trash`, into which memd never goes."""


@dataclass(frozen=True, slots=True)
class VaultPlan:
    """What would be done for a vault.

    Attributes:
        state: `NEW`: the entry will be made; `SAME`: it is there; `BY_HAND`: the user has to make it.
        vault: The real path.
        reason: Why, where it has to be made by hand.
        lines: The entry, to be made by hand.
        files: Markdown files in it.
        size: Their bytes together.
        left_out: What of it will not be searched.
        before: What openclaw.json holds; None where there is none.
        after: What it will hold.
    """

    state: str
    vault: Path
    reason: str = ""
    lines: str = ""
    files: int = 0
    size: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    before: bytes | None = field(default=None, repr=False)
    after: str = field(default="", repr=False)


def plan_vault(source: Path, agent: Agent) -> VaultPlan:
    """Return what has to be done so that an agent searches a vault. Writes nothing."""
    vault = Path(os.path.realpath(source))
    if not vault.is_dir():
        raise FileMissingError(
            f"there is no folder {vault}", hint="Name the vault's folder: the one .obsidian is in."
        )
    workspace = Path(os.path.realpath(agent.workspace))
    if vault == workspace or vault in workspace.parents or workspace in vault.parents:
        raise BadParamsError(
            f"the vault {vault} and the workspace {workspace} lie in one another",
            hint="A folder in the workspace's memory/ is searched already; move the workspace out of the vault.",
            data={"path": str(vault)},
        )
    looked = discover(vault, [ExtraPath(path=".", pattern=PATTERN)], LIMIT_BYTES)
    size = sum(found.size for found in looked.files.values())
    left = [LeftOut(f"{vault}/{each.path}", each.reason) for each in looked.skipped + looked.partial]
    facts: dict[str, Any] = {"files": len(looked.files), "size": size, "left_out": left}
    document = load_document(agent.config)
    try:
        before: bytes | None = _bytes_of(agent.config)
    except (OSError, ValueError) as error:
        raise _unwritable(agent.config, "it can't be read") from error
    now = _resolved(document, agent)
    mine = now.agents.get(agent.id)
    if mine is not None and any(_leads_to(each, agent, vault) for each in mine.settings.extra_paths):
        return VaultPlan(SAME, vault, "it is an extra path of this agent already", **facts)
    text = "{}\n" if before is None else before.decode("utf-8-sig")
    for keys, value in _places(document, agent, str(vault)):
        with contextlib.suppress(ValueError, RecursionError):
            after = append(text, keys, value, JSON5)
            read = json5.loads(after)
            if read == value_of(after, JSON5) and _differs_so(now, _resolved(read, agent), agent, vault):
                bom = "\ufeff" if before is not None and before.startswith(b"\xef\xbb\xbf") else ""
                return VaultPlan(NEW, vault, before=before, after=bom + after, **facts)
    reason = f"{agent.config} has no place for it that would change nothing else"
    return VaultPlan(BY_HAND, vault, reason, _lines(document, agent, vault), **facts)


def carry_out_vault(plan: VaultPlan, config: Path, stamp: str) -> Path | None:
    """Write the entry, whole or not at all, beside a copy of the file as it was."""
    real = Path(os.path.realpath(config))
    backup = real.with_name(f"{real.name}.before-import-{stamp}")
    try:
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with temp_file(real.parent) as (handle, spare):
            with open(handle, "wb", closefd=False) as file:
                file.write(plan.after.encode())
            os.fsync(handle)
            if _bytes_of(real) != plan.before:
                raise _unwritable(config, "somebody has changed it since; import again")
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
    """Give a file that wasn't there, for its owner alone: settings hold keys."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:
        yield file


def _bytes_of(path: Path) -> bytes | None:
    """Return what a file holds, None where there is none."""
    try:
        return load_whole(path, MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        return None


def _unwritable(config: Path, why: str) -> NoteUnwritableError:
    """Return the error for settings that can't be written."""
    return NoteUnwritableError(
        f"{config} is left as it was: {why}",
        hint="Make the entry by hand: `memctl import obsidian PATH --dry-run --json` shows it.",
        data={"path": str(config)},
    )


def _resolved(document: object, agent: Agent) -> OpenClawHome:
    """Return the agents and their settings that a document describes."""
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


def _differs_so(before: OpenClawHome, after: OpenClawHome, agent: Agent, vault: Path) -> bool:
    """Return whether two readings differ in the agent's extra path alone."""
    old, new = before.agents.get(agent.id), after.agents.get(agent.id)
    if old is None or new is None:
        return False
    others = {name: each for name, each in before.agents.items() if name != agent.id}
    if others != {name: each for name, each in after.agents.items() if name != agent.id}:
        return False
    gained = [each for each in new.settings.extra_paths if each not in old.settings.extra_paths]
    without = msgspec.structs.replace(new.settings, extra_paths=old.settings.extra_paths)
    is_it = [(each.path, each.pattern in (None, PATTERN)) for each in gained] == [(str(vault), True)]
    return is_it and replace(new, settings=without) == old


def _leads_to(extra: ExtraPath, agent: Agent, vault: Path) -> bool:
    """Return whether an extra path is the vault. A folder around it may leave it out, as a hidden one."""
    named = absolute_path(extra.path, base=agent.workspace, home=agent.home)
    return Path(os.path.realpath(named)) == vault and extra.pattern in (None, "*.md", PATTERN)


def _places(document: Mapping[str, object], agent: Agent, vault: str) -> Iterator[tuple[Keys, object]]:
    """Give the lists the entry may go into, each with what would be put into it.

    An agent that has an entry of its own gets it there and nowhere else. Older releases get the path alone.
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
    """Return whether settings are written as today's OpenClaw has them."""
    agents = _map(document, "agents")
    release = release_of(document)
    if "search" in _map(document, "memory") or "entries" in agents or (release or (0, 0)) >= NEWER_FROM:
        return True
    return release is None and not ("list" in agents or "memorySearch" in _map(agents, "defaults"))


def _map(document: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Return an object inside another, an empty one for anything else."""
    value = document.get(key)
    return value if isinstance(value, Mapping) else {}


def _lines(document: Mapping[str, object], agent: Agent, vault: Path) -> str:
    """Return the entry as somebody would write it by hand."""
    entry: object
    if _is_newer(document):
        paths = {"extraPaths": [{"path": str(vault), "pattern": PATTERN}]}
        entry = {"agents": {"entries": {agent.id: {"memory": {"search": paths}}}}}
    else:
        entry = {"agents": {"list": [{"id": agent.id, "memorySearch": {"extraPaths": [str(vault)]}}]}}
    return json.dumps(entry, indent=2, ensure_ascii=False)
