"""Which folders to watch, and whom a change in one of them concerns.

Folders only, never single files: a file that is replaced takes its watch along. Every root's nearest folder
above is among them, so that a root that comes, goes or is renamed is seen. Links are not followed.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from memd.settings.agents import OPENCLAW_DATABASE
from memd.settings.schema import ExtraPath
from memd.sync.disk.discover import NO_DESCRIPTOR
from memd.sync.disk.filesystems import Mounts
from memd.sync.disk.rules import MEMORY_FOLDER, ROOT_NAMES, is_markdown, is_walked

Kind = Literal["memory", "sessions"]
Hint = tuple[str, Kind]
"""An agent, and which of its files may have changed."""

Identity = tuple[int, int]
"""Device and inode: what a folder is, whatever it is called."""

Survey = Literal["listened", "polled", "all"]

ELSEWHERE = "where changes made elsewhere raise no file events"
ODD_NAME = "holds a file name that is not UTF-8, which file events can't carry: rename that file"


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """What matters to one agent. Session folders are looked at without what is below them."""

    agent: str
    workspace: Path
    extra_paths: tuple[ExtraPath, ...] = ()
    session_folders: tuple[Path, ...] = ()

    @property
    def hints(self) -> frozenset[Hint]:
        """The agent with each kind of file it has."""
        kinds: tuple[Kind, ...] = ("memory", "sessions") if self.session_folders else ("memory",)
        return frozenset((self.agent, kind) for kind in kinds)


class Interest(NamedTuple):
    """Why a folder is watched: for whom, and which names in it matter.

    `names` are casefolded; None means all notes and folders, or all transcripts, by `kind`.
    """

    agent: str
    kind: Kind
    names: frozenset[str] | None = None

    @property
    def hint(self) -> Hint:
        """What a change that matters is told as."""
        return self.agent, self.kind

    @property
    def is_tree(self) -> bool:
        """Whether folders below matter too, whatever their name."""
        return self.names is None and self.kind == "memory"

    def wants(self, name: str) -> bool:
        """Return whether a file of that name can matter."""
        if self.names is not None:
            return name.casefold() in self.names
        return is_markdown(name) if self.kind == "memory" else is_transcript(name)


def is_transcript(name: str) -> bool:
    """Return whether a file may hold a session, rotations and the database's log included."""
    # The shared memory beside the database moves whenever it is read, by the daemon too.
    return ".jsonl" in name or (name.startswith(OPENCLAW_DATABASE) and not name.endswith("-shm"))


@dataclass(slots=True)
class Folder:
    """One folder to watch. `polled` says why events won't do, `readable` whether it can be listed at all."""

    path: str
    identity: Identity
    polled: str = ""
    readable: bool = True
    interests: set[Interest] = field(default_factory=set)


@dataclass(slots=True)
class Layout:
    """The folders that matter at one moment.

    `folders` has every path a folder is known under; `polled` says for an agent why events won't do for some
    of its folders; `odd` are folders that hold a name events can't carry, of those that were suspected.
    """

    folders: dict[str, Folder] = field(default_factory=dict)
    polled: dict[str, str] = field(default_factory=dict)
    odd: frozenset[str] = frozenset()

    def listened(self) -> dict[str, Identity]:
        """Return the folders events are wanted for, each once."""
        return {
            folder.path: folder.identity
            for path, folder in self.folders.items()
            if path == folder.path and folder.readable and not folder.polled
        }

    def hints_since(self, other: Layout) -> set[Hint]:
        """Return whom the difference to the folders of an earlier moment concerns."""
        paths = {path for path, _ in self.listened().items() ^ other.listened().items()}
        return {
            interest.hint
            for layout in (self, other)
            for path in paths
            if (folder := layout.folders.get(path)) is not None
            for interest in folder.interests
        }


def survey(plans: Iterable[WatchPlan], mounts: Mounts, suspects: Iterable[str], take: Survey) -> Layout:
    """Return the folders that matter (blocking: walks them)."""
    looked = _Survey(mounts, _find_odd(suspects), take)
    for plan in plans:
        looked.add(plan)
    return looked.layout


def is_utf8(name: str) -> bool:
    """Return whether a name is what its bytes say; others carry lone surrogates."""
    if name.isascii():
        return True
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class _Survey:
    """One look at all plans."""

    def __init__(self, mounts: Mounts, odd: frozenset[str], take: Survey) -> None:
        self.layout = Layout(odd=odd)
        self._mounts = mounts
        self._take = take
        self._known: dict[Identity, Folder] = {}

    def add(self, plan: WatchPlan) -> None:
        """Add the folders of one plan."""
        root = os.path.abspath(plan.workspace)
        notes = Interest(plan.agent, "memory")
        self._add_above(root, notes)
        if self._add_folder(root, notes._replace(names=ROOT_NAMES)):
            self._add_tree(os.path.join(root, MEMORY_FOLDER), notes)
        for extra in plan.extra_paths:
            location = os.path.normpath(os.path.join(root, os.path.expanduser(extra.path)))
            self._add_above(location, notes)
            self._add_tree(location, notes)
        for sessions in plan.session_folders:
            transcripts = Interest(plan.agent, "sessions")
            location = os.path.abspath(sessions)
            self._add_above(location, transcripts)
            self._add_folder(location, transcripts)

    def _add_above(self, path: str, interest: Interest) -> None:
        """Add the nearest folder there is above a path, for the one name on the way down."""
        for way in {path, self._real(path)}:
            below = way
            while (above := os.path.dirname(below)) != below:
                name = os.path.basename(below).casefold()
                if self._add_folder(above, interest._replace(names=frozenset({name}))):
                    break
                below = above

    def _real(self, path: str) -> str:
        """Return where a root is once links in its path are followed."""
        if self._take == "listened" and self._mounts.find_foreign(path) is not None:
            return path
        return os.path.realpath(path)

    def _add_tree(self, folder: str, interest: Interest) -> None:
        """Add a folder that is no link, and all walked folders below it."""
        pending = [folder]
        while pending:
            here = pending.pop()
            if self._take == "listened" and self._why_polled(here, interest.agent):
                continue
            try:
                if not stat.S_ISDIR(os.lstat(here).st_mode):
                    continue
            except OSError:
                continue
            if self._add_folder(here, interest):
                pending += [
                    os.path.join(here, name)
                    for name, is_folder in _list(here)
                    if is_folder and is_walked(name) and is_utf8(name)
                ]

    def _add_folder(self, path: str, interest: Interest) -> bool:
        """Add a folder or one more reason to watch it; return whether there is one to go on from."""
        why = self._why_polled(path, interest.agent)
        if why and self._take == "listened":
            return False
        folder = self.layout.folders.get(path)
        if folder is None:
            try:
                facts = os.stat(path)
            except (OSError, ValueError):
                return False
            if not stat.S_ISDIR(facts.st_mode):
                return False
            folder = self._folder(path, (facts.st_dev, facts.st_ino), why)
        if folder.polled:
            self.layout.polled.setdefault(interest.agent, folder.polled)
        elif self._take == "polled":
            return True
        folder.interests.add(interest)
        self.layout.folders[path] = folder
        if sys.platform == "darwin":  # events name the place itself, not the links that led there
            self.layout.folders[os.path.realpath(path)] = folder
        return True

    def _folder(self, path: str, identity: Identity, why: str) -> Folder:
        """Return the folder of that identity: it has one watch and one name in events, whatever leads to it."""
        folder = self._known.get(identity)
        if folder is None:
            kind = self._mounts.foreign_devices.get(identity[0])
            if kind is not None:
                why = f"{path} is on {kind}, {ELSEWHERE}"
            elif path in self.layout.odd:
                why = f"{path} {ODD_NAME}"
            folder = self._known[identity] = Folder(path, identity, why, os.access(path, os.R_OK))
        return folder

    def _why_polled(self, path: str, agent: str) -> str:
        """Return why events won't do for a path whatever it holds, or nothing."""
        kind = self._mounts.find_foreign(path)
        if kind is not None:
            why = f"{path} is on {kind}, {ELSEWHERE}"
        elif not is_utf8(path):
            why = f"{path.encode('utf-8', 'replace').decode()} is not UTF-8, which file events can't carry"
        else:
            return ""
        self.layout.polled.setdefault(agent, why)
        return why


def _find_odd(folders: Iterable[str]) -> frozenset[str]:
    """Return the folders that hold a name that is not UTF-8."""
    return frozenset(path for path in folders if not all(is_utf8(name) for name, _ in _list(path)))


def _list(folder: str) -> list[tuple[str, bool]]:
    """Return a folder's names, and which are folders; one that can't be listed is empty."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError as error:
        if error.errno in NO_DESCRIPTOR:
            raise
        return []
