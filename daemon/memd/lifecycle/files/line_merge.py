"""Changes of lines carried from one version of a text to another. Pure."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher


def carry_over(before: str, after: str, held: str) -> str:
    """Return a text with the changes that led from one of its versions to another.

    No line that is new in `after` is missing from the result. A line that `after` changed or removed is changed or
    removed when `held` still has it; when `held` has changed it too, both stay.
    """
    old, new, lines = before.split("\n"), after.split("\n"), held.split("\n")
    places = _places(old, lines)
    known = Counter(lines) - Counter(old)
    result = list(lines)
    # From the end, so that places before it stay what they are.
    for tag, i1, i2, j1, j2 in reversed(SequenceMatcher(None, old, new).get_opcodes()):
        if tag == "equal":
            continue
        added = [line for line in new[j1:j2] if not known[line]]
        at = [places.get(number) for number in range(i1, i2)]
        start = at[0] if at else None
        if start is not None and at == list(range(start, start + len(at))):
            result[start : start + len(at)] = added
        else:
            start = next((places[number] + 1 for number in range(i1 - 1, -1, -1) if number in places), 0)
            result[start:start] = added
    return "\n".join(result)


def has_change(before: str, after: str, held: str) -> bool:
    """Return whether a text still has the change that led from one version to another."""
    if held == after:
        return True
    old, new, lines = (Counter(text.split("\n")) for text in (before, after, held))
    return all(lines[line] >= new[line] for line in new - old) and all(
        lines[line] <= new[line] for line in old - new
    )


def _places(old: list[str], lines: list[str]) -> dict[int, int]:
    """Return where lines of one version stand in another, by their numbers."""
    places: dict[int, int] = {}
    for block in SequenceMatcher(None, old, lines).get_matching_blocks():
        places.update(
            zip(range(block.a, block.a + block.size), range(block.b, block.b + block.size), strict=True)
        )
    return places
