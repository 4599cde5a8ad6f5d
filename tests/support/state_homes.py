"""Temporary state directories with agents, settings and notes."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

KEYWORD_ONLY: dict[str, Any] = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
UNWATCHED: dict[str, Any] = {
    "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}}}}
}
"""Settings of one agent with keyword search, with and without file events."""


def named_provider(url: str, key: str | None, model: str) -> dict[str, Any]:
    """Return settings whose embedding provider `acme` is an entry of `models.providers`."""
    search = {"provider": "acme", "model": model, "sync": {"watch": False}}
    entry: dict[str, Any] = {"baseUrl": url, "apiKey": key, "api": "openai-completions", "models": []}
    return {"agents": {"defaults": {"memorySearch": search}}, "models": {"providers": {"acme": entry}}}


class StateHome:
    """A state directory with a short path (socket paths are limited to 107 bytes)."""

    def __init__(self, config: Mapping[str, Any] | str | None = None) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
        self.state = self.root / "state"
        self.state.mkdir(mode=0o700)
        self.socket = self.root / "run" / "memd.sock"
        (self.root / "memd.toml").touch()
        self.configure(config if config is not None else {})

    def __enter__(self) -> StateHome:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def configure(self, config: Mapping[str, Any] | str) -> None:
        """Write the settings file."""
        text = config if isinstance(config, str) else json.dumps(config)
        (self.state / "openclaw.json").write_text(text)

    def workspace(self, agent: str = "main") -> Path:
        """Return an agent's workspace: `workspace` for main, else that of `agents_config`."""
        return self.state / ("workspace" if agent == "main" else f"workspace-{agent}")

    def note(self, path: str, text: str, agent: str = "main") -> Path:
        """Write a note into an agent's workspace and return its path."""
        location = self.workspace(agent) / path
        location.parent.mkdir(parents=True, exist_ok=True)
        location.write_text(text, encoding="utf-8")
        return location

    def clear(self, agent: str = "main") -> None:
        """Empty an agent's workspace."""
        workspace = self.workspace(agent)
        shutil.rmtree(workspace, ignore_errors=True)
        workspace.mkdir()

    def environ(self) -> dict[str, str]:
        """Return the environment variables that make a daemon use this directory."""
        return {
            "OPENCLAW_STATE_DIR": str(self.state),
            "MEMD_SOCKET": str(self.socket),
            "MEMD_CONFIG": str(self.root / "memd.toml"),
        }


def agents_config(
    state: Path, *agents: str, memory_search: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return settings with several agents, each with its own workspace."""
    return {
        "agents": {
            "defaults": {"memorySearch": dict(memory_search or {"provider": "none"})},
            "list": [{"id": "main", "default": True}]
            + [{"id": agent, "workspace": f"{state}/workspace-{agent}"} for agent in agents],
        }
    }
