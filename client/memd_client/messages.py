"""Parameters and replies of all requests.

All times are milliseconds, all sizes bytes; line numbers start at 1 and ranges are inclusive. A newer daemon may add
fields; `wire.from_wire` ignores fields that this release doesn't know.
"""

from __future__ import annotations

from memd_client.agent_parts import MachineStatus as MachineStatus
from memd_client.agent_parts import MemoryConflict as MemoryConflict
from memd_client.agent_parts import RemoteStatus as RemoteStatus
from memd_client.agent_parts import SessionsStatus as SessionsStatus
from memd_client.agent_parts import SourceStatus as SourceStatus
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
from memd_client.metrics import Histogram as Histogram
from memd_client.metrics import Metric as Metric
from memd_client.metrics import MetricsParams as MetricsParams
from memd_client.metrics import MetricsReply as MetricsReply
from memd_client.metrics import Sample as Sample
from memd_client.notes import AppendNoteParams as AppendNoteParams
from memd_client.notes import AppendNoteReply as AppendNoteReply
from memd_client.notes import SessionEndedParams as SessionEndedParams
from memd_client.notes import SessionEndedReply as SessionEndedReply
from memd_client.problems import Degradation as Degradation
from memd_client.problems import EmptyResult as EmptyResult
from memd_client.problems import Fallback as Fallback
from memd_client.problems import Problem as Problem
from memd_client.problems import SkippedFile as SkippedFile
from memd_client.record import Any, field, record
from memd_client.remotes import RemoteParams as RemoteParams
from memd_client.remotes import RemoteReply as RemoteReply
from memd_client.reports import AccountStatus as AccountStatus
from memd_client.reports import AgentStatus as AgentStatus
from memd_client.reports import BulkJob as BulkJob
from memd_client.reports import Check as Check
from memd_client.reports import DownloadStatus as DownloadStatus
from memd_client.reports import FillProgress as FillProgress
from memd_client.reports import MemoryStatus as MemoryStatus
from memd_client.reports import ModelStatus as ModelStatus
from memd_client.reports import RejectedText as RejectedText
from memd_client.reports import StatusParams as StatusParams
from memd_client.reports import StatusReply as StatusReply
from memd_client.searches import Hit as Hit
from memd_client.searches import PendingChanges as PendingChanges
from memd_client.searches import SearchAgentsParams as SearchAgentsParams
from memd_client.searches import SearchAgentsReply as SearchAgentsReply
from memd_client.searches import SearchedAgent as SearchedAgent
from memd_client.searches import SearchParams as SearchParams
from memd_client.searches import SearchReply as SearchReply
from memd_client.searches import Supersession as Supersession
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

    Empty: any folder, as a client on another machine has to leave the choice to that machine.

    Attributes:
        protocol: Version that the client speaks; must be the daemon's.
        client: Name of the client, for the log.
        version: Release of the client.
        state_dir: Real path of the client's state directory; a daemon of another directory refuses the client. Empty:
            any directory.
    """

    protocol: int = PROTOCOL_VERSION
    client: str = ""
    version: str = ""
    state_dir: str = ""


@record
class HelloReply:
    """The daemon's release, its process, the requests it knows (`capabilities`), its limits and its state folder.

    Attributes:
        protocol: Version that the daemon speaks.
        version: Release of the daemon.
        pid: Process id of the daemon.
        capabilities: Names of the requests that the daemon knows.
        limits: Numbers by name: `frame_bytes`, `requests_per_connection`, `idle_s`.
        state_dir: State directory that the daemon serves.
    """

    protocol: int
    version: str
    pid: int
    capabilities: list[str]
    limits: dict[str, int]
    state_dir: str = ""


@record
class GetParams:
    """Which lines of a memory file to return; `lines` defaults to the rest of the file.

    With `include_conversations`, `path` may also be a conversation: the path of its hits, or its session's id. Its
    lines are those of the transcript, as in a hit.

    Attributes:
        path: As in a hit. Absolute paths, `..`, links, files other than Markdown and files outside of memory are
            refused: `path_refused`.
        agent: The agent's id; None: the default agent.
        from_line: First line.
        lines: Number of lines; None: to the end.
        include_conversations: Whether `path` may also be a conversation: the path of its hits, or the id of its
            session. Set it only for a caller that may read all conversations of the agent.
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

    Attributes:
        agent: The agent's id.
        path: Path relative to the workspace, as in a hit.
        text: The lines; empty if `from_line` is beyond the end. Of a conversation: one line per message, `User: …` or
            `Assistant: …`, without secrets.
        from_line: First line returned.
        lines: Number of lines returned; of a conversation, of messages.
        total_lines: Number of lines of the file; of a conversation, the line of its last message.
        truncated: The text was cut to fit a frame.
        line_numbers: For each line of a conversation, its line in the transcript; empty for a file.
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

    Attributes:
        texts: The texts.
        agent: Whose provider; None: the default agent's.
        kind: `document` or `query`.
        keep: Keep vectors of documents in the agent's cache, and use those that are there.
    """

    texts: list[str]
    agent: str | None = None
    kind: str = "document"
    keep: bool = False


@record
class EmbedReply:
    """Vectors of unit length: `count` rows of `dims` numbers, as packed little-endian float32.

    Attributes:
        provider: Name of the embedding provider.
        model: Name of the model.
        count: Number of vectors.
        dims: Dimensions of a vector.
        vectors: `count` × `dims` little-endian float32, unit length.
    """

    provider: str
    model: str
    count: int
    dims: int
    vectors: bytes


@record
class ModelParams:
    """An action on the models on disk: `pull` or `remove` one, `list` them, or `info` on what one needs.

    Attributes:
        ref: `minilm`, a path, `hf:owner/repo/file.gguf` or `https://…`; not needed for `list`; empty for `info`: the
            default model of `provider = "local"`.
        action: `pull`, `list`, `info` or `remove`.
        force: Remove a model although an agent's settings name it; else that is `bad_params`.
    """

    ref: str = ""
    action: str = "pull"
    force: bool = False


@record
class ModelFile:
    """A model on disk, the agents whose settings name it, whether it is loaded, and its estimated RAM then.

    Attributes:
        ref: Reference of the model.
        path: Path of its file.
        size_bytes: Size of its file.
        used_by: Agents whose settings name it.
        loaded: A process has it loaded.
        ram_bytes: Estimated RAM of its process while it embeds; 0 if unknown.
    """

    ref: str
    path: str
    size_bytes: int
    used_by: list[str] = field(default_factory=list)
    loaded: bool = False
    ram_bytes: int = 0


@record
class ModelInfo:
    """What a model needs, estimated from the metadata of its file. Zero is unknown.

    Attributes:
        downloaded: The file is on disk.
        architecture: Architecture of the network.
        layers: Its layers.
        dims: Dimensions of a vector.
        vocabulary: Tokens that the model distinguishes.
        trained_tokens: Longest text that the model was trained for, in tokens.
        context_tokens: Tokens that memd embeds at once; longer texts are split into windows.
        chunk_tokens: Tokens of a full chunk with prompt, start and end.
        windows: Parts that such a chunk is embedded in.
        ram_bytes: Estimated RAM of the model process while it embeds.
        peak_bytes: Estimated RAM for an instant, at the first long text.
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
    """The model file that was pulled or removed, or that `info` is about; for `list`, all model files.

    Attributes:
        ref: Reference of the model; empty for `list`.
        path: Its file, for `info` also before the download; for `list` the model directory.
        size_bytes: Its size; for `list` the size of all.
        models: For `list`, a row per model.
        info: For `info`, what the model needs.
    """

    ref: str
    path: str
    size_bytes: int
    models: list[ModelFile] = field(default_factory=list)
    info: ModelInfo | None = None


@record
class CancelParams:
    """The id of the request to cancel, on the same connection.

    Attributes:
        id: Id of the request to cancel.
    """

    id: int


@record
class CancelReply:
    """Whether that request was still running.

    Attributes:
        cancelled: False: the request had already ended.
    """

    cancelled: bool


@record
class Progress:
    """The progress of a request.

    Attributes:
        id: The request.
        stage: Name of the current step.
        done: Work that is done.
        total: All work; 0: unknown.
        detail: More about the step, such as the name of a file; or empty.
    """

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
