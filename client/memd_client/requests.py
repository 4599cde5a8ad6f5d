"""Functions that build the requests of the clients, without sending them.

Made by `scripts/generate` from the records of `messages`: don't edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .messages import (
    AppendNoteParams,
    AppendNoteReply,
    BlameParams,
    BlameReply,
    CallToolParams,
    CallToolReply,
    CaptureFactsParams,
    CaptureFactsReply,
    CompactionDoneParams,
    CompactionDoneReply,
    ConversationReadParams,
    ConversationReadReply,
    ConversationSearchParams,
    ConversationSearchReply,
    ConversationsParams,
    ConversationsReply,
    EmbedParams,
    EmbedReply,
    FactsForPromptParams,
    FactsForPromptReply,
    FactsParams,
    FactsReply,
    FilesParams,
    FilesReply,
    FixParams,
    FixReply,
    FlushCheckParams,
    FlushCheckReply,
    FlushDoneParams,
    FlushDoneReply,
    ForgetParams,
    ForgetReply,
    GetParams,
    GetReply,
    HelloParams,
    HelloReply,
    HookLogParams,
    HookLogReply,
    HookParams,
    HookReply,
    HowParams,
    HowReply,
    IndexParams,
    IndexReply,
    MemoryEditParams,
    MemoryEditReply,
    MemoryForgetParams,
    MemoryForgetReply,
    MemoryRecallParams,
    MemoryRecallReply,
    MemoryStoreParams,
    MemoryStoreReply,
    MetricsParams,
    MetricsReply,
    ModelParams,
    ModelReply,
    OpenPageParams,
    OpenPageReply,
    PromptSectionParams,
    PromptSectionReply,
    RemoteParams,
    RemoteReply,
    ResetParams,
    ResetReply,
    SearchAgentsParams,
    SearchAgentsReply,
    SearchParams,
    SearchReply,
    SessionEndedParams,
    SessionEndedReply,
    SessionHandoffParams,
    SessionHandoffReply,
    SessionStartedParams,
    SessionStartedReply,
    SourcesParams,
    SourcesReply,
    StatusParams,
    StatusReply,
    SubscribeParams,
    SubscribeReply,
    ToolsParams,
    ToolsReply,
    TrustParams,
    TrustReply,
    UsageParams,
    UsageReply,
    VacuumParams,
    VacuumReply,
    WorkFilesParams,
    WorkFilesReply,
)
from .prepared_request import OnProgress, PreparedRequest, prepare
from .session import CLIENT_NAME, CLIENT_VERSION


def hello() -> PreparedRequest[HelloReply]:
    """Return the request of `Client.hello`."""
    params = HelloParams(client=CLIENT_NAME, version=CLIENT_VERSION)
    return prepare("hello", params, HelloReply)


def status(agent: str | None = None, *, deep: bool = False) -> PreparedRequest[StatusReply]:
    """Return the request of `Client.status`."""
    params = StatusParams(agent=agent, deep=deep)
    return prepare("status", params, StatusReply)


def metrics() -> PreparedRequest[MetricsReply]:
    """Return the request of `Client.metrics`."""
    params = MetricsParams()
    return prepare("metrics", params, MetricsReply)


def search(
    query: str,
    *,
    agent: str | None = None,
    max_results: int | None = None,
    min_score: float | None = None,
    sources: Sequence[str] | None = None,
    path: str | None = None,
    deadline_ms: int | None = None,
    explain: bool = False,
    lexical_only: bool = False,
    active_projects: Sequence[str] | None = None,
    exclude_session: str | None = None,
    max_chars: int | None = None,
    include_weak: bool = False,
    project: str | None = None,
    since: str | None = None,
    limit_weak: bool = False,
    caller: str = "",
    until: str | None = None,
    kinds: Sequence[str] | None = None,
    origins: Sequence[str] | None = None,
) -> PreparedRequest[SearchReply]:
    """Return the request of `Client.search`."""
    params = SearchParams(
        query=query,
        agent=agent,
        max_results=max_results,
        min_score=min_score,
        sources=None if sources is None else list(sources),
        path=path,
        deadline_ms=deadline_ms,
        explain=explain,
        lexical_only=lexical_only,
        active_projects=None if active_projects is None else list(active_projects),
        exclude_session=exclude_session,
        max_chars=max_chars,
        include_weak=include_weak,
        project=project,
        since=since,
        limit_weak=limit_weak,
        caller=caller,
        until=until,
        kinds=None if kinds is None else list(kinds),
        origins=None if origins is None else list(origins),
    )
    return prepare("search", params, SearchReply)


def search_agents(
    query: str,
    *,
    agents: Sequence[str] | None = None,
    max_results: int | None = None,
    min_score: float | None = None,
    sources: Sequence[str] | None = None,
    path: str | None = None,
    deadline_ms: int | None = None,
    explain: bool = False,
    lexical_only: bool = False,
    active_projects: Sequence[str] | None = None,
    exclude_session: str | None = None,
    max_chars: int | None = None,
    include_weak: bool = False,
    project: str | None = None,
    since: str | None = None,
    limit_weak: bool = False,
    caller: str = "",
    until: str | None = None,
    kinds: Sequence[str] | None = None,
    origins: Sequence[str] | None = None,
) -> PreparedRequest[SearchAgentsReply]:
    """Return the request of `Client.search_agents`."""
    params = SearchAgentsParams(
        query=query,
        agents=None if agents is None else list(agents),
        max_results=max_results,
        min_score=min_score,
        sources=None if sources is None else list(sources),
        path=path,
        deadline_ms=deadline_ms,
        explain=explain,
        lexical_only=lexical_only,
        active_projects=None if active_projects is None else list(active_projects),
        exclude_session=exclude_session,
        max_chars=max_chars,
        include_weak=include_weak,
        project=project,
        since=since,
        limit_weak=limit_weak,
        caller=caller,
        until=until,
        kinds=None if kinds is None else list(kinds),
        origins=None if origins is None else list(origins),
    )
    return prepare("search_agents", params, SearchAgentsReply)


def get(
    path: str,
    *,
    agent: str | None = None,
    from_line: int = 1,
    lines: int | None = None,
    include_conversations: bool = False,
) -> PreparedRequest[GetReply]:
    """Return the request of `Client.get`."""
    params = GetParams(
        path=path, agent=agent, from_line=from_line, lines=lines, include_conversations=include_conversations
    )
    return prepare("get", params, GetReply)


def files(
    *, agent: str | None = None, sources: Sequence[str] | None = None, offset: int = 0, limit: int = 200
) -> PreparedRequest[FilesReply]:
    """Return the request of `Client.files`."""
    params = FilesParams(
        agent=agent, sources=None if sources is None else list(sources), offset=offset, limit=limit
    )
    return prepare("files", params, FilesReply)


def index(
    agent: str | None = None, *, force: bool = False, on_progress: OnProgress | None = None
) -> PreparedRequest[IndexReply]:
    """Return the request of `Client.index`."""
    params = IndexParams(agent=agent, force=force)
    return prepare("index", params, IndexReply, on_progress)


def reset(
    agent: str | None = None, *, delete_vectors: bool = False, on_progress: OnProgress | None = None
) -> PreparedRequest[ResetReply]:
    """Return the request of `Client.reset`."""
    params = ResetParams(agent=agent, delete_vectors=delete_vectors)
    return prepare("reset", params, ResetReply, on_progress)


def vacuum(
    agent: str | None = None, *, on_progress: OnProgress | None = None
) -> PreparedRequest[VacuumReply]:
    """Return the request of `Client.vacuum`."""
    params = VacuumParams(agent=agent)
    return prepare("vacuum", params, VacuumReply, on_progress)


def embed(
    texts: Sequence[str], *, agent: str | None = None, kind: str = "document", keep: bool = False
) -> PreparedRequest[EmbedReply]:
    """Return the request of `Client.embed`."""
    params = EmbedParams(texts=list(texts), agent=agent, kind=kind, keep=keep)
    return prepare("embed", params, EmbedReply)


def model(
    ref: str = "", *, action: str = "pull", force: bool = False, on_progress: OnProgress | None = None
) -> PreparedRequest[ModelReply]:
    """Return the request of `Client.model`."""
    params = ModelParams(ref=ref, action=action, force=force)
    return prepare("model", params, ModelReply, on_progress)


def tools(
    *, agent: str | None = None, shape: str = "plain", include: Sequence[str] | None = None
) -> PreparedRequest[ToolsReply]:
    """Return the request of `Client.tools`."""
    params = ToolsParams(agent=agent, shape=shape, include=None if include is None else list(include))
    return prepare("tools", params, ToolsReply)


def call_tool(
    name: str,
    arguments: Any = None,
    *,
    agent: str | None = None,
    session_kind: str | None = None,
    session_key: str = "",
    deadline_ms: int | None = None,
    active_projects: Sequence[str] | None = None,
    recall: bool = False,
    include_conversations: bool = False,
    caller: str = "",
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
        caller=caller,
    )
    return prepare("call_tool", params, CallToolReply)


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
    return prepare("prompt_section", params, PromptSectionReply)


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
    return prepare("session_started", params, SessionStartedReply)


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
    return prepare("session_ended", params, SessionEndedReply)


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
    return prepare("flush_check", params, FlushCheckReply)


def flush_done(
    session_key: str, *, agent: str | None = None, compaction_count: int | None = None, session_id: str = ""
) -> PreparedRequest[FlushDoneReply]:
    """Return the request of `Client.flush_done`."""
    params = FlushDoneParams(
        session_key=session_key, agent=agent, compaction_count=compaction_count, session_id=session_id
    )
    return prepare("flush_done", params, FlushDoneReply)


def compaction_done(
    session_key: str = "",
    *,
    agent: str | None = None,
    compaction_count: int | None = None,
    session_id: str = "",
) -> PreparedRequest[CompactionDoneReply]:
    """Return the request of `Client.compaction_done`."""
    params = CompactionDoneParams(
        session_key=session_key, agent=agent, compaction_count=compaction_count, session_id=session_id
    )
    return prepare("compaction_done", params, CompactionDoneReply)


def hook(
    program: str,
    event: str,
    session_id: str,
    *,
    cwd: str = "",
    prompt: str = "",
    reason: str = "",
    transcript_path: str = "",
    tool: str = "",
    command: str = "",
    file: str = "",
    error: str = "",
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
        tool=tool,
        command=command,
        file=file,
        error=error,
        agent=agent,
    )
    return prepare("hook", params, HookReply)


def hook_log(*, limit: int = 50, session_id: str | None = None) -> PreparedRequest[HookLogReply]:
    """Return the request of `Client.hook_log`."""
    params = HookLogParams(limit=limit, session_id=session_id)
    return prepare("hook_log", params, HookLogReply)


def usage(
    action: str = "show", *, since: str | None = None, agent: str | None = None, limit: int = 10
) -> PreparedRequest[UsageReply]:
    """Return the request of `Client.usage`."""
    params = UsageParams(action=action, since=since, agent=agent, limit=limit)
    return prepare("usage", params, UsageReply)


def trust(
    path: str | None = None,
    *,
    agent: str | None = None,
    release: Sequence[str] | None = None,
    limit: int = 1_000,
) -> PreparedRequest[TrustReply]:
    """Return the request of `Client.trust`."""
    params = TrustParams(
        path=path, agent=agent, release=None if release is None else list(release), limit=limit
    )
    return prepare("trust", params, TrustReply)


def append_note(
    text: str, *, agent: str | None = None, date: str | None = None, key: str | None = None
) -> PreparedRequest[AppendNoteReply]:
    """Return the request of `Client.append_note`."""
    params = AppendNoteParams(text=text, agent=agent, date=date, key=key)
    return prepare("append_note", params, AppendNoteReply)


def memory_store(
    text: str,
    *,
    agent: str | None = None,
    importance: float | None = None,
    category: str | None = None,
    id: str | None = None,
    created_ms: int | None = None,
    vector: bytes | None = None,
    vector_model: str = "",
) -> PreparedRequest[MemoryStoreReply]:
    """Return the request of `Client.memory_store`."""
    params = MemoryStoreParams(
        text=text,
        agent=agent,
        importance=importance,
        category=category,
        id=id,
        created_ms=created_ms,
        vector=vector,
        vector_model=vector_model,
    )
    return prepare("memory_store", params, MemoryStoreReply)


def memory_recall(
    query: str, *, agent: str | None = None, limit: int = 5, min_score: float = 0.3
) -> PreparedRequest[MemoryRecallReply]:
    """Return the request of `Client.memory_recall`."""
    params = MemoryRecallParams(query=query, agent=agent, limit=limit, min_score=min_score)
    return prepare("memory_recall", params, MemoryRecallReply)


def memory_edit(
    id: str,
    text: str,
    *,
    agent: str | None = None,
    expected_text: str | None = None,
    importance: float | None = None,
    category: str | None = None,
) -> PreparedRequest[MemoryEditReply]:
    """Return the request of `Client.memory_edit`."""
    params = MemoryEditParams(
        id=id, text=text, agent=agent, expected_text=expected_text, importance=importance, category=category
    )
    return prepare("memory_edit", params, MemoryEditReply)


def memory_forget(
    id: str | None = None, *, query: str | None = None, agent: str | None = None
) -> PreparedRequest[MemoryForgetReply]:
    """Return the request of `Client.memory_forget`."""
    params = MemoryForgetParams(id=id, query=query, agent=agent)
    return prepare("memory_forget", params, MemoryForgetReply)


def forget(
    action: str = "find",
    target: str = "",
    *,
    agent: str | None = None,
    everywhere: bool = False,
    confirmed: str = "",
    receipt: str = "",
) -> PreparedRequest[ForgetReply]:
    """Return the request of `Client.forget`."""
    params = ForgetParams(
        action=action, target=target, agent=agent, everywhere=everywhere, confirmed=confirmed, receipt=receipt
    )
    return prepare("forget", params, ForgetReply)


def facts(*, agent: str | None = None, offset: int = 0, limit: int = 200) -> PreparedRequest[FactsReply]:
    """Return the request of `Client.facts`."""
    params = FactsParams(agent=agent, offset=offset, limit=limit)
    return prepare("facts", params, FactsReply)


def facts_for_prompt(
    prompt: str, *, agent: str | None = None, force: bool = False
) -> PreparedRequest[FactsForPromptReply]:
    """Return the request of `Client.facts_for_prompt`."""
    params = FactsForPromptParams(prompt=prompt, agent=agent, force=force)
    return prepare("facts_for_prompt", params, FactsForPromptReply)


def capture_facts(
    messages: Sequence[Mapping[str, Any]], *, agent: str | None = None, force: bool = False
) -> PreparedRequest[CaptureFactsReply]:
    """Return the request of `Client.capture_facts`."""
    params = CaptureFactsParams(messages=[dict(each) for each in messages], agent=agent, force=force)
    return prepare("capture_facts", params, CaptureFactsReply)


def sources(
    action: str = "list", name: str = "", *, session: str = "", agent: str | None = None
) -> PreparedRequest[SourcesReply]:
    """Return the request of `Client.sources`."""
    params = SourcesParams(action=action, name=name, session=session, agent=agent)
    return prepare("sources", params, SourcesReply)


def remote(
    action: str = "status",
    *,
    agent: str | None = None,
    url: str = "",
    path: str = "",
    paths: Sequence[str] = (),
    accept_rewrite: bool = False,
    missing: str = "",
    confirmed: bool = False,
) -> PreparedRequest[RemoteReply]:
    """Return the request of `Client.remote`."""
    params = RemoteParams(
        action=action,
        agent=agent,
        url=url,
        path=path,
        paths=list(paths),
        accept_rewrite=accept_rewrite,
        missing=missing,
        confirmed=confirmed,
    )
    return prepare("remote", params, RemoteReply)


def conversations(
    *,
    agent: str | None = None,
    sources: Sequence[str] | None = None,
    project: str | None = None,
    since: str | None = None,
    until: str | None = None,
    title: str = "",
    offset: int = 0,
    limit: int = 100,
) -> PreparedRequest[ConversationsReply]:
    """Return the request of `Client.conversations`."""
    params = ConversationsParams(
        agent=agent,
        sources=None if sources is None else list(sources),
        project=project,
        since=since,
        until=until,
        title=title,
        offset=offset,
        limit=limit,
    )
    return prepare("conversations", params, ConversationsReply)


def conversation_search(
    query: str,
    *,
    agent: str | None = None,
    max_results: int | None = None,
    sources: Sequence[str] | None = None,
    project: str | None = None,
    since: str | None = None,
    exclude_session: str | None = None,
    deadline_ms: int | None = None,
    caller: str = "",
    origins: Sequence[str] | None = None,
) -> PreparedRequest[ConversationSearchReply]:
    """Return the request of `Client.conversation_search`."""
    params = ConversationSearchParams(
        query=query,
        agent=agent,
        max_results=max_results,
        sources=None if sources is None else list(sources),
        project=project,
        since=since,
        exclude_session=exclude_session,
        deadline_ms=deadline_ms,
        caller=caller,
        origins=None if origins is None else list(origins),
    )
    return prepare("conversation_search", params, ConversationSearchReply)


def conversation_read(
    session: str,
    *,
    agent: str | None = None,
    line: int | None = None,
    first: int | None = None,
    messages: int = 20,
) -> PreparedRequest[ConversationReadReply]:
    """Return the request of `Client.conversation_read`."""
    params = ConversationReadParams(session=session, agent=agent, line=line, first=first, messages=messages)
    return prepare("conversation_read", params, ConversationReadReply)


def session_handoff(
    *, session: str = "", project: str = "", to: str = "", agent: str | None = None, exclude_session: str = ""
) -> PreparedRequest[SessionHandoffReply]:
    """Return the request of `Client.session_handoff`."""
    params = SessionHandoffParams(
        session=session, project=project, to=to, agent=agent, exclude_session=exclude_session
    )
    return prepare("session_handoff", params, SessionHandoffReply)


def how(
    command: str, *, agent: str | None = None, project: str = "", include_failed: bool = False, limit: int = 8
) -> PreparedRequest[HowReply]:
    """Return the request of `Client.how`."""
    params = HowParams(
        command=command, agent=agent, project=project, include_failed=include_failed, limit=limit
    )
    return prepare("how", params, HowReply)


def fix(
    error: str, *, agent: str | None = None, project: str = "", limit: int = 3
) -> PreparedRequest[FixReply]:
    """Return the request of `Client.fix`."""
    params = FixParams(error=error, agent=agent, project=project, limit=limit)
    return prepare("fix", params, FixReply)


def blame(
    file: str, *, line: int | None = None, agent: str | None = None, limit: int = 10
) -> PreparedRequest[BlameReply]:
    """Return the request of `Client.blame`."""
    params = BlameParams(file=file, line=line, agent=agent, limit=limit)
    return prepare("blame", params, BlameReply)


def work_files(
    topic: str, *, agent: str | None = None, project: str = "", limit: int = 20
) -> PreparedRequest[WorkFilesReply]:
    """Return the request of `Client.work_files`."""
    params = WorkFilesParams(topic=topic, agent=agent, project=project, limit=limit)
    return prepare("work_files", params, WorkFilesReply)


def open_page(agent: str | None = None) -> PreparedRequest[OpenPageReply]:
    """Return the request of `Client.open_page`."""
    params = OpenPageParams(agent=agent)
    return prepare("open_page", params, OpenPageReply)


def subscribe(
    agent: str | None = None, kinds: Sequence[str] | None = None
) -> PreparedRequest[SubscribeReply]:
    """Return the request of `Client.subscribe`."""
    params = SubscribeParams(agent=agent, kinds=None if kinds is None else list(kinds))
    return prepare("subscribe", params, SubscribeReply)
