"""Markdown of another program, or any folder of notes, read in place."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from threading import Lock

from memd.sources.discover import SourceFile
from memd.sources.folder_tree import FolderTree, FolderTrees
from memd.sources.notes_folders import NotesFolder
from memd.sources.read import FileText, read_file
from memd.sources.source import Transcripts
from memd.sources.watch.queue import WatchQueue


class NotesSource:
    """The notes of one source (a `SessionSource`, though nothing in it is a transcript).

    Args:
        name: The source's name, with which its index paths begin.
        folders: Its folders. If there are several, their names follow in the paths.
        max_file_bytes: Limit of a file: larger ones are read up to it.
        queues: Reports changed folders, one queue per folder.
    """

    def __init__(
        self,
        name: str,
        folders: Sequence[NotesFolder],
        max_file_bytes: int,
        queues: Sequence[WatchQueue] = (),
    ) -> None:
        self._name = name
        self._max_bytes = max_file_bytes
        self._lock = Lock()
        self._found = Transcripts()
        roots = [os.path.realpath(folder.root) for folder in folders]
        trees = [
            FolderTree(root, folder.is_walked, folder.is_wanted, queues[at] if at < len(queues) else None)
            for at, (root, folder) in enumerate(zip(roots, folders, strict=True))
        ]
        self._trees = FolderTrees(trees, queues)
        self._prefixes = dict(zip(trees, _prefixes(name, roots), strict=True))

    def __repr__(self) -> str:
        return f"<NotesSource {self._name}: {len(self._found.found)} files>"

    def find(self) -> Transcripts:
        """Return the current notes; see `SessionSource.find`."""
        with self._lock:
            changed = self._trees.list_if_changed()
            if changed is None:
                return self._found
            self._found = Transcripts()
            for tree, listing in changed:
                prefix = self._prefixes[tree]
                for path, why in listing.skipped.items():
                    self._found.skip(f"{prefix}/{path}".rstrip("/"), why)
                for path, facts in listing.files.items():
                    shown = f"{prefix}/{path}"
                    if shown.encode("utf-8", "replace").decode() != shown:
                        self._found.skip(shown, "its name is not UTF-8; rename it")
                        continue
                    self._found.found[shown] = facts.source_file(shown, self._name, tree.root)
            return self._found

    def load(self, found: SourceFile) -> FileText:
        """Return a note's text; see `SessionSource.load`."""
        return read_file(found, self._max_bytes, cut=True)

    def close(self) -> None:
        """Stop watching the folders."""
        self._trees.close()


def _prefixes(name: str, roots: Sequence[str]) -> list[str]:
    """Return what the paths of each folder begin with: the source's name and, of several, the folder's own."""
    if len(roots) == 1:
        return [name]
    often: Counter[str] = Counter()
    prefixes = []
    for root in roots:
        own = os.path.basename(root)
        often[own] += 1
        prefixes.append(f"{name}/{own}" if often[own] == 1 else f"{name}/{own}-{often[own]}")
    return prefixes
