"""Origins: whose words a line of memory is, from the most to the least trusted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

ORIGINS: Final = ("user", "agent", "program", "outside")
"""Names by number, the most trusted first.

`user`: typed by the user, or in notes that the user's programs edit. `agent`: written by an agent, and everything whose
author is unknown. `program`: output of tools and commands. `outside`: fetched pages, mail, quoted files, text of other
people.
"""

USER, AGENT, PROGRAM, OUTSIDE = range(len(ORIGINS))


class Reason(Struct, frozen=True, array_like=True):
    """Why some lines, both ends included, have their origin; `text` is a sentence without text of memory."""

    first_line: int
    last_line: int
    text: str


class LineOrigins(Struct, frozen=True):
    """The origin of each line of a text.

    Attributes:
        numbers: One byte for each line from the first; lines beyond them have `default`.
        default: The origin of all other lines.
        reasons: Why lines are `outside`, in order.
    """

    numbers: bytes = b""
    default: int = AGENT
    reasons: tuple[Reason, ...] = ()

    def lowest(self, first_line: int, last_line: int) -> int:
        """Return the least trusted origin of some lines, both ends included: a text is as trusted as its worst line."""
        part = self.numbers[first_line - 1 : last_line]
        rest = self.default if last_line > len(self.numbers) or not part else USER
        return max(rest, max(part, default=USER))

    def all_of(self, first_line: int, last_line: int) -> int:
        """Return the origins of some lines as a bit mask: bit n is set if a line has origin n."""
        part = self.numbers[first_line - 1 : last_line]
        bits = 1 << self.default if last_line > len(self.numbers) or not part else 0
        for number in set(part):
            bits |= 1 << number
        return bits

    def names(self, lines: Iterable[int]) -> list[str]:
        """Return the names of the origins of some lines."""
        return [ORIGINS[self.lowest(line, line)] for line in lines]

    def is_all(self, origin: int) -> bool:
        """Return whether all lines have an origin."""
        return {*self.numbers} <= {origin} and (bool(self.numbers) or self.default == origin)

    def has(self, origin: int) -> bool:
        """Return whether a line has an origin."""
        return origin in self.numbers or self.default == origin

    def without_outside(self, lines: Sequence[str], first: int = 1) -> list[str]:
        """Return lines, the first one with a number, with empty ones in place of those that are outside."""
        return ["" if self.lowest(at, at) == OUTSIDE else line for at, line in enumerate(lines, first)]

    def reason(self, first_line: int, last_line: int) -> str:
        """Return why some lines are outside; empty if they are not."""
        if self.lowest(first_line, last_line) != OUTSIDE:
            return ""
        rows = (row for row in self.reasons if row.first_line <= last_line and first_line <= row.last_line)
        return next((row.text for row in rows), "")

    def lowered(self, lines: Iterable[int], origin: int, why: str, count: int) -> LineOrigins:
        """Return the origins of a text of `count` lines after something else contributed to some of its lines.

        An origin is never raised: a line's trust is the lowest of all that contributed.
        """
        numbers = bytearray(self.numbers[:count].ljust(count, bytes([self.default])))
        reasons = list(self.reasons)
        for line in sorted(set(lines)):
            if not 1 <= line <= count or numbers[line - 1] >= origin:
                continue
            numbers[line - 1] = origin
            last = reasons[-1] if reasons else None
            if last is not None and last.text == why and last.last_line == line - 1:
                reasons[-1] = Reason(last.first_line, line, why)
            else:
                reasons.append(Reason(line, line, why))
        return LineOrigins(
            bytes(numbers), self.default, tuple(sorted(reasons, key=lambda row: row.first_line))
        )


def mask_of(names: Sequence[str]) -> int:
    """Return origins, given by their names, as a bit mask."""
    return sum(1 << ORIGINS.index(name) for name in set(names))


UNKNOWN: Final = LineOrigins()
"""Of a text of which nothing is known: all lines are the agent's."""
