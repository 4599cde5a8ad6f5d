"""Conversations of an agent: sessions found by a search, and messages of one session."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress

import trio
from msgspec.structs import replace

from memd.agents.open_agent import OpenAgent
from memd.agents.origins import current_origins, origin_of
from memd.agents.source_status import describe_sources
from memd.index.housekeeping import compact
from memd.index.integrity.quarantine import remove_quarantined
from memd.index.transcripts import (
    NO_FACTS,
    SessionFacts,
    count_by_source,
    find_session,
    load_line_maps,
    load_session_facts,
    load_sessions,
)
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.programs.conversation import Conversation, Message, Session
from memd.programs.records import session_title
from memd.search.sessions import SPEAKERS, day_of, session_info
from memd.settings.agents import AgentConfig
from memd.sources.retained import RetainedConversations
from memd.sources.source import FileText, SourceFile
from memd.system.sqlite import Database
from memd.text.lines import lines_of
from memd.text.query.keywords import plan_match
from memd.text.query.word_forms import has_words
from memd.text.trust.origins import UNKNOWN
from memd_client.errors import FileMissingError
from memd_client.locations import split_location
from memd_client.messages import (
    ConversationReadParams,
    ConversationReadReply,
    ConversationSearchParams,
    ConversationSearchReply,
    Excerpt,
    FoundConversation,
    GetParams,
    GetReply,
    Hit,
    SearchParams,
    SearchReply,
    SessionInfo,
    SessionMessage,
    SourceStatus,
)

DEFAULT_SESSIONS = 5
HITS_PER_SESSION = 4
"""Hits requested for each session wanted: several of them are often in one session."""

MAX_EXCERPTS = 3
LINES_BEFORE, LINES_AFTER = 1, 2
"""Lines of an excerpt around the one that matches best."""

SYNC_WAIT_S = 5.0
"""How long a list of sessions waits for the sync of changes."""

MAX_READ_CHARS = 100_000
"""Most characters of the messages of one reply."""


def conversation_sources(config: AgentConfig) -> dict[str, str]:
    """Return the sources of an agent that are transcripts, each with its program; empty for OpenClaw's."""
    found = {each.name: each.program for each in config.sources if each.kind == "transcripts"}
    return found | ({OPENCLAW_SOURCE: ""} if OPENCLAW_SOURCE in config.settings.sources else {})


def as_search(params: ConversationSearchParams, conversations: Sequence[str]) -> SearchParams:
    """Return the search whose hits are grouped by session."""
    wanted = params.max_results or DEFAULT_SESSIONS
    return SearchParams(
        query=params.query,
        agent=params.agent,
        max_results=wanted * HITS_PER_SESSION,
        sources=[name for name in conversations if params.sources is None or name in params.sources],
        project=params.project,
        since=params.since,
        exclude_session=params.exclude_session,
        deadline_ms=params.deadline_ms,
        origins=params.origins,
        limit_weak=True,
    )


def group_by_session(
    params: ConversationSearchParams,
    reply: SearchReply,
    facts: Mapping[str, SessionFacts],
    line_maps: Mapping[str, Sequence[int]],
) -> ConversationSearchReply:
    """Return the sessions of hits, in the order of their best ones."""
    words = plan_match(params.query, ()).words
    sessions: dict[str, list[Hit]] = {}
    for hit in reply.hits:
        sessions.setdefault(hit.path, []).append(hit)
    found = [
        FoundConversation(
            session=hits[0].session or session_info(facts.get(path, NO_FACTS), ""),
            path=path,
            score=hits[0].score,
            relevance=hits[0].relevance,
            excerpts=[excerpt_of(hit, words, line_maps.get(path, ())) for hit in hits[:MAX_EXCERPTS]],
        )
        for path, hits in sessions.items()
    ]
    return ConversationSearchReply(
        agent=reply.agent,
        conversations=found[: params.max_results or DEFAULT_SESSIONS],
        took_ms=reply.took_ms,
        mode=reply.mode,
        degraded=reply.degraded,
        partial=reply.partial,
    )


def excerpt_of(hit: Hit, words: Sequence[str], line_map: Sequence[int]) -> Excerpt:
    """Return the line of a hit with most of a query's words, and the lines around it."""
    lines = hit.snippet.split("\n")
    counts = [sum(has_words(line, (word,)) for word in words) for line in lines]
    best = counts.index(max(counts))
    at = bisect_left(line_map, hit.start_line) + best
    return Excerpt(
        line_map[at] if at < len(line_map) else hit.start_line,
        "\n".join(lines[max(0, best - LINES_BEFORE) : best + LINES_AFTER + 1]),
        hit.session.date if hit.session is not None else "",
        hit.score,
        hit.origin,
        hit.origin_reason,
    )


async def search_conversations(
    config: AgentConfig, opened: OpenAgent, params: ConversationSearchParams
) -> ConversationSearchReply:
    """Return sessions from what is on disk now."""
    search = as_search(params, list(conversation_sources(config)))
    if not search.sources:
        return ConversationSearchReply(config.id, [], 0.0, "keyword")
    reply = await opened.search.search(search)
    paths = {hit.path for hit in reply.hits}
    facts, line_maps = await opened.index_file.read(
        lambda db: (load_session_facts(db, paths), load_line_maps(db, paths))
    )
    return group_by_session(params, reply, facts, line_maps)


async def read_conversation(
    config: AgentConfig, opened: OpenAgent, params: ConversationReadParams
) -> ConversationReadReply:
    """Return messages of a session as it is on disk now."""
    reply = await opened.index_file.read(lambda db: _read(config, opened, db, params))
    origins = (await current_origins(opened, [reply.path])).get(reply.path, UNKNOWN)
    judged = ((message, *origin_of(origins, message.number)) for message in reply.messages)
    return replace(
        reply, messages=[replace(row, origin=name, origin_reason=why) for row, name, why in judged]
    )


async def list_sessions(opened: OpenAgent) -> list[tuple[str, SessionFacts]]:
    """Return the sessions of other programs, the newest first; changes are indexed before, if that is done in time."""
    with trio.move_on_after(SYNC_WAIT_S):
        await opened.text.sync()
    return await opened.index_file.read(load_sessions)


async def load_work(opened: OpenAgent, path: str) -> Conversation:
    """Return a session as it is on disk now, with the agent's work; of a deleted one only the messages are left."""
    return await trio.to_thread.run_sync(_load_work, opened, path, limiter=opened.disk)


def _load_work(opened: OpenAgent, path: str) -> Conversation:
    found = opened.sources.find().files.get(path)
    if found is None:
        raise FileMissingError(f"{path} no longer exists", data={"path": path})
    conversation = opened.sources.load_work(found)
    if conversation is not None:
        return conversation
    conversation = Conversation(Session())
    for line in opened.sources.load(found).text.split("\n"):
        speaker, _, said = line.partition(": ")
        if said:
            conversation.messages.append(Message("user" if speaker == "User" else "assistant", said, 0))
    return conversation


def is_conversation(path: str, config: AgentConfig) -> bool:
    """Return whether a path is one of a conversation, or the id of a session: notes have an extension."""
    source, _, name = path.rpartition("/")
    is_one = "." not in name or source == OPENCLAW_SOURCE or source in conversation_sources(config)
    return is_one and not path.startswith("/")


async def list_sources(config: AgentConfig, opened: OpenAgent) -> list[SourceStatus]:
    """Return the status of an agent's sources of other programs."""
    counts = await opened.index_file.read(count_by_source)
    await opened.text.scan_in_thread()
    return describe_sources(config, opened, counts)


async def retained_copies(opened: OpenAgent, name: str) -> RetainedConversations | None:
    """Return the retained copies of a source after a scan of it; None if it retains none."""
    source = opened.sources.by_name.get(name)
    if not isinstance(source, RetainedConversations):
        return None
    await opened.text.scan_in_thread()
    return source


async def erase_deleted(opened: OpenAgent) -> None:
    """Make an agent's index equal to the files, and erase deleted text from it and with quarantined indexes."""
    await opened.text.sync()
    await compact(opened.index_file)
    await trio.to_thread.run_sync(remove_quarantined, opened.index_file.path)


def _read(
    config: AgentConfig, opened: OpenAgent, db: Database, params: ConversationReadParams
) -> ConversationReadReply:
    """Return messages of a session as it is on disk (blocking)."""
    with suppress(ValueError):
        session, line, _ = split_location(params.session)
        line = params.line or (line if params.first is None else None)
        params = replace(params, session=session, line=line)
    found = _find(config, opened, db, params.session)
    file = opened.sources.load(found)
    lines, total = file.text.split("\n") if file.text else [], len(file.line_map)
    start, end = _page(params, file.line_map, total)
    return ConversationReadReply(
        agent=config.id,
        path=found.path,
        session=_session(config, found.path, file),
        messages=list(_fitting([_message(lines[at], file, at) for at in range(start, end)])),
        total=total,
    )


def _find(config: AgentConfig, opened: OpenAgent, db: Database, session: str) -> SourceFile:
    """Return the conversation with a path or a session's id."""
    disk = opened.sources.find()
    path = session if session in disk.files else find_session(db, session)
    found = disk.files.get(path or "")
    if found is None or found.source not in conversation_sources(
        config
    ):  # others are indexed for OpenClaw alone
        raise FileMissingError(
            f"agent {config.id} has no conversation {session[:80]!r}",
            hint="pass the path and agent of a search hit; its program may have deleted the conversation since",
            data={"path": session[:80]},
        )
    return found


def read_lines(
    config: AgentConfig, opened: OpenAgent, params: GetParams, db: Database
) -> tuple[GetReply, int]:
    """Return the messages in some lines of a transcript as it is on disk, and the number of the first (blocking)."""
    found = _find(config, opened, db, params.path)
    file = opened.sources.load(found)
    line_map, last = file.line_map, max(file.line_map, default=0)
    upto = last if params.lines is None else params.from_line + params.lines - 1
    start, end = bisect_left(line_map, params.from_line), bisect_right(line_map, upto)
    text, count, _, truncated = lines_of(file.text, start + 1, end - start)
    numbers = list(line_map[start : min(end, start + count)])
    reply = GetReply(config.id, found.path, text, params.from_line, len(numbers), last, truncated, numbers)
    return reply, start + 1


def _page(params: ConversationReadParams, line_map: Sequence[int], total: int) -> tuple[int, int]:
    """Return the first message to return, and one past the last."""
    if params.line is not None:
        at = sum(1 for place in line_map if place < params.line)
        start = max(0, min(at, total - 1) - params.messages // 2)
    elif params.first is not None:
        start = params.first - 1
    else:
        start = max(0, total - params.messages)
    return min(start, total), min(start + params.messages, total)


def _message(line: str, file: FileText, at: int) -> SessionMessage:
    """Return one line of a conversation."""
    label, _, said = line.partition(": ")
    time_ms = file.times[at] if at < len(file.times) else 0
    return SessionMessage(
        at + 1, file.line_map[at], label.lower() if label in SPEAKERS else "", said, time_ms or None
    )


def _fitting(messages: Sequence[SessionMessage]) -> Sequence[SessionMessage]:
    """Return the messages that fit into one reply, at least one."""
    left = MAX_READ_CHARS
    for count, message in enumerate(messages):
        left -= len(message.text)
        if left < 0 and count:
            return messages[:count]
    return messages


def _session(config: AgentConfig, path: str, file: FileText) -> SessionInfo:
    """Return the session of a transcript."""
    if file.facts.program:
        return session_info(file.facts, conversation_sources(config).get(file.facts.program, ""))
    session_id = path.removeprefix(f"{OPENCLAW_SOURCE}/").removesuffix(".jsonl")
    day = day_of(max(file.times, default=file.mtime_ns // 1_000_000))
    prompts = (line[6:] for line in file.text.split("\n") if line.startswith("User: "))
    return SessionInfo(OPENCLAW_SOURCE, session_id, title=session_title("", prompts), date=day)
