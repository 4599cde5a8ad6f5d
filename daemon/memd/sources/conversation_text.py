"""Conversations as text: one line per message, without secrets, and with a time for each line."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct, field

from memd.index.origins import FetchedText
from memd.index.transcripts import SessionFacts
from memd.index.work import WorkRow
from memd.programs.conversation import Break, Message
from memd.programs.work import Fetch
from memd.sources.source import FileText, Reset
from memd.system.safe_open import FileStat
from memd.text.language.spelling import WHITESPACE
from memd.text.redact.secrets import redact
from memd.text.transcripts.injected import without_injected
from memd.text.trust.contributions import repeated_texts
from memd.text.trust.origins import AGENT, OUTSIDE, UNKNOWN, USER, LineOrigins

RECENT_CONVERSATIONS = 4
"""Conversations whose state is cached, so that only additions are parsed. More concurrent ones are rare, and a state
may take some MB."""

MAX_MESSAGE_CHARS = 50_000
"""Characters of a message that are indexed: longer ones are pasted logs and files."""

MAX_TITLE_CHARS = 200

MAX_TEXT_CHARS = 16_000_000
"""Characters of a conversation that are indexed: the newest ones."""

Work: TypeAlias = tuple[WorkRow, ...] | None

_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_ORIGINS = {"user": USER, "assistant": AGENT}
DAY_MS = 24 * 60 * 60 * 1000
_RUN = re.compile(f"[{WHITESPACE}]+")


class ConversationLine(Struct):
    """One message as a line, with the number of secrets redacted from it; the line is empty if nothing is left.

    `outside` is why it is outside, empty if it isn't.
    """

    message: Message
    line: str
    redactions: int
    outside: str = ""


class ConversationText(Struct):
    """A conversation's lines.

    Attributes:
        text: One line per message.
        numbers: For each line, the place of its message.
        times: For each line, when it was said, in milliseconds UTC, 0 if unknown; empty if no time is known.
        redactions: Number of redacted secrets.
        resets: Resets between conversations, in order.
        origins: Whose words the lines are.
    """

    text: str = ""
    numbers: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    redactions: int = 0
    resets: tuple[Reset, ...] = ()
    origins: LineOrigins = UNKNOWN

    def file_text(
        self, digest: str, stat: FileStat, facts: SessionFacts, work: Work, fetches: Sequence[Fetch] | None
    ) -> FileText:
        """Return the text as a `FileText` with the given hash, stat, facts of its session, work and fetched texts."""
        day_before_ms = stat[0] // 1_000_000 - DAY_MS  # when a text without a time was read
        texts = tuple(
            FetchedText(
                row.time_ms or day_before_ms, OUTSIDE, f"{row.what} that a session read", row.shingles
            )
            for row in fetches or ()
            if row.origin == OUTSIDE
        )
        return FileText(
            self.text,
            digest,
            *stat,
            self.numbers,
            self.redactions,
            self.resets,
            self.times,
            facts,
            work,
            self.origins,
            None if fetches is None else texts,
        )


class ConversationLines(Struct):
    """Lines of a conversation whose messages may change: those of unchanged messages are kept."""

    lines: list[ConversationLine] = field(default_factory=list)

    def update(self, messages: Sequence[Message], fetches: Sequence[Fetch] = ()) -> None:
        """Make the lines those of some messages; new answers that repeat an earlier outside text are outside."""
        known, kept = self.lines, 0
        while (
            kept < len(known)
            and kept < len(messages)
            and (known[kept].message is messages[kept] or known[kept].message == messages[kept])
        ):
            kept += 1
        self.lines = known[:kept] + [line_of(message, fetches) for message in messages[kept:]]

    def text(self, breaks: Sequence[Break] = ()) -> ConversationText:
        """Return the lines as text, without empty ones and the oldest ones beyond the limit."""
        numbers = [number for number, each in enumerate(self.lines) if each.line]
        left, first = MAX_TEXT_CHARS, len(numbers)
        while first and left >= len(self.lines[numbers[first - 1]].line):
            first -= 1
            left -= len(self.lines[numbers[first]].line) + 1
        numbers = numbers[first:]
        lines = [self.lines[number] for number in numbers]
        times = tuple(each.message.time_ms or 0 for each in lines)
        origins = LineOrigins(bytes(_ORIGINS[each.message.role] for each in lines))
        for reason in sorted({each.outside for each in lines} - {""}):
            rows = [row for row, each in enumerate(lines, 1) if each.outside == reason]
            origins = origins.lowered(rows, OUTSIDE, reason, len(lines))
        return ConversationText(
            "\n".join(each.line for each in lines),
            tuple(each.message.place for each in lines),
            times if any(times) else (),
            sum(each.redactions for each in lines),
            tuple(
                Reset(bisect_left(numbers, each.end) + 1, bisect_left(numbers, each.first) + 1, each.at_ms)
                for each in breaks
            ),
            origins,
        )


def line_of(message: Message, fetches: Sequence[Fetch] = ()) -> ConversationLine:
    """Return a message as one line. It is as trusted as its worst part, given what its session read before."""
    raw = without_injected(message.text)[:MAX_MESSAGE_CHARS]
    said = _RUN.sub(" ", raw).strip()
    if not said:
        return ConversationLine(message, "", 0)
    said, count = redact(said)
    outside, is_answer = message.outside, message.role == "assistant"
    earlier = [each for each in fetches if each.origin == OUTSIDE and each.place < message.place]
    for fetch in repeated_texts(raw.split("\n"), earlier).values() if is_answer and earlier else ():
        outside = f"repeats {fetch.what} that a session read"
    return ConversationLine(message, f"{_SPEAKERS[message.role]}: {said}", count, outside)


def clean_title(title: str) -> str:
    """Return a session's title on one line, without secrets: it is often the first prompt."""
    return redact(_RUN.sub(" ", without_injected(title)).strip())[0][:MAX_TITLE_CHARS]
