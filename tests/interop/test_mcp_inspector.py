"""`memctl mcp` driven by the command line of MCP's own inspector: another SDK, in another language."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import COMMAND
from tests.support.node import installed, run_node
from tests.support.state_homes import KEYWORD_ONLY, StateHome

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with a note."""
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "# Memory\n\nThe staging gateway listens on 8443.\n")
        with DaemonProcess(home) as process:
            yield process


def inspected(daemon: DaemonProcess, *options: str) -> Any:
    """Return what the inspector prints of one request."""
    package = installed(INSPECTOR) / "node_modules" / "@modelcontextprotocol" / "inspector"
    program = package / json.loads((package / "package.json").read_text())["bin"]["mcp-inspector"]
    passed_on = {**daemon.home.environ(), "MEMD_AUTOSTART": "0"}  # a server gets nothing of the caller's else
    pairs = [part for name, value in passed_on.items() for part in ("-e", f"{name}={value}")]
    ran = run_node(
        [program, "--cli", *options, *pairs, "--", sys.executable, *COMMAND],
        cwd=Path("/"),
        environ={"HOME": str(daemon.home.root)},  # it keeps a catalog of servers there
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout)


def test_tools_are_listed_and_their_schemas_are_portable(daemon: DaemonProcess) -> None:
    tools = inspected(daemon, "--method", "tools/list", "--strict")["tools"]

    assert [tool["name"] for tool in tools][:2] == ["memory_search", "memory_get"]
    assert len(tools) == 9


def test_a_tool_is_called(daemon: DaemonProcess) -> None:
    found = inspected(
        daemon,
        "--method",
        "tools/call",
        "--tool-name",
        "memory_search",
        "--tool-arg",
        "query=staging gateway",
    )

    assert "8443" in found["content"][0]["text"]
    assert "structuredContent" not in found


def test_resources_are_listed_and_read(daemon: DaemonProcess) -> None:
    listed = inspected(daemon, "--method", "resources/list")["resources"]
    read = inspected(daemon, "--method", "resources/read", "--uri", "memory://main/MEMORY.md")

    assert [each["uri"] for each in listed] == ["memory://main/MEMORY.md"]
    assert read["contents"][0]["text"].endswith("listens on 8443.\n")
