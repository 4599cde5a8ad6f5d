"""A model's calls of `memory_search` and `memory_get`, carried out, with answers of OpenClaw's shape."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from memd.lifecycle.files.visible import on_one_line, show_unseen
from memd.lifecycle.host import Host
from memd.lifecycle.tools.arguments import Wrong, wrong
from memd.lifecycle.tools.definitions import GET, SEARCH
from memd_client.errors import FileMissingError, FileUnreadableError, PathRefusedError, QueryEmptyError
from memd_client.messages import GetParams, Hit, SearchParams, SearchReply

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
"""What a search answers in a corpus that isn't there, beside its empty results."""

_PLACE = re.compile(r"(?P<path>.+\.md)#L(?P<first>[0-9]{1,9})(?:-L?(?P<last>[0-9]{1,9}))?", re.IGNORECASE)
"""A citation: models hand it back as a path."""


async def search(
    host: Host,
    arguments: dict[str, Any],
    *,
    citations: bool,
    deadline_ms: int | None,
    active_projects: list[str] | None = None,
    session_key: str = "",
) -> dict[str, Any] | Wrong:
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
        return wrong(SEARCH, "memory_search: `query` holds no word", "a question or a few telling words")
    return _found(reply, citations=citations)


async def get(host: Host, arguments: dict[str, Any]) -> dict[str, Any] | Wrong:
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
    """Return a search's reply in the tool's shape."""
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
    """Return the path, the first line and how many lines are wanted."""
    path, first, lines = arguments["path"].strip(), arguments.get("from"), arguments.get("lines")
    cited = _PLACE.fullmatch(path)
    if cited is not None:
        path = cited["path"]
        if first is None and lines is None:
            first = max(1, int(cited["first"]))
            lines = max(1, int(cited["last"] or first) - first + 1)
    return path, min(first or 1, MOST_LINE), None if lines is None else min(lines, MOST_LINE)


def _refused(path: str, error: FileUnreadableError | PathRefusedError) -> Wrong:
    """Return why a file can't be read, so that a model asks for another one."""
    expected = "a path as memory_search names it: MEMORY.md, USER.md or a Markdown file below memory/"
    if path.startswith("sessions/"):
        expected = "a note's path; of a transcript there is only what memory_search shows"
    return wrong(GET, f"memory_get: {on_one_line(error.message, 300)}", expected)
