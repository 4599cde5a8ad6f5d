"""Indexes files: reads them, cuts them into chunks, and writes or deletes their rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from enum import Enum
from typing import NamedTuple

import trio
from msgspec import Struct
from msgspec.structs import replace

from memd.index.annotations import has_current_annotations, note_current_annotations, store_annotations
from memd.index.connection import Database, IndexFile
from memd.index.files import FileRow, IndexChange, forget_file, load_files, publish_file, touch_file
from memd.index.meta import ADOPTED, find_chunking_scheme, set_chunking_scheme
from memd.index.origins import find_new_texts, load_lines, store_fetched, store_origins
from memd.index.transcripts import StoredTranscript, store_transcript
from memd.index.work import RAN, store_work
from memd.settings.schema import Chunking
from memd.sources.agent_sources import AgentSources
from memd.sources.source import FileText, Listing, SourceFile
from memd.sync.text.changes import CLOCK_GRAIN_MS, Changes, compare
from memd.sync.text.inherit import Release, compare_new_texts, store_note_origins
from memd.system.clock import Clock
from memd.system.log import log
from memd.system.metrics import METER
from memd.text.cut.annotations import AnnotatedEntry, find_annotated, find_fact_days, hide_annotations
from memd.text.cut.chunking import Chunk, chunk_text_at_breaks, cut_chunks
from memd_client.errors import FileMissingError, FileUnreadableError, MemdError
from memd_client.messages import SkippedFile

DEFAULT_SCHEME = "passages 1"
"""Stored name of memd's own chunking scheme. Its number is the version of `memd.text.cut.chunking`: if an index has
another one, all its files are chunked again."""


class ChunkingScheme(NamedTuple):
    """A way to cut files into chunks; schemes of the same name are the same."""

    name: str
    cut: Callable[[str, str, Collection[int]], list[Chunk]]
    """(text, path in the index, lines at which a chunk must end) -> chunks."""


def choose_scheme(chunking: Chunking, remembered: str | None) -> ChunkingScheme:
    """Return the chunking scheme of an agent: by its settings, the adopted one, or memd's own."""
    if chunking.sizes_set:
        return _by_size(f"lines {chunking.tokens} {chunking.overlap}", chunking.tokens, chunking.overlap)
    if remembered is not None and remembered.startswith(ADOPTED):
        tokens, overlap = remembered.split()[1:]
        return _by_size(remembered, int(tokens), int(overlap))
    return ChunkingScheme(DEFAULT_SCHEME, cut_chunks)


def cut_conversations(
    text: str, first_lines: Sequence[int], cut: Callable[[str], list[Chunk]]
) -> list[Chunk]:
    """Return the chunks of a transcript; no chunk has lines of two conversations.

    Each conversation's offsets are shifted by one more character, so that chunks of adjacent conversations don't
    adjoin and the text shown around a chunk ends with its conversation.
    """
    if not first_lines:
        return cut(text)
    lines = text.split("\n")
    starts = sorted({0, *(line - 1 for line in first_lines if line <= len(lines))})
    chunks: list[Chunk] = []
    offset = 0
    for number, (first, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True)):
        part = "\n".join(lines[first:end])
        chunks += [
            replace(
                chunk,
                start_line=chunk.start_line + first,
                end_line=chunk.end_line + first,
                start=chunk.start + offset + number,
            )
            for chunk in cut(part)
        ]
        offset += len(part) + 1
    return chunks


def _by_size(name: str, tokens: int, overlap: int) -> ChunkingScheme:
    """Return OpenClaw's chunking scheme for some sizes, in tokens."""
    return ChunkingScheme(name, lambda text, _, breaks: chunk_text_at_breaks(text, tokens, overlap, breaks))


SETTLE_MS = 1000
"""An empty file that had text is probably being rewritten: it is indexed as empty only after this time."""


TEMPORARY_REASONS = ("moving", "descriptors")
"""Temporary reasons for which a file can't be read: it is retried, and its rows stay."""


class FileOutcome(Enum):
    """Outcome of indexing a file."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    BUSY = "busy"
    """It is being written to, or can't be opened at the moment: retried soon."""


class _Draft(Struct, frozen=True):
    """The rows to write for a file that was read; `chunks` is None if its text is unchanged."""

    row: FileRow
    file: FileText
    chunks: list[Chunk] | None
    entries: Sequence[AnnotatedEntry] = ()


class FileRows:
    """One agent's indexed files. Only the syncing task changes them.

    Attributes:
        by_path: The rows of indexed files.
        refused: Files that can't be indexed, with their stat when they were read.
        reasons: The reasons for those.
    """

    def __init__(
        self,
        agent_id: str,
        index: IndexFile,
        sources: AgentSources,
        *,
        chunking: Chunking,
        clock: Clock,
        disk: trio.CapacityLimiter,
        on_published: Callable[[IndexChange], None],
        release: Release = lambda path, lines, origins: origins,
    ) -> None:
        self.agent_id = agent_id
        self._release = release
        self._index = index
        self._sources = sources
        self._chunking = chunking
        self._scheme = choose_scheme(chunking, None)
        self._clock = clock
        self._disk = disk
        self._on_published = on_published
        self.by_path: dict[str, FileRow] = {}
        self.refused: dict[str, SourceFile] = {}
        self.reasons: dict[str, SkippedFile] = {}
        self._young: dict[str, tuple[tuple[int, ...], float]] = {}
        self._version = 0
        self._settled: tuple[int, dict[str, SourceFile]] = (-1, {})

    def __repr__(self) -> str:
        return f"<FileRows {len(self.by_path)} files, {len(self.refused)} refused>"

    async def load(self) -> None:
        """Load the rows from the index."""
        self.by_path = await self._index.read(load_files)
        self._version += 1

    async def has_other_scheme(self, *, forced: bool = False) -> bool:
        """Return whether the index has another chunking scheme than the current one, so that all files are read."""
        remembered, is_current = await self._index.read(
            lambda db: (find_chunking_scheme(db), has_current_annotations(db))
        )
        self._scheme = choose_scheme(self._chunking, None if forced else remembered)
        return bool(self.by_path) and not (is_current and remembered == self._scheme.name)

    async def remember_scheme(self) -> None:
        """Record the chunking scheme after all files were chunked with it."""
        name = self._scheme.name

        def is_recorded(db: Database) -> bool:
            return find_chunking_scheme(db) == name and has_current_annotations(db)

        def record(db: Database) -> None:
            set_chunking_scheme(db, name)
            note_current_annotations(db)

        if not await self._index.read(is_recorded):
            await self._index.write(record)

    def behind(self, disk: Listing, *, force: bool = False) -> Changes:
        """Return the differences between a scan and the current rows; all files with `force`."""
        for path in self._sources.authors.find_moved():
            if (row := self.by_path.get(path)) is not None:
                self.by_path[path] = replace(row, hash="?", indexed_at=0)
                self._version += 1
        # Read first: if rows change during the comparison, its result is not reused.
        version = self._version
        if not force and self.is_settled(disk):
            return Changes([], [])
        changes = compare(disk, self.by_path, self.refused, force=force)
        if not changes and not disk.unseen:
            self._settled = (version, disk.files)
        return changes

    def is_settled(self, disk: Listing) -> bool:
        """Return whether a scan is known to equal the rows; costs at most one comparison of two dicts."""
        version, files = self._settled
        if version != self._version or (files is not disk.files and files != disk.files):
            return False
        self._settled = (version, disk.files)  # the next comparison is by identity
        return True

    def keep_refused(self, disk: Listing) -> None:
        """Forget refused files that were deleted."""
        self.refused = {path: found for path, found in self.refused.items() if path in disk.files}
        self.reasons = {path: reason for path, reason in self.reasons.items() if path in self.refused}
        self._version += 1

    def expire(self, path: str) -> None:
        """Have an indexed file read again by the next pass."""
        self.by_path[path] = replace(self.by_path[path], hash="", mtime_ns=0)
        self._version += 1

    async def take(self, group: Sequence[SourceFile], *, force: bool = False) -> list[FileOutcome]:
        """Read some files and write them in one transaction; record the reasons of unreadable ones."""
        started = time.perf_counter()
        taken = await self._take(group, force)
        share_s = (time.perf_counter() - started) / len(taken) if taken else 0.0
        for outcome in taken:
            METER.count("memd_files_checked_total", self.agent_id, outcome.value)
            METER.observe(share_s, "memd_file_seconds")
        return taken

    async def _take(self, group: Sequence[SourceFile], force: bool) -> list[FileOutcome]:
        taken = []
        drafts = []
        for found, draft in await trio.to_thread.run_sync(self._draft_all, group, force, limiter=self._disk):
            if isinstance(draft, MemdError):
                taken.append(await self._leave_out(found, draft))
            else:
                drafts.append(draft)
                taken.append(FileOutcome.UNCHANGED if draft.chunks is None else FileOutcome.CHANGED)
        if drafts:
            await self._publish(drafts)
        return taken

    async def _leave_out(self, found: SourceFile, error: MemdError) -> FileOutcome:
        """Delete the rows of a missing file, or record why a file can't be read."""
        if isinstance(error, FileMissingError):
            row = self.by_path.get(found.path)
            if row is not None:
                await self.forget(row)
            return FileOutcome.DELETED
        if error.data.get("reason") in TEMPORARY_REASONS:
            return FileOutcome.BUSY
        await self._refuse(found, error)
        return FileOutcome.CHANGED

    async def _publish(self, drafts: list[_Draft]) -> None:
        """Write files in one transaction; if that fails, one by one, so that one file doesn't block others."""
        try:
            published = await self._index.write(
                lambda db: [_write(db, draft, self._release) for draft in drafts]
            )
        except MemdError:
            if len(drafts) == 1:
                raise
            for draft in drafts:
                await self._publish([draft])
            return
        for draft, change in zip(drafts, published, strict=True):
            self.refused.pop(draft.row.path, None)
            self.by_path[draft.row.path] = draft.row
            self._version += 1
            if change is not None:
                self._report(change)

    def _report(self, published: IndexChange) -> None:
        """Count a committed change and pass it on."""
        if published.chunks_added:
            METER.count("memd_chunks_written_total", self.agent_id, by=published.chunks_added)
        self._on_published(published)

    async def compare_new_texts(self) -> None:
        """Compare notes with texts that were read before they were written, but indexed after them."""
        while await self._index.read(find_new_texts):
            await self._index.write(lambda db: compare_new_texts(db, self._release))

    def _draft_all(
        self, group: Sequence[SourceFile], force: bool
    ) -> list[tuple[SourceFile, _Draft | MemdError]]:
        """Read files and return their drafts, or the errors of those that can't be read (blocking)."""
        drafts: list[tuple[SourceFile, _Draft | MemdError]] = []
        for found in group:
            try:
                drafts.append((found, self._draft(found, force)))
            except MemdError as error:
                drafts.append((found, error))
        return drafts

    def _draft(self, found: SourceFile, force: bool) -> _Draft:
        began_s, began_ms = time.monotonic(), self._clock()
        file = self._read(found)
        chunks, entries = self._chunk(file, found, force)
        moment = self._moment(found.path, file, began_s, began_ms)
        row = FileRow(
            found.path, found.source, file.hash, file.mtime_ns, file.size, file.inode, file.ctime_ns, moment
        )
        return _Draft(row, file, chunks, entries)

    def _moment(self, path: str, file: FileText, began_s: float, began_ms: int) -> int:
        """Return the time a file counts as indexed: when reading began, unless the file's time is in the future.

        A file indexed within `CLOCK_GRAIN_MS` of its last write is read again, because a further write may have the
        same time. If the clock was set back, every scan would do so until the clock catches up: such a file counts as
        unchanged once it was read twice with that distance.
        """
        stamped_ms = file.ctime_ns // 1_000_000
        if began_ms - stamped_ms > CLOCK_GRAIN_MS:
            self._young.pop(path, None)
            return began_ms
        state = (file.mtime_ns, file.size, file.inode, file.ctime_ns)
        before, read_s = self._young.get(path, (None, 0.0))
        if before != state:
            self._young[path] = (state, time.monotonic())
        elif began_s - read_s > CLOCK_GRAIN_MS / 1000:
            return stamped_ms + CLOCK_GRAIN_MS + 1
        return began_ms

    def _read(self, found: SourceFile) -> FileText:
        """Return a file's text; raise if it was emptied just now."""
        file = self._sources.load(found)
        row = self.by_path.get(found.path)
        if row is not None and row.hash != file.hash and row.size and not file.text.strip():
            self._check_emptied(file, found.path)
        return file

    def _chunk(
        self, file: FileText, found: SourceFile, force: bool
    ) -> tuple[list[Chunk] | None, list[AnnotatedEntry]]:
        """Return a file's chunks and annotated entries; None for the chunks if its text is unchanged."""
        row = self.by_path.get(found.path)
        if row is not None and row.hash == file.hash and not force:
            return None, []
        if not file.text.strip():
            return [], []
        if found.is_conversation:
            first_lines = [reset.first_line for reset in file.resets]
            return cut_conversations(
                file.text, first_lines, lambda part: self._scheme.cut(part, found.path, ())
            ), []
        text, entries = hide_annotations(file.text), find_annotated(file.text, found.path)
        breaks = {line for entry in entries for line in (entry.start_line, entry.end_line + 1)}
        return (self._scheme.cut(text, found.path, breaks) if text.strip() else []), entries

    def _check_emptied(self, file: FileText, path: str) -> None:
        """Raise if a file was emptied so recently that a program may be rewriting it."""
        if 0 <= self._clock() - file.ctime_ns // 1_000_000 < SETTLE_MS:
            raise FileUnreadableError(
                f"{path} was emptied a moment ago", data={"path": path, "reason": "moving"}
            )

    async def _refuse(self, found: SourceFile, error: MemdError) -> None:
        log.warning(
            "sync.file_refused", path=found.path, code=error.code, reason=error.data.get("reason", "")
        )
        self.refused[found.path] = found
        self._version += 1
        self.reasons[found.path] = SkippedFile(found.path, f"{error.message}; {error.hint}")
        row = self.by_path.get(found.path)
        if row is not None:
            await self.forget(row)

    async def forget(self, row: FileRow) -> None:
        """Delete a file's rows."""

        def forget(db: Database) -> IndexChange:
            return forget_file(db, row.path)

        published = await self._index.write(forget)
        self.by_path.pop(row.path, None)
        self._version += 1
        self._young.pop(row.path, None)
        self._report(published)


def _write(db: Database, draft: _Draft, release: Release) -> IndexChange | None:
    """Write a draft; return the change, or None if the text is unchanged and only the file's row was updated."""
    row, file = draft.row, draft.file
    if draft.chunks is None:
        touch_file(db, row)
        return None
    is_conversation = bool(file.line_map or file.facts.program)
    before = [] if is_conversation else load_lines(db, row.path)  # a long conversation grows line by line
    published = publish_file(db, row, draft.chunks, row.indexed_at)
    store_annotations(db, row.path, draft.entries, find_fact_days(file.text, row.path))
    if is_conversation:
        last_from = file.resets[-1].first_line if file.resets else 1
        work, facts = file.work or (), file.facts
        if work:
            changed = {row.subject for row in work if row.action not in (RAN, "read")}
            commands = sum(row.action == RAN for row in work)
            facts = facts._replace(commands=commands, files=len(changed))
        transcript = StoredTranscript(file.line_map, file.times, file.redactions, last_from, facts)
        store_transcript(db, row.path, transcript)
        store_origins(db, row.path, release(row.path, file.text.split("\n"), file.origins))
    else:
        known = {line.strip() for line in before}
        store_note_origins(db, row, hide_annotations(file.text), file.origins, known, release)
    if file.work is not None:
        store_work(db, row.path, file.work)
    if file.fetches is not None:
        store_fetched(db, row.path, file.fetches)
    return published
