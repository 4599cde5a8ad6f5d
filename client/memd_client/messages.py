"""What travels between a client and the daemon: parameters and replies of every request.

All times are milliseconds, all sizes bytes, line numbers start at 1 and ranges are inclusive. A newer
daemon may add fields; `wire.from_wire` leaves out what this version doesn't know.
"""

from __future__ import annotations

from memd_client.contents import CuratedEntriesParams as CuratedEntriesParams
from memd_client.contents import CuratedEntriesReply as CuratedEntriesReply
from memd_client.contents import CuratedEntry as CuratedEntry
from memd_client.contents import FileRow as FileRow
from memd_client.contents import FilesParams as FilesParams
from memd_client.contents import FilesReply as FilesReply
from memd_client.contents import ShowParams as ShowParams
from memd_client.contents import ShowReply as ShowReply
from memd_client.events import Event as Event
from memd_client.events import SubscribeParams as SubscribeParams
from memd_client.events import SubscribeReply as SubscribeReply
from memd_client.facts import CapturedMessage as CapturedMessage
from memd_client.facts import CaptureFromParams as CaptureFromParams
from memd_client.facts import CaptureFromReply as CaptureFromReply
from memd_client.facts import FactRow as FactRow
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
from memd_client.facts import PassedMessage as PassedMessage
from memd_client.facts import RecallForParams as RecallForParams
from memd_client.facts import RecallForReply as RecallForReply
from memd_client.notes import AppendNoteParams as AppendNoteParams
from memd_client.notes import AppendNoteReply as AppendNoteReply
from memd_client.notes import SessionEndedParams as SessionEndedParams
from memd_client.notes import SessionEndedReply as SessionEndedReply
from memd_client.record import Any, field, record
from memd_client.reports import AccountStatus as AccountStatus
from memd_client.reports import AgentStatus as AgentStatus
from memd_client.reports import BulkJob as BulkJob
from memd_client.reports import Check as Check
from memd_client.reports import Degraded as Degraded
from memd_client.reports import DownloadStatus as DownloadStatus
from memd_client.reports import EmptyResult as EmptyResult
from memd_client.reports import Fallback as Fallback
from memd_client.reports import Filling as Filling
from memd_client.reports import Histogram as Histogram
from memd_client.reports import MemoryStatus as MemoryStatus
from memd_client.reports import Metric as Metric
from memd_client.reports import MetricsParams as MetricsParams
from memd_client.reports import MetricsReply as MetricsReply
from memd_client.reports import ModelStatus as ModelStatus
from memd_client.reports import Problem as Problem
from memd_client.reports import RefusedText as RefusedText
from memd_client.reports import Sample as Sample
from memd_client.reports import SessionsStatus as SessionsStatus
from memd_client.reports import Skipped as Skipped
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
from memd_client.tooling import CallToolParams as CallToolParams
from memd_client.tooling import CallToolReply as CallToolReply
from memd_client.tooling import PromptSectionParams as PromptSectionParams
from memd_client.tooling import PromptSectionReply as PromptSectionReply
from memd_client.tooling import ToolsParams as ToolsParams
from memd_client.tooling import ToolsReply as ToolsReply
from memd_client.upkeep import IndexedAgent as IndexedAgent
from memd_client.upkeep import IndexParams as IndexParams
from memd_client.upkeep import IndexReply as IndexReply
from memd_client.upkeep import ResetParams as ResetParams
from memd_client.upkeep import ResetReply as ResetReply
from memd_client.upkeep import VacuumedAgent as VacuumedAgent
from memd_client.upkeep import VacuumParams as VacuumParams
from memd_client.upkeep import VacuumReply as VacuumReply

PROTOCOL_VERSION = 1
"""The version this release speaks; `hello` refuses any other."""


@record
class HelloParams:
    """First request of a connection."""

    protocol: int = PROTOCOL_VERSION
    client: str = ""
    version: str = ""


@record
class HelloReply:
    """Who answers, and what it can do."""

    protocol: int
    version: str
    pid: int
    capabilities: list[str]
    limits: dict[str, int]


@record
class SearchParams:
    """A question to one agent's memory.

    `min_score` and `max_results` left out take the agent's settings. `path` keeps hits whose path starts
    with it. `deadline_ms` bounds the whole request. `lexical_only` searches by keyword alone: nothing is embedded.
    `active_projects` are keys of the projects at work: entries about them count more, those about others less.
    `exclude_session` is the key of the session that asks: its conversation since the last reset is no hit.
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


@record
class Hit:
    """One place in memory: an exact slice of a file around what matched.

    In a transcript (`source` is `sessions`) the lines are those of the transcript. `copies` is how many places
    hold this text, or nearly this text. `annotations` is what comments say of its entry (`importance`, `triggers`,
    `projects`), None without any. `agent` is whose memory it is, in the reply to `search_agents` alone.
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


@record
class Pending:
    """What is known to have changed and is not in the answer yet.

    `files` are to be read, `chunks` to be embedded; `oldest_ms` is how long the oldest of them has waited.
    """

    files: int = 0
    chunks: int = 0
    oldest_ms: int = 0


@record
class SearchReply:
    """Hits, best first, and how they were found.

    `mode` is `hybrid`, `keyword` or `vector`; `abstained` says that nothing relevant was found. `provider`, `model`
    and `space` name the vectors that were compared, `filling` those to come. `empty` says why there are no hits.
    """

    agent: str
    hits: list[Hit]
    mode: str
    degraded: Degraded | None
    abstained: bool
    took_ms: float
    provider: str
    model: str
    generation: int
    pending: Pending
    partial: bool = False
    space: str = ""
    filling: Filling | None = None
    fallback: Fallback | None = None
    timings: dict[str, float] | None = None
    empty: EmptyResult | None = None


@record
class SearchAgentsParams:
    """A query to the memory of several agents: those named, or all whose memory is on if none is named.

    The other parameters are those of `SearchParams`. `max_results` left out takes the default agent's settings, and
    `deadline_ms` bounds the searches of all agents together.
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


@record
class SearchedAgent:
    """How one agent's memory was searched, as in `SearchReply`; with `error` it was not, and `mode` is empty."""

    agent: str
    mode: str = ""
    degraded: Degraded | None = None
    abstained: bool = False
    took_ms: float = 0.0
    pending: Pending | None = None
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
    """Lines of an allowed file; `lines` left out means to its end."""

    path: str
    agent: str | None = None
    from_line: int = 1
    lines: int | None = None


@record
class GetReply:
    """The lines asked for, unchanged; `truncated` where the frame limit cut them."""

    agent: str
    path: str
    text: str
    from_line: int
    lines: int
    total_lines: int
    truncated: bool = False


@record
class EmbedParams:
    """Texts for the warm model; `kind` is `query` or `document`.

    With `keep` vectors of documents are kept in the agent's cache, and taken from it where they are there.
    """

    texts: list[str]
    agent: str | None = None
    kind: str = "document"
    keep: bool = False


@record
class EmbedReply:
    """Unit vectors, packed little-endian float32, `count` rows of `dims`."""

    provider: str
    model: str
    count: int
    dims: int
    vectors: bytes


@record
class ModelParams:
    """What to do with the models on disk: `pull` or `remove` one, or `list` them all.

    `ref` is `minilm`, a path, or an `hf:` or `https:` reference; `list` needs none. `force` removes a model that
    an agent uses.
    """

    ref: str = ""
    action: str = "pull"
    force: bool = False


@record
class ModelFile:
    """A model on disk, the agents whose settings name it, and whether a process has it loaded."""

    ref: str
    path: str
    size_bytes: int
    used_by: list[str] = field(default_factory=list)
    loaded: bool = False


@record
class ModelReply:
    """The model file that was pulled, checked, or removed; for `list` all there are."""

    ref: str
    path: str
    size_bytes: int
    models: list[ModelFile] = field(default_factory=list)


@record
class CancelParams:
    """The request of this connection to stop."""

    id: int


@record
class CancelReply:
    """Whether that request was still running."""

    cancelled: bool


@record
class Progress:
    """How far a request is. `stage` names the step; `total` is 0 where it isn't known."""

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
    "curated_entries": (CuratedEntriesParams, CuratedEntriesReply),
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
    "append_note": (AppendNoteParams, AppendNoteReply),
    "memory_store": (MemoryStoreParams, MemoryStoreReply),
    "memory_recall": (MemoryRecallParams, MemoryRecallReply),
    "memory_edit": (MemoryEditParams, MemoryEditReply),
    "memory_forget": (MemoryForgetParams, MemoryForgetReply),
    "facts": (FactsParams, FactsReply),
    "recall_for": (RecallForParams, RecallForReply),
    "capture_from": (CaptureFromParams, CaptureFromReply),
    "show": (ShowParams, ShowReply),
    "subscribe": (SubscribeParams, SubscribeReply),
    "cancel": (CancelParams, CancelReply),
}
"""Every request by name: its parameters and its reply."""
