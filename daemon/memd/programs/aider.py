"""Conversations of aider: a Markdown file in the root of each project, to which all of its chats are appended.

aider ends its own lines and those of a prompt with two spaces, which no line of an answer needs. An empty line is
between an answer and what precedes it.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from memd.programs.catalog import Places
from memd.programs.conversation import Break, Conversation, Message, Role, Session
from memd.programs.listed_projects import find_listed_projects
from memd.programs.program import FileReader, TranscriptFile, session_of
from memd.programs.records import time_ms_of

NAME: Final = ".aider.chat.history.md"
_FILE: Final = re.compile(r"(?:.+/)?(?:\.aider\.chat\.history|[^/]*aider[^/]*hist[^/]*)\.md")
_PROJECTS: Final = re.compile(r"(?!node_modules)[^./][^/]*(?:/(?!node_modules)[^./][^/]*)?")
_START: Final = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_MAX_COMMAND_CHARS: Final = 4_096
_RELEASE: Final = re.compile(r"> Aider v(\d\S*) *")
_HEADLESS: Final = re.compile(r"> \S*aider\S* .*?(?<= )(?:--mess[a-z-]*|--msg|-m|-f)(?:[ =]|$)")
"""The command line of a chat without a person."""

_NO_PERSON: Final = re.compile(r"[/!]|<blank>|I ran this command:|.*\(Y\)es/\(N\)o")
"""How a prompt begins that is a command, or that aider answers itself."""


class AiderReader:
    """Reads a file (a `TranscriptReader`). The time of a message is the start of its chat, in this machine's zone.

    Chats without a person are left out. So are commands: aider writes the words after `/ask` again as a prompt.
    """

    def __init__(self, file: TranscriptFile) -> None:
        self._conversation = Conversation(session_of(file))
        self._time_ms: int | None = None
        self._has_prompt = self._is_headless = False
        self._speaker: Role | None = None
        self._lines: list[str] = []
        self._first = self._last = 0

    def read(self, line: bytes, place: int) -> None:
        """Read the next line; see `TranscriptReader.read`. Empty ones are left out, which the numbers show."""
        text = line.decode("utf-8", "replace").removesuffix("\r")
        is_after_empty, self._last = place > self._last + 1, place
        start, is_whole = _START.fullmatch(text), text.endswith("  ")
        if self._speaker == "assistant" and not is_after_empty:
            self._lines.append(text)
        elif start is not None and is_after_empty:
            self._begin(None, place)
            self._begin_chat(start[1])
        elif is_whole and text.startswith("#### "):
            if is_after_empty or self._speaker is None:
                self._begin("user", place)
            self._has_prompt = True
            self._lines.append(text[5:].rstrip())
        elif not is_after_empty or not self._has_prompt or (is_whole and text.startswith("> ")):
            self._begin(None, place)
            self._is_headless = self._is_headless or _HEADLESS.match(text[:_MAX_COMMAND_CHARS]) is not None
            release = _RELEASE.fullmatch(text)
            self._conversation.session.release = release[1] if release else self._conversation.session.release
        else:
            if self._speaker != "assistant":
                self._begin("assistant", place)
            self._lines.append(text)

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        whole = self._conversation
        return Conversation(whole.session, [*whole.messages, *self._message()], breaks=whole.breaks.copy())

    def _begin(self, speaker: Role | None, place: int) -> None:
        """Begin a message; None: lines of aider."""
        self._conversation.messages += self._message()
        self._speaker, self._lines, self._first = speaker, [], place

    def _begin_chat(self, time: str) -> None:
        """Begin the next chat."""
        breaks, end = self._conversation.breaks, len(self._conversation.messages)
        self._time_ms = _local_ms(time)
        self._conversation.session.note_time(self._time_ms)
        self._has_prompt = self._is_headless = False
        if breaks and breaks[-1].end == end:
            breaks.pop()  # the chat before was empty
        if end:
            breaks.append(Break(end, end, self._time_ms or 0))

    def _message(self) -> list[Message]:
        """Return the message that was begun, if it is one of a person or an answer to one."""
        text = "\n".join(self._lines).strip()
        is_command = self._speaker == "user" and _NO_PERSON.match(text) is not None
        if self._speaker is None or not text or is_command or self._is_headless:
            return []
        return [Message(self._speaker, text, self._first, time_ms=self._time_ms)]


def _local_ms(time: str) -> int | None:
    """Return a time of this machine's zone in milliseconds UTC, None if it is invalid."""
    try:
        return time_ms_of(datetime.fromisoformat(time).timestamp() * 1_000)
    except (ValueError, OverflowError, OSError):
        return None


class Aider(FileReader):
    """The roots of projects. A session is a project's file: its id is the folder, or the path of another file."""

    def open(self, file: TranscriptFile) -> AiderReader:
        """Return a reader."""
        return AiderReader(file)

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at a path."""
        return TranscriptFile(path.removesuffix(f"/{NAME}")) if _FILE.fullmatch(path) else None

    def transcript_in(self, folder: str, path: str) -> TranscriptFile | None:
        """Return the transcript at a path below one of several folders."""
        return self.transcript_at(f"{folder}/{path}")

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may be a project, or a folder of projects, in one that a user adds."""
        return _PROJECTS.fullmatch(path) is not None

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the folder of a project."""
        return Session(session_id, cwd="" if session_id.endswith(".md") else session_id)


def find_places(places: Places) -> list[Path]:
    """Return the folders of the file that a variable names, and of the projects that other programs list (blocking)."""
    named = Path(places.environ.get("AIDER_CHAT_HISTORY_FILE", "").strip()).expanduser()
    return [*([named.parent] if named.is_absolute() else []), *find_listed_projects(places)]


READER: Final = Aider()
