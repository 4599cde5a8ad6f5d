"""What the index holds of each file, how a file is cut into chunks, and how it gets into the index or out of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

import structlog
import trio

from memd.index.annotations import has_current_annotations, note_current_annotations, store_annotations
from memd.index.connection import Database, IndexFile
from memd.index.files import FileRow, Published, forget_file, load_files, publish_file, touch_file
from memd.index.meta import ADOPTED, find_cut, set_cut
from memd.index.transcripts import store_transcript
from memd.settings.schema import Chunking
from memd.sync.disk.changes import CLOCK_GRAIN_MS, Changes, compare
from memd.sync.disk.discover import Discovery, Found
from memd.sync.disk.read import FileText
from memd.sync.sources import Sources
from memd.system.clock import Clock
from memd.system.metrics import METER
from memd.text.cut.annotations import AnnotatedEntry, find_annotated, hide_annotations
from memd.text.cut.chunking import Chunk, chunk_text_at_breaks, cut_chunks
from memd_client.errors import FileMissingError, FileUnreadableError, MemdError
from memd_client.messages import Skipped

PASSAGES = "passages 1"
"""Our cut. Its number counts the versions of `memd.text.cut.chunking`: with another one all files are cut again."""


class ChunkingScheme(NamedTuple):
    """A way to cut files; two of one name cut alike."""

    name: str
    cut: Callable[[str, str, Collection[int]], list[Chunk]]
    """(text, path in the index, lines no chunk goes across) -> its chunks."""


def choose_scheme(chunking: Chunking, remembered: str | None) -> ChunkingScheme:
    """Return how an agent's files are to be cut."""
    if chunking.sizes_set:
        return _by_size(f"lines {chunking.tokens} {chunking.overlap}", chunking.tokens, chunking.overlap)
    if remembered is not None and remembered.startswith(ADOPTED):
        tokens, overlap = remembered.split()[1:]
        return _by_size(remembered, int(tokens), int(overlap))
    return ChunkingScheme(PASSAGES, cut_chunks)


def cut_conversations(
    text: str, first_lines: Sequence[int], cut: Callable[[str], list[Chunk]]
) -> list[Chunk]:
    """Return the chunks of a transcript; none holds lines of two conversations.

    Offsets of each conversation are one character further on than in the text, so that what is shown around a chunk
    ends where its conversation does: its neighbour doesn't follow without a gap.
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
    """Return the reference's cut for some sizes, in tokens."""
    return ChunkingScheme(name, lambda text, _, breaks: chunk_text_at_breaks(text, tokens, overlap, breaks))


log = structlog.get_logger(__name__)

SETTLE_MS = 1000
"""A file that had text and is empty was most likely caught between truncating and writing: it is believed
to be empty when it has been so for this long."""


NOT_THE_FILES_FAULT = ("moving", "descriptors")
"""Reasons why a file can't be read that pass by themselves: it is tried again, and its rows stay."""


class Taken(Enum):
    """What came of taking a file in."""

    CHANGED = "changed"
    SAME = "same"
    GONE = "gone"
    MOVING = "moving"
    """It was being written to, or could not be opened just then: to be tried again soon."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A file that was read: what to write of it. No chunks where its text is what the index holds."""

    row: FileRow
    file: FileText
    chunks: list[Chunk] | None
    entries: Sequence[AnnotatedEntry] = ()


class FileRows:
    """One agent's files as the index holds them. Only the task that syncs changes them.

    Attributes:
        by_path: What is indexed.
        refused: Files that can't be indexed, as they were when they were read.
        reasons: Why, in words.
    """

    def __init__(
        self,
        agent_id: str,
        index: IndexFile,
        sources: Sources,
        *,
        chunking: Chunking,
        clock: Clock,
        disk: trio.CapacityLimiter,
        on_published: Callable[[Published], None],
    ) -> None:
        self.agent_id = agent_id
        self._index = index
        self._sources = sources
        self._chunking = chunking
        self._scheme = choose_scheme(chunking, None)
        self._clock = clock
        self._disk = disk
        self._on_published = on_published
        self.by_path: dict[str, FileRow] = {}
        self.refused: dict[str, Found] = {}
        self.reasons: dict[str, Skipped] = {}
        self._young: dict[str, tuple[tuple[int, ...], float]] = {}
        self._version = 0
        self._settled: tuple[int, dict[str, Found]] = (-1, {})

    def __repr__(self) -> str:
        return f"<FileRows {len(self.by_path)} files, {len(self.refused)} refused>"

    async def load(self) -> None:
        """Read the rows the index holds."""
        self.by_path = await self._index.read(load_files)
        self._version += 1

    async def has_other_scheme(self, *, forced: bool = False) -> bool:
        """Return whether the index was cut in another way than files are cut now; all are to be read again then."""
        remembered, is_current = await self._index.read(
            lambda db: (find_cut(db), has_current_annotations(db))
        )
        self._scheme = choose_scheme(self._chunking, None if forced else remembered)
        return bool(self.by_path) and not (is_current and remembered == self._scheme.name)

    async def remember_scheme(self) -> None:
        """Note how the files are cut, once all are."""
        name = self._scheme.name

        def is_noted(db: Database) -> bool:
            return find_cut(db) == name and has_current_annotations(db)

        def note(db: Database) -> None:
            set_cut(db, name)
            note_current_annotations(db)

        if not await self._index.read(is_noted):
            await self._index.write(note)

    def behind(self, disk: Discovery, *, force: bool = False) -> Changes:
        """Return how a disk differs from the rows as they are now; all of it with `force`."""
        # It grows after every change: what is compared now is of this one or is never used.
        version = self._version
        if not force and self.is_settled(disk):
            return Changes([], [])
        changes = compare(disk, self.by_path, self.refused, force=force)
        if not changes and not disk.unseen:
            self._settled = (version, disk.files)
        return changes

    def is_settled(self, disk: Discovery) -> bool:
        """Return whether a disk is known not to differ from the rows: by one comparison of two dicts at most."""
        version, files = self._settled
        if version != self._version or (files is not disk.files and files != disk.files):
            return False
        self._settled = (version, disk.files)  # the next one sees that it is the same
        return True

    def keep_refused(self, disk: Discovery) -> None:
        """Forget the refusal of files that are gone."""
        self.refused = {path: found for path, found in self.refused.items() if path in disk.files}
        self.reasons = {path: why for path, why in self.reasons.items() if path in self.refused}
        self._version += 1

    async def take(self, group: Sequence[Found], *, force: bool = False) -> list[Taken]:
        """Read some files and publish them in one transaction; those that can't be read are listed instead."""
        started = time.perf_counter()
        taken = await self._take(group, force)
        share_s = (time.perf_counter() - started) / len(taken) if taken else 0.0
        for outcome in taken:
            METER.count("memd_files_taken_total", self.agent_id, outcome.value)
            METER.observe(share_s, "memd_file_seconds")
        return taken

    async def _take(self, group: Sequence[Found], force: bool) -> list[Taken]:
        taken = []
        drafts = []
        for found, draft in await trio.to_thread.run_sync(self._draft_all, group, force, limiter=self._disk):
            if isinstance(draft, MemdError):
                taken.append(await self._leave_out(found, draft))
            else:
                drafts.append(draft)
                taken.append(Taken.SAME if draft.chunks is None else Taken.CHANGED)
        if drafts:
            await self._publish(drafts)
        return taken

    async def _leave_out(self, found: Found, error: MemdError) -> Taken:
        """Forget a file that is gone, or list one that can't be read."""
        if isinstance(error, FileMissingError):
            row = self.by_path.get(found.path)
            if row is not None:
                await self.forget(row)
            return Taken.GONE
        if error.data.get("reason") in NOT_THE_FILES_FAULT:
            return Taken.MOVING
        await self._refuse(found, error)
        return Taken.CHANGED

    async def _publish(self, drafts: list[_Draft]) -> None:
        """Write files in one transaction; where that fails one by one, so that one holds back no other."""
        try:
            published = await self._index.write(lambda db: [_write(db, draft) for draft in drafts])
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
                self._tell(change)

    def _tell(self, published: Published) -> None:
        """Count and hand on a committed change."""
        if published.chunks_added:
            METER.count("memd_chunks_written_total", self.agent_id, by=published.chunks_added)
        self._on_published(published)

    def _draft_all(self, group: Sequence[Found], force: bool) -> list[tuple[Found, _Draft | MemdError]]:
        """Return what is to be written of each file, or why it can't be read (blocking)."""
        drafts: list[tuple[Found, _Draft | MemdError]] = []
        for found in group:
            try:
                drafts.append((found, self._draft(found, force)))
            except MemdError as error:
                drafts.append((found, error))
        return drafts

    def _draft(self, found: Found, force: bool) -> _Draft:
        began_s, began_ms = time.monotonic(), self._clock()
        file = self._read(found)
        chunks, entries = self._chunk(file, found, force)
        moment = self._moment(found.path, file, began_s, began_ms)
        row = FileRow(
            found.path, found.source, file.hash, file.mtime_ns, file.size, file.inode, file.ctime_ns, moment
        )
        return _Draft(row, file, chunks, entries)

    def _moment(self, path: str, file: FileText, began_s: float, began_ms: int) -> int:
        """Return when a file was indexed: when reading it began, unless its own time lies ahead of the clock.

        One that was indexed so soon after its last write is read again, since another write may have left it the same
        time. Where the clock was set back, that would be at every look until the clock has caught up: such a file is
        known to be settled when it was read twice, further apart than kernels stamp files.
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

    def _read(self, found: Found) -> FileText:
        """Return a file's text, unless it has just been emptied."""
        file = self._sources.load(found)
        row = self.by_path.get(found.path)
        if row is not None and row.hash != file.hash and row.size and not file.text.strip():
            self._believe_empty(file, found.path)
        return file

    def _chunk(
        self, file: FileText, found: Found, force: bool
    ) -> tuple[list[Chunk] | None, list[AnnotatedEntry]]:
        """Return a file's chunks and its annotated entries; None for chunks if the index has the text."""
        row = self.by_path.get(found.path)
        if row is not None and row.hash == file.hash and not force:
            return None, []
        if not file.text.strip():
            return [], []
        if found.source != "memory":
            first_lines = [reset.first_line for reset in file.resets]
            return cut_conversations(
                file.text, first_lines, lambda part: self._scheme.cut(part, found.path, ())
            ), []
        text, entries = hide_annotations(file.text), find_annotated(file.text, found.path)
        breaks = {line for entry in entries for line in (entry.start_line, entry.end_line + 1)}
        return (self._scheme.cut(text, found.path, breaks) if text.strip() else []), entries

    def _believe_empty(self, file: FileText, path: str) -> None:
        """Raise if a file was emptied so recently that a program may be rewriting it."""
        if 0 <= self._clock() - file.ctime_ns // 1_000_000 < SETTLE_MS:
            raise FileUnreadableError(
                f"{path} has just been emptied", data={"path": path, "reason": "moving"}
            )

    async def _refuse(self, found: Found, error: MemdError) -> None:
        log.warning(
            "sync.file_refused", path=found.path, code=error.code, reason=error.data.get("reason", "")
        )
        self.refused[found.path] = found
        self._version += 1
        self.reasons[found.path] = Skipped(found.path, f"{error.message}. {error.hint}")
        row = self.by_path.get(found.path)
        if row is not None:
            await self.forget(row)

    async def forget(self, row: FileRow) -> None:
        """Remove a file's rows."""

        def forget(db: Database) -> Published:
            return forget_file(db, row.path)

        published = await self._index.write(forget)
        self.by_path.pop(row.path, None)
        self._version += 1
        self._young.pop(row.path, None)
        self._tell(published)


def _write(db: Database, draft: _Draft) -> Published | None:
    """Replace a file's chunks, and for a transcript what its lines were; of an unchanged text only note the file."""
    row, file = draft.row, draft.file
    if draft.chunks is None:
        touch_file(db, row)
        return None
    published = publish_file(db, row, draft.chunks, row.indexed_at)
    store_annotations(db, row.path, draft.entries)
    if file.line_map:
        last_from = file.resets[-1].first_line if file.resets else 1
        store_transcript(db, row.path, file.line_map, file.redactions, last_from)
    return published
