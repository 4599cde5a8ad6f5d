"""Agents' programs from npm in a temporary home, with a model on loopback; tests are skipped if npm can't get them.

No account is needed: each program is set to use the model server, and no prompt leaves this machine.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from memd.programs.catalog import PROGRAMS, Places
from memd.programs.conversation import Conversation
from memd.programs.program import FileReader, TranscriptFile
from memd.programs.readers import reader_of
from tests.support.model_servers.server import DialectServer, serve_dialects
from tests.support.node import NODE_VERSION, installed
from tests.support.openclaw import ModelRequest, Script, TextReply, ToolCall
from tests.support.programs import TerminalProgram

QUESTION: Final = "Which port does staging use"
ANSWER: Final = "Staging uses port 8443."
SUMMARY: Final = "They spoke of ports."
FILE_TEXT: Final = "staging listens on 8443\n"

RUN_S: Final = 120.0
WAIT_S: Final = 120.0
KEY: Final = "loopback-key-without-any-meaning"

_MACHINE: Final = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x64"
SYSTEM: Final = f"{sys.platform}-{_MACHINE}"


def recent_node() -> Path:
    """Return the Node that tests install; programs may need a newer one than that on PATH."""
    package = f"node-{SYSTEM}"
    return installed(f"{package}@{NODE_VERSION}") / "node_modules" / package / "bin" / "node"


class RealProgram:
    """A program in a home of its own. Its working directory has the file `ports.txt`, which its model reads."""

    name: ClassVar[str]
    """Its name in the catalog."""

    package: ClassVar[str]
    ready: ClassVar[str]
    """A word on its screen when it waits for a prompt."""

    asks_first: ClassVar[str] = ""
    """A word on its screen when it asks whether to trust the folder; Enter agrees."""

    leave: ClassVar[str]
    """The command that ends it."""

    compact: ClassVar[str] = "/compact"
    """The command that compacts the conversation."""

    on_terminal: ClassVar[tuple[str, ...]] = ()
    """Arguments on a terminal."""

    with_hooks: ClassVar[tuple[str, ...]] = ()
    """Arguments that accept hooks as a person does."""

    def __init__(self, home: Path, model_url: str) -> None:
        self.home = home
        self.folder = home / "shop"
        self.folder.mkdir(parents=True)
        (self.folder / "ports.txt").write_text(FILE_TEXT)
        self.url = model_url
        conversations = PROGRAMS[self.name].conversations
        assert conversations is not None
        reader = reader_of(conversations)
        assert isinstance(reader, FileReader)
        self.reader = reader
        self._places = conversations.places
        self.modules = installed(self.package) / "node_modules"
        self.set_up()

    def set_up(self) -> None:
        """Write the program's settings."""

    def command(self) -> list[str | Path]:
        """Return the command line without arguments."""
        raise NotImplementedError

    def headless(self, prompt: str) -> list[str]:
        """Return the arguments that run one prompt without a person."""
        return ["-p", prompt]

    def resumed(self, session_id: str, prompt: str) -> list[str]:
        """Return the arguments that run one prompt in an earlier session."""
        return [f"--resume={session_id}", *self.headless(prompt)]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        """Return the call that reads `ports.txt`; None in a request without tools."""
        raise NotImplementedError

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables that the program needs."""
        raise NotImplementedError

    def environ(self) -> dict[str, str]:
        """Return the environment, without the tester's accounts."""
        shared = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        return {**shared, **self.variables()}

    def run(self, *arguments: str, ok: bool = True) -> str:
        """Run the program to its end and return its output."""
        done = subprocess.run(
            [*self.command(), *arguments],
            cwd=self.folder,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert not ok or done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout + done.stderr

    def terminal(self) -> TerminalProgram:
        """Return the program on a terminal."""
        command = [*self.command(), *self.on_terminal]
        return TerminalProgram(command, self.environ(), self.folder, (40, 140))

    def talk(self, *prompts: str) -> None:
        """Type prompts on a terminal, wait for each until it is answered in the transcript, and leave."""
        with self.terminal() as terminal:
            if self.asks_first:
                terminal.wait_for(self.asks_first)
                terminal.press(b"\r")
            terminal.wait_for(self.ready)
            for prompt in prompts:
                self._say(terminal, prompt)
            _type(terminal, self.leave)
            terminal.press_until(b"\r", terminal.has_ended)

    def _say(self, terminal: TerminalProgram, prompt: str) -> None:
        """Type a prompt, or the command that compacts the conversation."""
        before = len(self.said())
        _type(terminal, prompt)
        if prompt == self.compact:
            terminal.press_until(b"\r", lambda: self.has_written(SUMMARY))
        else:
            terminal.press_until(b"\r", lambda: len(self.said()) > before)
            wait_until(lambda: self.said()[before + 1 :] == [ANSWER])

    def said(self) -> list[str]:
        """Return the texts of all conversations."""
        return [message.text for each in self.conversations() for message in each.messages]

    def has_written(self, text: str) -> bool:
        """Return whether a transcript contains a text."""
        files = [path for folder in self._folders() for path, _ in _transcripts_in(self.reader, folder)]
        return any(text.encode() in path.read_bytes() for path in files)

    def conversations(self) -> list[Conversation]:
        """Return all conversations in the program's files, as memd's reader reads them."""
        return [found for folder in self._folders() for found in _conversations_in(self.reader, folder)]

    def _folders(self) -> Sequence[Path]:
        return Places(self.home, self.variables(), sys.platform).paths(self._places)


def _transcripts_in(reader: FileReader, folder: Path) -> Iterator[tuple[Path, TranscriptFile]]:
    paths = [Path(parent, name) for parent, _, names in os.walk(folder) for name in names]
    for path in sorted(paths):
        file = reader.transcript_at(path.relative_to(folder).as_posix())
        if file is not None:
            yield path, file


def _conversations_in(reader: FileReader, folder: Path) -> Iterator[Conversation]:
    for path, file in _transcripts_in(reader, folder):
        reading = reader.open(file)
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            reading.read(line, number)
        yield reading.conversation()


def _type(terminal: TerminalProgram, text: str) -> None:
    """Type a text and wait until it is on the screen."""
    terminal.press(text.encode())
    terminal.wait_for(text.split()[-1])


def wait_until(done: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


class ClaudeCodeOfNpm(RealProgram):
    """Claude Code; its model is set by `ANTHROPIC_BASE_URL`."""

    name = "claude-code"
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
    package = "@openai/codex@0.169.0"
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


from tests.support.real_programs_lines import LINES_PROGRAMS  # noqa: E402 - its classes derive from `RealProgram`

REAL_PROGRAMS: Final[dict[str, type[RealProgram]]] = {
    each.name: each for each in (ClaudeCodeOfNpm, CodexOfNpm, GeminiOfNpm, CopilotOfNpm, *LINES_PROGRAMS)
}


def reading_script(program: RealProgram) -> Script:
    """Return a model's script: read the file, then answer."""

    def reply(request: ModelRequest) -> TextReply | ToolCall:
        call = program.tool_call(request.tools) if not request.results else None
        return call or TextReply(ANSWER)

    return reply


@contextmanager
def real_program(
    name: str, home: Path, script: Script | None = None
) -> Iterator[tuple[RealProgram, DialectServer]]:
    """Install a program into a home, with a model that follows a script; by default it reads a file and answers."""
    scripts: list[Script] = []
    with serve_dialects(lambda request: scripts[0](request)) as server:
        program = REAL_PROGRAMS[name](home, server.url)
        scripts.append(script or reading_script(program))
        yield program, server
