"""Programs that ask one daemon through memd's OpenClaw plugin or its MCP server, each a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

MCP: Final = [sys.executable, "-c", "from memd.cli.main import main; main()", "mcp"]
PLUGIN: Final = Path(__file__).resolve().parent / "reach_plugin.mjs"


class ReachError(RuntimeError):
    """A program ended, or its answer was none."""


class Asker(ABC):
    """One process; a context manager, which ends it.

    Args:
        command: Program and arguments.
        environ: Leads to the daemon.
        folder: Where it runs.
    """

    def __init__(self, command: Sequence[str | Path], environ: Mapping[str, str], folder: Path) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env={**os.environ, **environ, "MEMD_AUTOSTART": "0"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @abstractmethod
    def ask(self, question: str) -> int:
        """Ask a question; return how many hits came.

        Raises:
            ReachError: None did, but an error.
        """

    def say(self, message: Any) -> None:
        """Write one line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        """Return its next line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ReachError(f"a program ended with {self._process.wait(10)}")
        return json.loads(line)


class PluginAsker(Asker):
    """A gateway's process with the plugin in it."""

    def __init__(self, node: Path, plugin: Path, agent: str, environ: Mapping[str, str]) -> None:
        super().__init__([node, PLUGIN, agent], environ, plugin)
        self.hear()

    def ask(self, question: str) -> int:
        """Ask by `memory_search`."""
        self.say(question)
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
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a request."""
        self._number += 1
        self.say({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
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
        return len(result["structuredContent"]["results"])
