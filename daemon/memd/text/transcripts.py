"""A transcript's lines to who said what: user and assistant text only, one line a message."""

from __future__ import annotations

import json
import re

from memd.text.spaces import SPACES, WHITESPACE

_RUN = re.compile(f"[{WHITESPACE}]+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SPEAKERS = {"user": "User", "assistant": "Assistant"}


def flatten_transcript(jsonl: str) -> tuple[str, list[int]]:
    """Return the talk in a transcript as plain lines.

    Args:
        jsonl: The transcript, one JSON value a line. Lines that are damaged, or are no message of the user or
            the assistant, or hold no text, are left out.

    Returns:
        (the text, one line a message as `User: ...` or `Assistant: ...`; for each of those lines the line of
        the transcript it came from, counted from 1).
    """
    said: list[str] = []
    sources: list[int] = []
    for number, line in enumerate(jsonl.split("\n"), start=1):
        if not line.strip(SPACES):
            continue
        spoken = _read_line(line)
        if spoken is not None:
            said.append(spoken)
            sources.append(number)
    return "\n".join(said), sources


def _read_line(line: str) -> str | None:
    """Return what one line of a transcript says, with who said it, or None."""
    try:
        record = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("type") != "message":
        return None
    message = record.get("message")
    if not isinstance(message, dict):
        return None
    role = message.get("role")
    speaker = _SPEAKERS.get(role) if isinstance(role, str) else None
    text = _text_of(message.get("content")) if speaker is not None else ""
    return f"{speaker}: {text}" if text else None


def _text_of(content: object) -> str:
    """Return the text of a message: a string, or a list of which only the text blocks count."""
    if isinstance(content, str):
        return _squeeze(content)
    if not isinstance(content, list):
        return ""
    texts = [
        _squeeze(block["text"])
        for block in content
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    return " ".join(text for text in texts if text)


def _squeeze(text: str) -> str:
    """Return a text as one line: every run of whitespace one space, none at the ends.

    A lone surrogate, which JSON can spell, becomes U+FFFD: it could neither be stored nor sent.
    """
    return _LONE_SURROGATE.sub("\ufffd", _RUN.sub(" ", text).strip(" "))


def _refuse(constant: str) -> object:
    """Refuse `NaN` and `Infinity`, which Python reads and JSON does not have."""
    raise ValueError(constant)
