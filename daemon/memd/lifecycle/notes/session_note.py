"""The note a session leaves: a header, and what was said last, one line a message whatever was said.

Everything here was written by others. A message is one line that begins with who said it, so that none of it can
be a heading, a list, a fence or front matter; markup in it stays text, and what can't be seen is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memd.lifecycle.notes.session_messages import Said, one_line

MESSAGE_CHARACTERS, NOTE_CHARACTERS = 2_000, 24_000
"""What is kept of one message, and of all of them."""

FACT_CHARACTERS = 200
"""What is kept of a session's key, id or source."""

CUT = " […cut]"
_LEAST = 100
"""Less of a message than this says nothing."""


def note_text(
    moment: datetime,
    zone: str | None,
    *,
    session_key: str,
    session_id: str,
    source: str | None,
    messages: Sequence[Said],
) -> tuple[str, int]:
    """Return a note and how many messages are in it."""
    lines = _said_lines(messages)
    left_out = len(messages) - len(lines)
    facts = [("Session Key", session_key), ("Session ID", session_id), ("Source", source or "")]
    header = [f"- **{name}**: {text}" for name, raw in facts if (text := fact(raw))]
    earlier = [f"[… {left_out} earlier messages left out]"] if left_out else []
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
    """Return a fact of the header as one short line."""
    line = one_line(text[: FACT_CHARACTERS + 1])
    return line if len(line) <= FACT_CHARACTERS else line[: FACT_CHARACTERS - len(CUT)].rstrip() + CUT


def body_of(note: str) -> str:
    """Return a note without its first line, the moment: by the rest one knows that it is the same note."""
    return note.partition("\n")[2]


def _said_lines(messages: Sequence[Said]) -> list[str]:
    """Return a line for each message, the last ones where there isn't room for all."""
    lines: list[str] = []
    room = NOTE_CHARACTERS
    for message in reversed(messages):
        # Before anything looks at it letter by letter: a message may be megabytes.
        text = one_line(message.text[: MESSAGE_CHARACTERS + 1])
        most = min(MESSAGE_CHARACTERS, room)
        if most < _LEAST:
            break
        if len(text) > most or len(message.text) > MESSAGE_CHARACTERS + 1:
            text = text[: most - len(CUT)].rstrip() + CUT
        lines.append(f"{message.role}: {text}")
        room -= len(text)
    return lines[::-1]
