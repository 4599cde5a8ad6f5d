"""The lines of a text, found without splitting all of it."""

from __future__ import annotations

from memd.text.cut.chunking import BLOCK_CHARACTERS

MAX_GET_CHARACTERS = 4_000_000
"""Most characters of one `get` reply: at four bytes each they fill a frame."""


def whole_lines(data: bytes, max_bytes: int) -> bytes:
    """Return the complete lines in the first `max_bytes`; of a longer single line, its complete characters."""
    if len(data) <= max_bytes:
        return data
    end = data.rfind(b"\n", 0, max_bytes) + 1
    if not end:
        end = max_bytes
        while end and data[end] & 0xC0 == 0x80:  # inside a character
            end -= 1
    return data[:end]


def lines_of(
    text: str, from_line: int, lines: int | None, limit: int = MAX_GET_CHARACTERS
) -> tuple[str, int, int, bool]:
    """Return (text, its lines, lines in all, is truncated) of some lines, at most `limit` characters."""
    total = text.count("\n") + (text[-1:] not in ("", "\n"))
    first = max(1, from_line) - 1
    start = start_of_line(text, first + 1)
    cut = text[start : start + limit + 1]  # splitting the whole text would take seven times its RAM
    if lines is not None:
        most = min(max(0, lines), limit + 1)  # `split` takes no larger number than the machine's
        cut = "\n".join(cut.split("\n", most)[:most])
    truncated = len(cut) > limit
    if truncated:
        cut = cut[:limit]
    count = 0 if first >= total else min(cut.count("\n") + 1, total - first)
    return cut, count, total, truncated


def start_of_line(text: str, number: int) -> int:
    """Return the position of a line's first character; lines count from 1, and a missing one is at the end."""
    start, left = 0, number - 1
    while left and start < len(text):
        if (lines := text.count("\n", start, start + BLOCK_CHARACTERS)) < left:
            start, left = start + BLOCK_CHARACTERS, left - lines
        else:
            for _ in range(left):
                start = text.find("\n", start) + 1
            return start
    return min(start, len(text))
