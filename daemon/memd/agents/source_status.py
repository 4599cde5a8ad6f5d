"""Status of the sources of other programs."""

from __future__ import annotations

from memd.index.transcripts import SourceCounts
from memd.settings.sources import KNOWN_SOURCES
from memd.sync.added_sources import AddedSource
from memd.sync.transcripts.session_source import Transcripts
from memd_client.reports import SourceStatus


def describe_source(
    source: AddedSource, seen: Transcripts | None, counts: SourceCounts | None = None
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
