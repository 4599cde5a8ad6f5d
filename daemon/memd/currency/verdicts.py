"""Whether what a hit names still holds in one worktree (blocking)."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from memd.currency.memo import Memo
from memd.currency.names import Name
from memd.git.checkout import MAX_FILE_BYTES, Checkout, Commit, History, TreeChanges
from memd.system.safe_open import open_file
from memd_client.searches import Currency

MIN_QUOTE_CHARS: Final = 4
"""Shorter quotations, such as a bracket, are in every file."""

LAST_S: Final = 253_402_300_799
_SHORT_NAME = re.compile(r"\S{0,100}")  # who can commit names files: a sentence isn't shown as a path
_CHECKOUT = re.compile(r"checkout: moving from (\S+) to (\S+)")


class Moment(NamedTuple):
    """Where and when a hit was true: the folder of its relative names or "", the beginning of its day, the time until
    which changes may be its own, and the files that its session changed, each with the last action.
    """

    folder: str
    from_s: int
    until_s: int
    own: Mapping[str, str]


class Worktree:
    """A worktree now, compared with what it was at a moment."""

    def __init__(self, repository: Checkout, history: History, moment: Moment, memo: Memo) -> None:
        self._repository, self._history, self._moment, self._memo = repository, history, moment, memo
        self._changes: TreeChanges | None = None
        for base in memo.get((repository, history.head, moment.until_s), self._find_bases) or ():
            self._base, key = base, (repository, base, history.head)
            self._changes = memo.get(key, lambda: repository.load_changes(self._base, history.head))
            if self._changes is not None:
                break
        else:
            return
        key_of_news = (repository, self._base, history.head, moment.until_s)
        self._news = memo.get(key_of_news, lambda: history.find_news(self._base, moment.until_s)) or set()

    def judge(self, name: Name) -> Currency | None:
        """Return the verdict on a name; None if nothing is certain."""
        if self._changes is None:
            return None
        if name.kind in ("commit", "branch"):
            judge = self._judge_commit if name.kind == "commit" else self._judge_branch
            return judge(name.spellings[0])
        path = next(filter(None, (self._find(spelling, name.kind) for spelling in name.spellings)), None)
        if path is None:
            return None
        location = os.path.join(self._repository.root, path)
        try:
            facts = os.lstat(location)
        except (FileNotFoundError, NotADirectoryError):
            is_own = self._moment.own.get(location) == "deleted"
            return None if is_own or name.kind != "file" else self._judge_missing(path)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > MAX_FILE_BYTES:
            return None
        key = (location, facts.st_mtime_ns, facts.st_size)
        if self._memo.get((*key, name), lambda: self._has_quote(path, name)):
            last = f"-{name.last}" if name.last > name.first else ""
            return Currency("holds", f"{path}:{name.first}{last} is as quoted", path)
        if facts.st_mtime <= self._moment.until_s:
            return None
        if name.kind == "file":
            return self._judge_content(path, self._memo.get(key, lambda: _oids(self._read(path))) or ())
        key_of_text = (*key, self._blob(path), name.pattern)
        is_removed = self._memo.get(key_of_text, lambda: self._is_removed(path, name.pattern))
        return Currency("missing", f"{name.label} is gone from {path}", name.label) if is_removed else None

    def _find_bases(self) -> tuple[str, ...]:
        at_s = self._moment.until_s
        moved = next((sha for moved_s, sha, _ in self._repository.moves() if moved_s <= at_s), "")
        return tuple(filter(None, (moved, self._history.find_base(at_s))))

    def _was_file(self, path: str) -> bool:
        assert self._changes is not None
        return self._changes.files.get(path, ("", ""))[0] != "A" and self._blob(path) != ""

    def _blob(self, path: str) -> str:
        assert self._changes is not None
        return (self._changes.files.get(path) or self._history.tree.get(path, ("", "")))[1]

    def _find(self, spelling: str, kind: str) -> str | None:
        assert self._changes is not None
        root, folder, base = self._repository.root, self._moment.folder or "/", os.path.basename(spelling)
        is_absolute = spelling.startswith(("/", "~/"))
        while is_absolute or "/" in spelling or kind == "text":
            path = os.path.relpath(os.path.join(folder, os.path.expanduser(spelling)), root)
            if self._was_file(path):
                return path
            if is_absolute or len(folder) <= len(root):
                break
            folder = os.path.dirname(folder)
        paths = {*self._history.paths.get(base, ()), *self._changes.gone.get(base, ())}
        paths = {path for path in paths if f"/{path}".endswith(f"/{spelling}") and self._was_file(path)}
        paths = {path for path in paths if _SHORT_NAME.fullmatch(path.removesuffix(spelling))}
        return paths.pop() if len(paths) == 1 and not is_absolute else None

    def _judge_missing(self, path: str) -> Currency | None:
        tree, gone = self._history.tree, f"{path} is gone"
        if path in tree:
            is_certain = tree[path][0] != "160000" and self._repository.is_plain()
            return Currency("missing", f"{gone}; its deletion is not committed", path) if is_certain else None
        first = last = self._find_removal(path)
        while last is not None and last[1] and last[1] not in tree:
            last = self._find_removal(last[1])
        if first is None or last is None:
            return None
        (commit, _), target = first if last[1] else last, last[1]
        day = _day(commit.authored_s)
        how = f"renamed to {target} in" if _SHORT_NAME.fullmatch(target) else "renamed in"
        how = f"{how} {commit.sha[:7]}" if target else f"deleted in {commit.sha[:7]} on {day}"
        return Currency("missing", f"{gone}; {how}", path, commit.sha, day)

    def _find_removal(self, path: str) -> tuple[Commit, str] | None:
        for commit, status, target in self._history.events.get(path, ()):
            if status in "DR" and commit.sha in self._news:
                return commit, target
        return None

    def _judge_content(self, path: str, oids: tuple[str, ...]) -> Currency | None:
        (mode, blob), before = self._history.tree.get(path, ("", "")), self._blob(path)
        if not mode.startswith("100") or not oids or before in oids:
            return None
        events = self._history.events.get(path, ()) if before != blob else ()
        times = {commit.sha: commit.authored_s for commit, _, _ in events}
        news = [sha for sha in times if sha in self._news]
        is_own = os.path.join(self._repository.root, path) in self._moment.own
        if is_own and not any(self._moment.from_s <= times[sha] for sha in times.keys() - self._news):
            news = news[:-1]  # the session's own edit, which was committed later
        is_edited = blob not in oids and self._repository.is_plain()
        if not news:
            return Currency("changed", f"{path} changed and not committed", path) if is_edited else None
        last_s = max(times[sha] for sha in news)
        text = f"{path} changed in {len(news)} commit{'s' if len(news) > 1 else ''} since"
        if last_s >= self._moment.from_s:  # else made before, and pulled or merged since
            text += f", {'last ' if len(news) > 1 else ''}on {_day(last_s)}"
        text += ", and has changes that are not committed" if is_edited else ""
        return Currency("changed", text, path, news[0], _day(last_s))

    def _judge_commit(self, name: str) -> Currency | None:
        commits = self._history.commits.values()
        for commit in commits:
            is_new = commit.reverts.startswith(name) and commit.sha in self._news
            if is_new and not any(later.reverts == commit.sha for later in commits):
                day = _day(commit.authored_s)
                text = f"commit {name} was reverted in {commit.sha[:7]} on {day}"
                return Currency("changed", text, name, commit.sha, day)
        is_there = any(commit.sha.startswith(name) for commit in commits)
        key = (self._repository, self._history.head, "lost", name)
        is_lost = not is_there and self._memo.get(key, lambda: self._repository.is_lost(name))
        return Currency("missing", f"commit {name} is on no branch", name) if is_lost else None

    def _judge_branch(self, name: str) -> Currency | None:
        key, repository = (self._repository, self._history.head, "branches"), self._repository
        used_s = (self._memo.get(key, self._find_branches) or {}).get(name, 0)
        if used_s < self._moment.from_s or self._memo.get((*key, name), lambda: repository.has_branch(name)):
            return None
        return Currency("missing", f"branch {name} is gone", name)

    def _find_branches(self) -> dict[str, int]:
        moves = ((at_s, _CHECKOUT.match(action)) for at_s, _, action in reversed([*self._repository.moves()]))
        return {name: at_s for at_s, match in moves if match for name in match.groups()}

    def _read(self, path: str) -> bytes:
        root = self._repository.root
        with os.fdopen(open_file(root, os.path.join(root, path)), "rb") as file:
            return file.read(MAX_FILE_BYTES + 1)

    def _has_quote(self, path: str, name: Name) -> bool:
        if len(name.quote.strip()) < MIN_QUOTE_CHARS:
            return False
        lines = self._read(path).split(b"\n")[max(0, name.first - 1) : name.last]
        return b"\n".join(lines) == name.quote.encode()

    def _is_removed(self, path: str, pattern: str) -> bool:
        before = self._repository.run("cat-file", "blob", self._blob(path), most=MAX_FILE_BYTES)
        find, now = (
            re.compile(pattern, re.MULTILINE).search,
            self._read(path).decode("utf-8", "surrogateescape"),
        )
        return find(before) is not None and find(now) is None


def _oids(content: bytes) -> tuple[str, ...]:
    contents = (content, content.replace(b"\r\n", b"\n"))  # git may store the line ends of Unix
    objects = [b"blob %d\0%s" % (len(each), each) for each in contents]
    return tuple(hashlib.new(name, data).hexdigest() for data in objects for name in ("sha1", "sha256"))


def _day(at_s: int) -> str:
    return datetime.fromtimestamp(min(max(at_s, 0), LAST_S), UTC).date().isoformat()
