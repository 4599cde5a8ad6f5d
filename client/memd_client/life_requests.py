"""The requests of an agent's life, as `requests` has those of its index: tools, sessions, notes, facts.

A request that writes and may do so twice when it is sent twice isn't repeatable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .ask import REPLY_S, Ask
from .messages import (
    AppendNoteParams,
    AppendNoteReply,
    CallToolParams,
    CallToolReply,
    CaptureFromParams,
    CaptureFromReply,
    CompactionDoneParams,
    CompactionDoneReply,
    FactsParams,
    FactsReply,
    FlushCheckParams,
    FlushCheckReply,
    FlushDoneParams,
    FlushDoneReply,
    MemoryEditParams,
    MemoryEditReply,
    MemoryForgetParams,
    MemoryForgetReply,
    MemoryRecallParams,
    MemoryRecallReply,
    MemoryStoreParams,
    MemoryStoreReply,
    PromptSectionParams,
    PromptSectionReply,
    RecallForParams,
    RecallForReply,
    SessionEndedParams,
    SessionEndedReply,
    SessionStartedParams,
    SessionStartedReply,
    ToolsParams,
    ToolsReply,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def tools(
    *, agent: str | None = None, shape: str = "plain", include: Sequence[str] | None = None
) -> Ask[ToolsReply]:
    """Return definitions of memory's tools, ready to be handed to a model.

    Args:
        agent: The agent meant.
        shape: Whose interface they are for: `plain`, `openai` or `anthropic`.
        include: Which tools; `memory_search` and `memory_get` where left out.
    """
    wanted = None if include is None else list(include)
    return Ask("tools", ToolsParams(agent=agent, shape=shape, include=wanted), ToolsReply)


def call_tool(
    name: str,
    arguments: Mapping[str, Any] | str | None = None,
    *,
    agent: str | None = None,
    session_kind: str | None = None,
    session_key: str = "",
    deadline_ms: int | None = None,
    active_projects: Sequence[str] | None = None,
) -> Ask[CallToolReply]:
    """Carry out a model's call of a tool; whatever it wrote gets an answer it can go on by.

    Args:
        name: The tool.
        arguments: What the model wrote: a map, or JSON as text.
        agent: The agent meant.
        session_kind: Where the answer will be read, which decides about citations.
        session_key: Likewise.
        deadline_ms: Bounds a search.
        active_projects: Keys of the projects at work, which a search prefers.
    """
    params = CallToolParams(
        name=name,
        arguments=arguments,
        agent=agent,
        session_kind=session_kind,
        session_key=session_key,
        deadline_ms=deadline_ms,
        active_projects=None if active_projects is None else list(active_projects),
    )
    least_s = 0.0 if deadline_ms is None else deadline_ms / 1000 + REPLY_S
    return Ask("call_tool", params, CallToolReply, least_s=least_s)


def prompt_section(
    *,
    agent: str | None = None,
    tools: Sequence[str] | None = None,
    citations: str | None = None,
    session_kind: str | None = None,
    session_key: str = "",
) -> Ask[PromptSectionReply]:
    """Return what a system prompt says of the tools a model has.

    Args:
        agent: The agent meant.
        tools: The tools it has; the usual ones where left out.
        citations: `on`, `off` or `auto`; the agent's setting where left out.
        session_kind: Decides what `auto` means.
        session_key: Likewise.
    """
    params = PromptSectionParams(
        agent=agent,
        tools=None if tools is None else list(tools),
        citations=citations,
        session_kind=session_kind,
        session_key=session_key,
    )
    return Ask("prompt_section", params, PromptSectionReply)


def session_started(
    session_key: str,
    *,
    agent: str | None = None,
    kind: str | None = None,
    max_file_characters: int = 12_000,
    max_characters: int = 40_000,
) -> Ask[SessionStartedReply]:
    """Say that an agent's session begins: its memory is brought up to date, and it is told what to begin with.

    Args:
        session_key: OpenClaw's name for the conversation.
        agent: The agent meant.
        kind: What kind of session it is; read off the key where left out.
        max_file_characters: Bounds what of each file is in the context.
        max_characters: Bounds what of all files together is; 0 for no context.
    """
    params = SessionStartedParams(
        session_key=session_key,
        agent=agent,
        kind=kind,
        max_file_characters=max_file_characters,
        max_characters=max_characters,
    )
    return Ask("session_started", params, SessionStartedReply)


def session_ended(
    session_key: str,
    *,
    agent: str | None = None,
    session_id: str | None = None,
    transcript: str | None = None,
    slug: str | None = None,
    source: str | None = None,
    reason: str = "new",
    next_session_id: str | None = None,
) -> Ask[SessionEndedReply]:
    """Say that a session ended: what was said last is kept as a note.

    Args:
        session_key: OpenClaw's name for the conversation.
        agent: The agent meant.
        session_id: Which conversation; the newest where neither this nor `transcript` is given.
        transcript: Its file, in the agent's folder of sessions.
        slug: What to name the note by.
        source: Where the conversation took place.
        reason: `new` or `reset`.
        next_session_id: The session that follows; the same id where the transcript goes on after a reset.
    """
    params = SessionEndedParams(
        session_key=session_key,
        agent=agent,
        session_id=session_id,
        transcript=transcript,
        slug=slug,
        source=source,
        reason=reason,
        next_session_id=next_session_id,
    )
    return Ask("session_ended", params, SessionEndedReply, least_s=30.0)  # a model may be asked for its name


def flush_check(
    session_key: str,
    *,
    agent: str | None = None,
    total_tokens: int | None = None,
    context_window: int | None = None,
    next_input_tokens: int = 0,
    transcript_bytes: int | None = None,
    compaction_count: int | None = None,
    session_id: str = "",
    kind: str | None = None,
    cli_provider: bool = False,
    workspace_access: str = "rw",
) -> Ask[FlushCheckReply]:
    """Ask whether what should last is to be written down now; the parameters are those of `FlushCheckParams`."""
    params = FlushCheckParams(
        session_key=session_key,
        agent=agent,
        total_tokens=total_tokens,
        context_window=context_window,
        next_input_tokens=next_input_tokens,
        transcript_bytes=transcript_bytes,
        compaction_count=compaction_count,
        session_id=session_id,
        kind=kind,
        cli_provider=cli_provider,
        workspace_access=workspace_access,
    )
    return Ask("flush_check", params, FlushCheckReply)


def flush_done(
    session_key: str,
    *,
    agent: str | None = None,
    compaction_count: int | None = None,
    session_id: str = "",
) -> Ask[FlushDoneReply]:
    """Say that the flush of this cycle was run; `compaction_count` left out is what the daemon counted."""
    params = FlushDoneParams(session_key, agent, compaction_count, session_id)
    return Ask("flush_done", params, FlushDoneReply)


def compaction_done(
    session_key: str = "",
    *,
    agent: str | None = None,
    compaction_count: int | None = None,
    session_id: str = "",
) -> Ask[CompactionDoneReply]:
    """Say that an agent's context was compacted: the next cycle begins, and what its flush wrote is brought in."""
    params = CompactionDoneParams(session_key, agent, compaction_count, session_id)
    counted = session_key == "" or compaction_count is not None
    return Ask("compaction_done", params, CompactionDoneReply, repeatable=counted)


def append_note(
    text: str, *, agent: str | None = None, date: str | None = None, key: str | None = None
) -> Ask[AppendNoteReply]:
    """Append an entry to the note of a day, and wait until it is safe on disk.

    Args:
        text: The entry.
        agent: The agent meant.
        date: The day as YYYY-MM-DD; the user's today where left out.
        key: What was appended with it once is not appended again.
    """
    params = AppendNoteParams(text, agent, date, key)
    return Ask("append_note", params, AppendNoteReply, repeatable=key is not None)


def memory_store(
    text: str,
    *,
    agent: str | None = None,
    importance: float | None = None,
    category: str | None = None,
    id: str | None = None,  # noqa: A002 - the request's own name
    created_ms: int | None = None,
    vector: bytes | None = None,
    vector_model: str = "",
) -> Ask[MemoryStoreReply]:
    """Keep a fact, unless one says the same already; the parameters are those of `MemoryStoreParams`."""
    params = MemoryStoreParams(text, agent, importance, category, id, created_ms, vector, vector_model)
    return Ask("memory_store", params, MemoryStoreReply, repeatable=id is not None)


def memory_recall(
    query: str, *, agent: str | None = None, limit: int = 5, min_score: float = 0.3
) -> Ask[MemoryRecallReply]:
    """Return the facts a question is near to, best first; a blank one lists them, newest first."""
    return Ask("memory_recall", MemoryRecallParams(query, agent, limit, min_score), MemoryRecallReply)


def memory_edit(
    id: str,  # noqa: A002 - the request's own name
    text: str,
    *,
    agent: str | None = None,
    was: str | None = None,
    importance: float | None = None,
    category: str | None = None,
) -> Ask[MemoryEditReply]:
    """Let a fact say something else where it stands; the parameters are those of `MemoryEditParams`."""
    params = MemoryEditParams(id, text, agent, was, importance, category)
    return Ask("memory_edit", params, MemoryEditReply, repeatable=False)


def memory_forget(
    id: str | None = None,  # noqa: A002 - the request's own name
    *,
    query: str | None = None,
    agent: str | None = None,
) -> Ask[MemoryForgetReply]:
    """Remove a fact: the one of an id, or the one a query means beyond doubt; else candidates are told."""
    return Ask("memory_forget", MemoryForgetParams(id, query, agent), MemoryForgetReply, repeatable=False)


def facts(*, agent: str | None = None, offset: int = 0, limit: int = 200) -> Ask[FactsReply]:
    """List the facts of an agent, newest first, `limit` of them from `offset` on."""
    return Ask("facts", FactsParams(agent, offset, limit), FactsReply)


def recall_for(prompt: str, *, agent: str | None = None, force: bool = False) -> Ask[RecallForReply]:
    """Return the facts near to a prompt as a block to put before it; `force` although the settings don't want it."""
    return Ask("recall_for", RecallForParams(prompt, agent, force), RecallForReply)


def capture_from(
    messages: Sequence[Mapping[str, Any]], *, agent: str | None = None, force: bool = False
) -> Ask[CaptureFromReply]:
    """Keep what is worth it of what the user says; `force` although the settings don't want it."""
    params = CaptureFromParams([dict(message) for message in messages], agent, force)
    return Ask("capture_from", params, CaptureFromReply)
