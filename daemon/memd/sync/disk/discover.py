"""Rules and disk: the files there are, with what a stat says of each.

This runs inside every search, so it is written for speed: one `scandir` a folder, one `stat` a Markdown
file, strings instead of path objects. Folders are listed by descriptor (`memd.sync.disk.safe_open`), so that no name
from behind a link comes in either.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from memd.settings.schema import ExtraPath
from memd.sync.disk.rules import (
    MEMORY_FOLDER,
    ROOT_FILES,
    ROOT_NAMES,
    extra_key,
    is_markdown,
    is_walked,
    matches_pattern,
)
from memd.sync.disk.safe_open import FolderWalk, LinkOnTheWayError, OpenFolder
from memd.system import units
from memd_client.errors import FileUnreadableError
from memd_client.messages import Skipped

LINK = "symbolic link; links are not followed"
"""Why a link, and what lies behind one, is left out."""

NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
"""Errors that say nothing about the folder or file asked for."""

Names = frozenset[str] | None
"""Names that matter in a folder, casefolded; None for all."""


class DiscoveryObserver:
    """Hears what a discovery looks at, each folder before it is listed. This one watches nothing."""

    def is_unchanged(self) -> bool:
        """Return whether all is known to be as the last look saw it."""
        return False

    @contextlib.contextmanager
    def look(self) -> Iterator[None]:
        """Hear of all that is looked at within the block."""
        yield

    def enter(
        self, folder: str, names: Names = None, *, is_root: bool = False, opened: OpenFolder | None = None
    ) -> None:
        """Hear that a folder is about to be listed for some names."""

    def enter_above(self, path: str) -> None:
        """Hear of a place outside the workspace that may come and go."""

    def watch_file(self, path: str, facts: os.stat_result | None) -> None:
        """Hear of a file that may change without a change in its folder."""

    def give_up(self) -> None:
        """Hear that something can't be looked at."""

    def close(self) -> None:
        """Watch nothing any more."""


UNOBSERVED = DiscoveryObserver()


class Found(NamedTuple):
    """One memory file or transcript as it is now: its name in the index, where it is, and its stat.

    `ctime_ns` moves with every write, whatever a program then sets `mtime_ns` back to; it is 0 for what is no file.
    A memory file is read by going down from `root`, which may be a link since the settings name it; nothing
    below it may.
    """

    path: str
    location: str
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int
    source: str = "memory"
    root: str = ""


@dataclass(slots=True)
class Discovery:
    """All memory files and transcripts of an agent at one moment, and what was left out and why.

    Attributes:
        files: By their path in the index.
        skipped: What can't be taken, each with its reason.
        partial: Files of which only the beginning is indexed, each with how much that is.
        workspace_missing: Whether there is no workspace.
        beyond_limits: How many files the limits on files and bytes left out.
        unseen: Sources that can't be looked at just now: what isn't found there isn't gone.
        before: What an earlier look found.
        observer: Hears of each folder before it is listed.
    """

    files: dict[str, Found] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    partial: list[Skipped] = field(default_factory=list)
    workspace_missing: bool = False
    beyond_limits: int = 0
    unseen: frozenset[str] = frozenset()
    before: Mapping[str, Found] = field(default_factory=dict, repr=False, compare=False)
    observer: DiscoveryObserver = field(default=UNOBSERVED, repr=False, compare=False)


def discover(
    workspace: Path,
    extra_paths: Sequence[ExtraPath],
    max_file_bytes: int,
    before: Mapping[str, Found] | None = None,
    observer: DiscoveryObserver = UNOBSERVED,
) -> Discovery:
    """Return the memory files on disk right now."""
    found = Discovery(before=before or {}, observer=observer)
    root = str(workspace)
    observer.enter(root, ROOT_NAMES, is_root=True)
    if not os.path.isdir(root):
        found.workspace_missing = True
    else:
        _take_root_files(found, root, max_file_bytes)
        memory = os.path.join(root, MEMORY_FOLDER)
        if os.path.islink(memory):
            found.skipped.append(Skipped(MEMORY_FOLDER, LINK))
        else:
            _walk(found, root, memory, MEMORY_FOLDER + "/", None, max_file_bytes)
    for extra in extra_paths:
        _take_extra(found, root, extra, max_file_bytes)
    return found


def describe_part(size: int, limit: int) -> str:
    """Return how much of a file is indexed that is larger than the limit."""
    part = f"indexed up to {units.size(limit)} of {units.size(size)}"
    return f"{part}; split the file, or raise `max_file_mb` in memd.toml"


def check_descriptors(error: OSError) -> None:
    """Raise where an error says nothing about the disk, only that this process can't look at it."""
    if error.errno in NO_DESCRIPTOR:
        raise FileUnreadableError(
            f"the files can't be looked at: {error.strerror}",
            hint="Raise the daemon's limit of open files (`LimitNOFILE=` of the service, or `ulimit -n`).",
            data={"reason": "descriptors"},
        ) from None


def _take_root_files(found: Discovery, root: str, max_file_bytes: int) -> None:
    """Add the workspace's own memory files; two names of one file (case-insensitive disks) count once."""
    identities: set[tuple[int, int]] = set()
    try:
        with os.scandir(root) as entries:
            named = {entry.name: entry for entry in entries if entry.name in ROOT_FILES}
    except OSError as error:
        check_descriptors(error)
        found.skipped.append(Skipped(".", f"workspace can't be listed: {error.strerror}"))
        return
    for name in ROOT_FILES:
        entry = named.get(name)
        if entry is None:
            continue
        try:
            facts = entry.stat(follow_symlinks=False)
        except OSError as error:
            found.skipped.append(Skipped(name, f"can't be read: {error.strerror}"))
            continue
        if (facts.st_dev, facts.st_ino) not in identities:
            identities.add((facts.st_dev, facts.st_ino))
            _take(found, root, os.path.join(root, name), entry, name, max_file_bytes)


def _walk(
    found: Discovery, root: str, folder: str, prefix: str, pattern: str | None, max_file_bytes: int
) -> None:
    """Add the Markdown files below a folder; links are listed, not followed."""
    with contextlib.closing(FolderWalk(root, folder)) as walk:
        pending = [(folder, prefix, 0)]
        while pending:
            here, before, depth = pending.pop()
            try:
                opened = walk.enter(depth, here[here.rfind("/") + 1 :])
                found.observer.enter(here, opened=opened)
                with os.scandir(opened.descriptor) as entries:
                    below = _list(found, root, here, entries, before, prefix, pattern, max_file_bytes)
                pending += [(location, path, depth + 1) for location, path in below]
            except FileNotFoundError:
                continue
            except LinkOnTheWayError:  # it was a folder a moment ago
                found.skipped.append(Skipped(_shown(before.rstrip("/")), LINK))
            except OSError as error:
                check_descriptors(error)
                found.observer.give_up()
                found.skipped.append(Skipped(_shown(before), f"folder can't be listed: {error.strerror}"))


def _list(
    found: Discovery,
    root: str,
    here: str,
    entries: Iterable[os.DirEntry[str]],
    before: str,
    prefix: str,
    pattern: str | None,
    max_file_bytes: int,
) -> list[tuple[str, str]]:
    """Add the Markdown files of one folder; return the folders in it, where they are and how their paths begin."""
    files, known, below = found.files, found.before, list[tuple[str, str]]()
    start = here if here.endswith("/") else here + "/"
    is_plain = pattern is None and before.isascii()
    for entry in entries:
        name = entry.name
        if name[-3:] == ".md" and name.isascii() and entry.is_file(follow_symlinks=False):
            # The usual case, without a call more than it needs: this line decides what looking
            # at the disk costs in every search.
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # deleted just now; the others of this folder are still there
            if is_plain and facts.st_size <= max_file_bytes and facts.st_nlink == 1:
                path = before + name
                state = (facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_ctime_ns)
                file = known.get(path)
                if file is None or file[2:6] != state or file.root != root:
                    file = Found(path, start + name, *state, "memory", root)
                files[path] = file
                continue
        _walk_entry(found, root, start, entry, before, prefix, pattern, max_file_bytes, below)
    return below


def _walk_entry(
    found: Discovery,
    root: str,
    start: str,
    entry: os.DirEntry[str],
    before: str,
    prefix: str,
    pattern: str | None,
    max_file_bytes: int,
    below: list[tuple[str, str]],
) -> None:
    """Add one entry of a folder that is no plain note: a folder, a link, an odd file or name."""
    name = entry.name
    path = before + name
    if entry.is_symlink():
        if is_markdown(name) or _leads_to_folder(entry):
            found.skipped.append(Skipped(_shown(path), LINK))
    elif entry.is_dir(follow_symlinks=False):
        if is_walked(name):
            below.append((start + name, path + "/"))
    elif is_markdown(name) and path not in found.files and matches_pattern(path[len(prefix) :], pattern):
        _take(found, root, start + name, entry, path, max_file_bytes)


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    """Return whether a link leads to a folder, or may: one that can't be followed hides no other entry."""
    try:
        return link.is_dir()
    except OSError:
        return True


def _take(
    found: Discovery, root: str, location: str, entry: os.DirEntry[str], path: str, max_file_bytes: int
) -> None:
    """Add one entry, or the reason it is left out."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        found.skipped.append(Skipped(_shown(path), f"can't be read: {error.strerror}"))
        return
    _take_stat(found, root, location, path, facts, max_file_bytes)


def _take_stat(
    found: Discovery, root: str, location: str, path: str, facts: os.stat_result, max_file_bytes: int
) -> None:
    """Add a file by its stat, or the reason it is left out."""
    mode = facts.st_mode
    if not stat.S_ISREG(mode):
        kind = LINK if stat.S_ISLNK(mode) else "not a regular file"
        found.skipped.append(Skipped(_shown(path), kind))
    elif not path.isascii() and _shown(path) != path:
        found.skipped.append(Skipped(_shown(path), "its name is not UTF-8; rename it"))
    else:
        if facts.st_size > max_file_bytes:
            found.partial.append(Skipped(path, describe_part(facts.st_size, max_file_bytes)))
        if facts.st_nlink > 1:
            found.observer.watch_file(location, facts)
        found.files[path] = Found(
            path,
            location,
            facts.st_mtime_ns,
            facts.st_size,
            facts.st_ino,
            facts.st_ctime_ns,
            "memory",
            root,
        )


def _take_extra(found: Discovery, workspace: str, extra: ExtraPath, max_file_bytes: int) -> None:
    """Add the files of one extra path: a Markdown file, or a folder's Markdown."""
    location = os.path.normpath(os.path.join(workspace, os.path.expanduser(extra.path)))
    key = os.path.relpath(location, workspace).replace(os.sep, "/")
    root = os.path.dirname(location)
    if key.split("/", 1)[0] != "..":
        # What lies in the workspace is the agent's to change: no link counts on the way there, either.
        root = workspace
        location = workspace if key == "." else os.path.join(workspace, key)
        _enter_on_the_way(found.observer, workspace, key)
        if _has_link(workspace, key):
            reason = "an extra path behind a symbolic link in the workspace; name the real folder"
            found.skipped.append(Skipped(extra_key(extra), reason))
            return
    else:
        found.observer.enter_above(location)
    try:
        facts = os.stat(location, follow_symlinks=key == ".")
    except OSError as error:
        found.observer.watch_file(location, None)
        found.skipped.append(Skipped(extra_key(extra), f"extra path can't be read: {error.strerror}"))
        return
    if stat.S_ISDIR(facts.st_mode):
        prefix = "" if key == "." else key + "/"
        if root != workspace or key == ".":
            found.observer.enter(location, is_root=True)
        _walk(found, root, location, prefix, extra.pattern, max_file_bytes)
        return
    found.observer.watch_file(location, facts)
    if is_markdown(location) or not stat.S_ISREG(facts.st_mode):
        if key not in found.files:
            _take_stat(found, root, location, key, facts, max_file_bytes)
    else:
        found.skipped.append(Skipped(extra_key(extra), "extra path is not Markdown"))


def _enter_on_the_way(observer: DiscoveryObserver, workspace: str, key: str) -> None:
    """Note the folders that lead from the workspace to a path in it: any of them may be replaced."""
    here, root = workspace, True
    for name in key.split("/"):
        observer.enter(here, frozenset({name.casefold()}), is_root=root)
        here, root = os.path.join(here, name), False


def _has_link(workspace: str, key: str) -> bool:
    """Return whether a folder between the workspace and a path in it is a link."""
    at = key.find("/")
    while at > 0:
        if os.path.islink(os.path.join(workspace, key[:at])):
            return True
        at = key.find("/", at + 1)
    return False


def _shown(path: str) -> str:
    """Return a path that can be packed and printed: bytes that are not UTF-8 become question marks."""
    return path.encode("utf-8", "replace").decode("utf-8")
