"""The MCP server of one client, on standard input and output; only this module and `relay` use the SDK."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from io import TextIOWrapper
from typing import Any, TextIO, cast

import anyio
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import McpError
from pydantic import AnyUrl

from memd.mcp import resources
from memd.mcp.definitions import INSTRUCTIONS, TOOLS, Tool
from memd.mcp.relay import relay
from memd.mcp.resources import ResourceSubscriptions
from memd.mcp.result_text import error_text
from memd.mcp.scope import AgentScope
from memd.mcp.tool_calls import OnProgress, ProgressSteps, carry_out
from memd.system.line_writer import EXIT_DRAIN_S, LineWriter, QueuedText
from memd.system.untrusted import on_one_line
from memd_client.aio import AsyncioClient
from memd_client.errors import BadParamsError, DaemonUnreachableError, MemdError
from memd_client.session import CLIENT_VERSION

Handler = Callable[[Any], Awaitable[types.ServerResult]]

NAME = "memd"

NOT_FOUND = -32002
"""The protocol's code for an unknown resource."""

METHODS = (
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
)
"""The methods of this server."""


def serve(agent: str | None, *, autostart: bool, structured: bool = False) -> None:
    """Serve the client on standard input and output until it disconnects.

    Other output is redirected to standard error.
    """
    logging.disable(logging.CRITICAL)  # the SDK logs invalid requests, which may contain notes
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # else the exit would wait for the thread that reads input
    _queue_stderr()
    try:
        asyncio.run(_serve(agent, autostart, structured=structured))
    except* BrokenPipeError:
        pass  # the client has disconnected


async def _serve(agent: str | None, autostart: bool, *, structured: bool) -> None:
    output = _own_output()
    async with AsyncioClient(autostart=autostart) as client, AsyncioClient() as watcher:
        served = MemoryServer(
            AgentScope(client, agent), ResourceSubscriptions(watcher), structured=structured
        )
        async with stdio_server(stdout=anyio.wrap_file(output)) as (incoming, outgoing):
            checked, relayed = anyio.create_memory_object_stream[Any](0)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(relay, incoming, checked, outgoing.clone(), METHODS)
                tasks.start_soon(served.send_changes)
                await served.server.run(relayed, outgoing, served.introduction())
                tasks.cancel_scope.cancel()


def _queue_stderr() -> None:
    """Make writes to standard error never block: many clients don't read it."""
    writer = LineWriter(2)
    sys.stderr = cast(TextIO, QueuedText(lambda text: writer.put(text.encode("utf-8", "backslashreplace"))))
    atexit.register(writer.drain, EXIT_DRAIN_S)


def _own_output() -> TextIOWrapper:
    """Return standard output for the protocol; other writes to it are redirected to standard error."""
    own = os.dup(1)
    os.dup2(2, 1)
    return TextIOWrapper(os.fdopen(own, "wb"), encoding="utf-8")


class MemoryServer:
    """Handlers for the requests of the SDK's server."""

    def __init__(
        self, scope: AgentScope, subscriptions: ResourceSubscriptions, *, structured: bool = False
    ) -> None:
        self._structured = structured
        self._scope = scope
        self._subscriptions = subscriptions
        self._session: ServerSession | None = None
        self.server: Server[Any, Any] = Server(NAME, version=CLIENT_VERSION, instructions=INSTRUCTIONS)
        handlers: dict[type, Handler] = {
            types.ListToolsRequest: self._list_tools,
            types.CallToolRequest: self._call_tool,
            types.ListResourcesRequest: self._list_resources,
            types.ListResourceTemplatesRequest: self._list_templates,
            types.ReadResourceRequest: self._read_resource,
            types.SubscribeRequest: self._subscribe,
            types.UnsubscribeRequest: self._unsubscribe,
        }
        self.server.request_handlers |= handlers

    def __repr__(self) -> str:
        return f"<MemoryServer {self._scope!r}, {self._subscriptions!r}>"

    def introduction(self) -> InitializationOptions:
        """Return the server's name, version and capabilities for a client."""
        return InitializationOptions(
            server_name=NAME,
            server_version=CLIENT_VERSION,
            capabilities=types.ServerCapabilities(
                tools=types.ToolsCapability(listChanged=False),
                resources=types.ResourcesCapability(subscribe=True, listChanged=False),
            ),
            instructions=INSTRUCTIONS,
        )

    async def send_changes(self) -> None:
        """Notify the client of changed files that it subscribed to, until cancelled."""
        await self._subscriptions.run(self._notify)

    async def _notify(self, uri: str) -> None:
        if self._session is not None:
            with contextlib.suppress(
                anyio.ClosedResourceError, anyio.BrokenResourceError
            ):  # it is disconnecting
                await self._session.send_resource_updated(AnyUrl(uri))

    async def _list_tools(self, request: types.ListToolsRequest) -> types.ServerResult:
        agents = await self._scope.agents_or_none()
        fixed = self._scope.agent is not None
        shown = [
            _shown(tool, tool.input_schema(agents, fixed=fixed), structured=self._structured)
            for tool in TOOLS.values()
        ]
        return types.ServerResult(types.ListToolsResult(tools=shown))

    async def _call_tool(self, request: types.CallToolRequest) -> types.ServerResult:
        params = request.params
        result = await carry_out(self._scope, params.name, params.arguments or {}, self._progress())
        return types.ServerResult(
            types.CallToolResult(
                content=[types.TextContent(type="text", text=result.text)],
                structuredContent=result.data if self._structured else None,
                isError=result.failed,
            )
        )

    def _progress(self) -> OnProgress | None:
        """Return a function that forwards the daemon's progress; None if the client didn't request it."""
        context = self.server.request_context
        token = context.meta.progressToken if context.meta is not None else None
        if token is None:
            return None
        steps = ProgressSteps()

        async def forward(progress: Any) -> None:
            step = steps.next(progress)
            if step is not None:
                await context.session.send_progress_notification(token, *step)

        return forward

    async def _list_resources(self, request: types.ListResourcesRequest) -> types.ServerResult:
        cursor = request.params.cursor if request.params is not None else None
        try:
            files, following = await resources.page_of(self._scope, cursor)
        except MemdError as error:
            raise _protocol_error(error) from None
        listed = [_resource(file) for file in files]
        return types.ServerResult(types.ListResourcesResult(resources=listed, nextCursor=following))

    async def _list_templates(self, request: types.ListResourceTemplatesRequest) -> types.ServerResult:
        template = types.ResourceTemplate(
            name="memory-file",
            title="A memory file",
            uriTemplate=resources.template_of(self._scope.agent),
            description="A Markdown file in an agent's memory, by its path from memory_search.",
            mimeType=resources.MIME_TYPE,
        )
        return types.ServerResult(types.ListResourceTemplatesResult(resourceTemplates=[template]))

    async def _read_resource(self, request: types.ReadResourceRequest) -> types.ServerResult:
        uri = request.params.uri
        try:
            text = await resources.text_of(self._scope, *resources.parse_uri(self._scope, str(uri)))
        except MemdError as error:
            raise _protocol_error(error) from None
        contents = types.TextResourceContents(uri=uri, mimeType=resources.MIME_TYPE, text=text)
        return types.ServerResult(types.ReadResourceResult(contents=[contents]))

    async def _subscribe(self, request: types.SubscribeRequest) -> types.ServerResult:
        try:
            await self._subscriptions.add(*resources.parse_uri(self._scope, str(request.params.uri)))
        except MemdError as error:
            raise _protocol_error(error) from None
        self._session = self.server.request_context.session
        return types.ServerResult(types.EmptyResult())

    async def _unsubscribe(self, request: types.UnsubscribeRequest) -> types.ServerResult:
        try:
            self._subscriptions.remove(*resources.parse_uri(self._scope, str(request.params.uri)))
        except MemdError as error:
            raise _protocol_error(error) from None
        return types.ServerResult(types.EmptyResult())


def _shown(tool: Tool, input_schema: dict[str, Any], *, structured: bool) -> types.Tool:
    """Return a tool as a type of the protocol."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        inputSchema=input_schema,
        outputSchema=tool.output_schema() if structured else None,
        annotations=types.ToolAnnotations(
            title=tool.title,
            readOnlyHint=not tool.writes,
            destructiveHint=tool.removes,
            idempotentHint=tool.repeatable,
            openWorldHint=False,
        ),
    )


def _resource(file: resources.MemoryFile) -> types.Resource:
    """Return a file as a type of the protocol."""
    return types.Resource(
        uri=AnyUrl(file.uri),
        name=on_one_line(file.row.path),
        title=on_one_line(file.row.title) or None,
        description=f"Memory of agent {on_one_line(file.agent)}",
        mimeType=resources.MIME_TYPE,
        size=file.row.size_bytes,
    )


def _protocol_error(error: MemdError) -> McpError:
    """Return an error of memd as an error of the protocol."""
    code = NOT_FOUND
    if isinstance(error, BadParamsError):
        code = types.INVALID_PARAMS
    elif isinstance(error, DaemonUnreachableError):
        code = types.INTERNAL_ERROR
    return McpError(types.ErrorData(code=code, message=error_text(error), data={"code": error.wire_code}))
