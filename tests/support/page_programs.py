"""A home in which several programs have conversations, for tests of the page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.chromium_page import KEYWORD_SEARCH
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

OLD: Final = 130
"""Conversations besides those that tests name: more than one page of the list."""

RETRIES, PORT, HOSTILE = (f"0199a213-81c4-7000-8000-{number:012}" for number in (901, 902, 903))
HOSTILE_TITLE: Final = "<img src=x onerror=alert(1)> <b>cormorant</b> \u202eexe"
HOOK: Final = "/opt/memd/lib/memd_client/hook.py"

CODE: Final = """For retries I suggest:

```python
for attempt in range(3):
    send(mail)
```

It waits longer each time."""
NOTE: Final = """# Mails

## Retries

The queue for order mails retries three times.

Lunch is at noon.

The train leaves at nine.

The coffee is gone.

The window is open.

## Decisions

- Retries wait 1, 2 and 4 seconds.
"""


class Turn(NamedTuple):
    """One message: who speaks, and its text."""

    role: str
    text: str


def write_claude_code(home: Path, session: str, project: str, start: datetime, turns: list[Turn]) -> None:
    """Write a session of Claude Code."""
    folder = home / ".claude" / "projects" / project.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "type": turn.role,
            "uuid": f"{session}-{number}",
            "parentUuid": f"{session}-{number - 1}" if number else None,
            "sessionId": session,
            "timestamp": (start + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "cwd": project,
            "gitBranch": "main",
            "isSidechain": False,
            "message": {"role": turn.role, "content": [{"type": "text", "text": turn.text}]},
        }
        for number, turn in enumerate(turns)
    ]
    (folder / f"{session}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def write_codex(home: Path, session: str, project: str, start: datetime, turns: list[Turn]) -> None:
    """Write a session of Codex."""
    folder = home / ".codex" / "sessions" / start.strftime("%Y/%m/%d")
    folder.mkdir(parents=True, exist_ok=True)
    meta = {"id": session, "session_id": session, "cwd": project, "source": "cli", "git": {"branch": "main"}}
    records = [("session_meta", meta)] + [
        (
            "event_msg",
            {"type": "user_message" if turn.role == "user" else "agent_message", "message": turn.text},
        )
        for turn in turns
    ]
    lines = [
        json.dumps(
            {
                "timestamp": (start + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                "type": kind,
                "payload": payload,
            }
        )
        for number, (kind, payload) in enumerate(records)
    ]
    (folder / f"rollout-{start:%Y-%m-%dT%H-%M-%S}-{session}.jsonl").write_text("\n".join(lines) + "\n")


def _write_all(home: Path) -> None:
    """Write the conversations of two programs that memd reads, and of one that it does not."""
    march = datetime(2026, 3, 17, 9, tzinfo=UTC)
    turns = [Turn("user", "Why do the retries of the order mails fail?"), Turn("assistant", CODE)]
    filler = [
        Turn(role, f"Something else {number}") for number in range(60) for role in ("user", "assistant")
    ]
    turns += [*filler, Turn("user", "Back to the retries of the order mails, please.")]
    write_claude_code(home, RETRIES, "/home/eva/shop", march, turns)
    write_codex(
        home,
        PORT,
        "/home/eva/infra",
        march + timedelta(days=9),
        [Turn("user", "Retries of the gateway port")],
    )
    write_codex(home, HOSTILE, "/home/eva/shop", march + timedelta(days=60), [Turn("user", HOSTILE_TITLE)])
    for number in range(OLD):
        session = f"0199a213-81c4-7000-8000-{number:012}"
        start = datetime(2026, 1, 2, 8, tzinfo=UTC) + timedelta(hours=number)
        old = [Turn("user", f"Old topic {number}"), Turn("assistant", "Noted.")]
        write_claude_code(home, session, "/home/eva/shop", start, old)
    chats = home / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text("/home/eva/shop")
    message = {
        "id": "1",
        "timestamp": "2026-03-02T08:00:00.000Z",
        "type": "user",
        "content": [{"text": "Hi"}],
    }
    head = {"sessionId": "g1", "projectHash": "shop", "kind": "main", "startTime": "2026-03-02T08:00:00.000Z"}
    (chats / "session-2026-03-02T08-00-g1.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(message)}\n")


def _write_settings(home: Path) -> None:
    """Write hooks whose command is gone into the settings of one program, and a server into those of another."""
    command = shlex.join(["sh", "-c", "x", "/opt/memd/bin/python", "-I", "-S", HOOK, "claude-code", "prompt"])
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    (home / ".codex" / "config.toml").write_text(
        '[mcp_servers.memd]\ncommand = "memctl"\nargs = ["mcp", "--agent", "shared"]\n'
    )


@contextmanager
def programs_home() -> Iterator[tuple[StateHome, DaemonProcess]]:
    """Run a daemon whose agent `shared` has the conversations of two programs, and whose agent `main` has a note."""
    with StateHome(KEYWORD_SEARCH) as home:
        user = home.root / "user"
        user.mkdir()
        _write_all(user)
        _write_settings(user)
        home.note("memory/2026-03-18.md", NOTE)
        (home.root / "memd.toml").write_text(
            'exclude = ["/home/eva/private", "taxes"]\n'
            '[sources.claude-code]\nagent = "shared"\nkeep = true\n[sources.codex]\nagent = "shared"\n'
        )
        environ = {"HOME": str(user), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": "", "TZ": "UTC"}
        with DaemonProcess(home, environ) as daemon:
            with daemon.client() as client:
                client.index()
            yield home, daemon
