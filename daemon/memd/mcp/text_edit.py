"""What the two kinds of settings files have in common when they are edited."""

from __future__ import annotations


class UnreadableTextError(ValueError):
    """A text that isn't what its file's name says, or is written in a way that can't be edited safely."""
