"""The list of an agent's conversations, newest first, with filters; and their sources and projects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath

from msgspec.structs import replace

from memd.agents.conversations import conversation_sources
from memd.index.transcripts import ConversationRow, SessionFacts, load_conversations
from memd.programs.catalog import KNOWN_SOURCES, PROGRAMS
from memd.programs.records import session_title
from memd.search.sessions import session_info
from memd.settings.agents import AgentConfig
from memd.system.sqlite import Database
from memd.text.query.since import parse_since, parse_until
from memd_client.messages import (
    ConversationGroup,
    ConversationsParams,
    ConversationsReply,
    ListedConversation,
)

MAX_PROJECTS = 500
"""Projects of one reply."""

_PROMPT = "User: "


def list_conversations(
    db: Database, config: AgentConfig, params: ConversationsParams, now_ms: int
) -> ConversationsReply:
    """Return one page of an agent's conversations, as they are indexed (blocking)."""
    programs = conversation_sources(config)
    titles = {
        source: KNOWN_SOURCES.get(name, PROGRAMS["openclaw"]).title for source, name in programs.items()
    }
    rows = load_conversations(db, programs, params.project or "")
    since = 0 if params.since is None else parse_since(params.since, now_ms) or 0
    until = None if params.until is None else parse_until(params.until, now_ms)
    words = params.title.casefold().split()
    matches = [
        row
        for row in rows
        if row.facts.updated_ms >= since
        and (until is None or (row.facts.started_ms or row.facts.updated_ms) < until)
        and (params.sources is None or row.facts.program in params.sources)
        and (params.project is None or row.is_in_project)
        and (not words or all(word in _title_of(row).casefold() for word in words))
    ]
    return ConversationsReply(
        agent=config.id,
        conversations=[
            ListedConversation(
                row.path,
                session_info(row.facts._replace(title=_title_of(row)), programs[row.facts.program]),
                row.messages,
                row.facts.started_ms or None,
                row.facts.updated_ms,
            )
            for row in matches[params.offset : params.offset + params.limit]
        ],
        total=len(matches),
        sources=_groups(rows, lambda facts: facts.program, titles.__getitem__),
        projects=_groups(rows, lambda facts: facts.project, lambda path: PurePath(path).name)[:MAX_PROJECTS],
        oldest_ms=min((row.facts.started_ms or row.facts.updated_ms for row in rows), default=None),
    )


def _title_of(row: ConversationRow) -> str:
    """Return the title of a conversation, or its first request."""
    prompts = (line.removeprefix(_PROMPT) for line in row.beginning.split("\n") if line.startswith(_PROMPT))
    return row.facts.title or session_title("", prompts)


def _groups(
    rows: Iterable[ConversationRow], name_of: Callable[[SessionFacts], str], title_of: Callable[[str], str]
) -> list[ConversationGroup]:
    """Return the number of rows by name, except those without one, in the order of the newest row of each."""
    groups: dict[str, ConversationGroup] = {}
    for row in rows:
        if name := name_of(row.facts):
            group = groups.get(name) or ConversationGroup(name, title_of(name), 0, row.facts.updated_ms)
            groups[name] = replace(group, conversations=group.conversations + 1)
    return list(groups.values())
