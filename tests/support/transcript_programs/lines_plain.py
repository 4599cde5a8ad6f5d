"""Plain conversations of programs with a file of lines per session: one writer per program."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.transcript_programs import work_plain
from tests.support.transcript_programs.plain import (
    CWD,
    START_MS,
    LinesWriter,
    PlainWriter,
    Records,
    claude_code,
    codex,
    stamp,
)

HASHED = hashlib.md5(CWD.encode(), usedforsecurity=False).hexdigest()
TIMED = "2026-11-02T08-00-00-000Z"


def blocks(text: str) -> list[dict[str, str]]:
    """Return the content of a message with one text."""
    return [{"type": "text", "text": text}]


def described(home: Path, place: str, details: Mapping[str, Any]) -> Callable[[str], Records]:
    """Return what writes the file of details next to a session, which begins without a record."""

    def head(session: str) -> Records:
        file = home / place.format(session=session)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(details))
        return []

    return head


def qwen(home: Path) -> PlainWriter:
    """Qwen Code."""

    def record(session: str, turn: int, role: str, text: str) -> Records:
        message = {"role": "user" if role == "user" else "model", "parts": [{"text": text}]}
        return [
            {
                "uuid": f"{session}-{turn}",
                "parentUuid": f"{session}-{turn - 1}" if turn else None,
                "sessionId": session,
                "timestamp": stamp(turn),
                "type": role,
                "cwd": CWD,
                "version": "0.24.4",
                "message": message,
            }
        ]

    project = ".qwen/projects/-home-eva-shop"
    agents = f"{project}/subagents/p1/agent-a1.jsonl"
    return LinesWriter(home, f"{project}/chats/{{session}}.jsonl", lambda _: [], record, agents)


def kimi_code(home: Path) -> PlainWriter:
    """Kimi Code."""

    def record(session: str, turn: int, role: str, text: str) -> Records:
        time = START_MS + turn * 1_000
        if role == "user":
            message = {"role": role, "content": blocks(text), "origin": {"kind": "user"}}
            return [{"type": "context.append_message", "agentId": "main", "message": message, "time": time}]
        event = {"type": "content.part", "uuid": f"{session}-{turn}", "part": blocks(text)[0]}
        return [{"type": "context.append_loop_event", "agentId": "main", "event": event, "time": time}]

    folder = ".kimi-code/sessions/wd_shop_0123456789ab"
    head = described(home, f"{folder}/{{session}}/state.json", {"version": 2, "cwd": CWD})
    place, agents = f"{folder}/{{session}}/agents/main/wire.jsonl", f"{folder}/p1/agents/agent-1/wire.jsonl"
    return LinesWriter(home, place, head, record, agents)


def kimi_cli(home: Path) -> PlainWriter:
    """Kimi CLI."""

    def record(session: str, turn: int, role: str, text: str) -> Records:
        message = (
            {"type": "TurnBegin", "payload": {"user_input": text}}
            if role == "user"
            else {"type": "ContentPart", "payload": blocks(text)[0]}
        )
        return [{"timestamp": START_MS / 1_000 + turn, "message": message}]

    head = described(home, ".kimi/kimi.json", {"work_dirs": [{"path": "/home/eva"}, {"path": CWD}]})
    folder = f".kimi/sessions/{HASHED}"
    agents = f"{folder}/p1/subagents/a1/wire.jsonl"
    return LinesWriter(home, f"{folder}/{{session}}/wire.jsonl", head, record, agents)


def pi(home: Path, folder: str = ".pi/agent/sessions/--home-eva-shop--") -> PlainWriter:
    """pi, or omp."""

    def head(session: str) -> Records:
        return [{"type": "session", "version": 3, "id": session, "timestamp": stamp(0), "cwd": CWD}]

    def record(session: str, turn: int, role: str, text: str) -> Records:
        above = f"{turn - 1:08}" if turn else None
        message = {"role": role, "content": blocks(text)}
        entry = {"type": "message", "id": f"{turn:08}", "parentId": above, "timestamp": stamp(turn)}
        return [{**entry, "message": message}]

    agents = f"{folder}/{TIMED}_p1/Scout.jsonl"
    return LinesWriter(home, f"{folder}/{TIMED}_{{session}}.jsonl", head, record, agents, work_plain.pi)


def omp(home: Path) -> PlainWriter:
    """Return a writer of omp's sessions."""
    return pi(home, ".omp/agent/sessions/-shop")


def deepseek(home: Path) -> PlainWriter:
    """DeepSeek Harness without compression."""

    def head(session: str) -> Records:
        depth = int(session.startswith("agent"))
        return [
            {
                "type": "session",
                "version": 0,
                "id": session,
                "createdAt": START_MS,
                "cwd": CWD,
                "delegationDepth": depth,
            }
        ]

    def record(session: str, turn: int, role: str, text: str) -> Records:
        message = {"id": f"{session}-{turn}", "role": role, "content": blocks(text), "source": {"kind": role}}
        data = message if role == "user" else {"turn": turn, "step": 0, "message": message}
        return [{"type": f"{role}/message", "seq": turn, "time": START_MS + turn * 1_000, "data": data}]

    return LinesWriter(home, ".dsh/sessions/--home-eva-shop--/{session}/session.jsonl", head, record)


def grok(home: Path) -> PlainWriter:
    """Grok Build."""

    def record(session: str, turn: int, role: str, text: str) -> Records:
        kind = "user_message_chunk" if role == "user" else "agent_message_chunk"
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": kind, "content": content, "_meta": {"promptIndex": turn}}
        meta = {
            "eventId": f"{session}-{turn}",
            "agentTimestampMs": START_MS + turn * 1_000,
            "promptId": f"p{turn}",
        }
        params = {"sessionId": session, "update": update, "_meta": meta}
        return [{"timestamp": START_MS // 1_000, "method": "session/update", "params": params}]

    folder = ".grok/sessions/%2Fhome%2Feva%2Fshop"
    head = described(home, f"{folder}/{{session}}/summary.json", {"info": {"cwd": CWD}})
    return LinesWriter(home, f"{folder}/{{session}}/updates.jsonl", head, record)


def kiro_cli(home: Path) -> PlainWriter:
    """Kiro CLI."""

    def record(session: str, turn: int, role: str, text: str) -> Records:
        kind = "Prompt" if role == "user" else "AssistantMessage"
        return [{"version": "v1", "kind": kind, "data": {"content": [{"kind": "text", "data": text}]}}]

    folder = ".kiro/sessions/cli"
    head = described(home, f"{folder}/{{session}}.json", {"cwd": CWD})
    return LinesWriter(home, f"{folder}/{{session}}.jsonl", head, record)


def antigravity(home: Path) -> PlainWriter:
    """Antigravity."""

    def record(session: str, turn: int, role: str, text: str) -> Records:
        source, kind = ("USER_EXPLICIT", "USER_INPUT") if role == "user" else ("MODEL", "PLANNER_RESPONSE")
        return [{"source": source, "type": kind, "created_at": stamp(turn), "content": text}]

    place = ".gemini/antigravity/brain/{session}/.system_generated/logs/transcript.jsonl"
    return LinesWriter(home, place, lambda _: [], record)


def windsurf(home: Path) -> PlainWriter:
    """Windsurf."""

    def record(session: str, turn: int, role: str, text: str) -> Records:
        kind, key = ("user_input", "user_response") if role == "user" else ("planner_response", "response")
        return [{"type": kind, "status": "done", kind: {key: text}}]

    return LinesWriter(home, ".windsurf/transcripts/{session}.jsonl", lambda _: [], record)


def workbuddy(home: Path) -> PlainWriter:
    """WorkBuddy."""

    def record(session: str, turn: int, role: str, text: str) -> Records:
        kind = "input_text" if role == "user" else "output_text"
        message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return [{"id": f"{session}-{turn}", "timestamp": START_MS + turn * 1_000, "cwd": CWD, **message}]

    project = ".workbuddy/projects/home-eva-shop"
    agents = f"{project}/p1/subagents/a1.jsonl"
    return LinesWriter(home, f"{project}/{{session}}.jsonl", lambda _: [], record, agents)


def claude_cowork(home: Path) -> PlainWriter:
    """Claude Cowork."""
    return claude_code(
        home, ".config/Claude/local-agent-mode-sessions/org/space/local_1/.claude/projects/-sessions-x"
    )


def openclaude(home: Path) -> PlainWriter:
    """OpenClaude."""
    return claude_code(home, ".openclaude/projects/-home-eva-shop")


def iflow(home: Path) -> PlainWriter:
    """iFlow."""
    return claude_code(home, ".iflow/projects/-home-eva-shop", "session-{session}.jsonl", agents="")


def traex(home: Path) -> PlainWriter:
    """TraeX."""
    return codex(home, ".trae/cli")
