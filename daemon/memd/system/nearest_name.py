"""Suggestions for mistyped names."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return the end of a message, such as `. Did you mean 'main'?`; empty if the last word of no name is similar."""
    from difflib import get_close_matches  # imported only when a name is wrong

    by_key = {name.casefold().rpartition(" ")[2]: name for name in names}
    near = get_close_matches(word.casefold(), by_key, n=1)
    return f". Did you mean {by_key[near[0]]!r}?" if near else ""
