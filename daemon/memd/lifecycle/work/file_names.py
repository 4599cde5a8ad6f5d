"""Which paths are one file: in the worktrees and clones of its repository, and under its earlier names (blocking)."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from memd.currency.git import GitError, Repository, find_repository
from memd.index.transcripts import SessionFacts

MAX_COMMITS: Final = 2_000


class FileName(NamedTuple):
    """An absolute path of a file; another file had it until `since_ms`, and after `until_ms` if that isn't 0."""

    path: str
    repository: Repository | None = None
    since_ms: int = 0
    until_ms: int = 0

    @property
    def root(self) -> str:
        """The folder of its worktree; outside of repositories the root of all paths."""
        return self.repository.root if self.repository else "/"

    @property
    def inner(self) -> str:
        """The path in the worktree."""
        return os.path.relpath(self.path, self.root)

    def log(self, *options: str) -> tuple[tuple[int, str, str], ...]:
        """Return the commits that changed the file, newest first: milliseconds, the change, and the path before it."""
        return _log(self.repository, self.repository.head(), self.inner, *options) if self.repository else ()


def locate(path: str) -> FileName:
    """Return a path, whose file may be gone, with its repository; links are followed."""
    path = os.path.realpath(path.replace("\0", ""))
    return FileName(path, find_repository(os.path.dirname(path)))


def is_same_file(path: str, name: FileName, facts: SessionFacts) -> bool:
    """Return whether a path in a session is a file by one of its names, in any worktree or clone of its repository."""
    other = locate(path)
    if name.repository is None or name.path in (path, other.path):
        return name.path in (path, other.path)
    shared, is_here = name.repository.common_dir, bool(other.repository) and other.inner == name.inner
    if is_here and other.repository and other.repository.common_dir != shared:
        first, second = _identity(name.repository), _identity(other.repository)
        return bool(first[0]) and first[0] == second[0] and not first[1].isdisjoint(second[1])
    # The session was at the root of a worktree that is gone.
    is_gone = facts.project == os.path.dirname(shared) and not os.path.exists(facts.cwd)
    return is_here or (is_gone and path == f"{facts.cwd}/{name.inner}")


def is_known(name: FileName) -> bool:
    """Return whether a file is on disk, or was in its repository."""
    return os.path.lexists(name.path) or bool(name.log("--follow"))


def names_by_git(name: FileName) -> list[FileName]:
    """Return the names that a file has had in its repository, the newest first; at least its present one."""
    names, last_ms = list[FileName](), 0
    for time_ms, change, earlier in (*name.log("--follow"), (0, "C", "")):
        if change in ("R", "C"):
            others = name.log("--no-renames", "--diff-filter=AD")
            since_ms = max((at for at, kind, _ in others if kind == "D" and at < time_ms), default=0)
            is_reused = last_ms and any(at > last_ms for at, kind, _ in others if kind == "A")
            names.append(name._replace(since_ms=since_ms, until_ms=last_ms + 999 if is_reused else 0))
            name, last_ms = name._replace(path=f"{name.root}/{earlier}"), time_ms
        if change == "C":  # the rest is the history of the file of which this one is a copy
            break
    return names


def committed(name: FileName, text: str, line: int) -> tuple[int, int]:
    """Return the times between which a line was written, by git: of the commit before and of its own; 0 if unknown."""
    lines = _run(name.repository, "cat-file", "blob", f"HEAD:{name.inner}").split("\n")
    numbers = [number for number, other in enumerate(lines, 1) if other.rstrip() == text.rstrip()]
    number = str(min(numbers, key=lambda number: abs(number - line), default=0))
    blame = ("blame", "--no-textconv", "--porcelain", f"-L{number},{number}", "HEAD", "--", name.inner)
    time = re.search(r"^author-time (\d{1,11})$", _run(name.repository, *blame), re.M) if numbers else None
    time_ms = int(time[1]) * 1000 if time else 0
    return max((at for at, *_ in name.log("--follow") if at < time_ms), default=0), time_ms


def moves_in(line: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the source and the target of each `mv` and `git mv` in a command line, as absolute paths."""
    for command in re.split(r"&&|\|\||[;\n]", line):
        try:
            words = [word for word in shlex.split(command) if word[:1] != "-" and word != "git"]
        except ValueError:
            continue
        if words[:1] == ["cd"] and len(words) == 2:
            folder = os.path.join(folder, words[1])
        if words[:1] == ["mv"] and len(words) > 2 and os.path.isabs(folder):
            *sources, target = (os.path.normpath(os.path.join(folder, path)) for path in words[1:])
            yield from ((source, target) for source in sources)


def source_of(path: str, source: str, target: str) -> str:
    """Return the path that a file had before a move to `path`; empty if the move didn't concern it."""
    if not path.startswith(f"{target}/"):
        return source if path == target else ""
    rest, name = path[len(target) + 1 :], os.path.basename(source)
    is_inside = f"{rest}/".startswith(f"{name}/")  # moved into the folder, else the folder was renamed
    return source + rest[len(name) :] if is_inside else f"{source}/{rest}"


@lru_cache(maxsize=1_024)
def _log(repository: Repository, head: str, inner: str, *options: str) -> tuple[tuple[int, str, str], ...]:
    log = ("log", *options, "--name-status", "-z", "--format=%x01%at", f"-n{MAX_COMMITS}", head)
    output = _run(repository, *log, "--", f":(literal){inner}") if head else ""
    entries = [[*entry.split("\0"), "", ""] for entry in output.split("\x01")[1:]]
    return tuple((int(time) * 1000, change.strip()[:1], path) for time, change, path, *_ in entries)


@lru_cache(maxsize=256)
def _identity(repository: Repository) -> tuple[str, frozenset[str]]:
    """Return the first commit of a repository, and the ends of its own address and of its remote's."""
    addresses = (os.path.dirname(repository.common_dir), _run(repository, "config", "remote.origin.url"))
    parts = [re.split("[/:]", address.strip().rstrip("/").removesuffix(".git")) for address in addresses]
    first = _run(repository, "rev-list", "--max-parents=0", "HEAD").split()[-1:]
    return "".join(first), frozenset("/".join(part[-2:]).lower() for part in parts if part[1:])


def _run(repository: Repository | None, *arguments: str) -> str:
    """Return what git prints; empty if it fails or doesn't answer in time."""
    try:
        return repository.run(*arguments).encode("utf-8", "replace").decode() if repository else ""
    except GitError:
        return ""
