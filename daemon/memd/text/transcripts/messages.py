"""Messages of a transcript: text of user and assistant, one line per message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from memd.text.language.spelling import WHITESPACE
from memd.text.transcripts.scaffolding import (
    SCHEDULED,
    SUBAGENT,
    is_heartbeat,
    without_headers,
    without_scaffolding,
)

_RUN = re.compile(f"[{WHITESPACE}]+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SPEAKERS = {"user": "User", "assistant": "Assistant"}

_MACHINE_PROVENANCE = ("inter_session", "internal_system")

_RUN_NAMES = ("sessionKey", "runId")
_KEY_KINDS = {"cron": "cron", "subagent": "subagent", "heartbeat": "heartbeat", "internal": "internal"}


def _refuse(constant: str) -> object:
    """Refuse `NaN` and `Infinity`, which Python reads and JSON does not have."""
    raise ValueError(constant)


_decode = json.JSONDecoder(parse_constant=_refuse).decode


class TranscriptRecord(NamedTuple):
    """One record of a transcript: its id, and its message with the speaker as one line, None without text.

    At a reset one conversation ends and another begins in the same transcript, at `at_ms` (0: unknown); `first_kept` is
    the id of the first earlier record that the new one continues with.
    """

    line: str | None
    id: str = ""
    is_reset: bool = False
    first_kept: str = ""
    at_ms: int = 0


def read_record(record: str) -> TranscriptRecord:
    """Return the id and message of one record."""
    value = _parse(record)
    if not isinstance(value, dict):
        return TranscriptRecord(None)
    line, record_id = _line_of(value), _text(value.get("id"))
    if value.get("type") != "reset":
        return TranscriptRecord(line, record_id)
    first_kept, at_ms = _text(value.get("firstKeptEntryId")), _milliseconds(_text(value.get("timestamp")))
    return TranscriptRecord(line, record_id, is_reset=True, first_kept=first_kept, at_ms=at_ms)


def _milliseconds(moment: str) -> int:
    """Return an ISO time as Unix milliseconds; 0 if it is none."""
    try:
        return int(datetime.fromisoformat(moment).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def kind_of_key(session_key: str) -> str | None:
    """Return the kind of session that a key names if it is not indexed, or None for a conversation."""
    parts = session_key.strip().lower().split(":")
    if parts[0] == "agent":
        parts = parts[2:]
    if not parts:
        return None
    if parts[0].startswith("dreaming"):
        return "dreaming"
    if parts[-1] == "heartbeat":
        return "heartbeat"
    if "subagent" in parts[:-1]:
        return "subagent"
    if "active-memory" in parts[:-1]:  # OpenClaw's memory search before a reply
        return "internal"
    return _KEY_KINDS.get(parts[0])


def kind_of_opening(records: Iterable[str]) -> tuple[str | None, bool]:
    """Return the kind of session that begins with some records, and whether they are sufficient to tell.

    A heartbeat at the start is not sufficient: heartbeats also occur within conversations. The session is a heartbeat
    only if it contains no other message of the user.
    """
    kind = None
    for line in records:
        record = _parse(line)
        named = _kind_named_by(record)
        if named is not None:
            return named, True
        message = _message_of(record)
        if message is None or message["role"] != "user":
            continue
        said = _first_text(message.get("content"))
        if said.startswith(SCHEDULED):
            return "cron", True
        if said.startswith(SUBAGENT):
            return "subagent", True
        if is_heartbeat(said):
            kind = "heartbeat"
        elif _text_of(message.get("content"), "user"):
            return None, True
    return kind, False


def _parse(record: str) -> Any:
    try:
        return _decode(record)
    except (ValueError, RecursionError):
        return None


def _line_of(value: Any) -> str | None:
    """Return the message of a record's value as one line, or None."""
    message = _message_of(value)
    if message is None:
        return None
    role = message["role"]
    text = _text_of(message.get("content"), role)
    return f"{_SPEAKERS[role]}: {text}" if text else None


def _text(value: object) -> str:
    """Return a string unchanged, "" for anything else."""
    return value if isinstance(value, str) else ""


def _message_of(record: Any) -> dict[str, Any] | None:
    """Return the message of a record from the user or the assistant, or None."""
    if not isinstance(record, dict) or record.get("type") != "message":
        return None
    message = record.get("message")
    if not isinstance(message, dict) or message.get("display") is False:
        return None
    role = message.get("role")
    if not isinstance(role, str) or role not in _SPEAKERS:
        return None
    provenance = message.get("provenance")
    if role == "user" and isinstance(provenance, dict) and provenance.get("kind") in _MACHINE_PROVENANCE:
        return None
    return message


def _kind_named_by(record: Any) -> str | None:
    """Return `cron` or `dreaming` if a record belongs to such a run, else None."""
    if not isinstance(record, dict):
        return None
    for holder in (record, record.get("data")):
        if isinstance(holder, dict):
            key, run = (value if isinstance(value := holder.get(name), str) else "" for name in _RUN_NAMES)
            if kind_of_key(key) in ("cron", "dreaming"):
                return kind_of_key(key)
            if kind_of_key(run) == "dreaming":
                return "dreaming"
    return None


def _text_of(content: object, role: str) -> str:
    """Return the text of a message: a string, or the text blocks of a list."""
    return " ".join(text for raw in _texts(content) if (text := _squeeze(without_scaffolding(raw, role))))


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    return [
        block["text"]
        for block in content
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]


def _first_text(content: object) -> str:
    """Return the first text of a message without leading headers and events."""
    return next((text for raw in _texts(content) if (text := without_headers(raw))), "")


def _squeeze(text: str) -> str:
    """Return a text as one line: each run of whitespace becomes one space, none at the ends.

    A lone surrogate, which JSON allows, becomes U+FFFD, since it can't be stored or sent.
    """
    return _LONE_SURROGATE.sub("\ufffd", _RUN.sub(" ", text).strip(" "))
