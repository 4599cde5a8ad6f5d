"""A fake of `AgentRegistry` with two agents, whose searches do what their queries say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio
from msgspec.structs import replace

from memd.rpc.call import ProgressSink
from memd.settings.agents import resolve
from memd.settings.schema import DaemonSettings
from memd.sources.capacity import limits_of
from memd.sources.forgotten import ForgottenFile
from memd_client.errors import (
    AgentUnknownError,
    BadParamsError,
    MemdError,
    MemoryDisabledError,
    PathRefusedError,
)
from memd_client.messages import (
    AccountStatus,
    AgentStatus,
    DownloadStatus,
    EmbedParams,
    EmbedReply,
    FileEntry,
    FilesParams,
    FilesReply,
    GetParams,
    GetReply,
    Hit,
    IndexedAgent,
    MemoryStatus,
    ModelFile,
    ModelInfo,
    ModelReply,
    PendingChanges,
    Problem,
    SearchParams,
    SearchReply,
    VacuumedAgent,
)
from memd_client.reports import ModelStatus


class FakeAgent:
    """A fake agent. The query of a search determines its behaviour:

    `wait` waits until cancelled; `crash` raises TypeError; `big N` returns N bytes of snippet; `pair` waits for another
    `pair`; any other query is returned as the hit.
    """

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        state = Path("/state")
        home = resolve({}, config_path=state / "openclaw.json", state_dir=state, home=Path("/home"))
        self.config = replace(home.agents["main"], id=agent_id, workspace=state / f"workspace-{agent_id}")
        self.limits = limits_of(DaemonSettings())
        self.failure: Exception | None = None
        self.waiting = 0
        self.cancelled = 0
        self.searches = 0
        self._pairs = 0
        self._paired = trio.Event()
        self.hang_status = False
        self.hang_search = False
        self.asked: SearchParams | None = None

    async def search(self, params: SearchParams) -> SearchReply:
        """Act as the query requests."""
        self.searches += 1
        self.asked = params
        if self.failure is not None:
            raise self.failure
        snippet = params.query
        if params.query == "wait" or self.hang_search:
            await self._wait()
        elif params.query == "crash":
            raise TypeError("search() got an unexpected keyword argument 'secret-of-the-user'")
        elif params.query == "pair":
            await self._pair()
        elif params.query.startswith("big "):
            snippet = "x" * int(params.query.split()[1])
        else:
            await trio.lowlevel.checkpoint()
        hit = Hit("MEMORY.md", 1, 1, 1.0, None, 1.0, snippet, "memory", "MEMORY.md#L1")
        return SearchReply(
            agent=self.agent_id,
            hits=[hit],
            mode="keyword",
            degraded=None,
            abstained=False,
            took_ms=0.1,
            provider="none",
            model="",
            generation=1,
            pending=PendingChanges(),
        )

    async def _wait(self) -> None:
        self.waiting += 1
        try:
            await trio.sleep_forever()
        finally:
            self.waiting -= 1
            self.cancelled += 1

    async def _pair(self) -> None:
        self._pairs += 1
        if self._pairs == 2:
            self._paired.set()
        await self._paired.wait()

    async def get(self, params: GetParams) -> GetReply:
        """Refuse all paths except MEMORY.md."""
        if params.path != "MEMORY.md":
            raise PathRefusedError(f"not memory: {params.path}")
        return GetReply(self.agent_id, params.path, "one\n", params.from_line, 1, 1)

    async def files(self, params: FilesParams) -> FilesReply:
        """Return one file."""
        await trio.lowlevel.checkpoint()
        return FilesReply(self.agent_id, [FileEntry("MEMORY.md", "memory", 0, 4, 1, self.agent_id)], 1)

    async def index(self, force: bool, progress: ProgressSink) -> IndexedAgent:
        """Report progress from the loop and from a thread, as a real agent may."""
        progress("text", 1, 2, "a.md")
        await trio.to_thread.run_sync(progress, "vectors", 2, 2, "")
        if self.failure is not None:
            raise self.failure
        return IndexedAgent(self.agent_id, 2, 4, 2, 0, 4 if force else 0, 0, 1.0)

    async def reset(self, vectors: bool, progress: ProgressSink) -> IndexedAgent:
        """Act as `index` does; report all vectors as embedded if they are dropped."""
        return await self.index(vectors, progress)

    async def vacuum(self) -> VacuumedAgent:
        """Report that half of the index was free."""
        await trio.lowlevel.checkpoint()
        if self.failure is not None:
            raise self.failure
        return VacuumedAgent(self.agent_id, 8192, 4096, 1, 0.1)

    async def keep_vector(self, text: str, model: str, vector: bytes) -> bool:
        """Store no vector."""
        await trio.lowlevel.checkpoint()
        return False

    async def embed(self, params: EmbedParams) -> EmbedReply:
        """Return zero vectors."""
        return EmbedReply("fake", "fake", len(params.texts), 2, bytes(8 * len(params.texts)))

    def session_started(self, session_key: str) -> bool:
        """Request a sync unless the key is `known`."""
        if self.failure is not None:
            raise self.failure
        return session_key != "known"

    def compaction_done(self) -> bool:
        """Request a sync."""
        return True

    async def status(self, deep: bool) -> AgentStatus:
        """Return a status, fail, or hang."""
        if self.hang_status:
            await trio.sleep_forever()
        if self.failure is not None:
            raise self.failure
        return AgentStatus(
            agent=self.agent_id,
            workspace="/w",
            index_path="/i",
            enabled=True,
            sources=["memory"],
            files=1,
            chunks=2,
            vectors=0,
            files_pending=0,
            chunks_pending=0,
            provider="none",
            model="",
            dims=0,
            vector_path="memory",
            vector_path_reason="",
            last_sync_ms=None,
            syncing=False,
            generation=1,
            index_bytes=4096,
        )


class FakeStatusSource:
    """Models, downloads or accounts with given statuses."""

    tokens_today, daily_budget = 400, 1000

    def __init__(self, *rows: Any) -> None:
        self._rows = list(rows)

    def status(self) -> list[Any]:
        """Return the statuses."""
        return self._rows


class FakeLibrary:
    """The models on disk: `minilm`, which `main` uses."""

    async def pull(self, ref: str, progress: ProgressSink) -> ModelReply:
        """Report progress; fail for the reference `bad`."""
        progress("download", 5, 10, ref)
        await trio.lowlevel.checkpoint()
        if ref == "bad":
            raise MemdError("bad model")
        return ModelReply(ref, f"/models/{ref}", 10)

    async def list_all(self) -> ModelReply:
        """List `minilm`."""
        await trio.lowlevel.checkpoint()
        return ModelReply("", "/models", 10, [ModelFile("minilm", "/models/minilm", 10, ["main"], True)])

    async def describe(self, ref: str) -> ModelReply:
        """Return the needs of a model that is not on disk."""
        await trio.lowlevel.checkpoint()
        info = ModelInfo(False, "bert", 6, 384, 30_522, 512, 512, 402, 1, 126_000_000, 251_000_000)
        return ModelReply(ref or "default", "/models/default", 10, info=info)

    async def remove(self, ref: str, *, force: bool, progress: ProgressSink) -> ModelReply:
        """Refuse `minilm` without force."""
        await trio.lowlevel.checkpoint()
        if ref == "minilm" and not force:
            raise BadParamsError("minilm is the model of main")
        return ModelReply(ref, f"/models/{ref}", 10)


class FakeRegistry:
    """The agents `main` and `other`."""

    def __init__(self) -> None:
        self.main = FakeAgent("main")
        self.other = FakeAgent("other")
        self.sqlite_vec = "v0.1.9"
        self.state_dir = Path("/state")
        self.config_path = Path("/state/openclaw.json")
        self.settings = DaemonSettings()
        self.agents = {"main": self.main, "other": self.other}
        self.models = FakeStatusSource(ModelStatus("minilm", "/m.gguf", "ready", 7, 100, 0, 0))
        self.downloads = FakeStatusSource(
            DownloadStatus("hf:a/b/c.gguf", "failed", "download", 1, 2, "no route")
        )
        self.accounts = FakeStatusSource(AccountStatus("openai", "ok", 3, 400))
        self.library = FakeLibrary()
        self.forgotten = ForgottenFile(self.state_dir)

    def agent(self, agent_id: str | None) -> FakeAgent:
        """Return an agent; `main` by default."""
        if agent_id == "off":
            raise MemoryDisabledError("memory search is off for agent off")
        found = self.agents.get(agent_id or "main")
        if found is None:
            raise AgentUnknownError(f"there is no agent {agent_id!r:.60}")
        return found

    def recalled(self, agent_id: str | None) -> list[FakeAgent]:
        """Return the agent alone."""
        return [self.agent(agent_id)]

    def problems(self) -> list[Problem]:
        """Return none."""
        return []

    def memory_status(self) -> MemoryStatus:
        """Return distinct figures."""
        return MemoryStatus(1, 2, 3, 4, 5, 6, 7)
