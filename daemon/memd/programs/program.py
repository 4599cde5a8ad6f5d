"""How memd reads a program's conversations: in files (`FileReader`), or in a database (`ConversationDatabase`).

One module per program implements one of them as `READER`. Nothing is ever written to either.
"""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from memd.programs.conversation import Conversation, Session, SessionKind
from memd.programs.work import WorkLog, WorkReader
from memd.system.safe_open import FileStat
from memd_client.messages import Problem

LOG_ENDING = "-wal"

FileFacts: TypeAlias = tuple[int, ...]
"""Inode, size, time and mode of a file; empty if it doesn't exist."""


class TranscriptFile(NamedTuple):
    """A transcript by the path of its file.

    Attributes:
        session_id: Id of its session, or of the part of a session that is in this file alone.
        kind: Kind of the session.
        rank: Of several files with one id, the file with the highest rank is read.
        part_of: Id of the session, if `session_id` is that of a part.
    """

    session_id: str
    kind: SessionKind = "main"
    rank: int = 0
    part_of: str = ""


def session_of(file: TranscriptFile) -> Session:
    """Return the session of a file, as far as its path shows it."""
    return Session(file.session_id, file.kind)


class TranscriptReader(Protocol):
    """Reads one transcript file. Pure: it never raises, whatever it is fed."""

    def read(self, line: bytes, place: int) -> None:
        """Read the next line, without its line end; `place` is its number from 1."""

    def conversation(self) -> Conversation:
        """Return the conversation up to the last line read; further lines may follow.

        The caller doesn't change it. Its `kind` may differ from that of the file's path.
        """


class SessionKinds(Protocol):
    """The kinds of the sessions in one folder, if the paths of their files don't show them."""

    def refresh(self) -> None:
        """Read again what the program records about its sessions, if that changed (blocking)."""

    def kind_of(self, file: TranscriptFile, location: str, stat: FileStat) -> str:
        """Return the kind of a session (blocking); `main` is a conversation."""

    def by_key(self) -> Mapping[str, str]:
        """Return the session id of each session key."""


class FileReader(ABC):
    """Finds and reads the conversations of a program with one transcript per file.

    Attributes:
        keeps_facts: Whether what is known about a session is stored.
    """

    keeps_facts: bool = True

    @abstractmethod
    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript in a file by its path below a folder, `/` between names; None for others."""

    def transcript_in(self, folder: str, path: str) -> TranscriptFile | None:
        """Return the transcript at a path below one of several folders, if its id depends on the folder."""
        return self.transcript_at(path)

    @abstractmethod
    def is_walked(self, path: str) -> bool:
        """Return whether a folder below a folder of transcripts may contain some."""

    @abstractmethod
    def open(self, file: TranscriptFile) -> TranscriptReader:
        """Return a new reader of a file."""

    def open_with_work(self, file: TranscriptFile) -> tuple[TranscriptReader, WorkLog | None]:
        """Return a new reader, and what it fills with the agent's work; None if the program's reader can't."""
        reader = self.open(file)
        if not isinstance(reader, WorkReader):
            return reader, None
        reader.work = WorkLog()
        return reader, reader.work

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return what files next to the transcripts record about a session (blocking), None without any.

        Its title is preferred to the transcript's. It fills in what the transcript lacks: working directory, branch,
        times, and a kind other than `main`.
        """
        return None

    def kinds_in(self, folder: str) -> SessionKinds | None:
        """Return what determines the kinds of the sessions in a folder; None: the paths of their files."""
        return None

    def name_of(self, session_id: str) -> str:
        """Return the last part of a conversation's path in the index."""
        return name_of_session(session_id)


class StoredSession(NamedTuple):
    """A session in a database.

    Attributes:
        id: The program's stable id.
        stat: Changes with every change of its messages: (time of the last one, size, number of the last one, time).
        kind: `main` for a conversation.
        messages: How many messages it has; 0 if only its content shows that.
        key: Of OpenClaw, its session key.
        problem: Why it can't be read; empty if it can.
    """

    id: str
    stat: FileStat
    kind: str = "main"
    messages: int = 0
    key: str = ""
    problem: str = ""


class ConversationDatabase(ABC):
    """A database of conversations. Its methods block, and each reads in short transactions.

    `sessions` and `read` may run at the same time, each in one thread at a time.

    Attributes:
        problem_code: Code of problems with the database.
        hint: What to do if this release can't read it.
        problems: Problems that the last list of sessions has, each with a hint.
        keeps_facts: Whether what is known about a session is stored.
        reads_folders: Whether the path may be that of a folder of files that belong together.
        has_work: Whether conversations are returned with the agent's work.
    """

    problem_code: str = "database_unreadable"
    hint: str = "upgrade memd to a release that can read it, or remove the source"
    problems: Sequence[Problem] = ()
    keeps_facts: bool = True
    reads_folders: bool = False
    has_work: bool = False

    def state(self, path: Path) -> Sequence[FileFacts]:
        """Return the facts of the database at a path and of its other files; empty if it doesn't exist.

        While they are unchanged, so are its sessions.
        """
        database = file_facts(str(path))
        return (database, file_facts(f"{path}{LOG_ENDING}")) if database else ()

    def state_when_listed(self, before: Sequence[FileFacts]) -> Sequence[FileFacts]:
        """Return the state that counts after its sessions were listed, given the state before that."""
        return before

    @abstractmethod
    def sessions(self) -> list[StoredSession]:
        """Return all sessions.

        Raises:
            ForeignDatabaseError: The database can't be read.
        """

    @abstractmethod
    def read(self, session_id: str) -> Conversation | None:
        """Return one conversation, or None if it no longer exists; raises the same, and `FileUnreadableError`."""

    def close(self) -> None:  # noqa: B027 - most keep nothing open
        """Release connections and RAM; the next call opens the database again."""

    def name_of(self, session_id: str) -> str:
        """Return the last part of a conversation's path in the index; empty if the id can't be part of a path."""
        return name_of_session(session_id)


def file_facts(path: str) -> FileFacts:
    """Return the facts of a file (blocking)."""
    try:
        facts = os.lstat(path)
    except (OSError, ValueError):
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_mode


_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}")


def name_of_session(session_id: str) -> str:
    """Return a session's id as the last part of an index path, which is also a valid file name."""
    if _SAFE.fullmatch(session_id):
        return session_id
    digest = hashlib.sha256(session_id.encode("utf-8", "replace")).hexdigest()[:16]
    return re.sub(r"[^A-Za-z0-9_-]", "-", session_id)[:80] + "-" + digest
