"""Conversations in databases, read in place."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from msgspec import Struct, field

from memd.index.transcripts import NO_FACTS
from memd.programs.conversation import Conversation, is_wanted
from memd.programs.program import LOG_ENDING, ConversationDatabase, FileFacts, StoredSession, file_facts
from memd.programs.unreadable import describe_size, unreadable
from memd.programs.work import located
from memd.sources.conversation_text import RECENT_CONVERSATIONS, ConversationLines
from memd.sources.projects import facts_of
from memd.sources.source import FileText, Listing, Source, SourceFile
from memd.sources.tree import LINK
from memd.sources.watch.queue import CONVERSATION_VALID_S, UNWATCHED, Unwatched, WatchQueue
from memd.sources.work_rows import SessionWork
from memd.system.log import log
from memd.system.lru import LruCache
from memd.system.safe_open import FileStat
from memd.system.sqlite import ForeignDatabaseError
from memd.text.trust.origins import OUTSIDE
from memd_client.errors import FileMissingError, FileUnreadableError
from memd_client.messages import Problem

GRAIN_NS = 20_000_000
"""A database that was written so recently may be written again with the same time, so it is not taken for unchanged."""


class _Database(Struct):
    """A database, its state when its sessions were listed, and the sessions."""

    path: Path
    opened: ConversationDatabase
    state: Sequence[FileFacts] | None = None
    sessions: list[StoredSession] = field(default_factory=list)
    problem: Problem | None = None
    reason: str = ""
    is_listed: bool = False


class ConversationDatabases(Source):
    """The conversations of one program in its databases; of two with the same id, the first database's counts.

    Args:
        name: The source's name, with which its index paths begin.
        open_database: Returns a program's database by its path; nothing is opened yet.
        paths: The databases; they may be missing.
        with_subagents: Whether sessions of subagents are indexed.
        watch: Reports changed databases.
        max_bytes: Larger conversations are skipped; None: no limit.
        with_work: Whether the agent's work is indexed.
    """

    is_conversation = True

    def __init__(
        self,
        name: str,
        open_database: Callable[[Path], ConversationDatabase],
        paths: Sequence[Path],
        *,
        with_subagents: bool = False,
        watch: Unwatched = UNWATCHED,
        max_bytes: int | None = None,
        with_work: bool = False,
    ) -> None:
        self.name = name
        self._with_work = with_work
        self._databases = [_Database(path, open_database(path)) for path in paths]
        self._with_subagents = with_subagents
        self._max_bytes = max_bytes
        self._watch = watch
        self._lock, self._reading = Lock(), Lock()
        self._listing = Listing()
        self._found: dict[str, tuple[_Database, StoredSession]] = {}
        self._warnings: dict[str, str] = {}
        self._amounts_read: dict[str, int] = {}
        self._recent: LruCache[str, tuple[ConversationLines, SessionWork]] = LruCache(RECENT_CONVERSATIONS)
        self._names = frozenset(name for path in paths for name in (path.name, f"{path.name}{LOG_ENDING}"))
        if isinstance(watch, WatchQueue):
            watch.valid_s = CONVERSATION_VALID_S
            watch.is_relevant = self._is_relevant

    def __repr__(self) -> str:
        problems = "".join(
            f", {each.problem.message}" for each in self._databases if each.problem is not None
        )
        return f"<ConversationDatabases {self.name}: {len(self._found)} sessions{problems}>"

    def find(self) -> Listing:
        """Return the current conversations; see `Source.find`."""
        with self._lock:
            if not self._watch.is_unchanged():
                with self._watch.scan():
                    for each in self._databases:
                        folders = each.path.parent, *([each.path] if each.path.is_dir() else [])
                        for folder in folders:
                            self._watch.enter(str(folder.absolute()), is_root=True)
            are_changed = [self._refresh(each) for each in self._databases]
            if any(are_changed):
                self._collect()
            return self._listing

    def load(self, found: SourceFile) -> FileText:
        """Return a conversation's text; see `Source.load`."""
        return self._as_text(found, *self._read(found))

    def load_work(self, found: SourceFile) -> Conversation | None:
        """Return a conversation with the agent's work; see `Source.load_work`."""
        _, conversation = self._read(found, is_load=False)
        conversation.work = located(conversation.work or (), conversation.session.cwd)
        return conversation

    def _read(self, found: SourceFile, *, is_load: bool = True) -> tuple[ConversationDatabase, Conversation]:
        """Return the database of a conversation, and the conversation."""
        missing = FileMissingError(f"{found.path} no longer exists", data={"path": found.path})
        database, session = self._found.get(found.path, (None, None))
        if database is None or session is None:
            for each in self._databases:
                if each.reason and str(each.path) == found.location:
                    raise self._unreadable(found, each.reason)
            raise missing
        try:
            with self._reading:
                conversation = database.opened.read(session.id)
        except ForeignDatabaseError as error:
            raise self._unreadable(found, error.reason, is_busy=error.busy) from None
        if conversation is None:
            raise missing
        with self._lock:
            if is_load:
                self._amounts_read[found.path] = session.messages or session.stat[1]
            if self._warnings.get(found.path, "") != conversation.warning:
                self._warnings[found.path] = conversation.warning
                self._collect()
        return database.opened, conversation

    def growth(self, found: SourceFile, indexed: FileStat | None) -> tuple[int, int] | None:
        """Return by how much a conversation grew; see `Source.growth`."""
        with self._lock:
            _, session = self._found.get(found.path, (None, None))
            if session is None or (indexed is not None and found.path not in self._amounts_read):
                return None
            grown = (session.messages or session.stat[1]) - self._amounts_read.get(found.path, 0)
            growth = (0, grown) if session.messages else (grown, 0)
            return growth if grown >= 0 else None

    def close(self) -> None:
        """Close the databases."""
        with self._lock, self._reading:
            self._watch.close()
            self._watch = UNWATCHED
            for each in self._databases:
                each.opened.close()
                each.state = None
        self._recent.clear()

    @staticmethod
    def _unreadable(found: SourceFile, reason: str, *, is_busy: bool = False) -> FileUnreadableError:
        hint = "search again in a moment: the next search or sync retries"
        return unreadable(found.path, f"can't be read: {reason}", "moving" if is_busy else "database", hint)

    def _is_relevant(self, folder: str, name: str, is_folder: bool) -> bool:
        """Return whether a file is a database or its log; every reader creates an empty log and removes it."""
        path = os.path.join(folder, name)
        if any(each.opened.reads_folders and folder == str(each.path.absolute()) for each in self._databases):
            return True
        return name in self._names and not (name.endswith(LOG_ENDING) and file_facts(path)[1:2] in ((), (0,)))

    def _refresh(self, database: _Database) -> bool:
        """List a database's sessions again if it changed; return whether they may differ."""
        state = database.opened.state(database.path)
        if state and state == database.state:
            return False
        problem = database.problem
        database.state = None  # the next scan tries again, unless this one ends
        if not state:
            had_any = bool(database.sessions or problem or database.opened.problems)
            database.sessions, database.problem, database.reason, database.is_listed = [], None, "", True
            database.opened.close()
            return had_any
        hint = ""
        mode = state[0][3]
        if not stat.S_ISREG(mode) and not (stat.S_ISDIR(mode) and database.opened.reads_folders):
            reason = f"it is a {LINK}" if stat.S_ISLNK(mode) else "it is not a regular file"
            error = ForeignDatabaseError(reason, unknown=True)
            hint = "name the real file in the settings"
        else:
            try:
                database.sessions, database.problem = database.opened.sessions(), None
                database.reason = ""
                database.is_listed = True
                state = database.opened.state_when_listed(state)
                database.state = state if _is_settled(state) else None
                return True
            except ForeignDatabaseError as caught:
                error = caught
        if error.busy and database.is_listed:
            return False
        if error.unknown:
            database.sessions, database.is_listed = [], False
        if error.unknown:
            database.state = database.opened.state_when_listed(state)
            hint = hint or database.opened.hint
        else:
            hint = "no action needed: the next search or sync retries"
        database.reason = error.reason
        message = f"{database.path} can't be read: {error.reason}"
        database.problem = Problem(database.opened.problem_code, message, hint)
        if problem is None or problem.message != message:
            log.warning("sources.database_unreadable", source=self.name, reason=error.reason)
        return True

    def _collect(self) -> None:
        """List the sessions of all databases."""
        listing = Listing()
        found: dict[str, tuple[_Database, StoredSession]] = {}
        for database in self._databases:
            if database.problem is not None:
                listing.problems.append(database.problem)
                listing.unseen = frozenset({self.name})
            listing.problems += database.opened.problems
            for session in database.sessions:
                self._take(listing, found, database, session)
        for path, warning in self._warnings.items():
            if warning and path in found:
                listing.skip(f"{path} (cold history)", warning)
        self._found = found
        self._warnings = {path: each for path, each in self._warnings.items() if path in found}
        self._amounts_read = {path: each for path, each in self._amounts_read.items() if path in found}
        if listing != self._listing:
            self._listing = listing

    def _take(
        self,
        listing: Listing,
        found: dict[str, tuple[_Database, StoredSession]],
        database: _Database,
        session: StoredSession,
    ) -> None:
        """Add a session to a listing, or the reason for skipping it."""
        name = database.opened.name_of(session.id)
        path = f"{self.name}/{name}"
        if not name:
            listing.skip(f"{self.name}/{session.id}", "its session id can't be part of a path")
        elif not is_wanted(session.kind, with_subagents=self._with_subagents):
            listing.leave_out(session.id, session.kind)
        elif self._max_bytes is not None and session.stat[1] > self._max_bytes:
            listing.skip(path, describe_size(session.stat[1], self._max_bytes))
        elif session.problem:
            listing.skip(path, session.problem)
        elif path not in found:
            file = SourceFile(path, str(database.path), *session.stat, self.name, is_conversation=True)
            listing.files[path] = file
            found[path] = (database, session)
            last = listing.files.get(listing.by_key.get(session.key, ""))
            if session.key and (last is None or file.mtime_ns >= last.mtime_ns):
                listing.by_key[session.key] = path

    def _as_text(
        self, found: SourceFile, database: ConversationDatabase, conversation: Conversation
    ) -> FileText:
        session = conversation.session
        fetches = self.without_notes(conversation.fetches)
        lines, rows = self._recent.take(found.path) or (ConversationLines(), SessionWork())
        is_main = is_wanted(session.kind, with_subagents=self._with_subagents)
        lines.update(conversation.messages if is_main else (), fetches or ())
        text, facts = lines.text(conversation.breaks), NO_FACTS
        steps, work = conversation.work, None
        if self._with_work and steps is not None:
            work = rows.update(steps if is_main else (), session.cwd)
        self._recent.put(found.path, (lines, rows))
        if database.keeps_facts:
            updated_ms = found.mtime_ns // 1_000_000
            facts = facts_of(self.name, conversation, session_id=session.id, updated_ms=updated_ms)
        digest = conversation.digest
        if not digest:
            sha = hashlib.sha256(text.text.encode("utf-8", "replace"))
            sha.update(repr((facts.title, facts.kind, text.numbers, text.times)).encode("utf-8", "replace"))
            digest = sha.hexdigest()
        read = [(*row[:4], len(row[4])) for row in fetches or () if row.origin == OUTSIDE]
        if work or read:
            digests = repr([*(row.digest for row in work or ()), *read])
            digest += f":{hashlib.sha256(digests.encode()).hexdigest()[:16]}"
        return text.file_text(digest, found.stat, facts, work, fetches)


def _is_settled(state: Sequence[FileFacts]) -> bool:
    """Return whether another write would get another time; a time in the future is not judged."""
    latest = max(part[2] for part in state if part)
    return not 0 <= time.time_ns() - latest < GRAIN_NS
