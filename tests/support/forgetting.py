"""A home whose memory has texts in every place that forgetting concerns, and a search of everything for raw bytes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.claude_code import PROJECT, ClaudeFile

SOURCES = '[sources.claude-code]\nkeep = true\n\n[sources.vault]\npath = "{vault}"\n'


class ForgetfulHome(StateHome):
    """A home with a vault, Claude Code's sessions with retained copies, and an agent with facts."""

    def __init__(self, toml: str = "") -> None:
        super().__init__(KEYWORD_ONLY)
        self.user = self.root / "user"
        self.vault = self.root / "vault"
        self.vault.mkdir()
        (self.root / "memd.toml").write_text(toml + SOURCES.format(vault=self.vault))

    def __enter__(self) -> ForgetfulHome:
        return self

    def daemon(self) -> DaemonProcess:
        """Return a daemon that isn't started yet, with a home folder of its own."""
        return DaemonProcess(self, {"HOME": str(self.user)})

    def session(self, number: int, *messages: str, title: str = "") -> Path:
        """Write a session of Claude Code, whose first message is the user's, and return its file."""
        session_id = f"5f0c8a52-0000-4000-8000-{number:012}"
        file = ClaudeFile(session_id)
        for at, message in enumerate(messages):
            (file.answer if at % 2 else file.prompt)(message)
        if title:
            file.add({"type": "ai-title", "aiTitle": title, "sessionId": session_id})
        path = self.user / ".claude" / "projects" / PROJECT / f"{session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(file.lines) + b"\n")
        return path

    def files(self) -> Iterator[tuple[Path, bytes]]:
        """Yield everything that memd owns and all notes, decompressed; not the programs' own transcripts."""
        for folder in (self.state, self.vault):
            for path in sorted(folder.rglob("*")):
                with suppress(OSError):
                    if path.is_file():
                        data = path.read_bytes()
                        yield path, gzip.decompress(data) if path.suffix == ".gz" else data

    def with_text(self, *texts: str) -> list[Path]:
        """Return the files whose bytes contain one of some texts, plain or as JSON."""
        forms = [form for text in texts for form in (text.encode(), json.dumps(text).encode()[1:-1])]
        return [path for path, data in self.files() if any(form in data for form in forms)]
