"""One recall: a search or an added text, as it is logged. Pure functions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from memd_client.facts import FactsForPromptReply, MemoryRecallReply
from memd_client.locations import citation
from memd_client.messages import (
    CallToolReply,
    ConversationSearchReply,
    SearchAgentsReply,
    SearchReply,
    SessionStartedReply,
)
from memd_client.usage import MCP_CLIENT, MEASURING

MAX_SHOWN, MAX_NAME_CHARS = 20, 200
"""Hits that are logged of one recall, and the longest name of a program or session: both come from the client."""

_WAYS: dict[type, str] = {CallToolReply: "tool", FactsForPromptReply: "prompt", SessionStartedReply: "start"}


class Shown(Struct, frozen=True, array_like=True, omit_defaults=True):
    """One hit or line that was shown: its citation, the agent, `strong` or `weak`, and its characters."""

    place: str
    agent: str
    relevance: str = "strong"
    chars: int = 0


class Recall(Struct, omit_defaults=True):
    """What is logged of one recall. `id` is its time in microseconds, and unique.

    `event`, `decision`, `candidate` and `lacks` are those of a hook. `used` lists which of `shown` the next answer
    likely used; None: not judged. An entry without a way adds `used` to an earlier one.
    """

    id: int = 0
    way: str = ""
    program: str = ""
    session: str = ""
    agents: tuple[str, ...] = ()
    query: str = ""
    shown: tuple[Shown, ...] = ()
    event: str = ""
    decision: str = ""
    chars: int = 0
    candidate: str = ""
    lacks: str = ""
    used: tuple[int, ...] | None = None

    @property
    def time_ms(self) -> int:
        """When it was, epoch ms."""
        return self.id // 1000

    @property
    def outcome(self) -> str:
        """Whether it showed a `strong` hit, only `weak` ones, or `none`."""
        relevances = {shown.relevance for shown in self.shown}
        return "strong" if "strong" in relevances else "weak" if relevances else "none"


def recall_of(params: Any, reply: Any, client: str) -> Recall | None:
    """Return the recall of a request and its reply; None if the request recalls nothing."""
    rows, caller = _rows_of(reply), getattr(params, "caller", "")
    query = _query_of(params)
    is_list = isinstance(reply, MemoryRecallReply) and not query
    if rows is None or is_list or caller == MEASURING:
        return None
    way = "mcp" if client == MCP_CLIENT else _WAYS.get(type(reply), "search")
    agents = [row.agent for row in reply.agents] if isinstance(reply, SearchAgentsReply) else [reply.agent]
    session = str(getattr(params, "exclude_session", None) or getattr(params, "session_key", ""))
    return Recall(
        way=way,
        program=(caller or client)[:MAX_NAME_CHARS],
        session=session[:MAX_NAME_CHARS],
        agents=tuple(agents),
        query=query,
        shown=tuple(Shown(place, of or agents[0], *facts) for place, of, *facts in rows[:MAX_SHOWN]),
    )


def _query_of(params: Any) -> str:
    arguments = getattr(params, "arguments", None)
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = msgspec.json.decode(arguments)
    query = arguments.get("query") if isinstance(arguments, dict) else None
    return str(query or getattr(params, "query", "") or getattr(params, "prompt", ""))


def _rows_of(reply: Any) -> list[tuple[Any, ...]] | None:
    """Return what a reply shows: citation, agent if the reply has several, relevance, and characters."""
    match reply:
        case SearchReply(hits=hits) | SearchAgentsReply(hits=hits):
            return [(hit.citation, hit.agent, hit.relevance, len(hit.snippet)) for hit in hits]
        case ConversationSearchReply(conversations=conversations):
            return [
                (f"{one.path}#L{excerpt.line}", None, one.relevance, len(excerpt.text))
                for one in conversations
                for excerpt in one.excerpts
            ]
        case MemoryRecallReply(facts=facts) | FactsForPromptReply(facts=facts):
            return [(f"{fact.path}#L{fact.line}", None, "strong", len(fact.text)) for fact in facts]
        case SessionStartedReply(files=files):
            return [(file.path, None, "strong", file.characters) for file in files if file.characters]
        case CallToolReply(ok=True, result={"results": results}):
            return [
                (
                    citation(row["path"], row["startLine"], row["endLine"]),
                    None,
                    row.get("relevance", "strong"),
                    len(row["snippet"]),
                )
                for row in results
            ]
        case CallToolReply(ok=True, result={"facts": facts}):
            return [(f"{row['path']}#L{row['line']}", None, "strong", len(row["text"])) for row in facts]
    return None
