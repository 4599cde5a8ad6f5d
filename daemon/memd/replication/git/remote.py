"""The remote of one agent's memory: what it has, fetching, and pushing; git's messages as errors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct, field

from memd.replication.git.program import Git, GitResult, failed, one_message, ssh_command, without_password
from memd.replication.git.repository import INCOMING, Repository
from memd_client.errors import (
    BadParamsError,
    MemdError,
    RemoteRefusedError,
    RemoteUnreachableError,
)

LOOK_TIMEOUT_S: Final = 30.0
TRANSFER_TIMEOUT_S: Final = 300.0

PUSH_GRACE_S: Final = 3
"""Age from which unused objects are deleted in a folder: another machine may be about to refer to younger ones."""

_NO_TRANSFER: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}

BRANCH: Final = "refs/heads/memd/"
"""Branches of agents' memory on the remote; the id of the agent follows."""

STATE: Final = "refs/memd/"
"""Further references: `<agent>/machines/<name>` and `<agent>/purges/<commit>`."""

MAX_URL_CHARS: Final = 2_048

_FAR_GIT: Final = (
    "GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL=none git -c core.hooksPath=/dev/null -c core.fsmonitor=false"
    " -c core.alternateRefsCommand=true -c receive.autogc=false -c receive.denyCurrentBranch=refuse"
)
"""Runs git in the repository of a local folder, whose hooks and settings would run programs."""

_MACHINE: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
"""Names of machines that memd gives; other references of a remote are no machines."""

_UNREACHABLE: Final = (
    (
        "host_key",
        "host key verification failed|identification has changed|no matching host key",
        "run the same ssh connection once in a terminal to check and accept the key of the host",
    ),
    (
        "auth",
        "permission denied|publickey|authentication failed|could not read (username|password)"
        "|terminal prompts disabled|access denied|error: 40[13]|unable to read askpass",
        "set up access without a password for the daemon: an ssh key without passphrase, or a credential helper",
    ),
    (
        "missing",
        "does not appear to be a git repository|repository .*not found|not found: did you run|no such file",
        "create an empty repository there (`git init --bare`), or correct the address",
    ),
    (
        "setup",
        r"dubious ownership|safe\.directory|bad (numeric |boolean )?config|expected git repo version"
        r"|unknown repository extension|transport '.*' not allowed",
        "change the setting of git that the message names, here or on the remote",
    ),
)
"""Reasons of an unreachable remote that a person has to end: the name, what git says, and the hint."""

_TOO_BIG = re.compile(r"file too large", re.IGNORECASE)
_BROKEN = re.compile(
    r"fsck error|bad object|missing (blob|tree|commit)|did not send all necessary|unresolved deltas|corrupt|shallow"
    r"|did not receive expected object|not our ref|hash mismatch|invalid object|inflate|object format|malformed"
    r"|unable to parse|not a tree|mismatched algorithms",
    re.IGNORECASE,
)
_INTERRUPTED = re.compile(
    r"early EOF|unexpected disconnect|RPC failed|connection (reset|timed out)", re.IGNORECASE
)
"""Says that a transfer ended before its end. A remote whose objects are damaged ends it too, and says why."""

_DAMAGED_THERE = "corruption on the remote"
_STALE = re.compile(
    r"fetch first|non-fast-forward|stale info|failed to update ref|cannot lock ref|incorrect old value"
)
_OVERTAKEN = re.compile(r"stale info|is at [0-9a-f]+ but expected")
"""The same for a push that replaces the history."""


class RemoteHeads(Struct, frozen=True):
    """What a remote has of one agent.

    `tip` is its last commit, "" if there is none. `machines` are the commits that machines had last, by name; `purges`
    the commits of rewritten histories, by the name of the reference.
    """

    tip: str
    machines: Mapping[str, str] = field(default_factory=dict)
    purges: Mapping[str, str] = field(default_factory=dict)


class PushOutcome(Enum):
    """The outcome of a push: done, overtaken by another machine, or refused by the remote."""

    DONE = "done"
    STALE = "stale"
    REFUSED = "refused"


class GitRemote:
    """The remote of one repository.

    Every call raises `RemoteUnreachableError` if the remote can't be reached or refuses this user, with what git said.
    """

    def __init__(self, repository: Repository, url: str, agent_id: str) -> None:
        self.url = url
        self.refusal = ""
        self._repository = repository
        self._agent = agent_id
        self._ssh = ""
        self._folder = ""

    def __repr__(self) -> str:
        return f"<Remote {self.shown}>"

    @property
    def shown(self) -> str:
        """The address without credentials."""
        return without_password(self.url)

    @property
    def branch(self) -> str:
        """The branch of this agent on the remote."""
        return BRANCH + self._agent

    def machine_ref(self, name: str) -> str:
        """Return the reference of a machine on the remote."""
        return f"{STATE}{self._agent}/machines/{name}"

    def purge_ref(self, commit: str) -> str:
        """Return the reference on the remote that announces a rewritten history."""
        return f"{STATE}{self._agent}/purges/{commit[:16]}"

    async def heads(self) -> RemoteHeads:
        """Return what the remote has now."""
        patterns = (self.branch, f"{STATE}{self._agent}/*")
        command = ("ls-remote", "--quiet", "--refs", "--", self.url, *patterns)
        result = await self._run(*command, timeout_s=LOOK_TIMEOUT_S)
        return await trio.to_thread.run_sync(self._heads_in, result)

    def _heads_in(self, result: GitResult) -> RemoteHeads:
        """Return the references in the output of `ls-remote`, which can be thousands."""
        tip, machines, purges = "", dict[str, str](), dict[str, str]()
        for name, oid in _refs(result).items():
            if name == self.branch:
                tip = oid
            elif name.startswith(self.machine_ref("")):
                machine = name.removeprefix(self.machine_ref(""))
                if _MACHINE.fullmatch(machine):
                    machines[machine] = oid
            elif name.startswith(self.purge_ref("")):
                purges[name] = oid
        return RemoteHeads(tip, machines, purges)

    async def fetch(self, limit_bytes: int) -> None:
        """Fetch the branch to `INCOMING`, which is not set if the history of the remote is shallow.

        Raises:
            RemoteRefusedError: It is larger than `limit_bytes`, or its objects are damaged.
        """
        await self._repository.git.run("update-ref", "-d", INCOMING)
        await self._run(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--force"),
            *("--", self.url, f"{self.branch}:{INCOMING}"),
            timeout_s=TRANSFER_TIMEOUT_S,
            limit_bytes=limit_bytes,
        )

    async def push(self, refs: Mapping[str, str], force_from: str | None = None) -> PushOutcome:
        """Set references on the remote; an empty id removes one.

        Args:
            refs: Commits by reference. The agent's branch only moves forward, unless `force_from` is given.
            force_from: The commit the branch must have, to replace it by any other. All other references of the agent
                are removed.
        """
        specs = [f"{'+' if oid and name != self.branch else ''}{oid}:{name}" for name, oid in refs.items()]
        # A purge that is refused must not be announced, nor forget the other machines.
        force: tuple[str, ...] = ()
        if force_from is not None:
            force = "--atomic", "--prune", f"--force-with-lease={self.branch}:{force_from}"
            specs.append(
                f"{STATE}none/*:{STATE}{self._agent}/*"
            )  # removes all others: nothing has that prefix
        result = await self._attempt(
            *(
                "push",
                "--porcelain",
                "--no-verify",
                "--no-follow-tags",
                "--no-signed",
                *force,
                "--",
                self.url,
                *specs,
            ),
            timeout_s=TRANSFER_TIMEOUT_S,
        )
        rows = await trio.to_thread.run_sync(_push_rows, result)
        reason = rows.get(self.branch, "") if self.branch in refs else next(iter(rows.values()), "")
        if result.status and not rows:
            raise remote_error(self.url, result)
        if not reason:
            return PushOutcome.DONE
        self.refusal = one_message(f"{reason}\n{result.errors}")
        pattern, text = (_STALE, reason) if force_from is None else (_OVERTAKEN, reason + result.errors)
        if pattern.search(text):
            return PushOutcome.STALE
        return PushOutcome.REFUSED

    async def forget_unused(self) -> Git | None:
        """Delete unused objects of a remote in a folder, without running its programs; return commands on it."""
        path = self._folder.removeprefix("file://")
        places = (Path(path + end) for end in ("/.git", "", ".git") if path)
        if (directory := next((place for place in places if (place / "HEAD").is_file()), None)) is None:
            return None
        git = Git(directory, "git")
        if not await git.answer("config", "--get-all", "gc.recentObjectsHook"):
            await trio.sleep(PUSH_GRACE_S + 1)
            await git.attempt("reflog", "expire", "--expire=now", "--expire-unreachable=now", self.branch)
            command = ("gc", "--quiet", f"--prune={PUSH_GRACE_S}.seconds.ago")
            await git.attempt(*command, timeout_s=TRANSFER_TIMEOUT_S, environ=_NO_TRANSFER)
        return git

    async def agents(self) -> dict[str, str]:
        """Return the ids of all agents whose memory the remote has, with their commits."""
        command = ("ls-remote", "--quiet", "--refs", "--", self.url, f"{BRANCH}*")
        refs = _refs(await self._run(*command, timeout_s=LOOK_TIMEOUT_S))
        return {name.removeprefix(BRANCH): oid for name, oid in refs.items() if name.startswith(BRANCH)}

    async def _run(self, *arguments: str, timeout_s: float, limit_bytes: int | None = None) -> GitResult:
        result = await self._attempt(*arguments, timeout_s=timeout_s, limit_bytes=limit_bytes)
        if result.status:
            raise remote_error(self.url, result)
        return result

    async def _attempt(self, *arguments: str, timeout_s: float, limit_bytes: int | None = None) -> GitResult:
        if not self._ssh:
            configured = os.environ.get("GIT_SSH_COMMAND") or await self._repository.user_config(
                "core.sshCommand"
            )
            self._ssh = ssh_command(configured)
            address = await self._repository.git.attempt("ls-remote", "--get-url", "--", self.url)
            self._folder = address.text if is_folder(address.text) else ""
        environ = (
            {}
            if os.environ.get("GIT_SSH") and "GIT_SSH_COMMAND" not in os.environ
            else {"GIT_SSH_COMMAND": self._ssh}
        )
        command, *rest = arguments
        far = "receive-pack" if command == "push" else "upload-pack"
        options = [f"--{far}={_FAR_GIT} {far}"] if self._folder else []
        return await self._repository.git.attempt(
            command, *options, *rest, timeout_s=timeout_s, file_limit_bytes=limit_bytes, environ=environ
        )


def is_folder(url: str) -> bool:
    """Return whether git finds an address in the file system, and runs its commands there itself."""
    return url.startswith("file://") or ("://" not in url and not re.match(r"[^/]*:", url))


def check_url(url: str) -> str:
    """Return the address of a remote, or raise `BadParamsError` for one that git would not treat as an address."""
    text = url.strip()
    if not text or len(text) > MAX_URL_CHARS or not text.isprintable():
        raise BadParamsError("the address of the remote is empty, too long, or has control characters")
    if text.startswith("-"):
        raise BadParamsError(f"the address of the remote begins with `-`: {without_password(text)[:80]!r}")
    if "::" in text.partition("/")[0]:
        raise BadParamsError(
            f"remotes that run a helper program are not supported: {without_password(text)[:80]!r}",
            hint="pass an address of ssh, https, or a folder",
        )
    return text


def remote_error(url: str, result: GitResult) -> MemdError:
    """Return the error for a failed command on a remote, with what git said."""
    said = one_message(result.errors) or f"git ended with status {result.status}"
    shown, data = without_password(url), {"url": without_password(url)}
    if "No space left" in said:
        return failed("fetch or push", said)
    is_interrupted = bool(_INTERRUPTED.search(said)) and _DAMAGED_THERE not in said
    if _TOO_BIG.search(said):
        return RemoteRefusedError(
            f"{shown} sends more data than an agent's memory may have: {said}",
            hint="remove large files from the remote, or raise `max_agent_mb` in memd.toml",
            data=data,
        )
    if _BROKEN.search(said) and not is_interrupted:
        return RemoteRefusedError(
            f"{shown} has damaged or unsuitable objects: {said}",
            hint="run `git fsck` on the remote, or create a new remote from a machine that has the memory",
            data=data,
        )
    for reason, pattern, hint in _UNREACHABLE:
        if re.search(pattern, said, re.IGNORECASE):
            return RemoteUnreachableError(f"{shown}: {said}", hint=hint, data=data | {"reason": reason})
    return RemoteUnreachableError(f"{shown}: {said}", data=data | {"reason": "offline"})


def _refs(result: GitResult) -> dict[str, str]:
    """Return the references in the output of `ls-remote`."""
    rows = (line.partition("\t") for line in result.text.split("\n"))
    return {name: oid for oid, tab, name in rows if tab}


def _push_rows(result: GitResult) -> dict[str, str]:
    """Return, for each pushed reference, why it was not changed ("" if it was)."""
    rows: dict[str, str] = {}
    for line in result.text.splitlines():
        flag, tab, rest = line.partition("\t")
        pair, _, summary = rest.partition("\t")
        if tab and ":" in pair:
            rows[pair.rpartition(":")[2]] = summary if flag == "!" else ""
    return rows
