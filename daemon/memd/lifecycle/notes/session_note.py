"""The note of an ended session: finding its transcript, its last messages, and the text of the note.

The messages were written by users and models. Each becomes one line that begins with its role, so it can't be a
heading, a list, a fence or front matter; markup in it stays text, and invisible characters are removed.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from msgspec import Struct

from memd.programs.openclaw import OpenClawReader, find_session_id
from memd.sources.conversation_text import ConversationLines, ConversationText
from memd.sources.openclaw import PREFIX
from memd.sources.source import FileText, Reset, SourceFile
from memd.system.safe_open import open_unlinked
from memd_client.errors import FileMissingError, FileUnreadableError, PathRefusedError

MAX_TRIED = 6
"""Transcripts that are searched for messages: right after `/new`, the newest is often the new session."""

_TOPIC = "-topic-"
_RESET = ".jsonl.reset."
_DELETED = ".jsonl.deleted."
_END_BYTES = 256 * 1024
"""Bytes of a file's end that are read first: enough for the last messages, unless tools printed much in between."""

_NO_PLAIN_FILE = (".sqlite", ".zst")
"""Suffixes of transcripts that are read completely: databases and compressed files."""

_EXAMINED_CHARS = 2_000
"""Characters of a message that are checked for visible text."""

_ROLES = (("User: ", "user"), ("Assistant: ", "assistant"))
_COMMAND = re.compile(r"/[A-Za-z][\w-]*(?:[@:\s]|\Z)")
"""A chat command (`/new`, `/model gpt`), which is no message; a path such as `/etc/hosts` doesn't match."""

_JOINERS = "\u200c\u200d"
"""Invisible characters that Persian letters and emoji need."""

_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
"""Possible start of markup; with a space after `<` it is none."""

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Categories of characters that are invisible or change the direction of text."""


class ConversationMessage(NamedTuple):
    """One message: `user` or `assistant`, and its text as one line without secrets."""

    role: str
    text: str


class EndedSession(Struct, frozen=True):
    """An ended session: its id and its last messages, if any."""

    session_id: str
    messages: tuple[ConversationMessage, ...]


def name_in_folder(folder: Path, transcript: str) -> str:
    """Return the name of a transcript directly in a folder (blocking).

    The path itself is not opened: only the name is used.
    """
    shown = transcript[:200]
    above, _, name = transcript.rpartition("/")
    if "\0" in transcript or find_session_id(name) is None:
        raise PathRefusedError(f"{shown!r} is not the name of a transcript", hint=_HINT, data={"path": shown})
    if above and (".." in above.split("/") or not _is_same(above, folder)):
        raise PathRefusedError(
            f"{shown!r} is not in this agent's sessions folder", hint=_HINT, data={"path": shown}
        )
    return name


_HINT = "give a transcript directly in the agent's folder `sessions`, or its session id"


def transcripts_of(
    found: Mapping[str, SourceFile], name: str | None, session_id: str | None
) -> list[SourceFile]:
    """Return the possible transcripts of a session, the most likely first."""
    wanted: list[SourceFile] = []
    if name is not None:
        wanted += [found[path] for path in (PREFIX + name,) if path in found]
        wanted += _newest(found, f"{PREFIX}{name}.reset.")
    for each in dict.fromkeys(filter(None, (find_session_id(name or ""), session_id))):
        wanted += [found[path] for path in (f"{PREFIX}{each}.jsonl",) if path in found]
        for behind in (_TOPIC, _RESET):
            wanted += _newest(found, PREFIX + each + behind)
    if name is None and not session_id:
        wanted = _newest(found, PREFIX)
    return list(dict.fromkeys(wanted))[:MAX_TRIED]


def conversation_in(conversation: str, resets: Sequence[Reset], *, goes_on: bool) -> str:
    """Return the lines of the conversation that ended."""
    if not resets:
        return conversation
    lines = conversation.split("\n") if conversation else []
    before = resets[:-1] if goes_on else resets
    first = before[-1].first_line if before else 1
    end = resets[-1].end_line if goes_on else len(lines) + 1
    return "\n".join(lines[first - 1 : end - 1])


def resets_until(resets: Sequence[Reset], ended_ms: int | None) -> Sequence[Reset]:
    """Return the resets up to the one at which a conversation ended: the one nearest in time, else the last one."""
    if ended_ms is None or not all(reset.at_ms for reset in resets):
        return resets
    ages = [(-abs(reset.at_ms - ended_ms), at) for at, reset in enumerate(resets, start=1)]
    return resets[: max(ages, default=(0, 0))[1]]


def last_messages(conversation: str, most: int) -> tuple[ConversationMessage, ...]:
    """Return the last messages of a transcript, without chat commands."""
    said: list[ConversationMessage] = []
    for line in reversed(conversation.split("\n")):
        if len(said) == most:
            break
        for opening, role in _ROLES:
            text = line.removeprefix(opening)
            if (
                text != line
                and not (role == "user" and _COMMAND.match(text))
                and one_line(text[:_EXAMINED_CHARS])
            ):
                said.append(ConversationMessage(role, text))
    return tuple(reversed(said))


def one_line(text: str) -> str:
    """Return a text as one line without invisible characters and markup."""
    shown = "".join(letter if _is_shown(letter) else _instead(letter) for letter in text)
    return _MARKUP.sub("< ", " ".join(shown.split()))


def read_ended(
    wanted: list[SourceFile],
    load: Callable[[SourceFile], FileText],
    most: int,
    *,
    goes_on: bool = False,
    ended_ms: int | None = None,
) -> EndedSession | None:
    """Return the end of the first transcript that has messages (blocking).

    With `goes_on`, the conversation ended at the reset nearest to `ended_ms`, or at the last one.
    """
    ended_ms = ended_ms if goes_on else None
    ended: EndedSession | None = None
    for found in wanted:
        try:
            is_file = not found.location.endswith(_NO_PLAIN_FILE)
            if is_file:
                messages = _read_end(found, most, goes_on, ended_ms)
            else:
                file = load(found)
                resets = resets_until(file.resets, ended_ms)
                messages = last_messages(conversation_in(file.text, resets, goes_on=goes_on), most)
        except FileMissingError:
            continue
        session_id = find_session_id(found.path.removeprefix(PREFIX)) or ""
        if messages:
            return EndedSession(session_id, messages)
        ended = ended or EndedSession(session_id, ())
    return ended


def _read_end(
    found: SourceFile, most: int, goes_on: bool, ended_ms: int | None
) -> tuple[ConversationMessage, ...]:
    """Return the last messages of a conversation in a file, reading only as much of its end as needed."""
    try:
        with os.fdopen(open_unlinked(found.location), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise FileUnreadableError(f"{found.path} is not a file", data={"path": found.path})
            room = _END_BYTES
            while True:
                start = max(0, facts.st_size - room)
                conversation = _conversation_in(os.pread(file.fileno(), room, start), is_whole=start == 0)
                resets = resets_until(conversation.resets, ended_ms)
                said = last_messages(conversation_in(conversation.text, resets, goes_on=goes_on), most)
                # Without an earlier reset in the part that was read, a reset before it may be nearer in time.
                is_full = len(said) == most and len(resets) == goes_on and ended_ms is None
                has_begun = len(resets) > goes_on or is_full
                if start == 0 or has_begun:
                    return said
                room *= 4
    except FileNotFoundError:
        raise FileMissingError(f"{found.path} is gone", data={"path": found.path}) from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise FileUnreadableError(
            f"{found.path} can't be read: {why}", data={"path": found.path, "reason": "os"}
        ) from None


def _conversation_in(data: bytes, *, is_whole: bool) -> ConversationText:
    """Return the messages at the end of a transcript, without an incomplete first line."""
    reader, lines = OpenClawReader(""), ConversationLines()
    for number, line in enumerate(data.split(b"\n")[0 if is_whole else 1 :]):
        reader.read(line, number)
    conversation = reader.conversation()
    lines.update(conversation.messages)
    return lines.text(conversation.breaks)


def _newest(found: Mapping[str, SourceFile], beginning: str) -> list[SourceFile]:
    """Return the transcripts whose path has a prefix, newest first, without those the user deleted."""
    wanted = [each for path, each in found.items() if path.startswith(beginning) and _DELETED not in path]
    return sorted(wanted, key=lambda each: (each.mtime_ns, each.path), reverse=True)


def _is_same(above: str, folder: Path) -> bool:
    if Path(above) == folder:
        return True
    try:
        return os.path.samestat(os.stat(above), os.stat(folder))
    except OSError:
        return False


def _is_shown(letter: str) -> bool:
    """Return whether a character is visible, or needed by visible ones."""
    return letter in _JOINERS or unicodedata.category(letter) not in _HIDDEN


def _instead(letter: str) -> str:
    """Return the replacement of an invisible character: a space if it separates words, else nothing."""
    category = unicodedata.category(letter)
    return "\ufffd" if category == "Cs" else " " if category in ("Cc", "Zl", "Zp") else ""


MAX_MESSAGE_CHARS, MAX_NOTE_CHARS = 2_000, 24_000
"""Limits of one message, and of all messages of a note."""

MAX_HEADER_VALUE_CHARS = 200
"""Limit of a session's key, id or channel in a note."""

CUT = " […cut]"
_MIN_MESSAGE_CHARS = 100
"""A shorter part of a message is left out."""


def note_text(
    moment: datetime,
    zone: str | None,
    *,
    session_key: str,
    session_id: str,
    channel: str | None,
    messages: Sequence[ConversationMessage],
) -> tuple[str, int]:
    """Return a note and the number of its messages."""
    lines = _said_lines(messages)
    excluded = len(messages) - len(lines)
    facts = [("Session Key", session_key), ("Session ID", session_id), ("Source", channel or "")]
    header = [f"- **{name}**: {text}" for name, raw in facts if (text := fact(raw))]
    earlier = [f"[… {excluded} earlier messages left out]"] if excluded else []
    note = [
        f"# Session: {moment:%Y-%m-%d %H:%M:%S} {zone or moment.tzname() or 'UTC'}",
        "",
        *header,
        "",
        "## Conversation Summary",
        "",
        *earlier,
        *lines,
    ]
    return "\n".join(note) + "\n", len(lines)


def fact(text: str) -> str:
    """Return a value of the header as one short line."""
    line = one_line(text[: MAX_HEADER_VALUE_CHARS + 1])
    return (
        line
        if len(line) <= MAX_HEADER_VALUE_CHARS
        else line[: MAX_HEADER_VALUE_CHARS - len(CUT)].rstrip() + CUT
    )


def label_of(session_key: str) -> str:
    """Return the comment at the start of a private note: hosts show the note to sessions that may see this one."""
    return f"<!-- memd:session={quote(session_key, safe=':')} -->\n"


def body_of(note: str) -> str:
    """Return a note without its label and its heading (the time), to compare it with another one."""
    return note[note.startswith("<!--") and note.find("\n") + 1 :].partition("\n")[2]


def _said_lines(messages: Sequence[ConversationMessage]) -> list[str]:
    """Return a line for each message, only the last ones if all exceed the limit."""
    lines: list[str] = []
    room = MAX_NOTE_CHARS
    for message in reversed(messages):
        # Truncated before it is processed by character: a message may have megabytes.
        text = one_line(message.text[: MAX_MESSAGE_CHARS + 1])
        most = min(MAX_MESSAGE_CHARS, room)
        if most < _MIN_MESSAGE_CHARS:
            break
        if len(text) > most or len(message.text) > MAX_MESSAGE_CHARS + 1:
            text = text[: most - len(CUT)].rstrip() + CUT
        lines.append(f"{message.role}: {text}")
        room -= len(text)
    return lines[::-1]
