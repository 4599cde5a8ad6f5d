"""Reads a user's git repository (blocking): its state from files, its history with git.

Nothing that the repository names is run, nothing is written or fetched, and every command has limits (`checkout.txt`).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Final, NamedTuple, TypeAlias

from memd.text.data_files import read_words

TIMEOUT_S: Final = 5.0
MAX_OUTPUT_BYTES: Final = 48 << 20
MAX_FILE_BYTES: Final = 1 << 20
"""Limits of a command, and the largest file whose content is compared."""

MAX_COMMITS: Final = 20_000
MAX_DEPTH: Final = 40

WORDS: Final = read_words(Path(__file__).with_name("checkout.txt"))
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REVERTS = re.compile(r"^This reverts commit ([0-9a-f]{40,64})", re.MULTILINE)


class GitError(Exception):
    """A command failed, took too long or printed too much."""


class Commit(NamedTuple):
    """A commit; `reverts` is the commit that it reverts, or ""."""

    sha: str
    parents: tuple[str, ...]
    authored_s: int
    reverts: str


Event: TypeAlias = tuple[Commit, str, str]
"""What a commit did to a file: a status of git, and the new path if that is `R`."""


class TreeChanges(NamedTuple):
    """Changes between two commits: status and earlier content by path, and the paths that are gone by base name."""

    files: Mapping[str, tuple[str, str]]
    gone: Mapping[str, list[str]]


class History(NamedTuple):
    """A commit: its files with mode and content, and by base name; its ancestors and their events, newest first."""

    head: str
    tree: Mapping[str, tuple[str, str]]
    paths: Mapping[str, list[str]]
    commits: Mapping[str, Commit]
    events: Mapping[str, list[Event]]

    def find_base(self, at_s: int) -> str:
        """Return the commit that was current at a time if history was not rewritten since; "" if it is unknown."""
        sha = self.head
        while (commit := self.commits.get(sha)) is not None and commit.authored_s > at_s:
            if not commit.parents:
                return ""  # the first commit, or the first of a shallow clone
            sha = commit.parents[0]
        return "" if commit is None and len(self.commits) >= MAX_COMMITS else sha

    def find_news(self, base: str, at_s: int) -> set[str]:
        """Return the commits that came after an earlier one, or, if that is none of its ancestors, after a time."""
        old, waiting = set[str](), [base]
        while waiting:
            if (commit := self.commits.get(waiting.pop())) is not None and commit.sha not in old:
                old.add(commit.sha)
                waiting += commit.parents
        if old or any(base in commit.parents for commit in self.commits.values()):
            return self.commits.keys() - old
        return {commit.sha for commit in self.commits.values() if commit.authored_s > at_s}


class Checkout(NamedTuple):
    """A worktree's folder, its git directory, and the directory that all worktrees of the repository share."""

    root: str
    git_dir: str
    common_dir: str

    def head(self) -> str:
        """Return the current commit; "" if it is unknown."""
        value = _read(f"{self.git_dir}/HEAD").strip()
        name = value.removeprefix("ref: ")
        if name != value and ".." not in name:
            packed = re.compile(rf"^(\S+) {re.escape(name)}$", re.MULTILINE)
            row = packed.search(_read(f"{self.common_dir}/packed-refs"))
            value = _read(f"{self.common_dir}/{name}").strip() or (row[1] if row else "")
        return value if _SHA.fullmatch(value) else ""

    def is_plain(self) -> bool:
        """Return whether a checkout has all files as they are in the commit: no filters, not sparse."""
        files = (f"{self.root}/.gitattributes", f"{self.common_dir}/info/attributes")
        is_filtered = any(re.search(r"filter=|ident|encoding", _read(file)) for file in files)
        return not is_filtered and not os.path.exists(f"{self.git_dir}/info/sparse-checkout")

    def moves(self) -> Iterator[tuple[int, str, str]]:
        """Yield what was checked out here, newest first: time in seconds, commit, and what was done."""
        for line in reversed(_read(f"{self.git_dir}/logs/HEAD").split("\n")):
            facts, _, action = line.partition("\t")
            words = facts.split(" ")
            if len(words) > 4 and words[-2].isdecimal() and _SHA.fullmatch(words[1]):
                yield int(words[-2]), words[1], action

    def load_history(self, head: str, since_s: int) -> History:
        """Return the history of a commit since a time; raise `GitError`."""
        tree, paths = dict[str, tuple[str, str]](), defaultdict[str, list[str]](list)
        for row in self.run("ls-tree", "-r", "-z", head).split("\0"):
            facts, _, path = row.partition("\t")
            tree[path] = facts[:6], facts.rpartition(" ")[2]
            paths[path.rpartition("/")[2]].append(path)
        log = self.run("log", *WORDS["log"], f"--since={since_s}", head, "--")
        return History(head, tree, paths, *_parse_log(iter(log.split("\0"))))

    def load_changes(self, base: str, head: str) -> TreeChanges:
        """Return the changes between two commits by earlier path, added files as `A`; raise `GitError`."""
        files, gone = dict[str, tuple[str, str]](), defaultdict[str, list[str]](list)
        rows = iter(self.run("diff-tree", *WORDS["diff"], base, head, "--").split("\0"))
        for row in rows:
            facts = row.split(" ")
            if len(facts) == 5:
                path, status = next(rows, ""), facts[4][0]
                files[path] = status, facts[2]
                if status == "R":
                    files.setdefault(next(rows, ""), ("A", ""))
                if status in "DR":
                    gone[path.rpartition("/")[2]].append(path)
        return TreeChanges(files, gone)

    def has_branch(self, name: str) -> bool:
        """Return whether a branch exists, on this machine or on a remote as of the last fetch; raise `GitError`."""
        return bool(self.run("for-each-ref", "--count=1", f"refs/heads/{name}", f"refs/remotes/*/{name}"))

    def is_lost(self, commit: str) -> bool:
        """Return whether a commit is on no branch, in no tag and not checked out; raise `GitError` without it."""
        self.run("cat-file", "-e", f"{commit}^{{commit}}")
        refs = self.run("for-each-ref", "--count=1", f"--contains={commit}")
        return not refs and _read(f"{self.git_dir}/HEAD").startswith("ref: ")

    def run(self, *arguments: str, most: int = MAX_OUTPUT_BYTES) -> str:
        """Return the output of git; raise `GitError`."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= dict(row.split("=") for row in WORDS["environment"])
        environment["GIT_CEILING_DIRECTORIES"] = os.path.dirname(self.root)
        command = [shutil.which("git") or "git", "-C", self.root, *WORDS["settings"], *arguments]
        try:
            with Popen(
                command, -1, None, DEVNULL, PIPE, DEVNULL, env=environment, process_group=0
            ) as process:
                timer = threading.Timer(TIMEOUT_S, _end, [process.pid])
                timer.start()
                output = b"" if process.stdout is None else process.stdout.read(most + 1)
                if len(output) > most:
                    _end(process.pid)
                timer.cancel()
        except (OSError, ValueError) as error:
            raise GitError(f"git {arguments[0]}: {error}") from None
        if process.returncode or len(output) > most:
            raise GitError(f"git {arguments[0]}: exit code {process.returncode}")
        return output.decode("utf-8", "surrogateescape")


def find_repository(folder: str) -> Checkout | None:
    """Return the repository and worktree of a folder, which may be gone; None if it is in none."""
    for _ in range(MAX_DEPTH):
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            return Checkout(folder, git, git)
        if os.path.isfile(git):
            target = os.path.join(folder, _read(git).removeprefix("gitdir:").strip())
            shared = os.path.join(target, _read(f"{target}/commondir").strip())
            return Checkout(folder, target, os.path.normpath(shared))
        folder = os.path.dirname(folder)
    return None


def _end(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _read(path: str) -> str:
    try:
        is_small = os.path.isfile(path) and os.path.getsize(path) <= 8 * MAX_FILE_BYTES
        return Path(path).read_text("utf-8", "surrogateescape") if is_small else ""
    except (OSError, ValueError):
        return ""


def _parse_log(tokens: Iterator[str]) -> tuple[dict[str, Commit], dict[str, list[Event]]]:
    commits, events, commit = dict[str, Commit](), defaultdict[str, list[Event]](list), Commit("", (), 0, "")
    for token in tokens:
        if token.startswith("\x01"):
            sha, parents, authored, message = token[1:].split("\x02", 3)
            reverts = _REVERTS.search(message)
            commit = Commit(sha, tuple(parents.split()), int(authored or "0"), reverts[1] if reverts else "")
            commits[sha] = commit
        elif status := token.strip("\n")[:1]:
            path = next(tokens, "")
            events[path].append((commit, status, next(tokens, "") if status in "RC" else ""))
    return commits, events
