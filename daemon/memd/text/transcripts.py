"""A transcript's records -> who said what: user and assistant text only, one line a message."""

from __future__ import annotations

import json
from typing import Any

SPEAKERS = {"user": "User", "assistant": "Assistant"}


def flatten_transcript(jsonl: str) -> tuple[str, list[int]]:
    """Return a transcript as text.

    Args:
        jsonl: One JSON record a line; what is no message of a person or the agent is passed over, damaged lines too.

    Returns:
        (lines `Speaker: text` joined by newlines, for each of them its line in `jsonl`, from 1).
    """
    lines: list[str] = []
    line_map: list[int] = []
    for number, raw in enumerate(jsonl.split("\n"), start=1):
        said = _message(raw)
        if said is not None:
            lines.append(said)
            line_map.append(number)
    return "\n".join(lines), line_map


def _message(raw: str) -> str | None:
    """Return a record as `Speaker: text`, or None where it is no message with text."""
    if not raw.strip():
        return None
    try:
        record = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(record, dict) or record.get("type") != "message":
        return None
    message = record.get("message")
    if not isinstance(message, dict):
        return None
    speaker = SPEAKERS.get(str(message.get("role")))
    text = _text(message.get("content"))
    return f"{speaker}: {text}" if speaker and text else None


def _text(content: Any) -> str:
    """Return the text of a message's content, white space folded; blocks that are no text are left out."""
    if isinstance(content, str):
        return " ".join(content.split())
    if not isinstance(content, list):
        return ""
    parts = [
        " ".join(block["text"].split())
        for block in content
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    return " ".join(part for part in parts if part)
