"""The programs that run hooks: their settings files, their events, and the form of a hook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIMEOUT_S = 5
"""Limit in the program's settings; a hook takes at most two seconds, if its input is missing."""

CODEX_TIMEOUT_S = 3
"""Codex shortens a longer limit at the end of a session, and warns about it at every start."""


@dataclass(frozen=True, slots=True)
class HookProgram:
    """A program that runs hooks.

    Attributes:
        name: Name on the command line and in the request `hook`.
        title: Name of the product.
        events: The program's name of each event.
        is_grouped: Hooks are in groups, each with a list `hooks`; otherwise directly below their event.
        handler: The keys of a hook besides its command.
        command_key: The key of the command.
        top: Further keys that a new file needs.
        is_own_file: The file holds memd's hooks alone, so it is deleted with them.
        next_step: What to do after installing.
    """

    name: str
    title: str
    events: Mapping[str, str]
    handler: Mapping[str, Any]
    next_step: str
    is_grouped: bool = True
    command_key: str = "command"
    top: Mapping[str, Any] = field(default_factory=dict)
    is_own_file: bool = False

    def file(self, home: Path, environ: Mapping[str, str]) -> Path:
        """Return the path of the user's file with hooks."""
        return {
            "claude-code": _or(environ, "CLAUDE_CONFIG_DIR", home / ".claude") / "settings.json",
            "codex": _or(environ, "CODEX_HOME", home / ".codex") / "hooks.json",
            "gemini": _extension(home, environ) / "hooks" / "hooks.json",
            "cursor": home / ".cursor" / "hooks.json",
            "copilot": _or(environ, "COPILOT_HOME", home / ".copilot") / "hooks" / "memd.json",
        }[self.name]

    def manifest(self, home: Path, environ: Mapping[str, str]) -> Path | None:
        """Return the file that makes the folder an extension; None if the program needs none."""
        return _extension(home, environ) / "gemini-extension.json" if self.name == "gemini" else None

    def hook(self, command: str) -> dict[str, Any]:
        """Return the hook that runs a command."""
        return {**self.handler, self.command_key: command}

    def item(self, hook: Mapping[str, Any]) -> dict[str, Any]:
        """Return a hook as an item of its event's list."""
        return {"hooks": [dict(hook)]} if self.is_grouped else dict(hook)


CLAUDE_EVENTS = {
    "session_start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "compaction": "PreCompact",
    "session_end": "SessionEnd",
}

NEW_SESSION = "start a new session to use the hooks"

PROGRAMS: dict[str, HookProgram] = {
    program.name: program
    for program in (
        HookProgram(
            name="claude-code",
            title="Claude Code",
            events=CLAUDE_EVENTS,
            handler={"type": "command", "timeout": TIMEOUT_S},
            next_step=f"{NEW_SESSION}; /hooks lists them",
        ),
        HookProgram(
            name="codex",
            title="Codex",
            events=CLAUDE_EVENTS,
            handler={"type": "command", "timeout": CODEX_TIMEOUT_S},
            next_step="accept the hooks: start Codex, which lists them; until then it runs none of them",
        ),
        HookProgram(
            name="gemini",
            title="Gemini CLI",
            events={
                "session_start": "SessionStart",
                "prompt": "BeforeAgent",  # PreCompress runs before every request to the model
                "session_end": "SessionEnd",
            },
            handler={"type": "command", "name": "memd", "timeout": TIMEOUT_S * 1000},
            is_own_file=True,
            next_step=f"{NEW_SESSION}; /extensions list shows memd",
        ),
        HookProgram(
            name="cursor",
            title="Cursor",
            events={
                "session_start": "sessionStart",
                "prompt": "beforeSubmitPrompt",
                "compaction": "preCompact",
                "session_end": "sessionEnd",
            },
            is_grouped=False,
            handler={"timeout": TIMEOUT_S},
            top={"version": 1},
            next_step="restart Cursor to use the hooks",
        ),
        HookProgram(
            name="copilot",
            title="Copilot CLI",
            events={"compaction": "preCompact", "session_end": "sessionEnd"},
            is_grouped=False,
            handler={"type": "command", "timeoutSec": TIMEOUT_S},
            command_key="bash",
            top={"version": 1},
            is_own_file=True,
            next_step=f"{NEW_SESSION}; they index sessions and add no text to prompts",
        ),
    )
}
"""All programs by name."""


def _extension(home: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder of memd's extension of Gemini CLI."""
    return _or(environ, "GEMINI_CLI_HOME", home) / ".gemini" / "extensions" / "memd"


def _or(environ: Mapping[str, str], name: str, default: Path) -> Path:
    """Return the folder in a variable, or the default."""
    return Path(environ[name]).expanduser() if environ.get(name) else default
