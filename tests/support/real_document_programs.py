"""Programs with a document per session, and aider, in a temporary home with a model on loopback.

aider is installed from PyPI into an environment of its own, which is cached like the packages of npm.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.support.node import cache_folder, locked, node
from tests.support.openclaw import ToolCall
from tests.support.real_program import KEY, SYSTEM, RealProgram

AIDER: Final = "aider-chat==0.86.2"
INSTALL_S: Final = 900.0


class ClineOfNpm(RealProgram):
    """Cline's command line; its model is set as `cline auth` does. It resumes sessions only on a terminal.

    On a terminal, it leaves a server running and takes no keys for a time that differs: that was checked by hand.
    """

    name = "cline"
    package = "cline@3.0.65"
    ready = "Auto-approve"
    leave = "/exit"
    compact = ""
    can_talk = can_resume = False
    marks_headless = True

    def set_up(self) -> None:
        settings = {
            "provider": "openai-compatible",
            "apiKey": KEY,
            "baseUrl": f"{self.url}/v1",
            "model": "scripted",
        }
        row = {"settings": settings, "updatedAt": "2026-11-02T08:00:00.000Z", "tokenSource": "manual"}
        document = {
            "version": 1,
            "lastUsedProvider": "openai-compatible",
            "providers": {"openai-compatible": row},
        }
        path = self.home / ".cline/data/settings/providers.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(document))

    def command(self) -> list[str | Path]:
        return [self.modules / "@cline" / f"cli-{SYSTEM}" / "bin" / "cline"]

    def headless(self, prompt: str) -> list[str]:
        return [prompt]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        path = str(self.folder / "ports.txt")
        return ToolCall("read_files", {"files": [{"path": path}]}) if "read_files" in tools else None

    def variables(self) -> Mapping[str, str]:
        # Without it, Cline leaves a server running.
        return {"CLINE_SESSION_BACKEND_MODE": "local"}


CONTINUE_SETTINGS: Final = """\
name: loopback
version: 1.0.0
schema: v1
models:
  - name: scripted
    provider: openai
    model: scripted
    apiKey: {key}
    apiBase: {url}/v1
    roles: [chat]
"""


class ContinueOfNpm(RealProgram):
    """Continue's command line; its model is one of `config.yaml`."""

    name = "continue"
    package = "@continuedev/cli@1.5.47"
    ready = "Continue CLI"
    leave = "/exit"
    compact = ""
    has_keys = has_times = keeps_failed = False

    def set_up(self) -> None:
        (self.home / ".continue").mkdir()
        (self.home / ".continue" / "config.yaml").write_text(CONTINUE_SETTINGS.format(key=KEY, url=self.url))

    def command(self) -> list[str | Path]:
        program = self.modules / "@continuedev" / "cli" / "dist" / "cn.js"
        return [node(), program, "--config", self.home / ".continue" / "config.yaml"]

    def resumed(self, session_id: str, prompt: str) -> list[str]:
        return ["--resume", *self.headless(prompt)]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        return ToolCall("Read", {"filepath": str(self.folder / "ports.txt")}) if "Read" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {"CONTINUE_TELEMETRY_ENABLED": "0"}


class AiderOfPypi(RealProgram):
    """aider; its model is set by `OPENAI_API_BASE`. It calls no tools, and has no sessions to resume."""

    name = "aider"
    package = AIDER
    ready = "Repo-map"
    leave = "/exit"
    compact = ""
    has_tools = has_keys = can_resume = keeps_failed = False
    marks_headless = drops_headless = True

    def install(self) -> Path:
        return aider_environment()

    def set_up(self) -> None:
        subprocess.run(["git", "init", "--quiet", self.folder], check=True)
        (self.home / ".claude.json").write_text(json.dumps({"projects": {str(self.folder): {}}}))

    def command(self) -> list[str | Path]:
        quiet = (
            "--no-check-update",
            "--no-show-model-warnings",
            "--no-show-release-notes",
            "--analytics-disable",
        )
        return [self.modules / "bin" / "aider", "--model", "openai/scripted", *quiet, "--no-gitignore"]

    def headless(self, prompt: str) -> list[str]:
        return ["--message", prompt]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        return None

    def variables(self) -> Mapping[str, str]:
        return {"OPENAI_API_BASE": f"{self.url}/v1", "OPENAI_API_KEY": KEY}


@cache
def aider_environment() -> Path:
    """Return an environment of Python with aider; skip the test if it can't be installed."""
    root = cache_folder("pypi") / AIDER.replace("==", "-")
    with locked(root):
        if not (root / "installed").exists():
            shutil.rmtree(root, ignore_errors=True)
            try:
                pip = [str(root / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", AIDER]
                for command in ([sys.executable, "-m", "venv", str(root)], pip):
                    subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_S)
            except (OSError, subprocess.SubprocessError) as error:
                pytest.skip(f"pip can't get {AIDER}: {error}")
            (root / "installed").touch()
    return root


DOCUMENT_PROGRAMS: Final[tuple[type[RealProgram], ...]] = (ClineOfNpm, ContinueOfNpm, AiderOfPypi)
