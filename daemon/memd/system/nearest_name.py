"""What a mistyped name probably means."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return `. Did you mean 'main'?` to end a message with; empty if no name is similar."""
    from difflib import get_close_matches  # only a mistake pays for it

    by_key = {name.casefold(): name for name in names}
    near = get_close_matches(word.casefold(), by_key, n=1)
    return f". Did you mean {by_key[near[0]]!r}?" if near else ""
