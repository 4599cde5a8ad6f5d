"""A key or token that can't be printed by accident."""

from __future__ import annotations

import hashlib


class Secret:
    """A key or token whose text only `reveal` returns."""

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
        """Return the text, for a request header."""
        return self._text

    def fingerprint(self) -> str:
        """Return 12 hex digits that identify the key without revealing it."""
        return hashlib.sha256(b"memd credential\0" + self._text.encode("utf-8", "replace")).hexdigest()[:12]
