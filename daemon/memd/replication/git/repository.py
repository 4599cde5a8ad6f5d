"""The git repository of one agent's memory: trees, contents, commits and references.

It is a git directory under memd's state. Commits are written with `fast-import`, one process each, and files are read
with `cat-file`: neither needs a work tree.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import trio
from msgspec import Struct

from memd.replication.git.program import MAX_OUTPUT_BYTES, Git, failed
from memd.system.log import log
from memd_client.errors import GitFailedError

TIP: Final = "refs/heads/memory"
"""The last commit of this machine: what it has pushed, or is about to push."""

APPLIED: Final = "refs/memd/applied"
"""The commit that the workspace was last equal to."""

REMOTE: Final = "refs/memd/remote"
"""The last commit seen on the remote whose files were accepted."""

WORK: Final = "refs/memd/work"
"""A commit that is being made."""

INCOMING: Final = "refs/memd/incoming"
"""A commit that was fetched and not checked yet."""

FILE: Final = "100644"
PLAIN_FILES: Final = (FILE, "100755")

LOCK_FILE: Final = "memd.lock"
"""Locked by the daemon and inherited by its commands: free once all of them have ended."""

LOCK_TIMEOUT_S: Final = 30.0
LOCK_POLL_INTERVAL_S: Final = 0.1

LAST_TIME_S: Final = 253_402_300_799
"""The end of the year 9999: git accepts later times, which fit into no date."""

PACK_LIMIT: Final = 40
LOOSE_LIMIT: Final = 2_000
"""Packs and loose objects above which the repository is packed again."""

BATCH_BYTES: Final = 16 * 1024 * 1024
BATCH_FILES: Final = 1_000
"""Contents that are in RAM at a time while all files of a commit are checked or applied."""

T = TypeVar("T")


class TreeEntry(NamedTuple):
    """One file of a commit: its mode, the id of its content, and its size in bytes (-1: no file)."""

    mode: str
    oid: str
    size: int


class Signature(Struct, frozen=True):
    """Who makes a commit, and when: the name shown in the history, a name for the address, and epoch seconds."""

    name: str
    address: str
    at_s: int


def blob_id(data: bytes) -> str:
    """Return the id that git gives to a content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


EMPTY_ID: Final = blob_id(b"")


class Repository:
    """One agent's repository.

    Resources: a lock from `open` to `close`.
    """

    def __init__(self, directory: Path, program: str) -> None:
        self.directory = directory
        self._program = program
        self._lock = -1
        self._config_lock = trio.Lock()
        self.git = Git(directory, program)

    def __repr__(self) -> str:
        return f"<Repository {self.directory}>"

    async def open(self, workspace: Path) -> None:
        """Create the repository if it is missing, and lock it.

        Raises:
            GitFailedError: It can't be created, or commands of an earlier daemon still use it.
        """
        try:
            await trio.to_thread.run_sync(
                lambda: self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            )
            self._lock = os.open(self.directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise failed("init", f"{self.directory}: {error.strerror}") from None
        await self._wait_for_lock()
        await self.remove_stale_files()
        self.git = Git(self.directory, self._program, (self._lock,))
        if not (self.directory / "HEAD").exists() or not (self.directory / "config").exists():
            await self.git.run(
                "init",
                "--quiet",
                "--bare",
                "--template=",
                "--object-format=sha1",
                f"--initial-branch={TIP.rpartition('/')[2]}",
            )
            await self.set_config("core.bare", "false")
        await self.set_config("core.worktree", str(workspace))

    def close(self) -> None:
        """Release the lock."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    async def remove_stale_files(self) -> None:
        """Remove locks and unfinished files of commands that were killed; none may be running."""
        async with self._config_lock:
            await trio.to_thread.run_sync(self._remove_stale_files)

    # --- settings -------------------------------------------------------------------------------------

    async def config(self, name: str) -> str:
        """Return a setting of the repository, "" if it is not set."""
        return await self.git.answer("config", "--local", "--get", name)

    async def set_config(self, name: str, value: str) -> None:
        """Change a setting of the repository; an empty value removes it."""
        async with self._config_lock:
            with contextlib.suppress(OSError):  # left by a command that was killed
                (self.directory / "config.lock").unlink()
            if value:
                await self.git.run("config", "--local", name, value)
            else:
                await self.git.attempt("config", "--local", "--unset-all", name)

    async def user_config(self, name: str) -> str:
        """Return a setting of the user or the system, "" if it is not set."""
        return await self.git.answer("config", "--get", name)

    # --- references -----------------------------------------------------------------------------------

    async def refs(self) -> dict[str, str]:
        """Return memd's references with the ids they name."""
        text = await self.git.text("for-each-ref", "--format=%(objectname) %(refname)", "refs/memd", TIP)
        return {name: oid for oid, _, name in (line.partition(" ") for line in text.splitlines())}

    async def set_refs(self, refs: Mapping[str, str]) -> None:
        """Change references together; an empty id removes one."""
        lines = [f"update {name} {oid}\n" if oid else f"delete {name}\n" for name, oid in refs.items()]
        await self.git.run("update-ref", "--stdin", stdin="".join(lines).encode())

    async def is_ancestor(self, older: str, newer: str) -> bool:
        """Return whether a commit is another one, or comes before it."""
        if older == newer:
            return True
        result = await self.git.attempt("merge-base", "--is-ancestor", older, newer)
        if result.status > 1:
            raise failed("merge-base", result.errors)
        return result.status == 0

    async def merge_base(self, one: str, other: str) -> str:
        """Return the best common ancestor of two commits, "" if there is none."""
        result = await self.git.attempt("merge-base", one, other)
        if result.status > 1:
            raise failed("merge-base", result.errors)
        return result.text.split("\n")[0] if result.status == 0 else ""

    async def commits_between(self, since: str, until: str) -> set[str]:
        """Return the commits that lead to `until` and that `since` does not include."""
        return set((await self.git.text("rev-list", until, f"^{since}", "--")).split())

    async def paths_with(self, since: str, until: str, *options: str) -> set[str]:
        """Return the paths in the commits between two others that options of `git log` select."""
        command = (
            "log",
            "-z",
            "--format=",
            "--name-only",
            "--no-renames",
            *options,
            until,
            *([f"^{since}"] if since else []),
        )
        return set((await self.git.run(*command)).decode("utf-8", "surrogateescape").split("\0"))

    async def count_commits(self, since: str, until: str) -> int:
        """Return how many commits lead to `until` that `since` (empty: none) does not include."""
        commits = (until, f"^{since}") if since else (until,)
        text = await self.git.answer("rev-list", "--count", *commits, "--")
        return int(text) if text.isdecimal() else 0

    async def commit_time(self, commit: str) -> int:
        """Return when a commit was made, in epoch seconds; -1 if the repository lacks it."""
        text = await self.git.answer("log", "-1", "--format=%ct", commit)
        if not text:
            return -1
        return min(int(text), LAST_TIME_S) if text.isdecimal() else 0

    # --- contents -------------------------------------------------------------------------------------

    async def tree(self, commit: str, limit_bytes: int = MAX_OUTPUT_BYTES) -> dict[str, TreeEntry]:
        """Return all files of a commit by path; `size` is -1 for what is no file. Empty for no commit.

        Raises:
            GitFailedError: The commit can't be read, or the list of its files is longer than `limit_bytes`.
        """
        if not commit:
            return {}
        command = ("ls-tree", "-r", "-z", "-l", "--full-tree", commit)
        result = await self.git.attempt(*command, output_limit_bytes=limit_bytes)
        if result.status:
            raise failed("ls-tree", result.errors)
        return await trio.to_thread.run_sync(_tree_entries, result.output)

    async def kind(self, oid: str) -> str:
        """Return the kind of an object, such as `commit`; "" if it is missing."""
        return await self.git.answer("cat-file", "-t", oid)

    async def load(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Return contents by id."""
        wanted = sorted(set(oids))
        if not wanted:
            return {}
        output = await self.git.run(
            "cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode()
        )
        contents = {oid: data for oid, kind, data in parse_objects(output) if kind == b"blob"}
        for oid in wanted:
            if oid not in contents:
                raise GitFailedError(f"the repository lacks a content it names ({oid[:12]})")
        return contents

    async def renames(self, before: str, after: str) -> dict[str, str]:
        """Return new paths by old paths of files that were renamed between two commits, also with edits."""
        if not before:
            return {}
        output = await self.git.run(
            "diff-tree", "-r", "-z", "-M50%", "--diff-filter=R", "--name-status", before, after
        )
        parts = output.decode("utf-8", "surrogateescape").split("\0")
        return {
            parts[at + 1]: parts[at + 2] for at in range(0, len(parts) - 2, 3) if parts[at].startswith("R")
        }

    # --- commits --------------------------------------------------------------------------------------

    async def commit(
        self,
        parents: Sequence[str],
        changes: Mapping[str, bytes | str | None],
        message: str,
        signature: Signature,
        *,
        tree_of: str = "",
    ) -> str:
        """Make a commit and return its id; `WORK` names it, no other reference changes.

        Args:
            parents: The commits before it; the files are those of the first.
            changes: By path: a new content, the id of one, or None to remove the file.
            message: Subject and body.
            signature: Who makes it, and when.
            tree_of: The commit whose files it begins with, if that is not the first parent.
        """
        ident = f"{_plain(signature.name)} <{_plain(signature.address)}@memd> {max(0, signature.at_s)} +0000"
        body = message.encode()
        stream = bytearray(f"commit {WORK}\nmark :1\ncommitter {ident}\ndata {len(body)}\n".encode())
        stream += body + b"\n"
        for word, parent in zip(("from", *["merge"] * len(parents)), parents, strict=False):
            stream += f"{word} {parent}\n".encode()
        if tree_of:
            stream += b"deleteall\n"
            every = {path: entry.oid for path, entry in (await self.tree(tree_of)).items()}
            changes = {**every, **changes}
        for path, content in changes.items():
            quoted = _quoted(path)
            if content is None:
                if not tree_of:
                    stream += b"D " + quoted + b"\n"
            elif isinstance(content, str):
                stream += b"M " + FILE.encode() + b" " + content.encode() + b" " + quoted + b"\n"
            else:
                stream += b"M " + FILE.encode() + b" inline " + quoted + b"\ndata %d\n" % len(content)
                stream += content + b"\n"
        stream += b"\nget-mark :1\ndone\n"
        output = await self.git.run(
            "fast-import", "--quiet", "--done", "--force", stdin=bytes(stream), timeout_s=300
        )
        return output.decode("ascii").strip()

    async def refresh_index(self, commit: str) -> None:
        """Write git's index of a commit, so that `git status` and `git diff` in this repository make sense."""
        if (await self.git.attempt("read-tree", commit)).status:
            await self.remove_stale_files()

    async def pack_if_needed(self) -> None:
        """Pack the repository if it has many small objects."""
        packs, loose = await trio.to_thread.run_sync(self._count_objects)
        if packs > PACK_LIMIT or loose > LOOSE_LIMIT:
            await self.git.attempt("gc", "--quiet", "--prune=1.hour.ago", timeout_s=600)

    async def forget_unused(self) -> None:
        """Delete every object that neither a reference of use nor the last applied commit leads to."""
        for name in (WORK, INCOMING):
            await self.git.run("update-ref", "-d", name)
        await self.refresh_index(APPLIED)
        await self.git.run("reflog", "expire", "--expire=now", "--all")
        await self.git.run("gc", "--quiet", "--prune=now", timeout_s=600)

    async def forget_incoming(self, limit_bytes: int) -> None:
        """Drop a commit that was refused; delete its objects if the packs have more than `limit_bytes`."""
        await self.git.run("update-ref", "-d", INCOMING)
        await self.remove_stale_files()
        if await trio.to_thread.run_sync(self._pack_bytes) > limit_bytes:
            await self.forget_unused()

    # --- files of the git directory ---------------------------------------------------------------------

    async def _wait_for_lock(self) -> None:
        """Wait for commands of an earlier daemon to end."""
        with trio.move_on_after(LOCK_TIMEOUT_S):
            while True:
                try:
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    await trio.sleep(LOCK_POLL_INTERVAL_S)
                except OSError:  # a file system without locks
                    return
        raise failed("init", "commands of an earlier daemon still use the repository")

    def _remove_stale_files(self) -> None:
        for folder, _, names in os.walk(self.directory):
            for name in names:
                is_unfinished = name.startswith(("tmp_", ".tmp-")) and f"{os.sep}objects" in folder
                is_unfinished |= name.startswith("fast_import_crash_")
                if (name.endswith(".lock") and name != LOCK_FILE) or is_unfinished:
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(folder, name))
                        log.info("remote.stale_file_removed", file=name)

    def _pack_bytes(self) -> int:
        """Return the size of all packs."""
        folder = self.directory / "objects" / "pack"
        return sum(os.lstat(folder / name).st_size for name in _names(folder))

    def _count_objects(self) -> tuple[int, int]:
        """Return the number of packs and about the number of loose objects."""
        objects = self.directory / "objects"
        packs = sum(name.endswith(".pack") for name in _names(objects / "pack"))
        return packs, len(_names(objects / "17")) * 256


def in_batches(files: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield files in groups; a group ends with the file that exceeds `BATCH_BYTES`, or with `BATCH_FILES`."""
    batch: list[T] = []
    size = 0
    for file in files:
        batch.append(file)
        size += size_of(file)
        if size >= BATCH_BYTES or len(batch) >= BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def parse_objects(output: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    """Yield the id, kind and content of the objects in the output of `cat-file --batch`, without missing ones."""
    at = 0
    while (end := output.find(b"\n", at)) >= 0:
        head = output[at:end].split()
        at = end + 1
        if len(head) == 3:
            size = int(head[2])
            yield head[0].decode(), head[1], output[at : at + size]
            at += size + 1


def _names(folder: Path) -> list[str]:
    """Return the names in a folder; none if it is missing."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _tree_entries(listing: bytes) -> dict[str, TreeEntry]:
    """Return the files in the output of `ls-tree` by path; bytes that are not UTF-8 become surrogates."""
    entries: dict[str, TreeEntry] = {}
    for record in listing.split(b"\0"):
        facts, tab, path = record.partition(b"\t")
        if tab:
            mode, _, oid, size = facts.decode("ascii").split()
            name = path.decode("utf-8", "surrogateescape")
            entries[name] = TreeEntry(mode, oid, int(size) if size.isdecimal() else -1)
    return entries


def _plain(text: str) -> str:
    """Return a name without characters that end it in a commit."""
    return "".join(char for char in text if char.isprintable() and char not in "<>").strip() or "memd"


def _quoted(path: str) -> bytes:
    """Return a path as fast-import reads it."""
    return b'"' + path.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
