"""Programs that ask one daemon through memd's OpenClaw plugin or its MCP server, each a process."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.scale_process import LineProcess

MCP: Final = [sys.executable, "-c", "from memd.cli.main import main; main()", "mcp"]
PLUGIN: Final = Path(__file__).resolve().parent / "reach_plugin.mjs"


class ReachError(RuntimeError):
    """A program's answer was none."""


class Asker(LineProcess, ABC):
    """One process that asks the daemon, and never starts one.

    Args:
        command: Program and arguments.
        environ: Leads to the daemon.
        folder: Where it runs.
    """

    def __init__(self, command: Sequence[str | Path], environ: Mapping[str, str], folder: Path) -> None:
        super().__init__(command, environ={**environ, "MEMD_AUTOSTART": "0"}, folder=folder, quiet=True)

    @abstractmethod
    def ask(self, question: str) -> int:
        """Ask a question; return how many hits came.

        Raises:
            ReachError: None did, but an error.
        """


class PluginAsker(Asker):
    """A gateway's process with the plugin in it."""

    def __init__(self, node: Path, plugin: Path, agent: str, environ: Mapping[str, str]) -> None:
        super().__init__([node, PLUGIN, agent], environ, plugin)
        self.hear()

    def ask(self, question: str) -> int:
        """Ask by `memory_search`."""
        self.tell(question)
        answer = self.hear()
        if answer["error"]:
            raise ReachError(str(answer["error"]))
        return int(answer["results"])


class McpAsker(Asker):
    """A process of `memctl mcp`, greeted as MCP clients do."""

    def __init__(self, agent: str, environ: Mapping[str, str]) -> None:
        super().__init__([*MCP, "--agent", agent], environ, Path("/"))
        self._number = 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "1"},
        }
        self.request("initialize", hello)
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a request."""
        self._number += 1
        self.tell({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while (answer := self.hear()).get("id") != self._number:
            pass
        if "error" in answer:
            raise ReachError(str(answer["error"]))
        return answer["result"]

    def ask(self, question: str) -> int:
        """Ask by `memory_search`."""
        result = self.request("tools/call", {"name": "memory_search", "arguments": {"query": question}})
        if result.get("isError"):
            raise ReachError(result["content"][0]["text"])
        return str(result["content"][0]["text"]).count(" (score ")
