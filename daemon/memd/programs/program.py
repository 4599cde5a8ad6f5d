"""The interface of a program whose transcripts are read in place: one module per program implements it.

Two kinds: transcripts in files, each read line by line (`FileProgram`), and in a database (`DatabaseProgram`). Nothing
is ever written to either.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from memd.programs.conversation import Conversation, Session, SessionKind


class Places(NamedTuple):
    """What decides in which folders programs keep their files: the home folder, the environment, `sys.platform`."""

    home: Path
    environ: Mapping[str, str]
    platform: str

    def folder(self, variable: str, default: str) -> Path:
        """Return the folder that an environment variable names, else a default below the home folder."""
        named = self.environ.get(variable, "").strip()
        return Path(named).expanduser() if named else self.home / default


class TranscriptFile(NamedTuple):
    """A transcript by the path of its file: the id of its session, its kind, and the rank among files of the session.

    Of several files of one session the one with the highest rank is read.
    """

    session_id: str
    kind: SessionKind = "main"
    rank: int = 0


class TranscriptReader(Protocol):
    """Reads one transcript file. Pure: it never raises, whatever it is fed."""

    def read(self, line: bytes, place: int) -> None:
        """Read the next line, without its line end; `place` is its number from 1."""

    def conversation(self) -> Conversation:
        """Return the conversation up to the last line read; further lines may follow.

        The caller doesn't change it. Its `kind` may differ from that of the file's path.
        """


class TranscriptProgram:
    """A program whose transcripts are read in place.

    Attributes:
        name: Stable name, `claude-code`.
        opener: The command that opens a session, without the session's id: `claude --resume`; empty without one.
    """

    name: str
    opener: str = ""

    def how_to_open(self, session_id: str) -> str:
        """Return the command that opens a session, such as `claude --resume ID`; empty without one."""
        return f"{self.opener} {shlex.quote(session_id)}" if self.opener else ""


class FileProgram(TranscriptProgram, ABC):
    """A program with one transcript per file.

    Attributes:
        reader: Returns a new reader of a file.
    """

    reader: Callable[[TranscriptFile], TranscriptReader]

    @abstractmethod
    def folders(self, places: Places) -> Sequence[Path]:
        """Return the folders that may contain transcripts; they may be missing."""

    @abstractmethod
    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript in a file by its path below one of the folders, `/` between names; None for others."""

    @abstractmethod
    def is_walked(self, path: str) -> bool:
        """Return whether a folder below one of the folders may contain transcripts."""

    @abstractmethod
    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return what files next to the transcripts say about a session (blocking), None without any.

        Its title is preferred to the transcript's. It fills in what the transcript doesn't say: working directory,
        branch, times, and a kind other than `main`.
        """


class StoredSession(NamedTuple):
    """A session in a database.

    `version` changes with every change of its messages: (largest time of an update, largest number or count).
    """

    id: str
    version: tuple[int, int]
    updated_ms: int
    kind: SessionKind = "main"


class ConversationDatabase(Protocol):
    """An open database of conversations. Its methods block, and each reads in one short transaction."""

    def sessions(self) -> list[StoredSession]:
        """Return all sessions.

        Raises:
            ForeignDatabaseError: The database can't be read.
        """

    def read(self, session_id: str) -> Conversation | None:
        """Return one conversation, or None if it no longer exists; raises the same."""

    def close(self) -> None:
        """Close the database."""


class DatabaseProgram(TranscriptProgram, ABC):
    """A program with all transcripts in a database.

    Attributes:
        open: Opens a database for reading only.
    """

    open: Callable[[Path], ConversationDatabase]

    @abstractmethod
    def databases(self, places: Places) -> Sequence[Path]:
        """Return the databases; they may be missing."""
