"""Where MCP clients keep their settings, and what an entry for memd looks like there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = "memd"
"""The entry's name."""


@dataclass(frozen=True, slots=True)
class McpClient:
    """One client.

    Attributes:
        name: What it is called on the command line.
        title: What people call it.
        section: The key all servers stand under.
        project: Its file in a project's folder; empty where it has none.
        says_type: An entry says that it is run on standard streams.
        then: What is to be done afterwards.
    """

    name: str
    title: str
    section: str
    project: str
    says_type: bool
    then: str

    def user_file(self, home: Path, environ: Mapping[str, str], platform: str = sys.platform) -> Path:
        """Return its file for the user."""
        support = home / "Library" / "Application Support"
        config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        applications = support if platform == "darwin" else config
        return {
            "claude-code": _or(environ, "CLAUDE_CONFIG_DIR", home) / ".claude.json",
            "codex": _or(environ, "CODEX_HOME", home / ".codex") / "config.toml",
            "cursor": home / ".cursor" / "mcp.json",
            "vscode": applications / "Code" / "User" / "mcp.json",
            "claude-desktop": applications / "Claude" / "claude_desktop_config.json",
        }[self.name]

    def entry(self, command: str, agent: str | None, environ: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry for memd."""
        entry: dict[str, Any] = {"type": "stdio"} if self.says_type else {}
        entry |= {"command": command, "args": ["mcp", *(["--agent", agent] if agent else [])]}
        return entry | ({"env": dict(environ)} if environ else {})


CLIENTS: dict[str, McpClient] = {
    client.name: client
    for client in (
        McpClient(
            "claude-code",
            "Claude Code",
            "mcpServers",
            ".mcp.json",
            True,
            "Start a new session; /mcp lists it.",
        ),
        McpClient(
            "codex",
            "Codex",
            "mcp_servers",
            ".codex/config.toml",
            False,
            "Start a new session; /mcp lists it.",
        ),
        McpClient(
            "cursor", "Cursor", "mcpServers", ".cursor/mcp.json", False, "Cursor asks whether to turn it on."
        ),
        McpClient("vscode", "VS Code", "servers", ".vscode/mcp.json", True, "`MCP: List Servers` starts it."),
        McpClient("claude-desktop", "Claude Desktop", "mcpServers", "", False, "Quit it and start it again."),
    )
}
"""All of them by name."""


def _or(environ: Mapping[str, str], name: str, otherwise: Path) -> Path:
    """Return the folder a variable names."""
    return Path(environ[name]).expanduser() if environ.get(name) else otherwise
