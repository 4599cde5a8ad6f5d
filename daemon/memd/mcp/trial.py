"""Runs the server of an entry once, as an MCP client would."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any, Final

from memd.mcp.server import VERSIONS
from memd.programs.catalog import MCP_SERVER, Mcp
from memd_client.usage import MEASURING

TIMEOUT_S: Final = 30.0
"""Longest wait for the first reply; clients wait about as long for a server."""

FIRST_REQUEST: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": VERSIONS[0],
        "capabilities": {},
        "clientInfo": {"name": MEASURING, "version": "1"},
    },
}


class TrialFailedError(Exception):
    """The server gave no valid reply; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def try_server(client: Mcp, entry: Mapping[str, Any], query: str = "") -> None:
    """Start the server of an entry, check its first reply, and search for the query if there is one.

    No daemon is started.
    """
    search = {"name": "memory_search", "arguments": {"query": query, "maxResults": 1}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search}
    requests = [FIRST_REQUEST, *([call] if query else [])]
    command = client.command_of(entry)
    variables = entry.get(client.variables_key, {})
    try:
        ran = subprocess.run(
            command,
            input="".join(f"{json.dumps(request)}\n" for request in requests),
            capture_output=True,
            text=True,
            cwd="/",
            env={**os.environ, **variables, "MEMD_AUTOSTART": "0"},
            timeout=TIMEOUT_S,
        )
        replies = {reply.get("id", 1): reply for reply in map(json.loads, ran.stdout.splitlines())}
        name = replies[1]["result"]["serverInfo"]["name"]
        result = replies[2]["result"] if query else {}
    except FileNotFoundError:
        raise TrialFailedError(
            f"no program {command[0]} is on PATH", "add the folder of memctl to PATH"
        ) from None
    except subprocess.TimeoutExpired:
        raise TrialFailedError(f"the server gave no reply within {TIMEOUT_S:.0f} s", _hint(command)) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        said = ran.stderr.strip() if isinstance(error, ValueError | LookupError) else str(error)
        raise TrialFailedError(f"the server failed: {said[-500:] or 'no reply'}", _hint(command)) from None
    if result.get("isError"):
        raise TrialFailedError(f"the search failed: {str(result.get('content'))[:500]}", _hint(command))
    if name != MCP_SERVER:
        raise TrialFailedError(f"{command[0]} is another server, {name[:60]!r}", _hint(command))


def _hint(command: list[str]) -> str:
    return f"run `{' '.join(command)}` in a shell; `memctl doctor` checks the installation"
