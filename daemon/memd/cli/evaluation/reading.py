"""An agent's notes, read through the daemon."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from memd.cli.evaluation.notes import NoteKind, NoteText
from memd.programs.catalog import OPENCLAW_SOURCE
from memd_client.errors import FileMissingError, FileUnreadableError, PathRefusedError

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.messages import FileEntry

PAGE_FILES = 1_000
"""Files listed per request; the protocol's limit."""

MAX_NOTES = 2_000
MAX_TRANSCRIPTS = 200
"""Files that queries are made from, chosen by a hash of their paths: reading more takes minutes."""

CURATED = frozenset({"MEMORY.md", "memory.md", "USER.md"})

SPEAKERS = "User Assistant"
"""A query that the chunks of every transcript contain: `get` reads no transcripts, but a search shows their text."""

MAX_HITS = 1_000


def kind_of(entry: FileEntry) -> NoteKind:
    """Return the kind of a file."""
    if entry.source == OPENCLAW_SOURCE:
        return NoteKind.TRANSCRIPT
    if entry.path in CURATED:
        return NoteKind.CURATED
    if not entry.path.startswith("memory/"):
        return NoteKind.EXTRA
    return NoteKind.OTHER if entry.date is None else NoteKind.DAILY


def list_files(client: Client, agent: str) -> list[FileEntry]:
    """Return all files of an agent that are in its index."""
    files: dict[str, FileEntry] = {}
    offset, total = 0, 1
    while offset < total:
        page = client.files(agent=agent, offset=offset, limit=PAGE_FILES)
        files |= {entry.path: entry for entry in page.files if entry.chunks}
        offset, total = offset + PAGE_FILES, page.total
    return list(files.values())


def choose_files(files: Sequence[FileEntry], seed: int) -> list[FileEntry]:
    """Return the files that queries are made from, in an order that depends on paths and seed alone."""

    def digest(entry: FileEntry) -> str:
        return hashlib.blake2b(f"{seed}\0{entry.path}".encode("utf-8", "replace"), digest_size=12).hexdigest()

    ordered = sorted(files, key=digest)
    notes = [entry for entry in ordered if entry.source != OPENCLAW_SOURCE]
    return (
        notes[:MAX_NOTES] + [entry for entry in ordered if entry.source == OPENCLAW_SOURCE][:MAX_TRANSCRIPTS]
    )


def read_notes(
    client: Client, agent: str, files: Sequence[FileEntry], show: Callable[[int, int], None]
) -> Iterator[NoteText]:
    """Yield the texts of some files; files that can't be read any more are left out."""
    for done, entry in enumerate(files, 1):
        if entry.source == OPENCLAW_SOURCE:
            yield from _read_transcript(client, agent, entry)
        else:
            try:
                text = client.get(entry.path, agent=agent).text
            except (FileMissingError, FileUnreadableError, PathRefusedError):
                continue
            yield NoteText(entry.path, kind_of(entry), text, entry.date)
        show(done, len(files))


def _read_transcript(client: Client, agent: str, entry: FileEntry) -> Iterator[NoteText]:
    """Yield the parts of a transcript that keyword search shows; nothing is embedded."""
    reply = client.search(
        SPEAKERS,
        agent=agent,
        max_results=MAX_HITS,
        min_score=0,
        sources=[OPENCLAW_SOURCE],
        path=entry.path,
        lexical_only=True,
    )
    for hit in sorted(reply.hits, key=lambda hit: (hit.start_line, hit.end_line, hit.snippet)):
        if hit.path == entry.path:
            yield NoteText(entry.path, NoteKind.TRANSCRIPT, hit.snippet, lines=(hit.start_line, hit.end_line))
