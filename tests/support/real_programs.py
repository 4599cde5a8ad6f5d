"""Agents' programs in a temporary home, with a model on loopback; tests are skipped if a registry can't provide them.

No account is needed: each program is set to use the model server, and no prompt leaves this machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.model_servers.server import DialectServer, serve_dialects
from tests.support.openclaw import ModelRequest, Script, TextReply, ToolCall
from tests.support.real_document_programs import DOCUMENT_PROGRAMS
from tests.support.real_program import ANSWER, KEY, SYSTEM, RealProgram, recent_node
from tests.support.real_programs_lines import LINES_PROGRAMS


class ClaudeCodeOfNpm(RealProgram):
    """Claude Code; its model is set by `ANTHROPIC_BASE_URL`."""

    name = "claude-code"
    marks_headless = True
    package = "@anthropic-ai/claude-code@2.1.332"
    ready = "cycle"
    leave = "/exit"

    def set_up(self) -> None:
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        settings = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.folder): project},
        }
        (self.home / ".claude.json").write_text(json.dumps(settings))

    def command(self) -> list[str | Path]:
        return [self.modules / "@anthropic-ai" / f"claude-code-{SYSTEM}" / "claude"]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        path = str(self.folder / "ports.txt")
        return ToolCall("Read", {"file_path": path}) if "Read" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }


CODEX_SETTINGS: Final = """\
model = "scripted"
model_provider = "loopback"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"

[projects."{folder}"]
trust_level = "trusted"
"""


class CodexOfNpm(RealProgram):
    """Codex; its model is a provider in `config.toml`."""

    name = "codex"
    marks_headless = True
    package = "@openai/codex@0.171.0"
    ready = "shortcuts"
    leave = "/quit"
    on_terminal = ("--no-daemon",)  # by default it leaves a server running
    with_hooks = ("--dangerously-bypass-hook-trust",)

    def set_up(self) -> None:
        (self.home / ".codex").mkdir()
        settings = CODEX_SETTINGS.format(url=self.url, folder=self.folder)
        (self.home / ".codex" / "config.toml").write_text(settings)

    def command(self) -> list[str | Path]:
        vendor = self.modules / "@openai" / f"codex-{SYSTEM}" / "vendor"
        found = next(vendor.glob("*/bin/codex"), None)
        if found is None:
            pytest.skip(f"Codex's package has no program for {SYSTEM}")
        return [found]

    def headless(self, prompt: str) -> list[str]:
        return ["exec", "--skip-git-repo-check", prompt]

    def resumed(self, session_id: str, prompt: str) -> list[str]:
        return ["exec", "--skip-git-repo-check", "resume", session_id, prompt]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        return ToolCall("exec_command", {"cmd": "cat ports.txt"}) if "exec_command" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {"LOOPBACK_KEY": KEY}


class GeminiOfNpm(RealProgram):
    """Gemini CLI; its model is set by `GOOGLE_GEMINI_BASE_URL`."""

    name = "gemini"
    package = "@google/gemini-cli@0.61.0"
    ready = "Type"
    compact = "/compress"
    leave = "/quit"

    def set_up(self) -> None:
        settings: dict[str, Any] = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        }
        (self.home / ".gemini").mkdir()
        (self.home / ".gemini" / "settings.json").write_text(json.dumps(settings))

    def command(self) -> list[str | Path]:
        bundle = self.modules / "@google" / "gemini-cli" / "bundle" / "gemini.js"
        return [recent_node(), bundle, "-m", "gemini-2.5-flash"]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        return ToolCall("read_file", {"file_path": "ports.txt"}) if "read_file" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": self.url, "GEMINI_API_KEY": KEY, "NO_COLOR": "1"}


class CopilotOfNpm(RealProgram):
    """Copilot CLI, offline with a model provider of its own."""

    name = "copilot"
    marks_headless = True
    package = "@github/copilot@1.0.102"
    ready = "commands"
    leave = "/exit"

    def set_up(self) -> None:
        (self.home / ".copilot").mkdir()
        trusted = {"trustedFolders": [str(self.folder)], "trusted_folders": [str(self.folder)]}
        (self.home / ".copilot" / "config.json").write_text(json.dumps(trusted))

    def command(self) -> list[str | Path]:
        return [self.modules / "@github" / f"copilot-{SYSTEM}" / "copilot", "--allow-all-tools"]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        return ToolCall("view", {"path": str(self.folder / "ports.txt")}) if "view" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": "scripted",
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": self.url,
            "COPILOT_PROVIDER_API_KEY": KEY,
        }


_PROGRAMS: Final[tuple[type[RealProgram], ...]] = (ClaudeCodeOfNpm, CodexOfNpm, GeminiOfNpm, CopilotOfNpm)

REAL_PROGRAMS: Final[dict[str, type[RealProgram]]] = {
    program.name: program for program in (*_PROGRAMS, *LINES_PROGRAMS, *DOCUMENT_PROGRAMS)
}


def reading_script(program: RealProgram) -> Script:
    """Return a model's script: read the file, then answer."""

    def reply(request: ModelRequest) -> TextReply | ToolCall:
        call = program.tool_call(request.tools) if not request.results else None
        return call or TextReply(ANSWER)

    return reply


@contextmanager
def real_program(
    name: str, home: Path, script: Script | None = None, folder: Path | None = None
) -> Iterator[tuple[RealProgram, DialectServer]]:
    """Install a program into a home, with a model that follows a script; by default it reads a file and answers.

    It starts in a folder, by default `shop` in the home.
    """
    scripts: list[Script] = []
    with serve_dialects(lambda request: scripts[0](request)) as server:
        program = REAL_PROGRAMS[name](home, server.url, folder)
        scripts.append(script or reading_script(program))
        yield program, server
