"""Requests of the page's script, forwarded to the daemon over its socket like those of any client.

A session of one agent can only request that agent, and gets no data of others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import trio

from memd_client.errors import AgentUnknownError, BadParamsError, MemdError, MethodUnknownError
from memd_client.events import Event
from memd_client.messages import PROGRESS_TIMEOUT_S, REQUESTS
from memd_client.prepared_request import PreparedRequest
from memd_client.schema import to_wire
from memd_client.trio import TrioClient

OFFERED = frozenset(
    (
        "status search search_agents get files conversations conversation_read sources facts memory_recall"
        " memory_store memory_edit memory_forget metrics index usage"
    ).split()
)
"""The requests that the page may send."""

OF_ALL = frozenset({"metrics"})
"""Of these, requests without an agent."""

OF_SEVERAL = frozenset({"search_agents"})
"""Of these, requests to several agents: a session of one agent may not send them."""

WRITING = frozenset({"memory_store", "memory_edit", "memory_forget"})
"""Of these, requests that must not be executed twice."""

SHARED = ("problems", "accounts", "downloads")
"""Fields of a status about all agents together, which a page of one agent doesn't get."""


class _Plain(PreparedRequest[Any]):
    """A request whose reply stays a map."""

    def parse_reply(self, result: Any) -> Any:
        """Return a reply unchanged."""
        return result


class Gateway:
    """The page's access to the daemon."""

    def __init__(self, client: TrioClient) -> None:
        self._client = client

    async def ask(self, agent: str | None, request: str, body: bytes) -> Any:
        """Return the daemon's reply."""
        if request not in OFFERED:
            raise MethodUnknownError(f"the page can't send the request {request[:60]!r}")
        params = narrowed(agent, request, _params_of(body))
        is_long = request == "index"
        reply = await self._client.request(
            _Plain(
                request,
                params,
                REQUESTS[request].reply,
                min_timeout_s=PROGRESS_TIMEOUT_S if is_long else 0.0,
                renews_deadline=is_long,
                uses_client_agent=False,
                repeatable=request not in WRITING,
            )
        )
        return reply if agent is None else without_others(agent, request, reply)

    async def agents(self) -> list[str]:
        """Return the ids of all agents."""
        reply = await self.ask(None, "status", b"{}")
        return [row["agent"] for row in reply["agents"]]

    @asynccontextmanager
    async def events(self, agent: str | None) -> AsyncIterator[trio.MemoryReceiveChannel[Event]]:
        """Yield the daemon's events inside the block; they end with the connection to the daemon."""
        send, receive = trio.open_memory_channel[Event](0)

        async def follow() -> None:
            async with send, self._client.subscribe(agent) as events:
                try:
                    async for event in events:
                        await send.send(event)
                except (MemdError, trio.BrokenResourceError):
                    return

        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow)
            async with receive:
                yield receive
            nursery.cancel_scope.cancel()


def _params_of(body: bytes) -> dict[str, Any]:
    """Return a request's parameters."""
    try:
        params = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadParamsError(f"the body is not JSON: {str(error)[:100]}") from None
    if not isinstance(params, dict):
        raise BadParamsError("the body must be a JSON map of parameters")
    return params


def narrowed(agent: str | None, request: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters that name no other agent than the session's, and delete no copies."""
    if request == "sources":
        params = {"agent": params.get("agent")}
    if agent is None or request in OF_ALL:
        return params
    if request in OF_SEVERAL or params.get("agent") not in (None, agent):
        raise AgentUnknownError(
            f"this page shows only agent {agent}", hint="run `memctl web` without --agent to see all agents"
        )
    return {**params, "agent": agent}


def without_others(agent: str, request: str, reply: dict[str, Any]) -> dict[str, Any]:
    """Return a reply without data of other agents."""
    if request == "status":
        return {**reply, **{name: [] for name in SHARED}}
    if request == "sources":
        own = [{**row, "agents": [agent]} for row in reply["programs"] if agent in row["agents"]]
        removed = [row for row in reply["removed"] if row["agent"] == agent]
        return {**reply, "found": [], "excluded": [], "removed": removed, "programs": own}
    if request == "metrics":
        return {**reply, "metrics": [_of_agent(agent, metric) for metric in reply["metrics"]]}
    return reply


def _of_agent(agent: str, metric: dict[str, Any]) -> dict[str, Any]:
    """Return a metric without the values of other agents."""
    kept = {
        name: [row for row in metric[name] if row["labels"].get("agent", agent) == agent]
        for name in ("samples", "histograms")
    }
    return {**metric, **kept}


def event_lines(event: Event) -> bytes:
    """Return an event in the format of an event stream."""
    document = to_wire(event)
    del document["id"]
    return b"event: " + event.kind.encode() + b"\ndata: " + msgspec.json.encode(document) + b"\n\n"
