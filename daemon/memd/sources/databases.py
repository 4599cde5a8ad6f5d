"""Transcripts of one program that are in a database, read in place (`DatabaseProgram`)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import structlog

from memd.programs.conversation import Conversation, is_wanted
from memd.programs.program import ConversationDatabase, DatabaseProgram, StoredSession
from memd.programs.unreadable import unreadable
from memd.sources.discover import LINK, SourceFile
from memd.sources.projects import facts_of
from memd.sources.read import FileText
from memd.sources.source import Transcripts, name_of_session
from memd.sources.talk_text import TalkLines
from memd.system.sqlite import ForeignDatabaseError
from memd_client.errors import FileMissingError
from memd_client.messages import Problem

log = structlog.get_logger(__name__)


class _FileState(NamedTuple):
    """Stat of a database and of its log: unchanged, so are its sessions."""

    database: tuple[int, ...]
    log: tuple[int, ...]


@dataclass(slots=True)
class _Known:
    """A database, its state when its sessions were listed, and the sessions."""

    path: Path
    opened: ConversationDatabase | None = None
    state: _FileState | None = None
    sessions: list[StoredSession] = field(default_factory=list)
    problem: Problem | None = None


class DatabaseTranscripts:
    """The transcripts of one program in its databases (a `SessionSource`).

    Args:
        name: The source's name, which its index paths begin with.
        program: The program.
        databases: Its databases.
        with_subagents: Whether sessions of subagents are indexed.
    """

    def __init__(
        self,
        name: str,
        program: DatabaseProgram,
        databases: Sequence[Path],
        *,
        with_subagents: bool = False,
    ) -> None:
        self._name = name
        self._program = program
        self._with_subagents = with_subagents
        self._known = [_Known(path) for path in databases]
        self._lock = Lock()
        self._found = Transcripts()
        self._places: dict[str, tuple[_Known, str]] = {}

    def __repr__(self) -> str:
        return f"<DatabaseTranscripts {self._name}: {len(self._found.found)} sessions>"

    def find(self) -> Transcripts:
        """Return the current transcripts; see `SessionSource.find`."""
        with self._lock:
            changed = [known for known in self._known if self._refresh(known)]
            if changed:
                self._collect()
            return self._found

    def load(self, found: SourceFile) -> FileText:
        """Return a transcript's text; see `SessionSource.load`."""
        with self._lock:
            known, session_id = self._places.get(found.path, (None, ""))
            conversation = None
            if known is not None:
                try:
                    conversation = self._open(known).read(session_id)
                except ForeignDatabaseError as error:
                    reason = "moving" if error.busy else "database"
                    hint = "search again in a moment: the next search or sync retries"
                    raise unreadable(found.path, f"can't be read: {error.reason}", reason, hint) from None
            if conversation is None:
                raise FileMissingError(f"{found.path} no longer exists", data={"path": found.path})
        return self._as_text(found, conversation)

    def close(self) -> None:
        """Close the databases."""
        with self._lock:
            for known in self._known:
                if known.opened is not None:
                    known.opened.close()
                    known.opened, known.state = None, None

    def _open(self, known: _Known) -> ConversationDatabase:
        if known.opened is None:
            known.opened = self._program.open(known.path)
        return known.opened

    def _refresh(self, known: _Known) -> bool:
        """List a database's sessions again if it changed; return whether they may differ."""
        state = _state_of(known.path)
        if state == known.state:
            return False
        before, problem = known.state, known.problem
        known.state, known.problem = None, None  # the next scan tries again, unless this one ends
        if state is None:
            known.sessions = []
            return before is not None
        if known.path.is_symlink():
            known.state = state
            known.problem = Problem("database_unreadable", f"{known.path} is a {LINK}", "")
            return problem is None
        try:
            known.sessions = self._open(known).sessions()
            known.state = state
        except ForeignDatabaseError as error:
            if error.busy:
                known.problem = problem
                return False
            hint = "the next search or sync retries"
            if error.unknown:
                known.state = state
                hint = f"this release of memd can't read it: update memd, or remove the source {self._name}"
            message = f"{known.path} can't be read: {error.reason}"
            known.problem = Problem("database_unreadable", message, hint)
            if problem is None or problem.message != message:
                log.warning("sources.database_unreadable", source=self._name, reason=error.reason)
        return True

    def _collect(self) -> None:
        """Collect the sessions of all databases; of two with the same id, the first database's counts."""
        transcripts = Transcripts()
        places: dict[str, tuple[_Known, str]] = {}
        for known in self._known:
            if known.problem is not None:
                transcripts.problems.append(known.problem)
                transcripts.complete = False
            for session in known.sessions:
                if not is_wanted(session.kind, with_subagents=self._with_subagents):
                    transcripts.leave_out(session.id, session.kind)
                    continue
                path = f"{self._name}/{name_of_session(session.id)}"
                if path in transcripts.found:
                    continue
                changed, number = session.version
                transcripts.found[path] = SourceFile(
                    path,
                    str(known.path),
                    session.updated_ms * 1_000_000,
                    number,
                    0,
                    changed,
                    self._name,
                    is_talk=True,
                )
                places[path] = (known, session.id)
        self._found, self._places = transcripts, places

    def _as_text(self, found: SourceFile, conversation: Conversation) -> FileText:
        session = conversation.session
        talk_lines = TalkLines()
        if is_wanted(session.kind, with_subagents=self._with_subagents):
            talk_lines.update(conversation.messages)
        talk = talk_lines.text()
        updated_ms = found.mtime_ns // 1_000_000
        known = facts_of(self._name, conversation, session_id=session.id, updated_ms=updated_ms)
        sha = hashlib.sha256(talk.text.encode("utf-8", "replace"))
        sha.update(repr((known.title, known.kind, talk.numbers, talk.times)).encode("utf-8", "replace"))
        return talk.file_text(sha.hexdigest(), found.stat, known)


def _state_of(path: Path) -> _FileState | None:
    """Return the state of a database and its log; None if it doesn't exist."""
    database = _stat(path)
    return None if not database else _FileState(database, _stat(Path(f"{path}-wal")))


def _stat(path: Path) -> tuple[int, ...]:
    try:
        facts = os.lstat(path)
    except OSError:
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns
