"""The request about memory on several machines."""

from __future__ import annotations

from memd_client.record import field, record
from memd_client.reports import RemoteStatus


@record
class RemoteParams:
    """What to do with remotes.

    `action` is one of `status`, `add` (connect an agent to `url`), `clone` (connect all agents that `url` has memory
    of, or one), `sync`, `pause`, `resume`, `remove`, `settle` (delete files of conflicts: `paths`, or all if empty) and
    `purge` (remove earlier contents of the file or folder `path` from the history). `agent`: None means all agents with
    a remote, for `add`, `settle`, `purge` and `missing` the default agent. `take_over` lets `sync` accept a rewritten
    history. With `missing`, `resume` deletes the files that are missing (`delete`) or restores them (`restore`).
    `confirmed` lets `clone` create more than 10 agents.
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

    `purged` are the files whose earlier contents were removed, with their earlier names.
    """

    remotes: list[RemoteStatus] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    commits: int = 0
    purged: list[str] = field(default_factory=list)
