"""Status of the sources of other programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from memd.agents.open_agent import OpenAgent
from memd.index.transcripts import SourceCounts
from memd.programs.catalog import KNOWN_SOURCES, Places
from memd.settings.agents import AgentConfig
from memd.settings.sources import SourceConfig
from memd.sources.exclusions import EXCLUDED
from memd.sources.open import OpenedSource, known_configs, open_source
from memd.sources.retained import RetainedConversations, RetainedCopies
from memd.sources.source import Listing
from memd_client.agent_parts import SourceStatus


def describe_sources(
    config: AgentConfig, opened: OpenAgent, counts: Mapping[str, SourceCounts]
) -> list[SourceStatus]:
    """Return the status of the sources that an agent's settings add."""
    listings = opened.sources.listings
    return [
        describe_source(
            each, opened.added[each.name], listings.get(each.name), counts.get(each.name), config.id
        )
        for each in config.sources
    ]


def find_sources(places: Places, known: Collection[str], max_file_bytes: int) -> list[SourceStatus]:
    """Return the sources on this machine that no agent has (blocking)."""
    found = []
    for config in known_configs():
        if config.name in known:
            continue
        source = open_source(config, places, max_file_bytes)
        try:
            status = describe_source(config, source, source.source.find())
        finally:
            source.source.close()
        if status.files or status.excluded or status.problems:
            found.append(status)
    return found


def describe_removed(agent_id: str, name: str, copies: RetainedCopies) -> SourceStatus:
    """Return the status of a removed source: only its copies exist."""
    kept = copies.all().values()
    places, number, size = [str(copies.folder)], len(kept), sum(copy.size for copy in kept)
    return SourceStatus(name, name, "transcripts", agent_id, places, retained=number, retained_bytes=size)


def describe_source(
    config: SourceConfig,
    opened: OpenedSource,
    seen: Listing | None,
    counts: SourceCounts | None = None,
    agent_id: str = "",
) -> SourceStatus:
    """Return a source's status from the last scan of it, and from the index."""
    scanned = seen or Listing()
    known = KNOWN_SOURCES.get(config.program)
    source = opened.source
    copies = source.copies.all().values() if isinstance(source, RetainedConversations) else ()
    kept = [copy for copy in copies if copy.is_deleted]
    times = [found.mtime_ns // 1_000_000 for found in scanned.files.values()]
    excluded = dict(scanned.excluded)
    if counts is not None:
        kinds = (("machine", counts.machine), ("subagent", counts.subagents), (EXCLUDED, counts.excluded))
        excluded |= {kind: excluded.get(kind, 0) + number for kind, number in kinds if number}
    return SourceStatus(
        name=config.name,
        title=known.title if known is not None else config.name,
        kind=config.kind,
        agent=agent_id,
        locations=[str(each) for each in opened.locations],
        files=len(scanned.files),
        bytes=sum(found.size for found in scanned.files.values()),
        sessions=counts.sessions if counts is not None else 0,
        messages=counts.messages if counts is not None else 0,
        redactions=counts.redactions if counts is not None else 0,
        unknown=counts.unknown if counts is not None else 0,
        unknown_types=[*counts.unknown_types] if counts is not None else [],
        excluded=excluded,
        newest_ms=max(times, default=None),
        oldest_ms=min(times, default=None),
        keep=config.keep,
        retained=len(kept),
        retained_bytes=sum(copy.size for copy in kept),
        problems=list(scanned.problems),
        commands=counts.work.commands if counts is not None else 0,
        file_steps=counts.work.files if counts is not None else 0,
        work_bytes=counts.work.bytes if counts is not None else 0,
    )
