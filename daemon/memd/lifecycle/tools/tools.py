"""An agent's tools: which there are, what a model's call of one answers, and what its prompt says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

import msgspec

from memd.lifecycle.host import Host
from memd.lifecycle.notes.session_kinds import settle_kind, wants_citations
from memd.lifecycle.tools.arguments import InvalidCall, invalid_call, read_arguments, unknown_tool
from memd.lifecycle.tools.arguments import RunTool as RunTool
from memd.lifecycle.tools.definitions import (
    GET,
    SEARCH,
    SESSION_TOOLS,
    TOOLS,
    USUAL,
    Shape,
    define,
    recall_section,
)
from memd.lifecycle.tools.untrusted import on_one_line, show_unseen
from memd.settings.lifecycle import Citations
from memd.system.clock import Clock
from memd_client.errors import FileMissingError, FileUnreadableError, PathRefusedError, QueryEmptyError
from memd_client.messages import GetParams, Hit, SearchParams, SearchReply
from memd_client.tooling import (
    CallToolParams,
    CallToolReply,
    PromptSectionParams,
    PromptSectionReply,
    ToolsParams,
    ToolsReply,
)

MOST_TEXT_CHARS = 50_000
"""Characters of a file one answer holds: some 12,000 tokens. What follows has a line number to go on from."""

MAX_REASON_CHARS = 400
"""Characters of the reason of an answer that holds nothing."""

MOST_LINE = 2**31 - 1
"""No file has a line beyond it."""

_UNAVAILABLE: dict[str, dict[str, Any]] = {
    "sessions": {
        "disabled": True,
        "unavailable": True,
        "error": "transcripts are not indexed for this agent",
        "warning": "Past conversations can't be searched for this agent.",
        "action": "Tell the user. To index them, set memory.search.experimental.sessionMemory to true and add "
        '"sessions" to memory.search.sources.',
    },
    "wiki": {
        "corpora": [{"corpus": "wiki", "outcome": "not-registered"}],
        "warning": "No wiki is registered; nothing was searched.",
    },
}
"""What a search of an unavailable corpus answers besides its empty results."""

_PLACE = re.compile(r"(?P<path>.+\.md)#L(?P<first>[0-9]{1,9})(?:-L?(?P<last>[0-9]{1,9}))?", re.IGNORECASE)
"""A citation: models hand it back as a path."""


async def search_memory(
    host: Host,
    arguments: dict[str, Any],
    *,
    citations: bool,
    deadline_ms: int | None,
    active_projects: list[str] | None = None,
    session_key: str = "",
) -> dict[str, Any] | InvalidCall:
    """Return what `memory_search` answers."""
    corpus = arguments.get("corpus")
    if corpus == "wiki" or (corpus == "sessions" and corpus not in host.config.settings.sources):
        return {"results": [], **_UNAVAILABLE[corpus]}
    try:
        reply = await host.search(
            SearchParams(
                query=arguments["query"],
                max_results=arguments.get("maxResults"),
                min_score=arguments.get("minScore"),
                sources=[corpus] if corpus in ("memory", "sessions") else None,
                deadline_ms=deadline_ms,
                active_projects=active_projects,
                exclude_session=session_key or None,
            )
        )
    except QueryEmptyError:
        return invalid_call(
            SEARCH, "memory_search: `query` holds no word", "a question or a few telling words"
        )
    return _found(reply, citations=citations)


async def get_lines(host: Host, arguments: dict[str, Any]) -> dict[str, Any] | InvalidCall:
    """Return what `memory_get` answers."""
    path, first, lines = _place(arguments)
    missing = {"status": "not_found", "path": path, "text": ""}
    if arguments.get("corpus") == "wiki":
        return missing  # the daemon has no wiki; a plugin that knows one reads it itself
    try:
        reply = await host.get(GetParams(path=path, from_line=first, lines=lines))
    except FileMissingError as error:
        reason = f"{error.message[:1].upper()}{error.message[1:]}. {error.hint}"
        return {**missing, "reason": on_one_line(reason, MAX_REASON_CHARS)}
    except (FileUnreadableError, PathRefusedError) as error:
        return _refused(path, error)
    text, count = reply.text, reply.lines
    if len(text) > MOST_TEXT_CHARS:
        end = text.rfind("\n", 0, MOST_TEXT_CHARS + 1)
        text = text[: end if end > 0 else MOST_TEXT_CHARS]
        count = text.count("\n") + 1
    answer = {
        "path": path,
        "text": text,
        "from": reply.from_line,
        "lines": count,
        "total_lines": reply.total_lines,
    }
    if reply.truncated or count < reply.lines or len(text) < len(reply.text):
        answer |= {"truncated": True, "next_from": reply.from_line + count}
    elif not count:
        lines_there = "1 line" if reply.total_lines == 1 else f"{reply.total_lines} lines"
        answer["reason"] = f"The file has {lines_there}." if reply.total_lines else "The file is empty."
    return answer


def as_json(result: dict[str, Any]) -> str:
    r"""Return a result as the JSON a model reads; decoded it is the same.

    Letters stay letters; whatever shows nothing, or changes the direction of what is shown, is written as `\u202e`.
    """
    return show_unseen(msgspec.json.encode(result).decode())


def _found(reply: SearchReply, *, citations: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "results": [_row(hit) for hit in reply.hits],
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
    if reply.abstained:
        answer["abstained"] = True
    if reply.empty is not None:
        reason = f"{reply.empty.message} {reply.empty.hint}".replace("min_score", "minScore")
        answer["reason"] = on_one_line(reason, MAX_REASON_CHARS)
    return answer


def _row(hit: Hit) -> dict[str, Any]:
    """Return one hit in the tool's shape; its place is said once, since a model pays for each repetition."""
    return {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": round(hit.score, 4),
        "snippet": hit.snippet,
        "source": hit.source,
    }


def _place(arguments: dict[str, Any]) -> tuple[str, int, int | None]:
    path, first, lines = arguments["path"].strip(), arguments.get("from"), arguments.get("lines")
    cited = _PLACE.fullmatch(path)
    if cited is not None:
        path = cited["path"]
        if first is None and lines is None:
            first = max(1, int(cited["first"]))
            lines = max(1, int(cited["last"] or first) - first + 1)
    return path, min(first or 1, MOST_LINE), None if lines is None else min(lines, MOST_LINE)


def _refused(path: str, error: FileUnreadableError | PathRefusedError) -> InvalidCall:
    """Return why a file can't be read, so that a model asks for another one."""
    expected = "a path as memory_search names it: MEMORY.md, USER.md or a Markdown file below memory/"
    if path.startswith("sessions/"):
        expected = "a note's path; of a transcript there is only what memory_search shows"
    return invalid_call(GET, f"memory_get: {on_one_line(error.message, 300)}", expected)


_NO_OTHERS: Mapping[str, RunTool] = MappingProxyType({})


class Tools:
    """The tools of one agent."""

    def __init__(self, host: Host, clock: Clock, others: Mapping[str, RunTool] = _NO_OTHERS) -> None:
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
        ok = not isinstance(result, InvalidCall)
        facts = result.answer() if isinstance(result, InvalidCall) else result
        return CallToolReply(self._host.agent_id, params.name, ok, facts, as_json(facts))

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
                self._host,
                arguments,
                citations=citations,
                deadline_ms=params.deadline_ms,
                active_projects=params.active_projects,
                session_key=params.session_key,
            )
        if params.name == GET.name:
            return await get_lines(self._host, arguments)
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
