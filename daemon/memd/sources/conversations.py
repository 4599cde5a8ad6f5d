"""Conversations in files, read in place: only what was appended is parsed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from memd.index.transcripts import NO_FACTS
from memd.programs.conversation import Conversation, Session, is_wanted
from memd.programs.packed import decompress
from memd.programs.program import FileReader, SessionKinds, TranscriptFile, TranscriptReader
from memd.programs.unreadable import describe_size, unreadable
from memd.programs.work import WorkLog, located
from memd.sources.conversation_text import RECENT_CONVERSATIONS, ConversationLines
from memd.sources.projects import facts_of
from memd.sources.source import FileText, Listing, Source, SourceFile
from memd.sources.tree import Tree, TreeRules
from memd.sources.watch.queue import CONVERSATION_VALID_S, UNWATCHED, Unwatched, WatchQueue
from memd.sources.work_rows import SessionWork
from memd.system.lru import LruCache
from memd.system.safe_open import (
    NO_DESCRIPTOR,
    FileStat,
    OutsideRootError,
    SymlinkInPathError,
    open_file,
    stat_of,
)
from memd_client.errors import FileMissingError

if TYPE_CHECKING:
    from hashlib import _Hash

BLOCK_BYTES: Final = 1_048_576
MAX_LINE_BYTES: Final = 32 * 1_048_576
"""Longest line that is read; a longer one is skipped and counted."""

MAX_PACKED_BYTES: Final = 256 * 1_048_576
"""Largest decompressed transcript."""

_PACKED = (".zst", ".zstd")
_DOCUMENT = ".json"


class _Progress(Struct):
    """The part of a file that was read, up to the end of its last complete line.

    Attributes:
        reader: The reader that was fed it.
        inode: The file.
        end: Number of bytes.
        lines: Number of lines.
        skipped: Lines that were too long.
        sha: Hash of the bytes.
        text_lines: The lines of its messages.
        work: What the reader fills with the agent's work; None without work.
        work_rows: The rows of the work.
    """

    reader: TranscriptReader
    inode: int
    work: WorkLog | None = None
    end: int = 0
    lines: int = 0
    skipped: int = 0
    sha: _Hash = field(default_factory=hashlib.sha256)
    text_lines: ConversationLines = field(default_factory=ConversationLines)
    work_rows: SessionWork = field(default_factory=SessionWork)


class ConversationFiles(Source):
    """The conversations of one program in its folders.

    Args:
        name: The source's name, with which its index paths begin.
        reader: Reads the program's files.
        folders: The folders that are searched for transcripts.
        with_subagents: Whether sessions of subagents are indexed.
        watch: Reports changed folders.
        max_bytes: Larger files are skipped; None: no limit, because most bytes of the program's files are no text.
        opened_from: The folder from which files are opened; by default their own folders, which may then be links.
        is_walked: Whether folders below the folders are searched.
        with_work: Whether the agent's work is indexed.
    """

    is_conversation = True

    def __init__(
        self,
        name: str,
        reader: FileReader,
        folders: Sequence[Path],
        *,
        with_subagents: bool = False,
        watch: Unwatched = UNWATCHED,
        max_bytes: int | None = None,
        opened_from: str = "",
        is_walked: bool = True,
        with_work: bool = False,
    ) -> None:
        self.name = name
        self._with_work = with_work
        self._reader = reader
        self._with_subagents = with_subagents
        self._max_bytes = max_bytes
        self._watch = watch
        walked = reader.is_walked if is_walked else lambda _: False
        rules = TreeRules(lambda path: reader.transcript_at(path) is not None, walked)
        self._trees = [
            Tree(name, str(folder), rules, prefix=f"{name}/", opened_from=opened_from, is_conversation=True)
            for folder in folders
        ]
        self._kinds = [reader.kinds_in(tree.location) for tree in self._trees]
        self._lock = Lock()
        self._listing: Listing | None = None
        self._files: dict[str, tuple[Tree, TranscriptFile]] = {}
        self._recent: LruCache[str, _Progress] = LruCache(RECENT_CONVERSATIONS)
        if isinstance(watch, WatchQueue):
            watch.valid_s = CONVERSATION_VALID_S
            watch.is_relevant = self._is_relevant

    def __repr__(self) -> str:
        return f"<ConversationFiles {self.name}: {len(self._files)} sessions>"

    def find(self) -> Listing:
        """Return the current conversations; see `Source.find`."""
        with self._lock:
            if self._listing is None or not self._watch.is_unchanged():
                with self._watch.scan() as scan:
                    for tree in self._trees:
                        tree.update(self._watch, scan)
                    listing = self._choose()
                if self._listing is None or listing != self._listing:
                    self._listing = listing
            return self._listing

    def load(self, found: SourceFile) -> FileText:
        """Return a conversation's text; see `Source.load`."""
        return self._as_text(*self._load(found, with_work=False))

    def load_work(self, found: SourceFile) -> Conversation | None:
        """Return a conversation with the agent's work; see `Source.load_work`."""
        *_, conversation = self._load(found, with_work=True)
        return conversation

    def _load(
        self, found: SourceFile, *, with_work: bool
    ) -> tuple[TranscriptFile, os.stat_result, _Progress, Conversation]:
        """Return the file of a conversation, its stat, and what was read."""
        missing = FileMissingError(f"{found.path} no longer exists", data={"path": found.path})
        known = self._files.get(found.path)
        if known is None:
            raise missing
        tree, file = known
        try:
            handle = open_file(found.root, found.location)
            with os.fdopen(handle, "rb"):
                facts = os.fstat(handle)
                if not stat.S_ISREG(facts.st_mode):
                    raise unreadable(found.path, "is not a regular file", "kind")
                self._check_size(found.path, facts.st_size)
                progress, conversation = self._read(found, file, handle, facts, with_work=with_work)
        except (FileNotFoundError, OutsideRootError):
            raise missing from None
        except SymlinkInPathError as error:
            raise unreadable(found.path, str(error.strerror), "kind") from None
        except OSError as error:
            reason = "descriptors" if error.errno in NO_DESCRIPTOR else "os"
            raise unreadable(found.path, f"can't be read: {error.strerror}", reason) from None
        fetches = None if progress.work is None else self.without_notes(progress.work.fetches)
        conversation = replace(conversation, fetches=fetches)
        details = self._reader.read_details(Path(tree.location), file.session_id)
        if details is not None:
            conversation = replace(conversation, session=_with_details(conversation.session, details))
        if conversation.work is not None:
            conversation.work = located(conversation.work, conversation.session.cwd)
        return file, facts, progress, conversation

    def growth(self, found: SourceFile, indexed: FileStat | None) -> tuple[int, int] | None:
        """Return by how much a conversation grew; see `Source.growth`. A line counts as a message."""
        size = indexed[1] if indexed is not None else 0
        grown = found.size - size
        if grown < 0 or (indexed is not None and found.inode != indexed[2]):
            return None
        try:
            handle = open_file(found.root, found.location)
        except OSError:
            return grown, 0
        try:
            return grown, sum(block.count(b"\n") for block in _blocks(handle, size, found.size))
        finally:
            os.close(handle)

    def close(self) -> None:
        """Release cached states and watched folders."""
        self._recent.clear()
        with self._lock:
            self._watch.close()
            self._watch = UNWATCHED

    def _choose(self) -> Listing:
        """Return the file of each session among the listed ones."""
        best: dict[str, tuple[int, SourceFile, Tree, TranscriptFile, SessionKinds | None]] = {}
        listing = Listing()
        for tree, kinds in zip(self._trees, self._kinds, strict=True):
            tree.describe(listing)
            if kinds is not None:
                kinds.refresh()
            for path, found in tree.files.items():
                file = self._reader.transcript_in(tree.location, path[len(self.name) + 1 :])
                if file is None:
                    continue
                known = best.get(file.session_id)
                if known is None or (file.rank, found.mtime_ns) > (known[0], known[1].mtime_ns):
                    best[file.session_id] = (file.rank, found, tree, file, kinds)
        files = {}
        for session_id, (_, found, tree, file, kinds) in best.items():
            kind = file.kind if kinds is None else kinds.kind_of(file, found.location, found.stat)
            path = f"{self.name}/{self._reader.name_of(session_id)}"
            if not is_wanted(kind, with_subagents=self._with_subagents):
                listing.leave_out(file.part_of or session_id, kind)
            elif self._max_bytes is not None and found.size > self._max_bytes:
                listing.skip(path, describe_size(found.size, self._max_bytes))
            else:
                listing.files[path] = found._replace(path=path)
                files[path] = (tree, file)
        self._files = files
        paths = {
            key: f"{self.name}/{name}" for each in self._kinds if each for key, name in each.by_key().items()
        }
        listing.by_key = {key: path for key, path in paths.items() if path in listing.files}
        return listing

    def _is_relevant(self, folder: str, name: str, is_folder: bool) -> bool:
        return any(tree.is_relevant(folder, name, is_folder) for tree in self._trees)

    def _check_size(self, path: str, size: int) -> None:
        if self._max_bytes is not None and size > self._max_bytes:
            raise unreadable(path, f"is {describe_size(size, self._max_bytes)}", "too_big")

    # --- one file -----------------------------------------------------------------------------------

    def _read(
        self,
        found: SourceFile,
        file: TranscriptFile,
        handle: int,
        facts: os.stat_result,
        *,
        with_work: bool,
    ) -> tuple[_Progress, Conversation]:
        """Read what was added to a file since it was read, or all of it, as always with work."""
        location = found.location
        if with_work:
            whole = _Progress(*self._open(file, facts))
            conversation = self._read_whole(found, whole, handle, facts)
            return whole, replace(conversation, work=None if whole.work is None else whole.work.steps)
        if location.endswith((*_PACKED, _DOCUMENT)):
            whole = _Progress(*self._open(file, facts))
            return whole, self._read_whole(found, whole, handle, facts)
        progress = self._recent.take(location)
        if progress is None or not _is_appended(progress, handle, facts):
            progress = _Progress(*self._open(file, facts))
        rest = self._feed(progress, handle, facts.st_size)
        self._recent.put(location, progress)
        if not rest or not _is_json(rest):
            return progress, progress.reader.conversation()
        # The last line is whole but may be rewritten with its line end: it is read again by the next load.
        whole = _Progress(
            *self._open(file, facts),
            text_lines=ConversationLines(progress.text_lines.lines),
        )
        self._feed(whole, handle, facts.st_size)
        whole.reader.read(rest, whole.lines + 1)
        whole.sha.update(rest)
        return whole, whole.reader.conversation()

    def _open(
        self, file: TranscriptFile, facts: os.stat_result
    ) -> tuple[TranscriptReader, int, WorkLog | None]:
        """Return the beginning of a `_Progress`: a new reader, the file, and what is filled with work."""
        reader, work = self._reader.open_with_work(file)
        return reader, facts.st_ino, work

    def _read_whole(
        self, found: SourceFile, progress: _Progress, handle: int, facts: os.stat_result
    ) -> Conversation:
        """Read a whole file: lines, compressed lines, or a single document."""
        reader = progress.reader
        if not found.location.endswith((*_PACKED, _DOCUMENT)):
            if _is_json(rest := self._feed(progress, handle, facts.st_size)):
                reader.read(rest, progress.lines + 1)
            return reader.conversation()
        data = b"".join(_blocks(handle, 0, min(facts.st_size, MAX_PACKED_BYTES)))
        progress.sha.update(data)
        if found.location.endswith(_PACKED):
            data = decompress(data, self._max_bytes or MAX_PACKED_BYTES, found.path)
            *lines, last = data.split(b"\n")
            for number, line in enumerate([*lines, *([last] if _is_json(last) else [])], start=1):
                if line and len(line) <= MAX_LINE_BYTES:
                    reader.read(line, number)
        else:
            reader.read(data, 1)
        return reader.conversation()

    @staticmethod
    def _feed(progress: _Progress, handle: int, size: int) -> bytes:
        """Feed complete lines to the reader; return the unfinished last one, empty if it is too long."""
        rest: list[bytes] = []
        rest_bytes = 0
        for block in _blocks(handle, progress.end, size):
            first, *others = block.split(b"\n")
            if not others:
                rest.append(first)
                rest_bytes += len(first)
                continue
            line = b"".join((*rest, first)) if rest_bytes + len(first) <= MAX_LINE_BYTES else None
            *whole, last = others
            for each in (line, *whole):
                progress.lines += 1
                if each is None:
                    progress.skipped += 1
                elif each:
                    progress.reader.read(each, progress.lines)
            done = sum(map(len, rest)) + len(block) - len(last)
            for part in (*rest, block[: len(block) - len(last)]):
                progress.sha.update(part)
            progress.end += done
            rest, rest_bytes = [last], len(last)
        return b"".join(rest) if rest_bytes <= MAX_LINE_BYTES else b""

    def _as_text(
        self, file: TranscriptFile, facts: os.stat_result, progress: _Progress, conversation: Conversation
    ) -> FileText:
        wanted = is_wanted(conversation.session.kind, with_subagents=self._with_subagents)
        progress.text_lines.update(conversation.messages if wanted else (), conversation.fetches or ())
        text, sha, known = progress.text_lines.text(conversation.breaks), progress.sha.copy(), NO_FACTS
        if self._reader.keeps_facts:
            known = facts_of(
                self.name,
                conversation,
                session_id=file.session_id,
                updated_ms=facts.st_mtime_ns // 1_000_000,
                skipped=progress.skipped,
            )
            sha.update(repr((known.title, known.kind, self._with_subagents)).encode("utf-8", "replace"))
        work = None
        if self._with_work and progress.work is not None:
            work = progress.work_rows.update(progress.work.steps if wanted else (), conversation.session.cwd)
        return text.file_text(sha.hexdigest(), stat_of(facts), known, work, conversation.fetches)


def _with_details(session: Session, details: Session) -> Session:
    """Return a session with what files next to its transcript record: the title, and what the transcript lacks."""
    return replace(
        session,
        kind=session.kind if session.kind != "main" else details.kind,
        parent=session.parent or details.parent,
        title=details.title or session.title,
        cwd=session.cwd or details.cwd,
        branch=session.branch or details.branch,
        started_ms=session.started_ms or details.started_ms,
        updated_ms=session.updated_ms or details.updated_ms,
    )


def _blocks(handle: int, start: int, end: int) -> Iterator[bytes]:
    """Yield a part of a file in blocks; it may have been truncated."""
    while start < end:
        block = os.pread(handle, min(BLOCK_BYTES, end - start), start)
        if not block:
            return
        yield block
        start += len(block)


def _is_appended(progress: _Progress, handle: int, facts: os.stat_result) -> bool:
    """Return whether a file begins with what was read: hashing is cheap compared to parsing."""
    if progress.inode != facts.st_ino or facts.st_size < progress.end:
        return False
    sha = hashlib.sha256()
    for block in _blocks(handle, 0, progress.end):
        sha.update(block)
    return sha.digest() == progress.sha.digest()


def _is_json(line: bytes) -> bool:
    """Return whether a line is complete."""
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
