"""All replicas of the daemon: found at the start, added and removed while it runs."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import structlog
import trio

from memd.agents.registry import AgentRegistry
from memd.agents.status import as_problem
from memd.lifecycle.files import writing
from memd.replication.exchange import RemoteExchange
from memd.replication.git.program import find_git
from memd.replication.git.remote import GitRemote, check_url, is_folder
from memd.replication.git.repository import Repository
from memd.replication.merge.texts import CONFLICTS_FOLDER
from memd.replication.replica import Replica
from memd.replication.runner import ReplicaRunner
from memd.replication.status import describe_replica
from memd.replication.workspace import is_folding
from memd.settings.agents import AgentConfig, agent_id_of
from memd.sources.capacity import SourceLimits
from memd.system.clock import Clock
from memd.system.events import EVENTS
from memd.system.network import NetworkMonitor
from memd_client.errors import (
    AgentUnknownError,
    BadParamsError,
    MemdError,
    RemoteExistsError,
    RemoteUnknownError,
)
from memd_client.messages import RemoteStatus

log = structlog.get_logger(__name__)

FOLDER: Final = "remotes"
"""Folder of the repositories, in the folder of the indexes."""

CHANGE_KINDS: Final = ("sync", "note", "fact")
"""Events after which a workspace may have changed."""

MAX_NEW_AGENTS: Final = 10
"""Agents that a clone creates without a confirmation."""

MAX_CONCURRENT_SYNCS: Final = 4
"""Syncs of all agents at a time: a server of ssh refuses many logins at once."""

OPEN_TIMEOUT_S: Final = 10.0

RELOAD_TIMEOUT_S: Final = 15.0
RELOAD_POLL_INTERVAL_S: Final = 0.1


@dataclass(slots=True)
class _Replication:
    """A replica with its runner, the scope that ends it, and the event of its end."""

    runner: ReplicaRunner
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    ended: trio.Event = field(default_factory=trio.Event)


class ReplicationService:
    """The replicas of all agents.

    Args:
        agents: The agents.
        clock: The wall time.
        reload: Requests that the settings are read again, so that a new agent appears.
        host: The name of this machine.
    """

    def __init__(
        self,
        agents: AgentRegistry,
        clock: Clock,
        reload: Callable[[], None] = lambda: None,
        host: str = "",
    ) -> None:
        self._agents = agents
        self._clock = clock
        self._reload = reload
        self._host = host or machine_name(socket.gethostname())
        self._running: dict[str, _Replication] = {}
        self._broken: dict[str, MemdError] = {}
        self._git = ""
        self._slots = trio.CapacityLimiter(MAX_CONCURRENT_SYNCS)
        self._changing = trio.Lock()
        self._has_replicas = trio.Event()
        self._opened = trio.Event()

    def __repr__(self) -> str:
        return f"<ReplicationService of {len(self._running)} replicas>"

    @property
    def folder(self) -> Path:
        """The folder of the repositories."""
        return self._agents.state_dir / "memory" / FOLDER

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Replicate until cancelled. A replica that can't be opened appears in the status and affects no other."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._follow_events)
            nursery.start_soon(self._follow_network)
            task_status.started()
            for agent_id in await trio.to_thread.run_sync(self._stored):
                try:
                    await self._start(agent_id, "")
                except MemdError as error:
                    self._broken[agent_id] = error
                    log.warning(
                        "remote.not_opened",
                        agent=agent_id,
                        code=error.code,
                        error=error.message,
                        hint=error.hint,
                    )
            self._opened.set()
            await trio.sleep_forever()

    async def wait_opened(self) -> None:
        """Wait until the replicas of an earlier run are open, for `OPEN_TIMEOUT_S` at most."""
        with trio.move_on_after(OPEN_TIMEOUT_S):
            await self._opened.wait()

    def on_use(self, agent_id: str) -> trio.Event | None:
        """Look at an agent's remote soon, because the agent is being used; return as `ReplicaRunner.on_activity`."""
        found = self._running.get(agent_id)
        return None if found is None else found.runner.on_activity()

    # --- requests -------------------------------------------------------------------------------------

    def status(self, agent_id: str | None) -> list[RemoteStatus]:
        """Return the remotes of one agent or all."""
        wanted = None if agent_id is None else self._agents.agent(agent_id).config.id
        rows = [
            describe_replica(each.runner) for name, each in self._running.items() if wanted in (None, name)
        ]
        for name, error in self._broken.items():
            if wanted in (None, name):
                rows.append(RemoteStatus(name, "", self._host, "failed", problem=as_problem(error)))
        return sorted(rows, key=lambda row: row.agent)

    async def add(self, agent_id: str | None, url: str) -> RemoteStatus:
        """Connect an agent to a remote, and sync.

        Raises:
            RemoteExistsError: It has another remote.
            RemoteUnreachableError: The remote can't be reached: nothing is kept of it.
        """
        address = absolute_url(check_url(url))
        name = self._agents.agent(agent_id).config.id
        async with self._changing:
            await self._open_again(name)
            found = self._running.get(name)
            if found is not None:
                if found.runner.replica.exchange.remote.url != address:
                    raise RemoteExistsError(
                        f"agent {name} has another remote: {found.runner.replica.exchange.remote.shown}"
                    )
            else:
                found = await self._connect(name, address)
        await found.runner.sync()
        return describe_replica(found.runner)

    async def clone(self, url: str, agent_id: str | None, *, confirmed: bool) -> list[RemoteStatus]:
        """Connect the agents that a remote has memory of, or one of them; create agents that are missing here.

        Raises:
            BadParamsError: The remote has no memory of that agent, or of any, or it has more than `MAX_NEW_AGENTS` that
                are missing here, which was not `confirmed`.
        """
        address = absolute_url(check_url(url))
        none = Repository(self.folder / "none", await self._program())
        known = [name for name in await GitRemote(none, address, "").agents() if agent_id_of(name) == name]
        wanted = sorted(known) if agent_id is None else [agent_id]
        if not wanted or wanted[0] not in known:
            what = f"no memory of agent {agent_id[:80]!r}" if agent_id else "no memory of any agent"
            empty = "run `memctl remote add` on a machine that has memory"
            hint = f"it has memory of: {', '.join(sorted(known))}" if known else empty
            raise BadParamsError(f"the remote has {what}", hint=hint)
        new = [name for name in wanted if name not in self._agents.agents]
        if len(new) > MAX_NEW_AGENTS and not confirmed:
            raise BadParamsError(
                f"the remote has memory of {len(new)} agents that are missing here",
                hint="name one with `--agent`, or create all of them with `--yes`",
                data={"agents": len(new)},
            )
        for name in wanted:
            await self._ensure_agent(name)
        return [await self.add(name, url) for name in wanted]

    async def sync(self, agent_id: str | None, *, take_over: bool) -> list[RemoteStatus]:
        """Sync the remotes of one agent or all now, also paused ones; raise why one failed if it is the only one."""
        for name in [*self._broken] if agent_id is None else [self._agents.agent(agent_id).config.id]:
            await self._open_again(name)
        rows = []
        for each in self._wanted(agent_id):
            try:
                await each.runner.sync(take_over=take_over)
            except MemdError:
                if agent_id is not None or len(self._running) == 1:
                    raise
            rows.append(describe_replica(each.runner))
        return rows

    async def pause(self, agent_id: str | None, *, is_paused: bool, missing: str = "") -> list[RemoteStatus]:
        """Pause or resume the remotes of one agent or all; this survives a restart.

        `missing` is what to do with missing files of one agent: `delete`, `restore`, or "".
        """
        rows = []
        for each in self._wanted(self._agents.agent(agent_id).config.id if missing else agent_id):
            if missing:
                await each.runner.replica.resolve(delete=missing == "delete")
            await each.runner.replica.repository.set_config("memd.paused", "true" if is_paused else "")
            if is_paused:
                each.runner.is_paused = True
            else:
                each.runner.resume()
            rows.append(describe_replica(each.runner))
        return rows

    async def remove(self, agent_id: str | None) -> list[RemoteStatus]:
        """Disconnect the remote of an agent; its notes stay, here and on the remote."""
        async with self._changing:
            name = self._agents.agent(agent_id).config.id
            rows = []
            if name in self._broken:
                del self._broken[name]
            else:
                [found] = self._wanted(name)
                rows = [describe_replica(found.runner)]
                exchange = found.runner.replica.exchange
                try:
                    await exchange.remote.push(
                        {exchange.remote.machine_ref(found.runner.replica.machine): ""}
                    )
                except MemdError as error:  # the remote may be gone
                    log.info("remote.deregister_failed", agent=name, code=error.code, error=error.message)
                del self._running[name]
                found.scope.cancel()
                await found.ended.wait()
            await trio.to_thread.run_sync(shutil.rmtree, self.folder / f"{name}.git", True)
            log.info("remote.removed", agent=name)
            return rows

    async def settle(self, agent_id: str | None, paths: list[str]) -> list[str]:
        """Delete files of conflicts, all if `paths` is empty; return those that were deleted."""
        config = self._agents.agent(agent_id).config
        every = await trio.to_thread.run_sync(_conflict_files, config.workspace)
        unknown = [path for path in paths if path not in every]
        if unknown:
            raise BadParamsError(
                f"{unknown[0][:200]!r} is not a file of conflicts",
                hint=f"they are: {', '.join(every) or 'none'}",
                data={"path": unknown[0][:200]},
            )
        settled = paths or every
        for path in settled:
            await trio.to_thread.run_sync(writing.remove, config.workspace, path, lambda _: True)
        if (found := self._running.get(config.id)) is not None:
            found.runner.replica.confirm(settled)
            found.runner.on_change()
        return settled

    async def purge(self, agent_id: str | None, path: str) -> tuple[int, list[str]]:
        """Rewrite an agent's history without earlier contents of a file or folder; as `RemoteExchange.purge`."""
        [found] = self._wanted(self._agents.agent(agent_id).config.id)
        return await found.runner.replica.purge(path)

    # --- replicas -------------------------------------------------------------------------------------

    def _wanted(self, agent_id: str | None) -> list[_Replication]:
        """Return the replicas of one agent or all; raise if there is none."""
        if agent_id is None:
            if not self._running:
                raise next(iter(self._broken.values()), RemoteUnknownError("no agent has a remote"))
            return [self._running[name] for name in sorted(self._running)]
        name = self._agents.agent(agent_id).config.id
        if name in self._broken:
            raise MemdError.from_wire(self._broken[name].to_wire())
        if name not in self._running:
            raise RemoteUnknownError(f"agent {name} has no remote")
        return [self._running[name]]

    def _stored(self) -> list[str]:
        """Return the agents that have a repository (blocking)."""
        return sorted(path.stem for path in self.folder.glob("*.git"))

    async def _program(self) -> str:
        if not self._git:
            self._git = await trio.to_thread.run_sync(find_git)
        return self._git

    async def _connect(self, name: str, url: str) -> _Replication:
        """Create the repository of an agent and start its replica; nothing is kept if the remote can't be reached."""
        try:
            return await self._start(name, url)
        except BaseException:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(shutil.rmtree, self.folder / f"{name}.git", True)
            raise

    async def _open_again(self, name: str) -> None:
        """Open a replica that could not be opened before; raise if it still can't be."""
        if name in self._broken:
            await self._start(name, "")
            del self._broken[name]

    async def _start(self, name: str, url: str) -> _Replication:
        """Open the repository of an agent and start its replica; `url` is that of a new one."""
        agent = self._agents.agent(name)
        config, limits = agent.config, agent.limits
        repository = Repository(self.folder / f"{name}.git", await self._program())
        try:
            await repository.open(config.workspace)
            address = url or await repository.config("remote.origin.url")
            remote = GitRemote(repository, check_url(address), name)
            machine = await repository.config("memd.machine")
            if url:
                heads = await remote.heads()
                machine = free_name(self._host, heads.machines)
                await repository.set_config("remote.origin.url", url)
                await repository.set_config("memd.machine", machine)
            exchange = RemoteExchange(repository, remote, limits, machine or self._host)
            folding = await trio.to_thread.run_sync(is_folding, config.workspace)
            replica = Replica(
                repository,
                exchange,
                config,
                limits,
                agent.find_memory,
                machine or self._host,
                self._clock,
                is_folding=folding,
            )
            await replica.load()
            is_paused = await repository.config("memd.paused") == "true"
        except BaseException:
            repository.close()
            raise
        runner = ReplicaRunner(
            replica, self._clock, lambda: self._settings_of(name), self._slots, is_paused=is_paused
        )
        found = _Replication(runner)
        self._running[name] = found
        self._nursery.start_soon(self._run_one, found)
        self._has_replicas.set()
        log.info("remote.started", agent=name, machine=replica.machine, paused=is_paused)
        return found

    def _settings_of(self, name: str) -> tuple[AgentConfig, SourceLimits]:
        """Return the present settings of an agent."""
        agent = self._agents.agent(name)
        return agent.config, agent.limits

    async def _run_one(self, found: _Replication) -> None:
        """Run a replica until it is removed."""
        with found.scope:
            try:
                await found.runner.run()
            finally:
                found.runner.replica.repository.close()
                found.ended.set()

    async def _ensure_agent(self, name: str) -> None:
        """Create an agent if it is missing: a folder in `agents/`, as OpenClaw does."""
        if agent_id_of(name) != name:
            raise BadParamsError(f"{name[:80]!r} can't be the id of an agent")
        if name in self._agents.agents:
            return
        state_dir = self._agents.state_dir
        # Agents known by their folders replace the one that is assumed without any: that one needs a folder too.
        names = {name, *(each.config.id for each in self._agents.agents.values() if each.config.is_default)}
        folders = [*(state_dir / "agents" / each for each in names), state_dir / f"workspace-{name}"]
        for folder in folders:
            await trio.to_thread.run_sync(partial(folder.mkdir, 0o700, parents=True, exist_ok=True))
        self._reload()
        with trio.move_on_after(RELOAD_TIMEOUT_S):
            while name not in self._agents.agents:  # noqa: ASYNC110 - the settings are polled too
                await trio.sleep(RELOAD_POLL_INTERVAL_S)
            return
        raise AgentUnknownError(f"agent {name} was created, but the settings do not include it")

    # --- triggers -------------------------------------------------------------------------------------

    async def _follow_events(self) -> None:
        """Wake replicas of workspaces that changed."""
        with EVENTS.subscribe(None, CHANGE_KINDS) as events:
            while True:
                event = await events.receive()
                if (found := self._running.get(event.agent)) is not None:
                    found.runner.on_change()

    async def _follow_network(self) -> None:
        """Wake all replicas when the network changed."""
        await self._has_replicas.wait()
        monitor = NetworkMonitor()
        try:
            while True:
                await monitor.changed()
                for each in self._running.values():
                    each.runner.on_network()
        finally:
            monitor.close()


def machine_name(host: str) -> str:
    """Return the name of a machine in references and files of conflicts."""
    name = re.sub(r"[^a-z0-9]+", "-", host.partition(".")[0].lower()).strip("-")[:40]
    return name or "machine"


def free_name(wanted: str, taken: Mapping[str, object]) -> str:
    """Return a machine's name that no other machine has."""
    names = (wanted if number == 1 else f"{wanted}-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


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
