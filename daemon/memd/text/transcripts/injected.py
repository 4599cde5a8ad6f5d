"""Memory that memd injected into a conversation: marked when injected, recognized wherever it returns."""

from __future__ import annotations

OPENING, CLOSING = "<memd-memory>", "</memd-memory>"
"""Marks around injected memory. Text between them is memory already: no person said it."""


def without_injected(text: str) -> str:
    """Return a text without injected memory; a block without an end goes up to the end of the text."""
    if OPENING not in text:
        return text
    kept: list[str] = []
    at = 0
    while (start := text.find(OPENING, at)) >= 0:
        kept.append(text[at:start])
        end = text.find(CLOSING, start)
        if end < 0:
            return "".join(kept).strip()
        at = end + len(CLOSING)
    return "".join((*kept, text[at:])).strip()
