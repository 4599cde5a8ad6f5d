"""Which paths are one file: in the worktrees and clones of its repository, and under its earlier names (blocking)."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from memd.git.checkout import Checkout, GitError, find_repository
from memd.index.transcripts import NO_FACTS, SessionFacts, load_session_facts
from memd.index.work import RAN, WorkScope, find_by_file, find_work, load_steps
from memd.system.sqlite import Database
from memd.text.query.terms import phrase_term

MAX_COMMITS, MAX_MOVES, MAX_NAMES = 2_000, 200, 50
_ACCESS = re.compile(r"^(?:\w+://)?(?:[^@/]+@)?")
_MOVING: Final = WorkScope(actions=(RAN,), statuses=("ok", "unknown"))


class FileName(NamedTuple):
    """An absolute path of a file, and until when it had the path if another file has it now, else 0."""

    path: str
    repository: Checkout | None = None
    until_ms: int = 0

    @property
    def root(self) -> str:
        """The folder of its worktree; outside of repositories the root of all paths."""
        return self.repository.root if self.repository else "/"

    @property
    def inner(self) -> str:
        """The path in the worktree."""
        return os.path.relpath(self.path, self.root)

    def log(self) -> tuple[tuple[int, str, str], ...]:
        """Return the commits that changed the file, newest first: milliseconds, the change, and the path before it."""
        return _log(self.repository, self.repository.head(), self.inner) if self.repository else ()


def locate(path: str) -> FileName:
    """Return a path, whose file may be gone, with its repository; links are followed."""
    path = os.path.realpath(path.replace("\0", ""))
    return FileName(path, find_repository(os.path.dirname(path)))


def is_same_file(path: str, name: FileName, facts: SessionFacts) -> bool:
    """Return whether a path in a session is a file by one of its names, in any worktree or clone of its repository."""
    other = locate(path)
    if name.repository is None or name.path in (path, other.path):
        return name.path in (path, other.path)
    if other.repository and other.inner == name.inner:
        return not _addresses(name.repository).isdisjoint(_addresses(other.repository))
    # The session was at the root of a worktree that is gone.
    is_gone = facts.project in _addresses(name.repository) and not os.path.exists(facts.cwd)
    return is_gone and path == f"{facts.cwd}/{name.inner}"


def names_by_git(name: FileName) -> list[FileName]:
    """Return the names that a file has had in its repository, the newest first; at least its present one."""
    names = [name]
    for time_ms, change, earlier in name.log():
        if change == "C":  # the rest is the history of the file of which this one is a copy
            break
        if change == "R":
            path = f"{name.root}/{earlier}"
            names.append(FileName(path, name.repository, time_ms + 999 if os.path.lexists(path) else 0))
    return names


def with_moves(db: Database, names: Sequence[FileName]) -> list[FileName]:
    """Return names of a file with those before agents moved it."""
    names = [*names]
    for name in names:
        for source, time_ms in _sources(db, name):
            if len(names) < MAX_NAMES and all(source.path != other.path for other in names):
                first, *others = names_by_git(source)
                names += [first._replace(until_ms=time_ms if os.path.lexists(source.path) else 0), *others]
    return names


def committed(name: FileName, text: str, line: int) -> tuple[int, int]:
    """Return the times between which a line was written, by git: of the commit before and of its own; 0 if unknown."""
    lines = _run(name.repository, "cat-file", "blob", f"HEAD:{name.inner}").split("\n")
    numbers = [number for number, other in enumerate(lines, 1) if other.rstrip() == text.rstrip()]
    number = str(min(numbers, key=lambda number: abs(number - line), default=0))
    blame = ("blame", "--no-textconv", "--porcelain", f"-L{number},{number}", "HEAD", "--", name.inner)
    time = re.search(r"^author-time (\d{1,11})$", _run(name.repository, *blame), re.M) if numbers else None
    time_ms = int(time[1]) * 1000 if time else 0
    return max((at for at, *_ in name.log() if at < time_ms), default=0), time_ms


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


def _sources(db: Database, name: FileName) -> Iterator[tuple[FileName, int]]:
    """Yield the names from which agents moved a file, by commands and by patches, each with the time."""
    words = " OR ".join(phrase_term(part).match for part in name.path.split("/")[-4:])
    rows = find_work(db, f"text : (mv AND ({words}))", MAX_MOVES, _MOVING)
    moves = [(row, *move) for row, _ in rows for move in moves_in(row.text, row.folder)]
    for row in find_by_file(db, [os.path.basename(name.path)], MAX_MOVES):
        steps = load_steps(db, row.path, row.id - 2, row.id - 1) if row.action == "created" else []
        if [step.action for step in steps] == ["edited", "deleted"] and steps[0].place == row.place:
            moves.append((row, steps[1].subject, row.subject))
    facts = load_session_facts(db, {row.path for row, *_ in moves})
    for row, source, target in moves:
        session, worktree = facts.get(row.path, NO_FACTS), locate(target).root
        for root in {worktree, session.cwd or worktree}:
            path = os.path.join(root, name.inner)
            if (earlier := source_of(path, source, target)) and is_same_file(path, name, session):
                yield locate(os.path.join(name.root, os.path.relpath(earlier, root))), row.time_ms


@lru_cache(maxsize=1_024)
def _log(repository: Checkout, head: str, inner: str) -> tuple[tuple[int, str, str], ...]:
    log = ("log", "--follow", "--name-status", "-z", "--format=%x01%at", f"-n{MAX_COMMITS}", head)
    output = _run(repository, *log, "--", f":(literal){inner}") if head else ""
    entries = [[*entry.split("\0"), "", ""] for entry in output.split("\x01")[1:]]
    return tuple((int(time) * 1000, change.strip()[:1], path) for time, change, path, *_ in entries)


@lru_cache(maxsize=256)
def _addresses(repository: Checkout) -> frozenset[str]:
    """Return the folder of a repository, and the address of its remote without protocol and user."""
    remote = _ACCESS.sub("", _run(repository, "config", "remote.origin.url").strip()).replace(":", "/")
    return frozenset({os.path.dirname(repository.common_dir), remote.removesuffix(".git")} - {""})


def _run(repository: Checkout | None, *arguments: str) -> str:
    """Return what git prints; empty if it fails or doesn't answer in time."""
    try:
        return repository.run(*arguments).encode("utf-8", "replace").decode() if repository else ""
    except GitError:
        return ""
