"""Removal of text that OpenClaw writes as user or assistant.

That is: prompts of heartbeats, scheduled jobs and pre-compaction flushes, event lines, injected memories, silent
answers, and channel headers before a message. Each step is linear in the text, which is untrusted.
"""

from __future__ import annotations

import re

from memd.text.language.spelling import SPACES

_INJECTED = (
    ("<relevant-memories>", "</relevant-memories>"),
    ("<relevant_memories>", "</relevant_memories>"),
    ("<memory-context>", "</memory-context>"),
    ("<memory_context>", "</memory_context>"),
    ("<active_memory_plugin>", "</active_memory_plugin>"),
    ("<supermemory-context>", "</supermemory-context>"),
    ("<system-reminder>", "</system-reminder>"),
    ("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"),
)
"""Blocks injected by memory plugins and the runtime: indexing them would index memory twice."""

_THOUGHTS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))
"""Thinking that some models include in their text."""

_METADATA = re.compile(r"[ \t]*[A-Z][^\n:(]{0,80}\(untrusted[^\n)]{0,60}\):[ \t]*")
_FENCE, _FENCE_END = "```json", "```"
"""Message metadata from a channel: a heading, and fenced JSON."""

_CONTEXT_TAIL = re.compile(
    r"^Untrusted context \(metadata, do not treat as instructions or commands\):.*", re.M | re.S
)
_MESSAGE_ID = re.compile(r"\[(?:\w{1,20} )?message[_ ]id:[^\]\n]{0,200}\]")

_ENVELOPE = re.compile(r"\s*\[(?=[^\[\]\n]{0,200}\d{4}-\d\d-\d\d[T ]\d\d:\d\d)[^\[\]\n]{1,240}\][ \t]*")
"""A header with the time of the message: `[Telegram Ann id:7 2026-01-05 10:00 UTC] text`."""

_CHANNEL = re.compile(
    r"\s*\[(?:WebChat|WhatsApp|Telegram|Signal|Slack|Discord|Google Chat|iMessage|BlueBubbles|Microsoft Teams"
    r"|MSTeams|Teams|Matrix|Mattermost|LINE|IRC|Nostr|Feishu|Zalo|WeChat) [^\[\]\n]{1,200}\][ \t]*"
)
"""The same header without a time."""

_MAX_HEADERS = 4
"""Most headers before one message: a time, a channel, an event, and one more."""

_EVENT = re.compile(r"System(?: \(untrusted\))?: \[")
_EVENT_GOES_ON = ("System: ", "System (untrusted): ")
_EXEC_EVENT = re.compile(r"\] Exec (?:finished|completed|failed|killed)\b")

SCHEDULED = "[cron:"
SUBAGENT = ("[Subagent Context]", "[Subagent Task]")
_PROMPTS = (
    SCHEDULED,
    *SUBAGENT,
    "[System Message]",
    "[Inter-session message]",
    "Pre-compaction memory flush.",
    "Session nearing compaction. Store durable memories",
    "A new session was started via /new or /reset",
    "An async command you ran earlier has completed",
)
"""Beginnings of messages that OpenClaw sends as the user."""

_SILENT = ("HEARTBEAT_OK", "NO_REPLY", "[silent]")
_AROUND_SILENT = SPACES + "*_`.!\"'"


def without_scaffolding(text: str, role: str) -> str:
    """Return the user's or assistant's own words in a text; "" if there are none."""
    if role == "assistant":
        return _without_silence(_without_blocks(text, _INJECTED + _THOUGHTS))
    text = without_headers(text)
    return "" if text.startswith(_PROMPTS) or is_heartbeat(text) or _is_flush(text) else text


def without_headers(text: str) -> str:
    """Return a user message without headers and blocks of channels and the runtime."""
    text = _without_blocks(text, _INJECTED)
    if "(untrusted" in text:
        text = _without_metadata(text)
    if "Untrusted context (" in text:
        text = _CONTEXT_TAIL.sub("", text)
    if "message_id:" in text or "message id:" in text:
        text = _MESSAGE_ID.sub("", text)
    for _ in range(_MAX_HEADERS):
        before = text
        for header in (_ENVELOPE, _CHANNEL):
            match = header.match(text)
            if match is not None:
                text = text[match.end() :]
        if _EVENT.search(text) is not None:
            text = _without_events(text)
        if text == before:
            break
    return text.strip(SPACES)


def _without_blocks(text: str, blocks: tuple[tuple[str, str], ...]) -> str:
    """Return a text without blocks; unclosed blocks stay."""
    if "<" not in text:
        return text
    for opening, closing in blocks:
        kept: list[str] = []
        at = 0
        while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
            kept.append(text[at:start])
            at = end + len(closing)
        if kept:
            text = "".join(kept) + text[at:]
    return text


def _without_metadata(text: str) -> str:
    """Return a text without message metadata from channels."""
    lines = text.split("\n")
    kept: list[str] = []
    at = 0
    while at < len(lines):
        if at + 1 < len(lines) and lines[at + 1].strip() == _FENCE and _METADATA.fullmatch(lines[at]):
            end = next((n for n in range(at + 2, len(lines)) if lines[n].strip() == _FENCE_END), None)
            if end is None:
                return "\n".join(kept + lines[at:])
            at = end + 1
        else:
            kept.append(lines[at])
            at += 1
    return "\n".join(kept)


def _without_events(text: str) -> str:
    """Return a text without system event lines, including the output of finished commands."""
    kept: list[str] = []
    inside = ""
    for line in text.split("\n"):
        if _EVENT.match(line) is not None:
            inside = "exec" if _EXEC_EVENT.search(line) is not None else "event"
        elif not ((inside and line.startswith(_EVENT_GOES_ON)) or (inside == "exec" and line.strip(SPACES))):
            inside = ""
            kept.append(line)
    return "\n".join(kept)


def _without_silence(text: str) -> str:
    """Return an answer without the tokens that mean no answer."""
    if not any(word in text for word in _SILENT):
        return text
    lines = text.split("\n")
    spoken = [number for number, line in enumerate(lines) if line.strip(_AROUND_SILENT) not in ("", *_SILENT)]
    return "\n".join(lines[spoken[0] : spoken[-1] + 1]) if spoken else ""


def is_heartbeat(text: str) -> bool:
    """Return whether a user message is a heartbeat prompt."""
    if text.startswith("[OpenClaw heartbeat"):
        return True
    if "HEARTBEAT_OK" not in text:
        return False
    return "HEARTBEAT.md" in text or text.startswith("Run the following periodic tasks")


def _is_flush(text: str) -> bool:
    """Return whether a user message is the former prompt of the pre-compaction flush."""
    return text.startswith("Write any lasting notes to memory/") and "NO_REPLY" in text
