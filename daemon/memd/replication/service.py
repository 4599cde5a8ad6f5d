"""The requests on remotes: connect, clone, sync, pause, remove, resolve conflicts, purge, and the status."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import trio

from memd.lifecycle.files import writing
from memd.replication.git.remote import GitRemote, check_url, is_folder
from memd.replication.merge.texts import CONFLICTS_FOLDER
from memd.replication.replicas import Replicas
from memd.replication.status import describe_replica
from memd.settings.agents import agent_id_of
from memd.system.log import log
from memd_client.errors import BadParamsError, MemdError, RemoteExistsError
from memd_client.messages import RemoteStatus

MAX_NEW_AGENTS: Final = 10
"""Agents that a clone creates without a confirmation."""


class ReplicationService:
    """The requests on the remotes of all agents."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas
        self._changing = trio.Lock()

    def __repr__(self) -> str:
        return f"<ReplicationService of {self._replicas!r}>"

    async def wait_opened(self) -> None:
        """Wait until the replicas of an earlier run are open, as `Replicas.wait_opened`."""
        await self._replicas.wait_opened()

    def status(self, agent_id: str | None) -> list[RemoteStatus]:
        """Return the remotes of one agent or all."""
        return self._replicas.status(agent_id)

    async def add(self, agent_id: str | None, url: str) -> RemoteStatus:
        """Connect an agent to a remote, and sync.

        Raises:
            RemoteExistsError: It has another remote.
            RemoteUnreachableError: The remote can't be reached: nothing is kept of it.
        """
        address = absolute_url(check_url(url))
        name = self._replicas.name_of(agent_id)
        async with self._changing:
            await self._replicas.open_again(name)
            runner = self._replicas.running.get(name)
            if runner is None:
                runner = await self._replicas.connect(name, address)
            elif runner.replica.exchange.remote.url != address:
                raise RemoteExistsError(
                    f"agent {name} has another remote: {runner.replica.exchange.remote.shown}"
                )
        await runner.sync()
        return describe_replica(runner)

    async def clone(self, url: str, agent_id: str | None, *, confirmed: bool) -> list[RemoteStatus]:
        """Connect the agents that a remote has memory of, or one of them; create agents that are missing here.

        Raises:
            BadParamsError: The remote has no memory of that agent, or of any, or it has more than `MAX_NEW_AGENTS` that
                are missing here, which was not `confirmed`.
        """
        remote = GitRemote(await self._replicas.repository("none"), absolute_url(check_url(url)), "")
        known = sorted(name for name in await remote.agents() if agent_id_of(name) == name)
        wanted = known if agent_id is None else [agent_id]
        if not wanted or wanted[0] not in known:
            what = f"no memory of agent {agent_id[:80]!r}" if agent_id else "no memory of any agent"
            empty = "run `memctl remote add` on a machine that has memory"
            hint = f"it has memory of: {', '.join(known)}" if known else empty
            raise BadParamsError(f"the remote has {what}", hint=hint)
        agents = self._replicas.agents
        new = [name for name in wanted if name not in agents.agents]
        if len(new) > MAX_NEW_AGENTS and not confirmed:
            raise BadParamsError(
                f"the remote has memory of {len(new)} agents that are missing here",
                hint="name one with `--agent`, or create all of them with `--yes`",
                data={"agents": len(new)},
            )
        await agents.create(new)
        return [await self.add(name, url) for name in wanted]

    async def sync(self, agent_id: str | None, *, accept_rewrite: bool) -> list[RemoteStatus]:
        """Sync the remotes of one agent or all now, also paused ones; raise why one failed if it is the only one."""
        names = [*self._replicas.broken] if agent_id is None else [self._replicas.name_of(agent_id)]
        for name in names:
            await self._replicas.open_again(name)
        rows = []
        for runner in self._replicas.of(agent_id):
            try:
                await runner.sync(accept_rewrite=accept_rewrite)
            except MemdError:
                if agent_id is not None or len(self._replicas.running) == 1:
                    raise
            rows.append(describe_replica(runner))
        return rows

    async def pause(self, agent_id: str | None, *, is_paused: bool, missing: str = "") -> list[RemoteStatus]:
        """Pause or resume the remotes of one agent or all; this survives a restart.

        `missing` is what to do with missing files of one agent: `delete`, `restore`, or "".
        """
        rows = []
        for runner in self._replicas.of(self._replicas.name_of(agent_id) if missing else agent_id):
            if missing:
                await runner.replica.resolve(delete=missing == "delete")
            await runner.replica.repository.set_config("memd.paused", "true" if is_paused else "")
            if is_paused:
                runner.is_paused = True
            else:
                runner.resume()
            rows.append(describe_replica(runner))
        return rows

    async def remove(self, agent_id: str | None) -> list[RemoteStatus]:
        """Disconnect the remote of an agent; its notes stay, here and on the remote."""
        async with self._changing:
            name = self._replicas.name_of(agent_id)
            runners = [] if name in self._replicas.broken else self._replicas.of(name)
            rows = [describe_replica(runner) for runner in runners]
            for runner in runners:
                remote = runner.replica.exchange.remote
                try:
                    await remote.push({remote.machine_ref(runner.replica.machine): ""})
                except MemdError as error:  # the remote may be gone
                    log.info("remote.deregister_failed", agent=name, code=error.code, error=error.message)
            await self._replicas.remove(name)
            return rows

    async def resolve(self, agent_id: str | None, paths: list[str]) -> list[str]:
        """Delete files of conflicts, all if `paths` is empty; return those that were deleted."""
        config = self._replicas.agents.agent(agent_id).config
        every = await trio.to_thread.run_sync(_conflict_files, config.workspace)
        unknown = [path for path in paths if path not in every]
        if unknown:
            raise BadParamsError(
                f"{unknown[0][:200]!r} is not a file of conflicts",
                hint=f"they are: {', '.join(every) or 'none'}",
                data={"path": unknown[0][:200]},
            )
        resolved = paths or every
        for path in resolved:
            await trio.to_thread.run_sync(writing.remove, config.workspace, path, lambda _: True)
        if (runner := self._replicas.running.get(config.id)) is not None:
            runner.replica.confirm(resolved)
            runner.on_change()
        return resolved

    async def purge(self, agent_id: str | None, path: str) -> tuple[int, list[str]]:
        """Rewrite an agent's history without earlier contents of a file or folder; as `RemoteExchange.purge`."""
        [runner] = self._replicas.of(self._replicas.name_of(agent_id))
        return await runner.replica.purge(path)


def absolute_url(url: str) -> str:
    """Return an address with the home folder filled in; raise for a folder relative to a folder of the client."""
    if not is_folder(url) or "://" in url:
        return url
    path = os.path.expanduser(url)
    if not os.path.isabs(path):
        raise BadParamsError(f"the folder of the remote is not absolute: {url[:200]!r}")
    return os.path.normpath(path)


def _conflict_files(workspace: Path) -> list[str]:
    """Return the paths of the files of conflicts in a workspace (blocking)."""
    folder = workspace / CONFLICTS_FOLDER
    return sorted(f"{CONFLICTS_FOLDER}/{path.name}" for path in folder.glob("*.md"))
