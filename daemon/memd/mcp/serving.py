"""The MCP server of one client, on standard input and output. Besides it only `relay` knows the SDK."""

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
from memd.mcp.calls import OnProgress, ProgressSteps, carry_out
from memd.mcp.definitions import INSTRUCTIONS, TOOLS, Tool
from memd.mcp.reach import Reach
from memd.mcp.readable import say_error
from memd.mcp.relay import relay
from memd.mcp.resources import ResourceSubscriptions
from memd.system.line_writer import EXIT_DRAIN_S, LineWriter, QueuedText
from memd_client.aio import Client
from memd_client.errors import BadParamsError, DaemonUnreachableError, MemdError
from memd_client.session import CLIENT_VERSION

Handler = Callable[[Any], Awaitable[types.ServerResult]]

NAME = "memd"

NOT_FOUND = -32002
"""The protocol's code for a resource that isn't there."""

KNOWN = (
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
    """Serve the client at the other end of standard input and output until it hangs up.

    What anything else prints meanwhile goes to standard error: the output is the protocol's.
    """
    logging.disable(logging.CRITICAL)  # the SDK logs requests it can't read, and memory is in them
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread waits for input, and would be waited for
    _queue_stderr()
    try:
        asyncio.run(_serve(agent, autostart, structured=structured))
    except* BrokenPipeError:
        pass  # the client reads no more: it is gone


async def _serve(agent: str | None, autostart: bool, *, structured: bool) -> None:
    output = _own_output()
    async with Client(autostart=autostart) as client, Client() as watcher:
        served = MemoryServer(Reach(client, agent), ResourceSubscriptions(watcher), structured=structured)
        async with stdio_server(stdout=anyio.wrap_file(output)) as (incoming, outgoing):
            checked, relayed = anyio.create_memory_object_stream[Any](0)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(relay, incoming, checked, outgoing.clone(), KNOWN)
                tasks.start_soon(served.tell_of_changes)
                await served.server.run(relayed, outgoing, served.introduction())
                tasks.cancel_scope.cancel()


def _queue_stderr() -> None:
    """Let no write to standard error wait: many clients start servers and never read what they say there."""
    writer = LineWriter(2)
    sys.stderr = cast(TextIO, QueuedText(lambda text: writer.put(text.encode("utf-8", "backslashreplace"))))
    atexit.register(writer.drain, EXIT_DRAIN_S)


def _own_output() -> TextIOWrapper:
    """Return standard output for the protocol alone; whatever else is written there is led to standard error."""
    own = os.dup(1)
    os.dup2(2, 1)
    return TextIOWrapper(os.fdopen(own, "wb"), encoding="utf-8")


class MemoryServer:
    """What the SDK's server answers with."""

    def __init__(
        self, reach: Reach, subscriptions: ResourceSubscriptions, *, structured: bool = False
    ) -> None:
        self._structured = structured
        self._reach = reach
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
        return f"<MemoryServer {self._reach!r}, {self._subscriptions!r}>"

    def introduction(self) -> InitializationOptions:
        """Return what a client is told at its start."""
        return InitializationOptions(
            server_name=NAME,
            server_version=CLIENT_VERSION,
            capabilities=types.ServerCapabilities(
                tools=types.ToolsCapability(listChanged=False),
                resources=types.ResourcesCapability(subscribe=True, listChanged=False),
            ),
            instructions=INSTRUCTIONS,
        )

    async def tell_of_changes(self) -> None:
        """Tell the client of files it subscribed to, until this is cancelled."""
        await self._subscriptions.run(self._tell)

    async def _tell(self, address: str) -> None:
        if self._session is not None:
            with contextlib.suppress(
                anyio.ClosedResourceError, anyio.BrokenResourceError
            ):  # it is hanging up
                await self._session.send_resource_updated(AnyUrl(address))

    async def _list_tools(self, request: types.ListToolsRequest) -> types.ServerResult:
        agents = await self._reach.agents_or_none()
        fixed = self._reach.agent is not None
        shown = [
            _shown(tool, tool.input_schema(agents, fixed=fixed), structured=self._structured)
            for tool in TOOLS.values()
        ]
        return types.ServerResult(types.ListToolsResult(tools=shown))

    async def _call_tool(self, request: types.CallToolRequest) -> types.ServerResult:
        params = request.params
        outcome = await carry_out(self._reach, params.name, params.arguments or {}, self._progress())
        return types.ServerResult(
            types.CallToolResult(
                content=[types.TextContent(type="text", text=outcome.text)],
                structuredContent=outcome.data if self._structured else None,
                isError=outcome.failed,
            )
        )

    def _progress(self) -> OnProgress | None:
        """Return what hands the daemon's progress on; None where the client doesn't ask for it."""
        context = self.server.request_context
        token = context.meta.progressToken if context.meta is not None else None
        if token is None:
            return None
        steps = ProgressSteps()

        async def tell(progress: Any) -> None:
            step = steps.next(progress)
            if step is not None:
                await context.session.send_progress_notification(token, *step)

        return tell

    async def _list_resources(self, request: types.ListResourcesRequest) -> types.ServerResult:
        cursor = request.params.cursor if request.params is not None else None
        try:
            files, following = await resources.page_of(self._reach, cursor)
        except MemdError as error:
            raise _protocol_error(error) from None
        listed = [_resource(file) for file in files]
        return types.ServerResult(types.ListResourcesResult(resources=listed, nextCursor=following))

    async def _list_templates(self, request: types.ListResourceTemplatesRequest) -> types.ServerResult:
        template = types.ResourceTemplate(
            name="memory-file",
            title="A memory file",
            uriTemplate=resources.template_of(self._reach.agent),
            description="A Markdown file of an agent's memory, by its path as memory_search names it.",
            mimeType=resources.MIME_TYPE,
        )
        return types.ServerResult(types.ListResourceTemplatesResult(resourceTemplates=[template]))

    async def _read_resource(self, request: types.ReadResourceRequest) -> types.ServerResult:
        uri = request.params.uri
        try:
            text = await resources.text_of(self._reach, *resources.place_of(self._reach, str(uri)))
        except MemdError as error:
            raise _protocol_error(error) from None
        contents = types.TextResourceContents(uri=uri, mimeType=resources.MIME_TYPE, text=text)
        return types.ServerResult(types.ReadResourceResult(contents=[contents]))

    async def _subscribe(self, request: types.SubscribeRequest) -> types.ServerResult:
        try:
            await self._subscriptions.add(*resources.place_of(self._reach, str(request.params.uri)))
        except MemdError as error:
            raise _protocol_error(error) from None
        self._session = self.server.request_context.session
        return types.ServerResult(types.EmptyResult())

    async def _unsubscribe(self, request: types.UnsubscribeRequest) -> types.ServerResult:
        try:
            self._subscriptions.remove(*resources.place_of(self._reach, str(request.params.uri)))
        except MemdError as error:
            raise _protocol_error(error) from None
        return types.ServerResult(types.EmptyResult())


def _shown(tool: Tool, input_schema: dict[str, Any], *, structured: bool) -> types.Tool:
    """Return a tool as the protocol has it."""
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
    """Return a file as the protocol has it."""
    return types.Resource(
        uri=AnyUrl(file.address),
        name=file.row.path,
        title=file.row.title or None,
        description=f"Memory of agent {file.agent}",
        mimeType=resources.MIME_TYPE,
        size=file.row.size_bytes,
    )


def _protocol_error(error: MemdError) -> McpError:
    """Return an error of memory as one of the protocol."""
    code = NOT_FOUND
    if isinstance(error, BadParamsError):
        code = types.INVALID_PARAMS
    elif isinstance(error, DaemonUnreachableError):
        code = types.INTERNAL_ERROR
    return McpError(types.ErrorData(code=code, message=say_error(error), data={"code": error.wire_code}))
