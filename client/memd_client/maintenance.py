"""Requests that maintain an agent's index or models: `index`, `reset`, `vacuum` and `model`."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from memd_client.limits import AgentId, Path, one_of
from memd_client.problems import Degradation, Problem, SkippedFile
from memd_client.reports import ModelInfo
from memd_client.schema import Record


class IndexParams(Record, frozen=True):
    """Update an agent's index now; a search does so too, for recent changes.

    Attributes:
        agent: Only this agent; None: all agents.
        force: Read, chunk and embed everything again.

    Returns:
        `agents`, a row for each: `files`, `chunks`, `files_changed`, `embedded`, `took_ms`, `skipped`, `error`.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The settings of the one agent turn memory off.
        DeadlineExceededError: No progress for five minutes.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    force: bool = False


class IndexedAgent(Record, frozen=True):
    """The result of one agent's sync.

    Attributes:
        agent: The agent's id.
        files: Files in the index.
        chunks: Chunks in the index.
        files_changed: Files read again.
        files_removed: Files removed from the index.
        embedded: Chunks embedded now.
        reused: Chunks whose vector existed.
        took_ms: Duration in ms.
        degraded: None, or why vectors are missing.
        skipped: Files that are not indexed, or only in part.
        error: None, or why this agent's part failed.
    """

    agent: str
    files: int
    chunks: int
    files_changed: int
    files_removed: int
    embedded: int
    reused: int
    took_ms: float
    degraded: Degradation | None = None
    skipped: list[SkippedFile] = field(default_factory=list)
    error: Problem | None = None


class IndexReply(Record, frozen=True):
    """One row per agent synced.

    Attributes:
        agents: A row per agent.
    """

    agents: list[IndexedAgent]


class ResetParams(Record, frozen=True):
    """Drop an agent's index and rebuild it from its files.

    Attributes:
        agent: Only this agent; None: all agents.
        delete_vectors: Delete the vectors too, so that every chunk is embedded again.

    Returns:
        `agents`, a row for each, as in `index`.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The settings of the one agent turn memory off.
        DeadlineExceededError: No progress for five minutes.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    delete_vectors: bool = False


class ResetReply(Record, frozen=True):
    """One row per agent.

    Attributes:
        agents: A row per agent.
    """

    agents: list[IndexedAgent]


class VacuumParams(Record, frozen=True):
    """Remove unneeded vectors from an agent's index and free their disk space.

    Attributes:
        agent: Only this agent; None: all agents.

    Returns:
        `agents`, a row for each: `bytes_before`, `bytes_after`, `vectors_removed`, `took_ms`, `error`.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The settings of the one agent turn memory off.
        DeadlineExceededError: No progress for five minutes.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None


class VacuumedAgent(Record, frozen=True):
    """The result of compacting one agent's index. Sizes are bytes, including the write-ahead log.

    Attributes:
        agent: The agent's id.
        bytes_before: Size on disk before, write-ahead log included.
        bytes_after: Size on disk after.
        vectors_removed: Vectors removed.
        took_ms: Duration in ms.
        error: None, or why this agent's part failed.
    """

    agent: str
    bytes_before: int
    bytes_after: int
    vectors_removed: int
    took_ms: float
    error: Problem | None = None


class VacuumReply(Record, frozen=True):
    """One row per agent.

    Attributes:
        agents: A row per agent.
    """

    agents: list[VacuumedAgent]


class ModelParams(Record, frozen=True):
    """Download, describe or remove a local embedding model, or list those on disk.

    Attributes:
        ref: `minilm`, `e5`, a path, `hf:owner/repo/file.gguf` or `https://…`; not needed for `list`; empty for `info`:
            the default model of `provider = "local"`.
        action: `pull`, `list`, `info` or `remove`.
        force: Remove a model although an agent's settings name it; else that is `bad_params`.

    Returns:
        `ref`, `path` and `size_bytes` of the model; for `list` `models`, a row for each; for `info`
        `info`, its RAM and tokens, also before the download of the default model, `minilm` and `e5`.

    Raises:
        ConfigInvalidError: The reference names no model.
        DownloadFailedError: The download broke; pulling again resumes it.
        ChecksumMismatchError, ModelInvalidError: The downloaded file can't be used.
        LocalExtraMissingError: The daemon lacks the packages for local models.
        BadParamsError: The model to remove is used by an agent, or a parameter is wrong.
        PathRefusedError: The file to remove is outside the models' directories.
        DeadlineExceededError: No progress for five minutes.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    ref: Path = ""
    action: Annotated[str, one_of("pull", "list", "info", "remove")] = "pull"
    force: bool = False


class ModelFile(Record, frozen=True):
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


class ModelReply(Record, frozen=True):
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
