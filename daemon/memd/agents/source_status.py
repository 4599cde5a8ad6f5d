"""Status of the sources of other programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from memd.index.transcripts import SourceCounts
from memd.programs.program import Places
from memd.settings.known_sources import KNOWN_SOURCES
from memd.sources.added import AddedSource, known_configs, open_source
from memd.sources.agent_sources import Sources
from memd.sources.retained import KeptCopies
from memd.sources.source import Transcripts
from memd_client.reports import SourceStatus


def describe_sources(
    sources: Sources, counts: Mapping[str, SourceCounts], agent_id: str
) -> list[SourceStatus]:
    """Return the status of an agent's sources."""
    return [
        describe_source(each, sources.seen.get(name), counts.get(name), agent_id)
        for name, each in sources.added.items()
    ]


def find_sources(places: Places, known: Collection[str], max_file_bytes: int) -> list[SourceStatus]:
    """Return the sources on this machine that no agent has (blocking)."""
    found = []
    for config in known_configs():
        if config.name in known:
            continue
        source = open_source(config, places, max_file_bytes)
        try:
            status = describe_source(source, source.store.find())
        finally:
            source.store.close()
        if status.files or status.left_out or status.problems:
            found.append(status)
    return found


def describe_removed(agent_id: str, name: str, copies: KeptCopies) -> SourceStatus:
    """Return the status of a removed source: only its copies exist."""
    kept = copies.all().values()
    places, number, size = [str(copies.folder)], len(kept), sum(copy.size for copy in kept)
    return SourceStatus(name, name, "transcripts", agent_id, places, kept=number, kept_bytes=size)


def describe_source(
    source: AddedSource, seen: Transcripts | None, counts: SourceCounts | None = None, agent_id: str = ""
) -> SourceStatus:
    """Return a source's status from the last scan of it, and from the index."""
    config, scanned = source.config, seen or Transcripts()
    known = KNOWN_SOURCES.get(config.program)
    copies = source.kept.copies.all().values() if source.kept is not None else ()
    kept = [copy for copy in copies if copy.is_deleted]
    newest = max((found.mtime_ns // 1_000_000 for found in scanned.found.values()), default=None)
    left_out = dict(scanned.left_out)
    for kind, number in (("machine", counts.machine), ("subagent", counts.subagents)) if counts else ():
        if number:
            left_out[kind] = left_out.get(kind, 0) + number
    return SourceStatus(
        name=config.name,
        title=known.title if known is not None else config.name,
        kind=config.kind,
        agent=agent_id,
        locations=[str(each) for each in source.locations],
        files=len(scanned.found),
        bytes=sum(found.size for found in scanned.found.values()),
        sessions=counts.sessions if counts is not None else 0,
        messages=counts.messages if counts is not None else 0,
        redactions=counts.redactions if counts is not None else 0,
        unknown=counts.unknown if counts is not None else 0,
        left_out=left_out,
        newest_ms=newest,
        keep=config.keep,
        kept=len(kept),
        kept_bytes=sum(copy.size for copy in kept),
        problems=list(scanned.problems),
    )
