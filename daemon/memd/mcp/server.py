"""The MCP server of one client, on standard input and output."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import signal
import sys
from typing import Any, TextIO, cast

from memd.mcp import resources
from memd.mcp.definitions import HANDOFF_PROMPT, INSTRUCTIONS, SESSION_HANDOFF, TOOLS, WORK_TOOLS, Tool
from memd.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Handler,
    JsonRpcServer,
    Params,
    ProtocolError,
)
from memd.mcp.resources import ResourceSubscriptions
from memd.mcp.result_text import error_text
from memd.mcp.scope import AgentScope
from memd.mcp.tool_calls import OnProgress, ProgressSteps, carry_out
from memd.programs.catalog import MCP_SERVER
from memd.system.line_writer import EXIT_DRAIN_S, LineWriter, QueuedText
from memd.system.untrusted import on_one_line
from memd_client.aio import AsyncioClient
from memd_client.errors import BadParamsError, DaemonUnreachableError, MemdError
from memd_client.escaping import visible
from memd_client.messages import Progress
from memd_client.session import CLIENT_VERSION
from memd_client.usage import MCP_CLIENT

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of MCP, newest first. What this server uses is the same in all; older clients ignore newer fields."""

NOT_FOUND = -32002
"""MCP's code for an unknown resource."""

MAX_NAME_CHARS = 200
"""Longest name of a client that is passed on."""

MAX_OUTPUT_BYTES = 256 * 1024 * 1024
"""Replies that may wait for a client that doesn't read."""


def serve(agent: str | None, *, autostart: bool, structured: bool = False) -> None:
    """Serve the client on standard input and output until it disconnects.

    Other output is redirected to standard error.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # else the exit would wait for the thread that reads input
    _queue_stderr()
    output = _own_output()
    asyncio.run(_serve(agent, output, autostart, structured=structured))
    output.drain(EXIT_DRAIN_S)


async def _serve(agent: str | None, output: LineWriter, autostart: bool, *, structured: bool) -> None:
    async with (
        AsyncioClient(autostart=autostart, client_name=MCP_CLIENT) as client,
        AsyncioClient() as watcher,
    ):
        subscriptions = ResourceSubscriptions(watcher)
        served = MemoryServer(AgentScope(client, agent), subscriptions, output, structured=structured)
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(subscriptions.run(served.send_change))
            await served.rpc.serve(sys.stdin.buffer)
            following.cancel()


def _queue_stderr() -> None:
    """Make writes to standard error never block: many clients don't read it."""
    writer = LineWriter(2)
    sys.stderr = cast(TextIO, QueuedText(lambda text: writer.put(text.encode("utf-8", "backslashreplace"))))
    atexit.register(writer.drain, EXIT_DRAIN_S)


def _own_output() -> LineWriter:
    """Return a writer to standard output for the protocol; other writes to it are redirected to standard error."""
    own = os.dup(1)
    os.dup2(2, 1)
    return LineWriter(own, loss_line=lambda _: b"", max_bytes=MAX_OUTPUT_BYTES)


class MemoryServer:
    """The methods of MCP."""

    def __init__(
        self,
        scope: AgentScope,
        subscriptions: ResourceSubscriptions,
        output: LineWriter,
        *,
        structured: bool = False,
    ) -> None:
        self._structured = structured
        self._scope = scope
        self._subscriptions = subscriptions
        handlers: dict[str, Handler] = {
            "initialize": self._initialize,
            "ping": _ping,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "prompts/list": _list_prompts,
            "prompts/get": self._get_prompt,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
        }
        checked = {method: _with_protocol_errors(handler) for method, handler in handlers.items()}
        self.rpc = JsonRpcServer(checked, output.put)

    def __repr__(self) -> str:
        return f"<MemoryServer {self._scope!r}, {self._subscriptions!r}>"

    async def send_change(self, uri: str) -> None:
        """Notify the client that a file which it subscribed to has changed."""
        self.rpc.notify("notifications/resources/updated", {"uri": uri})

    async def _initialize(self, params: Params) -> Params:
        asked, about = params.get("protocolVersion"), params.get("clientInfo")
        name = about.get("name") if isinstance(about, dict) else None
        self._scope.caller = name[:MAX_NAME_CHARS] if isinstance(name, str) else ""
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {
                "tools": {"listChanged": False},
                "prompts": {"listChanged": False},
                "resources": {"subscribe": True, "listChanged": False},
            },
            "serverInfo": {"name": MCP_SERVER, "version": CLIENT_VERSION},
            "instructions": INSTRUCTIONS,
        }

    async def _list_tools(self, params: Params) -> Params:
        agents = await self._scope.agents_or_none()
        fixed = self._scope.agent is not None
        has_work = await self._scope.has_work()
        tools = [tool for tool in TOOLS.values() if has_work or tool.name not in WORK_TOOLS]
        return {
            "tools": [
                _shown(each, each.input_schema(agents, fixed=fixed), structured=self._structured)
                for each in tools
            ]
        }

    async def _call_tool(self, params: Params) -> Params:
        name = _text(params, "name", "tools/call needs `name`, the name of a tool")
        given = _as_object(params.get("arguments"))
        if given is None:
            text = f"{name[:60]}: `arguments` must be a JSON object, as the tool's inputSchema says"
            return {"content": [{"type": "text", "text": text}], "isError": True}
        result = await carry_out(self._scope, name, given, self._progress(params))
        reply: Params = {"content": [{"type": "text", "text": result.text}], "isError": result.failed}
        if self._structured and result.data is not None:
            reply["structuredContent"] = visible(result.data)
        return reply

    async def _get_prompt(self, params: Params) -> Params:
        if params.get("name") != HANDOFF_PROMPT["name"]:
            raise ProtocolError(INVALID_PARAMS, f"the only prompt is {HANDOFF_PROMPT['name']}")
        given = _as_object(params.get("arguments"))
        if given is None:
            raise ProtocolError(INVALID_PARAMS, "`arguments` must be an object")
        result = await carry_out(
            self._scope, SESSION_HANDOFF, {key: each for key, each in given.items() if each}
        )
        if result.failed:
            raise ProtocolError(INVALID_PARAMS, result.text)
        message = {"role": "user", "content": {"type": "text", "text": result.text}}
        return {"description": HANDOFF_PROMPT["description"], "messages": [message]}

    def _progress(self, params: Params) -> OnProgress | None:
        """Return a function that forwards the daemon's progress; None if the client didn't request it."""
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if token is None:
            return None
        steps = ProgressSteps()

        async def forward(progress: Progress) -> None:
            step = steps.next(progress)
            if step is not None:
                done, total, message = step
                params = {"progressToken": token, "progress": done, "message": message}
                self.rpc.notify(
                    "notifications/progress", params | ({} if total is None else {"total": total})
                )

        return forward

    async def _list_resources(self, params: Params) -> Params:
        cursor = params.get("cursor")
        if cursor is not None and not isinstance(cursor, str):
            raise ProtocolError(INVALID_PARAMS, "`cursor` must be a text")
        files, following = await resources.page_of(self._scope, cursor)
        listed = [_resource(file) for file in files]
        return {"resources": listed} | ({} if following is None else {"nextCursor": following})

    async def _list_templates(self, params: Params) -> Params:
        template = {
            "name": "memory-file",
            "title": "A memory file",
            "uriTemplate": resources.template_of(self._scope.agent),
            "description": "A Markdown file in an agent's memory, by its path from memory_search.",
            "mimeType": resources.MIME_TYPE,
        }
        return {"resourceTemplates": [template]}

    async def _read_resource(self, params: Params) -> Params:
        text = await resources.text_of(self._scope, *self._place_in(params))
        return {"contents": [{"uri": params["uri"], "mimeType": resources.MIME_TYPE, "text": text}]}

    async def _subscribe(self, params: Params) -> Params:
        await self._subscriptions.add(*self._place_in(params))
        return {}

    async def _unsubscribe(self, params: Params) -> Params:
        self._subscriptions.remove(*self._place_in(params))
        return {}

    def _place_in(self, params: Params) -> tuple[str, str]:
        """Return the agent and the path of the memory file that the parameters name."""
        uri = _text(params, "uri", "`uri` is missing: the URI of a memory file")
        return resources.parse_uri(self._scope, uri)


async def _list_prompts(params: Params) -> Params:
    return {"prompts": [HANDOFF_PROMPT]}


async def _ping(params: Params) -> Params:
    return {}


def _text(params: Params, name: str, missing: str) -> str:
    """Return a text among the parameters, or raise with a message."""
    value = params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, missing)
    return value


def _as_object(given: object) -> dict[str, Any] | None:
    """Return arguments as a map; None if they are not a JSON object. Some clients send it as a text."""
    if given is None:
        return {}
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, dict) else None


def _shown(tool: Tool, input_schema: dict[str, Any], *, structured: bool) -> Params:
    """Return a tool as MCP lists it."""
    shown: Params = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": input_schema,
        "annotations": {
            "title": tool.title,
            "readOnlyHint": not tool.writes,
            "destructiveHint": tool.removes,
            "idempotentHint": tool.repeatable,
            "openWorldHint": False,
        },
    }
    return shown | ({"outputSchema": tool.output_schema()} if structured else {})


def _resource(file: resources.MemoryFile) -> Params:
    """Return a file as MCP lists it."""
    title = on_one_line(file.row.title)
    return {
        "uri": file.uri,
        "name": on_one_line(file.row.path),
        "description": f"Memory of agent {on_one_line(file.agent)}",
        "mimeType": resources.MIME_TYPE,
        "size": file.row.size_bytes,
    } | ({"title": title} if title else {})


def _with_protocol_errors(handler: Handler) -> Handler:
    """Return a handler that raises errors of memd as errors of MCP."""

    async def handle(params: Params) -> Params:
        try:
            return await handler(params)
        except MemdError as error:
            raise _protocol_error(error) from None

    return handle


def _protocol_error(error: MemdError) -> ProtocolError:
    """Return an error of memd as an error of MCP."""
    code = NOT_FOUND
    if isinstance(error, BadParamsError):
        code = INVALID_PARAMS
    elif isinstance(error, DaemonUnreachableError):
        code = INTERNAL_ERROR
    return ProtocolError(code, error_text(error), {"code": error.wire_code})
