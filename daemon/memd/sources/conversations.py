"""Transcripts of one program that are files, read in place (`FileProgram`)."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import msgspec

from memd.programs.conversation import Conversation, Session, is_wanted
from memd.programs.packed import decompress
from memd.programs.program import (
    FileProgram,
    TranscriptFile,
    TranscriptReader,
)
from memd.programs.unreadable import unreadable
from memd.sources.discover import NO_DESCRIPTOR, SourceFile
from memd.sources.folder_tree import FolderTree, FolderTrees, TreeFile, TreeListing
from memd.sources.projects import facts_of
from memd.sources.read import FileText
from memd.sources.source import Transcripts, name_of_session
from memd.sources.state_cache import StateCache
from memd.sources.talk_text import TalkLines
from memd.sources.watch.queue import WatchQueue
from memd.system.safe_open import open_unlinked, stat_of
from memd_client.errors import FileMissingError

if TYPE_CHECKING:
    from hashlib import _Hash

BLOCK_BYTES: Final = 1_048_576
MAX_LINE_BYTES: Final = 32 * 1_048_576
"""Longest line that is read; a longer one is skipped and counted."""

MAX_PACKED_BYTES: Final = 256 * 1_048_576
"""Largest decompressed transcript."""

CHECKED_BYTES: Final = 4_096
"""Bytes at the beginning and before the end of what was read that are compared, to see that a file was appended to."""

_PACKED = ".zst"
_DOCUMENT = ".json"


@dataclass(slots=True)
class _Progress:
    """The part of a file that was read, up to the end of its last complete line.

    Attributes:
        reader: The reader that was fed it.
        inode: The file.
        end: Number of bytes.
        lines: Number of lines.
        skipped: Lines that were too long.
        sha: Hash of the bytes.
        beginning, ending: The first bytes, and the last ones before `end`.
        talk: The lines of its messages.
    """

    reader: TranscriptReader
    inode: int
    end: int = 0
    lines: int = 0
    skipped: int = 0
    sha: _Hash = field(default_factory=hashlib.sha256)
    beginning: bytes = b""
    ending: bytes = b""
    talk: TalkLines = field(default_factory=TalkLines)


class FileTranscripts:
    """The transcripts of one program in its folders (a `SessionSource`).

    Args:
        name: The source's name, which its index paths begin with.
        program: The program.
        folders: The folders that are searched for transcripts.
        with_subagents: Whether sessions of subagents are indexed.
        queues: Reports changed folders, one queue per folder; without one each scan lists all of them.
    """

    def __init__(
        self,
        name: str,
        program: FileProgram,
        folders: Sequence[Path],
        *,
        with_subagents: bool = False,
        queues: Sequence[WatchQueue] = (),
    ) -> None:
        self._name = name
        self._program = program
        self._with_subagents = with_subagents
        trees = [
            FolderTree(
                str(folder),
                program.is_walked,
                lambda path: program.transcript_at(path) is not None,
                queues[at] if at < len(queues) else None,
            )
            for at, folder in enumerate(folders)
        ]
        self._trees = FolderTrees(trees, queues)
        self._lock = Lock()
        self._found = Transcripts()
        self._files: dict[str, tuple[FolderTree, TranscriptFile]] = {}
        self._recent: StateCache[_Progress] = StateCache()

    def __repr__(self) -> str:
        return f"<FileTranscripts {self._name}: {len(self._found.found)} sessions>"

    def find(self) -> Transcripts:
        """Return the current transcripts; see `SessionSource.find`. While nothing changes, it is the same object."""
        with self._lock:
            changed = self._trees.list_if_changed()
            if changed is not None:
                self._find_sessions(changed)
            return self._found

    def load(self, found: SourceFile) -> FileText:
        """Return a transcript's text; see `SessionSource.load`."""
        known = self._files.get(found.path)
        if known is None:
            raise FileMissingError(f"{found.path} no longer exists", data={"path": found.path})
        tree, file = known
        try:
            handle = open_unlinked(found.location)
            with os.fdopen(handle, "rb"):
                facts = os.fstat(handle)
                if not stat.S_ISREG(facts.st_mode):
                    raise unreadable(found.path, "is not a regular file", "kind")
                progress, conversation = self._read(found, file, handle, facts)
        except FileNotFoundError:
            raise FileMissingError(f"{found.path} no longer exists", data={"path": found.path}) from None
        except OSError as error:
            reason = "descriptors" if error.errno in NO_DESCRIPTOR else "os"
            raise unreadable(found.path, f"can't be read: {error.strerror}", reason) from None
        details = self._program.read_details(Path(tree.root), file.session_id)
        if details is not None:
            conversation = replace(conversation, session=_with_details(conversation.session, details))
        return self._as_text(file, facts, progress, conversation)

    def close(self) -> None:
        """Release cached states and watched folders."""
        self._recent.clear()
        self._trees.close()

    def _find_sessions(self, listings: Sequence[tuple[FolderTree, TreeListing]]) -> None:
        """Choose the file of each session among the listed ones."""
        best: dict[str, tuple[int, TreeFile, FolderTree, TranscriptFile]] = {}
        transcripts = Transcripts()
        for tree, listing in listings:
            for path, why in listing.skipped.items():
                transcripts.skip(f"{self._name}/{path}".rstrip("/"), why)
            for path, facts in listing.files.items():
                file = self._program.transcript_at(path)
                if file is None:
                    continue
                known = best.get(file.session_id)
                if known is None or (file.rank, facts.mtime_ns) > (known[0], known[1].mtime_ns):
                    best[file.session_id] = (file.rank, facts, tree, file)
        files = {}
        for session_id, (_, facts, tree, file) in best.items():
            if not is_wanted(file.kind, with_subagents=self._with_subagents):
                transcripts.leave_out(session_id, file.kind)
                continue
            path = f"{self._name}/{name_of_session(session_id)}"
            transcripts.found[path] = facts.source_file(path, self._name, is_talk=True)
            files[path] = (tree, file)
        self._found, self._files = transcripts, files

    # --- one file -----------------------------------------------------------------------------------

    def _read(
        self, found: SourceFile, file: TranscriptFile, handle: int, facts: os.stat_result
    ) -> tuple[_Progress, Conversation]:
        """Read what was added to a file since it was read, or all of it."""
        location = found.location
        if location.endswith((_PACKED, _DOCUMENT)):
            return self._read_whole(found, file, handle, facts)
        progress = self._recent.take(location)
        if progress is None or not _is_appended(progress, handle, facts):
            progress = _Progress(self._program.reader(file), facts.st_ino)
        rest = self._feed(progress, handle, facts.st_size)
        progress.beginning = progress.beginning or os.pread(handle, min(CHECKED_BYTES, progress.end), 0)
        start = max(0, progress.end - CHECKED_BYTES)
        progress.ending = os.pread(handle, progress.end - start, start)
        self._recent.keep(location, progress)
        if not rest or not _is_json(rest):
            return progress, progress.reader.conversation()
        # The last line is whole but may be rewritten with its line end: it is read again by the next load.
        whole = _Progress(self._program.reader(file), facts.st_ino, talk=TalkLines(progress.talk.lines))
        self._feed(whole, handle, facts.st_size)
        whole.reader.read(rest, whole.lines + 1)
        whole.sha.update(rest)
        return whole, whole.reader.conversation()

    def _read_whole(
        self, found: SourceFile, file: TranscriptFile, handle: int, facts: os.stat_result
    ) -> tuple[_Progress, Conversation]:
        """Read a compressed file, or one that is a single document."""
        data = os.pread(handle, min(facts.st_size, MAX_PACKED_BYTES), 0)
        while len(data) < min(facts.st_size, MAX_PACKED_BYTES):
            more = os.pread(handle, BLOCK_BYTES, len(data))
            if not more:
                break
            data += more
        progress = _Progress(self._program.reader(file), facts.st_ino)
        progress.sha.update(data)
        if found.location.endswith(_PACKED):
            data = decompress(data, MAX_PACKED_BYTES, found.path)
            for number, line in enumerate(data.split(b"\n"), start=1):
                if line and len(line) <= MAX_LINE_BYTES:
                    progress.reader.read(line, number)
        else:
            progress.reader.read(data, 1)
        return progress, progress.reader.conversation()

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
        self,
        file: TranscriptFile,
        facts: os.stat_result,
        progress: _Progress,
        conversation: Conversation,
    ) -> FileText:
        wanted = is_wanted(conversation.session.kind, with_subagents=self._with_subagents)
        progress.talk.update(conversation.messages if wanted else ())
        talk = progress.talk.text()
        known = facts_of(
            self._name,
            conversation,
            session_id=file.session_id,
            updated_ms=facts.st_mtime_ns // 1_000_000,
            skipped=progress.skipped,
        )
        sha = progress.sha.copy()
        sha.update(repr((known.title, known.kind, self._with_subagents)).encode("utf-8", "replace"))
        return talk.file_text(sha.hexdigest(), stat_of(facts), known)


def _with_details(session: Session, details: Session) -> Session:
    """Return a session with what files next to its transcript say: the title, and what the transcript doesn't say."""
    return replace(
        session,
        kind=session.kind if session.kind != "main" else details.kind,
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
    """Return whether a file begins with what was read."""
    if progress.inode != facts.st_ino or facts.st_size < progress.end:
        return False
    start = max(0, progress.end - CHECKED_BYTES)
    return (
        os.pread(handle, len(progress.beginning), 0) == progress.beginning
        and os.pread(handle, progress.end - start, start) == progress.ending
    )


def _is_json(line: bytes) -> bool:
    """Return whether a line is complete."""
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
