"""Parameters and replies of all requests.

All times are milliseconds, all sizes bytes; line numbers start at 1 and ranges are inclusive. A newer daemon may add
fields; `schema.from_wire` ignores fields that this release doesn't know.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from memd_client.agent_parts import MachineStatus as MachineStatus
from memd_client.agent_parts import MemoryConflict as MemoryConflict
from memd_client.agent_parts import RemoteStatus as RemoteStatus
from memd_client.agent_parts import SessionsStatus as SessionsStatus
from memd_client.agent_parts import SourceStatus as SourceStatus
from memd_client.agent_parts import UnknownType as UnknownType
from memd_client.contents import FileEntry as FileEntry
from memd_client.contents import FilesParams as FilesParams
from memd_client.contents import FilesReply as FilesReply
from memd_client.contents import OpenPageParams as OpenPageParams
from memd_client.contents import OpenPageReply as OpenPageReply
from memd_client.embedding import EmbedParams as EmbedParams
from memd_client.embedding import EmbedReply as EmbedReply
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
from memd_client.forget import ForgetCheck as ForgetCheck
from memd_client.forget import ForgetParams as ForgetParams
from memd_client.forget import ForgetPlace as ForgetPlace
from memd_client.forget import ForgetReceipt as ForgetReceipt
from memd_client.forget import ForgetReply as ForgetReply
from memd_client.forget import ForgetStatement as ForgetStatement
from memd_client.hooks import HookLogEntry as HookLogEntry
from memd_client.hooks import HookLogParams as HookLogParams
from memd_client.hooks import HookLogReply as HookLogReply
from memd_client.hooks import HookParams as HookParams
from memd_client.hooks import HookReply as HookReply
from memd_client.limits import MAX_PATH_CHARS, AgentId, IndexPath, Name, Position
from memd_client.maintenance import IndexedAgent as IndexedAgent
from memd_client.maintenance import IndexParams as IndexParams
from memd_client.maintenance import IndexReply as IndexReply
from memd_client.maintenance import ModelFile as ModelFile
from memd_client.maintenance import ModelParams as ModelParams
from memd_client.maintenance import ModelReply as ModelReply
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
from memd_client.remotes import RemoteParams as RemoteParams
from memd_client.remotes import RemoteReply as RemoteReply
from memd_client.reports import AccountStatus as AccountStatus
from memd_client.reports import AgentStatus as AgentStatus
from memd_client.reports import BulkJob as BulkJob
from memd_client.reports import Check as Check
from memd_client.reports import DownloadStatus as DownloadStatus
from memd_client.reports import FillProgress as FillProgress
from memd_client.reports import MemoryStatus as MemoryStatus
from memd_client.reports import ModelInfo as ModelInfo
from memd_client.reports import ModelStatus as ModelStatus
from memd_client.reports import RejectedText as RejectedText
from memd_client.reports import StatusParams as StatusParams
from memd_client.reports import StatusReply as StatusReply
from memd_client.schema import NO_DEADLINE, Record, Request
from memd_client.searches import Currency as Currency
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
from memd_client.sources import ConnectedProgram as ConnectedProgram
from memd_client.sources import ConversationGroup as ConversationGroup
from memd_client.sources import ConversationReadParams as ConversationReadParams
from memd_client.sources import ConversationReadReply as ConversationReadReply
from memd_client.sources import ConversationSearchParams as ConversationSearchParams
from memd_client.sources import ConversationSearchReply as ConversationSearchReply
from memd_client.sources import ConversationsParams as ConversationsParams
from memd_client.sources import ConversationsReply as ConversationsReply
from memd_client.sources import Excerpt as Excerpt
from memd_client.sources import FoundConversation as FoundConversation
from memd_client.sources import ListedConversation as ListedConversation
from memd_client.sources import SessionHandoffParams as SessionHandoffParams
from memd_client.sources import SessionHandoffReply as SessionHandoffReply
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
from memd_client.trust import TrustParams as TrustParams
from memd_client.trust import TrustReply as TrustReply
from memd_client.trust import WithheldLine as WithheldLine
from memd_client.usage import NeverRecalled as NeverRecalled
from memd_client.usage import RecallDay as RecallDay
from memd_client.usage import RecalledFile as RecalledFile
from memd_client.usage import UnansweredQuery as UnansweredQuery
from memd_client.usage import UsageParams as UsageParams
from memd_client.usage import UsageReply as UsageReply
from memd_client.work import BlameParams as BlameParams
from memd_client.work import BlameReply as BlameReply
from memd_client.work import FixParams as FixParams
from memd_client.work import FixReply as FixReply
from memd_client.work import HowParams as HowParams
from memd_client.work import HowReply as HowReply
from memd_client.work import TouchedFile as TouchedFile
from memd_client.work import WorkFilesParams as WorkFilesParams
from memd_client.work import WorkFilesReply as WorkFilesReply

PROTOCOL_VERSION = 1
"""The protocol version of this release; `hello` rejects any other."""


class HelloParams(Record, frozen=True):
    """Return the daemon's release and capabilities: the cheapest check of it.

    Attributes:
        protocol: Version that the client speaks; must be the daemon's.
        client: Name of the client, for the log.
        version: Release of the client.
        state_dir: Real path of the client's state directory; a daemon of another directory refuses the client. Empty:
            any directory.

    Returns:
        `version`, `pid` and `protocol` of the daemon, `capabilities` (names of the requests it knows) and `limits`.

    Raises:
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    protocol: int = PROTOCOL_VERSION
    client: Name = ""
    version: Name = ""
    state_dir: Annotated[str, Meta(max_length=MAX_PATH_CHARS)] = ""


class HelloReply(Record, frozen=True):
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


class GetParams(Record, frozen=True):
    """Return lines of a memory file, unchanged, or messages of a conversation.

    With `include_conversations`, `path` may also be a conversation: the path of its hits, or its session's id. Its
    lines are those of the transcript, as in a hit.

    Attributes:
        path: The file, as in a hit. Absolute paths, `..`, links, files other than Markdown and files outside of memory
            are refused: `path_refused`.
        agent: The agent's id; None: the default agent.
        from_line: The first line, from 1.
        lines: How many lines; None: to the end.
        include_conversations: Whether `path` may also be a conversation: the path of its hits, or the id of its
            session. Set it only for a caller that may read all conversations of the agent.

    Returns:
        `text`, `from_line`, `lines` (how many were returned), `total_lines`, and `truncated` if a frame was full.
        For a conversation, `text` has a line for each message, and `line_numbers` their lines in the transcript.

    Raises:
        PathRefusedError: The path is not a memory file, or leads out of the workspace.
        FileMissingError: There is no such file.
        FileUnreadableError: The file can't be read.
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    path: IndexPath
    agent: AgentId | None = None
    from_line: Position = 1
    lines: Position | None = None
    include_conversations: bool = False


class OriginLines(Record, frozen=True):
    """Lines of one origin.

    Attributes:
        start_line: First line; in a transcript, of the transcript.
        end_line: Last line.
        origin: Whose words they are: `user`, `agent`, `program` or `outside`, as in a hit.
        reason: Why they are `outside`; empty if they are not.
    """

    start_line: int
    end_line: int
    origin: str
    reason: str = ""


class GetReply(Record, frozen=True):
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
        origins: Whose words the lines are, in order.
    """

    agent: str
    path: str
    text: str
    from_line: int
    lines: int
    total_lines: int
    truncated: bool = False
    line_numbers: list[int] = field(default_factory=list)
    origins: list[OriginLines] = field(default_factory=list)


class CancelParams(Record, frozen=True):
    """Cancel a request of the same connection.

    Attributes:
        id: Id of the request to cancel.
    """

    id: int


class CancelReply(Record, frozen=True):
    """Whether that request was still running.

    Attributes:
        cancelled: False: the request had already ended.
    """

    cancelled: bool


class Progress(Record, frozen=True):
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


REPLY_MARGIN_S = 5.0
"""Added to a request's own deadline, which the daemon keeps, for the reply to arrive."""

PROGRESS_TIMEOUT_S = 300.0
"""Longest time without progress of requests that may take hours, such as `index`."""

EXCHANGE_TIMEOUT_S = 900.0
"""Shortest timeout of a request that exchanges data with a remote, or deletes many files."""

NAMING_TIMEOUT_S = 30.0
"""Shortest timeout of a request in which a model may choose the name of a note."""


def own_deadline(params: Any) -> float:
    """Return the timeout of a request that has a deadline of its own, in seconds."""
    return 0.0 if params.deadline_ms is None else params.deadline_ms / 1000 + REPLY_MARGIN_S


REQUESTS: dict[str, Request] = {
    "hello": Request(HelloParams, HelloReply, positional=0),
    "status": Request(StatusParams, StatusReply, uses_client_agent=False, positional=1),
    "metrics": Request(MetricsParams, MetricsReply),
    "search": Request(SearchParams, SearchReply, timeout_s=own_deadline),
    "search_agents": Request(SearchAgentsParams, SearchAgentsReply, timeout_s=own_deadline),
    "get": Request(GetParams, GetReply),
    "files": Request(FilesParams, FilesReply),
    "index": Request(
        IndexParams, IndexReply, timeout_s=PROGRESS_TIMEOUT_S, renews_deadline=True, positional=1
    ),
    "reset": Request(
        ResetParams, ResetReply, timeout_s=PROGRESS_TIMEOUT_S, renews_deadline=True, positional=1
    ),
    "vacuum": Request(
        VacuumParams, VacuumReply, timeout_s=PROGRESS_TIMEOUT_S, renews_deadline=True, positional=1
    ),
    "embed": Request(EmbedParams, EmbedReply),
    "model": Request(
        ModelParams, ModelReply, timeout_s=PROGRESS_TIMEOUT_S, renews_deadline=True, positional=1
    ),
    "tools": Request(ToolsParams, ToolsReply),
    "call_tool": Request(CallToolParams, CallToolReply, timeout_s=own_deadline, positional=2),
    "prompt_section": Request(PromptSectionParams, PromptSectionReply),
    "session_started": Request(SessionStartedParams, SessionStartedReply),
    "session_ended": Request(SessionEndedParams, SessionEndedReply, timeout_s=NAMING_TIMEOUT_S),
    "flush_check": Request(FlushCheckParams, FlushCheckReply),
    "flush_done": Request(FlushDoneParams, FlushDoneReply),
    "compaction_done": Request(
        CompactionDoneParams,
        CompactionDoneReply,
        repeatable=lambda it: not it.session_key or it.compaction_count is not None,
        positional=1,
    ),
    "hook": Request(HookParams, HookReply, repeatable=False),
    "hook_log": Request(HookLogParams, HookLogReply),
    "usage": Request(UsageParams, UsageReply, uses_client_agent=False, positional=1),
    "trust": Request(TrustParams, TrustReply, positional=1),
    "append_note": Request(AppendNoteParams, AppendNoteReply, repeatable=lambda it: it.key is not None),
    "memory_store": Request(MemoryStoreParams, MemoryStoreReply, repeatable=lambda it: it.id is not None),
    "memory_recall": Request(MemoryRecallParams, MemoryRecallReply),
    "memory_edit": Request(MemoryEditParams, MemoryEditReply, repeatable=False),
    "memory_forget": Request(MemoryForgetParams, MemoryForgetReply, repeatable=False, positional=1),
    "forget": Request(
        ForgetParams,
        ForgetReply,
        timeout_s=EXCHANGE_TIMEOUT_S,
        repeatable=lambda it: it.action in ("find", "receipts"),
        positional=2,
    ),
    "facts": Request(FactsParams, FactsReply),
    "facts_for_prompt": Request(FactsForPromptParams, FactsForPromptReply),
    "capture_facts": Request(CaptureFactsParams, CaptureFactsReply),
    "sources": Request(
        SourcesParams,
        SourcesReply,
        timeout_s=lambda it: 0.0 if it.action == "list" else EXCHANGE_TIMEOUT_S,
        uses_client_agent=False,
        positional=2,
    ),
    "remote": Request(
        RemoteParams,
        RemoteReply,
        timeout_s=lambda it: 0.0 if it.action == "status" else EXCHANGE_TIMEOUT_S,
        uses_client_agent=False,
        positional=1,
    ),
    "conversations": Request(ConversationsParams, ConversationsReply),
    "conversation_search": Request(ConversationSearchParams, ConversationSearchReply, timeout_s=own_deadline),
    "conversation_read": Request(ConversationReadParams, ConversationReadReply),
    "session_handoff": Request(SessionHandoffParams, SessionHandoffReply),
    "how": Request(HowParams, HowReply),
    "fix": Request(FixParams, FixReply),
    "blame": Request(BlameParams, BlameReply),
    "work_files": Request(WorkFilesParams, WorkFilesReply),
    "open_page": Request(OpenPageParams, OpenPageReply, uses_client_agent=False, positional=1),
    "subscribe": Request(
        SubscribeParams,
        SubscribeReply,
        timeout_s=NO_DEADLINE,
        uses_client_agent=False,
        repeatable=False,
        positional=2,
    ),
    "cancel": Request(CancelParams, CancelReply),
}
"""All requests, by name."""
