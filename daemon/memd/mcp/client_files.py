"""Paths of MCP clients' settings, and the form of memd's entry."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = "memd"
"""Name of the entry."""


@dataclass(frozen=True, slots=True)
class McpClient:
    """One MCP client.

    Attributes:
        name: Name on the command line.
        title: Name of the product.
        section: The key of all servers.
        project: Its file in a project's folder; empty if it has none.
        has_type: Whether an entry has the key `type`.
        next_step: What to do after installing.
    """

    name: str
    title: str
    section: str
    project: str
    has_type: bool
    next_step: str

    def user_file(self, home: Path, environ: Mapping[str, str], platform: str = sys.platform) -> Path:
        """Return the path of its user settings."""
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
        entry: dict[str, Any] = {"type": "stdio"} if self.has_type else {}
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
            "start a new session; /mcp lists memd",
        ),
        McpClient(
            "codex",
            "Codex",
            "mcp_servers",
            ".codex/config.toml",
            False,
            "start a new session; /mcp lists memd",
        ),
        McpClient(
            "cursor", "Cursor", "mcpServers", ".cursor/mcp.json", False, "enable memd when Cursor asks"
        ),
        McpClient(
            "vscode", "VS Code", "servers", ".vscode/mcp.json", True, "run `MCP: List Servers` to start memd"
        ),
        McpClient("claude-desktop", "Claude Desktop", "mcpServers", "", False, "restart Claude Desktop"),
    )
}
"""All clients by name."""


def _or(environ: Mapping[str, str], name: str, default: Path) -> Path:
    """Return the folder in a variable, or the default."""
    return Path(environ[name]).expanduser() if environ.get(name) else default
