"""Paths of MCP clients' settings, and the form of memd's entry."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
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
        next_step: What to do after installing.
        fields: Further keys of an entry.
        is_joined: Whether an entry's `command` is the program with its arguments, and its variables are `environment`.
    """

    name: str
    title: str
    section: str
    project: str
    next_step: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    is_joined: bool = False

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
            "gemini": _or(environ, "GEMINI_CLI_HOME", home) / ".gemini" / "settings.json",
            "opencode": _opencode_file(Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"),
            "copilot": _or(environ, "COPILOT_HOME", home / ".copilot") / "mcp-config.json",
        }[self.name]

    def entry(self, command: str, agent: str | None, environ: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry for memd."""
        arguments = ["mcp", *(["--agent", agent] if agent else [])]
        if self.is_joined:
            entry: dict[str, Any] = {**self.fields, "command": [command, *arguments]}
        else:
            entry = {**self.fields, "command": command, "args": arguments}
        return entry | ({self.variables_key: dict(environ)} if environ else {})

    @property
    def variables_key(self) -> str:
        """The key of an entry's environment variables."""
        return "environment" if self.is_joined else "env"

    def command_of(self, entry: Mapping[str, Any]) -> list[str]:
        """Return the program of an entry and its arguments; may raise `LookupError` or `TypeError`."""
        return [*entry["command"]] if self.is_joined else [entry["command"], *entry["args"]]


NEW_SESSION = "start a new session; /mcp lists memd"
STDIO = {"type": "stdio"}

CLIENTS: dict[str, McpClient] = {
    client.name: client
    for client in (
        McpClient("claude-code", "Claude Code", "mcpServers", ".mcp.json", NEW_SESSION, STDIO),
        McpClient("codex", "Codex", "mcp_servers", ".codex/config.toml", NEW_SESSION),
        McpClient("gemini", "Gemini CLI", "mcpServers", ".gemini/settings.json", NEW_SESSION),
        McpClient(
            "opencode",
            "opencode",
            "mcp",
            "opencode.json",
            "start a new session; `opencode mcp list` lists memd",
            {"type": "local", "enabled": True},
            is_joined=True,
        ),
        McpClient(
            "copilot",
            "Copilot CLI",
            "mcpServers",
            ".github/mcp.json",
            "start a new session; `/mcp show` lists memd",
            {"type": "local", "tools": ["*"]},
        ),
        McpClient("cursor", "Cursor", "mcpServers", ".cursor/mcp.json", "enable memd when Cursor asks"),
        McpClient(
            "vscode", "VS Code", "servers", ".vscode/mcp.json", "run `MCP: List Servers` to start memd", STDIO
        ),
        McpClient("claude-desktop", "Claude Desktop", "mcpServers", "", "restart Claude Desktop"),
    )
}
"""All clients by name."""


def _opencode_file(folder: Path) -> Path:
    """Return opencode's settings: the name for JSON with comments, if only that exists."""
    plain, commented = folder / "opencode.json", folder / "opencode.jsonc"
    return commented if commented.exists() and not plain.exists() else plain


def _or(environ: Mapping[str, str], name: str, default: Path) -> Path:
    """Return the folder in a variable, or the default."""
    return Path(environ[name]).expanduser() if environ.get(name) else default
