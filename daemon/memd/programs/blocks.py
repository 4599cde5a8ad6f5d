"""The content of messages in the forms of Anthropic, OpenAI and Google: a string, or blocks of which some are text."""

from __future__ import annotations

from typing import Final

_TEXT_TYPES: Final = ("text", "input_text", "output_text", None)
"""Types of blocks that are visible text. Google's parts have no type."""


def visible_text(content: object, separator: str = "\n") -> str:
    """Return the visible text of a message's content.

    Args:
        content: A string, a block, or a list of both. Thoughts, tool calls, their results and images are left out.
        separator: What joins the texts of several blocks; Google's parts are pieces of one text.
    """
    texts = [_text_of(block) for block in (content if isinstance(content, list) else [content])]
    return separator.join(text for text in texts if text.strip())


def _text_of(block: object) -> str:
    """Return the text of a block; empty if it is none."""
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("kind") == "text" and isinstance(block.get("data"), str):
        return str(block["data"])  # of Kiro
    if not isinstance(block, dict) or block.get("thought") or block.get("type") not in _TEXT_TYPES:
        return ""
    text = block.get("text")
    return text if isinstance(text, str) else ""
