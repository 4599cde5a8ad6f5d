"""MCP clients of `memctl mcp`: the SDK's with its own server process, and one that sends raw lines."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.session import MessageHandlerFnT
from mcp.types import CallToolResult, TextContent

from tests.support.daemon import DaemonProcess

COMMAND = ["-c", "from memd.cli.main import main; main()", "mcp"]

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@asynccontextmanager
async def mcp_session(
    environ: Mapping[str, str],
    *arguments: str,
    autostart: bool = False,
    on_message: MessageHandlerFnT | None = None,
    program: Sequence[str] = (sys.executable, *COMMAND),
) -> AsyncIterator[ClientSession]:
    """Return a session of the SDK's client with its own server."""
    variables = {**os.environ, **environ, **({} if autostart else {"MEMD_AUTOSTART": "0"})}
    server = StdioServerParameters(
        command=program[0], args=[*program[1:], *arguments], env=variables, cwd=Path("/")
    )
    async with (
        stdio_client(server) as (incoming, outgoing),
        ClientSession(incoming, outgoing, message_handler=on_message) as session,
    ):
        await session.initialize()
        yield session


def run_mcp_session(
    daemon: DaemonProcess, steps: Callable[[ClientSession], Awaitable[Any]], *arguments: str
) -> Any:
    """Return the result of the steps of a client with its own server; see `mcp_session`."""

    async def drive() -> Any:
        async with mcp_session(daemon.home.environ(), *arguments) as session:
            return await steps(session)

    return asyncio.run(drive())


def text_of(result: CallToolResult) -> str:
    """Return the text of a tool result."""
    [part] = result.content
    assert isinstance(part, TextContent)
    return part.text


class RawServer:
    """A server that receives raw lines."""

    def __init__(self, environ: Mapping[str, str], *arguments: str) -> None:
        self._environ = {**os.environ, **environ, "MEMD_AUTOSTART": "0"}
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RawServer:
        self._process = subprocess.Popen(
            [sys.executable, *COMMAND, *self._arguments],
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()

    def say(self, *messages: Mapping[str, Any] | bytes) -> None:
        """Send messages, or raw lines."""
        pipe = self._running().stdin
        assert pipe is not None
        for each in messages:
            pipe.write((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n")
        pipe.flush()

    def hear(self) -> dict[str, Any]:
        """Return the next message of the server."""
        pipe = self._running().stdout
        assert pipe is not None
        message: dict[str, Any] = json.loads(pipe.readline())
        return message

    def greet(self) -> None:
        """Complete the handshake."""
        self.say(HELLO)
        assert self.hear()["id"] == HELLO["id"]
        self.say(INITIALIZED)

    def hang_up(self) -> str:
        """Close the input, check that the server exits with 0, and return its standard error."""
        output, errors = self._running().communicate(timeout=120)
        assert output == b"", "nothing but the protocol is on standard output"
        assert self._running().returncode == 0
        return errors.decode()

    def interrupt(self) -> None:
        """Send SIGINT to the server."""
        self._running().send_signal(signal.SIGINT)

    def close_output(self) -> None:
        """Close the server's output."""
        pipe = self._running().stdout
        assert pipe is not None
        pipe.close()

    def close_input(self) -> None:
        """Close the server's input."""
        pipe = self._running().stdin
        assert pipe is not None
        pipe.close()

    def wait(self) -> str:
        """Wait until the server exits, and return its standard error."""
        process = self._running()
        process.wait(120)
        assert process.stderr is not None
        return process.stderr.read().decode()

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process
