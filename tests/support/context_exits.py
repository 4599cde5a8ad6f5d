"""Every way out of memory into a model's context: hooks, start-up context, facts before a prompt, and tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any, Final
from urllib.parse import quote

from mcp import ClientSession
from mcp.types import TextContent
from pydantic import AnyUrl

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.planted_texts import Plant

INJECTED: Final = (
    "hook session_start",
    "hook prompt",
    "hook before_tool",
    "hook after_failure",
    "start-up context",
    "facts before a prompt",
)
"""Ways out that nobody requests: no outside text may leave through them, labelled or not."""

MAX_ANSWER_CHARS: Final = 20_000

COMMAND_EVERY: Final = 3
"""Every third plant is also looked up on the command line, where a call starts a process."""


async def outputs(
    plant: Plant, folder: str, path: str, daemon: DaemonProcess, client: Client, session: ClientSession
) -> AsyncIterator[tuple[str, str]]:
    """Yield what each way out returns about a plant, by its name.

    Args:
        plant: The plant.
        folder: The folder of a session about it.
        path: The path of its note in memory, or empty.
        daemon: The daemon, whose command line agents without MCP use.
        client: A client of the daemon, which hooks and tools of agents use.
        session: A client of its MCP server.
    """
    for name, text in _injected(plant, folder, client):
        yield name, text
    if plant.number % COMMAND_EVERY == 0:
        for name, text in _printed(plant, path, daemon):
            yield name, text
    for name, arguments in _daemon_calls(plant, path):
        yield f"tool {name}", client.call_tool(name, arguments).text
    async for name, text in _mcp_outputs(plant, folder, path, session):
        yield name, text


def _injected(plant: Plant, folder: str, client: Client) -> list[tuple[str, str]]:
    facts, sessions = client.facts_for_prompt(plant.query, force=True), count()
    tool = {"tool": "Bash", "command": plant.command}
    edit = {"tool": "Edit", "file": f"{folder}/{plant.file}"}

    def hook(event: str, **fields: str) -> str:
        session = f"new-{plant.number}-{next(sessions)}"  # a line is shown once in a session
        return client.hook("claude-code", event, session, cwd=folder, **fields).text

    return [
        ("hook session_start", hook("session_start")),
        ("hook prompt", hook("prompt", prompt=plant.query)),
        ("hook before_tool", hook("before_tool", **edit) + hook("before_tool", **tool)),
        ("hook after_failure", hook("after_failure", **tool, error=plant.error)),
        ("facts before a prompt", facts.text),
    ]


def _printed(plant: Plant, path: str, daemon: DaemonProcess) -> list[tuple[str, str]]:
    """Return what the commands print that memd's skill tells agents to run."""
    commands = [("memctl search", ("search", plant.query))]
    if path:
        commands.append(("memctl get", ("get", path)))
    if plant.session:
        commands.append(("memctl get", ("get", plant.session)))
    return [(name, daemon.memctl(*arguments).stdout) for name, arguments in commands]


def _daemon_calls(plant: Plant, path: str) -> list[tuple[str, dict[str, Any]]]:
    calls: list[tuple[str, dict[str, Any]]] = [("memory_search", {"query": plant.query})]
    if path:
        calls.append(("memory_get", {"path": path}))
    if plant.is_fact:
        calls.append(("memory_recall", {"query": plant.query, "limit": 3}))
    return calls


async def _mcp_outputs(
    plant: Plant, folder: str, path: str, session: ClientSession
) -> AsyncIterator[tuple[str, str]]:
    calls = _daemon_calls(plant, path)
    if plant.session:
        calls += [
            ("conversation_search", {"query": plant.query}),
            ("conversation_read", {"session": plant.session}),
            ("session_handoff", {"session": plant.session}),
            ("memory_blame", {"file": f"{folder}/{plant.file}"}),
            ("memory_fix", {"error": plant.error}),
            ("memory_how", {"command": plant.command}),
        ]
    for name, arguments in calls:
        result = await session.call_tool(name, arguments)
        texts = [part.text for part in result.content if isinstance(part, TextContent)]
        yield f"MCP {name}", "\n".join(texts)
        if result.structuredContent is not None:
            yield f"MCP {name}, data", json.dumps(result.structuredContent, ensure_ascii=False)
    if path:
        contents = (await session.read_resource(AnyUrl(f"memory://main/{quote(path)}"))).contents
        yield "MCP resource", "\n".join(getattr(part, "text", "") for part in contents)
