"""Transcripts with one JSON object per line, and programs that keep one in a file per session.

A program's module says what its records mean (`LinesReader.take`), and where its files are (`Form`, `Details`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from memd.programs.branches import FIRST_PROMPT, NO_PARENT, Branches, RecordKind
from memd.programs.conversation import Conversation, Message, Role, Session, SessionKind
from memd.programs.program import FileReader, TranscriptFile, TranscriptReader, session_of
from memd.programs.records import (
    count_unknown,
    decode_record,
    is_utf8,
    session_title,
    text_of,
    time_ms_of,
    title_of,
)
from memd.programs.small_files import paths_in, read_small_file
from memd.text.transcripts.injected import without_injected
from memd.text.transcripts.tags import opens_with_tag

Record: TypeAlias = dict[str, Any]

_record = msgspec.json.Decoder(Record)

ID: Final = r"([A-Za-z0-9_-][A-Za-z0-9._-]{0,119})"
"""Matches a session's id in the name of a file or folder."""


def field(record: object, path: str) -> Any:
    """Return the value at a path of keys, which are separated by points; None if there is none."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def read_json(path: str) -> Record | None:
    """Return the object in a small file of JSON (blocking); None if there is none."""
    return decode_record(read_small_file(path), _record)


def typed_words(text: str) -> str:
    """Return what a user typed in a text of the role user; empty for a text that a program wrapped in a tag."""
    words = without_injected(text).strip()
    return "" if opens_with_tag(words) else words


class LinesReader:
    """Reads a transcript (a `TranscriptReader`). A subclass reads one record in `take`.

    Attributes:
        session: What is known about the session.
        title: The newest title; without one, the first prompt is used.
        messages: The messages so far.
    """

    def __init__(self, file: TranscriptFile) -> None:
        self.session = session_of(file)
        self.title = ""
        self.messages: list[Message] = []
        self.unknown: Counter[str] = Counter()
        self.broken = 0

    def read(self, line: bytes, place: int) -> None:
        """Read the next line; see `TranscriptReader.read`."""
        if not line.strip():
            return
        record = decode_record(line, _record)
        if record is None or not is_utf8(line):  # a damaged byte may be one of what marks a machine's text
            self.broken += 1
        else:
            self.take(record, place)

    def take(self, record: Record, place: int) -> None:
        """Read a record. Any of its fields may have any type."""
        raise NotImplementedError

    def say(self, role: Role, text: str, place: int, key: object = "", time_ms: int | None = None) -> bool:
        """Add a message if it has words; return whether. A subagent's prompts are words of its agent."""
        text = typed_words(text) if role == "user" else text.strip()
        if not text or (role == "user" and self.session.kind == "subagent"):
            return False
        self.messages.append(Message(role, text, place, text_of(key), time_ms))
        return True

    def name(self, title: object) -> None:
        """Note a title, unless it is empty."""
        self.title = title_of(text_of(title)) or self.title

    def skip(self, kind: object, known: Iterable[str]) -> None:
        """Count a record whose type isn't among the known ones."""
        if not isinstance(kind, str) or kind not in known:
            count_unknown(self.unknown, text_of(kind))

    def kept(self) -> list[Message]:
        """Return the messages that are part of the conversation."""
        return [*self.messages]

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        messages = self.kept()
        prompts = (message.text for message in messages if message.role == "user")
        session = replace(self.session, title=session_title(self.title, prompts))
        return Conversation(session, messages, self.unknown.copy(), self.broken)


class TreeReader(LinesReader):
    """Reads a transcript whose records are a tree, without the branches that its user abandoned."""

    def __init__(self, file: TranscriptFile) -> None:
        super().__init__(file)
        self._branches = Branches()
        self._numbers: list[int] = []
        self._number = NO_PARENT

    def grow(self, record_id: object, parent: object, kind: RecordKind, *, is_prompt: bool = False) -> bool:
        """Add a record to the tree; return False if it is a repeated one. Messages that follow belong to it."""
        self._number = NO_PARENT
        if not isinstance(record_id, str):
            return True
        if self._branches.number_of(record_id) is not None:
            return False
        above = self._branches.number_of(parent)
        if above is None:
            above = FIRST_PROMPT if parent is None and is_prompt else NO_PARENT
        self._number = self._branches.add(record_id, above, kind)
        return True

    def say(self, role: Role, text: str, place: int, key: object = "", time_ms: int | None = None) -> bool:
        """Add a message of the record that was added last."""
        if is_said := super().say(role, text, place, key, time_ms):
            self._numbers.append(self._number)
        return is_said

    def kept(self) -> list[Message]:
        """Return the messages of the branches that weren't abandoned."""
        abandoned = self._branches.abandoned()
        numbered = zip(self._numbers, self.messages, strict=True)
        return [message for number, message in numbered if number not in abandoned]


class Form(NamedTuple):
    """The paths of transcripts below their folder.

    Attributes:
        path: A pattern for each name, separated by `/`. The groups are the session's id, and `/` joins them.
        kind: Kind of their sessions.
        rank: Of several files with one id, the file with the highest rank is read.
    """

    path: str
    kind: SessionKind = "main"
    rank: int = 0


class Details(NamedTuple):
    """A JSON file next to transcripts that describes a session: for each fact, the paths of fields that may have it.

    Attributes:
        file: Its path below the folder; `{id}` is the session's id, and `*` all folders.
        kinds: The kind of a session by the value of its field `kind`.
    """

    file: str
    title: tuple[str, ...] = ()
    cwd: tuple[str, ...] = ()
    parent: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    kind: str = ""
    kinds: Mapping[str, SessionKind] = {}

    def session(self, session_id: str, record: Record) -> Session:
        """Return what the file says about a session."""
        kind = field(record, self.kind)
        return Session(
            session_id,
            self.kinds.get(kind, "main") if isinstance(kind, str) else "main",
            parent=_first(record, self.parent),
            title=title_of(_first(record, self.title)),
            cwd=_first(record, self.cwd),
            started_ms=_first_time(record, self.started),
            updated_ms=_first_time(record, self.updated),
        )


def _first(record: Record, paths: Iterable[str]) -> str:
    return next((text for path in paths if (text := text_of(field(record, path)).strip())), "")


def _first_time(record: Record, paths: Iterable[str]) -> int | None:
    return next((time_ms for path in paths if (time_ms := time_ms_of(field(record, path)))), None)


class LinesFiles(FileReader):
    """A program with a file of lines per session."""

    def __init__(
        self,
        reader: Callable[[TranscriptFile], TranscriptReader],
        *forms: Form,
        details: Details | None = None,
    ) -> None:
        self._reader = reader
        self._forms = [(tuple(map(re.compile, form.path.split("/"))), form) for form in forms]
        self._details = details

    def open(self, file: TranscriptFile) -> TranscriptReader:
        """Return a reader."""
        return self._reader(file)

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at a path."""
        names = path.split("/")
        for patterns, form in self._forms:
            if len(names) != len(patterns):
                continue
            matches = [pattern.fullmatch(name) for pattern, name in zip(patterns, names, strict=True)]
            if all(matches):
                groups = [group for match in matches if match is not None for group in match.groups()]
                return TranscriptFile("/".join(groups), form.kind, form.rank)
        return None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        names = path.split("/")
        return any(
            len(names) < len(patterns)
            and all(pattern.fullmatch(name) for pattern, name in zip(patterns, names, strict=False))
            for patterns, _ in self._forms
        )

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return what the file of details says."""
        if self._details is None or re.fullmatch(ID, session_id) is None:
            return None
        first, is_below, rest = self._details.file.format(id=session_id).partition("*/")
        folders = paths_in(folder) if is_below else [str(folder)]
        for path in (f"{parent}/{rest or first}" for parent in folders):
            record = read_json(path)
            if record is not None:
                return self._details.session(session_id, record)
        return None
