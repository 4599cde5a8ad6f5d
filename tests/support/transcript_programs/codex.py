"""What Codex CLI writes: lines of both modes, with text that is no person's."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

MACHINE: Final = "machine text"
"""Part of every text that must not become a message."""

START_MS: Final = 1_793_606_400_000
"""2026-11-02 08:00:00 UTC."""

HOME_ID: Final = "0199a1b2-0000-7000-8000-000000000001"
"""Id of the session of most tests; its time is before `START_MS`."""


def at(seconds: float) -> str:
    """Return the time some seconds after the start, as Codex writes it."""
    moment = datetime.fromtimestamp(START_MS / 1_000 + seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timed_id(seconds: float, number: int = 0) -> str:
    """Return a UUID of version 7 with a time some seconds after the start."""
    digits = f"{START_MS + int(seconds * 1_000):012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-{number:012x}"


SOURCE_ID: Final = timed_id(-900, 2)
FORK_ID: Final = timed_id(0, 3)
"""Ids of a session and of one that was forked from it at the start."""


def rollout(session_id: str = HOME_ID, written: str = "2026-11-02T08-00-00", ending: str = ".jsonl") -> str:
    """Return the name of a transcript."""
    return f"rollout-{written}-{session_id}{ending}"


def line(kind: str, payload: Any, seconds: float = 0, ordinal: int | None = None) -> bytes:
    """Return a line."""
    numbered = {} if ordinal is None else {"ordinal": ordinal}
    record = {"timestamp": at(seconds), **numbered, "type": kind, "payload": payload}
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def meta(session_id: str = HOME_ID, /, seconds: float = 0, ordinal: int | None = None, **more: Any) -> bytes:
    """Return the record of a session."""
    payload = {
        "id": session_id,
        "session_id": session_id,
        "timestamp": at(seconds),
        "cwd": "/home/eva/shop",
        "originator": "codex_cli_rs",
        "cli_version": "0.169.0",
        "source": "cli",
        "git": {"branch": "main", "repository_url": "https://example.org/shop.git"},
        "base_instructions": {"text": MACHINE},
    }
    return line("session_meta", {**payload, **more}, seconds, ordinal)


def event(kind: str, /, seconds: float = 0, ordinal: int | None = None, **more: Any) -> bytes:
    """Return an event."""
    return line("event_msg", {"type": kind, **more}, seconds, ordinal)


def asked(text: str, seconds: float = 0, ordinal: int | None = None, **more: Any) -> bytes:
    """Return a prompt in legacy mode."""
    return event("user_message", seconds, ordinal, message=text, images=[], **more)


def answered(text: str, seconds: float = 0, ordinal: int | None = None) -> bytes:
    """Return an answer in legacy mode."""
    return event("agent_message", seconds, ordinal, message=text)


def item(kind: str, item_id: str, /, seconds: float = 0, ordinal: int | None = None, **more: Any) -> bytes:
    """Return a completed item of paginated mode."""
    return event(
        "item_completed",
        seconds,
        ordinal,
        thread_id=HOME_ID,
        turn_id="t1",
        item={"type": kind, "id": item_id, **more},
    )


def asked_item(text: str, item_id: str, seconds: float = 0, ordinal: int | None = None) -> bytes:
    """Return a prompt in paginated mode."""
    return item("UserMessage", item_id, seconds, ordinal, content=[{"type": "text", "text": text}])


def answered_item(
    text: str, item_id: str, seconds: float = 0, ordinal: int | None = None, phase: str = "final_answer"
) -> bytes:
    """Return an answer in paginated mode."""
    content = [{"type": "Text", "text": text}]
    return item("AgentMessage", item_id, seconds, ordinal, phase=phase, content=content)


def sent(role: str, *texts: str, seconds: float = 0) -> bytes:
    """Return a message sent to the model, or received from it."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return line("response_item", {"type": "message", "role": role, "content": content}, seconds)


def injected() -> list[bytes]:
    """Return messages sent to the model as the user's and the developer's that no person wrote."""
    return [
        sent(
            "user",
            f"# AGENTS.md instructions for /home/eva/shop\n\n<INSTRUCTIONS>\n{MACHINE}\n</INSTRUCTIONS>",
        ),
        sent("user", f"# AGENTS.md instructions\n\n## My request for Codex:\n{MACHINE}"),
        sent("user", f"<environment_context>\n<cwd>{MACHINE}</cwd>\n</environment_context>"),
        sent("user", f"<user_instructions>\n{MACHINE}\n</user_instructions>"),
        sent("user", f"<skill>\n<name>{MACHINE}</name>\n</skill>"),
        sent("user", f"<hook_prompt id='1'>{MACHINE}</hook_prompt>"),
        sent("user", f"<turn_aborted>\n{MACHINE}"),
        sent("user", f"Another language model started to solve this problem and {MACHINE}"),
        sent("developer", f"<permissions instructions>{MACHINE}</permissions instructions>"),
        sent("developer", MACHINE),
        sent("system", MACHINE),
    ]


def machine_lines() -> list[bytes]:
    """Return lines of both modes with text that is neither a person's nor an answer."""
    return [
        *injected(),
        line("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": MACHINE}]}),
        line("response_item", {"type": "function_call", "name": "shell", "arguments": MACHINE}),
        line("response_item", {"type": "function_call_output", "call_id": "c", "output": MACHINE}),
        line("response_item", {"type": "agent_message", "content": [{"type": "input_text", "text": MACHINE}]}),
        line("turn_context", {"cwd": "/home/eva/shop", "user_instructions": MACHINE}),
        line("compacted", {"message": MACHINE, "replacement_history": [{"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": MACHINE}]}]}),
        line("world_state", {"files": MACHINE}),
        event("context_compacted", message=MACHINE),
        event("agent_reasoning", text=MACHINE),
        event("token_count", info=MACHINE),
        event("exec_command_end", stdout=MACHINE),
        event("mcp_tool_call_end", result=MACHINE),
        asked(f"<environment_context>{MACHINE}</environment_context>", kind="environment_context"),
        asked(MACHINE, kind="user_instructions"),
        asked(f"# Context from my IDE setup:\n\n## Open tabs:\n- {MACHINE}"),
        *(
            item(kind, f"x{number}", text=MACHINE, content=[{"type": "text", "text": MACHINE}])
            for number, kind in enumerate(
                "Reasoning CommandExecution McpToolCall FileChange HookPrompt Plan ContextCompaction"
                " SubAgentActivity WebSearch".split()
            )
        ),
        item("UserMessage", "x20", content=[{"type": "skill", "name": MACHINE, "path": MACHINE}]),
    ]  # fmt: skip


def every_trap() -> list[bytes]:
    """Return a session in both modes with all kinds of machine text, a rollback and the copy of a fork."""
    return [
        meta(ordinal=0),
        event("task_started", 1, turn_id=timed_id(1)),
        asked("Which port?", 2),
        *machine_lines(),
        answered("8443.", 4),
        event("thread_rolled_back", 5, num_turns=1),
        asked_item("Which port?", "i1", 6, 9),
        answered_item("8443.", "i2", 7, 10),
        meta(SOURCE_ID, 8),
        sent("user", "Which port?"),
    ]
