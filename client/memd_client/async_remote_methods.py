"""The asynchronous form of `remote_methods`.

Made by `scripts/generate` from `remote_methods`: don't edit.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import requests
from .async_source_methods import AsyncSourceMethods
from .remotes import RemoteReply


class AsyncRemoteMethods(AsyncSourceMethods):
    """The method for the request about remotes; `request` sends it."""

    async def remote(
        self,
        action: str = "status",
        *,
        agent: str | None = None,
        url: str = "",
        path: str = "",
        paths: Sequence[str] = (),
        take_over: bool = False,
        missing: str = "",
        confirmed: bool = False,
    ) -> RemoteReply:
        """Replicate the Markdown of agents to other machines through a git remote.

        Args:
            action: `status`; `add` to connect an agent to `url`; `clone` to connect all agents that `url` has memory
                of, or only `agent`; `sync` now; `pause`, `resume` and `remove`; `settle` to delete files of conflicts;
                `purge` to remove earlier contents of the file or folder `path` from the history, here and on the
                remote, also under names that the file had before.
            agent: The agent's id. None: for `add`, `remove`, `settle`, `purge` and `missing` the default agent, else
                all agents.
            url: The address of a git repository, as git takes it; a folder must be absolute.
            path: The file or folder of `purge`, relative to the workspace.
            paths: The files of `settle`; empty: all.
            take_over: `sync` accepts a remote whose history was rewritten.
            missing: `delete` to let `resume` delete missing files on all machines, `restore` to restore them.
            confirmed: `clone` may create more than 10 agents.

        Returns:
            `remotes`, each with `state`, `ahead`, `machines`, `conflicts` and `problem`; `settled`, the files deleted;
            `commits`, how many a purged history has, and `purged`, the files whose earlier contents were removed.

        Raises:
            BadParamsError: The action, the address or a file is unknown.
            RemoteUnknownError: The agent has no remote.
            RemoteExistsError: The agent has another remote.
            RemoteUnreachableError: The remote can't be reached, or refuses this user.
            RemoteRefusedError: The remote has what memd does not accept; nothing of it was used.
            RemoteRewrittenError: Its history was rewritten.
            GitMissingError: The machine of the daemon has no git.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.remote(
                action,
                agent=agent,
                url=url,
                path=path,
                paths=paths,
                take_over=take_over,
                missing=missing,
                confirmed=confirmed,
            )
        )
