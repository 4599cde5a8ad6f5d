"""A key that can't be printed by accident."""

from __future__ import annotations

import hashlib


class Secret:
    """A key or token.

    Its text comes out of `reveal` alone: not of `repr`, `str` or a format.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "<Secret>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def reveal(self) -> str:
        """Return the text, for the one header it belongs in."""
        return self._text

    def fingerprint(self) -> str:
        """Return 12 hex digits that tell this key from another and don't give it away."""
        return hashlib.sha256(b"memd credential\0" + self._text.encode("utf-8", "replace")).hexdigest()[:12]
