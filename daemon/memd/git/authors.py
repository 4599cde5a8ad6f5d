"""Which lines of notes other people committed (blocking).

A line is another person's if one of their commits added it, even if the user moved it since. Anyone can write any name
into a commit, so this recognizes only people who don't pretend to be the user.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from memd.git.checkout import WORDS, Checkout, GitError, find_repository
from memd.text.trust.origins import AGENT, OUTSIDE, USER, LineOrigins

MAX_COMMITS, BATCH_COMMITS, DEADLINE_S = 100_000, 500, 15.0  # the first is in `checkout.txt`
LONG_BYTES = (
    40  # such a line counts in every file of its repository: it is no heading that two people both wrote
)
UNREAD = "in a repository whose history can't be read completely"
_USER = re.compile(r"\0(?:(?:user|author)\.(?:email|name)|memd\.[^\0\n]+\.author)\n([^\0]+)")
_ADDRESS = re.compile(r"\0user\.email\n([^\0\n]*)")


class _Commits(Struct):
    """Commits of other people: the days of their lines by hash, their lines by file, and the most trusted origin."""

    shas: list[str] = []
    limit: int = USER
    days: dict[int, str] = {}
    files: dict[str, set[int]] = {}
    state: object = None

    def lowered(self, path: str, lines: list[str], origins: LineOrigins) -> LineOrigins:
        """Return the origins of the lines of a file, of which some may be other people's."""
        keys, days = list(map(_key, lines)), defaultdict[str, list[int]](list)
        if self.limit > USER:
            origins = origins.lowered(range(1, len(keys) + 1), self.limit, UNREAD, len(keys))
        own, sizes = self.files.get(path, ()), [len(line.strip().encode(errors="replace")) for line in lines]
        known = sum(size for key, size in zip(keys, sizes, strict=True) if key in self.days)
        is_copy = 4 * known >= 3 * sum(sizes)  # renamed since
        for number, (key, size) in enumerate(zip(keys, sizes, strict=True), 1):
            if key in self.days and (key in own or is_copy or size >= LONG_BYTES):
                days[self.days[key]].append(number)
        for day, numbers in days.items():
            origins = origins.lowered(numbers, OUTSIDE, f"committed by another person on {day}", len(keys))
        return origins


class Authors:
    """Whose lines an agent's notes have by git: by repositories of the user, and by memd's own one of a workspace."""

    def __init__(self, workspace: str = "/", replica: str = "") -> None:
        self._workspace, self._replica = os.path.realpath(workspace), replica
        self._commits = defaultdict[Checkout, _Commits](_Commits)
        self._notes = defaultdict[Checkout, dict[str, str]](dict)
        self._moved = set[str]()
        self._lock = Lock()

    def lowered(self, path: str, location: str, text: str, origins: LineOrigins) -> LineOrigins:
        """Return the origins of the lines of a note, by its path in the index and its location."""
        try:
            location = os.path.realpath(location)  # of its folder: a note is no link
        except OSError:  # its folder was replaced meanwhile
            return origins
        repository = find_repository(os.path.dirname(location))
        roots = {repository: repository.root} if repository else {}
        if location.startswith(f"{self._workspace}/") and os.path.exists(self._replica):
            roots[Checkout(self._replica, self._replica, self._replica)] = self._workspace
        for checkout, root in roots.items():
            inner = os.path.relpath(location, root).casefold()
            with self._lock:
                commits = self._update(checkout)
                self._notes[checkout][path] = inner
            if commits.days or commits.limit > USER:
                origins = commits.lowered(inner, text.split("\n"), origins)
        return origins

    def find_moved(self) -> set[str]:
        """Return notes to read again: those that commits concern, and the first of each repository that changed."""
        if self._lock.locked():  # a search doesn't wait for git
            return set()
        with self._lock:
            moved, self._moved = self._moved, set()
            for checkout, notes in self._notes.items():
                if notes and self._commits[checkout].state != _state_of(checkout):
                    moved.add(notes.popitem()[0])
            return moved

    def _update(self, checkout: Checkout) -> _Commits:
        old, state = self._commits[checkout], _state_of(checkout)
        if old.state == state:
            return old
        try:
            new = _read(checkout, old)
        except GitError as error:  # if it is missing or refuses the folder, nothing is known
            limit = OUTSIDE if str(error).startswith("git show") else AGENT
            new = replace(old, shas=[], limit=limit)
        new.state, self._commits[checkout] = state, new
        for path, inner in self._notes[checkout].items():
            if (new.limit, new.files.get(inner)) != (old.limit, old.files.get(inner)):
                self._moved.add(path)
        return new


def _read(checkout: Checkout, old: _Commits) -> _Commits:
    """Return the commits of other people, read again if there are others than before; raise `GitError`."""
    until_s = time.monotonic() + DEADLINE_S
    user = _names_in(checkout.run("config", "--list", "-z"))
    if not user:  # several people may have committed here, and then nothing tells who is the user
        output = checkout.run(*WORDS["reflog"])
        user = _names_in(output) if len({*_ADDRESS.findall(output)}) == 1 else user
    rows = [row.partition(" ")[::2] for row in checkout.run(*WORDS["authors"]).split("\n") if row]
    others = {author for _, author in rows if user.isdisjoint(author.casefold().split("\x02"))}
    is_unknown = not user and len(others) == 1  # nothing tells whether the author is the user
    is_cut = len(rows) == MAX_COMMITS or os.path.exists(f"{checkout.common_dir}/shallow")
    shas = [sha for sha, author in rows if author in others and not is_unknown]
    new = _Commits(shas, AGENT if is_unknown or is_cut else USER, old.days, old.files)
    if shas != old.shas:
        new.days, new.files = {}, defaultdict(set)
        for at in range(0, len(shas), BATCH_COMMITS):
            if time.monotonic() > until_s:
                raise GitError("git show: too many commits")
            batch = (*shas[at : at + BATCH_COMMITS], "--", ":(icase)*.md")
            for day, path, added, removed in _parse(checkout.run(*WORDS["patches"], *batch)):
                keys = added - (removed - new.days.keys())  # who only moves a line isn't its author
                new.files[path] |= keys
                new.days.update(dict.fromkeys(keys, day))
    return new


def _names_in(output: str) -> set[str]:
    return {name.strip().casefold() for name in _USER.findall(f"\0{output}")} - {""}


def _parse(patches: str) -> Iterator[tuple[str, str, set[int], set[int]]]:
    """Yield what commits did: the day, a file, the lines added to it, and those removed anywhere."""
    for patch in f"\n{patches}".split("\n=")[1:]:
        day, *lines = patch.split("\n")
        path, added, removed = "", defaultdict[str, set[int]](set), {0}
        for line in lines:
            if line.startswith("+++ "):
                path = line[4:].removeprefix("b/").removesuffix("\t").casefold()
            elif line.startswith((">", "++")):  # by a commit, or by a merge to what both sides had
                added[path].add(_key(line[2 if line[0] == "+" else 1 :]))
            elif line.startswith("<"):
                removed.add(_key(line[1:]))
        for path, keys in added.items():
            yield day, path, keys, removed


def _key(line: str) -> int:
    words = re.sub(r"\$Id(?::[^$]*)?\$", "", line).split()  # git may expand it in the file
    return hash(" ".join(words)) if words else 0


def _state_of(checkout: Checkout) -> list[object]:
    """Return what differs after a commit, a fetch or a change of settings."""
    state = list[object]()
    for path in (f"{folder}/{name}" for folder in set(checkout[1:]) for name in WORDS["state"]):
        with suppress(OSError):
            facts = os.stat(path)
            state += [path, facts.st_size, facts.st_mtime_ns]
    return state
