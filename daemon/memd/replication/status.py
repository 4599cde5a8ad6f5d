"""The status of a replica as a record of the protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memd.agents.status import as_problem
from memd.system.units import count
from memd_client.messages import (
    AgentStatus,
    MemoryConflict,
    Problem,
    RemoteStatus,
    SkippedFile,
)

if TYPE_CHECKING:
    from memd.replication.runner import ReplicaRunner

CONFLICTS_CODE = "memory_conflicts"


def describe_replica(runner: ReplicaRunner) -> RemoteStatus:
    """Return the status of a replica, from what is known without running git."""
    replica, view = runner.replica, runner.replica.view
    workspace = replica.config.workspace
    return RemoteStatus(
        agent=replica.config.id,
        url=replica.exchange.remote.shown,
        machine=replica.machine,
        state=runner.state,
        files=len(replica.files),
        ahead=view.ahead,
        is_behind=view.is_behind,
        last_sync_ms=runner.last_sync_ms,
        next_sync_ms=runner.next_sync_ms,
        machines=list(view.machines),
        conflicts=[
            _conflict(path, replica.files) for path in view.conflicts if os.path.lexists(workspace / path)
        ],
        waiting=[SkippedFile(path, reason) for path, reason in sorted(view.waiting.items())],
        excluded=[SkippedFile(path, reason) for path, reason in sorted(view.excluded.items())],
        problem=view.question or (None if runner.problem is None else as_problem(runner.problem)),
    )


def problems_of(remote: RemoteStatus) -> list[Problem]:
    """Return what a person should know of a remote, for the status of its agent."""
    problems = []
    if remote.problem is not None and remote.state != "offline":  # being offline is normal
        problems.append(remote.problem)
    if remote.conflicts:
        first = remote.conflicts[0]
        problems.append(
            Problem(
                CONFLICTS_CODE,
                f"{count(len(remote.conflicts), 'file')} with lines of other machines that conflict with notes here: "
                f"{first.path}",
                "copy into the note what is true, then run `memctl remote resolve`",
            )
        )
    return problems


def with_remote(agent: AgentStatus, remotes: Sequence[RemoteStatus]) -> AgentStatus:
    """Return the status of an agent with its remote, and what a person should know of that."""
    remote = next((each for each in remotes if each.agent == agent.agent), None)
    if remote is None:
        return agent
    return replace(agent, remote=remote, problems=[*agent.problems, *problems_of(remote)])


def _conflict(path: str, files: Mapping[str, object]) -> MemoryConflict:
    """Return a file of conflicts with what its name says."""
    from memd.replication.merge.files import original_of  # merges facts, which a status seldom needs

    parts = path.rpartition("/")[2].split("-", 4)
    machine = parts[3] if len(parts) > 4 else ""
    return MemoryConflict(path, original_of(path, files), machine, "-".join(parts[:3]))
