"""What Gemini CLI writes: records that are folded, with text that is no person's."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

MACHINE: Final = "machine text"
"""Part of every text that must not become a message of a person."""

START_MS: Final = 1_793_606_400_000
"""2026-11-02 08:00:00 UTC."""

SESSION_ID: Final = "77c0ffee-1111-4222-8333-444455556666"
NAME: Final = "session-2026-11-02T08-00-77c0ffee"


def at(seconds: float) -> str:
    """Return the time some seconds after the start, as Gemini CLI writes it."""
    moment = datetime.fromtimestamp(START_MS / 1_000 + seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line(record: Any) -> bytes:
    """Return a record as a line."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def session(**more: Any) -> dict[str, Any]:
    """Return the first record of a file."""
    times = {"startTime": at(0), "lastUpdated": at(0)}
    return {"sessionId": SESSION_ID, "projectHash": "shop", **times, "kind": "main", **more}


def said(message_id: str, content: Any, seconds: float = 0, **more: Any) -> dict[str, Any]:
    """Return a message of the user; a string becomes one part."""
    parts = [{"text": content}] if isinstance(content, str) else content
    return {"id": message_id, "timestamp": at(seconds), "type": "user", "content": parts, **more}


def answered(message_id: str, content: Any, seconds: float = 0, **more: Any) -> dict[str, Any]:
    """Return an answer, with thoughts and a call of a tool."""
    extra = {
        "thoughts": [{"subject": MACHINE, "description": MACHINE, "timestamp": at(seconds)}],
        "toolCalls": [
            {"id": "c1", "name": "read_file", "args": {"path": MACHINE}, "result": [{"text": MACHINE}]}
        ],
        "tokens": {"input": 1, "output": 2},
        "model": "m",
    }
    return {"id": message_id, "timestamp": at(seconds), "type": "gemini", "content": content, **extra, **more}


def changes(**fields: Any) -> dict[str, Any]:
    """Return a change of the session."""
    return {"$set": fields}


def rewind(message_id: str) -> dict[str, Any]:
    """Return the undoing of a message and all after it."""
    return {"$rewindTo": message_id}


def hook(text: str = MACHINE) -> dict[str, str]:
    """Return the part of a prompt that a hook added."""
    return {"text": f"<hook_context>{text}</hook_context>"}


def machine_records() -> list[dict[str, Any]]:
    """Return records with text that is neither a person's nor an answer."""
    files = f"--- Content from referenced files ---\nContent from @a.txt:\n{MACHINE}\n--- End of content ---"
    return [
        said("x1", f"<session_context>\n{MACHINE}\n</session_context>"),
        said("x2", f"/memory add {MACHINE}"),
        said("x3", f"? {MACHINE}"),
        said("x4", [hook()]),
        said("x5", [{"functionResponse": {"id": "c1", "response": {"output": MACHINE}}}]),
        said("x6", f"System: Please continue. {MACHINE}"),
        said("x7", [{"inlineData": {"data": MACHINE}}, {"fileData": {"fileUri": MACHINE}}]),
        said("x8", [{"text": files}]),
        said("x9", [{"text": MACHINE, "thought": True}]),
        said("x10", f"<hook_context>{MACHINE}"),
        said("x11", MACHINE, displayContent=f"/run {MACHINE}"),
        said("x12", f"This is the Gemini CLI. We are setting up the context for our chat.\n{MACHINE}"),
        answered("x13", ""),
        answered("x14", [{"functionCall": {"name": MACHINE}}, {"text": MACHINE, "thought": True}]),
        *(
            {"id": f"y{kind}", "timestamp": at(0), "type": kind, "content": MACHINE}
            for kind in ("info", "error")
        ),
        {"id": "y3", "timestamp": at(0), "type": "warning", "content": [{"text": MACHINE}]},
        changes(lastUpdated=at(0), memoryScratchpad={"text": MACHINE}),
    ]


def every_trap() -> list[bytes]:
    """Return a session with all kinds of machine text, a replaced history and a rewind."""
    asked, replied = said("m1", "Which port?", 1), answered("m2", "8443.", 4)
    records = (
        session(),
        asked,
        replied,
        *machine_records(),
        changes(summary="Ports", messages=[said("s1", MACHINE), answered("s2", MACHINE), replied]),
        said("m3", "And production?", 6),
        answered("m4", "443.", 7),
        rewind("m3"),
        said("m5", "Tea?", displayContent="Tea?"),
    )
    return [line(each) for each in records]
