"""What memd reads from: the interface of a source, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from memd.index.origins import FetchedText
from memd.index.transcripts import NO_FACTS, SessionFacts
from memd.index.work import WorkRow
from memd.programs.conversation import Conversation
from memd.programs.work import Fetch
from memd.system.safe_open import FileStat
from memd.text.trust.origins import UNKNOWN, LineOrigins
from memd_client.messages import Problem, SkippedFile

MEMORY = "memory"
"""Name of the source that is an agent's workspace and its extra paths."""


class SourceFile(NamedTuple):
    """One note or conversation: its path in the index, its location on disk, and its stat.

    Attributes:
        ctime_ns: Changes with every write, even if a program resets `mtime_ns`; 0 if a database has no such time.
        source: Name of the source.
        root: A note is opened name by name from here. The root may be a link, because the settings name it; nothing
            below it may be a link.
        is_conversation: Whether it is a conversation.
    """

    path: str
    location: str
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int
    source: str = MEMORY
    root: str = ""
    is_conversation: bool = False

    @property
    def stat(self) -> FileStat:
        """Its `mtime_ns`, `size`, `inode` and `ctime_ns`."""
        return self[2:6]


class Reset(NamedTuple):
    """A reset in a transcript: one conversation ends, and the next begins under the same session id.

    Attributes:
        end_line: The line before which the earlier conversation ends; one past the last line if nothing follows.
        first_line: The first line of the later conversation: `end_line`, or an earlier line that both share.
        at_ms: Its time; 0 if unknown.
    """

    end_line: int
    first_line: int
    at_ms: int = 0


class FileText(Struct, frozen=True):
    """The text of a note or conversation, and its stat when it was read.

    Attributes:
        text: A note unchanged; a conversation with one line per message, without scaffolding and secrets.
        hash: Hash of everything that was read.
        size: Size of the whole file, even if `text` is only its beginning.
        line_map: For a conversation, the line (or event number) that each line of `text` came from; else empty.
        redactions: For a conversation, the number of secrets redacted from `text`.
        resets: For a conversation, its resets in order.
        times: For a conversation, the time of each line in milliseconds UTC, 0 if unknown; empty if no time is known.
        facts: For a conversation, what is known about its session.
        work: For a conversation, what the agent did in it; None if that is unknown, so that what is indexed stays.
        origins: Whose words the lines of `text` are.
        fetches: For a conversation, the texts that it read; None if that is unknown, so that what is indexed stays.
    """

    text: str
    hash: str
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int
    line_map: tuple[int, ...] = ()
    redactions: int = 0
    resets: tuple[Reset, ...] = ()
    times: tuple[int, ...] = ()
    facts: SessionFacts = NO_FACTS
    work: tuple[WorkRow, ...] | None = None
    origins: LineOrigins = UNKNOWN
    fetches: tuple[FetchedText, ...] | None = None


class Listing(Struct):
    """What is on disk now, of one source or of all sources of an agent. A listing never changes once returned.

    Attributes:
        files: Notes and conversations by their path in the index.
        skipped: Files that can't be indexed, each with the reason.
        partial: Notes that are indexed only up to the size limit, each with the size of that part.
        problems: Problems of a whole folder or database, each with a hint.
        excluded: Number of sessions that are not memory, by kind.
        kinds: Kinds of those sessions by id, such as `cron` or `subagent`.
        stores: Of OpenClaw, the number of conversations in each of its stores.
        by_key: Of OpenClaw, by session key, the path of the conversation that was written last under it.
        unseen: Names of sources that could not be listed completely: what is missing may still exist.
        is_missing: Whether the source's folder doesn't exist; of an agent, its workspace.
        beyond_limits: Number of files excluded by the limits on files and bytes.
    """

    files: dict[str, SourceFile] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    partial: list[SkippedFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=dict)
    by_key: dict[str, str] = field(default_factory=dict)
    unseen: frozenset[str] = frozenset()
    is_missing: bool = False
    beyond_limits: int = 0

    def leave_out(self, session_id: str, kind: str) -> None:
        """Count a session as not memory, once."""
        if session_id not in self.kinds:
            self.kinds[session_id] = kind
            self.excluded[kind] = self.excluded.get(kind, 0) + 1

    def skip(self, path: str, reason: str) -> None:
        """Record a file that can't be indexed."""
        self.skipped.append(SkippedFile(shown(path), reason))


class Source(ABC):
    """A place that memd reads notes or conversations from.

    All methods block and are thread-safe. Nothing is ever written to a source, and no lock or transaction remains open
    in it between two calls.

    Attributes:
        name: Its name, which its files have as their `source`.
        is_conversation: Whether it has conversations.
        inner: The sources that it consists of.
        notes: Locations of the agent's notes: a session that reads one reads memory, nothing from outside.
    """

    name: str
    is_conversation: bool = False
    inner: tuple[Source, ...] = ()
    notes: Collection[str] = ()

    @abstractmethod
    def find(self) -> Listing:
        """Return what is there now; the same object as before while nothing changed.

        This runs inside every search: it checks names, sizes and times, and reads a conversation's first lines at most
        once. Unreadable files are in `skipped` or `problems`. While a database is busy, the previous listing counts.

        Raises:
            FileUnreadableError: The process has no file descriptors left.
        """

    @abstractmethod
    def load(self, found: SourceFile) -> FileText:
        """Return the text of a file.

        If a conversation has only grown since its last load, only the addition is parsed; the result is the same as
        that of a full load.

        Args:
            found: The file as `find` returned it; it may have changed since.

        Raises:
            FileMissingError: It no longer exists.
            FileUnreadableError: It can't be read, is too big, became a link, or changes while it is read.
            PathRefusedError: It is no longer the file that was found.
        """

    def without_notes(self, fetches: Sequence[Fetch] | None) -> list[Fetch] | None:
        """Return the texts that a session read, without notes."""
        if fetches is None:
            return None
        return [fetch for fetch in fetches if fetch.what.removeprefix("the file ") not in self.notes]

    def load_work(self, found: SourceFile) -> Conversation | None:
        """Return a conversation as its program has it, with the agent's work; None if only its text is left.

        Nothing is redacted from its messages. Nothing is cached, and the file is read whole. Raises the same as `load`.
        """
        return None

    def growth(self, found: SourceFile, indexed: FileStat | None) -> tuple[int, int] | None:
        """Return by how many bytes and messages a conversation grew since it was indexed; None: it did more than grow.

        Args:
            found: The conversation.
            indexed: Its stat when it was indexed; None if it is not indexed.
        """
        return None

    @abstractmethod
    def close(self) -> None:
        """Release connections, descriptors and RAM. A closed source opens again at the next call."""


def shown(path: str) -> str:
    """Return a path as valid UTF-8: other bytes become question marks."""
    return path if path.isascii() else path.encode("utf-8", "replace").decode("utf-8")
