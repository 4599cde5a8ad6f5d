"""The replicas of all agents: opened at the start, added and removed while the daemon runs."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

import trio

from memd.agents.registry import AgentRegistry
from memd.agents.status import as_problem
from memd.replication.status import describe_replica
from memd.system.clock import Clock
from memd.system.events import EVENTS
from memd.system.log import log
from memd.system.network import NetworkMonitor
from memd_client.errors import MemdError, RemoteUnknownError
from memd_client.messages import RemoteStatus

if TYPE_CHECKING:
    from memd.replication.forgotten import Tombstones
    from memd.replication.git.repository import Repository
    from memd.replication.runner import ReplicaRunner

FOLDER: Final = "remotes"
"""Folder of the repositories, in the folder of the indexes."""

CHANGE_KINDS: Final = ("sync", "note", "fact")
"""Events after which a workspace may have changed."""

MAX_CONCURRENT_SYNCS: Final = 4
"""Syncs of all agents at a time: a server of ssh refuses many logins at once."""

OPEN_TIMEOUT_S: Final = 10.0


class Replicas:
    """The replicas of all agents.

    Args:
        agents: The agents.
        clock: The wall time.

    Attributes:
        running: The runner of each open replica, by agent.
        broken: Why a replica could not be opened, by agent.
        forget: Lets this machine forget what tombstones stand for, as `Replica` needs it.
        host: The name of this machine; in a remote that has another machine of this name, a number follows.
    """

    def __init__(self, agents: AgentRegistry, clock: Clock) -> None:
        self.agents = agents
        self.host = machine_name(socket.gethostname())
        self.forget: Callable[[Tombstones], Awaitable[None]] = _forget_later
        self.running: dict[str, ReplicaRunner] = {}
        self.broken: dict[str, MemdError] = {}
        self._clock = clock
        self._git = ""
        self._slots = trio.CapacityLimiter(MAX_CONCURRENT_SYNCS)
        self._has_replicas = trio.Event()
        self._opened = trio.Event()

    def __repr__(self) -> str:
        return f"<Replicas of {len(self.running)} agents>"

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Replicate until cancelled. A replica that can't be opened appears in the status and affects no other."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._follow_events)
            nursery.start_soon(self._follow_network)
            task_status.started()
            for name in await trio.to_thread.run_sync(self._stored):
                try:
                    await self.start(name)
                except MemdError as error:
                    self.broken[name] = error
                    log.warning(
                        "remote.not_opened",
                        agent=name,
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
        runner = self.running.get(agent_id)
        return None if runner is None else runner.on_activity()

    def name_of(self, agent_id: str | None) -> str:
        """Return the id of an agent, the default agent's for None; raise `AgentUnknownError`."""
        return self.agents.agent(agent_id).agent_id

    def of(self, agent_id: str | None) -> list[ReplicaRunner]:
        """Return the replicas of one agent or all; raise if there is none."""
        if agent_id is None:
            if not self.running:
                raise next(iter(self.broken.values()), RemoteUnknownError("no agent has a remote"))
            return [self.running[name] for name in sorted(self.running)]
        name = self.name_of(agent_id)
        if name in self.broken:
            raise MemdError.from_wire(self.broken[name].to_wire())
        if name not in self.running:
            raise RemoteUnknownError(f"agent {name} has no remote")
        return [self.running[name]]

    def status(self, agent_id: str | None) -> list[RemoteStatus]:
        """Return the remotes of one agent or all."""
        rows = [describe_replica(runner) for runner in self.running.values()]
        for name, error in self.broken.items():
            rows.append(RemoteStatus(name, "", self.host, "failed", problem=as_problem(error)))
        wanted = None if agent_id is None else self.name_of(agent_id)
        return sorted((row for row in rows if wanted in (None, row.agent)), key=lambda row: row.agent)

    async def repository(self, name: str) -> Repository:
        """Return the repository in a folder of the repositories, not yet open."""
        from memd.replication.git.program import find_git
        from memd.replication.git.repository import Repository

        if not self._git:
            self._git = await trio.to_thread.run_sync(find_git)
        return Repository(self.agents.state_dir / "memory" / FOLDER / name, self._git)

    async def connect(self, name: str, url: str) -> ReplicaRunner:
        """Create the repository of an agent and start its replica; nothing is kept if the remote can't be reached."""
        try:
            return await self.start(name, url)
        except BaseException:
            with trio.CancelScope(shield=True):
                await self._delete(name)
            raise

    async def open_again(self, name: str) -> None:
        """Open a replica that could not be opened before; raise if it still can't be."""
        if name in self.broken:
            await self.start(name)
            del self.broken[name]

    async def start(self, name: str, url: str = "") -> ReplicaRunner:
        """Open the repository of an agent and start its replica; `url` is that of a new one."""
        # Imported here because a daemon without remotes needs none of it: 11 ms and 1 MB.
        from memd.replication.exchange import RemoteExchange
        from memd.replication.git.remote import GitRemote, check_url
        from memd.replication.replica import Replica
        from memd.replication.runner import ReplicaRunner
        from memd.replication.workspace import is_folding

        agent = self.agents.agent(name)
        repository = await self.repository(f"{name}.git")
        try:
            await repository.open(agent.config.workspace)
            address = url or await repository.config("remote.origin.url")
            remote = GitRemote(repository, check_url(address), name)
            machine = await repository.config("memd.machine") or self.host
            if url:
                machine = free_name(self.host, (await remote.heads()).machines)
                await repository.set_config("remote.origin.url", url)
                await repository.set_config("memd.machine", machine)
            await repository.set_config(f"memd.{machine}.author", f"{name}.{machine}@memd")
            exchange = RemoteExchange(repository, remote, agent.limits, machine)
            folding = await trio.to_thread.run_sync(is_folding, agent.config.workspace)
            replica = Replica(
                repository,
                exchange,
                lambda: self.agents.agent(name),
                machine,
                self._clock,
                lambda tombstones: self.forget(tombstones),
                is_folding=folding,
            )
            await replica.load()
            is_paused = await repository.config("memd.paused") == "true"
        except BaseException:
            repository.close()
            raise
        runner = ReplicaRunner(replica, self._clock, self._slots, is_paused=is_paused)
        self.running[name] = runner
        self._nursery.start_soon(runner.run)
        self._has_replicas.set()
        log.info("remote.started", agent=name, machine=machine, paused=is_paused)
        return runner

    async def remove(self, name: str) -> None:
        """Stop the replica of an agent and delete its repository."""
        self.broken.pop(name, None)
        runner = self.running.pop(name, None)
        if runner is not None:
            await runner.stop()
        await self._delete(name)
        log.info("remote.removed", agent=name)

    async def _delete(self, name: str) -> None:
        """Delete the repository of an agent."""
        directory = (await self.repository(f"{name}.git")).directory
        await trio.to_thread.run_sync(shutil.rmtree, directory, True)

    def _stored(self) -> list[str]:
        """Return the agents that have a repository (blocking)."""
        return sorted(path.stem for path in (self.agents.state_dir / "memory" / FOLDER).glob("*.git"))

    async def _follow_events(self) -> None:
        """Wake replicas of workspaces that changed."""
        with EVENTS.subscribe(None, CHANGE_KINDS) as events:
            while True:
                event = await events.receive()
                if (runner := self.running.get(event.agent)) is not None:
                    runner.on_change()

    async def _follow_network(self) -> None:
        """Wake all replicas when the network changed."""
        await self._has_replicas.wait()
        monitor = NetworkMonitor()
        try:
            while True:
                await monitor.changed()
                for runner in self.running.values():
                    runner.on_network()
        finally:
            monitor.close()


async def _forget_later(_: Tombstones) -> None:
    """Stand for what forgets on this machine until the daemon has it: the next sync asks again."""
    raise MemdError("the daemon is still starting")


def machine_name(host: str) -> str:
    """Return the name of a machine in references and files of conflicts."""
    name = re.sub(r"[^a-z0-9]+", "-", host.partition(".")[0].lower()).strip("-")[:40]
    return name or "machine"


def free_name(wanted: str, taken: Mapping[str, object]) -> str:
    """Return a machine's name that no other machine has."""
    names = (wanted if number == 1 else f"{wanted}-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)
