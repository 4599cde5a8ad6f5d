"""Text that a program wrapped in a tag: context of machines in the words of a person."""

from __future__ import annotations

import re

_TAG = re.compile(r"\s*<[a-z][a-z0-9_-]{0,60}(?:[\s>/]|$)")


def opens_with_tag(text: str) -> bool:
    """Return whether a text opens with a lower-case tag such as `<system-reminder>`."""
    return _TAG.match(text) is not None
