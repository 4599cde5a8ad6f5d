"""One agent's memory on one remote: commits of what changed here, exchange with the remote, and changes from there.

The three steps of a sync are separate, and each leaves a state that the next can start from: local changes are
committed, our commits and the remote's are merged and pushed, and then the workspace follows. Search never waits for
any of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

import trio
from msgspec import Struct, field, json
from msgspec.structs import replace

from memd.agents.agent import Agent
from memd.replication.apply import PendingChange, apply_changes
from memd.replication.check import LEDGER, is_tracked
from memd.replication.exchange import ExchangeState, RemoteExchange
from memd.replication.forgotten import FOLDER, Tombstones, read_forgotten
from memd.replication.git.repository import (
    APPLIED,
    EMPTY_ID,
    REMOTE,
    TIP,
    Repository,
    Signature,
    TreeEntry,
    in_batches,
)
from memd.replication.guard import DELETED, MISSING, DeletionGuard, Loss
from memd.replication.merge.facts import is_facts_path, note_changes, read_ledger, write_ledger
from memd.replication.merge.files import Sides
from memd.replication.merge.texts import CONFLICTS_FOLDER
from memd.replication.messages import CONFIRMED, describe_changes
from memd.replication.names import LocalNames
from memd.replication.workspace import (
    MAX_WAIT_S,
    SETTLE_S,
    Settling,
    WorkspaceReader,
    WorkspaceScan,
)
from memd.system.back_off import back_off_s
from memd.system.clock import Clock
from memd.system.log import log
from memd_client.errors import BadParamsError
from memd_client.messages import MachineStatus, Problem

LOSS_INTERVAL_S: Final = 10.0
"""Interval of scans while files are missing: no event comes when a disk is mounted."""

MAX_SETTLE_ROUNDS: Final = 8

MAX_SHOWN_MACHINES: Final = 100
"""Machines in the status: each takes two commands after every change."""


class SyncReport(Struct):
    """What one sync did."""

    committed: int = 0
    received: int = 0
    exchanged: bool = False


class ReplicaView(Struct, frozen=True):
    """What is known of a replica, for its status."""

    ahead: int = 0
    is_behind: bool = False
    machines: tuple[MachineStatus, ...] = ()
    excluded: Mapping[str, str] = field(default_factory=dict)
    waiting: Mapping[str, str] = field(default_factory=dict)
    conflicts: tuple[str, ...] = ()
    question: Problem | None = None


class Replica:
    """One agent's memory on one remote.

    Args:
        repository: The open repository.
        exchange: The remote.
        find_agent: Returns the agent, with its present settings.
        machine: The name of this machine.
        clock: The wall time.
        forget: Lets this machine forget what tombstones stand for, unless it did.
        is_folding: Whether the workspace's file system ignores case.
    """

    def __init__(
        self,
        repository: Repository,
        exchange: RemoteExchange,
        find_agent: Callable[[], Agent],
        machine: str,
        clock: Clock,
        forget: Callable[[Tombstones], Awaitable[None]],
        *,
        is_folding: bool = False,
    ) -> None:
        self.repository = repository
        self.exchange = exchange
        self.machine = machine
        self.view = ReplicaView()
        self._find_agent = find_agent
        self._clock = clock
        self._forget = forget
        self._is_folding = is_folding
        agent = find_agent()
        self.config = agent.config
        self._reader = WorkspaceReader(agent.find_memory, agent.limits)
        self._settling = Settling()
        self._refs: dict[str, str] = {}
        self._loaded_tip = ""
        self._files: dict[str, str] = {}
        self._ledger = ""
        self._names = LocalNames((), is_folding=is_folding)
        self._waiting: dict[str, PendingChange] = {}
        self._guard = DeletionGuard()
        self._left_out: dict[str, str] = {}
        self._machines: dict[tuple[str, str, str], MachineStatus] = {}  # by name, its commit, and ours
        self._lock = trio.Lock()
        self._is_loaded = False
        self._is_interrupted = False
        self._attempts = 0

    def __repr__(self) -> str:
        return f"<Replica of {self.config.id} on {self.machine}, {len(self._files)} files>"

    @property
    def files(self) -> Mapping[str, str]:
        """Contents of the replicated files by path."""
        return self._files

    def close(self) -> None:
        """Release the repository."""
        self.repository.close()

    async def load(self) -> None:
        """Read the state of the repository; local references only."""
        async with self._lock:
            await self._load()
            self.exchange.must_prune = bool(await self.repository.config("memd.prune"))
            await self._describe()

    async def sync(
        self,
        *,
        is_full: bool = True,
        is_local: bool = False,
        accept_rewrite: bool = False,
        settle: bool = False,
    ) -> SyncReport:
        """Commit, exchange and apply what changed; return what was done.

        Args:
            is_full: Exchange with the remote although nothing changed here.
            is_local: Don't exchange with the remote at all.
            accept_rewrite: Accept a remote whose history was rewritten.
            settle: Wait until recent changes have settled, so that they are included, and fetch again what was refused.

        Raises:
            MemdError: A step failed; what was done before stays, and the next sync continues.
        """
        async with self._exclusive():
            report = SyncReport()
            await self._apply(report)
            await self._commit(report, settle=settle)
            has_news = self._refs.get(TIP, "") != self._refs.get(REMOTE, "")
            if is_local or not (is_full or has_news):
                await self._describe()
                return report
            try:
                await self.exchange.run(
                    self._exchange_state(), accept_rewrite=accept_rewrite, retry=settle, look=is_full
                )
                report.exchanged = True
            finally:
                await self._load()
                await self._apply(report)
                await self._describe()
            if await self.exchange.announce(self._exchange_state()):
                await self._describe()
            await self._finish_forgetting()
            if report.committed or report.received:
                await self.repository.pack_if_needed()
            return report

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        """Run one operation at a time; after one that failed, remove what killed commands left."""
        async with self._lock:
            self._follow_settings()
            if self._is_interrupted:
                await self.repository.remove_stale_files()
                self._is_loaded = False
            self._is_interrupted = True
            if not self._is_loaded:
                await self._load()
            yield
            self._is_interrupted = False

    def _follow_settings(self) -> None:
        """Use the agent's present settings."""
        agent = self._find_agent()
        if (agent.config.workspace, agent.limits) != (self.config.workspace, self.exchange.limits):
            self._reader = WorkspaceReader(agent.find_memory, agent.limits)
            self._settling = Settling()
        self.config, self.exchange.limits = agent.config, agent.limits

    def next_scan_s(self) -> float | None:
        """Return in how many seconds a change here may have settled; None if none is waiting."""
        waits = [
            self._settling.next_s(trio.current_time()),
            LOSS_INTERVAL_S if self._guard.lost.paths else None,
        ]
        if self._waiting:
            waits.append(back_off_s(self._attempts + 1, SETTLE_S, MAX_WAIT_S))
        return min((wait_s for wait_s in waits if wait_s is not None), default=None)

    async def purge(self, path: str) -> tuple[int, list[str]]:
        """Rewrite the history without earlier contents of a file or folder; return as `RemoteExchange.purge`."""
        await self.sync(settle=True)
        async with self._exclusive():
            result = await self.exchange.purge(self._exchange_state(), path)
            await self._load()
            await self._describe()
            await self.exchange.prune()
            return result

    async def forget(self, tombstones: Tombstones) -> None:
        """Remove texts from the history, here and on the remote, and ask other machines to forget them; as `sync`."""
        async with self._exclusive():
            await self.repository.set_config("memd.prune", "true")
            self.exchange.must_prune = True
            await self._share(tombstones)
        await self.sync(settle=True)

    async def find_answers(self, tombstones: Tombstones) -> dict[str, int | None]:
        """Look at the remote; return when other machines forgot texts, in epoch milliseconds, None for no answer."""
        await self.sync()
        answers, by_machine = dict[str, int | None](), self.exchange.forgotten.by_machine
        for name in sorted({*self.exchange.machines, *by_machine} - {self.machine}):
            command = ("log", "-1", "--format=%ct000", self._refs.get(TIP, ""), "--", FOLDER + name)
            is_done = tombstones <= by_machine.get(name, frozenset())
            answers[name] = int(await self.repository.git.text(*command) or 0) if is_done else None
        return answers

    async def _finish_forgetting(self) -> None:
        """Delete what a rewritten history left, and answer new tombstones."""
        forgotten, must_answer = self.exchange.forgotten, self.exchange.forgotten.is_open(self.machine)
        if must_answer:
            await self._forget(forgotten.known)
        if (self.exchange.must_prune or must_answer) and await self.exchange.prune() and must_answer:
            await self._share(forgotten.known)
            await self.exchange.run(self._exchange_state(), look=False)
            await self._load()

    async def _share(self, tombstones: Tombstones) -> None:
        """Commit tombstones as asked for or answered by this machine."""
        known = self.exchange.forgotten.by_machine.get(self.machine, frozenset()) | tombstones
        parents = [tip] if (tip := self._refs.get(TIP, "")) else []
        content = {FOLDER + self.machine: json.encode(known)}
        commit = await self.repository.commit(parents, content, "Forget texts\n", self._signature())
        await self.repository.set_refs({TIP: commit, APPLIED: await self._applied_commit(commit)})
        await self._load()

    # --- steps ----------------------------------------------------------------------------------------

    async def _load(self) -> None:
        """Read the references and the files of the last commit."""
        refs = await self.repository.refs()
        if not self._is_loaded or refs.get(TIP, "") != self._loaded_tip:
            self._loaded_tip = refs.get(TIP, "")
            tree = await self.repository.tree(refs.get(TIP, ""))
            self._files = {path: entry.oid for path, entry in tree.items() if is_tracked(path)}
            self.exchange.forgotten = await read_forgotten(self.repository, tree)
            self._ledger = tree[LEDGER].oid if LEDGER in tree else ""
            self._names = LocalNames(self._files, is_folding=self._is_folding)
        self._refs = refs
        self._is_loaded = True

    async def _scan(self) -> WorkspaceScan:
        scan = await trio.to_thread.run_sync(self._reader.scan, self._names, self._files)
        self._left_out = {path: why for path, why in scan.excluded.items() if path}
        return scan

    async def _changes_in(self, scan: WorkspaceScan) -> dict[str, str | None]:
        """Return contents that differ from the last commit, by path; None: the file is gone, and was not lost."""
        changes: dict[str, str | None] = {}
        for path, oid in scan.files.items():
            if self._files.get(path) != oid and path not in self._waiting:
                changes[path] = oid
        before = {path: oid for path, oid in self._files.items() if path not in self._waiting}
        before |= {path: each.before for path, each in self._waiting.items() if each.before is not None}
        gone = await self._guard.find_gone(before, scan)
        self._guard.confirmed &= gone | self._waiting.keys()
        changes |= dict.fromkeys(gone - self._waiting.keys())
        # What is written to the place of a missing file is no edit of it.
        return {path: oid for path, oid in changes.items() if not self._guard.lost.has(path)}

    async def _commit(self, report: SyncReport, *, settle: bool) -> None:
        """Commit what changed in the workspace and has settled."""
        settled: dict[str, str | None] = {}
        for _ in range(MAX_SETTLE_ROUNDS):
            scan = await self._scan()
            changes = await self._changes_in(scan)
            now_s = trio.current_time()
            settled = {path: oid for path, oid in settled.items() if changes.get(path, "") == oid}
            fresh = {path: oid for path, oid in changes.items() if path not in settled}
            settled |= self._settling.settled(fresh, scan, self._files, now_s, self._clock() * 1_000_000)
            wait_s = self._settling.next_s(now_s, has_busy=False)
            if not settle or wait_s is None:
                break
            await trio.sleep(wait_s)
        if not settled:
            return
        contents = {path: None if oid is None else scan.contents[oid] for path, oid in settled.items()}
        commit = await self._make_commit(contents)
        await self.repository.set_refs({TIP: commit, APPLIED: await self._applied_commit(commit)})
        await self._load()
        report.committed = len(settled)
        log.info("remote.committed", agent=self.config.id, files=len(settled))

    async def _make_commit(self, contents: Mapping[str, bytes | None]) -> str:
        """Make a commit of changed contents, with the times of changed facts."""
        tip = self._refs.get(TIP, "")
        changes: dict[str, bytes | str | None] = dict(contents)
        if any(map(is_facts_path, contents)):
            paths = [path for path in {*self._files, *contents} if is_facts_path(path)]
            wanted = {self._files[path] for path in paths if path in self._files} | {self._ledger or EMPTY_ID}
            kept = await self.repository.load(wanted - {EMPTY_ID})
            before = {
                path: kept[self._files[path]].decode() for path in paths if self._files.get(path) in kept
            }
            after = before | {
                path: data.decode() for path in paths if (data := contents.get(path)) is not None
            }
            after = {path: text for path, text in after.items() if contents.get(path, b"") is not None}
            ledger = read_ledger(kept.get(self._ledger, b"").decode("utf-8", "replace"))
            changes[LEDGER] = write_ledger(note_changes(ledger, before, after, self._clock())).encode()
        message = describe_changes(contents, self._files)
        if not self._guard.confirmed.isdisjoint(path for path, data in contents.items() if data is None):
            message += f"\n{CONFIRMED}\n"
        return await self.repository.commit([tip] if tip else [], changes, message, self._signature())

    async def _apply(self, report: SyncReport) -> None:
        """Bring the workspace to the last commit; what other programs are writing to waits."""
        tip, applied = self._refs.get(TIP, ""), self._refs.get(APPLIED, "")
        if tip == applied:
            self._waiting, self._guard.deleted = {}, Loss()
            return
        before, after = await self.repository.tree(applied), await self.repository.tree(tip)
        changes: list[PendingChange] = []
        for path in sorted({*before, *after}):
            old, new = (tree[path].oid if path in tree else None for tree in (before, after))
            if old != new and is_tracked(path):
                changes.append(PendingChange(path, self._names.local(path), old, new))
        waiting = await self._held(changes, before, after)
        ready = [each for each in changes if each.path not in {change.path for change in waiting}]

        def size_of(change: PendingChange) -> int:
            return sum(tree[change.path].size for tree in (before, after) if change.path in tree)

        for batch in in_batches(ready, size_of):
            contents = await self.repository.load(
                oid for each in batch for oid in (each.before, each.after) if oid is not None
            )
            root, sides, now_ms = self.config.workspace, self._sides(), self._clock()
            waiting += await apply_changes(root, batch, contents, sides, now_ms)
        if ready:  # a disk that was unmounted meanwhile does not have what was written
            kept = {path: entry.oid for path, entry in before.items() if path in after and is_tracked(path)}
            await self._guard.find_gone(kept, await self._scan())
            waiting += [replace(each, reason=MISSING) for each in ready if self._guard.lost.has(each.path)]
        self._waiting = {each.path: each for each in waiting}
        self._attempts = self._attempts + 1 if waiting else 0
        report.received += len(changes) - len(self._waiting)
        if len(self._waiting) < len(changes) or not changes:
            await self._record_applied(tip)
        if changes:
            log.info("remote.applied", agent=self.config.id, files=len(changes), waiting=len(waiting))

    async def _held(
        self,
        changes: Sequence[PendingChange],
        before: Mapping[str, TreeEntry],
        after: Mapping[str, TreeEntry],
    ) -> list[PendingChange]:
        """Return the changes that wait for an answer: in a folder that was lost, or deletions of most of a folder."""
        guard, scan = self._guard, await self._scan()
        kept = {path: entry.oid for path, entry in before.items() if is_tracked(path)}
        await guard.find_gone(kept, scan)
        gone = {each.path for each in changes if each.after is None and each.path in scan.files}
        added = {entry.oid for path, entry in after.items() if path not in before}
        guard.deleted = await guard.find(kept, gone, added)
        if guard.deleted.paths:
            span = self._refs.get(APPLIED, ""), self._refs[TIP]
            gone -= await self.repository.paths_with(*span, "--diff-filter=D", "-F", f"--grep={CONFIRMED}")
            gone -= (await self.repository.renames(*span)).keys()
            guard.deleted = await guard.find(kept, gone, added)
        held = []
        for each in changes:
            if guard.lost.has(each.path):
                held.append(replace(each, reason=MISSING))
            elif each.path in guard.deleted.paths:
                held.append(replace(each, reason=DELETED))
        return held

    async def _applied_commit(self, tip: str) -> str:
        """Return the commit that the workspace is equal to: the last one without the changes that wait."""
        if not self._waiting:
            return tip
        back = {path: each.before for path, each in self._waiting.items()}
        return await self.repository.commit([tip], back, "Not applied yet\n", self._signature())

    async def _record_applied(self, tip: str) -> None:
        """Record which commit the workspace is equal to."""
        commit = await self._applied_commit(tip)
        await self.repository.set_refs({APPLIED: commit})
        self._refs[APPLIED] = commit
        await self.repository.refresh_index(commit)

    # --- questions --------------------------------------------------------------------------------------

    def confirm(self, paths: Iterable[str]) -> None:
        """Let deletions happen without a question: the user requested them."""
        self._guard.confirmed.update(paths)

    async def resolve(self, *, delete: bool) -> None:
        """Delete the files that a question is about everywhere, or restore them here and on the remote.

        Raises:
            BadParamsError: There is no question.
        """
        await self.sync(is_local=True)
        async with self._exclusive():
            paths = {path for path, each in self._waiting.items() if each.reason in (MISSING, DELETED)}
            paths |= self._guard.lost.paths
            if not paths:
                raise BadParamsError(
                    f"no files of agent {self.config.id} are missing", hint="see `memctl remote`"
                )
            if delete:
                self.confirm(paths)
            else:  # as if the workspace never had them: what is in the commit is created, what is here is added to it
                for path in paths | {path for path in self._files if self._guard.lost.has(path)}:
                    self._waiting[path] = PendingChange(path, self._names.local(path), None, None)
                await self._record_applied(self._refs[TIP])
        await self.sync(is_local=True, settle=True)

    async def _describe(self) -> None:
        """Record the state for `status`."""
        tip = self._refs.get(TIP, "")
        known = self._refs.get(REMOTE, "")
        ahead = 0 if tip == known else await self.repository.count_commits(known, tip) if tip else 0
        self.view = ReplicaView(
            ahead=ahead,
            is_behind=self.exchange.heads.tip not in ("", known),
            machines=await self._describe_machines(tip),
            excluded=dict(self._left_out),
            waiting=dict.fromkeys(self._guard.lost.paths, MISSING)
            | {path: each.reason for path, each in self._waiting.items()},
            conflicts=tuple(sorted(path for path in self._files if path.startswith(f"{CONFLICTS_FOLDER}/"))),
            question=self._guard.question(self.config),
        )

    async def _describe_machines(self, tip: str) -> tuple[MachineStatus, ...]:
        """Return the machines that have this memory."""
        every = self.exchange.heads.machines
        shown = sorted(every, key=lambda name: (name != self.machine, name))[:MAX_SHOWN_MACHINES]
        known, self._machines = self._machines, {}
        for name in sorted(shown):
            key = name, every[name], tip
            self._machines[key] = known.get(key) or await self._describe_machine(*key)
        return tuple(self._machines.values())

    async def _describe_machine(self, name: str, commit: str, tip: str) -> MachineStatus:
        is_local, at_s = name == self.machine, await self.repository.commit_time(commit)
        if at_s < 0:
            return MachineStatus(name, is_local)
        return MachineStatus(name, is_local, await self.repository.count_commits(commit, tip), at_s * 1000)

    def _sides(self) -> Sides:
        day = datetime.fromtimestamp(self._clock() / 1000, UTC).date().isoformat()
        return Sides(self.machine, "remote", day)

    def _signature(self) -> Signature:
        """Return who makes a commit now."""
        name, address = f"{self.config.id} on {self.machine}", f"{self.config.id}.{self.machine}"
        return Signature(name, address, self._clock() // 1000)

    def _exchange_state(self) -> ExchangeState:
        return ExchangeState(self._refs, self._files, self._sides(), self._signature())
