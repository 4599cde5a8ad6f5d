"""Exchange of commits with the remote: look, fetch, check, merge and push."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from memd.replication.check import (
    MAX_OTHER_FILES,
    MAX_PATH_BYTES,
    check_files,
    check_text,
    is_tracked,
    refused,
)
from memd.replication.forgotten import SharedForgotten, clean_commit, read_forgotten
from memd.replication.git.purge import find_history, find_objects, rewrite_without
from memd.replication.git.remote import GitRemote, PushOutcome, RemoteHeads
from memd.replication.git.repository import (
    APPLIED,
    INCOMING,
    REMOTE,
    TIP,
    Repository,
    Signature,
    TreeEntry,
    in_batches,
)
from memd.replication.merge.files import Sides, is_conflict_with
from memd.replication.merger import plan_merge
from memd.replication.messages import machine_of
from memd.replication.workspace import max_file_bytes
from memd.sources.capacity import SourceLimits
from memd.system.log import log
from memd_client.errors import (
    BadParamsError,
    GitFailedError,
    MemdError,
    RemoteRefusedError,
    RemoteRewrittenError,
    RemoteUnreachableError,
)

MAX_TRIES: Final = 8
"""How often a sync is repeated because another machine pushed first."""

FETCH_SLACK_BYTES: Final = 64 * 1024 * 1024
"""What a fetch may have beyond twice the limit of an agent's files: the history."""

REFUSAL_S: Final = 600.0
"""How long a commit that was refused is not fetched again, unless a client requests a sync."""

MAX_LISTED_BYTES: Final = MAX_PATH_BYTES + 100
"""Longest line about one file in a list of files."""


class ExchangeState(Struct):
    """The repository's references and files, the names for a merge, and who makes it; the references follow."""

    refs: dict[str, str]
    files: Mapping[str, str]
    sides: Sides
    signature: Signature


class _Refusal(Struct, frozen=True):
    """Why a commit was not used, the limits then, and when it is fetched again although it is the same."""

    tip: str
    limits: SourceLimits
    expires_s: float
    error: MemdError

    def applies(self, tip: str, limits: SourceLimits) -> bool:
        """Return whether fetching a commit now would have the same result."""
        return (tip, limits) == (self.tip, self.limits) and trio.current_time() < self.expires_s


class RemoteExchange:
    """The exchange of one repository with its remote.

    Attributes:
        heads: What the remote had at the last look.
        limits: Limits of what is received.
        must_prune: Whether the history was rewritten, so that its old contents must be deleted here.
        forgotten: The texts that were forgotten on all machines.
        machines: Names of the machines that were seen on the remote.
        checked: How many objects have a forgotten text, and a hash of all, here and in a remote that is a folder.
    """

    def __init__(
        self,
        repository: Repository,
        remote: GitRemote,
        limits: SourceLimits,
        machine: str,
    ) -> None:
        self.remote = remote
        self.heads = RemoteHeads("")
        self.limits = limits
        self.must_prune = False
        self.forgotten = SharedForgotten({})
        self.machines = set[str]()
        self.checked: dict[str, tuple[int, str]] = {}
        self._keeps_history = False
        self._repository = repository
        self._machine = machine
        self._refusal: _Refusal | None = None

    def __repr__(self) -> str:
        return f"<Exchange with {self.remote!r}>"

    async def run(
        self,
        state: ExchangeState,
        *,
        accept_rewrite: bool = False,
        retry: bool = False,
        look: bool = True,
    ) -> None:
        """Merge our commits with the remote's and push the result.

        Args:
            state: Follows the exchange.
            accept_rewrite: Accept a history that was rewritten.
            retry: Fetch a commit again that was refused: the remote may have been repaired without a new one.
            look: Ask what the remote has first; else push at once, and look only if that is overtaken.

        Raises:
            RemoteUnreachableError: The remote can't be reached.
            RemoteRefusedError: It has what memd doesn't accept, or doesn't accept our commits.
            RemoteRewrittenError: Its history was rewritten, and not by `purge` on another machine.
        """
        must_look = look or not self.heads.tip or self.heads.tip != state.refs.get(REMOTE)
        tips: set[str] = set()
        for _ in range(MAX_TRIES):
            if must_look:
                self.heads = await self.remote.heads()
                tips.add(self.heads.tip)
                for name in self.heads.machines.keys() - self.machines:  # their commits are the user's
                    address = state.signature.address.removesuffix(self._machine) + name
                    await self._repository.set_config(f"memd.{name}.author", f"{address}@memd")
                self.machines |= self.heads.machines.keys()
            if await self._try_once(state, accept_rewrite=accept_rewrite, retry=retry):
                return
            must_look = True
        if len(tips) < 2:  # no other machine pushed: the remote itself can't change the branch
            raise RemoteUnreachableError(
                f"{self.remote.shown} can't change {self.remote.branch}: {self.remote.refusal}",
                hint="remove the lock that the message names, or the branch with a part of that name, on the remote",
                data={"reason": "locked"},
            )
        raise RemoteUnreachableError(
            f"{self.remote.shown}: other machines push continuously", data={"reason": "contention"}
        )

    async def _try_once(self, state: ExchangeState, *, accept_rewrite: bool, retry: bool) -> bool:
        """Exchange once with what the remote had at the last look; return False if another machine pushed meanwhile."""
        known, theirs = state.refs.get(REMOTE, ""), self.heads.tip
        is_rewritten = False
        if not theirs and known and not accept_rewrite:
            raise RemoteRewrittenError(f"{self.remote.shown} had memory of this agent and has none any more")
        if theirs and theirs != known:
            theirs, is_rewritten = await self._receive(state, accept_rewrite=accept_rewrite, retry=retry)
        target = await self._merged(state, theirs, is_rewritten=is_rewritten)
        merged, target = target, await self._cleaned(state, target, is_kept=self._keeps_history and not retry)
        is_replaced = target != merged and bool(theirs)
        is_replaced = is_replaced and not await self._repository.is_ancestor(theirs, target)
        if is_rewritten or target != merged:
            await self._repository.set_config("memd.prune", "true")
            self.must_prune = True
        if not target:
            return True
        if target == self.heads.tip:  # `announce` follows, after the workspace
            await self._adopt(state, target, target)
            return True
        try:
            outcome = await (
                self._replace(target) if is_replaced else self.remote.push({self.remote.branch: target})
            )
        except MemdError:
            if not is_replaced:
                await self._adopt(state, target, theirs)
            raise
        if outcome is PushOutcome.STALE:
            return False
        await self._adopt(state, target, target if outcome is PushOutcome.DONE else theirs)
        if outcome is PushOutcome.REFUSED:
            raise RemoteRefusedError(
                f"the remote does not accept the commits of this machine: {self.remote.refusal}",
                hint="allow this machine to push to the branch; what others wrote was received",
            )
        self.heads = replace(self.heads, tip=target)
        return True

    async def _cleaned(self, state: ExchangeState, target: str, *, is_kept: bool) -> str:
        """Return a commit without forgotten texts; its history has some if `is_kept`."""
        repository, known = self._repository, state.refs.get(REMOTE, "")
        if target == known and not self.must_prune:
            return target
        forgotten = await read_forgotten(repository, await repository.tree(target))
        if not forgotten.known:
            return target
        before = await read_forgotten(repository, await repository.tree(known))
        is_checked = before.by_machine.get(self._machine) == forgotten.known and not self.must_prune
        since = known if is_checked or is_kept else ""
        return await clean_commit(
            repository, forgotten.texts, target, since, state.signature, rewrite=not is_kept
        )

    async def _replace(self, target: str) -> PushOutcome:
        """Replace the remote's history, and announce that; raise if the remote does not accept that."""
        refs = dict.fromkeys((self.remote.branch, self.remote.purge_ref(target)), target)
        refs[self.remote.machine_ref(self._machine)] = target
        outcome = await self.remote.push(refs, force_from=self.heads.tip)
        if outcome is PushOutcome.REFUSED:
            self._keeps_history = True
            raise RemoteRefusedError(
                f"the remote does not accept a rewritten history: {self.remote.refusal}",
                hint="allow force pushes to the branch on the remote: see `receive.denyNonFastForwards` there",
            )
        if outcome is PushOutcome.DONE:
            self.heads, self._keeps_history = RemoteHeads(target, {self._machine: target}), False
        return outcome

    async def prune(self) -> bool:
        """Delete what nothing leads to, here and in a remote that is a folder; return whether no text is left here."""
        await self._repository.forget_unused()
        far = await self.remote.forget_unused() if self.must_prune and self.forgotten.known else None
        here = str(self._repository.directory)
        for git, name in ((self._repository.git, here), (far, self.remote.shown)):
            if git is not None and self.forgotten.known:
                found, digest = await find_objects(git, self.forgotten.texts.has)
                self.checked[name] = len(found), digest
        if here in self.checked and self.checked[here][0]:  # such as in a change that waits to be applied
            return False
        await self._repository.set_config("memd.prune", "")
        self.must_prune = False
        return True

    async def announce(self, state: ExchangeState) -> bool:
        """Record on the remote which commit this machine has; return whether that was necessary and done."""
        tip = state.refs.get(TIP, "")
        if not tip or tip != self.heads.tip or self.heads.machines.get(self._machine) == tip:
            return False
        try:
            outcome = await self.remote.push({self.remote.machine_ref(self._machine): tip})
        except MemdError as error:
            log.debug("remote.not_announced", code=error.code, error=error.message)
            return False
        if outcome is PushOutcome.DONE:
            machines = {**self.heads.machines, self._machine: tip}
            self.heads = replace(self.heads, machines=machines)
        return outcome is PushOutcome.DONE

    async def _receive(self, state: ExchangeState, *, accept_rewrite: bool, retry: bool) -> tuple[str, bool]:
        """Fetch and check the remote's commit; return it, and whether its history was rewritten."""
        refusal = self._refusal
        if (
            refusal is not None
            and not (accept_rewrite or retry)
            and refusal.applies(self.heads.tip, self.limits)
        ):
            raise MemdError.from_wire(refusal.error.to_wire())
        limit_bytes = 2 * self.limits.total_bytes + FETCH_SLACK_BYTES
        try:
            await self.remote.fetch(limit_bytes)
            incoming = (await self._repository.refs()).get(INCOMING, "")
            await self._check(incoming, state.files)
            known = state.refs.get(REMOTE, "")
            is_rewritten = bool(known) and not await self._repository.is_ancestor(known, incoming)
            if is_rewritten and not accept_rewrite and not await self._is_purged(known, incoming):
                raise RemoteRewrittenError(
                    f"the history of {self.remote.shown} was rewritten; nothing was changed here"
                )
        except (RemoteRefusedError, RemoteRewrittenError) as error:
            expires_s = trio.current_time() + REFUSAL_S
            self._refusal = _Refusal(self.heads.tip, self.limits, expires_s, error)
            await self._repository.forget_incoming(limit_bytes)
            raise
        self._refusal = None
        return incoming, is_rewritten

    async def _check(self, incoming: str, files: Mapping[str, str]) -> None:
        """Raise `RemoteRefusedError` unless all files of a fetched commit may be used."""
        tree = await self._list(incoming)
        await trio.to_thread.run_sync(
            check_files, tree, max_file_bytes(self.limits), self.limits.files, self.limits.total_bytes
        )
        ours = set(files.values())
        new = [(path, entry) for path, entry in tree.items() if entry.oid not in ours and is_tracked(path)]
        for batch in in_batches(new, lambda each: each[1].size):
            contents = await self._repository.load(entry.oid for _, entry in batch)
            for path, entry in batch:
                check_text(path, contents[entry.oid])

    async def _list(self, incoming: str) -> dict[str, TreeEntry]:
        """Return the files of a fetched commit; a few small folders can list billions of files."""
        if not incoming:  # git warns only
            raise refused("", "has a shallow history", hint="run `git fetch --unshallow` on the remote")
        kind = await self._repository.kind(incoming)
        if kind != "commit":
            raise refused("", f"has a {kind or 'missing object'} in place of a commit on the branch")
        most = (self.limits.files + MAX_OTHER_FILES) * MAX_LISTED_BYTES
        try:
            return await self._repository.tree(incoming, most)
        except GitFailedError as error:
            raise refused("", f"has a commit whose files can't be listed: {error.message}") from None

    async def _is_purged(self, known: str, incoming: str) -> bool:
        """Return whether another machine announced that it rewrote the history by `purge`."""
        fresh = await self._repository.commits_between(known, incoming) if self.heads.purges else set()
        return any(commit in fresh for commit in self.heads.purges.values())

    async def _merged(self, state: ExchangeState, theirs: str, *, is_rewritten: bool) -> str:
        """Return the commit that has our changes and the remote's."""
        repository, tip = self._repository, state.refs.get(TIP, "")
        if not tip or not theirs:
            return tip or theirs
        if not is_rewritten and await repository.is_ancestor(theirs, tip):
            return tip
        if not is_rewritten and await repository.is_ancestor(tip, theirs):
            return theirs
        base = state.refs[REMOTE] if is_rewritten else await repository.merge_base(tip, theirs)
        sides = await self._named(state.sides, tip, theirs)
        changes = await plan_merge(repository, base, tip, theirs, sides)
        message = f"Merge {sides.theirs} into {sides.ours}\n"
        if not is_rewritten:
            return await repository.commit([tip, theirs], changes, message, state.signature)
        # The earlier history must not come back as a parent.
        merged = await repository.commit([theirs], changes, message, state.signature, tree_of=tip)
        trees = [await repository.git.text("rev-parse", f"{commit}^{{tree}}") for commit in (merged, theirs)]
        return theirs if trees[0] == trees[1] else merged

    async def _named(self, sides: Sides, tip: str, theirs: str) -> Sides:
        """Return the sides with the name of the other machine, and whose commit is older."""
        text = await self._repository.git.text("log", "-20", "--format=%cn", theirs, f"^{tip}")
        names = [machine_of(line) for line in text.splitlines()]
        other = next((name for name in names if name and name != sides.ours), "another-machine")
        is_older = await self._repository.commit_time(theirs) < await self._repository.commit_time(tip)
        return replace(sides, theirs=file_name_of(other), theirs_first=is_older)

    async def _adopt(self, state: ExchangeState, target: str, remote: str) -> None:
        """Make a commit this machine's last one."""
        refs = {TIP: target}
        if remote:
            refs[REMOTE] = remote
        if any(state.refs.get(name) != oid for name, oid in refs.items()):
            await self._repository.set_refs(refs)
            state.refs |= refs

    async def purge(self, state: ExchangeState, path: str) -> tuple[int, list[str]]:
        """Rewrite the history on the remote without earlier contents of a file, or of all files of a folder.

        The present version of every file stays. Other names that the file had, files of conflicts with it, and copies
        of its earlier contents are included.

        Returns:
            How many commits the history has, and the names of the files.

        Raises:
            BadParamsError: The history has no such file, or another file still has an earlier content of it.
            RemoteRefusedError: The remote does not accept a rewritten history.
        """
        repository, tip = self._repository, state.refs.get(TIP, "")
        path = path.removeprefix("./").rstrip("/")
        data = {"path": path[:200]}
        found = None
        if tip:
            found = await find_history(repository, tip, lambda each: f"{each}/".startswith(f"{path}/"))
        if found is None or not found.names:
            raise BadParamsError(f"the history has no file or folder {path[:200]!r}", data=data)
        if state.refs.get(APPLIED) != tip:
            raise RemoteRefusedError("changes wait to be applied to files", hint="see `memctl remote`")
        files = {each: entry.oid for each, entry in (await repository.tree(tip)).items()}

        def is_purged(each: str) -> bool:
            return each in found.names or any(is_conflict_with(each, name) for name in found.names)

        kept = {each: oid for each, oid in files.items() if is_purged(each)}
        purged = found.oids - set(kept.values())
        if copies := sorted(each for each in found.copies if files.get(each) in purged):
            raise BadParamsError(
                f"{copies[0][:200]!r} still has an earlier content of {path[:200]!r}",
                hint="delete it from that file first, or the file",
                data=data,
            )
        rewritten = await rewrite_without(repository, tip, lambda each, oid: oid in purged or is_purged(each))
        commit = await repository.commit(
            [rewritten], kept, f"Purge {path} from the history\n", state.signature
        )
        if await self._replace(commit) is PushOutcome.STALE:
            raise RemoteUnreachableError("another machine pushed meanwhile; run the command again")
        await repository.set_refs({TIP: commit, REMOTE: commit, APPLIED: commit})
        return await repository.count_commits("", commit), sorted(found.names | found.copies)


def file_name_of(machine: str) -> str:
    """Return a machine's name as part of a file name."""
    kept = "".join(char if char.isalnum() or char in "_." else "_" for char in machine).strip("._")
    return kept[:40] or "another_machine"
