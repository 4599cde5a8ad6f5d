"""Markdown in folders, read in place: an agent's workspace and extra paths, vaults, and notes of other programs."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from msgspec.structs import replace

from memd.programs.openclaw_provenance import is_untrusted
from memd.settings.schema import ExtraPath
from memd.sources.read import read_file
from memd.sources.rules import (
    MEMORY_FOLDER,
    ROOT_FILES,
    extra_key,
    is_markdown,
    is_walked,
    matches_pattern,
)
from memd.sources.source import MEMORY, FileText, Listing, Source, SourceFile, shown
from memd.sources.tree import Tree, TreeRules, check_descriptors, describe_part, why_skipped
from memd.sources.watch.queue import NOTES_VALID_S, UNWATCHED, Scan, Unwatched, WatchQueue
from memd.system.safe_open import stat_of
from memd.text.trust.contributions import recorded_origins
from memd.text.trust.origins import AGENT, OUTSIDE, USER
from memd_client.messages import SkippedFile


class NotesFolder(NamedTuple):
    """A folder with notes.

    Attributes:
        root: The folder.
        wanted: Matches its notes by their path below it; None: all Markdown.
        walked: Matches the folders below it that may have notes; None: all but hidden ones.
    """

    root: Path
    wanted: re.Pattern[str] | None = None
    walked: re.Pattern[str] | None = None

    def rules(self) -> TreeRules:
        """Return which of its files are notes."""
        wanted, walked = self.wanted, self.walked
        return TreeRules(
            _is_note if wanted is None else lambda path: wanted.fullmatch(path) is not None,
            _is_note_folder if walked is None else lambda path: walked.fullmatch(path) is not None,
            "" if wanted is not None else ".md",
        )


def _is_note(path: str) -> bool:
    return is_markdown(path)


def _is_note_folder(path: str) -> bool:
    return is_walked(path.rpartition("/")[2])


def _is_in_memory(path: str) -> bool:
    return path == MEMORY_FOLDER or (path.startswith(f"{MEMORY_FOLDER}/") and _is_note_folder(path))


WORKSPACE_RULES = TreeRules(_is_note, _is_in_memory, ".md", (*ROOT_FILES, MEMORY_FOLDER))


class NotesSource(Source):
    """Notes in some folders; of two files with the same index path, the first folder's counts.

    Args:
        name: The source's name.
        trees: Its folders.
        max_bytes: Larger notes are indexed up to here.
        watch: Reports changed folders.
        by_agents: Found in the paths of notes that agents write; all others are the user's.
    """

    def __init__(
        self,
        name: str,
        trees: Sequence[Tree],
        max_bytes: int,
        watch: Unwatched = UNWATCHED,
        by_agents: str = "(?!)",
    ) -> None:
        self.name = name
        self._by_agents = re.compile(by_agents)
        self._fixed = list(trees)
        self._trees = self._fixed
        self._max_bytes = max_bytes
        self._watch = watch
        self._lock = Lock()
        self._listing: Listing | None = None
        if isinstance(watch, WatchQueue):
            watch.valid_s = NOTES_VALID_S
            watch.is_relevant = self._is_relevant

    def __repr__(self) -> str:
        return f"<NotesSource {self.name}: {len(self._listing.files) if self._listing else 0} files>"

    def find(self) -> Listing:
        """Return the current notes; see `Source.find`."""
        with self._lock:
            if self._listing is None or not self._watch.is_unchanged():
                with self._watch.scan() as scan:
                    self._update(scan)
            assert self._listing is not None
            return self._listing

    def load(self, found: SourceFile) -> FileText:
        """Return a note's text; see `Source.load`."""
        file = read_file(found, self._max_bytes, cut=True)
        default = AGENT if self._by_agents.search(found.path) else USER
        return replace(file, origins=recorded_origins(file.text, default))

    def close(self) -> None:
        """Stop watching the folders."""
        with self._lock:
            self._watch.close()
            self._watch = UNWATCHED

    def _update(self, scan: Scan) -> None:
        """List what changed, and publish another listing if it differs."""
        if scan.changed is None or not all(map(self._is_known, scan.changed)):
            scan = Scan(None)
            listing = self._begin()
        else:
            listing = Listing()
        for tree in self._trees:
            tree.update(self._watch, scan)
            tree.describe(listing)
        listing.is_missing = self._trees[0].is_missing if self._trees else False
        self._finish(listing)
        listing.skipped = list(dict.fromkeys(listing.skipped))  # extra paths may overlap
        listing.partial = list(dict.fromkeys(listing.partial))
        parts = [tree.files for tree in self._trees]
        if listing.files:
            parts.append(listing.files)
        listing.files = parts[0] if len(parts) == 1 else _merge(parts)
        before = self._listing
        if before is None or listing != before:
            self._listing = listing

    def _is_known(self, folder: str) -> bool:
        """Return whether a folder was listed, instead of being above a root or on the way to one."""
        return any(tree.includes(folder) for tree in self._trees)

    def _begin(self) -> Listing:
        """Begin a scan of everything."""
        return Listing()

    def _finish(self, listing: Listing) -> None:
        """Add what is in no tree."""

    def _is_relevant(self, folder: str, name: str, is_folder: bool) -> bool:
        return any(tree.is_relevant(folder, name, is_folder) for tree in self._trees)


class WorkspaceNotes(NotesSource):
    """An agent's memory: the notes of its workspace, and of its extra paths.

    Args:
        workspace: The folder; may be missing.
        extra_paths: Further folders or files.
        max_bytes: Larger notes are indexed up to here.
        watch: Reports changed folders.
    """

    def __init__(
        self,
        workspace: Path,
        extra_paths: Sequence[ExtraPath] = (),
        max_bytes: int = 1 << 62,
        watch: Unwatched = UNWATCHED,
    ) -> None:
        self._workspace = str(workspace)
        self._extra_paths = extra_paths
        self._single: dict[str, SourceFile] = {}
        self._odd: list[SkippedFile] = []
        self._parts: list[SkippedFile] = []
        self._extra_trees: dict[ExtraPath, Tree] = {}
        self._on_the_way: set[str] = set()
        tree = Tree(MEMORY, self._workspace, WORKSPACE_RULES, max_bytes=max_bytes)
        super().__init__(MEMORY, [tree], max_bytes, watch, r"^(?!\.\./)")
        self.state_database = ""

    @property
    def own(self) -> Tree:
        """The workspace without the extra paths, as of the last scan."""
        return self._fixed[0]

    def load(self, found: SourceFile) -> FileText:
        """Return a note's text; see `Source.load`."""
        file = super().load(found)
        lines = range(1, file.text.count("\n") + 2)
        if not self.state_database or not is_untrusted(self.state_database, self._workspace, found.path):
            return file
        why = "recorded as untrusted by OpenClaw"
        return replace(file, origins=file.origins.lowered(lines, OUTSIDE, why, len(lines)))

    def _begin(self) -> Listing:
        """Check what the extra paths are now."""
        self._single, self._odd, self._parts, self._on_the_way, trees = {}, [], [], set(), {}
        for extra in self._extra_paths:
            tree = self._find_extra(extra)
            if tree is not None:
                trees[extra] = tree
        self._extra_trees = trees
        self._trees = [*self._fixed, *trees.values()]
        return Listing()

    def _is_known(self, folder: str) -> bool:
        return folder not in self._on_the_way and super()._is_known(folder)

    def _finish(self, listing: Listing) -> None:
        """Add extra paths that are files, and those that can't be read."""
        listing.files = self._single
        listing.skipped += self._odd
        listing.partial += self._parts

    def _find_extra(self, extra: ExtraPath) -> Tree | None:
        """Return the tree of an extra path that is a folder; of others, note the file or why it is skipped."""
        workspace, watch = self._workspace, self._watch
        location = os.path.normpath(os.path.join(workspace, os.path.expanduser(extra.path)))
        key = os.path.relpath(location, workspace).replace(os.sep, "/")
        root, is_inside = os.path.dirname(location), key.split("/", 1)[0] != ".."
        if is_inside:
            # The agent can change files inside its workspace, so links on the path to them are refused too.
            root, location = workspace, workspace if key == "." else os.path.join(workspace, key)
            self._enter_on_the_way(key)
            if _has_link(workspace, key):
                reason = "extra path is behind a symbolic link in the workspace; name the real folder"
                self._odd.append(SkippedFile(extra_key(extra), reason))
                return None
        else:
            watch.enter_above(location)
        try:
            facts = os.stat(location, follow_symlinks=key == ".")
        except OSError as error:
            check_descriptors(error)
            watch.watch_file(location, None)
            self._odd.append(SkippedFile(extra_key(extra), f"extra path can't be read: {error.strerror}"))
            return None
        if stat.S_ISDIR(facts.st_mode):
            known = self._extra_trees.get(extra)
            return known or self._tree_of(extra, root, location, "" if key == "." else f"{key}/")
        watch.watch_file(location, facts)
        if is_markdown(location) or not stat.S_ISREG(facts.st_mode):
            self._take_single(SourceFile(key, location, *stat_of(facts), MEMORY, root), facts)
        else:
            self._odd.append(SkippedFile(extra_key(extra), "extra path is not Markdown"))
        return None

    def _tree_of(self, extra: ExtraPath, root: str, location: str, prefix: str) -> Tree:
        """Return the tree of an extra path."""
        pattern = extra.pattern

        def is_wanted(path: str) -> bool:
            return is_markdown(path) and matches_pattern(path, pattern)

        rules = TreeRules(is_wanted, _is_note_folder, "" if pattern else ".md")
        return Tree(MEMORY, location, rules, prefix=prefix, opened_from=root, max_bytes=self._max_bytes)

    def _take_single(self, file: SourceFile, facts: os.stat_result) -> None:
        """Add an extra path that is a file."""
        if (reason := why_skipped(file, facts)) is not None:
            self._odd.append(SkippedFile(shown(file.path), reason))
            return
        if file.size > self._max_bytes:
            self._parts.append(SkippedFile(file.path, describe_part(file.size, self._max_bytes)))
        self._single[file.path] = file

    def _enter_on_the_way(self, key: str) -> None:
        """Watch the folders from the workspace to a path in it, because each may be replaced."""
        here, root = self._workspace, True
        for name in key.split("/"):
            self._watch.enter(here, frozenset({name.casefold()}), is_root=root)
            self._on_the_way.add(here)
            here, root = os.path.join(here, name), False


def trees_of(name: str, folders: Sequence[NotesFolder], max_bytes: int) -> list[Tree]:
    """Return the trees of a source of notes: paths begin with its name and, of several folders, the folder's own."""
    often: Counter[str] = Counter()
    trees = []
    for folder in folders:
        own = os.path.basename(os.path.realpath(folder.root))
        often[own] += 1
        prefix = f"{name}/{own}/" if often[own] == 1 else f"{name}/{own}-{often[own]}/"
        prefix = f"{name}/" if len(folders) == 1 else prefix
        trees.append(Tree(name, str(folder.root), folder.rules(), prefix=prefix, max_bytes=max_bytes))
    return trees


def _merge(parts: Sequence[dict[str, SourceFile]]) -> dict[str, SourceFile]:
    """Return all files; the first of two with the same path."""
    files: dict[str, SourceFile] = {}
    for part in reversed(parts):
        files |= part
    return files


def _has_link(workspace: str, key: str) -> bool:
    """Return whether a folder between the workspace and a path in it is a link."""
    at = key.find("/")
    while at > 0:
        if os.path.islink(os.path.join(workspace, key[:at])):
            return True
        at = key.find("/", at + 1)
    return False
