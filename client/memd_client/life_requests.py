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
    """Return what `Client.tools` sends."""
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
    """Return what `Client.call_tool` sends."""
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
    """Return what `Client.prompt_section` sends."""
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
    """Return what `Client.session_started` sends."""
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
    """Return what `Client.session_ended` sends."""
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
    """Return what `Client.flush_check` sends."""
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
    """Return what `Client.flush_done` sends."""
    params = FlushDoneParams(session_key, agent, compaction_count, session_id)
    return Ask("flush_done", params, FlushDoneReply)


def compaction_done(
    session_key: str = "",
    *,
    agent: str | None = None,
    compaction_count: int | None = None,
    session_id: str = "",
) -> Ask[CompactionDoneReply]:
    """Return what `Client.compaction_done` sends."""
    params = CompactionDoneParams(session_key, agent, compaction_count, session_id)
    counted = session_key == "" or compaction_count is not None
    return Ask("compaction_done", params, CompactionDoneReply, repeatable=counted)


def append_note(
    text: str, *, agent: str | None = None, date: str | None = None, key: str | None = None
) -> Ask[AppendNoteReply]:
    """Return what `Client.append_note` sends."""
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
    """Return what `Client.memory_store` sends."""
    params = MemoryStoreParams(text, agent, importance, category, id, created_ms, vector, vector_model)
    return Ask("memory_store", params, MemoryStoreReply, repeatable=id is not None)


def memory_recall(
    query: str, *, agent: str | None = None, limit: int = 5, min_score: float = 0.3
) -> Ask[MemoryRecallReply]:
    """Return what `Client.memory_recall` sends."""
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
    """Return what `Client.memory_edit` sends."""
    params = MemoryEditParams(id, text, agent, was, importance, category)
    return Ask("memory_edit", params, MemoryEditReply, repeatable=False)


def memory_forget(
    id: str | None = None,  # noqa: A002 - the request's own name
    *,
    query: str | None = None,
    agent: str | None = None,
) -> Ask[MemoryForgetReply]:
    """Return what `Client.memory_forget` sends."""
    return Ask("memory_forget", MemoryForgetParams(id, query, agent), MemoryForgetReply, repeatable=False)


def facts(*, agent: str | None = None, offset: int = 0, limit: int = 200) -> Ask[FactsReply]:
    """Return what `Client.facts` sends."""
    return Ask("facts", FactsParams(agent, offset, limit), FactsReply)


def recall_for(prompt: str, *, agent: str | None = None, force: bool = False) -> Ask[RecallForReply]:
    """Return what `Client.recall_for` sends."""
    return Ask("recall_for", RecallForParams(prompt, agent, force), RecallForReply)


def capture_from(
    messages: Sequence[Mapping[str, Any]], *, agent: str | None = None, force: bool = False
) -> Ask[CaptureFromReply]:
    """Return what `Client.capture_from` sends."""
    params = CaptureFromParams([dict(message) for message in messages], agent, force)
    return Ask("capture_from", params, CaptureFromReply)
