"""Discovers an agent's memory files on disk, each with its stat.

This runs inside every search, so it is written for speed: one `scandir` per folder, one `stat` per Markdown file,
strings instead of path objects. Folders are listed by descriptor (`memd.system.safe_open`), so that no file behind
a symbolic link is included.
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
from memd.sources.rules import (
    MEMORY_FOLDER,
    ROOT_FILES,
    ROOT_NAMES,
    extra_key,
    is_markdown,
    is_walked,
    matches_pattern,
)
from memd.system import units
from memd.system.safe_open import FileStat, FolderWalk, OpenFolder, SymlinkInPathError, stat_of
from memd_client.errors import FileUnreadableError
from memd_client.messages import SkippedFile

LINK = "symbolic link; links are not followed"
"""Reason for skipping a link and files behind it."""

NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
"""Errors of the process or system, not of the folder or file that was opened."""

Names = frozenset[str] | None
"""Relevant names in a folder, casefolded; None for all."""


class DiscoveryObserver:
    """Receives the folders and files of a scan, each folder before it is listed. The base class ignores them."""

    def is_unchanged(self) -> bool:
        """Return whether nothing changed since the last scan; False if unknown."""
        return False

    @contextlib.contextmanager
    def scan(self) -> Iterator[None]:
        """Observe one scan, which runs inside the `with` block."""
        yield

    def enter(
        self, folder: str, names: Names = None, *, is_root: bool = False, opened: OpenFolder | None = None
    ) -> None:
        """Observe a folder that is about to be listed for some names."""

    def is_still_empty(self, folder: str, inode: int) -> bool:
        """Return whether a folder was empty in the last scan and has not changed since; if so, go on observing it."""
        return False

    def note_empty(self, folder: str, inode: int) -> None:
        """Record that the folder entered last is empty."""

    def enter_above(self, path: str) -> None:
        """Observe a path outside the workspace that may appear or disappear."""

    def watch_file(self, path: str, facts: os.stat_result | None) -> None:
        """Observe a file that may change without an event in its folder."""

    def give_up(self) -> None:
        """Record that a part of the scan failed or can't be observed."""

    def close(self) -> None:
        """Stop observing."""


UNOBSERVED = DiscoveryObserver()


class SourceFile(NamedTuple):
    """One memory file or transcript: its path in the index, its location on disk, and its stat.

    `ctime_ns` changes with every write, even if a program resets `mtime_ns`; it is 0 for a session in a database.
    A memory file is opened name by name from `root`. The root may be a link, because the settings name it; nothing
    below it may be one. `is_talk`: whether it is a transcript.
    """

    path: str
    location: str
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int
    source: str = "memory"
    root: str = ""
    is_talk: bool = False

    @property
    def stat(self) -> FileStat:
        """Its `mtime_ns`, `size`, `inode` and `ctime_ns`."""
        return self[2:6]


@dataclass(slots=True)
class Discovery:
    """Result of one scan: an agent's memory files and transcripts, and those left out with their reasons.

    Attributes:
        files: The files by their path in the index.
        skipped: Files that can't be indexed, each with the reason.
        partial: Files that are indexed only up to the size limit, each with the size of that part.
        workspace_missing: Whether the workspace doesn't exist.
        beyond_limits: Number of files excluded by the limits on files and bytes.
        unseen: Sources that could not be scanned: their missing files count as unknown, not as deleted.
        before: Files of the previous scan, whose objects are reused if unchanged.
        observer: Receives each folder before it is listed.
    """

    files: dict[str, SourceFile] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    partial: list[SkippedFile] = field(default_factory=list)
    workspace_missing: bool = False
    beyond_limits: int = 0
    unseen: frozenset[str] = frozenset()
    before: Mapping[str, SourceFile] = field(default_factory=dict, repr=False, compare=False)
    observer: DiscoveryObserver = field(default=UNOBSERVED, repr=False, compare=False)


def discover(
    workspace: Path,
    extra_paths: Sequence[ExtraPath],
    max_file_bytes: int,
    before: Mapping[str, SourceFile] | None = None,
    observer: DiscoveryObserver = UNOBSERVED,
) -> Discovery:
    """Scan the disk and return its memory files."""
    found = Discovery(before=before or {}, observer=observer)
    root = str(workspace)
    observer.enter(root, ROOT_NAMES, is_root=True)
    if not os.path.isdir(root):
        found.workspace_missing = True
    else:
        _take_root_files(found, root, max_file_bytes)
        memory = os.path.join(root, MEMORY_FOLDER)
        if os.path.islink(memory):
            found.skipped.append(SkippedFile(MEMORY_FOLDER, LINK))
        else:
            _walk(found, root, memory, MEMORY_FOLDER + "/", None, max_file_bytes)
    for extra in extra_paths:
        _take_extra(found, root, extra, max_file_bytes)
    return found


def describe_part(size: int, limit: int) -> str:
    """Return the message for a file larger than the limit, which is indexed only in part."""
    part = f"indexed up to {units.size(limit)} of {units.size(size)}"
    return f"{part}; split the file, or raise `max_file_mb` in memd.toml"


def check_descriptors(error: OSError) -> None:
    """Raise if an error means that the process has no file descriptors left."""
    if error.errno in NO_DESCRIPTOR:
        raise FileUnreadableError(
            f"the files can't be scanned: {error.strerror}",
            hint="raise the daemon's limit of open files (`LimitNOFILE=` of the service, or `ulimit -n`)",
            data={"reason": "descriptors"},
        ) from None


def _take_root_files(found: Discovery, root: str, max_file_bytes: int) -> None:
    """Add the memory files in the workspace's root; on case-insensitive disks two names of one file count once."""
    identities: set[tuple[int, int]] = set()
    try:
        with os.scandir(root) as entries:
            named = {entry.name: entry for entry in entries if entry.name in ROOT_FILES}
    except OSError as error:
        check_descriptors(error)
        found.skipped.append(SkippedFile(".", f"workspace can't be listed: {error.strerror}"))
        return
    for name in ROOT_FILES:
        entry = named.get(name)
        if entry is None:
            continue
        try:
            facts = entry.stat(follow_symlinks=False)
        except OSError as error:
            found.skipped.append(SkippedFile(name, f"can't be read: {error.strerror}"))
            continue
        if (facts.st_dev, facts.st_ino) not in identities:
            identities.add((facts.st_dev, facts.st_ino))
            _take(found, root, os.path.join(root, name), entry, name, max_file_bytes)


def _walk(
    found: Discovery, root: str, folder: str, prefix: str, pattern: str | None, max_file_bytes: int
) -> None:
    """Add the Markdown files below a folder; links are reported, not followed."""
    with contextlib.closing(FolderWalk(root, folder)) as walk:
        pending = [(folder, prefix, 0, 0)]
        while pending:
            here, before, depth, inode = pending.pop()
            try:
                opened = walk.enter(depth, here[here.rfind("/") + 1 :])
                found.observer.enter(here, opened=opened)
                with os.scandir(opened.descriptor) as entries:
                    below = _list(found, root, here, entries, before, prefix, pattern, max_file_bytes)
                if below is None:
                    found.observer.note_empty(here, inode)
                pending += [
                    (location, path, depth + 1, inode)
                    for location, path, inode in below or ()
                    if not found.observer.is_still_empty(location, inode)
                ]
            except FileNotFoundError:
                continue
            except SymlinkInPathError:  # the folder was replaced by a link
                found.skipped.append(SkippedFile(_shown(before.rstrip("/")), LINK))
            except OSError as error:
                check_descriptors(error)
                found.observer.give_up()
                found.skipped.append(SkippedFile(_shown(before), f"folder can't be listed: {error.strerror}"))


def _list(
    found: Discovery,
    root: str,
    here: str,
    entries: Iterable[os.DirEntry[str]],
    before: str,
    prefix: str,
    pattern: str | None,
    max_file_bytes: int,
) -> list[tuple[str, str, int]] | None:
    """Add the Markdown files of one folder; return (location, path prefix, inode) of its folders, None if empty."""
    files, known, below = found.files, found.before, list[tuple[str, str, int]]()
    entry = None
    start = here if here.endswith("/") else here + "/"
    is_plain = pattern is None and before.isascii()
    for entry in entries:
        name = entry.name
        if name[-3:] == ".md" and name.isascii() and entry.is_file(follow_symlinks=False):
            # The usual case, with as few calls as possible: it dominates the cost of every scan.
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # deleted since it was listed
            if is_plain and facts.st_size <= max_file_bytes and facts.st_nlink == 1:
                path = before + name
                state = (facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_ctime_ns)
                file = known.get(path)
                if file is None or file[2:6] != state or file.root != root:
                    file = SourceFile(path, start + name, *state, "memory", root)
                files[path] = file
                continue
        _walk_entry(found, root, start, entry, before, prefix, pattern, max_file_bytes, below)
    return None if entry is None else below


def _walk_entry(
    found: Discovery,
    root: str,
    start: str,
    entry: os.DirEntry[str],
    before: str,
    prefix: str,
    pattern: str | None,
    max_file_bytes: int,
    below: list[tuple[str, str, int]],
) -> None:
    """Handle one entry of a folder that is not a plain note: a folder, a link, or an unusual file or name."""
    name = entry.name
    path = before + name
    if entry.is_symlink():
        if is_markdown(name) or _leads_to_folder(entry):
            found.skipped.append(SkippedFile(_shown(path), LINK))
    elif entry.is_dir(follow_symlinks=False):
        if is_walked(name):
            below.append((start + name, path + "/", entry.inode()))
    elif is_markdown(name) and path not in found.files and matches_pattern(path[len(prefix) :], pattern):
        _take(found, root, start + name, entry, path, max_file_bytes)


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    """Return whether a link leads to a folder; True if that can't be determined."""
    try:
        return link.is_dir()
    except OSError:
        return True


def _take(
    found: Discovery, root: str, location: str, entry: os.DirEntry[str], path: str, max_file_bytes: int
) -> None:
    """Add one entry, or the reason for skipping it."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        found.skipped.append(SkippedFile(_shown(path), f"can't be read: {error.strerror}"))
        return
    _take_stat(found, root, location, path, facts, max_file_bytes)


def _take_stat(
    found: Discovery, root: str, location: str, path: str, facts: os.stat_result, max_file_bytes: int
) -> None:
    """Add a file by its stat, or the reason for skipping it."""
    mode = facts.st_mode
    if not stat.S_ISREG(mode):
        kind = LINK if stat.S_ISLNK(mode) else "not a regular file"
        found.skipped.append(SkippedFile(_shown(path), kind))
    elif not path.isascii() and _shown(path) != path:
        found.skipped.append(SkippedFile(_shown(path), "its name is not UTF-8; rename it"))
    else:
        if facts.st_size > max_file_bytes:
            found.partial.append(SkippedFile(path, describe_part(facts.st_size, max_file_bytes)))
        if facts.st_nlink > 1:
            found.observer.watch_file(location, facts)
        found.files[path] = SourceFile(path, location, *stat_of(facts), "memory", root)


def _take_extra(found: Discovery, workspace: str, extra: ExtraPath, max_file_bytes: int) -> None:
    """Add the files of one extra path: a Markdown file, or a folder's Markdown."""
    location = os.path.normpath(os.path.join(workspace, os.path.expanduser(extra.path)))
    key = os.path.relpath(location, workspace).replace(os.sep, "/")
    root = os.path.dirname(location)
    if key.split("/", 1)[0] != "..":
        # The agent can change files inside its workspace, so links on the path to them are refused too.
        root = workspace
        location = workspace if key == "." else os.path.join(workspace, key)
        _enter_on_the_way(found.observer, workspace, key)
        if _has_link(workspace, key):
            reason = "extra path is behind a symbolic link in the workspace; name the real folder"
            found.skipped.append(SkippedFile(extra_key(extra), reason))
            return
    else:
        found.observer.enter_above(location)
    try:
        facts = os.stat(location, follow_symlinks=key == ".")
    except OSError as error:
        found.observer.watch_file(location, None)
        found.skipped.append(SkippedFile(extra_key(extra), f"extra path can't be read: {error.strerror}"))
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
        found.skipped.append(SkippedFile(extra_key(extra), "extra path is not Markdown"))


def _enter_on_the_way(observer: DiscoveryObserver, workspace: str, key: str) -> None:
    """Observe the folders from the workspace to a path in it, because each may be replaced."""
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
    """Return a path as valid UTF-8: other bytes become question marks."""
    return path.encode("utf-8", "replace").decode("utf-8")
