"""Request on recalls: what was searched and shown, to whom, and whether it was likely used.

A recall is one search or one text that a hook or a start-up context added. All times are milliseconds.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from memd_client.contents import FileEntry
from memd_client.limits import AgentId, Since, one_of
from memd_client.schema import Record

WAYS = ("search", "tool", "mcp", "prompt", "start")
"""How memory is recalled: by a search, a model's tool call, a tool call over MCP, or without a request, at a prompt or
at the start of a session."""

MCP_CLIENT, PAGE_CLIENT = "memd-mcp", "memd-page"
"""The names that memd's MCP server and its page give themselves in `hello`."""

MEASURING = "memctl eval"
"""The `caller` of searches that measure memory or try it out, which are not logged."""


class UsageParams(Record, frozen=True):
    """Return what was recalled and what was not found, or clear the log of it.

    Attributes:
        action: `show`, or `clear`: delete all entries of the log, or those of `agent`.
        since: Only recalls since a day (`2026-11-02`) or within a duration (`12h`, `7d`, `4w`); None: all that are
            logged.
        agent: Only recalls of this agent's memory; None: all agents.
        limit: The most rows of each list, 1 to 100.

    Returns:
        `recalls`, `days`, `often`, `never`, `never_total`, `unanswered`; for `clear`, `cleared`, the number of
        deleted entries.

    Raises:
        AgentUnknownError: No agent has that id.
        BadParamsError: A parameter is wrong.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    action: Annotated[str, one_of("show", "clear")] = "show"
    since: Since | None = None
    agent: AgentId | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class RecallDay(Record, frozen=True):
    """The recalls of one program on one day (UTC), by one way.

    Attributes:
        day: YYYY-MM-DD.
        program: The program, as it names itself.
        way: `search`, `tool` (a model's tool call), `mcp`, `prompt` (added to a prompt), `start` (start-up context) or
            `action` (added at a command or an edit).
        recalls: Number of recalls.
        strong: Of these, recalls with a strong hit or an added text.
        judged: Of these, recalls whose conversation memd has read.
        likely_used: Of these, recalls whose text the next answer likely used.
    """

    day: str
    program: str
    way: str
    recalls: int
    strong: int
    judged: int = 0
    likely_used: int = 0


class RecalledFile(Record, frozen=True):
    """A note or a conversation that was recalled.

    Attributes:
        agent: The agent in whose memory it is.
        path: Its path, as in a hit.
        recalls: How many recalls showed it.
        likely_used: After how many of them the next answer likely used it.
        last_ms: The last of them, epoch ms.
    """

    agent: str
    path: str
    recalls: int
    likely_used: int
    last_ms: int


class UnansweredQuery(Record, frozen=True):
    """Similar queries without a strong hit.

    Attributes:
        query: The newest of them, without secrets.
        count: How many there were.
        programs: The programs that sent them.
        last_ms: When the newest was sent, epoch ms.
    """

    query: str
    count: int
    programs: list[str]
    last_ms: int


class NeverRecalled(Record, frozen=True):
    """A note or a conversation that no logged recall has shown.

    Attributes:
        agent: The agent in whose memory it is.
        file: The file.
    """

    agent: str
    file: FileEntry


class UsageReply(Record, frozen=True):
    """What was recalled. `since_ms` is the first logged recall, or the start of the requested time if that is later.

    Attributes:
        is_on: Whether recalls are logged: the setting `recall_log`.
        recalls: Number of recalls.
        since_ms: Since when they are counted, epoch ms; 0: no recall is logged.
        days: Recalls by day, program and way, the newest day first.
        often: Notes and conversations that were recalled most often.
        never: The largest notes and conversations that were never recalled.
        never_total: How many were never recalled.
        unanswered: Queries without a strong hit, the most frequent first.
        cleared: Entries deleted by `clear`.
    """

    is_on: bool = True
    recalls: int = 0
    since_ms: int = 0
    days: list[RecallDay] = field(default_factory=list)
    often: list[RecalledFile] = field(default_factory=list)
    never: list[NeverRecalled] = field(default_factory=list)
    never_total: int = 0
    unanswered: list[UnansweredQuery] = field(default_factory=list)
    cleared: int = 0
