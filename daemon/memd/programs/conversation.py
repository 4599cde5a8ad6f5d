"""A conversation of a user with an agent, as a reader of a program's transcripts returns it."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

from memd.programs.work import Fetch, Step

Role: TypeAlias = Literal["user", "assistant"]

SessionKind: TypeAlias = Literal["main", "subagent", "machine"]
"""`subagent`: a session that an agent started; `machine`: one without a user, such as a scheduled or headless run."""


def is_wanted(kind: str, *, with_subagents: bool) -> bool:
    """Return whether sessions of a kind are indexed."""
    return kind == "main" or (kind == "subagent" and with_subagents)


class Message(NamedTuple):
    """One message: words of a user, or a visible answer.

    Attributes:
        role: Who speaks.
        text: The visible text, which may have several lines; never empty.
        place: The line of the file from 1, or the number of the row in the session. Never decreases within a
            conversation.
        key: The program's id of the message; of a copy the original's; "" without one.
        time_ms: When it was said, in milliseconds UTC; None if unknown.
        outside: Why it counts as text of others, although it was said by a user or an agent; else empty.
    """

    role: Role
    text: str
    place: int
    key: str = ""
    time_ms: int | None = None
    outside: str = ""


class Break(NamedTuple):
    """The end of one conversation and the beginning of the next under the same session id.

    Attributes:
        end: Number of messages before the end.
        first: Number of messages before the first message of the next conversation: `end`, or less if both share some.
        at_ms: Its time; 0 if unknown.
    """

    end: int
    first: int
    at_ms: int = 0


class Session(Struct):
    """What a program records about a session. Unknown texts are empty.

    Attributes:
        id: The program's stable id.
        kind: Only `main` sessions are indexed by default.
        parent: Id of the session that started it, or that it was forked from.
        title: The newest title that a user or the program gave; else empty.
        cwd: Working directory as recorded, never from a folder's name.
        branch: Branch of its repository.
        started_ms, updated_ms: Times of the first and last record, in milliseconds UTC; None if unknown.
        release: The program's release that wrote the newest record.
    """

    id: str = ""
    kind: SessionKind = "main"
    parent: str = ""
    title: str = ""
    cwd: str = ""
    branch: str = ""
    started_ms: int | None = None
    updated_ms: int | None = None
    release: str = ""

    def note_time(self, time_ms: int | None) -> None:
        """Extend the times of the session to that of a record, if it is known."""
        if time_ms is not None:
            self.started_ms = time_ms if self.started_ms is None else min(self.started_ms, time_ms)
            self.updated_ms = time_ms if self.updated_ms is None else max(self.updated_ms, time_ms)


class Conversation(Struct):
    """A session and its messages, as far as they were read.

    Attributes:
        session: What is known about the session.
        messages: In order, each once. Copies of another session's messages are left out.
        unknown: Number of records of unknown types, by type: they are skipped.
        broken: Number of lines or rows that can't be parsed.
        breaks: In order, of a session that was reset.
        digest: Hash of everything that was read, if the reader has one.
        warning: Why a part of it can't be read; empty if all of it was.
        work: What the agent did, in order; None if it was not requested, or the reader doesn't return it.
        fetches: The texts that the session read, alike; a result that arrived late has the place of its call.
    """

    session: Session
    messages: list[Message] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    breaks: list[Break] = field(default_factory=list)
    digest: str = ""
    warning: str = ""
    work: list[Step] | None = None
    fetches: list[Fetch] | None = None
