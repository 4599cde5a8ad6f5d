"""An agent's tools: which there are, what a call of one answers, and what its prompt says of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from memd.lifecycle.host import Host
from memd.lifecycle.notes.session_kinds import settle_kind
from memd.lifecycle.tools import calls as tool_calls
from memd.lifecycle.tools.arguments import Run as Run
from memd.lifecycle.tools.arguments import Wrong, read_arguments, unknown_tool
from memd.lifecycle.tools.citations import wants_citations
from memd.lifecycle.tools.definitions import GET, SEARCH, TOOLS, USUAL, Shape, define
from memd.lifecycle.tools.prompt import SESSION_TOOLS, recall_section
from memd.settings.lifecycle import Citations
from memd.system.clock import Clock
from memd_client.tooling import (
    CallToolParams,
    CallToolReply,
    PromptSectionParams,
    PromptSectionReply,
    ToolsParams,
    ToolsReply,
)

_NO_OTHERS: Mapping[str, Run] = MappingProxyType({})


class Tools:
    """The tools of one agent."""

    def __init__(self, host: Host, clock: Clock, others: Mapping[str, Run] = _NO_OTHERS) -> None:
        self._host = host
        self._clock = clock
        self._others = others

    def __repr__(self) -> str:
        return f"<Tools {self._host.agent_id}: {', '.join(self.available()) or 'none'}>"

    def available(self) -> list[str]:
        """Return the names of the tools a call may name; none where the agent's memory is turned off."""
        if not self._host.config.settings.enabled:
            return []
        return [name for name in TOOLS if name in USUAL or name in self._others]

    def definitions(self, params: ToolsParams) -> ToolsReply:
        """Return definitions of the tools that are wanted and available."""
        wanted = USUAL if params.include is None else params.include
        names = set(wanted) & set(self.available())
        return ToolsReply(self._host.agent_id, params.shape, define(names, cast(Shape, params.shape)))

    async def call(self, params: CallToolParams) -> CallToolReply:
        """Carry out a model's call. Whatever it wrote gets an answer; one that can't be carried out says what would
        be.
        """
        result = await self._run(params)
        ok = not isinstance(result, Wrong)
        facts = result.answer() if isinstance(result, Wrong) else result
        return CallToolReply(self._host.agent_id, params.name, ok, facts, tool_calls.as_json(facts))

    async def _run(self, params: CallToolParams) -> dict[str, Any] | Wrong:
        """Return what a call answers."""
        available = self.available()
        if params.name not in available:
            return unknown_tool(params.name, available)
        arguments = read_arguments(TOOLS[params.name], params.arguments)
        if isinstance(arguments, Wrong):
            return arguments
        if params.name == SEARCH.name:
            citations = self._citations(None, params.session_kind, params.session_key)
            return await tool_calls.search(
                self._host,
                arguments,
                citations=citations,
                deadline_ms=params.deadline_ms,
                active_projects=params.active_projects,
                session_key=params.session_key,
            )
        if params.name == GET.name:
            return await tool_calls.get(self._host, arguments)
        return await self._others[params.name](arguments)

    def prompt_section(self, params: PromptSectionParams) -> PromptSectionReply:
        """Return what the system prompt says of the tools the model has."""
        citations = self._citations(params.citations, params.session_kind, params.session_key)
        available = self.available()
        tools = USUAL if params.tools is None else params.tools
        beside = SESSION_TOOLS if available else ()
        text = recall_section([name for name in (*available, *beside) if name in tools], citations=citations)
        return PromptSectionReply(self._host.agent_id, text, "on" if citations else "off")

    def _citations(self, mode: str | None, kind: str | None, session_key: str) -> bool:
        """Return whether places are named in a session."""
        settled = settle_kind(kind, session_key, self._host.agent_id)
        wanted = cast(Citations, mode or self._host.config.life.citations)
        return wants_citations(wanted, settled)
