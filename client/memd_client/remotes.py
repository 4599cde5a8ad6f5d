"""The request about memory on several machines."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from memd_client.agent_parts import RemoteStatus
from memd_client.limits import AgentId, IndexPath, Paths, one_of
from memd_client.schema import Record

ACTIONS = ("status", "add", "clone", "sync", "pause", "resume", "remove", "resolve", "purge")


class RemoteParams(Record, frozen=True):
    """Replicate the Markdown of agents to other machines through a git remote.

    Attributes:
        action: `status`; `add` to connect an agent to `url`; `clone` to connect all agents that `url` has memory of, or
            only `agent`; `sync` now; `pause`, `resume` and `remove`; `resolve` to delete files of conflicts; `purge` to
            remove earlier contents of the file or folder `path` from the history, here and on the remote, also under
            names that the file had before.
        agent: One agent; None: all that have a remote, for `add`, `remove`, `resolve`, `purge` and `missing` the
            default agent.
        url: With `add` and `clone`, the git repository; a folder as an absolute path.
        path: With `purge`, the file or folder whose earlier contents leave the history.
        paths: With `resolve`, files of conflicts to delete; empty: all.
        accept_rewrite: With `sync`, accept a remote whose history was rewritten.
        missing: With `resume`, `delete` deletes missing files on all machines, and `restore` restores them.
        confirmed: With `clone`, create more than 10 agents.

    Returns:
        `remotes`, each with `state`, `ahead`, `machines`, `conflicts` and `problem`; `resolved`, the files deleted;
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

    action: Annotated[str, one_of(*ACTIONS)] = "status"
    agent: AgentId | None = None
    url: Annotated[str, Meta(max_length=2_048)] = ""
    path: IndexPath = ""
    paths: Paths = field(default_factory=list)
    accept_rewrite: bool = False
    missing: Annotated[str, one_of("", "delete", "restore")] = ""
    confirmed: bool = False


class RemoteReply(Record, frozen=True):
    """The remotes concerned, files of conflicts that were deleted, and how many commits were rewritten.

    Attributes:
        remotes: The remotes concerned.
        resolved: Files of conflicts that were deleted.
        commits: Commits of a purged history.
        purged: Files whose earlier contents were removed, also under earlier names.
    """

    remotes: list[RemoteStatus] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    commits: int = 0
    purged: list[str] = field(default_factory=list)
