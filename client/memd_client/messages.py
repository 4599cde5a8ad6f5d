"""Parameters and replies of all requests.

All times are milliseconds, all sizes bytes; line numbers start at 1 and ranges are inclusive. A newer daemon may add
fields; `wire.from_wire` ignores fields that this release doesn't know.
"""

from __future__ import annotations

from memd_client.contents import FileEntry as FileEntry
from memd_client.contents import FilesParams as FilesParams
from memd_client.contents import FilesReply as FilesReply
from memd_client.contents import OpenPageParams as OpenPageParams
from memd_client.contents import OpenPageReply as OpenPageReply
from memd_client.events import Event as Event
from memd_client.events import SubscribeParams as SubscribeParams
from memd_client.events import SubscribeReply as SubscribeReply
from memd_client.facts import CapturedMessage as CapturedMessage
from memd_client.facts import CaptureFactsParams as CaptureFactsParams
from memd_client.facts import CaptureFactsReply as CaptureFactsReply
from memd_client.facts import FactRow as FactRow
from memd_client.facts import FactsForPromptParams as FactsForPromptParams
from memd_client.facts import FactsForPromptReply as FactsForPromptReply
from memd_client.facts import FactsParams as FactsParams
from memd_client.facts import FactsReply as FactsReply
from memd_client.facts import MemoryEditParams as MemoryEditParams
from memd_client.facts import MemoryEditReply as MemoryEditReply
from memd_client.facts import MemoryForgetParams as MemoryForgetParams
from memd_client.facts import MemoryForgetReply as MemoryForgetReply
from memd_client.facts import MemoryRecallParams as MemoryRecallParams
from memd_client.facts import MemoryRecallReply as MemoryRecallReply
from memd_client.facts import MemoryStoreParams as MemoryStoreParams
from memd_client.facts import MemoryStoreReply as MemoryStoreReply
from memd_client.facts import SkippedMessage as SkippedMessage
from memd_client.hooks import HookLogEntry as HookLogEntry
from memd_client.hooks import HookLogParams as HookLogParams
from memd_client.hooks import HookLogReply as HookLogReply
from memd_client.hooks import HookParams as HookParams
from memd_client.hooks import HookReply as HookReply
from memd_client.maintenance import IndexedAgent as IndexedAgent
from memd_client.maintenance import IndexParams as IndexParams
from memd_client.maintenance import IndexReply as IndexReply
from memd_client.maintenance import ResetParams as ResetParams
from memd_client.maintenance import ResetReply as ResetReply
from memd_client.maintenance import VacuumedAgent as VacuumedAgent
from memd_client.maintenance import VacuumParams as VacuumParams
from memd_client.maintenance import VacuumReply as VacuumReply
from memd_client.notes import AppendNoteParams as AppendNoteParams
from memd_client.notes import AppendNoteReply as AppendNoteReply
from memd_client.notes import SessionEndedParams as SessionEndedParams
from memd_client.notes import SessionEndedReply as SessionEndedReply
from memd_client.record import Any, field, record
from memd_client.remotes import RemoteParams as RemoteParams
from memd_client.remotes import RemoteReply as RemoteReply
from memd_client.reports import AccountStatus as AccountStatus
from memd_client.reports import AgentStatus as AgentStatus
from memd_client.reports import BulkJob as BulkJob
from memd_client.reports import Check as Check
from memd_client.reports import Degradation as Degradation
from memd_client.reports import DownloadStatus as DownloadStatus
from memd_client.reports import EmptyResult as EmptyResult
from memd_client.reports import Fallback as Fallback
from memd_client.reports import FillProgress as FillProgress
from memd_client.reports import Histogram as Histogram
from memd_client.reports import MachineStatus as MachineStatus
from memd_client.reports import MemoryConflict as MemoryConflict
from memd_client.reports import MemoryStatus as MemoryStatus
from memd_client.reports import Metric as Metric
from memd_client.reports import MetricsParams as MetricsParams
from memd_client.reports import MetricsReply as MetricsReply
from memd_client.reports import ModelStatus as ModelStatus
from memd_client.reports import Problem as Problem
from memd_client.reports import RejectedText as RejectedText
from memd_client.reports import RemoteStatus as RemoteStatus
from memd_client.reports import Sample as Sample
from memd_client.reports import SessionsStatus as SessionsStatus
from memd_client.reports import SkippedFile as SkippedFile
from memd_client.reports import SourceStatus as SourceStatus
from memd_client.reports import StatusParams as StatusParams
from memd_client.reports import StatusReply as StatusReply
from memd_client.sessions import CompactionDoneParams as CompactionDoneParams
from memd_client.sessions import CompactionDoneReply as CompactionDoneReply
from memd_client.sessions import ContextFile as ContextFile
from memd_client.sessions import FlushCheckParams as FlushCheckParams
from memd_client.sessions import FlushCheckReply as FlushCheckReply
from memd_client.sessions import FlushDoneParams as FlushDoneParams
from memd_client.sessions import FlushDoneReply as FlushDoneReply
from memd_client.sessions import SessionStartedParams as SessionStartedParams
from memd_client.sessions import SessionStartedReply as SessionStartedReply
from memd_client.sources import ConversationReadParams as ConversationReadParams
from memd_client.sources import ConversationReadReply as ConversationReadReply
from memd_client.sources import ConversationSearchParams as ConversationSearchParams
from memd_client.sources import ConversationSearchReply as ConversationSearchReply
from memd_client.sources import Excerpt as Excerpt
from memd_client.sources import FoundConversation as FoundConversation
from memd_client.sources import SessionInfo as SessionInfo
from memd_client.sources import SessionMessage as SessionMessage
from memd_client.sources import SourcesParams as SourcesParams
from memd_client.sources import SourcesReply as SourcesReply
from memd_client.tooling import CallToolParams as CallToolParams
from memd_client.tooling import CallToolReply as CallToolReply
from memd_client.tooling import PromptSectionParams as PromptSectionParams
from memd_client.tooling import PromptSectionReply as PromptSectionReply
from memd_client.tooling import ToolsParams as ToolsParams
from memd_client.tooling import ToolsReply as ToolsReply

PROTOCOL_VERSION = 1
"""The protocol version of this release; `hello` rejects any other."""


@record
class HelloParams:
    """The first request of a connection.

    `state_dir` is the real path of the client's state folder; a daemon of another folder refuses it. Empty: any folder,
    as a client on another machine has to leave the choice to that machine.
    """

    protocol: int = PROTOCOL_VERSION
    client: str = ""
    version: str = ""
    state_dir: str = ""


@record
class HelloReply:
    """The daemon's release, its process, the requests it knows (`capabilities`), its limits and its state folder."""

    protocol: int
    version: str
    pid: int
    capabilities: list[str]
    limits: dict[str, int]
    state_dir: str = ""


@record
class SearchParams:
    """A query to one agent's memory.

    `min_score` and `max_results` default to the agent's settings. `path` keeps hits whose path starts with it.
    `deadline_ms` limits the whole request. `lexical_only` runs keyword search alone, without embedding the query.
    `active_projects` are keys of the current projects: entries about them score higher, entries about other projects
    lower. `exclude_session` is the key of the calling session: its conversation since the last reset is excluded.
    `max_chars` limits the characters of all snippets together, instead of the number of hits; each snippet is then as
    long as its evidence deserves. `include_weak` keeps hits that are hardly related to the query. `project` keeps
    conversations held in a project, by its name or path. `since` keeps what was said or written since a day
    (`2026-11-02`) or within a duration (`7d`).
    """

    query: str
    agent: str | None = None
    max_results: int | None = None
    min_score: float | None = None
    sources: list[str] | None = None
    path: str | None = None
    deadline_ms: int | None = None
    explain: bool = False
    lexical_only: bool = False
    active_projects: list[str] | None = None
    exclude_session: str | None = None
    max_chars: int | None = None
    include_weak: bool = False
    project: str | None = None
    since: str | None = None


@record
class Supersession:
    """A later statement about the same subject with another value.

    `date` (YYYY-MM-DD) is that of the later statement, `outdated_date` that of the statement it supersedes.
    """

    path: str
    start_line: int
    end_line: int
    citation: str
    date: str
    outdated_date: str

    def __str__(self) -> str:
        return f"{self.citation} ({self.date})"


@record
class Hit:
    """One search result; `snippet` is an exact slice of a file around the match.

    In a transcript (`source` is `sessions`) the lines are those of the transcript. `copies` counts the chunks with the
    same text or a near duplicate of it. `annotations` are those of the entry's comments (`importance`, `triggers`,
    `projects`), None without any. `agent` is filled in only in the reply to `search_agents`. `relevance` is `strong` or
    `weak`. `superseded_by` is set if a later statement has another value. `session` is set if the hit is from a
    conversation of another program.
    """

    path: str
    start_line: int
    end_line: int
    score: float
    vector_score: float | None
    text_score: float | None
    snippet: str
    source: str
    citation: str
    copies: int = 1
    explain: dict[str, Any] | None = None
    annotations: dict[str, Any] | None = None
    agent: str | None = None
    relevance: str = "strong"
    superseded_by: Supersession | None = None
    session: SessionInfo | None = None


@record
class PendingChanges:
    """Changes that are not in the reply yet.

    `files` wait to be read, `chunks` to be embedded; `oldest_ms` is the longest wait among them.
    """

    files: int = 0
    chunks: int = 0
    oldest_ms: int = 0


@record
class SearchReply:
    """Hits, best first, and how they were found.

    `mode` is `hybrid`, `keyword` or `vector`; `abstained` is true if nothing relevant was found. `provider`, `model`
    and `space` name the vector space that was searched, `filling` the one that is being filled. `empty` is the reason
    for having no hits.
    """

    agent: str
    hits: list[Hit]
    mode: str
    degraded: Degradation | None
    abstained: bool
    took_ms: float
    provider: str
    model: str
    generation: int
    pending: PendingChanges
    partial: bool = False
    space: str = ""
    filling: FillProgress | None = None
    fallback: Fallback | None = None
    timings: dict[str, float] | None = None
    empty: EmptyResult | None = None


@record
class SearchAgentsParams:
    """A query to the memory of several agents: the named ones, or all whose memory is on.

    The other parameters are those of `SearchParams`. `max_results` defaults to the default agent's setting. `max_chars`
    and `deadline_ms` limit all agents together.
    """

    query: str
    agents: list[str] | None = None
    max_results: int | None = None
    min_score: float | None = None
    sources: list[str] | None = None
    path: str | None = None
    deadline_ms: int | None = None
    explain: bool = False
    lexical_only: bool = False
    active_projects: list[str] | None = None
    exclude_session: str | None = None
    max_chars: int | None = None
    include_weak: bool = False
    project: str | None = None
    since: str | None = None


@record
class SearchedAgent:
    """How one agent's memory was searched, as in `SearchReply`; with `error`, why it was not (`mode` is empty)."""

    agent: str
    mode: str = ""
    degraded: Degradation | None = None
    abstained: bool = False
    took_ms: float = 0.0
    pending: PendingChanges | None = None
    partial: bool = False
    fallback: Fallback | None = None
    provider: str = "none"
    model: str = ""
    empty: EmptyResult | None = None
    error: Problem | None = None


@record
class SearchAgentsReply:
    """Hits of several agents, best first, each with its agent; and one row per agent searched."""

    hits: list[Hit]
    agents: list[SearchedAgent]
    took_ms: float


@record
class GetParams:
    """Which lines of a memory file to return; `lines` defaults to the rest of the file.

    With `include_conversations`, `path` may also be a conversation: the path of its hits, or its session's id. Its
    lines are those of the transcript, as in a hit.
    """

    path: str
    agent: str | None = None
    from_line: int = 1
    lines: int | None = None
    include_conversations: bool = False


@record
class GetReply:
    """The requested lines, unchanged; `truncated` if the frame limit cut them off.

    For a conversation, `text` has a line for each message, with its speaker, and `line_numbers` has the line of the
    transcript for each of them; `total_lines` is the last of all its messages. It is empty for a file.
    """

    agent: str
    path: str
    text: str
    from_line: int
    lines: int
    total_lines: int
    truncated: bool = False
    line_numbers: list[int] = field(default_factory=list)


@record
class EmbedParams:
    """Texts to embed; `kind` is `query` or `document`.

    With `keep`, vectors of documents are stored in the agent's cache, and cached vectors are reused.
    """

    texts: list[str]
    agent: str | None = None
    kind: str = "document"
    keep: bool = False


@record
class EmbedReply:
    """Vectors of unit length: `count` rows of `dims` numbers, as packed little-endian float32."""

    provider: str
    model: str
    count: int
    dims: int
    vectors: bytes


@record
class ModelParams:
    """An action on the models on disk: `pull` or `remove` one, `list` them, or `info` on what one needs.

    `ref` is `minilm`, a path, or an `hf:` or `https:` reference; `list` needs none, and `info` without one is about the
    default model. `force` removes a model that an agent uses.
    """

    ref: str = ""
    action: str = "pull"
    force: bool = False


@record
class ModelFile:
    """A model on disk, the agents whose settings name it, whether it is loaded, and its estimated RAM then."""

    ref: str
    path: str
    size_bytes: int
    used_by: list[str] = field(default_factory=list)
    loaded: bool = False
    ram_bytes: int = 0


@record
class ModelInfo:
    """What a model needs, estimated from the metadata of its file. Zero is unknown.

    `ram_bytes` is the RAM of its process while it embeds, `peak_bytes` that for an instant before. `context_tokens` are
    embedded at once, and a full chunk with prompt has `chunk_tokens`, in `windows` parts.
    """

    downloaded: bool
    architecture: str
    layers: int
    dims: int
    vocabulary: int
    trained_tokens: int
    context_tokens: int
    chunk_tokens: int
    windows: int
    ram_bytes: int
    peak_bytes: int


@record
class ModelReply:
    """The model file that was pulled or removed, or that `info` is about; for `list`, all model files."""

    ref: str
    path: str
    size_bytes: int
    models: list[ModelFile] = field(default_factory=list)
    info: ModelInfo | None = None


@record
class CancelParams:
    """The id of the request to cancel, on the same connection."""

    id: int


@record
class CancelReply:
    """Whether that request was still running."""

    cancelled: bool


@record
class Progress:
    """The progress of a request. `stage` names the current step; `total` is 0 if unknown."""

    id: int
    stage: str
    done: int
    total: int
    detail: str = ""


REQUESTS: dict[str, tuple[type[Any], type[Any]]] = {
    "hello": (HelloParams, HelloReply),
    "status": (StatusParams, StatusReply),
    "metrics": (MetricsParams, MetricsReply),
    "search": (SearchParams, SearchReply),
    "search_agents": (SearchAgentsParams, SearchAgentsReply),
    "get": (GetParams, GetReply),
    "files": (FilesParams, FilesReply),
    "index": (IndexParams, IndexReply),
    "reset": (ResetParams, ResetReply),
    "vacuum": (VacuumParams, VacuumReply),
    "embed": (EmbedParams, EmbedReply),
    "model": (ModelParams, ModelReply),
    "tools": (ToolsParams, ToolsReply),
    "call_tool": (CallToolParams, CallToolReply),
    "prompt_section": (PromptSectionParams, PromptSectionReply),
    "session_started": (SessionStartedParams, SessionStartedReply),
    "session_ended": (SessionEndedParams, SessionEndedReply),
    "flush_check": (FlushCheckParams, FlushCheckReply),
    "flush_done": (FlushDoneParams, FlushDoneReply),
    "compaction_done": (CompactionDoneParams, CompactionDoneReply),
    "hook": (HookParams, HookReply),
    "hook_log": (HookLogParams, HookLogReply),
    "append_note": (AppendNoteParams, AppendNoteReply),
    "memory_store": (MemoryStoreParams, MemoryStoreReply),
    "memory_recall": (MemoryRecallParams, MemoryRecallReply),
    "memory_edit": (MemoryEditParams, MemoryEditReply),
    "memory_forget": (MemoryForgetParams, MemoryForgetReply),
    "facts": (FactsParams, FactsReply),
    "facts_for_prompt": (FactsForPromptParams, FactsForPromptReply),
    "capture_facts": (CaptureFactsParams, CaptureFactsReply),
    "sources": (SourcesParams, SourcesReply),
    "remote": (RemoteParams, RemoteReply),
    "conversation_search": (ConversationSearchParams, ConversationSearchReply),
    "conversation_read": (ConversationReadParams, ConversationReadReply),
    "open_page": (OpenPageParams, OpenPageReply),
    "subscribe": (SubscribeParams, SubscribeReply),
    "cancel": (CancelParams, CancelReply),
}
"""The parameters and the reply of each request, by name."""
