"""An agent's memory tools: their definitions, their calls, and their section of the system prompt."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, cast

import msgspec

from memd.agents.agent import Agent
from memd.lifecycle.notes.session_kinds import settle_kind, wants_citations
from memd.lifecycle.tools.arguments import InvalidCall, invalid_call, read_arguments, unknown_tool
from memd.lifecycle.tools.arguments import RunTool as RunTool
from memd.lifecycle.tools.definitions import (
    DEFAULT_TOOLS,
    GET,
    SEARCH,
    SESSION_TOOLS,
    TOOLS,
    Shape,
    define,
    recall_section,
)
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.settings.lifecycle import Citations
from memd.settings.sources import BUILT_IN_SOURCES
from memd.system.untrusted import names_in_json, on_one_line, show_unseen
from memd_client.errors import FileMissingError, FileUnreadableError, PathRefusedError
from memd_client.escaping import NOTICE, mark_outside, text_of_get
from memd_client.hit_text import NO_STRONG_MATCH, are_all_weak, row_of_hit
from memd_client.locations import split_location
from memd_client.messages import GetParams, SearchParams, SearchReply
from memd_client.tooling import (
    DEFAULT_SEARCH_CHARS,
    CallToolParams,
    CallToolReply,
    PromptSectionParams,
    PromptSectionReply,
    ToolsParams,
    ToolsReply,
)

MAX_TEXT_CHARS = 50_000
"""Characters of a file per result: about 12,000 tokens. The result names the line to continue from."""

MAX_REASON_CHARS = 400
"""Longest reason of an empty result."""

MAX_LINE = 2**31 - 1
"""The largest line number."""

_UNAVAILABLE: dict[str, dict[str, Any]] = {
    OPENCLAW_SOURCE: {
        "disabled": True,
        "unavailable": True,
        "error": "transcripts are not searched for this agent",
        "warning": "Past conversations can't be searched for this agent.",
        "action": "Tell the user. To search them, set memory.search.experimental.sessionMemory to true and add "
        f'"{OPENCLAW_SOURCE}" to memory.search.sources.',
    },
    "wiki": {
        "corpora": [{"corpus": "wiki", "outcome": "not-registered"}],
        "warning": "No wiki is registered; nothing was searched.",
    },
}
"""Fields of the result of a search in an unavailable corpus, besides its empty results."""


async def search_memory(
    agent: Agent,
    arguments: dict[str, Any],
    *,
    citations: bool,
    deadline_ms: int | None,
    active_projects: list[str] | None = None,
    session_key: str = "",
    recall: bool = False,
) -> dict[str, Any]:
    """Return the result of `memory_search`."""
    corpus, settings = arguments.get("corpus"), agent.config.settings
    available = settings.sources if recall else settings.searched_sources or settings.sources
    if corpus == "wiki" or (corpus == OPENCLAW_SOURCE and corpus not in available):
        return {"results": [], **_UNAVAILABLE[corpus]}
    indexed = [*available, *(each.name for each in agent.config.sources)] if recall else None
    reply = await agent.search(
        SearchParams(
            query=arguments["query"],
            max_results=arguments.get("maxResults", _max_results(agent)),
            max_chars=arguments.get("maxChars", DEFAULT_SEARCH_CHARS),
            min_score=arguments.get("minScore"),
            sources=[corpus] if corpus in BUILT_IN_SOURCES else indexed,
            deadline_ms=deadline_ms,
            active_projects=active_projects,
            exclude_session=session_key or None,
            limit_weak=True,
            origins=[arguments["origin"]] if "origin" in arguments else None,
        )
    )
    return _search_answer(reply, citations=citations)


async def get_lines(
    agent: Agent, arguments: dict[str, Any], *, include_conversations: bool = False
) -> dict[str, Any] | InvalidCall:
    """Return the result of `memory_get`."""
    path, first, lines = _read_location(arguments)
    missing = {"status": "not_found", "path": path, "text": ""}
    if arguments.get("corpus") == "wiki":
        return missing  # the daemon has no wiki; OpenClaw's plugin reads wikis
    try:
        reply = await agent.get(GetParams(path, None, first, lines, include_conversations))
    except FileMissingError as error:
        import html  # 0.4 MB of names, which an idle daemon doesn't need

        if (written := html.unescape(path)) != path:  # as a name is escaped in texts for models
            arguments = {**arguments, "path": written}
            return await get_lines(agent, arguments, include_conversations=include_conversations)
        reason = f"{error.message}; {error.hint}"
        return {**missing, "reason": on_one_line(reason, MAX_REASON_CHARS)}
    except (FileUnreadableError, PathRefusedError) as error:
        return _refused(path, error)
    path, text, count = reply.path, reply.text, reply.lines
    if len(text) > MAX_TEXT_CHARS:
        end = text.rfind("\n", 0, MAX_TEXT_CHARS + 1)
        text = text[: end if end > 0 else MAX_TEXT_CHARS]
        count = text.count("\n") + 1
    answer = {
        "path": path,
        "text": text,
        "from": reply.from_line,
        "lines": count,
        "total_lines": reply.total_lines,
    }
    answer["text"] = text_of_get(reply, text)
    if answer["text"] != text:
        answer = {"notice": NOTICE, **answer}
    if reply.truncated or count < reply.lines or len(text) < len(reply.text):
        numbers = [*reply.line_numbers, reply.total_lines + 1]
        next_from = numbers[count] if reply.line_numbers else reply.from_line + count
        answer |= {"truncated": True, "next_from": next_from}
    elif not count:
        lines_there = "1 line" if reply.total_lines == 1 else f"{reply.total_lines} lines"
        answer["reason"] = f"The file has {lines_there}." if reply.total_lines else "The file is empty."
    return answer


def as_json(result: dict[str, Any]) -> str:
    r"""Return a result as JSON for a model.

    Characters that are invisible or change the direction of text are escaped, as in `\u202e`.
    """
    return names_in_json(show_unseen(msgspec.json.encode(result).decode()))


def _search_answer(reply: SearchReply, *, citations: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "results": [row_of_hit(hit) for hit in reply.hits],
        "provider": reply.provider,
        "model": reply.model,
        "fallback": None,
        "mode": reply.mode,
        "citations": "on" if citations else "off",
    }
    if reply.fallback is not None:
        answer["fallback"] = {"from": reply.fallback.provider, "reason": reply.fallback.reason}
    if reply.degraded is not None:
        degraded = reply.degraded
        answer["degraded"] = {"code": degraded.code, "reason": degraded.reason, "hint": degraded.hint}
    if are_all_weak(reply.hits):
        answer["note"] = NO_STRONG_MATCH
    if reply.abstained:
        answer["abstained"] = True
    if reply.empty is not None:
        reason = f"{reply.empty.message} {reply.empty.hint}".replace("min_score", "minScore")
        answer["reason"] = on_one_line(reason, MAX_REASON_CHARS)
    return answer


def _max_results(agent: Agent) -> int | None:
    """Return the most results of a search by its agent's settings; None: as many as fit."""
    query = agent.config.settings.query
    return query.max_results if query.max_results_set else None


def _read_location(arguments: dict[str, Any]) -> tuple[str, int, int | None]:
    path, first, lines = arguments["path"].strip(), arguments.get("from"), arguments.get("lines")
    with suppress(ValueError):
        path, *cited = split_location(path)  # models pass citations as paths
        first, lines = cited if first is None and lines is None else (first, lines)
    return path, min(first or 1, MAX_LINE), None if lines is None else min(lines, MAX_LINE)


def _refused(path: str, error: FileUnreadableError | PathRefusedError) -> InvalidCall:
    """Return why a file can't be read, with the expected paths."""
    expected = "a path from memory_search: MEMORY.md, USER.md or a Markdown file below memory/"
    if path.startswith("sessions/"):
        expected = "the path of a note; transcripts can't be read with memory_get"
    return invalid_call(GET, f"memory_get: {on_one_line(error.message, 300)}", expected)


_NO_OTHERS: Mapping[str, RunTool] = MappingProxyType({})


class Tools:
    """The tools of one agent."""

    def __init__(self, agent: Agent, others: Mapping[str, RunTool] = _NO_OTHERS) -> None:
        self._agent = agent
        self._others = others

    def __repr__(self) -> str:
        return f"<Tools {self._agent.agent_id}: {', '.join(self.available()) or 'none'}>"

    def available(self) -> list[str]:
        """Return the names of the available tools; none if the agent's memory is turned off."""
        if not self._agent.config.settings.enabled:
            return []
        return [name for name in TOOLS if name in DEFAULT_TOOLS or name in self._others]

    def definitions(self, params: ToolsParams) -> ToolsReply:
        """Return the definitions of the requested tools that are available."""
        wanted = DEFAULT_TOOLS if params.include is None else params.include
        names = set(wanted) & set(self.available())
        return ToolsReply(self._agent.agent_id, params.shape, define(names, cast(Shape, params.shape)))

    async def call(self, params: CallToolParams) -> CallToolReply:
        """Execute a model's call; the result of an invalid call describes a valid one."""
        result = await self._run(params)
        ok = not isinstance(result, InvalidCall)
        facts = result.answer() if isinstance(result, InvalidCall) else mark_outside(result)
        return CallToolReply(self._agent.agent_id, params.name, ok, facts, as_json(facts))

    async def _run(self, params: CallToolParams) -> dict[str, Any] | InvalidCall:
        available = self.available()
        if params.name not in available:
            return unknown_tool(params.name, available)
        arguments = read_arguments(TOOLS[params.name], params.arguments)
        if isinstance(arguments, InvalidCall):
            return arguments
        if params.name == SEARCH.name:
            citations = self._citations(None, params.session_kind, params.session_key)
            return await search_memory(
                self._agent,
                arguments,
                citations=citations,
                deadline_ms=params.deadline_ms,
                active_projects=params.active_projects,
                session_key=params.session_key,
                recall=params.recall,
            )
        if params.name == GET.name:
            may_read = params.include_conversations
            return await get_lines(self._agent, arguments, include_conversations=may_read)
        return await self._others[params.name](arguments)

    def prompt_section(self, params: PromptSectionParams) -> PromptSectionReply:
        """Return the section of the system prompt about the model's tools."""
        citations = self._citations(params.citations, params.session_kind, params.session_key)
        available = self.available()
        tools = DEFAULT_TOOLS if params.tools is None else params.tools
        session_tools = SESSION_TOOLS if available else ()
        names = [name for name in (*available, *session_tools) if name in tools]
        text = recall_section(names, citations=citations)
        return PromptSectionReply(self._agent.agent_id, text, "on" if citations else "off")

    def _citations(self, mode: str | None, kind: str | None, session_key: str) -> bool:
        """Return whether replies of a session cite their sources."""
        settled = settle_kind(kind, session_key, self._agent.agent_id)
        wanted = cast(Citations, mode or self._agent.config.life.citations)
        return wants_citations(wanted, settled)
