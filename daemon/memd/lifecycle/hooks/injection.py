"""The text that a hook injects: facts with their places, within a number of tokens. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from memd.system.untrusted import escape, on_one_line
from memd.text.redact.secrets import redact
from memd.text.tokens import estimate_tokens
from memd.text.transcripts.injected import CLOSING, OPENING

PROMPT_HEADING = "Noted earlier by agents unless marked, and quoted; it may be outdated:"
RELATED_HEADING = "Possibly related:"
ORIGIN_LABELS = {"user": "user", "program": "program output"}
"""Whose words a line is, if they aren't an agent's."""


class ShownLine(Struct, frozen=True):
    """One line to inject: its text, its place, and what else is known about it, such as its date.

    `quoted` are the whole lines that `text` is cut from: one line, or a question and its answer. `messages` are the
    places of those that are messages of a conversation. `origin` is whose words it is; empty if the text tells that.
    """

    text: str
    place: str = ""
    about: str = ""
    quoted: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    origin: str = ""


class HookDecision(Struct, frozen=True):
    """What a hook does: the code, the text with its lines, or the best candidate's place and what it lacks.

    `location` is where the answer may be, with the tool that reads it.
    """

    code: str
    text: str = ""
    lines: tuple[ShownLine, ...] = ()
    candidate: str = ""
    lacks: str = ""
    location: str = ""


def inject(heading: str, lines: Sequence[ShownLine], max_tokens: int) -> tuple[str, list[ShownLine]]:
    """Return a marked block with the first lines that fit, and these lines; "" without any."""
    shown: list[ShownLine] = []
    for line in lines:
        if estimate_tokens(_block(heading, [*shown, line])) <= max_tokens:
            shown.append(line)
    return (_block(heading, shown), shown) if shown else ("", [])


def name_location(location: str) -> str:
    """Return a marked block that only names where an answer may be."""
    text, _ = redact(location)
    return "\n".join((OPENING, f"{RELATED_HEADING} {on_one_line(escape(text))}", CLOSING))


def _block(heading: str, lines: Sequence[ShownLine]) -> str:
    return "\n".join((OPENING, on_one_line(heading), *map(_row, lines), CLOSING))


def _row(line: ShownLine) -> str:
    """Return a line as text that can't end its block, without secrets."""
    text, _ = redact(line.text)
    place = ", ".join(filter(None, (line.place, ORIGIN_LABELS.get(line.origin), line.about)))
    return f"- {escape(text)}" + (f" ({on_one_line(place)})" if place else "")
