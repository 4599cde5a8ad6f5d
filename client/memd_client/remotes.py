"""The request about memory on several machines."""

from __future__ import annotations

from memd_client.agent_parts import RemoteStatus
from memd_client.record import field, record


@record
class RemoteParams:
    """What to do with remotes.

    With `missing`, `resume` deletes the files that are missing (`delete`) or restores them (`restore`).

    Attributes:
        action: `status`, `add`, `clone`, `sync`, `pause`, `resume`, `remove`, `settle` or `purge`.
        agent: One agent; None: all that have a remote, for `add`, `remove`, `settle`, `purge` and `missing` the default
            agent.
        url: With `add` and `clone`, the git repository; a folder as an absolute path.
        path: With `purge`, the file or folder whose earlier contents leave the history.
        paths: With `settle`, files of conflicts to delete; empty: all.
        take_over: With `sync`, accept a remote whose history was rewritten.
        missing: With `resume`, `delete` deletes missing files on all machines, and `restore` restores them.
        confirmed: With `clone`, create more than 10 agents.
    """

    action: str = "status"
    agent: str | None = None
    url: str = ""
    path: str = ""
    paths: list[str] = field(default_factory=list)
    take_over: bool = False
    missing: str = ""
    confirmed: bool = False


@record
class RemoteReply:
    """The remotes concerned, files of conflicts that were deleted, and how many commits were rewritten.

    Attributes:
        remotes: The remotes concerned.
        settled: Files of conflicts that were deleted.
        commits: Commits of a purged history.
        purged: Files whose earlier contents were removed, also under earlier names.
    """

    remotes: list[RemoteStatus] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    commits: int = 0
    purged: list[str] = field(default_factory=list)
