"""Run `memctl` in the test process with a fake client and readable streams; sample replies."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from memd.cli.connect import CliSession
from memd.cli.main import run
from memd.cli.output import Output, OutputStream
from memd_client import Client
from memd_client.errors import MemdError
from memd_client.facts import MemoryEditReply, MemoryForgetReply, MemoryRecallReply, MemoryStoreReply
from memd_client.messages import (
    AgentStatus,
    AppendNoteReply,
    BlameReply,
    Degradation,
    FilesReply,
    FixReply,
    ForgetReply,
    GetReply,
    Hit,
    HookLogReply,
    HowReply,
    IndexedAgent,
    IndexReply,
    MetricsReply,
    ModelReply,
    ModelStatus,
    PendingChanges,
    Progress,
    ResetReply,
    SearchAgentsReply,
    SearchReply,
    SessionHandoffReply,
    SourcesReply,
    StatusReply,
    TrustReply,
    UsageReply,
    VacuumReply,
    WorkFilesReply,
)

T = TypeVar("T")

NOW_MS = 1_800_000_000_000


@dataclass
class FakeClient:
    """A client with given replies that records its requests."""

    replies: dict[str, Any]
    progress: Sequence[Progress] = ()
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    closed: bool = False

    def _answer(self, kind: type[T], name: str, **params: Any) -> T:
        self.calls.append((name, params))
        reply = self.replies[name]
        if callable(reply) and not isinstance(reply, BaseException):
            reply = reply(**params)
        if isinstance(reply, BaseException):
            raise reply
        assert isinstance(reply, kind)
        return reply

    def status(self, agent: str | None = None, *, deep: bool = False) -> StatusReply:
        """Answer `status`."""
        return self._answer(StatusReply, "status", agent=agent, deep=deep)

    def metrics(self) -> MetricsReply:
        """Answer `metrics`."""
        return self._answer(MetricsReply, "metrics")

    def search(self, query: str, **params: Any) -> SearchReply:
        """Answer `search`."""
        return self._answer(SearchReply, "search", query=query, **params)

    def search_agents(self, query: str, **params: Any) -> SearchAgentsReply:
        """Answer `search_agents`."""
        return self._answer(SearchAgentsReply, "search_agents", query=query, **params)

    def get(self, path: str, **params: Any) -> GetReply:
        """Answer `get`."""
        return self._answer(GetReply, "get", path=path, **params)

    def forget(self, action: str = "find", target: str = "", **params: Any) -> ForgetReply:
        """Answer `forget`."""
        return self._answer(ForgetReply, "forget", action=action, target=target, **params)

    def files(self, **params: Any) -> FilesReply:
        """Answer `files`."""
        return self._answer(FilesReply, "files", **params)

    def index(
        self,
        agent: str | None = None,
        *,
        force: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> IndexReply:
        """Report the progress, then reply to `index`."""
        for each in self.progress:
            assert on_progress is not None
            on_progress(each)
        return self._answer(IndexReply, "index", agent=agent, force=force)

    def reset(
        self,
        agent: str | None = None,
        *,
        delete_vectors: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ResetReply:
        """Answer `reset`."""
        return self._answer(ResetReply, "reset", agent=agent, delete_vectors=delete_vectors)

    def vacuum(
        self, agent: str | None = None, *, on_progress: Callable[[Progress], None] | None = None
    ) -> VacuumReply:
        """Answer `vacuum`."""
        return self._answer(VacuumReply, "vacuum", agent=agent)

    def model(
        self,
        ref: str = "",
        *,
        action: str = "pull",
        force: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ModelReply:
        """Report the progress, then reply to `model`."""
        for each in self.progress:
            assert on_progress is not None
            on_progress(each)
        return self._answer(ModelReply, "model", ref=ref, action=action, force=force)

    def append_note(self, text: str, **params: Any) -> AppendNoteReply:
        """Answer `append_note`."""
        return self._answer(AppendNoteReply, "append_note", text=text, **params)

    def memory_store(self, text: str, **params: Any) -> MemoryStoreReply:
        """Answer `memory_store`."""
        return self._answer(MemoryStoreReply, "memory_store", text=text, **params)

    def memory_edit(self, id: str, text: str, **params: Any) -> MemoryEditReply:  # noqa: A002
        """Answer `memory_edit`."""
        return self._answer(MemoryEditReply, "memory_edit", id=id, text=text, **params)

    def memory_forget(self, id: str | None = None, **params: Any) -> MemoryForgetReply:  # noqa: A002
        """Answer `memory_forget`."""
        return self._answer(MemoryForgetReply, "memory_forget", id=id, **params)

    def memory_recall(self, query: str, **params: Any) -> MemoryRecallReply:
        """Answer `memory_recall`."""
        return self._answer(MemoryRecallReply, "memory_recall", query=query, **params)

    def how(self, command: str, **params: Any) -> HowReply:
        """Answer `how`."""
        return self._answer(HowReply, "how", command=command, **params)

    def fix(self, error: str, **params: Any) -> FixReply:
        """Answer `fix`."""
        return self._answer(FixReply, "fix", error=error, **params)

    def blame(self, file: str, **params: Any) -> BlameReply:
        """Answer `blame`."""
        return self._answer(BlameReply, "blame", file=file, **params)

    def work_files(self, topic: str, **params: Any) -> WorkFilesReply:
        """Answer `work_files`."""
        return self._answer(WorkFilesReply, "work_files", topic=topic, **params)

    def session_handoff(self, **params: Any) -> SessionHandoffReply:
        """Answer `session_handoff`."""
        return self._answer(SessionHandoffReply, "session_handoff", **params)

    def hook_log(self, **params: Any) -> HookLogReply:
        """Answer `hook_log`."""
        return self._answer(HookLogReply, "hook_log", **params)

    def usage(self, action: str = "show", **params: Any) -> UsageReply:
        """Answer `usage`."""
        return self._answer(UsageReply, "usage", action=action, **params)

    def trust(self, path: str | None = None, **params: Any) -> TrustReply:
        """Answer `trust`."""
        return self._answer(TrustReply, "trust", path=path, **params)

    def sources(self, action: str = "list") -> SourcesReply:
        """Answer `sources`."""
        return self._answer(SourcesReply, "sources", action=action)

    def close(self) -> None:
        """Record that the client was closed."""
        self.closed = True


@dataclass
class MemctlResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str
    client: FakeClient
    opened: int


def memctl(
    *arguments: str,
    progress: Sequence[Progress] = (),
    terminal: bool = False,
    colour: bool | None = None,
    width: int = 80,
    refused: MemdError | None = None,
    now_s: Callable[[], float] = lambda: 0.0,
    has_memory: bool = True,
    **replies: Any,
) -> MemctlResult:
    """Run `memctl` with a fake client."""
    client = FakeClient(replies, progress)
    out, err = io.StringIO(), io.StringIO()
    opened = 0

    def open_client() -> Client:
        nonlocal opened
        opened += 1
        if refused is not None:
            raise refused
        return cast(Client, client)

    streams = [OutputStream(file, terminal=terminal, colour=colour, width=width) for file in (out, err)]
    session = CliSession(
        open_client,
        Output(streams[0], streams[1], now_s),
        lambda: NOW_MS,
        has_memory=lambda: has_memory,
    )
    code = run(arguments, session)
    return MemctlResult(code, out.getvalue(), err.getvalue(), client, opened)


MINILM = ModelStatus(
    model="minilm",
    path="/home/ann/.cache/memd/models/all-MiniLM-L6-v2.gguf",
    state="ready",
    pid=4300,
    rss_bytes=91_700_000,
    queued=0,
    restarts=0,
    engine="xllamacpp",
    has_gpu=False,
    gpu_layers=0,
)

MAIN = AgentStatus(
    agent="main",
    workspace="/home/ann/.openclaw/workspace",
    index_path="/home/ann/.openclaw/memory/main.memd.sqlite",
    enabled=True,
    sources=["memory"],
    files=54,
    chunks=1300,
    vectors=1300,
    files_pending=0,
    chunks_pending=0,
    provider="local",
    model="minilm",
    dims=384,
    vector_path="memory",
    vector_path_reason="2.0 MB of a budget of 512 MB",
    last_sync_ms=NOW_MS - 125_000,
    syncing=False,
    watch="events",
    generation=41,
    index_bytes=5_300_000,
)

OUTAGE = Degradation(
    code="provider_failed",
    reason="The embedding provider openai answered 401.",
    since_ms=NOW_MS - 3 * 3_600_000,
    hint="Correct search.endpoint.apiKey.",
)


def status_of(*agents: AgentStatus, **facts: Any) -> StatusReply:
    """Return a status with these agents."""
    reply = StatusReply(
        version="0.1.0",
        pid=4242,
        uptime_ms=11_520_000,
        socket="/run/user/1000/memd/memd.sock",
        state_dir="/home/ann/.openclaw",
        config_path="/home/ann/.openclaw/openclaw.json",
        rss_bytes=48_200_000,
        connections=3,
        sqlite_vec="0.1.9",
        models=[MINILM],
        agents=list(agents),
        problems=[],
    )
    return replace(reply, **facts)


LEASE = Hit(
    path="memory/2026-05-08.md",
    start_line=12,
    end_line=14,
    score=0.8249,
    vector_score=0.61,
    text_score=0.42,
    snippet="## Flat\nThe lease ends in June;\n  ask about leasing again.",
    source="memory",
    citation="memory/2026-05-08.md#L12-L14",
)

KEYS = Hit(
    path="MEMORY.md",
    start_line=3,
    end_line=3,
    score=0.5,
    vector_score=None,
    text_score=0.5,
    snippet="Keys: with the neighbour.",
    source="memory",
    citation="MEMORY.md#L3-L3",
)


def found(*hits: Hit, **facts: Any) -> SearchReply:
    """Return a search reply with these hits."""
    reply = SearchReply(
        agent="main",
        hits=list(hits),
        mode="hybrid",
        degraded=None,
        abstained=False,
        took_ms=4.23,
        provider="local",
        model="minilm",
        generation=41,
        pending=PendingChanges(),
    )
    return replace(reply, **facts)


def indexed(agent: str = "main", **facts: Any) -> IndexedAgent:
    """Return the result of a sync of an agent."""
    row = IndexedAgent(
        agent=agent,
        files=54,
        chunks=1300,
        files_changed=2,
        files_removed=0,
        embedded=31,
        reused=1269,
        took_ms=812.4,
    )
    return replace(row, **facts)
