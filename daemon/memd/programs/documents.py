"""Programs that keep a JSON document per session and rewrite it with each message: a table describes its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from memd.programs.blocks import visible_text
from memd.programs.conversation import Conversation, Message, Role
from memd.programs.program import FileReader, TranscriptFile, TranscriptReader, session_of
from memd.programs.records import (
    count_unknown,
    decode_record,
    is_utf8,
    part_of,
    path_of_uri,
    text_of,
    time_ms_of,
    title_of,
)
from memd.text.transcripts.tags import opens_with_tag

_ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant"}
_value = msgspec.json.Decoder(object)


class DocumentFormat(msgspec.Struct, frozen=True):
    """Where a program's documents have what memd reads. A path is `a.b.0`: keys of objects and numbers of lists.

    Attributes:
        messages: Path of the list of messages; empty if the document is that list.
        role, content, key: Paths of a message's parts.
        times: Paths of its time, of which the first one that it has counts.
        session: Path of each known field of the session, by its name.
        other_roles: Roles that are neither a user's nor the assistant's.
        wrappers: Tags around the words of a user; text that opens with any other tag is a program's.
    """

    messages: str = "messages"
    role: str = "role"
    content: str = "content"
    key: str = "id"
    times: tuple[str, ...] = ()
    session: Mapping[str, str] = {}
    other_roles: frozenset[str] = frozenset(("system", "tool", "thinking"))
    wrappers: tuple[str, ...] = ()


class DocumentReader:
    """Reads a document (a `TranscriptReader`). The place of a message is its number in the list."""

    def __init__(self, file: TranscriptFile, form: DocumentFormat) -> None:
        self._file = file
        self._form = form
        self._document: Any = None
        self._result = Conversation(session_of(file))

    def read(self, line: bytes, place: int) -> None:
        """Read the whole document; see `TranscriptReader.read`."""
        value = decode_record(line, _value) if is_utf8(line) else None
        if value is None:
            self._result.broken += bool(line.strip())
        else:
            self._take(value)

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        counted = self._result
        self._result = Conversation(
            session_of(self._file), unknown=counted.unknown.copy(), broken=counted.broken
        )
        self._read_session(self._document)
        items = part_of(self._document, self._form.messages)
        self._read_messages(items if isinstance(items, list) else [])
        conversation, self._result = self._result, counted
        return conversation

    def _take(self, value: Any) -> None:
        """Take what was read: the document."""
        self._document = value

    def _read_session(self, document: object) -> None:
        """Read what the document records about its session."""
        session = self._result.session
        for name, path in self._form.session.items():
            value = part_of(document, path)
            if name.endswith("_ms"):
                session.note_time(time_ms_of(value))
            elif isinstance(value, str) and value:
                is_uri = name == "cwd" and value.startswith("file:")
                value = path_of_uri(value) if is_uri else value
                setattr(session, name, title_of(value) if name == "title" else value)

    def _read_messages(self, items: Sequence[object]) -> None:
        """Read the messages in their order. A text that is repeated at once was only shown again."""
        messages = self._result.messages
        for place, item in enumerate(items, start=1):
            if not isinstance(item, dict):
                self._result.broken += 1
                continue
            times = (time_ms_of(part_of(item, path)) for path in self._form.times)
            time_ms = next((time for time in times if time is not None), None)
            self._result.session.note_time(time_ms)
            key = text_of(part_of(item, self._form.key))
            for role, text in self._speech(item):
                said = role, text.strip()
                if said[1] and (role == "user" or not messages or messages[-1][:2] != said):
                    messages.append(Message(*said, place, key, time_ms))

    def _speech(self, item: Mapping[str, Any]) -> Iterator[tuple[Role, str]]:
        """Yield who says what in a message, in order; texts may be empty."""
        name, content = part_of(item, self._form.role), part_of(item, self._form.content)
        role = _ROLES.get(name) if isinstance(name, str) else None
        if role == "user":
            yield role, words_in(content, self._form.wrappers)
        elif role is not None:
            yield role, visible_text(content)
        elif not isinstance(name, str) or name not in self._form.other_roles:
            self._count(name)

    def _count(self, kind: object) -> None:
        """Count a message of an unknown type."""
        count_unknown(self._result.unknown, kind if isinstance(kind, str) else type(kind).__name__)


class DocumentFiles(FileReader):
    """The documents of a program.

    Args:
        path: Matches the path of a document below the program's folder; its group `id` is the id of the session. If
            the group `root` differs, that session started it.
        form: Where the documents have their parts.
        reader: What reads a document.
        walked: Matches the folders that contain some.
    """

    def __init__(
        self, path: str, form: DocumentFormat, reader: type[DocumentReader] = DocumentReader, walked: str = ""
    ) -> None:
        self._path, self._walked = re.compile(path), re.compile(walked)
        self._form, self._reader = form, reader

    def open(self, file: TranscriptFile) -> TranscriptReader:
        """Return a reader."""
        return self._reader(file, self._form)

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the document at a path."""
        match = self._path.fullmatch(path)
        if match is None:
            return None
        is_root = match["id"] == match.groupdict().get("root", match["id"])
        return TranscriptFile(match["id"], "main" if is_root else "subagent")

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain documents."""
        return self._walked.fullmatch(path) is not None


def words_in(content: object, wrappers: Sequence[str]) -> str:
    """Return the words of a user in a content: without the blocks that programs add, which open with a tag."""
    blocks = content if isinstance(content, list) else [content]
    texts = [_words_of(visible_text(block).strip(), wrappers) for block in blocks]
    return "\n".join(text for text in texts if text)


def _words_of(text: str, wrappers: Sequence[str]) -> str:
    """Return the text inside of a known tag, no text of another one, else the whole text."""
    for tag in wrappers:
        if text.startswith((f"<{tag}>", f"<{tag} ")):
            inner = text.partition(">")[2]
            return (inner.rpartition(f"</{tag}>")[0] or inner).strip()
    return "" if opens_with_tag(text) else text
