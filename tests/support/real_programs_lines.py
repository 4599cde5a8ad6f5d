"""Programs of npm with a file of lines per session; each is set to a model on loopback, with chat completions."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.support.openclaw import ToolCall
from tests.support.real_program import KEY, RealProgram, recent_node

MODEL: Final = "scripted"
INSTALL_S: Final = 120.0


class QwenOfNpm(RealProgram):
    """Qwen Code; its model is set by `OPENAI_BASE_URL`."""

    name = "qwen"
    package = "@qwen-code/qwen-code@0.24.4"
    ready = "Type"
    compact = "/compress"
    leave = "/quit"

    def set_up(self) -> None:
        settings: dict[str, Any] = {
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
            "ui": {"enableFollowupSuggestions": False},  # Enter accepts them
        }
        (self.home / ".qwen").mkdir()
        (self.home / ".qwen" / "settings.json").write_text(json.dumps(settings))

    def command(self) -> list[str | Path]:
        return [recent_node(), self.modules / "@qwen-code" / "qwen-code" / "cli-entry.js"]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        path = str(self.folder / "ports.txt")
        return ToolCall("read_file", {"file_path": path}) if "read_file" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": KEY,
            "OPENAI_MODEL": MODEL,
            "NO_COLOR": "1",
        }


KIMI_SETTINGS: Final = """\
default_model = "scripted"
telemetry = false

[providers.loopback]
type = "openai"
base_url = "{url}/v1"
api_key = "{key}"

[models.scripted]
provider = "loopback"
model = "scripted"
max_context_size = 100000
"""


class KimiCodeOfNpm(RealProgram):
    """Kimi Code; its model is a provider in `config.toml`."""

    name = "kimi-code"
    package = "@moonshot-ai/kimi-code@2.1.0"
    asks_first = "Exit Kimi Code"
    ready = "context"
    compact = ""  # not tested: the model's script doesn't recognize its requests for a summary
    leave = "/exit"

    def set_up(self) -> None:
        (self.home / ".kimi-code").mkdir()
        settings = KIMI_SETTINGS.format(url=self.url, key=KEY)
        (self.home / ".kimi-code" / "config.toml").write_text(settings)

    def command(self) -> list[str | Path]:
        return [recent_node(), self.modules / "@moonshot-ai" / "kimi-code" / "dist" / "main.mjs"]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        return ToolCall("Read", {"path": "ports.txt"}) if "Read" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {"KIMI_CODE_NO_AUTO_UPDATE": "1"}


class PiOfNpm(RealProgram):
    """pi; its model is a provider in `models.json`."""

    name = "pi"
    package = "@earendil-works/pi-coding-agent@1.6.0"
    ready = "scripted"
    compact = ""  # not tested: the model's script doesn't recognize its requests for a summary
    leave = "/quit"

    def set_up(self) -> None:
        folder = self.home / ".pi" / "agent"
        folder.mkdir(parents=True)
        provider = {
            "baseUrl": f"{self.url}/v1",
            "apiKey": KEY,
            "api": "openai-completions",
            "models": [{"id": MODEL}],
        }
        (folder / "models.json").write_text(json.dumps({"providers": {"loopback": provider}}))
        chosen = {"defaultProvider": "loopback", "defaultModel": MODEL, "quietStartup": True}
        (folder / "settings.json").write_text(json.dumps(chosen))

    def command(self) -> list[str | Path]:
        return [recent_node(), self.modules / "@earendil-works" / "pi-coding-agent" / "dist" / "cli.js"]

    def resumed(self, session_id: str, prompt: str) -> list[str]:
        return ["--session", session_id, *self.headless(prompt)]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        return ToolCall("read", {"path": "ports.txt"}) if "read" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {"PI_OFFLINE": "1"}


GROK_SETTINGS: Final = """\
[models]
default = "scripted"

[model.scripted]
model = "scripted"
name = "Scripted"
base_url = "{url}/v1"
api_key = "{key}"
api_backend = "chat_completions"
context_window = 100000
"""


class GrokOfNpm(RealProgram):
    """Grok Build; its model is a table in `config.toml`."""

    name = "grok"
    marks_headless = True
    package = "@xai-official/grok@1.0.41"
    ready = "Scripted"
    compact = ""  # not tested: the model's script doesn't recognize its requests for a summary
    leave = "/quit"
    on_terminal = ("--always-approve",)

    def set_up(self) -> None:
        (self.home / ".grok").mkdir()
        settings = GROK_SETTINGS.format(url=self.url, key=KEY)
        (self.home / ".grok" / "config.toml").write_text(settings)

    def command(self) -> list[str | Path]:
        unpacked = self.modules.parent / "grok"
        program = unpacked / "bin" / "grok"
        if not program.exists():  # npm doesn't run scripts of packages
            script = self.modules / "@xai-official" / "grok" / "bin" / "postinstall.js"
            environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GROK_HOME": str(unpacked)}
            subprocess.run([recent_node(), script], env=environ, check=True, timeout=INSTALL_S)
        return [program]

    def headless(self, prompt: str) -> list[str]:
        return ["--always-approve", "-p", prompt]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        return ToolCall("read_file", {"target_file": "ports.txt"}) if "read_file" in tools else None

    def variables(self) -> Mapping[str, str]:
        return {"XAI_API_KEY": KEY}


LINES_PROGRAMS: Final[tuple[type[RealProgram], ...]] = (QwenOfNpm, KimiCodeOfNpm, PiOfNpm, GrokOfNpm)
