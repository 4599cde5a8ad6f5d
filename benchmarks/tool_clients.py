"""Processes that search one daemon through memd's OpenClaw plugin or its MCP server."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.scale_process import LineProcess

MCP: Final = [sys.executable, "-c", "from memd.cli.main import main; main()", "mcp"]
PLUGIN: Final = Path(__file__).resolve().parent / "tool_plugin.mjs"


class ToolCallError(RuntimeError):
    """A tool call failed."""


class ToolClient(LineProcess, ABC):
    """One process that searches with a running daemon."""

    def __init__(self, command: Sequence[str | Path], environ: Mapping[str, str], folder: Path) -> None:
        super().__init__(command, environ={**environ, "MEMD_AUTOSTART": "0"}, folder=folder, quiet=True)

    @abstractmethod
    def ask(self, query: str) -> int:
        """Search; return the number of hits, or raise ToolCallError."""


class PluginToolClient(ToolClient):
    """A gateway process with the plugin."""

    def __init__(self, node: Path, plugin: Path, agent: str, environ: Mapping[str, str]) -> None:
        super().__init__([node, PLUGIN, agent], environ, plugin)
        self.receive()

    def ask(self, query: str) -> int:
        """Search with `memory_search`."""
        self.send(query)
        answer = self.receive()
        if answer["error"]:
            raise ToolCallError(str(answer["error"]))
        return int(answer["results"])


class McpToolClient(ToolClient):
    """A process of `memctl mcp`, initialized as MCP clients do."""

    def __init__(self, agent: str, environ: Mapping[str, str]) -> None:
        super().__init__([*MCP, "--agent", agent], environ, Path("/"))
        self._number = 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "1"},
        }
        self.request("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a request."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while (answer := self.receive()).get("id") != self._number:
            pass
        if "error" in answer:
            raise ToolCallError(str(answer["error"]))
        return answer["result"]

    def ask(self, query: str) -> int:
        """Search with `memory_search`."""
        result = self.request("tools/call", {"name": "memory_search", "arguments": {"query": query}})
        if result.get("isError"):
            raise ToolCallError(result["content"][0]["text"])
        return str(result["content"][0]["text"]).count(" (score ")
