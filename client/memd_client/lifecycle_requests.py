"""Functions that build the requests about tools, sessions, notes and facts, as `requests` does for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .messages import (
    AppendNoteParams,
    AppendNoteReply,
    CallToolParams,
    CallToolReply,
    CaptureFactsParams,
    CaptureFactsReply,
    CompactionDoneParams,
    CompactionDoneReply,
    FactsForPromptParams,
    FactsForPromptReply,
    FactsParams,
    FactsReply,
    FlushCheckParams,
    FlushCheckReply,
    FlushDoneParams,
    FlushDoneReply,
    HookLogParams,
    HookLogReply,
    HookParams,
    HookReply,
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
    SessionEndedParams,
    SessionEndedReply,
    SessionStartedParams,
    SessionStartedReply,
    ToolsParams,
    ToolsReply,
)
from .prepared_request import REPLY_MARGIN_S, PreparedRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def tools(
    *, agent: str | None = None, shape: str = "plain", include: Sequence[str] | None = None
) -> PreparedRequest[ToolsReply]:
    """Return the request of `Client.tools`."""
    wanted = None if include is None else list(include)
    return PreparedRequest("tools", ToolsParams(agent=agent, shape=shape, include=wanted), ToolsReply)


def call_tool(
    name: str,
    arguments: Mapping[str, Any] | str | None = None,
    *,
    agent: str | None = None,
    session_kind: str | None = None,
    session_key: str = "",
    deadline_ms: int | None = None,
    active_projects: Sequence[str] | None = None,
    recall: bool = False,
    include_conversations: bool = False,
) -> PreparedRequest[CallToolReply]:
    """Return the request of `Client.call_tool`."""
    params = CallToolParams(
        name=name,
        arguments=arguments,
        agent=agent,
        session_kind=session_kind,
        session_key=session_key,
        deadline_ms=deadline_ms,
        active_projects=None if active_projects is None else list(active_projects),
        recall=recall,
        include_conversations=include_conversations,
    )
    min_timeout_s = 0.0 if deadline_ms is None else deadline_ms / 1000 + REPLY_MARGIN_S
    return PreparedRequest("call_tool", params, CallToolReply, min_timeout_s=min_timeout_s)


def prompt_section(
    *,
    agent: str | None = None,
    tools: Sequence[str] | None = None,
    citations: str | None = None,
    session_kind: str | None = None,
    session_key: str = "",
) -> PreparedRequest[PromptSectionReply]:
    """Return the request of `Client.prompt_section`."""
    params = PromptSectionParams(
        agent=agent,
        tools=None if tools is None else list(tools),
        citations=citations,
        session_kind=session_kind,
        session_key=session_key,
    )
    return PreparedRequest("prompt_section", params, PromptSectionReply)


def session_started(
    session_key: str,
    *,
    agent: str | None = None,
    kind: str | None = None,
    max_file_characters: int = 12_000,
    max_characters: int = 40_000,
) -> PreparedRequest[SessionStartedReply]:
    """Return the request of `Client.session_started`."""
    params = SessionStartedParams(
        session_key=session_key,
        agent=agent,
        kind=kind,
        max_file_characters=max_file_characters,
        max_characters=max_characters,
    )
    return PreparedRequest("session_started", params, SessionStartedReply)


def session_ended(
    session_key: str,
    *,
    agent: str | None = None,
    session_id: str | None = None,
    transcript: str | None = None,
    slug: str | None = None,
    channel: str | None = None,
    reason: str = "new",
    next_session_id: str | None = None,
    ended_ms: int | None = None,
    private: bool = False,
) -> PreparedRequest[SessionEndedReply]:
    """Return the request of `Client.session_ended`."""
    params = SessionEndedParams(
        session_key=session_key,
        agent=agent,
        session_id=session_id,
        transcript=transcript,
        slug=slug,
        channel=channel,
        reason=reason,
        next_session_id=next_session_id,
        ended_ms=ended_ms,
        private=private,
    )
    return PreparedRequest(
        "session_ended", params, SessionEndedReply, min_timeout_s=30.0
    )  # a model may choose the name of the note


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
) -> PreparedRequest[FlushCheckReply]:
    """Return the request of `Client.flush_check`."""
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
    return PreparedRequest("flush_check", params, FlushCheckReply)


def flush_done(
    session_key: str,
    *,
    agent: str | None = None,
    compaction_count: int | None = None,
    session_id: str = "",
) -> PreparedRequest[FlushDoneReply]:
    """Return the request of `Client.flush_done`."""
    params = FlushDoneParams(session_key, agent, compaction_count, session_id)
    return PreparedRequest("flush_done", params, FlushDoneReply)


def compaction_done(
    session_key: str = "",
    *,
    agent: str | None = None,
    compaction_count: int | None = None,
    session_id: str = "",
) -> PreparedRequest[CompactionDoneReply]:
    """Return the request of `Client.compaction_done`."""
    params = CompactionDoneParams(session_key, agent, compaction_count, session_id)
    counted = session_key == "" or compaction_count is not None
    return PreparedRequest("compaction_done", params, CompactionDoneReply, repeatable=counted)


def hook(
    program: str,
    event: str,
    session_id: str,
    *,
    cwd: str = "",
    prompt: str = "",
    reason: str = "",
    transcript_path: str = "",
    agent: str | None = None,
) -> PreparedRequest[HookReply]:
    """Return the request of `Client.hook`."""
    params = HookParams(
        program=program,
        event=event,
        session_id=session_id,
        cwd=cwd,
        prompt=prompt,
        reason=reason,
        transcript_path=transcript_path,
        agent=agent,
    )
    return PreparedRequest("hook", params, HookReply, repeatable=False)


def hook_log(*, limit: int = 50, session_id: str | None = None) -> PreparedRequest[HookLogReply]:
    """Return the request of `Client.hook_log`."""
    return PreparedRequest("hook_log", HookLogParams(limit, session_id), HookLogReply)


def append_note(
    text: str, *, agent: str | None = None, date: str | None = None, key: str | None = None
) -> PreparedRequest[AppendNoteReply]:
    """Return the request of `Client.append_note`."""
    params = AppendNoteParams(text, agent, date, key)
    return PreparedRequest("append_note", params, AppendNoteReply, repeatable=key is not None)


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
) -> PreparedRequest[MemoryStoreReply]:
    """Return the request of `Client.memory_store`."""
    params = MemoryStoreParams(text, agent, importance, category, id, created_ms, vector, vector_model)
    return PreparedRequest("memory_store", params, MemoryStoreReply, repeatable=id is not None)


def memory_recall(
    query: str, *, agent: str | None = None, limit: int = 5, min_score: float = 0.3
) -> PreparedRequest[MemoryRecallReply]:
    """Return the request of `Client.memory_recall`."""
    return PreparedRequest(
        "memory_recall", MemoryRecallParams(query, agent, limit, min_score), MemoryRecallReply
    )


def memory_edit(
    id: str,  # noqa: A002 - the request's own name
    text: str,
    *,
    agent: str | None = None,
    expected_text: str | None = None,
    importance: float | None = None,
    category: str | None = None,
) -> PreparedRequest[MemoryEditReply]:
    """Return the request of `Client.memory_edit`."""
    params = MemoryEditParams(id, text, agent, expected_text, importance, category)
    return PreparedRequest("memory_edit", params, MemoryEditReply, repeatable=False)


def memory_forget(
    id: str | None = None,  # noqa: A002 - the request's own name
    *,
    query: str | None = None,
    agent: str | None = None,
) -> PreparedRequest[MemoryForgetReply]:
    """Return the request of `Client.memory_forget`."""
    return PreparedRequest(
        "memory_forget", MemoryForgetParams(id, query, agent), MemoryForgetReply, repeatable=False
    )


def facts(*, agent: str | None = None, offset: int = 0, limit: int = 200) -> PreparedRequest[FactsReply]:
    """Return the request of `Client.facts`."""
    return PreparedRequest("facts", FactsParams(agent, offset, limit), FactsReply)


def facts_for_prompt(
    prompt: str, *, agent: str | None = None, force: bool = False
) -> PreparedRequest[FactsForPromptReply]:
    """Return the request of `Client.facts_for_prompt`."""
    return PreparedRequest(
        "facts_for_prompt", FactsForPromptParams(prompt, agent, force), FactsForPromptReply
    )


def capture_facts(
    messages: Sequence[Mapping[str, Any]], *, agent: str | None = None, force: bool = False
) -> PreparedRequest[CaptureFactsReply]:
    """Return the request of `Client.capture_facts`."""
    params = CaptureFactsParams([dict(message) for message in messages], agent, force)
    return PreparedRequest("capture_facts", params, CaptureFactsReply)
