"""Explains searches without results: the reason, and a hint."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import trio
from msgspec import Struct
from msgspec.structs import replace

from memd.programs.catalog import OPENCLAW_SOURCE
from memd.settings.sources import BUILT_IN_SOURCES
from memd.sources.source import Listing
from memd.sync.text.text_sync import TextSync
from memd.text.query.typos import find_similar_paths, folders_of
from memd_client.errors import MemdError
from memd_client.messages import EmptyResult, SearchParams, SearchReply, SkippedFile

MAX_PROJECTS = 10
"""Most projects that a hint names."""

SCAN_TIMEOUT_S = 1.0
"""How long an empty reply waits for a scan of the files; without one its reason is `no_match`."""


class SearchedSources(Struct, frozen=True):
    """The files and transcripts that a search covers.

    Attributes:
        agent: Id of the agent.
        workspace: Folder of its notes.
        sources: Sources that the settings include, each with its kind: `notes` or `transcripts`.
        disk: Existing files and transcripts; None if they could not be scanned.
        excluded: Files that are not indexed, or only in part.
        is_looking: Whether memd is still asking the remote for changes of other machines.
        projects: Names of all projects if the requested one is none of them.
    """

    agent: str
    workspace: Path
    sources: Mapping[str, str]
    disk: Listing | None = None
    excluded: Collection[SkippedFile] = ()
    is_looking: bool = False
    projects: Sequence[str] | None = None


async def explain_empty(
    reply: SearchReply, params: SearchParams, memory: SearchedSources, text: TextSync
) -> EmptyResult:
    """Return the reason for a reply without hits, from the current files."""

    def scan() -> SearchedSources:
        disk = text.sources.find()
        return replace(memory, disk=disk, excluded=text.excluded(disk))

    with (
        suppress(MemdError),
        trio.move_on_after(SCAN_TIMEOUT_S),
    ):  # the reply already reports that files can't be scanned
        memory = await trio.to_thread.run_sync(scan, abandon_on_cancel=True)
    return find_reason(reply, params, memory)


def find_reason(reply: SearchReply, params: SearchParams, memory: SearchedSources) -> EmptyResult:
    """Return the first reason that explains an empty reply."""
    wanted = set(params.sources or memory.sources)
    if wanted == {OPENCLAW_SOURCE} and OPENCLAW_SOURCE not in memory.sources:
        return EmptyResult(
            "sessions_not_indexed",
            f"Transcripts of agent {memory.agent} are not indexed.",
            "Set memory.search.experimental.sessionMemory to true and "
            f'add "{OPENCLAW_SOURCE}" to memory.search.sources.',
        )
    unknown = sorted(wanted - {*memory.sources, *BUILT_IN_SOURCES})
    if unknown and not wanted & set(memory.sources):
        return EmptyResult(
            "source_unknown",
            f"Agent {memory.agent} has no source {unknown[0]}.",
            f"Its sources are {', '.join(memory.sources)}; `memctl sources` lists what can be added.",
        )
    if memory.is_looking:
        return EmptyResult(
            "remote_pending",
            "Nothing found yet: memd is asking the remote for changes.",
            "Search again in a moment.",
        )
    disk = memory.disk
    if disk is None:
        return _no_match(reply, params)
    paths = [path for path, found in disk.files.items() if found.source in wanted]
    has_notes = any(found.source != OPENCLAW_SOURCE for found in disk.files.values())
    if not paths or ("memory" in wanted and disk.is_missing and not has_notes):
        return _no_files(memory, disk, wanted)
    if params.path is not None:
        refused = {each.path: each.reason for each in memory.excluded if each not in disk.partial}
        if not any(path.startswith(params.path) and path not in refused for path in paths):
            return _no_path(params.path, paths, refused, memory.workspace)
    if reply.pending.files:
        files = (
            "1 changed file is" if reply.pending.files == 1 else f"{reply.pending.files:,} changed files are"
        )
        return EmptyResult(
            "indexing", f"Nothing found yet: {files} not indexed.", "Search again in a moment."
        )
    if memory.projects is not None:
        known = ", ".join(memory.projects[:MAX_PROJECTS])
        return EmptyResult(
            "project_unknown",
            f"No conversation of agent {memory.agent} was held in a project {params.project!r}.",
            f"Known projects are {known}." if known else "No conversation names its project.",
        )
    return _no_match(reply, params)


def _no_files(memory: SearchedSources, disk: Listing, wanted: set[str]) -> EmptyResult:
    """Return the reason for a search without any files."""
    if wanted == {OPENCLAW_SOURCE}:
        return EmptyResult(
            "no_transcripts",
            f"Agent {memory.agent} has no transcripts.",
            "The first conversation of the agent leaves one.",
        )
    if not wanted & set(BUILT_IN_SOURCES):
        has_notes = "notes" in {memory.sources.get(name) for name in wanted}
        what, names = "files" if has_notes else "conversations", " or ".join(sorted(wanted))
        return EmptyResult(
            "source_empty",
            f"There are no {what} in {names}.",
            "`memctl sources` shows its folders and problems.",
        )
    if disk.is_missing:
        return EmptyResult(
            "workspace_missing",
            f"The workspace {memory.workspace} of agent {memory.agent} does not exist.",
            "Create it, or correct the agent's `workspace` in the settings.",
        )
    return EmptyResult(
        "no_notes",
        f"Agent {memory.agent} has no notes.",
        f"Write Markdown to MEMORY.md or memory/ in {memory.workspace}.",
    )


def _no_path(path: str, paths: list[str], refused: dict[str, str], workspace: Path) -> EmptyResult:
    """Return the reason for a search whose path filter matches no indexed file."""
    shown = path[:200]
    message = f"No indexed file has a path that starts with {shown}."
    for excluded, reason in sorted(refused.items()):
        if excluded.startswith(path) or path.startswith(f"{excluded.rstrip('/')}/"):
            named = reason if reason.startswith(excluded) else f"{excluded[:200]} is not indexed: {reason}"
            return EmptyResult("path_matches_nothing", message, f"{named.rstrip('.')}.")
    near = find_similar_paths(path.removeprefix(f"{workspace}/"), [*folders_of(paths), *paths], 1)
    hint = (
        f"Use {near[0]} as path." if near else "Paths start at the workspace, such as memory/2026-01-16.md."
    )
    return EmptyResult("path_matches_nothing", message, hint)


def _no_match(reply: SearchReply, params: SearchParams) -> EmptyResult:
    """Return the reason for a search in which no text matched."""
    if params.origins is not None:
        names = " or ".join(params.origins)
        hint = "Search without origins: what matches may be the words of others."
        return EmptyResult("no_match", f"No relevant results in the words of origin {names}.", hint)
    hint = "Search with min_score 0 to see the nearest ones."
    if params.min_score is not None and params.min_score <= 0:
        hint = "Search for other words."
    elif reply.mode == "keyword":
        hint = "Search for other words, or with min_score 0 for weaker matches."
    return EmptyResult("no_match", "No relevant results.", hint)
