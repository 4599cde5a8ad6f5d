"""The asynchronous form of `maintenance_methods`.

Made by `scripts/generate` from `maintenance_methods`: don't edit.
"""

from __future__ import annotations

from collections.abc import Callable

from . import requests
from .async_remote_methods import AsyncRemoteMethods
from .maintenance import IndexReply, ResetReply, VacuumReply
from .messages import ModelReply, OpenPageReply, Progress


class AsyncMaintenanceMethods(AsyncRemoteMethods):
    """A method for every request about the index, models and the page; `request` sends it."""

    async def index(
        self,
        agent: str | None = None,
        *,
        force: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> IndexReply:
        """Update an agent's index now; a search does so too, for recent changes.

        Args:
            agent: The agent's id; None: the client's own agent, or all agents if it has none.
            force: Read, chunk and embed everything again.
            on_progress: Called with each progress, in the thread or task that waits.

        Returns:
            `agents`, a row for each: `files`, `chunks`, `files_changed`, `embedded`, `took_ms`, `skipped`, `error`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The settings of the one agent turn memory off.
            DeadlineExceededError: No progress for five minutes.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.index(agent, force=force, on_progress=on_progress))

    async def reset(
        self,
        agent: str | None = None,
        *,
        delete_vectors: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ResetReply:
        """Drop an agent's index and rebuild it from its files.

        Args:
            agent: The agent's id; None: the client's own agent, or all agents if it has none.
            delete_vectors: Delete the vectors too, so that all chunks are embedded again.
            on_progress: Called with each progress, in the thread or task that waits.

        Returns:
            `agents`, a row for each, as in `index`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The settings of the one agent turn memory off.
            DeadlineExceededError: No progress for five minutes.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.reset(agent, delete_vectors=delete_vectors, on_progress=on_progress)
        )

    async def vacuum(
        self, agent: str | None = None, *, on_progress: Callable[[Progress], None] | None = None
    ) -> VacuumReply:
        """Remove unneeded vectors from an agent's index and free their disk space.

        Args:
            agent: The agent's id; None: the client's own agent, or all agents if it has none.
            on_progress: Called with each progress, in the thread or task that waits.

        Returns:
            `agents`, a row for each: `bytes_before`, `bytes_after`, `vectors_removed`, `took_ms`, `error`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The settings of the one agent turn memory off.
            DeadlineExceededError: No progress for five minutes.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.vacuum(agent, on_progress=on_progress))

    async def model(
        self,
        ref: str = "",
        *,
        action: str = "pull",
        force: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ModelReply:
        """Download, describe or remove a local embedding model, or list those on disk.

        Args:
            ref: `minilm`, a path, or an `hf:` or `https:` reference; `list` needs none.
            action: `pull`, `list`, `info` or `remove`.
            force: Remove a model even if an agent's settings name it.
            on_progress: Called with each progress (in bytes), in the thread or task that waits.

        Returns:
            `ref`, `path` and `size_bytes` of the model; for `list` `models`, a row for each; for `info`
            `info`, its RAM and tokens, also before the download of the default model and `minilm`.

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
        return await self.request(requests.model(ref, action=action, force=force, on_progress=on_progress))

    async def open_page(self, agent: str | None = None) -> OpenPageReply:
        """Open the web page that shows the memory of agents, and return its address.

        Args:
            agent: Only this agent; None: all agents. The client's own agent is not filled in.

        Returns:
            `url`, which works once, within `expires_s` seconds: treat it like a password until then.

        Raises:
            AgentUnknownError: No agent has that id.
            PageUnavailableError: The page can't be served.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.open_page(agent))
